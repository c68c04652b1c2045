"""Records the allocations of a running Node.js program by its inspector, as Chrome's Memory panel does.

A timeline (``.heaptimeline``) is a heap snapshot with the moments at which V8 looked at the heap and the stack that
allocated each object. Each look is a full garbage collection, every 50 ms (``HeapObjectsMap::PushHeapObjectsStats`` of
V8). The snapshot doesn't have what was freed again before its end, so what V8 reports of that meanwhile is written into
its header, in a field of Memlens' own.

A sampling (``.heapprofile``) is a tree of stacks with estimates of what of theirs is live.
"""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from memlens.dumping.errors import DumpError, ended
from memlens.dumping.inspector import Inspector
from memlens.dumping.node import POLL_S, busy, explained, inspected, is_alive, received
from memlens.formats.v8_sections import ALLOCATED_FIELD
from memlens.texts import phrase

_NODES = b'"nodes":['
_MOST_HEADER_BYTES = 1 << 20
_SAMPLED_BYTES = 32 << 10
"""The inspector's own default."""


def timeline(
    pid: int,
    arguments: tuple[str, ...],
    file: Path,
    *,
    timeout_s: float,
    stopped: Callable[[], bool],
    report: Callable[[int, float | None], None],
) -> None:
    """Write what is alive of what a process allocates until ``stopped``, and when and by which stack it was allocated.

    ``report`` is as in :func:`memlens.dumping.node.write`, once it has stopped. Raises :class:`DumpError`.
    """
    allocated = _Allocated()
    with explained(pid), inspected(pid, arguments, timeout_s) as inspector, file.open("wb") as output:
        _asked(inspector, pid, "HeapProfiler.startTrackingHeapObjects", timeout_s, trackAllocations=True)
        while not stopped():
            message = inspector.receive(POLL_S)
            if message is None and not is_alive(pid):
                raise ended(pid)
            if message is not None and message.params.statsUpdate:
                allocated.add(message.params.statsUpdate)
        pieces = _WithHeader(output.write, allocated)
        method = "HeapProfiler.stopTrackingHeapObjects"
        if not received(inspector, pid, method, pieces.write, timeout_s, report):
            raise _nothing(pid)
        pieces.finish()


def sampling(
    pid: int,
    arguments: tuple[str, ...],
    file: Path,
    *,
    timeout_s: float,
    stopped: Callable[[], bool],
) -> None:
    """Write which stacks allocated what is live of what a process allocates until ``stopped``, estimated.

    Raises :class:`DumpError`.
    """
    with explained(pid), inspected(pid, arguments, timeout_s) as inspector:
        _asked(inspector, pid, "HeapProfiler.startSampling", timeout_s, samplingInterval=_SAMPLED_BYTES)
        while not stopped():
            if inspector.receive(POLL_S) is None and not is_alive(pid):
                raise ended(pid)
        answer = _asked(inspector, pid, "HeapProfiler.stopSampling", timeout_s)
        profile = answer.get("profile") if isinstance(answer, dict) else None
        if not profile:
            raise _nothing(pid)
        file.write_bytes(msgspec.json.encode(profile))


def _asked(inspector: Inspector, pid: int, method: str, timeout_s: float, **params: object) -> object:
    """The answer to a request. Raises :class:`DumpError` for an error, or if there is none in time."""
    asked, deadline = inspector.send(method, **params), time.monotonic() + timeout_s
    while (message := inspector.receive(POLL_S)) is None or message.id != asked:
        if not is_alive(pid):
            raise ended(pid)
        if time.monotonic() > deadline:
            raise busy(pid, timeout_s)
    if message.error is not None:
        raise _nothing(pid)
    return message.result


def _nothing(pid: int) -> DumpError:
    return DumpError(
        phrase("Process {pid} doesn't record its allocations", pid=str(pid)),
        advice=phrase("Another tool may be recording it; end that, and try again."),
    )


class _Allocated:
    """What was alive of each interval's allocations when it ended, by the events of the inspector."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}

    def add(self, update: list[int]) -> None:
        """Add an event: triples of an interval's number, its objects and its bytes that are alive now."""
        for interval, size in zip(update[::3], update[2::3], strict=False):
            # later events say how much of it is left
            self._bytes.setdefault(interval, size)

    def all(self) -> list[int]:
        """The bytes of each interval, in their order."""
        return [self._bytes.get(interval, 0) for interval in range(max(self._bytes, default=-1) + 1)]


class _WithHeader:
    """Passes a snapshot's pieces on, and adds to its header what was allocated."""

    def __init__(self, write: Callable[[bytes], int], allocated: _Allocated) -> None:
        self._write = write
        self._allocated = allocated
        self._head: bytes | None = b""

    def write(self, piece: bytes) -> int:
        """Take the next piece; return how long it is."""
        if self._head is None:
            return self._write(piece)
        self._head += piece
        nodes = self._head.find(_NODES)
        if nodes >= 0 or len(self._head) > _MOST_HEADER_BYTES:
            end = self._head.rfind(b"}", 0, max(nodes, 0))
            if end >= 0:
                field = b',"%b":%b' % (ALLOCATED_FIELD.encode(), msgspec.json.encode(self._allocated.all()))
                self._head = self._head[:end] + field + self._head[end:]
            self.finish()
        return len(piece)

    def finish(self) -> None:
        """Pass on what waits for the end of the header."""
        if self._head is not None:
            self._write(self._head)
            self._head = None
