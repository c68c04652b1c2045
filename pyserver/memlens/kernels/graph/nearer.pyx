# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Distances from roots where references of more kinds are followed; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.graph.columns cimport AHEAD, NO_NUMBER, OUT_OF_RANGE, Graph, References, fail

cdef extern from *:
    """
    enum { MEMLENS_SPAN = 64, MEMLENS_FEW = 8 };

    /* in a form that compilers turn into comparisons of 16 bytes and more */
    static int memlens_has_one_of(const uint8_t *span, const uint8_t *wanted, size_t count) {
        for (size_t each = 0; each < count; each++) {
            const uint8_t one = wanted[each];
            uint8_t found = 0;
            for (int at = 0; at < MEMLENS_SPAN; at++)
                found |= span[at] == one ? 0xff : 0;
            if (found)
                return 1;
        }
        return 0;
    }
    """
    const size_t SPAN "MEMLENS_SPAN"      # references that are passed over together where none is new
    const size_t FEW "MEMLENS_FEW"              # of so many kinds that is faster than a look at each reference
    bint has_one_of "memlens_has_one_of"(const uint8_t *span, const uint8_t *wanted, size_t count) noexcept nogil

cdef enum:
    BLOCK = 4096    # references that are looked through for those that are new


cdef struct Kinds:
    const uint8_t *is_one       # an item for each number of a byte
    uint8_t number[256]         # the same as numbers
    size_t count                # of these


cdef Kinds kinds_of(const uint8_t[::1] table) noexcept:
    cdef Kinds kinds
    cdef size_t each
    kinds.is_one, kinds.count = &table[0], 0
    for each in range(256):
        if table[each]:
            kinds.number[kinds.count] = <uint8_t> each
            kinds.count += 1
    return kinds


cdef size_t listed(
    const uint8_t *kind, uint64_t begin, uint64_t end, const Kinds *kinds, uint64_t *found
) noexcept nogil:
    """List the references from ``begin`` on up to ``end`` that are of some kinds; return how many there are."""
    cdef size_t count = 0
    cdef uint64_t at, last
    while begin < end:
        last = begin + SPAN
        if last > end:
            last = end
        elif kinds.count <= FEW and not has_one_of(kind + begin, kinds.number, kinds.count):
            begin = last
            continue
        # they are unordered, so a branch would be mispredicted
        for at in range(begin, last):
            found[count] = at
            count += kinds.is_one[kind[at]] != 0
        begin = last
    return count


cdef inline size_t source_of(const uint64_t *start, size_t item, uint64_t at, size_t objects) noexcept nogil:
    """The source of a reference, ``item`` or one after it; ``objects`` if there is none."""
    cdef size_t step = 1, last, middle
    if start[item + 1] > at:
        return item
    while item + step < objects and start[item + step] <= at:
        item += step
        step *= 2
    # it is after where this begins and not after where that one does
    last = item + step if item + step < objects else objects
    while item + 1 < last:
        middle = item + (last - item) // 2
        if start[middle] <= at:
            item = middle
        else:
            last = middle
    return item if start[item + 1] > at else objects


def shorten(
    References references not None,
    const uint8_t[::1] more,
    uint32_t[::1] distance,
):
    """Lower each ``distance`` to the least number of followed references from an object at distance 0.

    It is that of all these but the kinds of ``more``; NONE for what they don't reach. Numbers of references
    are checked when they are used. Raises MemoryError, and IndexError for one that is out of range.
    """
    cdef size_t objects = distance.shape[0], first = 0, count, each
    cdef uint32_t item = 0, other, nearer
    cdef Graph graph = references.graph
    cdef uint64_t at, begin
    cdef uint64_t found[BLOCK]
    cdef uint8_t *waits
    cdef Vector queue
    cdef Kinds kinds
    cdef int status = 0
    if more.shape[0] < 256 or graph.objects != objects:
        raise ValueError("a distance for each object, an item for each kind")
    waits = <uint8_t *> calloc(objects + 1, 1)
    if waits == NULL:
        raise MemoryError
    vector_init(&queue, 4)
    kinds = kinds_of(more)
    with nogil:
        begin = 0
        while begin < graph.references and status == 0:
            # few are new: they are listed, and what they lead to is fetched ahead
            count = listed(
                graph.kind, begin,
                begin + BLOCK if begin + BLOCK < graph.references else graph.references, &kinds, found,
            )
            begin += BLOCK
            for each in range(count):
                if each + AHEAD < count and graph.target[found[each + AHEAD]] < objects:
                    prefetch(&distance[graph.target[found[each + AHEAD]]])
                at = found[each]
                item = <uint32_t> source_of(graph.start, item, at, objects) if item < objects else item
                other = graph.target[at]
                if item == objects or other >= objects:
                    status = OUT_OF_RANGE
                    break
                if distance[item] != NO_NUMBER and distance[item] + 1 < distance[other]:
                    distance[other] = distance[item] + 1
                    if not waits[other]:
                        waits[other] = 1
                        status = vector_push_u32(&queue, other)
                        if status < 0:
                            break
        # one may come again where it was reached by a longer way first
        while first < queue.count and status == 0:
            if first + 3 * AHEAD < queue.count:
                prefetch(&graph.start[(<uint32_t *> queue.data)[first + 3 * AHEAD]])
                at = graph.start[(<uint32_t *> queue.data)[first + 2 * AHEAD]]
                if at < graph.references:
                    prefetch(&graph.target[at])
                    prefetch(&graph.kind[at])
                at = graph.start[(<uint32_t *> queue.data)[first + AHEAD]]
                for each in range(AHEAD):
                    if at + each < graph.references and graph.target[at + each] < objects:
                        prefetch(&distance[graph.target[at + each]])
            item = (<uint32_t *> queue.data)[first]
            first += 1
            waits[item] = 0
            nearer = distance[item] + 1
            if not graph.start[item] <= graph.start[item + 1] <= graph.references:
                status = OUT_OF_RANGE
                break
            for at in range(graph.start[item], graph.start[item + 1]):
                other = graph.target[at]
                if other >= objects:
                    status = OUT_OF_RANGE
                    break
                if nearer < distance[other] and graph.follows[graph.kind[at]]:
                    distance[other] = nearer
                    if not waits[other]:
                        waits[other] = 1
                        status = vector_push_u32(&queue, other)
                        if status < 0:
                            break
    free(waits)
    vector_free(&queue)
    fail(status)
