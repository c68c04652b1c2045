"""The requests about reserved memory."""

from memlens.server.protocol.base import Count, Pixels
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Axis, GapAnswer, ReservedAnswer
from memlens.views.trace.picture import reserved


@question("memlens/reserved", name=phrase("the picture of reserved memory"))
def _reserved(
    snapshot: Snapshot, *, device: int, axis: Axis, x0: float, x1: float, columns: Pixels, filter_: str = ""
) -> ReservedAnswer:
    """The part ``[x0, x1]`` of a device's run, in so many columns; with ``filter`` also of what matches it."""
    return reserved.reserved_over_time(snapshot, device, axis, x0, x1, columns, filter_)


@question("memlens/gap", name=phrase("the gap between reserved and live memory"))
def _gap(snapshot: Snapshot, *, device: int, moment: Count | None = None, filter_: str = "") -> GapAnswer:
    """What the reserved memory of a moment is made of; None means the first at which the most was reserved.

    With ``filter`` also of the part that matches it.
    """
    return reserved.gap(snapshot, device, moment, filter_)
