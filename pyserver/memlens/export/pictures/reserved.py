"""Reserved memory over time and how much of it was used: the view's picture of the same name."""

import base64

import numpy as np

from memlens.errors import BadRequestError
from memlens.export.pictures.colours import ACTIVE, ALLOCATED, REQUESTED, RESERVED
from memlens.export.pictures.plot import Plot, axes, runs
from memlens.export.pictures.svg import Svg, fitting
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import format_bytes
from memlens.views.answers import Axis
from memlens.views.selection.columns import device_of
from memlens.views.trace.picture.reserved import reserved_over_time

WIDTH, HEIGHT = 1160, 420
_LEFT, _TOP, _BOTTOM, _LEGEND = 78, 60, 24, 12
_PX_OF_COLUMN = 1.5
_HEADROOM = 1.04
_LEVELS = (
    ("Reserved", RESERVED),
    ("Active (with pending frees)", ACTIVE),
    ("Allocated (with rounding)", ALLOCATED),
    ("Requested", REQUESTED),
)
"""In the order of the answer; each includes the next."""


def reserved(snapshot: Snapshot, device: int, axis: Axis, x0: float, x1: float) -> Svg:
    """Draw the maximum of each kind in each column. Raises :class:`memlens.errors.BadRequestError`."""
    timeline_of(snapshot.info, "events", phrase("the picture of reserved memory"))
    name = device_of(snapshot, device).info.name.text
    plot = Plot(_LEFT, _TOP, WIDTH - _LEFT - _LEGEND, HEIGHT - _TOP - _BOTTOM)
    columns = int(plot.width / _PX_OF_COLUMN)
    answer = reserved_over_time(snapshot, device, axis, x0, x1, columns)
    levels = np.frombuffer(base64.b64decode(answer.bytes), "<f8").reshape(-1, 2, columns)[: len(_LEVELS), 0]
    top = float(levels.max(initial=0)) * _HEADROOM
    if top <= 0:
        raise BadRequestError(
            phrase("Nothing was reserved in this part of the run, so there is nothing to draw")
        )
    title = f"Reserved memory over time: {name}"
    svg = Svg(WIDTH, HEIGHT, title)
    svg.text(_LEFT, 22, fitting(title, WIDTH - _LEFT), "ink")
    axes(svg, plot, (x0, x1), (0.0, top), axis)
    left = np.round(plot.x + np.arange(columns + 1) * plot.width / columns, 1)
    bottom = np.full(columns, plot.y + plot.height)
    at = float(_LEFT)
    for (words, colour), level in zip(_LEVELS, levels, strict=True):
        rows = np.round(plot.y + plot.height * (1 - level / top), 1)
        most = f"{words}: at most {format_bytes(int(level.max(initial=0)))}"
        data = "".join(runs(left, rows, bottom))
        if data:
            svg.path(data, colour, most)
        svg.rect(at, 36, 10, 10, colour)
        svg.text(at + 16, 45, most, "ink")
        at += 270
    return svg
