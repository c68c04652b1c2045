"""Rows of answers about objects and references, made for many at once."""

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
"""Limit on the rows of one answer."""


class ObjectRow(Struct, frozen=True):
    """An object. ``object`` is its number in the file, ``id`` the file's own id or address."""

    object: int
    id: int
    type: str
    name: str
    """Its own name or a string's text, cut after 1,000 characters; without a name, its value if known."""
    shallow_bytes: int
    retained_bytes: int
    dominator: int | None
    """The number of its immediate dominator; None if that isn't an object."""
    distance: int | None
    """The least number of references from a root; None if it is unreachable."""
    flags: list[str]
    space: str | None
    """The heap or generation that it is in, if the dump has them."""
    file: str | None
    """Where it or its class is defined, else where it was allocated, if known."""
    line: int | None
    """None also if the file is inferred from a class name."""
    native_bytes: int | None
    """Memory outside of the heap that it owns; None if the dump records no such memory."""
    native_retained_bytes: int | None
    """Memory outside of the heap that it and the objects it dominates own."""


class ReferenceRow(Struct, frozen=True):
    """A reference. ``name`` is a field's name or an index: ``[3]``, or ``[?]`` if unknown.

    ``object`` is the object at its other end.
    """

    kind: str
    name: str
    object: ObjectRow
    strength: str
    """``strong``, or how the reference is weak."""
    is_unread: bool
    """Whether it is a closure's variable that no code can read any more."""


def id_text(own_id: int, kind: str) -> str:
    """Return an object's id as :func:`object_id` parses it: a number if engines number objects, else an address."""
    return f"@{own_id}" if registry.objects_of(kind).lasting_ids is not None else f"@{own_id:#x}"


def page(offset: int, limit: int) -> slice:
    """Return the slice of the requested rows. Raises :class:`BadRequestError`."""
    if offset < 0 or not 0 < limit <= MOST_ROWS:
        raise BadRequestError(
            phrase("A page has 1 to {most} rows and begins with row 0 or later", most=MOST_ROWS)
        )
    return slice(offset, offset + limit)


def check_object(snapshot: Snapshot, number: int) -> int:
    """Return the number of an object. Raises :class:`BadRequestError` if there is no such object."""
    if not 0 <= number < graph_of(snapshot.info).objects:
        raise BadRequestError(phrase("The heap dump has no object number {number}", number=number))
    return number


def check_objects(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Return the numbers of some objects. Raises as :func:`check_object`."""
    for number in (numbers.min(), numbers.max()) if len(numbers) else ():
        check_object(snapshot, int(number))
    return numbers


@kept
def type_names(snapshot: Snapshot) -> list[str]:
    """Return the name of each type, with its module unless that is part of the name.

    Modules known only by address are appended only to names that several types have.
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
    """Return the name of each type without its module, as in SQL."""
    return snapshot.strings.texts(snapshot.types.name)


def object_rows(snapshot: Snapshot, numbers: Numbers | Sequence[int]) -> list[ObjectRow]:
    """Return the rows of some objects."""
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
    """Return the memory outside of the heap that each object owns and retains."""
    if not has_native(snapshot):
        return [(None, None)] * len(chosen)
    own, retained = native_bytes(snapshot, chosen)
    return list(zip(own.tolist(), retained.tolist(), strict=True))


def _places(snapshot: Snapshot, chosen: Numbers) -> list[Definition | tuple[None, None]]:
    """Return file and line of each object's definition, else of its allocation."""
    frames = place_frames(snapshot.objects, snapshot.stacks.label, chosen)
    known = places_of(snapshot, frames[frames != NEVER].tolist())
    return [known.get(frame, (None, None)) for frame in frames.tolist()]


def reference_rows(snapshot: Snapshot, references: Numbers, others: Numbers) -> list[ReferenceRow]:
    """Return the rows of some references, each with the object at its other end."""
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
    """Return the number of the object with an id. Raises :class:`BadRequestError` if there is none."""
    known = 0 <= own_id < 2**64
    found = np.flatnonzero(snapshot.objects.id == np.uint64(own_id if known else 0))
    if not known or not len(found):
        asked = id_text(own_id, snapshot.info.kind).removeprefix("@")
        raise BadRequestError(phrase("The heap dump has no object with the id {id}", id=asked))
    return int(found[0])
