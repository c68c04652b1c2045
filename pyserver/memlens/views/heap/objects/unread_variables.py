"""Variables of closures that no code can read any more, in dumps that record what functions read."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, Mask
from memlens.model.distinct import distinct
from memlens.model.spans import spans
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.reference_kinds import kinds_where


class Unread(NamedTuple):
    """Unread variables, one item each: references from contexts to the variables' values."""

    rows: npt.NDArray[Any]
    """Rows of UNREAD_DTYPE."""
    reference: I64
    """The numbers of the references, ascending."""
    value: I64
    """The objects that are the variables' values."""


@kept
def unread(snapshot: Snapshot) -> Unread:
    """Return the dump's unread variables, computed once; none if it doesn't record what functions read."""
    rows, stored, texts = snapshot.objects.unread, snapshot.references, len(snapshot.strings.end)
    if not len(rows):
        return Unread(rows, np.empty(0, np.int64), np.empty(0, np.int64))
    for field, below in (("object", len(snapshot.objects.type)), ("name", texts), ("function", texts)):
        if int(rows[field].max()) >= below:
            raise InconsistentError("The number of an object or a text is out of range")
    contexts = distinct(rows["object"].astype(np.int64))
    of_row = np.searchsorted(contexts, rows["object"])
    begin, end = (stored.start[contexts + after].astype(np.int64) for after in (0, 1))
    count = end - begin
    at, of = spans(begin, count), np.repeat(np.arange(len(contexts)), count)
    of_variables = registry.objects_of(snapshot.info.kind).scopes.variables_references
    is_variable = kinds_where(snapshot, lambda kind: kind.name == of_variables)[stored.kind[at]]
    at, of = at[is_variable], of[is_variable]
    wanted = of_row << 32 | rows["name"]
    order = np.argsort(wanted, kind="stable")
    own = of << 32 | stored.name[at]
    places = np.minimum(np.searchsorted(wanted[order], own), len(order) - 1)
    known = wanted[order][places] == own
    return Unread(rows[order[places[known]]], at[known], stored.target[at[known]].astype(np.int64))


def are_unread(snapshot: Snapshot, references: npt.NDArray[Any]) -> Mask:
    """Return a mask of some references: those of unread variables."""
    found: Mask = np.isin(references, unread(snapshot).reference)
    return found


def has_unread(snapshot: Snapshot) -> bool:
    """Whether the dump has any unread variables."""
    return len(snapshot.objects.unread) > 0
