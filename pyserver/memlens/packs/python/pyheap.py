"""Heap dumps of Python by PyHeap, ``.pyheap``.

Big-endian: a header with the types whose content is written, the threads with their frames and locals, names of
attributes that are abbreviated, the objects, and the names of their types. The number of objects is written last, so it
is 0 in a truncated dump. Source: the layout that ``dumper_inferior.py`` of ivanyu/pyheap 0.7 writes.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redacted import VALUES, mark_graph
from memlens.formats.stacks import Numbers
from memlens.model.frames import Frames, SourceFrame, profiled_frame
from memlens.model.graph import Facts, Graph, Objects, References
from memlens.packs.python.kernels import heap as kernel
from memlens.packs.python.objects import KINDS, RootRow, ThreadRow, link, scan, warnings_of
from memlens.progress import Report
from memlens.texts import phrase
from memlens.units import shortened

KIND = "pyheap"

MAGIC = struct.pack(">QI", 123_000_321, 1)
_CONTAINERS = ("dict", "list", "set", "tuple")
_MOST_THREAD_NAME = 100
"""How much of a thread's name is repeated for each of its variables."""
WITH_TEXTS = 1
REMOVED_FLAG = 1 << 62
"""A flag that only dumps have from which Memlens removed the values."""

REDIRECTED_FLAG = 1 << 61
"""A flag of those whose references to shared objects lead to one of a type; then these bits say how many do."""
REDIRECTED_SHIFT = 8
MOST_REDIRECTED = (1 << 48) - 1


def sniff(head: bytes) -> bool:
    """Whether the first bytes are PyHeap's number and version 1."""
    return head.startswith(MAGIC)


class EndsError(Exception):
    """The file ends in the middle of a value."""


class Reader:
    """Reads the parts before and after the objects."""

    def __init__(self, source: Source, at: int) -> None:
        self._data = source.data
        self.at = at

    def unpack(self, form: str) -> Any:
        """The next number."""
        layout = struct.Struct(f">{form}")
        if self.at + layout.size > len(self._data):
            raise EndsError
        self.at += layout.size
        return layout.unpack_from(self._data, self.at - layout.size)[0]

    def count(self) -> int:
        """The number of items that follow, each of at least one byte."""
        count = int(self.unpack("I"))
        if count > len(self._data) - self.at:
            raise EndsError
        return count

    def text(self) -> str:
        """The next text."""
        return self.bytes(self.unpack("H")).decode("utf-8", "replace")

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        if self.at + count > len(self._data):
            raise EndsError
        self.at += count
        return bytes(self._data[self.at - count : self.at])


class Head(Struct, frozen=True):
    """What stands before the objects, of which the first is at ``end``.

    ``lines`` are those of all frames; ``impossible`` counts what is neither true nor false.
    """

    created: str
    flags: int
    known: dict[str, int]
    frames: list[SourceFrame]
    roots: list[RootRow]
    threads: list[ThreadRow]
    frequent: list[str]
    common: list[int]
    count: int
    end: int
    lines: list[int]
    impossible: int

    @property
    def containers(self) -> list[int]:
        """The addresses of the types of containers."""
        return [self.known[name] for name in _CONTAINERS]

    @classmethod
    def of(cls, source: Source) -> "Head":
        """Read it. Raises :class:`DamagedSnapshotError`."""
        reader = Reader(source, len(MAGIC))
        try:
            created = reader.text()
            flags = reader.unpack("Q")
            known = {reader.text(): reader.unpack("Q") for _ in range(reader.count())}
            lines: list[int] = []
            frames, roots, threads, impossible = _threads(reader, lines)
            frequent = [reader.text() for _ in range(reader.count())]
            common = _common(reader)
            count = reader.unpack("I")
        except EndsError as error:
            raise DamagedSnapshotError(
                phrase("The dump is truncated before its objects"), offset=source.length
            ) from error
        if not set(_CONTAINERS) <= set(known):
            raise DamagedSnapshotError(
                phrase(
                    "The dump doesn't say which objects are containers: it was written by PyHeap before version 0.6"
                ),
                offset=len(MAGIC),
            )
        return cls(
            created,
            flags,
            known,
            frames,
            roots,
            threads,
            frequent,
            common,
            count,
            reader.at,
            lines,
            impossible,
        )


def read(source: Source, _scratch: Path, report: Report) -> Graph:
    """Read a dump: see :class:`memlens.formats.Reader`."""
    source.unpack()
    head = Head.of(source)
    objects = kernel.PyHeap(
        source.data, head.end, head.count, head.containers, np.array(head.common, np.uint64), head.frequent,
        bool(head.flags & WITH_TEXTS), head.count == 0,
    )  # fmt: skip
    scan(objects, source, report, head.end)
    names = {address: (name, "") for name, address in head.known.items()}
    cut = source.truncated or objects.is_cut or head.count == 0
    found = None
    if not cut:
        found = names_of_types(source, objects.offset)
        cut = found is None
        names |= {address: (name, "") for address, name in found[0].items()} if found else {}
    linked = link(objects, names, head.roots, head.threads)
    columns = linked.columns
    graph = Graph(
        KIND,
        Objects(linked.type_of, columns["shallow"], columns["address"], columns["name"]),
        linked.types,
        References(columns["start"], columns["target"], columns["kind"], columns["reference_name"]),
        KINDS,
        linked.roots,
        linked.texts,
        root_kinds=linked.root_kinds,
        frames=Frames(head.frames, np.zeros(2, np.uint64), np.empty(0, np.uint32)),
        threads=linked.threads,
        facts=Facts(truncated=cut),
        settings={"format_version": 1, "created": head.created},
        warnings=warnings_of(
            objects,
            linked,
            cut=cut,
            surplus=source.length - found[1] if found is not None else 0,
            lines=head.lines,
            unknown=head.impossible,
        ),
    )
    redirected = head.flags >> REDIRECTED_SHIFT & MOST_REDIRECTED if head.flags & REDIRECTED_FLAG else None
    mark_graph(graph, VALUES if head.flags & REMOVED_FLAG else None, redirected=redirected)
    return graph


def names_of_types(source: Source, at: int) -> tuple[dict[int, str], int] | None:
    """Read the names of types after the objects; return also where they end. None if they aren't all there."""
    reader = Reader(source, at)
    try:
        names = {reader.unpack("Q"): reader.text() for _ in range(reader.count())}
        return (names, reader.at) if reader.bytes(8) == MAGIC[:8] else None
    except EndsError:
        return None


def _threads(
    reader: Reader, lines: list[int]
) -> tuple[list[SourceFrame], list[RootRow], list[ThreadRow], int]:
    """The distinct frames of all threads, their locals, and the threads; how many flags are neither 0 nor 1.

    Lines of all frames are added to ``lines``.
    """
    numbers, roots, threads = Numbers[SourceFrame](), list[RootRow](), list[ThreadRow]()
    impossible = 0
    for thread in range(reader.count()):
        thread_name = reader.text()
        # each variable's root has it
        short_name = shortened(thread_name, _MOST_THREAD_NAME)
        is_alive, is_daemon = reader.bytes(2)
        impossible += (is_alive > 1) + (is_daemon > 1)
        frames: list[int] = []
        for depth in range(reader.count()):
            file, line, function = reader.text(), reader.unpack("I"), reader.text()
            lines.append(line)
            frames.append(numbers[profiled_frame(file, line, function)])
            for _ in range(reader.count()):
                name, address = reader.text(), reader.unpack("Q")
                detail = f"{name} ({short_name})"
                roots.append(RootRow(address, "local", detail, frames[-1], name, thread, depth))
        threads.append(ThreadRow(0, thread_name, "" if is_alive else "ended", frames))
    return list(numbers), roots, threads, impossible


def _common(reader: Reader) -> list[int]:
    """The addresses of types whose objects are written without attributes, ascending."""
    common = set[int]()
    for _ in range(reader.count()):
        common.add(reader.unpack("Q"))
        for _ in range(reader.count()):
            length = reader.unpack("h")
            reader.bytes(max(0, length) + 8)
    return sorted(common)
