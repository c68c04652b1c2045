"""Which open snapshots and fleets may mean a document, and where its lines are now."""

from collections.abc import Iterable, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

from memlens.model.attribution import Attribution
from memlens.server import language
from memlens.server.protocol.sources import ChangedLine, Document, ShowLineArguments, SourceResult
from memlens.server.sessions.open_fleet import OpenFleet
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.sources.binding import Binder, Binding
from memlens.sources.edits import UNCHANGED, Change, Edits, FileState
from memlens.sources.finder import Finder
from memlens.sources.index import Bound, Indexes
from memlens.sources.line_map import LineEdit, LineMap
from memlens.sources.paths import check_path, path_key
from memlens.texts import Text, phrase, plural
from memlens.units import plain_name
from memlens.views.answers import SourceLine
from memlens.views.heap.objects.lines import HeapLine

Opened = TypeVar("Opened", OpenSnapshot, OpenFleet)


class BoundFile(NamedTuple, Generic[Opened]):
    """A file that may be the document in question, :class:`memlens.sources.index.Bound`, and the snapshot or fleet
    that names it.
    """

    opened: Opened
    file: str
    binding: Binding
    skipped: int = 0
    others: tuple[Bound, ...] = ()
    """Its other names in the ranks of a fleet."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the file."""
        return (self.file, *(each.file for each in self.others))

    @property
    def note(self) -> Text | None:
        """Why this may be another file."""
        bindings = [self.binding, *(each.binding for each in self.others)]
        if isinstance(self.opened, OpenFleet):
            if any(each.how == "ambiguous" for each in bindings):
                return phrase("The ranks could equally mean another file of that name here.")
            if all(each.by_name_only for each in bindings):
                return phrase("Matched by file name only.")
        elif self.binding.how == "ambiguous":
            others = len(self.binding.paths) - 1
            return phrase(
                plural(
                    others,
                    "{file} in the snapshot could equally be {n} other file here.",
                    "{file} in the snapshot could equally be {n} other files here.",
                ),
                file=plain_name(self.file),
                n=others,
            )
        elif self.binding.by_name_only:
            return phrase("Matched by file name only: the snapshot has {file}.", file=plain_name(self.file))
        return None


def sent(changed: Change | None) -> ChangedLine | None:
    """A change in the form that the editor shows."""
    return None if changed is None else ChangedLine(language.spoken(changed.message), changed.lines)


def show_line(bound: BoundFile[OpenSnapshot], row: SourceLine | HeapLine) -> ShowLineArguments:
    """The arguments that make the editor show the allocations or the objects of a line."""
    return ShowLineArguments(bound.opened.name, bound.opened.path, row.file, row.line)


class Sources:
    """Follows the open snapshots and fleets and the settings, and answers for the editor's documents."""

    def __init__(self, configuration: Configuration, registry: Registry, finder: Finder) -> None:
        self._configuration = configuration
        self._registry = registry
        self._finder = finder
        self._edits = Edits()
        self.binder = Binder(finder, configuration.places)
        self._shown: list[str] = []
        self._fleets: dict[str, OpenFleet] = {}
        self.indexes = Indexes(self.binder)
        configuration.listeners.append(self.invalidate)
        registry.listeners.append(self._follow)

    @property
    def attribution(self) -> Attribution:
        """The rule by which frames are charged, from the settings."""
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

    def snapshots(self) -> Sequence[OpenSnapshot]:
        """Those that are open."""
        return self._registry.snapshots()

    def show_fleets(self, paths: Iterable[str]) -> None:
        """Set which fleets the editor shows, besides those that a setting names: databases, or their folders."""
        self._shown = list(paths)
        self._follow()

    async def bound_to(self, document: Document) -> list[BoundFile[OpenSnapshot]]:
        """The files of open snapshots that may be a document, in the order in which the snapshots were opened."""
        named = await self._named(document)
        opened = {snapshot.name: snapshot for snapshot in self._registry.snapshots()}
        return [BoundFile(opened[name], *bound) for name, bound in named if name in opened]

    async def fleets_of(self, document: Document) -> list[BoundFile[OpenFleet]]:
        """The fleets whose ranks may mean a document, each once."""
        if not self._fleets or document.cell is not None:
            return []
        named = await self._named(document)
        opened = {fleet.name: fleet for fleet in self._fleets.values()}
        by_fleet: dict[str, list[Bound]] = {}
        for name, bound in named:
            if name in opened:
                by_fleet.setdefault(name, []).append(bound)
        return [
            BoundFile(opened[name], *first[:2], others=tuple(others))
            for name, (first, *others) in by_fleet.items()
        ]

    async def _named(self, document: Document) -> list[tuple[str, Bound]]:
        await self.indexes.ready()
        check_path(document.path)
        if document.cell is not None:
            return await self.indexes.of_cell(document.cell)
        return await self.indexes.of_file(document.path)

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

    async def state(self, document: Document, name: str) -> FileState:
        """A document as the snapshot or fleet of that name sees it."""
        if document.cell is not None:
            return UNCHANGED  # a cell is found by its code, so it is what ran
        return await self._edits.state(path_key(document.path), name)

    def moved_lines(self, document: Document, name: str) -> LineMap:
        """Where a document's lines moved since the snapshot of that name was opened."""
        if document.cell is not None:
            return UNCHANGED.lines
        return self._edits.lines(path_key(document.path), name)

    def invalidate(self) -> None:
        """Start again, because settings, choices or workspace folders changed."""
        self._finder.folders = self._configuration.places().folders
        self._finder.forget()
        self.indexes.refresh()
        self._follow()

    def _follow(self) -> None:
        """Index and follow what is open now."""
        named = [self._configuration.expand(each) for each in self._configuration.settings.fleets]
        wanted = dict.fromkeys([*self._shown, *(str(path) for path in named if path is not None)])
        self._fleets = {path: self._fleets.get(path) or OpenFleet(path) for path in wanted}
        self._edits.keep_only(self._followed())
        self.indexes.follow([*self._registry.snapshots(), *self._fleets.values()])

    def _followed(self) -> set[str]:
        return {opened.name for opened in (*self._registry.snapshots(), *self._fleets.values())}
