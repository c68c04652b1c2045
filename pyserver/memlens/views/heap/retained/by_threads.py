"""Bytes that threads and the variables of their frames retain."""

from typing import NamedTuple

import numpy as np

from memlens.arrays import U64
from memlens.errors import stopped
from memlens.kernels.graph import together as kernel
from memlens.kernels.graph.columns import Sizes
from memlens.model.distinct import counted, distinct
from memlens.model.graph import NONE
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.objects.thread_table import table
from memlens.views.heap.reachable.dominators import reached
from memlens.views.heap.reachable.from_roots import followed, holders, outgoing
from memlens.views.heap.retained.by_objects import retained_by

_MOST_LEVELS = 32
"""Limit on dominators above an object that are searched for other objects of its set."""


def retained_together(snapshot: Snapshot, numbers: Numbers) -> int:
    """Return the bytes that would be freed without some distinct objects.

    Usually one of them dominates all others, and then retains as much as all of them.
    """
    top = _undominated(snapshot, numbers)
    if len(top) == 1:
        return _retained(snapshot, int(top[0]))
    return _retained_by(snapshot, top.astype(np.int64).tobytes()) if len(top) else 0


@kept
def _retained_by(snapshot: Snapshot, numbers: bytes) -> int:
    return retained_by(snapshot, np.frombuffer(numbers, np.int64)).retained_bytes


def _retained(snapshot: Snapshot, number: int) -> int:
    return reached(snapshot).retained(number) if snapshot.objects.distance[number] != NEVER else 0


def _undominated(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Remove the objects that others of them dominate, as far as these are within ``_MOST_LEVELS``."""
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


@kept
def freed_by_thread(snapshot: Snapshot) -> U64:
    """Return the bytes that would be freed if a thread ended, per thread: held only by its object and its variables."""
    known, alone = table(snapshot), _held_by_one(snapshot)
    freed = np.zeros(len(known.object), np.uint64)
    # unless variables are roots themselves, the thread's object refers to their values
    through_roots = np.zeros(len(freed), np.bool_)
    through_roots[alone.thread] = True
    for thread in np.flatnonzero(~through_roots & (known.object != NONE)).tolist():
        freed[thread] = _retained(snapshot, int(known.object[thread]))
    others = np.flatnonzero(through_roots)
    for begin in range(0, len(others), kernel.MOST_GROUPS):
        part = others[begin : begin + kernel.MOST_GROUPS]
        snapshot.work.within(begin / len(others), (begin + len(part)) / len(others))
        freed[part] = _freed_through_roots(snapshot, part, alone)
    return freed


class _HeldByOne(NamedTuple):
    """Objects that are roots only because of one thread's variables: their indexes among the holders, by thread."""

    place: Numbers
    thread: Numbers


def _held_by_one(snapshot: Snapshot) -> _HeldByOne:
    variables, roots = table(snapshot).variables, snapshot.objects.roots
    is_root = np.ones(len(snapshot.graph_names.root_kinds), np.bool_)
    is_root[snapshot.graph_names.held_kinds] = False
    pairs = distinct(variables["object"].astype(np.int64) << 32 | variables["thread"])
    numbers, counts = counted(pairs >> 32)
    elsewhere = np.zeros(len(snapshot.objects.type), np.bool_)
    is_variable = np.zeros(len(is_root), np.bool_)
    is_variable[variables["kind"]] = True
    by_others = ~is_variable[roots["kind"]]
    elsewhere[roots["object"][by_others]] = True
    holding = np.zeros(len(elsewhere), np.bool_)
    as_roots = is_root[variables["kind"]]
    holding[variables["object"][as_roots]] = True
    chosen = (counts == 1) & ~elsewhere[numbers] & holding[numbers]
    numbers, threads = numbers[chosen], (pairs & 0xFFFFFFFF)[(np.cumsum(counts) - 1)[chosen]]
    holds_all = holders(snapshot)
    places = np.minimum(np.searchsorted(holds_all, numbers), max(len(holds_all) - 1, 0))
    there = holds_all[places] == numbers if len(holds_all) else np.zeros(len(numbers), np.bool_)
    order = np.argsort(threads[there], kind="stable")
    return _HeldByOne(places[there][order], threads[there][order])


def _freed_through_roots(snapshot: Snapshot, chosen: Numbers, alone: _HeldByOne) -> U64:
    """Return the same for threads whose variables are roots, in one traversal."""
    known, objects = table(snapshot), snapshot.objects
    bits = np.uint64(1) << np.arange(len(chosen), dtype=np.uint64)
    group, group_of = np.zeros(len(objects.type), np.uint32), np.append(np.uint64(0), bits)
    for place, own in enumerate(known.object[chosen].tolist(), 1):
        if own != NONE:
            group[own] = place
    roots = holders(snapshot)
    held = np.zeros(len(roots), np.uint64)
    first, last = np.searchsorted(alone.thread, (chosen[0], chosen[-1] + 1))
    part = slice(int(first), int(last))
    held[alone.place[part]] = bits[np.searchsorted(chosen, alone.thread[part])]
    found = np.zeros((3, kernel.MOST_GROUPS), np.uint64)
    is_done = kernel.retained_together(
        outgoing(snapshot, followed(snapshot)), roots, held, group, group_of,
        Sizes(objects.shallow, np.empty(0, np.uint64)), found, snapshot.work,
    )  # fmt: skip
    if not is_done:
        raise stopped()
    freed: U64 = found[1, : len(chosen)]
    return freed
