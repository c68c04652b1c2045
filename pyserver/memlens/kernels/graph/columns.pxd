# Columns of a graph of objects, and what walks over them share.
#
# References are columns by source: those of object ``o`` are ``start[o]`` to ``start[o + 1]`` of ``target`` and
# ``kind``. Those of ``back`` are turned around: ``target`` has the sources of the references to each object.
# ``follows`` has an item for each number of a byte: whether references of that kind are followed. Columns of archives
# are checked by whoever maps them, except where a kernel says that it checks what it uses; so are numbers of objects
# that come from outside.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.work cimport STOPPED

cdef enum:
    OUT_OF_RANGE = -2   # a status beside -1, which is "without memory"
    AHEAD = 8           # objects and references that are fetched before their turn

cdef extern from *:
    """
    #define MEMLENS_NO_NUMBER 0xFFFFFFFFu
    """
    const uint32_t NO_NUMBER "MEMLENS_NO_NUMBER"    # of an object, and of a distance


cdef struct Graph:
    const uint64_t *start
    const uint32_t *target
    const uint8_t *kind
    const uint8_t *follows
    size_t objects
    uint64_t references


cdef class References:
    cdef Graph graph        # the same columns, for loops
    cdef const uint64_t[::1] _start
    cdef const uint32_t[::1] _target
    cdef const uint8_t[::1] _kind, _follows


cdef class Sizes:
    cdef const uint64_t *shallow
    cdef const uint64_t *native     # NULL where none is known
    cdef size_t objects
    cdef const uint64_t[::1] _shallow, _native


cdef inline void fetch(const Graph *graph, const uint32_t *queue, size_t first, size_t last) noexcept nogil:
    """Let the processor fetch the references of what a queue has next, each step by what the step before fetched."""
    if first + 3 * AHEAD < last:
        prefetch(&graph.start[queue[first + 3 * AHEAD]])
        prefetch(&graph.target[graph.start[queue[first + 2 * AHEAD]]])
        prefetch(&graph.kind[graph.start[queue[first + 2 * AHEAD]]])


cdef inline object fail(int status, object done=None):
    """What a kernel returns: None where it was stopped."""
    if status == STOPPED:
        return None
    if status == OUT_OF_RANGE:
        raise IndexError("a reference or a dominator is out of range")
    if status == -1:
        raise MemoryError
    return done
