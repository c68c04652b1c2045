"""SQL queries on a snapshot: makes the tables once, and runs each query in a separate process.

The parts of the tables are made at the same time, and a query waits for those that it reads. Its names are checked
first.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeVar

from memlens.server.sessions.children import ProgressListener
from memlens.server.sessions.query_process import QueryProcess
from memlens.server.sessions.shared import Shared, all_done, given_up_ended
from memlens.store.manifest import ArchiveError, Origin
from memlens.store.objects.queried import QueriedObjects
from memlens.store.tables.fill import TABLES, are_filled, remove
from memlens.store.tables.schema import Part
from memlens.texts import phrase
from memlens.views.sql.filtering import wrong_query
from memlens.views.sql.pages import SqlAnswer, SqlError, SqlSort

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST_PROCESSES = 4
"""The most queries that run at once, over all views of the snapshot; further ones wait."""

IDLE_S = 120.0
"""How long a process without a query stays."""

Fill = Callable[[Part, ProgressListener], Awaitable[None]]
Start = Callable[[], Awaitable[QueryProcess]]

_FILTER_SECONDS = 60.0
"""The query of a filter is ended after so long: nobody sees that it runs."""


class SqlQueries:
    """For the event loop's thread only. ``parts`` are those of its model, ``fill`` makes one of them.

    ``start`` starts a process that answers queries on the archive of ``origin``.
    """

    def __init__(self, origin: Origin, parts: tuple[Part, ...], fill: Fill, start: Start) -> None:
        self._origin = origin
        self._parts = parts
        self._start = start
        self._fill = fill
        self._fillings: dict[Part, Shared] = {}
        self._current: dict[Part, tuple[int, int, int]] = {}
        """The files that were found to be current: inode, size, modification time."""
        self._room = asyncio.Semaphore(MOST_PROCESSES)
        self._idle: list[QueryProcess] = []
        self._asked: set[QueryProcess] = set()
        self._changing: set[asyncio.Future[Any]] = set()
        """Processes that start or end."""
        self._tidying: asyncio.TimerHandle | None = None
        self._choosing: dict[str, Shared] = {}
        self.queried = QueriedObjects()
        """What :meth:`choose` found out."""
        self._closed = False

    @property
    def filled(self) -> bool:
        """Whether all tables exist."""
        return self._has(self._parts)

    @property
    def fraction(self) -> float | None:
        """The progress of filling the tables, None while they aren't being filled."""
        under_way = [each for each in self._fillings.values() if not each.task.done()]
        if not under_way:
            return None
        filled = sum(self._has((part,)) for part in self._parts)
        return (sum(each.fraction for each in under_way) + filled) / len(self._parts)

    async def fill(self, parts: Iterable[Part] | None = None) -> None:
        """Make these tables or all, unless they exist. Raises IngestError, and SqlError once this is closed.

        When the last caller that waits for a part is cancelled, the part is cancelled as well.
        """
        await given_up_ended(self._fillings.values())
        waited_for = []
        for part in self._parts if parts is None else parts:
            if self._has((part,)):
                continue
            if part not in self._fillings or self._fillings[part].task.done():
                self._fillings[part] = Shared(functools.partial(self._fill, part))
            waited_for.append(self._fillings[part])
        await all_done(waited_for, SqlError(phrase("The snapshot has been closed")))

    async def ask(
        self, query: str, offset: int, limit: int, sort: SqlSort | None, most_s: float | None = None
    ) -> SqlAnswer:
        """A page of a query's rows; cancelling this ends the query, and so do ``most_s`` seconds of it.

        Raises SqlError and IngestError.
        """
        return await self._answer(
            query,
            offset,
            sort,
            most_s,
            lambda process, parts: process.page(parts, query, offset, limit, sort),
        )

    async def choose(self, query: str) -> None:
        """Find out which objects the query of a filter names. Raises BadRequestError and IngestError.

        All questions that need the same query wait for one, which ends when the last of them is cancelled.
        """

        async def work(_: ProgressListener) -> None:
            chosen = await self._answer(
                query, 0, None, _FILTER_SECONDS, lambda process, parts: process.objects(parts, query)
            )
            self.queried.put(query, chosen)

        await given_up_ended(self._choosing.values())
        if query not in self._choosing:
            if self.queried.find(query) is not None:
                return
            shared = self._choosing[query] = Shared(work)
            shared.task.add_done_callback(lambda _: self._choosing.pop(query, None))
        try:
            await all_done([self._choosing[query]], SqlError(phrase("The snapshot has been closed")))
        except SqlError as error:
            raise wrong_query(error) from error

    async def _answer(
        self,
        query: str,
        offset: int,
        sort: SqlSort | None,
        most_s: float | None,
        asks: Callable[[QueryProcess, tuple[Part, ...]], Awaitable[T]],
    ) -> T:
        """What a process answers, when the tables that the query reads are there."""
        parts = self._parts
        if not self.filled:
            try:
                async with self._process() as process, self._ended_after(most_s):
                    parts = await process.needs(query, sort)
            except ArchiveError as error:
                logger.warning("the names of %s can't be looked up: %s", self._origin.archive, error)
                # filling the tables will find the same damage, and drop the archive
            await self.fill(parts)
        try:
            async with self._process(query, offset, sort) as process, self._ended_after(most_s):
                return await asks(process, parts)
        except ArchiveError as error:
            logger.warning("the tables of %s are dropped: %s", self._origin.archive, error)
            await self.forget()
            remove(self._origin.archive)
            raise SqlError(
                phrase("The tables were damaged and will be made again. Run the query again")
            ) from error

    @contextlib.asynccontextmanager
    async def _ended_after(self, most_s: float | None) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(most_s):
                yield
        except TimeoutError as error:
            raise SqlError(
                phrase("The query took more than {n} seconds and was ended", n=round(most_s or 0)),
                advice=phrase("Ask for fewer rows or columns before sorting or grouping."),
            ) from error

    async def close(self) -> None:
        """End running queries and release everything; returns when that is done."""
        self._closed = True
        fillings = [each.task for each in self._fillings.values() if not each.task.done()]
        for task in fillings:
            task.cancel()
        if fillings:
            await asyncio.wait(fillings)
        if self._tidying is not None:
            self._tidying.cancel()
        self._end(*self._asked)
        await self.forget()
        self.queried.clear()

    async def forget(self) -> None:
        """Close tables that were removed because they were damaged; the next query makes them again."""
        self._end_idle()
        while self._changing:
            await asyncio.wait(self._changing)

    def _has(self, parts: Iterable[Part]) -> bool:
        return all(self._has_part(part) for part in parts)

    def _has_part(self, part: Part) -> bool:
        """Whether a part's file is current. A file that was found to be current isn't read again for each query."""
        try:
            now = TABLES[part].path(self._origin.archive).stat()
        except OSError:
            return False
        file = (now.st_ino, now.st_size, now.st_mtime_ns)
        if self._current.get(part) != file:
            if not are_filled(self._origin, (part,)):
                return False
            self._current[part] = file
        return True

    @contextlib.asynccontextmanager
    async def _process(
        self, query: str = "", offset: int = 0, sort: SqlSort | None = None
    ) -> AsyncIterator[QueryProcess]:
        """A process for a question, when fewer than MOST_PROCESSES are asked. Raises SqlError and IngestError."""
        async with self._room:
            process = self._take(query, offset, sort)
            if process is None:
                process = await self._started()
            self._asked.add(process)
            try:
                yield process
            finally:
                self._asked.discard(process)
                self._put_back(process)

    async def _started(self) -> QueryProcess:
        starting = asyncio.create_task(self._new())
        self._changing.add(starting)
        starting.add_done_callback(self._changing.discard)
        try:
            # if this is cancelled, it is there for the next query
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._keep)
            raise

    async def _new(self) -> QueryProcess:
        process = await self._start()
        if self._closed:
            process.kill()
            await process.ended()
            raise SqlError(phrase("The snapshot has been closed"))
        return process

    def _keep(self, started: asyncio.Task[QueryProcess]) -> None:
        if not started.cancelled() and started.exception() is None:
            self._put_back(started.result())

    def _put_back(self, process: QueryProcess) -> None:
        if self._closed or not process.is_usable:
            self._end(process)
            return
        self._idle.append(process)
        if self._tidying is not None:
            self._tidying.cancel()
        self._tidying = asyncio.get_running_loop().call_later(IDLE_S, self._end_idle)

    def _end_idle(self) -> None:
        self._end(*self._idle)
        self._idle.clear()

    def _end(self, *processes: QueryProcess) -> None:
        for process in processes:
            process.kill()
            ending = asyncio.ensure_future(process.ended())
            self._changing.add(ending)
            ending.add_done_callback(self._changing.discard)

    def _take(self, query: str, offset: int, sort: SqlSort | None) -> QueryProcess | None:
        """An idle process: the one that can continue the query, else one that no other query may continue."""
        if self._closed:
            raise SqlError(phrase("The snapshot has been closed"))
        self._end(*(each for each in self._idle if not each.is_usable))
        self._idle = [each for each in self._idle if each.is_usable]
        chosen = next((each for each in self._idle if each.continues(query, offset, sort)), None)
        if chosen is None:
            chosen = next((each for each in self._idle if not each.has_more), None)
        if chosen is None and self._idle and len(self._idle) + len(self._asked) >= MOST_PROCESSES:
            # the least recently used one
            chosen = self._idle[0]
        if chosen is not None:
            self._idle.remove(chosen)
        return chosen
