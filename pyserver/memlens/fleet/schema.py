"""What the database of a fleet's summaries has, and how one is recognised that has anything else.

The file may come from anybody. Its tables are read as they are known here, by name and by column; SQLite keeps any
value in any column, so these are looked at where an answer fails.
"""

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from memlens.errors import MemlensError
from memlens.fleet.tables import SCHEMA_VERSION, SNAPSHOTS, TABLES, Column, columns_of
from memlens.model.profile import MOST_VALUE
from memlens.texts import phrase

AGAIN = phrase("Make the summaries again, in another folder.")
APPLICATION = 0x4D4C464C

_SQL_TYPES = {"integer": "INTEGER", "real": "REAL", "text": "TEXT", "boolean": "INTEGER"}
_KINDS = {"integer": "'integer'", "real": "'real', 'integer'", "text": "'text'", "boolean": "'integer'"}
"""The types of SQLite's values that a column may have."""


class FleetError(MemlensError):
    """There are no summaries at a path, or they can't be read."""

    code = "fleet"
    advice = phrase("Make them with memlens fleet PLACE.")


def check_database(connection: apsw.Connection, path: Path) -> None:
    """Check that a database is one of summaries, and nothing else. Raises :class:`FleetError`."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application != APPLICATION:
        raise FleetError(phrase("{path} has no summaries of a fleet", path=path))
    if version != SCHEMA_VERSION:
        raise FleetError(
            phrase("The summaries in {parent} are of another version of Memlens", parent=path.parent),
            advice=AGAIN,
        )
    _check_schema(connection, path)


def _check_schema(connection: apsw.Connection, path: Path) -> None:
    """Check that a database has exactly what :meth:`Database._create` makes.

    Whoever sent it may have written anything in their place: a view without end, or a trigger.
    """
    expected = _schema()
    found: list[Any] = connection.execute("SELECT name, tbl_name, sql FROM main.sqlite_schema").fetchall()
    for name, table, sql in found:
        # indexes of UNIQUE and PRIMARY KEY have no text
        is_own = sql is None and name.startswith(f"sqlite_autoindex_{table}_")
        if not is_own and expected.get(name, "") != sql:
            break
    else:
        name = next(iter(expected.keys() - {name for name, _, _ in found}), None)
    if name is not None:
        raise FleetError(
            phrase(
                "{path} doesn't have the tables of a fleet's summaries: {name} differs", path=path, name=name
            ),
            advice=AGAIN,
        )


@functools.cache
def _schema() -> dict[str, str]:
    """The statements that made each table, index and view, as SQLite keeps them."""
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        for statement in statements():
            connection.execute(statement)
        rows: list[Any] = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
        ).fetchall()
        return dict(rows)


def has_wrong_values(connection: apsw.Connection) -> bool:
    """Whether a table has values of other types than its columns, or numbers without a name.

    SQLite keeps any value in any column.
    """
    connection.set_progress_handler(None)
    for table in (SNAPSHOTS, *TABLES):
        rows = f"main.{table}" if table == SNAPSHOTS else f"main.{table}_rows"
        wrong = []
        for column in columns_of(table):
            kinds = "'integer'" if column.named else _KINDS[column.type]
            null = f"{column.name} IS NOT NULL AND " if column.optional else ""
            wrong.append(f"({null}typeof({column.name}) NOT IN ({kinds}))")
            if column.named:
                wrong.append(f"({null}{column.name} NOT IN (SELECT number FROM main.names))")
        if connection.execute(f"SELECT EXISTS (SELECT 1 FROM {rows} WHERE {' OR '.join(wrong)})").get:
            return True
    return bool(
        connection.execute(
            "SELECT EXISTS (SELECT 1 FROM main.names WHERE typeof(text) <> 'text')"
            " OR (SELECT count(*) <> 1 OR max(typeof(place)) <> 'text' FROM main.fleet)"
        ).get
    )


def has_impossible_numbers(connection: apsw.Connection) -> bool:
    """Whether a table has a number that no summary has: its amounts and times are less than :data:`MOST_VALUE`."""
    for table in (SNAPSHOTS, *TABLES):
        rows = f"main.{table}" if table == SNAPSHOTS else f"main.{table}_rows"
        columns = [column.name for column in columns_of(table) if column.type in ("integer", "real")]
        ends = ", ".join(f"min({name}), max({name})" for name in columns)
        found: tuple[object, ...] = connection.execute(f"SELECT {ends} FROM {rows}").fetchall()[0]
        # SQLite keeps texts in any column, too
        if any(isinstance(end, int | float) and not -MOST_VALUE < end < MOST_VALUE for end in found):
            return True
    return False


def _declared(columns: tuple[Column, ...]) -> str:
    return ", ".join(
        f"{column.name} {'INTEGER' if column.named else _SQL_TYPES[column.type]}"
        f"{'' if column.optional else ' NOT NULL'}"
        for column in columns
    )


def statements() -> Iterator[str]:
    """The statements that make an empty database. Whoever changes one raises SCHEMA_VERSION."""
    yield "CREATE TABLE fleet (place TEXT NOT NULL)"
    yield "CREATE TABLE names (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"
    yield f"CREATE TABLE {SNAPSHOTS} ({_declared(columns_of(SNAPSHOTS))}, PRIMARY KEY (snapshot), UNIQUE (name))"
    for table in TABLES:
        yield f"CREATE TABLE {table}_rows ({_declared(columns_of(table))})"
        yield f"CREATE INDEX {table}_of ON {table}_rows (snapshot)"
    yield from views(temporary=False)


def views(*, temporary: bool) -> Iterator[str]:
    """The tables as views that contain the texts."""
    for table in TABLES:
        columns = columns_of(table)
        shown = ", ".join(
            f"(SELECT text FROM main.names WHERE number = r.{column.name}) AS {column.name}"
            if column.named
            else f"r.{column.name}"
            for column in columns
        )
        if temporary:
            yield f"CREATE TEMP VIEW {table} AS SELECT {shown} FROM main.{table}_rows AS r"
        else:
            plain = shown.replace("main.", "")
            yield f"CREATE VIEW {table} AS SELECT {plain} FROM {table}_rows AS r"
