"""What a worker does with one file: fetch it, let its reader read it, return the summary.

The reading process has a memory limit and ends with the file, so a worker never holds more than one file.
"""

import contextlib
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from memlens.errors import MemlensError, Problem, reason
from memlens.fleet.place import FleetFile, keep
from memlens.fleet.reader import Reader, Request
from memlens.fleet.tables import SCHEMA_VERSION, Status, Summary
from memlens.formats.containers import ChangedFileError
from memlens.remote_files import fetch, identity_now, place_of
from memlens.texts import phrase

TOPIC = "memlens-fleet"
"""Dask's topic for the events that workers send."""

_ONE = threading.BoundedSemaphore(1)
"""Lets a worker read one file at a time, however many threads it has."""
_READER = Reader()
_REPORT_S = 0.5
_TRIES = 2
"""A file that changes while it is read is read once more."""
_AGAIN_AFTER_S = 0.5

_OF_THE_FILE = frozenset(("damaged", "not-a-snapshot", "unsafe-pickle"))


class Job(Struct, frozen=True):
    """A worker's task."""

    file: FleetFile
    number: int
    known: list[str]
    """Checksums of files of the same size that have a summary."""
    archives: str | None
    """Where archives are kept; None if they are dropped."""
    limit_bytes: int
    """The most memory that a child may use, 0 for the worker's own limit."""
    schema: int = SCHEMA_VERSION


class Outcome(Struct, frozen=True):
    """A worker's result: a summary, a problem, or neither if ``content`` is known."""

    status: Status
    worker: str
    seconds: float
    identity: str
    content: str | None = None
    problem: Problem | None = None
    summary: Summary | None = None


class Event(Struct, frozen=True):
    """A worker's progress. ``reader`` is its name, because Dask adds a field called ``worker``."""

    number: int
    reader: str
    stage: str
    fraction: float | None = None


def dask_setup(_worker: Any) -> None:
    """Start the reader of a worker of the local cluster; Dask calls this when a worker starts.

    Ctrl+C is handled by the process that started the cluster, which ends the workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _READER.start()


def read_file(encoded: bytes) -> bytes:
    """Do a :class:`Job` and return its :class:`Outcome`, both as JSON; this is the task that Dask runs."""
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
            "version",
            phrase("The worker {worker} has another version of Memlens", worker=worker),
            phrase("Install the same version there."),
        )
        return outcome("failed", job.file.identity, problem=problem)
    identity, content = job.file.identity, None
    try:
        for tries in range(_TRIES, 0, -1):
            try:
                with _scratch() as folder:
                    identity = identity_now(job.file.url)
                    path, content = fetch(job.file.url, folder, _fetching(job, report))
                    if content in job.known:
                        return outcome("ok", identity, content=content)
                    request = Request(
                        str(path),
                        str(folder / "archive"),
                        job.archives is not None,
                        job.limit_bytes or _limit_bytes(),
                    )
                    summary = _READER.read(request, report)
                    if identity_now(job.file.url) != identity:
                        raise ChangedFileError(
                            phrase("{file} was written while it was read", file=job.file.name)
                        )
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
            problem = ChangedFileError(
                phrase("{file} was written while it was read", file=job.file.name)
            ).problem()
    except OSError as error:
        problem = Problem(
            "system",
            phrase("{worker}: {reason}", worker=worker, reason=reason(error)),
            phrase("Check the worker's disk and permissions."),
        )
    return outcome(_status_of(problem), identity, content=content, problem=problem)


def _fetching(job: Job, report: Callable[[str, float | None], None]) -> Callable[[int], None]:
    return lambda read_bytes: report("fetching", min(read_bytes / max(job.file.size_bytes, 1), 1.0))


def _status_of(problem: Problem) -> Status:
    if problem.code == "not-a-snapshot":
        return "other"
    return "damaged" if problem.code in _OF_THE_FILE else "failed"


def _is_changed(job: Job, identity: str) -> bool:
    try:
        return identity_now(job.file.url) != identity
    except (MemlensError, OSError):
        return False


def _limit_bytes() -> int:
    """The default memory limit of a child: the worker's own limit in Dask."""
    from distributed import get_worker

    try:
        return int(get_worker().memory_manager.memory_limit or 0)
    except ValueError:
        return 0


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for the fetched file and its archive, within the worker's own folder, which Dask clears."""
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
            # the engine's loop runs in another thread
            engine.loop.add_callback(engine.log_event, TOPIC, msgspec.to_builtins(event))

    return report
