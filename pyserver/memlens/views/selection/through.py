"""The stacks that pass through some frames."""

import numpy as np

from memlens.arrays import Mask
from memlens.kernels.trace import timeline as kernel
from memlens.store.snapshot import Snapshot


def stacks_through(snapshot: Snapshot, frames: Mask) -> Mask:
    """Mask of the stacks that contain any of some frames; ``frames`` is a mask of frames."""
    below = np.zeros(len(snapshot.tree.parent), np.uint8)
    if frames.any():
        kernel.mark_below(snapshot.tree.parent, snapshot.tree.frame, frames.view(np.uint8), below)
    through: Mask = below[snapshot.stacks.node] != 0
    return through
