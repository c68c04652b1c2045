# cython: language_level=3
"""The base class of readers that scan a mapped file in steps (see the .pyx)."""

from libc.stdint cimport uint8_t

from memlens.kernels.base.owner cimport Owner


cdef class Scan(Owner):
    cdef const uint8_t[::1] bytes
    cdef const uint8_t *data            # the first byte; NULL for an empty file
    cdef size_t length, position
    cdef readonly int error
    cdef readonly size_t error_offset

    cdef int fail(self, int error, size_t at) noexcept nogil
    cdef int run_to(self, size_t limit) noexcept nogil
