"""The open snapshots: shared by the views that show them, released with the last one.

A snapshot is known by its file's real path, size and time of change. Whoever opens a file that is being read
waits for the same reading; the reading is given up when nobody waits for it any more.
"""

import asyncio
import contextlib
import logging
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from memlens import limits
from memlens.errors import MemlensError
from memlens.server.ingest import ProgressListener, fill_tables, ingest
from memlens.server.settings import Configuration
from memlens.server.sql import SqlDesk
from memlens.store.manifest import ArchiveError, SourceFile
from memlens.store.snapshot import Snapshot
from memlens.store.table_schema import Part
from memlens.views import line_heat, lines
from memlens.views.answers import SourceLine

if TYPE_CHECKING:
    from memlens.model.info import SnapshotInfo

logger = logging.getLogger(__name__)

T = TypeVar("T")

PROGRESS_INTERVAL_S = 0.1


class NotOpenError(MemlensError):
    """The request names a snapshot that is not open."""

    code = "closed"
    advice = "Open the file again."


class FileError(MemlensError):
    """The path given is no file that could be read."""

    code = "file"
    advice = "Check that the file is there and may be read."


class Identity(NamedTuple):
    """What makes a file the same file with the same content, short of reading it."""

    path: str
    size_bytes: int
    mtime_ns: int

    @classmethod
    def of(cls, path: str) -> "Identity":
        """Raises FileError when there is no such file, or it is something else than a file."""
        if not Path(path).is_absolute():
            raise FileError(f"The path of a snapshot must be absolute, not {path!r}")
        try:
            real = Path(path).resolve(strict=True)
            status = real.stat()
        except FileNotFoundError as error:
            raise FileError(f"There is no file {path}") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise FileError(f"The file {path} can't be read: {error}") from error
        if not S_ISREG(status.st_mode):
            raise FileError(f"{path} is not a file", advice="Open a snapshot file.")
        return cls(str(real), status.st_size, status.st_mtime_ns)


class OpenSnapshot:
    """A snapshot that some view shows, with the one thread in which all questions to it are answered.

    One thread a snapshot means: calls never overlap, a request that is cancelled while it waits never runs,
    and closing comes after the call that is running, so maps are never released under it.
    """

    def __init__(
        self,
        name: str,
        path: str,
        snapshot: Snapshot,
        thread: ThreadPoolExecutor,
        sql: SqlDesk,
        on_damaged: Callable[["OpenSnapshot"], Awaitable[None]],
    ) -> None:
        self.name = name
        self.path = path
        self.info: SnapshotInfo = snapshot.info
        self.views: set[str] = set()
        self.sql = sql
        self._lines: dict[str, dict[int, list[SourceLine]]] = {}
        self._values: dict[str, dict[int, list[lines.LineValue]]] = {}
        self._self_at_peak: dict[str, dict[int, int]] | None = None
        self._most: line_heat.Most | None = None
        self._source = snapshot.manifest.source
        self._snapshot = snapshot
        self._thread = thread
        self._on_damaged = on_damaged

    @property
    def archive(self) -> Path:
        """The folder of its archive."""
        return self._snapshot.archive

    @property
    def title(self) -> str:
        """The file's name."""
        return Path(self.path).name

    async def ask(self, question: Callable[[Snapshot], T]) -> T:
        """Answer ``question`` in the snapshot's thread.

        A damaged archive may show itself as late as here. It is given up then: opening the file again makes
        another.
        """
        try:
            future = self._thread.submit(self._snapshot.ask, question)
        except RuntimeError as error:
            raise NotOpenError(f"{self.title} has been closed") from error
        try:
            answer = await asyncio.wrap_future(future)
        except ArchiveError as error:
            logger.warning("the archive of %s is given up: %s", self.path, error)
            await self._on_damaged(self)
            raise NotOpenError(f"The archive of {self.title} was damaged and has to be made again") from error
        finally:
            # the future has the error, whose traceback has this frame: a circle around the snapshot's maps
            del future
        if self._snapshot.behind:
            with contextlib.suppress(RuntimeError):
                self._thread.submit(self._snapshot.work_behind)
        return answer

    async def file_state(self, path: str) -> Literal["same", "changed", "gone"]:
        """Whether the file at ``path``, by which a view knows it, is still the one that was read."""
        try:
            now = await asyncio.to_thread(SourceFile.of, Path(path))
        except (OSError, RuntimeError, ValueError):
            return "gone"
        return "same" if now == self._source else "changed"

    async def lines_of(self, file: str) -> dict[int, list[SourceLine]]:
        """Totals of one file's lines by line, kept so that the next hover in the file is a look-up."""
        kept = self._lines.get(file)
        if kept is None:
            kept = {}
            for row in await self.ask(lambda snapshot: lines.source_lines(snapshot, file)):
                kept.setdefault(row.line, []).append(row)
            self._lines[file] = kept
        return kept

    async def values_of(self, file: str) -> dict[int, list[lines.LineValue]]:
        """What the lines of one file have of each value of a profile, by line; kept like the totals."""
        if file not in self._values:
            self._values[file] = await self.ask(lambda snapshot: lines.line_values(snapshot, file))
        return self._values[file]

    async def self_at_peak_of(self, file: str) -> dict[int, int]:
        """Line to bytes live at the peak that the line allocated itself, where there are any."""
        if self._self_at_peak is None:
            self._self_at_peak = await self.ask(line_heat.self_at_peak)
        return self._self_at_peak.get(file, {})

    async def most(self) -> line_heat.Most:
        """The figures of its hottest line."""
        if self._most is None:
            self._most = await self.ask(line_heat.most)
        return self._most

    async def release(self) -> None:
        """Give back maps, files and database; returns when they are given back."""
        self._lines.clear()
        self._values.clear()
        self._self_at_peak = None
        await self.sql.close()
        with contextlib.suppress(RuntimeError):
            closed = self._thread.submit(self._snapshot.close)
            self._thread.shutdown(wait=False)
            await asyncio.wrap_future(closed)
        await asyncio.to_thread(limits.give_back)


class _Entry:
    """A file that is being opened or open."""

    def __init__(self, identity: Identity, path: str) -> None:
        self.identity = identity
        self.path = path
        self.waiting: dict[str, ProgressListener] = {}
        self.stage: tuple[str, float | None] | None = None
        self.task: asyncio.Task[OpenSnapshot] | None = None
        self._told_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def progress(self, stage: str, fraction: float | None) -> None:
        """Tell those who wait, at most every PROGRESS_INTERVAL_S, and never leave out the latest for good."""
        self.stage = (stage, fraction)
        if self._timer is None:
            wait_s = max(0.0, self._told_at + PROGRESS_INTERVAL_S - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self._told_at = time.monotonic()
        if self.stage is not None:
            for listener in self.waiting.values():
                listener(*self.stage)

    def done(self) -> None:
        """No more progress: an answer follows."""
        self.stage = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Registry:
    """All snapshots that are open or being opened. For the event loop's thread only."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._entries: dict[Identity, _Entry] = {}
        self._open: dict[str, OpenSnapshot] = {}
        self.listeners: list[Callable[[], None]] = []
        """Called when a snapshot was opened or released."""

    def __len__(self) -> int:
        return len(self._open)

    def snapshots(self) -> list[OpenSnapshot]:
        """The open ones, in the order in which they were opened."""
        return list(self._open.values())

    def get(self, name: str) -> OpenSnapshot:
        """Raises NotOpenError."""
        found = self._open.get(name)
        if found is None:
            raise NotOpenError("This snapshot is not open any more")
        return found

    async def open(self, path: str, view: str, on_progress: ProgressListener) -> OpenSnapshot:
        """Open ``path`` for ``view``; cancelling this ends the reading unless another view waits too."""
        identity = await asyncio.to_thread(Identity.of, path)
        entry = self._entries.get(identity)
        if entry is None:
            entry = self._entries[identity] = _Entry(identity, path)
        entry.waiting[view] = on_progress
        if entry.task is None:
            entry.task = asyncio.create_task(self._read(entry))
        elif entry.stage is not None:
            on_progress(*entry.stage)
        try:
            opened = await asyncio.shield(entry.task)
        except BaseException:
            entry.waiting.pop(view, None)
            await asyncio.shield(asyncio.ensure_future(self._drop_unwanted(entry)))
            raise
        # No await from here on: between waiting and showing, nobody may find the snapshot unwanted.
        opened.views.add(view)
        entry.waiting.pop(view, None)
        return opened

    async def close(self, name: str, view: str) -> None:
        """``view`` is gone. Closing what is closed already is no error: both sides may come first."""
        opened = self._open.get(name)
        if opened is None:
            return
        opened.views.discard(view)
        for entry in list(self._entries.values()):
            if entry.task is not None and entry.task.done() and _result(entry.task) is opened:
                await asyncio.shield(asyncio.ensure_future(self._drop_unwanted(entry)))

    async def _drop_unwanted(self, entry: _Entry) -> None:
        """Give up the reading that nobody waits for, release the snapshot that nobody shows."""
        task = entry.task
        if entry.waiting or task is None:
            return
        opened = _result(task) if task.done() else None
        if opened is not None and opened.views:
            return
        if self._entries.get(entry.identity) is entry:
            del self._entries[entry.identity]
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
            opened = _result(task)
        entry.done()
        if opened is not None and self._open.pop(opened.name, None) is not None:
            await opened.release()
            self._changed()

    async def _read(self, entry: _Entry) -> OpenSnapshot:
        source = Path(entry.identity.path)
        cache = self._configuration.cache
        try:
            try:
                archive = await asyncio.to_thread(cache.find, source)
            except OSError as error:
                raise FileError(f"The file {source} can't be read: {error}") from error
            if archive is not None:
                try:
                    return await self._enter(entry, archive)
                except ArchiveError as error:
                    logger.warning("the archive of %s is damaged and is made again: %s", source, error)
                    await asyncio.to_thread(shutil.rmtree, archive, ignore_errors=True)
            archive = await ingest(source, cache, self._ingest_options(), entry.progress)
            try:
                return await self._enter(entry, archive)
            except ArchiveError as error:
                # other servers remove what they hold for old, and a damaged disk damages the next one as well
                logger.warning("the new archive of %s is made again: %s", source, error)
            archive = await ingest(source, cache, self._ingest_options(), entry.progress)
            return await self._enter(entry, archive)
        finally:
            entry.done()

    async def _enter(self, entry: _Entry, archive: Path) -> OpenSnapshot:
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="snapshot")
        opening = thread.submit(Snapshot.open, archive)
        try:
            snapshot = await asyncio.wrap_future(opening)
        except BaseException:
            # When cancelled while the thread was opening it, it must still be closed.
            opening.add_done_callback(_close_if_opened)
            thread.shutdown(wait=False)
            raise

        async def fill(part: Part, on_progress: ProgressListener) -> None:
            await fill_tables(archive, part, self._cache_options(), on_progress)

        desk = SqlDesk(archive, fill)
        opened = OpenSnapshot(uuid.uuid4().hex, entry.path, snapshot, thread, desk, self._give_up)
        self._open[opened.name] = opened
        self._changed()
        return opened

    async def _give_up(self, damaged: OpenSnapshot) -> None:
        """Release a snapshot whose archive is damaged, and remove the archive."""
        for identity, entry in list(self._entries.items()):
            if entry.task is not None and entry.task.done() and _result(entry.task) is damaged:
                del self._entries[identity]
        if self._open.pop(damaged.name, None) is not None:
            await damaged.release()
            await asyncio.to_thread(shutil.rmtree, damaged.archive, ignore_errors=True)
            self._changed()

    def _ingest_options(self) -> list[str]:
        memory_bytes = self._configuration.settings.memory_limit_bytes or limits.default_bytes()
        limit = ["--memory-limit", str(memory_bytes)] if memory_bytes else []
        memray = self._configuration.memray_python
        tools = ["--memray-python", str(memray)] if memray is not None else []
        return [*self._cache_options(), *limit, *tools]

    def _cache_options(self) -> list[str]:
        options = ["--cache-limit", str(max(1, self._configuration.settings.cache_limit_bytes))]
        folder = self._configuration.cache_folder
        return options if folder is None else [*options, "--cache-dir", str(folder)]

    def _changed(self) -> None:
        for listener in self.listeners:
            listener()


def _result(task: "asyncio.Task[OpenSnapshot]") -> OpenSnapshot | None:
    return None if task.cancelled() or task.exception() is not None else task.result()


def _close_if_opened(opening: "Future[Snapshot]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
