"""The requests of the memory map and of the allocator's state."""

from typing import Annotated

from msgspec import Meta

from memlens.server.handlers.timeline import box_of, highlighted_of
from memlens.server.protocol.base import Count
from memlens.server.protocol.timeline import ViewportParams, ViewportResult
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Axis, HitAnswer, LocateAnswer
from memlens.views.selection.columns import device_of
from memlens.views.tables.groups import Branch, highlighted_rows
from memlens.views.trace.allocator import answer as allocator_state
from memlens.views.trace.allocator.answer import AllocatorStateAnswer, SegmentOrder
from memlens.views.trace.picture import map_lanes, memory_map
from memlens.views.trace.picture.areas import GroupedBy, areas_of
from memlens.views.trace.picture.map_lanes import MapLanesAnswer


@question("memlens/memoryMap", name=phrase("the memory map"))
def _map(snapshot: Snapshot, p: ViewportParams) -> ViewportResult:
    areas = areas_of(snapshot, p.device, p.filter, p.areas) if p.areas else None
    packed = memory_map.memory_map(
        snapshot, p.device, box_of(p), p.filter, highlighted_of(snapshot, p), areas
    )
    return ViewportResult(packed, areas.areas if areas else [])


@question("memlens/mapLanes", name=phrase("the memory map"))
def _lanes(snapshot: Snapshot, *, device: int) -> MapLanesAnswer:
    """The position of each range of addresses in the map."""
    return map_lanes.map_lanes(snapshot, device)


@question("memlens/mapHit", name=phrase("the memory map"))
def _hit(
    snapshot: Snapshot, *, device: int, moment: Count, y: float, within: float, filter_: str = ""
) -> HitAnswer:
    """What is at a moment and a height of the map, or at most ``within`` bytes away."""
    return memory_map.map_hit(snapshot, device, moment, y, within, filter_)


@question("memlens/mapLocate", name=phrase("the memory map"))
def _locate(snapshot: Snapshot, *, allocation: Count, axis: Axis) -> LocateAnswer:
    """The position of an allocation in the map."""
    return memory_map.map_locate(snapshot, allocation, axis)


@question("memlens/allocatorState", name=phrase("the state of the allocator"))
def _state(
    snapshot: Snapshot,
    *,
    device: int,
    moment: Count,
    order: SegmentOrder,
    offset: Count,
    limit: Annotated[int, Meta(ge=1, le=500)],
    filter_: str = "",
    highlighted: Branch | None = None,
    areas: GroupedBy | None = None,
) -> AllocatorStateAnswer:
    """A page of the segments at a moment: the largest first, or by address, or those with the most free first.

    With ``highlighted`` the blocks say which of them are in that branch of a tree table,
    with ``areas`` in which group they are.
    """
    grouped = areas_of(snapshot, device, filter_, areas) if areas else None
    rows = (
        None
        if highlighted is None
        else highlighted_rows(snapshot, highlighted, device_of(snapshot, device, filter_))
    )
    codes = (grouped.areas, grouped.codes) if grouped else None
    return allocator_state.allocator_state(
        snapshot, device, moment, order, offset, limit, filter_, rows, codes
    )
