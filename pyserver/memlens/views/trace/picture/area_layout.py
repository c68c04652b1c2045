"""The picture of live memory by group: areas that are exact in every column, and what is high enough to be seen in them."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.kernels.trace import areas as kernel
from memlens.store.trace.device import Device
from memlens.views.selection.columns import Lit
from memlens.views.trace.picture.areas import Areas
from memlens.views.trace.picture.boxes import Box, grid_of
from memlens.views.trace.picture.packing import MOST_BYTES, AreaColumns, Grid, pack

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]

LEAST_ROWS = 4
"""Allocations that are so many rows high have bands of their own."""
_GROWTH = 1.5
"""By so much at least that gets more, and columns get fewer, until a picture fits into an answer."""
_BLOCK = 64
_NO_LIT = np.empty(0, np.uint8)
_BYTES, _COUNT, _LIT = range(3)


def drawn(device: Device, areas: Areas, box: Box, lit: Lit | None) -> bytes:
    """The packed geometry of a device in a box, by group.

    All of it is always there. Where there is more than fits into an answer, fewer allocations have bands of their own;
    only where areas alone are too much there are fewer columns.
    """
    asked, least_rows = box, float(LEAST_ROWS)
    grid = grid_of(device, device, box)
    while True:
        laid = _laid(device, areas, box, grid, lit, least_rows)
        if not isinstance(laid, float):
            break
        if least_rows <= box.rows:
            least_rows *= max(laid, _GROWTH)
        else:
            box = box._replace(columns=max(int(box.columns / max(laid, _GROWTH)), 1))
            least_rows = float(LEAST_ROWS)
            grid = grid_of(device, device, box)
    coarser = box.columns < asked.columns or least_rows > LEAST_ROWS
    sums, rects, bands = laid
    return pack(
        device, grid, (*box[1:5], box.quantum, coarser), rects, bands, lit=lit,
        areas=AreaColumns(sums[_BYTES], sums[_COUNT], areas.codes),
    )  # fmt: skip


def _laid(
    device: Device, areas: Areas, box: Box, grid: Grid, lit: Lit | None, least_rows: float
) -> tuple[I64, npt.NDArray[Any], U32] | float:
    """Sums, rects and bands (rows of the device); about how many times too much they are where they don't fit."""
    inside, groups = (grid.inside.start, grid.inside.stop), len(areas.areas)
    sums = np.zeros((_COUNT + 1 if lit is None else _LIT + 1, box.columns, max(groups, 1)), np.int64)
    flags = _NO_LIT if lit is None else lit.view(np.uint8)
    least = int(np.ceil((box.y1 - box.y0) / box.rows * least_rows))
    seen = np.asarray(
        kernel.alive_by_group(
            device.size, device.end, device.end_64, device.end_4096, areas.codes, flags, grid.moments, grid.stops,
            *inside, sums, max(least, 1),
        )
    )  # fmt: skip
    slots = _slots(_in_view(seen, sums[_BYTES], box), sums.shape[2], box.columns)
    laid = kernel.lay_out(sums, *slots, *inside, box.y0, box.y1, box.rows, MOST_BYTES)
    if isinstance(laid, float):
        return laid
    return sums, np.asarray(laid[0]), np.asarray(laid[1])["allocation"]


def _in_view(seen: npt.NDArray[Any], sums: I64, box: Box) -> npt.NDArray[Any]:
    """Without those whose groups lie beside the box in all columns."""
    tops = np.cumsum(sums, axis=1)
    there = ((tops > box.y0) & (tops - sums < box.y1)).any(axis=0)
    return seen if there.all() else seen[there[seen["group"]]]


class _Slots(NamedTuple):
    """What :func:`memlens.kernels.trace.areas.lay_out` is told of the allocations that are seen."""

    blocks_of: U32
    sizes: I64
    rows: U32
    lit: npt.NDArray[np.uint8]
    entering: U32
    entering_from: U32
    leaving: U32
    leaving_from: U32


def _slots(seen: npt.NDArray[Any], groups: int, columns: int) -> _Slots:
    """Slots by group, of each the largest first, of equal ones the oldest."""
    seen = seen[np.lexsort((seen["row"], -seen["size"], seen["group"]))]
    counts = np.bincount(seen["group"], minlength=groups)
    blocks_of = np.concatenate(([0], np.cumsum(-(-counts // _BLOCK)))).astype(np.uint32)
    first = np.cumsum(counts) - counts
    within = np.arange(len(seen)) - first[seen["group"]]
    slot = (blocks_of[seen["group"]].astype(np.int64) * _BLOCK + within).astype(np.uint32)
    slots = int(blocks_of[-1]) * _BLOCK
    sizes, rows, lit = np.zeros(slots, np.int64), np.zeros(slots, np.uint32), np.zeros(slots, np.uint8)
    sizes[slot], rows[slot], lit[slot] = seen["size"], seen["row"], seen["lit"]
    ends = seen["x1"] < columns
    return _Slots(
        blocks_of, sizes, rows, lit, *_by_column(slot, seen["x0"], columns),
        *_by_column(slot[ends], seen["x1"][ends], columns),
    )  # fmt: skip


def _by_column(slot: U32, column: npt.NDArray[np.uint16], columns: int) -> tuple[U32, U32]:
    """Slots in the order of their columns, and where those of each column begin."""
    begins = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=columns))))
    return slot[np.argsort(column, kind="stable")], begins.astype(np.uint32)
