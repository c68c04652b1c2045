"""What source lines freed."""

import numpy as np

from memlens.kernels.tree.calltree import add_by
from memlens.model.info import TimelineInfo
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.selection.frees import lines_that_freed

Freed = dict[tuple[str, int], tuple[int, int, int]]
"""By file and line: bytes, allocations, and a frame of the line."""


@kept
def lines_that_free(snapshot: Snapshot) -> Freed:
    """The bytes that each line freed, by the stacks of frees, on all devices; empty for other models."""
    if not isinstance(snapshot.info, TimelineInfo):
        return {}
    sums = np.zeros((2, len(snapshot.frames)), np.int64)
    for info in snapshot.info.devices:
        device = snapshot.device(info.device)
        lines = lines_that_freed(snapshot, device)
        freed = lines != NEVER
        sizes = device.size[freed]
        add_by(lines[freed], np.stack((sizes, np.ones_like(sizes))), sums)
    numbers = np.flatnonzero((sums[1] > 0) & (snapshot.frames.line > 0))
    found: Freed = {}
    for number, (file, line, _, _) in snapshot.frames.rows(numbers.tolist()).items():
        size, count, first = found.get((file, line), (0, 0, number))
        found[file, line] = (size + int(sums[0, number]), count + int(sums[1, number]), first)
    return found
