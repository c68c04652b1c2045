"""The lines of source behind a figure that a limit is about, and how each changed since the base."""

from collections.abc import Sequence
from typing import NamedTuple, assert_never

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.frames import USER
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.views.check.answers import Limit, LimitLine
from memlens.views.check.measuring import growths, leaked_value, objects_of, peak_value
from memlens.views.compare.pairing import Pairing
from memlens.views.heap.objects.definitions import frames_of_types
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.objects.types import group_roots, type_rows
from memlens.views.lines.totals import top_profile_lines
from memlens.views.sql.pages import SqlAnswer
from memlens.views.tables.held import HeldOfTrace, Part, held

MOST_LINES = 5_000
"""The most lines that are compared with those of a base."""
LEAST_SHARE = 0.05
"""The part of the largest type's bytes with which one of the user's own is worth naming in its place."""


class Lines(NamedTuple):
    """The lines with the most of a figure, the largest first; ``rest`` is the most that any other line may have."""

    rows: list[LimitLine]
    rest: float


def lines_of(snapshot: Snapshot, limit: Limit, device: int | None, most: int = MOST_LINES) -> Lines:
    """The lines of a limit's figure. Raises :class:`BadRequestError` where the figure isn't known."""
    info = snapshot.info
    if limit.name == "max-growth-per-step":
        rows = [
            LimitLine(
                row.frame.file, row.frame.line, row.frame.function,
                row.grown_bytes / ((found.ends - 1) * found.every), "bytes",
            )
            for number, found in growths(snapshot)
            if number == device
            for row in found.rows
            if row.frame is not None
        ]  # fmt: skip
        return _largest(rows, most)
    if limit.name == "max-retained":
        return _largest(
            _defined(snapshot, distinct(snapshot.objects.type[objects_of(snapshot, limit.of)])), most
        )
    match info:
        case TimelineInfo():
            at = "end" if limit.name == "max-leaked" else "peak"
            answer = held(snapshot, "line", Part(at, device), limit=most + 1)
            return _largest(_of_trace(answer, at), most) if isinstance(answer, HeldOfTrace) else Lines([], 0)
        case ProfileInfo():
            number = leaked_value(info) if limit.name == "max-leaked" else peak_value(info)
            return _of_samples(snapshot, info, info.default_value if number is None else number, most)
        case GraphInfo(allocations=ProfileInfo() as allocated, outside=False):
            return _of_samples(snapshot, allocated, allocated.default_value, most)
        case GraphInfo():
            return _largest(_defined(snapshot, np.arange(info.types)), most)
        case _:
            assert_never(info)


def _of_samples(snapshot: Snapshot, profile: ProfileInfo, value: int, most: int) -> Lines:
    unit = profile.values[value].unit
    return _largest(
        [
            LimitLine(row.file, row.line, row.function, row.itself, unit)
            for row in top_profile_lines(snapshot, value, most + 1)
        ],
        most,
    )


def _of_trace(answer: HeldOfTrace, at: str) -> list[LimitLine]:
    return [
        LimitLine(
            row.file, row.line or 0, row.function or "",
            row.self_live_at_end_bytes if at == "end" else row.self_live_at_peak_bytes, "bytes",
        )
        for row in answer.rows
        if row.file
    ]  # fmt: skip


def _defined(snapshot: Snapshot, types: Numbers) -> list[LimitLine]:
    """Where types are defined, by what their objects retain: those of the user's own code alone if they matter.

    Types of which no place is known have their name alone.
    """
    frames = frames_of_types(snapshot)
    rows = type_rows(snapshot, types[~group_roots(snapshot, snapshot.types.kind[types])])
    kinds = snapshot.frames.kind
    own = [row for row in rows if row.number in frames and int(kinds[frames[row.number]]) == USER]
    least = LEAST_SHARE * max((row.retained_bytes for row in rows), default=0)
    chosen = own if any(row.retained_bytes >= least for row in own) else rows
    return [LimitLine(row.file or "", row.line or 0, row.type, row.retained_bytes, "bytes") for row in chosen]


def _largest(rows: list[LimitLine], most: int) -> Lines:
    ordered = sorted(
        (row for row in rows if row.amount > 0), key=lambda row: (-row.amount, row.file, row.line)
    )
    return Lines(ordered[:most], ordered[most].amount if len(ordered) > most else 0)


def of_rows(answer: SqlAnswer, order: Sequence[int], unit: str, most: float) -> list[LimitLine]:
    """The lines that a query names in its columns ``file``, ``line`` and ``function``, of rows above the limit."""
    names = [column.name.lower() for column in answer.columns]
    # what objects contain isn't to leave, and a column may have any name
    if "file" not in names or answer.contents:
        return []
    found = []
    for number in order:
        row = dict(zip(names, answer.rows[number], strict=True))
        amount, line = answer.rows[number][-1], row.get("line")
        if isinstance(amount, int | float) and amount > most and row["file"]:
            line = line if isinstance(line, int) else 0
            found.append(LimitLine(str(row["file"]), line, str(row.get("function") or ""), amount, unit))
    return found


def changed(before: Lines, after: Lines) -> list[LimitLine]:
    """The lines of a figure with what each had in the base, what grew most first.

    Lines are paired as in a comparison of two files, so one that has moved is the same. A line that isn't among those
    known of the base had at most its ``rest``.
    """
    paired = Pairing([_frame(row) for row in before.rows], [_frame(row) for row in after.rows]).groups["line"]
    had: dict[int, float] = {}
    for row, pair in zip(before.rows, paired.before.tolist(), strict=True):
        had[pair] = had.get(pair, 0) + row.amount
    found = []
    for row, pair in zip(after.rows, paired.after.tolist(), strict=True):
        earlier = had.get(pair, None if before.rest else 0)
        found.append((row.amount - (before.rest if earlier is None else earlier), row, earlier))
    found.sort(key=lambda each: -each[0])
    return [
        LimitLine(row.file, row.line, row.function, row.amount, row.unit, earlier)
        for grown, row, earlier in found
        if grown > 0
    ]


def _frame(row: LimitLine) -> FrameRow:
    return (row.file, row.line, row.function, 0)
