"""Heap dumps of Ruby against its own counts and an independent reader, and generated files for odd cases."""

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.graph_reading import damaged, edges, load, outcome, roots, type_names
from tests.python.tries import tries

from memlens.cli import main
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.graph import VALUE_KINDS, Graph
from memlens.packs.ruby.kernels import ruby_json as kernel
from memlens.packs.ruby.tests import ruby_files
from memlens.packs.ruby.tests.ruby_files import (
    CLASS,
    INTERNAL,
    LOST,
    OBJECT,
    STRING_CLASS,
    TEXT,
    line,
    made,
    read_again,
    root,
    small,
)


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "made.json"
    path.write_bytes(data)
    return path


def fields(graph: Graph) -> list[dict[str, int]]:
    values = graph.values
    assert values is not None
    assert set(values.kind.tolist()) <= {VALUE_KINDS.index("long")}
    names = [graph.texts[name] for name in values.name.tolist()]
    pairs = list(zip(names, values.bits.tolist(), strict=True))
    starts = values.start.tolist()
    return [dict(pairs[start:end]) for start, end in pairwise(starts)]


def places(graph: Graph) -> list[tuple[str, int] | None]:
    assert graph.objects.stack is not None
    frames, starts, sequence = (
        graph.frames.frames,
        graph.frames.starts.tolist(),
        graph.frames.sequence.tolist(),
    )
    found: list[tuple[str, int] | None] = []
    for stack in graph.objects.stack.tolist():
        own = [frames[frame] for frame in sequence[starts[stack] : starts[stack + 1]]]
        found.append((own[0].file, own[0].line) if own else None)
    return found


def check(graph: Graph, data: bytes) -> None:
    """Compare everything in a dump without duplicate addresses with the independent reader."""
    rows, own_roots = read_again(data)
    assert graph.objects.ids.tolist() == list(rows)
    assert graph.objects.shallow.tolist() == [row.memsize for row in rows.values()]
    assert [[target for _, _, target in own] for own in edges(graph)] == [
        row.references for row in rows.values()
    ]
    texts = [graph.texts[name] for name in graph.objects.name.tolist()]
    assert texts == [row.name for row in rows.values()]
    assert places(graph) == [row.place for row in rows.values()]
    assert fields(graph) == [row.fields for row in rows.values()]
    kinds = [graph.type_kinds[kind] for kind in graph.types.kind[graph.objects.type].tolist()]
    assert kinds == [row.internal.lower() for row in rows.values()]
    assert {(kind, item) for kind, item, _, _ in roots(graph)} == {
        (category.replace("_", " "), address) for category, address in own_roots
    }


def test_a_recording_line_by_line() -> None:
    graph = load(ruby_files.RECORDED)
    check(graph, ruby_files.recorded())
    assert [warning.code for warning in graph.warnings] == ["dangling"]


def test_rubys_own_counts_of_the_recording() -> None:
    graph = load(ruby_files.RECORDED)
    names, shallow = type_names(graph), graph.objects.shallow.tolist()
    own = dict(
        text.split() for text in (ruby_files.FIXTURES / "sessions.ruby.counts.txt").read_text().splitlines()
    )
    assert Counter(names)["Session"] == int(own["sessions"]) == 200
    bytes_of = Counter[str]()
    for name, size in zip(names, shallow, strict=True):
        bytes_of[name] += size
    assert bytes_of["Session"] == int(own["session_bytes"])
    # opening the file, and writing the counts, made a few more
    kinds = Counter(graph.type_kinds[kind] for kind in graph.types.kind[graph.objects.type].tolist())
    for name in ("object", "class", "module", "array", "hash", "string", "data", "iclass", "imemo"):
        assert 0 <= kinds[name] - int(own[f"T_{name.upper()}"]) <= 60, name
    assert 0 <= bytes_of["String"] - int(own["string_bytes"]) <= 4_000


def test_lines_that_allocated_work_as_in_other_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(*arguments: str) -> Any:
        assert main([*arguments, "--json", "--cache-dir", str(tmp_path)]) == 0
        return json.loads(capsys.readouterr().out)

    rows, _ = read_again(ruby_files.recorded())
    sums = Counter[tuple[str, int]]()
    for row in rows.values():
        if row.place is not None:
            sums[row.place] += row.memsize
    lines = ask("lines", str(ruby_files.RECORDED))["lines"]
    assert {(row["file"], row["line"]): row["total"] for row in lines} == dict(sums)
    session = next(
        row for row in rows.values() if row.place and row.internal == "OBJECT" and row.memsize == 40
    )
    shown = ask("object", str(ruby_files.RECORDED), str(session.address))["object"]
    assert (shown["type"], (shown["file"], shown["line"])) == ("Session", session.place)
    query = "SELECT file, line, sum(shallow_bytes) AS total FROM objects WHERE file IS NOT NULL GROUP BY file, line"
    answered = ask("sql", str(ruby_files.RECORDED), query)
    assert {(row["file"], row["line"]): row["total"] for row in answered} == dict(sums)


def test_the_contents_of_a_generated_dump(tmp_path: Path) -> None:
    graph = load(written(tmp_path, small()))
    check(graph, small())
    assert type_names(graph) == [
        "Class", "Class", "Class", "App::Cache", "String", "(imemo iseq)", "(array)",
    ]  # fmt: skip
    assert edges(graph)[3][0][0] == "class"
    assert graph.types.object is not None
    assert graph.objects.ids[graph.types.object[graph.objects.type[3]]] == CLASS
    assert roots(graph) == [
        ("vm", CLASS, "", ""),
        ("vm", STRING_CLASS, "", ""),
        ("machine context", OBJECT, "", ""),
    ]
    own = graph.objects.flags
    assert own is not None
    flags = [[name for bit, name in enumerate(graph.flags) if bits >> bit & 1] for bits in own.tolist()]
    assert flags == [[], [], [], ["old"], ["frozen", "embedded"], [], ["shared"]]
    assert graph.texts[int(graph.objects.name[4])] == 'a "b"\n\u00e9\U0001f600'
    assert graph.objects.ids.tolist()[-2:] == [INTERNAL, LOST]
    assert [warning.code for warning in graph.warnings] == ["dangling"]


def test_what_c_code_keeps_for_itself_is_called_by_its_struct(tmp_path: Path) -> None:
    """Its class is Object, as that of a program's plain objects; one of another class is called by that."""
    data = made(
        root("vm", CLASS, OBJECT, TEXT, LOST, INTERNAL),
        line(CLASS, "CLASS", name="Object"),
        line(STRING_CLASS, "CLASS", name="Time"),
        line(OBJECT, "OBJECT", [], **{"class": CLASS}),
        line(TEXT, "DATA", [], **{"class": CLASS}, struct="ObjectTracing/allocation_info_tracer"),
        line(LOST, "DATA", [], **{"class": STRING_CLASS}, struct="time"),
        line(INTERNAL, "DATA", [], **{"class": CLASS}),
    )
    assert type_names(load(written(tmp_path, data))) == [
        "Class", "Class", "Object", "(data ObjectTracing/allocation_info_tracer)", "Time", "Object",
    ]  # fmt: skip


def test_a_dump_without_tracing_is_reported(tmp_path: Path) -> None:
    graph = load(written(tmp_path, made(root("vm", TEXT), line(TEXT, "STRING", [], value="x"))))
    assert [warning.code for warning in graph.warnings] == ["no-allocations"]


def test_free_slots_of_full_dumps_are_no_objects(tmp_path: Path) -> None:
    """``dump_all(full: true)`` lists them; their "class" is the next free slot."""
    free = [LOST + 40 * n for n in range(1, 6)]
    slots = [b'{"address":"%#x", "type":"NONE", "class":"%#x"}\n' % pair for pair in pairwise(free)]
    graph = load(written(tmp_path, small() + b"".join(slots)))
    without = load(written(tmp_path, small()))
    assert graph.objects.ids.tolist() == without.objects.ids.tolist()
    assert type_names(graph) == type_names(without)
    assert graph.references.target.tolist() == without.references.target.tolist()
    assert graph.warnings == without.warnings


def test_two_objects_at_one_address(tmp_path: Path) -> None:
    data = made(
        root("vm", TEXT), *(line(TEXT, "STRING", [TEXT], value=text, file="a.rb", line=1) for text in "ab")
    )
    graph = load(written(tmp_path, data))
    assert [warning.code for warning in graph.warnings] == ["duplicate-ids"]
    assert graph.references.target.tolist() == [0, 0]


def test_a_class_that_is_its_own_superclass(tmp_path: Path) -> None:
    """Singleton classes are skipped, and objects whose classes form a cycle have no type."""
    circle = [
        line(CLASS, "CLASS", superclass=STRING_CLASS, singleton=True),
        line(STRING_CLASS, "CLASS", superclass=CLASS, singleton=True),
        line(OBJECT, "OBJECT", [], **{"class": CLASS}),
    ]
    names = type_names(load(written(tmp_path, made(root("vm", OBJECT), *circle))))
    assert names == ["Class", "Class", "(class without a name)"]


def test_impossible_values(tmp_path: Path) -> None:
    good = [line(TEXT + 40 * n, "STRING", [TEXT], value="x", file="a.rb", line=1) for n in range(40)]
    for bad in (
        b'{"address":"10", "type":"STRING"}',
        b'{"address":"0x11112222333344445", "type":"STRING"}',
        b'{"type":"STRING", "memsize":1}',
        b'{"address":"0x10", "type":"STRING", "references":["0x10"',
        b'{"address":"0x10", "type":"STRING", "references":[1]}',
        b'{"address":"0x10", "type":"STRING"} x',
        b'{"address":"0x10", "type":"STRING", "x":' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"address":"0x10", "name":"A "B"", "type":"CLASS"}',
        b"x",
    ):
        graph = load(written(tmp_path, made(*good) + bad + b"\n"))
        assert len(graph.objects) == 40, bad
        assert [warning.code for warning in graph.warnings] == ["bad-lines"], bad
    with pytest.raises(DamagedSnapshotError, match="not objects"):
        load(written(tmp_path, made(*good) + b"x\n" * 10))
    with pytest.raises(NotASnapshotError, match="no objects"):
        load(written(tmp_path, root("vm", 1) + b"\n"))


def test_dumps_cut_off_anywhere(tmp_path: Path) -> None:
    counts: list[int] = []
    for end in range(80, len(small()), 7):
        error = outcome(tmp_path / "cut.json", small()[:end])
        if error:
            assert not counts
            continue
        graph = load(tmp_path / "cut.json")
        assert (
            graph.facts.truncated == (not small()[:end].endswith((b"}", b"}\n")))
            or small()[end : end + 1] != b"\n"
        )
        counts.append(len(graph.objects))
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 6)


@pytest.mark.slow
def test_damaged_dumps_end_in_sentences(tmp_path: Path) -> None:
    draw = random.Random(15)
    outcomes = [outcome(tmp_path / "damaged.json", damaged(small(), draw)) for _ in range(tries(400))]
    assert tries(20) < sum(each == "" for each in outcomes) < tries(380)


def test_reading_in_small_steps() -> None:
    """A scanner that pauses after every few bytes keeps the same columns."""
    data = small()
    whole, steps = kernel.Lines(data), kernel.Lines(data)
    assert whole.run(len(data)) == kernel.OK
    limit = 0
    while steps.run(limit) == kernel.MORE:
        limit += 5
    assert whole.link() == steps.link() == kernel.OK
    ours, theirs = whole.take(), steps.take()
    for name, column in ours.items():
        assert np.array_equal(np.asarray(column), np.asarray(theirs[name])), name


def test_a_long_chain_and_long_texts(tmp_path: Path) -> None:
    count = 50_000
    data = made(
        root("vm", 8), *(line(8 + 8 * n, "ARRAY", [16 + 8 * n], length=1) for n in range(count)),
        line(8 + 8 * count, "STRING", [], value="\u20ac" * 10_000),
    )  # fmt: skip
    graph = load(written(tmp_path, data))
    assert graph.references.target.tolist() == list(range(1, count + 1))
    text = graph.texts[int(graph.objects.name[count])]
    assert set(text) == {"\u20ac"}
    assert 1_300 < len(text) < 1_400
    assert "shortened-texts" in [warning.code for warning in graph.warnings]
