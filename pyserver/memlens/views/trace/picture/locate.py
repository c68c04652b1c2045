"""An allocation's position in the picture, and its neighbours."""

from typing import Literal

import numpy as np

from memlens.arrays import U32
from memlens.errors import BadRequestError
from memlens.kernels.trace import ranges
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.answers import AllocationSummary, Axis, LocateAnswer
from memlens.views.selection.columns import (
    NEVER,
    allocation_of,
    check_moment,
    live_rows,
    summaries,
    x_of_moment,
)
from memlens.views.trace.picture.areas import GroupedBy, picture_order

Direction = Literal["older", "younger", "lower", "higher", "previous_same_stack", "next_same_stack"]


def locate(
    snapshot: Snapshot,
    allocation: int,
    axis: Axis,
    moment: int | None,
    filter_text: str = "",
    areas: GroupedBy | None = None,
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
        raise BadRequestError(
            phrase(
                "Allocation {allocation} is not live at moment {moment}", allocation=allocation, moment=moment
            )
        )
    rows = picture_order(snapshot, device, moment, filter_text, areas)
    below = int(device.size[rows[: _place(rows, row)]].sum())
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
    snapshot: Snapshot,
    allocation: int,
    moment: int,
    direction: Direction,
    filter_text: str = "",
    areas: GroupedBy | None = None,
) -> AllocationSummary | None:
    """The neighbour of an allocation.

    At ``moment`` it is the one below it in the picture (``older``), the one above it (``younger``), or the next at
    a ``lower`` or ``higher`` address; else the previous or next one from the same stack. None if there is no further
    one.
    """
    device, row = allocation_of(snapshot, allocation, filter_text)
    if direction in ("older", "younger"):
        rows = picture_order(snapshot, device, check_moment(device, moment), filter_text, areas)
        found = _beside(rows, row, direction)
    elif direction in ("lower", "higher"):
        found = _by_address(device, row, live_rows(device, check_moment(device, moment)), direction)
    else:
        # a comparison over one column is so fast that caching per stack isn't worth it
        same = np.flatnonzero(device.stack == device.stack[row])
        place = int(np.searchsorted(same, row)) + (1 if direction == "next_same_stack" else -1)
        found = int(same[place]) if 0 <= place < len(same) else None
    return None if found is None else summaries(snapshot, device, np.asarray([found], np.uint32))[0]


def _place(rows: U32, row: int) -> int:
    """The position of a row among others; their number if it isn't among them."""
    found = np.flatnonzero(rows == row)
    return int(found[0]) if len(found) else len(rows)


def _beside(rows: U32, row: int, direction: Literal["older", "younger"]) -> int | None:
    """The next of some rows in the order of the picture; for a row that isn't among them the next one in time."""
    place = _place(rows, row)
    if place == len(rows):
        rows = np.sort(rows)
        place = int(np.searchsorted(rows, row))
        place -= direction == "older"
    else:
        place += -1 if direction == "older" else 1
    return int(rows[place]) if 0 <= place < len(rows) else None


def _by_address(device: Device, row: int, rows: U32, direction: Literal["lower", "higher"]) -> int | None:
    """The next of some rows in one direction; at equal addresses the older one counts as the lower."""
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
