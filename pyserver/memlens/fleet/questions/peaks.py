"""Which snapshot has the highest peak, which are outliers, and by which lines they differ from the median one.

An outlier is a snapshot whose peak is further from the median than 3 scaled median absolute deviations (the deviation
of a normal distribution is 1.4826 of them), and than 2% of the median. The median snapshot is the one whose peak is the
lower median.
"""

import statistics
from typing import Literal

import apsw
from msgspec import Struct

from memlens.fleet.place import natural
from memlens.fleet.tables import Status

DEVIATIONS = 3 * 1.4826
LEAST_SHARE = 0.02
MOST_LINES = 5

Sort = Literal["peak", "name", "rank", "time"]


class LineDifference(Struct, frozen=True):
    """What is charged to a line at the peak, here and in the median snapshot."""

    file: str
    line: int
    function: str
    bytes: int
    median_bytes: int
    difference_bytes: int


class PeakOfSnapshot(Struct, frozen=True):
    """A snapshot's peak. Outliers have ``lines``: those that differ most from the median snapshot."""

    snapshot: int
    name: str
    rank: int | None
    peak_bytes: int
    peak_unix_us: int | None
    end_bytes: int | None
    ooms: int
    from_median_bytes: int
    outlier: bool
    lines: list[LineDifference]


class SnapshotProblem(Struct, frozen=True):
    """A file that has no summary."""

    name: str
    status: Status
    problem: str


class PeaksAnswer(Struct, frozen=True):
    """All snapshots that were read, and the problems of the others.

    ``median`` is the name of the median snapshot, None without any; ``deviation_bytes`` the median absolute deviation.
    """

    median: str | None
    median_bytes: int
    deviation_bytes: int
    outliers: int
    rows: list[PeakOfSnapshot]
    problems: list[SnapshotProblem]


def peaks(fleet: apsw.Connection, sort: Sort = "peak") -> PeaksAnswer:
    """The peaks of all snapshots."""
    found = list(
        fleet.execute(
            "SELECT snapshot, name, rank, peak_bytes, peak_unix_us, end_bytes, ooms FROM snapshots "
            "WHERE status = 'ok' AND peak_bytes IS NOT NULL"
        )
    )
    problems = [
        SnapshotProblem(*row)
        for row in fleet.execute(
            "SELECT name, status, coalesce(problem, '') FROM snapshots WHERE status <> 'ok' ORDER BY name"
        )
    ]
    if not found:
        return PeaksAnswer(None, 0, 0, 0, [], problems)
    amounts = [row[3] for row in found]
    median_bytes = statistics.median_low(amounts)
    deviation = statistics.median_low([abs(amount - median_bytes) for amount in amounts])
    least = max(DEVIATIONS * deviation, LEAST_SHARE * median_bytes)
    middle = next(row for row in found if row[3] == median_bytes)
    rows = []
    for number, name, rank, amount, unix_us, end_bytes, ooms in found:
        is_outlier = abs(amount - median_bytes) > least
        lines = differences(fleet, number, middle[0]) if is_outlier else []
        rows.append(
            PeakOfSnapshot(
                number, name, rank, amount, unix_us, end_bytes, ooms, amount - median_bytes, is_outlier, lines
            )
        )
    rows.sort(key=lambda row: natural(row.name))
    match sort:
        case "peak":
            rows.sort(key=lambda row: -row.peak_bytes)
        case "rank":
            rows.sort(key=lambda row: (row.rank is None, row.rank or 0))
        case "time":
            rows.sort(key=lambda row: (row.peak_unix_us is None, row.peak_unix_us or 0))
        case "name":
            pass
    return PeaksAnswer(middle[1], median_bytes, deviation, sum(row.outlier for row in rows), rows, problems)


def differences(fleet: apsw.Connection, number: int, other: int) -> list[LineDifference]:
    """The lines that differ most between two snapshots at their peaks, including what is charged to no line."""
    rows = fleet.execute(
        """
        SELECT names.text, d.line, (SELECT text FROM names WHERE number = d.function), d.here, d.there, d.here - d.there
        FROM (
            SELECT file, line, function, sum(iif(snapshot = ?1, peak_bytes, 0)) AS here,
                sum(iif(snapshot = ?2, peak_bytes, 0)) AS there
            FROM lines_rows WHERE snapshot IN (?1, ?2) GROUP BY file, line, function
        ) AS d JOIN names ON names.number = d.file
        WHERE d.here <> d.there ORDER BY abs(d.here - d.there) DESC, names.text, d.line LIMIT ?3
        """,
        (number, other, MOST_LINES),
    )
    return [LineDifference(*row) for row in rows]
