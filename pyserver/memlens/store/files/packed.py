"""Columns compressed by blocks: how they are written, and read as a whole or a few blocks at a time.

The file has the blocks one after another, then the size of each in 4 bytes, then the XXH64 of these sizes. A block is a
number of rows, rearranged by ``kernels/base/planes.pyx``, as a frame of zstd with a checksum; a block of zeros has no
bytes. So each block that is read is known to be what was written.
"""

import contextlib
import math
import mmap
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from memlens.arrays import U8
from memlens.kernels.base import planes
from memlens.kernels.base.checksum import Checksum
from memlens.model.distinct import distinct
from memlens.store.manifest import ColumnEntry, InconsistentError, Packing, checksum_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from zstandard import ZstdCompressor, ZstdDecompressor

Rows = npt.NDArray[Any]
T = TypeVar("T")

_LEVEL = 1
"""Level 3 takes twice as long for files that are 5% smaller."""
_LEAST_BYTES = 1 << 13
"""A smaller column stays as it is."""
_SAMPLES, _SAMPLED_ROWS = 4, 1 << 11
_MOST_SHARE = 0.9
"""A column of which more is left stays as it is."""
_SIZE = np.dtype("<u4")
_CHECKSUM_BYTES = 8
_LEAST_FILE_BYTES = 1 << 22
_BATCH_BLOCKS = 8
_LEAST_SHARED_BLOCKS = 4
_MOST_THREADS = 4
_ALONE = 16
"""Blocks are read alone where they are at most one in so many."""
_MOST_KEPT = 4


class DamagedBlockError(ValueError):
    """A block isn't what was written."""


class Words(NamedTuple):
    """The rows of a column as words of equal size."""

    width: int
    count: int

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> "Words":
        """The largest words that divide every field."""
        fields = [dtype[name].itemsize for name in dtype.names] if dtype.names else [dtype.itemsize]
        width = math.gcd(8, *fields)
        return cls(width, dtype.itemsize // width)


def mapped(file: BinaryIO) -> mmap.mmap:
    """A file's bytes, mapped for reading. Raises OSError, and ValueError for an empty one."""
    if sys.version_info >= (3, 13):
        # the map needs no descriptor of its own, and a snapshot of many devices has many columns
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def little_bytes(rows: Rows) -> U8:
    """The bytes of rows as archives have them, the lowest of each number first."""
    little = np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
    return little.view(np.uint8)


class _Zstd(threading.local):
    """What compresses and decompresses blocks in this thread: making it takes longer than a small column does."""

    # imported here, because an archive of small columns needs none
    @cached_property
    def compressor(self) -> "ZstdCompressor":
        import zstandard

        return zstandard.ZstdCompressor(_LEVEL, write_checksum=True)

    @cached_property
    def decompressor(self) -> "ZstdDecompressor":
        import zstandard

        return zstandard.ZstdDecompressor()


_zstd = _Zstd()


def packing_of(column: Rows, rows: int) -> Packing | None:
    """How a column is smallest, by samples of it; None if that is as it is."""
    if column.nbytes < _LEAST_BYTES:
        return None
    sample, words = little_bytes(_sample(column)), Words.of(column.dtype)
    plain, differing = (len(pack(sample, words, differences=each)) for each in (False, True))
    if min(plain, differing) > _MOST_SHARE * sample.size:
        return None
    return Packing(rows, differing < plain)


def _sample(column: Rows) -> Rows:
    """Some rows from everywhere in a column, or all of a short one."""
    last = len(column) - _SAMPLED_ROWS
    if last <= _SAMPLED_ROWS * (_SAMPLES - 1):
        return column
    begins = [last * each // (_SAMPLES - 1) for each in range(_SAMPLES)]
    return np.concatenate([column[begin : begin + _SAMPLED_ROWS] for begin in begins])


def pack(block: U8, words: Words, *, differences: bool) -> bytes:
    """A compressed block."""
    if not (block[0] or block[-1] or block.any()):
        return b""
    arranged = np.empty_like(block)
    planes.split(block, *words, differences, arranged)
    return _zstd.compressor.compress(arranged.data)


def end_of(sizes: list[int]) -> bytes:
    """What follows the blocks of these sizes."""
    data = np.array(sizes, _SIZE).tobytes()
    return data + bytes.fromhex(checksum_of(data))


class PackedColumn:
    """A compressed column. Methods take its open file, and raise :class:`DamagedBlockError` and OSError."""

    def __init__(
        self, file: str, entry: ColumnEntry, packing: Packing, dtype: np.dtype[Any], begin: int = 0
    ) -> None:
        """``begin`` is where in its file it begins."""
        if packing.rows < 1:
            raise InconsistentError(f"Column {file} does not fit its description")
        self._entry = entry
        self._begin = begin
        self._dtype = dtype
        self._words = Words.of(dtype)
        self._differences = packing.differences
        self._rows = packing.rows
        self._blocks = -(-entry.count // packing.rows)
        self._known_bounds: list[int] | None = None
        self._read_alone = 0
        self._kept: dict[int, Rows] = {}
        """The blocks that were read alone last."""

    def unpack(self, file: BinaryIO, folder: str | os.PathLike[str]) -> Generator[None, None, Rows]:
        """Unpack all rows, some in each step, and return them.

        Large columns are in a mapped file without a name, whose memory the system may take back.
        """
        if self._entry.count * self._dtype.itemsize >= _LEAST_FILE_BYTES:
            # imported here, because small archives have no such columns
            import tempfile

            # on a disk that is full, or that may not be written to, there is only the memory
            with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=folder) as decoded:
                buffer = np.empty(_BATCH_BLOCKS * self._rows, self._dtype)
                for part in self._batches(file, lambda first, end: buffer[: end - first]):
                    decoded.write(part.data)
                    yield
                decoded.flush()
                return np.frombuffer(mapped(decoded), self._dtype)
        rows = np.empty(self._entry.count, self._dtype)
        for _ in self._batches(file, lambda first, end: rows[first:end]):
            yield
        rows.flags.writeable = False
        return rows

    def items(self, file: BinaryIO, chosen: slice | npt.NDArray[np.integer]) -> Rows | None:
        """Some rows; None where it is better to read all of them, now or because of what was asked before."""
        if isinstance(chosen, slice):
            start, stop, step = chosen.indices(self._entry.count)
            if step != 1:
                return None
            blocks = list(range(start // self._rows, -(-max(stop, start) // self._rows)))
        else:
            if len(chosen) and not 0 <= int(chosen.min()) <= int(chosen.max()) < self._entry.count:
                return None
            blocks = distinct(chosen // self._rows).tolist()
        self._read_alone += sum(block not in self._kept for block in blocks)
        if len(blocks) * _ALONE > self._blocks or self._read_alone > self._blocks:
            return None
        found = {}
        for block in blocks:
            kept = self._kept.get(block)
            found[block] = self._block(file, block) if kept is None else kept
        older = [each for each in self._kept.items() if each[0] not in found]
        self._kept = dict(older[-_MOST_KEPT:]) | found
        if isinstance(chosen, slice):
            if not blocks:
                return np.empty(0, self._dtype)
            before = blocks[0] * self._rows
            return np.concatenate(list(found.values()))[start - before : stop - before]
        rows = np.empty(len(chosen), self._dtype)
        for block, content in found.items():
            is_in = chosen // self._rows == block
            rows[is_in] = content[chosen[is_in] - block * self._rows]
        return rows

    def _block(self, file: BinaryIO, block: int) -> Rows:
        if self._known_bounds is None:
            self._known_bounds = self._bounds(self._read_end(file))
        begin, end = self._known_bounds[block : block + 2]
        file.seek(self._begin + begin)
        rows = np.empty(min(self._rows, self._entry.count - block * self._rows), self._dtype)
        self._unpack(_read(file, end - begin), rows.view(np.uint8))
        return rows

    def _read_end(self, file: BinaryIO) -> bytes:
        """What follows the blocks."""
        size = self._blocks * _SIZE.itemsize + _CHECKSUM_BYTES
        if size > self._entry.bytes:
            raise DamagedBlockError
        file.seek(self._begin + self._entry.bytes - size)
        return _read(file, size)

    def _bounds(self, end: bytes) -> list[int]:
        """Where each block begins in the file, and where the last ends."""
        data, checksum = end[:-_CHECKSUM_BYTES], end[-_CHECKSUM_BYTES:]
        if bytes.fromhex(checksum_of(data)) != checksum:
            raise DamagedBlockError
        bounds: list[int] = [0, *np.frombuffer(data, _SIZE).cumsum(dtype=np.int64).tolist()]
        if bounds[-1] != self._entry.bytes - len(end):
            raise DamagedBlockError
        return bounds

    def _batches(self, file: BinaryIO, place: Callable[[int, int], Rows]) -> Iterator[U8]:
        """Unpack all blocks, some at a time, into the ``place`` for a range of rows; yield the bytes of these."""
        end, checksum = self._read_end(file), Checksum()
        bounds = self._bounds(end)
        file.seek(self._begin)
        with _threads(self._blocks) as pool:
            for first in range(0, self._blocks, _BATCH_BLOCKS):
                last = min(first + _BATCH_BLOCKS, self._blocks)
                row = first * self._rows
                rows = place(row, min(last * self._rows, self._entry.count)).view(np.uint8)
                data = [_read(file, after - at) for at, after in pairwise(bounds[first : last + 1])]
                for block in data:
                    checksum.update(block)
                size = self._rows * self._dtype.itemsize
                into = [rows[at : at + size] for at in range(0, len(rows), size)]
                # all results are taken, so that errors are raised
                list((map if pool is None else pool.map)(self._unpack, data, into))
                yield rows
        checksum.update(end)
        if checksum.hexdigest() != self._entry.checksum:
            raise DamagedBlockError

    def _unpack(self, data: bytes, out: U8) -> None:
        # imported here, because an archive of small columns needs none
        import zstandard

        if not data:
            out.fill(0)
            return
        try:
            # a wrong size could be more than there is memory
            if zstandard.frame_content_size(data) != out.size:
                raise DamagedBlockError
            arranged = _zstd.decompressor.decompress(data)
        except zstandard.ZstdError as error:
            raise DamagedBlockError from error
        planes.join(np.frombuffer(arranged, np.uint8), *self._words, self._differences, out)


def finished(steps: Generator[None, None, T]) -> T:
    """What a generator returns after all of its steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def _read(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise DamagedBlockError
    return data


@contextlib.contextmanager
def _threads(blocks: int) -> Iterator["Executor | None"]:
    """Threads among which many blocks are divided: neither zstd nor the kernel holds the interpreter's lock."""
    # the number of cores is asked last: the system takes longer to say it than a small column to unpack
    if blocks < _LEAST_SHARED_BLOCKS or (workers := min(os.cpu_count() or 1, _MOST_THREADS)) < 2:
        yield None
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        yield pool
