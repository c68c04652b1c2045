"""Binds the paths in a snapshot to local files: by the user's settings, by the path itself, by a search for base
names.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from memlens.sources.cells import cell_name
from memlens.sources.finder import Finder
from memlens.sources.in_place import as_it_stands, is_file
from memlens.sources.paths import ForeignPath, best_matches, mapped, parse

How = Literal["mapping", "remembered", "exact", "suffix", "ambiguous", "none", "cell"]


class Binding(NamedTuple):
    """The local files that a foreign path may mean: one, several if it is ambiguous, or none."""

    how: How
    paths: list[str]
    looked_for: str
    components: int = 0
    """How many components of both paths agree, if that decided."""

    @property
    def by_name_only(self) -> bool:
        """Only the base name matched."""
        return self.how in ("suffix", "ambiguous") and self.components == 1


class Places(NamedTuple):
    """The user's settings about where files are."""

    mappings: Mapping[str, Path]
    """Prefixes of foreign paths, with the local folder of each."""
    remembered: Mapping[str, str]
    """Foreign paths, with the local file that the user chose for each."""
    folders: list[Path]
    """The folders of the workspace."""


class Searched(NamedTuple):
    """A path that only a search of the workspace can find; ``looked_for`` is where it should have been."""

    foreign: ForeignPath
    looked_for: str

    @property
    def name(self) -> str:
        """The base name to search for."""
        return self.foreign.name.lower()


class Binder:
    """Binds foreign paths. ``places`` returns the settings in force."""

    def __init__(self, finder: Finder, places: Callable[[], Places]) -> None:
        self._finder = finder
        self._places = places

    async def bind(self, files: Iterable[str]) -> dict[str, Binding]:
        """Bind each of ``files``, with one search for all base names."""
        bindings, unknown = await self.without_search(files)
        return bindings | await self.search(unknown)

    async def without_search(self, files: Iterable[str]) -> tuple[dict[str, Binding], dict[str, Searched]]:
        """The bindings that need no search, from settings and the disk, and the files that need one."""
        return await asyncio.to_thread(_without_search, list(files), self._places())

    async def search(self, unknown: Mapping[str, Searched]) -> dict[str, Binding]:
        """Bind by the base names that the workspace has."""
        if not unknown:
            return {}
        by_name = await self._finder.find(searched.foreign.name for searched in unknown.values())
        return await asyncio.to_thread(_match_all, unknown, by_name)


def _without_search(files: list[str], places: Places) -> tuple[dict[str, Binding], dict[str, Searched]]:
    bindings: dict[str, Binding] = {}
    unknown: dict[str, Searched] = {}
    for file in files:
        if cell_name(file) is not None:
            bindings[file] = Binding("cell", [], file)
            continue
        foreign = parse(file)
        if foreign is None:
            bindings[file] = Binding("none", [], file)
            continue
        mapped_to = mapped(foreign, places.mappings)
        binding = _known(foreign, mapped_to, places.remembered.get(file), places.folders)
        if binding is None:
            unknown[file] = Searched(foreign, str(mapped_to[0]) if mapped_to else file)
        else:
            bindings[file] = binding
    return bindings, unknown


def _known(
    foreign: ForeignPath, mapped_to: list[Path], remembered: str | None, folders: list[Path]
) -> Binding | None:
    for path in mapped_to:
        if is_file(path):
            return Binding("mapping", [str(path)], str(path))
    if remembered is not None and is_file(Path(remembered)):
        return Binding("remembered", [remembered], foreign.text)
    for path in as_it_stands(foreign, folders):
        if is_file(path):
            return Binding("exact", [str(path)], foreign.text)
    return None


def _match_all(unknown: Mapping[str, Searched], by_name: dict[str, list[str]]) -> dict[str, Binding]:
    bindings: dict[str, Binding] = {}
    for file, searched in unknown.items():
        match = best_matches(searched.foreign, by_name.get(searched.name, []))
        paths = [path for path in match.paths if is_file(Path(path))]
        how: How = "none" if not paths else "suffix" if len(paths) == 1 else "ambiguous"
        bindings[file] = Binding(how, paths, searched.looked_for, match.components if paths else 0)
    return bindings
