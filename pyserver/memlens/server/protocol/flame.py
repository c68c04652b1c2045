"""Flame graphs and call trees of allocation sets, and the names of the files in them."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Pixels, Text
from memlens.views.naming.frame_names import FlameName


class FlamePart(Struct, frozen=True, kw_only=True):
    """The position of a view of a flame graph, and its search."""

    x0: float
    x1: float
    width_px: Pixels
    first_depth: Annotated[int, Meta(ge=0, le=1_000_000)]
    rows: Annotated[int, Meta(ge=1, le=4096)]
    search: Text


class FlameResult(Struct, frozen=True):
    """``geometry`` is base64 of the packed buffer that ``memlens.views.flame.graph`` describes.

    ``names`` are those of the boxes that are wide enough to hold text; ``memlens/flameNode`` answers the others'.
    """

    geometry: str
    names: list[FlameName]
