"""Figures of open snapshots for a document and its lines, and where those lines are now."""

import logging
from typing import Literal, NamedTuple

from memlens.errors import MemlensError
from memlens.model.attribution import Attribution
from memlens.server import language
from memlens.server.protocol.sources import ChangedLine, Document, ShowLineArguments, SourceResult
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.sources.binding import Binder, Binding
from memlens.sources.edits import UNCHANGED, Change, Edits, FileState
from memlens.sources.finder import Finder
from memlens.sources.index import Indexes
from memlens.sources.line_map import LineEdit, LineMap
from memlens.sources.paths import check_path, path_key
from memlens.texts import phrase
from memlens.views.answers import SourceLine

logger = logging.getLogger(__name__)


class BoundFile(NamedTuple):
    """A file that may be the document in question, :class:`memlens.sources.index.Bound`, and its snapshot."""

    snapshot: OpenSnapshot
    file: str
    binding: Binding
    skipped: int = 0


class PlacedLine(NamedTuple):
    """A snapshot's figures for a line, and where that line is now."""

    bound: BoundFile
    row: SourceLine
    line: int
    """In the editor, counted from 1; 0 if it was deleted."""
    changed: Change | None
    """Whether that line is no longer what ran."""


def sent(changed: Change | None) -> ChangedLine | None:
    """A change as the editor shows it."""
    return None if changed is None else ChangedLine(language.spoken(changed.message), changed.lines)


def show_line(bound: BoundFile, row: SourceLine) -> ShowLineArguments:
    """The arguments that make the editor show the allocations of a line."""
    return ShowLineArguments(bound.snapshot.name, bound.snapshot.path, row.file, row.line)


class Sources:
    """Follows the open snapshots and the settings, and answers for the editor's documents."""

    def __init__(self, configuration: Configuration, registry: Registry, finder: Finder) -> None:
        self._configuration = configuration
        self._registry = registry
        self._finder = finder
        self._edits = Edits()
        self.binder = Binder(finder, configuration.places)
        self._others: set[str] = set()
        self.indexes = Indexes(self.binder)
        configuration.listeners.append(self.invalidate)
        registry.listeners.append(self._snapshots_changed)

    @property
    def attribution(self) -> Attribution:
        """Which frame is charged, by the settings."""
        return self._configuration.settings.attribution

    async def resolve(self, file: str) -> Binding:
        """Find one foreign path's file."""
        return (await self.binder.bind([file]))[file]

    async def located(self, snapshot: str, file: str, line: int) -> SourceResult:
        """The local position of a snapshot's line; ``snapshot`` is empty and ``line`` 0 if they are not known."""
        found = await self.resolve(file)
        path = found.paths[0] if len(found.paths) == 1 else None
        changed = None
        if path is not None and snapshot and line:
            here, changed = await self.place(snapshot, file, line, path)
            if here == 0 and changed is None:
                changed = Change(phrase("That line has been deleted since the run"), [])
            line = here or line
        return SourceResult(path, line, found.how, found.paths, found.looked_for, sent(changed))

    async def bound_to(self, document: Document) -> list[BoundFile]:
        """The files of open snapshots that may be a document, in the order in which the snapshots were opened."""
        await self.indexes.ready()
        check_path(document.path)
        if document.cell is not None:
            named = await self.indexes.of_cell(document.cell)
        else:
            named = await self.indexes.of_file(document.path)
        opened = {snapshot.name: snapshot for snapshot in self._registry.snapshots()}
        return [BoundFile(opened[name], *bound) for name, bound in named if name in opened]

    async def lines_of(self, document: Document, bound: BoundFile) -> list[PlacedLine]:
        """All lines of a document that allocate in one snapshot, in the snapshot's order."""
        by_line = await self._rows(bound)
        state = await self.state(document, bound)
        return [_placed(bound, row, state) for rows in by_line.values() for row in rows if row.count]

    async def rows_at(self, document: Document, line: int) -> list[PlacedLine]:
        """The figures of open snapshots for a line, counted from 1 as it is in the editor now."""
        placed: list[PlacedLine] = []
        for bound in await self.bound_to(document):
            by_line = await self._rows(bound)
            rows = by_line.get(self._line_map(document, bound).there(line) - bound.skipped)
            if rows:
                # not for every file that the document may be, because it reads the disk in another thread
                state = await self.state(document, bound)
                placed += [_placed(bound, row, state) for row in rows]
        return placed

    async def place(self, snapshot: str, file: str, line: int, path: str) -> tuple[int, Change | None]:
        """The number of a snapshot's line in the file ``path`` now; 0 if it was deleted."""
        state = await self._edits.state(path_key(path), snapshot)
        return state.lines.here(line), state.changed(await self.function_at(snapshot, file, line), line)

    async def function_at(self, snapshot: str, file: str, line: int) -> str:
        """The function that a snapshot has at a line; empty if it names none or is not open."""
        opened = [each for each in self._registry.snapshots() if each.name == snapshot]
        rows = (await opened[0].lines_of(file, self.attribution)).get(line, []) if opened else []
        return rows[0].function if rows else ""

    def moved(
        self, path: str, what: Literal["edited", "saved", "discarded", "reloaded"], edits: list[LineEdit]
    ) -> None:
        """Process what happened to a file in the editor."""
        check_path(path)
        key = path_key(path)
        match what:
            case "edited":
                self._edits.edited(key, edits, self._followed())
            case "saved":
                self._edits.saved(key)
            case "discarded":
                self._edits.discarded(key)
            case "reloaded":
                self._edits.reloaded(key)

    async def state(self, document: Document, bound: BoundFile) -> FileState:
        """A document from the point of view of a snapshot that may mean it."""
        return await self.state_of(document, bound.snapshot.name)

    async def state_of(self, document: Document, name: str) -> FileState:
        """The same for the snapshot of that name, or for a name of :meth:`follow_also`."""
        if document.cell is not None:
            return UNCHANGED  # a cell is found by its code, so it is what ran
        return await self._edits.state(path_key(document.path), name)

    def follow_also(self, names: set[str]) -> None:
        """From now on track moved lines for these names as well, which are not those of open snapshots."""
        self._others = names
        self._edits.keep_only(self._followed())

    def _line_map(self, document: Document, bound: BoundFile) -> LineMap:
        """Where the lines of a document moved since a snapshot that may mean it was opened."""
        if document.cell is not None:
            return UNCHANGED.lines
        return self._edits.lines(path_key(document.path), bound.snapshot.name)

    def invalidate(self) -> None:
        """Start again, because settings, choices or workspace folders changed."""
        self._finder.folders = self._configuration.places().folders
        self._finder.forget()
        self.indexes.refresh()

    def _snapshots_changed(self) -> None:
        snapshots = self._registry.snapshots()
        self._edits.keep_only(self._followed())
        self.indexes.follow(snapshots)

    def _followed(self) -> set[str]:
        return {snapshot.name for snapshot in self._registry.snapshots()} | self._others

    async def _rows(self, bound: BoundFile) -> dict[int, list[SourceLine]]:
        try:
            return await bound.snapshot.lines_of(bound.file, self.attribution)
        except MemlensError as error:
            logger.info("no totals of %s: %s", bound.file, error)
            return {}


def _placed(bound: BoundFile, row: SourceLine, state: FileState) -> PlacedLine:
    line = row.line + bound.skipped
    return PlacedLine(bound, row, state.lines.here(line), state.changed(row.function, line))
