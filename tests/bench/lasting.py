"""Long sessions with one server: the resources that it holds after many rounds of opening, asking and closing."""

import contextlib
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tests.fuzz.questions import make
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import children, leftovers, wait_until

from memlens.model.info import SnapshotInfo
from memlens.server.handlers.views import QUESTIONS

ASKED = 12
"""Requests in a round, of all kinds that a view sends."""


class Held(NamedTuple):
    """The resources of a process (Linux)."""

    resident_bytes: int
    descriptors: int
    maps: int

    @classmethod
    def by(cls, pid: int, folder: Path) -> "Held":
        """``maps`` counts the mapped files under ``folder``."""
        process = Path(f"/proc/{pid}")
        return cls(
            int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE"),
            len(list((process / "fd").iterdir())),
            (process / "maps").read_text().count(str(folder)),
        )


def rounds(
    client: LspClient,
    files: list[Path],
    cache: Path,
    count: int,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Held]:
    """Open a file, send all kinds of requests, close it; returns the server's resources per round.

    A tenth of the rounds also send an SQL query, for which the server starts processes.
    """
    chance = random.Random(11)
    held = []
    for number in range(count):
        opened = client.request("memlens/open", {"path": str(files[number % len(files)]), "view": "lasting"})
        info = msgspec.convert(opened["info"], SnapshotInfo)
        snapshot = opened["snapshot"]
        for method in chance.sample(sorted(QUESTIONS), ASKED):
            params = make(QUESTIONS[method].params, info, chance)
            if params is not None:
                ask(client, method, {**msgspec.to_builtins(params), "snapshot": snapshot})
        if number % 10 == 1:
            query = "SELECT count(*), sum(size_bytes) FROM allocations"
            ask(client, "memlens/sql", {"snapshot": snapshot, "query": query})
        client.request("memlens/close", {"snapshot": snapshot, "view": "lasting"})
        held.append(Held.by(client.pid, cache))
        progress(number)
    return held


def ask(client: LspClient, method: str, params: Any) -> bool:
    """Whether a request was answered; a refusal of an invalid one counts as an answer."""
    try:
        client.request(method, params)
    except RpcError as error:
        if error.data is not None and error.data["code"] == "internal":
            raise
        return False
    return True


class Killed(NamedTuple):
    """The outcome of a reading that was killed: its answer or its problem, and what was left in the cache."""

    answer: dict[str, Any] | None
    problem: dict[str, Any] | None
    hovered: bool
    """Whether a hover of another snapshot was answered in the meantime."""
    leftovers: list[str]


def kills(
    client: LspClient, big: Path, hovered: tuple[Path, int], cache: Path, count: int
) -> Iterator[Killed]:
    """Kill the child that reads ``big`` at random moments of its first second, and hover another snapshot; Linux only.

    If the child had finished, the view is closed and the archive removed, so that the file is read again. A child may
    also be killed after it made the archive and before it reported that.
    """
    chance = random.Random(7)
    for attempt in range(count):
        view = f"killed {attempt}"
        opening = client.send("memlens/open", {"path": str(big), "view": view})
        child = wait_until(lambda: children(client.pid))[0]
        time.sleep(chance.uniform(0, 1))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, 9)
        answered = bool(client.hover(*hovered))
        answer = problem = None
        try:
            answer = opening.result()
        except RpcError as error:
            problem = error.data
        else:
            client.request("memlens/close", {"snapshot": answer["snapshot"], "view": view})
        for manifest in list(cache.rglob("manifest.json")):
            if big.name in manifest.read_text():
                shutil.rmtree(manifest.parent)
        yield Killed(answer, problem, answered, leftovers(cache))


def viewports(client: LspClient, file: Path, cache: Path, count: int, every: int) -> list[Held]:
    """Pan and zoom a snapshot; returns the server's resources after each ``every`` requests."""
    chance = random.Random(12)
    opened = client.request("memlens/open", {"path": str(file), "view": "moving"})
    device = opened["info"]["devices"][0]
    held = []
    for number in range(1, count + 1):
        axis = chance.choice([name for name in ("event", "time") if device[f"{name}_axis"]])
        whole = device[f"{axis}_axis"]
        width = (whole["x1"] - whole["x0"]) * 0.5 ** chance.uniform(0, 10)
        x0 = chance.uniform(whole["x0"], whole["x1"] - width)
        box = {"x0": x0, "x1": x0 + width, "y0": 0, "y1": device["peak_bytes"], "columns": 800, "rows": 400}
        about = {"snapshot": opened["snapshot"], "device": device["device"], "axis": axis}
        client.request("memlens/viewport", {**about, **box})
        if number % every == 0:
            held.append(Held.by(client.pid, cache))
    client.request("memlens/close", {"snapshot": opened["snapshot"], "view": "moving"})
    return held
