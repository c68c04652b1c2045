"""The filter for profiles: the terms of :mod:`memlens.views.selection.filters` that apply to samples."""

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.selection import filters
from memlens.views.selection.filters import Term
from memlens.views.selection.texts import Pattern

Mask = npt.NDArray[np.bool_]


def matching(snapshot: Snapshot, text: str) -> Mask:
    """The samples that match all terms of a filter. Raises :class:`BadRequestError` for terms about events."""
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
