"""Queries about two snapshots, which both answer in threads of their own."""

import asyncio
import time

from memlens.server.protocol.compare import CompareSqlParams
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.views.sql.compared import Pages, QuerySide, answer_page, compare_queries
from memlens.views.sql.pages import MOST_ROWS, SqlAnswer


class ComparedQueries:
    """For the event loop's thread only."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._last: tuple[tuple[str, ...], QuerySide] | None = None
        """The rows that were compared last, of which further pages and orders are asked for."""
        registry.listeners.append(self._forget)

    async def ask(self, params: CompareSqlParams) -> SqlAnswer:
        """A page of the rows of both. Raises NotOpenError, SqlError and IngestError."""
        mine, other = self._registry.get(params.snapshot), self._registry.get(params.other)
        first, second = (other, mine) if params.other_first else (mine, other)
        began = time.perf_counter()

        of = (first.name, second.name, str(params.other_first), params.query, *params.key)
        if self._last is None or self._last[0] != of:
            before = await _side(first, params.query)
            after = before if second is first else await _side(second, params.query)
            compared = await asyncio.to_thread(
                compare_queries, before, after, params.key, own_after=params.other_first
            )
            self._last = of, compared
        else:
            compared = self._last[1]
        took_ms = round((time.perf_counter() - began) * 1e3, 3)
        return await asyncio.to_thread(
            answer_page, compared, params.offset, params.limit, params.sort, took_ms
        )

    def _forget(self) -> None:
        open_now = {opened.name for opened in self._registry.snapshots()}
        if self._last is not None and not open_now.issuperset(self._last[0][:2]):
            self._last = None


async def _side(opened: OpenSnapshot, query: str) -> QuerySide:
    pages = Pages()
    while pages.add(await opened.sql.ask(query, pages.offset, MOST_ROWS, None)):
        pass
    return pages.side
