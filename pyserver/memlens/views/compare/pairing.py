"""Pairs files, functions and lines of two runs: code moves, and so do its folders.

It uses only texts and numbers and no snapshot, so profiles are paired by the same rules.

1. Files: first those spelled alike, then those with the most whole parts of their paths in common, counted from the
   end. Among several equally good ones, those that share the most functions are paired (by the best one-to-one
   assignment, not greedily).
2. Functions of a file: by name; then, among those without a counterpart, those on the same lines: renamed.
3. Lines of a function: in their order, as many as possible, with as few changes of offset as possible; see
   :func:`align`. A line with the same number is unchanged, another has moved.
"""

import bisect
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from memlens.arrays import I64, U32
from memlens.store.stacks.frames import FrameRow

How = Literal["same", "moved", "renamed", "only_before", "only_after"]
By = Literal["line", "function", "file"]

# the costs of an alignment, in which each pair is worth 1
_LATE_START = 0.3
"""For a first pair that has moved: a line that stayed is stronger evidence than one that moved."""
_NEW_OFFSET = 0.8
"""For a pair with another offset than the pair before it."""
_PER_LINE = 1e-6
"""For each line of distance, so that the nearest of equals is chosen."""

_MOST_CELLS = 250_000
"""A function with more possible pairs than this is aligned only by its unmoved lines."""
_MOST_WEIGHED = 64
"""Up to this many files on a side are assigned optimally; more files of one name greedily."""
_MOST_ALIKE = 64
"""A line or a name that more functions or files have is no evidence for any one of them."""
_MOST_PARTS = 64
"""How many parts of a path are compared, counted from the end."""
_MOST_STEPS = 4_000_000
"""The steps of all alignments and assignments of two runs; afterwards lines are paired only where they stayed."""

_SEPARATORS = re.compile(r"[/\\]+")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
# names so common in projects that the name alone is no evidence
_COMMON_NAMES = frozenset({"__init__.py", "__main__.py", "setup.py", "conftest.py"})


class Place(NamedTuple):
    """A line of a function of a file. ``line`` is 0 if only the function or the file is meant or known."""

    file: str
    line: int
    function: str
    kind: int


class Pair(NamedTuple):
    """A place before and after; None if there is none."""

    before: Place | None
    after: Place | None

    @property
    def how(self) -> How:
        """How it changed. A file in another folder is the same file."""
        if self.before is None or self.after is None:
            return "only_after" if self.before is None else "only_before"
        if self.before.function != self.after.function:
            return "renamed"
        return "same" if self.before.line == self.after.line else "moved"


class Work:
    """The work that the pairing of two runs may still take; they may have any number of functions and files."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def affords(self, steps: int) -> bool:
        """Whether so many steps are left, which are then used up."""
        if steps > self._left:
            return False
        self._left -= steps
        return True


@dataclass(frozen=True, slots=True)
class Grouping:
    """The pairs of one kind, and for each frame of both sides the number of its pair."""

    pairs: list[Pair]
    before: U32
    after: U32


class Pairing:
    """The frames of two runs, paired by line, by function and by file."""

    def __init__(self, before: Sequence[FrameRow], after: Sequence[FrameRow]) -> None:
        left, right, work = _Code(before), _Code(after), Work()
        lines: list[Pair] = []
        functions: list[Pair] = []
        files: list[Pair] = []
        for left_file, right_file in pair_files(left.functions_of, right.functions_of, work):
            files.append(Pair(left.file_place(left_file), right.file_place(right_file)))
            theirs = left.lines_of(left_file), right.lines_of(right_file)
            for left_name, right_name in pair_functions(*theirs):
                functions.append(
                    Pair(
                        left.function_place(left_file, left_name),
                        right.function_place(right_file, right_name),
                    )
                )
                both = (
                    [] if left_name is None else theirs[0][left_name],
                    [] if right_name is None else theirs[1][right_name],
                )
                lines += (
                    Pair(left.place(left_file, line, left_name), right.place(right_file, other, right_name))
                    for line, other in align(*both, work)
                )
        self.groups: dict[By, Grouping] = {
            "line": _grouping(lines, left.line_keys, right.line_keys, lambda place: place[:3]),
            "function": _grouping(
                functions, left.function_keys, right.function_keys, lambda place: (place.file, place.function)
            ),
            "file": _grouping(files, left.file_keys, right.file_keys, lambda place: place.file),
        }


def pair_files(
    before: Mapping[str, Iterable[str]], after: Mapping[str, Iterable[str]], work: Work | None = None
) -> Iterator[tuple[str | None, str | None]]:
    """Pair files, given with the functions in each; every file occurs once, with None if it has no counterpart."""
    work = work or Work()
    functions = [{file: frozenset(names) for file, names in side.items()} for side in (before, after)]
    left = {file: path_parts(file) for file in before if file not in after}
    right = {file: path_parts(file) for file in after if file not in before}
    paired = [(file, file) for file in before if file in after]
    deepest = min(_deepest(left), _deepest(right))
    for shared in range(deepest, 0, -1):
        ends: dict[tuple[str, ...], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
        for side, files in enumerate((left, right)):
            for file, parts in files.items():
                if len(parts) >= shared:
                    ends[parts[-shared:]][side].append(file)
        for end, (lefts, rights) in ends.items():
            if not lefts or not rights:
                continue
            for a, b in _assign(sorted(lefts), sorted(rights), functions[0], functions[1], work):
                alone = len(lefts) == len(rights) == 1 and end[0] not in _COMMON_NAMES
                if shared == 1 and not alone and not functions[0][a] & functions[1][b]:
                    continue  # only the name matches
                paired.append((a, b))
                del left[a], right[b]
    yield from paired
    yield from ((file, None) for file in left)
    yield from ((None, file) for file in right)


def path_parts(file: str) -> tuple[str, ...]:
    """A path's last parts for comparison, in lower case for Windows, which ignores case."""
    if file.startswith("<"):
        return (file,)
    windows = bool(_DRIVE.match(file)) or ("\\" in file and "/" not in file)
    parts: list[str] = []
    for part in _SEPARATORS.split(file.lower() if windows else file):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return tuple(parts[-_MOST_PARTS:])


def pair_functions(
    before: Mapping[str, Sequence[int]], after: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str | None, str | None]]:
    """Pair the functions of a file, given with the lines in each (sorted); each function occurs once."""
    yield from ((name, name) for name in before if name in after)
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    at_line: dict[int, list[str]] = defaultdict(list)
    for name in new:
        for line in after[name]:
            if line > 0:
                at_line[line].append(name)
    shared: dict[tuple[str, str], int] = defaultdict(int)
    for name in gone:
        for line in before[name]:
            others = at_line.get(line, ())
            if len(others) <= _MOST_ALIKE:
                for other in others:
                    shared[name, other] += 1
    renamed: dict[str, str] = {}
    taken: set[str] = set()
    for name, other in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        if name not in renamed and other not in taken:
            renamed[name] = other
            taken.add(other)
    yield from ((name, renamed.get(name)) for name in gone)
    yield from ((None, name) for name in new if name not in taken)


def align(
    before: Sequence[int], after: Sequence[int], work: Work | None = None
) -> list[tuple[int | None, int | None]]:
    """Pair the lines of a function (sorted, distinct) in order; every line occurs once.

    A pair is worth 1; the first costs 0.3 if it has moved, each change of offset 0.8, and each line of distance a tiny
    amount. So all lines of a function that moved as a whole are paired, even if one of them is now where another one
    was; and a line that stayed is preferred to one that would have moved because of another.
    """
    if not before or not after:
        return [*((line, None) for line in before), *((None, line) for line in after)]
    if len(before) == len(after) and len({b - a for a, b in zip(before, after, strict=True)}) == 1:
        return list(zip(before, after, strict=True))
    cells = len(before) * len(after)
    if cells > _MOST_CELLS or not (work or Work()).affords(cells):
        there = set(after)
        pairs = [(line, line) for line in before if line in there]
    else:
        pairs = _best_alignment(before, after)
    paired = dict(pairs)
    partners = set(paired.values())
    return [
        *((line, paired.get(line)) for line in before),
        *((None, line) for line in after if line not in partners),
    ]


def _best_alignment(before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int]]:
    """The alignment of the highest value, by dynamic programming over pairs in O(len(before) * len(after)).

    The best chain that ends in a pair extends either the best chain of the same offset or the best of any offset.
    """
    width = len(after)
    came_from: list[int] = [-1] * (len(before) * width)
    by_offset: dict[int, tuple[float, int]] = {}
    # best_above[j]: the best chain in earlier rows that ends at or before column j
    best_above: list[tuple[float, int]] = [(0.0, -1)] * width
    best: tuple[float, int] = (-1.0, -1)
    for i, line in enumerate(before):
        row: list[tuple[float, int]] = []
        best_in_row: tuple[float, int] = (0.0, -1)
        for j, other in enumerate(after):
            offset = other - line
            distance = abs(offset) * _PER_LINE
            cell = i * width + j
            worth, source = 1 - (_LATE_START if offset else 0.0) - distance, -1
            if i and j:
                above, place = best_above[j - 1]
                if place >= 0 and 1 + above - _NEW_OFFSET - distance > worth:
                    worth, source = 1 + above - _NEW_OFFSET - distance, place
            same = by_offset.get(offset)
            if same is not None and 1 + same[0] > worth:
                worth, source = 1 + same[0], same[1]
            came_from[cell] = source
            # safe at once: no other pair of this row has this offset
            if same is None or worth > same[0]:
                by_offset[offset] = (worth, cell)
            if worth > best_in_row[0]:
                best_in_row = (worth, cell)
            row.append(best_in_row)
        best_above = [
            max(old, new, key=lambda chain: chain[0]) for old, new in zip(best_above, row, strict=True)
        ]
        best = max(best, best_above[-1], key=lambda chain: chain[0])
    pairs: list[tuple[int, int]] = []
    cell = best[1]
    while cell >= 0:
        pairs.append((before[cell // width], after[cell % width]))
        cell = came_from[cell]
    pairs.reverse()
    return pairs


def _assign(
    lefts: list[str],
    rights: list[str],
    left_of: Mapping[str, frozenset[str]],
    right_of: Mapping[str, frozenset[str]],
    work: Work,
) -> Iterator[tuple[str, str]]:
    """Pair as many as the smaller side has, so that the number of common functions is the highest."""
    if len(lefts) == len(rights) == 1:
        yield lefts[0], rights[0]
        return
    most = max(len(lefts), len(rights))
    if most <= _MOST_WEIGHED and work.affords(most**3):
        weights = np.array([[len(left_of[a] & right_of[b]) for b in rights] for a in lefts], np.int64)
        yield from ((lefts[i], rights[j]) for i, j in best_assignment(weights))
        return
    free = set(rights)
    users: dict[str, list[str]] = defaultdict(list)
    for right in rights:
        for name in right_of[right]:
            users[name].append(right)
    for left in lefts:
        shared: dict[str, int] = defaultdict(int)
        for name in left_of[left]:
            those = users[name]
            while those and those[-1] not in free:
                those.pop()
            # the last one is chosen among equals
            for right in those[-_MOST_ALIKE:]:
                if right in free:
                    shared[right] += 1
        if shared:
            right = max(shared, key=lambda name: (shared[name], name))
            free.remove(right)
            yield left, right


def best_assignment(weights: I64) -> list[tuple[int, int]]:
    """Assign rows to columns, one to one, as many as possible, with the highest sum of weights.

    The Kuhn-Munkres method with potentials, O(rows² · columns).
    """
    if weights.shape[0] > weights.shape[1]:
        return sorted((row, column) for column, row in best_assignment(weights.T))
    rows, columns = weights.shape
    cost = (weights.max(initial=0) - weights).astype(np.int64)
    row_potential, column_potential = [0] * (rows + 1), [0] * (columns + 1)
    row_of, way = [0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        row_of[0], at = row, 0
        slack: list[float] = [float("inf")] * (columns + 1)
        used = [False] * (columns + 1)
        while row_of[at]:
            used[at] = True
            here, least, following = row_of[at], float("inf"), 0
            for column in range(1, columns + 1):
                if used[column]:
                    continue
                reduced = int(cost[here - 1, column - 1]) - row_potential[here] - column_potential[column]
                if reduced < slack[column]:
                    slack[column], way[column] = reduced, at
                if slack[column] < least:
                    least, following = slack[column], column
            for column in range(columns + 1):
                if used[column]:
                    row_potential[row_of[column]] += int(least)
                    column_potential[column] -= int(least)
                else:
                    slack[column] -= least
            at = following
        while at:
            row_of[at] = row_of[way[at]]
            at = way[at]
    return sorted((row_of[column] - 1, column - 1) for column in range(1, columns + 1) if row_of[column])


class _Code:
    """One side's frames, by file, function and line."""

    def __init__(self, frames: Sequence[FrameRow]) -> None:
        self._kinds: dict[Hashable, int] = {}
        lines: dict[str, dict[str, set[int]]] = {}
        self.line_keys: list[Hashable] = []
        self.function_keys: list[Hashable] = []
        self.file_keys: list[Hashable] = []
        for file, line, function, kind in frames:
            lines.setdefault(file, {}).setdefault(function, set()).add(line)
            for key, keys in (
                ((file, line, function), self.line_keys),
                ((file, function), self.function_keys),
                (file, self.file_keys),
            ):
                # the clearest evidence first: one odd frame doesn't turn a user's file into a library
                self._kinds[key] = min(kind, self._kinds.get(key, kind))
                keys.append(key)
        self._lines = {
            file: {name: sorted(numbers) for name, numbers in functions.items()}
            for file, functions in lines.items()
        }

    @property
    def functions_of(self) -> Mapping[str, Iterable[str]]:
        return self._lines

    def lines_of(self, file: str | None) -> Mapping[str, Sequence[int]]:
        return {} if file is None else self._lines[file]

    def file_place(self, file: str | None) -> Place | None:
        return None if file is None else Place(file, 0, "", self._kinds[file])

    def function_place(self, file: str | None, name: str | None) -> Place | None:
        if file is None or name is None:
            return None
        # a function's position is its first known line
        lines = self._lines[file][name]
        return Place(file, lines[min(bisect.bisect(lines, 0), len(lines) - 1)], name, self._kinds[file, name])

    def place(self, file: str | None, line: int | None, name: str | None) -> Place | None:
        if file is None or line is None or name is None:
            return None
        return Place(file, line, name, self._kinds[file, line, name])


def _grouping(
    pairs: list[Pair], before: list[Hashable], after: list[Hashable], key: Callable[[Place], Hashable]
) -> Grouping:
    """Sort the pairs by place, and number each frame by the pair that its key is in."""
    pairs.sort(key=lambda pair: (pair.after or pair.before, pair.before or pair.after))
    numbers: tuple[dict[Hashable, int], dict[Hashable, int]] = {}, {}
    for number, pair in enumerate(pairs):
        for side, place in zip(numbers, pair, strict=True):
            if place is not None:
                side[key(place)] = number
    return Grouping(
        pairs,
        np.fromiter((numbers[0][known] for known in before), np.uint32, len(before)),
        np.fromiter((numbers[1][known] for known in after), np.uint32, len(after)),
    )


def _deepest(files: Mapping[str, tuple[str, ...]]) -> int:
    return max(map(len, files.values()), default=0)
