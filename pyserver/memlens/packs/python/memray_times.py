"""memray's record of a run over time, as the series of a profile and the changes of its samples."""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64
from memlens.formats.errors import DamagedSnapshotError
from memlens.model.profile import CHANGE_DTYPE, LIVE_BYTES, LIVE_COUNT, RSS_BYTES, Column, ProfileTimes
from memlens.texts import phrase

NEVER = -1
"""The end of an allocation that was never freed."""

_MOST_EDGES = 4096
_MOST_TAIL_MS = 60_000
"""Limit on the milliseconds between memray's last memory record and the end of the recording."""


class End(NamedTuple):
    """When the recording ended, what was live then, and the most bytes before each memory record and after the last."""

    ms: int
    live_bytes: int
    peaks: I64


def times_of(memory: I64, end: End | None, lived: tuple[I64, I64] | None) -> ProfileTimes:
    """The memory records (ms, RSS, heap), which memray writes every ten milliseconds, in a limited number of bins.

    The end is an edge if it is known. ``lived`` are samples, and for each a row of (first, last, bytes, count): how
    many allocations were made before memory record ``first`` and freed before ``last``, or :data:`NEVER`; both may be
    the number of records, for the end. Without ``lived`` there are only curves. An allocation that was made and freed
    between different memory records, but within one bin, counts as allocated and freed in that bin.
    """
    rows = memory.copy()
    # lifetimes are given by numbers of records, so the axis must not run backwards
    rows[:, 0] = np.maximum.accumulate(rows[:, 0])
    rows[:, 1:] = np.maximum(rows[:, 1:], 0)
    highest = rows[:, 2]
    if end is not None:
        last_ms = int(rows[-1, 0])
        ended = max(last_ms, min(end.ms, last_ms + _MOST_TAIL_MS))
        rows = np.append(rows, [[ended, rows[-1, 1], end.live_bytes]], axis=0)
        highest = np.maximum(end.peaks, rows[:, 2])
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
    # memray omits what began and ended between two records
    return ProfileTimes(time_us, series, peaks, offsets, changes, has_short_lived=False)


def _changes(last: I64, lived: tuple[I64, I64]) -> tuple[I64, Column]:
    """The edges of changes, ascending, and the changes. ``last`` is the number of each edge's last record."""
    sample, rows = lived
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
            raise DamagedSnapshotError(phrase("The sizes add up to more bytes than can be counted"))
        for name, amounts in (
            ("allocated", np.concatenate((rows[:, column], none_allocated))),
            ("freed", np.concatenate((none_freed, rows[freed, column]))),
        ):
            if len(starts):
                changes[f"{name}_{unit}"] = np.add.reduceat(amounts[order], starts)
    return edge[starts], changes
