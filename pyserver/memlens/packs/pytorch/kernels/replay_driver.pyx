# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How the replayed allocator gets memory from the driver and returns it: segments, and pages of expandable ones.

As functions of c10/cuda/CUDACachingAllocator.cpp do, which are named below.
"""

from libc.stdint cimport uint8_t, uint64_t, int64_t, int32_t
from libc.stdlib cimport free, malloc

from memlens.kernels.base.vectors cimport vector_free, vector_init
from memlens.packs.pytorch.kernels.replay_blocks cimport (
    FREE, LARGE_FROM, LARGE_STEP, NO_BLOCK, PENDING, RANGE, SMALL_MOST, SMALL_SEGMENT, UNLIMITED, Arena,
    Block, place,
)

cdef uint64_t FIRST_ADDRESS = <uint64_t> 1 << 56


cdef class Driver(Blocks):
    """What the driver has is ``limit`` bytes, 0 for as much as is asked for.

    Of these the program may have ``allowed`` (``set_per_process_memory_fraction``), 0 where it set no fraction.
    ``large_segment`` (``large_segment_size_mb`` since PyTorch 2.11, before that always 20 MiB) is the size of segments
    for requests below 10 MiB and of the pages of large expandable ones.
    """

    def __cinit__(self, const uint8_t[:, ::1] arenas, size_t rows, *, bint expandable, int64_t max_split,
                  int64_t limit, int64_t allowed, double collects_from, int64_t large_segment, **__):
        self.rows = rows
        self.large_segment = large_segment
        self.expandable = expandable
        self.max_split = max_split if max_split > 0 else UNLIMITED
        self.limit = limit if limit > 0 else UNLIMITED
        self.allowed = allowed if allowed > 0 else UNLIMITED
        self.collects_from = collects_from
        self.next_address = FIRST_ADDRESS
        vector_init(&self.expected, sizeof(Expected))

    def __dealloc__(self):
        vector_free(&self.expected)

    cdef uint64_t address_for(self, int64_t size) noexcept nogil:
        """The address of new memory: that of the trace where it reserved as much for this request, else a new one."""
        cdef size_t number
        cdef Expected *items = <Expected *> self.expected.data
        cdef uint64_t found
        for number in range(self.expected.count):
            if items[number].size == size:
                found = items[number].address
                self.expected.count -= 1
                items[number] = items[self.expected.count]
                self.segments_equal += 1
                return found
        found = self.next_address
        self.next_address += <uint64_t> RANGE
        return found

    cdef int64_t segment_size(self, int64_t size) noexcept nogil:
        """``get_allocation_size``"""
        if size <= SMALL_MOST:
            return SMALL_SEGMENT
        if size < LARGE_FROM:
            return self.large_segment
        return (size + LARGE_STEP - 1) // LARGE_STEP * LARGE_STEP

    cdef bint fits(self, int64_t size) noexcept nogil:
        """Whether the driver has so many bytes more."""
        return size <= self.limit - self.reserved_bytes

    cdef int map_block(self, int32_t number, int64_t size) noexcept nogil:
        """Map the first bytes of an unmapped block (``map_block``): 1, 0 if the driver has none, -1 without memory."""
        cdef Block *block = self.at(number)
        cdef int64_t page = SMALL_SEGMENT if self.arenas[block.arena].small else self.large_segment
        cdef int64_t mapped = (size + page - 1) // page * page
        cdef int32_t rest
        cdef size_t known
        cdef Expected *items
        if mapped > block.size:
            mapped = block.size
        if not self.fits(mapped):
            self.missing = mapped - (self.limit - self.reserved_bytes)
            return 0
        self.remove(number)
        block.mapped = 1
        if mapped < block.size:
            rest = self.new_block(block.arena, block.address + <uint64_t> mapped, block.size - mapped)
            if rest == NO_BLOCK:
                return -1
            block = self.at(number)
            self.at(rest).mapped = 0
            self.at(rest).expandable = 1
            self.at(rest).base = block.base
            block.size = mapped
            self.link(rest, number, block.next)
            if self.insert(rest) < 0:
                return -1
        items = <Expected *> self.expected.data
        for known in range(self.expected.count):
            if items[known].size == mapped and items[known].address == block.address:
                self.expected.count -= 1
                items[known] = items[self.expected.count]
                self.segments_equal += 1
                break
        self.merge(number, self.at(number).previous)
        self.merge(number, self.at(number).next)
        self.reserve(mapped)
        return 1 if self.insert(number) >= 0 else -1

    cdef bint allocatable(self, int32_t number) noexcept nogil:
        return number != NO_BLOCK and self.at(number).state == FREE

    cdef bint has_room(self, int32_t number, int64_t size) noexcept nogil:
        """Whether so many bytes from a block on aren't in use (``has_available_address_space``)."""
        cdef int64_t found = 0
        while found < size and self.allocatable(number):
            found += self.at(number).size
            number = self.at(number).next
            self.steps += 1
        return found >= size

    cdef int32_t expandable_block(self, int32_t arena_number, int64_t size) noexcept nogil:
        """Where pages are to be mapped (``find_expandable_block``); NO_BLOCK without memory."""
        cdef Arena *arena = &self.arenas[arena_number]
        cdef size_t item
        cdef int32_t number
        cdef uint64_t base
        for item in range(arena.unmapped_count):
            number = arena.unmapped[item].block
            if self.allocatable(self.at(number).previous):
                number = self.at(number).previous
            if self.has_room(number, size):
                return number
        base = self.next_address
        if self.expected.count:
            # the first of them is mapped first
            base = (<Expected *> self.expected.data)[0].address
        else:
            self.next_address += <uint64_t> RANGE
        number = self.new_block(arena_number, base, RANGE)
        if number == NO_BLOCK:
            return NO_BLOCK
        self.at(number).base = base
        self.at(number).mapped = 0
        self.at(number).expandable = 1
        return number if self.insert(number) >= 0 else NO_BLOCK

    cdef int allocate_expandable(self, int32_t arena, int64_t size, int32_t *found) noexcept nogil:
        """Get a block by mapping pages (``try_allocate_expandable_block``): 1, 0 or -1 as :meth:`map_block`."""
        cdef int32_t number = self.expandable_block(arena, size), following
        cdef int done
        if number == NO_BLOCK:
            return -1
        if not self.at(number).mapped:
            done = self.map_block(number, min(self.at(number).size, size))
            if done <= 0:
                return done
        while self.at(number).size < size:
            following = self.at(number).next
            if following == NO_BLOCK or self.at(following).mapped:
                return 0
            done = self.map_block(following, min(self.at(following).size, size - self.at(number).size))
            if done <= 0:
                return done
            number = following
        self.remove(number)
        found[0] = number
        return 1

    cdef int allocate_segment(self, int32_t arena, int64_t size, int32_t *found) noexcept nogil:
        """Get memory from the driver (``alloc_block``): 1 with a block, 0 if it has none, -1 without memory."""
        cdef int64_t bytes_ = self.segment_size(size)
        if bytes_ > self.allowed - self.reserved_bytes:
            self.missing = bytes_ - (self.allowed - self.reserved_bytes)
            return 0
        if self.expandable:
            return self.allocate_expandable(arena, size, found)
        if not self.fits(bytes_):
            self.missing = bytes_ - (self.limit - self.reserved_bytes)
            return 0
        found[0] = self.new_block(arena, self.address_for(bytes_), bytes_)
        if found[0] == NO_BLOCK:
            return -1
        self.reserve(bytes_)
        return 1

    # ---- returning memory ----------------------------------------------------------------------------------------

    cdef void release(self, int32_t number) noexcept nogil:
        """Return a free segment to the driver (``release_block``)."""
        self.remove(number)
        self.reserved_bytes -= self.at(number).size
        self.drop_block(number)

    cdef int unmap(self, int32_t number) noexcept nogil:
        """Return the whole pages of a free block of an expandable segment (``unmap_block``)."""
        cdef Block *block = self.at(number)
        cdef int64_t page = SMALL_SEGMENT if self.arenas[block.arena].small else self.large_segment
        cdef int64_t first = <int64_t> (block.address - block.base)
        cdef int64_t last = first + block.size
        cdef int64_t begin = (first + page - 1) // page * page, end = last // page * page
        cdef int32_t part
        if begin >= end:
            return 0
        self.remove(number)
        if begin > first:
            part = self.new_block(block.arena, block.address, begin - first)
            if part == NO_BLOCK:
                return -1
            block = self.at(number)
            self.at(part).expandable = 1
            self.at(part).base = block.base
            self.link(part, block.previous, number)
            if self.insert(part) < 0:
                return -1
        if end < last:
            part = self.new_block(block.arena, block.base + <uint64_t> end, last - end)
            if part == NO_BLOCK:
                return -1
            block = self.at(number)
            self.at(part).expandable = 1
            self.at(part).base = block.base
            self.link(part, number, block.next)
            if self.insert(part) < 0:
                return -1
        block.address = block.base + <uint64_t> begin
        block.size = end - begin
        block.mapped = 0
        self.reserved_bytes -= end - begin
        self.merge(number, self.at(number).previous)
        self.merge(number, self.at(number).next)
        block = self.at(number)
        if block.previous == NO_BLOCK and block.next == NO_BLOCK:
            # release_expandable_segment
            self.drop_block(number)
            return 0
        return self.insert(number)

    cdef int release_all(self) noexcept nogil:
        """Return all free segments and pages (``release_cached_blocks``), after blocks that wait for a stream."""
        cdef size_t arena
        cdef int64_t item
        cdef int32_t number
        for item in range(<int64_t> self.blocks.count):
            if self.at(<int32_t> item).state == PENDING:
                if self.at(<int32_t> item).row < self.rows:
                    self.block_of[self.at(<int32_t> item).row] = NO_BLOCK
                if self.give_back(<int32_t> item) < 0:
                    return -1
        self.steps += self.blocks.count
        for arena in range(self.arena_count):
            if not self.arenas[arena].releasable:
                continue
            # the highest first, so that nothing before it moves
            item = <int64_t> self.arenas[arena].free_count - 1
            while item >= 0:
                number = self.arenas[arena].free[item].block
                if self.is_whole(number):
                    self.release(number)
                item -= 1
            if self.unmap_all(&self.arenas[arena]) < 0:
                return -1
        return 0

    cdef int unmap_all(self, Arena *arena) noexcept nogil:
        cdef size_t item, count = 0
        cdef int32_t *numbers
        if not arena.free_count:
            return 0
        # unmapping adds and removes blocks
        numbers = <int32_t *> malloc(arena.free_count * sizeof(int32_t))
        if numbers == NULL:
            return -1
        for item in range(arena.free_count):
            if self.at(arena.free[item].block).expandable:
                numbers[count] = arena.free[item].block
                count += 1
        for item in range(count):
            if self.unmap(numbers[item]) < 0:
                free(numbers)
                return -1
        free(numbers)
        return 0

    cdef bint release_some(self, int32_t arena_number, int64_t size) noexcept nogil:
        """Return free blocks above ``max_split_size`` (``release_available_cached_blocks``): whether that is enough."""
        cdef Arena *arena = &self.arenas[arena_number]
        cdef int64_t wanted = size if size > self.max_split else self.max_split
        cdef int64_t released = 0
        cdef size_t at
        cdef int32_t number
        if self.max_split >= UNLIMITED:
            return False
        at = place(arena.free, arena.free_count, wanted, 0)
        if at < arena.free_count:
            number = arena.free[at].block
            if not self.is_whole(number):
                return False
            self.release(number)
            return True
        while released < wanted and at > 0:
            at -= 1
            number = arena.free[at].block
            if arena.free[at].size < self.max_split or not self.is_whole(number):
                break
            released += arena.free[at].size
            self.release(number)
        return released >= wanted

    cdef int collect(self) noexcept nogil:
        """Return segments that haven't been used for longest (``garbage_collect_cached_blocks``)."""
        cdef int64_t most = <int64_t> (self.collects_from * <double> self.allowed)
        cdef int64_t target, reclaimed = 0, age = 0, number_free = 0
        cdef double oldest
        cdef size_t arena
        cdef int64_t item
        cdef int32_t number
        cdef bint is_freed = True
        if self.reserved_bytes <= most:
            return 0
        target = self.reserved_bytes - most
        for arena in range(self.arena_count):
            if self.arenas[arena].small or not self.arenas[arena].releasable:
                continue
            for item in range(<int64_t> self.arenas[arena].free_count):
                number = self.arenas[arena].free[item].block
                self.steps += 1
                if self.is_whole(number):
                    age += self.calls - self.at(number).used
                    number_free += 1
        while reclaimed < target and is_freed and number_free > 0:
            oldest = <double> age / <double> number_free
            is_freed = False
            for arena in range(self.arena_count):
                if self.arenas[arena].small or not self.arenas[arena].releasable:
                    continue
                item = <int64_t> self.arenas[arena].free_count - 1
                while item >= 0:
                    number = self.arenas[arena].free[item].block
                    self.steps += 1
                    if self.is_whole(number) and <double> (self.calls - self.at(number).used) >= oldest:
                        is_freed = True
                        reclaimed += self.at(number).size
                        age -= self.calls - self.at(number).used
                        number_free -= 1
                        self.release(number)
                    item -= 1
        return 0
