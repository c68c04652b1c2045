"""Several traces or profiles in their order, place by place: what grew from the first to the last."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.frames import INFERRED, RECORDED
from memlens.texts import phrase
from memlens.views.answers import Frame
from memlens.views.compare.rows import Comparison, Measure
from memlens.views.selection.columns import frame

if TYPE_CHECKING:
    from memlens.views.compare.pairing import Place

SeriesBy = Literal["line", "function", "file"]


class SeriesPlace(Struct, frozen=True):
    """A place, named as in the last snapshot that has it, and its figures in each snapshot.

    ``grows`` means that each is larger than the one before.
    """

    place: Frame
    bytes: list[int]
    counts: list[int]
    difference_bytes: int
    grows: bool


class PlaceSeries(Struct, frozen=True):
    """Sums of each snapshot, and the first of ``rows_total`` places: first what never shrinks and has grown most."""

    total_bytes: list[int]
    total_counts: list[int]
    rows: list[SeriesPlace]
    rows_total: int


def series_of_places(
    comparisons: Sequence[Comparison], measure: Measure, search: str, limit: int
) -> PlaceSeries:
    """``comparisons`` are of each snapshot but the last with the last one, so that moved lines are one row.

    Raises :class:`BadRequestError` if there is none, and for a limit that isn't positive.
    """
    if not comparisons:
        raise BadRequestError(phrase("A series needs two snapshots or more"))
    if limit < 1:
        raise BadRequestError(phrase("Request at least one row"))
    last = len(comparisons)
    rows: dict[tuple[Place, bool], tuple[list[int], list[int]]] = {}
    recorded: set[tuple[Place, bool]] = set()
    for number, comparison in enumerate(comparisons):
        for each in comparison.pairs(measure):
            place = each.pair.after or each.pair.before
            if place is None:  # never: every pair has at least one side
                continue
            key = (place, each.pair.after is None)
            if not each.inferred:
                recorded.add(key)
            amounts, counts = rows.setdefault(key, ([0] * (last + 1), [0] * (last + 1)))
            amounts[number], counts[number] = each.before_bytes, each.before_count
            if each.pair.after is not None:
                amounts[last], counts[last] = each.after_bytes, each.after_count
    totals = [comparison.answer("own", "", "difference", 0, 1).total for comparison in comparisons]
    words = search.casefold().split()
    found = [
        SeriesPlace(
            frame(place, RECORDED if (place, is_gone) in recorded else INFERRED),
            amounts,
            counts,
            amounts[-1] - amounts[0],
            all(two > one for one, two in itertools.pairwise(amounts)),
        )
        for (place, is_gone), (amounts, counts) in rows.items()
        if all(word in f"{place.file}:{place.line} {place.function}".casefold() for word in words)
    ]
    found.sort(
        key=lambda row: (_shrinks(row), -row.difference_bytes, -row.bytes[-1], row.place.file, row.place.line)
    )
    return PlaceSeries(
        [*(total.before_bytes for total in totals), totals[-1].after_bytes],
        [*(total.before_count for total in totals), totals[-1].after_count],
        found[:limit],
        len(found),
    )


def _shrinks(row: SeriesPlace) -> bool:
    """True if it is less than before in one of the snapshots, or never more."""
    return row.bytes[-1] <= row.bytes[0] or any(two < one for one, two in itertools.pairwise(row.bytes))
