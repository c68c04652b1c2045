"""The open snapshots: shared by the views that show them, released with the last one.

A snapshot is identified by its file's real path, size and modification time. A view that opens a file which is already
being read waits for the same reading, which is cancelled when no view waits for it any more.
"""

import asyncio
import logging
import shutil
import time
import uuid
from collections.abc import Awaitable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memlens import limits
from memlens.child import IngestError
from memlens.errors import FileError
from memlens.model.frames import LIBRARY, USER
from memlens.model.inferred import Place
from memlens.model.info import FileWarning
from memlens.model.libraries import library_of
from memlens.model.own_libraries import Libraries
from memlens.packs import registry as packs
from memlens.server.sessions.children import ProgressListener, examine, fill_tables, ingest
from memlens.server.sessions.errors import NotOpenError
from memlens.server.sessions.examination import Examination
from memlens.server.sessions.opened import Identity, OpenSnapshot
from memlens.server.sessions.query_process import QueryProcess
from memlens.server.sessions.sql import SqlQueries
from memlens.server.settings import Configuration
from memlens.sources.binding import Binder
from memlens.sources.finder import Finder
from memlens.store.manifest import ArchiveError, ContradictionError, InconsistentError
from memlens.store.relabel import files_in_doubt, has_files_in, module_places, open_with, relabel
from memlens.store.snapshot import Snapshot
from memlens.store.tables.schema import PARTS_OF, Part
from memlens.texts import Text, phrase

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

PROGRESS_INTERVAL_S = 0.1

FIND_TIMEOUT_S = 1.5
"""How long opening a snapshot waits for the search for files of the workspace."""

_MOST_FILES = 500
"""The most files that the workspace is searched for to name the classes of modules."""
_MOST_IN_DOUBT = 200
"""The most names of files that the workspace is searched for when a snapshot is opened; real ones need few."""


class _Entry:
    """A file that is open or being opened."""

    def __init__(self, identity: Identity, path: str) -> None:
        self.identity = identity
        self.path = path
        self.waiting: dict[str, ProgressListener] = {}
        self.stage: tuple[str, float | None] | None = None
        self.task: asyncio.Future[OpenSnapshot] | None = None
        self._reported_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def progress(self, stage: str, fraction: float | None) -> None:
        """Report progress to the waiting views, at most every PROGRESS_INTERVAL_S, and the latest in any case."""
        self.stage = (stage, fraction)
        if self._timer is None:
            wait_s = max(0.0, self._reported_at + PROGRESS_INTERVAL_S - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._report)

    def _report(self) -> None:
        self._timer = None
        self._reported_at = time.monotonic()
        if self.stage is not None:
            for listener in self.waiting.values():
                listener(*self.stage)

    def done(self) -> None:
        """Report no more progress, because an answer follows."""
        self.stage = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Damage(NamedTuple):
    """A snapshot whose stored copy is damaged. With ``again`` it is closed, and its views open their file again."""

    snapshot: str
    message: Text
    again: bool


class Registry:
    """All snapshots that are open or being opened. For the event loop's thread only."""

    def __init__(self, configuration: Configuration, finder: Finder) -> None:
        self._configuration = configuration
        self._finder = finder
        self._binder = Binder(finder, configuration.places)
        self._entries: dict[Identity, _Entry] = {}
        self._open: dict[str, OpenSnapshot] = {}
        self.readable: Callable[[], list[str]] | None = None
        """The folders beside which nothing may be looked at while a file is read; None if anything may."""
        self.listeners: list[Callable[[], None]] = []
        """Called when a snapshot was opened or released."""
        self.damage_listeners: list[Callable[[Damage], None]] = []
        """Called once for each snapshot whose stored copy was found damaged."""
        self.relabel_listeners: list[Callable[[str, str], None]] = []
        """Called with the former and the new name of a snapshot whose frames were classified again."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._removals: set[asyncio.Future[None]] = set()
        """Damaged archives that are being removed: a new one would have the same folder."""
        self._relabelling: asyncio.Task[None] | None = None
        self._verifiers = ThreadPoolExecutor(
            1, thread_name_prefix="verify", initializer=limits.lower_priority
        )
        configuration.listeners.append(self._follow_setting)

    def __len__(self) -> int:
        return len(self._open)

    def snapshots(self) -> list[OpenSnapshot]:
        """The open snapshots, in the order in which they were opened."""
        return list(self._open.values())

    def get(self, name: str) -> OpenSnapshot:
        """Raises NotOpenError."""
        opened = self._named(name)
        if opened is None:
            raise NotOpenError(phrase("This snapshot is not open any more"))
        return opened

    def _named(self, name: str) -> OpenSnapshot | None:
        opened = self._open.get(name)
        return opened or next((each for each in self._open.values() if name in each.former_names), None)

    async def open(self, path: str, view: str, on_progress: ProgressListener) -> OpenSnapshot:
        """Open ``path`` for ``view``; cancelling this ends the reading unless another view waits for it, too."""
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
        # No await from here on: nothing may release the snapshot between its reading and its first view.
        opened.views.add(view)
        entry.waiting.pop(view, None)
        return opened

    async def close(self, name: str, view: str) -> None:
        """Close ``view``. Closing twice is allowed, because both sides may do so."""
        opened = self._named(name)
        if opened is None:
            return
        opened.views.discard(view)
        for entry in self._entries_of(opened):
            await asyncio.shield(asyncio.ensure_future(self._drop_unwanted(entry)))

    def _entries_of(self, opened: OpenSnapshot) -> list[_Entry]:
        return [
            entry
            for entry in self._entries.values()
            if entry.task is not None and entry.task.done() and _result(entry.task) is opened
        ]

    async def _drop_unwanted(self, entry: _Entry) -> None:
        """Cancel a reading that no view waits for; release a snapshot that no view shows."""
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
        try:
            cache = self._configuration.cache
            while self._removals:
                await asyncio.wait(self._removals)
            try:
                archive = await asyncio.to_thread(cache.find, source)
            except OSError as error:
                raise FileError(
                    phrase("The file {source} can't be read: {reason}", source=source, reason=str(error))
                ) from error
            if archive is not None:
                try:
                    return await self._enter(entry, archive, is_made_here=False)
                except ArchiveError as error:
                    logger.warning("the archive of %s is damaged and is made again: %s", source, error)
                    await asyncio.to_thread(shutil.rmtree, archive, ignore_errors=True)
            archive = await ingest(source, cache, self._ingest_options(), entry.progress)
            try:
                return await self._enter(entry, archive)
            except ArchiveError as error:
                # other servers remove archives that they consider old, and a bad disk may damage the new one, too
                logger.warning("the new archive of %s is made again: %s", source, error)
            archive = await ingest(source, cache, self._ingest_options(), entry.progress)
            return await self._enter(entry, archive)
        finally:
            entry.done()

    async def _enter(self, entry: _Entry, archive: Path, *, is_made_here: bool = True) -> OpenSnapshot:
        opened = await self._opened(entry.path, archive)
        opened.is_made_here = is_made_here
        self._open[opened.name] = opened
        opened.verify_later(self._verifiers)
        self._changed()
        # the setting may have changed in the meantime
        self._follow_setting()
        return opened

    def _follow_setting(self) -> None:
        """Classify the frames of open snapshots by the current patterns."""
        if self._outdated() and (self._relabelling is None or self._relabelling.done()):
            self._relabelling = asyncio.create_task(self._relabel_outdated())

    def _outdated(self) -> OpenSnapshot | None:
        patterns = tuple(self._configuration.settings.libraries)
        return next((each for each in self._open.values() if each.patterns != patterns), None)

    async def _relabel_outdated(self) -> None:
        while outdated := self._outdated():
            # don't try again
            outdated.patterns = tuple(self._configuration.settings.libraries)
            try:
                await self._relabel(outdated)
            except ArchiveError as error:
                await self._give_up(outdated, error)
            except Exception:
                logger.exception("the frames of %s keep their kinds", outdated.path)

    async def _relabel(self, outdated: OpenSnapshot) -> None:
        """Open a snapshot's archive again under another name, so that no cached result depends on the old kinds.

        Its file isn't checked, because it may have changed or be gone since.
        """
        opened = await self._opened(outdated.path, outdated.archive)
        entries = self._entries_of(outdated)
        if outdated.name not in self._open or not entries:
            await opened.release()
            return
        opened.views, opened.is_kept_damaged = outdated.views, outdated.is_kept_damaged
        opened.is_made_here = outdated.is_made_here
        opened.former_names = outdated.former_names | {outdated.name}
        self._open = {each.name: each for each in self._open.values() if each is not outdated} | {
            opened.name: opened
        }
        for entry in entries:
            entry.task = asyncio.get_running_loop().create_future()
            entry.task.set_result(opened)
        opened.verify_later(self._verifiers)
        self._changed()
        for listener in self.relabel_listeners:
            listener(outdated.name, opened.name)
        await outdated.release()

    async def _opened(self, path: str, archive: Path) -> OpenSnapshot:
        patterns = tuple(self._configuration.settings.libraries)
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="snapshot")
        opening = thread.submit(_open, archive)
        try:
            snapshot, in_doubt = await asyncio.wrap_future(opening)
            libraries = await self._libraries(path, patterns, in_doubt)
            folders = [folder.as_posix() for _, folder in self._configuration.folders]
            having = thread.submit(lambda: [each for each in folders if has_files_in(snapshot, each)])
            libraries = libraries.with_workspace(await asyncio.wrap_future(having))
            modules = await asyncio.wrap_future(thread.submit(snapshot.ask, module_places))
            libraries = libraries.with_classes(await self._classes(path, snapshot.info.kind, modules))
            if libraries:
                await asyncio.wrap_future(thread.submit(relabel, snapshot, libraries))
        except BaseException:
            # If this is cancelled while the thread opens it, it must still be closed.
            thread.submit(_close_if_opened, opening)
            thread.shutdown(wait=False)
            raise

        # a pattern may look like an option
        patterns_of_libraries = [f"--libraries={pattern}" for pattern in libraries.patterns]

        def options() -> list[str]:
            return [*self._cache_options(), *patterns_of_libraries]

        async def watched(work: Awaitable[None]) -> None:
            """A child's work, which may find the archive damaged."""
            try:
                await work
            except IngestError as error:
                contradicts = error.code == ContradictionError.code
                if contradicts and opened.is_made_here:
                    raise InconsistentError(error.message.text) from error
                if contradicts or error.code == ArchiveError.code:
                    # releasing the snapshot waits for this to end
                    task = asyncio.create_task(self._give_up(opened, ArchiveError(error.message)))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                raise

        def fill(part: Part, on_progress: ProgressListener) -> Awaitable[None]:
            return watched(fill_tables(archive, part, options(), on_progress))

        def examination(on_progress: ProgressListener) -> Awaitable[None]:
            return watched(examine(archive, options(), on_progress))

        def open_again() -> Snapshot:
            return open_with(archive, libraries)

        def start() -> Awaitable[QueryProcess]:
            return QueryProcess.start(archive, patterns_of_libraries)

        sql = SqlQueries(snapshot.origin, PARTS_OF[snapshot.info.model], fill, start)
        opened = OpenSnapshot(
            uuid.uuid4().hex,
            path,
            snapshot,
            thread,
            sql,
            Examination(examination),
            open_again,
            self._give_up,
        )
        opened.patterns = patterns
        return opened

    async def _libraries(self, path: str, patterns: tuple[str, ...], in_doubt: list[str]) -> Libraries:
        """The setting's patterns, and one for each doubtful file that is the user's because the workspace has it."""
        libraries = Libraries(patterns)
        names = in_doubt[:_MOST_IN_DOUBT]
        if not names:
            return libraries
        try:
            paths = await asyncio.wait_for(self._finder.find(names), FIND_TIMEOUT_S)
        except TimeoutError:
            logger.warning("the workspace was not searched in time for the files of %s", path)
            return libraries

        def is_own(path: str) -> bool:
            return libraries.kind_of(path, "", LIBRARY if library_of(path) else USER) == USER

        return libraries.with_own_files(name for name in names if any(map(is_own, paths[name.lower()])))

    async def _classes(self, path: str, kind: str, modules: dict[str, list[Place]]) -> dict[Place, str]:
        """The classes that sources have for a trace's modules; those of files that are found alone."""
        known = packs.module_classes(kind)
        if not modules or known is None:
            return {}
        try:
            bindings = await asyncio.wait_for(self._binder.bind(list(modules)[:_MOST_FILES]), FIND_TIMEOUT_S)
        except TimeoutError:
            logger.warning("the workspace was not searched in time for the modules of %s", path)
            return {}
        folders = None if self.readable is None else self.readable()

        def local(file: str) -> str | None:
            found = bindings.get(file)
            if found is None or len(found.paths) != 1:
                return None
            may = folders is None or any(Path(found.paths[0]).is_relative_to(folder) for folder in folders)
            return found.paths[0] if may else None

        return await asyncio.to_thread(known.classes_at, modules, local)

    async def _give_up(self, damaged: OpenSnapshot, error: ArchiveError) -> None:
        """Release a snapshot whose archive is damaged, and remove the archive.

        If its file can't be read again, the archive is kept for the questions that it can still answer.
        """
        again = await damaged.is_source_there()
        if damaged.is_kept_damaged or damaged.name not in self._open:
            return
        logger.warning(
            "the archive of %s is %s: %s", damaged.path, "made again" if again else "kept as it is", error
        )
        if not again:
            damaged.is_kept_damaged = True
            self._say_damaged(
                damaged,
                phrase(
                    "The stored copy of {title} is damaged on disk, and its file no longer exists, so it can't be "
                    "read again. What is shown may be wrong.",
                    title=damaged.title,
                ),
                again=False,
            )
            return
        for entry in self._entries_of(damaged):
            del self._entries[entry.identity]
        if self._open.pop(damaged.name, None) is not None:
            removed = asyncio.get_running_loop().create_future()
            self._removals.add(removed)
            try:
                await damaged.release()
                await asyncio.to_thread(shutil.rmtree, damaged.archive, ignore_errors=True)
            finally:
                self._removals.remove(removed)
                removed.set_result(None)
            self._changed()
            self._say_damaged(
                damaged,
                phrase(
                    "The stored copy of {title} was damaged or removed on disk. The file is read again.",
                    title=damaged.title,
                ),
                again=True,
            )

    def _say_damaged(self, damaged: OpenSnapshot, message: Text, *, again: bool) -> None:
        for listener in self.damage_listeners:
            listener(Damage(damaged.name, message, again))

    def _ingest_options(self) -> list[str]:
        memory_bytes = self._configuration.settings.memory_limit_bytes or limits.default_bytes()
        limit = ["--memory-limit", str(memory_bytes)] if memory_bytes else []
        if self.readable is None:
            folders = [f"--source-folder={path}" for _, path in self._configuration.folders]
        else:
            folders = ["--only-folders", *(f"--source-folder={path}" for path in self.readable())]
        folders += [f"--symbols={path}" for path in self._configuration.symbol_folders]
        # findings are asked for when the first picture is there
        return [*self._cache_options(), *limit, *folders, "--no-findings"]

    def _cache_options(self) -> list[str]:
        options = ["--cache-limit", str(max(1, self._configuration.settings.cache_limit_bytes))]
        return [*options, "--cache-dir", str(self._configuration.cache.folder)]

    @property
    def warnings(self) -> list[FileWarning]:
        """Warnings about the folder of the archives."""
        warning = self._configuration.cache.warning
        return [] if warning is None else [FileWarning("cache", warning)]

    def _changed(self) -> None:
        for listener in self.listeners:
            listener()


def _open(archive: Path) -> tuple[Snapshot, list[str]]:
    """An archive, and the doubtful files that it names."""
    snapshot = Snapshot.open(archive)
    try:
        return snapshot, snapshot.ask(files_in_doubt)
    except BaseException:
        snapshot.close()
        raise


def _result(task: "asyncio.Future[OpenSnapshot]") -> OpenSnapshot | None:
    return None if task.cancelled() or task.exception() is not None else task.result()


def _close_if_opened(opening: "Future[tuple[Snapshot, list[str]]]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[0].close()
