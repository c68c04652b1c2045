"""A call tree as tables: the children of a node, a node's details, results of a search, and sums by function."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.arrays import I64, U32
from memlens.errors import BadRequestError
from memlens.kernels.tree import calltree as kernel
from memlens.model.attribution import Attribution
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.flame.calltree import CallTree, FlameOptions
from memlens.views.flame.graph import FlameValue, shown_frames, tree_of
from memlens.views.naming.frame_names import FlameName, Place
from memlens.views.selection.columns import check_page
from memlens.views.selection.items import drawn_stacks
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT, COUNT, Meaning, ValuedStacks, sides_of

MOST_MATCHES = 500
MOST_LINES = 20

FunctionOrder = Literal["inclusive", "self", "name"]


class FlameSides(Struct, frozen=True):
    """The figures on each side of a comparison; all other figures of a comparison are of both sides together."""

    before_bytes: int
    before_count: int
    after_bytes: int
    after_count: int


class FlameNode(Struct, frozen=True):
    """A node of a call tree: its own and inclusive values, and its position in the flame graph.

    ``self_*`` is what is charged to the node, as :meth:`~memlens.views.flame.calltree.CallTree.own` says.
    ``x0`` and ``x1`` are shares of the whole; ``depth`` 1 is a child of the root. ``children`` counts those with a
    value. ``sides`` and ``self_sides`` are of a comparison.
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
    sides: FlameSides | None = None
    self_sides: FlameSides | None = None


class FlameChildrenAnswer(Struct, frozen=True):
    """The children of a node, rows ``offset … offset + len(rows)`` of ``children``, in the tree's order.

    ``total_*`` (``whole`` for a comparison) are of the whole tree; ``rest_*`` of the children after the last row.
    """

    total_bytes: int
    total_count: int
    children: int
    offset: int
    rows: list[FlameNode]
    rest_bytes: int
    rest_count: int
    whole: FlameSides | None = None


class FlameLine(Struct, frozen=True):
    """A line of a node's frames, and the node's values there."""

    file: str
    line: int
    function: str
    bytes: int
    count: int
    sides: FlameSides | None = None


class FlameNodeAnswer(Struct, frozen=True):
    """A node with its callers: ``path`` leads from a child of the root to the node's parent.

    ``lines`` are its source positions, the largest first, at most 20; the first is the one to open. ``function_*`` are
    sums over all nodes with its name in the whole tree, each allocation counted once; ``stacks`` are the node's stacks.
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
    whole: FlameSides | None = None
    function_sides: FlameSides | None = None


class FlameSearchAnswer(Struct, frozen=True):
    """What matches a search: sums that count each allocation once, and the nodes from left to right.

    If there are more than 500, ``matches`` has the largest of them.
    """

    bytes: int
    count: int
    total_bytes: int
    total_count: int
    nodes: int
    matches: list[FlameNode]
    sides: FlameSides | None = None


class FlameFunction(Struct, frozen=True):
    """A function's sums over a whole tree; recursion counts once."""

    name: FlameName
    self_bytes: int
    self_count: int
    bytes: int
    count: int
    sides: FlameSides | None = None
    self_sides: FlameSides | None = None


class FlameFunctionsAnswer(Struct, frozen=True):
    """Rows ``offset … offset + len(rows)`` of ``functions``."""

    total_bytes: int
    total_count: int
    functions: int
    offset: int
    rows: list[FlameFunction]


def children(
    tree: CallTree, node: int, offset: int, limit: int, attribution: Attribution = "mine"
) -> FlameChildrenAnswer:
    """A page of a node's children. Raises :class:`BadRequestError` for an unknown node or an invalid page."""
    check_page(offset, limit)
    found = tree.children(_checked(tree, node))
    rest = tree.inclusive[:, found[offset + limit :]].sum(axis=1)
    return FlameChildrenAnswer(
        *_total(tree),
        children=len(found),
        offset=offset,
        rows=_nodes(tree, found[offset : offset + limit].tolist(), attribution),
        rest_bytes=int(rest[0]),
        rest_count=int(rest[1]),
        whole=whole(tree),
    )


def details(
    snapshot: Snapshot,
    of: AllocationSet,
    value: FlameValue,
    options: FlameOptions,
    number: int,
    attribution: Attribution = "mine",
) -> FlameNodeAnswer:
    """A node with its callers, its places and its stacks. Raises :class:`BadRequestError`."""
    tree = tree_of(snapshot, of, value, options)
    return details_of(tree, drawn_stacks(snapshot, of), number, attribution)


def details_of(
    tree: CallTree, stacks: ValuedStacks[Meaning], number: int, attribution: Attribution = "mine"
) -> FlameNodeAnswer:
    """The same for a tree that was made from ``stacks``."""
    node = _checked(tree, number)
    items, shown = shown_frames(stacks, tree, node)
    name = int(tree.name[node])
    return FlameNodeAnswer(
        _node(tree, node, attribution),
        _nodes(tree, tree.path(node)[:-1], attribution),
        *_total(tree),
        *_function(tree, node, attribution),
        lines=_lines(tree, stacks.tree.frames[shown[shown != 0]], stacks.values[:, items[shown != 0]]),
        stacks=stacks.archived(items),
        whole=whole(tree),
        function_sides=_sides(tree, by_name(tree, attribution)[1][:, name]) if node else whole(tree),
    )


def search(tree: CallTree, text: str, attribution: Attribution = "mine") -> FlameSearchAnswer:
    """Search a text, ignoring case, in the function, the file or the line of frames."""
    if not text:
        raise BadRequestError(phrase("There is nothing to search for"))
    found = tree.search(text)
    largest = found.nodes[np.argsort(-tree.widths[found.nodes], kind="stable")[:MOST_MATCHES]]
    shown = sorted(largest.tolist(), key=tree.layout.place)
    return FlameSearchAnswer(
        int(found.totals[0]),
        int(found.totals[1]),
        *_total(tree),
        len(found.nodes),
        _nodes(tree, shown, attribution),
        _sides(tree, found.totals),
    )


def functions(
    tree: CallTree,
    order: FunctionOrder,
    offset: int,
    limit: int,
    attribution: Attribution = "mine",
    *,
    reverse: bool = False,
) -> FlameFunctionsAnswer:
    """A page of the tree's functions, the largest first, or by name; ``reverse`` reverses the order."""
    check_page(offset, limit)
    selves, inclusive = by_name(tree, attribution)
    present = np.flatnonzero(inclusive[tree.by] > 0)
    if order == "name":
        names = tree.names.names(present.tolist())
        texts = [(name.function.casefold(), name.file, name.line) for name in names]
        ordered = present[np.array(sorted(range(len(texts)), key=texts.__getitem__), np.intp)]
    else:
        key = (inclusive if order == "inclusive" else selves)[tree.by]
        ordered = present[np.argsort(-key[present], kind="stable")]
    page = (ordered[::-1] if reverse else ordered)[offset : offset + limit]
    numbers = page.tolist()
    rows = [
        FlameFunction(
            called,
            int(selves[AMOUNT, name]),
            int(selves[COUNT, name]),
            int(inclusive[AMOUNT, name]),
            int(inclusive[COUNT, name]),
            _sides(tree, inclusive[:, name]),
            _sides(tree, selves[:, name]),
        )
        for name, called in zip(numbers, tree.names.names(numbers), strict=True)
    ]
    return FlameFunctionsAnswer(*_total(tree), len(present), offset, rows)


def by_name(tree: CallTree, attribution: Attribution) -> tuple[I64, I64]:
    """int64[values, names]: the own and the inclusive sums of each name; recursion counts once."""
    found = tree.by_name.get(attribution)
    if found is None:
        selves = np.zeros((len(tree.inclusive), tree.names.count), np.int64)
        inclusive = np.zeros_like(selves)
        own = tree.own(attribution)
        shape = tree.nodes.shape
        kernel.functions(
            shape.parents, shape.name, shape.child, shape.sibling, tree.widths, own, tree.inclusive, selves, inclusive
        )  # fmt: skip
        found = tree.by_name[attribution] = selves, inclusive
    return found


def _function(tree: CallTree, node: int, attribution: Attribution) -> tuple[int, int, int, int]:
    """A name's inclusive bytes and count, then its own."""
    if not node:
        return (*_total(tree), 0, 0)
    selves, inclusive = by_name(tree, attribution)
    name = int(tree.name[node])
    return (int(inclusive[0, name]), int(inclusive[1, name]), int(selves[0, name]), int(selves[1, name]))


def _lines(tree: CallTree, frames: U32, values: I64) -> list[FlameLine]:
    numbers, place = np.unique(frames, return_inverse=True)
    sums = np.zeros((len(values), len(numbers)), np.int64)
    kernel.add_by(place.astype(np.uint32), np.ascontiguousarray(values), sums)
    lines: dict[Place, I64] = {}
    # a tree may be laid out by a value that its stacks don't have, such as shares
    by = tree.by if tree.by < len(values) else AMOUNT
    for number, where in enumerate(tree.names.places(numbers.tolist())):
        if where is not None:
            found = lines.setdefault(where, np.zeros(len(values), np.int64))
            found += sums[:, number]
    largest = sorted(lines.items(), key=lambda item: (-int(item[1][by]), item[0]))
    return [
        FlameLine(*where, int(sums[AMOUNT]), int(sums[COUNT]), _sides(tree, sums))
        for where, sums in largest[:MOST_LINES]
    ]


def whole(tree: CallTree) -> FlameSides | None:
    """The totals of a comparison's tree on each side."""
    return _sides(tree, tree.inclusive[:, 0])


def _sides(tree: CallTree, values: I64) -> FlameSides | None:
    """The sides of some figures, given as a row for each value; None for a tree that isn't a comparison."""
    sides = sides_of(tree.meaning)
    if sides is None:
        return None
    return FlameSides(
        *(int(values[row + value]) for row in (sides.before, sides.after) for value in (AMOUNT, COUNT))
    )


def _total(tree: CallTree) -> tuple[int, int]:
    return int(tree.inclusive[0, 0]), int(tree.inclusive[1, 0])


def _nodes(tree: CallTree, nodes: Sequence[int], attribution: Attribution) -> list[FlameNode]:
    return [_node(tree, node, attribution) for node in nodes]


def _node(tree: CallTree, node: int, attribution: Attribution) -> FlameNode:
    total = max(tree.total, 1)
    own = tree.own(attribution)
    left, depth = tree.layout.place(node)
    name = FlameName.own(-1, phrase("all"))
    if node:
        (name,) = tree.names.names([int(tree.name[node])])
    return FlameNode(
        node,
        name,
        depth,
        int(own[0, node]),
        int(own[1, node]),
        int(tree.inclusive[0, node]),
        int(tree.inclusive[1, node]),
        len(tree.children(node)),
        left / total,
        (left + int(tree.widths[node])) / total,
        _sides(tree, tree.inclusive[:, node]),
        _sides(tree, own[:, node]),
    )


def _checked(tree: CallTree, node: int) -> int:
    if not 0 <= node < len(tree) or (node and not tree.inclusive[:, node].any()):
        raise BadRequestError(phrase("The flame graph has no box {node}", node=node))
    return node
