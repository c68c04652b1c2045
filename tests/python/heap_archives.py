"""Archives of heap dumps that tests make."""

from collections.abc import Callable
from pathlib import Path

from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot

Opened = Callable[[bytes, str], Snapshot]


def archived(path: Path, folder: Path) -> Snapshot:
    """Read a dump into an archive of ``folder`` and open it."""
    return Snapshot.open(ingest(path, Cache(folder / "cache"), lambda *_: None))
