"""Writes the column files of an archive, and reads them: mapped, or unpacked if they are compressed."""

import contextlib
import mmap
import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from memlens.arrays import U8
from memlens.kernels.base.checksum import Checksum
from memlens.result_cache import Uncounted
from memlens.store.columns import Array, Columns, Count, Declared
from memlens.store.files.packed import (
    DamagedBlockError,
    PackedColumn,
    Words,
    end_of,
    finished,
    little_bytes,
    mapped,
    pack,
    packing_of,
)  # fmt: skip
from memlens.store.files.verify import wrong_checksum
from memlens.store.manifest import (
    ArchiveError,
    ColumnEntry,
    InconsistentError,
    Manifest,
    Packing,
    is_of_process,
)
from memlens.texts import phrase

_TOGETHER_ROWS = 1 << 14
_APART_ROWS = 1 << 16

_unpacked: WeakValueDictionary[tuple[str, str, str], Array] = WeakValueDictionary()
"""Unpacked columns that are in use, by archive, file and checksum: an archive may be open several times."""


class ColumnFiles:
    """Writes column files and keeps the table of them. Threads may write columns of different names at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, ColumnEntry] = {}
        self._counts: dict[tuple[str, Count], int] = {}

    def write(self, kind: type[Columns], columns: Mapping[str, Array], scope: str = "") -> None:
        """Write some columns of ``kind`` by the names of its attributes, those of a StoredMany as ``name.key``.

        Columns of the same length are written together, a range of rows at a time: they are often fields of wide rows,
        which then stay in the processor's cache until each field is packed, written and hashed, and no whole column is
        ever copied. An empty column has no file. Raises ValueError for a column that doesn't match its declaration,
        which is a bug of the writer.
        """
        declared = {column.name: column for column in kind.declared()}
        by_length: dict[int, dict[str, Array]] = {}
        for name, column in columns.items():
            attribute, point, key = name.partition(".")
            self._check(declared[attribute], column, scope)
            file = f"{scope}{declared[attribute].file}{point}{key}"
            by_length.setdefault(column.size, {})[file] = column.reshape(-1)
        for together in by_length.values():
            self._write_together(together)

    def written(self, file: str) -> Array | None:
        """A column of numbers that was written; None if there is none or it is empty."""
        entry = self.entries.get(file)
        return None if entry is None or not entry.count else _read(self.folder, file, entry)

    def _check(self, declared: Declared, column: Array, scope: str) -> None:
        if column.dtype.newbyteorder("<") not in declared.dtypes:
            raise ValueError(f"column {declared.name} is of type {column.dtype}")
        if declared.of is None:
            return
        if declared.per == 1:
            self._counts.setdefault((scope, declared.of), len(column))
        if column.size != declared.length(self._counts[scope, declared.of]):
            raise ValueError(f"column {declared.name} has another length")

    def _write_together(self, columns: Mapping[str, Array]) -> None:
        longest = max((len(column) for column in columns.values()), default=0)
        if not longest:
            # creating a file takes longer than writing most small columns
            empty = Checksum().hexdigest()
            self.entries |= {
                name: ColumnEntry(_description(each), 0, 0, empty) for name, each in columns.items()
            }
            return
        # fields of wide rows share what of these is in the processor's cache
        is_apart = all(column.flags.c_contiguous for column in columns.values())
        rows = _APART_ROWS if is_apart else _TOGETHER_ROWS
        with contextlib.ExitStack() as stack:
            writings = [
                _Writing(
                    name, column, packing_of(column, rows),
                    stack.enter_context((self.folder / name).open("wb")),
                )
                for name, column in columns.items()
            ]  # fmt: skip
            for start in range(0, longest, rows):
                for writing in writings:
                    writing.write(little_bytes(writing.column[start : start + rows]))
            for writing in writings:
                self.entries[writing.name] = writing.end()


class _Writing:
    """A column that is being written."""

    def __init__(self, name: str, column: Array, packing: Packing | None, file: BinaryIO) -> None:
        self.name = name
        self.column = column
        self._packing = packing
        self._file = file
        self._begin = file.tell()
        self._checksum = Checksum()
        self._sizes: list[int] = []

    def write(self, block: U8) -> None:
        """Write the bytes of the next rows."""
        if self._packing is None:
            self._put(block.data)
            return
        packed = pack(block, Words.of(self.column.dtype), differences=self._packing.differences)
        self._put(packed)
        self._sizes.append(len(packed))

    def end(self) -> ColumnEntry:
        """Write what comes last, and return what the manifest says of the file."""
        if self._packing is not None:
            self._put(end_of(self._sizes))
        return ColumnEntry(
            _description(self.column), len(self.column), self._file.tell() - self._begin, self._checksum.hexdigest(),
            self._packing,
        )  # fmt: skip

    def _put(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._checksum.update(data)


def write_column(file: BinaryIO, column: Array) -> ColumnEntry:
    """Write one column where a file is now."""
    writing = _Writing("", column, packing_of(column, _APART_ROWS), file)
    for start in range(0, len(column), _APART_ROWS):
        writing.write(little_bytes(column[start : start + _APART_ROWS]))
    return writing.end()


def _description(column: Array) -> str | list[list[Any]]:
    little = column.dtype.newbyteorder("<")
    return little.str if little.names is None else [list(field) for field in little.descr]


class MappedFiles(Uncounted):
    """The column files of an open archive, mapped or unpacked when they are used."""

    def __init__(self, archive: Path, manifest: Manifest) -> None:
        self._archive = archive
        self._entries = manifest.columns
        self.replaced: Mapping[str, Array] = {}
        """Columns that replace those of the archive."""
        self.mapped: set[str] = set()
        """The files that were used."""
        self._arrays: WeakValueDictionary[str, Array] = WeakValueDictionary()
        self._packed: dict[str, PackedColumn] = {}
        self._begun: dict[str, Generator[None, None, Array]] = {}
        """Columns of which a part is unpacked."""

    def description(self, file: str) -> tuple[np.dtype[Any], int] | None:
        """The type and the number of items of a file's column; None if the archive lacks the file."""
        entry = self._entries.get(file)
        return None if entry is None else (_dtype_of(file, entry), entry.count)

    def array(self, file: str) -> Array:
        """A column. Raises :class:`ArchiveError` if its file can't be read or isn't what was written."""
        replaced = self.replaced.get(file)
        if replaced is not None:
            return replaced
        self.mapped.add(file)
        begun = self._begun.pop(file, None)
        found = finished(_reading(self._archive, file, self._entries[file]) if begun is None else begun)
        self._arrays[file] = found
        self._packed.pop(file, None)
        return found

    def go_on(self, file: str) -> Array | None:
        """Unpack a part of a column; return it when it is whole. Raises as :meth:`array` does."""
        replaced = self.replaced.get(file)
        if replaced is not None:
            return replaced
        self.mapped.add(file)
        begun = self._begun.setdefault(file, _reading(self._archive, file, self._entries[file]))
        try:
            next(begun)
        except StopIteration as end:
            del self._begun[file]
            found: Array = end.value
            self._arrays[file] = found
            return found
        except BaseException:
            del self._begun[file]
            raise
        return None

    def close(self) -> None:
        """Give up the columns that are being unpacked."""
        for begun in self._begun.values():
            begun.close()
        self._begun.clear()

    def items(self, file: str, chosen: slice | npt.NDArray[np.integer]) -> Array | None:
        """Some items of a compressed column; None where it is better to ask for all. Raises as :meth:`array` does."""
        entry = self._entries[file]
        if file in self.replaced or entry.packing is None or _key(self._archive, file, entry) in _unpacked:
            return None
        self.mapped.add(file)
        packed = self._packed.get(file)
        if packed is None:
            packed = self._packed[file] = PackedColumn(file, entry, entry.packing, _dtype_of(file, entry))
        with _opened(self._archive, file, entry) as opened:
            return packed.items(opened, chosen)

    def drop_pages(self) -> None:
        """Take the pages of mapped columns out of this process's memory.

        They stay in the system's page cache, from which the next use gets them back.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            for array in self._arrays.values():
                # NumPy's column is of a memoryview of the map
                pages = getattr(array.base, "obj", None)
                if isinstance(pages, mmap.mmap):
                    pages.madvise(mmap.MADV_DONTNEED)


def _key(folder: Path, file: str, entry: ColumnEntry) -> tuple[str, str, str]:
    return str(folder), file, entry.checksum


def _read(folder: Path, file: str, entry: ColumnEntry) -> Array:
    """A column. Raises :class:`ArchiveError`."""
    return finished(_reading(folder, file, entry))


def _reading(folder: Path, file: str, entry: ColumnEntry) -> Generator[None, None, Array]:
    """Unpack a column, a part of it in each step, and return it. Raises :class:`ArchiveError`."""
    dtype = _dtype_of(file, entry)
    if not entry.count:
        return np.empty(0, dtype)
    key = _key(folder, file, entry)
    found = _unpacked.get(key)
    if found is not None:
        return found
    with _opened(folder, file, entry) as opened:
        if entry.packing is None:
            return np.frombuffer(mapped(opened), dtype)
        found = yield from PackedColumn(file, entry, entry.packing, dtype).unpack(opened, folder)
    _unpacked[key] = found
    return found


@contextlib.contextmanager
def _opened(folder: Path, file: str, entry: ColumnEntry) -> Iterator[BinaryIO]:
    """A column's file. Raises :class:`ArchiveError` if it can't be read or a block of it is damaged."""
    try:
        with (folder / file).open("rb") as opened:
            if os.fstat(opened.fileno()).st_size != entry.bytes:
                raise ArchiveError(
                    phrase(
                        "The archive {archive} is damaged: column {file} has the wrong size",
                        archive=folder.name,
                        file=file,
                    )
                )
            yield opened
    except DamagedBlockError as error:
        raise wrong_checksum(folder, file) from error
    except OSError as error:
        if is_of_process(error):
            raise
        raise ArchiveError(
            phrase("The archive {archive} is damaged: {reason}", archive=folder.name, reason=str(error))
        ) from error


def _dtype_of(file: str, entry: ColumnEntry) -> np.dtype[Any]:
    dtype = np.dtype(
        entry.dtype if isinstance(entry.dtype, str) else [(name, kind) for name, kind in entry.dtype]
    )
    if dtype.hasobject or (entry.packing is None and dtype.itemsize * entry.count != entry.bytes):
        raise InconsistentError(f"Column {file} does not fit its description")
    return dtype
