# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the records of a memray capture in the order of the file, and adds them up while it reads.

All figures are those of memray: the peak is the last moment with the most bytes, an allocation at an address that is
still in use ends the earlier one without a free (memray's curve counts both), and an allocation is temporary if its
thread frees it before it allocates anything else. Ranges of mmap are kept as memray keeps them, and beside it which
parts of them were mapped over: those bytes count once.

Allocations of one place and size are one *kind*; a *place* is a stack with its thread and allocator. Memory grows with
the kinds and with what is live, not with the length of the recording.

Source: ``records.h``, ``record_writer.cpp`` and ``snapshot.cpp`` in ``src/memray/_memray`` of memray 1.4 to 1.20.
"""

import os

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcpy, memmove, memset

from memlens.kernels.base.interning cimport (
    Interner, hash_bytes, intern_units, interner_count, interner_free, interner_init, interner_text,
)
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport (
    Vector, vector_extend, vector_free, vector_init, vector_push,
)
from memlens.packs.python.kernels.pieces cimport (
    Piece, PieceNode, Pieces, pieces_add, pieces_init, pieces_meet, pieces_take,
)

# statuses of feed; memray.py has the messages
OK, UNKNOWN_RECORD, BAD_NUMBER, BAD_STACK, NO_THREAD = range(5)
BAD_REFERENCE, LONG_RECORD, TOO_MUCH, TOO_MANY, NO_MEMORY = range(5, 10)

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
    # results of reading a part of a record; those below 0 are errors
    GOT
    SHORT

cdef enum:
    # allocators as of version 12
    PYMALLOC_FREE = 1
    FREE = 5
    MMAP = 14
    MUNMAP = 15

cdef enum:
    ADDRESSES = 15          # recent ones that a record may refer to
    MOST_RECORD = 1 << 26   # bytes

# the numbers of the allocators before version 12, by those since
cdef uint8_t[16] SINCE_12 = [0, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 2, 3, 4, 1]

cdef uint64_t MOST_BYTES = <uint64_t> 1 << 47
cdef uint64_t MOST_SUM = <uint64_t> 1 << 60
cdef int64_t MOST_ROWS = 0x7FFFFFF0
cdef uint32_t NEVER = 0xFFFFFFFF
cdef size_t MOST_LIFETIMES = 4_000_000
# how often pieces of mappings that lie over each other may be put back by munmap: so many times, and so many for each
# mmap and munmap. Each is one where segments are mapped over a range that is reserved for them.
cdef size_t LEAST_REMAINS = 1 << 18
cdef size_t REMAINS_OF_RANGE = 4

cdef struct Deltas:
    # what the next record of a kind is written as a difference to
    uint64_t instruction, pointer, native, frame
    int64_t line

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

cdef struct Live:
    uint64_t address
    uint32_t kind           # + 1; 0 for an empty slot
    uint32_t birth          # memory records before it

cdef struct Lifetime:
    int64_t bytes, count

cdef struct MemoryRow:
    int64_t time_ms
    int64_t resident, heap

cdef struct CodeRow:
    uint64_t id
    uint32_t function, file
    int64_t line
    uint64_t table, table_bytes

cdef struct SegmentRow:
    uint64_t address, start, size
    uint32_t file, generation

cdef struct NativeRow:
    uint64_t instruction
    uint64_t parent

cdef struct Mapping:
    uint64_t own, whole     # bytes that are not mapped over, and all that are not unmapped
    uint32_t place, birth
    uint32_t pieces         # of `whole`
    uint32_t freed          # of the munmap that is being read


cdef bytes THREAD_FORMAT = b"T{Q:id:I:node:I:name:Q:address:Q:size:I:kind:I:unused:}"
cdef bytes PLACE_FORMAT = (
    b"T{I:node:I:native:I:thread:I:generation:I:allocator:I:unused:q:bytes:q:count:q:peak_bytes:q:peak_count:q:epoch:}"
)
cdef bytes KIND_FORMAT = (
    b"T{Q:stack:Q:context:Q:size:q:live:q:peak:q:epoch:q:total:q:temporary:I:place:I:code:}"
)
cdef bytes CODE_FORMAT = b"T{Q:id:I:function:I:file:q:line:Q:table:Q:table_bytes:}"
cdef bytes SEGMENT_FORMAT = b"T{Q:address:Q:start:Q:size:I:file:I:generation:}"


cdef inline uint64_t common(uint64_t begin, uint64_t end, Piece *piece) noexcept nogil:
    """Return how many bytes a range and a piece have in common."""
    cdef uint64_t first = max(begin, piece.begin), last = min(end, piece.end)
    return last - first if last > first else 0


cdef class Reader(Owner):
    """Reads the parts of a capture that ``feed`` gets; ``take`` then moves the tables out."""

    cdef Vector rest
    cdef const uint8_t *data
    cdef size_t at, end
    cdef readonly uint64_t position     # in the unpacked file
    cdef uint64_t skipped               # bytes of the header that are to come
    cdef readonly int error
    cdef readonly uint64_t error_offset
    cdef readonly bint ended            # the trailer was read
    cdef readonly bint padded           # there is nothing but zeros
    cdef int version
    cdef bint native, aggregated
    cdef int64_t start_ms
    cdef Deltas last
    cdef uint64_t[ADDRESSES] recent
    cdef uint64_t seed

    cdef Interner texts, frames, nodes, thread_ids, place_keys, lifetimes
    cdef Vector threads, places, kinds, lived, memory, peaks, codes, tables, segments, natives, mappings
    cdef Vector taken, covered
    # what isn't mapped over; if mappings lie over each other, also all that isn't unmapped
    cdef Pieces top, whole
    cdef Vector old_frames
    cdef uint32_t thread
    cdef bint in_thread
    cdef uint64_t segments_left, segments_address
    cdef uint32_t segments_file
    cdef uint32_t generation

    cdef uint32_t *kind_slots
    cdef size_t kind_slot_count
    cdef Live *live
    cdef size_t live_slots, live_count

    cdef readonly uint64_t allocations, impossible_rows
    cdef uint64_t now, most, last_peak
    cdef double total_bytes
    cdef int64_t epoch
    cdef bint at_peak
    cdef bint overlaps
    cdef size_t ranges, remains
    cdef readonly size_t flat_since  # the call since which what is mapped over counts as unmapped; 0 for never
    cdef readonly int shift             # memory records are merged 2 ** shift at a time in lifetimes

    def __cinit__(self, int version, bint native, bint aggregated, int64_t start_ms, uint64_t header_bytes):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        self.seed = seed
        self.version = version
        self.native = native
        self.aggregated = aggregated
        self.start_ms = start_ms
        self.skipped = header_bytes
        self.own(&self.rest, 1)
        self.own_interner(&self.texts, 1, seed)
        self.own_interner(&self.frames, 8, seed)
        self.own_interner(&self.nodes, 8, seed)
        self.own_interner(&self.thread_ids, 8, seed)
        self.own_interner(&self.place_keys, 8, seed)
        self.own_interner(&self.lifetimes, 8, seed)
        self.name_table("frames", &self.frames.units, b"Q")
        self.name_table("nodes", &self.nodes.units, b"Q")
        self.name_table("lifetimes", &self.lifetimes.units, b"Q")
        self.own_table("lived", &self.lived, sizeof(Lifetime), b"T{q:bytes:q:count:}")
        self.own_table("threads", &self.threads, sizeof(ThreadRow), THREAD_FORMAT)
        self.own_table("places", &self.places, sizeof(PlaceRow), PLACE_FORMAT)
        self.own_table("kinds", &self.kinds, sizeof(KindRow), KIND_FORMAT)
        self.own_table("memory", &self.memory, sizeof(MemoryRow), b"T{q:time_ms:q:resident:q:heap:}")
        self.own_table("peaks", &self.peaks, 8, b"q")
        self.own_table("codes", &self.codes, sizeof(CodeRow), CODE_FORMAT)
        self.own_table("old_frames", &self.old_frames, sizeof(CodeRow), CODE_FORMAT)
        self.own_table("tables", &self.tables, 1, b"B")
        self.own_table("segments", &self.segments, sizeof(SegmentRow), SEGMENT_FORMAT)
        self.own_table("natives", &self.natives, sizeof(NativeRow), b"T{Q:instruction:Q:parent:}")
        self.own(&self.mappings, sizeof(Mapping))
        self.own(&self.taken, sizeof(Piece))
        self.own(&self.covered, sizeof(Piece))
        self.own(&self.top.nodes, sizeof(PieceNode))
        self.own(&self.whole.nodes, sizeof(PieceNode))
        if pieces_init(&self.top, seed) < 0:
            raise MemoryError
        self.kind_slot_count = 1024
        self.kind_slots = <uint32_t *> calloc(self.kind_slot_count, sizeof(uint32_t))
        self.live_slots = 1024
        self.live = <Live *> calloc(self.live_slots, sizeof(Live))
        if self.kind_slots == NULL or self.live == NULL:
            raise MemoryError
        # before version 12, what precedes the first record of a thread is of thread 0
        if version < 12 and self.switch_to(0) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.kind_slots)
        free(self.live)

    # ---- numbers and texts ----

    cdef int fail(self, int error) noexcept nogil:
        if self.error == 0:
            self.error = error
            self.error_offset = self.position + self.at
        return -1

    cdef inline int varint(self, uint64_t *result) noexcept nogil:
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef uint8_t byte
        while True:
            if self.at >= self.end:
                return SHORT
            byte = self.data[self.at]
            self.at += 1
            value |= <uint64_t> (byte & 0x7F) << shift
            if byte < 0x80:
                result[0] = value
                return GOT
            shift += 7
            if shift >= 64:
                return self.fail(E_BAD_NUMBER)

    cdef inline int signed(self, int64_t *result) noexcept nogil:
        cdef uint64_t value = 0
        cdef int status = self.varint(&value)
        result[0] = <int64_t> ((value >> 1) ^ (0 - (value & 1)))
        return status

    cdef inline int difference(self, uint64_t *last) noexcept nogil:
        """Add the difference that is next to ``last``."""
        cdef int64_t value = 0
        cdef int status = self.signed(&value)
        if status == GOT:
            last[0] += <uint64_t> value
        return status

    cdef inline int fixed(self, void *result, size_t count) noexcept nogil:
        if self.end - self.at < count:
            return SHORT
        memcpy(result, self.data + self.at, count)
        self.at += count
        return GOT

    cdef int text(self, uint32_t *result) noexcept nogil:
        """Read a text that ends with a zero, and return its number."""
        cdef const uint8_t *start = self.data + self.at
        cdef const uint8_t *zero = <const uint8_t *> memchr(start, 0, self.end - self.at)
        cdef int64_t number
        if zero == NULL:
            return SHORT
        number = intern_units(&self.texts, start, zero - start)
        if number < 0 or number > MOST_ROWS:
            return self.fail(E_NO_MEMORY)
        result[0] = <uint32_t> number
        self.at += zero - start + 1
        return GOT

    # ---- stacks ----

    cdef int switch_to(self, uint64_t id) noexcept nogil:
        cdef int64_t number = intern_units(&self.thread_ids, &id, 1)
        cdef ThreadRow fresh
        # 24 bits of a place's key
        if number < 0 or number >= 1 << 24:
            return self.fail(E_NO_MEMORY if number < 0 else E_TOO_MANY)
        if <size_t> number == self.threads.count:
            memset(&fresh, 0, sizeof(fresh))
            fresh.id = id
            if vector_push(&self.threads, &fresh) < 0:
                return self.fail(E_NO_MEMORY)
        self.thread = <uint32_t> number
        self.in_thread = True
        return GOT

    cdef int64_t frame_number(self, uint64_t code, uint64_t offset, uint64_t is_entry) noexcept nogil:
        cdef uint64_t[3] key
        cdef int64_t number
        key[0] = code
        key[1] = offset
        key[2] = is_entry
        number = intern_units(&self.frames, key, 3)
        if number < 0 or number > MOST_ROWS:
            return self.fail(E_NO_MEMORY)
        return number

    cdef int64_t child(self, uint64_t parent, int64_t frame) noexcept nogil:
        cdef uint64_t key = parent << 32 | <uint64_t> frame
        cdef int64_t number = intern_units(&self.nodes, &key, 1)
        if number < 0 or number > MOST_ROWS:
            return self.fail(E_NO_MEMORY)
        # node 0 is the root
        return number + 1

    cdef int push(self, uint64_t code, uint64_t offset, uint64_t is_entry) noexcept nogil:
        cdef int64_t number
        cdef ThreadRow *thread
        if not self.in_thread:
            return self.fail(E_NO_THREAD)
        number = self.frame_number(code, offset, is_entry)
        if number < 0:
            return -1
        thread = &(<ThreadRow *> self.threads.data)[self.thread]
        number = self.child(thread.node, number)
        if number < 0:
            return -1
        thread.node = <uint32_t> number
        return GOT

    cdef int pop(self, uint32_t count) noexcept nogil:
        cdef ThreadRow *thread
        if not self.in_thread:
            return self.fail(E_NO_THREAD)
        thread = &(<ThreadRow *> self.threads.data)[self.thread]
        while count:
            if thread.node == 0:
                return self.fail(E_BAD_STACK)
            thread.node = <uint32_t> ((<uint64_t *> self.nodes.units.data)[thread.node - 1] >> 32)
            count -= 1
        return GOT

    # ---- places and kinds ----

    cdef int64_t place_of(self, uint64_t stack, uint64_t context) noexcept nogil:
        cdef uint64_t[2] key
        cdef int64_t number
        cdef PlaceRow fresh
        key[0] = stack
        key[1] = context
        number = intern_units(&self.place_keys, key, 2)
        if number < 0 or number > MOST_ROWS:
            return self.fail(E_NO_MEMORY)
        if <size_t> number == self.places.count:
            memset(&fresh, 0, sizeof(fresh))
            fresh.node = <uint32_t> stack
            fresh.native = <uint32_t> (stack >> 32)
            fresh.allocator = <uint32_t> (context & 0xFF)
            fresh.generation = <uint32_t> (context >> 8)
            fresh.thread = <uint32_t> (context >> 40)
            fresh.epoch = self.epoch
            if vector_push(&self.places, &fresh) < 0:
                return self.fail(E_NO_MEMORY)
        return number

    cdef int grow_kinds(self) noexcept nogil:
        cdef size_t count = self.kind_slot_count * 2, slot, row
        cdef uint32_t *slots = <uint32_t *> calloc(count, sizeof(uint32_t))
        cdef KindRow *kinds = <KindRow *> self.kinds.data
        if slots == NULL:
            return self.fail(E_NO_MEMORY)
        for row in range(self.kinds.count):
            slot = kinds[row].code & (count - 1)
            while slots[slot]:
                slot = (slot + 1) & (count - 1)
            slots[slot] = <uint32_t> (row + 1)
        free(self.kind_slots)
        self.kind_slots = slots
        self.kind_slot_count = count
        return 0

    cdef int64_t kind_of(self, uint64_t stack, uint64_t context, uint64_t size) noexcept nogil:
        """Return the number of the kind of an allocation, which is added if it is new."""
        cdef uint64_t[3] key
        cdef uint32_t code
        cdef size_t slot
        cdef KindRow *kind
        cdef KindRow fresh
        cdef int64_t place
        key[0] = stack
        key[1] = context
        key[2] = size
        code = <uint32_t> hash_bytes(<uint8_t *> key, 24, self.seed)
        slot = code & (self.kind_slot_count - 1)
        while self.kind_slots[slot]:
            kind = &(<KindRow *> self.kinds.data)[self.kind_slots[slot] - 1]
            if kind.size == size and kind.stack == stack and kind.context == context:
                return self.kind_slots[slot] - 1
            slot = (slot + 1) & (self.kind_slot_count - 1)
        place = self.place_of(stack, context)
        if place < 0:
            return -1
        if <int64_t> self.kinds.count >= MOST_ROWS:
            return self.fail(E_TOO_MANY)
        memset(&fresh, 0, sizeof(fresh))
        fresh.stack = stack
        fresh.context = context
        fresh.size = size
        fresh.epoch = self.epoch
        fresh.place = <uint32_t> place
        fresh.code = code
        if vector_push(&self.kinds, &fresh) < 0:
            return self.fail(E_NO_MEMORY)
        self.kind_slots[slot] = <uint32_t> self.kinds.count
        if self.kinds.count * 2 > self.kind_slot_count and self.grow_kinds() < 0:
            return -1
        return <int64_t> self.kinds.count - 1

    # ---- what is live ----

    cdef inline size_t home(self, uint64_t address) noexcept nogil:
        address = (address ^ self.seed) * 0xFF51AFD7ED558CCDULL
        return <size_t> (address ^ (address >> 32)) & (self.live_slots - 1)

    cdef int grow_live(self) noexcept nogil:
        cdef Live *old = self.live
        cdef size_t count = self.live_slots, each, slot
        cdef Live *slots = <Live *> calloc(count * 2, sizeof(Live))
        if slots == NULL:
            return self.fail(E_NO_MEMORY)
        self.live_slots = count * 2
        for each in range(count):
            if old[each].kind:
                slot = self.home(old[each].address)
                while slots[slot].kind:
                    slot = (slot + 1) & (self.live_slots - 1)
                slots[slot] = old[each]
        self.live = slots
        free(old)
        return 0

    cdef inline Live *find(self, uint64_t address) noexcept nogil:
        """Return the slot of an address, or the empty one where it would be."""
        cdef size_t slot = self.home(address)
        while self.live[slot].kind and self.live[slot].address != address:
            slot = (slot + 1) & (self.live_slots - 1)
        return &self.live[slot]

    cdef void erase(self, Live *gone) noexcept nogil:
        """Empty a slot, and move those after it that were displaced by it."""
        cdef size_t mask = self.live_slots - 1
        cdef size_t hole = gone - self.live, slot = hole, home
        while True:
            slot = (slot + 1) & mask
            if self.live[slot].kind == 0:
                break
            home = self.home(self.live[slot].address)
            if ((slot - home) & mask) >= ((slot - hole) & mask):
                self.live[hole] = self.live[slot]
                hole = slot
        self.live[hole].kind = 0
        self.live_count -= 1

    # ---- the peak ----

    cdef inline void leave_peak(self) noexcept nogil:
        """Prepare a change: what is touched from now on keeps its figures of the latest peak."""
        if self.at_peak:
            self.epoch += 1
            self.at_peak = False

    cdef inline void changed(self, uint64_t more, uint64_t less) noexcept nogil:
        """Add a change to the curve."""
        if less and self.now >= self.last_peak:
            self.last_peak = self.now
        self.now += more - less
        if self.now >= self.most:
            self.most = self.now
            self.at_peak = True

    cdef inline KindRow *touched_kind(self, uint32_t number) noexcept nogil:
        cdef KindRow *kind = &(<KindRow *> self.kinds.data)[number]
        if kind.epoch != self.epoch:
            kind.epoch = self.epoch
            kind.peak = kind.live
        return kind

    cdef inline PlaceRow *touched_place(self, uint32_t number) noexcept nogil:
        cdef PlaceRow *place = &(<PlaceRow *> self.places.data)[number]
        if place.epoch != self.epoch:
            place.epoch = self.epoch
            place.peak_bytes = place.bytes
            place.peak_count = place.count
        return place

    # ---- lifetimes ----

    cdef inline uint32_t merged(self, uint32_t record) noexcept nogil:
        return record if record == NEVER else <uint32_t> ((record + (<uint64_t> 1 << self.shift) - 1) >> self.shift)

    cdef int add_lifetime(
        self, Interner *keys, Vector *sums, uint32_t birth, uint32_t death, uint32_t place, int64_t size, int64_t count
    ) noexcept nogil:
        cdef uint64_t[2] key
        cdef int64_t number
        cdef Lifetime fresh
        if birth == death:
            return 0
        key[0] = <uint64_t> birth << 32 | death
        key[1] = place
        number = intern_units(keys, key, 2)
        if number < 0 or number > MOST_ROWS:
            return self.fail(E_NO_MEMORY)
        if <size_t> number == sums.count:
            fresh.bytes = fresh.count = 0
            if vector_push(sums, &fresh) < 0:
                return self.fail(E_NO_MEMORY)
        (<Lifetime *> sums.data)[number].bytes += size
        (<Lifetime *> sums.data)[number].count += count
        return 0

    cdef int lived_from(
        self, uint32_t birth, uint32_t death, uint32_t place, uint64_t size, uint32_t count
    ) noexcept nogil:
        """Count what was made before the memory record ``birth`` and freed before ``death``."""
        if birth == death:
            return 0
        if self.add_lifetime(
            &self.lifetimes, &self.lived, self.merged(birth), self.merged(death), place, <int64_t> size, count
        ) < 0:
            return -1
        if interner_count(&self.lifetimes) > MOST_LIFETIMES and self.shift < 31 and death != NEVER:
            return self.merge_lifetimes()
        return 0

    cdef int merge_lifetimes(self) noexcept nogil:
        """Merge every two memory records, as far as lifetimes are concerned."""
        cdef Interner keys
        cdef Vector sums
        cdef size_t row
        cdef uint64_t *old = <uint64_t *> self.lifetimes.units.data
        cdef Lifetime *lived = <Lifetime *> self.lived.data
        cdef uint32_t birth, death
        cdef int status = 0
        vector_init(&sums, sizeof(Lifetime))
        if interner_init(&keys, 8, self.seed) < 0:
            status = self.fail(E_NO_MEMORY)
        for row in range(self.lived.count):
            if status < 0:
                break
            birth = <uint32_t> (old[2 * row] >> 32)
            death = <uint32_t> old[2 * row]
            status = self.add_lifetime(
                &keys, &sums, (birth + 1) >> 1, (death + 1) >> 1, <uint32_t> old[2 * row + 1],
                lived[row].bytes, lived[row].count,
            )
        if status < 0:
            interner_free(&keys)
            vector_free(&sums)
            return -1
        interner_free(&self.lifetimes)
        vector_free(&self.lived)
        self.lifetimes = keys
        self.lived = sums
        self.shift += 1
        return 0

    # ---- mmap ----

    cdef inline int64_t counted(self, Mapping *mapping) noexcept nogil:
        """How many allocations memray counts for a mapping, without one that is completely mapped over."""
        return <int64_t> mapping.pieces - (mapping.own == 0 and mapping.whole > 0)

    cdef int put_back(self, Pieces *pieces, Piece *piece, uint64_t begin, uint64_t end) noexcept nogil:
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

    cdef int cover(self, uint64_t begin, uint64_t end) noexcept nogil:
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
            place = self.touched_place(mapping.place)
            before = self.counted(mapping)
            size = common(begin, end, piece)
            mapping.own -= size
            place.bytes -= <int64_t> size
            place.count += self.counted(mapping) - before
            if self.put_back(&self.top, piece, begin, end) < 0:
                return -1
        return 0

    cdef int flatten(self) noexcept nogil:
        """From now on what is mapped over counts as unmapped."""
        cdef size_t row
        cdef Mapping *mapping
        cdef Piece *piece
        cdef uint64_t gone = 0
        self.leave_peak()
        for row in range(self.mappings.count):
            mapping = &(<Mapping *> self.mappings.data)[row]
            self.touched_place(mapping.place).count -= self.counted(mapping)
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
            self.touched_place(mapping.place).count += self.counted(mapping)
        self.changed(0, gone)
        vector_free(&self.whole.nodes)
        self.overlaps = False
        self.flat_since = self.ranges
        return 0

    cdef int map(self, uint64_t begin, uint64_t size, uint32_t place_number) noexcept nogil:
        cdef uint64_t end = begin + size
        cdef Mapping fresh
        cdef PlaceRow *place
        cdef uint64_t number = self.mappings.count
        self.ranges += 1
        self.leave_peak()
        if size:
            if self.flat_since:
                if self.unmap(begin, size) < 0:
                    return -1
                self.leave_peak()
            elif not self.overlaps and pieces_meet(&self.top, begin, end):
                self.overlaps = True
                self.whole.chance, self.whole.root = self.top.chance, self.top.root
                self.whole.spare, self.whole.count = self.top.spare, self.top.count
                if vector_extend(&self.whole.nodes, self.top.nodes.data, self.top.nodes.count) < 0:
                    return self.fail(E_NO_MEMORY)
            if self.overlaps and self.cover(begin, end) < 0:
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
            place = self.touched_place(place_number)
            place.bytes += <int64_t> size
            place.count += 1
        self.changed(size, 0)
        return 0

    cdef int unmap(self, uint64_t begin, uint64_t size) noexcept nogil:
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
        if self.overlaps and self.remains > LEAST_REMAINS + REMAINS_OF_RANGE * self.ranges and self.flatten() < 0:
            return -1
        pieces = &self.whole if self.overlaps else &self.top
        if pieces_take(pieces, begin, end, &self.taken) < 0:
            return self.fail(E_NO_MEMORY)
        self.leave_peak()
        # how many pieces of a mapping are freed at once decides whether memray counts its end
        for row in range(self.taken.count):
            piece = &(<Piece *> self.taken.data)[row]
            (<Mapping *> self.mappings.data)[piece.mapping].freed += 1
        for row in range(self.taken.count):
            piece = &(<Piece *> self.taken.data)[row]
            less = common(begin, end, piece)
            mapping = &(<Mapping *> self.mappings.data)[piece.mapping]
            place = self.touched_place(mapping.place)
            before = self.counted(mapping)
            remains = self.put_back(pieces, piece, begin, end)
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
            place.count += self.counted(mapping) - before
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
        if self.overlaps and self.cover(begin, end) < 0:
            return -1
        self.changed(0, gone)
        return 0

    # ---- events ----

    cdef int allocated(self, uint32_t allocator, uint64_t address, uint64_t size, uint64_t native) noexcept nogil:
        cdef ThreadRow *thread
        cdef int64_t number
        cdef KindRow *kind
        cdef Live *slot
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
            return self.map(address, size, kind.place)
        self.leave_peak()
        if (self.live_count + 1) * 2 > self.live_slots and self.grow_live() < 0:
            return -1
        slot = self.find(address)
        if slot.kind:
            self.touched_kind(slot.kind - 1).live -= 1
        else:
            self.live_count += 1
        slot.address = address
        slot.kind = <uint32_t> number + 1
        slot.birth = <uint32_t> self.memory.count
        self.touched_kind(<uint32_t> number).live += 1
        self.changed(size, 0)
        return GOT

    cdef int freed(self, uint32_t allocator, uint64_t address, uint64_t size) noexcept nogil:
        cdef ThreadRow *thread
        cdef Live *slot
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
            return self.unmap(address, size)
        slot = self.find(address)
        if slot.kind == 0:
            return GOT
        self.leave_peak()
        kind = self.touched_kind(slot.kind - 1)
        kind.live -= 1
        if self.lived_from(slot.birth, <uint32_t> self.memory.count, kind.place, kind.size, 1) < 0:
            return -1
        self.erase(slot)
        self.changed(0, kind.size)
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

    # ---- records ----

    cdef int allocation(self, uint8_t flags) noexcept nogil:
        cdef uint32_t known = (flags >> 3) & 15
        cdef uint32_t allocator = flags & 7
        cdef uint64_t address, size = 0
        cdef int status
        cdef bint is_free
        if known == ADDRESSES:
            status = self.difference(&self.last.pointer)
            if status != GOT:
                return status
            address = self.last.pointer << 3
        else:
            address = self.recent[known]
        if allocator == 0:
            if self.at >= self.end:
                return SHORT
            allocator = self.data[self.at]
            self.at += 1
            if allocator == 0 or allocator > MUNMAP:
                return self.fail(E_UNKNOWN_RECORD)
        is_free = allocator == FREE or allocator == PYMALLOC_FREE
        if not is_free:
            if self.native:
                status = self.difference(&self.last.native)
                if status != GOT:
                    return status
            status = self.varint(&size)
            if status != GOT:
                return status
        if known == ADDRESSES:
            memmove(&self.recent[1], &self.recent[0], (ADDRESSES - 1) * sizeof(uint64_t))
            self.recent[0] = address
        if is_free or allocator == MUNMAP:
            return self.freed(allocator, address, size)
        return self.allocated(allocator, address, size, self.last.native if self.native else 0)

    cdef int old_allocation(self, uint32_t allocator, bint with_native) noexcept nogil:
        cdef uint64_t size = 0
        cdef int status = self.difference(&self.last.pointer)
        cdef bint is_free
        if status != GOT:
            return status
        allocator = SINCE_12[allocator]
        if allocator == 0:
            return self.fail(E_UNKNOWN_RECORD)
        is_free = allocator == FREE or allocator == PYMALLOC_FREE
        if with_native or not is_free:
            status = self.varint(&size)
            if status != GOT:
                return status
        if with_native:
            status = self.difference(&self.last.native)
            if status != GOT:
                return status
        if is_free or allocator == MUNMAP:
            return self.freed(allocator, self.last.pointer, size)
        return self.allocated(allocator, self.last.pointer, size, self.last.native if with_native else 0)

    cdef int object_record(self, uint8_t flags) noexcept nogil:
        """Skip a record of an object of Python, which isn't an allocation."""
        cdef uint32_t known = (flags >> 1) & 15
        cdef int status
        if known == ADDRESSES:
            status = self.difference(&self.last.pointer)
            if status != GOT:
                return status
        if self.native and flags & 1:
            status = self.difference(&self.last.native)
            if status != GOT:
                return status
        if known == ADDRESSES:
            memmove(&self.recent[1], &self.recent[0], (ADDRESSES - 1) * sizeof(uint64_t))
            self.recent[0] = self.last.pointer << 3
        return GOT

    cdef int surviving_object(self) noexcept nogil:
        cdef uint64_t skipped = 0
        cdef int status = self.varint(&skipped)
        if status == GOT and self.native:
            status = self.varint(&skipped)
        return status

    cdef int frame_push(self, uint8_t flags) noexcept nogil:
        cdef uint64_t code = 0
        cdef int64_t offset = 0
        cdef int status = self.varint(&code)
        if status == GOT:
            status = self.signed(&offset)
        return self.push(code, <uint64_t> offset, flags & 1) if status == GOT else status

    cdef int code_object(self) noexcept nogil:
        cdef CodeRow row
        cdef uint64_t line = 0
        cdef int status = self.varint(&row.id)
        if status == GOT:
            status = self.text(&row.function)
        if status == GOT:
            status = self.text(&row.file)
        if status == GOT:
            line = <uint64_t> self.last.line
            status = self.difference(&line)
        if status == GOT:
            status = self.varint(&row.table_bytes)
        if status != GOT:
            return status
        if row.table_bytes > MOST_RECORD:
            return self.fail(E_LONG_RECORD)
        if self.end - self.at < row.table_bytes:
            return SHORT
        self.last.line = <int64_t> line
        row.line = self.last.line
        row.table = self.tables.count
        if (
            vector_extend(&self.tables, self.data + self.at, row.table_bytes) < 0
            or vector_push(&self.codes, &row) < 0
        ):
            return self.fail(E_NO_MEMORY)
        self.at += row.table_bytes
        return GOT

    cdef int old_frame(self, uint64_t id, bint is_entry, uint32_t function, uint32_t file, int64_t line) noexcept nogil:
        """Keep what a frame is called that older versions number; of several with one number the first counts."""
        cdef int64_t number = self.frame_number(id, 0, 0)
        cdef CodeRow row
        if number < 0:
            return -1
        row.id = <uint64_t> number
        row.function = function
        row.file = file
        row.line = line
        row.table = is_entry
        row.table_bytes = 0
        return self.fail(E_NO_MEMORY) if vector_push(&self.old_frames, &row) < 0 else GOT

    cdef int frame_index(self, uint8_t flags) noexcept nogil:
        cdef uint32_t function = 0, file = 0
        cdef uint64_t line = <uint64_t> self.last.line
        cdef int status = self.difference(&self.last.frame)
        if status == GOT:
            status = self.text(&function)
        if status == GOT:
            status = self.text(&file)
        if status == GOT:
            status = self.difference(&line)
        if status != GOT:
            return status
        self.last.line = <int64_t> line
        return self.old_frame(self.last.frame, not flags & 1, function, file, <int32_t> line)

    cdef int native_frame(self) noexcept nogil:
        cdef NativeRow row
        cdef int status = self.difference(&self.last.instruction)
        if status == GOT:
            status = self.difference(&self.last.native)
        if status != GOT:
            return status
        row.instruction = self.last.instruction
        row.parent = self.last.native
        if row.parent > self.natives.count or self.natives.count >= <size_t> MOST_ROWS:
            return self.fail(E_BAD_REFERENCE)
        return self.fail(E_NO_MEMORY) if vector_push(&self.natives, &row) < 0 else GOT

    cdef int segment_header(self) noexcept nogil:
        cdef uint32_t file = 0
        cdef uint64_t count = 0, address = 0
        cdef int status = self.text(&file)
        if status == GOT:
            status = self.varint(&count)
        if status == GOT:
            status = self.fixed(&address, 8)
        if status == GOT:
            self.segments_file = file
            self.segments_left = count
            self.segments_address = address
        return status

    cdef int segment(self) noexcept nogil:
        cdef SegmentRow row
        cdef int status
        if self.data[self.at] != 8:
            return self.fail(E_UNKNOWN_RECORD)
        self.at += 1
        status = self.fixed(&row.start, 8)
        if status == GOT:
            status = self.varint(&row.size)
        if status != GOT:
            return status
        row.address = self.segments_address
        row.file = self.segments_file
        row.generation = self.generation
        self.segments_left -= 1
        return self.fail(E_NO_MEMORY) if vector_push(&self.segments, &row) < 0 else GOT

    cdef int thread_name(self) noexcept nogil:
        cdef uint32_t name = 0
        cdef int status = self.text(&name)
        if status == GOT and self.in_thread:
            (<ThreadRow *> self.threads.data)[self.thread].name = name + 1
        return status

    cdef int memory_record(self) noexcept nogil:
        cdef uint64_t resident = 0, time_ms = 0
        cdef int status = self.varint(&resident)
        if status == GOT:
            status = self.varint(&time_ms)
        return self.remember(time_ms + <uint64_t> self.start_ms, resident, self.now) if status == GOT else status

    cdef int context_switch(self) noexcept nogil:
        cdef uint64_t id = 0
        cdef int status = self.fixed(&id, 8)
        return self.switch_to(id) if status == GOT else status

    # those of both kinds of captures
    cdef int shared_record(self, uint8_t kind) noexcept nogil:
        if kind == 5:
            return self.native_frame()
        if kind == 6:
            self.generation += 1
            return GOT
        if kind == 7:
            return self.segment_header()
        if kind == 10:
            return self.thread_name()
        if kind == 12:
            return self.context_switch()
        if kind == 14 and self.version >= 12:
            return self.code_object()
        self.at -= 1
        return self.fail(E_UNKNOWN_RECORD)

    cdef int record(self) noexcept nogil:
        cdef uint8_t byte
        if self.segments_left:
            return self.segment()
        byte = self.data[self.at]
        self.at += 1
        if self.aggregated:
            return self.aggregated_record(byte)
        if self.version < 12:
            return self.old_record(byte & 15, byte >> 4)
        if byte & 0x80:
            return self.allocation(byte & 0x7F)
        if byte & 0x40:
            return self.frame_push(byte)
        if byte & 0x20:
            return self.object_record(byte & 0x1F)
        if byte & 0x10:
            return self.pop((byte & 15) + 1)
        if byte == 0:
            self.padded = True
            return GOT
        if byte == 1:
            self.ended = True
            return GOT
        if byte == 2:
            return self.memory_record()
        return self.shared_record(byte)

    cdef int old_record(self, uint8_t kind, uint8_t flags) noexcept nogil:
        if kind == 1 or kind == 2:
            return self.old_allocation(flags, kind == 2)
        if kind == 3:
            return self.frame_index(flags)
        if kind == 4:
            if self.difference(&self.last.frame) == SHORT:
                return SHORT
            return self.push(self.last.frame, 0, 0) if self.error == 0 else -1
        if kind == 9:
            return self.pop(flags + 1)
        if kind == 11:
            return self.memory_record()
        if kind == 0 and flags == 0:
            self.padded = True
            return GOT
        if kind == 0 and flags == 1:
            self.ended = True
            return GOT
        return self.shared_record(kind)

    # ---- aggregated captures ----

    cdef int aggregated_record(self, uint8_t kind) noexcept nogil:
        cdef uint64_t[3] snapshot
        cdef int status
        if kind == 1:
            status = self.fixed(snapshot, 24)
            return self.remember(snapshot[0], snapshot[1], snapshot[2]) if status == GOT else status
        if kind == 2:
            return self.sums()
        if kind == 3:
            return self.trace_index()
        if kind == 4:
            return self.old_frame_index() if self.version < 12 else self.frame_index_since_12()
        if kind == 13 and self.version >= 12:
            return self.surviving_object()
        if kind == 15:
            self.ended = True
            return GOT
        if kind == 0:
            self.padded = True
            return GOT
        return self.shared_record(kind)

    cdef int sums(self) noexcept nogil:
        """Read what one place had at the peak and at the end."""
        # thread, allocator and padding, native frame, stack, generation; counts at the peak and the end, bytes likewise
        cdef uint64_t[9] row
        cdef int status = self.fixed(row, 72)
        cdef int64_t number
        cdef PlaceRow *place
        cdef size_t each
        if status != GOT:
            return status
        self.allocations += 1
        if self.switch_to(row[0]) < 0:
            return -1
        row[1] &= 0xFF
        if self.version < 12:
            row[1] = SINCE_12[row[1] & 15] if row[1] < 16 else 0
        if row[1] == 0 or row[1] > MUNMAP or row[2] > self.natives.count or row[3] > interner_count(&self.nodes):
            return self.fail(E_BAD_REFERENCE)
        for each in range(5, 9):
            if row[each] >= MOST_SUM:
                self.impossible_rows += 1
                return GOT
        self.total_bytes += <double> row[7] + <double> row[8]
        if self.total_bytes >= <double> MOST_SUM:
            return self.fail(E_TOO_MUCH)
        number = self.place_of(
            row[3] | row[2] << 32, <uint64_t> self.thread << 40 | <uint64_t> <uint32_t> row[4] << 8 | row[1]
        )
        if number < 0:
            return -1
        place = &(<PlaceRow *> self.places.data)[number]
        # memray leaves out what has no allocations
        if row[5]:
            place.peak_count += <int64_t> row[5]
            place.peak_bytes += <int64_t> row[7]
        if row[6]:
            place.count += <int64_t> row[6]
            place.bytes += <int64_t> row[8]
        return GOT

    cdef int trace_index(self) noexcept nogil:
        cdef uint64_t frame = 0, parent = 0
        cdef uint32_t old_parent = 0
        cdef int64_t number
        cdef int status
        if self.version < 12:
            status = self.fixed(&frame, 8)
            if status == GOT:
                status = self.fixed(&old_parent, 4)
                parent = old_parent
        else:
            status = self.varint(&frame)
            if status == GOT:
                status = self.varint(&parent)
        if status != GOT:
            return status
        if self.version < 12:
            number = self.frame_number(frame, 0, 0)
        else:
            number = <int64_t> frame if frame < interner_count(&self.frames) else self.fail(E_BAD_REFERENCE)
        if number < 0:
            return -1
        if parent > interner_count(&self.nodes):
            return self.fail(E_BAD_REFERENCE)
        return GOT if self.child(parent, number) >= 0 else -1

    cdef int old_frame_index(self) noexcept nogil:
        cdef uint64_t id = 0
        cdef uint32_t function = 0, file = 0
        cdef int32_t line = 0
        cdef uint8_t is_entry = 0
        cdef int status = self.fixed(&id, 8)
        if status == GOT:
            status = self.text(&function)
        if status == GOT:
            status = self.text(&file)
        if status == GOT:
            status = self.fixed(&line, 4)
        if status == GOT:
            status = self.fixed(&is_entry, 1)
        return self.old_frame(id, is_entry != 0, function, file, line) if status == GOT else status

    cdef int frame_index_since_12(self) noexcept nogil:
        cdef uint64_t id = 0, code = 0
        cdef int64_t offset = 0, number
        cdef uint8_t is_entry = 0
        cdef int status = self.varint(&id)
        if status == GOT:
            status = self.varint(&code)
        if status == GOT:
            status = self.signed(&offset)
        if status == GOT:
            status = self.fixed(&is_entry, 1)
        if status != GOT:
            return status
        number = self.frame_number(code, <uint64_t> offset, is_entry != 0)
        if number < 0:
            return -1
        return GOT if <uint64_t> number == id else self.fail(E_BAD_REFERENCE)

    # ---- the whole ----

    cdef int run(self) noexcept nogil:
        cdef Deltas before
        cdef size_t start
        cdef int status
        while self.at < self.end and not self.ended:
            start = self.at
            if self.padded:
                if self.data[start] != 0:
                    return self.fail(E_UNKNOWN_RECORD)
                self.at += 1
                continue
            before = self.last
            status = self.record()
            if status == SHORT:
                self.at = start
                self.last = before
                break
            if status < 0:
                return -1
        if self.ended:
            self.at = self.end
        return 0

    def feed(self, const uint8_t[::1] chunk: Buffer) -> int:
        """Read the next bytes. Returns OK, or the error, after which nothing more is read."""
        cdef size_t begin = 0, length = chunk.shape[0]
        if self.error:
            return self.error
        if self.skipped:
            begin = <size_t> min(self.skipped, <uint64_t> length)
            self.skipped -= begin
            self.position += begin
        if begin == length:
            return OK
        with nogil:
            if self.rest.count + length - begin > MOST_RECORD:
                self.fail(E_LONG_RECORD)
            elif vector_extend(&self.rest, &chunk[begin], length - begin) < 0:
                self.fail(E_NO_MEMORY)
            else:
                self.data = self.rest.data
                self.end = self.rest.count
                self.at = 0
                self.run()
                memmove(self.rest.data, self.rest.data + self.at, self.end - self.at)
                self.rest.count = self.end - self.at
                self.position += self.at
                self.at = 0
        if self.error == E_NO_MEMORY:
            raise MemoryError
        return self.error

    def finish(self):
        """Add up what is left, after the last bytes or an error."""
        cdef size_t row
        cdef KindRow *kind
        cdef PlaceRow *place
        cdef Mapping *mapping
        cdef Live *slot
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

    def text_at(self, size_t number) -> str:
        """Return a text by its number. Raises IndexError."""
        if number >= interner_count(&self.texts):
            raise IndexError(number)
        return interner_text(&self.texts, number)


# ---- line tables ----

cdef int64_t table_varint(const uint8_t *table, size_t *at, size_t end) noexcept nogil:
    cdef int64_t value = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at[0] < end:
        byte = table[at[0]]
        at[0] += 1
        if shift < 32:
            value |= <int64_t> (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value


cdef void lines_since_311(
    const uint8_t *table, size_t end, int64_t line, const int64_t[::1] offsets, int64_t[::1] lines
) noexcept nogil:
    cdef size_t at = 0, row = 0, rows = offsets.shape[0]
    cdef int64_t unit = 0, length, delta
    cdef uint8_t first, code
    while row < rows and at < end and table[at]:
        first = table[at]
        at += 1
        code = (first >> 3) & 15
        length = (first & 7) + 1
        if code == 14 or code == 13:
            delta = table_varint(table, &at, end)
            line += -(delta >> 1) if delta & 1 else delta >> 1
            if code == 14:
                table_varint(table, &at, end)
                table_varint(table, &at, end)
                table_varint(table, &at, end)
        elif 10 <= code <= 12:
            line += code - 10
            at += 2
        elif code < 10:
            at += 1
        unit += length
        while row < rows and offsets[row] // 2 < unit:
            lines[row] = line if offsets[row] >= 0 else 0
            row += 1
    for row in range(row, rows):
        lines[row] = 0


cdef void lines_before_311(
    const uint8_t *table, size_t end, int python, int64_t line, const int64_t[::1] offsets, int64_t[::1] lines
) noexcept nogil:
    cdef size_t at = 0, row = 0, rows = offsets.shape[0]
    cdef int64_t unit = 0, reached
    cdef int8_t delta
    cdef bint since_310 = python >= 0x030A0000
    while row < rows and at + 1 < end:
        unit += table[at]
        delta = <int8_t> table[at + 1]
        at += 2
        if since_310 and delta != -128:
            line += delta
        # version 3.10 counts instructions, of two units each
        reached = (unit + 1) // 2 if since_310 else unit
        while row < rows and offsets[row] < reached:
            lines[row] = line if offsets[row] >= 0 else 0
            row += 1
        if not since_310:
            line += delta
    for row in range(row, rows):
        lines[row] = line if offsets[row] >= 0 else 0


def fill_lines(
    const uint8_t[::1] tables, size_t start, size_t count, int python, int64_t first, const int64_t[::1] offsets,
    int64_t[::1] lines,
):
    """Write the lines of instructions by a code object's table of lines; one that isn't there gets 0.

    The table is ``count`` bytes of ``tables``, ``python`` is the version as CPython writes it in hexadecimal. The
    offsets ascend: the table is read once, however many there are. Raises IndexError. Sources:
    ``Objects/locations.md`` of CPython 3.11, ``Objects/lnotab_notes.txt`` before.
    """
    if offsets.shape[0] != lines.shape[0]:
        raise IndexError("columns of different lengths")
    if start > <size_t> tables.shape[0] or count > <size_t> tables.shape[0] - start:
        raise IndexError("a table that is out of range")
    if count == 0:
        lines[:] = 0
        return
    with nogil:
        if python >= 0x030B0000:
            lines_since_311(&tables[start], count, first, offsets, lines)
        else:
            lines_before_311(&tables[start], count, python, first, offsets, lines)
