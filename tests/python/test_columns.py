"""Typed columns: writers and readers agree, and a column that isn't as declared is rejected when it is used."""

import contextlib
import errno
import io
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from memlens.ingest import ingest
from memlens.model.timeline import NEVER
from memlens.store.columns import Columns, Keyed
from memlens.store.files import packed
from memlens.store.files.cache import Cache
from memlens.store.files.column_files import ColumnFiles, MappedFiles
from memlens.store.files.verify import file_checksum
from memlens.store.manifest import ArchiveError, InconsistentError, read_manifest, write_manifest
from memlens.store.models import devices_of
from memlens.store.samples.columns import Samples
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.tree import Stacks, Tree
from memlens.store.trace.device import Device

SEEDS = Path(__file__).parents[1] / "fuzz" / "corpus" / "file"
TRACE, PROFILE = SEEDS / "everything.pickle", SEEDS / "service.heaptrack.zst"


def archive_of(path: Path, cache: Cache) -> Path:
    return ingest(path, cache, lambda *_: None)


def columns_of(snapshot: Snapshot) -> Iterator[Columns]:
    yield from (snapshot.strings, snapshot.frames, snapshot.lines, snapshot.tree, snapshot.stacks)
    if snapshot.info.model == "timeline":
        yield from (snapshot.trace, snapshot.module_columns)
        yield from (snapshot.device(info.device) for info in devices_of(snapshot.info))
    else:
        yield from (snapshot.samples, snapshot.line_values)
        if snapshot.times is not None:
            yield snapshot.times


@pytest.mark.parametrize("path", [TRACE, PROFILE], ids=lambda path: path.name)
def test_every_file_is_a_column_and_has_its_type(path: Path, cache: Cache) -> None:
    archive = archive_of(path, cache)
    files = read_manifest(archive).columns
    read: dict[str, np.dtype[Any]] = {}
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        for columns in columns_of(snapshot):
            scope = f"{columns.info.device}." if isinstance(columns, Device) else ""
            for declared in columns.declared():
                found = getattr(columns, declared.name)
                if isinstance(found, Keyed):
                    names = [name for name in files if name.startswith(declared.file + ".")]
                    read |= {name: found[name.removeprefix(declared.file + ".")].dtype for name in names}
                elif found is not None and scope + declared.file in files:
                    assert found.dtype in declared.dtypes
                    read[scope + declared.file] = found.dtype
    assert read.keys() == files.keys()
    written = {name: each.dtype if isinstance(each.dtype, str) else None for name, each in files.items()}
    assert {name: dtype.str if dtype.names is None else None for name, dtype in read.items()} == written


def rewritten(archive: Path, name: str, column: np.ndarray[Any, Any]) -> None:
    """Replace a column of an archive, and update the manifest."""
    manifest = read_manifest(archive)
    files = ColumnFiles(archive)
    (archive / name).unlink(missing_ok=True)
    files._write_together({name: column})
    columns = {**manifest.columns, **files.entries}
    write_manifest(archive, msgspec.structs.replace(manifest, columns=columns, checksum="0" * 16))


@pytest.mark.parametrize(
    ("path", "name", "use"),
    [
        (TRACE, "0.size", lambda snapshot: snapshot.device(0).size),
        (TRACE, "0.end_64", lambda snapshot: snapshot.device(0).end_64),
        (TRACE, "0.live", lambda snapshot: snapshot.device(0).live),
        (TRACE, "stack_totals", lambda snapshot: snapshot.trace.stack_totals),
        (TRACE, "node_frame", lambda snapshot: snapshot.tree.frame),
        (PROFILE, "sample_stack", lambda snapshot: snapshot.samples.stack),
        (PROFILE, "sample_value.1", lambda snapshot: snapshot.samples.value[1]),
        (PROFILE, "time.edges", lambda snapshot: snapshot.times.edges),
        (PROFILE, "time.series.live_bytes", lambda snapshot: snapshot.times.series["live_bytes"]),
    ],
)
def test_a_wrong_length_or_type_is_rejected(path: Path, name: str, use: Any, cache: Cache) -> None:
    archive = archive_of(path, cache)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        whole = np.array(use(snapshot)).reshape(-1)
    for column in (whole[:-1], np.append(whole, whole[:1]), whole.astype(np.float32), whole[:0]):
        rewritten(archive, name, column)
        with contextlib.closing(Snapshot.open(archive)) as snapshot, pytest.raises(InconsistentError):
            use(snapshot)
    rewritten(archive, name, whole)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        assert np.array(use(snapshot)).reshape(-1).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("path", "name", "use", "largest"),
    [
        (PROFILE, "sample_stack", lambda snapshot: snapshot.samples.stack, "stack_node"),
        (PROFILE, "stack_node", lambda snapshot: snapshot.stacks.node, "node_parent"),
        (PROFILE, "stack_label", lambda snapshot: snapshot.stacks.label, "frame_source"),
        (TRACE, "node_frame", lambda snapshot: snapshot.tree.frame, "frame_source"),
    ],
)
def test_indices_out_of_range_are_rejected(
    path: Path, name: str, use: Any, largest: str, cache: Cache
) -> None:
    archive = archive_of(path, cache)
    count = read_manifest(archive).columns[largest].count
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        whole = np.array(use(snapshot))
    for place in (1, len(whole) - 1):
        column = whole.copy()
        column[place] = count - 1
        rewritten(archive, name, column)
        with contextlib.closing(Snapshot.open(archive)) as snapshot:
            assert use(snapshot)[place] == count - 1
        column[place] = count
        rewritten(archive, name, column)
        with contextlib.closing(Snapshot.open(archive)) as snapshot, pytest.raises(InconsistentError):
            use(snapshot)


def test_only_the_items_that_are_read_are_checked(cache: Cache) -> None:
    archive = archive_of(PROFILE, cache)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        whole = np.array(snapshot.samples.stack)
    column = whole.copy()
    column[2] = read_manifest(archive).columns["stack_node"].count
    rewritten(archive, "sample_stack", column)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        items = snapshot.samples.items
        assert items(Samples.stack, slice(0, 2)).tolist() == whole[:2].tolist()
        assert items(Samples.stack, np.array([3, 0, 3])).tolist() == whole[[3, 0, 3]].tolist()
        assert items(Samples.stack, slice(2, 2)).tolist() == []
        for chosen in (slice(1, 3), np.array([4, 2])):
            with pytest.raises(InconsistentError):
                items(Samples.stack, chosen)


ROW = np.dtype([("id", "<u8"), ("size", "<u4"), ("kind", "<u2")])


def columns_to_pack() -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Columns that compress well and badly, of all widths and lengths about a block's, and some of many blocks."""
    numbers = np.random.default_rng(7)
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64, np.int64, np.float32):
        for length in (1, 5_000, 65_536, 65_537, 200_000):
            yield f"{np.dtype(dtype)}-{length}", (np.arange(length) % 251 * 3).astype(dtype)
    ends = np.array([0, 2**64 - 1, 2**63, 1, 2**63 - 1] * 20_000, np.uint64)
    yield "extremes", ends
    yield "random", numbers.integers(0, 2**32, 100_000).astype(np.uint32)
    yield "ascending", numbers.integers(0, 50, 700_000).cumsum().astype(np.uint64)
    rows = np.zeros(300_000, ROW)
    rows["id"], rows["size"] = np.arange(len(rows)) * 16 + 2**40, numbers.integers(0, 9, len(rows))
    yield "rows", rows
    yield "field", rows["size"]
    # blocks of zeros only, at the beginning, in the middle and at the end
    for at in (0, 150_000, 399_999):
        column = np.zeros(400_000, np.uint32)
        column[at] = 7
        yield f"zeros-but-{at}", column
    yield "zeros", np.zeros(400_000, np.uint32)


def opened_files(folder: Path, files: ColumnFiles) -> MappedFiles:
    """The files that were just written."""

    class Manifest:
        columns = files.entries

    return MappedFiles(folder, Manifest())  # pyrefly: ignore[bad-argument-type]


@pytest.mark.parametrize("in_files_from", [0, 1 << 40])
def test_compressed_columns_are_what_was_written(
    in_files_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "_LEAST_FILE_BYTES", in_files_from)
    files = ColumnFiles(tmp_path)
    columns = dict(columns_to_pack())
    files._write_together({name: column for name, column in columns.items() if name in ("rows", "field")})
    for name, column in columns.items():
        if name not in files.entries:
            files._write_together({name: column})
    chance = random.Random(3)
    for name, column in columns.items():
        entry = files.entries[name]
        assert entry.bytes == (tmp_path / name).stat().st_size
        assert entry.checksum == file_checksum(tmp_path / name)
        assert (entry.packing is not None) == (column.nbytes >= 1 << 13 and name != "random")
        chosen = np.array([chance.randrange(len(column)) for _ in range(5)])
        begin = chance.randrange(len(column))
        for part in (chosen, slice(begin, begin + 70_000), slice(begin, begin), np.empty(0, np.uint32)):
            some = opened_files(tmp_path, files).items(name, part)
            assert some is None or np.array_equal(some, column[part])
        found = opened_files(tmp_path, files).array(name)
        assert found.dtype == column.dtype
        assert not found.flags.writeable
        assert np.array_equal(found, column)
    assert sum(entry.bytes for entry in files.entries.values()) < sum(map(np.size, columns.values()))


def test_a_few_rows_of_many_are_read_alone(tmp_path: Path) -> None:
    files = ColumnFiles(tmp_path)
    column = np.arange(3_000_000, dtype=np.uint32) * 3
    files._write_together({"column": column})
    source = opened_files(tmp_path, files)
    for chosen in (slice(65_530, 65_540), slice(2_999_990, 3_000_010), np.array([7, 2_500_000])):
        some = source.items("column", chosen)
        assert some is not None
        assert some.tolist() == column[chosen].tolist()
    # where that isn't less work
    assert source.items("column", slice(0, 1_000_000)) is None
    assert source.items("column", np.array([3_000_000])) is None
    # nor after as much work as all of them are
    numbers = [at for at in range(0, 3_000_000, 65_536) if source.items("column", np.array([at])) is not None]
    assert 20 < len(numbers) < 46
    whole = source.array("column")
    assert opened_files(tmp_path, files).array("column") is whole
    assert source.items("column", slice(0, 1)) is None


def test_a_column_is_unpacked_in_steps_that_a_question_ends(tmp_path: Path) -> None:
    files = ColumnFiles(tmp_path)
    column = np.arange(3_000_000, dtype=np.uint32) * 3
    for name in ("all", "some", "none", "damaged"):
        files._write_together({name: column})
    source = opened_files(tmp_path, files)
    steps = 0
    while (found := source.go_on("all")) is None:
        steps += 1
    assert steps >= 5
    assert np.array_equal(found, column)
    assert source.array("all") is found
    assert source.go_on("some") is None
    whole = source.array("some")
    assert np.array_equal(whole, column)
    assert source.go_on("some") is whole
    assert source.go_on("none") is None
    source.close()
    assert np.array_equal(source.array("none"), column)
    data = (tmp_path / "damaged").read_bytes()
    (tmp_path / "damaged").write_bytes(data[:-100_000] + bytes(1) + data[-99_999:])
    for _ in range(2):
        with pytest.raises(ArchiveError, match="damaged"):
            # fewer steps than there are at most
            [source.go_on("damaged") for _ in range(10)]


def test_a_damaged_block_is_refused(tmp_path: Path) -> None:
    files, chance = ColumnFiles(tmp_path), random.Random(5)
    column = np.random.default_rng(1).integers(0, 60_000, 1_200_000).astype(np.uint32)
    files._write_together({"column": column})
    path, part = tmp_path / "column", np.array([600_000])
    data = path.read_bytes()
    wrong = 0
    for _ in range(60):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(ArchiveError, match="damaged"):
            opened_files(tmp_path, files).array("column")
        try:
            some = opened_files(tmp_path, files).items("column", part)
            assert some is not None
            assert some.tolist() == column[part].tolist()
        except ArchiveError:
            wrong += 1
    assert 0 < wrong < 60
    # the sizes of two blocks exchanged, so that their sum is the same
    path.write_bytes(data[:-16] + data[-12:-8] + data[-16:-12] + data[-8:])
    with pytest.raises(ArchiveError, match="damaged"):
        opened_files(tmp_path, files).items("column", part)
    for size in (0, 1, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(ArchiveError, match="damaged"):
            opened_files(tmp_path, files).items("column", part)


def test_without_room_on_the_disk_columns_are_unpacked_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ColumnFiles(tmp_path)
    column = np.arange(3_000_000, dtype=np.uint32)
    files._write_together({"column": column})

    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    assert np.array_equal(opened_files(tmp_path, files).array("column"), column)


def test_a_node_comes_after_its_parent(cache: Cache) -> None:
    archive = archive_of(TRACE, cache)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        whole = np.array(snapshot.tree.parent)
    for place in range(1, len(whole)):
        column = whole.copy()
        column[place] = place
        rewritten(archive, "node_parent", column)
        with contextlib.closing(Snapshot.open(archive)) as snapshot, pytest.raises(InconsistentError):
            snapshot.stack_frame_ids(0)


def test_a_writer_rejects_what_is_not_declared(tmp_path: Path) -> None:
    files = ColumnFiles(tmp_path)
    files.write(Stacks, {"node": np.zeros(3, np.uint32)})
    for kind, columns in (
        (Stacks, {"label": np.zeros(4, np.uint32)}),
        (Stacks, {"label": np.zeros(3, np.int64)}),
        (Tree, {"parent": np.zeros(2, np.uint32), "frame": np.full(3, NEVER, np.uint32)}),
        (Samples, {"value.0": np.zeros(3, np.float64)}),
    ):
        with pytest.raises(ValueError, match=r"is of type|has another length"):
            files.write(kind, columns)
    with pytest.raises(KeyError):
        files.write(Stacks, {"depth": np.zeros(3, np.uint32)})
    assert set(files.entries) == {"stack_node"}
    assert {entry.name for entry in tmp_path.iterdir()} == {"stack_node"}
