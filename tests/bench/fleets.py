"""What the engine of fleets costs and gains: ``python tests/bench/fleets.py`` after ``npm test -- --only python`` once.

The same snapshots are summarised by one bare process after the other, by as many bare processes at once as there
are workers, and by the engine. CPU seconds are of all processes together, of the engine with its scheduler, and don't
depend on what else the machine does, as wall-clock times do. Then many small files; and what each worker itself holds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.generate import generate  # noqa: E402
from tests.python.fleet_cluster import environment  # noqa: E402

MEMLENS = [sys.executable, "-m", "memlens", "fleet"]


def cpu_s() -> float:
    """CPU seconds of all processes that this one has waited for, and of those that they have."""
    times = os.times()
    return times.children_user + times.children_system


def measured(work: Any) -> dict[str, float]:
    began, began_cpu = time.perf_counter(), cpu_s()
    work()
    return {"wall_s": time.perf_counter() - began, "cpu_s": cpu_s() - began_cpu}


def bare(files: list[Path], at_once: int) -> dict[str, float]:
    """A process for each file, with nothing that distributes them."""

    def one(file: Path) -> None:
        subprocess.run(
            [*MEMLENS, "summary", str(file)], env=environment(), stdout=subprocess.DEVNULL, check=True
        )

    def work() -> None:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, files))

    return measured(work)


def by_engine(folder: Path, workers: int) -> dict[str, Any]:
    """The engine, with the resident sets of its workers as they were while it ran."""
    held: dict[int, list[int]] = {}
    with tempfile.TemporaryDirectory() as out:
        command = [*MEMLENS, str(folder), "--out", out, "--workers", str(workers), "--progress", "json"]
        answer: dict[str, Any] = {}

        def work() -> None:
            with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
                watcher = threading.Thread(target=watch, args=(process, held), daemon=True)
                watcher.start()
                for text in process.stdout or ():
                    line = json.loads(text)
                    if line["type"] == "done":
                        answer.update(line)

        took = measured(work)
        size = sum(file.stat().st_size for file in Path(out).glob("memlens-fleet.db"))
    assert answer["ok"] == answer["files"], answer
    return {
        **took,
        "inside_s": answer["seconds"],
        "summary_bytes_per_file": size // answer["files"],
        "worker_rss_bytes": [{"early": series[len(series) // 4], "last": series[-1], "most": max(series)}
                             for series in held.values() if len(series) > 4],
    }  # fmt: skip


def watch(process: subprocess.Popen[str], held: dict[int, list[int]]) -> None:
    """The resident sets of Dask's worker processes, which multiprocessing spawns."""
    while process.poll() is None:
        for entry in Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or b"spawn_main" not in (entry / "cmdline").read_bytes():
                    continue
                fields = dict(
                    line.split(":", 1) for line in (entry / "status").read_text().splitlines() if ":" in line
                )
                if int(fields["PPid"]) == process.pid:
                    held.setdefault(int(entry.name), []).append(int(fields["VmRSS"].split()[0]) * 1024)
            except (OSError, KeyError, ValueError):
                continue
        time.sleep(0.5)


def make(folder: Path, count: int, events: int) -> list[Path]:
    """Files of about that many events, none with the content of another."""
    folder.mkdir()
    files = [folder / f"rank{rank}.pickle" for rank in range(count)]
    for rank, file in enumerate(files):
        generate(file, events + 30 * rank)
    return files


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=64)
    arguments.add_argument("--events", type=int, default=560_000, help="in each: 560,000 are 100 MB")
    arguments.add_argument(
        "--small", type=int, nargs="*", default=[1024, 2048, 4096], help="numbers of small files"
    )
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=1)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="memlens-bench-") as name:
        folder = Path(name)
        files = make(folder / "large", options.files, options.events)
        print(f"{len(files)} files of {sum(file.stat().st_size for file in files) / len(files) / 1e6:.1f} MB")
        for _ in range(options.rounds):
            print(f"load {os.getloadavg()[0]:.1f}")
            one, many = bare(files, 1), bare(files, options.workers)
            engine = by_engine(folder / "large", options.workers)
            for title, found in (("one process", one), ("bare processes", many), ("engine", engine)):
                print(f"{title}: {json.dumps(found)}")
            print(
                f"engine against one process: {one['wall_s'] / engine['wall_s']:.2f}x faster; overhead over bare "
                f"processes: {engine['wall_s'] / many['wall_s'] - 1:+.1%} wall, "
                f"{engine['cpu_s'] / many['cpu_s'] - 1:+.1%} CPU"
            )
        sample = (ROOT / "samples" / "words.pb.gz").read_bytes()
        for count in options.small:
            small = folder / f"small{count}"
            small.mkdir()
            for number in range(count):
                # gzip has room for a comment of any length in its trailing zeros
                (small / f"{number}.pb.gz").write_bytes(sample + bytes(number))
            print(f"load {os.getloadavg()[0]:.1f}")
            found = by_engine(small, options.workers)
            print(
                f"{count} small files: {found['wall_s'] / count * 1000:.1f} s and "
                f"{found['cpu_s'] / count * 1000:.1f} CPU s a thousand: {json.dumps(found)}"
            )


if __name__ == "__main__":
    main()
