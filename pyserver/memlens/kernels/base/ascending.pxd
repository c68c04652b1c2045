# Looks for a number among ascending ones.

from libc.stdint cimport uint64_t


cdef inline bint is_among(const uint64_t *ascending, size_t count, uint64_t wanted) noexcept nogil:
    cdef size_t low = 0, high = count, middle
    while low < high:
        middle = low + (high - low) // 2
        if ascending[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < count and ascending[low] == wanted
