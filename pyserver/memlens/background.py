"""Runs work in another thread, for kernels and file writes, which release the interpreter's lock."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """Work that starts at once in another thread. Leaving the ``with`` block, or :meth:`result`, waits for its end."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._run)
        try:
            self._thread.start()
        except RuntimeError:
            # the system can't start another thread
            self._thread = None
            self._run()

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised again by result() or the end of the block
            self._error = error

    def result(self) -> T:
        """Wait for the end of the work, and return what it returned or raise what it raised."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.join()
        if error is None and self._error is not None:
            raise self._error
