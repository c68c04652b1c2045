# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes Memlens' own heap dumps of Python anew without the text of strings and numbers.

What is written is put together from what was decoded: an address at which the file has no object becomes one that none
has, and the number of a text, a frame or a stack that it doesn't have that of none.

Values can be read from where objects are: small numbers stand in an array by their value, and what was made one after
the other is close by. So addresses are drawn at random; objects come after all other records, in a random order (a
window takes chunks from anywhere in the file, and its objects are shuffled), and so do the elements of each. References
to an object that the runtime shares lead to one of its type without a name, and so do those to a string that is the key
of an attribute, but for the key. With ``keeps_shared`` all of this stays as it is.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal, address_rank,
)
from memlens.kernels.base.random cimport draw_numbers, shuffle32, shuffle64, shuffle_items
from memlens.kernels.base.vectors cimport (
    Vector, vector_free, vector_init, vector_push, vector_push_u32, vector_reserve,
)
from memlens.kernels.readers.numbers cimport le32_at, le64_at
from memlens.packs.python.kernels.survey cimport (
    S_WRITE, W_BYTES, W_MODULE, W_STR, W_UNKNOWN, Chunk, Shared, Survey,
)

cdef enum:
    WINDOW_BYTES = 3 << 18
    ADDRESS_BITS = 4            # that are 0 in all new addresses

cdef uint32_t NO_FRAME = 0xFFFFFFFF
cdef uint64_t NOWHERE = 0xFFFFFFFFFFFFFFFEULL
cdef uint32_t IS_SHARED = 1u << 31


cdef class Dump(Survey):
    """Looks through the records from the byte ``start`` on, in stages, then writes them, but not the end record.

    With ``keeps_numbers`` the texts of numbers stay, with ``keeps_time`` the notes about the process and Python, with
    ``keeps_shared`` addresses and order. After the first stage ``end`` is where the records end, and ``is_whole``
    whether an end record is there; after writing ``redirected`` is how many references lead to another object.
    """

    cdef readonly uint64_t needed, redirected
    cdef bint is_at_objects
    cdef uint64_t random
    cdef Vector numbers             # of objects, by their ranks
    cdef Vector canonical           # by the ordinals of what is shared
    cdef Vector chunk_order, pieces
    cdef size_t next_chunk, next_piece
    cdef bint is_within, is_first   # an object that is being written, and its first record
    cdef bint has_attributes        # whether the object that is being written is a dictionary of attributes
    cdef AddressMap by_shared
    cdef Vector replaced_texts, replaced_ends, replaced_bytes
    cdef size_t next_replaced

    def __init__(
        self, const uint8_t[::1] data, size_t start, bint keeps_numbers, bint keeps_time=False, bint keeps_shared=False,
    ):
        self.keeps_time = keeps_time
        self.keeps_shared = keeps_shared
        self.random = int.from_bytes(os.urandom(8), "little")
        self.own(&self.numbers, 4)
        self.own(&self.canonical, 8)
        self.own(&self.chunk_order, 4)
        self.own(&self.pieces, 8)
        self.own(&self.replaced_texts, 4)
        self.own(&self.replaced_ends, 8)
        self.own(&self.replaced_bytes, 1)
        address_map_init(&self.by_shared)

    def __dealloc__(self):
        address_map_free(&self.by_shared)

    def replace(self, texts):
        """Write other bytes for some texts that stay, by their numbers."""
        cdef uint64_t end = 0
        cdef bytes new
        cdef uint8_t byte
        for number in sorted(texts):
            new = texts[number]
            end += len(new)
            if vector_push_u32(&self.replaced_texts, number) < 0 or vector_push(&self.replaced_ends, &end) < 0:
                raise MemoryError
            for byte in new:
                if vector_push(&self.replaced_bytes, &byte) < 0:
                    raise MemoryError

    # what is drawn before writing

    cdef int prepare(self) noexcept nogil:
        cdef size_t each
        if self.keeps_shared:
            return 0
        if self.known.count >= IS_SHARED or vector_reserve(&self.numbers, self.known.count + 1) < 0:
            return -1
        draw_numbers(&self.random, <uint32_t *> self.numbers.data, self.known.count)
        self.numbers.count = self.known.count
        if self.choose_shared() < 0:
            return -1
        for each in range(self.chunks.count):
            if vector_push_u32(&self.chunk_order, <uint32_t> each) < 0:
                return -1
        shuffle32(&self.random, <uint32_t *> self.chunk_order.data, self.chunk_order.count)
        return 0

    cdef int choose_shared(self) noexcept nogil:
        """Choose one object of each type that references to all others lead to: one that has no name."""
        cdef Shared *rows = <Shared *> self.shared.data
        cdef AddressMap by_group
        cdef Vector addresses, groups, firsts
        cdef size_t each
        cdef int64_t number
        cdef uint64_t one
        cdef int status = 0
        address_map_init(&by_group)
        vector_init(&addresses, 8)
        vector_init(&groups, 8)
        vector_init(&firsts, 8)
        for each in range(self.shared.count):
            one = 0
            status |= vector_push(&addresses, &rows[each].address)
            status |= vector_push(&groups, &rows[each].group)
            status |= vector_push(&firsts, &one)
        if status == 0:
            status |= address_map_build(
                &self.by_shared, <uint64_t *> addresses.data, addresses.count, self.known.seed)
            status |= address_map_build(&by_group, <uint64_t *> groups.data, groups.count, self.known.seed)
        for each in range(self.shared.count if status == 0 else 0):
            number = address_ordinal(&by_group, rows[each].group)
            if not rows[each].is_named and not (<uint64_t *> firsts.data)[number]:
                (<uint64_t *> firsts.data)[number] = rows[each].address
        for each in range(self.shared.count if status == 0 else 0):
            one = (<uint64_t *> firsts.data)[address_ordinal(&by_group, rows[each].group)]
            if not one:
                # only strings can all be keys
                one = self.nameless if self.nameless else rows[each].address
            status |= vector_push(&self.canonical, &one)
            number = address_rank(&self.known, rows[each].address)
            if number >= 0 and address_rank(&self.known, one) >= 0:
                # else the file has changed since it was looked through
                (<uint32_t *> self.numbers.data)[number] |= IS_SHARED
        address_map_free(&by_group)
        vector_free(&addresses)
        vector_free(&groups)
        vector_free(&firsts)
        return status

    cdef int take_window(self) noexcept nogil:
        """Fill ``pieces`` with the objects that come next, in a random order. -1 if out of memory."""
        cdef Chunk *chunk
        cdef size_t at, bytes
        cdef uint64_t start, total = 0
        self.pieces.count = self.next_piece = 0
        while self.next_chunk < self.chunk_order.count and total < WINDOW_BYTES:
            chunk = <Chunk *> self.chunks.data + (<uint32_t *> self.chunk_order.data)[self.next_chunk]
            self.next_chunk += 1
            total += chunk.end - chunk.start
            at = chunk.start
            while at < chunk.end:
                bytes = self.record_bytes(at)
                if bytes == 0:
                    # the file has changed since it was looked through
                    break
                start = at
                if self.data[at] == c"O" and vector_push(&self.pieces, &start) < 0:
                    return -1
                at += bytes
        shuffle64(&self.random, <uint64_t *> self.pieces.data, self.pieces.count)
        return 0

    # writing

    def fill(self, uint8_t[::1] out) -> int:
        """Write the records that come next, and return how many bytes that is; 0 at the end, or if ``needed`` isn't 0.
        """
        cdef size_t done = 0
        cdef int status
        if self.stage != S_WRITE:
            raise ValueError("the file has not been looked through")
        self.needed = 0
        with nogil:
            status = self.write_records(&out[0], out.shape[0], &done)
        if status < 0:
            raise MemoryError
        return done

    cdef int write_records(self, uint8_t *out, size_t room, size_t *done) noexcept nogil:
        """Write all but objects, then these. -1 if out of memory."""
        cdef size_t bytes
        while not self.is_at_objects:
            bytes = self.record_bytes(self.position)
            if bytes == 0:
                self.is_at_objects = True
            elif is_of_object(self.data[self.position]) and not self.keeps_shared:
                self.position += bytes
            elif not self.write_next(out, room, done, bytes):
                return 0
        while not self.keeps_shared:
            if not self.is_within:
                if self.next_piece < self.pieces.count:
                    self.position = (<uint64_t *> self.pieces.data)[self.next_piece]
                    self.next_piece += 1
                    self.is_within = self.is_first = True
                elif self.next_chunk >= self.chunk_order.count:
                    break
                elif self.take_window() < 0:
                    return -1
                continue
            bytes = self.record_bytes(self.position)
            if bytes == 0 or (self.data[self.position] == c"O" and not self.is_first):
                self.is_within = False
            elif not is_of_object(self.data[self.position]):
                self.position += bytes
            elif not self.write_next(out, room, done, bytes):
                return 0
            else:
                self.is_first = False
        return 0

    cdef bint write_next(self, uint8_t *out, size_t room, size_t *done, size_t bytes) noexcept nogil:
        """Write the record at the position, which has so many bytes; False if there is too little room."""
        cdef const uint8_t *record = self.data + self.position
        cdef size_t most
        most = bytes + self.longer() if record[0] == c"S" else bytes
        if room - done[0] < most:
            self.needed = 0 if done[0] else most
            return False
        self.position += bytes
        done[0] += self.write_record(record, bytes, out + done[0])
        return True

    cdef size_t longer(self) noexcept nogil:
        """Return the most bytes that the next text has more than in the file."""
        return self.replacement(NULL) if self.is_replaced(self.text + 1) else 0

    cdef bint is_replaced(self, uint32_t text) noexcept nogil:
        return self.next_replaced < self.replaced_texts.count and (
            (<uint32_t *> self.replaced_texts.data)[self.next_replaced] == text)

    cdef size_t replacement(self, const uint8_t **bytes) noexcept nogil:
        """Return the length of the text that is written instead of the next, and where it is."""
        cdef uint64_t *ends = <uint64_t *> self.replaced_ends.data
        cdef uint64_t start = ends[self.next_replaced - 1] if self.next_replaced else 0
        if bytes != NULL:
            bytes[0] = self.replaced_bytes.data + start
        return ends[self.next_replaced] - start

    cdef size_t write_record(self, const uint8_t *record, size_t bytes, uint8_t *out) noexcept nogil:
        """Write a record, and return its bytes, which aren't more than it had, but for a text."""
        cdef uint8_t tag = record[0]
        cdef uint32_t each, count
        out[0] = tag
        if tag == c"S":
            return self.write_text(record, out)
        if tag == c"O":
            self.has_attributes = address_rank(&self.by_dictionary, le64_at(record + 1)) >= 0
            self.put_address(out + 1, record + 1)
            self.put_address(out + 9, record + 9)
            memcpy(out + 17, record + 17, 8)
            self.put_own_text(out + 25, record)
            put32(out + 29, le32_at(record + 29) if le32_at(record + 29) <= self.stacks else 0)
            self.put_frame(out + 33, record + 33)
        elif tag == c"T":
            self.put_address(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
            self.put_text(out + 13, record + 13)
        elif tag == c"F":
            self.put_text(out + 1, record + 1)
            self.put_text(out + 5, record + 5)
            memcpy(out + 9, record + 9, 4)
        elif tag == c"L":
            self.put_address(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
        elif tag == c"A":
            self.put_address(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
            memcpy(out + 13, record + 13, 4)
            self.put_frame(out + 17, record + 17)
        elif tag == c"G":
            if not W_MODULE <= self.word(le32_at(record + 9)) <= W_UNKNOWN:
                return 0
            self.put_reference(out + 1, record + 1)
            self.put_text(out + 9, record + 9)
            self.put_text(out + 13, record + 13)
            self.put_frame(out + 17, record + 17)
        elif tag == c"N":
            if not self.is_written(le32_at(record + 1)) or not self.is_note(le32_at(record + 1)):
                return 0
            self.put_text(out + 1, record + 1)
            self.put_text(out + 5, record + 5)
        else:
            count = le32_at(record + 1)
            put32(out + 1, count)
            for each in range(count):
                if tag == c"K":
                    self.put_frame(out + 5 + 4 * <size_t> each, record + 5 + 4 * <size_t> each)
                elif tag == c"d" and self.has_attributes and each % 2 == 0:
                    self.put_address(out + 5 + 8 * <size_t> each, record + 5 + 8 * <size_t> each)
                else:
                    self.put_reference(out + 5 + 8 * <size_t> each, record + 5 + 8 * <size_t> each)
            if tag == c"n":
                out += 5 + 8 * <size_t> count
                record += 5 + 8 * <size_t> count
                for each in range(count):
                    self.put_text(out + 4 * <size_t> each, record + 4 * <size_t> each)
            elif tag != c"K" and not self.keeps_shared:
                shuffle_items(&self.random, out + 5, count // 2 if tag == c"d" else count, 16 if tag == c"d" else 8)
        return bytes

    cdef size_t write_text(self, const uint8_t *record, uint8_t *out) noexcept nogil:
        """Write a text; since texts have numbers, an empty one takes the place of one that goes."""
        cdef const uint8_t *text = record + 5
        cdef size_t count
        self.text += 1
        count = le32_at(record + 1) if self.is_written(self.text) else 0
        if self.is_replaced(self.text):
            if count:
                count = self.replacement(&text)
            self.next_replaced += 1
        put32(out + 1, <uint32_t> count)
        memcpy(out + 5, text, count)
        return 5 + count

    cdef inline void put_address(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write the address of an object itself."""
        cdef uint64_t address = le64_at(at)
        cdef int64_t rank = address_rank(&self.known, address) if address else -1
        if rank < 0:
            # no object has the other one
            address = NOWHERE if address else 0
        elif not self.keeps_shared:
            address = (<uint64_t> ((<uint32_t *> self.numbers.data)[rank] & ~IS_SHARED) + 1) << ADDRESS_BITS
        put64(out, address)

    cdef inline void put_reference(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write the address of an object that is referred to, or of the one that all such references lead to."""
        cdef uint64_t address = le64_at(at), one
        cdef int64_t rank = address_rank(&self.known, address) if address else -1
        cdef uint32_t number
        if rank < 0 or self.keeps_shared:
            self.put_address(out, at)
            return
        number = (<uint32_t *> self.numbers.data)[rank]
        if number & IS_SHARED:
            one = (<uint64_t *> self.canonical.data)[address_ordinal(&self.by_shared, address)]
            if one != address:
                self.redirected += 1
                number = (<uint32_t *> self.numbers.data)[address_rank(&self.known, one)]
        put64(out, (<uint64_t> (number & ~IS_SHARED) + 1) << ADDRESS_BITS)

    cdef inline void put_text(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        cdef uint32_t text = le32_at(at)
        put32(out, text if self.is_written(text) else 0)

    cdef inline void put_own_text(self, uint8_t *out, const uint8_t *record) noexcept nogil:
        """Write the text of an object: that of a string only if it is the key of an attribute."""
        cdef uint32_t text = le32_at(record + 25), word = self.word_of(le64_at(record + 9))
        if not self.is_written(text) or word == W_BYTES or (
                word == W_STR and address_rank(&self.keys, le64_at(record + 1)) < 0):
            text = 0
        put32(out, text)

    cdef inline void put_frame(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        cdef uint32_t frame = le32_at(at)
        put32(out, frame if frame < self.frames else NO_FRAME)


cdef inline bint is_of_object(uint8_t tag) noexcept nogil:
    return tag == c"O" or tag == c"r" or tag == c"e" or tag == c"i" or tag == c"d" or tag == c"n"


cdef inline void put32(uint8_t *out, uint32_t number) noexcept nogil:
    out[0], out[1] = <uint8_t> number, <uint8_t> (number >> 8)
    out[2], out[3] = <uint8_t> (number >> 16), <uint8_t> (number >> 24)


cdef inline void put64(uint8_t *out, uint64_t number) noexcept nogil:
    put32(out, <uint32_t> number)
    put32(out + 4, <uint32_t> (number >> 32))
