"""The retained sizes of groups of objects, from a dominator tree."""

import numpy as np

from memlens.arrays import U8, U32, U64
from memlens.kernels.graph import tree
from memlens.kernels.tree import calltree
from memlens.store.manifest import InconsistentError

_NO_CHILD = np.empty(0, np.uint32)


def below_own_group(first: U32, last: U32, group: U32, groups: int) -> U8:
    """A mask of the compact tree's nodes that are below another node of their group.

    The dominators of a node's objects are in the nodes above it. A group number of ``groups`` or more means no group.
    """
    return _below_own_group(first, last, _NO_CHILD, 0, group, groups)


def _below_own_group(first: U32, last: U32, child: U32, root: int, group: U32, groups: int) -> U8:
    """As the kernel. Raises :class:`InconsistentError`."""
    below = np.zeros(len(group), np.uint8)
    if not tree.below_own_group(first, last, child, root, group, groups, below):
        raise InconsistentError("Children of nodes are below several of them")
    return below


def retained_of_topmost(below: U8, group: U32, groups: int, retained: U64) -> U64:
    """For each group of nodes, the retained bytes of its nodes that aren't ``below`` another one of it.

    ``groups`` means no group.
    """
    sums = np.zeros((1, groups), np.int64)
    to = np.where(below != 0, np.uint32(groups), group)
    calltree.add_by(to, retained.view(np.int64)[np.newaxis], sums)
    summed: U64 = sums[0].view(np.uint64)
    return summed


def retained_by_object_group(start: U32, dominated: U32, group: U32, groups: int, retained: U64) -> U64:
    """For each group, the retained bytes of its objects that no other object of it dominates; ``groups`` means no
    group.

    Object ``o`` dominates ``start[o]`` to ``start[o + 1]`` of ``dominated``, whose last items no object dominates.
    """
    below = _below_own_group(start[:-1], start[1:], dominated, len(group), group, groups)
    return retained_of_topmost(below, group, groups, retained)
