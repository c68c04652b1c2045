"""Memlens' performance, measured beside its peers in the same run.

``npm run bench`` runs everything, ``npm run bench -- --quick`` a small part. ``--faults`` runs long and busy sessions
instead, see ``faults.py``; ``--against FOLDER`` compares with another working tree, see ``against.py``; ``--replays``
says how exactly PyTorch's allocator is replayed, see ``replays.py``.

Whole processes are measured in turn, see ``beside.py``. Medians are printed; the JSON file has every run.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.beside import ingest_beside  # noqa: E402
from tests.bench.fleets import LARGE_EVENTS, fleet_rows, fleets  # noqa: E402
from tests.bench.generate import generate  # noqa: E402
from tests.bench.heap_dumps import heap_dumps, heap_rows  # noqa: E402
from tests.bench.profiles import profile_rows, profiles  # noqa: E402
from tests.bench.python_heaps import python_heaps, python_rows  # noqa: E402
from tests.python.fleet_cluster import HAS_PACKAGES  # noqa: E402
from tests.python.lsp_client import LspClient  # noqa: E402

PICKLE_LOAD = (
    "import gc, os, pickle, sys; gc.disable(); kept = pickle.load(open(sys.argv[1], 'rb')); os._exit(0)"
)
# with os._exit the peer doesn't spend time on freeing its objects


def ingest_against_pickle(path: Path, cache: Path, rounds: int) -> dict[str, Any]:
    found = ingest_beside(path, cache, [sys.executable, "-c", PICKLE_LOAD, str(path)], rounds)
    archive = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    return {**found, "archive_bytes": archive}


def milliseconds(client: LspClient, method: str, params: dict[str, Any]) -> tuple[float, Any]:
    pending = client.send(method, params)
    answer = pending.result()
    return pending.took_s * 1000, answer


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": statistics.median(ordered),
        "p95": ordered[int(len(ordered) * 0.95)],
        "max": ordered[-1],
    }


def serve(path: Path, cache: Path, workspace: Path, rounds: int) -> dict[str, Any]:
    """Send a session's requests to a real server process; the snapshot is archived already."""
    first: list[float] = []
    for number in range(3):
        with LspClient() as client:
            client.start(workspace, {"cache_directory": str(cache)})
            opening, opened = milliseconds(
                client, "memlens/open", {"path": str(path), "view": f"bench{number}"}
            )
            info = opened["info"]["devices"][0]
            axis = info["time_axis"]
            whole = {
                "snapshot": opened["snapshot"], "device": 0, "axis": "time", "x0": axis["x0"], "x1": axis["x1"],
                "y0": 0.0, "y1": info["peak_bytes"] * 1.05, "columns": 1600, "rows": 900,
            }  # fmt: skip
            # by line, as a view asks first
            first.append(
                opening + milliseconds(client, "memlens/viewport", {**whole, "areas": {"by": "line"}})[0]
            )
            if number == 2:
                return {"first_geometry_ms": first, **session(client, whole, info, workspace, rounds)}
    raise AssertionError


def session(
    client: LspClient, whole: dict[str, Any], info: dict[str, Any], workspace: Path, rounds: int
) -> Any:
    rng = random.Random(1)
    took: dict[str, list[float]] = {
        "viewport": [],
        "areas": [],
        "hit": [],
        "stack": [],
        "hover": [],
        "live_set": [],
        "filtered": [],
        "map": [],
        "state": [],
    }
    largest = 0
    source = workspace / "module_1.py"
    source.write_text("pass\n" * 2000)
    document = {"textDocument": {"uri": source.as_uri()}, "position": {"line": 7, "character": 0}}
    width, height = whole["x1"] - whole["x0"], whole["y1"]
    milliseconds(client, "textDocument/hover", document)
    # the lanes are computed once for a snapshot
    _, lanes = milliseconds(client, "memlens/mapLanes", {"snapshot": whole["snapshot"], "device": 0})
    for _ in range(rounds):
        w, h = width * 10 ** (-5 * rng.random()), height * 10 ** (-2 * rng.random())
        x, y = whole["x0"] + rng.random() * (width - w), rng.random() * (height - h)
        view = {**whole, "x0": x, "x1": x + w, "y0": y, "y1": y + h}
        taken, answer = milliseconds(client, "memlens/viewport", view)
        took["viewport"].append(taken)
        largest = max(largest, len(json.dumps(answer)))
        took["areas"].append(milliseconds(client, "memlens/viewport", {**view, "areas": {"by": "line"}})[0])
        at = {"snapshot": whole["snapshot"], "device": 0, "moment": rng.randrange(info["events"])}
        taken, _ = milliseconds(
            client, "memlens/hit", {**at, "y_bytes": rng.random() * info["peak_bytes"] / 2}
        )
        took["hit"].append(taken)
        number = rng.randrange(info["allocations"])
        took["stack"].append(
            milliseconds(client, "memlens/stack", {"snapshot": whole["snapshot"], "allocation": number})[0]
        )
        branch = {"of": {"device": 0, "from_moment": rng.randrange(info["events"])}, "by": ["line", "stack"]}
        table = {
            "snapshot": whole["snapshot"],
            "order": "bytes",
            "descending": True,
            "offset": 0,
            "limit": 200,
        }
        taken, answer = milliseconds(client, "memlens/groups", {**table, "branch": branch})
        took["live_set"].append(taken)
        # a filter that hasn't been used yet, so that the device is filtered again
        text = f"size>{rng.randrange(1 << 20)}"
        taken, _ = milliseconds(
            client, "memlens/filter", {"snapshot": whole["snapshot"], "device": 0, "filter": text}
        )
        took["filtered"].append(taken)
        share = lanes["top"] / height
        taken, answer = milliseconds(
            client, "memlens/memoryMap", {**view, "y0": y * share, "y1": (y + h) * share}
        )
        took["map"].append(taken)
        largest = max(largest, len(json.dumps(answer)))
        page = {**at, "order": "size", "offset": 0, "limit": 100}
        took["state"].append(milliseconds(client, "memlens/allocatorState", page)[0])
        document["position"] = {"line": rng.randrange(1500), "character": 0}
        took["hover"].append(milliseconds(client, "textDocument/hover", document)[0])
    return {
        **{f"{name}_ms": spread(values) for name, values in took.items()},
        **flame_session(client, whole["snapshot"], info["events"], rounds),
        **sql_session(client, whole["snapshot"], rounds),
        "largest_answer_bytes": largest,
    }


def sql_session(client: LspClient, snapshot: str, rounds: int) -> dict[str, Any]:
    """The times of making the tables, unless an earlier run made them, and of the examples' first pages."""
    made_ms, _ = milliseconds(client, "memlens/sqlFill", {"snapshot": snapshot})
    examples = client.request("memlens/sqlSchema", {"snapshot": snapshot})["examples"]
    took = [
        # a comment makes it a different query, which continues no earlier one
        milliseconds(
            client, "memlens/sql", {"snapshot": snapshot, "query": f"{example['query']} -- {number}"}
        )[0]
        for number in range(max(rounds // 20, 1))
        for example in examples
    ]
    return {"sql_fill_ms": made_ms, "sql_ms": spread(took)}


def flame_session(client: LspClient, snapshot: str, events: int, rounds: int) -> dict[str, Any]:
    """The first flame graph of sets at random moments, then of the last one at random zooms, and bottom-up."""
    rng = random.Random(2)
    options = {"direction": "top_down"}
    took: dict[str, list[float]] = {"flame_first": [], "flame_zoom": [], "flame_turned": []}
    asked: dict[str, Any] = {"snapshot": snapshot, "value": "bytes", "options": options, "search": ""}
    view = {"x0": 0.0, "x1": 1.0, "width_px": 1600, "first_depth": 0, "rows": 100}
    for _ in range(rounds):
        asked["of"] = {"device": 0, "from_moment": rng.randrange(events)}
        took["flame_first"].append(milliseconds(client, "memlens/flame", {**asked, **view})[0])
        width = 10 ** (-4 * rng.random())
        x0 = rng.random() * (1 - width)
        zoomed = {**asked, **view, "x0": x0, "x1": x0 + width}
        took["flame_zoom"].append(milliseconds(client, "memlens/flame", zoomed)[0])
        turned = {**asked, **view, "options": {"direction": "bottom_up"}}
        took["flame_turned"].append(milliseconds(client, "memlens/flame", turned)[0])
    return {f"{name}_ms": spread(values) for name, values in took.items()}


def flame_drawing(boxes: int) -> dict[str, Any]:
    """Milliseconds that drawing a flame graph takes in Chromium without a GPU."""
    command = ["node", str(ROOT / "tests/bench/flame.mjs"), "--boxes", str(boxes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def compare(first: Path, second: Path, cache: Path, workspace: Path, rounds: int) -> dict[str, Any]:
    """Two open snapshots compared: at their peaks first, then at random moments, of which nothing is cached."""
    rng = random.Random(2)
    took: dict[str, list[float]] = {by: [] for by in ("line", "function", "stack")}
    curves: list[float] = []
    with LspClient() as client:
        client.start(workspace, {"cache_directory": str(cache)})
        opened = [
            client.request("memlens/open", {"path": str(path), "view": path.name}, 600)
            for path in (first, second)
        ]
        pair = {"snapshot": opened[0]["snapshot"], "other": opened[1]["snapshot"]}
        asked = {**pair, "other_first": False, "measure": "own"}
        peak = {"device": 0}
        start = milliseconds(
            client, "memlens/compare", {**asked, "of": peak, "other_of": peak, "by": "line"}
        )[0]
        for _ in range(rounds):
            moments = [rng.randrange(answer["info"]["devices"][0]["events"]) for answer in opened]
            sets = dict(
                zip(
                    ("of", "other_of"),
                    ({"device": 0, "from_moment": moment} for moment in moments),
                    strict=True,
                )
            )
            for by, times in took.items():
                times.append(milliseconds(client, "memlens/compare", {**asked, **sets, "by": by})[0])
            both = {**pair, "device": 0, "other_device": 0, "alignment": {"axis": "time"}, "columns": 1600}
            curves.append(milliseconds(client, "memlens/compareCurves", both)[0])
    return {
        "first_ms": start,
        "curves_ms": spread(curves),
        **{f"{by}_ms": spread(times) for by, times in took.items()},
    }


def webview(bands: int) -> dict[str, Any]:
    """Scripting time per frame while panning and zooming, in Chromium."""
    command = ["node", str(ROOT / "tests/bench/webview.mjs"), "--bands", str(bands)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def table(results: dict[str, Any]) -> str:
    rows = ["| work | must | aim | reached |", "|---|---|---|---|"]

    def row(work: str, must: str, aim: str, reached: str) -> None:
        rows.append(f"| {work} | {must} | {aim} | {reached} |")

    for name, found in results["sizes"].items():
        ingest, served = found["ingest"], found["server"]
        row(f"{name} events: file to archive, against C `pickle.load`", "0.4x", "0.25x",
            f"{ingest['wall_ratio']:.2f}x ({ingest['wall_s']:.2f} s, {ingest['peer_wall_s']:.2f} s)")  # fmt: skip
        row(f"{name} events: peak memory of ingest, against the file", "0.6x", "0.5x",
            f"{ingest['peak_bytes'] / ingest['file_bytes']:.2f}x ({ingest['peak_bytes'] / 2**20:.0f} MiB; "
            f"`pickle.load` {ingest['peer_peak_bytes'] / ingest['file_bytes']:.2f}x)")  # fmt: skip
        row(f"{name} events: open an archived snapshot to the first geometry", "300 ms", "100 ms",
            f"{statistics.median(served['first_geometry_ms']):.0f} ms")  # fmt: skip
        row(f"{name} events: `viewport` at random zooms, by line, without groups, p95", "30 ms", "16 ms",
            f"{served['areas_ms']['p95']:.1f} ms, {served['viewport_ms']['p95']:.1f} ms, at most "
            f"{served['largest_answer_bytes'] / 1e6:.2f} MB")  # fmt: skip
        row(f"{name} events: `stack`, `hit` and hover, p95", "5 ms", "2 ms",
            ", ".join(f"{served[f'{view}_ms']['p95']:.1f} ms" for view in ("stack", "hit", "hover")))  # fmt: skip
        row(f"{name} events: live set at a random moment, grouped by line, p95", "100 ms", "10 ms",
            f"{served['live_set_ms']['p95']:.1f} ms")  # fmt: skip
        compared = found.get("compare")
        if compared:
            row(f"two files of {name} events compared at random moments by line, function, stack, p95", "1 s", "100 ms",
                ", ".join(f"{compared[f'{by}_ms']['p95']:.0f} ms" for by in ("line", "function", "stack"))
                + f", first {compared['first_ms']:.0f} ms, curves {compared['curves_ms']['p95']:.0f} ms")  # fmt: skip
        row(f"{name} events: a new filter narrows the snapshot, p95", "300 ms", "100 ms",
            f"{served['filtered_ms']['p95']:.0f} ms")  # fmt: skip
        row(f"{name} events: SQL, the first page of each example, p95 (tables made in "
            f"{served['sql_fill_ms'] / 1000:.1f} s)", "200 ms", "20 ms",
            f"{served['sql_ms']['p95']:.1f} ms, median {served['sql_ms']['median']:.1f} ms")  # fmt: skip
        row(
            f"{name} events: flame graph of a random moment; at random zooms; from the bottom up, p95",
            "100, 50, 100 ms",
            "10, 16, 10 ms",
            ", ".join(f"{served[f'flame_{each}_ms']['p95']:.1f}" for each in ("first", "zoom", "turned"))
            + " ms",
        )
        row(f"{name} events: `memoryMap` at random zooms, p95", "50 ms", "16 ms",
            f"{served['map_ms']['p95']:.1f} ms")  # fmt: skip
        row(f"{name} events: the allocator's state at a random event, p95", "100 ms", "10 ms",
            f"{served['state_ms']['p95']:.1f} ms")  # fmt: skip
    flame = results.get("flame")
    if flame:
        row(f"a frame of a flame graph of {flame['boxes']:,} visible boxes, without GPU", "30 ms", "15 ms",
            f"{flame['frame_ms']['median']:.1f} ms, p95 {flame['frame_ms']['p95']:.1f} ms")  # fmt: skip
    for values in profile_rows(results.get("profiles", {})):
        row(*values)
    for values in heap_rows(results.get("heap_dumps", {})):
        row(*values)
    for values in python_rows(results.get("python_heaps", {})):
        row(*values)
    for values in fleet_rows(results.get("fleets", {})):
        row(*values)
    drawn = results.get("webview")
    if drawn:
        row(f"pan and zoom, {drawn['bands']:,} bands, scripting a frame ({drawn['renderer']})", "8 ms", "4 ms",
            "{median:.2f} ms, p95 {p95:.2f} ms".format(**drawn["scripting_ms_per_frame"]))  # fmt: skip
    return "\n".join(rows)


def main() -> None:
    if "--faults" in sys.argv:
        from tests.bench import faults

        sys.exit(faults.main([argument for argument in sys.argv[1:] if argument != "--faults"]))
    if "--against" in sys.argv:
        from tests.bench import against

        sys.exit(against.main([argument for argument in sys.argv[1:] if argument != "--against"]))
    if "--replays" in sys.argv:
        from tests.bench import replays

        replays.main()
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200,000 events and only a few rounds")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each process (default 5)")
    parser.add_argument("--no-webview", action="store_true")
    parser.add_argument(
        "--folder", type=Path, help="keep the generated files here, and reuse those that exist"
    )
    parser.add_argument("--out", type=Path, help="write every figure there as JSON")
    options = parser.parse_args()
    sizes = {"200 k": 200_000} if options.quick else {"2 M": 2_000_000, "8 M": 8_000_000}
    results: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "sizes": {},
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, events in sizes.items():
            path = folder / f"bench-{events}.pickle"
            if not path.exists():
                timed(f"making {path.name}", partial(generate, path, events))
            cache, workspace = Path(scratch) / f"cache-{events}", Path(scratch) / f"workspace-{events}"
            workspace.mkdir()
            rounds = 2 if options.quick else options.rounds
            ingest = timed(f"{name}: reading", partial(ingest_against_pickle, path, cache, rounds))
            served = timed(f"{name}: serving", partial(serve, path, cache, workspace, 40 * rounds))
            results["sizes"][name] = {"ingest": ingest, "server": served}
            if events > 2_000_000:
                continue
            other = folder / f"bench-{events}-other.pickle"
            if not other.exists():
                timed(f"making {other.name}", partial(generate, other, events, seed=2))
            compared = timed(
                f"{name}: comparing", partial(compare, path, other, cache, workspace, 20 * rounds)
            )
            results["sizes"][name]["compare"] = compared
        if not options.quick:
            results["profiles"] = timed("profiles", partial(profiles, folder, options.rounds))
            results["heap_dumps"] = timed("heap dumps", partial(heap_dumps, folder))
            results["python_heaps"] = timed("heaps of Python", python_heaps)
        if HAS_PACKAGES:
            of = (8, LARGE_EVENTS // 4, 256) if options.quick else (64, LARGE_EVENTS, 4096)
            results["fleets"] = timed("fleets", partial(fleets, folder, *of))
    if not options.no_webview:
        results["webview"] = timed("drawing", partial(webview, 20_000))
        results["flame"] = timed("drawing flame graphs", partial(flame_drawing, 100_000))
    results["load_at_end"] = os.getloadavg() if hasattr(os, "getloadavg") else None
    print(f"\n{results['machine']}\n\n{table(results)}")
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Do it and print how long it took."""
    start = time.monotonic()
    result = work()
    print(f"{what}: {time.monotonic() - start:.1f} s", file=sys.stderr)
    return result


if __name__ == "__main__":
    main()
