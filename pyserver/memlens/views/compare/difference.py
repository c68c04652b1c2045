"""The difference flame graph: two sets of stacks as one call tree whose nodes know what they have on each side.

Frames of both sides are one where :mod:`memlens.views.compare.pairing` pairs their lines (or, merged by function,
their functions), so the figures are those of a comparison of the same sets, and code that moved isn't a difference.
Each side comes as a :class:`~memlens.views.compare.sides.Side`, free of its snapshot, and what is made of two is a
:class:`~memlens.views.flame.calltree.CallTree` like any other: it is laid out, searched and listed by the same
functions.

Widths are what both sides have together, so that neither what is new nor what is gone vanishes, and a function is as
wide from the bottom up as from the top down; or what one of them has. Normalised, each side is brought to the same
total first, so a difference is one of shares. Values of a side that are negative (it may be a difference itself) are as
wide as they would be without their sign.
"""

import threading
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from msgspec import structs

from memlens.model.frames import SOURCE_NAMES
from memlens.model.timeline import NEVER
from memlens.store.stacks.frames import listed
from memlens.views.compare.pairing import Pairing
from memlens.views.compare.sides import Side
from memlens.views.flame import calltree
from memlens.views.flame.calltree import I64, U32, CallTree, FlameOptions, Merged
from memlens.views.naming.frame_names import FrameNames
from memlens.views.naming.places import NO_STACK_ROW
from memlens.views.selection.stacks import AMOUNT, TwoSides, ValuedStacks

DifferenceScale = Literal["absolute", "normalised"]
DifferenceWidth = Literal["both", "after", "before"]

_SCALED_TOTAL = 2**50
"""What each side comes to when normalised; twice that is still exact as a double."""
_MOST_MERGED = 2


@dataclass(slots=True, eq=False)
class Joined:
    """Two sides as one: stacks with values of both, and names of the pairs of their frames.

    Whoever makes or asks trees holds ``lock``.
    """

    stacks: ValuedStacks[TwoSides]
    names: FrameNames
    lock: threading.Lock = field(default_factory=threading.Lock)
    merged: dict[FlameOptions, Merged] = field(default_factory=dict)


def join(before: Side, after: Side, pairing: Pairing, own: Literal["before", "after"]) -> Joined:
    """Both sides in one prefix tree. ``pairing`` is that of the places of both.

    A frame is called as it is in the view's ``own`` snapshot, where it is known there.
    """
    names, numbers_before, numbers_after = _names(before, after, pairing, own)
    one, two = (
        replace(
            side.stacks.tree,
            frames=_numbered(side, numbers, names),
            archived=side.stacks.tree.archived if mine else np.full_like(side.stacks.tree.archived, NEVER),
        )
        for side, numbers, mine in (
            (before, numbers_before, own == "before"),
            (after, numbers_after, own == "after"),
        )
    )
    first, second = before.stacks, after.stacks
    left, right = (
        np.concatenate((first.values, np.zeros_like(second.values)), axis=1),
        np.concatenate((np.zeros_like(first.values), second.values), axis=1),
    )
    stacks = ValuedStacks(
        one.joined(two),
        np.concatenate((first.stacks, second.stacks + np.uint32(len(one.ends)))),
        np.concatenate((abs(left) + abs(right), left, right)),
        TwoSides(first.meaning.types),
        np.concatenate((first.rows, second.rows)),
        lambda: np.concatenate((first.times(), second.times())),
    )
    return Joined(stacks, names)


def tree_of(
    joined: Joined,
    options: FlameOptions,
    scale: DifferenceScale = "absolute",
    width: DifferenceWidth = "both",
) -> CallTree:
    """The call tree of both sides. Raises what :func:`calltree.build` does."""
    stacks = joined.stacks
    in_any_order = structs.replace(options, order="value")
    merged = joined.merged.get(in_any_order)
    if merged is None:
        while len(joined.merged) >= _MOST_MERGED:
            joined.merged.pop(next(iter(joined.merged)))
        merged = calltree.merged(stacks.tree, joined.names, in_any_order)
        joined.merged[in_any_order] = merged
    sides = stacks.meaning
    before, after = (abs(stacks.values[side + AMOUNT]) for side in (sides.before, sides.after))
    by = {"both": AMOUNT, "before": sides.before + AMOUNT, "after": sides.after + AMOUNT}[width]
    widths = {"both": stacks.values[by], "before": before, "after": after}[width]
    if width == "both" and scale == "normalised":
        widths = normalised(before) + normalised(after)
    if not np.array_equal(widths, stacks.values[by]):
        # shares, or amounts that are less than nothing, which are to be seen, too
        by = len(stacks.values)
        stacks = replace(stacks, values=np.concatenate((stacks.values, widths[np.newaxis])))
    return calltree.build(stacks, merged, joined.names.by(options.merge), options, by)


def normalised(values: I64) -> I64:
    """Values (none negative) brought to one total; rounded on the running sum, so that nothing is lost or made."""
    total = int(values.sum())
    if total == 0:
        return np.zeros(len(values), np.int64)
    edges = np.round(np.cumsum(values) / total * _SCALED_TOTAL).astype(np.int64)
    return np.diff(edges, prepend=0)


def _numbered(side: Side, numbers: U32, names: FrameNames) -> U32:
    """The joint name of each node of a side's stacks; ``numbers`` are those of the side's places."""
    frames = side.stacks.tree.frames.astype(np.int64)
    frames[0] = 0
    # places that aren't frames keep their names
    return np.where(frames < side.frames, numbers[frames], frames - side.frames + names.special(0)).astype(
        np.uint32
    )


def _names(
    before: Side, after: Side, pairing: Pairing, own: Literal["before", "after"]
) -> tuple[FrameNames, U32, U32]:
    """A name for each pair of lines that is known in one way, and the names of both sides' places.

    Those of one pair of functions are one when merged by function.
    """
    lines, functions = pairing.groups["line"], pairing.groups["function"]
    keys = [
        pairs * np.uint32(len(SOURCE_NAMES)) + np.pad(side.sources, (0, len(pairs) - side.frames))
        for side, pairs in ((before, lines.before), (after, lines.after))
    ]
    known, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    pair_of, sources = np.divmod(known, np.uint32(len(SOURCE_NAMES)))
    pairs = [lines.pairs[pair] for pair in pair_of.tolist()]
    sides = [(pair.before, pair.after) if own == "before" else (pair.after, pair.before) for pair in pairs]
    rows = [first or second or NO_STACK_ROW for first, second in sides]
    mine = np.array([first is not None for first, _ in sides], bool)
    function_of = np.zeros(len(rows), np.uint32)
    function_of[numbers] = np.concatenate((functions.before, functions.after))
    function_of = function_of * np.uint32(len(SOURCE_NAMES)) + sources
    # the first of them that the view's own snapshot knows, so that a renamed function has the name it has there
    order = np.lexsort((np.arange(len(rows)), ~mine, function_of)).astype(np.uint32)
    _, first_of, place = np.unique(function_of[order], return_index=True, return_inverse=True)
    by_function = np.zeros(len(rows), np.uint32)
    by_function[order] = order[first_of][place]
    names = FrameNames(
        listed(rows, sources.astype(np.uint8)),
        {"line": np.arange(len(rows), dtype=np.uint32), "function": by_function},
        model=before.model,
    )
    split = len(lines.before)
    return names, numbers[:split].astype(np.uint32), numbers[split:].astype(np.uint32)
