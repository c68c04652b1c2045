"""Bytes that would be freed if objects no longer referred to others. Unreachable objects keep nothing alive."""

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from memlens.kernels.graph.columns import Sizes
from memlens.kernels.graph.cuts import Dominated, OtherHolders, freed_without
from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.objects.columns import ObjectColumns, ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.native_memory import native_bytes, native_or_none, own_native
from memlens.views.heap.objects.references import references_between, referrers_of
from memlens.views.heap.objects.rows import Numbers, check_object
from memlens.views.heap.reachable.dominators import reached
from memlens.views.heap.reachable.from_roots import followed, holders, outgoing, unchecked_outgoing
from memlens.views.heap.retained.freed import NOTHING, Freed
from memlens.views.heap.retained.left_out import LeavesOut, without

MOST_LOOKED_AT = 200_000
"""Limit on the objects that a question visits."""
_ALL = 1 << 40
_FEW, _MOST_AT_ONCE = 64, 50_000_000
"""Up to ``_FEW`` objects are followed one by one; larger sets are lifted at once, in ``_MOST_AT_ONCE`` steps."""


class CutAnswer(Struct, frozen=True):
    """The memory that would be freed without the references from one object to another."""

    freed_bytes: int
    freed_native_bytes: int | None
    """Memory outside of the heap; None if the dump records no such memory."""


def cut(snapshot: Snapshot, source: int, target: int, leaving_out: Collection[LeavesOut] = ()) -> CutAnswer:
    """Return what :func:`freed_by_cut` does, without a limit on visited objects.

    If other references are left out, the bytes are what would be freed in addition. Raises :class:`BadRequestError`,
    and :class:`CancelledError` when the snapshot's work is stopped.
    """
    for number in (source, target):
        check_object(snapshot, number)
    left = without(snapshot, leaving_out)
    if left is None:
        freed = freed_by_cut(snapshot, source, target, _ALL)
    else:
        freed, _ = left.freed_by_cuts(snapshot, np.array([source]), np.array([target]), _ALL)
    if freed is None:
        raise InconsistentError("More objects were visited than there are")
    return CutAnswer(freed.bytes, native_or_none(snapshot, freed.native))


def freed_by_cut(snapshot: Snapshot, source: int, target: int, most: int = MOST_LOOKED_AT) -> Freed | None:
    """Return the bytes that would be unreachable without the references from ``source`` to ``target``.

    If every path to the target ends with such a reference, that is what it retains within the reachable heap; otherwise
    it is nothing, as the target and all that it refers to stay reachable. None if more than ``most`` objects or
    references would have to be visited.
    """
    stored = snapshot.references
    if snapshot.objects.distance[target] == NEVER or target in holders(snapshot):
        return NOTHING
    between = stored.kind[references_between(snapshot, source, target)]
    if target in reached(snapshot).unheld or not followed(snapshot)[between].any():
        return NOTHING
    return _freed_of(snapshot, np.array([source], np.int64), target, most)


def freed_by_cuts(
    snapshot: Snapshot, sources: Numbers, targets: Numbers, most: int = MOST_LOOKED_AT
) -> tuple[Freed | None, int]:
    """Return the bytes that would be unreachable without all references from some objects to others.

    Also returns the number of visited objects. Several targets may together retain something that none of them retains
    alone. The bytes are None if more than about ``most`` objects would have to be visited.
    """
    objects = snapshot.objects
    held = held_of(snapshot, distinct(targets))
    if not len(held):
        return NOTHING, 0
    if len(held) == 1:
        return _freed_of(snapshot, distinct(sources), int(held[0]), MOST_LOOKED_AT), 1
    alone = reached(snapshot)
    holder = common_holder(snapshot, held, most)
    if holder is None:
        return None, most
    freed, looked_at = freed_without(
        outgoing(snapshot, followed(snapshot)),
        Dominated(objects.dominated_start, objects.dominated, *alone.by_dominator), objects.distance,
        Sizes(objects.shallow, own_native(snapshot)), holders(snapshot), distinct(sources).astype(np.uint32),
        held.astype(np.uint32), holder, most,
    )  # fmt: skip
    return None if freed is None else Freed(*freed), looked_at


def common_holder(snapshot: Snapshot, held: Numbers, most: int = MOST_LOOKED_AT) -> int | None:
    """Return the nearest object that dominates some others and is none of them; the number of objects if only roots do.

    None if chains of dominators are longer than ``most`` together.
    """
    above = distinct(reached(snapshot).dominators(held))
    return _common_dominator(snapshot, _nearer_to_roots(snapshot, above).tolist(), most)


def _nearer_to_roots(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Return fewer objects, if possible, with the same common dominator.

    An object that retains less than another is not above it, so its dominator can replace it. Those that retain most
    stay, as one may be above the others.
    """
    alone, left = reached(snapshot), _MOST_AT_ONCE
    while len(numbers) > _FEW and left > 0:
        if int(numbers[-1]) == NEVER:
            # only roots dominate one of them
            return numbers[-1:]
        retained = alone.retained_by_each(numbers)
        lower = retained < retained.max()
        if not lower.any():
            break
        left -= len(numbers)
        numbers = distinct(np.append(numbers[~lower], alone.dominators(numbers[lower])))
    return numbers


def held_of(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Return the objects that references hold: without unreachable objects and the holders of everything."""
    not_held = np.concatenate((reached(snapshot).unheld, holders(snapshot)))
    held: Numbers = numbers[(snapshot.objects.distance[numbers] != NEVER) & ~np.isin(numbers, not_held)]
    return held


def _common_dominator(snapshot: Snapshot, numbers: list[int], most: int) -> int | None:
    """Return the nearest object that dominates some objects or is one of them; the number of objects if none does.

    None if chains of dominators are longer than ``most`` together.
    """
    dominator, whole = reached(snapshot).dominator, len(snapshot.objects.type)
    chain: list[int] = []
    at = numbers[0]
    while at != NEVER and len(chain) <= most:
        chain.append(at)
        at = dominator(at)
    places = {number: place for place, number in enumerate(chain)}
    highest, looked_at = 0, len(chain)
    for number in numbers:
        at = number
        walked = []
        while at != NEVER and at not in places and looked_at <= most:
            walked.append(at)
            looked_at += 1
            at = dominator(at)
        place = len(chain) if at == NEVER else places.get(at, len(chain))
        # chains through these objects join the first chain at the same place
        places.update(dict.fromkeys(walked, place))
        highest = max(highest, place)
    if looked_at > most:
        return None
    return chain[highest] if highest < len(chain) else whole


def _freed_of(snapshot: Snapshot, sources: Numbers, target: int, most: int) -> Freed | None:
    """Return what is freed without the references from some objects to a reachable one that is not a root."""
    stored = snapshot.references
    part = referrers_of(snapshot, target)
    if part.stop - part.start > most:
        return None
    alone = reached(snapshot)
    without = np.sort(np.append(alone.unheld, sources).astype(np.uint32))
    holds = _other_holders(snapshot).hold(
        target, stored.items(ReferenceColumns.referrer, part), without, most, snapshot.work
    )
    snapshot.go_on()
    if holds is None:
        return None
    # dumps that record memory outside of the heap don't count unreachable objects as holders
    outside = native_bytes(snapshot, np.array([target]))[1]
    return NOTHING if holds else Freed(alone.retained(target), int(outside[0]))


@kept
def _other_holders(snapshot: Snapshot) -> OtherHolders:
    objects, alone = snapshot.objects, reached(snapshot)
    return OtherHolders(
        unchecked_outgoing(snapshot, followed(snapshot)), objects.unchecked(ObjectColumns.dominator), alone.moved,
        alone.moved_to, objects.distance,
    )  # fmt: skip
