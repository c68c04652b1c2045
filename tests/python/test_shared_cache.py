"""One cache for several servers, each with several windows: right answers even if another one evicts an archive, is
killed or starts late.
"""

import contextlib
import os
import pickle
import random
import shutil
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import (
    children,
    leftovers,
    open_view,
    problem_of,
    snapshot_of,
    wait_until,
    write_snapshot,
)
from tests.python.tries import tries

from memlens.store.files.cache import Cache
from memlens.store.manifest import in_use

pytest_plugins = ("tests.python.server_fixtures",)

LINUX = sys.platform.startswith("linux")
ROUNDS = tries(9)
"""How many files each window opens at least."""


def answers(server: LspClient, opened: dict[str, Any]) -> list[Any]:
    """A view's first requests, and a page of the list of what is live."""
    device = opened["info"]["devices"][0]
    about = {"snapshot": opened["snapshot"], "device": device["device"]}
    axis = device["event_axis"]
    box = {"x0": axis["x0"], "x1": axis["x1"], "y0": 0, "y1": device["peak_bytes"]}
    return [
        opened["info"]["devices"],
        server.request("memlens/viewport", {**about, "axis": "event", "columns": 200, "rows": 100, **box}),
        server.request("memlens/live", {**about, "moment": None, "offset": 0, "limit": 20}),
        server.request("memlens/stack", {"snapshot": opened["snapshot"], "allocation": 3}),
    ]


def archives(folder: Path) -> list[Path]:
    return [manifest.parent for manifest in folder.glob("*/manifest.json")]


def aging(folder: Path, windows: list[Future[int]], went: list[Path]) -> None:
    """Make archives that weren't used for a second look old; ``went`` gets the archives that were evicted."""
    last = set[Path]()
    while not all(window.done() for window in windows):
        now = set(archives(folder))
        went += last - now
        last = now
        for archive in now:
            with contextlib.suppress(OSError):
                if time.time() - (archive / "manifest.json").stat().st_mtime > 1:
                    os.utime(archive / "manifest.json", (1e9, 1e9))
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.skipif(
    not LINUX, reason="archives are marked as in use by locks, and processes looked for in /proc"
)
def test_two_servers_with_four_windows_each_share_a_cache_that_is_too_small(
    workspace: Path, tmp_path: Path, cache_folder: Path
) -> None:
    files = [write_snapshot(tmp_path / f"{n}.pickle", 400 * (n + 1)) for n in range(4)]
    settings = {"cache_directory": str(cache_folder), "cache_limit_bytes": 1}

    with LspClient() as alone:
        alone.start(workspace, {"cache_directory": str(tmp_path / "its-own")})
        right = [answers(alone, open_view(alone, file, file.name)) for file in files]
        room = sum(path.stat().st_size for path in (tmp_path / "its-own").rglob("*") if path.is_file())
    settings["cache_limit_bytes"] = room // 3

    servers = [LspClient(), LspClient()]
    try:
        for server in servers:
            server.start(workspace, settings)

        went: list[Path] = []
        latest = time.monotonic() + 60

        def window(number: int) -> int:
            """Open, examine and close files in a random order."""
            server, chance, looked = servers[number % 2], random.Random(number), 0
            # a fast machine is finished before an archive is old enough for eviction
            while looked < ROUNDS or (not went and time.monotonic() < latest):
                # the other two aren't opened for two seconds, so they become old
                which = (int(time.monotonic() / 2) + chance.randrange(2)) % len(files)
                view = f"{number}.{looked}"
                opened = open_view(server, files[which], view)
                assert answers(server, opened) == right[which]
                looked += 1
                if looked > ROUNDS:
                    # it only waits for the eviction, which needs no more than an opened file now and then
                    time.sleep(0.1)
                server.request("memlens/close", {"snapshot": opened["snapshot"], "view": view})
            return looked

        with ThreadPoolExecutor(9) as threads:
            windows = [threads.submit(window, number) for number in range(8)]
            evictions = threads.submit(aging, cache_folder, windows, went)
            assert all(each.result() >= ROUNDS for each in windows)
            evictions.result()
            assert went, "the cache was never too small"
        assert not leftovers(cache_folder)
        # archives in use stay even beyond the limit, which the next eviction without any in use enforces
        assert not [archive for archive in archives(cache_folder) if in_use(archive)]
        Cache(cache_folder, room // 3, spared_s=0).evict()
        kept = sum(path.stat().st_size for path in cache_folder.rglob("*") if path.is_file())
        assert kept <= room // 3

        # one of them is killed, with everything open and a file partly read
        for server in servers:
            for file in files:
                open_view(server, file, f"last {file.name}")
        slow = tmp_path / "slow.pickle"
        slow.write_bytes(pickle.dumps(snapshot_of(150_000), 4))
        servers[0].send("memlens/open", {"path": str(slow), "view": "slow"})
        wait_until(lambda: leftovers(cache_folder))
        (child,) = children(servers[0].pid)
        servers[0].process.kill()
        servers[0].process.wait()
        wait_until(lambda: not Path(f"/proc/{child}").exists())
        # the other one keeps working, and what only the dead one used can be evicted
        for file, known in zip(files, right, strict=True):
            opened = open_view(servers[1], file, f"last {file.name}")
            assert answers(servers[1], opened) == known
            servers[1].request("memlens/close", {"snapshot": opened["snapshot"], "view": f"last {file.name}"})
        assert not [archive for archive in archives(cache_folder) if in_use(archive)]
        # and the next reading removes its leftovers
        opened = open_view(servers[1], slow, "slow")
        assert opened["info"]["devices"][0]["events"] == 150_000
        assert not leftovers(cache_folder)
    finally:
        for server in servers:
            server.end()


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="a folder that is in use can't be removed everywhere")
def test_an_archive_that_is_removed_while_it_is_shown_gives_correct_answers_or_errors(
    server: LspClient, tmp_path: Path, cache_folder: Path
) -> None:
    file = write_snapshot(tmp_path / "a.pickle", 4_000)
    opened = open_view(server, file)
    right = answers(server, opened)
    for archive in archives(cache_folder):
        shutil.rmtree(archive)
    problem = ""
    try:
        assert answers(server, opened) == right
    except RpcError as error:
        problem = error.data["code"]
    # what is computed ahead may have found out: then the file is read again
    assert problem in ("", "closed")
    # requests that weren't made before need columns and tables that are gone
    device = opened["info"]["devices"][0]["device"]
    about = {"snapshot": opened["snapshot"]}
    refused: list[str] = []
    for method, params in (
        ("memlens/sql", {"query": "SELECT count(*) FROM allocations"}),
        ("memlens/mapLanes", {"device": device}),
        ("memlens/reserved", {"device": device, "axis": "event", "x0": 0, "x1": 99, "columns": 9}),
    ):
        try:
            server.request(method, {**about, **params})
        except RpcError as error:
            refused.append(error.data["code"])
    assert refused
    assert not {"internal", "bad-request"} & set(refused)
    again = open_view(server, file, "v2")
    assert answers(server, again) == right


def test_changes_of_a_file_are_reported(server: LspClient, tmp_path: Path) -> None:
    file = write_snapshot(tmp_path / "a.pickle")
    link = tmp_path / "latest.pickle"
    link.symlink_to(file)
    name = open_view(server, link)["snapshot"]

    def state() -> str:
        reported = server.request("memlens/fileState", {"snapshot": name, "path": str(link)})
        return str(reported["state"])

    before = file.stat()
    assert state() == "same"
    file.rename(tmp_path / "moved.pickle")
    assert state() == "gone"
    write_snapshot(file, 800)
    assert state() == "changed"
    file.unlink()
    shutil.copyfile(tmp_path / "moved.pickle", file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert state() == "same", "a file that is the same again isn't another one"
    link.unlink()
    link.symlink_to(tmp_path / "moved.pickle")
    assert state() == "changed", "the name means another file now"
    link.unlink()
    link.mkdir()
    assert state() == "gone"
    server.request("memlens/close", {"snapshot": name, "view": "v1"})
    asked = {"snapshot": name, "path": str(link)}
    assert problem_of(server, "memlens/fileState", asked)["code"] == "closed"
