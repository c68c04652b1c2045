"""What is different between two sets of allocations, of one snapshot or of two: by line, function, file or stack.

Each side comes folded (:mod:`memlens.views.selection.folded`), so nothing here asks a snapshot. Sums add up: the
rows' own bytes of a side are that side's total, and the differences' sum is the difference of the totals.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import INFERRED, NATIVE, RECORDED, USER
from memlens.views.answers import Frame
from memlens.views.compare.pairing import Grouping, How, Pair, Pairing, Place
from memlens.views.selection.columns import NEVER, check_page, frame
from memlens.views.selection.folded import Folded

CompareBy = Literal["line", "function", "file", "stack"]
Measure = Literal["own", "inclusive"]
CompareOrder = Literal["difference", "increase", "decrease", "before", "after", "count", "name"]

_CALLERS = 3


class ComparedRow(Struct, frozen=True):
    """A place on both sides. ``row`` names it in questions about the same comparison.

    ``before`` and ``after`` say where it stands on each side; None where that side's snapshot knows no such place at
    all. Bytes and counts are of the allocations that it made itself (``own``), or with all that it called
    (``inclusive``). ``callers`` are further lines of the user's code, for rows that are stacks. A row whose frames'
    ``source`` is ``inferred`` holds what only C++ stands in the stacks of, by the forward line that was inferred.
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


class ComparedSums(Struct, frozen=True):
    """Sums over some rows' own allocations."""

    rows: int
    before_bytes: int
    after_bytes: int
    before_count: int
    after_count: int


class CompareAnswer(Struct, frozen=True):
    """Rows ``offset … offset + len(rows)`` of the ``found`` ones that hold the words searched for.

    ``total`` is over everything; ``grown``, ``shrunk``, ``same`` and ``only_before``, ``only_after`` (nothing on the
    other side) split it up by row. ``matching`` is over what was found. All of these are sums of own allocations,
    which add up; the largest figure of a row on either side is ``largest_bytes``, for bars of one scale.
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


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One side's figures by row, and what each of its stacks goes to."""

    folded: Folded
    row_of_frame: npt.NDArray[np.uint32]
    """The row of each frame, NEVER for native ones, which are no place of their own."""
    own_row: npt.NDArray[np.uint32]
    """The row of each folded stack's own allocations."""
    own: npt.NDArray[np.int64]
    """Bytes and count by row."""
    inclusive: npt.NDArray[np.int64]


class Comparison:
    """Two folded sides, row by row. ``by`` says what a row is."""

    def __init__(self, before: Folded, after: Folded, pairing: Pairing, by: CompareBy) -> None:
        self.by = by
        guesses = bool(before.inferred.any() or after.inferred.any())
        self._stack_pairs: list[tuple[int | None, int | None]] = []
        if by == "stack":
            lines = pairing.groups["line"]
            self._pairs, self._inferred, rows = _stack_rows(before, after, lines)
            self._distinct = len(self._pairs)
            self._sides = tuple(
                _stack_side(side, own, len(self._pairs))
                for side, own in zip((before, after), rows, strict=True)
            )
            firsts = [_first_of_row(own, len(self._pairs)) for own in rows]
            self._stack_pairs = list(zip(*firsts, strict=True))
        else:
            group = pairing.groups[by]
            self._distinct = len(group.pairs)
            # a place has a second row of what is only inferred to come from it
            self._pairs = group.pairs * 2 if guesses else group.pairs
            self._inferred = np.arange(len(self._pairs)) >= self._distinct
            self._sides = tuple(
                _side(side, rows, len(self._pairs), self._distinct)
                for side, rows in zip((before, after), (group.before, group.after), strict=True)
            )

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
        """A page of rows. Raises :class:`BadRequestError` for a page that can't be."""
        check_page(offset, limit)
        before, after = (side.own if measure == "own" else side.inclusive for side in self._sides)
        shown = np.flatnonzero(_there(before) | _there(after))
        found = self._search(shown, search)
        ranked = found[self._ranks(before[found], after[found], order, found)]
        page = (ranked[::-1] if reverse else ranked)[offset : offset + limit]
        difference = after[:, 0] - before[:, 0]
        own = [side.own for side in self._sides]
        has_before, has_after = _there(own[0]), _there(own[1])
        own_difference = own[1][:, 0] - own[0][:, 0]
        both = has_before & has_after
        return CompareAnswer(
            total=self._sums(has_before | has_after),
            grown=self._sums(both & (own_difference > 0)),
            shrunk=self._sums(both & (own_difference < 0)),
            same=self._sums(both & (own_difference == 0)),
            only_before=self._sums(has_before & ~has_after),
            only_after=self._sums(has_after & ~has_before),
            matching=self._sums(_mask(found, len(own[0])) & (has_before | has_after)),
            found=len(found),
            largest_bytes=int(max(before[:, 0].max(initial=0), after[:, 0].max(initial=0))),
            offset=offset,
            rows=[
                self._row(row, before[row].tolist(), after[row].tolist(), int(difference[row]))
                for row in page.tolist()
            ],
        )

    def stacks(self, row: int, measure: Measure, side: Literal["before", "after"]) -> list[int]:
        """The archive's numbers of a side's stacks that go to a row. Raises :class:`BadRequestError`."""
        if not 0 <= row < len(self._pairs):
            raise BadRequestError(f"The comparison has no row {row}")
        chosen = self._sides[0 if side == "before" else 1]
        own = chosen.own_row == row
        if measure == "inclusive" and self.by != "stack":
            folded = chosen.folded
            hits = np.flatnonzero(chosen.row_of_frame[folded.sequence] == row)
            own[np.searchsorted(folded.starts, hits.astype(np.uint64), "right") - 1] = True
        stacks: list[int] = np.unique(chosen.folded.stacks[own]).tolist()
        return stacks

    def _sums(self, rows: npt.NDArray[np.bool_]) -> ComparedSums:
        (before_bytes, before_count), (after_bytes, after_count) = (
            side.own[rows].sum(axis=0).tolist() for side in self._sides
        )
        return ComparedSums(int(rows.sum()), before_bytes, after_bytes, before_count, after_count)

    def _search(self, rows: npt.NDArray[np.intp], search: str) -> npt.NDArray[np.intp]:
        """The rows of which either side's file, line or function holds every word."""
        words = search.casefold().split()
        if not words:
            return rows
        kept = [row for row in rows.tolist() if all(word in self._words(row) for word in words)]
        return np.array(kept, np.intp)

    def _words(self, row: int) -> str:
        places = [place for place in self._pairs[row] if place is not None]
        text = " ".join(f"{place.file}:{place.line} {place.function}" for place in places)
        if self._inferred[row]:
            text += " inferred"
        if self.by == "stack":
            text += " ".join(f"{frame.file}:{frame.line} {frame.function}" for frame in self._callers(row))
        return text.casefold()

    def _ranks(
        self,
        before: npt.NDArray[np.int64],
        after: npt.NDArray[np.int64],
        order: CompareOrder,
        rows: npt.NDArray[np.intp],
    ) -> npt.NDArray[np.intp]:
        """The order of rows; pairs are sorted by name, so a row's number breaks ties."""
        difference = after[:, 0] - before[:, 0]
        key = {
            "difference": -abs(difference),
            "increase": -difference,
            "decrease": difference,
            "before": -before[:, 0],
            "after": -after[:, 0],
            "count": -abs(after[:, 1] - before[:, 1]),
            "name": rows % max(self._distinct, 1),
        }[order]
        # of equal differences the larger line first
        return np.lexsort((rows, -np.maximum(before[:, 0], after[:, 0]), key))

    def _row(self, row: int, before: list[int], after: list[int], difference: int) -> ComparedRow:
        pair = self._pairs[row]
        source = INFERRED if self._inferred[row] else RECORDED
        return ComparedRow(
            row=row,
            before=_frame(pair.before, source),
            after=_frame(pair.after, source),
            how=pair.how,
            before_bytes=before[0],
            after_bytes=after[0],
            difference_bytes=difference,
            before_count=before[1],
            after_count=after[1],
            callers=self._callers(row) if self.by == "stack" else [],
        )

    def _callers(self, row: int) -> list[Frame]:
        """The next lines of the user's code above a stack's own, on the side that has it (after, if both)."""
        found: list[Frame] = []
        first = self._stack_pairs[row]
        side, item = (1, first[1]) if first[1] is not None else (0, first[0])
        if item is None:
            return found
        folded = self._sides[side].folded
        frames, own = folded.places.frames, int(folded.own[item])
        passed = False
        for number in folded.sequence[int(folded.starts[item]) : int(folded.starts[item + 1])].tolist():
            if passed and frames[number][3] == USER:
                found.append(frame(frames[number]))
                if len(found) == _CALLERS:
                    break
            passed = passed or number == own
        return found


def _side(folded: Folded, row_of_frame: npt.NDArray[np.uint32], rows: int, distinct: int) -> _Side:
    """Sum a side's stacks by row; what is inferred goes to the row ``distinct`` behind its place's own."""
    frames = folded.places.frames
    python = np.fromiter((frame[3] != NATIVE for frame in frames), np.bool_, len(frames))
    places = np.where(python, row_of_frame, np.uint32(NEVER)).astype(np.uint32)
    own_row = row_of_frame[folded.own] + folded.inferred.astype(np.uint32) * np.uint32(distinct)
    own = np.zeros((rows, 2), np.int64)
    np.add.at(own, own_row, folded.values)
    totals = np.zeros((len(folded.stacks), 6), np.int64)
    totals[:, :2] = folded.values
    inclusive = np.zeros((rows, 6), np.int64)
    unused = np.zeros((rows, 2), np.int64)
    kernel.fold_lines(
        folded.starts, folded.sequence, places, totals, inclusive, unused, np.zeros(len(frames), np.uint8)
    )
    # what is told by an operator, by nothing or by a guess is in no line of Python, and is all that it is
    native = ~python[folded.own] | folded.inferred
    np.add.at(inclusive[:, :2], own_row[native], folded.values[native])
    return _Side(folded, places, own_row, own, inclusive[:, :2])


def _stack_rows(
    before: Folded, after: Folded, lines: Grouping
) -> tuple[list[Pair], npt.NDArray[np.bool_], tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]]:
    """Pair the stacks of which every frame is paired with the other's, and number each side's by its pair.

    An inferred line has to be paired too. The mask tells the pairs that are inferred.
    """
    numbers: dict[tuple[bytes, int | None], int] = {}
    places: list[list[Place | None]] = []
    inferred: list[bool] = []
    rows = []
    for side, (folded, pair_of_frame) in enumerate(((before, lines.before), (after, lines.after))):
        sequence = pair_of_frame[folded.sequence]
        own_pairs = pair_of_frame[folded.own].tolist()
        edges = folded.starts.tolist()
        guessed = folded.inferred.tolist()
        own_row = np.empty(len(folded.stacks), np.uint32)
        for item, own in enumerate(own_pairs):
            bare = edges[item] == edges[item + 1]
            key = (
                sequence[edges[item] : edges[item + 1]].tobytes(), own if bare or guessed[item] else None
            )  # fmt: skip
            row = numbers.setdefault(key, len(places))
            if row == len(places):
                places.append([None, None])
                inferred.append(guessed[item])
            places[row][side] = lines.pairs[own][side]
            own_row[item] = row
        rows.append(own_row)
    return [Pair(*pair) for pair in places], np.array(inferred, bool), (rows[0], rows[1])


def _stack_side(folded: Folded, own_row: npt.NDArray[np.uint32], rows: int) -> _Side:
    own = np.zeros((rows, 2), np.int64)
    np.add.at(own, own_row, folded.values)
    return _Side(folded, np.empty(0, np.uint32), own_row, own, own)


def _first_of_row(own_row: npt.NDArray[np.uint32], rows: int) -> list[int | None]:
    """The first folded stack of each row, None for a row that this side hasn't."""
    found: list[int | None] = [None] * rows
    for item, row in reversed(list(enumerate(own_row.tolist()))):
        found[row] = item
    return found


def _there(figures: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which rows have anything: of a profile's differences less than nothing, or bytes that nothing counts."""
    found: npt.NDArray[np.bool_] = (figures != 0).any(axis=1)
    return found


def _mask(rows: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask


def _frame(place: Place | None, source: int) -> Frame | None:
    return None if place is None else frame(place, source)


def compare(before: Folded, after: Folded, by: CompareBy = "line") -> Comparison:
    """Compare two sides whose frames were not paired before."""
    return Comparison(before, after, Pairing(before.places.frames, after.places.frames), by)
