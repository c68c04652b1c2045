# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Turns events into allocations: which free ends which allocation, and what was live before the trace began.

A trace is a ring buffer with gaps, so the rules are those of an observer, not of the allocator:

* ``alloc`` starts an allocation. If one is still live at that address, its free was not recorded: it ended when its
  free was requested, or else now.
* ``free_completed`` (or ``free``) ends it. ``free_requested`` only marks it pending: the memory is still in use.
* A free of an address that isn't live is the free of something allocated before the trace. Its stack is that of the
  free, unless a live block of the final segments still has the allocation's own.
* Live blocks of the final segments that no event mentions were live before the trace as well.

A recorder's own viewer has the same rules (``process_alloc_data`` in MemoryViz.js), and its order of allocations is
kept: those from before the trace come first, with the one found last at the bottom, then those of the trace in order.
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
    # how many events ahead the slot of an address is prefetched
    EVENTS_AHEAD = 16

ALLOC, FREE_REQUESTED, FREE_COMPLETED = C_ALLOC, C_FREE_REQUESTED, C_FREE_COMPLETED

# flags of an allocation
BEFORE_TRACE = 1
PENDING_FREE = 2
IMPLICIT_FREE = 4
STACK_OF_FREE = 8
"""Its stack is that of its free. This flag isn't archived, see ``model/timeline.py``."""

NEVER = 0xFFFFFFFF
"""The end of an allocation that was never freed; in place of a row's number it means "none"."""

cdef enum:
    F_BEFORE_TRACE = 1
    F_PENDING_FREE = 2
    F_IMPLICIT_FREE = 4
    F_STACK_OF_FREE = 8
    # used only while events are matched: `end` is the moment at which the free was requested
    F_REQUESTED = 16

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF


cdef struct Slot:
    uint64_t address
    uint32_t row            # allocation + 1, 0 for an empty slot
    uint32_t live


cdef struct AddressMap:
    # open addressing; entries are never removed, `live` says whether there is an allocation at the address now
    Slot *slots
    size_t count
    size_t size
    uint64_t seed


cdef Slot *find(AddressMap *map, uint64_t address) noexcept nogil:
    """Return the slot of an address, a new one the first time; NULL if out of memory."""
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


cdef inline uint32_t number_in_picture(uint32_t row, size_t before) noexcept nogil:
    """Return an allocation's number in the order of the stacked picture; ``before`` are from before the trace."""
    return <uint32_t> (before - 1 - (row >> 1) if row & 1 else before + (row >> 1))


cdef class Matcher:
    """Matches the events of one device. Call :meth:`match` once; the counts of frees can be read afterwards."""

    cdef Vector before, during
    cdef AddressMap map
    cdef public size_t implicit_frees
    cdef public size_t completed_frees
    cdef public size_t repeating_frees
    """Frees with the same stack as their allocation, if both are in the trace; without a stack they don't count."""
    cdef public size_t differing_frees
    """Frees with another stack than their allocation, if both are in the trace."""

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
        """Return the allocation of a row, which is odd for those from before the trace."""
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
        cdef int64_t added
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
                added = self.add(False, addresses[event], sizes[event], moment, stacks[event], streams[event],
                                 categories[event])
                if added < 0:
                    return -1
                slot.row = <uint32_t> added + 1
                slot.live = 1
            else:
                known = slot.live
                if not known:
                    added = self.add(True, addresses[event], sizes[event], 0, stacks[event], streams[event],
                                     categories[event])
                    if added < 0:
                        return -1
                    slot.row = <uint32_t> added + 1
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

    cdef int mark_pending(self, const uint64_t[:] addresses, const uint8_t[::1] pending) except -1:
        """Mark the allocations whose blocks are pending in the final segments."""
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
        """Add the live blocks of the final segments that are unknown; ``held`` gets the row of each block."""
        cdef size_t index
        cdef Slot *slot
        cdef Allocation *row
        cdef int64_t added
        for index in range(<size_t> addresses.shape[0]):
            slot = find(&self.map, addresses[index])
            if slot == NULL:
                return -1
            if slot.live == 0:
                added = self.add(True, addresses[index], requested[index], 0, stacks[index], streams[index], 255)
                if added < 0:
                    return -1
                slot.row = <uint32_t> added + 1
                slot.live = 1
            row = self.at(slot.row - 1)
            held[index] = slot.row - 1
            if row.flags & F_STACK_OF_FREE and stacks[index]:
                # its free was requested in the trace and is pending; the block still has the allocation's own stack
                row.stack = stacks[index]
                row.flags &= ~F_STACK_OF_FREE
            if pending[index]:
                row.flags |= F_PENDING_FREE
        return 0

    def match(self, const uint8_t[::1] actions, const uint64_t[:] addresses, const int64_t[:] sizes,
              const uint32_t[:] stacks, const uint16_t[:] streams, const uint8_t[::1] categories,
              uint32_t[::1] owners, blocks: tuple[U64, I64, U32, U16, U8], uint32_t[::1] held) -> Buffer:
        """Match the events; ``owners[event]`` becomes the allocation that the event starts or frees, or NEVER.

        ``blocks`` has the columns of the live blocks: address, requested, stack, stream, pending; ``held[block]``
        becomes the allocation in the block. Returns the allocations in the order of the stacked picture, as rows of
        :data:`ALLOCATION_FORMAT`. Raises MemoryError.
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
            # the trace was recorded without completions: a request is the whole free, unless the block is still
            # pending in the final segments
            self.mark_pending(blocks[0], blocks[4])
            for vector in range(2):
                count = self.during.count if vector == 0 else self.before.count
                for index in range(count):
                    allocation = self.at(<uint32_t> (index << 1 | vector))
                    if allocation.flags & F_REQUESTED and not allocation.flags & F_PENDING_FREE:
                        allocation.flags &= ~F_REQUESTED
                        find(&self.map, allocation.address).live = 0
        if self.add_blocks(blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], held) < 0:
            raise MemoryError
        # no more lookups: free the map before the largest arrays are allocated
        free(self.map.slots)
        self.map.slots = NULL
        # of those from before the trace, the one found last is at the bottom
        before = self.before.count
        rows = <Allocation *> self.before.data
        for index in range(before // 2):
            swap = rows[index]
            rows[index] = rows[before - 1 - index]
            rows[before - 1 - index] = swap
        # those of the trace are moved up in place: they are the most, and should not be in memory twice
        if reserve_large(&self.during, before + self.during.count) < 0:
            raise MemoryError
        rows = <Allocation *> self.during.data
        with nogil:
            if before:
                memmove(rows + before, rows, self.during.count * sizeof(Allocation))
                memcpy(rows, self.before.data, before * sizeof(Allocation))
            self.during.count += before
            vector_free(&self.before)
            for index in range(self.during.count):
                if rows[index].flags & F_REQUESTED:
                    rows[index].flags = rows[index].flags & ~F_REQUESTED | F_PENDING_FREE
                    rows[index].end = NONE
            for index in range(events):
                if owners[index] != NONE:
                    owners[index] = number_in_picture(owners[index], before)
            for index in range(<size_t> held.shape[0]):
                held[index] = number_in_picture(held[index], before)
        return column_of(&self.during, ALLOCATION_FORMAT)


def live_over_time(const int64_t[:] sizes, const uint32_t[:] starts, const uint32_t[:] ends, int64_t[::1] live,
                   uint32_t[::1] counts):
    """Fill ``live`` (bytes) and ``counts`` at every moment; both have one more item than there are events.

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
                counts[end] -= 1        # this may wrap around, but the running sum below is correct
        for index in range(moments):
            bytes_now += live[index]
            count_now += counts[index]
            live[index] = bytes_now
            counts[index] = count_now
    if beyond:
        raise IndexError("an allocation starts after the last event")


def build_tree(const uint64_t[:] starts, const uint32_t[:] frames, uint32_t[::1] stack_nodes) -> tuple[Buffer, Buffer]:
    """Build the prefix tree of stacks, with the outermost frames at the root. Stacks have their innermost frame first.

    Fills ``stack_nodes`` with the node of each stack, and returns ``(parents, frames)`` of the nodes. Node 0 is the
    root, the empty stack; a parent's number is always less than its child's. Raises MemoryError.
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
    """Add a device's allocations to the totals of their stacks.

    ``totals[stack]`` has six items: bytes, count, bytes and count of those live at the moment ``peak``, bytes live at
    ``last``, bytes of the largest. ``largest[stack]`` is the allocation of that size, numbered from ``first_id``.
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
    """Sum the totals of stacks by source line; a stack counts once for a line, however often the line recurs.

    ``frame_lines`` has the row of each frame's line in the tables, NEVER for frames without a line. ``self_totals``
    receives the bytes and count of the stacks whose innermost Python frame is on the line.
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
    """Fill ``labels`` with the frame that labels each stack: the innermost of the lowest kind; NEVER for no frames."""
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
    """Mark the nodes of the prefix tree with a wanted frame, and all nodes below them.

    A number of a node or frame that is out of range (in a damaged archive) marks nothing.
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
    """Fill ``nearest`` with the node of the nearest module call from each node upwards, itself included; 0 for none.

    ``roles`` has the role of each frame: 1 calls modules; 2 belongs to a module if it is the first of its role below a
    caller; 3 always belongs to a module. A number of a node or frame that is out of range belongs to none.
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
            # find the first tail that isn't larger: a strictly falling run can't continue from it
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
    """Assign each interval, sorted by start, the first free one of ``most`` lanes; the last takes the rest."""
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
