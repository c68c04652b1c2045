"""The Timeline model: events and allocations over time, one set of columns per device.

Terms are those of :mod:`memlens.views.answers`: an ``allocation`` is a number, counted from the device's
``first_allocation``; a ``moment`` is the state after that many events.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from memlens.arrays import I64, U8, U16, U32, U64, rows_of
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import Frames
from memlens.model.info import FileWarning

ACTIONS = (
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "oom", "snapshot", "annotate",
)  # fmt: skip
"""Names of the first action numbers; further actions of a file follow."""

OOM = ACTIONS.index("oom")
NOTE_KINDS = ("device_free", "user_metadata", "compile_context")
"""Fields that few events have: the device's free memory in bytes (of ``oom``), and texts (ids of strings)."""

NOTE_DTYPE = np.dtype([("event", "<u4"), ("kind", "<u4"), ("value", "<u8")])
"""A row of a device's notes: ``event`` is the number of an event of the device, ``kind`` an index into NOTE_KINDS."""

SEGMENT_DTYPE = np.dtype(
    [
        ("address", "<u8"), ("total", "<i8"), ("allocated", "<i8"), ("active", "<i8"), ("requested", "<i8"),
        ("device", "<i4"), ("stack", "<u4"), ("blocks", "<u4"), ("type", "<u4"), ("stream", "<u2"), ("pool", "<u2"),
        ("expandable", "<u4"),
    ]
)  # fmt: skip
"""A final segment. Sizes are bytes, -1 if unknown; ``type`` is a string's id."""

BLOCK_DTYPE = np.dtype(
    [
        ("address", "<u8"), ("size", "<i8"), ("requested", "<i8"), ("stack", "<u4"), ("state", "<u4"),
        ("has_address", "<u4"), ("unused", "<u4"),
    ]
)  # fmt: skip
"""A block of a final segment; ``state`` is a string's id."""

ANNOTATION_DTYPE = np.dtype(
    [("time_us", "<i8"), ("device", "<i4"), ("name", "<u4"), ("stage", "<u4"), ("unused", "<u4")]
)
"""An external annotation; ``name`` and ``stage`` are ids of strings."""

NEVER = kernel.NEVER
NO_CATEGORY = 255
_ROWS_AT_ONCE = 1 << 14
_SAMPLED_ROWS = 1 << 12
_FAR_AWAY_US = 366 * 86_400_000_000
"""No recording takes a year."""

Column = npt.NDArray[Any]


class Events(Struct):
    """A device's trace, in columns with an item for each event. ``time_us`` is None if the file has no times."""

    action: U8
    address: U64
    size: I64
    stack: U32
    stream: U16
    pool: U16
    category: U8
    time_us: I64 | None


class Blocks(Struct):
    """The live blocks of a device's final segments, in the order of the file."""

    address: U64
    size: I64
    requested: I64
    stack: U32
    stream: U16
    pending: U8


class DeviceTimeline(Struct):
    """The events of a device, and its allocations in the order of the stacked picture."""

    device: int
    events: Events
    allocations: Column
    """Structured rows, see ``ALLOCATION_FORMAT`` in ``kernels/trace/timeline.pyx``."""
    owners: U32
    """The allocation that each event starts or frees, NEVER for none."""
    time_us: I64 | None
    """Microseconds since the first event, never decreasing."""
    time_origin_us: int | None
    reserved_at_end: int | None
    """The size of the final segments in bytes; None if unknown."""
    implicit_frees: int
    repeating_frees: int = 0
    """The number of frees with the same stack as their allocation, if both are in the trace."""
    differing_frees: int = 0
    """The number of frees with another stack than their allocation, if both are in the trace."""
    far_times: int = 0
    """The number of events with a time so far from most others that it is treated as unknown."""
    notes: Column = field(default_factory=lambda: np.empty(0, NOTE_DTYPE))
    """Rows of NOTE_DTYPE, sorted by event."""
    rounded: I64 | None = None
    """The bytes of each allocation's block, 0 if unknown; None if the file has none of them."""

    def drop_events(self) -> None:
        """Drop the events, which take most of the memory."""
        none = np.empty(0, np.uint8)
        self.events = Events(none, none, none, none, none, none, none, None)  # pyrefly: ignore[bad-argument-type]
        self.owners, self.time_us = np.empty(0, np.uint32), None


def build_device(device: int, events: Events, blocks: Blocks, reserved_at_end: int | None) -> DeviceTimeline:
    """Match a device's events into allocations. ``events.time_us`` is changed in place.

    Without events it isn't known when recording began; then nothing is marked as allocated before recording.
    """
    count = len(events.action)
    owners = np.empty(count, np.uint32)
    held = np.empty(len(blocks.address), np.uint32)
    matcher = kernel.Matcher()
    allocations = rows_of(
        matcher.match(
            events.action,
            events.address,
            events.size,
            events.stack,
            events.stream,
            events.category,
            owners,
            (blocks.address, blocks.requested, blocks.stack, blocks.stream, blocks.pending),
            held,
        )
    )
    rounded = np.zeros(len(allocations), np.int64)
    rounded[held] = blocks.size
    if not count:
        allocations["flags"] &= np.uint8(0xFF ^ kernel.BEFORE_TRACE)
    time_us, origin, far_times = events.time_us, None, 0
    if time_us is not None and count:
        origin, far_times = _align_times(time_us)
    return DeviceTimeline(
        device, events, allocations, owners, time_us if count else None, origin, reserved_at_end,
        matcher.implicit_frees, matcher.repeating_frees, matcher.differing_frees, far_times, rounded=rounded,
    )  # fmt: skip


def _align_times(times: I64) -> tuple[int, int]:
    """Make times relative to the first known one and never decreasing, in place to save memory.

    Events without a time have 0, and get the time of the event before, or the first known time. So do events with a
    time that is years away from most others: they would stretch the axis until the rest is a point. Threads may
    timestamp events slightly out of order, but the axis must not run backwards. Returns the first known time, and how
    many events were years away.
    """
    usual = _usual_time(times)
    earliest, last = usual - _FAR_AWAY_US, usual + _FAR_AWAY_US
    origin, latest, far = 0, None, 0
    for start in range(0, len(times), _ROWS_AT_ONCE):
        part = times[start : start + _ROWS_AT_ONCE]
        if int(part.min()) < earliest or int(part.max()) > last:
            away = (part != 0) & ((part < earliest) | (part > last))
            far += int(np.count_nonzero(away))
            part[away] = 0
        if latest is None:
            known = np.flatnonzero(part)
            if not len(known):
                continue
            origin = latest = int(part[known[0]])
        ascending = np.maximum.accumulate(np.maximum(part, latest))
        latest = int(ascending[-1])
        np.subtract(ascending, origin, out=part)
    return origin, far


def _usual_time(times: I64) -> int:
    """Return the median of some thousands of known times."""
    known = times[:: max(len(times) // _SAMPLED_ROWS, 1)]
    known = known[known != 0]
    if not len(known):
        known = times[times != 0]
    return int(np.partition(known, (len(known) - 1) // 2)[(len(known) - 1) // 2])


def drop_stacks_of_frees(devices: Sequence[DeviceTimeline]) -> tuple[bool, int]:
    """Remove the stacks that allocations have from their frees, unless frees repeat the stacks of allocations.

    Returns whether they do, and how many allocations have an inferred stack because of that.

    What was allocated before recording and freed in the trace has the stack of its free. That is a different place,
    unless the recorder repeats an allocation's stack with its free: some do if it records no stacks of frees
    (``context ? context : block->context_when_allocated`` in CUDACachingAllocator.cpp), as with ``context="alloc"``.
    That is a setting of the process, so it is derived from all devices: there are frees with an allocation in the
    trace, and all of these repeat its stack.
    """
    repeat = any(device.repeating_frees for device in devices) and not any(
        device.differing_frees for device in devices
    )
    inferred = 0
    for device in devices:
        rows = device.allocations
        of_free = rows["flags"] & kernel.STACK_OF_FREE != 0
        if repeat:
            inferred += int(np.count_nonzero(rows["stack"][of_free]))
        else:
            rows["stack"][of_free] = 0
        rows["flags"] &= np.uint8(0xFF ^ kernel.STACK_OF_FREE)
    return repeat, inferred


def stacks_of_frees(
    action: U8,
    owner: U32,
    stack: U32,
    allocations: int,
) -> U32:
    """Return the stack of the first free event of each of a device's allocations, 0 for none.

    The first is the request, if there is one: a free may complete much later, in another call.
    """
    first = np.zeros(allocations, np.uint32)
    frees = np.flatnonzero((action == kernel.FREE_REQUESTED) | (action == kernel.FREE_COMPLETED))
    owners = owner[frees]
    known = owners < allocations
    # reversed, because the last value written remains
    first[owners[known][::-1]] = stack[frees[known]][::-1]
    return first


class Timeline(Struct):
    """A whole snapshot in memory, ready to be archived."""

    kind: str
    frames: Frames
    devices: list[DeviceTimeline]
    actions: list[str]
    categories: list[str]
    streams: list[int]
    pools: list[tuple[int, int]]
    settings: dict[str, Any]
    warnings: list[FileWarning]
    frees_repeat: bool = False
    """Whether frees only repeat the stacks of their allocations, see :func:`drop_stacks_of_frees`."""
    tables: dict[str, Column] = field(default_factory=dict)
    """Further tables: "segments", "blocks" and "annotations", of the types above."""
    strings: dict[int, str] = field(default_factory=dict)
    """The strings that ``tables`` and notes refer to."""
