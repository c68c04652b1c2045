"""The height of a whole run in a few hundred columns, for the minimap."""

import numpy as np

from memlens.kernels.trace import ranges
from memlens.store.snapshot import Snapshot
from memlens.views.answers import Axis, OverviewAnswer
from memlens.views.selection.columns import axis_range, check_columns, device_of, moments_between
from memlens.views.trace.picture.packing import text_of


def overview(
    snapshot: Snapshot, device: int, axis: Axis, columns: int, filter_text: str = ""
) -> OverviewAnswer:
    """The most and the least that was live in each of ``columns`` even columns. Raises :class:`BadRequestError`."""
    check_columns(columns)
    found = device_of(snapshot, device, filter_text)
    extent = axis_range(found, axis)
    first, last = moments_between(found, axis, np.linspace(extent.x0, extent.x1, columns + 1))
    highest, lowest = np.empty(columns), np.empty(columns)
    ranges.extremes(found.live, first, last, highest, lowest, found.live_64, found.live_4096, found.low_64)
    return OverviewAnswer(
        extent.x0, extent.x1, columns, found.info.peak_bytes,
        text_of(highest, "<f8"),
        text_of(lowest, "<f8"),
    )  # fmt: skip
