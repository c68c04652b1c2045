"""The filter over a heap dump: which objects fit a text of terms.

Its terms are rows of :data:`~memlens.views.heap.filters.terms.OBJECTS`.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.filters import masks
from memlens.views.heap.filters.masks import of_each
from memlens.views.heap.filters.terms import FIELDS, OBJECTS, TERMS, WITH_EXPRESSIONS
from memlens.views.heap.objects.plain_names import plain_term
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.objects.types import instances_of
from memlens.views.heap.retained.by_objects import retained_set
from memlens.views.selection.terms import Term, terms_of

_FEW = 16
"""Instances are looked up type by type if they are less than 1/16 of all objects."""
_ID = re.compile(r"@?0x[0-9a-fA-F]{1,16}|@\d{1,20}")
"""An id or address as the view shows it; a number alone may be anything."""
_WORDS = {"unreachable": Term("is", ":", ("unreachable",)), "detached": Term("is", ":", ("detached",))}


class Chosen:
    """The objects that fit a filter: all of ``types`` where all terms are about types, else ``objects``.

    ``types`` then has all their types, and perhaps others.
    """

    def __init__(self, types: Mask, objects: Mask | None) -> None:
        self.types = types
        self.objects = objects

    def among(self, snapshot: Snapshot, numbers: Numbers) -> Mask:
        """Return a mask of the given objects: those that match."""
        if self.objects is not None:
            return self.objects[numbers]
        return self.types[snapshot.objects.type[numbers]]

    def mask(self, snapshot: Snapshot) -> Mask:
        """A mask of all objects that match."""
        return of_each(snapshot.objects.type, self.types) if self.objects is None else self.objects


def chosen(snapshot: Snapshot, text: str, leaving_out: tuple[str, ...] = ()) -> Chosen | None:
    """The objects that match all terms except those of some fields; None if there are no other terms.

    Raises :class:`BadRequestError`.
    """
    terms = tuple(term for term in checked_terms(snapshot, text) if term.field not in leaving_out)
    return _chosen(snapshot, terms) if terms else None


def checked_terms(snapshot: Snapshot, text: str) -> list[Term]:
    """The terms of a filter. Raises :class:`BadRequestError`."""
    terms = [_meant(term) for term in _parsed(text)]
    for term in terms:
        _check(snapshot, term)
    return terms


def _parsed(text: str) -> list[Term]:
    return terms_of(text, FIELDS, WITH_EXPRESSIONS)


def without_contents(text: str) -> str:
    """Return a filter with the same terms, in which contents of objects match nothing.

    Raises :class:`BadRequestError` for an invalid filter, or one about contents only.
    """
    terms = [plain_term(_meant(term)) for term in _parsed(text)]
    return " ".join(
        str(
            replace(term, values=tuple(without_contents(_keepers(value)) for value in term.values))
            if term.field == "retained-by"
            else term
        )
        for term in terms
    )


def queries_in(text: str) -> list[str]:
    """Return the queries in the ``query:`` terms of a filter, including filters nested in it; none if it is invalid."""
    return _values_in(text, "query")


def files_in(text: str) -> list[str]:
    """Return the files in the ``in:`` terms of a filter, including filters nested in it; none if it is invalid."""
    return _values_in(text, "in")


def takes_long(text: str) -> bool:
    """Whether a filter has a term that may visit the whole dump; False if it is invalid."""
    return any(TERMS[term.field].takes_long for term in _terms_in(text))


def _values_in(text: str, field: str) -> list[str]:
    return [value for term in _terms_in(text) if term.field == field for value in term.values]


def _terms_in(text: str) -> Iterator[Term]:
    """Yield the terms of a filter, then those of filters nested in it; none if it is invalid."""
    try:
        terms = _parsed(text)
    except BadRequestError:
        return
    yield from terms
    for term in terms:
        if term.field == "retained-by":
            for value in term.values:
                yield from _terms_in(_keepers(value))


def _meant(term: Term) -> Term:
    """Return the term that a word such as ``detached`` or an id stands for; other terms unchanged."""
    if term.field == "id" or (not term.field and all(map(_ID.fullmatch, term.values))):
        values = tuple(value.removeprefix("@") for value in term.values)
        return Term("id", term.comparison, values, term.negated)
    if term.field or len(term.values) != 1 or term.values[0].casefold() not in _WORDS:
        return term
    meant = _WORDS[term.values[0].casefold()]
    return Term(meant.field, meant.comparison, meant.values, term.negated)


def _check(snapshot: Snapshot, term: Term) -> None:
    row = TERMS[term.field]
    if term.comparison not in (":", "=") and not row.is_amount:
        raise BadRequestError(
            phrase(
                "'{term}' can't be compared with < or >: only {known} can",
                term=str(term),
                known=", ".join(each.field for each in OBJECTS if each.is_amount),
            )
        )
    if row.has_expressions:
        masks.expressions(term)
    row.check(snapshot, term)


@kept
def _chosen(snapshot: Snapshot, terms: tuple[Term, ...]) -> Chosen:
    types = np.ones(len(snapshot.types.name), bool)
    others = list[Term]()
    for term in terms:
        of_types = TERMS[term.field].types
        if of_types is None:
            others.append(term)
            continue
        found = of_types(snapshot, term)
        types &= ~found if term.negated else found
    if not others:
        return Chosen(types, None)
    mask = None if types.all() else of_each(snapshot.objects.type, types)
    for term in others:
        found = _of_objects(snapshot, term)
        if term.negated:
            np.logical_not(found, out=found)
        mask = found if mask is None else np.logical_and(mask, found, out=mask)
    return Chosen(types, mask)


def _of_objects(snapshot: Snapshot, term: Term) -> Mask:
    find = TERMS[term.field].objects
    if find is not None:
        return find(snapshot, term)
    stacks = snapshot.objects.stack
    if stacks is None:
        return np.zeros(len(snapshot.objects.type), np.bool_)
    return of_each(stacks, allocating(snapshot, term))


def is_of_stacks(term: Term) -> bool:
    """Whether a term is about the stacks that allocated objects."""
    return TERMS[term.field].stacks is not None


def allocating(snapshot: Snapshot, term: Term) -> Mask:
    """The stacks that match a term of :func:`is_of_stacks`."""
    find = TERMS[term.field].stacks
    found = None if find is None else find(snapshot, term)
    if found is None:
        raise TypeError(f"{term} is not about stacks")
    return found


def retained_by(snapshot: Snapshot, term: Term) -> Mask:
    """Return a mask of the objects that match the filter in a ``retained-by:`` term, and of all that these retain."""
    parts = [_numbers(snapshot, chosen(snapshot, _keepers(value))) for value in term.values]
    return retained_set(snapshot, np.concatenate(parts))


def _numbers(snapshot: Snapshot, found: Chosen | None) -> Numbers:
    """Return the numbers of the objects that match a filter, in any order; all objects without a filter."""
    if found is None:
        return np.arange(len(snapshot.objects.type))
    kinds = np.flatnonzero(found.types).tolist()
    few = len(snapshot.objects.type) // _FEW
    if found.objects is None and int(np.diff(snapshot.types.instance_start)[found.types].sum()) < few:
        # instances are stored by type
        return np.concatenate([np.zeros(0, np.uint32), *(instances_of(snapshot, kind) for kind in kinds)])
    return np.flatnonzero(found.mask(snapshot))


def _keepers(value: str) -> str:
    """Return the filter in a value of ``retained-by:``: the value itself if it is a filter or an id, else ``type:``."""
    if not value.startswith("=") and (_ID.fullmatch(value) or re.search("[:<>]", value)):
        return value
    quoted = re.sub(r'(["\\])', r"\\\1", value)
    return f'type:"{quoted}"'


def check_keepers(snapshot: Snapshot, term: Term) -> None:
    """Raise :class:`BadRequestError` for an invalid filter in a ``retained-by:`` term."""
    for value in term.values:
        checked_terms(snapshot, _keepers(value))
