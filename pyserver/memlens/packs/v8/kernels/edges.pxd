from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef class Edges:
    cdef const uint64_t[::1] start
    cdef const uint32_t[::1] target, name
    cdef const uint8_t[::1] kind
    cdef int kinds, internal
