"""Classes and names of an ART heap graph."""

from collections.abc import Iterator
from typing import NamedTuple

from memlens.formats.interned import Interned
from memlens.model.graph import is_array
from memlens.model.info import FileWarning
from memlens.packs.android.deobfuscation import Deobfuscation, Renames
from memlens.packs.android.kernels import perfetto as kernel
from memlens.packs.jvm.obfuscation import Mapping

TYPE_KINDS = ("class", "array")

CLASS = "java.lang.Class"
_UNKNOWN = "(class that is not in the file)"

_FIELD_NAMES, _LOCATIONS, _TYPES = 4, 8, 9
"""Fields of the message of a heap graph."""

SOFT, WEAK, FINALIZER, PHANTOM = 8, 9, 10, 11
"""Kinds of types, of which ``java.lang.ref.Reference.referent`` doesn't hold its target."""


class Type(NamedTuple):
    """A class in the file; for class objects, ``of`` is the name of the class they represent, else it is empty."""

    id: int
    name: str
    of: str
    location: int
    object_bytes: int
    superclass: int
    kind: int
    loader: int
    fields: list[int]

    @property
    def is_array(self) -> bool:
        """Whether its objects are arrays."""
        return is_array(self.name)


class Field(NamedTuple):
    """A field that references have: its name, and the class that declares it."""

    name: str
    owner: str


class Names:
    """The types and the fields of a heap graph, by the file's ids."""

    def __init__(
        self,
        parts: Iterator[tuple[bytes | memoryview, int, int, int]],
        deobfuscation: Deobfuscation,
    ) -> None:
        self.texts = Interned()
        self.types: dict[int, Type] = {}
        self.fields: dict[int, Field] = {}
        self._locations: dict[int, str] = {}
        self._mapping: Mapping | None = None
        self._above: dict[int, Type | None] = {}
        for data, field, start, end in parts:
            if field == _TYPES:
                found = _type_of(kernel.fields_of(data, start, end))
                self.types[found.id] = found
                continue
            said = dict(kernel.fields_of(data, start, end))
            text, number = said.get(2, b""), said.get(1, 0)
            if not isinstance(text, bytes) or not isinstance(number, int):
                continue
            name = text.decode("utf-8", "replace")
            if field == _FIELD_NAMES:
                # "Type Class.field", or without the type
                owner, _, own = name.rpartition(" ")[2].rpartition(".")
                self.fields[number] = Field(own, owner)
            else:
                self._locations[number] = name
        self._apply(deobfuscation)

    def classes(self) -> set[str]:
        """The names of classes as the file has them, without the brackets of arrays."""
        return {(each.of or each.name).rstrip("[]") for each in self.types.values()}

    def rename(self, mapping: Mapping) -> None:
        """Give classes and fields the names from a build's mapping."""
        if not len(mapping):
            return
        self._mapping = mapping
        self.types = {
            number: each._replace(
                name=mapping.class_name(each.name), of=mapping.class_name(each.of) if each.of else ""
            )
            for number, each in self.types.items()
        }
        self.fields = {
            number: Field(mapping.field_name(each.owner, each.name), mapping.class_name(each.owner))
            for number, each in self.fields.items()
        }

    @property
    def mapping(self) -> Mapping:
        """The names from a build's mapping, if there is one."""
        return self._mapping or Mapping()

    def warnings(self) -> list[FileWarning]:
        """Where names come from."""
        return [] if self._mapping is None else self._mapping.warnings()

    def fields_of(self, type_: Type, most: int) -> list[int]:
        """The ids of the fields of a type's objects, in the order of their references: its own, then those of its
        superclass and so on. At most ``most``, because a chain of classes could have millions.
        """
        found = type_.fields[:most]
        seen = {type_.id}
        here = self._declaring_above(type_)
        while here is not None and here.id not in seen and len(found) < most:
            seen.add(here.id)
            found += here.fields[: most - len(found)]
            here = self._declaring_above(here)
        return found

    def circle_count(self) -> int:
        """The number of cycles of types and superclasses."""
        seen_from: dict[int, int] = {}
        circles = 0
        for first in self.types:
            here = first
            # 0 is no superclass
            while here and here in self.types and here not in seen_from:
                seen_from[here] = first
                here = self.types[here].superclass
            circles += seen_from.get(here) == first
        return circles

    def missing_superclasses(self) -> int:
        """The number of types whose superclass the file doesn't have."""
        above = [each.superclass for each in self.types.values()]
        # 0 is no superclass
        return sum(number != 0 and number not in self.types for number in above)

    def _declaring_above(self, type_: Type) -> Type | None:
        """The nearest superclass of a type that declares fields, if there is one."""
        passed: list[int] = []
        here = type_
        while here.id not in self._above:
            passed.append(here.id)
            # until it is known; a cycle of classes without fields ends here
            self._above[here.id] = None
            above = self.types.get(here.superclass)
            if above is None or above.fields:
                self._above[here.id] = above
                break
            here = above
        found = self._above[here.id]
        self._above.update(dict.fromkeys(passed, found))
        return found

    def type_or_unknown(self, number: int) -> Type:
        """A type by the file's id; a placeholder if the file doesn't have it."""
        known = self.types.get(number)
        return Type(number, _UNKNOWN, "", 0, 0, 0, 0, 0, []) if known is None else known

    def _apply(self, said: Deobfuscation) -> None:
        """Apply the names in the trace's packets, each to the classes of one app."""
        if not said:
            return
        renames = {
            number: said.of(self._locations.get(each.location, "")) for number, each in self.types.items()
        }
        # a field has its class only by name
        owners: dict[str, Renames] = {}
        for number, known in self.types.items():
            owners.setdefault(known.of or known.name, renames[number])
        self.fields = {
            number: Field(*owners.get(each.owner, said.of_any).field(each.owner, each.name))
            for number, each in self.fields.items()
        }
        self.types = {
            number: each._replace(name=renames[number].name(each.name), of=renames[number].name(each.of))
            for number, each in self.types.items()
        }


def _type_of(said: list[tuple[int, int | bytes]]) -> Type:
    numbers = {field: value for field, value in said if isinstance(value, int)}
    name = next((value for field, value in said if field == 3 and isinstance(value, bytes)), b"")
    declared: list[int] = []
    for field, value in said:
        if field == 6:
            declared += [value] if isinstance(value, int) else kernel.packed(value)
    own, of = name.decode("utf-8", "replace"), ""
    if own.startswith(f"{CLASS}<") and own.endswith(">"):
        own, of = CLASS, own[len(CLASS) + 1 : -1]
    number, location, size, superclass, kind, loader = (numbers.get(field, 0) for field in (1, 2, 4, 5, 7, 8))
    return Type(number, own, of, location, size, superclass, kind, loader, declared)
