"""A snapshot's desk for questions in SQL: makes the tables once, and answers each question in a thread of its own."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memlens import limits
from memlens.server.sessions.children import ProgressListener
from memlens.store.manifest import ArchiveError
from memlens.store.snapshot import Snapshot
from memlens.store.tables import FILE_NAME, are_filled
from memlens.views.sql.query import SqlAnswer, SqlError, SqlSession, SqlSort

logger = logging.getLogger(__name__)

MOST_SESSIONS = 4
"""Queries that run at once, of all views of the snapshot; more of them wait."""

Fill = Callable[[ProgressListener], Awaitable[None]]


class _Asked:
    """A question under way; :meth:`end` comes from the event loop's thread."""

    def __init__(self, session: SqlSession | None) -> None:
        self.session = session
        self.stop = threading.Event()

    def end(self) -> None:
        self.stop.set()
        if self.session is not None:
            self.session.interrupt()


class SqlDesk:
    """For the event loop's thread only. ``fill`` makes the archive's tables.

    ``open_again`` opens the snapshot once more, and ``relabelled`` is :attr:`Snapshot.relabelled` then.
    """

    def __init__(
        self, archive: Path, fill: Fill, open_again: Callable[[], Snapshot], relabelled: int
    ) -> None:
        self._archive = archive
        self._open_again = open_again
        self._relabelled = relabelled
        self._fill = fill
        self._filling: asyncio.Task[None] | None = None
        self._waiting = 0
        self._threads: ThreadPoolExecutor | None = None
        self._idle: list[SqlSession] = []
        self._asked: set[_Asked] = set()
        self._closed = False
        self.fraction: float | None = None
        """How far the filling is, None while there is none."""

    @property
    def filled(self) -> bool:
        """Whether the tables are there."""
        return are_filled(self._archive, self._relabelled)

    async def fill(self) -> None:
        """Make the tables, unless they are there. Who waits last and is cancelled ends the work. Raises IngestError."""
        if self.filled:
            return
        if self._filling is None or self._filling.done():
            self._filling = asyncio.create_task(self._fill_once())
        task = self._filling
        self._waiting += 1
        try:
            await asyncio.shield(task)
        finally:
            self._waiting -= 1
            if self._waiting == 0 and not task.done():
                task.cancel()
                await asyncio.shield(asyncio.wait([task]))

    async def ask(self, query: str, offset: int, limit: int, sort: SqlSort | None) -> SqlAnswer:
        """A page of a query's rows; cancelling this ends the query. Raises SqlError and IngestError."""
        await self.fill()
        if self._closed:
            raise SqlError("The snapshot has been closed")
        if self._threads is None:
            self._threads = ThreadPoolExecutor(
                MOST_SESSIONS, thread_name_prefix="sql", initializer=limits.give_way
            )
        asked = _Asked(self._take(query, offset, sort))

        def work() -> SqlAnswer:
            if asked.session is None:
                asked.session = SqlSession(self._open_again())
            return asked.session.ask(query, offset, limit, sort, asked.stop)

        self._asked.add(asked)
        in_thread = self._threads.submit(work)
        future = asyncio.wrap_future(in_thread)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            asked.end()
            if not in_thread.cancel():
                await asyncio.shield(asyncio.wait([future]))
            if future.done() and not future.cancelled():
                # nobody waits for it any more, whatever it is
                future.exception()
            raise
        except ArchiveError as error:
            logger.warning("the tables of %s are given up: %s", self._archive, error)
            await self._drop(asked)
            (self._archive / FILE_NAME).unlink(missing_ok=True)
            raise SqlError("The tables were damaged. Run the query again: they are made anew") from error
        finally:
            self._asked.discard(asked)
            await asyncio.shield(self._put_back(asked))
            # they have the error, whose traceback has this frame
            del in_thread, future

    async def close(self) -> None:
        """End what is under way, and release everything; returns when that is done."""
        self._closed = True
        if self._filling is not None and not self._filling.done():
            self._filling.cancel()
            await asyncio.wait([self._filling])
        for asked in list(self._asked):
            asked.end()
        if self._threads is not None:
            await asyncio.to_thread(self._threads.shutdown)
        for asked in list(self._asked):
            await self._drop(asked)
        while self._idle:
            await asyncio.to_thread(self._idle.pop().close)

    async def forget(self) -> None:
        """Let go of tables that were removed because they were damaged; the next question makes them anew."""
        while self._idle:
            await asyncio.to_thread(self._idle.pop().close)

    async def _fill_once(self) -> None:
        def progress(_stage: str, fraction: float | None) -> None:
            self.fraction = fraction

        self.fraction = 0.0
        try:
            await self._fill(progress)
        finally:
            self.fraction = None

    def _take(self, query: str, offset: int, sort: SqlSort | None) -> SqlSession | None:
        """An idle session: the one that can go on with the query, else one that no other query may go on with."""
        chosen = next((each for each in self._idle if each.continues(query, offset, sort)), None)
        if chosen is None:
            chosen = next((each for each in self._idle if not each.has_more), None)
        if chosen is None and self._idle and len(self._idle) + len(self._asked) >= MOST_SESSIONS:
            # the one used longest ago
            chosen = self._idle[0]
        if chosen is not None:
            self._idle.remove(chosen)
        return chosen

    async def _put_back(self, asked: _Asked) -> None:
        if self._closed:
            await self._drop(asked)
        elif asked.session is not None:
            self._idle.append(asked.session)

    async def _drop(self, asked: _Asked) -> None:
        session, asked.session = asked.session, None
        if session is not None:
            await asyncio.to_thread(session.close)
