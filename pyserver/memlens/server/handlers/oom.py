"""The requests about out-of-memory events."""

from memlens.server.protocol.oom import MarksParams, OomParams
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.trace.oom import explanation as oom
from memlens.views.trace.oom.answers import MarksAnswer, OomAnswer


@question("memlens/marks")
def _marks(snapshot: Snapshot, _p: MarksParams) -> MarksAnswer:
    return oom.marks(snapshot)


@question("memlens/oom", name=phrase("the explanation of an out-of-memory event"))
def _oom(snapshot: Snapshot, p: OomParams) -> OomAnswer:
    return oom.oom(snapshot, p.device, p.event)
