"""Ends a command a moment after Ctrl+C although its main thread is in a call that runs no Python.

Python calls the handlers of signals only between steps of its own program. A call of SQLite may last for minutes.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

_GRACE_S = 0.5
"""How long a command may take to end by itself."""
_ENDING = frozenset(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Inside this block, which has nothing to undo, a signal ends the process if its handler isn't called soon.

    Does nothing in other threads than the main one, where no signals are handled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    left = threading.Event()
    watch = threading.Thread(target=_watch, args=(reading, left), daemon=True)
    watch.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before)
        os.close(writing)
        watch.join()
        os.close(reading)


def _watch(reading: int, left: threading.Event) -> None:
    """Wait for a signal's number, which arrives at once, or for the end of the block."""
    while numbers := os.read(reading, 64):
        if _ENDING.intersection(numbers):
            if not left.wait(_GRACE_S):
                os.write(2, b"memlens: Interrupted.\n")
                os._exit(1)
            return
