"""Answers about two heap dumps or a series of them.

Two dumps are compared column by column while both of their threads are held: one thread waits for the other. Only one
comparison does so at a time, so that no two can wait for each other.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from memlens.errors import BadRequestError
from memlens.server.protocol.compare import (
    CompareHeapFindingsParams,
    CompareHeapHeadlineParams,
    CompareHeapObjectsParams,
    CompareHeapsParams,
    CompareHeapsResult,
    CompareHeapTypesParams,
    HeapSeriesParams,
    OfComparedHeaps,
)
from memlens.server.sessions.comparisons import Shared
from memlens.server.sessions.findings import findings_of
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.store.models import graph_of, heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.compare.headline import compared_heaps_headline
from memlens.views.compare.heaps import (
    ComparedTypes,
    HeapPair,
    HeapSeries,
    SeriesSide,
    only_here,
    pair_of,
    series_of,
    side_of_series,
)
from memlens.views.compare.kinds import check_comparable
from memlens.views.findings.answers import HeadlineAnswer, SnapshotFinding
from memlens.views.findings.compared import FindingsComparison, compared, lacking
from memlens.views.findings.table import compared_with
from memlens.views.heap.filters import filters
from memlens.views.heap.listing.lists import ObjectsAnswer

T = TypeVar("T")

_MOST_ROWS = 200
"""The most holders and paths of an answer."""


class HeapComparisons:
    """For the event loop's thread only."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._shared = Shared(registry)
        self._alone = asyncio.Lock()

    async def compare(self, params: CompareHeapsParams) -> CompareHeapsResult:
        """The totals of both, what holds new objects, and where the heap grew. Raises NotOpenError, BadRequestError."""
        found = (await self._pair(params)).comparison
        return CompareHeapsResult(
            found.matched,
            found.before,
            found.after,
            found.types_total,
            found.holders[:_MOST_ROWS],
            found.paths[:_MOST_ROWS],
            found.knows_native,
        )

    async def headline(self, params: CompareHeapHeadlineParams) -> HeadlineAnswer:
        """Both in a few sentences. Raises NotOpenError, BadRequestError."""
        found = (await self._pair(params)).comparison
        mine = self._registry.get(params.snapshot)
        own_first = not params.other_first
        return await mine.ask(lambda snapshot: compared_heaps_headline(snapshot, found, own_first=own_first))

    async def types(self, params: CompareHeapTypesParams) -> ComparedTypes:
        """A page of the types of both."""
        pair = await self._pair(params)
        return await asyncio.to_thread(
            pair.types, params.search, params.order, params.offset, params.limit, reverse=params.reverse
        )

    async def objects(self, params: CompareHeapObjectsParams) -> ObjectsAnswer:
        """The objects of a type that only the view's own dump has."""
        pair = await self._pair(params)
        only = pair.only_after if params.other_first else pair.only_before
        mine = self._registry.get(params.snapshot)
        return await mine.ask(
            lambda snapshot: only_here(snapshot, pair, only, params.type, params.offset, params.limit)
        )

    async def findings(self, params: CompareHeapFindingsParams) -> FindingsComparison:
        """The findings of both, and what either has too little of for a finding that the other has."""
        mine, other = self._registry.get(params.snapshot), self._registry.get(params.other)
        before, after = (other, mine) if params.other_first else (mine, other)
        for each in (before, after):
            check_dump(each)
        check_comparable(before.info, after.info)
        first, second = await findings_of(before), await findings_of(after)
        new, gone = lacking(compared(first, second))
        return compared(first, second, await _little(before, new, after), await _little(after, gone, before))

    async def series(self, params: HeapSeriesParams) -> HeapSeries:
        """Several dumps, type by type."""
        dumps = [self._registry.get(name) for name in params.dumps]
        sides = [await self._side(each, params.filter) for each in dumps]
        return await asyncio.to_thread(series_of, sides, params.search, params.limit)

    async def _side(self, opened: OpenSnapshot, filter_text: str) -> SeriesSide:
        check_dump(opened)
        key = ("side of a series", filter_text)
        return await self._shared.get(
            (opened.name,), key, lambda: opened.ask(lambda snapshot: side_of_series(snapshot, filter_text))
        )

    async def _pair(self, params: OfComparedHeaps) -> HeapPair:
        mine, other = self._registry.get(params.snapshot), self._registry.get(params.other)
        first, second = (other, mine) if params.other_first else (mine, other)

        async def make() -> HeapPair:
            if params.filter.strip():
                # one at a time: the query of a filter would hold up both threads
                for each in (first, second):
                    check_dump(each)
                    await each.ask(lambda snapshot: filters.chosen(snapshot, params.filter))
            async with self._alone:
                return await ask_both(
                    first, second, lambda before, after: pair_of(before, after, params.filter)
                )

        return await self._shared.get((first.name, second.name), ("heaps", params.filter), make)


async def _little(
    opened: OpenSnapshot, rules: frozenset[str], other: OpenSnapshot
) -> list[list[SnapshotFinding]]:
    """What some rules find in a dump that is compared with another."""
    if not rules:
        return []
    other_bytes = graph_of(other.info).reachable_bytes
    return await opened.ask_aside(lambda snapshot: compared_with(snapshot, rules, other_bytes))


def check_dump(opened: OpenSnapshot) -> None:
    """Raise :class:`BadRequestError` if it is not a heap dump."""
    if heap_dump_of(opened.info) is None:
        raise BadRequestError(phrase("{title} is not a heap dump", title=opened.title))


async def ask_both(
    first: OpenSnapshot, second: OpenSnapshot, question: Callable[[Snapshot, Snapshot], T]
) -> T:
    """Ask two snapshots one question in both of their threads. Only one question may do so at a time."""
    check_dump(first)
    check_dump(second)
    if first is second:
        return await first.ask(lambda snapshot: question(snapshot, snapshot))
    loop = asyncio.get_running_loop()

    def in_first(before: Snapshot) -> T:
        asked = second.ask(lambda after: question(before, after))
        return asyncio.run_coroutine_threadsafe(asked, loop).result()

    return await first.ask(in_first)
