# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Distances from roots where references of more kinds are followed; columns as in :mod:`memlens.kernels.graph.walk`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    AHEAD = 8       # objects and references that are fetched before their turn


def shorten(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] follows,
    const uint8_t[::1] more,
    uint32_t[::1] distance,
):
    """Lower each ``distance`` to the least number of references that ``follows`` from where it is 0.

    It is that of all these but the kinds of ``more``; NONE for what they don't reach. Raises MemoryError.
    """
    cdef size_t objects = distance.shape[0], first = 0
    cdef uint32_t item = 0, other, nearer
    cdef uint64_t at
    cdef uint8_t *waits = <uint8_t *> calloc(objects + 1, 1)
    cdef Vector queue
    cdef int status = 0
    if waits == NULL:
        raise MemoryError
    vector_init(&queue, 4)
    with nogil:
        for at in range(<uint64_t> target.shape[0]):
            if not more[kind[at]]:
                continue
            while start[item + 1] <= at:
                item += 1
            other = target[at]
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
                prefetch(&target[start[(<uint32_t *> queue.data)[first + 2 * AHEAD]]])
            item = (<uint32_t *> queue.data)[first]
            first += 1
            waits[item] = 0
            nearer = distance[item] + 1
            for at in range(start[item], start[item + 1]):
                other = target[at]
                if nearer < distance[other] and follows[kind[at]]:
                    distance[other] = nearer
                    if not waits[other]:
                        waits[other] = 1
                        status = vector_push_u32(&queue, other)
                        if status < 0:
                            break
    free(waits)
    vector_free(&queue)
    if status < 0:
        raise MemoryError
