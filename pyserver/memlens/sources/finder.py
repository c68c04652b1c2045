"""Finds files of the workspace by base name or ending: asks the editor, which knows what is excluded, or walks the
folders.
"""

import asyncio
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from cachetools import TTLCache

from memlens.limits import FOUND_FILES_BYTES

logger = logging.getLogger(__name__)

AskClient = Callable[[list[str], str], Awaitable[list[str]]]
"""Base names, and an ending with which any base name matches; empty for none."""

KEPT_S = 30.0
"""How long an answer is reused."""

_NAMES_PER_QUESTION = 200
_CLIENT_TIMEOUT_S = 20.0
_WALK_LIMIT_S = 5.0
_WALK_LIMIT_FILES = 500_000
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "env"})


class Finder:
    """Base names to paths, remembered for KEPT_S."""

    def __init__(self) -> None:
        self.ask_client: AskClient | None = None
        """Set when the client can search; it may raise."""
        self.folders: list[Path] = []
        self._known: TTLCache[str, list[str]] = TTLCache(
            FOUND_FILES_BYTES, KEPT_S, time.monotonic, getsizeof=_size_of
        )
        """Answers by base name in lower case, and by ``/`` and an ending."""
        self._one_at_a_time = asyncio.Lock()

    def forget(self) -> None:
        """Forget all answers, because the workspace changed."""
        self._known.clear()

    async def find(self, names: Iterable[str]) -> dict[str, list[str]]:
        """All files with these base names in any case; the answer's keys are in lower case."""
        wanted = {name.lower(): name for name in names}
        found = self._known_of(wanted)
        missing = [name for key, name in wanted.items() if key not in found]
        for start in range(0, len(missing), _NAMES_PER_QUESTION):
            # One question at a time, so that the same name is never searched for twice at once, and a caller with few
            # names gets its turn between two questions of one with many.
            async with self._one_at_a_time:
                names_now = missing[start : start + _NAMES_PER_QUESTION]
                found |= self._known_of(map(str.lower, names_now))
                still = [name for name in names_now if name.lower() not in found]
                if still:
                    found |= await self._look_for(still)
        return found

    def _known_of(self, keys: Iterable[str]) -> dict[str, list[str]]:
        return {key: paths for key in keys if (paths := self._known.get(key)) is not None}

    def _keep(self, key: str, paths: list[str]) -> None:
        if _size_of(paths) <= FOUND_FILES_BYTES:
            self._known[key] = paths

    async def ending_with(self, ending: str) -> list[str]:
        """All files whose name has this ending (``.ipynb``)."""
        async with self._one_at_a_time:
            paths = self._known.get(f"/{ending}")
            if paths is None:
                paths = sorted(path for path in await self._search([], ending) if path.endswith(ending))
                self._keep(f"/{ending}", paths)
        return paths

    async def _search(self, names: list[str], ending: str = "") -> list[str]:
        if self.ask_client is not None:
            try:
                return await asyncio.wait_for(self.ask_client(names, ending), _CLIENT_TIMEOUT_S)
            except Exception as error:  # noqa: BLE001 - whatever the client answers, there is another way
                logger.warning("the client could not search its files (%r); searching here", error)
        return await asyncio.to_thread(walk, self.folders, {name.lower() for name in names}, ending)

    async def _look_for(self, names: list[str]) -> dict[str, list[str]]:
        paths = await self._search(names)
        found: dict[str, list[str]] = {name.lower(): [] for name in names}
        for path in paths:
            same_name = found.get(Path(path).name.lower())
            if same_name is not None:
                same_name.append(path)
        for key, same_name in found.items():
            self._keep(key, same_name)
        return found


def _size_of(paths: list[str]) -> int:
    """The size in bytes, with a key that is about as long as a path."""
    return 200 + sum(map(sys.getsizeof, paths)) + sys.getsizeof(paths)


def is_walked(folder: str) -> bool:
    """Whether a folder of this name is searched: hidden folders, environments and caches aren't."""
    return folder[0] != "." and folder not in _SKIPPED_FOLDERS


def walk(folders: Iterable[Path], names: set[str], ending: str = "") -> list[str]:
    """All files below ``folders`` whose base name in lower case is among ``names``, or has the ending.

    Time and the number of files are limited. Hidden folders, environments and caches are skipped, and links to folders
    are not followed.
    """
    found: list[str] = []
    deadline = time.monotonic() + _WALK_LIMIT_S
    seen = 0
    for folder in folders:
        for parent, children, files in os.walk(folder):
            children[:] = sorted(filter(is_walked, children))
            # Case is ignored here and decided when paths are compared, because file systems differ in whether it
            # matters.
            found += [
                str(Path(parent, name))
                for name in files
                if name.lower() in names or (ending and name.endswith(ending))
            ]
            seen += len(files)
            if seen > _WALK_LIMIT_FILES or time.monotonic() > deadline:
                logger.warning("the search for source files in %s was cut short after %d files", folder, seen)
                return found
    return found
