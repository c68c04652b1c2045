"""The terms of the filter over a heap dump.

A row of :data:`OBJECTS` declares all of a term: its syntax, its help in the view and the docs, what it matches, and
what to suggest if it matches nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from memlens.arrays import U64, Mask
from memlens.packs import registry
from memlens.packs.api import Part
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.heap.filters import masks
from memlens.views.heap.filters.modules import heaps, in_heap, of_modules
from memlens.views.heap.filters.threads import on_stacks
from memlens.views.heap.objects.hierarchy import known_hierarchy
from memlens.views.heap.objects.native_memory import native_columns
from memlens.views.heap.objects.realms import in_realm
from memlens.views.heap.objects.same_objects import also_in, check_files
from memlens.views.selection.filters import stacks_where
from memlens.views.selection.language import EXCLUDES, Entry
from memlens.views.selection.terms import Term

NO_TEXT = phrase("No name or text in the file contains it.")
_FILTERS = "memlens.views.heap.filters.filters"

Finds = Callable[[Snapshot, Term], Mask]


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTerm:
    """A term about objects. It has one of the functions that find something."""

    field: str
    """Its name; empty for words."""
    entries: tuple[Entry, ...] = ()
    """Its help and completion: several if it can be written in several ways, none if only Memlens writes it."""
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
    """A suggestion that would match instead."""


def _later(place: str) -> Finds:
    """Return a function of a higher layer, imported when the term is used."""
    part: Part[Finds] = Part(place)

    def find(snapshot: Snapshot, term: Term) -> Mask:
        return part.load()(snapshot, term)

    return find


def _sizes(field: str, finds: str, column: Callable[[Snapshot], U64], example: str = "1MiB") -> ObjectTerm:
    return ObjectTerm(
        field=field,
        entries=(Entry(f"{field}>", finds, (f"{field}>{example}",)),),
        objects=lambda snapshot, term: masks.sized(column(snapshot), term),
        is_amount=True,
        check=lambda _, term: masks.sizes_in(term),
        hint=lambda snapshot, _: masks.largest(column(snapshot)),
    )


def _of_packs(field: str) -> tuple[Entry, ...]:
    """Return the help of packs for a term that only their dumps support."""
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
    _sizes("retained", "what it retains", lambda snapshot: snapshot.objects.retained),
    _sizes("shallow", "its own bytes", lambda snapshot: snapshot.objects.shallow, "1KiB"),
    _sizes("native", "memory outside of the heap that it owns", lambda snapshot: native_columns(snapshot)[0]),
    _sizes("native-retained", "what it retains of that", lambda snapshot: native_columns(snapshot)[1]),
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
        objects=_later(f"{_FILTERS}:retained_by"), check=_later(f"{_FILTERS}:check_keepers"), hint=masks.types_there,
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
        hint=lambda _, __: phrase("No object in the file has it."),
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
WITH_EXPRESSIONS = tuple(term.field for term in OBJECTS if term.has_expressions)
ENTRIES = (
    *(entry._replace(models=("graph",)) for term in OBJECTS for entry in term.entries),
    Entry("-", EXCLUDES, ("-unreachable",), "", ("graph",)),
)
"""How all of them are written and described."""
