"""What Java's threads were doing, and which of them ran out of memory."""

from collections.abc import Callable, Sequence

import numpy as np

from memlens.model.frames import SourceFrame
from memlens.model.graph import NONE, References, Threads, Values

_FAILED = "java.lang.OutOfMemoryError.<init>"
"""The innermost frame that HotSpot writes of the thread for whose sake ``-XX:+HeapDumpOnOutOfMemoryError`` dumps."""

_STATUS, _HOLDER = "threadStatus", "holder"
_ALIVE, _TERMINATED, _RUNNABLE, _WAITING, _WITH_TIMEOUT, _BLOCKED = 0x1, 0x2, 0x4, 0x10, 0x20, 0x400
_STATES = (
    (_RUNNABLE, "runnable"),
    (_BLOCKED, "blocked"),
    (_WAITING, "waiting"),
    (_WITH_TIMEOUT, "waiting, with a timeout"),
    (_TERMINATED, "terminated"),
)
"""Bits of the field ``threadStatus``, in the order of ``jdk.internal.misc.VM.toThreadState``."""


def mark_out_of_memory(threads: Threads, frames: Sequence[SourceFrame]) -> None:
    """Mark the threads whose innermost frame makes an OutOfMemoryError."""
    rows = threads.rows
    ends = rows["end"].astype(np.int64)
    for number, (start, end) in enumerate(zip([0, *ends.tolist()], ends.tolist(), strict=False)):
        innermost = int(threads.frames[start]) if end > start else NONE
        if innermost != NONE and frames[innermost].function == _FAILED:
            rows["out_of_memory"][number] = 1


def add_states(threads: Threads, named: Callable[[str], int], references: References, values: Values) -> None:
    """Give threads their states; ``named`` returns the number of a text, which is made where there is none.

    Since JDK 19 the status is a field of the object that a thread has as ``holder``.
    """
    status, holder = named(_STATUS), named(_HOLDER)
    for row in threads.rows:
        own = int(row["object"])
        part = slice(int(references.start[own]), int(references.start[own + 1]))
        held = references.target[part][references.name[part] == holder]
        found = (_state(each, status, values) for each in (own, *held.tolist()))
        row["state"] = named(next(filter(None, found), ""))


def _state(number: int, status: int, values: Values) -> str:
    part = slice(int(values.start[number]), int(values.start[number + 1]))
    for bits in values.bits[part][values.name[part] == status].tolist():
        known = (state for bit, state in _STATES if bits & bit)
        return next(known, "runnable" if bits & _ALIVE else "new")
    return ""
