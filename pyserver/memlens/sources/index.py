"""Which local files and cells the open snapshots name, as an index of each snapshot.

An index is made in the background after its snapshot opens, so that a hover is a look-up and doesn't wait for the names
of other snapshots. When an index is out of date, the next hover starts making it again but doesn't wait.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from memlens.errors import MemlensError
from memlens.sources.binding import Binder, Binding, Searched
from memlens.sources.cells import CELL_LIMIT, cell_name, names_of
from memlens.sources.finder import KEPT_S
from memlens.sources.paths import path_key

logger = logging.getLogger(__name__)

_MOST_SEARCHED = 2_000
"""The most base names of a snapshot that are searched for, in ten requests: those that hold the most first."""

_BEGIN_AFTER_S = 0.2
"""How long after opening a snapshot its index is started, unless something waits for it."""
_LONGEST_WAIT_S = 2.0
"""How long after opening a snapshot its index is waited for; after that its lines appear when its files are bound."""


class Recorded(Protocol):
    """An open snapshot."""

    name: str

    @property
    def title(self) -> str:
        """Its name in the log."""

    async def source_files(self) -> list[str]:
        """The files that it names, those that hold the most first. Raises MemlensError."""


class Bound(NamedTuple):
    """A file of a snapshot that may be the document in question."""

    file: str
    """As the snapshot spells it."""
    binding: Binding
    skipped: int = 0
    """How many lines the document has before the first that ran; 0 except for cells."""


class _Index(NamedTuple):
    files: dict[str, list[Bound]]
    """By :func:`path_key`."""
    cells: dict[tuple[str, str], list[Bound]]
    made_at: float

    @property
    def meaning(self) -> dict[str, list[str]]:
        return {path: [bound.file for bound in files] for path, files in self.files.items()}


class _Making:
    """The task that is making one snapshot's index."""

    def __init__(self) -> None:
        self.since = time.monotonic()
        self.again = False
        """Settings have changed since it started."""
        self.wanted = asyncio.Event()
        """Something waits for it."""
        self.once = asyncio.Event()
        """Set when the index exists or won't exist soon."""
        self.task: asyncio.Task[None] | None = None


class Indexes:
    """An index of each open snapshot. For the event loop's thread only."""

    def __init__(self, binder: Binder) -> None:
        self._binder = binder
        self._open: dict[str, Recorded] = {}
        self._indexes: dict[str, _Index] = {}
        """By the snapshot's name, like the other tables."""
        self._making: dict[str, _Making] = {}
        self.listeners: list[Callable[[], None]] = []
        """Called when paths of open snapshots now mean other files."""

    def follow(self, snapshots: Sequence[Recorded]) -> None:
        """Make the missing indexes of these snapshots, and drop all others.

        Answers are in the order of ``snapshots``.
        """
        self._open = {snapshot.name: snapshot for snapshot in snapshots}
        self._indexes = {name: index for name, index in self._indexes.items() if name in self._open}
        for name, snapshot in self._open.items():
            if name not in self._indexes and name not in self._making:
                self._make(snapshot)

    def refresh(self) -> None:
        """Make the indexes again, in the background."""
        for snapshot in self._open.values():
            self._make(snapshot)

    async def ready(self) -> None:
        """Wait for snapshots that were opened just now, and start making outdated indexes again."""
        for making in [making for name, making in self._making.items() if name not in self._indexes]:
            making.wanted.set()
            left_s = making.since + _LONGEST_WAIT_S - time.monotonic()
            if left_s > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(making.once.wait(), left_s)
        if any(index.made_at < time.monotonic() - KEPT_S for index in self._indexes.values()):
            self.refresh()

    async def of_file(self, path: str) -> list[tuple[str, Bound]]:
        """What the file at ``path`` may be in the snapshots of these names."""
        bound = self._at(path)
        if not bound and any(index.files for index in self._indexes.values()):
            bound = self._at(await asyncio.to_thread(_real_path, path))
        return bound

    async def of_cell(self, text: str) -> list[tuple[str, Bound]]:
        """The same for a notebook's cell with this code."""
        if len(text) > CELL_LIMIT or not any(index.cells for index in self._indexes.values()):
            return []
        names = await asyncio.to_thread(names_of, text)
        return [
            (snapshot, bound._replace(skipped=skipped))
            for snapshot, index in self._in_order()
            for key, skipped in names
            for bound in index.cells.get(key, [])
        ]

    def _at(self, path: str) -> list[tuple[str, Bound]]:
        key = path_key(path)
        return [
            (snapshot, bound) for snapshot, index in self._in_order() for bound in index.files.get(key, [])
        ]

    def _in_order(self) -> list[tuple[str, _Index]]:
        return [(name, self._indexes[name]) for name in self._open if name in self._indexes]

    def _make(self, snapshot: Recorded) -> None:
        making = self._making.get(snapshot.name)
        if making is not None:
            making.again = True
            return
        making = self._making[snapshot.name] = _Making()
        making.task = asyncio.get_running_loop().create_task(self._work(snapshot, making))

    async def _work(self, snapshot: Recorded, making: _Making) -> None:
        try:
            if snapshot.name not in self._indexes:
                # a snapshot that was opened just now shows its first picture first
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(making.wanted.wait(), _BEGIN_AFTER_S)
            while True:
                making.again = False
                index = await self._index(snapshot, making)
                if snapshot.name not in self._open:
                    return  # the snapshot was closed in the meantime
                before = self._indexes.get(snapshot.name)
                self._indexes[snapshot.name] = index
                making.once.set()
                if (before.meaning if before else {}) != index.meaning:
                    for listener in self.listeners:
                        listener()
                if not making.again:
                    return
        except Exception:
            logger.exception("the files of %s could not be bound to files here", snapshot.title)
        finally:
            del self._making[snapshot.name]
            making.once.set()

    async def _index(self, snapshot: Recorded, making: _Making) -> _Index:
        try:
            files = await snapshot.source_files()
        except MemlensError as error:
            logger.info("the source files of %s can't be listed: %s", snapshot.title, error)
            files = []
        if len(files) > _MOST_SEARCHED:
            making.once.set()  # this takes time, so nothing should wait for it
        bindings, unknown = await self._binder.without_search(files)
        bindings |= await self._binder.search(_with_most(unknown, snapshot.title))
        return await asyncio.to_thread(_index_of, files, bindings)


def _with_most(unknown: dict[str, Searched], title: str) -> dict[str, Searched]:
    """The files whose base names are searched for: at most _MOST_SEARCHED names, the first ones."""
    names = list(dict.fromkeys(searched.name for searched in unknown.values()))
    if len(names) <= _MOST_SEARCHED:
        return unknown
    logger.warning(
        "%s names %d files that are not where it says: the workspace is searched for the %d names that hold the most; "
        "others are looked for when they are opened",
        title,
        len(names),
        _MOST_SEARCHED,
    )
    chosen = set(names[:_MOST_SEARCHED])
    return {file: searched for file, searched in unknown.items() if searched.name in chosen}


def _index_of(files: Iterable[str], bindings: dict[str, Binding]) -> _Index:
    index = _Index({}, {}, time.monotonic())
    for file in files:
        binding = bindings.get(file)
        if binding is None:
            continue
        bound = Bound(file, binding)
        for path in binding.paths:
            index.files.setdefault(path_key(path), []).append(bound)
        cell = cell_name(file)
        if cell is not None:
            index.cells.setdefault(cell.key, []).append(bound)
    return index


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
