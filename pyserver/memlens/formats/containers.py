"""A snapshot file as readers see it: its bytes, whatever wrapper they came in."""

import contextlib
import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from memlens.errors import MemlensError
from memlens.formats.packing import BrokenOffError, Packed, unpacker_of
from memlens.formats.tools import Tools
from memlens.kernels.base import mapped_faults
from memlens.progress import Report

_CHUNK_BYTES = 1 << 20
_MOST_STREAMED_EXPANSION = 20_000
"""Of what is not kept: a program that allocates and frees the same all day packs very well."""


class FileError(MemlensError):
    """The file can't be read at all."""

    code = "file"
    advice = "Check that the file is there and can be read."


class ChangedFileError(MemlensError):
    """Somebody wrote the file while it was read."""

    code = "changed"
    advice = "Wait until it is written, and open it again."


mapped_faults.install()


class Source:
    """A file's bytes without their compressed wrapper, for readers of two kinds.

    Those that look anywhere ask for :attr:`data`: what is compressed is unpacked into a temporary file first, and
    mapped read-only; pages behind :meth:`release` are given back to the system. Those that read once from the first
    byte to the last ask for :meth:`pieces`, and nothing is kept anywhere.
    """

    def __init__(
        self, path: Path, file: BinaryIO, packed: Packed | None = None, plain: BinaryIO | None = None
    ) -> None:
        self.path = path
        self.tools = Tools()
        self._file = file
        self._file_bytes = os.fstat(file.fileno()).st_size
        self._packed = packed
        self._plain = plain
        self._head: bytes | None = None
        self._gone = mapped_faults.seen()
        self._map: mmap.mmap | None = None
        self.broken_off = False
        """After :meth:`pieces`: whether the compressed data ended too early or was damaged."""
        if packed is None:
            self._map = _mapped(file, self._file_bytes)

    @property
    def map(self) -> mmap.mmap | None:
        """The bytes, mapped; None where there are none. Raises :class:`DamagedContainerError`."""
        if self._map is None and self._packed is not None and self._plain is not None:
            self._packed.unpack_into(self._plain)
            self._map = _mapped(self._plain, os.fstat(self._plain.fileno()).st_size)
        return self._map

    @property
    def length(self) -> int:
        """The number of bytes. Raises :class:`DamagedContainerError`."""
        return len(self.data)

    @property
    def data(self) -> mmap.mmap | bytes:
        """The bytes, as a buffer. Raises :class:`DamagedContainerError`."""
        found = self.map
        return found if found is not None else b""

    def head(self, count: int = 4096) -> bytes:
        """The first bytes; no more than ``count`` of what is compressed are unpacked for it."""
        if self._packed is None or self._map is not None:
            return self.data[:count]
        if self._head is None or len(self._head) < count:
            self._head = self._packed.head(count)
        return self._head[:count]

    def pieces(self, report: Report) -> Iterator[memoryview]:
        """All bytes in order, each piece until the next one is asked for; ``report`` gets ``("reading", fraction)``.

        Where compressed data breaks off or is damaged the pieces end, and ``broken_off`` is True. Raises
        :class:`DamagedContainerError` for what unpacks to more than any recording.
        """
        if self._packed is None:
            with memoryview(self.data) as whole:
                for start in range(0, len(whole), _CHUNK_BYTES):
                    with whole[start : start + _CHUNK_BYTES] as piece:
                        yield piece
                    self.release(start)
                    report("reading", start / len(whole))
            return
        try:
            for piece in self._packed.pieces(_MOST_STREAMED_EXPANSION):
                yield piece
                report("reading", self._packed.progress())
        except BrokenOffError:
            self.broken_off = True

    def release(self, end: int) -> None:
        """Nothing before ``end`` is needed soon: let its pages go."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            end -= end % mmap.PAGESIZE
            if end:
                self._map.madvise(mmap.MADV_DONTNEED, 0, end)

    def check(self) -> None:
        """Raises :class:`ChangedFileError` when the file became shorter while it was read."""
        shorter = os.fstat(self._file.fileno()).st_size < self._file_bytes
        if shorter or mapped_faults.seen() != self._gone:
            raise ChangedFileError(f"{self.path} became shorter while it was read")

    def close(self) -> None:
        """Unmap. A kernel that still looks at the bytes keeps the map until it goes."""
        if self._map is not None:
            with contextlib.suppress(BufferError):
                self._map.close()


def _mapped(file: BinaryIO, length: int) -> mmap.mmap | None:
    if not length:
        return None
    found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        found.madvise(mmap.MADV_SEQUENTIAL)
    return found


@contextlib.contextmanager
def open_source(path: Path, scratch: Path, report: Report) -> Iterator[Source]:
    """Open ``path``; should it be compressed and a reader want all of it mapped, a file in ``scratch`` takes it.

    ``report`` gets ``("unpacking", fraction)`` then. Raises :class:`FileError` and :class:`DamagedContainerError`.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(f"{path} can't be opened: {error.strerror}") from error
    with file:
        if not path.is_file():
            raise FileError(f"{path} is not a file")
        unpacker = unpacker_of(file)
        if unpacker is None:
            with contextlib.closing(Source(path, file)) as source:
                yield source
            return
        with tempfile.TemporaryFile(dir=scratch) as plain:
            packed = Packed(path, file, unpacker, report)
            with contextlib.closing(Source(path, file, packed, plain)) as source:
                yield source


@contextlib.contextmanager
def plain_source(path: Path, data: bytes, scratch: Path) -> Iterator[Source]:
    """The same for bytes that were found inside another file."""
    with tempfile.TemporaryFile(dir=scratch) as plain:
        plain.write(data)
        plain.flush()
        with contextlib.closing(Source(path, plain)) as source:
            yield source
