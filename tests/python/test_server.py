"""The real server process, driven over its stdin and stdout: opening, closing, questions, wrong parameters."""

import base64
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.python.conftest import ROOT
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import find_source, open_view, problem_of, write_snapshot

from memlens.server.app import create_server
from memlens.server.requirements import PACKAGES
from memlens.server.wire import REQUESTS

pytest_plugins = ("tests.python.server_fixtures",)


@pytest.mark.slow
def test_it_announces_its_capabilities_and_does_not_sync_documents(
    workspace: Path, cache_folder: Path
) -> None:
    with LspClient() as client:
        capabilities = client.start(workspace, {"cache_directory": str(cache_folder)})["capabilities"]
        assert capabilities["hoverProvider"]
        assert capabilities["codeLensProvider"] == {"resolveProvider": False}
        sync = capabilities["textDocumentSync"]
        assert (sync["openClose"], sync["change"], sync["save"]) == (False, 0, False)
        assert client.end() == 0


def test_the_extension_can_check_the_package_s_requirements() -> None:
    needed = tomllib.loads((ROOT / "pyserver/pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    # the package pyelftools is imported by the name elftools
    names = ["elftools" if name.startswith("pyelftools") else re.split("[>=]", name)[0] for name in needed]
    assert sorted(PACKAGES) == sorted(names)
    code = f"import sys; sys.path.append({str(ROOT / 'pyserver')!r}); import memlens.server.requirements"
    for without, missing in (([], ""), (["-S"], "No module named 'apsw'")):
        found = subprocess.run(
            [sys.executable, "-I", *without, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert found.stderr.strip().rpartition("ModuleNotFoundError: ")[2] == missing
        assert (found.returncode == 0) == (not missing)


@pytest.mark.slow
def test_open_reports_progress_and_every_request_is_answered(server: LspClient, tmp_path: Path) -> None:
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


def test_an_archived_snapshot_opens_without_a_child(
    server: LspClient, tmp_path: Path, cache_folder: Path
) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    first = open_view(server, path)
    server.request("memlens/close", {"snapshot": first["snapshot"], "view": "v1"})
    archives = sorted(cache_folder.iterdir())
    server.notifications.clear()
    assert open_view(server, path)["info"] == first["info"]
    assert sorted(cache_folder.iterdir()) == archives
    assert not [name for name, _ in server.notifications if name == "memlens/progress"]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["column", "string_utf8", "manifest.json", "garbage"])
def test_a_damaged_archive_is_rebuilt(
    server: LspClient, tmp_path: Path, cache_folder: Path, damage: str
) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    first = open_view(server, path)
    server.request("memlens/close", {"snapshot": first["snapshot"], "view": "v1"})
    (archive,) = (entry for entry in cache_folder.iterdir() if entry.is_dir())
    if damage == "column":
        column = next(file for file in archive.iterdir() if file.name.endswith(".size"))
        column.write_bytes(column.read_bytes()[:-1])
    elif damage == "garbage":
        ends = archive / "string_end"
        ends.write_bytes(b"\xff" * ends.stat().st_size)
    else:
        (archive / damage).write_bytes(b"nothing")
    opened = open_view(server, path)
    assert opened["info"] == first["info"]
    assert server.request("memlens/stack", {"snapshot": opened["snapshot"], "allocation": 0})["frames"]


@pytest.mark.slow
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


@pytest.mark.slow
def test_opening_fails_with_a_problem(server: LspClient, tmp_path: Path) -> None:
    missing = problem_of(server, "memlens/open", {"path": str(tmp_path / "none.pickle"), "view": "v"})
    assert missing["code"] == "file"
    folder = problem_of(server, "memlens/open", {"path": str(tmp_path), "view": "v"})
    assert folder["code"] == "file"
    relative = problem_of(server, "memlens/open", {"path": "a.pickle", "view": "v"})
    assert relative["code"] == "file"
    other = tmp_path / "other.pickle"
    other.write_bytes(pickle.dumps(["no", "snapshot"]))
    assert problem_of(server, "memlens/open", {"path": str(other), "view": "v"})["code"] == "not-a-snapshot"
    empty = tmp_path / "empty.pickle"
    empty.write_bytes(b"")
    assert problem_of(server, "memlens/open", {"path": str(empty), "view": "v"})["code"] == "not-a-snapshot"
    good = write_snapshot(tmp_path / "good.pickle")
    assert open_view(server, good)


def test_requests_about_missing_things_fail_with_a_problem(server: LspClient, tmp_path: Path) -> None:
    opened = open_view(server, write_snapshot(tmp_path / "a.pickle"))
    name = opened["snapshot"]
    for method, params, what in (
        ("memlens/stack", {"allocation": 10**9}, "no allocation 1,000,000,000"),
        ("memlens/hit", {"device": 77, "moment": 0, "y_bytes": 0}, "no device 77"),
        ("memlens/overview", {"device": 77, "axis": "event", "columns": 10}, "no device 77"),
    ):
        problem = problem_of(server, method, {"snapshot": name, **params})
        assert problem["code"] == "bad-request"
        assert what in problem["message"]
    # nothing was closed by that
    assert server.request("memlens/stack", {"snapshot": name, "allocation": 0})["frames"]
    assert problem_of(server, "memlens/stack", {"snapshot": "gone", "allocation": 0})["code"] == "closed"
    server.request("memlens/close", {"snapshot": name, "view": "v1"})
    assert problem_of(server, "memlens/stack", {"snapshot": name, "allocation": 0})["code"] == "closed"
    server.request("memlens/close", {"snapshot": name, "view": "v1"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "method", "params", "sentence"),
    [
        (
            "samples/words.pb.gz",
            "memlens/mapLocate",
            {"allocation": 0, "axis": "event"},
            "A profile has no individual allocations, which are needed for the memory map",
        ),
        (
            "samples/words.pb.gz",
            "memlens/steps",
            {"device": 0, "offset": 0, "limit": 9},
            "A profile has no devices, which are needed for the table of steps",
        ),
        (
            "samples/words.pb.gz",
            "memlens/stack",
            {"allocation": 0},
            "A profile has no individual allocations, which are needed for the stack of an allocation",
        ),
        (
            "samples/train.pickle",
            "memlens/profileTimes",
            {},
            "A trace of events has no samples, which are needed for the profile over time",
        ),
    ],
)
def test_a_model_that_lacks_an_answer_refuses_by_name(
    server: LspClient, path: str, method: str, params: Any, sentence: str
) -> None:
    opened = open_view(server, ROOT / path)
    problem = problem_of(server, method, {"snapshot": opened["snapshot"], **params})
    assert (problem["code"], problem["message"], problem["retry"]) == ("bad-request", sentence, False)


def test_no_request_of_a_view_names_a_file_to_read_or_to_write() -> None:
    """A page that a stranger has a say in may ask all of these; ``file`` is one of the snapshot's own names."""
    create_server()
    of_view = {method: request.params for method, request in REQUESTS.items() if request.of_view}
    fields = [(method, field) for method, params in of_view.items() for field in structs.fields(params)]
    assert len(fields) > 100
    words = {"path", "paths", "out", "output", "folder", "folders", "dir", "url"}
    assert [(method, field.name) for method, field in fields if words & set(field.name.split("_"))] == []
    assert not {"memlens/redact", "memlens/save", "memlens/dump", "memlens/record"} & of_view.keys()


@pytest.mark.slow
def test_invalid_settings_are_ignored(workspace: Path) -> None:
    with LspClient() as client:
        client.start(workspace, {"hover": "perhaps", "path_mappings": [1]})
        assert find_source(client, "/x/y/train.py")["how"] == "suffix"
        assert "settings were not understood" in client.stderr.decode()


def test_open_snapshots_are_announced(server: LspClient, tmp_path: Path) -> None:
    opened = open_view(server, write_snapshot(tmp_path / "a.pickle"))
    server.wait_for("memlens/snapshotsChanged", lambda p: p == {"open": 1})
    server.request("memlens/close", {"snapshot": opened["snapshot"], "view": "v1"})
    server.wait_for("memlens/snapshotsChanged", lambda p: p == {"open": 0})
