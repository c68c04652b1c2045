"""Writes stacks with values as pprof's ``profile.proto``, gzipped, for ``go tool pprof`` and other readers of the
format.

Field numbers are those of github.com/google/pprof/proto/profile.proto. Every frame becomes a location with one line,
and every function of a file becomes a function; samples are written innermost frame first, as the format requires, each
with its labels.
"""

import gzip
from collections.abc import Iterable

from memlens.export.samples import Label, Recording, Samples

_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING_TABLE = 1, 2, 4, 5, 6
_TIME_NANOS, _DURATION_NANOS, _PERIOD_TYPE, _PERIOD = 9, 10, 11, 12
_COMMENT, _DEFAULT_SAMPLE_TYPE, _DOC_URL = 13, 14, 15
_VARINT, _BYTES = 0, 2


def pprof(samples: Samples, title: str) -> bytes:
    """The whole file; ``title`` is written into it as a comment."""
    strings = _Strings()
    parts: list[bytes] = []
    types, unrolled = samples.stacks.meaning.types, samples.unrolled()
    for value in types:
        fields = _number(1, strings[value.name]) + _number(2, strings[value.unit])
        parts.append(_message(_SAMPLE_TYPE, fields))
    functions: dict[tuple[str, str], int] = {}
    locations: list[bytes] = []
    for number, frame in enumerate(unrolled.frames, 1):
        its = functions.setdefault((frame.file, frame.text), len(functions) + 1)
        line_of = _number(1, its) + _number(2, max(frame.line, 0))
        locations.append(_message(_LOCATION, _number(1, number) + _message(4, line_of)))
    # encode each location's number once
    ids = [_varint(number) for number in range(1, len(unrolled.frames) + 1)]
    # a stack without frames has no field, because empty packed fields are not written
    stacks = [
        _message(1, b"".join([ids[frame] for frame in stack])) if stack else b"" for stack in unrolled.stacks
    ]
    labels = _labels(samples.labels, strings)
    for number, (stack, values) in enumerate(
        zip(unrolled.stack_of, samples.stacks.values.T.tolist(), strict=True)
    ):
        fields = stacks[stack] + _message(2, b"".join(map(_varint, values))) + labels.get(number, b"")
        parts.append(_message(_SAMPLE, fields))
    parts += locations
    for (file, function), number in functions.items():
        name = strings[function or "?"]
        parts.append(
            _message(
                _FUNCTION,
                _number(1, number) + _number(2, name) + _number(3, name) + _number(4, strings[file]),
            )
        )
    parts += _recording(samples.recording, strings)
    parts.append(_number(_COMMENT, strings[title]))
    if types:
        parts.append(_number(_DEFAULT_SAMPLE_TYPE, strings[types[samples.default].name]))
    parts += (_message(_STRING_TABLE, _utf8(text)) for text in strings.texts())
    # no time of writing in the header, so that the same stacks give the same file
    return gzip.compress(b"".join(parts), 6, mtime=0)


class _Strings:
    """The string table; number 0 is the empty one."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> Iterable[str]:
        return self._numbers


def _labels(labels: Iterable[Label], strings: _Strings) -> dict[int, bytes]:
    """The fields of each sample that has labels."""
    # most samples share their labels with others
    written: dict[tuple[str, str, int, str], bytes] = {}
    found: dict[int, list[bytes]] = {}
    for sample, key, text, number, unit in labels:
        label = (key, text, number, unit)
        if label not in written:
            fields = _number(1, strings[key])
            if text:
                fields += _number(2, strings[text])
            else:
                fields += _number(3, number) + (_number(4, strings[unit]) if unit else b"")
            written[label] = _message(3, fields)
        found.setdefault(sample, []).append(written[label])
    return {sample: b"".join(fields) for sample, fields in found.items()}


def _recording(recording: Recording, strings: _Strings) -> list[bytes]:
    """How the profile was recorded, as far as that is known."""
    numbers = (
        (_TIME_NANOS, recording.time_unix_ns), (_DURATION_NANOS, recording.duration_ns), (_PERIOD, recording.period),
        (_DOC_URL, strings[recording.doc_url]),
    )  # fmt: skip
    parts = [_number(field, value) for field, value in numbers if value]
    if recording.period_type or recording.period_unit:
        kind = _number(1, strings[recording.period_type]) + _number(2, strings[recording.period_unit])
        parts.append(_message(_PERIOD_TYPE, kind))
    return parts + [_number(_COMMENT, strings[comment]) for comment in recording.comments]


def _utf8(text: str) -> bytes:
    # names may hold lone surrogates, which can't be written in UTF-8
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
