"""The user's settings, with the workspace's folders that they may refer to."""

import logging
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from memlens.formats import tools as reading
from memlens.packs.others import leave_out
from memlens.server.protocol.settings import Settings
from memlens.sources.binding import Places
from memlens.store.files.cache import Cache

logger = logging.getLogger(__name__)

_VARIABLE = re.compile(r"\$\{(workspaceFolder(?::(?P<folder>[^}]*))?|userHome)\}")


_OF_CACHE = ("cache_directory", "cache_limit_bytes", "symbol_folders")
"""The settings that the cache depends on."""


class Configuration:
    """The current settings. The functions in ``listeners`` are called after each change."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.folders: list[tuple[str, Path]] = []
        """The workspace's folders as pairs of name and path; two may have the same name."""
        self.listeners: list[Callable[[], None]] = []
        self.only_folders = False
        """Whether what a file refers to is looked for nowhere but in folders that the user named."""
        self._cache: Cache | None = None

    def replace(self, settings: Settings) -> None:
        """Replace all settings."""
        old, self.settings = self.settings, settings
        if any(getattr(old, name) != getattr(settings, name) for name in _OF_CACHE):
            self._cache = None
        self._changed()

    def remember(self, foreign: str, path: str) -> None:
        """Set which local file a foreign path means."""
        remembered = {**self.settings.remembered_paths, foreign: path}
        self.replace(msgspec.structs.replace(self.settings, remembered_paths=remembered))

    def set_folders(self, folders: Iterable[tuple[str, Path]]) -> None:
        """Replace the workspace's folders, given as pairs of name and path."""
        self.folders = list(folders)
        leave_out(path for _, path in self.folders)
        # its folders of binaries may begin with one of these
        self._cache = None
        self._changed()

    @property
    def cache(self) -> Cache:
        """The cache of archives, in the folder that the settings name.

        Raises :class:`~memlens.store.files.cache_folder.NoCacheFolderError` if they name none and there is none.
        """
        if self._cache is None:
            tools = reading.Tools.of_environment().with_symbols(self.symbol_folders)
            tools = tools._replace(only_folders=self.only_folders)
            cache = Cache(self.cache_folder, self.settings.cache_limit_bytes, tools=tools)
            if cache.warning is not None:
                logger.warning("%s", cache.warning)
            self._cache = cache
        return self._cache

    @property
    def cache_folder(self) -> Path | None:
        """The folder of the archives; None for the user's cache folder."""
        value = self.settings.cache_directory.strip()
        return self.expand(value) if value else None

    @property
    def symbol_folders(self) -> list[Path]:
        """``symbol_folders`` with their variables filled in, without those that name an unknown folder."""
        expanded = map(self.expand, self.settings.symbol_folders)
        return [path for path in expanded if path is not None]

    @property
    def source_archives(self) -> list[Path]:
        """``source_archives`` with their variables filled in, without those in an unknown folder."""
        expanded = map(self.expand, self.settings.source_archives)
        return [path for path in expanded if path is not None]

    @property
    def class_places(self) -> list[Path]:
        """Where classes are looked for first: the places in ``source_archives``, and the workspace's folders."""
        return [*self.source_archives, *(folder for _, folder in self.folders)]

    @property
    def mappings(self) -> dict[str, Path]:
        """``path_mappings`` with their variables filled in, without those that name an unknown folder."""
        expanded = {prefix: self.expand(value) for prefix, value in self.settings.path_mappings.items()}
        return {prefix: path for prefix, path in expanded.items() if path is not None}

    def places(self) -> Places:
        """Where the files that a snapshot names are looked for."""
        return Places(self.mappings, self.settings.remembered_paths, [path for _, path in self.folders])

    def expand(self, value: str) -> Path | None:
        """Fill in ``${workspaceFolder}``, ``${workspaceFolder:name}`` and ``${userHome}``.

        A relative path is relative to the first workspace folder. Returns None for an unknown folder.
        """
        first = self.folders[0][1] if self.folders else None
        missing = False

        def folder(match: re.Match[str]) -> str:
            nonlocal missing
            if match[0] == "${userHome}":
                return str(Path.home())
            name = match["folder"]
            found = first if name is None else next((path for own, path in self.folders if own == name), None)
            missing = missing or found is None
            return str(found)

        text = _VARIABLE.sub(folder, value)
        if missing:
            return None
        path = Path(text).expanduser()
        if path.is_absolute():
            return path
        return None if first is None else first / path

    def _changed(self) -> None:
        for listener in self.listeners:
            listener()
