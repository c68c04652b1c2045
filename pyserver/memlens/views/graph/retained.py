"""What is held by groups of objects: the compact dominator tree, and what any set of objects retains."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from memlens.arrays import U8, Mask
from memlens.kernels.graph.freed import Retained
from memlens.kernels.graph.reach import reached_from
from memlens.kernels.tree.calltree import sum_up
from memlens.model.distinct import distinct
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.views.graph.groupings import DOMINATORS, Form, HeapTree, base_tree, grouped_tree, number_of
from memlens.views.graph.halves import in_halves
from memlens.views.graph.native import native_of_nodes, native_or_none, own_native
from memlens.views.graph.reach import followed, held_distances
from memlens.views.graph.rows import Numbers, check_object
from memlens.views.graph.stopped import finished


class GroupNode(Struct, frozen=True):
    """Objects of one type, package or module that are below one node of a tree. ``node`` is its number as a group.

    A root that is no object has the type ``(roots)``, the node that unreachable objects are below ``(unreachable)``.
    """

    node: int
    type: Text
    objects: int
    shallow_bytes: int
    total_bytes: int
    """What the objects retain; in the tree of shortest paths the bytes of them and of everything below them."""
    children: int
    native_bytes: int | None
    """Memory outside of the heap that its objects own; None in dumps that say so of no object."""
    native_total_bytes: int | None
    """The same of what ``total_bytes`` is about."""


class RetainedAnswer(Struct, frozen=True):
    """What a set of objects retains: these objects themselves and what only they keep alive."""

    chosen: int
    objects: int
    retained_bytes: int
    native_retained_bytes: int | None
    """Memory outside of the heap that they own; None in dumps that say so of no object."""


def group_nodes(snapshot: Snapshot, numbers: Numbers, form: Form = DOMINATORS) -> list[GroupNode]:
    """Some nodes of a tree."""
    tree = grouped_tree(snapshot, form)
    own, below = _native_of_nodes(snapshot, form.tree)
    columns = (tree.objects, tree.shallow, tree.total, tree.first, tree.last)
    return [
        GroupNode(
            number_of(form, number),
            tree.name(number),
            objects,
            shallow,
            total,
            last - first,
            *(native_or_none(snapshot, int(amount)) for amount in outside),
        )
        for number, (objects, shallow, total, first, last), outside in zip(
            numbers.tolist(),
            zip(*(column[numbers].tolist() for column in columns), strict=True),
            zip(tree.summed(own)[numbers].tolist(), tree.summed_totals(below)[numbers].tolist(), strict=True),
            strict=True,
        )
    ]


def _native_of_nodes(snapshot: Snapshot, tree: HeapTree) -> tuple[Numbers, Numbers]:
    """What the objects of each node of a tree's base own outside of the heap, and what ``native_total_bytes`` is."""
    if tree == "dominators":
        return native_of_nodes(snapshot)

    def make() -> tuple[Numbers, Numbers]:
        by_type, owned = base_tree(snapshot, tree), snapshot.objects.owned
        own = np.zeros(len(by_type.key), np.int64)
        np.add.at(own, by_type.group[owned["object"]], owned["native"].astype(np.int64))
        below = own[np.newaxis].copy()
        sum_up(np.array(by_type.parent, np.uint32), below)
        return own, below[0]

    return snapshot.keep(("native of nodes", tree), make)


def retained_by(snapshot: Snapshot, numbers: Sequence[int] | Numbers) -> RetainedAnswer:
    """What would be freed without some objects: what is held, less what is held without passing through these.

    What holds is as in :func:`memlens.views.graph.reach.holders`, for sets as for cuts. Objects that nothing holds are
    retained by nothing, and so are left out. Raises :class:`BadRequestError`, and :class:`CancelledError` when the
    snapshot's work is stopped.
    """
    walk = _walked(snapshot, np.asarray(numbers), np.zeros(len(snapshot.objects.type), np.uint8))
    objects, total, outside = finished(walk.sum_up())
    return RetainedAnswer(walk.chosen, objects, total, native_or_none(snapshot, outside))


def retained_set(snapshot: Snapshot, numbers: Numbers) -> Mask:
    """Which objects nothing would hold without some, these included; one item per object. As :func:`retained_by`."""
    found = np.zeros(len(snapshot.objects.type), np.bool_)
    walk = _walked(snapshot, numbers, found.view(np.uint8))
    finished(walk.sum_up())
    walk.mark()
    return found


def _walked(snapshot: Snapshot, numbers: Numbers, state: U8) -> Retained:
    for number in (numbers.min(), numbers.max()) if len(numbers) else ():
        check_object(snapshot, int(number))
    stored, objects = snapshot.references, snapshot.objects
    walk = Retained(
        stored.start, stored.target, stored.kind, stored.referrer_start, stored.referrer, stored.referrer_kind,
        followed(snapshot), held_distances(snapshot), objects.dominated_start, objects.dominated, objects.shallow,
        own_native(snapshot), np.ascontiguousarray(numbers, np.uint32), state, snapshot.work,
    )  # fmt: skip
    in_halves(walk.steps, walk.follow)
    return walk


def reachable_bytes(snapshot: Snapshot, numbers: Numbers) -> int:
    """The shallow bytes of some objects and of all that references which retain lead to from them.

    Much of that may be kept alive by others, too. Raises :class:`BadRequestError`.
    """
    chosen = distinct(np.asarray(numbers, np.int64))
    for number in (chosen[0], chosen[-1]) if len(chosen) else ():
        check_object(snapshot, int(number))
    stored, shallow = snapshot.references, snapshot.objects.shallow
    reached = np.empty(len(shallow), np.uint8)
    reached_from(
        stored.start, stored.target, stored.kind, followed(snapshot), chosen.astype(np.uint32), reached
    )
    return int(shallow.sum(where=reached.view(np.bool_)))
