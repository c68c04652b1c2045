"""Variables that closures keep and that no function can read any more, and what they hold."""

from typing import NamedTuple

import numpy as np

from memlens.kernels.graph.freed import Holding
from memlens.kernels.graph.left_out import LeftOut
from memlens.model.timeline import NEVER
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.graph.kinds import kinds_where
from memlens.views.graph.native import own_native
from memlens.views.graph.reach import followed, held_distances
from memlens.views.graph.rows import Numbers, references_of_all
from memlens.views.graph.stopped import finished

_CONTEXT = "context"
"""The kind of references from a context to the values of its variables."""


class Unread(NamedTuple):
    """Variables of contexts that roots reach; columns with an item for each."""

    context: Numbers
    name: Numbers
    """A text."""
    function: Numbers
    """A closure of the function that declares it; NEVER where there is none."""
    scope: Numbers
    """A number that contexts of the same scope have."""
    reference: Numbers
    target: Numbers
    """The variable's value."""

    def of(self, rows: Numbers) -> "Unread":
        """Some of them."""
        return Unread(*(column[rows] for column in self))


def unread(snapshot: Snapshot) -> Unread:
    """All of them, by context."""
    return snapshot.keep("unread variables", lambda: _unread(snapshot))


def _unread(snapshot: Snapshot) -> Unread:
    rows = snapshot.objects.unread
    rows = rows[snapshot.objects.distance[rows["object"]] != NEVER]
    keys = rows["object"].astype(np.int64) << 32 | rows["name"]
    contexts = np.unique(rows["object"]).astype(np.int64)
    stored = snapshot.references
    is_variable = kinds_where(snapshot, lambda kind: kind.name == _CONTEXT)
    references, of = references_of_all(snapshot, contexts)
    own = is_variable[stored.kind[references]]
    references, of = references[own], contexts[of[own]]
    order = np.argsort(keys, kind="stable")
    wanted = of << 32 | stored.name[references]
    places = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(len(keys) - 1, 0))
    found = keys[order[places]] == wanted if len(keys) else np.zeros(0, np.bool_)
    at, references = order[places[found]], references[found].astype(np.int64)
    context, name, function, scope = (
        rows[field][at].astype(np.int64) for field in ("object", "name", "function", "scope")
    )
    return Unread(context, name, function, scope, references, stored.target[references].astype(np.int64))


def freed_without(snapshot: Snapshot, variables: Unread) -> int:
    """Bytes of what nothing would hold if these variables had other values.

    Raises :class:`CancelledError` when the snapshot's work is stopped.
    """
    stored, column = snapshot.references, ReferenceColumns
    starts = stored.unchecked(column.start)
    left_out = LeftOut(starts, stored.unchecked(column.target), stored.kind)
    left_out.add_rows(variables.context.astype(np.uint32), variables.reference.astype(np.uint64))
    holding = Holding(
        starts, stored.unchecked(column.target), stored.kind, stored.unchecked(column.referrer_start),
        stored.unchecked(column.referrer), stored.referrer_kind, followed(snapshot), snapshot.objects.shallow,
        own_native(snapshot), held_distances(snapshot).copy(), left_out,
    )  # fmt: skip
    found: tuple[int, int, int] = finished(holding.move_away(np.empty(0, np.uint32), snapshot.work))
    return found[1]
