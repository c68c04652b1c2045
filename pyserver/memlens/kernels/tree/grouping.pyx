# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Groups of stacks with values: the group of each stack, and the sums of each group."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport free, malloc

from memlens.kernels.base.interning cimport Interner, intern_units, interner_free, interner_init
from memlens.kernels.base.vectors cimport column_of

import os

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF


def farthest_above(const uint32_t[::1] parents, const uint32_t[::1] values, const uint8_t[::1] barriers,
                   uint32_t[::1] farthest):
    """Find, for each node of the prefix tree, the value nearest to the root on its path there; NEVER for none.

    The path ends at a barrier, whose own value doesn't count.
    """
    cdef size_t node
    with nogil:
        for node in range(<size_t> farthest.shape[0]):
            if node and barriers[node]:
                farthest[node] = NONE
                continue
            farthest[node] = values[node]
            if node and parents[node] < node and farthest[parents[node]] != NONE:
                farthest[node] = farthest[parents[node]]


cdef struct Group:
    int64_t size            # the size of the largest item
    uint32_t first
    uint32_t largest        # NEVER for a group without items


def group_sums(const uint32_t[::1] codes, const uint32_t[::1] rows, const uint32_t[::1] times,
               const int64_t[:, ::1] values, const int64_t[::1] sizes, int64_t[:, ::1] sums, uint32_t[::1] first,
               uint32_t[::1] largest):
    """Sum the values of items by group; ``codes[i]`` is the group of item ``i``, and ``rows[i]`` its row.

    ``sums``, int64[groups, values], must be zeros. ``first`` receives the least of the items' ``times``, ``largest``
    the row of the item with the largest of ``sizes``, of equal ones the lowest row; without sizes it is any of the
    rows. Both are NEVER for a group without items. Raises IndexError for a group or a row that is out of range.
    """
    cdef size_t index, column, items = codes.shape[0], groups = sums.shape[0], columns = values.shape[0]
    cdef size_t most = sizes.shape[0]
    cdef uint32_t code, row
    cdef int64_t size = 0
    cdef Group *figures
    cdef bint fits = <size_t> rows.shape[0] == items == <size_t> times.shape[0] == <size_t> values.shape[1]
    fits = fits and sums.shape[1] == values.shape[0] and first.shape[0] == sums.shape[0] == largest.shape[0]
    if not fits:
        raise ValueError("columns of different lengths")
    figures = <Group *> malloc((groups + 1) * sizeof(Group))
    if figures == NULL:
        raise MemoryError
    with nogil:
        for index in range(groups):
            figures[index].size = 0
            figures[index].first = figures[index].largest = NONE
        for index in range(items):
            code = codes[index]
            row = rows[index]
            if code >= groups or (most and row >= most):
                fits = False
                break
            if most:
                size = sizes[row]
            if figures[code].largest == NONE or size > figures[code].size \
                    or (size == figures[code].size and row < figures[code].largest):
                figures[code].largest = row
                figures[code].size = size
            if times[index] < figures[code].first:
                figures[code].first = times[index]
            for column in range(columns):
                sums[code, column] += values[column, index]
        for index in range(groups):
            first[index] = figures[index].first
            largest[index] = figures[index].largest
    free(figures)
    if not fits:
        raise IndexError("an item's row or group is out of range")


def intern_pairs(const uint32_t[::1] left, const uint32_t[::1] right, uint32_t first, uint32_t[::1] codes) -> Buffer:
    """Number the distinct pairs of two columns from ``first`` on, and fill ``codes`` with the number of each pair.

    Rows in which ``right`` is NEVER are skipped. Returns the distinct pairs as ``uint32``, left and right in turn.
    """
    cdef size_t index
    cdef int64_t number
    cdef uint32_t pair[2]
    cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
    cdef Interner pairs
    cdef bint failed = interner_init(&pairs, 4, seed) < 0
    with nogil:
        for index in range(<size_t> codes.shape[0]):
            if failed:
                break
            if right[index] == NONE:
                continue
            pair[0] = left[index]
            pair[1] = right[index]
            number = intern_units(&pairs, pair, 2)
            failed = number < 0
            codes[index] = first + <uint32_t> number
    try:
        if failed:
            raise MemoryError
        return column_of(&pairs.units, b"I")
    finally:
        interner_free(&pairs)
