"""Walking stacks outwards, from a line to those that called it."""

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.kernels.tree import stacks as kernel
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.views.selection.stacks import PrefixTree


def line_keys(snapshot: Snapshot) -> I64:
    """A number for the line of each frame, a negative one for the function of a frame without a line."""
    frames = snapshot.frames
    lines = frames.file.astype(np.int64) << 32 | frames.line
    return np.where((frames.file != 0) & (frames.line > 0), lines, -2 - frames.function.astype(np.int64))


def up_to_line(
    tree: PrefixTree, nodes: U32, keys: npt.NDArray[np.integer], wanted: npt.NDArray[np.integer]
) -> U32:
    """The nearest node at or above each of some nodes whose key is the wanted one; the root, 0, where none is.

    ``keys`` has an item for each node of the tree, ``wanted`` one for each of ``nodes``. Raises
    :class:`InconsistentError` for a damaged tree.
    """
    numbers = np.unique(np.concatenate((keys, wanted)), return_inverse=True)[1].astype(np.uint32)
    found = np.zeros(len(nodes), np.uint32)
    if not kernel.nearest_alike(tree.parents, numbers[: len(keys)], nodes, numbers[len(keys) :], found):
        raise InconsistentError("The tree contains a cycle")
    return found


def up_to(tree: PrefixTree, nodes: U32, allowed: Mask) -> U32:
    """The nearest allowed node at or above each of some nodes; the root, 0, where there is none."""
    return _nearest(tree, allowed, np.zeros(len(allowed), np.uint32))[0][nodes]


def up_to_another(
    tree: PrefixTree,
    nodes: U32,
    allowed: Mask,
    keys: npt.NDArray[np.integer],
    known: npt.NDArray[np.integer],
) -> U32:
    """The nearest allowed node at or above each of some nodes whose key isn't the known one; 0 where there is none.

    ``known`` has an item for each of ``nodes``.
    """
    distinct, numbers = np.unique(keys, return_inverse=True)
    first, other = _nearest(tree, allowed, numbers.astype(np.uint32))
    nearest = first[nodes]
    return np.where(distinct[numbers[nearest]] == known, other[nodes], nearest).astype(np.uint32)


def _nearest(tree: PrefixTree, allowed: Mask, keys: U32) -> tuple[U32, U32]:
    first, other = np.empty_like(tree.parents), np.empty_like(tree.parents)
    if not kernel.nearest(tree.parents, allowed.astype(np.uint8), keys, first, other):
        raise InconsistentError("The tree contains a cycle")
    return first, other
