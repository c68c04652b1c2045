"""Stacks whose memory may be pools of Python's allocator, which say little of the line that they are counted for."""

import numpy as np
import numpy.typing as npt

from memlens.model.frames import NATIVE, POSSIBLE_ARENA
from memlens.store.snapshot import Snapshot
from memlens.views.selection.items import stack_tree


def pool_stacks(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Which stacks a reader has marked as perhaps those of pools: their innermost frame is the mark."""
    return snapshot.keep("stacks of pools", lambda: _pool_stacks(snapshot))


def _pool_stacks(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    frames, tree = snapshot.frames, stack_tree(snapshot)
    marks = (frames.file == 0) & (frames.kind == NATIVE) & frames.in_function(POSSIBLE_ARENA.function.__eq__)
    # the root, where a stack is empty, has no frame
    found: npt.NDArray[np.bool_] = np.isin(tree.frames[tree.ends], np.flatnonzero(marks)) & (tree.ends > 0)
    return found
