"""The records of a Java heap dump, read plainly: texts, classes, and pieces of the heap."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import U64
from memlens.errors import MemlensError
from memlens.packs.jvm.proof.kernels import hprof_walk
from memlens.packs.jvm.proof.symbols import Symbols
from memlens.proof.items import LEAST_NUMBER, MOST_TEXT_BYTES, Item, Keeps, Reason
from memlens.proof.stream import EndsError, Stream
from memlens.texts import phrase

PIECE_BYTES = 1 << 20
_SURVEYED_BYTES = 1 << 18
"""Bytes per step of the first pass, which skips long arrays."""

_ROWS = 1 << 13
_TEXTS_BYTES = 1 << 16
_HEAD = struct.Struct(">BII")
_TEXT, _LOAD, _UNLOAD, _FRAME, _TRACE, _START, _END = 0x01, 0x02, 0x03, 0x04, 0x05, 0x0A, 0x0B
_TEXT_TYPES = (5, 8)
MOST_ARRAYS = 10_000
_MOST_NAME_BYTES = 1_024
_HEAP, _SEGMENT, _HEAP_END = 0x0C, 0x1C, 0x2C
CLASS, INSTANCE, OBJECTS, NUMBERS = 0x20, 0x21, 0x22, 0x23
_ANDROID_HEAP = 0xFE
_HEAPS = (0, *b"AIZ")
"""The numbers of Android's heaps."""

_LINES = range(-3, 1 << 16)
"""Lines that class files can have, and the numbers of what has none."""
TYPES = {
    2: ("reference", ""), 4: ("boolean", "u1"), 5: ("char", ">u2"), 6: ("float", ">f4"), 7: ("double", ">f8"),
    8: ("byte", "i1"), 9: ("short", ">i2"), 10: ("int", ">i4"), 11: ("long", ">i8"),
}  # fmt: skip
OBJECT = 2


class Class(NamedTuple):
    """A class, and the id of the one above it."""

    name: str
    above: int
    fields: list[tuple[int, int]]
    """The id of each one's name, and its type."""
    statics: list["Static"]
    """Static fields and constants."""


class Static(NamedTuple):
    """A static field, or a constant of a class. ``name`` is its text's number until all texts are known."""

    name: object
    type: int
    data: bytes
    at: int


class Piece(NamedTuple):
    """Records of a heap: their rows, their bytes, and the offset of the bytes in the file."""

    rows: U64
    data: bytes
    base: int


class _Record(NamedTuple):
    tag: int
    length: int
    at: int
    micros: int


class Records:
    """Reads one dump. Its texts and classes are in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:
        self._path, self.keeps = path, keeps
        self.id_bytes = 8
        self.texts = Symbols()
        self.reasons: dict[int, Reason] = {}
        self.classes: dict[int, Class] = {}
        self.names_of_classes: dict[int, int] = {}
        self.surplus: list[Item] = []
        self._numbered: dict[str, set[int]] = {}
        """The numbers that the writer of the dump chose, of each kind of record."""
        self._taken = set[tuple[str, int]]()
        self._segments: list[tuple[int, int]] = []
        self.arrays: list[tuple[int, bytes, int]] = []
        """Arrays of bytes and characters that aren't zeros: the types, the first bytes, and where; not all of many."""
        self._survey()

    # ---- what the records say ----------------------------------------------------------------------------------

    def _records(self, stream: Stream) -> Iterator[_Record]:
        head = stream.peek(64)
        end = head.find(b"\0")
        if not head.startswith(b"JAVA PROFILE 1.0") or end < 0:
            raise MemlensError(phrase("The file is not a heap dump of Java"))
        stream.read(end + 1)
        self.id_bytes, created = struct.unpack(">IQ", stream.exactly(12))
        if self.id_bytes not in (4, 8):
            raise MemlensError(
                phrase("The dump's ids have {id_bytes} bytes, not 4 or 8", id_bytes=self.id_bytes)
            )
        self._created = created
        while len(head := stream.read(9)) == 9:
            tag, micros, length = _HEAD.unpack(head)
            yield _Record(tag, length, stream.offset, micros)

    def _survey(self) -> None:
        width = self.id_bytes
        # a dump may break off
        with suppress(EndsError), Stream.of(self._path) as stream:
            for tag, length, at, micros in self._records(stream):
                width = self.id_bytes
                if micros and not self.keeps.time:
                    self.surplus.append(Item("number", "time of a record", str(micros), at - 8))
                if tag in (_HEAP, _SEGMENT):
                    self._segments.append((at, length))
                    for piece in self._pieces(stream, length, _SURVEYED_BYTES):
                        self._take_classes(piece)
                        self._take_arrays(piece)
                elif tag == _TEXT and length >= width:
                    number = self.id(stream.exactly(width))
                    self.texts.add(number, stream.exactly(length - width), at)
                    self._take_texts(stream)
                else:
                    self._take_record(tag, stream.read(min(length, MOST_TEXT_BYTES)), at)
                    stream.skip(max(0, length - MOST_TEXT_BYTES))
        if self._created and not self.keeps.time:
            self.surplus.append(Item("number", "time of the dump", str(self._created), 0))
        for own, name in self.names_of_classes.items():
            if own in self.classes:
                self.classes[own] = self.classes[own]._replace(name=self.text(name))
        for own, each in self.classes.items():
            statics = [each_of._replace(name=self.named(each_of.name)) for each_of in each.statics]
            self.classes[own] = each._replace(statics=statics)

    def _take_texts(self, stream: Stream) -> None:
        """Take the texts that follow: there are as many as the virtual machine has symbols."""
        data, base, width, at = stream.peek(_TEXTS_BYTES), stream.offset, self.id_bytes, 0
        last = len(data) - _HEAD.size
        while at <= last:
            tag, micros, length = _HEAD.unpack_from(data, at)
            body = at + _HEAD.size
            end = body + length
            if tag != _TEXT or micros or length < width or end > len(data):
                break
            number = int.from_bytes(data[body : body + width])
            self.texts.add(number, data[body + width : end], base + body)
            at = end
        stream.skip(at)

    def _take_record(self, tag: int, body: bytes, at: int) -> None:
        width = self.id_bytes
        known = 0
        if tag == _LOAD and len(body) >= 8 + 2 * width:
            known = 8 + 2 * width
            self.number("class", int.from_bytes(body[:4]), at)
            own, name = self.id(body[4:]), self.id(body[8 + width :])
            self.reasons[name] = "types"
            self.names_of_classes[own] = name
        elif tag == _UNLOAD:
            known = 4
        elif tag == _FRAME and len(body) >= 4 * width + 8:
            known = 4 * width + 8
            for place, reason in enumerate(("methods", "signatures", "files"), 1):
                self.reasons.setdefault(self.id(body[place * width :]), reason)
            self.number("frame", self.id(body), at)
            of_class, line = struct.unpack_from(">Ii", body, 4 * width)
            self._take_place(of_class, line, at)
        elif tag == _TRACE and len(body) >= 12:
            known = 12 + width * int.from_bytes(body[8:12])
            self.number("stack", int.from_bytes(body[:4]), at)
            self.number("thread", int.from_bytes(body[4:8]), at)
        elif tag == _START and len(body) >= 12 + 4 * width - width:
            known = 8 + 4 * width
            for place in range(3):
                self.reasons.setdefault(self.id(body[8 + width * (1 + place) :]), "threads")
        elif tag == _END:
            known = 4
        elif tag == _HEAP_END:
            known = 0
        elif body:
            self.surplus.append(Item("unknown", f"record {tag:#04x}", body, at))
            return
        if len(body) > known:
            self.surplus.append(
                Item("unknown", f"after the end of a record {tag:#04x}", body[known:], at + known)
            )

    def number(self, kind: str, number: int, at: int, *, is_reference: bool = False) -> None:
        """Take a number that is as large as the writer of the dump likes, which in a copy is that of its order."""
        known = self._numbered.setdefault(kind, set())
        if not is_reference:
            known.add(number)
        if number > len(known) and number >= LEAST_NUMBER and (kind, number) not in self._taken:
            self._taken.add((kind, number))
            self.surplus.append(Item("number", f"number of a {kind}", str(number), at))

    def _take_place(self, of_class: int, line: int, at: int) -> None:
        """Take where a frame is: the number of its class, and its line."""
        self.number("class", of_class, at, is_reference=True)
        if line not in _LINES:
            self.surplus.append(Item("number", "line of a frame", str(line), at))

    def _take_arrays(self, piece: Piece) -> None:
        """Take what may be text, of which a copy has little."""
        rows = piece.rows
        is_text = (rows[:, 0] == NUMBERS) & np.isin(rows[:, 2], _TEXT_TYPES) & (rows[:, 5] == 1)
        for _, _, kind, at, size, _ in rows[is_text].tolist() if len(self.arrays) <= MOST_ARRAYS else ():
            self.arrays.append((kind, piece.data[at : at + min(size, _MOST_NAME_BYTES)], piece.base + at))

    def _take_classes(self, piece: Piece) -> None:
        """Take the classes, and what names of Android's heaps there are."""
        for _, name, _, at, _, _ in piece.rows[piece.rows[:, 0] == _ANDROID_HEAP].tolist():
            self.reasons.setdefault(name, "engine")
            number = int.from_bytes(piece.data[at : at + 4])
            if number not in _HEAPS:
                self.surplus.append(Item("number", "number of a heap", str(number), piece.base + at))
        for _, own, _, at, size, _ in piece.rows[piece.rows[:, 0] == CLASS].tolist():
            self.classes[own] = self._class(piece.data[at : at + size], piece.base + at)

    def _class(self, body: bytes, base: int) -> Class:
        width = self.id_bytes
        at = 7 * width + 8
        statics: list[Static] = []
        for is_constant in (True, False):
            (count,) = struct.unpack_from(">H", body, at)
            at += 2
            for _ in range(count):
                if is_constant:
                    index = struct.unpack_from(">H", body, at)[0]
                    name: object = index
                    if index >= LEAST_NUMBER:
                        self.surplus.append(Item("number", "index of a constant", str(index), base + at))
                    at += 2
                else:
                    name = (self.id(body[at:]),)
                    self.reasons.setdefault(self.id(body[at:]), "fields")
                    at += width
                kind = body[at]
                size = self.width(kind)
                statics.append(Static(name, kind, body[at + 1 : at + 1 + size], base + at + 1))
                at += 1 + size
        (count,) = struct.unpack_from(">H", body, at)
        at += 2
        fields = []
        for _ in range(count):
            name = self.id(body[at:])
            self.reasons.setdefault(name, "fields")
            fields.append((name, body[at + width]))
            at += width + 1
        reserved = body[width + 4 + 2 * width + 2 * width :][: 2 * width]
        none = b"\xff" * (width - 1) + b"\xfe"
        if reserved.replace(none, b"").strip(b"\0"):
            self.surplus.append(Item("unknown", "reserved ids of a class", reserved, base))
        return Class("", self.id(body[width + 4 :]), fields, statics)

    def heap(self) -> Iterator[Piece]:
        """The records of all heaps."""
        with Stream.of(self._path) as stream:
            for at, length in self._segments:
                stream.skip(at - stream.offset)
                yield from self._pieces(stream, length)

    def _pieces(self, stream: Stream, length: int, most: int = PIECE_BYTES) -> Iterator[Piece]:
        """The records of a segment, piece by piece; of a long array only the first bytes are there."""
        rows = np.zeros((_ROWS, hprof_walk.COLUMNS), np.uint64)
        left, wanted = length, most
        while left > 0:
            data = stream.peek(min(left, wanted))
            if not data:
                return
            count, end, status = hprof_walk.walk(data, self.id_bytes, rows)
            if status == hprof_walk.UNKNOWN and not count:
                self.surplus.append(
                    Item("unknown", f"record {data[0]:#04x} of a heap", data[:MOST_TEXT_BYTES], stream.offset)
                )
                stream.skip(left)
                return
            if not count:
                if wanted >= min(left, 64 * PIECE_BYTES):
                    self.surplus.append(
                        Item("unknown", "end of a heap", data[:MOST_TEXT_BYTES], stream.offset)
                    )
                    stream.skip(left)
                    return
                wanted *= 4
                continue
            wanted = most
            if end > len(data) and count > 1:
                # the one that isn't whole comes again as the first
                count -= 1
                end = int(rows[count - 1, 3] + rows[count - 1, 4])
                last = int(rows[count - 1, 0])
                end += self.id_bytes + 4 if last == _ANDROID_HEAP else 0
            yield Piece(rows[:count].copy(), data, stream.offset)
            left -= stream.skip(min(end, left))
            if end > len(data) and left <= 0:
                return

    def named(self, name: object) -> str:
        """The name of a static field, or of a constant."""
        return self.text(name[0]) if isinstance(name, tuple) else f"constant {name}"

    def text(self, number: int) -> str:
        """The text of a number."""
        found = self.texts.get(number)
        return "" if found is None else found[0].decode("utf-8", "replace")

    def id(self, data: bytes) -> int:
        """The id that some bytes begin with."""
        return int.from_bytes(data[: self.id_bytes])

    def width(self, kind: int) -> int:
        """The bytes of a value."""
        form = TYPES.get(kind)
        if form is None:
            return 0
        return np.dtype(form[1]).itemsize if form[1] else self.id_bytes
