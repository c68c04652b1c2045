"""Tools for language models in the language server, and the files that they keep open."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view, problem_of, write_snapshot

from memlens.server.protocol.settings import Settings
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.tools import answers, queries
from memlens.server.tools.session import Answer, Session
from memlens.sources.finder import Finder

pytest_plugins = ("tests.python.server_fixtures",)

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def params(name: str, **arguments: Any) -> dict[str, str]:
    return {"name": name, "arguments": json.dumps(arguments)}


@pytest.mark.slow
def test_an_open_snapshot_answers_and_another_file_is_closed_again(server: LspClient, tmp_path: Path) -> None:
    path, other = write_snapshot(tmp_path / "a.pickle"), write_snapshot(tmp_path / "b.pickle", 800)
    opened = open_view(server, path)
    del server.notifications[:]
    found = server.request("memlens/tool", params("memlens_summary", path=str(path)))
    assert not found["is_error"]
    data = json.loads(found["text"])
    assert data["file"]["devices"][0]["peak_bytes"] == opened["info"]["devices"][0]["peak_bytes"]
    # nothing was opened or closed
    assert not [name for name, _ in server.notifications if name == "memlens/snapshotsChanged"]
    found = server.request("memlens/tool", params("memlens_compare", before=str(path), after=str(other)))
    total = json.loads(found["text"])["total"]
    assert (total["before_count"], total["after_count"]) == (101, 201)
    counts = [told["open"] for name, told in server.notifications if name == "memlens/snapshotsChanged"]
    assert counts == [2, 1]
    assert server.request("memlens/stack", {"snapshot": opened["snapshot"], "allocation": 0})["frames"]


def test_what_a_tool_refuses_is_an_answer(server: LspClient, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    found = server.request("memlens/tool", params("memlens_top", path=str(path), by="colour"))
    assert found["is_error"]
    assert "colour" in found["text"]
    found = server.request("memlens/tool", params("memlens_summary"))
    assert (found["is_error"], "Give its path" in found["text"]) == (True, True)
    assert "memlens_nothing" in problem_of(server, "memlens/tool", params("memlens_nothing"))["message"]
    for text in ("no json", "[" * 100_000):
        problem = problem_of(server, "memlens/tool", {"name": "memlens_sql", "arguments": text})
        assert problem["code"] == "bad-request"


def test_a_cancelled_tool_ends_its_query(server: LspClient, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    pending = server.send("memlens/tool", params("memlens_sql", path=str(path), query=ENDLESS))
    pending.cancel()
    with pytest.raises(RpcError) as caught:
        pending.result()
    assert caught.value.code == -32800
    found = server.request("memlens/tool", params("memlens_sql", path=str(path), query="SELECT 1"))
    assert json.loads(found["text"])["rows"] == [[1]]


def session_of(tmp_path: Path, most_kept: int) -> tuple[Registry, Session]:
    configuration = Configuration()
    configuration.replace(Settings(cache_directory=str(tmp_path / "cache")))
    registry = Registry(configuration, Finder())
    return registry, Session(registry, most_kept)


async def called(session: Session, name: str, **arguments: Any) -> Answer:
    return await session.call(name, arguments, lambda _stage, _fraction: None)


@pytest.mark.slow
def test_the_last_files_stay_open(tmp_path: Path) -> None:
    paths = [write_snapshot(tmp_path / f"{name}.pickle") for name in "abc"]

    async def run() -> None:
        registry, session = session_of(tmp_path, 2)

        def names() -> set[str]:
            return {opened.title for opened in registry.snapshots()}

        for path in (*paths[:2], paths[0], paths[2]):
            assert not (await called(session, "memlens_stack", path=str(path), allocation=0)).is_error
        assert names() == {"a.pickle", "c.pickle"}
        (kept,) = (opened for opened in registry.snapshots() if opened.title == "a.pickle")
        await called(session, "memlens_top", path=str(paths[0]))
        assert kept in registry.snapshots()
        # another file of that name takes its place
        write_snapshot(paths[0], 800)
        found = await called(session, "memlens_top", path=str(paths[0]), at="all")
        assert json.loads(found.text)["count"] == 400
        assert kept not in registry.snapshots()
        assert names() == {"a.pickle", "c.pickle"}
        await session.close()
        assert names() == set()

    asyncio.run(run())


@pytest.mark.slow
def test_a_query_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    monkeypatch.setattr(queries, "SQL_SECONDS", 0.2)

    async def run() -> None:
        _, session = session_of(tmp_path, 0)
        found = await called(session, "memlens_sql", path=str(path), query=ENDLESS)
        assert found.is_error
        assert "seconds and was ended" in found.text
        monkeypatch.setattr(queries, "SQL_SECONDS", 60.0)
        assert not (await called(session, "memlens_sql", path=str(path), query="SELECT 1")).is_error
        await session.close()

    asyncio.run(run())


def test_a_bug_is_an_answer_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_snapshot(tmp_path / "a.pickle")

    def fail(*_: Any, **__: Any) -> None:
        raise KeyError("no such thing")

    monkeypatch.setattr(answers, "summary_of", fail)

    async def run() -> None:
        _, session = session_of(tmp_path, 0)
        found = await called(session, "memlens_summary", path=str(path))
        assert (found.is_error, "KeyError" in found.text) == (True, True)
        await session.close()

    asyncio.run(run())
