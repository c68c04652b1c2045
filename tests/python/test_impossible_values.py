"""What can't be true in a file is counted in a warning: the same table for readers of every kind."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz.shapes import number, pprof_one_stack
from tests.python import perfetto_files
from tests.python.profile_reading import load
from tests.python.pyheap_files import THINGS, Thread, pyheap

from memlens.ingest import ingest
from memlens.packs.dotnet.tests.gcdump_files import gcdump
from memlens.packs.python.memray_times import times_of
from memlens.packs.python.tests import memray_files, test_python_heap
from memlens.packs.pytorch.tests.test_snapviewer import polygon, write_zip
from memlens.store.files.cache import Cache
from memlens.store.manifest import read_manifest


def said(path: Path) -> str:
    """The warnings of a file, in a row."""
    archive = ingest(path, Cache(path.parent / "cache"), lambda *_: None, findings=False)
    return " ".join(str(each.message) for each in read_manifest(archive).info.warnings)


def net(**more: Any) -> bytes:
    types = [("[root]", 0, None), ("A.B", 24, "a.dll")]
    return gcdump(types, [(0, 0, [1, 1]), (1, None, [])], **more)


PPROF = pprof_one_stack(3)
HEAPTRACK_0 = b"v 10000\nX p\nt 1 0\nt 2 1\n+ 10 1 a0\n+ 20 2 b0\n- a0\nc 9\n"
GO = (
    b"heap profile: 2: 200 [3: 300] @ heap/1048576\n2: 200 [3: 300] @ 0x1000\n#\t0xfff\tmain.f+0x1\t/a/main.go:12\n"
    b"\n# runtime.MemStats\n# MaxRSS = 5\n"
)
JAVA = b"--- heapz 1 ---\nformat = java\nresolution = bytes\n 100 1 @ 0x1\n0x1 a.B.c (B.java:34)\n"
NET_2 = gcdump([("[root]", 0, None), ("A.B", 24, "a.dll")], [(0, 0, [1, 2]), (1, None, []), (1, None, [])])
NET = net(multipliers=[1.0, 2.0])
NET_DATE, NET_PROCESS = struct.pack("<q", 635_560_517_203_750_000), struct.pack("<iqq", 42, 0, 8192)
PYHEAP = pyheap(THINGS)
PYTHON = test_python_heap.small()
FACTS = "other facts about the recording, left out: 1."
IN_FILES = [
    ("a.pb", PPROF, PPROF + number(9, 1 << 63), FACTS),
    ("a.pb", PPROF, PPROF + number(10, (1 << 64) - 5), FACTS),
    ("a.pb", PPROF, PPROF + number(12, (1 << 64) - 1), FACTS),
    (
        "heaptrack.old",
        HEAPTRACK_0,
        HEAPTRACK_0.replace(b"- a0", b"- a1"),
        "Frees of memory whose allocation is not in the recording, left out: 1.",
    ),
    (
        "heaptrack.old",
        HEAPTRACK_0,
        HEAPTRACK_0.replace(b"+ 20 2 b0", b"+ 20 2 a0"),
        "Allocations at an address that was not freed before: 1.",
    ),
    ("a.heap", GO, GO.replace(b"main.go:12", b"main.go:99999999999"), "Frames with an impossible line"),
    (
        "a.heap",
        GO,
        GO.replace(b"2: 200 [3: 300] @ 0x1000", b"4: 200 [3: 300] @ 0x1000"),
        "more in use than was ever allocated, or with bytes but no allocations: 1.",
    ),
    (
        "a.heap",
        GO,
        GO.replace(b"2: 200 [3: 300] @ 0x1000", b"0: 200 [3: 300] @ 0x1000"),
        "more in use than was ever allocated, or with bytes but no allocations: 1.",
    ),
    ("a.heapz", JAVA, JAVA.replace(b":34", b":4294967297"), "Frames with an impossible line"),
    ("a.gcdump", NET, net(multipliers=[float("nan"), 2.0]), "an impossible multiplier: 1."),
    ("a.gcdump", NET, net(multipliers=[1.0, 2.0], multiplier=-3.0), "an impossible multiplier: 2."),
    (
        "a.gcdump",
        NET_2,
        NET_2.replace(b"\x80\x10\0\0", b"\x40\x10\0\0"),
        "Objects with the id of another: 1.",
    ),
    (
        "a.gcdump",
        NET,
        NET.replace(struct.pack("<iqq", 2, 0, 0x1040), struct.pack("<iq", 1, 0)),
        "Objects without an address: 1.",
    ),
    (
        "a.gcdump",
        net(deferred=[(7, "b.dll", ""), (8, "b.dll", "")]),
        net(deferred=[(7, "b.dll", ""), (8, "b.dll", ""), (9, "b.dll", "")]),
        FACTS,
    ),
    ("a.gcdump", NET, NET.replace(NET_DATE, struct.pack("<q", (1 << 62) - 1)), FACTS),
    ("a.gcdump", NET, NET.replace(NET_PROCESS, struct.pack("<iqq", -42, 0, 8192)), FACTS),
    ("a.pyheap", PYHEAP, PYHEAP + b"12345", "Bytes after the end of the dump, which were not read: 5."),
    (
        "a.pyheap",
        PYHEAP,
        pyheap(THINGS, threads=[Thread("t", [("a.py", (1 << 32) - 1, "f", [])])]),
        "Frames with an impossible line, shown without one: 1.",
    ),
    ("a.pyheap", PYHEAP, PYHEAP.replace(b"MainThread\1", b"MainThread\7"), FACTS),
    ("a.pyheap", PYHEAP, pyheap(THINGS, types={}), "Objects whose class is not in the file: 1."),
    ("a.mlheap", PYTHON, PYTHON + b"12345", "Bytes after the end of the dump, which were not read: 5."),
    ("a.mlheap", PYTHON, PYTHON[:-8] + struct.pack("<Q", 1 << 63), "it says 9,223,372,036,854,775,808."),
    (
        "a.mlheap",
        PYTHON,
        PYTHON.replace(b"\x0c\0\0\0K", b"\xff\xff\xff\xffK"),
        "Frames with an impossible line",
    ),
    ("a.mlheap", PYTHON, PYTHON[:12] + b"\5" + PYTHON[13:], FACTS),
    (
        "a.mlheap",
        PYTHON,
        PYTHON.replace(b"\6\0\0\0python", b"\x0a\0\0\0process_id").replace(
            b"\4\0\0\x003.14", b"\x28\x23\0\0" + b"9" * 9000
        ),
        FACTS,
    ),
]


@pytest.mark.parametrize(
    ("name", "right", "wrong", "words"), IN_FILES, ids=[f"{each[0]}-{at}" for at, each in enumerate(IN_FILES)]
)
def test_an_impossible_value_is_counted(
    tmp_path: Path, name: str, right: bytes, wrong: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(right)
    assert words not in said(path)
    assert wrong != right
    path.write_bytes(wrong)
    assert words in said(path)


def test_what_a_heap_graph_of_android_refers_to_and_lacks_is_counted(tmp_path: Path) -> None:
    def found(**fields: Any) -> str:
        a = {
            "id": 8,
            "type": 1,
            "targets": [16],
            "fields": [fields.get("field", 1)],
            "heap": fields.get("heap", 1),
        }
        graph = perfetto_files.graph_packet(
            objects=[a, {"id": 16, "type": 1, "size": 8}],
            types=[{"id": 1, "name": ["A"], "superclass": fields.get("superclass", 0)}],
            field_names=[{"iid": 1, "text": ["A A.next"]}],
            roots=[{"objects": [8], "kind": fields.get("root", 1)}],
        )
        (tmp_path / "a.pftrace").write_bytes(perfetto_files.trace([graph]))
        return said(tmp_path / "a.pftrace")

    assert found() == ""
    assert found(field=0) == ""
    assert "References whose field is not in the file: 1." in found(field=77)
    assert "Objects in a heap that Memlens doesn't know: 2." in found(heap=99)
    assert "Classes whose superclass is not in the file: 1." in found(superclass=5)
    assert "Roots of a kind that Memlens doesn't know: 1." in found(root=77)


def test_figures_that_memray_can_not_have_recorded_are_counted(tmp_path: Path) -> None:
    def found(size: int, line: int, *times: int, start_ms: int = 5, end_ms: int = 9) -> dict[str, str]:
        records = memray_files.Records()
        records.thread(1)
        records.code(1, b"f", b"a.py", line)
        records.push(1)
        records.allocate(memray_files.MALLOC, 8, 100)
        for after in times:
            records.memory(100, after)
        records.allocate(memray_files.MALLOC, 16, size)
        head = memray_files.header(start_ms=start_ms, end_ms=end_ms)
        (tmp_path / "a.bin").write_bytes(head + records.end())
        return {each.code: str(each.message) for each in load(tmp_path / "a.bin").warnings}

    fine = found(200, 3, 5, 6)
    wrong = found(1 << 50, 1 << 40, 5, 4, start_ms=-1, end_ms=-3)
    assert "a size or a count is impossible: 1." in wrong["impossible-rows"]
    assert "impossible line, shown without one: 1." in wrong["impossible-lines"]
    assert "earlier than the one before them, drawn at that time: 1." in wrong["impossible-times"]
    assert "other facts about the recording, left out: 2." in wrong["unknown-settings"]
    assert not {"impossible-rows", "impossible-lines", "impossible-times", "unknown-settings"} & set(fine)
    times = times_of(np.array([[5, -100, 8], [6, 7, -8]]), None, None)
    assert all(column.min() >= 0 for column in times.series.values())


def test_stacks_of_snapviewer_that_can_not_be_read_are_counted(tmp_path: Path) -> None:
    def found(stack: Any) -> str:
        polygons = [polygon(8, 0, 2), polygon(8, 1, 3)]
        rows = [(0, 8, 0, 2, "(0) a.py:3:f"), (1, 8, 1, 3, stack)]
        return said(write_zip(tmp_path / "a.zip", polygons, rows))

    assert not any(word in found("(0) a.py:3:f") for word in ("read", "long", "text"))
    assert "Frames that can't be parsed, shown as written in the file: 1." in found("(0) a.py:99999999999:f")
    assert "Stacks that aren't text, left out: 1." in found(b"\xff\xfe")
    deep = "\n".join(f"({each}) a.py:3:f{each}" for each in range(5000))
    assert "Stacks cut because they are too long: 1." in found(deep)


def test_right_files_have_no_warnings_of_impossible_values(tmp_path: Path) -> None:
    codes = {
        "impossible-lines",
        "unknown-settings",
        "unequal-figures",
        "impossible-multipliers",
        "lost-addresses",
    }
    profiles = Path(__file__).parents[1] / "fixtures" / "profiles"
    for name in ("go-heap.debug1.txt", "service.jemalloc.heap", "service.tcmalloc.heap", "orders.pb.gz"):
        archive = ingest(profiles / name, Cache(tmp_path / "cache"), lambda *_: None, findings=False)
        warnings = json.loads((archive / "manifest.json").read_text("utf-8"))["info"]["warnings"]
        assert not codes & {each["code"] for each in warnings}
