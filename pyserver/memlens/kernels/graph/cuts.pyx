# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What would be freed without some references, by the dominator tree; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.columns cimport NO_NUMBER, OUT_OF_RANGE, Graph, References, Sizes, fail

cdef enum:
    WITHIN = 1
    REACHED = 2
    IS_SOURCE = 4
    IS_TARGET = 8
    IS_MOVED = 16


cdef Py_ssize_t first_of(const uint32_t[::1] ascending, uint32_t item) noexcept nogil:
    """The index of the first item that is at least ``item``."""
    cdef Py_ssize_t low = 0, high = ascending.shape[0], middle
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


cdef class Dominated:
    """What each object immediately dominates: from ``start`` on in ``item``.

    But objects ``moved`` are dominated by those of ``moved_to``, which ascend.
    """

    cdef const uint32_t[::1] start, item, moved, moved_to

    def __cinit__(
        self,
        const uint32_t[::1] start,
        const uint32_t[::1] item,
        const uint32_t[::1] moved,
        const uint32_t[::1] moved_to,
    ):
        self.start, self.item, self.moved, self.moved_to = start, item, moved, moved_to


def freed_without(
    References references not None,
    Dominated below not None,
    const uint32_t[::1] distance,
    Sizes sizes not None,
    const uint32_t[::1] roots,
    const uint32_t[::1] sources,
    const uint32_t[::1] targets,
    uint32_t holder,
    size_t most,
) -> tuple[tuple[int, int] | None, int]:
    """Return the bytes that would be unreachable without all references from ``sources`` to ``targets``, and the number
    of visited objects.

    The bytes are those in the heap and, if these are known, those outside of it. ``holder`` dominates all
    targets and isn't one of them; it is the number of objects if only the roots together do. Paths from it to what it
    dominates stay within what it dominates, so nothing else is visited. The bytes are None where ``holder`` dominates
    more than ``most`` objects. Raises MemoryError.
    """
    cdef Graph graph = references.graph
    cdef const uint32_t[::1] dominated_start = below.start, dominated = below.item
    cdef const uint32_t[::1] moved = below.moved, moved_to = below.moved_to
    cdef const uint64_t *shallow = sizes.shallow
    cdef const uint64_t *native = sizes.native
    cdef size_t objects = distance.shape[0], looked = 0
    cdef uint64_t total = 0, outside = 0, at
    cdef bint has_native = native != NULL
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
                if has_native:
                    outside += native[other]
                looked += 1
                status = vector_push_u32(&stack, other)
            if status < 0:
                break
            for place in range(dominated_start[item], dominated_start[item + 1]):
                other = dominated[place]
                if distance[other] != NO_NUMBER and not state[other] & IS_MOVED:
                    state[other] |= WITHIN
                    total += shallow[other]
                    if has_native:
                        outside += native[other]
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
                        if has_native:
                            outside -= native[item]
                        status = vector_push_u32(&stack, item)
            while stack.count and status == 0:
                stack.count -= 1
                item = (<uint32_t *> stack.data)[stack.count]
                for at in range(graph.start[item], graph.start[item + 1]):
                    other = graph.target[at]
                    if state[other] & (WITHIN | REACHED) != WITHIN or not graph.follows[graph.kind[at]]:
                        continue
                    if state[item] & IS_SOURCE and state[other] & IS_TARGET:
                        continue
                    state[other] |= REACHED
                    total -= shallow[other]
                    if has_native:
                        outside -= native[other]
                    status = vector_push_u32(&stack, other)
                    if status < 0:
                        break
    free(state)
    vector_free(&stack)
    return fail(status, ((total, outside) if looked <= most else None, looked))


cdef uint32_t above(
    const uint32_t[::1] dominator, const uint32_t[::1] moved, const uint32_t[::1] moved_to, uint32_t item
) noexcept nogil:
    """The dominator of an object, which differs for the ``moved`` ones; these ascend."""
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
    """Decides whether objects of one graph are held by something that they don't dominate.

    Objects ``moved``, in ascending order, are dominated by those of ``moved_to``. Objects without a ``distance`` hold
    nothing. Numbers of references and in ``dominator`` are checked when they are used. Not for several threads.
    """

    cdef References references
    cdef Graph graph
    cdef const uint32_t[::1] dominator, moved, moved_to, distance
    cdef uint8_t *state         # of objects that a question has passed; nearly all of it is never touched
    cdef Vector passed

    def __cinit__(
        self,
        References references not None,
        const uint32_t[::1] dominator,
        const uint32_t[::1] moved,
        const uint32_t[::1] moved_to,
        const uint32_t[::1] distance,
    ):
        vector_init(&self.passed, 4)
        self.references, self.graph = references, references.graph
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
    ) -> bool | None:
        """Whether one of ``referrers`` that an object doesn't dominate has a retaining reference to it.

        Referrers ascend and may repeat; those in ``without``, which also ascend, don't count. None if more than
        ``most`` dominators would have to be visited, or if ``work`` was stopped. Raises MemoryError, and IndexError for
        a column with a number that is out of range.
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
                    # a cycle of dominators would never end
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
                if not self.graph.start[one] <= self.graph.start[one + 1] <= self.graph.references:
                    status = OUT_OF_RANGE
                    break
                for at in range(self.graph.start[one], self.graph.start[one + 1]):
                    if self.graph.target[at] == item and self.graph.follows[self.graph.kind[at]]:
                        holds = True
                        break
                if holds:
                    break
            for each_passed in range(self.passed.count):
                self.state[(<uint32_t *> self.passed.data)[each_passed]] = 0
        if status == -1:
            # what wasn't recorded couldn't be undone either
            memset(self.state, 0, self.dominator.shape[0])
        return fail(status, None if looked > most else holds)
