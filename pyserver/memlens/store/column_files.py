"""Writes the column files of an archive, and maps them."""

import contextlib
import mmap
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from memlens.kernels.base.checksum import Checksum
from memlens.store.columns import BLOCK, SUPER_BLOCK, block_peaks
from memlens.store.manifest import ColumnEntry

_STRETCH_ROWS = 1 << 14

Column = npt.NDArray[Any]


def mapped(file: BinaryIO) -> mmap.mmap:
    """A file's bytes, mapped for reading. Raises OSError, and ValueError for an empty one."""
    if sys.version_info >= (3, 13):
        # the map needs no descriptor of its own, and a snapshot of many devices has many columns
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class ColumnFiles:
    """Writes column files and keeps the table of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, ColumnEntry] = {}

    def write(self, name: str, column: Column) -> None:
        """Write one column."""
        self.write_all({name: column})

    def write_all(self, columns: dict[str, Column]) -> None:
        """Write columns of one length together, a stretch of rows at a time.

        Columns are often fields of wide rows; so the rows stay in the processor's cache until each field is out and
        summed up, and no copy of a whole column is ever made.
        """
        with contextlib.ExitStack() as stack:
            opened = []
            for name, column in columns.items():
                little = column.dtype.newbyteorder("<")
                description = little.str if little.names is None else [list(field) for field in little.descr]
                file = stack.enter_context((self.folder / name).open("wb"))
                opened.append((name, description, column, little, file, Checksum()))
            longest = max((len(column) for column in columns.values()), default=0)
            for start in range(0, longest, _STRETCH_ROWS):
                for _, _, column, little, file, checksum in opened:
                    part = np.ascontiguousarray(column[start : start + _STRETCH_ROWS], dtype=little)
                    file.write(part.data)
                    checksum.update(part.view(np.uint8).data)
        for name, description, column, _, _, checksum in opened:
            self.entries[name] = ColumnEntry(description, len(column), column.nbytes, checksum.hexdigest())

    def write_with_peaks(self, name: str, column: Column) -> None:
        """Write a column and the largest value of each 64 and each 4,096 rows."""
        self.write(name, column)
        peaks = block_peaks(column, BLOCK)
        self.write(f"{name}_64", peaks)
        self.write(f"{name}_4096", block_peaks(peaks, SUPER_BLOCK // BLOCK))
