"""The allocations live at a moment, as a table."""

import numpy as np

from memlens.store.snapshot import Snapshot
from memlens.views.answers import LiveAnswer
from memlens.views.selection.columns import (
    check_moment,
    check_page,
    device_of,
    live_rows,
    summaries,
    time_of_moment,
)


def live(
    snapshot: Snapshot, device: int, moment: int | None, offset: int, limit: int, filter_text: str = ""
) -> LiveAnswer:
    """Rows ``offset … offset + limit`` of the allocations live at a moment (None: the peak), largest first."""
    check_page(offset, limit)
    found = device_of(snapshot, device, filter_text)
    moment = check_moment(found, found.info.peak_moment if moment is None else moment)
    rows = live_rows(found, moment)
    # among equal sizes the oldest first
    order = np.argsort(-found.size[rows], kind="stable")
    page = rows[order[offset : offset + limit]]
    return LiveAnswer(
        moment=moment,
        time_us=time_of_moment(found, moment),
        live_bytes=int(found.live[moment]),
        live_count=len(rows),
        offset=offset,
        rows=summaries(snapshot, found, page),
    )
