"""A source file's lines over all ranks, which an editor shows beside the source."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, cast

import apsw
import numpy as np

from memlens.arrays import F64
from memlens.fleet.tables import SNAPSHOTS

At = Literal["peak", "total"]


class OverRanks(NamedTuple):
    """The maximum over ranks, the rank that has it, and the median of the ``ranks`` that have anything there."""

    snapshot: int
    name: str
    most_bytes: int
    median_bytes: int
    ranks: int


class FileOverRanks(NamedTuple):
    """What is charged to the lines of a file, by rank: a row for each line and function, a column for each rank.

    A rank whose summary lacks a line has 0 there as well; matrices are float64.
    """

    lines: list[tuple[int, str]]
    """Line, from 1, and function, in order."""
    snapshots: list[tuple[int, str]]
    """Numbers and names of the ranks."""
    peak_bytes: F64
    total_bytes: F64

    def over(self, rows: Sequence[int], at: At) -> OverRanks | None:
        """The sum of these rows; None if no rank has anything there."""
        by_rank = (self.peak_bytes if at == "peak" else self.total_bytes)[list(rows)].sum(axis=0)
        having = by_rank[by_rank > 0]
        if not len(having):
            return None
        most = int(by_rank.argmax())
        return OverRanks(
            *self.snapshots[most], round(float(by_rank[most])), round(float(np.median(having))), len(having)
        )


class WholeFleet(NamedTuple):
    """How many snapshots were summarised, and the maximum of any of them."""

    snapshots: int
    peak_bytes: int
    total_bytes: int

    def most_bytes(self, at: At) -> int:
        """The maximum of a measure."""
        return self.peak_bytes if at == "peak" else self.total_bytes


def whole(fleet: apsw.Connection) -> WholeFleet:
    """The totals that the lines of a file are compared with."""
    ((count, peak),) = cast(
        "list[tuple[int, int]]",
        fleet.execute(
            f"SELECT count(*), coalesce(max(peak_bytes), 0) FROM {SNAPSHOTS} WHERE status = 'ok'"
        ).fetchall(),
    )
    total: Any = fleet.execute(
        "SELECT coalesce(max(total), 0) FROM (SELECT sum(total_bytes) AS total FROM lines_rows GROUP BY snapshot)"
    ).get
    return WholeFleet(count, peak, total)


def files(fleet: apsw.Connection) -> list[str]:
    """The source files in the summaries, those with the most in any of them first."""
    rows: Iterable[Any] = fleet.execute(
        "SELECT n.text FROM lines_rows AS l JOIN names AS n ON n.number = l.file WHERE l.line > 0 "
        "GROUP BY l.file ORDER BY max(max(l.peak_bytes, l.total_bytes)) DESC, n.text"
    )
    return [text for (text,) in rows]


def file_over_ranks(fleet: apsw.Connection, names: Sequence[str]) -> FileOverRanks:
    """The lines of a file; ``names`` are all spellings of it in the ranks."""
    rows: list[Any] = fleet.execute(
        """
        SELECT l.line, g.text, l.snapshot, sum(l.peak_bytes), sum(l.total_bytes)
        FROM lines_rows AS l JOIN names AS g ON g.number = l.function
        WHERE l.line > 0 AND l.file IN (
            SELECT number FROM names WHERE text IN (SELECT value FROM json_each(?))
        )
        GROUP BY l.line, g.text, l.snapshot
        """,
        (json.dumps(list(names)),),
    ).fetchall()
    lines = sorted({(line, function) for line, function, *_ in rows})
    ranks: dict[Any, Any] = dict(fleet.execute(f"SELECT snapshot, name FROM {SNAPSHOTS}"))
    snapshots = [(number, ranks.get(number, "")) for number in sorted({row[2] for row in rows})]
    row_of = {line: number for number, line in enumerate(lines)}
    column_of = {number: column for column, (number, _) in enumerate(snapshots)}
    at = [row_of[line, function] for line, function, *_ in rows]
    of = [column_of[snapshot] for _, _, snapshot, _, _ in rows]
    matrices = np.zeros((2, len(lines), len(snapshots)))
    for matrix, place in zip(matrices, (3, 4), strict=True):
        matrix[at, of] = [row[place] for row in rows]
    return FileOverRanks(lines, snapshots, matrices[0], matrices[1])
