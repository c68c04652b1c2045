"""The real server process, driven over its stdin and stdout."""

import base64
import os
import pickle
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.bench.generate import generate
from tests.python.lsp_client import LspClient, RpcError

SAMPLES = Path(__file__).parents[2] / "samples"
LINUX = sys.platform.startswith("linux")


def snapshot_of(events: int, file: str = "/elsewhere/project/code/train.py") -> dict[str, Any]:
    """A snapshot in which two lines of one function allocate in turn, and one of them never frees."""
    frames = {
        line: [
            {"filename": file, "line": line, "name": "step"},
            {"filename": file, "line": 30, "name": "main"},
            {
                "filename": "/opt/conda/lib/python3.12/threading.py",
                "line": 982,
                "name": "run",
            },
        ]
        for line in (10, 11)
    }
    trace: list[dict[str, Any]] = []
    for number in range(events // 4):
        address = 0x7F0000000000 + number * 4096
        both = (("alloc", 10, 512, address), ("alloc", 11, 1024, address + 2048))
        freed = (
            ("free_requested", 11, 1024, address + 2048),
            ("free_completed", 11, 1024, address + 2048),
        )
        for action, line, size, addr in (*both, *freed):
            event = {"action": action, "addr": addr, "size": size, "stream": 0}
            trace.append(
                {
                    **event,
                    "time_us": 1_000_000 + len(trace) * 10,
                    "frames": frames[line],
                }
            )
    return {
        "segments": [],
        "device_traces": [trace],
        "allocator_settings": {},
        "external_annotations": [],
    }


def write_snapshot(path: Path, events: int = 400, file: str = "/elsewhere/project/code/train.py") -> Path:
    path.write_bytes(pickle.dumps(snapshot_of(events, file), protocol=4))
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "code").mkdir(parents=True)
    lines = [f"# line {number}" for number in range(1, 40)]
    lines[8] = "def step():"
    lines[28] = "def main():"
    (folder / "code" / "train.py").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def server(workspace: Path, cache: Path) -> Iterator[LspClient]:
    with LspClient() as client:
        client.start(workspace, {"cache_directory": str(cache)})
        yield client
    assert "Traceback" not in client.stderr.decode(), client.stderr.decode()


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of some 300 MB, which takes a while to read."""
    path = tmp_path_factory.mktemp("big") / "big.pickle"
    generate(path, 2_000_000)
    assert path.stat().st_size > 250e6
    return path


def open_view(server: LspClient, path: Path, view: str = "v1") -> Any:
    return server.request("memlens/open", {"path": str(path), "view": view})


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until(test: Callable[[], Any], limit_s: float = 30.0) -> Any:
    deadline = time.monotonic() + limit_s
    while not (found := test()):
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.01)
    return found


def leftovers(cache: Path) -> list[str]:
    return [path.name for path in cache.rglob("*.partial-*")]


def test_says_what_it_can_do_and_wants_no_documents(workspace: Path, cache: Path) -> None:
    with LspClient() as client:
        capabilities = client.start(workspace, {"cache_directory": str(cache)})["capabilities"]
        assert capabilities["hoverProvider"]
        assert capabilities["codeLensProvider"] == {"resolveProvider": False}
        sync = capabilities["textDocumentSync"]
        assert (sync["openClose"], sync["change"], sync["save"]) == (False, 0, False)
        assert client.end() == 0


def test_open_shows_progress_and_answers_every_question(server: LspClient, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle", 4_000)
    opened = open_view(server, path)
    info = opened["info"]
    assert server.wait_for("memlens/progress", lambda p: p["view"] == "v1")["stage"]
    device = info["devices"][0]
    assert device["allocations"] == 2_000
    assert device["peak_bytes"] == 1_000 * 512 + 1024

    name = opened["snapshot"]
    about = {"snapshot": name, "device": device["device"]}
    box = {
        "x0": device["event_axis"]["x0"],
        "x1": device["event_axis"]["x1"],
        "y0": 0,
        "y1": device["peak_bytes"],
    }
    geometry = base64.b64decode(
        server.request(
            "memlens/viewport",
            {**about, "axis": "event", **box, "columns": 200, "rows": 100},
        )["geometry"]
    )
    assert geometry[:4] == b"MLG1"
    overview = server.request("memlens/overview", {**about, "axis": "event", "columns": 50})
    assert overview["peak_bytes"] == device["peak_bytes"]
    hit = server.request("memlens/hit", {**about, "moment": device["peak_moment"], "y_bytes": 100.0})
    allocation = hit["allocation"]["allocation"]
    stack = server.request("memlens/stack", {"snapshot": name, "allocation": allocation})
    assert [frame["line"] for frame in stack["frames"]] == [10, 30, 982]
    live = server.request("memlens/live", {**about, "moment": None, "offset": 0, "limit": 10})
    assert live["rows"][0]["size_bytes"] == 1024
    located = {
        "snapshot": name,
        "allocation": allocation,
        "axis": "event",
        "moment": None,
    }
    assert server.request("memlens/locate", located)["allocation"] == allocation
    step = {
        "snapshot": name,
        "allocation": allocation,
        "moment": device["peak_moment"],
        "direction": "younger",
    }
    assert server.request("memlens/step", step)["allocation"]["allocation"] != allocation
    line = {"snapshot": name, "file": "/elsewhere/project/code/train.py", "line": 11}
    assert server.request("memlens/line", line)["totals"]["total_bytes"] == 1_000 * 1024


def test_an_archived_snapshot_opens_without_a_child(server: LspClient, tmp_path: Path, cache: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    first = open_view(server, path)
    server.request("memlens/close", {"snapshot": first["snapshot"], "view": "v1"})
    archives = sorted(cache.iterdir())
    server.notifications.clear()
    assert open_view(server, path)["info"] == first["info"]
    assert sorted(cache.iterdir()) == archives
    assert not [name for name, _ in server.notifications if name == "memlens/progress"]


@pytest.mark.parametrize("damage", ["column", "text.db", "manifest.json", "garbage"])
def test_a_damaged_archive_is_made_again(server: LspClient, tmp_path: Path, cache: Path, damage: str) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    first = open_view(server, path)
    server.request("memlens/close", {"snapshot": first["snapshot"], "view": "v1"})
    (archive,) = (entry for entry in cache.iterdir() if entry.is_dir())
    if damage == "column":
        column = next(file for file in archive.iterdir() if file.name.endswith(".size"))
        column.write_bytes(column.read_bytes()[:-1])
    elif damage == "garbage":
        text = archive / "text.db"
        text.write_bytes(b"\xff" * text.stat().st_size)
    else:
        (archive / damage).write_bytes(b"nothing")
    opened = open_view(server, path)
    assert opened["info"] == first["info"]
    assert server.request("memlens/stack", {"snapshot": opened["snapshot"], "allocation": 0})["frames"]


def test_a_changed_file_is_another_snapshot(server: LspClient, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle", 400)
    old = open_view(server, path, "v1")
    write_snapshot(path, 800)
    new = open_view(server, path, "v2")
    assert new["snapshot"] != old["snapshot"]
    assert new["info"]["devices"][0]["allocations"] == 2 * old["info"]["devices"][0]["allocations"]
    assert server.request("memlens/stack", {"snapshot": old["snapshot"], "allocation": 0})["frames"]


@pytest.mark.parametrize(
    ("method", "params", "complaint"),
    [
        ("memlens/open", {"path": 5, "view": "v"}, "path"),
        ("memlens/open", {"view": "v"}, "path"),
        ("memlens/open", None, "object"),
        ("memlens/viewport", {"snapshot": "x", "columns": -1}, "columns"),
        (
            "memlens/live",
            {"snapshot": "x", "device": 0, "moment": -1, "offset": 0, "limit": 5},
            "moment",
        ),
        (
            "memlens/live",
            {"snapshot": "x", "device": 0, "moment": 0, "offset": 0, "limit": 10**9},
            "limit",
        ),
        ("textDocument/hover", {"textDocument": 5}, "textDocument/hover"),
    ],
)
def test_wrong_parameters_are_refused(server: LspClient, method: str, params: Any, complaint: str) -> None:
    with pytest.raises(RpcError) as caught:
        server.request(method, params)
    assert caught.value.code == -32602
    assert complaint in caught.value.message
    server.stderr = b""  # pygls logs with a traceback what a client sent wrongly


def problem_of(server: LspClient, method: str, params: Any) -> dict[str, Any]:
    with pytest.raises(RpcError) as caught:
        server.request(method, params)
    problem: dict[str, Any] = caught.value.data
    assert problem["message"]
    return problem


def test_what_can_not_be_opened_is_a_problem(server: LspClient, tmp_path: Path) -> None:
    missing = problem_of(server, "memlens/open", {"path": str(tmp_path / "none.pickle"), "view": "v"})
    assert missing["code"] == "file"
    folder = problem_of(server, "memlens/open", {"path": str(tmp_path), "view": "v"})
    assert folder["code"] == "file"
    relative = problem_of(server, "memlens/open", {"path": "a.pickle", "view": "v"})
    assert relative["code"] == "file"
    other = tmp_path / "other.pickle"
    other.write_bytes(pickle.dumps(["no", "snapshot"]))
    assert problem_of(server, "memlens/open", {"path": str(other), "view": "v"})["code"] not in (
        "internal",
        "ingest-died",
    )
    empty = tmp_path / "empty.pickle"
    empty.write_bytes(b"")
    assert problem_of(server, "memlens/open", {"path": str(empty), "view": "v"})["code"] not in (
        "internal",
        "ingest-died",
    )
    good = write_snapshot(tmp_path / "good.pickle")
    assert open_view(server, good)


def test_questions_about_what_is_not_there_are_problems(server: LspClient, tmp_path: Path) -> None:
    opened = open_view(server, write_snapshot(tmp_path / "a.pickle"))
    name = opened["snapshot"]
    for method, params in (
        ("memlens/stack", {"snapshot": name, "allocation": 10**9}),
        ("memlens/hit", {"snapshot": name, "device": 77, "moment": 0, "y_bytes": 0}),
        (
            "memlens/overview",
            {"snapshot": name, "device": 77, "axis": "event", "columns": 10},
        ),
    ):
        assert problem_of(server, method, params)["code"] != "internal"
    assert problem_of(server, "memlens/stack", {"snapshot": "gone", "allocation": 0})["code"] == "closed"
    server.request("memlens/close", {"snapshot": name, "view": "v1"})
    assert problem_of(server, "memlens/stack", {"snapshot": name, "allocation": 0})["code"] == "closed"
    server.request("memlens/close", {"snapshot": name, "view": "v1"})


@pytest.mark.slow
def test_hover_answers_while_a_big_file_is_read(
    server: LspClient, tmp_path: Path, workspace: Path, big: Path
) -> None:
    open_view(server, write_snapshot(tmp_path / "a.pickle"))
    source = workspace / "code" / "train.py"
    assert server.hover(source, 10)
    opening = server.send("memlens/open", {"path": str(big), "view": "big"})
    server.wait_for("memlens/progress", lambda p: p["view"] == "big" and p["stage"])
    times = []
    for _ in range(50):
        start = time.perf_counter()
        assert server.hover(source, 10)
        times.append(time.perf_counter() - start)
        if opening.took_s:
            break
    assert len(times) > 5, "the file was read too quickly for this test to mean anything"
    assert statistics.quantiles(times, n=20)[-1] < 0.05, times
    assert opening.result()["info"]["devices"][0]["allocations"] > 100_000
    stages = [p for name, p in server.notifications if name == "memlens/progress" and p["view"] == "big"]
    assert len(stages) <= 10 * opening.took_s + 2


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_cancel_ends_the_child_at_once_and_leaves_nothing(server: LspClient, cache: Path, big: Path) -> None:
    opening = server.send("memlens/open", {"path": str(big), "view": "v1"})
    wait_until(lambda: leftovers(cache))
    (child,) = children(server.pid)
    start = time.perf_counter()
    opening.cancel()
    with pytest.raises(RpcError) as caught:
        opening.result()
    assert time.perf_counter() - start < 2.0
    assert caught.value.code == -32800
    assert not Path(f"/proc/{child}").exists()
    assert leftovers(cache) == []
    assert list(cache.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_two_views_share_one_reading(server: LspClient, cache: Path, big: Path) -> None:
    first = server.send("memlens/open", {"path": str(big), "view": "v1"})
    second = server.send("memlens/open", {"path": str(big.parent / "." / big.name), "view": "v2"})
    wait_until(lambda: leftovers(cache))
    assert len(children(server.pid)) == 1
    first.cancel()
    with pytest.raises(RpcError):
        first.result()
    assert len(children(server.pid)) == 1, "the other view still waits"
    name = second.result()["snapshot"]
    third = open_view(server, big, "v3")
    assert third["snapshot"] == name
    server.request("memlens/close", {"snapshot": name, "view": "v2"})
    assert server.request("memlens/stack", {"snapshot": name, "allocation": 0})["frames"]
    server.request("memlens/close", {"snapshot": name, "view": "v3"})
    assert problem_of(server, "memlens/stack", {"snapshot": name, "allocation": 0})["code"] == "closed"


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_a_killed_child_is_a_problem_with_a_retry(server: LspClient, cache: Path, big: Path) -> None:
    opening = server.send("memlens/open", {"path": str(big), "view": "v1"})
    wait_until(lambda: leftovers(cache))
    (child,) = children(server.pid)
    os.kill(child, signal.SIGKILL)
    with pytest.raises(RpcError) as caught:
        opening.result()
    problem = caught.value.data
    assert problem["code"] == "ingest-died"
    assert problem["retry"] is True
    assert leftovers(cache) == []


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
@pytest.mark.parametrize("end", ["stdin", "SIGTERM"])
def test_no_child_outlives_the_server(workspace: Path, cache: Path, big: Path, end: str) -> None:
    client = LspClient()
    client.start(workspace, {"cache_directory": str(cache)})
    client.send("memlens/open", {"path": str(big), "view": "v1"})
    wait_until(lambda: leftovers(cache))
    (child,) = children(client.pid)
    if end == "stdin":
        assert client.process.stdin is not None
        client.process.stdin.close()
    else:
        client.process.terminate()
    client.process.wait(10)
    wait_until(lambda: not Path(f"/proc/{child}").exists(), 5)
    assert leftovers(cache) == []
    client.end()


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks at descriptors and memory in /proc")
def test_open_and_close_200_times_gives_everything_back(
    server: LspClient, tmp_path: Path, workspace: Path
) -> None:
    path = write_snapshot(tmp_path / "a.pickle", 40_000)

    def round_trip() -> None:
        opened = open_view(server, path)
        device = opened["info"]["devices"][0]
        about = {"snapshot": opened["snapshot"], "device": device["device"]}
        box = {
            "x0": 0,
            "x1": device["event_axis"]["x1"],
            "y0": 0,
            "y1": device["peak_bytes"],
        }
        server.request(
            "memlens/viewport",
            {**about, "axis": "event", **box, "columns": 300, "rows": 200},
        )
        server.request("memlens/stack", {"snapshot": opened["snapshot"], "allocation": 0})
        assert server.hover(workspace / "code" / "train.py", 10)
        server.request("memlens/close", {"snapshot": opened["snapshot"], "view": "v1"})

    def descriptors() -> list[str]:
        return sorted(str(link.readlink()) for link in Path(f"/proc/{server.pid}/fd").iterdir())

    def resident_bytes() -> int:
        return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(20):
        round_trip()
    before = len(descriptors()), resident_bytes()
    for _ in range(200):
        round_trip()
    assert len(descriptors()) == before[0], descriptors()
    assert resident_bytes() - before[1] < 8 * 2**20
    assert "a.pickle" not in Path(f"/proc/{server.pid}/maps").read_text()


def test_hover_tells_what_a_line_allocated(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    source = workspace / "code" / "train.py"
    assert server.hover(source, 11) is None, "nothing is open yet"
    open_view(server, write_snapshot(tmp_path / "a.pickle", 4_000))
    text = server.hover(source, 11)
    assert text is not None
    assert "Total allocated: **1000 KiB (1,024,000 bytes)** in 1,000 allocations" in text
    assert "Largest: 1.00 KiB (1,024 bytes)" in text
    assert server.hover(source, 12) is None
    outer = server.hover(source, 30)
    assert outer is not None
    assert "1,536,000 bytes" in outer
    assert "By the line itself, not by what it calls: 0 bytes in 0 allocations" in outer
    elsewhere = workspace / "code" / "other.py"
    elsewhere.write_text("x\n")
    assert server.hover(elsewhere, 11) is None

    second = open_view(server, write_snapshot(tmp_path / "b.pickle", 400), "v2")
    text = server.hover(source, 11)
    assert text is not None
    assert "**a\\.pickle**" in text
    assert "**b\\.pickle**" in text
    server.request("memlens/close", {"snapshot": second["snapshot"], "view": "v2"})
    text = server.hover(source, 11)
    assert text is not None
    assert "pickle**" in text.replace("b\\.pickle", "")


def test_hover_says_the_same_as_the_command_line(server: LspClient, tmp_path: Path) -> None:
    import json

    sample = Path(shutil.copy(SAMPLES / "train.pickle", tmp_path))
    for source in SAMPLES.glob("*.py"):
        shutil.copy(source, tmp_path)
    server.notify(
        "workspace/didChangeWorkspaceFolders",
        {
            "event": {
                "added": [{"uri": tmp_path.as_uri(), "name": "samples"}],
                "removed": [],
            }
        },
    )
    open_view(server, sample)
    command = [
        sys.executable,
        "-m",
        "memlens",
        "lines",
        str(sample),
        "--json",
        "--cache-dir",
        str(tmp_path / "c2"),
    ]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    ours = [row for row in rows if (tmp_path / Path(row["file"]).name).exists()]
    assert ours
    for row in ours:
        text = server.hover(tmp_path / Path(row["file"]).name, row["line"])
        assert text is not None, row
        figures = [int(figure.replace(",", "")) for figure in re.findall(r"([\d,]+) bytes", text)]
        assert row["total_bytes"] in figures
        assert row["live_at_peak_bytes"] in figures
        assert row["self_total_bytes"] in figures


def test_hover_is_quick(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    open_view(server, write_snapshot(tmp_path / "a.pickle", 40_000))
    source = workspace / "code" / "train.py"
    server.hover(source, 10)
    times = []
    for _ in range(200):
        start = time.perf_counter()
        server.hover(source, 10)
        times.append(time.perf_counter() - start)
    assert statistics.quantiles(times, n=20)[-1] < 0.01, sorted(times)[-20:]


def test_names_in_a_snapshot_stay_text(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    evil = "](command:workbench.action.quit) <img src=x onerror=f(1)> $(bug) https://x.example **b** `c`\n# h"
    content = snapshot_of(40)
    for event in content["device_traces"][0]:
        event["frames"] = [{**event["frames"][0], "name": evil}]
    path = tmp_path / "[x](command:y) <b>.pickle"
    path.write_bytes(pickle.dumps(content))
    open_view(server, path)
    text = server.hover(workspace / "code" / "train.py", 10)
    assert text is not None
    links = re.findall(r"(?<!\\)\]\(([^)]*)\)", text)
    assert len(links) == 1
    assert links[0].startswith("command:memlens.showLine?%5B")
    before_link = text[: text.index("[Show these")]
    assert "<" not in before_link
    assert not re.search(
        r"(?<!\\)[`\[\]()_#$:]",
        re.sub(r"\(([\d,]+ bytes)\)|allocated:|peak:|Largest:|calls:", "", before_link),
    )
    assert "\n#" not in before_link


def test_hover_can_be_switched_off(server: LspClient, tmp_path: Path, workspace: Path, cache: Path) -> None:
    open_view(server, write_snapshot(tmp_path / "a.pickle"))
    source = workspace / "code" / "train.py"
    assert server.hover(source, 10)
    settings = {"cache_directory": str(cache), "hover": False}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert server.hover(source, 10) is None


def test_code_lenses_stand_above_functions(
    server: LspClient, tmp_path: Path, workspace: Path, cache: Path
) -> None:
    open_view(server, write_snapshot(tmp_path / "a.pickle", 4_000))
    document = {"textDocument": {"uri": (workspace / "code" / "train.py").as_uri()}}
    assert server.request("textDocument/codeLens", document) == []
    server.notify(
        "workspace/didChangeConfiguration",
        {"settings": {"cache_directory": str(cache), "code_lens": True}},
    )
    lenses = server.request("textDocument/codeLens", document)
    assert [lens["range"]["start"]["line"] + 1 for lens in lenses] == [9, 29]
    assert (
        lenses[0]["command"]["title"] == "1.46 MiB in 2,000 allocations, 501 KiB live at peak, line 11 most"
    )
    assert lenses[0]["command"]["command"] == "memlens.showLine"
    assert lenses[0]["command"]["arguments"][0]["line"] == 11


def test_a_line_leads_to_what_to_show(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    opened = open_view(server, path)
    params = {"path": str(workspace / "code" / "train.py"), "line": 10}
    assert server.request("memlens/lineTargets", params)["targets"] == [
        {
            "snapshot": opened["snapshot"],
            "path": str(path),
            "file": "/elsewhere/project/code/train.py",
            "line": 10,
        }
    ]
    assert server.request("memlens/lineTargets", {**params, "line": 5})["targets"] == []


def source(server: LspClient, file: str, line: int = 10) -> dict[str, Any]:
    found: dict[str, Any] = server.request("memlens/source", {"file": file, "line": line})
    return found


def test_source_is_found_in_the_order_that_is_promised(
    server: LspClient, workspace: Path, cache: Path
) -> None:
    foreign = "/elsewhere/project/code/train.py"
    here = workspace / "code" / "train.py"
    assert (source(server, foreign)["how"], source(server, foreign)["path"]) == (
        "suffix",
        str(here),
    )
    assert source(server, str(here))["how"] == "exact"
    assert source(server, "code/train.py")["how"] == "exact"

    other = workspace / "copy" / "train.py"
    other.parent.mkdir()
    other.write_text("x\n")
    mappings = {"/elsewhere/project/code": "${workspaceFolder}/copy"}
    settings = {"cache_directory": str(cache), "path_mappings": mappings}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert (source(server, foreign)["how"], source(server, foreign)["path"]) == (
        "mapping",
        str(other),
    )

    gone = source(server, "/elsewhere/project/code/gone.py")
    assert gone["how"] == "none"
    assert gone["path"] is None
    assert gone["looked_for"] == str(workspace / "copy" / "gone.py")
    assert source(server, "<string>")["how"] == "none"


def test_a_tie_is_asked_once(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    for name in ("a", "b"):
        (workspace / name).mkdir()
        (workspace / name / "net.py").write_text("x\n" * 20)
    foreign = "/job/net.py"
    found = source(server, foreign)
    assert found["how"] == "ambiguous"
    assert found["candidates"] == [
        str(workspace / "a" / "net.py"),
        str(workspace / "b" / "net.py"),
    ]
    open_view(server, write_snapshot(tmp_path / "a.pickle", file=foreign))
    text = server.hover(workspace / "b" / "net.py", 10)
    assert text is not None
    assert "may as well be 1 other file here" in text

    server.request("memlens/remember", {"file": foreign, "path": str(workspace / "b" / "net.py")})
    found = source(server, foreign)
    assert (found["how"], found["path"]) == (
        "remembered",
        str(workspace / "b" / "net.py"),
    )
    wait_until(lambda: server.hover(workspace / "a" / "net.py", 10) is None)
    text = server.hover(workspace / "b" / "net.py", 10)
    assert text is not None
    assert "may as well" not in text
    with pytest.raises(RpcError):
        server.request("memlens/remember", {"file": foreign, "path": str(workspace / "none.py")})


def test_the_client_is_asked_for_files_when_it_can(workspace: Path, cache: Path) -> None:
    asked: list[list[str]] = []

    def find_files(params: Any) -> Any:
        asked.append(params["names"])
        return {"paths": [str(workspace / "code" / "train.py"), "/not/asked/for.py"]}

    with LspClient() as client:
        client.handlers["memlens/findFiles"] = find_files
        client.start(workspace, {"cache_directory": str(cache)}, find_files=True)
        for _ in range(3):
            assert source(client, "/x/y/train.py")["path"] == str(workspace / "code" / "train.py")
        assert asked == [["train.py"]]


def test_only_files_are_ever_found(server: LspClient, workspace: Path) -> None:
    (workspace / "folder.py").mkdir()
    assert source(server, "/x/folder.py")["how"] == "none"
    assert source(server, str(workspace))["how"] == "none"
    assert source(server, "/dev/zero")["how"] == "none"


def test_settings_that_make_no_sense_leave_the_defaults(workspace: Path) -> None:
    with LspClient() as client:
        client.start(workspace, {"hover": "perhaps", "path_mappings": [1]})
        assert source(client, "/x/y/train.py")["how"] == "suffix"
        assert "settings were not understood" in client.stderr.decode()


def test_open_snapshots_are_announced(server: LspClient, tmp_path: Path) -> None:
    opened = open_view(server, write_snapshot(tmp_path / "a.pickle"))
    server.wait_for("memlens/snapshotsChanged", lambda p: p == {"open": 1})
    server.request("memlens/close", {"snapshot": opened["snapshot"], "view": "v1"})
    server.wait_for("memlens/snapshotsChanged", lambda p: p == {"open": 0})
