"""Databases whose pages are compressed one by one, and the file system by which SQLite reads them.

The file has the pages one after another, each a frame of zstd with a checksum, a page of zeros with no bytes; then the
size of each in 4 bytes, the XXH64 of these sizes, and their number in 8 bytes. The seal of the artefact follows.
"""

import contextlib
import functools
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import numpy as np

from memlens.kernels.base.sqlite_trees import PAGE_BYTES
from memlens.store.artefacts import SEAL_BYTES
from memlens.store.files.packed import end_of
from memlens.store.manifest import checksum_of

_LEVEL = -1
"""Level 1 takes up to twice as long for files that are a tenth smaller."""
_PAGES_AT_ONCE = 64
_WORKERS = 2
_SIZE = np.dtype("<u4")
_CHECKSUM_BYTES, _COUNT_BYTES = 8, 8
_NAME = "memlens-pages"


@contextlib.contextmanager
def packed(path: Path) -> Iterator[Path]:
    """Where to make the database that is then written to ``path``, and removed. Raises OSError."""
    # a process that is killed leaves the same ending as that of `path`, by which both are removed
    database = path.with_name(f"whole_{path.name}")
    database.unlink(missing_ok=True)
    try:
        yield database
        _pack(database, path)
    finally:
        database.unlink(missing_ok=True)


def _pack(database: Path, path: Path) -> None:
    sizes: list[int] = []
    with database.open("rb") as file, path.open("wb") as out, ThreadPoolExecutor(_WORKERS) as pool:
        while batch := [data for _ in range(_WORKERS) if (data := file.read(_PAGES_AT_ONCE * PAGE_BYTES))]:
            for page in itertools.chain.from_iterable(pool.map(_packed, batch)):
                out.write(page)
                sizes.append(len(page))
        out.write(end_of(sizes) + len(sizes).to_bytes(_COUNT_BYTES, "little"))


def _packed(data: bytes) -> list[bytes]:
    # imported here, because most commands need no tables
    import zstandard

    compressor, empty = zstandard.ZstdCompressor(_LEVEL, write_checksum=True), bytes(PAGE_BYTES)
    pages = (data[at : at + PAGE_BYTES] for at in range(0, len(data), PAGE_BYTES))
    return [b"" if page == empty else compressor.compress(page) for page in pages]


def uri(path: Path) -> str:
    """What SQLite opens to read such a file, which must not change meanwhile."""
    _files()
    return f"{path.resolve().as_uri()}?immutable=1&vfs={_NAME}"


@functools.cache
def _files() -> "_Files":
    return _Files()


class _Files(apsw.VFS):
    """SQLite's interface of a file system in APSW, with APSW's names; it opens databases alone."""

    def __init__(self) -> None:
        super().__init__(_NAME, "")

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> "_File":  # noqa: N802
        if name is None or not flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            raise apsw.CantOpenError("only databases are read")
        flags[1] = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        return _File(Path(name if isinstance(name, str) else name.filename()))


class _File(apsw.VFSFile):
    """A file that is read. Its methods raise apsw.CorruptError for what wasn't written so."""

    def __init__(self, path: Path) -> None:
        # not by the base, whose file would be the system's
        import zstandard

        self._size_of, self._decompressor = zstandard.frame_content_size, zstandard.ZstdDecompressor()
        self._damage = (zstandard.ZstdError, ValueError)
        self._last: tuple[int, bytes] = (-1, b"")
        self._file = path.open("rb", buffering=0)
        try:
            self._ends = self._read_ends()
        except BaseException:
            self._file.close()
            raise

    def _read_ends(self) -> list[int]:
        """Where each page ends in the file."""
        end = os.fstat(self._file.fileno()).st_size - SEAL_BYTES - _COUNT_BYTES
        count = int.from_bytes(self._bytes(end, _COUNT_BYTES), "little")
        begin = end - _CHECKSUM_BYTES - count * _SIZE.itemsize
        if begin < 0:
            raise apsw.CorruptError("the file has fewer pages than it says")
        data = self._bytes(begin, end - begin)
        sizes, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
        if bytes.fromhex(checksum_of(sizes)) != checksum:
            raise apsw.CorruptError("the sizes of its pages are damaged")
        ends: list[int] = np.frombuffer(sizes, _SIZE).cumsum(dtype=np.int64).tolist()
        if not ends or ends[-1] != begin:
            raise apsw.CorruptError("its pages have other sizes than it says")
        return ends

    def _bytes(self, begin: int, size: int) -> bytes:
        if begin < 0:
            raise apsw.CorruptError("the file is too short")
        self._file.seek(begin)
        data = self._file.read(size) or b""
        if len(data) != size:
            raise apsw.CorruptError("the file has been cut")
        return data

    def _page(self, number: int) -> bytes:
        if self._last[0] == number:
            return self._last[1]
        begin = self._ends[number - 1] if number else 0
        data = self._bytes(begin, self._ends[number] - begin)
        try:
            if data and self._size_of(data) != PAGE_BYTES:
                raise apsw.CorruptError("a page has another size")
            page = self._decompressor.decompress(data) if data else bytes(PAGE_BYTES)
        except self._damage as error:
            raise apsw.CorruptError("a page is damaged") from error
        self._last = number, page
        return page

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        number, begin = divmod(offset, PAGE_BYTES)
        if begin == 0 and amount == PAGE_BYTES and number < len(self._ends):
            return self._page(number)
        return b"".join(self._parts(amount, offset))

    def _parts(self, amount: int, offset: int) -> Iterator[bytes]:
        end = min(offset + amount, self.xFileSize())
        while offset < end:
            number, begin = divmod(offset, PAGE_BYTES)
            part = self._page(number)[begin : begin + end - offset]
            yield part
            offset += len(part)

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._ends) * PAGE_BYTES

    def xClose(self) -> None:  # noqa: N802
        self._file.close()

    def xSectorSize(self) -> int:  # noqa: N802
        return PAGE_BYTES

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return apsw.SQLITE_IOCAP_IMMUTABLE

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: ARG002, N802
        return False

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False
