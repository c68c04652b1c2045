"""The requests about out-of-memory events."""

from memlens.server.protocol.oom import MarksParams, OomParams
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.trace.oom import explanation as oom
from memlens.views.trace.oom.answers import MarksAnswer, OomAnswer


def _marks(snapshot: Snapshot, _p: MarksParams) -> MarksAnswer:
    return oom.marks(snapshot)


def _oom(snapshot: Snapshot, p: OomParams) -> OomAnswer:
    return oom.oom(snapshot, p.device, p.event)


QUESTIONS: Questions = {
    "memlens/marks": _marks,
    "memlens/oom": _oom,
}
