# Shared by the kernels of pictures over time: the columns, and the search for the allocations that are live in them.

from libc.stdint cimport int64_t, uint16_t, uint32_t

from memlens.kernels.base.vectors cimport Vector, vector_reserve

cdef enum:
    GUESSES = 4096
    RECT_BYTES = 17         # in the packed buffer
    BAND_BYTES = 17


cdef class Lives:
    cdef const int64_t[::1] sizes
    cdef const uint32_t[::1] ends, ends_64, ends_4096


cdef class Moments:
    cdef const uint32_t[::1] moments, stops
    cdef size_t first, last


cdef struct Columns:
    # columns `first` to `last` of a picture, and the ascending moments that they show
    const uint32_t *moments
    size_t first, last
    uint32_t base           # `guesses`: for each 2**shift moments from this one on, the first column in or after them
    int shift
    uint16_t guesses[GUESSES]


cdef inline void columns_init(Columns *columns, const uint32_t *moments, size_t first, size_t last) noexcept nogil:
    """Prepare for columns ``[first, last)``, at least one."""
    cdef size_t column = first, guess
    cdef uint32_t span = moments[last - 1] - moments[first]
    columns.moments, columns.first, columns.last = moments, first, last
    columns.base, columns.shift = moments[first], 0
    while span >> columns.shift >= GUESSES:
        columns.shift += 1
    for guess in range(GUESSES):
        while column < last - 1 and (moments[column] - columns.base) >> columns.shift < guess:
            column += 1
        columns.guesses[guess] = <uint16_t> column


cdef inline size_t column_of_end(const Columns *columns, size_t column, uint32_t end) noexcept nogil:
    """Return the first column after ``column`` whose moment is at or after ``end``, or ``last`` if there is none."""
    cdef const uint32_t *moments = columns.moments
    cdef size_t found = column + 1
    if end > moments[columns.last - 1]:
        return columns.last
    if moments[found] < end:
        found = max(<size_t> columns.guesses[(end - columns.base) >> columns.shift], found)
        while moments[found] < end:
            found += 1
    return found


cdef inline size_t collect(const uint32_t *ends, const uint32_t *ends_64, const uint32_t *ends_4096, size_t first,
                           size_t stop, uint32_t moment, size_t most, Vector *found) noexcept nogil:
    """Append the allocations in ``[first, stop)`` that end after ``moment``, until at least ``most`` are found.

    Returns the first allocation that wasn't considered, or SIZE_MAX if out of memory.
    """
    cdef size_t at = first, end, inner, enough = found.count + most
    cdef uint32_t *out
    while at < stop and found.count < enough:
        if at & 4095 == 0 and at + 4096 <= stop and ends_4096[at >> 12] <= moment:
            at += 4096
            continue
        end = (at | 63) + 1
        if at & 63 == 0 and end <= stop and ends_64[at >> 6] <= moment:
            at = end
            continue
        if end > stop:
            end = stop
        if vector_reserve(found, found.count + 64) < 0:
            return <size_t> -1
        out = <uint32_t *> found.data
        for inner in range(at, end):
            out[found.count] = <uint32_t> inner
            found.count += ends[inner] > moment
        at = end
    return at
