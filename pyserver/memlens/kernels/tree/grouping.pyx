# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Groups of allocations: which one each stack belongs to, and what they come to."""

from libc.stdint cimport uint8_t, uint32_t, int64_t

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF


def farthest_above(const uint32_t[::1] parents, const uint32_t[::1] values, const uint8_t[::1] barriers,
                   uint32_t[::1] farthest):
    """For each node of the prefix tree the value nearest to the root on its way there, NEVER for none.

    The way ends at a barrier, whose own value does not count.
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


def group_sums(const uint32_t[::1] codes, const uint32_t[::1] rows, const int64_t[::1] sizes, int64_t[::1] bytes_of,
               int64_t[::1] counts, uint32_t[::1] largest):
    """Add up each group's bytes and count, and find the row of its largest; ``codes[i]`` is the group of ``rows[i]``.

    ``bytes_of`` and ``counts`` begin at 0. Raises IndexError for a group or a row that is out of range.
    """
    cdef size_t index, groups = bytes_of.shape[0], most = sizes.shape[0]
    cdef uint32_t code, row
    cdef bint fits = codes.shape[0] == rows.shape[0]
    fits = fits and counts.shape[0] == bytes_of.shape[0] and largest.shape[0] == bytes_of.shape[0]
    with nogil:
        if fits:
            for index in range(<size_t> rows.shape[0]):
                code = codes[index]
                row = rows[index]
                if code >= groups or row >= most:
                    fits = False
                    break
                if counts[code] == 0 or sizes[row] > sizes[largest[code]]:
                    largest[code] = row
                bytes_of[code] += sizes[row]
                counts[code] += 1
    if not fits:
        raise IndexError("a row or its group is out of range")
