"""Lists of objects, types and packages: of the dump, a type or a group, narrowed by a filter."""

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
"""``total`` orders by the bytes of an object and everything below it in the tree of shortest paths."""
HeapOrder = Literal["retained", "shallow", "count", "name", "native", "native_retained"]
GroupedBy = Literal["package", "kind"]
GroupedByAny = Literal["type", "package", "kind"]

_FIRST = 1_000
"""Rows selected from lists longer than :data:`_MOST_SORTED`, as sorting all would take ten times as long."""
_MOST_SORTED = 100_000

_MOST_WALKED = 50_000_000
"""Limit on dominators visited to sum up what some objects retain; beyond it, the whole tree is summed up."""


class ObjectsAnswer(Struct, frozen=True):
    """Objects ``offset`` and on of ``total``."""

    rows: list[ObjectRow]
    offset: int
    total: int
    shallow_bytes: int
    """Of all ``total`` objects."""
    total_bytes: list[int] | None = None
    """The bytes by which the rows are sorted, for the order ``total``."""


class HeapTypesAnswer(Struct, frozen=True):
    """The rows from ``offset`` on, of ``total``; ``objects`` and ``shallow_bytes`` count all matching objects."""

    rows: list[TypeRow]
    offset: int
    total: int
    objects: int
    shallow_bytes: int


class PackageRow(Struct, frozen=True):
    """The types of one package or kind. An object retained by another object of these types is counted once."""

    name: str
    types: int
    count: int
    shallow_bytes: int
    retained_bytes: int
    native_bytes: int | None
    """Memory outside of the heap that these objects own; None if the dump doesn't record such memory."""
    native_retained_bytes: int | None


class PackagesAnswer(Struct, frozen=True):
    """The packages or kinds from ``offset`` on, of ``total``."""

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
    """Return the objects that match a filter, of the type ``kind`` or the group ``group`` of the compact tree if given.

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
    """Return matching objects in order (perhaps only the first ones), their number, and their bytes."""
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
    # a type's instances are stored by retained size
    if kind is not None and order == "retained":
        return found, len(found), shallow
    if sizes is not None and not is_whole and len(found) > _MOST_SORTED:
        first = np.asarray(largest(sizes, found.astype(np.uint32, copy=False), _FIRST))
        return first, len(found), shallow
    return _ordered(snapshot, found, order), len(found), shallow


def fitting(snapshot: Snapshot, filter_text: str, kind: int | None, group: int | None) -> Numbers:
    """Return the objects that match a filter, of a type or a group if given. Raises :class:`BadRequestError`."""
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
    """Return the column of an order; None if it is not a column of bytes with an item for every object."""
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
    """Return the types with matching objects, of one package or kind if given. Raises BadRequestError."""
    rows = page(offset, limit)
    figures, fits = figures_by_type(snapshot, filter_text)
    numbers = np.flatnonzero(fits)
    if package is not None:
        groups, names = _groups(snapshot, by)
        numbers = numbers[groups[numbers] == (names.index(package) if package in names else -1)]
    names, chosen = type_names(snapshot), filters.chosen(snapshot, filter_text)
    # a filter about types matches all objects of a type or none
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
    """Return the packages or kinds of the types with matching objects. Raises :class:`BadRequestError`."""
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
    """Return the number of each type's package or kind, and their names."""
    if by == "kind":
        return snapshot.types.kind, list(snapshot.graph_names.type_kinds)
    packages = packages_of(snapshot)
    return packages.of_type, packages.names


@kept
def figures_by_type(snapshot: Snapshot, filter_text: str) -> tuple[dict[str, Numbers], Numbers]:
    """Return the sums of the matching objects by type, and a mask of the types that have any."""
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
    """Return sums of some objects by group, and what they retain: objects below others of their group are counted once.

    ``group_of`` follows from ``by``.
    """
    stored = snapshot.objects
    counts, shallow, retained = _summed(snapshot, mask, by, group_of, groups, stored.shallow, stored.retained)
    figures = {"count": counts.astype(np.int64), "shallow": shallow, "retained": retained}
    return figures | _native_sums(snapshot, mask, by, group_of, groups)


def _native_sums(
    snapshot: Snapshot, mask: Mask, by: GroupedByAny, group_of: Numbers, groups: int
) -> dict[str, Numbers]:
    """Return the same sums of memory outside of the heap; nothing if the dump doesn't record any."""
    if not has_native(snapshot):
        return {}
    # all dominators of an object that owns such memory retain it as well
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
    """Return by group: the number of the objects, the sum of ``own``, and the sum of ``retained`` over topmost ones."""
    stored = snapshot.objects
    added = kernel.GroupSums(
        stored.type, group_of, stored.group, _below_own_group(snapshot, by), stored.dominator, own, retained
    )

    def sums(first: int, last: int) -> Numbers | None:
        found = np.zeros((3, groups), np.uint64)
        return found if added.add(mask.view(np.uint8), first, last, _MOST_WALKED, found) else None

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


@kept
def _below_own_group(snapshot: Snapshot, by: GroupedByAny) -> U8:
    """Return a mask of the nodes of the compact tree below a node of their group; it doesn't depend on a filter."""
    compact, count = snapshot.compact, len(snapshot.types.name)
    group_of, groups = np.arange(count), count
    if by != "type":
        group_of, names = _groups(snapshot, by)
        groups = len(names)
    return below_own_group(
        compact.first, compact.last, _groups_of_nodes(snapshot, group_of.astype(np.uint32), groups), groups
    )


def _groups_of_nodes(snapshot: Snapshot, group_of: Numbers, groups: int) -> Numbers:
    """Return the group of each node of the compact tree; ``groups`` for a root that isn't an object."""
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
    """Return what packages retain, and their memory outside of the heap."""
    chosen = filters.chosen(snapshot, filter_text)
    group_of = groups.astype(np.uint32)
    if chosen is not None and chosen.objects is not None:
        return _sums_of(snapshot, chosen.objects, by, group_of, count)
    everything = np.ones(len(snapshot.objects.type), np.bool_) if chosen is None else chosen.mask(snapshot)
    native = _native_sums(snapshot, everything, by, group_of, count)
    if chosen is not None:
        group_of[~chosen.types] = count
    # the objects of a node have one type, and the same types above them: summing nodes instead of objects is exact
    compact, of_nodes = snapshot.compact, _groups_of_nodes(snapshot, group_of, count)
    below = below_own_group(compact.first, compact.last, of_nodes, count)
    return {"retained": retained_of_topmost(below, of_nodes, count, compact.retained)} | native
