"""Heap dumps of .NET: one against PerfView's report, the totals of others, and generated files for odd cases."""

import json
import random
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.python.command_line import memlens
from tests.python.conftest import DATA
from tests.python.graph_reading import damaged, edges, load, outcome, roots, type_names
from tests.python.recordings import DOTNET
from tests.python.tries import tries

from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.graph import Graph
from memlens.packs.dotnet.kernels import gcdump as kernel
from memlens.packs.dotnet.tests.gcdump_files import gcdump, number, small

REAL = DATA / "heap" / "gcdump"
BASELINE = DATA / "heap" / "oracle" / "perfview_test1_baseline.gcdump.xml"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason=f"there are no real files at {REAL}")

TOTALS = {
    # nodes, bytes and bits, as the files' headers and PerfView's log have them
    "perfview_test1.gcdump": (6_482, 1_009_270, 4),
    "perfview_test2.gcdump": (140_391, 4_147_128, 4),
    "jp_test1.gcdump": (46_645, 3_339_490, 8),
    "jp_leakypage.gcdump": (19_811, 1_286_952, 8),
    "1hub_sample-monovm.gcdump": (24_062, 1_309_128, 8),
}

MADE = "one of ours"
OBJECTS = gcdump(
    [
        ("[.NET Roots]", 0, None), ("[static vars]", 0, None), ("[local vars]", 0, None), ("App.Cache", 40, "app.dll"),
        ("System.String", 0, "corelib.dll"), ("System.Object[]", 0, "corelib.dll"),
    ],
    [
        (0, None, [1, 2]), (1, None, [3]), (2, None, [4, 5]), (3, None, [5]), (3, None, [6, 7]), (5, 2_000, [6, 7, 3]),
        (4, 300, []), (4, 500, []),
    ],
)  # fmt: skip
"""Static and local variables hold two caches of an array and two strings."""


def made(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "made.gcdump"
    path.write_bytes(data)
    return path


def children(graph: Graph) -> list[list[int]]:
    starts, targets = graph.references.start.tolist(), graph.references.target.tolist()
    return [targets[starts[node] : starts[node + 1]] for node in range(len(graph.objects))]


@needs_real
def test_a_dump_agrees_with_perfviews_report() -> None:
    graph = load(REAL / "perfview_test1.gcdump")
    # PerfView writes control characters that XML doesn't have
    text = re.sub(r"&#x[0-9A-F]+;|[\x00-\x08\x0b-\x1f]", "", BASELINE.read_text("utf-8"))
    nodes = ET.fromstring(text).findall(".//Node")
    assert len(nodes) == len(graph.objects) == 6_482
    assert [int(node.get("Size", "")) for node in nodes] == graph.objects.shallow.tolist()
    assert [int(node.get("Address", ""), 16) for node in nodes] == graph.objects.ids.tolist()
    assert [node.get("Type") for node in nodes] == [
        re.sub(r"[\x00-\x08\x0b-\x1f]", "", name) for name in type_names(graph)
    ]
    assert [[int(child) for child in (node.text or "").split()] for node in nodes] == children(graph)


@pytest.mark.parametrize("name", [MADE, *(TOTALS if REAL.is_dir() else ())])
def test_totals_of_whole_dumps(name: str, tmp_path: Path) -> None:
    graph = load(REAL / name if name in TOTALS else made(tmp_path, OBJECTS))
    found = (len(graph.objects), int(graph.objects.shallow.sum()), graph.facts.id_bytes)
    assert found == TOTALS.get(name, (8, 2_880, 8))
    assert graph.warnings == []
    assert graph.root is not None
    assert type_names(graph)[graph.root] in ("[.NET Roots]", "[JS Roots]")
    assert not graph.facts.truncated
    kinds = {kind for kind, *_ in roots(graph)}
    assert kinds >= ({"static vars", "local vars"} if graph.facts.id_bytes == 8 else set())


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        (DOTNET, {"tool": "dotnet-gcdump", "machine": "MACHINE", "process": "app", "process_id": 42}),
        *(
            (path, {"machine": "PAL-DEV01", "process": "WpfApplication2"})
            for path in REAL.glob("perfview_test2*")
        ),
        *((path, {"tool": "dotnet-gcdump"}) for path in REAL.glob("jp_test1*")),
    ],
    ids=lambda each: each.name if isinstance(each, Path) else "",
)
def test_facts_about_the_process(path: Path, facts: dict[str, object]) -> None:
    settings = load(path).settings
    assert facts.items() <= settings.items()
    assert settings.get("tool") == "dotnet-gcdump" or "Dumping GC heap" in settings["log"]


def test_the_contents_of_a_generated_dump(tmp_path: Path) -> None:
    graph = load(made(tmp_path, small()))
    assert type_names(graph)[3:7] == ["App.Cache", "System.String[]", "System.String", "System.String"]
    assert graph.objects.shallow.tolist() == [0, 0, 0, 24, 5_000, 64, 200, 32, 2**31 - 1]
    assert children(graph) == [[1], [2], [3], [4, 3], [5, 6, 5], [], [], [3], []]
    assert edges(graph)[4][0] == ("reference", "", int(graph.objects.ids[5]))
    assert roots(graph) == [("static vars", 0x1000 + 64 * 3, "static var App.Program.cache", "")]
    assert [graph.type_kinds[kind] for kind in graph.types.kind.tolist()] == [
        *3 * ["node of the dump"], "class", "array", "class", "class",
    ]  # fmt: skip
    assert graph.types.multiplier is not None
    assert graph.types.multiplier.tolist() == [1, 1, 1, 2.5, 1, 8, 1]
    assert (graph.facts.count_multiplier, graph.facts.size_multiplier) == (3.5, 3.5)
    assert graph.settings == {
        "format_version": 10, "tool": "dotnet-gcdump", "machine": "MACHINE", "process": "app", "process_id": 42,
        "written_ms": 1_420_454_920_375, "working_set_bytes": 8192, "log": "a log",
    }  # fmt: skip
    assert [warning.code for warning in graph.warnings] == ["sampled"]


def test_estimates_of_a_sampled_dump(tmp_path: Path) -> None:
    """By each type's multiplier, as PerfView counts; none for a dump with all objects."""

    def rows(name: str, data: bytes) -> dict[str, tuple[int | None, int | None]]:
        path = tmp_path / name
        path.write_bytes(data)
        answer = json.loads(memlens("types", path, "--json", "--cache-dir", tmp_path / "cache").stdout)
        return {
            row["type"]: (row["estimated_count"], row["estimated_shallow_bytes"]) for row in answer["types"]
        }

    sampled = rows("sampled.gcdump", small())
    assert sampled["App.Cache (C:\\app\\App.dll)"] == (2, 60)
    assert sampled["System.String (System.Private.CoreLib)"] == (24, 8 * (64 + 200 + 2**31 - 1))
    whole = rows("whole.gcdump", gcdump([("A", 8, None)], [(0, None, [])]))
    assert whole == {"A": (None, None)}


def test_a_dump_that_stopped_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only dotnet-gcdump stops at a number of objects."""
    monkeypatch.setattr("memlens.packs.dotnet.gcdump._MOST_NODES", 2)
    types, nodes = [("A", 8, None)], [(0, None, [1]), (0, None, [])]
    graph = load(made(tmp_path, gcdump(types, nodes)))
    assert graph.facts.capped
    assert [warning.code for warning in graph.warnings] == ["capped"]
    assert not load(made(tmp_path, gcdump(types, nodes, tool="PerfView"))).facts.capped
    assert not load(made(tmp_path, gcdump(types, [(0, None, [])]))).facts.capped


def test_types_without_names(tmp_path: Path) -> None:
    """.NET Native has a number and a module for them."""
    data = gcdump(
        [("[.NET Roots]", 0, None), (None, 16, None), (None, 24, None)],
        [(0, None, [1, 2]), (1, None, []), (2, None, [])],
        deferred=[(1, "", ""), (0xABC, "C:\\app\\app.dll", "[]"), (0xDEF, "C:\\app\\app.dll", "")], wide=False,
    )  # fmt: skip
    graph = load(made(tmp_path, data))
    assert type_names(graph)[1:] == ["TypeID(0xabc)[]", "TypeID(0xdef)"]
    assert graph.types.module is not None
    assert graph.texts[int(graph.types.module[1])] == "C:\\app\\app.dll"
    assert graph.facts.id_bytes == 4
    assert graph.settings.get("tool") == "dotnet-gcdump"


def test_a_total_that_differs_from_the_objects(tmp_path: Path) -> None:
    graph = load(made(tmp_path, gcdump([("A", 8, None)], [(0, None, [])], total=1 << 20)))
    assert [warning.message for warning in graph.warnings] == [
        "The objects' sizes add up to 8 B, but the file says 1 MiB."
    ]


def test_impossible_nodes(tmp_path: Path) -> None:
    """A type that doesn't exist, a negative size, children beyond both ends."""
    nodes = [(0, None, [1, 2, 3]), (0, -5, []), (0, 7, [100, -100]), (0, 9, [0])]
    data = gcdump([("A", 8, None)], nodes)
    broken = data.replace(number(0) + number(3), number(6) + number(3), 1)
    graph = load(made(tmp_path, data))
    assert {warning.code for warning in graph.warnings} == {"broken-nodes", "dangling", "other-total"}
    assert graph.objects.shallow.tolist() == [8, 0, 7, 9]
    assert children(graph) == [[1, 2, 3], [], [], [0]]
    assert children(load(made(tmp_path, broken)))[0] == []


def test_dumps_cut_off_anywhere(tmp_path: Path) -> None:
    data = small()
    whole = load(made(tmp_path, data))
    counts: set[int] = set()
    for end in range(30, len(data) - 60, 3):
        error = outcome(tmp_path / "cut.gcdump", data[:end])
        if error:
            assert not counts
            continue
        graph = load(tmp_path / "cut.gcdump")
        assert graph.facts.truncated
        assert graph.warnings[0].code == "cut-file"
        known = int((graph.objects.shallow > 0).sum())
        counts.add(known)
        assert known <= int((whole.objects.shallow > 0).sum())
    assert max(counts) == int((whole.objects.shallow > 0).sum())


def test_damaged_dumps_end_in_sentences(tmp_path: Path) -> None:
    draw = random.Random(15)
    outcomes = [outcome(tmp_path / "damaged.gcdump", damaged(small(), draw)) for _ in range(tries(600))]
    assert tries(20) < sum(each == "" for each in outcomes) < tries(580)


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = small().replace(b"GCHeapDump\x06", b"GCHeapDumq\x06") + b"GCHeapDump"
    for data, error, words in (
        (
            small().replace(b"\x0a\0\0\0\x08\0\0\0", b"\x03\0\0\0\x03\0\0\0", 1),
            NotASnapshotError,
            "version 3",
        ),
        (small().replace(b"Graphs.MemoryGraph", b"Graphs.MemoryGrapi"), DamagedSnapshotError, "no graph"),
        (small()[:60], DamagedSnapshotError, "truncated before its nodes"),
        (other, NotASnapshotError, "not of a format"),
    ):
        with pytest.raises(error, match=words):
            load(made(tmp_path, data))


def test_numbers_of_seven_bits_a_byte() -> None:
    """Against a writer of such numbers, at both ends of each length."""
    values = [
        sign * (1 << bits) + more
        for bits in range(31)
        for sign in (-1, 1)
        for more in (-1, 0, 1)
        if bits < 30 or more < 0
    ]  # fmt: skip
    sizes = [value for value in values if value >= 0]
    blob = b"".join(number(1) + number(size) + number(0) for size in sizes)
    offsets, at = [], 0
    for size in sizes:
        offsets.append(at)
        at += len(number(1) + number(size) + number(0))
    data = np.array(offsets, np.uint32).tobytes() + blob
    nodes = kernel.Nodes(data, 0, len(sizes), 4 * len(sizes), len(blob), np.zeros(1, np.int32))
    for step in range(1, 4 * len(sizes) - 8, 7):
        assert nodes.run(step) == kernel.MORE
    assert nodes.run(len(data)) == kernel.OK
    assert np.asarray(nodes.take()[1]).tolist() == sizes
