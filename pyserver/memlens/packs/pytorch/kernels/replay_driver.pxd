# The driver's memory, for the replayed allocator (see the .pyx).

from libc.stdint cimport uint8_t, uint64_t, int64_t, int32_t

from memlens.kernels.base.vectors cimport Vector
from memlens.packs.pytorch.kernels.replay_blocks cimport Arena, Blocks


cdef struct Expected:
    # a segment that the trace says was reserved just now
    uint64_t address
    int64_t size


cdef class Driver(Blocks):
    cdef Vector expected
    cdef int32_t *block_of
    cdef size_t rows
    cdef uint64_t next_address
    cdef int64_t missing
    cdef bint expandable
    cdef int64_t max_split, limit, allowed, large_segment
    cdef double collects_from
    cdef readonly int64_t segments_equal

    cdef uint64_t address_for(self, int64_t size) noexcept nogil
    cdef int64_t segment_size(self, int64_t size) noexcept nogil
    cdef bint fits(self, int64_t size) noexcept nogil
    cdef int map_block(self, int32_t number, int64_t size) noexcept nogil
    cdef bint allocatable(self, int32_t number) noexcept nogil
    cdef bint has_room(self, int32_t number, int64_t size) noexcept nogil
    cdef int32_t expandable_block(self, int32_t arena_number, int64_t size) noexcept nogil
    cdef int allocate_expandable(self, int32_t arena, int64_t size, int32_t *found) noexcept nogil
    cdef int allocate_segment(self, int32_t arena, int64_t size, int32_t *found) noexcept nogil
    cdef void release(self, int32_t number) noexcept nogil
    cdef int unmap(self, int32_t number) noexcept nogil
    cdef int release_all(self) noexcept nogil
    cdef int unmap_all(self, Arena *arena) noexcept nogil
    cdef bint release_some(self, int32_t arena_number, int64_t size) noexcept nogil
    cdef int collect(self) noexcept nogil
