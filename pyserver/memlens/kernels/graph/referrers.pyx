# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""References turned around: from objects to those that refer to them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.graph.columns cimport AHEAD

cdef enum:
    FAR_AHEAD = 32


def referrers(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    uint64_t[::1] back_start,
    uint32_t[::1] back,
    uint8_t[::1] back_kind,
    Py_ssize_t at_once=0,
):
    """Turn references around: the sources of those to object ``o`` are at ``back_start[o]`` and on in ``back``.

    They ascend, and a source is repeated for each of its references to the object, in their order. ``back_kind`` gets
    their kinds, unless ``kind`` is empty.

    References lead anywhere, so each may write to another page. Where columns are files that are larger than memory,
    the system would write each page out again and again: ``at_once`` is how many objects are turned around together, in
    one pass over all references each; 0 for all of them.
    """
    cdef Py_ssize_t objects = start.shape[0] - 1, item
    cdef bint has_kinds = kind.shape[0] > 0
    cdef uint64_t at, to, total = 0, count = target.shape[0]
    cdef uint64_t *place = &back_start[0]
    cdef Turned turned
    if 0 < at_once < objects:
        turned.place, turned.back = place, &back[0] if back.shape[0] else NULL
        turned.back_kind = &back_kind[0] if has_kinds else NULL
        with nogil:
            for item from 0 <= item < objects by at_once:
                turned.first = <uint32_t> item
                turned.last = <uint32_t> min(item + at_once, objects)
                total = turn_some(start, target, kind, &turned, total)
            place[objects] = total
        return
    with nogil:
        memset(place, 0, (objects + 1) * 8)
        for at in range(count):
            if at + FAR_AHEAD < count:
                prefetch(&place[target[at + FAR_AHEAD]])
            place[target[at]] += 1
        for item in range(objects + 1):
            total += place[item]
            place[item] = total
        # from the last source to the first, so that ends become beginnings and sources ascend
        item = objects
        while item > 0:
            item -= 1
            at = start[item + 1]
            while at > start[item]:
                at -= 1
                if at >= FAR_AHEAD:
                    prefetch(&place[target[at - FAR_AHEAD]])
                    to = place[target[at - AHEAD]] - 1
                    prefetch(&back[to])
                    if has_kinds:
                        prefetch(&back_kind[to])
                place[target[at]] -= 1
                to = place[target[at]]
                back[to] = <uint32_t> item
                if has_kinds:
                    back_kind[to] = kind[at]


cdef struct Turned:
    uint64_t *place         # of objects: where references to each begin
    uint32_t *back
    uint8_t *back_kind      # NULL without kinds
    uint32_t first          # the objects that are turned around
    uint32_t last


cdef uint64_t turn_some(
    const uint64_t[::1] start, const uint32_t[::1] target, const uint8_t[::1] kind, const Turned *turned, uint64_t total
) noexcept nogil:
    """Turn references to some objects around, after ``total`` others; return the new total."""
    cdef uint32_t first = turned.first, width = turned.last - turned.first, to
    cdef uint64_t at, count = target.shape[0]
    cdef Py_ssize_t item
    memset(&turned.place[first], 0, <size_t> width * 8)
    for at in range(count):
        to = target[at] - first
        if to < width:
            turned.place[first + to] += 1
    for to in range(width):
        total += turned.place[first + to]
        turned.place[first + to] = total
    item = start.shape[0] - 1
    while item > 0:
        item -= 1
        at = start[item + 1]
        while at > start[item]:
            at -= 1
            to = target[at] - first
            if to < width:
                turned.place[first + to] -= 1
                turned.back[turned.place[first + to]] = <uint32_t> item
                if turned.back_kind != NULL:
                    turned.back_kind[turned.place[first + to]] = kind[at]
    return total
