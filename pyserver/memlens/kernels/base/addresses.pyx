# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Numbers of objects by their addresses (see ``addresses.pxd``)."""

import os

from libc.stdint cimport uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from memlens.kernels.base.vectors cimport vector_push

cdef uint32_t NO_NUMBER = 0xFFFFFFFF


cdef int grow(AddressMap *map) noexcept nogil:
    cdef size_t count = map.slot_count * 2 if map.slot_count else 1024
    cdef uint32_t *slots = <uint32_t *> calloc(count, sizeof(uint32_t))
    cdef AddressPage *pages = <AddressPage *> map.pages.data
    cdef size_t page, place
    if slots == NULL:
        return -1
    for page in range(map.pages.count):
        place = <size_t> address_hash(pages[page].number, map.seed) & (count - 1)
        while slots[place]:
            place = (place + 1) & (count - 1)
        slots[place] = <uint32_t> (page + 1)
    free(map.slots)
    map.slots = slots
    map.slot_count = count
    return 0


cdef AddressPage *page_for(AddressMap *map, uint64_t number) noexcept nogil:
    """Return the page with this number, which is added if it is new; NULL if out of memory."""
    cdef AddressPage *page = address_page(map, number)
    cdef AddressPage fresh
    cdef size_t place
    if page != NULL:
        return page
    memset(&fresh, 0, sizeof(AddressPage))
    fresh.number = number
    if vector_push(&map.pages, &fresh) < 0:
        return NULL
    if map.pages.count * 2 > map.slot_count:
        if grow(map) < 0:
            return NULL
    else:
        place = <size_t> address_hash(number, map.seed) & (map.slot_count - 1)
        while map.slots[place]:
            place = (place + 1) & (map.slot_count - 1)
        map.slots[place] = <uint32_t> map.pages.count
    return <AddressPage *> map.pages.data + (map.pages.count - 1)


cdef int address_set_begin(AddressMap *map, uint64_t used, uint64_t seed) noexcept nogil:
    """Begin a set of addresses that have no bits but those in ``used``. -1 if out of memory."""
    map.seed = seed
    while map.shift < 12 and used and not (used >> map.shift) & 1:
        map.shift += 1
    map.odd = (<uint64_t> 1 << map.shift) - 1
    return grow(map)


cdef int address_set_add(AddressMap *map, uint64_t address) noexcept nogil:
    """Add an address. -1 if out of memory."""
    cdef AddressPage *page = <AddressPage *> map.pages.data + map.last
    address >>= map.shift
    if map.pages.count == 0 or page.number != address >> 9:
        page = page_for(map, address >> 9)
        if page == NULL:
            return -1
        map.last = page - <AddressPage *> map.pages.data
    page.bits[(address >> 6) & 7] |= <uint64_t> 1 << (address & 63)
    return 0


cdef void address_set_end(AddressMap *map) noexcept nogil:
    """Count the addresses before each page and each word."""
    cdef AddressPage *pages = <AddressPage *> map.pages.data
    cdef size_t each, place, total = 0
    cdef uint64_t number
    for each in range(map.pages.count):
        pages[each].rank = <uint32_t> total
        number = 0
        for place in range(WORDS):
            pages[each].before[place] = <unsigned short> number
            number += bits_in(pages[each].bits[place])
        total += number
    map.count = total


cdef int address_map_build(AddressMap *map, const uint64_t *addresses, size_t count, uint64_t seed) noexcept nogil:
    """Number ``addresses`` in their order; of equal ones the first counts. -1 if out of memory."""
    cdef uint64_t used = 0
    cdef size_t each
    cdef int64_t rank
    for each in range(count):
        used |= addresses[each]
    if address_set_begin(map, used, seed) < 0:
        return -1
    for each in range(count):
        if address_set_add(map, addresses[each]) < 0:
            return -1
    address_set_end(map)
    map.ordinals = <uint32_t *> malloc(max(map.count, 1) * sizeof(uint32_t))
    if map.ordinals == NULL:
        return -1
    memset(map.ordinals, 0xFF, map.count * sizeof(uint32_t))
    for each in range(count):
        rank = address_rank(map, addresses[each])
        if map.ordinals[rank] == NO_NUMBER:
            map.ordinals[rank] = <uint32_t> each
    return 0


cdef class Addresses:
    """The numbers of objects by address, in the order of the array; of equal addresses the first counts."""

    cdef AddressMap map

    def __cinit__(self, const uint64_t[::1] addresses):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        cdef const uint64_t *first = NULL
        cdef size_t count = <size_t> addresses.shape[0]
        cdef int status
        address_map_init(&self.map)
        if count >= NO_NUMBER:
            raise ValueError("more addresses than there are numbers")
        if count:
            first = &addresses[0]
        with nogil:
            status = address_map_build(&self.map, first, count, seed)
        if status < 0:
            raise MemoryError

    def __dealloc__(self):
        address_map_free(&self.map)

    @property
    def count(self) -> int:
        """The number of distinct addresses."""
        return self.map.count

    def numbers(self, const uint64_t[::1] addresses, uint32_t[::1] out) -> int:
        """Fill ``out`` with the numbers of ``addresses``, 2**32 - 1 for unknown ones; return how many are unknown."""
        cdef Py_ssize_t each
        cdef int64_t number
        cdef uint64_t unknown = 0
        if addresses.shape[0] != out.shape[0]:
            raise ValueError("columns of different lengths")
        with nogil:
            for each in range(addresses.shape[0]):
                number = address_ordinal(&self.map, addresses[each])
                unknown += number < 0
                out[each] = NO_NUMBER if number < 0 else <uint32_t> number
        return unknown
