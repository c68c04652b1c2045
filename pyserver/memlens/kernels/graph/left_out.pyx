# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is still held where some references are left out, as if a program no longer had them.

Columns are as in :mod:`memlens.kernels.graph.walk`. Numbers in them are checked when they are used, but for those of
``kind``, which is an item of tables of 256; what is out of range raises IndexError.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.levels cimport by_distance

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    OUT_OF_RANGE = -2   # a status beside -1, which is "without memory"
    TOO_MANY = -4
    AHEAD = 8           # objects that are fetched before their turn


cdef class LeftOut:
    """References of one graph that are left out: all those of some objects, and those of some names."""

    def __cinit__(self, const uint64_t[::1] start, const uint32_t[::1] target, const uint8_t[::1] kind):
        vector_init(&self.sources, 4)
        if start.shape[0] < 1 or kind.shape[0] != target.shape[0]:
            raise ValueError("a kind for each reference")
        self.start, self.target, self.kind = start, target, kind
        self.objects, self.references = start.shape[0] - 1, target.shape[0]
        self.marks = <uint8_t *> calloc(self.objects + 1, 1)
        self.rows = <uint8_t *> calloc(self.references + 1, 1)
        if self.marks == NULL or self.rows == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.marks)
        free(self.rows)
        vector_free(&self.sources)

    def add_objects(self, const uint32_t[::1] chosen):
        """Leave out all references of some objects. Raises MemoryError."""
        cdef Py_ssize_t each
        cdef int status = 0
        with nogil:
            for each in range(chosen.shape[0]):
                status = self.add(chosen[each], ALL_OUT)
                if status < 0:
                    break
        fail(status)

    def add_names(
        self,
        const uint32_t[::1] name,
        const uint8_t[::1] by_text,
        uint32_t wanted,
        const uint32_t[::1] among,
        Work work not None,
    ):
        """Leave out the references of the name ``wanted`` of some objects; how many there are.

        ``name`` has an item a reference, and ``by_text`` one for each kind: whether its names are such numbers. None if
        ``work`` was stopped. Raises MemoryError.
        """
        cdef Py_ssize_t each
        cdef uint32_t item
        cdef uint64_t row, end, count = 0
        cdef int status = 0
        if <uint64_t> name.shape[0] != self.references or by_text.shape[0] < 256:
            raise ValueError("a name for each reference")
        with nogil:
            for each in range(among.shape[0]):
                if each % LOOK_EVERY == 0 and look(work, each, among.shape[0], 0, 10) < 0:
                    status = STOPPED
                if each + 2 * AHEAD < among.shape[0] and among[each + 2 * AHEAD] < self.objects:
                    prefetch(&self.start[among[each + 2 * AHEAD]])
                    row = self.start[among[each + AHEAD]] if among[each + AHEAD] < self.objects else 0
                    if row < self.references:
                        prefetch(&name[row])
                        prefetch(&self.kind[row])
                item = among[each]
                if item >= self.objects:
                    status = OUT_OF_RANGE
                if status < 0:
                    break
                row, end = self.start[item], self.start[item + 1]
                if not row <= end <= self.references:
                    status = OUT_OF_RANGE
                while row < end and status == 0:
                    if name[row] == wanted and by_text[self.kind[row]]:
                        count += 1
                        status = self.add_named(item, row)
                    row += 1
        return fail(status, count)

    def add_name(
        self, const uint32_t[::1] name, const uint8_t[::1] by_text, uint32_t wanted, Work work not None
    ):
        """The same of all objects."""
        cdef size_t item = 0, high, step
        cdef uint64_t row, count = 0
        cdef int status = 0
        if <uint64_t> name.shape[0] != self.references or by_text.shape[0] < 256:
            raise ValueError("a name for each reference")
        with nogil:
            for row in range(self.references):
                if row % (LOOK_EVERY * 8) == 0 and look(work, row, self.references, 0, 10) < 0:
                    status = STOPPED
                    break
                if name[row] != wanted or not by_text[self.kind[row]]:
                    continue
                # whose reference it is: first by steps that double, then by halves
                step = 1
                while item + step < self.objects and self.start[item + step] <= row:
                    item += step
                    step *= 2
                high = item + step if item + step < self.objects else self.objects
                while high - item > 1:
                    step = (high - item) // 2
                    if self.start[item + step] <= row:
                        item += step
                    else:
                        high = item + step
                if item >= self.objects or not self.start[item] <= row < self.start[item + 1] <= self.references:
                    status = OUT_OF_RANGE
                    break
                count += 1
                status = self.add_named(<uint32_t> item, row)
                if status < 0:
                    break
        return fail(status, count)

    def are_out(self, const uint32_t[::1] sources, const uint64_t[::1] rows, uint8_t[::1] out):
        """Fill ``out`` with whether references by number, each of one of ``sources``, are left out."""
        cdef Py_ssize_t each
        if not sources.shape[0] == rows.shape[0] == out.shape[0]:
            raise ValueError("a source for each reference")
        for each in range(rows.shape[0]):
            if sources[each] >= self.objects or rows[each] >= self.references:
                raise IndexError("a reference is out of range")
            out[each] = self.marks[sources[each]] & ALL_OUT or self.rows[rows[each]]

    cdef int add(self, uint32_t item, uint8_t mark) noexcept nogil:
        if item >= self.objects or not self.start[item] <= self.start[item + 1] <= self.references:
            return OUT_OF_RANGE
        if self.marks[item] & (ALL_OUT | SOME_OUT) == 0:
            if vector_push_u32(&self.sources, item) < 0:
                return -1
        self.marks[item] |= mark
        return 0

    cdef int add_named(self, uint32_t item, uint64_t row) noexcept nogil:
        if self.target[row] >= self.objects:
            return OUT_OF_RANGE
        self.rows[row] = 1
        self.marks[self.target[row]] |= OUT_TO_IT
        return self.add(item, SOME_OUT)

    cdef bint is_kept(self, uint32_t source, uint32_t item, const uint8_t *follows) noexcept nogil:
        """Whether a reference from ``source`` to ``item`` that ``follows`` is left; there is one, perhaps left out."""
        cdef uint64_t row
        if self.marks[source] & ALL_OUT:
            return False
        if not (self.marks[source] & SOME_OUT and self.marks[item] & OUT_TO_IT):
            return True
        for row in range(self.start[source], self.start[source + 1]):
            if self.target[row] == item and not self.rows[row] and follows[self.kind[row]]:
                return True
        return False


cdef object fail(int status, object done=None):
    """What a kernel returns: None where it was stopped."""
    if status == STOPPED:
        return None
    if status == OUT_OF_RANGE:
        raise IndexError("a reference is out of range")
    if status == -1:
        raise MemoryError
    return done


cdef enum:
    IS_SOURCE = 1       # of references that are cut besides
    IS_TARGET = 2
    WAITS = 4           # listed as one that may be lost
    STAYS = 8           # is as near to a root as before
    LOST = 16           # isn't
    IS_BACK = 32        # but is held in another way


cdef struct Held:
    const uint64_t *start
    const uint32_t *target
    const uint8_t *kind
    const uint64_t *back_start
    const uint32_t *back
    const uint8_t *back_kind
    const uint8_t *follows
    const uint32_t *distance
    uint8_t *state
    size_t objects
    uint64_t references
    size_t looked
    size_t most


cdef inline bint is_whole(const Held *held, LeftOut left_out, uint32_t source, uint32_t item) noexcept nogil:
    """Whether a reference from ``source`` to ``item``, where there is one, is neither left out nor cut."""
    if held.state[source] & IS_SOURCE and held.state[item] & IS_TARGET:
        return False
    return left_out.is_kept(source, item, held.follows)


cdef inline bint is_row_kept(const Held *held, LeftOut left_out, uint32_t source, uint64_t row) noexcept nogil:
    """The same of one of its references by number."""
    if held.state[source] & IS_SOURCE and held.state[held.target[row]] & IS_TARGET:
        return False
    return not (left_out.marks[source] & SOME_OUT and left_out.rows[row])


cdef int look_at(Held *held, LeftOut left_out, uint32_t item, Vector *lost) noexcept nogil:
    """Whether an object is still referred to from one step nearer to a root; if not, it joins the ``lost``."""
    cdef uint32_t source, nearer = held.distance[item] - 1
    cdef uint64_t at, begin = held.back_start[item], end = held.back_start[item + 1]
    if not begin <= end <= held.references:
        return OUT_OF_RANGE
    # of roots only those are looked at that are none any more
    for at in range(begin, end if held.distance[item] else begin):
        source = held.back[at]
        if source >= held.objects:
            return OUT_OF_RANGE
        if held.distance[source] == nearer and not held.state[source] & LOST:
            if held.follows[held.back_kind[at]] and is_whole(held, left_out, source, item):
                held.state[item] |= STAYS
                held.looked += at - begin + 1
                return TOO_MANY if held.looked > held.most else 0
    held.looked += end - begin + 1
    held.state[item] |= LOST
    return TOO_MANY if held.looked > held.most else vector_push_u32(lost, item)


cdef int lose(Held *held, LeftOut left_out, Vector *seeds, Vector *lost, Work work) noexcept nogil:
    """List what is farther from roots, or no longer reached: all shortest paths to it pass what is left out or cut.

    ``seeds`` are those that may be, as far as that isn't because of others that are. Level after level of distances:
    what is one step nearer is known by then.
    """
    cdef size_t each, begin = 0, end, next_seed = 0
    cdef uint64_t at
    cdef uint32_t item, other, level = 0
    cdef int status = by_distance(seeds, held.distance)
    # ``lost`` from ``begin`` on are those of the level before
    while status == 0 and (next_seed < seeds.count or begin < lost.count):
        if begin == lost.count:
            level = held.distance[(<uint32_t *> seeds.data)[next_seed]]
        end = lost.count
        while status == 0 and next_seed < seeds.count:
            item = (<uint32_t *> seeds.data)[next_seed]
            if held.distance[item] != level:
                break
            if next_seed % LOOK_EVERY == 0 and look(work, next_seed, seeds.count, 10, 50) < 0:
                return STOPPED
            next_seed += 1
            if not held.state[item] & (STAYS | LOST):
                status = look_at(held, left_out, item, lost)
        for each in range(begin, end if status == 0 else begin):
            if each % LOOK_EVERY == 0 and look(work, 0, 1, 10, 50) < 0:
                return STOPPED
            if each + 2 * AHEAD < end:
                prefetch(&held.start[(<uint32_t *> lost.data)[each + 2 * AHEAD]])
                at = held.start[(<uint32_t *> lost.data)[each + AHEAD]]
                if at < held.references:
                    prefetch(&held.target[at])
                    prefetch(&held.kind[at])
            item = (<uint32_t *> lost.data)[each]
            if not held.start[item] <= held.start[item + 1] <= held.references:
                status = OUT_OF_RANGE
            for at in range(held.start[item], held.start[item + 1] if status == 0 else held.start[item]):
                other = held.target[at]
                if other >= held.objects:
                    status = OUT_OF_RANGE
                    break
                if held.distance[other] == level and not held.state[other] & (STAYS | LOST):
                    if held.follows[held.kind[at]]:
                        status = look_at(held, left_out, other, lost)
                        if status < 0:
                            break
            if status < 0:
                break
        begin = end
        level += 1
    return status


cdef uint32_t nearest(const Held *held, LeftOut left_out, uint32_t item) noexcept nogil:
    """The least distance of what certainly stays held and refers to a lost object."""
    cdef uint32_t source, found = NO_NUMBER
    cdef uint64_t at
    for at in range(held.back_start[item], held.back_start[item + 1]):
        source = held.back[at]
        if source >= held.objects:
            continue
        if held.distance[source] < found and not held.state[source] & LOST:
            if held.follows[held.back_kind[at]] and is_whole(held, left_out, source, item):
                found = held.distance[source]
    return found


cdef int find_again(
    Held *held, LeftOut left_out, const Vector *lost, uint32_t *distance, Work work
) noexcept nogil:
    """Give what was lost its distance by other ways, and NO_NUMBER where there is none.

    Where ``distance`` is NULL nothing is written, and only what is held at all is IS_BACK.
    """
    cdef size_t each, first = 0, end, next_seed = 0
    cdef uint64_t at
    cdef uint32_t item, other, level = 0, far
    cdef uint32_t *numbers = <uint32_t *> lost.data
    cdef Vector seeds, queue
    cdef int status = 0
    vector_init(&seeds, 4)
    vector_init(&queue, 4)
    for each in range(lost.count):
        if each % LOOK_EVERY == 0 and look(work, each, lost.count, 50, 80) < 0:
            status = STOPPED
            break
        if each + 2 * AHEAD < lost.count:
            prefetch(&held.back_start[numbers[each + 2 * AHEAD]])
            prefetch(&held.back[held.back_start[numbers[each + AHEAD]]])
            prefetch(&held.back_kind[held.back_start[numbers[each + AHEAD]]])
        far = nearest(held, left_out, numbers[each])
        if far != NO_NUMBER:
            status = vector_push_u32(&seeds, numbers[each])
            if status < 0:
                break
        if distance != NULL:
            # of what is lost the former distance is of no use any more
            distance[numbers[each]] = far + 1 if far != NO_NUMBER else NO_NUMBER
    if distance != NULL and status == 0:
        status = by_distance(&seeds, distance)
    while status == 0 and (next_seed < seeds.count or first < queue.count):
        # ``queue`` from ``first`` on are those of this level
        if first == queue.count and distance != NULL:
            while next_seed < seeds.count and held.state[(<uint32_t *> seeds.data)[next_seed]] & IS_BACK:
                next_seed += 1
            if next_seed == seeds.count:
                break
            level = distance[(<uint32_t *> seeds.data)[next_seed]]
        while next_seed < seeds.count and status == 0:
            item = (<uint32_t *> seeds.data)[next_seed]
            if not held.state[item] & IS_BACK:
                if distance != NULL and distance[item] > level:
                    break
                held.state[item] |= IS_BACK
                status = vector_push_u32(&queue, item)
            next_seed += 1
        end = queue.count
        while first < end and status == 0:
            if first % LOOK_EVERY == 0 and look(work, first, lost.count, 80, 100) < 0:
                status = STOPPED
                break
            if first + 2 * AHEAD < end:
                prefetch(&held.start[(<uint32_t *> queue.data)[first + 2 * AHEAD]])
                at = held.start[(<uint32_t *> queue.data)[first + AHEAD]]
                prefetch(&held.target[at])
                prefetch(&held.kind[at])
            item = (<uint32_t *> queue.data)[first]
            first += 1
            if left_out.marks[item] & ALL_OUT:
                continue
            for at in range(held.start[item], held.start[item + 1]):
                other = held.target[at]
                if held.state[other] & (LOST | IS_BACK) != LOST or not held.follows[held.kind[at]]:
                    continue
                if not is_row_kept(held, left_out, item, at):
                    continue
                held.state[other] |= IS_BACK
                if distance != NULL:
                    distance[other] = level + 1
                status = vector_push_u32(&queue, other)
                if status < 0:
                    break
        level += 1
    vector_free(&seeds)
    vector_free(&queue)
    return status


cdef class Holding:
    """Columns of a graph, with what is left out of it.

    ``distance`` is the least number of references that ``follows`` from a root, for :meth:`move_away` where nothing is
    left out, for :meth:`freed` where all of that is. ``native`` is the memory outside of the heap that each object owns;
    it may be empty. Not for several threads.
    """

    cdef const uint64_t[::1] start, back_start, shallow, native
    cdef const uint32_t[::1] target, back
    cdef const uint8_t[::1] kind, back_kind, follows
    cdef uint32_t[::1] distance
    cdef LeftOut left_out

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

    def move_away(self, const uint32_t[::1] dropped, Work work not None):
        """Change each distance to what it is without what is left out; NONE for what no root reaches then.

        Objects ``dropped`` were roots, and aren't any more. Returns how many objects that are, of those that were
        reached, and their bytes in the heap and outside of it; None if ``work`` was stopped, and then the distances are of no use. Raises
        MemoryError.
        """
        cdef size_t each, count = 0
        cdef uint64_t at, total = 0, outside = 0
        cdef uint32_t item, other
        cdef uint8_t mark
        cdef Held held
        cdef Vector seeds, lost
        cdef int status = self.begin(&held, ~<size_t> 0)
        vector_init(&seeds, 4)
        vector_init(&lost, 4)
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
            if status == 0:
                status = lose(&held, self.left_out, &seeds, &lost, work)
            if status == 0:
                status = find_again(&held, self.left_out, &lost, &self.distance[0] if held.objects else NULL, work)
            for each in range(lost.count if status == 0 else 0):
                item = (<uint32_t *> lost.data)[each]
                if not held.state[item] & IS_BACK:
                    count += 1
                    total += self.shallow[item]
                    if self.native.shape[0]:
                        outside += self.native[item]
        free(held.state)
        vector_free(&seeds)
        vector_free(&lost)
        return fail(status, (count, total, outside))

    def freed(
        self, const uint32_t[::1] sources, const uint32_t[::1] targets, size_t most, Work work not None
    ):
        """Bytes that nothing would hold without all references from ``sources`` to ``targets`` as well.

        They are those in the heap and those outside of it.
        And how many references were looked at; the bytes are None where that are more than ``most``. None if ``work``
        was stopped. Raises MemoryError.
        """
        cdef size_t each
        cdef uint64_t total = 0, outside = 0
        cdef uint32_t item
        cdef Held held
        cdef Vector seeds, lost
        cdef int status = self.begin(&held, most)
        vector_init(&seeds, 4)
        vector_init(&lost, 4)
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
                status = lose(&held, self.left_out, &seeds, &lost, work)
            if status == 0:
                status = find_again(&held, self.left_out, &lost, NULL, work)
            for each in range(lost.count if status == 0 else 0):
                item = (<uint32_t *> lost.data)[each]
                if not held.state[item] & IS_BACK:
                    total += self.shallow[item]
                    if self.native.shape[0]:
                        outside += self.native[item]
        free(held.state)
        vector_free(&seeds)
        vector_free(&lost)
        if status == TOO_MANY:
            return None, held.looked
        return fail(status, ((total, outside), held.looked))

    cdef int begin(self, Held *held, size_t most) noexcept:
        held.objects, held.references = self.distance.shape[0], self.target.shape[0]
        held.start, held.back_start, held.follows = &self.start[0], &self.back_start[0], &self.follows[0]
        held.target = &self.target[0] if held.references else NULL
        held.kind = &self.kind[0] if held.references else NULL
        held.back = &self.back[0] if held.references else NULL
        held.back_kind = &self.back_kind[0] if held.references else NULL
        held.distance = &self.distance[0] if held.objects else NULL
        held.looked, held.most = 0, most
        held.state = <uint8_t *> calloc(held.objects + 1, 1)
        return -1 if held.state == NULL else 0
