"""Work that is done once for all who wait for it."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable

from memlens.errors import MemlensError
from memlens.server.sessions.children import ProgressListener


class Shared:
    """A task, how much of it is done, and how many callers wait for it. For the event loop's thread only."""

    def __init__(self, work: Callable[[ProgressListener], Awaitable[None]]) -> None:
        self.fraction = 0.0
        self.waiting = 0
        self.is_given_up = False
        self.task = asyncio.ensure_future(work(self._progress))

    def _progress(self, _stage: str, fraction: float | None) -> None:
        self.fraction = fraction or 0.0


async def given_up_ended(works: Iterable[Shared]) -> None:
    """Wait until work that everybody gave up has ended without a result, so that it can begin anew."""
    while ending := [each.task for each in works if each.is_given_up and not each.task.done()]:
        await asyncio.wait(ending)


async def all_done(works: Collection[Shared], closed: MemlensError) -> None:
    """Wait for several works. Raises the first error, and ``closed`` for work that was cancelled.

    Work that nobody waits for any more is cancelled.
    """
    for work in works:
        work.waiting += 1
    try:
        if works:
            # cancelling this doesn't cancel them
            done, _ = await asyncio.wait([work.task for work in works], return_when=asyncio.FIRST_EXCEPTION)
            # one that found the archive damaged may have cancelled the others
            for task in sorted(done, key=asyncio.Future.cancelled):
                if task.cancelled():
                    raise closed
                task.result()
    finally:
        given_up = []
        for work in works:
            work.waiting -= 1
            if work.task.done():
                # another may have failed first
                work.task.cancelled() or work.task.exception()
            elif work.waiting == 0:
                work.is_given_up = True
                work.task.cancel()
                given_up.append(work.task)
        if given_up:
            await asyncio.shield(asyncio.wait(given_up))
