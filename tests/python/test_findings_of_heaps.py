"""On which heap dumps each rule says something, and what: made ones and real ones, their figures held to SQL."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.python.conftest import real_heaps
from tests.python.heap_files import HeapFile

from memlens.ingest import ingest
from memlens.store import tables
from memlens.store.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings, headline
from memlens.views.findings.answers import TextPart, plain_text
from memlens.views.sql.query import SqlSession

REAL = [
    *real_heaps("v8/leak_after*", "v8/cdmcp_heap-1*", "v8/alloctrack*", "gcdump/jp_leakypage*"),
    *real_heaps("hprof/javac_60files*", "hprof/mat_HeapDumpSample*", "gcdump/perfview_test1*"),
]
SMALL = 200

Opened = Callable[[bytes, str], Snapshot]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    snapshots: list[Snapshot] = []

    def make(data: bytes, name: str) -> Snapshot:
        path = tmp_path / name
        path.write_bytes(data)
        snapshots.append(archived(path, tmp_path))
        return snapshots[-1]

    yield make
    for snapshot in snapshots:
        snapshot.close()


def archived(path: Path, folder: Path) -> Snapshot:
    return Snapshot.open(ingest(path, Cache(folder / "cache"), lambda *_: None))


def parts_of(snapshot: Snapshot) -> Iterator[TextPart]:
    for sentence in headline(snapshot, None).sentences:
        yield from sentence
    for finding in findings(snapshot, None, 100).findings:
        yield from finding.sentence


def check_figures(snapshot: Snapshot) -> int:
    """Hold each figure that has a query to it; every query that shows objects has some."""
    tables.fill(snapshot, lambda *_: None)
    held = 0
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        for part in parts_of(snapshot):
            if part.figure is not None and part.figure.sql:
                _, rows = session.stream(part.figure.sql)
                assert list(rows) == [(part.figure.amount,)], (part.text, part.figure.sql)
                assert part.text == str(part.figure)
                held += 1
            if part.objects is not None and part.objects.kind == "query":
                answer = session.ask(part.objects.sql, limit=1)
                assert answer.columns[0].name == "object"
                assert answer.rows
    return held


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:40])
def test_figures_are_those_of_sql(tmp_path: Path, path: Path) -> None:
    with closing(archived(path, tmp_path)) as snapshot:
        assert check_figures(snapshot)
        first = headline(snapshot, None)
        assert first.rule == "heap"
        assert first.text == " ".join(plain_text(sentence) for sentence in first.sentences)
        for text in (first.text, *(finding.text for finding in findings(snapshot, None, 100).findings)):
            assert text.endswith(".")
            assert "  " not in text
            assert " ," not in text
            assert ".." not in text


def test_a_real_leak(tmp_path: Path) -> None:
    paths = [path for path in REAL if path.name.startswith("leak_after")]
    if not paths:
        pytest.skip("the real heap dumps are not here")
    with closing(archived(paths[0], tmp_path)) as snapshot:
        found = {each.rule: each for each in findings(snapshot, None, 100).findings}
    assert found["retains_most"].text.endswith("most of it in 10,000 RequestContext. Held by global.app.")
    assert "10,000 listeners of “tick”, most of them made at leak.js:9" in found["listeners"].text
    assert "“Mozilla/5.0 (X11; Linux)” 10,000 times" in found["duplicate_strings"].text
    assert found["contexts"].line is not None
    assert found["contexts"].line.line == 9


def texts(snapshot: Snapshot) -> dict[str, str]:
    """What the rules say, by rule, that first which matters most, with ids left out; every figure is checked."""
    assert check_figures(snapshot)
    return {
        each.rule: re.sub(r" @[0-9a-fx]+", "", each.text)
        for each in reversed(findings(snapshot, None, 100).findings)
    }


def v8_heap(*, has: bool) -> bytes:
    """A page with everything that the rules for V8 look for, or with none of it."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 1000)
    heap.edge(root, "property", "window", window)
    # what is there in any case, so that shares are what they would be
    for number in range(SMALL):
        other = heap.node("object", f"Part{number}", 5_000)
        heap.edge(window, "property", f"part{number}", other)
    cache = heap.node("object", "Cache", 40)
    heap.edge(window, "property", "cache", cache)
    for number in range(SMALL if has else 2):
        session = heap.node("object", "Session", 2_000)
        heap.edge(cache, "element", number, session)
        text = heap.node("string", "the same text" if has else f"text {number}", 400)
        heap.edge(session, "property", "name", text)
    tree = heap.node("native", "HTMLDivElement", 90_000, detachedness=2 if has else 1)
    heap.edge(window, "property", "kept", tree)
    emitter, events = heap.node("object", "Bus", 100), heap.node("object", "Object", 50)
    listeners = heap.node("object", "Array", 16)
    heap.edge(window, "property", "bus", emitter)
    heap.edge(emitter, "property", "_events", events)
    heap.edge(events, "property", "tick", listeners)
    for number in range(60 if has else 3):
        closure, context = heap.node("closure", "onTick", 64), heap.node("object", "system / Context", 2_000)
        heap.edge(listeners, "element", number, closure)
        heap.edge(closure, "internal", "context", context)
        body = heap.node("object", "Body", 1_000 if has else 10)
        heap.edge(context, "context", "body", body)
        shared, script = heap.node("code", "onTick", 8), heap.node("hidden", "/app/bus.js", 8)
        heap.edge(closure, "internal", "shared", shared)
        heap.edge(shared, "internal", "script", script)
        if has:
            heap.locations.append((closure, 7, 11, 0))
    return heap.data()


@pytest.mark.parametrize("has", [True, False])
def test_rules_for_v8(opened: Opened, has: bool) -> None:
    found = texts(opened(v8_heap(has=has), "page.heapsnapshot"))
    if not has:
        assert found == {}
        return
    assert found["retains_most"] == (
        "Cache retains 469 KiB, 27% of what roots reach, most of it in 200 Session. Held by Window.cache."
    )
    assert found["duplicate_strings"] == (
        "199 strings are copies of others, 77.7 KiB (5% of what roots reach): “the same text” 200 times."
    )
    assert found["detached_nodes"] == (
        "1 detached DOM node kept with 87.9 KiB (5% of what roots reach); the largest tree is below HTMLDivElement, "
        "held by Window.kept."
    )
    assert found["listeners"] == (
        "Bus has 60 listeners of “tick”, most of them made at bus.js:12, and they retain 180 KiB (11% of what roots "
        "reach). Remove those that are done."
    )
    assert found["contexts"] == (
        "60 closures onTick (bus.js:12) keep variables of the functions around them, which retain 176 KiB (10% of what "
        "roots reach), as body."
    )
