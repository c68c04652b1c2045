"""The vertical position of each address in the memory map: a lane for each range of addresses that segments ever had.

The map's height is in bytes: a lane is as high as its range, lanes are stacked by address with small gaps, and those of
each stream and private pool are a separate group.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, U64
from memlens.kernels.trace import allocator as kernel
from memlens.kernels.trace.memory_map import Layer
from memlens.kernels.trace.picture import Lives
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.peaks import BLOCK, SUPER_BLOCK, block_peaks
from memlens.views.selection.columns import NEVER, device_of
from memlens.views.trace.allocator.blocks import block_sizes
from memlens.views.trace.allocator.segments import segments_of, span_of_allocations

# aligned, because kernels read their fields in place
LANE = np.dtype(
    [("y", "<i8"), ("size", "<i8"), ("address", "<u8"), ("group", "<u4"), ("flags", "u1")], align=True
)
GROUP = np.dtype([("y", "<i8"), ("size", "<i8"), ("stream", "<i4"), ("pool", "<i4"), ("lanes", "<u4")])
NO_SEGMENT = -1
"""Stream and pool of the group for memory outside of the file's segments."""

_ABSURD_BYTES = 1 << 40
"""More memory than any device has. Such a segment is a profile's artificial one: only its used parts are shown."""
_PART_GAP = 16 << 20
_LANE_GAPS, _LARGEST_LANE_GAP = 0.06, 0.005
_GROUP_GAPS, _LARGEST_GROUP_GAP = 0.15, 0.04
"""Gaps as shares of the height of all lanes: the sum for each kind of gap, and the maximum of a single one."""


@dataclass(slots=True)
class Layout:
    """``lanes`` from the bottom up (``LANE``), their ``groups`` (``GROUP``), the total height, and for each span and
    each allocation of the device the height of its first byte.

    """

    lanes: npt.NDArray[Any]
    groups: npt.NDArray[Any]
    top: int
    reserved: "Reserved"
    y: I64
    layer: Layer
    """Draws the allocations of each map."""


class Reserved:
    """The ranges of addresses that are drawn as reserved, ordered by start, with columns like those of allocations.

    Memory outside of the file's segments isn't known to be reserved.
    """

    def __init__(self, ranges: npt.NDArray[Any]) -> None:
        """Make the columns from ``RANGE`` rows."""
        known = ranges[ranges["span"] != NEVER]
        known = known[np.argsort(known["start"], kind="stable")]
        self.start = np.ascontiguousarray(known["start"])
        self.y = np.ascontiguousarray(known["y"])
        self.size = np.ascontiguousarray(known["size"])
        end = np.ascontiguousarray(known["end"])
        end_64 = block_peaks(end, BLOCK)
        self.lives = Lives(self.size, end, end_64, block_peaks(end_64, SUPER_BLOCK // BLOCK))

    def stops(self, moments: U32) -> U32:
        """For each moment the first range that starts after it."""
        return np.searchsorted(self.start, moments, "right").astype(np.uint32)


RANGE = np.dtype(
    [
        ("address", "<u8"), ("size", "<i8"), ("start", "<u4"), ("end", "<u4"), ("span", "<u4"), ("pool", "<i4"),
        ("stream", "<i4"), ("flags", "u1"), ("lane", "<u4"), ("y", "<i8"),
    ],
    align=True,
)  # fmt: skip


@kept
def layout_of(snapshot: Snapshot, device: int) -> Layout:
    """The lanes of a device's map, for all of its allocations regardless of the filter."""
    own = device_of(snapshot, device)
    ranges, range_of = _ranges(snapshot, device)
    lanes, groups, top = _lanes(ranges)
    y = lanes["y"][ranges["lane"]] + (ranges["address"] - lanes["address"][ranges["lane"]]).astype(np.int64)
    ranges["y"] = y
    heights = np.zeros(len(own.address), np.int64)
    if len(ranges):
        heights = y[range_of] + (own.address - ranges["address"][range_of]).astype(np.int64)
    return Layout(lanes, groups, top, Reserved(ranges), heights, Layer())


def _ranges(snapshot: Snapshot, device: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """The ranges of the lanes, and for each allocation the row of its range."""
    own, spans = device_of(snapshot, device), segments_of(snapshot, device)
    span_of = span_of_allocations(snapshot, device).astype(np.intp)
    known = np.zeros(len(spans), RANGE)
    for name in ("address", "size", "start", "end", "pool", "stream", "flags"):
        known[name] = spans[name]
    known["span"] = np.arange(len(spans))
    default = [row for row, pool in enumerate(snapshot.manifest.pools) if tuple(pool) == (0, 0)][:1]
    if np.isin(known["pool"], [0, *default]).all():
        # if no private pool is known, segments without a pool (of older recorders) belong to the default one
        known["pool"] = default[0] if default else 0
    parts = [known]
    end = len(known)
    range_of = span_of.copy()
    absurd = np.flatnonzero(spans["size"] > _ABSURD_BYTES)
    for span in (*absurd.tolist(), NEVER):
        rows = np.flatnonzero(span_of == span)
        if not len(rows):
            continue
        used, part_of = _parts_in_use(own.address[rows], block_sizes(snapshot, device)[rows])
        used["start"], used["end"] = (
            (spans["start"][span], spans["end"][span]) if span != NEVER else (0, NEVER)
        )
        for name in ("pool", "stream"):
            used[name] = NO_SEGMENT if span == NEVER else spans[name][span]
        used["span"] = span
        range_of[rows] = end + part_of
        end += len(used)
        parts.append(used)
    ranges = np.concatenate(parts)
    # no allocation is in segments that were replaced by their parts
    kept = np.ones(len(ranges), bool)
    kept[absurd] = False
    return ranges[kept], (np.cumsum(kept) - 1)[range_of]


def _parts_in_use(addresses: U64, sizes: I64) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the ranges that some blocks ever used, without gaps, and for each block the row of its range."""
    order = np.argsort(addresses, kind="stable")
    first = addresses[order]
    stops = np.maximum.accumulate(first + np.minimum(sizes[order].astype(np.uint64), ~first))
    gaps = np.where(first[1:] > stops[:-1], first[1:] - stops[:-1], np.uint64(0))
    begins = np.concatenate((np.ones(1, bool), gaps > _PART_GAP))
    starts = np.flatnonzero(begins)
    found = np.zeros(len(starts), RANGE)
    found["address"] = first[starts]
    found["size"] = stops[np.append(starts[1:] - 1, len(stops) - 1)] - first[starts]
    part_of = np.empty(len(order), np.intp)
    part_of[order] = np.cumsum(begins) - 1
    return found, part_of


def _lanes(ranges: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any], int]:
    """Lanes and groups of some ranges, and the total height; sets the ranges' ``lane``."""
    if not len(ranges):
        return np.empty(0, LANE), np.empty(0, GROUP), 0
    order = np.lexsort((ranges["address"], ranges["stream"], ranges["pool"]))
    placed = ranges[order]
    keys = (placed["pool"].astype(np.int64) << 32) + placed["stream"]
    new_group = np.concatenate((np.ones(1, bool), keys[1:] != keys[:-1]))
    stops = placed["address"] + placed["size"].astype(np.uint64)
    # the highest end so far within the group: ranges that overlap, at different times, share a lane
    group = np.cumsum(new_group) - 1
    reach = stops.copy()
    edges = [*np.flatnonzero(new_group).tolist(), len(placed)]
    for begin, stop in pairwise(edges):
        reach[begin:stop] = np.maximum.accumulate(stops[begin:stop])
    grows = placed["flags"][1:] & placed["flags"][:-1] & np.uint8(kernel.EXPANDABLE) != 0
    apart = np.where(grows, placed["address"][1:] > reach[:-1], placed["address"][1:] >= reach[:-1])
    begins = new_group.copy()
    begins[1:] |= apart
    starts = np.flatnonzero(begins)
    lane = np.cumsum(begins) - 1
    ranges["lane"][order] = lane
    lanes = np.zeros(len(starts), LANE)
    lanes["address"], lanes["group"] = placed["address"][starts], group[starts]
    lanes["flags"] = placed["flags"][starts]
    lanes["size"] = reach[np.append(starts[1:] - 1, len(reach) - 1)] - lanes["address"]
    total = int(lanes["size"].sum())
    group_count = int(group[-1]) + 1
    lane_gap = int(min(total * _LANE_GAPS / len(lanes), total * _LARGEST_LANE_GAP))
    group_gap = int(min(total * _GROUP_GAPS / group_count, total * _LARGEST_GROUP_GAP))
    opens = np.concatenate((np.zeros(1, bool), lanes["group"][1:] != lanes["group"][:-1]))
    gaps = np.where(opens, group_gap, lane_gap)
    gaps[0] = 0
    sizes: I64 = lanes["size"]
    tops = np.cumsum(sizes + gaps)
    lanes["y"] = tops - sizes
    first = np.searchsorted(lanes["group"], np.arange(group_count))
    last = np.searchsorted(lanes["group"], np.arange(group_count), "right")
    groups = np.zeros(group_count, GROUP)
    groups["y"], groups["lanes"] = lanes["y"][first], last - first
    groups["size"] = tops[last - 1] - groups["y"]
    members = placed[np.flatnonzero(new_group)]
    groups["stream"], groups["pool"] = members["stream"], members["pool"]
    return lanes, groups, int(lanes["y"][-1] + lanes["size"][-1])
