# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Call trees: a prefix tree of stacks merged by the name of its frames, turned round, summed and laid out in a row.

In every tree here node 0 is the root, which has no name, and a parent's number is less than its child's; so one pass
forward carries things down the tree and one pass backward carries them up. What a file could have made otherwise is
checked where a tree comes in (:func:`merge`); the trees that are made here keep to it.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.interning cimport hash_bytes
from memlens.kernels.vectors cimport Vector, vector_init, vector_push, vector_free, column_of

import os

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF

NO_FOCUS, FROM_FOCUS, UP_TO_FOCUS = 0, 1, 2
"""What a focus keeps of the stacks that its name stands in: all of it, from its outermost place on, up to there."""

cdef enum:
    C_FROM_FOCUS = 1
    C_UP_TO_FOCUS = 2


cdef struct Slot:
    uint32_t parent
    uint32_t name
    uint32_t node           # 0 for an empty slot: the root is nobody's child


cdef struct Tree:
    Vector parents
    Vector names
    Slot *slots             # open addressing by (parent, name)
    size_t size
    uint64_t seed           # drawn anew for every tree, so that no file can be made to collide


cdef int tree_init(Tree *tree, uint64_t seed) noexcept nogil:
    cdef uint32_t none = NONE
    vector_init(&tree.parents, 4)
    vector_init(&tree.names, 4)
    tree.size = 1 << 12
    tree.seed = seed
    tree.slots = <Slot *> calloc(tree.size, sizeof(Slot))
    if tree.slots == NULL or vector_push(&tree.parents, &none) < 0 or vector_push(&tree.names, &none) < 0:
        return -1
    return 0


cdef void tree_free(Tree *tree) noexcept nogil:
    vector_free(&tree.parents)
    vector_free(&tree.names)
    free(tree.slots)
    tree.slots = NULL


cdef inline size_t slot_of(Tree *tree, uint32_t parent, uint32_t name) noexcept nogil:
    cdef uint64_t key = <uint64_t> parent << 32 | name
    return hash_bytes(<uint8_t *> &key, 8, tree.seed) & (tree.size - 1)


cdef int tree_grow(Tree *tree) noexcept nogil:
    cdef Slot *old = tree.slots
    cdef size_t index, slot, size = tree.size
    tree.slots = <Slot *> calloc(size * 2, sizeof(Slot))
    if tree.slots == NULL:
        tree.slots = old
        return -1
    tree.size = size * 2
    for index in range(size):
        if old[index].node:
            slot = slot_of(tree, old[index].parent, old[index].name)
            while tree.slots[slot].node:
                slot = (slot + 1) & (tree.size - 1)
            tree.slots[slot] = old[index]
    free(old)
    return 0


cdef uint32_t child_of(Tree *tree, uint32_t parent, uint32_t name) noexcept nogil:
    """The child of that name, made when there is none; NONE without memory."""
    cdef size_t slot
    cdef uint32_t node
    if tree.parents.count * 2 >= tree.size and tree_grow(tree) < 0:
        return NONE
    slot = slot_of(tree, parent, name)
    while tree.slots[slot].node:
        if tree.slots[slot].parent == parent and tree.slots[slot].name == name:
            return tree.slots[slot].node
        slot = (slot + 1) & (tree.size - 1)
    node = <uint32_t> tree.parents.count
    if node == NONE or vector_push(&tree.parents, &parent) < 0 or vector_push(&tree.names, &name) < 0:
        return NONE
    tree.slots[slot].parent = parent
    tree.slots[slot].name = name
    tree.slots[slot].node = node
    return node


def sum_stacks(const uint32_t[::1] rows, const int64_t[:] sizes, const uint32_t[:] stacks, int64_t[::1] size_bytes,
               int64_t[::1] counts, uint32_t[::1] first):
    """Sum some allocations by stack, and note the first of each stack.

    Rows and stacks that are out of range (a damaged archive) count nowhere.
    """
    cdef size_t index
    cdef uint32_t row, stack
    with nogil:
        for index in range(<size_t> rows.shape[0]):
            row = rows[index]
            if row >= <size_t> sizes.shape[0]:
                continue
            stack = stacks[row]
            if stack >= <size_t> counts.shape[0]:
                continue
            size_bytes[stack] += sizes[row]
            counts[stack] += 1
            if row < first[stack]:
                first[stack] = row


def merge(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint8_t[::1] counted,
          const uint32_t[::1] names, const uint8_t[::1] foldable, const uint8_t[::1] hidden, uint32_t focus,
          int focus_mode, uint32_t[::1] merged):
    """Merge a prefix tree of frames into one of names; returns its ``(parents, names)``.

    ``counted`` says which nodes have a value of their own; only they and what is above them are merged. A frame's
    name is ``names[frame]``. A name that is ``hidden`` is left out, and its callees stand under its caller; one that
    is ``foldable`` and called by itself is folded into its caller. ``merged`` gets each node's number in the new
    tree, NEVER for those that the focus leaves out. Raises ValueError for a tree whose numbers are out of order.
    """
    cdef size_t node, nodes = parents.shape[0]
    cdef uint32_t parent, name, above
    cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
    cdef Tree tree
    cdef bint failed = False, damaged = False
    cdef uint8_t *state = <uint8_t *> calloc(nodes + 1, 2)
    cdef uint8_t *reached = state + nodes
    if state == NULL or tree_init(&tree, seed) < 0:
        free(state)
        raise MemoryError
    with nogil:
        # `state`: is there anything in or below the node; backward, as children come behind their parents
        for node in range(nodes - 1, 0, -1):
            parent = parents[node]
            if parent >= node or frames[node] >= <size_t> names.shape[0] \
                    or names[frames[node]] >= <size_t> hidden.shape[0]:
                damaged = True
                break
            if counted[node]:
                state[node] = 1
            if state[node]:
                state[parent] = 1
        if nodes:
            merged[0] = 0
        for node in range(1, nodes):
            if damaged:
                break
            merged[node] = NONE
            if not state[node]:
                continue
            parent = parents[node]
            above = merged[parent]
            reached[node] = reached[parent]
            name = names[frames[node]]
            if focus_mode == C_FROM_FOCUS:
                if not reached[node]:
                    if name != focus:
                        # not reached yet: the way from here starts at the root
                        merged[node] = 0
                        continue
                    reached[node] = 1
            elif focus_mode == C_UP_TO_FOCUS:
                if reached[node]:
                    merged[node] = above
                    continue
                if name == focus:
                    reached[node] = 1
            if hidden[name] or (foldable[name] and above != 0
                                and (<uint32_t *> tree.names.data)[above] == name):
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
    free(state)
    if damaged:
        tree_free(&tree)
        raise ValueError("a stack's numbers are out of order")
    if failed:
        tree_free(&tree)
        raise MemoryError
    free(tree.slots)
    return column_of(&tree.parents, b"I"), column_of(&tree.names, b"I")


def invert(const uint32_t[::1] parents, const uint32_t[::1] names, const uint8_t[::1] counted, uint32_t[::1] ends):
    """Turn a tree round: what was innermost stands at the root. Returns the new tree's ``(parents, names)``.

    Each node with a value of its own (``counted``) is a stack; ``ends`` gets the node where the turned stack ends,
    NEVER for the other nodes.
    """
    cdef size_t node
    cdef uint32_t at, above
    cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
    cdef Tree tree
    cdef bint failed = False
    if tree_init(&tree, seed) < 0:
        raise MemoryError
    with nogil:
        for node in range(<size_t> parents.shape[0]):
            ends[node] = NONE
            if not counted[node]:
                continue
            above = 0
            at = <uint32_t> node
            while at:
                above = child_of(&tree, above, names[at])
                if above == NONE:
                    failed = True
                    break
                at = parents[at]
            if failed:
                break
            ends[node] = above
    free(tree.slots)
    if failed:
        vector_free(&tree.parents)
        vector_free(&tree.names)
        raise MemoryError
    return column_of(&tree.parents, b"I"), column_of(&tree.names, b"I")


def add_by(const uint32_t[::1] to, const int64_t[:, ::1] values, int64_t[:, ::1] sums):
    """Add each column of ``values`` to the column ``to`` of ``sums``; NEVER for nowhere."""
    cdef size_t index, row
    with nogil:
        for index in range(<size_t> to.shape[0]):
            if to[index] < <size_t> sums.shape[1]:
                for row in range(<size_t> values.shape[0]):
                    sums[row, to[index]] += values[row, index]


def least_by(const uint32_t[::1] to, const uint32_t[::1] values, uint32_t[::1] least):
    """The least of the values that each number of ``to`` has."""
    cdef size_t index
    with nogil:
        for index in range(<size_t> to.shape[0]):
            if to[index] < <size_t> least.shape[0] and values[index] < least[to[index]]:
                least[to[index]] = values[index]


def sum_up(const uint32_t[::1] parents, int64_t[:, ::1] values, uint32_t[::1] first):
    """Add every node's values to those of its parent, and so on up; ``first`` becomes the least below likewise."""
    cdef size_t node, row
    cdef uint32_t parent
    with nogil:
        for node in range(<size_t> parents.shape[0] - 1, 0, -1):
            parent = parents[node]
            for row in range(<size_t> values.shape[0]):
                values[row, parent] += values[row, node]
            if first[node] < first[parent]:
                first[parent] = first[node]


def place(const uint32_t[::1] parents, const int64_t[::1] offsets, const uint32_t[::1] order,
          const int64_t[::1] inclusive, int64_t[::1] left, uint32_t[::1] depth):
    """Where each node begins on an axis of values, and how deep it lies.

    The children of ``n`` are ``order[offsets[n]:offsets[n + 1]]``; they stand side by side from their parent's
    beginning, and what the parent has of its own is left over behind them.
    """
    cdef size_t node
    cdef int64_t index, at
    with nogil:
        left[0] = 0
        depth[0] = 0
        for node in range(<size_t> parents.shape[0]):
            at = left[node]
            for index in range(offsets[node], offsets[node + 1]):
                left[order[index]] = at
                depth[order[index]] = depth[node] + 1
                at += inclusive[order[index]]


def functions(const uint32_t[::1] parents, const uint32_t[::1] names, const int64_t[::1] offsets,
              const uint32_t[::1] order, const int64_t[:, ::1] selves, const int64_t[:, ::1] inclusive,
              int64_t[:, ::1] self_sums, int64_t[:, ::1] inclusive_sums):
    """Sum a tree by name; a name that stands twice on a way counts once, with its outermost."""
    cdef size_t row, rows = selves.shape[0]
    cdef uint32_t node = 0, child
    cdef int64_t *next = <int64_t *> calloc(parents.shape[0], 8)
    cdef uint32_t *open = <uint32_t *> calloc(self_sums.shape[1] + 1, 4)
    if next == NULL or open == NULL:
        free(next)
        free(open)
        raise MemoryError
    with nogil:
        while True:
            if offsets[node] + next[node] < offsets[node + 1]:
                child = order[offsets[node] + next[node]]
                next[node] += 1
                node = child
                for row in range(rows):
                    self_sums[row, names[node]] += selves[row, node]
                    if open[names[node]] == 0:
                        inclusive_sums[row, names[node]] += inclusive[row, node]
                open[names[node]] += 1
            elif node == 0:
                break
            else:
                open[names[node]] -= 1
                node = parents[node]
    free(next)
    free(open)


def find(const uint32_t[::1] parents, const uint32_t[::1] names, const uint8_t[::1] wanted,
         const int64_t[:, ::1] inclusive, uint8_t[::1] held, int64_t[::1] totals):
    """Sum what lies in or below nodes of the wanted names, each value once; returns how many nodes have such a name.

    ``held`` gets 1 for a node with a wanted name, and 2 for one that has such a node below it, both perhaps.
    """
    cdef size_t node, row, count = 0, nodes = parents.shape[0]
    cdef uint8_t *inside = <uint8_t *> calloc(nodes + 1, 1)
    if inside == NULL:
        raise MemoryError
    with nogil:
        for node in range(nodes):
            held[node] = 0
        for node in range(1, nodes):
            inside[node] = inside[parents[node]]
            if wanted[names[node]]:
                held[node] = 1
                count += 1
                if not inside[node]:
                    inside[node] = 1
                    for row in range(<size_t> inclusive.shape[0]):
                        totals[row] += inclusive[row, node]
        for node in range(nodes - 1, 0, -1):
            if held[node]:
                held[parents[node]] |= 2
    free(inside)
    return count


def below(const uint32_t[::1] parents, uint32_t node, uint8_t[::1] inside):
    """Mark a node and all that is below it; ``inside`` holds zeroes before."""
    cdef size_t at
    if node >= <size_t> parents.shape[0]:
        raise IndexError(node)
    with nogil:
        inside[node] = 1
        for at in range(<size_t> node + 1, <size_t> parents.shape[0]):
            inside[at] = inside[parents[at]]


def best_above(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint8_t[::1] kinds,
               uint32_t[::1] best):
    """For each node the frame of the lowest ``kinds`` value on the way to the root, the innermost of equals.

    NEVER for the root. Raises ValueError when the tree is damaged.
    """
    cdef size_t node, nodes = parents.shape[0], known = kinds.shape[0]
    cdef uint32_t above
    cdef bint fits = frames.shape[0] == parents.shape[0] == best.shape[0]
    with nogil:
        if fits and nodes:
            best[0] = NONE
            for node in range(1, nodes):
                if parents[node] >= node or frames[node] >= known:
                    fits = False
                    break
                above = best[parents[node]]
                best[node] = above if above != NONE and kinds[above] < kinds[frames[node]] else frames[node]
    if not fits:
        raise ValueError("a node stands below its child or has a frame that there isn't")
