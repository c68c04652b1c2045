"""Measures the figures that SECURITY.md promises: damaged input, faults, long sessions and busy ones.

    npm run bench -- --faults [--flips 2000] [--kills 20] [--rounds 500] [--viewports 100000] [--events 8000000]
                              [--table tests/bench/faults.md] [--out figures.json]

Prints a row for each promise, and exits with 1 if one isn't kept. 0 skips a part. 8,000,000 events are a file of
1.4 GB. ``tests/bench/faults.md`` is the table of the last complete run; ``npm run fuzz -- --damage`` damages more
files.
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
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.generate import generate  # noqa: E402
from tests.bench.lasting import Held, kills, rounds, viewports  # noqa: E402
from tests.bench.run import spread  # noqa: E402
from tests.fuzz.damage import damage  # noqa: E402
from tests.python.lsp_client import LspClient, RpcError  # noqa: E402

SLOW_SQL = (
    "SELECT count(*) FROM allocations a, allocations b, allocations c WHERE a.address + b.address = c.address"
)
SETTLED = 50
"""The round that later ones are compared with."""


class Figure(NamedTuple):
    """A promise and the figure that was measured."""

    what: str
    promised: str
    came_to: str
    kept: bool


def damaged(sample: Path, flips: int) -> list[Figure]:
    """A sample truncated at 200 places, and with a bit flipped at each of ``flips`` places."""
    tally = damage(sample.name, sample.read_bytes(), 200, flips)
    words = tally.cuts + tally.flips
    opened = {word: words[word] for word in ("warned", "opened", "same", "fault")}
    faults = (
        f"{words.total() - sum(opened.values()):,} refused, {opened['warned']:,} opened with a warning, "
        f"{opened['opened'] + opened['same']:,} opened and answered"
    )
    return [
        Figure(
            f"{tally.tried:,} damaged copies of {sample.name}",
            "a sentence, a warning or an answer each, in 2 s and 1.5 times the memory plus 100 MB",
            f"{len(tally.faults)} faults ({faults}); at most {tally.longest_s:.2f} s, {tally.most_bytes / 1e6:.0f} MB",
            not tally.faults,
        )
    ]


def killed(client: LspClient, big: Path, sample: Path, source: Path, cache: Path, count: int) -> list[Figure]:
    """Kill the child that reads ``big`` at random moments while hovers of another snapshot are answered."""
    client.request("memlens/open", {"path": str(sample), "view": "sample"})
    found = list(kills(client, big, (source, 33), cache, count))
    problems = [each.problem for each in found if each.problem is not None]
    died = sum(problem["code"] == "ingest-died" and problem["retry"] for problem in problems)
    whole = sum(each.answer is not None for each in found)
    hovers = sum(each.hovered for each in found)
    rubbish = sum(len(each.leftovers) for each in found)
    return [
        Figure(
            f"the reading child killed {count} times, at any moment of its first second",
            "the view offers Retry, a hover of another snapshot is answered, nothing is left in the cache",
            f"{died} times reported with Retry, {whole} times too late to matter; {hovers} hovers; {rubbish} leftovers",
            died + whole == count == hovers and rubbish == 0,
        )
    ]


def flat(what: str, held: list[Held], settled: int) -> Figure:
    """Compare the last measurement with the one at ``settled`` and the one half-way."""
    early, last = held[min(settled, len(held) - 1)], held[-1]
    growth = last.resident_bytes / early.resident_bytes - 1
    megabytes = ", ".join(f"{each.resident_bytes / 1e6:.1f}" for each in (early, held[len(held) // 2], last))
    came_to = (
        f"{megabytes} MB at first, half-way and at the end ({growth:+.1%}); "
        f"{early.descriptors} and {last.descriptors} descriptors, {early.maps} and {last.maps} maps"
    )
    fits = growth < 0.05 and last.descriptors <= early.descriptors and last.maps <= early.maps
    return Figure(what, "resident memory within 5 %, no more descriptors and maps", came_to, fits)


def busy(client: LspClient, big: Path, sample: Path, source: Path) -> list[Figure]:
    """Measure hovers and viewports of one snapshot while another is read and an SQL query runs; then cancel both."""
    opened = client.request("memlens/open", {"path": str(sample), "view": "sample"})
    snapshot, device = opened["snapshot"], opened["info"]["devices"][0]
    client.request("memlens/sqlFill", {"snapshot": snapshot})
    axis = device["event_axis"]
    box = {
        "device": device["device"],
        "axis": "event",
        "y0": 0,
        "y1": device["peak_bytes"],
        "columns": 1200,
        "rows": 700,
    }
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
        asked = {"snapshot": snapshot, **box, "x0": x0, "x1": x0 + axis["x1"] / 9}
        client.request("memlens/viewport", asked)
        views.append(time.perf_counter() - start)
        time.sleep(0.05)
    done.set()
    for worker in workers:
        worker.join()
    hover, view, cancel = (
        spread([1e3 * each for each in some]) for some in (hovers, views, filter(None, cancels))
    )
    while_busy = f"while {big.stat().st_size / 1e9:.1f} GB are read and a slow query runs"

    def figure(what: str, values: dict[str, float], name: str, most: float) -> Figure:
        came_to = (
            f"median {values['median']:.1f} ms, p95 {values['p95']:.1f} ms, at most {values['max']:.1f} ms"
        )
        return Figure(f"{what} {while_busy}", f"{name} {most:g} ms", came_to, values[name] < most)

    return [
        figure("hover", hover, "p95", 50),
        figure("viewport", view, "p95", 100),
        figure("cancel", cancel, "max", 200),
        burst(client, snapshot, box, axis["x1"]),
    ]


def burst(client: LspClient, snapshot: str, box: dict[str, Any], end: float) -> Figure:
    """Request a thousand viewports as a held key does: each cancels the one before it."""
    start = time.perf_counter()
    pending = None
    for number in range(1_000):
        if pending is not None:
            pending.cancel()
        x0 = end * number / 2_000
        pending = client.send("memlens/viewport", {"snapshot": snapshot, **box, "x0": x0, "x1": x0 + end / 9})
    sent = time.perf_counter()
    assert pending is not None
    pending.result()
    last_s = time.perf_counter() - sent
    came_to = f"sent in {sent - start:.1f} s, the last answered {last_s:.1f} s later"
    return Figure(
        "a burst of 1,000 viewports, as of a held key",
        "only the last is late, within a second",
        came_to,
        last_s < 1,
    )


def main(arguments: list[str]) -> int:
    """Measure and print; returns 0 if every promise is kept."""
    parser = argparse.ArgumentParser(
        prog="npm run bench -- --faults", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--flips", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--viewports", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=8_000_000)
    parser.add_argument("--table", type=Path, help="write the table to this file as Markdown")
    parser.add_argument("--out", type=Path, help="write every figure there as JSON")
    options = parser.parse_args(arguments)
    figures: list[Figure] = []

    def report(*found: Figure) -> None:
        figures.extend(found)
        for figure in found:
            print(f"{'kept  ' if figure.kept else 'MISSED'}  {figure.what}: {figure.came_to}", flush=True)

    sample, source = ROOT / "samples" / "train.pickle", ROOT / "samples" / "train.py"
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch) / "cache"

        def made(name: str, events: int) -> Path:
            path = Path(scratch) / name
            generate(path, events)
            return path

        def session() -> LspClient:
            # as the extension starts the server
            client = LspClient({"PYTHONMALLOC": "malloc"} if sys.platform == "linux" else {})
            client.start(ROOT / "samples", {"cache_directory": str(cache)})
            return client

        if options.flips:
            report(*damaged(sample, options.flips))
        if options.kills:
            with session() as client:
                report(*killed(client, made("middle.pickle", 300_000), sample, source, cache, options.kills))
        if options.rounds:
            with session() as client:
                held = rounds(client, [made("small.pickle", 4_000), sample], cache, options.rounds)
            report(flat(f"{options.rounds} rounds of open, look at, query and close", held, SETTLED))
        if options.viewports:
            with session() as client:
                held = viewports(client, sample, cache, options.viewports, max(1, options.viewports // 100))
            report(flat(f"{options.viewports:,} viewports in a session", held, 1))
        if options.events:
            with session() as client:
                report(*busy(client, made("big.pickle", options.events), sample, source))
    if options.table:
        options.table.write_text(table(figures))
    if options.out:
        options.out.write_text(json.dumps([figure._asdict() for figure in figures], indent=1))
    return not all(figure.kept for figure in figures)


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    where = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    lines = [
        "# What the promises of SECURITY.md come to",
        "",
        f"`npm run bench -- --faults --table tests/bench/faults.md` on {where}.",
        "",
        "| what | promised | came to | |",
        "|---|---|---|---|",
        *(
            f"| {figure.what} | {figure.promised} | {figure.came_to} | {'kept' if figure.kept else '**missed**'} |"
            for figure in figures
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
