# cython: language_level=3
"""The base class of readers that scan text line by line, and the functions with which they read numbers."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from memlens.kernels.base.utf8 cimport hexadecimal_digit
from memlens.kernels.readers.scan cimport Scan

cdef enum:
    MOST_DIGITS = 16    # hexadecimal digits of 64 bits


cdef class LineScan(Scan):
    cdef int line(self, size_t at, size_t end, bint is_whole) noexcept nogil
    cdef int finish(self) noexcept nogil


cdef inline bint read_decimal(const uint8_t *data, size_t *at, size_t end, int64_t *result) noexcept nogil:
    """Read the digits at ``at``, if any, and move it past them. Return False above 2**60: no count or size is so large.
    """
    # unsigned: ten times the limit is beyond 63 bits
    cdef uint64_t value = 0
    while at[0] < end and 0x30 <= data[at[0]] <= 0x39:
        value = value * 10 + (data[at[0]] - 0x30)
        if value > <uint64_t> 1 << 60:
            return False
        at[0] += 1
    result[0] = <int64_t> value
    return True


cdef inline size_t read_hexadecimal(const uint8_t *data, size_t at, size_t end, uint64_t *result) noexcept nogil:
    """Read ``0x`` and at most 16 digits; return the offset after them, or 0 if there is no such number at ``at``."""
    cdef uint64_t value = 0
    cdef size_t start = at + 2
    cdef int digit
    if end - at < 3 or data[at] != 0x30 or data[at + 1] | 0x20 != 0x78:
        return 0
    at = start
    while at < end and at - start < MOST_DIGITS:
        digit = hexadecimal_digit(data[at])
        if digit < 0:
            break
        value = value << 4 | <uint64_t> digit
        at += 1
    if at == start:
        return 0
    result[0] = value
    return at
