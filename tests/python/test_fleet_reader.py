"""The process beside a worker that reads its files: no file affects the next one."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.python.server_harness import wait_until, write_snapshot
from tests.python.systems import needs_posix

from memlens.child import IngestError
from memlens.fleet.reader import Reader, Request
from memlens.fleet.tables import Summary


@pytest.fixture
def others() -> set[int]:
    """The processes that other tests started."""
    return set(children(os.getpid()))


@pytest.fixture
def reader(others: set[int]) -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.close()


def children(process: int) -> list[int]:
    return [
        int(number)
        for task in Path(f"/proc/{process}/task").iterdir()
        for number in (task / "children").read_text().split()
    ]


def read(reader: Reader, file: Path, archive: Path, **more: int) -> Summary:
    return reader.read(
        Request(str(file), str(archive), False, more.get("limit_bytes", 0)), lambda _stage, _done: None
    )


def test_a_file_does_not_affect_the_next_one(
    reader: Reader, others: set[int], tmp_path: Path, sample: Path
) -> None:
    (tmp_path / "damaged.pickle").write_bytes(sample.read_bytes()[:200_000])
    whole = read(reader, sample, tmp_path / "0")
    (process,) = set(children(os.getpid())) - others
    for attempt, (file, limit_bytes, code) in enumerate(
        ((tmp_path / "damaged.pickle", 0, "damaged"), (sample, 1 << 20, "out-of-memory")), 1
    ):
        with pytest.raises(IngestError) as raised:
            read(reader, file, tmp_path / f"{attempt}", limit_bytes=limit_bytes)
        assert raised.value.code == code
        assert not (tmp_path / f"{attempt}").exists()
    again = read(reader, sample, tmp_path / "3")
    assert (again.peak_bytes, again.lines) == (whole.peak_bytes, whole.lines)
    # all in one process, whose children have ended, and whose memory hasn't grown by theirs
    assert set(children(os.getpid())) - others == {process}
    assert not children(process)
    # no pictures, because the archive isn't opened
    assert not [path for path in (tmp_path / "3").rglob("*") if "fit" in path.name]


def test_a_worker_s_memory_settings_do_not_apply_to_its_reader(
    reader: Reader, others: set[int], tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask makes its workers release freed memory at once, which would make a reader a third slower."""
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    read(reader, sample, tmp_path / "0")
    (process,) = set(children(os.getpid())) - others
    assert b"MALLOC_TRIM" not in Path(f"/proc/{process}/environ").read_bytes()


@needs_posix
@pytest.mark.slow
@pytest.mark.parametrize("of_reader", [False, True])
def test_a_death_half_way(
    reader: Reader, others: set[int], tmp_path: Path, sample: Path, *, of_reader: bool
) -> None:
    """The child dies, or the reader with its child: both become a sentence, and the next file is read."""
    read(reader, sample, tmp_path / "0")
    (process,) = set(children(os.getpid())) - others
    write_snapshot(tmp_path / "long.pickle", 100_000)
    child: list[int] = []

    def kill(_stage: str, _done: float | None) -> None:
        if not child:
            child.extend(children(process))
            os.kill(process if of_reader else child[0], signal.SIGKILL)

    with pytest.raises(IngestError, match=r"The reading of long\.pickle was killed") as raised:
        reader.read(Request(str(tmp_path / "long.pickle"), str(tmp_path / "1"), False, 0), kill)
    assert raised.value.code == "ingest-died"
    wait_until(lambda: not Path(f"/proc/{child[0]}").exists())
    assert read(reader, sample, tmp_path / "2").kind == "pytorch-snapshot"
    assert (set(children(os.getpid())) - others == {process}) is not of_reader
