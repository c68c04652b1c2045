"""The stacked picture of live memory over time, as packed geometry for one viewport.

Every allocation is a band from its start to its end; at any moment the bands of the live allocations are stacked, with
the oldest at the bottom (the order of recorders' own viewers). A column of the answer shows the state at a recorded
moment: the one with the most live bytes among the moments in the column, so that no peak is lost at any zoom. Bands
thinner than a row are merged with their thin neighbours into one band with their number; ``total`` and ``live`` of a
column are exact, and ``passed`` counts what was allocated and freed within the column without being live at its moment.

The buffer is that of :mod:`memlens.views.trace.picture.packing`.

A rect whose ``band`` has its highest bit set is a merged one; the low 31 bits are its number of allocations. Its
``stack`` is the one with most of its bytes if one leads clearly (always if it has 60%), else 2**32 - 1. Rects of one
column never overlap and leave no gap: their edges are rounded on the running sum.

By group (``areas``) allocations are in the areas of their groups instead, see
:mod:`memlens.views.trace.picture.area_layout`.
"""

import contextlib
import functools
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from memlens.arrays import Mask, rows_of
from memlens.kernels.trace import stacked
from memlens.model.info import DeviceInfo, SnapshotInfo
from memlens.progress import Report
from memlens.store.artefacts import Artefact, content
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import Area, Axis
from memlens.views.selection.columns import axis_range, device_of
from memlens.views.trace.picture import area_layout
from memlens.views.trace.picture.areas import GroupedBy, areas_of
from memlens.views.trace.picture.boxes import Box, Coarsening, Drawing, draw, lives_of
from memlens.views.trace.picture.packing import MOST_BYTES, RECT_BYTES, Grid

FIT_COLUMNS, FIT_ROWS = 2048, 1024
FIT_HEADROOM = 1.05
"""The picture of a whole device that is made ahead, from 0 to a little over the peak."""
FIT_VERSION = 4
"""Raised whenever that picture or its packing would change."""
FIRST_AREAS = GroupedBy("line")
"""Its grouping."""

_COARSENING = Coarsening("columns", 0.7)


class Picture(Struct, frozen=True):
    """The packed geometry of a box, and its areas from the bottom up; none if it isn't by group."""

    geometry: bytes
    areas: list[Area]


def viewport(
    snapshot: Snapshot,
    device: int,
    box: Box,
    filter_text: str = "",
    highlighted: Mask | None = None,
    areas: GroupedBy | None = None,
) -> Picture:
    """A device's memory in a box, in the order of time or by group.

    ``highlighted`` flags the highlighted rows of the filtered device. Raises BadRequestError for a box
    that can't be drawn.
    """
    box.checked()
    own = device_of(snapshot, device, filter_text)
    if areas is None:
        return Picture(_drawn(own, box, highlighted), [])
    if highlighted is None and own.whole is own and areas == FIRST_AREAS and _is_about_fit(own, box):
        ready = picture_of(own.info).find(snapshot.origin)
        if ready is not None:
            with contextlib.suppress(OSError, ValueError, msgspec.DecodeError):
                return _read_whole(content(ready))
    return _by_group(snapshot, own, box, filter_text, highlighted, areas)


def _by_group(
    snapshot: Snapshot, own: Device, box: Box, filter_text: str, highlighted: Mask | None, areas: GroupedBy
) -> Picture:
    found = areas_of(snapshot, own.info.device, filter_text, areas)
    return Picture(area_layout.drawn(own, found, box, highlighted), found.areas)


def _is_about_fit(device: Device, box: Box) -> bool:
    """Whether a box shows the whole device, about as fine as the picture that is made ahead."""
    extent, peak = axis_range(device, box.axis), device.info.peak_bytes
    if box.axis != _first_axis(device.info) or box.x0 > extent.x0 or box.x1 < extent.x1:
        return False
    if box.y0 > 0 or box.y1 < peak:
        return False
    columns = box.columns * (extent.x1 - extent.x0) / (box.x1 - box.x0)
    rows = box.rows * peak * FIT_HEADROOM / (box.y1 - box.y0)
    return FIT_COLUMNS / 4 <= columns <= FIT_COLUMNS * 1.25 and FIT_ROWS / 4 <= rows <= FIT_ROWS * 1.25


def pictures_of(info: SnapshotInfo) -> list[Artefact]:
    """Each device's whole picture on its first axis, made ahead so that opening a larger snapshot takes no longer."""
    return [picture_of(device) for device in devices_of(info) if device.peak_bytes > 0]


def picture_of(device: DeviceInfo) -> Artefact:
    """The whole picture of one device."""
    name = f"{device.device}.fit_{_first_axis(device)}"
    make = functools.partial(_write_whole, device)
    # the kinds of frames decide what an allocation is charged to
    return Artefact(name, FIT_VERSION, make)


def _write_whole(info: DeviceInfo, snapshot: Snapshot, path: Path, _report: Report) -> None:
    extent = info.time_axis or info.event_axis
    top = info.peak_bytes * FIT_HEADROOM
    box = Box(_first_axis(info), extent.x0, extent.x1, 0.0, top, FIT_COLUMNS, FIT_ROWS)
    whole = _by_group(snapshot, snapshot.device(info.device), box, "", None, FIRST_AREAS)
    # imported here, because most pictures are only read
    import zstandard

    # a line of JSON, then the geometry
    path.write_bytes(zstandard.compress(msgspec.json.encode(whole.areas) + b"\n" + whole.geometry))


def _read_whole(data: bytes) -> Picture:
    """Raises ValueError and DecodeError for something else."""
    # imported here, because small traces have no such picture
    import zstandard

    try:
        areas, _, geometry = zstandard.decompress(data).partition(b"\n")
    except zstandard.ZstdError as error:
        raise ValueError("it is not compressed") from error
    return Picture(geometry, msgspec.json.decode(areas, type=list[Area]))


def _first_axis(info: DeviceInfo) -> Axis:
    return "time" if info.time_axis else "event"


def _drawn(device: Device, box: Box, highlighted: Mask | None = None) -> bytes:
    # what may dominate a merged rect: a stack, or what is highlighted (or not)
    camps = device.stack if highlighted is None else highlighted.astype(np.uint32)
    sweep = stacked.Sweep(lives_of(device), camps)

    def drawing(box: Box, grid: Grid) -> Drawing | float:
        laid = sweep.run(grid.shown(), box.y0, box.y1, box.rows, MOST_BYTES)
        if isinstance(laid, float):
            return laid
        rects, bands = rows_of(laid[0]), rows_of(laid[1])["allocation"]
        return Drawing(RECT_BYTES * (len(rects) + len(bands)) / MOST_BYTES, rects, bands)

    return draw(device, device, box, highlighted, _COARSENING, drawing)
