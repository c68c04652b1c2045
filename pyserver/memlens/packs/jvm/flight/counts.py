"""How many objects of each type there were after the last collection that counted them.

Source: ``gc/shared/objectCountEventSender.cpp`` of HotSpot, which leaves out types of less than half a percent of the
heap.
``jdk.ObjectCountAfterGC`` is off unless it is switched on, ``jdk.ObjectCount`` is of the begin of a chunk.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64
from memlens.packs.jvm.flight.chunks import Chunk
from memlens.packs.jvm.flight.code import ChunkCode, Code, declared_frame

_FIELDS = ("startTime", "gcId", "objectClass", "count", "totalSize")
COUNT_EVENTS = {"jdk.ObjectCountAfterGC": _FIELDS, "jdk.ObjectCount": _FIELDS}
_MOST = 2**48
"""Bytes or objects of one type; more are damage."""


class Counts(NamedTuple):
    """A row for each type: a stack that is the type alone, its text, and what there was of it."""

    stacks: I64
    types: I64
    counts: I64
    sizes: I64


class TypeCounts:
    """Keeps the latest count of a recording's chunks."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._at_ns = -1
        self.last: Counts | None = None

    def add(self, chunk: Chunk, code: ChunkCode) -> None:
        """Take a chunk's counts, if they are later."""
        for name in COUNT_EVENTS:
            events = chunk.events.get(name)
            if events is None or not len(events.rows):
                continue
            times = chunk.header.time_ns(events["startTime"])
            at = int(times.max())
            if at < self._at_ns:
                continue
            self._at_ns = at
            # those of a collection have its number, and times of their own
            chosen = events["gcId"] == events["gcId"][int(times.argmax())]
            keys = events["objectClass"][chosen]
            distinct, of_keys = np.unique(keys, return_inverse=True)
            stacks = [self._code.stack([declared_frame(code.class_name(key))]) for key in distinct.tolist()]
            self.last = Counts(
                np.array(stacks, np.int64)[of_keys],
                code.types(keys).astype(np.int64),
                *(np.clip(events[column][chosen], 0, _MOST) for column in ("count", "totalSize")),
            )
