# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the objects of each of some groups retain together, of all these groups in one walk.

A group retains an object where every path to it from a root passes one of the group. So each object has the set of the
groups that all paths to it pass: its own, and those that it gets from everything that refers to it. These sets are the
largest that fit each other, and a set of 62 groups is a number: sets begin full, and what an object leads to keeps only
what is in its own until nothing changes. Nearest objects come first, so that few come more than twice.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from memlens.kernels.base.large_pages cimport in_large_pages
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.work cimport LOOK_EVERY, Work, look
from memlens.kernels.graph.columns cimport AHEAD, Graph, References, Sizes

MOST_GROUPS = 62

cdef uint64_t WAITS = <uint64_t> 1 << 62, NOT_REACHED = <uint64_t> 1 << 63


def retained_together(
    References references not None,
    const uint32_t[::1] roots,
    const uint64_t[::1] held,
    const uint32_t[::1] type_of,
    const uint64_t[::1] group_of,
    Sizes sizes not None,
    uint64_t[:, ::1] found,
    Work work not None,
) -> bool:
    """Add up in ``found`` what each group retains: its objects, their bytes, and those outside of the heap.

    ``group_of`` has an item for each type: 1 shifted by the number of its group, 0 where it is in none. ``held`` has
    the same for each root, of what makes it a root; it is empty where no group does. Columns are as in ``columns.pxd``;
    ``roots`` are distinct. Returns whether that was done: not where ``work`` was stopped. Raises MemoryError.
    """
    cdef Graph graph = references.graph
    cdef uint32_t objects = <uint32_t> type_of.shape[0], room = objects + 1, first = 0, last = 0, item, other, far
    cdef uint64_t waiting = 0, at, end, mask, passes, steps = 0
    cdef bint is_wanted = True
    cdef Py_ssize_t each
    cdef uint64_t *passed
    cdef uint32_t *queue
    if found.shape[0] != 3 or found.shape[1] < MOST_GROUPS:
        raise ValueError("three items for each group")
    if graph.objects != objects or sizes.objects != objects:
        raise ValueError("an item for each object")
    if held.shape[0] and held.shape[0] != roots.shape[0]:
        raise ValueError("an item for each root")
    passed = <uint64_t *> malloc(<size_t> room * 8)
    queue = <uint32_t *> malloc(<size_t> room * 4)
    if passed == NULL or queue == NULL:
        free(passed)
        free(queue)
        raise MemoryError
    in_large_pages(passed, <size_t> room * 8)
    in_large_pages(queue, <size_t> room * 4)
    with nogil:
        for item in range(objects):
            passed[item] = ~(<uint64_t> 0) ^ WAITS
        for each in range(roots.shape[0]):
            item = roots[each]
            passed[item] = group_of[type_of[item]] | (held[each] if held.shape[0] else 0) | WAITS
            queue[last] = item
            last += 1
            waiting += 1
        while waiting:
            # few objects come more than once
            if steps % LOOK_EVERY == 0 and look(work, min(steps, objects), objects, 0, 100) < 0:
                is_wanted = False
                break
            steps += 1
            if waiting > 3 * AHEAD:
                prefetch(&graph.start[queue[later(first, 3 * AHEAD, room)]])
                far = queue[later(first, 2 * AHEAD, room)]
                prefetch(&graph.target[graph.start[far]])
                prefetch(&graph.kind[graph.start[far]])
                prefetch(&passed[far])
                far = queue[later(first, AHEAD, room)]
                end = graph.start[far + 1]
                for at in range(graph.start[far], end if end - graph.start[far] < AHEAD else graph.start[far] + AHEAD):
                    prefetch(&passed[graph.target[at]])
                    prefetch(&type_of[graph.target[at]])
            item = queue[first]
            first = later(first, 1, room)
            waiting -= 1
            passed[item] ^= WAITS
            mask = passed[item]
            for at in range(graph.start[item], graph.start[item + 1]):
                if not graph.follows[graph.kind[at]]:
                    continue
                other = graph.target[at]
                passes = passed[other] & (mask | group_of[type_of[other]] | WAITS)
                if passes != passed[other]:
                    if not passes & WAITS:
                        passes |= WAITS
                        queue[last] = other
                        last = later(last, 1, room)
                        waiting += 1
                    passed[other] = passes
        if is_wanted:
            add_up(passed, objects, sizes.shallow, &found[0, 0], &found[1, 0])
            if sizes.native != NULL:
                add_up(passed, objects, sizes.native, NULL, &found[2, 0])
    free(passed)
    free(queue)
    return is_wanted


cdef inline uint32_t later(uint32_t place, uint32_t by, uint32_t room) noexcept nogil:
    """A place in a queue that begins again at its end."""
    return place + by if place + by < room else place + by - room


cdef void add_up(
    const uint64_t *passed, uint32_t objects, const uint64_t *shallow, uint64_t *counts, uint64_t *sums
) noexcept nogil:
    """Add up objects, unless ``counts`` is NULL, and bytes by the groups that paths to them pass.

    Many in a row have the same.
    """
    cdef uint32_t item = 0, begin, group
    cdef uint64_t mask, total
    while item < objects:
        mask, begin, total = passed[item], item, 0
        while item < objects and passed[item] == mask:
            total += shallow[item]
            item += 1
        if mask & NOT_REACHED:
            continue
        group = 0
        while mask:
            if mask & 1:
                if counts != NULL:
                    counts[group] += item - begin
                sums[group] += total
            mask >>= 1
            group += 1
