"""Flame graphs and call trees of allocation sets, and the names of the files in them."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.model.attribution import Attribution
from memlens.server.protocol.base import Count, Pixels, Text
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import FlameValue
from memlens.views.flame.tables import (
    FunctionOrder,
)
from memlens.views.naming.frame_names import FlameName
from memlens.views.selection.sets import AllocationSet


class FlamePart(Struct, frozen=True, kw_only=True):
    """The position of a view of a flame graph, and its search."""

    x0: float
    x1: float
    width_px: Pixels
    first_depth: Annotated[int, Meta(ge=0, le=1_000_000)]
    rows: Annotated[int, Meta(ge=1, le=4096)]
    search: Text


class FlameParams(FlamePart, frozen=True, kw_only=True):
    """The part ``[x0, x1]`` (shares of the whole) of a set's flame graph, ``rows`` depths from ``first_depth``.

    The root's depth is 0. ``search`` marks the boxes whose function, file or line contains the text; empty for none.
    """

    snapshot: str
    of: AllocationSet
    value: FlameValue
    options: FlameOptions


class FlameResult(Struct, frozen=True):
    """``geometry`` is base64 of the packed buffer that ``memlens.views.flame.graph`` describes.

    ``names`` are those of the boxes that are wide enough to hold text; ``memlens/flameNode`` answers the others'.
    """

    geometry: str
    names: list[FlameName]


class OfCallTree(Struct, frozen=True, kw_only=True):
    """The parameters of all requests about a call tree. ``attribution`` decides the own values of nodes."""

    snapshot: str
    of: AllocationSet
    value: FlameValue
    options: FlameOptions
    attribution: Attribution = "mine"


class FlameNodeParams(OfCallTree, frozen=True, kw_only=True):
    """A node of a call tree."""

    node: Count


class FlameChildrenParams(OfCallTree, frozen=True, kw_only=True):
    """A page of a node's children; node 0 is the root."""

    node: Count
    offset: Count
    limit: Annotated[int, Meta(ge=1, le=1000)]


class FlameSearchParams(OfCallTree, frozen=True, kw_only=True):
    """What matches a text."""

    text: Text


class FlameFunctionsParams(OfCallTree, frozen=True, kw_only=True):
    """A page of the functions of a tree, the largest first, or by name; ``reverse`` the other way."""

    order: FunctionOrder
    offset: Count
    limit: Annotated[int, Meta(ge=1, le=1000)]
    reverse: bool = False


class FileNamesParams(Struct, frozen=True):
    """Short names of the files of a snapshot's frames."""

    snapshot: str
