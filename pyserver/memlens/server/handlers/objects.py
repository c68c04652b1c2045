"""From objects and types of heap dumps to their source here."""

from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError
from memlens.server.protocol.objects import ObjectSourceParams, ObjectSourceResult
from memlens.server.sessions.registry import Registry
from memlens.server.sources import Sources
from memlens.server.wire import answer
from memlens.sources.finder import Finder
from memlens.sources.type_finder import find_type
from memlens.store.snapshot import Snapshot
from memlens.views.graph.sources import DumpSource, source_of_object, source_of_type


def register(server: LanguageServer, registry: Registry, sources: Sources, finder: Finder) -> None:
    """Answer where the source of an object or a type is."""

    async def object_source(params: ObjectSourceParams) -> ObjectSourceResult:
        opened = registry.get(params.snapshot)
        known = await opened.ask(lambda snapshot: _source_of(snapshot, params))
        found = await find_type(finder, opened.info.kind, known.type) if known.relation == "type" else []
        if known.file and not found:
            here = await sources.located(params.snapshot, known.file, known.line)
            return ObjectSourceResult(
                known.relation, here.path, here.line, here.candidates, known.file, known.function, known.type,
                here.how, here.looked_for, here.changed,
            )  # fmt: skip
        only = found[0] if len(found) == 1 else None
        return ObjectSourceResult(
            known.relation, only.path if only else None, found[0].line if found else 0,
            [each.path for each in found], "", "", known.type,
            "none" if not found else "suffix" if only else "ambiguous", known.type, None,
        )  # fmt: skip

    answer(server, "memlens/objectSource", object_source)


def _source_of(snapshot: Snapshot, params: ObjectSourceParams) -> DumpSource:
    if params.object is not None:
        return source_of_object(snapshot, params.object)
    if params.type is not None:
        return source_of_type(snapshot, params.type)
    raise BadRequestError("The request names neither an object nor a type")
