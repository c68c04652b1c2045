"""A plain forward reader of JSON, for files that don't fit into memory."""

import re
from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from memlens.errors import MemlensError
from memlens.kernels.readers import digits
from memlens.proof.stream import Stream
from memlens.texts import phrase

_PIECE_BYTES = 1 << 20
_MOST_TEXT_BYTES = 64 << 20
_SOME_STRINGS = re.compile(rb'(?:[ \t\r\n,]*+"(?:[^"\\]++|\\.)*+")++', re.DOTALL)
_MOST_SPACE = 1 << 16
"""The longest white space after the last string of an array."""
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_BEGUN = re.compile(rb'"((?:[^"\\]|\\.)*+)("|\\?\Z)', re.DOTALL)
"""A string, or the beginning of one that ends later."""
_SPACES = b" \t\r\n"


class NotJsonError(MemlensError):
    """The text isn't JSON of the expected form."""

    code = "damaged"


def failure(stream: Stream) -> NotJsonError:
    """The error for unexpected input."""
    return NotJsonError(phrase("The JSON doesn't have the expected form"), offset=stream.offset)


def next_byte(stream: Stream) -> bytes:
    """The next byte that isn't white space, not yet read; empty at the end."""
    while (byte := stream.peek(1)) and byte in _SPACES:
        stream.read(1)
    return byte


def expect(stream: Stream, byte: bytes) -> None:
    """Read a byte. Raises :class:`NotJsonError` if it is another."""
    if next_byte(stream) != byte:
        raise failure(stream)
    stream.read(1)


def text(stream: Stream) -> str:
    """Read a string."""
    if next_byte(stream) != b'"':
        raise failure(stream)
    count = 256
    while True:
        data = stream.peek(count)
        found = _STRING.match(data)
        if found:
            stream.read(found.end())
            return unquoted(found[1])
        if len(data) < count or count > _MOST_TEXT_BYTES:
            raise failure(stream)
        count *= 8


def unquoted(data: bytes) -> str:
    """The text of a string between its quotes."""
    if b"\\" not in data:
        return data.decode("utf-8", "replace")
    try:
        found = msgspec.json.decode(b'"' + data + b'"')
    except (msgspec.DecodeError, UnicodeDecodeError):
        # an unpaired surrogate
        return data.decode("utf-8", "replace")
    return str(found)


def value(stream: Stream) -> bytes:
    """Read a value of any form, and return its bytes. Raises :class:`NotJsonError`, also for very long ones."""
    next_byte(stream)
    out, depth, quoted, escaped = bytearray(), 0, False, False
    while data := stream.peek(4096):
        for at, byte in enumerate(data):
            if quoted:
                escaped, quoted = byte == 92 and not escaped, byte != 34 or escaped
            elif byte == 34:
                quoted = True
            elif byte in b"[{":
                depth += 1
            elif byte in b"]}" and depth:
                depth -= 1
            elif byte in b",]}" and not depth:
                out += stream.read(at)
                return bytes(out).strip()
            if len(out) > _MOST_TEXT_BYTES:
                raise failure(stream)
        out += stream.read(len(data))
    return bytes(out).strip()


def numbers(stream: Stream, width: int) -> Iterator[npt.NDArray[np.int64]]:
    """Read an array of whole numbers, in rows of ``width``."""
    expect(stream, b"[")
    rest = np.zeros(0, np.int64)
    room = np.zeros(_PIECE_BYTES // 2 + 64, np.int64)
    while True:
        data = stream.peek(_PIECE_BYTES)
        end = data.find(b"]")
        is_last = end >= 0
        if not is_last:
            end = data.rfind(b",")
        if end < 0:
            raise failure(stream)
        count = digits.parse(data[:end], room) if end else 0
        if count < 0:
            raise failure(stream)
        found = np.concatenate((rest, room[:count]))
        rows = len(found) // width * width
        yield found[:rows].reshape(-1, width)
        rest = found[rows:]
        stream.read(end + 1)
        if is_last:
            if len(rest):
                raise failure(stream)
            return


def texts(stream: Stream) -> Iterator[tuple[str, int]]:
    """Read an array of strings; each with its offset."""
    for found, base in _strings(stream):
        yield unquoted(found[1]), base + found.start()


def skip_texts(stream: Stream) -> None:
    """Read an array of strings, whatever these are."""
    expect(stream, b"[")
    wanted = _PIECE_BYTES
    while True:
        data = stream.peek(wanted)
        found = _SOME_STRINGS.match(data)
        at = 0 if found is None else found.end()
        rest = data[at : at + _MOST_SPACE].lstrip(b" \t\r\n,")
        if rest[:1] == b"]":
            stream.read(data.index(b"]", at) + 1)
            return
        if at:
            wanted = _PIECE_BYTES
            stream.read(at)
        elif len(data) < wanted or wanted > _MOST_TEXT_BYTES:
            raise failure(stream)
        else:
            wanted *= 4


def _strings(stream: Stream) -> Iterator[tuple[re.Match[bytes], int]]:
    """The strings of an array, and the offset of the piece that each is in."""
    expect(stream, b"[")
    wanted = _PIECE_BYTES
    while True:
        data = stream.peek(wanted)
        at = 0
        for found in _BEGUN.finditer(data):
            if found[2] != b'"' or data[at : found.start()].strip(b" \t\r\n,"):
                break
            at = found.end()
            yield found, stream.offset
        rest = data[at:].lstrip(b" \t\r\n,")
        if rest[:1] == b"]":
            stream.read(len(data) - len(rest) + 1)
            return
        if not at:
            if len(data) < wanted or wanted > _MOST_TEXT_BYTES:
                raise failure(stream)
            wanted *= 4
            continue
        wanted = _PIECE_BYTES
        stream.read(at)
