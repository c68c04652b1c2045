# The dominator tree by breadth-first numbers, for graphs in which most of what several objects refer to has no
# dominator but the root.
#
# A depth-first search waits for memory at each step, as each object is found by the one before; of a breadth-first one
# the next objects are known, and fetched. While vertices are numbered, each one's dominator is the lowest common one of
# the vertices that were found to refer to it. That is never too high, and what has come up to vertex 0 is settled; so
# is what only one vertex refers to. The rest is *contested*: its referrers' dominators may have moved up since. It is
# looked at in rounds until nothing changes. Source of the rounds and of the walk to a common dominator: Cooper, Harvey,
# Kennedy, "A Simple, Fast Dominance Algorithm" (2001); the order of vertices doesn't matter for the result, only that a
# dominator's number is the lower one.
#
# Where much is contested, rounds take longer than SEMI-NCA. That shows soon after the beginning, and is given up then.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_push_u32
from memlens.kernels.graph.vertices cimport GIVEN_UP, NO_MEMORY, NO_NUMBER, Search, Sources, add_vertex

cdef enum:
    FETCHED = 8         # vertices and references that are fetched before their turn
    STEPS_EACH = 4      # on average, for each vertex and reference
    SHARE = 8           # contested vertices may be one of so many that are settled


cdef struct Breadth:
    Search search           # the parent of a vertex is its dominator, as far as that is known
    uint8_t *contested      # of vertices: 1 for those that several refer to, until they are settled
    uint32_t scanned        # vertices whose references were followed
    uint64_t unsettled      # contested vertices
    uint64_t settled        # vertices that several refer to and vertex 0 dominates
    uint64_t allowed        # contested vertices, whatever is settled
    uint64_t left           # steps that may be taken


cdef inline void begin_breadth(
    Breadth *breadth, uint8_t *contested, size_t space, uint64_t references, uint64_t allowed
) noexcept nogil:
    """Begin with no vertex. ``space`` is that of ``contested``."""
    memset(contested, 0, space)
    breadth.contested, breadth.allowed = contested, allowed
    breadth.scanned, breadth.unsettled, breadth.settled = 0, 0, 0
    breadth.left = STEPS_EACH * (space + references)


cdef inline uint32_t common(Breadth *breadth, uint32_t one, uint32_t other) noexcept nogil:
    """The lowest vertex that dominates both, or is one of them."""
    cdef const uint32_t *above = breadth.search.parent
    cdef uint64_t steps = 0
    while one != other:
        steps += 1
        if one > other:
            one = above[one]
        else:
            other = above[other]
    breadth.left -= min(steps, breadth.left)
    return one


cdef inline void fetch_next(const Breadth *breadth, uint32_t vertex) noexcept nogil:
    """Let the processor fetch what the next vertices' references need, each step by what the step before fetched."""
    cdef const Search *search = &breadth.search
    cdef uint64_t at, end
    cdef uint32_t item, number
    if vertex + 3 * FETCHED >= search.count:
        return
    prefetch(&search.start[search.order[vertex + 3 * FETCHED]])
    at = search.start[search.order[vertex + 2 * FETCHED]]
    prefetch(&search.target[at])
    if search.kind != NULL:
        prefetch(&search.kind[at])
    item = search.order[vertex + FETCHED]
    at, end = search.start[item], search.start[item + 1]
    for at in range(at, end if end - at < FETCHED else at + FETCHED):
        prefetch(&search.number[search.target[at]])
    item = search.order[vertex + FETCHED // 2]
    at, end = search.start[item], search.start[item + 1]
    for at in range(at, end if end - at < FETCHED else at + FETCHED):
        number = search.number[search.target[at]]
        if number != NO_NUMBER:
            prefetch(&search.parent[number])


cdef inline int spread(Search *search, uint32_t _vertex) noexcept nogil:
    """Number everything that vertices reach whose references weren't followed yet. ``search`` is a Breadth's."""
    cdef Breadth *breadth = <Breadth *> search
    cdef uint32_t vertex, item, other, known, met
    cdef uint64_t at
    if breadth.scanned == 0 and search.order[0] == NO_NUMBER:
        breadth.scanned = 1
    while breadth.scanned < search.count:
        vertex = breadth.scanned
        breadth.scanned += 1
        fetch_next(breadth, vertex)
        item = search.order[vertex]
        for at in range(search.start[item], search.start[item + 1]):
            if not (search.kind == NULL or search.retains[search.kind[at]]):
                continue
            other = search.number[search.target[at]]
            if other == NO_NUMBER:
                add_vertex(search, search.target[at], vertex)
                continue
            known = search.parent[other]
            if known == 0 or known == vertex or other == vertex or other < search.apart <= vertex:
                continue
            met = common(breadth, known, vertex)
            search.parent[other] = met
            if met == 0:
                breadth.settled += 1
                breadth.unsettled -= breadth.contested[other]
                breadth.contested[other] = 0
            elif not breadth.contested[other]:
                breadth.contested[other] = 1
                breadth.unsettled += 1
                if breadth.unsettled > breadth.allowed + breadth.settled // SHARE:
                    return GIVEN_UP
        if breadth.left == 0:
            return GIVEN_UP
    return 0


cdef inline uint32_t common_of_referrers(Breadth *breadth, const Sources *sources, uint32_t vertex) noexcept nogil:
    """The lowest vertex that dominates all that refer to one, as far as dominators are known."""
    cdef const Search *search = &breadth.search
    cdef uint32_t item = search.order[vertex], met = search.parent[vertex], other
    cdef uint64_t at
    for at in range(sources.start[item], sources.start[item + 1]):
        other = search.number[sources.source[at]]
        if vertex < search.apart <= other or not (sources.kind == NULL or sources.retains[sources.kind[at]]):
            continue
        met = common(breadth, met, other)
        if met == 0:
            break
    breadth.left -= min(sources.start[item + 1] - sources.start[item], breadth.left)
    return met


cdef inline int settle(Breadth *breadth, const Sources *sources, Vector *contested) noexcept nogil:
    """Find the dominators of contested vertices; their numbers are kept in ``contested``.

    What moves one up may be among the vertices before it or behind it, so rounds go up and down in turn.
    """
    cdef uint32_t *above = breadth.search.parent
    cdef uint32_t vertex, met
    cdef size_t each
    cdef bint changed = True, downward = False
    contested.count = 0
    for vertex in range(1, breadth.search.count):
        if breadth.contested[vertex] and vector_push_u32(contested, vertex) < 0:
            return NO_MEMORY
    while changed:
        changed = False
        for each in range(contested.count):
            vertex = (<uint32_t *> contested.data)[contested.count - 1 - each if downward else each]
            if above[vertex] == 0:
                continue
            met = common_of_referrers(breadth, sources, vertex)
            if met != above[vertex]:
                above[vertex] = met
                changed = True
            if breadth.left == 0:
                return GIVEN_UP
        downward = not downward
    return 0
