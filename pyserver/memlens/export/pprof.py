"""Writes stacks with values as pprof's ``profile.proto``, gzipped, for ``go tool pprof`` and all that reads it.

Field numbers are those of github.com/google/pprof/proto/profile.proto. Every frame becomes a location with one line,
and every function of a file a function; samples are written innermost frame first, as the format has them.
"""

import gzip
from collections.abc import Iterable

from memlens.export.samples import Samples

_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING_TABLE = 1, 2, 4, 5, 6
_COMMENT, _DEFAULT_SAMPLE_TYPE = 13, 14
_VARINT, _BYTES = 0, 2


def pprof(samples: Samples, title: str) -> bytes:
    """The whole file; ``title`` stands in it as a comment."""
    strings = _Strings()
    parts: list[bytes] = []
    for value in samples.types:
        told = _number(1, strings[value.name]) + _number(2, strings[value.unit])
        parts.append(_message(_SAMPLE_TYPE, told))
    functions: dict[tuple[str, str], int] = {}
    locations: list[bytes] = []
    for number, (file, line, function, _) in enumerate(samples.frames, 1):
        its = functions.setdefault((file, function), len(functions) + 1)
        line_of = _number(1, its) + _number(2, max(line, 0))
        locations.append(_message(_LOCATION, _number(1, number) + _message(4, line_of)))
    # the bytes of each location's number, once
    ids = [_varint(number) for number in range(1, len(samples.frames) + 1)]
    for stack, values in zip(samples.stacks(), samples.values.T.tolist(), strict=True):
        packed = b"".join([ids[frame] for frame in stack])
        parts.append(_message(_SAMPLE, _message(1, packed) + _message(2, b"".join(map(_varint, values)))))
    parts += locations
    for (file, function), number in functions.items():
        name = strings[function or "?"]
        parts.append(
            _message(
                _FUNCTION,
                _number(1, number) + _number(2, name) + _number(3, name) + _number(4, strings[file]),
            )
        )
    parts.append(_number(_COMMENT, strings[title]))
    if samples.types:
        parts.append(_number(_DEFAULT_SAMPLE_TYPE, strings[samples.types[samples.default].name]))
    parts += (_message(_STRING_TABLE, _utf8(text)) for text in strings.texts())
    # no time of making in it: the same stacks are the same file
    return gzip.compress(b"".join(parts), 6, mtime=0)


class _Strings:
    """The string table; number 0 is the empty one."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> Iterable[str]:
        return self._numbers


def _utf8(text: str) -> bytes:
    # names may hold lone surrogates, which no UTF-8 has
    return text.encode("utf-8", "replace")


def _varint(value: int) -> bytes:
    """A number as protobuf writes it, negative ones in ten bytes."""
    value &= 2**64 - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(data)) + data
