"""Memory outside of the heap in what sets of objects retain, and in what cuts free: against traversals of the graph."""

import random
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pytest
from tests.python.graphs import SmallGraph
from tests.python.hprof_files import LONG, OBJECT
from tests.python.native_files import FIRST_NODE, NativeDump
from tests.python.test_native_memory import random_dump
from tests.python.tries import tries

from memlens.store.snapshot import Snapshot
from memlens.views.compare.heaps import compare_heaps, pair_of
from memlens.views.heap.dominators.flame import group
from memlens.views.heap.dominators.trees import DOMINATORS, group_of
from memlens.views.heap.listing.one_object import describe
from memlens.views.heap.objects.rows import type_names
from memlens.views.heap.objects.types import instances_of, types
from memlens.views.heap.paths.merged import merged_paths
from memlens.views.heap.paths.to_object import paths
from memlens.views.heap.retained.by_objects import retained_by
from memlens.views.heap.retained.by_type import retained_by_type
from memlens.views.heap.retained.cuts import cut, freed_by_cuts
from memlens.views.heap.retained.left_out import OneObject

Opened = Callable[[Path], Snapshot]


class _Heap:
    """A random dump with native memory, and by number in the file the node of its graph."""

    def __init__(self, seed: int, opened: Opened, path: Path) -> None:
        dump, self.graph, self.native = random_dump(seed)
        path.write_bytes(dump.end())
        self.snapshot = opened(path)
        self.rng = random.Random(seed)
        ids = self.snapshot.objects.id.tolist()
        self.number = [ids.index(FIRST_NODE + 0x20 * node) for node in self.graph.objects]
        self.node = {number: node for node, number in enumerate(self.number)}
        self.reached = self.graph.reached(self.graph.roots)

    def outside(self, nodes: Collection[int]) -> int | None:
        """What they own; None where the dump has none of it."""
        return sum(self.native[node] for node in nodes) if any(self.native) else None

    def without(self, chosen: Collection[int]) -> set[int]:
        """What nothing reaches without some objects."""
        return set(self.reached - self.graph.reached(self.graph.roots, frozenset(chosen)))

    def cut(
        self, sources: Collection[int], targets: Collection[int], graph: SmallGraph | None = None
    ) -> SmallGraph:
        """The graph without the references from some objects to others."""
        known = graph or self.graph
        edges = [
            [edge for edge in row if source not in sources or edge[0] not in targets]
            for source, row in enumerate(known.edges)
        ]
        return known._replace(edges=edges)

    def lost(self, sources: Collection[int], targets: Collection[int]) -> set[int]:
        """What nothing reaches without these references."""
        cut = self.cut(sources, targets)
        return set(self.reached - cut.reached(cut.roots))


@pytest.mark.parametrize("seed", range(tries(25)))
def test_sets_types_and_groups(seed: int, opened: Opened, tmp_path: Path) -> None:
    heap = _Heap(seed, opened, tmp_path / "made.hprof")
    snapshot = heap.snapshot
    for _ in range(10):
        chosen = heap.rng.sample(list(heap.graph.objects), heap.rng.randint(1, len(heap.graph.objects)))
        found = retained_by(snapshot, [heap.number[node] for node in chosen])
        assert found.native_retained_bytes == heap.outside(heap.without(chosen))
    for kind in {int(snapshot.objects.type[number]) for number in heap.number}:
        members = [heap.node[int(number)] for number in instances_of(snapshot, kind)]
        assert retained_by_type(snapshot, kind).native_retained_bytes == heap.outside(heap.without(members))
    groups = {group_of(snapshot, number, DOMINATORS) for number in heap.number}
    above = snapshot.objects.dominator
    for node in groups:
        members = [
            each for each in heap.graph.objects if group_of(snapshot, heap.number[each], DOMINATORS) == node
        ]
        within = {heap.number[each] for each in members}
        found_group = group(snapshot, node, "").node
        assert found_group.native_bytes == heap.outside(members)
        rows = [
            describe(snapshot, heap.number[each]).object.native_retained_bytes
            for each in members
            if int(above[heap.number[each]]) not in within
        ]
        assert found_group.native_total_bytes == (sum(row or 0 for row in rows) if any(heap.native) else None)
    whole = group(snapshot, 0, "").node
    assert (whole.native_bytes, whole.native_total_bytes) == (heap.outside(()), heap.outside(heap.reached))


@pytest.mark.parametrize("seed", range(tries(25)))
def test_cuts_of_one_reference_and_of_several(seed: int, opened: Opened, tmp_path: Path) -> None:
    heap = _Heap(seed, opened, tmp_path / "made.hprof")
    snapshot, number = heap.snapshot, heap.number
    for source in heap.graph.objects:
        for target in {target for target, _ in heap.graph.edges[source]}:
            found = cut(snapshot, number[source], number[target])
            assert found.freed_native_bytes == heap.outside(heap.lost([source], [target]))
    for _ in range(20):
        sources, targets = (
            heap.rng.choices(list(heap.graph.objects), k=heap.rng.randint(1, 6)) for _ in range(2)
        )
        ends = [np.array([number[node] for node in nodes], np.int64) for nodes in (sources, targets)]
        freed, _ = freed_by_cuts(snapshot, ends[0], ends[1])
        assert freed is not None
        assert freed.native == (heap.outside(heap.lost(sources, targets)) or 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(25)))
def test_links_of_paths_and_what_is_left_out(seed: int, opened: Opened, tmp_path: Path) -> None:
    heap = _Heap(seed, opened, tmp_path / "made.hprof")
    snapshot, out = heap.snapshot, heap.rng.choice(list(heap.graph.objects))
    left = heap.cut([out], heap.graph.objects)
    still = left.reached(left.roots)
    for node in heap.graph.objects:
        for path in paths(snapshot, heap.number[node]).paths:
            above = path.root
            for step in path.steps:
                lost = heap.lost([heap.node[above.object]], [heap.node[step.object.object]])
                assert step.freed_native_bytes == heap.outside(lost)
                above = step.object
        found = paths(snapshot, heap.number[node], leaving_out=(OneObject(heap.number[out]),))
        assert found.without is not None
        assert found.without.freed_native_bytes == heap.outside(heap.reached - still)
        for path in found.paths:
            above = path.root
            for step in path.steps:
                both = heap.cut([heap.node[above.object]], [heap.node[step.object.object]], left)
                assert step.freed_native_bytes == heap.outside(still - both.reached(both.roots))
                above = step.object


@pytest.mark.parametrize("seed", range(tries(25)))
def test_merged_steps_free_both_at_once(seed: int, opened: Opened, tmp_path: Path) -> None:
    """A step of all paths to one object is one reference."""
    heap = _Heap(seed, opened, tmp_path / "made.hprof")
    snapshot = heap.snapshot
    for kind in {int(snapshot.objects.type[number]) for number in heap.number}:
        members = instances_of(snapshot, kind)
        if len(members) > 1:
            continue
        first = merged_paths(snapshot, kind, None, "", 0, 0, 100).rows
        for root in first:
            assert root.freed_native_bytes is None
            above, below = root, merged_paths(snapshot, kind, None, "", root.node, 0, 100).rows
            for row in below:
                lost = heap.lost([heap.node[above.example.object]], [heap.node[row.example.object]])
                assert row.freed_native_bytes == heap.outside(lost)


@pytest.mark.parametrize("seed", range(tries(12)))
def test_a_comparison_has_what_types_and_groups_retain_in_each_dump(
    seed: int, opened: Opened, tmp_path: Path
) -> None:
    before = _Heap(seed, opened, tmp_path / "before.hprof")
    after = _Heap(seed + 100, opened, tmp_path / "after.hprof")
    answer = compare_heaps(before.snapshot, after.snapshot, limit=1000)
    known = [any(heap.native) for heap in (before, after)]
    assert answer.knows_native is any(known)
    sums = []
    for heap in (before, after):
        found: dict[str, int] = {}
        for row in types(heap.snapshot, limit=1000).types:
            found[row.type] = found.get(row.type, 0) + (row.native_retained_bytes or 0)
        assert set(found) == set(type_names(heap.snapshot))
        sums.append(found)
    for compared in answer.types:
        shown = (compared.before_native_retained_bytes, compared.after_native_retained_bytes)
        both = tuple(each.get(compared.type, 0) for each in sums)
        assert shown == (both if any(known) else (None, None))
    for path in answer.paths:
        nodes = ((before, path.before_group), (after, path.group))
        figures = tuple(
            0 if node is None else group(heap.snapshot, node, "").node.native_total_bytes or 0
            for heap, node in nodes
        )
        shown = (path.before_native_retained_bytes, path.after_native_retained_bytes)
        assert shown == (figures if any(known) else (None, None))
    ordered = (
        pair_of(before.snapshot, after.snapshot).types("", "native_retained", 0, 1000, reverse=False).rows
    )
    grown = [
        abs((row.after_native_retained_bytes or 0) - (row.before_native_retained_bytes or 0))
        for row in ordered
    ]
    assert grown == sorted(grown, reverse=True)


def test_paths_that_grew_say_how_much_of_it_is_native(opened: Opened, tmp_path: Path) -> None:
    snapshots = []
    for count in (1, 40):
        dump = NativeDump()
        holder = dump.klass(0x900, "a/Holder", dump.object_class, [("all", OBJECT)])
        parts = dump.klass(0x920, "[La/Part;", dump.object_class)
        part = dump.klass(0x940, "a/Part", dump.object_class, [(f"n{at}", LONG) for at in range(200)])
        made = [
            dump.instance(dump.id() + 0x8000 * (at + 1), part, "200q", *range(200)) for at in range(count)
        ]
        for each in made:
            dump.register(each, 1000)
        every = dump.objects(dump.id(), parts, made)
        dump.add(0xFF, "P", dump.instance(dump.id(), holder, "P", every))
        path = tmp_path / f"{count}.hprof"
        path.write_bytes(dump.end())
        snapshots.append(opened(path))
    grown = next(
        path for path in compare_heaps(snapshots[0], snapshots[1]).paths if str(path.path[-1]) == "a.Part"
    )
    assert (grown.before_native_retained_bytes, grown.after_native_retained_bytes) == (1000, 40_000)
