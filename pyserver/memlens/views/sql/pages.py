"""A page of a query's rows, as it is sent: values that JSON's readers can represent, long ones cut; and its errors."""

import math
import time
from typing import Any, Literal, NamedTuple

import apsw
from msgspec import Struct

from memlens.errors import MemlensError

MOST_ROWS = 10_000
"""The most rows of one page."""
MOST_PAGE_BYTES = 4_000_000
MOST_CELL_CHARACTERS = 4_000

_LAST_EXACT_INTEGER = 2**53
"""Larger integers are sent as text, because numbers beyond it are not exact in most readers of JSON."""

ColumnType = Literal["integer", "real", "text", "blob", "mixed", "none"]
Cell = int | float | str | None


class SqlColumn(Struct, frozen=True):
    """A column of an answer. ``type`` is that of its values in this page, or the declared one when all are NULL."""

    name: str
    type: ColumnType


class SqlAnswer(Struct, frozen=True):
    """Rows ``offset … offset + len(rows)`` of a query's result.

    Integers beyond 2**53 are text, blobs are ``x'…'``, infinities as ``Inf``; values longer than 4,000 characters
    are cut, and end with ``…`` then. A column named ``allocation`` has the allocation to show for its row; columns
    named ``file`` and ``line`` together have a place to open.
    """

    columns: list[SqlColumn]
    rows: list[list[Cell]]
    offset: int
    more: bool
    """True if there are more rows after these."""
    took_ms: float
    contents: bool = False
    """True if the query reads the contents of a heap dump's objects, which are shared only after the user agrees."""


class SqlSort(Struct, frozen=True):
    """Sort all of a query's rows by the column of that number, from 0."""

    column: int
    descending: bool = False


class SqlError(MemlensError):
    """SQLite's error for a query. ``offset`` is a position in the query, in characters."""

    code = "sql"
    retry = False

    def __str__(self) -> str:
        return (
            str(self.message) if self.offset is None else f"{self.message} (at character {self.offset + 1:,})"
        )


class Running(NamedTuple):
    """A query that has begun. ``ahead`` is the row that showed that there is another page."""

    cursor: apsw.Cursor
    columns: tuple[tuple[str, str | None], ...]
    """Names and declared types."""
    ahead: dict[str, tuple[Any, ...]]
    contents: bool


def distinct(names: list[str]) -> list[str]:
    """Make the names of columns distinct: two columns in SQL may have the same name."""
    keys: list[str] = []
    for name in names:
        key, number = name, 2
        while key in keys:
            key, number = f"{name}_{number}", number + 1
        keys.append(key)
    return keys


def page(running: Running, offset: int, limit: int, began: float) -> SqlAnswer:
    """The next rows of a query, which began at that time of ``time.perf_counter``."""
    rows: list[list[Cell]] = []
    row_types: set[tuple[type, ...]] = set()
    size = 0
    row = running.ahead.pop("row", None) or running.cursor.fetchone()
    while row is not None:
        if len(rows) == limit or size > MOST_PAGE_BYTES:
            running.ahead["row"] = row
            break
        cells = [_cell(value) for value in row]
        size += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        row_types.add(tuple(map(type, row)))
        rows.append(cells)
        row = running.cursor.fetchone()
    kinds = [{_TYPES[types[number]] for types in row_types} for number in range(len(running.columns))]
    columns = [
        SqlColumn(name, _type_of(kind, declared))
        for (name, declared), kind in zip(running.columns, kinds, strict=True)
    ]
    took_ms = round((time.perf_counter() - began) * 1e3, 3)
    return SqlAnswer(columns, rows, offset, row is not None, took_ms, running.contents)


_TYPES: dict[type, ColumnType] = {
    int: "integer",
    float: "real",
    str: "text",
    bytes: "blob",
    type(None): "none",
}
_DECLARED: dict[str | None, ColumnType] = {"INTEGER": "integer", "TEXT": "text"}


def _type_of(kinds: set[ColumnType], declared: str | None) -> ColumnType:
    """A column's type by its values, or by its declaration if there are none."""
    known = kinds - {"none"}
    if not known:
        return _DECLARED.get(declared, "none")
    if len(known) > 1:
        return "real" if known == {"integer", "real"} else "mixed"
    return known.pop()


def _cell(value: Any) -> Cell:
    """A value for the wire: a number if a double represents it exactly, else text, and never long."""
    # pages have thousands of cells, and comparing types is several times faster than `match`
    kind = type(value)
    if kind is int and not -_LAST_EXACT_INTEGER <= value <= _LAST_EXACT_INTEGER:
        return str(value)
    if kind is str and len(value) > MOST_CELL_CHARACTERS:
        return f"{value[: MOST_CELL_CHARACTERS - 1]}…"
    if kind is float and math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if kind is bytes:
        cut = value[: MOST_CELL_CHARACTERS // 2 - 2]
        return f"x'{cut.hex()}{'…' if len(value) > len(cut) else ''}'"
    cell: Cell = value
    return cell
