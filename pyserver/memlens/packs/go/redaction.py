"""Writes pprof profiles anew without the names of people and machines in their texts."""

import mmap
from collections.abc import Iterator

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redaction.people import People
from memlens.texts import phrase

_STRINGS, _TIME, _COMMENT, _LAST = 6, 9, 13, 15
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def without_people(source: Source, people: People, *, keeps_time: bool) -> Iterator[tuple[int, bytes]]:
    """The message with other texts, without comments, and without the time unless that is kept."""
    data, at = source.data, 0
    while at < source.length:
        start = at
        key, at = _varint(data, at)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _BYTES:
            size, at = _varint(data, at)
            at += size
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise DamagedSnapshotError(phrase("The profile has a field of no known kind"), offset=start)
        if at > source.length:
            raise DamagedSnapshotError(phrase("The profile is truncated"), offset=start)
        if field > _LAST or field == _COMMENT or (field == _TIME and not keeps_time):
            continue
        if field == _STRINGS and kind == _BYTES:
            text = bytes(data[at - size : at]).decode("utf-8", "surrogateescape")
            new = people.replaced(text).encode("utf-8", "surrogateescape")
            yield at, bytes([_STRINGS << 3 | _BYTES]) + _as_varint(len(new)) + new
        else:
            yield at, bytes(data[start:at])


def _varint(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = shift = 0
    while True:
        byte = data[at : at + 1]
        if not byte or shift > 63:
            raise DamagedSnapshotError(phrase("The profile is truncated"), offset=at)
        value |= (byte[0] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte[0] & 0x80:
            return value, at


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
