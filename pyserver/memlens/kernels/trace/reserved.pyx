# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The bytes of reserved segments without any block, at every moment of a run.

One sweep over the moments, at each of which segments are released and reserved, and blocks end and begin in them. A
segment whose last block ends is wholly free until its next block begins.
"""

from libc.stdint cimport uint32_t, int64_t
from libc.stdlib cimport calloc, free, malloc

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF


cdef struct Chains:
    # a linked list for each moment of the rows that begin or end there
    uint32_t *head
    uint32_t *next


cdef int chains_init(Chains *chains, const uint32_t[:] moments, size_t count) noexcept nogil:
    """Group rows by moment, without those from the moment ``count`` on. -1 if out of memory."""
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

    ``segments`` has the segment of each block, a row of the ``segment_*`` columns; any other number means that the
    block is in none of them. Blocks and segments last from their start up to, but not including, their end; moments
    beyond ``bytes_free`` are ignored. Raises MemoryError.
    """
    cdef size_t moments = bytes_free.shape[0], count = segment_starts.shape[0]
    cdef size_t moment
    cdef uint32_t row, segment
    cdef int64_t now = 0
    cdef uint32_t *blocks = <uint32_t *> calloc(count + 1, 4)
    cdef unsigned char *is_reserved = <unsigned char *> calloc(count + 1, 1)
    cdef Chains begins, stops, reserved, released
    cdef bint failed
    with nogil:
        # initialise all four, even after a failure, so that all four can be freed
        failed = chains_init(&begins, starts, moments) < 0
        failed |= chains_init(&stops, ends, moments) < 0
        failed |= chains_init(&reserved, segment_starts, moments) < 0
        failed |= chains_init(&released, segment_ends, moments) < 0
        failed |= blocks == NULL or is_reserved == NULL
        if not failed:
            for moment in range(moments):
                row = released.head[moment]
                while row != NONE:
                    if segment_starts[row] < segment_ends[row]:
                        is_reserved[row] = 0
                        if blocks[row] == 0:
                            now -= segment_sizes[row]
                    row = released.next[row]
                row = reserved.head[moment]
                while row != NONE:
                    if segment_starts[row] < segment_ends[row]:
                        is_reserved[row] = 1
                        if blocks[row] == 0:
                            now += segment_sizes[row]
                    row = reserved.next[row]
                row = stops.head[moment]
                while row != NONE:
                    segment = segments[row]
                    if segment < count and starts[row] < ends[row]:
                        blocks[segment] -= 1
                        if blocks[segment] == 0 and is_reserved[segment]:
                            now += segment_sizes[segment]
                    row = stops.next[row]
                row = begins.head[moment]
                while row != NONE:
                    segment = segments[row]
                    if segment < count and starts[row] < ends[row]:
                        if blocks[segment] == 0 and is_reserved[segment]:
                            now -= segment_sizes[segment]
                        blocks[segment] += 1
                    row = begins.next[row]
                bytes_free[moment] = now
        chains_free(&begins)
        chains_free(&stops)
        chains_free(&reserved)
        chains_free(&released)
        free(blocks)
        free(is_reserved)
    if failed:
        raise MemoryError
