"""Reads single objects by field name: references and values, for code that follows fields."""

import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.model.graph import ENTRY, NONE, VALUE_KINDS, is_array
from memlens.store.hierarchy import hierarchy_of
from memlens.store.kept import kept
from memlens.store.models import graph_of
from memlens.store.objects.places import first_at_least
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.reference_kinds import engine_s_own, internal_name, kinds_where, named_kind

Numbers = npt.NDArray[Any]

MOST_NAME = 1_000
"""Limit on the characters of an object's name, which may be a long string."""

Value = int | float | str | bool

_FLOATS = {"float": "<f", "double": "<d"}
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_MOST_ABOVE = 1_000
"""Limit on superclasses: a damaged dump may have as many as it has objects."""


class FieldReader:
    """Follows the fields of one object after the other."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.followed = 0
        """The number of objects whose references were read."""
        self._names: dict[int, str] = {}
        self._classes: dict[int, tuple[str, ...]] = {}
        self._texts = kinds_where(snapshot, lambda kind: kind.naming == "text" and kind.retains)
        self._any_texts = kinds_where(snapshot, lambda kind: kind.naming == "text")
        self._keys = kinds_where(snapshot, lambda kind: kind.naming == "text" and kind.name == ENTRY)
        self._indexes = kinds_where(snapshot, lambda kind: kind.naming == "index" and kind.name == "element")
        self._own = engine_s_own(snapshot)
        self._type_names = snapshot.strings.texts(snapshot.types.name)
        classes = snapshot.types.object
        own = [] if classes is None else classes.tolist()
        self._type_of_class = {number: kind for kind, number in enumerate(own) if number != NONE}

    def type_name(self, number: int) -> str:
        """The name of an object's type, without its module."""
        return self._type_names[int(self._snapshot.objects.type[number])]

    def classes(self, number: int) -> tuple[str, ...]:
        """Return the names of an object's type and of its superclasses."""
        return self.classes_above(int(self._snapshot.objects.type[number]))

    def classes_above(self, kind: int) -> tuple[str, ...]:
        """Return the names of a type and of its superclasses."""
        found = self._classes.get(kind)
        if found is None:
            found = self._classes[kind] = tuple(self._above(kind))
        return found

    def _above(self, kind: int) -> Iterator[str]:
        classes = self._snapshot.types.object
        yield self._type_names[kind]
        number = NONE if classes is None else int(classes[kind])
        for above in islice(hierarchy_of(self._snapshot).above(number), _MOST_ABOVE):
            known = self._type_of_class.get(above)
            if known is not None:
                yield self._type_names[known]

    def static(self, name: str, field: str) -> int | None:
        """The object that a static field of a class refers to."""
        for number, kind in self._type_of_class.items():
            if self._type_names[kind] == name:
                return self.references(number).get(field)
        return None

    def references(self, number: int, *, weak: bool = True) -> dict[str, int]:
        """Return the objects that fields refer to, by field name; if two fields have one name, the superclass's wins.

        An engine's own reference with the name of a property is named ``map (internal)``.
        """
        self.followed += 1
        stored, rows = self._snapshot.references, self._rows(number)
        kinds = stored.kind[rows]
        chosen = (self._any_texts if weak else self._texts)[kinds]
        names, targets = stored.name[rows][chosen].tolist(), stored.target[rows][chosen].tolist()
        own = self._own[kinds][chosen].tolist()
        pairs = [(self.name(name), target) for name, target in zip(names, targets, strict=True)]
        found = {name: target for (name, target), is_own in zip(pairs, own, strict=True) if not is_own}
        internal = {name: target for (name, target), is_own in zip(pairs, own, strict=True) if is_own}
        return found | {
            internal_name(name) if name in found else name: target for name, target in internal.items()
        }

    def keys(self, number: int) -> frozenset[str]:
        """Return the names of an object's references that are keys: data of the program."""
        stored, rows = self._snapshot.references, self._rows(number)
        return frozenset(map(self.name, stored.name[rows][self._keys[stored.kind[rows]]].tolist()))

    def reference(self, number: int, name: str) -> int | None:
        """The object that a field refers to; ``map (internal)`` is the engine's own reference ``map``."""
        known = self.references(number)
        plain, kind = named_kind(name)
        if name in known or kind is None:
            return known.get(name)
        stored, rows = self._snapshot.references, self._rows(number)
        own = stored.name[rows][self._own[stored.kind[rows]]].tolist()
        return known.get(plain) if any(self.name(each) == plain for each in own) else None

    def elements(self, number: int) -> tuple[Numbers, Numbers]:
        """Return the indexes and the objects of the elements of an array that aren't null."""
        stored, rows = self._snapshot.references, self._rows(number)
        chosen = self._indexes[stored.kind[rows]]
        return stored.name[rows][chosen], stored.target[rows][chosen]

    def values(self, number: int) -> dict[str, Value]:
        """Return the values of the fields that aren't references; if two have one name, the superclass's wins."""
        fields = self._snapshot.fields
        if fields is None:
            return {}
        rows = slice(int(fields.start[number]), int(fields.start[number + 1]))
        columns = (fields.name[rows].tolist(), fields.kind[rows].tolist(), fields.bits[rows].tolist())
        return {
            self.name(name): value_of(self._snapshot, VALUE_KINDS[kind], bits)
            for name, kind, bits in zip(*columns, strict=True)
        }

    def integer(self, number: int, name: str) -> int | None:
        """Return the value of an integer field."""
        found = self.values(number).get(name)
        return found if isinstance(found, int) else None

    def length(self, number: int) -> int | None:
        """Return the number of elements of an array, see :func:`slots_of`."""
        if not is_array(self.type_name(number)):
            return None
        row = number_array(self._snapshot, number)
        if row is not None:
            return int(row["length"])
        slots = slots_of(self._snapshot, np.array([number]))
        return int(slots[0])

    def _rows(self, number: int) -> slice:
        start = self._snapshot.references.start
        return slice(int(start[number]), int(start[number + 1]))

    def name(self, name: int) -> str:
        """Return the name of a field by the number of its string."""
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self._snapshot.strings.head(name, MOST_NAME)
        return found


@kept
def field_reader(snapshot: Snapshot) -> FieldReader:
    """Return a snapshot's reader, which caches names."""
    return FieldReader(snapshot)


def number_array(snapshot: Snapshot, number: int) -> Numbers | None:
    """Return the ARRAY_DTYPE row of a non-empty array of numbers that isn't a string's text; None for others."""
    arrays = snapshot.objects.arrays
    at = int(first_at_least(arrays["object"], np.array([number]))[0])
    found: Numbers | None = arrays[at] if at < len(arrays) and int(arrays["object"][at]) == number else None
    return found


def slots_of(snapshot: Snapshot, arrays: Numbers) -> Numbers:
    """The number of elements of arrays of references, including nulls.

    In dumps without values it is inferred from their sizes, and may be one too many.
    """
    fields = snapshot.fields
    if fields is not None:
        # an array's only value
        rows = fields.start[arrays].astype(np.int64)
        known = fields.start[arrays + 1].astype(np.int64) > rows
        found = np.zeros(len(arrays), np.int64)
        found[known] = fields.bits[rows[known]].astype(np.int64)
        return found
    slot = int(snapshot.manifest.settings.get("reference_bytes") or 8)
    id_bytes = graph_of(snapshot.info).id_bytes
    # the header of an array is two words and the length, as assumed when sizes were inferred
    header = 16 if slot < id_bytes else 2 * id_bytes + 4
    slots: Numbers = np.maximum(snapshot.objects.shallow[arrays].astype(np.int64) - header, 0) // slot
    return slots


def value_of(snapshot: Snapshot, kind: str, bits: int) -> Value:
    """A value by its kind, see VALUE_KINDS."""
    if kind == "text":
        return snapshot.strings.head(bits, MOST_NAME)
    if kind == "boolean":
        return bool(bits)
    if kind == "char":
        # a lone surrogate is not a character
        return "\ufffd" if 0xD800 <= bits & 0xFFFF <= 0xDFFF else chr(bits & 0xFFFF)
    if kind in _FLOATS:
        size = struct.calcsize(_FLOATS[kind])
        found: float = struct.unpack(_FLOATS[kind], bits.to_bytes(8, "little")[:size])[0]
        return found
    width = _BITS[kind]
    value = bits & (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def value_text(value: Value) -> str:
    """Return a value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
