"""Finds files of the workspace by base name or ending: asks the editor, which knows what is excluded, or walks."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

logger = logging.getLogger(__name__)

AskClient = Callable[[list[str], str], Awaitable[list[str]]]
"""Base names, and an ending that makes any base name right, or nothing."""

KEPT_S = 30.0
"""How long an answer is taken for true."""

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
        self._known: dict[str, tuple[float, list[str]]] = {}
        self._by_ending: dict[str, tuple[float, list[str]]] = {}
        self._one_at_a_time = asyncio.Lock()

    def forget(self) -> None:
        """The workspace changed."""
        self._known.clear()
        self._by_ending.clear()

    async def find(self, names: Iterable[str]) -> dict[str, list[str]]:
        """All files with these base names, whatever their case; the answer's keys are in lower case."""
        wanted = {name.lower(): name for name in names}
        missing = self._missing(wanted)
        for start in range(0, len(missing), _NAMES_PER_QUESTION):
            # One question at a time, so that the same name is never looked for twice at once, and who has
            # few names gets its turn between two questions of who has many.
            async with self._one_at_a_time:
                names_now = missing[start : start + _NAMES_PER_QUESTION]
                still = self._missing({name.lower(): name for name in names_now})
                if still:
                    await self._look_for(still)
        return {key: self._known[key][1] for key in wanted if key in self._known}

    def _missing(self, wanted: dict[str, str]) -> list[str]:
        fresh_after = time.monotonic() - KEPT_S
        return [name for key, name in wanted.items() if self._known.get(key, (0.0, []))[0] <= fresh_after]

    async def ending_with(self, ending: str) -> list[str]:
        """All files whose name ends so (``.ipynb``)."""
        async with self._one_at_a_time:
            known = self._by_ending.get(ending)
            if known is None or known[0] <= time.monotonic() - KEPT_S:
                paths = sorted(path for path in await self._search([], ending) if path.endswith(ending))
                known = self._by_ending[ending] = (time.monotonic(), paths)
        return known[1]

    async def _search(self, names: list[str], ending: str = "") -> list[str]:
        if self.ask_client is not None:
            try:
                return await asyncio.wait_for(self.ask_client(names, ending), _CLIENT_TIMEOUT_S)
            except Exception as error:  # noqa: BLE001 - whatever the client answers, there is another way
                logger.warning("the client could not search its files (%r); searching here", error)
        return await asyncio.to_thread(walk, self.folders, {name.lower() for name in names}, ending)

    async def _look_for(self, names: list[str]) -> None:
        paths = await self._search(names)
        found: dict[str, list[str]] = {name.lower(): [] for name in names}
        for path in paths:
            same_name = found.get(Path(path).name.lower())
            if same_name is not None:
                same_name.append(path)
        now = time.monotonic()
        self._known.update({key: (now, same_name) for key, same_name in found.items()})


def walk(folders: Iterable[Path], names: set[str], ending: str = "") -> list[str]:
    """All files below ``folders`` whose base name in lower case is among ``names``, or ends so.

    There are limits of time and count. Hidden folders, environments and caches are passed over, links to
    folders not followed.
    """
    found: list[str] = []
    deadline = time.monotonic() + _WALK_LIMIT_S
    seen = 0
    for folder in folders:
        for parent, children, files in os.walk(folder):
            children[:] = sorted(name for name in children if name[0] != "." and name not in _SKIPPED_FOLDERS)
            # A wide net here, the fine one when paths are compared: file systems differ in what case means.
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
