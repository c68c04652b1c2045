"""A heap dump's dominators or shortest paths in groups, which ``memlens flame`` prints.

A dump without allocation stacks prints its dominators; either tree can be requested.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from memlens.cli.folded import paths
from memlens.cli.output import MOST_INDENT, MOST_LINES, MOST_PRINTED, say
from memlens.model.expansion import Levels
from memlens.model.info import GraphInfo, SnapshotInfo
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes, shortened
from memlens.views.heap.dominators.trees import DOMINATORS, Form, GroupedTree, grouped_tree

LEAST_SHARE = 0.01
_LEAST_GROUPS, _GROUPS_OF_GROUP = 1 << 16, 6
"""How many groups all folded lines have, by those of the tree: in real dumps they are three to nine deep on average."""
_FIGURE = {"dominators": "retained", "paths": "total"}


class TreeGroup(Struct, frozen=True):
    """Objects of one type, package or module below objects of one group; ``type`` is what it is called.

    ``depth`` 0 is the group that all others are below.
    """

    type: str
    depth: int
    objects: int
    shallow_bytes: int


class DominatorGroup(TreeGroup, frozen=True):
    """A group of the dominator tree, with what its objects retain."""

    retained_bytes: int


class PathGroup(TreeGroup, frozen=True):
    """A group of the tree of shortest paths, with the bytes of its objects and of everything below them."""

    total_bytes: int


class PrintedTree(Struct, frozen=True):
    """The groups with at least a hundredth of the whole, each before those below it."""

    groups: list[DominatorGroup] | list[PathGroup]


def is_without_stacks(info: SnapshotInfo) -> bool:
    """Return whether the snapshot is a heap dump that doesn't say where objects were allocated."""
    return isinstance(info, GraphInfo) and info.allocations is None


def printed_tree(snapshot: Snapshot, form: Form = DOMINATORS) -> PrintedTree:
    """Return the groups that are large enough for a line. Raises :class:`BadRequestError`."""
    rows = list(_rows(snapshot, form))
    if form.tree == "paths":
        return PrintedTree([PathGroup(*row) for row in rows])
    return PrintedTree([DominatorGroup(*row) for row in rows])


def _rows(snapshot: Snapshot, form: Form) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield name, depth, objects, shallow and total bytes of each group that is large enough, depth first."""
    stored = grouped_tree(snapshot, form)
    least = LEAST_SHARE * int(stored.total[0])
    todo = [(0, 0)]
    printed = 0
    while todo:
        if printed == MOST_LINES:
            say(f"note: only the first {MOST_LINES:,} groups are printed.", error=True)
            return
        printed += 1
        node, depth = todo.pop()
        objects, shallow, total = (
            int(column[node]) for column in (stored.objects, stored.shallow, stored.total)
        )
        yield stored.name(node).text, depth, objects, shallow, total
        first, last = int(stored.first[node]), int(stored.last[node])
        large = np.flatnonzero(stored.total[first:last] >= least)[::-1]
        todo += [(first + child, depth + 1) for child in large.tolist()]


def text(snapshot: Snapshot, form: Form = DOMINATORS) -> Iterator[str]:
    """Yield an indented line for each group that is large enough. Raises :class:`BadRequestError`."""
    whole = int(grouped_tree(snapshot, form).total[0])
    yield f"{_FIGURE[form.tree]:>11} {'shallow':>11} {'objects':>11} {'share':>6}"
    for name, depth, objects, shallow, total in _rows(snapshot, form):
        share = total / whole if whole else 0
        yield (
            f"{format_bytes(total):>11} {format_bytes(shallow):>11} {objects:>11,} "
            f"{share:>6.1%} {' ' * min(depth, MOST_INDENT)}{shortened(name, MOST_PRINTED)}"
        )


def folded(snapshot: Snapshot, form: Form = DOMINATORS) -> Iterator[str]:
    """Yield a line for each group with bytes of its own: those down to it, joined by semicolons, and the bytes.

    Raises :class:`BadRequestError`.
    """
    stored = grouped_tree(snapshot, form)
    names = _FoldedNames(stored)
    nodes = np.flatnonzero(stored.shallow).astype(np.uint32)
    numbers = np.arange(len(stored.parent), dtype=np.uint32)
    most = max(_LEAST_GROUPS, _GROUPS_OF_GROUP * len(numbers))
    whole = paths(stored.parent, numbers, nodes, names, snapshot.info.file_bytes, most, _note_of_cut)
    for node, path in zip(nodes.tolist(), whole, strict=True):
        yield f"{';'.join(filter(None, (names[0], path)))} {int(stored.shallow[node])}"


def _note_of_cut(levels: Levels) -> None:
    say(
        f"note: groups are up to {int(levels.depths.max()):,} deep; lines have the innermost {levels.most:,} of each.",
        error=True,
    )


class _FoldedNames(dict[int, str]):
    """The names of a tree's nodes as folded stacks have them, each made on first use."""

    def __init__(self, tree: GroupedTree) -> None:
        super().__init__()
        self._tree = tree

    def __missing__(self, node: int) -> str:
        # semicolons separate groups
        name = self._tree.name(node).text[:MOST_PRINTED].replace(";", ",").replace("\n", " ")
        self[node] = name
        return name
