"""What was live in each snapshot of a fleet, a row for each, on one axis; the editor draws it."""

import apsw
import numpy as np
from msgspec import Struct

from memlens.fleet.place import natural
from memlens.fleet.questions.curves import Align, curves
from memlens.fleet.questions.peaks import peaks
from memlens.fleet.tables import SNAPSHOTS, Status


class HeatRow(Struct, frozen=True):
    """A file of the fleet; ``problem`` says why one without figures wasn't read."""

    snapshot: int
    name: str
    rank: int | None
    status: Status
    problem: str | None
    size_bytes: int
    peak_bytes: int | None
    end_bytes: int | None
    from_median_bytes: int
    outlier: bool
    ooms: int
    steps: int


class HeatMap(Struct, frozen=True):
    """Rows in the natural order of names, on an axis from ``x0`` to ``x1`` in ``unit`` with ``columns`` columns.

    ``highest_bytes`` has for each row and column, row by row, the maximum that was live as a little-endian float32: NaN
    where a snapshot has nothing. ``left_out`` snapshots can't be put on this axis.
    """

    place: str
    unit: str
    x0: float
    x1: float
    columns: int
    left_out: int
    median_bytes: int
    outliers: int
    rows: list[HeatRow]
    highest_bytes: bytes


def heat_map(fleet: apsw.Connection, align: Align = "start", columns: int = 240) -> HeatMap:
    """The rows and their curves. Raises :class:`memlens.errors.BadRequestError`."""
    found = curves(fleet, align, columns)
    by_snapshot = {curve.snapshot: curve.highest_bytes for curve in found.curves}
    width = len(found.curves[0].highest_bytes) if found.curves else 0
    compared = peaks(fleet)
    peak_of = {row.snapshot: row for row in compared.rows}
    rows = []
    for number, name, rank, status, problem, size, peak, end, ooms, steps in fleet.execute(
        "SELECT snapshot, name, rank, status, problem, size_bytes, peak_bytes, end_bytes, ooms, steps "
        f"FROM {SNAPSHOTS}"
    ):
        known = peak_of.get(number)
        rows.append(
            HeatRow(
                number, name, rank, status, problem, size, peak, end,
                known.from_median_bytes if known else 0, known is not None and known.outlier, ooms, steps,
            )
        )  # fmt: skip
    rows.sort(key=lambda row: natural(row.name))
    values = np.full((len(rows), width), np.nan, "<f4")
    for place, row in enumerate(rows):
        curve = by_snapshot.get(row.snapshot)
        if curve is not None:
            # None becomes NaN
            values[place] = np.array(curve, np.float64)
    place_named = str(fleet.execute("SELECT place FROM fleet").get)
    return HeatMap(
        place_named, found.unit, found.x0, found.x1, width, found.left_out, compared.median_bytes, compared.outliers,
        rows, values.tobytes(),
    )  # fmt: skip
