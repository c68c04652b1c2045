"""What was live over time in each snapshot, on one axis: since the first event, by the clock, or by steps.

Each snapshot is represented by its device with the highest peak. A column has the maximum of what was live in it, None
if the snapshot doesn't cover it.
"""

from typing import Literal

import apsw
import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.fleet.place import natural
from memlens.texts import phrase

Align = Literal["start", "clock", "step"]

MOST_COLUMNS = 2_000


class Curve(Struct, frozen=True):
    """A snapshot's curve; an item of ``highest_bytes`` is a column of the axis."""

    snapshot: int
    name: str
    rank: int | None
    device: int
    peak_bytes: int
    highest_bytes: list[int | None]


class CurvesAnswer(Struct, frozen=True):
    """Curves from ``x0`` to ``x1`` in ``unit``, which is that of most; curves with other units are only counted."""

    unit: str
    x0: float
    x1: float
    curves: list[Curve]
    left_out: int


def curves(fleet: apsw.Connection, align: Align = "start", columns: int = 60) -> CurvesAnswer:
    """The curves in the order of names. Raises :class:`BadRequestError`."""
    if not 0 < columns <= MOST_COLUMNS:
        raise BadRequestError(phrase("An axis has 1 to {most} columns", most=MOST_COLUMNS))
    pieces, left_out, unit = _steps(fleet) if align == "step" else _times(fleet, clock=align == "clock")
    if not pieces:
        return CurvesAnswer(unit, 0.0, 0.0, [], left_out)
    x0 = min(float(rows[:, 0].min()) for rows in pieces.values())
    x1 = max(float(rows[:, 1].max()) for rows in pieces.values())
    if align == "step":
        columns = min(columns, round(x1 - x0))
    named = {
        number: (name, rank, device, peak)
        for number, name, rank, device, peak in fleet.execute(
            "SELECT s.snapshot, s.name, s.rank, p.device, max(p.peak_bytes) FROM snapshots AS s "
            "LEFT JOIN peaks AS p USING (snapshot) WHERE s.status = 'ok' GROUP BY s.snapshot"
        )
    }
    made = [
        Curve(
            number, name, rank, device or 0, peak if peak is not None else int(pieces[number][:, 2].max()),
            _on_axis(pieces[number], x0, x1, columns),
        )
        for number, (name, rank, device, peak) in named.items()
        if number in pieces
    ]  # fmt: skip
    made.sort(key=lambda curve: natural(curve.name))
    return CurvesAnswer(unit, x0, x1, made, left_out)


Pieces = dict[int, "np.ndarray[tuple[int, int], np.dtype[np.float64]]"]
"""By snapshot: rows of a piece's start, its end, and the maximum that was live in it."""

_SHOWN = """
    (SELECT snapshot, device FROM (
        SELECT snapshot, device, row_number() OVER (PARTITION BY snapshot ORDER BY peak_bytes DESC, device) AS place
        FROM peaks) WHERE place = 1)
"""


def _times(fleet: apsw.Connection, *, clock: bool) -> tuple[Pieces, int, str]:
    rows = fleet.execute(
        f"""
        SELECT c.snapshot, c.unit, c.from_x, c.to_x, c.highest_bytes, p.origin_unix_us
        FROM curves AS c LEFT JOIN {_SHOWN} AS shown USING (snapshot)
            LEFT JOIN peaks AS p ON p.snapshot = c.snapshot AND p.device = c.device
        WHERE c.device = coalesce(shown.device, 0) ORDER BY c.snapshot, c.number
        """
    )
    units: dict[str, dict[int, list[tuple[float, float, float]]]] = {}
    for number, unit, from_x, to_x, highest, origin in rows:
        if clock and origin is None:
            continue
        shift = origin if clock else 0
        units.setdefault(unit, {}).setdefault(number, []).append((from_x + shift, to_x + shift, highest))
    if not units:
        return {}, 0, "microseconds"
    unit = max(units, key=lambda each: len(units[each]))
    left_out = sum(len(each) for name, each in units.items() if name != unit)
    return {number: np.array(each, np.float64) for number, each in units[unit].items()}, left_out, unit


def _steps(fleet: apsw.Connection) -> tuple[Pieces, int, str]:
    pieces: dict[int, list[tuple[float, float, float]]] = {}
    for number, step, peak in fleet.execute(
        f"SELECT t.snapshot, t.number, t.peak_bytes FROM steps AS t JOIN {_SHOWN} AS shown "
        "ON shown.snapshot = t.snapshot AND shown.device = t.device ORDER BY t.snapshot, t.number"
    ):
        pieces.setdefault(number, []).append((step, step + 1, peak))
    without = fleet.execute("SELECT count(*) FROM snapshots WHERE status = 'ok' AND steps = 0").get
    return {number: np.array(each, np.float64) for number, each in pieces.items()}, int(without), "steps"


def _on_axis(
    rows: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", x0: float, x1: float, columns: int
) -> list[int | None]:
    """The maximum of the pieces that overlap each column."""
    edges = np.linspace(x0, x1, columns + 1)
    first = np.searchsorted(rows[:, 1], edges[:-1], "right")
    last = np.searchsorted(rows[:, 0], edges[1:], "left")
    return [
        int(rows[begin:end, 2].max()) if begin < end else None
        for begin, end in zip(first.tolist(), last.tolist(), strict=True)
    ]
