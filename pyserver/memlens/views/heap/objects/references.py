"""The references of objects, by number."""

import numpy as np

from memlens.model.spans import spans
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.fields import Numbers

_AT_ONCE = 1 << 20
"""References examined in one step."""


def references_of(snapshot: Snapshot, number: int) -> slice:
    """Return the numbers of an object's references."""
    return slice(*map(int, snapshot.references.items(ReferenceColumns.start, slice(number, number + 2))))


def references_of_all(snapshot: Snapshot, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the numbers of the references of some objects, and the source of each as an index of these objects.

    References of repeated objects are repeated: pass distinct objects if a file controls how often they occur.
    """
    start = snapshot.references.start
    counts = start[numbers + 1].astype(np.int64) - start[numbers].astype(np.int64)
    return spans(start[numbers], counts), np.repeat(np.arange(len(numbers)), counts)


def referrers_of(snapshot: Snapshot, number: int) -> slice:
    """Return the range of an object's referrers in the referrer columns."""
    return slice(
        *map(int, snapshot.references.items(ReferenceColumns.referrer_start, slice(number, number + 2)))
    )


def references_between(snapshot: Snapshot, source: int, target: int) -> Numbers:
    """Return the numbers of the references from one object to another."""
    own = references_of(snapshot, source)
    found: Numbers = own.start + np.flatnonzero(
        snapshot.references.items(ReferenceColumns.target, own) == target
    )
    return found


def first_references(snapshot: Snapshot, sources: Numbers, targets: Numbers) -> Numbers:
    """Return for each ``i`` the number of the first reference from ``sources[i]`` to ``targets[i]``; there is one."""
    stored = snapshot.references
    if not len(sources):
        return np.empty(0, np.int64)
    is_target = np.zeros(len(snapshot.objects.type), np.bool_)
    is_target[targets] = True
    distinct, of = np.unique(sources, return_inverse=True)
    starts, ends = (stored.start[distinct + after].astype(np.int64) for after in (0, 1))
    widths = np.cumsum(ends - starts)
    found: list[tuple[Numbers, Numbers]] = []
    begin = 0
    while begin < len(distinct):
        # as many objects as have few references together, or one
        before = int(widths[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(widths, before + _AT_ONCE)))
        counts = (ends - starts)[begin:end]
        rows = spans(starts[begin:end], counts)
        own = np.repeat(np.arange(begin, end), counts)
        hit = is_target[stored.target[rows]]
        found.append((own[hit] << 32 | stored.target[rows[hit]], rows[hit]))
        begin = end
    keys, rows = (np.concatenate([part[which] for part in found]) for which in (0, 1))
    keys, first = np.unique(keys, return_index=True)
    places: Numbers = rows[first[np.searchsorted(keys, of << 32 | targets)]]
    return places
