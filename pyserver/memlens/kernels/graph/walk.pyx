# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Walks over a graph of objects: references turned around, distances, what a set retains, what a cut frees.

References are columns by source: those of object ``o`` are ``start[o]`` to ``start[o + 1]`` of ``target`` and ``kind``.
Turned around, ``back_start``, ``back`` and ``back_kind`` have the sources of those to each object, and their kinds.
``follows`` has an item for each number of a byte: whether references of that kind are followed. Columns of archives
are checked by whoever maps them, except where a kernel says that it checks what it uses; so are numbers of objects that
come from outside.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from memlens.kernels.base.large_pages cimport in_large_pages
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.levels cimport by_distance

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    OUT_OF_RANGE = -2   # a status beside -1, which is "without memory"
    AHEAD = 8           # objects and references that are fetched before their turn
    FAR_AHEAD = 32
    NEAR = 1 << 23      # bytes that are soon in the processor's caches, so that fetching takes longer than waiting


def referrers(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    uint64_t[::1] back_start,
    uint32_t[::1] back,
    uint8_t[::1] back_kind,
    Py_ssize_t at_once=0,
):
    """Turn references around: the sources of those to object ``o`` are at ``back_start[o]`` and on in ``back``.

    They ascend, and a source stands as often as it refers to the object, in the order of its references. ``back_kind``
    gets their kinds, unless ``kind`` is empty.

    References lead anywhere, so each may write to another page. Where columns are files that are larger than memory,
    the system would write each page out again and again: ``at_once`` is how many objects are turned around together, in
    one pass over all references each; 0 for all of them.
    """
    cdef Py_ssize_t objects = start.shape[0] - 1, item
    cdef bint has_kinds = kind.shape[0] > 0
    cdef uint64_t at, to, total = 0, count = target.shape[0]
    cdef uint64_t *place = &back_start[0]
    cdef Turned turned
    if 0 < at_once < objects:
        turned.place, turned.back = place, &back[0] if back.shape[0] else NULL
        turned.back_kind = &back_kind[0] if has_kinds else NULL
        with nogil:
            for item from 0 <= item < objects by at_once:
                turned.first = <uint32_t> item
                turned.last = <uint32_t> min(item + at_once, objects)
                total = turn_some(start, target, kind, &turned, total)
            place[objects] = total
        return
    with nogil:
        memset(place, 0, (objects + 1) * 8)
        for at in range(count):
            if at + FAR_AHEAD < count:
                prefetch(&place[target[at + FAR_AHEAD]])
            place[target[at]] += 1
        for item in range(objects + 1):
            total += place[item]
            place[item] = total
        # from the last source to the first, so that ends become beginnings and sources ascend
        item = objects
        while item > 0:
            item -= 1
            at = start[item + 1]
            while at > start[item]:
                at -= 1
                if at >= FAR_AHEAD:
                    prefetch(&place[target[at - FAR_AHEAD]])
                    to = place[target[at - AHEAD]] - 1
                    prefetch(&back[to])
                    if has_kinds:
                        prefetch(&back_kind[to])
                place[target[at]] -= 1
                to = place[target[at]]
                back[to] = <uint32_t> item
                if has_kinds:
                    back_kind[to] = kind[at]


cdef struct Turned:
    uint64_t *place         # of objects: where references to each begin
    uint32_t *back
    uint8_t *back_kind      # NULL without kinds
    uint32_t first          # the objects that are turned around
    uint32_t last


cdef uint64_t turn_some(
    const uint64_t[::1] start, const uint32_t[::1] target, const uint8_t[::1] kind, const Turned *turned, uint64_t total
) noexcept nogil:
    """Turn references to some objects around, after ``total`` others; return how many there are with these."""
    cdef uint32_t first = turned.first, width = turned.last - turned.first, to
    cdef uint64_t at, count = target.shape[0]
    cdef Py_ssize_t item
    memset(&turned.place[first], 0, <size_t> width * 8)
    for at in range(count):
        to = target[at] - first
        if to < width:
            turned.place[first + to] += 1
    for to in range(width):
        total += turned.place[first + to]
        turned.place[first + to] = total
    item = start.shape[0] - 1
    while item > 0:
        item -= 1
        at = start[item + 1]
        while at > start[item]:
            at -= 1
            to = target[at] - first
            if to < width:
                turned.place[first + to] -= 1
                turned.back[turned.place[first + to]] = <uint32_t> item
                if turned.back_kind != NULL:
                    turned.back_kind[turned.place[first + to]] = kind[at]
    return total


cdef struct Graph:
    const uint64_t *start
    const uint32_t *target
    const uint8_t *kind
    const uint8_t *follows


cdef Graph graph_of(
    const uint64_t[::1] start, const uint32_t[::1] target, const uint8_t[::1] kind, const uint8_t[::1] follows
) noexcept:
    cdef Graph graph
    graph.start = &start[0]
    graph.target = &target[0] if target.shape[0] else NULL
    graph.kind = &kind[0] if kind.shape[0] else NULL
    graph.follows = &follows[0]
    return graph


cdef inline void fetch(const Graph *graph, const uint32_t *queue, size_t first, size_t last) noexcept nogil:
    """Let the processor fetch the references of what a queue has next, each step by what the step before fetched."""
    if first + 3 * AHEAD < last:
        prefetch(&graph.start[queue[first + 3 * AHEAD]])
        prefetch(&graph.target[graph.start[queue[first + 2 * AHEAD]]])
        prefetch(&graph.kind[graph.start[queue[first + 2 * AHEAD]]])


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


def distances(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] follows,
    const uint32_t[::1] sources,
    uint32_t[::1] distance,
):
    """Fill ``distance`` with the least number of references from any of ``sources``; NONE for what they don't reach.

    Raises MemoryError.
    """
    cdef Graph graph = graph_of(start, target, kind, follows)
    reach(&graph, sources, &distance[0] if distance.shape[0] else NULL, distance.shape[0], NO_NUMBER)


def reached_from(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] follows,
    const uint32_t[::1] sources,
    uint8_t[::1] reached,
):
    """Fill ``reached`` with 1 for what any of ``sources`` reach, and themselves, and 0 for the rest.

    Raises MemoryError.
    """
    cdef Graph graph = graph_of(start, target, kind, follows)
    reach(&graph, sources, &reached[0] if reached.shape[0] else NULL, reached.shape[0], <uint8_t> 0)


cdef enum:
    WITHIN_SET = 1      # chosen, or dominated by what is
    PERHAPS = 2         # all shortest paths to it pass through what is retained
    CERTAIN = 4         # one of them doesn't
    ALIVE = 8
    CANDIDATE = 16


# per cent of the work that are done when what is within the set is listed, when its references are followed, and when
# what perhaps is retained beside it is known; such objects take as long as those within
cdef enum:
    LISTED = 20
    FOLLOWED = 60
    SUSPECTED = 80


def retained_by(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint64_t[::1] back_start,
    const uint32_t[::1] back,
    const uint8_t[::1] back_kind,
    const uint8_t[::1] retains,
    const uint32_t[::1] distance,
    const uint32_t[::1] dominated_start,
    const uint32_t[::1] dominated,
    const uint64_t[::1] shallow,
    const uint32_t[::1] chosen,
    Work work not None,
):
    """How many objects no root would reach without the ``chosen`` ones, these included, and their bytes.

    None if ``work`` was stopped.

    ``chosen`` are distinct objects that roots reach. ``distance`` is the least number of references that retain from a
    root. ``dominated`` has what each object immediately dominates, of that perhaps not all: dominators may count what
    no root reaches as a holder, and may have it below the graph's own root.

    What the chosen objects dominate is retained. What else is has other holders than these, but only shortest paths
    that pass through what is retained. So such objects are found first, level after level of distances, and then those
    of them that other paths lead to; nothing else of the graph is looked at but what refers to them and what they refer
    to. Raises MemoryError.
    """
    cdef size_t objects = distance.shape[0], each, begin, end, within = 0, next_candidate = 0, count = 0, steps = 0
    cdef uint64_t total = 0, at
    cdef uint32_t item, other, level
    cdef Graph graph = graph_of(start, target, kind, retains)
    cdef Graph turned = graph_of(back_start, back, back_kind, retains)
    cdef Vector found, stack, candidates
    cdef uint32_t *queue = NULL
    cdef uint8_t *state = NULL
    cdef int status = 0
    vector_init(&found, 4)
    vector_init(&stack, 4)
    vector_init(&candidates, 4)
    with nogil:
        state = <uint8_t *> calloc(objects + 1, 1)
        queue = <uint32_t *> malloc((objects + 1) * 4)
        if state == NULL or queue == NULL:
            status = -1
        else:
            in_large_pages(queue, (objects + 1) * 4)
            in_large_pages(state, objects + 1)
            within = dominated_by(chosen, dominated_start, dominated, state, queue, work)
        for each in range(within if status == 0 else 0):
            if each % LOOK_EVERY == 0 and look(work, each, within, LISTED, FOLLOWED) < 0:
                status = STOPPED
                break
            fetch(&graph, queue, each, within)
            item = queue[each]
            if distance[item] == NO_NUMBER:
                continue
            count += 1
            total += shallow[item]
            for at in range(graph.start[item], graph.start[item + 1]):
                other = graph.target[at]
                if state[other] == 0 and distance[other] == distance[item] + 1 and graph.follows[graph.kind[at]]:
                    state[other] = CANDIDATE
                    if status == 0:
                        status = vector_push_u32(&candidates, other)
        if status == 0:
            status = by_distance(&candidates, &distance[0])
        begin = 0
        level = 0
        # ``found`` from ``begin`` on are those of the level before
        while status == 0 and (next_candidate < candidates.count or begin < found.count):
            if begin == found.count:
                level = distance[(<uint32_t *> candidates.data)[next_candidate]]
            end = found.count
            while next_candidate < candidates.count and status == 0:
                item = (<uint32_t *> candidates.data)[next_candidate]
                if distance[item] != level:
                    break
                if next_candidate % LOOK_EVERY == 0:
                    status = look(work, next_candidate, candidates.count, FOLLOWED, SUSPECTED)
                    if status < 0:
                        break
                next_candidate += 1
                status = suspect(&turned, &distance[0], state, item, &found)
            for each in range(begin, end if status == 0 else begin):
                if each % LOOK_EVERY == 0 and look(work, each, end, FOLLOWED, FOLLOWED) < 0:
                    status = STOPPED
                    break
                item = (<uint32_t *> found.data)[each]
                for at in range(graph.start[item], graph.start[item + 1]):
                    other = graph.target[at]
                    if status == 0 and state[other] == 0 and distance[other] == level:
                        if graph.follows[graph.kind[at]]:
                            status = suspect(&turned, &distance[0], state, other, &found)
            begin = end
            level += 1
        for each in range(found.count):
            item = (<uint32_t *> found.data)[each]
            if each % LOOK_EVERY == 0 and status == 0 and look(work, each, found.count, SUSPECTED, 100) < 0:
                status = STOPPED
            if status == 0 and is_held(&turned, &distance[0], state, item):
                state[item] |= ALIVE
                status = vector_push_u32(&stack, item)
        while stack.count and status == 0:
            stack.count -= 1
            steps += 1
            if steps % LOOK_EVERY == 0 and look(work, steps, found.count, SUSPECTED, SUSPECTED) < 0:
                status = STOPPED
                break
            status = keep_alive(&graph, state, (<uint32_t *> stack.data)[stack.count], &stack)
        for each in range(found.count if status == 0 else 0):
            item = (<uint32_t *> found.data)[each]
            if not state[item] & ALIVE:
                count += 1
                total += shallow[item]
    free(state)
    free(queue)
    vector_free(&found)
    vector_free(&stack)
    vector_free(&candidates)
    if status == STOPPED:
        return None
    if status < 0:
        raise MemoryError
    return count, total


cdef size_t dominated_by(
    const uint32_t[::1] chosen,
    const uint32_t[::1] dominated_start,
    const uint32_t[::1] dominated,
    uint8_t *state,
    uint32_t *queue,
    Work work,
) noexcept nogil:
    """Mark the chosen objects and all that they dominate as WITHIN_SET, and list them in ``queue``; how many.

    Fewer if ``work`` was stopped.
    """
    cdef size_t first = 0, last = 0
    cdef Py_ssize_t each
    cdef uint32_t item, other, at
    for each in range(chosen.shape[0]):
        state[chosen[each]] = WITHIN_SET
        queue[last] = chosen[each]
        last += 1
    while first < last:
        if first % LOOK_EVERY == 0 and look(work, first, last, 0, LISTED) < 0:
            break
        if first + 2 * AHEAD < last:
            prefetch(&dominated_start[queue[first + 2 * AHEAD]])
            prefetch(&dominated[dominated_start[queue[first + AHEAD]]])
        item = queue[first]
        first += 1
        for at in range(dominated_start[item], dominated_start[item + 1]):
            other = dominated[at]
            if state[other] == 0:
                state[other] = WITHIN_SET
                queue[last] = other
                last += 1
    return last


cdef int suspect(
    const Graph *turned, const uint32_t *distance, uint8_t *state, uint32_t item, Vector *found
) noexcept nogil:
    """Add an object to ``found`` if only what is within the set, or perhaps retained, holds it by a shortest path."""
    cdef uint32_t other
    cdef uint64_t back
    for back in range(turned.start[item], turned.start[item + 1]):
        other = turned.target[back]
        if distance[other] == distance[item] - 1 and turned.follows[turned.kind[back]]:
            if not state[other] & (WITHIN_SET | PERHAPS):
                state[item] = CERTAIN
                return 0
    state[item] = PERHAPS
    return vector_push_u32(found, item)


cdef bint is_held(const Graph *turned, const uint32_t *distance, const uint8_t *state, uint32_t item) noexcept nogil:
    """Whether something that certainly stays alive refers to an object."""
    cdef uint64_t back
    for back in range(turned.start[item], turned.start[item + 1]):
        if not state[turned.target[back]] & (WITHIN_SET | PERHAPS) and distance[turned.target[back]] != NO_NUMBER:
            if turned.follows[turned.kind[back]]:
                return True
    return False


cdef int keep_alive(const Graph *graph, uint8_t *state, uint32_t item, Vector *stack) noexcept nogil:
    """Mark what an object that stays alive refers to."""
    cdef uint32_t other
    cdef uint64_t at
    for at in range(graph.start[item], graph.start[item + 1]):
        other = graph.target[at]
        if state[other] == PERHAPS and graph.follows[graph.kind[at]]:
            state[other] |= ALIVE
            if vector_push_u32(stack, other) < 0:
                return -1
    return 0


cdef enum:
    WITHIN = 1
    REACHED = 2
    IS_SOURCE = 4
    IS_TARGET = 8
    IS_MOVED = 16


cdef Py_ssize_t first_of(const uint32_t[::1] ascending, uint32_t item) noexcept nogil:
    """Where the items begin that are at least ``item``."""
    cdef Py_ssize_t low = 0, high = ascending.shape[0], middle
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


def freed_without(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] retains,
    const uint32_t[::1] dominated_start,
    const uint32_t[::1] dominated,
    const uint32_t[::1] moved,
    const uint32_t[::1] moved_to,
    const uint32_t[::1] distance,
    const uint64_t[::1] shallow,
    const uint32_t[::1] roots,
    const uint32_t[::1] sources,
    const uint32_t[::1] targets,
    uint32_t holder,
    size_t most,
):
    """Bytes that nothing would reach without all references from ``sources`` to ``targets``, and objects looked at.

    ``holder`` dominates all targets and is none of them, or is the number of objects where only the roots together do.
    Paths to what it dominates lead on from it within what it dominates, so nothing else is looked at. Objects ``moved``
    aren't dominated as ``dominated`` says but by those of ``moved_to``, which ascend. The bytes are None where
    ``holder`` dominates more than ``most`` objects. Raises MemoryError.
    """
    cdef size_t objects = distance.shape[0], looked = 0
    cdef uint64_t total = 0, at
    cdef uint32_t item, other, place
    cdef Py_ssize_t next_moved
    cdef Py_ssize_t each
    cdef int status = 0
    cdef Vector stack
    cdef uint8_t *state = <uint8_t *> calloc(objects + 1, 1)
    if state == NULL:
        raise MemoryError
    vector_init(&stack, 4)
    with nogil:
        for each in range(sources.shape[0]):
            state[sources[each]] |= IS_SOURCE
        for each in range(targets.shape[0]):
            state[targets[each]] |= IS_TARGET
        for each in range(moved.shape[0]):
            state[moved[each]] |= IS_MOVED
        item = holder
        while True:
            next_moved = first_of(moved_to, item)
            while next_moved < moved_to.shape[0] and moved_to[next_moved] == item and status == 0:
                other = moved[next_moved]
                next_moved += 1
                state[other] |= WITHIN
                total += shallow[other]
                looked += 1
                status = vector_push_u32(&stack, other)
            if status < 0:
                break
            for place in range(dominated_start[item], dominated_start[item + 1]):
                other = dominated[place]
                if distance[other] != NO_NUMBER and not state[other] & IS_MOVED:
                    state[other] |= WITHIN
                    total += shallow[other]
                    looked += 1
                    status = vector_push_u32(&stack, other)
                    if status < 0:
                        break
            if status < 0 or looked > most or stack.count == 0:
                break
            stack.count -= 1
            item = (<uint32_t *> stack.data)[stack.count]
        if status == 0 and looked <= most:
            if holder < objects:
                status = vector_push_u32(&stack, holder)
            else:
                for each in range(roots.shape[0]):
                    item = roots[each]
                    if status == 0 and state[item] & (WITHIN | REACHED) == WITHIN:
                        state[item] |= REACHED
                        total -= shallow[item]
                        status = vector_push_u32(&stack, item)
            while stack.count and status == 0:
                stack.count -= 1
                item = (<uint32_t *> stack.data)[stack.count]
                for at in range(start[item], start[item + 1]):
                    other = target[at]
                    if state[other] & (WITHIN | REACHED) != WITHIN or not retains[kind[at]]:
                        continue
                    if state[item] & IS_SOURCE and state[other] & IS_TARGET:
                        continue
                    state[other] |= REACHED
                    total -= shallow[other]
                    status = vector_push_u32(&stack, other)
                    if status < 0:
                        break
    free(state)
    vector_free(&stack)
    if status < 0:
        raise MemoryError
    return (total if looked <= most else None), looked


cdef uint32_t above(
    const uint32_t[::1] dominator, const uint32_t[::1] moved, const uint32_t[::1] moved_to, uint32_t item
) noexcept nogil:
    """The dominator of an object, which is another one for those that were ``moved``; these ascend."""
    cdef Py_ssize_t place
    if moved.shape[0]:
        place = first_of(moved, item)
        if place < moved.shape[0] and moved[place] == item:
            return moved_to[place]
    return dominator[item]


cdef enum:
    IS_BELOW = 1
    IS_ASIDE = 2


cdef class OtherHolders:
    """Says of objects whether something holds them that they don't dominate themselves, for one graph.

    Objects ``moved``, in ascending order, are dominated by those of ``moved_to``. Objects without a ``distance`` hold
    nothing. Numbers in ``start`` and ``dominator`` are checked when they are used. Not for several threads.
    """

    cdef const uint64_t[::1] start
    cdef const uint32_t[::1] target, dominator, moved, moved_to, distance
    cdef const uint8_t[::1] kind, retains
    cdef uint8_t *state         # of objects that a question has passed; nearly all of it is never touched
    cdef Vector passed

    def __cinit__(
        self,
        const uint64_t[::1] start,
        const uint32_t[::1] target,
        const uint8_t[::1] kind,
        const uint8_t[::1] retains,
        const uint32_t[::1] dominator,
        const uint32_t[::1] moved,
        const uint32_t[::1] moved_to,
        const uint32_t[::1] distance,
    ):
        vector_init(&self.passed, 4)
        self.start, self.target, self.kind, self.retains = start, target, kind, retains
        self.dominator, self.moved, self.moved_to, self.distance = dominator, moved, moved_to, distance
        self.state = <uint8_t *> calloc(dominator.shape[0] + 1, 1)
        if self.state == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.state)
        vector_free(&self.passed)

    def hold(
        self,
        uint32_t item,
        const uint32_t[::1] referrers,
        const uint32_t[::1] without,
        size_t most,
        Work work not None,
    ):
        """Whether one of ``referrers`` has a reference that retains an object, and isn't dominated by it.

        Referrers ascend and may stand several times; those ``without``, which ascend as well, don't count. None where
        more than ``most`` dominators would have to be looked at, and where ``work`` was stopped. Raises MemoryError,
        and IndexError for a column with a number that is out of range.
        """
        cdef size_t looked = 0, each_passed, objects = self.dominator.shape[0]
        cdef uint32_t one, stop
        cdef uint64_t at
        cdef Py_ssize_t each, place
        cdef uint8_t reached
        cdef bint holds = False
        cdef int status
        self.passed.count = 0
        with nogil:
            self.state[item] = IS_BELOW
            status = vector_push_u32(&self.passed, item)
            for each in range(referrers.shape[0]):
                if each % LOOK_EVERY == 0 and look(work, each, referrers.shape[0], 0, 100) < 0:
                    status = STOPPED
                    break
                one = referrers[each]
                if self.distance[one] == NO_NUMBER or (each and referrers[each - 1] == one):
                    continue
                place = first_of(without, one)
                if place < without.shape[0] and without[place] == one:
                    continue
                while one != NO_NUMBER and self.state[one] == 0 and looked <= most:
                    looked += 1
                    if looked % LOOK_EVERY == 0 and look(work, each, referrers.shape[0], 0, 100) < 0:
                        status = STOPPED
                        break
                    one = above(self.dominator, self.moved, self.moved_to, one)
                    # dominators in a circle would be passed without end
                    if objects <= one < NO_NUMBER or looked > objects:
                        status = OUT_OF_RANGE
                        break
                if looked > most or status < 0:
                    break
                stop = one
                reached = self.state[one] if one != NO_NUMBER else IS_ASIDE
                one = referrers[each]
                while one != stop and status == 0:
                    self.state[one] = reached
                    status = vector_push_u32(&self.passed, one)
                    one = above(self.dominator, self.moved, self.moved_to, one)
                if status < 0:
                    break
                if reached == IS_BELOW:
                    continue
                one = referrers[each]
                if not self.start[one] <= self.start[one + 1] <= <uint64_t> self.target.shape[0]:
                    status = OUT_OF_RANGE
                    break
                for at in range(self.start[one], self.start[one + 1]):
                    if self.target[at] == item and self.retains[self.kind[at]]:
                        holds = True
                        break
                if holds:
                    break
            for each_passed in range(self.passed.count):
                self.state[(<uint32_t *> self.passed.data)[each_passed]] = 0
        if status == OUT_OF_RANGE:
            raise IndexError("a reference or a dominator is out of range")
        if status == STOPPED:
            return None
        if status < 0:
            # what couldn't be remembered couldn't be taken back either
            memset(self.state, 0, self.dominator.shape[0])
            raise MemoryError
        return None if looked > most else holds
