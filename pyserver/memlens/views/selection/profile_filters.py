"""The filter for profiles: the terms of :mod:`memlens.views.selection.filters` that apply to samples.

The allocations of a heap dump are samples, too, and have the filter of its objects.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.selection import filters
from memlens.views.selection.filters import Term
from memlens.views.selection.profile_sets import SampleColumns, columns_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.texts import Pattern

Mask = npt.NDArray[np.bool_]


class ObjectFilter(NamedTuple):
    """How the filter of a heap dump's objects narrows its allocations."""

    narrowed: Callable[[Snapshot, AllocationSet], SampleColumns]
    """A set's figures of each sample, of the objects that fit the set's filter."""
    fitting: Callable[[Snapshot, str], Mask]
    """The samples that a filter leaves whole."""


ABOVE: dict[Literal["objects"], ObjectFilter] = {}
"""Only a layer above this one knows objects: that adds it."""


def narrowed_columns(snapshot: Snapshot, of: AllocationSet) -> SampleColumns:
    """A set's figures of each sample, as far as its filter leaves them. Raises :class:`BadRequestError`."""
    columns = columns_of(snapshot, of)
    if not of.filter:
        return columns
    if isinstance(snapshot.info, GraphInfo):
        return ABOVE["objects"].narrowed(snapshot, of)
    return columns._replace(present=columns.present & matching(snapshot, of.filter))


def matching(snapshot: Snapshot, text: str) -> Mask:
    """The samples that match all terms of a filter. Raises :class:`BadRequestError` for terms about events."""
    if isinstance(snapshot.info, GraphInfo):
        return ABOVE["objects"].fitting(snapshot, text)
    stacks = snapshot.samples.stack
    mask = np.ones(len(stacks), bool)
    for term in filters.parse(text):
        found = _of_samples(snapshot, term, stacks)
        mask &= ~found if term.negated else found
    return mask


def _of_samples(snapshot: Snapshot, term: Term, stacks: npt.NDArray[np.uint32]) -> Mask:
    if term.field == "label":
        return _labelled(snapshot, term)
    if term.field == "size":
        if not profile_of(snapshot.info).has_sizes:
            raise BadRequestError(phrase("'{term}': the profile has no block sizes", term=str(term)))
        return filters.sizes_where(snapshot.samples.size, term)
    of_stacks = filters.stacks_where(snapshot, term)
    if of_stacks is None:
        raise BadRequestError(
            phrase("'{term}': a profile doesn't record that", term=str(term)),
            advice=phrase(
                "Use plain words, file:, function:, by:, innermost:, stack:, label:, size and is:native."
            ),
        )
    return of_stacks[stacks]


def _labelled(snapshot: Snapshot, term: Term) -> Mask:
    """``label:worker`` matches a part of any label's text, ``label:thread:worker`` of that of the label "thread"."""
    labels = snapshot.samples.labels
    strings = snapshot.strings.some(np.concatenate((labels["key"], labels["text"])))
    mask = np.zeros(len(snapshot.samples.stack), bool)
    patterns = [Pattern(value) for value in term.values]
    for key, text, number in np.unique(labels[["key", "text", "number"]]).tolist():
        name = strings[key]
        value = strings[text] if text else str(number)
        if any(pattern.matches(value) or pattern.matches(f"{name}:{value}") for pattern in patterns):
            fits = (labels["key"] == key) & (labels["text"] == text) & (labels["number"] == number)
            mask[labels["sample"][fits]] = True
    return mask
