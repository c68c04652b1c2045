"""What a child process says line by line, and what it means that it ended without a last word."""

import os
import signal
import sys
from pathlib import Path

import msgspec

from memlens.errors import MemlensError, Problem
from memlens.texts import Text, phrase

STDERR_KEPT_BYTES = 8_192
LINE_LIMIT_BYTES = 1 << 20

_OOM_COUNTERS = Path("/proc/vmstat")


class ProgressLine(msgspec.Struct, tag_field="type", tag="progress"):
    """How far the child is."""

    stage: str
    fraction: float | None = None


class DoneLine(msgspec.Struct, tag_field="type", tag="done"):
    """The child's last line when all went well."""

    archive: str


class ErrorLine(msgspec.Struct, tag_field="type", tag="error"):
    """The child's last line when the file is to blame."""

    problem: Problem


class IngestError(MemlensError):
    """A problem that another process reported, or what its death means."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message, offset=problem.offset, advice=problem.advice)
        self.code = problem.code
        self.retry = problem.retry


def environment() -> dict[str, str]:
    """A child's environment."""
    changed = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1"}
    # meant for a process that lives long: a child ends, and Python's own allocator is the faster one
    changed.pop("PYTHONMALLOC", None)
    # likewise what Dask sets for its workers: with it memory goes back to the system and is faulted in again and again
    changed.pop("MALLOC_TRIM_THRESHOLD_", None)
    return changed


def explain(work: Text, status: int, errors: str, *, oom_killed: bool) -> Problem:
    """What it means that the child ended without a last word; ``errors`` is the end of its stderr."""
    if "MemoryError" in errors or (status == -signal.SIGABRT and "bad_alloc" in errors):
        return _out_of_memory(phrase("The {work} took more memory than this machine could give", work=work))
    if sys.platform != "win32" and status == -signal.SIGKILL:
        if oom_killed:
            return _out_of_memory(phrase("The system ended the {work} because memory ran out", work=work))
        return died(phrase("The {work} was killed by the system or another program", work=work))
    if sys.platform != "win32" and status == -signal.SIGBUS:
        return died(phrase("The snapshot, or the disk of its archive, became unavailable while it was read"))
    if status < 0:
        return died(phrase("The {work} died ({signal})", work=work, signal=_signal_name(-status)))
    last = errors.rsplit("\n", 1)[-1] if errors else "no message"
    return died(
        phrase(
            "The {work} ended unexpectedly with status {status} ({last})",
            work=work,
            status=str(status),
            last=last,
        )
    )


def died(message: Text) -> Problem:
    """The problem of a child that ended, or could not be started."""
    advice = phrase("Try again; if it happens again, the log of the Memlens server has the details.")
    return Problem(code="ingest-died", message=message, advice=advice)


def oom_kills() -> int:
    """How many processes Linux has ended for want of memory since it booted; 0 elsewhere."""
    try:
        for line in _OOM_COUNTERS.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    except (OSError, ValueError):
        pass
    return 0


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _out_of_memory(message: Text) -> Problem:
    advice = phrase("Close other programs, or open the file on a machine with more memory, and try again.")
    return Problem(code="out-of-memory", message=message, advice=advice)
