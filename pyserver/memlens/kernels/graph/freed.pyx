# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compute what would be freed without some objects or references; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_extend, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.columns cimport AHEAD, NO_NUMBER, OUT_OF_RANGE, Graph, References, Sizes, fail, fetch
from memlens.kernels.graph.held cimport (
    IS_BACK, IS_GONE, IS_SOURCE, IS_TARGET, LOST, STAYS, TOO_MANY, WAITS, Found, Held, let_go
)
from memlens.kernels.graph.left_out cimport ALL_OUT, LeftOut


cdef class Holding:
    """Columns of a graph, with what is left out of it.

    ``distance`` is the least number of followed references from a root: for :meth:`move_away` with nothing left out,
    for :meth:`freed` with everything left out. Not for several threads.
    """

    cdef References references, referrers
    cdef Sizes sizes
    cdef uint32_t[::1] distance
    cdef LeftOut left_out
    cdef Held held

    def __init__(
        self,
        References references not None,
        References referrers not None,
        Sizes sizes not None,
        uint32_t[::1] distance,
        LeftOut left_out not None,
    ):
        self.references, self.referrers, self.sizes = references, referrers, sizes
        self.distance, self.left_out = distance, left_out
        self.held = held_of(references, referrers, sizes, distance)
        if self.held.objects != left_out.objects or self.held.down.references != left_out.references:
            raise ValueError("what is left out is of another graph")

    def move_away(self, const uint32_t[::1] dropped, Work work not None) -> tuple[int, int, int] | None:
        """Update all distances for the graph without what is left out; NONE for what becomes unreachable.

        Objects ``dropped`` are no longer roots. Returns the number of objects that become unreachable, and their bytes
        in the heap and outside of it; None if ``work`` was stopped, and then the distances are invalid. Raises
        MemoryError.
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
                for at in range(self.held.down.start[item], self.held.down.start[item + 1]):
                    other = self.held.down.target[at]
                    if other >= held.objects:
                        status = OUT_OF_RANGE
                        break
                    if self.distance[other] != self.distance[item] + 1 or held.state[other] & WAITS:
                        continue
                    if (mark & ALL_OUT or self.left_out.rows[at]) and self.held.down.follows[self.held.down.kind[at]]:
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
    ) -> tuple[tuple[int, int] | None, int] | None:
        """Return the bytes that would be freed if all references from ``sources`` to ``targets`` were removed as well.

        They are those in the heap and those outside of it, followed by the number of visited references; the bytes are
        None if that exceeds ``most``. None if ``work`` was stopped. Raises MemoryError.
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


cdef Held held_of(References references, References referrers, Sizes sizes, const uint32_t[::1] distance):
    """Raises ValueError for columns of several graphs."""
    cdef Held held
    held.down, held.up = references.graph, referrers.graph
    held.shallow, held.native, held.objects = sizes.shallow, sizes.native, distance.shape[0]
    if not held.objects == held.down.objects == held.up.objects == sizes.objects:
        raise ValueError("a distance for each object")
    if held.down.references != held.up.references:
        raise ValueError("the same references in both directions")
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


# per cent of the work that are done when what is dominated is known, when its references are followed, and when what
# perhaps is retained beside it is known
cdef enum:
    DOMINATED = 20
    FOLLOWED = 60
    SUSPECTED = 80

cdef enum:
    GONE = LOST | IS_BACK | IS_GONE     # certainly retained: nothing is looked for that holds it
    FEW = 64                    # where one in so many objects or fewer is, those are listed and others not looked at


cdef class Retained:
    """What would be unreachable without the ``chosen`` objects, themselves included.

    Unreachable ones among the ``chosen`` retain nothing; the attribute ``chosen`` is the number of distinct ones.
    ``distance`` is the least number of retaining references from a root. ``dominated`` has what each object immediately
    dominates, perhaps incompletely: dominators may count unreachable holders, and may have them below the graph's own
    root. ``state`` has one item per object, all of them 0.

    What the chosen objects dominate is retained, which is found first. What else is has other holders than these, but
    only shortest paths that pass through what is retained: to what that refers to is one step farther. So
    :meth:`follow` is called for all ``steps``, by several threads if there are many, and then :meth:`sum_up`, after
    which :meth:`mark` may be.
    """

    cdef References references, referrers
    cdef Sizes sizes
    cdef const uint32_t[::1] distance
    cdef uint8_t[::1] state
    cdef Work work
    cdef Held held
    cdef Found found
    cdef Vector gone        # what is dominated, where that is little
    cdef Vector seeds
    cdef int status
    cdef readonly size_t chosen, steps

    def __cinit__(self):
        vector_init(&self.gone, 4)
        vector_init(&self.seeds, 4)

    def __init__(
        self,
        References references not None,
        References referrers not None,
        Sizes sizes not None,
        const uint32_t[::1] distance,
        const uint32_t[::1] dominated_start,
        const uint32_t[::1] dominated,
        const uint32_t[::1] chosen,
        uint8_t[::1] state,
        Work work not None,
    ):
        """Raises MemoryError, and IndexError for a chosen object that doesn't exist."""
        self.references, self.referrers, self.sizes = references, referrers, sizes
        self.distance, self.state, self.work = distance, state, work
        if state.shape[0] != distance.shape[0]:
            raise ValueError("a state for each object")
        self.held = held_of(references, referrers, sizes, distance)
        self.found = Found(0, 0, 0)
        self.held.state = &state[0] if self.held.objects else NULL
        self.held.looked, self.held.most = 0, ~<size_t> 0
        self.held.begun, self.held.known = FOLLOWED, SUSPECTED
        with nogil:
            self.status = mark_dominated(
                &self.held, chosen, dominated_start, dominated, &self.gone, &self.chosen, work
            )
        fail(self.status)
        self.steps = self.gone.count if self.gone.count < most_listed(&self.held) else self.held.objects

    def follow(self, size_t first, size_t last):
        """Follow what refers from the retained objects to others, from step ``first`` up to ``last``.

        Each object is visited once; some of their targets may be listed twice. Raises MemoryError.
        """
        cdef Found found = Found(0, 0, 0)
        cdef Vector seeds
        cdef int status = self.status
        vector_init(&seeds, 4)
        with nogil:
            if status == 0:
                status = follow(
                    &self.held, NULL if self.steps == self.held.objects else <uint32_t *> self.gone.data,
                    first, last, &seeds, &found, self.work,
                )
        if status == 0:
            status = vector_extend(&self.seeds, seeds.data, seeds.count)
        vector_free(&seeds)
        if status < 0:
            self.status = status
        self.found.objects += found.objects
        self.found.heap += found.heap
        self.found.native += found.native
        fail(status)

    def sum_up(self) -> tuple[int, int, int] | None:
        """The number of retained objects, their bytes, and the bytes that they own outside of the heap.

        None if the work was stopped. Raises MemoryError.
        """
        cdef int status = self.status
        with nogil:
            if status == 0:
                status = let_go(&self.held, None, &self.seeds, NULL, &self.found, self.work)
        return fail(status, (self.found.objects, self.found.heap, self.found.native))

    def mark(self):
        """Set each state to 1 for a retained object, else to 0."""
        cdef size_t each
        cdef uint8_t *state = self.held.state
        with nogil:
            # without branches, so that compilers take many at a time
            for each in range(self.held.objects):
                state[each] = (state[each] & IS_GONE != 0) | (state[each] & (LOST | IS_BACK) == LOST)

    def __dealloc__(self):
        vector_free(&self.gone)
        vector_free(&self.seeds)


cdef inline size_t most_listed(const Held *held) noexcept nogil:
    return held.objects // FEW + 1


cdef int mark_dominated(
    Held *held,
    const uint32_t[::1] chosen,
    const uint32_t[::1] dominated_start,
    const uint32_t[::1] dominated,
    Vector *gone,
    size_t *count,
    Work work,
) noexcept nogil:
    """Mark the chosen reachable objects and all that they dominate as GONE; list them as long as they are few.

    Adds how many distinct objects are chosen to ``count``.
    """
    cdef Py_ssize_t each
    cdef uint32_t item, other, at
    cdef size_t seen = 0, most = most_listed(held)
    cdef Vector left
    cdef int status = 0
    for each in range(chosen.shape[0]):
        if chosen[each] >= held.objects:
            return OUT_OF_RANGE
        count[0] += held.state[chosen[each]] == 0
        held.state[chosen[each]] = WAITS
    vector_init(&left, 4)
    for each in range(chosen.shape[0]):
        if each % LOOK_EVERY == 0 and look(work, each, chosen.shape[0], 0, DOMINATED) < 0:
            status = STOPPED
        if each + 2 * AHEAD < chosen.shape[0]:
            prefetch(&dominated_start[chosen[each + 2 * AHEAD]])
            prefetch(&dominated[dominated_start[chosen[each + AHEAD]]])
        item = chosen[each]
        # what one of them dominates ends at the others, so that each object comes once
        if held.state[item] == WAITS:
            held.state[item] = 0 if held.distance[item] == NO_NUMBER else GONE
            if status == 0 and held.state[item]:
                status = vector_push_u32(&left, item)
        while left.count and status == 0:
            left.count -= 1
            item = (<uint32_t *> left.data)[left.count]
            seen += 1
            if seen % LOOK_EVERY == 0 and look(work, each, chosen.shape[0], 0, DOMINATED) < 0:
                status = STOPPED
            if status == 0 and gone.count < most:
                status = vector_push_u32(gone, item)
            for at in range(dominated_start[item], dominated_start[item + 1]):
                other = dominated[at]
                if held.state[other] != 0:
                    continue
                held.state[other] = GONE
                # most dominate nothing
                if status == 0 and dominated_start[other] != dominated_start[other + 1]:
                    status = vector_push_u32(&left, other)
                elif status == 0 and gone.count < most:
                    status = vector_push_u32(gone, other)
        if status < 0:
            break
    vector_free(&left)
    return status


cdef int follow(
    Held *held, const uint32_t *listed, size_t first, size_t last, Vector *seeds, Found *found, Work work
) noexcept nogil:
    """Add up what is GONE among some objects, those of ``listed`` or all where it is NULL.

    What they refer to that may be as well joins the ``seeds``.
    """
    cdef size_t each
    cdef uint32_t item, other
    cdef uint64_t at
    cdef const Graph *graph = &held.down
    cdef int status = 0
    for each in range(first, last):
        if each % LOOK_EVERY == 0 and look(work, each - first, last - first, DOMINATED, FOLLOWED) < 0:
            return STOPPED
        if listed != NULL:
            fetch(graph, listed, each, last)
            item = listed[each]
        else:
            item = <uint32_t> each
            if held.state[item] != GONE:
                continue
        if held.distance[item] == NO_NUMBER:
            # it was lost before
            held.state[item] = STAYS
            continue
        found.objects += 1
        found.heap += held.shallow[item]
        if held.native != NULL:
            found.native += held.native[item]
        for at in range(graph.start[item], graph.start[item + 1]):
            if at + 3 * AHEAD < graph.references:
                prefetch(&held.state[graph.target[at + 3 * AHEAD]])
            other = graph.target[at]
            if held.state[other] == 0 and held.distance[other] == held.distance[item] + 1:
                if graph.follows[graph.kind[at]]:
                    # another thread may do the same at this moment
                    held.state[other] = WAITS
                    status = vector_push_u32(seeds, other)
                    if status < 0:
                        return status
    return status
