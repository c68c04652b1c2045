"""The requests about reserved memory."""

from memlens.server.protocol.reserved import GapParams, ReservedParams
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.answers import GapAnswer, ReservedAnswer
from memlens.views.trace.picture import reserved


def _reserved(snapshot: Snapshot, p: ReservedParams) -> ReservedAnswer:
    return reserved.reserved_over_time(snapshot, p.device, p.axis, p.x0, p.x1, p.columns, p.filter)


def _gap(snapshot: Snapshot, p: GapParams) -> GapAnswer:
    return reserved.gap(snapshot, p.device, p.moment, p.filter)


QUESTIONS: Questions = {
    "memlens/reserved": _reserved,
    "memlens/gap": _gap,
}
