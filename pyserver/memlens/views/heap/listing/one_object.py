"""One object: its references and referrers, its dominator, and the objects that it dominates."""

import numpy as np
from msgspec import Struct

from memlens.model.graph import ENTRY, VALUE_KINDS
from memlens.store.manifest import InconsistentError
from memlens.store.objects.columns import ObjectColumns, ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.answers import Frame
from memlens.views.heap.dominators.trees import DOMINATORS, Form, group_of
from memlens.views.heap.images.images import EqualImages, ImageRow, equal_images, image_row
from memlens.views.heap.objects.contents import count_of, some_contents
from memlens.views.heap.objects.fields import number_array, value_of, value_text
from memlens.views.heap.objects.hierarchy import ClassRow, extended
from memlens.views.heap.objects.references import references_between, references_of, referrers_of
from memlens.views.heap.objects.roots import MOST_LISTED, RootRow, roots_of
from memlens.views.heap.objects.rows import (
    MOST_NAME,
    ObjectRow,
    ReferenceRow,
    check_object,
    id_text,
    object_rows,
    page,
    plain_type_names,
    reference_rows,
)
from memlens.views.lines.stack import stack_frames

_MOST_ELEMENTS = 16


class FieldRow(Struct, frozen=True):
    """A field that isn't a reference; for an array of numbers, its length or an element."""

    name: str
    kind: str
    value: str


class ObjectAnswer(Struct, frozen=True):
    """An object, with the first rows and the totals of everything about it."""

    object: ObjectRow
    roots: list[RootRow]
    roots_total: int
    fields: list[FieldRow]
    fields_total: int
    references: list[ReferenceRow]
    references_total: int
    referrers: list[ReferenceRow]
    referrers_total: int
    contents: list[ReferenceRow]
    """The first contents of a collection, see :func:`contents`."""
    contents_total: int
    dominator: ObjectRow | None
    dominated: list[ObjectRow]
    dominated_total: int
    allocated: list[Frame]
    """The stack that allocated it, innermost first; empty if unknown."""
    group: int
    """Its group of the dominator tree, see :func:`memlens.views.heap.dominators.trees.located`."""
    image: ImageRow | None
    """Its size if it is an image, see :mod:`memlens.views.heap.images.images`."""
    equal_images: EqualImages
    extends: list[ClassRow]
    """The superclasses of its class, or its own if it is a class, nearest first."""


def describe(snapshot: Snapshot, number: int, limit: int = 100, form: Form = DOMINATORS) -> ObjectAnswer:
    """Return an object by its number, with at most ``limit`` rows of each list, and its group in a tree.

    Raises :class:`BadRequestError`.
    """
    check_object(snapshot, number)
    row = object_rows(snapshot, [number])[0]
    own, own_total = references(snapshot, number, 0, limit)
    incoming, incoming_total = referrers(snapshot, number, 0, limit)
    held, held_total = contents(snapshot, number, 0, limit)
    below, below_total = dominated(snapshot, number, 0, limit)
    stacks = snapshot.objects.stack
    roots, roots_total = roots_of(snapshot, number)
    fields, fields_total = _fields(snapshot, number)
    elements = _elements(snapshot, number)
    return ObjectAnswer(
        object=row,
        roots=roots,
        roots_total=roots_total,
        fields=fields + elements,
        fields_total=fields_total + len(elements),
        references=own,
        references_total=own_total,
        referrers=incoming,
        referrers_total=incoming_total,
        contents=held,
        contents_total=held_total,
        dominator=None if row.dominator is None else object_rows(snapshot, [row.dominator])[0],
        dominated=below,
        dominated_total=below_total,
        allocated=[] if stacks is None else stack_frames(snapshot, int(stacks[number])),
        group=group_of(snapshot, number, form),
        image=image_row(snapshot, number),
        equal_images=equal_images(snapshot, number),
        extends=extended(snapshot, number),
    )


def references(
    snapshot: Snapshot, number: int, offset: int = 0, limit: int = 100
) -> tuple[list[ReferenceRow], int]:
    """Return a page of an object's references in the file's order, and their number."""
    rows, stored = page(offset, limit), snapshot.references
    check_object(snapshot, number)
    own = references_of(snapshot, number)
    numbers, targets = np.arange(own.start, own.stop), stored.items(ReferenceColumns.target, own)
    return reference_rows(snapshot, numbers[rows], targets[rows]), len(numbers)


def referrers(
    snapshot: Snapshot, number: int, offset: int = 0, limit: int = 100
) -> tuple[list[ReferenceRow], int]:
    """Return a page of the references to an object, by source, and their number."""
    rows, stored = page(offset, limit), snapshot.references
    check_object(snapshot, number)
    every = stored.items(ReferenceColumns.referrer, referrers_of(snapshot, number))
    sources = every[rows]
    chosen, counts = np.unique(sources, return_counts=True)
    # a source is repeated for each of its references, and may begin on the page before
    before = int((every[: rows.start] == sources[0]).sum()) if len(sources) else 0
    found: list[int] = []
    for place, (source, count) in enumerate(zip(chosen.tolist(), counts.tolist(), strict=True)):
        skipped = 0 if place else before
        found += references_between(snapshot, source, number)[skipped : skipped + count].tolist()
    if len(found) != len(sources):
        raise InconsistentError("Objects that refer to another have other references")
    return reference_rows(snapshot, np.array(found, np.int64), sources), len(every)


def contents(
    snapshot: Snapshot, number: int, offset: int = 0, limit: int = 100
) -> tuple[list[ReferenceRow], int]:
    """Return a page of a collection's contents, and their number; nothing for other objects.

    Elements have their index as a name; entries of maps have their key as a name, and their value as the object. Nulls
    are counted but not listed. For an entry without a value, the object is its key.
    """
    page(offset, limit)
    found = some_contents(snapshot, check_object(snapshot, number), offset, limit)
    keys = {row.key for row in found if row.key is not None}
    ends = {row.value for row in found if row.value is not None}
    rows = {row.object: row for row in object_rows(snapshot, sorted(keys | ends))}
    listed = []
    for key, value, position in found:
        if key is None and value is not None:
            listed.append(ReferenceRow("element", f"[{position}]", rows[value], "strong", False))
        elif key is not None:
            # without its class loader: the name would be cut before the id
            type_name = plain_type_names(snapshot)[int(snapshot.objects.type[key])]
            name = rows[key].name or f"{type_name} {id_text(rows[key].id, snapshot.info.kind)}"
            kind = ENTRY if value is not None else "key without a value"
            listed.append(ReferenceRow(kind, name, rows[key if value is None else value], "strong", False))
    return listed, count_of(snapshot, number) if found else offset


def dominated(
    snapshot: Snapshot, number: int | None, offset: int = 0, limit: int = 100
) -> tuple[list[ObjectRow], int]:
    """Return a page of the objects that an object immediately dominates, the largest first, and their number.

    Pass None for the objects that no object dominates.
    """
    rows, objects = page(offset, limit), snapshot.objects
    holder = len(objects.type) if number is None else check_object(snapshot, number)
    first, last = map(int, objects.items(ObjectColumns.dominated_start, slice(holder, holder + 2)))
    below = objects.items(ObjectColumns.dominated, np.arange(first, last)[rows])
    return object_rows(snapshot, below), last - first


def _fields(snapshot: Snapshot, number: int) -> tuple[list[FieldRow], int]:
    """Return the first fields that aren't references, and their number."""
    fields, strings = snapshot.fields, snapshot.strings
    if fields is None:
        return [], 0
    start, end = int(fields.start[number]), int(fields.start[number + 1])
    own = slice(start, min(end, start + MOST_LISTED))
    rows = zip(fields.name[own].tolist(), fields.kind[own].tolist(), fields.bits[own].tolist(), strict=True)
    return [
        FieldRow(
            strings.head(name, MOST_NAME),
            VALUE_KINDS[kind],
            value_text(value_of(snapshot, VALUE_KINDS[kind], bits)),
        )
        for name, kind, bits in rows
    ], end - start


def _elements(snapshot: Snapshot, number: int) -> list[FieldRow]:
    """Return the length of an array of numbers, and its first elements, as fields."""
    row = number_array(snapshot, number)
    if row is None:
        return []
    kind = snapshot.strings.head(int(snapshot.types.name[int(snapshot.objects.type[number])]), MOST_NAME)[:-2]
    width, length = int(row["element_bytes"]), int(row["length"])
    head = row["head"].tobytes()
    found = [FieldRow("length", "int", str(length))]
    for place in range(min(length, len(head) // width, _MOST_ELEMENTS) if kind in VALUE_KINDS else 0):
        bits = int.from_bytes(head[place * width : (place + 1) * width], "big")
        found.append(FieldRow(f"[{place}]", kind, value_text(value_of(snapshot, kind, bits))))
    return found
