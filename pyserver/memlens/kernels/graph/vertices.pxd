# Objects numbered as vertices of a graph of references, whichever way a search goes through it.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector

cdef extern from *:
    """
    #include <stdint.h>
    #define MEMLENS_NO_NUMBER UINT32_C(0xFFFFFFFF)
    """
    const uint32_t NO_NUMBER "MEMLENS_NO_NUMBER"

cdef enum:
    NO_MEMORY = -1
    GIVEN_UP = -2       # by a search that would take too long


cdef struct Search:
    const uint64_t *start
    const uint32_t *target
    const uint8_t *kind     # NULL where all references count
    const uint8_t *retains
    const uint32_t *first   # of objects: the target of the first reference; NO_NUMBER where that doesn't count
    const uint32_t *later   # of objects: where some first references lead to
    uint64_t *seen          # of objects: a bit for those that have a vertex; it stays in the processor's cache
    uint32_t *number        # of objects: their vertex
    uint32_t *order         # of vertices: their object
    uint32_t *parent        # of vertices: the one from which they were found
    uint32_t count          # vertices so far
    uint32_t apart          # references from vertices of at least this number to lower ones don't count
    Vector cursors          # of the path to the current vertex, those with references left


# numbers everything that a vertex reaches and that has no number yet; 0, or a status below
ctypedef int (*Visit)(Search *search, uint32_t vertex) noexcept nogil


cdef inline bint is_seen(const Search *search, uint32_t item) noexcept nogil:
    return search.seen[item >> 6] >> (item & 63) & 1


cdef inline uint32_t add_vertex(Search *search, uint32_t item, uint32_t parent) noexcept nogil:
    cdef uint32_t vertex = search.count
    search.seen[item >> 6] |= <uint64_t> 1 << (item & 63)
    search.number[item] = vertex
    search.order[vertex] = item
    search.parent[vertex] = parent
    search.count += 1
    return vertex


cdef inline int number_all(
    Search *search, Visit visit, bint together, uint32_t objects, const uint32_t *roots, Py_ssize_t root_count,
    long long root, uint8_t *held
) noexcept nogil:
    """Number all objects: what ``root``, or without one the ``roots``, reach, and then the rest below vertex 0.

    ``together``, all roots are numbered before what they reach. ``held`` gets 1 for what unreachable objects refer to.
    """
    cdef Py_ssize_t each
    cdef uint32_t vertex
    cdef int status = 0
    memset(held, 0, <size_t> objects + 2)
    memset(search.number, 0xFF, (<size_t> objects + 2) * 4)
    memset(search.seen, 0, ((<size_t> objects + 2) // 64 + 1) * 8)
    search.count, search.apart, search.parent[0] = 0, NO_NUMBER, 0
    if root >= 0:
        status = visit(search, add_vertex(search, <uint32_t> root, 0))
    else:
        search.order[0] = NO_NUMBER
        search.count = 1
        for each in range(root_count):
            if status == 0 and search.number[roots[each]] == NO_NUMBER:
                vertex = add_vertex(search, roots[each], 0)
                if not together:
                    status = visit(search, vertex)
        if status == 0 and together:
            status = visit(search, 1)
    search.apart = search.count
    return attach_rest(search, visit, objects, held) if status == 0 else status


cdef inline int attach_rest(Search *search, Visit visit, uint32_t objects, uint8_t *held) noexcept nogil:
    """Hang what has no number yet below vertex 0: first what nothing refers to, then what is left, in cycles."""
    cdef uint32_t item
    cdef uint64_t at
    cdef int status = 0
    if search.count - (search.order[0] == NO_NUMBER) == objects:
        return 0
    for item in range(objects):
        if search.number[item] == NO_NUMBER:
            for at in range(search.start[item], search.start[item + 1]):
                if (search.kind == NULL or search.retains[search.kind[at]]) and search.target[at] != item:
                    held[search.target[at]] = 1
    for item in range(objects):
        if status == 0 and search.number[item] == NO_NUMBER and not held[item]:
            status = visit(search, add_vertex(search, item, 0))
    for item in range(objects):
        if status == 0 and search.number[item] == NO_NUMBER:
            status = visit(search, add_vertex(search, item, 0))
    return status


cdef struct Sources:
    const uint64_t *start       # of objects: where their referrers begin
    const uint32_t *source
    const uint8_t *kind         # NULL where all references count
    const uint8_t *retains
    uint32_t apart              # as of the search
