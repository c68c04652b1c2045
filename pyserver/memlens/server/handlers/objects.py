"""From objects, types and fields to their source here."""

import re
from pathlib import Path

from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError
from memlens.server.language import spoken
from memlens.server.placed_lines import PlacedLines
from memlens.server.protocol.libraries import DeclaredType
from memlens.server.protocol.objects import HeapAtParams, HeapAtResult, ObjectSourceParams, ObjectSourceResult
from memlens.server.protocol.sources import Document
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.sources import Sources
from memlens.server.wire import answer
from memlens.sources.declarations import language_of, type_name
from memlens.sources.finder import Finder
from memlens.sources.type_finder import FoundType, below, find_type, searched_for
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.heap.objects.rows import type_names
from memlens.views.heap.objects.sources import (
    DumpSource,
    allocation_of_type,
    source_of_object,
    source_of_type,
)
from memlens.views.selection.terms import in_quotes


def register(
    server: LanguageServer,
    configuration: Configuration,
    registry: Registry,
    sources: Sources,
    lines: PlacedLines,
    finder: Finder,
) -> None:
    """Register the request for the source of an object or a type."""

    def one_if_chosen(name: str, found: list[FoundType]) -> list[FoundType]:
        chosen = configuration.settings.remembered_paths.get(name)
        return [each for each in found if each.path == chosen] or found

    async def object_source(params: ObjectSourceParams) -> ObjectSourceResult:
        opened = registry.get(params.snapshot)
        name = params.declared
        known = (
            DumpSource("type", "", 0, "", name)
            if name
            else await opened.ask(lambda snapshot: _source_of(snapshot, params))
        )
        is_type, kind = known.relation == "type", opened.info.kind
        found = one_if_chosen(known.type, await find_type(finder, kind, known.type)) if is_type else []
        declared = _declared_type(kind, known.type) if is_type and not found else None
        searched = searched_for(finder.folders, kind, known.type) if is_type else []
        if known.file and not found:
            here = await sources.located(params.snapshot, known.file, known.line)
            name = known.file.replace("\\", "/").rpartition("/")[2]
            searched = searched or [
                Text(here.looked_for),
                phrase("files called {name} {below}", name=name, below=below(finder.folders)),
            ]
            return ObjectSourceResult(
                known.relation, here.path, here.line, here.candidates, known.file, known.function, known.type,
                here.how, [spoken(each) for each in searched], here.changed, None if here.candidates else declared,
            )  # fmt: skip
        only = found[0] if len(found) == 1 else None
        return ObjectSourceResult(
            known.relation, only.path if only else None, found[0].line if found else 0,
            [each.path for each in found], "", "", known.type,
            "none" if not found else "suffix" if only else "ambiguous",
            [spoken(each) for each in searched], None, declared,
        )  # fmt: skip

    async def heap_at(params: HeapAtParams) -> HeapAtResult:
        opened = registry.get(params.snapshot)
        rows = (await opened.definitions()).get(params.file, [])
        if not rows and Path(params.file).is_absolute():
            document = Document(params.file, None)
            rows = [each.row for each in await lines.definitions(document) if each.bound.opened is opened]
        found = next((row for row in rows if row.line == params.line), None)
        if found is None:
            return HeapAtResult(None, None)
        if found.type is not None and found.types == 1:
            return HeapAtResult(found.type, None)
        if found.type is not None:
            # one without a loader is called by the name alone, by which only that one is meant
            is_ones = await opened.ask(lambda snapshot: found.name in type_names(snapshot))
            wanted = rf"/^{re.escape(found.name)}($| \()/" if is_ones else f"={found.name}"
            return HeapAtResult(None, f"type:{in_quotes(wanted)}")
        # strings and other objects may have a function's name
        kinds = await opened.ask(lambda snapshot: snapshot.graph_names.type_kinds)
        kind = "kind:closure " if "closure" in kinds else ""
        return HeapAtResult(None, f"{kind}name:{in_quotes(f'={found.name}')}")

    answer(server, "memlens/objectSource", object_source)
    answer(server, "memlens/heapAt", heap_at, of_view=True, name=phrase("the objects of a line"))


def _declared_type(kind: str, name: str) -> DeclaredType | None:
    """A type of a dump of ``kind`` as language extensions know it; None if no source can declare it."""
    wanted = type_name(kind, name)
    return DeclaredType(language_of(kind), wanted.symbol) if wanted else None


def _source_of(snapshot: Snapshot, params: ObjectSourceParams) -> DumpSource:
    if params.object is not None:
        return source_of_object(snapshot, params.object)
    if params.type is not None:
        known = source_of_type(snapshot, params.type)
        if known.relation == "definition" or type_name(graph_of(snapshot.info).kind, known.type) is not None:
            return known
        # files can't be searched for its class
        return allocation_of_type(snapshot, params.type) or known
    raise BadRequestError(phrase("The request names neither an object nor a type"))
