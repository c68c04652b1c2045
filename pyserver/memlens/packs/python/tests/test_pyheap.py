"""Heap dumps of Python by PyHeap: how each record is read, and damaged files."""

import random
from pathlib import Path

import numpy as np
import pytest
from tests.python.graph_reading import damaged, edges, load, outcome, roots, type_names
from tests.python.pyheap_files import FREQUENT, THINGS, TYPES, pyheap, small
from tests.python.tries import tries

from memlens.formats.errors import DamagedSnapshotError
from memlens.packs.python.kernels import heap as kernel


def made(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "made.pyheap"
    path.write_bytes(data)
    return path


def test_the_contents_of_a_generated_dump(tmp_path: Path) -> None:
    graph = load(made(tmp_path, small()))
    assert graph.objects.ids.tolist() == [thing.address for thing in THINGS]
    assert graph.objects.shallow.tolist() == [thing.size for thing in THINGS]
    assert type_names(graph) == ["dict", "str", "Session", "list", "set", "tuple", "object"]
    # only attributes that the object itself refers to are named
    assert edges(graph) == [
        [("key", "", 0x2000), ("entry", "user é", 0x3000)],
        [],
        [("attribute", "events", 0x4000), ("reference", "", 0x5000), ("attribute", "__class__", 0x80)],
        [("item", "0", 0x2000), ("item", "1", 0x6000)],
        [("element", "", 0x2000)],
        [],
        [],
    ]
    assert [graph.texts[name] for name in graph.objects.name.tolist()] == [thing.text for thing in THINGS]
    assert roots(graph) == [("local", 0x1000, "sessions (MainThread)", "/app/service.py:12")]
    assert [warning.code for warning in graph.warnings] == ["dangling"]
    assert graph.settings["created"] == "2026-01-01T00:00:00+00:00"
    assert not graph.facts.truncated


def test_without_texts(tmp_path: Path) -> None:
    graph = load(made(tmp_path, pyheap(THINGS, with_texts=False)))
    assert not graph.objects.name.any()
    assert len(graph.objects) == len(THINGS)


def test_an_unfinished_dump(tmp_path: Path) -> None:
    """Its number of objects is 0: objects are read until the bytes can't be one."""
    data = pyheap(THINGS, count=0)
    end = data.index(b"<class Session>") + len("<class Session>")
    graph = load(made(tmp_path, data[:end]))
    assert graph.objects.ids.tolist() == [thing.address for thing in THINGS]
    assert graph.facts.truncated
    assert type_names(graph)[:3] == ["dict", "str", "(type @0x80)"]


def test_dumps_cut_off_anywhere(tmp_path: Path) -> None:
    counts: list[int] = []
    for end in range(20, len(small()), 7):
        error = outcome(tmp_path / "cut.pyheap", small()[:end])
        if error:
            assert not counts
            continue
        graph = load(tmp_path / "cut.pyheap")
        assert graph.facts.truncated
        counts.append(len(graph.objects))
    assert counts == sorted(counts)
    assert set(counts) == set(range(1, len(THINGS) + 1))


def test_an_abbreviation_that_does_not_exist(tmp_path: Path) -> None:
    broken = small().replace(b"\xff\xfe" + (0x2000).to_bytes(8), b"\xff\x00" + (0x2000).to_bytes(8))
    with pytest.raises(DamagedSnapshotError, match="an impossible number"):
        load(made(tmp_path, broken))


def test_damaged_dumps_end_in_sentences(tmp_path: Path) -> None:
    draw = random.Random(15)
    outcomes = [outcome(tmp_path / "damaged.pyheap", damaged(small(), draw)) for _ in range(tries(400))]
    assert tries(20) < sum(each == "" for each in outcomes) < tries(380)


def test_reading_in_small_steps() -> None:
    """A scanner that pauses after each object keeps the same columns."""
    data = small()
    start = data.index((0x1000).to_bytes(8) + (0x10).to_bytes(8) + (232).to_bytes(4))
    containers = [TYPES[name] for name in ("dict", "list", "set", "tuple")]
    common = np.array([TYPES[name] for name in ("int", "str", "list", "set", "dict")], np.uint64)

    def heap() -> kernel.PyHeap:
        return kernel.PyHeap(data, start, len(THINGS), containers, common, FREQUENT, True, False)

    whole, steps, limit = heap(), heap(), start
    assert whole.run(len(data)) == kernel.OK
    while steps.run(limit) == kernel.MORE:
        limit += 3
    none = np.empty(0, np.uint64)
    assert whole.link(none) is not None
    assert steps.link(none) is not None
    ours, theirs = whole.take(), steps.take()
    for name, column in ours.items():
        assert np.array_equal(np.asarray(column), np.asarray(theirs[name])), name
