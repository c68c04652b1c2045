"""What would be freed if objects no longer referred to others. Objects that no root reaches keep nothing alive."""

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from memlens.kernels.graph.cuts import OtherHolders, freed_without
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
from memlens.views.heap.reachable.from_roots import followed, holders
from memlens.views.heap.retained.freed import NOTHING, Freed
from memlens.views.heap.retained.left_out import LeavesOut, without

MOST_LOOKED_AT = 200_000
"""Objects that a question passes through at most."""
_ALL = 1 << 40
_FEW, _MOST_AT_ONCE = 64, 50_000_000
"""So few objects are walked from one by one; of more, all are lifted at once, so many steps in all."""


class CutAnswer(Struct, frozen=True):
    """The memory that would be freed without the references from one object to another."""

    freed_bytes: int
    freed_native_bytes: int | None
    """Memory outside of the heap; None in dumps that say so of no object."""


def cut(snapshot: Snapshot, source: int, target: int, leaving_out: Collection[LeavesOut] = ()) -> CutAnswer:
    """The same as :func:`freed_by_cut` however many objects it looks at, which may be all of them.

    Where other references are left out, what would be freed besides. Raises :class:`BadRequestError`, and
    :class:`CancelledError` when the snapshot's work is stopped.
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
    """Bytes that nothing would reach without the references from ``source`` to ``target``.

    They are what the target retains within the reachable heap, where every path to it ends with such a reference, and
    nothing otherwise: where the target can be reached in another way, so can all that it refers to. None where more
    than ``most`` objects or references would have to be looked at.
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
    """Bytes that nothing would reach without all references from some objects to others, and objects looked at.

    Several targets may keep something together that none of them retains alone. The bytes are None where more than
    about ``most`` objects would have to be looked at.
    """
    stored, objects = snapshot.references, snapshot.objects
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
        stored.start, stored.target, stored.kind, followed(snapshot), objects.dominated_start, objects.dominated,
        *alone.by_dominator, objects.distance, objects.shallow, own_native(snapshot), holders(snapshot),
        distinct(sources).astype(np.uint32), held.astype(np.uint32), holder, most,
    )  # fmt: skip
    return None if freed is None else Freed(*freed), looked_at


def common_holder(snapshot: Snapshot, held: Numbers, most: int = MOST_LOOKED_AT) -> int | None:
    """The nearest object that dominates some others and is none of them; the number of objects where only roots do.

    None where chains of dominators are longer than ``most`` together.
    """
    above = distinct(reached(snapshot).dominators(held))
    return _common_dominator(snapshot, _nearer_to_roots(snapshot, above).tolist(), most)


def _nearer_to_roots(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Some objects with the same common dominator as some others, few as a rule.

    What retains least is above none of the others, so that its dominator may stand for it. Those that retain the most
    stay, as one may be above the others.
    """
    alone, left = reached(snapshot), _MOST_AT_ONCE
    while len(numbers) > _FEW and left > 0:
        if int(numbers[-1]) == NEVER:
            # roots alone hold one of them
            return numbers[-1:]
        retained = alone.retained_by_each(numbers)
        lower = retained < retained.max()
        if not lower.any():
            break
        left -= len(numbers)
        numbers = distinct(np.append(numbers[~lower], alone.dominators(numbers[lower])))
    return numbers


def held_of(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Those of some objects that references hold: neither unreachable objects nor the holders of everything."""
    not_held = np.concatenate((reached(snapshot).unheld, holders(snapshot)))
    held: Numbers = numbers[(snapshot.objects.distance[numbers] != NEVER) & ~np.isin(numbers, not_held)]
    return held


def _common_dominator(snapshot: Snapshot, numbers: list[int], most: int) -> int | None:
    """The nearest object that dominates some objects or is one of them; the number of objects where none does.

    None where chains of dominators are longer than ``most`` together.
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
        # whoever comes by here joins the chain at the same place
        places.update(dict.fromkeys(walked, place))
        highest = max(highest, place)
    if looked_at > most:
        return None
    return chain[highest] if highest < len(chain) else whole


def _freed_of(snapshot: Snapshot, sources: Numbers, target: int, most: int) -> Freed | None:
    """What is freed without the references from some objects to one that is reached and at which nothing begins."""
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
    # only dumps in which nothing unreachable counts as a holder know of memory outside of the heap
    outside = native_bytes(snapshot, np.array([target]))[1]
    return NOTHING if holds else Freed(alone.retained(target), int(outside[0]))


@kept
def _other_holders(snapshot: Snapshot) -> OtherHolders:
    stored, objects, alone = snapshot.references, snapshot.objects, reached(snapshot)
    return OtherHolders(
        stored.unchecked(ReferenceColumns.start), stored.unchecked(ReferenceColumns.target), stored.kind,
        followed(snapshot), objects.unchecked(ObjectColumns.dominator), alone.moved, alone.moved_to,
        objects.distance,
    )  # fmt: skip
