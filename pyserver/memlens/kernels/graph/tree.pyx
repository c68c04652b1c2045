# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is derived from a dominator tree: children by size, and retained sizes by type."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    DIGIT_BITS = 16
    DIGITS = 4


def descending(const uint64_t[::1] values, uint32_t[::1] ordered):
    """Fill ``ordered`` with the numbers of the values, the largest first, equal ones in their order.

    A radix sort that skips digits that all values share. Raises MemoryError.
    """
    cdef size_t count = values.shape[0], item, size = <size_t> 1 << DIGIT_BITS, digit
    cdef uint64_t *counts = <uint64_t *> calloc(size * DIGITS, 8)
    cdef uint32_t *other = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t *source
    cdef uint32_t *sink
    cdef uint32_t *swap
    cdef uint64_t *own
    cdef uint64_t total, here, value
    cdef int place, passes = 0
    if counts == NULL or other == NULL:
        free(counts)
        free(other)
        raise MemoryError
    with nogil:
        for item in range(count):
            value = values[item]
            for place in range(DIGITS):
                counts[place * size + ((value >> (place * DIGIT_BITS)) & (size - 1))] += 1
        source = other
        sink = &ordered[0] if count else NULL
        for item in range(count):
            source[item] = <uint32_t> item
        for place in range(DIGITS):
            own = counts + place * size
            if count == 0 or own[(values[0] >> (place * DIGIT_BITS)) & (size - 1)] == count:
                continue
            total = 0
            digit = size
            while digit > 0:
                digit -= 1
                here = own[digit]
                own[digit] = total
                total += here
            for item in range(count):
                digit = (values[source[item]] >> (place * DIGIT_BITS)) & (size - 1)
                sink[own[digit]] = source[item]
                own[digit] += 1
            swap = source
            source = sink
            sink = swap
            passes += 1
        if count and source != &ordered[0]:
            for item in range(count):
                ordered[item] = source[item]
    free(counts)
    free(other)


def grouped(const uint32_t[::1] group, const uint32_t[::1] ordered, uint32_t[::1] begin, uint32_t[::1] member):
    """Sort objects by their groups: those of group ``g`` are ``begin[g]`` to ``begin[g + 1]`` of ``member``.

    ``begin`` has an item more than there are groups, and objects whose group is NONE are in the last one. ``ordered``
    are all objects in the order that they shall have within a group.
    """
    cdef size_t count = group.shape[0], groups = begin.shape[0] - 1, item, of
    cdef uint32_t total = 0
    with nogil:
        for item in range(groups + 1):
            begin[item] = 0
        for item in range(count):
            of = group[item] if group[item] != NO_NUMBER else groups - 1
            begin[of] += 1
        for item in range(groups + 1):
            total += begin[item]
            begin[item] = total
        item = count
        while item > 0:
            item -= 1
            of = group[ordered[item]]
            if of == NO_NUMBER:
                of = groups - 1
            begin[of] -= 1
            member[begin[of]] = ordered[item]


def retained_by_type(
    const uint32_t[::1] begin,
    const uint32_t[::1] child,
    const uint32_t[::1] type_of,
    const uint64_t[::1] retained,
    uint64_t[::1] sums,
):
    """Add up, by type, the retained sizes of those objects that no object of the same type dominates.

    ``begin`` and ``child`` are objects grouped by their dominators (:func:`grouped`); the last group are those that no
    object dominates. ``sums`` has an item per type. Raises MemoryError.
    """
    cdef size_t types = sums.shape[0], count = type_of.shape[0], depth = 0
    cdef uint32_t *above = <uint32_t *> calloc(types + 1, 4)     # how many of the path's vertices are of each type
    cdef uint32_t *path = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t *next_child = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t item, kind
    if not (above and path and next_child):
        free(above)
        free(path)
        free(next_child)
        raise MemoryError
    with nogil:
        path[0] = <uint32_t> count
        next_child[0] = begin[count]
        while True:
            item = path[depth]
            if next_child[depth] < begin[<size_t> item + 1]:
                item = child[next_child[depth]]
                next_child[depth] += 1
                kind = type_of[item]
                if above[kind] == 0:
                    sums[kind] += retained[item]
                above[kind] += 1
                depth += 1
                path[depth] = item
                next_child[depth] = begin[item]
                continue
            if depth == 0:
                break
            above[type_of[item]] -= 1
            depth -= 1
    free(above)
    free(path)
    free(next_child)
