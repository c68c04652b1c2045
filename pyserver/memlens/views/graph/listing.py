"""Objects in lists: all of them, those of a type or of a group, those that fit a filter."""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.kernels.graph import tree as kernel
from memlens.store.snapshot import Snapshot
from memlens.views.graph import filters
from memlens.views.graph.filters import Chosen
from memlens.views.graph.packages import packages_of
from memlens.views.graph.retained import check_node
from memlens.views.graph.rows import Numbers, ObjectRow, object_rows, page, type_names
from memlens.views.graph.types import TypeRow, figures_of, instances_of, type_rows

ObjectOrder = Literal["retained", "shallow", "distance", "object"]
HeapOrder = Literal["retained", "shallow", "count", "name"]
GroupedBy = Literal["package", "kind"]


class ObjectsAnswer(Struct, frozen=True):
    """Objects ``offset`` and on of ``total``."""

    rows: list[ObjectRow]
    offset: int
    total: int
    shallow_bytes: int
    """Of all ``total``."""


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
    numbers = snapshot.keep(
        ("heap objects", filter_text, kind, group, order),
        lambda: _ordered(
            snapshot, fitting(snapshot, filter_text, kind, group), order, is_ordered=kind is not None
        ),
    )
    shown = numbers[::-1] if reverse else numbers
    shallow = int(snapshot.objects.shallow[numbers].sum())
    return ObjectsAnswer(object_rows(snapshot, shown[rows]), offset, len(numbers), shallow)


def fitting(snapshot: Snapshot, filter_text: str, kind: int | None, group: int | None) -> Numbers:
    """The objects that fit a filter, of a type or a group where that is given. Raises :class:`BadRequestError`."""
    chosen = filters.chosen(snapshot, filter_text)
    if kind is not None:
        numbers = instances_of(snapshot, kind)
        if group is not None:
            numbers = numbers[snapshot.objects.group[numbers] == group]
    elif group is not None:
        check_node(snapshot, group)
        numbers = np.flatnonzero(snapshot.objects.group == group)
    elif chosen is not None:
        return np.flatnonzero(chosen.mask(snapshot))
    else:
        return np.arange(len(snapshot.objects.type), dtype=np.uint32)
    return numbers if chosen is None else numbers[chosen.among(snapshot, numbers)]


def _ordered(snapshot: Snapshot, numbers: Numbers, order: ObjectOrder, *, is_ordered: bool) -> Numbers:
    """``is_ordered`` says that they stand by retained size already, as a type's instances do."""
    stored = snapshot.objects
    if order == "object":
        return np.sort(numbers)
    if is_ordered and order == "retained":
        return numbers
    if order == "distance":
        return numbers[np.lexsort((numbers, stored.distance[numbers]))]
    column = stored.retained if order == "retained" else stored.shallow
    return numbers[np.lexsort((numbers, -column[numbers].astype(np.int64)))]


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
    names = type_names(snapshot)
    if order == "name":
        ordered = sorted(numbers.tolist(), key=lambda number: (names[number].casefold(), number))
        numbers = np.array(ordered, np.int64)
    else:
        numbers = numbers[np.lexsort((numbers, -figures[order][numbers].astype(np.int64)))]
    if reverse:
        numbers = numbers[::-1]
    return HeapTypesAnswer(
        type_rows(snapshot, numbers[rows], figures), offset, len(numbers),
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
        numbers = numbers[np.lexsort((numbers, -sums[order][numbers].astype(np.int64)))]
    if reverse:
        numbers = numbers[::-1]
    found = [
        PackageRow(
            names[number], *(int(sums[name][number]) for name in ("types", "count", "shallow", "retained"))
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


def figures_by_type(snapshot: Snapshot, filter_text: str) -> tuple[dict[str, Numbers], Numbers]:
    """Count, shallow and retained bytes by type of what fits, and which types have such objects."""
    chosen = filters.chosen(snapshot, filter_text)
    whole = figures_of(snapshot)
    if chosen is None:
        return whole, np.ones(len(whole["count"]), bool)
    if chosen.objects is None:
        return whole, chosen.types
    return snapshot.keep(("heap figures", filter_text), lambda: _narrowed(snapshot, chosen)), chosen.types


def _narrowed(snapshot: Snapshot, chosen: Chosen) -> dict[str, Numbers]:
    stored, count = snapshot.objects, len(snapshot.types.name)
    mask = chosen.mask(snapshot)
    types = stored.type[mask]
    shallow = np.zeros(count, np.uint64)
    np.add.at(shallow, types, stored.shallow[mask])
    retained = _retained(snapshot, np.where(mask, stored.type, np.uint32(count)), count)
    return {"count": np.bincount(types, minlength=count), "shallow": shallow, "retained": retained}


def _retained(snapshot: Snapshot, group_of: Numbers, groups: int) -> Numbers:
    """What the objects of each group retain that no other one of it dominates; number ``groups`` means none."""
    stored = snapshot.objects
    sums = np.zeros(groups + 1, np.uint64)
    kernel.retained_by_type(
        stored.dominated_start,
        stored.dominated,
        np.ascontiguousarray(group_of, np.uint32),
        stored.retained,
        sums,
    )
    return sums[:groups]


def _package_sums(
    snapshot: Snapshot, filter_text: str, by: GroupedBy
) -> tuple[dict[str, Numbers], list[str]]:
    groups, names = _groups(snapshot, by)

    def make() -> dict[str, Numbers]:
        figures, fits = figures_by_type(snapshot, filter_text)
        own, count = groups[fits], len(names)
        shallow = np.zeros(count, np.uint64)
        np.add.at(shallow, own, figures["shallow"][fits])
        sums = {
            "types": np.bincount(own, minlength=count),
            "count": np.bincount(own, figures["count"][fits], count).astype(np.int64),
            "shallow": shallow,
        }
        of_objects = groups.astype(np.uint32)[snapshot.objects.type]
        chosen = filters.chosen(snapshot, filter_text)
        if chosen is not None:
            of_objects = np.where(chosen.mask(snapshot), of_objects, np.uint32(count))
        return sums | {"retained": _retained(snapshot, of_objects, count)}

    return snapshot.keep(("heap packages", filter_text, by), make), names
