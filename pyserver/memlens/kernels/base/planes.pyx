# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rearranges rows of words so that general compression finds more in them.

A row is one or more unsigned words of 1, 2, 4 or 8 bytes, little-endian. All lowest bytes of the rows' first words come
first, then all next bytes of these, and so on (the "byte shuffle" of HDF5 and Blosc). With differences each word is
first replaced by what it has more than the same word of the row before, zero for the first row; the sign is moved into
the lowest bit, so that small differences have small numbers ("zigzag" in the Protocol Buffers documentation).
"""

from libc.stdint cimport uint8_t, uint64_t


cdef inline void split_words(
    const uint8_t *row, size_t rows, size_t stride, bint differences, size_t width, uint8_t *plane
) noexcept nogil:
    cdef uint64_t mask = <uint64_t> -1 >> (64 - 8 * width)
    cdef uint64_t before = 0, word, difference
    cdef size_t each, byte
    for each in range(rows):
        word = 0
        for byte in range(width):
            word |= <uint64_t> row[byte] << (8 * byte)
        if differences:
            difference = (word - before) & mask
            before = word
            word = ((difference << 1) ^ (0 - (difference >> (8 * width - 1)))) & mask
        for byte in range(width):
            plane[byte * rows + each] = <uint8_t> (word >> (8 * byte))
        row += stride


cdef inline void join_words(
    const uint8_t *plane, size_t rows, size_t stride, bint differences, size_t width, uint8_t *row
) noexcept nogil:
    cdef uint64_t before = 0, word
    cdef size_t each, byte
    for each in range(rows):
        word = 0
        for byte in range(width):
            word |= <uint64_t> plane[byte * rows + each] << (8 * byte)
        if differences:
            word = before + ((word >> 1) ^ (0 - (word & 1)))
            before = word
        for byte in range(width):
            row[byte] = <uint8_t> (word >> (8 * byte))
        row += stride


cdef size_t rows_of(const uint8_t[::1] one, const uint8_t[::1] other, size_t width, size_t words) except? 0:
    cdef size_t size = <size_t> one.shape[0]
    if width not in (1, 2, 4, 8) or not words:
        raise ValueError("no such rows")
    if other.shape[0] != one.shape[0] or size % (width * words):
        raise ValueError("not a number of whole rows")
    return size // (width * words)


def split(const uint8_t[::1] data not None, size_t width, size_t words, bint differences, uint8_t[::1] out not None):
    """Fill ``out`` with the bytes of rows of ``words`` words, each ``width`` bytes, plane by plane."""
    cdef size_t rows = rows_of(data, out, width, words), each
    cdef const uint8_t *source
    cdef uint8_t *plane
    if not rows:
        return
    with nogil:
        for each in range(words):
            source, plane = &data[each * width], &out[each * width * rows]
            if width == 8:
                split_words(source, rows, words * 8, differences, 8, plane)
            elif width == 4:
                split_words(source, rows, words * 4, differences, 4, plane)
            elif width == 2:
                split_words(source, rows, words * 2, differences, 2, plane)
            else:
                split_words(source, rows, words, differences, 1, plane)


def join(const uint8_t[::1] planes not None, size_t width, size_t words, bint differences, uint8_t[::1] out not None):
    """Fill ``out`` with the rows that :func:`split` made ``planes`` of."""
    cdef size_t rows = rows_of(planes, out, width, words), each
    cdef const uint8_t *plane
    cdef uint8_t *target
    if not rows:
        return
    with nogil:
        for each in range(words):
            plane, target = &planes[each * width * rows], &out[each * width]
            if width == 8:
                join_words(plane, rows, words * 8, differences, 8, target)
            elif width == 4:
                join_words(plane, rows, words * 4, differences, 4, target)
            elif width == 2:
                join_words(plane, rows, words * 2, differences, 2, target)
            else:
                join_words(plane, rows, words, differences, 1, target)
