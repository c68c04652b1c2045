"""Texts in the rows of the tables for SQL: as long as all rows together stay within what the file has.

A file has a text once, and any number of its rows refer to it: a million events to one note of a megabyte.
"""

import numpy as np

from memlens.arrays import I64
from memlens.model.distinct import distinct
from memlens.model.expansion import fitting
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Column, Snapshot
from memlens.units import shortened

_LEAST_BYTES = 1 << 20
_FACTOR = 2
_BYTES_OF_ROW = 48
"""How much text a column may have: a factor of all distinct texts, or so much for each row, which has bytes of its own
in the file."""
_MOST_CHARACTERS = 1_000_000
"""SQLite is asked for no longer value, see ``views/sql/confined.py``."""
COUNTED_ROWS = 1 << 20


def longest(snapshot: Snapshot, *columns: Column, times: I64 | None = None) -> int:
    """The number of characters to which texts are cut that stand in each row of a table, so that they fit it.

    ``columns`` have the texts' numbers, an item for each row, which occurs once or as many ``times``.
    Raises :class:`InconsistentError`.
    """
    ends = snapshot.strings.end
    counts = np.zeros(len(ends), np.int64)
    for column in columns:
        for start in range(0, len(column), COUNTED_ROWS):
            part = slice(start, start + COUNTED_ROWS)
            numbers = column[part].astype(np.int64)
            if not 0 <= int(numbers.min()) <= int(numbers.max()) < len(ends):
                raise InconsistentError("A string's number is out of range")
            counts += np.bincount(numbers, None if times is None else times[part], len(ends)).astype(np.int64)
    return longest_of(snapshot, counts)


def longest_of(snapshot: Snapshot, counts: I64) -> int:
    """The same for texts that occur in ``counts`` rows each."""
    lengths = np.diff(snapshot.strings.end, prepend=np.uint64(0)).astype(np.int64).clip(0, _MOST_CHARACTERS)
    return fitting(lengths, _most_bytes(snapshot, int(counts.sum())), counts)


def _most_bytes(snapshot: Snapshot, rows: int) -> int:
    """How much text a column of so many rows may have, in bytes."""
    return max(_LEAST_BYTES, _FACTOR * len(snapshot.strings.utf8), _BYTES_OF_ROW * rows)


def fitting_texts(snapshot: Snapshot, *columns: Column, times: I64 | None = None) -> dict[int, str]:
    """The texts of some columns by number, each cut to :func:`longest`. Raises :class:`InconsistentError`."""
    most = longest(snapshot, *columns, times=times)
    numbers = distinct(np.concatenate(columns)).tolist()
    return {number: shortened(snapshot.strings.head(number, most + 1), most) for number in numbers}


def fitting_rows(snapshot: Snapshot, column: Column, *, times: I64 | None = None) -> list[str]:
    """The text of each row of a column, cut to :func:`longest`. Raises :class:`InconsistentError`."""
    known = fitting_texts(snapshot, column, times=times)
    return [known[number] for number in column.tolist()]
