# cython: language_level=3
"""What the kernels for V8's heap snapshots share (see the .pyx)."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from memlens.kernels.base.bits cimport lowest_bit
from memlens.kernels.readers.scan cimport Scan


cdef inline int short_number(const uint8_t *text, uint64_t *value) noexcept nogil:
    """Parse the leading digits of 8 bytes at once, and return how many there are. A ninth may follow.

    How many digits a number has is unpredictable, so no branch depends on that.
    Source: Langdale and Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 28 (2019), for 8 digits.
    """
    cdef uint64_t digits, others
    cdef int count
    memcpy(&digits, text, 8)
    digits ^= <uint64_t> 0x3030303030303030
    # the top bit of each byte that isn't a digit; a carry out of a byte changes only the bytes after it
    others = ((digits + <uint64_t> 0x7676767676767676) | digits) & <uint64_t> 0x8080808080808080
    count = 8
    if others:
        count = lowest_bit(others) >> 3
        if count == 0:
            return 0
        # pad with leading zeros: the first digit is the lowest byte
        digits <<= 64 - 8 * count
    digits = (digits * 10 + (digits >> 8)) & <uint64_t> 0x00FF00FF00FF00FF
    digits = (digits * 100 + (digits >> 16)) & <uint64_t> 0x0000FFFF0000FFFF
    value[0] = (digits * 10000 + (digits >> 32)) & <uint64_t> 0xFFFFFFFF
    return count


cdef class ArrayReader(Scan):
    cdef size_t end
