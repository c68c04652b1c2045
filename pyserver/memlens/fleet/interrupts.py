"""Ctrl+C and the signals that end a command, held back where they would leave something half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

_NUMBERS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Hold:
    """Holds signals back while it is entered, and delivers them afterwards, to whoever had handled them.

    Python's handlers run in the main thread only: elsewhere there is nothing to hold back.
    """

    def __init__(self) -> None:
        self._is_main = threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        self._held: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> Self:
        if self._is_main:
            for number in _NUMBERS:
                # one that is ignored, as under nohup, stays so
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._hold)
        return self

    def __exit__(self, *_error: object) -> None:
        before, self._before = self._before, {}
        for number, handler in before.items():
            signal.signal(number, handler)
        self._deliver(before)

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Deliver them meanwhile, first those that came before."""
        before = self._before
        try:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._deliver(before)
            yield
        finally:
            for number in before:
                signal.signal(number, self._hold)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._held.append((number, frame))

    def _deliver(self, handlers: dict[int, Any]) -> None:
        held, self._held = self._held, []
        for number, frame in held:
            handler = handlers[number]
            if callable(handler):
                handler(number, frame)
            elif handler == signal.SIG_DFL:
                signal.raise_signal(number)


@contextmanager
def unknown_to_children() -> Iterator[None]:
    """Keep what a terminal sends from processes that are started here, and from theirs: it is this one that ends them.

    They inherit that Ctrl+C and hanging up are blocked (sigprocmask(2)); here these come afterwards.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
