"""The requests of the memory map and of the allocator's state."""

from memlens.server.handlers.timeline import box_of, lit_of
from memlens.server.protocol.memory_map import (
    AllocatorStateParams,
    MapHitParams,
    MapLanesParams,
    MapLocateParams,
)
from memlens.server.protocol.timeline import ViewportParams, ViewportResult
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import HitAnswer, LocateAnswer
from memlens.views.trace.allocator import answer as allocator_state
from memlens.views.trace.allocator.answer import AllocatorStateAnswer
from memlens.views.trace.picture import map_lanes, memory_map
from memlens.views.trace.picture.areas import areas_of
from memlens.views.trace.picture.map_lanes import MapLanesAnswer


@question("memlens/memoryMap", name=phrase("the memory map"))
def _map(snapshot: Snapshot, p: ViewportParams) -> ViewportResult:
    areas = areas_of(snapshot, p.device, p.filter, p.areas) if p.areas else None
    packed = memory_map.memory_map(snapshot, p.device, box_of(p), p.filter, lit_of(snapshot, p), areas)
    return ViewportResult(packed, areas.areas if areas else [])


@question("memlens/mapLanes", name=phrase("the memory map"))
def _lanes(snapshot: Snapshot, p: MapLanesParams) -> MapLanesAnswer:
    return map_lanes.map_lanes(snapshot, p.device)


@question("memlens/mapHit", name=phrase("the memory map"))
def _hit(snapshot: Snapshot, p: MapHitParams) -> HitAnswer:
    return memory_map.map_hit(snapshot, p.device, p.moment, p.y, p.within, p.filter)


@question("memlens/mapLocate", name=phrase("the memory map"))
def _locate(snapshot: Snapshot, p: MapLocateParams) -> LocateAnswer:
    return memory_map.map_locate(snapshot, p.allocation, p.axis)


@question("memlens/allocatorState", name=phrase("the state of the allocator"))
def _state(snapshot: Snapshot, p: AllocatorStateParams) -> AllocatorStateAnswer:
    areas = areas_of(snapshot, p.device, p.filter, p.areas) if p.areas else None
    return allocator_state.allocator_state(
        snapshot,
        p.device,
        p.moment,
        p.order,
        p.offset,
        p.limit,
        p.filter,
        lit_of(snapshot, p),
        (areas.areas, areas.codes) if areas else None,
    )
