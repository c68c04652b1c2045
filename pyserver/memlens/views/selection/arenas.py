"""Samples that may be pools of Python's allocator, which say little of the line that they are counted for."""

import numpy as np
import numpy.typing as npt

from memlens.model.frames import NATIVE, POSSIBLE_ARENA
from memlens.store.snapshot import Snapshot


def in_pools(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Which samples of a profile a reader has marked as perhaps pools: their innermost frame is the mark."""
    return snapshot.keep("samples in pools", lambda: _in_pools(snapshot))


def _in_pools(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    frames = snapshot.frames
    marks = (frames.file == 0) & (frames.kind == NATIVE) & frames.in_function(POSSIBLE_ARENA.function.__eq__)
    leaves = snapshot.stacks.node[snapshot.samples.stack]
    # the root, where a stack is empty, has no frame
    found: npt.NDArray[np.bool_] = np.isin(snapshot.tree.frame[leaves], np.flatnonzero(marks)) & (leaves > 0)
    return found
