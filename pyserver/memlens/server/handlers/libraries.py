"""The source of library types: in archives on this machine, and in texts that language extensions have."""

import asyncio
import threading
from pathlib import Path

from pygls.lsp.server import LanguageServer

from memlens.server.language import spoken
from memlens.server.protocol.libraries import (
    ArchivedTextParams,
    ArchivedTextResult,
    DeclarationParams,
    DeclarationResult,
    LibrarySource,
    LibrarySourceResult,
    TypeParams,
)
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.wire import answer
from memlens.sources.archives import Archived, Archives, Found, text_of
from memlens.sources.declarations import TypeName, line_of, type_name
from memlens.sources.type_finder import some_of
from memlens.texts import Text, phrase, plural

_MOST_PLACES = 5
_NAMES = "*-sources.jar, src.zip"


def register(server: LanguageServer, configuration: Configuration, registry: Registry) -> None:
    """Register the requests for the source of library types. The archives are listed once a Java dump is open."""
    archives = Archives(lambda: configuration.source_archives)

    def wanted_type(snapshot: str, name: str) -> tuple[str, TypeName | None]:
        kind = registry.get(snapshot).info.kind
        return kind, type_name(kind, name)

    async def library_source(params: TypeParams) -> LibrarySourceResult:
        kind, wanted = wanted_type(params.snapshot, params.type)
        if wanted is None:
            return LibrarySourceResult(None, [], "", "")
        stop = threading.Event()
        try:
            found = await asyncio.to_thread(archives.find, kind, wanted, stop)
        finally:
            stop.set()
        declared = _chosen(found.declared, configuration.settings.remembered_paths)
        if len(declared) == 1:
            archive, member, line, _ = declared[0]
            return LibrarySourceResult(LibrarySource(str(archive), member, line), [], "", "")
        artifact = declared[0].artifact if declared else ""
        return LibrarySourceResult(
            None, [str(each.archive) for each in declared], artifact, spoken(searched_in(found))
        )

    async def archived_text(params: ArchivedTextParams) -> ArchivedTextResult:
        return ArchivedTextResult(await asyncio.to_thread(text_of, Path(params.archive), params.member))

    async def declaration(params: DeclarationParams) -> DeclarationResult:
        _, wanted = wanted_type(params.snapshot, params.type)
        return DeclarationResult(
            0 if wanted is None else await asyncio.to_thread(line_of, params.text, wanted)
        )

    def snapshots_changed() -> None:
        if any(snapshot.info.kind == "hprof" for snapshot in registry.snapshots()):
            archives.begin()

    registry.listeners.append(snapshots_changed)
    configuration.listeners.append(archives.settings_changed)
    answer(server, "memlens/librarySource", library_source)
    answer(server, "memlens/archivedText", archived_text)
    answer(server, "memlens/declaration", declaration)


def _chosen(declared: list[Archived], remembered: dict[str, str]) -> list[Archived]:
    """Those that the user chose before among versions of an artifact; all if none was."""
    chosen = [each for each in declared if remembered.get(each.artifact) == str(each.archive)]
    return chosen[:1] or declared


def searched_in(found: Found) -> Text:
    """In which archives a type was searched for, for a message."""
    if not found.places:
        return phrase(
            "archives of source ({names}), of which this machine has none in the usual places", names=_NAMES
        )
    archives = phrase(
        plural(
            found.searched,
            "{n} archive of source ({names}) in {places}",
            "{n} archives of source ({names}) in {places}",
        ),
        n=found.searched,
        names=_NAMES,
        places=some_of(found.places, _MOST_PLACES),
    )
    return (
        archives if found.complete else phrase("{archives}, before the search was ended", archives=archives)
    )
