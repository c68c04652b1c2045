# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums by source line over a prefix tree of stacks, in which a line that recurs on a stack counts once.

Node 0 is the root; a parent's number is less than its child's, which ``LineFolder`` checks.
"""

from libc.stdint cimport uint8_t, uint32_t, int64_t
from libc.stdlib cimport calloc, malloc, free

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF


cdef class LineFolder:
    """A tree with the line of each node: ``lines[node]`` is below ``count``, or NEVER for a node without a line."""

    cdef const uint32_t[::1] parents
    cdef const uint32_t[::1] lines
    cdef uint32_t count
    cdef uint8_t *outermost     # no node above it has the same line
    cdef uint32_t *nearest      # the line of the node, or of the nearest node above it that has one

    def __cinit__(self, const uint32_t[::1] parents, const uint32_t[::1] lines, uint32_t count):
        cdef size_t nodes = parents.shape[0], node
        cdef bint fits = True
        if <size_t> lines.shape[0] != nodes:
            raise ValueError("columns of different lengths")
        for node in range(nodes):
            if (node and parents[node] >= node) or (lines[node] != NONE and lines[node] >= count):
                fits = False
                break
        if not fits:
            raise ValueError("a node stands below its child, or on a line that there isn't")
        self.parents = parents
        self.lines = lines
        self.count = count
        self.outermost = <uint8_t *> calloc(nodes + 1, 1)
        self.nearest = <uint32_t *> malloc((nodes + 1) * 4)
        if self.outermost == NULL or self.nearest == NULL:
            raise MemoryError
        self.prepare()

    def __dealloc__(self):
        free(self.outermost)
        free(self.nearest)

    cdef int prepare(self) except -1:
        """Walk the tree once, and keep track of the lines on the path to the current node."""
        cdef size_t nodes = self.parents.shape[0], index
        cdef uint32_t node = 0, line
        cdef uint32_t *child = <uint32_t *> calloc(nodes + 1, 4)
        cdef uint32_t *sibling = <uint32_t *> calloc(nodes + 1, 4)
        cdef uint32_t *open = <uint32_t *> calloc(<size_t> self.count + 1, 4)
        if child == NULL or sibling == NULL or open == NULL:
            free(child)
            free(sibling)
            free(open)
            raise MemoryError
        with nogil:
            for index in range(nodes):
                line = self.lines[index]
                self.nearest[index] = line if line != NONE or index == 0 else self.nearest[self.parents[index]]
            # the root, 0, has no parent
            index = nodes
            while index > 1:
                index -= 1
                sibling[index] = child[self.parents[index]]
                child[self.parents[index]] = <uint32_t> index
            while nodes:
                if child[node]:
                    index = child[node]
                    child[node] = sibling[index]
                    node = <uint32_t> index
                    line = self.lines[node]
                    if line != NONE:
                        self.outermost[node] = open[line] == 0
                        open[line] += 1
                elif node == 0:
                    break
                else:
                    line = self.lines[node]
                    if line != NONE:
                        open[line] -= 1
                    node = self.parents[node]
        free(child)
        free(sibling)
        free(open)
        return 0

    def fold(self, int64_t[::1] values, int64_t[::1] inclusive, int64_t[::1] own):
        """Add the self ``values`` of nodes to the sums of lines; ``values`` then become inclusive.

        ``own`` receives the values of nodes whose innermost frame with a line is on that line.
        """
        cdef size_t nodes = self.parents.shape[0], node
        if <size_t> values.shape[0] != nodes or inclusive.shape[0] < self.count or own.shape[0] < self.count:
            raise ValueError("columns of different lengths")
        with nogil:
            for node in range(nodes):
                if values[node] and self.nearest[node] != NONE:
                    own[self.nearest[node]] += values[node]
            node = nodes
            while node > 1:
                node -= 1
                values[self.parents[node]] += values[node]
            for node in range(nodes):
                if self.outermost[node]:
                    inclusive[self.lines[node]] += values[node]
