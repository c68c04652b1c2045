"""Tables of an archive that a query reads, and its rows as a table, JSON or CSV."""

import argparse
import csv
import itertools
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from memlens.api.queries import parts_read
from memlens.cli.ask import ask
from memlens.cli.cache import cache_of
from memlens.cli.output import say
from memlens.cli.progress import reporter
from memlens.interrupting import ended_by_signals
from memlens.json_text import escaped
from memlens.model.expansion import DEEP_STACKS
from memlens.model.own_libraries import NO_LIBRARIES, Libraries
from memlens.store.manifest import CONTRADICTIONS, ArchiveError, ContradictionError
from memlens.store.relabel import open_with
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import fill, remove
from memlens.texts import phrase
from memlens.units import plain, shortened
from memlens.views.sql.pages import distinct
from memlens.views.sql.query import SqlSession

TABLE_ROWS = 1_000
_WIDEST_CELL = 60
_LONGEST_CELL = 4_000
"""Characters of a cell in a printed table; JSON and CSV have all of them."""
_ROWS_MEASURED, _MOST_MEASURED = 1_000, 4 << 20
"""The rows that say how wide a table's columns are, and their characters: they are in memory at once."""
_SKIPPED = (
    r"\s\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
"""Blanks, control characters and those without ink (Unicode's categories Cc and Cf), which spreadsheets may skip."""
_FORMULA = rf"[{_SKIPPED}]*[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]"
"""Signs that begin a formula, also the full-width and the small ones."""
_FIRST = re.compile(rf"{_FORMULA}|[\t\r\n]")
_LATER = re.compile(rf"([;|\t\r\n])(?={_FORMULA})")
"""The same after what ends a cell where a spreadsheet separates by something other than commas, as in many languages.

Quotes are then no help: they are quotes only at a cell's beginning.
"""

T = TypeVar("T")


class UnfinishedError(ContradictionError):
    """An archive contradicts itself, and some of the rows are printed already."""

    advice = phrase(
        "What is printed may be wrong. Run the command again: the archive is made again from its file."
    )


Form = Literal["table", "json", "csv"]


def with_tables(
    options: argparse.Namespace, query: str, path: Path | None, question: Callable[[Path], T]
) -> T:
    """Ask a question to the tables of a file's archive, which is made again if it was there and contradicts itself.

    Raises :class:`ArchiveError` for a damaged table, and :class:`UnfinishedError` as ``question`` does; the next run
    makes again what was damaged.
    """
    file: Path = options.file if path is None else path
    was_there = False
    with suppress(OSError):
        was_there = cache_of(options).find(file) is not None
    archive = filled(options, query, path)
    try:
        return question(archive)
    except ArchiveError:
        remove(archive)
        raise
    except CONTRADICTIONS:
        if not was_there:
            raise
        say(f"note: The stored copy of {file.name} is damaged and is made again from the file.", error=True)
        shutil.rmtree(archive, ignore_errors=True)
    except UnfinishedError as error:
        if not was_there and error.__cause__ is not None:
            raise error.__cause__ from None
        shutil.rmtree(archive, ignore_errors=True)
        raise
    return question(filled(options, query, path))


def filled(options: argparse.Namespace, query: str, path: Path | None = None) -> Path:
    """Return a file's archive with the tables that a query reads. ``path`` is the file, where there are several."""

    def fill_tables(snapshot: Snapshot) -> tuple[Path, bool]:
        report = reporter("auto")
        with ended_by_signals():
            parts = parts_read(snapshot, query)
        has_grown = fill(snapshot, report, parts)
        report("done", 1.0)
        if "stack_frames" in query:
            for warning in snapshot.info.warnings:
                if warning.code == DEEP_STACKS:
                    say(f"note: {warning.message}", error=True)
        return snapshot.archive, has_grown

    archive, has_grown = ask(options, fill_tables, path)
    if has_grown:
        cache_of(options).evict(keep=archive)
    return archive


def print_answer(
    archive: Path, query: str, form: Form, limit: int | None, libraries: Libraries = NO_LIBRARIES
) -> None:
    """Run a query on an archive whose tables are filled, and print the rows to stdout as they arrive."""
    with closing(SqlSession(open_with(archive, libraries))) as session, ended_by_signals():
        names, rows = session.stream(query)
        # nothing is printed before the first row is there
        first = list(itertools.islice(rows, 1))
        try:
            print_rows(names, itertools.chain(first, rows), form, limit)
        except CONTRADICTIONS as error:
            raise UnfinishedError(error) from error


def print_rows(
    names: list[str],
    rows: Iterator[tuple[Any, ...]],
    form: Form,
    limit: int | None,
    option: str = "--limit",
) -> None:
    """Print rows to stdout as they arrive; of a table the first thousand without a limit, which ``option`` sets."""
    if limit is None and form == "table":
        limit = TABLE_ROWS
    shown = rows if limit is None else itertools.islice(rows, limit)
    if form == "json":
        _print_json(names, shown)
    elif form == "csv":
        _print_csv(names, shown)
    else:
        _print_table(names, shown)
    if limit is not None and next(rows, None) is not None:
        say(f"There are more rows than {limit:,}: use {option}.", error=True)


def _print_json(names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    keys = distinct(names)
    out = sys.stdout
    out.write("[")
    for number, row in enumerate(rows):
        out.write(",\n " if number else "\n ")
        cells = dict(zip(keys, map(_json_value, row), strict=True))
        out.write(escaped(json.dumps(cells, ensure_ascii=False)))
    out.write("\n]\n")


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return value


class _Lines:
    """Writes lines of CSV to stdout, ended by a line feed alone."""

    def write(self, line: str) -> None:
        sys.stdout.write(line.removesuffix("\r\n") + "\n")


def _print_csv(names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    # csv quotes what is in its line's end: a cell with a carriage return would begin another row
    writer = csv.writer(_Lines(), lineterminator="\r\n")
    # CSV has no escapes: programs get the text unchanged, a terminal without control characters
    shown = csv_on_terminal if sys.stdout.isatty() else csv_value
    for row in itertools.chain([names], rows):
        writer.writerow(map(shown, row))


def csv_value(value: Any) -> Any:
    """Return a value for CSV. What a spreadsheet would read as a formula, in a text, gets an apostrophe before it.

    Source: OWASP, "CSV Injection". Function names and paths in a snapshot are untrusted.
    """
    if not isinstance(value, str):
        return _json_value(value)
    first = "'" if _FIRST.match(value) else ""
    return first + _LATER.sub(r"\1'", value)


def csv_on_terminal(value: Any) -> Any:
    """Return a value for CSV without control and formatting characters."""
    cell = csv_value(value)
    return plain(cell) if isinstance(cell, str) else cell


def _print_table(names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Print a table whose columns fit their first rows, with numbers aligned to the right."""
    stream: Iterator[tuple[Any, ...]] = iter(rows)
    first: list[list[str]] = []
    widths = [len(name) for name in names]
    numeric = [True] * len(names)
    held = 0
    for row in stream:
        shown = [*map(_shown, row)]
        for column, (value, cell) in enumerate(zip(row, shown, strict=True)):
            widths[column] = min(max(widths[column], len(cell)), _WIDEST_CELL)
            numeric[column] = numeric[column] and (value is None or isinstance(value, int | float))
            held += len(cell)
        first.append(shown)
        if len(first) == _ROWS_MEASURED or held > _MOST_MEASURED:
            break

    def line(cells: Iterable[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        return "  ".join(padded).rstrip()

    say(line(names))
    say(line("-" * width for width in widths))
    for cells in itertools.chain(first, (map(_shown, row) for row in stream)):
        say(line(cells))


def _shown(value: Any) -> str:
    text = "" if value is None else str(_json_value(value))
    return plain(shortened(text, _LONGEST_CELL))
