"""The memory map: addresses over time, as packed geometry for one viewport, and the allocations in it.

A column shows the state at the same recorded moment as the stacked picture's column: the one with the most live bytes.
An allocation is drawn at its address, with its requested size as height; so reserved but free memory, and rounding,
are visible as gaps. Heights are those of :mod:`memlens.views.trace.picture.lanes`.

The buffer is that of :mod:`memlens.views.trace.picture.packing`. Rects may leave gaps, and a later rect is drawn over
an earlier one. Reserved memory comes first, as bands whose ``allocation`` is 2**32 - 1 and whose ``size`` is the
range's; ranges thinner than a row are drawn as one such band of size 0. Merged rects have the allocations of less than
a row's height that are live at any of their columns, fill their row up to the maximum of these, and have the ``stack``
of a large one of them, or by group its area.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, Mask, rows_of
from memlens.kernels.trace import memory_map as kernel
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import Axis, HitAnswer, LocateAnswer
from memlens.views.selection.columns import (
    NEVER,
    allocation_of,
    check_moment,
    device_of,
    live_rows,
    x_of_moment,
)
from memlens.views.trace.picture.area_layout import area_columns
from memlens.views.trace.picture.areas import Areas
from memlens.views.trace.picture.boxes import Box, Coarsening, Drawing, draw, lives_of
from memlens.views.trace.picture.hit import hit_answer
from memlens.views.trace.picture.lanes import Layout, layout_of
from memlens.views.trace.picture.packing import CHANGE_BYTES, MOST_BYTES, RECT_BYTES, AreaColumns, Grid

_LONG_RUN = 6
_LONGER = 1.1
_MERGED = np.uint32(1 << 31)
_MOST_OF_AREAS = 0.5
"""The most of an answer that the sums of areas may take; if they take more, there are fewer columns."""
_TOO_MANY = 2.0
_COARSENING = Coarsening("rows", 0.5)
"""The thickest rows, because thicker rows merge what was high enough."""


def memory_map(
    snapshot: Snapshot,
    device: int,
    box: Box,
    filter_text: str = "",
    highlighted: Mask | None = None,
    areas: Areas | None = None,
) -> bytes:
    """The packed geometry of a device's map in a box, whose heights are bytes of the map.

    ``highlighted`` flags the highlighted rows of the filtered device; ``areas`` are the groups of the
    same rows. Raises BadRequestError for a box that can't be drawn.
    """
    box.checked()
    own, layout = device_of(snapshot, device, filter_text), layout_of(snapshot, device)
    heights = _heights(own, layout)

    def drawing(box: Box, grid: Grid) -> Drawing | float:
        if areas is None:
            return _drawing(own, heights, layout, box, grid, MOST_BYTES)
        columns = area_columns(own, areas, grid)
        taken = CHANGE_BYTES * len(columns.changes()[0])
        if taken > MOST_BYTES * _MOST_OF_AREAS:
            return _TOO_MANY
        drawn = _drawing(own, heights, layout, box, grid, MOST_BYTES - taken)
        return drawn if isinstance(drawn, float) else _by_area(drawn, columns)

    # the moments are those of the whole device, so that a filter moves nothing
    return draw(own, own.whole, box, highlighted, _COARSENING, drawing)


def map_hit(
    snapshot: Snapshot, device: int, moment: int, y: float, within: float, filter_text: str = ""
) -> HitAnswer:
    """The allocation at a height of the map, or the nearest at most ``within`` bytes away. Raises BadRequestError."""
    own = device_of(snapshot, device, filter_text)
    check_moment(own, moment)
    rows = live_rows(own, moment)
    bottom = _heights(own, layout_of(snapshot, device))[rows]
    away = np.maximum(np.maximum(bottom - y, y - (bottom + own.size[rows])), 0)
    nearest = int(np.argmin(away)) if len(rows) else -1
    inside = nearest >= 0 and float(away[nearest]) <= max(within, 0)
    return hit_answer(snapshot, own, moment, len(rows), rows[nearest] if inside else None)


def map_locate(snapshot: Snapshot, allocation: int, axis: Axis) -> LocateAnswer:
    """An allocation's box in the map; ``moment`` is its first. Raises BadRequestError."""
    own, row = allocation_of(snapshot, allocation)
    start, end = int(own.start[row]), int(own.end[row])
    y = int(_heights(own, layout_of(snapshot, own.info.device))[row])
    last = own.info.events + 1
    return LocateAnswer(
        device=own.info.device,
        allocation=allocation,
        moment=min(start, own.info.events),
        x0=x_of_moment(own, axis, start),
        x1=x_of_moment(own, axis, max(min(end, last), start + 1)),
        y0=float(y),
        y1=float(y + int(own.size[row])),
    )


def _heights(own: Device, layout: Layout) -> I64:
    return layout.y if own.rows is None else layout.y[own.rows]


def _drawing(
    device: Device, heights: I64, layout: Layout, box: Box, grid: Grid, most: int
) -> Drawing | float:
    """Rects and bands of reserved memory and of the allocations, in runs as short as fit into ``most`` bytes."""
    view = (box.y0, box.y1, box.rows)
    reserved = layout.reserved
    layer = kernel.Layer()
    room = most // 4
    shown = grid.shown(reserved.stops(grid.moments))
    too_much = layer.gather(reserved.lives, reserved.y, shown, *view, room)
    laid = too_much or _fitting(layer, box.columns, room)
    if isinstance(laid, float):
        return laid
    under, ranges = laid
    room = most - RECT_BYTES * (len(under) + len(ranges))
    layer = layout.layer
    too_much = layer.gather(lives_of(device), heights, grid.shown(), *view, room)
    share = 1 - (room - layer.tall_bytes) / most
    laid = too_much or _fitting(layer, box.columns, room)
    if isinstance(laid, float):
        return laid
    upper, bands = laid
    rects = np.concatenate((_as_reserved(under, len(bands), len(ranges)), upper))
    # the last band is for all merged ranges
    return Drawing(share, rects, bands, np.append(reserved.size[ranges], 0))


def _fitting(
    layer: kernel.Layer, columns: int, room: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | float:
    """A layer's rects and bands, in runs as short as fit; if none fit, how many times too large they are."""
    runs_a_row = (room - layer.tall_bytes) // (RECT_BYTES * max(layer.merged_rows, 1))
    # runs of this length always fit; mostly far shorter ones do as well
    safe = -(-columns // (runs_a_row - 1)) if runs_a_row > 1 else columns
    few = layer.merged_items * 2 * RECT_BYTES < room
    shortest = 1 if few or safe < _LONG_RUN else safe // 3 + 1
    while isinstance(laid := layer.lay(shortest, room), float):
        if shortest >= safe:
            return laid
        shortest = min(int(shortest * laid * _LONGER) + 1, safe)
    return rows_of(laid[0]), np.asarray(laid[1])


def _by_area(drawn: Drawing, areas: AreaColumns) -> Drawing:
    """The same with merged rects numbered by the area of their leader."""
    rects = drawn.rects.copy()
    merged = (rects["band"] & _MERGED != 0) & (rects["leader"] != NEVER)
    rects["band"][merged] = _MERGED | (areas.codes[rects["leader"][merged]].astype(np.uint32) + 1)
    return drawn._replace(rects=rects, areas=areas)


def _as_reserved(rects: npt.NDArray[Any], after: int, bands: int) -> npt.NDArray[Any]:
    """Rects of reserved ranges, with bands numbered after the allocations', and one more for all merged ones."""
    found = rects.copy()
    merged = rects["band"] & _MERGED != 0
    found["band"] = np.where(merged, after + bands, rects["band"] + np.uint32(after))
    found["leader"] = NEVER
    return found
