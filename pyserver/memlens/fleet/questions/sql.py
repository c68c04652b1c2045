"""SQL queries on the summaries, on a read-only connection."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from memlens.fleet.database import open_fleet
from memlens.fleet.tables import SNAPSHOTS, TABLES
from memlens.texts import as_text, phrase
from memlens.views.sql.query import FUNCTIONS, SqlError, first_statement

_READABLE = frozenset(
    (SNAPSHOTS, "fleet", "names", *TABLES, *(f"{table}_rows" for table in TABLES), "json_each")
)
_ALLOWED = frozenset((apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE))


def query(folder: Path, statement: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The names of the columns, and an iterator of the rows. Raises :class:`SqlError` and FleetError."""
    connection = open_fleet(folder)
    connection.authorizer = _authorize
    try:
        first, columns, is_explain = first_statement(connection, statement)
        if statement[len(first) :].strip("; \t\r\n"):
            raise SqlError(phrase("One statement at a time"), advice=phrase("Run them one by one."))
        if is_explain or not columns:
            raise SqlError(phrase("The query has no rows"), advice=phrase("Write a SELECT."))
        cursor = connection.cursor().execute(statement)
        names = [name for name, _ in columns]
    except apsw.Error as error:
        raise SqlError(as_text(str(error).removeprefix("SQLError: "))) from error
    return names, _rows(cursor)


def _rows(cursor: apsw.Cursor) -> Iterator[tuple[Any, ...]]:
    try:
        yield from cursor
    except apsw.Error as error:
        raise SqlError(as_text(str(error))) from error


def _authorize(
    action: int, first: str | None, second: str | None, _database: str | None, _by: str | None
) -> int:
    if action in _ALLOWED:
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_READ and (not first or first.lower() in _READABLE):
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS:
        return apsw.SQLITE_OK
    return apsw.SQLITE_DENY
