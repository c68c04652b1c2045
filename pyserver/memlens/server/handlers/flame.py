"""The requests of the flame graph and its trees."""

import base64

from memlens.server.protocol.flame import (
    FileNamesParams,
    FlameChildrenParams,
    FlameFunctionsParams,
    FlameNodeParams,
    FlameParams,
    FlameResult,
    FlameSearchParams,
)
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.views.flame import graph as flame
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.tables import (
    FlameChildrenAnswer,
    FlameFunctionsAnswer,
    FlameNodeAnswer,
    FlameSearchAnswer,
)
from memlens.views.naming import file_names
from memlens.views.naming.file_names import FileNamesAnswer


@question("memlens/flame")
def _flame(snapshot: Snapshot, p: FlameParams) -> FlameResult:
    tree = flame.tree_of(snapshot, p.of, p.value, p.options)
    made = flame.picture(tree, p.x0, p.x1, p.first_depth, p.rows, p.width_px, p.search)
    return FlameResult(base64.b64encode(made.geometry).decode("ascii"), made.names)


@question("memlens/flameNode")
def _node(snapshot: Snapshot, p: FlameNodeParams) -> FlameNodeAnswer:
    return flame_tables.details(snapshot, p.of, p.value, p.options, p.node, p.attribution)


@question("memlens/flameChildren")
def _children(snapshot: Snapshot, p: FlameChildrenParams) -> FlameChildrenAnswer:
    tree = flame.tree_of(snapshot, p.of, p.value, p.options)
    return flame_tables.children(tree, p.node, p.offset, p.limit, p.attribution)


@question("memlens/flameSearch")
def _search(snapshot: Snapshot, p: FlameSearchParams) -> FlameSearchAnswer:
    return flame_tables.search(flame.tree_of(snapshot, p.of, p.value, p.options), p.text, p.attribution)


@question("memlens/flameFunctions")
def _functions(snapshot: Snapshot, p: FlameFunctionsParams) -> FlameFunctionsAnswer:
    tree = flame.tree_of(snapshot, p.of, p.value, p.options)
    return flame_tables.functions(tree, p.order, p.offset, p.limit, p.attribution, reverse=p.reverse)


@question("memlens/fileNames")
def _file_names(snapshot: Snapshot, _: FileNamesParams) -> FileNamesAnswer:
    return file_names.file_names(snapshot)
