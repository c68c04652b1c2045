# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns of a heap snapshot's edges that kernels take together."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef class Edges:
    """References by source, with the texts that name them; ``kinds`` is how many kinds the file has.

    ``internal`` is the number of that kind, -1 if the file has none.
    """

    def __cinit__(
        self, const uint64_t[::1] start, const uint32_t[::1] target, const uint8_t[::1] kind,
        const uint32_t[::1] name, int kinds, int internal,
    ):
        self.start, self.target, self.kind, self.name = start, target, kind, name
        self.kinds, self.internal = kinds, internal
