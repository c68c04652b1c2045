"""Values held only by variables that no code can read any more."""

import numpy as np

from memlens.arrays import Mask
from memlens.errors import finished
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.unread_variables import unread
from memlens.views.heap.reachable.from_roots import followed, held_distances
from memlens.views.heap.retained.left_out import holding, left_out_of

_NOTHING = np.empty(0, np.uint32)


@kept
def held_by_unread_alone(snapshot: Snapshot) -> Mask:
    """Return a mask of the variables of :func:`unread` whose values would be freed if all of them were cleared.

    Together such values retain exactly what would be freed. Raises :class:`CancelledError`.
    """
    variables, before = unread(snapshot), held_distances(snapshot)
    left_out, after = left_out_of(snapshot), before.copy()
    left_out.add_rows(np.ascontiguousarray(variables.rows["object"]), variables.reference.astype(np.uint64))
    finished(holding(snapshot, left_out, followed(snapshot), after).move_away(_NOTHING, snapshot.work))
    alone: Mask = (before[variables.value] != NEVER) & (after[variables.value] == NEVER)
    return alone
