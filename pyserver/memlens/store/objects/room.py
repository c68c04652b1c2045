"""Memory for columns that may not fit: beyond a limit they are mapped files."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens import limits

Rows = npt.NDArray[Any]

_SHARE = 0.4
"""The share of the process's limit that is used as ordinary memory; readers' columns need the rest."""
_LEAST_MAPPED_BYTES = 1 << 22
_LEAST_REUSED_BYTES = 1 << 20


class Room:
    """Allocates columns, whose content is undefined.

    The system can write a mapped file's pages to disk when it needs the memory, and the limit on a process's memory
    doesn't count them. The files have no name, and are removed with their columns.
    """

    def __init__(self, folder: Path, most_bytes: int | None = None) -> None:
        self._folder = folder
        self._left = int(limits.allowed_bytes() * _SHARE) if most_bytes is None else most_bytes
        self._spare: list[Rows] = []

    def __call__(self, items: int, kind: npt.DTypeLike) -> Rows:
        """A column of some items. Raises MemoryError, and OSError if the disk is full."""
        dtype = np.dtype(kind)
        size = items * dtype.itemsize
        fitting = [spare for spare in self._spare if spare.nbytes >= size >= _LEAST_REUSED_BYTES]
        if fitting:
            chosen = min(fitting, key=lambda spare: spare.nbytes)
            self._spare = [spare for spare in self._spare if spare is not chosen]
            return chosen.view(np.uint8)[:size].view(dtype)
        if size <= self._left or size < _LEAST_MAPPED_BYTES:
            self._left -= min(size, self._left)
            return np.empty(items, dtype)
        # imported here, because few dumps need it
        import tempfile

        with tempfile.TemporaryFile(dir=self._folder) as file:
            file.truncate(size)
            # the map has its own descriptor, which keeps the file open
            return np.frombuffer(mmap.mmap(file.fileno(), size), dtype)

    def again(self, *columns: Rows) -> None:
        """Use the memory of whole columns that are no longer needed for the next ones.

        Memory that is new from the system is cleared first, which takes longer than much of the work on it.
        """
        # of a mapped one parts may have been let go, which only its first array can do
        self._spare += [column for column in columns if column.base is None]


def let_go(column: Rows, begin: int, end: int) -> None:
    """Release the memory of a mapped column's items ``begin`` to ``end``; they stay in its file."""
    # NumPy's column is of a memoryview of the map
    mapped = getattr(column.base, "obj", None)
    if not isinstance(mapped, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    page = mmap.PAGESIZE
    first = -(-begin * column.itemsize // page) * page
    last = end * column.itemsize // page * page
    if last > first:
        mapped.madvise(mmap.MADV_DONTNEED, first, last - first)
