"""Readers, one file a format, and the registry that tells them apart by content."""

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from memlens.formats import other_files
from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError
from memlens.formats.old_pickles import is_old_pickle, refusal
from memlens.model.profile import Profile
from memlens.model.timeline import Timeline
from memlens.progress import Report


class Reader(Protocol):
    """What a format's module has."""

    def sniff(self, head: bytes) -> bool:
        """Whether the first bytes of a file may be of this format."""

    def read(self, source: Source, scratch: Path, report: Report) -> Timeline | Profile:
        """Fill a model; ``scratch`` is a folder for files of its own. Raises MemlensError or MemoryError."""


FORMATS = {
    # a pickle too, which only its first name tells from PyTorch's
    "tracemalloc": "tracemalloc snapshot",
    # JSON too, which only its first key tells from PyTorch's
    "dhat": "DHAT profile",
    "torch": "PyTorch memory snapshot",
    "snapviewer": "SnapViewer archive",
    "pprof": "pprof profile",
    "heaptrack": "heaptrack recording",
    "memray": "memray capture",
    "massif": "massif profile",
    "heap_text": "heap profile in text",
    "java_heap": "heap profile of a Java program",
}
"""Modules and what they read, in the order in which they are asked; one is loaded when it is its turn."""


def read(source: Source, scratch: Path, report: Report) -> Timeline | Profile:
    """Read a file with the first format that its first bytes may be of."""
    head = source.head()
    if not head:
        raise NotASnapshotError("The file is empty", advice="Record it again, or copy it again.")
    for module in FORMATS:
        reader = cast("Reader", import_module(f"{__name__}.{module}"))
        if reader.sniff(head):
            return reader.read(source, scratch, report)
    # last: these are text to the eye
    if is_old_pickle(head):
        raise refusal(source)
    raise other_files.refusal(head)
