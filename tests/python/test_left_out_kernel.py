"""What is held where references are left out, against a search through small random graphs without these."""

import itertools
import random
from typing import NamedTuple

import numpy as np
import pytest
from tests.python.graphs import RETAINS, STRONG, U32, WEAK, SmallGraph, native_of, random_graph, turned

from memlens.kernels.base.work import Work
from memlens.kernels.graph import reach
from memlens.kernels.graph.columns import References, Sizes
from memlens.kernels.graph.freed import Holding
from memlens.kernels.graph.left_out import LeftOut
from memlens.kernels.graph.paths import PathSearch
from memlens.kernels.graph.steps import one_up

SEEDS = range(1_700)
WIDE = 1_500
"""From this one on graphs have an object with many references."""
NONE = 0xFFFFFFFF
NAMES = 3
NO_NUMBERS = np.empty(0, np.uint32)


class Case(NamedTuple):
    """A random graph, what is left out of it, and the same as the kernel has it."""

    graph: SmallGraph
    names: U32
    out: frozenset[tuple[int, int]]
    """Objects, each with the place of one of its references."""
    left_out: LeftOut

    @property
    def left(self) -> SmallGraph:
        """The graph without what is left out."""
        edges = [
            [edge for place, edge in enumerate(row) if (item, place) not in self.out]
            for item, row in enumerate(self.graph.edges)
        ]
        return self.graph._replace(edges=edges)


def _case(seed: int) -> Case:
    graph, rng = random_graph(seed), random.Random(seed)
    if seed >= WIDE:
        # of objects with many references the kernel looks them up, also where they are alike
        wide = [(rng.choice(graph.objects), rng.choice((STRONG, WEAK))) for _ in range(70)]
        edges = [
            row + wide if item == seed % len(graph.edges) else row for item, row in enumerate(graph.edges)
        ]
        graph = graph._replace(edges=edges)
    start, target, kind = graph.columns()
    names = np.array([rng.randrange(NAMES) for _ in target], np.uint32)
    left_out, out = LeftOut(start, target, kind), set[tuple[int, int]]()
    by_text = np.ones(256, np.uint8)
    rows = [(item, place) for item, row in enumerate(graph.edges) for place in range(len(row))]
    for _ in range(rng.choice((1, 1, 2, 3))):
        some = rng.sample(graph.objects, rng.randint(0, min(4, len(graph.objects))))
        wanted = rng.randrange(NAMES)
        match rng.randrange(3):
            case 0:
                left_out.add_objects(np.array(some, np.uint32))
                out.update(row for row in rows if row[0] in some)
            case 1:
                chosen = {
                    row for row, name in zip(rows, names, strict=True) if name == wanted and row[0] in some
                }
                assert left_out.add_names(names, by_text, wanted, np.array(some, np.uint32), Work()) == len(
                    chosen
                )
                out |= chosen
            case _:
                chosen = {row for row, name in zip(rows, names, strict=True) if name == wanted}
                assert left_out.add_name(names, by_text, wanted, Work()) == len(chosen)
                out |= chosen
    return Case(graph, names, frozenset(out), left_out)


def _distances(graph: SmallGraph) -> U32:
    distance = np.empty(len(graph.edges), np.uint32)
    reach.distances(graph.references(), np.array(graph.roots, np.uint32), distance)
    return distance


def _holding(case: Case, distance: U32, *, known: bool = True) -> Holding:
    sizes = Sizes(np.array(case.graph.shallow, np.uint64), native_of(case.graph, known=known))
    return Holding(case.graph.references(), case.graph.referrers(), sizes, distance, case.left_out)


def test_distances_and_what_is_freed_without_references() -> None:
    lost_some = farther = 0
    for seed in SEEDS:
        case, rng = _case(seed), random.Random(seed)
        dropped = [root for root in set(case.graph.roots) if rng.random() < 0.1]
        left = case.left._replace(roots=[root for root in case.graph.roots if root not in dropped])
        before, expected = _distances(case.graph), _distances(left)
        changed = before.copy()
        known = seed % 4 > 0
        found = _holding(case, changed, known=known).move_away(np.array(dropped, np.uint32), Work())
        assert (changed == expected).all(), seed
        lost = [item for item in case.graph.objects if before[item] != NONE == expected[item]]
        outside = sum(native_of(case.graph)[lost].tolist()) if known else 0
        assert found == (len(lost), sum(case.graph.shallow[item] for item in lost), outside), seed
        lost_some += bool(lost)
        farther += bool(((before != expected) & (expected != NONE)).any())
    assert lost_some > 300
    assert farther > 100


@pytest.mark.slow
def test_what_a_cut_frees_besides() -> None:
    freed_some = 0
    for seed in SEEDS:
        case, rng = _case(seed), random.Random(seed)
        distance = _distances(case.left)
        holding = _holding(case, distance)
        reached = case.graph.reached(case.graph.roots) & case.left.reached(case.left.roots)
        for _ in range(3):
            sources, targets = (rng.choices(case.graph.objects, k=rng.randint(1, 4)) for _ in range(2))
            edges = [
                [(target, kind) for target, kind in row if item not in sources or target not in targets]
                for item, row in enumerate(case.left.edges)
            ]
            lost = reached - case.left._replace(edges=edges).reached(case.left.roots)
            expected = sum(case.graph.shallow[item] for item in lost)
            both = np.array(sources, np.uint32), np.array(targets, np.uint32)
            found = holding.freed(*both, 1 << 40, Work())
            assert found is not None
            assert found[0] == (expected, sum(native_of(case.graph)[list(lost)].tolist())), seed
            bounded = holding.freed(*both, found[1] // 2, Work())
            assert bounded is not None
            assert bounded[0] is None or not found[1]
            freed_some += expected > 0
        # a question leaves nothing behind that another one would see
        assert holding.freed(NO_NUMBERS, NO_NUMBERS, 1, Work()) == ((0, 0), 0)
    assert freed_some > 100


def test_paths_avoid_what_is_left_out_and_none_is_missed() -> None:
    around = gone = 0
    for seed in SEEDS:
        case = _case(seed)
        graph, left = case.graph, case.left
        if not graph.roots:
            continue
        item, is_root = seed % len(graph.edges), np.zeros(len(graph.edges), np.uint8)
        is_root[graph.roots] = 1
        search = PathSearch(graph.referrers(), is_root, item, case.left_out)
        found = []
        while (path := search.next_path(1_000)) is not None:
            found.append(np.asarray(path).tolist())
        assert search.is_complete
        assert {path[0] for path in found} == {root for root in graph.roots if item in left.reached([root])}
        lengths = [len(path) - 1 for path in found]
        assert lengths == sorted(lengths)
        far = int(_distances(left)[item])
        assert (lengths[:1] or [NONE]) == [far]
        for path in found:
            assert path[-1] == item
            assert all(after in left.strong(before) for before, after in itertools.pairwise(path))
        before = int(_distances(graph)[item])
        around += before < far < NONE
        gone += before < far == NONE
    assert around > 20
    assert gone > 50


def test_steps_upwards_avoid_what_is_left_out() -> None:
    steps = 0
    for seed in SEEDS[:500]:
        case = _case(seed)
        columns, distance = case.graph.columns(), _distances(case.left)
        items = np.flatnonzero((distance != NONE) & (distance > 0)).astype(np.uint32)
        above, rows = np.empty(len(items), np.uint32), np.empty(len(items), np.uint64)
        both = case.graph.references(), case.graph.referrers()
        looked_at = one_up(*both, distance, items, above, rows, 1 << 40, case.left_out)
        assert looked_at is not None
        starts, targets, kinds = columns
        for item, source, row in zip(items.tolist(), above.tolist(), rows.tolist(), strict=True):
            place = row - int(starts[source])
            assert 0 <= place < len(case.graph.edges[source])
            assert (source, place) not in case.out
            assert (int(targets[row]), int(kinds[row])) == (item, STRONG)
            assert distance[source] + 1 == distance[item]
            steps += 1
        out = np.empty(len(targets), np.uint8)
        sources = np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts).astype(np.int64))
        case.left_out.are_out(sources, np.arange(len(targets), dtype=np.uint64), out)
        assert out.tolist() == [
            (item, place) in case.out
            for item, row in enumerate(case.graph.edges)
            for place in range(len(row))
        ]  # fmt: skip
    assert steps > 500


def test_work_that_was_stopped_has_no_result() -> None:
    case, work = _case(7), Work()
    work.stop()
    every = np.array(case.graph.objects, np.uint32)
    by_text = np.ones(256, np.uint8)
    case.left_out.add_objects(every)
    assert case.left_out.add_name(case.names, by_text, 0, work) is None
    assert case.left_out.add_names(case.names, by_text, 0, every, work) is None
    assert _holding(case, _distances(case.graph)).move_away(NO_NUMBERS, work) is None
    assert _holding(case, _distances(case.graph)).freed(every, every, 1 << 40, work) is None


def test_numbers_out_of_range_are_errors() -> None:
    start, target, kind = np.array([0, 1, 2], np.uint64), np.array([1, 0], np.uint32), np.zeros(2, np.uint8)
    far, shallow = np.array([0, 1], np.uint32), np.ones(2, np.uint64)
    names, by_text, one = np.zeros(2, np.uint32), np.ones(256, np.uint8), np.array([0], np.uint32)
    with pytest.raises(IndexError):
        LeftOut(start, target, kind).add_objects(np.array([2], np.uint32))
    with pytest.raises(IndexError):
        LeftOut(np.array([0, 9, 2], np.uint64), target, kind).add_objects(one)
    for damaged in ((np.array([0, 9, 2], np.uint64), target), (start, np.array([7, 0], np.uint32))):
        with pytest.raises(IndexError):
            LeftOut(*damaged, kind).add_names(names, by_text, 0, one, Work())
        with pytest.raises(IndexError):
            LeftOut(*damaged, kind).add_name(names, by_text, 0, Work())
    whole, back = (start, target, kind), turned(start, target, kind)
    left_out, sizes = LeftOut(*whole), Sizes(shallow, shallow)
    left_out.add_objects(one)
    for columns in (
        (start, np.array([7, 0], np.uint32), kind, *back),
        (*whole, np.array([0, 0, 9], np.uint64), *back[1:]),
        (*whole, back[0], np.array([7, 7], np.uint32), back[2]),
    ):
        with pytest.raises(IndexError):
            Holding(
                References(*columns[:3], RETAINS),
                References(*columns[3:], RETAINS),
                sizes,
                far.copy(),
                left_out,
            ).move_away(NO_NUMBERS, Work())
    both = References(*whole, RETAINS), References(*back, RETAINS)
    with pytest.raises(ValueError, match="for each object"):
        Holding(*both, sizes, far[:1], left_out)
    with pytest.raises(ValueError, match="native bytes of each"):
        Sizes(shallow, shallow[:1])
    with pytest.raises(ValueError, match="a kind for each reference"):
        References(start, target, kind[:1], RETAINS)
