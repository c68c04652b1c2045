# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Distances from roots where references of more kinds are followed; columns as in :mod:`memlens.kernels.graph.walk`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    AHEAD = 8       # objects and references that are fetched before their turn
    BLOCK = 4096    # references that are looked through for those that are new
    OUT_OF_RANGE = -2


def shorten(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] follows,
    const uint8_t[::1] more,
    uint32_t[::1] distance,
):
    """Lower each ``distance`` to the least number of references that ``follows`` from where it is 0.

    It is that of all these but the kinds of ``more``; NONE for what they don't reach. Numbers in ``start`` and
    ``target`` are checked when they are used. Raises MemoryError, and IndexError for one that is out of range.
    """
    cdef size_t objects = distance.shape[0], first = 0, count, each
    cdef uint32_t item = 0, other, nearer
    cdef uint64_t at, begin, references = target.shape[0]
    cdef uint64_t found[BLOCK]
    cdef uint8_t *waits
    cdef Vector queue
    cdef int status = 0
    if <size_t> start.shape[0] != objects + 1 or <uint64_t> kind.shape[0] != references:
        raise ValueError("a distance for each object, a kind for each reference")
    waits = <uint8_t *> calloc(objects + 1, 1)
    if waits == NULL:
        raise MemoryError
    vector_init(&queue, 4)
    with nogil:
        begin = 0
        while begin < references and status == 0:
            # few are new, in no order, so that they are listed without a branch and then fetched ahead
            count = 0
            for at in range(begin, begin + BLOCK if begin + BLOCK < references else references):
                found[count] = at
                count += more[kind[at]] != 0
            begin += BLOCK
            for each in range(count):
                if each + AHEAD < count and target[found[each + AHEAD]] < objects:
                    prefetch(&distance[target[found[each + AHEAD]]])
                at = found[each]
                while item < objects and start[item + 1] <= at:
                    item += 1
                other = target[at]
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
                prefetch(&start[(<uint32_t *> queue.data)[first + 3 * AHEAD]])
                at = start[(<uint32_t *> queue.data)[first + 2 * AHEAD]]
                if at < references:
                    prefetch(&target[at])
                    prefetch(&kind[at])
                at = start[(<uint32_t *> queue.data)[first + AHEAD]]
                for each in range(AHEAD):
                    if at + each < references and target[at + each] < objects:
                        prefetch(&distance[target[at + each]])
            item = (<uint32_t *> queue.data)[first]
            first += 1
            waits[item] = 0
            nearer = distance[item] + 1
            if not start[item] <= start[item + 1] <= references:
                status = OUT_OF_RANGE
                break
            for at in range(start[item], start[item + 1]):
                other = target[at]
                if other >= objects:
                    status = OUT_OF_RANGE
                    break
                if nearer < distance[other] and follows[kind[at]]:
                    distance[other] = nearer
                    if not waits[other]:
                        waits[other] = 1
                        status = vector_push_u32(&queue, other)
                        if status < 0:
                            break
    free(waits)
    vector_free(&queue)
    if status == OUT_OF_RANGE:
        raise IndexError("a reference is out of range")
    if status < 0:
        raise MemoryError
