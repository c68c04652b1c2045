# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Walks over a graph of objects: references turned around, distances, paths to roots, what a set retains.

References are columns by source: those of object ``o`` are ``start[o]`` to ``start[o + 1]`` of ``target`` and ``kind``.
``follows`` has an item for each number of a byte: whether references of that kind are followed. Columns of archives
are checked by whoever maps them; so are numbers of objects that come from outside.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push_u32

cdef uint32_t NO_NUMBER = 0xFFFFFFFF


def referrers(
    const uint64_t[::1] start, const uint32_t[::1] target, uint64_t[::1] back_start, uint32_t[::1] back
):
    """Turn references around: the sources of those to object ``o`` are at ``back_start[o]`` and on in ``back``.

    They ascend, and a source stands as often as it refers to the object.
    """
    cdef Py_ssize_t objects = start.shape[0] - 1, item
    cdef uint64_t at, total = 0
    cdef uint64_t *place = &back_start[0]
    with nogil:
        memset(place, 0, (objects + 1) * 8)
        for at in range(<uint64_t> target.shape[0]):
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
                place[target[at]] -= 1
                back[place[target[at]]] = <uint32_t> item


def distances(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] follows,
    const uint32_t[::1] sources,
    uint32_t[::1] distance,
):
    """Fill ``distance`` with the least number of references from any of ``sources``; NONE for what they don't reach."""
    cdef size_t objects = distance.shape[0], first = 0, last = 0
    cdef uint32_t item, other, step
    cdef uint64_t at
    cdef Py_ssize_t each
    cdef uint32_t *queue = <uint32_t *> malloc((objects + 1) * 4)
    if queue == NULL:
        raise MemoryError
    with nogil:
        for each in range(<Py_ssize_t> objects):
            distance[each] = NO_NUMBER
        for each in range(sources.shape[0]):
            if distance[sources[each]] == NO_NUMBER:
                distance[sources[each]] = 0
                queue[last] = sources[each]
                last += 1
        while first < last:
            item = queue[first]
            first += 1
            step = distance[item] + 1
            for at in range(start[item], start[item + 1]):
                if follows[kind[at]]:
                    other = target[at]
                    if distance[other] == NO_NUMBER:
                        distance[other] = step
                        queue[last] = other
                        last += 1
    free(queue)


def kept_without(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] retains,
    const uint32_t[::1] roots,
    const uint32_t[::1] chosen,
    uint8_t[::1] kept,
):
    """Mark in ``kept`` what roots reach without passing through any of the ``chosen`` objects."""
    cdef size_t objects = kept.shape[0], top = 0
    cdef uint32_t item, other
    cdef uint64_t at
    cdef Py_ssize_t each
    cdef uint32_t *stack = <uint32_t *> malloc((objects + 1) * 4)
    if stack == NULL:
        raise MemoryError
    with nogil:
        memset(&kept[0], 0, objects)
        for each in range(chosen.shape[0]):
            kept[chosen[each]] = 2
        for each in range(roots.shape[0]):
            if kept[roots[each]] == 0:
                kept[roots[each]] = 1
                stack[top] = roots[each]
                top += 1
        while top:
            top -= 1
            item = stack[top]
            for at in range(start[item], start[item + 1]):
                other = target[at]
                if kept[other] == 0 and retains[kind[at]]:
                    kept[other] = 1
                    stack[top] = other
                    top += 1
        for each in range(chosen.shape[0]):
            kept[chosen[each]] = 0
    free(stack)


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

    Objects ``moved``, which ascend, are dominated by those of ``moved_to``. Objects without a ``distance`` hold nothing.
    Not for several threads.
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

    def hold(self, uint32_t item, const uint32_t[::1] referrers, const uint32_t[::1] without, size_t most):
        """Whether one of ``referrers`` has a reference that retains an object, and isn't dominated by it.

        Referrers ascend and may stand several times; those ``without``, which ascend as well, don't count. None where
        more than ``most`` dominators would have to be looked at. Raises MemoryError.
        """
        cdef size_t looked = 0, each_passed
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
                one = referrers[each]
                if self.distance[one] == NO_NUMBER or (each and referrers[each - 1] == one):
                    continue
                place = first_of(without, one)
                if place < without.shape[0] and without[place] == one:
                    continue
                while one != NO_NUMBER and self.state[one] == 0 and looked <= most:
                    looked += 1
                    one = above(self.dominator, self.moved, self.moved_to, one)
                if looked > most:
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
                for at in range(self.start[one], self.start[one + 1]):
                    if self.target[at] == item and self.retains[self.kind[at]]:
                        holds = True
                        break
                if holds:
                    break
            for each_passed in range(self.passed.count):
                self.state[(<uint32_t *> self.passed.data)[each_passed]] = 0
        if status < 0:
            # what couldn't be remembered couldn't be taken back either
            memset(self.state, 0, self.dominator.shape[0])
            raise MemoryError
        return None if looked > most else holds


cdef class PathSearch:
    """Searches backwards from an object for roots, the nearest first. Each object is passed through once.

    So the first path is the shortest, and each further one is the shortest to another root that avoids going through an
    object twice, as heap analysers list "paths to GC roots".
    """

    cdef const uint64_t[::1] back_start, start
    cdef const uint32_t[::1] back, target
    cdef const uint8_t[::1] kind, follows, is_root
    cdef uint32_t *towards      # the next object on the way to the one that is explained
    cdef Vector queue
    cdef size_t first
    cdef size_t objects
    cdef uint32_t item

    def __cinit__(
        self,
        const uint64_t[::1] start,
        const uint32_t[::1] target,
        const uint8_t[::1] kind,
        const uint64_t[::1] back_start,
        const uint32_t[::1] back,
        const uint8_t[::1] follows,
        const uint8_t[::1] is_root,
        uint32_t item,
    ):
        vector_init(&self.queue, 4)
        self.start, self.target, self.kind = start, target, kind
        self.back_start, self.back = back_start, back
        self.follows, self.is_root = follows, is_root
        self.objects = is_root.shape[0]
        self.item = item
        # nearly all of it is never touched, so calloc's untouched pages cost nothing: 0 is "not seen"
        self.towards = <uint32_t *> calloc(self.objects + 1, 4)
        if self.towards == NULL or vector_push_u32(&self.queue, item) < 0:
            raise MemoryError
        self.towards[item] = item + 1

    def __dealloc__(self):
        free(self.towards)
        vector_free(&self.queue)

    cdef bint is_followed(self, uint32_t source, uint32_t item) noexcept nogil:
        """Whether one of the references between two objects is of a kind that is followed."""
        cdef uint64_t at
        for at in range(self.start[source], self.start[source + 1]):
            if self.target[at] == item and self.follows[self.kind[at]]:
                return True
        return False

    def next_path(self, size_t most):
        """The next path as ``uint32`` numbers of objects, from a root to the object; None when there is no other.

        ``most`` bounds how many objects are looked at; once they are used up, None is returned as well, and
        :attr:`is_complete` is False.
        """
        cdef uint32_t item = NO_NUMBER, source, one
        cdef uint64_t at
        cdef size_t looked = 0
        cdef bint found = False
        cdef int status = 0
        cdef Vector path
        vector_init(&path, 4)
        with nogil:
            while self.first < self.queue.count and looked < most and status == 0:
                item = (<uint32_t *> self.queue.data)[self.first]
                self.first += 1
                looked += 1
                found = self.is_root[item] != 0
                # a root may itself be held by another
                for at in range(self.back_start[item], self.back_start[item + 1]):
                    source = self.back[at]
                    if self.towards[source] == 0 and self.is_followed(source, item):
                        self.towards[source] = item + 1
                        status = vector_push_u32(&self.queue, source)
                        if status < 0:
                            break
                if found:
                    break
            if found and status == 0:
                one = item
                status = vector_push_u32(&path, one)
                while one != self.item and status == 0:
                    one = self.towards[one] - 1
                    status = vector_push_u32(&path, one)
        if status < 0:
            vector_free(&path)
            raise MemoryError
        if not found:
            vector_free(&path)
            return None
        return column_of(&path, b"I")

    @property
    def is_complete(self):
        """Whether everything that holds the object has been looked at."""
        return self.first >= self.queue.count
