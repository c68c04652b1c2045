"""The differences between two sets of allocations, of one snapshot or of two, by place in code or by group.

Each side is independent of its snapshot (:mod:`memlens.views.compare.sides`), so no snapshot is used here. Sums add up:
the rows' own bytes of a side are that side's total, and the sum of differences is the difference of the totals.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, assert_never, get_args

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.trace.timeline import mark_below
from memlens.kernels.tree import calltree
from memlens.kernels.tree.lines import LineFolder
from memlens.model.distinct import distinct
from memlens.model.frames import INFERRED, RECORDED, USER
from memlens.model.timeline import NEVER
from memlens.texts import phrase
from memlens.views.answers import Frame
from memlens.views.compare.kinds import check_comparable
from memlens.views.compare.pairing import Grouping, How, Pair, Pairing, Place
from memlens.views.compare.sides import CompareBy, Grouped, Side
from memlens.views.selection.columns import check_page, frame
from memlens.views.selection.stacks import AMOUNT, COUNT

Measure = Literal["own", "inclusive"]
CompareOrder = Literal["difference", "increase", "decrease", "before", "after", "count", "name"]

_CALLERS = 3
GROUPED: tuple[Grouped, ...] = get_args(Grouped)


class ComparedRow(Struct, frozen=True):
    """A place on both sides. ``row`` identifies it in questions about the same comparison.

    ``before`` and ``after`` are its position on each side; None if that side's snapshot doesn't have the place. Bytes
    and counts are of the allocations that it made itself (``own``), or with all that it called (``inclusive``).
    ``callers`` are further lines of the user's code, for rows that are stacks. The ``inferred`` bytes of a side are of
    allocations with only C++ in their stacks, by the forward line that was inferred; a frame's ``source`` is
    ``inferred`` where that is all that the row has on its side.
    """

    row: int
    before: Frame | None
    after: Frame | None
    how: How
    before_bytes: int
    after_bytes: int
    difference_bytes: int
    before_count: int
    after_count: int
    callers: list[Frame]
    before_inferred_bytes: int = 0
    after_inferred_bytes: int = 0


class ComparedSums(Struct, frozen=True):
    """Sums over some rows' own allocations."""

    rows: int
    before_bytes: int
    after_bytes: int
    before_count: int
    after_count: int


class CompareAnswer(Struct, frozen=True):
    """Rows ``offset … offset + len(rows)`` of the ``found`` ones that contain the search words.

    ``total`` is over everything; ``grown``, ``shrunk``, ``same`` and ``only_before``, ``only_after`` (nothing on the
    other side) split it by row. ``matching`` is over what was found. All of these are sums of own allocations,
    which add up; ``largest_bytes`` is the largest figure of a row on either side, to scale bars.
    """

    total: ComparedSums
    grown: ComparedSums
    shrunk: ComparedSums
    same: ComparedSums
    only_before: ComparedSums
    only_after: ComparedSums
    matching: ComparedSums
    found: int
    largest_bytes: int
    offset: int
    rows: list[ComparedRow]


@dataclass(frozen=True, eq=False)
class _Figures:
    """One side's figures by row, and the row of each of its stacks."""

    side: Side
    row_of_place: U32
    """The row of each place that a stack may contain; NEVER for native ones, which have no rows."""
    own_row: U32
    """The row that each of the side's stacks is charged to."""
    own: I64
    """int64[2, rows]: bytes and count."""
    inferred: I64
    """The part of them that is inferred."""
    sum_inclusive: Callable[[], I64]

    @cached_property
    def inclusive(self) -> I64:
        """The same with all that was called, summed on first use."""
        return self.sum_inclusive()


class PairedFigures(NamedTuple):
    """A row's pair of places, whether all that it has is inferred, and its bytes and counts on both sides."""

    pair: Pair
    inferred: bool
    before_bytes: int
    before_count: int
    after_bytes: int
    after_count: int


class Comparison:
    """Two sides, row by row. ``by`` says what a row is, and ``pairing`` is that of their places.

    Raises :class:`BadRequestError` for two of different kinds.
    """

    def __init__(self, before: Side, after: Side, pairing: Pairing, by: CompareBy) -> None:
        check_comparable(before.info, after.info)
        self.by = by
        sides = (before, after)
        match by:
            case "category" | "module" | "package":
                names = pairing.groups["line"]
                self._pairs = names.pairs
                self._figures = tuple(
                    _of_stacks(side, rows[side.charged], len(self._pairs))
                    for side, rows in zip(sides, (names.before, names.after), strict=True)
                )
            case "stack":
                self._pairs, self._first, rows = _stack_rows(*sides, pairing.groups["line"])
                self._figures = tuple(
                    _of_stacks(side, own, len(self._pairs)) for side, own in zip(sides, rows, strict=True)
                )
            case "line" | "function" | "file":
                group = pairing.groups[by]
                self._pairs = group.pairs
                self._figures = tuple(
                    _of_places(side, rows, len(self._pairs))
                    for side, rows in zip(sides, (group.before, group.after), strict=True)
                )
            case _:
                assert_never(by)

    def answer(
        self,
        measure: Measure,
        search: str,
        order: CompareOrder,
        offset: int,
        limit: int,
        *,
        reverse: bool = False,
    ) -> CompareAnswer:
        """A page of rows. Raises :class:`BadRequestError` for an invalid page."""
        check_page(offset, limit)
        before, after = (each.own if measure == "own" else each.inclusive for each in self._figures)
        shown = np.flatnonzero(_there(before) | _there(after))
        found = self._search(shown, search)
        ranked = found[self._ranks(before[:, found], after[:, found], order, found)]
        page = (ranked[::-1] if reverse else ranked)[offset : offset + limit]
        own = [each.own for each in self._figures]
        has_before, has_after = _there(own[0]), _there(own[1])
        difference = own[1][AMOUNT] - own[0][AMOUNT]
        both = has_before & has_after
        return CompareAnswer(
            total=self._sums(has_before | has_after),
            grown=self._sums(both & (difference > 0)),
            shrunk=self._sums(both & (difference < 0)),
            same=self._sums(both & (difference == 0)),
            only_before=self._sums(has_before & ~has_after),
            only_after=self._sums(has_after & ~has_before),
            matching=self._sums(_mask(found, len(difference)) & (has_before | has_after)),
            found=len(found),
            largest_bytes=int(max(before[AMOUNT].max(initial=0), after[AMOUNT].max(initial=0))),
            offset=offset,
            rows=self._rows(page, before, after),
        )

    def recorded_changes(self, count: int) -> list[ComparedRow]:
        """The ``count`` rows that grew most and those that shrank most, by what isn't inferred to be theirs."""
        before, after = (each.own for each in self._figures)
        recorded = [each.own[AMOUNT] - each.inferred[AMOUNT] for each in self._figures]
        difference = recorded[1] - recorded[0]
        ends = [np.argsort(key, kind="stable")[:count] for key in (difference, -difference)]
        chosen = distinct(np.concatenate(ends))
        return self._rows(chosen[difference[chosen] != 0], before, after)

    def inferred_difference(self) -> int:
        """By how much what is inferred to be of a row differs."""
        before, after = (int(each.inferred[AMOUNT].sum()) for each in self._figures)
        return after - before

    def pairs(self, measure: Measure) -> Iterator[PairedFigures]:
        """Each row that has anything on either side."""
        before, after = (each.own if measure == "own" else each.inclusive for each in self._figures)
        for row in np.flatnonzero(_there(before) | _there(after)).tolist():
            figures = (*before[:2, row].tolist(), *after[:2, row].tolist())
            yield PairedFigures(self._pairs[row], self._all_inferred(row), *figures)

    def stacks(self, row: int, measure: Measure, side: Literal["before", "after"]) -> list[int]:
        """The archive's numbers of a side's stacks in a row. Raises :class:`BadRequestError`."""
        if not 0 <= row < len(self._pairs):
            raise BadRequestError(phrase("The comparison has no row {row}", row=row))
        chosen = self._figures[0 if side == "before" else 1]
        stacks, tree = chosen.side.stacks, chosen.side.stacks.tree
        of_row = chosen.own_row == row
        if measure == "inclusive" and self.by != "stack":
            wanted = (chosen.row_of_place == row).astype(np.uint8)
            below = np.zeros(len(tree.parents), np.uint8)
            mark_below(tree.parents, tree.frames, wanted, below)
            of_row |= below[stacks.nodes] != 0
        return stacks.archived(of_row)

    def _sums(self, rows: Mask) -> ComparedSums:
        (before_bytes, before_count), (after_bytes, after_count) = (
            each.own[:, rows].sum(axis=1).tolist() for each in self._figures
        )
        return ComparedSums(int(rows.sum()), before_bytes, after_bytes, before_count, after_count)

    def _search(self, rows: npt.NDArray[np.intp], search: str) -> npt.NDArray[np.intp]:
        """The rows in which either side's file, line or function contains every word."""
        words = search.casefold().split()
        if not words:
            return rows
        kept = [row for row in rows.tolist() if all(word in self._words(row) for word in words)]
        return np.array(kept, np.intp)

    def _words(self, row: int) -> str:
        places = [place for place in self._pairs[row] if place is not None]
        text = " ".join(f"{place.file}:{place.line} {place.function}" for place in places)
        if any(each.inferred[COUNT, row] for each in self._figures):
            text += " inferred"
        if self.by == "stack":
            text += " ".join(f"{frame.file}:{frame.line} {frame.function}" for frame in self._callers(row))
        return text.casefold()

    def _ranks(
        self, before: I64, after: I64, order: CompareOrder, rows: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.intp]:
        """The order of rows; pairs are sorted by name, so a row's number breaks ties."""
        difference = after[AMOUNT] - before[AMOUNT]
        key = {
            "difference": -abs(difference),
            "increase": -difference,
            "decrease": difference,
            "before": -before[AMOUNT],
            "after": -after[AMOUNT],
            "count": -abs(after[COUNT] - before[COUNT]),
            "name": rows,
        }[order]
        # among equal differences the larger line first
        return np.lexsort((rows, -np.maximum(before[AMOUNT], after[AMOUNT]), key))

    def _rows(self, page: npt.NDArray[np.intp], before: I64, after: I64) -> list[ComparedRow]:
        """The rows of a page, whose figures are read at once."""
        inferred = [each.inferred[:, page] for each in self._figures]
        sources = [
            np.where((part[COUNT] > 0) & (part[COUNT] == each.own[COUNT, page]), INFERRED, RECORDED).tolist()
            for part, each in zip(inferred, self._figures, strict=True)
        ]
        figures = [part.tolist() for part in (before[:, page], after[:, page], *inferred)]
        (before_bytes, after_bytes, *inferred_bytes) = (each[AMOUNT] for each in figures)
        rows = []
        for at, row in enumerate(page.tolist()):
            pair = self._pairs[row]
            rows.append(
                ComparedRow(
                    row=row,
                    before=_frame(pair.before, sources[0][at]),
                    after=_frame(pair.after, sources[1][at]),
                    how=pair.how,
                    before_bytes=before_bytes[at],
                    after_bytes=after_bytes[at],
                    difference_bytes=after_bytes[at] - before_bytes[at],
                    before_count=figures[0][COUNT][at],
                    after_count=figures[1][COUNT][at],
                    callers=self._callers(row) if self.by == "stack" else [],
                    before_inferred_bytes=inferred_bytes[0][at],
                    after_inferred_bytes=inferred_bytes[1][at],
                )
            )
        return rows

    def _all_inferred(self, row: int) -> bool:
        guesses = sum(int(each.inferred[COUNT, row]) for each in self._figures)
        return 0 < guesses == sum(int(each.own[COUNT, row]) for each in self._figures)

    def _callers(self, row: int) -> list[Frame]:
        """The next lines of the user's code above that of a stack, on the side that has it (after, if both do)."""
        found: list[Frame] = []
        before, after = (each.side for each in self._figures)
        item = int(self._first[row])
        side, item = (after, item) if item < len(after.stacks) else (before, item - len(after.stacks))
        tree, own = side.stacks.tree, int(side.charged[item])
        node, passed = int(side.stacks.nodes[item]), False
        while node and len(found) < _CALLERS:
            place = int(tree.frames[node])
            if passed and side.places[place][3] == USER:
                found.append(frame(side.places[place]))
            passed = passed or place == own
            node = int(tree.parents[node])
        return found


def _of_places(side: Side, row_of_place: U32, rows: int) -> _Figures:
    """Sum a side's stacks by row."""
    native = side.native
    passed = np.where(native, np.uint32(NEVER), row_of_place).astype(np.uint32)
    stacks, tree = side.stacks, side.stacks.tree
    own_row = row_of_place[side.charged]
    own = np.zeros((len(stacks.values), rows), np.int64)
    calltree.add_by(own_row, stacks.values, own)

    def inclusive() -> I64:
        of_nodes = np.zeros((len(stacks.values), len(tree.parents)), np.int64)
        calltree.add_by(stacks.nodes, stacks.values, of_nodes)
        sums = np.zeros_like(own)
        lines = passed[np.concatenate((np.zeros(1, np.uint32), tree.frames[1:]))]
        lines[0] = NEVER
        folder = LineFolder(tree.parents, lines, rows)
        for values, of_rows in zip(of_nodes, sums, strict=True):
            folder.fold(values, of_rows, np.zeros(rows, np.int64))
        # places for operators, missing stacks and inferred lines are in no line of Python, so inclusive is own
        alone = native[side.charged] | side.inferred
        calltree.add_by(own_row[alone], np.compress(alone, stacks.values, axis=1), sums)
        return sums

    return _Figures(side, passed, own_row, own, _inferred_of(side, own_row, rows), inclusive)


def _inferred_of(side: Side, own_row: U32, rows: int) -> I64:
    found = np.zeros((len(side.stacks.values), rows), np.int64)
    calltree.add_by(own_row[side.inferred], np.compress(side.inferred, side.stacks.values, axis=1), found)
    return found


def _stack_rows(
    before: Side, after: Side, lines: Grouping
) -> tuple[list[Pair], npt.NDArray[np.intp], list[U32]]:
    """Pair stacks whose frames are all paired with each other, and number each side's stacks by pair.

    Inferred lines must be paired, too. Returns the pairs, the first stack of each, with stacks of "after" preferred,
    and the pair of each stack before and after.
    """
    tree, split = after.stacks.tree.joined(before.stacks.tree), len(after.stacks.tree.frames)
    frames = (np.zeros(1, np.uint32), lines.after[tree.frames[1:split]], lines.before[tree.frames[split:]])
    names, none = np.arange(len(lines.pairs), dtype=np.uint32), np.zeros(len(lines.pairs), np.uint8)
    merged = np.empty((5, len(tree.frames)), np.uint32)
    calltree.merge(tree.parents, np.concatenate(frames), names, none, none, 0, calltree.NO_FOCUS, merged)
    own = np.concatenate((lines.after[after.charged], lines.before[before.charged]))
    inferred = np.concatenate((after.inferred, before.inferred))
    # each item of a side has a distinct stack
    keys = merged[0, tree.ends].astype(np.uint64) << np.uint64(32) | np.where(inferred, own, np.uint32(NEVER))
    _, first, rows = np.unique(keys, return_index=True, return_inverse=True)
    places: list[list[Place | None]] = [[None, None] for _ in first]
    count = len(after.stacks)
    for item, (row, pair) in enumerate(zip(rows.tolist(), own.tolist(), strict=True)):
        places[row][item < count] = lines.pairs[pair][item < count]
    of_sides = [rows[count:].astype(np.uint32), rows[:count].astype(np.uint32)]
    return [Pair(*pair) for pair in places], first, of_sides


def _of_stacks(side: Side, own_row: U32, rows: int) -> _Figures:
    own = np.zeros((len(side.stacks.values), rows), np.int64)
    calltree.add_by(own_row, side.stacks.values, own)
    return _Figures(
        side, np.empty(0, np.uint32), own_row, own, _inferred_of(side, own_row, rows), lambda: own
    )


def _there(figures: I64) -> Mask:
    """Mask of the rows that have anything, including negative values and bytes without counts."""
    found: Mask = (figures != 0).any(axis=0)
    return found


def _mask(rows: npt.NDArray[np.intp], count: int) -> Mask:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask


def _frame(place: Place | None, source: int) -> Frame | None:
    return None if place is None else frame(place, source)


def compare(before: Side, after: Side, by: CompareBy = "line") -> Comparison:
    """Compare two sides whose places aren't paired yet."""
    return Comparison(before, after, Pairing(before.places, after.places), by)
