# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes the objects of PyHeap's dumps of Python anew without their texts."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from memlens.kernels.base.ascending cimport is_among
from memlens.kernels.readers.numbers cimport u32_at, u64_at
from memlens.kernels.readers.scan cimport Scan


cdef class PyHeap(Scan):
    """Writes the objects of a ``.pyheap`` from the byte ``start`` on, without their texts.

    ``count`` is how many there are, ``containers`` and ``common`` are as for the reader. After writing ``offset`` is
    where the objects end, and ``is_cut`` whether the file breaks off before.
    """

    cdef uint64_t count, done
    cdef const uint64_t[::1] containers, common
    cdef uint64_t dict_type
    cdef bint has_texts
    cdef readonly bint is_cut
    cdef readonly uint64_t needed

    def __init__(
        self, const uint8_t[::1] data, size_t start, uint64_t count, const uint64_t[::1] containers,
        const uint64_t[::1] common, bint has_texts,
    ):
        if start > self.length or not containers.shape[0]:
            raise ValueError("no objects")
        self.position = start
        # an unfinished file has 0 in place of the number
        self.count = count if count else <uint64_t> -1
        self.containers = containers
        self.dict_type = containers[0]
        self.common = common
        self.has_texts = has_texts

    def fill(self, uint8_t[::1] out) -> int:
        """Write the objects that come next, and return how many bytes that is; 0 at the end, or if ``needed`` isn't 0.
        """
        cdef size_t done = 0
        self.needed = 0
        with nogil:
            self.write_objects(&out[0], out.shape[0], &done)
        return done

    cdef void write_objects(self, uint8_t *out, size_t room, size_t *written) noexcept nogil:
        cdef size_t bytes, text
        while self.done < self.count and not self.is_cut:
            bytes = self.object_bytes(&text)
            if bytes == 0:
                self.is_cut = True
                return
            if room - written[0] < bytes:
                self.needed = 0 if written[0] else bytes
                return
            memcpy(out + written[0], self.data + self.position, bytes)
            written[0] += bytes
            self.position += bytes + text
            self.done += 1

    cdef bint is_container(self, uint64_t type) noexcept nogil:
        cdef Py_ssize_t each
        for each in range(self.containers.shape[0]):
            if self.containers[each] == type:
                return True
        return False

    cdef size_t object_bytes(self, size_t *text) noexcept nogil:
        """Return the bytes of the next object without its text, which takes ``text``; 0 if the file ends before."""
        cdef const uint8_t *data = self.data
        cdef size_t at = self.position, whole = self.length, each, _each, count, groups
        cdef uint64_t type
        cdef bint is_container
        text[0] = 0
        if whole - at < 20:
            return 0
        type = u64_at(data + at + 8)
        is_container = self.is_container(type)
        at += 20
        groups = 2 if is_container else 1
        for each in range(groups):
            # the contents of a container, of a dict in pairs, and what an object refers to
            if whole - at < 4:
                return 0
            count = u32_at(data + at)
            if each == 0 and is_container and type == self.dict_type:
                count *= 2
            at += 4
            if (whole - at) // 8 < count:
                return 0
            at += 8 * count
        if not is_among(&self.common[0], self.common.shape[0], type):
            if whole - at < 4:
                return 0
            count = u32_at(data + at)
            at += 4
            for _each in range(count):
                if whole - at < 2:
                    return 0
                # a negative number stands for a name that the file has elsewhere
                at += 2 + (0 if data[at] & 0x80 else <size_t> data[at] << 8 | data[at + 1])
                if at > whole or whole - at < 8:
                    return 0
                at += 8
        if self.has_texts and not is_container:
            if whole - at < 2:
                return 0
            text[0] = 2 + (<size_t> data[at] << 8 | data[at + 1])
            if whole - at < text[0]:
                return 0
        return at - self.position
