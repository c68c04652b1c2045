"""Two heap dumps side by side: by type, by the types of what dominates, and in V8 also object by object.

V8's ids last as long as their objects, so two dumps of one process show which objects are new and which are gone.
Addresses of other runtimes change when the collector moves objects: there only types and the dominator tree grouped by
type are compared.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.timeline import NEVER
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.graph.rows import ObjectRow, object_rows, type_names

HeapMatch = Literal["id", "type"]

SAME_SHARE = 0.9
"""Two dumps are of one process if so many of the objects with the same id have the same type, and there are some."""

LEAST_SHARE = 0.002
"""Of the larger dump: what a node of the tree grouped by type retains or has grown by at least to be compared."""

_CONCENTRATED = 0.7
_MOST_PATHS = 1_000
_MOST_DEPTH = 200


class HeapSide(Struct, frozen=True):
    """What a dump has in all; ``only_objects`` and ``only_bytes`` of what the other hasn't, None without ids."""

    objects: int
    shallow_bytes: int
    reachable_bytes: int
    only_objects: int | None
    only_bytes: int | None


class ComparedType(Struct, frozen=True):
    """A type in both dumps. ``new`` and ``gone`` are objects of one dump alone, None without ids."""

    type: str
    before_count: int
    after_count: int
    before_shallow_bytes: int
    after_shallow_bytes: int
    before_retained_bytes: int
    after_retained_bytes: int
    new: int | None
    gone: int | None


class GrowingHolder(Struct, frozen=True):
    """An object of both dumps, and the new ones whose nearest dominator of both dumps it is; each counts once."""

    object: ObjectRow
    before_retained_bytes: int
    new_objects: int
    new_bytes: int


class GrownPath(Struct, frozen=True):
    """A node of the dominator tree grouped by type: types from the root down to it, and what it has in each dump."""

    path: list[str]
    before_objects: int
    after_objects: int
    before_retained_bytes: int
    after_retained_bytes: int


class HeapComparison(Struct, frozen=True):
    """Types by the difference of what they retain, the largest first; holders and paths by how much they have grown."""

    matched: HeapMatch
    before: HeapSide
    after: HeapSide
    types: list[ComparedType]
    types_total: int
    holders: list[GrowingHolder]
    paths: list[GrownPath]


class SeriesType(Struct, frozen=True):
    """A type in each of several dumps; ``grows`` if it never retains less than before, and more in the last dump."""

    type: str
    counts: list[int]
    shallow_bytes: list[int]
    retained_bytes: list[int]
    grows: bool


class HeapSeries(Struct, frozen=True):
    """Several dumps in their order; the types first that always grow, by how much."""

    objects: list[int]
    shallow_bytes: list[int]
    types: list[SeriesType]
    types_total: int


def compare_heaps(before: Snapshot, after: Snapshot, search: str = "", limit: int = 100) -> HeapComparison:
    """Compare two dumps. Raises :class:`BadRequestError` for a limit that isn't positive."""
    _check(limit)
    same = _same_objects(before, after)
    only_before, only_after = (None, None) if same is None else same
    rows = _types(before, after, only_before, only_after, search)
    return HeapComparison(
        "type" if same is None else "id",
        _side(before, only_before),
        _side(after, only_after),
        rows[:limit],
        len(rows),
        [] if only_after is None else _holders(before, after, only_after, limit),
        _paths(before, after)[:limit],
    )


def series(snapshots: Sequence[Snapshot], search: str = "", limit: int = 100) -> HeapSeries:
    """Several dumps, type by type. Raises :class:`BadRequestError`."""
    _check(limit)
    if len(snapshots) < 2:
        raise BadRequestError("A series has two heap dumps or more")
    figures = [_figures(snapshot) for snapshot in snapshots]
    rows = []
    for name in sorted({name for each in figures for name in each}):
        if not _fits(name, search):
            continue
        columns = np.array([each.get(name, (0, 0, 0)) for each in figures], np.int64).T.tolist()
        steps = np.diff(columns[2])
        grows = bool((steps >= 0).all()) and columns[2][-1] > columns[2][0]
        rows.append(SeriesType(name, columns[0], columns[1], columns[2], grows))
    rows.sort(key=lambda row: (not row.grows, row.retained_bytes[0] - row.retained_bytes[-1], row.type))
    infos = [graph_of(snapshot.info) for snapshot in snapshots]
    return HeapSeries(
        [info.objects for info in infos], [info.shallow_bytes for info in infos], rows[:limit], len(rows)
    )


def _check(limit: int) -> None:
    if limit < 1:
        raise BadRequestError("At least one row can be asked for")


def _fits(name: str, search: str) -> bool:
    return all(word in name.lower() for word in search.lower().split())


def _figures(snapshot: Snapshot) -> dict[str, tuple[int, int, int]]:
    """Count, shallow and retained bytes by name; types of one name are one, of other loaders in another run."""
    types = snapshot.types
    counts = np.diff(types.instance_start.astype(np.int64)).tolist()
    found: dict[str, tuple[int, int, int]] = {}
    for name, *figures in zip(
        type_names(snapshot), counts, types.shallow.tolist(), types.retained.tolist(), strict=True
    ):
        count, shallow, retained = found.get(name, (0, 0, 0))
        found[name] = (count + figures[0], shallow + figures[1], retained + figures[2])
    return found


def _same_objects(
    before: Snapshot, after: Snapshot
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None:
    """Which objects only one of the dumps has; None where ids don't identify objects."""
    if before.info.kind != "v8" or after.info.kind != "v8":
        return None
    first, second = before.objects.id, after.objects.id
    common, at_first, at_second = np.intersect1d(first, second, return_indices=True)
    if not len(common):
        return None
    own, other = type_names(before), type_names(after)
    number_of = {name: number for number, name in enumerate(other)}
    renamed = np.array([number_of.get(name, -1) for name in own], np.int64)
    alike = renamed[before.objects.type[at_first]] == after.objects.type[at_second].astype(np.int64)
    if np.count_nonzero(alike) < SAME_SHARE * len(common):
        return None
    only_before, only_after = np.ones(len(first), np.bool_), np.ones(len(second), np.bool_)
    only_before[at_first[alike]] = False
    only_after[at_second[alike]] = False
    return only_before, only_after


def _side(snapshot: Snapshot, only: npt.NDArray[np.bool_] | None) -> HeapSide:
    info = graph_of(snapshot.info)
    return HeapSide(
        info.objects, info.shallow_bytes, info.reachable_bytes,
        None if only is None else int(np.count_nonzero(only)),
        None if only is None else int(snapshot.objects.shallow[only].sum()),
    )  # fmt: skip


def _types(
    before: Snapshot,
    after: Snapshot,
    only_before: npt.NDArray[np.bool_] | None,
    only_after: npt.NDArray[np.bool_] | None,
    search: str,
) -> list[ComparedType]:
    first, second = _figures(before), _figures(after)
    gone = _counts(before, only_before)
    new = _counts(after, only_after)
    rows = []
    for name in {**first, **second}:
        if _fits(name, search):
            one, two = first.get(name, (0, 0, 0)), second.get(name, (0, 0, 0))
            rows.append(
                ComparedType(
                    name, one[0], two[0], one[1], two[1], one[2], two[2],
                    None if new is None else new.get(name, 0), None if gone is None else gone.get(name, 0),
                )
            )  # fmt: skip
    rows.sort(key=lambda row: (-abs(row.after_retained_bytes - row.before_retained_bytes), row.type))
    return rows


def _counts(snapshot: Snapshot, only: npt.NDArray[np.bool_] | None) -> dict[str, int] | None:
    if only is None:
        return None
    names = type_names(snapshot)
    counts = np.bincount(snapshot.objects.type[only], minlength=len(names)).tolist()
    found: dict[str, int] = {}
    for name, count in zip(names, counts, strict=True):
        found[name] = found.get(name, 0) + count
    return found


def _holders(
    before: Snapshot, after: Snapshot, only: npt.NDArray[np.bool_], limit: int
) -> list[GrowingHolder]:
    """Objects of both dumps that dominate new ones, without another one of both in between."""
    objects = after.objects
    count = len(only)
    above = objects.dominator.astype(np.int64)
    above[above == NEVER] = count
    # each new object passes on to its dominator, and each other one stands for itself
    to = np.append(np.where(only, above, np.arange(count)), count)
    while True:
        further = to[to]
        if np.array_equal(further, to):
            break
        to = further
    new = np.flatnonzero(only)
    holders = to[new]
    sums = np.zeros(count + 1, np.int64)
    np.add.at(sums, holders, objects.shallow[new].astype(np.int64))
    counts = np.bincount(holders, minlength=count + 1)
    order = np.argsort(-sums[:count], kind="stable")[:limit]
    chosen = order[sums[order] > 0]
    ids, places = np.unique(before.objects.id, return_index=True)
    found = places[np.searchsorted(ids, objects.id[chosen])]
    earlier = before.objects.retained[found].tolist()
    return [
        GrowingHolder(row, retained, int(counts[number]), int(sums[number]))
        for row, retained, number in zip(object_rows(after, chosen), earlier, chosen.tolist(), strict=True)
    ]


class _Tree:
    """A dump's dominator tree grouped by type, as it is walked."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.names = type_names(snapshot)
        self.stored = snapshot.compact

    def children(self, node: int | None, least: int) -> dict[str, int]:
        """A node's children that retain so many bytes at least, by type."""
        found: dict[str, int] = {}
        if node is None:
            return found
        stored = self.stored
        for child in range(int(stored.first[node]), int(stored.last[node])):
            # the ones that retain most stand first
            if int(stored.retained[child]) < least:
                break
            found.setdefault(self.names[int(stored.type[child])], child)
        return found

    def named(self, node: int, name: str, known: dict[str, int]) -> int | None:
        """The child of a type, however little it retains."""
        if name in known:
            return known[name]
        stored, first, last = self.stored, int(self.stored.first[node]), int(self.stored.last[node])
        kinds = [number for number, each in enumerate(self.names) if each == name]
        at = np.flatnonzero(np.isin(stored.type[first:last], kinds))
        return first + int(at[0]) if len(at) else None

    def figures(self, node: int | None) -> tuple[int, int]:
        """How many objects a node has, and what they retain."""
        return (0, 0) if node is None else (int(self.stored.objects[node]), int(self.stored.retained[node]))


def _paths(before: Snapshot, after: Snapshot) -> list[GrownPath]:
    """Where what has grown spreads: nodes of whose growth no child has 70%."""
    first, second = _Tree(before), _Tree(after)
    whole = max(graph_of(before.info).shallow_bytes, graph_of(after.info).shallow_bytes)
    least = max(1, int(LEAST_SHARE * whole))
    found: list[GrownPath] = []
    waiting: list[tuple[int | None, int, list[str]]] = [(0, 0, [])]
    while waiting and len(found) < _MOST_PATHS:
        old, node, path = waiting.pop()
        known = first.children(old, least)
        grown: list[tuple[int, int | None, int, str]] = []
        for name, child in second.children(node, least).items():
            earlier = None if old is None else first.named(old, name, known)
            growth = second.figures(child)[1] - first.figures(earlier)[1]
            if growth >= least:
                grown.append((growth, earlier, child, name))
        (count, retained), (count_after, retained_after) = first.figures(old), second.figures(node)
        growth = retained_after - retained
        most = max((each[0] for each in grown), default=0)
        if path and growth >= least and most < _CONCENTRATED * growth:
            found.append(GrownPath(path, count, count_after, retained, retained_after))
        if len(path) < _MOST_DEPTH:
            waiting += [(earlier, child, [*path, name]) for _, earlier, child, name in grown]
    found.sort(key=lambda row: row.before_retained_bytes - row.after_retained_bytes)
    return found
