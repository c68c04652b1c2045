"""Recordings for tests that also take real files of others: made by real programs of ours, where they are first needed.

They are kept in ``.cache/recordings`` under a digest of what made them. Nothing here imports memlens.
"""

import hashlib
import pickle
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.python.model_allocator import MIB, ModelAllocator
from tests.python.replays import torch as oracle

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
PACKS = ROOT / "pyserver" / "memlens" / "packs"
KEPT = ROOT / ".cache" / "recordings"

SAMPLE = ROOT / "samples" / "train.pickle"
"""A training run as PyTorch's profiler saw it, without segments."""


def _made(name: str, sources: list[Path], make: Callable[[Path], None], more: str = "") -> Path:
    """The file that ``make`` writes from the sources, which several processes may ask for at once."""
    digest = hashlib.sha256(more.encode())
    for source in (Path(__file__), *sources):
        digest.update(source.read_bytes())
    path = KEPT / digest.hexdigest()[:16] / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / name
            make(made)
            made.replace(path)
    return path


# ---- PyTorch ----


class Recorder(ModelAllocator):
    """Records the stack and the time of each event."""

    frames: list[dict[str, Any]]
    time_us = 0

    def record(self, action: str, addr: int, size: int, stream: int, pool: tuple[int, int]) -> None:
        self.events.append({
            "action": action, "addr": addr, "size": size, "stream": stream, "pool_id": pool,
            "frames": self.frames, "time_us": self.time_us,
        })  # fmt: skip

    def free(self, number: int, *, completed: bool) -> None:
        if completed:
            self.complete_free(self.pending.index(number))
        else:
            self.request_free(self.live.index(number))

    def snapshot(self, lost: int) -> dict[str, Any]:
        made = super().snapshot(lost)
        allocated = {event["addr"]: event["frames"] for event in self.events if event["action"] == "alloc"}
        for segment in made["segments"]:
            for block in segment["blocks"]:
                if block["state"] != "inactive":
                    block["frames"] = allocated[block["address"]]
        return made


STEP = {
    30: "zero_grad", 31: "forward", 32: "loss", 33: "backward", 34: "clip", 35: "optimizer", 36: "remember",
}  # fmt: skip
"""What the lines of ``Trainer.step`` do, in this order."""


def _phase(frames: list[dict[str, Any]], phase: str | None) -> str | None:
    """What the training run does at a stack; backward's thread has the stack of its forward."""
    order = list(STEP.values())
    for frame in frames:
        if frame["filename"].endswith("train.py") and frame["name"] == "step":
            found = STEP.get(frame["line"], "")
            begins = phase in (None, order[-1]) and found in order[:2]
            later = phase in order and found in order and order.index(found) > order.index(phase)
            return found if begins or later else phase
    return phase


def _replay(expandable: bool) -> dict[str, Any]:
    """The sample's allocations and frees as CUDA's caching allocator would have recorded them."""
    events = oracle.load(SAMPLE)["device_traces"][0]
    allocator = Recorder(expandable)
    numbers: dict[int, int] = {}
    notes: list[dict[str, Any]] = []
    phase: str | None = None

    def enter(following: str | None) -> None:
        nonlocal phase
        for stage, name in (("END", phase), ("START", following)):
            if name is not None:
                notes.append({"stage": stage, "name": name, "device": 0, "time_us": allocator.time_us})
        phase = following

    for place, event in enumerate(events):
        if place == len(events) // 2:
            allocator.empty_cache()
        allocator.frames, allocator.time_us = event.get("frames") or [], event["time_us"]
        found = _phase(allocator.frames, phase)
        if found != phase:
            enter(found)
        if event["action"] == "alloc":
            # batches are copied on a stream of their own, and what is large is in a pool of its own
            named = {frame["filename"] for frame in allocator.frames}
            stream = 7 if any(name.endswith("data.py") for name in named) else 0
            numbers[event["addr"]] = allocator.count
            allocator.malloc(event["size"], stream, (0, 1) if event["size"] > 2 * MIB else (0, 0))
        elif event["addr"] in numbers:
            completed = event["action"] == "free_completed"
            allocator.free(numbers[event["addr"]], completed=completed)
            if completed:
                del numbers[event["addr"]]
    enter(None)
    made = allocator.snapshot(0)
    return {**made, "external_annotations": notes, "allocator_settings": {"expandable_segments": expandable}}


def _cuda(name: str, expandable: bool) -> Path:
    sources = [SAMPLE, Path(__file__).with_name("model_allocator.py")]

    def make(path: Path) -> None:
        path.write_bytes(pickle.dumps(_replay(expandable), 4))

    return _made(name, sources, make)


CUDA = _cuda("train.cuda.pickle", expandable=False)
"""The sample's run as on a GPU: segments, two streams, two pools, annotations."""
EXPANDABLE = _cuda("train.expandable.pickle", expandable=True)
"""The same with expandable segments."""
TORCH = [SAMPLE, CUDA, EXPANDABLE]


# ---- profiles ----

GO = FIXTURES / "profiles" / "orders.pb.gz"
"""The heap of a shop in Go; :data:`GO_TEXT` is the same heap as text, and :data:`GO_BEFORE` the one before it."""
GO_TEXT = GO.with_name("orders.debug1.txt.zst")
GO_BEFORE = GO.with_name("orders.before.pb.gz")
GO_DIFFERENCE = GO.with_name("orders.difference.pb.gz")
"""Between the two heaps, with values below 0."""
GO_CPU = GO.with_name("orders-cpu.pb.gz")
"""The time of the shop by shift, a label."""
TCMALLOC = GO.with_name("service.tcmalloc.heap")
TCMALLOC_BY_PPROF = GO.with_name("service.tcmalloc.pb.gz")
JEMALLOC = GO.with_name("service.jemalloc.heap")
MASSIF = GO.with_name("massif.out.ledger")
DHAT = GO.with_name("ledger.dhat.json")
HEAPTRACK = GO.with_name("service.heaptrack.zst")
TRACEMALLOC = GO.with_name("tracemalloc.pickle")
MEMRAY = GO.with_name("index.memray.bin")
PPROF = [GO, GO_BEFORE, GO_DIFFERENCE, GO_CPU, TCMALLOC_BY_PPROF]


# ---- heaps ----

JAVA = FIXTURES / "heap" / "sessions.hprof.zst"
"""A server with 400 sessions, by a JDK."""
RAN_OUT = FIXTURES / "heap" / "ran_out.hprof.zst"
"""A program as it ran out of memory, with variables on its stacks."""
DOTNET = PACKS / "dotnet" / "tests" / "sessions.gcdump"
RUBY = PACKS / "ruby" / "tests" / "sessions.ruby.json.zst"


@cache
def _node_version() -> str:
    return subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout


def _by_node(name: str, program: str) -> list[Path]:
    """What a program of ``tests/fixtures/heap`` writes of itself: a file for each name with the same ending."""
    names = (
        [f"{name}.before.heapsnapshot", f"{name}.heapsnapshot"]
        if name == "leak"
        else [f"{name}.heapsnapshot"]
    )
    source = FIXTURES / "heap" / program

    def make(path: Path) -> None:
        # relative to the folder, as paths are in the dump
        made = [path.with_name(each) for each in names]
        subprocess.run(["node", program, *made], check=True, cwd=source.parents[program.count("/")])
        for each in made:
            if each != path:
                each.replace(path.parents[1] / each.name)

    if not shutil.which("node"):
        return []
    last = _made(names[-1], [source], make, _node_version())
    return [last.with_name(each) for each in names]


LEAK = _by_node("leak", "leak.js")
"""A service in JavaScript with half of its sessions, and with all of them; none without Node.js."""
TRACKED = _by_node("tracked", "src/tracked.js")
"""A heap with the stacks that allocated its objects, and when; none without Node.js."""
