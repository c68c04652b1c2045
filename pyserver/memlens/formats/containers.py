"""The outer wrappers of a snapshot file: plain, gzip or zstd. What comes out is always one mapped file.

Compressed files are unpacked next to the archive that is being made, never into memory, and no further than
``MOST_UNPACKED_BYTES`` or a thousand times their own size.
"""

import contextlib
import gzip
import mmap
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from memlens.errors import MemlensError
from memlens.kernels import mapped_faults

MOST_UNPACKED_BYTES = 64 << 30
MOST_EXPANSION = 1_000
_CHUNK_BYTES = 1 << 20

Report = Callable[[str, float], None]


class FileError(MemlensError):
    """The file can't be read at all."""

    code = "file"
    advice = "Check that the file is there and can be read."


class DamagedContainerError(MemlensError):
    """The compressed wrapper is broken or too large."""

    code = "damaged"
    advice = "Copy or record the file again."


class ChangedFileError(MemlensError):
    """Somebody wrote the file while it was read."""

    code = "changed"
    advice = "Wait until it is written, and open it again."


mapped_faults.install()


class Source:
    """A snapshot's bytes, mapped read-only. Pages behind :meth:`release` are given back to the system."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.length = os.fstat(file.fileno()).st_size
        self._file = file
        self._gone = mapped_faults.seen()
        self.map: mmap.mmap | None = None
        if self.length:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if hasattr(mmap, "MADV_SEQUENTIAL"):
                self.map.madvise(mmap.MADV_SEQUENTIAL)

    @property
    def data(self) -> mmap.mmap | bytes:
        """The bytes, as a buffer."""
        return self.map if self.map is not None else b""

    def head(self, count: int = 4096) -> bytes:
        """The first bytes."""
        return self.data[:count]

    def release(self, end: int) -> None:
        """Nothing before ``end`` is needed soon: let its pages go."""
        if self.map is not None and hasattr(mmap, "MADV_DONTNEED"):
            end -= end % mmap.PAGESIZE
            if end:
                self.map.madvise(mmap.MADV_DONTNEED, 0, end)

    def check(self) -> None:
        """Raises :class:`ChangedFileError` when the file became shorter while it was read."""
        if mapped_faults.seen() != self._gone or os.fstat(self._file.fileno()).st_size < self.length:
            raise ChangedFileError(f"{self.path} became shorter while it was read")

    def close(self) -> None:
        """Unmap. A kernel that still looks at the bytes keeps the map until it goes."""
        if self.map is not None:
            with contextlib.suppress(BufferError):
                self.map.close()


@contextlib.contextmanager
def open_source(path: Path, scratch: Path, report: Report) -> Iterator[Source]:
    """Open ``path``, unpacked if it is compressed; temporary files go to ``scratch``.

    Raises :class:`FileError` and :class:`DamagedContainerError`.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(f"{path} can't be opened: {error.strerror}") from error
    with file:
        if not path.is_file():
            raise FileError(f"{path} is not a file")
        magic = file.read(4)
        file.seek(0)
        if magic[:2] == b"\x1f\x8b":
            opened: BinaryIO = cast("BinaryIO", gzip.GzipFile(fileobj=file))
        elif magic == b"\x28\xb5\x2f\xfd" or (magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5):
            unpacker = zstandard.ZstdDecompressor(max_window_size=2**31)
            opened = cast("BinaryIO", unpacker.stream_reader(file, read_across_frames=True, closefd=False))
        else:
            with _mapped(path, file) as source:
                yield source
            return
        with tempfile.TemporaryFile(dir=scratch) as plain:
            _unpack(path, file, opened, plain, report)
            with _mapped(path, plain) as source:
                yield source


@contextlib.contextmanager
def plain_source(path: Path, data: bytes, scratch: Path) -> Iterator[Source]:
    """The same for bytes that were found inside another file."""
    with tempfile.TemporaryFile(dir=scratch) as plain:
        plain.write(data)
        plain.flush()
        with _mapped(path, plain) as source:
            yield source


@contextlib.contextmanager
def _mapped(path: Path, file: BinaryIO) -> Iterator[Source]:
    source = Source(path, file)
    try:
        yield source
    finally:
        source.close()


def _unpack(path: Path, file: BinaryIO, opened: BinaryIO, plain: BinaryIO, report: Report) -> None:
    size = max(path.stat().st_size, 1)
    most = min(MOST_UNPACKED_BYTES, max(size, 4096) * MOST_EXPANSION)
    written = 0
    try:
        while chunk := opened.read(_CHUNK_BYTES):
            written += len(chunk)
            if written > most:
                raise DamagedContainerError(
                    f"{path.name} unpacks to more than {most:,} bytes", offset=most,
                    advice="Unpack it yourself if you trust it, and open the result.",
                )  # fmt: skip
            plain.write(chunk)
            report("unpacking", min(file.tell() / size, 1.0))
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise DamagedContainerError(
            f"{path.name} is damaged: after {written:,} bytes the compressed data breaks off"
        ) from error
    if written == 0:
        raise DamagedContainerError(f"{path.name} is damaged: nothing can be unpacked from it")
    plain.flush()
