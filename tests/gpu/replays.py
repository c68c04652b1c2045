"""Compares replays with PyTorch itself on a GPU: streams of requests, served by it with each setting.

    python tests/gpu/replays.py [--seeds 5] [--steps 2000]

It needs a GPU, and a PyTorch for it in the Python that runs it. Each setting gets a process of its own, which allocates
and frees as a seed says and writes a snapshot. The replay has to reproduce each snapshot, and to come from the one
without settings to the peaks that PyTorch had with all others. Differences are printed, and the exit status is 1.
"""

import argparse
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MIB = 1 << 20
SETTINGS = (
    "",
    "expandable_segments:True",
    "max_split_size_mb:32",
    "max_split_size_mb:128",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[64:2,256:4,>:8]",
    "expandable_segments:True,roundup_power2_divisions:8",
    "max_split_size_mb:32,max_non_split_rounding_mb:64",
    "large_segment_size_mb:12",
    "expandable_segments:True,large_segment_size_mb:12",
    "garbage_collection_threshold:0.5,per_process_memory_fraction:0.2",
)
_FRACTION = "per_process_memory_fraction:"


def serve(seed: int, steps: int, path: Path, fraction: float) -> None:
    """Allocate and free as a seed says, and write the snapshot. ``fraction`` of the memory may be reserved."""
    torch: Any = importlib.import_module("torch")
    torch.cuda.init()
    if fraction < 1:
        # older versions don't read it from the environment
        torch.cuda.set_per_process_memory_fraction(fraction)
    torch.cuda.memory._record_memory_history(max_entries=10 * steps)
    chance = random.Random(seed)
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    held: list[Any] = []
    for _ in range(steps):
        if chance.random() < 0.52 or not held:
            size = round(2 ** chance.uniform(5, chance.choice((20, 22, 27))))
            with torch.cuda.stream(chance.choice((*streams, streams[0]))):
                held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        else:
            del held[chance.randrange(len(held))]
        if chance.random() < 0.005:
            torch.cuda.empty_cache()
    torch.cuda.memory._dump_snapshot(str(path))


def replayed(path: Path, *options: str) -> Any:
    """What ``memlens what-if`` says of a snapshot."""
    command = [sys.executable, "-m", "memlens", "what-if", str(path), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(seed: int, steps: int, folder: Path) -> list[str]:
    """What differs, in sentences."""
    peaks: dict[str, int] = {}
    different: list[str] = []
    for number, settings in enumerate(SETTINGS):
        path = folder / f"{seed}-{number}.pickle"
        # the older name is read by all versions
        parts = settings.split(",")
        known = ",".join(part for part in parts if not part.startswith(_FRACTION))
        fractions = [part.removeprefix(_FRACTION) for part in parts if part.startswith(_FRACTION)]
        environment = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": known}
        command = [
            sys.executable,
            __file__,
            "--serve",
            str(path),
            "--seeds",
            str(seed),
            "--steps",
            str(steps),
            "--fraction",
            *(fractions or ["1"]),
        ]
        served = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        if served.returncode and "nrecognized" in served.stderr:
            print(f"{settings}: not known to this version of PyTorch")
            continue
        if served.returncode:
            different.append(
                f"seed {seed}, {settings}: not served: {served.stderr.strip().splitlines()[-1:]}"
            )
            continue
        calibration = replayed(path, "--set", "recorded")["calibration"]
        peaks[settings] = calibration["recorded_peak_reserved_bytes"]
        if not calibration["exact"]:
            different.append(f"seed {seed}, {settings}: {calibration}")
    tried = [settings for settings in peaks if settings and "fraction" not in settings]
    answer = replayed(folder / f"{seed}-0.pickle", *(word for each in tried for word in ("--set", each)))
    for row in answer["rows"][1:]:
        if row["peak_reserved_bytes"] != peaks[row["settings"]]:
            reserved = f"{row['peak_reserved_bytes']:,} instead of {peaks[row['settings']]:,} bytes"
            different.append(f"seed {seed}, {row['settings']}: the replay reserves {reserved}")
    return different


def main() -> int:
    """Compare all seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--fraction", type=float, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.seeds, options.steps, options.serve, options.fraction)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        different = [
            line for seed in range(options.seeds) for line in compare(seed, options.steps, Path(folder))
        ]
    print("\n".join(different) or f"{options.seeds} streams with {len(SETTINGS)} settings: all equal")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
