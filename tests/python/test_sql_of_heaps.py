"""SQL's functions for heap dumps, against the dump's graph in plain Python."""

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.graphs import SmallGraph, attached, random_graph, rooted
from tests.python.heap_archives import Opened, archived
from tests.python.heap_files import HeapFile, heap_of

from memlens.errors import CancelledError, MemlensError
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.heap.objects.rows import type_names
from memlens.views.heap.paths.merged import merged_paths
from memlens.views.heap.retained.by_objects import RetainedAnswer, retained_by
from memlens.views.heap.retained.left_out import LeavesOut, parsed, without
from memlens.views.sql import heap, object_sets
from memlens.views.sql.query import SqlSession
from memlens.views.sql.schema import examples, schema

pytest_plugins = ("tests.python.heap_fixtures",)

Asked = Callable[[str], list[tuple[Any, ...]]]
SEEDS = range(6)


@pytest.fixture(params=SEEDS)
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[SmallGraph, Asked]]:
    graph = random_graph(request.param, 30)
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(graph).data())
    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            yield rooted(graph), lambda query: list(session.stream(query)[1])


@pytest.mark.parametrize(
    ("query", "contents"),
    [
        ("SELECT object, type, shallow_bytes FROM objects", False),
        ("SELECT count(*) FROM strings", False),
        ("SELECT text FROM strings", True),
        ("SELECT count(*) FROM strings WHERE text LIKE 'a%'", True),
        ("SELECT max(length(name)) FROM objects", True),
        ("SELECT value_of(object) FROM objects", True),
    ],
)
def test_a_query_that_reads_contents_says_so(query: str, contents: bool, tmp_path: Path) -> None:
    path = tmp_path / "dump.heapsnapshot"
    heap = HeapFile()
    root = heap.node("synthetic", "")
    heap.edge(root, "internal", "kept", heap.node("string", "alice@example.org", 40))
    path.write_bytes(heap.data())
    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            assert [session.ask(query).contents for _ in range(2)] == [contents] * 2


def test_what_a_set_retains(dump: tuple[SmallGraph, Asked]) -> None:
    graph, asked = dump
    for modulus in (2, 3, 5):
        chosen = [item for item in graph.objects if item % modulus == 1]
        freed = graph.reached([0]) - graph.reached([0], frozenset(chosen))
        query = f"SELECT retained(object) FROM objects WHERE object % {modulus} = 1"
        assert asked(query) == [(sum(graph.shallow[item] for item in freed),)]


def test_the_objects_that_a_set_retains(dump: tuple[SmallGraph, Asked]) -> None:
    graph, asked = dump

    def freed(chosen: set[int]) -> set[int]:
        return graph.reached([0]) - graph.reached([0], frozenset(chosen))

    some = {modulus: {item for item in graph.objects if item % modulus == 1} for modulus in (2, 3, 5)}
    for modulus, chosen in some.items():
        rows = asked(
            "SELECT object, shallow_bytes, name FROM retained_by((SELECT object_set(object) FROM objects "
            f"WHERE object % {modulus} = 1))"
        )
        assert [row[:2] for row in rows] == [(item, graph.shallow[item]) for item in sorted(freed(chosen))]
        own: dict[int, str] = dict(asked("SELECT object, name FROM objects"))
        assert all(name == own[item] for item, _, name in rows)
    # of what references or fields lead to, whatever it is, and each as often as it comes
    for kind in range(3):
        targets = {
            target
            for item in graph.objects
            if graph.types[item] == kind
            for target in graph.strong(item)
            if item
        }
        query = (
            "SELECT count(*), count(DISTINCT object), sum(shallow_bytes) FROM retained_by((SELECT object_set(target) "
            "FROM refs JOIN objects ON object = source, (VALUES (1), (2)) "
            f"WHERE retains AND source > 0 AND type = 'Type{kind}'))"
        )
        held = freed(targets)
        assert asked(query) == [(len(held), len(held), sum(graph.shallow[item] for item in held) or None)]
    # many sets in one query: a set is an object of its own in a row
    sets = "SELECT type AS kind, object_set(object) AS own FROM objects WHERE object > 0 GROUP BY type"
    found = asked(
        f"SELECT kind, count(object) FROM ({sets}) LEFT JOIN retained_by(own) GROUP BY 1 ORDER BY 1"
    )
    by_type = {
        f"Type{kind}": {item for item in graph.objects if item and graph.types[item] == kind}
        for kind in range(3)
    }
    assert found == [(name, len(freed(members))) for name, members in sorted(by_type.items()) if members]
    assert asked("SELECT * FROM retained_by((SELECT object_set(object) FROM objects WHERE object < 0))") == []
    assert asked("SELECT count(*) FROM retained_by(NULL)") == [(0,)]


def test_numbers_are_gathered_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_sets, "_FIRST_LOOK", 8)
    gathered, most = object_sets.Gathered(), 0
    for number in itertools.chain(range(100), range(50), range(40, 200)):
        for _ in range(20):
            gathered.add(number)
            most = max(most, len(gathered._numbers))
    assert gathered.distinct().tolist() == list(range(200))
    assert most <= 400


def test_sets_of_a_query_have_a_size(dump: tuple[SmallGraph, Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    graph, asked = dump
    kept = asked("SELECT object_set(object) FROM objects")[0][0]
    assert asked(f"SELECT object_set(object) FROM objects WHERE '{kept}' != ''") == [(kept,)]
    # it is of the query that made it
    with pytest.raises(MemlensError, match="is not a set of objects"):
        asked(f"SELECT * FROM retained_by('{kept}')")
    count = len(graph.objects)
    monkeypatch.setattr(object_sets, "MOST_BYTES", 4 * (count - 1))
    of_each = "SELECT object_set(object) FROM objects WHERE object < {} GROUP BY object"
    assert len(asked(of_each.format(count - 1))) == count - 1
    with pytest.raises(MemlensError, match=f"take more than {4 * (count - 1)} B"):
        asked(of_each.format(count))


def test_a_walk_ends_when_its_query_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(random_graph(3, 30)).data())
    query, ended = "SELECT retained(object) FROM objects", list[str]()

    def interrupted(snapshot: Snapshot, chosen: list[int]) -> RetainedAnswer:
        session.interrupt()
        try:
            return retained_by(snapshot, chosen)
        except CancelledError:
            ended.append("stopped")
            raise

    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            whole = session.ask(query).rows
            with monkeypatch.context() as patched:
                patched.setattr(heap, "retained_by", interrupted)
                with pytest.raises(MemlensError):
                    session.ask(query)
            assert ended == ["stopped"]
            # the next query is another one
            assert session.ask(query).rows == whole


def test_a_walk_along_references_uses_their_index(tmp_path: Path) -> None:
    # most references are of one list, as in many a program with a large map or cache
    items = range(1, 2_001)
    edges = [[(item, 0) for _ in range(4) for item in items], *([(item % 2_000 + 1, 0)] for item in items)]
    graph = SmallGraph(edges, [0], [0] * 2_001, [1] * 2_001)
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(graph).data())
    query = """
        WITH RECURSIVE below(object) AS (
            SELECT 1 UNION SELECT r.target FROM below JOIN refs AS r ON r.source = below.object WHERE r.{}
        )
        SELECT count(*) FROM below
    """
    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            for condition in ("retains = 1", "strength = 'strong'", "kind = 'property'"):
                walk = query.format(condition)
                plan = " ".join(str(row[3]) for row in session.stream(f"EXPLAIN QUERY PLAN {walk}")[1])
                assert "refs_by_source" in plan
                assert "AUTOMATIC" not in plan
                assert list(session.stream(walk)[1]) == [(2_001,)]


def test_referrers_and_dominated_objects(dump: tuple[SmallGraph, Asked]) -> None:
    graph, asked = dump
    whole = attached(graph)
    for item in graph.objects:
        rows = asked(f"SELECT object, strength FROM referrers_of({item})")
        expected = [
            (source, "weak" if kind else "strong")
            for source, edges in enumerate(graph.edges)
            for target, kind in edges
            if target == item
        ]
        assert sorted(rows) == sorted(expected)
        below = whole.reached([0]) - whole.reached([0], frozenset((item,)))
        assert {row[0] for row in asked(f"SELECT object FROM retained_by({item})")} == below


def test_referrers_by_type_and_name(dump: tuple[SmallGraph, Asked]) -> None:
    graph, asked = dump
    groups = 0
    for kind in range(3):
        members = {item for item in graph.objects if item and graph.types[item] == kind}
        found: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        for source, edges in enumerate(graph.edges):
            for place, (target, weak) in enumerate(edges):
                if target in members:
                    # the file's own root names its references by the objects
                    name = f"field{place}" if source else f"root{target - 1}"
                    of = f"Type{graph.types[source]}" if source else ""
                    found.setdefault((of, name, "weak" if weak else "property"), []).append((source, target))
        expected = {}
        for key, pairs in found.items():
            targets = {target for _, target in pairs}
            freed = graph.reached([0]) - graph.reached([0], frozenset(targets))
            expected[key] = (
                len(pairs), len({source for source, _ in pairs}), len(targets),
                sum(graph.shallow[item] for item in freed), min(source for source, _ in pairs),
            )  # fmt: skip
        if not members:
            continue
        rows = asked(
            "SELECT type, name, kind, refs, referrers, objects, retained_bytes, object "
            f"FROM referrers_by_type('Type{kind}')"
        )
        assert {row[:3]: row[3:] for row in rows if row[0].startswith("Type")} == {
            key: each for key, each in expected.items() if key[0]
        }
        assert sum(row[3] for row in rows) == sum(len(pairs) for pairs in found.values())
        assert [row[5] for row in rows] == sorted((row[5] for row in rows), reverse=True)
        groups += len(rows)
    assert groups
    with pytest.raises(MemlensError, match=r"The heap dump has no type Typ1\. Did you mean Type\d\?"):
        asked("SELECT * FROM referrers_by_type('Typ1')")
    # references named by numbers are one row
    assert asked("SELECT * FROM types, referrers_by_type(types.type) LIMIT 1")


def test_what_a_set_reaches(dump: tuple[SmallGraph, Asked]) -> None:
    graph, asked = dump
    for modulus in (2, 3, 7):
        chosen = [item for item in graph.objects if item % modulus == 1]
        reached = graph.reached(chosen)
        query = f"SELECT reachable(object), count(*) FROM objects WHERE object % {modulus} = 1"
        assert asked(query) == [(sum(graph.shallow[item] for item in reached), len(chosen))]
    rows = asked("SELECT object, reachable(object), retained_bytes FROM objects GROUP BY object")
    assert [row[:2] for row in rows] == [
        (item, sum(graph.shallow[each] for each in graph.reached([item]))) for item in graph.objects
    ]
    assert asked("SELECT reachable(object) FROM objects WHERE object < 0") == [(0,)]


def test_paths(dump: tuple[SmallGraph, Asked]) -> None:
    graph, asked = dump
    looked_at = 0
    for item in graph.reached([0]) - {0}:
        rows = asked(f"SELECT object FROM paths_to({item}) ORDER BY step")
        objects = [row[0] for row in rows]
        assert objects[-1] == item
        assert all(after in graph.strong(before) for before, after in itertools.pairwise(objects))
        looked_at += 1
    joined = asked("SELECT o.object, count(*) FROM objects AS o, paths_to(o.object) GROUP BY o.object")
    assert len(joined) >= looked_at


def test_examples_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(random_graph(3)).data())
    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        names = {table.name: table for table in schema(snapshot.info).tables}
        # nothing here has stacks
        assert next(iter(names)) == "types"
        assert not {"stacks", "stack_frames", "frames", "lines", "by_line"} & names.keys()
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            for example in examples(snapshot.info):
                session.ask(example.query)
            for name in ("paths_to", "referrers_of", "retained_by"):
                columns = [column.name for column in session.ask(f"SELECT * FROM {name}(1)").columns]
                assert columns == [column.name for column in names[name].columns]
                said = {column.name: column.description for column in names[name].columns}
                assert said["type"] == "its type's name"
                assert said["name"].startswith(
                    "its own name" if name == "retained_by" else "the field's name"
                )
            # a column of one name may be something else in another function
            retained = {
                name: column.description
                for name, table in names.items()
                for column in table.columns
                if column.name == "retained_bytes"
            }
            assert retained["retained_by"] == "what would be freed with it"
            assert retained["referrers_by_type"] == "what the objects that they refer to retain together"
            for wrong in (
                "SELECT * FROM paths_to(1, 1, 'strongest')", "SELECT * FROM retained_by('x')",
                "SELECT * FROM referrers_of(1000000)", "SELECT retained('x')", "SELECT retained(-1)",
                "SELECT reachable(1000000)", "SELECT * FROM referrers_by_type(1)", "SELECT object_set('x')",
                "SELECT object_set(1000000)", "SELECT * FROM retained_by(x'00')",
            ):  # fmt: skip
                with pytest.raises(MemlensError):
                    session.ask(wrong)


def v8_fields() -> bytes:
    """An object with a property of the name of V8's own reference, and one of each value that a dump may have."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    holder, shape, inner = (heap.node("object", name, 40) for name in ("Holder", "shape", "Inner"))
    heap.edge(root, "property", "holder", holder)
    # in either order
    heap.edge(holder, "property", "map", inner)
    for each in (holder, inner):
        heap.edge(each, "internal", "map", shape)
    heap.edge(holder, "internal", "table", inner)
    other = heap.node("object", "Holder", 40)
    heap.edge(inner, "property", "other", other)
    heap.edge(other, "internal", "map", shape)
    heap.edge(other, "property", "map", heap.node("object", "Second", 100))
    rope = heap.node("concatenated string", "(concatenated string)", 32)
    heap.edge(rope, "internal", "first", heap.node("string", "one and ", 24))
    heap.edge(rope, "internal", "second", heap.node("string", "two", 24))
    heap.edge(holder, "property", "rope", rope)
    heap.edge(holder, "property", "empty", heap.node("string", "", 16))
    heap.edge(holder, "property", "sliced", heap.node("sliced string", "(sliced string)", 32))
    for name, text in (
        ("half", "0.5"), ("many", "12345678901234567890"), ("none", "NaN"), ("least", "-Infinity"), ("small", "-7"),
        ("odd", "1_0"), ("hidden", None),
    ):  # fmt: skip
        number = heap.node("number", "heap number", 16)
        if text is not None:
            heap.edge(number, "internal", "value", heap.node("string", text, 0))
        heap.edge(holder, "property", name, number)
    return heap.data()


def test_properties_come_before_references_of_v8_and_values_are_values(open_dump: Opened) -> None:
    snapshot = open_dump(v8_fields(), "fields.heapsnapshot")
    tables.fill(snapshot, lambda *_: None)
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:

        def asked(query: str) -> list[tuple[Any, ...]]:
            return list(session.stream(query)[1])

        names = {
            name: number for number, name in asked("SELECT object, type FROM objects ORDER BY object DESC")
        }
        paths = (
            "map",
            "map (internal)",
            "table",
            "table (internal)",
            "table.map",
            "rope (internal)",
            "map.other.map",
        )
        assert asked("SELECT " + ", ".join(f"field({names['Holder']}, '{path}')" for path in paths)) == [
            (
                names["Inner"],
                names["shape"],
                names["Inner"],
                names["Inner"],
                names["shape"],
                None,
                names["Second"],
            )
        ]
        fields = {
            name: (content, number)
            for name, content, number in asked(
                f"SELECT field, content, object FROM fields_of({names['Holder']})"
            )
        }
        values = {
            "rope": "one and two", "empty": "", "half": 0.5, "many": "12345678901234567890", "none": None,
            "least": float("-inf"), "small": -7,
        }  # fmt: skip
        for name, value in values.items():
            assert fields[name][0] == value, name
            assert asked(f"SELECT field({names['Holder']}, '{name}')") == [(value,)], name
        # of which only the object is known
        for name in ("sliced", "odd", "hidden"):
            assert asked(f"SELECT field({names['Holder']}, '{name}')") == [(fields[name][1],)]
        assert (fields["map"][1], fields["map (internal)"][1]) == (names["Inner"], names["shape"])


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Holder.map", ["Inner", "Second"]), ("Holder.map (internal)", ["shape"]), ("Inner.map", ["shape"]),
        (".map", ["Inner", "Second"]), (".map (internal)", ["shape"]), ("Holder.table", ["Inner"]),
        ("Holder.table (internal)", ["Inner"]),
    ],
)  # fmt: skip
def test_what_is_cut_is_what_is_named(open_dump: Opened, text: str, cut: list[str]) -> None:
    snapshot = open_dump(v8_fields(), "fields.heapsnapshot")
    left = without(snapshot, (parsed(snapshot, text),))
    assert left is not None
    start, target = snapshot.references.start.astype(int), snapshot.references.target
    sources = np.repeat(np.arange(len(start) - 1), np.diff(start))
    out = left.are_out(sources, np.arange(len(target)))
    names = type_names(snapshot)
    assert sorted({names[int(snapshot.objects.type[int(each)])] for each in target[out]}) == cut


def test_merged_paths_name_what_a_cut_takes(open_dump: Opened) -> None:
    snapshot = open_dump(v8_fields(), "fields.heapsnapshot")
    names = type_names(snapshot)

    def steps(of: str, chosen: tuple[LeavesOut, ...] = ()) -> list[tuple[str, str]]:
        kind = names.index(of)
        (top,) = merged_paths(snapshot, kind, None, "", 0, 0, 10, (), chosen).rows
        below = merged_paths(snapshot, kind, None, "", top.node, 0, 10, (), chosen).rows
        return [(row.above_type, row.name) for row in below]

    # each is held otherwise by what the cut doesn't name
    for of, name, otherwise in (("shape", "map (internal)", "map"), ("Inner", "map", "table")):
        assert steps(of) == [("Holder", name)]
        assert steps(of, (parsed(snapshot, f"Holder.{name}"),)) == [("Holder", otherwise)]


def test_values_of_python(tmp_path: Path) -> None:
    path = tmp_path / "fields.heap"
    values = {"text": "a text", "empty": "", "whole": 12, "large": 10**30, "half": -0.5, "most": float("inf")}
    lines = ["import memlens.dump", "class Holder: pass", "holder = Holder()", "holder.other = [1]"]
    lines += [f"holder.{name} = {value!r}".replace("inf", "float('inf')") for name, value in values.items()]
    program = "\n".join([*lines, f"memlens.dump.heap({str(path)!r})"])
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    with closing(archived(path, tmp_path)) as snapshot:
        tables.fill(snapshot, lambda *_: None)
        with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
            query = (
                "SELECT f.field, f.content, field(o.object, f.field), f.object "
                "FROM objects AS o JOIN fields_of(o.object) AS f WHERE o.type = '__main__.Holder'"
            )
            found = {name: row for name, *row in session.stream(query)[1]}
            for name, value in values.items():
                known = str(value) if name == "large" else value
                assert found[name][:2] == [known, known], name
            assert found["other"][1] == found["other"][2]
