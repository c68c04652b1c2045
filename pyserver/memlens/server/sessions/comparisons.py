"""Answers about two open snapshots.

Each snapshot is asked separately in its own thread, and the answers are combined in a third. So neither thread blocks
while waiting for the other, a snapshot may be compared with itself, and one that is closed in the meantime raises its
error. Expensive results are kept for the next question: a snapshot's frames with the snapshot, pairings and
comparisons with the first of the two.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any, Literal, TypeVar, assert_never

import numpy as np

from memlens.errors import BadRequestError
from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.result_cache import ResultCache
from memlens.server.protocol.compare import (
    CompareCurvesParams,
    ComparedDevices,
    ComparedTree,
    CompareHeadlineParams,
    CompareMomentsParams,
    CompareMomentsResult,
    CompareParams,
    CompareSizesParams,
    CompareStacksParams,
    CompareStacksResult,
)
from memlens.server.sessions.opened import QUIET_S, OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.compare import alignment
from memlens.views.compare.alignment import CurvesAnswer
from memlens.views.compare.headline import attribution_of, compared_headline
from memlens.views.compare.pairing import Pairing
from memlens.views.compare.rows import GROUPED, CompareAnswer, Comparison
from memlens.views.compare.sides import CompareBy, Side, side_by
from memlens.views.findings.answers import HeadlineAnswer
from memlens.views.naming.places import places_of
from memlens.views.selection.columns import check_columns
from memlens.views.selection.sets import AllocationSet
from memlens.views.trace.how_large import asked_in, how_large
from memlens.views.trace.how_large_words import HowLargeAnswer, sizes_said

T = TypeVar("T")


class Comparisons:
    """For the event loop's thread only."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._shared = Shared(registry)

    async def compare(self, params: CompareParams) -> CompareAnswer:
        """A page of differences. Raises NotOpenError, BadRequestError."""
        comparison = await self._comparison(params)
        return await asyncio.to_thread(
            comparison.answer,
            params.measure,
            params.search,
            params.order,
            params.offset,
            params.limit,
            reverse=params.reverse,
        )

    async def headline(self, params: CompareHeadlineParams) -> HeadlineAnswer:
        """The differences in a few sentences."""
        mine, other = self._registry.get(params.snapshot), self._registry.get(params.other)
        charged = await asyncio.gather(mine.ask(attribution_of), other.ask(attribution_of))
        attribution: Attribution = "any" if "any" in charged else "mine"

        async def by(rows: CompareBy, charging: Attribution = attribution) -> Comparison:
            return await self._compared(mine, other, params, rows, charging)

        has_categories = all(map(_has_categories, (mine.info, other.info)))
        categories = await by("category") if has_categories else None
        functions = (
            await by("function", "any")
            if attribution == "mine" and isinstance(mine.info, ProfileInfo)
            else None
        )
        lines, files = await by("line"), await by("file")
        sets = (params.of, params.other_of)
        return await asyncio.to_thread(
            compared_headline, mine.info, sets, lines, files, categories, functions
        )

    async def stacks(self, params: CompareStacksParams) -> CompareStacksResult:
        """The stacks of the view's own snapshot that belong to a row."""
        comparison = await self._comparison(params)
        side: Literal["before", "after"] = "after" if params.other_first else "before"
        stacks = await asyncio.to_thread(comparison.stacks, params.row, params.measure, side)
        return CompareStacksResult(stacks)

    async def curves(self, params: CompareCurvesParams) -> CurvesAnswer:
        """The curves of two devices on one axis."""
        check_columns(params.columns)
        axis = params.alignment.axis
        mine, other = self._registry.get(params.snapshot), self._registry.get(params.other)
        first, second = await self._sides(mine, other, params)
        places, steps = alignment.align(first, second, params.alignment)
        extent = alignment.joined(first, second, places)
        x0 = extent.x0 if params.x0 is None else params.x0
        x1 = extent.x1 if params.x1 is None else params.x1
        if not (np.isfinite(x0) and np.isfinite(x1) and x0 < x1):
            raise BadRequestError(phrase("A range must begin before it ends"))
        edges = np.linspace(x0, x1, params.columns + 1)
        there = places.to_second(edges)
        (highest, lowest, moments), (other_highest, other_lowest, _) = await asyncio.gather(
            mine.ask(lambda snapshot: alignment.heights(snapshot, params.device, axis, edges, params.filter)),
            other.ask(
                lambda snapshot: alignment.heights(snapshot, params.other_device, axis, there, params.filter)
            ),
        )
        return CurvesAnswer(
            x0=x0,
            x1=x1,
            columns=params.columns,
            extent=extent,
            peak_bytes=first.peak_bytes,
            other_peak_bytes=second.peak_bytes,
            peak_x=first.peak_x,
            other_peak_x=float(places.to_first(np.array([second.peak_x]))[0]),
            highest=highest,
            lowest=lowest,
            other_highest=other_highest,
            other_lowest=other_lowest,
            moments=moments,
            steps=steps,
            steps_known=first.known,
            other_steps_known=second.known,
        )

    async def moments(self, params: CompareMomentsParams) -> CompareMomentsResult:
        """The moments of the other device that correspond to moments of the view's."""
        axis = params.alignment.axis
        mine, other = self._registry.get(params.snapshot), self._registry.get(params.other)
        first, second = await self._sides(mine, other, params)
        places, _ = alignment.align(first, second, params.alignment)
        x = await mine.ask(lambda s: alignment.positions_of(s, params.device, axis, params.moments))
        there = places.to_second(x)
        moments = await other.ask(lambda s: alignment.moments_at(s, params.other_device, axis, there))
        here, beside = await asyncio.gather(
            mine.ask(lambda s: alignment.live_at(s, params.device, params.moments, params.filter)),
            other.ask(lambda s: alignment.live_at(s, params.other_device, moments, params.filter)),
        )
        runs = (there >= second.extent.x0) & (there <= second.extent.x1)
        return CompareMomentsResult(
            moments,
            here,
            [live if running else None for live, running in zip(beside, runs.tolist(), strict=True)],
            any(side.known is not None and side.known.inferred for side in (first, second)),
        )

    async def sizes(self, params: CompareSizesParams) -> HowLargeAnswer:
        """What grows from the trace of the smaller size to the other, and the largest that fits."""
        sides = [
            (params.size, params.device, self._registry.get(params.snapshot)),
            (params.other_size, params.other_device, self._registry.get(params.other)),
        ]
        (small, small_device, smaller), (large, device, larger) = sorted(sides, key=lambda side: side[0])
        asked = await smaller.ask_aside(lambda snapshot: asked_in(snapshot, small_device))
        found = await larger.ask_aside(
            lambda snapshot: how_large(snapshot, device, asked, (small, large), (), params.capacity_bytes)
        )
        return HowLargeAnswer(found, list(sizes_said(found, small)))

    async def _sides(
        self, mine: OpenSnapshot, other: OpenSnapshot, params: ComparedDevices
    ) -> tuple[alignment.Side, alignment.Side]:
        axis, by_step = params.alignment.axis, params.alignment.by_step

        def side(number: int) -> Callable[[Snapshot], alignment.Side]:
            return lambda snapshot: alignment.side_of(snapshot, number, axis, params.filter, by_step=by_step)

        return await asyncio.gather(mine.ask(side(params.device)), other.ask(side(params.other_device)))

    async def _comparison(self, params: CompareParams | CompareStacksParams) -> Comparison:
        mine, other = self._registry.get(params.snapshot), self._registry.get(params.other)
        return await self._compared(mine, other, params, params.by, params.attribution)

    async def _compared(
        self,
        mine: OpenSnapshot,
        other: OpenSnapshot,
        sets: "ComparedSets",
        by: CompareBy,
        attribution: Attribution,
    ) -> Comparison:
        """The comparison of two sets; computed for the first caller, while the others wait for it."""
        (first, first_of), (second, second_of) = before_and_after(mine, other, sets)

        async def side(opened: OpenSnapshot, of: AllocationSet) -> Side:
            return await opened.ask(lambda snapshot: side_by(snapshot, of, by, attribution))

        async def make() -> Comparison:
            before, after = await asyncio.gather(side(first, first_of), side(second, second_of))
            # names of groups are paired at once
            pairing = (
                Pairing(before.places, after.places) if by in GROUPED else await self.pairing(first, second)
            )
            return await asyncio.to_thread(Comparison, before, after, pairing, by)

        key = ("comparison", first_of, second_of, by, attribution)
        return await self._shared.get((first.name, second.name), key, make)

    async def pairing(self, first: OpenSnapshot, second: OpenSnapshot) -> Pairing:
        """The frames of two snapshots, paired."""

        async def make() -> Pairing:
            before, after = await asyncio.gather(first.ask(places_of), second.ask(places_of))
            return await asyncio.to_thread(Pairing, before, after)

        return await self._shared.get((first.name, second.name), ("pairing",), make)


def _has_categories(info: SnapshotInfo) -> bool:
    match info:
        case TimelineInfo(categories=categories):
            return bool(categories)
        case ProfileInfo() | GraphInfo():
            return False
        case _:
            assert_never(info)


def _when_answered(work: Callable[[], None]) -> None:
    """Run some work after the pending answers."""
    asyncio.get_running_loop().call_later(QUIET_S, work)


ComparedSets = CompareParams | CompareStacksParams | CompareHeadlineParams | ComparedTree


def before_and_after(
    mine: OpenSnapshot, other: OpenSnapshot, sets: ComparedSets
) -> tuple[tuple[OpenSnapshot, AllocationSet], tuple[OpenSnapshot, AllocationSet]]:
    """Each snapshot with its set, "before" first."""
    own, others = (mine, sets.of), (other, sets.other_of)
    return (others, own) if sets.other_first else (own, others)


class Shared:
    """Results about some snapshots, each computed once for all callers, and kept for a while.

    When a snapshot is closed, its results are dropped.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept = ResultCache(defer=_when_answered)
        self._making: dict[Hashable, asyncio.Task[Any]] = {}
        registry.listeners.append(self._forget_closed)

    async def get(self, snapshots: tuple[str, ...], what: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """A result about the snapshots of these names.

        A caller that is cancelled stops waiting; the work goes on for the others and for later ones.
        """
        key = (snapshots, what)
        kept: T | None = self._kept.find(key)
        if kept is not None:
            return kept
        task = self._making.get(key)
        if task is None:
            task = self._making[key] = asyncio.ensure_future(make())
            task.add_done_callback(partial(self._made, key))
        result: T = await asyncio.shield(task)
        return result

    def _made(self, key: tuple[tuple[str, ...], Hashable], task: "asyncio.Task[Any]") -> None:
        del self._making[key]
        # ignore an error that nothing waits for any more
        if not task.cancelled() and task.exception() is None and self._are_open(key[0]):
            self._kept.put(key, task.result())

    def _are_open(self, snapshots: tuple[str, ...]) -> bool:
        return {*snapshots} <= {opened.name for opened in self._registry.snapshots()}

    def _forget_closed(self) -> None:
        self._kept.drop(lambda key: not self._are_open(key[0]))
