# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Call trees: a prefix tree of stacks merged by the name of its frames, turned round, summed and laid out in a row.

In every tree here node 0 is the root, which has no name, and a parent's number is less than its child's; so one pass
forward carries things down the tree and one pass backward carries them up. What a file could have made otherwise is
checked where a tree comes in (:func:`merge`); the trees that are made here keep to it.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free, malloc, qsort

from memlens.kernels.base.interning cimport hash_bytes
from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_push, vector_push_u32, vector_free, column_of,
)

import os

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF

NO_FOCUS, FROM_FOCUS, UP_TO_FOCUS = 0, 1, 2
"""What a focus keeps of the stacks that its name stands in: all of it, from its outermost place on, up to there."""

FOLDS, TAKES, PASSED = 1, 2, 4
"""How a name stands beside others (bits of ``folding``): called by itself it is one box; beside it others are passed
over; it is passed over."""

cdef enum:
    C_FROM_FOCUS = 1
    C_UP_TO_FOCUS = 2
    C_FOLDS = 1
    C_TAKES = 2
    C_PASSED = 4
    FEW = 8                 # most nodes have a child or two, which are near them in memory, and a slot is not
    MUCH = 8                # from one end for so many nodes on, most of a tree is picked


cdef struct Slot:
    uint32_t parent
    uint32_t name
    uint32_t node           # 0 for an empty slot: the root is nobody's child


cdef struct Tree:
    uint32_t *parents
    uint32_t *names
    uint32_t *child         # the newest of a node's children, 0 for none
    uint32_t *sibling       # the one before it among its parent's
    size_t count
    Slot *slots             # open addressing by (parent, name), for the children of nodes with more than FEW
    size_t size
    size_t used
    uint64_t seed           # drawn anew for every tree, so that no file can be made to collide


cdef inline size_t slot_of(Tree *tree, uint32_t parent, uint32_t name) noexcept nogil:
    """Where the child of that name is, or belongs."""
    cdef uint64_t key = <uint64_t> parent << 32 | name
    cdef size_t slot = hash_bytes(<uint8_t *> &key, 8, tree.seed) & (tree.size - 1)
    while tree.slots[slot].node and (tree.slots[slot].parent != parent or tree.slots[slot].name != name):
        slot = (slot + 1) & (tree.size - 1)
    return slot


cdef int tree_grow(Tree *tree) noexcept nogil:
    cdef Slot *old = tree.slots
    cdef size_t index, size = tree.size
    tree.slots = <Slot *> calloc(size * 2, sizeof(Slot))
    if tree.slots == NULL:
        tree.slots = old
        return -1
    tree.size = size * 2
    for index in range(size):
        if old[index].node:
            tree.slots[slot_of(tree, old[index].parent, old[index].name)] = old[index]
    free(old)
    return 0


cdef int into_slot(Tree *tree, uint32_t node) noexcept nogil:
    cdef size_t slot
    if tree.used * 2 >= tree.size and tree_grow(tree) < 0:
        return -1
    slot = slot_of(tree, tree.parents[node], tree.names[node])
    tree.slots[slot].parent = tree.parents[node]
    tree.slots[slot].name = tree.names[node]
    tree.slots[slot].node = node
    tree.used += 1
    return 0


cdef uint32_t child_of(Tree *tree, uint32_t parent, uint32_t name) noexcept nogil:
    """The child of that name, made when there is none; NONE without memory."""
    cdef uint32_t fresh, node = tree.child[parent]
    cdef int looked = 0
    while node and looked < FEW:
        if tree.names[node] == name:
            return node
        node = tree.sibling[node]
        looked += 1
    if node and tree.slots[slot_of(tree, parent, name)].node:
        return tree.slots[slot_of(tree, parent, name)].node
    fresh = <uint32_t> tree.count
    tree.parents[fresh] = parent
    tree.names[fresh] = name
    tree.child[fresh] = 0
    tree.sibling[fresh] = tree.child[parent]
    tree.child[parent] = fresh
    tree.count += 1
    if looked == FEW:
        if into_slot(tree, fresh) < 0:
            return NONE
        # the first that is too many brings the others
        looked = 0 if node else FEW
        node = tree.sibling[fresh]
        while looked:
            if into_slot(tree, node) < 0:
                return NONE
            node = tree.sibling[node]
            looked -= 1
    return fresh


def merge(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint32_t[::1] names,
          const uint8_t[::1] folding, const uint8_t[::1] hidden, uint32_t focus, int focus_mode,
          uint32_t[::1] merged, uint32_t[::1] new_parents, uint32_t[::1] new_names, uint32_t[::1] child,
          uint32_t[::1] sibling):
    """Merge a prefix tree of frames into one of names; returns how many nodes that has, with the root.

    A frame's name is ``names[frame]``. A name that is ``hidden`` is left out, and its callees stand under its caller;
    one that FOLDS and is called by itself is folded into its caller. Where one that is PASSED calls a
    name that TAKES, or is called by it, its callees stand under its caller; it has a box, which has no value but that
    of stacks that end in it. ``merged`` gets each node's number in the
    new tree, NEVER for those that the focus leaves out. The new tree's columns have room for as many nodes as there
    were: ``new_parents``, ``new_names``, and as lists each node's children (:func:`families`). Raises ValueError for a
    tree whose numbers are out of order.
    """
    cdef size_t node, nodes = parents.shape[0]
    cdef uint32_t parent, name, above, beyond
    cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
    cdef Tree tree
    cdef bint failed = False, damaged = False
    cdef uint8_t *reached = <uint8_t *> calloc(nodes + 1 if focus_mode else 1, 1)
    tree.parents, tree.names, tree.child, tree.sibling = &new_parents[0], &new_names[0], &child[0], &sibling[0]
    tree.parents[0] = tree.names[0] = NONE
    tree.child[0] = tree.sibling[0] = 0
    tree.count = 1
    tree.size = 1 << 12
    tree.used = 0
    tree.seed = seed
    tree.slots = <Slot *> calloc(tree.size, sizeof(Slot))
    if reached == NULL or tree.slots == NULL:
        free(reached)
        free(tree.slots)
        raise MemoryError
    with nogil:
        if nodes:
            merged[0] = 0
        for node in range(1, nodes):
            parent = parents[node]
            if parent >= node or frames[node] >= <size_t> names.shape[0] \
                    or names[frames[node]] >= <size_t> hidden.shape[0]:
                damaged = True
                break
            above = merged[parent]
            name = names[frames[node]]
            if focus_mode:
                reached[node] = reached[parent]
                if focus_mode == C_UP_TO_FOCUS and reached[node]:
                    merged[node] = above
                    continue
                reached[node] |= name == focus
                if focus_mode == C_FROM_FOCUS and not reached[node]:
                    # not reached yet: the way from here starts at the root
                    merged[node] = 0
                    continue
            if hidden[name]:
                merged[node] = above
                continue
            if above != 0 and not folding[name] & C_PASSED and folding[tree.names[above]] & C_PASSED \
                    and not (focus_mode and tree.names[above] == focus):
                beyond = tree.parents[above]
                if folding[name] & C_TAKES or beyond != 0 and folding[tree.names[beyond]] & C_TAKES:
                    above = beyond
            if folding[name] & C_FOLDS and above != 0 and tree.names[above] == name:
                merged[node] = above
                continue
            merged[node] = child_of(&tree, above, name)
            if merged[node] == NONE:
                failed = True
                break
        if focus_mode and not failed and not damaged:
            # stacks without the focus are not about it
            for node in range(nodes):
                if not reached[node]:
                    merged[node] = NONE
    free(reached)
    free(tree.slots)
    if damaged:
        raise ValueError("a stack's numbers are out of order")
    if failed:
        raise MemoryError
    return tree.count


def families(const uint32_t[::1] parents, uint32_t[::1] child, uint32_t[::1] sibling):
    """The children of each node as a list: ``child[node]`` is the last, ``sibling`` the one before; 0 for none."""
    cdef size_t node
    with nogil:
        for node in range(<size_t> parents.shape[0]):
            child[node] = sibling[node] = 0
            if node:
                sibling[node] = child[parents[node]]
                child[parents[node]] = <uint32_t> node


def pick(const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] ends, uint32_t[::1] places):
    """The part of a tree that leads to some of its nodes, as a tree: its ``(parents, names, nodes)``.

    ``nodes`` are its nodes' numbers in the whole tree, and ``places`` gets the numbers of ``ends`` in it, NEVER for
    those that are NEVER. Takes time that grows with the part, not with the whole.
    """
    cdef uint32_t *known = <uint32_t *> calloc(parents.shape[0] + 1, 4)
    cdef Vector found_parents, found_names, found_nodes
    cdef bint failed = known == NULL
    vector_init(&found_parents, 4)
    vector_init(&found_names, 4)
    vector_init(&found_nodes, 4)
    with nogil:
        if not failed:
            failed = vector_push_u32(&found_parents, NONE) < 0 or vector_push_u32(&found_names, NONE) < 0 \
                or vector_push_u32(&found_nodes, 0) < 0
        if not failed:
            if ends.shape[0] * MUCH >= parents.shape[0]:
                failed = pick_much(parents, names, ends, places, known, &found_parents, &found_names, &found_nodes) < 0
            else:
                failed = pick_ways(parents, names, ends, places, known, &found_parents, &found_names, &found_nodes) < 0
    free(known)
    if failed:
        vector_free(&found_parents)
        vector_free(&found_names)
        vector_free(&found_nodes)
        raise MemoryError
    return column_of(&found_parents, b"I"), column_of(&found_names, b"I"), column_of(&found_nodes, b"I")


cdef int pick_much(const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] ends,
                   uint32_t[::1] places, uint32_t *known, Vector *found_parents, Vector *found_names,
                   Vector *found_nodes) noexcept nogil:
    """Pick in two passes over the whole tree, which go straight through memory."""
    cdef size_t index, node, nodes = parents.shape[0], count = 1
    for index in range(<size_t> ends.shape[0]):
        if ends[index] < nodes:
            known[ends[index]] = NONE
    for node in range(nodes - 1, 0, -1):
        if known[node]:
            known[parents[node]] = NONE
            count += 1
    if vector_reserve(found_parents, count) < 0 or vector_reserve(found_names, count) < 0 \
            or vector_reserve(found_nodes, count) < 0:
        return -1
    known[0] = 0
    for node in range(1, nodes):
        if known[node]:
            known[node] = <uint32_t> found_nodes.count
            vector_push_u32(found_parents, known[parents[node]])
            vector_push_u32(found_names, names[node])
            vector_push_u32(found_nodes, <uint32_t> node)
    for index in range(<size_t> ends.shape[0]):
        places[index] = known[ends[index]] if ends[index] < nodes else NONE
    return 0


cdef int pick_ways(const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] ends,
                   uint32_t[::1] places, uint32_t *known, Vector *found_parents, Vector *found_names,
                   Vector *found_nodes) noexcept nogil:
    """Pick by going up from each end to what is there already, and down again: a parent comes before its children."""
    cdef size_t index, level
    cdef uint32_t at, above
    cdef Vector way
    cdef bint failed = False
    vector_init(&way, 4)
    for index in range(<size_t> ends.shape[0]):
        places[index] = NONE
        if ends[index] >= <size_t> parents.shape[0]:
            continue
        way.count = 0
        at = ends[index]
        while at and known[at] == 0 and not failed:
            failed = vector_push_u32(&way, at) < 0
            at = parents[at]
        above = known[at]
        level = way.count
        while level and not failed:
            level -= 1
            at = (<uint32_t *> way.data)[level]
            failed = vector_push_u32(found_parents, above) < 0 or vector_push_u32(found_names, names[at]) < 0 \
                or vector_push_u32(found_nodes, at) < 0
            above = <uint32_t> (found_parents.count - 1)
            known[at] = above
        if failed:
            break
        places[index] = above
    vector_free(&way)
    return -1 if failed else 0


cdef struct Turned:
    uint32_t name           # of the node `at`; NONE where the stack is at its end
    uint32_t at
    uint32_t stack


cdef struct Group:
    size_t first
    size_t last
    uint32_t node           # what stands above all of them in the turned tree


cdef int by_name(const void *one, const void *other) noexcept nogil:
    cdef uint32_t left = (<const Turned *> one).name
    cdef uint32_t right = (<const Turned *> other).name
    return (left > right) - (left < right)


cdef uint32_t new_node(Vector *to_parents, Vector *to_names, uint32_t parent, uint32_t name) noexcept nogil:
    cdef uint32_t node = <uint32_t> to_parents.count
    if node == NONE or vector_push_u32(to_parents, parent) < 0 or vector_push_u32(to_names, name) < 0:
        return NONE
    return node


def invert(const uint32_t[::1] parents, const uint32_t[::1] names, const uint8_t[::1] counted, uint32_t[::1] ends,
           size_t most):
    """Turn a tree round: what was innermost stands at the root. Returns the new tree's ``(parents, names)``.

    Each node with a value of its own (``counted``) is a stack; ``ends`` gets the node where the turned stack ends,
    NEVER for the other nodes. Stacks that begin alike are kept together and parted where their names do; one that is
    alone goes its way without a look at any other, as most of such a tree does. Raises OverflowError for a tree of
    more than ``most`` nodes.
    """
    cdef size_t node, first, last, count = 0
    cdef uint32_t above, at, none = NONE
    cdef bint failed = False
    cdef Vector to_parents, to_names, groups
    cdef Group group, part
    cdef Turned *stacks = <Turned *> malloc((parents.shape[0] + 1) * sizeof(Turned))
    vector_init(&to_parents, 4)
    vector_init(&to_names, 4)
    vector_init(&groups, sizeof(Group))
    with nogil:
        failed = stacks == NULL or new_node(&to_parents, &to_names, none, none) == NONE
        for node in range(<size_t> parents.shape[0]):
            ends[node] = NONE
            if not failed and counted[node]:
                stacks[count].at = <uint32_t> node
                stacks[count].stack = <uint32_t> node
                stacks[count].name = names[node] if node else NONE
                count += 1
        group.first, group.last, group.node = 0, count, 0
        if not failed and count:
            failed = vector_push(&groups, &group) < 0
        while groups.count and not failed and to_parents.count <= most:
            groups.count -= 1
            group = (<Group *> groups.data)[groups.count]
            if group.last - group.first == 1:
                above = group.node
                at = stacks[group.first].at
                while at and to_parents.count <= most:
                    above = new_node(&to_parents, &to_names, above, names[at])
                    if above == NONE:
                        failed = True
                        break
                    at = parents[at]
                ends[stacks[group.first].stack] = above
                continue
            first = group.first + 1
            while first < group.last and stacks[first].name == stacks[group.first].name:
                first += 1
            if first < group.last:
                qsort(stacks + group.first, group.last - group.first, sizeof(Turned), &by_name)
            first = group.first
            while first < group.last and not failed:
                if stacks[first].name == NONE:
                    ends[stacks[first].stack] = group.node
                    first += 1
                    continue
                above = new_node(&to_parents, &to_names, group.node, stacks[first].name)
                failed = above == NONE
                last = first
                part.node = above
                part.first = first
                at = stacks[first].name
                while last < group.last and stacks[last].name == at:
                    stacks[last].at = parents[stacks[last].at]
                    stacks[last].name = names[stacks[last].at] if stacks[last].at else NONE
                    last += 1
                part.last = last
                if not failed:
                    failed = vector_push(&groups, &part) < 0
                first = last
    free(stacks)
    vector_free(&groups)
    if failed or to_parents.count > most:
        full = not failed
        vector_free(&to_parents)
        vector_free(&to_names)
        if full:
            raise OverflowError
        raise MemoryError
    return column_of(&to_parents, b"I"), column_of(&to_names, b"I")


def add_by(const uint32_t[::1] to, const int64_t[:, ::1] values, int64_t[:, ::1] sums):
    """Add each column of ``values`` to the column ``to`` of ``sums``; NEVER for nowhere."""
    cdef size_t index, row
    with nogil:
        for index in range(<size_t> to.shape[0]):
            if to[index] < <size_t> sums.shape[1]:
                for row in range(<size_t> values.shape[0]):
                    sums[row, to[index]] += values[row, index]


ctypedef fused Number:
    uint32_t
    int64_t


def sum_changes(const uint32_t[:] samples, const Number[:] allocated, const Number[:] freed, int64_t more, int64_t less,
                int64_t[::1] sums):
    """Add ``more`` times what was allocated, and take ``less`` times what was freed, by sample.

    Raises IndexError for a sample that there isn't.
    """
    cdef size_t index
    cdef bint fits = samples.shape[0] == allocated.shape[0] == freed.shape[0]
    with nogil:
        for index in range(<size_t> samples.shape[0] if fits else 0):
            if samples[index] >= <size_t> sums.shape[0]:
                fits = False
                break
            sums[samples[index]] += more * <int64_t> allocated[index] - less * <int64_t> freed[index]
    if not fits:
        raise IndexError("a change has an unknown sample")


def first_rows(const uint32_t[:] numbers, uint32_t[::1] first):
    """The first row that holds each number; those that are out of range, or in no row, keep what they have."""
    cdef size_t row
    cdef uint32_t number
    with nogil:
        # from the end, so that the first is written last
        for row in range(<size_t> numbers.shape[0], 0, -1):
            number = numbers[row - 1]
            if number < <size_t> first.shape[0]:
                first[number] = <uint32_t> (row - 1)


def least_by(const uint32_t[::1] to, const uint32_t[::1] values, uint32_t[::1] least):
    """The least of the values that each number of ``to`` has."""
    cdef size_t index
    with nogil:
        for index in range(<size_t> to.shape[0]):
            if to[index] < <size_t> least.shape[0] and values[index] < least[to[index]]:
                least[to[index]] = values[index]


def sum_up(const uint32_t[::1] parents, int64_t[:, ::1] values):
    """Add every node's values to those of its parent, and so on up."""
    cdef size_t node, row
    with nogil:
        for row in range(<size_t> values.shape[0]):
            for node in range(<size_t> parents.shape[0] - 1, 0, -1):
                values[row, parents[node]] += values[row, node]


def least_up(const uint32_t[::1] parents, uint32_t[::1] values):
    """Make every node's value the least of its own and of those below it."""
    cdef size_t node
    with nogil:
        for node in range(<size_t> parents.shape[0] - 1, 0, -1):
            if values[node] < values[parents[node]]:
                values[parents[node]] = values[node]


def deepest(const uint32_t[::1] parents, const int64_t[::1] widths):
    """How deep the deepest node with a width lies; the root's depth is 0."""
    cdef size_t node, nodes = parents.shape[0]
    cdef uint32_t most = 0
    cdef uint32_t *depths = <uint32_t *> malloc((nodes + 1) * 4)
    if depths == NULL:
        raise MemoryError
    with nogil:
        depths[0] = 0
        for node in range(1, nodes):
            depths[node] = depths[parents[node]] + 1
            if depths[node] > most and widths[node] > 0:
                most = depths[node]
    free(depths)
    return most


def functions(const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] child,
              const uint32_t[::1] sibling, const int64_t[::1] widths, const int64_t[:, ::1] selves,
              const int64_t[:, ::1] inclusive, int64_t[:, ::1] self_sums, int64_t[:, ::1] inclusive_sums):
    """Sum the nodes with a width by name; a name that stands twice on a way counts once, with its outermost."""
    cdef size_t row, rows = selves.shape[0]
    cdef uint32_t node = child[0], name
    cdef uint32_t *open = <uint32_t *> calloc(self_sums.shape[1] + 1, 4)
    if open == NULL:
        raise MemoryError
    with nogil:
        while node:
            if widths[node] > 0:
                name = names[node]
                for row in range(rows):
                    self_sums[row, name] += selves[row, node]
                    if open[name] == 0:
                        inclusive_sums[row, name] += inclusive[row, node]
                if child[node]:
                    open[name] += 1
                    node = child[node]
                    continue
            while node and not sibling[node]:
                node = parents[node]
                if node:
                    open[names[node]] -= 1
            node = sibling[node]
    free(open)


def find(const uint32_t[::1] parents, const uint32_t[::1] names, const uint8_t[::1] wanted,
         const int64_t[:, ::1] inclusive, uint8_t[::1] held, int64_t[::1] totals):
    """Sum what lies in or below nodes of the wanted names, each value once.

    ``held`` gets 1 for a node with a wanted name, and 2 for one that has such a node below it, both perhaps. Nodes
    without any value count nowhere.
    """
    cdef size_t node, row, nodes = parents.shape[0], rows = inclusive.shape[0]
    cdef int64_t any
    cdef uint8_t *inside = <uint8_t *> calloc(nodes + 1, 1)
    if inside == NULL:
        raise MemoryError
    with nogil:
        held[0] = 0
        for node in range(1, nodes):
            held[node] = 0
            inside[node] = inside[parents[node]]
            if not wanted[names[node]]:
                continue
            any = 0
            for row in range(rows):
                any |= inclusive[row, node]
            if not any:
                continue
            held[node] = 1
            if not inside[node]:
                inside[node] = 1
                for row in range(rows):
                    totals[row] += inclusive[row, node]
        for node in range(nodes - 1, 0, -1):
            if held[node]:
                held[parents[node]] |= 2
    free(inside)


def below(const uint32_t[::1] parents, const uint32_t[::1] child, const uint32_t[::1] sibling, uint32_t node,
          uint8_t[::1] inside):
    """Mark a node and all that is below it."""
    cdef uint32_t top = node
    if node >= <size_t> parents.shape[0]:
        raise IndexError(node)
    with nogil:
        inside[top] = 1
        node = child[top]
        while node and node != top:
            inside[node] = 1
            if child[node]:
                node = child[node]
                continue
            while node != top and not sibling[node]:
                node = parents[node]
            if node != top:
                node = sibling[node]


def best_above(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint8_t[::1] kinds,
               uint32_t[::1] best, bint nearest_root=False):
    """For each node the frame of the lowest ``kinds`` value on the way to the root.

    Of equals it is the one that is farthest from the root, or the nearest. NEVER for the root. Raises ValueError when
    the tree is damaged.
    """
    cdef size_t node, nodes = parents.shape[0], known = kinds.shape[0]
    cdef uint32_t above
    cdef int spare = 1 if nearest_root else 0
    cdef bint fits = frames.shape[0] == parents.shape[0] == best.shape[0]
    with nogil:
        if fits and nodes:
            best[0] = NONE
            for node in range(1, nodes):
                if parents[node] >= node or frames[node] >= known:
                    fits = False
                    break
                above = best[parents[node]]
                if above != NONE and kinds[above] < kinds[frames[node]] + spare:
                    best[node] = above
                else:
                    best[node] = frames[node]
    if not fits:
        raise ValueError("a node stands below its child or has a frame that there isn't")
