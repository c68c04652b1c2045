"""What the fleet engine costs and what it gains: ``python tests/bench/fleets.py``, and a part of ``npm run bench``.

Both need the packages of ``memlens[fleet]`` in .cache/fleet, which ``npm test -- --only python`` installs.

The same files are read one after another by one process that makes the same summaries as the engine, and by a bare
reader whose results are discarded; by as many bare readers at once as there are workers; by a bare process for each
file; and by the engine. CPU seconds are of all processes together, including the engine's scheduler, and unlike
wall-clock times don't depend on other work on the machine. Then many small files are read, with the seconds of each
thousand as their number grows, and the memory of each process.
"""

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from unittest.mock import patch

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.generate import generate  # noqa: E402
from tests.python.fleet_cluster import HAS_PACKAGES, environment  # noqa: E402

from memlens.fleet import run  # noqa: E402
from memlens.fleet.engine import Finished  # noqa: E402
from memlens.fleet.reader import Reader, Request  # noqa: E402
from memlens.fleet.work import Job, Outcome, read_file  # noqa: E402

MEMLENS = [sys.executable, "-m", "memlens", "fleet"]
LARGE_EVENTS = 560_000
"""A trace of that many events is 100 MB."""
_PR_SET_CHILD_SUBREAPER = 36
_MADE = 4
"""How many traces are generated; the others are copies that differ in their trailing bytes."""


def cpu_s() -> float:
    """CPU seconds of all descendants of this process that have ended."""
    with suppress(ChildProcessError):
        # a process whose parent has ended is this one's child, see fleets()
        while os.waitpid(-1, 0)[0]:
            pass
    times = os.times()
    return times.children_user + times.children_system


def measured(work: Callable[[], object]) -> dict[str, float]:
    began, began_cpu = time.perf_counter(), cpu_s()
    work()
    return {"wall_s": time.perf_counter() - began, "cpu_s": cpu_s() - began_cpu}


def by_readers(files: list[Path], at_once: int) -> dict[str, float]:
    """Run that many readers, each of which takes the next file when it has finished one; results are discarded."""
    left: SimpleQueue[Path] = SimpleQueue()
    for file in files:
        left.put(file)

    def one() -> None:
        reader = Reader()
        try:
            while True:
                with tempfile.TemporaryDirectory() as folder:
                    archive = str(Path(folder) / "archive")
                    reader.read(
                        Request(str(left.get_nowait()), archive, False, 0), lambda _stage, _done: None
                    )
        except Empty:
            pass
        finally:
            reader.close()

    def work() -> None:
        with ThreadPoolExecutor(at_once) as pool:
            for each in [pool.submit(one) for _ in range(at_once)]:
                each.result()

    return measured(work)


class OneAfterTheOther:
    """A substitute for the engine: this process does each job itself, with one reader."""

    slots = 1

    def __init__(self) -> None:
        self.workers: dict[int, list[str]] = {}

    def run(self, jobs: Iterator[Job]) -> Iterator[Finished]:
        for job in jobs:
            outcome = msgspec.json.decode(read_file(msgspec.json.encode(job)), type=Outcome)
            yield Finished(job, outcome, None)


def summarise_alone(folder: Path, out: Path) -> None:
    """What ``memlens fleet`` does with a folder, without an engine."""

    @contextmanager
    def alone(*_arguments: object) -> Iterator[OneAfterTheOther]:
        yield OneAfterTheOther()

    with patch.object(run, "engine", alone):
        result = run.run(run.Options(str(folder), out), lambda _message: None)
    assert result.ok == result.files, result


def by_one_process(folder: Path) -> dict[str, float]:
    """Make the same summaries as the engine in one process, one file after another."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, __file__, "--alone", str(folder), "--out", out]
        return measured(lambda: subprocess.run(command, env=environment(), check=True))


def by_processes(files: list[Path], at_once: int) -> dict[str, float]:
    """Start a process for each file, without distributing them."""

    def one(file: Path) -> None:
        subprocess.run(
            [*MEMLENS, "summary", str(file)], env=environment(), stdout=subprocess.DEVNULL, check=True
        )

    def work() -> None:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, files))

    return measured(work)


def by_engine(folder: Path, workers: int) -> dict[str, Any]:
    """Run the engine; returns when files were finished, and the resident sets of its processes meanwhile."""
    held: dict[str, list[int]] = {}
    done_s: list[float] = []
    answer: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as out:
        command = [*MEMLENS, str(folder), "--out", out, "--workers", str(workers), "--progress", "json"]

        def work() -> None:
            with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
                watcher = threading.Thread(target=watch, args=(process, held), daemon=True)
                watcher.start()
                for text in process.stdout or ():
                    line = json.loads(text)
                    if line["type"] == "file":
                        done_s.append(time.perf_counter())
                    elif line["type"] == "done":
                        answer.update(line)

        took = measured(work)
        size = (Path(out) / "memlens-fleet.db").stat().st_size
    assert answer["ok"] == answer["files"], answer
    return {
        **took,
        "inside_s": answer["seconds"],
        "done_s": done_s,
        "summary_bytes_per_file": size // answer["files"],
        "rss_bytes": {
            name: {"early": series[len(series) // 4], "last": series[-1], "most": max(series)}
            for name, series in held.items()
            if len(series) > 4
        },
    }


def watch(process: subprocess.Popen[str], held: dict[str, list[int]]) -> None:
    """The resident sets of the engine's process and its children, without readers."""
    while process.poll() is None:
        # only these: examining all processes of a machine would distort the measurement
        numbers = [process.pid]
        for number in numbers:
            with suppress(OSError, KeyError, ValueError):
                entry = Path(f"/proc/{number}")
                if b"reader" in (entry / "cmdline").read_bytes():
                    continue
                status = (entry / "status").read_text()
                fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
                name = "engine" if number == process.pid else f"worker {number}"
                held.setdefault(name, []).append(int(fields["VmRSS"].split()[0]) * 1024)
                for children in entry.glob("task/*/children"):
                    numbers.extend(map(int, children.read_text().split()))
        time.sleep(0.5)


def make(folder: Path, count: int, events: int) -> list[Path]:
    """Files of about that many events, all with different content."""
    folder.mkdir()
    files = [folder / f"rank{rank}.pickle" for rank in range(count)]
    for rank, file in enumerate(files):
        if rank < _MADE:
            generate(file, events + 30 * rank, seed=rank)
        else:
            shutil.copyfile(files[rank % _MADE], file)
            with file.open("ab") as end:
                end.write(bytes(rank // _MADE))
    return files


def make_small(folder: Path, count: int) -> None:
    """Copies of a small profile that differ in their trailing zeros, which gzip allows."""
    folder.mkdir()
    sample = (ROOT / "samples" / "words.pb.gz").read_bytes()
    for number in range(count):
        (folder / f"{number}.pb.gz").write_bytes(sample + bytes(number))


def fleets(
    folder: Path, count: int, events: int, small: int, workers: int = 2, rounds: int = 1
) -> dict[str, Any]:
    """Run all measurements in a folder that is emptied afterwards."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=folder) as name:
        scratch = Path(name)
        files = make(scratch / "large", count, events)
        found: dict[str, Any] = {
            "files": count, "file_bytes": sum(file.stat().st_size for file in files) // count, "workers": workers,
            "load": os.getloadavg(), "rounds": [],
        }  # fmt: skip
        for _ in range(rounds):
            found["rounds"].append(
                {
                    "one_process": by_one_process(scratch / "large"),
                    "one_reader": by_readers(files, 1),
                    "readers": by_readers(files, workers),
                    "engine": by_engine(scratch / "large", workers),
                    "processes": by_processes(files, workers),
                }
            )
        shutil.rmtree(scratch / "large")
        make_small(scratch / "small", small)
        found["small"] = {"files": small, **by_engine(scratch / "small", workers)}
    return found


def fleet_rows(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows for the table of ``npm run bench``."""
    if not found:
        return []

    files = f"{found['files']} files of {found['file_bytes'] / 1e6:.0f} MB"
    small, workers = found["small"], found["workers"]
    step = min(1000, small["files"])
    done = [small["done_s"][0], *small["done_s"][step - 1 :: step]]
    thousands = [f"{(late - early) / step * 1000:.0f}" for early, late in pairwise(done)]
    memory = ", ".join(
        f"{name.split()[0]} {each['early'] / 2**20:.0f} → {each['last'] / 2**20:.0f} MiB"
        for name, each in small["rss_bytes"].items()
    )
    one, reader, engine, readers, processes = (
        {what: min(float(each[arm][what]) for each in found["rounds"]) for what in ("wall_s", "cpu_s")}
        for arm in ("one_process", "one_reader", "engine", "readers", "processes")
    )
    faster, than_reader = (
        f"{each['wall_s'] / engine['wall_s']:.2f}x ({each['wall_s']:.1f} s, {engine['wall_s']:.1f} s)"
        for each in (one, reader)
    )
    over = engine["cpu_s"] / processes["cpu_s"] - 1
    over_processes = f"{over:+.1%} ({engine['cpu_s']:.1f} s, {processes['cpu_s']:.1f} s)"
    over_readers = f"{engine['cpu_s'] / readers['cpu_s'] - 1:+.1%} ({readers['cpu_s']:.1f} s)"
    costs = (
        f"{', '.join(thousands)} s; {small['cpu_s'] / small['files'] * 1000:.0f} CPU s; "
        f"{small['summary_bytes_per_file'] / 1000:.0f} kB of summary a file"
    )
    return [
        (f"fleet: {files}, {workers} workers against one process that does the same", "1.7x", "1.9x", faster),
        ("fleet: likewise against one bare reader, whose findings are dropped", "—", "1.7x", than_reader),
        ("fleet: CPU of the engine over bare processes, one a file", "10%", "0%", over_processes),
        ("fleet: CPU of the engine over bare readers, which fork", "—", "10%", over_readers),
        (f"fleet: {small['files']:,} small files, seconds a thousand as it grows", "flat", "flat", costs),
        ("fleet: resident sets after a quarter of them and at the end", "flat", "flat", memory),
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=64)
    arguments.add_argument("--events", type=int, default=LARGE_EVENTS, help="in each: 560,000 are 100 MB")
    arguments.add_argument("--small", type=int, default=4096, help="how many small files")
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--out", type=Path, help="write every figure there as JSON")
    arguments.add_argument("--alone", type=Path, help="only make the summaries of a folder in one process")
    options = arguments.parse_args()
    if options.alone:
        summarise_alone(options.alone, options.out)
        return
    found = fleets(
        Path(tempfile.gettempdir()),
        options.files,
        options.events,
        options.small,
        options.workers,
        options.rounds,
    )
    for row in fleet_rows(found):
        print(f"{row[0]}: {row[3]} (must {row[1]}, aim {row[2]})")
    print(f"load {found['load'][0]:.1f} at the start, {os.getloadavg()[0]:.1f} at the end")
    if options.out:
        options.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    if not HAS_PACKAGES:
        sys.exit(
            "There are no packages of memlens[fleet] in .cache/fleet: run npm test -- --only python once."
        )
    main()
