# cython: language_level=3
"""The base class of kernels with many growable arrays (see the .pyx)."""

from libc.stdint cimport uint64_t

from memlens.kernels.base.interning cimport Interner
from memlens.kernels.base.vectors cimport Vector

cdef enum:
    MOST_OWNED = 48


cdef class Owner:
    cdef Vector *vectors_owned[MOST_OWNED]
    cdef Interner *interners_owned[MOST_OWNED]
    cdef size_t vectors_count, interners_count
    cdef dict tables_named

    cdef int own(self, Vector *vector, size_t item_bytes) except -1
    cdef int own_interner(self, Interner *interner, size_t unit_bytes, uint64_t seed) except -1
    cdef int own_table(self, str name, Vector *vector, size_t item_bytes, bytes format) except -1
    cdef int name_table(self, str name, Vector *vector, bytes format) except -1
