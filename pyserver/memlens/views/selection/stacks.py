"""Stacks with values: the common form of sets of allocations and of samples.

Flame graphs, comparisons, groups, histograms of sizes, folded stacks and exports are all made from
:class:`ValuedStacks`. :mod:`memlens.views.selection.items` makes them from a snapshot.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar, assert_never

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.kernels.tree import calltree
from memlens.kernels.tree import grouping as kernel
from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER

AMOUNT, COUNT = 0, 1
"""The rows of a side's values that every set has: an amount, mostly in bytes, and a number of allocations."""


class ValueName(NamedTuple):
    """A value's type, such as ``("alloc_space", "bytes")``. Units are bytes, count and nanoseconds."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class OneSide:
    """A row of values for each of ``types``. If ``counted`` is False, counts are not known."""

    types: tuple[ValueName, ...]
    counted: bool = True


@dataclass(frozen=True, slots=True)
class TwoSides:
    """Before and after, or decrease and increase of a value.

    There are three groups of rows for ``types``: the sum of the absolute values of both sides, then before, then after.
    A tree that is laid out by something else has one more row for that.
    """

    types: tuple[ValueName, ...]

    @property
    def before(self) -> int:
        """The first row of the side before."""
        return len(self.types)

    @property
    def after(self) -> int:
        """The first row of the side after."""
        return 2 * len(self.types)


@dataclass(frozen=True, slots=True)
class Retained:
    """Objects of a heap, each below the one that dominates it.

    Their own values are shallow sizes, and their inclusive ones retained sizes. Every object is charged to itself.
    """

    types: tuple[ValueName, ...]


Meaning = OneSide | TwoSides | Retained
"""What the rows of values mean. Code that depends on it is a ``match`` that ends in ``assert_never``."""

M_co = TypeVar("M_co", bound=Meaning, covariant=True)
S = TypeVar("S", bound=np.generic)


def sides_of(meaning: Meaning) -> TwoSides | None:
    """The two sides of values, if they have them."""
    match meaning:
        case TwoSides():
            return meaning
        case OneSide() | Retained():
            return None
        case _:
            assert_never(meaning)


@dataclass(frozen=True, slots=True, eq=False)
class PrefixTree:
    """Stacks as one prefix tree, node 0 its root and outermost; a parent's number is less than its child's.

    ``frames`` are the nodes' names, numbers of :class:`~memlens.views.naming.frame_names.FrameNames`. ``ends`` has the
    node of each stack, and ``archived`` its number in the view's own archive: NEVER for stacks of another. The last two
    stacks of a snapshot are for missing stacks: not recorded, and allocated before recording; in an archive both are
    stack 0.
    """

    parents: U32
    frames: U32
    ends: U32
    archived: U32

    def joined(self, other: "PrefixTree") -> "PrefixTree":
        """Both trees below one root; the stacks of the other one follow those of this one."""
        moved = np.uint32(len(self.parents) - 1)
        parents, ends = (
            np.where(column == 0, 0, column + moved) for column in (other.parents[1:], other.ends)
        )
        return PrefixTree(
            np.concatenate((self.parents, parents.astype(np.uint32))),
            np.concatenate((self.frames, other.frames[1:])),
            np.concatenate((self.ends, ends.astype(np.uint32))),
            np.concatenate((self.archived, other.archived)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ValuedStacks(Generic[M_co]):
    """Stacks with values. An item is a stack, or a single allocation or sample on one.

    Item ``i`` is of the stack ``stacks[i]`` of the tree and has ``values[:, i]``, int64[rows, items], with rows
    according to ``meaning``. ``rows`` are the rows of allocations on their device or of samples; the item of a whole
    stack has that of its largest. ``first`` orders items by time (less is earlier), or is a function that computes
    this, because only trees sorted by time need it. ``inferred`` is the frame that an item is inferred to come from,
    NEVER for none, and None if there is no such item.
    """

    tree: PrefixTree
    stacks: U32
    values: I64
    meaning: M_co
    rows: U32
    first: U32 | Callable[[], U32]
    inferred: U32 | None = None

    def __len__(self) -> int:
        return len(self.stacks)

    @property
    def nodes(self) -> U32:
        """The node at which each item's stack ends."""
        return self.tree.ends[self.stacks]

    def times(self) -> U32:
        """The keys that order items by time."""
        return self.first() if callable(self.first) else self.first

    def archived(self, items: npt.NDArray[np.intp] | Mask) -> list[int]:
        """The distinct numbers in the view's own archive of the stacks of some items."""
        numbers = distinct(self.tree.archived[self.stacks[items]])
        found: list[int] = numbers[numbers != NEVER].tolist()
        return found

    def where(self, mask: Mask) -> "ValuedStacks[M_co]":
        """Some of the items."""
        if mask.all():
            return self
        items = np.flatnonzero(mask)
        first = self.first
        return replace(
            self,
            stacks=self.stacks[items],
            values=np.take(self.values, items, axis=1),
            rows=self.rows[items],
            first=(lambda: first()[items]) if callable(first) else first[items],
            inferred=None if self.inferred is None else self.inferred[items],
        )

    def present(self) -> "ValuedStacks[M_co]":
        """The items that have any value."""
        mask: Mask = (self.values != 0).any(axis=0)
        return self.where(mask)

    def summed(self, sizes: I64 | None = None) -> "ValuedStacks[M_co]":
        """Sum items to one for each stack, and one for each line that is inferred for a part of it.

        ``sizes`` by row determine which of an item's rows is its largest.
        """
        codes, stacks, inferred = self._codes()
        sums = np.zeros((len(stacks), len(self.values)), np.int64)
        first, largest = (np.empty(len(stacks), np.uint32) for _ in range(2))
        of_items = self.first
        times = self.rows if callable(of_items) else of_items
        by_size = np.empty(0, np.int64) if sizes is None else sizes
        kernel.group_sums(codes, self.rows, times, self.values, by_size, sums, first, largest)
        present = np.flatnonzero(largest != NEVER)

        def least() -> U32:
            found = np.full(len(stacks), NEVER, np.uint32)
            calltree.least_by(codes, self.times(), found)
            return found[present]

        return replace(
            self,
            stacks=stacks[present],
            values=np.ascontiguousarray(sums[present].T),
            rows=largest[present],
            first=least if callable(of_items) else first[present],
            inferred=None if inferred is None else inferred[present],
        )

    def _codes(self) -> tuple[U32, U32, U32 | None]:
        """The sum to which each item belongs, and the stack and the inferred frame of each sum."""
        count = len(self.tree.ends)
        numbers = np.arange(count, dtype=np.uint32)
        if self.inferred is None:
            return self.stacks, numbers, None
        codes = self.stacks.copy()
        pairs = np.asarray(kernel.intern_pairs(self.stacks, self.inferred, count, codes)).reshape(-1, 2)
        never = np.full(count, NEVER, np.uint32)
        return codes, np.concatenate((numbers, pairs[:, 0])), np.concatenate((never, pairs[:, 1]))

    def pruned(self) -> "ValuedStacks[M_co]":
        """The same items on a tree with only their stacks."""
        places = np.empty(len(self), np.uint32)
        parents, frames, _ = calltree.pick(self.tree.parents, self.tree.frames, self.nodes, places)
        tree = PrefixTree(np.asarray(parents), np.asarray(frames), places, self.tree.archived[self.stacks])
        return replace(self, tree=tree, stacks=np.arange(len(self), dtype=np.uint32))


def taken(column: npt.NDArray[S], rows: U32) -> npt.NDArray[S]:
    """The items of some ascending rows of a column; a contiguous range isn't copied."""
    if len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1:
        return column[int(rows[0]) : int(rows[-1]) + 1]
    return column[rows]


def by_sign(items: ValuedStacks[OneSide], counts: I64) -> ValuedStacks[TwoSides]:
    """Split values into negative ones as the side "before", and the rest as "after".

    ``counts`` are those of the items with the sign of their side.
    """
    net = np.stack((items.values[AMOUNT], counts))
    before, after = np.maximum(-net, 0), np.maximum(net, 0)
    values, meaning = np.concatenate((before + after, before, after)), TwoSides(items.meaning.types)
    return ValuedStacks(items.tree, items.stacks, values, meaning, items.rows, items.first, items.inferred)
