"""The sizes of a set's allocations: a histogram with a bin for each power of two."""

from typing import assert_never

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.kernels.tree.calltree import add_by
from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.selection.items import items_of, sizes_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT, COUNT, taken
from memlens.views.tables.size_classes import CLASSES, classes_of, edges_of, filter_of


class SizeBin(Struct, frozen=True):
    """Allocations from ``least_bytes`` to less than ``below_bytes``; the first bin is only for 0 bytes."""

    least_bytes: int
    below_bytes: int
    bytes: int
    count: int
    filter: str
    """The term that finds them."""


class SizesAnswer(Struct, frozen=True):
    """The bins from the smallest to the largest allocation, including empty ones between them.

    ``unknown_*`` is what has no size in the file. For a profile ``bytes`` is the requested value.
    """

    bins: list[SizeBin]
    unknown_bytes: int
    unknown_count: int


def sizes(snapshot: Snapshot, of: AllocationSet) -> SizesAnswer:
    """The histogram of a set. Raises :class:`BadRequestError` for a profile that doesn't have sizes."""
    every = sizes_of(snapshot, of)
    if every is None:
        raise BadRequestError(phrase("The profile has no block sizes, so there is no histogram"))
    items = items_of(snapshot, of)
    codes = classes_of(taken(every, items.rows))
    sums = np.zeros((len(items.values), CLASSES), np.int64)
    add_by(codes, items.values, sums)
    amounts, counts = sums[AMOUNT].tolist(), sums[COUNT].tolist()
    first = _first_known(snapshot.info)
    present = np.flatnonzero(np.bincount(codes, minlength=CLASSES)[first:]) + first
    bins = [
        SizeBin(*edges_of(code), amounts[code], counts[code], filter_of(code))
        for code in (range(int(present[0]), int(present[-1]) + 1) if len(present) else ())
    ]
    return SizesAnswer(bins, sum(amounts[:first]), sum(counts[:first]))


def _first_known(info: SnapshotInfo) -> int:
    """The first class of known sizes: an allocation may have 0 bytes, but a block in a profile can't."""
    match info:
        case TimelineInfo():
            return 0
        case ProfileInfo() | GraphInfo():
            return 1
        case _:
            assert_never(info)
