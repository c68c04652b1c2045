"""Call trees over stacks with values of any kind: merging, inverting, summing and searching.

The input (:class:`~memlens.views.selection.stacks.ValuedStacks`) is a prefix tree of frames, and values of some of its
nodes; the result (:class:`CallTree`) is a tree of names with inclusive values. :mod:`memlens.views.flame.graph` makes
that of an allocation set and answers from it.

The intermediate result is the stacks merged by name, without values (:class:`Merged`). It is made once for the stacks
of a snapshot, so that trees of other moments or values have the same nodes with other sums. Children are sorted and
laid out only where they are needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U8, U32
from memlens.errors import BadRequestError
from memlens.kernels.tree import calltree as kernel
from memlens.kernels.tree.flame import Layout
from memlens.model.attribution import Attribution
from memlens.texts import phrase
from memlens.views.flame.names import Names
from memlens.views.naming.frame_names import ALL_LIBRARIES, FrameNames, Merge
from memlens.views.selection.columns import NEVER
from memlens.views.selection.stacks import (
    Meaning,
    OneSide,
    PrefixTree,
    Retained,
    TwoSides,
    ValuedStacks,
    sides_of,
)

Direction = Literal["top_down", "bottom_up"]
Order = Literal["value", "time"]

MOST_VALUE = 2**62
"""An upper bound of sums; no memory is larger."""
FEW_PART = 32
"""If stacks are fewer than this share of a tree's nodes, only the nodes that they reach are visited."""
MOST_TURNED = 20_000_000
"""The most nodes of a bottom-up tree, about a gigabyte: deep stacks share few nodes there."""
MOST_TURNED_FRAMES = 100_000_000
"""The most frames of stacks with common ends that are gone through for it, some seconds: of 100,000 nested calls of one
function, each with memory of its own, there are 5 billion."""


class FlameOptions(Struct, frozen=True):
    """How stacks become a call tree.

    ``merge`` says when two frames are the same: by function, or by function and line. ``order`` puts the largest child
    first, or the one with the oldest allocation. ``fold_recursion`` merges a function that calls itself into one box.
    ``collapse`` lists packages whose consecutive frames become one box (``"*"``: all libraries, and native code, which
    beside a library has no box unless a stack ends in it), ``hide`` names (numbers of :class:`FlameName`) that are left
    out. ``focus`` keeps the stacks that contain a name: its callees in a top-down tree, its callers in a bottom-up one,
    from its outermost occurrence, so that recursion counts once.
    """

    direction: Direction = "top_down"
    merge: Merge = "function"
    order: Order = "value"
    fold_recursion: bool = False
    collapse: tuple[str, ...] = ()
    hide: tuple[int, ...] = ()
    focus: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A tree of names as columns with a row for each node. The root is node 0, and parents precede their children.

    ``parents`` and ``name`` are NEVER for the root. ``child`` and ``sibling`` are lists of each node's children, see
    :func:`memlens.kernels.tree.calltree.families`.
    """

    parents: U32
    name: U32
    child: U32
    sibling: U32


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """A whole prefix tree of stacks merged by name from the top down, according to :class:`FlameOptions`."""

    shape: Shape
    nodes: U32
    """The node in the shape of each node of the stacks; NEVER for those that a focus excludes."""
    used: U32
    """The name of each frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """A call tree's nodes: of the merged stacks, or of the inverted ones.

    ``places`` are the nodes at which the stacks' items end, NEVER for those that a focus excludes, and ``upright`` are
    their ends in the merged stacks. ``widths`` are inclusive sums of the value by which the tree is laid out; ``times``
    sort nodes by time, and are None if they are sorted by value.
    """

    stacks: ValuedStacks[Meaning]
    merged: Merged
    shape: Shape
    places: U32
    upright: U32
    widths: I64
    times: U32 | None


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """The nodes of a call tree that a picture needs: all with a width, or the largest ones.

    It is for pictures in which boxes are at least ``thinnest`` wide on the axis of values, and without searches, which
    use the numbers of nodes.
    """

    layout: Layout
    thinnest: float
    total: int
    deepest: int


@dataclass(eq=False)
class CallTree:
    """A tree of names. Node 0 is the root, and a parent's number is less than its child's.

    The numbers of nodes depend only on the stacks and the options, so they mean the same in every answer. Nodes without
    the value by which the tree is laid out (row ``by`` of the values, see ``meaning``) are in no picture, and no node's
    children.
    """

    options: FlameOptions
    names: Names
    by: int
    meaning: Meaning
    make: Callable[[], Nodes]
    """Makes the nodes on first use."""
    outline: Outline | None = None
    searches: dict[str, "Search"] = field(default_factory=dict)
    charged: dict[Attribution, I64] = field(default_factory=dict)
    by_name: dict[Attribution, tuple[I64, I64]] = field(default_factory=dict)
    """int64[values, names]: own and inclusive sums, made on first use."""

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def nodes(self) -> Nodes:
        """All nodes."""
        return self.make()

    @property
    def parents(self) -> U32:
        """Each node's parent; NEVER for the root."""
        return self.nodes.shape.parents

    @property
    def name(self) -> U32:
        """Each node's name; NEVER for the root."""
        return self.nodes.shape.name

    @property
    def widths(self) -> I64:
        """The inclusive sum of each node, of the value by which the tree is laid out."""
        return self.nodes.widths

    @property
    def total(self) -> int:
        """The value of the root."""
        return int(self.widths[0]) if self.outline is None else self.outline.total

    @cached_property
    def deepest(self) -> int:
        """The depth of the deepest node; the root's depth is 0."""
        return kernel.deepest(self.parents, self.widths) if self.outline is None else self.outline.deepest

    @cached_property
    def layout(self) -> Layout:
        """The layout of the nodes."""
        shape = self.nodes.shape
        return Layout(shape.parents, shape.name, shape.child, shape.sibling, self.widths, self.nodes.times)

    def layout_for(self, thinnest: float) -> Layout:
        """The nodes of a picture in which no box is thinner than ``thinnest`` on the axis of values."""
        outline = self.outline
        return outline.layout if outline is not None and thinnest >= outline.thinnest else self.layout

    @cached_property
    def ends(self) -> I64:
        """int64[values, nodes]: the sum of the stacks that end at the node (bottom-up, at their outermost caller)."""
        return self._sums(self.nodes.places)

    @cached_property
    def inclusive(self) -> I64:
        """int64[values, nodes]: the inclusive sums of nodes."""
        sums = self._sums(self.nodes.places)
        kernel.sum_up(self.parents, sums)
        return sums

    def own(self, attribution: Attribution) -> I64:
        """int64[values, nodes]: what is charged to the node itself.

        Each stack is charged to one node, so that the nodes' own values add up to the whole, and those of the nodes of
        one name to the function's own value, in both directions of the tree. In a bottom-up tree that charges the
        innermost frame, nodes of the first level own all of their value, and the callers below them nothing. A stack
        with frames that are hidden or out of focus is charged to one of the others.
        """
        found = self.charged.get(attribution)
        if found is None:
            match self.meaning:
                case OneSide() | TwoSides():
                    found = self._sums(_at(self._charged(attribution), self.nodes.places))
                case Retained():
                    found = self.ends
                case _:
                    assert_never(self.meaning)
            self.charged[attribution] = found
        return found

    def _charged(self, attribution: Attribution) -> U32:
        """The node that is charged with what ends at each node."""
        ranks = np.zeros(len(self), np.uint8)
        np.take(self.names.ranks(attribution), self.name[1:], out=ranks[1:])
        nodes = np.arange(len(self), dtype=np.uint32)
        best = np.empty(len(self), np.uint32)
        kernel.best_above(self.parents, nodes, ranks, best, self.options.direction == "bottom_up")
        best[0] = 0
        return best

    def _sums(self, nodes: U32) -> I64:
        """int64[values, nodes]: the values of the stacks' items summed by a given node of each."""
        values = self.nodes.stacks.values
        sums = np.zeros((len(values), len(self)), np.int64)
        kernel.add_by(nodes, values, sums)
        return sums

    def children(self, node: int) -> U32:
        """A node's children in order."""
        return np.asarray(self.layout.children_of(node))

    def path(self, node: int) -> list[int]:
        """The nodes from the root's child down to the node itself."""
        found = []
        while node:
            found.append(node)
            node = int(self.parents[node])
        return found[::-1]

    def search(self, text: str) -> "Search":
        """The nodes in which a text is found. The last few results are cached."""
        found = self.searches.get(text)
        if found is None:
            wanted = self.names.matching(text)
            held = np.zeros(len(self), np.uint8)
            totals = np.zeros(len(self.inclusive), np.int64)
            kernel.find(self.parents, self.name, wanted, self.inclusive, held, totals)
            # nodes without a width are not visible
            nodes = np.flatnonzero((held & 1 != 0) & (self.widths > 0))
            found = Search(held, nodes, totals)
            while len(self.searches) >= 4:
                self.searches.pop(next(iter(self.searches)))
            self.searches[text] = found
        return found


@dataclass(frozen=True)
class Search:
    """``held`` is 1 for nodes that match and 2 for those above such a node (3 for both).

    ``nodes`` are those that match and have a width; ``totals`` count each value once.
    """

    held: U8
    nodes: npt.NDArray[np.intp]
    totals: I64


def merged(tree: PrefixTree, names: FrameNames, options: FlameOptions) -> Merged:
    """Merge a prefix tree of stacks by name. All options but the order count.

    Raises :class:`BadRequestError` for a focus that isn't a name.
    """
    merge_names = names.merged(options.merge)
    used = names.collapsed(merge_names, options.collapse) if options.collapse else merge_names
    folding = np.full(names.count, kernel.FOLDS if options.fold_recursion else 0, np.uint8)
    packages = folding[names.packages_as_names()]
    packages[:] = kernel.FOLDS
    if ALL_LIBRARIES in options.collapse:
        # native code comes first
        packages[1:] |= kernel.TAKES
        packages[:1] |= kernel.PASSED
    hidden = np.zeros(names.count, np.uint8)
    for number in options.hide:
        hidden[_checked(number, names)] = 1
    focus, mode = 0, kernel.NO_FOCUS
    if options.focus is not None:
        focus = _checked(options.focus, names)
        mode = kernel.FROM_FOCUS if options.direction == "top_down" else kernel.UP_TO_FOCUS
    table = np.empty((5, len(tree.parents)), np.uint32)
    count = kernel.merge(tree.parents, tree.frames, used, folding, hidden, focus, mode, table)
    return Merged(Shape(*table[1:, :count]), table[0], used)


def build(
    stacks: ValuedStacks[Meaning], found: Merged, names: Names, options: FlameOptions, by: int
) -> CallTree:
    """Make the call tree of some stacks, laid out by row ``by`` of their values, in which none is negative.

    ``found`` is the result of :func:`merged` for the same stacks, names and options. Raises
    :class:`BadRequestError` for values that are too large to be summed, and for a tree that gets too large.
    """
    if abs(stacks.values.astype(np.float64)).sum(axis=1).max(initial=0) >= MOST_VALUE:
        raise BadRequestError(phrase("The sizes in this snapshot are too large to be summed"))
    shape, places = found.shape, found.nodes[stacks.nodes]
    upright = places
    if options.direction == "bottom_up":
        shape, ends = _turned(shape, places[(stacks.values > 0).any(axis=0)])
        places = _at(ends, upright)

    def make() -> Nodes:
        widths = np.zeros((1, len(shape.parents)), np.int64)
        kernel.add_by(places, stacks.values[by : by + 1], widths)
        kernel.sum_up(shape.parents, widths)
        times = None
        if options.order == "time":
            times = np.full(len(shape.parents), NEVER, np.uint32)
            kernel.least_by(places, stacks.times(), times)
            kernel.least_up(shape.parents, times)
        return Nodes(stacks, found, shape, places, upright, widths[0], times)

    few = len(stacks) * FEW_PART < len(shape.parents)
    if few and options.order == "value" and sides_of(stacks.meaning) is None:
        outline = _picked(shape, places, stacks.values[by : by + 1])
        return CallTree(options, names, by, stacks.meaning, make, outline)
    nodes = make()
    return CallTree(options, names, by, stacks.meaning, lambda: nodes)


def _picked(shape: Shape, places: U32, values: I64) -> Outline:
    """The nodes with a width of a tree sorted by value, in time proportional to their number."""
    wide = values[0] > 0
    if not wide.all():
        places, values = places[wide], np.compress(wide, values, axis=1)
    ends = np.empty(len(places), np.uint32)
    parents, name, numbers = map(np.asarray, kernel.pick(shape.parents, shape.name, places, ends))
    widths = np.zeros((1, len(parents)), np.int64)
    kernel.add_by(ends, values, widths)
    kernel.sum_up(parents, widths)
    child, sibling = np.empty_like(parents), np.empty_like(parents)
    kernel.families(parents, child, sibling)
    layout = Layout(parents, name, child, sibling, widths[0], numbers=numbers)
    return Outline(layout, 0, int(widths[0, 0]), kernel.deepest(parents, widths[0]))


def _turned(shape: Shape, ends: U32) -> tuple[Shape, U32]:
    """The inverted tree of the stacks that end at some nodes of a tree, and where each of these ends there.

    Raises :class:`BadRequestError` for a tree that gets too large.
    """
    counted = np.zeros(len(shape.parents), np.uint8)
    counted[ends[ends != NEVER]] = 1
    turned = np.empty(len(counted), np.uint32)
    try:
        parents, name = map(
            np.asarray,
            kernel.invert(shape.parents, shape.name, counted, turned, MOST_TURNED, MOST_TURNED_FRAMES),
        )
    except OverflowError:
        raise BadRequestError(
            phrase("These stacks are too many and too deep for a bottom-up tree"),
            advice=phrase("Collapse libraries, narrow the set with a filter, or show the tree top-down."),
        ) from None
    child, sibling = np.empty_like(parents), np.empty_like(parents)
    kernel.families(parents, child, sibling)
    return Shape(parents, name, child, sibling), turned


def _at(values: U32, places: U32) -> U32:
    """The values at some places; NEVER for the place NEVER."""
    found = np.full(len(places), NEVER, np.uint32)
    some = np.flatnonzero(places != NEVER)
    found[some] = values[places[some]]
    return found


def _checked(number: int, names: FrameNames) -> int:
    if not 0 <= number < names.count:
        raise BadRequestError(phrase("The snapshot has no frame {number}", number=number))
    return number
