# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The tree of shortest paths from the roots; columns as in ``columns.pxd``."""

from libc.stdint cimport uint32_t, uint64_t

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.columns cimport AHEAD, NO_NUMBER, Graph, References, fail, fetch


def first_found(
    References references not None,
    const uint32_t[::1] sources,
    uint32_t[::1] order,
    uint32_t[::1] parent,
    Work work not None,
) -> int | None:
    """Search breadth first from ``sources``, in their order, through references in theirs.

    ``order`` gets the objects that are reached, in the order in which they are, and ``parent`` the object from which
    each was reached first: NONE for sources and for what they don't reach. Both have an item for each object. Returns
    how many are reached, None where ``work`` was stopped.
    """
    cdef Graph graph = references.graph
    cdef size_t objects = parent.shape[0], first = 0, last = 0
    cdef uint32_t item, other
    cdef uint64_t at, ahead, end
    cdef Py_ssize_t each
    cdef int status = 0
    if order.shape[0] != parent.shape[0] or graph.objects != objects:
        raise ValueError("an item for each object")
    with nogil:
        for item in range(<uint32_t> objects):
            parent[item] = NO_NUMBER
        # until the end a source is its own parent, which tells it from what isn't reached
        for each in range(sources.shape[0]):
            if parent[sources[each]] == NO_NUMBER:
                parent[sources[each]] = sources[each]
                order[last] = sources[each]
                last += 1
        while first < last:
            if first % LOOK_EVERY == 0 and look(work, first, objects, 0, 100) < 0:
                status = STOPPED
                break
            fetch(&graph, &order[0], first, last)
            if first + AHEAD < last:
                ahead = graph.start[order[first + AHEAD]]
                end = graph.start[order[first + AHEAD] + 1]
                for at in range(ahead, end if end - ahead < AHEAD else ahead + AHEAD):
                    prefetch(&parent[graph.target[at]])
            item = order[first]
            first += 1
            for at in range(graph.start[item], graph.start[item + 1]):
                other = graph.target[at]
                if parent[other] == NO_NUMBER and graph.follows[graph.kind[at]]:
                    parent[other] = item
                    order[last] = other
                    last += 1
        for each in range(sources.shape[0]):
            parent[sources[each]] = NO_NUMBER
    return fail(status, last)


def sum_below(
    const uint32_t[::1] order, const uint32_t[::1] parent, const uint64_t[::1] own, uint64_t[::1] total
):
    """Fill ``total`` with what each object has of ``own``, and everything below it in a tree of :func:`first_found`.

    ``order`` are the objects that are reached; others have what is their own.
    """
    cdef size_t item, at = order.shape[0]
    cdef uint32_t one
    if not own.shape[0] == total.shape[0] == parent.shape[0] or at > <size_t> own.shape[0]:
        raise ValueError("an item for each object")
    with nogil:
        for item in range(<size_t> own.shape[0]):
            total[item] = own[item]
        while at > 0:
            at -= 1
            one = order[at]
            if at >= 2 * AHEAD:
                prefetch(&parent[order[at - 2 * AHEAD]])
                prefetch(&total[order[at - 2 * AHEAD]])
                if parent[order[at - AHEAD]] != NO_NUMBER:
                    prefetch(&total[parent[order[at - AHEAD]]])
            if parent[one] != NO_NUMBER:
                total[parent[one]] += total[one]
