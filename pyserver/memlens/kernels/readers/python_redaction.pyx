# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes heap dumps of Python anew without the text of strings and numbers: Memlens' own, and PyHeap's objects.

Attributes of instances whose ``__dict__`` is a dictionary are named by its keys, which are strings: these stay.
"""

import os

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset, strlen

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal,
)
from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.numbers cimport le32_at, le64_at, u32_at, u64_at
from memlens.kernels.readers.scan cimport Scan

OK, MORE, NO_MEMORY = range(3)

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY

cdef enum:
    # stages
    S_NAMES         # texts that are names, and dictionaries of attributes
    S_KEYS          # the keys of these
    S_TEXTS         # the texts of these
    S_WRITE

WRITE = S_WRITE

cdef enum:
    # flags of a text
    IS_NAME = 1
    IS_DICTIONARY = 2       # "__dict__"
    IS_BUILTINS = 4         # "builtins"
    IS_VALUE_TYPE = 8       # the name of a type whose objects have a content as their text

cdef enum:
    CONTENTS = 2            # how many of the following are of text
    MOST_TEXT = 1 << 20

cdef const char **VALUE_TYPES = ["str", "bytes", "int", "float", "complex"]


cdef inline bint is_equal(const uint8_t *text, size_t length, const char *other) noexcept nogil:
    return strlen(other) == length and memcmp(text, other, length) == 0


cdef class Dump(Scan):
    """Looks through the records from the byte ``start`` on, in stages, then writes them, but not the end record.

    With ``keeps_numbers`` the texts of numbers stay. After the first stage ``end`` is where the records end, and
    ``is_whole`` whether an end record is there.
    """

    cdef readonly int stage
    cdef readonly size_t end
    cdef readonly bint is_whole
    cdef readonly uint64_t needed
    cdef int value_types
    cdef uint32_t text
    cdef size_t start
    cdef bint has_attributes    # whether the last object is a dictionary of attributes
    cdef Vector flags, types, dictionaries, keys
    cdef AddressMap by_dictionary, by_key

    def __init__(self, const uint8_t[::1] data, size_t start, bint keeps_numbers):
        if start > self.length:
            raise ValueError("no records")
        self.position = self.start = start
        self.end = self.length
        self.value_types = CONTENTS if keeps_numbers else 5
        self.own(&self.flags, 1)
        self.own(&self.types, 8)
        self.own(&self.dictionaries, 8)
        self.own(&self.keys, 8)
        address_map_init(&self.by_dictionary)
        address_map_init(&self.by_key)
        if self.add_text(b"", 0) < 0:
            raise MemoryError

    def __dealloc__(self):
        address_map_free(&self.by_dictionary)
        address_map_free(&self.by_key)

    @property
    def texts(self):
        """The number of texts in the file."""
        return self.flags.count - 1

    cdef int add_text(self, const uint8_t *text, size_t length) noexcept nogil:
        cdef uint8_t flags = 0
        cdef int each
        if is_equal(text, length, b"__dict__"):
            flags = IS_DICTIONARY
        elif is_equal(text, length, b"builtins"):
            flags = IS_BUILTINS
        for each in range(self.value_types):
            if is_equal(text, length, VALUE_TYPES[each]):
                flags = IS_VALUE_TYPE
        return vector_push(&self.flags, &flags)

    cdef inline uint8_t flags_of(self, uint32_t text) noexcept nogil:
        return self.flags.data[text] if text < self.flags.count else 0

    cdef inline void name(self, uint32_t text) noexcept nogil:
        if text < self.flags.count:
            self.flags.data[text] |= IS_NAME

    cdef bint is_value_type(self, uint64_t type) noexcept nogil:
        cdef size_t each
        for each in range(self.types.count):
            if (<uint64_t *> self.types.data)[each] == type:
                return True
        return False

    cdef size_t record_bytes(self, size_t at) noexcept nogil:
        """Return the bytes of the record at ``at``; 0 if there is none, or not all of it."""
        cdef size_t left = self.end - at, bytes = 0
        cdef uint8_t tag
        if left == 0:
            return 0
        tag = self.data[at]
        if tag == c"O":
            bytes = 37
        elif tag == c"F" or tag == c"L":
            bytes = 13
        elif tag == c"T":
            bytes = 17
        elif tag == c"A" or tag == c"G":
            bytes = 21
        elif tag == c"N" or tag == c"E":
            bytes = 9
        elif left < 5:
            return 0
        elif tag == c"S":
            bytes = 5 + <size_t> le32_at(self.data + at + 1)
            if bytes > MOST_TEXT + 5:
                return 0
        elif tag == c"K":
            bytes = 5 + 4 * <size_t> le32_at(self.data + at + 1)
        elif tag == c"n":
            bytes = 5 + 12 * <size_t> le32_at(self.data + at + 1)
        elif tag == c"r" or tag == c"e" or tag == c"i" or tag == c"d":
            bytes = 5 + 8 * <size_t> le32_at(self.data + at + 1)
        return bytes if bytes <= left else 0

    # looking through the file

    def run(self, size_t limit):
        """Continue a stage before the last. Returns OK at its end, MORE or NO_MEMORY."""
        cdef int status
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little")
        with nogil:
            status = self.run_to(limit)
            if status == E_OK:
                status = self.end_stage(seed)
        return status

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t bytes
        while self.position < self.end:
            if self.position >= limit:
                return E_MORE
            bytes = self.record_bytes(self.position)
            if bytes == 0 or self.data[self.position] == c"E":
                self.is_whole = bytes > 0
                self.end = self.position
                break
            if self.look_at(self.data + self.position) < 0:
                return E_NO_MEMORY
            self.position += bytes
        return E_OK

    cdef int end_stage(self, uint64_t seed) noexcept nogil:
        cdef int status = 0
        if self.stage == S_NAMES:
            status = address_map_build(
                &self.by_dictionary, <uint64_t *> self.dictionaries.data, self.dictionaries.count, seed)
        elif self.stage == S_KEYS:
            status = address_map_build(&self.by_key, <uint64_t *> self.keys.data, self.keys.count, seed)
        self.stage += 1
        self.position = self.start
        return E_NO_MEMORY if status < 0 else E_OK

    cdef int look_at(self, const uint8_t *record) noexcept nogil:
        if self.stage == S_NAMES:
            return self.note_names(record)
        if record[0] == c"O":
            if self.stage == S_TEXTS:
                if address_ordinal(&self.by_key, le64_at(record + 1)) >= 0:
                    self.name(le32_at(record + 25))
            else:
                self.has_attributes = address_ordinal(&self.by_dictionary, le64_at(record + 1)) >= 0
        elif record[0] == c"d" and self.stage == S_KEYS and self.has_attributes:
            return self.note_keys(record)
        return 0

    cdef int note_keys(self, const uint8_t *record) noexcept nogil:
        """Add the keys of a dictionary."""
        cdef uint32_t each, count = le32_at(record + 1)
        cdef uint64_t address
        for each in range(0, count, 2):
            address = le64_at(record + 5 + 8 * <size_t> each)
            if vector_push(&self.keys, &address) < 0:
                return -1
        return 0

    cdef int note_names(self, const uint8_t *record) noexcept nogil:
        cdef uint32_t each, count
        cdef uint64_t address
        cdef uint8_t tag = record[0]
        cdef const uint8_t *names
        if tag == c"S":
            return self.add_text(record + 5, le32_at(record + 1))
        if tag == c"O":
            if not self.is_value_type(le64_at(record + 9)):
                self.name(le32_at(record + 25))
        elif tag == c"T":
            self.name(le32_at(record + 9))
            self.name(le32_at(record + 13))
            if self.flags_of(le32_at(record + 9)) & IS_VALUE_TYPE and self.flags_of(le32_at(record + 13)) & IS_BUILTINS:
                address = le64_at(record + 1)
                return vector_push(&self.types, &address)
        elif tag == c"F" or tag == c"N":
            self.name(le32_at(record + 1))
            self.name(le32_at(record + 5))
        elif tag == c"A" or tag == c"L":
            self.name(le32_at(record + 9))
        elif tag == c"G":
            self.name(le32_at(record + 9))
            self.name(le32_at(record + 13))
        elif tag == c"n":
            count = le32_at(record + 1)
            names = record + 5 + 8 * <size_t> count
            for each in range(count):
                self.name(le32_at(names + 4 * <size_t> each))
                if self.flags_of(le32_at(names + 4 * <size_t> each)) & IS_DICTIONARY:
                    address = le64_at(record + 5 + 8 * <size_t> each)
                    if vector_push(&self.dictionaries, &address) < 0:
                        return -1
        return 0

    # writing

    def fill(self, uint8_t[::1] out) -> int:
        """Write the records that come next, and return how many bytes that is; 0 at the end, or if ``needed`` isn't 0.
        """
        cdef size_t done = 0
        if self.stage != S_WRITE:
            raise ValueError("the file has not been looked through")
        self.needed = 0
        with nogil:
            self.write_records(&out[0], out.shape[0], &done)
        return done

    cdef void write_records(self, uint8_t *out, size_t room, size_t *done) noexcept nogil:
        cdef const uint8_t *record
        cdef size_t bytes
        while self.position < self.end:
            record = self.data + self.position
            bytes = self.record_bytes(self.position)
            if room - done[0] < bytes:
                self.needed = 0 if done[0] else bytes
                return
            self.position += bytes
            if record[0] == c"S":
                self.text += 1
                if not self.flags_of(self.text) & IS_NAME:
                    # texts have numbers, so that an empty one takes its place
                    bytes = 5
            memcpy(out + done[0], record, bytes)
            if record[0] == c"S" and bytes == 5:
                memset(out + done[0] + 1, 0, 4)
            elif record[0] == c"O" and not self.flags_of(le32_at(record + 25)) & IS_NAME:
                memset(out + done[0] + 25, 0, 4)
            done[0] += bytes


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

    cdef bint is_among(self, const uint64_t[::1] types, uint64_t type) noexcept nogil:
        cdef Py_ssize_t each
        for each in range(types.shape[0]):
            if types[each] == type:
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
        is_container = self.is_among(self.containers, type)
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
        if not self.is_among(self.common, type):
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
