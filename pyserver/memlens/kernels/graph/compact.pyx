# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The dominator tree grouped by type at each level, made breadth first into columns of the caller's.

Objects of one type whose dominators are of one group are a group, a *node* of the compact tree. Nodes stand level after
level, the children of a node together and the one first that retains most. As nodes are made in this order, the members
of each are a range of one queue of objects, which is only ever read at its front and written at its end; so are the
columns of nodes. All of them may be files that are larger than memory.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push, vector_reserve

cdef uint32_t NO_NUMBER = 0xFFFFFFFF

cdef enum:
    AHEAD = 6       # members, between the steps in which their children are fetched into the processor's cache

cdef struct Child:
    uint64_t shallow
    uint64_t retained
    uint32_t type
    uint32_t objects
    uint32_t made       # in the order in which children of a node were found
    uint32_t unused


cdef int larger_first(const void *one, const void *two) noexcept nogil:
    cdef const Child *left = <const Child *> one
    cdef const Child *right = <const Child *> two
    if left.retained != right.retained:
        return -1 if left.retained > right.retained else 1
    return -1 if left.made < right.made else 1


cdef class TypedObjects:
    """The type, the shallow and the retained bytes of each object; ``types`` is how many types there are."""

    cdef const uint32_t[::1] type_of
    cdef const uint64_t[::1] shallow, retained
    cdef size_t types

    def __cinit__(
        self, const uint32_t[::1] type_of, const uint64_t[::1] shallow, const uint64_t[::1] retained, size_t types
    ):
        self.type_of, self.shallow, self.retained, self.types = type_of, shallow, retained, types


cdef class CompactTree:
    """Groups the dominator tree of objects.

    ``begin`` and ``child`` are objects by their dominators, as :func:`memlens.kernels.graph.tree.grouped` has them.
    ``root`` is the object that is node 0, or -1: node 0 is no object then and has the type NONE. Its children are the
    groups of ``tops``, the objects that no object dominates and a root reaches, and last a node of the type NONE, whose
    children are the groups of ``lost``, those that no object dominates and no root reaches; it is left out if there are
    none. The columns of nodes have room for two nodes more than there are objects, ``group``
    gets the node of each object, and ``queue`` is room for an item per object.
    """

    cdef const uint32_t[::1] begin, child, type_of, tops, lost
    cdef const uint64_t[::1] shallow, retained
    cdef uint32_t[::1] type, parent, objects, first, last, group, queue
    cdef uint64_t[::1] node_shallow, node_retained
    cdef uint32_t *place        # by type: the child of the current node, plus 1; 0 for none
    cdef Vector children
    cdef Vector cursors
    cdef readonly size_t nodes      # made so far
    cdef readonly size_t done       # whose children are made
    cdef readonly size_t front      # of the queue
    cdef size_t back

    def __cinit__(
        self,
        TypedObjects objects not None,
        const uint32_t[::1] begin,
        const uint32_t[::1] child,
        long long root,
        const uint32_t[::1] tops,
        const uint32_t[::1] lost,
        tuple columns: tuple[U32, U32, U32, U32, U32, U64, U64],
        uint32_t[::1] group,
        uint32_t[::1] queue,
    ):
        cdef uint32_t item
        vector_init(&self.children, sizeof(Child))
        vector_init(&self.cursors, 4)
        self.begin, self.child, self.tops, self.lost, self.group, self.queue = begin, child, tops, lost, group, queue
        self.type_of, self.shallow, self.retained = objects.type_of, objects.shallow, objects.retained
        (self.type, self.parent, self.objects, self.first, self.last, self.node_shallow,
         self.node_retained) = columns
        self.place = <uint32_t *> calloc(objects.types + 1, 4)
        if self.place == NULL:
            raise MemoryError
        self.parent[0] = 0
        self.nodes = 1
        if root >= 0:
            item = <uint32_t> root
            self.type[0], self.objects[0] = self.type_of[item], 1
            self.node_shallow[0], self.node_retained[0] = self.shallow[item], self.retained[item]
            self.group[item] = 0
            self.queue[0] = item
            self.back = 1
        else:
            self._add_without_objects(0, tops)
            self.node_retained[0] += self._sum(lost)

    def __dealloc__(self):
        free(self.place)
        vector_free(&self.children)
        vector_free(&self.cursors)

    def run(self, size_t most) -> bool:
        """Make the children of up to ``most`` nodes; return whether there are more. Raises MemoryError."""
        cdef int status = 0
        cdef size_t end = self.done + most
        with nogil:
            while self.done < self.nodes and self.done < end and status == 0:
                status = self._expand(<uint32_t> self.done)
                self.done += 1
        if status < 0:
            raise MemoryError
        return self.done < self.nodes

    cdef uint64_t _sum(self, const uint32_t[::1] objects) noexcept nogil:
        """Compute what objects retain."""
        cdef uint64_t total = 0
        cdef size_t at
        for at in range(<size_t> objects.shape[0]):
            total += self.retained[objects[at]]
        return total

    cdef void _add_without_objects(self, size_t node, const uint32_t[::1] below) noexcept nogil:
        """Make a node without objects of its own, for those below it."""
        self.type[node], self.parent[node], self.objects[node] = NO_NUMBER, 0, 0
        self.node_shallow[node], self.node_retained[node] = 0, self._sum(below)

    cdef int _expand(self, uint32_t node) noexcept nogil:
        """Make the children of a node: its members' children by type."""
        cdef size_t member, end = self.front + self.objects[node], number, found
        cdef uint32_t item, total = 0
        cdef Child *made
        cdef uint32_t *cursor
        cdef bint is_object = self.objects[node] > 0
        cdef bint adds_lost = node == 0 and not is_object and self.lost.shape[0] > 0
        cdef const uint32_t *below = NULL
        cdef size_t count_below = 0
        if not is_object:
            count_below = self.tops.shape[0] if node == 0 else self.lost.shape[0]
            below = &self.tops[0] if node == 0 else &self.lost[0]
        self.children.count = 0
        if self._gather(below, 0, count_below) < 0:
            return -1
        for member in range(self.front, end):
            self._fetch(member)
            item = self.queue[member]
            if self._gather(&self.child[0], self.begin[item], self.begin[<size_t> item + 1]) < 0:
                return -1
        found = self.children.count
        self.first[node] = <uint32_t> self.nodes if found or adds_lost else 0
        self.last[node] = <uint32_t> (self.nodes + found + adds_lost) if found or adds_lost else 0
        made = <Child *> self.children.data
        if found > 1:
            qsort(made, found, sizeof(Child), larger_first)
        if vector_reserve(&self.cursors, found) < 0:
            return -1
        cursor = <uint32_t *> self.cursors.data
        for number in range(found):
            self.type[self.nodes + number] = made[number].type
            self.parent[self.nodes + number] = node
            self.objects[self.nodes + number] = made[number].objects
            self.node_shallow[self.nodes + number] = made[number].shallow
            self.node_retained[self.nodes + number] = made[number].retained
            self.place[made[number].type] = <uint32_t> number + 1
            cursor[number] = <uint32_t> self.back + total
            total += made[number].objects
        self._place(below, 0, count_below, cursor)
        for member in range(self.front, end):
            item = self.queue[member]
            self._place(&self.child[0], self.begin[item], self.begin[<size_t> item + 1], cursor)
        for number in range(found):
            self.place[made[number].type] = 0
        self.front = end
        self.back += total
        self.nodes += found
        if adds_lost:
            self._add_without_objects(self.nodes, self.lost)
            self.nodes += 1
        return 0

    cdef inline void _fetch(self, size_t member) noexcept nogil:
        """Prefetch what the queue's next members need: hardly any of it is cached."""
        cdef uint32_t at
        if member + 3 * AHEAD < self.back:
            prefetch(&self.begin[self.queue[member + 3 * AHEAD]])
            at = self.begin[self.queue[member + 2 * AHEAD]]
            if at < self.child.shape[0]:
                prefetch(&self.child[at])
            at = self.begin[self.queue[member + AHEAD]]
            if at < self.child.shape[0]:
                at = self.child[at]
                prefetch(&self.type_of[at])
                prefetch(&self.shallow[at])
                prefetch(&self.retained[at])
                prefetch(&self.group[at])

    cdef inline int _gather(self, const uint32_t *objects, size_t first, size_t last) noexcept nogil:
        """Add some objects to the children of the current node."""
        cdef size_t at
        cdef uint32_t one, kind
        cdef Child fresh
        cdef Child *of
        for at in range(first, last):
            one = objects[at]
            kind = self.type_of[one]
            if self.place[kind] == 0:
                fresh.shallow = fresh.retained = 0
                fresh.type, fresh.objects, fresh.made = kind, 0, <uint32_t> self.children.count
                fresh.unused = 0
                if vector_push(&self.children, &fresh) < 0:
                    return -1
                self.place[kind] = <uint32_t> self.children.count
            of = <Child *> self.children.data + (self.place[kind] - 1)
            of.shallow += self.shallow[one]
            of.retained += self.retained[one]
            of.objects += 1
        return 0

    cdef inline void _place(
        self, const uint32_t *objects, size_t first, size_t last, uint32_t *cursor
    ) noexcept nogil:
        """Put some objects into the queue, each at its node's members."""
        cdef size_t at
        cdef uint32_t one, number
        for at in range(first, last):
            one = objects[at]
            number = self.place[self.type_of[one]] - 1
            self.group[one] = <uint32_t> self.nodes + number
            self.queue[cursor[number]] = one
            cursor[number] += 1
