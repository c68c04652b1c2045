"""An allocation with its stack, and the totals of a stack."""

from collections.abc import Sequence
from typing import assert_never

import msgspec
import numpy as np

from memlens.model.frames import NATIVE, RECORDED
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.frees import freed_stacks
from memlens.store.snapshot import Snapshot
from memlens.store.totals import stack_totals
from memlens.store.trace.device import Device
from memlens.views.answers import Frame, FxTrace, StackAnswer, Totals
from memlens.views.naming.modules import inferred_module
from memlens.views.selection.columns import (
    NEVER,
    allocation_of,
    device_of,
    frame,
    operator_of_stack,
    summaries,
)

MOST_FRAMES = 4_096
"""The most frames of a stack that an answer has; real ones are less deep."""


def stack(snapshot: Snapshot, allocation: int, filter_text: str = "") -> StackAnswer:
    """An allocation, its frames innermost first, and what its stack allocated in all.

    With a filter the totals are of what matches it on the allocation's device. Raises :class:`BadRequestError`.
    """
    device, row = allocation_of(snapshot, allocation)
    summary = summaries(snapshot, device, np.asarray([row], np.uint32))[0]
    frames, fx_traces, forward = _apart(stack_frames(snapshot, summary.stack))
    freed = stack_frames(snapshot, int(freed_stacks(snapshot, device)[row]))
    summary = msgspec.structs.replace(summary, operator=operator_of_stack(snapshot, summary.stack))
    same = totals(snapshot, [summary.stack])
    if filter_text.strip():
        same = totals_on(device_of(snapshot, device.info.device, filter_text), [summary.stack])
    module = inferred_module(snapshot, device, row)
    of_free = (
        snapshot.manifest.frees_repeat and summary.before_trace and summary.state == "freed" and bool(frames)
    )
    return StackAnswer(summary, frames, fx_traces, forward, freed, same, module, of_free)


def _apart(frames: Sequence[Frame]) -> tuple[list[Frame], list[FxTrace], list[Frame]]:
    """A stack's recorded frames, the FX traces of those that have one, and the forward stack.

    A trace is on the inner side of its frame, and a forward stack outside of all others.
    """
    recorded: list[Frame] = []
    traces: list[FxTrace] = []
    forward: list[Frame] = []
    trace: list[Frame] = []
    for each in frames:
        if each.source == "fx":
            trace.append(each)
        elif each.source == "forward":
            forward.append(each)
        else:
            recorded.append(each)
            if trace:
                traces.append(FxTrace(each, trace))
                trace = []
    return recorded, traces, forward


def stack_frames(snapshot: Snapshot, number: int) -> list[Frame]:
    """The frames of a stack, innermost first, with those of FX traces and the forward stack.

    The outermost of more than :data:`MOST_FRAMES` are one remark.
    """
    ids = snapshot.stack_frame_ids(number)
    left_out = len(ids) - MOST_FRAMES
    ids = ids[:MOST_FRAMES]
    rows = snapshot.frames.rows(ids)
    sources = snapshot.frames.source[ids].tolist()
    found = [frame(rows[row], source) for row, source in zip(ids, sources, strict=True)]
    if left_out > 0:
        found.append(frame(("", 0, f"({left_out:,} outer frames are not listed)", NATIVE), RECORDED))
    return found


def totals(snapshot: Snapshot, stacks: Sequence[int]) -> Totals:
    """The sums of all allocations of some stacks."""
    chosen = np.asarray(stacks, np.int64)
    table = stack_totals(snapshot)[chosen]
    if not len(table):
        return Totals(0, 0, 0, 0, 0, 0, None)
    sums = table[:, :5].sum(axis=0).tolist()
    biggest = int(np.argmax(table[:, 5]))
    match snapshot.info:
        case TimelineInfo():
            largest = int(snapshot.trace.stack_largest[chosen[biggest]])
        case ProfileInfo() | GraphInfo():
            largest = NEVER
        case _:
            assert_never(snapshot.info)
    return Totals(
        total_bytes=sums[0],
        count=sums[1],
        live_at_peak_bytes=sums[2],
        live_at_peak_count=sums[3],
        live_at_end_bytes=sums[4],
        largest_bytes=int(table[biggest, 5]),
        largest_allocation=None if largest == NEVER else largest,
    )


def totals_on(device: Device, stacks: Sequence[int]) -> Totals:
    """The sums of some stacks' allocations on a filtered device; the peak is that of what matches."""
    chosen = np.zeros(max(stacks, default=0) + 1, bool)
    chosen[list(stacks)] = True
    rows = np.flatnonzero((device.stack < len(chosen)) & chosen[np.minimum(device.stack, len(chosen) - 1)])
    if not len(rows):
        return Totals(0, 0, 0, 0, 0, 0, None)
    size, start, end = device.size[rows], device.start[rows], device.end[rows]
    peak = device.info.peak_moment
    at_peak, at_end = (start <= peak) & (end > peak), end > device.info.events
    largest = int(np.argmax(size))
    return Totals(
        total_bytes=int(size.sum()),
        count=len(rows),
        live_at_peak_bytes=int(size[at_peak].sum()),
        live_at_peak_count=int(at_peak.sum()),
        live_at_end_bytes=int(size[at_end].sum()),
        largest_bytes=int(size[largest]),
        largest_allocation=int(device.allocations(rows[largest : largest + 1])[0]),
    )
