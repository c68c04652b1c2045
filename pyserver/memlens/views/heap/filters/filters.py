"""The filter over a heap dump: which objects fit a text of terms.

A term about objects is a row of :data:`OBJECTS`, and nothing else: how it is written, what the page and the view say of
it, what it finds, and what would match where it finds nothing.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.packs import registry
from memlens.packs.api import Part
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.heap.filters import masks
from memlens.views.heap.filters.masks import of_each
from memlens.views.heap.filters.modules import heaps, in_heap, of_modules
from memlens.views.heap.filters.threads import on_stacks
from memlens.views.heap.objects.hierarchy import known_hierarchy
from memlens.views.heap.objects.native_memory import native_columns
from memlens.views.heap.objects.plain_names import plain_term
from memlens.views.heap.objects.realms import in_realm
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.objects.same_objects import also_in, check_files
from memlens.views.heap.objects.types import instances_of
from memlens.views.heap.retained.by_objects import retained_set
from memlens.views.selection.filters import stacks_where
from memlens.views.selection.language import EXCLUDES, Entry
from memlens.views.selection.terms import Term, terms_of

_FEW = 16
"""Instances of types are looked up one type after another where they are a smaller part of all objects than that."""
_ID = re.compile(r"@?0x[0-9a-fA-F]{1,16}|@\d{1,20}")
"""An id or address as the view shows it; a number alone may be anything."""
_WORDS = {"unreachable": Term("is", ":", ("unreachable",)), "detached": Term("is", ":", ("detached",))}
NO_TEXT = phrase("No name or text of the file has that in it.")

Finds = Callable[[Snapshot, Term], Mask]


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTerm:
    """A term about objects. It has one of the functions that find something."""

    field: str
    """Its name; empty for words."""
    entries: tuple[Entry, ...] = ()
    """How it is written and described: several where it is offered in several ways, none for what Memlens writes."""
    types: Finds | None = None
    """The types whose objects it finds; one item per type."""
    objects: Finds | None = None
    """The objects that it finds; one item per object."""
    stacks: Callable[[Snapshot, Term], Mask | None] | None = None
    """The stacks whose objects it finds; one item per stack."""
    check: Callable[[Snapshot, Term], object] = lambda _snapshot, _term: None
    """Raises :class:`BadRequestError` for a wrong value, before anything is evaluated."""
    has_expressions: bool = False
    """Whether its values may be regular expressions: ``string:/user-[0-9]+/i``."""
    is_amount: bool = False
    """Whether it is compared with ``<`` and ``>``."""
    takes_long: bool = False
    """Whether it may visit the whole dump, so that no other question should wait for it."""
    hint: Callable[[Snapshot, Term], Text | None] = lambda _snapshot, _term: None
    """What would match instead."""


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


def chosen(snapshot: Snapshot, text: str) -> Chosen | None:
    """The objects that fit all terms; None for an empty filter. Raises :class:`BadRequestError`."""
    terms = checked_terms(snapshot, text)
    return _chosen(snapshot, tuple(terms)) if terms else None


def chosen_without(snapshot: Snapshot, text: str, fields: tuple[str, ...]) -> Chosen | None:
    """The objects that fit all terms but those of some fields; None without others. Raises :class:`BadRequestError`."""
    terms = [term for term in checked_terms(snapshot, text) if term.field not in fields]
    return _chosen(snapshot, tuple(terms)) if terms else None


def checked_terms(snapshot: Snapshot, text: str) -> list[Term]:
    """The terms of a filter. Raises :class:`BadRequestError`."""
    terms = [_meant(term) for term in _parsed(text)]
    for term in terms:
        _check(snapshot, term)
    return terms


def _parsed(text: str) -> list[Term]:
    return terms_of(text, FIELDS, _WITH_EXPRESSIONS)


def without_contents(text: str) -> str:
    """A filter that has the same terms, but in which what objects contain matches nothing.

    Raises :class:`BadRequestError` for one that is wrong, or that is about contents alone.
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
    """The queries that the terms ``query:`` of a filter have, as :func:`files_in` finds files."""
    return _values_in(text, "query")


def files_in(text: str) -> list[str]:
    """The files that the terms ``in:`` of a filter name, also those of filters within it. Of a wrong filter, none."""
    return _values_in(text, "in")


def takes_long(text: str) -> bool:
    """Whether a filter has a term that may visit the whole dump. A wrong filter has none."""
    return any(TERMS[term.field].takes_long for term in _terms_in(text))


def _values_in(text: str, field: str) -> list[str]:
    return [value for term in _terms_in(text) if term.field == field for value in term.values]


def _terms_in(text: str) -> Iterator[Term]:
    """The terms of a filter, then those of filters within it; none of a wrong one."""
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
    """A word that stands for a term."""
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
    """Which stacks a term is about that :func:`is_of_stacks`."""
    find = TERMS[term.field].stacks
    found = None if find is None else find(snapshot, term)
    if found is None:
        raise TypeError(f"{term} is not about stacks")
    return found


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


def _check_keepers(snapshot: Snapshot, term: Term) -> None:
    for value in term.values:
        checked_terms(snapshot, _keepers(value))


def _later(place: str) -> Finds:
    """What a higher layer finds, which is imported when the term is used."""
    part: Part[Finds] = Part(place)

    def find(snapshot: Snapshot, term: Term) -> Mask:
        return part.load()(snapshot, term)

    return find


def _of_packs(field: str) -> tuple[Entry, ...]:
    """How packs describe a term that only their dumps have something for."""
    terms = dict.fromkeys(
        term
        for form in registry.formats().values()
        if form.objects is not None
        for term in form.objects.terms
    )
    entries = (Entry(each.begins, each.finds, each.examples, each.note) for each in terms)
    return tuple(entry for entry in entries if entry.field == field)


OBJECTS = (
    ObjectTerm(
        field="", entries=(Entry("", "its type or its own name has each of the words", ("Session cache",)),),
        objects=masks.words, hint=masks.types_there,
    ),
    ObjectTerm(
        field="type", entries=(Entry("type:", "the type", ("type:HashMap", 'type:"=shop.Order"')),),
        types=masks.named_types, has_expressions=True, hint=masks.types_there,
    ),
    ObjectTerm(
        field="extends",
        entries=(Entry("extends:", "a class and all below it", ("extends:AbstractMap", 'extends:"=app.Shape"')),),
        types=masks.extending_types, has_expressions=True, check=lambda snapshot, _: known_hierarchy(snapshot),
        hint=masks.types_there,
    ),
    ObjectTerm(
        field="package", entries=(Entry("package:", "its package or namespace", ("package:com.example",)),),
        types=masks.in_package, has_expressions=True, hint=masks.packages_there,
    ),
    ObjectTerm(
        field="module",
        entries=(
            Entry(
                "module:", "its assembly, module or class loader",
                ("module:WebappClassLoader", "module:boot", "module:none"),
            ),
        ),
        types=of_modules, has_expressions=True, check=of_modules,
    ),
    ObjectTerm(
        field="heap", entries=_of_packs("heap"),
        objects=in_heap, check=heaps,
    ),
    ObjectTerm(
        field="kind", entries=(Entry("kind:", "the kind of its type", ("kind:array", "kind:closure")),),
        types=masks.of_kind, hint=masks.kinds_there,
    ),
    ObjectTerm(
        field="retained", entries=(Entry("retained>", "what it retains", ("retained>1MiB",)),),
        objects=masks.retained, is_amount=True, check=lambda _, term: masks.sizes_in(term),
        hint=lambda snapshot, _: masks.largest(snapshot.objects.retained),
    ),
    ObjectTerm(
        field="shallow", entries=(Entry("shallow>", "its own bytes", ("shallow>1KiB",)),),
        objects=masks.shallow, is_amount=True, check=lambda _, term: masks.sizes_in(term),
        hint=lambda snapshot, _: masks.largest(snapshot.objects.shallow),
    ),
    ObjectTerm(
        field="native", entries=(Entry("native>", "memory outside of the heap that it owns", ("native>1MiB",)),),
        objects=masks.native, is_amount=True, check=lambda _, term: masks.sizes_in(term),
        hint=lambda snapshot, _: masks.largest(native_columns(snapshot)[0]),
    ),
    ObjectTerm(
        field="native-retained",
        entries=(Entry("native-retained>", "what it retains of that", ("native-retained>1MiB",)),),
        objects=masks.native_retained, is_amount=True, check=lambda _, term: masks.sizes_in(term),
        hint=lambda snapshot, _: masks.largest(native_columns(snapshot)[1]),
    ),
    ObjectTerm(
        field="distance", entries=(Entry("distance<", "references from a root", ("distance<5",)),),
        objects=masks.distance, is_amount=True, check=lambda _, term: masks.distances_in(term),
    ),
    ObjectTerm(
        field="string",
        entries=(Entry("string:", "a string with this text", ('string:"user-1"', "string:/user-[0-9]+/")),),
        objects=masks.string, has_expressions=True, hint=lambda _, __: NO_TEXT,
    ),
    ObjectTerm(
        field="name", entries=(Entry("name:", "its own name", ("name:onTick",)),),
        objects=masks.named, has_expressions=True, hint=lambda _, __: NO_TEXT,
    ),
    ObjectTerm(
        field="field", entries=(Entry("field:", "it has such a field", ("field:session",)),),
        objects=masks.with_field, has_expressions=True, hint=masks.fields_there,
    ),
    ObjectTerm(
        field="held-by", entries=(Entry("held-by:", "what dominates it", ("held-by:Cache",)),),
        objects=masks.held_by, has_expressions=True, hint=masks.types_there,
    ),
    ObjectTerm(
        field="retained-by",
        entries=(
            Entry(
                "retained-by:", "what only these keep alive, with them",
                ("retained-by:Cache", 'retained-by:"is:detached"'),
            ),
        ),
        objects=_retained_by, check=_check_keepers, hint=masks.types_there,
    ),
    ObjectTerm(
        field="thread", entries=(Entry("thread:", "a thread, or what its variables refer to", ("thread:main",)),),
        objects=on_stacks, hint=masks.threads_there,
    ),
    ObjectTerm(
        field="function",
        entries=(Entry("function:", "what the variables of a function refer to", ("function:grow",)),),
        objects=on_stacks,
    ),
    ObjectTerm(
        field="realm", entries=_of_packs("realm"),
        objects=in_realm,
    ),
    ObjectTerm(
        field="allocated-by",
        entries=(Entry("allocated-by:", "a function or file of its allocation stack", ("allocated-by:cache.js:12",)),),
        stacks=lambda snapshot, term: stacks_where(snapshot, replace(term, field="", negated=False)),
        check=masks.check_stacks,
    ),
    ObjectTerm(
        field="stack", entries=(Entry("stack:", "allocated by stacks of those numbers", ("stack:12,20-25",)),),
        stacks=stacks_where, check=masks.check_stack_numbers,
    ),
    ObjectTerm(
        field="finding", entries=(Entry("finding:", "a finding is about it", ('finding:"Duplicate strings"',)),),
        takes_long=True, objects=_later("memlens.views.findings.filtering:objects_of"),
    ),
    ObjectTerm(
        field="in", entries=_of_packs("in"), objects=also_in, check=check_files,
    ),
    ObjectTerm(
        field="query",
        entries=(
            Entry("query:", "the rows of a query name it", ("query:\"SELECT target FROM refs WHERE name = 'cart'\"",) ),
        ),
        objects=_later("memlens.views.sql.filtering:objects_of"),
    ),
    ObjectTerm(
        field="since",
        entries=(Entry("since:", "allocated once a recording had run that many seconds", ("since:2.5",)),),
        objects=masks.since, check=masks.seconds_in,
    ),
    ObjectTerm(
        field="until",
        entries=(Entry("until:", "allocated before a recording had run that many seconds", ("until:4",)),),
        objects=masks.until, check=masks.seconds_in,
    ),
    ObjectTerm(
        field="id",
        entries=(
            Entry("id:", "its id or address in the file", ("id:5143",), "0x7f3a20000000 and @5143 alone mean the same"),
        ),
        objects=masks.with_id, check=lambda _, term: masks.numbers_in(term),
        hint=lambda _, __: phrase("No object of the file has it."),
    ),
    ObjectTerm(
        field="is",
        entries=(
            Entry("is:root", "a root"),
            Entry("is:unreachable", "no root reaches it", (), "unreachable alone means the same"),
            *_of_packs("is"),
        ),
        objects=masks.in_state, check=masks.check_states,
    ),
    ObjectTerm(
        field="plain-name", objects=masks.plain_named, has_expressions=True,
    ),
    ObjectTerm(
        field="plain-word", objects=masks.plain_words,
    ),
)  # fmt: skip
"""The terms about objects of a heap dump, in the order in which they are listed.

``is:`` also takes the other flags that a file has.
"""
TERMS = {term.field: term for term in OBJECTS}
FIELDS = tuple(field for field in TERMS if field)
_WITH_EXPRESSIONS = tuple(term.field for term in OBJECTS if term.has_expressions)
ENTRIES = (
    *(entry._replace(models=("graph",)) for term in OBJECTS for entry in term.entries),
    Entry("-", EXCLUDES, ("-unreachable",), "", ("graph",)),
)
"""How all of them are written and described."""
