"""Values that can't be true are never taken for others: each is an error or a warning that says what it costs."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz import shapes
from tests.fuzz.shapes import heaptrack_deep, pprof_one_stack
from tests.python import perfetto_files
from tests.python.command_line import memlens
from tests.python.conftest import event, frame
from tests.python.heap_files import HeapFile
from tests.python.hprof_files import INT, Dump

from memlens.errors import MemlensError
from memlens.ingest import ingest
from memlens.packs.dotnet.tests.gcdump_files import gcdump, number
from memlens.store.files.cache import Cache
from memlens.store.manifest import read_manifest

PROFILES = Path(__file__).parents[1] / "fixtures" / "profiles"


def info(path: Path, data: bytes) -> Any:
    path.write_bytes(data)
    return json.loads(memlens("info", path, "--json", "--cache-dir", path.parent / "cache").stdout)


def warnings(path: Path, data: bytes) -> dict[str, str]:
    """The messages of a file's warnings, by code."""
    return {each["code"]: each["message"] for each in info(path, data)["warnings"]}


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return memlens("info", path, "--cache-dir", path.parent / "cache", status=1).stderr


@pytest.mark.parametrize("value", [b"1e5", b"0x10", b"12 ", b"1.5"])
def test_massifs_numbers_are_read_to_the_end_of_their_line(tmp_path: Path, value: bytes) -> None:
    data = (PROFILES / "massif.out.ledger").read_bytes()
    at = data.index(b"mem_heap_B=72704")
    wrong = data[:at] + b"mem_heap_B=" + value + data[at + 16 :]
    said = refusal(tmp_path / "massif.out.1", wrong)
    assert "A number is missing or larger than any that massif writes" in said
    assert f"{at + 11:,}" in said


def test_heaptracks_allocations_without_a_possible_size_are_counted_and_named(tmp_path: Path) -> None:
    whole = heaptrack_deep(3)
    wrong = whole.replace(b"a 10 2\n", b"a ffffffffffffffff 2\n")
    assert wrong != whole
    found = info(tmp_path / "heaptrack.one", wrong)
    (warning,) = (each["message"] for each in found["warnings"] if each["code"] == "unknown-sizes")
    assert "Lines with an impossible size of allocations: 1." in warning
    assert "counted with 0 B" in warning
    assert not any(each["code"] == "damaged-lines" for each in found["warnings"])


def test_a_child_beyond_32_bits_is_no_other_object(tmp_path: Path) -> None:
    types = [("[root]", 0, None), ("A.B", 24, "a.dll")]
    right = gcdump(types, [(0, 0, [1, 1]), (1, None, [])])
    child = number(1)
    far = number((1 << 40) + 1)
    # the second child's number has as many bytes less as the object after it has more
    wrong = gcdump(types, [(0, 0, [1, (1 << 40) + 1]), (1, None, [])])
    assert len(wrong) == len(right) + len(far) - len(child)
    found = info(tmp_path / "far.gcdump", wrong)
    assert found["references"] == info(tmp_path / "near.gcdump", right)["references"] - 1
    assert "broken-nodes" in [each["code"] for each in found["warnings"]]


def test_an_event_that_a_trace_has_twice_is_not_called_several_devices(tmp_path: Path) -> None:
    one = event("alloc", 4096, 512, frame("/a/b.py", 1, "f"), time_us=1)
    twice = pickle.dumps({"segments": [], "device_traces": [[one, one, one]]}, 4)
    said = refusal(tmp_path / "twice.pickle", twice)
    assert "A device's trace lists an event more than once" in said
    trace = [one]
    several = pickle.dumps({"segments": [], "device_traces": [trace, trace, trace]}, 4)
    assert "Several devices list the same trace" in refusal(tmp_path / "several.pickle", several)


DHAT = (
    b'{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":true,"tu":"instrs","cmd":"a","pid":4,'
    b'"tg":700,"te":1000,"pps":[{"tb":64,"tbk":2,"tl":500,"mb":32,"mbk":1,"gb":24,"gbk":1,"eb":16,"ebk":1,"rb":9,'
    b'"wb":8,"fs":[1,2]}],"ftbl":["[root]","0x1: f (a.c:3)","0x2: g (b.c:4)"]}'
)
HEAPTRACK = (
    b"v 10250 2\nX p\nI 1000 10\ns main\ns main.c\ns f\ni 1 1 1 2 5 1 2 6\ni 2 0 3\nt 1 0\nt 2 1\na 10 2\n+ 0\nc 5\n"
    b"R 3\n- 0\nc 9\n"
)
JEMALLOC = (
    b"heap_v2/524288\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n@ 0x1000 0x2000\n  t*: 3: 300 [0: 0]\n"
    b"  t0: 3: 300 [0: 0]\n\nMAPPED_LIBRARIES:\n"
)
TCMALLOC = b"heap profile: 2: 200 [3: 300] @ heapprofile\n 2: 200 [3: 300] @ 0x1000\n\nMAPPED_LIBRARIES:\n"
MASSIF = (
    b"desc: --depth=30\ncmd: a\ntime_unit: i\n#-\nsnapshot=0\n#-\ntime=5\nmem_heap_B=0\nmem_heap_extra_B=0\n"
    b"mem_stacks_B=0\nheap_tree=empty\n#-\nsnapshot=1\n#-\ntime=9\nmem_heap_B=72\nmem_heap_extra_B=0\n"
    b"mem_stacks_B=0\nheap_tree=peak\nn1: 72 (heap allocation functions) malloc\n n0: 72 0x1: f (a.c:3)\n"
)
IMPOSSIBLE = [
    ("a.json", DHAT, b'"fs":[1', b'"fs":[9223372036854775808', "'fs' of a program point"),
    ("a.json", DHAT, b'"tb":64', b'"tb":18446744073709551615', "'tb' of a program point"),
    (
        "a.json",
        DHAT,
        b'"tg":700',
        b'"tg":1001',
        "times of the peak and of the end are impossible, and left out: 1001",
    ),
    ("a.json", DHAT, b'"te":1000', b'"te":-1', "times of the peak and of the end are impossible"),
    ("a.json", DHAT, b'"gb":24', b'"gb":65', "than they ever allocated: 1, the first is number 1"),
    ("a.json", DHAT, b"a.c:3", b"a.c:4294967297", "Frames with an impossible line, shown without one: 1."),
    ("a.json", DHAT, b"a.c:3", b"a.c:-3", "Frames with an impossible line"),
    ("massif.out.1", MASSIF, b"time=5", b"time=9223372036854775808", "larger than any that massif writes"),
    ("massif.out.1", MASSIF, b"time=5", b"time=10", "Snapshots with an impossible time: 1."),
    ("massif.out.1", MASSIF, b" n0: 72 ", b" n0: 7e1 ", "larger than any that massif writes"),
    ("massif.out.1", MASSIF, b"a.c:3", b"a.c:0x3", "Frames with an impossible line"),
    ("heaptrack.one", HEAPTRACK, b"i 2 0 3", b"i 2 0 zz", "Invalid lines of the file: 1"),
    ("heaptrack.one", HEAPTRACK, b"1 2 6\n", b"1 2 80000000\n", "the first ends at byte 69 of"),
    ("heaptrack.one", HEAPTRACK, b"t 2 1", b"t 100000002 1", "Invalid lines of the file: 1"),
    ("heaptrack.one", HEAPTRACK, b"I 1000 10", b"I 1000 x", "Invalid lines of the file: 1"),
    ("heaptrack.one", HEAPTRACK, b"a 10 2", b"a  2", "the first invalid line ends at byte"),
    (
        "a.heap",
        JEMALLOC,
        b"]\n  t0: 3: 300 [0: 0]\n\n",
        b"]\n  t0: 2: 300 [0: 0]\n\n",
        "don't add up to their sum: 1",
    ),
    (
        "a.heap",
        JEMALLOC,
        b"t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n\n",
        b"t*: -3: 300 [0: 0]\n\n",
        "negative figures: 1",
    ),
    (
        "a.heap",
        TCMALLOC,
        b"\n 2: 200",
        b"\n 9223372036854775808: 200",
        "A number is too large for a heap profile (at byte 45)",
    ),
]


@pytest.mark.parametrize(("name", "whole", "right", "wrong", "words"), IMPOSSIBLE)
def test_an_impossible_value_of_a_profile_is_named(
    tmp_path: Path, name: str, whole: bytes, right: bytes, wrong: bytes, words: str
) -> None:
    def said(data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        try:
            archive = ingest(tmp_path / name, Cache(tmp_path / "cache"), lambda *_: None, findings=False)
        except MemlensError as error:
            return str(error)
        return " ".join(str(each.message) for each in read_manifest(archive).info.warnings)

    assert whole.count(right) == 1
    assert words not in said(whole)
    assert words in said(whole.replace(right, wrong))


def torch_segment(address: int, blocks: list[tuple[int, int]]) -> dict[str, Any]:
    return {
        "device": 0, "address": address, "total_size": 2048, "stream": 0, "segment_type": "small",
        "blocks": [
            {"address": at, "size": size, "requested_size": size, "state": "active_allocated", "frames": []}
            for at, size in blocks
        ],
    }  # fmt: skip


def test_memory_that_segments_or_blocks_of_pytorch_share_is_named(tmp_path: Path) -> None:
    segments = [
        torch_segment(4096, [(4096, 1024), (5120, 1024)]),
        torch_segment(5120, [(5120, 1024), (6144, 1024)]),
        torch_segment(8192, [(8192, 1024), (9216, 2048)]),
    ]
    said = warnings(tmp_path / "shared.pickle", pickle.dumps({"segments": segments, "device_traces": []}, 4))
    assert "Segments of device 0 that overlap with another: 1." in said["overlapping-segments"]
    assert "Blocks of device 0 that overlap with another: 1." in said["overlapping-blocks"]
    assert "not within their segment: 1." in said["blocks-outside"]
    apart = pickle.dumps({"segments": segments[::2][:1], "device_traces": []}, 4)
    assert not {"overlapping-segments", "overlapping-blocks", "blocks-outside"} & set(
        warnings(tmp_path / "apart.pickle", apart)
    )


def test_a_segment_that_is_listed_many_times_counts_once(tmp_path: Path) -> None:
    segment = torch_segment(4096, [(4096 + 512 * number, 512) for number in range(1_000)])
    data = pickle.dumps({"segments": [segment] * 100_000, "device_traces": []}, 4)
    said = warnings(tmp_path / "repeated.pickle", data)
    assert said["odd-values"] == "99,999 segments are listed again: counted once."
    assert "overlapping-segments" not in said


def test_a_merged_block_is_where_its_neighbours_leave_room_and_not_where_its_history_was(
    tmp_path: Path,
) -> None:
    blocks = [
        {"size": 1024, "state": "active_allocated", "history": [{"addr": 4096, "real_size": 1000}]},
        {"size": 1024, "state": "inactive", "history": [{"addr": 5632, "real_size": 100}]},
    ]
    segment = torch_segment(4096, []) | {"blocks": blocks}
    path = tmp_path / "merged.pickle"
    assert "blocks-outside" not in warnings(
        path, pickle.dumps({"segments": [segment], "device_traces": []}, 4)
    )
    rows = memlens(
        "sql", path, "SELECT address FROM blocks ORDER BY 1", "--json", "--cache-dir", tmp_path / "cache"
    )
    assert [row["address"] for row in json.loads(rows.stdout)] == ["0x1000", "0x1400"]


def test_times_that_no_clock_has_are_not_called_those_of_an_old_pytorch(tmp_path: Path) -> None:
    trace = [event("alloc", 4096, 512, frame("/a/b.py", 1, "f"), time_us=(1 << 63) + 5)]
    said = warnings(tmp_path / "late.pickle", pickle.dumps({"segments": [], "device_traces": [trace]}, 4))
    assert "because those in the file are impossible" in said["no-times"]
    assert "2.2" not in said["no-times"]
    trace = [event("alloc", 4096, 512, frame("/a/b.py", 1, "f"))]
    said = warnings(tmp_path / "old.pickle", pickle.dumps({"segments": [], "device_traces": [trace]}, 4))
    assert "before 2.2" in said["no-times"]


def test_roots_without_an_object_and_circles_of_superclasses_are_counted(tmp_path: Path) -> None:
    dump = Dump()
    for number_, above in ((0x1000, 0x1010), (0x1010, 0x1000), (0x1020, 0x1020), (0x1030, 0)):
        dump.klass(number_, f"C{number_:x}", above, [("f", INT)])
    dump.instance(0x2000, 0x1030, "I", 1)
    for root in (0x2000, 0x6660, 0x6670, 0):
        dump.add(0xFF, "P", root)
    said = warnings(tmp_path / "a.hprof", dump.end())
    assert "Roots left out because their objects are not in the file: 2." in said["missing-roots"]
    assert "Cycles of superclasses: 2." in said["circular-classes"]

    graph = perfetto_files.graph_packet(
        objects=[{"id": 8, "type": 1, "size": 8}],
        types=[
            {"id": each, "name": [f"C{each}"], "superclass": above}
            for each, above in ((1, 2), (2, 1), (3, 0))
        ],
        roots=[{"objects": [8, 16], "kind": 1}],
    )
    said = warnings(tmp_path / "a.pftrace", perfetto_files.trace([graph]))
    assert "not in the file: 1." in said["missing-roots"]
    assert "Cycles of superclasses: 1." in said["circular-classes"]


@pytest.mark.parametrize("value", ["40.5", "null", "-40", '"40"'])
def test_what_v8_never_writes_is_named_and_not_called_invalid_json(tmp_path: Path, value: str) -> None:
    heap = HeapFile()
    heap.edge(heap.node("synthetic", ""), "property", "p", heap.node("object", "A", 40))
    whole = heap.data()
    wrong = whole.replace(b",40,", f",{value},".encode(), 1)
    said = refusal(tmp_path / "a.heapsnapshot", wrong)
    assert f"The file is JSON, but {value} is not what a heap snapshot of V8 has here" in said
    assert f"at byte {wrong.index(value.encode()):,}" in said


RUBY = (
    '{"type":"ROOT", "root":"vm", "references":["0x8", "0x10"]}\n'
    '{"address":"0x8", "type":"CLASS", "class":"0x8", "name":"N", "memsize":40}\n'
    '{"address":"0x10", "type":"OBJECT", "class":"0x8", "memsize":SIZE, "references":["0x8"]}\n'
)


@pytest.mark.parametrize("size", ["-5", "4.5", "null", "[5]", "99999999999999999999", '"7"', "true"])
def test_an_object_of_ruby_without_a_possible_size_stays_and_is_counted(tmp_path: Path, size: str) -> None:
    found = info(tmp_path / "heap.json", RUBY.replace("SIZE", size).encode())
    said = {each["code"]: each["message"] for each in found["warnings"]}
    assert "Objects with an impossible size: 1." in said["unknown-sizes"]
    assert found["objects"] == 2
    assert "unknown-sizes" not in warnings(tmp_path / "right.json", RUBY.replace("SIZE", "40").encode())


@pytest.mark.parametrize("key", ["line", "generation", "bytesize", "length"])
@pytest.mark.parametrize("value", ["-5", '"7"', "true", "99999999999999999999"])
def test_an_impossible_number_of_ruby_is_counted(tmp_path: Path, key: str, value: str) -> None:
    whole = RUBY.replace("SIZE", f'40, "{key}":5')
    assert "unknown-numbers" not in warnings(tmp_path / "right.json", whole.encode())
    said = warnings(tmp_path / "heap.json", whole.replace(f'"{key}":5', f'"{key}":{value}').encode())
    assert "other numbers of objects, left out: 1." in said["unknown-numbers"]


@pytest.mark.parametrize(
    "field", [{"width": (1 << 32) + 40}, {"height": (1 << 40) + 30}, {"native": (1 << 64) - 1}]
)
def test_a_number_of_perfetto_is_never_taken_modulo(tmp_path: Path, field: dict[str, int]) -> None:
    graph = perfetto_files.graph_packet(
        objects=[{"id": 8, "type": 1, "size": 8, "width": 40, "height": 30, **field}],
        types=[{"id": 1, "name": ["A"]}],
        roots=[{"objects": [8], "kind": 1}],
    )
    said = warnings(tmp_path / "a.pftrace", perfetto_files.trace([graph]))
    assert "other numbers of objects, left out: 1." in said["unknown-numbers"]


def test_what_v8_gives_once_is_missed_and_repeated_with_a_count(tmp_path: Path) -> None:
    heap = HeapFile(functions=[("f", "a.js", 3)], trace_tree=[1, 0, 0, 0, [2, 0, 1, 40, []]])
    root = heap.node("synthetic", "")
    for each in (2, 77, 78):
        heap.edge(root, "property", f"p{each}", heap.node("object", "A", 40, trace_node_id=each, id=5))
    said = warnings(tmp_path / "a.heapsnapshot", heap.data())
    assert "Objects whose place in the allocation trace is not in the file: 2." in said["lost-stacks"]
    assert "Objects with the id of another: 2." in said["equal-ids"]

    place = {"functionName": "f", "url": "/a.js", "lineNumber": 3, "columnNumber": 1}
    node = {"callFrame": place, "selfSize": 100, "id": 2, "children": []}
    samples = [{"size": 1, "nodeId": each, "ordinal": each} for each in (2, 88, 99)]
    head = {**node, "selfSize": 0, "id": 1, "children": [node, node]}
    said = warnings(tmp_path / "a.heapprofile", json.dumps({"head": head, "samples": samples}).encode())
    assert "Samples left out because their stacks are not in the file: 2." in said["lost-samples"]
    assert "Stacks with the number of another: 1." in said["equal-ids"]


def test_a_line_beyond_all_files_is_not_taken_for_native_code_without_a_word(tmp_path: Path) -> None:
    whole = pprof_one_stack(3)
    assert "impossible-lines" not in warnings(tmp_path / "right.pb", whole)
    wrong = whole + shapes.block(
        4, shapes.number(1, 9) + shapes.block(4, shapes.number(1, 1) + shapes.number(2, 1 << 63))
    )
    said = warnings(tmp_path / "wrong.pb", wrong)
    assert "impossible line, shown without one: 1." in said["impossible-lines"]
