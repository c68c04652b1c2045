"""The requests about reserved memory."""

from memlens.server.protocol.reserved import GapParams, ReservedParams
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import GapAnswer, ReservedAnswer
from memlens.views.trace.picture import reserved


@question("memlens/reserved", name=phrase("the picture of reserved memory"))
def _reserved(snapshot: Snapshot, p: ReservedParams) -> ReservedAnswer:
    return reserved.reserved_over_time(snapshot, p.device, p.axis, p.x0, p.x1, p.columns, p.filter)


@question("memlens/gap", name=phrase("the gap between reserved and live memory"))
def _gap(snapshot: Snapshot, p: GapParams) -> GapAnswer:
    return reserved.gap(snapshot, p.device, p.moment, p.filter)
