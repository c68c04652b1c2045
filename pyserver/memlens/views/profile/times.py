"""A profile over time: its lines, and the sums of a range."""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import F64, I64
from memlens.errors import BadRequestError
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.selection.profile_filters import matching
from memlens.views.selection.profile_sets import Flow, counts_ranges, flow_of
from memlens.views.selection.sets import AllocationSet, SetKind


class ProfileSeries(Struct, frozen=True):
    """A line over time. ``values`` is base64 of ``float64[edges]``, little-endian, in ``unit``.

    ``within`` says that a value is of what happened in the bin that ends at its edge, not of the state at the edge: a
    rate per second if the edges are times ("per_second"), else a count.
    """

    name: str
    title: Text
    unit: str
    within: bool
    values: str


class ProfileTimesAnswer(Struct, frozen=True):
    """All lines of a profile. ``edges`` is base64 of ``float64[edges]``, in the profile's ``time_unit``.

    ``peaks`` likewise has the maximum that was live in the bin that ends at each edge; ``peak_edge`` is the edge after
    the highest of them.
    """

    edges: str
    peaks: str
    peak_edge: int
    peak_bytes: int
    series: list[ProfileSeries]


class ProfileRangeAnswer(Struct, frozen=True):
    """What was allocated and freed between two edges.

    Counts are None if the profile doesn't have numbers of allocations.
    """

    allocated_bytes: int
    allocated_count: int | None
    freed_bytes: int
    freed_count: int | None
    live_before_bytes: int
    live_after_bytes: int


_TITLES = {
    "live_bytes": (phrase("Live"), "bytes", False),
    "live_count": (phrase("Live allocations"), "count", False),
    "rss_bytes": (phrase("Resident set (RSS)"), "bytes", False),
    "heap_extra_bytes": (phrase("Overhead of the allocator"), "bytes", False),
    "stacks_bytes": (phrase("Stacks of threads"), "bytes", False),
    "temporary": (phrase("Temporary allocations"), "count", True),
}


def times(snapshot: Snapshot) -> ProfileTimesAnswer:
    """The lines. Raises :class:`BadRequestError` for a profile without times."""
    info, stored = profile_of(snapshot.info), snapshot.times
    if stored is None:
        raise BadRequestError(phrase("The profile has no times, so there is nothing to show over time"))
    peaks, edges = stored.peaks, stored.edges
    series = []
    for name in info.series:
        own = Text(f"{name[:1].upper()}{name[1:].removesuffix('_bytes').replace('_', ' ')}")
        title, unit, within = _TITLES.get(name, (own, _unit_of(name), False))
        counts, values = stored.series[name], None
        if within and info.time_unit == "microseconds":
            title = phrase("{title} per second", title=title)
            unit, values = "per_second", per_second(edges, counts)
        series.append(ProfileSeries(name, title, unit, within, _packed(counts if values is None else values)))
    peak = int(np.argmax(peaks))
    return ProfileTimesAnswer(_packed(edges), _packed(peaks), peak, int(peaks[peak]), series)


def per_second(edges: I64, counts: I64) -> F64:
    """The rate per second of what happened in the bin that ends at each edge (in microseconds).

    Bins of length 0 count for the next bin that has a length; if none follows, for the one before.
    """
    rates = np.zeros(len(edges))
    longs = np.flatnonzero(np.diff(edges) > 0) + 1
    if not len(longs):
        return rates
    sums = np.cumsum(counts, dtype=np.float64)
    reached = sums[longs]
    reached[-1] = sums[-1]
    rates[longs] = np.diff(reached, prepend=0.0) * 1e6 / (edges[longs] - edges[longs - 1])
    return rates


def between(snapshot: Snapshot, first: int, last: int, filter_text: str) -> ProfileRangeAnswer:
    """The sums of a range. Raises :class:`BadRequestError` for edges that the profile doesn't have."""
    counted = counts_ranges(profile_of(snapshot.info))
    fits = matching(snapshot, filter_text) if filter_text else slice(None)

    def flow(kind: SetKind, from_edge: int, to_edge: int | None) -> Flow:
        found = flow_of(snapshot, AllocationSet(0, kind, from_edge, to_edge))
        return Flow(found.amounts[fits], found.counts[fits])

    def sums(flow: Flow) -> tuple[int, int | None]:
        return int(flow.amounts.sum()), int(flow.counts.sum()) if counted else None

    first, last = min(first, last), max(first, last)
    if not profile_of(snapshot.info).has_frees:
        return ProfileRangeAnswer(*sums(flow("allocated", first, last)), 0, None, 0, 0)
    allocated, freed = flow("allocated", first, last), flow("freed", first, last)
    live = sums(flow("live", first, None))[0]
    change = sums(allocated)[0] - sums(freed)[0]
    return ProfileRangeAnswer(*sums(allocated), *sums(freed), live, live + change)


def _unit_of(name: str) -> str:
    return "bytes" if name.endswith("_bytes") else "count"


def _packed(column: npt.NDArray[Any]) -> str:
    return base64.b64encode(column.astype("<f8").tobytes()).decode("ascii")
