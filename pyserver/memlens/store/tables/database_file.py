"""Writes ranges of rows into the tables and indexes of a new SQLite database.

:class:`Trees` writes the pages of whole tables and indexes, eight times faster than statements with sorted rows, no
journal and indexes made afterwards. SQLite creates them empty, and finds their rows when it opens the file again.
:class:`Inserts` inserts the same rows by statements, for texts that a page can't hold. Both count what SQLite's planner
should know of the indexes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import apsw
import numpy as np

from memlens.arrays import I64, U8
from memlens.kernels.base import sqlite_trees as kernel
from memlens.kernels.base.sqlite_trees import PAGE_BYTES, Texts
from memlens.store.manifest import InconsistentError
from memlens.store.tables.packed_pages import NewPages

Column = tuple[I64, U8 | None, Texts | None] | None
"""Numbers, a mask of those that are NULL, and the texts that they stand for; None is NULL in every row."""

_WORKERS = 2
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

    statistics: dict[str, str]
    """Of each index that was filled what ``sqlite_stat1`` has of it."""

    def fill(self, name: str, batches: Iterable[Rows]) -> None:
        """Put rows into a table or an index, in the order of its keys."""


class _Layout(NamedTuple):
    root_page: int
    columns: list[str]
    keys: int
    """How many of the columns are an index's keys, 0 for a table."""
    has_rowids: bool
    is_table: bool


def connect(pages: NewPages) -> apsw.Connection:
    """A connection to a database that appears only when it is complete, and so needs no journal."""
    database = apsw.Connection(
        pages.uri,
        flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI,
    )
    settings = (
        ("page_size", PAGE_BYTES), ("auto_vacuum", "none"), ("journal_mode", "off"), ("synchronous", "off"),
        ("locking_mode", "exclusive"), ("cache_size", -16_384), ("temp_store", "memory"),
    )  # fmt: skip
    for name, value in settings:
        database.pragma(name, value)
    add_computed(database, lambda _: None, lambda _: None)
    return database


def add_computed(
    database: apsw.Connection, package: Callable[..., str | None], module: Callable[..., str | None]
) -> None:
    """Give a connection the functions that compute columns of ``objects`` whose texts would be equal in most rows."""
    for name, function in (("package_of_type", package), ("module_of_type", module)):
        database.create_scalar_function(
            name, function, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
        )  # fmt: skip


def insert(database: apsw.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows with the table's own columns, without computed ones. Raises :class:`InconsistentError`."""
    columns = _stored_columns(database, table)
    marks = ", ".join("?" * len(columns))
    # the names are those of our own schema
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
    try:
        database.executemany(statement, rows)
    except OverflowError as error:
        raise InconsistentError(f"A row of {table} has a larger number than SQLite") from error
    except apsw.ConstraintError as error:
        raise InconsistentError(f"Rows of {table} contradict each other: {error}") from error


class _Counts:
    """Counts an index's rows and the distinct values of its first key, of its first two, and so on.

    ANALYZE would estimate them from the first rows, which says nothing of lengths that differ as much as those of lists
    of references: one long list, and the planner would rather make an index of its own than use the one there is.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._rows = 0
        self._distinct = [0] * len(keys)
        self._last: list[tuple[int, bool]] = []

    def watched(self, batches: Iterable[Rows]) -> Iterator[Rows]:
        """The same rows, counted."""
        for rows in batches:
            if rows.length:
                self._add(rows)
            yield rows

    @property
    def statistics(self) -> str:
        """As ANALYZE counts: the rows, and how many share the values of the first key, of the first two, and so on."""
        return " ".join(map(str, (self._rows, *map(self._sharing, self._distinct))))

    def _sharing(self, distinct: int) -> int:
        share = -(-self._rows // max(distinct, 1))
        # rounded up, except that almost unique is unique
        return 1 if share == 2 and self._rows * 10 <= distinct * 11 else share

    def _add(self, rows: Rows) -> None:
        differs = np.zeros(rows.length, np.bool_)
        differs[0] = not self._rows
        last: list[tuple[int, bool]] = []
        for place, key in enumerate(self._keys):
            values, missing, _ = rows.columns.get(key) or (np.zeros(rows.length, np.int64), None, None)
            nulls = np.zeros(rows.length, np.bool_) if missing is None else missing.astype(np.bool_)
            values = np.where(nulls, 0, values)
            differs[1:] |= (values[1:] != values[:-1]) | (nulls[1:] != nulls[:-1])
            differs[0] |= bool(self._last) and self._last[place] != (int(values[0]), bool(nulls[0]))
            last.append((int(values[-1]), bool(nulls[-1])))
            self._distinct[place] += int(np.count_nonzero(differs))
        self._rows += rows.length
        self._last = last


class Trees:
    """Fills the tables that SQLite created in a file, which must not be open elsewhere."""

    def __init__(self, pages: NewPages) -> None:
        database = connect(pages)
        try:
            self._layouts = _layouts(database)
        finally:
            database.close()
        self._pages = pages
        self._next_page = len(pages) + 1 if len(pages) < kernel.LOCK_PAGE else len(pages)
        """The number of pages as the kernel counts them: without LOCK_PAGE."""
        self._pool = ThreadPoolExecutor(_WORKERS)
        self._roots: dict[int, bytes] = {}
        self.statistics: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown()
        if kind is None:
            self._finish()

    def fill(self, name: str, batches: Iterable[Rows]) -> None:
        """Put rows into a table or an index, in the order of its keys. Raises ValueError for what no page can hold."""
        layout = self._layouts[name]
        tree = kernel.Tree(self._next_page, has_rowids=layout.has_rowids)
        counts = _Counts(layout.columns[: layout.keys])
        for rows in counts.watched(batches):
            columns = [rows.columns.get(column) for column in layout.columns]
            self._append(tree.add(columns, rows.length, rows.first_rowid))
        rest, root = tree.finish()
        self._append(rest)
        if root is not None:
            self._roots[layout.root_page] = root
        if layout.keys:
            self.statistics[name] = counts.statistics

    def _append(self, pages: bytes) -> None:
        before = (kernel.LOCK_PAGE - self._next_page) * PAGE_BYTES
        if 0 <= before < len(pages):
            pages = pages[:before] + bytes(PAGE_BYTES) + pages[before:]
            self._next_page -= 1
        self._pages.append(pages, self._pool)
        self._next_page += len(pages) // PAGE_BYTES

    def _finish(self) -> None:
        for number, page in self._roots.items():
            self._pages.put(number - 1, page)
        first = bytearray(self._pages.page(0))
        first[_PAGE_COUNT_AT : _PAGE_COUNT_AT + 4] = len(self._pages).to_bytes(4)
        self._pages.put(0, bytes(first))


class Inserts:
    """Fills tables by statements; SQLite maintains their indexes."""

    def __init__(self, pages: NewPages) -> None:
        self._database = connect(pages)
        self._layouts = _layouts(self._database)
        self.statistics: dict[str, str] = {}
        self._database.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self._database.execute("COMMIT")
        self._database.close()

    def fill(self, name: str, batches: Iterable[Rows]) -> None:
        """Insert rows into a table; for an index, which already has them, they are only counted."""
        layout = self._layouts[name]
        counts = _Counts(layout.columns[: layout.keys])
        for rows in counts.watched(batches):
            if layout.is_table:
                insert(self._database, name, _tuples(rows, layout))
        if layout.keys:
            self.statistics[name] = counts.statistics


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
            columns, keys = _stored_columns(database, name), 0
        else:
            rows: list[Any] = database.execute(
                "SELECT name, key FROM pragma_index_xinfo(?) ORDER BY seqno", (name,)
            ).fetchall()
            columns, keys = [column or "rowid" for column, _ in rows], sum(is_key for _, is_key in rows)
        made[name] = _Layout(
            root_page, columns, keys, bool(is_table and name not in without_rowid), bool(is_table)
        )
    return made


def _stored_columns(database: apsw.Connection, table: str) -> list[str]:
    # "hidden" is 2 or 3 of a column that is computed
    rows = database.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", (table,))
    return [str(name) for (name,) in rows]
