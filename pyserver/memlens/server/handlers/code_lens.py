"""``textDocument/codeLens``: totals above the functions that matter, where the user's settings want them."""

import asyncio
import logging
import re
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

import msgspec
from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from memlens.errors import MemlensError
from memlens.server.markdown import SHOW_LINE_COMMAND, count, plain
from memlens.server.settings import Configuration
from memlens.server.sources import BoundFile, Sources, show_line
from memlens.units import format_bytes
from memlens.views.answers import SourceLine, Totals
from memlens.views.lines import totals_of_lines

logger = logging.getLogger(__name__)

SHARE_THAT_MATTERS = 0.01
"""A function matters when it and what it calls allocated at least this share of the snapshot's peak."""

_FILE_LIMIT_BYTES = 4 << 20
_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(?P<name>\w+)", re.MULTILINE)


class Function(NamedTuple):
    """A function's rows. ``line`` is where its definition begins, 1 for a file's first."""

    line: int
    rows: list[SourceLine]

    @property
    def most_bytes(self) -> int:
        """No less than its inclusive sum: a stack may pass through several of its lines in a recursion."""
        return sum(row.total_bytes for row in self.rows)


def register(server: LanguageServer, configuration: Configuration, sources: Sources) -> None:
    """Answer code lenses in any file that has a path."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        path = uris.to_fs_path(params.text_document.uri)
        if not configuration.settings.code_lens or not path:
            return []
        try:
            return await _lenses(sources, path)
        except Exception:
            logger.exception("code lenses failed")
            return []


async def _lenses(sources: Sources, path: str) -> list[types.CodeLens]:
    bound_files = await sources.bound_to(path)
    if not bound_files:
        return []
    definitions = await asyncio.to_thread(_definitions, Path(path))
    lenses: list[types.CodeLens] = []
    several = len({bound.snapshot.name for bound in bound_files}) > 1
    for bound in bound_files:
        try:
            by_line = await bound.snapshot.lines_of(bound.file)
        except MemlensError as error:
            logger.info("no totals of %s: %s", bound.file, error)
            continue
        rows = [row for line in by_line.values() for row in line]
        threshold = SHARE_THAT_MATTERS * sum(device.peak_bytes for device in bound.snapshot.info.devices)
        for function in functions(rows, definitions):
            if function.most_bytes < max(1.0, threshold):
                continue
            sums = await _sums(bound, function)
            if sums.total_bytes >= max(1.0, threshold):
                lenses.append(_lens(bound, function, sums, several))
    return lenses


async def _sums(bound: BoundFile, function: Function) -> Totals:
    """What a function and what it calls allocated, each allocation once."""
    numbers = [row.line for row in function.rows]
    return await bound.snapshot.ask(lambda snapshot: totals_of_lines(snapshot, bound.file, numbers))


def functions(rows: list[SourceLine], definitions: list[tuple[int, str]]) -> list[Function]:
    """Group rows by function: by the ``def`` above them of that name, else by the name alone.

    Two methods of one name in two classes are two functions.
    """
    by_name: dict[str, list[int]] = {}
    for line, name in definitions:
        by_name.setdefault(name, []).append(line)
    grouped: dict[tuple[str, int], list[SourceLine]] = {}
    for row in rows:
        if row.line < 1 or row.function.startswith("<"):
            continue  # comprehensions, lambdas and modules have no definition to stand above
        starts = by_name.get(row.function.rsplit(".", 1)[-1], [])
        above = bisect_right(starts, row.line)
        grouped.setdefault((row.function, starts[above - 1] if above else 0), []).append(row)
    found = [Function(start or min(row.line for row in own), own) for (_, start), own in grouped.items()]
    return sorted(found, key=lambda function: function.line)


def _definitions(path: Path) -> list[tuple[int, str]]:
    """Lines and names of the functions that Python source defines; none for other files and big ones."""
    try:
        if not path.is_file() or path.stat().st_size > _FILE_LIMIT_BYTES:
            return []
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    found: list[tuple[int, str]] = []
    line, counted_to = 1, 0
    for match in _DEF.finditer(text):
        line += text.count("\n", counted_to, match.start("name"))
        counted_to = match.start("name")
        found.append((line, match["name"]))
    return found


def _lens(bound: BoundFile, function: Function, sums: Totals, several: bool) -> types.CodeLens:  # noqa: FBT001
    heaviest = max(function.rows, key=lambda row: row.total_bytes)
    allocations = count(sums.count, "allocation")
    live = format_bytes(sums.live_at_peak_bytes)
    title = f"{format_bytes(sums.total_bytes)} in {allocations}, {live} live at peak"
    if len(function.rows) > 1:
        title += f", line {heaviest.line} most"
    if several:
        # A lens title may hold icons, written $(name).
        title += f" · {plain(bound.snapshot.title).replace('$(', '$ (')}"
    arguments = show_line(bound, heaviest)
    start = types.Position(function.line - 1, 0)
    return types.CodeLens(
        types.Range(start, start),
        command=types.Command(
            title=title, command=SHOW_LINE_COMMAND, arguments=[msgspec.to_builtins(arguments)]
        ),
    )
