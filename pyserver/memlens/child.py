"""The lines in which a child process reports, and the problem to show if it ended without a last one."""

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
    """How far the child has come."""

    stage: str
    fraction: float | None = None


class DoneLine(msgspec.Struct, tag_field="type", tag="done"):
    """The child's last line after success: what it wrote, and perhaps something to say about it."""

    archive: str
    note: Text | None = None
    mapping: str | None = None
    """The file that leads back to the names of a dump that was written with others."""
    staying: list[Text] = []
    """Lines about the texts that stay in a dump that was written without its values."""


class ErrorLine(msgspec.Struct, tag_field="type", tag="error"):
    """The child's last line after an error that it could report."""

    problem: Problem


class IngestError(MemlensError):
    """A problem that another process reported, or that its unexpected end amounts to."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message, offset=problem.offset, advice=problem.advice)
        self.code = problem.code
        self.retry = problem.retry


def command(*arguments: str) -> list[str]:
    """Return the command line of a child that runs ``memlens`` with these arguments.

    The working directory may be a stranger's project: ``-P`` keeps its modules from being imported.
    """
    return [sys.executable, "-P", "-m", "memlens", *arguments]


def environment() -> dict[str, str]:
    """Return the environment of a child process.

    Python takes an empty or relative entry of PYTHONPATH for a folder below the working directory; they are left out.
    """
    changed = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"}
    if "PYTHONPATH" in changed:
        folders = filter(os.path.isabs, changed["PYTHONPATH"].split(os.pathsep))
        changed["PYTHONPATH"] = os.pathsep.join(folders)
    # the server's setting: it saves memory in a long-lived process, but Python's own allocator is faster
    changed.pop("PYTHONMALLOC", None)
    # the same holds for Dask's setting for its workers, which returns memory to the system only to fault it in again
    changed.pop("MALLOC_TRIM_THRESHOLD_", None)
    return changed


def explain(work: Text, status: int, errors: str, *, oom_killed: bool) -> Problem:
    """Return the problem to show for a child that ended without a last line.

    ``work`` names what the child did, ``status`` is its exit status (negative for a signal), ``errors`` the end of its
    stderr, and ``oom_killed`` whether Linux ended a process for lack of memory meanwhile.
    """
    if "MemoryError" in errors or (status == -signal.SIGABRT and "bad_alloc" in errors):
        return _out_of_memory(phrase("The {work} needed more memory than this machine has", work=work))
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
    """Return the problem of a child that ended unexpectedly or couldn't be started."""
    advice = phrase("Try again; if it happens again, the log of the Memlens server has the details.")
    return Problem(code="ingest-died", message=message, advice=advice)


def oom_kills() -> int:
    """Return how many processes Linux has ended for lack of memory since it booted; 0 on other systems."""
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
