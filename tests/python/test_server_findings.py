"""The findings of a large heap dump: made by a child process after the archive, while everything else is answered."""

import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.python.heap_files import HeapFile
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import children, open_view, problem_of, wait_until

from memlens.model.graph import EXAMINED_FROM
from memlens.store.snapshot import Snapshot
from memlens.views.examining import EXAMINED, is_examined
from memlens.views.findings.table import findings

pytest_plugins = ("tests.python.server_fixtures",)

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")

LIMIT = 20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has all sessions, as a heap dump that is just large enough."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 100)
    cache = heap.node("object", "Cache", 100)
    heap.edge(root, "property", "window", window)
    heap.edge(window, "property", "cache", cache)
    for number in range(EXAMINED_FROM - 3):
        heap.edge(cache, "element", number, heap.node("object", "Session", 100))
    path = tmp_path_factory.mktemp("large") / "sessions.heapsnapshot"
    path.write_bytes(heap.data())
    return path


def examining(server: LspClient) -> list[int]:
    """The processes that look for findings, once they have started."""
    return [
        child
        for child in children(server.pid)
        if b"\0examine\0" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def stopped(server: LspClient) -> int:
    """The process that looks for findings, which goes no further."""
    wait_until(lambda: examining(server))
    (child,) = examining(server)
    os.kill(child, signal.SIGSTOP)
    return child


def made(cache_folder: Path) -> list[str]:
    """The files of an examination, complete or not."""
    names = tuple(each.name for each in EXAMINED)
    return sorted(path.name for path in cache_folder.rglob("*") if path.name.startswith(names))


@pytest.mark.slow
def test_findings_are_looked_for_after_the_archive_is_open(
    server: LspClient, cache_folder: Path, large: Path
) -> None:
    snapshot = open_view(server, large)["snapshot"]
    assert made(cache_folder) == []
    of = {"snapshot": snapshot}
    assert server.request("memlens/findingsState", of) == {"fraction": None}
    headline = server.send("memlens/headline", of)
    found = server.send("memlens/findings", {**of, "limit": LIMIT})
    child = stopped(server)
    # everything else is answered, what takes long as well
    assert 0 <= server.request("memlens/findingsState", of)["fraction"] < 1
    assert server.request("memlens/heapOverview", of)["objects"] == EXAMINED_FROM
    listed = {"filter": "", "order": "count", "reverse": False, "by": "package", "package": None}
    types = server.request("memlens/heapTypes", {**of, **listed, "offset": 0, "limit": 1})
    kind = types["rows"][0]["number"]
    retained = server.request("memlens/heapRetained", {**of, "kind": kind, "group": None, "filter": ""})
    assert retained["objects"] == EXAMINED_FROM - 3
    # the other question still waits
    headline.cancel()
    with pytest.raises(RpcError):
        headline.result()
    assert examining(server) == [child]
    os.kill(child, signal.SIGCONT)
    answer = found.result(120)
    (archive,) = [each for each in cache_folder.iterdir() if (each / "manifest.json").exists()]
    with closing(Snapshot.open(archive)) as opened:
        assert is_examined(opened)
        expected = [str(each.text) for each in findings(opened, None, LIMIT).findings]
    assert [each["text"] for each in answer["findings"]] == expected
    assert any("Cache" in text and "Session" in text for text in expected)
    # from now on they are in the archive
    assert server.request("memlens/headline", of)["text"]
    assert server.request("memlens/findingsState", of) == {"fraction": None}
    assert examining(server) == []


@pytest.mark.slow
def test_a_search_for_findings_is_cancelled_killed_closed_and_made_up_for(
    server: LspClient, cache_folder: Path, large: Path
) -> None:
    of: dict[str, Any] = {"snapshot": open_view(server, large)["snapshot"]}
    asked = [server.send("memlens/headline", of), server.send("memlens/findings", of)]
    stopped(server)
    for each in asked:
        each.cancel()
        with pytest.raises(RpcError):
            each.result()
    assert children(server.pid) == []
    assert not any("partial" in name for name in made(cache_folder))
    # one that is killed is reported, and the archive stays open
    found = server.send("memlens/findings", of)
    os.kill(stopped(server), signal.SIGKILL)
    with pytest.raises(RpcError) as caught:
        found.result()
    assert caught.value.data["code"] == "ingest-died"
    assert "search for findings" in caught.value.data["message"]
    assert server.request("memlens/heapOverview", of)["objects"] == EXAMINED_FROM
    # closing the file ends it
    found = server.send("memlens/findings", of)
    stopped(server)
    server.request("memlens/close", {**of, "view": "v1"})
    with pytest.raises(RpcError):
        found.result()
    assert children(server.pid) == []
    assert problem_of(server, "memlens/findings", of)["code"] == "closed"
    # opened again, it is made up for
    of = {"snapshot": open_view(server, large)["snapshot"]}
    assert server.request("memlens/findings", of, 120)["findings"]
    assert {each.name for each in EXAMINED} >= set(made(cache_folder)) > set()
