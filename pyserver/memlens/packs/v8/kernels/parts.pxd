# cython: language_level=3
# What is written in another order than it is read (see the .pyx).

from libc.stdint cimport int64_t, uint8_t, uint32_t

from memlens.kernels.base.vectors cimport Vector
from memlens.packs.v8.kernels.heap_json cimport ArrayReader

cdef class Parts(ArrayReader):
    cdef const uint32_t[::1] places     # in the copy
    cdef Vector piece                   # what is written next, and how much of it has been
    cdef size_t piece_done
    cdef uint32_t piece_place

    cdef int next_piece(self) noexcept nogil
    cdef int64_t scatter_pieces(self, uint8_t *out, size_t room, uint32_t[::1] filled, uint32_t range_) noexcept nogil
