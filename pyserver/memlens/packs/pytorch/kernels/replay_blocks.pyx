# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Blocks of memory in segments, and the lists of free ones: what the replayed allocator does its work on."""

from libc.stdint cimport uint8_t, uint64_t, int64_t, int32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from memlens.kernels.base.vectors cimport vector_free, vector_init, vector_push


cdef class Blocks:
    """Blocks by number. ``arenas`` has two flags for each arena: whether it is small, and whether it is released.

    Arenas of a stream and a pool have the numbers ``2 k`` (large) and ``2 k + 1`` (small).
    """

    def __cinit__(self, const uint8_t[:, ::1] arenas, *_, **__):
        cdef size_t number
        self.arena_count = arenas.shape[0]
        self.unused = NO_BLOCK
        vector_init(&self.blocks, sizeof(Block))
        self.arenas = <Arena *> calloc(self.arena_count + 1, sizeof(Arena))
        if self.arenas == NULL:
            raise MemoryError
        for number in range(self.arena_count):
            self.arenas[number].small = arenas[number, 0]
            self.arenas[number].releasable = arenas[number, 1]

    def __dealloc__(self):
        cdef size_t number
        if self.arenas != NULL:
            for number in range(self.arena_count):
                free(self.arenas[number].free)
                free(self.arenas[number].unmapped)
        free(self.arenas)
        vector_free(&self.blocks)

    cdef Block *at(self, int32_t number) noexcept nogil:
        return &(<Block *> self.blocks.data)[number]

    cdef int32_t new_block(self, int32_t arena, uint64_t address, int64_t size) noexcept nogil:
        """A free block that is in no list yet; NO_BLOCK without memory."""
        cdef int32_t number = self.unused
        cdef Block block
        memset(&block, 0, sizeof(Block))
        block.address = address
        block.size = size
        block.arena = arena
        block.mapped = 1
        block.previous = block.next = NO_BLOCK
        if number != NO_BLOCK:
            self.unused = self.at(number).next
            self.at(number)[0] = block
            return number
        if self.blocks.count >= 0x7FFFFFF0 or vector_push(&self.blocks, &block) < 0:
            return NO_BLOCK
        return <int32_t> (self.blocks.count - 1)

    cdef void drop_block(self, int32_t number) noexcept nogil:
        self.at(number).next = self.unused
        self.unused = number

    cdef void link(self, int32_t number, int32_t previous, int32_t next) noexcept nogil:
        """Put a block between two others (``splice``)."""
        self.at(number).previous = previous
        self.at(number).next = next
        if previous != NO_BLOCK:
            self.at(previous).next = number
        if next != NO_BLOCK:
            self.at(next).previous = number

    cdef int insert(self, int32_t number) noexcept nogil:
        """Put a free block into the list of its arena."""
        cdef Block *block = self.at(number)
        cdef Arena *arena = &self.arenas[block.arena]
        self.steps += 1
        if block.mapped:
            block.used = self.calls
            return add(&arena.free, &arena.free_count, &arena.free_room, block.size, block.address, number)
        return add(&arena.unmapped, &arena.unmapped_count, &arena.unmapped_room, 0, block.address, number)

    cdef void remove(self, int32_t number) noexcept nogil:
        """Take a free block out of the list of its arena."""
        cdef Block *block = self.at(number)
        cdef Arena *arena = &self.arenas[block.arena]
        self.steps += 1
        if block.mapped:
            take_out(arena.free, &arena.free_count, block.size, block.address)
        else:
            take_out(arena.unmapped, &arena.unmapped_count, 0, block.address)

    cdef void merge(self, int32_t number, int32_t other) noexcept nogil:
        """Merge a block that is in no list with a neighbour, if that is free and both or none are mapped."""
        cdef Block *block = self.at(number)
        cdef Block *neighbour
        if other == NO_BLOCK:
            return
        neighbour = self.at(other)
        if neighbour.state != FREE or neighbour.mapped != block.mapped:
            return
        self.remove(other)
        if block.previous == other:
            block.address = neighbour.address
            block.previous = neighbour.previous
            if block.previous != NO_BLOCK:
                self.at(block.previous).next = number
        else:
            block.next = neighbour.next
            if block.next != NO_BLOCK:
                self.at(block.next).previous = number
        block.size += neighbour.size
        self.drop_block(other)

    cdef int give_back(self, int32_t number) noexcept nogil:
        """Make a block free (``free_block``)."""
        self.at(number).state = FREE
        self.merge(number, self.at(number).previous)
        self.merge(number, self.at(number).next)
        return self.insert(number)

    cdef void reserve(self, int64_t size) noexcept nogil:
        self.reserved_bytes += size
        if self.reserved_bytes > self.peak_reserved_bytes:
            self.peak_reserved_bytes = self.reserved_bytes

    cdef bint is_whole(self, int32_t number) noexcept nogil:
        cdef Block *block = self.at(number)
        return block.previous == NO_BLOCK and block.next == NO_BLOCK and not block.expandable
