# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes Memlens' own heap dumps of Python anew without the text of strings and numbers.

What is written is put together from what was decoded: an address at which the file has no object becomes one that none
has, and the number of a text, a frame or a stack that it doesn't have that of none.

Values can be read from where objects are: small numbers stand in an array by their value, and what was made one after
the other is close by. So addresses are drawn at random, and so are the numbers of texts, frames and stacks, of which
only the texts that stay are written, and the order of roots that follow one another, and of the names that code has,
which are sorted. Objects come after all other records, in a random order (a window takes chunks
from anywhere in the file, and its objects are shuffled), and so do the elements of each. References
to an object that the runtime shares lead to one of its type without a name, and so do those to a string that is the key
of an attribute, but for the key. With ``keeps_shared`` all of this stays as it is.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal, address_rank,
    address_set_add, address_set_begin, address_set_end,
)
from memlens.kernels.base.counts cimport CountRow, counts_find
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.random cimport (
    KEY_BYTES, Random, draw_numbers, random_begin, random_below, shuffle32, shuffle64, shuffle_items,
)
from memlens.kernels.base.vectors cimport (
    Vector, vector_free, vector_init, vector_push, vector_push_u32, vector_reserve,
)
from memlens.kernels.readers.numbers cimport le32_at, le64_at
from memlens.packs.python.kernels.survey cimport (
    IS_AMBIGUOUS, IS_BORROWED, S_WRITE, W_BYTES, W_FRAME, W_MODULE, W_STR, W_UNKNOWN, Chunk, Named, Shared, Survey,
    is_label, place_key,
)

cdef enum:
    WINDOW_BYTES = 3 << 18
    ADDRESS_BITS = 4            # that are 0 in all new addresses
    AHEAD = 8                   # objects that are fetched from memory meanwhile
    BATCH = 32                  # references that are looked up at once, an even number

cdef uint32_t NO_FRAME = 0xFFFFFFFF
cdef uint64_t NOWHERE = 0xFFFFFFFFFFFFFFFEULL
cdef uint32_t IS_SHARED = 1u << 31


cdef class Dump(Survey):
    """Looks through the records from the byte ``start`` on, in stages, then writes them, but not the end record.

    With ``keeps_numbers`` the texts of numbers stay, with ``keeps_time`` the notes about the process and Python, with
    ``keeps_shared`` addresses and order. After the first stage ``end`` is where the records end, and ``is_whole``
    whether an end record is there; after writing ``redirected`` is how many references lead to what stands for
    several, whichever of them it was.
    """

    cdef readonly uint64_t needed, redirected
    cdef Random random
    cdef Vector numbers             # of objects, by their ranks
    cdef Vector canonical           # by the ordinals of what is shared
    cdef Vector chunk_order, pieces
    cdef size_t next_chunk, next_piece
    cdef bint is_within, is_first   # an object that is being written, and its first record
    cdef AddressMap by_shared
    cdef Vector replaced_texts, replaced_ends, replaced_bytes
    cdef AddressMap by_text             # texts that stay
    cdef Vector new_texts               # their numbers, by their ranks
    cdef Vector text_order              # which of the texts that stay comes next
    cdef Vector new_frames, new_stacks  # by the old ones
    cdef Vector ahead                   # where the records are that come first, in their new order
    cdef size_t next_ahead
    cdef uint32_t next_depth            # of a thread's frames, the largest that the next one may have

    def __init__(
        self, const uint8_t[::1] data: Buffer, size_t start, bint keeps_numbers, bint keeps_time=False,
        bint keeps_shared=False,
    ):
        self.keeps_time = keeps_time
        self.keeps_shared = keeps_shared
        random_begin(&self.random, os.urandom(KEY_BYTES))
        self.own(&self.numbers, 4)
        self.own(&self.canonical, 8)
        self.own(&self.chunk_order, 4)
        self.own(&self.pieces, 8)
        self.own(&self.replaced_texts, 4)
        self.own(&self.replaced_ends, 8)
        self.own(&self.replaced_bytes, 1)
        self.own(&self.new_texts, 4)
        self.own(&self.text_order, 4)
        self.own(&self.new_frames, 4)
        self.own(&self.new_stacks, 4)
        self.own(&self.ahead, 8)
        address_map_init(&self.by_shared)
        address_map_init(&self.by_text)

    def __dealloc__(self):
        address_map_free(&self.by_shared)
        address_map_free(&self.by_text)

    @property
    def texts_written(self) -> int:
        """How many texts are written; known when the file has been looked through."""
        return self.texts if self.keeps_shared else self.named.count

    def replace(self, texts: Mapping[int, bytes]):
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
        if self.choose_shared() < 0 or self.order_texts() < 0:
            return -1
        if self.order_records(&self.frame_places, &self.new_frames) < 0:
            return -1
        if self.order_records(&self.stack_places, &self.new_stacks) < 0:
            return -1
        shuffle64(&self.random, <uint64_t *> self.type_places.data, self.type_places.count)
        shuffle64(&self.random, <uint64_t *> self.label_places.data, self.label_places.count)
        self.shuffle_roots()
        if self.put_ahead(&self.type_places) < 0 or self.put_ahead(&self.label_places) < 0 or (
                self.put_ahead(&self.other_places) < 0):
            return -1
        for each in range(self.chunks.count):
            if vector_push_u32(&self.chunk_order, <uint32_t> each) < 0:
                return -1
        shuffle32(&self.random, <uint32_t *> self.chunk_order.data, self.chunk_order.count)
        return 0

    cdef void shuffle_roots(self) noexcept nogil:
        """Shuffle those that follow one another: roots belong to the frame before them."""
        cdef uint64_t *places = <uint64_t *> self.other_places.data
        cdef size_t each, first = 0
        for each in range(self.other_places.count + 1):
            if each == self.other_places.count or self.data[places[each]] != c"G":
                shuffle64(&self.random, places + first, each - first)
                first = each + 1

    cdef int put_ahead(self, Vector *places) noexcept nogil:
        """Write records after those that come first. -1 if out of memory."""
        cdef size_t each
        for each in range(places.count):
            if vector_push(&self.ahead, <uint64_t *> places.data + each) < 0:
                return -1
        return 0

    cdef int order_texts(self) noexcept nogil:
        """Draw numbers for the texts that stay. -1 if out of memory."""
        cdef Named *rows = <Named *> self.named.data
        cdef size_t each, count = self.named.count
        cdef uint32_t *numbers
        cdef uint64_t used = 1
        while used <= self.flags.count:
            used = 2 * used
        if vector_reserve(&self.new_texts, count + 1) < 0 or vector_reserve(&self.text_order, count + 1) < 0 or (
                vector_reserve(&self.ahead, count + 1) < 0 or address_set_begin(&self.by_text, used - 1, used) < 0):
            return -1
        for each in range(count):
            if address_set_add(&self.by_text, rows[each].text) < 0:
                return -1
        address_set_end(&self.by_text)
        numbers = <uint32_t *> self.new_texts.data
        draw_numbers(&self.random, numbers, count)
        self.new_texts.count = self.text_order.count = self.ahead.count = count
        for each in range(count):
            used = numbers[address_rank(&self.by_text, rows[each].text)]
            (<uint32_t *> self.text_order.data)[used] = <uint32_t> each
            (<uint64_t *> self.ahead.data)[used] = rows[each].at
        return 0

    cdef int order_records(self, Vector *places, Vector *numbers) noexcept nogil:
        """Draw numbers for records, and put them after those that come first. -1 if out of memory."""
        cdef size_t each, place, count = places.count, before = self.ahead.count
        if vector_reserve(numbers, count + 1) < 0 or vector_reserve(&self.ahead, before + count + 1) < 0:
            return -1
        draw_numbers(&self.random, <uint32_t *> numbers.data, count)
        numbers.count = count
        self.ahead.count += count
        for each in range(count):
            place = before + (<uint32_t *> numbers.data)[each]
            (<uint64_t *> self.ahead.data)[place] = (<uint64_t *> places.data)[each]
        return 0

    cdef int choose_shared(self) noexcept nogil:
        """Choose one object of each type that references to all others lead to: one that has no name."""
        cdef Shared *rows = <Shared *> self.shared.data
        cdef Shared swapped
        cdef AddressMap by_group
        cdef Vector addresses, groups, firsts
        cdef size_t each, other
        cdef int64_t number
        cdef uint64_t one
        cdef int status = 0
        address_map_init(&by_group)
        vector_init(&addresses, 8)
        vector_init(&groups, 8)
        vector_init(&firsts, 8)
        # which comes first in the file may depend on values
        for each in range(1, self.shared.count):
            other = random_below(&self.random, each + 1)
            swapped = rows[each]
            rows[each] = rows[other]
            rows[other] = swapped
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

    def fill(self, uint8_t[::1] out: bytearray) -> int:
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
        """Write the records that come ahead of objects, then these; or all in their order. -1 if out of memory."""
        cdef size_t bytes, following = self.position
        while self.next_ahead < self.ahead.count:
            self.position = (<uint64_t *> self.ahead.data)[self.next_ahead]
            bytes = self.record_bytes(self.position)
            if bytes == 0:
                # the file has changed since it was looked through
                self.position = following
                return 0
            if self.next_ahead < self.text_order.count:
                self.text = (<Named *> self.named.data)[(<uint32_t *> self.text_order.data)[self.next_ahead]].text
            if not self.write_next(out, room, done, bytes):
                self.position = following
                return 0
            self.next_ahead += 1
            self.position = following
        while self.keeps_shared:
            bytes = self.record_bytes(self.position)
            if bytes == 0 or not self.write_next(out, room, done, bytes):
                return 0
        while not self.keeps_shared:
            if not self.is_within:
                if self.next_piece < self.pieces.count:
                    self.position = (<uint64_t *> self.pieces.data)[self.next_piece]
                    self.next_piece += 1
                    if self.next_piece + AHEAD < self.pieces.count:
                        prefetch(self.data + (<uint64_t *> self.pieces.data)[self.next_piece + AHEAD])
                    self.is_within = self.is_first = True
                elif self.next_chunk >= self.chunk_order.count:
                    break
                elif self.take_window() < 0:
                    return -1
                continue
            bytes = self.record_bytes(self.position)
            if bytes == 0 or (self.data[self.position] == c"O" and not self.is_first):
                self.is_within = False
            elif not is_of_object(self.data[self.position]) or is_label(self.data + self.position):
                self.position += bytes
            elif not self.write_next(out, room, done, bytes):
                return 0
            else:
                self.is_first = False
        return 0

    cdef bint write_next(self, uint8_t *out, size_t room, size_t *done, size_t bytes) noexcept nogil:
        """Write the record at the position, which has so many bytes; False if there is too little room."""
        cdef const uint8_t *record = self.data + self.position
        cdef size_t most = bytes
        cdef int64_t replaced
        if record[0] == c"S":
            # the others have their numbers from the order in which they are written
            replaced = self.replaced(self.text + 1 if self.keeps_shared else self.text)
            most += self.replacement(replaced, NULL) if replaced >= 0 else 0
        if room - done[0] < most:
            self.needed = 0 if done[0] else most
            return False
        self.position += bytes
        done[0] += self.write_record(record, bytes, out + done[0])
        return True

    cdef int64_t replaced(self, uint32_t text) noexcept nogil:
        """Return the number of what is written instead of a text, -1 if it is the text."""
        cdef uint32_t *texts = <uint32_t *> self.replaced_texts.data
        cdef size_t low = 0, high = self.replaced_texts.count, middle
        while low < high:
            middle = (low + high) // 2
            if texts[middle] < text:
                low = middle + 1
            else:
                high = middle
        return <int64_t> low if low < self.replaced_texts.count and texts[low] == text else -1

    cdef size_t replacement(self, size_t number, const uint8_t **bytes) noexcept nogil:
        """Return the length of a text that is written instead of another, and where it is."""
        cdef uint64_t *ends = <uint64_t *> self.replaced_ends.data
        cdef uint64_t start = ends[number - 1] if number else 0
        if bytes != NULL:
            bytes[0] = self.replaced_bytes.data + start
        return ends[number] - start

    cdef size_t write_record(self, const uint8_t *record, size_t bytes, uint8_t *out) noexcept nogil:
        """Write a record, and return its bytes, which aren't more than it had, but for a text."""
        cdef uint8_t tag = record[0]
        cdef uint32_t each, count
        cdef bint has_attributes
        out[0] = tag
        if tag == c"S":
            return self.write_text(record, out)
        if tag == c"O":
            self.last_object = le64_at(record + 1)
            self.last_type = le64_at(record + 9)
            self.last_word = self.word_of(self.last_type)
            self.put_address(out + 1, record + 1)
            self.put_address(out + 9, record + 9)
            memcpy(out + 17, record + 17, 8)
            self.put_own_text(out + 25, record)
            put32(out + 29, self.new_stack(le32_at(record + 29)))
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
            # a thread's frames are counted from 0
            self.next_depth = min(le32_at(record + 13), self.next_depth)
            put32(out + 13, self.next_depth)
            self.next_depth += 1
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
            if tag == c"K":
                for each in range(count):
                    self.put_frame(out + 5 + 4 * <size_t> each, record + 5 + 4 * <size_t> each)
            else:
                has_attributes = tag == c"d" and address_rank(&self.by_dictionary, self.last_object) >= 0
                self.put_references(out + 5, record + 5, count, has_attributes)
            if tag == c"n":
                out += 5 + 8 * <size_t> count
                record += 5 + 8 * <size_t> count
                self.put_names(out, record, count)
            elif tag != c"K" and not self.keeps_shared:
                shuffle_items(&self.random, out + 5, count // 2 if tag == c"d" else count, 16 if tag == c"d" else 8)
        return bytes

    cdef void put_names(self, uint8_t *out, const uint8_t *names, uint32_t count) noexcept nogil:
        """Write the names of attributes, of which those that are called like an earlier one get their own.

        Earlier dumps call a variable of a frame with the same value as one of its flags like that.
        """
        cdef CountRow *row = counts_find(&self.places, place_key(self.last_type, count, count))
        cdef bint has_borrowed = row != NULL and row.second & IS_BORROWED
        cdef bint has_flags = self.last_word == W_FRAME
        cdef uint32_t each, text
        for each in range(count):
            text = le32_at(names + 4 * <size_t> each)
            if has_flags and self.is_shared(le64_at(names - 8 * <size_t> (count - each))):
                text = 0
            row = counts_find(&self.places, place_key(self.last_type, count, each)) if has_borrowed else NULL
            if row != NULL and row.second & IS_BORROWED:
                text = 0 if row.second & IS_AMBIGUOUS else row.first
            put32(out + 4 * <size_t> each, self.new_text(text))

    cdef size_t write_text(self, const uint8_t *record, uint8_t *out) noexcept nogil:
        """Write a text. Where texts keep their numbers, an empty one takes the place of one that goes."""
        cdef const uint8_t *text = record + 5
        cdef size_t count
        cdef int64_t replaced
        self.text += self.keeps_shared
        count = le32_at(record + 1) if self.is_written(self.text) else 0
        replaced = self.replaced(self.text)
        if replaced >= 0 and count:
            count = self.replacement(replaced, &text)
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
        self.put_references(out, at, 1, False)

    cdef void put_references(self, uint8_t *out, const uint8_t *at, uint32_t count, bint has_attributes) noexcept nogil:
        """Write such addresses, but of a dictionary that ``has_attributes`` its keys as they are."""
        cdef int64_t[BATCH] ranks
        cdef uint64_t address
        cdef uint32_t each, done = 0, batch, number
        while done < count:
            batch = min(count - done, <uint32_t> BATCH)
            # no branch depends on a number before all have been asked for
            for each in range(batch):
                address = le64_at(at + 8 * <size_t> each)
                ranks[each] = address_rank(&self.known, address) if address else -1
                if ranks[each] >= 0 and not self.keeps_shared:
                    prefetch(<uint32_t *> self.numbers.data + ranks[each])
            for each in range(batch):
                address = le64_at(at + 8 * <size_t> each)
                if ranks[each] < 0:
                    address = NOWHERE if address else 0
                elif not self.keeps_shared:
                    number = (<uint32_t *> self.numbers.data)[ranks[each]]
                    if number & IS_SHARED and not (has_attributes and each % 2 == 0):
                        number = self.number_instead(address, number)
                    address = (<uint64_t> (number & ~IS_SHARED) + 1) << ADDRESS_BITS
                put64(out + 8 * <size_t> each, address)
            done += batch
            at += 8 * <size_t> batch
            out += 8 * <size_t> batch

    cdef uint32_t number_instead(self, uint64_t address, uint32_t number) noexcept nogil:
        """Return the number of the object to which references to a shared one lead."""
        cdef uint64_t one = (<uint64_t *> self.canonical.data)[address_ordinal(&self.by_shared, address)]
        self.redirected += 1
        return number if one == address else (<uint32_t *> self.numbers.data)[address_rank(&self.known, one)]

    cdef inline bint is_shared(self, uint64_t address) noexcept nogil:
        cdef int64_t rank = address_rank(&self.known, address) if address and not self.keeps_shared else -1
        return rank >= 0 and (<uint32_t *> self.numbers.data)[rank] & IS_SHARED

    cdef inline void put_text(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        put32(out, self.new_text(le32_at(at)))

    cdef inline uint32_t new_text(self, uint32_t text) noexcept nogil:
        """Return the number by which a text is written, 0 if it isn't."""
        cdef int64_t rank
        if not self.is_written(text):
            return 0
        if self.keeps_shared:
            return text
        rank = address_rank(&self.by_text, text)
        return 0 if rank < 0 else (<uint32_t *> self.new_texts.data)[rank] + 1

    cdef inline uint32_t new_stack(self, uint32_t stack) noexcept nogil:
        if stack == 0 or stack > self.stacks:
            return 0
        if self.keeps_shared:
            return stack
        return (<uint32_t *> self.new_stacks.data)[stack - 1] + 1 if stack <= self.new_stacks.count else 0

    cdef inline void put_own_text(self, uint8_t *out, const uint8_t *record) noexcept nogil:
        """Write the text of an object: that of a string only if it is the key of an attribute."""
        cdef uint32_t text = le32_at(record + 25), word = self.last_word
        if not self.is_written(text) or word == W_BYTES or (
                word == W_STR and address_rank(&self.keys, le64_at(record + 1)) < 0):
            text = 0
        put32(out, self.new_text(text))

    cdef inline void put_frame(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        cdef uint32_t frame = le32_at(at)
        if frame >= self.frames:
            frame = NO_FRAME
        elif not self.keeps_shared:
            frame = (<uint32_t *> self.new_frames.data)[frame] if frame < self.new_frames.count else NO_FRAME
        put32(out, frame)


cdef inline bint is_of_object(uint8_t tag) noexcept nogil:
    return tag == c"O" or tag == c"r" or tag == c"e" or tag == c"i" or tag == c"d" or (
        tag == c"n" or tag == c"L")


cdef inline void put32(uint8_t *out, uint32_t number) noexcept nogil:
    out[0], out[1] = <uint8_t> number, <uint8_t> (number >> 8)
    out[2], out[3] = <uint8_t> (number >> 16), <uint8_t> (number >> 24)


cdef inline void put64(uint8_t *out, uint64_t number) noexcept nogil:
    put32(out, <uint32_t> number)
    put32(out + 4, <uint32_t> (number >> 32))
