"""Databases whose pages are compressed one by one, and the file system by which SQLite writes and reads them.

The file has the pages, each a frame of zstd with a checksum, a page of zeros with no bytes; then where each begins in
8 bytes, the size of each in 4, the XXH64 of these, and their number in 8 bytes. The seal of the artefact follows. No
page is ever on disk as SQLite has it: one that is written again takes a place that others have left, or the end.
"""

import contextlib
import errno
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

import apsw
import numpy as np

from memlens.kernels.base.sqlite_trees import PAGE_BYTES
from memlens.store.artefacts import SEAL_BYTES
from memlens.store.manifest import checksum_of

_LEVEL = -1
"""Level 1 takes up to twice as long for files that are a tenth smaller."""
_PAGES_AT_ONCE = 32
"""How many pages a thread compresses at once."""
_PAGES_AHEAD = 128
"""How many pages a thread reads ahead of a scan: with fewer, SQLite waits for it more often on a busy machine."""
_IN_A_ROW, _SKIPPED = 3, 4
"""So many reads of a next page, or of one with no more than so many pages between, are a scan."""
_BEGIN, _SIZE = np.dtype("<u8"), np.dtype("<u4")
_CHECKSUM_BYTES, _COUNT_BYTES = 8, 8
_PART_BYTES = 1024
_MOST_PARTS = PAGE_BYTES // _PART_BYTES + 1
"""A page that is written again has whole parts, so that what it leaves fits others."""
_EMPTY = bytes(PAGE_BYTES)
_NAME = "memlens-pages"


class _Place(NamedTuple):
    """Where a page's frame is in the file, its size, and how many bytes it could have there."""

    begin: int
    size: int
    room: int


class NewPages:
    """The pages of a database that is being made; :meth:`close` completes the file."""

    def __init__(self, path: Path) -> None:
        """Begin the file. Raises OSError."""
        import zstandard

        self.uri = f"{path.resolve().as_uri()}?vfs={_NAME}"
        self._decompress = zstandard.ZstdDecompressor().decompress
        self._compress = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress
        self._path = str(path.resolve())
        self._places: list[_Place] = []
        self._left: list[list[int]] = [[] for _ in range(_MOST_PARTS + 1)]
        """Where places begin that pages have left, by how many whole parts they have."""
        self._end = 0
        self._file = path.open("w+b")
        _files().new[self._path] = self

    def __len__(self) -> int:
        """The number of pages."""
        return len(self._places)

    def append(self, data: bytes, pool: ThreadPoolExecutor) -> None:
        """Add whole pages at the end."""
        some = _PAGES_AT_ONCE * PAGE_BYTES
        parts = [data[at : at + some] for at in range(0, len(data), some)]
        for frame in itertools.chain.from_iterable(pool.map(_packed, parts)):
            self._places.append(self._stored_at_end(frame))

    def page(self, number: int) -> bytes:
        """A page that was written."""
        begin, size, _ = self._places[number]
        if not size:
            return _EMPTY
        self._file.seek(begin)
        return self._decompress(self._file.read(size))

    def put(self, number: int, page: bytes) -> None:
        """Write a page, or write it again; pages of zeros come before one that is beyond the end."""
        if len(page) != PAGE_BYTES:
            raise ValueError("not a page")
        self._places += [_Place(0, 0, 0)] * (number + 1 - len(self._places))
        self._leave(self._places[number])
        self._places[number] = self._stored(b"" if page == _EMPTY else self._compress(page))

    def cut(self, count: int) -> None:
        """Have no more pages than that."""
        for place in self._places[count:]:
            self._leave(place)
        del self._places[count:]

    def _leave(self, place: "_Place") -> None:
        if place.room:
            self._left[min(place.room // _PART_BYTES, _MOST_PARTS)].append(place.begin)

    def _stored(self, frame: bytes) -> "_Place":
        """Store a page's frame where another has left, or at the end with some room to grow."""
        if not frame:
            return _Place(0, 0, 0)
        parts = -(-len(frame) // _PART_BYTES)
        for enough in range(parts, _MOST_PARTS + 1):
            if self._left[enough]:
                begin, parts = self._left[enough].pop(), enough
                break
        else:
            begin = self._end
            self._end += parts * _PART_BYTES
        self._file.seek(begin)
        self._file.write(frame)
        return _Place(begin, len(frame), parts * _PART_BYTES)

    def _stored_at_end(self, frame: bytes) -> "_Place":
        begin = self._end
        self._file.seek(begin)
        self._file.write(frame)
        self._end += len(frame)
        return _Place(begin, len(frame), len(frame))

    def close(self) -> None:
        """Write where the pages are, and close the file. Raises OSError."""
        with self._file:
            del _files().new[self._path]
            begins, sizes, _ = np.array(self._places, np.uint64).reshape(-1, 3).T
            places = begins.astype(_BEGIN).tobytes() + sizes.astype(_SIZE).tobytes()
            self._file.seek(self._end)
            self._file.write(places + bytes.fromhex(checksum_of(places)))
            self._file.write(len(self._places).to_bytes(_COUNT_BYTES, "little"))


@contextlib.contextmanager
def packed(path: Path) -> Iterator[NewPages]:
    """The pages of a database in a new file, which is complete afterwards. Raises OSError."""
    with contextlib.closing(NewPages(path)) as pages:
        yield pages


def _packed(data: bytes) -> list[bytes]:
    # imported here, because most commands need no tables
    import zstandard

    compressor = zstandard.ZstdCompressor(_LEVEL, write_checksum=True)
    pages = (data[at : at + PAGE_BYTES] for at in range(0, len(data), PAGE_BYTES))
    return [b"" if page == _EMPTY else compressor.compress(page) for page in pages]


def uri(path: Path) -> str:
    """What SQLite opens to read such a file, which must not change meanwhile."""
    _files()
    return f"{path.resolve().as_uri()}?immutable=1&vfs={_NAME}"


@functools.cache
def _files() -> "_Files":
    return _Files()


@functools.cache
def _reading_ahead() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "pages")


class _Pages(Protocol):
    def __len__(self) -> int: ...
    def page(self, number: int) -> bytes: ...
    def close(self) -> None: ...


class _Files(apsw.VFS):
    """SQLite's interface of a file system in APSW, with APSW's names; it opens databases alone."""

    def __init__(self) -> None:
        super().__init__(_NAME, "")
        self.new: dict[str, NewPages] = {}

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> "_File":  # noqa: N802
        if name is None or not flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            raise apsw.CantOpenError("only databases are read")
        path = name if isinstance(name, str) else name.filename()
        if path in self.new:
            flags[1] = flags[0]
            return _NewFile(self.new[path])
        flags[1] = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        return _File(StoredPages(Path(path)))


class StoredPages:
    """The pages of a file that is complete. Raises apsw.CorruptError for what wasn't written so.

    A scan has the pages that follow unpacked by a thread, while SQLite is busy with those before.
    """

    def __init__(self, path: Path) -> None:
        import zstandard

        self._size_of, self._decompressor = zstandard.frame_content_size, zstandard.ZstdDecompressor
        self._decompress = zstandard.ZstdDecompressor().decompress
        self._damage = (zstandard.ZstdError, ValueError)
        self._lock = threading.Lock()
        self._last, self._run = -1, 0
        self._ready: dict[int, bytes] = {}
        self._coming: tuple[range, Future[dict[int, bytes]]] | None = None
        self._file = path.open("rb", buffering=0)
        try:
            self._begins, self._sizes = self._read_places()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return len(self._sizes)

    def _read_places(self) -> tuple[list[int], list[int]]:
        """Where each page begins in the file, and its size."""
        end = os.fstat(self._file.fileno()).st_size - SEAL_BYTES - _COUNT_BYTES
        count = int.from_bytes(self._bytes(end, _COUNT_BYTES), "little")
        begin = end - _CHECKSUM_BYTES - count * (_BEGIN.itemsize + _SIZE.itemsize)
        if begin < 0 or not count:
            raise apsw.CorruptError("the file has fewer pages than it says")
        data = self._bytes(begin, end - begin)
        places, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
        if bytes.fromhex(checksum_of(places)) != checksum:
            raise apsw.CorruptError("the places of its pages are damaged")
        begins = np.frombuffer(places, _BEGIN, count)
        sizes = np.frombuffer(places, _SIZE, count, count * _BEGIN.itemsize)
        if int(begins.max()) > begin or int((begins + sizes).max()) > begin:
            raise apsw.CorruptError("its pages are elsewhere than it says")
        return begins.tolist(), sizes.tolist()

    def _bytes(self, begin: int, size: int) -> bytes:
        if begin < 0:
            raise apsw.CorruptError("the file is too short")
        with self._lock:
            self._file.seek(begin)
            data = self._file.read(size) or b""
        if len(data) != size:
            raise apsw.CorruptError("the file has been cut")
        return data

    def _unpacked(self, number: int, decompress: Callable[[bytes], bytes]) -> bytes:
        size = self._sizes[number]
        if not size:
            return _EMPTY
        data = self._bytes(self._begins[number], size)
        try:
            if self._size_of(data) != PAGE_BYTES:
                raise apsw.CorruptError("a page has another size")
            return decompress(data)
        except self._damage as error:
            raise apsw.CorruptError("a page is damaged") from error

    def page(self, number: int) -> bytes:
        """A page."""
        if self._coming and number in self._coming[0]:
            self._ready = self._coming[1].result()
            self._read_ahead(self._coming[0].stop)
        found = self._ready.get(number)
        if found is not None:
            return found
        self._run = self._run + 1 if 0 < number - self._last <= _SKIPPED else 0
        self._last = number
        page = self._unpacked(number, self._decompress)
        if self._run >= _IN_A_ROW:
            self._read_ahead(number + 1)
            self._run = 0
        return page

    def _read_ahead(self, first: int) -> None:
        pages = range(first, min(first + _PAGES_AHEAD, len(self)))
        self._coming = (pages, _reading_ahead().submit(self._all, pages)) if pages else None

    def _all(self, pages: range) -> dict[int, bytes]:
        # a decompressor is of one thread
        decompress = self._decompressor().decompress
        return {number: self._unpacked(number, decompress) for number in pages}

    def close(self) -> None:
        """Close the file, which a thread may still be reading."""
        if self._coming and not self._coming[1].cancel():
            self._coming[1].exception()
        self._file.close()


class _File(apsw.VFSFile):
    """A database. Its base isn't initialised, whose file would be the system's."""

    def __init__(self, pages: _Pages) -> None:
        self._pages = pages

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        number, begin = divmod(offset, PAGE_BYTES)
        if begin == 0 and amount == PAGE_BYTES and number < len(self._pages):
            return self._pages.page(number)
        return b"".join(self._parts(amount, offset))

    def _parts(self, amount: int, offset: int) -> Iterator[bytes]:
        end = min(offset + amount, self.xFileSize())
        while offset < end:
            number, begin = divmod(offset, PAGE_BYTES)
            part = self._pages.page(number)[begin : begin + end - offset]
            yield part
            offset += len(part)

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._pages) * PAGE_BYTES

    def xClose(self) -> None:  # noqa: N802
        self._pages.close()

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


class _NewFile(_File):
    """A database that is being made; its pages stay open when SQLite closes it."""

    def __init__(self, pages: NewPages) -> None:
        super().__init__(pages)
        self._new = pages

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        try:
            self._new.put(offset // PAGE_BYTES, bytes(data))
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise (apsw.FullError if full else apsw.IOError)(str(error)) from error

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._new.cut(newsize // PAGE_BYTES)

    def xSync(self, flags: int) -> None:  # noqa: N802
        pass

    def xClose(self) -> None:  # noqa: N802
        pass

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0
