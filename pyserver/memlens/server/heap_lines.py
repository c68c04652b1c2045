"""Figures of open heap dumps for the classes and functions that a document defines."""

import asyncio
import logging
import re
from pathlib import Path
from typing import NamedTuple

from memlens.errors import MemlensError
from memlens.model.graph import is_array
from memlens.packs.registry import objects_of
from memlens.server.protocol.sources import Document
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.server.sources import Sources
from memlens.sources.declarations import TypeName, declarations, suffixes_of, text_of, type_name
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase, plural
from memlens.units import format_bytes, plain_name
from memlens.views.heap.objects.lines import HeapLine, line_of_types
from memlens.views.heap.objects.rows import plain_type_names

logger = logging.getLogger(__name__)


class PlacedDefinition(NamedTuple):
    """A definition of one dump, and where it is in the editor now; ``line`` counts from 1.

    ``class_line`` is the line of the class if ``line`` is its constructor's, as some dumps have it; else the same.
    """

    snapshot: OpenSnapshot
    row: HeapLine
    line: int
    class_line: int

    @property
    def words(self) -> Text:
        """The figures as text: "10,466 instances, 212 MiB retained, 3.00 MiB shallow"."""
        row = self.row
        objects = (
            phrase(plural(row.count, "{n} closure", "{n} closures"), n=row.count)
            if row.type is None
            else phrase(plural(row.count, "{n} instance", "{n} instances"), n=row.count)
        )
        if row.types > 1:
            objects = phrase("{objects} of {n} types", objects=objects, n=row.types)
        return phrase(
            "{objects}, {retained} retained, {shallow} shallow",
            objects=objects,
            retained=format_bytes(row.retained_bytes),
            shallow=format_bytes(row.shallow_bytes),
        )

    @property
    def name(self) -> str:
        """Its name in the dump, escaped for display."""
        return plain_name(self.row.name)


class HeapLines:
    """Answers for the editor's documents."""

    def __init__(self, registry: Registry, sources: Sources) -> None:
        self._registry = registry
        self._sources = sources

    async def placed(self, document: Document) -> list[PlacedDefinition]:
        """The definitions of a document in all open heap dumps, in the order in which the dumps were opened."""
        found: list[PlacedDefinition] = []
        for bound in await self._sources.bound_to(document):
            if heap_dump_of(bound.snapshot.info) is None:
                continue
            try:
                rows = (await bound.snapshot.definitions()).get(bound.file, [])
            except MemlensError as error:
                logger.info("no definitions of %s: %s", bound.file, error)
                continue
            if not rows:
                continue
            state = await self._sources.state(document, bound)
            declaration = objects_of(bound.snapshot.info.kind).classes.declaration
            classes = (
                await asyncio.to_thread(_lines_of_classes, declaration, document.path, rows, bound.skipped)
                if declaration is not None and document.cell is None
                else {}
            )
            for row in rows:
                line = state.lines.here(row.line + bound.skipped)
                if line:
                    of_class = state.lines.here(classes.get(row.line, row.line + bound.skipped))
                    found.append(PlacedDefinition(bound.snapshot, row, line, of_class))
        return found + await self._declared(document)

    async def at(self, document: Document, line: int) -> list[PlacedDefinition]:
        """Those on one line, and the classes that are declared on it."""
        return [each for each in await self.placed(document) if line in (each.line, each.class_line)]

    async def _declared(self, document: Document) -> list[PlacedDefinition]:
        """Types for which dumps have only names."""
        suffix = Path(document.path).suffix.lower()
        dumps = [each for each in self._registry.snapshots() if suffix in suffixes_of(each.info.kind)]
        if not dumps or document.cell is not None:
            return []
        declared = await asyncio.to_thread(_declarations, document.path)
        found = []
        for dump in dumps:
            kind = dump.info.kind

            def known(snapshot: Snapshot, kind: str = kind) -> list[HeapLine]:
                numbers = _named(snapshot, kind)
                return [
                    line_of_types(snapshot, alike, document.path, line)
                    for name, line in declared.items()
                    for alike in numbers.get(name, {}).values()
                ]

            try:
                found += [PlacedDefinition(dump, row, row.line, row.line) for row in await dump.ask(known)]
            except MemlensError as error:
                logger.info("no types of %s: %s", dump.title, error)
        return found


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


def _named(snapshot: Snapshot, kind: str) -> dict[TypeName, dict[str, list[int]]]:
    """The types with instances, by the name that source may declare and their own: generic ones have several of these.

    Arrays and compiler-made types have none.
    """

    def make() -> dict[TypeName, dict[str, list[int]]]:
        found: dict[TypeName, dict[str, list[int]]] = {}
        for number, name in enumerate(plain_type_names(snapshot)):
            wanted = None if is_array(name) or "$$" in name else type_name(kind, name)
            if wanted is not None and name.replace("+", "$").split("$")[-1].split("<")[0].endswith(
                wanted.names[-1]
            ):
                found.setdefault(wanted, {}).setdefault(name, []).append(number)
        return found

    return snapshot.keep("declared types", make)
