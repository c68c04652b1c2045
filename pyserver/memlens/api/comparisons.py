"""What of a snapshot is compared with others."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

from memlens.errors import BadRequestError
from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.compare.rows import Measure, compare
from memlens.views.compare.series import PlaceSeries, SeriesBy, series_of_places
from memlens.views.compare.sides import Side, side_of
from memlens.views.selection.moments import samples_at
from memlens.views.selection.profile_sets import set_at, unit_of


class Compared(NamedTuple):
    """A side, and the unit of its figures."""

    side: Side
    unit: str


def compared_side(
    snapshot: Snapshot,
    at: Literal["peak", "end"] | None,
    device: int | None,
    value: str | None,
    attribution: Attribution,
) -> Compared:
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
    return Compared(side_of(snapshot, of, attribution), unit_of(snapshot.info, of))


def compared_in_a_row(
    sides: Sequence[Side], by: SeriesBy, measure: Measure, search: str, limit: int
) -> PlaceSeries:
    """Two sides or more in their order, place by place. Raises :class:`memlens.errors.BadRequestError`."""
    if len(sides) < 2:
        raise BadRequestError(phrase("A series needs two snapshots or more"))
    return series_of_places([compare(each, sides[-1], by) for each in sides[:-1]], measure, search, limit)
