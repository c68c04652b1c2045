"""One side of a comparison: everything that it needs of a set, independent of its snapshot.

A snapshot may be used by one thread only. So each side is made in its snapshot's thread, and later steps use two sides
and no snapshot.
"""

from dataclasses import dataclass

import numpy as np

from memlens.arrays import U8, U32, Mask
from memlens.model.attribution import Attribution
from memlens.model.info import SnapshotInfo
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.views.naming.places import charged_places, native_places, places_of
from memlens.views.selection.items import stacks_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import OneSide, ValuedStacks


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The stacks of a set on a separate tree, and the place to which each is charged.

    ``charged`` are numbers in ``places``, of which the first ``frames`` are the archive's frames, with their
    ``sources``; ``native`` is the mask of those that aren't places in Python. Where ``inferred`` is True the place
    isn't in the stack but was inferred for some of its allocations.
    """

    stacks: ValuedStacks[OneSide]
    places: list[FrameRow]
    native: Mask
    frames: int
    sources: U8
    charged: U32
    inferred: Mask
    info: SnapshotInfo


def side_of(snapshot: Snapshot, of: AllocationSet, attribution: Attribution = "mine") -> Side:
    """A set as one side. Raises :class:`BadRequestError` for a set that the snapshot doesn't have."""
    stacks = stacks_of(snapshot, of)
    charged = charged_places(snapshot, attribution)[stacks.stacks]
    inferred = np.zeros(len(stacks), bool)
    if stacks.inferred is not None:
        inferred = stacks.inferred != NEVER
        charged = np.where(inferred, stacks.inferred, charged)
    frames = len(snapshot.frames)
    return Side(
        stacks.pruned(),
        places_of(snapshot),
        native_places(snapshot),
        frames,
        snapshot.frames.source,
        charged.astype(np.uint32),
        inferred,
        snapshot.info,
    )
