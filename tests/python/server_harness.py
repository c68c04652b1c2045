"""What the server's tests share: small snapshots, opening them, and looking at what the server leaves."""

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python.lsp_client import LspClient, RpcError


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


def open_view(server: LspClient, path: Path, view: str = "v1") -> Any:
    return server.request("memlens/open", {"path": str(path), "view": view})


LOWERED = 10
"""The niceness of what mustn't disturb the editor; the tests themselves may have one as high."""


def niceness(task: int) -> int:
    """The niceness of a process or one of its threads: the higher, the lower its priority."""
    return os.getpriority(os.PRIO_PROCESS, task)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ticks(pid: int) -> int:
    """The time that a process has computed and had pages mapped, by /proc."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]))


def wait_until(test: Callable[[], Any], limit_s: float = 30.0) -> Any:
    deadline = time.monotonic() + limit_s
    while not (found := test()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
    return found


def leftovers(cache_folder: Path) -> list[str]:
    return [path.name for path in cache_folder.rglob("*.partial-*")]


def problem_of(server: LspClient, method: str, params: Any) -> dict[str, Any]:
    with pytest.raises(RpcError) as caught:
        server.request(method, params)
    problem: dict[str, Any] = caught.value.data
    assert problem["message"]
    return problem


def find_source(server: LspClient, file: str, line: int = 10) -> dict[str, Any]:
    found: dict[str, Any] = server.request("memlens/source", {"snapshot": "", "file": file, "line": line})
    return found
