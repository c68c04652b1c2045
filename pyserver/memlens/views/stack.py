"""An allocation with its stack, and the totals of a stack."""

from collections.abc import Sequence

import msgspec
import numpy as np

from memlens.kernels.timeline import FREE_COMPLETED, FREE_REQUESTED
from memlens.store.snapshot import Snapshot
from memlens.views.answers import Frame, StackAnswer, Totals
from memlens.views.columns import NEVER, allocation_of, frame, operator_of_stack, summaries


def stack(snapshot: Snapshot, allocation: int) -> StackAnswer:
    """An allocation, its frames innermost first, and what its stack allocated in all. Raises BadRequestError."""
    device, row = allocation_of(snapshot, allocation)
    summary = summaries(snapshot, device, np.asarray([row], np.uint32))[0]
    frames = stack_frames(snapshot, summary.stack)
    freed: list[Frame] = []
    if summary.end_moment is not None:
        ending = summary.end_moment - 1
        freed_stack = int(device.event_stack[ending])
        # where the recorder keeps no stacks of frees it repeats the allocation's; and where a free was not recorded
        # the event at the end is another allocation's
        if freed_stack != summary.stack and int(device.event_action[ending]) in (
            FREE_REQUESTED,
            FREE_COMPLETED,
        ):
            freed = stack_frames(snapshot, freed_stack)
    summary = msgspec.structs.replace(summary, operator=operator_of_stack(snapshot, summary.stack))
    return StackAnswer(summary, frames, freed, totals(snapshot, [summary.stack]))


def stack_frames(snapshot: Snapshot, number: int) -> list[Frame]:
    """The frames of a stack, innermost first."""
    ids = snapshot.stack_frame_ids(number)
    rows = snapshot.frames(ids)
    sources = snapshot.column("frame_source")[ids].tolist()
    return [frame(rows[row], source) for row, source in zip(ids, sources, strict=True)]


def totals(snapshot: Snapshot, stacks: Sequence[int]) -> Totals:
    """What all allocations of some stacks come to."""
    chosen = np.asarray(stacks, np.int64)
    table = snapshot.column("stack_totals").reshape(-1, 6)[chosen]
    if not len(table):
        return Totals(0, 0, 0, 0, 0, 0, None)
    sums = table[:, :5].sum(axis=0).tolist()
    biggest = int(np.argmax(table[:, 5]))
    largest = int(snapshot.column("stack_largest")[chosen[biggest]])
    return Totals(
        total_bytes=sums[0],
        count=sums[1],
        live_at_peak_bytes=sums[2],
        live_at_peak_count=sums[3],
        live_at_end_bytes=sums[4],
        largest_bytes=int(table[biggest, 5]),
        largest_allocation=None if largest == NEVER else largest,
    )
