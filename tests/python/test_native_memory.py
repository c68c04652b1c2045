"""Memory outside of the heap: what objects of made dumps own and retain, against brute force, and damaged sizes."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.python.graph_reading import load
from tests.python.graphs import STRONG, SmallGraph, dominator_sets
from tests.python.hprof_files import OBJECT
from tests.python.native_files import FIRST_NODE, NODE_CLASS, NativeDump
from tests.python.tries import tries

from memlens.cli import main
from memlens.model.graph import MOST_NATIVE_BYTES
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.lists import heap_packages, heap_types, objects
from memlens.views.heap.listing.one_object import describe
from memlens.views.heap.objects.types import types

Opened = Callable[[Path], Snapshot]


def _natives(tmp_path: Path, dump: NativeDump) -> dict[int, int]:
    """What objects own, by their ids."""
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    graph = load(path)
    return {int(graph.objects.ids[number]): size for number, size in graph.natives.tolist()}


def test_each_way_in_which_memory_is_freed(tmp_path: Path) -> None:
    dump = NativeDump()
    owner = dump.instance(dump.id(), dump.object_class)
    dump.register(owner, 1000)
    dump.register(owner, 24)
    dump.register(owner, 7777, has_run=True)
    expected = {owner: 1024}

    aligned = dump.id()
    freeing = dump.instance(dump.id(), dump.deallocator_class, "qqi", 0x7000, 8192, 5000)
    dump.buffer(5000, cleaner=dump.cleaner(aligned, freeing), own_id=aligned)
    expected[aligned] = 8192
    part = dump.buffer(300, att=aligned)
    assert part not in expected

    freed = dump.id()
    freeing = dump.instance(dump.id(), dump.deallocator_class, "qqi", 0, 8192, 5000)
    dump.buffer(5000, cleaner=dump.cleaner(freed, freeing), own_id=freed)

    mapped = dump.id()
    unmapping = dump.instance(dump.id(), dump.unmapper_class, "qq", 0x7000, 1 << 33)
    dump.buffer(4096, cleaner=dump.cleaner(mapped, unmapping), own_id=mapped)
    expected[mapped] = 1 << 33

    expected[dump.buffer(600)] = 600
    assert _natives(tmp_path, dump) == expected


def test_buffers_of_the_runtime_are_left_out(tmp_path: Path) -> None:
    """The JDK's file of classes, and its counters: every program has them."""
    dump = NativeDump()
    reader = dump.klass(
        0x600, "jdk/internal/jimage/BasicImageReader", dump.object_class, [("memoryMap", OBJECT)]
    )
    counter = dump.klass(0x620, "jdk/internal/perf/PerfCounter", dump.object_class, [("lb", OBJECT)])
    for of in (reader, counter):
        whole = dump.buffer(1 << 27)
        dump.instance(dump.id(), of, "P", dump.buffer(1 << 27, att=whole))
    assert _natives(tmp_path, dump) == {}


def test_android_has_the_bytes_of_buffers_in_the_heap(tmp_path: Path) -> None:
    dump = NativeDump("1.0.3")
    dump.buffer(600)
    owner = dump.instance(dump.id(), dump.object_class)
    dump.register(owner, 1000)
    assert _natives(tmp_path, dump) == {owner: 1000}


@pytest.mark.parametrize("size", [-1, -(2**63), MOST_NATIVE_BYTES, 2**63 - 1])
def test_sizes_that_cannot_be_are_left_out_and_counted(size: int, tmp_path: Path) -> None:
    dump = NativeDump()
    owner, other = (dump.instance(dump.id(), dump.object_class) for _ in range(2))
    dump.register(owner, size)
    dump.register(other, 12)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    graph = load(path)
    assert graph.natives["bytes"].tolist() == [12]
    assert [each.message for each in graph.warnings if each.code == "impossible-natives"] == [
        "Native memory left out because its size is impossible: 1."
    ]


def test_classes_that_are_above_each_other_are_read(tmp_path: Path) -> None:
    """Only damaged files have such."""
    dump = NativeDump()
    dump.klass(0x500, "a/Loop", 0x520)
    dump.klass(0x520, "a/Other", 0x500)
    dump.register(dump.instance(dump.id(), dump.object_class), 5)
    assert list(_natives(tmp_path, dump).values()) == [5]


def random_dump(seed: int) -> tuple[NativeDump, SmallGraph, list[int]]:
    """Objects of three types, some of which own memory; that also as a graph, with the bytes of each."""
    rng = random.Random(seed)
    dump = NativeDump()
    classes = [
        dump.klass(NODE_CLASS + 0x20 * kind, f"{'ab'[kind % 2]}/Node{kind}", dump.object_class,
                   [(name, OBJECT) for name in ("one", "two", "three")])
        for kind in range(3)
    ]  # fmt: skip
    count = rng.randint(2, 30)
    kinds = [rng.randrange(3) for _ in range(count)]
    edges: list[list[tuple[int, int]]] = []
    for number, kind in enumerate(kinds):
        targets = [rng.randrange(count) if rng.random() < 0.6 else None for _ in range(3)]
        ids = [0 if target is None else FIRST_NODE + 0x20 * target for target in targets]
        dump.instance(FIRST_NODE + 0x20 * number, classes[kind], "PPP", *ids)
        edges.append([(target, STRONG) for target in targets if target is not None])
    roots = [rng.randrange(count) for _ in range(rng.randint(1, 3))]
    for root in roots:
        dump.add(0xFF, "P", FIRST_NODE + 0x20 * root)
    native = [rng.choice((0, 0, 100, 5_000_000_000)) for _ in range(count)]
    for number, size in enumerate(native):
        if size:
            dump.register(FIRST_NODE + 0x20 * number, size)
    return dump, SmallGraph(edges, roots, kinds, [0] * count), native


@pytest.mark.parametrize("seed", range(tries(25)))
def test_what_objects_and_types_retain_is_as_by_brute_force(
    seed: int, opened: Opened, tmp_path: Path
) -> None:
    dump, graph, native = random_dump(seed)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    snapshot = opened(path)
    below = dominator_sets(graph, graph.roots)
    if not any(native):
        assert describe(snapshot, 0).object.native_bytes is None
        return
    assert graph_of(snapshot.info).native_bytes == sum(native)
    ids = snapshot.objects.id.tolist()
    numbers = [ids.index(FIRST_NODE + 0x20 * node) for node in graph.objects]
    for node, number in enumerate(numbers):
        one = describe(snapshot, number).object
        assert one.native_bytes == native[node]
        if node in below:
            assert one.native_retained_bytes == sum(native[other] for other in below[node])

    def retained(chosen: set[int], key: Callable[[int], object], group: object) -> int:
        """What objects of a group retain that no other chosen one of it dominates."""
        own = [node for node in chosen if key(node) == group]
        topmost = [node for node in own if not any(node in below[other] - {other} for other in own)]
        return sum(native[other] for node in topmost for other in below[node])

    reached = set(below)
    retaining = {node for node in reached if sum(native[other] for other in below[node]) > 99}
    for text, chosen in (
        ("-is:unreachable", reached),
        ("-is:unreachable native-retained>=100", retaining),
        ("-is:unreachable native>100", {node for node in reached if native[node] > 100}),
    ):
        found = heap_types(snapshot, text, "native", None, "package", 0, 100, reverse=False).rows
        rows = {row.type: row for row in found if "Node" in row.type}
        for kind in {graph.types[node] for node in chosen}:
            row = rows[f"{'ab'[kind % 2]}.Node{kind}"]
            assert row.native_bytes == sum(native[node] for node in chosen if graph.types[node] == kind)
            assert row.native_retained_bytes == retained(chosen, lambda node: graph.types[node], kind)
        packages = heap_packages(snapshot, text, "native_retained", "package", 0, 9, reverse=False)
        for package in [row for row in packages.rows if row.name in ("a", "b")]:
            assert package.native_retained_bytes == retained(
                chosen, lambda node: "ab"[graph.types[node] % 2], package.name
            )
    by_native = objects(snapshot, "native>0", None, None, "native").rows
    assert [row.native_bytes for row in by_native] == sorted((size for size in native if size), reverse=True)


def test_whole_types_and_packages(opened: Opened, tmp_path: Path) -> None:
    """Without a filter the sums were made at the ingest; with one of types alone they are the same."""
    dump, _, native = random_dump(3)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    snapshot = opened(path)
    rows = {row.type: row for row in types(snapshot).types}
    assert sum(row.native_bytes or 0 for row in rows.values()) == sum(native) > 0
    every = objects(snapshot, "", None, None, "object", 0, 1000).rows
    assert {row.type for row in every if row.native_retained_bytes} == {
        name for name, row in rows.items() if row.native_retained_bytes
    }
    for text in ("", "type:Node"):
        packages = heap_packages(snapshot, text, "native", "package", 0, 9, reverse=False).rows
        assert sum(row.native_bytes or 0 for row in packages) == sum(native)
        assert all((row.native_retained_bytes or 0) > 0 for row in packages if row.native_bytes)


def test_the_command_line_and_sql_have_it_where_a_dump_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = NativeDump()
    owner = dump.instance(dump.id(), dump.object_class)
    dump.register(owner, 3 << 20)
    dump.add(0xFF, "P", owner)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    cache = ["--cache-dir", str(tmp_path / "cache")]

    def said(*arguments: str) -> str:
        assert main([*arguments, *cache]) == 0
        return capsys.readouterr().out

    assert "owned outside of the heap: 3 MiB (3,145,728 bytes)" in said("info", str(path))
    listed = said("types", str(path), "--order", "native", "--top", "1").splitlines()
    assert listed[0].split() == ["retained", "shallow", "native", "count", "type"]
    assert listed[1].split()[4:8] == ["3", "MiB", "1", "java.lang.Object,"]
    assert "3 MiB outside of the heap, 3 MiB retained of that" in said("object", str(path), hex(owner))
    query = "SELECT (SELECT sum(native_bytes) FROM types), max(native_retained_bytes), min(native_bytes) FROM objects"
    assert said("sql", str(path), query).splitlines()[-1].split() == ["3145728", "3145728", "0"]

    plain = NativeDump()
    plain.add(0xFF, "P", plain.instance(plain.id(), plain.object_class))
    path.write_bytes(plain.end())
    assert "outside" not in said("info", str(path))
    assert "native" not in said("types", str(path))
    assert '"native_bytes":null' in said("types", str(path), "--json")
    known = "SELECT count(native_bytes) + count(native_retained_bytes) AS n FROM objects"
    assert said("sql", str(path), known).split()[-1] == "0"
