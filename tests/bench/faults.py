"""Long sessions and busy ones: ``npm run bench -- --faults``; what bad files come to is ``npm run fuzz -- --damage``.

    npm run bench -- --faults [--rounds 500] [--viewports 100000] [--events 8000000] [--out figures.json]

Prints what a server holds after so many rounds of open, look and close and after so many viewports, and how quickly it
answers while a big file is read and a query in SQL runs. 8,000,000 events are a file of 1.3 GB; 0 leaves that out.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.generate import generate  # noqa: E402
from tests.bench.lasting import Held, rounds, viewports  # noqa: E402
from tests.bench.run import spread  # noqa: E402
from tests.python.lsp_client import LspClient, RpcError  # noqa: E402

SLOW_SQL = (
    "SELECT count(*) FROM allocations a, allocations b, allocations c WHERE a.address + b.address = c.address"
)
SETTLED = 50
"""The round that later ones are held against."""


def compared(held: list[Held], settled: int) -> dict[str, Any]:
    """The last against the one at ``settled``."""
    early, last = held[min(settled, len(held) - 1)], held[-1]
    return {
        "resident_mb": [round(each.resident_bytes / 1e6, 1) for each in (early, last)],
        "growth_percent": round(100 * (last.resident_bytes / early.resident_bytes - 1), 2),
        "descriptors": [early.descriptors, last.descriptors],
        "maps_kept": max(each.maps for each in held),
    }


def busy(client: LspClient, big: Path, sample: Path, source: Path) -> dict[str, Any]:
    """Hovers and viewports of one snapshot while another is read and a query in SQL runs; then both are cancelled."""
    opened = client.request("memlens/open", {"path": str(sample), "view": "sample"})
    snapshot, device = opened["snapshot"], opened["info"]["devices"][0]
    client.request("memlens/sqlFill", {"snapshot": snapshot})
    axis = device["event_axis"]
    box = {"axis": "event", "y0": 0, "y1": device["peak_bytes"], "columns": 1200, "rows": 700}
    hovers, views, cancels = [], [], []
    done = threading.Event()

    def reading() -> None:
        while not done.is_set():
            opening = client.send("memlens/open", {"path": str(big), "view": "big"})
            time.sleep(8)
            cancels.append(cancelled(opening))

    def querying() -> None:
        while not done.is_set():
            query = client.send("memlens/sql", {"snapshot": snapshot, "query": SLOW_SQL})
            time.sleep(3)
            cancels.append(cancelled(query))

    def cancelled(pending: Any) -> float:
        start = time.perf_counter()
        pending.cancel()
        try:
            pending.result()
        except RpcError:
            return time.perf_counter() - start
        return 0.0

    workers = [threading.Thread(target=work) for work in (reading, querying)]
    for worker in workers:
        worker.start()
    time.sleep(1)
    for number in range(400):
        start = time.perf_counter()
        client.hover(source, 33)
        hovers.append(time.perf_counter() - start)
        x0 = axis["x1"] * (number % 7) / 10
        start = time.perf_counter()
        asked = {"snapshot": snapshot, "device": device["device"], **box, "x0": x0, "x1": x0 + axis["x1"] / 9}
        client.request("memlens/viewport", asked)
        views.append(time.perf_counter() - start)
        time.sleep(0.05)
    done.set()
    for worker in workers:
        worker.join()
    start = time.perf_counter()
    pending = None
    for number in range(1_000):
        if pending is not None:
            pending.cancel()
        x0 = axis["x1"] * number / 2_000
        asked = {"snapshot": snapshot, "device": device["device"], **box, "x0": x0, "x1": x0 + axis["x1"] / 9}
        pending = client.send("memlens/viewport", asked)
    sent = time.perf_counter()
    assert pending is not None
    pending.result()
    return {
        "file_mb": round(big.stat().st_size / 1e6),
        "hover_ms": spread([1e3 * each for each in hovers]),
        "viewport_ms": spread([1e3 * each for each in views]),
        "cancel_ms": spread([1e3 * each for each in cancels if each]),
        "burst_of_1000": {
            "sent_in_s": sent - start,
            "last_answered_after_ms": 1e3 * (time.perf_counter() - sent),
        },
    }


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="npm run bench -- --faults", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--viewports", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=8_000_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    samples = sorted(ROOT.glob("samples/*.pickle"))
    results: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": os.getloadavg(),
    }
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch) / "cache"
        made = Path(scratch) / "small.pickle"
        generate(made, 4_000)

        def session() -> LspClient:
            # as the extension starts it
            client = LspClient({"PYTHONMALLOC": "malloc"} if sys.platform == "linux" else {})
            client.start(ROOT / "samples", {"cache_directory": str(cache)})
            return client

        if options.rounds:
            with session() as client:
                held = rounds(client, [made, *samples], cache, options.rounds)
                results["rounds"] = {"rounds": options.rounds, **compared(held, SETTLED)}
                print(results["rounds"], flush=True)
        if options.viewports:
            with session() as client:
                held = viewports(
                    client, samples[0], cache, options.viewports, max(1, options.viewports // 100)
                )
                results["viewports"] = {"viewports": options.viewports, **compared(held, 1)}
                print(results["viewports"], flush=True)
        if options.events:
            big = Path(scratch) / "big.pickle"
            generate(big, options.events)
            with session() as client:
                results["busy"] = busy(client, big, samples[0], ROOT / "samples" / "train.py")
                print(results["busy"], flush=True)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))
    return 0
