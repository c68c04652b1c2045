"""``memlens-fleet.db``: the summaries of a fleet in SQLite, and how questions read them.

A summary is in it completely or not at all. Texts with few distinct values are in ``names``; the tables of
:mod:`memlens.fleet.tables` are views that contain the texts.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import apsw
import msgspec

from memlens.errors import BadRequestError, MemlensError
from memlens.fleet.schema import (
    AGAIN,
    APPLICATION,
    FleetError,
    check_database,
    has_impossible_numbers,
    has_wrong_values,
    statements,
    views,
)
from memlens.fleet.tables import (
    SCHEMA_KEY,
    SCHEMA_VERSION,
    SNAPSHOTS,
    TABLES,
    SnapshotRow,
    Status,
    Summary,
    columns_of,
)
from memlens.store.files.disk import make_folder, make_private, room_in
from memlens.store.files.output import RefusedError
from memlens.store.manifest import is_archive
from memlens.texts import phrase
from memlens.views.sql.confined import confine

FILE_NAME = "memlens-fleet.db"
LOCK_NAME = ".memlens-fleet.lock"

_COMMIT_S = 0.5
_MOST_VARIABLES = 1_000
"""Of our own questions."""
_MOST_SECONDS = 120.0
"""For our own questions to one database."""
_STEPS_BETWEEN_CHECKS = 100_000
_PARQUET_END_BYTES = 1 << 20


_ELSEWHERE = phrase("Choose another folder with --out.")


class Known(NamedTuple):
    """What is known of a file that has a row."""

    snapshot: int
    status: Status
    identity: str
    content: str | None
    size_bytes: int


def database_in(folder: Path) -> Path:
    """The database in a folder of summaries, or the database itself. Raises :class:`FleetError`."""
    try:
        path = folder / FILE_NAME if folder.is_dir() else folder
        is_there = path.is_file()
    except OSError as error:  # a name that is too long, or a folder that this user may not look into
        reason = error.strerror or str(error)
        raise FleetError(phrase("{path} can't be read: {reason}", path=folder, reason=reason)) from error
    if not is_there:
        raise FleetError(phrase("There are no summaries of a fleet in {folder}", folder=folder))
    return path


def open_fleet(folder: Path) -> apsw.Connection:
    """A read-only connection that doesn't trust the schema of the file.

    Raises :class:`FleetError`.
    """
    path = database_in(folder)
    try:
        connection = apsw.Connection(
            f"{path.absolute().as_uri()}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        connection.set_busy_timeout(5_000)
        # the file's own views are not used but replaced by what they should be
        confine(connection, views(temporary=True), variables=_MOST_VARIABLES)
        check_database(connection, path)
    except apsw.Error as error:
        raise FleetError(
            phrase("{path} can't be read: {reason}", path=path, reason=str(error)),
            advice=AGAIN,
        ) from error
    return connection


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[apsw.Connection]:
    """The connection of :func:`open_fleet`, which is closed afterwards. Raises :class:`FleetError`, also for damage."""
    with undamaged(folder), contextlib.closing(open_fleet(folder)) as connection:
        until = time.monotonic() + _MOST_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS_BETWEEN_CHECKS)
        if has_impossible_numbers(connection):
            raise apsw.CorruptError("a table has a number that no snapshot has")
        try:
            yield connection
        except (MemlensError, apsw.Error, MemoryError):
            raise
        except Exception as error:
            if has_wrong_values(connection):
                raise apsw.CorruptError("a table has values of another type") from error
            raise


@contextlib.contextmanager
def undamaged(folder: Path) -> Iterator[None]:
    """Raises :class:`FleetError` where the database in ``folder`` is damaged, or takes too much time or memory."""
    try:
        yield
    except (apsw.InterruptError, apsw.NoMemError, apsw.TooBigError) as error:
        raise FleetError(
            phrase("The summaries in {folder} take too much time or memory to read", folder=folder),
            advice=AGAIN,
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise FleetError(
            phrase("The summaries in {folder} are damaged: {reason}", folder=folder, reason=str(error)),
            advice=AGAIN,
        ) from error


class Database:
    """Summaries that are being written, by one process at a time."""

    def __init__(self, folder: Path, place: str) -> None:
        """Open or make the database in ``folder``. Raises :class:`FleetError`, BadRequestError and OSError."""
        path = folder / FILE_NAME
        with contextlib.ExitStack() as undo:
            if not folder.exists():
                undo.callback(_remove_empty, folder)
            make_folder(folder)
            self.folder = folder
            lock = _locked(folder)
            undo.callback(_unlock, folder, lock)
            _check_files(folder)
            is_new = not path.exists() or not path.stat().st_size
            if is_new:
                undo.callback(_remove_database, path)
            try:
                with room_in(folder, phrase("the summaries"), advice=_ELSEWHERE):
                    self._connection = apsw.Connection(str(path))
                    undo.callback(self._connection.close)
                    self._connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
                    self._connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
                    self._connection.set_busy_timeout(10_000)
                    # so that a full disk is noticed on the disk of the summaries
                    self._connection.pragma("temp_store", "memory")
                    if is_new:
                        make_private(path)
                        self._create(place)
                check_database(self._connection, path)
                self._of(place)
                names = self._connection.execute("SELECT text, number FROM names")
                self._names: dict[str, int] = dict(names)
            except apsw.Error as error:
                raise FleetError(
                    phrase("{path} can't be written: {reason}", path=path, reason=str(error)),
                    advice=_ELSEWHERE,
                ) from error
            # undone if no summary is ever written
            self._undo = undo.pop_all()
            self._lock = lock
        self._began: float | None = None

    def _create(self, place: str) -> None:
        with self._whole():
            for statement in statements():
                self._connection.execute(statement)
            self._connection.execute("INSERT INTO fleet VALUES (?)", (place,))
            self._connection.pragma("application_id", APPLICATION)
            self._connection.pragma("user_version", SCHEMA_VERSION)

    def _of(self, place: str) -> None:
        was = self._connection.execute("SELECT place FROM fleet").get
        if was.rstrip("/") != place.rstrip("/"):
            raise BadRequestError(
                phrase("{folder} already has the summaries of {was}", folder=self.folder, was=was),
                advice=_ELSEWHERE,
            )

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Write everything in the block, or nothing."""
        self._connection.execute("SAVEPOINT whole")
        try:
            yield
            self._connection.execute("RELEASE whole")
        except BaseException:
            # on a full disk SQLite itself may have rolled back everything since the last commit
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO whole")
                self._connection.execute("RELEASE whole")
            raise

    def known(self) -> dict[str, Known]:
        """The files that have a row, by name."""
        rows = self._connection.execute(
            f"SELECT name, snapshot, status, identity, content, size_bytes FROM {SNAPSHOTS}"
        )
        return {name: Known(*row) for name, *row in rows}

    def put(self, row: SnapshotRow, summary: Summary | None) -> None:
        """Replace a file's row and summary; durable after :meth:`commit`."""
        with room_in(self.folder, phrase("the summaries"), advice=_ELSEWHERE):
            if self._began is None:
                self._connection.execute("BEGIN IMMEDIATE")
                self._began = time.monotonic()
            with self._whole():
                self._remove(row.snapshot)
                self._insert(SNAPSHOTS, [msgspec.structs.astuple(row)])
                if summary is not None:
                    for table in TABLES:
                        rows = [
                            (row.snapshot, *msgspec.structs.astuple(each)) for each in getattr(summary, table)
                        ]
                        self._insert(table, rows)
        self.commit_if_due()

    def commit_if_due(self) -> None:
        """Commit if the last commit was long enough ago."""
        if self._began is not None and time.monotonic() - self._began >= _COMMIT_S:
            self.commit()

    def same(self, row: SnapshotRow, other: int) -> None:
        """Give a file the summary of another one with the same content, or keep its own if that is the one."""
        columns = {column.name for column in columns_of(SNAPSHOTS)} & set(Summary.__struct_fields__)
        with self._whole():
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
        """Make everything written so far durable, whatever happens to this process."""
        self._began = None
        # see _whole
        if self._connection.in_transaction:
            with room_in(self.folder, phrase("the summaries"), advice=_ELSEWHERE):
                self._connection.execute("COMMIT")

    @property
    def is_empty(self) -> bool:
        """Whether it is complete and no file has a row."""
        try:
            return self._connection.execute(f"SELECT 1 FROM {SNAPSHOTS} LIMIT 1").fetchone() is None
        except apsw.Error:
            return False

    def rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, with texts and not their numbers."""
        names = ", ".join(column.name for column in columns_of(table))
        yield from self._connection.execute(f"SELECT {names} FROM {table} ORDER BY snapshot")

    def close(self) -> None:
        """Commit, and let other processes write. A database without rows is removed if it was created here."""
        try:
            self.commit()
        finally:
            if not self.is_empty:
                self._undo.pop_all()
                self._undo.callback(_unlock, self.folder, self._lock)
                self._undo.callback(self._connection.close)
            self._undo.close()

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
    """Lock the folder against other writers until the returned file is unlocked. Raises FleetError."""
    path = folder / LOCK_NAME
    while True:
        file = path.open("ab")
        if os.name == "nt":
            return file
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # its last holder may have removed it since it was opened
            if _is_at(path, file):
                return file
        except BlockingIOError as error:
            file.close()
            raise FleetError(
                phrase("Another memlens fleet is writing to {folder}", folder=folder),
                advice=phrase("Wait for it, or choose another folder by --out."),
            ) from error
        except OSError:
            return file  # a file system without locks
        file.close()


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _unlock(folder: Path, file: BinaryIO) -> None:
    with contextlib.suppress(OSError):
        (folder / LOCK_NAME).unlink()
    file.close()


def _check_files(folder: Path) -> None:
    """Raise :class:`RefusedError` where summaries would take the place of files that aren't summaries.

    A folder that has summaries may come from anybody, with a link among them to any file of the user's.
    """
    if is_archive(folder):
        raise RefusedError(phrase("{folder} is an archive of Memlens", folder=folder), advice=_ELSEWHERE)
    for table in (SNAPSHOTS, *TABLES):
        file = folder / f"{table}.parquet"
        if os.path.lexists(file) and not _is_of_summaries(file):
            raise RefusedError(
                phrase("{file} would be overwritten, but isn't part of a fleet's summaries", file=file),
                advice=_ELSEWHERE,
            )


def _is_of_summaries(file: Path) -> bool:
    """Whether a Parquet file has the schema's version in its end, as those that are written here do."""
    if not file.is_file():
        return False
    try:
        with file.open("rb") as opened:
            opened.seek(max(file.stat().st_size - _PARQUET_END_BYTES, 0))
            return SCHEMA_KEY.encode() in opened.read()
    except OSError:
        return False


def _remove_database(path: Path) -> None:
    for each in (path, path.with_name(f"{path.name}-journal")):
        with contextlib.suppress(OSError):
            each.unlink()


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
