"""The overview of a heap dump: bytes by kind of type, by heap or generation, and what is unreachable."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
from msgspec import Struct

from memlens.model.graph import RETAINING, Strength
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.models import graph_of
from memlens.store.objects.columns import ObjectColumns, ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.realms import RealmRow, realms
from memlens.views.heap.objects.reference_kinds import names_of_both
from memlens.views.heap.reachable.dominators import reached
from memlens.views.heap.reachable.from_roots import distances_through, entries, held_distances, kinds_of_roots


class ShareRow(Struct, frozen=True):
    """A part of the heap."""

    name: str
    objects: int
    shallow_bytes: int


class HeapOverviewAnswer(Struct, frozen=True):
    """Shares of the heap, the largest first. ``spaces`` and ``flags`` are empty if the file has none."""

    objects: int
    shallow_bytes: int
    unreachable_objects: int
    unreachable_bytes: int
    kinds: list[ShareRow]
    spaces: list[ShareRow]
    roots: list[ShareRow]
    """The roots of each kind; an object may be a root of several kinds."""
    flags: list[ShareRow]
    realms: list[RealmRow]
    """The share of each realm, such as a frame of a page; empty unless the dump has several."""
    strengths: list[Strength]
    """The kinds of weak references in the file, which paths may follow or not."""


@kept
def overview(snapshot: Snapshot) -> HeapOverviewAnswer:
    """The overview, computed once. Raises :class:`LackingError` for another model."""
    made = _overview(snapshot)
    # taken from the end of the list
    snapshot.background += reversed(_preparations(snapshot))
    return made


def spaces(snapshot: Snapshot) -> list[ShareRow]:
    """Return the bytes of each heap or generation, the largest first; empty if the file has none."""
    objects, names = snapshot.objects, snapshot.graph_names.spaces
    if objects.space is None:
        return []
    numbers = np.bincount(objects.space, minlength=len(names))
    sums = np.bincount(objects.space, objects.shallow.astype(np.float64), len(names))
    return _ranked(
        [(name, int(each), int(size)) for name, each, size in zip(names, numbers, sums, strict=False)]
    )


_MAPPED = ("start", "target", "kind", "name", "referrer_start", "referrer", "referrer_kind")
_MAPPED_OF_OBJECTS = ("dominator", "dominated_start", "dominated", "id", "name", "group")
_READ = ("name", "kind", "start")
_READ_OF_OBJECTS = ("type", "name", "group", "dominator", "distance", "shallow", "retained")
_PAGE_BYTES = 4096
_ASKED_FIRST: Strength = "weak"
"""The weak references that paths are most often asked to follow."""


def _preparations(snapshot: Snapshot) -> list[Callable[[], object]]:
    """Return steps that prepare for questions about objects; a question waits for at most one step.

    They run after the first answers, so that the first question about an object is as fast as later ones. Columns are
    mapped and checked; those that filters and sums read are also touched, which saves half of their time.
    """
    stored, objects = snapshot.references, snapshot.objects
    columns = [(stored, name) for name in _MAPPED] + [(objects, name) for name in _MAPPED_OF_OBJECTS]
    read = [(stored, name) for name in _READ] + [(objects, name) for name in _READ_OF_OBJECTS]
    return [
        *(partial(getattr, *column) for column in columns),
        lambda: snapshot.types.instance,
        *(partial(each, snapshot) for each in (entries, reached, kinds_of_roots)),
        *(partial(_touch, *column) for column in read),
        *(partial(each, snapshot) for each in (held_distances, names_of_both)),
        partial(distances_through, snapshot, {*RETAINING, _ASKED_FIRST}),
    ]


def _touch(of: ObjectColumns | ReferenceColumns, name: str) -> None:
    column = getattr(of, name)
    column[:: _PAGE_BYTES // column.itemsize].max(initial=0)


def _overview(snapshot: Snapshot) -> HeapOverviewAnswer:
    info, objects, labels, types = (
        graph_of(snapshot.info),
        snapshot.objects,
        snapshot.graph_names,
        snapshot.types,
    )
    count = np.diff(types.instance_start.astype(np.int64))
    kinds = [
        (name, int(count[of].sum()), int(types.shallow[of].sum()))
        for number, name in enumerate(labels.type_kinds)
        for of in [types.kind == number]
    ]
    flags = []
    if objects.flags is not None:
        flagged = np.flatnonzero(objects.flags)
        for bit, name in enumerate(labels.flags):
            has = flagged[(objects.flags[flagged] >> bit & 1).astype(bool)]
            flags.append((name, len(has), int(objects.shallow[has].sum())))
    lost = objects.distance == NEVER
    weak = {kind.strength for kind in labels.reference_kinds} - {"strong"}
    return HeapOverviewAnswer(
        objects=info.objects,
        shallow_bytes=info.shallow_bytes,
        unreachable_objects=int(np.count_nonzero(lost)),
        unreachable_bytes=int(objects.shallow[lost].sum()),
        kinds=_ranked(kinds),
        spaces=spaces(snapshot),
        roots=_ranked(_roots(snapshot)),
        flags=_ranked(flags),
        realms=realms(snapshot),
        strengths=[strength for strength in get_args(Strength) if strength in weak],
    )


def _roots(snapshot: Snapshot) -> list[tuple[str, int, int]]:
    """Return the number and bytes of the roots of each kind."""
    objects, names = snapshot.objects, snapshot.graph_names.root_kinds
    kind = objects.roots["kind"]
    rows = kind.astype(np.uint64) << np.uint64(32) | objects.roots["object"]
    # rows are nearly sorted by kind already, which a stable sort makes use of; small integers are sorted by radix
    rows = np.sort(rows[np.argsort(kind.astype(np.uint16), kind="stable")], kind="stable")
    # NumPy's unique builds a hash table, which takes many times as long
    rows = rows[np.append(True, rows[1:] != rows[:-1])[: len(rows)]]
    kinds, shallow = (rows >> np.uint64(32)).astype(np.int64), objects.shallow[rows.astype(np.uint32)]
    ends = np.searchsorted(kinds, np.arange(len(names) + 1))
    sums = np.append(0, np.cumsum(shallow, dtype=np.uint64))
    return [
        (name, int(last - first), int(sums[last] - sums[first]))
        for name, first, last in zip(names, ends[:-1], ends[1:], strict=True)
    ]


def _ranked(rows: list[tuple[str, int, int]]) -> list[ShareRow]:
    return [ShareRow(*row) for row in sorted(rows, key=lambda row: (-row[2], -row[1])) if row[1]]
