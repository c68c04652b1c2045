"""How large the allocations of a set are: a histogram with a bin for each power of two."""

from typing import assert_never

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.views.selection.profile_sets import samples_of
from memlens.views.selection.sets import AllocationSet, rows_of

I64 = npt.NDArray[np.int64]

_POWERS = 1 << np.arange(62, dtype=np.int64)


class SizeBin(Struct, frozen=True):
    """Allocations of ``least_bytes`` up to ``below_bytes``; the first bin is that of 0 bytes alone."""

    least_bytes: int
    below_bytes: int
    bytes: int
    count: int
    filter: str
    """The term that finds them."""


class SizesAnswer(Struct, frozen=True):
    """The bins from the smallest allocation's to the largest's, those without any between them included.

    ``unknown_*`` is what has no size in the file. Of a profile ``bytes`` is the value that was asked about.
    """

    bins: list[SizeBin]
    unknown_bytes: int
    unknown_count: int


def sizes(snapshot: Snapshot, of: AllocationSet) -> SizesAnswer:
    """The histogram of a set. Raises :class:`BadRequestError` for a profile that doesn't tell sizes."""
    match snapshot.info:
        case TimelineInfo():
            device, rows = rows_of(snapshot, of)
            of_rows = device.size[rows]
            return _histogram(of_rows, of_rows, np.ones(len(rows), np.int64), np.zeros(len(rows), bool))
        case ProfileInfo():
            return _sizes_of_samples(snapshot, snapshot.info, of)
        case _:
            assert_never(snapshot.info)


def _sizes_of_samples(snapshot: Snapshot, profile: ProfileInfo, of: AllocationSet) -> SizesAnswer:
    if not profile.has_sizes:
        raise BadRequestError("The profile has no sizes of blocks, so there is no histogram")
    samples = samples_of(snapshot, of)
    of_samples = snapshot.samples.size[samples.rows]
    return _histogram(of_samples, samples.amounts, samples.counts, of_samples <= 0)


def _histogram(of_rows: I64, amounts: I64, counts: I64, unknown: npt.NDArray[np.bool_]) -> SizesAnswer:
    codes = np.searchsorted(_POWERS, of_rows[~unknown], "right")
    sums, numbers = np.zeros(len(_POWERS) + 1, np.int64), np.zeros(len(_POWERS) + 1, np.int64)
    np.add.at(sums, codes, amounts[~unknown])
    np.add.at(numbers, codes, counts[~unknown])
    present = np.flatnonzero(np.bincount(codes, minlength=len(sums)))
    bins = [
        SizeBin(*_edges(code), int(sums[code]), int(numbers[code]), _filter(code))
        for code in (range(int(present[0]), int(present[-1]) + 1) if len(present) else ())
    ]
    return SizesAnswer(bins, int(amounts[unknown].sum()), int(counts[unknown].sum()))


def _edges(code: int) -> tuple[int, int]:
    return (0, 1) if code == 0 else (1 << (code - 1), 1 << code)


def _filter(code: int) -> str:
    least, below = _edges(code)
    return "size=0" if code == 0 else f"size>={least} size<{below}"
