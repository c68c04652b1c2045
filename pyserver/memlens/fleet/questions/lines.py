"""Source lines across all snapshots: which snapshot has the most at a line, and how far the others are from it."""

from typing import Any, Literal

import apsw
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.fleet.place import natural
from memlens.texts import phrase

At = Literal["peak", "end"]

_MOST_DIGITS = 9
"""The most digits of a line number."""


class LineOfFleet(Struct, frozen=True):
    """What is charged to a line in the snapshots that have it; the median is of these snapshots only."""

    file: str
    line: int
    function: str
    code: str
    snapshots: int
    least_bytes: int
    median_bytes: int
    most_bytes: int
    most_name: str
    """The snapshot that has the most."""
    sum_bytes: int


class LineOfSnapshot(Struct, frozen=True):
    """What is charged to a line in one snapshot."""

    name: str
    rank: int | None
    file: str
    function: str
    peak_bytes: int
    end_bytes: int
    total_bytes: int
    count: int


def lines(fleet: apsw.Connection, at: At = "peak", search: str = "", limit: int = 30) -> list[LineOfFleet]:
    """The lines with the most in any snapshot, those whose file or function has all words of ``search``."""
    column = "peak_bytes" if at == "peak" else "end_bytes"
    words = search.lower().split()
    rows = fleet.execute(
        f"""
        SELECT f.text, l.line, g.text, c.text, l.snapshots, l.least, l.middle, l.most,
            (SELECT name FROM snapshots WHERE snapshot = l.snapshot), l.whole
        FROM (
            SELECT file, line, function, code, count(*) AS snapshots, min({column}) AS least,
                CAST(round(median({column})) AS INTEGER) AS middle, max({column}) AS most, snapshot,
                sum({column}) AS whole
            FROM lines_rows WHERE line > 0 GROUP BY file, line, function
        ) AS l JOIN names AS f ON f.number = l.file JOIN names AS g ON g.number = l.function
            JOIN names AS c ON c.number = l.code
        WHERE l.most > 0 {"".join(" AND instr(lower(f.text || ':' || l.line || ' ' || g.text), ?) > 0" for _ in words)}
        ORDER BY l.most DESC, f.text, l.line LIMIT ?
        """,
        (*words, limit),
    )
    return [LineOfFleet(*_extremes(fleet, column, row)) for row in rows]


def _extremes(fleet: apsw.Connection, column: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with the name of the snapshot with the maximum; with min and max in one query SQLite may return either."""
    file, line, function, *rest = row
    name = fleet.execute(
        f"""
        SELECT s.name FROM lines_rows AS l JOIN snapshots AS s USING (snapshot)
        WHERE l.file = (SELECT number FROM names WHERE text = ?) AND l.line = ?
            AND l.function = (SELECT number FROM names WHERE text = ?)
        ORDER BY l.{column} DESC, s.name LIMIT 1
        """,
        (file, line, function),
    ).get
    rest[5] = name
    return (file, line, function, *rest)


def line(fleet: apsw.Connection, place: str) -> list[LineOfSnapshot]:
    """A line's figures in each snapshot that has it, in the order of names. ``place`` is as ``train.py:46``.

    Raises :class:`BadRequestError`.
    """
    path, colon, number = place.rpartition(":")
    if not colon or not path or not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise BadRequestError(
            phrase("“{place}” is not a line", place=place), advice=phrase("Write it as train.py:46.")
        )
    rows = fleet.execute(
        """
        SELECT s.name, s.rank, f.text, g.text, l.peak_bytes, l.end_bytes, l.total_bytes, l.count
        FROM lines_rows AS l JOIN snapshots AS s USING (snapshot) JOIN names AS f ON f.number = l.file
            JOIN names AS g ON g.number = l.function
        WHERE l.line = ?2 AND (f.text = ?1 OR substr(f.text, -length(?1) - 1) IN ('/' || ?1, '\\' || ?1))
        """,
        (path, int(number)),
    )
    found = [LineOfSnapshot(*row) for row in rows]
    if not found:
        raise BadRequestError(
            phrase("No summary has the line {place}", place=place),
            advice=phrase("It may be among those that were left out."),
        )
    return sorted(found, key=lambda each: natural(each.name))
