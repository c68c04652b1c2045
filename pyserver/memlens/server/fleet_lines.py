"""Figures of fleets' summaries for a document's lines: the maximum over ranks, and the rank that has it."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from memlens.errors import MemlensError
from memlens.fleet.database import database_in, reading
from memlens.fleet.questions.ranks import (
    At,
    FileOverRanks,
    OverRanks,
    WholeFleet,
    file_over_ranks,
    files,
    whole,
)
from memlens.result_cache import ResultCache
from memlens.server.protocol.sources import Document
from memlens.server.settings import Configuration
from memlens.server.sources import Sources
from memlens.sources.edits import ChangedLine, FileState
from memlens.sources.index import Bound, Indexes
from memlens.sources.paths import check_path

logger = logging.getLogger(__name__)

T = TypeVar("T")

_Version = tuple[int, int]


class FunctionOverRanks(NamedTuple):
    """A function of a document over the ranks of one fleet, with all of its rows of :class:`FileOverRanks`."""

    line: int
    """The line of its definition in the editor now."""
    most: OverRanks
    changed: bool


class LineOverRanks(NamedTuple):
    """A line of a document, over the ranks of one fleet."""

    fleet: "OpenFleet"
    whole: WholeFleet
    function: str
    peak: OverRanks | None
    total: OverRanks | None
    changed: ChangedLine | None
    note: str
    """Why this file may not be the one that the ranks mean."""


class FunctionsOverRanks(NamedTuple):
    """The functions of a document that matter in one fleet."""

    fleet: "OpenFleet"
    functions: list[FunctionOverRanks]


class OpenFleet:
    """The summaries in one database. It may grow: what was read is valid for the version that was read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = f"fleet:{path}"
        """A name that no open snapshot has."""
        self._kept = ResultCache()

    @property
    def title(self) -> str:
        """The folder's name."""
        path = Path(self.path)
        return path.parent.name if path.suffix else path.name

    async def source_files(self) -> list[str]:
        """The files that its ranks name, those that hold the most first. Raises MemlensError."""
        return await self._ask("files", files)

    async def whole(self) -> WholeFleet:
        """The totals that its lines are compared with. Raises MemlensError."""
        return await self._ask("whole", whole)

    async def file(self, names: tuple[str, ...]) -> FileOverRanks:
        """The lines of the file that has this name in its ranks. Raises MemlensError."""
        return await self._ask(names, lambda fleet: file_over_ranks(fleet, names))

    async def _ask(self, key: str | tuple[str, ...], question: Callable[[apsw.Connection], T]) -> T:
        version = await asyncio.to_thread(self._version)
        self._kept.drop(lambda known: known[0] != version)
        found: T | None = self._kept.find((version, key))
        if found is None:
            found = await asyncio.to_thread(self._answered, question)
            self._kept.put((version, key), found)
        return found

    def _answered(self, question: Callable[[apsw.Connection], T]) -> T:
        with reading(Path(self.path)) as connection:
            return question(connection)

    def _version(self) -> _Version:
        try:
            status = database_in(Path(self.path)).stat()
        except OSError:
            return (0, 0)
        return (status.st_mtime_ns, status.st_size)


class FleetLines:
    """Answers for the editor's documents, from the fleets that it shows and those that a setting names."""

    def __init__(self, configuration: Configuration, sources: Sources) -> None:
        self._configuration = configuration
        self._sources = sources
        self._shown: list[str] = []
        self._fleets: dict[str, OpenFleet] = {}
        self.indexes = Indexes(sources.binder)
        configuration.listeners.append(self._settings_changed)

    def show(self, paths: Iterable[str]) -> None:
        """Set which fleets the editor shows: their databases, or folders that contain them."""
        self._shown = list(paths)
        self._follow()

    def _settings_changed(self) -> None:
        self._follow()
        self.indexes.refresh()

    def _follow(self) -> None:
        named = [self._configuration.expand(each) for each in self._configuration.settings.fleets]
        wanted = dict.fromkeys([*self._shown, *(str(path) for path in named if path is not None)])
        fleets = {path: self._fleets.get(path) or OpenFleet(path) for path in wanted}
        if fleets.keys() == self._fleets.keys():
            return
        self._fleets = fleets
        self._sources.follow_also({fleet.name for fleet in fleets.values()})
        self.indexes.follow([*fleets.values()])

    async def at(self, document: Document, line: int) -> list[LineOverRanks]:
        """The fleets' figures for a line, counted from 1 as it is in the editor now."""
        found = []
        for fleet, bound in await self._bound_to(document):
            state = await self._sources.state_of(document, fleet.name)
            there = state.lines.there(line)
            try:
                over = await fleet.file(tuple(each.file for each in bound))
                rows = [number for number, (own, _) in enumerate(over.lines) if own == there]
                peak, total = over.over(rows, "peak"), over.over(rows, "total")
                if peak is None and total is None:
                    continue
                function = over.lines[rows[0]][1]
                changed = state.changed(function, there)
                found.append(
                    LineOverRanks(fleet, await fleet.whole(), function, peak, total, changed, _note(bound))
                )
            except MemlensError as error:
                logger.info("no lines of %s: %s", fleet.path, error)
        return found

    async def functions(self, document: Document, at: At, least_share: float) -> list[FunctionsOverRanks]:
        """The functions of a document to which at least this share of the largest rank's bytes is charged."""
        found = []
        for fleet, bound in await self._bound_to(document):
            state = await self._sources.state_of(document, fleet.name)
            try:
                over = await fleet.file(tuple(each.file for each in bound))
                least = max(1.0, least_share * (await fleet.whole()).most_bytes(at))
            except MemlensError as error:
                logger.info("no functions of %s: %s", fleet.path, error)
                continue
            functions = _functions(over, state, at, least)
            if functions:
                found.append(FunctionsOverRanks(fleet, functions))
        return found

    async def _bound_to(self, document: Document) -> list[tuple[OpenFleet, list[Bound]]]:
        """The fleets whose ranks may mean a document, each with the name that they have for it."""
        if not self._fleets or document.cell is not None:
            return []
        await self.indexes.ready()
        check_path(document.path)
        by_name = {fleet.name: fleet for fleet in self._fleets.values()}
        found: dict[str, list[Bound]] = {}
        for name, bound in await self.indexes.of_file(document.path):
            if name in by_name:
                found.setdefault(name, []).append(bound)
        return [(by_name[name], bound) for name, bound in found.items()]


def _functions(over: FileOverRanks, state: FileState, at: At, least_bytes: float) -> list[FunctionOverRanks]:
    """Group rows by function: by the one of that name around them, else by name alone."""
    grouped: dict[tuple[str, int], list[int]] = {}
    for row, (line, function) in enumerate(over.lines):
        if function.startswith("<"):
            continue  # comprehensions, lambdas and modules have no definition to show a lens above
        start = state.functions.definition(function, line) if state.functions is not None else 0
        grouped.setdefault((function, start), []).append(row)
    found = []
    for (function, start), rows in grouped.items():
        most = over.over(rows, at)
        if most is None or most.most_bytes < least_bytes:
            continue
        lines = [over.lines[row][0] for row in rows]
        here = (
            state.lines.here(start) if start else min(filter(None, map(state.lines.here, lines)), default=0)
        )
        if here:
            changed = any(state.changed(function, line) for line in lines)
            found.append(FunctionOverRanks(here, most, changed))
    return sorted(found)


def _note(bound: list[Bound]) -> str:
    if any(each.binding.how == "ambiguous" for each in bound):
        return "The ranks could equally mean another file of that name here."
    if all(each.binding.by_name_only for each in bound):
        return "Matched by file name only."
    return ""
