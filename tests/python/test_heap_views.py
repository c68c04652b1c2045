"""The views of a heap dump: filters, dominators as boxes, cuts, merged paths; and all requests to the server."""

import itertools
import random
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.python.conftest import DATA
from tests.python.graphs import STRONG, SmallGraph, attached, naive_dominators, random_graph, rooted
from tests.python.heap_files import heap_of, small_heap
from tests.python.lsp_client import LspClient, RpcError
from tests.python.recordings import DOTNET, LEAK, RAN_OUT
from tests.python.recordings import JAVA as SESSIONS
from tests.python.tries import tries

from memlens.cli import dominators as printed
from memlens.errors import BadRequestError, CancelledError
from memlens.export.pictures.sunburst import sunburst
from memlens.kernels.base.work import Work
from memlens.kernels.graph import largest
from memlens.model.frames import USER
from memlens.model.graph import Strength
from memlens.model.packages import package_of
from memlens.model.timeline import NEVER
from memlens.packs.dotnet.tests.gcdump_files import gcdump
from memlens.store.artefacts import write_columns
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.flame import graph as flame
from memlens.views.heap.dominators.flame import GroupNames, TypeNames, drawn_tree, fitting_by_group, group
from memlens.views.heap.dominators.trees import (
    DOMINATORS,
    ROOTS,
    UNREACHABLE,
    Form,
    Grouping,
    HeapTree,
    group_of,
    grouped_tree,
    is_in,
    keys_of_types,
    located,
    number_of,
)
from memlens.views.heap.filters import filters
from memlens.views.heap.listing import lists as listing
from memlens.views.heap.listing.lists import heap_packages, heap_types, objects
from memlens.views.heap.listing.overview import ShareRow, overview
from memlens.views.heap.objects import halves
from memlens.views.heap.objects import references as rows_of_objects
from memlens.views.heap.objects.packages import is_platform, short_name
from memlens.views.heap.objects.references import first_references, references_between
from memlens.views.heap.objects.rows import Numbers, type_names
from memlens.views.heap.objects.types import figures_of, instances_of, unreachable_by_type
from memlens.views.heap.objects.types import types as types_listed
from memlens.views.heap.paths.merged import PathNode, merged_paths
from memlens.views.heap.paths.to_object import _Ways, paths
from memlens.views.heap.paths.tree import merged_tree
from memlens.views.heap.reachable import shortest_paths as shortest
from memlens.views.heap.reachable.from_roots import entries, followed, holders
from memlens.views.heap.reachable.shortest_paths import SHORTEST_PATHS
from memlens.views.heap.retained import by_type as together
from memlens.views.heap.retained.by_objects import retained_by
from memlens.views.heap.retained.by_type import TOGETHER, is_known, retained_by_type
from memlens.views.heap.retained.cuts import cut, freed_by_cut, freed_by_cuts

pytest_plugins = ("tests.python.server_fixtures",)

JAVA = DATA / "heap" / "hprof" / "mat_oracle_jdk8_05_x64.hprof.zst"
SVG = "{http://www.w3.org/2000/svg}"
of_java = pytest.mark.parametrize(
    "path", [SESSIONS, RAN_OUT, *([JAVA] if JAVA.is_file() else [])], ids=lambda path: path.name
)

Opened = Callable[[Path], Snapshot]


@pytest.fixture
def small(opened: Opened, tmp_path: Path) -> Snapshot:
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    return opened(path)


def _named(snapshot: Snapshot, name: str) -> int:
    texts = snapshot.strings.texts(snapshot.objects.name)
    return texts.index(name)


def _random_heap(seed: int, most: int, opened: Opened, tmp_path: Path) -> tuple[SmallGraph, Snapshot]:
    """A random heap below a root; object ``o`` of the graph is that of the dump."""
    below_root = random_graph(seed, most)
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(below_root).data())
    return rooted(below_root), opened(path)


@pytest.mark.parametrize("seed", range(tries(12)))
def test_a_cut_frees_what_only_that_reference_kept_alive(seed: int, opened: Opened, tmp_path: Path) -> None:
    graph, snapshot = _random_heap(seed, 16, opened, tmp_path)
    reached = graph.reached([0])
    shallow = snapshot.objects.shallow.tolist()
    freed_any = False
    for source in reached:
        for target in {target for target, kind in graph.edges[source] if kind == STRONG}:
            edges = [list(each) for each in graph.edges]
            edges[source] = [edge for edge in edges[source] if edge[0] != target]
            lost = reached - graph._replace(edges=edges).reached([0])
            expected = sum(shallow[item] for item in lost)
            assert freed_by_cut(snapshot, source, target) == (expected, 0)
            assert freed_by_cut(snapshot, source, target, 0) in (None, (0, 0))
            assert cut(snapshot, source, target).freed_bytes == expected
            freed_any |= expected > 0
    assert freed_any or seed not in (0, 4)


def test_each_link_of_a_path_says_what_cutting_it_frees(small: Snapshot) -> None:
    number = _named(small, "Detached HTMLDivElement")
    steps = paths(small, number).paths[0].steps
    assert steps[-1].object.object == number
    assert steps[-1].freed_bytes == small.objects.retained[number] > 0
    assert all(step.freed_bytes in (0, small.objects.retained[step.object.object]) for step in steps)


@pytest.mark.parametrize("seed", range(tries(40)))
def test_paths_differ_in_all_that_not_every_path_has(seed: int, opened: Opened, tmp_path: Path) -> None:
    graph, snapshot = _random_heap(seed, 30, opened, tmp_path)
    # what no root reaches holds as well, as in DevTools
    above = naive_dominators(attached(graph), [0])
    roots = set(entries(snapshot).tolist())
    differ = again = 0
    for number in sorted(graph.reached([0]) - {0}):
        found = [way.tolist() for way in _Ways(snapshot, number, followed(snapshot)).found(10)]
        answer = [
            [each.root.object, *(step.object.object for step in each.steps)]
            for each in paths(snapshot, number).paths
        ]
        # one from the dump's own root through another says nothing that one from that doesn't
        own = [way for way in found[1:] if way[0] == 0 and roots & set(way[1:])]
        said = [way for way in found if way not in own]
        again += len(own)
        # then come those from other roots
        assert answer[: len(said)] == said
        others = [way[0] for way in answer[len(said) :]]
        assert len(set(others)) == len(others)
        assert not set(others) & {way[0] for way in said}
        for way in found:
            assert way[0] in roots
            assert way[-1] == number
            assert len(set(way)) == len(way)
            assert all(after in graph.strong(before) for before, after in itertools.pairwise(way))
        assert [len(way) for way in found] == sorted(map(len, found))
        assert len(found[0]) - 1 == int(snapshot.objects.distance[number])
        on_all, at = {number}, above[number]
        while at is not None:
            on_all.add(at)
            at = above[at]
        everywhere = on_all | {way[0] for way in found}
        for one, other in itertools.combinations(found, 2):
            assert one != other
            ends = itertools.takewhile(
                lambda pair: pair[0] == pair[1], zip(one[::-1], other[::-1], strict=False)
            )
            # what two have in common is the end of both, or on all paths
            assert set(one) & set(other) <= everywhere | {end for end, _ in ends}
        # none is missed that has nothing in common with the first
        first = found[0]
        if len(first) == 1:
            continue
        everywhere = on_all | {first[0]}
        edges = [
            [] if item in set(first[1:-1]) - everywhere else list(each)
            for item, each in enumerate(graph.edges)
        ]
        if first[-2] in everywhere:
            edges[first[-2]] = [edge for edge in edges[first[-2]] if edge[0] != number]
        left = graph._replace(edges=edges)
        if number in left.reached(roots):
            differ += 1
            far, level = 0, set(roots)
            while number not in level:
                far, level = far + 1, {to for each in level for to in left.strong(each)}
            assert any(len(way) - 1 == far and not set(way) & set(first) - everywhere for way in found[1:])
    assert differ or seed not in (0, 12, 17, 24)
    assert again or seed != 0


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("retained>=1000", lambda s, i: s.objects.retained[i] >= 1000),
        (
            "shallow<32B -is:unreachable",
            lambda s, i: s.objects.shallow[i] < 32 and s.objects.distance[i] != NEVER,
        ),
        ("distance<3", lambda s, i: s.objects.distance[i] < 3),
        ("unreachable", lambda s, i: s.objects.distance[i] == NEVER),
        ("detached", lambda s, i: bool(s.objects.flags[i])),
        ("type:WeakMap", lambda s, i: "WeakMap" in type_names(s)[s.objects.type[i]]),
        ("-type:WeakMap,Key", lambda s, i: type_names(s)[s.objects.type[i]] not in ("WeakMap", "Key")),
        ("id:0x7", lambda s, i: s.objects.id[i] == 7),
        ("0x7", lambda s, i: s.objects.id[i] == 7),
        ("-@0x7,@9", lambda s, i: s.objects.id[i] not in (7, 9)),
        ("id:@0x7", lambda s, i: s.objects.id[i] == 7),
        (
            'string:"a"',
            lambda s, i: "string" in type_names(s)[s.objects.type[i]] and "a" in _text(s, i).lower(),
        ),
        ("name:=Value", lambda s, i: _text(s, i) == "Value"),
        ("div", lambda s, i: "div" in f"{type_names(s)[s.objects.type[i]]}\n{_text(s, i)}".lower()),
        ("field:session", lambda s, i: any("session" in each for each in _references(s, i))),
        ("field:=NAME,OWN*", lambda s, i: any(each == "owner" for each in _references(s, i))),
        ("distance>=2 distance=1,3", lambda s, i: s.objects.distance[i] == 3),
        ("-distance<=1 -unreachable", lambda s, i: 1 < s.objects.distance[i] < NEVER),
        ("held-by:Session", lambda s, i: "Session" in _above(s, i)),
    ],
)
def test_filters_match_objects_by_their_terms(
    small: Snapshot, text: str, fits: Callable[[Snapshot, int], bool]
) -> None:
    expected = [number for number in range(graph_of(small.info).objects) if fits(small, number)]
    assert 0 < len(expected) < graph_of(small.info).objects or text == "unreachable"
    found = objects(small, text, order="object", limit=1000)
    assert [row.object for row in found.rows] == expected
    assert found.shallow_bytes == sum(int(small.objects.shallow[number]) for number in expected)
    types = heap_types(small, text, "retained", None, "kind", 0, 1000, reverse=False)
    assert {row.number: row.count for row in types.rows} == {
        kind: sum(small.objects.type[number] == kind for number in expected)
        for kind in {int(small.objects.type[number]) for number in expected}
    }
    assert int(fitting_by_group(small, text).sum()) == len(expected)
    by_kind = heap_packages(small, text, "retained", "kind", 0, 1000, reverse=False)
    assert sum(row.count for row in by_kind.rows) == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["retained", "shallow"])
@pytest.mark.parametrize("text", ["", "retained>64", "type:Plain"])
def test_the_first_rows_of_a_long_list_are_those_of_the_sorted_one(
    order: listing.ObjectOrder, text: str, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.heapsnapshot"
    path.write_bytes(heap_of(random_graph(8, 400)).data())
    kinds = [None, *range(len(type_names(opened(path))))]
    sets = [*((kind, None) for kind in kinds), *((None, number) for number in range(3))]
    sorted_ = [objects(opened(path), text, *of, order, 0, 7) for of in sets]
    seconds = [objects(opened(path), text, *of, order, 7, 7) for of in sets]
    monkeypatch.setattr(listing, "_MOST_SORTED", 0)
    monkeypatch.setattr(listing, "_FIRST", 10)
    assert [objects(opened(path), text, *of, order, 0, 7) for of in sets] == sorted_
    # beyond those that are found without sorting
    assert [objects(opened(path), text, *of, order, 7, 7) for of in sets] == seconds


def test_the_largest_numbers_are_found_without_sorting_them() -> None:
    rng = np.random.default_rng(4)
    for count, most, highest in (
        (0, 5, 3),
        (1, 5, 3),
        (10, 3, 2),
        (500, 100, 20),
        (500, 900, 20),
        (9_000, 64, 2**62),
    ):
        values = rng.integers(0, highest, count + 10).astype(np.uint64)
        numbers = np.sort(rng.permutation(len(values))[:count]).astype(np.uint32)
        expected = numbers[np.lexsort((numbers, -values[numbers].astype(np.int64)))][:most].tolist()
        marks = np.zeros(len(values), np.uint8)
        marks[numbers] = 1
        assert np.asarray(largest.largest(values, numbers, most)).tolist() == expected
        assert np.asarray(largest.largest_marked(values, marks, most)).tolist() == expected
    with pytest.raises(IndexError):
        largest.largest(np.zeros(3, np.uint64), np.array([1, 3], np.uint32), 2)
    with pytest.raises(ValueError, match="a mark for each"):
        largest.largest_marked(np.zeros(3, np.uint64), np.zeros(2, np.uint8), 2)


@pytest.mark.parametrize("most", [0, 50_000_000])
@pytest.mark.parametrize("seed", range(6))
def test_filtered_objects_are_summed_up_by_type_and_package(
    seed: int, most: int, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_MOST_WALKED", most)
    # large dumps are filtered by two threads
    monkeypatch.setattr(halves, "_MOST_ALONE", 1_000 if seed % 2 else 1)
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(random_graph(seed, 40)).data())
    snapshot = opened(path)
    stored, kinds = snapshot.objects, snapshot.types.kind
    nested = False
    for text in ("shallow>20", "distance<3", "-shallow<50", "type:0 shallow>5", "type:1", "kind:object", ""):
        chosen = filters.chosen(snapshot, text)
        fits = np.ones(len(stored.type), bool) if chosen is None else chosen.mask(snapshot)
        by_type, by_kind = [0] * len(snapshot.types.name), [0] * len(snapshot.graph_names.type_kinds)
        for number in np.flatnonzero(fits).tolist():
            above = [each for each in _dominators(snapshot, number) if fits[each]]
            own = int(stored.type[number])
            if own not in stored.type[above]:
                by_type[own] += int(stored.retained[number])
            if kinds[own] not in kinds[stored.type[above]]:
                by_kind[int(kinds[own])] += int(stored.retained[number])
            nested |= own in stored.type[above]
        types = heap_types(snapshot, text, "retained", None, "kind", 0, 1000, reverse=False).rows
        assert {row.number: row.retained_bytes for row in types} == {
            kind: by_type[kind] for kind in {row.number for row in types}
        }
        assert sum(row.retained_bytes for row in types) == sum(by_type)
        assert sum(row.shallow_bytes for row in types) == int(stored.shallow[fits].sum())
        rows = heap_packages(snapshot, text, "retained", "kind", 0, 1000, reverse=False).rows
        assert sorted(row.retained_bytes for row in rows if row.retained_bytes) == sorted(
            filter(None, by_kind)
        )
    assert nested or seed not in (0, 3)


@pytest.mark.parametrize("seed", range(6))
def test_what_all_instances_of_a_type_retain(seed: int, opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(random_graph(seed, 60)).data())
    snapshot = opened(path)
    kinds = range(graph_of(snapshot.info).types)
    of_each = [retained_by(snapshot, instances_of(snapshot, kind)) for kind in kinds]
    assert not any(is_known(snapshot, kind) for kind in kinds)
    assert [retained_by_type(snapshot, kind) for kind in kinds] == of_each
    assert any(each.objects > each.chosen for each in of_each)
    TOGETHER.write(snapshot)
    assert all(is_known(snapshot, kind) for kind in kinds)
    again = opened(path)
    assert [retained_by_type(again, kind) for kind in kinds] == of_each


def test_retained_sizes_are_precomputed_for_the_largest_types_only(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(random_graph(3, 60)).data())
    snapshot = opened(path)
    kinds = range(graph_of(snapshot.info).types)
    monkeypatch.setattr(together, "MOST_TYPES", 2)
    TOGETHER.write(snapshot)
    assert sum(is_known(snapshot, kind) for kind in kinds) == 2
    for kind in kinds:
        assert retained_by_type(snapshot, kind) == retained_by(snapshot, instances_of(snapshot, kind))
    figures = figures_of(snapshot)
    for name in ("count", "retained"):
        assert is_known(snapshot, int(figures[name].argmax()))


def _dominators(snapshot: Snapshot, number: int) -> list[int]:
    found = []
    at = int(snapshot.objects.dominator[number])
    while at != NEVER:
        found.append(at)
        at = int(snapshot.objects.dominator[at])
    return found


def _text(snapshot: Snapshot, number: int) -> str:
    return snapshot.strings[int(snapshot.objects.name[number])]


def _references(snapshot: Snapshot, number: int) -> list[str]:
    stored = snapshot.references
    rows = range(int(stored.start[number]), int(stored.start[number + 1]))
    kinds = snapshot.graph_names.reference_kinds
    return [
        snapshot.strings[int(stored.name[row])] for row in rows if kinds[stored.kind[row]].naming == "text"
    ]


def _above(snapshot: Snapshot, number: int) -> str:
    found = []
    at = int(snapshot.objects.dominator[number])
    while at != NEVER:
        found.append(type_names(snapshot)[snapshot.objects.type[at]])
        at = int(snapshot.objects.dominator[at])
    return " ".join(map(str, found))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size>1", "there is no 'size'"),
        ("type>3", "can't be compared"),
        ("retained>soon", "write it as in retained>1MiB"),
        ("is:lost", "expected one of unreachable, root, detached"),
        ("id:x", "is not a number"),
        ("type:", "needs a value"),
        ("retained>1,2", "more than one value"),
    ],
)
def test_invalid_filters_are_refused(small: Snapshot, text: str, message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        filters.chosen(small, text)


def test_boxes_are_as_wide_as_what_groups_retain_and_marked_by_the_filter(small: Snapshot) -> None:
    tree = drawn_tree(small)
    assert tree.form == DOMINATORS
    assert tree.inclusive[0].tolist() == tree.grouped.total.tolist()
    assert tree.ends[0].tolist() == tree.grouped.shallow.tolist()
    found = tree.search("detached")
    holding = group_of(small, _named(small, "Detached HTMLDivElement"), DOMINATORS)
    assert found.nodes.tolist() == [holding]
    assert found.held[holding] & 1
    above = tree.path(holding)[:-1]
    assert all(found.held[node] == 2 for node in [0, *above])
    assert found.totals.tolist() == [72, 1]
    kind = int(small.objects.type[_named(small, "Detached HTMLDivElement")])
    of_type = tree.marked("", kind)
    assert of_type.nodes.tolist() == np.flatnonzero(tree.grouped.key == kind).tolist()
    assert of_type.totals.tolist() == [int(small.types.shallow[kind]), int(figures_of(small)["count"][kind])]
    # a filter that no object of the type fits is answered by itself
    others = tree.marked("-detached", kind).nodes.tolist()
    assert others == tree.marked("-detached", None).nodes.tolist() != []
    drawn = flame.picture(tree, 0, 1, 0, 20, 800, of_type)
    assert {name.function for name in drawn.names} <= set(type_names(small))
    answer = group(small, holding, "detached")
    assert (answer.node.objects, answer.fitting) == (1, 1)
    assert [each.node for each in answer.path] == tree.path(holding)


CHROME = DATA / "heap" / "v8" / "cdmcp_heap-1.heapsnapshot.zst"
GROUPED_DUMPS = [SESSIONS, DOTNET, *LEAK[:1], *(each for each in (JAVA, CHROME) if each.is_file())]


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(each, id=each.name) for each in GROUPED_DUMPS])
@pytest.mark.parametrize("by", ["type", "package", "module"])
@pytest.mark.parametrize("tree_of", ["dominators", "paths"])
def test_every_level_is_grouped_by_what_was_asked_for(
    path: Path, by: Grouping, tree_of: HeapTree, opened: Opened
) -> None:
    snapshot, form = opened(path), Form(by, tree_of)
    if by == "module" and not graph_of(snapshot.info).has_modules:
        with pytest.raises(BadRequestError, match="modules"):
            grouped_tree(snapshot, form)
        return
    stored, tree = snapshot.objects, grouped_tree(snapshot, form)
    keys, names = keys_of_types(snapshot, by)
    key_of, dominator_of, totals = keys[stored.type].tolist(), stored.dominator.tolist(), stored.retained
    if tree_of == "paths":
        dominator_of, totals = _first_found(snapshot)
    has_root = int(snapshot.compact.type[0]) != NEVER
    is_lost = (stored.distance == NEVER).tolist()
    paths_of: dict[int, tuple[int, ...]] = {}

    def path_of(number: int) -> tuple[int, ...]:
        """The keys of what an object is below, outermost first, and its own."""
        chain = []
        while number not in paths_of and dominator_of[number] != NEVER:
            chain.append(number)
            number = dominator_of[number]
        if number not in paths_of:
            top = -1 if has_root or not is_lost[number] else -2
            paths_of[number] = (top, key_of[number])
        for below in reversed(chain):
            above = paths_of[number]
            # what is directly below its own group is in that, but for what is below the dump's own root
            is_same = above[-1] == key_of[below] and not (has_root and len(above) == 2)
            paths_of[below] = above if is_same else (*above, key_of[below])
            number = below
        return paths_of[number]

    members: dict[tuple[int, ...], list[int]] = {}
    for number in range(len(key_of)):
        members.setdefault(path_of(number), []).append(number)
    groups = {group_of(snapshot, each[0], form): (chain, each) for chain, each in members.items()}
    assert len(groups) == len(members) == np.count_nonzero(tree.objects)
    for number, (chain, each) in groups.items():
        found, node = located(snapshot, number)
        assert (found, tree.name(node)) == (form, names[chain[-1]])
        assert int(tree.objects[node]) == len(each)
        assert int(tree.shallow[node]) == int(stored.shallow[each].sum())
        within = set(each)
        outermost = [item for item in each if dominator_of[item] not in within]
        assert int(tree.total[node]) == int(totals[outermost].sum())
    assert not (tree.key[1:] == tree.key[tree.parent[1:]])[tree.parent[1:] != 0].any()
    # the children of a node stand together, by size
    after = np.flatnonzero((tree.parent[1:-1] == tree.parent[2:]) & (tree.parent[1:-1] != 0)) + 1
    assert (tree.total[after] >= tree.total[after + 1]).all()
    drawn = drawn_tree(snapshot, form)
    largest = sorted(groups, key=lambda each: len(groups[each][1]))[-20:]
    for number in largest:
        assert np.flatnonzero(is_in(snapshot, number)).tolist() == groups[number][1]
        assert listing.fitting(snapshot, "retained>64", None, number).tolist() == [
            each for each in groups[number][1] if stored.retained[each] > 64
        ]
        answer = group(snapshot, number, "retained>64")
        assert answer.fitting == sum(stored.retained[each] > 64 for each in groups[number][1])
        assert answer.node.node == number
        assert not answer.path or answer.path[-1].node == number
        assert len(answer.path) == len(drawn.path(located(snapshot, number)[1]))
    assert drawn.inclusive[0].tolist() == tree.total.tolist()
    assert drawn.ends[0].tolist() == tree.shallow.tolist()
    kind = int(stored.type[groups[largest[-1]][1][0]])
    marked = drawn.marked("", kind)
    having = {
        located(snapshot, group_of(snapshot, each, form))[1] for each in instances_of(snapshot, kind).tolist()
    }
    assert set(marked.nodes.tolist()) == {node for node in having if tree.total[node] > 0}
    with pytest.raises(BadRequestError, match="no group"):
        group(snapshot, number_of(form, len(tree.key)), "")


def test_the_tree_of_a_large_dump_is_kept_in_its_archive(
    small: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortest, "KEPT_FROM", 0)
    assert not shortest.take(small)
    small.work.stop()
    with pytest.raises(CancelledError):
        shortest.prepare(small)
    path = SHORTEST_PATHS.path(small.archive)
    assert not path.exists()
    small.work = Work()
    shortest.prepare(small)
    assert 0.3 < small.work.fraction <= 1
    assert not shortest.is_ready(small), "another thread asks"
    assert shortest.take(small)
    mapped = shortest.shortest_paths(small)
    assert not mapped.total.flags.owndata
    with closing(Snapshot.open(small.archive)) as again:
        monkeypatch.setattr(shortest, "KEPT_FROM", 1000)
        SHORTEST_PATHS.drop(small.archive)
        made = shortest.shortest_paths(again)
        for name in mapped._fields:
            assert np.array_equal(getattr(mapped, name), getattr(made, name))
        SHORTEST_PATHS._replace(make=lambda _, to, __: write_columns(to, {}, [])).write(again)
    monkeypatch.setattr(shortest, "KEPT_FROM", 0)
    with closing(Snapshot.open(small.archive)) as other:
        assert not shortest.take(other), "its columns are others"
        assert not path.exists()


def _first_found(snapshot: Snapshot) -> tuple[list[int], Numbers]:
    """By object: what it is below in the tree of shortest paths, and the bytes of it and of everything below it."""
    stored, follows, root = snapshot.references, followed(snapshot), snapshot.graph_names.root
    start, target = stored.start.tolist(), stored.target.tolist()
    is_followed = follows[stored.kind].tolist()
    above: dict[int, int] = dict.fromkeys(entries(snapshot).tolist(), NEVER)
    # a root that stands for everything has all other roots below it, and what is unreachable
    stands_for_all = int(snapshot.compact.type[0]) != NEVER
    if root is not None:
        others = dict.fromkeys(above.keys() - {root}, root if stands_for_all else NEVER)
        above = {root: NEVER, **dict(sorted(others.items()))}
    for item in (order := list(above)):
        for at in range(start[item], start[item + 1]):
            if is_followed[at] and target[at] not in above:
                above[target[at]] = item
                order.append(target[at])
    totals = snapshot.objects.shallow.astype(np.int64)
    assert set(order) == set(np.flatnonzero(snapshot.objects.distance != NEVER).tolist())
    for item in range(len(totals)):
        if item not in above:
            above[item] = root if stands_for_all and root is not None else NEVER
            order.append(item)
    for item in reversed(order):
        if above[item] != NEVER:
            totals[above[item]] += totals[item]
    return [above[item] for item in range(len(totals))], totals


def _without(graph: SmallGraph, sources: Collection[int], targets: Collection[int]) -> int:
    """Bytes that object 0 no longer reaches without all references from some objects to others."""
    edges = [
        [edge for edge in each if source not in sources or edge[0] not in targets]
        for source, each in enumerate(graph.edges)
    ]
    return sum(graph.shallow[item] for item in graph.reached([0]) - graph._replace(edges=edges).reached([0]))


def test_rings_in_a_file_have_their_names_along_them(opened: Opened, tmp_path: Path) -> None:
    heap = small_heap()
    for number in range(2):
        large = heap.node("object", "Map<a & b>", 900)
        heap.edge(3, "property", f"large{number}", large)
    path = tmp_path / "rings.heapsnapshot"
    path.write_bytes(heap.data())
    picture = ET.fromstring(sunburst(drawn_tree(opened(path)), "Rings").document("light"))
    lines = {each.get("id"): each.get("d", "") for each in picture.iter(f"{SVG}path") if each.get("id")}
    named = {each.text: lines[each.get("href", "")[1:]] for each in picture.iter(f"{SVG}textPath")}
    assert {"Map<a & b>", "Value"} <= set(named)
    assert "onTick" not in named, "the arc is shorter than its name"
    for line in named.values():
        numbers = [float(number) for number in re.findall(r"[\d.]+", line)]
        start, is_large, end = numbers[0], numbers[5], numbers[7]
        assert is_large or start < end + 0.01, "no name is upside down"


@pytest.mark.parametrize("seed", range(tries(12)))
def test_cutting_several_references_frees_what_nothing_else_reaches(
    seed: int, opened: Opened, tmp_path: Path
) -> None:
    (graph, snapshot), rng = _random_heap(seed, 30, opened, tmp_path), random.Random(seed)
    for _ in range(30):
        targets = [each for each in rng.sample(graph.objects, rng.randint(1, len(graph.objects))) if each]
        referrers = {item for item in graph.objects if set(graph.strong(item)) & set(targets)}
        sources = [item for item in referrers if rng.random() < 0.8]
        freed, _ = freed_by_cuts(snapshot, np.array(sources, np.int64), np.array(targets, np.int64))
        assert freed == (_without(graph, sources, targets), 0)
        bounded, _ = freed_by_cuts(snapshot, np.array(sources, np.int64), np.array(targets, np.int64), 1)
        assert bounded in (None, freed)


def _freed_without(snapshot: Snapshot, begin: Iterable[int], without: Collection[int]) -> int:
    """Bytes of what some objects no longer reach without others, by the plainest means."""
    stored, follows = snapshot.references, followed(snapshot)

    def reached_but(left_out: Collection[int]) -> set[int]:
        waiting = [item for item in begin if item not in left_out]
        seen = set(waiting)
        while waiting:
            item = waiting.pop()
            for row in range(int(stored.start[item]), int(stored.start[item + 1])):
                target = int(stored.target[row])
                if follows[stored.kind[row]] and target not in seen and target not in left_out:
                    seen.add(target)
                    waiting.append(target)
        return seen

    return sum(int(snapshot.objects.shallow[item]) for item in reached_but(()) - reached_but(without))


def test_sets_and_cuts_have_the_same_holders(opened: Opened, tmp_path: Path) -> None:
    heap = small_heap()
    # a handle of the engine: the file calls the closure a root, but that retains nothing
    heap.edge(2, "weak", "handle", 4)
    path = tmp_path / "handle.heapsnapshot"
    path.write_bytes(heap.data())
    snapshot = opened(path)
    held, named = holders(snapshot).tolist(), entries(snapshot).tolist()
    assert set(named) > set(held)
    differ = 0
    for count in (1, 2):
        for chosen in itertools.combinations(range(1, graph_of(snapshot.info).objects), count):
            expected = _freed_without(snapshot, held, chosen)
            assert retained_by(snapshot, chosen).retained_bytes == expected
            differ += expected != _freed_without(snapshot, named, chosen)
    assert differ, "named roots make no difference"


def _all_nodes(
    snapshot: Snapshot, kind: int, through: Collection[Strength] = (), node: int = 0, depth: int = 0
) -> list[tuple[int, int, PathNode]]:
    rows = merged_paths(snapshot, kind, None, "", node, 0, 1000, through).rows
    return [
        each
        for row in rows
        for each in ((depth, node, row), *_all_nodes(snapshot, kind, through, row.node, depth + 1))
    ]


def _levels(graph: SmallGraph, roots: Iterable[int]) -> dict[int, int]:
    """The least number of references of any kind from some objects to each that they reach."""
    found = dict.fromkeys(roots, 0)
    waiting = list(found)
    for item in waiting:
        for other, _ in graph.edges[item]:
            if other not in found:
                found[other] = found[item] + 1
                waiting.append(other)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_merged_paths_through_weak_references_have_what_cuts_free(
    seed: int, opened: Opened, tmp_path: Path
) -> None:
    graph, snapshot = _random_heap(seed, 40, opened, tmp_path)
    levels = _levels(graph, entries(snapshot).tolist())
    weak: tuple[Strength, ...] = ("weak",)
    for kind in range(graph_of(snapshot.info).types):
        members = np.flatnonzero(snapshot.objects.type == kind).tolist()
        nodes = _all_nodes(snapshot, kind, weak)
        lengths = sorted(depth for depth, _, row in nodes for _ in range(row.ends))
        assert lengths == sorted(levels[item] for item in members if item in levels)
        for through in ((), weak):
            tree = merged_tree(snapshot, kind, None, "", through)
            below = np.bincount(tree.parent[1:], tree.objects[1:], len(tree.parent))
            assert (below + tree.ends == tree.objects).all()
            for depth, _, row in _all_nodes(snapshot, kind, through):
                if depth == 0:
                    assert row.freed_bytes is None
                    continue
                step = tree.steps[depth]
                here = step.node == row.node
                pairs = list(zip(step.above[here].tolist(), step.item[here].tolist(), strict=True))
                assert 1 <= len(pairs) == len(set(pairs)) == row.targets <= row.objects
                for source, target in pairs:
                    assert any(
                        other == target and (strength == STRONG or through)
                        for other, strength in graph.edges[source]
                    )
                cut = {target for _, target in pairs}
                assert row.freed_bytes == _without(graph, {source for source, _ in pairs}, cut)


@pytest.mark.parametrize("seed", range(8))
def test_merged_paths_lead_to_every_object_by_a_shortest_path(
    seed: int, opened: Opened, tmp_path: Path
) -> None:
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(random_graph(seed, 40)).data())
    snapshot = opened(path)
    for kind in range(graph_of(snapshot.info).types):
        members = np.flatnonzero(snapshot.objects.type == kind)
        reached = members[snapshot.objects.distance[members] != NEVER]
        nodes = _all_nodes(snapshot, kind)
        whole = merged_paths(snapshot, kind, None, "", 0, 0, 1)
        assert (whole.explained, whole.unreachable) == (len(reached), len(members) - len(reached))
        assert (
            whole.bytes
            == snapshot.types.retained[kind]
            - sum(
                int(snapshot.objects.retained[item])
                for item in members
                if item not in reached and snapshot.objects.dominator[item] == NEVER
            )
            or whole.unreachable
        )
        lengths = sorted(depth for depth, _, row in nodes for _ in range(row.ends))
        assert lengths == sorted(snapshot.objects.distance[reached].tolist())
        for depth, _, row in nodes:
            below = [each for _, parent, each in nodes if parent == row.node]
            assert row.objects == row.ends + sum(each.objects for each in below)
            assert row.bytes >= sum(each.bytes for each in below)
            assert snapshot.objects.distance[row.example.object] == depth


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_the_first_reference_of_each_pair(
    at_once: int, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_of_objects, "_AT_ONCE", at_once)
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(random_graph(0, 60)).data())
    snapshot = opened(path)
    targets = snapshot.references.target.astype(np.int64)
    starts = snapshot.references.start.astype(np.int64)
    sources = np.repeat(np.arange(len(starts) - 1), starts[1:] - starts[:-1])
    order = np.random.default_rng(at_once).permutation(len(sources))
    for some in (order, order[:5], order[:0]):
        found = first_references(snapshot, sources[some], targets[some])
        pairs = zip(sources[some].tolist(), targets[some].tolist(), strict=True)
        assert found.tolist() == [references_between(snapshot, *pair)[0] for pair in pairs]
    assert len(set(zip(sources.tolist(), targets.tolist(), strict=True))) < len(sources) > 50


def test_the_overview_adds_up(small: Snapshot) -> None:
    found = overview(small)
    assert sum(row.objects for row in found.kinds) == graph_of(small.info).objects == found.objects
    assert sum(row.shallow_bytes for row in found.kinds) == found.shallow_bytes
    assert [(row.name, row.objects) for row in found.flags] == [("detached", 1)]
    assert found.unreachable_objects == int(np.count_nonzero(small.objects.distance == NEVER))


@of_java
def test_what_is_summed_up_when_an_archive_is_made_is_what_its_columns_say(
    path: Path, opened: Opened
) -> None:
    snapshot = opened(path)
    objects, names, found = snapshot.objects, snapshot.graph_names, overview(snapshot)
    shallow, count = objects.shallow.tolist(), len(objects.shallow)
    lost = np.flatnonzero(objects.distance == NEVER).tolist()
    assert (found.unreachable_objects, found.unreachable_bytes) == (len(lost), sum(shallow[o] for o in lost))

    def rows(shares: Sequence[ShareRow]) -> dict[str, tuple[int, int]]:
        return {row.name: (row.objects, row.shallow_bytes) for row in shares}

    def summed(of: Callable[[int], Iterable[int]], names: list[str]) -> dict[str, tuple[int, int]]:
        sets = {name: list(of(number)) for number, name in enumerate(names)}
        return {name: (len(some), sum(shallow[o] for o in some)) for name, some in sets.items() if some}

    flags, space = objects.flags, objects.space
    assert rows(found.roots) == summed(
        lambda kind: {row["object"] for row in objects.roots if row["kind"] == kind}, names.root_kinds
    )
    if flags is not None:
        bits = flags.tolist()
        assert rows(found.flags) == summed(
            lambda bit: [o for o in range(count) if bits[o] >> bit & 1], names.flags
        )
    if space is not None:
        of = space.tolist()
        assert rows(found.spaces) == summed(
            lambda each: [o for o in range(count) if of[o] == each], names.spaces
        )
    everything = np.ones(count, np.bool_)
    for known, counted in zip(
        unreachable_by_type(snapshot), unreachable_by_type(snapshot, everything), strict=True
    ):
        assert known.tolist() == counted.tolist()


@pytest.mark.parametrize(
    ("name", "kind", "package", "short"),
    [
        ("java.util.HashMap$Node[]", "hprof", "java.util", "HashMap$Node[]"),
        ("a.B (x.Loader)", "hprof", "a", "B"),
        ("byte[]", "hprof", "", "byte[]"),
        (
            "System.Collections.Generic.List<System.String>",
            "gcdump",
            "System.Collections.Generic",
            "List<System.String>",
        ),
        ("App.Page[,]", "gcdump", "App", "Page[,]"),
        ("Object (a.b)", "v8", "", "Object (a.b)"),
    ],
)
def test_packages_are_prefixes_of_names(name: str, kind: str, package: str, short: str) -> None:
    assert (package_of(name, kind), short_name(name, kind)) == (package, short)


@pytest.mark.parametrize(
    ("name", "kind", "type_kind", "expected"),
    [
        ("Session", "v8", "object", False),
        ("Object", "v8", "object", False),
        ("Map", "v8", "object", True),
        ("system / Context", "v8", "object", True),
        ("(array)", "v8", "array", True),
        ("[static vars]", "gcdump", "", True),
        ("[static var Shop.Program.Open]", "gcdump", "", True),
        ("Shop.Session", "gcdump", "", False),
        ("System.String", "gcdump", "", True),
        ("android.graphics.Bitmap", "hprof", "", True),
        ("com.shop.Session", "hprof", "", False),
        ("Hash", "ruby", "", True),
        ("Session", "ruby", "", False),
        ("dict", "python", "", True),
        ("abc.ABCMeta", "python", "", True),
        ("__main__.Session", "python", "", False),
    ],
)
def test_types_are_the_platforms_by_their_names(
    name: str, kind: str, type_kind: str, *, expected: bool
) -> None:
    assert is_platform(name, package_of(name, kind), kind, type_kind) is expected


@of_java
def test_packages_of_a_real_dump_retain_no_more_than_the_heap(path: Path, opened: Opened) -> None:
    snapshot = opened(path)
    found = heap_packages(snapshot, "", "retained", "package", 0, 1000, reverse=False)
    whole = int(snapshot.objects.shallow.sum())
    assert any(row.name == "java.util" for row in found.rows)
    assert sum(row.count for row in found.rows) == graph_of(snapshot.info).objects
    for row in found.rows:
        assert row.shallow_bytes <= row.retained_bytes <= whole
    assert followed(snapshot).any()


@pytest.mark.slow
def test_the_server_answers_every_question_about_a_heap_dump(server: LspClient, tmp_path: Path) -> None:
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    opened = server.request("memlens/open", {"path": str(path), "view": "v1"})
    about = {"snapshot": opened["snapshot"]}
    page = {"offset": 0, "limit": 10}
    part = {"x0": 0, "x1": 1, "width_px": 800, "first_depth": 0, "rows": 10}
    kind: dict[str, object] = {"kind": None, "group": 0, "filter": ""}
    questions: dict[str, dict[str, object]] = {
        "heapOverview": {},
        "heapTypes": {
            "filter": "",
            "order": "count",
            "reverse": False,
            "by": "kind",
            "package": "object",
            **page,
        },
        "heapPackages": {"filter": "", "order": "name", "reverse": True, "by": "package", **page},
        "heapObjects": {**kind, "order": "distance", "reverse": True, **page},
        "heapType": {"kind": 1},
        "heapObject": {"object": 3, "by": "type"},
        "heapReferences": {"object": 3, "direction": "incoming", **page},
        "heapDominated": {"object": None, "filter": "type:Session", **page},
        "heapGroup": {"group": 1, "filter": "retained>1"},
        "heapPicture": {**part, "search": "Session", "kind": 1, "by": "package"},
        "heapPaths": {"object": 3, "through": ["weak"], "without": [], "most": 3, "soon": True},
        "heapMergedPaths": {**kind, "through": ["weak"], "without": [], "node": 0, **page},
        "heapRetained": kind,
        "heapCut": {"source": 0, "target": 3, "without": [{"is": "object", "object": 1}]},
        "heapLeastCut": {**kind, "object": 3},
    }
    answers = {
        name: server.request(f"memlens/{name}", {**about, **params}) for name, params in questions.items()
    }
    assert answers["heapObject"]["object"]["object"] == 3
    assert answers["heapTypes"]["total"] == len(answers["heapTypes"]["rows"]) > 0
    assert answers["heapPicture"]["geometry"]
    dominated = answers["heapDominated"]
    assert dominated["contained"] == ["Session" in row["type"] for row in dominated["rows"]]
    assert answers["heapRetained"]["retained_bytes"] >= 0
    of_type = server.request("memlens/heapRetained", {**about, "kind": 1, "group": None, "filter": " "})
    assert of_type["chosen"] == answers["heapType"]["type"]["count"]
    assert answers["heapCut"]["freed_bytes"] >= 0
    assert answers["heapLeastCut"]["objects"] == 1
    with pytest.raises(RpcError, match="no object number"):
        server.request("memlens/heapObject", {**about, "object": 10**6, "by": "type"})
    of_paths = {**about, "tree": "paths"}
    assert server.request("memlens/heapPicture", {**of_paths, **questions["heapPicture"]})["geometry"]
    top = server.request("memlens/heapDominated", {**of_paths, **questions["heapDominated"]})
    assert top["total_bytes"] == [sum(node["self_size"] for node in small_heap().nodes)]
    found = server.request("memlens/heapObject", {**of_paths, "object": 3, "by": "type"})["group"]
    assert found >= 3 * 2**32
    listed = {**about, "filter": "", "kind": None, "group": found, "order": "total", "reverse": False, **page}
    answer = server.request("memlens/heapObjects", listed)
    assert 3 in [row["object"] for row in answer["rows"]]
    assert answer["total_bytes"] == sorted(answer["total_bytes"], reverse=True)


def test_unreachable_objects_are_beside_the_root_of_a_dump_that_has_one(
    opened: Opened, tmp_path: Path
) -> None:
    """Of a .gcdump, whose own root retains the reachable heap; the objects of the last sum are garbage."""
    path = tmp_path / "app.gcdump"
    types = [("[.NET Roots]", 0, None), ("App.Cache", 100, "App.dll"), ("App.Lost", 30, "App.dll")]
    path.write_bytes(
        gcdump(types, [(0, None, [1]), (1, None, [2]), (2, None, []), (2, None, [4, 1]), (2, None, [])])
    )
    snapshot = opened(path)
    objects, compact = snapshot.objects, snapshot.compact
    assert objects.retained.tolist() == [130, 130, 30, 60, 30]
    assert objects.dominator.tolist() == [NEVER, 0, 1, NEVER, 3]
    assert int(compact.retained[0]) == 190
    below = [group(snapshot, number, "") for number in range(1, int(compact.last[0]))]
    assert [(each.node.type.text, each.node.total_bytes) for each in below] == [
        ("(roots)", 130),
        ("(unreachable)", 60),
    ]
    drawn = TypeNames(snapshot)
    assert [each.said for each in drawn.names([0, drawn.unreachable])] == [ROOTS, UNREACHABLE]


@of_java
def test_types_without_a_module_are_in_their_packages(path: Path, opened: Opened) -> None:
    snapshot = opened(path)
    keys, names = keys_of_types(snapshot, "module")
    assert snapshot.types.module is not None
    modules = snapshot.strings.texts(snapshot.types.module)
    plain = snapshot.strings.texts(snapshot.types.name)
    found = {
        (module or f"{name.rpartition('.')[0]} (package)", names[key].text)
        for module, name, key in zip(modules, plain, keys.tolist(), strict=True)
        if module or "." in name
    }
    assert len(found) > 20
    assert all(expected == own for expected, own in found)
    assert {names[key].text for name, key in zip(plain, keys.tolist(), strict=True) if name == "byte[]"} == {
        "(no module)"
    }


@of_java
def test_unreachable_objects_are_in_a_box_of_their_own(path: Path, opened: Opened) -> None:
    snapshot = opened(path)
    found, tree = overview(snapshot), drawn_tree(snapshot)
    compact = tree.grouped
    (last,) = (1 + np.flatnonzero(compact.key[1:] == NEVER)).tolist()
    assert found.unreachable_bytes > 0
    assert int(compact.total[last]) == found.unreachable_bytes
    assert int(compact.total[0]) == found.shallow_bytes
    below = np.array([last in tree.path(node) for node in range(len(compact.key))])
    below = below if compact.node_of is None else below[compact.node_of]
    is_lost = snapshot.objects.distance == NEVER
    assert (below[snapshot.objects.group] == is_lost).all()
    answer = group(snapshot, last, "")
    assert (answer.node.type.text, answer.node.objects, answer.largest) == ("(unreachable)", 0, [])
    drawn = flame.picture(tree, 0, 1, 1, 1, 800, "")
    is_wide = found.unreachable_bytes > found.shallow_bytes / 100
    assert ("(unreachable)" in {name.function for name in drawn.names}) or not is_wide
    assert is_wide == (path == JAVA)


@of_java
def test_a_package_is_the_programs_if_half_of_its_bytes_are(path: Path, opened: Opened) -> None:
    """Arrays of numbers have no package, as some classes of the program; most of their bytes are the platform's."""
    snapshot = opened(path)
    names = GroupNames(snapshot, "package")
    listed = [each.function for each in names.names(range(names.count - 1))]
    is_own = dict(zip(listed, (names.kinds()[:-1] == USER).tolist(), strict=True))
    assert is_own["org.eclipse.mat.tests" if path == JAVA else "shop"]
    assert not is_own["(no package)"]
    assert not is_own["java.util"]


@of_java
def test_unreachable_objects_are_a_group_of_the_printed_tree(path: Path, opened: Opened) -> None:
    snapshot = opened(path)
    root, *groups = cast("list[printed.DominatorGroup]", printed.printed_tree(snapshot).groups)
    lost = overview(snapshot).unreachable_bytes
    assert (root.type, root.retained_bytes) == ("(roots)", overview(snapshot).shallow_bytes)
    assert [(row.type, row.retained_bytes) for row in groups if row.type[0] == "("] == (
        # the smallest groups are left out
        [("(unreachable)", lost)] if lost >= root.retained_bytes / 100 else []
    )
    assert min(row.retained_bytes for row in groups) >= root.retained_bytes / 100


@pytest.mark.parametrize("reverse", [False, True])
def test_what_groups_roots_comes_after_the_types_that_it_retains(small: Snapshot, reverse: bool) -> None:
    rows = heap_types(small, "", "retained", None, "kind", 0, 1000, reverse=reverse).rows
    made_up = [row.kind == "synthetic" for row in rows]
    assert made_up == sorted(made_up)
    assert made_up[-1]
    assert rows[-1].retained_bytes == max(row.retained_bytes for row in rows)
    found = [row.retained_bytes for row in rows if row.kind != "synthetic"]
    assert found == sorted(found, reverse=not reverse)
    largest = heap_packages(small, "", "retained", "kind", 0, 1000, reverse=reverse).rows
    assert largest[-1].name == "synthetic"
    if not reverse:
        listed = types_listed(small, "retained", limit=1000).types
        assert [row.number for row in listed] == [row.number for row in rows]


@pytest.mark.parametrize("seed", range(6))
def test_types_say_what_of_them_no_root_reaches(seed: int, opened: Opened, tmp_path: Path) -> None:
    below = random_graph(seed, 30)
    graph = rooted(below)
    path = tmp_path / "random.heapsnapshot"
    path.write_bytes(heap_of(below).data())
    snapshot = opened(path)
    reached, shallow = graph.reached([0]), snapshot.objects.shallow.tolist()
    kinds = snapshot.objects.type.tolist()
    for text, fits in (("", lambda _: True), ("shallow>40", lambda item: shallow[item] > 40)):
        rows = heap_types(snapshot, text, "retained", None, "package", 0, 100, reverse=False).rows
        listed = rows if text else types_listed(snapshot, "retained", "", 0, 100).types
        assert {row.number for row in listed} >= {row.number for row in rows}
        for row in (*rows, *listed):
            lost = [
                item
                for item in graph.objects
                if kinds[item] == row.number and item not in reached and fits(item)
            ]
            assert (row.unreachable_count, row.unreachable_bytes) == (
                len(lost), sum(shallow[item] for item in lost),
            )  # fmt: skip
