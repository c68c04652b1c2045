"""The thread locals of Java's threads: what the map of a thread's object holds for each key."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from memlens.arrays import Mask
from memlens.model.distinct import distinct
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.reference_kinds import kinds_where
from memlens.views.heap.objects.references import (
    references_between,
    references_of,
    references_of_all,
    referrers_of,
)
from memlens.views.heap.objects.rows import MOST_NAME, Numbers, type_names

_MAPS = ("threadLocals", "inheritableThreadLocals")
_TABLE, _VALUE, _KEY = "table", "value", "referent"
_STATIC = "static field"
_ENTRY = "java.lang.ThreadLocal$ThreadLocalMap$Entry"
_MOST_ENTRIES = 2_000
"""So many entries of a map are looked at; programs have some hundred."""


def thread_locals(snapshot: Snapshot, thread: int) -> list[tuple[str, int]]:
    """The thread locals of a thread's object.

    Each has the name of the static field that holds its key, ``com.foo.Bar.BUFFER``, else the type of the key.
    """
    found = []
    # entries may share a key, to which as many objects refer
    names: dict[int | None, str] = {}
    for name, held in _named(snapshot, thread):
        for of_map, table in _named(snapshot, held) if name in _MAPS else ():
            entries = _named(snapshot, table) if of_map == _TABLE else iter(())
            for _, entry in islice(entries, _MOST_ENTRIES):
                fields = dict(_named(snapshot, entry))
                if _VALUE in fields:
                    key = fields.get(_KEY)
                    if key not in names:
                        names[key] = _key_name(snapshot, key)
                    found.append((names[key], fields[_VALUE]))
    return found


def is_entry(type_name: str) -> bool:
    """Whether objects of a type are entries of such a map."""
    return type_name == _ENTRY


def entry_of(snapshot: Snapshot, entry: int) -> tuple[str, int] | None:
    """The static field that holds the key of an entry of such a map, and the entry's value; None where either isn't
    known.
    """
    fields = dict(_named(snapshot, entry))
    field = _static_field(snapshot, fields[_KEY]) if _KEY in fields else ""
    return (field, fields[_VALUE]) if field and _VALUE in fields else None


def may_have_locals(snapshot: Snapshot, objects: Numbers) -> Mask:
    """Which of some objects have a field by the name of one of the maps."""
    stored = snapshot.references
    asked = distinct(objects)
    rows, owner = references_of_all(snapshot, asked)
    in_words = kinds_where(snapshot, lambda kind: kind.naming == "text")[stored.kind[rows]]
    rows, owner = rows[in_words], owner[in_words]
    found = np.zeros(len(asked), np.bool_)
    found[owner[snapshot.strings.where(stored.name[rows], lambda text: text in _MAPS)]] = True
    return found[np.searchsorted(asked, objects)]


def _named(snapshot: Snapshot, number: int) -> Iterator[tuple[str, int]]:
    """The references of an object: names, empty where they are numbered, and targets."""
    stored, kinds = snapshot.references, snapshot.graph_names.reference_kinds
    part = references_of(snapshot, number)
    rows = zip(
        stored.items(ReferenceColumns.kind, part).tolist(),
        stored.items(ReferenceColumns.name, part).tolist(),
        stored.items(ReferenceColumns.target, part).tolist(),
        strict=True,
    )
    for kind, name, target in rows:
        yield snapshot.strings.head(name, MOST_NAME) if kinds[kind].naming == "text" else "", target


def _key_name(snapshot: Snapshot, key: int | None) -> str:
    if key is None:
        return ""
    return _static_field(snapshot, key) or type_names(snapshot)[int(snapshot.objects.type[key])]


def _static_field(snapshot: Snapshot, key: int) -> str:
    """A static field that holds an object, ``com.foo.Bar.BUFFER``; empty for none."""
    stored, objects, part = snapshot.references, snapshot.objects, referrers_of(snapshot, key)
    sources = stored.items(ReferenceColumns.referrer, part)
    of_kinds = stored.items(ReferenceColumns.referrer_kind, part)
    is_static = kinds_where(snapshot, lambda kind: kind.name == _STATIC)[of_kinds]
    for source in sources[is_static].tolist():
        for reference in references_between(snapshot, source, key).tolist():
            field = snapshot.strings.head(int(stored.name[reference]), MOST_NAME)
            return f"{snapshot.strings.head(int(objects.name[source]), MOST_NAME)}.{field}"
    return ""
