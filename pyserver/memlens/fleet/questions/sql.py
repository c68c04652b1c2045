"""SQL queries on the summaries, confined as those on a snapshot are."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from memlens.fleet.database import open_fleet
from memlens.fleet.tables import SNAPSHOTS, TABLES
from memlens.texts import as_text, phrase
from memlens.views.sql.confined import (
    FUNCTIONS,
    check_text,
    first_statement,
    is_counted_only,
    is_nothing,
    limit_error,
    modules_of,
)
from memlens.views.sql.pages import SqlError

_READABLE = frozenset(
    (SNAPSHOTS, "fleet", "names", *TABLES, *(f"{table}_rows" for table in TABLES), "json_each")
)
_ALLOWED = frozenset((apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE))


def query(folder: Path, statement: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The names of the columns, and an iterator of the rows. Raises :class:`SqlError` and FleetError."""
    check_text(statement)
    connection = open_fleet(folder)
    connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, 0)
    connection.authorizer = partial(_authorize, modules_of(connection))
    try:
        first, columns, is_explain = first_statement(connection, statement)
        if not is_nothing(statement[len(first) :]):
            raise SqlError(phrase("One statement at a time"), advice=phrase("Run them one by one."))
        if is_explain or not columns:
            raise SqlError(phrase("The query has no rows"), advice=phrase("Write a SELECT."))
        cursor = connection.cursor().execute(first)
        names = [name for name, _ in columns]
    except apsw.Error as error:
        raise _problem(error) from error
    return names, _rows(cursor)


def _rows(cursor: apsw.Cursor) -> Iterator[tuple[Any, ...]]:
    try:
        yield from cursor
    except apsw.Error as error:
        raise _problem(error) from error


def _problem(error: apsw.Error) -> SqlError:
    return limit_error(error) or SqlError(as_text(str(error).removeprefix("SQLError: ")))


def _authorize(
    modules: frozenset[str],
    action: int,
    first: str | None,
    second: str | None,
    _database: str | None,
    _by: str | None,
) -> int:
    if action in _ALLOWED:
        return apsw.SQLITE_OK
    table = (first or "").lower()
    if action == apsw.SQLITE_READ and (table in _READABLE or is_counted_only(table, second, modules)):
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS:
        return apsw.SQLITE_OK
    return apsw.SQLITE_DENY
