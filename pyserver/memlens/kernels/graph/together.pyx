# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the objects of each of some groups retain together, of all these groups in one walk.

A group retains an object where every path to it from a root passes one of the group. So each object has the set of the
groups that all paths to it pass: its own, and those that it gets from everything that refers to it. These sets are the
largest that fit each other, and a set of 62 groups is a number: sets begin full, and what an object leads to keeps only
what is in its own until nothing changes. Nearest objects come first, so that few come more than twice.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from memlens.kernels.base.large_pages cimport in_large_pages
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.work cimport LOOK_EVERY, Work, look
from memlens.kernels.graph.columns cimport AHEAD

MOST_GROUPS = 62

cdef uint64_t WAITS = <uint64_t> 1 << 62, NOT_REACHED = <uint64_t> 1 << 63


def retained_together(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] retains,
    const uint32_t[::1] roots,
    const uint64_t[::1] held,
    const uint32_t[::1] type_of,
    const uint64_t[::1] group_of,
    const uint64_t[::1] shallow,
    uint64_t[::1] counts,
    uint64_t[::1] sums,
    const uint64_t[::1] native,
    uint64_t[::1] outside,
    Work work not None,
) -> bool:
    """Add the objects that each group retains to its item of ``counts``, and their bytes to that of ``sums``.

    Likewise what they own outside of the heap, by ``native``, to that of ``outside``, unless ``native`` is empty.
    ``group_of`` has an item for each type: 1 shifted by the number of its group, 0 where it is in none. ``held`` has
    the same for each root, of what makes it a root; it is empty where no group does. Columns are as in ``columns.pxd``;
    ``roots`` are distinct. Returns whether that was done: not where ``work`` was stopped. Raises MemoryError.
    """
    cdef uint32_t objects = <uint32_t> type_of.shape[0], room = objects + 1, first = 0, last = 0, item, other, far
    cdef uint64_t waiting = 0, at, end, mask, found, steps = 0
    cdef bint is_wanted = True
    cdef Py_ssize_t each
    cdef uint64_t *passed
    cdef uint32_t *queue
    if counts.shape[0] < MOST_GROUPS or sums.shape[0] < MOST_GROUPS:
        raise ValueError("an item for each group")
    if native.shape[0] and (native.shape[0] < type_of.shape[0] or outside.shape[0] < MOST_GROUPS):
        raise ValueError("an item for each object and each group")
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
                prefetch(&start[queue[later(first, 3 * AHEAD, room)]])
                far = queue[later(first, 2 * AHEAD, room)]
                prefetch(&target[start[far]])
                prefetch(&kind[start[far]])
                prefetch(&passed[far])
                far = queue[later(first, AHEAD, room)]
                end = start[far + 1]
                for at in range(start[far], end if end - start[far] < AHEAD else start[far] + AHEAD):
                    prefetch(&passed[target[at]])
                    prefetch(&type_of[target[at]])
            item = queue[first]
            first = later(first, 1, room)
            waiting -= 1
            passed[item] ^= WAITS
            mask = passed[item]
            for at in range(start[item], start[item + 1]):
                if not retains[kind[at]]:
                    continue
                other = target[at]
                found = passed[other] & (mask | group_of[type_of[other]] | WAITS)
                if found != passed[other]:
                    if not found & WAITS:
                        found |= WAITS
                        queue[last] = other
                        last = later(last, 1, room)
                        waiting += 1
                    passed[other] = found
        if is_wanted:
            add_up(passed, objects, &shallow[0] if objects else NULL, &counts[0], &sums[0])
            if native.shape[0]:
                add_up(passed, objects, &native[0], NULL, &outside[0])
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
