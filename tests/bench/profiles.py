"""Readers of profiles beside the tools that wrote or print them, in CPU seconds and peak memory of whole processes."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.beside import ingest_beside  # noqa: E402
from tests.bench.recordings import make_dhat, make_heaptrack, make_massif  # noqa: E402

REAL = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data")) / "profiles"
JSON_LOAD = "import json, os, sys; kept = json.load(open(sys.argv[1], 'rb')); os._exit(0)"


class Work(NamedTuple):
    """A file to an archive beside a peer. ``time`` and ``memory`` are what must be and what is aimed at, of its own."""

    what: str
    file: str
    """Of the real ones, or what the made one is called."""
    make: Callable[[Path], None]
    peer: list[str]
    peer_name: str
    time: tuple[float, float]
    memory: tuple[float, float] | None = None


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
    Work("dhat", "bench.dhat", make_dhat, [sys.executable, "-c", JSON_LOAD], "json.load", (1.0, 0.5)),
    Work("massif", "bench.massif", make_massif, ["ms_print"], "ms_print", (0.2, 0.1)),
)  # fmt: skip


def profiles(folder: Path, rounds: int) -> dict[str, Any]:
    """The figures of each work whose peer is installed; real files where they are, else ones made in ``folder``."""
    found: dict[str, Any] = {}
    for work in WORKS:
        if not shutil.which(work.peer[0]):
            continue
        path = REAL / work.file
        if not path.exists():
            path = folder / f"made-{path.name}"
            if not path.exists():
                work.make(path)
        cache = folder / "profile-cache"
        found[work.what] = ingest_beside(path, cache, [*work.peer, str(path)], rounds)
        shutil.rmtree(cache, ignore_errors=True)
    return found


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
        size = f"{figures['file_bytes'] / 1e6:.0f} MB"
        rows.append((f"{work.what}, {size}: to archive, against `{work.peer_name}`", must, aim, reached))
    return rows


if __name__ == "__main__":
    print(json.dumps(profiles(Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp"), 3), indent=1))
