# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The dominator tree of a graph of objects.

An object's immediate dominator is the last object that every path from a root to it passes through; without it the
object would be garbage. SEMI-NCA computes it: Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems"
(Princeton, 2005), section 2.2; or, where that is faster, a breadth-first search and some rounds
(``breadth_first.pxd``).

Objects that take part are *vertices*, numbered in depth-first preorder for SEMI-NCA, else breadth-first, so that a
dominator's number is lower than those of what it dominates; ``order`` has the object of each vertex. Vertex 0 is the
graph's own root, or one that isn't an object (NONE) and refers to all roots. Nothing recurses: chains of millions of
objects are common.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32, vector_reserve
from memlens.kernels.graph.columns cimport Graph, References
from memlens.kernels.graph.breadth_first cimport Breadth, begin_breadth, settle, spread
from memlens.kernels.graph.vertices cimport (
    GIVEN_UP, NO_MEMORY, NO_NUMBER, Search, Sources, add_vertex, is_seen, number_all
)

cdef enum:
    AHEAD = 8           # references, and vertices, that are fetched before their turn
    FAR_AHEAD = 32
    STEPS = 4           # of a path down along first references, likewise
    BATCH = 256         # vertices whose referrers are read together
    HELD = 1024         # referrers, likewise
    CONTESTED = 1024    # vertices that may be left to rounds, whatever is settled

NONE = 0xFFFFFFFF


cdef struct Cursor:
    uint64_t at             # the next reference
    uint64_t end
    uint32_t vertex
    uint32_t unused


cdef int visit(Search *search, uint32_t vertex) noexcept nogil:
    """Number everything that a vertex reaches and that has no number yet.

    An object's number, its references and what these lead to are each anywhere in memory. ``first`` has the next
    object without a look at the references, so that a path down takes one access to memory for each object, not two;
    and each such object waits for the one before, unless ``later`` has led there already.
    """
    cdef uint32_t item = search.order[vertex], further
    cdef uint64_t ahead, last
    cdef Cursor now
    cdef const uint64_t *start = search.start
    cdef const uint32_t *target = search.target
    cdef const uint32_t *first = search.first
    now.at, now.end, now.vertex, now.unused = start[item], start[item + 1], vertex, 0
    search.cursors.count = 0
    while True:
        while now.at < now.end:
            item = target[now.at]
            now.at += 1
            if is_seen(search, item) or not (search.kind == NULL or search.retains[search.kind[now.at - 1]]):
                continue
            # down, as far as first references lead
            while True:
                if now.at < now.end:
                    prefetch(&target[now.at])
                    if search.kind != NULL:
                        prefetch(&search.kind[now.at])
                    if search.cursors.count == search.cursors.room:
                        if vector_reserve(&search.cursors, search.cursors.count + 1) < 0:
                            return NO_MEMORY
                    (<Cursor *> search.cursors.data)[search.cursors.count] = now
                    search.cursors.count += 1
                now.vertex = add_vertex(search, item, now.vertex)
                now.at = start[item]
                now.end = start[item + 1]
                item = first[item]
                if item == NO_NUMBER or is_seen(search, item):
                    break
                now.at += 1
                further = search.later[item]
                if further != NO_NUMBER:
                    prefetch(&start[further])
                    prefetch(&first[further])
                    prefetch(&search.later[further])
            # these lie anywhere in memory: wait for all of them at once, and not for one after another
            last = now.end if now.end - now.at < AHEAD else now.at + AHEAD
            for ahead in range(now.at, last):
                item = target[ahead]
                if not is_seen(search, item):
                    prefetch(&start[item])
                    prefetch(&first[item])
        if search.cursors.count == 0:
            return 0
        search.cursors.count -= 1
        now = (<Cursor *> search.cursors.data)[search.cursors.count]
        if search.cursors.count >= AHEAD:
            # after a long way down, what was fetched then is no longer in the cache
            ahead = (<Cursor *> search.cursors.data)[search.cursors.count - AHEAD].at
            prefetch(&target[ahead])
            if search.kind != NULL:
                prefetch(&search.kind[ahead])


cdef void find_first(const Search *search, uint32_t objects, uint32_t *first) noexcept nogil:
    """Fill in the target of each object's first reference."""
    cdef uint32_t item
    cdef uint64_t at
    for item in range(objects):
        at = search.start[item]
        first[item] = NO_NUMBER
        if at < search.start[item + 1] and (search.kind == NULL or search.retains[search.kind[at]]):
            first[item] = search.target[at]


cdef void follow_twice(const uint32_t *after, uint32_t objects, uint32_t *later) noexcept nogil:
    """Fill in where each object leads in twice as many steps as those that ``after`` has."""
    cdef uint32_t item, other
    for item in range(objects):
        if item + FAR_AHEAD < objects:
            other = after[item + FAR_AHEAD]
            if other != NO_NUMBER:
                prefetch(&after[other])
        other = after[item]
        later[item] = after[other] if other != NO_NUMBER else NO_NUMBER


cdef struct Link:
    uint32_t ancestor
    uint32_t label


cdef inline int best_label(uint32_t vertex, uint32_t linked, Link *links, Vector *path, uint32_t *best) noexcept nogil:
    """The lowest label between a vertex and its lowest ancestor that is not yet linked; paths are shortened."""
    cdef uint32_t *passed
    cdef size_t depth
    cdef uint32_t one, lowest, last
    if links[vertex].ancestor < linked:
        best[0] = links[vertex].label
        return 0
    path.count = 0
    one = vertex
    while links[one].ancestor >= linked:
        if vector_push_u32(path, one) < 0:
            return NO_MEMORY
        one = links[one].ancestor
    lowest = links[one].label
    last = links[one].ancestor
    passed = <uint32_t *> path.data
    depth = path.count
    while depth:
        depth -= 1
        one = passed[depth]
        if links[one].label < lowest:
            lowest = links[one].label
        links[one].label = lowest
        links[one].ancestor = last
    best[0] = lowest
    return 0


cdef struct Batch:
    # some vertices, the highest first, and referrers of them: numbers of vertices, but while they are read of objects
    uint64_t begin[BATCH]       # of vertices: where the referrers that are left begin among ``source``
    uint64_t end[BATCH]
    uint32_t counts[BATCH]      # of vertices: how many referrers are in ``held``
    uint32_t held[HELD + 2 * AHEAD]     # what lies behind them is only fetched


cdef uint32_t take_vertices(
    const Search *search, const Sources *sources, const uint8_t *fixed, uint32_t last, Batch *batch, uint32_t *semi
) noexcept nogil:
    """Begin with vertices below ``last``: set what of ``semi`` is known, and find their referrers; return how many."""
    cdef uint32_t each, item, vertex, count = last - 1 if last - 1 < BATCH else BATCH
    for each in range(count):
        item = search.order[last - 1 - each]
        batch.begin[each] = sources.start[item]
        batch.end[each] = sources.start[item + 1]
    for each in range(count):
        vertex = last - 1 - each
        semi[vertex] = 0 if fixed[vertex] else search.parent[vertex]
        if fixed[vertex] or batch.end[each] == batch.begin[each] + 1:
            # the only referrer is the parent
            batch.end[each] = batch.begin[each]
            continue
        prefetch(&sources.source[batch.begin[each]])
        if sources.kind != NULL:
            prefetch(&sources.kind[batch.begin[each]])
    return count


cdef uint32_t take_referrers(
    const Search *search, const Sources *sources, Batch *batch, uint32_t each, uint32_t count
) noexcept nogil:
    """Fill ``held`` with those of vertex ``each`` of the batch and the next ones; return the first that has some left.

    These are anywhere in memory, and so are the numbers of their vertices: each step is done for all of them at once.
    """
    cdef uint32_t *held = batch.held
    cdef size_t filled = 0, place
    cdef uint64_t at, end
    while each < count:
        at, end = batch.begin[each], batch.end[each]
        if end - at > HELD - filled:
            end = at + (HELD - filled)
        place = filled
        while at < end:
            if sources.kind == NULL or sources.retains[sources.kind[at]]:
                held[filled] = sources.source[at]
                prefetch(&search.number[held[filled]])
                filled += 1
            at += 1
        batch.counts[each] = <uint32_t> (filled - place)
        batch.begin[each] = at
        if at < batch.end[each]:
            break
        each += 1
    for place in range(filled):
        held[place] = search.number[held[place]]
    return each


cdef inline int lower_semi(
    const Sources *sources, Link *links, uint32_t vertex, const uint32_t *held, size_t count, Vector *path,
    uint32_t *semi,
) noexcept nogil:
    """Lower ``semi``, the number of a vertex's semidominator, by some of its referrers."""
    cdef size_t at
    cdef uint32_t best
    for at in range(count):
        prefetch(&links[held[at + 2 * AHEAD]])
        if held[at + AHEAD] > vertex:
            # mostly the one step that is left of a path that was shortened before
            prefetch(&links[links[held[at + AHEAD]].ancestor])
        best = held[at]
        if vertex < sources.apart <= best:
            continue
        if best > vertex and best_label(best, vertex + 1, links, path, &best) < 0:
            return NO_MEMORY
        if best < semi[0]:
            semi[0] = best
    return 0


cdef int semi_nca(
    const Search *search, const Sources *sources, const uint8_t *fixed, Link *links, uint32_t *idom, Vector *path
) noexcept nogil:
    """Fill ``idom`` with each vertex's immediate dominator. ``fixed`` vertices are held by vertex 0 itself."""
    cdef uint32_t vertex, semi, best, each, first, last, count
    cdef const uint32_t *held
    cdef Batch batch
    for vertex in range(search.count):
        links[vertex].ancestor = search.parent[vertex]
        links[vertex].label = vertex
    memset(batch.held, 0, sizeof(batch.held))
    idom[0] = 0
    vertex = search.count
    while vertex > 1:
        count = take_vertices(search, sources, fixed, vertex, &batch, idom)
        first = 0
        while first < count:
            last = take_referrers(search, sources, &batch, first, count)
            held = batch.held
            for each in range(first, last + 1 if last < count else count):
                if lower_semi(
                    sources, links, vertex - 1, held, batch.counts[each], path, &idom[vertex - 1]
                ) < 0:
                    return NO_MEMORY
                held += batch.counts[each]
                if each < last:
                    vertex -= 1
                    links[vertex].label = idom[vertex]
            first = last
    for vertex in range(1, search.count):
        semi = idom[vertex]
        best = search.parent[vertex]
        while best > semi:
            best = idom[best]
        idom[vertex] = best
    return 0


cdef int hold_from_root(
    const Search *search, uint32_t reachable, const Vector *crossing, uint32_t *depth, uint8_t *passed, Link *links,
    uint32_t *idom, Vector *stack
) noexcept nogil:
    """Change ``idom`` of ``reachable`` vertices to what it is when vertex 0 refers to the ``crossing`` ones as well.

    Such references can only move a vertex up to vertex 0: one that a crossing vertex reaches by a path on which none is
    less deep in the dominator tree, so that its dominator isn't on it. The deepest are done first; each vertex is
    passed once. Source: Georgiadis, Italiano, Laura, Santaroni, "An Experimental Study of Dynamic Dominators"
    (ESA 2012), section 3.2, for one reference; for those of vertex 0 it holds for each with the depths of before.

    ``depth``, ``passed`` and ``links`` are room for the work.
    """
    cdef uint32_t vertex, item, other, level = 0
    cdef uint64_t at
    cdef Py_ssize_t each
    cdef uint32_t *first = <uint32_t *> links       # of depths: a vertex that is to be moved
    cdef uint32_t *after = first + reachable        # of such vertices: the next one of the same depth
    memset(passed, 0, reachable)
    memset(first, 0xFF, <size_t> reachable * 4)
    depth[0] = 0
    for vertex in range(1, reachable):
        depth[vertex] = depth[idom[vertex]] + 1
    for each in range(<Py_ssize_t> crossing.count):
        vertex = (<uint32_t *> crossing.data)[each]
        if depth[vertex] > 1 and idom[vertex] != 0:
            move_up(vertex, depth, first, after, idom)
            level = max(level, depth[vertex])
    while level > 1:
        vertex = first[level]
        if vertex == NO_NUMBER:
            level -= 1
            continue
        first[level] = after[vertex]
        stack.count = 0
        if vector_push_u32(stack, vertex) < 0:
            return NO_MEMORY
        passed[vertex] = 1
        while stack.count:
            stack.count -= 1
            item = search.order[(<uint32_t *> stack.data)[stack.count]]
            for at in range(search.start[item], search.start[item + 1]):
                if search.kind != NULL and not search.retains[search.kind[at]]:
                    continue
                other = search.number[search.target[at]]
                if depth[other] > level:
                    if not passed[other]:
                        passed[other] = 1
                        if vector_push_u32(stack, other) < 0:
                            return NO_MEMORY
                elif depth[other] > 1 and idom[other] != 0:
                    move_up(other, depth, first, after, idom)
    return 0


cdef inline void move_up(
    uint32_t vertex, const uint32_t *depth, uint32_t *first, uint32_t *after, uint32_t *idom
) noexcept nogil:
    idom[vertex] = 0
    after[vertex] = first[depth[vertex]]
    first[depth[vertex]] = vertex


def dominators(
    References references not None,
    bint by_kind,
    const uint32_t[::1] roots,
    long long root,
    bint attach,
    referrers: Callable[[], tuple[U64, U32, U8]],
    room: Callable[[int, str], npt.NDArray[Any]],
    long long contested=CONTESTED,
) -> tuple[int, int, U32, U32, U32 | None]:
    """Number vertices and compute dominators.

    Returns how many vertices there are, how many of them are reachable, the object of each vertex, its immediate
    dominator, and the immediate dominators of the reachable ones without ``attach``, where that may change one, else
    None. The columns have room for one vertex more than there are objects.

    Only the ``references`` that are followed count, or all of them without ``by_kind``. ``referrers()`` returns them
    turned around: where those of each object begin, their sources, and their kinds
    (:func:`memlens.kernels.graph.referrers.referrers`). It is called once, when vertices are numbered, so that another
    thread can turn them around meanwhile. ``root`` is the graph's own root, or -1, and the search begins at ``roots``.
    Objects that it doesn't reach follow as vertices: vertex 0 holds them; their references to reachable objects count
    only with ``attach``: vertex 0 then holds these as well. ``room(items, type)`` returns a column, also for the work:
    that takes 17 bytes an object in all, and with ``attach`` 4 more and 4 for what is returned.
    Targets, sources and roots must be numbers of objects. Raises MemoryError.

    ``contested`` is how many vertices may be left to the rounds of a breadth-first search in any case, see
    ``breadth_first.pxd``; below 0 the search is depth-first from the beginning.
    """
    cdef const Graph *graph = &references.graph
    cdef uint32_t objects = <uint32_t> graph.objects, vertex
    cdef size_t space = <size_t> objects + 2
    cdef Search *search
    cdef Breadth breadth
    cdef Sources sources
    cdef Vector path, crossing
    cdef const uint64_t[::1] back_start
    cdef const uint32_t[::1] back
    cdef const uint8_t[::1] back_kind
    cdef object of_vertex = room(objects + 1, "u4"), above = room(objects + 1, "u4")
    cdef uint32_t[::1] order = of_vertex, idom = above
    cdef uint8_t[::1] held = room(space, "u1")
    cdef uint32_t[::1] number = room(space, "u4")
    cdef uint32_t[::1] parent = room(space, "u4")
    cdef uint32_t[::1] depth
    cdef uint64_t[::1] seen = room(space // 64 + 1, "u8")
    cdef uint64_t[::1] links
    cdef uint32_t[::1] alone
    cdef uint32_t *first_targets
    cdef const uint32_t *first_root = &roots[0] if roots.shape[0] else NULL
    cdef object turned = None, column = None
    cdef bint wide = contested >= 0
    cdef int status
    cdef Py_ssize_t each
    search = &breadth.search
    vector_init(&search.cursors, sizeof(Cursor))
    vector_init(&path, 4)
    vector_init(&crossing, 4)
    search.start, search.target = graph.start, graph.target
    search.kind = graph.kind if by_kind else NULL
    search.retains = sources.retains = graph.follows
    search.order, search.number, search.seen = &order[0], &number[0], &seen[0]
    try:
        while True:
            if wide:
                search.parent = &idom[0]
                with nogil:
                    # the depth-first search will need more room
                    begin_breadth(&breadth, <uint8_t *> &parent[0], space, graph.references, contested)
                    status = number_all(
                        search, spread, True, objects, first_root, roots.shape[0], root, &held[0]
                    )
            else:
                links = room(space, "u8")
                # links are needed only when vertices are numbered
                first_targets = <uint32_t *> &links[0]
                search.parent, search.first = &parent[0], first_targets
                with nogil:
                    find_first(search, objects, first_targets)
                    # vertices aren't numbered yet, so there is room for where STEPS lead
                    follow_twice(first_targets, objects, &order[0])
                    follow_twice(&order[0], objects, &idom[0])
                    search.later = &idom[0]
                    status = number_all(
                        search, visit, False, objects, first_root, roots.shape[0], root, &held[0]
                    )
            vector_free(&search.cursors)
            if status == GIVEN_UP:
                wide = False
                continue
            # reachable objects that unreachable ones refer to
            crossing.count = 0
            with nogil:
                for vertex in range(objects if attach else 0):
                    if status == 0 and held[vertex] and search.number[vertex] < search.apart:
                        status = vector_push_u32(&crossing, search.number[vertex])
            if status < 0:
                raise MemoryError
            if turned is None:
                turned = referrers()
                back_start, back, back_kind = turned
                if (<size_t> back_start.shape[0] != graph.objects + 1 or <uint64_t> back.shape[0] != graph.references
                        or by_kind and back_kind.shape[0] < back.shape[0]):
                    raise ValueError("not the same references")
                sources.start = &back_start[0]
                sources.source = &back[0] if back.shape[0] else NULL
                sources.kind = &back_kind[0] if search.kind != NULL else NULL
            sources.apart = search.apart
            if wide:
                with nogil:
                    status = settle(&breadth, &sources, &path)
            else:
                with nogil:
                    # held directly by vertex 0, whatever else refers to them
                    memset(&held[0], 0, space)
                    for vertex in range(1, search.count):
                        if search.parent[vertex] == 0:
                            held[vertex] = 1
                    if root < 0:
                        for each in range(roots.shape[0]):
                            held[search.number[roots[each]]] = 1
                    status = semi_nca(search, &sources, &held[0], <Link *> &links[0], &idom[0], &path)
            if status == GIVEN_UP:
                wide = False
                continue
            break
        if status == 0 and crossing.count:
            if wide:
                links = room(space, "u8")
            depth, column = room(space, "u4"), room(search.apart, "u4")
            alone = column
            with nogil:
                memcpy(&alone[0], &idom[0], <size_t> search.apart * 4)
                status = hold_from_root(
                    search, search.apart, &crossing, &depth[0], &held[0], <Link *> &links[0], &idom[0], &path
                )
        if status < 0:
            raise MemoryError
        return search.count, search.apart, of_vertex, above, column
    finally:
        vector_free(&search.cursors)
        vector_free(&path)
        vector_free(&crossing)


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
