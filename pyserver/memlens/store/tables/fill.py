"""Makes the archive's tables for SQL, beside the columns, when they are first needed.

They are databases, as divided by ``schema.py``, compressed page by page; each file is an artefact, see :data:`TABLES`.
Long tables are written from columns to the files' pages in ranges, so memory does not grow with the snapshot, except
for the order of an index: 24 bytes an allocation. ``tables.sql`` describes the columns.
"""

import functools
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import apsw

from memlens.kernels.base.sqlite_trees import Texts
from memlens.progress import Report
from memlens.store.artefacts import Artefact
from memlens.store.manifest import InconsistentError, Origin
from memlens.store.models import categories_of, heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables.database_file import Inserts, Trees, connect
from memlens.store.tables.graph import (
    fill_objects,
    fill_references,
    fill_roots_and_types,
    fill_strings,
    fill_threads,
    graph_texts,
)  # fmt: skip
from memlens.store.tables.long import fill_allocations, fill_base, fill_events
from memlens.store.tables.packed_pages import NewPages, packed
from memlens.store.tables.schema import FILE_NAMES, PARTS, PARTS_OF, Part, statements
from memlens.store.tables.short import fill_short

TABLES_VERSION = 25
"""Raised whenever the tables of an archive would differ; those of another version are made again."""

_LONGEST_TEXT_BYTES = 200
"""The longest text that always fits a page: a row has at most four texts, and two dozen numbers."""


def are_filled(origin: Origin, parts: Iterable[Part] = PARTS) -> bool:
    """Whether the archive has these tables, of this version and with these kinds."""
    return all(TABLES[part].is_current(origin) for part in parts)


def remove(archive: Path) -> None:
    """Remove the tables, because they are damaged."""
    for table in TABLES.values():
        table.drop(archive)


def fill(snapshot: Snapshot, report: Report, parts: Iterable[Part] = PARTS) -> bool:
    """Make those of these tables that don't exist, and return whether there were any.

    ``report`` is called with ``("filling", fraction)``.
    Raises :class:`InconsistentError`, apsw.Error and OSError; then no unfinished part is left.
    """
    missing = [part for part in parts if not are_filled(snapshot.origin, (part,))]
    for number, part in enumerate(missing):

        def scaled(stage: str, fraction: float, number: int = number) -> None:
            report(stage, (number + fraction) / len(missing))

        TABLES[part].write(snapshot, scaled)
    return bool(missing)


def _fill(part: Part, snapshot: Snapshot, path: Path, report: Report) -> None:
    with packed(path) as pages:
        _fill_database(part, snapshot, pages, report)


def _fill_database(part: Part, snapshot: Snapshot, pages: NewPages, report: Report) -> None:
    report("filling", 0.0)
    with closing(connect(pages)) as database, database:
        _execute(database, part, "TABLE")
        if part == "base":
            fill_short(snapshot, database)
            if heap_dump_of(snapshot.info) is not None:
                fill_roots_and_types(snapshot, database)
                fill_threads(snapshot, database)
        _execute(database, part, "INDEX")
    statistics = _fill_rows(part, snapshot, pages, report) if part in PARTS_OF[snapshot.info.model] else {}
    with closing(connect(pages)) as database, database:
        # so that the planner knows which actions are rare; of short tables a sample is enough
        database.pragma("analysis_limit", 1_000)
        database.execute("ANALYZE")
        for index, counted in statistics.items():
            database.execute("UPDATE sqlite_stat1 SET stat = ? WHERE idx = ?", (counted, index))


def _fill_rows(part: Part, snapshot: Snapshot, pages: NewPages, report: Report) -> dict[str, str]:
    """Fill the long tables of a part. Returns the statistics of their indexes."""
    try:
        with _filler(snapshot, part, pages) as filler:
            match part:
                case "base":
                    fill_base(snapshot, filler)
                case "events":
                    fill_events(snapshot, filler, report)
                case "allocations":
                    fill_allocations(snapshot, filler, report)
                case "objects":
                    fill_objects(snapshot, filler, report)
                case "refs":
                    fill_references(snapshot, filler, report)
                case "strings":
                    fill_strings(snapshot, filler)
            return filler.statistics
    except (IndexError, ValueError, apsw.ConstraintError) as error:
        # a number without a meaning
        raise InconsistentError(f"The tables for SQL can't be made: {error}") from error


TABLES: dict[Part, Artefact] = {
    part: Artefact(FILE_NAMES[part], TABLES_VERSION, functools.partial(_fill, part)) for part in PARTS
}


def _execute(database: apsw.Connection, part: Part, kind: str) -> None:
    for statement in statements():
        if statement.kind == kind and statement.part == part:
            database.execute(statement.sql)


def _filler(snapshot: Snapshot, part: Part, pages: NewPages) -> Trees | Inserts:
    """Use statements if a text from the file may be too long for the pages that we write."""
    if part == "strings":
        return Inserts(pages)
    names = Texts([*snapshot.manifest.actions, *categories_of(snapshot.info), *graph_texts(snapshot, part)])
    return Inserts(pages) if names.longest_bytes > _LONGEST_TEXT_BYTES else Trees(pages)
