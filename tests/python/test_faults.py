"""Faults while a snapshot is read or shown: changed files, killed children, too little memory or disk space."""

import contextlib
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.bench.lasting import kills
from tests.python.lsp_client import LspClient, Pending, RpcError
from tests.python.server_harness import (
    leftovers,
    open_view,
    problem_of,
    snapshot_of,
    ticks,
    wait_until,
    write_snapshot,
)
from tests.python.tries import tries

pytest_plugins = ("tests.python.server_fixtures",)

POSIX = sys.platform != "win32"
LINUX = sys.platform.startswith("linux")


def archive_of(cache_folder: Path) -> Path:
    (manifest,) = cache_folder.rglob("manifest.json")
    return manifest.parent


def outcome(pending: Pending) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outcome of a request: its answer or its problem."""
    try:
        return pending.result(), {}
    except RpcError as error:
        return {}, error.data


def viewport(snapshot: str, device: dict[str, Any]) -> dict[str, Any]:
    axis = device["event_axis"]
    return {
        "snapshot": snapshot,
        "device": device["device"],
        "axis": "event",
        "columns": 400,
        "rows": 300,
        "x0": axis["x0"],
        "x1": axis["x1"],
        "y0": 0,
        "y1": device["peak_bytes"] * 1.1,
    }


@pytest.mark.slow
@pytest.mark.skipif(not POSIX, reason="a mapped file can't be made shorter there")
def test_an_archive_that_is_truncated_while_it_is_shown_fails_one_request(
    server: LspClient, tmp_path: Path, cache_folder: Path
) -> None:
    file = write_snapshot(tmp_path / "a.pickle", 40_000)
    opened = open_view(server, file)
    device = opened["info"]["devices"][0]
    assert server.request("memlens/viewport", viewport(opened["snapshot"], device))
    for column in archive_of(cache_folder).iterdir():
        if column.name != "manifest.json" and column.stat().st_size > 0:
            os.truncate(column, 0)
    params = {
        "snapshot": opened["snapshot"],
        "device": device["device"],
        "moment": 20_000,
        "offset": 0,
        "limit": 50,
    }
    problem = problem_of(server, "memlens/live", params)
    assert problem["code"] == "damaged", problem
    assert server.wait_for("memlens/damaged", lambda p: p["snapshot"] == opened["snapshot"])["again"]
    # when it is opened again, it is rebuilt and answers
    again = open_view(server, file, "v2")
    assert again["info"] == opened["info"]
    assert server.request("memlens/viewport", viewport(again["snapshot"], device))


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
@pytest.mark.parametrize("change", ["cut", "replace", "append", "remove"])
def test_a_file_that_changes_while_it_is_read(
    server: LspClient, tmp_path: Path, cache_folder: Path, big: Path, change: str
) -> None:
    file = tmp_path / "changing.pickle"
    shutil.copyfile(big, file)
    other = open_view(server, write_snapshot(tmp_path / "other.pickle"), "other")
    opening = server.send("memlens/open", {"path": str(file), "view": "v1"})
    server.wait_for("memlens/progress", lambda p: p["view"] == "v1" and p["stage"] == "reading")
    match change:
        case "cut":
            os.truncate(file, file.stat().st_size // 3)
        case "replace":
            write_snapshot(tmp_path / "new.pickle").replace(file)
        case "append":
            with file.open("ab") as end:
                end.write(b"\0" * 4096)
        case "remove":
            file.unlink()
    answer, problem = outcome(opening)
    if change == "remove":
        # the file that was opened is read to its end
        assert answer["info"]["devices"][0]["allocations"] > 100_000
    else:
        assert (problem["code"], problem["retry"]) == ("changed", True), problem
    assert not leftovers(cache_folder)
    device = other["info"]["devices"][0]
    assert server.request("memlens/viewport", viewport(other["snapshot"], device))


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
def test_a_child_killed_at_any_moment_leaves_nothing_and_disturbs_nothing(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path, big: Path
) -> None:
    open_view(server, write_snapshot(tmp_path / "other.pickle"), "other")
    killed = 0
    for each in kills(server, big, (workspace / "code" / "train.py", 10), cache_folder, tries(20)):
        assert each.hovered
        if each.problem is not None:
            assert each.problem["code"] == "ingest-died", each.problem
            killed += 1
        assert not each.leftovers
    assert killed >= tries(5), "the child was too quick for this test to mean anything"


ENDLESS = {
    "heapsnapshot": b'{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count',
    "json": b'{"dhatFileVersion":2,"mode":"heap","verb":"',
}
"""The beginnings of files that go on with one text of zeros."""


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks at a process in /proc")
@pytest.mark.parametrize("command", ["info", "redact"])
@pytest.mark.parametrize("suffix", ENDLESS)
def test_a_signal_ends_a_command_within_a_text_of_many_gigabytes(
    tmp_path: Path, on_disk: Path, suffix: str, command: str
) -> None:
    path = on_disk / f"endless.{suffix}"
    with path.open("wb") as file:
        file.write(ENDLESS[suffix])
        file.truncate(1 << 40)
    into = [str(tmp_path / "out")] if command == "redact" else ["--cache-dir", str(tmp_path / "cache")]
    arguments = [sys.executable, "-P", "-m", "memlens", command, str(path), *into]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            # it has begun to write
            wait_until(lambda: any(tmp_path.rglob("*.partial-*")))
            first = ticks(process.pid)
            wait_until(lambda: ticks(process.pid) > first + 20)
            started = time.monotonic()
            process.terminate()
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()  # it would go on for hours
    assert time.monotonic() - started < 5
    assert process.returncode == 1
    assert errors == b"memlens: Interrupted. All partial files were removed.\n"
    assert not list(tmp_path.rglob("*.partial-*"))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_signal_ends_a_command_to_which_nobody_listens_any_more() -> None:
    program = (
        "import os, signal, time; from memlens.interrupting import ended_by_signals; os.close(2)\n"
        "signal.signal(signal.SIGHUP, lambda *_: None)\n"
        "with ended_by_signals(): os.kill(os.getpid(), signal.SIGHUP); time.sleep(60)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=50).returncode == 1


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="RLIMIT_DATA counts there")
@pytest.mark.parametrize("limit_mib", [60, 90], ids=["kernels are not loaded", "columns have no room"])
def test_a_file_that_needs_more_memory_than_it_may_take_is_reported_so(
    tmp_path: Path, big: Path, limit_mib: int
) -> None:
    command = [sys.executable, "-m", "memlens", "ingest", "--cache-dir", str(tmp_path / "cache")]
    ended = subprocess.run(
        [*command, "--memory-limit", str(limit_mib << 20), str(big)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert f"Reading {big} needs more than the allowed {limit_mib} MiB" in ended.stderr
    assert "memlens.memory.limit" in ended.stderr
    assert not list((tmp_path / "cache").rglob("*.partial-*"))


@contextlib.contextmanager
def not_writable(folder: Path, how: str) -> Iterator[None]:
    """A folder that can't be written to: not even by root, unless only its permissions say so."""
    if how == "a file":
        folder.write_text("in its place")
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    if how == "its rights":
        if not POSIX or os.geteuid() == 0:
            pytest.skip("root writes everywhere")
        folder.chmod(0o500)
        undo = ["chmod", "700", str(folder)]
    else:
        mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(folder)]
        if (
            not LINUX
            or os.geteuid() != 0
            or subprocess.run(mount, capture_output=True, check=False).returncode
        ):
            pytest.skip("no disk can be mounted here")
        undo = ["umount", str(folder)]
    try:
        yield
    finally:
        subprocess.run(undo, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["its rights", "a file", "a disk"])
def test_a_cache_that_can_not_be_written_is_reported(
    server: LspClient, tmp_path: Path, cache_folder: Path, how: str
) -> None:
    opening = {"path": str(write_snapshot(tmp_path / "a.pickle")), "view": "v1"}
    with not_writable(cache_folder, how):
        problem = problem_of(server, "memlens/open", opening)
        assert problem["code"] == "system"
        assert str(cache_folder) in problem["message"]
        assert "memlens.cache.directory" in problem["advice"]
    if how == "a file":
        cache_folder.unlink()
    assert server.request("memlens/open", opening)["snapshot"], "repaired, and tried again"


@pytest.mark.skipif(
    not LINUX or not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a small disk"
)
def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        file = tmp_path / "a.pickle"
        file.write_bytes(pickle.dumps(snapshot_of(40_000), 4))
        command = [sys.executable, "-m", "memlens", "ingest", "--cache-dir", str(disk / "cache"), str(file)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        assert f"The disk of {disk / 'cache'} has no room for the archive" in ended.stderr, ended.stderr
        assert "--cache-dir" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
        assert not list(disk.rglob("*.partial-*")), list(disk.rglob("*"))
    finally:
        subprocess.run(["umount", str(disk)], check=False)
