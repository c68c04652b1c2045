"""The stacks that pass through some frames."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memlens.kernels.trace import timeline as kernel
from memlens.store.snapshot import Snapshot


def stacks_through(snapshot: Snapshot, frames: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Of each stack of the snapshot, whether any of some frames (numbers of the archive's) stands in it."""
    wanted = np.zeros(max(frames, default=0) + 1, np.uint8)
    wanted[list(frames)] = 1
    below = np.zeros(len(snapshot.tree.parent), np.uint8)
    if frames:
        kernel.mark_below(snapshot.tree.parent, snapshot.tree.frame, wanted, below)
    through: npt.NDArray[np.bool_] = below[snapshot.stacks.node] != 0
    return through
