"""The filter over a heap dump: which objects fit a text of terms.

The terms, and how they are written, are in :mod:`memlens.views.selection.language`.
"""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.kernels.graph import filtering as kernel
from memlens.model.timeline import NEVER
from memlens.store.objects.columns import FieldColumns, ReferenceColumns
from memlens.store.objects.moments import allocated_us
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.graph.halves import in_halves
from memlens.views.graph.hierarchy import extending, known_hierarchy
from memlens.views.graph.kinds import has_strength, named_by_code, string_types
from memlens.views.graph.modules import heaps, in_heap, of_modules
from memlens.views.graph.native import native_columns
from memlens.views.graph.on_stacks import on_stacks
from memlens.views.graph.packages import packages_of
from memlens.views.graph.plain_names import plain_term, plainly_named
from memlens.views.graph.reach import softly_reachable
from memlens.views.graph.realms import in_realm
from memlens.views.graph.retained import retained_set
from memlens.views.graph.rows import Numbers, plain_type_names, type_names
from memlens.views.graph.same_objects import also_in, check_files
from memlens.views.graph.types import instances_of
from memlens.views.selection.expressions import Expression
from memlens.views.selection.filters import (
    Term,
    bytes_of,
    compared,
    number_of,
    numbered,
    stacks_where,
    terms_of,
)
from memlens.views.selection.language import OBJECTS, fields_of
from memlens.views.selection.texts import Pattern, either_fits, fitting, pattern_of

Mask = npt.NDArray[np.bool_]

_TYPES = ("type", "package", "module", "kind", "extends")
_WITH_EXPRESSIONS = (
    "type",
    "package",
    "module",
    "extends",
    "held-by",
    "string",
    "name",
    "plain-name",
    "field",
)
"""Terms whose values may be regular expressions: ``string:/user-[0-9]+/i``."""
_AMOUNTS = ("retained", "shallow", "native", "native-retained", "distance")
FIELDS = (*fields_of(OBJECTS), "plain-name", "plain-word")
"""The last two are those of what objects are called where what they contain is left out."""
OF_STACKS = ("allocated-by", "stack")
"""Terms about the stacks that allocated objects."""

_MOST_SECONDS = 1e9
_SOFTLY = "softly-reachable"
_FEW = 16
"""Instances of types are looked up one type after another where they are a smaller part of all objects than that."""
_ID = re.compile(r"@?0x[0-9a-fA-F]{1,16}|@\d{1,20}")
"""An id or address as the view shows it; a number alone may be anything."""
_WORDS = {"unreachable": Term("is", ":", ("unreachable",)), "detached": Term("is", ":", ("detached",))}


ABOVE: dict[str, Callable[[Snapshot, Term], Mask]] = {}
"""Terms that only a layer above this one can answer: that adds them."""


class Chosen:
    """The objects that fit a filter: all of ``types`` where all terms are about types, else ``objects``.

    Those are then of ``types``, but not each of these has such objects.
    """

    def __init__(self, types: Mask, objects: Mask | None) -> None:
        self.types = types
        self.objects = objects

    def among(self, snapshot: Snapshot, numbers: Numbers) -> Mask:
        """Which of some objects fit."""
        if self.objects is not None:
            return self.objects[numbers]
        return self.types[snapshot.objects.type[numbers]]

    def mask(self, snapshot: Snapshot) -> Mask:
        """One item per object."""
        return of_each(snapshot.objects.type, self.types) if self.objects is None else self.objects


def of_each(numbers: Numbers, fits: Mask) -> Mask:
    """Whether what each of a column's numbers names fits."""
    found = np.empty(len(numbers), np.bool_)
    table, marks = fits.view(np.uint8), found.view(np.uint8)
    in_halves(
        len(numbers),
        lambda first, last: kernel.marked(numbers[first:last], table, marks[first:last]),
    )
    return found


def chosen(snapshot: Snapshot, text: str) -> Chosen | None:
    """The objects that fit all terms; None for an empty filter. Raises :class:`BadRequestError`."""
    terms = checked_terms(snapshot, text)
    return snapshot.keep(("graph filter", tuple(terms)), lambda: _chosen(snapshot, terms)) if terms else None


def chosen_without(snapshot: Snapshot, text: str, fields: tuple[str, ...]) -> Chosen | None:
    """The objects that fit all terms but those of some fields; None without others. Raises :class:`BadRequestError`."""
    terms = [term for term in checked_terms(snapshot, text) if term.field not in fields]
    return snapshot.keep(("graph filter", tuple(terms)), lambda: _chosen(snapshot, terms)) if terms else None


def checked_terms(snapshot: Snapshot, text: str) -> list[Term]:
    """The terms of a filter. Raises :class:`BadRequestError`."""
    terms = [_meant(term) for term in terms_of(text, FIELDS, _WITH_EXPRESSIONS)]
    for term in terms:
        _check(snapshot, term)
    return terms


def without_contents(text: str) -> str:
    """A filter that has the same terms, but in which what objects contain matches nothing.

    Raises :class:`BadRequestError` for one that is wrong, or that is about contents alone.
    """
    terms = [plain_term(_meant(term)) for term in terms_of(text, FIELDS, _WITH_EXPRESSIONS)]
    return " ".join(
        str(
            replace(term, values=tuple(without_contents(_keepers(value)) for value in term.values))
            if term.field == "retained-by"
            else term
        )
        for term in terms
    )


def queries_in(text: str) -> list[str]:
    """The queries that the terms ``query:`` of a filter have, as :func:`files_in` finds files."""
    return _values_in(text, "query")


def files_in(text: str) -> list[str]:
    """The files that the terms ``in:`` of a filter name, also those of filters within it. Of a wrong filter, none."""
    return _values_in(text, "in")


def _values_in(text: str, field: str) -> list[str]:
    try:
        terms = terms_of(text, FIELDS, _WITH_EXPRESSIONS)
    except BadRequestError:
        return []
    named = [value for term in terms if term.field == field for value in term.values]
    kept = [value for term in terms if term.field == "retained-by" for value in term.values]
    return named + [each for value in kept for each in _values_in(_keepers(value), field)]


def _meant(term: Term) -> Term:
    """A word that stands for a term."""
    if term.field == "id" or (not term.field and all(map(_ID.fullmatch, term.values))):
        values = tuple(value.removeprefix("@") for value in term.values)
        return Term("id", term.comparison, values, term.negated)
    if term.field or len(term.values) != 1 or term.values[0].casefold() not in _WORDS:
        return term
    meant = _WORDS[term.values[0].casefold()]
    return Term(meant.field, meant.comparison, meant.values, term.negated)


def _check(snapshot: Snapshot, term: Term) -> None:
    if term.comparison not in (":", "=") and term.field not in _AMOUNTS:
        raise BadRequestError(
            phrase(
                "'{term}' can't be compared with < or >: only {known} can",
                term=str(term),
                known=", ".join(_AMOUNTS),
            )
        )
    _patterns(term)
    if term.field in _AMOUNTS:
        _amounts(term)
    if term.field == "retained-by":
        for value in term.values:
            checked_terms(snapshot, _keepers(value))
    if term.field == "id":
        for value in term.values:
            number_of(value, str(term))
    if term.field == "stack":
        numbered(0, term)
    if term.field in OF_STACKS and snapshot.objects.stack is None:
        raise BadRequestError(
            phrase("'{term}': the heap dump doesn't say which stacks allocated its objects", term=str(term))
        )
    if term.field in _CHECKS:
        _CHECKS[term.field](snapshot, term)


def _states(snapshot: Snapshot, term: Term) -> None:
    softly = (_SOFTLY,) if has_strength(snapshot, "soft") else ()
    known = ("unreachable", *softly, "root", *snapshot.graph_names.flags)
    if not set(term.values) <= set(known):
        raise BadRequestError(
            phrase("'{term}': expected one of {known}", term=str(term), known=", ".join(known))
        )


def _chosen(snapshot: Snapshot, terms: list[Term]) -> Chosen:
    types = np.ones(len(snapshot.types.name), bool)
    for term in terms:
        if term.field in _TYPES:
            found = _of_types(snapshot, term)
            types &= ~found if term.negated else found
    others = [term for term in terms if term.field not in _TYPES]
    if not others:
        return Chosen(types, None)
    mask = None if types.all() else of_each(snapshot.objects.type, types)
    for term in others:
        found = _of_objects(snapshot, term)
        if term.negated:
            np.logical_not(found, out=found)
        mask = found if mask is None else np.logical_and(mask, found, out=mask)
    return Chosen(types, mask)


def _of_types(snapshot: Snapshot, term: Term) -> Mask:
    patterns = _patterns(term)
    if term.field == "extends":
        return extending(snapshot, patterns)
    if term.field == "package":
        packages = packages_of(snapshot)
        fits = np.array([any(p.matches(name) for p in patterns) for name in packages.names], bool)
        found: Mask = fits[packages.of_type]
        return found
    if term.field == "module":
        return of_modules(snapshot, term)
    if term.field == "kind":
        kinds = snapshot.graph_names.type_kinds
        fits = np.array([any(p.matches(name) for p in patterns) for name in kinds], bool)
        of_kinds: Mask = fits[snapshot.types.kind]
        return of_kinds
    return either_fits(patterns, type_names(snapshot), plain_type_names(snapshot))


def _of_objects(snapshot: Snapshot, term: Term) -> Mask:
    objects = snapshot.objects
    found: Mask
    match term.field:
        case "retained" | "shallow" | "native" | "native-retained":
            return compared(_sizes(snapshot, term.field).view(np.int64), term, _amounts(term))
        case "distance":
            found = _nearer(objects.distance, term)
            found &= objects.distance != NEVER
            return found
        case "id":
            return np.isin(
                objects.id, np.array([number_of(value, str(term)) for value in term.values], np.uint64)
            )
        case "since":
            found = allocated_us(objects, slice(None)) >= round(_seconds(snapshot, term) * 1e6)
            return found
        case "until":
            times = allocated_us(objects, slice(None))
            found = times < round(_seconds(snapshot, term) * 1e6)
            found &= times >= 0
            return found
        case "allocated-by" | "stack":
            stacks = snapshot.objects.stack
            if stacks is None:
                return np.zeros(len(objects.type), np.bool_)
            return of_each(stacks, allocating(snapshot, term))
        case "is" | "held-by" | "retained-by" | "field" | "thread" | "function" | "realm" | "heap" | "in":
            return _OWN[term.field](snapshot, term)
        case "finding" | "query":
            return ABOVE[term.field](snapshot, term)
        case "string":
            found = of_each(objects.type, _string_types(snapshot))
            found &= _named(snapshot, objects.name, term)
            return found
    return _by_name(snapshot, term)


def _by_name(snapshot: Snapshot, term: Term) -> Mask:
    """The objects of such a name; a word may also be of the type."""
    objects = snapshot.objects
    found = _named(snapshot, objects.name, term)
    if term.field in ("plain-name", "plain-word"):
        found = plainly_named(snapshot, found)
    if term.field not in ("name", "plain-name"):
        found |= of_each(objects.type, _of_types(snapshot, term))
    return found


def allocating(snapshot: Snapshot, term: Term) -> Mask:
    """Which stacks a term of :data:`OF_STACKS` is about."""
    about = Term("" if term.field == "allocated-by" else term.field, term.comparison, term.values)
    found = stacks_where(snapshot, about)
    if found is None:
        raise TypeError(f"{about} is not about stacks")
    return found


def _string_types(snapshot: Snapshot) -> Mask:
    """The types whose objects' names are strings' texts."""
    kinds = snapshot.graph_names.type_kinds
    texts: Mask = np.array(["string" in kind.lower() for kind in kinds], bool)[snapshot.types.kind]
    known = string_types(snapshot)
    texts |= np.array([name in known for name in plain_type_names(snapshot)])
    return texts


def _sizes(snapshot: Snapshot, field: str) -> npt.NDArray[np.uint64]:
    """An amount of bytes for each object."""
    match field:
        case "retained":
            return snapshot.objects.retained
        case "shallow":
            return snapshot.objects.shallow
    own, retained = native_columns(snapshot)
    sizes: npt.NDArray[np.uint64] = own if field == "native" else retained
    return sizes


def _nearer(distance: Numbers, term: Term) -> Mask:
    """Which distances are in the relation to some whole numbers that a term states, without a copy of the column."""
    amounts = [int(amount) for amount in _amounts(term)]
    found: Mask
    match term.comparison:
        case "<":
            found = distance < amounts[0]
        case "<=":
            found = distance <= amounts[0]
        case ">":
            found = distance > amounts[0]
        case ">=":
            found = distance >= amounts[0]
        case _:
            found = np.zeros(len(distance), np.bool_)
            for amount in amounts:
                found |= distance == amount
    return found


def _named(snapshot: Snapshot, column: Numbers, term: Term) -> Mask:
    return of_each(column, _texts(snapshot, term))


def _texts(snapshot: Snapshot, term: Term) -> Mask:
    """Which strings fit one of a term's values."""
    return snapshot.keep(
        ("strings that fit", term.field in _WITH_EXPRESSIONS, term.values),
        lambda: fitting(snapshot.strings, _patterns(term), snapshot.work),
    )


def _patterns(term: Term) -> list[Pattern | Expression]:
    return [pattern_of(value) if term.field in _WITH_EXPRESSIONS else Pattern(value) for value in term.values]


def _in_state(snapshot: Snapshot, term: Term) -> Mask:
    objects, labels = snapshot.objects, snapshot.graph_names
    found = np.zeros(len(objects.type), bool)
    for state in term.values:
        if state == "unreachable":
            found |= objects.distance == NEVER
        elif state == _SOFTLY:
            found |= softly_reachable(snapshot)
        elif state == "root":
            found[objects.roots["object"]] = True
        elif objects.flags is not None:
            found |= (objects.flags >> labels.flags.index(state) & 1).astype(bool)
    return found


def _held_by(snapshot: Snapshot, term: Term) -> Mask:
    """Groups of the compact tree have the same types above them as each of their objects has dominators."""
    compact = snapshot.compact
    wanted = np.append(_of_types(snapshot, Term("type", ":", term.values)), False)
    own = wanted[np.minimum(compact.type, len(wanted) - 1)]
    below = np.empty(len(own), np.bool_)
    kernel.handed_down(compact.parent, own.view(np.uint8), below.view(np.uint8))
    return of_each(snapshot.objects.group, below)


def _retained_by(snapshot: Snapshot, term: Term) -> Mask:
    """What nothing would hold without some objects, these included."""
    parts = [_numbers(snapshot, chosen(snapshot, _keepers(value))) for value in term.values]
    return retained_set(snapshot, np.concatenate(parts))


def _numbers(snapshot: Snapshot, found: Chosen | None) -> Numbers:
    """The objects that fit a filter by their numbers, in any order; all without one."""
    if found is None:
        return np.arange(len(snapshot.objects.type))
    kinds = np.flatnonzero(found.types).tolist()
    few = len(snapshot.objects.type) // _FEW
    if found.objects is None and int(np.diff(snapshot.types.instance_start)[found.types].sum()) < few:
        # which are stored by type
        return np.concatenate([np.zeros(0, np.uint32), *(instances_of(snapshot, kind) for kind in kinds)])
    return np.flatnonzero(found.mask(snapshot))


def _keepers(value: str) -> str:
    """The filter that a value of ``retained-by:`` stands for: itself if it is one or an id, else that for a type."""
    if not value.startswith("=") and (_ID.fullmatch(value) or re.search("[:<>]", value)):
        return value
    quoted = re.sub(r'(["\\])', r"\\\1", value)
    return f'type:"{quoted}"'


def _with_field(snapshot: Snapshot, term: Term) -> Mask:
    """References and fields are looked through by a thread for each half of the objects."""
    stored, fields = snapshot.references, snapshot.fields
    fits = _texts(snapshot, term).view(np.uint8)
    found = np.zeros(len(snapshot.objects.type), np.bool_)
    if not fits.any():
        return found
    marks, by_text = found.view(np.uint8), named_by_code(snapshot).view(np.uint8)
    rows = [(stored.unchecked(ReferenceColumns.start), stored.name, stored.kind)]
    if fields is not None:
        start, name = fields.unchecked(FieldColumns.start), fields.unchecked(FieldColumns.name)
        rows.append((start, name, np.empty(0, np.uint8)))
    with ThreadPoolExecutor(2) as pool:
        for start, name, kind in rows:
            # so that both have about as many rows; of another type NumPy would convert the whole column
            half = int(np.searchsorted(start, start[-1] // start.dtype.type(2)))
            halves = [
                pool.submit(kernel.having, start, name, kind, by_text, fits, first, last, marks)
                for first, last in ((0, half), (half, len(found)))
            ]
            for each in halves:
                each.result()
    return found


def _seconds(snapshot: Snapshot, term: Term) -> float:
    if not len(snapshot.objects.moments):
        raise BadRequestError(
            phrase("'{term}': the heap dump doesn't say when its objects were allocated", term=str(term))
        )
    try:
        seconds = [float(value) for value in term.values]
    except ValueError:
        seconds = []
    if len(seconds) != 1 or not 0 <= seconds[0] <= _MOST_SECONDS:
        raise BadRequestError(
            phrase("'{term}': expected seconds since the start of the recording", term=str(term))
        )
    return seconds[0]


def _amounts(term: Term) -> list[float]:
    if term.comparison not in (":", "=") and len(term.values) > 1:
        raise BadRequestError(phrase("'{term}' is compared with more than one value", term=str(term)))
    if term.field == "distance":
        return [float(number_of(value, str(term))) for value in term.values]
    return [bytes_of(value, str(term)) for value in term.values]


_OWN: dict[str, Callable[[Snapshot, Term], Mask]] = {
    "is": _in_state, "held-by": _held_by, "retained-by": _retained_by, "field": _with_field, "thread": on_stacks,
    "function": on_stacks, "realm": in_realm, "heap": in_heap, "in": also_in,
}  # fmt: skip
"""Terms that a function of their own answers."""
_CHECKS: dict[str, Callable[[Snapshot, Term], object]] = {
    "extends": lambda snapshot, _: known_hierarchy(snapshot), "heap": heaps, "in": check_files, "is": _states,
    "module": of_modules, "since": _seconds, "until": _seconds,
}  # fmt: skip
"""Terms whose values are looked up before anything is evaluated."""
