"""What source lines allocated."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from memlens.store.snapshot import Snapshot
from memlens.store.totals import stack_totals
from memlens.views.answers import LineAnswer, SourceLine, Totals
from memlens.views.columns import device_of
from memlens.views.stack import totals, totals_on
from memlens.views.through import stacks_through

_COLUMNS = (
    "file, line, function, total_bytes, count, live_at_peak_bytes, live_at_end_bytes, largest_bytes, "
    "self_total_bytes, self_count"
)


def source_files(snapshot: Snapshot) -> list[str]:
    """Every file that the snapshot's lines name, as it spells them: first those that hold the most at the peak."""
    rows = snapshot.text.execute(
        "SELECT file FROM source_lines GROUP BY file "
        "ORDER BY max(live_at_peak_bytes) DESC, max(total_bytes) DESC, file"
    )
    return [row[0] for row in rows]


def source_lines(snapshot: Snapshot, file: str, line: int | None = None) -> list[SourceLine]:
    """The lines of one file (as the snapshot spells it) that allocated, or one of them."""
    condition = "" if line is None else " AND line = ?"
    values = (file,) if line is None else (file, line)
    rows = snapshot.text.execute(
        # the column names are ours, values are bound
        f"SELECT {_COLUMNS} FROM source_lines WHERE file = ?{condition} ORDER BY line",  # noqa: S608
        values,
    )
    return [SourceLine(*row) for row in rows]


def top_lines(snapshot: Snapshot, limit: int | None = None) -> list[SourceLine]:
    """The lines that allocated the most: all of the user's code, then of libraries, then of C and C++; None for all.

    Inclusive sums rise towards ``main``, so without that order an interpreter's own lines would lead.
    """
    rows = snapshot.text.execute(
        f"SELECT {_COLUMNS} FROM source_lines "  # noqa: S608
        "ORDER BY kind, live_at_peak_bytes DESC, total_bytes DESC, file, line LIMIT ?",
        (-1 if limit is None else limit,),
    )
    return [SourceLine(*row) for row in rows]


class LineValue(NamedTuple):
    """What a line has of a profile's value (by its number), with what it calls and by itself."""

    value: int
    total: int
    itself: int


def line_values(snapshot: Snapshot, file: str) -> dict[int, list[LineValue]]:
    """Line to what it has of each value of a profile, for the lines of one file (as the profile spells it)."""
    found: dict[int, list[LineValue]] = {}
    query = "SELECT line, value, total, self FROM line_values WHERE file = ? ORDER BY line, value"
    for number, *row in snapshot.text.execute(query, (file,)):
        found.setdefault(number, []).append(LineValue(*row))
    return found


class ProfileLine(Struct, frozen=True):
    """What a line has of one value of a profile, with what it calls and by itself."""

    file: str
    line: int
    function: str
    total: int
    itself: int


def top_profile_lines(snapshot: Snapshot, value: int, limit: int | None = None) -> list[ProfileLine]:
    """The lines that have the most of a profile's value, in the order of :func:`top_lines`."""
    rows = snapshot.text.execute(
        "SELECT v.file, v.line, s.function, v.total, v.self FROM line_values AS v "
        "JOIN source_lines AS s ON s.file = v.file AND s.line = v.line WHERE v.value = ? "
        "ORDER BY s.kind, v.total DESC, v.self DESC, v.file, v.line LIMIT ?",
        (value, -1 if limit is None else limit),
    )
    return [ProfileLine(*row) for row in rows]


def line(snapshot: Snapshot, file: str, number: int, device: int = 0, filter_text: str = "") -> LineAnswer:
    """Every stack in which a line stands, and what they come to.

    With a filter it is about what fits it on one device. Raises :class:`BadRequestError`.
    """
    stacks = _stacks_of_lines(snapshot, file, [number])
    if filter_text.strip():
        left = device_of(snapshot, device, filter_text)
        stacks = np.intersect1d(np.asarray(stacks, np.int64), left.stack).tolist()
        return LineAnswer(file, number, totals_on(left, stacks), stacks)
    return LineAnswer(file, number, totals(snapshot, stacks), stacks)


def totals_of_lines(snapshot: Snapshot, file: str, numbers: Sequence[int]) -> Totals:
    """What all stacks come to that pass through any of some lines, each stack once: a function's inclusive sum."""
    return totals(snapshot, _stacks_of_lines(snapshot, file, numbers))


def _stacks_of_lines(snapshot: Snapshot, file: str, numbers: Sequence[int]) -> list[int]:
    query = "SELECT id FROM frames WHERE file = ? AND line = ?"
    frames = [row[0] for row in snapshot.text.executemany(query, ((file, number) for number in numbers))]
    through = stacks_through(snapshot, frames)
    if snapshot.info.profile is None:
        through &= stack_totals(snapshot)[:, 1] > 0
    stacks: list[int] = np.flatnonzero(through).tolist()
    return stacks
