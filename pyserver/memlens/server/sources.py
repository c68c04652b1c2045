"""Binds the paths in snapshots to the files here, one at a time for the view and all at once for hovers."""

import asyncio
import logging
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from memlens.errors import MemlensError
from memlens.server.finder import KEPT_S, Finder
from memlens.server.paths import ForeignPath, best_matches, mapped, parse
from memlens.server.protocol.sources import ShowLineArguments
from memlens.server.registry import OpenSnapshot, Registry
from memlens.server.settings import Configuration
from memlens.views import lines
from memlens.views.answers import SourceLine

logger = logging.getLogger(__name__)

How = Literal["mapping", "remembered", "exact", "suffix", "ambiguous", "none"]


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


def show_line(bound: BoundFile, row: SourceLine) -> ShowLineArguments:
    """What makes the editor show the allocations of a line."""
    return ShowLineArguments(bound.snapshot.name, bound.snapshot.path, row.file, row.line)


class Sources:
    """Resolves foreign paths, and keeps for each local file what open snapshots say about it.

    The index is made in the background after a snapshot opens, so that a hover is a look-up. When it grows
    old, the next hover has it made again but doesn't wait.
    """

    def __init__(self, configuration: Configuration, registry: Registry, finder: Finder) -> None:
        self._configuration = configuration
        self._registry = registry
        self._finder = finder
        self._index: dict[str, list[BoundFile]] = {}
        self._indexed: set[str] = set()
        """Names of the snapshots that the index knows."""
        self._made_at = 0.0
        self._making: asyncio.Task[None] | None = None
        self._again = False
        configuration.listeners.append(self.invalidate)
        registry.listeners.append(self._snapshots_changed)

    async def resolve(self, file: str) -> Binding:
        """Find one foreign path's file."""
        return (await self._resolve_all([file]))[file]

    async def bound_to(self, path: str) -> list[BoundFile]:
        """What open snapshots may mean by the file ``path``, in the order in which they were opened."""
        if any(snapshot.name not in self._indexed for snapshot in self._registry.snapshots()):
            await self.settled()
        elif time.monotonic() - self._made_at > KEPT_S:
            self.refresh()
        found = self._index.get(_key(path))
        if found is None:
            found = self._index.get(_key(await asyncio.to_thread(os.path.realpath, path)), [])
        return found

    async def rows_at(self, path: str, line: int) -> list[tuple[BoundFile, SourceLine]]:
        """What open snapshots say about a line (counted from 1) of the file ``path``."""
        found: list[tuple[BoundFile, SourceLine]] = []
        for bound in await self.bound_to(path):
            try:
                rows = (await bound.snapshot.lines_of(bound.file)).get(line, [])
            except MemlensError as error:
                logger.info("no totals of %s: %s", bound.file, error)
                continue
            found += [(bound, row) for row in rows]
        return found

    def invalidate(self) -> None:
        """Settings, choices or workspace folders changed."""
        self._finder.folders = [path for _, path in self._configuration.folders]
        self._finder.forget()
        self.refresh()

    def refresh(self) -> None:
        """Make the index again, in the background."""
        if not len(self._registry):
            return
        if self._making is not None:
            self._again = True
            return
        self._making = asyncio.get_running_loop().create_task(self._make_index())

    async def settled(self) -> None:
        """Wait until the index says what is known now."""
        while self._making is not None:
            await asyncio.shield(self._making)

    def _snapshots_changed(self) -> None:
        names = {snapshot.name for snapshot in self._registry.snapshots()}
        if self._indexed - names:
            self._indexed &= names
            pruned = {
                path: [bound for bound in files if bound.snapshot.name in names]
                for path, files in self._index.items()
            }
            self._index = {path: files for path, files in pruned.items() if files}
        if names - self._indexed:
            self.refresh()

    async def _make_index(self) -> None:
        try:
            while True:
                self._again = False
                snapshots = self._registry.snapshots()
                self._index = await self._make(snapshots)
                self._indexed = {snapshot.name for snapshot in snapshots}
                self._made_at = time.monotonic()
                self._snapshots_changed()  # some may have gone meanwhile
                if not self._again:
                    return
        except Exception:
            logger.exception("the files of the open snapshots could not be bound to files here")
        finally:
            self._making = None

    async def _make(self, snapshots: list[OpenSnapshot]) -> dict[str, list[BoundFile]]:
        files: dict[OpenSnapshot, list[str]] = {}
        for snapshot in snapshots:
            try:
                files[snapshot] = await snapshot.ask(lines.source_files)
            except MemlensError as error:
                logger.info("the source files of %s can't be told: %s", snapshot.title, error)
        bindings = await self._resolve_all({file for names in files.values() for file in names})
        index: dict[str, list[BoundFile]] = {}
        for snapshot, names in files.items():
            for file in names:
                binding = bindings[file]
                for path in binding.paths:
                    index.setdefault(_key(path), []).append(BoundFile(snapshot, file, binding))
        return index

    async def _resolve_all(self, files: Iterable[str]) -> dict[str, Binding]:
        """Bind each of ``files``, asking for all of their base names at once."""
        bindings, unknown = await asyncio.to_thread(self._resolve_known, list(files))
        if unknown:
            by_name = await self._finder.find({searched.foreign.name for searched in unknown.values()})
            bindings |= await asyncio.to_thread(_match_all, unknown, by_name)
        return bindings

    def _resolve_known(self, files: list[str]) -> tuple[dict[str, Binding], dict[str, "_Searched"]]:
        """What settings and disk tell without a search, and the rest. Not for the event loop."""
        mappings = self._configuration.mappings
        remembered = self._configuration.settings.remembered_paths
        folders = [path for _, path in self._configuration.folders]
        bindings: dict[str, Binding] = {}
        unknown: dict[str, _Searched] = {}
        for file in files:
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


def _key(path: str) -> str:
    return os.path.normcase(os.path.normpath(path))
