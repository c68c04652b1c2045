# Which ids or addresses a file has objects for: a Bloom filter, two bytes for each, all bits of an id in a cache line.
#
# An id that isn't in the file passes in one of some hundred cases. What is asked must be right only that often: bytes
# that are no ids at all, in a damaged file, come in long runs.

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free

cdef enum:
    BITS_EACH = 16
    LEAST_BITS = 1 << 12
    LINE_WORDS = 8
    PROBES = 6
    PROBE_BITS = 9          # a bit of a line
    NEAR_BITS = 8


cdef struct KnownIds:
    uint64_t *words
    uint64_t mask           # of the number of a line
    uint64_t seed           # random for each filter, so that no file can be made to pass


cdef inline int known_ids_init(KnownIds *ids, uint64_t count, uint64_t seed) noexcept nogil:
    """Make room for ``count`` ids; -1 if out of memory."""
    cdef uint64_t bits = LEAST_BITS
    known_ids_free(ids)
    while bits < count * BITS_EACH:
        bits *= 2
    ids.words = <uint64_t *> calloc(bits // 64, 8)
    ids.mask = bits // 512 - 1
    ids.seed = seed
    return 0 if ids.words != NULL else -1


cdef inline void known_ids_free(KnownIds *ids) noexcept nogil:
    free(ids.words)
    ids.words = NULL


cdef inline uint64_t id_hash(uint64_t id, uint64_t seed) noexcept nogil:
    id = (id ^ seed) * 0xFF51AFD7ED558CCDULL
    id = (id ^ (id >> 32)) * 0xC4CEB9FE1A85EC53ULL
    return id ^ (id >> 29)


cdef inline uint64_t *id_line(const KnownIds *ids, uint64_t id) noexcept nogil:
    # neighbours share a line, so that it is seldom fetched
    cdef uint64_t hash = ((id >> NEAR_BITS) ^ ids.seed) * 0x9E3779B97F4A7C15ULL
    return ids.words + LINE_WORDS * ((hash >> 32) & ids.mask)


cdef inline void know_id(KnownIds *ids, uint64_t id) noexcept nogil:
    cdef uint64_t hash = id_hash(id, ids.seed)
    cdef uint64_t *line = id_line(ids, id)
    cdef int _probe
    for _probe in range(PROBES):
        line[(hash >> 6) & 7] |= <uint64_t> 1 << (hash & 63)
        hash >>= PROBE_BITS


cdef inline bint is_known_id(const KnownIds *ids, uint64_t id) noexcept nogil:
    cdef uint64_t hash = id_hash(id, ids.seed)
    cdef const uint64_t *line = id_line(ids, id)
    cdef uint64_t found = 1
    cdef int _probe
    for _probe in range(PROBES):
        found &= line[(hash >> 6) & 7] >> (hash & 63)
        hash >>= PROBE_BITS
    return found
