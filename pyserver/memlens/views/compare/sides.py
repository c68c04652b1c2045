"""One side of a comparison: everything that it needs of a set, independent of its snapshot.

A snapshot may be used by one thread only. So each side is made in its snapshot's thread, and later steps use two sides
and no snapshot.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np

from memlens.arrays import U8, U32, Mask
from memlens.model.attribution import Attribution
from memlens.model.frames import NATIVE
from memlens.model.info import SnapshotInfo
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.views.naming.places import charged_places, native_places, places_of
from memlens.views.selection.items import items_by_stack, items_of, stacks_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import OneSide, ValuedStacks
from memlens.views.tables.groupings import INFERRED, check_kind, goes_by_stack, grouping

CompareBy = Literal["line", "function", "file", "stack", "category", "module", "package"]
Grouped = Literal["category", "module", "package"]
"""Rows that aren't places in code: they have a name, and no line."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The stacks of a set on a separate tree, and the place to which each is charged.

    Rows that aren't places in code have their names in ``places``, as functions without a file.

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


def side_by(snapshot: Snapshot, of: AllocationSet, by: CompareBy, attribution: Attribution) -> Side:
    """A set as one side of a comparison by places or by groups. Raises :class:`BadRequestError`."""
    match by:
        case "category" | "module" | "package":
            return grouped_side(snapshot, of, by, attribution)
        case "line" | "function" | "file" | "stack":
            return side_of(snapshot, of, attribution)
        case _:
            assert_never(by)


def grouped_side(
    snapshot: Snapshot, of: AllocationSet, by: Grouped, attribution: Attribution = "mine"
) -> Side:
    """A set as one side of a comparison by category, module or package.

    Groups with one name are one, recorded or inferred, so that what one file records and the other has inferred is no
    difference. Raises :class:`BadRequestError` for a set or a grouping that the snapshot doesn't have.
    """
    check_kind(snapshot, by)
    items = (items_by_stack if goes_by_stack(snapshot, of, by) else items_of)(snapshot, of)
    found = grouping(snapshot, of, items, by, attribution)
    keys, groups = np.unique(found.codes, return_inverse=True)
    names = [found.name(key).name.text for key in keys.tolist()]
    numbers: dict[str, int] = {}
    number_of = [numbers.setdefault(name.removesuffix(INFERRED), len(numbers)) for name in names]
    inferred = np.array([name.endswith(INFERRED) for name in names], bool)[groups]
    if found.inferred is not None:
        inferred |= found.inferred
    return Side(
        items.pruned(),
        [("", 0, name, NATIVE) for name in numbers],
        np.ones(len(numbers), bool),
        0,
        np.empty(0, np.uint8),
        np.array(number_of, np.uint32)[groups],
        inferred,
        snapshot.info,
    )
