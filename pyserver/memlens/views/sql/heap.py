"""Functions for SQL that answer what the tables of a heap dump can't.

``retained(object)`` is an aggregate: the bytes that only these objects keep alive; ``reachable(object)`` those of all
that they lead to; ``object_set(object)`` these objects as a set, see ``object_sets.py``. Table-valued are
``paths_to(object, paths, through)``, a row for each object on the shortest paths from roots (``paths`` of them, 1 if
left out; ``through`` names the strengths of references that are followed besides strong ones, ``soft`` if left out);
``referrers_of(object)``; ``referrers_by_type('Name')``; ``subclasses_of('Name')``, a class and all that extend it;
``retained_by(object)``, all that an object dominates or a set retains, itself included; ``fields_of(object)``,
``contents_of(object)`` of a collection, ``elements_of(object)`` of an array; ``collections``, ``arrays``,
``unread_variables`` and ``realms``, which take no object. Of one object ``field(object, 'name.first')`` is what a
field has, ``value_of(object)`` its name or value, ``holder_of(object, 'shop.*', '/^app[.]/')`` the nearest object
that dominates it and whose type fits none of the patterns, and ``realm_of(object)`` the realm that it belongs to.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, partial
from itertools import islice
from typing import Any, get_args

import apsw
import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.distinct import distinct
from memlens.model.graph import ENTRY, RETAINING, Strength
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.models import heap_dump_of
from memlens.store.objects.walks import dominated_by, dominator_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.contents import contents_of, known_contents, numbers_in, words_of
from memlens.views.heap.objects.definitions import places_of
from memlens.views.heap.objects.dump_bytes import DumpReader
from memlens.views.heap.objects.fields import MOST_NAME, FieldReader, field_reader
from memlens.views.heap.objects.hierarchy import below_class
from memlens.views.heap.objects.plain_values import plain_value
from memlens.views.heap.objects.realms import SHARED, has_realms, realm_of, realms
from memlens.views.heap.objects.references import references_between
from memlens.views.heap.objects.referrers import referring_to_types
from memlens.views.heap.objects.rows import (
    MOST_ROWS,
    Numbers,
    check_object,
    object_rows,
    plain_type_names,
    reference_rows,
    type_names,
)
from memlens.views.heap.objects.unread_variables import unread
from memlens.views.heap.paths.to_object import paths
from memlens.views.heap.retained.by_objects import reachable_bytes, retained_by, retained_set
from memlens.views.heap.retained.by_unread_variables import held_by_unread_alone
from memlens.views.selection.texts import pattern_of
from memlens.views.sql.functions import Answer, Row, TableFunction, add_function, add_opened_function
from memlens.views.sql.object_sets import Gathered, ObjectSets

SqlValue = int | float | str | None

_MOST_COMPARED, _LONGEST_COMPARED = 2_000, 200
"""Names that are compared with a misspelt one, and their characters."""


AGGREGATES = ("retained", "reachable", "object_set")
SCALARS = ("field", "value_of", "holder_of", "realm_of")

HEAP_FUNCTIONS: dict[str, TableFunction] = {
    "paths_to": TableFunction(
        ("of", "paths", "through"),
        ("path", "step", "object", "type", "name", "kind", "retained_bytes"),
        "Objects on the shortest paths from roots to an object, from root to object; `name` and `kind` are those of "
        "the reference that leads there.",
    ),
    "referrers_of": TableFunction(
        ("of",),
        ("object", "type", "name", "kind", "strength", "retained_bytes"),
        "Objects that refer to an object; `name` and `kind` are those of the reference.",
    ),
    "referrers_by_type": TableFunction(
        ("of_type",),
        ("object", "type", "name", "kind", "strength", "refs", "referrers", "objects", "retained_bytes"),
        "What refers to the objects of a type, by the referrer's type and the reference's name; elements of arrays "
        "together. `object` is one of the referrers, `retained_bytes` what the objects they refer to retain together.",
    ),
    "subclasses_of": TableFunction(
        ("of_class",),
        ("class", "name", "steps"),
        "A class by its name, and all that extend it, the nearest first; `class` is the class's object.",
    ),
    "retained_by": TableFunction(
        ("of",),
        ("object", "type", "name", "shallow_bytes", "retained_bytes"),
        "What an object retains, or a set of objects as `object_set(object)` makes it, itself included: all that would "
        "be freed with it.",
    ),
    "fields_of": TableFunction(
        ("of",),
        ("position", "field", "key_name", "content", "object", "type", "name", "retained_bytes"),
        "The fields of an object: what each has, and if it refers to an object, which. Of an object that is used "
        "as a dictionary, entries have a `key_name` instead of a `field`.",
    ),
    "contents_of": TableFunction(
        ("of",),
        ("position", "key", "key_type", "key_name", "object", "type", "name", "retained_bytes"),
        "What a collection of a library contains: elements or entries, in order, where dumps say it.",
    ),
    "elements_of": TableFunction(
        ("of",),
        ("position", "value", "object", "type", "name", "retained_bytes"),
        "The elements of an array: numbers, where the dump has them, and what references refer to.",
    ),
    "collections": TableFunction(
        (),
        ("object", "type", "size", "slots", "used_slots"),
        "The collections of libraries, views and wrappers too, with their own arrays, where dumps say it.",
    ),
    "arrays": TableFunction(
        (),
        ("object", "type", "length", "used", "is_constant", "contents"),
        "The arrays of a dump that has their numbers, but those that hold the characters of strings.",
    ),
    "unread_variables": TableFunction(
        (),
        (
            "context",
            "variable",
            "scope",
            "function",
            "file",
            "line",
            "object",
            "type",
            "name",
            "retained_bytes",
            "held_otherwise",
        ),
        "Variables of closures that no code can read any more; `object` and what follows is what "
        "the variable has.",
    ),
    "realms": TableFunction(
        (),
        ("realm", "address", "objects", "shallow_bytes"),
        "What belongs to each frame of a page, or another realm, of the reachable heap; what several share and "
        "what is of none come last.",
    ),
}


def add_heap_functions(connection: apsw.Connection, snapshot: Snapshot, sets: ObjectSets) -> None:
    """Add these functions to a connection. No other thread may use the snapshot."""
    if heap_dump_of(snapshot.info) is None:
        return

    def aggregate(answer: Callable[[Numbers], int | str]) -> tuple[Gathered, Any, Any]:
        return Gathered(), _step, lambda chosen: answer(chosen.distinct())

    of_sets: tuple[Callable[[Numbers], int | str], ...] = (
        partial(_retained, snapshot), partial(_reachable, snapshot), partial(sets.add, snapshot),
    )  # fmt: skip
    for name, of_set in zip(AGGREGATES, of_sets, strict=True):
        connection.create_aggregate_function(name, partial(aggregate, of_set), 1)
    connection.create_scalar_function("field", partial(_field, snapshot), 2)
    connection.create_scalar_function("value_of", partial(_value, snapshot), 1)
    connection.create_scalar_function("holder_of", partial(_holder, snapshot), -1)
    connection.create_scalar_function("realm_of", partial(_realm, snapshot), 1)
    answers: dict[str, Answer] = {
        "paths_to": _paths, "referrers_of": _referrers, "referrers_by_type": _referrers_by_type,
        "subclasses_of": _subclasses,
        "retained_by": partial(_held, sets), "fields_of": _fields, "contents_of": _contents,
        "collections": _collections, "arrays": _arrays, "unread_variables": _unread_variables, "realms": _realms,
    }  # fmt: skip
    for name, function in HEAP_FUNCTIONS.items():
        if name == "elements_of":
            opened = partial(_opened_elements, snapshot)
            add_opened_function(connection, name, function.arguments, function.columns, opened)
        else:
            add_function(
                connection, name, function.arguments, function.columns, partial(answers[name], snapshot)
            )


def _step(chosen: Gathered, number: Any) -> None:
    if number is not None:
        chosen.add(_number(number))


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise BadRequestError(phrase("Functions of heap dumps take object numbers, as in the column object"))
    return value


def _retained(snapshot: Snapshot, chosen: Numbers) -> int:
    return retained_by(snapshot, chosen).retained_bytes if len(chosen) else 0


def _reachable(snapshot: Snapshot, chosen: Numbers) -> int:
    return reachable_bytes(snapshot, chosen) if len(chosen) else 0


def _paths(snapshot: Snapshot, of: Any, most: Any, through: Any) -> Iterator[Row]:
    if of is None:
        return
    strengths: Sequence[str] = RETAINING
    if isinstance(through, str):
        strengths = [word.strip() for word in through.split(",") if word.strip()]
    unknown = [word for word in strengths if word not in get_args(Strength)]
    if unknown:
        raise BadRequestError(
            phrase(
                "'{unknown}' is not a kind of reference: expected {known}",
                unknown=unknown[0],
                known=", ".join(get_args(Strength)),
            )
        )
    chosen: Any = strengths
    for path, found in enumerate(
        paths(snapshot, _number(of), _number(1 if most is None else most), chosen).paths
    ):
        root = found.root
        kinds = ", ".join(dict.fromkeys(each.kind for each in found.roots))
        yield path, 0, root.object, _type(snapshot, root.object), "", kinds, root.retained_bytes
        for step, row in enumerate(found.steps, 1):
            yield (
                path,
                step,
                row.object.object,
                _type(snapshot, row.object.object),
                "" if row.kind == ENTRY else row.name,
                row.kind,
                row.object.retained_bytes,
            )


def _referrers(snapshot: Snapshot, of: Any) -> Iterator[Row]:
    if of is None:
        return
    number, stored = check_object(snapshot, _number(of)), snapshot.references
    sources = distinct(
        stored.referrer[int(stored.referrer_start[number]) : int(stored.referrer_start[number + 1])]
    )
    for start in range(0, len(sources), MOST_ROWS):
        part = sources[start : start + MOST_ROWS]
        found = [references_between(snapshot, source, number) for source in part.tolist()]
        ends = np.repeat(part, [len(each) for each in found])
        for row in reference_rows(snapshot, np.concatenate(found), ends):
            end, name = row.object, "" if row.kind == ENTRY else row.name
            yield end.object, _type(snapshot, end.object), name, row.kind, row.strength, end.retained_bytes


def _referrers_by_type(snapshot: Snapshot, of_type: Any) -> Iterator[Row]:
    if of_type is None:
        return
    if not isinstance(of_type, str):
        raise BadRequestError(phrase("referrers_by_type takes the name of a type, as in the column type"))
    names, kinds, reader = (
        plain_type_names(snapshot),
        snapshot.graph_names.reference_kinds,
        field_reader(snapshot),
    )
    for each in referring_to_types(snapshot, _types_called(snapshot, of_type)):
        kind = kinds[each.kind]
        yield (
            int(each.referrers[0]), names[each.type], "" if each.name < 0 else reader.name(each.name), kind.name,
            kind.strength, each.references, len(each.referrers), len(each.objects),
            cache(lambda objects=each.objects: retained_by(snapshot, objects).retained_bytes),
        )  # fmt: skip


def _types_called(snapshot: Snapshot, name: str) -> list[int]:
    """The types of a name, or the one that the view calls so, with its module. Raises :class:`BadRequestError`."""
    names = plain_type_names(snapshot)
    found = [number for number, each in enumerate(names) if each == name]
    found = found or [number for number, each in enumerate(type_names(snapshot)) if each == name]
    if not found:
        near = _near(name, names)
        raise BadRequestError(
            phrase("The heap dump has no type {name}", name=name),
            advice=phrase("Did you mean {first}?", first=near[0])
            if near
            else phrase("The table types has all names."),
        )
    return found


def _near(name: str, names: list[str]) -> list[str]:
    """A type that may have been meant: of the same own name, else one that is spelt alike."""
    own = name.rpartition(".")[2].casefold()
    same = [each for each in names if each.rpartition(".")[2].casefold() == own]
    # only so many, as comparing letters takes long, and names may be of any length
    some = [each for each in names[:_MOST_COMPARED] if len(each) <= _LONGEST_COMPARED]
    return same[:1] or get_close_matches(name[:_LONGEST_COMPARED], dict.fromkeys(some), 1)


def _type(snapshot: Snapshot, number: int) -> str:
    """The name of an object's type, as in the tables: without its module."""
    return plain_type_names(snapshot)[int(snapshot.objects.type[number])]


def _subclasses(snapshot: Snapshot, of_class: Any) -> Iterator[Row]:
    if of_class is None:
        return
    if not isinstance(of_class, str):
        raise BadRequestError(phrase("subclasses_of takes the name of a class, as in the column type"))
    yield from below_class(snapshot, of_class)


def _held(sets: ObjectSets, snapshot: Snapshot, of: Any) -> Iterator[Row]:
    """All that an object dominates, level after level, or that a set retains, by number."""
    if of is None:
        return
    if isinstance(of, str):
        yield from _listed(snapshot, np.flatnonzero(retained_set(snapshot, sets.find(of))))
        return
    objects = snapshot.objects
    level = np.array([check_object(snapshot, _number(of))], np.int64)
    listed = 0
    while len(level):
        listed += len(level)
        if listed > len(objects.type):
            raise InconsistentError("Column object_dominated has objects more than once")
        yield from _listed(snapshot, level)
        level = dominated_by(objects, level)


def _listed(snapshot: Snapshot, numbers: Numbers) -> Iterator[Row]:
    """Rows of many objects, of which a query may need nothing but how many there are."""
    objects, names = snapshot.objects, plain_type_names(snapshot)
    for start in range(0, len(numbers), MOST_ROWS):
        part = numbers[start : start + MOST_ROWS]
        columns = (
            part,
            objects.type[part],
            objects.name[part],
            objects.shallow[part],
            objects.retained[part],
        )
        for number, kind, name, shallow, retained in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            yield number, names[kind], partial(_own_name, snapshot, number, name), shallow, retained


def _own_name(snapshot: Snapshot, number: int, name: int) -> str:
    return snapshot.strings.head(name, MOST_NAME) if name else words_of(snapshot, number)


def _value(snapshot: Snapshot, of: Any) -> str | None:
    """An object's name, a string's whole text, or a value in words; NULL for what has none."""
    if of is None:
        return None
    number = check_object(snapshot, _number(of))
    name = int(snapshot.objects.name[number])
    return (snapshot.strings.texts(np.array([name]))[0] if name else words_of(snapshot, number)) or None


def _field(snapshot: Snapshot, of: Any, path: Any) -> SqlValue:
    """Follows a path of fields: a value, the text of a string, a boxed value, or else an object's number.

    ``length`` of an array is how many elements it has, and a number that element. NULL where there is no such field.
    """
    if of is None or not isinstance(path, str):
        return None
    reader, number = field_reader(snapshot), check_object(snapshot, _number(of))
    *above, last = path.split(".")
    for name in above:
        target = _target(reader, number, name)
        if target is None:
            return None
        number = target
    target = _target(reader, number, last)
    if target is not None:
        return _content(snapshot, target)
    found = reader.values(number).get(last)
    if found is None and last == "length":
        return reader.length(number)
    return int(found) if isinstance(found, bool) else found


def _target(reader: FieldReader, number: int, name: str) -> int | None:
    if not name.isdecimal():
        return reader.reference(number, name)
    places, targets = reader.elements(number)
    at = np.flatnonzero(places == int(name))
    return int(targets[at[0]]) if len(at) else None


def _content(snapshot: Snapshot, number: int) -> SqlValue:
    """The text of a string or the number in a box, else the object's number."""
    known = plain_value(snapshot, number)
    return number if known is None else known


def _holder(snapshot: Snapshot, of: Any = None, *patterns: Any) -> int | None:
    """The nearest object that dominates another and whose type fits no pattern; NULL if there is none."""
    if not patterns:
        raise BadRequestError(phrase("holder_of takes an object and the patterns of types that it skips"))
    if of is None:
        return None
    kinds = _fitting_types(snapshot, patterns)
    objects = snapshot.objects
    number = dominator_of(objects, check_object(snapshot, _number(of)))
    while number != NEVER and kinds[int(objects.type[number])]:
        number = dominator_of(objects, number)
    return None if number == NEVER else number


@kept
def _fitting_types(snapshot: Snapshot, patterns: tuple[Any, ...]) -> Mask:
    known = [pattern_of(each) for each in patterns if isinstance(each, str)]
    return np.array([any(p.matches(name) for p in known) for name in plain_type_names(snapshot)], np.bool_)


def _fields(snapshot: Snapshot, of: Any) -> Iterator[Row]:
    if of is None:
        return
    number, reader = check_object(snapshot, _number(of)), field_reader(snapshot)
    values, known = reader.values(number), reader.references(number)
    for position, (name, value) in enumerate(values.items()):
        yield position, name, None, int(value) if isinstance(value, bool) else value, None, None, None, None
    keys = reader.keys(number)
    rows = object_rows(snapshot, list(known.values()))
    for position, (name, row) in enumerate(zip(known, rows, strict=True), len(values)):
        kind, plain = _type(snapshot, row.object), plain_value(snapshot, row.object)
        content = (row.name or None) if plain is None else plain
        field, key = (None, name) if name in keys else (name, None)
        yield position, field, key, content, row.object, kind, row.name, row.retained_bytes


def _contents(snapshot: Snapshot, of: Any) -> Iterator[Row]:
    if of is None:
        return
    contents = contents_of(snapshot, check_object(snapshot, _number(of))) or iter(())
    while part := list(islice(contents, MOST_ROWS)):
        snapshot.go_on()
        numbers = sorted({each for row in part for each in (row.key, row.value) if each is not None})
        rows = {row.object: row for row in object_rows(snapshot, numbers)}
        for position, key, value in ((row.position, row.key, row.value) for row in part):
            own, held = (None if each is None else rows[each] for each in (key, value))
            yield (
                position,
                *((None, None, None) if own is None else (own.object, _type(snapshot, own.object), own.name)),
                *(
                    (None, None, None, None)
                    if held is None
                    else (held.object, _type(snapshot, held.object), held.name, held.retained_bytes)
                ),
            )


@contextmanager
def _opened_elements(snapshot: Snapshot) -> Iterator[Answer]:
    with DumpReader(snapshot) as dump:
        yield partial(_elements, snapshot, dump)


def _elements(snapshot: Snapshot, dump: DumpReader, of: Any) -> Iterator[Row]:
    if of is None:
        return
    number = check_object(snapshot, _number(of))
    for position, value in enumerate(numbers_in(snapshot, number, dump)):
        yield position, value, None, None, None, None
    places, targets = field_reader(snapshot).elements(number)
    for start in range(0, len(targets), MOST_ROWS):
        part = slice(start, start + MOST_ROWS)
        rows = object_rows(snapshot, targets[part])
        for position, row in zip(places[part].tolist(), rows, strict=True):
            yield position, None, row.object, _type(snapshot, row.object), row.name, row.retained_bytes


def _collections(snapshot: Snapshot) -> Iterator[Row]:
    if (contents := known_contents(snapshot)) is None:
        return
    known, names = contents.all_collections(snapshot), plain_type_names(snapshot)
    kinds = snapshot.objects.type[known.objects]
    for kind, number, size, slots, used in zip(
        kinds.tolist(), *(column.tolist() for column in known), strict=True
    ):
        yield number, names[kind], None if size < 0 else size, slots or None, used if slots else None


def _arrays(snapshot: Snapshot) -> Iterator[Row]:
    if (known := known_contents(snapshot)) is None:
        return
    names, kinds = plain_type_names(snapshot), snapshot.objects.type
    rows = snapshot.objects.arrays[snapshot.objects.arrays["is_text"] == 0]
    columns = (kinds[rows["object"]], *(rows[name] for name in ("length", "used", "is_constant", "contents")))
    for number, kind, length, used, constant, contents in zip(
        rows["object"].tolist(), *(column.tolist() for column in columns), strict=True
    ):
        yield number, names[kind], length, used, constant, f"{contents:016x}"
    own = known.all_reference_arrays(snapshot)
    usage = known.usage_of_arrays(snapshot, own)
    for number, kind, length, used in zip(
        *(each.tolist() for each in (own, kinds[own], *usage)), strict=True
    ):
        yield number, names[kind], length, used, None, None


def _unread_variables(snapshot: Snapshot) -> Iterator[Row]:
    variables, strings = unread(snapshot), snapshot.strings
    if not len(variables.rows):
        return
    alone = held_by_unread_alone(snapshot)
    for start in range(0, len(alone), MOST_ROWS):
        part = slice(start, start + MOST_ROWS)
        rows = variables.rows[part]
        places = places_of(snapshot, rows["frame"][rows["frame"] != NEVER].tolist())
        ends = object_rows(snapshot, variables.value[part])
        for (number, name, function, frame, scope), end, is_alone in zip(
            rows.tolist(), ends, alone[part].tolist(), strict=True
        ):
            yield (
                number, strings.head(name, MOST_NAME), scope, strings.head(function, MOST_NAME) or None,
                *places.get(frame, (None, None)), end.object, _type(snapshot, end.object), end.name,
                end.retained_bytes,
                int(not is_alone),
            )  # fmt: skip


def _realms(snapshot: Snapshot) -> Iterator[Row]:
    for row in realms(snapshot):
        own = -1 if row.filter == f"realm:{SHARED}" else row.object
        yield own, row.name.text, row.objects, row.shallow_bytes


def _realm(snapshot: Snapshot, of: Any) -> int | None:
    """The realm that an object belongs to, -1 if that are several; NULL for none."""
    if of is None or not has_realms(snapshot):
        return None
    return realm_of(snapshot, check_object(snapshot, _number(of)))
