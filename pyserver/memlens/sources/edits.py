"""Where the lines of open files, and the functions around them, have moved since each snapshot was opened.

Snapshots have line numbers from when the job ran, while the editor shows the text as it is now. The client reports how
lines move; for a snapshot that is opened later, counting starts then.
"""

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from memlens.regular_files import content
from memlens.result_cache import ResultCache
from memlens.sources.functions import TEXT_LIMIT, Functions
from memlens.sources.line_map import LineEdit, LineMap
from memlens.texts import Text, phrase
from memlens.units import plain_name

_MOST_NAMED = 5
"""The most lines that a remark lists."""

_PYTHON = (".py", ".pyw", ".pyi")


class Change(NamedTuple):
    """The local text is not what ran: a sentence that says why, and the lines where the function is now."""

    message: Text
    lines: list[int]


class FunctionRows(NamedTuple):
    """The rows of a function's lines, and the first line of its definition in the editor now."""

    line: int
    function: str
    rows: list[int]


class FileState(NamedTuple):
    """A local file as one snapshot sees it: where its lines moved, and its functions before that."""

    lines: LineMap
    functions: Functions | None

    def changed(self, function: str, line: int) -> Change | None:
        """A remark if the snapshot's ``line`` is no longer in ``function``, judging by names."""
        elsewhere = self.functions.elsewhere(function, line) if self.functions is not None else None
        if elsewhere is None:
            return None
        lines = [here for there in elsewhere if (here := self.lines.here(there))]
        name = f"`{plain_name(function)}`"
        numbers = ", ".join(map(str, lines[:_MOST_NAMED]))
        match lines:
            case []:
                message = phrase(
                    "The file has changed since the run: {function} is not in it any more", function=name
                )
            case [_]:
                message = phrase(
                    "The file has changed since the run: {function} is now at line {line}",
                    function=name,
                    line=numbers,
                )
            case _:
                message = phrase(
                    "The file has changed since the run: {function} is now at lines {lines}"
                    if len(lines) <= _MOST_NAMED
                    else "The file has changed since the run: {function} is now at lines {lines} and others",
                    function=name,
                    lines=numbers,
                )
        return Change(message, lines)

    def by_function(self, lines: Sequence[tuple[str, int]]) -> list[FunctionRows]:
        """Group a snapshot's lines, each with its function: by the one of that name around them, else by name alone.

        Two methods of the same name in two classes are two functions.
        """
        grouped: dict[tuple[str, int], list[int]] = {}
        for row, (function, line) in enumerate(lines):
            if line < 1 or function.startswith("<"):
                continue  # comprehensions, lambdas and modules have no definition
            start = self.functions.definition(function, line) if self.functions is not None else 0
            grouped.setdefault((function, start), []).append(row)
        found = []
        for (function, start), rows in grouped.items():
            now = map(self.lines.here, [start] if start else [lines[row][1] for row in rows])
            if here := min(filter(None, now), default=0):
                found.append(FunctionRows(here, function, rows))
        return sorted(found)


UNCHANGED = FileState(LineMap(), None)


class _Tracked:
    """The lines of one file since one snapshot was opened."""

    def __init__(self, functions: "asyncio.Future[Functions | None]") -> None:
        self.lines = UNCHANGED.lines
        self.saved = UNCHANGED.lines
        self.functions = functions


class Edits:
    """For the event loop's thread only. Paths are keys, see :func:`memlens.sources.paths.path_key`."""

    def __init__(self) -> None:
        self._tracked: dict[str, dict[str, _Tracked]] = {}
        self._scanned = ResultCache()

    async def state(self, path: str, snapshot: str) -> FileState:
        """A local file as a snapshot sees it."""
        tracked = self._tracked.get(path, {}).get(snapshot)
        if tracked is None:
            return FileState(UNCHANGED.lines, await self._functions(path))
        return FileState(tracked.lines, await asyncio.shield(tracked.functions))

    def lines(self, path: str, snapshot: str) -> LineMap:
        """Where the lines of a local file moved since a snapshot was opened."""
        tracked = self._tracked.get(path, {}).get(snapshot)
        return UNCHANGED.lines if tracked is None else tracked.lines

    def edited(self, path: str, edits: Iterable[LineEdit], snapshots: Iterable[str]) -> None:
        """Apply moves of lines in the editor, in this order."""
        tracked = self._tracked.setdefault(path, {})
        missing = [name for name in snapshots if name not in tracked]
        if missing:
            # the file on disk is still the text in which the lines were counted
            functions = asyncio.ensure_future(self._functions(path))
            tracked.update({name: _Tracked(functions) for name in missing})
        for edit in edits:
            for each in tracked.values():
                each.lines = each.lines.edited(edit)

    def saved(self, path: str) -> None:
        """The text in the editor was saved."""
        for each in self._tracked.get(path, {}).values():
            each.saved = each.lines

    def discarded(self, path: str) -> None:
        """The text in the editor was discarded, so the file on disk counts."""
        tracked = self._tracked.get(path, {})
        for each in tracked.values():
            each.lines = each.saved
        if all(each.saved is UNCHANGED.lines for each in tracked.values()):
            self._tracked.pop(path, None)

    def reloaded(self, path: str) -> None:
        """The file was changed by another program, so it isn't known where its lines moved."""
        self._tracked.pop(path, None)

    def keep_only(self, snapshots: set[str]) -> None:
        """Forget snapshots that were closed."""
        for path, tracked in list(self._tracked.items()):
            kept = {name: each for name, each in tracked.items() if name in snapshots}
            if kept:
                self._tracked[path] = kept
            else:
                del self._tracked[path]

    async def _functions(self, path: str) -> Functions | None:
        """The functions of a Python file on disk, read again when it changed; None for other files."""
        if not path.lower().endswith(_PYTHON):
            return None
        known: _Scanned | None = self._scanned.find(path)
        scanned = await asyncio.to_thread(_scan, path, known)
        if scanned is None:
            return None
        if scanned is not known:
            self._scanned.put(path, scanned)
        return scanned[1]


_Scanned = tuple[tuple[int, int], Functions]


def _scan(path: str, known: _Scanned | None) -> _Scanned | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - a hover waits for this
        version = (status.st_mtime_ns, status.st_size)
        if known is not None and known[0] == version:
            return known
        if status.st_size > TEXT_LIMIT:
            return None
    except (OSError, ValueError):
        return None
    data = content(Path(path), TEXT_LIMIT)
    return None if data is None else (version, Functions.of(_text_of(data)))


def _text_of(data: bytes) -> str:
    """A file's text, with each end of a line as one character."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
