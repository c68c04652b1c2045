# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds records: a tag, and as many bytes as it has, or as a count after it says, for the check of what
``memlens redact`` wrote.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from memlens.kernels.readers.numbers cimport le32_at

SKIPPED, WANTED, NOT_ZERO, COUNTED = range(4)
"""Records that aren't listed, those that are, those that are if the 4 bytes at a place in them aren't 0, and those of
one tag, which are if they aren't empty, and with their number."""

cdef enum:
    N_SKIPPED
    N_WANTED
    N_NOT_ZERO
    N_COUNTED


def find(
    const uint8_t[::1] data: Buffer, const int32_t[::1] widths, const uint8_t[::1] wanted, uint8_t last,
    uint64_t[::1] out, uint64_t counted, Py_ssize_t place,
) -> tuple[int, int, bool, int]:
    """Find records in a part of a file that begins with one.

    ``widths`` has the bytes of a record of each tag; below 0 those of each of as many items as the 4 bytes after the
    tag say; 0 for tags that there aren't. ``out`` gets, for each that is wanted, its tag, and where its bytes after tag
    and count begin and end, of those that are counted the number in place of the tag, from 256 on; it needs room for as
    many as there can be. ``counted`` is how many there were before, ``place`` where 4 bytes aren't 0. Returns how many
    are listed, where the first record begins that isn't complete, whether no record follows: after the ``last``, or
    where the tag isn't one, and how many were counted.
    """
    cdef Py_ssize_t length = data.shape[0], at = 0, start, end, found = 0
    cdef int32_t width
    cdef uint8_t tag
    if place < 0 or widths.shape[0] != 256 or wanted.shape[0] != 256:
        raise ValueError("there are 256 tags, and no places before a record")
    while at < length:
        tag = data[at]
        width = widths[tag]
        if width == 0:
            return found, at, True, counted
        start = at + 1
        if width < 0:
            if length - start < 4:
                break
            end = start + 4 + <Py_ssize_t> le32_at(&data[start]) * -<Py_ssize_t> width
            start += 4
        else:
            end = start + width
        if end > length:
            break
        if wanted[tag] == N_COUNTED:
            counted += 1
        if wanted[tag] == N_WANTED or (wanted[tag] == N_COUNTED and end > start) or (
                wanted[tag] == N_NOT_ZERO and width >= place + 4 and le32_at(&data[start + place])):
            if 3 * (found + 1) > out.shape[0]:
                raise ValueError("too little room")
            out[3 * found], out[3 * found + 1], out[3 * found + 2] = tag, start, end
            if wanted[tag] == N_COUNTED:
                out[3 * found] = 256 + counted
            found += 1
        at = end
        if tag == last:
            return found, at, True, counted
    return found, at, False, counted
