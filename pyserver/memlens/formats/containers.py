"""A snapshot file as readers see it: its bytes without compression."""

import contextlib
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from memlens.errors import FileError, MemlensError, reason
from memlens.formats.packing import Packed, TruncatedError, unpacker_of
from memlens.formats.tools import Tools
from memlens.kernels.base import mapped_faults
from memlens.progress import Report
from memlens.regular_files import opened_at
from memlens.texts import phrase

if TYPE_CHECKING:
    from memlens.formats.searched import Searched

_CHUNK_BYTES = 1 << 20
_MOST_STREAMED_EXPANSION = 20_000
"""The limit for data that is not stored: repeated allocations and frees compress very well."""


class ChangedFileError(MemlensError):
    """The file was changed while it was read."""

    code = "changed"
    advice = phrase("Wait until it is complete, and open it again.")


mapped_faults.install()


class Source:
    """A file's uncompressed bytes, for two kinds of readers.

    Readers with random access use :attr:`data`, which is mapped read-only; a compressed file is first unpacked into a
    temporary file. :meth:`release` frees pages that are no longer needed. Readers that read once from the first byte to
    the last use :meth:`chunks`, which stores nothing.
    """

    def __init__(
        self, path: Path, file: BinaryIO, packed: Packed | None = None, plain: BinaryIO | None = None
    ) -> None:
        self.path = path
        self.tools = Tools()
        self.searched: Searched | None = None
        """Where a reader looked for binaries."""
        self.dump: int | None = None
        """Which dump of a file with several to read, from 0; the last one if None."""
        self._file = file
        self._file_bytes = os.fstat(file.fileno()).st_size
        self._packed = packed
        self._plain = plain
        self._head: bytes | None = None
        self._gone = mapped_faults.seen()
        self._map: mmap.mmap | None = None
        self.truncated = False
        """After :meth:`chunks` and :meth:`unpack`: whether the compressed data ended too early or was damaged."""
        if packed is None:
            self._map = _mapped(file, self._file_bytes)

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed."""
        return self._packed is not None

    @property
    def map(self) -> mmap.mmap | None:
        """The mapped bytes; None if there are none. Raises :class:`DamagedContainerError`."""
        if self._map is None and self._packed is not None and self._plain is not None and not self.truncated:
            self._packed.unpack_into(self._plain)
            self._map = _mapped(self._plain, os.fstat(self._plain.fileno()).st_size)
        return self._map

    def unpack(self) -> None:
        """Unpack a compressed file for :attr:`data`, which then has what comes before any damage.

        If there is some, ``truncated`` is True; without this call :attr:`data` would raise an error. Raises
        :class:`DamagedContainerError` if the file unpacks to more than is allowed.
        """
        if self._packed is None or self._plain is None or self._map is not None:
            return
        try:
            self._packed.unpack_into(self._plain)
        except TruncatedError:
            self.truncated = True
            self._plain.flush()
        self._map = _mapped(self._plain, os.fstat(self._plain.fileno()).st_size)

    @property
    def length(self) -> int:
        """The number of bytes. Raises :class:`DamagedContainerError`."""
        return len(self.data)

    @property
    def data(self) -> mmap.mmap | bytes:
        """The bytes, as a buffer. Raises :class:`DamagedContainerError`."""
        mapped = self.map
        return mapped if mapped is not None else b""

    def head(self, count: int = 4096) -> bytes:
        """Return the first ``count`` bytes, without unpacking more."""
        if self._packed is None or self._map is not None:
            return self.data[:count]
        if self._head is None or len(self._head) < count:
            self._head = self._packed.head(count)
        return self._head[:count]

    def chunks(self, report: Report) -> Iterator[memoryview]:
        """Yield all bytes in order; a chunk is valid until the next one. ``report`` gets ``("reading", fraction)``.

        If compressed data ends too early or is damaged, iteration ends and ``truncated`` is True. Raises
        :class:`DamagedContainerError` if the data unpacks to more than any recording.
        """
        if self._packed is None:
            with memoryview(self.data) as whole:
                for start in range(0, len(whole), _CHUNK_BYTES):
                    with whole[start : start + _CHUNK_BYTES] as chunk:
                        yield chunk
                    self.release(start)
                    report("reading", start / len(whole))
            return
        try:
            for chunk in self._packed.chunks(_MOST_STREAMED_EXPANSION):
                yield chunk
                report("reading", self._packed.progress())
        except TruncatedError:
            self.truncated = True

    def release(self, end: int, start: int = 0) -> None:
        """Free the pages before ``end``, from that of ``start`` on, which are not needed soon."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            start -= start % mmap.PAGESIZE
            end -= end % mmap.PAGESIZE
            if end > start:
                self._map.madvise(mmap.MADV_DONTNEED, start, end - start)

    def check(self) -> None:
        """Raise :class:`ChangedFileError` if the file became shorter while it was read."""
        shorter = os.fstat(self._file.fileno()).st_size < self._file_bytes
        if shorter or mapped_faults.seen() != self._gone:
            raise ChangedFileError(phrase("{path} became shorter while it was read", path=self.path))

    def close(self) -> None:
        """Unmap the file, unless a kernel still uses the bytes; then it is unmapped with the kernel."""
        if self._map is not None:
            with contextlib.suppress(BufferError):
                self._map.close()


def _mapped(file: BinaryIO, length: int) -> mmap.mmap | None:
    if not length:
        return None
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        mapped.madvise(mmap.MADV_SEQUENTIAL)
    return mapped


@contextlib.contextmanager
def open_source(path: Path, scratch: Path, report: Report) -> Iterator[Source]:
    """Open ``path``. A reader that maps a compressed file unpacks it into a temporary file in ``scratch``.

    ``report`` gets ``("unpacking", fraction)`` meanwhile. Raises :class:`FileError` and
    :class:`DamagedContainerError`.
    """
    if path.exists() and not path.is_file():
        # opening a pipe would wait for somebody who writes to it
        raise FileError(phrase("{path} is not a file", path=path))
    try:
        file = opened_at(path)
    except OSError as error:
        raise FileError(
            phrase("{path} can't be opened: {reason}", path=path, reason=reason(error))
        ) from error
    with file:
        unpacker = unpacker_of(file)
        if unpacker is None:
            with contextlib.closing(Source(path, file)) as source:
                yield source
            return
        with _temporary_file(scratch) as plain:
            packed = Packed(path, file, unpacker, report)
            with contextlib.closing(Source(path, file, packed, plain)) as source:
                yield source


@contextlib.contextmanager
def plain_source(path: Path, chunks: Iterable[bytes], scratch: Path) -> Iterator[Source]:
    """Open the contents of another file as a source, through a temporary file in ``scratch``."""
    with _temporary_file(scratch) as plain:
        plain.writelines(chunks)
        plain.flush()
        with contextlib.closing(Source(path, plain)) as source:
            yield source


def _temporary_file(folder: Path) -> BinaryIO:
    # imported here, because few files need one, and the import takes longer than reading a small file
    import tempfile

    return cast("BinaryIO", tempfile.TemporaryFile(dir=folder))
