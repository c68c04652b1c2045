# References that a walk leaves out (see the .pyx).

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from memlens.kernels.base.vectors cimport Vector

cdef enum:
    ALL_OUT = 1     # of objects: all their references are left out
    SOME_OUT = 2    # some of their references
    OUT_TO_IT = 4   # references to them from such an object


cdef class LeftOut:
    cdef const uint64_t[::1] start
    cdef const uint32_t[::1] target
    cdef const uint8_t[::1] kind
    cdef size_t objects
    cdef uint64_t references
    cdef uint8_t *marks     # of objects; nearly all of it is never touched
    cdef uint8_t *rows      # of references: 1 for those of SOME_OUT that are left out
    cdef Vector sources     # objects with references that are left out
    cdef Vector kept        # what is left of the references of those that have many, to objects with OUT_TO_IT; sorted
    cdef bint is_listed     # whether ``kept`` is current

    cdef int add(self, uint32_t item, uint8_t mark) noexcept nogil
    cdef int add_named(self, uint32_t item, uint64_t row) noexcept nogil
    cdef bint is_kept(self, uint32_t source, uint32_t item, const uint8_t *follows) noexcept nogil
    cdef int list_kept(self) noexcept nogil
