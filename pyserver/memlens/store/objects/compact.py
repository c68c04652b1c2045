"""The compact dominator tree of a heap dump, in columns of its nodes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import U32, U64
from memlens.kernels.graph.compact import CompactTree, TypedObjects
from memlens.store.objects.room import Room, let_go

Rows = npt.NDArray[Any]

COLUMNS = {
    "type": np.uint32, "parent": np.uint32, "objects": np.uint32, "first": np.uint32, "last": np.uint32,
    "shallow": np.uint64, "retained": np.uint64,
}  # fmt: skip
"""The columns of nodes, in the order of the kernel's, see :class:`memlens.store.objects.columns.CompactColumns`."""

NO_OBJECTS = np.empty(0, np.uint32)

_STEP_NODES = 1 << 20


class Dominated(NamedTuple):
    """Objects by their dominators, each group by descending retained size; no object dominates the last group."""

    begin: U32
    member: U32

    @property
    def tops(self) -> U32:
        """The objects that no object dominates."""
        return self.member[int(self.begin[-2]) : int(self.begin[-1])]


def compact_tree(
    dominated: Dominated,
    types: int,
    type_of: U32,
    shallow: U64,
    retained: U64,
    root: int | None,
    room: Room,
    unreached: U32 = NO_OBJECTS,
    grouped: Callable[[int], None] = lambda _: None,
) -> tuple[dict[str, Rows], U32]:
    """Return the columns of nodes, and the node of each object.

    ``types`` is how many types there are. Without a ``root`` the ``unreached`` objects, which no root reaches, are
    below a node of their own, the last child of node 0: what only waits to be collected doesn't hold the memory.
    ``grouped`` is called now and then with how many objects are in their nodes; what it raises ends this.
    """
    count = len(type_of)
    group, queue = room(count, np.uint32), room(count, np.uint32)
    columns = {name: room(count + 2, kind) for name, kind in COLUMNS.items()}
    is_unreached = np.zeros(count, np.bool_)
    is_unreached[unreached] = True
    tops = dominated.tops
    is_lost = is_unreached[tops]
    tree = CompactTree(
        TypedObjects(type_of, shallow, retained, types), dominated.begin, dominated.member,
        -1 if root is None else root, tops[~is_lost], tops[is_lost],
        (columns["type"], columns["parent"], columns["objects"], columns["first"], columns["last"],
         columns["shallow"], columns["retained"]),
        group, queue,
    )  # fmt: skip
    mapped: tuple[Rows, ...] = (*dominated, type_of, shallow, retained, group, queue, *columns.values())
    while tree.run(_STEP_NODES):
        # neighbours in a level are neighbours in memory, so little of what was read or written is needed again soon
        for column in mapped:
            let_go(column, 0, len(column))
        grouped(tree.front)
    return {name: column[: tree.nodes] for name, column in columns.items()}, group
