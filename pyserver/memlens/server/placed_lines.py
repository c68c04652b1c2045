"""The figures of open snapshots and fleets for a document's lines, at their current positions in the editor.

Traces and profiles have figures of lines, heap dumps objects of the classes and functions that are defined on them, and
fleets the maximum over ranks. Hovers, code lenses and heat show these.
"""

import asyncio
import logging
import re
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from memlens.errors import MemlensError
from memlens.fleet.questions.ranks import At, FileOverRanks, OverRanks, WholeFleet
from memlens.model.graph import is_array
from memlens.packs.registry import objects_of
from memlens.server.figures import figure_of
from memlens.server.protocol.sources import Document
from memlens.server.sessions.findings import findings_of
from memlens.server.sessions.open_fleet import OpenFleet
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sources import BoundFile, Sources
from memlens.sources.binding import Binding
from memlens.sources.declarations import TypeName, declarations, suffixes_of, text_of, type_name
from memlens.sources.edits import Change, FileState, FunctionRows
from memlens.store.kept import kept
from memlens.store.models import has_stacks, heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.answers import SourceLine
from memlens.views.findings.answers import SnapshotFinding
from memlens.views.heap.objects.lines import HeapLine, line_of_types
from memlens.views.heap.objects.rows import plain_type_names

logger = logging.getLogger(__name__)

Opened = TypeVar("Opened", OpenSnapshot, OpenFleet)
Row = TypeVar("Row")


class PlacedLine(NamedTuple, Generic[Opened, Row]):
    """A line's figures in a snapshot or a fleet."""

    bound: BoundFile[Opened]
    row: Row
    line: int
    """In the editor now, counted from 1; 0 if it was deleted."""
    changed: Change | None = None
    """Whether that line is no longer what ran."""
    class_line: int = 0
    """Where ``row`` is a constructor, as some dumps have it: the line of its class, else ``line``."""


class LineOverRanks(NamedTuple):
    """A function's line over the ranks of a fleet, by the line itself."""

    function: str
    whole: WholeFleet
    peak: OverRanks | None
    total: OverRanks | None


class FunctionOverRanks(NamedTuple):
    """A function over the ranks of a fleet, with all of its lines."""

    most: OverRanks
    changed: bool


class LineFinding(NamedTuple):
    """A finding about a line, with what the line itself has at the peak in words; empty where that isn't known."""

    finding: SnapshotFinding
    at_peak: Text


PlacedStacks = PlacedLine[OpenSnapshot, SourceLine]
PlacedDefinition = PlacedLine[OpenSnapshot, HeapLine]
PlacedRanks = PlacedLine[OpenFleet, LineOverRanks]
PlacedFinding = PlacedLine[OpenSnapshot, LineFinding]


class PlacedLines:
    """Answers for the editor's documents, in the order in which snapshots were opened."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    async def stacks(self, document: Document, bound: BoundFile[OpenSnapshot]) -> list[PlacedStacks]:
        """All lines of a document that allocate in one snapshot, in the snapshot's order."""
        by_line = await self._rows(bound)
        state = await self._sources.state(document, bound.opened.name)
        return [_placed(bound, row, state) for rows in by_line.values() for row in rows if row.count]

    async def stacks_at(self, document: Document, line: int) -> list[PlacedStacks]:
        """The figures of open snapshots for a line, counted from 1 as it is in the editor now."""
        placed: list[PlacedStacks] = []
        for bound in await self._sources.bound_to(document):
            by_line = await self._rows(bound)
            moved = self._sources.moved_lines(document, bound.opened.name)
            rows = by_line.get(moved.there(line) - bound.skipped)
            if rows:
                # not for every file that the document may be, because it reads the disk in another thread
                state = await self._sources.state(document, bound.opened.name)
                placed += [_placed(bound, row, state) for row in rows]
        return placed

    async def _rows(self, bound: BoundFile[OpenSnapshot]) -> dict[int, list[SourceLine]]:
        try:
            return await bound.opened.lines_of(bound.file, self._sources.attribution)
        except MemlensError as error:
            logger.info("no totals of %s: %s", bound.file, error)
            return {}

    async def definitions(self, document: Document) -> list[PlacedDefinition]:
        """The classes and functions that a document defines, with their objects in each open heap dump."""
        placed: list[PlacedDefinition] = []
        for bound in await self._sources.bound_to(document):
            if heap_dump_of(bound.opened.info) is None:
                continue
            try:
                rows = (await bound.opened.definitions()).get(bound.file, [])
            except MemlensError as error:
                logger.info("no definitions of %s: %s", bound.file, error)
                continue
            if not rows:
                continue
            here = (await self._sources.state(document, bound.opened.name)).lines.here
            declaration = objects_of(bound.opened.info.kind).classes.declaration
            classes = (
                await asyncio.to_thread(_lines_of_classes, declaration, document.path, rows, bound.skipped)
                if declaration is not None and document.cell is None
                else {}
            )
            for row in rows:
                there = row.line + bound.skipped
                if line := here(there):
                    class_line = here(classes.get(row.line, there))
                    placed.append(PlacedLine(bound, row, line, class_line=class_line))
        return placed + await self._declared(document)

    async def definitions_at(self, document: Document, line: int) -> list[PlacedDefinition]:
        """Those on one line, and the classes that are declared on it."""
        return [each for each in await self.definitions(document) if line in (each.line, each.class_line)]

    async def _declared(self, document: Document) -> list[PlacedDefinition]:
        """Types that dumps know by name only."""
        path, suffix = document.path, Path(document.path).suffix.lower()
        dumps = [each for each in self._sources.snapshots() if suffix in suffixes_of(each.info.kind)]
        if not dumps or document.cell is not None:
            return []
        declared = await asyncio.to_thread(_declarations, path)

        def rows(snapshot: Snapshot) -> list[HeapLine]:
            numbers = _declared_types(snapshot)
            return [
                line_of_types(snapshot, alike, path, line)
                for name, line in declared.items()
                for alike in numbers.get(name, {}).values()
            ]

        placed: list[PlacedDefinition] = []
        for dump in dumps:
            bound = BoundFile(dump, path, Binding("exact", [path], path))
            try:
                placed += [
                    PlacedLine(bound, row, row.line, class_line=row.line) for row in await dump.ask(rows)
                ]
            except MemlensError as error:
                logger.info("no types of %s: %s", dump.title, error)
        return placed

    async def findings(self, document: Document) -> list[PlacedFinding]:
        """What findings of open snapshots say about a document's lines, the most important first; no notes."""
        placed: list[PlacedFinding] = []
        for bound in await self._sources.bound_to(document):
            try:
                own = [
                    (each, each.line)
                    for each in await findings_of(bound.opened)
                    if each.line is not None
                    and each.line.line
                    and each.line.file == bound.file
                    and not each.is_note
                ]
            except MemlensError as error:
                logger.info("no findings of %s: %s", bound.opened.title, error)
                continue
            if not own:
                continue
            state = await self._sources.state(document, bound.opened.name)
            rows = await self._rows(bound) if has_stacks(bound.opened.info) else {}
            for finding, link in own:
                there = link.line + bound.skipped
                row = LineFinding(finding, _at_peak(bound, finding, rows.get(link.line, [])))
                changed = state.changed(link.function, there)
                if line := state.lines.here(there):
                    placed.append(PlacedLine(bound, row, line, changed))
        return placed

    async def ranks_at(self, document: Document, line: int) -> list[PlacedRanks]:
        """The fleets' figures for a line, counted from 1 as it is in the editor now."""
        placed: list[PlacedRanks] = []
        for bound in await self._sources.fleets_of(document):
            state = await self._sources.state(document, bound.opened.name)
            there = state.lines.there(line)
            try:
                over = await bound.opened.file(bound.names)
                rows = [number for number, (own, _) in enumerate(over.lines) if own == there]
                peak, total = over.over(rows, "peak"), over.over(rows, "total")
                if peak is None and total is None:
                    continue
                function = over.lines[rows[0]][1]
                row = LineOverRanks(function, await bound.opened.whole(), peak, total)
                placed.append(PlacedLine(bound, row, line, state.changed(function, there)))
            except MemlensError as error:
                logger.info("no lines of %s: %s", bound.opened.path, error)
        return placed

    async def ranks(
        self, document: Document, at: At, least_share: float
    ) -> list[PlacedLine[OpenFleet, FunctionOverRanks]]:
        """The functions of a document to which at least this share of the largest rank's bytes is charged."""
        placed: list[PlacedLine[OpenFleet, FunctionOverRanks]] = []
        for bound in await self._sources.fleets_of(document):
            state = await self._sources.state(document, bound.opened.name)
            try:
                over = await bound.opened.file(bound.names)
                least = max(1.0, least_share * (await bound.opened.whole()).most_bytes(at))
            except MemlensError as error:
                logger.info("no functions of %s: %s", bound.opened.path, error)
                continue
            for function in state.by_function([(name, line) for line, name in over.lines]):
                most = over.over(function.rows, at)
                if most is not None and most.most_bytes >= least:
                    row = FunctionOverRanks(most, _is_changed(function, over, state))
                    placed.append(PlacedLine(bound, row, function.line))
        return placed


def _at_peak(bound: BoundFile[OpenSnapshot], finding: SnapshotFinding, rows: list[SourceLine]) -> Text:
    """What a line itself has at the peak, unless that is what its finding says."""
    amount = sum(row.self_live_at_peak_bytes for row in rows)
    is_said = finding.brief is None and abs(amount - finding.figure.amount) < 0.01 * amount
    if not amount or is_said:
        return Text("")
    figure = figure_of(bound.opened.info, "peak")
    return phrase("{amount} {figure}", amount=figure.say(amount), figure=figure.words)


def _placed(bound: BoundFile[OpenSnapshot], row: SourceLine, state: FileState) -> PlacedStacks:
    line = row.line + bound.skipped
    return PlacedLine(bound, row, state.lines.here(line), state.changed(row.function, line))


def _is_changed(function: FunctionRows, over: FileOverRanks, state: FileState) -> bool:
    return any(state.changed(function.function, over.lines[row][0]) for row in function.rows)


def _lines_of_classes(
    declaration: re.Pattern[str], path: str, rows: list[HeapLine], skipped: int
) -> dict[int, int]:
    """For each row of a constructor the line of its class: the nearest one above that has its name."""
    wanted = {row.name: row.line for row in rows if row.type is not None}
    found = {}
    for at, line in enumerate(text_of(path).splitlines(), 1):
        for name in declaration.findall(line):
            if name in wanted and at <= wanted[name] + skipped:
                found[wanted[name]] = at
    return found


def _declarations(path: str) -> dict[TypeName, int]:
    return {each.type: each.line for each in reversed(declarations(text_of(path)))}


@kept
def _declared_types(snapshot: Snapshot) -> dict[TypeName, dict[str, list[int]]]:
    """The types with instances, by the name that source may declare and their own: generic ones have several of these.

    Arrays and compiler-made types have none.
    """
    found: dict[TypeName, dict[str, list[int]]] = {}
    for number, name in enumerate(plain_type_names(snapshot)):
        wanted = None if is_array(name) or "$$" in name else type_name(snapshot.info.kind, name)
        if wanted is not None and name.replace("+", "$").split("$")[-1].split("<")[0].endswith(
            wanted.names[-1]
        ):
            found.setdefault(wanted, {}).setdefault(name, []).append(number)
    return found
