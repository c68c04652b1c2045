# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Follows what is live while a memray capture is read: allocations, mappings, and the peak.

All figures are those of memray: the peak is the last moment with the most bytes, an allocation at an address that is
still in use ends the earlier one without a free (memray's curve counts both), and an allocation is temporary if its
thread frees it before it allocates anything else. Ranges of mmap are kept as memray keeps them, and beside it which
parts of them were mapped over: those bytes count once.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.vectors cimport vector_extend, vector_free, vector_push
from memlens.packs.python.kernels.memray_sums cimport (
    E_BAD_NUMBER, E_NO_MEMORY, E_NO_THREAD, E_TOO_MANY, E_TOO_MUCH, GOT, KindRow, MOST_BYTES, MOST_ROWS, MOST_SUM,
    NEVER, PlaceRow, Sums, ThreadRow,
)
from memlens.packs.python.kernels.pieces cimport (
    Piece, PieceNode, Pieces, pieces_add, pieces_init, pieces_meet, pieces_take,
)

# how often pieces of mappings that lie over each other may be put back by munmap: so many times, and so many for each
# mmap and munmap. Each is one where segments are mapped over a range that is reserved for them.
cdef size_t LEAST_REMAINS = 1 << 18
cdef size_t REMAINS_OF_RANGE = 4

cdef class LiveMemory(Sums):
    """What is live after the records so far."""

    def __cinit__(self):
        self.own_table("memory", &self.memory, sizeof(MemoryRow), b"T{q:time_ms:q:resident:q:heap:}")
        self.own_table("peaks", &self.peaks, 8, b"q")
        self.own_table("natives", &self.natives, sizeof(NativeRow), b"T{Q:instruction:Q:parent:}")
        self.own(&self.mappings, sizeof(Mapping))
        self.own(&self.taken, sizeof(Piece))
        self.own(&self.covered, sizeof(Piece))
        self.own(&self.top.nodes, sizeof(PieceNode))
        self.own(&self.whole.nodes, sizeof(PieceNode))
        if pieces_init(&self.top, self.seed) < 0:
            raise MemoryError
        self.live_slots = 1024
        self.live = <LiveRow *> calloc(self.live_slots, sizeof(LiveRow))
        if self.live == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.live)

    cdef int allocated(self, uint32_t allocator, uint64_t address, uint64_t size, uint64_t native) noexcept nogil:
        cdef ThreadRow *thread
        cdef int64_t number
        cdef KindRow *kind
        cdef LiveRow *slot
        self.allocations += 1
        if not self.in_thread:
            return self.fail(E_NO_THREAD)
        if size >= MOST_BYTES or address + size < address or native > self.natives.count:
            self.impossible_rows += 1
            return GOT
        self.total_bytes += <double> size
        if self.total_bytes >= <double> MOST_SUM:
            return self.fail(E_TOO_MUCH)
        thread = &(<ThreadRow *> self.threads.data)[self.thread]
        number = self.kind_of(
            thread.node | native << 32,
            <uint64_t> self.thread << 40 | <uint64_t> (self.generation if native else 0) << 8 | allocator,
            size,
        )
        if number < 0:
            return -1
        thread.address = address
        thread.size = size
        thread.kind = <uint32_t> number + 1
        kind = &(<KindRow *> self.kinds.data)[number]
        kind.total += 1
        if allocator == MMAP:
            return map_range(self, address, size, kind.place)
        leave_peak(self)
        if (self.live_count + 1) * 2 > self.live_slots and grow_live(self) < 0:
            return -1
        slot = find_live(self, address)
        if slot.kind:
            touched_kind(self, slot.kind - 1).live -= 1
        else:
            self.live_count += 1
        slot.address = address
        slot.kind = <uint32_t> number + 1
        slot.birth = <uint32_t> self.memory.count
        touched_kind(self, <uint32_t> number).live += 1
        changed(self, size, 0)
        return GOT

    cdef int freed(self, uint32_t allocator, uint64_t address, uint64_t size) noexcept nogil:
        cdef ThreadRow *thread
        cdef LiveRow *slot
        cdef KindRow *kind
        self.allocations += 1
        if not self.in_thread:
            return self.fail(E_NO_THREAD)
        thread = &(<ThreadRow *> self.threads.data)[self.thread]
        if thread.kind and thread.address == address and (allocator != MUNMAP or thread.size == size):
            (<KindRow *> self.kinds.data)[thread.kind - 1].temporary += 1
        if allocator == MUNMAP:
            if size >= MOST_BYTES or address + size < address:
                self.impossible_rows += 1
                return GOT
            self.ranges += 1
            return unmap_range(self, address, size)
        slot = find_live(self, address)
        if slot.kind == 0:
            return GOT
        leave_peak(self)
        kind = touched_kind(self, slot.kind - 1)
        kind.live -= 1
        if self.lived_from(slot.birth, <uint32_t> self.memory.count, kind.place, kind.size, 1) < 0:
            return -1
        erase(self, slot)
        changed(self, 0, kind.size)
        return GOT

    cdef int remember(self, uint64_t time_ms, uint64_t resident, uint64_t heap) noexcept nogil:
        cdef MemoryRow row
        cdef uint64_t peak = max(self.now, self.last_peak)
        if self.memory.count >= <size_t> MOST_ROWS:
            return self.fail(E_TOO_MANY)
        if time_ms >= MOST_SUM or resident >= MOST_SUM or heap >= MOST_SUM:
            return self.fail(E_BAD_NUMBER)
        row.time_ms = <int64_t> time_ms
        row.resident = <int64_t> resident
        row.heap = <int64_t> heap
        if vector_push(&self.memory, &row) < 0 or vector_push(&self.peaks, &peak) < 0:
            return self.fail(E_NO_MEMORY)
        self.last_peak = self.now
        return GOT

    def finish(self):
        """Add up what is left, after the last bytes or an error."""
        cdef size_t row
        cdef KindRow *kind
        cdef PlaceRow *place
        cdef Mapping *mapping
        cdef LiveRow *slot
        cdef uint64_t peak = self.last_peak
        cdef int status = 0
        with nogil:
            if not self.aggregated:
                if vector_push(&self.peaks, &peak) < 0:
                    status = -1
                for row in range(self.kinds.count):
                    kind = &(<KindRow *> self.kinds.data)[row]
                    if self.at_peak or kind.epoch != self.epoch:
                        kind.peak = kind.live
                for row in range(self.places.count):
                    place = &(<PlaceRow *> self.places.data)[row]
                    if self.at_peak or place.epoch != self.epoch:
                        place.peak_bytes = place.bytes
                        place.peak_count = place.count
                for row in range(self.live_slots):
                    slot = &self.live[row]
                    if slot.kind and status == 0:
                        kind = &(<KindRow *> self.kinds.data)[slot.kind - 1]
                        status = self.lived_from(slot.birth, NEVER, kind.place, kind.size, 1)
                for row in range(self.mappings.count):
                    mapping = &(<Mapping *> self.mappings.data)[row]
                    if mapping.own and status == 0:
                        status = self.lived_from(mapping.birth, NEVER, mapping.place, mapping.own, 1)
        if status < 0:
            raise MemoryError

    @property
    def held_bytes(self) -> int:
        """What the curve has at the end, with what was allocated over."""
        return self.now


cdef inline size_t slot_of(LiveMemory self, uint64_t address) noexcept nogil:
    address = (address ^ self.seed) * 0xFF51AFD7ED558CCDULL
    return <size_t> (address ^ (address >> 32)) & (self.live_slots - 1)


cdef int grow_live(LiveMemory self) noexcept nogil:
    cdef LiveRow *old = self.live
    cdef size_t count = self.live_slots, each, slot
    cdef LiveRow *slots = <LiveRow *> calloc(count * 2, sizeof(LiveRow))
    if slots == NULL:
        return self.fail(E_NO_MEMORY)
    self.live_slots = count * 2
    for each in range(count):
        if old[each].kind:
            slot = slot_of(self, old[each].address)
            while slots[slot].kind:
                slot = (slot + 1) & (self.live_slots - 1)
            slots[slot] = old[each]
    self.live = slots
    free(old)
    return 0


cdef inline LiveRow *find_live(LiveMemory self, uint64_t address) noexcept nogil:
    """Return the slot of an address, or the empty one where it would be."""
    cdef size_t slot = slot_of(self, address)
    while self.live[slot].kind and self.live[slot].address != address:
        slot = (slot + 1) & (self.live_slots - 1)
    return &self.live[slot]


cdef void erase(LiveMemory self, LiveRow *gone) noexcept nogil:
    """Empty a slot, and move those after it that were displaced by it."""
    cdef size_t mask = self.live_slots - 1
    cdef size_t hole = gone - self.live, slot = hole, home
    while True:
        slot = (slot + 1) & mask
        if self.live[slot].kind == 0:
            break
        home = slot_of(self, self.live[slot].address)
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            self.live[hole] = self.live[slot]
            hole = slot
    self.live[hole].kind = 0
    self.live_count -= 1


cdef inline void leave_peak(LiveMemory self) noexcept nogil:
    """Prepare a change: what is touched from now on keeps its figures of the latest peak."""
    if self.at_peak:
        self.epoch += 1
        self.at_peak = False


cdef inline void changed(LiveMemory self, uint64_t more, uint64_t less) noexcept nogil:
    """Add a change to the curve."""
    if less and self.now >= self.last_peak:
        self.last_peak = self.now
    self.now += more - less
    if self.now >= self.most:
        self.most = self.now
        self.at_peak = True


cdef inline KindRow *touched_kind(LiveMemory self, uint32_t number) noexcept nogil:
    cdef KindRow *kind = &(<KindRow *> self.kinds.data)[number]
    if kind.epoch != self.epoch:
        kind.epoch = self.epoch
        kind.peak = kind.live
    return kind


cdef inline PlaceRow *touched_place(LiveMemory self, uint32_t number) noexcept nogil:
    cdef PlaceRow *place = &(<PlaceRow *> self.places.data)[number]
    if place.epoch != self.epoch:
        place.epoch = self.epoch
        place.peak_bytes = place.bytes
        place.peak_count = place.count
    return place


cdef inline int64_t counted(LiveMemory self, Mapping *mapping) noexcept nogil:
    """How many allocations memray counts for a mapping, without one that is completely mapped over."""
    return <int64_t> mapping.pieces - (mapping.own == 0 and mapping.whole > 0)


cdef int put_back(LiveMemory self, Pieces *pieces, Piece *piece, uint64_t begin, uint64_t end) noexcept nogil:
    """Put back what a piece has outside of a range. Returns how many pieces those are, or -1."""
    cdef int count = 0
    if piece.begin < begin:
        count += 1
        if pieces_add(pieces, piece.begin, begin, piece.mapping) < 0:
            return self.fail(E_NO_MEMORY)
    if end < piece.end:
        count += 1
        if pieces_add(pieces, end, piece.end, piece.mapping) < 0:
            return self.fail(E_NO_MEMORY)
    return count


cdef int cover(LiveMemory self, uint64_t begin, uint64_t end) noexcept nogil:
    """Remove a range from the top pieces."""
    cdef size_t row
    cdef Piece *piece
    cdef Mapping *mapping
    cdef PlaceRow *place
    cdef uint64_t size
    cdef int64_t before
    if pieces_take(&self.top, begin, end, &self.covered) < 0:
        return self.fail(E_NO_MEMORY)
    for row in range(self.covered.count):
        piece = &(<Piece *> self.covered.data)[row]
        mapping = &(<Mapping *> self.mappings.data)[piece.mapping]
        place = touched_place(self, mapping.place)
        before = counted(self, mapping)
        size = common(begin, end, piece)
        mapping.own -= size
        place.bytes -= <int64_t> size
        place.count += counted(self, mapping) - before
        if put_back(self, &self.top, piece, begin, end) < 0:
            return -1
    return 0


cdef int flatten(LiveMemory self) noexcept nogil:
    """From now on what is mapped over counts as unmapped."""
    cdef size_t row
    cdef Mapping *mapping
    cdef Piece *piece
    cdef uint64_t gone = 0
    leave_peak(self)
    for row in range(self.mappings.count):
        mapping = &(<Mapping *> self.mappings.data)[row]
        touched_place(self, mapping.place).count -= counted(self, mapping)
        gone += mapping.whole - mapping.own
        mapping.whole = mapping.own
        mapping.pieces = 0
    if pieces_take(&self.top, 0, <uint64_t> -1, &self.taken) < 0:
        return self.fail(E_NO_MEMORY)
    for row in range(self.taken.count):
        piece = &(<Piece *> self.taken.data)[row]
        (<Mapping *> self.mappings.data)[piece.mapping].pieces += 1
        if pieces_add(&self.top, piece.begin, piece.end, piece.mapping) < 0:
            return self.fail(E_NO_MEMORY)
    for row in range(self.mappings.count):
        mapping = &(<Mapping *> self.mappings.data)[row]
        touched_place(self, mapping.place).count += counted(self, mapping)
    changed(self, 0, gone)
    vector_free(&self.whole.nodes)
    self.overlaps = False
    self.flat_since = self.ranges
    return 0


cdef int map_range(LiveMemory self, uint64_t begin, uint64_t size, uint32_t place_number) noexcept nogil:
    cdef uint64_t end = begin + size
    cdef Mapping fresh
    cdef PlaceRow *place
    cdef uint64_t number = self.mappings.count
    self.ranges += 1
    leave_peak(self)
    if size:
        if self.flat_since:
            if unmap_range(self, begin, size) < 0:
                return -1
            leave_peak(self)
        elif not self.overlaps and pieces_meet(&self.top, begin, end):
            self.overlaps = True
            self.whole.chance, self.whole.root = self.top.chance, self.top.root
            self.whole.spare, self.whole.count = self.top.spare, self.top.count
            if vector_extend(&self.whole.nodes, self.top.nodes.data, self.top.nodes.count) < 0:
                return self.fail(E_NO_MEMORY)
        if self.overlaps and cover(self, begin, end) < 0:
            return -1
        fresh.own = fresh.whole = size
        fresh.place = place_number
        fresh.birth = <uint32_t> self.memory.count
        fresh.pieces = 1
        fresh.freed = 0
        if (
            number >= <uint64_t> MOST_ROWS
            or vector_push(&self.mappings, &fresh) < 0
            or pieces_add(&self.top, begin, end, number) < 0
            or (self.overlaps and pieces_add(&self.whole, begin, end, number) < 0)
        ):
            return self.fail(E_NO_MEMORY)
        place = touched_place(self, place_number)
        place.bytes += <int64_t> size
        place.count += 1
    changed(self, size, 0)
    return 0


cdef int unmap_range(LiveMemory self, uint64_t begin, uint64_t size) noexcept nogil:
    cdef uint64_t end = begin + size, gone = 0, less
    cdef Pieces *pieces
    cdef Piece *piece
    cdef Mapping *mapping
    cdef PlaceRow *place
    cdef size_t row
    cdef int64_t before
    cdef int remains
    if size == 0:
        return 0
    if self.overlaps and self.remains > LEAST_REMAINS + REMAINS_OF_RANGE * self.ranges and flatten(self) < 0:
        return -1
    pieces = &self.whole if self.overlaps else &self.top
    if pieces_take(pieces, begin, end, &self.taken) < 0:
        return self.fail(E_NO_MEMORY)
    leave_peak(self)
    # how many pieces of a mapping are freed at once decides whether memray counts its end
    for row in range(self.taken.count):
        piece = &(<Piece *> self.taken.data)[row]
        (<Mapping *> self.mappings.data)[piece.mapping].freed += 1
    for row in range(self.taken.count):
        piece = &(<Piece *> self.taken.data)[row]
        less = common(begin, end, piece)
        mapping = &(<Mapping *> self.mappings.data)[piece.mapping]
        place = touched_place(self, mapping.place)
        before = counted(self, mapping)
        remains = put_back(self, pieces, piece, begin, end)
        if remains < 0:
            return -1
        mapping.whole -= less
        mapping.pieces += remains
        mapping.pieces -= 1
        if self.overlaps:
            self.remains += remains
        else:
            mapping.own -= less
            place.bytes -= <int64_t> less
        place.count += counted(self, mapping) - before
        gone += less
    for row in range(self.taken.count):
        piece = &(<Piece *> self.taken.data)[row]
        mapping = &(<Mapping *> self.mappings.data)[piece.mapping]
        if self.lived_from(
            mapping.birth, <uint32_t> self.memory.count, mapping.place, common(begin, end, piece),
            mapping.freed == 1 and mapping.pieces == 0,
        ) < 0:
            return -1
    for row in range(self.taken.count):
        (<Mapping *> self.mappings.data)[(<Piece *> self.taken.data)[row].mapping].freed = 0
    if self.overlaps and cover(self, begin, end) < 0:
        return -1
    changed(self, 0, gone)
    return 0


cdef inline uint64_t common(uint64_t begin, uint64_t end, Piece *piece) noexcept nogil:
    """Return how many bytes a range and a piece have in common."""
    cdef uint64_t first = max(begin, piece.begin), last = min(end, piece.end)
    return last - first if last > first else 0
