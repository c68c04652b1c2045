# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How much of what was reserved lay in segments without any block, at every moment of a run.

One sweep over moments; at each, segments come and go, and blocks begin and end in them. A segment whose last block
ends is wholly free until its next block begins.
"""

from libc.stdint cimport uint32_t, int64_t
from libc.stdlib cimport calloc, free, malloc

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF


cdef struct Chains:
    # rows in chains, a chain a moment: what begins or ends there
    uint32_t *head
    uint32_t *next


cdef int chains_init(Chains *chains, const uint32_t[:] moments, size_t count) noexcept nogil:
    """Rows by moment; those at or beyond ``count`` moments are in no chain. -1 without memory."""
    cdef size_t row
    chains.head = <uint32_t *> malloc((count + 1) * 4)
    chains.next = <uint32_t *> malloc((moments.shape[0] + 1) * 4)
    if chains.head == NULL or chains.next == NULL:
        return -1
    for row in range(count):
        chains.head[row] = NONE
    for row in range(<size_t> moments.shape[0]):
        if moments[row] < count:
            chains.next[row] = chains.head[moments[row]]
            chains.head[moments[row]] = <uint32_t> row
    return 0


cdef void chains_free(Chains *chains) noexcept nogil:
    free(chains.head)
    free(chains.next)


def wholly_free(const uint32_t[:] starts, const uint32_t[:] ends, const uint32_t[:] segments,
                const uint32_t[:] segment_starts, const uint32_t[:] segment_ends, const int64_t[:] segment_sizes,
                int64_t[::1] bytes_free):
    """Fill ``bytes_free[moment]`` with the bytes of all segments that have no block at that moment.

    ``segments`` is each block's segment, a row of the ``segment_*`` columns; any other number is a block that lies in
    none of them. Blocks and segments live from their start to before their end; moments beyond ``bytes_free`` are
    not looked at.
    """
    cdef size_t moments = bytes_free.shape[0], count = segment_starts.shape[0]
    cdef size_t moment
    cdef uint32_t row, segment
    cdef int64_t now = 0
    cdef uint32_t *blocks = <uint32_t *> calloc(count + 1, 4)
    cdef unsigned char *there = <unsigned char *> calloc(count + 1, 1)
    cdef Chains begins, stops, comes, goes
    cdef bint failed
    with nogil:
        # all four, so that all four can be freed
        failed = chains_init(&begins, starts, moments) < 0
        failed |= chains_init(&stops, ends, moments) < 0
        failed |= chains_init(&comes, segment_starts, moments) < 0
        failed |= chains_init(&goes, segment_ends, moments) < 0
        failed |= blocks == NULL or there == NULL
        if not failed:
            for moment in range(moments):
                row = goes.head[moment]
                while row != NONE:
                    if segment_starts[row] < segment_ends[row]:
                        there[row] = 0
                        if blocks[row] == 0:
                            now -= segment_sizes[row]
                    row = goes.next[row]
                row = comes.head[moment]
                while row != NONE:
                    if segment_starts[row] < segment_ends[row]:
                        there[row] = 1
                        if blocks[row] == 0:
                            now += segment_sizes[row]
                    row = comes.next[row]
                row = stops.head[moment]
                while row != NONE:
                    segment = segments[row]
                    if segment < count and starts[row] < ends[row]:
                        blocks[segment] -= 1
                        if blocks[segment] == 0 and there[segment]:
                            now += segment_sizes[segment]
                    row = stops.next[row]
                row = begins.head[moment]
                while row != NONE:
                    segment = segments[row]
                    if segment < count and starts[row] < ends[row]:
                        if blocks[segment] == 0 and there[segment]:
                            now -= segment_sizes[segment]
                        blocks[segment] += 1
                    row = begins.next[row]
                bytes_free[moment] = now
        chains_free(&begins)
        chains_free(&stops)
        chains_free(&comes)
        chains_free(&goes)
        free(blocks)
        free(there)
    if failed:
        raise MemoryError
