"""What a PyTorch snapshot holds at its peak, worked out without Memlens: what right answers are written from.

``python tests/judgement/oracle.py FILE…`` prints for each file its peak, what was allocated before recording, and the
lines with the most of it, each with the functions that called it. It plays the events one by one. Of whose code a frame
is it knows only folders of packages: where it leaves a doubt, the reader decides.
"""

import base64
import gzip
import io
import pickle
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

FRAMES = 4
LINES = 7
ENDS = ("free_completed", "free")
BEFORE = ("(before recording)",)
PACKAGES = re.compile(
    r"site-packages|dist-packages|/lib/python|torchinductor|^<|^none$|^torch/|Lib.python|<frozen|^$"
)
CPU_FRAME = re.compile(r"(?P<file>.+?)\((?P<line>\d+)\): (?P<name>.+)")
"""How PyTorch's profiler writes a frame of Python, as a function's name."""

NODE = re.compile(r"Backward\d*::|AccumulateGrad|cudnn|cublas|Reducer|nccl|_ops::", re.IGNORECASE)
"""Functions of C++ that say what an allocation without Python is for."""


class Plain(pickle.Unpickler):
    """Reads data and no code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def load(path: Path) -> dict[str, Any]:
    """A snapshot's dict, of a pickle or of a page that PyTorch's viewer wrote."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if path.suffix == ".html":
        found = max(re.findall(rb"[A-Za-z0-9+/=]{200,}", data), key=len)
        data = base64.b64decode(found)
    loaded: dict[str, Any] = Plain(io.BytesIO(data)).load()
    return loaded


def stack_of(frames: list[dict[str, Any]]) -> tuple[str, ...]:
    """The line to charge, and its callers: from the innermost frame of Python on that is in no package's folder."""
    python: list[tuple[str, int, str]] = []
    for each in frames:
        file, line, name = each["filename"].replace("\\", "/"), each["line"], each["name"]
        if written := CPU_FRAME.fullmatch(name):
            file, line, name = written["file"], int(written["line"]), written["name"]
        if file.endswith(".py") or file.startswith("<"):
            python.append((file, line, name))
    own = [at for at, (file, _, _) in enumerate(python) if not PACKAGES.search(file)]
    if not own:
        if python or not frames:
            return ("(packages only)" if frames else "(no stack)",)
        named = [each["name"].split("(")[0] for each in frames if NODE.search(each["name"])]
        return ("(C++ only)", *named[:FRAMES])
    through = f" <- {python[0][2]}" if own[0] else ""
    shown = [python[at] for at in own[:FRAMES]]
    callers = tuple(f"{Path(file).name}:{line} {name}" for file, line, name in shown)
    return (callers[0], *callers[1:], through) if through else callers


Held = dict[int, tuple[int, tuple[str, ...]]]
"""Size and stack of what is allocated, by address."""


def before(snapshot: dict[str, Any], device: int, events: list[dict[str, Any]]) -> Held:
    """What was allocated before recording: freed without having been allocated, or in a segment at the end."""
    live: set[int] = set()
    found: Held = {}
    for event in events:
        if event["action"] == "alloc":
            live.add(event["addr"])
        elif event["action"] in ENDS and event["addr"] in live:
            live.remove(event["addr"])
        elif event["action"] in ENDS:
            found[event["addr"]] = (event["size"], BEFORE)
    for segment in snapshot["segments"]:
        address = segment.get("address", 0)
        for block in segment["blocks"] if segment.get("device", 0) == device else []:
            at = block.get("address", address)
            address += block["size"]
            if block["state"] != "active_allocated" or at in live:
                continue
            frames = block.get("frames") or (block.get("history") or [{}])[-1].get("frames")
            stack = stack_of(frames) if frames else BEFORE
            found[at] = (block.get("requested_size", block["size"]), stack)
    return found


def play(start: Held, events: list[dict[str, Any]]) -> tuple[int, int, Held]:
    """The most that is allocated, the number of the event after which it is, and what is allocated at the end."""
    held = dict(start)
    now = best = sum(size for size, _ in held.values())
    best_at = -1
    for number, event in enumerate(events):
        if event["action"] == "alloc":
            held[event["addr"]] = (event["size"], stack_of(event.get("frames", [])))
            now += event["size"]
            if now > best:
                best, best_at = now, number
        elif event["action"] in ENDS and event["addr"] in held:
            now -= held.pop(event["addr"])[0]
    return best, best_at, held


def peak(snapshot: dict[str, Any], device: int) -> tuple[int, Counter[tuple[str, ...]], int, int]:
    """The bytes at the peak, by stack, the bytes live before recording, and the number of the event of the peak."""
    events = snapshot["device_traces"][device] if snapshot.get("device_traces") else []
    start = before(snapshot, device, events)
    best, best_at, _ = play(start, events)
    by_stack: Counter[tuple[str, ...]] = Counter()
    for size, stack in play(start, events[: best_at + 1])[2].values():
        by_stack[stack] += size
    return best, by_stack, sum(size for size, _ in start.values()), best_at


def reserved(snapshot: dict[str, Any], device: int, at: int) -> tuple[int, int, int, int, int]:
    """Bytes reserved at an event and at the end, and of the latter what is in segments without a block: of the pool of
    all, of private pools, of expandable segments.
    """
    segments = [each for each in snapshot["segments"] if each.get("device", 0) == device]
    end = sum(each["total_size"] for each in segments)
    empty = [each for each in segments if all(block["state"] == "inactive" for block in each["blocks"])]
    private = sum(
        each["total_size"] for each in empty if tuple(each.get("segment_pool_id", (0, 0))) != (0, 0)
    )
    expandable = sum(
        block["size"]
        for each in segments
        if each.get("is_expandable")
        for block in each["blocks"]
        if block["state"] == "inactive"
    )
    plain = sum(each["total_size"] for each in empty if not each.get("is_expandable")) - private
    events = snapshot["device_traces"][device] if snapshot.get("device_traces") else []
    signs = {"segment_alloc": -1, "segment_map": -1, "segment_free": 1, "segment_unmap": 1}
    then = end + sum(signs.get(each["action"], 0) * each["size"] for each in events[at + 1 :])
    return then, end, plain, private, expandable


def main(paths: list[str]) -> None:
    for name in paths:
        snapshot = load(Path(name))
        traces = snapshot.get("device_traces") or [[]]
        for device, events in enumerate(traces):
            actions = Counter(event["action"] for event in events)
            if not events and not any(each.get("device", 0) == device for each in snapshot["segments"]):
                continue
            best, by_stack, early, at = peak(snapshot, device)
            print(f"== {name} device {device} {dict(actions)}")
            print(
                f"   peak {best / 2**20:.1f} MiB at event {at} of {len(events)}; before {early / 2**20:.1f} MiB"
            )
            then, end, plain, private, expandable = (each / 2**20 for each in reserved(snapshot, device, at))
            print(
                f"   reserved at the peak {then:.0f} MiB, unused of it {100 - 100 * best / 2**20 / max(then, 1):.0f}%; "
                f"at the end {end:.0f}, empty {plain:.0f}, private {private:.0f}, free in expandable {expandable:.0f}"
            )
            lines: Counter[str] = Counter()
            for stack, size in by_stack.items():
                lines[stack[0]] += size
            for line, size in lines.most_common(LINES):
                callers = Counter({each[1:]: n for each, n in by_stack.items() if each[0] == line})
                most = callers.most_common(2)
                shown = " | ".join(f"{100 * n / best:.0f}% {' < '.join(each)}" for each, n in most if each)
                print(f"   {100 * size / max(best, 1):5.1f}%  {line}   {shown}")


if __name__ == "__main__":
    main(sys.argv[1:])
