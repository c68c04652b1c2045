"""The difference flame graph: two sets of stacks as one call tree whose nodes know what they have on each side.

Frames of both sides are one where :mod:`memlens.views.compare.pairing` pairs their lines (or, merged by function,
their functions), so the figures are those of a comparison of the same sets, and code that moved is no difference.
Each side comes as a :class:`Side`, free of its snapshot, and what is made of two is a
:class:`~memlens.views.flame.calltree.CallTree` like any other: it is laid out, searched and listed by the same
functions.

Widths are what both sides have together, so that neither what is new nor what is gone vanishes, and a function is as
wide from the bottom up as from the top down; or what one of them has. Normalised, each side is brought to the same
total first, so a difference is one of shares.
"""

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import structs

from memlens.model.info import Model
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.views.compare.pairing import Pairing
from memlens.views.flame import calltree
from memlens.views.flame.calltree import I64, U32, CallTree, FlameOptions, Merged, Stacks
from memlens.views.flame.graph import SIDES, HeldBy, set_stacks
from memlens.views.naming.frame_names import SPECIAL_NAMES, FrameNames, frame_names
from memlens.views.selection.folded import NO_STACK
from memlens.views.selection.sets import AllocationSet

if TYPE_CHECKING:
    from memlens.store.frames import FrameRow

DifferenceScale = Literal["absolute", "normalised"]
DifferenceWidth = Literal["both", "after", "before"]

BOTH, (BEFORE, AFTER) = 0, SIDES
"""The rows of a compared tree's values that hold bytes; each is followed by the counts."""
_SCALED = 6

_SCALED_TOTAL = 2**50
"""What each side comes to when normalised; twice that is still exact as a double."""
_MOST_MERGED = 2


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One side's stacks with their values, the names of its frames, and the node at which each of its stacks ends."""

    stacks: Stacks
    names: FrameNames
    ends: U32


def side_of(snapshot: Snapshot, of: AllocationSet) -> Side:
    """A set's stacks. Raises :class:`BadRequestError` for a set that the snapshot hasn't."""
    stacks = set_stacks(snapshot, of)
    if len(stacks.values) > max(SIDES):
        # a side of a difference has no two of its own: what is less than nothing has no width here
        net = np.maximum(stacks.values[AFTER : AFTER + 2] - stacks.values[BEFORE : BEFORE + 2], 0)
        stacks = replace(stacks, values=np.ascontiguousarray(net))
    return Side(stacks, frame_names(snapshot), snapshot.stacks.node.copy())


@dataclass(slots=True, eq=False)
class Joined:
    """Two sides as one: stacks with values of both, and names of the pairs of their frames.

    ``held_by`` tells which of the view's own stacks are in a node. Whoever makes or asks trees holds ``lock``.
    """

    stacks: Stacks
    names: FrameNames
    held_by: HeldBy
    lock: threading.Lock = field(default_factory=threading.Lock)
    merged: dict[FlameOptions, Merged] = field(default_factory=dict)


def join(before: Side, after: Side, pairing: Pairing, own: Literal["before", "after"]) -> Joined:
    """Both sides in one prefix tree. ``pairing`` is that of the frames of both, in the archives' order.

    A frame is called as it is in the view's ``own`` snapshot, where it is known there.
    """
    names = _names(pairing, own, before.names.model)
    sides = (before, after)
    numbers = [_numbered(side, pairs, names) for side, pairs in zip(sides, _lines(pairing), strict=True)]
    known = len(before.stacks.parents)
    moved = after.stacks.parents[1:].astype(np.int64)
    parents = np.concatenate((before.stacks.parents, np.where(moved == 0, 0, moved + known - 1)))
    after_nodes = after.stacks.nodes.astype(np.int64) + known - 1
    empty = [np.zeros_like(side.stacks.values) for side in sides]
    values = np.concatenate(
        (
            np.concatenate((before.stacks.values, after.stacks.values), axis=1),
            np.concatenate((before.stacks.values, empty[1]), axis=1),
            np.concatenate((empty[0], after.stacks.values), axis=1),
        )
    )
    stacks = Stacks(
        parents.astype(np.uint32),
        np.concatenate((numbers[0], numbers[1][1:])),
        np.concatenate((before.stacks.nodes, after_nodes)).astype(np.uint32),
        values,
        lambda: np.concatenate((before.stacks.times(), after.stacks.times())),
    )
    mine = before if own == "before" else after
    shift = 0 if own == "before" else known - 1
    ends = np.where(mine.ends == 0, 0, mine.ends.astype(np.int64) + shift)
    bare = len(mine.stacks.parents) - len(SPECIAL_NAMES) + shift
    return Joined(stacks, names, HeldBy(ends.astype(np.uint32), bare))


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
        merged = calltree.merged(stacks.parents, stacks.frames, joined.names, in_any_order)
        joined.merged[in_any_order] = merged
    by = {"both": BOTH, "before": BEFORE, "after": AFTER}[width]
    if width == "both" and scale == "normalised":
        scaled = normalised(stacks.values[BEFORE]) + normalised(stacks.values[AFTER])
        stacks = Stacks(
            stacks.parents,
            stacks.frames,
            stacks.nodes,
            np.concatenate((stacks.values, scaled[np.newaxis])),
            stacks.first,
        )
        by = _SCALED
    return calltree.build(stacks, joined.names, options, by, merged)


def normalised(values: I64) -> I64:
    """Values (none negative) brought to one total; rounded on the running sum, so that nothing is lost or made."""
    total = int(values.sum())
    if total == 0:
        return np.zeros(len(values), np.int64)
    edges = np.round(np.cumsum(values) / total * _SCALED_TOTAL).astype(np.int64)
    return np.diff(edges, prepend=0)


def _lines(pairing: Pairing) -> tuple[U32, U32]:
    lines = pairing.groups["line"]
    return lines.before, lines.after


def _numbered(side: Side, pairs: U32, names: FrameNames) -> U32:
    """The joint name of each node of a side's stacks."""
    frames = side.stacks.frames.astype(np.int64)
    frames[0] = 0
    special = side.names.special(0)
    bare = frames >= special
    damaged = (~bare & (frames >= side.names.frames)) | (frames >= special + len(SPECIAL_NAMES))
    if bool(damaged[1:].any()):
        raise InconsistentError("A stack has an unknown frame")
    of_pair = pairs[np.minimum(frames, len(pairs) - 1)].astype(np.int64)
    return np.where(bare, frames - special + names.special(0), of_pair).astype(np.uint32)


def _names(pairing: Pairing, own: Literal["before", "after"], model: Model) -> FrameNames:
    """A name for each pair of lines; those of one pair of functions are one when merged by function."""
    lines, functions = pairing.groups["line"], pairing.groups["function"]
    rows: list[FrameRow] = []
    mine = np.zeros(len(lines.pairs), bool)
    for number, pair in enumerate(lines.pairs):
        first, second = (pair.before, pair.after) if own == "before" else (pair.after, pair.before)
        place = first or second
        mine[number] = first is not None
        rows.append(NO_STACK if place is None else (place.file, place.line, place.function, place.kind))
    function_of = np.zeros(len(rows), np.uint32)
    function_of[lines.before] = functions.before
    function_of[lines.after] = functions.after
    # the first of them that the view's own snapshot knows, so that a renamed function has the name it has there
    order = np.lexsort((np.arange(len(rows)), ~mine, function_of)).astype(np.uint32)
    found, first_of = np.unique(function_of[order], return_index=True)
    leaders = np.zeros(len(functions.pairs), np.uint32)
    leaders[found] = order[first_of]
    by_function = leaders[function_of]
    return FrameNames(
        enumerate(rows),
        {"line": np.arange(len(rows), dtype=np.uint32), "function": by_function},
        model=model,
    )
