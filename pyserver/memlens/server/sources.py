"""Binds the paths in snapshots to the files here, one at a time for the view and all at once for hovers."""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from memlens.errors import BadRequestError, MemlensError
from memlens.model.attribution import Attribution
from memlens.server.markdown import plain
from memlens.server.protocol.sources import ChangedLine, Document, ShowLineArguments
from memlens.server.sessions.registry import OpenSnapshot, Registry
from memlens.server.settings import Configuration
from memlens.sources.cells import CELL_LIMIT, cell_name, names_of
from memlens.sources.edits import UNCHANGED, Edits, FileState
from memlens.sources.finder import KEPT_S, Finder
from memlens.sources.line_map import LineEdit
from memlens.sources.paths import ForeignPath, best_matches, mapped, parse
from memlens.views.answers import SourceLine
from memlens.views.lines import totals as lines

logger = logging.getLogger(__name__)

_MOST_TOLD = 5
"""Lines of functions that a remark names."""

_MOST_SEARCHED = 2_000
"""Base names of a snapshot that the workspace is searched for, ten questions: those that hold the most first."""

_LONGEST_WAIT_S = 2.0
"""How long after its opening a snapshot is waited for; then it is told of when its files are bound."""

How = Literal["mapping", "remembered", "exact", "suffix", "ambiguous", "none", "cell"]


class Binding(NamedTuple):
    """Where a foreign path is here. ``paths`` has one element unless it is ambiguous or nowhere."""

    how: How
    paths: list[str]
    looked_for: str
    components: int = 0
    """How many components of both paths agree, where that is how it was found."""

    @property
    def by_name_only(self) -> bool:
        """Nothing but the base name speaks for it."""
        return self.how in ("suffix", "ambiguous") and self.components == 1


class BoundFile(NamedTuple):
    """A file of a snapshot that may be the file at hand."""

    snapshot: OpenSnapshot
    file: str
    """As the snapshot spells it."""
    binding: Binding
    skipped: int = 0
    """How many lines the file at hand has before the first that ran; only a cell has any."""


class _Bound(NamedTuple):
    """What one snapshot says about files here."""

    files: dict[str, list[BoundFile]]
    """By :func:`path_key`."""
    cells: dict[tuple[str, str], list[BoundFile]]
    made_at: float

    @property
    def meaning(self) -> dict[str, list[str]]:
        return {path: [bound.file for bound in files] for path, files in self.files.items()}


class _Binding:
    """The binding of one snapshot's files that runs now."""

    def __init__(self) -> None:
        self.since = time.monotonic()
        self.again = False
        """What it goes by has changed meanwhile."""
        self.once = asyncio.Event()
        """It has come to an end once, or won't soon."""
        self.task: asyncio.Task[None] | None = None


class PlacedLine(NamedTuple):
    """What a snapshot says about a line, and where that line is now."""

    bound: BoundFile
    row: SourceLine
    line: int
    """In the editor, counted from 1; 0 if it was deleted."""
    changed: ChangedLine | None
    """Something else stands there than what ran."""


def show_line(bound: BoundFile, row: SourceLine) -> ShowLineArguments:
    """What makes the editor show the allocations of a line."""
    return ShowLineArguments(bound.snapshot.name, bound.snapshot.path, row.file, row.line)


class Sources:
    """Resolves foreign paths, and keeps for each local file what open snapshots say about it.

    Each snapshot has an index of its own, made in the background after it opens, so that a hover is a look-up
    and waits for no other snapshot's names. When one grows old, the next hover has it made again but doesn't wait.
    """

    def __init__(self, configuration: Configuration, registry: Registry, finder: Finder) -> None:
        self._configuration = configuration
        self._registry = registry
        self._finder = finder
        self.edits = Edits()
        self._bound: dict[str, _Bound] = {}
        """By the snapshot's name."""
        self._making: dict[str, _Binding] = {}
        self.listeners: list[Callable[[], None]] = []
        """Called when paths of open snapshots mean other files than before."""
        configuration.listeners.append(self.invalidate)
        registry.listeners.append(self._snapshots_changed)

    async def resolve(self, file: str) -> Binding:
        """Find one foreign path's file."""
        return (await self._resolve_all([file]))[file]

    async def bound_to(self, document: Document) -> list[BoundFile]:
        """What open snapshots may mean by a document, in the order in which they were opened."""
        await self._new_ones()
        if any(bound.made_at < time.monotonic() - KEPT_S for bound in self._bound.values()):
            self.refresh()
        _check_path(document.path)
        if document.cell is not None:
            return await self._bound_to_cell(document.cell)
        found = self._files_at(document.path)
        if not found and any(bound.files for bound in self._bound.values()):
            found = self._files_at(await asyncio.to_thread(_real_path, document.path))
        return found

    def _files_at(self, path: str) -> list[BoundFile]:
        key = path_key(path)
        return [bound for known in self._in_order() for bound in known.files.get(key, [])]

    def _in_order(self) -> list[_Bound]:
        """What is known of the open snapshots, in the order in which they were opened."""
        names = [snapshot.name for snapshot in self._registry.snapshots()]
        return [self._bound[name] for name in names if name in self._bound]

    async def lines_of(self, document: Document, bound: BoundFile) -> list[PlacedLine]:
        """All lines of a document that one snapshot knows, in the snapshot's order."""
        by_line = await self._rows(bound)
        state = await self.state(document, bound)
        return [_placed(bound, row, state) for rows in by_line.values() for row in rows]

    async def rows_at(self, document: Document, line: int) -> list[PlacedLine]:
        """What open snapshots say about a line, counted from 1 as it is in the editor now."""
        found: list[PlacedLine] = []
        for bound in await self.bound_to(document):
            by_line = await self._rows(bound)
            if not by_line:
                continue
            state = await self.state(document, bound)
            rows = by_line.get(state.lines.there(line) - bound.skipped, [])
            found += [_placed(bound, row, state) for row in rows]
        return found

    async def place(self, snapshot: str, file: str, line: int, path: str) -> tuple[int, ChangedLine | None]:
        """Where a snapshot's line is in the file ``path`` now; 0 if it was deleted."""
        state = await self.edits.state(path_key(path), snapshot)
        changed = _changed(await self.function_at(snapshot, file, line), line, state)
        return state.lines.here(line), changed

    async def function_at(self, snapshot: str, file: str, line: int) -> str:
        """The function that a snapshot has at a line; empty when it tells none, or is not open."""
        opened = [each for each in self._registry.snapshots() if each.name == snapshot]
        rows = (await opened[0].lines_of(file, self.attribution)).get(line, []) if opened else []
        return rows[0].function if rows else ""

    def moved(
        self, path: str, what: Literal["edited", "saved", "discarded", "reloaded"], edits: list[LineEdit]
    ) -> None:
        """Take over what happened to a file in the editor."""
        _check_path(path)
        key = path_key(path)
        match what:
            case "edited":
                self.edits.edited(key, edits, [snapshot.name for snapshot in self._registry.snapshots()])
            case "saved":
                self.edits.saved(key)
            case "discarded":
                self.edits.discarded(key)
            case "reloaded":
                self.edits.reloaded(key)

    async def _bound_to_cell(self, text: str) -> list[BoundFile]:
        if len(text) > CELL_LIMIT or not any(known.cells for known in self._bound.values()):
            return []
        names = await asyncio.to_thread(names_of, text)
        return [
            bound._replace(skipped=skipped)
            for known in self._in_order()
            for key, skipped in names
            for bound in known.cells.get(key, [])
        ]

    @property
    def attribution(self) -> Attribution:
        """What is charged to a line itself, as the settings have it."""
        return self._configuration.settings.attribution

    async def _rows(self, bound: BoundFile) -> dict[int, list[SourceLine]]:
        try:
            return await bound.snapshot.lines_of(bound.file, self.attribution)
        except MemlensError as error:
            logger.info("no totals of %s: %s", bound.file, error)
            return {}

    async def state(self, document: Document, bound: BoundFile) -> FileState:
        """How a document stands to a snapshot that may mean it."""
        if document.cell is not None:
            return UNCHANGED  # by its name it is what ran
        return await self.edits.state(path_key(document.path), bound.snapshot.name)

    def invalidate(self) -> None:
        """Settings, choices or workspace folders changed."""
        self._finder.folders = [path for _, path in self._configuration.folders]
        self._finder.forget()
        self.refresh()

    def refresh(self) -> None:
        """Make the indexes again, in the background."""
        for snapshot in self._registry.snapshots():
            self._make_index(snapshot)

    async def _new_ones(self) -> None:
        """Wait for snapshots that were opened just now."""
        for making in [making for name, making in self._making.items() if name not in self._bound]:
            left_s = making.since + _LONGEST_WAIT_S - time.monotonic()
            if left_s > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(making.once.wait(), left_s)

    def _snapshots_changed(self) -> None:
        snapshots = self._registry.snapshots()
        names = {snapshot.name for snapshot in snapshots}
        if self._bound.keys() - names:
            self._bound = {name: bound for name, bound in self._bound.items() if name in names}
            self.edits.keep_only(names)
        for snapshot in snapshots:
            if snapshot.name not in self._bound and snapshot.name not in self._making:
                self._make_index(snapshot)

    def _make_index(self, snapshot: OpenSnapshot) -> None:
        making = self._making.get(snapshot.name)
        if making is not None:
            making.again = True
            return
        making = self._making[snapshot.name] = _Binding()
        making.task = asyncio.get_running_loop().create_task(self._index(snapshot, making))

    async def _index(self, snapshot: OpenSnapshot, making: _Binding) -> None:
        try:
            while True:
                making.again = False
                bound = await self._bind(snapshot, making)
                if all(each.name != snapshot.name for each in self._registry.snapshots()):
                    return  # it was closed meanwhile
                before = self._bound.get(snapshot.name)
                self._bound[snapshot.name] = bound
                making.once.set()
                if (before.meaning if before else {}) != bound.meaning:
                    for listener in self.listeners:
                        listener()
                if not making.again:
                    return
        except Exception:
            logger.exception("the files of %s could not be bound to files here", snapshot.title)
        finally:
            del self._making[snapshot.name]
            making.once.set()

    async def _bind(self, snapshot: OpenSnapshot, making: _Binding) -> _Bound:
        try:
            files = await snapshot.ask(lines.source_files)
        except MemlensError as error:
            logger.info("the source files of %s can't be told: %s", snapshot.title, error)
            files = []
        if len(files) > _MOST_SEARCHED:
            making.once.set()  # this takes a while, and nobody is to wait for it
        bindings, unknown = await asyncio.to_thread(self._resolve_known, files)
        names = list(dict.fromkeys(searched.foreign.name.lower() for searched in unknown.values()))
        if len(names) > _MOST_SEARCHED:
            logger.warning(
                "%s names %d files that are not where it says: the workspace is searched for the %d names "
                "that hold the most; others are looked for when they are opened",
                snapshot.title,
                len(names),
                _MOST_SEARCHED,
            )
            searched_names = set(names[:_MOST_SEARCHED])
            unknown = {
                file: each for file, each in unknown.items() if each.foreign.name.lower() in searched_names
            }
        bindings |= await self._search(unknown)
        return await asyncio.to_thread(_index_of, snapshot, files, bindings)

    async def _resolve_all(self, files: Iterable[str]) -> dict[str, Binding]:
        """Bind each of ``files``, asking for all of their base names at once."""
        bindings, unknown = await asyncio.to_thread(self._resolve_known, list(files))
        return bindings | await self._search(unknown)

    async def _search(self, unknown: dict[str, "_Searched"]) -> dict[str, Binding]:
        if not unknown:
            return {}
        by_name = await self._finder.find(searched.foreign.name for searched in unknown.values())
        return await asyncio.to_thread(_match_all, unknown, by_name)

    def _resolve_known(self, files: list[str]) -> tuple[dict[str, Binding], dict[str, "_Searched"]]:
        """What settings and disk tell without a search, and the rest. Not for the event loop."""
        mappings = self._configuration.mappings
        remembered = self._configuration.settings.remembered_paths
        folders = [path for _, path in self._configuration.folders]
        bindings: dict[str, Binding] = {}
        unknown: dict[str, _Searched] = {}
        for file in files:
            if cell_name(file) is not None:
                bindings[file] = Binding("cell", [], file)
                continue
            foreign = parse(file)
            if foreign is None:
                bindings[file] = Binding("none", [], file)
                continue
            mapped_to = mapped(foreign, mappings)
            binding = _known(foreign, mapped_to, remembered.get(file), folders)
            if binding is None:
                unknown[file] = _Searched(foreign, str(mapped_to[0]) if mapped_to else file)
            else:
                bindings[file] = binding
        return bindings, unknown


class _Searched(NamedTuple):
    """A path that only a search of the workspace can find; ``looked_for`` is where it should have been."""

    foreign: ForeignPath
    looked_for: str


def _known(
    foreign: ForeignPath, mapped_to: list[Path], remembered: str | None, folders: list[Path]
) -> Binding | None:
    for path in mapped_to:
        if _is_file(path):
            return Binding("mapping", [str(path)], str(path))
    if remembered is not None and _is_file(Path(remembered)):
        return Binding("remembered", [remembered], foreign.text)
    for path in _as_it_stands(foreign, folders):
        if _is_file(path):
            return Binding("exact", [str(path)], foreign.text)
    return None


def _as_it_stands(foreign: ForeignPath, folders: list[Path]) -> list[Path]:
    if foreign.windows and os.name != "nt":
        return []
    if not foreign.anchor:
        return [folder.joinpath(*foreign.parts) for folder in folders]
    if foreign.remote:
        return []  # to look at it would make Windows send the user's credentials to that machine
    path = Path(foreign.anchor).joinpath(*foreign.parts)
    return [path] if path.is_absolute() else []


def _match_all(unknown: dict[str, _Searched], by_name: dict[str, list[str]]) -> dict[str, Binding]:
    bindings: dict[str, Binding] = {}
    for file, searched in unknown.items():
        match = best_matches(searched.foreign, by_name.get(searched.foreign.name.lower(), []))
        paths = [path for path in match.paths if _is_file(Path(path))]
        how: How = "none" if not paths else "suffix" if len(paths) == 1 else "ambiguous"
        bindings[file] = Binding(how, paths, searched.looked_for, match.components if paths else 0)
    return bindings


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _placed(bound: BoundFile, row: SourceLine, state: FileState) -> PlacedLine:
    line = row.line + bound.skipped
    return PlacedLine(bound, row, state.lines.here(line), _changed(row.function, line, state))


def _changed(function: str, line: int, state: FileState) -> ChangedLine | None:
    """Whether something else stands at a line than what ran, as far as the names of functions tell."""
    elsewhere = state.functions.elsewhere(function, line) if state.functions is not None else None
    if elsewhere is None:
        return None
    lines = [here for there in elsewhere if (here := state.lines.here(there))]
    name = f"`{plain(function)}`"
    if not lines:
        what = f"{name} is not in it any more"
    elif len(lines) == 1:
        what = f"{name} now stands at line {lines[0]}"
    else:
        told = ", ".join(map(str, lines[:_MOST_TOLD]))
        what = f"{name} now stands at lines {told}" + (" and others" if len(lines) > _MOST_TOLD else "")
    return ChangedLine(f"The file has changed since the run: {what}", lines)


def _index_of(snapshot: OpenSnapshot, files: list[str], bindings: dict[str, Binding]) -> _Bound:
    index = _Bound({}, {}, time.monotonic())
    for file in files:
        binding = bindings.get(file)
        if binding is None:
            continue
        bound = BoundFile(snapshot, file, binding)
        for path in binding.paths:
            index.files.setdefault(path_key(path), []).append(bound)
        cell = cell_name(file)
        if cell is not None:
            index.cells.setdefault(cell.key, []).append(bound)
    return index


def _check_path(path: str) -> None:
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise BadRequestError(f"The path {plain(path)} is none: it can't be written in UTF-8") from error
    if "\0" in path:
        raise BadRequestError(f"The path {plain(path)} is none: it has a NUL in it")


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def path_key(path: str) -> str:
    """Equal for paths that only differ in how they are spelt."""
    return os.path.normcase(os.path.normpath(path))
