"""A device's memory over time as stacked areas by group, with a legend: the timeline of the view."""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64
from memlens.errors import BadRequestError
from memlens.export.pictures.colours import Colour, of_area
from memlens.export.pictures.plot import LEGEND, LEGEND_ROW, Plot, area_legend, axes, runs
from memlens.export.pictures.svg import Svg, fitting
from memlens.model.info import DeviceInfo
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import counted, format_bytes, format_time
from memlens.views.answers import Area, Axis
from memlens.views.selection.columns import axis_range, device_of
from memlens.views.trace.picture.area_layout import sums_over_time
from memlens.views.trace.picture.areas import OTHER, GroupedBy, areas_of
from memlens.views.trace.picture.boxes import Box

WIDTH, HEIGHT = 1160, 420
_LEFT, _TOP, _BOTTOM = 78, 40, 24
_PX_OF_COLUMN = 1.5
_HEADROOM = 1.04


class Part(NamedTuple):
    """The part of a timeline that is shown; None means all of it, and a height that fits."""

    device: int
    axis: Axis | None = None
    x0: float | None = None
    x1: float | None = None
    y0: float | None = None
    y1: float | None = None
    filter: str = ""
    by: GroupedBy = GroupedBy("line")


def timeline(snapshot: Snapshot, part: Part) -> Svg:
    """Draw a part of a trace's timeline. Raises :class:`memlens.errors.BadRequestError`."""
    info = timeline_of(snapshot.info, "events", phrase("a picture over time"))
    device = device_of(snapshot, part.device, part.filter)
    if device.info.events == 0:
        raise BadRequestError(phrase("Nothing happened on the device, so there is no picture over time"))
    axis: Axis = part.axis or ("time" if device.info.time_axis else "event")
    extent = axis_range(device, axis)
    x0 = extent.x0 if part.x0 is None else part.x0
    x1 = max(extent.x1, extent.x0 + 1) if part.x1 is None else part.x1
    areas = areas_of(snapshot, part.device, part.filter, part.by)
    legend_rows = len(areas.areas) + 1
    height = max(HEIGHT, _TOP + legend_rows * LEGEND_ROW + _BOTTOM)
    plot = Plot(_LEFT, _TOP, WIDTH - _LEFT - LEGEND, height - _TOP - _BOTTOM)
    columns = int(plot.width / _PX_OF_COLUMN)
    box = Box(axis, x0, x1, 0.0, float(device.info.peak_bytes or 1), columns, 1).checked()
    sums = sums_over_time(device, areas, box)
    y0 = part.y0 or 0.0
    y1 = part.y1 if part.y1 is not None else max(int(sums.sum(axis=1).max(initial=0)), 1) * _HEADROOM
    if not y0 < y1:
        raise BadRequestError(phrase("The picture has no height"))
    title = _title(device.info, part, axis)
    svg = Svg(WIDTH, height, title)
    svg.text(_LEFT, 22, fitting(title, WIDTH - _LEFT), "ink")
    axes(svg, plot, (x0, x1), (y0, y1), axis)
    colours = [of_area(area, part.by.by, info.categories) for area in areas.areas]
    _draw(svg, plot, sums, (y0, y1), areas.areas, colours)
    peak = device.info.peak_time_us if axis == "time" else float(device.info.peak_moment)
    if peak is not None and x0 <= peak <= x1:
        at = plot.x + (peak - x0) / (x1 - x0) * plot.width
        svg.line(at, plot.y, at, plot.y + plot.height, "mark")
        near = at > plot.x + plot.width - 120
        text = f"peak {format_bytes(device.info.peak_bytes)}"
        svg.text(at - 4 if near else at + 4, plot.y + 11, text, "ink", "end" if near else "start")
    area_legend(svg, plot, areas.areas, colours)
    return svg


def _title(device: DeviceInfo, part: Part, axis: Axis) -> str:
    where = f"{device.name}, by {part.by.by}"
    narrowed = f", of what matches {part.filter}" if part.filter else ""
    when = ""
    if part.x0 is not None and part.x1 is not None:
        ends = (
            [format_time(part.x0), format_time(part.x1)]
            if axis == "time"
            else [f"event {part.x0:,.0f}", f"{part.x1:,.0f}"]
        )
        when = f", {ends[0]} to {ends[1]}"
    return f"Live memory over time: {where}{narrowed}{when}"


def _draw(
    svg: Svg,
    plot: Plot,
    sums: I64,
    up: tuple[float, float],
    areas: list[Area],
    colours: list[Colour],
) -> None:
    """Every area as one path, exact in every column."""
    tops = np.cumsum(sums[:, : len(areas)], axis=1).astype(np.float64)
    edges = np.concatenate((np.zeros((len(sums), 1)), tops), axis=1)
    share = np.clip((edges - up[0]) / (up[1] - up[0]), 0, 1)
    rows = np.round(plot.y + plot.height * (1 - share), 1)
    left = np.round(plot.x + np.arange(len(sums) + 1) * plot.width / len(sums), 1)
    for number, (area, colour) in enumerate(zip(areas, colours, strict=True)):
        data = "".join(runs(left, rows[:, number + 1], rows[:, number]))
        if data:
            svg.path(data, colour, _words(area))


def _words(area: Area) -> str:
    groups = f" ({counted(area.groups, 'group')})" if area.key == OTHER else ""
    return f"{area.name}{groups}: {format_bytes(area.peak_bytes)} at the peak"
