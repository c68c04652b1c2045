"""The process that reads a worker's files: it has imported everything, and forks a child for each file.

Starting Python takes longer than reading a small file. The child has a memory limit and ends with the file, so neither
the worker nor the reader grows, and a file that kills its child affects nothing else. Where processes can't be forked
safely, a reader reads one file itself and ends.
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
    command,
    environment,
    explain,
    oom_kills,
)
from memlens.fleet.tables import Summary
from memlens.texts import phrase

FORKS = sys.platform == "linux"
"""Elsewhere system libraries may have started threads, which a fork doesn't copy."""


class Request(Struct, frozen=True):
    """A request to a reader: a file, and the folder in which to make its archive."""

    file: str
    archive: str
    pictures: bool
    """Whether to make the archive's pictures, which an archive that is dropped doesn't need."""
    limit_bytes: int
    """The most memory that reading may use, 0 for no limit."""


class SummaryLine(Struct, tag_field="type", tag="summary"):
    """The last line about a file that was read."""

    summary: Summary


class EndedLine(Struct, tag_field="type", tag="ended"):
    """The child that read the file ended with this status: minus the signal's number if a signal ended it."""

    status: int


_decode_line = msgspec.json.Decoder(ProgressLine | SummaryLine | ErrorLine | EndedLine).decode


class _Started(NamedTuple):
    """A reading process, and the pipes to it."""

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
                        phrase("reading of {file}", file=Path(request.file).name),
                        status,
                        _end_of(started.errors),
                        oom_killed=oom_kills() > killed_before,
                    )
                )

    def start(self) -> None:
        """Start the process ahead of the first file; an error is reported with that file."""
        with contextlib.suppress(OSError):
            self._running()

    def close(self) -> None:
        """End the process and all that it started."""
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
            # the output of the last file's child
            self._started.errors.truncate(0)
            return self._started
        self.close()
        errors = tempfile.TemporaryFile(mode="a+b")  # noqa: SIM115 - it is closed with the process
        try:
            process = subprocess.Popen(  # noqa: S603 - our own command
                command("reader", "--parent", str(os.getpid())),
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
    """The last message about the file, if there is one, and the status of the process that read it."""
    # if it can't be written to, its status below says how it ended
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
