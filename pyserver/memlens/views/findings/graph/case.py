"""The input of the rules for heap dumps: objects, their types and holders, and figures of sets of objects."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from memlens.arrays import Mask
from memlens.kernels.graph.filtering import rows_named
from memlens.model.distinct import counted, distinct, first_equal
from memlens.model.frames import USER
from memlens.model.graph import NONE
from memlens.model.info import GraphInfo
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.packs.api import Objects
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import plain_name, shortened
from memlens.views.findings.answers import Figure, FigureKind, LineLink, ObjectsLink, TextPart
from memlens.views.findings.writing import linked, text_in_sql
from memlens.views.heap.objects.definitions import places_of
from memlens.views.heap.objects.reference_kinds import kinds_where, named_by_code, named_by_text
from memlens.views.heap.objects.references import first_references
from memlens.views.heap.objects.rows import (
    Numbers,
    ObjectRow,
    id_text,
    object_rows,
    plain_type_names,
    type_names,
)
from memlens.views.heap.objects.types import instances_of
from memlens.views.heap.reachable.dominators import reached
from memlens.views.heap.retained.by_objects import retained_by

LEAST_SHARE, LEAST_BYTES = 0.01, 32 << 10
_LEAST_OF_COMPONENT = 1 << 10
_MOST_COMPARED = 50
_MOST_NAME = 60

RUNTIME_KINDS = ("synthetic", "root", "code", "object shape", "hidden")
"""Kinds of types whose objects are the engine's, and none of the program's."""
_MODULE = re.compile(r"\s\(.*\)$")
_ENGINE_TYPE = re.compile(r"\((?:imemo )?([a-z][a-z ]*)\)")
"""Engines' names for types of objects without a class: ``(compiled code)``, ``(array)``, ``(imemo env)``."""
_PLAIN_TYPES = frozenset((
    "bigint", "class without a name", "compiled code", "concatenated string", "number", "object shape", "regexp",
    "sliced string", "string", "symbol",
))  # fmt: skip
"""Those of these names that are clear by themselves."""


@cache
def _type_notes() -> list[re.Pattern[str]]:
    return [objects.classes.note for _, objects in registry.all_objects() if objects.classes.note is not None]


@cache
def _class_types() -> frozenset[str]:
    """The types of classes, which have names."""
    return frozenset[str]().union(*(objects.classes.types for _, objects in registry.all_objects()))


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a heap dump to which rules are restricted: what some objects retain."""

    has: Mask
    """One item per object."""
    bytes: int


@dataclass(frozen=True, slots=True)
class GraphCase:
    """A heap dump, or a component of it."""

    snapshot: Snapshot
    info: GraphInfo
    component: Component | None = None
    compared_with: int | None = None
    """When findings of another dump are searched here: at most the reachable bytes of the smaller dump. Findings too
    small for this dump alone are then found as well."""

    @property
    def known(self) -> Objects:
        """What the pack of the dump's format declares about its objects."""
        return registry.objects_of(self.info.kind)

    def is_global(self, name: str) -> bool:
        """Whether a name is that of a global object, or of the type of one."""
        known = self.known.scopes.global_object
        return known is not None and known.fullmatch(name) is not None

    @property
    def is_managed(self) -> bool:
        """Whether packages show which objects belong to the platform."""
        return self.known.platform.is_managed

    @property
    def whole(self) -> int:
        """Bytes of the reachable heap."""
        return self.info.reachable_bytes

    @property
    def least(self) -> int:
        """The least bytes of a finding: 1% of the reachable heap, and 32 KiB; in a component 1 KiB."""
        if self.component is not None:
            return max(_LEAST_OF_COMPONENT, int(LEAST_SHARE * self.component.bytes))
        return self.at_least(LEAST_SHARE, LEAST_BYTES)

    def at_least(self, share: float, least: int, whole: int | None = None) -> int:
        """The least bytes of a finding: a share of the reachable heap, or of another whole, and a number."""
        if self.compared_with is not None:
            return 1
        return max(least, int(share * (self.whole if whole is None else whole)))

    @property
    def shared(self) -> int:
        """The bytes that shares refer to: the whole, or a common number for two compared dumps."""
        return self.whole if self.compared_with is None else self.compared_with

    def most(self, number: int) -> int:
        """The maximum number of findings of one rule."""
        return number if self.compared_with is None else _MOST_COMPARED

    def type_names(self) -> list[str]:
        """The name of each type as in SQL, without its module."""
        return plain_type_names(self.snapshot)

    def types_where(self, test: Callable[[str], object]) -> list[int]:
        """The numbers of the types whose names pass a test."""
        return [number for number, name in enumerate(self.type_names()) if test(name)]

    def types_of_kind(self, *kinds: str) -> list[int]:
        """The numbers of the types of some kinds, as "closure"."""
        names = self.snapshot.graph_names.type_kinds
        chosen = [number for number, name in enumerate(names) if name in kinds]
        return np.flatnonzero(np.isin(self.snapshot.types.kind, chosen)).tolist()

    def instances(self, types: Sequence[int]) -> Numbers:
        """The instances of some types that are reachable."""
        parts = [instances_of(self.snapshot, number) for number in types]
        return self.reached(np.concatenate(parts) if parts else np.zeros(0, np.uint32))

    def counts(self, numbers: Numbers) -> Mask:
        """A mask of the objects that are reachable, and in the component if there is one."""
        found: Mask = self.snapshot.objects.distance[numbers] != NEVER
        if self.component is not None:
            found &= self.component.has[numbers]
        return found

    def reached(self, numbers: Numbers) -> Numbers:
        """Those of some objects that are reachable and in the component."""
        found: Numbers = numbers[self.counts(numbers)]
        return found

    def number_arrays(self) -> Numbers:
        """The rows of ARRAY_DTYPE of reachable arrays, without those that hold the characters of strings."""
        rows = self.snapshot.objects.arrays
        found: Numbers = rows[self.counts(rows["object"]) & (rows["is_text"] == 0)]
        return found

    def retained(self, numbers: Numbers) -> int:
        """The bytes that would be freed without some objects."""
        if len(numbers) == 1:
            # the retained size of a single object is stored
            only = int(numbers[0])
            is_reached = int(self.snapshot.objects.distance[only]) != NEVER
            return reached(self.snapshot).retained(only) if is_reached else 0
        return retained_by(self.snapshot, numbers).retained_bytes if len(numbers) else 0

    def at_most(self, numbers: Numbers) -> int:
        """An upper bound: the bytes that these objects dominate, counting nested ones twice."""
        return min(int(self.snapshot.objects.retained[numbers].sum()), self.whole)

    def kinds(self, test: Callable[[str], object]) -> Numbers:
        """A mask over all 256 reference kinds: those whose names pass a test."""
        return kinds_where(self.snapshot, lambda kind: test(kind.name))

    def named(self, name: str) -> Numbers:
        """The numbers of references with one of the names that the pack's rules look for."""
        return _named(self.snapshot, self.known.named_references)[name]

    def sources(self, references: Numbers) -> Numbers:
        """The objects that have some references."""
        return np.searchsorted(self.snapshot.references.start, references.astype(np.uint64), "right") - 1

    def row(self, number: int) -> ObjectRow:
        """An object in words."""
        return object_rows(self.snapshot, [number])[0]

    def line(self, number: int) -> LineLink | None:
        """Where an object or its class is defined."""
        found = self._place(number)
        if found is None and self.snapshot.types.object is not None:
            own = int(self.snapshot.types.object[int(self.snapshot.objects.type[number])])
            found = self._place(own) if own != NEVER else None
        return found

    def allocated_at(self, numbers: Numbers) -> LineLink | None:
        """The line of the user's own code that allocated at least half of some objects, if the dump has it."""
        stacks = self.snapshot.objects.stack
        if stacks is None or not len(numbers):
            return None
        charged = self.snapshot.stacks.label[stacks[numbers]].astype(np.uint32)
        frames, counts = counted(charged[charged != NONE])
        if not len(frames) or 2 * int(counts.max()) < len(numbers):
            return None
        frame = int(frames[np.argmax(counts)])
        line = self.line_of(frame)
        return line if line and line.line and int(self.snapshot.frames.kind[frame]) == USER else None

    def _place(self, number: int) -> LineLink | None:
        places = self.snapshot.objects.places
        at = int(np.searchsorted(places["object"], number))
        if at >= len(places) or int(places["object"][at]) != number:
            return None
        return self.line_of(int(places["frame"][at]))

    def line_of(self, frame: int) -> LineLink | None:
        """A frame's line, None where it has none."""
        if frame == NONE or frame not in (places := places_of(self.snapshot, [frame])):
            return None
        file, line = places[frame]
        return LineLink(file, line or 0, self.snapshot.frames.rows([frame])[frame][2], frame)

    def of_their_types(self, numbers: Numbers) -> str:
        """An SQL condition for the types of some objects."""
        names = self.type_names()
        return of_types([names[kind] for kind in distinct(self.snapshot.objects.type[numbers]).tolist()])

    def type_name(self, number: int) -> str:
        """A type's name for a sentence: short, with its module only where the name needs it."""
        name = self.type_names()[number]
        name = short_type(name)
        if not self.has_twin(number):
            return name
        module = _MODULE.search(type_names(self.snapshot)[number])
        return f"{name}{module[0]}" if module else name

    def has_twin(self, number: int) -> bool:
        """Whether another type has the same name, in another module."""
        return number in _twins(self.snapshot)


@kept
def _named(snapshot: Snapshot, wanted: tuple[str, ...]) -> dict[str, Numbers]:
    """The numbers of references of some names, in one pass over the names of all references."""
    stored, strings = snapshot.references, snapshot.strings
    fits = np.zeros(len(strings.end), np.uint8)
    everything = np.arange(len(fits))
    numbers = {name: strings.find(everything, name) for name in wanted}
    fits[[number for number in numbers.values() if number >= 0]] = 1
    by_text = named_by_text(snapshot).view(np.uint8)
    rows = np.asarray(rows_named(stored.name, stored.kind, by_text, fits)).astype(np.int64)
    names = stored.name[rows]
    return {name: rows[names == number] for name, number in numbers.items()}


@kept
def _twins(snapshot: Snapshot) -> frozenset[int]:
    """The types whose name another type has as well."""
    names, counts = counted(snapshot.types.name)
    return frozenset(np.flatnonzero(np.isin(snapshot.types.name, names[counts > 1])).tolist())


def is_internal(name: str) -> bool:
    """Whether a type is internal to the engine: ``(array)``, ``(imemo env)``."""
    found = _ENGINE_TYPE.fullmatch(name)
    return found is not None and found[1] not in _PLAIN_TYPES


def short_type(name: str) -> str:
    """A type's name for a sentence, without its packages: ``Order$Line[]`` of ``shop.orders.Order$Line[]``, and
    ``compiled code`` of an engine's ``(compiled code)``.
    """
    if found := _ENGINE_TYPE.fullmatch(name):
        return found[1]
    for note in _type_notes():
        name = note.sub("", name)
    # type arguments have packages of their own, and names with an address or of what isn't a class no packages at all
    short = re.sub(r"(?<![\w./ ])(?:[a-zA-Z_][\w]*\.)+(?=[A-Z_a-z])", "", name) if " / " not in name else name
    return plain_name(shortened(" ".join((short or name).split()), _MOST_NAME))


def type_words(case: GraphCase, number: int) -> Text:
    """A type for a sentence: ``Session``, ``internal array``."""
    name = case.type_name(number)
    return phrase("internal {type}", type=name) if is_internal(case.type_names()[number]) else Text(name)


def object_name(case: GraphCase, row: ObjectRow, *, begins: bool = False) -> Text:
    """An object for a sentence, which it may begin: ``Session @5143``, a class by its own name."""
    if is_class(row):
        return phrase("class {name}", name=short_type(row.name))
    name = typed_id(case, row)
    if not is_internal(row.type):
        return Text(name)
    return (
        phrase("The internal {object}", object=name)
        if begins
        else phrase("the internal {object}", object=name)
    )


def typed_id(case: GraphCase, row: ObjectRow) -> str:
    """An object's type and id: ``Session @5143``."""
    return f"{case.type_name(int(case.snapshot.objects.type[row.object]))} {id_text(row.id, case.info.kind)}"


def is_class(row: ObjectRow) -> bool:
    """Whether an object is a class with a name."""
    return bool(row.name) and row.type.split(" (", 1)[0] in _class_types()


def object_part(case: GraphCase, number: int, *, begins: bool = False) -> TextPart:
    """An object's name, as a link to it."""
    name = object_name(case, case.row(number), begins=begins)
    return linked(name, line=case.line(number), objects=ObjectsLink("object", number))


def figure(amount: int, sql: str, kind: FigureKind = "retained", unit: str = "bytes") -> Figure:
    """An amount with its query."""
    return Figure(amount, unit, kind, sql)


def measured(amount: Figure, objects: ObjectsLink | None = None) -> TextPart:
    """An amount, as a link to its objects."""
    return linked(str(amount), figure=amount, objects=objects)


def retained_sql(condition: str) -> str:
    """A query for what the reachable objects that satisfy a condition retain together."""
    return f"SELECT retained(object) FROM objects WHERE {condition} AND distance IS NOT NULL"


def chosen(condition: str) -> ObjectsLink:
    """A query for the reachable objects that satisfy a condition, those that retain most first."""
    return ObjectsLink(
        "query", 0,
        f"SELECT * FROM objects WHERE {condition} AND distance IS NOT NULL ORDER BY retained_bytes DESC",
    )  # fmt: skip


def of_types(names: Collection[str]) -> str:
    """An SQL condition for the types of objects."""
    listed = ", ".join(text_in_sql(name) for name in dict.fromkeys(names))
    return f"type IN ({listed})"


def common_reference(case: GraphCase, members: Numbers) -> str:
    """The field through which most of some objects are held: ``HashMap$Node.value``; empty if that varies."""
    stored, objects = case.snapshot.references, case.snapshot.objects
    some = members[:: max(1, len(members) // 2_000)][:2_000].astype(np.int64)
    begins, ends = (stored.referrer_start[some + after].astype(np.int64) for after in (0, 1))
    # at most four references to each
    places = begins[:, np.newaxis] + np.arange(4)
    there = places < ends[:, np.newaxis]
    sources = stored.referrer[places[there]].astype(np.int64)
    if not len(sources):
        return ""
    references = first_references(case.snapshot, sources, np.repeat(some, there.sum(axis=1)))
    kinds = stored.kind[references].astype(np.int64)
    by_text = named_by_code(case.snapshot)
    names = np.where(by_text[kinds], stored.name[references].astype(np.int64), -1)
    keys = np.stack((objects.type[sources].astype(np.int64), kinds, names), axis=1)
    counts = np.bincount(first_equal(keys))
    # on a tie, the first seen
    first = int(np.argmax(counts))
    if int(counts[first]) < len(some) // 2:
        return ""
    kind, reference_kind, name = keys[first].tolist()
    field = f".{plain_name(case.snapshot.strings.head(name, _MOST_NAME))}" if by_text[reference_kind] else ""
    return f"{case.type_name(kind)}{field}"


def values_removed(case: GraphCase) -> Text | None:
    """Why findings about values are left out; None if the dump has them."""
    return next((each.said for each in case.info.warnings if each.code == "values-removed"), None)


def mostly_through(case: GraphCase, members: Numbers) -> Text | str:
    """The same as the end of a sentence."""
    field = common_reference(case, members)
    if field.startswith("["):
        # a node by which the dump groups its roots
        return phrase(", most of them held by roots: {kind}", kind=field.strip("[]"))
    return phrase(", most of them referred to by {field}", field=field) if field else ""
