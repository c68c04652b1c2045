"""The texts of a pprof profile, read without the code that wrote it."""

import re
from collections.abc import Iterator
from pathlib import Path

from memlens.arrays import F64
from memlens.proof.items import Item, Keeps
from memlens.proof.stream import EndsError, Stream

_TEXT = re.compile(rb"[\x20-\x7e]{4}|[{\[\x80]")
_STRINGS = 6 << 3 | 2
_BYTES, _VARINT = 2, 0


def recognises(head: bytes) -> bool:
    """Whether a file begins neither as text nor as JSON or a pickle: no other profile does."""
    return _TEXT.match(head) is None


class PprofReader:
    """Reads one profile, a message at a time."""

    def __init__(self, path: Path, keeps: Keeps) -> None:  # noqa: ARG002 - as every reader
        self._path = path

    def names(self) -> Iterator[Item]:
        """All texts."""
        with Stream.of(self._path) as stream:
            try:
                while stream.peek(1):
                    at, key = stream.offset, _varint(stream)
                    if key & 7 == _VARINT:
                        _varint(stream)
                    elif key & 7 == _BYTES:
                        data = stream.exactly(_varint(stream))
                        if key == _STRINGS and data:
                            yield Item("name", "texts", data.decode("utf-8", "replace"), at)
                    else:
                        stream.exactly(8 if key & 7 == 1 else 4)
            except EndsError:
                return

    def contents(self, numbers: F64 | None) -> Iterator[Item]:  # noqa: ARG002
        """Nothing: a profile has only figures and texts of code."""
        return iter(())


def _varint(stream: Stream) -> int:
    value = shift = 0
    while True:
        byte = stream.exactly(1)[0]
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80 or shift > 63:
            return value
