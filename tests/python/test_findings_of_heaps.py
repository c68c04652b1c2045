"""On which heap dumps each rule says something, and what: made ones and real ones, their figures held to SQL."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.python.conftest import ROOT, real_heaps
from tests.python.heap_archives import Opened, archived
from tests.python.heap_files import HeapFile
from tests.python.hprof_files import BYTE, INT, LONG, OBJECT, SHORT, Dump
from tests.python.recordings import DOTNET, JAVA, LEAK, RAN_OUT, RUBY
from tests.python.said import assert_words_are_templates

from memlens import ingest
from memlens.errors import BadRequestError
from memlens.packs.ruby.tests.ruby_files import line, made, root
from memlens.store.artefacts import write_columns
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.units import format_bytes
from memlens.views import examining
from memlens.views.examining import EXAMINED, examine
from memlens.views.findings import table
from memlens.views.findings.ahead import FINDINGS, findings, headline
from memlens.views.findings.answers import TextPart, pieces
from memlens.views.heap.filters import filters
from memlens.views.heap.reachable.from_roots import HELD_DISTANCES, followed, held_distances, holders
from memlens.views.heap.retained.by_type import TOGETHER
from memlens.views.sql.query import SqlSession

# all except the largest two, which take half a minute
LEFT_OUT = {"javac_300files_withgarbage.hprof.zst", "ts20check_node26.heapsnapshot.zst"}
REAL = [JAVA, RAN_OUT, DOTNET, RUBY, *LEAK] + [
    path for path in real_heaps("v8/*", "gcdump/*", "hprof/*") if path.name not in LEFT_OUT
]
SMALL = 200
OF_ENGINES = re.compile(r"\((?:array|object shape|compiled code|imemo|Bytes > )|\[(?:other|static|\.NET) ")
"""What engines call what is their own, which tables have and sentences say in words."""
REMOVE = "Remove what is no longer needed from it, or limit its size."

pytest_plugins = ("tests.python.heap_fixtures",)


def parts_of(snapshot: Snapshot) -> Iterator[TextPart]:
    for sentence in headline(snapshot, None).sentences:
        yield from pieces(sentence)
    for finding in findings(snapshot, None, 100).findings:
        yield from pieces(finding.sentence)


def check_figures(snapshot: Snapshot) -> int:
    """Hold each figure that has a query to it, and words to templates; every query that shows objects has some."""
    assert_words_are_templates(snapshot)
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


def freed_without(snapshot: Snapshot, chosen: set[int], begin: list[int]) -> int:
    """The objects that some objects no longer reach without passing through others, by traversal."""
    stored = snapshot.references
    start, target = stored.start.tolist(), stored.target.tolist()
    follows = followed(snapshot)[stored.kind].tolist()

    def reached(without: set[int]) -> set[int]:
        seen = set(begin) - without
        waiting = list(seen)
        while waiting:
            item = waiting.pop()
            for at in range(start[item], start[item + 1]):
                if follows[at] and target[at] not in seen and target[at] not in without:
                    seen.add(target[at])
                    waiting.append(target[at])
        return seen

    shallow = snapshot.objects.shallow.tolist()
    return sum(shallow[item] for item in reached(set()) - reached(chosen))


_OF_PARTS = frozenset(
    (
        "duplicate_strings",
        "duplicate_arrays",
        "equal_images",
        "oversized_collections",
        "null_arrays",
        "tiny_collections",
        "zero_arrays",
        "finalizers",
    )
)
"""Rules whose figures are of a part of what their objects are, of the sum of what each retains, or of what no root
reaches."""


def check_filters(snapshot: Snapshot) -> int:
    """Filter by each finding: the figure is that of its objects."""
    found = table.ranked(snapshot, None)
    joined = {name.rule for each in found for name in each.finding.evidence_from}
    checked = 0
    for rule in {each.finding.rule for each in found}:
        own = [each for each in found if each.finding.rule == rule]
        about = {int(number) for each in own if each.objects is not None for number in each.objects}
        assert about
        for text in (rule, own[0].finding.title):
            chosen = filters.chosen(snapshot, f'finding:"={text}"')
            assert chosen is not None
            filtered = set(np.flatnonzero(chosen.mask(snapshot)).tolist())
            # what is evidence of another finding is about objects of its own
            assert about <= filtered if rule in joined else about == filtered
        for each in own:
            assert each.objects is not None
            members = set(each.objects.tolist())
            assert len(members) == len(each.objects)
            amount, kind = each.finding.figure.amount, each.finding.figure.kind
            shallow = sum(int(snapshot.objects.shallow[number]) for number in members)
            if kind == "shallow" and rule not in _OF_PARTS:
                assert shallow == amount
            elif kind == "shallow":
                assert 0 < amount <= shallow
            elif rule not in _OF_PARTS:
                # V8's named roots retain nothing, neither an object nor a set
                begin = holders(snapshot).tolist()
                assert freed_without(snapshot, members, begin) == amount, each.finding.text
            else:
                assert 0 < amount <= sum(int(snapshot.objects.retained[number]) for number in members)
            checked += 1
    return checked


@pytest.mark.parametrize(
    "path",
    [*LEAK[1:], *real_heaps("v8/leak_after*", "hprof/javac_60files*")],
    ids=lambda path: path.name[:20],
)
def test_a_filter_by_a_finding_matches_its_objects(looked_at: Callable[[Path], Snapshot], path: Path) -> None:
    snapshot = looked_at(path)
    assert check_filters(snapshot)
    with pytest.raises(BadRequestError, match="the heap dump has no such finding") as raised:
        filters.chosen(snapshot, "finding:xyz")
    assert "arge " in raised.value.advice.text
    # a rule that doesn't apply to this dump has no objects
    none = filters.chosen(snapshot, "finding:thread_locals,hash_collisions")
    assert none is not None
    assert not none.mask(snapshot).any()


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:40])
def test_figures_agree_with_sql(looked_at: Callable[[Path], Snapshot], path: Path) -> None:
    snapshot = looked_at(path)
    assert check_figures(snapshot)
    first = headline(snapshot, None)
    assert first.rule == "heap"
    assert first.text == " ".join(sentence.text for sentence in first.sentences)
    for text in (first.text, *(finding.text for finding in findings(snapshot, None, 100).findings)):
        assert text.endswith(".")
        assert "  " not in text
        assert " ," not in text
        assert ".." not in text
        assert not OF_ENGINES.search(text)


OWN_LEAK = {"retains_most": (r"3,999 Session|4,000 Session", 8)}
REAL_LEAK: dict[str, tuple[str, int | None]] = {
    "retains_most": (
        r"in 10,000 RequestContext \(leak\.js:4\)\. .+ are held by cache\.map and by bus\._events\.tick: removing",
        4,
    ),
    "listeners": (r"10,000 listeners of “tick”, most of them created at leak\.js:9", None),
    "duplicate_strings": (r"“Mozilla/5\.0 \(X11; Linux\)” 10,000 times", None),
    "contexts": ("", 9),
}  # fmt: skip
"""What findings say, and their lines."""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        *((path, OWN_LEAK) for path in LEAK[1:]),
        *((path, REAL_LEAK) for path in real_heaps("v8/leak_after*")),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_leak_of_javascript(path: Path, said: dict[str, tuple[str, int | None]], tmp_path: Path) -> None:
    with closing(archived(path, tmp_path)) as snapshot:
        found = {each.rule: each for each in findings(snapshot, None, 100).findings}
    for rule, (words, number) in said.items():
        assert re.search(words, found[rule].text)
        reported = found[rule].line
        assert number is None or (reported is not None and reported.line == number)


def texts(snapshot: Snapshot) -> dict[str, str]:
    """What the rules say, by rule, that first which matters most, with ids left out; every figure is checked."""
    assert check_figures(snapshot)
    check_filters(snapshot)
    return {
        each.rule: re.sub(r" @[0-9a-fx]+", "", each.text)
        for each in reversed(findings(snapshot, None, 100).findings)
    }


def v8_heap(*, has: bool) -> bytes:
    """A page with everything that the rules for V8 detect, or with nothing of it."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 1000)
    heap.edge(root, "property", "window", window)
    # present in both cases, so that shares are realistic
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
def test_rules_for_v8(open_dump: Opened, has: bool) -> None:
    snapshot = open_dump(v8_heap(has=has), "page.heapsnapshot")
    found = texts(snapshot)
    if not has:
        assert found == {}
        return
    assert found["retains_most"] == (
        "Cache retains 469 KiB, 27% of the reachable heap, most of it in 200 Session. Held by Window.cache. "
        + REMOVE
    )
    assert found["duplicate_strings"] == (
        "199 strings are copies of others, 77.7 KiB (5% of the reachable heap): “the same text” 200 times."
    )
    assert found["detached_nodes"] == (
        "1 detached DOM node retains 87.9 KiB (5% of the reachable heap); the largest tree is below HTMLDivElement, "
        "held by Window.kept."
    )
    # an array of listeners, the listeners and the variables that they keep are one problem
    assert "contexts" not in found
    (bus,) = [each for each in findings(snapshot, None, 100).findings if each.evidence_from]
    assert bus.line is not None
    assert bus.line.line == 12
    assert re.sub(r" @[0-9]+", "", bus.text) == (
        "Bus (held by Window.bus) has 60 listeners of “tick”, most of them created at bus.js:12, and they retain "
        "180 KiB (11% of the reachable heap). Remove those that are done. The same bytes: Array retains 180 KiB, 11% "
        "of the reachable heap, most of it in 60 Function (bus.js:12). Held by Window.bus._events.tick. 60 closures "
        "onTick (bus.js:12) keep variables of the functions around them, which retain 176 KiB (10% of the reachable "
        "heap), as body."
    )


def test_what_is_global_is_not_kept_by_a_closure(open_dump: Opened) -> None:
    """A function without variables around it refers to its realm, which retains everything."""
    heap = HeapFile()
    top, realm = heap.node("synthetic", ""), heap.node("object", "system / NativeContext", 1_000)
    window = heap.node("object", "Window / https://example.com", 1_000)
    heap.edge(top, "property", "realm", realm)
    heap.edge(realm, "property", "window", window)
    closure, shared, script = (
        heap.node(*each, 8) for each in (("closure", "f"), ("code", "f"), ("hidden", "/a.js"))
    )
    heap.edge(window, "property", "f", closure)
    for source, name, target in (
        (closure, "context", realm),
        (closure, "shared", shared),
        (shared, "script", script),
    ):
        heap.edge(source, "internal", name, target)
    heap.locations.append((closure, 7, 11, 0))
    table = heap.node("object", "Table", 1_000)
    heap.edge(window, "property", "orders", table)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 2_000))
        heap.edge(table, "element", number, heap.node("object", "Order", 1_000))
    found = texts(open_dump(heap.data(), "page.heapsnapshot"))
    assert found == {
        "retains_most": "Table retains 196 KiB, 33% of the reachable heap, most of it in 200 Order. "
        "Held by Window.orders. " + REMOVE
    }


def closures_heap(part: int) -> bytes:
    """A table of sessions in a variable that closures of three functions keep; of another program's parts, so many."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", part))
    context, table = heap.node("object", "system / Context", 50), heap.node("object", "Table", 1_000)
    script = heap.node("hidden", "/app/store.js", 8)
    for number in range(3):
        name = ("open", "close", "report")[number]
        closure, shared = heap.node("closure", name, 64), heap.node("code", name, 8)
        heap.edge(window, "property", name, closure)
        heap.edge(closure, "internal", "context", context)
        heap.edge(closure, "internal", "shared", shared)
        heap.edge(shared, "internal", "script", script)
        heap.locations.append((closure, 7, 10 * number, 0))
    heap.edge(context, "context", "sessions", table)
    for number in range(SMALL):
        heap.edge(table, "element", number, heap.node("object", "Session", 2_000))
    # the other contents of the variables
    heap.edge(context, "context", "log", heap.node("object", "Log", part * SMALL // 4))
    return heap.data()


def test_a_group_retains_what_only_its_members_hold_together(open_dump: Opened) -> None:
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window", 1_000)
    board = heap.node("object", "Board", 50_000)
    heap.edge(root, "property", "window", window)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 4_000))
        room = heap.node("object", "Room", 1_000)
        heap.edge(window, "element", number, room)
        heap.edge(room, "property", "board", board)
    snapshot = open_dump(heap.data(), "page.heapsnapshot")
    assert check_figures(snapshot)
    (group,) = findings(snapshot, None, 100).findings
    assert group.rule == "group_retains_most"
    assert group.figure is not None
    assert group.figure.amount == SMALL * 1_000 + 50_000


@pytest.mark.parametrize("alone", [True, False])
def test_one_that_retains_nearly_all_of_a_group_is_named_in_its_place(
    open_dump: Opened,
    alone: bool,
) -> None:
    """Five caches retain more than a tenth, and the largest less: nearly all of that, or most of it."""
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 9_000))
    for number in range(5):
        cache, table = heap.node("object", "Cache", 100), heap.node("object", "Table", 100)
        heap.edge(window, "property", f"cache{number}", cache)
        heap.edge(cache, "property", "table", table)
        for entry in range(SMALL if number == 0 else 2 if alone else 50):
            heap.edge(table, "element", entry, heap.node("object", "Entry", 960 if alone else 500))
    (found,) = texts(open_dump(heap.data(), "page.heapsnapshot")).values()
    said = re.sub(r" @\d+", "", found)
    if alone:
        assert said.startswith("Table retains 188 KiB, ")
        assert said.endswith("most of it in 200 Entry. Held by Window.cache0.table. " + REMOVE)
    else:
        assert said.startswith("5 Cache (with 5 Table, 400 Entry) retain ")


def test_bytes_of_the_engine_are_those_of_the_object_that_holds_them(open_dump: Opened) -> None:
    """As the memory of WebAssembly, whose bytes are in an object of V8's own below two of the program's."""
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 100))
    memory, buffer = heap.node("object", "Memory", 96), heap.node("object", "ArrayBuffer", 240)
    data = heap.node("native", "system / JSArrayBufferData", 1 << 20)
    heap.edge(window, "property", "memory", memory)
    heap.edge(memory, "property", "buffer", buffer)
    heap.edge(buffer, "internal", "backing_store", data)
    snapshot = open_dump(heap.data(), "page.heapsnapshot")
    said = re.sub(r" @\d+", "", headline(snapshot, None).text)
    assert "ArrayBuffer retains 1.00 MiB, 98% of the reachable heap. Held by Window.memory.buffer." in said


@pytest.mark.parametrize(
    "name", ["global", "global (global*)", "Window [JSGlobalObject]", "Window / file://"]
)
def test_a_global_object_has_its_short_name(open_dump: Opened, name: str) -> None:
    """As of Node.js before and since 24, of Deno and of a page; also where code with the variable's name is gone."""
    heap = HeapFile()
    root, top = heap.node("synthetic", ""), heap.node("object", name, 1_000)
    heap.edge(root, "property", "window", top)
    main, pool = heap.node("closure", "main", 64), heap.node("code", "(constant pool)", 64)
    heap.edge(root, "element", 1, main)
    heap.edge(main, "internal", "shared", pool)
    heap.edge(pool, "internal", "0", heap.node("string", "other", 24))
    orders = heap.node("object", "Orders", 1_000)
    heap.edge(top, "property", "orders", orders)
    for number in range(SMALL):
        heap.edge(orders, "element", number, heap.node("object", "Order", 1_000))
    said = texts(open_dump(heap.data(), "page.heapsnapshot"))["retains_most"]
    assert f"Held by {name.partition(' ')[0]}.orders." in said


@pytest.mark.parametrize(("size", "entries", "is_note"), [(50, 0, True), (150, 0, False), (50, 200, False)])
def test_something_has_to_be_the_largest(open_dump: Opened, size: int, entries: int, is_note: bool) -> None:
    """An object that retains less than a third is a note, unless it is a collection; the headline has it anyway."""
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 1_000))
    atlas = heap.node("object", "Atlas", 1_000 if entries else size * 1_000)
    heap.edge(window, "property", "atlas", atlas)
    for number in range(entries):
        heap.edge(atlas, "element", number, heap.node("object", "Tile", size * 1_000 // entries))
    snapshot = open_dump(heap.data(), "page.heapsnapshot")
    found = [each for each in findings(snapshot, None, 100).findings if each.rule == "retains_most"]
    assert [each.is_note for each in found] == [is_note]
    assert "Atlas @" in headline(snapshot, None).text


def test_a_collection_is_named_and_not_its_internal_table(open_dump: Opened) -> None:
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    sessions, table = heap.node("object", "Map", 32), heap.node("array", "", 5_000)
    heap.edge(window, "property", "sessions", sessions)
    heap.edge(sessions, "internal", "table", table)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 1_000))
        heap.edge(table, "internal", str(number), heap.node("object", "Session", 2_000))
    said = re.sub(r" @\d+", "", texts(open_dump(heap.data(), "page.heapsnapshot"))["retains_most"])
    assert said.startswith("Map retains 396 KiB, ")
    assert said.endswith("most of it in 200 Session. Held by Window.sessions. " + REMOVE)


def test_a_group_may_be_held_by_variables(open_dump: Opened) -> None:
    """Sessions in two tables that two functions fill, both variables of the function around them."""
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    context, script = heap.node("object", "system / Context", 50), heap.node("hidden", "/app/store.js", 8)
    for number in range(SMALL):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 3_000))
        log = heap.node("object", f"Log{number}", 3_000)
        heap.edge(context, "context", f"log{number}", log)
        heap.edge(context, "context", f"session{number}", heap.node("object", "Session", 2_000))
    for number, name in enumerate(("open", "close")):
        closure, shared = heap.node("closure", name, 64), heap.node("code", name, 8)
        heap.edge(window, "property", name, closure)
        heap.edge(closure, "internal", "context", context)
        heap.edge(closure, "internal", "shared", shared)
        heap.edge(shared, "internal", "script", script)
        heap.locations.append((closure, 7, 10 * number, 0))
    found = texts(open_dump(heap.data(), "page.heapsnapshot"))
    assert found["group_retains_most"].startswith("200 Session retain 391 KiB, ")
    assert found["group_retains_most"].endswith(
        ". Variables of the function around open (store.js:1) hold them all."
    )


def test_findings_about_the_same_bytes_are_merged(open_dump: Opened) -> None:
    snapshot = open_dump(closures_heap(part=500), "page.heapsnapshot")
    assert check_figures(snapshot)
    assert check_filters(snapshot)
    (one,) = findings(snapshot, None, 100).findings
    assert re.sub(r" @\d+", "", one.text) == (
        "Table retains 392 KiB, 76% of the reachable heap, most of it in 200 Session. Held by "
        "the variable sessions. "
        + REMOVE
        + " The same bytes: 3 closures, open (store.js:1), close (store.js:11) and report "
        "(store.js:21), keep variables of the functions around them, which retain 416 KiB (81% of the reachable heap), "
        "as sessions, log."
    )
    assert [name.rule for name in one.names] == ["retains_most", "contexts"]
    assert one.line is not None
    assert (one.line.file, one.line.line) == ("/app/store.js", 1)
    assert headline(snapshot, None).text.count("retain") == 1
    # it is also found under the other's name
    assert filters.chosen(snapshot, 'finding:"Kept by closures"') is not None


def test_a_finding_about_far_fewer_bytes_stays_separate(open_dump: Opened) -> None:
    snapshot = open_dump(closures_heap(part=4_000), "page.heapsnapshot")
    found = findings(snapshot, None, 100).findings
    assert [each.rule for each in found] == ["contexts", "retains_most", "retains_most"]
    assert not any(each.evidence_from for each in found)


def test_the_global_object_is_no_finding(open_dump: Opened) -> None:
    """What Node.js has for itself is a fifth here, of a hundred types; what a program keeps in it is named alone."""
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "global", 1_000)
    queue = heap.node("object", "Queue", 100)
    heap.edge(root, "property", "window", window)
    heap.edge(root, "element", 1, queue)
    for number in range(100):
        heap.edge(window, "property", f"part{number}", heap.node("object", f"Part{number}", 1_000))
    for number in range(SMALL):
        heap.edge(queue, "element", number, heap.node("object", "Job", 2_000))
    (finding,) = findings(open_dump(heap.data(), "service.heapsnapshot"), None, 100).findings
    assert finding.text.startswith("Queue @")


@pytest.mark.parametrize("holders", [["index", "recent"], ["index"]])
def test_collections_that_hold_the_same_objects_are_named(open_dump: Opened, holders: list[str]) -> None:
    heap = HeapFile()
    root, window = heap.node("synthetic", ""), heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    jobs = [heap.node("object", "Job", 2_000) for _ in range(SMALL)]
    for name in holders:
        array = heap.node("object", "Array", 100)
        heap.edge(window, "property", name, array)
        for number, job in enumerate(jobs):
            heap.edge(array, "element", number, job)
    (finding,) = findings(open_dump(heap.data(), "page.heapsnapshot"), None, 100).findings
    together = "All of them are held by Window.index and by Window.recent: removing them from one alone frees nothing."
    assert (together in finding.text) == (len(holders) > 1)
    assert finding.text.endswith(REMOVE) == (len(holders) == 1)


def test_the_name_of_a_variable_leads_to_what_it_holds(open_dump: Opened) -> None:
    """And not to V8's context, which has no name of its own."""
    heap = HeapFile()
    root, context = heap.node("synthetic", ""), heap.node("object", "system / Context", 50)
    queue, done = heap.node("object", "Queue", 100), heap.node("object", "Array", 1_000)
    heap.edge(root, "element", 1, context)
    heap.edge(context, "context", "queue", queue)
    heap.edge(queue, "property", "done", done)
    for number in range(SMALL):
        heap.edge(done, "element", number, heap.node("object", "Job", 2_000))
    snapshot = open_dump(heap.data(), "service.heapsnapshot")
    (finding,) = findings(snapshot, None, 100).findings
    holder = finding.sentence.values["holder"].values["holder"]
    assert holder.text == "queue.done"
    assert isinstance(holder, TextPart)
    assert holder.objects is not None
    assert holder.objects.number == queue


class Program:
    """A heap dump of Java that grows: ids follow one another, and class ``Main`` holds what is named."""

    def __init__(self) -> None:
        self.dump = Dump()
        self.last = 0x10_0000
        self.blobs = 0
        self.statics: list[tuple[str, int, float]] = []
        self.object = self.dump.klass(self.next(), "java/lang/Object")
        self.dump.klass(self.next(), "java/lang/Class", self.object)
        value = [("value", OBJECT), ("coder", BYTE), ("hash", INT)]
        self.string = self.dump.klass(self.next(), "java/lang/String", self.object, value)
        self.dump.klass(self.next(), "[B", self.object)
        self.array = self.dump.klass(self.next(), "[Ljava/lang/Object;", self.object)

    def next(self) -> int:
        self.last += 0x1000
        return self.last

    def klass(self, name: str, *fields: tuple[str, int], super_id: int = 0, loader: int = 0) -> int:
        return self.dump.klass(self.next(), name, super_id or self.object, fields, loader=loader)

    def add(self, class_id: int, form: str = "", *values: float) -> int:
        return self.dump.instance(self.next(), class_id, form, *values)

    def blob(self, count: int) -> int:
        """An array of bytes like no other, without zeros."""
        self.blobs += 1
        data = b"%d " % self.blobs
        return self.dump.numbers(self.next(), BYTE, (data * count)[:count])

    def numbers(self, data: bytes) -> int:
        return self.dump.numbers(self.next(), BYTE, data)

    def text(self, text: str) -> int:
        data = self.dump.numbers(self.next(), BYTE, text.encode())
        return self.add(self.string, "PbI", data, 0, 0)

    def list_of(self, *elements: int) -> int:
        return self.dump.objects(self.next(), self.array, elements)

    def keep(self, name: str, number: int) -> None:
        self.statics.append((name, OBJECT, number))

    def data(self) -> bytes:
        main = self.dump.klass(self.next(), "com/example/Main", self.object, statics=self.statics)
        self.dump.add(0x05, "P", main)
        return self.dump.end()


@pytest.mark.parametrize("own", [True, False])
def test_a_collection_of_java_is_named_and_that_of_the_platform_gets_no_advice(
    open_dump: Opened, own: bool
) -> None:
    program = Program()
    package = "com/example" if own else "java/util/zip"
    entry = program.klass(f"{package}/Entry", ("data", OBJECT))
    table = program.dump.klass(program.next(), "[Ljava/util/HashMap$Node;", program.object)
    node = program.klass("java/util/HashMap$Node", ("value", OBJECT))
    map_class = program.klass("java/util/HashMap", ("table", OBJECT))
    nodes = [program.add(node, "P", program.add(entry, "P", program.blob(500))) for _ in range(SMALL)]
    found = program.add(map_class, "P", program.dump.objects(program.next(), table, nodes))
    if own:
        program.keep("open", found)
    else:
        program.dump.add(0x01, "PP", found, 1)
    for number in range(SMALL):
        program.keep(f"other{number}", program.blob(200))
    said = re.sub(r" @0x[0-9a-f]+", "", texts(open_dump(program.data(), "app.hprof"))["retains_most"])
    assert said.startswith("HashMap retains ")
    assert "most of it in 200 HashMap$Node (with 200 Entry" in said
    assert said.endswith(REMOVE) == own


def java_heap(*, has: bool) -> bytes:
    """A program with everything that the rules for Java detect, or with nothing of it."""
    program = Program()
    many = 400 if has else 1
    # present in both cases
    program.keep("BASE", program.list_of(*(program.blob(9_000) for _ in range(100))))
    session = program.klass("com/example/Session", ("name", OBJECT), ("body", OBJECT))
    sessions = [
        program.add(session, "PP", program.text("one user" if has else f"user {n}"), program.blob(800))
        for n in range(many)
    ]
    program.keep("SESSIONS", program.list_of(*sessions))
    lists = program.klass("java/util/ArrayList", ("size", INT), ("elementData", OBJECT))
    empty = [program.add(lists, "iP", 0, program.list_of(*[0] * 20)) for _ in range(many)]
    program.keep("EMPTY", program.list_of(*empty))
    sparse = [program.add(lists, "iP", 1, program.list_of(program.object, *[0] * 40)) for _ in range(many)]
    program.keep("SPARSE", program.list_of(*sparse))
    program.keep("NULLS", program.list_of(*(program.list_of(*[0] * 30) for _ in range(many))))
    integer = program.klass("java/lang/Integer", ("value", INT))
    program.keep("BOXES", program.list_of(*(program.add(integer, "i", n) for n in range(8 * many))))
    reference = program.klass("java/lang/ref/Reference", ("referent", OBJECT), ("next", OBJECT))
    weak = program.klass("java/lang/ref/WeakReference", super_id=reference)
    entry = program.klass("java/lang/ThreadLocal$ThreadLocalMap$Entry", ("value", OBJECT), super_id=weak)
    key = program.add(program.klass("java/lang/ThreadLocal"))
    program.keep("BUFFER", key)
    program.keep("THREAD", program.list_of(program.add(entry, "PPP", program.blob(150 * many), key, 0)))
    listeners = program.list_of(*(program.blob(100) for _ in range(many)))
    bus = program.klass("com/example/Bus", ("listeners", OBJECT))
    program.keep("bus", program.add(bus, "P", listeners))
    loader_class = program.klass("com/example/Loader", ("cache", OBJECT))
    loaders = [program.add(loader_class, "P", program.blob(50 * many)) for _ in range(3 if has else 2)]
    # each by its class alone
    plugins = [program.add(program.klass("com/example/Plugin", loader=loader)) for loader in loaders]
    program.keep("PLUGINS", program.list_of(*plugins))
    final = program.klass("java/lang/ref/FinalReference", super_id=reference)
    finalizer = program.klass("java/lang/ref/Finalizer", super_id=final)
    waiting = [program.add(finalizer, "PP", program.blob(300), 0) for _ in range(many)]
    program.keep("QUEUE", program.list_of(*waiting))
    return program.data()


@pytest.mark.parametrize("has", [True, False])
def test_rules_for_java(open_dump: Opened, has: bool) -> None:
    found = texts(open_dump(java_heap(has=has), "main.hprof"))
    if not has:
        # present in both cases
        assert list(found) == ["retains_most"]
        return
    for rule, text in JAVA_TEXTS.items():
        assert text in found[rule], rule
    assert set(found) == {*JAVA_TEXTS, "group_retains_most"}


JAVA_TEXTS = {
    "retains_most": "Object[] retains 900 KiB",
    "duplicate_strings": "“one user” 400 times.",
    "duplicate_arrays": "399 arrays have the same elements as another",
    "tiny_collections": "400 ArrayList have one to four elements, and take",
    "empty_collections": "400 ArrayList are empty and retain",
    "oversized_collections": "400 Object[] use less than a quarter of their slots; the unused ones take",
    "null_arrays": "400 Object[] use less than a quarter of their slots (400 of them none); the unused ones take",
    "boxed_numbers": "3,200 numbers are objects of their own (Integer)",
    "thread_locals": "; the largest is Main.BUFFER = byte[], held by Main.THREAD[0] (system class). Remove",
    "listeners": "Bus keeps ",
    "class_loaders": "60 KiB (2% of the reachable heap); one is Loader, held by Main.PLUGINS[0] (system class).",
    "finalizers": "400 objects wait for their finalizers (400 byte[]) and keep",
}


def test_what_a_local_variable_holds(open_dump: Opened) -> None:
    program = Program()
    dump = program.dump
    thread = program.add(program.klass("java/lang/Thread", ("name", OBJECT)), "P", program.text("main"))
    orders = program.list_of(*(program.blob(1_000) for _ in range(200)))
    shop = program.add(program.klass("com/example/Shop", ("orders", OBJECT)), "P", orders)
    for number, method in enumerate(("main", "wait")):
        texts_of_frame = dump.name(method), dump.name("()V"), dump.name("Shop.java")
        dump.record(0x04, dump.pack("PPPPIi", 70 + number, *texts_of_frame, dump.serials, 7))
    dump.record(0x05, dump.pack("IIIPP", 12, 4, 2, 71, 70))
    dump.add(0x08, "PII", thread, 4, 12)
    dump.add(0x03, "PII", shop, 4, 1)
    snapshot = open_dump(program.data(), "shop.hprof")
    found = texts(snapshot)
    assert found["retains_most"].endswith(
        "Held by a local variable of Shop.main (Shop.java:7) in thread main, through orders. " + REMOVE
    )
    (held, *_) = [
        part for part in parts_of(snapshot) if part.line is not None and part.text.startswith("Shop.main")
    ]
    assert held.line is not None
    assert (held.line.file, held.line.line, held.text) == (
        "com/example/Shop.java",
        7,
        "Shop.main (Shop.java:7)",
    )


@pytest.mark.parametrize("lost", [100, 300])
def test_a_dump_that_is_mostly_garbage(open_dump: Opened, lost: int) -> None:
    """Of which more is out of roots' reach than within it."""
    program = Program()
    program.keep("KEPT", program.list_of(*(program.blob(1_000) for _ in range(200))))
    buffers = program.klass("com/example/Buffers", ("all", OBJECT))
    program.add(buffers, "P", program.list_of(*(program.blob(1_000) for _ in range(lost))))
    snapshot = open_dump(program.data(), "main.hprof")
    assert check_figures(snapshot)
    said = [each.text for each in headline(snapshot, None).sentences]
    assert "KiB is unreachable" in said[0]
    assert len(said) == (3 if lost > 200 else 2)
    if lost > 200:
        assert re.match(r"1 Buffers retains \d+ KiB \(100%\) of what is unreachable: garbage that", said[1])


def test_a_chain_of_lost_objects_is_counted_whole(open_dump: Opened) -> None:
    """Each is retained by the one before, as a list of timers is: the first alone would be "1 Timer"."""
    program = Program()
    program.keep("KEPT", program.list_of(program.blob(1_000)))
    timer = program.klass("com/example/Timer", ("next", OBJECT), ("data", OBJECT))
    after = 0
    for _ in range(300):
        after = program.add(timer, "PP", after, program.blob(1_000))
    snapshot = open_dump(program.data(), "main.hprof")
    assert check_figures(snapshot)
    said = [each.text for each in headline(snapshot, None).sentences]
    assert re.match(r"300 Timer are unreachable, 1 of which retains \d+ KiB \(100%\) of it: garbage", said[1])


@pytest.mark.parametrize("holder", ["Object > Outbox", "the class Object"])
def test_a_leak_of_ruby_leads_to_the_line_that_allocates(open_dump: Opened, holder: str) -> None:
    """Of Ruby's dumps references have no names: what holds is said by types, a class by its name."""
    numbers = range(0x7F00_0000_0000, 0x7F00_0100_0000, 0x40)
    of_object, of_outbox, of_array, of_message, outbox, sent, tracer, *messages = numbers[: 7 + SMALL]
    kinds = {of_object: "Object", of_outbox: "Outbox", of_array: "Array", of_message: "Message"}
    classes = [
        line(address, "CLASS", [outbox if ">" in holder else sent], name=name)
        for address, name in kinds.items()
        if name == "Object"
    ]
    classes += [line(address, "CLASS", name=name) for address, name in kinds.items() if name != "Object"]
    rows = [
        line(outbox, "OBJECT", [sent], **{"class": of_outbox}, file="mail.rb", line=30),
        line(sent, "ARRAY", messages, **{"class": of_array}, length=SMALL, file="mail.rb", line=12),
        # where objects were allocated is kept in a third of the heap, which nobody asks about
        line(
            tracer,
            "DATA",
            [],
            **{"class": of_object},
            struct="ObjectTracing/allocation_info_tracer",
            memsize=SMALL * 500,
        ),
        *(
            line(
                each,
                "OBJECT",
                [],
                **{"class": of_message},
                memsize=1_000,
                file="mail.rb",
                line=33 if number else 2,
            )
            for number, each in enumerate(messages)
        ),
    ]
    snapshot = open_dump(made(root("vm", *kinds, tracer), *classes, *rows), "mail.json")
    found = texts(snapshot)
    assert found["retains_most"].endswith(
        f"most of it in 200 Message (allocated at mail.rb:33). Held by {holder}. " + REMOVE
    )
    first, *others = findings(snapshot, None, 100).findings
    assert first.line is not None
    assert (first.line.file, first.line.line) == ("mail.rb", 33)
    assert [each.rule for each in others if each.rule == "retains_most"] == []


@pytest.mark.parametrize("size", [4, 5])
def test_tiny_collections(open_dump: Opened, size: int) -> None:
    """A map of four elements has a table, entries, a view of its keys; one of five isn't tiny."""
    program = Program()
    key = program.klass("com/example/Key", ("number", INT))
    node = program.klass("java/util/HashMap$Node", ("key", OBJECT), ("value", OBJECT), ("next", OBJECT))
    views = program.klass("java/util/HashMap$KeySet", ("this$0", OBJECT))
    maps = program.klass("java/util/HashMap", ("table", OBJECT), ("keySet", OBJECT), ("size", INT))
    entries = [(program.add(key, "i", n), program.list_of(program.object)) for n in range(size)]
    for number in range(1_000):
        ends = [program.add(node, "PPP", *each, 0) for each in entries[:2]]
        chain = 0
        for each in entries[2:]:
            chain = program.add(node, "PPP", *each, chain)
        table = program.list_of(*ends, chain)
        program.keep(f"MAP{number}", program.add(maps, "PPi", table, program.add(views, "P", 0), size))
    snapshot = open_dump(program.data(), "main.hprof")
    found = texts(snapshot)
    assert ("tiny_collections" in found) == (size == 4)
    if size == 4:
        names = snapshot.strings.texts(snapshot.types.name)
        chosen = filters.chosen(snapshot, "finding:tiny_collections")
        assert chosen is not None
        members = np.flatnonzero(chosen.mask(snapshot))
        kinds = [names[number] for number in snapshot.objects.type[members].tolist()]
        # neither keys nor values, though a value is an array
        assert {name: kinds.count(name) for name in set(kinds)} == {
            "java.util.HashMap": 1_000,
            "java.util.HashMap$KeySet": 1_000,
            "java.util.HashMap$Node": 4_000,
            "java.lang.Object[]": 1_000,
        }
        slot = int(snapshot.manifest.settings["reference_bytes"])
        more = int(snapshot.objects.shallow[members].sum()) - 1_000 * (2 * 8 + 2 * 4 * slot)
        assert f"and take {format_bytes(more)} (" in found["tiny_collections"]


@pytest.mark.parametrize("kind", ["zeros", "mostly zeros", "mostly numbers", "the same", "texts"])
def test_arrays_of_numbers(open_dump: Opened, kind: str) -> None:
    """Of zeros, with zeros after the first quarter, or equal; without the characters of strings, which are others."""
    program = Program()
    data = {
        "zeros": [bytes(200)] * 300,
        "mostly zeros": [b"%049d" % n + bytes(151) for n in range(300)],
        "mostly numbers": [b"%050d" % n + bytes(150) for n in range(300)],
        "the same": [b"the same table " * 14] * 300,
        "texts": [b"the same table " * 14] * 300,
    }[kind]
    arrays = [program.dump.numbers(program.next(), BYTE, each) for each in data]
    if kind == "texts":
        arrays = [program.add(program.string, "PbI", each, 0, 0) for each in arrays]
    program.keep("ALL", program.list_of(*arrays))
    found = texts(open_dump(program.data(), "main.hprof"))
    assert ("zero_arrays" in found) == kind.endswith("zeros")
    assert ("duplicate_arrays" in found) == (kind == "the same")
    assert any("strings are copies" in text for text in found.values()) == (kind == "texts")
    if kind == "zeros":
        assert "300 byte[] hold only zeros, 58.6 KiB" in (found["zero_arrays"])
    elif kind == "mostly zeros":
        assert "300 byte[] hold only zeros after their first quarter, 44.2 KiB" in found["zero_arrays"]
    elif kind == "the same":
        assert found["duplicate_arrays"].startswith("299 arrays have the same elements as another, ")


@pytest.mark.parametrize("beyond", [0, 1, 2])
def test_three_types_are_named_and_the_others_counted(open_dump: Opened, beyond: int) -> None:
    program = Program()
    kinds = [BYTE] * 60 + [INT] * 50 + [LONG] * 40 + [SHORT] * beyond
    arrays = [program.dump.numbers(program.next(), kind, bytes(2_000)) for kind in kinds]
    program.keep("ALL", program.list_of(*arrays))
    rest = {0: " hold only", 1: " and 1 other hold only", 2: " and 2 others hold only"}[beyond]
    found = texts(open_dump(program.data(), "main.hprof"))
    assert f"60 byte[], 50 int[], 40 long[]{rest} zeros" in found["zero_arrays"]


@pytest.mark.parametrize("length", [40, 8])
def test_hash_collisions(open_dump: Opened, length: int) -> None:
    program = Program()
    key = program.klass("com/example/Key", ("number", INT))
    node = program.klass("java/util/HashMap$Node", ("key", OBJECT), ("next", OBJECT))
    tree = program.klass("java/util/HashMap$TreeNode", ("parent", OBJECT), super_id=node)
    maps = program.klass("java/util/HashMap", ("table", OBJECT), ("size", INT))
    buckets = []
    for bucket in range(5):
        entry = 0
        for _ in range(length + bucket):
            # a tree's nodes have the fields of the class, and then those of a list's
            one = program.add(key, "i", 7)
            entry = (
                program.add(tree, "PPP", 0, one, entry) if bucket % 2 else program.add(node, "PP", one, entry)
            )
        buckets.append(entry)
    program.keep("CACHE", program.add(maps, "Pi", program.list_of(0, *buckets), 5 * length))
    found = texts(open_dump(program.data(), "main.hprof"))
    # of eight to twelve entries, those with nine or more
    assert ("hash_collisions" in found) == (length > 8)
    if length > 8:
        assert found["hash_collisions"].startswith(
            "210 entries of maps are in 5 buckets of 9 or more, 44 in the "
        )
        assert (
            "most of their keys are Key, whose hashCode has few values; the longest is held by Main.CACHE.table[5"
            in (found["hash_collisions"])
        )


@pytest.mark.parametrize("length", [4_000, 50_000])
def test_texts_that_are_not_known_to_the_end_are_probably_copies(open_dump: Opened, length: int) -> None:
    """Of Ruby's strings 4 KiB are kept, and these differ at their ends: the shorter ones are no copies at all."""
    numbers = range(0x7F00_0000_0000, 0x7F00_0100_0000, 0x40)
    of_string, kept, *strings = numbers[: 2 + SMALL]
    rows = [
        line(each, "STRING", [], **{"class": of_string}, value="x" * length + f"{number:03}", memsize=length)
        for number, each in enumerate(strings)
    ]
    data = made(
        root("vm", of_string, kept),
        line(of_string, "CLASS", name="String"),
        line(kept, "ARRAY", strings),
        *rows,
    )
    snapshot = open_dump(data, "mail.json")
    # the array that holds them all is about the same bytes
    (found,) = findings(snapshot, None, 100).findings
    assert ("duplicate_strings" in [each.rule for each in found.names]) == (length == 50_000)
    if length == 50_000:
        assert "The same bytes: 199 strings are probably copies of others, 9.49 MiB (99% of" in found.text
        assert "Of 199 of them only a part of the text is known; that and their size are equal." in found.text


@pytest.mark.slow
def test_long_strings_of_python_that_end_otherwise_are_no_copies(tmp_path: Path) -> None:
    program = (
        "import sys, memlens.dump\n"
        "kept = ['x' * 200 + f'{number:05}' for number in range(5_000)]\n"
        "memlens.dump.heap(sys.argv[1])\n"
        "kept = [('x' * 200 + '.' * int(sys.argv[3])) for number in range(5_000)]\n"
        "memlens.dump.heap(sys.argv[2])\n"
    )
    paths = [tmp_path / "other.pyheap", tmp_path / "equal.pyheap"]
    command = [sys.executable, "-c", program, *map(str, paths), "5"]
    subprocess.run(command, check=True, cwd=ROOT / "pyserver")
    for path in paths:
        with closing(archived(path, tmp_path)) as snapshot:
            said = texts(snapshot).get("duplicate_strings", "")
        assert said.startswith("5,") == (path.stem == "equal"), said
        assert ("are probably copies" in said) == (path.stem == "equal"), said


PYTHON_PROGRAM = """
import functools, sys, types, memlens.dump

class Page:
    def __init__(self):
        self.body = bytearray(9_000)

class Fetcher:
    seen = {}

cache = types.ModuleType("shop.cache")
cache.pages = {}
sys.modules["shop.cache"] = cache

class Registry:
    pages = None

registry = Registry()
registry.pages = {}

@functools.cache
def load(number):
    return Page()

def work(pages):
    for number in range(300):
        if pages is None:
            load(number)
        else:
            pages[number] = Page()
    memlens.dump.heap(sys.argv[1])

def collect():
    mine = {}
    work(mine)

"""
PYTHON_HOLDERS = {
    "work(Fetcher.seen)": "Held by Fetcher.seen. " + REMOVE,
    "work(cache.pages)": "Held by shop.cache.pages. " + REMOVE,
    "work(registry.pages)": "Held by __main__.registry.pages. " + REMOVE,
    "work(None)": "Held by __main__.load. Give lru_cache a maxsize, or call cache_clear.",
    "collect()": "Held by the local variable pages of work (service.py:31) in thread MainThread. " + REMOVE,
}


@pytest.mark.slow
@pytest.mark.parametrize("call", PYTHON_HOLDERS)
def test_what_holds_objects_of_python_is_said_by_name(tmp_path: Path, call: str) -> None:
    """A class's attribute, a module's, one of what a module names, a cache, and a function's variable."""
    program, path = tmp_path / "service.py", tmp_path / "service.pyheap"
    dump = "memlens.dump.heap(sys.argv[1])\n"
    # what still runs holds its arguments as well
    text = PYTHON_PROGRAM if call == "collect()" else PYTHON_PROGRAM.replace(f"    {dump}", "")
    program.write_text(f"{text}{call}\n{'' if call == 'collect()' else dump}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "pyserver")}
    subprocess.run([sys.executable, program, path], check=True, cwd=tmp_path, env=environment)
    with closing(archived(path, tmp_path)) as snapshot:
        (found, *others) = findings(snapshot, None, 100).findings
        line = next(
            (part.line for part in pieces(found.sentence) if part.text.endswith("(service.py:31)")), None
        )
    assert found.text.endswith(PYTHON_HOLDERS[call])
    # neither classes nor the dictionaries of modules, of which every program has many
    assert not others
    assert (line is not None) == (call == "collect()")


@pytest.mark.slow
def test_thread_locals_of_python(tmp_path: Path) -> None:
    program = (
        "import sys, threading, memlens.dump\n"
        "kept = threading.local()\n"
        "memlens.dump.heap(sys.argv[1])\n"
        "kept.pages = [bytearray(100_000) for _ in range(20)]\n"
        "memlens.dump.heap(sys.argv[2])\n"
    )
    paths = [tmp_path / "before.pyheap", tmp_path / "after.pyheap"]
    subprocess.run([sys.executable, "-c", program, *map(str, paths)], check=True, cwd=ROOT / "pyserver")
    for path in paths:
        with closing(archived(path, tmp_path)) as snapshot:
            found = texts(snapshot)
        assert ("thread_locals" in found) == (path.stem == "after")
    assert found["thread_locals"].startswith("Thread-local variables retain 1.91 MiB")
    assert "held by" in found["thread_locals"]


@pytest.mark.parametrize("elements", [0, 1])
def test_empty_collections_of_javascript(open_dump: Opened, elements: int) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    shape = heap.node("hidden", "system / Map", 10)
    for number in range(300):
        # tables of the smallest size, and some larger ones: of small integers, which aren't objects
        owner, table = heap.node("object", "Map", 216 if number < 290 else 5_000), heap.node("array", "", 0)
        heap.edge(window, "property", f"map{number}", owner)
        heap.edge(owner, "internal", "table", table)
        heap.edge(table, "internal", "map", shape)
        for element in range(elements):
            heap.edge(table, "internal", str(element), heap.node("object", "Value", 10))
    found = texts(open_dump(heap.data(), "maps.heapsnapshot"))
    assert ("empty_collections" in found) == (not elements)
    assert elements or found["empty_collections"].startswith("290 Map are empty, or have only small integers")


def test_a_chain_is_named_by_its_first_object(open_dump: Opened) -> None:
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 1_000)
    heap.edge(root, "property", "window", window)
    heap.edge(window, "property", "other", heap.node("object", "Buffer", 100_000))
    last, name = window, "queue"
    for _ in range(3_000):
        item = heap.node("object", "Item", 100)
        heap.edge(last, "property", name, item)
        last, name = item, "next"
    found = texts(open_dump(heap.data(), "list.heapsnapshot"))
    assert found["retains_most"] == (
        "Item retains 293 KiB, 75% of the reachable heap, a chain of 3,000 Item. Held by Window.queue. "
        + REMOVE
    )


def test_findings_of_a_large_dump_are_made_with_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.heapsnapshot"
    path.write_bytes(closures_heap(part=500))
    with closing(archived(path, tmp_path / "small")) as snapshot:
        assert not FINDINGS.is_current(snapshot.origin)
        expected = findings(snapshot, None, 100), headline(snapshot, None)
        distances = held_distances(snapshot).tolist()
        assert not TOGETHER.is_current(snapshot.origin)
    monkeypatch.setattr(ingest, "EXAMINED_FROM", 100)
    monkeypatch.setattr(examining, "WORKED_OUT_FROM", 100)
    stages: list[tuple[str, float]] = []
    archive = ingest.ingest(
        path, Cache(tmp_path / "large"), lambda stage, fraction: stages.append((stage, fraction))
    )
    fractions = [fraction for _, fraction in stages]
    assert fractions == sorted(fractions)
    assert stages[-1][0] == "examining"
    later = ingest.ingest(path, Cache(tmp_path / "later"), lambda *_: None, findings=False)
    with closing(Snapshot.open(later)) as snapshot:
        assert not any(artefact.is_current(snapshot.origin) for artefact in EXAMINED)
        examine(snapshot, lambda *_: None)
        assert all(artefact.is_current(snapshot.origin) for artefact in EXAMINED)
        assert (findings(snapshot, None, 100), headline(snapshot, None)) == expected
    with closing(Snapshot.open(archive)) as snapshot:
        assert FINDINGS.is_current(snapshot.origin)
        assert TOGETHER.is_current(snapshot.origin)
        assert (findings(snapshot, None, 100), headline(snapshot, None)) == expected
        assert held_distances(snapshot).tolist() == distances
    # columns of a wrong length are made again, even with a valid checksum
    with closing(Snapshot.open(archive)) as snapshot:
        HELD_DISTANCES.drop(archive)
        short = HELD_DISTANCES._replace(
            make=lambda _snapshot, path, _report: write_columns(
                path, {"distance": np.zeros(3, np.uint32)}, []
            )
        )
        short.write(snapshot)
        assert held_distances(snapshot).tolist() == distances
        assert not HELD_DISTANCES.is_current(snapshot.origin)


@pytest.mark.parametrize(
    ("owner", "count", "is_found"),
    [("shop/Charsets", 300, True), ("sun/nio/cs/Charsets", 300, False), ("sun/nio/cs/Charsets", 6_000, True)],
)
def test_the_runtime_s_own_tables_get_no_advice(
    open_dump: Opened, owner: str, count: int, is_found: bool
) -> None:
    """A table of arrays of zeros, in a class of the program or of the JDK; what is large is said in any case."""
    dump = Dump()
    object_class = dump.klass(0x100, "java/lang/Object")
    objects = dump.klass(0x120, "[Ljava/lang/Object;", object_class)
    dump.klass(0x140, owner, object_class, statics=[("TABLE", OBJECT, 0x1000)])
    members = [0x10000 + 0x800 * number for number in range(count)]
    dump.objects(0x1000, objects, members)
    for member in members:
        dump.numbers(member, BYTE, bytes(1_000))
    dump.add(0x05, "P", 0x140)
    found = texts(open_dump(dump.end(), "charsets.hprof"))
    assert ("retains_most" in found, "zero_arrays" in found) == (is_found, is_found)
