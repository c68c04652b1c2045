"""The filter for profiles: the terms of :mod:`memlens.views.selection.filters` that apply to samples.

The allocations of a heap dump are samples, too, and have the filter of its objects.
"""

from collections.abc import Callable

import numpy as np

from memlens.arrays import U32, Mask
from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo
from memlens.packs.api import Part
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.selection import filters
from memlens.views.selection.profile_sets import SampleColumns, columns_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.terms import Term

_OF_OBJECTS: Part[Callable[[Snapshot, str], Mask]] = Part(
    "memlens.views.heap.listing.allocations:samples_that_fit"
)
_NARROWED: Part[Callable[[Snapshot, AllocationSet], SampleColumns]] = Part(
    "memlens.views.heap.listing.allocations:narrowed"
)
"""The filter of objects, which stands above this one and is imported where a heap dump has one."""


def narrowed_columns(snapshot: Snapshot, of: AllocationSet) -> SampleColumns:
    """A set's figures of each sample, as its filter leaves them. Raises :class:`BadRequestError`."""
    columns = columns_of(snapshot, of)
    if not of.filter:
        return columns
    if isinstance(snapshot.info, GraphInfo):
        return _NARROWED.load()(snapshot, of)
    return columns._replace(present=columns.present & matching(snapshot, of.filter))


def matching(snapshot: Snapshot, text: str) -> Mask:
    """The samples that match all terms of a filter. Raises :class:`BadRequestError` for terms about events."""
    if isinstance(snapshot.info, GraphInfo):
        return _OF_OBJECTS.load()(snapshot, text)
    stacks = snapshot.samples.stack
    mask = np.ones(len(stacks), bool)
    for term in filters.parse(text):
        found = _of_samples(snapshot, term, stacks)
        mask &= ~found if term.negated else found
    return mask


def _of_samples(snapshot: Snapshot, term: Term, stacks: U32) -> Mask:
    row = filters.TERMS[term.field]
    if row.samples is not None:
        return row.samples(snapshot, term)
    of_stacks = filters.stacks_where(snapshot, term)
    if of_stacks is None:
        raise BadRequestError(
            phrase("'{term}': a profile doesn't record that", term=str(term)),
            advice=phrase(
                "Use plain words, file:, function:, by:, innermost:, stack:, label:, size and is:native."
            ),
        )
    return of_stacks[stacks]
