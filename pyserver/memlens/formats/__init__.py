"""Readers, one module per format, and the registry that recognises formats by content."""

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from memlens import limits
from memlens.formats import json_files, other_files
from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError
from memlens.model.graph import Graph
from memlens.model.profile import Profile
from memlens.model.timeline import Timeline
from memlens.packs import registry
from memlens.progress import Report
from memlens.texts import phrase


class Reader(Protocol):
    """The interface of a format's module."""

    def sniff(self, head: bytes) -> bool:
        """Whether the first bytes of a file may be of this format."""

    def read(self, source: Source, scratch: Path, report: Report) -> Timeline | Profile | Graph:
        """Return a model; ``scratch`` is a folder for temporary files. Raises MemlensError or MemoryError."""


FORMATS = {
    # before PyTorch's, because both are pickles, and this one is recognised by its first name
    "tracemalloc": "tracemalloc snapshot",
    # files of JSON are recognised by their keys, in json_files.py
    "v8_sampling": "sampling heap profile of V8",
    "v8_heap": "V8 heap snapshot",
    "torch": "PyTorch memory snapshot",
    "snapviewer": "SnapViewer archive",
    # before any other protocol buffer: this one is recognised by a packet's own fields
    "perfetto": "heap graph of Android in a trace of Perfetto",
    "memray": "memray capture",
    "hprof": "heap dump of Java or Android",
    "python_heap": "heap dump of Python by Memlens",
    "pyheap": "heap dump of Python by PyHeap",
    **{each.name: each.title for each in registry.formats().values()},
}
"""The formats by their names, in the order in which they are tried; each reader is imported when it is tried."""

HEAP_DUMPS = (
    *("hprof", "v8_heap", "python_heap", "pyheap", "perfetto"),
    *(each.name for each in registry.formats().values() if each.objects is not None),
)
"""Those of them that read heap dumps."""

_BEGINNINGS = {
    "v8_heap": b'{"snapshot":{"meta":{"node_fields":',
    "hprof": b"JAVA PROFILE 1.0.",
    **{each.name: each.beginning for each in registry.formats().values() if each.beginning},
}
"""The usual beginning of a format's files, which no other format has, so that its reader is tried first. Importing the
readers before it would take longer than reading a small file, and a twentieth of the time for a million objects.
"""


_FIXED = ("v8_heap", *(each.name for each in registry.formats().values() if each.keeps_memory))
"""Formats that say beforehand how long their columns are, so that the memory of one can become another's. Of columns
that grow while they are read too much would be kept."""


def read(source: Source, scratch: Path, report: Report) -> Timeline | Profile | Graph:
    """Read a file with the first reader that recognises its first bytes. Raises MemlensError or MemoryError."""
    module = recognised(source)
    if module in _FIXED:
        limits.keep_memory()
    return _reader(module).read(source, scratch, report)


def recognised(source: Source) -> str:
    """The name in :data:`FORMATS` of the first reader that recognises a file's first bytes. Raises MemlensError."""
    head = source.head()
    if not head:
        raise NotASnapshotError(
            phrase("The file is empty"), advice=phrase("Record it again, or copy it again.")
        )
    likely = [module for module, beginning in _BEGINNINGS.items() if head.startswith(beginning)]
    if json_files.begins(head) and not likely:
        return json_files.recognised(source, head)
    for module in dict.fromkeys([*likely, *FORMATS]):
        if module in json_files.quick() and module not in likely:
            continue
        if _reader(module).sniff(head):
            return module
    # last, because such pickles look like text
    from memlens.formats.old_pickles import is_old_pickle, refusal

    if is_old_pickle(head):
        raise refusal(source)
    raise other_files.refusal(head, source.path.name)


def _reader(module: str) -> Reader:
    of_pack = registry.formats().get(module)
    return cast("Reader", import_module(f"{__name__}.{module}")) if of_pack is None else of_pack.reader.load()


def import_readers() -> None:
    """Import the reader of each format, for processes that fork before they read."""
    for name in FORMATS:
        _reader(name)
