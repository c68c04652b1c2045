"""The packed buffer of a picture over time, which the stacked picture and the memory map share.

Little-endian:

====== ===================== =========================================================================
offset type                  meaning
====== ===================== =========================================================================
0      u32                   ``0x31474C4D`` ("MLG1")
4      u32                   ``columns``
8      u32                   ``bands``
12     u32                   ``rects``
16     f64 x 4               ``x0, x1, y0, y1``: the bounds that the answer covers: those asked, or where
                             those hold the whole device, the device with a little over its peak
48     f64                   ``y_quantum``: bytes per unit of a rect's y
56     u32                   1 when the picture had to be coarser than asked, to stay small
60     u32                   the optional parts at its end: 1 highlights, 2 groups, 3 both
64     f64[columns]          ``total``: live bytes at each column's moment
       u32[columns]          ``moment`` of each column
       u32[columns]          ``live``: how many allocations are alive at that moment
       u32[columns]          ``passed``: how many came and went within the column, not alive at its moment
       (to a multiple of 8)
       f64[bands]            ``size`` in bytes
       u32[bands]            ``allocation``; 2**32 - 1 for a band of reserved memory
       u32[bands]            ``stack``
       u8[bands]             ``category``: number in the snapshot's ``categories``, 255 for none
       (to a multiple of 8)
       12 bytes x rects      u16 ``x0``, u16 ``x1`` (columns, end exclusive), u16 ``y0``, u16 ``y1``
                             (``y = y0 of the answer + value * y_quantum``), u32 ``band``
       u32[rects]            ``stack`` of each rect, see below
       u8[rects]             ``category`` likewise, 255 for none
       u8[bands]             1 for a highlighted band; only where the header says so
       u8[rects]             of a merged rect, 1 where highlighted allocations dominate it, 0 where others do, 2 where
                             neither does; undefined for other rects; only where the header says so
       u8[bands]             ``group`` of a band, 0 for reserved memory; this and what follows only where the header
                             says so
       (to a multiple of 8)
       u32                   ``groups``
       u32                   ``changes``
       f64[changes]          bytes of a group from a column on, until its next change; 0 before its first
       u32[changes]          how many allocations that are
       u16[changes]          the column: changes come in their order, of one column by group
       u16[changes]          the group
====== ===================== =========================================================================

A rect whose ``band`` has its highest bit set is a merged one; the low 31 bits are its number of allocations. Its
``stack`` is the dominant one, 2**32 - 1 if there is none.

In a picture by group ``stack`` is the number of its group + 1: a merged rect is everything of a group, or of its
highlighted part, that is too thin to be visible. Groups are stacked in the order of their numbers, and their sum in a
column is its ``total``. Highlighted allocations that are too thin to be visible have a merged rect of two rows' height,
which follows the others and is drawn over them. In the memory map, which has gaps, rects are at their addresses, and a
merged rect has the group of its dominant stack.
"""

import base64
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U8, U32, Mask
from memlens.kernels.trace.areas import GROUP_MASK, HIGHLIGHTED_BIT
from memlens.kernels.trace.picture import Moments
from memlens.model.timeline import NEVER, NO_CATEGORY
from memlens.store.trace.device import Device

MAGIC = 0x31474C4D
MOST_BYTES = 640_000
"""The most bytes of rects and bands, with which the whole answer is less than a megabyte as base64."""

RECT_BYTES = BAND_BYTES = 17
"""The bytes of a rect and of a band; the kernels use them, too."""

CHANGE_BYTES = 16
"""The bytes of a change of a group's sum."""

NEITHER = 2
_TELLS_HIGHLIGHTED, _TELLS_GROUPS = 1, 2
_MERGED = np.uint32(1 << 31)
NO_SIZES = np.empty(0, np.int64)
RECT = np.dtype([("x0", "<u2"), ("x1", "<u2"), ("y0", "<u2"), ("y1", "<u2"), ("band", "<u4")])

Header = tuple[float, float, float, float, float, bool]
"""The bounds ``x0, x1, y0, y1``, the bytes per unit of a rect's y, and whether it is coarser than requested."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The columns of a picture.

    ``low`` and ``high`` are each column's first and last moment, ``moments`` the one that it shows, and ``started`` has
    a row for each column: how many allocations of the device have started by ``low``, ``moments`` and ``high``. Columns
    outside of ``inside`` are beyond the device's extent and empty.
    """

    moments: U32
    low: I64
    high: I64
    started: I64
    inside: slice

    def shown(self, stops: U32 | None = None) -> Moments:
        """The moments of the columns, and how many allocations have started by each: the device's, or ``stops``."""
        if stops is None:
            stops = self.started[:, 1].astype(np.uint32)
        return Moments(self.moments, stops, self.inside.start, self.inside.stop)


@dataclass(frozen=True, slots=True, eq=False)
class AreaColumns:
    """The sums of a picture's groups, int64[columns, groups], and the group of each row of the device."""

    bytes: I64
    counts: I64
    codes: U8

    def changes(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The columns and groups in which a group's sum differs from that in the previous column."""
        changed = np.zeros(self.bytes.shape, bool)
        for each in (self.bytes, self.counts):
            changed[:1] |= each[:1] != 0
            changed[1:] |= each[1:] != each[:-1]
        columns, groups = np.nonzero(changed)
        return columns, groups


def pack(
    device: Device,
    grid: Grid,
    header: Header,
    rects: npt.NDArray[Any],
    bands: U32,
    others: I64 = NO_SIZES,
    highlighted: Mask | None = None,
    areas: AreaColumns | None = None,
) -> bytes:
    """The buffer of a picture: its rects (with ``leader``, a row or NEVER), and its bands as rows of the device.

    Then follow bands without an allocation, with the sizes in ``others``. ``highlighted`` has a flag for each row.
    """
    led = rects["leader"] != NEVER
    leaders = np.where(led, rects["leader"], 0)
    stack, category = device.stack, device.category
    if not len(stack):
        stack, category = np.zeros(1, np.uint32), np.zeros(1, np.uint8)
    corners = np.empty(len(rects), RECT)
    for name in RECT.names or ():
        corners[name] = rects[name]
    if areas is not None:
        merged = rects["band"] & _MERGED != 0
        corners["band"] = np.where(merged, rects["band"] & (_MERGED | GROUP_MASK), rects["band"])
    none = np.full(len(others), NEVER, np.uint32)
    *bounds, coarser = header
    merged_rects = rects if areas else None
    flags = (
        ()
        if highlighted is None
        else _highlighted(highlighted, bands, len(others), led, leaders, merged_rects)
    )
    data = b"".join(
        (
            struct.pack(
                "<4I5d2I", MAGIC, len(grid.moments), len(bands) + len(others), len(rects), *bounds, coarser,
                _TELLS_HIGHLIGHTED * (highlighted is not None) + _TELLS_GROUPS * (areas is not None),
            ),
            *_figures(device, grid),
            np.concatenate((device.size[bands], others)).astype("<f8").tobytes(),
            np.concatenate((device.allocations(bands), none)).astype("<u4").tobytes(),
            np.concatenate((device.stack[bands], none)).astype("<u4").tobytes(),
            _padded(np.concatenate((device.category[bands], np.full(len(others), NO_CATEGORY, np.uint8)))),
            corners.tobytes(),
            np.where(led, stack[leaders], np.uint32(NEVER)).astype("<u4").tobytes(),
            np.where(led, category[leaders], np.uint8(NO_CATEGORY)).astype(np.uint8).tobytes(),
            *flags,
        )
    )  # fmt: skip
    return data if areas is None else data + _areas(areas, bands, len(others), len(data))


def _figures(device: Device, grid: Grid) -> tuple[bytes, ...]:
    """The columns' figures."""
    inside = np.zeros(len(grid.moments), bool)
    inside[grid.inside] = True
    live = np.where(inside, device.live_count[grid.moments], 0)
    lived = device.live_count[grid.low] + grid.started[:, 2] - grid.started[:, 0]
    return (
        np.where(inside, device.live[grid.moments], 0).astype("<f8").tobytes(),
        grid.moments.astype("<u4").tobytes(),
        live.astype("<u4").tobytes(),
        _padded(np.where(inside, lived - live, 0).astype("<u4")),
    )


def _highlighted(
    highlighted: Mask,
    bands: U32,
    others: int,
    led: Mask,
    leaders: npt.NDArray[Any],
    of_groups: npt.NDArray[Any] | None,
) -> tuple[bytes, bytes]:
    known = highlighted if len(highlighted) else np.zeros(1, bool)
    merged: Any = np.uint8(NEITHER) if of_groups is None else of_groups["band"] & HIGHLIGHTED_BIT != 0
    return (
        np.concatenate((highlighted[bands], np.zeros(others, bool))).astype(np.uint8).tobytes(),
        np.where(led, known[leaders], merged).astype(np.uint8).tobytes(),
    )


def _areas(areas: AreaColumns, bands: U32, others: int, start: int) -> bytes:
    """The bands' groups and the totals of each group, for the offset ``start`` in the buffer."""
    of_bands = areas.codes[bands].tobytes() + bytes(others)
    columns, groups = areas.changes()
    return b"".join(
        (
            of_bands,
            bytes(-(start + len(of_bands)) % 8),
            struct.pack("<2I", areas.bytes.shape[1], len(columns)),
            areas.bytes[columns, groups].astype("<f8").tobytes(),
            areas.counts[columns, groups].astype("<u4").tobytes(),
            columns.astype("<u2").tobytes(),
            groups.astype("<u2").tobytes(),
        )
    )


def text_of(values: npt.NDArray[Any], kind: str) -> str:
    """A column as base64 of little-endian values of a kind (``<f8``, ``<u4``)."""
    return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode("ascii")


def _padded(column: npt.NDArray[np.generic]) -> bytes:
    """The column's bytes, padded to a multiple of eight."""
    data = column.tobytes()
    return data + bytes(-len(data) % 8)
