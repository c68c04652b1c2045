"""Ctrl+C while a fleet is read, at moments of all kinds: one sentence, finished summaries, and nothing else."""

import gc
import json
import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.python.fleet_cluster import HAS_PACKAGES, fleet, start_fleet
from tests.python.server_harness import wait_until, write_snapshot
from tests.python.systems import needs_posix

from memlens.fleet import engine
from memlens.fleet.database import FILE_NAME, open_fleet
from memlens.fleet.engine import Engine
from memlens.fleet.interrupts import Hold
from memlens.fleet.place import FleetFile
from memlens.fleet.tables import SNAPSHOTS, TABLES
from memlens.fleet.work import Job

RANKS = 8


@pytest.fixture
def _from_a_terminal() -> Iterator[None]:
    """Child processes ignore Ctrl+C if this process does, for example under nohup."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """The signals that reached their previous handlers."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: came.append(number))
              for number in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
    yield came
    for number, handler in before.items():
        signal.signal(number, handler)


def test_deferred_signals(handled: list[int]) -> None:
    """They are delivered afterwards, in order, and none is lost."""
    with Hold() as hold:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert not handled
        with hold.let_through():
            assert handled == [signal.SIGINT, signal.SIGTERM]
            with Hold():
                signal.raise_signal(signal.SIGINT)
                assert len(handled) == 2
            assert len(handled) == 3
            signal.raise_signal(signal.SIGINT)
            assert len(handled) == 4
        signal.raise_signal(signal.SIGTERM)
        assert len(handled) == 4
    assert handled[4:] == [signal.SIGTERM]
    signal.raise_signal(signal.SIGINT)
    assert handled[5:] == [signal.SIGINT]


def test_what_an_interrupt_drops_is_not_warned_of() -> None:
    """Python warns of each coroutine of Dask's that Ctrl+C came before."""

    async def step() -> None: ...

    def warned() -> int:
        with warnings.catch_warnings(record=True) as found:
            dropped = step()
            del dropped
            gc.collect()
        return len(found)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert warned() == 1
        engine._silence()
        assert warned() == 0


@pytest.mark.usefixtures("_from_a_terminal")
def test_interrupted_while_a_file_is_submitted() -> None:
    """Ctrl+C while Dask makes a future: Dask prints a traceback when an incomplete future is dropped."""
    futures = []

    class Client:
        def subscribe_topic(self, *_arguments: object) -> None: ...

        def nthreads(self) -> dict[str, int]:
            return {"worker": 1}

        def submit(self, *_arguments: object, **_options: object) -> Future[bytes]:
            signal.raise_signal(signal.SIGINT)
            futures.append(Future[bytes]())
            return futures[-1]

    handler = signal.getsignal(signal.SIGINT)
    job = Job(FleetFile("rank0.pickle", "/job/rank0.pickle", 1, "1"), 0, [], None, 0)
    with pytest.raises(KeyboardInterrupt):
        next(Engine(Client(), print).run(iter([job])))
    assert len(futures) == 1
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.fixture
def job(on_disk: Path) -> Path:
    folder = on_disk / "job"
    folder.mkdir()
    for rank in range(RANKS):
        write_snapshot(folder / f"rank{rank}.pickle", 400 + 4 * rank)
    # takes longer than any test
    with (folder / "rank9.pickle").open("wb") as file:
        file.truncate(1 << 40)
    return folder


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder whose path is short: sockets are made in it, whose paths have at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="m") as folder:
        yield Path(folder)


def interrupted(temporary: Path, *arguments: object, after: int) -> tuple[list[str], str]:
    """Interrupt a run after that many files. Returns the names of the finished ones, and the output."""
    process = start_fleet(*arguments, "--progress", "json", env={"TMPDIR": str(temporary)})
    assert process.stdout
    finished: list[str] = []
    lines = map(json.loads, process.stdout)
    for line in lines:
        finished += [line["name"]] if line["type"] == "file" else []
        if len(finished) == after:
            # as a terminal does: the whole process group
            os.killpg(process.pid, signal.SIGINT)
            break
    # by the same reader: it may have read further than the line at which it stopped
    lines_read: list[dict[str, Any]] = [*lines]
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, bool(lines_read)) == (1, True), (finished, errors)
    assert lines_read[-1]["problem"]["code"] == "interrupted", errors
    assert not list(temporary.iterdir())
    # multiprocessing's clean-up process is the last to end
    wait_until(lambda: not group_lives(process.pid), 120)
    return finished + [line["name"] for line in lines_read if line["type"] == "file"], errors


@needs_posix
@pytest.mark.slow
@pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py")
@pytest.mark.usefixtures("_from_a_terminal")
def test_interrupted(job: Path, tmp_path: Path, temporary: Path) -> None:
    """With the local cluster: while it starts, and while it reads."""
    out = tmp_path / "out"
    command = (job, "--out", out, "--workers", "2")
    finished, errors = interrupted(temporary, *command, after=0)
    assert (finished, errors) == ([], "memlens: Interrupted. No summary was finished.\n")
    assert not out.exists()

    finished, errors = interrupted(temporary, *command, after=3)
    assert errors == (
        f"memlens: Interrupted. Finished summaries are in {out}; the same command continues from there.\n"
    )
    # a file may be finished whose line wasn't printed any more
    with closing(open_fleet(out)) as connection:
        kept: dict[Any, Any] = dict(connection.execute("SELECT name, status FROM snapshots"))
    assert kept.keys() >= set(finished)
    assert set(kept.values()) == {"ok"}
    assert {path.name for path in out.iterdir()} == {
        FILE_NAME,
        *(f"{table}.parquet" for table in (SNAPSHOTS, *TABLES)),
    }

    (job / "rank9.pickle").unlink()
    lines = fleet(*command)
    assert lines[0]["known"] == len(kept)
    assert len([line for line in lines if line["type"] == "file"]) == RANKS - len(kept)
    assert lines[-1]["ok"] == RANKS


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
