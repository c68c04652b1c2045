"""Where an allocation lies in the picture, and which one lies next to it."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.kernels.trace import ranges
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import AllocationSummary, Axis, LocateAnswer
from memlens.views.selection.columns import (
    NEVER,
    allocation_of,
    check_moment,
    live_rows,
    summaries,
    x_of_moment,
)

Direction = Literal["older", "younger", "lower", "higher", "previous_same_stack", "next_same_stack"]


def locate(
    snapshot: Snapshot, allocation: int, axis: Axis, moment: int | None, filter_text: str = ""
) -> LocateAnswer:
    """An allocation's box: its whole life, and its height at ``moment`` (None: when the most was live in its life).

    Raises BadRequestError for an unknown allocation, a moment outside of its life, or an axis without times.
    """
    device, row = allocation_of(snapshot, allocation, filter_text)
    start, end = _life(device, row)
    if moment is None:
        peak = np.empty(1, np.uint32)
        ranges.peaks(
            device.live, device.live_64, device.live_4096, np.asarray([start]), np.asarray([end - 1]), peak
        )
        moment = int(peak[0])
    elif not start <= moment < end:
        raise BadRequestError(f"Allocation {allocation} is not alive at moment {moment}")
    rows = live_rows(device, moment)
    below = int(device.size[rows[: np.searchsorted(rows, row)]].sum())
    return LocateAnswer(
        device=device.info.device,
        allocation=allocation,
        moment=moment,
        x0=x_of_moment(device, axis, start),
        x1=x_of_moment(device, axis, end),
        y0=float(below),
        y1=float(below + int(device.size[row])),
    )


def step(
    snapshot: Snapshot, allocation: int, moment: int, direction: Direction, filter_text: str = ""
) -> AllocationSummary | None:
    """The neighbour of an allocation.

    At ``moment`` it is the ``older`` one below it in the stacked picture, the ``younger`` one above it, or the next at
    a ``lower`` or ``higher`` address; else the one before or after it from the same stack. None at the end of the way.
    """
    device, row = allocation_of(snapshot, allocation, filter_text)
    if direction in ("older", "younger"):
        rows = live_rows(device, check_moment(device, moment))
        if direction == "older":
            place = int(np.searchsorted(rows, row)) - 1
        else:
            place = int(np.searchsorted(rows, row, "right"))
        found = int(rows[place]) if 0 <= place < len(rows) else None
    elif direction in ("lower", "higher"):
        found = _by_address(device, row, live_rows(device, check_moment(device, moment)), direction)
    else:
        # a comparison over one column; nothing that is kept per stack would pay for itself
        same = np.flatnonzero(device.stack == device.stack[row])
        place = int(np.searchsorted(same, row)) + (1 if direction == "next_same_stack" else -1)
        found = int(same[place]) if 0 <= place < len(same) else None
    return None if found is None else summaries(snapshot, device, np.asarray([found], np.uint32))[0]


def _by_address(
    device: Device, row: int, rows: npt.NDArray[np.uint32], direction: Literal["lower", "higher"]
) -> int | None:
    """The next of some rows in one direction; of those at one address the older one is taken for the lower."""
    # the allocation itself need not be among them
    rows = rows[rows != row]
    address, own = device.address[rows], device.address[row]
    if direction == "lower":
        beside = (address < own) | ((address == own) & (rows < row))
        found = rows[beside][np.lexsort((rows[beside], address[beside]))[-1:]]
    else:
        beside = (address > own) | ((address == own) & (rows > row))
        found = rows[beside][np.lexsort((rows[beside], address[beside]))[:1]]
    return int(found[0]) if len(found) else None


def _life(device: Device, row: int) -> tuple[int, int]:
    """First moment of an allocation's life and the one after its last; one freed at once lives for one moment."""
    last = device.info.events + 1
    start = min(int(device.start[row]), last - 1)
    end = int(device.end[row])
    return start, max(min(end if end != NEVER else last, last), start + 1)
