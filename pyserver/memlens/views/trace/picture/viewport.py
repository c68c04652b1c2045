"""The stacked picture of live memory over time, as packed geometry for one viewport.

The picture: every allocation is a band from its start to its end; at any moment the bands of the live allocations
stand on each other, oldest at the bottom (the order of PyTorch's own viewer). A column of the answer shows the
stack at a real moment: the one with the most live bytes among the moments that fall into the column, so that no
peak is lost at any zoom. What is thinner than a row is merged with its thin neighbours into one band that says how
many it holds; ``total`` and ``live`` of a column are exact, and ``passed`` counts what came and went within the
column without being alive at its moment.

The buffer is that of :mod:`memlens.views.trace.picture.packing`.

A rect whose ``band`` has its highest bit set is a merged one; the low 31 bits say how many allocations it holds. Its
``stack`` is the one that holds most of its bytes where one leads clearly (always, where it holds 60%), else 2**32 - 1.
Rects of one column never overlap and leave no hole: their edges are rounded on the running sum.
"""

import contextlib
import functools
from pathlib import Path

import numpy as np

from memlens.kernels.trace import stacked
from memlens.model.info import DeviceInfo, SnapshotInfo
from memlens.progress import Report
from memlens.store.artefacts import Artefact, content
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import Axis
from memlens.views.selection.columns import Lit, axis_range, device_of
from memlens.views.trace.picture.boxes import Box, grid_of
from memlens.views.trace.picture.packing import MOST_BYTES, pack

FIT_COLUMNS, FIT_ROWS = 2048, 1024
FIT_HEADROOM = 1.05
"""The picture of a whole device that is made ahead, from nothing to a little over the peak."""
FIT_VERSION = 1
"""Raised whenever that picture would be another, or packed otherwise."""


def viewport(
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
    """The packed geometry for ``columns`` x ``rows`` pixels over ``[x0, x1] x [y0, y1]`` (axis units, bytes).

    ``lit`` flags the rows of the device, as the filter leaves them, that are to be told as lit up.
    Raises BadRequestError for a box or a resolution that can't be drawn.
    """
    box = Box(axis, x0, x1, y0, y1, columns, rows).checked()
    found = device_of(snapshot, device, filter_text)
    extent = axis_range(found, axis)
    top = found.info.peak_bytes * FIT_HEADROOM
    whole = lit is None and found.whole is found and x0 <= extent.x0 and x1 >= extent.x1
    if whole and y0 <= 0 and y1 >= found.info.peak_bytes:
        # the whole device is asked for: the picture made ahead will do where it is about as fine
        fit_columns = columns * (extent.x1 - extent.x0) / (x1 - x0)
        fit_rows = rows * top / (y1 - y0)
        if (
            FIT_COLUMNS / 4 <= fit_columns <= FIT_COLUMNS * 1.25
            and FIT_ROWS / 4 <= fit_rows <= FIT_ROWS * 1.25
        ):
            ready = picture_of(found.info).find(snapshot.origin) if axis == _first_axis(found.info) else None
            if ready is not None:
                with contextlib.suppress(OSError):
                    return content(ready)
    return _fine_as_fits(found, box, lit)


def pictures_of(info: SnapshotInfo) -> list[Artefact]:
    """Each device's whole picture on its first axis, made ahead so that opening costs no more for more."""
    return [picture_of(device) for device in devices_of(info) if device.peak_bytes > 0]


def picture_of(device: DeviceInfo) -> Artefact:
    """The whole picture of one device."""
    name = f"{device.device}.fit_{_first_axis(device)}"
    make = functools.partial(_write_whole, device)
    return Artefact(name, FIT_VERSION, make, by_kinds=False, at_ingest=True)


def _write_whole(info: DeviceInfo, snapshot: Snapshot, path: Path, _report: Report) -> None:
    extent = info.time_axis or info.event_axis
    top = info.peak_bytes * FIT_HEADROOM
    box = Box(_first_axis(info), extent.x0, extent.x1, 0.0, top, FIT_COLUMNS, FIT_ROWS)
    path.write_bytes(_fine_as_fits(snapshot.device(info.device), box))


def _first_axis(info: DeviceInfo) -> Axis:
    return "time" if info.time_axis else "event"


def _fine_as_fits(device: Device, box: Box, lit: Lit | None = None) -> bytes:
    """The geometry as fine as asked, or as fine as the wire takes: fewer columns first, then thicker rows."""
    coarser = 0
    while (packed := _packed(device, box, coarser, lit)) is None:
        if coarser % 2 == 0:
            box = box._replace(columns=max(box.columns * 7 // 10, 1))
        else:
            box = box._replace(rows=max(box.rows * 7 // 10, 1))
        coarser += 1
    return packed


def _packed(device: Device, box: Box, coarser: int, lit: Lit | None) -> bytes | None:
    grid = grid_of(device, box, coarser=coarser > 0)
    # in the column's own type, or NumPy would convert the whole column
    stops = np.searchsorted(device.start, grid.moments, "right").astype(np.uint32)
    # what leads a merged rect: a stack, or what is lit up (or is not)
    camps = device.stack if lit is None else lit.astype(np.uint32)
    sweep = stacked.Sweep(device.size, device.end, device.end_64, device.end_4096, camps)
    inside = grid.inside
    laid = sweep.run(grid.moments, stops, inside.start, inside.stop, box.y0, box.y1, box.rows, MOST_BYTES)
    if laid is None:
        return None
    rects, bands = np.asarray(laid[0]), np.asarray(laid[1])
    return pack(device, grid, rects, bands["allocation"], lit=lit)
