"""Writes pprof profiles anew without the names of people and machines in their texts."""

import mmap
from collections.abc import Iterator
from typing import Any

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redaction.people import People
from memlens.texts import phrase

_STRINGS, _TIME, _COMMENT, _LAST = 6, 9, 13, 15
_TEXTS_OF: dict[int, dict[int, Any]] = {
    1: {1: None, 2: None}, 2: {3: {1: None, 2: None, 4: None}}, 3: {5: None, 6: None},
    5: {2: None, 3: None, 4: None}, 11: {1: None, 2: None},
}  # fmt: skip
"""The fields with numbers of texts in messages of the profile: types of values, labels, mappings, functions."""
_OWN_TEXTS = (7, 8, 14, 15)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def without_people(source: Source, people: People, *, keeps_time: bool) -> Iterator[tuple[int, bytes]]:
    """The message with other texts, without comments, and without the time unless that is kept."""
    data, at = source.data, 0
    comments, number = _only_in_comments(data, source.length), -1
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
            number += 1
            if number in comments:
                yield at, bytes([_STRINGS << 3 | _BYTES, 0])
                continue
            text = bytes(data[at - size : at]).decode("utf-8", "surrogateescape")
            new = people.replaced(text).encode("utf-8", "surrogateescape")
            yield at, bytes([_STRINGS << 3 | _BYTES]) + _as_varint(len(new)) + new
        else:
            yield at, bytes(data[start:at])


def _only_in_comments(data: mmap.mmap | bytes, length: int) -> set[int]:
    """The numbers of the texts that only comments refer to."""
    comments, used = set[int](), set[int]()
    for field, _, value in _fields(data, 0, length):
        if field == _COMMENT:
            comments.update([value] if isinstance(value, int) else _numbers(value))
    if not comments:
        return comments
    for field, _, value in _fields(data, 0, length):
        if field in _TEXTS_OF and isinstance(value, bytes):
            used.update(_texts_of(value, _TEXTS_OF[field]))
        elif field in _OWN_TEXTS and isinstance(value, int):
            used.add(value)
    return comments - used


def _texts_of(message: bytes, fields: dict[int, dict[int, Any] | None]) -> Iterator[int]:
    """The numbers of the texts in a message; ``fields`` says which fields are texts, or messages with texts."""
    for field, _, value in _fields(message, 0, len(message)):
        below = fields.get(field, {})
        if below is None and isinstance(value, int):
            yield value
        elif below and isinstance(value, bytes):
            yield from _texts_of(value, below)


def _numbers(packed: bytes) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def _fields(data: mmap.mmap | bytes, at: int, end: int) -> Iterator[tuple[int, int, int | bytes]]:
    """The fields of a message: number, kind, and value."""
    while at < end:
        key, at = _varint(data, at)
        value: int | bytes = 0
        if key & 7 == _VARINT:
            value, at = _varint(data, at)
        elif key & 7 == _BYTES:
            size, at = _varint(data, at)
            value, at = bytes(data[at : at + size]), at + size
        else:
            at += 4 if key & 7 == _FIXED32 else 8
        yield key >> 3, key & 7, value


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
