"""A file's bytes, unpacked, from the first to the last, in a bounded part of memory."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from memlens.errors import MemlensError
from memlens.formats.packing import MOST_EXPANSION, Packed, TruncatedError, unpacker_of
from memlens.regular_files import opened
from memlens.texts import phrase

_CHUNK_BYTES = 1 << 20


def _silent(_stage: str, _fraction: float | None) -> None:
    pass


def chunks_of(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the contents of a file, unpacked, up to where they are damaged. Raises DamagedContainerError."""
    unpacker = unpacker_of(file)
    if unpacker is None:
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
        return
    with suppress(TruncatedError):
        for each in Packed(path, file, unpacker, _silent).chunks(MOST_EXPANSION):
            yield bytes(each)


class Stream:
    """Reads forwards. ``offset`` is that of the next byte in the unpacked file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""
        self._at = 0
        self._base = 0

    @classmethod
    @contextmanager
    def of(cls, path: Path) -> Iterator["Stream"]:
        """The contents of a file, unpacked."""
        with opened(path) as file:
            yield cls(chunks_of(path, file))

    @property
    def offset(self) -> int:
        """The offset of the next byte."""
        return self._base + self._at

    def peek(self, count: int) -> bytes:
        """The next bytes, without reading them; fewer at the end of the file."""
        self._fill(count)
        return self._buffer[self._at : self._at + count]

    def read(self, count: int) -> bytes:
        """The next bytes; fewer at the end of the file."""
        if self._at + count > len(self._buffer):
            self._fill(count)
        found = self._buffer[self._at : self._at + count]
        self._at += len(found)
        return found

    def some(self, most: int) -> bytes:
        """The next bytes, as many as are at hand, at least one before the end."""
        self._fill(1)
        found = self._buffer[self._at : self._at + most]
        self._at += len(found)
        return found

    def exactly(self, count: int) -> bytes:
        """The next bytes. Raises EndsError if there are fewer."""
        found = self.read(count)
        if len(found) < count:
            raise EndsError
        return found

    def skip(self, count: int) -> int:
        """Leave out bytes, and return how many there were."""
        at_hand = min(count, len(self._buffer) - self._at)
        self._at += at_hand
        left = count - at_hand
        while left and (piece := self.some(min(left, _CHUNK_BYTES))):
            left -= len(piece)
        return count - left

    def _fill(self, count: int) -> None:
        if len(self._buffer) - self._at >= count:
            return
        parts = [self._buffer[self._at :]]
        have = len(parts[0])
        self._base += self._at
        self._at = 0
        while have < count:
            piece = next(self._chunks, b"")
            if not piece:
                break
            parts.append(piece)
            have += len(piece)
        self._buffer = b"".join(parts)


class EndsError(MemlensError):
    """The file ends in the middle of something."""

    code = "damaged"

    def __init__(self) -> None:
        super().__init__(phrase("The file ends in the middle of a record"))
