"""Out-of-memory events, which the pack of their allocator explains."""

from memlens.packs import registry
from memlens.store.snapshot import Snapshot
from memlens.views.trace.oom.answers import MarksAnswer, OomAnswer


def marks(snapshot: Snapshot) -> MarksAnswer:
    """The events of all devices that are marked on the time axis."""
    return registry.ooms().marks(snapshot)


def oom(snapshot: Snapshot, number: int, event: int) -> OomAnswer:
    """An out-of-memory event of a device, by its number there. Raises :class:`BadRequestError`."""
    return registry.ooms().oom(snapshot, number, event)
