"""Native memory that async-profiler sampled: allocations, and frees of what it may have sampled.

Source: ``mallocTracer.cpp`` and ``flightRecorder.cpp`` of async-profiler. A free says an address alone, of any block.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.packs.jvm.flight.chunks import Chunk
from memlens.packs.jvm.flight.code import ChunkCode

_MALLOC, _FREE = "profiler.Malloc", "profiler.Free"
NATIVE_EVENTS = {
    _MALLOC: ("startTime", "eventThread", "stackTrace", "address", "size"),
    _FREE: ("startTime", "address"),
}
_MOST_BYTES = 2**48
"""Bytes of one block; more are damage."""


class Blocks(NamedTuple):
    """Blocks that were sampled when they were allocated."""

    stacks: I64
    threads: I64
    sizes: I64
    is_live: Mask
    """Whether nothing was freed or allocated at their address since."""


class NativeMemory:
    """Collects what the chunks of a recording have."""

    def __init__(self) -> None:
        self._parts: list[tuple[I64, I64, I64, U32, U32]] = []
        self._frees: list[tuple[I64, I64]] = []

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, chunk: Chunk, code: ChunkCode) -> None:
        """Take a chunk's events."""
        blocks, frees = chunk.events.get(_MALLOC), chunk.events.get(_FREE)
        if blocks is not None and len(blocks.rows):
            times, sizes = chunk.header.time_ns(blocks["startTime"]), np.clip(blocks["size"], 0, _MOST_BYTES)
            stacks, threads = code.stacks(blocks["stackTrace"]), code.threads(blocks["eventThread"])
            self._parts.append((times, blocks["address"], sizes, stacks, threads))
        if frees is not None and len(frees.rows):
            self._frees.append((chunk.header.time_ns(frees["startTime"]), frees["address"]))

    def blocks(self) -> Blocks:
        """All that were sampled, of which there are some."""
        times, addresses, sizes, stacks, threads = map(np.concatenate, zip(*self._parts, strict=True))
        freed = self._frees or [(np.empty(0, np.int64), np.empty(0, np.int64))]
        free_times, free_addresses = map(np.concatenate, zip(*freed, strict=True))
        # what is last at an address is there, if it isn't a free
        when, where = np.concatenate((times, free_times)), np.concatenate((addresses, free_addresses))
        order = np.lexsort((when, where))
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = where[order][1:] != where[order][:-1]
        is_live = np.zeros(len(order), np.bool_)
        is_live[order] = is_last
        return Blocks(stacks.astype(np.int64), threads.astype(np.int64), sizes, is_live[: len(times)])
