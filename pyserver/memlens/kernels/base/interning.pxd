# Interning: each distinct byte string or sequence of numbers is stored once, with consecutive ids.

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from memlens.kernels.base.vectors cimport Vector, vector_init, vector_free, vector_push, vector_extend

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define memlens_prefetch(address) __builtin_prefetch(address)
    #else
    #define memlens_prefetch(address) ((void) (address))
    #endif
    """
    void prefetch "memlens_prefetch"(const void *address) noexcept nogil


cdef struct InternerSlot:
    # all that a search needs before it compares units is in one place, since cache misses take most of its time
    uint64_t start      # the index of the item's first unit
    uint64_t count      # the number of its units
    uint32_t code       # the low half of its hash
    uint32_t item       # id + 1, or 0 for an empty slot


cdef struct Interner:
    Vector units        # the items' units, one item after the other
    Vector starts       # uint64: where each item starts, and where the last one ends
    InternerSlot *slots     # open addressing
    size_t slot_count   # a power of two
    uint64_t seed       # random for each table, so that no file can cause collisions


cdef inline int interner_init(Interner *interner, size_t unit_bytes, uint64_t seed) noexcept nogil:
    cdef uint64_t zero = 0
    vector_init(&interner.units, unit_bytes)
    vector_init(&interner.starts, 8)
    interner.slot_count = 1024
    interner.seed = seed
    interner.slots = <InternerSlot *> calloc(interner.slot_count, sizeof(InternerSlot))
    if interner.slots == NULL:
        return -1
    return vector_push(&interner.starts, &zero)


cdef inline void interner_free(Interner *interner) noexcept nogil:
    vector_free(&interner.units)
    vector_free(&interner.starts)
    free(interner.slots)
    interner.slots = NULL


cdef inline uint64_t hash_bytes(const uint8_t *data, size_t length, uint64_t seed) noexcept nogil:
    """Hash bytes by multiplying and folding two lanes of eight bytes, or four independent ones while many are left."""
    cdef uint64_t one = seed ^ length
    cdef uint64_t two = seed * 0xFF51AFD7ED558CCDULL
    cdef uint64_t three, four
    cdef uint64_t word[4]
    if length >= 64:
        three = seed * 0xC4CEB9FE1A85EC53ULL
        four = seed * 0x9E3779B97F4A7C15ULL
        while length >= 32:
            memcpy(word, data, 32)
            one = (one ^ word[0]) * 0xFF51AFD7ED558CCDULL
            two = (two ^ word[1]) * 0xC4CEB9FE1A85EC53ULL
            three = (three ^ word[2]) * 0x9E3779B97F4A7C15ULL
            four = (four ^ word[3]) * 0xD6E8FEB86659FD93ULL
            one ^= one >> 32
            two ^= two >> 32
            three ^= three >> 32
            four ^= four >> 32
            data += 32
            length -= 32
        one = (one ^ three) * 0x9E3779B97F4A7C15ULL
        two = (two ^ (four << 29 | four >> 35)) * 0xD6E8FEB86659FD93ULL
        one ^= one >> 32
        two ^= two >> 32
    while length >= 16:
        memcpy(word, data, 16)
        one = (one ^ word[0]) * 0xFF51AFD7ED558CCDULL
        two = (two ^ word[1]) * 0xC4CEB9FE1A85EC53ULL
        one ^= one >> 32
        two ^= two >> 32
        data += 16
        length -= 16
    if length:
        word[0] = 0
        word[1] = 0
        memcpy(word, data, length)
        one = (one ^ word[0]) * 0xFF51AFD7ED558CCDULL
        two = (two ^ word[1]) * 0xC4CEB9FE1A85EC53ULL
        one ^= one >> 32
        two ^= two >> 32
    one = (one ^ (two << 23 | two >> 41)) * 0xC4CEB9FE1A85EC53ULL
    return one ^ (one >> 29)


cdef inline int interner_grow(Interner *interner) noexcept nogil:
    cdef size_t count = interner.slot_count * 2
    cdef InternerSlot *slots = <InternerSlot *> calloc(count, sizeof(InternerSlot))
    cdef size_t old, slot
    if slots == NULL:
        return -1
    for old in range(interner.slot_count):
        if interner.slots[old].item:
            slot = interner.slots[old].code & (count - 1)
            while slots[slot].item:
                slot = (slot + 1) & (count - 1)
            slots[slot] = interner.slots[old]
    free(interner.slots)
    interner.slots = slots
    interner.slot_count = count
    return 0


cdef inline int64_t intern_units(Interner *interner, const void *units, size_t count) noexcept nogil:
    """Return the id of the item of ``count`` units, which is added if it is new; -1 if out of memory."""
    return intern_hashed(interner, units, count, units_code(interner, units, count))


cdef inline uint32_t units_code(Interner *interner, const void *units, size_t count) noexcept nogil:
    """Return the hash of ``count`` units, for :c:func:`intern_hashed`."""
    return <uint32_t> hash_bytes(<const uint8_t *> units, count * interner.units.item_bytes, interner.seed)


cdef inline void prefetch_slot(Interner *interner, uint32_t code) noexcept nogil:
    """Prefetch the slot at which the search for a hash begins."""
    prefetch(&interner.slots[code & (interner.slot_count - 1)])


cdef inline void prefetch_item(Interner *interner, uint32_t code) noexcept nogil:
    """Prefetch the units that a hash probably belongs to, up to four cache lines of them."""
    cdef InternerSlot *slot = &interner.slots[code & (interner.slot_count - 1)]
    cdef size_t line
    cdef size_t size = slot.count * interner.units.item_bytes
    if slot.item and slot.code == code:
        for line in range(0, min(size, <size_t> 256), 64):
            prefetch(interner.units.data + slot.start * interner.units.item_bytes + line)


cdef inline int64_t intern_hashed(
    Interner *interner, const void *units, size_t count, uint32_t code
) noexcept nogil:
    """Do the same as :c:func:`intern_units`, for units with a known hash."""
    cdef size_t unit_bytes = interner.units.item_bytes
    cdef size_t place = code & (interner.slot_count - 1)
    cdef InternerSlot *slot
    cdef uint64_t start, end
    while True:
        slot = &interner.slots[place]
        if slot.item == 0:
            break
        if slot.code == code and slot.count == count:
            # memcmp() must not get null pointers, which zero units may have
            if count == 0 or memcmp(interner.units.data + slot.start * unit_bytes, units, count * unit_bytes) == 0:
                return slot.item - 1
        place = (place + 1) & (interner.slot_count - 1)
    start = interner.units.count
    if vector_extend(&interner.units, units, count) < 0:
        return -1
    end = interner.units.count
    if vector_push(&interner.starts, &end) < 0:
        return -1
    slot.start = start
    slot.count = count
    slot.code = code
    slot.item = <uint32_t> (interner.starts.count - 1)
    if slot.item * <size_t> 2 > interner.slot_count and interner_grow(interner) < 0:
        return -1
    return <int64_t> interner.starts.count - 2


cdef inline size_t interner_count(Interner *interner) noexcept nogil:
    """Return the number of items."""
    return interner.starts.count - 1


cdef inline str interner_text(Interner *interner, size_t item):
    """Return an item whose units are bytes as text; invalid UTF-8 becomes U+FFFD."""
    cdef uint64_t *starts = <uint64_t *> interner.starts.data
    return (<char *> interner.units.data)[starts[item]:starts[item + 1]].decode("utf-8", "replace")
