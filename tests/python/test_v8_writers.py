"""Heap snapshots in V8's format by other programs, Julia and Bun, and files that only resemble it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memlens.cli import main
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.graph import NONE
from memlens.store.snapshot import Snapshot
from memlens.views.graph.objects import references

JULIA_META = {
    "node_fields": ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"],
    "node_types": [["synthetic", "object", "String", "jl_array_t"], "string", "number", "number", "number", "number",
                   "number"],
    "edge_fields": ["type", "name_or_index", "to_node"],
    "edge_types": [["internal", "hidden", "element", "property"], "string_or_number", "from_node"],
}  # fmt: skip
UNKNOWN_INDEX = 2**64 - 1
"""What Julia writes for an element whose index it doesn't know."""


def julia(path: Path) -> Path:
    """A snapshot as Julia writes it: four sections, addresses as ids, a row per line, its own types."""
    strings = ["", "GC roots", "Main", "Vector{Any}", "Dict{String, Int64}", "a text", "<inline>"]
    nodes = [
        (0, 0, 0, 0, 1), (0, 1, 1, 0, 2), (3, 3, 140_132_345_567_888, 40, 3), (1, 4, 140_132_345_568_000, 64, 1),
        (2, 5, 140_132_345_568_160, 14, 0), (1, 2, 140_132_345_568_999, 208, 1),
    ]  # fmt: skip
    edges = [
        (0, 1, 1), (0, 2, 5), (0, 3, 2), (2, UNKNOWN_INDEX, 3), (2, UNKNOWN_INDEX, 4), (2, 3, 3), (3, 6, 4), (3, 3, 2),
    ]  # fmt: skip
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


def test_an_unknown_index_in_sql(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = julia(tmp_path / "julia.heapsnapshot")
    query = "select source, target, name from refs where kind = 'element' order by name, target"
    assert main(["sql", str(path), query, "--json", "--cache-dir", str(tmp_path / "cache")]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert [tuple(row.values()) for row in answer] == [(2, 3, ""), (2, 4, ""), (2, 3, "3")]


def test_an_index_is_the_only_number_that_may_be_too_large(tmp_path: Path) -> None:
    path = julia(tmp_path / "julia.heapsnapshot")
    path.write_text(path.read_text().replace("140132345568000", str(UNKNOWN_INDEX)))
    with pytest.raises(DamagedSnapshotError, match="larger than it can be"):
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
    assert advice in raised.value.advice


def _read(path: Path, folder: Path) -> object:
    with open_source(path, folder, lambda *_: None) as source:
        return read(source, folder, lambda *_: None)
