"""What Java's threads were doing, and which of them ran out of memory."""

from collections.abc import Callable, Sequence

import numpy as np

from memlens.model.frames import SourceFrame
from memlens.model.graph import NONE, Threads
from memlens.packs.jvm.fields import Fields

_FAILED = "java.lang.OutOfMemoryError.<init>"
"""The innermost frame that HotSpot writes of the thread for whose sake ``-XX:+HeapDumpOnOutOfMemoryError`` dumps."""

_STATUS, _HOLDER = "threadStatus", "holder"
_UNKNOWN = 1 << 40
"""No status: those of the file are ints."""

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


def add_states(threads: Threads, named: Callable[[str], int], fields: Fields) -> None:
    """Give threads their states; ``named`` returns the number of a text, which is made where there is none.

    Since JDK 19 the status is a field of the object that a thread has as ``holder``.
    """
    own = threads.rows["object"].astype(np.int64)
    status = fields.integers(own, _STATUS, absent=_UNKNOWN)
    held = fields.integers(fields.targets(own, _HOLDER), _STATUS, absent=_UNKNOWN)
    distinct, of = np.unique(np.where(status == _UNKNOWN, held, status), return_inverse=True)
    states = [named(_state(bits)) if bits != _UNKNOWN else 0 for bits in distinct.tolist()]
    threads.rows["state"] = np.array(states, np.uint32)[of] if states else 0


def _state(bits: int) -> str:
    known = (state for bit, state in _STATES if bits & bit)
    return next(known, "runnable" if bits & _ALIVE else "new")
