"""Objects in lists: all of them, those of a type or of a group, those that fit a filter."""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.arrays import U8, Mask
from memlens.kernels.graph import tree as kernel
from memlens.kernels.graph.largest import largest, largest_marked
from memlens.store.kept import kept
from memlens.store.objects.retained import below_own_group, retained_by_object_group, retained_of_topmost
from memlens.store.snapshot import Snapshot
from memlens.views.heap.dominators.trees import is_in
from memlens.views.heap.filters import filters
from memlens.views.heap.objects.halves import in_halves
from memlens.views.heap.objects.native_memory import has_native, native_bytes, native_columns
from memlens.views.heap.objects.packages import packages_of
from memlens.views.heap.objects.rows import Numbers, ObjectRow, object_rows, page, type_names
from memlens.views.heap.objects.types import (
    NATIVE_FIGURES,
    TypeRow,
    by_figure,
    figures_of,
    instances_of,
    type_rows,
    with_groups_of_roots_last,
)
from memlens.views.heap.reachable.shortest_paths import shortest_paths

ObjectOrder = Literal["retained", "shallow", "distance", "object", "native", "native_retained", "total"]
"""``total`` is by the bytes of objects and everything below them in the tree of shortest paths."""
HeapOrder = Literal["retained", "shallow", "count", "name", "native", "native_retained"]
GroupedBy = Literal["package", "kind"]
GroupedByAny = Literal["type", "package", "kind"]

_FIRST = 1_000
"""Rows that are found without sorting a list of more than :data:`_MOST_SORTED`, which takes ten times as long."""
_MOST_SORTED = 100_000

_MOST_WALKED = 50_000_000
"""Dominators that are walked to sum up what some objects retain, before all of the tree is."""


class ObjectsAnswer(Struct, frozen=True):
    """Objects ``offset`` and on of ``total``."""

    rows: list[ObjectRow]
    offset: int
    total: int
    shallow_bytes: int
    """Of all ``total``."""
    total_bytes: list[int] | None = None
    """By what they are sorted, where that is ``total``."""


class HeapTypesAnswer(Struct, frozen=True):
    """Types ``offset`` and on of ``total``; ``objects`` and ``shallow_bytes`` are of all that fit."""

    rows: list[TypeRow]
    offset: int
    total: int
    objects: int
    shallow_bytes: int


class PackageRow(Struct, frozen=True):
    """Types of one package or of one kind. What they retain is what none of these types' objects dominates."""

    name: str
    types: int
    count: int
    shallow_bytes: int
    retained_bytes: int
    native_bytes: int | None
    """Memory outside of the heap that these objects own; None in dumps that say so of no object."""
    native_retained_bytes: int | None


class PackagesAnswer(Struct, frozen=True):
    """Packages or kinds of types ``offset`` and on of ``total``."""

    rows: list[PackageRow]
    offset: int
    total: int


def objects(
    snapshot: Snapshot,
    filter_text: str,
    kind: int | None = None,
    group: int | None = None,
    order: ObjectOrder = "retained",
    offset: int = 0,
    limit: int = 100,
    *,
    reverse: bool = False,
) -> ObjectsAnswer:
    """The objects that fit a filter, of type ``kind`` or in the group ``group`` of the compact tree where it is given.

    Raises :class:`BadRequestError`.
    """
    rows = page(offset, limit)
    is_whole = reverse or offset + limit > _FIRST
    numbers, total, shallow = _listed(snapshot, filter_text, kind, group, order, is_whole=is_whole)
    shown = numbers[::-1] if reverse else numbers
    found = shown[rows]
    totals = shortest_paths(snapshot).total[found].tolist() if order == "total" else None
    return ObjectsAnswer(object_rows(snapshot, found), offset, total, shallow, totals)


@kept
def _listed(
    snapshot: Snapshot,
    filter_text: str,
    kind: int | None,
    group: int | None,
    order: ObjectOrder,
    *,
    is_whole: bool,
) -> tuple[Numbers, int, int]:
    """Some objects in their order, at least the first of them, how many there are, and their bytes."""
    stored = snapshot.objects
    sizes = _sizes(snapshot, order)
    if kind is None and group is None and sizes is not None and not is_whole:
        figures, fits = figures_by_type(snapshot, filter_text)
        total, shallow = (int(figures[name][fits].sum()) for name in ("count", "shallow"))
        if total > _MOST_SORTED:
            chosen = filters.chosen(snapshot, filter_text)
            marks = np.ones(len(sizes), np.uint8) if chosen is None else chosen.mask(snapshot).view(np.uint8)
            return np.asarray(largest_marked(sizes, marks, _FIRST)), total, shallow
    found = fitting(snapshot, filter_text, kind, group)
    if kind is not None and len(found) == len(instances_of(snapshot, kind)):
        shallow = int(snapshot.types.shallow[kind])
    else:
        shallow = int(stored.shallow[found].sum())
    # a type's instances stand by retained size already
    if kind is not None and order == "retained":
        return found, len(found), shallow
    if sizes is not None and not is_whole and len(found) > _MOST_SORTED:
        first = np.asarray(largest(sizes, found.astype(np.uint32, copy=False), _FIRST))
        return first, len(found), shallow
    return _ordered(snapshot, found, order), len(found), shallow


def fitting(snapshot: Snapshot, filter_text: str, kind: int | None, group: int | None) -> Numbers:
    """The objects that fit a filter, of a type or a group where that is given. Raises :class:`BadRequestError`."""
    chosen = filters.chosen(snapshot, filter_text)
    if kind is not None:
        numbers = instances_of(snapshot, kind)
        if group is not None:
            numbers = numbers[is_in(snapshot, group, numbers)]
    elif group is not None:
        numbers = np.flatnonzero(is_in(snapshot, group))
    elif chosen is not None:
        return np.flatnonzero(chosen.mask(snapshot))
    else:
        return np.arange(len(snapshot.objects.type), dtype=np.uint32)
    return numbers if chosen is None else numbers[chosen.among(snapshot, numbers)]


def _sizes(snapshot: Snapshot, order: ObjectOrder) -> Numbers | None:
    """The column that an order is by; None if it isn't one of bytes that all objects have."""
    match order:
        case "retained":
            return snapshot.objects.retained
        case "shallow":
            return snapshot.objects.shallow
        case "total":
            return shortest_paths(snapshot).total
        case _:
            return None


def _ordered(snapshot: Snapshot, numbers: Numbers, order: ObjectOrder) -> Numbers:
    if order == "object":
        return np.sort(numbers)
    if order == "distance":
        return numbers[np.lexsort((numbers, snapshot.objects.distance[numbers]))]
    column = _sizes(snapshot, order)
    if column is None:
        own, retained = native_bytes(snapshot, numbers)
        figures = own if order == "native" else retained
    else:
        figures = column[numbers]
    return numbers[np.lexsort((numbers, -figures.astype(np.int64)))]


def heap_types(
    snapshot: Snapshot,
    filter_text: str,
    order: HeapOrder,
    package: str | None,
    by: GroupedBy,
    offset: int,
    limit: int,
    *,
    reverse: bool,
) -> HeapTypesAnswer:
    """The types with objects that fit a filter, of one package or kind where it is given. Raises BadRequestError."""
    rows = page(offset, limit)
    figures, fits = figures_by_type(snapshot, filter_text)
    numbers = np.flatnonzero(fits)
    if package is not None:
        groups, names = _groups(snapshot, by)
        numbers = numbers[groups[numbers] == (names.index(package) if package in names else -1)]
    names, chosen = type_names(snapshot), filters.chosen(snapshot, filter_text)
    # a filter of types alone leaves all of each
    among = None if chosen is None else chosen.objects
    if order == "name":
        ordered = sorted(numbers.tolist(), key=lambda number: (names[number].casefold(), number))
        numbers = np.array(ordered, np.int64)
    else:
        numbers = by_figure(figures, order, numbers)
    if reverse:
        numbers = numbers[::-1]
    if order == "retained":
        numbers = with_groups_of_roots_last(snapshot, numbers)
    return HeapTypesAnswer(
        type_rows(snapshot, numbers[rows], figures, among), offset, len(numbers),
        int(figures["count"][numbers].sum()), int(figures["shallow"][numbers].sum()),
    )  # fmt: skip


def heap_packages(
    snapshot: Snapshot,
    filter_text: str,
    order: HeapOrder,
    by: GroupedBy,
    offset: int,
    limit: int,
    *,
    reverse: bool,
) -> PackagesAnswer:
    """The packages or kinds of the types with objects that fit a filter. Raises :class:`BadRequestError`."""
    rows = page(offset, limit)
    sums, names = _package_sums(snapshot, filter_text, by)
    numbers = np.flatnonzero(sums["types"])
    if order == "name":
        numbers = np.array(sorted(numbers.tolist(), key=lambda number: names[number].casefold()), np.int64)
    else:
        numbers = by_figure(sums, order, numbers)
    if reverse:
        numbers = numbers[::-1]
    if order == "retained" and by == "kind":
        numbers = with_groups_of_roots_last(snapshot, numbers, np.arange(len(names)))
    found = [
        PackageRow(
            names[number],
            *(int(sums[name][number]) for name in ("types", "count", "shallow", "retained")),
            *(int(sums[name][number]) if name in sums else None for name in NATIVE_FIGURES),
        )
        for number in numbers[rows].tolist()
    ]
    return PackagesAnswer(found, offset, len(numbers))


def _groups(snapshot: Snapshot, by: GroupedBy) -> tuple[Numbers, list[str]]:
    """The number of each type's package or kind, and what these are called."""
    if by == "kind":
        return snapshot.types.kind, list(snapshot.graph_names.type_kinds)
    packages = packages_of(snapshot)
    return packages.of_type, packages.names


@kept
def figures_by_type(snapshot: Snapshot, filter_text: str) -> tuple[dict[str, Numbers], Numbers]:
    """Count, shallow and retained bytes by type of what fits, and which types have such objects."""
    chosen = filters.chosen(snapshot, filter_text)
    figures = figures_of(snapshot)
    if chosen is None:
        return figures, np.ones(len(figures["count"]), bool)
    if chosen.objects is None:
        return figures, chosen.types
    types = np.arange(len(figures["count"]), dtype=np.uint32)
    figures = _sums_of(snapshot, chosen.mask(snapshot), "type", types, len(types))
    return figures, figures["count"] > 0


def _sums_of(
    snapshot: Snapshot,
    mask: Mask,
    by: GroupedByAny,
    group_of: Numbers,
    groups: int,
) -> dict[str, Numbers]:
    """What some objects come to by the groups of their types, and what of it no other one of the group dominates.

    ``group_of`` follows from ``by``.
    """
    stored = snapshot.objects
    counts, shallow, retained = _summed(snapshot, mask, by, group_of, groups, stored.shallow, stored.retained)
    figures = {"count": counts.astype(np.int64), "shallow": shallow, "retained": retained}
    return figures | _native_sums(snapshot, mask, by, group_of, groups)


def _native_sums(
    snapshot: Snapshot, mask: Mask, by: GroupedByAny, group_of: Numbers, groups: int
) -> dict[str, Numbers]:
    """The same of memory outside of the heap; nothing where the dump doesn't know of any."""
    if not has_native(snapshot):
        return {}
    # what dominates an object that retains such memory retains it as well
    retaining = np.zeros(len(mask), np.bool_)
    owned = snapshot.objects.owned["object"]
    retaining[owned] = mask[owned]
    columns = native_columns(snapshot)
    _, own, retained = _summed(snapshot, retaining, by, group_of, groups, *columns)
    return {"native": own, "native_retained": retained}


def _summed(
    snapshot: Snapshot,
    mask: Mask,
    by: GroupedByAny,
    group_of: Numbers,
    groups: int,
    own: Numbers,
    retained: Numbers,
) -> Numbers:
    """How many of some objects are of each group, what they own, and what of ``retained`` no other one dominates."""
    stored = snapshot.objects
    below = _below_own_group(snapshot, by, group_of, groups)

    def sums(first: int, last: int) -> Numbers | None:
        found = np.zeros((3, groups), np.uint64)
        is_whole = kernel.sums_by_group(
            mask.view(np.uint8), stored.type, group_of, stored.group, below, stored.dominator, own,
            retained, first, last, _MOST_WALKED, *found,
        )  # fmt: skip
        return found if is_whole else None

    parts = in_halves(len(mask), sums)
    whole = [part for part in parts if part is not None]
    if len(whole) == len(parts):
        together: Numbers = np.sum(whole, axis=0)
        return together
    group = np.where(mask, group_of[stored.type], np.uint32(groups))
    topmost = retained_by_object_group(stored.dominated_start, stored.dominated, group, groups, retained)
    counts = np.bincount(group, minlength=groups)[:groups].astype(np.uint64)
    summed = np.zeros(groups + 1, np.uint64)
    np.add.at(summed, group, own)
    return np.stack((counts, summed[:groups], topmost))


def _below_own_group(snapshot: Snapshot, by: GroupedByAny, group_of: Numbers, groups: int) -> U8:
    """Which nodes of the compact tree stand below one of their own group; the same whatever is asked about."""

    def make() -> U8:
        compact = snapshot.compact
        of_nodes = _groups_of_nodes(snapshot, group_of, groups)
        return below_own_group(compact.first, compact.last, of_nodes, groups)

    return snapshot.keep(("below own group", by), make)


def _groups_of_nodes(snapshot: Snapshot, group_of: Numbers, groups: int) -> Numbers:
    """The group of each node of the compact tree by its type; ``groups`` for a root that isn't an object."""
    return np.append(group_of, np.uint32(groups))[np.minimum(snapshot.compact.type, len(group_of))]


@kept
def _package_sums(
    snapshot: Snapshot, filter_text: str, by: GroupedBy
) -> tuple[dict[str, Numbers], list[str]]:
    groups, names = _groups(snapshot, by)
    figures, fits = figures_by_type(snapshot, filter_text)
    own, count = groups[fits], len(names)
    shallow = np.zeros(count, np.uint64)
    np.add.at(shallow, own, figures["shallow"][fits])
    sums: dict[str, Numbers] = {
        "types": np.bincount(own, minlength=count),
        "count": np.bincount(own, figures["count"][fits], count).astype(np.int64),
        "shallow": shallow,
    }
    return sums | _retained_by_packages(snapshot, filter_text, by, groups, count), names


def _retained_by_packages(
    snapshot: Snapshot, filter_text: str, by: GroupedBy, groups: Numbers, count: int
) -> dict[str, Numbers]:
    """What packages retain, and all about memory outside of the heap."""
    chosen = filters.chosen(snapshot, filter_text)
    group_of = groups.astype(np.uint32)
    if chosen is not None and chosen.objects is not None:
        return _sums_of(snapshot, chosen.objects, by, group_of, count)
    everything = np.ones(len(snapshot.objects.type), np.bool_) if chosen is None else chosen.mask(snapshot)
    native = _native_sums(snapshot, everything, by, group_of, count)
    if chosen is not None:
        group_of[~chosen.types] = count
    # objects of a node are of one type and have the same types above them: nodes say as much as their objects
    compact, of_nodes = snapshot.compact, _groups_of_nodes(snapshot, group_of, count)
    below = below_own_group(compact.first, compact.last, of_nodes, count)
    return {"retained": retained_of_topmost(below, of_nodes, count, compact.retained)} | native
