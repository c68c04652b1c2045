"""The stacks that allocated the objects of a heap dump, as samples of a profile narrowed by a filter."""

import numpy as np

from memlens.arrays import I64, Mask
from memlens.errors import BadRequestError
from memlens.kernels.tree.calltree import add_by
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.filters import filters
from memlens.views.heap.filters.filters import allocating, checked_terms, is_of_stacks
from memlens.views.selection.profile_sets import SampleColumns, columns_of, value_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.terms import Term

_OF_OBJECTS = ("shallow_bytes", "objects")
"""Values that are sums over the objects in the dump. Other values include freed objects, known by stack only."""


def narrowed(snapshot: Snapshot, of: AllocationSet) -> SampleColumns:
    """Return a set's figures of each sample, summed over the objects that match the set's filter.

    Raises :class:`BadRequestError` for an invalid filter, and for one about objects if the value is not about objects.
    """
    columns, terms = columns_of(snapshot, of), checked_terms(snapshot, of.filter)
    about = next((term for term in terms if not is_of_stacks(term)), None)
    if about is None:
        return columns._replace(present=columns.present & _of_stacks(snapshot, terms))
    if snapshot.objects.stack is None:
        raise BadRequestError(
            phrase("'{term}': only the stack of memory outside the heap is known", term=str(about)),
            advice=phrase("Use allocated-by: and stack:."),
        )
    value = value_of(snapshot, of)
    if value.name not in _OF_OBJECTS:
        raise BadRequestError(
            phrase("'{term}': only the stack of objects that are gone is known", term=str(about)),
            advice=phrase("Use allocated-by: and stack:, or show what is live."),
        )
    amounts, counts = _sums(snapshot, of.filter)
    chosen = counts if value.unit == "count" else amounts
    return SampleColumns(chosen, counts, counts != 0)


def samples_that_fit(snapshot: Snapshot, text: str) -> Mask:
    """Return a mask of the samples that match a filter. Raises :class:`BadRequestError` for terms about objects."""
    terms = checked_terms(snapshot, text)
    for term in terms:
        if not is_of_stacks(term):
            raise BadRequestError(
                phrase("'{term}' filters objects, but this filters stacks", term=str(term)),
                advice=phrase("Use allocated-by: and stack:."),
            )
    return _of_stacks(snapshot, terms)


def _of_stacks(snapshot: Snapshot, terms: list[Term]) -> Mask:
    fits = np.ones(len(snapshot.samples.stack), np.bool_)
    for term in terms:
        found = allocating(snapshot, term)[snapshot.samples.stack]
        fits &= ~found if term.negated else found
    return fits


def _sums(snapshot: Snapshot, text: str) -> I64:
    """Return bytes and objects of each sample, ``int64[2, samples]``."""
    chosen, objects, of_samples = filters.chosen(snapshot, text), snapshot.objects, snapshot.samples.stack
    if chosen is None or objects.stack is None:
        raise TypeError("a filter of objects with stacks was expected")
    fits = chosen.mask(snapshot)
    values = np.stack((objects.shallow[fits].view(np.int64), np.ones(int(fits.sum()), np.int64)))
    by_stack = np.zeros((2, len(snapshot.stacks.node)), np.int64)
    add_by(np.ascontiguousarray(objects.stack[fits]), values, by_stack)
    # several samples may have the same frames
    stacks, first = np.unique(of_samples, return_index=True)
    sums = np.zeros((2, len(of_samples)), np.int64)
    sums[:, first] = by_stack[:, stacks]
    return sums
