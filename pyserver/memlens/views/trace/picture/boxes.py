"""The box of a picture over time: what a viewport asks for, and which moment each of its columns shows."""

from typing import NamedTuple, Self

import numpy as np

from memlens.errors import BadRequestError
from memlens.kernels.trace import stacked
from memlens.store.trace.device import Device
from memlens.views.answers import Axis
from memlens.views.selection.columns import axis_range, moments_between
from memlens.views.trace.picture.packing import Grid

MOST_COLUMNS = 4096
MOST_ROWS = 8192

_FARTHEST = 2.0**61
"""Coordinates that 64 bits hold, with room to reckon."""


class Box(NamedTuple):
    """``[x0, x1]`` in units of the axis by ``[y0, y1]`` in bytes, in ``columns`` x ``rows`` pixels."""

    axis: Axis
    x0: float
    x1: float
    y0: float
    y1: float
    columns: int
    rows: int

    def checked(self) -> Self:
        """The box itself. Raises :class:`BadRequestError` where no picture can be drawn in it."""
        bounds = self[1:5]
        if not (np.isfinite(bounds).all() and self.x0 < self.x1 and self.y0 < self.y1):
            raise BadRequestError("The viewport has no area")
        if max(abs(bound) for bound in bounds) > _FARTHEST:
            raise BadRequestError("The viewport lies where no snapshot is")
        if not (0 < self.columns <= MOST_COLUMNS and 0 < self.rows <= MOST_ROWS):
            raise BadRequestError(f"A viewport has 1 to {MOST_COLUMNS} columns and 1 to {MOST_ROWS} rows")
        return self


def grid_of(device: Device, box: Box, *, coarser: bool) -> Grid:
    """Each column shows, of the moments in it, the one at which the most bytes of ``device`` are alive."""
    extent = axis_range(device, box.axis)
    edges = np.linspace(box.x0, box.x1, box.columns + 1)
    # columns wholly outside of the device's extent stay empty
    first = int(np.searchsorted(edges[1:], extent.x0, "right"))
    last = int(np.searchsorted(edges[:-1], extent.x1, "left"))
    low, high = moments_between(device, box.axis, edges)
    moments = np.empty(box.columns, np.uint32)
    stacked.range_peaks(device.live, device.live_64, device.live_4096, low, high, moments)
    quantum = (box.y1 - box.y0) / (box.rows * 4)
    return Grid(box[1:5], quantum, coarser, moments, low, high, slice(first, max(first, last)))
