"""Heap dumps, measured beside their peers: reading files, and requests to archives.

``python tests/bench/heap_dumps.py FOLDER [NAME …]`` makes the files that FOLDER lacks. Peers that aren't installed are
left out: ``MEMLENS_DEVTOOLS`` is the unpacked npm package chrome-devtools-frontend, ``MEMLENS_NETBEANS`` the jar
org-netbeans-lib-profiler, ``MEMLENS_SHARK`` a class path with the jars of LeakCanary's shark. ``MEMLENS_PEER_HEAP`` is
the option that limits the JVM's heap for these, ``-Xmx8g`` by default.
"""

import contextlib
import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.beside import ingest_beside, measured, memlens  # noqa: E402
from tests.bench.heap_files import make_gcdump, make_hprof, make_snapshot  # noqa: E402
from tests.bench.heap_trees import tree_figures  # noqa: E402
from tests.python.lsp_client import LspClient  # noqa: E402

REAL = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data")) / "heap"
PEERS = Path(__file__).parent / "heaps"
BASE = REAL / "v8" / "ts20check_node26.heapsnapshot.zst"
ROUNDS = 60
CHOSEN = 100_000

Row = tuple[str, str, str, str]


class Work(NamedTuple):
    """A dump to an archive. ``time`` and ``memory`` are what must be and what is aimed at, against the peer."""

    what: str
    file: str
    make: Callable[[Path], None]
    peer: Callable[[Path], list[str] | None]
    """The peer's command for a working folder; None if the peer isn't installed."""
    peer_name: str
    time: tuple[float, float]
    memory: tuple[str, str]
    rounds: int


def devtools(folder: Path) -> list[str] | None:
    """DevTools' engine in Node.js."""
    package = os.environ.get("MEMLENS_DEVTOOLS")
    if package is None:
        return None
    bundle = folder / "devtools.mjs"
    subprocess.run(["node", PEERS / "devtools.mjs", package, bundle], check=True)
    return ["node", "--max-old-space-size=12000", str(bundle)]


def java(variable: str, program: str, folder: Path) -> list[str] | None:
    """A program beside this file on the JVM, with a peer's library."""
    jars = os.environ.get(variable)
    if jars is None:
        return None
    subprocess.run(["javac", "-cp", jars, "-d", folder, PEERS / f"{program}.java"], check=True)
    return [
        "java",
        os.environ.get("MEMLENS_PEER_HEAP", "-Xmx8g"),
        "-cp",
        f"{folder}{os.pathsep}{jars}",
        program,
    ]


def plain_python(_: Path) -> list[str]:
    """A reader of the nodes alone, in Python."""
    return [sys.executable, str(PEERS / "gcdump.py")]


WORKS = (
    Work("heapsnapshot, 99 MB", "one.heapsnapshot", lambda path: make_snapshot(path, BASE, 1), devtools,
         "DevTools' engine", (0.15, 0.08), ("0.5x", "0.35x"), 3),
    Work("heapsnapshot, 1.5 GB", "many.heapsnapshot", lambda path: make_snapshot(path, BASE, 13), devtools,
         "DevTools' engine", (0.15, 0.08), ("0.5x", "0.35x"), 1),
    Work("HPROF, 1.1 GB", "javac.hprof", lambda path: make_hprof(path, 8187),
         partial(java, "MEMLENS_SHARK", "SharkDominators"), "shark", (0.3, 0.1), ("2.5 GB", "1.5 GB"), 1),
    Work("HPROF, 1.1 GB, NetBeans", "javac.hprof", lambda path: make_hprof(path, 8187),
         partial(java, "MEMLENS_NETBEANS", "NetBeansDominators"), "NetBeans' library", (0.3, 0.1),
         ("2.5 GB", "1.5 GB"), 1),
    Work("gcdump, 1 M objects", "many.gcdump", lambda path: make_gcdump(path, 1_000_000), plain_python,
         "plain Python, parsing alone", (0.1, 0.03), ("", ""), 3),
)  # fmt: skip


def heap_dumps(folder: Path, names: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of each measurement, or of those in ``names``."""
    found: dict[str, Any] = {}
    for work in WORKS:
        if names and work.what not in names:
            continue
        path, cache = folder / work.file, folder / "heap-cache"
        if not path.exists():
            _make(work, path)
            if not path.exists():
                continue
        peer = work.peer(folder)
        if peer is None:
            shutil.rmtree(cache, ignore_errors=True)
            run = measured(memlens("ingest", path, "--cache-dir", cache, "--progress", "none"))
            figures = {"file_bytes": path.stat().st_size, "cpu_s": run.cpu_s, "peak_bytes": run.peak_bytes}
        else:
            figures = ingest_beside(path, cache, [*peer, str(path)], work.rounds)
        alone = [sys.executable, str(PEERS / "archive.py"), str(path), str(folder / "heap-alone")]
        figures["alone_cpu_s"] = statistics.median(
            _anew(alone, folder / "heap-alone") for _ in range(work.rounds)
        )
        found[work.what] = figures | {"answers_ms": answers(path, cache, folder)}
        shutil.rmtree(cache, ignore_errors=True)
    for what, objects in (("compact", 275_000_000), ("dominators", 275_000_000 // 8)):
        if not names or what in names:
            trees = folder / f"tree-{objects}"
            found[what] = tree_figures(what, objects, trees)
            shutil.rmtree(trees, ignore_errors=True)
    return found


def _make(work: Work, path: Path) -> None:
    """Make a file in a separate process: this one's memory would count in its children's maximum."""

    def make() -> None:
        # what is needed to make the file isn't installed
        with contextlib.suppress(FileNotFoundError):
            work.make(path)

    process = multiprocessing.get_context("fork").Process(target=make)
    process.start()
    process.join()


def _anew(command: list[str], cache: Path) -> float:
    """CPU seconds of a command that fills a cache, which is empty before and removed afterwards."""
    try:
        return measured(command).cpu_s
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def busy_ms(process: int) -> float:
    """CPU milliseconds of all threads of a process, on Linux; otherwise 0."""
    total = 0.0
    for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(thread.read_text().split()[0]) / 1e6
    return total


def answers(path: Path, cache: Path, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of opening an archive in a new server and of requests to it: wall time and the server's CPU time."""
    rng, took = random.Random(4), {name: list[tuple[float, float]]() for name in ANSWERS}
    whole = {"filter": "", "reverse": False, "offset": 0, "limit": 100}
    with LspClient() as client:
        client.start(folder, {"cache_directory": str(cache)})

        def ask(name: str, method: str, params: dict[str, Any]) -> Any:
            before = busy_ms(client.process.pid)
            pending = client.send(method, params)
            answer = pending.result(600)
            took[name].append((pending.took_s * 1000, busy_ms(client.process.pid) - before))
            return answer

        opened = ask("open", "memlens/open", {"path": str(path), "view": "bench"})
        of = {"snapshot": opened["snapshot"]}
        objects = opened["info"]["objects"]
        listed = {**of, **whole, "by": "package", "package": None, "order": "count"}
        types = ask("open", "memlens/heapTypes", listed)["rows"]
        first, second = took["open"]
        took["open"] = [(first[0] + second[0], first[1] + second[1])]
        for _ in range(ROUNDS):
            one = {**of, "object": rng.randrange(objects)}
            page = {"offset": 0, "limit": 100}
            ask("children", "memlens/heapDominated", {**one, "filter": "", **page})
            ask("referrers", "memlens/heapReferences", {**one, **page, "direction": "incoming"})
            ask("path", "memlens/heapPaths", {**one, "through": [], "without": [], "most": 1, "soon": False})
            kind = rng.choice(types)["number"]
            ask(
                "instances",
                "memlens/heapObjects",
                {**of, **whole, "kind": kind, "group": None, "order": "retained"},
            )
        # the type whose number of instances is nearest to that
        kind = min(types, key=lambda row: abs(row["count"] - CHOSEN))
        ask("retained", "memlens/heapRetained", {**of, "filter": "", "kind": kind["number"], "group": None})
    return took


ANSWERS = {
    "open": ("an archived dump to its first answer", "300 ms", "100 ms"),
    "children": ("children of a dominator, p95", "30 ms", "5 ms"),
    "referrers": ("referrers, p95", "30 ms", "5 ms"),
    "instances": ("a page of instances, p95", "30 ms", "5 ms"),
    "path": ("the shortest path to a root, p95", "300 ms", "50 ms"),
    "retained": (f"the retained size of a set of about {CHOSEN:,}", "1 s", "200 ms"),
}


def heap_rows(found: dict[str, Any]) -> list[Row]:
    """Rows of the table of figures: work, must, aim, reached."""
    rows: list[Row] = []
    for work in WORKS:
        figures = found.get(work.what)
        if figures is None:
            continue
        must, aim = (
            f"{time}x" + (f", memory {memory}" if memory else "")
            for time, memory in zip(work.time, work.memory, strict=True)
        )
        peak = f"{figures['peak_bytes'] / 2**20:.0f} MiB"
        if "cpu_ratio" in figures:
            reached = (
                f"{figures['cpu_ratio']:.2f}x ({figures['cpu_s']:.1f} s CPU, {figures['peer_cpu_s']:.1f} s), memory "
                f"{figures['peak_bytes'] / figures['peer_peak_bytes']:.2f}x ({peak}); without findings "
                f"{figures['alone_cpu_s'] / figures['peer_cpu_s']:.2f}x ({figures['alone_cpu_s']:.2f} s)"
            )
        else:
            reached = (
                f"{figures['cpu_s']:.1f} s CPU, memory {peak}, without the peer; without findings "
                f"{figures['alone_cpu_s']:.2f} s"
            )
        rows.append((f"{work.what}: to archive, against {work.peer_name}", must, aim, reached))
        for name, (what, least, goal) in ANSWERS.items():
            waited, busy = (sorted(values) for values in zip(*figures["answers_ms"][name], strict=True))
            place = int(0.95 * len(waited))
            reached = f"{waited[place]:.1f} ms, of the processor {busy[place]:.1f} ms"
            rows.append((f"{work.what}: {what}", least, goal, reached))
    for what, work_of, least, goal in (
        (
            "compact",
            "a dominator tree by a rule to the compact tree",
            "12 GB resident, 5 min",
            "6 GB, 1:46 min",
        ),
        ("dominators", "references by a rule to dominators (an eighth of 275 M objects)", "16 GB", "10 GB"),
    ):
        figures = found.get(what)
        if figures:
            size = f"{figures['objects']:,} objects, {figures.get('nodes') or figures.get('references'):,} "
            size += "nodes" if what == "compact" else "references"
            took = f"{figures['wall_s']:.0f} s ({figures['cpu_s']:.0f} s CPU)"
            reached = f"{figures['peak_bytes'] / 1e9:.1f} GB resident, {took}"
            rows.append((f"{work_of}, in mapped columns: {size}", least, goal, reached))
    return rows


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    measures = heap_dumps(place, sys.argv[2:])
    print(json.dumps({name: {key: value for key, value in row.items() if key not in ("runs", "answers_ms")}
                      for name, row in measures.items()}, indent=1))  # fmt: skip
    print("\n".join(" | ".join(row) for row in heap_rows(measures)))
