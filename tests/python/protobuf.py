"""A simple decoder of protobuf's wire format, against which pprof's reader and writer are tested."""

from typing import Any


def varints(data: bytes) -> list[int]:
    """Consecutive numbers, as in a packed field."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    assert shift == 0, "a number is truncated"
    return numbers


def fields(data: bytes) -> list[tuple[int, Any]]:
    """A message's fields in order, each with its number: an int, or the bytes of a length-delimited field."""
    at = 0
    fields: list[tuple[int, Any]] = []

    def varint() -> int:
        nonlocal at
        start = at
        while data[at] > 0x7F:
            at += 1
        at += 1
        return varints(data[start:at])[0]

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            fields.append((key >> 3, varint()))
        else:
            assert key & 7 == 2
            size = varint()
            assert at + size <= len(data)
            fields.append((key >> 3, data[at : at + size]))
            at += size
    return fields
