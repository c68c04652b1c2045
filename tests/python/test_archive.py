"""Archives and their cache: complete or absent, rebuilt when outdated, shared safely, limited in size."""

import contextlib
import os
import pickle
import shutil
import stat
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.python.conftest import event, frame

from memlens.errors import BadRequestError, MemlensError
from memlens.ingest import ingest
from memlens.store.files.cache import Cache, partial_folder
from memlens.store.manifest import ArchiveError, SourceFile, read_manifest
from memlens.store.snapshot import Snapshot
from memlens.views.lines.stack import stack
from memlens.views.lines.totals import top_lines
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.live import live
from memlens.views.trace.picture.locate import locate
from memlens.views.trace.picture.viewport import viewport


def quiet(*_: object) -> None:
    """Report nothing."""


def snapshot_file(path: Path, size: int) -> Path:
    trace = [event("alloc", i, size, frame("/p/a.py", 1, "f"), time_us=i) for i in range(3)]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    return path


def peak(archive: Path) -> int:
    snapshot = Snapshot.open(archive)
    try:
        return snapshot.timeline.devices[0].peak_bytes
    finally:
        snapshot.close()


def test_an_archive_is_reused_until_the_file_changes(cache: Cache, tmp_path: Path) -> None:
    path = snapshot_file(tmp_path / "s.pickle", 10)
    assert cache.find(path) is None
    archive = ingest(path, cache, quiet)
    assert cache.find(path) == archive
    link = tmp_path / "link.pickle"
    link.symlink_to(path)
    assert cache.find(link) == archive
    snapshot_file(path, 20)
    os.utime(path, ns=(1, 2))
    assert cache.find(path) is None
    assert peak(ingest(path, cache, quiet)) == 60
    with pytest.raises(FileNotFoundError):
        cache.find(tmp_path / "missing.pickle")


def test_a_file_that_is_rewritten_with_its_size_and_time_is_read_again(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = snapshot_file(tmp_path / "s.pickle", 10)
    before = path.stat()
    assert peak(ingest(path, cache, quiet)) == 30
    snapshot_file(path, 20)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert cache.find(path) is None
    assert peak(ingest(path, cache, quiet)) == 60
    # with the same content again it is the same file
    there = SourceFile.of(path)
    snapshot_file(path, 20)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert SourceFile.of(path) == there
    large = tmp_path / "large"
    large.write_bytes(bytes(1_000_000))
    assert (SourceFile.of(large).ctime_ns == 0) == (sys.platform == "win32")
    # what is shown isn't reported as changed because it was moved away and back
    read = SourceFile.of(large)
    large.rename(tmp_path / "away").rename(large)
    assert SourceFile.of(large).seems(read)
    large.write_bytes(bytes(999_999))
    assert not SourceFile.of(large).seems(read)
    # Windows has no time of a change: there the samples decide alone
    monkeypatch.setattr("memlens.store.manifest.sys.platform", "win32")
    for at in (0, 531_148, 999_999):
        # the first, the last and a middle block
        large.write_bytes(bytes(1_000_000))
        unchanged = SourceFile.of(large).sample
        with large.open("r+b") as file:
            file.seek(at)
            file.write(b"x")
        assert SourceFile.of(large).sample != unchanged


DAMAGE: dict[str, Callable[[Path], object]] = {
    "column cut": lambda archive: os.truncate(archive / "0.size", 8),
    "column gone": lambda archive: (archive / "stack_node").unlink(),
    "strings cut": lambda archive: os.truncate(archive / "string_utf8", 100),
    "manifest cut": lambda archive: os.truncate(archive / "manifest.json", 100),
    "manifest gone": lambda archive: (archive / "manifest.json").unlink(),
    "manifest of another version": lambda archive: (archive / "manifest.json").write_text(
        '{"format_version": 0}'
    ),
    "manifest is a list": lambda archive: (archive / "manifest.json").write_text("[]"),
    "empty folder": lambda archive: deque(map(os.unlink, archive.iterdir()), maxlen=0),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_noticed_and_repaired(name: str, cache: Cache, tmp_path: Path) -> None:
    path = snapshot_file(tmp_path / "s.pickle", 10)
    archive = ingest(path, cache, quiet)
    DAMAGE[name](archive)
    assert cache.find(path) is None
    with pytest.raises(ArchiveError):
        Snapshot.open(archive)
    assert ingest(path, cache, quiet) == archive
    assert cache.find(path) == archive
    assert peak(archive) == 30
    assert [entry.name for entry in cache.folder.iterdir()] == [archive.name]


def test_archives_are_private_and_complete(cache: Cache, tmp_path: Path) -> None:
    archive = ingest(snapshot_file(tmp_path / "s.pickle", 10), cache, quiet)
    if os.name == "posix":
        assert stat.S_IMODE(archive.stat().st_mode) == 0o700
        assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    manifest = read_manifest(archive)
    files = {entry.name: entry.stat().st_size for entry in archive.iterdir()}
    # an empty column has no file
    assert all(files.get(name, 0) == column.bytes for name, column in manifest.columns.items())
    assert 0 not in files.values()
    # a folder that the user chose is used only if it contains nothing else
    out = tmp_path / "out"
    assert ingest(tmp_path / "s.pickle", cache, quiet, out) == out
    assert peak(out) == 30
    assert ingest(tmp_path / "s.pickle", cache, quiet, out) == out
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("do not lose")
    with pytest.raises(MemlensError) as caught:
        ingest(tmp_path / "s.pickle", cache, quiet, precious)
    assert caught.value.code == "not-an-archive"
    assert (precious / "thesis.txt").read_text() == "do not lose"


def test_the_least_recently_used_archive_is_evicted_first(cache: Cache, tmp_path: Path) -> None:
    files = [snapshot_file(tmp_path / f"{i}.pickle", 10) for i in range(4)]
    archives = [ingest(path, cache, quiet) for path in files[:3]]
    for age, archive in enumerate(archives):
        then = time.time() - 1000 + age
        os.utime(archive / "manifest.json", (then, then))
    assert cache.find(files[0]) == archives[0]  # was just used
    size = sum(file.stat().st_size for file in archives[0].iterdir())
    cache.limit_bytes = int(size * 3.5)
    newest = ingest(files[3], cache, quiet)
    assert {entry.name for entry in cache.folder.iterdir()} == {
        archives[0].name,
        archives[2].name,
        newest.name,
    }
    Cache(cache.folder, 1).evict(keep=newest)
    assert archives[0].is_dir(), "a process that found it just now is about to open it"
    cache.limit_bytes = 1
    cache.evict(keep=newest)
    assert [entry.name for entry in cache.folder.iterdir()] == [newest.name]


def test_leftovers_of_a_killed_run_are_removed(cache: Cache, tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    archive = ingest(snapshot_file(tmp_path / "s.pickle", 10), cache, quiet)
    dead = partial_folder(archive, child.pid)
    alive = partial_folder(archive, os.getpid())
    for folder in (dead, alive):
        folder.mkdir()
    cache.evict()
    assert {entry.name for entry in cache.folder.iterdir()} == {archive.name, alive.name}


def test_other_files_in_the_cache_are_kept(tmp_path: Path) -> None:
    """The user chose the cache's folder, so it may contain other files."""
    cache = Cache(tmp_path / "documents", limit_bytes=1, spared_s=0)
    others = ["thesis.old-2019", "notes.partial-draft", "x.partial-99999999999999999999", "webapp"]
    for name in others:
        (cache.folder / name).mkdir(parents=True)
        (cache.folder / name / "manifest.json").write_text('{"name": "mine"}')
        os.utime(cache.folder / name / "manifest.json", (1, 1))
    path = snapshot_file(tmp_path / "s.pickle", 10)
    archive = ingest(path, cache, quiet)
    assert {entry.name for entry in cache.folder.iterdir()} == {*others, archive.name}
    with pytest.raises(MemlensError) as caught:
        ingest(path, cache, quiet, cache.folder / "webapp")
    assert caught.value.code == "not-an-archive"
    assert (cache.folder / "webapp" / "manifest.json").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="mapped files can't be removed there")
def test_an_open_archive_is_not_evicted(cache: Cache, tmp_path: Path) -> None:
    first, second = (snapshot_file(tmp_path / f"{i}.pickle", 10) for i in range(2))
    held = Snapshot.open(ingest(first, cache, quiet))
    cache.limit_bytes = 1
    newest = ingest(second, cache, quiet)
    assert held.archive.is_dir()
    held.close()
    cache.evict(keep=newest)
    assert not held.archive.is_dir()


@pytest.mark.parametrize("name", ["string_utf8", "string_end", "frame_function", "line_frame", "stack_node",
                                  "node_frame", "node_parent", "0.start", "0.end", "0.stack",
                                  "stack_totals", "0.live", "0.live_64", "0.end_64"])  # fmt: skip
def test_damage_within_a_file(name: str, cache: Cache, sample: Path) -> None:
    """Wrong bytes of the right length never end the process: an answer, or an error that has the archive made anew.

    So it is before the checksums are verified, which find them in any case.
    """
    archive = ingest(sample, cache, quiet)
    data = bytearray((archive / name).read_bytes())
    start = len(data) // 4
    data[start:] = b"\xf0" * (len(data) - start)
    (archive / name).write_bytes(data)

    def everything(snapshot: Snapshot) -> None:
        extent = snapshot.timeline.devices[0].time_axis
        assert extent is not None
        viewport(snapshot, 0, Box("time", extent.x0, extent.x1, 0, 1e8, 1500, 900))
        viewport(snapshot, 0, Box("time", extent.x0 / 2, extent.x1 / 2, 0, 1e8, 500, 300))
        for number in range(0, 4000, 500):
            stack(snapshot, number)
            locate(snapshot, number, "event", None)
        live(snapshot, 0, None, 0, 1000)
        top_lines(snapshot)

    snapshot = Snapshot.open(archive)
    with contextlib.closing(snapshot):
        with contextlib.suppress(ArchiveError, BadRequestError):
            snapshot.ask(everything)
        with pytest.raises(ArchiveError, match=name):
            snapshot.verify()


@pytest.mark.slow
def test_several_processes_ingest_the_same_file(sample: Path, tmp_path: Path) -> None:
    """All processes that ingest the same file at the same time succeed, and leave one archive."""
    command = [sys.executable, "-m", "memlens", "ingest", str(sample), "--cache-dir", str(tmp_path / "cache")]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    reported = {child.communicate()[0].strip() for child in children}
    assert [child.returncode for child in children] == [0] * 4
    assert reported == {str(next((tmp_path / "cache").iterdir()))}
    assert Cache(tmp_path / "cache").find(sample) is not None


def test_an_archive_is_replaced_while_it_is_open(cache: Cache, sample: Path) -> None:
    """An open snapshot keeps answering when its archive is evicted or rebuilt."""
    archive = ingest(sample, cache, quiet)
    snapshot = Snapshot.open(archive)
    extent = snapshot.timeline.devices[0].event_axis
    before = viewport(snapshot, 0, Box("event", extent.x0, extent.x1, 0, 1e8, 100, 100))
    ingest(sample, cache, quiet)
    shutil.rmtree(archive)
    assert viewport(snapshot, 0, Box("event", extent.x0, extent.x1, 0, 1e8, 100, 100)) == before
    snapshot.close()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors and maps through /proc")
def test_closing_releases_everything(cache: Cache, sample: Path) -> None:
    archive = ingest(sample, cache, quiet)

    def use() -> None:
        snapshot = Snapshot.open(archive)
        extent = snapshot.timeline.devices[0].event_axis
        viewport(snapshot, 0, Box("event", extent.x0, extent.x1, 0, 1e8, 100, 100))
        snapshot.close()

    use()
    descriptors = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(50):
        use()
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == descriptors
    assert str(archive) not in Path("/proc/self/maps").read_text()
