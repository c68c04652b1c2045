"""Stacks whose memory may be pools of Python's allocator, which say little about the line that they are charged to."""

import numpy as np

from memlens.arrays import Mask
from memlens.model.frames import NATIVE, POSSIBLE_ARENA
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.selection.items import items_of, stack_tree
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT


@kept
def pool_stacks(snapshot: Snapshot) -> Mask:
    """Mask of the stacks that a reader marked as possible pools, by their innermost frame."""
    frames, tree = snapshot.frames, stack_tree(snapshot)
    marks = (frames.file == 0) & (frames.kind == NATIVE) & frames.in_function(POSSIBLE_ARENA.function.__eq__)
    # the root, the node of an empty stack, has no frame
    found: Mask = np.isin(tree.frames[tree.ends], np.flatnonzero(marks)) & (tree.ends > 0)
    return found


def pooled_amount(snapshot: Snapshot, of: AllocationSet) -> int:
    """How much of a set may be in pools of Python's allocator."""
    pooled = pool_stacks(snapshot)
    if not pooled.any():
        return 0
    items = items_of(snapshot, of)
    return int(items.values[AMOUNT, pooled[items.stacks]].sum())
