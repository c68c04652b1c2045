"""What a recording says of the fields of its events and constants, compiled into programs of the kernel.

A metadata event is a list of strings and a tree of elements with attributes, whose names and values are numbers of
strings. A ``class`` has a name, an id and ``field`` elements; a field has the id of its type and says whether it is an
array, and whether its value is the key of a constant. Source: ``jdk.jfr.internal.MetadataReader`` of OpenJDK.
"""

from array import array
from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from memlens.arrays import I32, U32
from memlens.formats.errors import DamagedSnapshotError
from memlens.packs.jvm.flight.kernels import flight as kernel
from memlens.texts import phrase

_PRIMITIVES = {
    "long": kernel.LONG,
    "int": kernel.INT,
    "short": kernel.SHORT,
    "char": kernel.SHORT,
    "byte": kernel.BYTE,
    "boolean": kernel.BYTE,
    "float": kernel.FLOAT,
    "double": kernel.DOUBLE,
    "java.lang.String": kernel.STRING,
}
_MOST_STRINGS = 1 << 20
_MOST_ELEMENTS = 1 << 20
_MOST_DEPTH = 8
"""Structures within structures; those of virtual machines have two."""

_MOST_STEPS = 1 << 12
"""Of one program."""
_MOST_NAME = 200
"""Characters of a field's name; all that are asked for are shorter, and paths have several."""
_LEAST_WORK, _WORK_OF_FIELD = 1 << 8, 8
"""How many fields all programs of a chunk may go through: so many, and more by the fields that it describes."""


class Field(NamedTuple):
    """A field of an event or a constant; ``type`` is the id of its type."""

    name: str
    type: int
    is_array: bool
    is_constant: bool


class Type(NamedTuple):
    """A type by its name, as ``jdk.OldObjectSample``."""

    name: str
    fields: tuple[Field, ...]


class Reader:
    """Reads numbers and strings of a recording one by one."""

    def __init__(self, data: bytes, at: int, *, is_compressed: bool, start: int = 0) -> None:
        self.data, self.at, self.is_compressed = data, at, is_compressed
        self.start = start
        """Where ``data`` begins in the file, for errors."""

    def number(self, width: int = 8) -> int:
        """Read an unsigned integer of up to ``width`` bytes. Raises DamagedSnapshotError."""
        data, at = self.data, self.at
        if not self.is_compressed:
            self.at += width
            if self.at > len(data):
                raise self.damage()
            return int.from_bytes(data[at : self.at], "big")
        found = shift = 0
        while True:
            if at >= len(data):
                raise self.damage()
            byte = data[at]
            at += 1
            if shift == 56:
                found |= byte << 56
                break
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        self.at = at
        return found

    def text(self) -> str | int | None:
        """Read a string; the key of a constant if it is one, None for null. Raises DamagedSnapshotError."""
        form = self.byte()
        if form in (0, 1):
            return "" if form else None
        if form == 2:
            return self.number()
        count = self.number(4)
        if form in (3, 5):
            at, self.at = self.at, self.at + count
            if self.at > len(self.data):
                raise self.damage()
            return self.data[at : self.at].decode("utf-8" if form == 3 else "latin-1", "replace")
        if form != 4 or count > len(self.data) - self.at:
            raise self.damage()
        units = b"".join((self.number(2) & 0xFFFF).to_bytes(2, "little") for _ in range(count))
        return units.decode("utf-16-le", "replace")

    def byte(self) -> int:
        """Read a byte. Raises DamagedSnapshotError."""
        if self.at >= len(self.data):
            raise self.damage()
        self.at += 1
        return self.data[self.at - 1]

    def damage(self) -> DamagedSnapshotError:
        """The error of what can't be read here."""
        return DamagedSnapshotError(
            phrase("The recording's description of its events is damaged"), offset=self.start + self.at
        )


def types_of(reader: Reader) -> dict[int, Type]:
    """Read the types of a metadata event, from its strings on, by their ids. Raises DamagedSnapshotError."""
    count = reader.number(4)
    if count > _MOST_STRINGS:
        raise reader.damage()
    strings = [text if isinstance(text := reader.text(), str) else "" for _ in range(count)]
    found: dict[int, Type] = {}
    left = _MOST_ELEMENTS

    def string() -> str:
        number = reader.number(4)
        if number >= len(strings):
            raise reader.damage()
        return strings[number]

    # a loop in place of recursion: how many children each open element still has
    open_elements = [1]
    current: tuple[int, str, list[Field]] | None = None
    depth_of_class = 0
    while open_elements:
        children = open_elements.pop()
        if not children:
            if current is not None and len(open_elements) < depth_of_class:
                found[current[0]] = Type(current[1], tuple(current[2]))
                current = None
            continue
        open_elements.append(children - 1)
        left -= 1
        if left < 0:
            raise reader.damage()
        name = string()
        attributes = {string(): string() for _ in range(reader.number(4))}
        if name == "class" and current is None:
            current = (_integer(attributes, "id"), attributes.get("name", ""), [])
            depth_of_class = len(open_elements) + 1
        elif name == "field" and current is not None and len(open_elements) == depth_of_class:
            current[2].append(
                Field(
                    attributes.get("name", "")[:_MOST_NAME],
                    _integer(attributes, "class"),
                    _integer(attributes, "dimension") > 0,
                    attributes.get("constantPool") == "true",
                )
            )
        open_elements.append(reader.number(4))
    return found


def _integer(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


class Programs(Struct):
    """Compiles types into programs, each of which fills columns of rows."""

    types: Mapping[int, Type]
    steps: "array[int]" = field(default_factory=lambda: array("i"))
    """Three numbers each."""
    starts: list[int] = field(default_factory=lambda: [0])
    _items: dict[int, int] = field(default_factory=dict)
    _made: dict[tuple[int, tuple[str, ...]], int] = field(default_factory=dict)
    _work: int = 0
    _most_work: int = 0

    def __post_init__(self) -> None:
        self._most_work = _LEAST_WORK + _WORK_OF_FIELD * sum(len(each.fields) for each in self.types.values())

    def program(self, type_id: int, columns: Mapping[str, int]) -> int:
        """Return the program of a type whose fields, by their paths such as ``root.type``, go to ``columns``.

        Raises DamagedSnapshotError for a type that contains itself, or that is unknown.
        """
        key = type_id, tuple(columns)
        if key not in self._made:
            steps: list[tuple[int, int, int]] = []
            self._add(steps, type_id, "", columns, 0)
            self._made[key] = self._put(steps)
        return self._made[key]

    def _put(self, steps: list[tuple[int, int, int]]) -> int:
        self.steps.extend(chain.from_iterable(steps))
        self.starts.append(len(self.steps) // 3)
        return len(self.starts) - 2

    def items(self, type_id: int, name: str) -> int | None:
        """The type of the items of an array of a type; None if it has no such array."""
        found = self.types.get(type_id)
        fields = found.fields if found is not None else ()
        return next((each.type for each in fields if each.name == name and each.is_array), None)

    def arrays(self) -> tuple[I32, U32]:
        """The programs, for the kernel."""
        return np.array(self.steps, np.int32).reshape(-1, 3), np.array(self.starts, np.uint32)

    def _add(
        self,
        steps: list[tuple[int, int, int]],
        type_id: int,
        path: str,
        columns: Mapping[str, int],
        depth: int,
    ) -> None:
        known = self.types.get(type_id)
        if known is None or depth > _MOST_DEPTH or len(steps) > _MOST_STEPS:
            raise DamagedSnapshotError(phrase("The recording's description of its events is inconsistent"))
        primitive = _PRIMITIVES.get(known.name)
        if primitive is not None:
            steps.append((primitive, columns.get(path, kernel.NOWHERE), 0))
            return
        self._work += 1 + len(known.fields)
        if self._work > self._most_work:
            raise DamagedSnapshotError(phrase("The recording's description of its events is inconsistent"))
        for each in known.fields:
            inner = f"{path}.{each.name}" if path else each.name
            if each.is_array:
                steps.append((kernel.ARRAY, columns.get(inner, kernel.NOWHERE), self._item(each, depth)))
            elif each.is_constant:
                steps.append((self._constant(each.type), columns.get(inner, kernel.NOWHERE), 0))
            else:
                self._add(steps, each.type, inner, columns, depth + 1)

    def _constant(self, type_id: int) -> int:
        known = self.types.get(type_id)
        # a string says itself whether it is a constant
        return kernel.STRING if known is not None and known.name == "java.lang.String" else kernel.LONG

    def _item(self, array: Field, depth: int) -> int:
        """The program of an array's items, which are passed over."""
        key = -array.type - 1 if array.is_constant else array.type
        if key not in self._items:
            steps: list[tuple[int, int, int]] = []
            if array.is_constant:
                steps.append((self._constant(array.type), kernel.NOWHERE, 0))
            else:
                self._add(steps, array.type, "", {}, depth + 1)
            self._items[key] = self._put(steps)
        return self._items[key]
