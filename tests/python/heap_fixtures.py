"""The fixture of tests that make heap dumps, a pytest plugin."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.python.heap_archives import Opened, archived

from memlens.store.snapshot import Snapshot


@pytest.fixture
def open_dump(tmp_path: Path) -> Iterator[Opened]:
    snapshots: list[Snapshot] = []

    def make(data: bytes, name: str) -> Snapshot:
        path = tmp_path / name
        path.write_bytes(data)
        snapshots.append(archived(path, tmp_path))
        return snapshots[-1]

    yield make
    for snapshot in snapshots:
        snapshot.close()
