"""Stacks with values against sums by hand, and their views, for every kind of node."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.command_line import memlens as run
from tests.python.conftest import real_profiles
from tests.python.made_stacks import TYPES
from tests.python.profile_reading import FIXTURES
from tests.python.test_difference import check_boxes
from tests.python.test_flame import check_picture

from memlens.kernels.tree.calltree import families
from memlens.model.attribution import Attribution
from memlens.model.timeline import NEVER
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.views.compare.difference import join, tree_of
from memlens.views.compare.pairing import Pairing
from memlens.views.compare.rows import compare
from memlens.views.compare.sides import side_of
from memlens.views.flame import graph as flame
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import FlameOptions, Merged, Shape, build
from memlens.views.naming.frame_names import FlameName, Place
from memlens.views.selection import walking
from memlens.views.selection.items import drawn_stacks, items_of, stacks_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import OneSide, PrefixTree, Retained, ValuedStacks, by_sign
from memlens.views.tables.size_classes import CLASSES, classes_of, edges_of

Item = tuple[int, int, int, int]
"""A node, an inferred frame or NEVER, an amount and a count."""


def made(nodes: Sequence[int], items: Sequence[Item], *, lazily: bool) -> ValuedStacks[OneSide]:
    """Items on a tree of (parent) nodes below the root; their rows are their numbers, and time runs backwards."""
    parents = [0, *(min(parent, number) for number, parent in enumerate(nodes))]
    ends = np.arange(len(parents), dtype=np.uint32)
    tree = PrefixTree(np.array(parents, np.uint32), ends, ends, ends + np.uint32(100))
    columns = np.array(items, np.int64).reshape(-1, 4).T
    rows = np.arange(len(items), dtype=np.uint32)
    times = (len(items) - rows).astype(np.uint32)
    return ValuedStacks(
        tree,
        (columns[0] % len(parents)).astype(np.uint32),
        columns[2:].copy(),
        OneSide(TYPES),
        rows,
        (lambda: times) if lazily else times,
        columns[1].astype(np.uint32),
    )


@given(
    st.lists(st.integers(0, 20), max_size=20),
    st.lists(
        st.tuples(
            st.integers(0, 20),
            st.sampled_from([NEVER, 0, 3]),
            st.integers(-(2**40), 2**40),
            st.integers(0, 9),
        ),
        max_size=40,
    ),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_sums_agree_with_the_items(
    nodes: list[int], items: list[Item], lazily: bool, chance: random.Random
) -> None:
    stacks = made(nodes, items, lazily=lazily)
    sizes = [chance.randrange(5) for _ in items]
    expected: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, (stack, inferred) in enumerate(
        zip(stacks.stacks.tolist(), [item[1] for item in items], strict=True)
    ):
        expected[stack, inferred].append(number)
    summed = stacks.summed(np.array(sizes, np.int64))
    assert summed.inferred is not None
    keys = list(zip(summed.stacks.tolist(), summed.inferred.tolist(), strict=True))
    assert sorted(keys) == sorted(expected)
    for place, key in enumerate(keys):
        numbers = expected[key]
        assert summed.values[:, place].tolist() == [sum(items[n][row] for n in numbers) for row in (2, 3)]
        assert int(summed.rows[place]) == min(numbers, key=lambda n: (-sizes[n], n))
        assert int(summed.times()[place]) == len(items) - max(numbers)
    # without lines an item is a stack
    alone = ValuedStacks(
        stacks.tree, stacks.stacks, stacks.values, stacks.meaning, stacks.rows, stacks.first
    ).summed()
    assert alone.stacks.tolist() == sorted({stack for stack, _ in expected})
    # a subset, and a tree with only these
    mask = np.array([chance.random() < 0.5 for _ in items], bool)
    some = stacks.where(mask)
    assert some.rows.tolist() == np.flatnonzero(mask).tolist()
    assert some.times().tolist() == stacks.times()[mask].tolist()
    small = some.pruned()
    assert small.archived(np.arange(len(small))) == sorted({100 + stack for stack in some.stacks.tolist()})
    for whole, part in zip(some.nodes.tolist(), small.nodes.tolist(), strict=True):
        assert way(some.tree, whole) == way(small.tree, part)
    assert len(small.tree.parents) == 1 + len(
        {n for node in some.nodes.tolist() for n in way(some.tree, node)}
    )
    # two merged trees
    both = some.tree.joined(small.tree)
    for ends, tree in (
        (both.ends[: len(some.tree.ends)], some.tree),
        (both.ends[len(some.tree.ends) :], small.tree),
    ):
        assert [way(both, end) for end in ends.tolist()] == [way(tree, end) for end in tree.ends.tolist()]


def way(tree: PrefixTree, node: int) -> list[int]:
    """The frames of a stack, innermost first."""
    found = []
    while node:
        found.append(int(tree.frames[node]))
        node = int(tree.parents[node])
    return found


@given(st.lists(st.tuples(st.integers(-(2**50), 2**50), st.integers(-9, 9)), max_size=20))
def test_sides_are_decreases_and_increases(values: list[tuple[int, int]]) -> None:
    items = made([], [(0, NEVER, amount, count) for amount, count in values], lazily=False)
    sided = by_sign(items, items.values[1])
    before, after = sided.meaning.before, sided.meaning.after
    assert (sided.values >= 0).all()
    assert np.array_equal(sided.values[after : after + 2] - sided.values[before : before + 2], items.values)
    assert np.array_equal(sided.values[:2], abs(items.values))


def test_classes_of_sizes_are_powers_of_two() -> None:
    sizes = [0, 1, 2, 3, 4, 2**53 - 1, 2**53, 2**53 + 1, 2**60 - 1, 2**62 - 1, 2**62, 2**63 - 1, -5]
    classes = classes_of(np.array(sizes, np.int64)).tolist()
    assert classes == [max(size, 0).bit_length() for size in sizes]
    assert max(classes) < CLASSES
    assert all(
        low <= max(size, 0) < high for size, (low, high) in zip(sizes, map(edges_of, classes), strict=True)
    )


# --- a trace beside a profile --------------------------------------------------------------------------------------


def test_the_profile_of_a_trace_has_its_places_and_amounts(
    opened: Callable[[Path], Snapshot], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile is the trace's peak written by our exporter: no line differs.

    People are refused a comparison of kinds; here it shows that nothing got lost.
    """
    for module in ("rows", "difference"):
        monkeypatch.setattr(f"memlens.views.compare.{module}.check_comparable", lambda *_: None)
    path = tmp_path / "peak.pb.gz"
    run("export", sample, "--pprof", path)
    trace, profile = opened(sample), opened(path)
    sides = side_of(trace, AllocationSet(0)), side_of(profile, AllocationSet(0))
    peak = trace.timeline.devices[0].peak_bytes
    totals = compare(*sides).answer("own", "", "difference", 0, 1).total
    assert totals.before_bytes == totals.after_bytes == peak
    assert totals.before_count == totals.after_count
    looked = 0
    for by in ("line", "function", "file"):
        for row in compare(*sides, by).answer("inclusive", "", "difference", 0, 1000).rows:
            if row.before is not None and row.before.kind != "native":
                assert row.after is not None
                assert (row.difference_bytes, row.before_count) == (0, row.after_count)
                looked += 1
    assert looked > 20
    by_stack = compare(*sides, "stack").answer("own", "", "difference", 0, 1000)
    assert (
        by_stack.same.before_bytes
        == sum(row.before_bytes for row in by_stack.rows if row.how == "same")
        > peak / 2
    )
    pairing = Pairing(sides[0].places, sides[1].places)
    for own in ("before", "after"):
        joined = join(*sides, pairing, own)
        tree = tree_of(joined, FlameOptions(merge="line"))
        assert flame_tables.whole(tree) == flame_tables.FlameSides(
            peak, totals.before_count, peak, totals.after_count
        )
        check_boxes(tree, 0, 1, 900)
        # each stack of the view's snapshot is found again
        highlighted = flame_tables.details_of(tree, joined.stacks, 0).stacks
        snapshot = trace if own == "before" else profile
        stacks = stacks_of(snapshot, AllocationSet(0))
        assert highlighted == stacks.archived(np.arange(len(stacks)))


@pytest.mark.parametrize(
    "path",
    [FIXTURES / "massif.out.ledger", *real_profiles("massif/massif.out.python")],
    ids=lambda path: path.name,
)
def test_values_without_counts_are_compared_with_their_callers(
    path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    """A range of a profile that counts no allocations: a line has all of the stacks that contain it."""
    snapshot = opened(path)
    of = AllocationSet(0, "live", snapshot.profile.bins)
    items = items_of(snapshot, of)
    assert not items.meaning.counted
    assert not items.values[1].any()
    rows = list(snapshot.frames.each())
    expected: Counter[tuple[str, int, str]] = Counter()
    for stack, amount in zip(items.stacks.tolist(), items.values[0].tolist(), strict=True):
        frames = {
            rows[n][:3]
            for n in way(items.tree, int(items.tree.ends[stack]))
            if n < len(rows) and rows[n][3] != 2
        }
        expected.update(dict.fromkeys(frames, amount))
    nothing = side_of(snapshot, AllocationSet(0, "live", 0))
    found = compare(nothing, side_of(snapshot, of)).answer("inclusive", "", "difference", 0, 1000).rows
    inclusive = {
        (row.after.file, row.after.line, row.after.function): row.after_bytes
        for row in found
        if row.after is not None and row.after.kind != "native" and row.after_bytes
    }
    assert inclusive == {place: amount for place, amount in expected.items() if amount}
    assert len(inclusive) > 3


# --- trees of other things -------------------------------------------------------------------------------------------


class ObjectNames:
    """Names of objects on a heap: a class and a number each."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = classes

    @property
    def count(self) -> int:
        return len(self.classes)

    def kinds(self) -> Any:
        return np.array([1 if name.startswith("java.") else 0 for name in self.classes], np.uint8)

    def package_numbers(self) -> Any:
        known = sorted({name.rpartition(".")[0] for name in self.classes})
        return np.array([known.index(name.rpartition(".")[0]) for name in self.classes], np.uint32)

    def names(self, numbers: Sequence[int]) -> list[FlameName]:
        return [FlameName(n, f"{self.classes[n]} #{n}", "", 0, "user", "", False) for n in numbers]

    def places(self, numbers: Sequence[int]) -> list[Place | None]:
        return [None for _ in numbers]

    def matching(self, text: str) -> Any:
        return np.array([text.casefold() in name.casefold() for name in self.classes], np.uint8)

    def ranks(self, _attribution: Attribution) -> Any:
        raise AssertionError("nothing is attributed to another object")


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 4), st.integers(0, 2**30)), min_size=1, max_size=40)
)
def test_a_tree_of_dominators_is_drawn_by_the_same_code(objects: list[tuple[int, int, int]]) -> None:
    """Each object is below its dominator: a box is as wide as its own bytes and the boxes below it."""
    classes = [
        ["java.util.HashMap", "java.lang.String", "app.Cache", "app.Row", "byte[]"][kind]
        for _, kind, _ in objects
    ]
    parents = [0, *(min(parent, number) for number, (parent, *_) in enumerate(objects))]
    nodes = np.arange(len(parents), dtype=np.uint32)
    frames = np.array([NEVER, *range(len(objects))], np.uint32)
    tree = PrefixTree(np.array(parents, np.uint32), frames, nodes, nodes)
    values = np.array([[size, 1] for *_, size in objects], np.int64).T.copy()
    stacks = ValuedStacks(tree, nodes[1:], values, Retained(TYPES), nodes[1:], nodes[1:])
    child, sibling = np.zeros_like(nodes), np.zeros_like(nodes)
    families(tree.parents, child, sibling)
    shape = Shape(tree.parents, tree.frames, child, sibling)
    same = Merged(shape, nodes, np.arange(len(objects), dtype=np.uint32))
    heap = build(stacks, same, ObjectNames(classes), FlameOptions(), 0)
    retained = [size for *_, size in objects]
    for number in range(len(objects), 1, -1):
        if parents[number]:
            retained[parents[number] - 1] += retained[number - 1]
    for node in range(1, len(heap)):
        number = int(heap.name[node])
        assert int(heap.inclusive[0, node]) == retained[number]
        assert heap.own("mine")[:, node].tolist() == [objects[number][2], 1]
    assert heap.total == sum(size for *_, size in objects)
    if heap.total:
        check_picture(heap, 0, 1, 800, 0, 50)
    shown = flame.picture(heap, 0, 1, 0, 50, 800, "string")
    assert all(name.function.endswith(f"#{name.name}") for name in shown.names)
    hits = [number for number, name in enumerate(classes) if "String" in name and retained[number]]
    assert sorted(row.name.name for row in flame_tables.search(heap, "STRING").matches) == hits
    rows = flame_tables.children(heap, 0, 0, 100).rows
    assert [row.bytes for row in rows] == sorted((row.bytes for row in rows), reverse=True)
    assert all(row.sides is None and row.self_bytes == objects[row.name.name][2] for row in rows)
    details = flame_tables.details_of(heap, stacks, len(heap) - 1)
    assert details.lines == []


def test_a_tree_has_the_meaning_of_its_values(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    events = snapshot.timeline.devices[0].events
    for of, kind in ((AllocationSet(0), "inuse"), (AllocationSet(0, "live", 0, events), "alloc")):
        tree = flame.tree_of(snapshot, of, "bytes", FlameOptions())
        assert tree.meaning == drawn_stacks(snapshot, of).meaning
        assert [tuple(each) for each in tree.meaning.types] == [
            (f"{kind}_space", "bytes"), (f"{kind}_objects", "count"),
        ]  # fmt: skip


@pytest.mark.parametrize("chance", [0.99, 1])
def test_the_nearest_node_above_is_found_in_stacks_of_any_depth(chance: float) -> None:
    random = np.random.default_rng(3)
    # long chains with branches, and lines that are rare
    count = 8_000
    parents = (
        np.arange(count) - np.where(random.random(count) < chance, 1, random.integers(1, 50, count))
    ).clip(0)
    lines = np.where(random.random(count) < 0.01, random.integers(0, 3, count), 7)
    nodes, wanted = random.integers(0, count, 500).astype(np.uint32), random.integers(0, 4, 500)
    allowed = random.random(count) < 0.05
    tree = PrefixTree(parents.astype(np.uint32), lines.astype(np.uint32), nodes, nodes)
    found = (
        walking.up_to_line(tree, nodes, lines, wanted),
        walking.up_to(tree, nodes, allowed),
        walking.up_to_another(tree, nodes, allowed, lines, wanted),
    )
    fits: tuple[Callable[[int, int], bool], ...] = (
        lambda node, line: bool(lines[node] == line),
        lambda node, _: bool(allowed[node]),
        lambda node, line: bool(allowed[node] and lines[node] != line),
    )
    for fit, answers in zip(fits, found, strict=True):
        for start, line, nearest in zip(nodes.tolist(), wanted.tolist(), answers.tolist(), strict=True):
            node = start
            while node and not fit(node, line):
                node = int(parents[node])
            assert nearest == node
    damaged = PrefixTree(np.array([0, 2, 1], np.uint32), tree.frames[:3], nodes, nodes)
    with pytest.raises(InconsistentError):
        walking.up_to_line(damaged, np.array([1], np.uint32), lines[:3], lines[:1])
    with pytest.raises(InconsistentError):
        walking.up_to(damaged, np.array([1], np.uint32), allowed[:3])
