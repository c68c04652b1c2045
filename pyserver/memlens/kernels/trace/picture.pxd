# What the kernels of pictures over time share: the columns, and what lives in them.

from libc.stdint cimport uint16_t, uint32_t

from memlens.kernels.base.vectors cimport Vector, vector_reserve

cdef enum:
    GUESSES = 4096
    RECT_BYTES = 17         # of the packed buffer
    BAND_BYTES = 17


cdef struct Columns:
    # Columns `first` to `last` of a picture and the moments that they show, which ascend
    const uint32_t *moments
    size_t first, last
    uint32_t base           # for each stretch of so many moments from this one on the first column in or after it
    int shift
    uint16_t guesses[GUESSES]


cdef inline void columns_init(Columns *columns, const uint32_t *moments, size_t first, size_t last) noexcept nogil:
    """Look at columns of which there is at least one."""
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
    """The first column that no more shows what ends then, and which ``column`` shows; the last + 1 where all do."""
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
    """Append the allocations in ``[first, stop)`` that end after ``moment``; it may stop once it has found ``most``.

    Returns the first one that it didn't look at; SIZE_MAX without memory.
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
