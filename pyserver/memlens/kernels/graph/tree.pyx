# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is derived from a dominator tree: children by size, retained sizes by type, and the tree grouped by type.

Vertices and their order are those of ``dominators.pyx``: vertex 0 is the root, and dominators come before what they
dominate.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

from memlens.kernels.base.vectors cimport (
    Vector, column_of, vector_free, vector_init, vector_push, vector_reserve,
)

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    DIGIT_BITS = 16
    DIGITS = 4


def descending(const uint64_t[::1] values, uint32_t[::1] ordered):
    """Fill ``ordered`` with the numbers of the values, the largest first, equal ones in their order.

    A radix sort that skips digits that all values share. Raises MemoryError.
    """
    cdef size_t count = values.shape[0], item, size = <size_t> 1 << DIGIT_BITS, digit
    cdef uint64_t *counts = <uint64_t *> calloc(size * DIGITS, 8)
    cdef uint32_t *other = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t *source
    cdef uint32_t *sink
    cdef uint32_t *swap
    cdef uint64_t *own
    cdef uint64_t total, here, value
    cdef int place, passes = 0
    if counts == NULL or other == NULL:
        free(counts)
        free(other)
        raise MemoryError
    with nogil:
        for item in range(count):
            value = values[item]
            for place in range(DIGITS):
                counts[place * size + ((value >> (place * DIGIT_BITS)) & (size - 1))] += 1
        source = other
        sink = &ordered[0] if count else NULL
        for item in range(count):
            source[item] = <uint32_t> item
        for place in range(DIGITS):
            own = counts + place * size
            if count == 0 or own[(values[0] >> (place * DIGIT_BITS)) & (size - 1)] == count:
                continue
            total = 0
            digit = size
            while digit > 0:
                digit -= 1
                here = own[digit]
                own[digit] = total
                total += here
            for item in range(count):
                digit = (values[source[item]] >> (place * DIGIT_BITS)) & (size - 1)
                sink[own[digit]] = source[item]
                own[digit] += 1
            swap = source
            source = sink
            sink = swap
            passes += 1
        if count and source != &ordered[0]:
            for item in range(count):
                ordered[item] = source[item]
    free(counts)
    free(other)


def grouped(const uint32_t[::1] group, const uint32_t[::1] ordered, uint32_t[::1] begin, uint32_t[::1] member):
    """Sort objects by their groups: those of group ``g`` are ``begin[g]`` to ``begin[g + 1]`` of ``member``.

    ``begin`` has an item more than there are groups, and objects whose group is NONE are in the last one. ``ordered``
    are all objects in the order that they shall have within a group.
    """
    cdef size_t count = group.shape[0], groups = begin.shape[0] - 1, item, of
    cdef uint32_t total = 0
    with nogil:
        for item in range(groups + 1):
            begin[item] = 0
        for item in range(count):
            of = group[item] if group[item] != NO_NUMBER else groups - 1
            begin[of] += 1
        for item in range(groups + 1):
            total += begin[item]
            begin[item] = total
        item = count
        while item > 0:
            item -= 1
            of = group[ordered[item]]
            if of == NO_NUMBER:
                of = groups - 1
            begin[of] -= 1
            member[begin[of]] = ordered[item]


def retained_by_type(
    const uint32_t[::1] begin,
    const uint32_t[::1] child,
    const uint32_t[::1] type_of,
    const uint64_t[::1] retained,
    uint64_t[::1] sums,
):
    """Add up, by type, the retained sizes of those objects that no object of the same type dominates.

    ``begin`` and ``child`` are objects grouped by their dominators (:func:`grouped`); the last group are those that no
    object dominates. ``sums`` has an item per type. Raises MemoryError.
    """
    cdef size_t types = sums.shape[0], count = type_of.shape[0], depth = 0
    cdef uint32_t *above = <uint32_t *> calloc(types + 1, 4)     # how many of the path's vertices are of each type
    cdef uint32_t *path = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t *next_child = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t item, kind
    if not (above and path and next_child):
        free(above)
        free(path)
        free(next_child)
        raise MemoryError
    with nogil:
        path[0] = <uint32_t> count
        next_child[0] = begin[count]
        while True:
            item = path[depth]
            if next_child[depth] < begin[<size_t> item + 1]:
                item = child[next_child[depth]]
                next_child[depth] += 1
                kind = type_of[item]
                if above[kind] == 0:
                    sums[kind] += retained[item]
                above[kind] += 1
                depth += 1
                path[depth] = item
                next_child[depth] = begin[item]
                continue
            if depth == 0:
                break
            above[type_of[item]] -= 1
            depth -= 1
    free(above)
    free(path)
    free(next_child)


# ---- the compact tree ----------------------------------------------------------------------------------------

cdef struct Group:
    uint64_t shallow
    uint64_t retained
    uint32_t kind
    uint32_t parent
    uint32_t objects
    uint32_t first      # of its children
    uint32_t last
    uint32_t unused


cdef struct Slot:
    uint64_t key
    uint32_t group      # within the level, plus 1; 0 for a free slot
    uint32_t unused


cdef struct Made:
    Group group
    uint32_t number     # within the level, in the order in which groups were found
    uint32_t unused


cdef int larger_first(const void *one, const void *two) noexcept nogil:
    cdef const Made *left = <const Made *> one
    cdef const Made *right = <const Made *> two
    if left.group.parent != right.group.parent:
        return -1 if left.group.parent < right.group.parent else 1
    if left.group.retained != right.group.retained:
        return -1 if left.group.retained > right.group.retained else 1
    return -1 if left.number < right.number else 1


cdef struct Level:
    Slot *slots
    size_t room
    Vector made


cdef inline uint64_t mixed(uint64_t key) noexcept nogil:
    key ^= key >> 32
    key *= <uint64_t> 0x9E3779B97F4A7C15
    return key ^ (key >> 29)


cdef int grow(Level *level) noexcept nogil:
    cdef size_t room = level.room * 4 if level.room else 64, at, old
    cdef Slot *slots = <Slot *> calloc(room, sizeof(Slot))
    if slots == NULL:
        return -1
    for old in range(level.room):
        if level.slots[old].group:
            at = mixed(level.slots[old].key) & (room - 1)
            while slots[at].group:
                at = (at + 1) & (room - 1)
            slots[at] = level.slots[old]
    free(level.slots)
    level.slots = slots
    level.room = room
    return 0


cdef Py_ssize_t group_of(Level *level, uint32_t parent, uint32_t kind) noexcept nogil:
    """The number within the level of the group of a type below a parent; -1 without memory."""
    cdef uint64_t key = (<uint64_t> parent << 32) | kind
    cdef size_t at
    cdef Made made
    if level.made.count * 2 >= level.room and grow(level) < 0:
        return -1
    at = mixed(key) & (level.room - 1)
    while level.slots[at].group:
        if level.slots[at].key == key:
            return level.slots[at].group - 1
        at = (at + 1) & (level.room - 1)
    memset(&made, 0, sizeof(Made))
    made.group.kind = kind
    made.group.parent = parent
    made.number = <uint32_t> level.made.count
    if vector_push(&level.made, &made) < 0:
        return -1
    level.slots[at].key = key
    level.slots[at].group = <uint32_t> level.made.count
    return <Py_ssize_t> level.made.count - 1


cdef void by_depth(
    const uint32_t *idom, size_t count, uint32_t *depth, uint32_t *begin, uint32_t *ordered, uint32_t deepest
) noexcept nogil:
    """Vertices by their depth: those of depth ``d`` are ``begin[d]`` to ``begin[d + 1]`` of ``ordered``."""
    cdef size_t item
    cdef uint32_t total = 0
    for item in range(count):
        begin[depth[item]] += 1
    for item in range(<size_t> deepest + 2):
        total += begin[item]
        begin[item] = total
    item = count
    while item > 0:
        item -= 1
        begin[depth[item]] -= 1
        ordered[begin[depth[item]]] = <uint32_t> item


cdef int finish_level(Level *level, Vector *groups, uint32_t *renumbered) noexcept nogil:
    """Sort a level's groups by parent and size and append them; ``renumbered`` gets each one's number in the tree."""
    cdef Made *made = <Made *> level.made.data
    cdef Group *all_groups
    cdef size_t count = level.made.count, item, first = groups.count
    qsort(made, count, sizeof(Made), larger_first)
    if vector_reserve(groups, first + count) < 0:
        return -1
    all_groups = <Group *> groups.data
    for item in range(count):
        renumbered[made[item].number] = <uint32_t> (first + item)
        made[item].group.first = 0
        made[item].group.last = 0
        all_groups[first + item] = made[item].group
        if all_groups[made[item].group.parent].last == 0:
            all_groups[made[item].group.parent].first = <uint32_t> (first + item)
        all_groups[made[item].group.parent].last = <uint32_t> (first + item + 1)
    groups.count += count
    return 0


def compact_tree(
    const uint32_t[::1] idom,
    const uint32_t[::1] type_of,
    const uint64_t[::1] shallow,
    const uint64_t[::1] retained,
    uint32_t[::1] group,
):
    """Group the dominator tree by type at each level, breadth first, and return the groups as rows of GROUP_DTYPE.

    All arguments have an item per vertex. Group 0 is vertex 0. Vertices of one type whose dominators are of one group
    are a group; ``group`` gets its number. A group's children are the rows ``first`` to ``last``, the one that retains
    most first. Raises MemoryError.
    """
    cdef size_t count = idom.shape[0], item
    cdef uint32_t deepest = 0, level_number, vertex, at
    cdef Py_ssize_t number
    cdef uint32_t *depth = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t *ordered = <uint32_t *> malloc((count + 1) * 4)
    cdef uint32_t *begin = NULL
    cdef uint32_t *renumbered = NULL
    cdef Vector groups
    cdef Level level
    cdef Group root
    cdef Made *made
    cdef size_t widest = 0
    cdef int status = 0
    vector_init(&groups, sizeof(Group))
    vector_init(&level.made, sizeof(Made))
    level.slots = NULL
    level.room = 0
    try:
        if depth == NULL or ordered == NULL:
            raise MemoryError
        depth[0] = 0
        with nogil:
            for item in range(1, count):
                depth[item] = depth[idom[item]] + 1
                if depth[item] > deepest:
                    deepest = depth[item]
        begin = <uint32_t *> calloc(<size_t> deepest + 3, 4)
        if begin == NULL:
            raise MemoryError
        with nogil:
            by_depth(&idom[0], count, depth, begin, ordered, deepest)
            for level_number in range(deepest + 1):
                if begin[level_number + 1] - begin[level_number] > widest:
                    widest = begin[level_number + 1] - begin[level_number]
            memset(&root, 0, sizeof(Group))
            root.kind = type_of[0]
            root.objects = 1 if type_of[0] != NO_NUMBER else 0
            root.shallow = shallow[0]
            root.retained = retained[0]
            group[0] = 0
            status = vector_push(&groups, &root)
        renumbered = <uint32_t *> malloc((widest + 1) * 4)
        if renumbered == NULL or status < 0:
            raise MemoryError
        with nogil:
            for level_number in range(1, deepest + 1):
                # a new table for each level: clearing one as large as the largest level would cost that every time
                free(level.slots)
                level.slots = NULL
                level.room = 0
                level.made.count = 0
                for at in range(begin[level_number], begin[level_number + 1]):
                    vertex = ordered[at]
                    number = group_of(&level, group[idom[vertex]], type_of[vertex])
                    if number < 0:
                        status = -1
                        break
                    made = <Made *> level.made.data + number
                    made.group.shallow += shallow[vertex]
                    made.group.retained += retained[vertex]
                    made.group.objects += 1
                    group[vertex] = <uint32_t> number
                if status < 0 or finish_level(&level, &groups, renumbered) < 0:
                    status = -1
                    break
                for at in range(begin[level_number], begin[level_number + 1]):
                    group[ordered[at]] = renumbered[group[ordered[at]]]
        if status < 0:
            raise MemoryError
        return rows_of(&groups)
    finally:
        vector_free(&groups)
        vector_free(&level.made)
        free(level.slots)
        free(depth)
        free(ordered)
        free(begin)
        free(renumbered)


cdef object rows_of(Vector *groups):
    return column_of(groups, b"T{Q:shallow:Q:retained:I:type:I:parent:I:objects:I:first:I:last:I:unused:}")
