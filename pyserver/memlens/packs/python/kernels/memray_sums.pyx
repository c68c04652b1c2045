# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The tables in which a memray capture is added up: stacks, places, kinds of allocations, and how long they lived.

Allocations of one place and size are one *kind*; a *place* is a stack with its thread and allocator. Memory grows with
the kinds, not with the length of the recording.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from memlens.kernels.base.interning cimport (
    Interner, hash_bytes, intern_units, interner_count, interner_free, interner_init,
)
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push

cdef size_t MOST_LIFETIMES = 4_000_000

cdef bytes THREAD_FORMAT = b"T{Q:id:I:node:I:name:Q:address:Q:size:I:kind:I:unused:}"
cdef bytes PLACE_FORMAT = (
    b"T{I:node:I:native:I:thread:I:generation:I:allocator:I:unused:q:bytes:q:count:q:peak_bytes:q:peak_count:q:epoch:}"
)
cdef bytes KIND_FORMAT = (
    b"T{Q:stack:Q:context:Q:size:q:live:q:peak:q:epoch:q:total:q:temporary:I:place:I:code:}"
)


cdef class Sums(Owner):
    """What the records so far add up to; ``take`` moves the tables out."""

    def __cinit__(self):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        self.seed = seed
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
        self.kind_slot_count = 1024
        self.kind_slots = <uint32_t *> calloc(self.kind_slot_count, sizeof(uint32_t))
        if self.kind_slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.kind_slots)

    cdef int fail(self, int error) noexcept nogil:
        if self.error == 0:
            self.error = error
            self.error_offset = self.position + self.at
        return -1

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
        if self.kinds.count * 2 > self.kind_slot_count and grow_kinds(self) < 0:
            return -1
        return <int64_t> self.kinds.count - 1

    # ---- lifetimes ----

    cdef int lived_from(
        self, uint32_t birth, uint32_t death, uint32_t place, uint64_t size, uint32_t count
    ) noexcept nogil:
        """Count what was made before the memory record ``birth`` and freed before ``death``."""
        if birth == death:
            return 0
        if add_lifetime(
            self, &self.lifetimes, &self.lived, merged(self, birth), merged(self, death), place, <int64_t> size, count
        ) < 0:
            return -1
        if interner_count(&self.lifetimes) > MOST_LIFETIMES and self.shift < 31 and death != NEVER:
            return merge_lifetimes(self)
        return 0


cdef int grow_kinds(Sums self) noexcept nogil:
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


cdef inline uint32_t merged(Sums self, uint32_t record) noexcept nogil:
    return record if record == NEVER else <uint32_t> ((record + (<uint64_t> 1 << self.shift) - 1) >> self.shift)


cdef int add_lifetime(
    Sums self, Interner *keys, Vector *sums, uint32_t birth, uint32_t death, uint32_t place, int64_t size, int64_t count
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


cdef int merge_lifetimes(Sums self) noexcept nogil:
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
        status = add_lifetime(
            self, &keys, &sums, (birth + 1) >> 1, (death + 1) >> 1, <uint32_t> old[2 * row + 1],
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
