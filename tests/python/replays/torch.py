"""PyTorch's snapshots, event by event.

Allocations stand in the order of PyTorch's viewer (``process_alloc_data`` in ``MemoryViz.js``): what was live before
the trace first, the last one found at the bottom, then the trace's own.

An event's ``frames`` are the stack of that event. So an allocation that was made before the trace and freed in it has
no stack: what is recorded is who freed it. Only where every free of the file that can be checked repeats the stack of
its allocation, as PyTorch's allocator writes it where it keeps the context of the block, a free stands for it. Blocks
of the final segments have the stack of their allocation.
"""

import binascii
import io
import json
import pickle
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.python.replays.stacks import NO_FILE, Frame, Line, Sums, Tree, known_line

PENDING = ("active_pending_free", "active_awaiting_free")
FREES = ("free_requested", "free_completed", "free")
HOST = 65_536
"""Represents pinned host memory among devices, whose numbers are far lower."""

RawFrame = tuple[str, int, str]


class PlainUnpickler(pickle.Unpickler):
    """Loads plain data and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def load(path: Path) -> Any:
    """A snapshot's data: from a pickle, JSON, or the page that ``torch.cuda._memory_viz`` makes."""
    data = path.read_bytes()
    first = data.lstrip()[:1]
    if first in (b"{", b"["):
        return json.loads(data)
    if first == b"<":
        embedded = re.search(rb'"base64"\s*:\s*"([^"]+)"', data)
        assert embedded is not None
        data = binascii.a2b_base64(embedded[1])
    return PlainUnpickler(io.BytesIO(data)).load()


@dataclass
class Alloc:
    """An allocation; ``end`` is None where it is never freed, ``rounded`` where no final block has it."""

    addr: int
    size: int
    start: int
    end: int | None
    frames: tuple[RawFrame, ...]
    pending: int | None = None
    freed: tuple[RawFrame, ...] = ()
    """Where it was freed, empty where the file doesn't say."""
    stream: int = 0
    category: str | None = None
    rounded: int | None = None
    waits: bool = False
    """Its free was pending when the snapshot was taken."""
    early: bool = False
    """It was allocated before recording: live at the start of a trace that has events."""


def frames_of(entry: dict[str, Any]) -> tuple[RawFrame, ...]:
    """A stack as it was recorded, innermost first."""
    return tuple((f["filename"], f["line"], f["name"]) for f in entry.get("frames") or ())


def traces_of(snapshot: Any) -> dict[int, list[dict[str, Any]]]:
    """Each device's events; the host's are those of all its allocators, one after the other."""
    if isinstance(snapshot, list):
        return {}
    traces = dict(enumerate(snapshot.get("device_traces", [])))
    host = snapshot.get("host_traces", [])
    traces[HOST] = [event for each in host for event in each] if host and isinstance(host[0], list) else host
    return {device: trace for device, trace in traces.items() if trace}


def segments_of(snapshot: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each segment with its device."""
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot}
    for segment in snapshot.get("segments", []):
        yield segment.get("device", 0), segment
    for segment in snapshot.get("host_segments", []):
        yield HOST, segment


def placed(segment: Any) -> Iterator[tuple[int, Any]]:
    """A segment's blocks with their addresses; older files have them in blocks' histories or not at all."""
    addr = segment["address"]
    for block in segment["blocks"]:
        history = block.get("history") or [{}]
        yield block.get("address", history[0].get("addr", addr)), block
        addr += block["size"]


class _Stacks:
    """Stacks as they were recorded. Events of a file share the lists of their frames, which are read once."""

    def __init__(self) -> None:
        # with the list, whose number no other may get meanwhile
        self._known: dict[int, tuple[Any, tuple[RawFrame, ...]]] = {}

    def of(self, entry: dict[str, Any]) -> tuple[RawFrame, ...]:
        """An entry's stack, innermost first."""
        frames = entry.get("frames")
        if not frames:
            return ()
        known = self._known.get(id(frames))
        if known is None:
            known = self._known[id(frames)] = (frames, frames_of(entry))
        return known[1]


class _Matched:
    """What a trace allocates, and what it frees."""

    def __init__(self, trace: Iterable[dict[str, Any]]) -> None:
        self._stacks = _Stacks()
        self.before: list[Alloc] = []
        """Freed but not allocated in the trace: with the stacks of their frees."""
        self.during: list[Alloc] = []
        self.live: dict[int, Alloc] = {}
        self.completions = 0
        self.checked_frees = 0
        self.repeating_frees = 0
        for moment, event in enumerate(trace, 1):
            if event["action"] == "alloc":
                self._made(event, moment)
            elif event["action"] in FREES:
                self._freed(event, moment)

    def _made(self, event: dict[str, Any], moment: int) -> None:
        addr = event["addr"]
        if addr in self.live:  # its free was left out
            self.live[addr].end = self.live[addr].pending or moment
        self.live[addr] = self._alloc_of(event, moment)
        self.during.append(self.live[addr])

    def _freed(self, event: dict[str, Any], moment: int) -> None:
        addr = event["addr"]
        if addr not in self.live:
            self.live[addr] = self._alloc_of(event, 0)
            self.before.append(self.live[addr])
        alloc = self.live[addr]
        if alloc.start:
            self.checked_frees += 1
            self.repeating_frees += alloc.frames == self._stacks.of(event)
        if not alloc.freed and not alloc.pending:
            alloc.freed = self._stacks.of(event)
        if event["action"] == "free_requested":
            alloc.pending = alloc.pending or moment
        else:
            self.completions += 1
            self.live.pop(addr).end = moment

    def _alloc_of(self, event: dict[str, Any], start: int) -> Alloc:
        return Alloc(
            event["addr"], event["size"], start, None, self._stacks.of(event),
            stream=event.get("stream", 0), category=event.get("category"),
        )  # fmt: skip


def _matched(snapshot: Any) -> dict[int, _Matched]:
    return {device: _Matched(trace) for device, trace in traces_of(snapshot).items()}


def _repeat_their_stacks(found: Iterable[_Matched]) -> bool:
    """Whether frees repeat the stacks of their allocations: at least one can be checked, and all of these do."""
    counts = [(each.checked_frees, each.repeating_frees) for each in found]
    checked = sum(count for count, _ in counts)
    return checked > 0 and checked == sum(repeating for _, repeating in counts)


def frees_repeat_their_stacks(snapshot: Any) -> bool:
    """Whether frees repeat the stacks of their allocations."""
    return _repeat_their_stacks(_matched(snapshot).values())


def allocations(snapshot: Any, device: int) -> list[Alloc]:
    """Every allocation of a device."""
    matched = _matched(snapshot)
    found = matched.get(device) or _Matched(())
    if _repeat_their_stacks(matched.values()):
        for alloc in found.before + found.during:
            alloc.freed = ()  # the recorded stack is the allocation's, repeated
    else:
        for alloc in found.before:
            alloc.frames = ()
    blocks = [
        (here, block)
        for of, segment in segments_of(snapshot)
        if of == device
        for here, block in placed(segment)
        if block["state"] == "active_allocated" or block["state"] in PENDING
    ]
    waiting = {here for here, block in blocks if block["state"] in PENDING}
    if not found.completions:
        # the trace was recorded without completions: a request is the free
        for addr, alloc in list(found.live.items()):
            if alloc.pending and addr not in waiting:
                alloc.end = alloc.pending
                del found.live[addr]
    stream = {
        here: segment.get("stream", 0) for _, segment in segments_of(snapshot) for here, _ in placed(segment)
    }
    for here, block in blocks:
        history = (block.get("history") or [{}])[0]
        frames = frames_of(block) or frames_of(history)
        if here not in found.live:
            size = block.get("requested_size", history.get("real_size", block["size"]))
            found.live[here] = Alloc(here, size, 0, None, frames, stream=stream[here])
            found.before.append(found.live[here])
        elif found.live[here].start == 0 and frames:
            # its free was requested in the trace; the block still has the allocation's own stack
            found.live[here].frames = frames
        found.live[here].rounded = block["size"]
        found.live[here].waits = block["state"] in PENDING
    for alloc in found.live.values():
        alloc.waits |= alloc.pending is not None
    for alloc in found.before:
        alloc.early = bool(traces_of(snapshot).get(device))
    return found.before[::-1] + found.during


def live_bytes(found: list[Alloc], events: int) -> list[int]:
    """What was live at each moment, 0 to ``events``."""
    deltas = [0] * (events + 2)
    for alloc in found:
        deltas[alloc.start] += alloc.size
        if alloc.end is not None:
            deltas[alloc.end] -= alloc.size
    result, now = [], 0
    for delta in deltas[: events + 1]:
        now += delta
        result.append(now)
    return result


NEVER = 0xFFFFFFFF
"""The end of what was never freed, in archives."""
_NEVER = 2**62
_lives: list[Any] = []
"""The allocations of the last call of :func:`alive`, with all starts and ends."""


def alive(found: list[Alloc], moment: int) -> list[int]:
    """The numbers of what is live at a moment, oldest first."""
    # called for thousands of moments of the same allocations
    if not _lives or _lives[0] is not found:
        ends = [_NEVER if a.end is None else a.end for a in found]
        _lives[:] = [found, np.array([a.start for a in found], np.int64), np.array(ends, np.int64)]
    _, starts, ends_at = _lives
    numbers: list[int] = np.flatnonzero((starts <= moment) & (ends_at > moment)).tolist()
    return numbers


_PLACE_IN_NAME = re.compile(r"(.+)\((\d+)\): (.+)")


@cache
def frame_of(raw: RawFrame) -> Frame:
    """A frame's function and place; the CPU profiler's frames carry their place in the name."""
    file, line, name = raw
    if file in NO_FILE:
        place = _PLACE_IN_NAME.fullmatch(name)
        if place is None or place[1] in NO_FILE or place[1].startswith("<built-in"):
            return Frame(name, "", 0)
        file, line, name = place[1], int(place[2]), place[3]
    return Frame(name, file, known_line(file, line))


COLUMNS = ("total_bytes", "count", "live_at_peak_bytes", "live_at_peak_count", "live_at_end_bytes")


@dataclass
class Device:
    """The contents of one device's trace and segments."""

    allocations: list[Alloc]
    events: int
    live: list[int]
    peak_moment: int
    reserved_at_end: int | None
    ooms: int


class Replay:
    """A whole snapshot: each device, and what stacks and lines allocated and held on all of them.

    Values are those of :data:`COLUMNS`; at the peak is at each device's own peak, its first moment of the most bytes.
    """

    def __init__(self, snapshot: Any) -> None:
        self.tree = Tree()
        self._numbers: dict[int, tuple[tuple[RawFrame, ...], int]] = {}
        self.devices: dict[int, Device] = {}
        traces = traces_of(snapshot)
        segments = list(segments_of(snapshot))
        stacks: list[int] = []
        values: list[tuple[int, ...]] = []
        self.largest: dict[int, int] = {}
        """Of each stack the size of its largest allocation."""
        for device in sorted({*traces, *(of for of, _ in segments)}):
            found = allocations(snapshot, device)
            trace = traces.get(device, [])
            assert not any("forward_frames" in event for event in trace), "test_torch_fields.py checks these"
            live = live_bytes(found, len(trace))
            peak = live.index(max(live))
            reserved = sum(segment["total_size"] for of, segment in segments if of == device)
            # only snapshots made from a profiler's trace have categories; their segment spans all used addresses
            profiled = any("category" in event for event in trace)
            ooms = sum(event["action"] == "oom" for event in trace)
            self.devices[device] = Device(found, len(trace), live, peak, None if profiled else reserved, ooms)
            at_peak, at_end = set(alive(found, peak)), set(alive(found, len(trace)))
            for row, alloc in enumerate(found):
                stack = self.stack_of(alloc)
                stacks.append(stack)
                size = alloc.size
                peaks = (size, 1) if row in at_peak else (0, 0)
                values.append((size, 1, *peaks, size if row in at_end else 0))
                self.largest[stack] = max(self.largest.get(stack, 0), size)
        self.sums = Sums(self.tree, stacks, values, len(COLUMNS))

    def stack_of(self, alloc: Alloc) -> int:
        """The number of an allocation's stack in the tree."""
        # by the tuple itself, which allocations share and the replay keeps: to hash one takes as long as to read it
        known = self._numbers.get(id(alloc.frames))
        if known is None:
            number = self.tree.number([frame_of(raw) for raw in alloc.frames])
            known = self._numbers[id(alloc.frames)] = (alloc.frames, number)
        return known[1]

    def largest_of_lines(self) -> dict[Line, int]:
        """Of each line the size of the largest allocation through it."""
        found: dict[Line, int] = {}
        for stack, size in self.largest.items():
            for frame in self.tree.stack(stack):
                if known_line(frame.file, frame.line):
                    place = (frame.file, frame.line)
                    found[place] = max(found.get(place, 0), size)
        return found
