"""``memlens-fleet.db``: the summaries of a fleet as they come, in SQLite, and the questions' way to read them.

A summary is in it whole or not at all. Texts of which there are few are in ``names``; the tables of
:mod:`memlens.fleet.tables` are views with the texts in their places.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, get_args

import apsw
import msgspec
from msgspec import Struct

from memlens.errors import BadRequestError, MemlensError
from memlens.fleet.tables import (
    SCHEMA_VERSION,
    SNAPSHOTS,
    TABLES,
    Column,
    SnapshotRow,
    Status,
    Summary,
    columns_of,
)
from memlens.store.files.disk import make_folder, make_private, room_in

FILE_NAME = "memlens-fleet.db"
LOCK_NAME = ".memlens-fleet.lock"

_APPLICATION = 0x4D4C464C
_COMMIT_S = 0.5
_SQL_TYPES = {"integer": "INTEGER", "real": "REAL", "text": "TEXT", "boolean": "INTEGER"}


class FleetError(MemlensError):
    """There are no summaries where they are looked for, or they can't be read."""

    code = "fleet"
    advice = "Make them with memlens fleet PLACE."


class Known(NamedTuple):
    """What is known of a file that has a row."""

    snapshot: int
    status: Status
    identity: str
    content: str | None
    size_bytes: int


class Fleet(Struct, frozen=True):
    """What the summaries as a whole are of."""

    place: str


def database_in(folder: Path) -> Path:
    """The database in a folder of summaries, or the database itself. Raises :class:`FleetError`."""
    path = folder / FILE_NAME if folder.is_dir() else folder
    if not path.is_file():
        raise FleetError(f"There are no summaries of a fleet in {folder}")
    return path


def open_fleet(folder: Path) -> apsw.Connection:
    """A connection that can only read, in which the schema of whoever wrote the file is not trusted.

    Raises :class:`FleetError`.
    """
    path = database_in(folder)
    try:
        connection = apsw.Connection(
            f"{path.absolute().as_uri()}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.set_busy_timeout(5_000)
        _check(connection, path)
        # the views of the file are not used: these are what they should be
        for statement in _views(temporary=True):
            connection.execute(statement)
        connection.execute("PRAGMA query_only = 1")
    except apsw.Error as error:
        raise FleetError(
            f"{path} can't be read: {error}", advice="Make the summaries again, in another folder."
        ) from error
    return connection


def _check(connection: apsw.Connection, path: Path) -> None:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application != _APPLICATION:
        raise FleetError(f"{path} has no summaries of a fleet")
    if version != SCHEMA_VERSION:
        raise FleetError(
            f"The summaries in {path.parent} are of another version of Memlens",
            advice="Make them again, in another folder.",
        )


class Database:
    """Summaries that are being written, by one process at a time."""

    def __init__(self, folder: Path, place: str) -> None:
        """Open or make the database in ``folder``. Raises :class:`FleetError`, BadRequestError and OSError."""
        make_folder(folder)
        self.folder = folder
        self._lock = _locked(folder)
        path = folder / FILE_NAME
        try:
            is_new = not path.exists() or not path.stat().st_size
            with room_in(folder, "the summaries", advice="Choose another folder by --out."):
                self._connection = apsw.Connection(str(path))
                self._connection.set_busy_timeout(10_000)
                if is_new:
                    make_private(path)
                    self._create(place)
            _check(self._connection, path)
            self._of(place)
        except apsw.Error as error:
            self._lock.close()
            raise FleetError(
                f"{path} can't be written: {error}", advice="Choose another folder by --out."
            ) from error
        except BaseException:
            self._lock.close()
            raise
        self._names: dict[str, int] = dict(self._connection.execute("SELECT text, number FROM names"))
        self._began: float | None = None

    def _create(self, place: str) -> None:
        with self._connection:
            self._connection.execute("CREATE TABLE fleet (place TEXT NOT NULL)")
            self._connection.execute("INSERT INTO fleet VALUES (?)", (place,))
            self._connection.execute(
                "CREATE TABLE names (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"
            )
            self._connection.execute(
                f"CREATE TABLE {SNAPSHOTS} ({_declared(columns_of(SNAPSHOTS))}, PRIMARY KEY (snapshot), UNIQUE (name))"
            )
            for table in TABLES:
                self._connection.execute(f"CREATE TABLE {table}_rows ({_declared(columns_of(table))})")
                self._connection.execute(f"CREATE INDEX {table}_of ON {table}_rows (snapshot)")
            for statement in _views(temporary=False):
                self._connection.execute(statement)
            self._connection.pragma("application_id", _APPLICATION)
            self._connection.pragma("user_version", SCHEMA_VERSION)

    def _of(self, place: str) -> None:
        was = self._connection.execute("SELECT place FROM fleet").get
        if was != place:
            raise BadRequestError(
                f"{self.folder} has the summaries of {was}", advice="Choose another folder by --out."
            )

    def known(self) -> dict[str, Known]:
        """The files that have a row, by name."""
        rows = self._connection.execute(
            f"SELECT name, snapshot, status, identity, content, size_bytes FROM {SNAPSHOTS}"
        )
        return {name: Known(*row) for name, *row in rows}

    def put(self, row: SnapshotRow, summary: Summary | None) -> None:
        """Write a file's row and summary in the place of what there was; they stand after :meth:`commit`."""
        with room_in(self.folder, "the summaries", advice="Choose another folder by --out."):
            if self._began is None:
                self._connection.execute("BEGIN IMMEDIATE")
                self._began = time.monotonic()
            with self._connection:
                self._remove(row.snapshot)
                self._insert(SNAPSHOTS, [msgspec.structs.astuple(row)])
                if summary is not None:
                    for table in TABLES:
                        rows = [
                            (row.snapshot, *msgspec.structs.astuple(each)) for each in getattr(summary, table)
                        ]
                        self._insert(table, rows)
            if time.monotonic() - self._began >= _COMMIT_S:
                self.commit()

    def same(self, row: SnapshotRow, other: int) -> None:
        """Give a file the summary of another one with the same content; its own may be that."""
        columns = {column.name for column in columns_of(SNAPSHOTS)} & set(Summary.__struct_fields__)
        with self._connection:
            (was,) = self._connection.execute(
                f"SELECT {', '.join(SnapshotRow.__struct_fields__)} FROM {SNAPSHOTS} WHERE snapshot = ?",
                (other,),
            )
            of_summary = dict(zip(SnapshotRow.__struct_fields__, was, strict=True))
            kept = {name: of_summary[name] for name in (*columns, "ooms", "steps")}
            self._connection.execute(f"DELETE FROM {SNAPSHOTS} WHERE snapshot = ?", (row.snapshot,))
            self._insert(SNAPSHOTS, [msgspec.structs.astuple(msgspec.structs.replace(row, **kept))])
            if other != row.snapshot:
                for table in TABLES:
                    self._connection.execute(f"DELETE FROM {table}_rows WHERE snapshot = ?", (row.snapshot,))
                    rest = ", ".join(column.name for column in columns_of(table)[1:])
                    self._connection.execute(
                        f"INSERT INTO {table}_rows SELECT ?, {rest} FROM {table}_rows WHERE snapshot = ?",
                        (row.snapshot, other),
                    )

    def next_number(self) -> int:
        """A number that no file has."""
        return int(self._connection.execute(f"SELECT coalesce(max(snapshot) + 1, 0) FROM {SNAPSHOTS}").get)

    def commit(self) -> None:
        """Let what was put stand, whatever happens to this process."""
        if self._began is not None:
            self._connection.execute("COMMIT")
            self._began = None

    def rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, with texts in their places."""
        names = ", ".join(column.name for column in columns_of(table))
        yield from self._connection.execute(f"SELECT {names} FROM {table} ORDER BY snapshot")

    def close(self) -> None:
        """Let what was put stand, and let others write."""
        try:
            self.commit()
        finally:
            self._connection.close()
            with contextlib.suppress(OSError):
                (self.folder / LOCK_NAME).unlink()
            self._lock.close()

    def _remove(self, snapshot: int) -> None:
        self._connection.execute(f"DELETE FROM {SNAPSHOTS} WHERE snapshot = ?", (snapshot,))
        for table in TABLES:
            self._connection.execute(f"DELETE FROM {table}_rows WHERE snapshot = ?", (snapshot,))

    def _insert(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        columns = columns_of(table)
        named = [place for place, column in enumerate(columns) if column.named]
        marks = ", ".join("?" * len(columns))
        target = table if table == SNAPSHOTS else f"{table}_rows"
        self._connection.executemany(
            f"INSERT INTO {target} VALUES ({marks})", (self._numbered(row, named) for row in rows)
        )

    def _numbered(self, row: tuple[Any, ...], named: list[int]) -> tuple[Any, ...]:
        if not named:
            return row
        values = list(row)
        for place in named:
            values[place] = self._number(values[place])
        return tuple(values)

    def _number(self, text: str) -> int:
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names)
            self._connection.execute("INSERT INTO names VALUES (?, ?)", (number, text))
        return number


def _locked(folder: Path) -> BinaryIO:
    """Keep other processes from writing there until the file that is returned is closed. Raises FleetError."""
    file = (folder / LOCK_NAME).open("ab")
    if os.name != "nt":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise FleetError(
                f"Another memlens fleet is writing to {folder}",
                advice="Wait for it, or choose another folder by --out.",
            ) from error
        except OSError:
            pass  # a file system without locks
    return file


def _declared(columns: tuple[Column, ...]) -> str:
    return ", ".join(
        f"{column.name} {'INTEGER' if column.named else _SQL_TYPES[column.type]}"
        f"{'' if column.optional else ' NOT NULL'}"
        for column in columns
    )


def _views(*, temporary: bool) -> Iterator[str]:
    """The tables as views with the texts in their places."""
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


STATUSES: tuple[Status, ...] = get_args(Status)
