"""What would be freed if one object no longer referred to another."""

import numpy as np

from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.graph.reach import entries, followed
from memlens.views.graph.rows import Numbers

MOST_LOOKED_AT = 200_000
"""Objects that a question passes through at most."""


def freed_by_cut(snapshot: Snapshot, source: int, target: int, reference: int | None = None) -> int | None:
    """Bytes that nothing would reach without the references from ``source`` to ``target``, or without one of them.

    They are what the target retains where every path to it ends with such a reference, and nothing otherwise: where
    the target can be reached in another way, so can all that it refers to. None where too many objects would have to be
    looked at.
    """
    stored, objects = snapshot.references, snapshot.objects
    follows, roots = followed(snapshot), entries(snapshot)
    if objects.distance[target] == NEVER or bool((roots == target).any()):
        return 0
    first, last = int(stored.start[source]), int(stored.start[source + 1])
    between = first + np.flatnonzero(stored.target[first:last] == target)
    between = between[follows[stored.kind[between]] != 0]
    cut = between if reference is None else between[between == reference]
    if not len(cut) or len(cut) < len(between):
        return 0
    start, end = int(stored.referrer_start[target]), int(stored.referrer_start[target + 1])
    if end - start > MOST_LOOKED_AT:
        return None
    others = np.unique(stored.referrer[start:end])
    others = others[(others != source) & (objects.distance[others] != NEVER)]
    kept = _kept_by(snapshot, others, target, follows)
    return None if kept is None else 0 if kept else int(objects.retained[target])


def _kept_by(snapshot: Snapshot, others: Numbers, target: int, follows: Numbers) -> bool | None:
    """Whether one of some objects refers to another and isn't dominated by it; None where that takes too long."""
    stored, dominator = snapshot.references, snapshot.objects.dominator
    below = {target}
    looked_at = 0
    for other in others.tolist():
        walked = []
        at = other
        while at != NEVER and at not in below:
            walked.append(at)
            at = int(dominator[at])
        looked_at += len(walked) + 1
        if looked_at > MOST_LOOKED_AT:
            return None
        if at != NEVER:
            below.update(walked)
            continue
        first, last = int(stored.start[other]), int(stored.start[other + 1])
        kinds = stored.kind[first:last][stored.target[first:last] == target]
        if bool(follows[kinds].any()):
            return True
    return False
