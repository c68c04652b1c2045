"""Readers of profiles beside the tools that wrote or print them, in CPU seconds and peak memory of whole processes."""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import zstandard

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data")) / "profiles" / "heaptrack"

# work: real file, or what is made instead; the peer's options; must and aim as parts of its time, and of its memory
HEAPTRACK = {
    "many stacks": ("heaptrack.cpp-tree-deep.zst", (4_000_000, 8_000_000), [], (1.0, 0.5), (2.0, 1.0)),
    "many events": (
        "heaptrack.rust-svc-1M.zst", (20_000, 100_000_000), ["-p0", "-a0", "-T0"], (0.8, 0.3), (None, None),
    ),
}  # fmt: skip


def measured(command: list[str]) -> tuple[float, int]:
    """CPU seconds and peak resident bytes of one run of a command."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def heaptrack(folder: Path, rounds: int) -> dict[str, Any]:
    """Recordings to archives, beside ``heaptrack_print`` to nowhere; nothing where that is not installed."""
    found: dict[str, Any] = {}
    if not shutil.which("heaptrack_print"):
        return found
    for work, (name, made, options, time_ratios, memory_ratios) in HEAPTRACK.items():
        path = REAL / name
        if not path.exists():
            path = folder / f"bench-{made[0]}-{made[1]}.zst"
            if not path.exists():
                make_recording(path, *made)
        cache = folder / "heaptrack-cache"
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
            runs.append((measured(ours), measured(["heaptrack_print", *options, str(path)])))
        shutil.rmtree(cache, ignore_errors=True)
        found[work] = {
            "file_bytes": path.stat().st_size,
            "cpu_s": statistics.median(run[0][0] for run in runs),
            "peer_cpu_s": statistics.median(run[1][0] for run in runs),
            "time_ratio": statistics.median(run[0][0] / run[1][0] for run in runs),
            "peak_bytes": max(run[0][1] for run in runs),
            "peer_peak_bytes": max(run[1][1] for run in runs),
            "time_ratios": time_ratios,
            "memory_ratios": memory_ratios,
        }
    return found


def heaptrack_rows(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows of the table of figures: work, must, aim, reached."""
    rows = []
    for work, figures in found.items():
        must, aim = (
            f"{time}x" + (f", memory {memory}x" if memory else "")
            for time, memory in zip(figures["time_ratios"], figures["memory_ratios"], strict=True)
        )
        memory = figures["peak_bytes"] / figures["peer_peak_bytes"]
        reached = (
            f"{figures['time_ratio']:.2f}x ({figures['cpu_s']:.1f} s CPU, {figures['peer_cpu_s']:.1f} s), memory "
            f"{memory:.2f}x ({figures['peak_bytes'] / 2**20:.0f} MiB)"
        )
        size = f"{figures['file_bytes'] / 1e6:.0f} MB"
        rows.append((f"heaptrack, {work}, {size}: to archive, against `heaptrack_print`", must, aim, reached))
    return rows


def make_recording(path: Path, nodes: int, events: int, seed: int = 1) -> None:
    """Write a recording with a tree of ``nodes`` stacks and about ``events`` allocations and frees."""
    chance = random.Random(seed)
    functions = [f"service::worker_{number}(int)" for number in range(200)]
    head = ["v 10400 3\n", "X ./bench\n", "I 1000 400000\n", "s 7 ./bench\n", "s 9 /x/bench.c\n"]
    head += [f"s {len(name):x} {name}\n" for name in functions]
    head += [f"i {4096 + number:x} 1 {number + 3:x} 2 {number + 10:x}\n" for number in range(len(functions))]
    with path.open("wb") as file, zstandard.ZstdCompressor(3).stream_writer(file) as packed:
        packed.write("".join(head).encode())
        depth = [0]
        kinds = 0
        live: list[int] = []
        most = max(nodes // 4, 1)
        done = stamp = 0
        for node in range(1, nodes + 1):
            lines = [f"t {chance.randrange(1, 201):x} {depth[-1]:x}\n"]
            depth.append(node)
            if len(depth) > 40 or chance.random() < 0.45:
                del depth[chance.randrange(1, len(depth)) :]
            if kinds < most and chance.random() < 0.4:
                lines.append(f"a {chance.randrange(8, 4096):x} {node:x}\n")
                kinds += 1
            for _ in range(min(kinds, events // nodes + 1)):
                if live and chance.random() < 0.49:
                    lines.append(f"- {live.pop():x}\n")
                else:
                    live.append(chance.randrange(kinds))
                    lines.append(f"+ {live[-1]:x}\n")
                done += 1
                if done % 10_000 == 0:
                    stamp += 10
                    lines.append(f"c {stamp:x}\nR {len(live):x}\n")
            packed.write("".join(lines).encode())


if __name__ == "__main__":
    print(json.dumps(heaptrack(Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp"), 3), indent=1))
