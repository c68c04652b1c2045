"""Bytes that sets of objects retain, and that are reachable from them."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from memlens.arrays import U8, Mask
from memlens.errors import finished
from memlens.kernels.graph.columns import Sizes
from memlens.kernels.graph.freed import Retained
from memlens.kernels.graph.reach import reached_from
from memlens.model.distinct import distinct
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.halves import in_halves
from memlens.views.heap.objects.native_memory import native_or_none, own_native
from memlens.views.heap.objects.rows import Numbers, check_objects
from memlens.views.heap.reachable.from_roots import followed, held_distances, incoming, outgoing


class RetainedAnswer(Struct, frozen=True):
    """The memory that a set of objects retains: their own, and everything that only they keep alive."""

    chosen: int
    objects: int
    retained_bytes: int
    native_retained_bytes: int | None
    """Memory outside of the heap retained by them; None if the dump records no such memory."""


def retained_by(snapshot: Snapshot, numbers: Sequence[int] | Numbers) -> RetainedAnswer:
    """Return what would be freed without some objects: what is held, less what is held by paths around them.

    Paths begin at :func:`~memlens.views.heap.reachable.from_roots.holders`, for sets as for cuts. Objects that nothing
    holds are retained by nothing, so they don't count. Raises :class:`BadRequestError`, and
    :class:`CancelledError` when the snapshot's work is stopped.
    """
    walk = _walked(snapshot, np.asarray(numbers), np.zeros(len(snapshot.objects.type), np.uint8))
    objects, total, outside = finished(walk.sum_up())
    return RetainedAnswer(walk.chosen, objects, total, native_or_none(snapshot, outside))


def retained_set(snapshot: Snapshot, numbers: Numbers) -> Mask:
    """Return a mask of the objects that would be freed without some objects, these included. As :func:`retained_by`."""
    found = np.zeros(len(snapshot.objects.type), np.bool_)
    walk = _walked(snapshot, numbers, found.view(np.uint8))
    finished(walk.sum_up())
    walk.mark()
    return found


def _walked(snapshot: Snapshot, numbers: Numbers, state: U8) -> Retained:
    check_objects(snapshot, numbers)
    objects, follows = snapshot.objects, followed(snapshot)
    walk = Retained(
        outgoing(snapshot, follows), incoming(snapshot, follows), Sizes(objects.shallow, own_native(snapshot)),
        held_distances(snapshot), objects.dominated_start, objects.dominated,
        np.ascontiguousarray(numbers, np.uint32), state, snapshot.work,
    )  # fmt: skip
    in_halves(walk.steps, walk.follow)
    return walk


def reachable_bytes(snapshot: Snapshot, numbers: Numbers) -> int:
    """Return the shallow bytes of some objects and of everything reachable from them by retaining references.

    Much of it may be kept alive by other objects, too. Raises :class:`BadRequestError`.
    """
    chosen = check_objects(snapshot, distinct(np.asarray(numbers, np.int64)))
    shallow = snapshot.objects.shallow
    reached = np.empty(len(shallow), np.uint8)
    reached_from(outgoing(snapshot, followed(snapshot)), chosen.astype(np.uint32), reached)
    return int(shallow.sum(where=reached.view(np.bool_)))
