# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The stacked picture of live memory: which allocations are live at a moment, and at which height each one is.

Allocations are numbered in the order of the picture, which is the order of their starts. So the allocations
``i < first_after(t)`` with ``end[i] > t`` are live at moment ``t``, and a two-level table of the largest end in each 64
and each 4,096 allocations finds them without examining the others. The columns of a viewport show ascending moments;
from one to the next, new allocations are only ever added at the top. The sweep keeps the live ones in slots, 64 to a
block with a sum, and lays out a column again only from the lowest block that changed up to the upper edge of the
viewport. Allocations above that edge aren't even looked up until enough of those below it have ended.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t, int64_t
from libc.string cimport memset

from memlens.kernels.base.bits cimport highest_bit, lowest_bit
from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_push, vector_free, column_of,
)
from memlens.kernels.trace.picture cimport (
    BAND_BYTES, RECT_BYTES, Columns, Lives, Moments, collect, column_of_end, columns_init,
)
from memlens.kernels.trace.strips cimport (
    Band, Strips, add_item, close_all, quantum, replace_items, strips_begin, strips_free, strips_init, take_strips,
)

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF
cdef uint32_t MERGED = <uint32_t> 0x80000000
cdef size_t NOT_FOUND = <size_t> -1

cdef enum:
    DEAD_SLOTS = 1024       # slots are compacted when dead ones outnumber live ones by more than this
    FEWEST_FOUND = 64       # allocations that are looked up at once
    LEAD = 5                # a run has the stack that leads by a fifth of its bytes


def live_at(const uint32_t[::1] ends, const uint32_t[::1] ends_64, const uint32_t[::1] ends_4096, size_t stop,
            uint32_t moment) -> Buffer:
    """Return the allocations below ``stop`` that are live at ``moment``, oldest first (``uint32``)."""
    cdef Vector found
    cdef size_t at = 0
    vector_init(&found, 4)
    if stop:
        with nogil:
            at = collect(&ends[0], &ends_64[0], &ends_4096[0], 0, stop, moment, stop, &found)
    if at == NOT_FOUND:
        vector_free(&found)
        raise MemoryError
    return column_of(&found, b"I")


cdef struct Vote:
    # which stack has most bytes of a set of allocations: the weighted majority vote of Boyer and Moore. A stack with
    # more than half of the bytes is the leader; in any case the leader has at least `margin` bytes of them.
    int64_t margin
    uint32_t leader         # an allocation of that stack
    uint32_t stack

cdef struct Slot:
    # an allocation that is or was live
    int64_t size
    uint32_t id
    uint32_t stack
    uint32_t end_column     # NONE if it is in no list
    uint32_t next           # the next slot in the list of those that end in the same column
    uint32_t band           # its row in the bands + 1

cdef struct Edge:
    # the state of a column between two slots
    int64_t below           # bytes below
    int64_t run_below       # bytes below the open run of thin allocations
    uint32_t run_id         # its first allocation, NONE for no run
    uint32_t run_count      # how many are in it so far
    Vote run_vote
    uint32_t carry          # allocations too thin to be visible that no rect has counted yet
    uint32_t items          # laid out so far

cdef struct Block:
    uint64_t live
    uint64_t big            # at least a row tall
    uint64_t passing        # no longer live in the next column
    int64_t sum
    int64_t passing_sum
    Vote vote               # of the whole block, valid while `voted`
    uint32_t voted
    Edge lower              # valid while the block is laid out


cdef inline void cast_vote(Vote *vote, uint32_t stack, uint32_t leader, int64_t weight) noexcept nogil:
    if stack == vote.stack:
        vote.margin += weight
    elif weight > vote.margin:
        vote.stack = stack
        vote.leader = leader
        vote.margin = weight - vote.margin
    else:
        vote.margin -= weight


cdef inline void reset_vote(Vote *vote) noexcept nogil:
    vote.margin = 0
    vote.leader = NONE
    vote.stack = NONE


cdef inline void open_run(Edge *at, uint32_t id) noexcept nogil:
    """Begin a run with a thin allocation, unless a run is open."""
    if at.run_id == NONE:
        at.run_id = id
        at.run_below = at.below
        at.run_count = 0
        reset_vote(&at.run_vote)


cdef inline uint32_t popcount(uint64_t word) noexcept nogil:
    word = word - ((word >> 1) & <uint64_t> 0x5555555555555555)
    word = (word & <uint64_t> 0x3333333333333333) + ((word >> 2) & <uint64_t> 0x3333333333333333)
    word = (word + (word >> 4)) & <uint64_t> 0x0F0F0F0F0F0F0F0F
    return <uint32_t> ((word * <uint64_t> 0x0101010101010101) >> 56)


cdef class Sweep:
    """Lays out the columns of one viewport; see :func:`memlens.views.trace.picture.viewport.viewport`."""

    cdef Lives lives
    cdef const int64_t[::1] sizes
    cdef const uint32_t[::1] ends
    cdef const uint32_t[::1] stacks
    cdef Vector slots, blocks, found, heads
    cdef Strips strips              # its items are allocations, or runs of thin ones
    cdef Columns columns
    cdef size_t live_count
    cdef int64_t live_bytes
    cdef size_t passing_from        # the first block with passing slots
    cdef size_t frontier            # allocations from here on have no slots yet
    cdef size_t laid                # blocks that are laid out
    cdef bint full                  # the last of these extends beyond the viewport
    cdef int64_t threshold
    cdef size_t most_bytes
    cdef size_t done                # finished columns

    def __cinit__(self, Lives lives not None, const uint32_t[::1] stacks):
        self.lives, self.sizes, self.ends, self.stacks = lives, lives.sizes, lives.ends, stacks
        vector_init(&self.slots, sizeof(Slot))
        vector_init(&self.blocks, sizeof(Block))
        strips_init(&self.strips)
        vector_init(&self.found, 4)
        vector_init(&self.heads, 4)

    def __dealloc__(self):
        vector_free(&self.slots)
        vector_free(&self.blocks)
        strips_free(&self.strips)
        vector_free(&self.found)
        vector_free(&self.heads)

    cdef inline Slot *slot(self, size_t index) noexcept nogil:
        return &(<Slot *> self.slots.data)[index]

    cdef inline Block *block(self, size_t index) noexcept nogil:
        return &(<Block *> self.blocks.data)[index]

    cdef size_t packed_bytes(self) noexcept nogil:
        return self.strips.rects.count * RECT_BYTES + self.strips.bands.count * BAND_BYTES

    # ---- slots ----------------------------------------------------------------------------------------------------

    cdef void clear_slots(self) noexcept nogil:
        """Remove all slots, but not the items."""
        self.slots.count = 0
        self.blocks.count = 0
        self.live_count = 0
        self.live_bytes = 0
        self.passing_from = 0
        self.laid = 0
        self.full = False
        memset(self.heads.data, 0xFF, self.heads.count * 4)

    cdef inline Block *add_live(self, size_t index) noexcept nogil:
        """Add a slot to its block, for which there must be room, as live. Slots are added in order."""
        cdef Slot *slot = self.slot(index)
        cdef Block *block = self.block(index >> 6)
        cdef uint64_t bit = <uint64_t> 1 << (index & 63)
        if index & 63 == 0:
            memset(block, 0, sizeof(Block))
            self.blocks.count = (index >> 6) + 1
        block.live |= bit
        if slot.size >= self.threshold:
            block.big |= bit
        block.sum += slot.size
        block.voted = 0
        self.live_count += 1
        self.live_bytes += slot.size
        self.slots.count = index + 1
        return block

    cdef inline void list_by_end(self, size_t index) noexcept nogil:
        """Add a slot to the list of its end column."""
        cdef uint32_t *head = &(<uint32_t *> self.heads.data)[self.slot(index).end_column]
        self.slot(index).next = head[0]
        head[0] = <uint32_t> index

    cdef int append_found(self, size_t column) noexcept nogil:
        """Add slots for the found allocations at the top."""
        cdef size_t number, gone, index = self.slots.count
        cdef uint32_t id
        cdef Slot *slot
        cdef Block *block
        if index + self.found.count >= NONE or vector_reserve(&self.slots, index + self.found.count) < 0:
            return -1
        if vector_reserve(&self.blocks, ((index + self.found.count) >> 6) + 1) < 0:
            return -1
        self.passing_from = min(self.passing_from, index >> 6)
        for number in range(self.found.count):
            id = (<uint32_t *> self.found.data)[number]
            slot = self.slot(index)
            slot.size, slot.id, slot.stack = self.sizes[id], id, self.stacks[id]
            slot.band, slot.end_column = 0, NONE
            block = self.add_live(index)
            gone = column_of_end(&self.columns, column, self.ends[id])
            if gone == column + 1:
                block.passing |= <uint64_t> 1 << (index & 63)
                block.passing_sum += slot.size
            elif gone < self.columns.last:
                slot.end_column = <uint32_t> gone
                self.list_by_end(index)
            index += 1
        return 0

    cdef inline void remove_slots(self, size_t number, uint64_t gone, int64_t size_bytes, size_t *dirty) noexcept nogil:
        """Remove slots from their block."""
        cdef Block *block = self.block(number)
        block.live &= ~gone
        block.big &= ~gone
        block.sum -= size_bytes
        block.voted = 0
        self.live_count -= popcount(gone)
        self.live_bytes -= size_bytes
        dirty[0] = min(dirty[0], number)

    cdef size_t remove_ended(self, size_t column) noexcept nogil:
        """Remove what has ended by this column, and return the lowest block that changed, NOT_FOUND for none."""
        cdef size_t dirty = NOT_FOUND, number
        cdef uint32_t *head = &(<uint32_t *> self.heads.data)[column]
        cdef uint32_t index = head[0]
        cdef Block *block
        head[0] = NONE
        while index != NONE:
            self.remove_slots(index >> 6, <uint64_t> 1 << (index & 63), self.slot(index).size, &dirty)
            index = self.slot(index).next
        for number in range(self.passing_from, self.blocks.count):
            block = self.block(number)
            if block.passing:
                self.remove_slots(number, block.passing, block.passing_sum, &dirty)
                block.passing = 0
                block.passing_sum = 0
        # the slots of dead blocks at the top are reused
        while self.blocks.count and self.block(self.blocks.count - 1).live == 0:
            self.blocks.count -= 1
        self.slots.count = 0
        if self.blocks.count:
            number = self.blocks.count - 1
            self.slots.count = number * 64 + highest_bit(self.block(number).live) + 1
        self.passing_from = self.blocks.count
        if self.laid > self.blocks.count:
            self.laid = self.blocks.count
            self.full = False
        return dirty

    cdef void compact(self) noexcept nogil:
        """Remove the dead slots, in order; nothing may be passing."""
        cdef size_t number, index = 0, blocks = self.blocks.count
        cdef uint64_t left
        # slots and blocks only move down
        self.clear_slots()
        for number in range(blocks):
            left = self.block(number).live
            while left:
                self.slot(index)[0] = self.slot(number * 64 + lowest_bit(left))[0]
                left &= left - 1
                self.add_live(index)
                if self.slot(index).end_column != NONE:
                    self.list_by_end(index)
                index += 1

    cdef bint is_full(self) noexcept nogil:
        """Return whether an allocation at least a row tall begins above the viewport, so that nothing above it shows.
        """
        cdef size_t number = self.blocks.count
        cdef int64_t below = self.live_bytes
        cdef uint64_t left
        while number and quantum(&self.strips, below) == self.strips.limit_q:
            number -= 1
            left = self.block(number).live
            if self.block(number).big == 0:
                below -= self.block(number).sum
                continue
            left &= ~<uint64_t> 0 << highest_bit(self.block(number).big)
            while left:
                below -= self.slot(number * 64 + lowest_bit(left)).size
                left &= left - 1
            return quantum(&self.strips, below) == self.strips.limit_q
        return False

    cdef int fill(self, size_t column, size_t stop, size_t *dirty) noexcept nogil:
        """Add slots for the allocations before ``stop`` that are live in a column, until the viewport is full."""
        cdef size_t most = FEWEST_FOUND
        while self.frontier < stop and not self.is_full():
            self.found.count = 0
            self.frontier = collect(
                &self.ends[0], &self.lives.ends_64[0], &self.lives.ends_4096[0], self.frontier, stop,
                self.columns.moments[column], most, &self.found,
            )
            if self.frontier == NOT_FOUND:
                return -1
            if self.found.count:
                dirty[0] = min(dirty[0], self.slots.count >> 6)
                if self.append_found(column) < 0:
                    return -1
            most *= 2
        return 0

    # ---- columns --------------------------------------------------------------------------------------------------

    cdef int lay_own(self, Slot *slot, uint16_t q0, uint16_t q1) noexcept nogil:
        cdef Band band
        if slot.band == 0:
            band.size, band.id = slot.size, slot.id
            if vector_push(&self.strips.bands, &band) < 0:
                return -1
            slot.band = <uint32_t> self.strips.bands.count
        return add_item(&self.strips, slot.id, slot.band - 1, slot.id, slot.stack, q0, q1)

    cdef int end_run(self, Edge *at) noexcept nogil:
        """Lay out the open run, if any; one that rounds to zero height is counted by the next."""
        cdef uint32_t id = at.run_id
        cdef Vote *vote = &at.run_vote
        cdef uint16_t q0, q1
        if id == NONE:
            return 0
        at.run_id = NONE
        q0, q1 = quantum(&self.strips, at.run_below), quantum(&self.strips, at.below)
        if q1 > q0:
            if vote.margin * LEAD < at.below - at.run_below:
                reset_vote(vote)
            at.run_count += at.carry
            at.carry = 0
            return add_item(&self.strips, id, MERGED | at.run_count, vote.leader, vote.stack, q0, q1)
        if <double> at.below >= self.strips.y0 and q0 < self.strips.limit_q:
            at.carry += at.run_count
        return 0

    cdef void join_run(self, size_t number, uint64_t left, Edge *at) noexcept nogil:
        """Add thin slots of a block to the run; ``left`` isn't empty."""
        cdef Slot *slot = self.slot(number * 64 + lowest_bit(left))
        open_run(at, slot.id)
        at.run_count += popcount(left)
        while left:
            slot = self.slot(number * 64 + lowest_bit(left))
            left &= left - 1
            cast_vote(&at.run_vote, slot.stack, slot.id, slot.size)
            at.below += slot.size

    cdef void join_block(self, size_t number, Edge *at) noexcept nogil:
        """Add a block that has only thin slots to the run, with the block's own vote."""
        cdef Block *block = self.block(number)
        cdef uint64_t left = block.live
        cdef Slot *slot = self.slot(number * 64 + lowest_bit(left))
        open_run(at, slot.id)
        at.run_count += popcount(left)
        at.below += block.sum
        if not block.voted:
            reset_vote(&block.vote)
            while left:
                slot = self.slot(number * 64 + lowest_bit(left))
                left &= left - 1
                cast_vote(&block.vote, slot.stack, slot.id, slot.size)
            block.voted = 1
        cast_vote(&at.run_vote, block.vote.stack, block.vote.leader, block.vote.margin)

    cdef int lay_block(self, size_t number, Edge *at) noexcept nogil:
        """Lay out a block from bottom to top. Return 1 if all that follows is above the viewport."""
        cdef Block *block = self.block(number)
        cdef uint64_t left = block.live, bit
        cdef Slot *slot
        cdef uint16_t q0, q1
        if left == 0:
            return 0
        if block.big == 0:
            self.join_block(number, at)
            return 0
        if <double> (at.below + block.sum) < self.strips.y0:
            self.skip_block(number, at)
            return 0
        while left:
            bit = left & (0 - left)
            if block.big & bit == 0:
                # the thin slots up to the next big one
                bit = block.big & (0 - bit)
                bit = left & ((bit & (0 - bit)) - 1)
                self.join_run(number, bit, at)
                left &= ~bit
                continue
            left &= left - 1
            if self.end_run(at) < 0:
                return -1
            q0 = quantum(&self.strips, at.below)
            if q0 == self.strips.limit_q:
                return 1
            slot = self.slot(number * 64 + lowest_bit(bit))
            at.below += slot.size
            q1 = quantum(&self.strips, at.below)
            if q1 > q0 and self.lay_own(slot, q0, q1) < 0:
                return -1
        return 0

    cdef void skip_block(self, size_t number, Edge *at) noexcept nogil:
        """Skip a block that is wholly below the viewport; only its last run may extend into that."""
        cdef Block *block = self.block(number)
        cdef uint64_t thin = block.live & ~(~<uint64_t> 0 >> (63 - highest_bit(block.big)))
        cdef int64_t above
        at.run_id = NONE
        at.below += block.sum
        if thin:
            self.join_run(number, thin, at)
            above = at.below - at.run_below
            at.run_below -= above
            at.below -= above

    cdef int lay_out(self, size_t dirty, uint32_t column) noexcept nogil:
        """Lay out the column from a block upwards; what is below hasn't changed."""
        cdef Edge at
        cdef size_t kept, number = dirty
        cdef uint16_t q
        cdef int status = 0
        memset(&at, 0, sizeof(Edge))
        at.run_id = NONE
        if dirty:
            at = self.block(dirty).lower
        kept = at.items
        self.strips.fresh.count = 0
        self.full = False
        while number < self.blocks.count and not self.full:
            at.items = <uint32_t> (kept + self.strips.fresh.count)
            self.block(number).lower = at
            if at.run_id == NONE and quantum(&self.strips, at.below) == self.strips.limit_q:
                status = 1
            else:
                status = self.lay_block(number, &at)
            if status < 0:
                return -1
            self.full = status == 1
            number += 1
        self.laid = number
        if not self.full:
            if self.end_run(&at) < 0:
                return -1
            q = quantum(&self.strips, at.below)
            # too thin to be visible, and nothing above counts them: draw a sliver at the top
            if at.carry and q < self.strips.limit_q:
                if add_item(&self.strips, NONE, MERGED | at.carry, NONE, NONE, q, q + 1) < 0:
                    return -1
        return replace_items(&self.strips, kept, column)

    cdef int sweep(self, const uint32_t *stops) noexcept nogil:
        """Lay out columns in order, until there are too many rects."""
        cdef size_t column, dirty, last_column = self.columns.last
        if vector_reserve(&self.heads, last_column) < 0:
            return -1
        self.heads.count = last_column
        self.clear_slots()
        self.frontier = 0
        for column in range(self.columns.first, last_column):
            if self.packed_bytes() > self.most_bytes:
                return 0
            self.done += 1
            dirty = self.remove_ended(column)
            if self.slots.count > 2 * self.live_count + DEAD_SLOTS:
                self.compact()
                dirty = 0
            if self.fill(column, stops[column], &dirty) < 0:
                return -1
            if dirty == NOT_FOUND or (self.full and dirty >= self.laid):
                continue
            if dirty >= self.laid:
                dirty = self.laid - 1 if self.laid else 0
            if self.lay_out(dirty, <uint32_t> column) < 0:
                return -1
        return close_all(&self.strips, last_column)

    def run(
        self, Moments shown not None, double y0, double y1, uint32_t rows, size_t most_bytes
    ) -> tuple[Buffer, Buffer] | float:
        """Lay out the ``shown`` columns.

        Returns ``(rects, bands)``, or if these
        would take more than ``most_bytes`` of a packed answer, roughly the factor by which they exceed it.
        """
        cdef int status = 0
        cdef double row = (y1 - y0) / rows
        strips_begin(&self.strips, y0, row, rows)
        self.threshold = <int64_t> row
        if <double> self.threshold < row:
            self.threshold += 1
        self.most_bytes = most_bytes
        self.done = 0
        if shown.first < shown.last:
            with nogil:
                columns_init(&self.columns, &shown.moments[0], shown.first, shown.last)
                status = self.sweep(&shown.stops[0])
        if status < 0:
            raise MemoryError
        if self.packed_bytes() > most_bytes:
            return <double> self.packed_bytes() / max(most_bytes, 1) * (shown.last - shown.first) / self.done
        return take_strips(&self.strips)
