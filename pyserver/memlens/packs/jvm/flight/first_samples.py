"""The first sample of each thread, whose weight is not of the recording alone.

A sample's weight is what its thread has allocated since the one before it. HotSpot counts that from the begin of the
thread, so the first sample of a recording also has what the thread had allocated before it, days of it in a service.
Source: ``jfr/support/jfrObjectAllocationSample.cpp`` of HotSpot, and recordings beside the counters of their threads
(``jdk.ThreadAllocationStatistics``). A virtual thread's sample has what the thread that runs it had allocated since its
last one, for whichever virtual thread that was.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.packs.jvm.flight.chunks import Chunk
from memlens.packs.jvm.flight.code import are_virtual
from memlens.packs.jvm.flight.thread_totals import COUNTED, TOTAL_EVENTS

_PROGRAM = "jdk.JVMInformation"
FIRST_EVENTS = {_PROGRAM: ("jvmStartTime",), **TOTAL_EVENTS}
_STARTUP_MS = 10_000
"""A recording that begins so soon after its program has all of it."""

_READ_AT_ONCE_NS = 2_000_000_000
"""The threads that are read so soon after the begin of a recording were there before it."""

_NEAR = 0.1
"""A sample differs from the counter that it shows by no more than this share of it: some time lies between them."""


class Samples(NamedTuple):
    """Samples of allocations, a row for each: ``columns`` are the numbers of its stack and its labels' texts."""

    sizes: I64
    times: I64
    columns: dict[str, U32]

    def where(self, chosen: Mask | I64) -> "Samples":
        """Some of them."""
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return Samples(self.sizes[chosen], self.times[chosen], columns)


class FirstSamples:
    """Takes the first sample of each thread out of a recording's chunks, and knows how much it may count."""

    def __init__(self) -> None:
        self._largest: dict[int, int] = {}
        """The largest weight of each thread, but for its first."""
        self._threads: list[int] = []
        self._is_virtual: list[bool] = []
        self._parts: list[Samples] = []
        self._start_ns: int | None = None
        self._program_start_ms = 0
        self._allocated: dict[int, int] | None = None
        """What the threads had allocated that were there when the recording began; None if it isn't known."""
        self.reduced_bytes = 0
        """What the first samples have beyond what they count, once :meth:`limited` was called."""

    def __bool__(self) -> bool:
        return bool(self._parts)

    def without(self, chunk: Chunk, threads: I64, samples: Samples) -> Samples:
        """The samples of a chunk without the first of each thread."""
        self._learn(chunk)
        order = np.lexsort((samples.times, threads))
        distinct, places = np.unique(threads[order], return_index=True)
        is_new = np.array([key not in self._largest for key in distinct.tolist()], np.bool_)
        firsts = order[places[is_new]]
        self._threads += threads[firsts].tolist()
        self._is_virtual += are_virtual(chunk, threads[firsts]).tolist()
        self._parts.append(samples.where(firsts))
        rest = np.ones(len(threads), np.bool_)
        rest[firsts] = False
        sizes = np.where(rest, samples.sizes, 0)[order]
        for key, most in zip(distinct.tolist(), np.maximum.reduceat(sizes, places).tolist(), strict=True):
            self._largest[key] = max(self._largest.get(key, 0), most)
        return samples.where(rest)

    def limited(self) -> Samples | None:
        """The first samples, each with no more than the largest other one of its thread, else of all threads."""
        if not self._parts:
            return None
        samples = Samples(
            np.concatenate([part.sizes for part in self._parts]),
            np.concatenate([part.times for part in self._parts]),
            {
                name: np.concatenate([part.columns[name] for part in self._parts])
                for name in self._parts[0].columns
            },
        )
        largest = max(self._largest.values(), default=0)
        if self._has_all or not (largest or any(self._is_virtual)):
            return samples
        most = np.array([self._largest[key] or largest for key in self._threads], np.int64)
        is_virtual = np.array(self._is_virtual, np.bool_)
        was_there = np.array(
            [self._allocated is None or key in self._allocated for key in self._threads], np.bool_
        )
        sizes = np.where(was_there & ~is_virtual, np.minimum(samples.sizes, most), samples.sizes)
        self._limit_virtual(sizes, np.flatnonzero(is_virtual))
        self.reduced_bytes = sum((samples.sizes - sizes).tolist())
        return samples._replace(sizes=sizes)

    @property
    def _has_all(self) -> bool:
        """Whether the recording began with its program."""
        begin_ms = (self._start_ns or 0) // 1_000_000
        return 0 <= begin_ms - self._program_start_ms < _STARTUP_MS

    def _limit_virtual(self, sizes: I64, virtual: I64) -> None:
        """Limit those that virtual threads have of the threads that they run on, whose counters they show."""
        if not len(virtual) or self._allocated is None:
            return
        usual = int(np.median(sizes[virtual]))
        order = virtual[np.argsort(sizes[virtual], kind="stable")]
        ascending = sizes[order]
        for thread, allocated in self._allocated.items():
            if thread in self._largest or allocated <= usual:
                continue
            place = int(np.searchsorted(ascending, allocated))
            near = [each for each in (place - 1, place) if 0 <= each < len(order)]
            nearest = min(near, key=lambda each: abs(int(ascending[each]) - allocated))
            if abs(int(ascending[nearest]) - allocated) < _NEAR * allocated:
                sizes[order[nearest]] = min(usual, int(sizes[order[nearest]]))

    def _learn(self, chunk: Chunk) -> None:
        """Learn when the program began, and which threads it had when the recording did."""
        if self._start_ns is not None:
            return
        self._start_ns = chunk.header.start_ns
        programs, counted = chunk.events.get(_PROGRAM), chunk.events.get(COUNTED)
        if programs is not None and len(programs.rows):
            self._program_start_ms = int(programs["jvmStartTime"][0])
        if counted is not None and len(counted.rows):
            times = chunk.header.time_ns(counted["startTime"])
            soon = times < self._start_ns + _READ_AT_ONCE_NS
            if soon.any():
                read = zip(counted["thread"][soon].tolist(), counted["allocated"][soon].tolist(), strict=True)
                self._allocated = dict(read)
