"""Reserved memory over time, its use, and the parts of the gap between reserved and requested memory.

The parts at a moment add up exactly to what was reserved:

* *requested*: the requested bytes of blocks in use;
* *rounding*: what the allocator's rounding adds to them. The file records the true block sizes of what is live at its
  end; for others this is a lower bound, because the allocator may leave a small rest in a block;
* *pending*: blocks whose free was requested but waits for another stream;
* *inactive split*: free in segments of ``cudaMalloc`` with other blocks, which can't be released;
* *expandable free*: free in expandable segments, whose whole pages can be released;
* *wholly free*: segments of ``cudaMalloc`` without any block, which can be released.

Blocks that are in no segment of the file count as reserved, because they must have been (*outside*).
"""

import functools
from dataclasses import dataclass

import numpy as np

from memlens.arrays import F64, I64, U32
from memlens.errors import BadRequestError
from memlens.kernels.trace import allocator, ranges, reserved
from memlens.kernels.trace import timeline as kernel
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.peaks import BLOCK, SUPER_BLOCK, block_peaks
from memlens.texts import phrase
from memlens.views.answers import Axis, Gap, GapAnswer, ReservedAnswer
from memlens.views.selection.columns import (
    NEVER,
    axis_range,
    check_columns,
    check_moment,
    device_of,
    moments_between,
    time_of_moment,
)
from memlens.views.trace.allocator.blocks import block_sizes, pending_moments
from memlens.views.trace.allocator.segments import segments_of, span_of_allocations
from memlens.views.trace.picture.packing import text_of


class Levels:
    """Bytes at every moment, with the maximum and minimum of every 64 moments."""

    def __init__(self, bytes_: I64) -> None:
        self.bytes = bytes_
        self.highest_64 = block_peaks(bytes_, BLOCK)
        self.highest_4096 = block_peaks(self.highest_64, SUPER_BLOCK // BLOCK)
        self.lowest_64 = -block_peaks(-bytes_, BLOCK)

    def extremes(self, first: I64, last: I64) -> tuple[F64, F64]:
        """The maximum and minimum within each range of moments, both ends included."""
        highest, lowest = np.empty(len(first)), np.empty(len(first))
        ranges.extremes(
            self.bytes, first, last, highest, lowest, self.highest_64, self.highest_4096, self.lowest_64
        )
        return highest, lowest


@dataclass(slots=True)
class Usage:
    """A device's memory at every moment, in bytes. ``reserved`` includes what is outside the known segments."""

    reserved: Levels
    active: Levels
    allocated: Levels
    requested: Levels
    wholly_free: I64
    expandable_free: I64
    outside: I64 | None
    """Bytes outside of every known segment; None if there are never any."""
    known: bool
    """True if the file records segments."""


@kept
def usage_of(snapshot: Snapshot, number: int) -> Usage:
    """A device's memory at every moment; computed once while the snapshot is open. Raises BadRequestError."""
    device = device_of(snapshot, number)
    moments = device.info.events + 1
    spans, span_of = segments_of(snapshot, number), span_of_allocations(snapshot, number)
    blocks = block_sizes(snapshot, number)
    in_use_until = np.minimum(pending_moments(snapshot, number), device.end)
    over_time = functools.partial(_over_time, moments)
    active = over_time(blocks, device.start, device.end)
    whole = np.flatnonzero(spans["flags"] & allocator.EXPANDABLE == 0)
    rows = np.full(len(spans) + 1, NEVER, np.uint32)
    rows[whole] = np.arange(len(whole), dtype=np.uint32)
    wholly_free = np.empty(moments, np.int64)
    reserved.wholly_free(
        device.start, device.end, rows[np.minimum(span_of, len(spans))],
        spans["start"][whole], spans["end"][whole], spans["size"][whole], wholly_free,
    )  # fmt: skip
    total = over_time(spans["size"], spans["start"], spans["end"])
    expandable_free = np.zeros(moments, np.int64)
    if len(whole) < len(spans):
        pieces = spans[spans["flags"] & allocator.EXPANDABLE != 0]
        mine = np.flatnonzero((span_of != NEVER) & (rows[np.minimum(span_of, len(spans))] == NEVER))
        expandable_free = over_time(pieces["size"], pieces["start"], pieces["end"])
        expandable_free -= over_time(blocks[mine], device.start[mine], device.end[mine])
    lost = np.flatnonzero(span_of == NEVER)
    outside = None
    if len(lost):
        outside = over_time(blocks[lost], device.start[lost], device.end[lost])
        total += outside
    return Usage(
        Levels(total),
        Levels(active),
        Levels(over_time(blocks, device.start, in_use_until)),
        Levels(over_time(device.size, device.start, in_use_until)),
        wholly_free,
        expandable_free,
        outside,
        len(spans) > 0,
    )


@kept
def fitting_of(snapshot: Snapshot, device: int, filter_text: str) -> Levels:
    """The requested bytes of the allocations that match a filter, at every moment: a part of ``requested``."""
    own, pending = device_of(snapshot, device, filter_text), pending_moments(snapshot, device)
    in_use_until = np.minimum(pending if own.rows is None else pending[own.rows], own.end)
    return Levels(_over_time(own.info.events + 1, own.size, own.start, in_use_until))


def _over_time(moments: int, sizes: I64, starts: U32, ends: U32) -> I64:
    """The sum of the sizes that are live at each of ``moments`` moments."""
    total = np.empty(moments, np.int64)
    kernel.live_over_time(sizes, starts, ends, total, np.empty(moments, np.uint32))
    return total


def gap_at(usage: Usage, moment: int) -> Gap:
    """The parts of the reserved memory at a moment."""
    total, active, allocated, requested = (
        int(levels.bytes[moment])
        for levels in (usage.reserved, usage.active, usage.allocated, usage.requested)
    )
    whole, expandable = int(usage.wholly_free[moment]), int(usage.expandable_free[moment])
    return Gap(
        reserved_bytes=total,
        active_bytes=active,
        allocated_bytes=allocated,
        requested_bytes=requested,
        rounding_bytes=allocated - requested,
        pending_bytes=active - allocated,
        inactive_split_bytes=total - active - whole - expandable,
        expandable_free_bytes=expandable,
        wholly_free_bytes=whole,
        outside_bytes=0 if usage.outside is None else int(usage.outside[moment]),
    )


def gap(snapshot: Snapshot, device: int, moment: int | None, filter_text: str = "") -> GapAnswer:
    """The gap at a moment (None: the first at which the most was reserved), and the part that matches a filter.

    Raises :class:`BadRequestError`.
    """
    usage = usage_of(snapshot, device)
    found = device_of(snapshot, device)
    if moment is None:
        moment = int(np.argmax(usage.reserved.bytes))
    check_moment(found, moment)
    fitting = int(fitting_of(snapshot, device, filter_text).bytes[moment]) if filter_text else None
    return GapAnswer(moment, time_of_moment(found, moment), gap_at(usage, moment), fitting)


def reserved_over_time(
    snapshot: Snapshot, device: int, axis: Axis, x0: float, x1: float, columns: int, filter_text: str = ""
) -> ReservedAnswer:
    """The maximum and minimum of each kind of memory in each of ``columns`` even columns of ``[x0, x1]``.

    With a filter also of what matches it; reserved memory belongs to no allocation and is not filtered. Raises
    BadRequestError.
    """
    check_columns(columns)
    if not (np.isfinite(x0) and np.isfinite(x1) and x0 < x1):
        raise BadRequestError(phrase("The picture's left side must be left of its right side"))
    found = device_of(snapshot, device)
    extent = axis_range(found, axis)
    usage = usage_of(snapshot, device)
    edges = np.clip(np.linspace(x0, x1, columns + 1), extent.x0 - 1, extent.x1 + 1)
    first, last = moments_between(found, axis, edges)
    kinds = [usage.reserved, usage.active, usage.allocated, usage.requested]
    if filter_text:
        kinds.append(fitting_of(snapshot, device, filter_text))
    packed = [extremes for levels in kinds for extremes in levels.extremes(first, last)]
    peak = int(np.argmax(usage.reserved.bytes))
    return ReservedAnswer(
        x0=x0,
        x1=x1,
        columns=columns,
        known=usage.known,
        peak_reserved_bytes=int(usage.reserved.bytes[peak]),
        peak_reserved_moment=peak,
        bytes=text_of(np.concatenate(packed), "<f8"),
        first=text_of(first, "<u4"),
        last=text_of(last, "<u4"),
    )
