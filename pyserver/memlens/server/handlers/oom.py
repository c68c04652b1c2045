"""The requests about out-of-memory events."""

from memlens.packs import registry
from memlens.server.protocol.base import Count
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.trace.oom.answers import MarksAnswer, OomAnswer


@question("memlens/marks")
def _marks(snapshot: Snapshot) -> MarksAnswer:
    """The marks of all devices."""
    return registry.ooms().marks(snapshot)


@question("memlens/oom", name=phrase("the explanation of an out-of-memory event"))
def _oom(snapshot: Snapshot, *, device: int, event: Count) -> OomAnswer:
    """An out-of-memory event by its number among its device's events, as a mark has it."""
    return registry.ooms().oom(snapshot, device, event)
