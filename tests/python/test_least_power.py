"""The server's privileges: no network, no processes but its own children, archives readable by their owner only."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.hostile_files import PROFILES
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view, write_snapshot

pytest_plugins = ("tests.python.server_fixtures",)

FUNCTIONS = {
    "value": "bytes", "options": {"direction": "top_down", "merge": "function"}, "order": "inclusive", "offset": 0,
    "limit": 9,
}  # fmt: skip

# On the path of every Python that the server starts, so that its children are watched as well.
WATCHER = """
import os, socket, sys

FORBIDDEN = ("socket.connect", "socket.bind", "socket.listen", "socket.sendto", "socket.sendmsg", "socket.gethostby",
             "socket.getaddrinfo", "socket.getnameinfo", "urllib.Request", "http.client", "ftplib.", "smtplib.",
             "webbrowser.", "os.system", "pickle.find_class")

def watch(event, arguments):
    # the event loop's own pair of sockets is of no network
    of_network = event == "socket.__new__" and arguments[1] not in (-1, getattr(socket, "AF_UNIX", None))
    if event.startswith(FORBIDDEN) or of_network:
        with open(os.environ["MEMLENS_TEST_LOG"], "a") as log:
            log.write(f"{event} {arguments!r}\\n")
    if event == "subprocess.Popen":
        with open(os.environ["MEMLENS_TEST_CHILDREN"], "a") as log:
            log.write(f"{arguments[1]!r}\\n")

sys.addaudithook(watch)
"""


@pytest.fixture
def watched(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "watch"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WATCHER, encoding="utf-8")
    for name in ("log", "children"):
        (tmp_path / name).touch()
    return {
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "MEMLENS_TEST_LOG": str(tmp_path / "log"),
        "MEMLENS_TEST_CHILDREN": str(tmp_path / "children"),
    }


def test_the_watcher_sees_a_connection(tmp_path: Path, watched: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        code = f"import socket; socket.create_connection(('127.0.0.1', {listening.getsockname()[1]}))"
        subprocess.run([sys.executable, "-c", code], env={**os.environ, **watched}, check=True)
    assert "socket.connect" in (tmp_path / "log").read_text()
    (tmp_path / "log").write_text("")
    code = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **watched}, check=True)
    assert "socket.__new__" in (tmp_path / "log").read_text()


@pytest.mark.slow
def test_the_server_and_its_children_use_no_network_and_run_nothing_else(
    tmp_path: Path, watched: dict[str, str], workspace: Path, cache_folder: Path
) -> None:
    with LspClient(watched) as client:
        client.start(workspace, {"cache_directory": str(cache_folder)})
        opened = open_view(client, write_snapshot(tmp_path / "a.pickle"))
        device = opened["info"]["devices"][0]
        asked = {"snapshot": opened["snapshot"], "device": device["device"]}
        assert client.request("memlens/live", {**asked, "moment": None, "offset": 0, "limit": 10})["rows"]
        frame = {"snapshot": opened["snapshot"], "file": "/elsewhere/project/code/train.py", "line": 10}
        assert client.request("memlens/source", frame)["path"]
        assert client.hover(workspace / "code" / "train.py", 10)
        query = "SELECT count(*) FROM events"
        assert client.request("memlens/sql", {"snapshot": opened["snapshot"], "query": query})["rows"]
        other = open_view(client, write_snapshot(tmp_path / "b.pickle", 800), "v2")
        of = {"device": device["device"]}
        pair = {"snapshot": opened["snapshot"], "other": other["snapshot"], "of": of, "other_of": of}
        table = {"other_first": False, "by": "line", "measure": "own"}
        assert client.request("memlens/compare", {**pair, **table})["rows"]
        for form, write in PROFILES.items():
            path = tmp_path / form
            path.write_bytes(write("name"))
            profile = open_view(client, path, form)
            asked = {"snapshot": profile["snapshot"], "of": {"device": 0}}
            assert client.request("memlens/flameFunctions", {**asked, **FUNCTIONS})["rows"], form
            assert client.request("memlens/sql", {"snapshot": profile["snapshot"], "query": "SELECT 1"})[
                "rows"
            ]
        client.request("memlens/close", {"snapshot": opened["snapshot"], "view": "v1"})
        if sys.platform == "linux":
            sockets = [str(fd.readlink()) for fd in Path(f"/proc/{client.pid}/fd").iterdir()]
            internet = {line.split()[9] for table in ("tcp", "tcp6", "udp", "udp6")
                        for line in Path(f"/proc/{client.pid}/net/{table}").read_text().splitlines()[1:]}  # fmt: skip
            assert not [name for name in sockets if name.removeprefix("socket:[").rstrip("]") in internet]
    assert (tmp_path / "log").read_text() == ""
    children = (tmp_path / "children").read_text().splitlines()
    assert children, "the file was read in a child"
    own = [f"'memlens', '{name}'" for name in ("ingest", "tables", "queries")]
    assert all(any(name in child for name in own) for child in children), children
    assert all(any(name in child for child in children) for name in own)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the rights there are those of the user's folder")
def test_archives_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    file = write_snapshot(tmp_path / "a.pickle")
    old = os.umask(0)
    try:
        command = [
            sys.executable,
            "-m",
            "memlens",
            "ingest",
            "--cache-dir",
            str(tmp_path / "of ours" / "and below" / "cache"),
            str(file),
        ]
        archive = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        # including files that are added later
        for later in (["tables", str(archive)], ["flame", *command[4:]]):
            run = [sys.executable, "-m", "memlens", *later]
            subprocess.run(run, capture_output=True, check=True)
    finally:
        os.umask(old)
    below = tmp_path / "of ours"
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (below, *below.rglob("*"))}
    assert archive / "sql.db" in modes
    assert archive / "first_flame.columns" in modes
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}
