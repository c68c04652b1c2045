"""V8's heap snapshots: every column against the written data, DevTools' own figures, damaged and hostile files."""

import gzip
import itertools
import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import zstandard
from tests.python.conftest import DATA
from tests.python.graph_reading import followed, plainly
from tests.python.graphs import attached, dominator_sets, naive_dominators, random_graph, rooted, turned
from tests.python.heap_files import HeapFile, heap_of, small_heap
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError
from memlens.kernels.graph import dominators as kernel
from memlens.kernels.graph.columns import References
from memlens.model.graph import NONE, Graph
from memlens.packs.v8.kernels import heap_json as v8_json
from memlens.store.snapshot import Snapshot
from memlens.views.heap.dominators.group_nodes import group_nodes
from memlens.views.heap.dominators.trees import DOMINATORS, grouped_tree, is_in
from memlens.views.heap.listing.one_object import describe
from memlens.views.heap.objects.rows import number_of
from memlens.views.heap.objects.types import instances, types
from memlens.views.heap.paths import to_object as path_search
from memlens.views.heap.paths.to_object import paths
from memlens.views.heap.retained.by_objects import retained_by

HEAP = DATA / "heap"
ORACLES = ["small_node20", "leak_after_node24"]


def load(path: Path) -> Graph:
    """Read a file as the ingest does."""
    with open_source(path, Path(tempfile.gettempdir()), lambda *_: None) as source:
        graph = read(source, Path(tempfile.gettempdir()), lambda *_: None)
    assert isinstance(graph, Graph)
    return graph


def loaded(data: bytes, folder: Path) -> Graph:
    path = folder / "x.heapsnapshot"
    path.write_bytes(data)
    return load(path)


def _dominators(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The number of each object's dominator, and each object's retained size."""
    references, count = graph.references, len(graph.objects)
    retains = np.zeros(256, np.uint8)
    retains[: len(graph.reference_kinds)] = [kind.retains for kind in graph.reference_kinds]
    found, _, order, idom, _ = kernel.dominators(
        References(references.start, references.target, references.kind, retains), True, np.zeros(0, np.uint32),
        graph.root or 0, True, lambda: turned(references.start, references.target, references.kind), np.empty,
    )  # fmt: skip
    assert found == count
    order, idom = order[:count], idom[:count]
    dominator, (sums, retained) = np.empty(count, np.uint32), np.empty((2, count), np.uint64)
    kernel.retained_sizes(order, idom, count, graph.objects.shallow, sums)
    dominator[order], retained[order] = order[idom], sums
    return dominator, retained


@pytest.mark.parametrize("name", ["one of ours", *(ORACLES if HEAP.is_dir() else ())])
def test_dominators_and_retained_sizes_agree_with_devtools(name: str, tmp_path: Path) -> None:
    if name in ORACLES:
        graph = load(HEAP / "v8" / f"{name}.heapsnapshot.zst")
        above = np.fromfile(HEAP / "oracle" / f"{name}.dt", "<u4").tolist()
        held = np.fromfile(HEAP / "oracle" / f"{name}.dt.ret", "<f8").tolist()
        assert len(above) > 40_000
    else:
        graph = loaded(small_heap().data(), tmp_path)
        plain = attached(plainly(graph, followed(graph, ())))
        below = dominator_sets(plain, [graph.root or 0])
        parents = naive_dominators(plain, [graph.root or 0])
        above = [graph.root if parents[item] is None else parents[item] for item in plain.objects]
        held = [sum(plain.shallow[each] for each in below[item]) for item in plain.objects]
    dominator, retained = _dominators(graph)
    assert dominator.tolist() == above
    assert retained.tolist() == held


def test_every_column_equals_the_written_data(tmp_path: Path) -> None:
    heap = small_heap()
    graph = loaded(heap.data(), tmp_path)
    written, strings = heap.sections(), list(heap.strings)
    objects, references = graph.objects, graph.references
    assert objects.ids.tolist() == [node["id"] for node in heap.nodes]
    assert [graph.texts[number] for number in objects.name.tolist()] == [
        strings[node["name"]] for node in heap.nodes
    ]
    assert int(objects.shallow.sum()) == sum(node["self_size"] for node in heap.nodes)
    assert references.start.tolist() == np.cumsum([0, *map(len, heap.edges)]).tolist()
    assert references.target.tolist() == [target for edges in heap.edges for _, _, target in edges]
    assert len(references) * 3 == len(written["edges"])
    names = [
        str(name) if graph.reference_kinds[kind].naming == "index" else graph.texts[name]
        for kind, name in zip(references.kind.tolist(), references.name.tolist(), strict=True)
    ]
    # an entry of a WeakMap is named without what its ends contain
    named = [str(name) for edges in heap.edges for _, name, _ in edges]
    assert names == [each.replace("(Key @", "(@").replace("(Value @", "(@") for each in named]
    kinds = [graph.reference_kinds[kind] for kind in references.kind.tolist()]
    assert [kind.name for kind in kinds] == [kind for edges in heap.edges for kind, _, _ in edges]
    # from outside the page into it; the weak one; and the WeakMap's own reference to its value
    assert [kind.strength for kind in kinds if not kind.retains] == ["strong", "weak", "ephemeron"]
    assert objects.flags is not None
    assert objects.flags.tolist() == [int(node["detachedness"] == 2) for node in heap.nodes]


def test_lines_of_closures_instances_and_allocations(tmp_path: Path) -> None:
    graph = loaded(small_heap().data(), tmp_path)
    frames = graph.frames.frames
    places = {
        graph.texts[int(graph.objects.name[row["object"]])]: frames[row["frame"]] for row in graph.places
    }
    assert {name: (frame.file, frame.line) for name, frame in places.items()} == {
        "onTick": ("/home/me/app/leak.js", 9), "Session": ("/home/me/app/leak.js", 3)
    }  # fmt: skip
    assert graph.tree is not None
    assert graph.objects.stack is not None
    node, stack = int(graph.objects.stack.max()), []
    while node:
        frame = frames[graph.tree.frames[node]]
        stack.append((frame.function, frame.line))
        node = int(graph.tree.parents[node])
    assert stack == [("make", 3), ("main", 20)]
    assert np.count_nonzero(graph.objects.stack) == 1


def test_types_are_classes_and_tags_however_objects_are_named(tmp_path: Path) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    closures = []
    for number, name in enumerate("ab", 5):
        closure = heap.node("closure", "make")
        shared, script = heap.node("code", "make"), heap.node("hidden", f"/app/{name}.js")
        heap.edge(closure, "internal", "shared", shared)
        heap.edge(shared, "internal", "script", script)
        heap.locations.append((closure, number, 0, 0))
        closures.append(closure)
    items = [heap.node("object", "Item", 20) for _ in range(5)]
    others = [
        heap.node("native", '<a href="https://example.com/1">'),
        heap.node("native", "<a>"),
        heap.node("native", "Detached <a href='2'>"),
        heap.node("native", "Detached <a/>"),
        heap.node("object", "system / Context / scope @457"),
        heap.node("object", "system / Context"),
        heap.node("object", "system / Context / scope of mine"),
        heap.node("string", '<a href="3">'),
        heap.node("object", "<b c"),
        heap.node("native", ""),
        heap.node("native", "Window / data:text/html;base64,PHA+"),
        heap.node("native", "Window / https://example.com/data:x"),
    ]
    for item in (*closures, *items, *others):
        heap.edge(root, "element", item, item)
    # the last says nothing of where it is defined
    heap.locations += [(item, script, 3, 0) for item, script in zip(items, (5, 6, 5, 6), strict=False)]
    graph = loaded(heap.data(), tmp_path)
    names = [graph.texts[number] for number in graph.types.name.tolist()]
    of = [names[number] for number in graph.objects.type.tolist()]
    assert of[others[0] :] == [
        "<a>", "<a>", "Detached <a>", "Detached <a>", "system / Context", "system / Context",
        "system / Context / scope of mine", "(string)", "<b>", "",
        "Window / data:text/html,…", "Window / https://example.com/data:x",
    ]  # fmt: skip
    # what an object is called stays
    named = [graph.texts[number] for number in graph.objects.name.tolist()]
    assert named[others[0]] == '<a href="https://example.com/1">'
    own = graph.objects.type[items].tolist()
    assert own[0] == own[2] == own[4] != own[1] == own[3]
    assert {of[item] for item in items} == {"Item"}
    assert graph.types.module is not None
    modules = [graph.texts[int(graph.types.module[number])] for number in own[:2]]
    assert modules == ["a.js:4", "b.js:4"]


def test_plain_objects_are_of_types_by_their_properties(tmp_path: Path) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    value = heap.node("string", "text")
    shapes = (
        ("id", "name"), ("name", "id"), ("id",), ("id", "name", "π"), ("id", "name", "π"), (), (),
        tuple(f"property{number}" for number in range(300)), tuple(f"property{number}" for number in range(300)),
    )  # fmt: skip
    plain = [heap.node("object", "Object", 10) for _ in shapes]
    other = heap.node("object", "Session", 10)
    constants = heap.node("code", "(constant pool)")
    for number, name in enumerate(dict.fromkeys(name for shape in shapes for name in shape)):
        heap.edge(constants, "internal", str(number), heap.node("string", name))
    for item, properties in zip((*plain, other), (*shapes, ("id", "name")), strict=True):
        heap.edge(root, "element", item, item)
        for name in properties:
            heap.edge(item, "property", name, value)
        # of which there is always one, and what is no property
        heap.edge(item, "property", "__proto__", other)
        heap.edge(item, "internal", "map", value)
        heap.edge(item, "element", 3, value)
    graph = loaded(heap.data(), tmp_path)
    names = [graph.texts[number] for number in graph.types.name.tolist()]
    of = [names[number] for number in graph.objects.type.tolist()]
    both, three, many = "{id, name}", "{id, name, π}", of[plain[-1]]
    # one alone is no type, nor are those without properties
    assert [of[item] for item in plain] == [
        both,
        both,
        "Object",
        three,
        three,
        "Object",
        "Object",
        many,
        many,
    ]
    assert many.startswith("{property0, property1, ")
    assert len(many) <= 120
    assert of[other] == "Session"
    called = [graph.texts[number] for number in graph.objects.name.tolist()]
    assert [called[item] for item in (plain[0], plain[2], other)] == ["", "Object", "Session"]


def test_roots_are_the_objects_held_by_synthetic_ones(tmp_path: Path) -> None:
    graph = loaded(small_heap().data(), tmp_path)
    found = {
        (graph.root_kinds[row["kind"]], graph.texts[int(graph.objects.name[row["object"]])])
        for row in graph.roots
    }
    assert found == {("user root", "global"), ("(Stack roots)", "Key")}


@pytest.mark.parametrize(
    "fields",
    [
        ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"],
        ["detachedness", "edge_count", "self_size", "id", "name", "type"],
        ["id", "type", "name", "edge_count", "self_size"],
    ],
)
def test_fields_and_sections_may_be_in_any_order(fields: list[str], tmp_path: Path) -> None:
    heap = small_heap()
    whole = loaded(heap.data(), tmp_path)
    heap.node_fields, heap.order = fields, tuple(reversed(heap.order))
    other = loaded(heap.data(), tmp_path)
    for name in ("ids", "shallow", "name", "type"):
        assert (getattr(whole.objects, name) == getattr(other.objects, name)).all()
    for name in ("start", "target", "kind", "name"):
        assert (getattr(whole.references, name) == getattr(other.references, name)).all()


def test_compressed_and_indented_files_read_alike(tmp_path: Path) -> None:
    data = small_heap().data()
    whole = loaded(data, tmp_path)
    for other in (
        gzip.compress(data), zstandard.compress(data), json.dumps(json.loads(data), indent=2).encode(),
    ):  # fmt: skip
        again = loaded(other, tmp_path)
        assert (again.references.target == whole.references.target).all()
        assert (again.texts.utf8 == whole.texts.utf8).all()


def test_escapes_in_strings() -> None:
    texts = [
        '"',
        "\\",
        "/",
        "\b\f\n\r\t",
        "\u00e9",
        "\u20ac",
        "\U0001f600",
        "plain",
        "",
        "a\\",
        "\x01",
        "\\u0041",
    ]
    data = json.dumps(texts).encode()
    strings = v8_json.Strings(data, 0, len(data))
    assert strings.run(len(data)) == v8_json.OK
    utf8, ends = (np.asarray(each) for each in strings.take())
    starts = [0, *ends.tolist()]
    found = [utf8[start:end].tobytes().decode() for start, end in zip(starts, ends.tolist(), strict=False)]
    assert found == ["", *texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"\ud83d"', "\ufffd"),
        (r'"\ude00x"', "\ufffdx"),
        (r'"\ud83dA"', "\ufffdA"),
        (r'"\ud83d\u0041"', "\ufffdA"),
    ],
)
def test_halves_of_characters(text: str, expected: str) -> None:
    data = f"[{text}]".encode()
    strings = v8_json.Strings(data, 0, len(data))
    assert strings.run(len(data)) == v8_json.OK
    assert np.asarray(strings.take()[0]).tobytes().decode() == expected


@pytest.mark.parametrize(
    "data", [b'["a]', b"[1]", b'["a" "b"]', rb'["\x"]', rb'["\u12"]', rb'["\u12G4"]', b'["a",,]']
)
def test_other_values_than_lists_of_strings(data: bytes) -> None:
    assert v8_json.Strings(data, 0, len(data)).run(len(data)) in (v8_json.SYNTAX, v8_json.TRUNCATED)


def test_reading_in_steps_of_a_few_bytes_changes_nothing() -> None:
    data = b"[1, 22,333,4 ,5,6\n,70000,8,9]"
    for step in range(1, 8):
        columns: list[npt.NDArray[Any]] = [np.empty(3, np.uint64), np.empty(3, np.uint8)]
        sinks: list[tuple[npt.NDArray[np.uint8], int, int, int, bool] | None] = [
            (columns[0].view(np.uint8), 8, 2**60, 0, False), None,
            (columns[1].view(np.uint8), 1, 255, 0, False),
        ]  # fmt: skip
        # 333 doesn't fit into a byte
        rows = v8_json.Rows(data, 0, len(data), 3, sinks)
        limit, status = 0, v8_json.MORE
        while status == v8_json.MORE:
            limit += step
            status = rows.run(limit)
        assert (status, rows.error_offset) == (v8_json.TOO_LARGE, 7)
        sinks[2] = None
        rows = v8_json.Rows(data, 0, len(data), 3, sinks)
        limit, status = 0, v8_json.MORE
        while status == v8_json.MORE:
            limit += step
            status = rows.run(limit)
        assert status == v8_json.OK
        assert columns[0].tolist() == [1, 4, 70_000]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nodes": []}, "has no objects"),
        ({"edges": [0, 1]}, "not 3 for each"),
        ({"edges": []}, "references, but its objects have"),
        ({"strings": []}, "no strings"),
        ({"strings": ["a"]}, "larger than its field allows"),
        ({"strings": 7}, "strings are not a list"),
        ({"nodes": {"a": 1}}, "not rows of numbers"),
        ({"snapshot": {}}, "header is not"),
        (
            {
                "snapshot": {
                    "meta": {"node_fields": [], "node_types": [], "edge_fields": [], "edge_types": []}
                }
            },
            "types",
        ),
    ],
)
def test_impossible_values(changed: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DamagedSnapshotError, match=message):
        loaded(small_heap().data(**changed), tmp_path)


def test_a_reference_to_nowhere_and_to_the_middle_of_an_object(tmp_path: Path) -> None:
    heap = small_heap()
    for target in (10**6 * 7, 3):
        edges = heap.sections()["edges"]
        edges[2] = target
        with pytest.raises(DamagedSnapshotError, match="leads to no object"):
            loaded(heap.data(edges=edges), tmp_path)


def test_a_reference_named_by_no_string(tmp_path: Path) -> None:
    heap = small_heap()
    edges = heap.sections()["edges"]
    edges[1] = 999_999
    with pytest.raises(DamagedSnapshotError, match="string that the file doesn't have"):
        loaded(heap.data(edges=edges), tmp_path)


def test_sizes_that_no_memory_has(tmp_path: Path) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    for _ in range(8):
        heap.edge(root, "property", "x", heap.node("object", "Huge", 9 * 10**17))
    with pytest.raises(DamagedSnapshotError, match="add up to more than any machine's memory"):
        loaded(heap.data(), tmp_path)


def test_nested_deeply_a_million_times(tmp_path: Path) -> None:
    heap = small_heap()
    data = heap.data()
    for deep in (b"[" * 1_000_000 + b"]" * 1_000_000, b"[" * 1_000_000):
        for section in (b'"trace_tree":', b'"samples":'):
            start = data.index(section) + len(section)
            end = data.index(b',"', start)
            with pytest.raises(DamagedSnapshotError):
                loaded(data[:start] + deep + data[end:], tmp_path)


def test_files_truncated_at_200_places(tmp_path: Path) -> None:
    data = small_heap().data()
    for end in np.linspace(1, len(data) - 1, 200, dtype=int).tolist():
        with pytest.raises(MemlensError):
            loaded(data[:end], tmp_path)


@pytest.mark.slow
def test_files_with_bytes_changed_anywhere(tmp_path: Path, cache_free_write: Callable[[Graph], None]) -> None:
    whole, draw = small_heap().data(), random.Random(7)
    errors = 0
    for _ in range(tries(800)):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 3))):
            data[draw.randrange(len(data))] = draw.choice(
                (0x22, 0x2C, 0x30, 0x39, 0x5B, 0x5D, draw.randrange(256))
            )
        try:
            cache_free_write(loaded(bytes(data), tmp_path))
        except MemlensError:
            errors += 1
    assert tries(200) < errors < tries(800)


@pytest.fixture
def cache_free_write(tmp_path: Path) -> Callable[[Graph], None]:
    """Archive a graph that was read from a damaged file, and discard the archive."""
    from memlens.store.manifest import SourceFile
    from memlens.store.writer import write_archive

    def write(graph: Graph) -> None:
        folder = tmp_path / "archive"
        folder.mkdir()
        write_archive(graph, SourceFile("x", 1, 1), folder, lambda *_: None)
        shutil.rmtree(folder)

    return write


@pytest.mark.slow
def test_a_chain_of_a_million_objects(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    count = 300_000
    heap = HeapFile()
    heap.string("next")
    for number in range(count):
        heap.node("synthetic" if number == 0 else "object", "Node", 8)
    nodes, width = heap.sections()["nodes"], len(heap.node_fields)
    nodes[4::width] = [1] * (count - 1) + [0]
    edges = [number for target in range(1, count) for number in (2, heap.string("next"), target * width)]
    header = heap.sections()["snapshot"] | {"edge_count": count - 1}
    path = tmp_path / "chain.heapsnapshot"
    path.write_bytes(heap.data(nodes=nodes, edges=edges, snapshot=header))
    snapshot = opened(path)
    answer = snapshot.ask(lambda asked: paths(asked, count - 1))
    assert answer.paths[0].length == count - 2
    assert answer.paths[0].left_out == count - 2 - 1_000
    assert len(answer.paths[0].steps) == 1_000
    assert group_nodes(snapshot, np.array([0]))[0].total_bytes == 8 * count


@pytest.mark.slow
def test_answers_agree_with_brute_force(
    tmp_path: Path, opened: Callable[[Path], Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    # so that paths are also looked for in parts
    monkeypatch.setattr(path_search, "_AT_ONCE", 1)
    compared = nearest = merged = 0
    for seed in range(60):
        graph = random_graph(seed)
        if not graph.roots:
            continue
        path = tmp_path / f"{seed}.heapsnapshot"
        path.write_bytes(heap_of(graph).data())
        snapshot = opened(path)
        reached = graph.reached(graph.roots)
        # V8's root is object 0, and holds what nothing else holds
        whole_file = attached(rooted(graph))
        dominator, sets = naive_dominators(whole_file, [0]), dominator_sets(whole_file, [0])
        for item in reached:
            answer = describe(snapshot, item + 1)
            own = answer.object
            assert own.dominator == (dominator[item + 1] or 0)
            assert own.retained_bytes == sum(whole_file.shallow[each] for each in sets[item + 1])
            assert [row.object.object - 1 for row in answer.references] == [t for t, _ in graph.edges[item]]
            sources = [s for s in graph.objects for t, _ in graph.edges[s] if t == item]
            assert [row.object.object - 1 for row in answer.referrers if row.object.object] == sources
            assert [row.name for row in answer.referrers if row.object.object] == [
                f"field{n}" for s in graph.objects for n, (t, _) in enumerate(graph.edges[s]) if t == item
            ]
            assert {row.object for row in answer.dominated} == {
                each for each in range(1, len(graph.edges) + 1)
                if snapshot.objects.dominator[each] == item + 1
            }  # fmt: skip
            found = paths(snapshot, item + 1, 100)
            assert found.complete
            assert {row.root.object - 1 for row in found.paths if row.root.object} == {
                root for root in graph.roots if item in graph.reached([root])
            }
            compared += 1
            for parts in (1, 3):
                monkeypatch.setattr(path_search, "_AT_FIRST", parts)
                soon = paths(snapshot, item + 1, 100, soon=True)
                assert 1 <= len(soon.paths) <= len(found.paths)
                assert [each.length for each in soon.paths] == [
                    each.length for each in found.paths[: len(soon.paths)]
                ]
                for each in soon.paths:
                    numbers = [each.root.object, *(step.object.object for step in each.steps)]
                    assert numbers[-1] == item + 1
                    assert all(
                        below - 1 in graph.strong(above - 1) if above else below - 1 in graph.roots
                        for above, below in itertools.pairwise(numbers)
                    )
                nearest += soon.complete < found.complete
        chosen = sorted(reached)[::2]
        freed = reached - graph.reached(graph.roots, frozenset(chosen))
        whole = retained_by(snapshot, [item + 1 for item in chosen])
        assert (whole.objects, whole.retained_bytes) == (
            len(freed),
            sum(graph.shallow[each] for each in freed),
        )
        rows = types(snapshot, "count").types
        assert sum(row.count for row in rows) == len(graph.edges) + 1
        for row in rows:
            listed = instances(snapshot, row.number, "object").instances
            assert [each.object for each in listed] == sorted(each.object for each in listed)
            assert len(listed) == row.count
            assert sum(each.shallow_bytes for each in listed) == row.shallow_bytes
        groups = group_nodes(snapshot, np.arange(len(grouped_tree(snapshot, DOMINATORS).key)))
        for group in groups[1:]:
            members = np.flatnonzero(is_in(snapshot, group.node))
            assert len(members) == group.objects
            outermost = members[~np.isin(snapshot.objects.dominator[members], members)]
            assert int(snapshot.objects.retained[outermost].sum()) == group.total_bytes
            merged += len(outermost) < len(members)
    assert compared > 200
    assert nearest > 20
    assert merged > 20


def test_objects_are_found_by_their_ids(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    snapshot = opened(path)
    assert number_of(snapshot, 15) == 7
    answer = describe(snapshot, 7)
    assert (answer.object.type, answer.object.file, answer.object.line) == (
        "Session",
        "/home/me/app/leak.js",
        3,
    )
    assert [frame.function for frame in answer.allocated] == ["make", "main"]
    detached = next(row.object for row in answer.references if row.name == "[7]")
    assert detached.flags == ["detached"]
    with pytest.raises(MemlensError, match="no object with the id 16"):
        number_of(snapshot, 16)
    with pytest.raises(MemlensError, match="no object number"):
        describe(snapshot, 99)


def test_weak_references_are_followed_only_when_asked(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    heap = HeapFile()
    root, weakly = heap.node("synthetic", ""), heap.node("object", "Held", 8)
    other = heap.node("object", "Weakly", 8)
    heap.edge(root, "property", "held", weakly)
    heap.edge(weakly, "weak", "maybe", other)
    path = tmp_path / "weak.heapsnapshot"
    path.write_bytes(heap.data())
    snapshot = opened(path)
    assert not paths(snapshot, other).paths
    found = paths(snapshot, other, through={"weak"})
    assert [step.object.type for step in found.paths[0].steps] == ["Weakly"]
    assert describe(snapshot, other).object.distance is None
    assert snapshot.objects.dominator[other] == root
    assert int(snapshot.objects.distance[other]) == NONE


LEAK = """
const v8 = require('v8');
class Session { constructor(id) { this.id = id; this.buffer = 'x'.repeat(10) + id; } }
const sessions = [];
for (let i = 0; i < 2000; i++) sessions.push(new Session(i));
globalThis.sessions = sessions;
v8.writeHeapSnapshot(process.argv[2]);
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_leak_of_a_real_program(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    script, path = tmp_path / "leak.js", tmp_path / "leak.heapsnapshot"
    script.write_text(LEAK)
    subprocess.run(["node", script, path], check=True, timeout=120)
    snapshot = opened(path)
    row = next(row for row in types(snapshot, search="session", limit=1_000).types if row.type == "Session")
    assert row.count == 2_000
    one = instances(snapshot, row.number, limit=1).instances[0]
    assert (Path(one.file or "").name, one.line) == ("leak.js", 3)
    ways = paths(snapshot, one.object, 100).paths
    assert any("sessions" in [step.name for step in way.steps] for way in ways)


def _printed(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capfd.readouterr().out


def test_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    heap, path = small_heap(), tmp_path / "small.heapsnapshot"
    path.write_bytes(heap.data())
    cache = ("--cache-dir", tmp_path / "cache")
    sizes = sum(node["self_size"] for node in heap.nodes)
    info = json.loads(_printed(capfd, "info", path, "--json", *cache))
    assert (info["model"], info["objects"], info["shallow_bytes"]) == ("graph", len(heap.nodes), sizes)
    assert (info["references"], info["reachable_bytes"], info["roots"]) == (
        sum(map(len, heap.edges)),
        sizes,
        2,
    )
    rows = json.loads(_printed(capfd, "types", path, "--json", *cache))["types"]
    session = next(row for row in rows if row["type"] == "Session")
    assert (session["count"], session["shallow_bytes"]) == (1, 48)
    answer = json.loads(_printed(capfd, "object", path, "@15", "--json", *cache))
    assert answer["object"]["line"] == 3
    assert answer == json.loads(_printed(capfd, "object", path, "7", "--by-number", "--json", *cache))
    ways = json.loads(_printed(capfd, "paths", path, "0xF", "--json", *cache))
    assert [step["name"] for step in ways["paths"][0]["steps"]] == ["session"]
    for command in (("info",), ("types",), ("object", 15), ("paths", 15), ("lines",), ("flame",)):
        assert _printed(capfd, command[0], path, *command[1:], *cache)
    found = _printed(capfd, "sql", path, "SELECT sum(shallow_bytes), count(*) FROM objects", "--csv", *cache)
    assert found.splitlines()[1] == f"{sizes},{len(heap.nodes)}"
    assert main(["stack", str(path), "1", *map(str, cache)]) == 1
    assert "This heap dump has no" in capfd.readouterr().err
