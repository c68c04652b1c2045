"""The allocation at a moment and a height of the stacked picture."""

import numpy as np

from memlens.store.snapshot import Snapshot
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
    return HitAnswer(
        moment=moment,
        time_us=time_of_moment(found, moment),
        live_bytes=int(found.live[moment]),
        live_count=len(rows),
        allocation=summaries(snapshot, found, rows[place : place + 1])[0] if inside else None,
    )
