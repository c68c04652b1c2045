"""The live memory of a whole run in a few hundred columns, for the minimap."""

import numpy as np

from memlens.arrays import F64
from memlens.kernels.trace import ranges
from memlens.model.info import AxisRange
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import Axis, OverviewAnswer
from memlens.views.selection.columns import axis_range, check_columns, device_of, moments_between
from memlens.views.trace.picture.packing import text_of


def overview(
    snapshot: Snapshot, device: int, axis: Axis, columns: int, filter_text: str = ""
) -> OverviewAnswer:
    """The maximum and minimum of what was live in each of ``columns`` even columns. Raises :class:`BadRequestError`."""
    check_columns(columns)
    found = device_of(snapshot, device, filter_text)
    extent, highest, lowest = extremes(found, axis, columns)
    return OverviewAnswer(
        extent.x0, extent.x1, columns, found.info.peak_bytes,
        text_of(highest, "<f8"),
        text_of(lowest, "<f8"),
    )  # fmt: skip


def extremes(device: Device, axis: Axis, columns: int) -> tuple[AxisRange, F64, F64]:
    """A device's whole extent, and the maximum and minimum of live bytes in each of ``columns`` even columns.

    Raises :class:`BadRequestError` for times that the file doesn't have.
    """
    extent = axis_range(device, axis)
    first, last = moments_between(device, axis, np.linspace(extent.x0, extent.x1, columns + 1))
    highest, lowest = np.empty(columns), np.empty(columns)
    ranges.extremes(
        device.live, first, last, highest, lowest, device.live_64, device.live_4096, device.low_64
    )
    return extent, highest, lowest
