"""What memray records of a run over time, as the lines of a profile and the changes of its samples."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.formats.errors import DamagedSnapshotError
from memlens.model.profile import CHANGE_DTYPE, LIVE_BYTES, LIVE_COUNT, RSS_BYTES, Column, ProfileTimes

I64 = npt.NDArray[np.int64]

NEVER = -1
"""Stands for when an allocation was freed that was live at the end."""

_MOST_EDGES = 4096
_MOST_TAIL_MS = 60_000
"""Milliseconds that the end of the recording may lie after memray's last line of memory."""


class End(NamedTuple):
    """When the recording ended, what was live then, and the most bytes before each line of memory and after all."""

    ms: int
    live_bytes: int
    peaks: list[int]


def times_of(memory: I64, end: End | None, lived: list[tuple[int, I64]] | None) -> ProfileTimes:
    """The lines of memory (ms, RSS, heap), which memray writes every ten milliseconds, in at most so many bins.

    The end has an edge where it is known. ``lived`` are samples with rows of (first, last, bytes, count): so many
    allocations were made before the line of memory ``first`` and freed before ``last``, or :data:`NEVER`; ``first``
    and ``last`` may be the number of lines, for the end. Without it there are only curves. What lies in several of
    memray's stretches of time and in one bin counts as allocated and freed in that one.
    """
    rows = memory.copy()
    # what lived is given by the numbers of lines, so the axis must not run back
    rows[:, 0] = np.maximum.accumulate(rows[:, 0])
    highest = rows[:, 2]
    if end is not None:
        last_ms = int(rows[-1, 0])
        ended = max(last_ms, min(end.ms, last_ms + _MOST_TAIL_MS))
        rows = np.append(rows, [[ended, rows[-1, 1], end.live_bytes]], axis=0)
        highest = np.maximum(np.array(end.peaks, np.int64), rows[:, 2])
    step = -(-len(rows) // _MOST_EDGES)
    last = np.append(np.arange(step - 1, len(rows) - 1, step), len(rows) - 1)
    edges = rows[last]
    time_us = np.clip(edges[:, 0] - rows[0, 0], 0, 2**50) * 1000
    series = {LIVE_BYTES: edges[:, 2].copy(), RSS_BYTES: edges[:, 1].copy()}
    peaks = np.maximum.reduceat(highest, np.append(0, last[:-1] + 1))
    if lived is None or end is None:
        return ProfileTimes(
            time_us, series, peaks, np.zeros(len(edges) + 1, np.uint64), np.empty(0, CHANGE_DTYPE),
            has_flow=False, known=np.zeros(len(edges), np.bool_),
        )  # fmt: skip
    edge, changes = _changes(last, lived)
    offsets = np.searchsorted(edge, np.arange(len(edges) + 1)).astype(np.uint64)
    live = np.zeros(len(edges), np.int64)
    np.add.at(live, edge, changes["allocated_count"].astype(np.int64) - changes["freed_count"])
    series[LIVE_COUNT] = np.cumsum(live)
    # what began and ended between two of its marks memray has summed up to nothing
    return ProfileTimes(time_us, series, peaks, offsets, changes, has_short_lived=False)


def _changes(last: I64, lived: list[tuple[int, I64]]) -> tuple[I64, Column]:
    """The edges of changes, ascending, and the changes. ``last`` is the number of each edge's last line."""
    sample = np.repeat(np.array([number for number, _ in lived], np.int64), [len(each) for _, each in lived])
    rows = np.concatenate([np.empty((0, 4), np.int64), *(each for _, each in lived)])
    freed = rows[:, 1] != NEVER
    edge = np.searchsorted(last, np.concatenate((rows[:, 0], rows[freed, 1])))
    sample = np.concatenate((sample, sample[freed]))
    order = np.lexsort((sample, edge))
    edge, sample = edge[order], sample[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (edge[1:] != edge[:-1]) | (sample[1:] != sample[:-1])
    starts = np.flatnonzero(first)
    changes = np.zeros(len(starts), CHANGE_DTYPE)
    changes["sample"] = sample[starts]
    none_allocated, none_freed = np.zeros(int(freed.sum()), np.int64), np.zeros(len(rows), np.int64)
    for column, unit, most in ((2, "bytes", 2**60), (3, "count", 2**32)):
        if float(rows[:, column].sum(dtype=np.float64)) >= most:
            raise DamagedSnapshotError("The sizes add up to more bytes than can be counted")
        for name, amounts in (
            ("allocated", np.concatenate((rows[:, column], none_allocated))),
            ("freed", np.concatenate((none_freed, rows[freed, column]))),
        ):
            if len(starts):
                changes[f"{name}_{unit}"] = np.add.reduceat(amounts[order], starts)
    return edge[starts], changes
