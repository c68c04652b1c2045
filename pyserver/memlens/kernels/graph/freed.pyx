# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What would be freed without some objects or references; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from memlens.kernels.base.large_pages cimport in_large_pages
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.columns cimport AHEAD, NO_NUMBER, OUT_OF_RANGE, Graph, fail, fetch, graph_of
from memlens.kernels.graph.held cimport IS_BACK, IS_SOURCE, IS_TARGET, LOST, TOO_MANY, WAITS, Found, Held, let_go
from memlens.kernels.graph.left_out cimport ALL_OUT, LeftOut


cdef class Holding:
    """Columns of a graph, with what is left out of it.

    ``distance`` is the least number of references that ``follows`` from a root, for :meth:`move_away` where nothing is
    left out, for :meth:`freed` where all of that is. ``native`` is the memory outside of the heap that each object
    owns; it may be empty. Not for several threads.
    """

    cdef const uint64_t[::1] start, back_start, shallow, native
    cdef const uint32_t[::1] target, back
    cdef const uint8_t[::1] kind, back_kind, follows
    cdef uint32_t[::1] distance
    cdef LeftOut left_out
    cdef Held held

    def __init__(
        self,
        const uint64_t[::1] start,
        const uint32_t[::1] target,
        const uint8_t[::1] kind,
        const uint64_t[::1] back_start,
        const uint32_t[::1] back,
        const uint8_t[::1] back_kind,
        const uint8_t[::1] follows,
        const uint64_t[::1] shallow,
        const uint64_t[::1] native,
        uint32_t[::1] distance,
        LeftOut left_out not None,
    ):
        self.start, self.target, self.kind = start, target, kind
        self.back_start, self.back, self.back_kind = back_start, back, back_kind
        self.follows, self.distance, self.left_out = follows, distance, left_out
        self.shallow, self.native = shallow, native
        if not start.shape[0] == back_start.shape[0] == distance.shape[0] + 1 == shallow.shape[0] + 1:
            raise ValueError("a distance for each object")
        if native.shape[0] and native.shape[0] != shallow.shape[0]:
            raise ValueError("native bytes of each object, or of none")
        if not target.shape[0] == kind.shape[0] == back.shape[0] == back_kind.shape[0] or follows.shape[0] < 256:
            raise ValueError("a kind for each reference")
        if <size_t> distance.shape[0] != left_out.objects or <uint64_t> target.shape[0] != left_out.references:
            raise ValueError("a distance for each object")
        self.held = held_of(start, target, kind, back_start, back, back_kind, follows, shallow, native, distance)

    def move_away(self, const uint32_t[::1] dropped, Work work not None):
        """Change each distance to what it is without what is left out; NONE for what no root reaches then.

        Objects ``dropped`` were roots, and aren't any more. Returns how many objects that are, of those that were
        reached, and their bytes in the heap and outside of it; None if ``work`` was stopped, and then the distances are
        of no use. Raises MemoryError.
        """
        cdef size_t each
        cdef uint64_t at
        cdef uint32_t item, other
        cdef uint8_t mark
        cdef Found found = Found(0, 0, 0)
        cdef Held *held = &self.held
        cdef Vector seeds
        cdef int status = begin(held, ~<size_t> 0)
        vector_init(&seeds, 4)
        with nogil:
            for each in range(<size_t> dropped.shape[0] if status == 0 else 0):
                if dropped[each] >= held.objects:
                    status = OUT_OF_RANGE
                    break
                held.state[dropped[each]] |= WAITS
                status = vector_push_u32(&seeds, dropped[each])
                if status < 0:
                    break
            for each in range(self.left_out.sources.count if status == 0 else 0):
                item = (<uint32_t *> self.left_out.sources.data)[each]
                mark = self.left_out.marks[item]
                if self.distance[item] == NO_NUMBER:
                    continue
                for at in range(self.start[item], self.start[item + 1]):
                    other = self.target[at]
                    if other >= held.objects:
                        status = OUT_OF_RANGE
                        break
                    if self.distance[other] != self.distance[item] + 1 or held.state[other] & WAITS:
                        continue
                    if (mark & ALL_OUT or self.left_out.rows[at]) and self.follows[self.kind[at]]:
                        held.state[other] |= WAITS
                        status = vector_push_u32(&seeds, other)
                        if status < 0:
                            break
                if status < 0:
                    break
            if status == 0 and held.objects:
                status = let_go(held, self.left_out, &seeds, &self.distance[0], &found, work)
        end(held, &seeds)
        return fail(status, (found.objects, found.heap, found.native))

    def freed(
        self, const uint32_t[::1] sources, const uint32_t[::1] targets, size_t most, Work work not None
    ):
        """Bytes that nothing would hold without all references from ``sources`` to ``targets`` as well.

        They are those in the heap and those outside of it. And how many references were looked at; the bytes are None
        where that are more than ``most``. None if ``work`` was stopped. Raises MemoryError.
        """
        cdef size_t each
        cdef uint32_t item
        cdef Found found = Found(0, 0, 0)
        cdef Held *held = &self.held
        cdef Vector seeds
        cdef int status = begin(held, most)
        vector_init(&seeds, 4)
        with nogil:
            for each in range(<size_t> sources.shape[0] if status == 0 else 0):
                if sources[each] >= held.objects:
                    status = OUT_OF_RANGE
                    break
                held.state[sources[each]] |= IS_SOURCE
            for each in range(<size_t> targets.shape[0] if status == 0 else 0):
                item = targets[each]
                if item >= held.objects:
                    status = OUT_OF_RANGE
                    break
                if held.state[item] & IS_TARGET:
                    continue
                held.state[item] |= IS_TARGET
                # a root is held by no reference
                if 0 < self.distance[item] < NO_NUMBER:
                    status = vector_push_u32(&seeds, item)
                    if status < 0:
                        break
            if status == 0:
                status = let_go(held, self.left_out, &seeds, NULL, &found, work)
        end(held, &seeds)
        if status == TOO_MANY:
            return None, held.looked
        return fail(status, ((found.heap, found.native), held.looked))


cdef Held held_of(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint64_t[::1] back_start,
    const uint32_t[::1] back,
    const uint8_t[::1] back_kind,
    const uint8_t[::1] follows,
    const uint64_t[::1] shallow,
    const uint64_t[::1] native,
    const uint32_t[::1] distance,
) noexcept:
    cdef Held held
    held.objects, held.references = distance.shape[0], target.shape[0]
    held.start, held.back_start, held.follows = &start[0], &back_start[0], &follows[0]
    held.target = &target[0] if held.references else NULL
    held.kind = &kind[0] if held.references else NULL
    held.back = &back[0] if held.references else NULL
    held.back_kind = &back_kind[0] if held.references else NULL
    held.shallow = &shallow[0] if held.objects else NULL
    held.native = &native[0] if native.shape[0] else NULL
    held.distance = &distance[0] if held.objects else NULL
    held.state = NULL
    held.begun, held.known = 10, 50
    return held


cdef int begin(Held *held, size_t most) noexcept:
    held.looked, held.most = 0, most
    held.state = <uint8_t *> calloc(held.objects + 1, 1)
    return -1 if held.state == NULL else 0


cdef void end(Held *held, Vector *seeds) noexcept:
    vector_free(seeds)
    free(held.state)
    held.state = NULL


# per cent of the work that are done when what is dominated is listed, when its references are followed, and when what
# perhaps is retained beside it is known; such objects take as long as those
cdef enum:
    LISTED = 20
    FOLLOWED = 60
    SUSPECTED = 80

cdef enum:
    GONE = LOST | IS_BACK       # certainly retained: nothing is looked for that holds it


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
    const uint64_t[::1] native,
    const uint32_t[::1] chosen,
    uint8_t[::1] marks,
    Work work not None,
):
    """How many objects no root would reach without the ``chosen`` ones, these included, and their bytes.

    Each of them is 1 in ``marks``, which has an item an object and was 0; it may be empty.

    Third is the memory outside of the heap that they own, by ``native``, which may be empty: then none is known.
    None if ``work`` was stopped.

    ``chosen`` are distinct objects that roots reach. ``distance`` is the least number of references that retain from a
    root. ``dominated`` has what each object immediately dominates, of that perhaps not all: dominators may count what
    no root reaches as a holder, and may have it below the graph's own root.

    What the chosen objects dominate is retained. What else is has other holders than these, but only shortest paths
    that pass through what is retained: to what that refers to is one step farther. Raises MemoryError.
    """
    cdef size_t each, within = 0
    cdef uint64_t at
    cdef uint32_t item, other
    cdef Graph graph = graph_of(start, target, kind, retains)
    cdef Held held = held_of(start, target, kind, back_start, back, back_kind, retains, shallow, native, distance)
    cdef Found found = Found(0, 0, 0)
    cdef Vector seeds
    cdef uint32_t *queue = <uint32_t *> malloc((held.objects + 1) * 4)
    cdef bint is_marked = marks.shape[0] > 0
    cdef int status = begin(&held, ~<size_t> 0)
    held.begun, held.known = FOLLOWED, SUSPECTED
    if is_marked and <size_t> marks.shape[0] != held.objects:
        status = OUT_OF_RANGE
    vector_init(&seeds, 4)
    if queue == NULL:
        status = -1
    with nogil:
        if status == 0:
            in_large_pages(queue, (held.objects + 1) * 4)
            in_large_pages(held.state, held.objects + 1)
            within = dominated_by(chosen, dominated_start, dominated, held.state, queue, work)
        for each in range(within if status == 0 else 0):
            if each % LOOK_EVERY == 0 and look(work, each, within, LISTED, FOLLOWED) < 0:
                status = STOPPED
                break
            fetch(&graph, queue, each, within)
            item = queue[each]
            if distance[item] == NO_NUMBER:
                continue
            found.objects += 1
            found.heap += shallow[item]
            if is_marked:
                marks[item] = 1
            if held.native != NULL:
                found.native += held.native[item]
            for at in range(graph.start[item], graph.start[item + 1]):
                other = graph.target[at]
                if held.state[other] == 0 and distance[other] == distance[item] + 1 and retains[graph.kind[at]]:
                    held.state[other] = WAITS
                    if status == 0:
                        status = vector_push_u32(&seeds, other)
        if status == 0:
            status = let_go(&held, None, &seeds, NULL, &found, work)
        for each in range(held.objects if is_marked and status == 0 else 0):
            # what was dominated is marked already, and has both
            if held.state[each] & GONE == LOST:
                marks[each] = 1
    free(queue)
    end(&held, &seeds)
    return fail(status, (found.objects, found.heap, found.native))


cdef size_t dominated_by(
    const uint32_t[::1] chosen,
    const uint32_t[::1] dominated_start,
    const uint32_t[::1] dominated,
    uint8_t *state,
    uint32_t *queue,
    Work work,
) noexcept nogil:
    """Mark the chosen objects and all that they dominate as GONE, and list them in ``queue``; how many.

    Fewer if ``work`` was stopped.
    """
    cdef size_t first = 0, last = 0
    cdef Py_ssize_t each
    cdef uint32_t item, other, at
    for each in range(chosen.shape[0]):
        state[chosen[each]] = GONE
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
                state[other] = GONE
                queue[last] = other
                last += 1
    return last
