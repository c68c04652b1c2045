"""Two heap dumps side by side: by type, by dominating types, and where ids last also object by object.

Then two dumps of one process show which objects are new and which are gone. Where ids are addresses, which change when
the garbage collector moves objects, only types and the dominator tree grouped by type are compared.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.info import SnapshotInfo
from memlens.model.timeline import NEVER
from memlens.store.manifest import InconsistentError
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.compare.heap_paths import GrownPath, grown_paths
from memlens.views.compare.kinds import check_comparable
from memlens.views.heap.dominators.flame import fitting_by_group
from memlens.views.heap.dominators.trees import DOMINATORS, grouped_tree
from memlens.views.heap.filters import filters
from memlens.views.heap.listing.lists import ObjectsAnswer, figures_by_type
from memlens.views.heap.objects.native_memory import has_native
from memlens.views.heap.objects.rows import MOST_ROWS, ObjectRow, object_rows, page, type_names
from memlens.views.heap.objects.same_objects import same_objects
from memlens.views.heap.objects.types import group_roots, instances_of
from memlens.views.naming.stable_names import common_names

HeapMatch = Literal["id", "type"]
ComparedOrder = Literal["retained", "shallow", "count", "new", "gone", "name", "native_retained"]

_Figures = tuple[int, int, int, int]
"""How many objects of a type there are, their shallow bytes, and what they retain in the heap and outside of it."""
_NONE: _Figures = (0, 0, 0, 0)


class HeapSide(Struct, frozen=True):
    """A dump's totals; ``only_objects`` and ``only_bytes`` are of objects that the other lacks, None without ids."""

    objects: int
    shallow_bytes: int
    reachable_bytes: int
    only_objects: int | None
    only_bytes: int | None


class ComparedType(Struct, frozen=True):
    """A type in both dumps. ``new`` and ``gone`` are objects of one dump alone, None without ids.

    Types of one name in both dumps (:func:`memlens.views.naming.stable_names.common_names`) are one. ``before_number``
    and ``after_number`` are its numbers in the dumps, of several that of which retains most, None if a dump has none.
    """

    type: str
    before_number: int | None
    after_number: int | None
    before_count: int
    after_count: int
    before_shallow_bytes: int
    after_shallow_bytes: int
    before_retained_bytes: int
    after_retained_bytes: int
    new: int | None
    gone: int | None
    before_native_retained_bytes: int | None
    """Memory outside of the heap that instances retain; None where neither dump knows of any."""
    after_native_retained_bytes: int | None


class GrowingHolder(Struct, frozen=True):
    """An object of both dumps, and the new objects whose nearest dominator in both dumps it is; each counts once.

    ``object`` is the one of the later dump, ``before_object`` its number in the earlier one.
    """

    object: ObjectRow
    before_object: int
    before_retained_bytes: int
    new_objects: int
    new_bytes: int


class HeapComparison(Struct, frozen=True):
    """Types by the difference of what they retain, the largest first, those that only group roots last; holders and
    paths by their growth.
    """

    matched: HeapMatch
    before: HeapSide
    after: HeapSide
    types: list[ComparedType]
    types_total: int
    holders: list[GrowingHolder]
    paths: list[GrownPath]
    knows_native: bool
    """Whether one of the dumps knows of memory outside of the heap."""


class SeriesType(Struct, frozen=True):
    """A type in each of several dumps; ``grows`` if it retains more in each than in the one before."""

    type: str
    counts: list[int]
    shallow_bytes: list[int]
    retained_bytes: list[int]
    grows: bool


class HeapSeries(Struct, frozen=True):
    """Several dumps in order; types that never shrink are first, by their growth, those that only group roots last."""

    objects: list[int]
    shallow_bytes: list[int]
    types: list[SeriesType]
    types_total: int


class ComparedTypes(Struct, frozen=True):
    """Types ``offset`` and on of ``total``."""

    rows: list[ComparedType]
    offset: int
    total: int


class HeapPair(NamedTuple):
    """All differences between two dumps. The masks are of objects that only one of them has; None without ids.

    ``names`` are those that types of other names have in the comparison, ``groups_of_roots`` the types whose objects
    only group roots.
    """

    comparison: HeapComparison
    names: Mapping[str, str]
    groups_of_roots: frozenset[str]
    only_before: Mask | None
    only_after: Mask | None

    def types(
        self, search: str, order: ComparedOrder, offset: int, limit: int, *, reverse: bool
    ) -> ComparedTypes:
        """Types whose names have all words of ``search``. Raises :class:`BadRequestError`."""
        rows = page(offset, limit)
        found = [row for row in self.comparison.types if _fits(row.type, search)]
        if order == "name":
            found.sort(key=lambda row: (row.type.casefold(), row.type))
        else:
            found.sort(key=lambda row: (-abs(_difference(row, order)), row.type))
        if reverse:
            found.reverse()
        if order == "retained":
            found.sort(key=lambda row: row.type in self.groups_of_roots)
        return ComparedTypes(found[rows], offset, len(found))


def _difference(row: ComparedType, order: ComparedOrder) -> int:
    match order:
        case "shallow":
            return row.after_shallow_bytes - row.before_shallow_bytes
        case "count":
            return row.after_count - row.before_count
        case "new":
            return row.new or 0
        case "gone":
            return row.gone or 0
        case "native_retained":
            return (row.after_native_retained_bytes or 0) - (row.before_native_retained_bytes or 0)
        case _:
            return row.after_retained_bytes - row.before_retained_bytes


def pair_of(before: Snapshot, after: Snapshot, filter_text: str = "") -> HeapPair:
    """Compare the objects of two dumps that match a filter. Raises :class:`BadRequestError`.

    A node of the tree grouped by type is shown if it has such objects in the later dump; its figures are of all its
    objects.
    """
    check_comparable(before.info, after.info)
    names = common_names((type_names(before), type_names(after)))
    same = _only(before, after)
    only_before, only_after = (None, None) if same is None else same
    if filter_text and only_before is not None and only_after is not None:
        only_before = only_before & _fitting(before, filter_text)
        only_after = only_after & _fitting(after, filter_text)
    groups = groups_of_roots(before) | groups_of_roots(after)
    rows = _types(before, after, only_before, only_after, filter_text, names)
    rows.sort(key=lambda row: (row.type in groups, -abs(_difference(row, "retained")), row.type))
    paths = grown_paths(before, after, names)
    if filter_text:
        tree = grouped_tree(after, DOMINATORS)
        shown = set(np.flatnonzero(tree.summed(fitting_by_group(after, filter_text))).tolist())
        paths = [row for row in paths if row.group in shown]
    comparison = HeapComparison(
        "type" if same is None else "id",
        _side(before, only_before),
        _side(after, only_after),
        rows,
        len(rows),
        [] if only_after is None else _holders(before, after, only_after, MOST_ROWS),
        paths,
        has_native(before) or has_native(after),
    )
    return HeapPair(comparison, names, groups, only_before, only_after)


def groups_of_roots(snapshot: Snapshot) -> frozenset[str]:
    """The types whose objects only group roots, and so retain nearly everything."""
    groups, names = np.flatnonzero(group_roots(snapshot, snapshot.types.kind)), type_names(snapshot)
    return frozenset(names[number] for number in groups.tolist())


def compare_heaps(before: Snapshot, after: Snapshot, search: str = "", limit: int = 100) -> HeapComparison:
    """Compare two dumps. Raises :class:`BadRequestError` for a limit that isn't positive."""
    _check(limit)
    whole = pair_of(before, after).comparison
    rows = [row for row in whole.types if _fits(row.type, search)]
    return replace(
        whole,
        types=rows[:limit],
        types_total=len(rows),
        holders=whole.holders[:limit],
        paths=whole.paths[:limit],
    )


def only_here(
    snapshot: Snapshot, pair: HeapPair, only: Mask | None, name: str, offset: int, limit: int
) -> ObjectsAnswer:
    """The objects of the types of one name that only this dump has, by what they retain; without ids all objects."""
    rows = page(offset, limit)
    kinds = [number for number, each in enumerate(type_names(snapshot)) if pair.names.get(each, each) == name]
    numbers = np.concatenate([instances_of(snapshot, kind) for kind in kinds] or [np.zeros(0, np.uint32)])
    if only is not None:
        numbers = numbers[only[numbers]]
    stored = snapshot.objects
    numbers = numbers[np.lexsort((numbers, -stored.retained[numbers].astype(np.int64)))]
    shallow = int(stored.shallow[numbers].sum())
    return ObjectsAnswer(object_rows(snapshot, numbers[rows]), offset, len(numbers), shallow)


def series(snapshots: Sequence[Snapshot], search: str = "", limit: int = 100) -> HeapSeries:
    """Several dumps, type by type. Raises :class:`BadRequestError`."""
    return series_of([side_of_series(snapshot) for snapshot in snapshots], search, limit)


class SeriesSide(NamedTuple):
    """A dump in a series: the names of all its types, figures of those that have objects, and its sums."""

    names: frozenset[str]
    figures: dict[str, _Figures]
    objects: int
    shallow_bytes: int
    groups_of_roots: frozenset[str]
    """The types whose objects only group roots."""
    info: SnapshotInfo


def side_of_series(snapshot: Snapshot, filter_text: str = "") -> SeriesSide:
    """One dump of a series, of the objects that match a filter."""
    figures, names = _figures(snapshot, filter_text, {}), type_names(snapshot)
    info = graph_of(snapshot.info)
    return SeriesSide(
        frozenset(names),
        figures,
        sum(each[0] for each in figures.values()) if filter_text else info.objects,
        sum(each[1] for each in figures.values()) if filter_text else info.shallow_bytes,
        groups_of_roots(snapshot),
        snapshot.info,
    )


def series_of(sides: Sequence[SeriesSide], search: str = "", limit: int = 100) -> HeapSeries:
    """Several dumps in their order. Raises :class:`BadRequestError`."""
    _check(limit)
    if len(sides) < 2:
        raise BadRequestError(phrase("A series needs two heap dumps or more"))
    check_comparable(*(each.info for each in sides))
    rows, groups = [], frozenset[str]().union(*(each.groups_of_roots for each in sides))
    names = common_names([each.names for each in sides])
    figures = [_renamed(each.figures, names) for each in sides]
    for name in sorted({name for each in figures for name in each}):
        if not _fits(name, search):
            continue
        columns = np.array([each.get(name, _NONE) for each in figures], np.int64).T.tolist()
        steps = np.diff(columns[2])
        rows.append(SeriesType(name, columns[0], columns[1], columns[2], bool((steps > 0).all())))
    rows.sort(
        key=lambda row: (
            row.type in groups, _shrinks(row), row.retained_bytes[0] - row.retained_bytes[-1], row.type
        )
    )  # fmt: skip
    return HeapSeries(
        [each.objects for each in sides], [each.shallow_bytes for each in sides], rows[:limit], len(rows)
    )


def _shrinks(row: SeriesType) -> bool:
    """True if a type retains less than before in one of the dumps, or never more."""
    retained = row.retained_bytes
    return retained[-1] <= retained[0] or any(two < one for one, two in itertools.pairwise(retained))


def _check(limit: int) -> None:
    if limit < 1:
        raise BadRequestError(phrase("Request at least one row"))


def _fits(name: str, search: str) -> bool:
    return all(word in name.lower() for word in search.lower().split())


def _figures(snapshot: Snapshot, filter_text: str, names: Mapping[str, str]) -> dict[str, _Figures]:
    """Figures by name; types with one name are merged, as loaders differ between runs."""
    figures, fits = figures_by_type(snapshot, filter_text)
    own = type_names(snapshot)
    native = figures.get("native_retained", np.zeros(len(own), np.uint64))
    columns = (figures["count"], figures["shallow"], figures["retained"], native)
    chosen = np.flatnonzero(fits)
    rows = zip(*(column[chosen].tolist() for column in columns), strict=True)
    found: dict[str, _Figures] = {}
    for number, row in zip(chosen.tolist(), rows, strict=True):
        _add(found, own[number], row, names)
    return found


def _renamed(figures: dict[str, _Figures], names: Mapping[str, str]) -> dict[str, _Figures]:
    found: dict[str, _Figures] = {}
    for name, row in figures.items():
        _add(found, name, row, names)
    return found


def _add(figures: dict[str, _Figures], name: str, row: _Figures, names: Mapping[str, str]) -> None:
    common = names.get(name, name)
    count, shallow, retained, native = figures.get(common, _NONE)
    figures[common] = (count + row[0], shallow + row[1], retained + row[2], native + row[3])


def _numbers(snapshot: Snapshot, names: Mapping[str, str]) -> dict[str, int]:
    """Of the types of each name the one that retains most."""
    own, retained = type_names(snapshot), snapshot.types.retained
    return {
        names.get(own[number], own[number]): number
        for number in np.lexsort((-np.arange(len(own)), retained)).tolist()
    }


def _fitting(snapshot: Snapshot, filter_text: str) -> Mask:
    chosen = filters.chosen(snapshot, filter_text)
    return np.ones(len(snapshot.objects.type), np.bool_) if chosen is None else chosen.mask(snapshot)


def _only(before: Snapshot, after: Snapshot) -> tuple[Mask, Mask] | None:
    """Masks of the objects that only one of the dumps has; None if ids don't identify objects."""
    same = same_objects(before, after)
    if same is None:
        return None
    only_before, only_after = (np.ones(len(each.objects.type), np.bool_) for each in (before, after))
    only_before[same[0]], only_after[same[1]] = False, False
    return only_before, only_after


def _side(snapshot: Snapshot, only: Mask | None) -> HeapSide:
    info = graph_of(snapshot.info)
    return HeapSide(
        info.objects, info.shallow_bytes, info.reachable_bytes,
        None if only is None else int(np.count_nonzero(only)),
        None if only is None else int(snapshot.objects.shallow[only].sum()),
    )  # fmt: skip


def _types(
    before: Snapshot,
    after: Snapshot,
    only_before: Mask | None,
    only_after: Mask | None,
    filter_text: str,
    names: Mapping[str, str],
) -> list[ComparedType]:
    first, second = (_figures(each, filter_text, names) for each in (before, after))
    numbers, after_numbers = _numbers(before, names), _numbers(after, names)
    knows_native = has_native(before) or has_native(after)
    gone = _counts(before, only_before, names)
    new = _counts(after, only_after, names)
    rows = []
    for name in {**first, **second}:
        one, two = first.get(name, _NONE), second.get(name, _NONE)
        rows.append(
            ComparedType(
                name, numbers.get(name), after_numbers.get(name), one[0], two[0], one[1], two[1], one[2], two[2],
                None if new is None else new.get(name, 0), None if gone is None else gone.get(name, 0),
                *((one[3], two[3]) if knows_native else (None, None)),
            )
        )  # fmt: skip
    return rows


def _counts(snapshot: Snapshot, only: Mask | None, names: Mapping[str, str]) -> dict[str, int] | None:
    if only is None:
        return None
    own = type_names(snapshot)
    counts = np.bincount(snapshot.objects.type[only], minlength=len(own)).tolist()
    found = Counter[str]()
    for name, count in zip(own, counts, strict=True):
        found[names.get(name, name)] += count
    return found


def _holders(before: Snapshot, after: Snapshot, only: Mask, limit: int) -> list[GrowingHolder]:
    """Objects of both dumps that dominate new ones with no other object of both dumps in between."""
    objects = after.objects
    count = len(only)
    above = objects.dominator.astype(np.int64)
    above[above == NEVER] = count
    # follow each new object to its dominator; every other object is its own holder
    to = np.append(np.where(only, above, np.arange(count)), count)
    for _ in range(count.bit_length() + 1):
        further = to[to]
        if np.array_equal(further, to):
            break
        to = further
    else:
        # twice as far each time is further than any chain
        raise InconsistentError("Column object_dominator has a circle")
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
        GrowingHolder(row, at, retained, int(counts[number]), int(sums[number]))
        for row, at, retained, number in zip(
            object_rows(after, chosen), found.tolist(), earlier, chosen.tolist(), strict=True
        )
    ]
