"""Writes the column files of an archive, and maps them."""

import contextlib
import mmap
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakSet

import numpy as np

from memlens.kernels.base.checksum import Checksum
from memlens.result_cache import Uncounted
from memlens.store.columns import Array, Columns, Count, Declared
from memlens.store.manifest import ArchiveError, ColumnEntry, InconsistentError, Manifest, is_of_process
from memlens.texts import phrase

_TOGETHER_ROWS = 1 << 14
_APART_ROWS = 1 << 16


def mapped(file: BinaryIO) -> mmap.mmap:
    """A file's bytes, mapped for reading. Raises OSError, and ValueError for an empty one."""
    if sys.version_info >= (3, 13):
        # the map needs no descriptor of its own, and a snapshot of many devices has many columns
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class ColumnFiles:
    """Writes column files and keeps the table of them. Threads may write columns of different names at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, ColumnEntry] = {}
        self._counts: dict[tuple[str, Count], int] = {}

    def write(self, kind: type[Columns], columns: Mapping[str, Array], scope: str = "") -> None:
        """Write some columns of ``kind`` by the names of its attributes, those of a StoredMany as ``name.key``.

        Columns of the same length are written together, a range of rows at a time: they are often fields of wide rows,
        which then stay in the processor's cache until each field is written and hashed, and no whole column is ever
        copied. An empty column has no file. Raises ValueError for a column that doesn't match its declaration, which is
        a bug of the writer.
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
        """Map a column of numbers that was written; None if there is none or it is empty."""
        entry = self.entries.get(file)
        if entry is None or not entry.count:
            return None
        return np.memmap(self.folder / file, np.dtype(str(entry.dtype)), "r")

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
        with contextlib.ExitStack() as stack:
            opened = []
            for name, column in columns.items():
                little = column.dtype.newbyteorder("<")
                description = little.str if little.names is None else [list(field) for field in little.descr]
                if not longest:
                    # creating a file takes longer than writing most small columns
                    self.entries[name] = ColumnEntry(description, 0, 0, Checksum().hexdigest())
                    continue
                file = stack.enter_context((self.folder / name).open("wb"))
                opened.append((name, description, column, little, file, Checksum()))
            # fields of wide rows share what of these is in the processor's cache
            is_apart = all(column.flags.c_contiguous for column in columns.values())
            rows = _APART_ROWS if is_apart else _TOGETHER_ROWS
            for start in range(0, longest, rows):
                for _, _, column, little, file, checksum in opened:
                    part = np.ascontiguousarray(column[start : start + rows], dtype=little)
                    data = part.view(np.uint8)
                    if data[0] or data[-1] or data.any():
                        file.write(data.data)
                    else:
                        # a hole in the file, which takes neither time nor space
                        file.seek(data.size, os.SEEK_CUR)
                    checksum.update(data.data)
            for *_, file, _ in opened:
                # a hole at the end does not exist until the file is extended
                file.truncate()
        for name, description, column, _, _, checksum in opened:
            self.entries[name] = ColumnEntry(description, len(column), column.nbytes, checksum.hexdigest())


class MappedFiles(Uncounted):
    """The column files of an open archive, mapped when they are used."""

    def __init__(self, archive: Path, manifest: Manifest) -> None:
        self._archive = archive
        self._entries = manifest.columns
        self.replaced: Mapping[str, Array] = {}
        """Columns that replace those of the archive."""
        self.mapped: set[str] = set()
        """The files that were mapped."""
        self._maps = WeakSet[mmap.mmap]()

    def description(self, file: str) -> tuple[np.dtype[Any], int] | None:
        """The type and the number of items of a file's column; None if the archive lacks the file."""
        entry = self._entries.get(file)
        return None if entry is None else (_dtype_of(file, entry), entry.count)

    def array(self, file: str) -> Array:
        """A column. Raises :class:`ArchiveError` if its file can't be read or has the wrong size."""
        replaced = self.replaced.get(file)
        if replaced is not None:
            return replaced
        entry = self._entries[file]
        dtype = _dtype_of(file, entry)
        self.mapped.add(file)
        if entry.count == 0:
            return np.empty(0, dtype)
        try:
            with (self._archive / file).open("rb") as opened:
                if os.fstat(opened.fileno()).st_size != entry.bytes:
                    raise ArchiveError(
                        phrase(
                            "The archive {archive} is damaged: column {file} has the wrong size",
                            archive=self._archive.name,
                            file=file,
                        )
                    )
                pages = mapped(opened)
                self._maps.add(pages)
                return np.frombuffer(pages, dtype)
        except OSError as error:
            if is_of_process(error):
                raise
            raise ArchiveError(
                phrase(
                    "The archive {archive} is damaged: {reason}",
                    archive=self._archive.name,
                    reason=str(error),
                )
            ) from error

    def drop_pages(self) -> None:
        """Take the pages of mapped columns out of this process's memory.

        They stay in the system's page cache, from which the next use gets them back.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            for pages in self._maps:
                pages.madvise(mmap.MADV_DONTNEED)


def _dtype_of(file: str, entry: ColumnEntry) -> np.dtype[Any]:
    dtype = np.dtype(
        entry.dtype if isinstance(entry.dtype, str) else [(name, kind) for name, kind in entry.dtype]
    )
    if dtype.hasobject or dtype.itemsize * entry.count != entry.bytes:
        raise InconsistentError(f"Column {file} does not fit its description")
    return dtype
