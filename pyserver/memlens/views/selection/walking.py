"""Walking stacks outwards, from a line to those that called it."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.store.snapshot import Snapshot
from memlens.views.selection.stacks import PrefixTree

MOST_DEPTH = 5_000


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


def up(tree: PrefixTree, nodes: U32, fits: Fits) -> U32:
    """The nearest node that fits at or above each of some nodes; the root, 0, where none does."""
    found = nodes.copy()
    rows = np.flatnonzero(found != 0)
    for _ in range(MOST_DEPTH):
        rows = rows[~fits(found[rows], rows)]
        if not len(rows):
            return found
        found[rows] = tree.parents[found[rows]]
        rows = rows[found[rows] != 0]
    found[rows] = 0
    return found
