"""The source of library types: in archives, in files of the workspace, and in texts that language extensions have."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from pygls.lsp.server import LanguageServer

from memlens.packs import registry as packs
from memlens.server.language import spoken
from memlens.server.protocol.base import Done
from memlens.server.protocol.libraries import (
    ArchivedTextParams,
    ArchivedTextResult,
    DeclarationParams,
    DeclarationResult,
    LibrariesChangedParams,
    LibraryClassResult,
    LibrarySource,
    LibrarySourceResult,
    LocalSource,
    TypeParams,
)
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.wire import answer
from memlens.sources.archives import DAMAGED, Archived, Archives, Found
from memlens.sources.declarations import TypeName, is_of_package, line_of, type_name
from memlens.sources.declarations import text_of as text_of_file
from memlens.sources.finder import Finder
from memlens.sources.type_finder import some_of
from memlens.texts import Text, phrase, plural

_MOST_PLACES = 5
NOTHING = Text("")


def register(
    server: LanguageServer, configuration: Configuration, registry: Registry, finder: Finder
) -> None:
    """Register the requests for the source of library types.

    The archives of source are listed once a dump is open whose types they may declare, those of classes when a class
    without source is asked.
    """
    libraries = _Libraries(configuration, registry, finder)

    def snapshots_changed() -> None:
        if any(packs.has_library_archives(snapshot.info.kind) for snapshot in registry.snapshots()):
            libraries.sources.begin()

    registry.listeners.append(snapshots_changed)
    configuration.listeners.append(libraries.sources.settings_changed)
    configuration.listeners.append(libraries.classes.settings_changed)
    answer(server, "memlens/librariesChanged", libraries.changed)
    answer(server, "memlens/librarySource", libraries.source)
    answer(server, "memlens/libraryClass", libraries.class_file)
    answer(server, "memlens/archivedText", libraries.text)
    answer(server, "memlens/declaration", libraries.declaration)


class _Libraries:
    """Answers of the archives of this machine."""

    def __init__(self, configuration: Configuration, registry: Registry, finder: Finder) -> None:
        self._configuration = configuration
        self._registry = registry
        self._finder = finder
        self._known = known = packs.library_archives()
        self.sources = Archives(known.SOURCES, lambda: configuration.source_archives, known.of_source)
        self.classes = Archives(known.CLASSES, lambda: configuration.class_places, known.of_classes)

    async def changed(self, _: LibrariesChangedParams) -> Done:
        for archives in (self.sources, self.classes):
            archives.changed()
        return Done()

    async def source(self, params: TypeParams) -> LibrarySourceResult:
        kind, wanted = self._type(params.snapshot, params.type)
        if wanted is None:
            return _result([])
        with _stopped_at_last() as stop:
            found = await asyncio.to_thread(self.sources.find, kind, wanted, stop)
        declared = self._chosen(found.declared)
        if len(declared) == 1:
            return _result([], found=declared[0])
        return _result(declared, looked_for=searched_in(found))

    async def class_file(self, params: TypeParams) -> LibraryClassResult:
        kind, wanted = self._type(params.snapshot, params.type)
        if wanted is None or not packs.has_library_archives(kind):
            return LibraryClassResult(None, "")
        with _stopped_at_last() as stop:
            found = await asyncio.to_thread(self.classes.find, kind, wanted, stop)
        for own in found.declared:
            local = await self._local(own, wanted)
            if local is not None:
                return LibraryClassResult(local, "")
        return LibraryClassResult(None, spoken(searched_for_classes(found)))

    async def _local(self, own: Archived, wanted: TypeName) -> LocalSource | None:
        """The file of the workspace that a class was compiled from, if it has the class' package and is the only one.

        It is called otherwise than the class and doesn't declare it, as a file that names its class itself does.
        """
        try:
            name, line = await asyncio.to_thread(self._known.compiled_from, own.archive, own.member, wanted)
        except (*DAMAGED, KeyError):
            return None
        paths = (await self._finder.find([name])).get(name.lower(), []) if name else []
        texts = await asyncio.to_thread(lambda: [text_of_file(path) for path in paths])
        found = [path for path, text in zip(paths, texts, strict=True) if is_of_package(text, wanted.package)]
        return LocalSource(found[0], line) if len(found) == 1 else None

    async def text(self, params: ArchivedTextParams) -> ArchivedTextResult:
        return ArchivedTextResult(
            await asyncio.to_thread(self._known.text_of, Path(params.archive), params.member)
        )

    async def declaration(self, params: DeclarationParams) -> DeclarationResult:
        _, wanted = self._type(params.snapshot, params.type)
        return DeclarationResult(
            0 if wanted is None else await asyncio.to_thread(line_of, params.text, wanted)
        )

    def _type(self, snapshot: str, name: str) -> tuple[str, TypeName | None]:
        kind = self._registry.get(snapshot).info.kind
        return kind, type_name(kind, name)

    def _chosen(self, declared: list[Archived]) -> list[Archived]:
        """The archive that the user chose before, by the name of the first; all of them if there was no choice."""
        remembered = self._configuration.settings.remembered_paths
        return [
            each for each in declared if remembered.get(declared[0].artifact) == str(each.archive)
        ] or declared


@contextlib.contextmanager
def _stopped_at_last() -> Iterator[threading.Event]:
    """An event that is set at the end, also when the request is cancelled while a thread still works for it."""
    stop = threading.Event()
    try:
        yield stop
    finally:
        stop.set()


def _result(
    declared: list[Archived], *, found: Archived | None = None, looked_for: Text = NOTHING
) -> LibrarySourceResult:
    if found is not None:
        return LibrarySourceResult(LibrarySource(str(found.archive), found.member, found.line), [], "", "")
    artifact = declared[0].artifact if declared else ""
    archives = [str(each.archive) for each in declared]
    return LibrarySourceResult(None, archives, artifact, spoken(looked_for))


def searched_in(found: Found) -> Text:
    """The archives of source that were searched for a type, for a message."""
    names = packs.library_archives().SOURCES.said
    if not found.places:
        return phrase("source archives ({names}; this machine has none in the usual places)", names=names)
    archives = phrase(
        plural(
            found.searched,
            "{n} source archive ({names}) in {places}",
            "{n} source archives ({names}) in {places}",
        ),
        n=found.searched,
        names=names,
        places=some_of(found.places, _MOST_PLACES),
    )
    return _ended(found, archives)


def searched_for_classes(found: Found) -> Text:
    """The jars and folders that were searched for a class file, for a message."""
    if not found.places:
        return phrase("jars (this machine has none in the usual places)")
    archives = phrase(
        plural(
            found.searched,
            "{n} jar or folder of class files in {places}",
            "{n} jars and folders of class files in {places}",
        ),
        n=found.searched,
        places=some_of(found.places, _MOST_PLACES),
    )
    return _ended(found, archives)


def _ended(found: Found, archives: Text) -> Text:
    return (
        archives if found.complete else phrase("{archives}, before the search was stopped", archives=archives)
    )
