"""Queries that notice no interrupt: a call of SQLite that takes minutes, over and over in one row."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.fuzz.slow_queries import SEED, trimming
from tests.python.heap_archives import archived
from tests.python.mcp_client import McpClient
from tests.python.server_harness import children, ticks, wait_until

from memlens.fleet.database import Database
from memlens.fleet.questions.sql import query as fleet_query
from memlens.server.sessions import query_process
from memlens.server.sessions.query_process import QueryProcess
from memlens.server.sessions.sql import SqlQueries
from memlens.store.files.processes import is_running
from memlens.store.tables import fill as tables
from memlens.views.sql.pages import SqlError


@pytest.mark.slow
def test_a_query_that_can_not_be_interrupted_ends_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = archived(SEED, tmp_path)
    tables.fill(snapshot, lambda *_: None, ["base"])
    started: list[QueryProcess] = []

    async def start() -> QueryProcess:
        started.append(await QueryProcess.start(snapshot.archive, []))
        return started[-1]

    async def never(*_: object) -> None:
        raise AssertionError

    async def run() -> None:
        queries = SqlQueries(snapshot.origin, ("base",), never, start)
        # by its limit
        with pytest.raises(SqlError, match="took more than 1 seconds"):
            await queries.ask(trimming(), 0, 1, None, most_s=1.0)
        assert not started[0].is_usable
        # its time begins before its process has started, which takes long on a busy machine
        assert (await queries.ask("SELECT 1", 0, 1, None)).rows == [[1]]
        # one that notices it, however late, leaves its process to the next
        monkeypatch.setattr(query_process, "GRACE_S", 30.0)
        endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c"
        with pytest.raises(SqlError, match="took more than 1 seconds"):
            await queries.ask(endless, 0, 1, None, most_s=1.0)
        assert (await queries.ask("SELECT 1", 0, 1, None)).rows == [[1]]
        assert len(started) == 2
        # by closing
        monkeypatch.undo()
        asked = asyncio.ensure_future(queries.ask(trimming(), 0, 1, None))
        await asyncio.sleep(0)
        await queries.close()
        with pytest.raises(SqlError, match=r"cancelled|closed"):
            await asked
        assert not any(each.is_usable for each in started)

    with closing(snapshot):
        asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_a_model_s_query_is_gone_with_its_cancellation_and_with_the_server(tmp_path: Path) -> None:
    asked = {"name": "memlens_sql", "arguments": {"path": str(SEED), "query": trimming()}}
    with McpClient(tmp_path) as client:
        assert client.call("memlens_sql", path=str(SEED), query="SELECT 1")["rows"] == [[1]]
        (first,) = children(client.process.pid)
        number = client.begin("tools/call", asked)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        assert client.call("memlens_sql", path=str(SEED), query="SELECT 2")["rows"] == [[2]]
        client.begin("tools/call", asked)
        client.request("ping")
        left = [first, *children(client.process.pid)]
    # the server has ended, within the client's limit
    wait_until(lambda: not any(map(is_running, left)), 20)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_line(tmp_path: Path, number: signal.Signals) -> None:
    query = f"SELECT 1 UNION ALL {trimming(calls=1)}"
    command = [sys.executable, "-P", "-m", "memlens", "sql", str(SEED), query, "--csv"]
    with subprocess.Popen(
        [*command, "--cache-dir", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        # the column's name and the first row; the next one takes long
        assert (process.stdout.readline(), process.stdout.readline()) == (b"1\n", b"1\n")
        first = ticks(process.pid)
        wait_until(lambda: ticks(process.pid) > first + 5)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith(b"memlens: Interrupted.")


def test_a_fleet_s_queries_have_the_same_limits(tmp_path: Path) -> None:
    refused = r"prohibited|not authorized"
    with closing(Database(tmp_path, "here")) as database:
        database.commit()
        for statement, problem in (
            ("SELECT length(printf('%.*c', 900000000, 'x'))", "longer than 1,000,000 bytes"),
            ("SELECT 1 WHERE " + "NOT " * 300 + "1", "maximum depth"),
            ("WITH t AS (SELECT 1) SELECT * FROM t, sqlite_schema", refused),
            ("SELECT count(*) FROM sqlite_schema", refused),
            ("SELECT count(*) FROM pragma_database_list", refused),
        ):
            with pytest.raises(SqlError, match=problem):
                list(fleet_query(tmp_path, statement)[1])
        names, rows = fleet_query(tmp_path, "WITH t AS (SELECT 1) SELECT count(*) AS n FROM t -- that's all")
        assert (names, list(rows)) == (["n"], [(1,)])
