"""Call trees over stacks with values, whatever the values are of: made, turned round, summed and searched.

What comes in (:class:`Stacks`) is a prefix tree of frames, and values of some of its nodes; what comes out
(:class:`CallTree`) is a tree of names in which each node knows its own value, that of all below it, and where it begins
when the tree is laid out as a flame graph. :mod:`memlens.views.flame.graph` makes the one of an allocation set and
answers from the other.

In between stands the :class:`Shape`: the whole prefix tree merged by name, whatever the values are. It is made once for
the stacks of a snapshot or a profile, so the tree of another moment costs what that moment holds.
"""

import bisect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.kernels.tree import calltree as kernel
from memlens.model.attribution import Attribution
from memlens.views.naming.frame_names import FrameNames, Merge
from memlens.views.selection.columns import NEVER

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]

Direction = Literal["top_down", "bottom_up"]
Order = Literal["value", "time"]

MOST_VALUE = 2**62
"""Sums stay below it; more than that is no memory that there ever was."""
MOST_TURNED = 20_000_000
"""Nodes of a bottom-up tree, about a gigabyte of them: deep stacks hardly share a node there."""


class FlameOptions(Struct, frozen=True):
    """How stacks become a call tree.

    ``merge`` says what makes two frames the same: their function, or their function and line. ``order`` puts the
    largest child first, or the one whose first allocation is the oldest. ``fold_recursion`` makes one box of a
    function that calls itself. ``collapse`` names packages whose frames become one box where they follow each other
    (``"*"``: all libraries and native code), ``hide`` names (numbers of :class:`FlameName`) that are left out.
    ``focus`` keeps the stacks that a name stands in: its callees from the top down, its callers from the bottom up,
    from its outermost place, so that recursion counts once.
    """

    direction: Direction = "top_down"
    merge: Merge = "function"
    order: Order = "value"
    fold_recursion: bool = False
    collapse: tuple[str, ...] = ()
    hide: tuple[int, ...] = ()
    focus: int | None = None


@dataclass(frozen=True)
class Stacks:
    """A prefix tree of stacks, node 0 its root and outermost, and values of some of its nodes.

    Item ``i`` is the stack that ends at ``nodes[i]``, any but the root, each once. ``values`` is int64[values, items],
    none of them negative; ``first`` orders items by time (less is earlier), or is what works that out: only trees in
    the order of time need it.
    """

    parents: U32
    frames: U32
    nodes: U32
    values: I64
    first: U32 | Callable[[], U32]

    def times(self) -> U32:
        """The items in the order of time."""
        return self.first() if callable(self.first) else self.first


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A whole prefix tree of stacks merged by name, as :class:`FlameOptions` say; see :func:`shape_of`."""

    parents: U32
    name: U32
    merged: U32
    """The node here of each node of the stacks; NEVER for those that a focus leaves out."""
    used: U32
    """The name of each frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where a tree's nodes come from."""

    shape: Shape
    places: U32
    """The node of each of the stacks' items, before the tree was turned round; NEVER for those left out."""
    top_down_parents: U32
    top_down_name: U32
    top_down_shape: U32
    """The node of the shape that each node was, before the tree was turned round."""


@dataclass(frozen=True, slots=True, eq=False)
class Later:
    """What the picture of a tree does without; each is asked for once at most.

    ``parents`` are the nodes' parents, NEVER for the root, and ``inclusive`` is int64[values, nodes]. ``origin`` is
    None where each frame of a stack is a node from the top down, so that a node's way of names tells it.
    """

    parents: Callable[[], U32]
    inclusive: Callable[[], I64]
    origin: Callable[[], Origin | None]


@dataclass(eq=False)
class CallTree:
    """A tree of names. Columns have a row a node, level by level: the children of a node stand together, in order.

    The root is node 0. Nodes that have nothing of the value that the tree is laid out by (``by``, one of ``values``)
    stand behind all ``placed`` ones, and no picture shows them. The numbers of nodes follow from what a tree is asked
    for alone, so that every answer about it means the same by them.
    """

    options: FlameOptions
    names: FrameNames
    by: int
    values: int
    name: U32
    offsets: U32
    """uint32[placed + 1]: the children of ``n``, those with a value, are ``offsets[n] + 1`` to ``offsets[n + 1]``."""
    widths: I64
    """What each node has with all that is below it, of the value that the tree is laid out by."""
    left: I64
    """Where the node begins on the axis of that value."""
    later: Later
    searches: dict[str, "Search"] = field(default_factory=dict)
    charged: dict[Attribution, I64] = field(default_factory=dict)
    by_name: dict[Attribution, tuple[I64, I64]] = field(default_factory=dict)
    """int64[values, names]: own and inclusive sums, made when they are first asked for."""
    sums_before: I64 | None = None
    """int64[values, placed + 1]: inclusive sums of the nodes before each, made when they are first asked for."""

    def __len__(self) -> int:
        return len(self.name)

    @property
    def placed(self) -> int:
        """How many nodes have a place in a picture: those with a value, and the root."""
        return len(self.offsets) - 1

    @property
    def total(self) -> int:
        """The value of all of it."""
        return int(self.widths[0])

    @cached_property
    def parents(self) -> U32:
        """Each node's parent, which stands before it; NEVER for the root."""
        return self.later.parents()

    @cached_property
    def inclusive(self) -> I64:
        """int64[values, nodes]: what the node has with all that is below it."""
        return self.later.inclusive()

    @cached_property
    def origin(self) -> Origin | None:
        """Where the nodes come from; None where their names tell it."""
        return self.later.origin()

    @cached_property
    def ends(self) -> I64:
        """int64[values, nodes]: the stacks that end at the node; from the bottom up it is their outermost caller."""
        own = self.inclusive.copy()
        kernel.own_values(self.parents, own)
        return own

    def own(self, attribution: Attribution) -> I64:
        """int64[values, nodes]: what is charged to the node itself.

        Each stack is charged to one node, so that the nodes' own values add up to the whole, and those of the nodes of
        one name to what the function has of its own, in whichever direction the tree is. From the bottom up a node of
        the first level has all of its value of its own where the charge is to the innermost frame, and the callers
        below it nothing. A stack whose frames are partly hidden or out of focus is charged to one of those that are
        there.
        """
        found = self.charged.get(attribution)
        if found is None:
            ranks = np.zeros(len(self), np.uint8)
            ranks[1:] = self.names.ranks(attribution)[self.name[1:]]
            nodes = np.arange(len(self), dtype=np.uint32)
            best = np.empty(len(self), np.uint32)
            kernel.best_above(self.parents, nodes, ranks, best, self.options.direction == "bottom_up")
            best[0] = 0
            found = np.zeros_like(self.ends)
            kernel.add_by(best, self.ends, found)
            self.charged[attribution] = found
        return found

    @cached_property
    def levels(self) -> list[int]:
        """Where each depth's nodes end; there are as many as the deepest node's depth and one more."""
        ends = [1]
        while (end := int(self.offsets[ends[-1]]) + 1) > ends[-1]:
            ends.append(end)
        return ends

    def depth(self, node: int) -> int:
        """How deep a node lies; the root's depth is 0."""
        return bisect.bisect_right(self.levels, node) if node < self.placed else len(self.path(node))

    def children(self, node: int) -> U32:
        """A node's children in order."""
        if node >= self.placed:
            return np.empty(0, np.uint32)
        return np.arange(int(self.offsets[node]) + 1, int(self.offsets[node + 1]) + 1, dtype=np.uint32)

    def path(self, node: int) -> list[int]:
        """The nodes from the root's child down to the node itself."""
        found = []
        while node:
            found.append(node)
            node = int(self.parents[node])
        return found[::-1]

    def search(self, text: str) -> "Search":
        """What a text is found in. The last few are kept."""
        found = self.searches.get(text)
        if found is None:
            wanted = self.names.matching(text, self.options.merge)
            held = np.zeros(len(self), np.uint8)
            totals = np.zeros(self.values, np.int64)
            kernel.find(self.parents, self.name, wanted, self.inclusive, held, totals)
            # nodes without a value are not to be seen
            before = np.zeros(self.placed + 1, np.int64)
            np.cumsum(held[: self.placed] != 0, out=before[1:])
            found = Search(held, before, totals)
            while len(self.searches) >= 4:
                self.searches.pop(next(iter(self.searches)))
            self.searches[text] = found
        return found


@dataclass(frozen=True)
class Search:
    """``held`` is 1 for nodes that match and 2 for those above such a node (3 for both).

    ``held_before[n]`` says how many nodes before ``n`` are either; ``totals`` count each value once.
    """

    held: U8
    held_before: I64
    totals: I64


def shape_of(parents: U32, frames: U32, names: FrameNames, options: FlameOptions) -> Shape:
    """Merge a prefix tree of stacks by name. Of the options all but the order count.

    Raises :class:`BadRequestError` for a focus that isn't a name.
    """
    merge_names = names.merged(options.merge)
    used = names.collapsed(merge_names, options.collapse) if options.collapse else merge_names
    foldable = np.full(names.count, options.fold_recursion, np.uint8)
    foldable[names.packages_as_names()] = 1
    hidden = np.zeros(names.count, np.uint8)
    for number in options.hide:
        hidden[_checked(number, names)] = 1
    focus, mode = 0, kernel.NO_FOCUS
    if options.focus is not None:
        focus = _checked(options.focus, names)
        mode = kernel.FROM_FOCUS if options.direction == "top_down" else kernel.UP_TO_FOCUS
    merged = np.empty(len(parents), np.uint32)
    shape, name = map(np.asarray, kernel.merge(parents, frames, used, foldable, hidden, focus, mode, merged))
    return Shape(shape, name, merged, used)


def build(
    stacks: Stacks, names: FrameNames, options: FlameOptions, by: int, shape: Shape | None = None
) -> CallTree:
    """Make the call tree of some stacks, laid out by value number ``by``.

    ``shape`` is :func:`shape_of` the same stacks, names and options, if it is there already. Raises what that does.
    """
    if stacks.values.sum(axis=1, dtype=np.float64).max(initial=0) >= MOST_VALUE:
        raise BadRequestError("The sizes in this snapshot are too large to be summed")
    if shape is None:
        shape = shape_of(stacks.parents, stacks.frames, names, options)
    places = np.empty(len(stacks.nodes), np.uint32)
    ends = shape.merged[stacks.nodes]
    parents, name, nodes = map(np.asarray, kernel.pick(shape.parents, shape.name, ends, places))
    summed = _Summed(stacks, places, parents, name, nodes)
    if options.direction == "bottom_up":
        summed = summed.turned()
    return _arranged(summed, names, options, by, shape)


@dataclass(frozen=True, slots=True, eq=False)
class _Summed:
    """A tree that is not arranged yet, and what its nodes come to."""

    stacks: Stacks
    places: U32
    """The node of each of the stacks' items, before the tree was turned round."""
    parents: U32
    name: U32
    nodes: U32
    """The shape's nodes; of a turned tree it is still those of the tree before it."""
    before: "_Summed | None" = None
    """The tree from the top down that this one was turned from."""
    ends: U32 | None = None
    """Where each node of that one ends."""

    def own(self, values: I64) -> I64:
        """What the stacks have of some values, by node."""
        found = np.zeros((len(values), len(self.parents)), np.int64)
        if self.before is None or self.ends is None:
            kernel.add_by(self.places, values, found)
        else:
            kernel.add_by(self.ends, self.before.own(values), found)
        return found

    def inclusive(self, values: I64) -> I64:
        """The same with all that is below a node."""
        found = self.own(values)
        kernel.sum_up(self.parents, found)
        return found

    def own_times(self) -> U32:
        """The first of the items that each node has itself."""
        found = np.full(len(self.parents), NEVER, np.uint32)
        if self.before is None or self.ends is None:
            kernel.least_by(self.places, self.stacks.times(), found)
        else:
            kernel.least_by(self.ends, self.before.own_times(), found)
        return found

    def times(self) -> U32:
        """The first of the items that each node has with all that is below it."""
        found = self.own_times()
        kernel.least_up(self.parents, found)
        return found

    def turned(self) -> "_Summed":
        """From the bottom up. Raises :class:`BadRequestError` for a tree that gets too large."""
        ends = np.empty(len(self.parents), np.uint32)
        counted = has_value(self.own(self.stacks.values))
        try:
            parents, name = map(
                np.asarray, kernel.invert(self.parents, self.name, counted, ends, MOST_TURNED)
            )
        except OverflowError:
            raise BadRequestError(
                f"From the bottom up these stacks have more than {MOST_TURNED:,} boxes",
                advice="Collapse libraries, narrow the set with a filter, or look from the top down.",
            ) from None
        return _Summed(self.stacks, self.places, parents, name, self.nodes, self, ends)


def _arranged(summed: _Summed, names: FrameNames, options: FlameOptions, by: int, shape: Shape) -> CallTree:
    nodes = len(summed.parents)
    widths = summed.inclusive(summed.stacks.values[by : by + 1])[0]
    times = summed.times() if options.order == "time" else np.empty(0, np.uint32)
    nodes_of, offsets = np.empty(nodes, np.uint32), np.empty(nodes + 1, np.uint32)
    new_name, new_widths = np.empty(nodes, np.uint32), np.empty(nodes, np.int64)
    placed = kernel.arrange(
        summed.parents, summed.name, widths, times, nodes_of, offsets, new_name, new_widths
    )
    offsets = offsets[: placed + 1].copy()
    left = np.zeros(nodes, np.int64)
    kernel.place(offsets, new_widths, left)

    def numbers() -> U32:
        found = np.empty(nodes, np.uint32)
        found[nodes_of] = np.arange(nodes, dtype=np.uint32)
        return found

    def parents() -> U32:
        above = np.repeat(np.arange(placed, dtype=np.uint32), np.diff(offsets))
        root = np.array([NEVER], np.uint32)
        if placed == nodes:
            return np.concatenate((root, above))
        return np.concatenate((root, above, numbers()[summed.parents[nodes_of[placed:]]]))

    def inclusive() -> I64:
        return np.take(summed.inclusive(summed.stacks.values), nodes_of, axis=1)

    def origin() -> Origin:
        before = summed.before
        if before is not None:
            return Origin(shape, summed.places, before.parents, before.name, before.nodes)
        some = summed.places != NEVER
        places = summed.places.copy()
        places[some] = numbers()[places[some]]
        return Origin(shape, places, parents(), new_name, summed.nodes[nodes_of])

    later = Later(parents, inclusive, origin)
    values = len(summed.stacks.values)
    return CallTree(options, names, by, values, new_name, offsets, new_widths, left, later)


def has_value(values: I64) -> U8:
    """1 for the nodes that have any value of their own."""
    return np.asarray((values > 0).any(axis=0), np.uint8)


def _checked(number: int, names: FrameNames) -> int:
    if not 0 <= number < names.count:
        raise BadRequestError(f"The snapshot has no frame {number}")
    return number
