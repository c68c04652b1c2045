# Objects in the order of their distances, for walks that go through a graph level by level.

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_reserve


cdef inline int by_distance(Vector *items, const uint32_t *distance) noexcept nogil:
    """Order some objects by their distances, which are all known; -1 without memory."""
    cdef size_t each, levels, place, count
    cdef uint32_t nearest = 0xFFFFFFFF, farthest = 0, far
    cdef uint32_t *numbers = <uint32_t *> items.data
    cdef size_t *begins
    cdef Vector ordered
    if items.count < 2:
        return 0
    for each in range(items.count):
        far = distance[numbers[each]]
        if far < nearest:
            nearest = far
        if far > farthest:
            farthest = far
    levels = <size_t> (farthest - nearest) + 1
    begins = <size_t *> calloc(levels, sizeof(size_t))
    vector_init(&ordered, 4)
    if begins == NULL or vector_reserve(&ordered, items.count) < 0:
        free(begins)
        return -1
    for each in range(items.count):
        begins[distance[numbers[each]] - nearest] += 1
    place = 0
    for each in range(levels):
        count = begins[each]
        begins[each] = place
        place += count
    for each in range(items.count):
        far = distance[numbers[each]] - nearest
        (<uint32_t *> ordered.data)[begins[far]] = numbers[each]
        begins[far] += 1
    ordered.count = items.count
    free(begins)
    vector_free(items)
    items.data, items.count, items.room = ordered.data, ordered.count, ordered.room
    return 0
