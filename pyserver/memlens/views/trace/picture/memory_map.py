"""The memory map: addresses over time, as packed geometry for one viewport, and what lies where in it.

A column shows the state at the same real moment as the stacked picture's column does: the one with the most live
bytes. An allocation is drawn where it truly lies, as high as what was asked for; so what is reserved but free, and
what rounding takes, is seen as a hole. Heights are those of :mod:`memlens.views.trace.picture.lanes`.

The buffer is that of :mod:`memlens.views.trace.picture.packing`. Rects may leave holes, and a later rect
lies over an earlier one. What is reserved comes first, as bands whose ``allocation`` is 2**32 - 1 and whose ``size``
is the range's; ranges thinner than a row are drawn as one such band of size 0. Merged rects hold the allocations
under a row high that are alive at any of their columns, fill their row as far as those do at most, and have the
``stack`` of a large one of them.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.kernels.trace import memory_map as kernel
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import Axis, HitAnswer, LocateAnswer
from memlens.views.selection.columns import (
    NEVER,
    Lit,
    allocation_of,
    check_moment,
    device_of,
    live_rows,
    summaries,
    time_of_moment,
    x_of_moment,
)
from memlens.views.trace.picture.boxes import Box, grid_of
from memlens.views.trace.picture.lanes import Layout, layout_of
from memlens.views.trace.picture.packing import MOST_BYTES, pack

_RECT_BYTES = 17
_LONG_RUN = 6
_MERGED = np.uint32(1 << 31)


def memory_map(
    snapshot: Snapshot,
    device: int,
    axis: Axis,
    x0: float,
    x1: float,
    y0: float,
    y1: float,
    columns: int,
    rows: int,
    filter_text: str = "",
    lit: Lit | None = None,
) -> bytes:
    """The packed geometry for ``columns`` x ``rows`` pixels over ``[x0, x1] x [y0, y1]`` (axis units, map bytes).

    ``lit`` flags the rows of the device, as the filter leaves them, that are to be told as lit up.
    Raises BadRequestError for a box or a resolution that can't be drawn.
    """
    box = Box(axis, x0, x1, y0, y1, columns, rows).checked()
    found, layout = device_of(snapshot, device, filter_text), layout_of(snapshot, device)
    coarser = 0
    while (packed := _packed(found, layout, box, coarser, lit)) is None:
        # first thicker rows, which merges what is high enough now; then fewer columns
        if coarser % 2 == 0:
            box = box._replace(rows=max(box.rows // 2, 1))
        else:
            box = box._replace(columns=max(box.columns // 2, 1))
        coarser += 1
    return packed


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
    return HitAnswer(
        moment=moment,
        time_us=time_of_moment(own, moment),
        live_bytes=int(own.live[moment]),
        live_count=len(rows),
        allocation=summaries(snapshot, own, rows[nearest : nearest + 1])[0] if inside else None,
    )


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


def _heights(own: Device, layout: Layout) -> npt.NDArray[np.int64]:
    return layout.y if own.rows is None else layout.y[own.rows]


def _packed(device: Device, layout: Layout, box: Box, coarser: int, lit: Lit | None) -> bytes | None:
    # the moments are the whole device's, so that a filter moves nothing
    grid = grid_of(device.whole, box, coarser=coarser > 0)
    first, last = grid.inside.start, grid.inside.stop
    # what lies in no segment that the file names is not known to be reserved
    ranges = layout.ranges[layout.ranges["span"] != NEVER]
    none = np.empty(0, np.uint32)
    reserved = kernel.Layer()
    held = kernel.Layer()
    end = grid.moments[last - 1] if last > first else np.uint32(0)
    stop = int(np.searchsorted(device.start, np.uint32(end), "right"))
    range_stop = int(np.searchsorted(ranges["start"], end, "right"))
    columns = (grid.moments, first, last)
    over = (box.y0, box.y1, box.rows)
    reserved.gather(
        ranges["start"], ranges["end"], none, ranges["y"], ranges["size"], *columns, range_stop, *over
    )
    held.gather(
        device.start, device.end, device.end_64, _heights(device, layout), device.size, *columns, stop, *over
    )
    laid = _laid(reserved, held, box.columns)
    if laid is None:
        return None
    under, under_bands, upper, bands = laid
    rects = np.concatenate((_as_reserved(under, len(bands), len(under_bands)), upper))
    # the last band is that of all merged ranges
    return pack(device, grid, rects, bands, np.append(ranges["size"][under_bands], 0), lit)


def _laid(reserved: kernel.Layer, held: kernel.Layer, columns: int) -> tuple[npt.NDArray[Any], ...] | None:
    """Rects and bands of what is reserved and of the allocations, in runs as short as fit into an answer."""
    under = _fitting(reserved, columns, MOST_BYTES // 4)
    if under is None:
        return None
    over = _fitting(held, columns, MOST_BYTES - _RECT_BYTES * (len(under[0]) + len(under[1])))
    return None if over is None else (*under, *over)


def _fitting(
    layer: kernel.Layer, columns: int, most_bytes: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    runs_a_row = (most_bytes - layer.tall_bytes) // (_RECT_BYTES * max(layer.merged_rows, 1))
    if runs_a_row < 0:
        return None
    # as long as this, runs fit in any case; mostly far shorter ones do
    safe = -(-columns // (runs_a_row - 1)) if runs_a_row > 1 else columns
    shortest = [1] if layer.merged_items * 2 * _RECT_BYTES < most_bytes or safe < _LONG_RUN else []
    for columns_least in (*shortest, safe // 3 + 1, safe):
        laid = layer.lay(columns_least, most_bytes)
        if laid is not None:
            return np.asarray(laid[0]), np.asarray(laid[1])
    return None


def _as_reserved(rects: npt.NDArray[Any], behind: int, bands: int) -> npt.NDArray[Any]:
    """Rects of reserved ranges, their bands numbered behind the allocations' and one more for all merged ones."""
    found = rects.copy()
    merged = rects["band"] & _MERGED != 0
    found["band"] = np.where(merged, behind + bands, rects["band"] + np.uint32(behind))
    found["leader"] = NEVER
    return found
