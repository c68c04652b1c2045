# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The fewest references without which a holder no longer reaches some objects; columns as in ``columns.pxd``.

By the theorem of Menger, as many paths from the holder to the objects share no reference as references have to go at
least. Paths are added one at a time, the shortest first, each of which may take a reference back from those before
(the algorithm of Edmonds and Karp). They are looked for from the objects towards the holder, so that only what leads to
the objects is passed; when there is no further one, what was passed shows the cut that is nearest to the objects.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, Work, look
from memlens.kernels.graph.columns cimport NO_NUMBER, OUT_OF_RANGE, Graph, References, fail

cdef enum:
    SEEN = 1
    TAKES_BACK = 2      # it was come to along a reference of a path, against its direction
    LEADS_ON = 4        # a path leads from it
    LED_TO = 8          # a path leads to it
    IS_SOUGHT = 16
    BEGINS = 32         # a root begins at it
    PASSED = SEEN | TAKES_BACK


cdef struct Paths:
    # pairs of objects, at most one for each step of all paths; a table of their places by the pair, 0 for none
    uint32_t *source
    uint32_t *target
    uint32_t *table
    size_t count
    size_t mask


cdef inline size_t slot_of(const Paths *paths, uint32_t source, uint32_t target) noexcept nogil:
    """The slot of a pair in the table, or an empty one for it."""
    cdef size_t at = ((<uint64_t> source * 0x9E3779B97F4A7C15ULL + target) * 0xD6E8FEB86659FD93ULL >> 32) & paths.mask
    cdef uint32_t pair
    while paths.table[at]:
        pair = paths.table[at] - 1
        if paths.source[pair] == source and paths.target[pair] == target:
            break
        at = (at + 1) & paths.mask
    return at


cdef inline bint has_pair(const Paths *paths, uint32_t source, uint32_t target) noexcept nogil:
    return paths.table[slot_of(paths, source, target)] != 0


cdef void rebuild(Paths *paths) noexcept nogil:
    """Make the table again after pairs were removed."""
    cdef size_t each
    memset(paths.table, 0, (paths.mask + 1) * sizeof(uint32_t))
    for each in range(paths.count):
        paths.table[slot_of(paths, paths.source[each], paths.target[each])] = <uint32_t> each + 1


cdef void add_path(
    Paths *paths, uint8_t *state, const uint32_t *towards, uint32_t first, uint32_t begin
) noexcept nogil:
    """Add the path that begins with the reference from ``first``, NO_NUMBER for a root, to ``begin``."""
    cdef uint32_t source = first, target = begin
    cdef size_t each, at
    while True:
        if source != NO_NUMBER and state[source] & TAKES_BACK:
            # the earlier path continues as this one, and this one as the earlier
            at = paths.table[slot_of(paths, target, source)] - 1
            paths.source[at] = paths.target[at] = NO_NUMBER
        else:
            paths.source[paths.count] = source
            paths.target[paths.count] = target
            paths.count += 1
        if state[target] & IS_SOUGHT:
            break
        source = target
        target = towards[source]
    at = 0
    for each in range(paths.count):
        if paths.source[each] == NO_NUMBER and paths.target[each] == NO_NUMBER:
            continue
        paths.source[at] = paths.source[each]
        paths.target[at] = paths.target[each]
        at += 1
    paths.count = at
    rebuild(paths)


def least_cut(
    References referrers not None,
    const uint32_t[::1] distance,
    const uint32_t[::1] roots,
    const uint32_t[::1] sought,
    uint32_t holder,
    size_t most,
    size_t most_steps,
    size_t most_looked_at,
    Work work not None,
) -> tuple[memoryview, memoryview, memoryview] | int | None:
    """The references that paths from ``holder`` to the objects ``sought`` go by, and those of them that cut all paths.

    ``holder`` is none of the objects and dominates them, or is the number of objects where only ``roots`` do together:
    a path begins with a reference from NO_NUMBER then. Objects without a ``distance`` hold nothing. The answer is three
    columns, the sources and targets of the references as ``uint32``, of which several from one object to another count
    as one, and 1 as ``uint8`` for those of the cut. Where there are more than ``most`` paths it is the number of those
    that were found; it is None where a path is longer than ``most_steps``, where one search would look at more than
    ``most_looked_at`` objects, and where ``work`` was stopped. Raises MemoryError, and IndexError for a column with a
    number that is out of range.
    """
    cdef Graph back = referrers.graph
    cdef size_t objects = distance.shape[0], first, steps, each, found = 0
    cdef uint64_t at
    cdef uint32_t item, other, begin = NO_NUMBER, from_ = NO_NUMBER
    cdef Py_ssize_t number
    cdef Paths paths
    cdef Vector queue
    cdef int status = 0
    cdef bint is_given_up = False, is_too_many = False, is_found = False
    cdef size_t room = (most + 1) * (most_steps + 2), slots = 16
    while slots < 2 * room:
        slots *= 2
    paths.count, paths.mask = 0, slots - 1
    paths.source = <uint32_t *> malloc(room * sizeof(uint32_t))
    paths.target = <uint32_t *> malloc(room * sizeof(uint32_t))
    paths.table = <uint32_t *> calloc(slots, sizeof(uint32_t))
    cdef uint8_t *state = <uint8_t *> calloc(objects + 1, 1)
    # hardly any of it is ever touched
    cdef uint32_t *towards = <uint32_t *> malloc((objects + 1) * sizeof(uint32_t))
    vector_init(&queue, 4)
    if not (paths.source and paths.target and paths.table and state and towards):
        status = -1
    with nogil:
        if status == 0:
            for number in range(sought.shape[0]):
                state[sought[number]] |= IS_SOUGHT
            if holder >= objects:
                for number in range(roots.shape[0]):
                    state[roots[number]] |= BEGINS
        while status == 0 and not is_given_up:
            for each in range(queue.count):
                state[(<uint32_t *> queue.data)[each]] &= ~PASSED
            queue.count = first = 0
            is_found = False
            for number in range(sought.shape[0]):
                if status == 0 and distance[sought[number]] != NO_NUMBER:
                    state[sought[number]] |= SEEN
                    status = vector_push_u32(&queue, sought[number])
            while first < queue.count and status == 0 and not is_found:
                item = (<uint32_t *> queue.data)[first]
                first += 1
                if first % LOOK_EVERY == 0:
                    status = look(work, found, most + 1, 0, 100)
                if first > most_looked_at:
                    is_given_up = True
                    break
                if state[item] & BEGINS and not (state[item] & LED_TO and has_pair(&paths, NO_NUMBER, item)):
                    from_, begin, is_found = NO_NUMBER, item, True
                    break
                if state[item] & LEADS_ON:
                    for each in range(paths.count):
                        other = paths.target[each]
                        if paths.source[each] == item and status == 0 and not state[other] & SEEN:
                            state[other] |= PASSED
                            towards[other] = item
                            status = vector_push_u32(&queue, other)
                if not back.start[item] <= back.start[item + 1] <= back.references:
                    status = OUT_OF_RANGE
                    break
                for at in range(back.start[item], back.start[item + 1]):
                    other = back.target[at]
                    if other >= objects:
                        status = OUT_OF_RANGE
                        break
                    if state[other] & SEEN or distance[other] == NO_NUMBER or not back.follows[back.kind[at]]:
                        continue
                    if state[item] & LED_TO and state[other] & LEADS_ON and has_pair(&paths, other, item):
                        continue
                    if other == holder:
                        from_, begin, is_found = holder, item, True
                        break
                    state[other] |= SEEN
                    towards[other] = item
                    status = vector_push_u32(&queue, other)
                    if status < 0:
                        break
            if status < 0 or is_given_up or not is_found:
                break
            steps, item = 1, begin
            while not state[item] & IS_SOUGHT and steps <= most_steps:
                item = towards[item]
                steps += 1
            found += 1
            if steps > most_steps or found > most:
                is_given_up = True
                is_too_many = steps <= most_steps
                break
            for each in range(paths.count):
                if paths.source[each] != NO_NUMBER:
                    state[paths.source[each]] &= ~LEADS_ON
                state[paths.target[each]] &= ~LED_TO
            add_path(&paths, state, towards, from_, begin)
            for each in range(paths.count):
                if paths.source[each] != NO_NUMBER:
                    state[paths.source[each]] |= LEADS_ON
                state[paths.target[each]] |= LED_TO
    try:
        if status == 0 and not is_given_up:
            sources, targets, cuts = bytearray(4 * paths.count), bytearray(4 * paths.count), bytearray(paths.count)
            view_sources, view_targets = memoryview(sources).cast("I"), memoryview(targets).cast("I")
            for each in range(paths.count):
                item, other = paths.source[each], paths.target[each]
                view_sources[each], view_targets[each] = item, other
                cuts[each] = (
                    state[other] & SEEN != 0 and (item == NO_NUMBER or item == holder or not state[item] & SEEN)
                )
            return view_sources, view_targets, memoryview(cuts)
        return fail(status, <int> found if is_too_many else None)
    finally:
        free(paths.source)
        free(paths.target)
        free(paths.table)
        free(state)
        free(towards)
        vector_free(&queue)
