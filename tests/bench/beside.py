"""Runs commands and their peers as whole processes in turn: ours, peer, ours, peer, …

They are compared pair by pair, so that a machine that is busy now and then does not favour one of them.
"""

import compileall
import functools
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

_IMPORTED = ("numpy", "msgspec", "apsw", "zstandard")


class Run(NamedTuple):
    """The cost of one run of a command."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


def measured(command: list[str]) -> Run:
    """Run a command to its end. Raises CalledProcessError if it fails."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    unit = 1 if sys.platform == "darwin" else 1024
    wall_s = time.perf_counter() - start
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


@functools.cache
def _compiled() -> None:
    """Compile Memlens's modules and its libraries' to bytecode, as installed packages are.

    Otherwise each process that may not write compiles them again.
    """
    libraries = Path(msgspec.__file__).parents[1]
    for folder in (
        Path(__file__).resolve().parents[2] / "pyserver" / "memlens",
        *map(libraries.joinpath, _IMPORTED),
    ):
        compileall.compile_dir(folder, quiet=2)
    compileall.compile_file(libraries / "typing_extensions.py", quiet=2)


def memlens(*args: object) -> list[str]:
    """The command line of ``memlens ARGS``."""
    _compiled()
    return [sys.executable, "-m", "memlens", *(str(argument) for argument in args)]


def warm(path: Path) -> None:
    """Read a file into the system's cache, so that the disk slows down neither command."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def ingest_beside(
    path: Path, cache: Path, peer: list[str], rounds: int, command: tuple[str, ...] = ("ingest",)
) -> dict[str, Any]:
    """Compare reading a file into a new archive in ``cache`` with ``peer``; the last archive is kept.

    ``command`` may be another command of Memlens that makes the archive. Times are medians, peaks are the maximum.
    """
    name, *more = command
    quiet = ["--progress", "none"] if name == "ingest" else []
    ours = memlens(name, path, "--cache-dir", cache, *quiet, *more)
    warm(path)
    runs = []
    for _ in range(rounds):
        shutil.rmtree(cache, ignore_errors=True)
        runs.append((measured(ours), measured(peer)))
    return {
        "file_bytes": path.stat().st_size,
        "wall_s": statistics.median(own.wall_s for own, _ in runs),
        "peer_wall_s": statistics.median(other.wall_s for _, other in runs),
        "wall_ratio": statistics.median(own.wall_s / other.wall_s for own, other in runs),
        "cpu_s": statistics.median(own.cpu_s for own, _ in runs),
        "peer_cpu_s": statistics.median(other.cpu_s for _, other in runs),
        "cpu_ratio": statistics.median(own.cpu_s / other.cpu_s for own, other in runs),
        "peak_bytes": max(own.peak_bytes for own, _ in runs),
        "peer_peak_bytes": max(other.peak_bytes for _, other in runs),
        "runs": runs,
    }
