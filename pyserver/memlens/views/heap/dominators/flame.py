"""The trees of dominators and of shortest paths grouped by type, package or module, as a flame graph draws them.

There is a box for each group, as wide as what it retains, or as the bytes of it and of everything below it.

Groups with objects that match the filter and are of the selected type are marked, as are all groups above them, like
the boxes that a search finds in a flame graph.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from memlens.arrays import I64, U8, U32
from memlens.kernels.tree import calltree as kernel
from memlens.model.attribution import Attribution
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.flame.calltree import CallTree, FlameOptions, Merged, Search, Shape, build
from memlens.views.heap.dominators.group_nodes import GroupNode, group_nodes
from memlens.views.heap.dominators.trees import (
    DOMINATORS,
    ROOTS,
    UNREACHABLE,
    Form,
    GroupedTree,
    Grouping,
    HeapTree,
    base_tree,
    grouped_tree,
    is_in,
    keys_of_types,
    located,
    made_up_root,
)
from memlens.views.heap.filters import filters
from memlens.views.heap.objects.definitions import places_of_types
from memlens.views.heap.objects.packages import packages_of
from memlens.views.heap.objects.rows import ObjectRow, object_rows, type_names
from memlens.views.heap.objects.types import instances_of
from memlens.views.naming.frame_names import FlameName, Place
from memlens.views.selection.stacks import PrefixTree, Retained, ValuedStacks, ValueName
from memlens.views.selection.texts import Pattern

_NO_PACKAGE = 0xFFFF
_USER, _LIBRARY, _NEITHER = 0, 1, 3
_MOST_EXAMPLES = 3


class GroupAnswer(Struct, frozen=True):
    """A group of a tree, those from the root down to it, and the largest of its objects."""

    node: GroupNode
    name: FlameName | None
    """Its name as shown in its box; None for a root that is not an object."""
    path: list[GroupNode]
    largest: list[ObjectRow]
    fitting: int | None
    """The number of its objects that match the filter; None without a filter."""


class _BoxNames(ABC):
    """Names of boxes; the last one is for the node above the unreachable objects."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many names there are."""

    @property
    def unreachable(self) -> int:
        """The number of the name for the node above the unreachable objects."""
        return self.count - 1

    def ranks(self, _attribution: Attribution) -> U8:
        """All equal: an object is charged with itself alone."""
        return np.zeros(self.count, np.uint8)


class TypeNames(_BoxNames):
    """Types as the names of boxes, see :class:`memlens.views.flame.names.Names`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._packages = packages_of(snapshot)

    @property
    def count(self) -> int:
        """How many names there are."""
        return len(self._packages.short) + 1

    def kinds(self) -> U8:
        """The platform's types count as a library's."""
        return np.append(np.where(self._packages.is_platform, _LIBRARY, _USER), _NEITHER).astype(np.uint8)

    def package_numbers(self) -> U32:
        """Types without a package have a colour each."""
        own = self._packages.of_type
        numbers = np.where(own == 0, len(self._packages.names) + np.arange(len(own)), own)
        return np.append(np.minimum(numbers, _NO_PACKAGE - 1), _NO_PACKAGE).astype(np.uint32)

    def names(self, numbers: Sequence[int]) -> list[FlameName]:
        """Types without their packages."""
        packages, found = self._packages, []
        own = {made_up_root(self._snapshot): ROOTS, self.unreachable: UNREACHABLE}
        places = places_of_types(self._snapshot)
        for number in numbers:
            if number in own:
                found.append(FlameName.own(number, own[number]))
                continue
            file, line = places.get(number, ("", None))
            package = packages.names[int(packages.of_type[number])]
            found.append(FlameName(number, packages.short[number], file, line or 0, "none", package, False))
        return found

    def places(self, numbers: Sequence[int]) -> list[Place | None]:
        """The lines that define types, as far as the file has them."""
        places = places_of_types(self._snapshot)
        known = {number: (file, line, "") for number, (file, line) in places.items() if line is not None}
        return [known.get(number) for number in numbers]

    def matching(self, text: str) -> U8:
        """The types whose names match."""
        pattern = Pattern(text)
        names = (*type_names(self._snapshot), UNREACHABLE.text)
        return np.array([pattern.matches(name) for name in names], np.uint8)


def tree_title(form: Form) -> str:
    """The title of a tree's picture."""
    return {
        "dominators": f"dominators by {form.by}, retained bytes",
        "paths": f"shortest paths from roots by {form.by}, bytes",
    }[form.tree]


class GroupNames(_BoxNames):
    """Packages or modules as the names of boxes, each in a colour of its own, as for types."""

    def __init__(self, snapshot: Snapshot, by: Grouping) -> None:
        of_type, names = keys_of_types(snapshot, by)
        self._names = [*names, UNREACHABLE]
        own, shallow = ~packages_of(snapshot).is_platform, snapshot.types.shallow.astype(np.float64)
        # arrays of numbers have no package either, so one class without a package must not make them the program's
        is_most = 2 * np.bincount(of_type, own * shallow, len(names)) >= np.bincount(
            of_type, shallow, len(names)
        )
        self._own = is_most & (np.bincount(of_type, own, len(names)) > 0)

    @property
    def count(self) -> int:
        """How many names there are."""
        return len(self._names)

    def kinds(self) -> U8:
        """A library if the program's types have less than half of the bytes."""
        return np.append(np.where(self._own, _USER, _LIBRARY), _NEITHER).astype(np.uint8)

    def package_numbers(self) -> U32:
        """Each name is a package."""
        numbers = np.minimum(np.arange(self.count - 1), _NO_PACKAGE - 1)
        return np.append(numbers, _NO_PACKAGE).astype(np.uint32)

    def names(self, numbers: Sequence[int]) -> list[FlameName]:
        """Packages and modules, without files."""
        return [FlameName.own(number, self._names[number]) for number in numbers]

    def places(self, numbers: Sequence[int]) -> list[Place | None]:
        """No places: a package has no line."""
        return [None] * len(numbers)

    def matching(self, text: str) -> U8:
        """The packages and modules whose names match."""
        pattern = Pattern(text)
        return np.array([pattern.matches(name.text) for name in self._names], np.uint8)


class DrawnTree(CallTree):
    """A grouped tree of objects; a search is a filter."""

    snapshot: Snapshot
    grouped: GroupedTree
    form: Form

    def search(self, text: str) -> Search:
        """The groups with objects that fit a filter. Raises :class:`BadRequestError`."""
        return self.marked(text, None)

    def marked(self, text: str, kind: int | None) -> Search:
        """The groups with objects that fit a filter, of one type where it is given. Raises :class:`BadRequestError`.

        If no object of that type matches, the type is ignored.
        """
        return _marked(self.snapshot, self.form, text, kind)

    def mark(self, text: str, kind: int | None) -> Search:
        """Compute what :meth:`marked` caches."""
        snapshot, shallow = self.snapshot, self.snapshot.objects.shallow
        chosen = filters.chosen(snapshot, text)
        fitting = fitting_by_group(snapshot, text, self.form.tree)
        if kind is not None:
            members = instances_of(snapshot, kind)
            if chosen is not None:
                members = members[chosen.among(snapshot, members)]
            matched = int(shallow[members].sum())
            # a group's objects are of one type
            by_type = base_tree(snapshot, self.form.tree)
            every = by_type.objects.astype(np.int64) if chosen is None else fitting
            own = np.where(by_type.key == kind, every, 0)
            if chosen is not None and not own.any():
                return self.marked(text, None)
            fitting = own
        elif chosen is None:
            matched = 0
        elif chosen.objects is None:
            matched = int(snapshot.types.shallow[chosen.types].sum())
        else:
            matched = int(shallow[chosen.objects].sum())
        fitting = self.grouped.summed(fitting)
        below = fitting[np.newaxis].copy()
        kernel.sum_up(self.parents, below)
        held = ((fitting > 0) | 2 * (below[0] > fitting)).astype(np.uint8)
        nodes = np.flatnonzero((fitting > 0) & (self.widths > 0))
        return Search(held, nodes, np.array([matched, int(fitting.sum())], np.int64))


@kept
def _marked(snapshot: Snapshot, form: Form, text: str, kind: int | None) -> Search:
    return drawn_tree(snapshot, form).mark(text, kind)


@kept
def fitting_by_group(snapshot: Snapshot, filter_text: str, tree: HeapTree = "dominators") -> I64:
    """The number of objects in each node of a tree's base that match a filter. Raises :class:`BadRequestError`."""
    by_type = base_tree(snapshot, tree)
    groups = len(by_type.key)
    chosen = filters.chosen(snapshot, filter_text)
    if chosen is None:
        return np.zeros(groups, np.int64)
    if chosen.objects is None:
        # a group's objects are of one type
        fits = np.append(chosen.types, False)[np.minimum(by_type.key, len(chosen.types))]
        return np.where(fits, by_type.objects, 0).astype(np.int64)
    return np.bincount(by_type.group[chosen.mask(snapshot)], minlength=groups).astype(np.int64)


@kept
def drawn_tree(snapshot: Snapshot, form: Form = DOMINATORS) -> DrawnTree:
    """A tree, built on first use. Raises :class:`BadRequestError` for what a dump lacks."""
    grouped = grouped_tree(snapshot, form)
    nodes = np.arange(len(grouped.key), dtype=np.uint32)
    parents = np.array(grouped.parent, np.uint32)
    parents[0] = 0
    names = TypeNames(snapshot) if form.by == "type" else GroupNames(snapshot, form.by)
    types = np.minimum(grouped.key, names.unreachable).astype(np.uint32)
    types[0] = NEVER
    values = np.stack((grouped.shallow.astype(np.int64), grouped.objects.astype(np.int64)))
    meaning = Retained((ValueName("shallow_bytes", "bytes"), ValueName("objects", "count")))
    stacks = ValuedStacks(PrefixTree(parents, types, nodes, nodes), nodes, values, meaning, nodes, nodes)
    child, sibling = np.empty_like(nodes), np.empty_like(nodes)
    kernel.families(parents, child, sibling)
    merged = Merged(Shape(parents, types, child, sibling), nodes, np.arange(names.count, dtype=np.uint32))
    built = build(stacks, merged, names, FlameOptions(), 0)
    tree = DrawnTree(built.options, names, built.by, built.meaning, built.make)
    tree.snapshot, tree.grouped, tree.form = snapshot, grouped, form
    return tree


def group(snapshot: Snapshot, number: int, filter_text: str) -> GroupAnswer:
    """A group by its number. Raises :class:`BadRequestError`."""
    form, node = located(snapshot, number)
    tree = drawn_tree(snapshot, form)
    path = tree.path(node)
    key = int(tree.grouped.key[node])
    name = None if key == NEVER and node == 0 else tree.names.names([min(key, tree.names.count - 1)])[0]
    found = group_nodes(snapshot, np.array([node, *path], np.int64), form)
    members = np.flatnonzero(is_in(snapshot, number))
    retained = snapshot.objects.retained[members].astype(np.int64)
    largest = members[np.argsort(-retained, kind="stable")[:_MOST_EXAMPLES]]
    fits = fitting_by_group(snapshot, filter_text, form.tree) if filter_text.strip() else None
    fitting = None if fits is None else int(tree.grouped.summed(fits)[node])
    return GroupAnswer(found[0], name, found[1:], object_rows(snapshot, largest), fitting)
