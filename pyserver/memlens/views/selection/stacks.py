"""Stacks with values: what sets of allocations and of samples come to, whatever is made of them.

Flame graphs, comparisons, groups, histograms of sizes, folded stacks and exports are all made of
:class:`ValuedStacks`. :mod:`memlens.views.selection.items` makes them of a snapshot.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar, assert_never

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree import calltree
from memlens.kernels.tree import grouping as kernel
from memlens.model.timeline import NEVER

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]

AMOUNT, COUNT = 0, 1
"""The rows of a side's values that every set has: an amount, in bytes mostly, and how many allocations that is."""


class ValueName(NamedTuple):
    """What a value is, as ``("alloc_space", "bytes")``. Units are those of pprof, as bytes, count and nanoseconds."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class OneSide:
    """A row of values for each of ``types``. Where ``counted`` is False counts say nothing: they aren't known."""

    types: tuple[ValueName, ...]
    counted: bool = True


@dataclass(frozen=True, slots=True)
class TwoSides:
    """What there is before and after, or what became less and what became more of a value.

    Rows come in threes of ``types``: both sides together and without their signs, then before, then after. A tree that
    is laid out by something else has one more row for that.
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
    """Objects of a heap, each below the one that dominates it. Their own values are shallow sizes.

    What an object has with all below it is what it retains. Nothing is charged to another object than itself.
    """

    types: tuple[ValueName, ...]


Meaning = OneSide | TwoSides | Retained
"""What the rows of values mean. What depends on it is a ``match`` that ends in ``assert_never``."""

M_co = TypeVar("M_co", bound=Meaning, covariant=True)
S = TypeVar("S", bound=np.generic)


def sides_of(meaning: Meaning) -> TwoSides | None:
    """The two sides of values that have them."""
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

    ``frames`` are the nodes' names, as :class:`~memlens.views.naming.frame_names.FrameNames` numbers them. ``ends`` has
    the node of each stack, and ``archived`` the number by which the view's own archive knows it: NEVER for stacks of
    another. The last two stacks of a snapshot stand for having none: not recorded, and allocated before recording; an
    archive knows both as its stack 0.
    """

    parents: U32
    frames: U32
    ends: U32
    archived: U32

    def joined(self, other: "PrefixTree") -> "PrefixTree":
        """Both trees below one root; the stacks of the other one are numbered after those of this."""
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

    Item ``i`` is of the stack ``stacks[i]`` of the tree and has ``values[:, i]``, int64[rows, items], in rows as
    ``meaning`` says. ``rows`` are the rows of allocations on their device or of samples; the item of a whole stack has
    that of its largest. ``first`` orders items by time (less is earlier), or is what works that out: only trees in the
    order of time need it. ``inferred`` is the frame that an item is inferred to come from, NEVER for none, and None
    where there is no such item.
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
        """The items in the order of time."""
        return self.first() if callable(self.first) else self.first

    def archived(self, items: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> list[int]:
        """The numbers by which the view's own archive knows the stacks of some items, each once."""
        numbers = np.unique(self.tree.archived[self.stacks[items]])
        found: list[int] = numbers[numbers != NEVER].tolist()
        return found

    def where(self, mask: npt.NDArray[np.bool_]) -> "ValuedStacks[M_co]":
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
        mask: npt.NDArray[np.bool_] = (self.values != 0).any(axis=0)
        return self.where(mask)

    def summed(self, sizes: I64 | None = None) -> "ValuedStacks[M_co]":
        """One item for each stack, and one for each line that is inferred for some of it.

        ``sizes`` by row say which of an item's rows is its largest.
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
        """What each item is summed under, and by that number its stack and its inferred frame."""
        count = len(self.tree.ends)
        numbers = np.arange(count, dtype=np.uint32)
        if self.inferred is None:
            return self.stacks, numbers, None
        codes = self.stacks.copy()
        pairs = np.asarray(kernel.intern_pairs(self.stacks, self.inferred, count, codes)).reshape(-1, 2)
        never = np.full(count, NEVER, np.uint32)
        return codes, np.concatenate((numbers, pairs[:, 0])), np.concatenate((never, pairs[:, 1]))

    def pruned(self) -> "ValuedStacks[M_co]":
        """The same items on a tree that has nothing else."""
        places = np.empty(len(self), np.uint32)
        parents, frames, _ = calltree.pick(self.tree.parents, self.tree.frames, self.nodes, places)
        tree = PrefixTree(np.asarray(parents), np.asarray(frames), places, self.tree.archived[self.stacks])
        return replace(self, tree=tree, stacks=np.arange(len(self), dtype=np.uint32))


def taken(column: npt.NDArray[S], rows: U32) -> npt.NDArray[S]:
    """The items of some ascending rows of a column; of a stretch of rows nothing is copied."""
    if len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1:
        return column[int(rows[0]) : int(rows[-1]) + 1]
    return column[rows]


def by_sign(items: ValuedStacks[OneSide], counts: I64) -> ValuedStacks[TwoSides]:
    """What is negative of values of one side as the side "before", the rest as "after".

    ``counts`` are those of the items with the sign of the side that they belong to.
    """
    net = np.stack((items.values[AMOUNT], counts))
    before, after = np.maximum(-net, 0), np.maximum(net, 0)
    values, meaning = np.concatenate((before + after, before, after)), TwoSides(items.meaning.types)
    return ValuedStacks(items.tree, items.stacks, values, meaning, items.rows, items.first, items.inferred)
