"""The processes of this machine: their runtimes, as far as Memlens dumps heaps of these, and what they are called."""

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from memlens.dumping import linux
from memlens.dumping.errors import DumpError
from memlens.dumping.runtimes import Runtime, by_program, title
from memlens.programs import program
from memlens.texts import phrase

_LONGEST_COMMAND = 1_000
"""The most characters of a command line that are listed: some have thousands of paths of libraries."""

_WINDOWS = (
    "Get-CimInstance Win32_Process | Select-Object ProcessId,ExecutablePath,CommandLine,WorkingSetSize "
    "| ConvertTo-Json -Compress"
)


class Process(NamedTuple):
    """A process, and what writes its heap; ``runtime`` is None if that isn't known."""

    pid: int
    runtime: Runtime | None
    arguments: tuple[str, ...]
    resident_bytes: int

    @property
    def name(self) -> str:
        """What it runs: a script, a class, a module."""
        return title(self.runtime, self.arguments)

    @property
    def command(self) -> str:
        """Its command line, shortened."""
        line = shlex.join(self.arguments)
        return line if len(line) <= _LONGEST_COMMAND else f"{line[:_LONGEST_COMMAND]}…"


def own() -> list[Process]:
    """Return the user's processes, without this one. The root user's are everybody's."""
    return [each for each in _all() if each.pid != os.getpid()]


def dumpable(processes: Iterable[Process]) -> list[Process]:
    """Return those whose heaps Memlens can write, the largest first."""
    found = [each for each in processes if each.runtime is not None and each.runtime.is_dumped]
    return sorted(found, key=lambda each: -each.resident_bytes)


def process(pid: int) -> Process:
    """Return a process, which this user may look into. Raises :class:`DumpError`."""
    if sys.platform == "linux":
        linux.check(pid)
    found = next((each for each in _all(pid) if each.pid == pid), None)
    if found is None:
        raise DumpError(
            phrase("Process {pid} doesn't exist, or isn't yours", pid=str(pid)),
            advice=phrase("`memlens dump` without a process id lists those that can be dumped."),
        )
    return found


def _all(only: int | None = None) -> Iterator[Process]:
    """The user's processes, or on Linux only one."""
    if sys.platform == "linux":
        for pid in linux.own() if only is None else (only,):
            try:
                yield Process(pid, *linux.described(pid))
            except OSError:
                continue  # it ended meanwhile
    elif sys.platform == "win32":
        yield from from_windows(_said(["powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS]))
    else:
        yield from from_ps(_said(["ps", "-axww", "-o", "pid=,uid=,rss=,command="]), os.getuid())


def from_ps(text: str, user: int) -> Iterator[Process]:
    """The processes of a user in the lines of macOS's ps: id, user, KiB, command line."""
    for line in text.splitlines():
        pid, owner, resident_kib, command = line.split(None, 3)
        if user in (0, int(owner)):
            arguments = tuple(command.split(" "))
            yield Process(int(pid), by_program(arguments[0]), arguments, int(resident_kib) << 10)


def from_windows(text: str) -> Iterator[Process]:
    """The processes in the answer of Windows; those of other users have no command line there."""
    listed = json.loads(text)
    for row in listed if isinstance(listed, list) else [listed]:
        if not row["CommandLine"] or not row["ExecutablePath"]:
            continue
        # quotes are the only thing that matters for a title
        arguments = tuple(word.strip('"') for word in shlex.split(row["CommandLine"], posix=False))
        program = PurePath(row["ExecutablePath"].replace("\\", "/"))
        yield Process(row["ProcessId"], by_program(str(program)), arguments, row["WorkingSetSize"])


def _said(command: list[str]) -> str:
    try:
        # by its path: by a bare name Windows would start a program of the working directory
        found = program(command[0])
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
        return subprocess.run(  # noqa: S603
            [str(found), *command[1:]], capture_output=True, check=True, encoding="utf-8", errors="replace"
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise DumpError(
            phrase("The processes of this machine can't be listed: {reason}", reason=str(error)),
            advice=phrase("Give `memlens dump` the process id."),
        ) from error
