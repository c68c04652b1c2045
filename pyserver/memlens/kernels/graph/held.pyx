# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds what is still held when some references are left out or cut, starting from what may be lost.

Visits only the neighbours of that set, in both directions.
"""

from libc.stdint cimport uint32_t, uint64_t

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.columns cimport AHEAD, NO_NUMBER, OUT_OF_RANGE
from memlens.kernels.graph.left_out cimport ALL_OUT, SOME_OUT, LeftOut
from memlens.kernels.graph.levels cimport by_distance


cdef inline bint is_whole(const Held *held, LeftOut left_out, uint32_t source, uint32_t item) noexcept nogil:
    """Whether an existing reference from ``source`` to ``item`` is neither left out nor cut."""
    if left_out is None:
        return True
    if held.state[source] & IS_SOURCE and held.state[item] & IS_TARGET:
        return False
    return left_out.is_kept(source, item, held.down.follows)


cdef inline bint is_row_kept(const Held *held, LeftOut left_out, uint32_t source, uint64_t row) noexcept nogil:
    """The same for one of its references, by number."""
    if left_out is None:
        return True
    if left_out.marks[source] & ALL_OUT:
        return False
    if held.state[source] & IS_SOURCE and held.state[held.down.target[row]] & IS_TARGET:
        return False
    return not (left_out.marks[source] & SOME_OUT and left_out.rows[row])


cdef inline void fetch_source(const Held *held, uint64_t at, uint64_t end) noexcept nogil:
    """Prefetch the source's data for a later one of many references to an object."""
    if at + AHEAD < end:
        prefetch(&held.distance[held.up.target[at + AHEAD]])
        prefetch(&held.state[held.up.target[at + AHEAD]])


cdef int look_at(Held *held, LeftOut left_out, uint32_t item, Vector *lost) noexcept nogil:
    """Whether an object is still referred to from one step nearer to a root; if not, it joins the ``lost``."""
    cdef uint32_t source, nearer = held.distance[item] - 1
    cdef uint64_t at, begin = held.up.start[item], end = held.up.start[item + 1]
    if not begin <= end <= held.down.references:
        return OUT_OF_RANGE
    # only former roots among the roots are examined
    for at in range(begin, end if held.distance[item] else begin):
        fetch_source(held, at, end)
        source = held.up.target[at]
        if source >= held.objects:
            return OUT_OF_RANGE
        if held.distance[source] == nearer and not held.state[source] & LOST:
            if held.up.follows[held.up.kind[at]] and is_whole(held, left_out, source, item):
                held.state[item] |= STAYS
                held.looked += at - begin + 1
                return TOO_MANY if held.looked > held.most else 0
    held.looked += end - begin + 1
    held.state[item] |= LOST
    return TOO_MANY if held.looked > held.most else vector_push_u32(lost, item)


cdef int lose(Held *held, LeftOut left_out, Vector *seeds, Vector *lost, Work work) noexcept nogil:
    """List the objects whose distance grows or that become unreachable: all shortest paths to them pass something left
    out or cut.

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
            if next_seed % LOOK_EVERY == 0 and look(work, next_seed, seeds.count, held.begun, held.known) < 0:
                return STOPPED
            next_seed += 1
            if not held.state[item] & (STAYS | LOST):
                status = look_at(held, left_out, item, lost)
        for each in range(begin, end if status == 0 else begin):
            if each % LOOK_EVERY == 0 and look(work, 0, 1, held.begun, held.known) < 0:
                return STOPPED
            if each + 2 * AHEAD < end:
                prefetch(&held.down.start[(<uint32_t *> lost.data)[each + 2 * AHEAD]])
                at = held.down.start[(<uint32_t *> lost.data)[each + AHEAD]]
                if at < held.down.references:
                    prefetch(&held.down.target[at])
                    prefetch(&held.down.kind[at])
            item = (<uint32_t *> lost.data)[each]
            if not held.down.start[item] <= held.down.start[item + 1] <= held.down.references:
                status = OUT_OF_RANGE
            for at in range(held.down.start[item], held.down.start[item + 1] if status == 0 else held.down.start[item]):
                other = held.down.target[at]
                if other >= held.objects:
                    status = OUT_OF_RANGE
                    break
                if held.distance[other] == level and not held.state[other] & (STAYS | LOST):
                    if held.down.follows[held.down.kind[at]]:
                        status = look_at(held, left_out, other, lost)
                        if status < 0:
                            break
            if status < 0:
                break
        begin = end
        level += 1
    return status


cdef uint32_t nearest(const Held *held, LeftOut left_out, uint32_t item, bint is_any) noexcept nogil:
    """The least distance among the referrers of a lost object that certainly stay held; with ``is_any``, that of
    any."""
    cdef uint32_t source, found = NO_NUMBER
    cdef uint64_t at
    for at in range(held.up.start[item], held.up.start[item + 1]):
        fetch_source(held, at, held.up.start[item + 1])
        source = held.up.target[at]
        if source >= held.objects:
            continue
        if held.distance[source] < found and not held.state[source] & LOST:
            if held.up.follows[held.up.kind[at]] and is_whole(held, left_out, source, item):
                found = held.distance[source]
                if is_any:
                    break
    return found


cdef int find_again(
    Held *held, LeftOut left_out, const Vector *lost, uint32_t *distance, Work work
) noexcept nogil:
    """Give lost objects their distances by other paths, or NO_NUMBER.

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
        if each % LOOK_EVERY == 0 and look(work, each, lost.count, held.known, 80) < 0:
            status = STOPPED
            break
        if each + 2 * AHEAD < lost.count:
            prefetch(&held.up.start[numbers[each + 2 * AHEAD]])
            prefetch(&held.up.target[held.up.start[numbers[each + AHEAD]]])
            prefetch(&held.up.kind[held.up.start[numbers[each + AHEAD]]])
        far = nearest(held, left_out, numbers[each], distance == NULL)
        if far != NO_NUMBER:
            status = vector_push_u32(&seeds, numbers[each])
            if status < 0:
                break
        if distance != NULL:
            # the former distance of a lost object is invalid
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
                prefetch(&held.down.start[(<uint32_t *> queue.data)[first + 2 * AHEAD]])
                at = held.down.start[(<uint32_t *> queue.data)[first + AHEAD]]
                prefetch(&held.down.target[at])
                prefetch(&held.down.kind[at])
            item = (<uint32_t *> queue.data)[first]
            first += 1
            for at in range(held.down.start[item], held.down.start[item + 1]):
                other = held.down.target[at]
                if held.state[other] & (LOST | IS_BACK) != LOST or not held.down.follows[held.down.kind[at]]:
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


cdef int let_go(
    Held *held, LeftOut left_out, Vector *seeds, uint32_t *distance, Found *found, Work work
) noexcept nogil:
    """Count the objects that nothing holds once ``seeds`` may be lost, and sum up their bytes.

    ``distance`` is that of ``held`` where it is to change, else NULL.
    """
    cdef Vector lost
    cdef uint32_t item
    cdef size_t each
    cdef int status
    vector_init(&lost, 4)
    status = lose(held, left_out, seeds, &lost, work)
    if status == 0:
        status = find_again(held, left_out, &lost, distance, work)
    for each in range(lost.count if status == 0 else 0):
        item = (<uint32_t *> lost.data)[each]
        if not held.state[item] & IS_BACK:
            found.objects += 1
            found.heap += held.shallow[item]
            if held.native != NULL:
                found.native += held.native[item]
    vector_free(&lost)
    return status
