# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Joins the texts of V8's concatenated strings, whose nodes refer to their ``first`` and ``second`` part.

As in DevTools, parts are joined until there are 1,024 units of UTF-16, as many as V8 writes of other strings. Each text
is made of those of its two parts, once, however deep or shared these are; equal texts are stored once, and so are those
that a part alone has.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from memlens.kernels.base.interning cimport (
    Interner, hash_bytes, intern_hashed, interner_count, interner_free, interner_init,
)
from memlens.kernels.base.vectors cimport (
    Vector, column_of, vector_free, vector_init, vector_push_u32, vector_reserve,
)
from memlens.packs.v8.kernels.edges cimport Edges

cdef uint32_t NO_NUMBER = 0xFFFFFFFF
cdef uint32_t NOT_JOINED = 0xFFFFFFFE      # a string that isn't concatenated

cdef enum:
    LONGEST = 1024          # units of UTF-16
    MOST_BYTES = 4096       # more than these are in UTF-8; bytes within characters are endless in damaged texts

cdef enum:
    S_NEW
    S_OPEN                  # its parts are being joined
    S_JOINED
    S_FULL                  # joined, and as long as a text gets
    S_UNKNOWN               # of a part that isn't a string, that is missing, or that contains the whole


cdef struct Part:
    const uint8_t *utf8
    size_t length           # bytes, up to those that fill a text
    uint32_t text
    bint is_known, is_full


cdef class Joined:
    """The texts of concatenated strings.

    ``chosen`` are the objects that are such strings, in order; ``is_string`` has an item per object, 1 for strings of
    any kind. Internal ``edges`` (whose kind may have been raised by their number) that are named by the two texts of
    ``parts`` lead to the first and the second part. ``name`` has the text of each object. ``base`` is the number of
    the first text that is made here; it is at least as many as there are texts. Where the texts would have more than
    ``most`` bytes, some strings stay without one.
    """

    cdef Interner texts
    cdef Vector waiting, numbers
    cdef uint8_t *states
    cdef uint32_t *place
    cdef uint32_t *parts
    cdef const uint8_t[::1] utf8
    cdef const uint64_t[::1] end
    cdef const uint8_t[::1] is_string
    cdef const uint32_t[::1] name
    cdef uint64_t base, most
    cdef readonly uint64_t left_out     # strings without a text for want of room

    def __cinit__(
        self,
        Edges edges not None,
        tuple parts: tuple[int, int],
        const uint32_t[::1] chosen,
        const uint8_t[::1] is_string,
        const uint32_t[::1] name,
        const uint8_t[::1] utf8,
        const uint64_t[::1] end,
        uint64_t base,
        uint64_t most,
    ):
        cdef const uint64_t[::1] start = edges.start
        cdef const uint32_t[::1] reference_name = edges.name
        cdef uint32_t first = parts[0], second = parts[1]
        cdef size_t count = chosen.shape[0], objects = name.shape[0], each, which
        cdef uint64_t row
        cdef int status = 0
        vector_init(&self.waiting, 4)
        vector_init(&self.numbers, 4)
        self.utf8, self.end, self.is_string, self.name = utf8, end, is_string, name
        self.base, self.most = base, most
        self.states = <uint8_t *> calloc(count + 1, 1)
        self.parts = <uint32_t *> malloc((2 * count + 1) * 4)
        self.place = <uint32_t *> malloc((objects + 1) * 4)
        if (
            interner_init(&self.texts, 1, int.from_bytes(os.urandom(8), "little")) < 0
            or self.states == NULL or self.parts == NULL or self.place == NULL
            or vector_reserve(&self.numbers, count + 1) < 0
        ):
            raise MemoryError
        with nogil:
            memset(self.parts, 0xFF, 2 * count * 4)
            memset(self.place, 0xFF, objects * 4)
            for each in range(objects):
                if is_string[each]:
                    self.place[each] = NOT_JOINED
            for each in range(count):
                self.place[chosen[each]] = <uint32_t> each
                (<uint32_t *> self.numbers.data)[each] = 0
                for row in range(start[chosen[each]], start[chosen[each] + 1]):
                    if edges.kind[row] % edges.kinds != edges.internal:
                        continue
                    if reference_name[row] != first and reference_name[row] != second:
                        continue
                    which = 2 * each + (reference_name[row] == second)
                    if self.parts[which] == NO_NUMBER:
                        self.parts[which] = edges.target[row]
            self.numbers.count = count
            for each in range(count):
                status = self.join(<uint32_t> each)
                if status < 0:
                    break
        free(self.place)
        free(self.parts)
        self.place = self.parts = NULL
        if status < 0:
            raise MemoryError

    def __dealloc__(self):
        interner_free(&self.texts)
        vector_free(&self.waiting)
        vector_free(&self.numbers)
        free(self.states)
        free(self.place)
        free(self.parts)

    cdef int join(self, uint32_t outer) noexcept nogil:
        """Join a string, after all that it consists of; -1 without memory."""
        cdef uint32_t item, part, which
        cdef size_t before
        if self.states[outer] != S_NEW:
            return 0
        if vector_push_u32(&self.waiting, outer) < 0:
            return -1
        while self.waiting.count:
            item = (<uint32_t *> self.waiting.data)[self.waiting.count - 1]
            before = self.waiting.count
            if self.states[item] == S_NEW:
                self.states[item] = S_OPEN
                # the first part, which is the deeper one in most strings, is joined first
                for which in range(2):
                    part = self.parts[2 * item + 1 - which]
                    part = NO_NUMBER if part == NO_NUMBER else self.place[part]
                    if part < NOT_JOINED and self.states[part] == S_NEW and vector_push_u32(&self.waiting, part) < 0:
                        return -1
                if self.waiting.count > before:
                    continue
            if self.states[item] == S_OPEN and self.join_parts(item) < 0:
                return -1
            self.waiting.count -= 1
        return 0

    cdef Part part_of(self, uint32_t object) noexcept nogil:
        """A part's text, if that is known."""
        cdef Part part
        cdef uint32_t place = NO_NUMBER if object == NO_NUMBER else self.place[object]
        cdef uint64_t begin, last
        cdef uint64_t *starts = <uint64_t *> self.texts.starts.data
        cdef size_t units = 0
        part.utf8, part.length, part.text, part.is_full = NULL, 0, 0, False
        part.is_known = place == NOT_JOINED or (
            place != NO_NUMBER and (self.states[place] == S_JOINED or self.states[place] == S_FULL)
        )
        if not part.is_known:
            return part
        part.text = self.name[object] if place == NOT_JOINED else (<uint32_t *> self.numbers.data)[place]
        if part.text >= self.base:
            begin, last = starts[part.text - self.base], starts[part.text - self.base + 1]
            part.utf8 = self.texts.units.data + begin
        else:
            begin, last = self.end[part.text - 1] if part.text else 0, self.end[part.text]
            part.utf8 = &self.utf8[0] + begin if last > begin else NULL
        last -= begin
        if place != NOT_JOINED:
            part.length, part.is_full = last, self.states[place] == S_FULL
            return part
        while part.length < min(last, MOST_BYTES) and (units < LONGEST or units_at(part.utf8[part.length]) == 0):
            units += units_at(part.utf8[part.length])
            part.length += 1
        part.is_full = units >= LONGEST or part.length == MOST_BYTES
        return part

    cdef int join_parts(self, uint32_t item) noexcept nogil:
        cdef uint8_t[MOST_BYTES] text
        cdef Part first = self.part_of(self.parts[2 * item]), second
        cdef size_t length, units = 0, at
        cdef int64_t number
        self.states[item] = S_UNKNOWN
        if not first.is_known:
            return 0
        if first.is_full:
            return self.is_now(item, first.text, True)
        second = self.part_of(self.parts[2 * item + 1])
        if not second.is_known:
            return 0
        if second.length == 0:
            return self.is_now(item, first.text, False)
        if first.length == 0:
            return self.is_now(item, second.text, second.is_full)
        length = first.length
        memcpy(text, first.utf8, length)
        for at in range(length):
            units += units_at(text[at])
        at = 0
        while at < second.length and length < MOST_BYTES and (units < LONGEST or units_at(second.utf8[at]) == 0):
            units += units_at(second.utf8[at])
            text[length] = second.utf8[at]
            length += 1
            at += 1
        if self.texts.units.count + length > self.most or self.base + interner_count(&self.texts) >= NOT_JOINED:
            self.left_out += 1
            return 0
        number = intern_hashed(
            &self.texts, text, length, <uint32_t> hash_bytes(text, length, self.texts.seed)
        )
        if number < 0:
            return -1
        return self.is_now(item, <uint32_t> (self.base + number), units >= LONGEST or length == MOST_BYTES)

    cdef int is_now(self, uint32_t item, uint32_t text, bint is_full) noexcept nogil:
        (<uint32_t *> self.numbers.data)[item] = text
        self.states[item] = S_FULL if is_full else S_JOINED
        return 0

    def take(self) -> tuple[Any, Any, Any]:
        """The number of each string's text (``uint32``, 0 if not known), and the bytes and ends of the new ones."""
        return (
            column_of(&self.numbers, b"I"), column_of(&self.texts.units, b"B"), column_of(&self.texts.starts, b"Q"),
        )


cdef inline size_t units_at(uint8_t byte) noexcept nogil:
    """The units of UTF-16 of the character that a byte begins; 0 within one."""
    return 0 if byte & 0xC0 == 0x80 else 2 if byte >= 0xF0 else 1
