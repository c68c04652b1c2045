# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Call trees: prefix trees of stacks whose frames are merged by name, inverted trees, and sums over either.

In every tree node 0 is the root, which has no name, and a parent's number is less than its child's. So a forward pass
propagates values down the tree, and a backward pass propagates them up. :func:`merge` checks that the numbers of an
archive's tree have this order; trees that are built here have it.
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
"""What a focus keeps of the stacks that have its name: all, from its outermost frame inwards, or up to that frame."""

FOLDS, TAKES, PASSED = 1, 2, 4
"""How a name is merged with its callers and callees (bits of ``folding``).

FOLDS: recursive calls are one box. PASSED: where it calls, or is called by, a name that TAKES, its callees become
callees of its caller.
"""

cdef enum:
    C_FROM_FOCUS = 1
    C_UP_TO_FOCUS = 2
    C_FOLDS = 1
    C_TAKES = 2
    C_PASSED = 4
    FEW = 8                 # up to this many children are searched linearly: they are near in memory, unlike a slot
    MUCH = 8                # with at least one end for this many nodes, most of a tree is picked


cdef struct Slot:
    uint32_t parent
    uint32_t name
    uint32_t node           # 0 for an empty slot: the root has no parent


cdef struct Tree:
    uint32_t *parents
    uint32_t *names
    uint32_t *child         # a node's newest child, 0 for none
    uint32_t *sibling       # the next older child of the same parent, 0 for none
    size_t count
    Slot *slots             # open addressing by (parent, name), for the children of nodes with more than FEW
    size_t size
    size_t used
    uint64_t seed           # random for each tree, so that no file can cause collisions


cdef inline size_t slot_of(Tree *tree, uint32_t parent, uint32_t name) noexcept nogil:
    """Return the slot in which the child of that name is, or belongs."""
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
    """Return the child of that name, a new one if it is missing; NONE if out of memory."""
    cdef uint32_t fresh, node = tree.child[parent]
    cdef int searched = 0
    while node and searched < FEW:
        if tree.names[node] == name:
            return node
        node = tree.sibling[node]
        searched += 1
    if node and tree.slots[slot_of(tree, parent, name)].node:
        return tree.slots[slot_of(tree, parent, name)].node
    fresh = <uint32_t> tree.count
    tree.parents[fresh] = parent
    tree.names[fresh] = name
    tree.child[fresh] = 0
    tree.sibling[fresh] = tree.child[parent]
    tree.child[parent] = fresh
    tree.count += 1
    if searched == FEW:
        if into_slot(tree, fresh) < 0:
            return NONE
        # with the first child that is too many, the others get slots as well
        searched = 0 if node else FEW
        node = tree.sibling[fresh]
        while searched:
            if into_slot(tree, node) < 0:
                return NONE
            node = tree.sibling[node]
            searched -= 1
    return fresh


def merge(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint32_t[::1] names,
          const uint8_t[::1] folding, const uint8_t[::1] hidden, uint32_t focus, int focus_mode,
          uint32_t[:, ::1] columns) -> int:
    """Merge a prefix tree of frames into one of names, and return the number of its nodes, including the root.

    The name of a frame is ``names[frame]``. A ``hidden`` name is left out, and its callees become callees of its
    caller. A name that FOLDS is merged with a caller of the same name. If the callees of a PASSED name become callees
    of its caller (see :data:`FOLDS`), the name keeps a box, with only the value of stacks that end in it.

    The first of five ``columns`` receives each node's number in the new tree, NEVER for nodes that the focus leaves
    out. The others are columns of the new tree, with room for as many nodes as the old one has: parents, names, and the
    lists of children (see :func:`families`). Raises ValueError for a tree whose numbers are out of order, and
    MemoryError.
    """
    cdef size_t node, nodes = parents.shape[0]
    cdef uint32_t parent, name, above, beyond
    cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
    cdef Tree tree
    cdef bint failed = False, damaged = False
    cdef uint32_t[::1] merged = columns[0]
    cdef uint8_t *reached = <uint8_t *> calloc(nodes + 1 if focus_mode else 1, 1)
    tree.parents, tree.names = &columns[1, 0], &columns[2, 0]
    tree.child, tree.sibling = &columns[3, 0], &columns[4, 0]
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
                    # the focus isn't reached yet: from here paths start at the root
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
            # drop the stacks without the focus
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
    """List the children of each node: ``child[node]`` is the last, ``sibling[child]`` the one before; 0 for none."""
    cdef size_t node
    with nogil:
        for node in range(<size_t> parents.shape[0]):
            child[node] = sibling[node] = 0
            if node:
                sibling[node] = child[parents[node]]
                child[parents[node]] = <uint32_t> node


def pick(
    const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] ends, uint32_t[::1] places,
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the part of a tree with the paths to the nodes ``ends``, as ``(parents, names, nodes)``.

    ``nodes`` has the numbers of its nodes in the whole tree, and ``places`` receives the numbers of ``ends`` in the
    part, NEVER for those that are NEVER. The time grows with the part, not with the whole. Raises MemoryError.
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
                failed = pick_most(parents, names, ends, places, known, &found_parents, &found_names, &found_nodes) < 0
            else:
                failed = pick_paths(parents, names, ends, places, known, &found_parents, &found_names, &found_nodes) < 0
    free(known)
    if failed:
        vector_free(&found_parents)
        vector_free(&found_names)
        vector_free(&found_nodes)
        raise MemoryError
    return column_of(&found_parents, b"I"), column_of(&found_names, b"I"), column_of(&found_nodes, b"I")


cdef int pick_most(const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] ends,
                   uint32_t[::1] places, uint32_t *known, Vector *found_parents, Vector *found_names,
                   Vector *found_nodes) noexcept nogil:
    """Pick in two passes over the whole tree, which read memory sequentially."""
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


cdef int pick_paths(const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] ends,
                    uint32_t[::1] places, uint32_t *known, Vector *found_parents, Vector *found_names,
                    Vector *found_nodes) noexcept nogil:
    """Pick by walking up from each end to a known node, and down again, so that a parent comes before its children."""
    cdef size_t index, level
    cdef uint32_t at, above
    cdef Vector path
    cdef bint failed = False
    vector_init(&path, 4)
    for index in range(<size_t> ends.shape[0]):
        places[index] = NONE
        if ends[index] >= <size_t> parents.shape[0]:
            continue
        path.count = 0
        at = ends[index]
        while at and known[at] == 0 and not failed:
            failed = vector_push_u32(&path, at) < 0
            at = parents[at]
        above = known[at]
        level = path.count
        while level and not failed:
            level -= 1
            at = (<uint32_t *> path.data)[level]
            failed = vector_push_u32(found_parents, above) < 0 or vector_push_u32(found_names, names[at]) < 0 \
                or vector_push_u32(found_nodes, at) < 0
            above = <uint32_t> (found_parents.count - 1)
            known[at] = above
        if failed:
            break
        places[index] = above
    vector_free(&path)
    return -1 if failed else 0


cdef struct Inverted:
    uint32_t name           # of the node `at`; NONE at the end of the stack
    uint32_t at
    uint32_t stack


cdef struct Group:
    size_t first
    size_t last
    uint32_t node           # the parent of all of them in the inverted tree


cdef int by_name(const void *one, const void *other) noexcept nogil:
    cdef uint32_t left = (<const Inverted *> one).name
    cdef uint32_t right = (<const Inverted *> other).name
    return (left > right) - (left < right)


cdef uint32_t new_node(Vector *to_parents, Vector *to_names, uint32_t parent, uint32_t name) noexcept nogil:
    cdef uint32_t node = <uint32_t> to_parents.count
    if node == NONE or vector_push_u32(to_parents, parent) < 0 or vector_push_u32(to_names, name) < 0:
        return NONE
    return node


def invert(const uint32_t[::1] parents, const uint32_t[::1] names, const uint8_t[::1] counted, uint32_t[::1] ends,
           size_t most, size_t most_steps) -> tuple[Buffer, Buffer]:
    """Invert a tree, so that innermost names are at the root. Returns ``(parents, names)`` of the new tree.

    Each node with a value of its own (``counted``) is a stack; ``ends`` receives the node at which the inverted stack
    ends, NEVER for other nodes. Stacks with a common beginning are a group, which is split where their names differ; a
    stack alone in its group, as most of them soon are, is added without comparisons. Raises OverflowError for a tree of
    more than ``most`` nodes, or if stacks that stay in one group, as those of nested calls of one name, take more than
    ``most_steps`` frames; and MemoryError.
    """
    cdef size_t node, first, last, count = 0, steps = 0
    cdef uint32_t above, at, none = NONE
    cdef bint failed = False
    cdef Vector to_parents, to_names, groups
    cdef Group group, part
    cdef Inverted *stacks = <Inverted *> malloc((parents.shape[0] + 1) * sizeof(Inverted))
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
        while groups.count and not failed and to_parents.count <= most and steps <= most_steps:
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
            steps += group.last - group.first
            first = group.first + 1
            while first < group.last and stacks[first].name == stacks[group.first].name:
                first += 1
            if first < group.last:
                qsort(stacks + group.first, group.last - group.first, sizeof(Inverted), &by_name)
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
    if failed or to_parents.count > most or steps > most_steps:
        full = not failed
        vector_free(&to_parents)
        vector_free(&to_names)
        if full:
            raise OverflowError
        raise MemoryError
    return column_of(&to_parents, b"I"), column_of(&to_names, b"I")


def add_by(const uint32_t[::1] to, const int64_t[:, ::1] values, int64_t[:, ::1] sums):
    """Add each column ``i`` of ``values`` to the column ``to[i]`` of ``sums``, unless that is NEVER."""
    cdef size_t index, row
    with nogil:
        for index in range(<size_t> to.shape[0]):
            if to[index] < <size_t> sums.shape[1]:
                for row in range(<size_t> values.shape[0]):
                    sums[row, to[index]] += values[row, index]


ctypedef fused Number:
    uint32_t
    int64_t


def sum_changes(
    const uint32_t[:] samples, const Number[:] allocated: U32 | I64, const Number[:] freed: U32 | I64, int64_t more,
    int64_t less, int64_t[::1] sums,
):
    """Sum ``more`` times what was allocated minus ``less`` times what was freed, by sample.

    Raises IndexError for a sample that is out of range.
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
    """Fill ``first`` with the first row of each number in ``numbers``; items of numbers without a row don't change.

    Numbers that are out of range are ignored.
    """
    cdef size_t row
    cdef uint32_t number
    with nogil:
        # backwards, so that the first row is written last
        for row in range(<size_t> numbers.shape[0], 0, -1):
            number = numbers[row - 1]
            if number < <size_t> first.shape[0]:
                first[number] = <uint32_t> (row - 1)


def least_by(const uint32_t[::1] to, const uint32_t[::1] values, uint32_t[::1] least):
    """Lower ``least[to[i]]`` to ``values[i]`` if that is less; numbers in ``to`` that are out of range are ignored."""
    cdef size_t index
    with nogil:
        for index in range(<size_t> to.shape[0]):
            if to[index] < <size_t> least.shape[0] and values[index] < least[to[index]]:
                least[to[index]] = values[index]


def sum_up(const uint32_t[::1] parents, int64_t[:, ::1] values):
    """Add the values of all nodes below a node to its own: self values become inclusive."""
    cdef size_t node, row
    with nogil:
        for row in range(<size_t> values.shape[0]):
            for node in range(<size_t> parents.shape[0] - 1, 0, -1):
                values[row, parents[node]] += values[row, node]


def least_up(const uint32_t[::1] parents, uint32_t[::1] values):
    """Replace each node's value by the least of its own and of all below it."""
    cdef size_t node
    with nogil:
        for node in range(<size_t> parents.shape[0] - 1, 0, -1):
            if values[node] < values[parents[node]]:
                values[parents[node]] = values[node]


def deepest(const uint32_t[::1] parents, const int64_t[::1] widths) -> int:
    """Return the depth of the deepest node with a width; the root's depth is 0."""
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
    """Sum the nodes with a width by name; of a name that recurs on a path only the outermost node is inclusive."""
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
    """Sum the values in and below nodes with wanted names, each value once.

    ``held`` receives 1 for a node with a wanted name, 2 for one above such a node, and 3 for both. Nodes without any
    value are ignored. Raises MemoryError.
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
    """Mark a node and all nodes below it. Raises IndexError."""
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
    """Fill ``best`` with the frame of the lowest ``kinds`` value on the path from each node to the root.

    Of equal ones it is the farthest from the root, or with ``nearest_root`` the nearest. The root has NEVER. Raises
    ValueError if the tree is damaged.
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
