"""Heap graphs in traces of Perfetto: made ones, in each of the forms that recorders write, against what was written."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python.graph_reading import damaged, edges, load, outcome, roots, type_names
from tests.python.graphs import STRONG, random_graph
from tests.python.perfetto_files import compressed, graph_packet, packets_of, processes, trace
from tests.python.tries import tries

from memlens.errors import BadRequestError
from memlens.formats import recognised
from memlens.formats.containers import plain_source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.graph import Graph
from memlens.packs.android import perfetto
from memlens.packs.android.deobfuscation import Deobfuscation
from memlens.packs.android.types import Names, Type
from memlens.packs.go.tests.pprof_files import Builder, encode
from memlens.store.snapshot import Snapshot
from memlens.units import dimensions
from memlens.views.findings.ahead import findings, headline
from memlens.views.heap.dominators.trees import Form, grouped_tree
from memlens.views.heap.listing.threads import threads

NORMAL, ARRAY, CLASS, WEAK, PHANTOM = 1, 4, 5, 9, 11


def read(tmp_path: Path, packets: list[dict[str, Any]], **options: Any) -> Graph:
    path = tmp_path / "made.perfetto-trace"
    path.write_bytes(trace(packets))
    return load(path, **options)


def names(*texts: str) -> list[dict[str, Any]]:
    return [{"iid": number, "text": [text]} for number, text in enumerate(texts, 1)]


def kind(number: int, name: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": [name], "kind": NORMAL, **more}


@pytest.mark.parametrize("seed", range(tries(40)))
def test_any_graph_in_any_form(tmp_path: Path, opened: Callable[[Path], Snapshot], seed: int) -> None:
    made = random_graph(seed)
    path = tmp_path / "made.pftrace"
    path.write_bytes(trace(packets_of(made, seed), packed=bool(seed % 2)))
    graph = load(path)
    assert type_names(graph) == [f"app.T{number}" for number in made.types]
    assert graph.objects.shallow.tolist() == [size + 1 for size in made.shallow]
    assert graph.objects.ids.tolist() == [100 + 8 * number for number in made.objects]
    assert {number for _, number, *_ in roots(graph)} == {100 + 8 * number for number in made.roots}
    for number, found in enumerate(edges(graph)):
        strong = [target for target, weak in made.edges[number] if weak == STRONG]
        assert found == [("field", f"f{place}", 100 + 8 * target) for place, target in enumerate(strong)]
    assert [warning.code for warning in graph.warnings] == []
    snapshot = opened(path)
    reached = made.reached(made.roots)
    assert snapshot.info.reachable_objects == len(reached)  # pyrefly: ignore[missing-attribute]
    for number in reached:
        without = made.reached(made.roots, frozenset((number,)))
        held = sum(made.shallow[each] + 1 for each in reached - without)
        assert int(snapshot.objects.retained[number]) == held


def test_a_long_chain_of_superclasses_costs_no_more_than_its_references() -> None:
    chain = {number: Type(number, "A", "", 0, 0, number - 1, 0, 0, [number]) for number in range(1, 50_001)}
    bare = {number: Type(number, "B", "", 0, 0, number + 1, 0, 0, []) for number in range(100_000, 150_000)}
    circle = {200_000: Type(200_000, "C", "", 0, 0, 200_001, 0, 0, []),
              200_001: Type(200_001, "D", "", 0, 0, 200_000, 0, 0, [7])}  # fmt: skip
    names = Names(iter(()), Deobfuscation(()))
    names.types = chain | bare | circle
    assert names.fields_of(chain[50_000], 3) == [50_000, 49_999, 49_998]
    assert names.fields_of(chain[2], 9) == [2, 1]
    # each step is taken once for all of them; otherwise these would be billions
    assert all(names.fields_of(each, 9) == [] for each in bare.values())
    assert names.fields_of(circle[200_000], 9) == [7]
    assert names.fields_of(circle[200_001], 9) == [7]


def test_fields_of_superclasses_statics_arrays_and_references(tmp_path: Path) -> None:
    types = [
        kind(1, "app.Base", fields=[1]),
        kind(2, "app.Leaf", superclass=1, fields=[2, 3], size=24),
        kind(3, "app.Leaf[]"),
        kind(4, "java.lang.Class<app.Leaf>", location=1),
        kind(5, "java.lang.ref.WeakReference", superclass=6) | {"kind": WEAK},
        kind(6, "java.lang.ref.Reference", fields=[4]),
        # one that is its own superclass, as no class is
        kind(7, "app.Loop", superclass=7, fields=[1]),
    ]
    objects = [
        {"id": 1, "type": 2, "targets": [2, 0, 3], "heap": 1},
        {"id": 2, "type": 3, "targets": [0, 1], "size": 40},
        {"id": 3, "type": 4, "targets": [1, 6, 9], "fields": [5, 6, 7], "size": 100, "heap": 2},
        {"id": 4, "type": 5, "targets": [1], "size": 16, "runtime": [2], "heap": 1},
        {"id": 5, "type": 7, "targets": [1, 2], "size": 8},
        {"id": 6, "type": 2, "targets": [0, 0, 77]},
    ]
    fields = names(
        "app.Base.next", "app.Leaf[] app.Leaf.all", "app.Leaf.other", "java.lang.ref.Reference.referent",
        "app.Leaf.INSTANCE", "java.lang.Class.superClass", "java.lang.Class.name",
    )  # fmt: skip
    said: dict[str, Any] = {"types": types, "objects": objects, "field_names": fields}
    graph = read(
        tmp_path,
        [processes(init=1, app=7), graph_packet(roots=[{"objects": [5, 88], "kind": 8}], **said)],
    )
    leaf, array, of_class, weak, loop, other = range(1, 7)
    found = dict(enumerate(edges(graph), 1))
    assert found[leaf] == [("field", "all", array), ("field", "next", of_class)]
    assert found[array] == [("element", "1", leaf)]
    assert found[of_class] == [("static field", "INSTANCE", leaf), ("super class", "", other)]
    assert found[weak] == [("weak referent", "referent", leaf), ("runtime reference", "", array)]
    # the second is in no field that the file knows of
    assert found[loop] == [("field", "next", leaf), ("reference", "", array)]
    assert graph.objects.shallow.tolist() == [24, 40, 100, 16, 8, 24]
    assert type_names(graph)[of_class - 1] == "java.lang.Class"
    assert graph.texts[int(graph.objects.name[of_class - 1])] == "app.Leaf"
    # object 77 and the name of object 3 are not in the file; null is no reference
    assert {warning.code: str(warning.message).partition(": ")[2][:2] for warning in graph.warnings} == {
        "dangling": "2.",
        "missing-roots": "1.",
        "circular-classes": "1.",
    }
    # classes of the zygote are never collected
    assert [row[:2] for row in roots(graph)] == [("virtual machine", of_class), ("thread", loop)]
    spaces = [graph.spaces[number] for number in graph.objects.space.tolist()]  # pyrefly: ignore[missing-attribute]
    # each has the heap of the object before, where it says nothing
    assert spaces == ["app", "app", "zygote", "app", "app", "app"]
    assert (graph.settings["process"], graph.settings["process_id"]) == ("app", 7)


def test_native_memory_is_that_of_the_owner(tmp_path: Path) -> None:
    types = [
        kind(1, "sun.misc.Cleaner", superclass=2, fields=[1, 2]) | {"kind": PHANTOM},
        kind(2, "java.lang.ref.Reference", fields=[3]),
        kind(3, "libcore.util.NativeAllocationRegistry$CleanerThunk", fields=[4]),
        kind(4, "libcore.util.NativeAllocationRegistry"),
        kind(5, "android.graphics.Bitmap"),
    ]
    fields = names(
        "sun.misc.Cleaner.next", "sun.misc.Cleaner.thunk", "java.lang.ref.Reference.referent",
        "libcore.util.NativeAllocationRegistry$CleanerThunk.this$0",
    )  # fmt: skip
    objects = [
        {"id": 1, "type": 1, "targets": [0, 2, 5]},
        {"id": 2, "type": 3, "targets": [3]},
        # the lowest bit says who allocated it
        {"id": 3, "type": 4, "native": 4096 + 1},
        # one that has run, and a second one of the same owner
        {"id": 4, "type": 1, "targets": [4, 2, 5]},
        {"id": 5, "type": 5, "size": 48, "width": 30, "height": 20},
        {"id": 6, "type": 1, "targets": [1, 2, 5]},
        {"id": 7, "type": 4, "native": 1 << 60},
        {"id": 8, "type": 3, "targets": [7]},
        {"id": 9, "type": 1, "targets": [1, 8, 5]},
    ]
    graph = read(tmp_path, [graph_packet(types=types, objects=objects, field_names=fields)])
    assert graph.natives.tolist() == [(4, 8192)]
    assert graph.texts[int(graph.objects.name[4])] == dimensions(30, 20)
    assert [warning.code for warning in graph.warnings] == ["impossible-natives"]


def test_names_that_were_shortened_are_those_of_the_app_they_are_of(tmp_path: Path) -> None:
    types = [
        kind(1, "a", location=1, fields=[1]),
        kind(2, "a", location=2),
        kind(3, "a[]", location=1),
        kind(4, "java.lang.Class<a>", location=2),
        kind(5, "a"),
    ]
    objects = [{"id": number, "type": number} for number in range(1, 6)]
    objects[0]["targets"] = [2]  # pyrefly: ignore[bad-assignment]
    said: dict[str, Any] = {
        "types": types,
        "objects": objects,
        "field_names": names("int a.b"),
        "location_names": names("/data/app/~~Xy==/com.one-Z/base.apk", "/data/app/com.two-1/base.apk"),
    }
    member = {"short": ["b"], "name": ["Other.inherited"]}
    packets = [
        graph_packet(**said),
        {
            "mapping": [
                {
                    "package": ["com.one"],
                    "classes": [{"short": ["a"], "name": ["one.A"], "members": [member]}],
                }
            ]
        },
        {"mapping": [{"package": ["com.two"], "classes": [{"short": ["a"], "name": ["two.B"]}]}]},
    ]
    graph = read(tmp_path, packets)
    assert type_names(graph) == ["one.A", "two.B", "one.A[]", "java.lang.Class", "one.A"]
    assert graph.texts[int(graph.objects.name[3])] == "two.B"
    assert edges(graph)[0] == [("field", "inherited", 2)]
    # a build's mapping beside the trace
    (tmp_path / "mapping.txt").write_text("com.Real -> a:\n    int count -> b\n")
    plain = read(tmp_path, packets[:1])
    assert type_names(plain)[0] == "com.Real"
    assert edges(plain)[0] == [("field", "count", 2)]
    assert [warning.code for warning in plain.warnings] == ["mapping-file"]


def test_several_processes_and_times(tmp_path: Path) -> None:
    def part(size: int, index: int = 0, *, more: bool = False, **of: int) -> dict[str, Any]:
        one = {"id": 8, "type": 1, "size": size}
        return graph_packet(objects=[one], types=[kind(1, "T")], index=index, more=more, **of)

    packets = [
        processes(one=1, two=2),
        part(10, pid=1, sequence=5, more=True),
        part(20, pid=2, sequence=6),
        compressed([part(11, 1, pid=1, sequence=5)]),
        # one that has no end, and lacks its beginning
        part(30, 4, pid=2, sequence=6, more=True),
    ]
    sizes = {}
    for dump in range(3):
        graph = read(tmp_path, packets, dump=dump)
        sizes[dump] = (graph.settings["process"], graph.objects.shallow.tolist())
        codes = [warning.code for warning in graph.warnings]
        assert codes == ["several-dumps"] + (
            [] if dump == 0 else ["duplicate-ids"] if dump == 1 else ["cut-file"]
        )
        assert graph.facts.truncated == (dump == 2)
    assert sizes == {0: ("two", [20]), 1: ("one", [10, 11]), 2: ("two", [30])}
    assert read(tmp_path, packets).objects.shallow.tolist() == [30]
    with pytest.raises(BadRequestError, match="3 dumps, numbered from 1: there is no dump 4"):
        read(tmp_path, packets, dump=3)


def failure(pid: int = 7, *frames: tuple[str, str, int], **said: Any) -> dict[str, Any]:
    """A packet about an allocation that failed."""
    rows = [{"method": [method], "file": [file], "line": line} for method, file, line in frames]
    stack = {"stack": [{"frames": rows}]} if frames else {}
    return {"timestamp": 9, "failure": [{"pid": pid, **stack, **said}]}


HEAP = graph_packet(objects=[{"id": 8, "type": 1, "size": 5000}], types=[kind(1, "T")])
FRAMES = (
    ("byte[] java.util.Arrays.copyOf(byte[], int)", "Arrays.java", 3161),
    ("void com.example.shop.Cache$Page.load(java.lang.String)", "Cache.java", 41),
    ("com.example.shop.Main.run", "", 0),
)


def test_the_allocation_that_failed(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    """The last one that its process says before its heap graph."""
    message = "Failed to allocate a 1048592 byte allocation\nwith 2000 free bytes"
    packets = [
        failure(allocation=16, message=["another one"]),
        compressed([failure(7, *FRAMES, allocation=1 << 20, free=2000, until_limit=3 << 10, message=[message])]),
        failure(8, allocation=17), failure(9), HEAP, failure(allocation=18),
    ]  # fmt: skip
    graph = read(tmp_path, packets)
    assert graph.settings["failed_allocation_bytes"] == 1 << 20
    assert [(each.function, each.file, each.line) for each in graph.frames.frames] == [
        ("java.util.Arrays.copyOf", "java/util/Arrays.java", 3161),
        ("com.example.shop.Cache$Page.load", "com/example/shop/Cache.java", 41),
        ("com.example.shop.Main.run", "", 0),
    ]
    snapshot = opened(tmp_path / "made.perfetto-trace")
    (found,) = findings(snapshot, None, 10).findings[:1]
    assert found.text == (
        "An allocation of 1 MiB failed in Cache$Page.load, Cache.java:41; 1.95 KiB of the heap was free; 3 KiB was "
        "left until the heap's limit. The error: Failed to allocate a 1048592 byte allocation with 2000 free bytes"
    )
    assert (found.line and found.line.file, found.line and found.line.line) == (
        "com/example/shop/Cache.java",
        41,
    )
    assert headline(snapshot, None).text.startswith("An allocation of 1 MiB failed in Cache$Page.load")
    (thread,) = threads(snapshot).rows
    assert (thread.out_of_memory, thread.frames, thread.retained_bytes) == (True, 3, 0)
    assert thread.failed_at is not None
    assert thread.failed_at.line == 41


def test_a_failed_allocation_without_a_stack(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    read(tmp_path, [HEAP, failure(allocation=18)])
    (found,) = findings(opened(tmp_path / "made.perfetto-trace"), None, 1).findings
    assert (found.text, found.line) == ("An allocation of 18 B failed.", None)


def test_packets_about_processes_that_did_not_fail(tmp_path: Path) -> None:
    for packets in ([failure(), HEAP], [failure(8, *FRAMES, allocation=5), HEAP]):
        graph = read(tmp_path, packets)
        assert not len(graph.threads.rows)
        assert "failed_allocation_bytes" not in graph.settings


def test_damaged_failures(tmp_path: Path) -> None:
    deep = failure(7, *[("a.B.c", "B.java", 1 << 40)] * 9_000, allocation=1 << 60, message=["x" * 100_000])
    graph = read(tmp_path, [deep, HEAP])
    assert "failed_allocation_bytes" not in graph.settings
    assert len(graph.threads.frames) < 9_000
    assert len(str(graph.settings["out_of_memory_message"])) <= 1_000
    rng, whole = random.Random(4), trace([failure(7, *FRAMES, allocation=1 << 20, free=1), HEAP])
    assert "" in {outcome(tmp_path / "damaged.pftrace", damaged(whole, rng)) for _ in range(tries(300))}


def test_traces_without_a_heap_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotASnapshotError, match=r"android\.java_hprof") as none:
        read(tmp_path, [processes(app=1)])
    assert "java_heap_dump" in str(none.value.problem().advice)
    with pytest.raises(NotASnapshotError, match="native memory") as native:
        read(tmp_path, [processes(app=1), {"timestamp": 1, "profile": [{}]}])
    assert "heap_profile" in str(native.value.problem().advice)
    with pytest.raises(DamagedSnapshotError, match="no objects"):
        read(tmp_path, [graph_packet()])


@pytest.mark.slow
def test_damage_is_an_error_or_has_a_warning(tmp_path: Path) -> None:
    rng = random.Random(1)
    packets = [processes(app=7), *packets_of(random_graph(3), 4), compressed(packets_of(random_graph(5), 6))]
    whole = trace(packets)
    path = tmp_path / "damaged.pftrace"
    seen = {bool(outcome(path, whole[:cut])) for cut in range(1, len(whole))}
    seen |= {bool(outcome(path, damaged(whole, rng))) for _ in range(tries(400))}
    assert seen == {True, False}
    # an object with other fields than references, and one that is cut, are left out with a warning
    one = {"id": 1, "type": 1, "targets": [2, 2], "fields": [1]}
    graph = read(
        tmp_path, [graph_packet(objects=[one, {"id": 2, "type": 1, "size": 4}], types=[kind(1, "T")])]
    )
    assert graph.objects.ids.tolist() == [2]
    assert [warning.code for warning in graph.warnings] == ["broken-packets"]


@pytest.mark.slow
def test_packets_that_become_huge_are_refused(tmp_path: Path) -> None:
    bomb = compressed([{"profile": [{}], "timestamp": 1}, *([processes(app=1)] * 200_000)])
    with pytest.raises(DamagedSnapshotError, match="compressed packets"):
        read(tmp_path, [bomb])


def test_a_finding_of_what_holds_most(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    sessions = [{"id": 100 + number, "type": 2, "size": 5000} for number in range(200)]
    objects = [
        {"id": 1, "type": 4, "targets": [2], "fields": [1], "size": 200},
        {"id": 2, "type": 1, "targets": [3], "size": 24},
        {"id": 3, "type": 3, "targets": [each["id"] for each in sessions], "size": 900},
        *sessions,
        # what every app has from its start, and no finding is about
        *({"id": 1000 + number, "type": 3, "size": 9000, "heap": 2} for number in range(500)),
    ]
    types = [
        kind(1, "app.Cache", fields=[2]), kind(2, "app.Session"), kind(3, "app.Session[]"),
        kind(4, "java.lang.Class<app.Main>"),
    ]  # fmt: skip
    path = tmp_path / "app.perfetto-trace"
    path.write_bytes(
        trace([
            graph_packet(
                objects=objects, types=types, field_names=names("app.Main.cache", "app.Cache.all"),
                roots=[{"objects": [1], "kind": 5}],
            )
        ])
    )  # fmt: skip
    snapshot = opened(path)
    said = headline(snapshot, None).text
    assert "500" not in said
    assert "200 app.Session" in said or "200 Session" in said
    assert "app.Main.cache" in said or "Main.cache" in said
    assert int(snapshot.objects.retained[0]) == 200 + 24 + 900 + 200 * 5000


def test_traces_are_told_from_profiles_which_are_protocol_buffers_too(tmp_path: Path) -> None:
    for packets in ([processes(app=1)], [graph_packet()], [compressed([processes(app=1)])]):
        with plain_source(tmp_path / "x", [trace(packets)], tmp_path) as source:
            assert recognised(source) == "perfetto"
    # a text may begin with the same byte
    assert not perfetto.sniff(b"\nHello Python\n" * 400)
    assert not perfetto.sniff(b"\n")
    rng = random.Random(8)
    letters = [b"\n" + bytes(rng.randrange(32, 127) for _ in range(600)) for _ in range(2_000)]
    assert sum(map(perfetto.sniff, letters)) < 3
    profile = Builder(("space", "bytes"))
    with plain_source(tmp_path / "x", [encode(profile.message)], tmp_path) as source:
        assert recognised(source) == "pprof"


FLAMEGRAPHS: dict[str, tuple[dict[str, Any], list[tuple[str, str, int, int, int, int]]]] = {
    # heap_graph_for_aggregation.textproto: of a class below itself Perfetto makes one node
    "aggregation": (
        {
            "roots": [{"objects": [1, 4], "kind": 2}],
            "types": [kind(1, "A", size=100), kind(2, "B", size=1000), kind(3, "java.lang.String")],
            "objects": [
                {"id": 1, "type": 1, "targets": [2, 3]}, {"id": 2, "type": 1, "targets": [5]},
                {"id": 3, "type": 2}, {"id": 4, "type": 3, "size": 666}, {"id": 5, "type": 3, "size": 10000},
            ],
        },
        [
            ("", "A", 2, 200, 4, 11200), ("A", "java.lang.String", 1, 10000, 1, 10000),
            ("A", "B", 1, 1000, 1, 1000), ("", "java.lang.String", 1, 666, 1, 666),
        ],
    ),
    # heap_graph_branching.textproto; of its two branches heap_graph_flamegraph_focused.out has the left one
    "branching": (
        {
            "roots": [{"objects": [1], "kind": 5}],
            "types": [
                kind(number, name)
                for number, name in enumerate(
                    ("RootNode", "LeftChild0", "LeftChild1", "RightChild0", "RightChild1"), 1
                )
            ],
            "objects": [
                {"id": 1, "type": 1, "size": 100, "targets": [2, 4]},
                {"id": 2, "type": 2, "size": 200, "targets": [3]}, {"id": 3, "type": 3, "size": 400},
                {"id": 4, "type": 4, "size": 800, "targets": [5]}, {"id": 5, "type": 5, "size": 1600},
            ],
        },
        [("RootNode", "LeftChild0", 1, 200, 2, 600), ("LeftChild0", "LeftChild1", 1, 400, 1, 400)],
    ),
}  # fmt: skip
"""Graphs of Perfetto's own tests, and rows of the flame graphs that it expects of them: parent, name, objects and bytes
of the node, and of it with everything below it.
"""


@pytest.mark.parametrize("name", FLAMEGRAPHS)
def test_shortest_paths_are_perfettos_flame_graph(
    name: str, tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    graph, expected = FLAMEGRAPHS[name]
    path = tmp_path / "flame.perfetto-trace"
    objects = [{**each, "fields": [1] * len(each.get("targets", []))} for each in graph["objects"]]
    packet: dict[str, Any] = {**graph, "objects": objects}
    path.write_bytes(trace([graph_packet(**packet, field_names=names("Node.next"))]))
    tree = grouped_tree(opened(path), Form("type", "paths"))
    called = ["", *(tree.name(node).text for node in range(1, len(tree.key)))]
    parents = tree.parent.tolist()
    # the node that a node is a part of, if those of a class below itself are one
    part_of = list(range(len(called)))
    for node in range(1, len(called)):
        if called[parents[node]] == called[node]:
            part_of[node] = part_of[parents[node]]
    below = tree.objects.astype(int).tolist()
    for node in range(len(called) - 1, 0, -1):
        below[parents[node]] += below[node]
    found = []
    for node in sorted(set(part_of) - {0}):
        parts = [each for each, whole in enumerate(part_of) if whole == node]
        own = [int(column[parts].sum()) for column in (tree.objects, tree.shallow)]
        found.append((called[parents[node]], called[node], *own, below[node], int(tree.total[node])))
    assert set(expected) <= set(found)
    assert len(found) == {"aggregation": 4, "branching": 5}[name]
