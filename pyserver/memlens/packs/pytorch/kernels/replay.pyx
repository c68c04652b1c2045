# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""PyTorch's caching allocator, which serves a trace's requests again under other settings or without some of them.

The rules are those of ``DeviceCachingAllocator`` in c10/cuda/CUDACachingAllocator.cpp, whose functions are named below:

* Requests of up to a mebibyte are of a *small* pool, others of a *large* one, and each stream has its own blocks
  (``get_pool``, ``BlockComparatorSize``); here that is an *arena*.
* A request gets the smallest free block that fits, of several the one with the lowest address (``get_free_block``).
  What is left of it stays free, if it is large enough (``should_split``). A block that is freed merges with free
  neighbours (``try_merge_blocks``).
* If no block fits, memory comes from the driver: 2 MiB for a small request, 20 MiB for one below 10 MiB, else a
  multiple of 2 MiB (``get_allocation_size``); or pages are mapped behind an expandable segment
  (``try_allocate_expandable_block``).
* If the driver has none, free segments are returned to it and it is asked again (``release_available_cached_blocks``,
  ``release_cached_blocks``).

The allocators of PyTorch 2.0 to 2.15 differ in what a trace can show only by their settings: expandable segments came
with 2.1, ``max_non_split_rounding_mb`` with 2.6, ``large_segment_size_mb`` with 2.11, and since 2.10 a fraction of 1,
which is the default there, collects no garbage (``setMemoryFraction``). 2.0 counts the age of a block by a number of
its own, later versions as here by the difference of two (``gc_count``), which is the same.

Nothing of a file is trusted: sizes and numbers are bounded before they come here (``packs/pytorch/replay.py``), and
:meth:`Replay.run` returns after a bounded number of steps.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t, int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from memlens.kernels.base.vectors cimport vector_push
from memlens.packs.pytorch.kernels.replay_blocks cimport (
    LIVE, MIN_BLOCK, NO_BLOCK, PENDING, SMALL_MOST, UNLIMITED, Arena, Block, place,
)
from memlens.packs.pytorch.kernels.replay_driver cimport Driver, Expected

cdef enum:
    # actions, as in `memlens.model.timeline.ACTIONS`
    A_ALLOC = 0
    A_FREE_REQUESTED = 1
    A_FREE_COMPLETED = 2
    A_SEGMENT_ALLOC = 3
    A_SEGMENT_FREE = 4
    A_SEGMENT_MAP = 5
    A_SEGMENT_UNMAP = 6
    A_OOM = 7
    # more than any event can cause in an honest trace
    MOST_STEPS = 40000000


cdef class Replay(Driver):
    """One run of the allocator; ``follows`` compares it with the trace, whose segments it reserves and returns.

    A request above ``max_split`` gets a block that is larger by less than ``rounding`` (``max_non_split_rounding_mb``
    since PyTorch 2.6, before that always 20 MiB).
    """

    cdef bint follows, release_seen
    cdef int64_t rounding
    cdef readonly int64_t failed_event, failed_bytes, missing_bytes
    """The first request that failed, or -1."""
    cdef readonly int64_t segments, addresses, addresses_equal
    cdef readonly bint is_out_of_memory
    """Whether a request failed that hadn't in the trace."""

    def __cinit__(
        self, const uint8_t[:, ::1] arenas, size_t rows, *, bint expandable, int64_t max_split, int64_t limit,
        int64_t allowed, double collects_from, int64_t large_segment, int64_t rounding, bint follows,
    ):
        self.follows = follows
        self.rounding = rounding
        self.failed_event = -1
        self.block_of = <int32_t *> malloc((rows + 1) * sizeof(int32_t))
        if self.block_of == NULL:
            raise MemoryError
        memset(self.block_of, 0xFF, (rows + 1) * sizeof(int32_t))

    def __dealloc__(self):
        free(self.block_of)

    cdef int64_t expandable_size(self, int32_t number) noexcept nogil:
        cdef Block *block = self.at(number)
        if block.next != NO_BLOCK and not self.at(block.next).mapped:
            return block.size + self.at(block.next).size
        return block.size

    cdef int32_t free_block(self, int32_t arena_number, int64_t size) noexcept nogil:
        """Take the free block that fits best out of its list (``get_free_block``); NO_BLOCK for none."""
        cdef Arena *arena = &self.arenas[arena_number]
        cdef size_t at = place(arena.free, arena.free_count, size, 0)
        cdef int32_t number
        if arena.releasable and not arena.small:
            # of the one pool that garbage is collected from
            self.calls += 1
        self.steps += 1
        if at >= arena.free_count:
            return NO_BLOCK
        number = arena.free[at].block
        if self.at(number).expandable:
            if self.expandable:
                while (self.at(number).expandable and at + 1 < arena.free_count
                       and self.expandable_size(arena.free[at + 1].block) < self.expandable_size(number)):
                    at += 1
                    self.steps += 1
                    number = arena.free[at].block
            else:
                while at < arena.free_count and self.at(arena.free[at].block).expandable:
                    at += 1
                    self.steps += 1
                if at >= arena.free_count:
                    return NO_BLOCK
                number = arena.free[at].block
        if size < self.max_split and self.at(number).size >= self.max_split:
            return NO_BLOCK
        if size >= self.max_split and self.at(number).size >= size + self.rounding:
            return NO_BLOCK
        self.remove(number)
        return number

    cdef int allocate(self, int32_t arena, int64_t size, int32_t *found) noexcept nogil:
        """Serve a request (``malloc``): 1 with a block, 0 out of memory, -1 without memory for the replay."""
        cdef int done = 1
        cdef int32_t number = self.free_block(arena, size), rest
        cdef Block *block
        cdef bint splits
        if number == NO_BLOCK:
            if self.collects_from > 0 and self.allowed < UNLIMITED:
                self.collect()
            done = self.allocate_segment(arena, size, &number)
            if done == 0 and self.release_some(arena, size):
                done = self.allocate_segment(arena, size, &number)
            if done == 0:
                if self.release_all() < 0:
                    return -1
                done = self.allocate_segment(arena, size, &number)
            if done <= 0:
                return done
        block = self.at(number)
        if self.arenas[arena].small or self.expandable:
            splits = block.size - size >= MIN_BLOCK
        else:
            splits = size < self.max_split and block.size - size > SMALL_MOST
        if splits:
            rest = self.new_block(arena, block.address + <uint64_t> size, block.size - size)
            if rest == NO_BLOCK:
                return -1
            block = self.at(number)
            self.at(rest).expandable = block.expandable
            self.at(rest).base = block.base
            block.size = size
            self.link(rest, number, block.next)
            if self.insert(rest) < 0:
                return -1
        self.at(number).state = LIVE
        found[0] = number
        return 1

    def begin(self, const uint64_t[::1] addresses, const int64_t[::1] sizes, const int32_t[::1] arenas,
              const uint8_t[::1] kinds, const uint32_t[::1] rows):
        """What is reserved before the first event, by address, one item a block.

        ``kinds`` are 0 for a free block, 1 for a live one, 2 for unmapped addresses, plus 4 for the first of a segment
        and 8 for an expandable one. ``rows`` has the allocation in each live one. Call it before the first :meth:`run`.
        """
        cdef size_t item
        cdef int32_t number, last = NO_BLOCK
        cdef uint64_t base = 0
        for item in range(<size_t> addresses.shape[0]):
            number = self.new_block(arenas[item], addresses[item], sizes[item])
            if number == NO_BLOCK:
                raise MemoryError
            if kinds[item] & 4:
                last = NO_BLOCK
                base = addresses[item]
            if last != NO_BLOCK:
                self.link(number, last, NO_BLOCK)
            last = number
            if kinds[item] & 8:
                self.at(number).expandable = 1
                self.at(number).base = base
            if kinds[item] & 3 == 2:
                self.at(number).mapped = 0
            else:
                self.reserve(sizes[item])
            if kinds[item] & 3 == 1:
                self.at(number).state = LIVE
                self.hold(number, rows[item])
            elif self.insert(number) < 0:
                raise MemoryError

    def place_before(self, uint32_t row, int32_t arena, int64_t size) -> bool:
        """Serve a request from before the first event; False if it doesn't fit."""
        cdef int32_t number = NO_BLOCK
        cdef int done = self.allocate(arena, size, &number)
        if done < 0:
            raise MemoryError
        if done == 0:
            return False
        self.hold(number, row)
        return True

    def shrink(self):
        """Return what is free where more is reserved than there is: a smaller device would never have had it."""
        if self.reserved_bytes > self.limit:
            if self.release_all() < 0:
                raise MemoryError
            self.peak_reserved_bytes = self.reserved_bytes
            if self.reserved_bytes > self.limit:
                self.is_out_of_memory = True
                self.failed_event = 0
                self.missing_bytes = self.reserved_bytes - self.limit

    def drop(self, const uint32_t[::1] rows):
        """End some allocations from before the first event."""
        cdef size_t item
        for item in range(<size_t> rows.shape[0]):
            if self.end(rows[item]) < 0:
                raise MemoryError

    cdef void hold(self, int32_t number, uint32_t row) noexcept nogil:
        self.at(number).row = row
        if row < self.rows:
            self.block_of[row] = number

    cdef int request(self, int64_t event, uint32_t row, int32_t arena, int64_t size, uint64_t address,
                     bint failed) noexcept nogil:
        """An event that asks for memory. ``failed``: it did fail in the trace."""
        cdef int32_t number = NO_BLOCK
        cdef int done = self.allocate(arena, size, &number)
        if done < 0:
            return -1
        if self.follows and not failed:
            self.addresses += 1
            if done and self.at(number).address == address:
                self.addresses_equal += 1
        self.expected.count = 0
        if done == 0:
            if self.failed_event < 0:
                self.failed_event = event
                self.failed_bytes = size
                self.missing_bytes = self.missing
            # a program that isn't the recorded one ends here
            if not failed:
                self.is_out_of_memory = True
        elif failed:
            # what the program would have done with it isn't known
            return self.give_back(number)
        else:
            self.hold(number, row)
        return 0

    def run(self, size_t first, const uint8_t[::1] actions, const uint32_t[::1] rows, const uint64_t[::1] addresses,
            const int64_t[::1] sizes, const int32_t[::1] arenas, const uint8_t[::1] skipped,
            const uint32_t[::1] implicit_events, const uint32_t[::1] implicit_rows,
            int64_t[::1] reserved) -> int:
        """Serve the events from ``first`` on; return the event to go on with, their number at the end.

        Each event has an action, the allocation that it is of, an address, the bytes of the block that it asks for, an
        arena, and whether it is left out. Allocations that end without an event, by an event's number, end
        before that. ``reserved`` gets the bytes that are reserved after each event. It stops early after
        :attr:`is_out_of_memory`.
        """
        cdef size_t event = first, count = actions.shape[0]
        cdef size_t implicit = 0, ends = implicit_events.shape[0], high = ends, middle
        cdef int status = 0
        with nogil:
            self.steps = 0
            while implicit < high:
                middle = (implicit + high) >> 1
                if implicit_events[middle] < event:
                    implicit = middle + 1
                else:
                    high = middle
            while event < count and self.steps < MOST_STEPS and not self.is_out_of_memory:
                self.steps += 1
                while implicit < ends and implicit_events[implicit] <= event:
                    status = self.end(implicit_rows[implicit])
                    implicit += 1
                    if status < 0:
                        break
                if status >= 0 and not skipped[event]:
                    status = self.step(<int64_t> event, actions[event], rows[event], addresses[event], sizes[event],
                                       arenas[event])
                if status < 0:
                    break
                reserved[event] = self.reserved_bytes
                event += 1
        if status < 0:
            raise MemoryError
        return event

    cdef int end(self, uint32_t row) noexcept nogil:
        cdef int32_t number
        if row >= self.rows or self.block_of[row] == NO_BLOCK:
            return 0
        number = self.block_of[row]
        self.block_of[row] = NO_BLOCK
        return self.give_back(number)

    cdef int step(self, int64_t event, uint8_t action, uint32_t row, uint64_t address, int64_t size,
                  int32_t arena) noexcept nogil:
        cdef Expected expected
        cdef size_t at
        cdef int32_t number
        if action != A_SEGMENT_FREE and action != A_SEGMENT_UNMAP:
            self.release_seen = False
        if action == A_ALLOC:
            return self.request(event, row, arena, size, address, False) if row < self.rows else 0
        if action == A_OOM:
            return self.request(event, 0, arena, size, 0, True)
        if action == A_FREE_REQUESTED:
            if row < self.rows and self.block_of[row] != NO_BLOCK:
                self.at(self.block_of[row]).state = PENDING
            return 0
        if action == A_FREE_COMPLETED:
            return self.end(row)
        if action == A_SEGMENT_ALLOC or action == A_SEGMENT_MAP:
            if self.follows:
                self.segments += 1
                expected.address = address
                expected.size = size
                return vector_push(&self.expected, &expected)
            return 0
        if action == A_SEGMENT_FREE and self.follows:
            # exactly the segment that the trace returned, if it is free
            at = place(self.arenas[arena].free, self.arenas[arena].free_count, size, address)
            if at >= self.arenas[arena].free_count or self.arenas[arena].free[at].address != address:
                arena ^= 1
                at = place(self.arenas[arena].free, self.arenas[arena].free_count, size, address)
            if at < self.arenas[arena].free_count and self.arenas[arena].free[at].address == address:
                number = self.arenas[arena].free[at].block
                if self.at(number).size == size and self.is_whole(number):
                    self.release(number)
            return 0
        if (action == A_SEGMENT_FREE or action == A_SEGMENT_UNMAP) and not self.release_seen:
            # the first of a series: the program or a retry returned all that was free
            self.release_seen = True
            return self.release_all()
        return 0
