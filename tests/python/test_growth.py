"""Small files that stand for much, written out in each way; ``npm run fuzz -- --growth`` measures bigger ones."""

import gzip
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import apsw
import pytest
from tests.fuzz import growth, shapes
from tests.python.command_line import Done, memlens
from tests.python.heap_files import HeapFile
from tests.python.protobuf import fields

from memlens.cli.output import MOST_LINES
from memlens.model.expansion import LEAST_ITEMS, most_items
from memlens.model.frames import MOST_NAME
from memlens.units import shortened
from memlens.views.compare.pairing import Work, align, pair_files, pair_functions, path_parts
from memlens.views.lines.stack import MOST_FRAMES


def run_on(path: Path) -> Callable[..., Done]:
    """Runs commands on a file."""

    def run(command: str, *rest: object, status: int | None = 0) -> Done:
        return memlens(command, path, *rest, "--cache-dir", path.parent / "cache", status=status)

    return run


@pytest.mark.slow
def test_stacks_that_share_their_frames_are_written_out_within_a_bound(tmp_path: Path) -> None:
    depth = 20_000
    path = tmp_path / "deep.heapsnapshot"
    path.write_bytes(shapes.v8_deep_trace(depth))

    run = run_on(path)
    most = most_items(path.stat().st_size)
    assert depth * depth // 2 > 20 * most, (
        "each place in the tree is a stack; in full they have 200 million frames"
    )
    (warning,) = (
        each for each in json.loads(run("info", "--json").stdout)["warnings"] if each["code"] == "deep-stacks"
    )
    assert "20,001 frames deep" in warning["message"]
    counted = run("sql", "SELECT count(*) AS n, max(level) AS deepest FROM stack_frames", "--json")
    assert warning["message"] in counted.stderr
    (row,) = json.loads(counted.stdout)
    assert LEAST_ITEMS < row["n"] <= most
    kept = row["deepest"] + 1
    assert f"innermost {kept:,} frames" in warning["message"]
    # the depth stays the true one
    deepest = json.loads(run("sql", "SELECT max(depth) AS n FROM stacks", "--json").stdout)
    assert deepest == [{"n": depth + 1}]
    whole = run("export", "--pprof", tmp_path / "out.pb.gz")
    assert warning["message"] in whole.stderr
    samples = [
        dict(fields(data))
        for field, data in fields(gzip.decompress((tmp_path / "out.pb.gz").read_bytes()))
        if field == 2
    ]
    assert max(len(sample.get(1, b"")) for sample in samples) == kept
    folded = run("flame", "--folded", "--value", "allocated_bytes")
    assert warning["message"] in folded.stderr
    lines = folded.stdout.splitlines()
    assert len(lines) == depth
    assert max(line.count(";") for line in lines) == kept
    assert lines[-1].startswith("(stack cut off);")
    printed = run("flame", "--value", "allocated_bytes").stdout.splitlines()
    assert len(printed) == MOST_LINES + 2
    assert "10,000" in printed[-1]
    assert max(map(len, printed)) < 400
    frames = json.loads(run("object", "--by-number", 1, "--json").stdout)["allocated"]
    assert len(frames) == MOST_FRAMES + 1
    assert frames[-1]["function"] == f"({depth - MOST_FRAMES:,} outer frames are not listed)"


@pytest.mark.slow
def test_a_name_with_thousands_of_lines_is_printed_and_stored_within_a_bound(tmp_path: Path) -> None:
    count = 12_000
    path = tmp_path / "names.pb"
    path.write_bytes(shapes.pprof_lines_of_a_name(count))
    run = run_on(path)
    lines = run("lines", "--json", "--value", "inuse_space")
    assert "20,000 texts are cut to 154 characters" in lines.stderr
    assert f"first {MOST_LINES:,} rows" in lines.stderr
    rows = json.loads(lines.stdout)["lines"]
    assert len(rows) == MOST_LINES
    assert {len(row["function"]) for row in rows} == {len(row["file"]) for row in rows} == {154}
    assert rows[0]["function"].endswith("…")
    csv = run("lines", "--csv", "--value", "inuse_space").stdout.splitlines()
    assert len(csv) == MOST_LINES + 1
    for printed in (lines.stdout, "".join(csv)):
        assert len(printed) < 6 << 20
    # in full they have 16,000 letters, each 12,000 times
    (row,) = json.loads(
        run("sql", "SELECT count(*) AS n, sum(length(function)) AS letters FROM frames", "--json").stdout
    )
    assert row["n"] == count
    assert row["letters"] <= 1 << 20
    run("export", "--speedscope", tmp_path / "out.json")
    assert (tmp_path / "out.json").stat().st_size < 1 << 24
    whole = run("lines", "--json", "--top", count).stdout
    assert len(json.loads(whole)["lines"]) == count


def test_a_long_name_of_a_type_is_cut_and_what_a_string_contains_is_not(tmp_path: Path) -> None:
    heap = HeapFile()
    root, name = heap.node("synthetic", ""), "N" * 100_000
    one, other = heap.node("object", name, 40), heap.node("string", name, 30)
    heap.edge(root, "property", "p" * 100_000, one)
    heap.edge(one, "property", "text", other)
    path = tmp_path / "long.heapsnapshot"
    path.write_bytes(heap.data())
    run = run_on(path)
    names = [row["type"] for row in json.loads(run("types", "--json").stdout)["types"]]
    assert shortened(name, MOST_NAME) in names
    assert max(map(len, run("report", "--markdown").stdout.splitlines())) < 4 * MOST_NAME
    query = (
        f"SELECT length(text) AS n FROM objects JOIN strings ON string = name_string WHERE object = {other}"
    )
    (text,) = json.loads(run("sql", query, "--json").stdout)
    assert text == {"n": len(name)}


def test_a_sample_with_many_labels_is_exported(tmp_path: Path) -> None:
    path = tmp_path / "labels.pb"
    path.write_bytes(shapes.pprof_labels(200_000))
    run_on(path)("export", "--pprof", tmp_path / "out.pb.gz")
    parts = fields(gzip.decompress((tmp_path / "out.pb.gz").read_bytes()))
    (sample,) = (fields(data) for field, data in parts if field == 2)
    assert sum(field == 3 for field, _ in sample) == 200_000


def test_samples_that_share_a_stack_are_exported_within_a_bound(tmp_path: Path) -> None:
    size = 4_000
    path = tmp_path / "shared.pickle"
    path.write_bytes(shapes.tracemalloc_shared(size))
    run = run_on(path)
    whole = run("export", "--pprof", tmp_path / "out.pb.gz")
    assert f"Stacks are up to {size:,} frames deep" in whole.stderr
    parts = fields(gzip.decompress((tmp_path / "out.pb.gz").read_bytes()))
    samples = [dict(fields(data)) for field, data in parts if field == 2]
    assert len(samples) == size
    # in full they have 16 million
    assert LEAST_ITEMS < sum(len(sample[1]) for sample in samples) < 4 * most_items(path.stat().st_size)


def test_traces_that_share_a_stack_have_no_more_frames_in_snapviewers_archive_than_the_file_stands_for(
    tmp_path: Path,
) -> None:
    path = tmp_path / "shared.pickle"
    path.write_bytes(shapes.torch_shared_stack(1_000))
    run_on(path)("export", "--snapviewer", tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        archive.extract("elements.db", tmp_path)
    stacks = [
        text
        for (text,) in apsw.Connection(str(tmp_path / "elements.db")).execute("SELECT callstack FROM allocs")
    ]
    assert len(stacks) == 1_000
    assert sum(text.count("\n") for text in stacks) <= most_items(path.stat().st_size) + 1_000
    assert stacks[0].endswith(":(stack cut off)")


@pytest.mark.parametrize(
    ("suffix", "make", "size", "query"),
    [
        ("pickle", shapes.torch_notes, 5_000, "sum(length(value)) AS n FROM notes"),
        ("hprof", shapes.hprof_threads_of_a_name, 5_000, "sum(length(name)) AS n FROM threads"),
        ("heapsnapshot", shapes.v8_objects_of_a_long_name, 20_000, "sum(length(type)) AS n FROM objects"),
        ("heapsnapshot", shapes.v8_objects_of_a_long_name, 20_000, "sum(length(name)) AS n FROM objects"),
        ("heapsnapshot", shapes.v8_objects_of_a_long_name, 20_000, "sum(length(name)) AS n FROM refs"),
    ],
    ids=["notes", "threads", "objects", "names", "references"],
)
def test_texts_that_rows_share_are_in_sql_within_a_bound(
    suffix: str, make: Callable[[int], bytes], size: int, query: str, tmp_path: Path
) -> None:
    path = tmp_path / f"shared.{suffix}"
    path.write_bytes(make(size))
    (row,) = json.loads(run_on(path)("sql", f"SELECT {query}", "--json").stdout)
    # in full they have 25, 40 and 160 million, names of objects and references 5 million
    assert 1 << 19 < row["n"] <= 1 << 20


@pytest.mark.parametrize(
    ("suffix", "make", "size"),
    [("hprof", shapes.hprof_methods_of_a_name, 2_000), ("jfr", shapes.jfr_deep_stack, 100)],
)
def test_methods_have_the_name_of_their_class_within_a_bound(
    suffix: str, make: Callable[[int], bytes], size: int, tmp_path: Path
) -> None:
    path = tmp_path / f"methods.{suffix}"
    path.write_bytes(make(size))
    run = run_on(path)
    said = [each["message"] for each in json.loads(run("info", "--json").stdout)["warnings"]]
    assert any("only the end of their class's name" in each for each in said)
    # in full they have 32 and 8 million letters
    (manifest,) = (tmp_path / "cache").glob("*/manifest.json")
    texts = json.loads(manifest.read_text("utf-8"))["columns"]["string_utf8"]
    assert 1 << 20 < texts["count"] < 2 << 20


@pytest.mark.parametrize("data", [shapes.jfr_nested_types(60), shapes.jfr_wide_types(2_000)])
def test_a_description_that_stands_for_far_more_fields_than_it_has_is_refused(
    data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "types.jfr"
    path.write_bytes(data)
    done = run_on(path)("info", status=1)
    assert "The recording's description of its events is inconsistent" in done.stderr


def test_folded_stacks_of_a_long_name_are_printed_within_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "deep.heaptrack"
    path.write_bytes(shapes.heaptrack_deep_calls_of_a_name(2_000))
    folded = run_on(path)("flame", "--folded")
    # in full they have 260 million letters
    assert 1 << 20 < len(folded.stdout) < 12 << 20
    assert len(folded.stdout.splitlines()) == 2_000
    assert "note: 1 texts are cut to" in folded.stderr


@pytest.mark.slow
def test_folded_groups_that_are_nested_deeply_are_printed_within_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "deep.hprof"
    path.write_bytes(shapes.hprof_nested_groups(20_000))
    folded = run_on(path)("flame", "--folded")
    # in full they have 200 million names
    assert 1 << 20 < len(folded.stdout) < 3 * path.stat().st_size
    assert "note: groups are up to 20," in folded.stderr
    lines = folded.stdout.splitlines()
    assert sum("(stack cut off)" in line for line in lines) > 10_000


@pytest.mark.slow
def test_pairing_of_runs_ends_where_everything_could_be_paired_with_everything() -> None:
    alike = {f"f{number}": [5] for number in range(1_000)}, {f"g{number}": [5] for number in range(1_000)}
    # a line that all have is no evidence
    assert all(None in pair for pair in pair_functions(*alike))
    few = {"f": [5]}, {"g": [5]}
    assert list(pair_functions(*few)) == [("f", "g")]
    work = Work()
    before, after = range(1, 801, 2), range(2, 802, 2)
    moved = [align([*before, 900], [*after, 901, 950], work) for _ in range(40)]
    assert (1, 2) in moved[0]
    assert (1, None) in moved[-1], "what may be spent on two runs has an end"
    deep = "/".join("d" * 500)
    assert len(path_parts(f"{deep}/a.c")) == 64
    files = [{f"{side}{number}/src/index.js": ["main"] for number in range(3_000)} for side in "ab"]
    assert sum(None not in pair for pair in pair_files(files[0], files[1])) == 3_000


SHARED = {
    "pprof-comments": "info",
    "pprof-random-stacks": "flame --folded",
    "pprof-nested-arguments": "findings",
    "v8-branches": "sql FILE SELECT count(*) FROM stack_frames",
    "v8-shared-listeners": "findings",
    "hprof-shared-table": "findings",
    "hprof-shared-chain": "sql FILE SELECT count(*), sum(size) FROM collections",
    "hprof-shared-locals": "threads --json",
    "gcdump-shared-delegates": "findings",
    "tracemalloc-lines": "sql FILE SELECT count(*) FROM stack_frames",
    "tracemalloc-long-file": "lines --by stack",
    "torch-empty-traces": "info",
    "torch-categories": "findings",
    "torch-annotations": "steps",
    "torch-ooms": "oom",
    "pyheap-variables-of-a-thread": "info",
    "java-heap-blanks": "info",
    "hprof-methods-of-a-name": "threads",
    "jfr-deep-stack": "flame",
    "jfr-lines-of-a-method": "info",
    "jfr-threads-of-a-name": "info",
    "jfr-shared-chain": "flame --value held_samples",
    "jfr-objects-of-a-class": "info",
    "jfr-classes-of-a-name": "info",
    "jfr-fields-of-a-name": "info",
    "heapprofd-empty-heaps": "info",
    "heapprofd-empty-samples": "info",
    "memray-overlapping-mappings": "info",
    "memray-shrinking-mappings": "info",
    "memray-instructions-of-a-table": "lines",
    "memray-native-generations": "info",
    "memray-native-stacks": "flame",
    "memray-native-tails": "flame",
}
"""Shapes, and a command that took minutes, gigabytes or fifty times the file for what much of the file shares."""


@pytest.fixture(scope="module")
def small_parent() -> Iterator[ProcessPoolExecutor]:
    """A process whose children begin small: the memory of this one would count as theirs."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


def first_of(name: str) -> growth.Tried:
    return next(growth.tried(name, shapes.SHAPES[name], (SHARED[name],)))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what a child takes is measured there")
@pytest.mark.parametrize("name", SHARED)
def test_what_many_share_is_looked_at_once(name: str, small_parent: ProcessPoolExecutor) -> None:
    assert not small_parent.submit(first_of, name).result().fault
