"""The server and its child processes: responsive, cancelled, killed, orphaned; and without leftovers."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.lsp_client import LspClient, RpcError
from tests.python.recordings import DOTNET
from tests.python.server_harness import (
    LOWERED,
    children,
    leftovers,
    niceness,
    open_view,
    problem_of,
    wait_until,
    write_snapshot,
)

from memlens.formats import recognised
from memlens.formats.containers import open_source
from memlens.server.sessions import children as child_processes
from memlens.store.files.cache import Cache
from memlens.store.files.disk import partial_file
from memlens.store.files.processes import is_running

pytest_plugins = ("tests.python.server_fixtures",)

HEAP = Path(__file__).parents[1] / "fixtures" / "heap" / "sessions.hprof.zst"
LINUX = sys.platform.startswith("linux")


@pytest.mark.slow
def test_hover_answers_while_a_big_file_is_read(
    server: LspClient, tmp_path: Path, workspace: Path, big: Path
) -> None:
    open_view(server, write_snapshot(tmp_path / "a.pickle"))
    source = workspace / "code" / "train.py"
    assert server.hover(source, 10)
    opening = server.send("memlens/open", {"path": str(big), "view": "big"})
    server.wait_for("memlens/progress", lambda p: p["view"] == "big" and p["stage"])
    answered = 0
    while answered < 50 and not opening.took_s:
        assert server.hover(source, 10)
        answered += 1
    # a server that waits for the reading answers one
    assert answered > 5
    assert opening.result()["info"]["devices"][0]["allocations"] > 100_000
    stages = [p for name, p in server.notifications if name == "memlens/progress" and p["view"] == "big"]
    assert len(stages) <= 10 * opening.took_s + 2


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_cancel_ends_the_child_at_once_and_leaves_nothing(
    server: LspClient, cache_folder: Path, big: Path
) -> None:
    opening = server.send("memlens/open", {"path": str(big), "view": "v1"})
    wait_until(lambda: leftovers(cache_folder))
    (child,) = children(server.pid)
    wait_until(lambda: niceness(child) >= LOWERED)
    opening.cancel()
    with pytest.raises(RpcError) as caught:
        opening.result()
    assert caught.value.code == -32800
    assert not Path(f"/proc/{child}").exists()
    assert leftovers(cache_folder) == []
    assert list(cache_folder.iterdir()) == []


@pytest.mark.slow
def test_a_dump_is_written_without_its_values(server: LspClient, tmp_path: Path) -> None:
    out = tmp_path / "shared.hprof"
    out.write_bytes(b"what the user agreed to replace")
    asked = {"path": str(HEAP), "out": str(out), "mapping": "", "view": "work"}
    done = server.request("memlens/redact", asked)
    assert (done["note"], done["mapping"]) == ("", "")
    assert re.search(r"texts stay in the copy:\n  [\d,]+ names of types\n", done["staying"])
    with open_source(out, tmp_path, lambda *_: None) as source:
        assert recognised(source) == "hprof"
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []
    refused = problem_of(server, "memlens/redact", asked | {"path": str(DOTNET)})
    assert refused["message"].startswith("Heap dumps of .NET have no values")
    cut = tmp_path / "cut.hprof"
    cut.write_bytes(out.read_bytes()[:-100])
    refused = problem_of(server, "memlens/redact", asked | {"path": str(cut)})
    assert refused["message"].startswith("The dump is truncated or damaged at byte")
    refused = problem_of(server, "memlens/redact", asked | {"out": "nul\0name"})
    assert refused["message"].endswith("contains a NUL character")
    mapping = tmp_path / "shared.mapping.txt"
    assert server.request("memlens/redact", asked | {"mapping": str(mapping)})["mapping"] == str(mapping)
    assert "shop.Sessions -> p1.C1:" in mapping.read_text()


@pytest.mark.slow
def test_a_process_that_can_not_be_dumped_is_a_problem(server: LspClient, tmp_path: Path) -> None:
    listed = [row["pid"] for row in server.request("memlens/processes", {})["processes"]]
    assert server.pid not in listed
    asked = {"out": str(tmp_path / "x.heap"), "view": "work"}
    refused = problem_of(server, "memlens/dump", {"program": str(os.getpid()), **asked})
    assert refused["code"] == "dump"
    assert "3.14" in refused["message"] + refused["advice"]
    refused = problem_of(server, "memlens/dump", {"program": "127.0.0.1:1/page", **asked})
    assert refused["code"] == "dump"
    assert "No browser answers at 127.0.0.1:1" in refused["message"]
    assert list(tmp_path.glob("x.heap*")) == []


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_two_views_share_one_reading(server: LspClient, cache_folder: Path, big: Path) -> None:
    first = server.send("memlens/open", {"path": str(big), "view": "v1"})
    second = server.send("memlens/open", {"path": str(big.parent / "." / big.name), "view": "v2"})
    wait_until(lambda: leftovers(cache_folder))
    assert len(children(server.pid)) == 1
    first.cancel()
    with pytest.raises(RpcError):
        first.result()
    assert len(children(server.pid)) == 1, "the other view is still waiting"
    name = second.result()["snapshot"]
    third = open_view(server, big, "v3")
    assert third["snapshot"] == name
    server.request("memlens/close", {"snapshot": name, "view": "v2"})
    assert server.request("memlens/stack", {"snapshot": name, "allocation": 0})["frames"]
    server.request("memlens/close", {"snapshot": name, "view": "v3"})
    assert problem_of(server, "memlens/stack", {"snapshot": name, "allocation": 0})["code"] == "closed"


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_a_killed_child_is_a_problem_with_a_retry(server: LspClient, cache_folder: Path, big: Path) -> None:
    opening = server.send("memlens/open", {"path": str(big), "view": "v1"})
    wait_until(lambda: leftovers(cache_folder))
    (child,) = children(server.pid)
    os.kill(child, signal.SIGKILL)
    with pytest.raises(RpcError) as caught:
        opening.result()
    problem = caught.value.data
    assert problem["code"] == "ingest-died"
    assert problem["retry"] is True
    assert leftovers(cache_folder) == []


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
@pytest.mark.parametrize("end", ["stdin", "SIGTERM", "SIGKILL"])
def test_no_child_outlives_the_server(workspace: Path, cache_folder: Path, big: Path, end: str) -> None:
    client = LspClient()
    client.start(workspace, {"cache_directory": str(cache_folder)})
    client.send("memlens/open", {"path": str(big), "view": "v1"})
    wait_until(lambda: leftovers(cache_folder))
    (child,) = children(client.pid)
    if end == "stdin":
        assert client.process.stdin is not None
        client.process.stdin.close()
    elif end == "SIGTERM":
        client.process.terminate()
    else:
        os.kill(child, signal.SIGSTOP)  # it prints nothing any more, so it doesn't end by a broken pipe
        client.process.kill()
    client.process.wait(10)
    client.end()
    wait_until(lambda: not is_running(child), 5)
    if end == "SIGKILL":
        Cache(cache_folder).evict()  # as the next reading does
    assert leftovers(cache_folder) == []


def test_the_end_of_stdin_ends_a_child_if_the_system_does_not() -> None:
    code = (
        "import os, sys, time; sys.platform = 'elsewhere'; from memlens import limits; "
        "limits.end_with(os.getppid()); print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"ready\n"
        assert child.poll() is None
        child.stdin.close()
        assert child.wait(20) == 1


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="the system ends it there")
def test_a_child_whose_parent_has_already_ended_ends() -> None:
    code = "import os; from memlens import limits; limits.end_with(os.getppid() + 1); print('alive')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, b"")


def test_what_a_killed_child_has_left_is_removed_behind_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump has every value of its program, and is written beside what a link leads to."""

    async def killed(work: child_processes.Work, *_: object) -> None:
        work.remove(5)

    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "app.hprof")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(child_processes, "_run", killed)
    partial = partial_file(tmp_path / "folder" / "app.hprof", 5)
    for out, left in ((tmp_path / "link", partial), (Path(), None)):
        if left is not None:
            left.mkdir()
        asyncio.run(child_processes.dump("1", out, lambda *_: None))
        asyncio.run(
            child_processes.record("1", out, lambda *_: None, sampling=True, seconds=1, stop=asyncio.Event())
        )
        assert not list((tmp_path / "folder").iterdir())
    partial.write_bytes(b"values")
    asyncio.run(child_processes.redact(tmp_path / "in", tmp_path / "link", lambda *_: None))
    assert not list((tmp_path / "folder").iterdir())
