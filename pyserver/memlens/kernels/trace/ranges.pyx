# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Figures for the columns of a picture over time: the moments in each, its peak, how many rows precede it.

A stored column has two tables beside it: the largest (or smallest) value of each 64 and of each 4,096 rows.
"""

from libc.stdint cimport uint32_t, int64_t

cdef fused Sorted:
    uint32_t
    int64_t


cdef inline size_t first_beyond(const Sorted *column, size_t count, size_t start, size_t step,
                                int64_t value) noexcept nogil:
    """Return the first row from ``start`` on with a larger value, or ``count`` if there is none.

    A galloping search, from ``start`` on in steps that grow from ``step``.
    """
    cdef size_t low = start, high, middle
    if low >= count or column[low] > value:
        return low
    while low + step < count and column[low + step] <= value:
        low += step
        step *= 2
    high = min(low + step, count)
    # the value at low is not larger; that at high is, or high is past the end
    while low + 1 < high:
        middle = (low + high) >> 1
        if column[middle] <= value:
            low = middle
        else:
            high = middle
    return high


def count_until(const Sorted[::1] column: U32 | I64, const int64_t[::1] values, int64_t[::1] counts):
    """Fill ``counts`` with the number of rows of a sorted column that are at most each of the ascending ``values``.

    The counts ascend even if the column, in a damaged archive, isn't sorted.
    """
    cdef size_t index, at = 0, before, rows = column.shape[0], step = 16
    with nogil:
        for index in range(<size_t> values.shape[0]):
            before = at
            if rows:
                at = first_beyond(&column[0], rows, at, step, values[index])
            # the next value is probably about as far away
            step = max((at - before) // 2, 16)
            counts[index] = <int64_t> at


def peaks(const int64_t[::1] live, const int64_t[::1] peaks_64, const int64_t[::1] peaks_4096,
          const int64_t[::1] firsts, const int64_t[::1] lasts, uint32_t[::1] moments):
    """Fill a column's item with the first moment in ``[first, last]`` at which the most bytes were live."""
    cdef size_t column
    with nogil:
        for column in range(<size_t> moments.shape[0]):
            moments[column] = peak_of(&live[0], &peaks_64[0], &peaks_4096[0], firsts[column], lasts[column])


cdef inline size_t first_peak(const int64_t *values, size_t first, size_t stop) noexcept nogil:
    """Return the index of the first of the largest values in ``[first, stop)``, which must not be empty."""
    cdef size_t at, best = first
    cdef int64_t most = values[first]
    for at in range(first + 1, stop):
        if values[at] > most:
            most = values[at]
            best = at
    return best


cdef uint32_t peak_of(const int64_t *live, const int64_t *peaks_64, const int64_t *peaks_4096, size_t first,
                      size_t last) noexcept nogil:
    cdef size_t low = (first + 63) >> 6, high = (last + 1) >> 6         # the whole blocks of 64
    cdef size_t low_4096 = (low + 63) >> 6, high_4096 = high >> 6       # and of 4,096
    cdef size_t best, at
    if low >= high:
        return <uint32_t> first_peak(live, first, last + 1)
    if low_4096 < high_4096:
        # in a damaged archive there may be no such block or moment; then the result is arbitrary
        best = first_peak(peaks_4096, low_4096, high_4096) << 6
        best = first_peak(peaks_64, best, best + 64)
        if low < low_4096 << 6:
            at = first_peak(peaks_64, low, low_4096 << 6)
            if peaks_64[at] >= peaks_64[best]:
                best = at
        if high_4096 << 6 < high:
            at = first_peak(peaks_64, high_4096 << 6, high)
            if peaks_64[at] > peaks_64[best]:
                best = at
    else:
        best = first_peak(peaks_64, low, high)
    best = first_peak(live, best << 6, (best << 6) + 64)
    # the moments at both ends, unless the whole blocks they are in are lower
    if first < low << 6 and peaks_64[low - 1] >= live[best]:
        at = first_peak(live, first, low << 6)
        if live[at] >= live[best]:
            best = at
    if high << 6 <= last and peaks_64[high] > live[best]:
        at = first_peak(live, high << 6, last + 1)
        if live[at] > live[best]:
            best = at
    return <uint32_t> best


def extremes(const int64_t[::1] live, const int64_t[::1] firsts, const int64_t[::1] lasts, double[::1] highest,
             double[::1] lowest, const int64_t[::1] peaks_64, const int64_t[::1] peaks_4096,
             const int64_t[::1] lows_64):
    """Compute the most and the least bytes that were live in the moments of each column."""
    cdef size_t column, at, last, end, inner
    cdef int64_t least
    with nogil:
        for column in range(<size_t> highest.shape[0]):
            at = peak_of(&live[0], &peaks_64[0], &peaks_4096[0], firsts[column], lasts[column])
            highest[column] = <double> live[at]
            at = firsts[column]
            last = lasts[column]
            least = live[at]
            while at <= last:
                if at & 63 == 0 and at + 64 <= last + 1:
                    if lows_64[at >> 6] < least:
                        least = lows_64[at >> 6]
                    at += 64
                    continue
                end = min((at | 63) + 1, last + 1)
                for inner in range(at, end):
                    if live[inner] < least:
                        least = live[inner]
                at = end
            lowest[column] = <double> least
