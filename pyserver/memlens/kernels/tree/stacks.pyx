# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads stacks out of an archive's prefix tree.

The numbers of the tree come from a file: a parent that doesn't precede its node, or a number that is out of range,
ends the walk with an error and is never followed.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t


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


def nearest(const uint32_t[::1] parents, const uint8_t[::1] allowed, const uint32_t[::1] keys, uint32_t[::1] first,
            uint32_t[::1] other) -> bool:
    """Fill in the nearest allowed node at or above each node, and the nearest above that whose key is another.

    0 stands for none; return False if the tree is damaged.
    """
    cdef size_t node, count = parents.shape[0]
    cdef uint32_t parent, above
    if not parents.shape[0] == allowed.shape[0] == keys.shape[0] == first.shape[0] == other.shape[0]:
        raise ValueError("columns of different lengths")
    if not count:
        return True
    first[0] = other[0] = 0
    with nogil:
        for node in range(1, count):
            parent = parents[node]
            if parent >= node:
                break
            above = first[parent]
            if not allowed[node]:
                first[node] = above
                other[node] = other[parent]
            else:
                first[node] = node
                other[node] = above if above and keys[above] != keys[node] else other[parent]
        else:
            node = count
    return node == count


def nearest_alike(const uint32_t[::1] parents, const uint32_t[::1] keys, const uint32_t[::1] nodes,
                  const uint32_t[::1] wanted, uint32_t[::1] found) -> bool:
    """Fill in the nearest node at or above each of ``nodes`` that has the wanted key, 0 where none has.

    The tree is walked once, with the innermost node of each key on the path to where the walk is. Return False if the
    tree is damaged, or a number is out of range.
    """
    cdef size_t count = parents.shape[0], asked = nodes.shape[0], node, query
    cdef uint32_t[::1] child, sibling, outer, innermost, query_of, next_query
    cdef uint32_t at = 0, number, most = 0
    if parents.shape[0] != keys.shape[0] or not nodes.shape[0] == wanted.shape[0] == found.shape[0]:
        raise ValueError("columns of different lengths")
    for node in range(count):
        if node and parents[node] >= node:
            return False
        most = max(most, keys[node])
    for query in range(asked):
        if nodes[query] >= count:
            return False
        most = max(most, wanted[query])
    if not count or most > count + asked:
        return not asked
    # 0 means none: no node is its own ancestor, and queries are numbered from 1
    child, sibling, outer, query_of = _zeros(count), _zeros(count), _zeros(count), _zeros(count)
    innermost, next_query = _zeros(most + 1), _zeros(asked + 1)
    with nogil:
        for node in range(count - 1, 0, -1):
            sibling[node] = child[parents[node]]
            child[parents[node]] = node
        for query in range(asked):
            next_query[query + 1] = query_of[nodes[query]]
            query_of[nodes[query]] = query + 1
        while True:
            outer[at] = innermost[keys[at]]
            if at:
                innermost[keys[at]] = at
            number = query_of[at]
            while number:
                found[number - 1] = innermost[wanted[number - 1]]
                number = next_query[number]
            if child[at]:
                at = child[at]
                continue
            while at and not sibling[at]:
                innermost[keys[at]] = outer[at]
                at = parents[at]
            if not at:
                break
            innermost[keys[at]] = outer[at]
            at = sibling[at]
    return True


cdef uint32_t[::1] _zeros(size_t count):
    return memoryview(bytearray(4 * count)).cast("I")
