# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""From events to allocations: which free ends which allocation, and what was live before the trace began.

A trace is a ring buffer with gaps, so the rules are those of an observer, not of the allocator:

* ``alloc`` starts an allocation. If one is still live at that address its free was not recorded: it ended when its
  free was requested, else now.
* ``free_completed`` (or ``free``) ends it. ``free_requested`` only marks it pending: the memory is still held.
* A free of an address that is not live is the free of something allocated before the trace. Its stack is that of the
  free, unless a live block of the final segments still has the allocation's own.
* Live blocks of the final segments that the trace does not know were live before it, too.

PyTorch's own viewer follows the same rules (``process_alloc_data`` in MemoryViz.js), and its order of allocations is
kept: what was live before the trace comes first, the last one found at the bottom, then the trace's own in order.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from memlens.kernels.base.interning cimport hash_bytes, prefetch
from memlens.kernels.base.large_pages cimport in_large_pages, reserve_large
from memlens.kernels.base.vectors cimport Vector, vector_init, vector_push, vector_free, column_of

import os

cdef enum:
    C_ALLOC = 0
    C_FREE_REQUESTED = 1
    C_FREE_COMPLETED = 2
    # so many events ahead, the processor is asked to load what is known of an address
    EVENTS_AHEAD = 16

ALLOC, FREE_REQUESTED, FREE_COMPLETED = C_ALLOC, C_FREE_REQUESTED, C_FREE_COMPLETED

# flags of an allocation
BEFORE_TRACE = 1
PENDING_FREE = 2
IMPLICIT_FREE = 4
STACK_OF_FREE = 8
"""Its stack is the one that its free was recorded with: it is not archived, see ``model/timeline.py``."""

NEVER = 0xFFFFFFFF
"""The end of an allocation that was never freed, and "none" wherever a row number is meant."""

cdef enum:
    F_BEFORE_TRACE = 1
    F_PENDING_FREE = 2
    F_IMPLICIT_FREE = 4
    F_STACK_OF_FREE = 8
    # only while events are matched: `end` is the moment at which the free was requested
    F_REQUESTED = 16

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF


cdef struct Slot:
    uint64_t address
    uint32_t row            # allocation + 1, 0 for an empty slot
    uint32_t live


cdef struct AddressMap:
    # open addressing; entries stay, `live` says whether the address holds an allocation now
    Slot *slots
    size_t count
    size_t size
    uint64_t seed


cdef Slot *find(AddressMap *map, uint64_t address) noexcept nogil:
    """The slot of an address, made when there is none; NULL without memory."""
    cdef size_t slot
    cdef Slot *old
    cdef size_t index, size
    if map.count * 2 >= map.size:
        size = map.size
        old = map.slots
        map.slots = <Slot *> calloc(size * 2, sizeof(Slot))
        if map.slots == NULL:
            map.slots = old
            return NULL
        in_large_pages(map.slots, size * 2 * sizeof(Slot))
        map.size = size * 2
        for index in range(size):
            if old[index].row:
                slot = hash_bytes(<uint8_t *> &old[index].address, 8, map.seed) & (map.size - 1)
                while map.slots[slot].row:
                    slot = (slot + 1) & (map.size - 1)
                map.slots[slot] = old[index]
        free(old)
    slot = hash_bytes(<uint8_t *> &address, 8, map.seed) & (map.size - 1)
    while map.slots[slot].row:
        if map.slots[slot].address == address:
            return &map.slots[slot]
        slot = (slot + 1) & (map.size - 1)
    map.slots[slot].address = address
    map.slots[slot].row = NONE
    map.slots[slot].live = 0
    map.count += 1
    return &map.slots[slot]


cdef struct Allocation:
    uint64_t address
    int64_t size
    uint32_t start
    uint32_t end
    uint32_t stack
    uint16_t stream
    uint8_t category
    uint8_t flags


ALLOCATION_FORMAT = b"T{Q:address:q:size:I:start:I:end:I:stack:H:stream:B:category:B:flags:}"


cdef inline uint32_t in_picture(uint32_t row, size_t before) noexcept nogil:
    """The number of an allocation in the order of the stacked picture; ``before`` were live before the trace."""
    return <uint32_t> (before - 1 - (row >> 1) if row & 1 else before + (row >> 1))


cdef class Matcher:
    """Match one device's events. Call :meth:`match`, then read ``allocations`` and ``implicit_frees``."""

    cdef Vector before, during
    cdef AddressMap map
    cdef public size_t implicit_frees
    cdef public size_t completed_frees
    cdef public size_t repeating_frees
    """Frees whose stack is that of their allocation, made in the trace; those without a stack say nothing."""
    cdef public size_t differing_frees
    """Frees whose stack is another than that of their allocation, made in the trace."""

    def __cinit__(self):
        vector_init(&self.before, sizeof(Allocation))
        vector_init(&self.during, sizeof(Allocation))
        self.map.size = 1 << 12
        self.map.seed = int.from_bytes(os.urandom(8), "little") | 1
        self.map.slots = <Slot *> calloc(self.map.size, sizeof(Slot))
        if self.map.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        vector_free(&self.before)
        vector_free(&self.during)
        free(self.map.slots)

    cdef inline Allocation *at(self, uint32_t row) noexcept nogil:
        """A row is odd for what was live before the trace."""
        if row & 1:
            return &(<Allocation *> self.before.data)[row >> 1]
        return &(<Allocation *> self.during.data)[row >> 1]

    cdef int64_t add(self, bint before, uint64_t address, int64_t size, uint32_t start, uint32_t stack,
                     uint16_t stream, uint8_t category) noexcept nogil:
        cdef Vector *vector = &self.before if before else &self.during
        cdef Allocation row
        memset(&row, 0, sizeof(row))
        row.address = address
        row.size = size
        row.start = start
        row.end = NONE
        row.stack = stack
        row.stream = stream
        row.category = category
        row.flags = F_BEFORE_TRACE if before else 0
        if vector.count >= 0x7FFFFFF0 or reserve_large(vector, vector.count + 1) < 0:
            return -1
        (<Allocation *> vector.data)[vector.count] = row
        vector.count += 1
        return <int64_t> ((vector.count - 1) << 1) | before

    cdef int run(self, const uint8_t[::1] actions, const uint64_t[:] addresses, const int64_t[:] sizes,
                 const uint32_t[:] stacks, const uint16_t[:] streams, const uint8_t[::1] categories,
                 uint32_t[::1] owners) noexcept nogil:
        cdef size_t event, count = actions.shape[0]
        cdef uint64_t address
        cdef uint8_t action
        cdef Slot *slot
        cdef Allocation *row
        cdef int64_t made
        cdef uint32_t moment
        cdef bint known
        for event in range(count):
            owners[event] = NONE
            if count - event > EVENTS_AHEAD:
                address = addresses[event + EVENTS_AHEAD]
                prefetch(&self.map.slots[hash_bytes(<uint8_t *> &address, 8, self.map.seed) & (self.map.size - 1)])
            action = actions[event]
            if action > C_FREE_COMPLETED:
                continue
            moment = <uint32_t> event + 1
            slot = find(&self.map, addresses[event])
            if slot == NULL:
                return -1
            if action == C_ALLOC:
                if slot.live:
                    row = self.at(slot.row - 1)
                    if not row.flags & F_REQUESTED:
                        row.end = moment
                    row.flags = row.flags & ~F_REQUESTED | F_IMPLICIT_FREE
                    self.implicit_frees += 1
                made = self.add(False, addresses[event], sizes[event], moment, stacks[event], streams[event],
                                categories[event])
                if made < 0:
                    return -1
                slot.row = <uint32_t> made + 1
                slot.live = 1
            else:
                known = slot.live
                if not known:
                    made = self.add(True, addresses[event], sizes[event], 0, stacks[event], streams[event],
                                    categories[event])
                    if made < 0:
                        return -1
                    slot.row = <uint32_t> made + 1
                    slot.live = 1
                row = self.at(slot.row - 1)
                if not known:
                    row.flags |= F_STACK_OF_FREE
                elif row.start:
                    if stacks[event] != row.stack:
                        self.differing_frees += 1
                    elif row.stack:
                        self.repeating_frees += 1
                if action == C_FREE_REQUESTED:
                    if not row.flags & F_REQUESTED:
                        row.end = moment
                        row.flags |= F_REQUESTED
                else:
                    row.end = moment
                    row.flags &= ~F_REQUESTED
                    slot.live = 0
                    self.completed_frees += 1
            owners[event] = slot.row - 1
        return 0

    cdef int mark_waiting(self, const uint64_t[:] addresses, const uint8_t[::1] pending) except -1:
        """Mark what the final segments hold as pending."""
        cdef size_t index
        cdef Slot *slot
        for index in range(<size_t> addresses.shape[0]):
            if pending[index]:
                slot = find(&self.map, addresses[index])
                if slot == NULL:
                    raise MemoryError
                if slot.live:
                    self.at(slot.row - 1).flags |= F_PENDING_FREE
        return 0

    cdef int add_blocks(self, const uint64_t[:] addresses, const int64_t[:] requested,
                        const uint32_t[:] stacks, const uint16_t[:] streams, const uint8_t[::1] pending,
                        uint32_t[::1] held) noexcept nogil:
        """The live blocks of the final segments: unknown ones are added; ``held`` gets the row of each."""
        cdef size_t index
        cdef Slot *slot
        cdef Allocation *row
        cdef int64_t made
        for index in range(<size_t> addresses.shape[0]):
            slot = find(&self.map, addresses[index])
            if slot == NULL:
                return -1
            if slot.live == 0:
                made = self.add(True, addresses[index], requested[index], 0, stacks[index], streams[index], 255)
                if made < 0:
                    return -1
                slot.row = <uint32_t> made + 1
                slot.live = 1
            row = self.at(slot.row - 1)
            held[index] = slot.row - 1
            if row.flags & F_STACK_OF_FREE and stacks[index]:
                # its free was requested in the trace and waits; the block keeps the allocation's own stack
                row.stack = stacks[index]
                row.flags &= ~F_STACK_OF_FREE
            if pending[index]:
                row.flags |= F_PENDING_FREE
        return 0

    def match(self, const uint8_t[::1] actions, const uint64_t[:] addresses, const int64_t[:] sizes,
              const uint32_t[:] stacks, const uint16_t[:] streams, const uint8_t[::1] categories,
              uint32_t[::1] owners, blocks, uint32_t[::1] held):
        """Match the events; ``owners[event]`` becomes the allocation that the event starts or frees, or NEVER.

        ``blocks`` are the columns of the live blocks: address, requested, stack, stream, pending; ``held[block]``
        becomes the allocation that is in it. Returns the allocations in the order of the stacked picture, as rows of
        :data:`ALLOCATION_FORMAT`.
        """
        cdef int status
        cdef size_t index, before, events = actions.shape[0]
        cdef Allocation *allocation
        cdef Allocation swap
        cdef Allocation *rows
        with nogil:
            status = self.run(actions, addresses, sizes, stacks, streams, categories, owners)
        if status < 0:
            raise MemoryError
        if self.completed_frees == 0:
            # the trace was recorded without completions: a request is all there is of a free, unless the segments
            # say that the block still waits for it
            self.mark_waiting(blocks[0], blocks[4])
            for vector in range(2):
                count = self.during.count if vector == 0 else self.before.count
                for index in range(count):
                    allocation = self.at(<uint32_t> (index << 1 | vector))
                    if allocation.flags & F_REQUESTED and not allocation.flags & F_PENDING_FREE:
                        allocation.flags &= ~F_REQUESTED
                        find(&self.map, allocation.address).live = 0
        if self.add_blocks(blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], held) < 0:
            raise MemoryError
        # nothing is looked up any more, and the largest arrays are yet to be made
        free(self.map.slots)
        self.map.slots = NULL
        # the last one found before the trace lies at the bottom
        before = self.before.count
        rows = <Allocation *> self.before.data
        for index in range(before // 2):
            swap = rows[index]
            rows[index] = rows[before - 1 - index]
            rows[before - 1 - index] = swap
        # those of the trace are moved up, as they are the most and should not stand in memory twice
        if reserve_large(&self.during, before + self.during.count) < 0:
            raise MemoryError
        rows = <Allocation *> self.during.data
        with nogil:
            memmove(rows + before, rows, self.during.count * sizeof(Allocation))
            if before:
                memcpy(rows, self.before.data, before * sizeof(Allocation))
            self.during.count += before
            vector_free(&self.before)
            for index in range(self.during.count):
                if rows[index].flags & F_REQUESTED:
                    rows[index].flags = rows[index].flags & ~F_REQUESTED | F_PENDING_FREE
                    rows[index].end = NONE
            for index in range(events):
                if owners[index] != NONE:
                    owners[index] = in_picture(owners[index], before)
            for index in range(<size_t> held.shape[0]):
                held[index] = in_picture(held[index], before)
        return column_of(&self.during, ALLOCATION_FORMAT)


def live_over_time(const int64_t[:] sizes, const uint32_t[:] starts, const uint32_t[:] ends, int64_t[::1] live,
                   uint32_t[::1] counts):
    """Fill ``live`` (bytes) and ``counts`` at every moment; both hold one more item than there are events.

    Raises IndexError for an allocation that starts after the last event.
    """
    cdef size_t index, moments = live.shape[0]
    cdef int64_t bytes_now = 0
    cdef uint32_t count_now = 0
    cdef uint32_t end
    cdef bint beyond = False
    with nogil:
        memset(&live[0], 0, moments * 8)
        memset(&counts[0], 0, moments * 4)
        for index in range(<size_t> sizes.shape[0]):
            end = ends[index]
            if end <= starts[index]:
                continue
            if starts[index] >= moments:
                beyond = True
                break
            live[starts[index]] += sizes[index]
            counts[starts[index]] += 1
            if end < moments:
                live[end] -= sizes[index]
                counts[end] -= 1        # wraps around; the running sum below is right all the same
        for index in range(moments):
            bytes_now += live[index]
            count_now += counts[index]
            live[index] = bytes_now
            counts[index] = count_now
    if beyond:
        raise IndexError("an allocation starts after the last event")


def build_tree(const uint64_t[:] starts, const uint32_t[:] frames, uint32_t[::1] stack_nodes):
    """Fold stacks (frames innermost first) into a prefix tree whose root side is outermost.

    Fills ``stack_nodes`` with each stack's node and returns ``(parents, frames)`` of the nodes. Node 0 is the root,
    the empty stack; a parent's number is always less than its child's.
    """
    cdef Vector parents, node_frames
    cdef AddressMap map
    cdef size_t stack, position
    cdef uint32_t node, none = NONE
    cdef Slot *slot
    cdef bint failed = False
    vector_init(&parents, 4)
    vector_init(&node_frames, 4)
    map.size = 1 << 12
    map.count = 0
    map.seed = int.from_bytes(os.urandom(8), "little") | 1
    map.slots = <Slot *> calloc(map.size, sizeof(Slot))
    if map.slots == NULL or vector_push(&parents, &none) < 0 or vector_push(&node_frames, &none) < 0:
        raise MemoryError
    with nogil:
        for stack in range(<size_t> stack_nodes.shape[0]):
            node = 0
            position = starts[stack + 1]
            while position > starts[stack]:
                position -= 1
                slot = find(&map, <uint64_t> node << 32 | frames[position])
                if slot == NULL:
                    failed = True
                    break
                if slot.row == NONE:
                    if vector_push(&parents, &node) < 0 or vector_push(&node_frames, &frames[position]) < 0:
                        failed = True
                        break
                    slot.row = <uint32_t> parents.count     # node + 1
                node = slot.row - 1
            stack_nodes[stack] = node
    free(map.slots)
    if failed:
        vector_free(&parents)
        vector_free(&node_frames)
        raise MemoryError
    return column_of(&parents, b"I"), column_of(&node_frames, b"I")


def stack_totals(const int64_t[:] sizes, const uint32_t[:] starts, const uint32_t[:] ends, const uint32_t[:] stacks,
                 uint32_t peak, uint32_t last, int64_t[:, ::1] totals, uint32_t[::1] largest, uint32_t first_id):
    """Add a device's allocations to each stack's totals.

    ``totals[stack]`` is: bytes, count, live at ``peak`` bytes and count, live at ``last`` bytes, largest bytes;
    ``largest[stack]`` the allocation of that size, numbered from ``first_id``.
    """
    cdef size_t index
    cdef uint32_t stack
    cdef int64_t size
    with nogil:
        for index in range(<size_t> sizes.shape[0]):
            stack = stacks[index]
            size = sizes[index]
            totals[stack, 0] += size
            totals[stack, 1] += 1
            if starts[index] <= peak and ends[index] > peak:
                totals[stack, 2] += size
                totals[stack, 3] += 1
            if starts[index] <= last and ends[index] > last:
                totals[stack, 4] += size
            if size > totals[stack, 5] or largest[stack] == NONE:
                totals[stack, 5] = size
                largest[stack] = first_id + <uint32_t> index


def fold_lines(const uint64_t[:] starts, const uint32_t[:] frames, const uint32_t[::1] frame_lines,
               const int64_t[:, ::1] totals, int64_t[:, ::1] inclusive, int64_t[:, ::1] self_totals,
               const uint8_t[::1] frame_is_python):
    """Sum the stacks' totals by source line, each stack once for a line however often it recurs.

    ``frame_lines`` gives a frame's line number in the tables, NEVER for frames without one. ``self_totals`` take
    bytes and count of the stacks whose innermost Python frame is the line.
    """
    cdef size_t stack, position, column
    cdef uint32_t line
    cdef bint innermost
    cdef uint32_t[::1] seen
    import numpy
    seen = numpy.full(inclusive.shape[0], NEVER, numpy.uint32)
    with nogil:
        for stack in range(<size_t> totals.shape[0]):
            if totals[stack, 1] == 0:
                continue
            innermost = True
            for position in range(starts[stack], starts[stack + 1]):
                line = frame_lines[frames[position]]
                if line == NONE:
                    continue
                if innermost and frame_is_python[frames[position]]:
                    innermost = False
                    self_totals[line, 0] += totals[stack, 0]
                    self_totals[line, 1] += totals[stack, 1]
                if seen[line] == <uint32_t> stack:
                    continue
                seen[line] = <uint32_t> stack
                for column in range(5):
                    inclusive[line, column] += totals[stack, column]
                if totals[stack, 5] > inclusive[line, 5]:
                    inclusive[line, 5] = totals[stack, 5]


def label_frames(const uint64_t[:] starts, const uint32_t[:] frames, const uint8_t[::1] kinds, uint32_t[::1] labels):
    """The frame to show first of each stack: the innermost of the lowest ``kinds`` value; NEVER for no frames."""
    cdef size_t stack, position
    cdef uint8_t best
    with nogil:
        for stack in range(<size_t> labels.shape[0]):
            labels[stack] = NONE
            best = 255
            for position in range(starts[stack], starts[stack + 1]):
                if kinds[frames[position]] < best:
                    best = kinds[frames[position]]
                    labels[stack] = frames[position]
                    if best == 0:
                        break


def mark_below(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint8_t[::1] wanted,
               uint8_t[::1] below):
    """Mark the nodes of the prefix tree that hold a wanted frame or lie below one.

    A node or frame number that is out of range (a damaged archive) marks nothing.
    """
    cdef size_t node
    with nogil:
        for node in range(<size_t> below.shape[0]):
            below[node] = 0
            if node == 0:
                continue
            if parents[node] < node and below[parents[node]]:
                below[node] = 1
            elif frames[node] < <size_t> wanted.shape[0]:
                below[node] = wanted[frames[node]]


def module_calls(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint8_t[::1] roles,
                 uint32_t[::1] nearest):
    """The nearest node of the prefix tree, from each node up and itself included, that is a module's; 0 for none.

    A frame's role is 1 if it calls modules, 2 if it is a module's own when it is the first such one below a caller, 3
    if it is a module's in any case. A node or frame number that is out of range is nobody's.
    """
    cdef size_t node
    cdef uint8_t role
    cdef uint8_t[::1] called
    import numpy
    called = numpy.zeros(nearest.shape[0], numpy.uint8)
    with nogil:
        for node in range(<size_t> nearest.shape[0]):
            nearest[node] = 0
            if node == 0 or parents[node] >= node or frames[node] >= <size_t> roles.shape[0]:
                continue
            role = roles[frames[node]]
            if role == 3 or (role == 2 and called[parents[node]]):
                nearest[node] = <uint32_t> node
                continue
            nearest[node] = nearest[parents[node]]
            called[node] = role == 1 or called[parents[node]]


def longest_falling(const int64_t[::1] values, uint8_t[::1] keep):
    """Mark a longest strictly falling subsequence of ``values`` in ``keep``."""
    cdef size_t count = values.shape[0]
    cdef size_t index, low, high, middle, length = 0
    cdef uint32_t[::1] tails, before
    cdef uint32_t at
    import numpy
    tails = numpy.empty(count, numpy.uint32)
    before = numpy.empty(count, numpy.uint32)
    with nogil:
        for index in range(count):
            keep[index] = 0
            low = 0
            high = length
            # the first tail that is not larger; a strictly falling run can't go on from it
            while low < high:
                middle = (low + high) // 2
                if values[tails[middle]] > values[index]:
                    low = middle + 1
                else:
                    high = middle
            before[index] = tails[low - 1] if low else NONE
            tails[low] = <uint32_t> index
            if low == length:
                length += 1
        if length:
            at = tails[length - 1]
            while at != NONE:
                keep[at] = 1
                at = before[at]


def lay_in_lanes(const int64_t[::1] starts, const int64_t[::1] ends, uint8_t[::1] lanes, int most):
    """Lay intervals, sorted by start, into the first of ``most`` lanes that is free; the last takes all the others."""
    cdef size_t index
    cdef int lane
    cdef int64_t[::1] free_from
    import numpy
    free_from = numpy.full(most, numpy.iinfo(numpy.int64).min, numpy.int64)
    with nogil:
        for index in range(<size_t> starts.shape[0]):
            lane = 0
            while lane < most - 1 and free_from[lane] > starts[index]:
                lane += 1
            lanes[index] = <uint8_t> lane
            if ends[index] > free_from[lane]:
                free_from[lane] = ends[index]
