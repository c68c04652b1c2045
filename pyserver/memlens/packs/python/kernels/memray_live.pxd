# cython: language_level=3
"""What is live while a memray capture is read, and the peak (see the .pyx)."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from memlens.kernels.base.vectors cimport Vector
from memlens.packs.python.kernels.memray_sums cimport Sums
from memlens.packs.python.kernels.pieces cimport Pieces

cdef enum:
    # allocators as of version 12
    PYMALLOC_FREE = 1
    FREE = 5
    MMAP = 14
    MUNMAP = 15

cdef struct LiveRow:
    uint64_t address
    uint32_t kind           # + 1; 0 for an empty slot
    uint32_t birth          # memory records before it

cdef struct MemoryRow:
    int64_t time_ms
    int64_t resident, heap

cdef struct NativeRow:
    uint64_t instruction
    uint64_t parent

cdef struct Mapping:
    uint64_t own, whole     # bytes that are not mapped over, and all that are not unmapped
    uint32_t place, birth
    uint32_t pieces         # of `whole`
    uint32_t freed          # of the munmap that is being read


cdef class LiveMemory(Sums):
    cdef bint aggregated
    cdef Vector natives, memory, peaks, mappings
    cdef Vector taken, covered
    # what isn't mapped over; if mappings lie over each other, also all that isn't unmapped
    cdef Pieces top, whole
    cdef uint32_t generation
    cdef LiveRow *live
    cdef size_t live_slots, live_count
    cdef readonly uint64_t allocations, impossible_rows
    cdef uint64_t now, most, last_peak
    cdef double total_bytes
    cdef bint at_peak
    cdef bint overlaps
    cdef size_t ranges, remains
    cdef readonly size_t flat_since  # the call since which what is mapped over counts as unmapped; 0 for never

    cdef int allocated(self, uint32_t allocator, uint64_t address, uint64_t size, uint64_t native) noexcept nogil
    cdef int freed(self, uint32_t allocator, uint64_t address, uint64_t size) noexcept nogil
    cdef int remember(self, uint64_t time_ms, uint64_t resident, uint64_t heap) noexcept nogil
