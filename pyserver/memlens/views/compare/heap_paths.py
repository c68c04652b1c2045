"""Where two heap dumps differ in the dominator tree grouped by type."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.views.heap.dominators.trees import DOMINATORS, grouped_tree
from memlens.views.heap.objects.native_memory import has_native, native_of_nodes
from memlens.views.heap.objects.rows import Numbers

LEAST_SHARE = 0.002
"""A node is compared only if it retains, or has grown by, at least this share of the larger dump."""

_CONCENTRATED = 0.7
_MOST_PATHS = 1_000
_MOST_DEPTH = 200


class GrownPath(Struct, frozen=True):
    """A node of the dominator tree grouped by type: the types from the root to it, and its figures in each dump.

    ``group`` is its number in the later dump, ``before_group`` in the earlier one, None if the node isn't there.
    """

    path: list[Text]
    group: int
    before_group: int | None
    before_objects: int
    after_objects: int
    before_retained_bytes: int
    after_retained_bytes: int
    before_native_retained_bytes: int | None
    """Memory outside of the heap that they retain; None where neither dump knows of any."""
    after_native_retained_bytes: int | None


_Child: TypeAlias = tuple[str, int]
"""The name of a child's type, and its place among its siblings of that name: the one that retains most first."""


class _Tree:
    """A dump's dominator tree grouped by type, for traversal."""

    def __init__(self, snapshot: Snapshot, names: Mapping[str, str]) -> None:
        self.stored = grouped_tree(snapshot, DOMINATORS)
        self._snapshot = snapshot
        self._names = names

    @cached_property
    def _native(self) -> Numbers:
        return self.stored.summed_totals(native_of_nodes(self._snapshot)[1])

    def children(self, node: int | None, least: int) -> dict[_Child, int]:
        """A node's children that retain at least ``least`` bytes."""
        found: dict[_Child, int] = {}
        if node is None:
            return found
        stored, alike = self.stored, Counter[str]()
        for child in range(int(stored.first[node]), int(stored.last[node])):
            if int(stored.total[child]) >= least:
                name = self.name(child).text
                found[name, alike[name]] = child
                alike[name] += 1
            elif node != 0:
                # children are sorted by retained size, except for the node of unreachable objects
                break
        return found

    def named(self, node: int, wanted: _Child, known: dict[_Child, int]) -> int | None:
        """The child of a name, however little it retains."""
        if wanted in known:
            return known[wanted]
        name, place = wanted
        children = range(int(self.stored.first[node]), int(self.stored.last[node]))
        return next(islice((each for each in children if self.name(each).text == name), place, None), None)

    def name(self, node: int) -> Text:
        """What a node is called in both dumps."""
        name = self.stored.name(node)
        return Text(self._names[name.text]) if name.text in self._names else name

    def figures(self, node: int | None) -> tuple[int, int]:
        """The number of a node's objects, and what they retain."""
        return (0, 0) if node is None else (int(self.stored.objects[node]), int(self.stored.total[node]))

    def native(self, node: int | None) -> int:
        """The memory outside of the heap that its objects retain."""
        return 0 if node is None else int(self._native[node])


def grown_paths(before: Snapshot, after: Snapshot, names: Mapping[str, str]) -> list[GrownPath]:
    """The nodes where growth branches: no child has 70% of the node's growth.

    Siblings of types of one name are paired by what they retain. ``names`` are those that both dumps have in common for
    types of other names (:func:`memlens.views.naming.stable_names.common_names`).
    """
    first, second = _Tree(before, names), _Tree(after, names)
    whole = max(graph_of(before.info).shallow_bytes, graph_of(after.info).shallow_bytes)
    least = max(1, int(LEAST_SHARE * whole))
    knows_native = has_native(before) or has_native(after)
    found: list[GrownPath] = []
    waiting: list[tuple[int | None, int, list[Text]]] = [(0, 0, [])]
    while waiting and len(found) < _MOST_PATHS:
        old, node, path = waiting.pop()
        known = first.children(old, least)
        grown: list[tuple[int, int | None, int]] = []
        for wanted, child in second.children(node, least).items():
            earlier = None if old is None else first.named(old, wanted, known)
            growth = second.figures(child)[1] - first.figures(earlier)[1]
            if growth >= least:
                grown.append((growth, earlier, child))
        (count, retained), (count_after, retained_after) = first.figures(old), second.figures(node)
        growth = retained_after - retained
        most = max((each[0] for each in grown), default=0)
        if path and growth >= least and most < _CONCENTRATED * growth:
            outside = (first.native(old), second.native(node)) if knows_native else (None, None)
            found.append(GrownPath(path, node, old, count, count_after, retained, retained_after, *outside))
        if len(path) < _MOST_DEPTH:
            waiting += [(earlier, child, [*path, second.name(child)]) for _, earlier, child in grown]
    found.sort(key=lambda row: row.before_retained_bytes - row.after_retained_bytes)
    return found
