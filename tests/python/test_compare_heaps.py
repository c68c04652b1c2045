"""Heap dumps compared: generated ones by object and by type, against plain Python; a real leak; a series."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import real_heaps
from tests.python.graphs import random_graph
from tests.python.heap_archives import Opened
from tests.python.heap_files import HeapFile, heap_of
from tests.python.recordings import LEAK
from tests.python.test_findings_of_heaps import java_heap
from tests.python.tries import tries

from memlens.cli import main
from memlens.store.snapshot import Snapshot
from memlens.views.compare.heaps import (
    compare_heaps,
    only_here,
    pair_of,
    series,
    series_of,
    side_of_series,
)
from memlens.views.heap.objects.rows import type_names

pytest_plugins = ("tests.python.heap_fixtures",)


def nearest_kept(snapshot: Snapshot, new: set[int]) -> dict[int, list[int]]:
    """New objects by their nearest dominator that isn't new."""
    dominator = snapshot.objects.dominator.tolist()
    found: dict[int, list[int]] = {}
    for item in new:
        at = dominator[item]
        while at in new:
            at = dominator[at]
        found.setdefault(at, []).append(item)
    return found


@pytest.mark.parametrize("seed", range(tries(12)))
def test_object_by_object(open_dump: Opened, seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(seed, 40)
    before = heap_of(graph)
    after = heap_of(graph)
    for number in range(10):
        item = after.node("object", f"Type{number % 3}", 100 + number)
        after.edge(rng.randrange(item), "property", f"more{number}", item)
    gone = rng.randrange(1, len(before.nodes))
    after.nodes[gone]["id"] = 10_001
    after.edge(rng.randrange(len(before.nodes)), "property", "empty", after.node("object", "Type0", 0))
    first, second = open_dump(before.data(), "a.heapsnapshot"), open_dump(after.data(), "b.heapsnapshot")
    answer = compare_heaps(first, second)
    assert answer.matched == "id"
    new = {gone, *range(len(before.nodes), len(after.nodes))}
    shallow = second.objects.shallow.tolist()
    assert answer.after.only_objects == len(new)
    assert answer.after.only_bytes == sum(shallow[item] for item in new)
    assert (answer.before.only_objects, answer.before.only_bytes) == (1, int(first.objects.shallow[gone]))
    names = type_names(second)
    for row in answer.types:
        assert row.new == sum(names[int(second.objects.type[item])] == row.type for item in new)
        assert row.after_count - row.before_count == (row.new or 0) - (row.gone or 0)
    held = nearest_kept(second, new)
    for holder in answer.holders:
        own = held.pop(holder.object.object)
        assert (holder.new_objects, holder.new_bytes) == (len(own), sum(shallow[item] for item in own))
    # objects held by no object, or of 0 bytes, aren't listed
    assert all(sum(shallow[item] for item in own) == 0 for own in held.values() if own)


def test_another_process_is_compared_by_type(open_dump: Opened) -> None:
    one, two = HeapFile(), HeapFile()
    for heap, name, count in ((one, "Alpha", 50), (two, "Beta", 80)):
        root = heap.node("synthetic", "")
        for number in range(count):
            heap.edge(root, "property", f"f{number}", heap.node("object", name, 1_000))
    answer = compare_heaps(open_dump(one.data(), "a.heapsnapshot"), open_dump(two.data(), "b.heapsnapshot"))
    assert answer.matched == "type"
    assert answer.after.only_objects is None
    assert not answer.holders
    assert [(row.type, row.before_count, row.after_count, row.new) for row in answer.types[:2]] == [
        ("Beta", 0, 80, None), ("Alpha", 50, 0, None),
    ]  # fmt: skip
    assert [
        ([str(each) for each in path.path], path.before_objects, path.after_objects) for path in answer.paths
    ] == [(["Beta"], 0, 80)]


def test_types_and_paths_of_java(open_dump: Opened) -> None:
    first, second = open_dump(java_heap(has=False), "a.hprof"), open_dump(java_heap(has=True), "b.hprof")
    answer = compare_heaps(first, second)
    assert answer.matched == "type"
    rows = {row.type: row for row in answer.types}
    session = rows["com.example.Session"]
    assert (session.before_count, session.after_count) == (1, 400)
    grown = [path for path in answer.paths if path.path[-1].text == "com.example.Session"]
    assert [(path.before_objects, path.after_objects) for path in grown] == [(1, 400)]
    only = compare_heaps(first, second, search="session")
    assert [row.type for row in only.types] == ["com.example.Session"]


def test_a_series_says_what_grows_throughout(open_dump: Opened) -> None:
    dumps = []
    for number, (grows, waves, fills) in enumerate(((10, 9, 5), (20, 90, 15), (30, 80, 15))):
        heap = HeapFile()
        root = heap.node("synthetic", "")
        for name, count in (("Grows", grows), ("Waves", waves), ("Fills", fills)):
            for item in range(count):
                heap.edge(root, "property", f"{name}{item}", heap.node("object", name, 10))
        dumps.append(open_dump(heap.data(), f"{number}.heapsnapshot"))
    answer = series(dumps)
    found = {row.type: row for row in answer.types}
    # what never shrinks is first
    assert [row.type for row in answer.types[:3]] == ["Grows", "Fills", "Waves"]
    assert found["Grows"].retained_bytes == [100, 200, 300]
    assert [row.type for row in answer.types if row.grows] == ["Grows"]
    assert found["Waves"].counts == [9, 90, 80]
    # it grows most, but only groups roots
    assert answer.types[-1].type == "(synthetic)"


LEAKS = [
    # files, sessions before and after, what holds them, and how many objects are new
    (paths, *expected)
    for paths, *expected in (
        (LEAK, 2_000, 4_000, "SessionStore", 4_000),
        (sorted(real_heaps("v8/leak_*"), reverse=True), 5_000, 10_000, "RequestContext", 50_000),
    )
    if paths
]


@pytest.mark.parametrize(
    ("paths", "before", "after", "holding", "new"), LEAKS, ids=["own", "real"][: len(LEAKS)]
)
def test_a_leak_on_the_command_line(
    paths: list[Path],
    before: int,
    after: int,
    holding: str,
    new: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files, cache = [*map(str, paths)], ["--cache-dir", str(tmp_path / "cache")]

    def asked(*options: str) -> Any:
        assert main(["compare", *options, *cache, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    answer = asked(*files)
    assert answer["matched"] == "id"
    rows = {row["type"]: row for row in answer["types"]}
    assert (rows["Session"]["new"], rows["Session"]["gone"]) == (after - before, 0)
    holder = answer["holders"][0]
    assert holder["new_objects"] > new
    assert holding in {each for path in answer["paths"] for each in path["path"]}
    row = next(each for each in asked(*files, files[1])["types"] if each["type"] == "Session")
    assert row["counts"] == [before, after, after]
    assert main(["compare", *files, *cache]) == 0
    assert "new: " in capsys.readouterr().out


def test_a_filter_narrows_all_parts_and_new_objects_are_listed(open_dump: Opened) -> None:
    def heap(sessions: int, others: int) -> bytes:
        made = HeapFile()
        root = made.node("synthetic", "")
        store = made.node("object", "Store", 100, id=1_001)
        made.edge(root, "property", "store", store)
        for name, count in (("Session", sessions), ("Other", others)):
            for number in range(count):
                item = made.node("object", name, 1_000 + number, id=len(name) * 10_000 + 2 * number + 1)
                made.edge(store, "property", f"{name}{number}", item)
        return made.data()

    before = open_dump(heap(10, 20), "a.heapsnapshot")
    after = open_dump(heap(40, 30), "b.heapsnapshot")
    whole, narrow = pair_of(before, after), pair_of(before, after, "type:=Session")
    (session,) = narrow.types("", "retained", 0, 10, reverse=False).rows
    assert (session.type, session.before_count, session.after_count, session.new) == ("Session", 10, 40, 30)
    assert [row.path[-1].text for row in narrow.comparison.paths] == ["Session"]
    assert (whole.comparison.after.only_objects, narrow.comparison.after.only_objects) == (40, 30)
    by_new = [row.type for row in whole.types("", "new", 0, 10, reverse=False).rows]
    assert by_new[:2] == ["Session", "Other"]
    # what groups roots retains the most, and is of least interest
    for reverse in (False, True):
        assert whole.types("", "retained", 0, 10, reverse=reverse).rows[-1].type == "(synthetic)"
    assert whole.comparison.types[-1].type == "(synthetic)"
    assert [row.type for row in whole.types("", "name", 0, 10, reverse=True).rows][-1] == "(synthetic)"
    names = type_names(after)
    assert (session.before_number, session.after_number) == (
        type_names(before).index("Session"), names.index("Session"),
    )  # fmt: skip
    (holder,) = narrow.comparison.holders
    assert (names[int(after.objects.type[holder.object.object])], holder.new_objects) == ("Store", 30)
    assert int(before.objects.id[holder.before_object]) == 1_001
    listed = only_here(after, narrow, narrow.only_after, "Session", 0, 5)
    assert (listed.total, [row.shallow_bytes for row in listed.rows]) == (30, [1039, 1038, 1037, 1036, 1035])
    assert series_of([side_of_series(each, "type:=Other") for each in (before, after)]).objects == [20, 30]
