# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The stacked picture of live memory: which allocations are live at a moment, and how high each one lies.

Allocations are numbered in the order of the picture, which is the order of their starts. So what is live at moment
``t`` are the allocations ``i < first_after(t)`` with ``end[i] > t``, and a two-level table of the largest end in each
64 and each 4,096 allocations finds them without looking at the others. A viewport's columns are real moments in
time order; from one to the next, new allocations only ever come on top. The sweep keeps the live ones in slots, 64 to
a block with a sum, and lays a column out anew only from the lowest block that changed.
"""

from libc.math cimport floor
from libc.stdint cimport uint16_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_push, vector_push_u32, vector_free, column_of,
)

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF

cdef enum:
    QUANTA = 4              # a rect's edges are rounded to quarters of a row
    TOP = 0                 # the slot that stands for what is left over on top of a column
    COMPACT_SLOTS = 65536
    GUESSES = 4096
    LEAD = 5                # a run is of a stack that leads by a fifth of its bytes
    RECT_BYTES = 17         # of the packed buffer
    BAND_BYTES = 17

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int lowest_bit(unsigned long long word) {
        unsigned long bit; _BitScanForward64(&bit, word); return (int)bit;
    }
    #else
    static int lowest_bit(unsigned long long word) { return __builtin_ctzll(word); }
    #endif
    """
    int lowest_bit(uint64_t word) nogil


def range_peaks(const int64_t[::1] live, const int64_t[::1] peaks_64, const int64_t[::1] peaks_4096,
                const int64_t[::1] firsts, const int64_t[::1] lasts, uint32_t[::1] moments):
    """For each column the first moment in ``[first, last]`` at which the most was live."""
    cdef size_t column
    with nogil:
        for column in range(<size_t> moments.shape[0]):
            moments[column] = range_peak(&live[0], &peaks_64[0], &peaks_4096[0], firsts[column], lasts[column])


cdef uint32_t range_peak(const int64_t *live, const int64_t *peaks_64, const int64_t *peaks_4096, size_t first,
                         size_t last) noexcept nogil:
    cdef size_t at = first, best = first, stop = last + 1
    cdef size_t end
    cdef int64_t most = live[first]
    cdef size_t moments = 1         # of the stretch from `best` on whose peak is `most`: it is looked into at the end
    while at < stop:
        if at & 4095 == 0 and at + 4096 <= stop:
            if peaks_4096[at >> 12] > most:
                most = peaks_4096[at >> 12]
                best = at
                moments = 4096
            at += 4096
        elif at & 63 == 0 and at + 64 <= stop:
            if peaks_64[at >> 6] > most:
                most = peaks_64[at >> 6]
                best = at
                moments = 64
            at += 64
        else:
            end = min((at | 63) + 1, stop)
            while at < end:
                if live[at] > most:
                    most = live[at]
                    best = at
                    moments = 1
                at += 1
    end = best + moments
    if moments == 4096:
        # a damaged archive may have no such block, or no such moment
        while best + 64 < end and peaks_64[best >> 6] < most:
            best += 64
        end = best + 64
    if moments > 1:
        while best + 1 < end and live[best] < most:
            best += 1
    return <uint32_t> best


def range_extremes(const int64_t[::1] live, const int64_t[::1] firsts, const int64_t[::1] lasts, double[::1] highest,
                   double[::1] lowest, const int64_t[::1] peaks_64, const int64_t[::1] peaks_4096,
                   const int64_t[::1] lows_64):
    """The most and the least that was live in each column's moments, in bytes."""
    cdef size_t column, at, last, end, inner
    cdef int64_t least
    with nogil:
        for column in range(<size_t> highest.shape[0]):
            at = range_peak(&live[0], &peaks_64[0], &peaks_4096[0], firsts[column], lasts[column])
            highest[column] = <double> live[at]
            at = firsts[column]
            last = lasts[column]
            least = live[at]
            while at <= last:
                if at & 63 == 0 and at + 64 <= last + 1:
                    if lows_64[at >> 6] < least:
                        least = lows_64[at >> 6]
                    at += 64
                    continue
                end = min((at | 63) + 1, last + 1)
                for inner in range(at, end):
                    if live[inner] < least:
                        least = live[inner]
                at = end
            lowest[column] = <double> least


cdef int collect(const uint32_t *ends, const uint32_t *ends_64, const uint32_t *ends_4096, size_t first, size_t stop,
                 uint32_t moment, Vector *found) noexcept nogil:
    """Append the allocations in ``[first, stop)`` that end after ``moment``."""
    cdef size_t at = first, end, inner
    cdef uint32_t *out
    while at < stop:
        if at & 4095 == 0 and at + 4096 <= stop and ends_4096[at >> 12] <= moment:
            at += 4096
            continue
        end = (at | 63) + 1
        if at & 63 == 0 and end <= stop and ends_64[at >> 6] <= moment:
            at = end
            continue
        if end > stop:
            end = stop
        if vector_reserve(found, found.count + 64) < 0:
            return -1
        out = <uint32_t *> found.data
        for inner in range(at, end):
            out[found.count] = <uint32_t> inner
            found.count += ends[inner] > moment
        at = end
    return 0


def live_at(const uint32_t[::1] ends, const uint32_t[::1] ends_64, const uint32_t[::1] ends_4096, size_t stop,
            uint32_t moment):
    """The allocations below ``stop`` that are live at ``moment``, oldest first."""
    cdef Vector found
    cdef int status = 0
    vector_init(&found, 4)
    if stop:
        with nogil:
            status = collect(&ends[0], &ends_64[0], &ends_4096[0], 0, stop, moment, &found)
    if status < 0:
        vector_free(&found)
        raise MemoryError
    return column_of(&found, b"I")


cdef struct SlotRow:
    int64_t size
    uint32_t id
    uint32_t next           # next slot that ends in the same column
    uint32_t end_column
    uint32_t stack
    uint32_t band           # its row in the bands + 1
    # the rect that is open for it, as a band of its own and as the first of a merged run
    uint16_t x0
    uint16_t q0
    uint16_t q1
    uint16_t run_x0
    uint16_t run_q0
    uint16_t run_q1
    uint32_t run_count      # 0 while no run is open
    uint32_t run_leader
    uint32_t open           # 1 while a rect of its own is open
    uint32_t stamp          # the column in which the band was last laid out, + 1
    uint32_t run_stamp

cdef struct Vote:
    # which stack holds most of a set of allocations: the weighted majority vote of Boyer and Moore. If one holds more
    # than half of the bytes it is the leader; in any case the leader holds at least `margin` bytes of them.
    int64_t margin
    uint32_t leader         # an allocation of that stack
    uint32_t stack

cdef struct BlockRow:
    uint64_t live
    uint64_t big
    int64_t sum
    Vote vote               # of the whole block; only while `voted`
    uint32_t voted
    # the state of the sweep at the block's lower edge
    int64_t below
    int64_t run_below
    uint32_t run_key        # first slot of the run that is open there, NONE for none
    uint32_t run_count
    Vote run_vote
    uint32_t carry          # allocations too thin to be seen, not yet told by any rect
    uint32_t items          # laid out so far

cdef struct Rect:
    uint16_t x0
    uint16_t x1
    uint16_t q0
    uint16_t q1
    uint32_t band
    uint32_t leader         # an allocation of the stack that most of it is of, NONE when there is no such stack

cdef struct Band:
    int64_t size
    uint32_t id


cdef inline void cast_vote(Vote *vote, uint32_t stack, uint32_t leader, int64_t weight) noexcept nogil:
    if stack == vote.stack:
        vote.margin += weight
    elif weight > vote.margin:
        vote.stack = stack
        vote.leader = leader
        vote.margin = weight - vote.margin
    else:
        vote.margin -= weight


cdef inline void no_vote(Vote *vote) noexcept nogil:
    vote.margin = 0
    vote.leader = NONE
    vote.stack = NONE


cdef class Sweep:
    """Lays out the columns of one viewport; see :func:`memlens.views.trace.picture.viewport.viewport`."""

    cdef const int64_t[::1] sizes
    cdef const uint32_t[::1] ends
    cdef const uint32_t[::1] ends_64
    cdef const uint32_t[::1] ends_4096
    cdef const uint32_t[::1] stacks
    cdef Vector slots, blocks, items, old_items, rects, bands, found, heads, guesses
    cdef size_t live_count, dead_count
    cdef double y0, per_quantum
    cdef int64_t threshold
    cdef int64_t limit_q
    cdef size_t most_bytes

    def __cinit__(self, const int64_t[::1] sizes, const uint32_t[::1] ends, const uint32_t[::1] ends_64,
                  const uint32_t[::1] ends_4096, const uint32_t[::1] stacks):
        self.sizes = sizes
        self.stacks = stacks
        self.ends = ends
        self.ends_64 = ends_64
        self.ends_4096 = ends_4096
        vector_init(&self.slots, sizeof(SlotRow))
        vector_init(&self.blocks, sizeof(BlockRow))
        vector_init(&self.items, 4)
        vector_init(&self.old_items, 4)
        vector_init(&self.rects, sizeof(Rect))
        vector_init(&self.bands, sizeof(Band))
        vector_init(&self.found, 4)
        vector_init(&self.heads, 4)
        vector_init(&self.guesses, 4)

    def __dealloc__(self):
        vector_free(&self.slots)
        vector_free(&self.blocks)
        vector_free(&self.items)
        vector_free(&self.old_items)
        vector_free(&self.rects)
        vector_free(&self.bands)
        vector_free(&self.found)
        vector_free(&self.heads)
        vector_free(&self.guesses)

    cdef inline SlotRow *slot(self, size_t index) noexcept nogil:
        return &(<SlotRow *> self.slots.data)[index]

    cdef inline BlockRow *block(self, size_t index) noexcept nogil:
        return &(<BlockRow *> self.blocks.data)[index]

    cdef inline uint16_t quantum(self, int64_t height) noexcept nogil:
        """A height's edge in quarters of a row from y0, clipped to the viewport."""
        cdef double q = floor((<double> height - self.y0) / self.per_quantum + 0.5)
        if q <= 0:
            return 0
        if q >= self.limit_q:
            return <uint16_t> self.limit_q
        return <uint16_t> q

    # ---- slots ----------------------------------------------------------------------------------------------------

    cdef int append(self, uint32_t id, int64_t size, uint32_t end_column, size_t columns) noexcept nogil:
        cdef size_t index = self.slots.count
        cdef SlotRow *slot
        cdef BlockRow *block
        if index >= 0x7FFFFFFF or vector_reserve(&self.slots, index + 1) < 0:
            return -1
        slot = self.slot(index)
        memset(slot, 0, sizeof(SlotRow))
        slot.id = id
        slot.size = size
        slot.stack = self.stacks[id]
        slot.end_column = end_column
        slot.next = NONE
        if end_column < columns:
            slot.next = (<uint32_t *> self.heads.data)[end_column]
            (<uint32_t *> self.heads.data)[end_column] = <uint32_t> index
        self.slots.count = index + 1
        if index >> 6 >= self.blocks.count:
            if vector_reserve(&self.blocks, self.blocks.count + 1) < 0:
                return -1
            memset(self.block(self.blocks.count), 0, sizeof(BlockRow))
            self.blocks.count += 1
        block = self.block(index >> 6)
        block.live |= <uint64_t> 1 << (index & 63)
        if size >= self.threshold:
            block.big |= <uint64_t> 1 << (index & 63)
        block.sum += size
        block.voted = 0
        self.live_count += 1
        return 0

    cdef void remove(self, size_t index) noexcept nogil:
        cdef BlockRow *block = self.block(index >> 6)
        cdef uint64_t bit = <uint64_t> 1 << (index & 63)
        block.live &= ~bit
        block.big &= ~bit
        block.sum -= self.slot(index).size
        block.voted = 0
        self.live_count -= 1
        self.dead_count += 1

    cdef int start_over(self) noexcept nogil:
        """Empty slots and blocks but for slot TOP, which is never live."""
        self.slots.count = 0
        self.blocks.count = 0
        self.live_count = 0
        self.dead_count = 0
        self.items.count = 0
        if vector_reserve(&self.slots, 1) < 0 or vector_reserve(&self.blocks, 1) < 0:
            return -1
        memset(self.slot(TOP), 0, sizeof(SlotRow))
        memset(self.block(0), 0, sizeof(BlockRow))
        self.block(0).run_key = NONE
        self.slots.count = 1
        self.blocks.count = 1
        return 0

    cdef int compact(self, uint32_t column, size_t columns) noexcept nogil:
        """Drop the dead slots. Every open rect ends here and is opened again by the next layout."""
        cdef size_t index, count = self.slots.count
        cdef SlotRow slot
        cdef uint64_t *masks
        cdef size_t blocks = self.blocks.count
        if self.close_items(0, column) < 0:
            return -1
        masks = <uint64_t *> malloc(blocks * 8 + 8)
        if masks == NULL:
            return -1
        for index in range(blocks):
            masks[index] = self.block(index).live
        memset(self.heads.data, 0xFF, self.heads.count * 4)
        if self.start_over() < 0:
            free(masks)
            return -1
        # in place: a slot moves down or stays
        for index in range(1, count):
            if masks[index >> 6] >> (index & 63) & 1:
                slot = self.slot(index)[0]
                if self.append(slot.id, slot.size, slot.end_column, columns) < 0:
                    free(masks)
                    return -1
                self.slot(self.slots.count - 1).band = slot.band
        free(masks)
        return 0

    # ---- rects ----------------------------------------------------------------------------------------------------

    cdef inline Rect *new_rect(self) noexcept nogil:
        """Room for another rect; NULL without memory."""
        if self.rects.count == self.rects.room and vector_reserve(&self.rects, self.rects.count + 1) < 0:
            return NULL
        self.rects.count += 1
        return &(<Rect *> self.rects.data)[self.rects.count - 1]

    cdef int close_own(self, size_t index, uint32_t column) noexcept nogil:
        cdef SlotRow *slot = self.slot(index)
        cdef Rect *rect
        cdef Band band
        if not slot.open:
            return 0
        slot.open = 0
        if slot.x0 >= column:
            return 0
        if slot.band == 0:
            band.size = slot.size
            band.id = slot.id
            if vector_push(&self.bands, &band) < 0:
                return -1
            slot.band = <uint32_t> self.bands.count
        rect = self.new_rect()
        if rect == NULL:
            return -1
        rect.x0 = slot.x0
        rect.x1 = <uint16_t> column
        rect.q0 = slot.q0
        rect.q1 = slot.q1
        rect.band = slot.band - 1
        rect.leader = slot.id
        return 0

    cdef int close_run(self, size_t index, uint32_t column) noexcept nogil:
        cdef SlotRow *slot = self.slot(index)
        cdef Rect *rect
        cdef uint32_t count = slot.run_count
        if count == 0:
            return 0
        slot.run_count = 0
        if slot.run_x0 >= column:
            return 0
        rect = self.new_rect()
        if rect == NULL:
            return -1
        rect.x0 = slot.run_x0
        rect.x1 = <uint16_t> column
        rect.q0 = slot.run_q0
        rect.q1 = slot.run_q1
        rect.band = <uint32_t> 1 << 31 | count
        rect.leader = slot.run_leader
        return 0

    cdef int close_items(self, size_t first, uint32_t column) noexcept nogil:
        """Close the open rects of all items from ``first`` on. An item is a slot, with bit 31 for a run."""
        cdef uint32_t item
        cdef size_t index
        for index in range(first, self.items.count):
            item = (<uint32_t *> self.items.data)[index]
            if item >> 31:
                if self.close_run(item & 0x7FFFFFFF, column) < 0:
                    return -1
            elif self.close_own(item, column) < 0:
                return -1
        return 0

    cdef int lay_own(self, size_t index, uint32_t column, uint16_t q0, uint16_t q1) noexcept nogil:
        cdef SlotRow *slot = self.slot(index)
        cdef uint32_t item = <uint32_t> index
        slot.stamp = column + 1
        if not slot.open or slot.q0 != q0 or slot.q1 != q1:
            if self.close_own(index, column) < 0:
                return -1
            slot.open = 1
            slot.x0 = <uint16_t> column
            slot.q0 = q0
            slot.q1 = q1
        return vector_push_u32(&self.items, item)

    cdef int lay_run(self, size_t index, uint32_t column, uint16_t q0, uint16_t q1, uint32_t count,
                     uint32_t leader) noexcept nogil:
        cdef SlotRow *slot = self.slot(index)
        cdef uint32_t item = <uint32_t> index | <uint32_t> 1 << 31
        slot.run_stamp = column + 1
        if slot.run_count != count or slot.run_q0 != q0 or slot.run_q1 != q1 or (
            slot.run_leader != leader and (
                leader == NONE or slot.run_leader == NONE or self.stacks[leader] != self.stacks[slot.run_leader]
            )
        ):
            if self.close_run(index, column) < 0:
                return -1
            slot.run_count = count
            slot.run_x0 = <uint16_t> column
            slot.run_q0 = q0
            slot.run_q1 = q1
            slot.run_leader = leader
        return vector_push_u32(&self.items, item)

    cdef int end_run(self, uint32_t key, int64_t run_below, int64_t below, uint32_t count, Vote *vote,
                     uint32_t column, uint32_t *carry) noexcept nogil:
        """Lay out a finished run of thin allocations; one that rounds to nothing is told by the next."""
        cdef uint16_t q0 = self.quantum(run_below)
        cdef uint16_t q1 = self.quantum(below)
        if q1 > q0:
            count += carry[0]
            carry[0] = 0
            return self.lay_run(
                key, column, q0, q1, count & 0x7FFFFFFF,
                vote.leader if vote.margin * LEAD >= below - run_below else NONE,
            )
        if <double> below >= self.y0 and q0 < self.limit_q:
            carry[0] += count
        return 0

    cdef void vote(self, size_t number) noexcept nogil:
        """Let the live allocations of a block vote."""
        cdef BlockRow *block = self.block(number)
        cdef uint64_t left = block.live
        cdef SlotRow *slot
        no_vote(&block.vote)
        while left:
            slot = self.slot(number * 64 + lowest_bit(left))
            left &= left - 1
            cast_vote(&block.vote, slot.stack, slot.id, slot.size)
        block.voted = 1

    cdef int lay_out(self, size_t dirty, uint32_t column) noexcept nogil:
        """Lay out the column from block ``dirty`` upwards; what lies below is as it was."""
        cdef BlockRow *block = self.block(dirty)
        cdef size_t index, number, kept = block.items
        cdef int64_t below = block.below
        cdef int64_t run_below = block.run_below
        cdef uint32_t run_key = block.run_key
        cdef uint32_t run_count = block.run_count
        cdef Vote run_vote = block.run_vote
        cdef uint32_t carry = block.carry
        cdef uint64_t left
        cdef int bit
        cdef int64_t size
        cdef uint16_t q0, q1
        cdef uint32_t item
        self.old_items.count = 0
        if vector_reserve(&self.old_items, self.items.count - kept) < 0:
            return -1
        if self.items.count > kept:
            memcpy(self.old_items.data, self.items.data + kept * 4, (self.items.count - kept) * 4)
        self.old_items.count = self.items.count - kept
        self.items.count = kept
        for number in range(dirty, self.blocks.count):
            block = self.block(number)
            block.below = below
            block.run_below = run_below
            block.run_key = run_key
            block.run_count = run_count
            block.run_vote = run_vote
            block.carry = carry
            block.items = <uint32_t> self.items.count
            left = block.live
            if left == 0:
                continue
            if block.big == 0:
                if run_key == NONE:
                    run_key = <uint32_t> (number * 64 + lowest_bit(left))
                    run_below = below
                    run_count = 0
                    no_vote(&run_vote)
                if not block.voted:
                    self.vote(number)
                cast_vote(&run_vote, block.vote.stack, block.vote.leader, block.vote.margin)
                run_count += popcount(left)
                below += block.sum
                continue
            while left:
                bit = lowest_bit(left)
                left &= left - 1
                index = number * 64 + bit
                size = self.slot(index).size
                if block.big >> bit & 1:
                    if run_key != NONE:
                        if self.end_run(run_key, run_below, below, run_count, &run_vote, column, &carry) < 0:
                            return -1
                        run_key = NONE
                        run_count = 0
                    q0 = self.quantum(below)
                    q1 = self.quantum(below + size)
                    if q1 > q0 and self.lay_own(index, column, q0, q1) < 0:
                        return -1
                else:
                    if run_key == NONE:
                        run_key = <uint32_t> index
                        run_below = below
                        run_count = 0
                        no_vote(&run_vote)
                    cast_vote(&run_vote, self.slot(index).stack, self.slot(index).id, size)
                    run_count += 1
                below += size
        if run_key != NONE and self.end_run(run_key, run_below, below, run_count, &run_vote, column, &carry) < 0:
            return -1
        if carry:
            # too thin to be seen and nothing above to tell of them: a sliver on top
            q0 = self.quantum(below)
            if q0 < self.limit_q and self.lay_run(TOP, column, q0, q0 + 1, carry & 0x7FFFFFFF, NONE) < 0:
                return -1
        for index in range(self.old_items.count):
            item = (<uint32_t *> self.old_items.data)[index]
            if item >> 31:
                if self.slot(item & 0x7FFFFFFF).run_stamp != column + 1:
                    if self.close_run(item & 0x7FFFFFFF, column) < 0:
                        return -1
            elif self.slot(item).stamp != column + 1:
                if self.close_own(item, column) < 0:
                    return -1
        return 0

    cdef int sweep(self, const uint32_t[::1] moments, const uint32_t[::1] stops, size_t first_column,
                   size_t last_column) noexcept nogil:
        cdef size_t columns = moments.shape[0]
        cdef size_t column, index, dirty, stop = 0
        cdef uint32_t slot, end, id
        cdef uint32_t *heads
        cdef size_t low, bucket
        cdef int shift = 0
        cdef uint32_t begin, span
        cdef uint32_t *guesses
        if vector_reserve(&self.heads, columns + 1) < 0:
            return -1
        if last_column <= first_column:
            return 0
        # for each stretch of moments the first column at or after it, so that an end finds its column at once
        begin = moments[first_column]
        span = moments[last_column - 1] - begin
        while span >> shift >= GUESSES:
            shift += 1
        if vector_reserve(&self.guesses, GUESSES) < 0:
            return -1
        guesses = <uint32_t *> self.guesses.data
        column = first_column
        for bucket in range(GUESSES):
            while column < last_column and (moments[column] - begin) >> shift < bucket:
                column += 1
            guesses[bucket] = <uint32_t> column
        self.heads.count = columns + 1
        memset(self.heads.data, 0xFF, self.heads.count * 4)
        if self.start_over() < 0:
            return -1
        for column in range(first_column, last_column):
            if self.rects.count * RECT_BYTES + self.bands.count * BAND_BYTES > self.most_bytes:
                return 1
            dirty = self.blocks.count
            heads = <uint32_t *> self.heads.data
            slot = heads[column]
            heads[column] = NONE
            while slot != NONE:
                if slot >> 6 < dirty:
                    dirty = slot >> 6
                self.remove(slot)
                slot = self.slot(slot).next
            self.found.count = 0
            if stops[column] > stop:
                if collect(&self.ends[0], &self.ends_64[0], &self.ends_4096[0], stop, stops[column], moments[column],
                           &self.found) < 0:
                    return -1
                stop = stops[column]
            if self.found.count and (self.slots.count - 1) >> 6 < dirty:
                dirty = (self.slots.count - 1) >> 6
            for index in range(self.found.count):
                id = (<uint32_t *> self.found.data)[index]
                end = self.ends[id]
                # the first column whose moment is at or after its end
                low = last_column
                if end - begin <= span:
                    low = guesses[(end - begin) >> shift]
                    if low <= column:
                        low = column + 1
                    while moments[low] < end:
                        low += 1
                if self.append(id, self.sizes[id], <uint32_t> low if low < last_column else NONE, columns) < 0:
                    return -1
            if self.dead_count > COMPACT_SLOTS and self.dead_count > self.live_count:
                if self.compact(<uint32_t> column, columns) < 0:
                    return -1
                dirty = 0
            if dirty < self.blocks.count and self.lay_out(dirty, <uint32_t> column) < 0:
                return -1
        return self.close_items(0, <uint32_t> last_column)

    def run(self, const uint32_t[::1] moments, const uint32_t[::1] stops, size_t first_column, size_t last_column,
            double y0, double y1, uint32_t rows, size_t most_bytes):
        """Lay out columns ``first_column … last_column`` of ``moments``; the others stay empty.

        ``stops[column]`` is how many allocations have started by its moment. Returns None when the packed rects and
        bands would take more than ``most_bytes``, else ``(rects, bands)``.
        """
        cdef int status
        cdef double row = (y1 - y0) / rows
        self.y0 = y0
        self.per_quantum = row / QUANTA
        self.limit_q = <int64_t> rows * QUANTA
        self.threshold = <int64_t> row
        if <double> self.threshold < row:
            self.threshold += 1
        self.most_bytes = most_bytes
        self.rects.count = 0
        self.bands.count = 0
        with nogil:
            status = self.sweep(moments, stops, first_column, last_column)
        if status < 0:
            raise MemoryError
        if status > 0 or self.rects.count * RECT_BYTES + self.bands.count * BAND_BYTES > most_bytes:
            return None
        return (column_of(&self.rects, b"T{H:x0:H:x1:H:y0:H:y1:I:band:I:leader:}"),
                column_of(&self.bands, b"T{q:size:I:allocation:xxxx}"))


cdef inline uint32_t popcount(uint64_t word) noexcept nogil:
    word = word - ((word >> 1) & <uint64_t> 0x5555555555555555)
    word = (word & <uint64_t> 0x3333333333333333) + ((word >> 2) & <uint64_t> 0x3333333333333333)
    word = (word + (word >> 4)) & <uint64_t> 0x0F0F0F0F0F0F0F0F
    return <uint32_t> ((word * <uint64_t> 0x0101010101010101) >> 56)
