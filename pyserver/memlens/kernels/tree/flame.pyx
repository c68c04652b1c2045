# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The boxes of a flame graph that are visible in a viewport, row by row and from left to right.

A node covers ``[left, left + inclusive)`` on the axis of values. Its edges in pixels are those two numbers rounded,
and its children are side by side within it. So two neighbours share an edge, and the widths of children, with the
parent's self value, sum to the parent's width at any zoom, without gaps or overlaps.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, int64_t
from libc.string cimport memcpy

from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_push_u32, vector_free, column_of,
)

BOX_FORMAT = b"T{d:left:d:value:I:node:I:name:H:x0:H:x1:H:row:B:flags:B:unused:}"
SIDES_FORMAT = b"T{d:before:d:after:}"

MORE, MATCHES, HOLDS_MATCH = 1, 2, 4
"""Flags of a box: it stands for several nodes; its name matches the search; a name below it, or in it, does."""

cdef enum:
    FEW = 16
    F_MORE = 1
    F_MATCHES = 2
    F_HOLDS_MATCH = 4


cdef struct Box:
    double left             # where it begins on the axis of values
    double value            # inclusive
    uint32_t node           # their parent for a box of several nodes
    uint32_t name           # their number for a box of several nodes
    uint16_t x0
    uint16_t x1
    uint16_t row
    uint8_t flags
    uint8_t unused


cdef struct Sides:
    double before
    double after


cdef struct Child:
    int64_t key             # by which children are sorted, the least first
    int64_t left
    int64_t width
    uint32_t name
    uint32_t node


cdef struct Open:
    # a node whose children are still to be laid out
    int64_t left
    uint32_t node


cdef struct Run:
    # neighbours that are too thin for boxes of their own
    int64_t left
    int64_t right
    int64_t before
    int64_t after
    uint32_t count
    uint8_t held


cdef inline void *room_for_one(Vector *vector) noexcept nogil:
    """Add an item to a vector, and return its address; NULL if out of memory.

    Writing an item there saves the call that copies items of any size.
    """
    if vector.count == vector.room and vector_reserve(vector, vector.count + 1) < 0:
        return NULL
    vector.count += 1
    return vector.data + (vector.count - 1) * vector.item_bytes


cdef inline bint precedes(const Child *one, const Child *other) noexcept nogil:
    return one.key < other.key or (one.key == other.key and one.name < other.name)


cdef void sort_few(Child *children, size_t count) noexcept nogil:
    cdef size_t place, at
    cdef Child moved
    for place in range(1, count):
        moved = children[place]
        at = place
        while at and precedes(&moved, &children[at - 1]):
            children[at] = children[at - 1]
            at -= 1
        children[at] = moved


cdef void sort_children(Child *children, size_t count, Child *spare) noexcept nogil:
    """Sort by key and name; ``spare`` has room for as many. Unlike qsort it needs no call for each comparison."""
    cdef Child *source = children
    cdef Child *target = spare
    cdef size_t width = FEW, first, middle, last, left, right, at
    first = 0
    while first < count:
        sort_few(children + first, min(<size_t> FEW, count - first))
        first += FEW
    while width < count:
        first = 0
        while first < count:
            middle = min(first + width, count)
            last = min(middle + width, count)
            left, right = first, middle
            for at in range(first, last):
                if right == last or (left < middle and not precedes(&source[right], &source[left])):
                    target[at] = source[left]
                    left += 1
                else:
                    target[at] = source[right]
                    right += 1
            first = last
        source, target = target, source
        width *= 2
    if source != children:
        memcpy(children, source, count * sizeof(Child))


cdef class Layout:
    """Lays out a tree as a flame graph. Children are sorted only for nodes that are wide enough to show them.

    The order of children is by descending width, or with ``times`` by ascending time, and by name among equal ones;
    those without a width are left out. A node's self value follows its children.
    """

    cdef const uint32_t[::1] parents
    cdef const uint32_t[::1] names
    cdef const uint32_t[::1] child
    cdef const uint32_t[::1] sibling
    cdef const int64_t[::1] widths
    cdef const uint32_t[::1] times
    cdef const uint32_t[::1] numbers
    cdef const uint32_t[::1] more
    cdef const int64_t[::1] more_width
    cdef const uint8_t[::1] held
    cdef const int64_t[::1] before
    cdef const int64_t[::1] after
    cdef bint largest_first
    cdef double x0, x1, scale, thinnest, width
    cdef Vector boxes, sides, children, spare
    cdef Run rest           # the thinnest of the children, which follow the others

    def __init__(self, const uint32_t[::1] parents, const uint32_t[::1] names, const uint32_t[::1] child,
                 const uint32_t[::1] sibling, const int64_t[::1] widths, const uint32_t[::1] times: U32 | None = None,
                 const uint32_t[::1] numbers: U32 | None = None, const uint32_t[::1] more: U32 | None = None,
                 const int64_t[::1] more_width: I64 | None = None):
        """``child`` and ``sibling`` are those of :func:`calltree.families`.

        If the tree has only the largest nodes of a whole one, ``numbers`` has their numbers there, ``more`` the number
        of children that each node lacks, and ``more_width`` the total width of these.
        """
        self.parents = parents
        self.names = names
        self.child = child
        self.sibling = sibling
        self.widths = widths
        self.times = times
        self.numbers = numbers
        self.more = more
        self.more_width = more_width
        self.largest_first = times is None
        vector_init(&self.boxes, sizeof(Box))
        vector_init(&self.sides, sizeof(Sides))
        vector_init(&self.children, sizeof(Child))
        vector_init(&self.spare, sizeof(Child))

    def __dealloc__(self):
        vector_free(&self.boxes)
        vector_free(&self.sides)
        vector_free(&self.children)
        vector_free(&self.spare)

    cdef inline int64_t key(self, uint32_t node) noexcept nogil:
        return -self.widths[node] if self.largest_first else <int64_t> self.times[node]

    cdef inline uint32_t pixel(self, int64_t value) noexcept nogil:
        cdef double at = (value - self.x0) * self.scale + 0.5
        if at <= 0:
            return 0
        # the conversion rounds positive numbers down
        return <uint32_t> (self.width if at >= self.width else at)

    cdef inline bint too_thin(self, Child *child) noexcept nogil:
        cdef int64_t left = child.left, right = left + child.width
        # of a box that the edge of the view cuts off, only the visible part counts
        return (right - left) * self.scale < self.thinnest or (
            self.pixel(right) <= self.pixel(left) and <double> right > self.x0 and <double> left < self.x1
        )

    cdef int gather(self, uint32_t node, int64_t left) noexcept nogil:
        """Collect the children of a node in order, from ``left`` on, the thinnest as ``rest``; -1 if out of memory."""
        cdef uint32_t at = self.child[node]
        cdef size_t index
        cdef int64_t width
        cdef Child child
        cdef Child *entry
        # without these, the compiler would have to assume that writes change the addresses
        cdef const uint32_t *sibling = &self.sibling[0]
        cdef const int64_t *widths = &self.widths[0]
        self.children.count = 0
        self.empty(&self.rest)
        if self.more is not None:
            self.rest.count = self.more[node]
            self.rest.right = self.more_width[node]
        while at:
            width = widths[at]
            if width > 0:
                if self.largest_first and width * self.scale < self.thinnest:
                    child.node = at
                    self.rest.right += width
                    self.add_to_run(&self.rest, &child)
                else:
                    entry = <Child *> room_for_one(&self.children)
                    if entry == NULL:
                        return -1
                    entry.width = width
                    entry.node = at
                    entry.key = self.key(at)
                    entry.name = self.names[at]
            at = sibling[at]
        if self.children.count > FEW and vector_reserve(&self.spare, self.children.count) < 0:
            return -1
        entry = <Child *> self.children.data
        sort_children(entry, self.children.count, <Child *> self.spare.data)
        for index in range(self.children.count):
            entry[index].left = left
            left += entry[index].width
        self.rest.left = left
        self.rest.right += left
        return 0

    cdef inline void empty(self, Run *run) noexcept nogil:
        run.count = 0
        run.left = run.right = run.before = run.after = 0
        run.held = 0

    cdef inline void add_to_run(self, Run *run, Child *child) noexcept nogil:
        """Add a child to a run, whatever its position."""
        run.count += 1
        if self.held is not None:
            run.held |= self.held[child.node]
        if self.before is not None:
            run.before += self.before[child.node]
            run.after += self.after[child.node]

    cdef int add(self, Box *box, int64_t left, int64_t right, Sides sides) noexcept nogil:
        """Add a box. Return 1, 0 if it is too thin to be visible, or -1 if out of memory."""
        cdef void *place
        box.x0 = <uint16_t> self.pixel(left)
        box.x1 = <uint16_t> self.pixel(right)
        if box.x1 <= box.x0:
            return 0
        box.left = <double> left
        box.value = <double> (right - left)
        box.unused = 0
        if self.numbers is not None:
            box.node = self.numbers[box.node]
        if self.before is not None:
            place = room_for_one(&self.sides)
            if place == NULL:
                return -1
            (<Sides *> place)[0] = sides
        place = room_for_one(&self.boxes)
        if place == NULL:
            return -1
        (<Box *> place)[0] = box[0]
        return 1

    cdef int add_node(self, uint32_t node, uint32_t name, int64_t left, int64_t right, size_t row) noexcept nogil:
        cdef Box box
        cdef Sides sides
        sides.before = sides.after = 0
        box.node = node
        box.name = name
        box.row = <uint16_t> row
        box.flags = 0
        if self.held is not None:
            box.flags = (F_MATCHES if self.held[node] & 1 else 0) | (F_HOLDS_MATCH if self.held[node] & 2 else 0)
        if self.before is not None:
            sides.before = <double> self.before[node]
            sides.after = <double> self.after[node]
        return self.add(&box, left, right, sides)

    cdef int flush(self, uint32_t parent, Run *run, size_t row, bint seen) noexcept nogil:
        cdef int status = 0
        cdef Box box
        cdef Sides sides
        if run.count and seen:
            box.node = parent
            box.name = run.count
            box.row = <uint16_t> row
            box.flags = F_MORE | (F_HOLDS_MATCH if run.held else 0)
            sides.before = <double> run.before
            sides.after = <double> run.after
            status = self.add(&box, run.left, run.right, sides)
        self.empty(run)
        return status

    cdef int lay_out_children(self, Open *parent, size_t row, bint seen, Vector *below) noexcept nogil:
        """Add the boxes of a node's children; those wide enough to have visible children are added to ``below``."""
        cdef size_t index, count
        cdef Child *child
        cdef Open *open
        cdef Run run
        if self.gather(parent.node, parent.left) < 0:
            return -1
        self.empty(&run)
        child = <Child *> self.children.data
        count = self.children.count
        # the first child that extends into the view
        index = 0
        while index < count and <double> (child[index].left + child[index].width) <= self.x0:
            index += 1
        # a run that the edge of the view cuts off is returned whole
        while not self.largest_first and index > 0 and self.too_thin(&child[index - 1]):
            index -= 1
        while index < count:
            if <double> child[index].left >= self.x1 and (run.count == 0 or not self.too_thin(&child[index])):
                return self.flush(parent.node, &run, row, seen)
            if self.too_thin(&child[index]):
                if run.count == 0:
                    run.left = child[index].left
                run.right = child[index].left + child[index].width
                self.add_to_run(&run, &child[index])
                index += 1
                continue
            if self.flush(parent.node, &run, row, seen) < 0:
                return -1
            if seen and self.add_node(child[index].node, child[index].name, child[index].left,
                                      child[index].left + child[index].width, row) < 0:
                return -1
            open = <Open *> room_for_one(below)
            if open == NULL:
                return -1
            open.node = child[index].node
            open.left = child[index].left
            index += 1
        if self.rest.count:
            if run.count:
                self.rest.left = run.left
                self.rest.count += run.count
                self.rest.before += run.before
                self.rest.after += run.after
                self.rest.held |= run.held
            run = self.rest
        return self.flush(parent.node, &run, row, seen)

    def run(
        self, double x0, double x1, uint32_t width, double thinnest, size_t first_depth, size_t rows, size_t most,
        const uint8_t[::1] held: U8 | None = None, const int64_t[::1] before: I64 | None = None,
        const int64_t[::1] after: I64 | None = None,
    ) -> tuple[Buffer, Buffer] | None:
        """Lay out the boxes at least ``thinnest`` pixels wide in ``rows`` rows from the depth ``first_depth`` on.

        Values ``[x0, x1]`` are spread over ``width`` pixels. The root's depth is 0, and it is never merged. ``held`` is
        that of :func:`calltree.find`, and sets the flags of boxes; ``before`` and ``after`` are the two sides of a
        comparison, by node. Returns rows of :data:`BOX_FORMAT`, and for a comparison the two sides of each box as rows
        of :data:`SIDES_FORMAT`; or None for more than ``most`` boxes. Raises MemoryError.
        """
        cdef Vector now, below
        cdef size_t depth = 0, index
        cdef Open *open
        cdef bint failed = False, full = False
        self.x0 = x0
        self.x1 = x1
        self.width = width
        self.scale = width / (x1 - x0)
        self.thinnest = thinnest
        self.held = held
        self.before = before
        self.after = after
        self.boxes.count = self.sides.count = 0
        vector_init(&now, sizeof(Open))
        vector_init(&below, sizeof(Open))
        with nogil:
            open = <Open *> room_for_one(&now)
            failed = open == NULL
            if not failed:
                open.node = 0
                open.left = 0
            if first_depth == 0 and rows and not failed:
                failed = self.add_node(0, 0xFFFFFFFF, 0, self.widths[0], 0) < 0
            while now.count and depth + 1 < first_depth + rows and not failed and not full:
                depth += 1
                below.count = 0
                for index in range(now.count):
                    if self.lay_out_children(&(<Open *> now.data)[index], depth - first_depth, depth >= first_depth,
                                             &below) < 0:
                        failed = True
                        break
                    if self.boxes.count > most:
                        full = True
                        break
                now, below = below, now
        vector_free(&now)
        vector_free(&below)
        self.held = None
        self.before = self.after = None
        if failed:
            raise MemoryError
        return None if full else (column_of(&self.boxes, BOX_FORMAT), column_of(&self.sides, SIDES_FORMAT))

    def children_of(self, uint32_t node) -> Buffer:
        """Return the children of a node in order (``uint32``). Raises IndexError."""
        cdef Vector result
        cdef size_t index
        cdef bint failed
        if node >= <size_t> self.parents.shape[0]:
            raise IndexError(node)
        vector_init(&result, 4)
        with nogil:
            self.scale = self.thinnest = 0
            failed = self.gather(node, 0) < 0 or vector_reserve(&result, self.children.count) < 0
            if not failed:
                for index in range(self.children.count):
                    vector_push_u32(&result, (<Child *> self.children.data)[index].node)
        if failed:
            vector_free(&result)
            raise MemoryError
        return column_of(&result, b"I")

    def place(self, uint32_t node) -> tuple[int, int]:
        """Return the left edge of a node on the axis of values, and its depth (0 for the root). Raises IndexError."""
        cdef int64_t left = 0, key
        cdef uint32_t depth = 0, at, parent
        if node >= <size_t> self.parents.shape[0]:
            raise IndexError(node)
        with nogil:
            while node:
                parent = self.parents[node]
                key = self.key(node)
                at = self.child[parent]
                while at:
                    if self.widths[at] > 0 and (self.key(at) < key or (
                            self.key(at) == key and self.names[at] < self.names[node])):
                        left += self.widths[at]
                    at = self.sibling[at]
                node = parent
                depth += 1
        return left, depth
