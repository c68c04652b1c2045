# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads stacks out of an archive's prefix tree.

The numbers of the tree come from a file: a parent that doesn't precede its node, or a number that is out of range,
ends the walk with an error and is never followed.
"""

from libc.stdint cimport uint32_t, uint64_t


def measure(const uint32_t[::1] parents, const uint32_t[::1] nodes, uint64_t[::1] starts) -> bool:
    """Fill ``starts`` with the offset of each node's stack when stacks are laid end to end, and the end of the last.

    Return False if the tree is damaged.
    """
    cdef size_t index, count = nodes.shape[0], known = parents.shape[0]
    cdef uint64_t place = 0
    cdef uint32_t node
    cdef bint whole = True
    if <size_t> starts.shape[0] != count + 1:
        raise ValueError("starts must be one longer than nodes")
    with nogil:
        for index in range(count):
            starts[index] = place
            node = nodes[index]
            while node:
                if node >= known or parents[node] >= node:
                    whole = False
                    break
                place += 1
                node = parents[node]
            if not whole:
                break
        starts[count] = place
    return whole


def unroll(const uint32_t[::1] parents, const uint32_t[::1] frames, const uint32_t[::1] nodes,
           const uint64_t[::1] starts, uint32_t[::1] sequence):
    """Write the stacks of ``nodes``, innermost frame first, into ``sequence``, at the offsets of :func:`measure`.

    Frames that wouldn't fit are left out, so that nothing is written out of bounds, whatever the columns contain.
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
