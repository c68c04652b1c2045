# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Steps from objects towards roots along shortest paths; columns as in ``columns.pxd``."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.graph.columns cimport Graph, References
from memlens.kernels.graph.left_out cimport LeftOut

cdef uint64_t NO_ROW = 0xFFFFFFFFFFFFFFFF

cdef enum:
    AHEAD = 16          # objects that are fetched before their turn


cdef struct Places:
    uint32_t *slots     # 1 more than an object's place among the items; 0 for a free slot
    size_t mask


cdef inline size_t slot_of(const Places *places, const uint32_t *items, uint32_t item) noexcept nogil:
    """The slot of an item, or the free one where it would be."""
    cdef size_t at = (<uint64_t> item * <uint64_t> 0x9E3779B97F4A7C15 >> 32) & places.mask
    while places.slots[at] and items[places.slots[at] - 1] != item:
        at = (at + 1) & places.mask
    return at


def one_up(
    References references not None,
    References referrers not None,
    const uint32_t[::1] distance,
    const uint32_t[::1] items,
    uint32_t[::1] above,
    uint64_t[::1] rows,
    uint64_t most,
    LeftOut left_out: LeftOut | None = None,
) -> int | None:
    """Fill ``above`` with what stands before each of some distinct objects, and ``rows`` with the reference's number.

    ``distance`` is the least number of followed references from a root; that of each object isn't 0. Of what
    refers to it and is nearer to a root the first is taken, and of its references to it the first. References that are
    ``left_out`` count in neither.

    Returns how many references were looked at; more than ``most`` where there are so many, and then the rest isn't
    filled in. None where nothing stands before an object, as in columns that don't belong together. Raises MemoryError.
    """
    cdef Graph graph = references.graph, back = referrers.graph
    cdef size_t each, count = items.shape[0], room = 16, slot
    cdef uint32_t item, source = 0, nearer
    cdef uint64_t at, looked = 0
    cdef bint is_whole = True, leaves_out = left_out is not None
    cdef Places places
    if above.shape[0] != items.shape[0] or rows.shape[0] != items.shape[0]:
        raise ValueError("an item for each object")
    if graph.objects != <size_t> distance.shape[0] or back.objects != graph.objects:
        raise ValueError("a distance for each object")
    if leaves_out and left_out.objects != <size_t> distance.shape[0]:
        raise ValueError("what is left out is of another graph")
    while room < 4 * count:
        room *= 2
    places.mask = room - 1
    places.slots = <uint32_t *> calloc(room, 4)
    if places.slots == NULL:
        raise MemoryError
    with nogil:
        for each in range(count):
            if each + AHEAD < count:
                prefetch(&back.start[items[each + AHEAD]])
                prefetch(&distance[items[each + AHEAD]])
            item = items[each]
            nearer = distance[item] - 1
            rows[each] = NO_ROW
            at = back.start[item]
            while at < back.start[item + 1]:
                source = back.target[at]
                if distance[source] == nearer and back.follows[back.kind[at]]:
                    if not leaves_out or left_out.is_kept(source, item, back.follows):
                        break
                at += 1
            looked += at - back.start[item]
            is_whole = at < back.start[item + 1]
            if not is_whole or looked > most:
                break
            above[each] = source
            places.slots[slot_of(&places, &items[0], item)] = <uint32_t> (each + 1)
        # each of what stands before them is looked through once, however many of them it refers to
        for each in range(count if is_whole and looked <= most else 0):
            if rows[each] != NO_ROW:
                continue
            source = above[each]
            looked += graph.start[source + 1] - graph.start[source]
            if looked > most:
                break
            for at in range(graph.start[source], graph.start[source + 1]):
                if not graph.follows[graph.kind[at]] or leaves_out and left_out.rows[at]:
                    continue
                slot = places.slots[slot_of(&places, &items[0], graph.target[at])]
                if slot and above[slot - 1] == source and rows[slot - 1] == NO_ROW:
                    rows[slot - 1] = at
            if rows[each] == NO_ROW:
                is_whole = False
                break
    free(places.slots)
    return looked if is_whole else None
