"""The findings of a large heap dump, made by a process of their own, so that no other answer waits for them."""

import asyncio
from collections.abc import Awaitable, Callable

from memlens.server.sessions.children import ProgressListener
from memlens.server.sessions.errors import NotOpenError
from memlens.server.sessions.shared import Shared, all_done, given_up_ended
from memlens.texts import phrase


class Examination:
    """Begins when the first caller waits for it, and ends with the last. For the event loop's thread only."""

    def __init__(self, examine: Callable[[ProgressListener], Awaitable[None]]) -> None:
        self._examine = examine
        self._under_way: Shared | None = None
        self._closed = False

    @property
    def fraction(self) -> float | None:
        """How much of it is done, None while it isn't under way."""
        return None if self._under_way is None or self._under_way.task.done() else self._under_way.fraction

    async def done(self) -> None:
        """Wait for its end. Raises IngestError, and NotOpenError once this is closed."""
        closed = NotOpenError(phrase("The snapshot has been closed"))
        await given_up_ended([self._under_way] if self._under_way is not None else [])
        if self._closed:
            raise closed
        if self._under_way is None or self._under_way.task.done():
            self._under_way = Shared(self._examine)
        await all_done([self._under_way], closed)

    async def close(self) -> None:
        """End it."""
        self._closed = True
        if self._under_way is not None and not self._under_way.task.done():
            self._under_way.task.cancel()
            await asyncio.wait([self._under_way.task])
