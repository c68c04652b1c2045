"""Files of massif and DHAT beside what else reads them, in CPU seconds and peak memory of whole processes."""

import json
import random
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.profiles import measured  # noqa: E402

JSON_LOAD = "import json, os, sys; kept = json.load(open(sys.argv[1], 'rb')); os._exit(0)"


def valgrind(folder: Path, rounds: int) -> dict[str, Any]:
    """Files to archives, beside ``ms_print`` (where it is installed) and Python's ``json.load``."""
    found: dict[str, Any] = {}
    works: dict[str, tuple[Any, list[str], tuple[float, float]]] = {
        "dhat": (make_dhat, [sys.executable, "-c", JSON_LOAD], (1.0, 0.5)),
    }
    if shutil.which("ms_print"):
        works["massif"] = (make_massif, ["ms_print"], (0.2, 0.1))
    for work, (make, peer, ratios) in works.items():
        path = folder / f"bench.{work}"
        if not path.exists():
            make(path)
        cache = folder / "valgrind-cache"
        ours = [
            sys.executable,
            "-m",
            "memlens",
            "ingest",
            str(path),
            "--cache-dir",
            str(cache),
            "--progress",
            "none",
        ]
        runs = []
        for _ in range(rounds):
            shutil.rmtree(cache, ignore_errors=True)
            runs.append((measured(ours), measured([*peer, str(path)])))
        shutil.rmtree(cache, ignore_errors=True)
        found[work] = {
            "file_bytes": path.stat().st_size,
            "cpu_s": statistics.median(run[0][0] for run in runs),
            "peer_cpu_s": statistics.median(run[1][0] for run in runs),
            "time_ratio": statistics.median(run[0][0] / run[1][0] for run in runs),
            "peak_bytes": max(run[0][1] for run in runs),
            "peer_peak_bytes": max(run[1][1] for run in runs),
            "time_ratios": ratios,
            "peer": Path(peer[0]).name if len(peer) == 1 else "json.load",
        }
    return found


def valgrind_rows(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows of the table of figures: work, must, aim, reached."""
    rows = []
    for work, figures in found.items():
        must, aim = (f"{ratio}x" for ratio in figures["time_ratios"])
        reached = (
            f"{figures['time_ratio']:.2f}x ({figures['cpu_s']:.1f} s CPU, {figures['peer_cpu_s']:.1f} s), memory "
            f"{figures['peak_bytes'] / 2**20:.0f} MiB ({figures['peer_peak_bytes'] / 2**20:.0f} MiB)"
        )
        size = f"{figures['file_bytes'] / 1e6:.0f} MB"
        rows.append((f"{work}, {size}: to archive, against `{figures['peer']}`", must, aim, reached))
    return rows


def make_dhat(path: Path, points: int = 320_000, seed: int = 1) -> None:
    """Write a profile of so many program points, as large as those of a C++ program with many call paths."""
    chance = random.Random(seed)
    named = (
        f"0x{0x400000 + n * 37:X}: gen{n}(std::unique_ptr<Node>) (tree.cpp:{n % 300 + 1})"
        for n in range(4000)
    )
    table = ["[root]", *named]
    head = {
        "dhatFileVersion": 2,
        "mode": "heap",
        "verb": "Allocated",
        "bklt": True,
        "bkacc": True,
        "tu": "instrs",
    }
    callers = [1]
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ',"cmd":"./bench","pid":1,"te":99999999,"tg":8888888,"pps":\n [')
        for number in range(points):
            # the next stack has most of its callers in common with the one before
            del callers[
                chance.randrange(max(len(callers) - 3, 1))
                if chance.random() < 0.02
                else max(len(callers) - 3, 1) :
            ]
            callers += [
                chance.randrange(1, 4001) for _ in range(chance.randrange(1, 6) if len(callers) < 22 else 1)
            ]
            stack = ",".join(str(frame) for frame in reversed(callers))
            blocks = chance.randrange(1, 50)
            file.write(
                f'{" ," if number else ""}{{"tb":{blocks * 32},"tbk":{blocks}\n  ,"tl":{chance.randrange(10**9)}\n'
                f'  ,"mb":32,"mbk":1\n  ,"gb":{32 * (number % 2)},"gbk":{number % 2}\n  ,"eb":0,"ebk":0\n'
                f'  ,"rb":{blocks * 90},"wb":{blocks * 40}\n  ,"acc":[-8,{blocks},-24,{blocks * 2}]\n'
                f'  ,"fs":[{stack}]\n  }}\n'
            )
        file.write(' ]\n,"ftbl":' + json.dumps(table, indent=0) + "\n}\n")


def make_massif(path: Path, snapshots: int = 100, stacks: int = 11_000, seed: int = 1) -> None:
    """Write a profile whose snapshots are all detailed, with a threshold of 0: some 190 MB."""
    with path.open("w", encoding="utf-8") as file:
        file.write("desc: --threshold=0 --detailed-freq=1\ncmd: ./bench\ntime_unit: i\n")
        for number in range(snapshots):
            # most of what a stack holds stays from one snapshot to the next
            held = (number // 4 + 1) * 16
            total = stacks * held
            tree = "peak" if number == snapshots - 1 else "detailed"
            file.write(
                f"#-----------\nsnapshot={number}\n#-----------\ntime={number * 1000}\nmem_heap_B={total}\n"
            )
            file.write(f"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree={tree}\n")
            file.write(f"n1: {total} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n")
            _tree(file, 1, stacks, held, random.Random(seed))


def _tree(file: TextIO, depth: int, leaves: int, leaf_bytes: int, chance: random.Random) -> None:
    """A node with so many leaves below it."""
    open_nodes = [(depth, leaves)]
    while open_nodes:
        depth, leaves = open_nodes.pop()
        parts = [] if leaves == 1 else [leaves // 2, leaves - leaves // 2] if depth < 25 else [1] * leaves
        line = chance.randrange(1, 200)
        file.write(f"{' ' * depth}n{len(parts)}: {leaves * leaf_bytes} 0x{0x10B000 + line * 16:X}: ")
        file.write(f"gen{line}(std::unique_ptr<Node, std::default_delete<Node> >) (tree.cpp:{line})\n")
        open_nodes += [(depth + 1, part) for part in parts]


if __name__ == "__main__":
    print(json.dumps(valgrind(Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp"), 3), indent=1))
