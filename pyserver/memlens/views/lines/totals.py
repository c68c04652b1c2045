"""What source lines allocated."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, assert_never

import numpy as np
from msgspec import Struct

from memlens.model.attribution import Attribution
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.store.totals import stack_totals
from memlens.views.answers import LineAnswer, SourceLine, Totals
from memlens.views.lines.stack import totals, totals_on
from memlens.views.naming.attribution import NOTHING, own_figures, own_values
from memlens.views.selection.columns import device_of
from memlens.views.selection.through import stacks_through

_COLUMNS = "file, line, function, total_bytes, count, live_at_peak_bytes, live_at_end_bytes, largest_bytes"


def source_files(snapshot: Snapshot) -> list[str]:
    """Every file that the snapshot's lines name, as it spells them: first those that hold the most at the peak."""
    rows = snapshot.text.execute(
        "SELECT file FROM source_lines GROUP BY file "
        "ORDER BY max(live_at_peak_bytes) DESC, max(total_bytes) DESC, file"
    )
    return [row[0] for row in rows]


def source_lines(snapshot: Snapshot, file: str, attribution: Attribution = "mine") -> list[SourceLine]:
    """The lines of one file (as the snapshot spells it) that allocated."""
    rows = snapshot.text.execute(
        # the column names are ours, values are bound
        f"SELECT {_COLUMNS} FROM source_lines WHERE file = ? ORDER BY line",  # noqa: S608
        (file,),
    )
    return _with_own(snapshot, rows, attribution)


def top_lines(
    snapshot: Snapshot, limit: int | None = None, attribution: Attribution = "mine"
) -> list[SourceLine]:
    """The lines that allocated the most: all of the user's code, then of libraries, then of C and C++; None for all.

    Inclusive sums rise towards ``main``, so without that order an interpreter's own lines would lead.
    """
    rows = snapshot.text.execute(
        f"SELECT {_COLUMNS} FROM source_lines "  # noqa: S608
        "ORDER BY kind, live_at_peak_bytes DESC, total_bytes DESC, file, line LIMIT ?",
        (-1 if limit is None else limit,),
    )
    return _with_own(snapshot, rows, attribution)


def _with_own(
    snapshot: Snapshot, rows: Iterable[tuple[Any, ...]], attribution: Attribution
) -> list[SourceLine]:
    own = own_figures(snapshot, attribution)
    return [SourceLine(*(*row, *own.get((row[0], row[1]), NOTHING))) for row in rows]


class LineValue(NamedTuple):
    """What a line has of a profile's value (by its number), with what it calls, and what of it is charged to it."""

    value: int
    total: int
    itself: int


def line_values(
    snapshot: Snapshot, file: str, attribution: Attribution = "mine"
) -> dict[int, list[LineValue]]:
    """Line to what it has of each value of a profile, for the lines of one file (as the profile spells it)."""
    own = own_values(snapshot, attribution)
    found: dict[int, list[LineValue]] = {}
    query = "SELECT line, value, total FROM line_values WHERE file = ? ORDER BY line, value"
    for number, value, total in snapshot.text.execute(query, (file,)):
        itself = own.get((file, number))
        found.setdefault(number, []).append(LineValue(value, total, itself[value] if itself else 0))
    return found


class ProfileLine(Struct, frozen=True):
    """What a line has of one value of a profile, with what it calls, and what of it is charged to the line."""

    file: str
    line: int
    function: str
    total: int
    itself: int


def top_profile_lines(
    snapshot: Snapshot, value: int, limit: int | None = None, attribution: Attribution = "mine"
) -> list[ProfileLine]:
    """The lines that have the most of a profile's value, user code before the rest where they are equal."""
    own = own_values(snapshot, attribution)
    rows = snapshot.text.execute(
        "SELECT v.file, v.line, s.function, v.total, s.kind FROM line_values AS v "
        "JOIN source_lines AS s ON s.file = v.file AND s.line = v.line WHERE v.value = ?",
        (value,),
    )
    found = []
    for file, number, function, total, kind in rows:
        itself = own.get((file, number))
        found.append((kind, ProfileLine(file, number, function, total, itself[value] if itself else 0)))
    found.sort(key=lambda each: (each[0], -each[1].total, -each[1].itself, each[1].file, each[1].line))
    return [each for _, each in found[:limit]]


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
    match snapshot.info:
        case TimelineInfo():
            through &= stack_totals(snapshot)[:, 1] > 0
        case ProfileInfo():
            pass
        case _:
            assert_never(snapshot.info)
    stacks: list[int] = np.flatnonzero(through).tolist()
    return stacks
