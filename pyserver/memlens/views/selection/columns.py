"""Shared by the views: axes, moments, and the allocations that are live at one."""

import itertools

import numpy as np

from memlens.arrays import F64, I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.trace import ranges, stacked
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import KIND_NAMES, NATIVE, RECORDED, SOURCE_NAMES
from memlens.model.info import AxisRange, device_phrase
from memlens.packs import registry
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.answers import AllocationSummary, Axis, Frame
from memlens.views.naming.labels import labels_of
from memlens.views.selection.filters import narrowed

NEVER = kernel.NEVER


_FAR = 2.0**62
"""Later than every moment and time, but small enough for 64 bits."""
_NO_LABEL: FrameRow = ("", 0, "", -1)

MOST_COLUMNS = 8192
"""The most columns of a curve or a lane."""
MOST_ROWS = 1000
"""The most rows of a page of a table."""


def check_page(offset: int, limit: int) -> None:
    """Raises :class:`BadRequestError` for an invalid page of a table."""
    if offset < 0 or not 0 < limit <= MOST_ROWS:
        raise BadRequestError(phrase("A page must have 1 to {most} rows", most=MOST_ROWS))


def check_columns(columns: int) -> None:
    """Raises :class:`BadRequestError` for more columns than a curve or a lane has."""
    if not 0 < columns <= MOST_COLUMNS:
        raise BadRequestError(phrase("The picture must have 1 to {most} columns", most=MOST_COLUMNS))


def device_of(snapshot: Snapshot, number: int, filter_text: str = "") -> Device:
    """The device of that number, narrowed by a filter. Raises :class:`BadRequestError`."""
    return narrowed(snapshot, number, filter_text)


def allocation_of(snapshot: Snapshot, allocation: int, filter_text: str = "") -> tuple[Device, int]:
    """An allocation's device, narrowed by a filter, and its row there. Raises :class:`BadRequestError`."""
    number = snapshot.device_of(allocation).info.device
    device = device_of(snapshot, number, filter_text)
    row = device.row_of(allocation)
    if row is None:
        raise BadRequestError(phrase("The filter excludes allocation {allocation}", allocation=allocation))
    return device, row


def axis_range(device: Device, axis: Axis) -> AxisRange:
    """A device's whole extent on an axis. Raises :class:`BadRequestError` for times that the file doesn't have."""
    if axis == "event":
        return device.info.event_axis
    if device.info.time_axis is None:
        raise BadRequestError(phrase("The snapshot has no times, only the order of events"))
    return device.info.time_axis


def moments_between(device: Device, axis: Axis, edges: F64) -> tuple[I64, I64]:
    """The first and the last moment that falls into each of the columns between ``edges``.

    A moment lasts from its event to the next, so a column without events has the current moment. Events at an edge
    belong to the column after it, with the moment before them.
    """
    events = device.info.events
    edges = np.clip(edges, -_FAR, _FAR)
    if axis == "event" or device.time is None:
        first = np.floor(edges[:-1]).astype(np.int64)
        last = np.ceil(edges[1:]).astype(np.int64) - 1
    else:
        # times are whole microseconds, so comparing as integers is exact
        before = np.empty(len(edges), np.int64)
        ranges.count_until(device.time, np.ceil(edges).astype(np.int64) - 1, before)
        first, last = before[:-1], before[1:]
    first = np.clip(first, 0, events)
    return first, np.clip(np.maximum(first, last), 0, events)


def x_of_moment(device: Device, axis: Axis, moment: int) -> float:
    """The start of a moment on an axis; after the last one, the end of the axis."""
    extent = axis_range(device, axis)
    if axis == "event":
        return float(min(moment, extent.x1))
    if device.time is None or moment <= 0:
        return extent.x0
    if moment > device.info.events:
        return extent.x1
    return float(device.time[moment - 1])


def time_of_moment(device: Device, moment: int) -> float | None:
    """Microseconds since the first event at which a moment begins; None without times and before the trace."""
    if device.time is None or moment <= 0 or moment > device.info.events:
        return None
    return float(device.time[moment - 1])


def check_moment(device: Device, moment: int) -> int:
    """Check a moment. Raises :class:`BadRequestError` for one that the trace doesn't have."""
    if not 0 <= moment <= device.info.events:
        raise BadRequestError(
            phrase(
                "There is no moment {moment} on {device}",
                device=device_phrase(device.info.device),
                moment=moment,
            )
        )
    return moment


def live_rows(device: Device, moment: int) -> U32:
    """The rows of the allocations live at a moment, oldest first."""
    # in the column's type, because NumPy would convert the whole column otherwise
    stop = int(np.searchsorted(device.start, np.uint32(moment), "right"))
    return np.asarray(stacked.live_at(device.end, device.end_64, device.end_4096, stop, moment))


def of_stacks(snapshot: Snapshot, device: Device, stacks: list[int]) -> Mask:
    """Mask of the rows of a device whose stack is one of some stacks; unknown numbers are ignored."""
    wanted = np.zeros(len(snapshot.stacks.node), bool)
    wanted[[stack for stack in stacks if stack < len(wanted)]] = True
    found: Mask = wanted[device.stack]
    return found


def frame(row: FrameRow, source: int = RECORDED) -> Frame:
    """A frame as an answer; ``source`` says how it is known."""
    return Frame(row[0], row[1], row[2], KIND_NAMES[row[3]], SOURCE_NAMES[source])


def summaries(snapshot: Snapshot, device: Device, rows: U32) -> list[AllocationSummary]:
    """Some allocations of a device, with everything that is known about them."""
    stacks = device.stack[rows].tolist()
    frames, known = labels_of(snapshot, device, rows)
    label_ids, sources = frames.tolist(), known.tolist()
    labels = snapshot.frames.rows(label for label in label_ids if label != NEVER)
    # only native frames name an operator, which isn't needed if a line of Python made the allocation
    native = {
        stack
        for stack, label, source in zip(stacks, label_ids, sources, strict=True)
        if source != RECORDED or labels.get(label, _NO_LABEL)[3] == NATIVE
    }
    operators = {stack: operator_of_stack(snapshot, stack) for stack in native}
    numbers = device.allocations(rows).tolist()
    return [
        _summary(snapshot, device, row, number, labels.get(label), source, operators.get(stack))
        for row, number, label, source, stack in zip(
            rows.tolist(), numbers, label_ids, sources, stacks, strict=True
        )
    ]


def operator_of_stack(snapshot: Snapshot, stack: int) -> str | None:
    """The operator that a stack's native frames inside of its innermost Python line name."""
    kinds = snapshot.frames.kind
    on_top = list(itertools.takewhile(lambda row: kinds[row] == NATIVE, snapshot.stack_frame_ids(stack)))
    frames = snapshot.frames.rows(on_top)
    return registry.operators().operator_of([frames[row][2] for row in on_top])


def _summary(
    snapshot: Snapshot,
    device: Device,
    row: int,
    allocation: int,
    label: FrameRow | None,
    source: int,
    operator: str | None,
) -> AllocationSummary:
    start, end, flags = int(device.start[row]), int(device.end[row]), int(device.flags[row])
    freed = end != NEVER
    start_time = time_of_moment(device, start)
    end_time = time_of_moment(device, end) if freed else None
    category = int(device.category[row])
    names = timeline_of(snapshot.info, "categories").categories
    return AllocationSummary(
        allocation=allocation,
        device=device.info.device,
        address=hex(int(device.address[row])),
        size_bytes=int(device.size[row]),
        rounded_bytes=int(device.rounded[row]) or None,
        start_moment=start,
        end_moment=end if freed else None,
        start_time_us=start_time,
        end_time_us=end_time,
        lifetime_us=end_time - start_time if end_time is not None and start_time is not None else None,
        state="freed" if freed else "pending_free" if flags & kernel.PENDING_FREE else "live",
        before_trace=bool(flags & kernel.BEFORE_TRACE),
        stream=str(snapshot.manifest.streams[int(device.stream[row])]),
        stack=int(device.stack[row]),
        category=names[category] if category < len(names) else None,
        label=frame(label, source) if label else None,
        operator=operator,
    )
