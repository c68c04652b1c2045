"""Groups of a tree of objects as rows."""

import numpy as np
from msgspec import Struct

from memlens.kernels.tree.calltree import sum_up
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.views.heap.dominators.trees import DOMINATORS, Form, HeapTree, base_tree, grouped_tree, number_of
from memlens.views.heap.objects.native_memory import native_of_nodes, native_or_none
from memlens.views.heap.objects.rows import Numbers


class GroupNode(Struct, frozen=True):
    """Objects of one type, package or module below one node of a tree. ``node`` is the number of their group.

    The type is ``(roots)`` for a root that is not an object, ``(unreachable)`` for the node above unreachable objects.
    """

    node: int
    type: Text
    objects: int
    shallow_bytes: int
    total_bytes: int
    """Bytes that the objects retain; in the tree of shortest paths, their own and those of everything below them."""
    children: int
    native_bytes: int | None
    """Memory outside of the heap that its objects own; None if the dump doesn't record such memory."""
    native_total_bytes: int | None
    """Memory outside of the heap owned by everything that ``total_bytes`` counts."""


def group_nodes(snapshot: Snapshot, numbers: Numbers, form: Form = DOMINATORS) -> list[GroupNode]:
    """Return the nodes of a tree that have the given numbers."""
    tree = grouped_tree(snapshot, form)
    own, below = _native_of_nodes(snapshot, form.tree)
    columns = (tree.objects, tree.shallow, tree.total, tree.first, tree.last)
    return [
        GroupNode(
            number_of(form, number),
            tree.name(number),
            objects,
            shallow,
            total,
            last - first,
            *(native_or_none(snapshot, int(amount)) for amount in outside),
        )
        for number, (objects, shallow, total, first, last), outside in zip(
            numbers.tolist(),
            zip(*(column[numbers].tolist() for column in columns), strict=True),
            zip(tree.summed(own)[numbers].tolist(), tree.summed_totals(below)[numbers].tolist(), strict=True),
            strict=True,
        )
    ]


@kept
def _native_of_nodes(snapshot: Snapshot, tree: HeapTree) -> tuple[Numbers, Numbers]:
    """Return the memory outside of the heap for each node of a tree's base: its own, and ``native_total_bytes``."""
    if tree == "dominators":
        return native_of_nodes(snapshot)
    by_type, owned = base_tree(snapshot, tree), snapshot.objects.owned
    own = np.zeros(len(by_type.key), np.int64)
    np.add.at(own, by_type.group[owned["object"]], owned["native"].astype(np.int64))
    below = own[np.newaxis].copy()
    sum_up(np.array(by_type.parent, np.uint32), below)
    return own, below[0]
