"""The difference flame graph: two sets of stacks as one call tree whose nodes have values for each side.

Frames of both sides are merged if :mod:`memlens.views.compare.pairing` pairs their lines (or, merged by function, their
functions), so the figures agree with a comparison of the same sets, and moved code isn't a difference. Each side is a
:class:`~memlens.views.compare.sides.Side`, independent of its snapshot, and the result is an ordinary
:class:`~memlens.views.flame.calltree.CallTree`, which is laid out, searched and listed by the same functions.

Widths are the sum of both sides, so that both new and removed code is visible, and a function has the same width
bottom-up and top-down; or they are the values of one side. When normalised, both sides are first scaled to the same
total, so differences are differences of shares. Negative values of a side (it may be a difference itself) have the
width of their absolute values.
"""

import threading
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from msgspec import structs

from memlens.arrays import I64, U32
from memlens.model.frames import SOURCE_NAMES
from memlens.model.timeline import NEVER
from memlens.store.stacks.frames import listed
from memlens.views.compare.kinds import check_comparable
from memlens.views.compare.pairing import Pairing
from memlens.views.compare.sides import Side
from memlens.views.flame import calltree
from memlens.views.flame.calltree import CallTree, FlameOptions, Merged
from memlens.views.naming.frame_names import FrameNames
from memlens.views.naming.places import NO_STACK_ROW
from memlens.views.selection.stacks import AMOUNT, TwoSides, ValuedStacks

DifferenceScale = Literal["absolute", "normalised"]
DifferenceWidth = Literal["both", "after", "before"]

_SCALED_TOTAL = 2**50
"""The total of each side when normalised; twice that is still exact as a double."""
_MOST_MERGED = 2


@dataclass(slots=True, eq=False)
class Joined:
    """Two merged sides: stacks with values of both, and names of the pairs of their frames.

    Callers hold ``lock`` while they make or query trees.
    """

    stacks: ValuedStacks[TwoSides]
    names: FrameNames
    lock: threading.Lock = field(default_factory=threading.Lock)
    merged: dict[FlameOptions, Merged] = field(default_factory=dict)


def join(before: Side, after: Side, pairing: Pairing, own: Literal["before", "after"]) -> Joined:
    """Both sides in one prefix tree. ``pairing`` is that of the places of both.

    A frame has the name from the view's ``own`` snapshot if it exists there. Raises :class:`BadRequestError` for two of
    different kinds.
    """
    check_comparable(before.info, after.info)
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
        # shares, or negative amounts, which must be visible, too
        by = len(stacks.values)
        stacks = replace(stacks, values=np.concatenate((stacks.values, widths[np.newaxis])))
    return calltree.build(stacks, merged, joined.names.by(options.merge), options, by)


def normalised(values: I64) -> I64:
    """Scale values (none negative) to one total; rounded on the running sum, so that the total is exact."""
    total = int(values.sum())
    if total == 0:
        return np.zeros(len(values), np.int64)
    edges = np.round(np.cumsum(values) / total * _SCALED_TOTAL).astype(np.int64)
    return np.diff(edges, prepend=0)


def _numbered(side: Side, numbers: U32, names: FrameNames) -> U32:
    """The common name of each node of a side's stacks; ``numbers`` are those of the side's places."""
    frames = side.stacks.tree.frames.astype(np.int64)
    frames[0] = 0
    # places that aren't frames keep their names
    return np.where(frames < side.frames, numbers[frames], frames - side.frames + names.special(0)).astype(
        np.uint32
    )


def _names(
    before: Side, after: Side, pairing: Pairing, own: Literal["before", "after"]
) -> tuple[FrameNames, U32, U32]:
    """A name for each pair of lines that are known in the same way, and the names of both sides' places.

    When merged by function, all lines of a pair of functions have one name.
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
    # the first one in the view's own snapshot, so that a renamed function has the name from there
    order = np.lexsort((np.arange(len(rows)), ~mine, function_of)).astype(np.uint32)
    _, first_of, place = np.unique(function_of[order], return_index=True, return_inverse=True)
    by_function = np.zeros(len(rows), np.uint32)
    by_function[order] = order[first_of][place]
    names = FrameNames(
        listed(rows, sources.astype(np.uint8)),
        {"line": np.arange(len(rows), dtype=np.uint32), "function": by_function},
        model=before.info.model,
    )
    split = len(lines.before)
    return names, numbers[:split].astype(np.uint32), numbers[split:].astype(np.uint32)
