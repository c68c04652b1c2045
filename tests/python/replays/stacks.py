"""Stacks with values, and the sums of source lines."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

NO_FILE = ("", "??", "none", "<unknown>")
"""What recorders write for an unknown file."""

MOST_LINE = 2**31 - 1
"""Larger lines are an unsigned -1, or damage; like those below 1 they are unknown."""


class Frame(NamedTuple):
    """A frame. ``file`` is empty and ``line`` 0 where the recorder didn't know them.

    A frame without a file stands in its ``module``, the binary or shared library, where that is known.
    """

    function: str
    file: str
    line: int
    module: str = ""


Line = tuple[str, int]
"""File and line."""

Stack = Sequence[Frame]
"""Innermost frame first, inlined ones expanded."""


def known_line(file: str, line: int) -> int:
    """The line if it is valid, else 0."""
    return line if file not in NO_FILE and 0 < line <= MOST_LINE else 0


class Tree:
    """Stacks as numbers: two stacks of the same frames have the same number, and 0 is the empty one.

    Numbers grow from callers to what they call.
    """

    def __init__(self) -> None:
        self.parents = [0]
        self.frames: list[Frame | None] = [None]
        self._numbers: dict[tuple[int, Frame], int] = {}

    def call(self, stack: int, frame: Frame) -> int:
        """The stack in which ``stack`` called ``frame``."""
        number = self._numbers.get((stack, frame))
        if number is None:
            number = self._numbers[stack, frame] = len(self.parents)
            self.parents.append(stack)
            self.frames.append(frame)
        return number

    def number(self, stack: Stack) -> int:
        """The number of a stack."""
        found = 0
        for frame in reversed(stack):
            found = self.call(found, frame)
        return found

    def stack(self, number: int) -> list[Frame]:
        """The frames of a stack."""
        found: list[Frame] = []
        while number:
            frame = self.frames[number]
            assert frame is not None
            found.append(frame)
            number = self.parents[number]
        return found


class Sums:
    """The sums of a tree's stacks: rows of values, added up by stack."""

    def __init__(self, tree: Tree, stacks: Iterable[int], values: npt.ArrayLike, columns: int) -> None:
        self.tree = tree
        numbers = np.fromiter(stacks, np.int64)
        self.stacks, places = np.unique(numbers, return_inverse=True)
        self.values: I64 = np.zeros((len(self.stacks), columns), np.int64)
        if len(numbers):
            np.add.at(self.values, places, np.asarray(values, np.int64).reshape(len(numbers), columns))

    def by_stack(self) -> dict[int, list[int]]:
        """The values of each stack that has any."""
        some = (self.values != 0).any(axis=1)
        return dict(zip(self.stacks[some].tolist(), self.values[some].tolist(), strict=True))

    def by_line(
        self, owns: Callable[[Frame], bool] = lambda _: True
    ) -> tuple[dict[Line, list[int]], dict[Line, list[int]]]:
        """What lines have with what they called, and by themselves.

        A stack counts once for a line, however often the line recurs in it; by themselves lines have the stacks whose
        innermost frame with a known line they are, of the frames that ``owns`` takes. Lines that have nothing are left
        out.
        """
        tree = self.tree
        numbers: dict[Line, int] = {}
        line_of = [
            -1
            if frame is None or not known_line(frame.file, frame.line)
            else numbers.setdefault((frame.file, frame.line), len(numbers))
            for frame in tree.frames
        ]
        may_own = [frame is not None and owns(frame) for frame in tree.frames]
        parents = tree.parents
        through_line: list[int] = []
        through_row: list[int] = []
        own_line: list[int] = []
        own_row: list[int] = []
        for row, node in enumerate(self.stacks.tolist()):
            seen: set[int] = set()
            innermost, at = -1, node
            while at:
                line = line_of[at]
                if line >= 0:
                    seen.add(line)
                    if innermost < 0 and may_own[at]:
                        innermost = line
                at = parents[at]
            through_line += seen
            through_row += [row] * len(seen)
            if innermost >= 0:
                own_line.append(innermost)
                own_row.append(row)
        return self._of_lines(numbers, through_line, through_row), self._of_lines(numbers, own_line, own_row)

    def charged(self, rank: Callable[[Frame], int]) -> dict[Line, list[int]]:
        """What lines are charged, where each stack is charged to one frame: the innermost of those of lowest rank.

        What is charged to a frame without a known line is left out.
        """
        tree = self.tree
        ranks = [0 if frame is None else rank(frame) for frame in tree.frames]
        found: dict[Line, list[int]] = {}
        for node, values in zip(self.stacks.tolist(), self.values.tolist(), strict=True):
            best, at = node, node
            while at:
                if ranks[at] < ranks[best]:
                    best = at
                at = tree.parents[at]
            frame = tree.frames[best]
            if frame is not None and known_line(frame.file, frame.line):
                place = (frame.file, frame.line)
                found[place] = [
                    one + two for one, two in zip(found.get(place, [0] * len(values)), values, strict=True)
                ]
        return {place: values for place, values in found.items() if any(values)}

    def _of_lines(self, numbers: dict[Line, int], lines: list[int], rows: list[int]) -> dict[Line, list[int]]:
        sums = np.zeros((len(numbers), self.values.shape[1]), np.int64)
        np.add.at(sums, lines, self.values[rows])
        return {line: values for line, values in zip(numbers, sums.tolist(), strict=True) if any(values)}


class Profile:
    """The samples of a profile: for each its stack in ``tree`` and a value of each of ``names``."""

    def __init__(self, names: Sequence[str], tree: Tree | None = None) -> None:
        self.names = list(names)
        self.tree = Tree() if tree is None else tree
        self._stacks: list[int] = []
        self._values: list[Sequence[int]] = []

    def add(self, stack: Stack, values: Sequence[int]) -> None:
        """Add a sample."""
        assert len(values) == len(self.names)
        self._stacks.append(self.tree.number(stack))
        self._values.append(values)

    def add_all(self, stacks: Sequence[int], values: I64) -> None:
        """Add many samples, their stacks by number."""
        self._stacks += stacks
        self._values += values.tolist()

    def sums(self) -> Sums:
        """The values of each stack."""
        return Sums(self.tree, self._stacks, self._values, len(self.names))
