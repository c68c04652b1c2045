"""The requests of the filter box."""

from memlens.server.protocol.base import Done
from memlens.server.protocol.filters import FilterParams
from memlens.server.questions import Cost, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import FilterAnswer
from memlens.views.heap.filters.unmatched import check_filter
from memlens.views.selection.columns import device_of


@question("memlens/filter", name=phrase("a device as the filter leaves it"))
def _filter(snapshot: Snapshot, p: FilterParams) -> FilterAnswer:
    found = device_of(snapshot, p.device, p.filter)
    return FilterAnswer(found.info, found.whole.info.allocations)


@question("memlens/filterMatches", cost=Cost(filter=lambda p: p.filter))
def _matches(snapshot: Snapshot, p: FilterParams) -> Done:
    check_filter(snapshot, p.filter, [p.device])
    return Done()
