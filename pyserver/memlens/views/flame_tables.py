"""A call tree as tables: the children of a node, a node's details, what a search found, and sums by function."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.kernels import calltree as kernel
from memlens.store.snapshot import Snapshot
from memlens.views.calltree import I64, U32, CallTree, FlameOptions
from memlens.views.columns import check_page
from memlens.views.flame import FlameValue, set_stacks, shown_frames, tree_of
from memlens.views.frame_names import FlameName
from memlens.views.sets import AllocationSet

MOST_MATCHES = 500
MOST_LINES = 20

FunctionOrder = Literal["inclusive", "self", "name"]


class FlameNode(Struct, frozen=True):
    """A node of a call tree: what it has of its own and with all below it, and where it lies in the flame graph.

    ``x0`` and ``x1`` are shares of the whole; ``depth`` 1 is a child of the root. ``children`` counts those with a
    value.
    """

    node: int
    name: FlameName
    depth: int
    self_bytes: int
    self_count: int
    bytes: int
    count: int
    children: int
    x0: float
    x1: float


class FlameChildrenAnswer(Struct, frozen=True):
    """The children of a node, rows ``offset … offset + len(rows)`` of ``children``, in the tree's order.

    ``total_*`` are of the whole tree; ``rest_*`` of the children behind the last row.
    """

    total_bytes: int
    total_count: int
    children: int
    offset: int
    rows: list[FlameNode]
    rest_bytes: int
    rest_count: int


class FlameLine(Struct, frozen=True):
    """A place that stands behind a node, and what the node has through it."""

    file: str
    line: int
    function: str
    bytes: int
    count: int


class FlameNodeAnswer(Struct, frozen=True):
    """A node with its callers: ``path`` leads from a child of the root to the node's parent.

    ``lines`` are the places that it stands for, the largest first, at most 20; the first is the one to open.
    ``function_*`` are sums over the whole tree of what has the node's name, each allocation once; ``stacks`` the
    stacks that the node holds.
    """

    node: FlameNode
    path: list[FlameNode]
    total_bytes: int
    total_count: int
    function_bytes: int
    function_count: int
    function_self_bytes: int
    function_self_count: int
    lines: list[FlameLine]
    stacks: list[int]


class FlameSearchAnswer(Struct, frozen=True):
    """What matches a search: sums that count each allocation once, and the nodes from left to right.

    ``matches`` holds the largest of them where there are more than 500.
    """

    bytes: int
    count: int
    total_bytes: int
    total_count: int
    nodes: int
    matches: list[FlameNode]


class FlameFunction(Struct, frozen=True):
    """A function's sums over a whole tree; recursion counts once."""

    name: FlameName
    self_bytes: int
    self_count: int
    bytes: int
    count: int


class FlameFunctionsAnswer(Struct, frozen=True):
    """Rows ``offset … offset + len(rows)`` of ``functions``."""

    total_bytes: int
    total_count: int
    functions: int
    offset: int
    rows: list[FlameFunction]


def children(tree: CallTree, node: int, offset: int, limit: int) -> FlameChildrenAnswer:
    """A page of a node's children. Raises :class:`BadRequestError` for a node or a page that there isn't."""
    check_page(offset, limit)
    found = tree.children(_checked(tree, node))
    rest = tree.inclusive[:, found[offset + limit :]].sum(axis=1)
    return FlameChildrenAnswer(
        *_total(tree),
        children=len(found),
        offset=offset,
        rows=_nodes(tree, found[offset : offset + limit].tolist()),
        rest_bytes=int(rest[0]),
        rest_count=int(rest[1]),
    )


def details(
    snapshot: Snapshot, of: AllocationSet, value: FlameValue, options: FlameOptions, number: int
) -> FlameNodeAnswer:
    """A node with its callers, its places and its stacks. Raises :class:`BadRequestError`."""
    tree = tree_of(snapshot, of, value, options)
    node = _checked(tree, number)
    stacks = set_stacks(snapshot, of)
    items, shown = shown_frames(stacks, tree, node)
    inside = np.zeros(len(stacks.parents), bool)
    inside[stacks.nodes[items]] = True
    stack_node = snapshot.column("stack_node")
    held = inside[stack_node]
    # what has no stack stands under nodes of its own, behind the stacks'
    held[stack_node == 0] = inside[len(snapshot.column("node_parent")) :].any()
    return FlameNodeAnswer(
        _node(tree, node),
        _nodes(tree, tree.path(node)[:-1]),
        *_total(tree),
        *_function(tree, node),
        lines=_lines(tree, stacks.frames[shown[shown != 0]], stacks.values[:, items[shown != 0]]),
        stacks=np.flatnonzero(held).tolist(),
    )


def search(tree: CallTree, text: str) -> FlameSearchAnswer:
    """What a text is found in, whatever its case: in the function, the file or the line of a frame."""
    if not text:
        raise BadRequestError("There is nothing to search for")
    found = tree.search(text)
    nodes = np.flatnonzero(((found.held & 1) != 0) & (tree.inclusive[tree.by] > 0))
    shown = nodes[np.argsort(-tree.inclusive[tree.by, nodes], kind="stable")[:MOST_MATCHES]]
    shown = shown[np.lexsort((tree.depth[shown], tree.left[shown]))]
    return FlameSearchAnswer(
        int(found.totals[0]), int(found.totals[1]), *_total(tree), len(nodes), _nodes(tree, shown.tolist())
    )


def functions(
    tree: CallTree, order: FunctionOrder, offset: int, limit: int, *, reverse: bool = False
) -> FlameFunctionsAnswer:
    """A page of the tree's functions, the largest first, or from A on; ``reverse`` the other way."""
    check_page(offset, limit)
    selves, inclusive = _by_name(tree)
    present = np.flatnonzero(inclusive[tree.by] > 0)
    if order == "name":
        names = (tree.names.name(name, tree.options.merge) for name in present.tolist())
        texts = [(name.function.casefold(), name.file, name.line) for name in names]
        ordered = present[np.array(sorted(range(len(texts)), key=texts.__getitem__), np.intp)]
    else:
        key = (inclusive if order == "inclusive" else selves)[tree.by]
        ordered = present[np.argsort(-key[present], kind="stable")]
    page = (ordered[::-1] if reverse else ordered)[offset : offset + limit]
    rows = [
        FlameFunction(
            tree.names.name(name, tree.options.merge),
            int(selves[0, name]),
            int(selves[1, name]),
            int(inclusive[0, name]),
            int(inclusive[1, name]),
        )
        for name in page.tolist()
    ]
    return FlameFunctionsAnswer(*_total(tree), len(present), offset, rows)


def _by_name(tree: CallTree) -> tuple[I64, I64]:
    if tree.by_name is None:
        selves = np.zeros((len(tree.selves), tree.names.count), np.int64)
        inclusive = np.zeros_like(selves)
        kernel.functions(
            tree.parents, tree.name, tree.offsets, tree.order, tree.selves, tree.inclusive, selves, inclusive
        )
        tree.by_name = selves, inclusive
    return tree.by_name


def _function(tree: CallTree, node: int) -> tuple[int, int, int, int]:
    """A name's inclusive bytes and count, then its own."""
    if not node:
        return (*_total(tree), 0, 0)
    selves, inclusive = _by_name(tree)
    name = int(tree.name[node])
    return (int(inclusive[0, name]), int(inclusive[1, name]), int(selves[0, name]), int(selves[1, name]))


def _lines(tree: CallTree, frames: U32, values: I64) -> list[FlameLine]:
    numbers, place = np.unique(frames, return_inverse=True)
    sums = np.zeros((2, len(numbers)), np.int64)
    kernel.add_by(place.astype(np.uint32), np.ascontiguousarray(values), sums)
    lines: dict[tuple[str, int, str], list[int]] = {}
    for number, size_bytes, count in zip(numbers.tolist(), *sums.tolist(), strict=True):
        if number < tree.names.frames:
            file, line, function, _ = tree.names.rows[number]
            found = lines.setdefault((file, line, function), [0, 0])
            found[0] += size_bytes
            found[1] += count
    largest = sorted(lines.items(), key=lambda item: (-item[1][tree.by], item[0]))
    return [FlameLine(*place, *sums) for place, sums in largest[:MOST_LINES]]


def _total(tree: CallTree) -> tuple[int, int]:
    return int(tree.inclusive[0, 0]), int(tree.inclusive[1, 0])


def _nodes(tree: CallTree, nodes: Sequence[int]) -> list[FlameNode]:
    return [_node(tree, node) for node in nodes]


def _node(tree: CallTree, node: int) -> FlameNode:
    total = max(tree.total, 1)
    left = int(tree.left[node])
    name = FlameName(-1, "all", "", 0, "none", "", False)
    if node:
        name = tree.names.name(int(tree.name[node]), tree.options.merge)
    return FlameNode(
        node,
        name,
        int(tree.depth[node]),
        int(tree.selves[0, node]),
        int(tree.selves[1, node]),
        int(tree.inclusive[0, node]),
        int(tree.inclusive[1, node]),
        int(tree.offsets[node + 1] - tree.offsets[node]),
        left / total,
        (left + int(tree.inclusive[tree.by, node])) / total,
    )


def _checked(tree: CallTree, node: int) -> int:
    if not 0 <= node < len(tree.parents):
        raise BadRequestError(f"The flame graph has no box {node}")
    return node
