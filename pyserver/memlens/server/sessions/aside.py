"""Long questions to a snapshot, in a separate thread, so that no other question waits for them."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from memlens.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Aside:
    """Opens the archive once more, at the first question; columns are mapped, so both share their memory."""

    def __init__(self, open_again: Callable[[], Snapshot]) -> None:
        self._open_again = open_again
        self._snapshot: Snapshot | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside")

    async def ask(self, question: Callable[[Snapshot], T]) -> T:
        """The answer. Raises what the question raises, ArchiveError, and RuntimeError once this is closed."""
        answer = await asyncio.wrap_future(self._thread.submit(self._answer, question))
        with contextlib.suppress(RuntimeError):
            self._thread.submit(self._work_in_background)
        return answer

    async def close(self) -> None:
        """Release the archive after the pending questions."""
        closed = None
        with contextlib.suppress(RuntimeError):
            closed = self._thread.submit(self._close)
        self._thread.shutdown(wait=False)
        if closed is not None:
            await asyncio.wrap_future(closed)

    def _answer(self, question: Callable[[Snapshot], T]) -> T:
        if self._snapshot is None:
            self._snapshot = self._open_again()
        return self._snapshot.ask(question)

    def _work_in_background(self) -> None:
        if self._snapshot is None:
            return
        try:
            self._snapshot.ask(Snapshot.work_in_background)
        except Exception:
            logger.exception("background work for %s failed", self._snapshot.archive.name)

    def _close(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
