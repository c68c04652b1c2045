# cython: language_level=3
"""What other kernels for JSON use (see the .pyx)."""

from libc.stdint cimport uint8_t


cdef enum:
    # statuses
    E_OK
    E_MORE
    E_TRUNCATED
    E_SYNTAX
    E_TOO_LARGE
    E_NO_NODE
    E_NO_MEMORY


cdef inline bint is_blank(uint8_t one) noexcept nogil:
    # almost no byte is, so that the first test decides
    if one > 0x20:
        return False
    return one == 0x20 or one == 0x0A or one == 0x0D or one == 0x09


cdef size_t skip_string(const uint8_t *data, size_t at, size_t end) noexcept nogil
