"""Why an object is alive: paths to it from roots."""

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from memlens.arrays import U8, U32
from memlens.kernels.graph.paths import PathSearch, WaySearch
from memlens.model.graph import RETAINING, Strength
from memlens.model.timeline import NEVER
from memlens.store.manifest import InconsistentError
from memlens.store.objects.walks import dominator_of
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.references import references_between
from memlens.views.heap.objects.roots import RootRow, roots_of
from memlens.views.heap.objects.rows import (
    Numbers,
    ObjectRow,
    ReferenceRow,
    check_object,
    object_rows,
    reference_rows,
)
from memlens.views.heap.objects.types import group_roots
from memlens.views.heap.reachable.from_roots import (
    distances_through,
    entries,
    followed,
    is_entry,
    unchecked_incoming,
)
from memlens.views.heap.retained.cuts import MOST_LOOKED_AT, freed_by_cut
from memlens.views.heap.retained.freed import Freed, amounts
from memlens.views.heap.retained.left_out import LeavesOut, Without, WithoutAnswer, without

MOST_PATHS = 100
_AT_ONCE = 1 << 15
"""Objects that a search visits between checks for cancellation."""

_AT_FIRST = 4
"""Parts of that size after which an answer that must come soon stops searching: about 30 ms."""

_MOST_STEPS = 1_000
"""Limit on the steps of a path in an answer: the first half, and the last."""


_MOST_CUTS = 200
"""Limit on the steps whose cuts are computed: the last ones of a path."""


class PathStep(ReferenceRow, frozen=True):
    """A reference and its target.

    ``freed_bytes`` would be freed without the references from the previous step to this one: what the object retains if
    every path to it passes there, else 0. If references are left out, it is what would be freed in addition. None if
    not computed.
    """

    freed_bytes: int | None
    freed_native_bytes: int | None
    """The same outside of the heap; None also if the dump records no such memory."""


class Path(Struct, frozen=True):
    """A path from a root: ``root`` is the root object, each of ``steps`` a reference and its target.

    The last step leads to the explained object. A path of more than 1,000 steps lacks its middle: ``left_out`` steps
    after the first 500.
    """

    root: ObjectRow
    roots: list[RootRow]
    steps: list[PathStep]
    length: int
    left_out: int


class PathsAnswer(Struct, frozen=True):
    """Paths; ``complete`` if they begin at all roots. ``without`` is None if nothing is left out."""

    object: ObjectRow
    paths: list[Path]
    complete: bool
    without: WithoutAnswer | None


def paths(
    snapshot: Snapshot,
    number: int,
    most: int = 10,
    through: Collection[Strength] = RETAINING,
    leaving_out: Collection[LeavesOut] = (),
    *,
    soon: bool = False,
) -> PathsAnswer:
    """Return paths from roots to an object, by strong references and those of the strengths ``through``.

    The first is a shortest path. Next come disjoint ones: each is the shortest that shares no object with those before
    it, except objects on all paths, roots, and the groups by which a file lists its roots. They are searched nearby
    only, and not with ``through`` or ``leaving_out``. Then comes a shortest path from each other root, which may share
    objects; paths from the graph's own root through another root are omitted. With ``soon``, these too are searched
    nearby only. Raises :class:`BadRequestError`, and :class:`CancelledError` when the snapshot's work is stopped.
    """
    check_object(snapshot, number)
    left = without(snapshot, leaving_out)
    follows = followed(snapshot, through)
    begins = is_entry(snapshot) if left is None else left.is_entry
    most = min(most, MOST_PATHS)
    # the stored distances and dominators apply to the default references only
    is_stored = left is None and bool((follows == followed(snapshot)).all())
    ways = []
    if is_stored:
        ways = _Ways(snapshot, number, follows).found(most)
    elif left is None:
        ways = _shortest(snapshot, number, follows, distances_through(snapshot, through))
    ways = [way for number, way in enumerate(ways) if number == 0 or not _says_again(snapshot, way, begins)]
    found = [_path(snapshot, way, follows, left) for way in ways]
    referrers = unchecked_incoming(snapshot, follows)
    search = PathSearch(referrers, begins, number, None if left is None else left.left_out)
    reached = {int(way[0]) for way in ways}
    # if all paths begin at the graph's own root, a search for another root would visit the whole heap
    roots = len(entries(snapshot))
    parts = 0
    while len(found) < most and len(reached) < roots:
        items = search.next_path(_AT_ONCE)
        if items is None:
            if search.is_complete:
                break
            parts += 1
            snapshot.report(parts * _AT_ONCE / len(begins))
            if soon and parts >= _AT_FIRST and found:
                break
            continue
        path = np.asarray(items)
        root = int(path[0])
        if found and _says_again(snapshot, path, begins):
            roots -= root not in reached
            continue
        if root not in reached:
            reached.add(root)
            found.append(_path(snapshot, path, follows, left))
    return PathsAnswer(
        object_rows(snapshot, [number])[0], found, search.is_complete or len(reached) == roots,
        None if left is None else left.answer(snapshot),
    )  # fmt: skip


def _says_again(snapshot: Snapshot, path: U32, begins: U8) -> bool:
    """Whether a path leads from the graph's own root through another root, which begins an equivalent path."""
    return int(path[0]) == snapshot.graph_names.root and bool(begins[path[1:]].any())


def _shortest(
    snapshot: Snapshot,
    number: int,
    follows: U8,
    distance: U32,
    dominator: U32 | None = None,
) -> list[U32]:
    """Return the shortest path to an object, found by descending distances; empty if it is unreachable."""
    if int(distance[number]) == NEVER:
        return []
    search = WaySearch(
        unchecked_incoming(snapshot, follows), is_entry(snapshot), distance,
        np.empty(0, np.uint32) if dominator is None else dominator, number, longest=int(distance[number]),
    )  # fmt: skip
    items = search.next_path(len(distance) + len(snapshot.references.referrer))
    return [] if items is None else [np.asarray(items)]


class _Ways:
    """The shortest paths to an object that share no objects except those on all paths.

    Dominators are on all paths. If no other path to the object itself is left, there may be one to its nearest
    dominator, and so on.
    """

    def __init__(self, snapshot: Snapshot, number: int, follows: U8) -> None:
        self._snapshot, self._follows = snapshot, follows
        self._number = number
        self._ways: list[list[int]] = []
        self._left = _AT_FIRST
        """The number of parts that may still be searched."""

    def found(self, most: int) -> list[U32]:
        """Return at most that many paths. Raises :class:`CancelledError` when the snapshot's work is stopped."""
        objects = self._snapshot.objects
        if int(objects.distance[self._number]) > _MOST_STEPS:
            return []
        shortest = _shortest(self._snapshot, self._number, self._follows, objects.distance, objects.dominator)
        if not shortest:
            return []
        first = [int(number) for number in shortest[0]]
        self._ways.append(first)
        at = self._number
        for _ in range(_MOST_STEPS):
            if at in first:
                tail = first[first.index(at) + 1 :]
                while len(self._ways) < most and self._left > 0 and (way := self._next(at)):
                    self._ways.append(way + tail)
            at = dominator_of(objects, at)
            if at == NEVER or len(self._ways) >= most or self._left <= 0:
                break
        return [np.array(way, np.uint32) for way in sorted(self._ways, key=len)]

    def _next(self, at: int) -> list[int]:
        """Return the shortest path, to the object or a dominator of it, that differs from all before; empty if none."""
        objects = self._snapshot.objects
        shared = self._shared()
        before = [way[: way.index(at)] for way in self._ways if at in way]
        search = WaySearch(
            unchecked_incoming(self._snapshot, self._follows), is_entry(self._snapshot), objects.distance,
            objects.dominator, at,
            {number for way in self._ways for number in way} - shared,
            {way[-1] for way in before if way and way[-1] in shared},
            any(not way for way in before),
        )  # fmt: skip
        while True:
            items = search.next_path(_AT_ONCE)
            self._left -= 1
            if items is not None:
                return [int(number) for number in np.asarray(items)]
            self._snapshot.report(0.0)
            if search.is_complete or self._left <= 0:
                return []

    def _shared(self) -> set[int]:
        """Return the objects that further paths may share: dominators, roots, and groups of roots."""
        objects, kinds = self._snapshot.objects, self._snapshot.types.kind
        passed = {number for way in self._ways for number in way}
        shared, at = {way[0] for way in self._ways}, self._number
        while at != NEVER and len(shared) <= _MOST_STEPS + MOST_PATHS:
            shared.add(at)
            at = dominator_of(objects, at)
        groups = group_roots(self._snapshot, kinds)
        return shared | {number for number in passed if groups[int(objects.type[number])]}


def _path(snapshot: Snapshot, items: U32, follows: U8, left: Without | None) -> Path:
    length, half = len(items) - 1, _MOST_STEPS // 2
    shown = np.arange(length)
    if length > _MOST_STEPS:
        shown = np.concatenate((shown[:half], shown[-half:]))
    kinds = snapshot.references.kind
    steps = []
    for step in shown.tolist():
        between = references_between(snapshot, int(items[step]), int(items[step + 1]))
        leads = follows[kinds[between]] != 0
        if left is not None:
            leads &= ~left.are_out(np.full(len(between), items[step]), between)
        if not leads.any():
            raise InconsistentError("Columns of references by target and by source contradict each other")
        steps.append(int(between[np.argmax(leads)]))
    rows = reference_rows(snapshot, np.array(steps, np.int64), items[shown + 1])
    last = shown[shown >= length - _MOST_CUTS]
    cuts: list[Freed | None] = [None] * (len(shown) - len(last))
    if left is None:
        cuts += [freed_by_cut(snapshot, int(items[step]), int(items[step + 1])) for step in last.tolist()]
    else:
        cuts += _cuts_besides(snapshot, left, items[last], items[last + 1])
    root = int(items[0])
    return Path(
        object_rows(snapshot, [root])[0],
        roots_of(snapshot, root)[0],
        [
            PathStep(row.kind, row.name, row.object, row.strength, row.is_unread, *amounts(snapshot, freed))
            for row, freed in zip(rows, cuts, strict=True)
        ],
        length,
        length - len(shown),
    )


def _cuts_besides(
    snapshot: Snapshot, left: Without, sources: Numbers, targets: Numbers
) -> list[Freed | None]:
    """Return what each of a path's last references keeps alive, with other references left out.

    References nearer to a root take longer: None for those that exceed the limit.
    """
    found: list[Freed | None] = [None] * len(sources)
    most = MOST_LOOKED_AT
    for step in range(len(sources) - 1, -1, -1):
        both = sources[step : step + 1], targets[step : step + 1]
        found[step], looked_at = left.freed_by_cuts(snapshot, *both, most)
        most -= looked_at
        if most <= 0:
            break
    return found
