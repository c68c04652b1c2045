# cython: language_level=3
"""What a memray capture is added up in: stacks, places, kinds and lifetimes (see the .pyx)."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from memlens.kernels.base.interning cimport Interner
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector

cdef enum:
    E_OK
    E_UNKNOWN_RECORD
    E_BAD_NUMBER
    E_BAD_STACK
    E_NO_THREAD
    E_BAD_REFERENCE
    E_LONG_RECORD
    E_TOO_MUCH
    E_TOO_MANY
    E_NO_MEMORY

cdef enum:
    GOT         # the result of reading a part of a record, beside errors below 0

cdef extern from *:
    """
    #include <stdint.h>
    #define MEMLENS_MOST_BYTES ((uint64_t) 1 << 47)
    #define MEMLENS_MOST_SUM ((uint64_t) 1 << 60)
    #define MEMLENS_MOST_ROWS INT64_C(0x7FFFFFF0)
    #define MEMLENS_NEVER UINT32_C(0xFFFFFFFF)
    """
    const uint64_t MOST_BYTES "MEMLENS_MOST_BYTES"
    const uint64_t MOST_SUM "MEMLENS_MOST_SUM"
    const int64_t MOST_ROWS "MEMLENS_MOST_ROWS"
    const uint32_t NEVER "MEMLENS_NEVER"

cdef struct ThreadRow:
    uint64_t id
    uint32_t node           # the innermost frame of its stack
    uint32_t name           # number of a text + 1
    uint64_t address, size  # of its latest allocation, which is of kind `kind` - 1
    uint32_t kind
    uint32_t unused

cdef struct PlaceRow:
    uint32_t node, native, thread, generation
    uint32_t allocator
    uint32_t unused
    # of mappings, or of all allocations if the capture is aggregated
    int64_t bytes, count, peak_bytes, peak_count
    int64_t epoch

cdef struct KindRow:
    uint64_t stack, context     # what makes the place
    uint64_t size
    int64_t live, peak, epoch, total, temporary
    uint32_t place
    uint32_t code

cdef struct Lifetime:
    int64_t bytes, count


cdef class Sums(Owner):
    cdef size_t at                      # in the part of the file that is being read
    cdef readonly uint64_t position     # of that part in the unpacked file
    cdef readonly int error
    cdef readonly uint64_t error_offset
    cdef uint64_t seed

    cdef Interner frames, nodes, thread_ids, place_keys, lifetimes
    cdef Vector threads, places, kinds, lived
    cdef uint32_t thread
    cdef bint in_thread
    cdef uint32_t *kind_slots
    cdef size_t kind_slot_count
    cdef int64_t epoch                  # counts the peaks so far
    cdef readonly int shift             # memory records are merged 2 ** shift at a time in lifetimes

    cdef int fail(self, int error) noexcept nogil
    cdef int switch_to(self, uint64_t id) noexcept nogil
    cdef int64_t frame_number(self, uint64_t code, uint64_t offset, uint64_t is_entry) noexcept nogil
    cdef int64_t child(self, uint64_t parent, int64_t frame) noexcept nogil
    cdef int push(self, uint64_t code, uint64_t offset, uint64_t is_entry) noexcept nogil
    cdef int pop(self, uint32_t count) noexcept nogil
    cdef int64_t place_of(self, uint64_t stack, uint64_t context) noexcept nogil
    cdef int64_t kind_of(self, uint64_t stack, uint64_t context, uint64_t size) noexcept nogil
    cdef int lived_from(
        self, uint32_t birth, uint32_t death, uint32_t place, uint64_t size, uint32_t count
    ) noexcept nogil
