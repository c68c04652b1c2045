"""Numbers and rows without those that are there already.

NumPy's ``unique`` does so, too, and so do its ``isin`` and other functions of sets, which call it. But it imports the
masked arrays first, which takes a fifth of the time in which a small file is read.
"""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.kernels.graph.alike import first_alike

_MOST_KEYS = 1 << 62

Number = TypeVar("Number", bound=np.integer[Any])
Item = TypeVar("Item", bound=np.generic)


def distinct(items: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """The distinct numbers, or rows of several fields, ascending."""
    ordered = np.sort(items, axis=None)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def common(numbers: npt.NDArray[Number], others: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Number]:
    """The numbers that are among the others, ascending and distinct."""
    found = distinct(numbers)
    return found[among(found, others)]


def among(numbers: npt.NDArray[np.integer[Any]], others: npt.NDArray[np.integer[Any]]) -> Mask:
    """Which numbers are among the others."""
    known = distinct(others)
    if not len(known):
        return np.zeros(numbers.shape, np.bool_)
    at = np.searchsorted(known, numbers)
    at[at == len(known)] = 0
    return known[at] == numbers


def without(numbers: npt.NDArray[Number], others: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Number]:
    """The numbers that are not among the others, ascending and distinct."""
    found = distinct(numbers)
    return found[~among(found, others)]


def counted(numbers: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], npt.NDArray[np.intp]]:
    """The distinct numbers, ascending, and how often each occurs."""
    found = distinct(numbers)
    return found, np.bincount(np.searchsorted(found, numbers), minlength=len(found))


def first_equal(rows: npt.NDArray[Any]) -> U32:
    """For each row the number of the first row with the same content."""
    size = rows.nbytes // len(rows) if len(rows) else 0
    begin = np.arange(len(rows), dtype=np.uint64) * np.uint64(size)
    first = np.empty(len(rows), np.uint32)
    data = np.ascontiguousarray(rows).view(np.uint8).ravel()
    first_alike(data, begin, begin + np.uint64(size), int.from_bytes(os.urandom(8), "little"), first)
    return first


class Grouped(NamedTuple):
    """Rows that are equal: the first of each kind, and the kind of each row."""

    first: I64
    of_rows: I64


def grouped(columns: Sequence[npt.NDArray[np.integer[Any]]]) -> Grouped:
    """Group rows that are equal in all of their columns, of which there is at least one; none are negative."""
    keys: I64 = columns[0].astype(np.int64)
    extent = int(keys.max(initial=0)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if extent > _MOST_KEYS // width:
            known, keys = np.unique(keys, return_inverse=True)
            extent = len(known)
        keys = keys * width + column.astype(np.int64)
        extent *= width
    _, first, of_rows = np.unique(keys, return_index=True, return_inverse=True)
    return Grouped(first, of_rows)
