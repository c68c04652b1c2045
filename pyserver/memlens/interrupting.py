"""Ends a command a moment after Ctrl+C although its main thread is in a call that runs no Python.

Python calls the handlers of signals only between steps of its own program. A call of SQLite may last for minutes, and a
kernel takes as long for one text of many gigabytes.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator

_GRACE_S = 0.5
"""How long a command may take to end by itself."""
_ENDING = frozenset(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextlib.contextmanager
def ended_by_signals(undo: Callable[[], None] | None = None) -> Iterator[None]:
    """Inside this block a signal ends the process if its handler isn't called soon.

    ``undo`` then removes what the block has written, in another thread while the block still runs. Only the main thread
    handles signals: in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    # before Python 3.12 there is none on Windows, nor need for it
    if hasattr(os, "set_blocking"):
        os.set_blocking(writing, False)
    left = threading.Event()
    watch = threading.Thread(target=_watch, args=(reading, left, undo), daemon=True)
    has_begun = True
    try:
        watch.start()
    except RuntimeError:
        # where memory is limited there may be no room for its stack
        has_begun = False
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before)
        os.close(writing)
        if has_begun:
            watch.join()
        os.close(reading)


def _watch(reading: int, left: threading.Event, undo: Callable[[], None] | None) -> None:
    """Wait for a signal's number, which arrives at once, or for the end of the block."""
    while numbers := os.read(reading, 64):
        if _ENDING.intersection(numbers):
            if not left.wait(_GRACE_S):
                said = "memlens: Interrupted."
                if undo is not None:
                    with contextlib.suppress(OSError):
                        undo()
                        said += " All partial files were removed."
                try:
                    # stderr may be gone, for example if its terminal was closed
                    os.write(2, f"{said}\n".encode())
                finally:
                    os._exit(1)
            return
