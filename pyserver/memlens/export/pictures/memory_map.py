"""The memory map: addresses over time, a lane for each segment, coloured by group as the view draws it."""

import struct
from typing import TYPE_CHECKING

import numpy as np

from memlens.export.pictures.colours import RESERVED_FREE, Colour, of_area
from memlens.export.pictures.plot import LEGEND, Plot, area_legend, axes
from memlens.export.pictures.svg import Svg, fitting
from memlens.model.timeline import NEVER
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import format_bytes
from memlens.views.answers import Axis
from memlens.views.selection.columns import device_of
from memlens.views.trace.picture.areas import GroupedBy, areas_of
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.map_lanes import map_lanes
from memlens.views.trace.picture.memory_map import memory_map as packed_map
from memlens.views.trace.picture.packing import RECT
from memlens.views.trace.picture.viewport import FIRST_AREAS

if TYPE_CHECKING:
    from memlens.arrays import Mask

WIDTH, HEIGHT = 1160, 640
_LEFT, _TOP, _BOTTOM = 78, 40, 24
_MERGED = np.uint32(1 << 31)


def memory_map(
    snapshot: Snapshot,
    device: int,
    axis: Axis,
    across: tuple[float, float],
    filter_text: str = "",
    by: GroupedBy = FIRST_AREAS,
) -> Svg:
    """Draw all addresses of a part of the run. Raises :class:`memlens.errors.BadRequestError`."""
    categories = timeline_of(snapshot.info, "events", phrase("the memory map")).categories
    info = device_of(snapshot, device, filter_text).info
    lanes = map_lanes(snapshot, device)
    plot = Plot(_LEFT, _TOP, WIDTH - _LEFT - LEGEND, HEIGHT - _TOP - _BOTTOM)
    top = max(lanes.top, 1.0)
    box = Box(axis, *across, 0.0, top, int(plot.width), int(plot.height))
    narrowed = f", of what matches {filter_text}" if filter_text else ""
    title = f"Memory map: {info.name}, {format_bytes(int(top))} of addresses{narrowed}"
    svg = Svg(WIDTH, HEIGHT, title)
    svg.text(_LEFT, 22, fitting(title, WIDTH - _LEFT), "ink")
    axes(svg, plot, across, (0.0, top), axis)
    areas = areas_of(snapshot, device, filter_text, by)
    colours = [of_area(area, by.by, categories) for area in areas.areas]
    packed = packed_map(snapshot, device, box, filter_text, areas=areas)
    for colour, data in _paths(packed, plot, top, colours).items():
        svg.path("".join(data), colour)
    area_legend(svg, plot, areas.areas, colours, ("Reserved, free", RESERVED_FREE))
    return svg


def _paths(packed: bytes, plot: Plot, top: float, colours: list[Colour]) -> dict[Colour, list[str]]:
    """Rectangles by colour; reserved memory comes first, because allocations are drawn over it."""
    _magic, columns, bands, rects = struct.unpack_from("<4I", packed)
    _x0, _x1, y0, _y1, quantum = struct.unpack_from("<5d", packed, 16)

    def aligned(at: int) -> int:
        return -(-at // 8) * 8

    at = aligned(64 + 8 * columns + 12 * columns) + 8 * bands
    allocation = np.frombuffer(packed, "<u4", bands, at)
    at = aligned(at + 9 * bands)
    rows = np.frombuffer(packed, RECT, rects, at)
    group = np.frombuffer(packed, "u1", bands, at + (RECT.itemsize + 5) * rects)
    merged = rows["band"] & _MERGED != 0
    band = np.where(merged, 0, rows["band"]).astype(np.int64)
    free = ~merged & (allocation[band] == NEVER) if bands else merged
    of = np.where(merged, (rows["band"] & ~_MERGED).astype(np.int64) - 1, group[band] if bands else 0)
    x = np.round(plot.x + rows["x0"] * (plot.width / columns), 1)
    width = np.round((rows["x1"].astype(float) - rows["x0"]) * (plot.width / columns), 1)
    high = (y0 + rows["y1"] * quantum) / top
    low = (y0 + rows["y0"] * quantum) / top
    y = np.round(plot.y + plot.height * (1 - high), 1)
    height = np.round(plot.height * (high - low), 1)
    found: dict[Colour, list[str]] = {RESERVED_FREE: []}
    drawn: Mask = (width > 0) & (height > 0)
    for i in np.flatnonzero(drawn).tolist():
        colour = RESERVED_FREE if free[i] else colours[int(of[i])]
        found.setdefault(colour, []).append(f"M{x[i]:g} {y[i]:g}h{width[i]:g}v{height[i]:g}h{-width[i]:g}z")
    return {colour: data for colour, data in found.items() if data}
