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
60     u32                   1 when it tells at its end what is lit up
64     f64[columns]          ``total``: live bytes at each column's moment
       u32[columns]          ``moment`` of each column
       u32[columns]          ``live``: how many allocations are alive at that moment
       u32[columns]          ``passed``: how many came and went within the column, not alive at its moment
       (to a multiple of 8)
       f64[bands]            ``size`` in bytes
       u32[bands]            ``allocation``; 2**32 - 1 for a band that is none
       u32[bands]            ``stack``
       u8[bands]             ``category``: number in the snapshot's ``categories``, 255 for none
       (to a multiple of 8)
       12 bytes x rects      u16 ``x0``, u16 ``x1`` (columns, end exclusive), u16 ``y0``, u16 ``y1``
                             (``y = y0 of the answer + value * y_quantum``), u32 ``band``
       u32[rects]            ``stack`` of each rect, see below
       u8[rects]             ``category`` likewise, 255 for none
       u8[bands]             1 for a band that is lit up; only where the header says so
       u8[rects]             of a merged rect, 1 where what is lit up leads it, 0 where the rest does, 2 where neither
                             does clearly; of others it tells nothing; only where the header says so
====== ===================== =========================================================================

A rect whose ``band`` has its highest bit set is a merged one; the low 31 bits say how many allocations it holds. Its
``stack`` is the one that leads it, 2**32 - 1 where none does.
"""

import base64
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.model.timeline import NEVER, NO_CATEGORY
from memlens.store.trace.device import Device
from memlens.views.selection.columns import Lit

MAGIC = 0x31474C4D
MOST_BYTES = 640_000
"""Rects and bands stay under it, so that the whole answer is under a megabyte as base64."""

RECT_BYTES = 17
"""Of a rect, and of a band; the kernels count with it, too."""

NEITHER = 2
NO_SIZES = np.empty(0, np.int64)
_RECT = np.dtype([("x0", "<u2"), ("x1", "<u2"), ("y0", "<u2"), ("y1", "<u2"), ("band", "<u4")])

Header = tuple[float, float, float, float, float, bool]
"""The bounds ``x0, x1, y0, y1``, the bytes per unit of a rect's y, and whether the picture is coarser than asked."""


@dataclass(frozen=True, slots=True)
class Grid:
    """What the columns of a picture stand for.

    ``low`` and ``high`` are each column's first and last moment, ``moments`` the one that it shows, and ``started`` has
    a row for each column: how many allocations of the device have started by ``low``, ``moments`` and ``high``. Columns
    outside of ``inside`` lie beyond the device's extent and are empty.
    """

    moments: npt.NDArray[np.uint32]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    started: npt.NDArray[np.int64]
    inside: slice

    @property
    def stops(self) -> npt.NDArray[np.uint32]:
        """For each column the first allocation that starts after the moment that it shows."""
        return self.started[:, 1].astype(np.uint32)


def pack(
    device: Device,
    grid: Grid,
    header: Header,
    rects: npt.NDArray[Any],
    bands: npt.NDArray[np.uint32],
    others: npt.NDArray[np.int64] = NO_SIZES,
    lit: Lit | None = None,
) -> bytes:
    """The buffer of a picture: its rects (with ``leader``, a row or NEVER), and its bands as rows of the device.

    After those come bands of no allocation, of the sizes in ``others``. ``lit`` has a flag for each row.
    """
    led = rects["leader"] != NEVER
    leaders = np.where(led, rects["leader"], 0)
    stack, category = device.stack, device.category
    if not len(stack):
        stack, category = np.zeros(1, np.uint32), np.zeros(1, np.uint8)
    corners = np.empty(len(rects), _RECT)
    for name in _RECT.names or ():
        corners[name] = rects[name]
    none = np.full(len(others), NEVER, np.uint32)
    *bounds, coarser = header
    return b"".join(
        (
            struct.pack(
                "<4I5d2I", MAGIC, len(grid.moments), len(bands) + len(others), len(rects), *bounds, coarser,
                lit is not None,
            ),
            *_figures(device, grid),
            np.concatenate((device.size[bands], others)).astype("<f8").tobytes(),
            np.concatenate((device.allocations(bands), none)).astype("<u4").tobytes(),
            np.concatenate((device.stack[bands], none)).astype("<u4").tobytes(),
            _padded(np.concatenate((device.category[bands], np.full(len(others), NO_CATEGORY, np.uint8)))),
            corners.tobytes(),
            np.where(led, stack[leaders], np.uint32(NEVER)).astype("<u4").tobytes(),
            np.where(led, category[leaders], np.uint8(NO_CATEGORY)).astype(np.uint8).tobytes(),
            *(() if lit is None else _lit(lit, bands, len(others), led, leaders)),
        )
    )  # fmt: skip


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


def _lit(
    lit: Lit,
    bands: npt.NDArray[np.uint32],
    others: int,
    led: npt.NDArray[np.bool_],
    leaders: npt.NDArray[Any],
) -> tuple[bytes, bytes]:
    known = lit if len(lit) else np.zeros(1, bool)
    return (
        np.concatenate((lit[bands], np.zeros(others, bool))).astype(np.uint8).tobytes(),
        np.where(led, known[leaders], np.uint8(NEITHER)).astype(np.uint8).tobytes(),
    )


def text_of(values: npt.NDArray[Any], kind: str) -> str:
    """A column as base64 of little-endian values of a kind (``<f8``, ``<u4``)."""
    return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode("ascii")


def _padded(column: npt.NDArray[np.generic]) -> bytes:
    """The column's bytes, filled up so that what follows lies on a multiple of eight."""
    data = column.tobytes()
    return data + bytes(-len(data) % 8)
