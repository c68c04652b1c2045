"""What source lines allocated."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.model.attribution import Attribution, FrameKind
from memlens.model.distinct import common
from memlens.model.frames import KIND_NAMES, SOURCE_NAMES
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.store.totals import line_totals, stack_totals
from memlens.views.answers import LineAnswer, SourceLine, Totals
from memlens.views.lines.freed import lines_that_free
from memlens.views.lines.stack import totals, totals_on
from memlens.views.naming.attribution import NOTHING, own_figures, own_values
from memlens.views.selection.columns import device_of
from memlens.views.selection.through import stacks_through

_SHOWN = [0, 1, 2, 4, 5]
"""The columns of :func:`line_totals` for total bytes, count, bytes live at the peak and at the end, largest."""
_TOTAL, _AT_PEAK = 0, 2
_COLUMNS = {"total": 0, "count": 1, "peak": 2, "end": 4}
"""Columns of :func:`line_totals` by which lines can be ordered."""


def source_files(snapshot: Snapshot) -> list[str]:
    """Every file of the snapshot's lines, as it spells them, those with the most at the peak first."""
    files = snapshot.frames.file[snapshot.lines.frame]
    if not len(files):
        return []
    starts = np.flatnonzero(np.diff(files, prepend=np.uint32(0)))
    totals = np.maximum.reduceat(line_totals(snapshot), starts)
    order = np.lexsort((-totals[:, _TOTAL], -totals[:, _AT_PEAK]))
    names: list[str] = snapshot.strings.texts(files[starts[order]])
    return names


def _lines_of(snapshot: Snapshot, file: str) -> npt.NDArray[np.intp]:
    files = snapshot.frames.file[snapshot.lines.frame]
    return np.flatnonzero(files == snapshot.strings.find(files, file))


def source_lines(snapshot: Snapshot, file: str, attribution: Attribution = "mine") -> list[SourceLine]:
    """The lines of one file (as the snapshot spells it) that allocated or freed."""
    found = _source_lines(snapshot, _lines_of(snapshot, file), attribution)
    return found + _only_freeing(snapshot, [freed for freed in lines_that_free(snapshot) if freed[0] == file])


LineOrder = Literal["self", "peak", "end", "total", "count", "freed"]
"""By what lines are ordered: their own bytes at the peak, or with what they call at the peak, at the end or in all; or
by what they freed.
"""


def top_lines(
    snapshot: Snapshot,
    limit: int | None = None,
    attribution: Attribution = "mine",
    order: LineOrder = "self",
) -> list[SourceLine]:
    """The lines with the most, at most ``limit`` of them. Among equal ones user code is first, then libraries.

    Inclusive sums grow towards ``main``, so lines are ordered by their own unless another order is asked for.
    """
    if order == "freed":
        return _that_freed_most(snapshot, limit, attribution)
    totals = line_totals(snapshot)
    kinds = snapshot.frames.kind[snapshot.lines.frame]
    if order == "self":
        own = own_figures(snapshot, attribution)
        rows = _rows_of(snapshot, np.arange(len(kinds)))
        first = np.array([own.get(row[:2], NOTHING)[-1] for row in rows], np.int64)
    else:
        first = totals[:, _COLUMNS[order]]
    by = np.lexsort((-totals[:, _TOTAL], -totals[:, _AT_PEAK], kinds, -first))
    return _source_lines(snapshot, by[:limit], attribution)


def _source_lines(
    snapshot: Snapshot, chosen: npt.NDArray[np.intp], attribution: Attribution
) -> list[SourceLine]:
    """Some lines, by their numbers."""
    own, freed = own_figures(snapshot, attribution), lines_that_free(snapshot)
    totals = line_totals(snapshot)[chosen][:, _SHOWN].tolist()
    sources = snapshot.frames.source[snapshot.lines.frame[chosen]].tolist()
    return [
        SourceLine(
            *(file, line, function, KIND_NAMES[kind], SOURCE_NAMES[source]),
            *(*figures, *own.get((file, line), NOTHING), *freed.get((file, line), (0, 0))[:2]),
        )
        for (file, line, function, kind), source, figures in zip(
            _rows_of(snapshot, chosen), sources, totals, strict=True
        )
    ]


def _that_freed_most(snapshot: Snapshot, limit: int | None, attribution: Attribution) -> list[SourceLine]:
    freed = lines_that_free(snapshot)
    most = sorted(freed, key=lambda place: (-freed[place][0], place))[:limit]
    rows = _rows_of(snapshot, np.arange(len(snapshot.lines.frame)))
    numbers = {row[:2]: number for number, row in enumerate(rows)}
    known = np.array([numbers[place] for place in most if place in numbers], np.intp)
    found = {(row.file, row.line): row for row in _source_lines(snapshot, known, attribution)}
    found |= {(row.file, row.line): row for row in _only_freeing(snapshot, most)}
    return [found[place] for place in most]


def _only_freeing(snapshot: Snapshot, places: Sequence[tuple[str, int]]) -> list[SourceLine]:
    """Those of some lines that free and are in no allocation's stack."""
    freed, frames = lines_that_free(snapshot), snapshot.frames
    allocating = set(
        zip(*(column[snapshot.lines.frame].tolist() for column in (frames.file, frames.line)), strict=True)
    )
    found = []
    for place in places:
        size, count, number = freed[place]
        if (int(frames.file[number]), place[1]) not in allocating:
            (row,) = frames.rows([number]).values()
            found.append(
                SourceLine(*row[:3], KIND_NAMES[row[3]], "recorded", 0, 0, 0, 0, 0, *NOTHING, size, count)
            )
    return found


def _rows_of(snapshot: Snapshot, chosen: npt.NDArray[np.intp]) -> list[FrameRow]:
    """The frames with the texts of some lines."""
    frames = snapshot.lines.frame[chosen].tolist()
    rows = snapshot.frames.rows(frames)
    return [rows[frame] for frame in frames]


class LineValue(NamedTuple):
    """A line's sums of a profile's value (given by its number): inclusive, and charged to the line itself."""

    value: int
    total: int
    itself: int


def line_values(
    snapshot: Snapshot, file: str, attribution: Attribution = "mine"
) -> dict[int, list[LineValue]]:
    """The sums of each value of a profile for the lines of one file (as the profile spells it), by line."""
    own, columns = own_values(snapshot, attribution), snapshot.line_values.value
    chosen = _lines_of(snapshot, file)
    values = range(len(profile_of(snapshot.info).values))
    totals = zip(*(columns[value][chosen].tolist() for value in values), strict=True)
    found: dict[int, list[LineValue]] = {}
    for (_, line, _, _), of_line in zip(_rows_of(snapshot, chosen), totals, strict=True):
        charged = own.get((file, line), [0] * len(values))
        each = zip(values, of_line, charged, strict=True)
        found[line] = [LineValue(value, total, itself) for value, total, itself in each if total or itself]
    return found


class ProfileLine(Struct, frozen=True):
    """A line's sums of one value of a profile: inclusive, and charged to the line itself."""

    file: str
    line: int
    function: str
    kind: FrameKind
    total: int
    itself: int


def top_profile_lines(
    snapshot: Snapshot,
    value: int,
    limit: int | None = None,
    attribution: Attribution = "mine",
    order: Literal["self", "total"] = "self",
) -> list[ProfileLine]:
    """The lines with the most of a profile's value, by themselves or in all; among equal ones user code first."""
    own, columns = own_values(snapshot, attribution), snapshot.line_values
    totals = columns.value[value]
    chosen = np.flatnonzero((totals != 0) | (columns.own[value] != 0))
    lines = []
    for (file, line, function, kind), total in zip(
        _rows_of(snapshot, chosen), totals[chosen].tolist(), strict=True
    ):
        itself = own[file, line][value] if (file, line) in own else 0
        lines.append((kind, ProfileLine(file, line, function, KIND_NAMES[kind], total, itself)))

    def key(each: tuple[int, ProfileLine]) -> tuple[int | str, ...]:
        kind, row = each
        first, second = (row.itself, row.total) if order == "self" else (row.total, row.itself)
        return -first, kind, -second, row.file, row.line

    lines.sort(key=key)
    return [each for _, each in lines[:limit]]


def line(snapshot: Snapshot, file: str, number: int, device: int = 0, filter_text: str = "") -> LineAnswer:
    """Every stack that contains a line, and their sums.

    With a filter it is about what matches on one device. Raises :class:`BadRequestError`.
    """
    stacks = _stacks_of_lines(snapshot, file, [number])
    if filter_text.strip():
        left = device_of(snapshot, device, filter_text)
        stacks = common(np.asarray(stacks, np.int64), left.stack).tolist()
        return LineAnswer(file, number, totals_on(left, stacks), stacks)
    return LineAnswer(file, number, totals(snapshot, stacks), stacks)


def totals_of_lines(snapshot: Snapshot, file: str, numbers: Sequence[int]) -> Totals:
    """The sums of all stacks through any of some lines, each stack counted once: a function's inclusive sums."""
    return totals(snapshot, _stacks_of_lines(snapshot, file, numbers))


def _stacks_of_lines(snapshot: Snapshot, file: str, numbers: Sequence[int]) -> list[int]:
    frames = snapshot.frames
    on_lines = np.zeros(len(frames), bool)
    in_file = np.flatnonzero(frames.file == snapshot.strings.find(frames.file, file))
    on_lines[in_file] = np.isin(frames.line[in_file], np.asarray(numbers, np.int64))
    through = stacks_through(snapshot, on_lines)
    match snapshot.info:
        case TimelineInfo():
            through &= stack_totals(snapshot)[:, 1] > 0
        case ProfileInfo() | GraphInfo():
            pass
        case _:
            assert_never(snapshot.info)
    stacks: list[int] = np.flatnonzero(through).tolist()
    return stacks
