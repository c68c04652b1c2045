"""What threads and the variables of their frames retain."""

import numpy as np
import numpy.typing as npt

from memlens.kernels.graph import together as kernel
from memlens.model.graph import NONE
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.graph.reach import followed, holders
from memlens.views.graph.reached import reached
from memlens.views.graph.retained import retained_by
from memlens.views.graph.rows import Numbers
from memlens.views.graph.stopped import stopped
from memlens.views.graph.thread_table import table

_MOST_LEVELS = 32
"""Dominators above an object among which others of a set are looked for."""

U64 = npt.NDArray[np.uint64]


def retained_together(snapshot: Snapshot, numbers: Numbers) -> int:
    """Bytes that would be freed without some distinct objects.

    Most of them are dominated by one of the others, which retains as much as all of them then.
    """
    top = _undominated(snapshot, numbers)
    if len(top) == 1:
        return _retained(snapshot, int(top[0]))
    return snapshot.keep(
        ("retained together", top.tobytes()),
        lambda: retained_by(snapshot, top).retained_bytes if len(top) else 0,
    )


def _retained(snapshot: Snapshot, number: int) -> int:
    return reached(snapshot).retained(number) if snapshot.objects.distance[number] != NEVER else 0


def _undominated(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Some objects without those that others of them dominate, as far as these are near."""
    dominator = snapshot.objects.dominator
    above, of = numbers, np.arange(len(numbers))
    below = np.zeros(len(numbers), np.bool_)
    for _ in range(_MOST_LEVELS):
        above = dominator[above].astype(np.int64)
        known = above != NEVER
        above, of = above[known], of[known]
        if not len(above):
            break
        below[of[np.isin(above, numbers)]] = True
    return numbers[~below]


def freed_by_thread(snapshot: Snapshot) -> U64:
    """Bytes that would be freed if each thread ended: what nothing holds but its object and its variables."""
    return snapshot.keep("freed by thread", lambda: _freed_by_thread(snapshot))


def _freed_by_thread(snapshot: Snapshot) -> U64:
    known, is_held = table(snapshot), np.zeros(len(snapshot.graph_names.root_kinds), np.bool_)
    is_held[snapshot.graph_names.held_kinds] = True
    freed = np.zeros(len(known.object), np.uint64)
    # a thread's object refers to what its variables hold where these aren't roots themselves
    through_roots = np.zeros(len(freed), np.bool_)
    through_roots[known.variables["thread"][~is_held[known.variables["kind"]]]] = True
    for thread in np.flatnonzero(~through_roots & (known.object != NONE)).tolist():
        freed[thread] = _retained(snapshot, int(known.object[thread]))
    others = np.flatnonzero(through_roots)
    for begin in range(0, len(others), kernel.MOST_GROUPS):
        part = others[begin : begin + kernel.MOST_GROUPS]
        freed[part] = _freed_through_roots(snapshot, part)
    return freed


def _freed_through_roots(snapshot: Snapshot, chosen: Numbers) -> U64:
    """The same of some threads whose variables are roots, in one walk."""
    known, stored, objects = table(snapshot), snapshot.references, snapshot.objects
    bits = np.uint64(1) << np.arange(len(chosen), dtype=np.uint64)
    group, group_of = np.zeros(len(objects.type), np.uint32), np.append(np.uint64(0), bits)
    for place, own in enumerate(known.object[chosen].tolist(), 1):
        if own != NONE:
            group[own] = place
    roots = holders(snapshot)
    none = np.empty(0, np.uint64)
    counts, sums = (np.zeros(kernel.MOST_GROUPS, np.uint64) for _ in range(2))
    is_done = kernel.retained_together(
        stored.start, stored.target, stored.kind, followed(snapshot), roots, _held(snapshot, chosen, bits)[roots],
        group, group_of, objects.shallow, counts, sums, none, none, snapshot.work,
    )  # fmt: skip
    if not is_done:
        raise stopped()
    found: U64 = sums[: len(chosen)]
    return found


def _held(snapshot: Snapshot, chosen: Numbers, bits: U64) -> U64:
    """An item for each object: the bit of the thread whose variables alone make it a root, else 0."""
    variables, roots = table(snapshot).variables, snapshot.objects.roots
    pairs = np.unique(variables["object"].astype(np.int64) << 32 | variables["thread"])
    numbers, counts = np.unique(pairs >> 32, return_counts=True)
    by_one = np.isin(pairs >> 32, numbers[counts == 1])
    thread = pairs[by_one] & 0xFFFFFFFF
    place = np.searchsorted(chosen, thread)
    is_chosen = chosen[np.minimum(place, len(chosen) - 1)] == thread
    found = np.zeros(len(snapshot.objects.type), np.uint64)
    found[(pairs[by_one] >> 32)[is_chosen]] = bits[place[is_chosen]]
    found[roots["object"][~np.isin(roots["kind"], np.unique(variables["kind"]))]] = 0
    return found
