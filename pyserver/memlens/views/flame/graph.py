"""The flame graph of an allocation set, as packed geometry for one viewport.

The packed buffer, little-endian:

====== ===================== =========================================================================
offset type                  meaning
====== ===================== =========================================================================
0      u32                   ``0x31464C4D`` ("MLF1")
4      u32                   ``width`` in pixels
8      u32                   ``boxes``
12     u32                   bits: 1 when boxes had to be merged more than asked, to stay small; 2 of a comparison
16     f64 x 2               ``x0, x1``: the part that is shown, on the axis of values (0 to ``total``)
32     f64                   ``total``: the value of all of it
40     u32 x 2               ``first_depth``, ``rows``
48     f64                   the sum of the values that a search matched, each once; 0 without a search
56     u32 x 2               how many nodes match; how deep the deepest node lies
64     32 bytes x boxes      f64 ``left``, f64 ``value`` (on the axis of values), u32 ``node``, u32 ``name``,
                             u16 ``x0``, u16 ``x1`` (pixels, end exclusive), u16 ``row``, u8 ``flags``, u8 0
       f64[boxes] x 2        of a comparison only: what each box has before and after, in bytes
       u16[boxes]            ``package`` of each box, 65,535 for none
       u8[boxes]             ``kind``: 0 user, 1 library, 2 native, 3 none
====== ===================== =========================================================================

Boxes are in order of rows, and from left to right within each. Flags: 1: several nodes, each too thin for a separate
box; then ``name`` is their number and ``node`` their parent. 2: the search matches its name. 4: it matches one below it
(or in it). The root's ``name`` is 2**32 - 1. Within a row the pixels of children never overlap and leave no gap: their
edges are rounded on the running sum. Numbers of nodes depend only on the requested tree, so they are the same in every
answer about it.
"""

import functools
import logging
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from memlens.arrays import U8, rows_of
from memlens.errors import BadRequestError
from memlens.kernels.tree import calltree as calltree_kernel
from memlens.kernels.tree import flame as kernel
from memlens.progress import Report
from memlens.store.artefacts import Artefact
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.flame import calltree
from memlens.views.flame import first as first_flame
from memlens.views.flame.calltree import CallTree, FlameOptions, Merged, Nodes, Search
from memlens.views.naming.frame_names import FlameName, FrameNames, Merge, frame_names
from memlens.views.selection.columns import NEVER
from memlens.views.selection.items import drawn_stacks, stack_tree
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT, Meaning, ValuedStacks, sides_of

logger = logging.getLogger(__name__)

MAGIC = 0x31464C4D
THINNEST_PX = 0.5
MOST_BOXES = 32_000
"""Limits an answer to about a megabyte; pictures with more boxes merge those thinner than a pixel or two."""
MOST_NAMED = 4_000
NAMED_PX = 18
"""Narrower boxes have no text, so their names are only fetched when they are pointed at."""

FlameValue = Literal["bytes", "count"]
VALUES: tuple[FlameValue, ...] = ("bytes", "count")


@kept
def _names_by(snapshot: Snapshot, merge: Merge) -> FrameNames:
    return frame_names(snapshot).by(merge)


def tree_of(snapshot: Snapshot, of: AllocationSet, value: FlameValue, options: FlameOptions) -> CallTree:
    """The call tree of a set, made on first use and cached. Raises BadRequestError.

    The one that a snapshot opens with is also stored in its archive.
    """
    if value == "bytes" and first_flame.is_first(snapshot.info, of, options):
        return _opening_tree(snapshot, options)
    return _tree(snapshot, of, value, options)


@kept
def _opening_tree(snapshot: Snapshot, options: FlameOptions) -> CallTree:
    def make() -> CallTree:
        return _build(snapshot, first_flame.opening_set(snapshot.info), "bytes", options)

    tree = _read_first(snapshot, lambda: make().nodes)
    if tree is None:
        tree = make()
        snapshot.background.append(functools.partial(FIRST_FLAME.try_to_write, snapshot))
    else:
        # the next question is likely to be about smaller ones
        snapshot.background.append(lambda: tree.nodes)
    return tree


@kept
def _tree(snapshot: Snapshot, of: AllocationSet, value: FlameValue, options: FlameOptions) -> CallTree:
    return _build(snapshot, of, value, options)


def _build(snapshot: Snapshot, of: AllocationSet, value: FlameValue, options: FlameOptions) -> CallTree:
    stacks = drawn_stacks(snapshot, of)
    merged = _merged(snapshot, structs.replace(options, order="value"))
    return calltree.build(stacks, merged, _names_by(snapshot, options.merge), options, VALUES.index(value))


@kept
def _merged(snapshot: Snapshot, options: FlameOptions) -> Merged:
    """Return all stacks merged by name, for the trees of all sets."""
    return calltree.merged(stack_tree(snapshot), frame_names(snapshot), options)


def first_tree(snapshot: Snapshot) -> CallTree:
    """The tree that the snapshot opens with."""
    info = snapshot.info
    return tree_of(snapshot, first_flame.opening_set(info), "bytes", first_flame.opening_options(info))


def _read_first(snapshot: Snapshot, make: Callable[[], Nodes]) -> CallTree | None:
    path = FIRST_FLAME.find(snapshot.origin)
    if path is None:
        return None
    try:
        return first_flame.read(path, snapshot, make)
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        logger.warning("the first flame graph of %s is made again", snapshot.archive.name, exc_info=True)
        FIRST_FLAME.drop(snapshot.archive)
        return None


def _write_first(snapshot: Snapshot, path: Path, _report: Report) -> None:
    first_flame.write(path, first_tree(snapshot), frame_names(snapshot))


FIRST_FLAME = Artefact("first_flame.columns", version=10, make=_write_first)
"""Its version is raised whenever nodes, their numbers, order or names would differ from those stored."""


class Picture(Struct, frozen=True):
    """One viewport: ``geometry`` is the packed buffer, ``names`` those of the boxes that are wide enough for text."""

    geometry: bytes
    names: list[FlameName]


def picture(
    tree: CallTree,
    x0: float,
    x1: float,
    first_depth: int,
    rows: int,
    width_px: int,
    search: str | Search = "",
) -> Picture:
    """The boxes of ``[x0, x1]`` (shares of the whole, within 0 and 1) at ``rows`` depths from ``first_depth``.

    ``search`` is the search text, or the result of a search. Raises :class:`BadRequestError` for a part without width.
    """
    held = None
    matched, matching = 0, 0
    if search:
        found = tree.search(search) if isinstance(search, str) else search
        held, matched, matching = found.held, int(found.totals[tree.by]), len(found.nodes)
    boxes, sides, low, high, merged = _laid(tree, x0, x1, first_depth, rows, width_px, held)
    named = np.where((boxes["flags"] & kernel.MORE) != 0, np.uint32(NEVER), boxes["name"])
    real = named != NEVER
    numbers = np.where(real, named, 0)
    kinds, packages = tree.names.kinds(), tree.names.package_numbers()
    bits = int(merged) | 2 * (sides_of(tree.meaning) is not None)
    header = struct.pack(
        "<4I3d2Id2I", MAGIC, width_px, len(boxes), bits, low, high, float(tree.total), first_depth, rows,
        float(matched), matching, tree.deepest,
    )  # fmt: skip
    wide = named[real & (boxes["x1"] - boxes["x0"] >= NAMED_PX)]
    return Picture(
        b"".join(
            (
                header,
                boxes.tobytes(),
                sides["before"].tobytes(),
                sides["after"].tobytes(),
                np.where(real, packages[numbers], 0xFFFF).astype("<u2").tobytes(),
                np.where(real, kinds[numbers], 3).astype(np.uint8).tobytes(),
            )
        ),
        # NumPy's function takes twenty milliseconds the first time, because of what it imports
        tree.names.names(sorted(set(wide.tolist()))[:MOST_NAMED]),
    )


def boxes_of(
    tree: CallTree, x0: float, x1: float, first_depth: int, rows: int, width_px: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], float, float]:
    """The boxes and their sides, in the form of the buffer, and the part of the axis of values that is shown.

    Raises :class:`BadRequestError` as :func:`picture` does.
    """
    boxes, sides, low, high, _ = _laid(tree, x0, x1, first_depth, rows, width_px, None)
    return boxes, sides, low, high


def _laid(
    tree: CallTree,
    x0: float,
    x1: float,
    first_depth: int,
    rows: int,
    width_px: int,
    held: U8 | None,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], float, float, bool]:
    """Boxes, their sides, the part that is shown, and whether more boxes had to be merged than requested.

    ``held`` has flags of a search for each node; None without a search.
    """
    if not (0 <= x0 < x1 <= 1):
        raise BadRequestError(phrase("A part of a flame graph must lie between 0 and 1"))
    total = tree.total
    low, high = x0 * total, x1 * total
    if total and not low < high:
        raise BadRequestError(phrase("The part of the flame graph is too thin to be drawn"))
    compared, before, after = sides_of(tree.meaning), None, None
    if compared is not None:
        before, after = tree.inclusive[compared.before + AMOUNT], tree.inclusive[compared.after + AMOUNT]
    thinnest = THINNEST_PX
    while total:
        layout = tree.layout if held is not None else tree.layout_for(thinnest * (high - low) / width_px)
        packed = layout.run(low, high, width_px, thinnest, first_depth, rows, MOST_BOXES, held, before, after)
        if packed is not None:
            boxes = rows_of(packed[0]).astype(_BOX, copy=False)
            sides = rows_of(packed[1]).astype(_SIDES, copy=False)
            return boxes, sides, low, high, thinnest > THINNEST_PX
        thinnest *= 2
    return np.empty(0, _BOX), np.empty(0, _SIDES), low, high, False


_BOX = np.dtype(
    [
        ("left", "<f8"),
        ("value", "<f8"),
        ("node", "<u4"),
        ("name", "<u4"),
        ("x0", "<u2"),
        ("x1", "<u2"),
        ("row", "<u2"),
        ("flags", "u1"),
        ("unused", "u1"),
    ]
)
_SIDES = np.dtype([("before", "<f8"), ("after", "<f8")])


def shown_frames(
    stacks: ValuedStacks[Meaning], tree: CallTree, node: int
) -> tuple[npt.NDArray[np.intp], calltree.U32]:
    """The stack items in a node of the tree, and for each the stacks' node with its frame, 0 for none (as of the
    root).
    """
    of, shape = tree.nodes, tree.nodes.merged.shape
    if tree.options.direction == "top_down":
        inside = np.zeros(len(tree), np.uint8)
        calltree_kernel.below(tree.parents, of.shape.child, of.shape.sibling, node, inside)
        items = np.flatnonzero(of.places != NEVER)
        items = items[inside[of.places[items]] != 0]
        shown_as = np.full(len(items), node, np.uint32)
    else:
        # the stacks whose innermost names are those from the tree's root down to the node
        items = np.flatnonzero(of.upright != NEVER)
        shown_as = of.upright[items]
        for place, step in enumerate(tree.path(node)):
            if place:
                shown_as = shape.parents[shown_as]
            fits = (shown_as != 0) & (shape.name[shown_as] == tree.name[step])
            items, shown_as = items[fits], shown_as[fits]
    shown = stacks.nodes[items]
    while node:
        # hidden frames, and those below a focus, count for a node but are not shown in it; if the focus itself is
        # hidden,
        # its callers are shown, which are not in the shape
        merged, frames = of.merged.nodes[shown], stacks.tree.frames[shown]
        frames[shown == 0] = 0
        elsewhere = (merged != shown_as) & (merged != NEVER)
        other = elsewhere | (of.merged.used[frames] != tree.name[node])
        above = np.flatnonzero(other & (shown != 0))
        if not len(above):
            return items, shown
        shown[above] = stacks.tree.parents[shown[above]]
    return items, np.zeros_like(shown)
