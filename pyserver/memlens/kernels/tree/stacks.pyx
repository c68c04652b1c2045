# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Stacks out of the prefix tree that an archive keeps them in.

The tree's numbers come from a file: a parent that is not before its node, or a number that is out of range, ends
the walk with an error and is never followed.
"""

from libc.stdint cimport uint32_t, uint64_t


def measure(const uint32_t[::1] parents, const uint32_t[::1] nodes, uint64_t[::1] starts) -> bool:
    """Fill ``starts`` (one more than ``nodes``) with where each node's stack begins when they are laid end to end.

    False when the tree is damaged.
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
    """Lay the stacks of ``nodes`` end to end into ``sequence``, innermost first, as :func:`measure` found their places.

    What would not fit is left out, so nothing is written where it doesn't belong whatever the columns hold.
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
