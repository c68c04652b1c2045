"""The requests of the flame graph and its trees."""

import base64
from typing import Annotated

from msgspec import Meta

from memlens.model.attribution import Attribution
from memlens.server.protocol.base import Count, Page, Pixels, Text
from memlens.server.protocol.flame import FlameResult
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.views.flame import graph as flame
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import FlameValue
from memlens.views.flame.tables import (
    FlameChildrenAnswer,
    FlameFunctionsAnswer,
    FlameNodeAnswer,
    FlameSearchAnswer,
    FunctionOrder,
)
from memlens.views.naming import file_names
from memlens.views.naming.file_names import FileNamesAnswer
from memlens.views.selection.sets import AllocationSet


@question("memlens/flame")
def _flame(
    snapshot: Snapshot,
    *,
    x0: float,
    x1: float,
    width_px: Pixels,
    first_depth: Annotated[int, Meta(ge=0, le=1_000_000)],
    rows: Annotated[int, Meta(ge=1, le=4096)],
    search: Text,
    of: AllocationSet,
    value: FlameValue,
    options: FlameOptions,
) -> FlameResult:
    """The part ``[x0, x1]`` (shares of the whole) of a set's flame graph, ``rows`` depths from ``first_depth``.

    The root's depth is 0. ``search`` marks the boxes whose function, file or line contains the text; empty for none.
    """
    tree = flame.tree_of(snapshot, of, value, options)
    made = flame.picture(tree, x0, x1, first_depth, rows, width_px, search)
    return FlameResult(base64.b64encode(made.geometry).decode("ascii"), made.names)


@question("memlens/flameNode")
def _node(
    snapshot: Snapshot,
    *,
    of: AllocationSet,
    value: FlameValue,
    options: FlameOptions,
    attribution: Attribution = "mine",
    node: Count,
) -> FlameNodeAnswer:
    """A node of a call tree."""
    return flame_tables.details(snapshot, of, value, options, node, attribution)


@question("memlens/flameChildren")
def _children(
    snapshot: Snapshot,
    *,
    of: AllocationSet,
    value: FlameValue,
    options: FlameOptions,
    attribution: Attribution = "mine",
    node: Count,
    offset: Count,
    limit: Page,
) -> FlameChildrenAnswer:
    """A page of a node's children; node 0 is the root."""
    tree = flame.tree_of(snapshot, of, value, options)
    return flame_tables.children(tree, node, offset, limit, attribution)


@question("memlens/flameSearch")
def _search(
    snapshot: Snapshot,
    *,
    of: AllocationSet,
    value: FlameValue,
    options: FlameOptions,
    attribution: Attribution = "mine",
    text: Text,
) -> FlameSearchAnswer:
    """What matches a text."""
    return flame_tables.search(flame.tree_of(snapshot, of, value, options), text, attribution)


@question("memlens/flameFunctions")
def _functions(
    snapshot: Snapshot,
    *,
    of: AllocationSet,
    value: FlameValue,
    options: FlameOptions,
    attribution: Attribution = "mine",
    order: FunctionOrder,
    offset: Count,
    limit: Page,
    reverse: bool = False,
) -> FlameFunctionsAnswer:
    """A page of the functions of a tree, the largest first, or by name; ``reverse`` the other way."""
    tree = flame.tree_of(snapshot, of, value, options)
    return flame_tables.functions(tree, order, offset, limit, attribution, reverse=reverse)


@question("memlens/fileNames")
def _file_names(snapshot: Snapshot) -> FileNamesAnswer:
    """Short names of the files of a snapshot's frames."""
    return file_names.file_names(snapshot)
