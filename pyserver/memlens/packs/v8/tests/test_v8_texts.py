"""The texts of V8's concatenated strings, against DevTools' way of joining them, and wherever texts are used."""

import json
import random
import subprocess
from contextlib import closing
from pathlib import Path
from shutil import which

import pytest
from tests.python.conftest import ROOT
from tests.python.heap_archives import Opened, archived
from tests.python.heap_files import HeapFile
from tests.python.recordings import JAVA, RAN_OUT, RUBY
from tests.python.test_findings_of_heaps import check_figures

from memlens.model.graph import Graph
from memlens.packs.v8 import texts as v8_texts
from memlens.packs.v8.tests.test_v8_heap import load, loaded
from memlens.packs.v8.texts import UNKNOWN_PART
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.findings.ahead import findings
from memlens.views.findings.graph import duplicates as rule
from memlens.views.findings.graph.case import GraphCase
from memlens.views.heap.filters import filters
from memlens.views.heap.listing.one_object import describe
from memlens.views.sql.query import SqlSession
from memlens.views.sql.schema import examples

pytest_plugins = ("tests.python.heap_fixtures",)

FIXTURES = ROOT / "tests" / "fixtures" / "heap"
JOINED, LONGEST = "concatenated string", 1_024


class Ropes:
    """A heap of strings below one object, with the parts of those that are concatenated."""

    def __init__(self) -> None:
        self.heap = HeapFile()
        self.heap.node("synthetic", "")
        self.holder = self.heap.node("object", "Holder", 24)
        self.heap.edge(0, "property", "holder", self.holder)
        self.parts: dict[int, list[int]] = {}

    def kept(self, number: int) -> int:
        self.heap.edge(self.holder, "property", f"kept{number}", number)
        return number

    def text(self, text: str, size: int = 24) -> int:
        return self.heap.node("string", text, size)

    def joined(self, *parts: int) -> int:
        number = self.heap.node(JOINED, f"({JOINED})", 32)
        self.heap.edge(number, "internal", "map", self.holder)
        self.parts[number] = []
        for name, part in zip(("first", "second"), parts, strict=False):
            self.refer(number, name, part)
        return number

    def refer(self, number: int, name: str, part: int) -> None:
        self.heap.edge(number, "internal", name, part)
        self.parts[number].append(part)

    def as_devtools(self, number: int) -> str:
        """The parts' texts one after the other, until there are enough units of UTF-16."""
        names, found, waiting = list(self.heap.strings), "", [number]
        while waiting and units(found) < LONGEST:
            item = waiting.pop()
            if item in self.parts:
                waiting += reversed(self.parts[item])
            else:
                found += names[self.heap.nodes[item]["name"]]
        return cut(found)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def cut(text: str) -> str:
    """The first characters that have so many units."""
    most = LONGEST
    while units(text[:most]) > LONGEST:
        most -= 1
    return text[: most if units(text[:most]) == LONGEST else most + 1]


def name_of(graph: Graph, number: int) -> str:
    return graph.texts[int(graph.objects.name[number])]


@pytest.mark.parametrize("seed", range(8))
def test_texts_are_those_of_devtools(seed: int, tmp_path: Path) -> None:
    rng, ropes = random.Random(seed), Ropes()
    letters = "ab", "é€", "\U0001f600", UNKNOWN_PART
    strings = [ropes.text("")]
    strings += [ropes.text(rng.choice(letters) * rng.choice((0, 1, 7, 300, 2_000))) for _ in range(12)]
    strings.append(ropes.heap.node("sliced string", UNKNOWN_PART, 32))
    for _ in range(200):
        strings.append(ropes.joined(rng.choice(strings), rng.choice(strings[-20:])))
    graph = loaded(ropes.heap.data(), tmp_path)
    assert len(ropes.parts) == 200
    for number in ropes.parts:
        found, expected = name_of(graph, number), ropes.as_devtools(number)
        # of a part that fills the text alone it is that part's
        assert cut(found) == expected, number
    assert any(units(name_of(graph, number)) >= LONGEST for number in ropes.parts)
    # equal ones are one
    made = [int(graph.objects.name[number]) for number in ropes.parts]
    own = {number for number in made if number >= len(ropes.heap.strings)}
    assert len({graph.texts[number] for number in own}) == len(own)


def test_cycles_missing_parts_and_parts_that_are_no_strings_have_no_text(tmp_path: Path) -> None:
    ropes = Ropes()
    leaf, long = ropes.text("part"), ropes.text("x" * 5_000)
    alone, around, back = ropes.joined(), ropes.joined(leaf), ropes.joined(leaf)
    ropes.refer(alone, "first", alone)
    ropes.refer(alone, "second", leaf)
    ropes.refer(around, "second", back)
    ropes.refer(back, "second", around)
    nothing, half, wrong = ropes.joined(), ropes.joined(leaf), ropes.joined(leaf, ropes.holder)
    above = ropes.joined(leaf, around)
    # what follows a text that is full isn't looked at
    full = ropes.joined(long)
    ropes.refer(full, "second", full)
    graph = loaded(ropes.heap.data(), tmp_path)
    for number in (alone, around, back, nothing, half, wrong, above):
        assert not int(graph.objects.name[number])
    assert name_of(graph, full) == "x" * 5_000


@pytest.mark.slow
def test_hostile_depth_is_neither_slow_nor_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 100_000
    ropes = Ropes()
    letter, empty = ropes.text("x"), ropes.text("")
    ends = []
    for first in (True, False):
        for part in (letter, empty):
            rope = ropes.joined(part, part)
            for _ in range(depth):
                rope = ropes.joined(rope, part) if first else ropes.joined(part, rope)
            ends.append(rope)
    # as long as there is: 2**1000 characters
    rope = letter
    for _ in range(1_000):
        rope = ropes.joined(rope, rope)
    data = ropes.heap.data()
    graph = loaded(data, tmp_path)
    assert [name_of(graph, end) for end in (*ends, rope)] == [
        "x" * LONGEST,
        "",
        "x" * LONGEST,
        "",
        "x" * LONGEST,
    ]
    # one text of each length, the full one once
    assert len(graph.texts.utf8) < 2_000_000
    # strings that grow at their beginning have texts that differ, which would be a thousand times the file
    heap = Ropes()
    letters = [heap.text(chr(0x4E00 + number)) for number in range(1_000)]
    rope, made = heap.text("end"), []
    for number in range(20_000):
        rope = heap.joined(letters[number * number % 1_000], rope)
        made.append(rope)
    monkeypatch.setattr(v8_texts, "_MOST_BYTES", 1 << 20)
    graph = loaded(heap.heap.data(), tmp_path)
    assert len(graph.texts.utf8) < (2 << 20) + 32 * 22_000
    known = [number for number in made if int(graph.objects.name[number])]
    assert len(known) < len(made) - 1_000
    assert all(name_of(graph, number) == heap.as_devtools(number) for number in known[:400])
    (warning,) = graph.warnings
    assert warning.code == "left-out-texts"
    assert warning.said.text.startswith("1")


def duplicates() -> Ropes:
    """Strings and concatenated ones: copies, others as long, ones that are cut or have parts that aren't known."""
    ropes = Ropes()
    for number in range(SMALL):
        ropes.kept(ropes.joined(ropes.text("session of ", 400), ropes.text("one user", 40)))
        ropes.kept(ropes.joined(ropes.text("session", 50), ropes.text(f" of user {number}", 60)))
        # the beginnings are equal, and the ends aren't
        ropes.kept(ropes.joined(ropes.text("long" * 256, 2_000 + number), ropes.text(f"end {number}", 60)))
        sliced = ropes.heap.node("sliced string", UNKNOWN_PART, 32)
        ropes.kept(ropes.joined(ropes.text("key of ", 48 + number), sliced))
        # both parts are copies, and each byte is counted once
        ropes.kept(ropes.joined(ropes.joined(ropes.text("a", 24), ropes.text("b", 24)), ropes.text("c", 24)))
    ropes.kept(ropes.joined(ropes.joined(ropes.joined(ropes.text("a", 24))), ropes.text("another", 24)))
    return ropes


SMALL = 200


def brute_force(ropes: Ropes) -> tuple[int, int]:
    """How many strings are copies of others, and their bytes: all of these are kept by a chain that is only theirs."""
    groups: dict[tuple[str, int, bool], list[int]] = {}
    names = list(ropes.heap.strings)
    for number, node in enumerate(ropes.heap.nodes):
        is_joined = number in ropes.parts
        if is_joined:
            parts = ropes.parts[number]
            if len(parts) < 2 or any(len(ropes.parts.get(part, [0, 0])) < 2 for part in parts):
                continue
            text = ropes.as_devtools(number)
            if len(text) >= LONGEST or UNKNOWN_PART in text:
                continue
        elif node["name"] and names[node["name"]] and node["type"] == 2:
            text = names[node["name"]]
        else:
            continue
        groups.setdefault((text, node["self_size"], is_joined), []).append(node["self_size"])
    return sum(len(each) - 1 for each in groups.values()), sum(
        sum(each) - max(each) for each in groups.values()
    )


def test_copies_are_counted_once_with_their_own_bytes(open_dump: Opened) -> None:
    ropes = duplicates()
    snapshot = open_dump(ropes.heap.data(), "strings.heapsnapshot")
    assert check_figures(snapshot)
    (found,) = [each for each in findings(snapshot, None, 100).findings if each.rule == "duplicate_strings"]
    count, size = brute_force(ropes)
    assert found.figure.amount == size
    assert found.text.startswith(f"{count:,} strings are copies of others")
    assert "“session of ” 200 times" in found.text
    assert saved_by_the_example(snapshot) == (count, size)
    marked = filters.chosen(snapshot, 'finding:"Duplicate strings" string:"=session of one user"')
    assert marked is not None
    assert int(marked.mask(snapshot).sum()) == SMALL


def saved_by_the_example(snapshot: Snapshot) -> tuple[int, int]:
    """How many copies the SQL tab's example lists, and their bytes."""
    tables.fill(snapshot, lambda *_: None)
    (example,) = [
        each.query for each in examples(snapshot.info) if each.title.startswith("Duplicate strings")
    ]
    query = example.replace("LIMIT 100", "")
    assert query != example
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        _, rows = session.stream(f"SELECT sum(copies - 1), sum(bytes) FROM ({query.rstrip().rstrip(';')})")
        ((copies, size),) = list(rows)
    return copies, size


@pytest.mark.parametrize("path", [JAVA, RAN_OUT, RUBY], ids=lambda path: path.name)
def test_the_example_agrees_with_the_finding(path: Path, tmp_path: Path) -> None:
    with closing(archived(path, tmp_path)) as snapshot:
        # of what is too little for a finding as well, as in comparisons
        info = heap_dump_of(snapshot.info)
        assert info is not None
        (ranked,) = rule.strings(GraphCase(snapshot, info, compared_with=info.reachable_bytes))
        copies, size = saved_by_the_example(snapshot)
        assert copies > 30
        assert ranked.finding.figure.amount == size
        assert ranked.finding.text.startswith(f"{copies:,} strings are copies of others")


def test_texts_wherever_strings_have_theirs(open_dump: Opened) -> None:
    ropes = Ropes()
    rope = ropes.kept(ropes.joined(ropes.text("user-"), ropes.joined(ropes.text("4711"), ropes.text(" <b>"))))
    snapshot = open_dump(ropes.heap.data(), "strings.heapsnapshot")
    assert describe(snapshot, rope).object.name == "user-4711 <b>"
    for query in ('string:"user-4711 <b>"', "string:/^user-\\d+ /", "name:r-4711", 'string:"4711 <B>"'):
        chosen = filters.chosen(snapshot, query)
        assert chosen is not None, query
        assert chosen.mask(snapshot)[rope], query
    tables.fill(snapshot, lambda *_: None)
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        assert session.ask(
            "SELECT o.name, s.text, value_of(o.object) FROM objects AS o JOIN strings AS s ON s.string = o.name_string "
            f"WHERE o.object = {rope}"
        ).rows == [["user-4711 <b>"] * 3]


def test_a_real_program(tmp_path: Path) -> None:
    """The program knows its strings; V8 decides which of them are concatenated."""
    node = which("node")
    if node is None:
        pytest.skip("needs Node.js")
    path = tmp_path / "real.heapsnapshot"
    program = f"""
        const kept = globalThis.kept = [];
        for (let i = 0; i < 500; i++) kept.push('the session of user number ' + i + ', which is kept');
        require('v8').writeHeapSnapshot({json.dumps(str(path))});
    """
    subprocess.run([node, "-e", program], check=True, cwd=tmp_path, timeout=120)
    with closing(archived(path, tmp_path)) as snapshot:
        graph = load(path)
        kinds = [graph.type_kinds[int(graph.types.kind[kind])] for kind in graph.objects.type.tolist()]
        joined = {name_of(graph, number) for number, kind in enumerate(kinds) if kind == JOINED}
        expected = {f"the session of user number {number}, which is kept" for number in range(500)}
        assert len(joined & expected) > 400
        chosen = filters.chosen(snapshot, 'string:"the session of user number 77, which"')
        assert chosen is not None
        assert chosen.mask(snapshot).any()
