"""Readers of profiles beside the tools that wrote or print these, in CPU seconds and peak memory of whole processes."""

import json
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.beside import ingest_beside  # noqa: E402
from tests.bench.recordings import make_dhat, make_heaptrack, make_massif, make_memray  # noqa: E402
from tests.python.lsp_client import LspClient  # noqa: E402

from memlens.views.flame.graph import FIRST_FLAME  # noqa: E402

REAL = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data")) / "profiles"
MEMRAY = os.environ.get("MEMLENS_TEST_MEMRAY") or str(ROOT / ".cache" / "memray" / "bin" / "python")
JSON_LOAD = "import json, os, sys; kept = json.load(open(sys.argv[1], 'rb')); os._exit(0)"


class Work(NamedTuple):
    """A file to an archive beside a peer. ``time`` and ``memory`` are what must be and what is aimed at, of its own."""

    what: str
    file: str
    """The name of a real file or of the generated one."""
    make: Callable[[Path], None] | None
    """None if only a real file can be used."""
    peer: list[str]
    peer_name: str
    time: tuple[float, float]
    memory: tuple[float, float] | None = None
    command: tuple[str, ...] = ("ingest",)
    """Memlens' own command."""
    to: str = "to archive"


WORKS = (
    Work(
        "heaptrack, many stacks", "heaptrack/heaptrack.cpp-tree-deep.zst",
        partial(make_heaptrack, nodes=4_000_000, events=8_000_000),
        ["heaptrack_print"], "heaptrack_print", (1.0, 0.5), (2.0, 1.0),
    ),
    Work(
        "heaptrack, many events", "heaptrack/heaptrack.rust-svc-1M.zst",
        partial(make_heaptrack, nodes=20_000, events=100_000_000),
        ["heaptrack_print", "-p0", "-a0", "-T0"], "heaptrack_print -p0 -a0 -T0", (0.8, 0.3),
    ),
    Work(
        "pprof", "pprof/go-heap.pb.gz", None, ["go", "tool", "pprof", "-top"], "go tool pprof -top", (1.0, 0.3),
        command=("flame",), to="to the tree of a flame graph, printed",
    ),
    Work(
        "memray, 34 M allocations", "bench.memray.bin", partial(make_memray, python=MEMRAY),
        [MEMRAY, "-m", "memray", "flamegraph", "--force", "--output", os.devnull], "memray flamegraph", (0.5, 1.0),
    ),
    Work(
        "memray, 7.9 M allocations, its peak early", "memray/ast-pymalloc.bin", None,
        [MEMRAY, "-m", "memray", "flamegraph", "--force", "--output", os.devnull], "memray flamegraph", (0.6, 1.0),
    ),
    Work("dhat", "bench.dhat", make_dhat, [sys.executable, "-c", JSON_LOAD], "json.load", (1.0, 0.5)),
    Work("massif", "bench.massif", make_massif, ["ms_print"], "ms_print", (0.2, 0.1)),
)  # fmt: skip


def profiles(folder: Path, rounds: int, names: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of each measurement (or of those in ``names``) whose peer is installed.

    Uses real files if they are there, otherwise files generated in ``folder``. For the largest, also the time of its
    first flame graph.
    """
    found: dict[str, Any] = {}
    for work in WORKS:
        if not shutil.which(work.peer[0]) or (names and work.what not in names):
            continue
        path = REAL / work.file
        if not path.exists():
            if work.make is None:
                continue
            path = folder / f"made-{path.name}"
            if not path.exists():
                work.make(path)
        cache = folder / "profile-cache"
        found[work.what] = ingest_beside(path, cache, [*work.peer, str(path)], rounds, work.command)
        if work is WORKS[0]:
            found[work.what]["first_flame_ms"] = first_flame(path, cache, folder)
        shutil.rmtree(cache, ignore_errors=True)
    return found


def first_flame(path: Path, cache: Path, folder: Path) -> dict[str, list[float]]:
    """Milliseconds from opening an archived profile to its first flame graph, in three servers, and at random zooms.

    ``made`` is the time of the server before them, which stores the graph in the archive once it has answered;
    ``node`` is the time of the first click on a box.
    """
    took: dict[str, list[float]] = {"made": [], "first": [], "zoom": [], "node": []}
    rng = random.Random(3)
    for number in range(4):
        with LspClient() as client:
            client.start(folder, {"cache_directory": str(cache)})
            begun = time.perf_counter()
            opened = client.request("memlens/open", {"path": str(path), "view": f"flame{number}"})
            asked = {
                "snapshot": opened["snapshot"], "of": {"device": 0}, "value": "bytes", "options": {}, "search": "",
                "x0": 0.0, "x1": 1.0, "width_px": 1600, "first_depth": 0, "rows": 100,
            }  # fmt: skip
            client.request("memlens/flame", asked)
            took["first" if number else "made"].append((time.perf_counter() - begun) * 1000)
            if not number:
                while not list(cache.rglob(FIRST_FLAME.name)):
                    time.sleep(0.01)
                continue
            for _ in range(20):
                width = 10 ** (-4 * rng.random())
                x0 = rng.random() * (1 - width)
                begun = time.perf_counter()
                client.request("memlens/flame", {**asked, "x0": x0, "x1": x0 + width})
                took["zoom"].append((time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
            tree = {key: asked[key] for key in ("snapshot", "of", "value", "options")}
            client.request("memlens/flameNode", {**tree, "node": 9})
            took["node"].append((time.perf_counter() - begun) * 1000)
    return took


def profile_rows(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows of the table of figures: work, must, aim, reached."""
    rows = []
    for work in WORKS:
        if work.what not in found:
            continue
        figures = found[work.what]
        memory = work.memory or (None, None)
        must, aim = (
            f"{time}x" + (f", memory {most}x" if most else "")
            for time, most in zip(work.time, memory, strict=True)
        )
        reached = (
            f"{figures['cpu_ratio']:.2f}x ({figures['cpu_s']:.1f} s CPU, {figures['peer_cpu_s']:.1f} s), memory "
            f"{figures['peak_bytes'] / figures['peer_peak_bytes']:.2f}x ({figures['peak_bytes'] / 2**20:.0f} MiB)"
        )
        size = f"{figures['file_bytes'] / 1e6:.2g} MB"
        rows.append((f"{work.what}, {size}: {work.to}, against `{work.peer_name}`", must, aim, reached))
        drawn = figures.get("first_flame_ms")
        if drawn:
            rows.append((f"{work.what}: an archived one's first flame graph, median", "100 ms", "30 ms",
                         f"{statistics.median(drawn['first']):.0f} ms (made: {drawn['made'][0]:.0f} ms)"))  # fmt: skip
            zoom = sorted(drawn["zoom"])[int(0.95 * len(drawn["zoom"]))]
            rows.append(
                (f"{work.what}: its flame graph at random zooms, p95", "50 ms", "16 ms", f"{zoom:.1f} ms")
            )
    return rows


if __name__ == "__main__":
    found = profiles(Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp"), 3, sys.argv[2:])
    print(json.dumps(found, indent=1))
    print("\n".join(" | ".join(row) for row in profile_rows(found)))
