"""Where two heap dumps differ in the dominator tree grouped by type."""

from functools import cached_property

from msgspec import Struct

from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.views.graph.groupings import DOMINATORS, grouped_tree
from memlens.views.graph.native import has_native, native_of_nodes
from memlens.views.graph.rows import Numbers

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


class _Tree:
    """A dump's dominator tree grouped by type, for traversal."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.stored = grouped_tree(snapshot, DOMINATORS)
        self._snapshot = snapshot

    @cached_property
    def _native(self) -> Numbers:
        return self.stored.summed_totals(native_of_nodes(self._snapshot)[1])

    def children(self, node: int | None, least: int) -> dict[str, int]:
        """A node's children that retain at least ``least`` bytes, by type."""
        found: dict[str, int] = {}
        if node is None:
            return found
        stored = self.stored
        for child in range(int(stored.first[node]), int(stored.last[node])):
            if int(stored.total[child]) >= least:
                found.setdefault(self.name(child).text, child)
            elif node != 0:
                # children are sorted by retained size, except for the node of unreachable objects
                break
        return found

    def named(self, node: int, name: str, known: dict[str, int]) -> int | None:
        """The child of a type, whatever it retains."""
        if name in known:
            return known[name]
        first, last = int(self.stored.first[node]), int(self.stored.last[node])
        return next((child for child in range(first, last) if self.name(child).text == name), None)

    def name(self, node: int) -> Text:
        """What a node is called."""
        return self.stored.name(node)

    def figures(self, node: int | None) -> tuple[int, int]:
        """The number of a node's objects, and what they retain."""
        return (0, 0) if node is None else (int(self.stored.objects[node]), int(self.stored.total[node]))

    def native(self, node: int | None) -> int:
        """What its objects retain outside of the heap."""
        return 0 if node is None else int(self._native[node])


def grown_paths(before: Snapshot, after: Snapshot) -> list[GrownPath]:
    """The nodes where growth branches: no child has 70% of the node's growth."""
    first, second = _Tree(before), _Tree(after)
    whole = max(graph_of(before.info).shallow_bytes, graph_of(after.info).shallow_bytes)
    least = max(1, int(LEAST_SHARE * whole))
    knows_native = has_native(before) or has_native(after)
    found: list[GrownPath] = []
    waiting: list[tuple[int | None, int, list[Text]]] = [(0, 0, [])]
    while waiting and len(found) < _MOST_PATHS:
        old, node, path = waiting.pop()
        known = first.children(old, least)
        grown: list[tuple[int, int | None, int]] = []
        for name, child in second.children(node, least).items():
            earlier = None if old is None else first.named(old, name, known)
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
