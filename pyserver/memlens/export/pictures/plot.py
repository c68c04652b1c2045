"""Shared by the pictures over time: the position of the plot, axes, paths of stacked columns, and legends."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memlens.arrays import F64
from memlens.export.pictures.colours import Colour
from memlens.export.pictures.svg import Svg, fitting
from memlens.units import format_bytes, format_time, format_value
from memlens.views.answers import Area, Axis
from memlens.views.trace.picture.areas import OTHER

LEGEND, LEGEND_ROW = 300, 17
"""The width of a legend of areas, and the height of each of its rows."""


class Plot(NamedTuple):
    """The position of the plot in a picture, in pixels."""

    x: float
    y: float
    width: float
    height: float


def axes(svg: Svg, plot: Plot, across: tuple[float, float], up: tuple[float, float], axis: Axis) -> None:
    """Lines and labels for bytes on the vertical axis, and for times or events on the horizontal one."""
    bottom = plot.y + plot.height
    for at, label in _byte_ticks(up[1], 8):
        if at < up[0]:
            continue
        y = bottom - (at - up[0]) / (up[1] - up[0]) * plot.height
        svg.line(plot.x, y, plot.x + plot.width, y)
        svg.text(plot.x - 6, y + 4, label, "faint", "end")
    for at, label in _even_ticks(*across, 8, "microseconds" if axis == "time" else "events"):
        x = plot.x + (at - across[0]) / (across[1] - across[0]) * plot.width
        svg.line(x, bottom, x, bottom + 4)
        svg.text(x, bottom + 16, label, "faint", "middle")


def area_legend(
    svg: Svg, plot: Plot, areas: list[Area], colours: list[Colour], more: tuple[str, Colour] | None = None
) -> None:
    """The areas from the top down, each with its bytes at the peak, to the right of the plot; further entries below."""
    x = plot.x + plot.width + 16
    right = svg.width - 8
    svg.text(right, plot.y + 2, "at the peak", "faint", "end")
    listed = reversed(list(zip(areas, colours, strict=True)))
    names = Counter(area.name.text for area in areas)
    for row, (area, colour) in enumerate(listed, 1):
        y = plot.y + row * LEGEND_ROW
        svg.rect(x, y - 9, 10, 10, colour)
        size = format_bytes(area.peak_bytes)
        name = (
            f"Other ({area.groups:,})"
            if area.key == OTHER
            else area.name.text.replace("_", " ")
            if area.place is None
            else f"{area.name.text} {area.detail}".rstrip()
            if names[area.name.text] > 1
            else area.name.text
        )
        svg.text(x + 16, y, fitting(name, right - x - 16 - 58), "ink")
        svg.text(right, y, size, "ink", "end")
    if more is not None:
        y = plot.y + (len(areas) + 1) * LEGEND_ROW
        svg.rect(x, y - 9, 10, 10, more[1])
        svg.text(x + 16, y, more[0], "ink")


def runs(left: F64, top: F64, bottom: F64) -> list[str]:
    """A closed path for each part where an area exists: along its top from the left, back along its bottom."""
    there = np.concatenate(([False], top < bottom, [False]))
    starts, stops = np.flatnonzero(there[1:] & ~there[:-1]), np.flatnonzero(~there[1:] & there[:-1])
    made = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        forth = _steps(left[start : stop + 1], top[start:stop])
        back = _steps(left[start : stop + 1][::-1], bottom[start:stop][::-1])
        made.append(f"M{left[start]:g} {bottom[start]:g}{forth}{back}Z")
    return made


def _steps(edges: F64, rows: F64) -> str:
    """A path along the rows of columns: it goes up or down at each edge where the row changes."""
    turns = np.concatenate(([0], np.flatnonzero(np.diff(rows)) + 1, [len(rows)]))
    return "".join(
        f"V{rows[a]:g}H{edges[b]:g}" for a, b in zip(turns[:-1].tolist(), turns[1:].tolist(), strict=True)
    )


def _byte_ticks(top: float, most: int) -> Iterator[tuple[float, str]]:
    """Roughly ``most`` ticks or fewer from 0 to ``top``, at multiples of a power of two."""
    if top <= 0:
        return
    step = 2.0 ** max(math.ceil(math.log2(top / most)), 0)
    for number in range(int(top / step) + 1):
        yield number * step, format_bytes(int(number * step))


def _even_ticks(low: float, high: float, most: int, unit: str) -> Iterator[tuple[float, str]]:
    """At most ``most`` ticks at round numbers of a unit: ``microseconds``, ``events``, or a unit of a profile."""
    rough = (high - low) / most
    if not rough > 0:
        return
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
    if unit != "microseconds":
        step = max(step, 1.0)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        at = number * step
        match unit:
            case "microseconds":
                yield at, format_time(at) if at else "0 s"
            case "events":
                yield at, f"{at:,.0f}"
            case _:
                yield at, format_value(int(at), unit)
