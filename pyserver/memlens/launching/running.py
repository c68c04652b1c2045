"""Runs a program to its end, and finds the files that it left."""

import os
import signal
import subprocess
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from memlens.child import oom_kills
from memlens.errors import FileError, reason
from memlens.launching.ways import Start
from memlens.texts import phrase

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")


class Ended(NamedTuple):
    """How a program ended, and what it left."""

    status: int
    """As a shell has it: 128 and the signal's number for one that a signal ended."""
    was_out_of_memory: bool
    """Whether the kernel ended a process of this machine meanwhile because memory ran out, and this one by SIGKILL."""
    files: list[Path]
    """In the order of their last change."""


def run(start: Start, folder: Path) -> Ended:
    """Run a program, with signals passed on to it. Raises :class:`FileError` if it can't be started."""
    there = _state(folder)
    kills = oom_kills()
    try:
        process = subprocess.Popen(start.arguments, env=start.environment)  # noqa: S603
    except OSError as error:
        raise FileError(
            phrase("{program} can't be started: {why}", program=start.arguments[0], why=reason(error))
        ) from error

    def pass_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _signals()}
    # the terminal sends it to both
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    killed = os.name == "posix" and status == -signal.SIGKILL
    files = [path for path, state in _state(folder).items() if there.get(path) != state]
    for path in files:
        if path.stat().st_size == 0:
            # it was ended before it could write more
            path.unlink()
    files = [path for path in files if path.exists()]
    return Ended(
        status if status >= 0 else 128 - status,
        killed and oom_kills() > kills,
        sorted(files, key=lambda path: path.stat().st_mtime_ns),
    )


def _signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]


def _state(folder: Path) -> dict[Path, tuple[int, int]]:
    """The complete files of a folder, each with what changes when it is written again."""
    try:
        paths = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".partial"]
        return {path: ((found := path.stat()).st_size, found.st_mtime_ns) for path in paths}
    except FileNotFoundError:
        return {}
