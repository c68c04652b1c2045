# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts that each follow their length, 8 bytes in little-endian: the strings of Julia's streamed heap snapshots."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy


def count_texts(const uint8_t[::1] data) -> tuple[int, int, int]:
    """Return how many texts there are, their bytes, and where a text is cut off: -1 if none is."""
    cdef size_t at = 0, end = data.shape[0]
    cdef uint64_t count = 0, bytes_ = 0, length
    with nogil:
        while end - at >= 8:
            memcpy(&length, &data[at], 8)
            if length > end - at - 8:
                break
            at += 8 + <size_t> length
            bytes_ += length
            count += 1
    return count, bytes_, -1 if at == end else <long long> at


def copy_texts(const uint8_t[::1] data, uint8_t[::1] utf8, uint64_t[::1] end):
    """Copy so many texts as ``end`` has items after its first, and note where each ends. Raises ValueError."""
    cdef size_t at = 0, done = 0, all_ = data.shape[0], room = utf8.shape[0]
    cdef Py_ssize_t each, count = end.shape[0]
    cdef uint64_t length
    cdef bint fits = count > 0
    if fits:
        end[0] = 0
    with nogil:
        for each in range(1, count):
            if all_ - at < 8:
                fits = False
                break
            memcpy(&length, &data[at], 8)
            if length > all_ - at - 8 or length > room - done:
                fits = False
                break
            if length:
                memcpy(&utf8[done], &data[at + 8], length)
            at += 8 + <size_t> length
            done += <size_t> length
            end[each] = done
    if not fits:
        raise ValueError("the texts don't fit")
