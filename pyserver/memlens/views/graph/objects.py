"""One object: what it refers to and what refers to it, what dominates it and what it dominates."""

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.graph import ENTRY, VALUE_KINDS
from memlens.model.spans import spans
from memlens.store.manifest import InconsistentError
from memlens.store.objects.columns import ObjectColumns, ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Frame
from memlens.views.graph.contents import count_of, some_contents
from memlens.views.graph.fields import number_array, value_of, value_text
from memlens.views.graph.groupings import DOMINATORS, Form, group_of
from memlens.views.graph.hierarchy import ClassRow, extended
from memlens.views.graph.images import EqualImages, ImageRow, equal_images, image_row
from memlens.views.graph.rows import (
    MOST_NAME,
    Numbers,
    ObjectRow,
    ReferenceRow,
    check_object,
    id_text,
    object_rows,
    page,
    plain_type_names,
    reference_rows,
    references_of,
    referrers_of,
)  # fmt: skip
from memlens.views.lines.stack import stack_frames

_AT_ONCE = 1 << 20
"""References that are looked at together."""
_MOST_ELEMENTS = 16


class FieldRow(Struct, frozen=True):
    """A field that isn't a reference; of an array of numbers its length, and an element."""

    name: str
    kind: str
    value: str


MOST_LISTED = 1_000
"""Of an object's roots and fields, of which those of a program have a few."""


class RootRow(Struct, frozen=True):
    """What makes an object a root."""

    kind: str
    detail: str
    file: str | None
    line: int | None


class ObjectAnswer(Struct, frozen=True):
    """An object with the first of everything about it, and how many there are."""

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
    """What a collection contains, see :func:`contents`."""
    contents_total: int
    dominator: ObjectRow | None
    dominated: list[ObjectRow]
    dominated_total: int
    allocated: list[Frame]
    """The stack that allocated it, innermost first; empty if it isn't known."""
    group: int
    """Its group of the dominator tree, see :func:`memlens.views.graph.groupings.located`."""
    image: ImageRow | None
    """Its size where it is an image, see :mod:`memlens.views.graph.images`."""
    equal_images: EqualImages
    extends: list[ClassRow]
    """What its class extends, or what it extends if it is a class, the nearest first."""


def number_of(snapshot: Snapshot, own_id: int) -> int:
    """The number of the object that has an id in the file. Raises :class:`BadRequestError` where there is none."""
    known = 0 <= own_id < 2**64
    found = np.flatnonzero(snapshot.objects.id == np.uint64(own_id if known else 0))
    if not known or not len(found):
        asked = id_text(own_id, snapshot.info.kind).removeprefix("@")
        raise BadRequestError(phrase("The heap dump has no object with the id {id}", id=asked))
    return int(found[0])


def describe(snapshot: Snapshot, number: int, limit: int = 100, form: Form = DOMINATORS) -> ObjectAnswer:
    """An object by its number, with ``limit`` of its references at most, and its group of a tree.

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
    """What an object refers to, in the file's order, and how many references there are."""
    rows, stored = page(offset, limit), snapshot.references
    check_object(snapshot, number)
    own = references_of(snapshot, number)
    numbers, targets = np.arange(own.start, own.stop), stored.items(ReferenceColumns.target, own)
    return reference_rows(snapshot, numbers[rows], targets[rows]), len(numbers)


def referrers(
    snapshot: Snapshot, number: int, offset: int = 0, limit: int = 100
) -> tuple[list[ReferenceRow], int]:
    """The references to an object, by their sources, and how many there are."""
    rows, stored = page(offset, limit), snapshot.references
    check_object(snapshot, number)
    every = stored.items(ReferenceColumns.referrer, referrers_of(snapshot, number))
    sources = every[rows]
    chosen, counts = np.unique(sources, return_counts=True)
    # a source stands as often as it refers to the object; some of that may be on the page before
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
    """What a collection contains, and how much that is; nothing for another object.

    Elements have their index as a name, entries of maps their key, and their value as the object. What is null isn't
    listed, but counts; of an entry without a value the object is its key.
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
            # without its class loader, behind which the id would be cut
            type_name = plain_type_names(snapshot)[int(snapshot.objects.type[key])]
            name = rows[key].name or f"{type_name} {id_text(rows[key].id, snapshot.info.kind)}"
            kind = ENTRY if value is not None else "key without a value"
            listed.append(ReferenceRow(kind, name, rows[key if value is None else value], "strong", False))
    return listed, count_of(snapshot, number) if found else offset


def references_between(snapshot: Snapshot, source: int, target: int) -> Numbers:
    """The numbers of the references from one object to another."""
    own = references_of(snapshot, source)
    found: Numbers = own.start + np.flatnonzero(
        snapshot.references.items(ReferenceColumns.target, own) == target
    )
    return found


def first_references(snapshot: Snapshot, sources: Numbers, targets: Numbers) -> Numbers:
    """The number of the first reference from each of some objects to each of as many others, to which it refers."""
    stored = snapshot.references
    if not len(sources):
        return np.empty(0, np.int64)
    is_target = np.zeros(len(snapshot.objects.type), np.bool_)
    is_target[targets] = True
    distinct, of = np.unique(sources, return_inverse=True)
    starts, ends = (stored.start[distinct + after].astype(np.int64) for after in (0, 1))
    widths = np.cumsum(ends - starts)
    found: list[tuple[Numbers, Numbers]] = []
    begin = 0
    while begin < len(distinct):
        # so many objects that their references are few, or one
        before = int(widths[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(widths, before + _AT_ONCE)))
        counts = (ends - starts)[begin:end]
        rows = spans(starts[begin:end], counts)
        own = np.repeat(np.arange(begin, end), counts)
        hit = is_target[stored.target[rows]]
        found.append((own[hit] << 32 | stored.target[rows[hit]], rows[hit]))
        begin = end
    keys, rows = (np.concatenate([part[which] for part in found]) for which in (0, 1))
    keys, first = np.unique(keys, return_index=True)
    places: Numbers = rows[first[np.searchsorted(keys, of << 32 | targets)]]
    return places


def dominated(
    snapshot: Snapshot, number: int | None, offset: int = 0, limit: int = 100
) -> tuple[list[ObjectRow], int]:
    """What an object immediately dominates, the largest first, and how many there are; None for what no object does."""
    rows, objects = page(offset, limit), snapshot.objects
    holder = len(objects.type) if number is None else check_object(snapshot, number)
    first, last = map(int, objects.items(ObjectColumns.dominated_start, slice(holder, holder + 2)))
    below = objects.items(ObjectColumns.dominated, np.arange(first, last)[rows])
    return object_rows(snapshot, below), last - first


def roots_of(snapshot: Snapshot, number: int) -> tuple[list[RootRow], int]:
    """What makes an object a root, each once, and how much that is: a thread is that first, whatever else holds it.

    Of what there is more than ``MOST_LISTED`` of, the rest is counted and may contain the same several times.
    """
    rows, kinds = snapshot.objects.roots, snapshot.graph_names.root_kinds
    # NumPy would go through the table of as many rows as there are roots several times as long as through a column
    objects = snapshot.keep("objects of roots", lambda: np.ascontiguousarray(rows["object"]))
    own = rows[objects == number]
    is_thread = np.array([kind == "thread" for kind in kinds], np.bool_)[own["kind"]]
    listed = own[np.argsort(~is_thread, kind="stable")[:MOST_LISTED]]
    known = len(snapshot.frames)
    places = snapshot.frames.rows(frame for frame in listed["frame"].tolist() if frame < known)
    found: dict[RootRow, None] = {}
    for _, kind, detail, frame in listed.tolist():
        file, line, _, _ = places.get(frame, ("", 0, "", 0))
        root = RootRow(
            kinds[kind], snapshot.strings.head(detail, MOST_NAME), file or None, line if line > 0 else None
        )
        found[root] = None
    return list(found), len(own) - len(listed) + len(found)


def _fields(snapshot: Snapshot, number: int) -> tuple[list[FieldRow], int]:
    """The first fields, and how many there are."""
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
    """How long an array of numbers is, and its first elements."""
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
