"""Heap snapshots in V8's format by other programs, Julia and Bun, and files that only resemble it."""

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.graph_reading import edges, load, type_names
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.graph import NONE
from memlens.store.snapshot import Snapshot
from memlens.views.heap.filters import filters
from memlens.views.heap.listing.one_object import references

JULIA_META = {
    "node_fields": ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"],
    "node_types": [["synthetic", "object", "String", "jl_array_t", "jl_module_t"], "string", "number", "number",
                   "number", "number", "number"],
    "edge_fields": ["type", "name_or_index", "to_node"],
    "edge_types": [["internal", "hidden", "element", "property"], "string_or_number", "from_node"],
}  # fmt: skip
UNKNOWN_INDEX = 2**64 - 1
"""What Julia writes for an element whose index it doesn't know."""


def _julia() -> tuple[list[str], list[tuple[int, int, int, int, int]], list[tuple[int, int, int]]]:
    """Strings, objects and references."""
    strings = ["", "GC roots", "Main", "Vector{Any}", "Dict{String, Int64}", "a text", "<inline>"]
    nodes = [
        (0, 0, 0, 0, 1), (0, 1, 1, 0, 2), (3, 3, 140_132_345_567_888, 40, 3), (1, 4, 140_132_345_568_000, 64, 1),
        (2, 5, 140_132_345_568_160, 14, 0), (4, 2, 140_132_345_568_999, 208, 1),
    ]  # fmt: skip
    edges = [
        (0, 1, 1), (0, 2, 5), (0, 3, 2), (2, UNKNOWN_INDEX, 3), (2, UNKNOWN_INDEX, 4), (2, 3, 3), (3, 6, 4), (3, 3, 2),
    ]  # fmt: skip
    return strings, nodes, edges


def julia(path: Path) -> Path:
    """A snapshot as Julia writes it: four sections, ids that are addresses, a row a line, types of its own."""
    strings, nodes, edges = _julia()
    header = {"meta": JULIA_META, "node_count": len(nodes), "edge_count": len(edges)}
    text = f'{{"snapshot":{json.dumps(header)},\n"nodes":['
    text += "\n,".join(",".join(map(str, (*row, 0, 0))) for row in nodes) + '],\n"edges":['
    text += "\n,".join(",".join(map(str, (kind, name, 7 * to))) for kind, name, to in edges) + "],\n"
    path.write_text(text + '"strings":' + json.dumps(strings, indent=0) + "}")
    return path


def test_a_snapshot_of_julia(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    snapshot = opened(julia(tmp_path / "julia.heapsnapshot"))
    objects = snapshot.objects
    assert objects.id.tolist()[2:] == [140_132_345_567_888, 140_132_345_568_000, 140_132_345_568_160,
                                       140_132_345_568_999]  # fmt: skip
    assert objects.shallow.tolist() == [0, 0, 40, 64, 14, 208]
    # the vector is held by the roots and by Main, the text by the vector and by the dictionary in it
    assert objects.dominator.tolist() == [NONE, 0, 1, 2, 2, 1]
    assert objects.retained.tolist() == [326, 326, 118, 64, 14, 208]
    rows, _ = references(snapshot, 2)
    assert [(row.name, row.object.object) for row in rows] == [("[?]", 3), ("[?]", 4), ("[3]", 3)]


def streamed(folder: Path) -> Path:
    """The same as Julia streams it, in four files; references stand where the collector came across them."""
    strings, nodes, edges = _julia()
    sources = [number for number, node in enumerate(nodes) for _ in range(node[4])]
    rows = sorted(zip(sources, edges, strict=True), key=lambda row: -row[0])
    header = folder / "big.metadata.json"
    counts = {"node_count": len(nodes), "edge_count": len(edges), "trace_function_count": 0}
    header.write_text(json.dumps({"snapshot": {"meta": JULIA_META, **counts}}))
    (folder / "big.nodes").write_bytes(b"".join(struct.pack("<BQQqqB", *node[:4], 0, 0) for node in nodes))
    (folder / "big.edges").write_bytes(
        b"".join(struct.pack("<BQQQ", kind, name, source, to) for source, (kind, name, to) in rows)
    )
    encoded = [text.encode() for text in strings]
    (folder / "big.strings").write_bytes(b"".join(struct.pack("<Q", len(text)) + text for text in encoded))
    return header


def test_a_streamed_snapshot_is_the_same_as_an_assembled_one(tmp_path: Path) -> None:
    one, other = load(julia(tmp_path / "one.heapsnapshot")), load(streamed(tmp_path))
    assert edges(other) == edges(one)
    assert type_names(other) == type_names(one)
    for name in ("shallow", "ids", "name"):
        assert getattr(other.objects, name).tolist() == getattr(one.objects, name).tolist()
    assert [other.texts[number] for number in range(len(other.texts))] == [
        one.texts[number] for number in range(len(one.texts))
    ]
    assert (other.root, other.kind, other.roots.tolist()) == (one.root, one.kind, one.roots.tolist())


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("nodes", lambda data: data[:-1], "5 rows and a part of one"),
        ("edges", lambda data: data[:-25], "7 rows, but its header says 8"),
        ("strings", lambda data: data[:-1], "truncated"),
        ("strings", lambda data: data[:-16] + b"\xff" * 8 + data[-8:], "truncated"),
        ("strings", lambda _: b"", "no strings"),
        ("nodes", lambda data: b"\x09" + data[1:], "field type"),
        ("nodes", lambda data: data[:1] + b"\x07" + data[2:], "field name"),
        ("nodes", lambda data: data[:17] + b"\xff" * 8 + data[25:], "field self_size"),
        ("edges", lambda data: data[:9] + b"\x06" + data[10:], "field source"),
        ("edges", lambda data: data[:17] + b"\x06" + data[18:], "field target"),
    ],
)
def test_damaged_parts_end_in_sentences(
    part: str, change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    header = streamed(tmp_path)
    file = header.with_name(f"big.{part}")
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(DamagedSnapshotError, match=message):
        load(header)


@pytest.mark.slow
def test_parts_cut_off_or_with_bits_turned_over(tmp_path: Path) -> None:
    header, draw = streamed(tmp_path), random.Random(15)
    parts = {name: header.with_name(f"big.{name}").read_bytes() for name in ("nodes", "edges", "strings")}
    read_whole = 0
    for _ in range(tries(300)):
        name = draw.choice(list(parts))
        data = bytearray(parts[name])
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)) :]
        else:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        for each, whole in parts.items():
            header.with_name(f"big.{each}").write_bytes(data if each == name else whole)
        try:
            load(header)
            read_whole += 1
        except MemlensError:
            continue
    assert tries(20) < read_whole < tries(280)


def test_types_of_julia(tmp_path: Path) -> None:
    """What has a name of its own isn't a type by it, and there may be more types of nodes than a byte has numbers."""
    path = julia(tmp_path / "julia.heapsnapshot")
    named = ["(synthetic)", "(synthetic)", "Vector{Any}", "Dict{String, Int64}", "String", "Module"]
    assert type_names(load(path)) == named
    more = [f"Main.T{number}" for number in range(1_000)]
    path.write_text(path.read_text().replace('"jl_module_t"]', f'"jl_module_t", {json.dumps(more)[1:]}'))
    assert type_names(load(path)) == named


def test_texts_of_julia_are_found(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    snapshot = opened(julia(tmp_path / "julia.heapsnapshot"))
    chosen = filters.chosen(snapshot, 'string:"a text"')
    assert chosen is not None
    assert np.flatnonzero(chosen.mask(snapshot)).tolist() == [4]


def test_an_unknown_index_in_sql(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = julia(tmp_path / "julia.heapsnapshot")
    query = "select source, target, name from refs where kind = 'element' order by name, target"
    assert main(["sql", str(path), query, "--json", "--cache-dir", str(tmp_path / "cache")]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert [tuple(row.values()) for row in answer] == [(2, 3, ""), (2, 4, ""), (2, 3, "3")]


def test_an_index_is_the_only_number_that_may_be_too_large(tmp_path: Path) -> None:
    path = julia(tmp_path / "julia.heapsnapshot")
    path.write_text(path.read_text().replace("140132345568000", str(UNKNOWN_INDEX)))
    with pytest.raises(DamagedSnapshotError, match="larger than its field allows"):
        _read(path, tmp_path)


WEBKIT: dict[str, Any] = {
    "version": 3, "type": "Inspector", "nodes": [0, 0, 0, 0], "nodeClassNames": ["<root>"], "edges": [],
    "edgeTypes": ["Internal"], "edgeNames": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message", "advice"),
    [
        (WEBKIT, "WebKit's own format", 'Bun.generateHeapSnapshot("v8")'),
        ({"snapshot": {"meta": JULIA_META, "node_count": 6, "edge_count": 8}}, "only the header",
         "assemble_snapshot"),
    ],
)  # fmt: skip
def test_files_that_resemble_a_snapshot(
    content: dict[str, Any], message: str, advice: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(NotASnapshotError, match=message) as raised:
        _read(path, tmp_path)
    assert advice in raised.value.advice.text


def _read(path: Path, folder: Path) -> object:
    with open_source(path, folder, lambda *_: None) as source:
        return read(source, folder, lambda *_: None)
