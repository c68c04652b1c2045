# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Searches many texts, which are stored one after the other in UTF-8, for one of them or for a substring."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp

cdef enum:
    CONTAINS = 1
    OTHER = 2           # a text that isn't ASCII


cdef inline uint8_t lower(uint8_t byte) noexcept nogil:
    return byte | 0x20 if 65 <= byte <= 90 else byte


def texts_with(
    const uint8_t[::1] utf8, const uint64_t[::1] ends, const uint8_t[::1] part: bytes, uint8_t[::1] marks,
) -> bool:
    """Mark the ASCII texts that contain ``part``, ignoring case, with 1, and all texts that aren't ASCII with 2.

    Text ``i`` is ``utf8[ends[i - 1]:ends[i]]``; ``part`` is lower-case ASCII and not empty. Return False if a text ends
    before it begins, or beyond ``utf8``.
    """
    cdef size_t count = ends.shape[0], size = utf8.shape[0], length = part.shape[0], text, at, last, place
    cdef uint64_t begin = 0, end
    cdef uint8_t every, first
    cdef const uint8_t *data = &utf8[0] if size else NULL
    cdef uint8_t[256] lowered
    cdef bint is_whole = True
    if marks.shape[0] != ends.shape[0] or length == 0:
        raise ValueError("a mark for each text, and a part that isn't empty")
    for place in range(256):
        lowered[place] = lower(<uint8_t> place)
    first = part[0]
    with nogil:
        for text in range(count):
            end = ends[text]
            if end < begin or end > size:
                is_whole = False
                break
            every = 0
            for at in range(begin, end):
                every |= data[at]
            marks[text] = 0
            if every & 0x80:
                marks[text] = OTHER
            elif end - begin >= length:
                last = end - length
                at = begin
                while at <= last:
                    if lowered[data[at]] == first:
                        place = 1
                        while place < length and lowered[data[at + place]] == part[place]:
                            place += 1
                        if place == length:
                            marks[text] = CONTAINS
                            break
                    at += 1
            begin = end
    return is_whole


def mark_equal(const uint8_t[::1] utf8, const uint64_t[::1] ends, const uint8_t[::1] wanted: bytes, uint8_t[::1] marks):
    """Mark the texts that are ``wanted`` with 1; the other marks stay. Text 0 begins at 0, and all are in ``utf8``."""
    cdef size_t count = min(ends.shape[0], marks.shape[0]), length = wanted.shape[0], text
    cdef uint64_t begin = 0
    with nogil:
        for text in range(count):
            if ends[text] - begin == length and (length == 0 or memcmp(&utf8[begin], &wanted[0], length) == 0):
                marks[text] = 1
            begin = ends[text]
