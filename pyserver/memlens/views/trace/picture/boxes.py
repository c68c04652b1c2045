"""The box of a picture over time: the requested viewport, the moments of its columns, and its resolution."""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.trace import ranges
from memlens.kernels.trace.picture import Lives
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.answers import Axis
from memlens.views.selection.columns import axis_range, moments_between
from memlens.views.trace.picture.packing import NO_SIZES, AreaColumns, Grid, pack

MOST_COLUMNS = 4096
MOST_ROWS = 8192

_FARTHEST = 2.0**61
"""The largest coordinate, which leaves room for sums in 64 bits."""


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
        """Check the box. Raises :class:`BadRequestError` if no picture can be drawn in it."""
        bounds = self[1:5]
        if not (np.isfinite(bounds).all() and self.x0 < self.x1 and self.y0 < self.y1):
            raise BadRequestError(phrase("The viewport has no area"))
        if max(abs(bound) for bound in bounds) > _FARTHEST:
            raise BadRequestError(phrase("The viewport is beyond any snapshot"))
        if not (0 < self.columns <= MOST_COLUMNS and 0 < self.rows <= MOST_ROWS):
            raise BadRequestError(
                phrase(
                    "A viewport has 1 to {columns} columns and 1 to {rows} rows",
                    columns=MOST_COLUMNS,
                    rows=MOST_ROWS,
                )
            )
        return self

    @property
    def quantum(self) -> float:
        """Bytes per unit of a rect's y, a quarter of a row."""
        return (self.y1 - self.y0) / (self.rows * 4)


class Coarsening(NamedTuple):
    """How a picture gets coarser in steps: in turn ``share`` of its columns, or of its rows, remains."""

    first: Literal["columns", "rows"]
    share: float

    def after(self, box: Box, step: int) -> Box:
        """The box after step number ``step``, counted from 1."""
        if (self.first == "columns") == bool(step % 2):
            return box._replace(columns=max(int(box.columns * self.share), 1))
        return box._replace(rows=max(int(box.rows * self.share), 1))

    def steps(self, too_much: float) -> int:
        """The fewest steps after which a picture that is ``times`` times too large may fit."""
        return max(int(math.log(max(too_much, 1.0)) / -math.log(self.share)), 1)


class Drawing(NamedTuple):
    """The contents of a picture: rects, the rows of a device that are bands, and the sizes of other bands.

    ``share`` is the share of an answer's space that a coarser picture would reduce. With ``areas`` the picture is by
    group.
    """

    share: float
    rects: npt.NDArray[Any]
    bands: U32
    others: I64 = NO_SIZES
    areas: AreaColumns | None = None


Draw = Callable[[Box, Grid], Drawing | float]
"""Draws a picture; if it is too large for an answer, returns roughly how many times too large it is."""


def draw(
    device: Device,
    moments_of: Device,
    box: Box,
    highlighted: Mask | None,
    coarsening: Coarsening,
    drawing: Draw,
) -> bytes:
    """The packed geometry of a device in a box: as fine as requested, or as fine as fits into an answer.

    Columns show the moments at which the most bytes of ``moments_of`` are live.
    """
    grids: dict[int, Grid] = {}
    boxes = [box]
    too_fine, level = -1, 0
    fits: tuple[int, Drawing] | None = None
    while True:
        while len(boxes) <= level:
            boxes.append(coarsening.after(boxes[-1], len(boxes)))
        now = boxes[level]
        if now.columns not in grids:
            grids[now.columns] = grid_of(device, moments_of, now)
        drawn = drawing(now, grids[now.columns])
        if isinstance(drawn, Drawing):
            fits = level, drawn
            if level - 1 == too_fine or drawn.share >= coarsening.share:
                break
            # there is more space left than the step was to save
            level -= 1
        else:
            too_fine = level
            if fits is not None:
                break
            level += coarsening.steps(drawn)
    level, drawn = fits
    now = boxes[level]
    header = (*now[1:5], now.quantum, level > 0)
    return pack(
        device, grids[now.columns], header, drawn.rects, drawn.bands, drawn.others, highlighted, drawn.areas
    )


def lives_of(device: Device) -> Lives:
    """The columns of allocations that kernels draw."""
    return Lives(device.size, device.end, device.end_64, device.end_4096)


def grid_of(device: Device, moments_of: Device, box: Box) -> Grid:
    """Return a grid whose columns show the moments at which the most bytes of ``moments_of`` are live."""
    extent = axis_range(device, box.axis)
    edges = np.linspace(box.x0, box.x1, box.columns + 1)
    # columns outside of the device's extent stay empty
    first = int(np.searchsorted(edges[1:], extent.x0, "right"))
    last = int(np.searchsorted(edges[:-1], extent.x1, "left"))
    low, high = moments_between(device, box.axis, edges)
    moments = np.empty(box.columns, np.uint32)
    ranges.peaks(moments_of.live, moments_of.live_64, moments_of.live_4096, low, high, moments)
    # ascending when concatenated
    looked_at = np.stack((low, moments, high), axis=1, dtype=np.int64)
    started = np.empty(looked_at.shape, np.int64)
    ranges.count_until(device.start, looked_at.reshape(-1), started.reshape(-1))
    return Grid(moments, low, high, started, slice(first, max(first, last)))
