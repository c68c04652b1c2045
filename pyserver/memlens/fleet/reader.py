"""The process beside a worker that reads its files: it has imported everything, and forks a child for each file.

What Python takes to start is longer than what reading a small file takes. The child has a limit on its memory and ends
with the file, so neither the worker nor the reader grows, and a file that kills its child costs nothing else. Where
processes can't be forked safely, a reader reads one file itself and ends.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple, cast

import msgspec
from msgspec import Struct

from memlens.child import (
    STDERR_KEPT_BYTES,
    ErrorLine,
    IngestError,
    ProgressLine,
    environment,
    explain,
    oom_kills,
)
from memlens.fleet.tables import Summary

FORKS = sys.platform == "linux"
"""Elsewhere system libraries may have started threads, which a fork doesn't copy."""


class Request(Struct, frozen=True):
    """What a reader gets: a file, and the folder in which it makes the file's archive."""

    file: str
    archive: str
    pictures: bool
    """Whether the archive gets pictures: one that is dropped is opened by nobody."""
    limit_bytes: int
    """The most memory that reading may use, 0 for no limit."""


class SummaryLine(Struct, tag_field="type", tag="summary"):
    """The last line about a file when all went well."""

    summary: Summary


class EndedLine(Struct, tag_field="type", tag="ended"):
    """The child that read the file ended, with that status: a signal's number, negative, if that ended it."""

    status: int


_decode_line = msgspec.json.Decoder(ProgressLine | SummaryLine | ErrorLine | EndedLine).decode


class _Started(NamedTuple):
    """A process that reads, and what is between it and this one."""

    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    lines: IO[bytes]
    errors: IO[bytes]


class Reader:
    """The reader of this process, which must ask for one file at a time. It is started when it is needed."""

    def __init__(self) -> None:
        self._started: _Started | None = None

    def read(self, request: Request, report: Callable[[str, float | None], None]) -> Summary:
        """The summary of a file. Raises :class:`IngestError`, and OSError if no process can be started."""
        killed_before = oom_kills()
        try:
            started = self._running()
            outcome, status = _asked(started, request, report)
        except BaseException:
            self.close()
            raise
        match outcome:
            case SummaryLine(summary):
                return summary
            case ErrorLine(problem):
                raise IngestError(problem)
            case _:
                raise IngestError(
                    explain(
                        f"reading of {Path(request.file).name}",
                        status,
                        _end_of(started.errors),
                        oom_killed=oom_kills() > killed_before,
                    )
                )

    def start(self) -> None:
        """Start the process ahead of the first file; what keeps it from starting is the file's to say."""
        with contextlib.suppress(OSError):
            self._running()

    def close(self) -> None:
        """End the process, with what it started."""
        if self._started is None:
            return
        process, *files = self._started
        self._started = None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        for file in files:
            with contextlib.suppress(OSError):
                file.close()
        process.wait()

    def _running(self) -> _Started:
        if self._started is not None and self._started.process.poll() is None:
            # what the last file's child wrote
            self._started.errors.truncate(0)
            return self._started
        self.close()
        errors = tempfile.TemporaryFile(mode="a+b")  # noqa: SIM115 - it is closed with the process
        command = [sys.executable, "-m", "memlens", "fleet", "reader", "--parent", str(os.getpid())]
        try:
            process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=sys.platform != "win32",
            )
        except BaseException:
            errors.close()
            raise
        self._started = _Started(
            process, cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout), errors
        )
        return self._started


def _asked(
    started: _Started, request: Request, report: Callable[[str, float | None], None]
) -> tuple[SummaryLine | ErrorLine | None, int]:
    """The last word about the file, if there is one, and the status of the process that read it."""
    # one that can't be written to says below how it ended
    with contextlib.suppress(BrokenPipeError):
        started.requests.write(msgspec.json.encode(request) + b"\n")
        started.requests.flush()
    outcome: SummaryLine | ErrorLine | None = None
    for text in started.lines:
        line = _decode_line(text)
        match line:
            case ProgressLine():
                report(line.stage, line.fraction)
            case EndedLine(status):
                return outcome, status
            case _:
                outcome = line
    return outcome, started.process.wait()


def _end_of(errors: IO[bytes]) -> str:
    errors.seek(max(errors.seek(0, os.SEEK_END) - STDERR_KEPT_BYTES, 0))
    return errors.read().decode(errors="replace").strip()
