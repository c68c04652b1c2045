"""References and values of single objects by the names of their fields, for code that follows fields."""

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
"""Characters of an object's name, which may be a long string's text."""

Value = int | float | str | bool

_FLOATS = {"float": "<f", "double": "<d"}
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_MOST_ABOVE = 1_000
"""Classes above a class, of which a damaged dump may have as many as it has objects."""


class FieldReader:
    """Follows the fields of one object after the other."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.followed = 0
        """How many objects' references were read."""
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
        """The name of an object's type, and those of the classes above that."""
        return self.classes_above(int(self._snapshot.objects.type[number]))

    def classes_above(self, kind: int) -> tuple[str, ...]:
        """The name of a type, and those of the classes above it."""
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
        """The objects that an object's fields refer to; of two fields with one name, the higher class's.

        An engine's own reference of a property's name is called ``map (internal)``.
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
        """The names of an object's references that are keys, given by the program's data."""
        stored, rows = self._snapshot.references, self._rows(number)
        return frozenset(map(self.name, stored.name[rows][self._keys[stored.kind[rows]]].tolist()))

    def reference(self, number: int, name: str) -> int | None:
        """The object that a field refers to; ``map (internal)`` is the engine's own reference of that name."""
        known = self.references(number)
        plain, kind = named_kind(name)
        if name in known or kind is None:
            return known.get(name)
        stored, rows = self._snapshot.references, self._rows(number)
        own = stored.name[rows][self._own[stored.kind[rows]]].tolist()
        return known.get(plain) if any(self.name(each) == plain for each in own) else None

    def elements(self, number: int) -> tuple[Numbers, Numbers]:
        """The indexes of an array's elements that aren't null, and what they refer to."""
        stored, rows = self._snapshot.references, self._rows(number)
        chosen = self._indexes[stored.kind[rows]]
        return stored.name[rows][chosen], stored.target[rows][chosen]

    def values(self, number: int) -> dict[str, Value]:
        """An object's fields that aren't references; of two of a name that of the class further above."""
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
        """A field that is a whole number."""
        found = self.values(number).get(name)
        return found if isinstance(found, int) else None

    def length(self, number: int) -> int | None:
        """How many elements an array has, see :func:`slots_of`."""
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
        """The name of a field by the number of its text."""
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self._snapshot.strings.head(name, MOST_NAME)
        return found


@kept
def field_reader(snapshot: Snapshot) -> FieldReader:
    """The reader of a snapshot, which keeps the names that it has looked up."""
    return FieldReader(snapshot)


def number_array(snapshot: Snapshot, number: int) -> Numbers | None:
    """The row of ARRAY_DTYPE of an object, if it is an array of numbers that has any and isn't a string's text."""
    arrays = snapshot.objects.arrays
    at = int(first_at_least(arrays["object"], np.array([number]))[0])
    found: Numbers | None = arrays[at] if at < len(arrays) and int(arrays["object"][at]) == number else None
    return found


def slots_of(snapshot: Snapshot, arrays: Numbers) -> Numbers:
    """The number of elements of arrays of references, including nulls.

    In dumps without values that is inferred from their sizes, and may be one too many.
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
    # an array's header: two words of the machine and its length, as the sizes were inferred
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
        # half of a character isn't one
        return "\ufffd" if 0xD800 <= bits & 0xFFFF <= 0xDFFF else chr(bits & 0xFFFF)
    if kind in _FLOATS:
        size = struct.calcsize(_FLOATS[kind])
        found: float = struct.unpack(_FLOATS[kind], bits.to_bytes(8, "little")[:size])[0]
        return found
    width = _BITS[kind]
    value = bits & (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def value_text(value: Value) -> str:
    """A value as people write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
