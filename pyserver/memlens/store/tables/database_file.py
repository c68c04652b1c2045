"""Writes ranges of rows into the tables and indexes of a new SQLite database.

:class:`Trees` writes the pages of whole tables and indexes, many times faster than statements do. SQLite creates them
empty, and finds their rows when it opens the file again. :class:`Inserts` inserts the same rows by statements, for
texts that a page can't hold.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import apsw
import numpy as np
import numpy.typing as npt

from memlens.kernels.base import sqlite_trees as kernel
from memlens.kernels.base.sqlite_trees import PAGE_BYTES, Texts

Column = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8] | None, Texts | None] | None
"""Numbers, a mask of those that are NULL, and the texts that they stand for; None is NULL in every row."""

_PAGE_COUNT_AT = 28
"""The offset of the number of pages in the file's header."""


class Rows(NamedTuple):
    """Some rows, as columns by name; a missing column or None is NULL in all of them."""

    length: int
    columns: dict[str, Column]
    """The stored columns; in an index ``rowid`` is the row's number."""
    first_rowid: int = 0
    """The number of the first row, for a table that has rowids; the others follow it."""


class Filler(Protocol):
    """Fills empty tables and indexes."""

    def fill(self, name: str, stretches: Iterable[Rows]) -> None:
        """Put rows into a table or an index, in the order of its keys."""


class _Layout(NamedTuple):
    root_page: int
    columns: list[str]
    has_rowids: bool
    is_table: bool


def connect(path: Path) -> apsw.Connection:
    """A connection to a database that appears only when it is complete, and so needs no journal."""
    database = apsw.Connection(
        path.resolve().as_uri(),
        flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI,
    )
    settings = (
        ("page_size", PAGE_BYTES), ("auto_vacuum", "none"), ("journal_mode", "off"), ("synchronous", "off"),
        ("locking_mode", "exclusive"), ("cache_size", -16_384),
    )  # fmt: skip
    for name, value in settings:
        database.pragma(name, value)
    return database


def insert(database: apsw.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows with the table's own columns, without computed ones."""
    columns = _stored_columns(database, table)
    marks = ", ".join("?" * len(columns))
    # the names are those of our own schema
    database.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608


class Trees:
    """Fills the tables that SQLite created in a file, which must not be open elsewhere."""

    def __init__(self, path: Path) -> None:
        database = connect(path)
        try:
            self._layouts = _layouts(database)
        finally:
            database.close()
        self._file = path.open("r+b")
        pages = self._file.seek(0, 2) // PAGE_BYTES
        self._next_page = pages + 1 if pages < kernel.LOCK_PAGE else pages
        """The number of pages as the kernel counts them: without LOCK_PAGE."""
        self._roots: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._file:
            if kind is None:
                self._finish()

    def fill(self, name: str, stretches: Iterable[Rows]) -> None:
        """Put rows into a table or an index, in the order of its keys. Raises ValueError for what no page can hold."""
        layout = self._layouts[name]
        tree = kernel.Tree(self._next_page, has_rowids=layout.has_rowids)
        for rows in stretches:
            columns = [rows.columns.get(column) for column in layout.columns]
            self._append(tree.add(columns, rows.length, rows.first_rowid))
        rest, root = tree.finish()
        self._append(rest)
        if root is not None:
            self._roots[layout.root_page] = root

    def _append(self, pages: bytes) -> None:
        before = (kernel.LOCK_PAGE - self._next_page) * PAGE_BYTES
        if 0 <= before < len(pages):
            pages = pages[:before] + bytes(PAGE_BYTES) + pages[before:]
            self._next_page -= 1
        self._file.write(pages)
        self._next_page += len(pages) // PAGE_BYTES

    def _finish(self) -> None:
        pages = self._file.tell() // PAGE_BYTES
        for number, page in self._roots.items():
            self._file.seek((number - 1) * PAGE_BYTES)
            self._file.write(page)
        self._file.seek(_PAGE_COUNT_AT)
        self._file.write(pages.to_bytes(4))


class Inserts:
    """Fills tables by statements; SQLite maintains their indexes."""

    def __init__(self, path: Path) -> None:
        self._database = connect(path)
        self._layouts = _layouts(self._database)
        self._database.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self._database.execute("COMMIT")
        self._database.close()

    def fill(self, name: str, stretches: Iterable[Rows]) -> None:
        """Insert rows into a table; an index already has them."""
        layout = self._layouts[name]
        if layout.is_table:
            for rows in stretches:
                insert(self._database, name, _tuples(rows, layout))


def _tuples(rows: Rows, layout: _Layout) -> Iterator[tuple[Any, ...]]:
    columns = [_values(rows.columns.get(name), rows.length) for name in layout.columns]
    if layout.has_rowids and layout.columns[0] not in rows.columns:
        columns[0] = list(range(rows.first_rowid, rows.first_rowid + rows.length))
    return zip(*columns, strict=True)


def _values(column: Column, count: int) -> list[Any]:
    if column is None:
        return [None] * count
    numbers, missing, texts = column
    values: list[Any] = numbers.tolist()
    if texts is not None:
        known = texts.texts
        values = [known[value] for value in values]
    if missing is not None:
        values = [None if gone else value for value, gone in zip(values, missing.tolist(), strict=True)]
    return values


def _layouts(database: apsw.Connection) -> dict[str, _Layout]:
    """The tables and indexes of the file, with columns in their stored order."""
    made: dict[str, _Layout] = {}
    without_rowid = {
        name for name, without in database.execute("SELECT name, wr FROM pragma_table_list") if without
    }
    found: list[Any] = database.execute(
        "SELECT name, rootpage, type = 'table' FROM sqlite_schema WHERE sql IS NOT NULL"
    ).fetchall()
    for name, root_page, is_table in found:
        if is_table:
            columns = _stored_columns(database, name)
        else:
            rows = database.execute("SELECT name FROM pragma_index_xinfo(?) ORDER BY seqno", (name,))
            columns = [column or "rowid" for (column,) in rows]
        made[name] = _Layout(root_page, columns, bool(is_table and name not in without_rowid), bool(is_table))
    return made


def _stored_columns(database: apsw.Connection, table: str) -> list[str]:
    # "hidden" is 2 or 3 of a column that is computed
    rows = database.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", (table,))
    return [str(name) for (name,) in rows]
