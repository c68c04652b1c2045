"""The segments of a device over time: which addresses the allocator held, when, for which stream and pool.

Everything is about one unfiltered device of a snapshot, and is computed once while the snapshot is open.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, U64, Mask
from memlens.kernels.trace import allocator as kernel
from memlens.model.distinct import common, distinct
from memlens.model.timeline import ACTIONS
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.selection.columns import NEVER, device_of

Column = npt.NDArray[Any]

COMES = (ACTIONS.index("segment_alloc"), ACTIONS.index("segment_map"))
GOES = (ACTIONS.index("segment_free"), ACTIONS.index("segment_unmap"))
_MAPS = (ACTIONS.index("segment_map"), ACTIONS.index("segment_unmap"))

# kSmallBuffer and kLargeBuffer of c10/cuda/CUDACachingAllocator.cpp: what is requested from CUDA for small requests,
# and the page size of expandable segments for large ones
SMALL_SEGMENT_BYTES = 2 << 20
LARGE_PAGE_BYTES = 20 << 20

SPAN = np.dtype(
    [
        ("address", "<u8"), ("size", "<i8"), ("start", "<u4"), ("end", "<u4"), ("stack", "<u4"), ("stream", "<u2"),
        ("pool", "<u2"), ("flags", "u1"), ("unused", "u1"), ("unused_too", "<u2"), ("unused_three", "<u4"),
    ]
)  # fmt: skip


@kept
def segments_of(snapshot: Snapshot, device: int) -> Column:
    """The address ranges that were ever reserved, by address, then by time.

    Structured rows with ``address`` (u64), ``size`` (bytes), ``start`` and ``end`` (moments; the end is NEVER for
    the final segments), ``stack`` (that reserved it), ``stream`` and ``pool`` (rows of the manifest's lists; pool 0
    is "unknown"), ``flags`` (see ``kernels/trace/allocator.pyx``). At a moment no two overlap. A
    cudaMalloc'd segment is one row, an expandable one a row for each piece that was mapped and unmapped at once.
    """
    return _spans(snapshot, device_of(snapshot, device))


@kept
def reserved_steps(snapshot: Snapshot, device: int) -> tuple[U32, I64]:
    """Reserved bytes over time as a step function: the moments of change, from 0 on, and the bytes after each."""
    spans = segments_of(snapshot, device)
    ended = spans["end"] != NEVER
    moments = np.concatenate((np.zeros(1, np.uint32), spans["start"], spans["end"][ended]))
    changes = np.concatenate((np.zeros(1, np.int64), spans["size"], -spans["size"][ended]))
    distinct, step = np.unique(moments, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, step, changes)
    return distinct, np.cumsum(sums)


def reserved_at(snapshot: Snapshot, device: int, moment: int) -> int:
    """Reserved bytes at a moment."""
    moments, sizes = reserved_steps(snapshot, device)
    return int(sizes[int(np.searchsorted(moments, np.uint32(moment), "right")) - 1])


def joined(spans: Column, walls: U64) -> npt.NDArray[np.intp]:
    """Return a mask of the spans of one moment, ordered by address, at which a new segment begins.

    Files have an expandable segment's mapped pieces as one segment for each contiguous range. ``walls`` are the
    addresses at which two of the final segments touch.
    """
    if not len(spans):
        return np.empty(0, np.intp)
    stops = spans["address"] + spans["size"].astype(np.uint64)
    before, after = spans[:-1], spans[1:]
    expandable = before["flags"] & after["flags"] & np.uint8(kernel.EXPANDABLE) != 0
    pools = (before["pool"] == after["pool"]) | (before["pool"] == 0) | (after["pool"] == 0)
    same = expandable & pools & (before["stream"] == after["stream"]) & (stops[:-1] == after["address"])
    same &= ~np.isin(after["address"], walls)
    return np.concatenate((np.zeros(1, np.intp), np.flatnonzero(~same) + 1))


@kept
def walls_of(snapshot: Snapshot, device: int) -> U64:
    """The addresses at which two final segments of a device touch, ascending."""
    finals = _final_segments(snapshot, device)
    return common(finals["address"], _stops(finals["address"], finals["total"]))


@kept
def span_of_allocations(snapshot: Snapshot, device: int) -> U32:
    """Return for each of the device's allocations the row of :func:`segments_of` around it; NEVER if there is none."""
    own, spans = device_of(snapshot, device), segments_of(snapshot, device)
    bases, base_of = np.unique(spans["address"], return_inverse=True)
    found = np.empty(len(own.address), np.uint32)
    ranges = kernel.Spans(
        bases,
        base_of.astype(np.uint32),
        _stops(spans["address"], spans["size"]),
        np.ascontiguousarray(spans["start"]),
        np.ascontiguousarray(spans["end"]),
        np.argsort(spans["start"], kind="stable").astype(np.uint32),
        np.argsort(spans["end"], kind="stable").astype(np.uint32),
    )
    kernel.spans_of_blocks(own.address, own.start, ranges, found)
    return found


def _stops(addresses: Column, sizes: Column) -> U64:
    """The addresses after some ranges, limited to the highest possible address."""
    length = np.minimum(sizes.astype(np.uint64), ~addresses)
    return np.asarray(addresses + length, np.uint64)


def _final_segments(snapshot: Snapshot, device: int) -> Column:
    table = snapshot.trace.segments
    return np.asarray(table[(table["device"] == device) & (table["total"] > 0)])


def _spans(snapshot: Snapshot, device: Device) -> Column:
    number = device.info.device
    finals = _final_segments(snapshot, number)
    low, high = min(*COMES, *GOES), max(*COMES, *GOES)
    events = np.flatnonzero((device.event_action >= low) & (device.event_action <= high))
    sizes = device.event_size[events]
    events = events[sizes > 0]
    actions = device.event_action[events]
    address = device.event_address[events]
    size = device.event_size[events]
    stops = _stops(address, size)
    final_stops = _stops(finals["address"], finals["total"])
    boundaries = distinct(
        np.concatenate((finals["address"], final_stops, address, stops)).astype(np.uint64, copy=False)
    )
    if len(boundaries) < 2:
        return np.empty(0, SPAN)

    def places(values: Column) -> U32:
        return np.searchsorted(boundaries, values).astype(np.uint32)

    flags = np.where(np.isin(actions, _MAPS), kernel.EXPANDABLE, 0).astype(np.uint8)
    small = np.where(flags != 0, size % LARGE_PAGE_BYTES != 0, size == SMALL_SEGMENT_BYTES)
    flags |= np.where(small, kernel.SMALL, 0).astype(np.uint8)
    trace = (
        (events + 1).astype(np.uint32),
        np.isin(actions, COMES).astype(np.uint8),
        places(address),
        places(stops),
        device.event_stack[events],
        device.event_stream[events],
        device.event_pool[events],
        flags,
    )
    kinds = np.where(finals["expandable"] != 0, kernel.EXPANDABLE, 0).astype(np.uint8)
    kinds |= np.where(_is_small(snapshot, finals), kernel.SMALL, 0).astype(np.uint8)
    held = (
        places(finals["address"]),
        places(final_stops),
        np.ascontiguousarray(finals["stack"]),
        np.ascontiguousarray(finals["stream"]),
        np.ascontiguousarray(finals["pool"]),
        kinds,
    )
    # a file without final segments can't show that a segment was gone at its end
    implied_end = device.info.events if len(finals) else NEVER
    found = np.asarray(kernel.spans(boundaries, held, trace, implied_end))
    return found[np.lexsort((found["start"], found["address"]))]


def _is_small(snapshot: Snapshot, finals: Column) -> Mask:
    return snapshot.strings.where(finals["type"], "small".__eq__)
