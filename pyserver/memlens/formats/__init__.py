"""Readers, one file a format, and the registry that tells them apart by content."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from memlens.formats import dhat, heap_text, heaptrack, massif, memray, pprof, snapviewer, torch, tracemalloc
from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError
from memlens.model.profile import Profile
from memlens.model.timeline import Timeline
from memlens.progress import Report


class Format(Struct, frozen=True):
    """A row of the registry: ``sniff`` looks at the first bytes, ``read`` fills a model."""

    name: str
    sniff: Callable[[bytes], bool]
    read: Callable[[Source, Path, Report], Timeline | Profile]


FORMATS = [
    Format("pprof profile", pprof.sniff, pprof.read),
    # JSON too, which only its first key tells from PyTorch's
    Format("DHAT profile", dhat.sniff, dhat.read),
    Format("heap profile in text", heap_text.sniff, heap_text.read),
    Format("massif profile", massif.sniff, massif.read),
    Format("memray capture", memray.sniff, memray.read),
    # a pickle too, which only its first name tells from PyTorch's
    Format("tracemalloc snapshot", tracemalloc.sniff, tracemalloc.read),
    Format("PyTorch memory snapshot", torch.sniff, torch.read),
    Format("SnapViewer archive", snapviewer.sniff, snapviewer.read),
    Format("heaptrack recording", heaptrack.sniff, heaptrack.read),
]


def read(source: Source, scratch: Path, report: Report) -> Timeline | Profile:
    """Read a file with the first format that its first bytes may be of."""
    head = source.head()
    if not head:
        raise NotASnapshotError("The file is empty")
    for form in FORMATS:
        if form.sniff(head):
            return form.read(source, scratch, report)
    raise NotASnapshotError("The file is none of the kinds that Memlens reads")
