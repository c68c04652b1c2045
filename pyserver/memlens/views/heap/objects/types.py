"""Types and their instances."""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.kernels.tree.calltree import add_by
from memlens.model.graph import OWN_NODE
from memlens.model.timeline import NEVER
from memlens.store.models import graph_of
from memlens.store.objects.columns import TypeColumns
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.definitions import places_of_types
from memlens.views.heap.objects.hierarchy import ClassRow, extended_by_type
from memlens.views.heap.objects.rows import Numbers, ObjectRow, object_rows, page, type_names

TypeOrder = Literal["retained", "shallow", "count", "type", "native", "native_retained"]
InstanceOrder = Literal["retained", "shallow", "object"]


NATIVE_FIGURES = ("native", "native_retained")
"""Figures of dumps that record memory outside of the heap."""

_GROUPS_OF_ROOTS = ("synthetic", OWN_NODE)
"""Kinds of types whose objects are artificial: the runtime or the dump's writer groups roots by them."""


class TypeRow(Struct, frozen=True):
    """A type. ``retained_bytes`` is the sum over its instances that no other instance dominates.

    ``file`` and ``line`` are its definition, if known; a file without a line may be inferred from its name. In sampled
    dumps an object stands for several of the program: estimates multiply by the type's factor. They are None in other
    dumps.
    """

    number: int
    type: str
    kind: str
    count: int
    shallow_bytes: int
    retained_bytes: int
    file: str | None
    line: int | None
    estimated_count: int | None
    estimated_shallow_bytes: int | None
    native_bytes: int | None
    """Memory outside of the heap that its instances own; None if the dump records no such memory."""
    native_retained_bytes: int | None
    """Memory outside of the heap retained by instances that no other instance dominates."""
    unreachable_count: int
    """Unreachable instances among ``count``: garbage, or held by weak references only."""
    unreachable_bytes: int
    """Their own bytes, among ``shallow_bytes``."""


class TypesAnswer(Struct, frozen=True):
    """The types from ``offset`` on, of ``total``; the sums are of the whole dump."""

    types: list[TypeRow]
    offset: int
    total: int
    objects: int
    shallow_bytes: int


class InstancesAnswer(Struct, frozen=True):
    """The instances from ``offset`` on, of ``total``."""

    type: TypeRow
    instances: list[ObjectRow]
    offset: int
    total: int
    extends: list[ClassRow]
    """Its superclasses, the nearest first."""


def types(
    snapshot: Snapshot, order: TypeOrder = "retained", search: str = "", offset: int = 0, limit: int = 100
) -> TypesAnswer:
    """Return the types whose names contain all words of ``search``. Raises :class:`BadRequestError`."""
    rows, info = page(offset, limit), graph_of(snapshot.info)
    words, names = search.lower().split(), type_names(snapshot)
    chosen = np.array(
        [number for number, name in enumerate(names) if all(word in name.lower() for word in words)], np.int64
    )
    if order == "type":
        chosen = np.array(
            sorted(chosen.tolist(), key=lambda number: (names[number].lower(), number)), np.int64
        )
    else:
        chosen = by_figure(figures_of(snapshot), order, chosen)
    if order == "retained":
        chosen = with_groups_of_roots_last(snapshot, chosen)
    return TypesAnswer(
        type_rows(snapshot, chosen[rows]), offset, len(chosen), info.objects, info.shallow_bytes
    )


def with_groups_of_roots_last(snapshot: Snapshot, numbers: Numbers, kinds: Numbers | None = None) -> Numbers:
    """Return the rows with those that only group roots moved to the end: they retain nearly everything.

    ``kinds`` has the kind of each row; None if rows are types.
    """
    last = group_roots(snapshot, snapshot.types.kind if kinds is None else kinds)[numbers]
    return np.concatenate((numbers[~last], numbers[last]))


def group_roots(snapshot: Snapshot, kinds: Numbers) -> Numbers:
    """Return a mask of the kinds of types whose objects only group roots."""
    named = snapshot.graph_names.type_kinds
    return np.array([kind in _GROUPS_OF_ROOTS for kind in named], np.bool_)[kinds]


def figures_of(snapshot: Snapshot) -> dict[str, Numbers]:
    """Return the sums of each type."""
    stored = snapshot.types
    figures: dict[str, Numbers] = {
        "count": np.diff(stored.instance_start.astype(np.int64)),
        "shallow": stored.shallow,
        "retained": stored.retained,
    }
    if stored.native is not None and stored.native_retained is not None:
        figures |= {"native": stored.native, "native_retained": stored.native_retained}
    return figures


def by_figure(figures: dict[str, Numbers], order: str, numbers: Numbers) -> Numbers:
    """Return numbers ordered by a figure, the largest first; by retained bytes if the dump lacks the figure."""
    column = figures.get(order, figures["retained"])
    return numbers[np.lexsort((numbers, -column[numbers].astype(np.int64)))]


def unreachable_by_type(snapshot: Snapshot, among: Mask | None = None) -> tuple[Numbers, Numbers]:
    """Return the number and bytes of unreachable objects by type, of all objects or ``among`` some."""
    objects, info, types = snapshot.objects, graph_of(snapshot.info), len(snapshot.types.name)
    if info.reachable_objects == info.objects:
        return np.zeros(types, np.int64), np.zeros(types, np.int64)
    if among is None:
        stored = snapshot.types
        return stored.unreachable.astype(np.int64), stored.unreachable_shallow.astype(np.int64)
    lost = np.flatnonzero((objects.distance == NEVER) & among)
    sums = np.zeros((1, types), np.int64)
    of_types = objects.type[lost]
    add_by(of_types, objects.shallow[lost].view(np.int64)[np.newaxis], sums)
    return np.bincount(of_types, minlength=types), sums[0]


def type_rows(
    snapshot: Snapshot,
    numbers: Numbers,
    figures: dict[str, Numbers] | None = None,
    among: Mask | None = None,
) -> list[TypeRow]:
    """Return rows of some types, with their whole figures or the given ones, which count the objects ``among``."""
    figures, names = figures or figures_of(snapshot), type_names(snapshot)
    lost, lost_bytes = unreachable_by_type(snapshot, among)
    kinds = snapshot.graph_names.type_kinds
    places, multipliers = places_of_types(snapshot), snapshot.types.multiplier
    rows = []
    for number in numbers.tolist():
        count, shallow = int(figures["count"][number]), int(figures["shallow"][number])
        multiplier = None if multipliers is None else float(multipliers[number])
        file, line = places.get(number, (None, None))
        native, native_retained = (
            int(figures[name][number]) if name in figures else None for name in NATIVE_FIGURES
        )
        rows.append(
            TypeRow(
                number, names[number], kinds[int(snapshot.types.kind[number])], count, shallow,
                int(figures["retained"][number]), file, line,
                None if multiplier is None else round(count * multiplier),
                None if multiplier is None else round(shallow * multiplier),
                native, native_retained, int(lost[number]), int(lost_bytes[number]),
            )
        )  # fmt: skip
    return rows


def instances(
    snapshot: Snapshot, number: int, order: InstanceOrder = "retained", offset: int = 0, limit: int = 100
) -> InstancesAnswer:
    """Return a page of a type's instances. Raises :class:`BadRequestError` for an unknown type."""
    rows = page(offset, limit)
    members = instances_of(snapshot, number)
    match order:
        case "retained":
            chosen = members[rows]
        case "shallow":
            shallow = snapshot.objects.shallow[members].astype(np.int64)
            chosen = members[np.lexsort((members, -shallow))[rows]]
        case "object":
            chosen = np.sort(members)[rows]
    row = type_rows(snapshot, np.array([number]))[0]
    return InstancesAnswer(
        row, object_rows(snapshot, chosen), offset, len(members), extended_by_type(snapshot, number)
    )


def instances_of(snapshot: Snapshot, number: int) -> Numbers:
    """Return the numbers of a type's instances, those that retain most first. Raises :class:`BadRequestError`."""
    if not 0 <= number < graph_of(snapshot.info).types:
        raise BadRequestError(phrase("The heap dump has no type number {number}", number=number))
    stored = snapshot.types
    return stored.items(TypeColumns.instance, slice(*map(int, stored.instance_start[number : number + 2])))
