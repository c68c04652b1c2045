"""Finds the cell that a frame's file name means, among the notebooks of the workspace and those in the editor."""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from memlens.result_cache import ResultCache
from memlens.sources.cells import Cell, CellName, defines, names_of, read_cells
from memlens.sources.finder import Finder

logger = logging.getLogger(__name__)

MOST_NOTEBOOKS = 300
_MOST_CANDIDATES = 50
_TIME_LIMIT_S = 10.0
_TITLE_LENGTH = 80


class FoundCell(Struct, frozen=True):
    """A cell; ``line`` counts from 1 in it. ``title`` is its first meaningful line."""

    path: str
    index: int
    line: int
    title: str


class CellResult(Struct, frozen=True):
    """``cells`` have exactly the code that ran, perhaps several. If there are none, ``candidates`` are likely ones.

    ``reason`` says what makes them likely, ``notebooks`` is the number of notebooks that were searched.
    """

    cells: list[FoundCell]
    candidates: list[FoundCell]
    reason: Literal["execution_count", "function", "none"]
    notebooks: int


class _NamedCell(NamedTuple):
    cell: Cell
    names: dict[tuple[str, str], int]
    """Each with the number of first lines that weren't run."""


class _File(NamedTuple):
    version: tuple[int, int]
    cells: list[_NamedCell]


class Notebooks:
    """Keeps the names of each notebook's cells until the file changes."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._files = ResultCache()
        self._one_at_a_time = asyncio.Lock()

    async def find(
        self, name: CellName, line: int, function: str, shown: Mapping[str, list[Cell]]
    ) -> CellResult:
        """The cells with the code that ran under ``name``; else those that it may have been edited into.

        ``shown`` are the notebooks in the editor, by path, which are used instead of the files on disk.
        """
        on_disk = await self._finder.ending_with(".ipynb")
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._find, name, line, function, shown, on_disk)

    def _find(
        self,
        name: CellName,
        line: int,
        function: str,
        shown: Mapping[str, list[Cell]],
        on_disk: Iterable[str],
    ) -> CellResult:
        deadline = time.monotonic() + _TIME_LIMIT_S
        notebooks = {path: list(map(_named, cells)) for path, cells in shown.items()}
        for path in on_disk:
            if len(notebooks) >= MOST_NOTEBOOKS or time.monotonic() > deadline:
                logger.warning("the search for a cell was cut short after %d notebooks", len(notebooks))
                break
            if path not in notebooks:
                notebooks[path] = self._read(path)
        everywhere = [(path, named) for path, cells in notebooks.items() for named in cells]
        exact = [
            _found(path, named.cell, line + named.names[name.key])
            for path, named in everywhere
            if name.key in named.names
        ]
        candidates: list[FoundCell] = []
        reason: Literal["execution_count", "function", "none"] = "none"
        if not exact and name.execution_count is not None:
            candidates = [
                _found(path, cell, line)
                for path, (cell, _) in everywhere
                if cell.execution_count == name.execution_count
            ]
            reason = "execution_count" if candidates else "none"
        if not exact and not candidates and function.isidentifier():
            candidates = [
                _found(path, cell, line) for path, (cell, _) in everywhere if defines(cell, function)
            ]
            reason = "function" if candidates else "none"
        return CellResult(exact, candidates[:_MOST_CANDIDATES], reason, len(notebooks))

    def _read(self, path: str) -> list[_NamedCell]:
        known: _File | None = self._files.find(path)
        try:
            status = Path(path).stat()
        except (OSError, ValueError):
            return []
        version = (status.st_mtime_ns, status.st_size)
        if known is None or known.version != version:
            known = _File(version, [_named(cell) for cell in read_cells(path)])
            self._files.put(path, known)
        return known.cells


def _named(cell: Cell) -> _NamedCell:
    return _NamedCell(cell, dict(names_of(cell.text)))


def _found(path: str, cell: Cell, line: int) -> FoundCell:
    lines = cell.text.splitlines()
    title = next((text.strip() for text in lines if text.strip()), "")
    return FoundCell(path, cell.number, min(line, max(len(lines), 1)), title[:_TITLE_LENGTH])
