"""A heap dump as a whole: what it comes to by kind of type, by heap or generation, and what is not reachable."""

from typing import get_args

import numpy as np
from msgspec import Struct

from memlens.model.graph import Strength
from memlens.model.timeline import NEVER
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot


class ShareRow(Struct, frozen=True):
    """A part of the heap."""

    name: str
    objects: int
    shallow_bytes: int


class HeapOverviewAnswer(Struct, frozen=True):
    """Parts of the heap, each the largest first. ``spaces`` is empty where the file has none, ``flags`` likewise."""

    objects: int
    shallow_bytes: int
    unreachable_objects: int
    unreachable_bytes: int
    kinds: list[ShareRow]
    spaces: list[ShareRow]
    roots: list[ShareRow]
    """Objects that are roots of each kind; one may be of several."""
    flags: list[ShareRow]
    strengths: list[Strength]
    """How references of the file can be weak, so that paths may follow these or not."""


def overview(snapshot: Snapshot) -> HeapOverviewAnswer:
    """The overview, made once. Raises :class:`LackingError` for another model."""
    return snapshot.keep("heap overview", lambda: _overview(snapshot))


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
    spaces = []
    if objects.space is not None:
        numbers = np.bincount(objects.space, minlength=len(labels.spaces))
        sums = np.bincount(objects.space, objects.shallow.astype(np.float64), len(labels.spaces))
        spaces = [
            (name, int(each), int(size))
            for name, each, size in zip(labels.spaces, numbers, sums, strict=False)
        ]
    roots = []
    for number, name in enumerate(labels.root_kinds):
        held = np.unique(objects.roots["object"][objects.roots["kind"] == number])
        roots.append((name, len(held), int(objects.shallow[held].sum())))
    flags = []
    if objects.flags is not None:
        for bit, name in enumerate(labels.flags):
            has = (objects.flags >> bit & 1).astype(bool)
            flags.append((name, int(np.count_nonzero(has)), int(objects.shallow[has].sum())))
    lost = objects.distance == NEVER
    weak = {kind.strength for kind in labels.reference_kinds} - {"strong"}
    return HeapOverviewAnswer(
        info.objects, info.shallow_bytes, int(np.count_nonzero(lost)), int(objects.shallow[lost].sum()),
        *(_ranked(rows) for rows in (kinds, spaces, roots, flags)),
        [strength for strength in get_args(Strength) if strength in weak],
    )  # fmt: skip


def _ranked(rows: list[tuple[str, int, int]]) -> list[ShareRow]:
    return [ShareRow(*row) for row in sorted(rows, key=lambda row: (-row[2], -row[1])) if row[1]]
