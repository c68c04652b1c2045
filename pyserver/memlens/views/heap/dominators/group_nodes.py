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
    """Objects of one type, package or module that are below one node of a tree. ``node`` is its number as a group.

    A root that is no object has the type ``(roots)``, the node that unreachable objects are below ``(unreachable)``.
    """

    node: int
    type: Text
    objects: int
    shallow_bytes: int
    total_bytes: int
    """What the objects retain; in the tree of shortest paths the bytes of them and of everything below them."""
    children: int
    native_bytes: int | None
    """Memory outside of the heap that its objects own; None in dumps that say so of no object."""
    native_total_bytes: int | None
    """The same of what ``total_bytes`` is about."""


def group_nodes(snapshot: Snapshot, numbers: Numbers, form: Form = DOMINATORS) -> list[GroupNode]:
    """Some nodes of a tree."""
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
    """What the objects of each node of a tree's base own outside of the heap, and what ``native_total_bytes`` is."""
    if tree == "dominators":
        return native_of_nodes(snapshot)
    by_type, owned = base_tree(snapshot, tree), snapshot.objects.owned
    own = np.zeros(len(by_type.key), np.int64)
    np.add.at(own, by_type.group[owned["object"]], owned["native"].astype(np.int64))
    below = own[np.newaxis].copy()
    sum_up(np.array(by_type.parent, np.uint32), below)
    return own, below[0]
