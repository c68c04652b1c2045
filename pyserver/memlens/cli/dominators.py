"""A heap dump's dominator tree in groups, which ``memlens flame`` prints for dumps without allocation stacks."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from memlens.model.info import GraphInfo, SnapshotInfo
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes
from memlens.views.graph.groupings import Grouping, grouped_tree

LEAST_SHARE = 0.01


class DominatorGroup(Struct, frozen=True):
    """Objects of one type, package or module that objects of the same group dominate; ``type`` is what it is called.

    ``depth`` 0 is the group that holds all others.
    """

    type: str
    depth: int
    objects: int
    shallow_bytes: int
    retained_bytes: int


class DominatorTree(Struct, frozen=True):
    """The groups that retain at least a hundredth of the total, each before those that it dominates."""

    groups: list[DominatorGroup]


def is_without_stacks(info: SnapshotInfo) -> bool:
    """Return whether the snapshot is a heap dump that doesn't say where objects were allocated."""
    return isinstance(info, GraphInfo) and info.allocations is None


def dominator_tree(snapshot: Snapshot, by: Grouping = "type") -> DominatorTree:
    """Return the groups that are large enough for a line. Raises :class:`BadRequestError`."""
    stored = grouped_tree(snapshot, by)
    least = LEAST_SHARE * int(stored.retained[0])
    found, todo = [], [(0, 0)]
    while todo:
        node, depth = todo.pop()
        found.append(
            DominatorGroup(
                stored.name(node).text, depth, int(stored.objects[node]),
                int(stored.shallow[node]), int(stored.retained[node]),
            )
        )  # fmt: skip
        first, last = int(stored.first[node]), int(stored.last[node])
        large = np.flatnonzero(stored.retained[first:last] >= least)[::-1]
        todo += [(first + child, depth + 1) for child in large.tolist()]
    return DominatorTree(found)


def text(tree: DominatorTree) -> Iterator[str]:
    """Yield an indented line for each group."""
    whole = tree.groups[0].retained_bytes
    yield f"{'retained':>11} {'shallow':>11} {'objects':>11} {'share':>6}"
    for row in tree.groups:
        share = row.retained_bytes / whole if whole else 0
        yield (
            f"{format_bytes(row.retained_bytes):>11} {format_bytes(row.shallow_bytes):>11} {row.objects:>11,} "
            f"{share:>6.1%} {' ' * row.depth}{row.type}"
        )


def folded(snapshot: Snapshot, by: Grouping = "type") -> Iterator[str]:
    """Yield a line for each group with bytes of its own: those down to it, joined by semicolons, and the bytes.

    Raises :class:`BadRequestError`.
    """
    stored = grouped_tree(snapshot, by)
    paths: dict[int, str] = {}
    rows = zip(stored.parent.tolist(), stored.shallow.tolist(), strict=True)
    for node, (parent, shallow) in enumerate(rows):
        # semicolons separate groups
        name = stored.name(node).text.replace(";", ",").replace("\n", " ")
        path = paths[node] = f"{paths[parent]};{name}" if node else name
        if shallow:
            yield f"{path} {shallow}"
