# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is derived from a dominator tree: children by size, and which nodes have others of their group above them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    DIGIT_BITS = 16
    DIGITS = 4
    SIZE = 1 << DIGIT_BITS      # values of a digit


def descending(const uint64_t[::1] values, uint32_t[::1] ordered):
    """Fill ``ordered`` with the numbers of the values, the largest first, equal ones in their order.

    Most values have one digit that isn't zero: these are put into their places at once. Raises MemoryError.
    """
    cdef size_t count = values.shape[0], item, large = 0, place
    cdef uint64_t *counts = <uint64_t *> calloc(SIZE, 8)
    cdef uint32_t *others = <uint32_t *> malloc((count + 1) * 4)    # the numbers of the larger ones
    if counts == NULL or others == NULL:
        free(counts)
        free(others)
        raise MemoryError
    with nogil:
        for item in range(count):
            if values[item] < SIZE:
                counts[values[item]] += 1
            else:
                others[large] = <uint32_t> item
                large += 1
        to_places(counts, large)
        for item in range(count if large < count else 0):
            if values[item] < SIZE:
                place = counts[values[item]]
                counts[values[item]] += 1
                ordered[place] = <uint32_t> item
        if large:
            order_large(&values[0], others, &ordered[0], large, counts)
    free(counts)
    free(others)


cdef void to_places(uint64_t *counts, uint64_t first) noexcept nogil:
    """Replace how many items have each digit by where these begin, those of the highest at ``first``."""
    cdef size_t digit = SIZE
    cdef uint64_t here
    while digit > 0:
        digit -= 1
        here = counts[digit]
        counts[digit] = first
        first += here


cdef void order_large(
    const uint64_t *values, uint32_t *items, uint32_t *ordered, size_t count, uint64_t *counts
) noexcept nogil:
    """Order some numbers of values likewise, digit by digit, without those that all of these values share."""
    cdef uint32_t *source = items
    cdef uint32_t *sink = ordered
    cdef uint32_t *swap
    cdef size_t item, digit
    cdef int shift
    for shift from 0 <= shift < DIGITS * DIGIT_BITS by DIGIT_BITS:
        memset(counts, 0, SIZE * 8)
        for item in range(count):
            counts[(values[source[item]] >> shift) & (SIZE - 1)] += 1
        if counts[(values[source[0]] >> shift) & (SIZE - 1)] == count:
            continue
        to_places(counts, 0)
        for item in range(count):
            digit = (values[source[item]] >> shift) & (SIZE - 1)
            sink[counts[digit]] = source[item]
            counts[digit] += 1
        swap = source
        source = sink
        sink = swap
    if source != ordered:
        memcpy(ordered, source, count * 4)


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


def below_own_group(
    const uint32_t[::1] first,
    const uint32_t[::1] last,
    const uint32_t[::1] child,
    size_t root,
    const uint32_t[::1] group,
    size_t groups,
    uint8_t[::1] below,
) -> bool:
    """Mark in ``below`` those nodes of a tree that have a node of the same group above them.

    A node's children are ``child`` from ``first`` up to ``last`` of it, or without a ``child`` these numbers
    themselves, each higher than the node's own. ``root`` may be a number beyond the nodes that have groups, as that of
    the roots together in :func:`grouped`. Groups of ``groups`` and more count as none. Returns False for children that
    make no tree, as some are those of several nodes. Raises MemoryError.
    """
    cdef size_t count = group.shape[0], depth = 0, passed = 0, own
    cdef bint has_child = child.shape[0] > 0
    cdef uint32_t *above = <uint32_t *> calloc(groups + 1, 4)    # how many of the path's nodes are of each group
    cdef uint32_t *path = <uint32_t *> malloc((count + 2) * 4)
    cdef uint32_t *next_child = <uint32_t *> malloc((count + 2) * 4)
    cdef uint32_t node
    if not (above and path and next_child):
        free(above)
        free(path)
        free(next_child)
        raise MemoryError
    with nogil:
        path[0] = <uint32_t> root
        next_child[0] = first[root]
        if root < count:
            below[root] = 0
            above[group[root] if group[root] < groups else groups] += 1
        while True:
            node = path[depth]
            # each node is passed once: what is dominated in circles would be passed without end
            if passed > count:
                break
            if next_child[depth] < last[node] and depth <= count and (has_child or node < next_child[depth] < count):
                node = child[next_child[depth]] if has_child else next_child[depth]
                next_child[depth] += 1
                own = group[node] if group[node] < groups else groups
                below[node] = own < groups and above[own] > 0
                above[own] += 1
                passed += 1
                depth += 1
                path[depth] = node
                next_child[depth] = first[node]
                continue
            if depth == 0:
                break
            above[group[node] if group[node] < groups else groups] -= 1
            depth -= 1
    free(above)
    free(path)
    free(next_child)
    return passed <= count


cdef class GroupSums:
    """Adds up objects by the groups of their types.

    Objects are in nodes of the compact tree, and ``below`` says of these which have others of the same group above them
    (:func:`below_own_group`). ``group_of`` has an item per type, ``node_of``, ``dominator``, ``own`` and ``retained``
    one per object.
    """

    cdef const uint32_t[::1] type_of, group_of, node_of, dominator
    cdef const uint8_t[::1] below
    cdef const uint64_t[::1] own, retained

    def __cinit__(
        self,
        const uint32_t[::1] type_of,
        const uint32_t[::1] group_of,
        const uint32_t[::1] node_of,
        const uint8_t[::1] below,
        const uint32_t[::1] dominator,
        const uint64_t[::1] own,
        const uint64_t[::1] retained,
    ):
        self.type_of, self.group_of, self.node_of, self.below = type_of, group_of, node_of, below
        self.dominator, self.own, self.retained = dominator, own, retained

    def add(
        self, const uint8_t[::1] chosen, size_t first, size_t last, size_t most, uint64_t[:, ::1] found
    ) -> bool:
        """Add up the ``chosen`` objects from ``first`` up to ``last``: how many, their own bytes, what they retain.

        ``found`` has a row for each of these, with an item per group. Only what no other chosen one of the group
        dominates adds to what is retained: only from objects of nodes that have others above them are dominators
        walked. Returns False where these would be more than ``most`` in all.
        """
        cdef size_t groups = found.shape[1], item, looked = 0
        cdef uint32_t above, group
        cdef uint64_t *counts
        cdef uint64_t *own
        cdef uint64_t *held
        if last > <size_t> self.type_of.shape[0] or found.shape[0] != 3:
            raise ValueError("there are fewer objects, or no rows for three sums")
        counts = &found[0, 0]
        own, held = counts + groups, counts + 2 * groups
        with nogil:
            for item in range(first, last):
                if not chosen[item]:
                    continue
                group = self.group_of[self.type_of[item]]
                if group >= groups:
                    continue
                counts[group] += 1
                own[group] += self.own[item]
                if self.below[self.node_of[item]]:
                    above = self.dominator[item]
                    while above != NO_NUMBER and looked <= most:
                        if chosen[above] and self.group_of[self.type_of[above]] == group:
                            break
                        looked += 1
                        above = self.dominator[above]
                    if above != NO_NUMBER:
                        if looked > most:
                            break
                        continue
                held[group] += self.retained[item]
        return looked <= most


def frames_alike(const uint32_t[:, ::1] places, const uint32_t[::1] type_of, uint32_t[::1] found):
    """The frame that all objects of a type have alike, by type; NO_NUMBER where they differ or none has one.

    ``places`` are pairs of an object's number and a frame's, ascending. Objects are numbers of ``type_of``, types of
    ``found``: what is out of range is left out.
    """
    cdef size_t row, types = found.shape[0], objects = type_of.shape[0]
    cdef uint32_t own, frame
    cdef uint8_t *differ = <uint8_t *> calloc(types + 1, 1)
    if differ == NULL:
        raise MemoryError
    with nogil:
        for own in range(<uint32_t> types):
            found[own] = NO_NUMBER
        for row in range(<size_t> places.shape[0]):
            if places[row, 0] >= objects or type_of[places[row, 0]] >= types:
                continue
            own, frame = type_of[places[row, 0]], places[row, 1]
            if found[own] == NO_NUMBER:
                found[own] = frame
            elif found[own] != frame:
                differ[own] = 1
        for own in range(<uint32_t> types):
            if differ[own]:
                found[own] = NO_NUMBER
    free(differ)
