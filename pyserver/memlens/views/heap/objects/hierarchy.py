"""Classes and those that extend them, by name."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.graph import NONE
from memlens.packs import registry
from memlens.store.hierarchy import Hierarchy, hierarchy_of
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import in_a_row, phrase
from memlens.views.heap.objects.fields import MOST_NAME
from memlens.views.heap.objects.rows import plain_type_names, type_names
from memlens.views.selection.expressions import Expression
from memlens.views.selection.texts import Pattern, either_fits

_MOST_SHOWN = 100


class ClassRow(Struct, frozen=True):
    """A class. ``type`` is the number of the type of its instances; None if the dump has no such type."""

    type: int | None
    object: int
    name: str


def known_hierarchy(snapshot: Snapshot) -> Hierarchy:
    """Return the class hierarchy of a dump. Raises :class:`BadRequestError` if the dump has none."""
    found = hierarchy_of(snapshot)
    if not found.is_known:
        raise BadRequestError(
            phrase("The heap dump doesn't say which classes extend which"),
            advice=phrase(
                "These do: {formats}.",
                formats=in_a_row(
                    [
                        each.title
                        for each in registry.all_formats()
                        if each.objects and each.objects.classes.says_superclasses
                    ],
                    ", ",
                ),
            ),
        )
    return found


def extending(snapshot: Snapshot, patterns: Sequence[Pattern | Expression]) -> Mask:
    """Return a mask of the types whose class or one of its superclasses has a name that matches.

    Raises :class:`BadRequestError` if the dump doesn't say which classes extend which.
    """
    known, own = known_hierarchy(snapshot), snapshot.types.object
    full, plain = class_names(snapshot), class_names(snapshot, with_modules=False)
    fits = either_fits(patterns, list(full.values()), list(plain.values()))
    chosen = [number for number, it_fits in zip(full, fits.tolist(), strict=True) if it_fits]
    found = either_fits(patterns, type_names(snapshot), plain_type_names(snapshot))
    if own is not None:
        found |= np.isin(own, np.array(list(known.below(chosen)), np.uint32))
    return found


def below_class(snapshot: Snapshot, name: str) -> list[tuple[int, str, int]]:
    """Return the classes of a name and their subclasses, as object, name and depth below, the nearest first.

    Names are without modules.

    Raises :class:`BadRequestError` if the dump has no class hierarchy.
    """
    known, names = known_hierarchy(snapshot), class_names(snapshot, with_modules=False)
    found = known.below([number for number, each in names.items() if each == name])
    return [(number, names[number], steps) for number, steps in found.items()]


def extended(snapshot: Snapshot, number: int) -> list[ClassRow]:
    """Return the superclasses of a class, or of an object's class, the nearest first; at most 100, none if unknown."""
    known = hierarchy_of(snapshot)
    if number in known:
        return _above(snapshot, known, number)
    return extended_by_type(snapshot, int(snapshot.objects.type[number]))


def extended_by_type(snapshot: Snapshot, kind: int) -> list[ClassRow]:
    """Return the superclasses of a type's class, as :func:`extended` does."""
    own = snapshot.types.object
    number = NONE if own is None else int(own[kind])
    return [] if number == NONE else _above(snapshot, hierarchy_of(snapshot), number)


@kept
def class_names(snapshot: Snapshot, *, with_modules: bool = True) -> dict[int, str]:
    """Return the name of each class object by its number: that of its type, else its own."""
    known = _types_of_classes(snapshot)
    classes = hierarchy_of(snapshot).classes
    names = type_names(snapshot) if with_modules else plain_type_names(snapshot)
    alone = np.array([number for number in classes if number not in known], np.int64)
    own = snapshot.strings.some(snapshot.objects.name[alone].tolist())
    texts = dict(zip(alone.tolist(), snapshot.objects.name[alone].tolist(), strict=True))
    return {
        number: (names[known[number]] if number in known else own[texts[number]])[:MOST_NAME]
        for number in classes
    }


@kept
def _types_of_classes(snapshot: Snapshot) -> dict[int, int]:
    """Return the first type of each class object."""
    own = snapshot.types.object
    numbers = [] if own is None else own.tolist()
    return {number: kind for kind, number in reversed(list(enumerate(numbers))) if number != NONE}


def _above(snapshot: Snapshot, known: Hierarchy, number: int) -> list[ClassRow]:
    found: list[int] = []
    for each in known.above(number):
        found.append(each)
        if len(found) == _MOST_SHOWN:
            break
    return [row for row in _rows(snapshot, found) if row.name]


def _rows(snapshot: Snapshot, numbers: list[int]) -> list[ClassRow]:
    types, names = _types_of_classes(snapshot), class_names(snapshot)
    return [ClassRow(types.get(number), number, names[number]) for number in numbers]
