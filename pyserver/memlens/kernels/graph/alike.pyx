# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which of many spans of bytes are equal: texts of strings, lists of what arrays refer to."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memset

from memlens.kernels.base.interning cimport hash_bytes
from memlens.kernels.base.large_pages cimport in_large_pages


cdef struct Slot:
    uint32_t code       # the low half of the span's hash
    uint32_t item       # the first span with these bytes, plus 1; 0 for a free slot


def first_alike(
    const uint8_t[::1] data,
    const uint64_t[::1] begin,
    const uint64_t[::1] end,
    unsigned long long seed,
    uint32_t[::1] first,
):
    """Fill ``first`` with the number of the first span that has the same bytes as each.

    Span ``i`` is ``data[begin[i]:end[i]]``; the caller has checked that it is within ``data``. ``seed`` should be
    random, so that no file can have many spans of one hash. Raises MemoryError.
    """
    cdef size_t count = begin.shape[0], room = 1024, item, place, length
    cdef const uint8_t *bytes_ = &data[0] if data.shape[0] else NULL
    cdef uint64_t start
    cdef uint32_t code, other
    while room < count * 2:
        room *= 2
    cdef Slot *slots = <Slot *> malloc(room * sizeof(Slot))
    if slots == NULL:
        raise MemoryError
    # written before it is read: what is read first is a page that all share, and that each write has to replace
    in_large_pages(slots, room * sizeof(Slot))
    with nogil:
        memset(slots, 0, room * sizeof(Slot))
        for item in range(count):
            start = begin[item]
            length = <size_t> (end[item] - start)
            code = <uint32_t> hash_bytes(bytes_ + start, length, seed)
            place = code & (room - 1)
            while True:
                if slots[place].item == 0:
                    slots[place].code = code
                    slots[place].item = <uint32_t> (item + 1)
                    first[item] = <uint32_t> item
                    break
                if slots[place].code == code:
                    other = slots[place].item - 1
                    if end[other] - begin[other] == length and memcmp(
                        bytes_ + begin[other], bytes_ + start, length
                    ) == 0:
                        first[item] = other
                        break
                place = (place + 1) & (room - 1)
    free(slots)
