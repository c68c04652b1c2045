"""Distinguishes a model's layers from steps: layers are as regular as steps, but repeat within one pass.

Layers repeat twice: first when they are built, one after the other in a loop of a constructor, or moved to a device;
then when they run, below one line of a ``forward``. What is built isn't freed, and isn't built again.
"""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, Mask
from memlens.model.distinct import distinct
from memlens.store.snapshot import Snapshot

_WINDOWS = 7
_LEAST_KEPT = 0.95
_CONSTRUCTOR = "__init__"


class Calls(NamedTuple):
    """The calls of one function, such as ``forward``, in stacks, as places: a file, a line and a function."""

    place: I64
    """A node's place, -1 if it isn't such a call."""
    nearest: I64
    """The nearest node at or above a node that has a place, 0 for none."""
    above: I64
    """Like ``nearest``, starting above the node."""
    other_lines: list[set[int]]
    """For each place, the places of the same function on other lines."""

    @classmethod
    def of(cls, snapshot: Snapshot, called: str = "forward") -> Self | None:
        """The calls in all stacks of functions of that name, None if there are none."""
        found = snapshot.frames.in_function(lambda name: name.rpartition(".")[2] == called)
        rows = snapshot.frames.rows(np.flatnonzero(found).tolist())
        if not rows:
            return None
        places: dict[tuple[str, int, str], int] = {}
        of_frame = np.full(len(snapshot.frames), -1, np.int64)
        for frame, row in rows.items():
            of_frame[frame] = places.setdefault(row[:3], len(places))
        functions: dict[tuple[str, str], set[int]] = {}
        for (file, _, function), number in places.items():
            functions.setdefault((file, function), set()).add(number)
        others = [functions[file, function] - {number} for (file, _, function), number in places.items()]

        parent = snapshot.tree.parent.astype(np.int64)
        # the root has neither
        parent[:1] = 0
        place = np.append(-1, of_frame[snapshot.tree.frame[1:]])
        nearest = np.where(place >= 0, np.arange(len(parent)), parent)
        while True:
            # each round doubles the distance, up to the nearest place
            further = nearest[nearest]
            if np.array_equal(further, nearest):
                break
            nearest = further
        return cls(place, nearest, nearest[parent], others)

    def are_layers(self, nodes: npt.NDArray[np.integer]) -> bool:
        """Whether all stacks that end in these nodes are below one line of a function that has other lines as well.

        None of the other lines is in any of these stacks. (A module that only wraps another one has no other lines.)
        """
        at = distinct(self.nearest[nodes])
        if not len(at) or not at[0]:
            # a stack without such a call
            return False
        # a row of places for each path to the root, with columns counted from the outermost call
        ways = []
        while at.any():
            ways.append(np.where(at > 0, self.place[at], -1))
            at = self.above[at]
        levels = np.stack(ways)
        lengths = (levels >= 0).sum(axis=0)
        seen = set(distinct(levels).tolist())
        for outer in range(int(lengths.min())):
            called = levels[lengths - 1 - outer, np.arange(len(lengths))]
            place = int(called[0])
            if (called != place).any():
                return False
            if self.other_lines[place] - seen:
                return True
        return False


def are_layers(
    snapshot: Snapshot,
    forwards: Calls | None,
    stacks: I64,
    start: I64,
    first: I64,
    last: I64,
) -> bool:
    """Whether a repetition consists of a model's layers: whether most of some windows do.

    ``stacks`` and ``start`` are of allocations in order of time; a window is the events after ``first`` up to ``last``.
    """
    if forwards is None:
        return False
    windows = distinct(np.linspace(0, len(first) - 1, _WINDOWS).astype(np.int64)).tolist()
    layers = 0
    for window in windows:
        begin, end = np.searchsorted(start, [first[window], last[window]], "right")
        layers += forwards.are_layers(snapshot.stacks.node[stacks[begin:end]])
    return 2 * layers > len(windows)


def are_built(
    snapshot: Snapshot,
    stacks: I64,
    start: I64,
    size: npt.NDArray[np.integer],
    stays: Mask,
    first: I64,
    last: I64,
) -> bool:
    """Whether what repeats builds something: hardly a byte of it is freed before the trace ends, and it is below one
    line of a constructor, or over before half of the trace is.

    ``stays`` is which of the allocations are never freed.
    """
    begin, end = np.searchsorted(start, [first[0], last[-1]], "right")
    kept = int(size[begin:end][stays[begin:end]].sum())
    if kept < _LEAST_KEPT * int(size[begin:end].sum()):
        return False
    over = 2 * int(end) <= len(start)
    return over or are_layers(snapshot, Calls.of(snapshot, _CONSTRUCTOR), stacks, start, first, last)
