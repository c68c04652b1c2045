"""The requests of the filter box."""

from memlens.server.protocol.base import Done
from memlens.server.questions import Cost, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import FilterAnswer
from memlens.views.heap.filters.unmatched import check_filter
from memlens.views.selection.columns import device_of


@question("memlens/filter", name=phrase("a device as the filter leaves it"))
def _filter(snapshot: Snapshot, *, device: int, filter_: str) -> FilterAnswer:
    """The figures of a filtered device."""
    found = device_of(snapshot, device, filter_)
    return FilterAnswer(found.info, found.whole.info.allocations)


@question("memlens/filterMatches", cost=Cost(filter=lambda p: p.filter))
def _matches(snapshot: Snapshot, *, device: int, filter_: str) -> Done:
    """Check a filter before views use it: one that matches nothing is refused, with what would match."""
    check_filter(snapshot, filter_, [device])
    return Done()
