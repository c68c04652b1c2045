# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes Memlens' own heap dumps of Python anew without the text of strings and numbers.

Attributes of instances whose ``__dict__`` is a dictionary are named by its keys, which are strings: these stay. What is
written is put together from what was decoded: an address at which the file has no object becomes one that none has, and
the number of a text, a frame or a stack that it doesn't have that of none.
"""

import os

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, strlen

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal,
)
from memlens.kernels.base.known_ids cimport KnownIds, is_known_id, know_id, known_ids_free, known_ids_init
from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.numbers cimport le32_at, le64_at
from memlens.kernels.readers.scan cimport Scan

OK, MORE, NO_MEMORY = range(3)

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY

cdef enum:
    # stages
    S_NAMES         # texts that are names, and dictionaries of attributes
    S_KEYS          # the keys of these, and which objects there are
    S_TEXTS         # the texts of these
    S_WRITE

WRITE = S_WRITE

cdef enum:
    # flags of a text
    IS_NAME = 1
    IS_DICTIONARY = 2       # "__dict__"
    IS_BUILTINS = 4         # "builtins"
    IS_VALUE_TYPE = 8       # the name of a type whose objects have a content as their text
    IS_NOTE = 16            # a key of a note
    IS_ROOT = 32            # a kind of roots
    IS_ODD = 64             # no name: it has control characters, or is too long

cdef enum:
    CONTENTS = 2            # how many of the following are of text
    MOST_TEXT = 1 << 20
    MOST_TYPES = 64         # of contents, each of which is there once
    MOST_NAME = 0xFFFF
    MOST_WORD = 18          # bytes of the longest text below
    NOTES = 10
    NOTES_OF_TIME = 3       # the first of them
    ROOTS = 6

cdef uint32_t NO_FRAME = 0xFFFFFFFF
cdef const char **NOTES_KEPT = [
    "python", "process_id", "seconds", "program", "allocations_traced", "collected", "peak_bytes", "unread",
    "unread_example", "removed",
]
cdef const char **ROOTS_KEPT = ["module", "builtins", "thread", "local", "exception", "unknown"]
cdef const char **VALUE_TYPES = ["str", "bytes", "int", "float", "complex"]


cdef inline bint is_equal(const uint8_t *text, size_t length, const char *other) noexcept nogil:
    return length and text[0] == <uint8_t> other[0] and strlen(other) == length and memcmp(text, other, length) == 0


cdef class Dump(Scan):
    """Looks through the records from the byte ``start`` on, in stages, then writes them, but not the end record.

    With ``keeps_numbers`` the texts of numbers stay, with ``keeps_time`` the notes about the process and Python.
    After the first stage ``end`` is where the records end, and ``is_whole`` whether an end record is there.
    """

    cdef readonly int stage
    cdef readonly size_t end
    cdef readonly bint is_whole
    cdef readonly uint64_t needed
    cdef int value_types
    cdef bint keeps_time
    cdef uint32_t text
    cdef size_t start
    cdef readonly uint64_t objects
    cdef uint64_t frames, stacks
    cdef KnownIds known
    cdef bint has_attributes    # whether the last object is a dictionary of attributes
    cdef Vector flags, types, dictionaries, keys
    cdef AddressMap by_dictionary, by_key

    def __init__(self, const uint8_t[::1] data, size_t start, bint keeps_numbers, bint keeps_time=False):
        self.keeps_time = keeps_time
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
        known_ids_free(&self.known)

    @property
    def texts(self):
        """The number of texts in the file."""
        return self.flags.count - 1

    cdef int add_text(self, const uint8_t *text, size_t length) noexcept nogil:
        cdef uint8_t flags = 0
        cdef int each
        if length > MOST_WORD:
            flags = 0 if is_name(text, length) else IS_ODD
            return vector_push(&self.flags, &flags)
        if is_equal(text, length, b"__dict__"):
            flags = IS_DICTIONARY
        elif is_equal(text, length, b"builtins"):
            flags = IS_BUILTINS
        for each in range(self.value_types):
            if is_equal(text, length, VALUE_TYPES[each]):
                flags = IS_VALUE_TYPE
        for each in range(0 if self.keeps_time else NOTES_OF_TIME, NOTES):
            if is_equal(text, length, NOTES_KEPT[each]):
                flags |= IS_NOTE
        for each in range(ROOTS):
            if is_equal(text, length, ROOTS_KEPT[each]):
                flags |= IS_ROOT
        if not is_name(text, length):
            flags |= IS_ODD
        return vector_push(&self.flags, &flags)

    cdef inline uint8_t flags_of(self, uint32_t text) noexcept nogil:
        return self.flags.data[text] if text < self.flags.count else 0

    cdef inline bint is_written(self, uint32_t text) noexcept nogil:
        return self.flags_of(text) & (IS_NAME | IS_ODD) == IS_NAME

    cdef inline void name(self, uint32_t text) noexcept nogil:
        if text < self.flags.count:
            self.flags.data[text] |= IS_NAME

    cdef bint is_value_type(self, uint64_t type) noexcept nogil:
        cdef size_t each
        if self.types.count > MOST_TYPES:
            # no program has so many, and what isn't known to be a name goes
            return True
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
                # the end says how many objects there are
                self.is_whole = bytes > 0 and le64_at(self.data + self.position + 1) == self.objects
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
            if status == 0:
                status = known_ids_init(&self.known, self.objects, seed | 1)
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
                know_id(&self.known, le64_at(record + 1))
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
            self.objects += 1
            if not self.is_value_type(le64_at(record + 9)):
                self.name(le32_at(record + 25))
        elif tag == c"T":
            self.name(le32_at(record + 9))
            self.name(le32_at(record + 13))
            if self.flags_of(le32_at(record + 9)) & IS_VALUE_TYPE and self.flags_of(le32_at(record + 13)) & IS_BUILTINS:
                address = le64_at(record + 1)
                return vector_push(&self.types, &address)
        elif tag == c"F" or (tag == c"N" and self.flags_of(le32_at(record + 1)) & IS_NOTE):
            self.frames += tag == c"F"
            self.name(le32_at(record + 1))
            self.name(le32_at(record + 5))
        elif tag == c"K":
            self.stacks += 1
        elif tag == c"A" or tag == c"L":
            self.name(le32_at(record + 9))
        elif tag == c"G" and self.flags_of(le32_at(record + 9)) & IS_ROOT:
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
            done[0] += self.write_record(record, bytes, out + done[0])

    cdef size_t write_record(self, const uint8_t *record, size_t bytes, uint8_t *out) noexcept nogil:
        """Write a record, and return its bytes, which aren't more than it had."""
        cdef uint8_t tag = record[0]
        cdef uint32_t each, count
        out[0] = tag
        if tag == c"S":
            self.text += 1
            # texts have numbers, so that an empty one takes the place of another
            count = le32_at(record + 1) if self.is_written(self.text) else 0
            put32(out + 1, count)
            memcpy(out + 5, record + 5, count)
            return 5 + <size_t> count
        if tag == c"O":
            put64(out + 1, le64_at(record + 1))
            self.put_address(out + 9, record + 9)
            put64(out + 17, le64_at(record + 17))
            self.put_text(out + 25, record + 25)
            put32(out + 29, le32_at(record + 29) if le32_at(record + 29) <= self.stacks else 0)
            self.put_frame(out + 33, record + 33)
        elif tag == c"T":
            self.put_address(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
            self.put_text(out + 13, record + 13)
        elif tag == c"F":
            self.put_text(out + 1, record + 1)
            self.put_text(out + 5, record + 5)
            put32(out + 9, le32_at(record + 9))
        elif tag == c"L":
            self.put_address(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
        elif tag == c"A":
            self.put_address(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
            put32(out + 13, le32_at(record + 13))
            self.put_frame(out + 17, record + 17)
        elif tag == c"G":
            if not self.flags_of(le32_at(record + 9)) & IS_ROOT:
                return 0
            self.put_address(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
            self.put_text(out + 13, record + 13)
            self.put_frame(out + 17, record + 17)
        elif tag == c"N":
            if not self.flags_of(le32_at(record + 1)) & IS_NOTE:
                return 0
            self.put_text(out + 1, record + 1)
            self.put_text(out + 5, record + 5)
        else:
            count = le32_at(record + 1)
            put32(out + 1, count)
            for each in range(count):
                if tag == c"K":
                    self.put_frame(out + 5 + 4 * <size_t> each, record + 5 + 4 * <size_t> each)
                else:
                    self.put_address(out + 5 + 8 * <size_t> each, record + 5 + 8 * <size_t> each)
            if tag == c"n":
                out += 5 + 8 * <size_t> count
                record += 5 + 8 * <size_t> count
                for each in range(count):
                    self.put_text(out + 4 * <size_t> each, record + 4 * <size_t> each)
        return bytes

    cdef inline void put_address(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        cdef uint64_t address = le64_at(at)
        # no object has the other one
        put64(out, address if not address or is_known_id(&self.known, address) else <uint64_t> -2)

    cdef inline void put_text(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        cdef uint32_t text = le32_at(at)
        put32(out, text if self.is_written(text) else 0)

    cdef inline void put_frame(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        cdef uint32_t frame = le32_at(at)
        put32(out, frame if frame < self.frames else NO_FRAME)


cdef inline bint is_name(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text can name something. Records that a wrong length has made a part of it have zeros."""
    cdef size_t each
    if length > MOST_NAME:
        return False
    for each in range(length):
        if text[each] < 0x20 or text[each] == 0x7F:
            return False
    return True


cdef inline void put32(uint8_t *out, uint32_t number) noexcept nogil:
    out[0], out[1] = <uint8_t> number, <uint8_t> (number >> 8)
    out[2], out[3] = <uint8_t> (number >> 16), <uint8_t> (number >> 24)


cdef inline void put64(uint8_t *out, uint64_t number) noexcept nogil:
    put32(out, <uint32_t> number)
    put32(out + 4, <uint32_t> (number >> 32))
