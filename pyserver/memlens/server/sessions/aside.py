"""Long questions to a snapshot, in a separate thread, so that no other question waits for them."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from memlens.errors import stopped
from memlens.kernels.base.work import Work
from memlens.server.reporting import reported
from memlens.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

T = TypeVar("T")

REPORTED_EVERY_S = 0.2
"""How often it is reported how far an answer is. Most are there sooner."""


class Aside:
    """Opens the archive once more, at the first question; columns are mapped, so both share their memory."""

    def __init__(self, open_again: Callable[[], Snapshot]) -> None:
        self._open_again = open_again
        self._snapshot: Snapshot | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside")
        self._asked = set[Work]()

    async def ask(self, question: Callable[[Snapshot], T]) -> T:
        """The answer. Raises what the question raises, ArchiveError, and RuntimeError once this is closed.

        Cancelling this stops the question, so that the next one needn't wait for its end.
        """
        work = Work()
        self._asked.add(work)
        answering = asyncio.wrap_future(self._thread.submit(self._answer, question, work))
        try:
            answer = await _watched(answering, work)
        except asyncio.CancelledError:
            work.stop()
            answering.cancel()
            raise
        finally:
            self._asked.discard(work)
        with contextlib.suppress(RuntimeError):
            self._thread.submit(self._work_in_background)
        return answer

    async def close(self) -> None:
        """Stop the pending questions, and release the archive."""
        for work in self._asked:
            work.stop()
        closed = None
        with contextlib.suppress(RuntimeError):
            closed = self._thread.submit(self._close)
        self._thread.shutdown(wait=False)
        if closed is not None:
            await asyncio.wrap_future(closed)

    def _answer(self, question: Callable[[Snapshot], T], work: Work) -> T:
        if work.is_stopped:
            raise stopped()
        if self._snapshot is None:
            self._snapshot = self._open_again()
        self._snapshot.work = work
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


async def _watched(answering: asyncio.Future[T], work: Work) -> T:
    """The answer. Until then, progress goes to the caller."""
    report = reported.get()
    while report is not None and not answering.done():
        await asyncio.wait([answering], timeout=REPORTED_EVERY_S)
        report(work.fraction)
    return await answering
