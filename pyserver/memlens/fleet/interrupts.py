"""Ctrl+C and the signals that end a command, delayed where they would leave something half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

_NUMBERS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Hold:
    """Delays signals while it is entered, and then delivers them to their former handlers.

    Python's handlers run only in the main thread, so in other threads there is nothing to delay.
    """

    def __init__(self) -> None:
        self._is_main = threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        self._held: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> Self:
        if self._is_main:
            for number in _NUMBERS:
                # a signal that is ignored, as under nohup, stays ignored
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
        """Deliver signals inside this block, first those that are pending."""
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
    """Block the terminal's signals in processes that are started inside this block, because this process ends them.

    They inherit that SIGINT and SIGHUP are blocked (sigprocmask(2)); in this process these are delivered afterwards.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
