"""Typed columns: writers and readers agree, and a column that isn't as declared is rejected when it is used."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from memlens.ingest import ingest
from memlens.model.timeline import NEVER
from memlens.store.columns import Columns, Keyed
from memlens.store.files.cache import Cache
from memlens.store.files.column_files import ColumnFiles
from memlens.store.files.verify import file_checksum
from memlens.store.manifest import InconsistentError, read_manifest, write_manifest
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


def test_runs_of_zeros_are_written_unchanged(tmp_path: Path) -> None:
    columns = ColumnFiles(tmp_path)
    for name, items in (("all", ()), ("first", (0,)), ("middle", (40_000,)), ("last", (99_999,))):
        column = np.zeros(100_000, np.uint32)
        column[list(items)] = 7
        columns._write_together({name: column})
        assert (tmp_path / name).read_bytes() == column.tobytes()
        assert columns.entries[name].checksum == file_checksum(tmp_path / name)


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
