"""The dominator tree grouped by type, as a flame graph draws it: a box for each group, as wide as what it retains.

What fits the filter, and is of the type that is selected, is marked as what a search finds in a flame graph is: groups
that have such objects, and those above them.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.kernels.tree import calltree as kernel
from memlens.model.attribution import Attribution
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.flame.calltree import CallTree, FlameOptions, Merged, Search, Shape, build
from memlens.views.graph import filters, listing
from memlens.views.graph.packages import packages_of
from memlens.views.graph.places import places_of_types
from memlens.views.graph.retained import UNREACHABLE, CompactNode, check_node, compact_nodes
from memlens.views.graph.rows import ObjectRow, object_rows, type_names
from memlens.views.naming.frame_names import FlameName, Place
from memlens.views.selection.stacks import PrefixTree, Retained, ValuedStacks, ValueName
from memlens.views.selection.texts import Pattern

_NO_PACKAGE = 0xFFFF
_USER, _LIBRARY, _NEITHER = 0, 1, 3
_MOST_EXAMPLES = 3


class GroupAnswer(Struct, frozen=True):
    """A group of the tree, the types from the root down to it, and the largest of its objects."""

    node: CompactNode
    name: FlameName | None
    """Its name, as boxes have it; None for a root that is no object."""
    path: list[CompactNode]
    largest: list[ObjectRow]
    fitting: int | None
    """How many of its objects fit the filter; None without one."""


class TypeNames:
    """Types as the names of boxes, see :class:`memlens.views.flame.names.Names`.

    The last name is that of the node that unreachable objects are below.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._packages = packages_of(snapshot)

    @property
    def count(self) -> int:
        """How many names there are."""
        return len(self._packages.short) + 1

    @property
    def unreachable(self) -> int:
        """The number of the name of the node that unreachable objects are below."""
        return self.count - 1

    def kinds(self) -> npt.NDArray[np.uint8]:
        """The platform's types are libraries'."""
        return np.append(np.where(self._packages.is_platform, _LIBRARY, _USER), _NEITHER).astype(np.uint8)

    def package_numbers(self) -> npt.NDArray[np.uint32]:
        """Types without a package have a colour each."""
        own = self._packages.of_type
        numbers = np.where(own == 0, len(self._packages.names) + np.arange(len(own)), own)
        return np.append(np.minimum(numbers, _NO_PACKAGE - 1), _NO_PACKAGE).astype(np.uint32)

    def names(self, numbers: Sequence[int]) -> list[FlameName]:
        """Types without their packages."""
        packages, found = self._packages, []
        places = places_of_types(self._snapshot)
        for number in numbers:
            if number == self.unreachable:
                found.append(FlameName.own(number, UNREACHABLE))
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

    def matching(self, text: str) -> npt.NDArray[np.uint8]:
        """The types whose names fit."""
        pattern = Pattern(text)
        names = (*type_names(self._snapshot), UNREACHABLE.text)
        return np.array([pattern.matches(name) for name in names], np.uint8)

    def ranks(self, _attribution: Attribution) -> npt.NDArray[np.uint8]:
        """All alike: nothing is charged to another object than itself."""
        return np.zeros(self.count, np.uint8)


class DominatorTree(CallTree):
    """The compact tree; a search is a filter."""

    snapshot: Snapshot

    def search(self, text: str) -> Search:
        """The groups with objects that fit a filter. Raises :class:`BadRequestError`."""
        return self.marked(text, None)

    def marked(self, text: str, kind: int | None) -> Search:
        """The groups with objects that fit a filter, of one type where it is given. Raises :class:`BadRequestError`.

        If no object of that type fits, the type is another question, and the filter is answered.
        """
        return self.snapshot.keep(("marked groups", text, kind), lambda: self._marked(text, kind))

    def _marked(self, text: str, kind: int | None) -> Search:
        snapshot, shallow = self.snapshot, self.snapshot.objects.shallow
        chosen = filters.chosen(snapshot, text)
        fitting = fitting_by_group(snapshot, text)
        if kind is not None:
            matched = int(shallow[listing.fitting(snapshot, text, kind, None)].sum())
            # a group's objects are of one type
            compact = snapshot.compact
            every = compact.objects.astype(np.int64) if chosen is None else fitting
            own = np.where(compact.type == kind, every, 0)
            if chosen is not None and not own.any():
                return self.marked(text, None)
            fitting = own
        elif chosen is None:
            matched = 0
        elif chosen.objects is None:
            matched = int(snapshot.types.shallow[chosen.types].sum())
        else:
            matched = int(shallow[chosen.objects].sum())
        below = fitting[np.newaxis].copy()
        kernel.sum_up(self.parents, below)
        held = ((fitting > 0) | 2 * (below[0] > fitting)).astype(np.uint8)
        nodes = np.flatnonzero((fitting > 0) & (self.widths > 0))
        return Search(held, nodes, np.array([matched, int(fitting.sum())], np.int64))


def fitting_by_group(snapshot: Snapshot, filter_text: str) -> npt.NDArray[np.int64]:
    """How many objects of each group fit a filter. Raises :class:`BadRequestError`."""
    groups = len(snapshot.compact.type)
    chosen = filters.chosen(snapshot, filter_text)
    if chosen is None:
        return np.zeros(groups, np.int64)
    if chosen.objects is None:
        # a group's objects are of one type
        fits = np.append(chosen.types, False)[np.minimum(snapshot.compact.type, len(chosen.types))]
        return np.where(fits, snapshot.compact.objects, 0).astype(np.int64)
    return snapshot.keep(
        ("fitting by group", filter_text),
        lambda: np.bincount(snapshot.objects.group[chosen.mask(snapshot)], minlength=groups).astype(np.int64),
    )


def dominator_tree(snapshot: Snapshot) -> DominatorTree:
    """The compact dominator tree, made when it is first asked for."""

    def make() -> DominatorTree:
        compact = snapshot.compact
        nodes = np.arange(len(compact.type), dtype=np.uint32)
        parents = np.array(compact.parent, np.uint32)
        parents[0] = 0
        names = TypeNames(snapshot)
        types = np.minimum(compact.type, names.unreachable).astype(np.uint32)
        types[0] = NEVER
        values = np.stack((compact.shallow.astype(np.int64), compact.objects.astype(np.int64)))
        meaning = Retained((ValueName("shallow_bytes", "bytes"), ValueName("objects", "count")))
        stacks = ValuedStacks(PrefixTree(parents, types, nodes, nodes), nodes, values, meaning, nodes, nodes)
        child, sibling = np.empty_like(nodes), np.empty_like(nodes)
        kernel.families(parents, child, sibling)
        merged = Merged(Shape(parents, types, child, sibling), nodes, np.arange(names.count, dtype=np.uint32))
        built = build(stacks, merged, names, FlameOptions(), 0)
        tree = DominatorTree(built.options, names, built.by, built.meaning, built.make)
        tree.snapshot = snapshot
        return tree

    return snapshot.keep("dominator tree", make)


def group(snapshot: Snapshot, node: int, filter_text: str) -> GroupAnswer:
    """A group of the compact tree. Raises :class:`BadRequestError`."""
    check_node(snapshot, node)
    tree = dominator_tree(snapshot)
    path = tree.path(node)
    kind = int(snapshot.compact.type[node])
    name = None if kind == NEVER and node == 0 else tree.names.names([min(kind, tree.names.count - 1)])[0]
    found = compact_nodes(snapshot, np.array([node, *path], np.int64))
    members = np.flatnonzero(snapshot.objects.group == node)
    retained = snapshot.objects.retained[members].astype(np.int64)
    largest = members[np.argsort(-retained, kind="stable")[:_MOST_EXAMPLES]]
    fitting = int(fitting_by_group(snapshot, filter_text)[node]) if filter_text.strip() else None
    return GroupAnswer(found[0], name, found[1:], object_rows(snapshot, largest), fitting)
