"""Heap snapshots and recordings of allocations by V8's inspector, which sends them in pieces, of Node.js and of pages.

A snapshot beside ``v8.writeHeapSnapshot`` in the process takes 3% more of its memory (3.2 GB at most for a file of
470 MB), says how far it is, and is written as this user, whatever the process may write and wherever it runs.

A timeline (``.heaptimeline``) is a heap snapshot with the times at which V8 examined the heap and the stack that
allocated each object. Each time is a full garbage collection, every 50 ms (``HeapObjectsMap::PushHeapObjectsStats`` of
V8). The snapshot lacks what was freed before its end, so what V8 reports about that is written into its header, in a
field of Memlens's own.

A sampling profile (``.heapprofile``) is a tree of stacks with estimates of their live bytes.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from memlens.dumping.errors import DumpError, ended, no_answer
from memlens.dumping.options import Recording
from memlens.packs.v8.dumping.inspector import Inspector, InspectorError, Message, UnreadableError
from memlens.packs.v8.recorded import ALLOCATED_FIELD
from memlens.texts import Text, phrase
from memlens.units import format_bytes

POLL_S = 0.1
_RESET = "HeapProfiler.resetProfiles"
_NODES = b'"nodes":['
_MOST_HEADER_BYTES = 1 << 20
_SAMPLED_BYTES = 32 << 10
"""The inspector's own default."""
_MOST_SNAPSHOT_BYTES = 64 << 30
"""V8's heap has 4 GB in browsers, and its text is several times as large where objects are small."""
_MOST_INTERVALS = 1 << 22
"""Of 50 ms each: more than two days."""
_MOST_INTERVAL_BYTES = 1 << 53

Report = Callable[[int, float | None], None]


class Inspected(NamedTuple):
    """A program with V8's heap profiler, and a session with it."""

    inspector: Inspector
    program: Text
    """Its name at the beginning of a sentence."""
    is_alive: Callable[[], bool]
    timeout_s: float
    """How long to wait for its answers."""

    def busy(self) -> DumpError:
        """The error for a program that doesn't answer."""
        return busy(self.program, self.timeout_s)


def busy(program: Text, timeout_s: float) -> DumpError:
    """The error for a program that doesn't answer."""
    advice = phrase("Its main thread may be in a long call; allow more time with --timeout.")
    return no_answer(program, timeout_s, advice)


@contextlib.contextmanager
def explained(program: Text, is_alive: Callable[[], bool]) -> Iterator[None]:
    """Explain what a closed connection means."""
    try:
        yield
    except UnreadableError as error:
        raise DumpError(
            phrase("{program} sent something that V8's inspector never sends", program=program),
            advice=phrase("Check that its port isn't another program's."),
        ) from error
    except InspectorError as error:
        if not is_alive():
            raise ended(program) from error
        raise DumpError(
            phrase("{program} closed the connection before its heap was written", program=program),
            advice=phrase("Perhaps it was closed, ran out of memory, or closed its inspector; try again."),
        ) from error


def snapshot(of: Inspected, file: Path, report: Report) -> None:
    """Write a heap snapshot into ``file``.

    ``report`` gets the bytes written so far; before the first, the fraction of the heap that V8 has traversed. Raises
    :class:`DumpError`, InspectorError.
    """
    with file.open("wb") as output:
        if not _received(of, "HeapProfiler.takeHeapSnapshot", output.write, report):
            raise DumpError(
                phrase("{program} sent no heap snapshot", program=of.program),
                advice=phrase("Call v8.writeHeapSnapshot() in the program, or use Chrome's Memory panel."),
            )


def recorded(
    of: Inspected, file: Path, options: Recording, stopped: Callable[[], bool], report: Report
) -> None:
    """Record allocations until ``stopped`` by :func:`sampling` or as a :func:`timeline`."""
    if options.sampling:
        sampling(of, file, stopped)
    else:
        timeline(of, file, stopped, report)


def timeline(of: Inspected, file: Path, stopped: Callable[[], bool], report: Report) -> None:
    """Record allocations until ``stopped``, and write those still alive with their times and stacks.

    ``report`` is as in :func:`snapshot`, once it has stopped. Raises :class:`DumpError`, InspectorError.
    """
    allocated = _Allocated()
    with file.open("wb") as output:
        # when enabled, it reports that a page moved to another process, where tracking starts again
        _asked(of, "HeapProfiler.enable")
        _asked(of, "HeapProfiler.startTrackingHeapObjects", trackAllocations=True)
        while not stopped():
            message = of.inspector.receive(POLL_S)
            if message is None:
                if not of.is_alive():
                    raise ended(of.program)
            elif message.method == _RESET:
                allocated = _Allocated()
            elif message.params.statsUpdate:
                allocated.add(message.params.statsUpdate)
        pieces = _WithHeader(output.write, allocated)
        if not _received(of, "HeapProfiler.stopTrackingHeapObjects", pieces.write, report):
            raise _nothing(of)
        pieces.finish()


def sampling(of: Inspected, file: Path, stopped: Callable[[], bool]) -> None:
    """Sample allocations until ``stopped``, and write estimates of the live bytes by stack.

    Raises :class:`DumpError`, InspectorError.
    """
    _asked(of, "HeapProfiler.startSampling", samplingInterval=_SAMPLED_BYTES)
    while not stopped():
        if of.inspector.receive(POLL_S) is None and not of.is_alive():
            raise ended(of.program)
    match _asked(of, "HeapProfiler.stopSampling"):
        case dict() as answer if answer.get("profile"):
            file.write_bytes(msgspec.json.encode(answer["profile"]))
        case _:
            raise _nothing(of)


def _received(of: Inspected, method: str, write_piece: Callable[[bytes], int], report: Report) -> int:
    """Request a snapshot by a method of the inspector, and write its chunks; return the bytes, 0 if it was refused."""
    asked, written = of.inspector.send(method, reportProgress=True), 0
    has_begun, deadline = False, time.monotonic() + of.timeout_s
    while (message := of.inspector.receive(POLL_S)) is None or message.id != asked:
        if message is None:
            if not of.is_alive():
                raise ended(of.program)
            if not has_begun and time.monotonic() > deadline:
                raise of.busy()
            continue
        has_begun, event = True, message.params
        if event.chunk:
            written += write_piece(event.chunk.encode())
            if written > _MOST_SNAPSHOT_BYTES:
                raise DumpError(
                    phrase("{program} sent more than {size}, and no end",
                           program=of.program, size=format_bytes(_MOST_SNAPSHOT_BYTES)),
                )  # fmt: skip
            report(written, None)
        elif event.total > 0:
            report(0, min(max(event.done, 0), event.total) / event.total)
    return 0 if message.error is not None else written


def _asked(of: Inspected, method: str, **params: object) -> object:
    """The answer to a request. Raises :class:`DumpError` for an error, or if there is none in time."""
    asked, deadline = of.inspector.send(method, **params), time.monotonic() + of.timeout_s
    message: Message | None
    while (message := of.inspector.receive(POLL_S)) is None or message.id != asked:
        if not of.is_alive():
            raise ended(of.program)
        if time.monotonic() > deadline:
            raise of.busy()
    if message.error is not None:
        raise _nothing(of)
    return message.result


def _nothing(of: Inspected) -> DumpError:
    return DumpError(
        phrase("{program} doesn't record its allocations", program=of.program),
        advice=phrase("Another tool may be recording it; end that, and try again."),
    )


class _Allocated:
    """The bytes of each interval's allocations that were alive at its end, from the inspector's events."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}

    def add(self, update: list[int]) -> None:
        """Add an event: triples of an interval's number, its objects and its bytes that are alive now."""
        for interval, size in zip(update[::3], update[2::3], strict=False):
            # later events say how many of these bytes are left
            if 0 <= interval < _MOST_INTERVALS and 0 <= size < _MOST_INTERVAL_BYTES:
                self._bytes.setdefault(interval, size)

    def all(self) -> list[int]:
        """The bytes of each interval, in their order."""
        return [self._bytes.get(interval, 0) for interval in range(max(self._bytes, default=-1) + 1)]


class _WithHeader:
    """Forwards a snapshot's chunks, and adds the allocated bytes to its header."""

    def __init__(self, write: Callable[[bytes], int], allocated: _Allocated) -> None:
        self._write = write
        self._allocated = allocated
        self._head: bytes | None = b""

    def write(self, piece: bytes) -> int:
        """Forward the next chunk; return its length."""
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
        """Forward what is held back until the header is complete."""
        if self._head is not None:
            self._write(self._head)
            self._head = None
