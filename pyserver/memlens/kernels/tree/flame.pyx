# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The boxes of a flame graph that can be seen in one viewport, row by row and from left to right.

A node covers ``[left, left + inclusive)`` on the axis of values. Its edges in pixels are those two numbers rounded,
and its children stand side by side within it; so two neighbours share an edge, and the widths of children (with what
the parent has of its own) sum to the parent's at any zoom, without a gap or an overlap.
"""

from libc.math cimport floor
from libc.stdint cimport uint8_t, uint16_t, uint32_t, int64_t

from memlens.kernels.base.vectors cimport Vector, vector_init, vector_push, vector_free, column_of

BOX_FORMAT = b"T{d:left:d:value:I:node:I:name:H:x0:H:x1:H:row:B:flags:B:unused:}"

MORE, MATCHES, HOLDS_MATCH = 1, 2, 4
"""Flags of a box: it stands for several nodes; its name is looked for; so is one below it (or in it)."""

cdef enum:
    F_MORE = 1
    F_MATCHES = 2
    F_HOLDS_MATCH = 4


cdef struct Box:
    double left             # where it begins on the axis of values
    double value            # inclusive
    uint32_t node           # of several: their parent
    uint32_t name           # of several: how many
    uint16_t x0
    uint16_t x1
    uint16_t row
    uint8_t flags
    uint8_t unused


cdef struct Run:
    # neighbours that are too thin for a box of their own
    int64_t left
    int64_t right
    size_t first            # its number; they stand together
    size_t count


cdef class Layout:
    """One viewport of one tree. Values ``[x0, x1]`` are spread over ``width`` pixels."""

    cdef const uint32_t[::1] offsets
    cdef const int64_t[::1] left
    cdef const int64_t[::1] inclusive
    cdef const uint32_t[::1] names
    cdef const uint8_t[::1] held
    cdef const int64_t[::1] held_before
    cdef bint largest_first
    cdef double x0, x1, scale, thinnest, width
    cdef Vector boxes

    def __init__(self, const uint32_t[::1] offsets, const int64_t[::1] left, const int64_t[::1] inclusive,
                 const uint32_t[::1] names, const uint8_t[::1] held, const int64_t[::1] held_before,
                 bint largest_first):
        """Of a tree as :func:`calltree.arrange` numbers it. ``held`` is :func:`calltree.find`'s, and
        ``held_before[n]`` counts the nodes before ``n`` that it marks.
        """
        self.offsets = offsets
        self.left = left
        self.inclusive = inclusive
        self.names = names
        self.held = held
        self.held_before = held_before
        self.largest_first = largest_first

    cdef inline uint32_t pixel(self, int64_t value) noexcept nogil:
        cdef double at = floor((value - self.x0) * self.scale + 0.5)
        if at <= 0:
            return 0
        return <uint32_t> (self.width if at >= self.width else at)

    cdef inline bint too_thin(self, uint32_t node) noexcept nogil:
        cdef int64_t left = self.left[node], right = left + self.inclusive[node]
        # where the view's edge cuts a box off, it is as thin as what can be seen of it
        return (right - left) * self.scale < self.thinnest or (
            self.pixel(right) <= self.pixel(left) and <double> right > self.x0 and <double> left < self.x1
        )

    cdef int add(self, uint32_t node, uint32_t name, int64_t left, int64_t right, size_t row,
                 uint8_t flags) noexcept nogil:
        """1 when the box is to be seen, 0 when it is too thin, -1 without memory."""
        cdef Box box
        box.x0 = <uint16_t> self.pixel(left)
        box.x1 = <uint16_t> self.pixel(right)
        if box.x1 <= box.x0:
            return 0
        box.left = <double> left
        box.value = <double> (right - left)
        box.node = node
        box.name = name
        box.row = <uint16_t> row
        box.flags = flags
        box.unused = 0
        return -1 if vector_push(&self.boxes, &box) < 0 else 1

    cdef int flush(self, uint32_t parent, Run *run, size_t row, bint seen) noexcept nogil:
        cdef int status = 0
        cdef uint8_t flags = F_MORE
        if run.count and seen:
            if self.held_before[run.first + run.count] > self.held_before[run.first]:
                flags |= F_HOLDS_MATCH
            status = self.add(parent, <uint32_t> run.count, run.left, run.right, row, flags)
        run.count = 0
        return status

    cdef int children(self, uint32_t node, size_t row, bint seen, Vector *below) noexcept nogil:
        """The boxes of a node's children; those that are wide enough to have children to be seen go to ``below``."""
        cdef size_t first = <size_t> self.offsets[node] + 1, last = <size_t> self.offsets[node + 1] + 1
        cdef size_t low = first, high = last, middle, thin = last, index
        cdef int64_t left, right
        cdef uint32_t child
        cdef int status
        cdef uint8_t flags
        cdef Run run
        run.count = 0
        # the first child that reaches into the view
        while low < high:
            middle = (low + high) // 2
            child = <uint32_t> middle
            if <double> (self.left[child] + self.inclusive[child]) > self.x0:
                high = middle
            else:
                low = middle + 1
        index = low
        if self.largest_first:
            # from some child on all are too thin: one run, found without a look at each
            low = first
            high = last
            while low < high:
                middle = (low + high) // 2
                if self.inclusive[middle] * self.scale < self.thinnest:
                    high = middle
                else:
                    low = middle + 1
            thin = low
            if index > thin:
                index = thin
        else:
            # a run that the view's edge cuts is told whole
            while index > first and self.too_thin(<uint32_t> (index - 1)):
                index -= 1
        while index < last:
            child = <uint32_t> index
            left = self.left[child]
            right = left + self.inclusive[child]
            if <double> left >= self.x1 and (run.count == 0 or not self.too_thin(child)):
                break
            if self.largest_first and index >= thin:
                run.first = index if run.count == 0 else run.first
                run.left = left if run.count == 0 else run.left
                run.count += last - index
                child = <uint32_t> (last - 1)
                run.right = self.left[child] + self.inclusive[child]
                break
            if self.too_thin(child):
                if run.count == 0:
                    run.first = index
                    run.left = left
                run.count += 1
                run.right = right
                index += 1
                continue
            if self.flush(node, &run, row, seen) < 0:
                return -1
            if seen:
                flags = (F_MATCHES if self.held[child] & 1 else 0) | (F_HOLDS_MATCH if self.held[child] & 2 else 0)
                status = self.add(child, self.names[child], left, right, row, flags)
                if status < 0:
                    return -1
            if vector_push(below, &child) < 0:
                return -1
            index += 1
        return self.flush(node, &run, row, seen)

    def run(self, double x0, double x1, uint32_t width, double thinnest, size_t first_depth, size_t rows,
            size_t most):
        """The boxes at least ``thinnest`` pixels wide at depths from ``first_depth``, as rows of :data:`BOX_FORMAT`.

        The root's depth is 0, and it is never merged. None when there are more than ``most`` boxes.
        """
        cdef Vector now, below
        cdef size_t depth = 0, index
        cdef uint32_t node, root = 0
        cdef bint failed = False, full = False
        self.x0 = x0
        self.x1 = x1
        self.width = width
        self.scale = width / (x1 - x0)
        self.thinnest = thinnest
        vector_init(&self.boxes, sizeof(Box))
        vector_init(&now, 4)
        vector_init(&below, 4)
        with nogil:
            failed = vector_push(&now, &root) < 0
            if first_depth == 0 and rows and not failed:
                failed = self.add(0, 0xFFFFFFFF, 0, self.inclusive[0], 0, F_HOLDS_MATCH if self.held[0] else 0) < 0
            while now.count and depth + 1 < first_depth + rows and not failed and not full:
                depth += 1
                below.count = 0
                for index in range(now.count):
                    node = (<uint32_t *> now.data)[index]
                    if self.children(node, depth - first_depth, depth >= first_depth, &below) < 0:
                        failed = True
                        break
                    if self.boxes.count > most:
                        full = True
                        break
                now, below = below, now
        vector_free(&now)
        vector_free(&below)
        if failed or full:
            vector_free(&self.boxes)
            if failed:
                raise MemoryError
            return None
        return column_of(&self.boxes, BOX_FORMAT)
