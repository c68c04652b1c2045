"""Walking stacks outwards, from a line to those that called it."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.store.snapshot import Snapshot
from memlens.views.selection.stacks import PrefixTree

MOST_DEPTH = 5_000
_STEPS = 64
"""Steps that are made one by one: stacks that share most of their frames would make them anew for each."""
_MOST_LOOKED_AT = 1 << 24
_MOST_DOUBLINGS = 32
"""A tree's numbers have so many bits."""


def line_keys(snapshot: Snapshot) -> I64:
    """A number for the line of each frame, a negative one for the function of a frame without a line."""
    frames = snapshot.frames
    lines = frames.file.astype(np.int64) << 32 | frames.line
    return np.where((frames.file != 0) & (frames.line > 0), lines, -2 - frames.function.astype(np.int64))


Fits = Callable[[U32, npt.NDArray[np.intp]], Mask]
"""Which nodes fit, each reached from the stack of a row."""


def among(allowed: Mask) -> Fits:
    """Nodes of a mask."""
    return lambda nodes, _: allowed[nodes]


def up(tree: PrefixTree, nodes: U32, fits: Fits, alike: npt.NDArray[np.integer]) -> U32:
    """The nearest node that fits at or above each of some nodes; the root, 0, where none does.

    Rows with equal numbers in ``alike`` fit the same nodes.
    """
    found = nodes.copy()
    rows = np.flatnonzero(found != 0)
    for step in range(MOST_DEPTH):
        rows = rows[~fits(found[rows], rows)]
        if not len(rows):
            return found
        found[rows] = tree.parents[found[rows]]
        rows = rows[found[rows] != 0]
        if step == _STEPS:
            # few are left of stacks that aren't deep
            distinct, kinds = np.unique(alike[rows], return_inverse=True)
            if len(rows) and len(distinct) * (int(found[rows].max()) + 1) <= _MOST_LOOKED_AT:
                for kind in range(len(distinct)):
                    mine = rows[kinds == kind]
                    found[mine] = _far_up(tree, found[mine], fits, mine[0])
                return found
    found[rows] = 0
    return found


def _far_up(tree: PrefixTree, nodes: U32, fits: Fits, row: np.intp) -> U32:
    """The same for nodes that are alike to a row: each node looks as far as those that it has found so far."""
    every = np.arange(int(nodes.max()) + 1, dtype=np.uint32)
    nearest = np.where(fits(every, np.full(len(every), row)), every, tree.parents[: len(every)])
    nearest[0] = 0
    for _ in range(_MOST_DOUBLINGS):
        further = nearest[nearest]
        if np.array_equal(further, nearest):
            break
        nearest = further
    found: U32 = nearest[nodes]
    return found
