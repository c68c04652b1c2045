"""Compares this tree's server with another tree's: each request of a session is sent to both in turn.

    npm run bench -- --against ../other-tree [--events 2000000] [--rounds 60]

Both servers run at once, with the Python and the kernels of their own trees, and read the same generated file. The CPU
time of a request is what the server's process used until the answer arrived and, as "with what follows", until it was
idle again, so that other work on the machine has little influence. The other tree's figures come second; a ratio above
1 is a loss. Only Linux reports the CPU time of another process this exactly.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.beside import measured, warm  # noqa: E402
from tests.bench.generate import generate  # noqa: E402
from tests.python.lsp_client import LspClient  # noqa: E402

QUIET_S = 0.012
"""A server that used no CPU for this long has finished its work."""
LONGEST_S = 60.0
_PYTHON = Path("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


class Cost(NamedTuple):
    """The cost of a request, in milliseconds."""

    cpu: float
    """CPU time until the answer."""
    all_cpu: float
    """CPU time until the server was idle again."""
    wall: float


class Tree:
    """A working tree with its server, its archive and the costs of its requests."""

    def __init__(self, root: Path, scratch: Path, path: Path, other: Path) -> None:
        self.python = root / ".venv" / _PYTHON
        self.cache = scratch
        self.path = path
        self.other = other
        """The file that it is compared with."""
        self.costs: dict[str, list[Cost]] = {}
        self.client = self.serve()
        self.opened: dict[str, Any] = {}
        self.other_opened: dict[str, Any] = {}
        self.lanes: dict[str, Any] = {}

    def serve(self) -> LspClient:
        """Start a server in the tree's Python, whose cache is the tree's own."""
        with mock.patch.object(sys, "executable", str(self.python)):
            client = LspClient()
        client.start(self.cache.parent, {"cache_directory": str(self.cache)})
        return client

    def command(self, *args: object) -> list[str]:
        """``memlens ARGS`` of this tree."""
        return [str(self.python), "-m", "memlens", *map(str, args), "--cache-dir", str(self.cache)]

    def cpu_s(self) -> float:
        """The CPU time of all of the server's threads so far."""
        # CPUCLOCK_SCHED of a process, see clock_getcpuclockid(3)
        return time.clock_gettime((~self.client.pid << 3) | 2)

    def wait_until_quiet(self) -> None:
        """Wait until the server is idle."""
        until = time.monotonic() + LONGEST_S
        used = self.cpu_s()
        while time.monotonic() < until:
            time.sleep(QUIET_S)
            before, used = used, self.cpu_s()
            if used - before < 0.0001:
                return

    def ask(self, row: str, method: str, params: dict[str, Any]) -> Any:
        """Send a request once the server is idle, and record its cost under ``row``."""
        begun = self.cpu_s()
        pending = self.client.send(method, params)
        answer = pending.result(600)
        cpu = self.cpu_s() - begun
        self.wait_until_quiet()
        every = self.cpu_s() - begun
        self.costs.setdefault(row, []).append(Cost(cpu * 1000, every * 1000, pending.took_s * 1000))
        return answer

    def first(self, number: int) -> None:
        """Start a new server, which is used from then on, and open the archived file up to the first picture."""
        self.client.end()
        self.client = self.serve()
        self.wait_until_quiet()
        begun, start = self.cpu_s(), time.perf_counter()
        opened = self.client.request("memlens/open", {"path": str(self.path), "view": f"bench{number}"}, 600)
        info = opened["info"]["devices"][0]
        axis = info["time_axis"]
        self.opened = {
            **opened, **info, "view": {
                "snapshot": opened["snapshot"], "device": 0, "axis": "time", "x0": axis["x0"], "x1": axis["x1"],
                "y0": 0.0, "y1": info["peak_bytes"] * 1.05, "columns": 1600, "rows": 900,
            },
        }  # fmt: skip
        # by line, as a view asks first; a tree without areas ignores that
        self.client.request("memlens/viewport", {**self.opened["view"], "areas": {"by": "line"}})
        cpu, wall = self.cpu_s() - begun, time.perf_counter() - start
        # the archive is checked a few seconds later
        self.wait_until_quiet()
        every = self.cpu_s() - begun
        self.costs.setdefault("first picture", []).append(Cost(cpu * 1000, every * 1000, wall * 1000))


def questions(tree: Tree, workspace: Path, seed: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """One round of a session: rows with method and parameters, the same for every tree."""
    rng = random.Random(seed)
    view, name = tree.opened["view"], tree.opened["snapshot"]
    events, allocations, peak = (tree.opened[key] for key in ("events", "allocations", "peak_bytes"))
    width, height = view["x1"] - view["x0"], view["y1"]
    w, h = width * 10 ** (-5 * rng.random()), height * 10 ** (-2 * rng.random())
    x, y = view["x0"] + rng.random() * (width - w), rng.random() * (height - h)
    zoomed = {**view, "x0": x, "x1": x + w, "y0": y, "y1": y + h}
    at = {"snapshot": name, "device": 0, "moment": rng.randrange(events)}
    moment = {"device": 0, "from_moment": rng.randrange(events)}
    yield "viewport", "memlens/viewport", zoomed
    yield "hit", "memlens/hit", {**at, "y_bytes": rng.random() * peak / 2}
    yield "stack", "memlens/stack", {"snapshot": name, "allocation": rng.randrange(allocations)}
    page = {"snapshot": name, "descending": True, "offset": 0, "limit": 200, "order": "bytes"}
    yield "live set by line", "memlens/groups", {**page, "branch": {"of": moment, "by": ["line", "stack"]}}
    text = f"size>{rng.randrange(1 << 20)}"
    yield "filter", "memlens/filter", {"snapshot": name, "device": 0, "filter": text}
    share = tree.lanes["top"] / height
    yield "memoryMap", "memlens/memoryMap", {**zoomed, "y0": y * share, "y1": (y + h) * share}
    state = {**at, "order": "size", "offset": 0, "limit": 100}
    yield "allocator's state", "memlens/allocatorState", state
    source = {"uri": (workspace / "module_1.py").as_uri()}
    position = {"line": rng.randrange(1500), "character": 0}
    yield "hover", "textDocument/hover", {"textDocument": source, "position": position}
    flame = {
        "snapshot": name, "value": "bytes", "options": {"direction": "top_down"}, "search": "", "of": moment,
        "x0": 0.0, "x1": 1.0, "width_px": 1600, "first_depth": 0, "rows": 100,
    }  # fmt: skip
    yield "flame of a moment", "memlens/flame", flame
    part = 10 ** (-4 * rng.random())
    x0 = rng.random() * (1 - part)
    yield "flame zoomed", "memlens/flame", {**flame, "x0": x0, "x1": x0 + part}
    yield "flame turned", "memlens/flame", {**flame, "options": {"direction": "bottom_up"}}
    other = {"device": 0, "from_moment": rng.randrange(tree.other_opened["info"]["devices"][0]["events"])}
    pair = {"snapshot": name, "other": tree.other_opened["snapshot"]}
    sides = {**pair, "of": moment, "other_of": other, "other_first": False, "measure": "own"}
    for by in ("line", "function", "stack"):
        yield f"compare by {by}", "memlens/compare", {**sides, "by": by}
    both = {**pair, "device": 0, "other_device": 0, "alignment": {"axis": "time"}, "columns": 1600}
    yield "compare, curves", "memlens/compareCurves", both


def sessions(trees: list[Tree], workspace: Path, rounds: int) -> None:
    """Send each request to both trees, which take turns in being first."""
    for number in range(3):
        for tree in trees if number % 2 else trees[::-1]:
            tree.first(number)
    for tree in trees:
        tree.lanes = tree.client.request(
            "memlens/mapLanes", {"snapshot": tree.opened["snapshot"], "device": 0}
        )
        tree.other_opened = tree.client.request(
            "memlens/open", {"path": str(tree.other), "view": "other"}, 600
        )
        # checks and precomputation in the first seconds aren't part of a request's cost
        time.sleep(6)
        tree.wait_until_quiet()
    for number in range(rounds):
        order = trees if number % 2 else trees[::-1]
        asked = [questions(tree, workspace, number) for tree in order]
        for each in zip(*asked, strict=True):
            for tree, (row, method, params) in zip(order, each, strict=True):
                # the first round is a warm-up
                tree.ask(row if number else "", method, params)
    for tree in trees:
        tree.ask("SQL's tables made", "memlens/sqlFill", {"snapshot": tree.opened["snapshot"]})
    for number in range(max(rounds // 4, 2)):
        examples(trees if number % 2 else trees[::-1], number)


def examples(trees: list[Tree], number: int) -> None:
    """Run SQL's examples in both trees; the first time is a warm-up."""
    schemas = [
        tree.client.request("memlens/sqlSchema", {"snapshot": tree.opened["snapshot"]})["examples"]
        for tree in trees
    ]
    known = [{example["query"] for example in schema} for schema in schemas]
    for at, example in enumerate(schemas[0]):
        if all(example["query"] in queries for queries in known):
            query = f"{example['query']} -- {number}"
            for tree in trees:
                params = {"snapshot": tree.opened["snapshot"], "query": query}
                tree.ask(f"SQL example {at}" if number else "", "memlens/sql", params)


def commands(trees: list[Tree], rounds: int) -> None:
    """Whole processes: reading, and the flame graph as text."""
    for _ in range(rounds):
        for tree in trees:
            for row, command in (
                ("memlens ingest", tree.command("ingest", tree.path, "--progress", "none")),
                ("memlens flame, archived", tree.command("flame", tree.path)),
            ):
                run = measured(command)
                cost = Cost(run.cpu_s * 1000, run.cpu_s * 1000, run.wall_s * 1000)
                tree.costs.setdefault(row, []).append(cost)


def table(ours: Tree, other: Tree) -> str:
    """The rows that both trees have, in milliseconds: this tree, the other, and their ratio."""
    lines = [
        "| work | CPU, median | ratio | CPU, p95 | ratio | with what follows | ratio | wall, p95 | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in (row for row in ours.costs if row and row in other.costs):
        cells = [row]
        for pick, of in (
            ("cpu", statistics.median),
            ("cpu", _p95),
            ("all_cpu", statistics.median),
            ("wall", _p95),
        ):
            own, theirs = (of([getattr(cost, pick) for cost in tree.costs[row]]) for tree in (ours, other))
            cells += [f"{own:.2f}, {theirs:.2f}", f"{own / max(theirs, 1e-6):.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def main(arguments: list[str]) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        prog="npm run bench -- --against",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("other", type=Path, help="another working tree that is set up")
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--folder", type=Path, help="keep the generated file here, and reuse it if it exists")
    parser.add_argument("--out", type=Path, help="write every figure there as JSON")
    options = parser.parse_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        folder = options.folder or scratch
        folder.mkdir(parents=True, exist_ok=True)
        path, other = (folder / f"bench-{options.events}{name}.pickle" for name in ("", "-other"))
        for seed, file in enumerate((path, other), 1):
            if not file.exists():
                generate(file, options.events, seed)
            warm(file)
        (scratch / "module_1.py").write_text("pass\n" * 2000)
        trees = [
            Tree(root.resolve(), scratch / name, path, other)
            for name, root in (("this", ROOT), ("other", options.other))
        ]
        try:
            commands(trees, 3)
            sessions(trees, scratch, options.rounds)
        finally:
            for tree in trees:
                tree.client.end()
    print(table(*trees))
    if options.out:
        options.out.write_text(json.dumps([tree.costs for tree in trees]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
