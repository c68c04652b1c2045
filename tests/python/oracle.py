"""A slow, plain reading of snapshots, written from the format's description alone, that the real reader is held to.

Nothing here imports memlens. Allocations stand in the order of PyTorch's viewer: what was live before the trace
first, the last one found at the bottom, then the trace's own.
"""

import base64
import io
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PENDING = ("active_pending_free", "active_awaiting_free")


class PlainUnpickler(pickle.Unpickler):
    """Loads plain data and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def load(path: Path) -> Any:
    data = path.read_bytes()
    if path.suffix == ".html":
        embedded = re.search(rb'"base64"\s*:\s*"([^"]*)"', data)
        assert embedded is not None
        data = base64.b64decode(embedded[1])
    return PlainUnpickler(io.BytesIO(data)).load()


@dataclass
class Alloc:
    addr: int
    size: int
    start: int
    end: int | None
    frames: tuple[tuple[str, int, str], ...]
    """Where it was allocated, empty where the file doesn't tell."""
    pending: int | None = None
    freed: tuple[tuple[str, int, str], ...] = ()
    """Where it was freed, empty where the file doesn't tell."""


def frames_of(entry: dict[str, Any]) -> tuple[tuple[str, int, str], ...]:
    return tuple((f["filename"], f["line"], f["name"]) for f in entry.get("frames") or ())


def placed(segment: Any) -> Iterator[tuple[int, Any]]:
    """A segment's blocks with their addresses; older files tell them of blocks' histories or not at all."""
    addr = segment["address"]
    for block in segment["blocks"]:
        history = block.get("history") or [{}]
        yield block.get("address", history[0].get("addr", addr)), block
        addr += block["size"]


FREES = ("free_requested", "free_completed", "free")


def frees_repeat(snapshot: Any) -> bool:
    """Whether each free is recorded with its allocation's stack, over all allocations that the traces hold."""
    told = False
    for trace in [] if isinstance(snapshot, list) else snapshot.get("device_traces", []):
        made: dict[int, Any] = {}
        for event in trace:
            addr = event.get("addr")
            if event["action"] == "alloc":
                made[addr] = frames_of(event)
            elif event["action"] in FREES and addr in made:
                if frames_of(event) != made[addr]:
                    return False
                told = told or bool(made[addr])
                if event["action"] != "free_requested":
                    del made[addr]
    return told


def allocations(snapshot: Any, device: int) -> list[Alloc]:  # noqa: C901 - one rule after the other
    segments = snapshot if isinstance(snapshot, list) else snapshot.get("segments", [])
    traces = [] if isinstance(snapshot, list) else snapshot.get("device_traces", [])
    trace = traces[device] if device < len(traces) else []
    before: list[Alloc] = []
    during: list[Alloc] = []
    live: dict[int, Alloc] = {}
    repeated = frees_repeat(snapshot)
    completions = 0
    waiting = {
        here
        for segment in segments
        for here, block in placed(segment)
        if segment.get("device", 0) == device and block["state"] in PENDING
    }
    for moment, event in enumerate(trace, 1):
        action, addr = event["action"], event.get("addr")
        if action == "alloc":
            if addr in live:
                live[addr].end = live[addr].pending or moment
            live[addr] = Alloc(addr, event["size"], moment, None, frames_of(event))
            during.append(live[addr])
        elif action in FREES:
            if addr not in live:
                live[addr] = Alloc(addr, event["size"], 0, None, frames_of(event) if repeated else ())
                before.append(live[addr])
            if not repeated and not (live[addr].freed or live[addr].pending):
                live[addr].freed = frames_of(event)
            if action == "free_requested":
                live[addr].pending = live[addr].pending or moment
            else:
                completions += 1
                live.pop(addr).end = moment
    if not completions:
        for addr, alloc in list(live.items()):
            if alloc.pending and addr not in waiting:
                alloc.end = alloc.pending
                del live[addr]
    for segment in segments:
        if segment.get("device", 0) != device:
            continue
        for here, block in placed(segment):
            history = block.get("history") or [{}]
            if block["state"] != "active_allocated" and block["state"] not in PENDING:
                continue
            own = frames_of(block) or frames_of(history[0])
            if here not in live:
                size = block.get("requested_size", history[0].get("real_size", block["size"]))
                before.append(Alloc(here, size, 0, None, own))
                live[here] = before[-1]
            elif live[here].start == 0 and own:
                # its free was requested while recording; the block still has the allocation's own stack
                live[here].frames = own
    return before[::-1] + during


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
"""What :func:`alive` was asked about last, with the starts and ends of all of it."""


def alive(found: list[Alloc], moment: int) -> list[int]:
    """The numbers of what is live at a moment, oldest first."""
    # asked for thousands of moments of the same allocations
    if not _lives or _lives[0] is not found:
        ends = [_NEVER if a.end is None else a.end for a in found]
        _lives[:] = [found, np.array([a.start for a in found], np.int64), np.array(ends, np.int64)]
    _, starts, ends_at = _lives
    numbers: list[int] = np.flatnonzero((starts <= moment) & (ends_at > moment)).tolist()
    return numbers
