"""What a worker does with one file: fetch it, let a child process read it, return its summary.

The child has a limit on its memory and ends with the file, so a worker holds no more than one file.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
from memlens.errors import MemlensError, Problem
from memlens.fleet.place import FleetFile, fetch, identity_now, keep, place_of
from memlens.fleet.tables import SCHEMA_VERSION, Status, Summary
from memlens.formats.containers import ChangedFileError

TOPIC = "memlens-fleet"
"""Dask's topic for the events by which workers report."""

_ONE = threading.BoundedSemaphore(1)
"""A worker reads one file at a time, however many threads it has."""
_REPORT_S = 0.5
_TRIES = 2
"""A file that changes while it is read is read once more."""
_AGAIN_AFTER_S = 0.5

_OF_THE_FILE = frozenset(("damaged", "not-a-snapshot", "not-interpreted", "unsafe-pickle"))


class Job(Struct, frozen=True):
    """What a worker gets."""

    file: FleetFile
    number: int
    known: list[str]
    """Checksums of files of that size that have a summary."""
    archives: str | None
    """Where archives are kept; None where they are dropped."""
    limit_bytes: int
    """The most memory that a child may use, 0 for the worker's own limit."""
    schema: int = SCHEMA_VERSION


class Outcome(Struct, frozen=True):
    """What a worker returns: a summary, the problem, or neither where ``content`` is known."""

    status: Status
    worker: str
    seconds: float
    identity: str
    content: str | None = None
    problem: Problem | None = None
    summary: Summary | None = None


class Event(Struct, frozen=True):
    """What a worker reports meanwhile. ``reader`` is its name: Dask adds a ``worker`` of its own."""

    number: int
    reader: str
    stage: str
    fraction: float | None = None


class SummaryLine(Struct, tag_field="type", tag="summary"):
    """The child's last line when all went well."""

    summary: Summary


_decode_line = msgspec.json.Decoder(ProgressLine | SummaryLine | ErrorLine).decode


def read_file(encoded: bytes) -> bytes:
    """Do a :class:`Job`, and return its :class:`Outcome`: the task that Dask places, both as JSON."""
    job = msgspec.json.decode(encoded, type=Job)
    with _ONE:
        return msgspec.json.encode(_done(job))


def _done(job: Job) -> Outcome:
    began, worker = time.monotonic(), _worker_name()
    report = _reporter(job.number, worker)
    report("started", None)

    def outcome(status: Status, identity: str, **more: Any) -> Outcome:
        return Outcome(status, worker, round(time.monotonic() - began, 3), identity, **more)

    if job.schema != SCHEMA_VERSION:
        problem = Problem(
            "version", f"The worker {worker} has another version of Memlens", "Install the same there."
        )
        return outcome("failed", job.file.identity, problem=problem)
    identity, content = job.file.identity, None
    try:
        for tries in range(_TRIES, 0, -1):
            try:
                with _scratch() as folder:
                    identity = identity_now(job.file.url)
                    path, content = fetch(job.file.url, folder)
                    if content in job.known:
                        return outcome("ok", identity, content=content)
                    summary = _summary(job, path, folder, report)
                    if identity_now(job.file.url) != identity:
                        raise ChangedFileError(f"{job.file.name} was written while it was read")
                    if job.archives is not None:
                        keep(folder / "archive", place_of(job.archives), f"{content}-{job.file.size_bytes}")
                return outcome("ok", identity, content=content, summary=summary)
            except MemlensError as error:
                # a file that is being written may look damaged before it looks changed
                if tries == 1 or (error.code != "changed" and not _is_changed(job, identity)):
                    raise
                time.sleep(_AGAIN_AFTER_S)
        raise AssertionError
    except MemlensError as error:
        problem = error.problem()
        if problem.code in _OF_THE_FILE and _is_changed(job, identity):
            problem = ChangedFileError(f"{job.file.name} was written while it was read").problem()
    except OSError as error:
        problem = Problem(
            "system", f"{worker}: {error.strerror or error}", "Check the worker's disk and permissions."
        )
    return outcome(_status_of(problem), identity, content=content, problem=problem)


def _status_of(problem: Problem) -> Status:
    if problem.code == "not-a-snapshot":
        return "other"
    return "damaged" if problem.code in _OF_THE_FILE else "failed"


def _is_changed(job: Job, identity: str) -> bool:
    try:
        return identity_now(job.file.url) != identity
    except (MemlensError, OSError):
        return False


def _summary(job: Job, path: Path, folder: Path, report: Callable[[str, float | None], None]) -> Summary:
    """Let a child read the file. Raises :class:`IngestError`."""
    command = [
        sys.executable, "-m", "memlens", "fleet", "summary", str(path), "--archive", str(folder / "archive"),
        "--progress", "json", "--parent", str(os.getpid()), "--memory-limit", str(job.limit_bytes or _limit_bytes()),
    ]  # fmt: skip
    killed_before = oom_kills()
    outcome: SummaryLine | ErrorLine | None = None
    with (
        tempfile.TemporaryFile(dir=folder) as errors,
        subprocess.Popen(  # noqa: S603 - our own command
            command,
            env=environment(),
            stdin=subprocess.DEVNULL if sys.platform == "linux" else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=sys.platform != "win32",
        ) as child,
    ):
        try:
            for text in child.stdout or ():
                line = _decode_line(text)
                if isinstance(line, ProgressLine):
                    report(line.stage, line.fraction)
                else:
                    outcome = line
        finally:
            if sys.exc_info()[0] is not None:
                _kill(child)
        status = child.wait()
        errors.seek(0, os.SEEK_END)
        errors.seek(max(errors.tell() - STDERR_KEPT_BYTES, 0))
        last_words = errors.read().decode(errors="replace").strip()
    match outcome:
        case SummaryLine(summary):
            return summary
        case ErrorLine(problem):
            raise IngestError(problem)
        case _:
            raise IngestError(
                explain(
                    f"reading of {job.file.name}", status, last_words, oom_killed=oom_kills() > killed_before
                )
            )


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)


def _limit_bytes() -> int:
    """What a child may use where nothing else is said: the worker's own limit, as Dask has it."""
    from distributed import get_worker

    try:
        return int(get_worker().memory_manager.memory_limit or 0)
    except ValueError:
        return 0


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for the file, if it is fetched, and its archive: in the worker's own, which Dask clears."""
    from distributed import get_worker

    try:
        parent: str | None = get_worker().local_directory
    except ValueError:
        parent = None
    with tempfile.TemporaryDirectory(prefix="memlens-", dir=parent) as folder:
        yield Path(folder)


def _worker_name() -> str:
    from distributed import get_worker

    host = socket.gethostname()
    try:
        worker = get_worker()
    except ValueError:
        return f"{host} process {os.getpid()}"
    return f"{host} {worker.address.rpartition('//')[2]} (process {os.getpid()})"


def _reporter(number: int, worker: str) -> Callable[[str, float | None], None]:
    from distributed import get_worker

    try:
        engine = get_worker()
    except ValueError:
        return lambda _stage, _fraction: None
    last = [0.0]

    def report(stage: str, fraction: float | None) -> None:
        now = time.monotonic()
        if fraction is None or now - last[0] >= _REPORT_S:
            last[0] = now
            event = Event(number, worker, stage, fraction)
            # the engine's loop is another thread
            engine.loop.add_callback(engine.log_event, TOPIC, msgspec.to_builtins(event))

    return report
