"""SQL queries to the real server: the tables made after the picture, cancelled queries, hovers meanwhile."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import children, open_view, problem_of, wait_until, write_snapshot

from memlens.server.sessions.sql import SqlQueries
from memlens.store.artefacts import SEAL_BYTES
from memlens.store.manifest import Origin

pytest_plugins = ("tests.python.server_fixtures",)

LINUX = sys.platform.startswith("linux")
REQUEST_CANCELLED = -32800
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def asked(snapshot: str, query: str, **more: Any) -> dict[str, Any]:
    return {"snapshot": snapshot, "query": query, **more}


def leftovers(folder: Path) -> list[Path]:
    """The files of tables, complete or not."""
    return sorted(folder.rglob("sql*"))


ALL_FILES = ["sql.db", "sql_allocations.db", "sql_events.db"]


def names(files: list[Path]) -> list[str]:
    return [path.name for path in files]


@pytest.mark.slow
def test_the_first_query_makes_the_tables(server: LspClient, tmp_path: Path, cache_folder: Path) -> None:
    snapshot = open_view(server, write_snapshot(tmp_path / "a.pickle", 4000))["snapshot"]
    state = server.request("memlens/sqlState", {"snapshot": snapshot})
    assert (state, leftovers(cache_folder)) == ({"filled": False, "fraction": None}, [])
    # names are resolved first, and then only the tables that the query reads are made
    problem = problem_of(server, "memlens/sql", asked(snapshot, "SELECT size_byte FROM events"))
    assert (problem["offset"], problem["message"]) == (7, "no such column: size_byte")
    assert problem["advice"].startswith("Did you mean size_bytes")
    assert leftovers(cache_folder) == []
    assert server.request("memlens/sql", asked(snapshot, "SELECT count(*) > 0 FROM by_line"))["rows"] == [[1]]
    assert names(leftovers(cache_folder)) == ALL_FILES[:1]
    assert server.request("memlens/sqlState", {"snapshot": snapshot}) == {"filled": False, "fraction": None}
    answer = server.request(
        "memlens/sql", asked(snapshot, "SELECT count(*) AS n, max(file) FROM live_at_peak")
    )
    assert answer["rows"] == [[1001, "/elsewhere/project/code/train.py"]]
    assert [(c["name"], c["type"]) for c in answer["columns"]] == [("n", "integer"), ("max(file)", "text")]
    assert names(leftovers(cache_folder)) == ALL_FILES[:2]
    # an older session can't read tables that were made after it
    page = asked(snapshot, "SELECT event FROM events ORDER BY event", limit=1)
    assert server.request("memlens/sql", page)["rows"] == [[0]]
    assert names(leftovers(cache_folder)) == ALL_FILES
    assert server.request("memlens/sqlState", {"snapshot": snapshot})["filled"]
    page = server.request(
        "memlens/sql", asked(snapshot, "SELECT event FROM events ORDER BY event", offset=10, limit=5)
    )
    assert (page["rows"], page["more"], page["offset"]) == ([[10], [11], [12], [13], [14]], True, 10)
    schema = server.request("memlens/sqlSchema", {"snapshot": snapshot})
    assert "live_at" in [table["name"] for table in schema["tables"]]
    problem = problem_of(server, "memlens/sql", asked(snapshot, "SELECT nix FROM events"))
    assert (problem["code"], problem["offset"], problem["message"]) == ("sql", 7, "no such column: nix")
    for method in ("memlens/sql", "memlens/sqlFill", "memlens/sqlState", "memlens/sqlSchema"):
        assert problem_of(server, method, asked("other", "SELECT 1"))["code"] == "closed"


@pytest.mark.slow
def test_cancel_ends_a_query_at_once_and_hovers_answer_meanwhile(
    server: LspClient, tmp_path: Path, workspace: Path
) -> None:
    snapshot = open_view(server, write_snapshot(tmp_path / "a.pickle"))["snapshot"]
    source = workspace / "code" / "train.py"
    assert server.hover(source, 10)
    server.request("memlens/sqlFill", {"snapshot": snapshot})
    # as many as may run at once, and a waiting one
    running = [server.send("memlens/sql", asked(snapshot, f"{ENDLESS} -- {number}")) for number in range(5)]
    time.sleep(0.3)
    assert not any(query.took_s for query in running)
    slowest = 0.0
    for _ in range(20):
        start = time.perf_counter()
        assert server.hover(source, 10)
        slowest = max(slowest, time.perf_counter() - start)
    # hovers that waited for an endless query would never be answered
    assert slowest < 2
    for query in reversed(running):
        start = time.perf_counter()
        query.cancel()
        with pytest.raises(RpcError) as caught:
            query.result()
        assert time.perf_counter() - start < 2
        assert caught.value.code == REQUEST_CANCELLED
    assert server.request("memlens/sql", asked(snapshot, "SELECT 1"))["rows"] == [[1]]


def test_closing_the_view_ends_its_queries(server: LspClient, tmp_path: Path) -> None:
    snapshot = open_view(server, write_snapshot(tmp_path / "a.pickle"))["snapshot"]
    server.request("memlens/sqlFill", {"snapshot": snapshot})
    query = server.send("memlens/sql", asked(snapshot, ENDLESS))
    time.sleep(0.2)
    assert not query.took_s
    server.request("memlens/close", {"snapshot": snapshot, "view": "v1"}, limit_s=5)
    with pytest.raises(RpcError):
        query.result(5)
    assert open_view(server, tmp_path / "a.pickle", "v2")["snapshot"] != snapshot


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_tables_are_filled_by_children_that_are_shared_and_cancelled(
    server: LspClient, cache_folder: Path, big: Path
) -> None:
    snapshot = open_view(server, big)["snapshot"]
    running: set[int] = set()

    def filling() -> list[int]:
        """The children that make tables; another one answers queries."""
        # before that the server waits until the child's program has started
        every = children(server.pid)
        return [child for child in every if b"\0tables\0" in Path(f"/proc/{child}/cmdline").read_bytes()]

    def stopped(count: int) -> None:
        """Wait for that many children, and stop them."""
        while len(running) < count:
            for child in set(filling()) - running:
                os.kill(child, signal.SIGSTOP)
                running.add(child)

    # a child for each part of the tables, of which the query reads two
    two = server.send("memlens/sql", asked(snapshot, "SELECT count(*) FROM events"))
    stopped(2)
    one = server.send("memlens/sqlFill", {"snapshot": snapshot})
    stopped(3)
    one.cancel()
    with pytest.raises(RpcError):
        one.result()
    # the query still waits for its parts, and nothing for the third
    wait_until(lambda: len(filling()) == 2)
    state = server.request("memlens/sqlState", {"snapshot": snapshot})
    assert not state["filled"]
    assert 0 <= state["fraction"] < 1
    start = time.perf_counter()
    two.cancel()
    with pytest.raises(RpcError):
        two.result()
    assert time.perf_counter() - start < 10
    assert filling() == []
    assert leftovers(cache_folder) == []
    # a killed child is reported, and the next one starts over what it left
    three = server.send("memlens/sqlFill", {"snapshot": snapshot})
    wait_until(lambda: leftovers(cache_folder))
    for child in filling():
        os.kill(child, signal.SIGKILL)
    with pytest.raises(RpcError) as caught:
        three.result()
    assert caught.value.data["code"] == "ingest-died"
    assert "filling of the tables" in caught.value.data["message"]
    answer = server.request("memlens/sql", asked(snapshot, "SELECT count(*) FROM events"), limit_s=120)
    assert answer["rows"][0][0] > 390_000
    assert {"sql.db", "sql_events.db"} <= set(names(leftovers(cache_folder))) <= set(ALL_FILES)


def test_damaged_tables_are_rebuilt(server: LspClient, tmp_path: Path, cache_folder: Path) -> None:
    snapshot = open_view(server, write_snapshot(tmp_path / "a.pickle"))["snapshot"]
    server.request("memlens/sqlFill", {"snapshot": snapshot})
    for database in leftovers(cache_folder):
        whole = database.read_bytes()
        size = len(whole) - 4096 - SEAL_BYTES
        database.write_bytes(whole[:4096] + b"\xff" * size + whole[-SEAL_BYTES:])
    query = asked(snapshot, "SELECT count(*), sum(size_bytes) FROM events")
    assert "Run the query again" in problem_of(server, "memlens/sql", query)["message"]
    assert server.request("memlens/sql", query)["rows"][0][0] == 400


def test_a_query_after_a_cancelled_one_has_its_tables_made(tmp_path: Path) -> None:
    """What the cancelled one began is still ending then, and must not be waited for as if it went on."""
    begun: list[str] = []
    begins, is_ended = asyncio.Event(), asyncio.Event()

    async def fill(part: str, _report: Any) -> None:
        begun.append(part)
        begins.set()
        if len(begun) == 1:
            try:
                await asyncio.Event().wait()
            finally:
                # as a child process is waited for
                await is_ended.wait()

    def never() -> Any:
        raise AssertionError

    async def run() -> None:
        origin = Origin(tmp_path, "none", 0)
        queries = SqlQueries(origin, ("base",), fill, never)
        first = asyncio.ensure_future(queries.fill())
        await begins.wait()
        first.cancel()
        # the cancellation arrives
        await asyncio.sleep(0)
        second = asyncio.ensure_future(queries.fill())
        await asyncio.sleep(0)
        is_ended.set()
        await asyncio.wait_for(second, 30)
        assert begun == ["base", "base"]
        await asyncio.wait([first])
        assert first.cancelled()
        await queries.close()

    asyncio.run(run())
