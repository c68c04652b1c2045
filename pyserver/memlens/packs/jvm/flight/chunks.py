"""The chunks of a recording: their headers, constants and events.

A recording is one chunk after another, each complete in itself: a header, events, checkpoints with the constants that
events refer to, and a description of both. Sources: ``ChunkHeader``, ``ChunkParser`` and ``ConstantMap`` of
``jdk.jfr.internal.consumer`` and ``jfrChunkWriter.cpp`` of OpenJDK.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from memlens.arrays import I64, U8, U64, rows_of
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.model.distinct import distinct
from memlens.model.frames import MOST_NAME
from memlens.packs.jvm.flight.kernels import flight as kernel
from memlens.packs.jvm.flight.metadata import Programs, Reader, types_of
from memlens.progress import Report
from memlens.texts import phrase
from memlens.units import shortened

MAGIC = b"FLR\0"
_HEADER_BYTES = 68
_METADATA, _CHECKPOINT = 0, 1
_MOST_TICKS = 10**12
"""Ticks a second of a clock; more are damage."""

_MOST_TEXT = 1 << 16
"""Bytes of a text; names are shorter."""
_MOST_HEAD = 64
"""Bytes before the constants of a checkpoint, or of one type in it."""
_LEAST_POOLS, _BYTES_OF_POOL = 1 << 14, 16
"""How often constants of a type begin at most, and how many bytes each time takes at least beyond that."""

_ERRORS = {
    kernel.BAD_SIZE: phrase("The recording has an event of 0 bytes"),
    kernel.BAD_VALUE: phrase("The recording has an event that ends within a field"),
}


class Header(NamedTuple):
    """The header of a chunk. ``end`` is where it ends, of one that was never finished the end of the file."""

    start: int
    end: int
    start_ns: int
    start_ticks: int
    ticks_per_second: int
    is_compressed: bool
    is_whole: bool

    def time_ns(self, ticks: I64) -> I64:
        """Times since 1970 in nanoseconds, of ticks of the chunk's clock."""
        since = (ticks - self.start_ticks).astype(np.float64) * (1e9 / self.ticks_per_second)
        return self.start_ns + np.clip(since, -(2.0**60), 2.0**60).astype(np.int64)


def header_at(source: Source, start: int) -> Header:
    """Read the header of the chunk at ``start``. Raises DamagedSnapshotError, NotASnapshotError."""
    head = source.data[start : start + _HEADER_BYTES]
    if len(head) < _HEADER_BYTES or head[:4] != MAGIC:
        raise DamagedSnapshotError(phrase("A part of the recording has no header"), offset=start)
    major, minor = (int.from_bytes(head[at : at + 2], "big") for at in (4, 6))
    if major != 2:
        raise NotASnapshotError(
            phrase(
                "The recording has version {major}.{minor} of its format, which is not supported: Memlens reads "
                "version 2, which Java 11 and later write",
                major=major,
                minor=minor,
            ),
            advice=phrase("Open it with JDK Mission Control."),
        )
    size, _, _, start_ns, _, start_ticks, ticks = np.frombuffer(head[8:64], ">i8").tolist()
    if not 0 < ticks <= _MOST_TICKS or not 0 <= start_ns < 2**62:
        raise DamagedSnapshotError(phrase("A header of the recording has an impossible clock"), offset=start)
    left = source.length - start
    # while a chunk is written, its size is 0 or that of what has been written
    whole = _HEADER_BYTES <= size <= left
    return Header(
        start, start + (size if whole else left), start_ns, start_ticks, ticks, bool(head[67] & 1), whole
    )


class Events:
    """The events of one type: a row for each, with a column for each field that was asked for."""

    def __init__(self, columns: Mapping[str, int], rows: I64) -> None:
        self.columns, self.rows = columns, rows

    def __getitem__(self, name: str) -> I64:
        """A column; zeros for a field that the type doesn't have."""
        return self.rows[:, self.columns[name]]


class Pool:
    """Constants of one type by their keys, of which the last counts where one is there again."""

    def __init__(self, columns: Mapping[str, int], rows: I64) -> None:
        self._columns = columns
        self._rows = rows
        self._order = np.argsort(rows[:, 0], kind="stable")
        self._keys = rows[self._order, 0]
        self._places: dict[int, int] | None = None

    def column(self, name: str) -> I64:
        """A field of all constants."""
        return self._rows[:, 1 + self._columns[name]]

    def all_keys(self) -> list[int]:
        """The keys of all constants."""
        return distinct(self._keys).tolist()

    def places(self, keys: I64) -> I64:
        """The row of each constant; -1 for one that isn't there, as of key 0."""
        if not len(self._keys):
            return np.full(len(keys), -1, np.int64)
        found = np.searchsorted(self._keys, keys, "right") - 1
        return np.where(self._keys[found] == keys, self._order[found], -1)

    def place(self, key: int) -> int | None:
        """The row of a constant; None for one that isn't there."""
        if self._places is None:
            # most are never asked for one by one
            self._places = dict(zip(self._keys.tolist(), self._order.tolist(), strict=True))
        return self._places.get(key)

    def value(self, key: int, name: str) -> int | None:
        """A field of a constant; None if there is no such constant."""
        place = self.place(key)
        return None if place is None else int(self._rows[place, 1 + self._columns[name]])


Wanted = Mapping[str, tuple[str, ...]]
"""Names of types, and of their fields that are to be read."""


class Chunk:
    """A chunk: the constants and the events of the types that are wanted."""

    def __init__(
        self, source: Source, header: Header, events: Wanted, constants: Wanted, report: Report,
        known: dict[bytes, Programs],
    ) -> None:  # fmt: skip
        self.header = header
        self._source = source
        self._texts: dict[int, str | int | None] = {}
        structure = self._scan({_METADATA, _CHECKPOINT}, report)
        described = structure["type"] == _METADATA
        if not described.any():
            raise DamagedSnapshotError(
                phrase("A part of the recording has no description of its events"), offset=header.start
            )
        self._programs = self._described(structure[described][-1], known)
        self.types = self._programs.types
        self._ids = {each.name: number for number, each in self.types.items()}
        self._constants = constants
        wanted = {name: self._ids[name] for name in events if name in self._ids}
        event_programs = {
            name: self._programs.program(number, _numbered(events[name])) for name, number in wanted.items()
        }
        self._decoder = self._new_decoder()
        self.pools = self._pools(structure[~described])
        found = self._scan(set(wanted.values()), report)
        self.events = {
            name: self._events(found[found["type"] == number], event_programs[name], _numbered(events[name]))
            for name, number in wanted.items()
        }

    def pool(self, name: str) -> Pool:
        """The constants of a type that is wanted; none if the chunk has none."""
        return self.pools[name]

    def text_at(self, position: int) -> str:
        """The text at a byte of the file, "" for null."""
        text = self._decoded(position)
        if isinstance(text, int):
            place = self.pool("java.lang.String").value(text, "")
            text = None if place is None else self._decoded(place)
        return text if isinstance(text, str) else ""

    def _decoded(self, position: int) -> str | int | None:
        """What is at a text's byte, decoded and cut once: any number of constants may refer to it."""
        if position not in self._texts:
            text = self._reader(position).text()
            self._texts[position] = shortened(text, MOST_NAME) if isinstance(text, str) else text
        return self._texts[position]

    def arrays(self, type_name: str, array: str, begins: U64, columns: tuple[str, ...]) -> tuple[U64, I64]:
        """The items of arrays that constants have, and the number of items up to the end of each array."""
        item = self._programs.items(self._ids.get(type_name, -1), array)
        if item is None:
            return np.zeros(len(begins), np.uint64), np.empty((0, len(columns)), np.int64)
        program = self._programs.program(item, _numbered(columns))
        decoder = self._new_decoder()
        self._check(decoder.arrays(program, begins, len(columns)), decoder.error_offset)
        rows = np.asarray(decoder.take("rows")).reshape(-1, len(columns))
        return np.asarray(decoder.take("ends")), rows

    def _reader(self, position: int, end: int | None = None, most: int = _MOST_TEXT) -> Reader:
        end = self.header.end if end is None else end
        data = self._source.data[position : min(position + most, end)]
        return Reader(bytes(data), 0, is_compressed=self.header.is_compressed, start=position)

    def _scan(self, types: set[int], report: Report) -> Any:
        wanted: U8 = np.zeros(kernel.MOST_TYPES, np.uint8)
        wanted[[each for each in types if 0 <= each < kernel.MOST_TYPES]] = 1
        start, end = self.header.start + _HEADER_BYTES, self.header.end
        scanner = kernel.Scanner(self._source.data, start, end, wanted, self.header.is_compressed)
        self._check(run_through(scanner, self._source, report, start=start), scanner.error_offset)
        self.cut = scanner.cut
        return rows_of(scanner.take("events"))

    def _check(self, status: int, offset: int) -> None:
        if status == kernel.NO_MEMORY:
            raise MemoryError
        if status != kernel.OK:
            raise DamagedSnapshotError(_ERRORS[status], offset=offset)

    def _described(self, event: Any, known: dict[bytes, Programs]) -> Programs:
        begin, end = int(event["begin"]), int(event["end"])
        reader = Reader(
            bytes(self._source.data[begin:end]), 0, is_compressed=self.header.is_compressed, start=begin
        )
        for _ in range(3):  # its time, duration and number
            reader.number()
        # most chunks of a recording have the same description
        rest = reader.data[reader.at :]
        if rest not in known:
            known.clear()
            known[rest] = Programs(types_of(reader))
        return known[rest]

    def _new_decoder(self) -> kernel.Decoder:
        steps, starts = self._programs.arrays()
        return kernel.Decoder(self._source.data, steps, starts, self.header.is_compressed)

    def _pools(self, checkpoints: Any) -> dict[str, Pool]:
        tables: dict[str, list[I64]] = {name: [] for name in self._constants}
        most = _LEAST_POOLS + (self.header.end - self.header.start) // _BYTES_OF_POOL
        for event in checkpoints:
            begin, end = int(event["begin"]), int(event["end"])
            reader = self._reader(begin, end, _MOST_HEAD)
            for _ in range(3):  # its time, its duration, where the one before it is
                reader.number()
            reader.byte()
            count, at = reader.number(4), begin + reader.at
            most -= count
            if most < 0:
                raise DamagedSnapshotError(
                    phrase("The recording has too many kinds of constants"), offset=begin
                )
            for _ in range(count):
                at = self._pool(at, end, tables)
        return {
            name: Pool(
                _numbered(fields),
                np.concatenate(tables[name]) if tables[name] else np.empty((0, len(fields) + 1), np.int64),
            )
            for name, fields in self._constants.items()
        }

    def _pool(self, at: int, end: int, tables: dict[str, list[I64]]) -> int:
        """Read the constants of one type; return where they end."""
        reader = self._reader(at, end, _MOST_HEAD)
        number, count = reader.number(), reader.number(4)
        known = self.types.get(number)
        if known is None:
            raise DamagedSnapshotError(phrase("The recording has constants of an unknown type"), offset=at)
        fields = self._constants.get(known.name, ())
        programs = len(self._programs.starts)
        program = self._programs.program(number, _numbered(fields))
        if len(self._programs.starts) > programs:
            self._decoder = self._new_decoder()
        status, after = self._decoder.pool(program, at + reader.at, end, count, len(fields))
        self._check(status, self._decoder.error_offset)
        if fields:
            tables[known.name].append(np.asarray(self._decoder.take("rows")).reshape(-1, len(fields) + 1))
        return after

    def _events(self, found: Any, program: int, columns: Mapping[str, int]) -> Events:
        rows = np.zeros((len(found), len(columns)), np.int64)
        begins, ends = (np.ascontiguousarray(found[name]) for name in ("begin", "end"))
        self._check(self._decoder.events(program, begins, ends, rows), self._decoder.error_offset)
        return Events(columns, rows)


def _numbered(fields: tuple[str, ...]) -> dict[str, int]:
    return {name: number for number, name in enumerate(fields)}


def chunks(source: Source, events: Wanted, constants: Wanted, report: Report) -> Iterator[Chunk]:
    """Yield the chunks of a recording. Raises DamagedSnapshotError, NotASnapshotError, MemoryError."""
    start, known = 0, dict[bytes, Programs]()
    while start < source.length:
        header = header_at(source, start)
        yield Chunk(source, header, events, constants, report, known)
        source.release(header.end, start)
        start = header.end
