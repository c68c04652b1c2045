"""Makes the archive's tables for people, beside the columns, when SQL is first wanted.

They are databases, as ``table_schema.py`` divides them; each file appears as :mod:`memlens.store.artefacts` says. What
is long goes from columns to the files' pages in stretches, so memory does not grow with the snapshot but for the order
of an index: 24 bytes an allocation. What the columns mean is said in ``tables.sql``.
"""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import apsw

from memlens.kernels.base.sqlite_trees import Texts
from memlens.progress import Report
from memlens.store import artefacts
from memlens.store.database_file import Inserts, Trees, connect
from memlens.store.manifest import InconsistentError
from memlens.store.models import categories_of
from memlens.store.snapshot import Snapshot
from memlens.store.table_schema import FILE_NAMES, PARTS, Part, statements
from memlens.store.tables_long import fill_allocations, fill_base, fill_events
from memlens.store.tables_short import fill_short

TABLES_VERSION = 5
"""Kept in each database's ``user_version``; tables of another version are made anew."""

_LONGEST_TEXT_BYTES = 200
"""What a page takes without a thought: a row has at most four texts, and two dozen numbers."""


def are_filled(archive: Path, parts: Iterable[Part] = PARTS, *, relabelled: int = 0) -> bool:
    """Whether the archive has these tables, of this version, and with the kinds of :attr:`Snapshot.relabelled`."""
    return all(_numbers(archive / FILE_NAMES[part]) == (TABLES_VERSION, relabelled) for part in parts)


def remove(archive: Path) -> None:
    """Remove the tables, because they are damaged."""
    for name in FILE_NAMES.values():
        (archive / name).unlink(missing_ok=True)


def _numbers(path: Path) -> tuple[int, int] | None:
    """The version of a database and the kinds that it was made with, None where there is no database."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return None
    # "The Database File Format" of SQLite: big-endian numbers, the user version at byte 60, the application's at 68
    if header[:16] != b"SQLite format 3\0":
        return None
    return int.from_bytes(header[60:64]), int.from_bytes(header[68:72])


def fill(snapshot: Snapshot, report: Report, parts: Iterable[Part] = PARTS) -> None:
    """Make these tables, unless they are there; ``report`` gets ``("filling", fraction)``.

    Raises :class:`InconsistentError`, apsw.Error and OSError; the part is not left behind half made then.
    """
    missing = [
        part for part in parts if not are_filled(snapshot.archive, (part,), relabelled=snapshot.relabelled)
    ]
    for number, part in enumerate(missing):

        def scaled(stage: str, fraction: float, number: int = number) -> None:
            report(stage, (number + fraction) / len(missing))

        _fill(snapshot, part, scaled)


def _fill(snapshot: Snapshot, part: Part, report: Report) -> None:
    report("filling", 0.0)
    with artefacts.appearing(snapshot.archive, FILE_NAMES[part]) as partial:
        with closing(connect(partial)) as database, database:
            _execute(database, part, "TABLE")
            if part == "base":
                fill_short(snapshot, database)
            _execute(database, part, "INDEX")
        try:
            with _filler(snapshot, partial) as filler:
                match part:
                    case "base":
                        fill_base(snapshot, filler)
                    case "events":
                        fill_events(snapshot, filler, report)
                    case "allocations":
                        fill_allocations(snapshot, filler, report)
        except (IndexError, ValueError, apsw.ConstraintError) as error:
            # a number that names nothing
            raise InconsistentError(f"The tables for SQL can't be made: {error}") from error
        with closing(connect(partial)) as database, database:
            # the planner then knows which actions are rare; a sample is enough for that
            database.pragma("analysis_limit", 1_000)
            database.execute("ANALYZE")
            database.pragma("application_id", snapshot.relabelled)
            database.pragma("user_version", TABLES_VERSION)


def _execute(database: apsw.Connection, part: Part, kind: str) -> None:
    for statement in statements():
        if statement.kind == kind and statement.part == part:
            database.execute(statement.sql)


def _filler(snapshot: Snapshot, path: Path) -> Trees | Inserts:
    """Statements, where a name that the file chose is too long for the pages that are written here."""
    names = Texts([*snapshot.manifest.actions, *categories_of(snapshot.info)])
    return Inserts(path) if names.longest_bytes > _LONGEST_TEXT_BYTES else Trees(path)
