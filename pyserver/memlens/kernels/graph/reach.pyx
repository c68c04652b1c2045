# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reachability and distances from some objects; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from memlens.kernels.base.large_pages cimport in_large_pages
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push_u32
from memlens.kernels.graph.columns cimport AHEAD, NO_NUMBER, Graph, References, fetch

cdef enum:
    NEAR = 1 << 23      # bytes that are soon in the processor's caches, so that fetching takes longer than waiting

ctypedef fused Mark:
    uint8_t         # 1 for what is reached
    uint32_t        # how many references lead to it at least


cdef int reach(const Graph *graph, const uint32_t[::1] sources, Mark *marks, size_t objects, Mark unmarked) except -1:
    """Mark what is reached from ``sources``, the nearest first; ``marks`` has an item for each object."""
    cdef size_t first = 0, last = 0
    cdef uint32_t item, other
    cdef uint64_t at, ahead, end
    cdef Py_ssize_t each
    cdef Mark mark
    cdef bint is_far = objects * sizeof(Mark) > NEAR
    cdef uint32_t *queue = <uint32_t *> malloc((objects + 1) * 4)
    if queue == NULL:
        raise MemoryError
    in_large_pages(queue, (objects + 1) * 4)
    with nogil:
        for each in range(<Py_ssize_t> objects):
            marks[each] = unmarked
        for each in range(sources.shape[0]):
            if marks[sources[each]] == unmarked:
                marks[sources[each]] = 0 if Mark is uint32_t else 1
                queue[last] = sources[each]
                last += 1
        while first < last:
            fetch(graph, queue, first, last)
            if is_far and first + AHEAD < last:
                ahead = graph.start[queue[first + AHEAD]]
                end = graph.start[queue[first + AHEAD] + 1]
                for at in range(ahead, end if end - ahead < AHEAD else ahead + AHEAD):
                    prefetch(&marks[graph.target[at]])
            item = queue[first]
            first += 1
            mark = marks[item] + 1 if Mark is uint32_t else 1
            for at in range(graph.start[item], graph.start[item + 1]):
                other = graph.target[at]
                if marks[other] == unmarked and graph.follows[graph.kind[at]]:
                    marks[other] = mark
                    queue[last] = other
                    last += 1
    free(queue)
    return 0


def leaders(
    const uint64_t[::1] start, const uint32_t[::1] target, uint8_t[::1] seen, const uint32_t[::1] order,
) -> Buffer:
    """Those of some objects, as ``uint32``, that aren't ``seen`` and not reachable from the ones before them.

    All that they reach is then 1 in ``seen``. Raises MemoryError.
    """
    cdef Py_ssize_t each
    cdef uint64_t at
    cdef uint32_t item, other
    cdef Vector found, waiting
    cdef int status = 0
    vector_init(&found, 4)
    vector_init(&waiting, 4)
    with nogil:
        for each in range(order.shape[0]):
            item = order[each]
            if seen[item]:
                continue
            seen[item] = 1
            if vector_push_u32(&found, item) < 0 or vector_push_u32(&waiting, item) < 0:
                status = -1
            while waiting.count and status == 0:
                waiting.count -= 1
                item = (<uint32_t *> waiting.data)[waiting.count]
                for at in range(start[item], start[item + 1]):
                    other = target[at]
                    if not seen[other]:
                        seen[other] = 1
                        status = vector_push_u32(&waiting, other)
                        if status < 0:
                            break
            if status < 0:
                break
    vector_free(&waiting)
    if status < 0:
        vector_free(&found)
        raise MemoryError
    return column_of(&found, b"I")


def distances(
    References references not None,
    const uint32_t[::1] sources,
    uint32_t[::1] distance,
):
    """Fill ``distance`` with the least number of references from any of ``sources``; NONE for unreachable objects.

    Raises MemoryError.
    """
    cdef Graph graph = references.graph
    reach(&graph, sources, &distance[0] if distance.shape[0] else NULL, distance.shape[0], NO_NUMBER)


def reached_from(
    References references not None,
    const uint32_t[::1] sources,
    uint8_t[::1] reached,
):
    """Fill ``reached`` with 1 for ``sources`` and all that they reach, else 0.

    Raises MemoryError.
    """
    cdef Graph graph = references.graph
    reach(&graph, sources, &reached[0] if reached.shape[0] else NULL, reached.shape[0], <uint8_t> 0)
