"""The parts of a .gcdump besides its nodes: types, addresses, the process, the sampling rate.

Source: ``src/FastSerialization``, ``src/MemoryGraph`` and ``src/HeapDump/GCHeapDump.cs`` of PerfView, which
dotnet-gcdump shares. Numbers are little-endian; a text is the number of its bytes, -1 for none, and UTF-8.
"""

import struct
from mmap import mmap
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field

from memlens.arrays import F32, U64
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.texts import phrase

MAGIC = b"\x14\0\0\0!FastSerialization.1"
OLDEST, WITH_MULTIPLIERS = 4, 9
"""The oldest version that PerfView reads, and the first with today's fields after the nodes."""

_NULL, _REFERENCE, _BEGIN, _BEGIN_PRIVATE, _END, _BYTE, _SKIP, _TEXT = 1, 2, 4, 5, 6, 8, 12, 13
_TYPE_BYTES = 12
"""The fewest bytes of a type in the file."""

_TICKS_PER_MS = 10_000
_MS_TO_1970 = 62_135_596_800_000
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999, the last time that .NET knows."""
_TICKS = (1 << 62) - 1
"""Mask for the bits of a time without the two that give its time zone."""

_MOST_TEXT = 1 << 24


class CutError(Exception):
    """The file ends in the middle of a value."""


class GcDump(Struct):
    """The contents of a file apart from its nodes, as far as it was read."""

    version: int = 0
    total_bytes: int = 0
    root: int = 0
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    node_count: int = 0
    table: int = 0
    blob: int = 0
    blob_bytes: int = 0
    addresses: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    is_64_bit: bool = True
    count_multiplier: float = 1.0
    size_multiplier: float = 1.0
    multipliers: F32 | None = None
    log: str = ""
    time_ms: int | None = None
    machine: str = ""
    process: str = ""
    process_id: int = 0
    working_set_bytes: int = 0
    tool: str = ""
    cut: bool = False
    impossible: int = 0
    """Impossible facts about the recording, which were left out."""


class Kind(NamedTuple):
    """A type of objects in the file, and which readers can read it."""

    name: str
    version: int
    oldest_reader: int


class FileReader:
    """Reads a file from its beginning. Raises :class:`CutError` if it ends too early."""

    def __init__(self, data: mmap | bytes) -> None:
        self.data = data
        self.at = 0
        self.types: dict[int, Kind] = {}
        """Types of objects, by their offsets."""

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count < 0 or count > len(self.data) - self.at:
            raise CutError
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, form: str) -> tuple[Any, ...]:
        """Return the next numbers, by the letters of :mod:`struct`."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))

    def number(self) -> int:
        """Return the next number of 32 bits."""
        return int(self.unpack("i")[0])

    def text(self) -> str | None:
        """Return the next text, None if there is none."""
        count = self.number()
        if count < 0:
            return None
        if count > _MOST_TEXT:
            raise DamagedSnapshotError(phrase("A name in the dump is longer than 16 MiB"), offset=self.at - 4)
        return self.take(count).decode("utf-8", "replace")

    def begin(self) -> Kind | None:
        """Read the beginning of an object, which is its type; None for no object."""
        tag = self.take(1)[0]
        if tag == _NULL:
            return None
        if tag not in (_BEGIN, _BEGIN_PRIVATE):
            raise DamagedSnapshotError(
                phrase("The dump has {tag} where an object should begin", tag=tag), offset=self.at - 1
            )
        start = self.at
        tag = self.take(1)[0]
        if tag == _REFERENCE:
            start = self.number()
            if start not in self.types:
                raise DamagedSnapshotError(
                    phrase("An object of the dump has an unknown type"), offset=self.at - 4
                )
            return self.types[start]
        if tag not in (_BEGIN, _BEGIN_PRIVATE) or self.take(1)[0] != _NULL:
            raise DamagedSnapshotError(phrase("An object of the dump has no type"), offset=start)
        version, reader = self.unpack("ii")
        self.types[start] = Kind(self.text() or "", version, reader)
        self.end()
        return self.types[start]

    def end(self) -> None:
        """Read the end of an object."""
        if self.take(1)[0] != _END:
            raise DamagedSnapshotError(
                phrase("An object of the dump does not end where it should"), offset=self.at - 1
            )


def read_file(data: mmap | bytes) -> GcDump:
    """Read everything but the nodes.

    Raises :class:`DamagedSnapshotError` if the file ends before its nodes do or contradicts itself, and
    :class:`NotASnapshotError` for a file of another kind or version.
    """
    reader, dump = FileReader(data), GcDump()
    try:
        _read_head(reader, dump)
    except CutError as error:
        raise DamagedSnapshotError(
            phrase("The dump is truncated before its nodes"), offset=len(data)
        ) from error
    try:
        _read_rest(reader, dump)
    except CutError:
        dump.cut = True
    return dump


def _read_head(reader: FileReader, dump: GcDump) -> None:
    reader.take(len(MAGIC))
    begun = reader.begin()
    if begun is None or begun.name != "GCHeapDump":
        raise NotASnapshotError(phrase("The file is in PerfView's format, but is not a heap dump"))
    dump.version = begun.version
    if dump.version < OLDEST:
        raise NotASnapshotError(
            phrase(
                "The dump has version {version} of its format, which is not supported", version=dump.version
            )
        )
    graph = reader.begin()
    if graph is None or graph.name != "Graphs.MemoryGraph":
        raise DamagedSnapshotError(phrase("The dump has no graph"), offset=reader.at)
    dump.total_bytes, dump.root, types = reader.unpack("qii")
    if not 0 <= types <= (len(reader.data) - reader.at) // _TYPE_BYTES:
        raise DamagedSnapshotError(
            phrase("The dump claims {types} types but is too short to hold them", types=types),
            offset=reader.at - 4,
        )
    for _ in range(types):
        dump.names.append(reader.text() or "")
        dump.sizes.append(reader.number())
        dump.modules.append(reader.text() or "")
    dump.node_count = reader.number()
    dump.table = reader.at
    if not 0 < dump.node_count <= (len(reader.data) - reader.at) // 4 or not types:
        raise DamagedSnapshotError(
            phrase(
                "The dump claims {node_count} nodes but is too short to hold them", node_count=dump.node_count
            ),
            offset=reader.at - 4,
        )
    reader.at += 4 * dump.node_count
    dump.blob_bytes = reader.number()
    dump.blob = reader.at
    if dump.blob_bytes < 0:
        raise DamagedSnapshotError(
            phrase("The dump's nodes are longer than can be read"), offset=reader.at - 4
        )
    if not 0 <= dump.root < dump.node_count:
        raise DamagedSnapshotError(phrase("The dump has no root"), offset=dump.table)
    left = len(reader.data) - reader.at
    dump.cut = dump.blob_bytes > left
    dump.blob_bytes = min(dump.blob_bytes, left)
    reader.at += dump.blob_bytes
    if graph.oldest_reader >= 1 and not dump.cut:
        _read_deferred(reader, dump)


def _read_deferred(reader: FileReader, dump: GcDump) -> None:
    """Types of .NET Native, which have a number and a module in place of a name."""
    reader.number()  # a forward reference to the region's end
    for number in range(reader.number()):
        (type_id,) = reader.unpack("I")
        module = reader.begin()
        path = ""
        if module is not None:
            path = reader.text() or ""
            reader.unpack("qiq")
            reader.text()
            reader.take(16 + 4)
            reader.end()
        suffix = reader.text() or ""
        if number < len(dump.names) and not dump.names[number]:
            dump.names[number] = f"TypeID(0x{type_id:x}){suffix}"
            dump.modules[number] = dump.modules[number] or path
        dump.impossible += number >= len(dump.names)
    reader.end()


def _read_rest(reader: FileReader, dump: GcDump) -> None:
    if dump.cut:
        raise CutError
    count = reader.number()
    left = (len(reader.data) - reader.at) // 8
    if count < 0:
        raise DamagedSnapshotError(
            phrase("The dump has a negative number of addresses"), offset=reader.at - 4
        )
    dump.addresses = np.frombuffer(reader.data, "<u8", min(count, left), reader.at)
    reader.take(8 * count)
    if reader.data[reader.at : reader.at + 1] == bytes([_BYTE]):
        dump.is_64_bit = reader.take(2)[1] != 0
    reader.end()
    if dump.version < WITH_MULTIPLIERS:
        return
    reader.take(1)  # again whether addresses have 64 bits
    dump.count_multiplier, dump.size_multiplier = reader.unpack("ff")
    if reader.begin() is not None:  # for JavaScript's heap: without fields
        reader.end()
    if reader.begin() is not None:
        reader.unpack("q")
        for _ in range(reader.number()):
            segment = reader.begin()
            if segment is not None:
                reader.unpack("7q" if segment.version >= 1 else "6q")
                reader.end()
        reader.end()
    _read_process(reader, dump)


def _read_process(reader: FileReader, dump: GcDump) -> None:
    dump.log = reader.text() or ""
    (ticks,) = reader.unpack("q")
    if ticks & _TICKS:
        dump.time_ms = (ticks & _TICKS) // _TICKS_PER_MS - _MS_TO_1970
        if dump.time_ms > _LAST_MS:
            dump.time_ms = None
            dump.impossible += 1
    dump.machine, dump.process = reader.text() or "", reader.text() or ""
    dump.process_id, _, dump.working_set_bytes = reader.unpack("iqq")
    dump.impossible += (dump.process_id < 0) + (dump.working_set_bytes < 0)
    dump.process_id, dump.working_set_bytes = max(0, dump.process_id), max(0, dump.working_set_bytes)
    count = reader.number()
    if count:
        dump.multipliers = np.frombuffer(reader.take(4 * count), "<f4").astype(np.float32)
    if reader.take(1)[0] == _SKIP:  # the objects that COM objects wrap
        reader.number()
        if reader.take(1)[0] != _NULL:
            return
        if reader.take(1)[0] != _TEXT:
            return
        dump.tool = reader.text() or ""
