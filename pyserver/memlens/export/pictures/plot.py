"""What pictures over time share: where the plot is, its axes, and paths of what is stacked in columns."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.export.pictures.svg import Svg
from memlens.export.pictures.ticks import byte_ticks, even_ticks
from memlens.views.answers import Axis


class Plot(NamedTuple):
    """Where in a picture the plot is, in pixels."""

    x: float
    y: float
    width: float
    height: float


def axes(svg: Svg, plot: Plot, across: tuple[float, float], up: tuple[float, float], axis: Axis) -> None:
    """Lines and labels of bytes upwards, and of times or events across."""
    bottom = plot.y + plot.height
    for at, label in byte_ticks(up[1], 8):
        if at < up[0]:
            continue
        y = bottom - (at - up[0]) / (up[1] - up[0]) * plot.height
        svg.line(plot.x, y, plot.x + plot.width, y)
        svg.text(plot.x - 6, y + 4, label, "faint", "end")
    for at, label in even_ticks(*across, 8, "microseconds" if axis == "time" else "events"):
        x = plot.x + (at - across[0]) / (across[1] - across[0]) * plot.width
        svg.line(x, bottom, x, bottom + 4)
        svg.text(x, bottom + 16, label, "faint", "middle")


def runs(
    left: npt.NDArray[np.float64], top: npt.NDArray[np.float64], bottom: npt.NDArray[np.float64]
) -> list[str]:
    """A closed path for each stretch in which an area is there: its top from the left, its bottom back."""
    there = np.concatenate(([False], top < bottom, [False]))
    starts, stops = np.flatnonzero(there[1:] & ~there[:-1]), np.flatnonzero(~there[1:] & there[:-1])
    made = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        forth = _steps(left[start : stop + 1], top[start:stop])
        back = _steps(left[start : stop + 1][::-1], bottom[start:stop][::-1])
        made.append(f"M{left[start]:g} {bottom[start]:g}{forth}{back}Z")
    return made


def _steps(edges: npt.NDArray[np.float64], rows: npt.NDArray[np.float64]) -> str:
    """Along the rows of columns: up or down at the edge where a row is another one, then on to the next such edge."""
    turns = np.concatenate(([0], np.flatnonzero(np.diff(rows)) + 1, [len(rows)]))
    return "".join(
        f"V{rows[a]:g}H{edges[b]:g}" for a, b in zip(turns[:-1].tolist(), turns[1:].tolist(), strict=True)
    )
