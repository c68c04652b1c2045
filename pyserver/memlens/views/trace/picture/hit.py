"""The allocation at a point in the stacked picture."""

import numpy as np

from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import HitAnswer
from memlens.views.selection.columns import check_moment, device_of, summaries, time_of_moment
from memlens.views.trace.picture.areas import GroupedBy, picture_order


def hit(
    snapshot: Snapshot,
    device: int,
    moment: int,
    y_bytes: float,
    filter_text: str = "",
    areas: GroupedBy | None = None,
) -> HitAnswer:
    """The allocation at ``y_bytes`` above the bottom at ``moment``. Raises BadRequestError."""
    found = device_of(snapshot, device, filter_text)
    check_moment(found, moment)
    rows = picture_order(snapshot, found, moment, filter_text, areas)
    tops = np.cumsum(found.size[rows])
    place = int(np.searchsorted(tops, y_bytes, "right"))
    inside = y_bytes >= 0 and place < len(rows)
    return hit_answer(snapshot, found, moment, len(rows), rows[place] if inside else None)


def hit_answer(
    snapshot: Snapshot, device: Device, moment: int, live_count: int, row: np.uint32 | None
) -> HitAnswer:
    """The number of allocations live at a moment, and the allocation in that row of the device."""
    return HitAnswer(
        moment=moment,
        time_us=time_of_moment(device, moment),
        live_bytes=int(device.live[moment]),
        live_count=live_count,
        allocation=None if row is None else summaries(snapshot, device, np.array([row]))[0],
    )
