# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The dominator tree of a graph of objects.

An object's immediate dominator is the last object that every path from a root to it passes through; without it the
object would be garbage. SEMI-NCA computes it: Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems"
(Princeton, 2005), section 2.2.

Objects that take part are *vertices*, numbered in depth-first preorder, so that a dominator's number is lower than
those of what it dominates; ``order`` has the object of each vertex. Vertex 0 is the graph's own root, or one that isn't
an object (NONE) and refers to all roots. Nothing recurses: chains of millions of objects are common.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push, vector_push_u32

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define memlens_prefetch(address) __builtin_prefetch(address, 1, 1)
    #else
    #define memlens_prefetch(address) ((void) (address))
    #endif
    """
    void prefetch "memlens_prefetch"(const void *address) noexcept nogil

cdef enum:
    NO_MEMORY = -1
    AHEAD = 8           # references whose targets are fetched before their turn

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

NONE = 0xFFFFFFFF


cdef struct Search:
    const uint64_t *start
    const uint32_t *target
    const uint8_t *kind
    const uint8_t *retains
    uint32_t *number        # of objects: their vertex
    uint32_t *order         # of vertices: their object
    uint32_t *parent        # of vertices: their parent in the depth-first tree
    uint64_t *incoming      # of vertices: how many references to them count
    uint32_t count          # vertices so far
    uint32_t reachable      # references from vertices of at least this number to lower ones don't count
    Vector cursors          # of the path to the current vertex: the next reference of each


cdef inline uint32_t add_vertex(Search *search, uint32_t item, uint32_t parent) noexcept nogil:
    cdef uint32_t vertex = search.count
    search.number[item] = vertex
    search.order[vertex] = item
    search.parent[vertex] = parent
    search.count += 1
    return vertex


cdef int visit(Search *search, uint32_t vertex) noexcept nogil:
    """Number everything that a vertex reaches and that has no number yet."""
    cdef uint32_t current = vertex, other, found, item = search.order[vertex]
    cdef uint64_t at = search.start[item], end = search.start[item + 1], ahead
    search.cursors.count = 0
    while True:
        found = NO_NUMBER
        while at < end:
            if search.retains[search.kind[at]]:
                item = search.target[at]
                other = search.number[item]
                if other == NO_NUMBER:
                    found = item
                    at += 1
                    break
                if not (other < search.reachable <= current):
                    search.incoming[other] += 1
            at += 1
        if found != NO_NUMBER:
            if vector_push(&search.cursors, &at) < 0:
                return NO_MEMORY
            current = add_vertex(search, found, current)
            search.incoming[current] += 1
            at = search.start[found]
            end = search.start[found + 1]
            # these lie anywhere in memory: wait for all of them at once, and not for one after another
            for ahead in range(at, end if end - at < AHEAD else at + AHEAD):
                prefetch(&search.number[search.target[ahead]])
                prefetch(&search.start[search.target[ahead]])
            continue
        if search.cursors.count == 0:
            return 0
        current = search.parent[current]
        search.cursors.count -= 1
        at = (<uint64_t *> search.cursors.data)[search.cursors.count]
        end = search.start[search.order[current] + 1]


cdef int attach_rest(Search *search, uint32_t objects, uint8_t *held) noexcept nogil:
    """Hang what has no number yet below vertex 0: first what nothing refers to, then what is left, in cycles."""
    cdef uint32_t item
    cdef uint64_t at
    for item in range(objects):
        if search.number[item] == NO_NUMBER:
            for at in range(search.start[item], search.start[item + 1]):
                if search.retains[search.kind[at]] and search.target[at] != item:
                    held[search.target[at]] = 1
    for item in range(objects):
        if search.number[item] == NO_NUMBER and not held[item]:
            if visit(search, add_vertex(search, item, 0)) < 0:
                return NO_MEMORY
    for item in range(objects):
        if search.number[item] == NO_NUMBER and visit(search, add_vertex(search, item, 0)) < 0:
            return NO_MEMORY
    return 0


cdef void gather(Search *search, uint32_t *sources) noexcept nogil:
    """Write the sources of each vertex's references; ``incoming`` becomes where each vertex's begin."""
    cdef uint32_t vertex, other, item
    cdef uint64_t at, total = 0
    # ends now, and beginnings once each source was written before the one before
    for vertex in range(search.count):
        total += search.incoming[vertex]
        search.incoming[vertex] = total
    search.incoming[search.count] = total
    for vertex in range(search.count):
        item = search.order[vertex]
        if vertex + 2 * AHEAD < search.count:
            prefetch(&search.start[search.order[vertex + 2 * AHEAD]])
            for at in range(search.start[search.order[vertex + AHEAD]], search.start[search.order[vertex + AHEAD] + 1]):
                prefetch(&search.number[search.target[at]])
        if item == NO_NUMBER:
            continue
        for at in range(search.start[item], search.start[item + 1]):
            if search.retains[search.kind[at]]:
                other = search.number[search.target[at]]
                if not (other < search.reachable <= vertex):
                    search.incoming[other] -= 1
                    sources[search.incoming[other]] = vertex


cdef inline int best_label(
    uint32_t vertex, uint32_t linked, uint32_t *ancestor, uint32_t *label, Vector *path, uint32_t *best
) noexcept nogil:
    """The lowest label between a vertex and its lowest ancestor that is not yet linked; paths are shortened."""
    cdef uint32_t *passed
    cdef size_t depth
    cdef uint32_t one, lowest, last
    if ancestor[vertex] < linked:
        best[0] = label[vertex]
        return 0
    path.count = 0
    one = vertex
    while ancestor[one] >= linked:
        if vector_push(path, &one) < 0:
            return NO_MEMORY
        one = ancestor[one]
    lowest = label[one]
    last = ancestor[one]
    passed = <uint32_t *> path.data
    depth = path.count
    while depth:
        depth -= 1
        one = passed[depth]
        if label[one] < lowest:
            lowest = label[one]
        label[one] = lowest
        ancestor[one] = last
    best[0] = lowest
    return 0


cdef int semi_nca(
    uint32_t count, const uint64_t *begin, const uint32_t *sources,
    const uint32_t *parent, const uint8_t *fixed, uint32_t *ancestor, uint32_t *label, uint32_t *idom, Vector *path,
) noexcept nogil:
    """Fill ``idom`` with each vertex's immediate dominator. ``fixed`` vertices are held by vertex 0 itself."""
    cdef uint32_t vertex, semi, best
    cdef uint64_t at
    for vertex in range(count):
        ancestor[vertex] = parent[vertex]
        label[vertex] = vertex
    idom[0] = 0
    vertex = count
    while vertex > 1:
        vertex -= 1
        semi = 0 if fixed[vertex] else parent[vertex]
        if vertex > AHEAD:
            for at in range(begin[vertex - AHEAD], begin[vertex - AHEAD + 1]):
                prefetch(&ancestor[sources[at]])
                prefetch(&label[sources[at]])
        for at in range(begin[vertex], begin[vertex + 1]):
            best = sources[at]
            if best > vertex and best_label(best, vertex + 1, ancestor, label, path, &best) < 0:
                return NO_MEMORY
            if best < semi:
                semi = best
        label[vertex] = semi
        idom[vertex] = semi
    for vertex in range(1, count):
        semi = idom[vertex]
        best = parent[vertex]
        while best > semi:
            best = idom[best]
        idom[vertex] = best
    return 0


def dominators(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] retains,
    const uint32_t[::1] roots,
    long long root,
    bint attach,
    uint32_t[::1] order,
    uint32_t[::1] idom,
    room,
):
    """Number vertices and compute dominators.

    Returns how many vertices there are, how many of them are reachable, and the immediate dominators of the reachable
    ones without ``attach``, where that may change one, else None.

    ``start``, ``target`` and ``kind`` are references by source; those count whose kind ``retains`` (an item for each
    number of a byte). ``root`` is the graph's own root, or -1, and the search begins at ``roots``. Objects that it
    doesn't reach follow as vertices: vertex 0 holds them; their references to reachable objects count only with
    ``attach``: vertex 0 then holds these as well. ``order`` and ``idom`` have room for one vertex more than objects.
    ``room(items, type)`` returns a column for the work: about 25 bytes an object and 4 a reference in all. Targets and
    roots must be numbers of objects, and kinds below the items of ``retains``. Raises MemoryError.
    """
    cdef uint32_t objects = <uint32_t> (start.shape[0] - 1), vertex, reachable
    cdef size_t space = <size_t> objects + 2
    cdef Search search
    cdef Vector path, crossing
    cdef uint8_t[::1] held = room(space, "u1")
    cdef uint32_t[::1] label = room(space, "u4")
    cdef uint32_t[::1] number = room(space, "u4")
    cdef uint32_t[::1] parent = room(space, "u4")
    cdef uint64_t[::1] incoming = room(space, "u8")
    cdef uint32_t[::1] sources
    cdef uint32_t[::1] alone
    cdef object column = None
    cdef int status = 0
    cdef Py_ssize_t each
    vector_init(&search.cursors, 8)
    vector_init(&path, 4)
    vector_init(&crossing, 4)
    search.start = &start[0]
    search.target = &target[0] if target.shape[0] else NULL
    search.kind = &kind[0] if kind.shape[0] else NULL
    search.retains = &retains[0]
    search.order = &order[0]
    search.number, search.parent, search.incoming = &number[0], &parent[0], &incoming[0]
    search.count = 0
    search.reachable = 0
    try:
        with nogil:
            memset(&held[0], 0, space)
            memset(search.incoming, 0, space * 8)
            for vertex in range(objects):
                search.number[vertex] = NO_NUMBER
            search.parent[0] = 0
            if root >= 0:
                add_vertex(&search, <uint32_t> root, 0)
                status = visit(&search, 0)
            else:
                search.order[0] = NO_NUMBER
                search.count = 1
                for each in range(roots.shape[0]):
                    if status == 0 and search.number[roots[each]] == NO_NUMBER:
                        status = visit(&search, add_vertex(&search, roots[each], 0))
            reachable = search.reachable = search.count
            if status == 0:
                status = attach_rest(&search, objects, &held[0])
            # reachable objects that unreachable ones refer to
            for vertex in range(objects if attach else 0):
                if status == 0 and held[vertex] and search.number[vertex] < reachable:
                    status = vector_push_u32(&crossing, search.number[vertex])
        if status < 0:
            raise MemoryError
        sources = room(total_of(&search) + 1, "u4")
        if crossing.count:
            column = room(reachable, "u4")
            alone = column
        with nogil:
            gather(&search, &sources[0])
            # held directly by vertex 0, whatever else refers to them
            for vertex in range(objects):
                held[vertex] = 0
            for vertex in range(1, search.count):
                if search.parent[vertex] == 0:
                    held[vertex] = 1
            if root < 0:
                for each in range(roots.shape[0]):
                    held[search.number[roots[each]]] = 1
            # numbers of objects aren't needed any more
            if crossing.count:
                status = semi_nca(
                    reachable, search.incoming, &sources[0], search.parent, &held[0], search.number, &label[0],
                    &alone[0], &path
                )
                for each in range(<Py_ssize_t> crossing.count):
                    held[(<uint32_t *> crossing.data)[each]] = 1
            if status == 0:
                status = semi_nca(
                    search.count, search.incoming, &sources[0], search.parent, &held[0], search.number, &label[0],
                    &idom[0], &path
                )
        if status < 0:
            raise MemoryError
        return search.count, reachable, column
    finally:
        vector_free(&search.cursors)
        vector_free(&path)
        vector_free(&crossing)


cdef uint64_t total_of(const Search *search) noexcept nogil:
    cdef uint64_t total = 0
    cdef uint32_t vertex
    for vertex in range(search.count):
        total += search.incoming[vertex]
    return total


def retained_sizes(
    const uint32_t[::1] order,
    const uint32_t[::1] idom,
    Py_ssize_t count,
    const uint64_t[::1] shallow,
    uint64_t[::1] retained,
):
    """Sum up what each of ``count`` vertices dominates, itself included: ``retained`` has an item per vertex.

    ``shallow`` has an item per object. Vertices are in preorder, so one pass from the last to the first suffices.
    """
    cdef Py_ssize_t vertex
    with nogil:
        for vertex in range(count):
            retained[vertex] = shallow[order[vertex]] if order[vertex] != NO_NUMBER else 0
        for vertex in range(count - 1, 0, -1):
            retained[idom[vertex]] += retained[vertex]


def by_object(
    const uint32_t[::1] order,
    const uint32_t[::1] idom,
    const uint64_t[::1] of_vertex,
    uint32_t[::1] dominator,
    uint64_t[::1] retained,
):
    """Fill in the dominator and the retained bytes of each object.

    NONE dominates vertex 0 and, where that is no object, those that it dominates.
    """
    cdef Py_ssize_t vertex, count = order.shape[0]
    cdef uint32_t item
    with nogil:
        for vertex in range(count):
            item = order[vertex]
            if item != NO_NUMBER:
                dominator[item] = order[idom[vertex]] if vertex else NO_NUMBER
                retained[item] = of_vertex[vertex]
