"""What grows over a series of snapshots: lines by what is live at the end, types by what they retain.

The slope is that of the least-squares line, in bytes per snapshot. A snapshot without a line or a type counts as 0
there, because it is gone or too small for the summary.
"""

import fnmatch
import itertools
from typing import Literal, cast

import apsw
import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.fleet.place import natural
from memlens.model.growing import growing as is_growing
from memlens.texts import phrase

Kind = Literal["line", "type"]
Order = Literal["name", "time"]

_LEAST = 2

SqlValue = int | float | bytes | str | None


class Growing(Struct, frozen=True):
    """A line or a type over the series. ``rises`` is the number of snapshots that have more than the one before."""

    kind: Kind
    name: str
    """The name of a type; for a line, its function."""
    file: str
    line: int
    slope_bytes: float
    first_bytes: int
    last_bytes: int
    grown_bytes: int
    rises: int
    points: list[int]


class GrowthAnswer(Struct, frozen=True):
    """What grew, the steepest slope first, and the ordered series."""

    snapshots: list[str]
    rows: list[Growing]


_KINDS: dict[Kind, tuple[str, str, str, str]] = {
    "line": ("lines_rows", "end_bytes", "file, line, function", "line > 0"),
    "type": ("types_rows", "retained_bytes", "file, line, type", "1"),
}


def growth(
    fleet: apsw.Connection,
    order: Order = "name",
    kinds: tuple[Kind, ...] = ("line", "type"),
    match: str = "",
    limit: int = 20,
) -> GrowthAnswer:
    """What grows. Raises :class:`BadRequestError` for fewer than two snapshots."""  # fmt: skip
    series = [
        row
        for row in fleet.execute(
            "SELECT s.snapshot, s.name, min(p.origin_unix_us) FROM snapshots AS s "
            "LEFT JOIN peaks AS p USING (snapshot) WHERE s.status = 'ok' GROUP BY s.snapshot"
        )
        if not match or fnmatch.fnmatchcase(row[1], match)
    ]
    if len(series) < _LEAST:
        raise BadRequestError(phrase("A series needs two snapshots or more"))
    series.sort(key=lambda row: natural(row[1]))
    if order == "time":
        series.sort(key=lambda row: (row[2] is None, row[2] or 0))
    places = {number: place for place, (number, _, _) in enumerate(series)}
    rows = [row for kind in kinds for row in _growing(fleet, kind, places, limit)]
    rows.sort(key=lambda row: -row.slope_bytes)
    return GrowthAnswer([name for _, name, _ in series], rows[:limit])


def _growing(fleet: apsw.Connection, kind: Kind, places: dict[int, int], limit: int) -> list[Growing]:
    table, figure, key, where = _KINDS[kind]
    count = len(places)
    sum_x = count * (count - 1) / 2
    spread = count * sum(place * place for place in range(count)) - sum_x * sum_x

    def place_in_series(*arguments: SqlValue) -> SqlValue:
        return places.get(cast("int", arguments[0]))

    fleet.create_scalar_function("place_in_series", place_in_series, 1, deterministic=True)
    steepest = list(
        fleet.execute(
            f"""
            SELECT {key}, (? * total(x * y) - ? * total(y)) / ? AS slope FROM (
                SELECT {key}, place_in_series(snapshot) AS x, {figure} AS y FROM {table} WHERE {where}
            ) WHERE x IS NOT NULL GROUP BY {key} HAVING slope > 0 ORDER BY slope DESC
            """,
            (float(count), sum_x, spread),
        )
    )
    growing = []
    for *values, slope in steepest:
        points = [0] * count
        condition = " AND ".join(f"{column} = ?" for column in key.split(", "))
        for snapshot, amount in fleet.execute(
            f"SELECT snapshot, {figure} FROM {table} WHERE {condition}",
            values,
        ):
            if snapshot in places:
                points[places[snapshot]] += amount
        rises = sum(after > before for before, after in itertools.pairwise(points))
        if not is_growing(np.array([points], np.int64))[0]:
            continue
        file, name = (
            fleet.execute("SELECT text FROM names WHERE number = ?", (value,)).get
            for value in (values[0], values[2])
        )
        growing.append(
            Growing(
                kind,
                name,
                file,
                values[1],
                slope,
                points[0],
                points[-1],
                points[-1] - points[0],
                rises,
                points,
            )
        )
        if len(growing) == limit:
            break
    return growing
