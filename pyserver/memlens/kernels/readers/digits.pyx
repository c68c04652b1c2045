# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Whole numbers between commas as a column, for the check of what ``memlens redact`` wrote."""

from libc.stdint cimport int64_t, uint8_t


def parse(const uint8_t[::1] data: Buffer, int64_t[::1] out) -> int:
    """Parse the numbers of a text of digits, commas and white space that ends after a whole number.

    ``out`` has room for one per two bytes. Returns how many there are; -1 - N if the byte N is another one.
    """
    cdef Py_ssize_t each, count = 0
    cdef int64_t value = 0
    cdef bint within = False, negative = False
    cdef uint8_t byte
    with nogil:
        for each in range(data.shape[0]):
            byte = data[each]
            if 48 <= byte <= 57:
                value = value * 10 + (byte - 48)
                within = True
            elif byte == 44 or byte == 10 or byte == 32 or byte == 13 or byte == 9:
                if within:
                    out[count] = -value if negative else value
                    count += 1
                    value = 0
                    within = negative = False
            elif byte == 45 and not within and not negative:
                negative = True
            else:
                with gil:
                    return -1 - each
        if within:
            out[count] = -value if negative else value
            count += 1
    return count
