"""An open snapshot: the thread that answers questions to it, and what it does between them."""

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from memlens import limits
from memlens.errors import BadRequestError, FileError
from memlens.model.attribution import Attribution
from memlens.result_cache import ResultCache
from memlens.server.sessions.aside import Aside
from memlens.server.sessions.errors import DamagedError, NotOpenError
from memlens.server.sessions.examination import Examination
from memlens.server.sessions.sql import SqlQueries
from memlens.store.files.verify import StoppedError
from memlens.store.manifest import CONTRADICTIONS, ArchiveError, SourceFile
from memlens.store.models import heap_dump_of
from memlens.store.objects.queried import MOST_QUERIES, UnaskedError
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.ahead import artefacts_of
from memlens.views.answers import SourceLine
from memlens.views.heap.objects.lines import HeapLine, heap_lines
from memlens.views.lines import heat as line_heat
from memlens.views.lines import totals as lines
from memlens.views.sql.pages import SqlAnswer, SqlSort

if TYPE_CHECKING:
    from memlens.model.info import SnapshotInfo

logger = logging.getLogger(__name__)

T = TypeVar("T")

VERIFY_AFTER_S = 2.0
"""How long after opening a snapshot its checksums are verified: the first picture is shown by then."""

QUIET_S = 0.05
"""Background work runs only after no question for this long, because questions come in bursts."""

_ending = threading.Event()


def end_verifying() -> None:
    """Stop every verification, because Python waits for its thread before the process ends."""
    _ending.set()


class Identity(NamedTuple):
    """Identifies a file with its content without reading it."""

    path: str
    version: str

    @classmethod
    def of(cls, path: str) -> "Identity":
        """Raises FileError when there is no such file, or it isn't a file."""
        if not Path(path).is_absolute():
            raise FileError(phrase("The path of a snapshot must be absolute, not {path}", path=repr(path)))
        try:
            real = Path(path).resolve(strict=True)
            status = real.stat()
            version = SourceFile.of(real).version if S_ISREG(status.st_mode) else ""
        except FileNotFoundError as error:
            raise FileError(phrase("There is no file {path}", path=path)) from error
        except (OSError, RuntimeError, ValueError) as error:
            raise FileError(
                phrase("The file {path} can't be read: {reason}", path=path, reason=str(error))
            ) from error
        if not S_ISREG(status.st_mode):
            raise FileError(phrase("{path} is not a file", path=path), advice=phrase("Open a snapshot file."))
        return cls(str(real), version)


class OpenSnapshot:
    """A snapshot that some view shows, with the one thread in which all questions to it are answered.

    With one thread for each snapshot calls never overlap, a request that is cancelled while it waits never runs, and
    closing waits for the running call, so that maps are never released while it uses them.
    """

    def __init__(
        self,
        name: str,
        path: str,
        snapshot: Snapshot,
        thread: ThreadPoolExecutor,
        sql: SqlQueries,
        examination: Examination,
        open_again: Callable[[], Snapshot],
        on_damaged: Callable[["OpenSnapshot", ArchiveError], Awaitable[None]],
    ) -> None:
        self.name = name
        self.path = path
        self.info: SnapshotInfo = snapshot.info
        self.views: set[str] = set()
        self.former_names: frozenset[str] = frozenset()
        """Its names before the patterns of library code changed, which requests may still use."""
        self.patterns: tuple[str, ...] = ()
        """The patterns of ``memlens.libraries`` by which its frames are classified."""
        self.is_made_here = True
        """Whether this server made its archive. One from before may say anything, with right checksums."""
        self.is_kept_damaged = False
        """Whether its archive is damaged but kept, because the file that it was made from no longer exists."""
        self.sql = sql
        self.examination = examination
        """Of a large heap dump."""
        self._kept = ResultCache()
        self._most: line_heat.Most | None = None
        self._source = snapshot.manifest.source
        self._snapshot = snapshot
        self._thread = thread
        snapshot.queried = sql.queried

        def open_aside() -> Snapshot:
            opened = open_again()
            opened.queried = sql.queried
            return opened

        self._aside = Aside(open_aside)
        self._on_damaged = on_damaged
        self._asked = 0
        self._answered_s = time.monotonic()
        self._working: asyncio.Task[None] | None = None
        self._closed = False
        self._stop_verifying = threading.Event()
        self._verifying: asyncio.Task[None] | None = None

    @property
    def archive(self) -> Path:
        """The folder of its archive."""
        return self._snapshot.archive

    @property
    def title(self) -> str:
        """The file's name."""
        return Path(self.path).name

    @property
    def file(self) -> Path:
        """The file itself, where its path is a link."""
        return Path(self._source.path)

    async def ask(self, question: Callable[[Snapshot], T]) -> T:
        """Answer ``question`` in the snapshot's thread. Raises DamagedError and NotOpenError.

        Damage to an archive may be noticed only here. Then the archive is dropped, and opening the file again makes
        another. Any other error is a bug, and affects only that question.
        """
        self._asked += 1
        try:
            answer = await self._answered(
                lambda: asyncio.wrap_future(self._thread.submit(self._snapshot.ask, question))
            )
        finally:
            self._asked -= 1
            self._answered_s = time.monotonic()
        if self._snapshot.background and (self._working is None or self._working.done()):
            self._working = asyncio.create_task(self._work_in_background())
        return answer

    async def ask_aside(self, question: Callable[[Snapshot], T]) -> T:
        """Answer a long question while others are answered. Raises DamagedError and NotOpenError."""
        return await self._answered(lambda: self._aside.ask(question))

    async def query(
        self, query: str, offset: int, limit: int, sort: SqlSort | None, most_s: float | None = None
    ) -> SqlAnswer:
        """A page of an SQL query's rows, as :meth:`SqlQueries.ask`. Raises DamagedError as well."""
        return await self._checked(lambda: self.sql.ask(query, offset, limit, sort, most_s))

    async def _answered(self, asked: Callable[[], Awaitable[T]]) -> T:
        """The answer to a question, which is asked again when the queries that its filter has are answered."""
        for _ in range(MOST_QUERIES):
            try:
                return await self._checked(asked)
            except UnaskedError as error:
                if error.queried is not self.sql.queried:
                    raise
                query = error.query
            await self._checked(functools.partial(self.sql.choose, query))
        raise BadRequestError(phrase("A filter can have at most {most} queries", most=MOST_QUERIES - 1))

    async def _checked(self, asked: Callable[[], Awaitable[T]]) -> T:
        try:
            return await asked()
        except RuntimeError as error:
            if not self._closed:
                raise
            raise NotOpenError(phrase("{title} has been closed", title=self.title)) from error
        except (ArchiveError, *CONTRADICTIONS) as error:
            if not isinstance(error, ArchiveError):
                if self.is_made_here:
                    raise
                # an archive from before may say anything; only its successor is known to have a bug
                error = ArchiveError(Text(str(error)))
            await self._on_damaged(self, error)
            raise DamagedError(
                phrase("The stored copy of {title} is damaged on disk", title=self.title),
                advice=phrase("Its file no longer exists, so it can't be read again: {path}.", path=self.path)
                if self.is_kept_damaged
                else None,
            ) from error

    async def _work_in_background(self) -> None:
        """Run the work that answers put off, one piece at a time, while no question is pending."""
        # the thread may have been shut down in the meantime
        with contextlib.suppress(RuntimeError):
            while self._snapshot.background:
                await asyncio.sleep(QUIET_S)
                if self._is_quiet():
                    await asyncio.wrap_future(self._thread.submit(self._work_once))

    def _work_once(self) -> None:
        try:
            self._snapshot.ask(Snapshot.work_once)
        except Exception:
            # nothing waits for it, and the next question gets the same error
            logger.exception("background work for %s failed", self.path)

    def _is_quiet(self) -> bool:
        """Whether no question is pending, or was within the last moments."""
        return not self._asked and time.monotonic() - self._answered_s >= QUIET_S

    def verify_later(self, threads: ThreadPoolExecutor) -> None:
        """Verify the checksums of all files of the archive soon, in ``threads``, while no question is pending."""
        self._verifying = asyncio.create_task(self._verify(threads))

    async def _verify(self, threads: ThreadPoolExecutor) -> None:
        await asyncio.sleep(VERIFY_AFTER_S)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(threads, self._snapshot.verify, self._must_stop)
            damaged = await loop.run_in_executor(threads, self._drop_damaged)
        except StoppedError:
            return
        except ArchiveError as error:
            await self._on_damaged(self, error)
            return
        if damaged:
            logger.warning("%s of %s were damaged on disk and are made again", ", ".join(damaged), self.path)
            await self.sql.forget()

    def _drop_damaged(self) -> list[str]:
        artefacts = artefacts_of(self.info)
        return [each.name for each in artefacts if each.drop_damaged(self.archive, self._must_stop)]

    def _must_stop(self) -> bool:
        """Called in the verifying thread before each step, to let requests go first."""
        while not (self._is_quiet() or _ending.is_set() or self._stop_verifying.wait(QUIET_S)):
            pass
        return _ending.is_set() or self._stop_verifying.is_set()

    async def is_source_there(self) -> bool:
        """Whether the file that the archive was made from can be read again."""
        return await self.file_state(self._source.path) == "same"

    async def file_state(self, path: str) -> Literal["same", "changed", "gone"]:
        """Whether the file at ``path``, a view's path of it, is still the one that was read."""
        try:
            now = await asyncio.to_thread(SourceFile.of, Path(path))
        except (OSError, RuntimeError, ValueError):
            return "gone"
        return "same" if now.seems(self._source) else "changed"

    async def source_files(self) -> list[str]:
        """The files of its lines and of a heap dump's definitions. Raises DamagedError and NotOpenError."""
        files = await self.ask(lines.source_files)
        if heap_dump_of(self.info) is not None:
            files = list(dict.fromkeys([*files, *await self.definitions()]))
        return files

    async def definitions(self) -> dict[str, list[HeapLine]]:
        """The definitions on the lines that a heap dump names, by file, cached so that the next hover is a look-up."""
        key = ("definitions",)
        kept: dict[str, list[HeapLine]] | None = self._kept.find(key)
        if kept is None:
            # what functions retain is a walk over all objects
            kept = await self.ask_aside(heap_lines)
            self._kept.put(key, kept)
        return kept

    async def lines_of(self, file: str, attribution: Attribution) -> dict[int, list[SourceLine]]:
        """The totals of one file's lines by line, cached so that the next hover in the file is a look-up."""
        key = ("lines", file, attribution)
        kept: dict[int, list[SourceLine]] | None = self._kept.find(key)
        if kept is None:
            kept = {}
            for row in await self.ask(lambda snapshot: lines.source_lines(snapshot, file, attribution)):
                kept.setdefault(row.line, []).append(row)
            self._kept.put(key, kept)
        return kept

    async def values_of(self, file: str, attribution: Attribution) -> dict[int, list[lines.LineValue]]:
        """The lines of one file with their sums of each value of a profile, by line; cached like the totals."""
        key = ("values", file, attribution)
        kept: dict[int, list[lines.LineValue]] | None = self._kept.find(key)
        if kept is None:
            kept = await self.ask(lambda snapshot: lines.line_values(snapshot, file, attribution))
            self._kept.put(key, kept)
        return kept

    async def most(self) -> line_heat.Most:
        """The figures of its hottest line."""
        if self._most is None:
            self._most = await self.ask(line_heat.most)
        return self._most

    async def release(self) -> None:
        """Release maps, files and database; returns when they are released."""
        self._kept.clear()
        self._closed = True
        self._stop_verifying.set()
        for task in (self._working, self._verifying):
            # the snapshot may be released because of what the verification found
            if task is not None and task is not asyncio.current_task():
                task.cancel()
                await asyncio.wait([task])
        await self.sql.close()
        await self.examination.close()
        await self._aside.close()
        with contextlib.suppress(RuntimeError):
            closed = self._thread.submit(self._snapshot.close)
            self._thread.shutdown(wait=False)
            await asyncio.wrap_future(closed)
        await asyncio.to_thread(limits.release_memory)
