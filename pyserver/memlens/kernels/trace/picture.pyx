# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns that the kernels of pictures over time take together."""

from libc.stdint cimport int64_t, uint32_t


cdef class Lives:
    """Allocations in the order of their starts: the bytes and the end of each.

    ``ends_64`` and ``ends_4096`` have the largest end of each 64 and each 4,096 of them.
    """

    def __cinit__(
        self, const int64_t[::1] sizes, const uint32_t[::1] ends, const uint32_t[::1] ends_64,
        const uint32_t[::1] ends_4096,
    ):
        self.sizes, self.ends, self.ends_64, self.ends_4096 = sizes, ends, ends_64, ends_4096


cdef class Moments:
    """The moments that the columns of a picture show, ascending from column ``first`` to before column ``last``.

    ``stops`` has how many allocations have started by the moment of each column. Other columns stay empty.
    """

    def __cinit__(self, const uint32_t[::1] moments, const uint32_t[::1] stops, size_t first, size_t last):
        self.moments, self.stops, self.first, self.last = moments, stops, first, last
