"""Queries about several snapshots, each of which answers in a thread of its own."""

import asyncio
import time
from typing import NamedTuple

from memlens.errors import BadRequestError
from memlens.server.protocol.compare import CompareSqlParams, SeriesSqlParams
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.texts import phrase
from memlens.views.sql.compared import Pages, QuerySide, answer_page, compare_queries
from memlens.views.sql.pages import MOST_ROWS, SqlAnswer


class ComparedQueries:
    """For the event loop's thread only."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._last: _Compared | None = None
        """The rows that were compared last, of which further pages and orders are asked for."""
        registry.listeners.append(self._forget)

    async def of_two(self, params: CompareSqlParams) -> SqlAnswer:
        """A page of the rows of both. Raises NotOpenError, SqlError and IngestError."""
        mine, other = params.snapshot, params.other
        names = [other, mine] if params.other_first else [mine, other]
        return await self._ask(params, names, names.index(mine))

    async def of_series(self, params: SeriesSqlParams) -> SqlAnswer:
        """A page of the rows of several. Raises NotOpenError, SqlError, IngestError and BadRequestError."""
        if params.snapshot not in params.dumps:
            raise BadRequestError(phrase("The dump must be one of the series"))
        return await self._ask(params, params.dumps, params.dumps.index(params.snapshot))

    async def _ask(self, params: CompareSqlParams | SeriesSqlParams, names: list[str], own: int) -> SqlAnswer:
        opened = [self._registry.get(name) for name in names]
        began = time.perf_counter()
        names = [each.name for each in opened]
        of = (str(own), params.query, *params.key)
        if self._last is None or (self._last.names, self._last.of) != (names, of):
            sides: dict[str, QuerySide] = {}
            for each in opened:
                if each.name not in sides:
                    sides[each.name] = await _side(each, params.query)
            compared = await asyncio.to_thread(
                compare_queries, [sides[name] for name in names], params.key, own=own
            )
            self._last = _Compared(names, of, compared)
        else:
            compared = self._last.rows
        took_ms = round((time.perf_counter() - began) * 1e3, 3)
        return await asyncio.to_thread(
            answer_page, compared, params.offset, params.limit, params.sort, took_ms
        )

    def _forget(self) -> None:
        open_now = {opened.name for opened in self._registry.snapshots()}
        if self._last is not None and not open_now.issuperset(self._last.names):
            self._last = None


class _Compared(NamedTuple):
    """Rows of several snapshots, and what they answer."""

    names: list[str]
    of: tuple[str, ...]
    rows: QuerySide


async def _side(opened: OpenSnapshot, query: str) -> QuerySide:
    pages = Pages()
    while pages.add(await opened.query(query, pages.offset, MOST_ROWS, None)):
        pass
    return pages.side
