# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads stacks out of an archive's prefix tree.

The numbers of the tree come from a file: a parent that doesn't precede its node, or a number that is out of range,
ends the walk with an error and is never followed.
"""

from libc.stdint cimport uint32_t, uint64_t


def depths(const uint32_t[::1] parents, uint32_t[::1] depth) -> bool:
    """Fill ``depth`` with the number of frames from the root to each node; return False if the tree is damaged."""
    cdef size_t node, count = parents.shape[0]
    cdef bint whole = True
    if <size_t> depth.shape[0] != count:
        raise ValueError("columns of different lengths")
    if not count:
        return True
    with nogil:
        depth[0] = 0
        for node in range(1, count):
            if parents[node] >= node:
                whole = False
                break
            depth[node] = depth[parents[node]] + 1
    return whole


def unroll(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint32_t[::1] nodes,
           const uint64_t[::1] starts, uint32_t[::1] sequence):
    """Write the stacks of ``nodes``, innermost frame first, into ``sequence``, at the offsets ``starts``.

    Each stack has as many of its frames as fit before the next; nothing is written out of bounds, whatever the columns
    contain.
    """
    cdef size_t index, count = nodes.shape[0], known = parents.shape[0]
    cdef uint64_t place, end
    cdef uint32_t node
    if <size_t> starts.shape[0] != count + 1 or <size_t> frames.shape[0] != known:
        raise ValueError("columns of different lengths")
    with nogil:
        for index in range(count):
            place, end, node = starts[index], starts[index + 1], nodes[index]
            if end > <uint64_t> sequence.shape[0]:
                break
            while place < end and node < known:
                sequence[place] = frames[node]
                place += 1
                node = parents[node]
