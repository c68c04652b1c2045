"""The box of a picture over time: what a viewport asks for, which moments its columns show, and how fine it gets."""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.kernels.trace import ranges
from memlens.store.trace.device import Device
from memlens.views.answers import Axis
from memlens.views.selection.columns import Lit, axis_range, moments_between
from memlens.views.trace.picture.packing import NO_SIZES, AreaColumns, Grid, pack

MOST_COLUMNS = 4096
MOST_ROWS = 8192

_FARTHEST = 2.0**61
"""Coordinates that 64 bits hold, with room for sums."""


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

    @property
    def quantum(self) -> float:
        """Bytes per unit of a rect's y, a quarter of a row."""
        return (self.y1 - self.y0) / (self.rows * 4)


class Coarsening(NamedTuple):
    """How a picture gets coarser step by step: ``share`` of its columns is left, or of its rows, in turn."""

    first: Literal["columns", "rows"]
    share: float

    def after(self, box: Box, step: int) -> Box:
        """The box after another step, which is counted from 1."""
        if (self.first == "columns") == bool(step % 2):
            return box._replace(columns=max(int(box.columns * self.share), 1))
        return box._replace(rows=max(int(box.rows * self.share), 1))

    def steps(self, too_much: float) -> int:
        """How many steps it takes at least until that many times too much may fit."""
        return max(int(math.log(max(too_much, 1.0)) / -math.log(self.share)), 1)


class Drawing(NamedTuple):
    """What a picture shows: rects, the rows of a device that are bands of it, and the sizes of its other bands.

    ``share`` is how much of an answer's room that takes which a coarser picture takes less of. With
    ``areas`` the picture is by group.
    """

    share: float
    rects: npt.NDArray[Any]
    bands: npt.NDArray[np.uint32]
    others: npt.NDArray[np.int64] = NO_SIZES
    areas: AreaColumns | None = None


Draw = Callable[[Box, Grid], Drawing | float]
"""Draws a picture; where it is too much for an answer, returns about how many times too much."""


def draw(
    device: Device, moments_of: Device, box: Box, lit: Lit | None, coarsening: Coarsening, drawing: Draw
) -> bytes:
    """The packed geometry of a device in a box: as fine as asked, or as fine as fits into an answer.

    Columns show moments at which the most bytes of ``moments_of`` are alive.
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
            # there is room for more than a step was to save
            level -= 1
        else:
            too_fine = level
            if fits is not None:
                break
            level += coarsening.steps(drawn)
    level, drawn = fits
    now = boxes[level]
    header = (*now[1:5], now.quantum, level > 0)
    return pack(device, grids[now.columns], header, drawn.rects, drawn.bands, drawn.others, lit, drawn.areas)


def grid_of(device: Device, moments_of: Device, box: Box) -> Grid:
    """Each column shows, of the moments in it, the one at which the most bytes of ``moments_of`` are alive."""
    extent = axis_range(device, box.axis)
    edges = np.linspace(box.x0, box.x1, box.columns + 1)
    # columns wholly outside of the device's extent stay empty
    first = int(np.searchsorted(edges[1:], extent.x0, "right"))
    last = int(np.searchsorted(edges[:-1], extent.x1, "left"))
    low, high = moments_between(device, box.axis, edges)
    moments = np.empty(box.columns, np.uint32)
    ranges.peaks(moments_of.live, moments_of.live_64, moments_of.live_4096, low, high, moments)
    # one after the other they ascend
    looked_at = np.stack((low, moments, high), axis=1, dtype=np.int64)
    started = np.empty(looked_at.shape, np.int64)
    ranges.count_until(device.start, looked_at.reshape(-1), started.reshape(-1))
    return Grid(moments, low, high, started, slice(first, max(first, last)))
