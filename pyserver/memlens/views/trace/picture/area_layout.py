"""Live memory by group: areas that are exact in every column, and the allocations that are high enough to see."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U16, U32, Mask, rows_of
from memlens.kernels.trace import areas as kernel
from memlens.store.trace.device import Device
from memlens.views.trace.picture.areas import Areas
from memlens.views.trace.picture.boxes import Box, grid_of, lives_of
from memlens.views.trace.picture.packing import (
    BAND_BYTES,
    CHANGE_BYTES,
    MOST_BYTES,
    RECT_BYTES,
    AreaColumns,
    Grid,
    pack,
)

LEAST_ROWS = 4
"""Allocations of at least this many rows have separate bands."""
_GROWTH = 1.5
"""The least factor by which these bands, or else columns, are reduced until a picture fits into an answer."""
_LEAST_ROOM = 0.25
"""The share of an answer that is reserved for rects and bands."""
_BLOCK = 64
_NEVER_SEEN = np.iinfo(np.int64).max
_NO_HIGHLIGHTED = np.empty(0, np.uint8)
_BYTES, _COUNT, _HIGHLIGHTED = range(3)


def drawn(device: Device, areas: Areas, box: Box, highlighted: Mask | None) -> bytes:
    """The packed geometry of a device in a box, by group.

    Areas are always complete. If there is more than fits into an answer, fewer allocations have separate bands; only if
    areas alone are too much are there fewer columns.
    """
    asked = box
    while True:
        found = _Columns(device, areas, box, highlighted)
        laid = found.laid()
        if laid is not None:
            break
        box = box._replace(columns=max(int(box.columns / _GROWTH), 1))
    rects, bands, all_seen = laid
    coarser = box.columns < asked.columns or not all_seen
    header = (*box[1:5], box.quantum, coarser)
    return pack(device, found.grid, header, rects, bands, highlighted=highlighted, areas=found.areas)


def sums_over_time(device: Device, areas: Areas, box: Box) -> I64:
    """The bytes of each area of a device in each column of a box: int64[columns, areas]."""
    return area_columns(device, areas, grid_of(device, device, box)).bytes


def area_columns(device: Device, areas: Areas, grid: Grid) -> AreaColumns:
    """The bytes of each area of a device at the moments of a grid's columns."""
    sums = np.zeros((_COUNT + 1, len(grid.moments), max(len(areas.areas), 1)), np.int64)
    kernel.live_by_group(lives_of(device), areas.codes, _NO_HIGHLIGHTED, grid.shown(), sums, _NEVER_SEEN)
    return AreaColumns(sums[_BYTES], sums[_COUNT], areas.codes)


class _Columns:
    """The columns of a box: the sums of groups in each, and the allocations that are high enough to be visible."""

    def __init__(self, device: Device, areas: Areas, box: Box, highlighted: Mask | None) -> None:
        self.grid = grid_of(device, device, box)
        self._box = box
        layers = _COUNT + 1 if highlighted is None else _HIGHLIGHTED + 1
        self._sums = np.zeros((layers, box.columns, max(len(areas.areas), 1)), np.int64)
        least = int(np.ceil((box.y1 - box.y0) / box.rows * LEAST_ROWS))
        flags = _NO_HIGHLIGHTED if highlighted is None else highlighted.view(np.uint8)
        self._shown = self.grid.shown()
        seen = kernel.live_by_group(
            lives_of(device), areas.codes, flags, self._shown, self._sums, max(least, 1)
        )
        self._seen = _in_view(rows_of(seen), self._sums[_BYTES], box)
        self.areas = AreaColumns(self._sums[_BYTES], self._sums[_COUNT], areas.codes)

    def laid(self) -> tuple[npt.NDArray[Any], U32, bool] | None:
        """Rects and bands (rows of the device) of all visible allocations or of the largest; None if no rects fit."""
        room = MOST_BYTES - CHANGE_BYTES * len(self.areas.changes()[0])
        if room < MOST_BYTES * _LEAST_ROOM:
            return None
        box, seen = self._box, self._seen
        while True:
            # each has at least one rect
            seen = _largest(seen, room // (RECT_BYTES + BAND_BYTES))
            slots = _slots(seen, self._sums.shape[2], box.columns)
            laid = kernel.lay_out(self._sums, slots, self._shown, box.y0, box.y1, box.rows, room)
            if not isinstance(laid, float):
                bands = rows_of(laid[1])["allocation"]
                return rows_of(laid[0]), bands, len(seen) == len(self._seen)
            if not len(seen):
                return None
            seen = _largest(seen, int(len(seen) / max(laid, _GROWTH)))


def _largest(seen: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """At most ``most`` of the allocations, plus those of the same size as the last."""
    if len(seen) <= most:
        return seen
    least = np.partition(seen["size"], len(seen) - most - 1)[len(seen) - most - 1]
    larger: npt.NDArray[Any] = seen[seen["size"] > least]
    return larger


def _in_view(seen: npt.NDArray[Any], sums: I64, box: Box) -> npt.NDArray[Any]:
    """The allocations whose groups are inside the box in some column."""
    tops = np.cumsum(sums, axis=1)
    there = np.asarray(((tops > box.y0) & (tops - sums < box.y1)).any(axis=0))
    return seen if there.all() else seen[there[seen["group"]]]


def _slots(seen: npt.NDArray[Any], groups: int, columns: int) -> kernel.Slots:
    """Slots by group, the largest first in each, among equals the oldest."""
    seen = seen[np.lexsort((seen["row"], -seen["size"], seen["group"]))]
    counts = np.bincount(seen["group"], minlength=groups)
    blocks_of = np.concatenate(([0], np.cumsum(-(-counts // _BLOCK)))).astype(np.uint32)
    first = np.cumsum(counts) - counts
    within = np.arange(len(seen)) - first[seen["group"]]
    slot = (blocks_of[seen["group"]].astype(np.int64) * _BLOCK + within).astype(np.uint32)
    slots = int(blocks_of[-1]) * _BLOCK
    sizes, rows, highlighted = (
        np.zeros(slots, np.int64),
        np.zeros(slots, np.uint32),
        np.zeros(slots, np.uint8),
    )
    sizes[slot], rows[slot], highlighted[slot] = seen["size"], seen["row"], seen["highlighted"]
    ends = seen["x1"] < columns
    return kernel.Slots(
        blocks_of, sizes, rows, highlighted, *_by_column(slot, seen["x0"], columns),
        *_by_column(slot[ends], seen["x1"][ends], columns),
    )  # fmt: skip


def _by_column(slot: U32, column: U16, columns: int) -> tuple[U32, U32]:
    """Slots in the order of their columns, and the start of each column."""
    begins = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=columns))))
    return slot[np.argsort(column, kind="stable")], begins.astype(np.uint32)
