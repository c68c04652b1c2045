"""Objects and references in words, many at once."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.graph import NONE
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.models import graph_of
from memlens.store.objects.columns import ObjectColumns
from memlens.store.objects.places import place_frames
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects import fields
from memlens.views.heap.objects.contents import words_of
from memlens.views.heap.objects.definitions import Definition, places_of
from memlens.views.heap.objects.native_memory import has_native, native_bytes
from memlens.views.heap.objects.unread_variables import are_unread

Numbers = fields.Numbers
MOST_NAME = fields.MOST_NAME

MOST_ROWS = 1_000
"""Rows of one answer."""


class ObjectRow(Struct, frozen=True):
    """An object. ``object`` is its number in the file, ``id`` the file's own id or address."""

    object: int
    id: int
    type: str
    name: str
    """Its own name, a string's text; cut after 1,000 characters. Of one without a name its value, if that is known."""
    shallow_bytes: int
    retained_bytes: int
    dominator: int | None
    """The number of its immediate dominator; None where that isn't an object."""
    distance: int | None
    """The least number of references from a root; None where no root reaches it."""
    flags: list[str]
    space: str | None
    """The heap or generation that it is in, where the dump says that."""
    file: str | None
    """Where it or its class is defined, else where it was allocated, where one of these is known."""
    line: int | None
    """None also where only the file is inferred, from the name of a class."""
    native_bytes: int | None
    """Memory outside of the heap that it owns; None in dumps that say so of no object."""
    native_retained_bytes: int | None
    """That and what of it the objects own that it dominates."""


class ReferenceRow(Struct, frozen=True):
    """A reference: ``name`` is a field's name, or an index as ``[3]``, ``[?]`` where the file doesn't know it.

    ``object`` is what is at its other end.
    """

    kind: str
    name: str
    object: ObjectRow
    strength: str
    """``strong``, or how the reference is weak."""
    is_unread: bool
    """Whether it is a variable of a closure that no code can read any more."""


def id_text(own_id: int, kind: str) -> str:
    """An object's id as :func:`object_id` reads it: of engines that number objects the number, else the address."""
    return f"@{own_id}" if registry.objects_of(kind).lasting_ids is not None else f"@{own_id:#x}"


def page(offset: int, limit: int) -> slice:
    """The rows to answer. Raises :class:`BadRequestError`."""
    if offset < 0 or not 0 < limit <= MOST_ROWS:
        raise BadRequestError(
            phrase("A page has 1 to {most} rows and begins with row 0 or later", most=MOST_ROWS)
        )
    return slice(offset, offset + limit)


def check_object(snapshot: Snapshot, number: int) -> int:
    """The number of an object. Raises :class:`BadRequestError` if there is no such object."""
    if not 0 <= number < graph_of(snapshot.info).objects:
        raise BadRequestError(phrase("The heap dump has no object number {number}", number=number))
    return number


def check_objects(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """The numbers of some objects. Raises as :func:`check_object`."""
    for number in (numbers.min(), numbers.max()) if len(numbers) else ():
        check_object(snapshot, int(number))
    return numbers


@kept
def type_names(snapshot: Snapshot) -> list[str]:
    """The name of each type, with its module where that isn't part of the name.

    A module that the dump has no name for but an address tells types of one name from each other, and nothing else.
    """
    types, strings = snapshot.types, snapshot.strings
    names = strings.texts(types.name)
    if types.module is None:
        return names
    modules = strings.texts(types.module)
    twins = {name for name, count in Counter(names).items() if count > 1}
    return [
        f"{name} ({module})" if module and (name in twins or not module.startswith("Module(0x")) else name
        for name, module in zip(names, modules, strict=True)
    ]


@kept
def plain_type_names(snapshot: Snapshot) -> list[str]:
    """The name of each type as SQL has it, without its module."""
    return snapshot.strings.texts(snapshot.types.name)


def object_rows(snapshot: Snapshot, numbers: Numbers | Sequence[int]) -> list[ObjectRow]:
    """Some objects in words."""
    chosen = np.asarray(numbers, np.int64)
    objects, names, labels = snapshot.objects, type_names(snapshot), snapshot.graph_names
    flags = np.zeros(len(chosen), np.uint8) if objects.flags is None else objects.flags[chosen]
    spaces = [None] * len(chosen) if objects.space is None else objects.space[chosen].tolist()
    columns = (
        chosen, objects.items(ObjectColumns.id, chosen), objects.items(ObjectColumns.type, chosen),
        objects.items(ObjectColumns.name, chosen), objects.items(ObjectColumns.shallow, chosen),
        objects.items(ObjectColumns.retained, chosen), objects.items(ObjectColumns.dominator, chosen),
        objects.items(ObjectColumns.distance, chosen), flags,
    )  # fmt: skip
    places, natives = _places(snapshot, chosen), _natives(snapshot, chosen)
    return [
        ObjectRow(
            number, own_id, names[kind], snapshot.strings.head(name, MOST_NAME) if name else words_of(snapshot, number),
            shallow, retained,
            None if dominator == NEVER else dominator, None if distance == NEVER else distance,
            [flag for bit, flag in enumerate(labels.flags) if bits >> bit & 1],
            None if space is None else labels.spaces[space], *places[row], *natives[row],
        )
        for row, (number, own_id, kind, name, shallow, retained, dominator, distance, bits, space) in enumerate(
            zip(*(column.tolist() for column in columns), spaces, strict=True)
        )
    ]  # fmt: skip


def _natives(snapshot: Snapshot, chosen: Numbers) -> list[tuple[int, int]] | list[tuple[None, None]]:
    """What each object owns and retains outside of the heap."""
    if not has_native(snapshot):
        return [(None, None)] * len(chosen)
    own, retained = native_bytes(snapshot, chosen)
    return list(zip(own.tolist(), retained.tolist(), strict=True))


def _places(snapshot: Snapshot, chosen: Numbers) -> list[Definition | tuple[None, None]]:
    """File and line of each object's definition, else of its allocation."""
    frames = place_frames(snapshot.objects, snapshot.stacks.label, chosen)
    known = places_of(snapshot, frames[frames != NEVER].tolist())
    return [known.get(frame, (None, None)) for frame in frames.tolist()]


def reference_rows(snapshot: Snapshot, references: Numbers, others: Numbers) -> list[ReferenceRow]:
    """Some references (by number) in words, each with an object at an end of it."""
    stored, kinds = snapshot.references, snapshot.graph_names.reference_kinds
    ends = object_rows(snapshot, others)
    columns = (stored.kind[references], stored.name[references], are_unread(snapshot, references))
    rows = []
    for kind_number, name, is_unread, end in zip(*(column.tolist() for column in columns), ends, strict=True):
        kind = kinds[kind_number]
        rows.append(
            ReferenceRow(kind.name, _name(snapshot, kind.naming, name), end, kind.strength, is_unread)
        )
    return rows


def _name(snapshot: Snapshot, naming: str, name: int) -> str:
    if naming == "index":
        return f"[{name}]" if name != NONE else "[?]"
    return snapshot.strings.head(name, MOST_NAME) if naming == "text" else ""


def number_of(snapshot: Snapshot, own_id: int) -> int:
    """The number of the object that has an id in the file. Raises :class:`BadRequestError` where there is none."""
    known = 0 <= own_id < 2**64
    found = np.flatnonzero(snapshot.objects.id == np.uint64(own_id if known else 0))
    if not known or not len(found):
        asked = id_text(own_id, snapshot.info.kind).removeprefix("@")
        raise BadRequestError(phrase("The heap dump has no object with the id {id}", id=asked))
    return int(found[0])
