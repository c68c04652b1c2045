"""The compressed wrappers of a file, gzip and zstd: what is inside, in pieces.

A wrapper may lie about nothing but its size; so nothing is unpacked beyond ``MOST_UNPACKED_BYTES``, or a multiple of
the file's own size.
"""

import mmap
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from memlens.errors import MemlensError
from memlens.progress import Report

MOST_UNPACKED_BYTES = 64 << 30
MOST_EXPANSION = 1_000
_PIECE_BYTES = 1 << 18
"""Small enough for what was unpacked to be still in the processor's cache when it is read."""

_READ_BYTES = 1 << 16

_LEAST_COUNTED_BYTES = 4096
"""Smaller files may expand as if they were as large."""

Unpacker = Callable[[BinaryIO, int], Iterator[memoryview]]
"""Gives what is in a file in pieces of at most so many bytes, each until the next is asked for."""


class DamagedContainerError(MemlensError):
    """The compressed wrapper is broken or too large."""

    code = "damaged"
    advice = "Copy or record the file again."


class BrokenOffError(DamagedContainerError):
    """The compressed data ends too early, or is damaged from some place on."""


def unpacker_of(file: BinaryIO) -> Unpacker | None:
    """What unpacks the file, by its first bytes; None for one that isn't compressed. The file is at its start then."""
    magic = file.read(4)
    file.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return _gzip_pieces
    if magic == b"\x28\xb5\x2f\xfd" or _is_skippable(magic):
        return _zstd_pieces
    return None


class Packed:
    """A compressed file, read from its start each time."""

    def __init__(self, path: Path, file: BinaryIO, unpacker: Unpacker, report: Report) -> None:
        self._path = path
        self._file = file
        self._unpacker = unpacker
        self._report = report
        self._file_bytes = max(path.stat().st_size, 1)

    def progress(self) -> float:
        """The part of the file that was read."""
        return min(self._file.tell() / self._file_bytes, 1.0)

    def head(self, count: int) -> bytes:
        """The first bytes. Raises :class:`DamagedContainerError` where there is none."""
        found = b""
        try:
            for piece in self.pieces(MOST_EXPANSION, count):
                found += piece
                if len(found) >= count:
                    break
        except BrokenOffError:
            if not found:
                raise
        if not found:
            raise DamagedContainerError(
                f"{self._path.name} is empty: nothing is packed in it, or it breaks off at once"
            )
        return found

    def unpack_into(self, plain: BinaryIO) -> None:
        """Write all that is inside. Raises :class:`DamagedContainerError`."""
        for piece in self.pieces(MOST_EXPANSION):
            plain.write(piece)
            self._report("unpacking", self.progress())
        plain.flush()

    def pieces(self, most_expansion: int, piece_bytes: int = _PIECE_BYTES) -> Iterator[memoryview]:
        """What is inside, in order, each piece until the next is asked for.

        Raises :class:`BrokenOffError` after the last good piece, and :class:`DamagedContainerError` for what unpacks
        to more than ``most_expansion`` times its size.
        """
        self._file.seek(0)
        most = min(MOST_UNPACKED_BYTES, max(self._file_bytes, _LEAST_COUNTED_BYTES) * most_expansion)
        done = 0
        try:
            for piece in self._unpacker(self._file, piece_bytes):
                done += len(piece)
                if done > most:
                    raise DamagedContainerError(
                        f"{self._path.name} unpacks to more than {most:,} bytes", offset=most,
                        advice="Unpack it yourself if you trust it, and open the result.",
                    )  # fmt: skip
                yield piece
        except (EOFError, zlib.error, zstandard.ZstdError) as error:
            raise BrokenOffError(
                f"{self._path.name} is damaged: after {done:,} bytes the compressed data breaks off"
            ) from error


def _gzip_pieces(file: BinaryIO, piece_bytes: int) -> Iterator[memoryview]:
    """The members of a gzip file, one after the other. What follows the last one is passed over, as gzip does."""
    packed = file.read(_READ_BYTES)
    while packed[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not unpacker.eof:
            piece = unpacker.decompress(packed, piece_bytes)
            packed = unpacker.unconsumed_tail
            if piece:
                yield memoryview(piece)
            elif not packed and not unpacker.eof:
                packed = file.read(_READ_BYTES)
                if not packed:
                    raise EOFError
        packed = unpacker.unused_data or file.read(_READ_BYTES)
        if len(packed) < 2:
            packed += file.read(_READ_BYTES)


def _zstd_pieces(file: BinaryIO, piece_bytes: int) -> Iterator[memoryview]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=2**31)
    opened = unpacker.stream_reader(file, read_across_frames=True, closefd=False)
    buffer = bytearray(piece_bytes)
    view = memoryview(buffer)
    while count := opened.readinto(buffer):
        yield view[:count]
    # the reader says nothing when the file ends within a frame
    if not _zstd_is_whole(file):
        raise EOFError


def _is_skippable(magic: bytes) -> bool:
    return magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5


def _zstd_is_whole(file: BinaryIO) -> bool:
    """Whether the last frame ends where the file ends: RFC 8878, sections 3.1.1 and 3.1.2."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at, length = 0, len(data)
        while at < length:
            if _is_skippable(data[at : at + 4]):
                at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
                continue
            start = data[at : at + 18]
            try:
                at += zstandard.frame_header_size(start)
                checksum = zstandard.get_frame_parameters(start).has_checksum
            except zstandard.ZstdError:
                return False
            last = False
            while not last and at < length:
                block = int.from_bytes(data[at : at + 3], "little")
                last = bool(block & 1)
                # a block of type 1 is one byte, said once
                at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
            if not last:
                return False
            at += 4 if checksum else 0
        return at == length
