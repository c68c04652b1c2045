"""``query:`` in filters of heap dumps: what a query's rows name, in every view, against the graph in plain Python."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.python.graphs import SmallGraph, random_graph, rooted
from tests.python.heap_archives import archived
from tests.python.heap_files import heap_of
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view, problem_of

from memlens.cli import main
from memlens.errors import BadRequestError
from memlens.server.sessions import sql as sessions
from memlens.server.sessions.query_process import QueryProcess
from memlens.store.objects.queried import MOST_QUERIES
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.store.tables.fill import are_filled
from memlens.store.tables.schema import PARTS_OF, Part
from memlens.views.heap.filters import filters
from memlens.views.heap.listing.lists import heap_types, objects
from memlens.views.heap.paths.merged import merged_paths
from memlens.views.selection.terms import Term

pytest_plugins = ("tests.python.server_fixtures",)

REQUEST_CANCELLED = -32800

COUNT = "WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT 1 - x FROM n) "
ENDLESS = (COUNT + "SELECT sum(x) FROM n", COUNT + "SELECT x FROM n")
"""Of the first no row comes, of the second rows without an end."""


def query(text: str, *, negated: bool = False) -> str:
    return str(Term("query", ":", (text,), negated))


@pytest.fixture(params=range(4))
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[SmallGraph, Snapshot]]:
    graph = random_graph(request.param, 30)
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(graph).data())
    with closing(archived(path, tmp_path)) as snapshot:
        yield rooted(graph), snapshot


def test_rows_name_objects_in_all_views(dump: tuple[SmallGraph, Snapshot]) -> None:
    graph, snapshot = dump
    odd = {item for item in graph.objects if item % 2}
    targets = {target for edges in graph.edges for target, _ in edges}
    weak = {target for edges in graph.edges for target, kind in edges if kind}
    heavy = {item for item in graph.objects if graph.shallow[item] > 50}
    freed = graph.reached([0]) - graph.reached([0], frozenset(odd))
    cases: list[tuple[str, set[int]]] = [
        (query("SELECT object FROM objects WHERE object % 2"), odd),
        # one column, by whatever name, each object once, and none for NULL
        (query("SELECT target FROM refs UNION ALL SELECT NULL"), targets),
        (query("SELECT source, target AS OBJECT, name FROM refs WHERE strength = 'weak'"), weak),
        (query("SELECT object FROM objects WHERE object % 2", negated=True), set(graph.objects) - odd),
        (query("SELECT object FROM objects WHERE object % 2") + " shallow>50", odd & heavy),
        (
            str(Term("query", ":", ("SELECT 1", "SELECT 2 AS object, 'x, \"y\"'"))),
            {1, 2} & set(graph.objects),
        ),
        (str(Term("retained-by", ":", (query("SELECT object FROM objects WHERE object % 2"),))), freed),
        # what would be freed, by SQL's own function
        (
            query(
                "SELECT object FROM retained_by((SELECT object_set(object) FROM objects WHERE object % 2)) -- all"
            ),
            freed,
        ),
        (query("SELECT object FROM objects WHERE 0"), set()),
    ]
    for text, expected in cases:
        found = objects(snapshot, text, order="object", limit=1000)
        assert {row.object for row in found.rows} == expected, text
        types = heap_types(snapshot, text, "retained", None, "kind", 0, 1000, reverse=False)
        assert sum(row.count for row in types.rows) == len(expected)
        merged = merged_paths(snapshot, None, None, text, 0, 0, 100)
        assert merged.explained + merged.left_out + merged.unreachable == len(expected)


def test_only_the_tables_that_a_query_reads_are_made_and_each_is_asked_once(tmp_path: Path) -> None:
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(random_graph(1, 30)).data())
    with closing(archived(path, tmp_path)) as snapshot:
        text = query("SELECT object FROM objects ORDER BY random() LIMIT 3")
        first = filters.chosen(snapshot, text)
        assert first is not None
        mask = first.mask(snapshot)
        assert int(mask.sum()) == 3
        assert are_filled(snapshot.origin, ("base", "objects"))
        assert not are_filled(snapshot.origin, ("refs",))
        for more in ("", " -type:nothing"):
            again = filters.chosen(snapshot, text + more)
            assert again is not None
            assert bool((again.mask(snapshot) == mask).all())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT nix FROM objects", "The filter's query: no such column: nix (at character 8)"),
        (
            "SELECT source, target FROM refs",
            "The filter's query: The query has no column named object. Name a column object",
        ),
        ("SELECT object, object FROM objects", "The filter's query: The query has no column named object"),
        ("SELECT name FROM objects WHERE name != ''", "is not the number of an object"),
        ("SELECT -1", "The filter's query: -1 is not the number of an object"),
        ("SELECT 1e300", "1e+300 is not the number of an object"),
        ("SELECT 4611686018427387904", "is not the number of an object"),
        ("DELETE FROM objects", "The filter's query: The tables can only be read: DELETE is not allowed"),
        ("DROP TABLE objects", "The filter's query: The tables can only be read: changing tables is not"),
        ("ATTACH 'other.db' AS other", "The filter's query: The tables can only be read"),
        ("SELECT load_extension('x')", "The filter's query: "),
        ("SELECT 1; SELECT 2", "The filter's query: One statement at a time"),
        (" ", "The filter's query: The query is empty. Write one, for example SELECT * FROM types."),
        ("SELECT object FROM objetcs", "Did you mean objects?"),
    ],
)
def test_what_is_wrong_with_a_query_is_told_as_of_any_filter(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(random_graph(1, 30)).data())
    with closing(archived(path, tmp_path)) as snapshot:
        with pytest.raises(BadRequestError) as caught:
            filters.chosen(snapshot, query(text))
        assert message in str(caught.value)


def test_a_query_is_compared_with_nothing(dump: tuple[SmallGraph, Snapshot]) -> None:
    with pytest.raises(BadRequestError, match="can't be compared with < or >"):
        filters.chosen(dump[1], 'query>"SELECT 1"')
    with pytest.raises(BadRequestError, match="needs a value"):
        filters.chosen(dump[1], "query:")


def test_commands_take_a_query_in_their_filter(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, cache = tmp_path / "dump.heapsnapshot", str(tmp_path / "cache")
    path.write_bytes(heap_of(random_graph(2, 30)).data())
    text = query("SELECT object FROM objects WHERE shallow_bytes > 40")

    def printed(*arguments: str) -> Any:
        assert main([*arguments, "--cache-dir", cache]) == 0
        return json.loads(capfd.readouterr().out)

    objects = printed("sql", str(path), "SELECT object FROM objects WHERE shallow_bytes > 40", "--json")
    types = printed("types", str(path), "--filter", text, "--json")
    assert sum(row["count"] for row in types["types"]) == len(objects) > 0
    but = query("SELECT object FROM objects WHERE shallow_bytes > 40", negated=True)
    others = printed("types", str(path), "--json", "--filter", but)
    assert others == printed("types", str(path), "--json", f"--filter={but}")
    whole = printed("types", str(path), "--json", "--filter", "shallow>=0")
    assert sum(row["count"] for row in (*types["types"], *others["types"])) == whole["objects"]
    assert main(["types", str(path), "--filter", query("SELECT x"), "--cache-dir", cache]) == 1
    assert "The filter's query: no such column: x" in capfd.readouterr().err


@pytest.mark.parametrize("wrong", [["--filter"], ["--filter", "--json"], ["--filter", "-h"], ["-x"]])
def test_a_filter_is_not_another_option(wrong: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["types", "none.hprof", *wrong])
    assert "expected one argument" in capfd.readouterr().err or wrong == ["-x"]


Asked = Callable[..., dict[str, Any]]


@pytest.fixture
def asked(server: LspClient, tmp_path: Path) -> Asked:
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(random_graph(2, 30)).data())
    snapshot = open_view(server, path)["snapshot"]
    return lambda text, **more: {
        "snapshot": snapshot, "filter": text, "kind": None, "group": None, "order": "object",
        "reverse": False, "offset": 0, "limit": 1000, **more,
    }  # fmt: skip


@pytest.mark.slow
def test_the_server_asks_a_query_before_what_needs_it(server: LspClient, asked: Asked) -> None:
    graph = rooted(random_graph(2, 30))
    text = query("SELECT object FROM objects WHERE object % 3 = 1")
    some = [item for item in graph.objects if item % 3 == 1]
    # several at once, as of a view whose filter was changed; the tables are made for the first
    waiting = [server.send("memlens/heapObjects", asked(text)) for _ in range(3)]
    retained = server.send(
        "memlens/heapRetained", {key: asked(text)[key] for key in ("snapshot", "filter", "kind", "group")}
    )
    for each in waiting:
        assert [row["object"] for row in each.result()["rows"]] == some
    freed = graph.reached([0]) - graph.reached([0], frozenset(some))
    assert retained.result()["retained_bytes"] == sum(graph.shallow[item] for item in freed)
    # each query of a filter in turn, up to a limit
    many = [query(f"SELECT {number} UNION SELECT 1") for number in range(MOST_QUERIES - 1)]
    assert [
        row["object"] for row in server.request("memlens/heapObjects", asked(" ".join(many)))["rows"]
    ] == [1]
    problem = problem_of(
        server, "memlens/heapObjects", asked(" ".join(query(f"SELECT 1, {n} AS object") for n in range(20)))
    )
    assert "at most 15 queries" in problem["message"]
    for wrong, message in (
        ("SELECT nix", "no such column: nix (at character 8)"),
        ("SELECT -1", "-1 is not"),
    ):
        problem = problem_of(server, "memlens/heapObjects", asked(query(wrong)))
        assert problem["code"] == "bad-request"
        assert problem["message"].startswith("The filter's query: ")
        assert message in problem["message"]


@pytest.mark.slow
@pytest.mark.parametrize("endless", ENDLESS)
def test_other_questions_are_answered_while_a_query_runs(
    server: LspClient, asked: Asked, endless: str
) -> None:
    some = server.request("memlens/heapObjects", asked("shallow>=0"))["total"]
    waiting = [server.send("memlens/heapObjects", asked(query(endless))) for _ in range(2)]
    time.sleep(0.5)
    slowest = 0.0
    for number in range(10):
        start = time.perf_counter()
        assert (
            server.request("memlens/heapObjects", asked(f"shallow>=0 -id:{10**9 + number}"))["total"] == some
        )
        slowest = max(slowest, time.perf_counter() - start)
    assert slowest < 2
    assert not any(each.took_s for each in waiting)
    for each in waiting:
        each.cancel()
        with pytest.raises(RpcError) as caught:
            each.result(5)
        assert caught.value.code == REQUEST_CANCELLED
    # nothing of it is left that another would wait for
    assert server.request(
        "memlens/sql",
        {"snapshot": asked("")["snapshot"], "query": "SELECT 1", "offset": 0, "limit": 1, "sort": None},
    )["rows"] == [[1]]


@pytest.mark.slow
def test_the_query_of_a_filter_ends_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.heapsnapshot"
    path.write_bytes(heap_of(random_graph(2, 30)).data())
    monkeypatch.setattr(sessions, "_FILTER_SECONDS", 0.5)
    snapshot = archived(path, tmp_path)

    async def fill(part: Part, _report: object) -> None:
        await asyncio.to_thread(tables.fill, snapshot, lambda *_: None, [part])

    async def run() -> None:
        queries = sessions.SqlQueries(
            snapshot.origin, PARTS_OF["graph"], fill, lambda: QueryProcess.start(snapshot.archive, [])
        )
        for endless in ENDLESS:
            start = time.perf_counter()
            with pytest.raises(
                BadRequestError, match="The filter's query: The query took more than 0 seconds"
            ):
                await queries.choose(endless)
            assert 0.4 < time.perf_counter() - start < 10
            assert queries.queried.find(endless) is None
        # the process that had the endless query was ended: another has to start, however busy the machine is
        monkeypatch.setattr(sessions, "_FILTER_SECONDS", 60)
        await queries.choose("SELECT 1")
        found = queries.queried.find("SELECT 1")
        assert found is not None
        assert found.nonzero()[0].tolist() == [1]
        await queries.close()
        assert queries.queried.find("SELECT 1") is None

    with closing(snapshot):
        asyncio.run(run())
