"""Decompression of gzip, zstd and LZ4 files in chunks, and text in other encodings as UTF-8.

A small file may unpack to an enormous one; so at most ``MOST_UNPACKED_BYTES`` are unpacked, and at most a multiple of
the file's size.
"""

import codecs
import itertools
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from memlens.errors import MemlensError
from memlens.kernels.readers import lz4
from memlens.progress import Report
from memlens.texts import phrase

MOST_UNPACKED_BYTES = 64 << 30
MOST_EXPANSION = 1_000
_CHUNK_BYTES = 1 << 18
"""Small enough for a chunk to be in the processor's cache when it is read."""

_READ_BYTES = 1 << 16

_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_HISTORY = 1 << 16
"""How far back a block of LZ4 may refer."""

_MARK_BYTES = 4
# that of UTF-32 begins with that of UTF-16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""How texts begin that Windows' editors and PowerShell write, and their encodings."""

_LEAST_COUNTED_BYTES = 4096
"""Smaller files may expand as if they had this size."""

Unpacker = Callable[[BinaryIO, int], Iterator[memoryview]]
"""Yields a file's contents in chunks of at most so many bytes, each valid until the next."""


class DamagedContainerError(MemlensError):
    """The compressed data is damaged or too large."""

    code = "damaged"
    advice = phrase("Copy or record the file again.")


class TruncatedError(DamagedContainerError):
    """The compressed data ends too early, or is damaged from some offset on."""


def unpacker_of(file: BinaryIO) -> Unpacker | None:
    """Return the unpacker of a file by its first bytes, None if it isn't compressed. Leaves the file at its start."""
    magic = file.read(_MARK_BYTES)
    file.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return _gzip_chunks
    if _encoding_of(magic) is not None:
        return _plain_chunks
    if magic == b"\x28\xb5\x2f\xfd" or _is_skippable(magic):
        return _zstd_chunks
    if magic == _LZ4_MAGIC:
        return _lz4_chunks
    return None


class Packed:
    """A compressed file. Each method reads it from its start."""

    def __init__(self, path: Path, file: BinaryIO, unpacker: Unpacker, report: Report) -> None:
        self._path = path
        self._file = file
        self._unpacker = unpacker
        self._report = report
        self._file_bytes = max(os.fstat(file.fileno()).st_size, 1)

    def progress(self) -> float:
        """Return the fraction of the file that was read."""
        return min(self._file.tell() / self._file_bytes, 1.0)

    def head(self, count: int) -> bytes:
        """Return the first bytes, at least one. Raises :class:`DamagedContainerError`."""
        data = b""
        try:
            for chunk in self.chunks(MOST_EXPANSION, count):
                data += chunk
                if len(data) >= count:
                    break
        except TruncatedError:
            if not data:
                raise
        if not data:
            raise DamagedContainerError(phrase("{path} contains no data", path=self._path.name))
        return data

    def unpack_into(self, plain: BinaryIO) -> None:
        """Write the whole contents to ``plain``. Raises :class:`DamagedContainerError`."""
        for chunk in self.chunks(MOST_EXPANSION):
            plain.write(chunk)
            self._report("unpacking", self.progress())
        plain.flush()

    def chunks(self, most_expansion: int, chunk_bytes: int = _CHUNK_BYTES) -> Iterator[memoryview]:
        """Yield the contents in order; a chunk is valid until the next one.

        Raises :class:`TruncatedError` after the last good chunk, and :class:`DamagedContainerError` if the file
        unpacks to more than ``most_expansion`` times its size.
        """
        self._file.seek(0)
        most = min(MOST_UNPACKED_BYTES, max(self._file_bytes, _LEAST_COUNTED_BYTES) * most_expansion)
        done = 0
        try:
            for chunk in _as_utf8(self._unpacker(self._file, chunk_bytes)):
                done += len(chunk)
                if done > most:
                    raise DamagedContainerError(
                        phrase("{file} unpacks to more than {most} bytes", file=self._path.name, most=most),
                        offset=most,
                        advice=phrase("Unpack it yourself if you trust it, and open the result."),
                    )
                yield chunk
        except (EOFError, zlib.error, zstandard.ZstdError) as error:
            raise TruncatedError(
                phrase(
                    "{path} is truncated or damaged after {done} bytes of uncompressed data",
                    path=self._path.name,
                    done=done,
                )
            ) from error


def _encoding_of(head: bytes) -> str | None:
    """Return the encoding of a text that begins with a byte order mark, None for anything else."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def _as_utf8(chunks: Iterator[memoryview]) -> Iterator[memoryview]:
    """Yield a text that begins with a byte order mark in UTF-8 and without that mark, anything else as it is."""
    first = bytes(next(chunks, b""))
    while 0 < len(first) < _MARK_BYTES and (more := bytes(next(chunks, b""))):
        first += more
    encoding = _encoding_of(first)
    if encoding is None:
        if first:
            yield memoryview(first)
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in itertools.chain((first,), chunks):
        text = decoder.decode(bytes(chunk))
        if text:
            yield memoryview(text.encode("utf-8", "replace"))
    rest = decoder.decode(b"", final=True)
    if rest:
        yield memoryview(rest.encode("utf-8", "replace"))


def _plain_chunks(file: BinaryIO, chunk_bytes: int) -> Iterator[memoryview]:
    while chunk := file.read(chunk_bytes):
        yield memoryview(chunk)


def _gzip_chunks(file: BinaryIO, chunk_bytes: int) -> Iterator[memoryview]:
    """Yield the members of a gzip file one after the other, and ignore data after the last one, as gzip does."""
    packed = file.read(_READ_BYTES)
    while packed[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not unpacker.eof:
            chunk = unpacker.decompress(packed, chunk_bytes)
            packed = unpacker.unconsumed_tail
            if chunk:
                yield memoryview(chunk)
            elif not packed and not unpacker.eof:
                packed = file.read(_READ_BYTES)
                if not packed:
                    raise EOFError
        packed = unpacker.unused_data or file.read(_READ_BYTES)
        if len(packed) < 2:
            packed += file.read(_READ_BYTES)


def _zstd_chunks(file: BinaryIO, chunk_bytes: int) -> Iterator[memoryview]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=2**31)
    opened = unpacker.stream_reader(file, read_across_frames=True, closefd=False)
    buffer = bytearray(chunk_bytes)
    view = memoryview(buffer)
    while count := opened.readinto(buffer):
        yield view[:count]
    # the reader does not report a file that ends within a frame
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
                # a block of type 1 is a repeated byte, stored once
                at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
            if not last:
                return False
            at += 4 if checksum else 0
        return at == length


def _lz4_chunks(file: BinaryIO, chunk_bytes: int) -> Iterator[memoryview]:
    """Yield the frames of an LZ4 file one after the other; checksums are passed over.

    Source: ``doc/lz4_Frame_format.md`` of https://github.com/lz4/lz4.
    """
    while magic := file.read(len(_LZ4_MAGIC)):
        if magic != _LZ4_MAGIC:
            raise EOFError
        yield from _lz4_frame(file, chunk_bytes)


def _lz4_frame(file: BinaryIO, chunk_bytes: int) -> Iterator[memoryview]:
    flags, largest = _exactly(file, 2)
    # a known size, the number of a dictionary, and the byte that checks the header
    _exactly(file, 8 * bool(flags & 0x08) + 4 * bool(flags & 0x01) + 1)
    is_known = flags >> 6 == 1 and not flags & 0x01 and largest >> 4 & 7 >= 4
    if not is_known:
        raise EOFError
    most = 1 << 2 * (largest >> 4 & 7) + 8
    are_linked, are_checked = not flags & 0x20, bool(flags & 0x10)
    buffer = bytearray(_LZ4_HISTORY + most)
    # what was unpacked before stands in front of a block, at the end of the history
    before = 0
    while size := int.from_bytes(_exactly(file, 4), "little"):
        block = _exactly(file, size & 0x7FFFFFFF, most)
        if are_checked:
            _exactly(file, 4)
        start = _LZ4_HISTORY - before
        if size & 0x80000000:
            end = _LZ4_HISTORY + len(block)
            buffer[_LZ4_HISTORY:end] = block
        else:
            with memoryview(buffer) as whole:
                end = start + lz4.unpack(block, whole[start:], before)
        if end < _LZ4_HISTORY:
            raise EOFError
        with memoryview(buffer) as whole:
            for at in range(_LZ4_HISTORY, end, chunk_bytes):
                yield whole[at : min(at + chunk_bytes, end)]
        if are_linked:
            before = min(_LZ4_HISTORY, before + end - _LZ4_HISTORY)
            buffer[_LZ4_HISTORY - before : _LZ4_HISTORY] = buffer[end - before : end]
    if flags & 0x04:
        _exactly(file, 4)


def _exactly(file: BinaryIO, count: int, most: int = _LZ4_HISTORY) -> bytes:
    """Read ``count`` bytes. Raises EOFError if the file has fewer, or they are more than ``most``."""
    data = file.read(count) if count <= most else b""
    if len(data) < count:
        raise EOFError
    return data
