"""Reads fields of many Java objects at once, by their names in source code."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from memlens.arrays import I64, U32, U64, Mask
from memlens.model.graph import NONE, VALUE_KINDS, References, Types, Values
from memlens.packs.jvm.kernels import hprof_references as kernel

_INTEGERS = np.array([kind in ("boolean", "byte", "char", "short", "int", "long") for kind in VALUE_KINDS])


class Fields:
    """Looks fields up in the columns of a dump; ``text`` returns a text by its number, ``named`` the number of a text.

    Only requested fields are read: for a dump without the classes, only the names of its types.
    """

    def __init__(
        self,
        type_of: U32,
        types: Types,
        references: References,
        values: Values,
        text: Callable[[int], str],
        named: Callable[[str], int],
    ) -> None:
        self.type_of = type_of
        self.references = references
        self._types = types
        self._values = values
        self._text = text
        self._named_text = named

    @cached_property
    def _type_names(self) -> list[str]:
        return [self._text(number) for number in self._types.name.tolist()]

    @cached_property
    def _above(self) -> I64:
        """The type of each type's super class, -1 for none."""
        classes = self._types.object
        above = np.full(len(self._types), -1, np.int64)
        if classes is None:
            return above
        known = np.flatnonzero(classes != NONE)
        known = known[np.argsort(classes[known])]
        ordered = classes[known]
        owner, rows = _rows(self.references.start, ordered)
        is_super = self.references.kind[rows] == kernel.SUPER
        owner, targets = owner[is_super], self.references.target[rows[is_super]]
        at = np.minimum(np.searchsorted(ordered, targets), max(len(ordered) - 1, 0))
        is_class = ordered[at] == targets
        above[known[owner[is_class]]] = known[at[is_class]]
        return above

    def types(self, *names: str) -> Mask:
        """A mask of the types with one of these names, and of their subclasses."""
        found = np.fromiter((name in names for name in self._type_names), np.bool_, len(self._types))
        if not found.any():
            return found
        # pointer doubling; in damaged files a class may be its own superclass
        above = self._above
        for _ in range(len(above).bit_length()):
            known = above >= 0
            found |= known & found[above]
            above = np.where(known, above[above], -1)
        return found

    def instances(self, *names: str) -> I64:
        """The objects of these classes and of their subclasses, ascending."""
        types = self.types(*names)
        return np.flatnonzero(types[self.type_of]) if types.any() else np.empty(0, np.int64)

    def targets(self, objects: I64, *names: str, inherited: bool = False) -> I64:
        """Return the target of each object's first field with one of these names; NONE if null or missing.

        With ``inherited``, of the last one, which the topmost superclass declares: subclasses of the program may have a
        field of the same name. An item of ``objects`` may be NONE.
        """
        asked, of = _distinct(objects)
        found = np.full(len(asked) + 1, NONE, np.int64)
        owner, rows = _rows(self.references.start, asked)
        is_field = self.references.kind[rows] == kernel.FIELD
        rows, owner = self._named(rows, owner, is_field, self.references.name, names)
        order = slice(None, None, 1 if inherited else -1)
        found[owner[order]] = self.references.target[rows[order]]
        return found[of]

    def integers(self, objects: I64, name: str, absent: int = 0) -> I64:
        """Return each object's first field of this name; ``absent`` if missing or not an integer.

        An item of ``objects`` may be NONE.
        """
        asked, of = _distinct(objects)
        found = np.full(len(asked) + 1, absent, np.int64)
        owner, rows = _rows(self._values.start, asked)
        is_integer = _INTEGERS[self._values.kind[rows]]
        rows, owner = self._named(rows, owner, is_integer, self._values.name, (name,))
        bits = self._values.bits[rows].view(np.int64)
        found[owner[::-1]] = bits[::-1]
        return found[of]

    def elements(self, array: int) -> tuple[U32, I64]:
        """Return the indexes and the objects of the elements of an array that aren't null."""
        start, end = map(int, self.references.start[array : array + 2])
        rows = start + np.flatnonzero(self.references.kind[start:end] == kernel.ELEMENT)
        return self.references.name[rows], self.references.target[rows].astype(np.int64)

    def references_of(self, objects: I64) -> tuple[I64, I64]:
        """The references of some distinct objects: for each the place of its source in ``objects``, and its number."""
        return _rows(self.references.start, objects)

    def _named(
        self, rows: I64, owner: I64, chosen: Mask, column: U32, names: tuple[str, ...]
    ) -> tuple[I64, I64]:
        """Return the chosen rows with one of these names."""
        rows, owner = rows[chosen], owner[chosen]
        column, numbers = column[rows], [self._named_text(name) for name in names]
        fitting = column == numbers[0]
        for number in numbers[1:]:
            fitting |= column == number
        return rows[fitting], owner[fitting]


def _distinct(objects: I64) -> tuple[I64, I64]:
    """The distinct objects without NONE, and the place of each object among them; the last place for NONE.

    So an object's fields are read once, however many references lead to it.
    """
    asked, of = np.unique(objects, return_inverse=True)
    return asked[asked != NONE], of


def _rows(start: U64, objects: I64 | U32) -> tuple[I64, I64]:
    """The rows of some objects in columns sorted by object: for each row, its object's place and its number."""
    objects = objects.astype(np.int64)
    first = start[objects].astype(np.int64)
    counts = start[objects + 1].astype(np.int64) - first
    owner = np.repeat(np.arange(len(objects)), counts)
    before = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - np.repeat(before - first, counts)
