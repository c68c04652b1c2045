"""What else keeps an object alive if others didn't: paths, merged paths and figures of random heaps, by brute force."""

import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tests.python.graphs import STRONG, SmallGraph, random_graph, rooted
from tests.python.heap_files import heap_of, small_heap
from tests.python.hprof_files import BYTE, OBJECT, Dump
from tests.python.lsp_client import LspClient
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import BadRequestError, CancelledError
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.rows import type_names
from memlens.views.heap.paths.merged import PathNode, merged_paths
from memlens.views.heap.paths.to_object import paths
from memlens.views.heap.paths.tree import merged_tree
from memlens.views.heap.retained.cuts import cut
from memlens.views.heap.retained.left_out import LeavesOut, OneName, OneObject, OneType, parsed

pytest_plugins = ("tests.python.server_fixtures",)

Opened = Callable[[Path], Snapshot]


def _heap(seed: int, opened: Opened, tmp_path: Path) -> tuple[SmallGraph, Snapshot]:
    """A random heap below a root; object ``o`` of the graph is that of the dump."""
    graph = random_graph(seed, 24)
    path = tmp_path / f"random{seed}.heapsnapshot"
    path.write_bytes(heap_of(graph).data())
    return rooted(graph), opened(path)


def _name(graph: SmallGraph, item: int, place: int) -> str:
    """What :func:`heap_of` calls a reference."""
    return f"root{graph.edges[0][place][0] - 1}" if item == 0 else f"field{place}"


def _without(graph: SmallGraph, chosen: tuple[LeavesOut, ...]) -> SmallGraph:
    def is_out(item: int, place: int) -> bool:
        type_name = f"Type{graph.types[item]}" if item else "(root)"
        for each in chosen:
            match each:
                case OneObject(number) if number == item:
                    return True
                case OneType(name) if name == type_name:
                    return True
                case OneName(name, None) if name == _name(graph, item, place):
                    return True
                case OneName(name, of) if of == type_name and name == _name(graph, item, place):
                    return True
        return False

    edges = [
        [edge for place, edge in enumerate(row) if not is_out(item, place)]
        for item, row in enumerate(graph.edges)
    ]
    return graph._replace(edges=edges)


def _choices(graph: SmallGraph, snapshot: Snapshot, rng: random.Random) -> Iterator[tuple[LeavesOut, ...]]:
    """Some of what a person may leave out, alone and together."""
    known = set(type_names(snapshot))
    rows = [(item, place) for item in graph.objects[1:] for place in range(len(graph.edges[item]))]
    every: list[LeavesOut] = [OneObject(item) for item in graph.objects[1:]]
    every += [OneType(name) for name in (f"Type{number}" for number in range(3)) if name in known]
    every += [OneName(f"field{place}", f"Type{graph.types[item]}") for item, place in rows]
    every += [OneName(f"field{place}", None) for _, place in rows]
    for count in (1, 1, 1, 1, 2, 3):
        if len(every) >= count:
            yield tuple(rng.sample(every, count))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(30)))
def test_paths_avoid_what_is_left_out(seed: int, opened: Opened, tmp_path: Path) -> None:
    graph, snapshot = _heap(seed, opened, tmp_path)
    rng, before = random.Random(seed), graph.reached([0])
    shallow = snapshot.objects.shallow.tolist()
    for chosen in _choices(graph, snapshot, rng):
        left = _without(graph, chosen)
        levels, reached = _levels(left), left.reached([0])
        lost = before - reached
        for item in graph.objects:
            answer = paths(snapshot, item, 3, (), chosen)
            assert answer.without is not None
            assert answer.without.freed_objects == len(lost)
            assert answer.without.freed_bytes == sum(shallow[each] for each in lost)
            named = [each.object for each in chosen if isinstance(each, OneObject)]
            assert [row.object for row in answer.without.objects] == named
            begin = {0, *left.strong(0)}
            # the dump's own root is above all others: a path from it says again what one from them has said
            holding = [root for root in begin if item in left.reached([root]) and (root or not item)]
            lengths = [path.length for path in answer.paths]
            assert lengths[:1] == [levels[each] for each in (item,) if each in levels]
            assert lengths == sorted(lengths)
            assert {path.root.object for path in answer.paths} <= set(holding)
            assert len(lengths) == min(len(holding), 3)
            # of as many as were asked for it isn't known whether these were all
            assert answer.complete is (len(holding) < 3) or len(holding) == 3
            for path in answer.paths:
                chain = [path.root.object, *(step.object.object for step in path.steps)]
                for (source, target), step in zip(itertools.pairwise(chain), path.steps, strict=True):
                    places = [
                        place
                        for place, (end, kind) in enumerate(graph.edges[source])
                        if end == target and kind == STRONG and (end, kind) in left.edges[source]
                    ]
                    assert step.name in [_name(graph, source, place) for place in places]
                    cut_too = _cut(left, source, target)
                    freed = sum(shallow[each] for each in reached - cut_too.reached([0]))
                    assert step.freed_bytes == freed == cut(snapshot, source, target, chosen).freed_bytes


def _cut(graph: SmallGraph, source: int, target: int) -> SmallGraph:
    edges = [list(row) for row in graph.edges]
    edges[source] = [edge for edge in edges[source] if edge[0] != target]
    return graph._replace(edges=edges)


def _levels(graph: SmallGraph) -> dict[int, int]:
    """The least number of references from a root to each object; what the dump's own root refers to are roots."""
    waiting = list({0, *graph.strong(0)})
    found = dict.fromkeys(waiting, 0)
    for item in waiting:
        for other in graph.strong(item):
            if other not in found:
                found[other] = found[item] + 1
                waiting.append(other)
    return found


def _nodes(
    snapshot: Snapshot, kind: int, chosen: tuple[LeavesOut, ...], node: int = 0, depth: int = 0
) -> Iterator[tuple[int, PathNode]]:
    for row in merged_paths(snapshot, kind, None, "", node, 0, 1000, (), chosen).rows:
        yield depth, row
        yield from _nodes(snapshot, kind, chosen, row.node, depth + 1)


@pytest.mark.parametrize("seed", range(tries(12)))
def test_merged_paths_avoid_what_is_left_out(seed: int, opened: Opened, tmp_path: Path) -> None:
    graph, snapshot = _heap(seed, opened, tmp_path)
    rng, before = random.Random(seed), graph.reached([0])
    shallow = snapshot.objects.shallow.tolist()
    for chosen in _choices(graph, snapshot, rng):
        left = _without(graph, chosen)
        levels, reached = _levels(left), left.reached([0])
        for kind, name in enumerate(type_names(snapshot)):
            members = set(np.flatnonzero(snapshot.objects.type == kind).tolist())
            whole = merged_paths(snapshot, kind, None, "", 0, 0, 1, (), chosen)
            assert whole.explained == len(members & reached)
            assert whole.freed == len(members & (before - reached))
            assert whole.unreachable == len(members - before)
            nodes = list(_nodes(snapshot, kind, chosen))
            lengths = sorted(depth for depth, row in nodes for _ in range(row.ends))
            assert lengths == sorted(levels[item] for item in members & reached)
            tree = merged_tree(snapshot, kind, None, "", (), chosen)
            for depth, row in nodes:
                assert row.ends == 0 or row.type == name
                if depth == 0:
                    assert (row.above_type, row.freed_bytes) == ("", None)
                    continue
                here = tree.steps[depth].node == row.node
                both = tree.steps[depth].above[here].tolist(), tree.steps[depth].item[here].tolist()
                cut_too = left
                for source, target in zip(*both, strict=True):
                    assert target in left.strong(source)
                    assert type_names(snapshot)[snapshot.objects.type[source]] == row.above_type
                for source, target in itertools.product(*map(set, both)):
                    cut_too = _cut(cut_too, source, target)
                assert row.freed_bytes == sum(shallow[each] for each in reached - cut_too.reached([0]))


@pytest.fixture
def small(opened: Opened, tmp_path: Path) -> Snapshot:
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    return opened(path)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Session", OneType("Session")),
        ("Session.name", OneName("name", "Session")),
        (".session", OneName("session", None)),
        ("@3", OneObject(1)),
        ("@0x3", OneObject(1)),
        (
            ".0 / part of key (@23) -> value (@25) pair in WeakMap (table @19)",
            OneName("0 / part of key (@23) -> value (@25) pair in WeakMap (table @19)", None),
        ),
    ],
)
def test_what_is_left_out_in_words(small: Snapshot, text: str, meant: LeavesOut) -> None:
    assert parsed(small, text) == meant


@pytest.mark.parametrize("text", ["Sessions", "@7777", "@x", "Nothing.name", ""])
def test_words_that_mean_nothing_are_refused(small: Snapshot, text: str) -> None:
    with pytest.raises(BadRequestError):
        parsed(small, text)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (OneType("Sessions"), "no type Sessions"),
        (OneName("nothing", None), "No reference is called nothing"),
        (OneName("", None), "No reference is called"),
        # the name is there, but those are others' references
        (OneName("session", "Session"), "No Session has a reference called session"),
        (OneName("name", "Nothing"), "no type Nothing"),
        (OneObject(10_000), "no object number 10,000"),
    ],
)
def test_what_is_not_there_cannot_be_left_out(small: Snapshot, chosen: LeavesOut, message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        paths(small, 3, 1, (), (chosen,))


def test_weak_references_are_followed_beside_what_is_left_out(opened: Opened, tmp_path: Path) -> None:
    heap = small_heap()
    # the closure refers weakly to what only the session holds
    heap.edge(4, "weak", "seen", 8)
    path = tmp_path / "weak.heapsnapshot"
    path.write_bytes(heap.data())
    snapshot = opened(path)
    chosen = (OneName("name", "Session"),)
    assert paths(snapshot, 8, 1, (), chosen).paths == []
    weak: tuple[Literal["weak"], ...] = ("weak",)
    (around,) = paths(snapshot, 8, 1, weak, chosen).paths
    assert [step.name for step in around.steps] == ["onTick", "seen"]
    kind = int(snapshot.objects.type[8])
    assert merged_paths(snapshot, kind, None, "", 0, 0, 9, (), chosen).explained == 1
    assert merged_paths(snapshot, kind, None, "", 0, 0, 9, weak, chosen).explained == 2


def test_a_question_that_was_stopped_has_no_answer(small: Snapshot) -> None:
    small.work.stop()
    every: tuple[LeavesOut, ...] = (OneName("session", None), OneType("Session"), OneName("name", "Session"))
    for chosen in every:
        with pytest.raises(CancelledError):
            paths(small, 3, 1, (), (chosen,))


@pytest.mark.slow
def test_the_command_and_the_server_say_the_same(
    server: LspClient, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    options = ["--by-number", "--cache-dir", str(tmp_path / "cache")]

    def printed(number: int, *more: str) -> str:
        assert main(["paths", str(path), str(number), *options, *more]) == 0
        return capfd.readouterr().out

    assert printed(11).splitlines()[:2] == ["path 1, 0 steps:", "  (Stack roots): Key @23"]
    assert printed(11, "--without", "@5").splitlines()[:4] == [
        "without @5: nothing would be freed",
        "path 1, 1 step:",
        "  user root: global @7",
        "  -> key (property): Key @23, 1016 B retained",
    ]
    assert printed(12, "--without", "Key", "--without", ".session").splitlines() == [
        "without Key, .session: 1.16 KiB in 5 objects would be freed",
        "Nothing else holds Value @25: it would be freed, with the 1000 B that it retains",
    ]
    said = json.loads(printed(12, "--without", "Key", "--json"))

    opened = server.request("memlens/open", {"path": str(path), "view": "test"})
    without = [{"is": "type", "type": "Key"}]
    asked = {
        "snapshot": opened["snapshot"],
        "object": 12,
        "through": [],
        "without": without,
        "most": 3,
        "soon": False,
    }
    # what has to go besides what is left out isn't asked
    assert said.pop("least_cut") is None
    assert server.request("memlens/heapPaths", asked) == said


def test_a_static_field_is_left_out_by_the_name_of_its_class(opened: Opened, tmp_path: Path) -> None:
    """And by nothing of another class that has a field of that name."""
    dump = Dump()
    dump.klass(0x10, "java/lang/Object")
    loader = dump.instance(0x1000, dump.klass(0x20, "web/Loader", 0x10))
    kept = [dump.numbers(number, BYTE, bytes(100)) for number in (0x2000, 0x2010, 0x2020)]
    of_cart, of_row, of_both = (
        dump.objects(0x3000 + 0x10 * at, 0x10, [each]) for at, each in enumerate(kept)
    )
    cart = dump.klass(
        0x40, "web/Cart", 0x10, statics=[("ALL", OBJECT, of_cart), ("BOTH", OBJECT, of_both)], loader=loader
    )
    row = dump.klass(
        0x50, "web/Row", 0x10, statics=[("ALL", OBJECT, of_row), ("BOTH", OBJECT, of_both)], loader=loader
    )
    for each in (cart, row):
        dump.add(0x05, "P", each)
    path = tmp_path / "web.hprof"
    path.write_bytes(dump.end())
    snapshot = opened(path)
    numbers = {int(number): place for place, number in enumerate(snapshot.objects.id)}
    for name, held in (("web.Cart.ALL", [False, True, True]), ("web.Row.BOTH", [True, True, True])):
        left_out = parsed(snapshot, name)
        assert [bool(paths(snapshot, numbers[each], 1, (), (left_out,)).paths) for each in kept] == held
    with pytest.raises(BadRequestError, match=r"No web\.Cart has a reference called other"):
        paths(snapshot, numbers[kept[0]], 1, (), (OneName("other", "web.Cart"),))
    # of merged paths, where they lead through one class
    (system,) = merged_paths(snapshot, None, None, f"@{kept[0]}", 0, 0, 9).rows
    (below,) = merged_paths(snapshot, None, None, f"@{kept[0]}", system.node, 0, 9).rows
    assert parsed(snapshot, f"{below.above_type}.{below.name}") == OneName("ALL", "web.Cart")
    (both,) = merged_paths(snapshot, None, None, f"@{kept[0]},@{kept[1]}", 0, 0, 9).rows
    (below,) = merged_paths(snapshot, None, None, f"@{kept[0]},@{kept[1]}", both.node, 0, 9).rows
    assert (both.targets, below.above_type) == (2, "java.lang.Class")
