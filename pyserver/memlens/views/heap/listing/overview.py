"""The overview of a heap dump: bytes by kind of type, by heap or generation, and what is unreachable."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from memlens.model.graph import RETAINING, Strength
from memlens.store.columns import Columns
from memlens.store.kept import kept
from memlens.store.manifest import Share
from memlens.store.models import graph_of
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
    return _ranked(snapshot.graph_names.spaces, snapshot.graph_shares.spaces)


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
    read: list[tuple[Columns, str]] = [(stored, name) for name in _READ]
    read += [(objects, name) for name in _READ_OF_OBJECTS]
    columns: list[tuple[Columns, str]] = [(stored, name) for name in _MAPPED]
    columns += [(objects, name) for name in dict.fromkeys(_MAPPED_OF_OBJECTS + _READ_OF_OBJECTS)]
    columns.append((snapshot.types, "instance"))
    return [
        *(partial(snapshot.unpack_in_background, *column) for column in columns),
        *(partial(each, snapshot) for each in (entries, reached, kinds_of_roots)),
        *(partial(_touch, *column) for column in read),
        *(partial(each, snapshot) for each in (held_distances, names_of_both)),
        partial(distances_through, snapshot, {*RETAINING, _ASKED_FIRST}),
    ]


def _touch(of: Columns, name: str) -> None:
    column = getattr(of, name)
    column[:: _PAGE_BYTES // column.itemsize].max(initial=0)


def _overview(snapshot: Snapshot) -> HeapOverviewAnswer:
    info, labels, types, shares = (
        graph_of(snapshot.info),
        snapshot.graph_names,
        snapshot.types,
        snapshot.graph_shares,
    )
    count = np.diff(types.instance_start.astype(np.int64))
    kinds = [
        Share(int(count[of].sum()), int(types.shallow[of].sum()))
        for number in range(len(labels.type_kinds))
        for of in [types.kind == number]
    ]
    weak = {kind.strength for kind in labels.reference_kinds} - {"strong"}
    return HeapOverviewAnswer(
        objects=info.objects,
        shallow_bytes=info.shallow_bytes,
        unreachable_objects=shares.unreachable.objects,
        unreachable_bytes=shares.unreachable.shallow_bytes,
        kinds=_ranked(labels.type_kinds, kinds),
        spaces=spaces(snapshot),
        roots=_ranked(labels.root_kinds, shares.roots),
        flags=_ranked(labels.flags, shares.flags),
        realms=realms(snapshot),
        strengths=[strength for strength in get_args(Strength) if strength in weak],
    )


def _ranked(names: list[str], shares: list[Share]) -> list[ShareRow]:
    """The shares that have objects, with their names, the largest first."""
    rows = [ShareRow(name, *astuple(share)) for name, share in zip(names, shares, strict=True)]
    return sorted((row for row in rows if row.objects), key=lambda row: (-row.shallow_bytes, -row.objects))
