"""Heap dumps of Java and Android against an independent reader, and generated files for odd cases."""

import gzip
import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from tests.python.conftest import DATA
from tests.python.graph_reading import damaged, edges, load, outcome, roots, type_names
from tests.python.hprof_files import BOOLEAN, BYTE, CHAR, DOUBLE, INT, LONG, OBJECT, Dump, fill, small
from tests.python.recordings import JAVA as SESSIONS
from tests.python.recordings import RAN_OUT
from tests.python.replays import hprof as replay
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import BadRequestError
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.ingest import ingest
from memlens.kernels.base.addresses import Addresses
from memlens.model.graph import NONE, VALUE_KINDS, Graph
from memlens.store.files.cache import Cache
from memlens.store.manifest import read_manifest
from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.one_object import describe
from memlens.views.heap.retained.by_objects import retained_by

REAL = DATA / "heap" / "hprof"
FILES = [
    "mat_HeapDumpSample.hprof.zst", "mat_oracle_jdk7_21_hprofagent.hprof.zst", "mat_oracle_jdk8_05_x64.hprof.zst",
    "mat_sun_jdk6_30_x64_compressedOops.hprof.zst", "mat_sun_jdk6_32bit.hprof.zst", "mat_openjdk_jdk11_04_x64.hprof.gz",
    "javac_60files.hprof.zst",
]  # fmt: skip
DUMPS = [SESSIONS, RAN_OUT, *(REAL / name for name in FILES if REAL.is_dir())]


def made(tmp_path: Path, data: bytes, name: str = "made.hprof") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def check(graph: Graph, heap: replay.Heap) -> None:
    """Compare every object of a graph with the independent reader's."""
    objects = heap.dump.objects
    assert graph.objects.ids.tolist() == [each.id for each in objects]
    assert type_names(graph) == [heap.type_of(each) for each in objects]
    assert graph.objects.shallow.tolist() == [heap.shallow(each) for each in objects]
    found = edges(graph)
    held = 0
    for each, mine in zip(objects, found, strict=True):
        held += sum(edge[0] == "local variable" for edge in mine)
        assert [edge for edge in mine if edge[0] != "local variable"] == heap.edges(each)
    tags = {tag for tag, *_ in heap.dump.roots}
    assert (held > 0) == bool(tags & {2, 3, 4, 6} and 8 in tags)
    for each, number in zip(objects, graph.objects.name.tolist(), strict=True):
        text = heap.text(each) if heap.type_of(each) == "java.lang.String" else None
        if text is not None and len(text) <= 1000:
            # half of a pair of surrogates isn't a character
            plain = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            assert graph.texts[number] == plain


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name)
def test_real_dumps_agree_with_the_independent_reader(path: Path) -> None:
    file = replay.File(path)
    for number in range(len(file.dumps)):
        check(load(path, number), replay.Heap(file, number))
    assert len(load(path).objects) == len(file.dumps[-1].objects)


@pytest.mark.parametrize(
    "path", [path for path in DUMPS if "jdk11" in path.name or path == RAN_OUT], ids=lambda path: path.name
)
def test_roots_of_a_real_dump(path: Path) -> None:
    """As in MAT: a thread holds what is on its stack, and the frame has the line."""
    graph = load(path)
    found = roots(graph)
    kinds = {"JNI global", "local variable", "system class", "thread"}
    assert {kind for kind, *_ in found} == kinds | ({"JNI local"} if path != RAN_OUT else set())
    threads = {detail: number for kind, number, detail, _ in found if kind == "thread"}
    assert {"main", "Reference Handler", "Finalizer", "Signal Dispatcher"} <= set(threads)
    in_main = {
        place for kind, _, detail, place in found if kind == "local variable" and detail == "main" and place
    }
    assert any(place.endswith(".java:148") or place.split(":")[1] != "0" for place in in_main)
    held = {edge[2] for edge in edges(graph)[graph.objects.ids.tolist().index(threads["main"])]}
    assert {
        number for kind, number, detail, _ in found if detail == "main" and kind == "local variable"
    } <= held


def by_the_old_agent() -> bytes:
    """Two dumps in one file, of objects whose allocation was traced, as Java's agent wrote them until Java 8."""
    dump = Dump("1.0.1")
    for _ in range(2):
        base = dump.klass(0x100, "java/lang/Object")
        for line in range(1, 201):
            names = (dump.name(each) for each in ("make", "()V", "Shop.java"))
            dump.record(0x04, dump.pack("PPPPIi", line, *names, 1, line))
            dump.record(0x05, dump.pack("IIIP", line, 1, 1, line))
            dump.add(0x01, "PP", dump.instance(0x1000 + 16 * line, base, stack=line), 1)
        data = dump.end()
    return data


@pytest.mark.parametrize(
    "name", ["made", *(["mat_oracle_jdk7_21_hprofagent.hprof.zst"] if REAL.is_dir() else [])]
)
def test_stacks_that_allocated_objects(name: str, tmp_path: Path) -> None:
    """The old HPROF agent records them, and writes two dumps into one file."""
    path = REAL / name
    if name == "made":
        path = tmp_path / "agent.hprof"
        path.write_bytes(by_the_old_agent())
    graph = load(path)
    assert graph.objects.stack is not None
    assert [warning.code for warning in graph.warnings if warning.code == "several-dumps"]
    stacks = graph.frames
    lengths = np.diff(stacks.starts.astype(np.int64))[graph.objects.stack]
    assert int((lengths > 0).sum()) > 100
    with pytest.raises(BadRequestError, match=r"2 dumps, numbered from 1: there is no dump 3"):
        load(path, 2)


@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("version", ["1.0.1", "1.0.2", "1.0.3"])
def test_generated_dumps_agree_with_the_independent_reader(
    tmp_path: Path, version: str, id_bytes: int
) -> None:
    path = made(tmp_path, small(version, id_bytes).end())
    graph = load(path)
    check(graph, replay.Heap(replay.File(path)))
    assert graph.facts.id_bytes == id_bytes
    assert graph.facts.sizes_inferred == (version != "1.0.3")
    assert not graph.facts.truncated


def test_the_contents_of_a_generated_dump(tmp_path: Path) -> None:
    graph = load(made(tmp_path, small().end()))
    texts = [graph.texts[number] for number in graph.objects.name.tolist()]
    ids = graph.objects.ids.tolist()
    assert texts[ids.index(0x10_1000)] == "café"
    assert texts[ids.index(0x10_1040)] == "日本 😀"
    assert texts[ids.index(0x10_0100)] == "com.example.Cache$Entry"
    assert graph.settings["reference_bytes"] == 4
    assert roots(graph) == [
        ("system class", 0x10_0000, "", ""),
        ("thread", 0x10_1100, "日本 😀", ""),
        ("local variable", 0x10_1140, "日本 😀", "com/example/Cache.java:34"),
        ("JNI global", 0x10_10B8, "", ""),
        ("local variable of an unknown thread", 0x10_1440, "", ""),
        ("local variable", 0x10_1480, "日本 😀", ""),
    ]
    assert [graph.root_kinds[kind] for kind in graph.held_kinds][1] == "local variable"
    held = ("local variable", "com.example.Cache$Entry.run (Cache.java:34)", 0x10_1140)
    assert held in edges(graph)[ids.index(0x10_1100)]
    values = graph.values
    assert values is not None
    start, end = values.start[ids.index(0x10_1140)], values.start[ids.index(0x10_1140) + 1]
    found = {
        graph.texts[int(values.name[row])]: (VALUE_KINDS[int(values.kind[row])], int(values.bits[row]))
        for row in range(int(start), int(end))
    }
    assert found == {
        "count": ("long", 2**64 - 5),
        "ratio": ("double", int(np.float64(0.25).view(np.uint64))),
        "on": ("boolean", 1),
        "half": ("float", int(np.float32(0.5).view(np.uint32))),
        "small": ("short", 2**64 - 3),
    }
    assert graph.types.module is not None
    modules = {
        graph.texts[name]: graph.texts[module]
        for name, module in zip(graph.types.name, graph.types.module, strict=True)
    }
    assert modules["com.example.Cache$Entry"] == "com.example.Loader"
    assert modules["java.lang.String"] == ""
    places = {number: graph.frames.frames[frame] for number, frame in graph.places.tolist()}
    entry = places[ids.index(0x10_0100)]
    assert (entry.file, entry.line, entry.function) == (
        "com/example/Cache.java",
        1,
        "com.example.Cache$Entry",
    )
    assert [warning.code for warning in graph.warnings] == ["inferred-sizes", "dangling"]


def test_a_thread_retains_what_its_stack_holds(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    path = made(tmp_path, small().end())
    numbers = {address: number for number, address in enumerate(load(path).objects.ids.tolist())}
    snapshot = opened(path)
    objects = snapshot.objects
    thread, held, other = (numbers[address] for address in (0x10_1100, 0x10_1480, 0x10_1440))
    assert int(objects.dominator[held]) == thread
    assert int(objects.distance[held]) == 1
    # one whose thread isn't in the file is a root
    assert (int(objects.dominator[other]), int(objects.distance[other])) == (NONE, 0)
    both = int(objects.shallow[thread] + objects.shallow[held])
    assert retained_by(snapshot, [thread]).retained_bytes == int(objects.retained[thread]) == both
    # neither the weak reference nor the static field of a class that nothing else holds retains its target
    assert int(objects.distance[numbers[0x10_10B8]]) == 0


@pytest.mark.parametrize("version", ["1.0.2", "1.0.3"])
def test_elements_of_arrays_of_numbers(
    version: str, tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    """The first ones; but characters of strings are the string's."""
    dump = Dump(version, 4)
    for place, name in enumerate(
        ["java.lang.Object", "int[]", "long[]", "double[]", "char[]", "boolean[]", "byte[]"]
    ):
        dump.klass(0x10 + 0x10 * place, name, 0x10 if place else 0)
    dump.klass(0x100, "java.lang.String", 0x10, [("value", OBJECT)], instance_bytes=12)
    arrays = [
        (INT, ">20i", range(-3, 17)), (LONG, ">2q", [-(2**63), 2**62]), (DOUBLE, ">2d", [0.5, -1e300]),
        (CHAR, ">3H", [0x41, 0xD83D, 0x20AC]), (BOOLEAN, ">2B", [1, 0]), (BYTE, ">2b", [-1, 7]), (INT, ">0i", []),
    ]  # fmt: skip
    for place, (kind, form, elements) in enumerate(arrays):
        dump.numbers(0x1000 + 0x100 * place, kind, struct.pack(form, *elements))
    dump.numbers(0x2000, CHAR, "text".encode("utf-16-be"))
    dump.instance(0x2100, 0x100, "P", 0x2000)
    dump.add(0xC3, "PIIB", 0x2200, 0, 1000, INT)
    snapshot = opened(made(tmp_path, dump.end()))
    shown = [
        [(field.name, field.kind, field.value) for field in describe(snapshot, number).fields]
        for number in range(8, 18)
    ]
    assert shown[0] == [("length", "int", "20"), *((f"[{n}]", "int", str(n - 3)) for n in range(8))]
    assert shown[1] == [("length", "int", "2"), ("[0]", "long", str(-(2**63))), ("[1]", "long", str(2**62))]
    assert shown[2] == [("length", "int", "2"), ("[0]", "double", "0.5"), ("[1]", "double", "-1e+300")]
    assert [value for *_, value in shown[3]] == ["3", "A", "\ufffd", "€"]
    assert [value for *_, value in shown[4]] == ["2", "true", "false"]
    assert [value for *_, value in shown[5]] == ["2", "-1", "7"]
    # none, those of a string, the string, and an array without its elements
    assert shown[6:] == [[], [], [], []]


def test_the_chosen_dump_of_a_file_is_remembered(tmp_path: Path, cache: Cache) -> None:
    """Until another one is chosen: the archive of a file is replaced by that of its other dump."""
    dump = small()
    dump.record(0x2C, b"")
    fill(dump, 0x1000_0000)
    path = made(tmp_path, dump.end())
    for chosen, number in ((0, 1), (None, 2), (0, 1)):
        archive = ingest(path, cache, lambda *_: None, dump=chosen)
        assert read_manifest(archive).settings["dump"] == number


def test_compression_does_not_matter(tmp_path: Path) -> None:
    data = small().end()
    plain = load(made(tmp_path, data))
    for name, packed in (("a.hprof.gz", gzip.compress(data)), ("a.zst", zstandard.compress(data))):
        graph = load(made(tmp_path, packed, name))
        assert edges(graph) == edges(plain)
        assert graph.warnings == plain.warnings


def test_heaps_of_android(tmp_path: Path) -> None:
    dump = Dump("1.0.3", 4)
    dump.klass(16, "java.lang.Object", instance_bytes=8)
    dump.klass(32, "java.lang.String", 16, [("value", OBJECT), ("count", INT)], instance_bytes=24)
    for number, heap in ((65, "app"), (90, "zygote"), (73, "image"), (65, "app")):
        dump.add(0xFE, "IP", number, dump.name(heap))
        dump.instance(1024 * number + len(dump.heap) * 8, 16)
    dump.add(0xC3, "PIIB", 0x99990, 0, 1000, BYTE)
    for tag in (0x89, 0x8A, 0x8B, 0x8C, 0x8D, 0x90):
        dump.add(tag, "P", 16)
    dump.add(0x8E, "PII", 32, 1, 1)
    path = made(tmp_path, dump.end())
    graph = load(path)
    check(graph, replay.Heap(replay.File(path)))
    assert graph.objects.space is not None
    assert [graph.spaces[number] for number in graph.objects.space.tolist()] == [
        "other", "other", "app", "zygote", "image", "app", "app",
    ]  # fmt: skip
    # 0x90 marks what no root reaches
    assert [kind for kind, *_ in roots(graph)] == [
        "interned string", "finalizing", "debugger", "reference cleanup", "virtual machine", "JNI monitor",
        "class of the boot loader", "class of the boot loader",
    ]  # fmt: skip
    assert int(graph.objects.shallow[-1]) == 1016


def test_strings_and_heaps_of_android(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """ART writes a string's characters as an array after it: of bytes if all are ASCII."""
    dump = Dump("1.0.3", 4)
    dump.add(0xFE, "IP", 73, dump.name("image"))
    dump.klass(0x10, "java.lang.Object", instance_bytes=8)
    fields = [("count", INT), ("hash", INT), ("value", OBJECT)]
    dump.klass(0x20, "java.lang.String", 0x10, fields, instance_bytes=16)
    dump.add(0xFE, "IP", 65, dump.name("app"))
    texts = {"hello": "ascii", "grüße €": "utf-16-be", "": "ascii"}
    for number, (text, encoding) in enumerate(texts.items()):
        place = 0x1000 + 64 * number
        dump.instance(place, 0x20, "IIP", len(text), 0, place + 16)
        dump.numbers(place + 16, BYTE if encoding == "ascii" else CHAR, text.encode(encoding))
        dump.add(0x89, "P", place)
    path = made(tmp_path, dump.end())
    graph = load(path)
    assert [graph.texts[name] for name in graph.objects.name.tolist()[2::2]] == list(texts)
    cache = ["--cache-dir", str(tmp_path / "cache")]
    assert main(["info", str(path), *cache]) == 0
    assert [line for line in capfd.readouterr().out.splitlines() if line.startswith("heap ")] == [
        "heap app: 120 B in 6 objects",
        "heap image: 0 B in 2 objects",
    ]


def test_several_dumps_in_one_file(tmp_path: Path) -> None:
    dump = small()
    dump.record(0x2C, b"")
    fill(dump, 0x1000_0000)
    path = made(tmp_path, dump.end())
    first, last = load(path, 0), load(path)
    assert int(first.objects.ids[0]) == 0x10_0000
    assert int(last.objects.ids[0]) == 0x1010_0000
    assert [warning.message for warning in last.warnings if warning.code == "several-dumps"] == [
        "The file has 2 dumps; this is number 2. To read another: memlens ingest FILE --dump NUMBER"
    ]
    assert (last.settings["dump"], first.settings["dump"]) == (2, 1)


def test_an_interrupted_dump_of_an_old_virtual_machine(tmp_path: Path) -> None:
    """Its last segment has no length yet."""
    dump = small()
    dump.instance(0x20_0000, 0x10_0120)
    dump.segment(length=0)
    graph = load(made(tmp_path, bytes(dump.out)))
    assert int(graph.objects.ids[-1]) == 0x20_0000
    assert graph.facts.truncated
    assert graph.warnings[0].code == "cut-file"


@pytest.mark.slow
def test_truncated_dumps_have_everything_before_the_end(tmp_path: Path) -> None:
    data = small().end()
    whole = load(made(tmp_path, data))
    counts: set[int] = set()
    for end in range(len(data) - 900, len(data), 900 // tries(900)):
        path = made(tmp_path, data[:end])
        graph = load(path)
        count = len(graph.objects)
        counts.add(count)
        assert graph.objects.ids.tolist() == whole.objects.ids[:count].tolist()
        if count < len(whole.objects):
            assert graph.facts.truncated
            assert graph.warnings[0].code == "cut-file"
    assert counts >= set(range(12, len(whole.objects) + 1))


def test_a_compressed_dump_that_is_cut_off(tmp_path: Path) -> None:
    dump = small()
    draw = random.Random(3)
    for number in range(20_000):
        dump.numbers(0x100_0000 + 64 * number, INT, draw.randbytes(16))
    packed = gzip.compress(dump.end())
    graph = load(made(tmp_path, packed[: len(packed) // 2], "cut.hprof.gz"))
    assert 5_000 < len(graph.objects) < 15_000
    assert graph.warnings[0].code == "cut-file"


def test_damaged_dumps_end_in_sentences(tmp_path: Path) -> None:
    draw = random.Random(15)
    data = small().end()
    outcomes = [outcome(tmp_path / "damaged.hprof", damaged(data, draw)) for _ in range(tries(400))]
    assert tries(20) < sum(each == "" for each in outcomes) < tries(380)


def test_impossible_classes(tmp_path: Path) -> None:
    """Classes that extend themselves or each other, duplicate classes, fields beyond an instance's end."""
    dump = Dump()
    dump.klass(0x100, "A", 0x200, [("a", OBJECT), ("b", INT)])
    dump.klass(0x200, "B", 0x100, [("c", OBJECT)])
    dump.klass(0x300, "C", 0x300, [("d", OBJECT)])
    dump.klass(0x300, "D", 0x100)
    dump.klass(0x400, "E", 0x666)
    dump.instance(0x1000, 0x100, "P", 0x1008)
    dump.instance(0x1008, 0x300, "PP", 0x1000, 0x1000)
    dump.instance(0x1010, 0x777, "P", 0x1000)
    dump.instance(0x1000, 0x200, "PPI", 0x1008, 0x1010, 1)
    dump.objects(0x1018, 0x888, [0x1000, 0])
    dump.add(0x05, "P", 0xDEAD)
    graph = load(made(tmp_path, dump.end()))
    counts = {warning.code for warning in graph.warnings}
    assert counts == {
        "inferred-sizes", "dangling", "duplicate-ids", "short-instances", "unknown-classes", "missing-roots",
        "circular-classes",
    }  # fmt: skip
    names = type_names(graph)
    assert names[-2:] == ["B", "(class that is not in the file)"]
    assert edges(graph)[-1] == [("element", "0", 0x1000)]


def test_other_files_are_refused(tmp_path: Path) -> None:
    for data, error, words in (
        (b"JAVA PROFILE 1.0.2\0\0\0", DamagedSnapshotError, "truncated within its header"),
        (b"JAVA PROFILE 1.0.9\0" + bytes(12), NotASnapshotError, "version 1.0.9"),
        (b"JAVA PROFILE 1.0.2\0\0\0\0\2" + bytes(8), DamagedSnapshotError, "ids have 2 bytes"),
        (b"JAVA PROFILE 1.0.2\0\0\0\0\x08" + bytes(8), NotASnapshotError, "ends after its header"),
        (Dump().end(), NotASnapshotError, "ends before its heap"),
    ):
        with pytest.raises(error, match=words):
            load(made(tmp_path, data))


def test_numbers_of_addresses() -> None:
    """Against a dictionary: close together, far apart, duplicate, of any alignment."""
    draw = np.random.default_rng(1)
    for shift in (0, 3, 4):
        near = 0x7F00_0000_0000 + (draw.integers(0, 1 << 14, 5_000) << shift)
        far = draw.integers(0, 1 << 44, 5_000) << shift
        ids = np.concatenate((near, far, near[:100])).astype(np.uint64)
        asked = np.concatenate((ids, ids + np.uint64(1), np.array([0, 2**64 - 1], np.uint64)))
        out = np.empty(len(asked), np.uint32)
        addresses = Addresses(ids)
        unknown = addresses.numbers(asked, out)
        expected: dict[int, int] = {}
        for number, each in enumerate(ids.tolist()):
            expected.setdefault(each, number)
        assert out.tolist() == [expected.get(each, NONE) for each in asked.tolist()]
        assert unknown == int((out == NONE).sum())
        assert addresses.count == len(expected)
    assert Addresses(np.empty(0, np.uint64)).numbers(np.zeros(1, np.uint64), np.empty(1, np.uint32)) == 1
