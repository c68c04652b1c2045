"""What the virtual machine counted by thread, beside what the samples add up to for the same threads and times.

Source: ``ThreadAllocationStatistics`` in ``jfrPeriodic.cpp`` of HotSpot: the bytes that each thread that is alive has
allocated since it began, at the begin and at the end of a chunk, or as often as the settings say.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import F64, I64
from memlens.packs.jvm.flight.chunks import Chunk, Events
from memlens.packs.jvm.flight.code import ChunkCode, are_virtual

COUNTED = "jdk.ThreadAllocationStatistics"
TOTAL_EVENTS = {COUNTED: ("startTime", "allocated", "thread")}
_MOST_BYTES = 2**56


class ThreadTotal(NamedTuple):
    """What one thread allocated between its first and last reading in each chunk, by both."""

    name: int
    """The number of its text."""
    counted_bytes: int
    sampled_bytes: int


class ThreadTotals:
    """Collects the totals of a recording's chunks; threads have the same numbers in all of them."""

    def __init__(self) -> None:
        self._found: dict[int, ThreadTotal] = {}
        self._has_virtual = False

    def add(self, chunk: Chunk, code: ChunkCode, sampled: str, size: str) -> None:
        """Take a chunk's readings, and its samples: events called ``sampled``, with bytes in the field ``size``."""
        events, samples = chunk.events.get(COUNTED), chunk.events.get(sampled)
        if events is None or samples is None or not len(events.rows):
            return
        self._has_virtual |= bool(are_virtual(chunk, np.unique(samples["eventThread"])).any())
        order = np.lexsort((events["startTime"], events["thread"]))
        threads, times = events["thread"][order], events["startTime"][order]
        allocated = np.clip(events["allocated"][order], 0, _MOST_BYTES)
        first = np.flatnonzero(np.diff(threads, prepend=threads[0] - 1))
        last = np.append(first[1:], len(threads)) - 1
        counted = allocated[last] - allocated[first]
        sums = _sampled(samples, size, threads[first], times[first], times[last])
        names = code.threads(threads[first])
        for number in np.flatnonzero((last > first) & (counted >= 0)).tolist():
            thread = int(threads[first[number]])
            before = self._found.get(thread, ThreadTotal(0, 0, 0))
            self._found[thread] = ThreadTotal(
                int(names[number]),
                before.counted_bytes + int(counted[number]),
                before.sampled_bytes + int(sums[number]),
            )

    def largest_first(self) -> list[ThreadTotal]:
        """The threads that allocated anything; none where virtual threads did, which aren't counted."""
        if self._has_virtual:
            return []
        found = (each for each in self._found.values() if each.counted_bytes)
        return sorted(found, key=lambda each: -each.counted_bytes)


def _sampled(samples: Events, size: str, threads: I64, begins: I64, ends: I64) -> F64:
    """What the samples of each thread add up to within its times."""
    places = np.minimum(np.searchsorted(threads, samples["eventThread"]), len(threads) - 1)
    times = samples["startTime"]
    chosen = (threads[places] == samples["eventThread"]) & (begins[places] < times) & (times <= ends[places])
    amounts = np.clip(samples[size], 0, _MOST_BYTES)[chosen].astype(np.float64)
    return np.bincount(places[chosen], amounts, len(threads)).astype(np.float64)
