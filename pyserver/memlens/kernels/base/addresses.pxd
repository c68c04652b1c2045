# Numbers of objects by their addresses: a sparse set of bits, and for each bit how many precede it.
#
# A heap's addresses are multiples of 8 that are close together, so a page of 512 bits has dozens of objects: a lookup
# touches one slot of a small hash table, one page, and the number itself. Addresses that are far apart cost a page
# each.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector, vector_init, vector_free, vector_push


cdef enum:
    WORDS = 8           # of 64 bits, in a page

cdef struct AddressPage:
    uint64_t number             # the bits of the address above those that select a bit of the page
    uint64_t bits[8]
    uint16_t before[8]          # for each word, the bits in the page's words before it
    uint32_t rank               # bits in the pages before it
    uint32_t unused

cdef struct AddressMap:
    Vector pages                # AddressPage
    uint32_t *slots             # a page's index + 1, 0 for an empty slot; open addressing
    size_t slot_count           # a power of two
    uint32_t *ordinals          # by rank
    uint64_t count              # distinct addresses
    uint64_t seed               # random for each map, so that no file can cause collisions
    int shift                   # how many low bits are 0 in all addresses
    uint64_t odd                # a mask of these bits
    size_t last                 # the page to which an address was added


cdef inline void address_map_init(AddressMap *map) noexcept nogil:
    memset(map, 0, sizeof(AddressMap))
    vector_init(&map.pages, sizeof(AddressPage))


cdef inline void address_map_free(AddressMap *map) noexcept nogil:
    vector_free(&map.pages)
    free(map.slots)
    free(map.ordinals)
    # a map that is built again starts anew
    address_map_init(map)


cdef inline uint64_t address_hash(uint64_t number, uint64_t seed) noexcept nogil:
    number = (number ^ seed) * 0xFF51AFD7ED558CCDULL
    number = (number ^ (number >> 32)) * 0xC4CEB9FE1A85EC53ULL
    return number ^ (number >> 29)


cdef inline uint32_t bits_in(uint64_t word) noexcept nogil:
    """Count the bits that are set. There is no builtin for it that all compilers share."""
    word = word - ((word >> 1) & 0x5555555555555555ULL)
    word = (word & 0x3333333333333333ULL) + ((word >> 2) & 0x3333333333333333ULL)
    return <uint32_t> ((((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL) * 0x0101010101010101ULL) >> 56)


cdef inline AddressPage *address_page(AddressMap *map, uint64_t number) noexcept nogil:
    """Return the page with this number; NULL if there is none."""
    cdef size_t mask = map.slot_count - 1
    cdef size_t place = <size_t> address_hash(number, map.seed) & mask
    cdef AddressPage *pages = <AddressPage *> map.pages.data
    cdef AddressPage *page
    while map.slots[place]:
        page = pages + (map.slots[place] - 1)
        if page.number == number:
            return page
        place = (place + 1) & mask
    return NULL


cdef inline int64_t address_rank(AddressMap *map, uint64_t address) noexcept nogil:
    """Return how many addresses precede this one in the map's own order; -1 if it isn't in the map."""
    cdef AddressPage *page
    cdef uint64_t place, word, bit
    if map.count == 0 or address & map.odd:
        return -1
    address >>= map.shift
    page = address_page(map, address >> 9)
    if page == NULL:
        return -1
    place = (address >> 6) & 7
    word = page.bits[place]
    bit = <uint64_t> 1 << (address & 63)
    if not word & bit:
        return -1
    return <int64_t> page.rank + page.before[place] + bits_in(word & (bit - 1))


cdef inline int64_t address_ordinal(AddressMap *map, uint64_t address) noexcept nogil:
    """Return the number of the object at ``address``, -1 if there is none."""
    cdef int64_t rank = address_rank(map, address)
    return -1 if rank < 0 else <int64_t> map.ordinals[rank]


# A set of addresses, which only have ranks: it is begun, filled, and ended before the first look-up.
cdef int address_set_begin(AddressMap *map, uint64_t used, uint64_t seed) noexcept nogil
cdef int address_set_add(AddressMap *map, uint64_t address) noexcept nogil
cdef void address_set_end(AddressMap *map) noexcept nogil

cdef int address_map_build(AddressMap *map, const uint64_t *addresses, size_t count, uint64_t seed) noexcept nogil
