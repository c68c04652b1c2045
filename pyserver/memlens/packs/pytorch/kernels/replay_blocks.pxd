# Blocks and arenas of the replayed allocator (see the .pyx), and its constants of c10/cuda/CUDACachingAllocator.cpp.

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t, int32_t
from libc.stdlib cimport realloc
from libc.string cimport memmove

from memlens.kernels.base.vectors cimport Vector

cdef extern from *:
    """
    // more than any device has: expandable segments reserve as much of the address space, and so far apart are segments
    #define MEMLENS_RANGE ((int64_t) 1 << 41)
    #define MEMLENS_UNLIMITED ((int64_t) 1 << 62)
    """
    const int64_t RANGE "MEMLENS_RANGE"
    const int64_t UNLIMITED "MEMLENS_UNLIMITED"

cdef enum:
    FREE = 0
    LIVE = 1
    PENDING = 2
    NO_BLOCK = -1
    MIN_BLOCK = 512                     # kMinBlockSize
    SMALL_MOST = 1048576                # kSmallSize
    SMALL_SEGMENT = 2097152             # kSmallBuffer, also the pages of small expandable segments
    LARGE_FROM = 10485760               # kMinLargeAlloc
    LARGE_STEP = 2097152                # kRoundLarge


cdef struct Block:
    uint64_t address
    uint64_t base               # of an expandable segment: its first address
    int64_t size
    int64_t used                # the count of requests when it became free
    int32_t previous, next      # neighbours in the segment, NO_BLOCK at its ends; of an unused item the next one
    int32_t arena
    uint32_t row                # of its allocation, if it is live or pending
    uint8_t state
    uint8_t mapped
    uint8_t expandable


cdef struct Entry:
    # a block in a sorted list
    int64_t size
    uint64_t address
    int32_t block


cdef struct Arena:
    Entry *free                 # by size and address
    Entry *unmapped             # by address, with size 0
    size_t free_count, free_room, unmapped_count, unmapped_room
    uint8_t small
    uint8_t releasable          # a pool of a graph keeps its memory


cdef inline bint before(Entry *entry, int64_t size, uint64_t address) noexcept nogil:
    return entry.size < size or (entry.size == size and entry.address < address)


cdef inline size_t place(Entry *entries, size_t count, int64_t size, uint64_t address) noexcept nogil:
    """The first entry that isn't before a size and an address."""
    cdef size_t low = 0, middle
    while low < count:
        middle = (low + count) >> 1
        if before(&entries[middle], size, address):
            low = middle + 1
        else:
            count = middle
    return low


cdef inline int add(Entry **entries, size_t *count, size_t *room, int64_t size, uint64_t address,
                    int32_t block) noexcept nogil:
    """Add a block to a sorted list; -1 without memory."""
    cdef size_t at
    cdef Entry *grown
    if count[0] == room[0]:
        grown = <Entry *> realloc(entries[0], (room[0] * 2 + 16) * sizeof(Entry))
        if grown == NULL:
            return -1
        entries[0] = grown
        room[0] = room[0] * 2 + 16
    at = place(entries[0], count[0], size, address)
    memmove(&entries[0][at + 1], &entries[0][at], (count[0] - at) * sizeof(Entry))
    entries[0][at].size = size
    entries[0][at].address = address
    entries[0][at].block = block
    count[0] += 1
    return 0


cdef inline void take_out(Entry *entries, size_t *count, int64_t size, uint64_t address) noexcept nogil:
    cdef size_t at = place(entries, count[0], size, address)
    if at < count[0] and entries[at].size == size and entries[at].address == address:
        count[0] -= 1
        memmove(&entries[at], &entries[at + 1], (count[0] - at) * sizeof(Entry))


cdef class Blocks:
    cdef Arena *arenas
    cdef size_t arena_count
    cdef Vector blocks
    cdef int32_t unused
    cdef size_t steps
    cdef int64_t calls
    cdef readonly int64_t reserved_bytes, peak_reserved_bytes

    cdef Block *at(self, int32_t number) noexcept nogil
    cdef int32_t new_block(self, int32_t arena, uint64_t address, int64_t size) noexcept nogil
    cdef void drop_block(self, int32_t number) noexcept nogil
    cdef void link(self, int32_t number, int32_t previous, int32_t next) noexcept nogil
    cdef int insert(self, int32_t number) noexcept nogil
    cdef void remove(self, int32_t number) noexcept nogil
    cdef void merge(self, int32_t number, int32_t other) noexcept nogil
    cdef int give_back(self, int32_t number) noexcept nogil
    cdef void reserve(self, int64_t size) noexcept nogil
    cdef bint is_whole(self, int32_t number) noexcept nogil
