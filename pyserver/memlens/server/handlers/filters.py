"""The requests of the filter box."""

from memlens.server.protocol.base import Done
from memlens.server.protocol.filters import FilterParams
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.answers import FilterAnswer
from memlens.views.graph.unmatched import check_filter
from memlens.views.selection.columns import device_of


def _filter(snapshot: Snapshot, p: FilterParams) -> FilterAnswer:
    found = device_of(snapshot, p.device, p.filter)
    return FilterAnswer(found.info, found.whole.info.allocations)


def _matches(snapshot: Snapshot, p: FilterParams) -> Done:
    check_filter(snapshot, p.filter, [p.device])
    return Done()


QUESTIONS: Questions = {"memlens/filter": _filter, "memlens/filterMatches": _matches}
