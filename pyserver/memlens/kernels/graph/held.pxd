# What is still held where some references are left out or cut (see the .pyx); columns as in ``columns.pxd``.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from memlens.kernels.base.vectors cimport Vector
from memlens.kernels.base.work cimport Work
from memlens.kernels.graph.columns cimport Graph
from memlens.kernels.graph.left_out cimport LeftOut

cdef enum:
    # states of objects
    IS_SOURCE = 1       # of references that are cut besides
    IS_TARGET = 2
    WAITS = 4           # listed as one that may be lost
    STAYS = 8           # is as near to a root as before
    LOST = 16           # isn't
    IS_BACK = 32        # but is held in another way
    IS_GONE = 64        # known to be lost before anything is looked for
    TOO_MANY = -4       # a status: more than the most references were looked at

cdef struct Held:
    Graph down              # references by source
    Graph up                # and by target
    const uint64_t *shallow
    const uint64_t *native      # memory outside of the heap that each object owns; NULL where none is known
    const uint32_t *distance
    uint8_t *state
    size_t objects
    size_t looked
    size_t most
    int begun           # per cent of the work that are done before, and when it is known what is lost
    int known

cdef struct Found:
    size_t objects
    uint64_t heap       # their bytes
    uint64_t native     # and those that they own outside of the heap

cdef int let_go(
    Held *held, LeftOut left_out, Vector *seeds, uint32_t *distance, Found *found, Work work
) noexcept nogil
