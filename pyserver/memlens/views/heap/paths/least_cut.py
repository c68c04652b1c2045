"""The least cut: the fewest references that must all be removed so that objects are freed."""

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from memlens.arrays import Mask
from memlens.kernels.graph.least_cut import least_cut as kernel
from memlens.model.distinct import distinct
from memlens.model.graph import ENTRY, RETAINING, Strength
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.store.snapshot import Snapshot
from memlens.units import plain_name
from memlens.views.heap.objects.references import references_between
from memlens.views.heap.objects.rows import (
    Numbers,
    ObjectRow,
    ReferenceRow,
    object_rows,
    reference_rows,
    type_names,
)
from memlens.views.heap.objects.types import group_roots
from memlens.views.heap.reachable.from_roots import followed, holders, unchecked_incoming
from memlens.views.heap.retained.cuts import MOST_LOOKED_AT, common_holder, freed_by_cuts, held_of
from memlens.views.heap.retained.freed import amounts
from memlens.views.heap.retained.left_out import LeavesOut

MOST_REFERENCES = 8
"""Limit on the references of a cut; nobody removes more one by one."""
_MOST_STEPS = 1_000
_FIRST_STEPS, _LAST_STEPS = 3, 4


class CutReference(Struct, frozen=True):
    """A reference to remove: its source, and the way to it from the holder, as ``.cache.map.table``.

    ``way`` ends with the reference's own name.
    """

    source: ObjectRow
    reference: ReferenceRow
    way: str


class LeastCutAnswer(Struct, frozen=True):
    """The smallest set of references to cut so that objects are freed. If there are several, the one nearest to them.

    ``holder`` is the nearest object on all paths to them; None if paths from roots have no object in common.
    ``references`` is empty if a root itself would have to be removed, if the objects are unreachable, and if the cut is
    too large to compute: ``count`` is then a lower bound on its size, 0 if unknown. The bytes would be freed without
    all of these references; None if not computed.
    """

    objects: int
    holder: ObjectRow | None
    count: int
    references: list[CutReference]
    freed_bytes: int | None
    freed_native_bytes: int | None


def is_asked(through: Collection[Strength], leaving_out: Collection[LeavesOut] = ()) -> bool:
    """Whether paths follow retaining references and nothing is left out; only then is there a least cut."""
    return not leaving_out and tuple(through) == RETAINING


def least_cut(snapshot: Snapshot, numbers: Numbers) -> LeastCutAnswer:
    """Return the least cut that frees some objects. Raises :class:`CancelledError` when its work is stopped."""
    nothing = LeastCutAnswer(len(numbers), None, 0, [], None, None)
    sought = held_of(snapshot, distinct(numbers))
    if not len(sought):
        return nothing
    holder = common_holder(snapshot, sought, MOST_LOOKED_AT)
    if holder is None:
        return nothing
    objects = snapshot.objects
    found = kernel(
        unchecked_incoming(snapshot, followed(snapshot)), objects.distance, holders(snapshot),
        sought.astype(np.uint32), holder, MOST_REFERENCES, _MOST_STEPS, len(objects.type), snapshot.work,
    )  # fmt: skip
    snapshot.go_on()
    shown = None if holder == len(objects.type) else object_rows(snapshot, [holder])[0]
    if len(sought) > 1 and (shown is None or _is_of_the_runtime(snapshot, np.array([holder])).any()):
        return nothing
    if found is None:
        return LeastCutAnswer(len(numbers), shown, 0, [], None, None)
    if isinstance(found, int):
        return LeastCutAnswer(len(numbers), shown, found, [], None, None)
    sources, targets, cuts = (np.asarray(column) for column in found)
    rows = np.flatnonzero(cuts)
    if _is_of_the_runtime(snapshot, sources[rows][sources[rows] != NEVER]).any():
        # a holder above all roots says nothing
        return nothing
    if (sources[rows] == NEVER).any():
        return LeastCutAnswer(len(numbers), shown, len(rows), [], None, None)
    freed, _ = freed_by_cuts(
        snapshot, sources[rows].astype(np.int64), targets[rows].astype(np.int64), len(objects.type)
    )
    after = _after(sources.tolist(), targets.tolist())
    begin = NEVER if shown is None else holder
    ways = {
        way[-1]: way for way in _ways(begin, after, {(int(sources[row]), int(targets[row])) for row in rows})
    }
    references = [
        _reference(snapshot, ways.get(pair, [pair]))
        for pair in zip(sources[rows].tolist(), targets[rows].tolist(), strict=True)
    ]
    return LeastCutAnswer(len(numbers), shown, len(rows), references, *amounts(snapshot, freed))


def _is_of_the_runtime(snapshot: Snapshot, numbers: Numbers) -> Mask:
    """Return a mask of objects that only group roots or hold all globals."""
    kinds = snapshot.objects.type[numbers]
    found: Mask = group_roots(snapshot, snapshot.types.kind)[kinds]
    names, scopes = type_names(snapshot), registry.objects_of(snapshot.info.kind).scopes.global_scopes
    return found | np.array([names[kind].startswith(scopes) for kind in kinds.tolist()], np.bool_)


def _after(sources: list[int], targets: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for source, target in zip(sources, targets, strict=True):
        found.setdefault(source, []).append(target)
    return found


def _ways(begin: int, after: dict[int, list[int]], cut: set[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the start of each path, up to its reference in the cut, as pairs of source and target."""
    found = []
    for first in list(after.get(begin, ())):
        way, source, target = [], begin, first
        while True:
            way.append((source, target))
            if (source, target) in cut or not after.get(target):
                break
            # an object may be on several paths, a reference only on one
            source, target = target, after[target].pop()
        found.append(way)
    return found


def _reference(snapshot: Snapshot, way: list[tuple[int, int]]) -> CutReference:
    pairs = [pair for pair in way if pair[0] != NEVER]
    shown = pairs
    if len(pairs) > _FIRST_STEPS + _LAST_STEPS + 1:
        shown = [*pairs[:_FIRST_STEPS], *pairs[-_LAST_STEPS:]]
    numbers = [_first_between(snapshot, source, target) for source, target in shown]
    rows = reference_rows(
        snapshot, np.array(numbers, np.int64), np.array([target for _, target in shown], np.int64)
    )
    names = [_name(row) for row in rows]
    if len(shown) < len(pairs):
        names.insert(_FIRST_STEPS, "…")
    return CutReference(object_rows(snapshot, [pairs[-1][0]])[0], rows[-1], "".join(names))


def _first_between(snapshot: Snapshot, source: int, target: int) -> int:
    """Return a followed reference from one object to another, preferably a named one."""
    between = references_between(snapshot, source, target)
    stored = snapshot.references
    follows = between[followed(snapshot)[stored.kind[between]] != 0]
    return int(follows[0]) if len(follows) else int(between[0])


def _name(row: ReferenceRow) -> str:
    if not row.name:
        return f" > {plain_name(row.object.type)}"
    if row.name.isdecimal():
        # an index in a collection's table
        return f"[{row.name}]"
    if row.kind == ENTRY:
        # keys are contents of strings
        return "[…]"
    return row.name if row.name.startswith("[") else f".{plain_name(row.name)}"
