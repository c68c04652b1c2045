"""A run over a fleet: which files are read, by which workers, and what is written."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from memlens.errors import BadRequestError, Problem
from memlens.fleet.database import FILE_NAME, Database, Known, undamaged
from memlens.fleet.engine import Engine, Finished, engine
from memlens.fleet.interrupts import Hold
from memlens.fleet.listing import files_of
from memlens.fleet.parquet import check as check_parquet
from memlens.fleet.parquet import write_parquet
from memlens.fleet.place import FleetFile, remove_unfinished, root_of
from memlens.fleet.summary import rank_of
from memlens.fleet.tables import SNAPSHOTS, TABLES, SnapshotRow, Status
from memlens.fleet.work import Event, Job
from memlens.remote_files import Place, place_of
from memlens.texts import phrase


class Options(NamedTuple):
    """How a fleet is read."""

    place: str
    out: Path
    scheduler: str | None = None
    workers: int | None = None
    memory_limit_bytes: int = 0
    archives: str | None = None


class Listed(Struct, frozen=True, tag_field="type", tag="listed"):
    """The files of the place, of which ``known`` have a current summary and aren't read."""

    files: int
    known: int
    bytes: int


class Progress(Struct, frozen=True, tag_field="type", tag="progress"):
    """How far a worker is with a file; ``attempt`` counts the workers that began it, from 1."""

    name: str
    worker: str
    stage: str
    fraction: float | None
    attempt: int


class Waiting(Struct, frozen=True, tag_field="type", tag="waiting"):
    """The scheduler has no workers."""


class FileDone(Struct, frozen=True, tag_field="type", tag="file"):
    """A finished file, number ``done`` of the ``files`` to read."""

    name: str
    status: Status
    problem: Problem | None
    worker: str | None
    seconds: float
    attempts: int
    done: int
    files: int


class Result(Struct, frozen=True, tag_field="type", tag="done"):
    """The result of a run. Counts are of all files of the place, including those that were known."""

    folder: str
    files: int
    known: int
    read: int
    ok: int
    damaged: int
    other: int
    failed: int
    bytes: int
    """The size of the files that were read."""
    seconds: float
    workers: int


Message = Listed | Progress | Waiting | FileDone | Result


Listener = Callable[[Message], object]
"""Receives events of a run as they happen."""


_AGAIN: frozenset[Status] = frozenset(("failed",))
"""Statuses of files that are read again even if unchanged, because the reason was not in the file."""

_WRITTEN = frozenset(
    (FILE_NAME, f"{FILE_NAME}-journal", *(f"{each}.parquet" for each in (SNAPSHOTS, *TABLES)))
)
"""The files of a folder of summaries."""


def default_folder(place: str) -> Path:
    """The default folder of summaries: beside the place, or in the current folder for a store."""
    found = place_of(place)
    path = Path(found.path)
    if found.is_local and path.is_dir():
        return path.with_name(f"{path.name}.fleet")
    stem = next((part for part in reversed(path.parts) if not set(part) & set("*?[")), "snapshots")
    return Path(f"{stem.strip('/') or 'snapshots'}.fleet")


def run(options: Options, listener: Listener) -> Result:
    """Read all files that have no summary yet. However this ends, finished summaries are kept.

    Raises :class:`memlens.errors.MemlensError` and OSError.
    """
    began = time.monotonic()
    check_parquet()
    place = place_of(options.place)
    place_of(str(options.out))
    archives = None if options.archives is None else place_of(options.archives)
    files = [*_others(files_of(place, () if archives is None else (archives.url_of(archives.path),)))]
    if not files:
        is_glob = root_of(place) is not None
        advice = phrase(
            "A glob must match files: FOLDER/** is everything below a folder."
            if is_glob
            else "Check the folder or URL."
        )
        raise BadRequestError(phrase("There are no files at {place}", place=options.place), advice=advice)
    with written(options.out, _absolute(place)) as database:
        work = _Work(database, options, files, listener)
        listener(Listed(len(files), len(files) - len(work.wanted), sum(file.size_bytes for file in files)))
        work.put_unreadable()
        if work.readable:
            try:
                with engine(
                    options.scheduler, options.workers, options.memory_limit_bytes, work.on_event
                ) as engine_:
                    work.read(engine_)
            finally:
                if archives is not None and options.scheduler is None:
                    remove_unfinished(archives)
    return work.result(time.monotonic() - began)


def _others(files: list[FleetFile]) -> Iterator[FleetFile]:
    """The files that don't belong to folders of summaries."""
    folders = {
        folder for folder, _, name in (file.name.rpartition("/") for file in files) if name == FILE_NAME
    }
    for file in files:
        folder, _, name = file.name.rpartition("/")
        if folder not in folders or name not in _WRITTEN:
            yield file


@contextlib.contextmanager
def written(folder: Path, place: str) -> Iterator[Database]:
    """The database of a folder, whose tables are written at the end, however the block ends.

    Raises :class:`memlens.errors.MemlensError` and OSError.
    """
    with Hold() as hold, undamaged(folder), contextlib.closing(Database(folder, place)) as database:
        try:
            with hold.let_through():
                yield database
        finally:
            database.commit()
            if not database.is_empty:
                write_parquet(database)


def _absolute(place: Place) -> str:
    return place.path if place.is_local else place.named.rstrip("/")


class _Work:
    def __init__(
        self, database: Database, options: Options, files: list[FleetFile], listener: Listener
    ) -> None:
        self._database = database
        self._options = options
        self._files = files
        self._listener = listener
        known = database.known()
        self.wanted = [file for file in files if _is_new(file, known.get(file.name))]
        """The files to read."""
        self.readable = [file for file in self.wanted if file.problem is None]
        self._statuses: dict[str, Status] = {name: each.status for name, each in known.items()}
        self._numbers = {name: each.snapshot for name, each in known.items()}
        number = database.next_number()
        for file in self.wanted:
            if file.name not in self._numbers:
                self._numbers[file.name] = number
                number += 1
        self._by_number = {self._numbers[file.name]: file for file in self.wanted}
        self._own: dict[int, Known] = {}
        """The known rows of files that are read again, by number; their summaries are of no use to other files."""
        self._contents: dict[int, dict[str, int]] = {}
        """Numbers of files with valid summaries, by size and checksum."""
        for each in known.values():
            if each.status == "ok" and each.content is not None:
                if each.snapshot in self._by_number:
                    self._own[each.snapshot] = each
                else:
                    self._contents.setdefault(each.size_bytes, {})[each.content] = each.snapshot
        self._engine: Engine | None = None
        self._done = 0
        self._slots = 0
        self._bytes = 0

    def put_unreadable(self) -> None:
        """Write the rows of files that no worker can read."""
        for file in self.wanted:
            if file.problem is not None:
                self._put(Finished(Job(file, self._numbers[file.name], [], None, 0), None, file.problem), [])

    def read(self, engine_: Engine) -> None:
        self._engine = engine_
        for finished in engine_.run(self._jobs()):
            if finished is None:
                self._database.commit_if_due()
                continue
            self._put(finished, engine_.workers.get(finished.job.number, []))
            self._slots = max(self._slots, engine_.slots)

    def _jobs(self) -> Iterator[Job]:
        for file in self.readable:
            number = self._numbers[file.name]
            own = self._own.get(number)
            contents = [*self._contents.get(file.size_bytes, ())]
            if own is not None and own.content is not None and own.size_bytes == file.size_bytes:
                contents.append(own.content)
            yield Job(file, number, contents, self._options.archives, self._options.memory_limit_bytes)

    def _with_content(self, job: Job, content: str | None) -> int | None:
        """The file that has a summary of the same content."""
        own = self._own.get(job.number)
        if own is not None and own.content == content:
            return job.number
        return self._contents.get(job.file.size_bytes, {}).get(content or "")

    def on_event(self, event: Event) -> None:
        """Pass on a worker's progress with a file."""
        if event.number < 0:
            self._listener(Waiting())
        file = self._by_number.get(event.number)
        if file is None:
            return
        attempt = len(self._engine.workers.get(event.number, ())) if self._engine else 1
        self._listener(Progress(file.name, event.reader, event.stage, event.fraction, attempt))

    def _put(self, finished: Finished, workers: list[str]) -> None:
        job, outcome = finished.job, finished.outcome
        problem = finished.problem if outcome is None else outcome.problem
        status: Status = "failed" if outcome is None else outcome.status
        summary = None if outcome is None else outcome.summary
        content = None if outcome is None else outcome.content
        row = SnapshotRow(
            snapshot=job.number,
            name=job.file.name,
            rank=rank_of(job.file.name),
            status=status,
            problem_code=None if problem is None else problem.code,
            problem=None if problem is None else _sentence(problem),
            model=None if summary is None else summary.model,
            kind=None if summary is None else summary.kind,
            size_bytes=job.file.size_bytes,
            content=content,
            identity=job.file.identity if outcome is None else outcome.identity,
            peak_bytes=None if summary is None else summary.peak_bytes,
            peak_unix_us=None if summary is None else summary.peak_unix_us,
            end_bytes=None if summary is None else summary.end_bytes,
            ooms=0 if summary is None else sum(device.ooms for device in summary.peaks),
            steps=0 if summary is None else len(summary.steps),
            lines_left_out=0 if summary is None else summary.lines_left_out,
            types_left_out=0 if summary is None else summary.types_left_out,
            worker=outcome.worker if outcome is not None else workers[-1] if workers else None,
            attempts=max(len(workers), 1),
            seconds=0.0 if outcome is None else outcome.seconds,
            memory_bytes=None if summary is None else summary.memory_bytes,
        )
        same = self._with_content(job, content)
        if status == "ok" and summary is None and same is not None:
            self._database.same(row, same)
        else:
            self._database.put(row, summary)
            if status == "ok" and content is not None:
                self._contents.setdefault(job.file.size_bytes, {})[content] = job.number
        self._statuses[job.file.name] = status
        self._by_number.pop(job.number, None)
        self._done += 1
        if job.file.problem is None:
            self._bytes += job.file.size_bytes
        self._listener(
            FileDone(
                job.file.name,
                status,
                problem,
                row.worker,
                row.seconds,
                row.attempts,
                self._done,
                len(self.wanted),
            )
        )

    def result(self, seconds: float) -> Result:
        """The result of the run."""
        of = [self._statuses.get(file.name) for file in self._files]
        return Result(
            str(self._options.out), len(self._files), len(self._files) - len(self.wanted), self._done,
            of.count("ok"), of.count("damaged"), of.count("other"), of.count("failed"), self._bytes,
            round(seconds, 3), self._slots,
        )  # fmt: skip


def _is_new(file: FleetFile, known: Known | None) -> bool:
    return known is None or known.identity != file.identity or known.status in _AGAIN


def _sentence(problem: Problem) -> str:
    where = "" if problem.offset is None else f" (at byte {problem.offset:,})"
    return f"{problem.message}{where}. {problem.advice}".strip()
