"""What of a snapshot is compared with another."""

from typing import Literal, assert_never

from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.views.compare.sides import Side, side_of
from memlens.views.selection.moments import samples_at
from memlens.views.selection.profile_sets import set_at


def compared_side(
    snapshot: Snapshot,
    at: Literal["peak", "end"] | None,
    device: int | None,
    value: str | None,
    attribution: Attribution,
) -> Side:
    """What was live at the peak or at the end, or a profile's value: the peak, or the value that is shown first.

    Raises :class:`memlens.errors.BadRequestError`.
    """
    match snapshot.info:
        case TimelineInfo():
            of = set_at(snapshot.info, at or "peak", device, value)
        case ProfileInfo() | GraphInfo():
            of = samples_at(snapshot, at, value)
        case _:
            assert_never(snapshot.info)
    return side_of(snapshot, of, attribution)
