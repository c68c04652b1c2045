# Rows by 64-bit keys, in a table with open addressing; a row has three counts, which begin with 0.

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset


cdef struct CountRow:
    uint64_t key            # never 0
    uint32_t first, second, third
    uint32_t unused

cdef struct Counts:
    CountRow *rows
    size_t size             # a power of two, or 0
    size_t count
    uint64_t seed           # random for each table, so that no file can cause collisions


cdef inline void counts_init(Counts *counts) noexcept nogil:
    memset(counts, 0, sizeof(Counts))


cdef inline void counts_free(Counts *counts) noexcept nogil:
    free(counts.rows)
    counts.rows = NULL
    counts.size = counts.count = 0


cdef inline size_t counts_place(const Counts *counts, uint64_t key) noexcept nogil:
    """Return where the row of a key is, or where it belongs. The table has room."""
    cdef uint64_t hash = (key ^ counts.seed) * 0xFF51AFD7ED558CCDULL
    cdef size_t place
    hash = (hash ^ (hash >> 32)) * 0xC4CEB9FE1A85EC53ULL
    place = <size_t> (hash ^ (hash >> 29)) & (counts.size - 1)
    while counts.rows[place].key and counts.rows[place].key != key:
        place = (place + 1) & (counts.size - 1)
    return place


cdef inline CountRow *counts_find(const Counts *counts, uint64_t key) noexcept nogil:
    """Return the row of a key; NULL if there is none."""
    cdef size_t place
    if counts.size == 0 or key == 0:
        return NULL
    place = counts_place(counts, key)
    return &counts.rows[place] if counts.rows[place].key else NULL


cdef inline CountRow *counts_row(Counts *counts, uint64_t key) noexcept nogil:
    """Return the row of a key, which is added if it is new; NULL if out of memory. It moves when others are added."""
    cdef CountRow *old = counts.rows
    cdef size_t each, old_size = counts.size, place
    key = key if key else 1
    if 2 * (counts.count + 1) > counts.size:
        counts.rows = <CountRow *> calloc(2 * old_size if old_size else 256, sizeof(CountRow))
        if counts.rows == NULL:
            counts.rows = old
            return NULL
        counts.size = 2 * old_size if old_size else 256
        for each in range(old_size):
            if old[each].key:
                counts.rows[counts_place(counts, old[each].key)] = old[each]
        free(old)
    place = counts_place(counts, key)
    if counts.rows[place].key == 0:
        counts.rows[place].key = key
        counts.count += 1
    return &counts.rows[place]
