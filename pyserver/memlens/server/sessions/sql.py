"""SQL queries on a snapshot: makes the tables once, and runs each query in a separate thread.

The parts of the tables are made at the same time, and a query waits for those that it reads. Its names are checked
first.
"""

import asyncio
import functools
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from memlens import limits
from memlens.server.sessions.children import ProgressListener
from memlens.server.sessions.shared import Shared, all_done, given_up_ended
from memlens.store.manifest import ArchiveError, Origin
from memlens.store.objects.queried import QueriedObjects
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import TABLES, are_filled, remove
from memlens.store.tables.schema import Part
from memlens.texts import phrase
from memlens.views.sql.filtering import wrong_query
from memlens.views.sql.pages import SqlAnswer
from memlens.views.sql.query import SqlError, SqlSession, SqlSort

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST_SESSIONS = 4
"""The most queries that run at once, over all views of the snapshot; further ones wait."""

Fill = Callable[[Part, ProgressListener], Awaitable[None]]


_FILTER_SECONDS = 60.0
"""The query of a filter is ended after so long: nobody sees that it runs."""


class _Asked:
    """A running query; :meth:`end` is called from the event loop's thread."""

    def __init__(self, session: SqlSession | None) -> None:
        self.session = session
        self.stop = threading.Event()

    def end(self) -> None:
        self.stop.set()
        if self.session is not None:
            self.session.interrupt()


class SqlQueries:
    """For the event loop's thread only. ``parts`` are those of its model, ``fill`` makes one of them.

    ``open_again`` opens the snapshot once more, with the same ``origin``.
    """

    def __init__(
        self, origin: Origin, parts: tuple[Part, ...], fill: Fill, open_again: Callable[[], Snapshot]
    ) -> None:
        self._origin = origin
        self._parts = parts
        self._open_again = open_again
        self._fill = fill
        self._fillings: dict[Part, Shared] = {}
        self._current: dict[Part, tuple[int, int, int]] = {}
        """The files that were found to be current: inode, size, modification time."""
        self._names: SqlSession | None = None
        self._naming = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._idle: list[SqlSession] = []
        self._asked: set[_Asked] = set()
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
            query, offset, sort, most_s, lambda session, stop: session.ask(query, offset, limit, sort, stop)
        )

    async def choose(self, query: str) -> None:
        """Find out which objects the query of a filter names. Raises BadRequestError and IngestError.

        All questions that need the same query wait for one, which ends when the last of them is cancelled.
        """

        async def work(_: ProgressListener) -> None:
            chosen = await self._answer(
                query, 0, None, _FILTER_SECONDS, lambda session, stop: session.objects(query, stop)
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
        asks: Callable[[SqlSession, threading.Event], T],
    ) -> T:
        """What a session answers in a thread, when the tables that the query reads are there."""
        parts = self._parts
        if not self.filled:
            try:
                parts = await self._needs(query, sort)
            except ArchiveError as error:
                logger.warning("the names of %s can't be looked up: %s", self._origin.archive, error)
                # filling the tables will find the same damage, and drop the archive
                parts = self._parts
            await self.fill(parts)
        await self._drop_idle_without(parts)
        if self._closed:
            raise SqlError(phrase("The snapshot has been closed"))
        if self._threads is None:
            self._threads = ThreadPoolExecutor(
                MOST_SESSIONS, thread_name_prefix="sql", initializer=limits.lower_priority
            )
        asked = _Asked(self._take(query, offset, sort))

        def work() -> T:
            if asked.session is None:
                asked.session = SqlSession(self._open_again())
            return asks(asked.session, asked.stop)

        self._asked.add(asked)
        in_thread = self._threads.submit(work)
        future = asyncio.wrap_future(in_thread)
        try:
            async with asyncio.timeout(most_s):
                return await asyncio.shield(future)
        except (asyncio.CancelledError, TimeoutError) as error:
            asked.end()
            if not in_thread.cancel():
                await asyncio.shield(asyncio.wait([future]))
            if future.done() and not future.cancelled():
                # nothing waits for the result any more
                future.exception()
            if isinstance(error, TimeoutError):
                raise SqlError(
                    phrase("The query took more than {n} seconds and was ended", n=round(most_s or 0)),
                    advice=phrase("Ask for fewer rows or columns before sorting or grouping."),
                ) from error
            raise
        except ArchiveError as error:
            logger.warning("the tables of %s are dropped: %s", self._origin.archive, error)
            await self._drop(asked)
            remove(self._origin.archive)
            raise SqlError(
                phrase("The tables were damaged and will be made again. Run the query again")
            ) from error
        finally:
            self._asked.discard(asked)
            await asyncio.shield(self._put_back(asked))
            # the callers have the error, whose traceback has this frame
            del in_thread, future

    async def close(self) -> None:
        """End running queries and release everything; returns when that is done."""
        self._closed = True
        fillings = [each.task for each in self._fillings.values() if not each.task.done()]
        for task in fillings:
            task.cancel()
        if fillings:
            await asyncio.wait(fillings)
        for asked in list(self._asked):
            asked.end()
        if self._threads is not None:
            await asyncio.to_thread(self._threads.shutdown)
        for asked in list(self._asked):
            await self._drop(asked)
        while self._idle:
            await asyncio.to_thread(self._idle.pop().close)
        await asyncio.to_thread(self._close_names)
        self.queried.clear()

    async def forget(self) -> None:
        """Close tables that were removed because they were damaged; the next query makes them again."""
        while self._idle:
            await asyncio.to_thread(self._idle.pop().close)

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

    async def _needs(self, query: str, sort: SqlSort | None) -> tuple[Part, ...]:
        """The parts of the tables that a query reads. Raises SqlError for one that can't be run."""

        def work() -> tuple[Part, ...]:
            with self._naming:
                if self._closed:
                    raise SqlError(phrase("The snapshot has been closed"))
                if self._names is None:
                    self._names = SqlSession(self._open_again(), names_only=True)
                return self._names.needs(query, sort)

        return await asyncio.to_thread(work)

    def _close_names(self) -> None:
        with self._naming:
            if self._names is not None:
                self._names.close()
                self._names = None

    async def _drop_idle_without(self, parts: tuple[Part, ...]) -> None:
        """Close the idle sessions from before these parts were filled."""
        old = [each for each in self._idle if not set(parts) <= set(each.parts)]
        self._idle = [each for each in self._idle if each not in old]
        for session in old:
            await asyncio.shield(asyncio.to_thread(session.close))

    def _take(self, query: str, offset: int, sort: SqlSort | None) -> SqlSession | None:
        """An idle session: the one that can continue the query, else one that no other query may continue."""
        chosen = next((each for each in self._idle if each.continues(query, offset, sort)), None)
        if chosen is None:
            chosen = next((each for each in self._idle if not each.has_more), None)
        if chosen is None and self._idle and len(self._idle) + len(self._asked) >= MOST_SESSIONS:
            # the least recently used one
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
