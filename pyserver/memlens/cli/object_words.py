"""How commands describe an object of a heap dump in a line."""

import argparse

from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes, shortened
from memlens.views.heap.objects.rows import ObjectRow, ReferenceRow, id_text, number_of
from memlens.views.heap.objects.types import TypeRow

WIDEST_NAME = 80


def chosen_number(snapshot: Snapshot, options: argparse.Namespace) -> int:
    """Return the number of the object that the arguments select. Raises :class:`BadRequestError`."""
    if options.by_number:
        return int(options.object)
    return number_of(snapshot, options.object)


def words(row: ObjectRow, kind: str) -> str:
    """Describe an object of a ``kind`` of dump in a few words: ``Session @5143``."""
    name = shortened(row.name, WIDEST_NAME)
    return f"{row.type} {id_text(row.id, kind)}" + (f" {name!r}" if name and name != row.type else "")


def place(row: ObjectRow | TypeRow) -> str:
    """Return where an object or a type is defined, as a suffix of its description."""
    if row.file is None:
        return ""
    return f", defined in {row.file}" if row.line is None else f", defined at {row.file}:{row.line}"


def reference_words(row: ReferenceRow, kind: str) -> str:
    """Describe a reference and its other end."""
    weakness = "" if row.strength == "strong" else f", {row.strength}"
    unread = ", nothing reads it" if row.is_unread else ""
    name = f"{row.name} ({row.kind}{weakness}{unread})".lstrip()
    return f"{name}: {words(row.object, kind)}, {format_bytes(row.object.retained_bytes)} retained"
