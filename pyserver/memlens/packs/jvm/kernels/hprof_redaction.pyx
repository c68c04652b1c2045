# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes a Java heap dump anew without its values: ids, references, sizes, classes, fields and stacks stay.

The fields and elements of numbers become zeros, and of the file's texts only those stay that name something, as they
are or by other names. What is written is put together from what was decoded: an id of an object that isn't in the file
becomes one that none has, and records that are of no use to readers of heaps are left out.
"""

import os

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy, memset

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal, address_rank,
)
from memlens.kernels.base.counts cimport CountRow, Counts, counts_free, counts_init, counts_row
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.random cimport random_below, random_word, shuffle32, shuffle_items
from memlens.kernels.base.vectors cimport Vector, vector_push, vector_reserve
from memlens.packs.jvm.kernels.hprof cimport (
    ANDROID_HEAP, CLASS_DUMP, CLASS_FIXED_IDS, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, ROOT_JNI_GLOBAL,
    ROOT_THREAD_OBJECT, TYPE_ARRAY, TYPE_INT, TYPE_OBJECT, WHOLE, Load, Record, Records, Segment, TextPlace, Trace,
    id_at, is_object, read_record, type_bytes,
)
from memlens.packs.jvm.kernels.hprof_forms cimport (
    FRAME, HEAP_DUMP_END, HEAP_DUMP_SEGMENT, LOAD_CLASS, TEXT, TRACE, has_its_length, is_known_record,
)
from memlens.packs.jvm.kernels.hprof_order cimport Order, Piece, Sieve, sieve_add, sieve_has
from memlens.packs.jvm.kernels.hprof_survey cimport (
    A_CLASS, A_FILE, A_MEMBER, A_SIGNATURE, HEAD, NO_CLASS, S_WRITE, Layout, Range, Survey,
)
from memlens.kernels.readers.numbers cimport u16_at, u32_at

cdef enum:
    FILLER = 0x78
    MOST_NAME_BYTES = 0xFFFF    # as class files have them
    MOST_WITH_STATUS = 128      # classes of the runtime's, two for each dump in the file
    SHUFFLED_BYTES = 1 << 20    # of an array that is shuffled in the buffer
    AHEAD = 8                   # records or references that are fetched from memory meanwhile
    BATCH = 64                  # elements of a larger one that are fetched from memory at once
    ROUNDS = 8                  # by which its elements are put into another order
    MOST_CONSTANTS = 1 << 10    # of an enum, in its static fields
    MOST_LINE = 0xFFFF          # as class files have them
    LEAST_LINE = -3             # of native methods, compiled ones and unknown lines: negative numbers

cdef uint32_t NO_FRAME = 0xFFFFFFFF

cdef const char *HEAPS = b"\0AIZ"   # the numbers of Android's heaps: default, app, image and zygote


cdef struct NewText:
    uint64_t start, bytes       # in the new texts


cdef struct Constant:
    uint64_t id
    uint8_t *out                # where it is written


cdef class Redaction(Order):
    """A dump that can be written once it has been looked through.

    It is written up to ``damaged_at``, if that isn't -1. Times of records are zeros, unless ``keeps_time`` is set.
    """

    cdef readonly uint64_t needed
    cdef public bint keeps_time
    cdef const uint64_t[::1] kept_offsets, kept_ends
    cdef const uint8_t[::1] kept_bytes, new_bytes
    cdef bint is_ready, replaces    # whether it is known what stays, and whether arrays get other elements
    cdef Py_ssize_t next_kept   # of the record that is written, if it stays
    cdef Sieve kept_sieve
    cdef uint64_t done          # bytes that were written
    cdef bint in_heap           # whether records of a heap are next
    cdef int64_t written_dump
    cdef size_t first_segment   # of that dump
    cdef bint is_begun          # whether it has a segment
    cdef Vector new_texts       # of texts, where they get others
    cdef Vector text_order, new_text_ids
    cdef Vector constants       # of the class that is written
    cdef uint64_t text_number
    cdef const uint8_t *copied
    cdef uint64_t copy_bytes, fill_bytes
    cdef uint8_t filler
    cdef const uint8_t *elements
    cdef uint64_t elements_left, elements_count
    cdef bint mixes_elements
    cdef int low_bits, high_bits    # of a place in a large array
    cdef uint64_t[ROUNDS] element_keys
    cdef bint elements_stay     # whether they lead where they did, although what they lead to is shared
    cdef AddressMap stacks, frames, loads       # by their numbers, which in a copy are those of their order
    cdef Counts threads             # by theirs
    cdef uint32_t last_stack, last_new_stack
    cdef uint32_t most_frames       # of a stack
    cdef uint64_t[MOST_WITH_STATUS] with_status     # classes
    cdef int classes_with_status

    def __cinit__(self, Records records, uint64_t start, bint keeps_numbers, bint keeps_order):
        cdef Load *loads = <Load *> records.loads.data
        cdef Trace *traces = <Trace *> records.traces.data
        cdef uint64_t serial, seed = int.from_bytes(os.urandom(8), "little") | 1
        cdef size_t each
        address_map_init(&self.stacks)
        address_map_init(&self.frames)
        address_map_init(&self.loads)
        counts_init(&self.threads)
        self.threads.seed = seed
        self.own(&self.new_texts, sizeof(NewText))
        self.own(&self.text_order, 4)
        self.own(&self.new_text_ids, 4)
        self.own(&self.constants, sizeof(Constant))
        self.written_dump = -1
        # which no stack has
        self.last_stack = NO_FRAME
        self.ids.count = 0
        for each in range(records.traces.count):
            serial = traces[each].serial
            self.most_frames = max(self.most_frames, traces[each].count)
            if vector_push(&self.ids, &serial) < 0:
                raise MemoryError
        if address_map_build(&self.stacks, <uint64_t *> self.ids.data, self.ids.count, seed) < 0 or address_map_build(
                &self.frames, <uint64_t *> records.frame_ids.data, records.frame_ids.count, seed) < 0:
            raise MemoryError
        self.ids.count = 0
        for each in range(records.loads.count):
            serial = loads[each].serial
            if vector_push(&self.ids, &serial) < 0:
                raise MemoryError
        if address_map_build(&self.loads, <uint64_t *> self.ids.data, self.ids.count, seed) < 0:
            raise MemoryError
        for each in range(records.loads.count):
            if self.classes_with_status < MOST_WITH_STATUS and (
                    self.is_class_name(loads[each].name, b"java/lang/Thread", 16)
                    or self.is_class_name(loads[each].name, b"java/lang/Thread$FieldHolder", 28)):
                self.with_status[self.classes_with_status] = loads[each].id
                self.classes_with_status += 1

    def __dealloc__(self):
        address_map_free(&self.stacks)
        address_map_free(&self.frames)
        address_map_free(&self.loads)
        counts_free(&self.threads)

    @property
    def written(self) -> int:
        """How many bytes of the file have been written anew, so to say: the order isn't that of the file."""
        return self.done

    cdef bint field_stays(self, uint64_t class_id, uint8_t type, uint64_t name) noexcept nogil:
        cdef int each
        if type == TYPE_INT and self.is_text(name, b"threadStatus", 12):
            # whether a thread runs or waits
            for each in range(self.classes_with_status):
                if self.with_status[each] == class_id:
                    return True
        return Survey.field_stays(self, class_id, type, name)

    def keep(self, const uint64_t[::1] offsets):
        """Write the records at these ascending offsets unchanged."""
        self.know_kept(offsets)

    def replace(self, const uint64_t[::1] offsets, const uint64_t[::1] ends, const uint8_t[::1] data: Buffer):
        """Write other elements into the arrays at these ascending offsets: in ``data``, up to an end for each."""
        if ends.shape[0] != offsets.shape[0] or (ends.shape[0] and ends[ends.shape[0] - 1] != <uint64_t> data.shape[0]):
            raise ValueError("an end for each array")
        self.kept_ends, self.kept_bytes, self.replaces = ends, data, True
        self.know_kept(offsets)

    cdef int know_kept(self, const uint64_t[::1] offsets) except -1:
        cdef Py_ssize_t each
        if not self.keeps_order and self.draw_texts() < 0:
            raise MemoryError
        for each in range(offsets.shape[0]):
            sieve_add(&self.kept_sieve, offsets[each])
        self.kept_offsets, self.is_ready = offsets, True

    cdef int draw_texts(self) noexcept nogil:
        """Draw the order of the texts, which is that of their hashes, and ids, which were addresses. -1: no memory."""
        cdef TextPlace *places = <TextPlace *> self.records.text_places.data
        cdef size_t count = self.records.text_ids.count, each
        cdef uint32_t *order
        if vector_reserve(&self.text_order, count + 1) < 0 or vector_reserve(&self.new_text_ids, count + 1) < 0:
            return -1
        order = <uint32_t *> self.text_order.data
        self.text_order.count = 0
        for each in range(count):
            if places[each].offset < self.stop:
                order[self.text_order.count] = <uint32_t> each
                self.text_order.count += 1
        shuffle32(&self.random, order, self.text_order.count)
        memset(self.new_text_ids.data, 0, (count + 1) * 4)
        for each in range(self.text_order.count):
            (<uint32_t *> self.new_text_ids.data)[order[each]] = <uint32_t> (each + 1)
        return 0

    cdef bint is_kept(self, uint64_t offset) noexcept nogil:
        """Return whether a record is one that stays, and set ``next_kept`` to its number."""
        cdef Py_ssize_t low = 0, high = self.kept_offsets.shape[0], middle
        if not sieve_has(&self.kept_sieve, offset):
            return False
        while low < high:
            middle = (low + high) // 2
            if self.kept_offsets[middle] < offset:
                low = middle + 1
            else:
                high = middle
        self.next_kept = low
        return low < self.kept_offsets.shape[0] and self.kept_offsets[low] == offset

    def rename(
        self, const uint64_t[::1] ids, const uint64_t[::1] ends, const uint8_t[::1] data: Buffer,
        bint others_stay=False,
    ):
        """Write the texts of these ids as in ``data``, up to an end for each, or as they are without one.

        Others don't stay, unless ``others_stay``. Raises MemoryError.
        """
        cdef NewText *texts
        cdef NewText text
        cdef Py_ssize_t each
        cdef int64_t number
        cdef size_t count = self.records.text_ids.count
        if ends.shape[0] != ids.shape[0] or (ends.shape[0] and ends[ends.shape[0] - 1] != <uint64_t> data.shape[0]):
            raise ValueError("an end for each text")
        if vector_reserve(&self.new_texts, count + 1) < 0:
            raise MemoryError
        self.new_bytes = data
        texts = <NewText *> self.new_texts.data
        memset(texts, 0, (count + 1) * sizeof(NewText))
        # the bits of texts that don't stay are moved out of the way
        for each in range(0 if others_stay else <Py_ssize_t> count):
            self.named_texts.data[each] <<= 4
        self.new_texts.count = count
        text.start = 0
        for each in range(ids.shape[0]):
            number = address_ordinal(&self.records.texts_by_id, ids[each])
            text.bytes = ends[each] - text.start
            if number >= 0:
                self.named_texts.data[number] |= self.named_texts.data[number] >> 4
                texts[number] = text
            text.start = ends[each]

    def fill(self, uint8_t[::1] out: bytearray) -> int:
        """Write what comes next, and return how many bytes that is; 0 at the end.

        If ``out`` is too small for a record, 0 is returned as well, and ``needed`` is its size. MemoryError.
        """
        cdef size_t done = 0
        cdef int status
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        if self.stage != S_WRITE or not self.is_ready or out.shape[0] == 0:
            raise ValueError("the file has not been looked through, or there is no room")
        self.needed = 0
        with nogil:
            status = self.write(&out[0], out.shape[0], &done, seed)
        if status < 0:
            raise MemoryError
        return done

    cdef int write(self, uint8_t *out, size_t room, size_t *count, uint64_t seed) noexcept nogil:
        cdef Segment *segments = <Segment *> self.records.segments.data
        cdef size_t done = 0, part
        cdef uint64_t needed
        cdef int status
        while True:
            part = <size_t> min(self.copy_bytes, <uint64_t> (room - done))
            if part:
                memcpy(out + done, self.copied, part)
                self.copied += part
            self.copy_bytes -= part
            done += part
            part = <size_t> min(self.fill_bytes, <uint64_t> (room - done))
            memset(out + done, self.filler, part)
            self.fill_bytes -= part
            done += part
            done += self.put_elements(out + done, room - done)
            count[0] = done
            if self.copy_bytes or self.fill_bytes or self.elements_left:
                return 0
            part = 0
            if self.next_piece < self.pieces.count:
                needed = self.put_piece(out + done, room - done, &part)
            elif self.in_heap:
                needed = 0 if room - done >= HEAD else HEAD
                if needed == 0:
                    status = self.take_window()
                    if status < 0:
                        return -1
                    self.in_heap = status > 0
                    if status > 0:
                        self.put_segment(out + done)
                        part = HEAD
            elif self.position >= self.stop:
                return 0
            elif self.is_heap_next():
                needed = 0
                if self.enter(segments[self.segment].dump, seed) < 0:
                    return -1
                if self.written_dump != segments[self.segment].dump:
                    # all that its segments have is written at the first of them
                    self.first_segment, self.written_dump = self.segment, segments[self.segment].dump
                    self.in_heap, self.is_begun = True, False
                    if self.order_chunks() < 0:
                        return -1
                self.position = segments[self.segment].end
                self.segment += 1
            else:
                needed = self.put_record(out + done, room - done, &part)
            if needed:
                count[0] = done
                self.needed = needed if done == 0 else 0
                return 0
            done += part

    cdef void put_segment(self, uint8_t *out) noexcept nogil:
        """Write what stands before a window: the head of a segment, of a kind as the dump's first one."""
        cdef Segment *first = <Segment *> self.records.segments.data + self.first_segment
        cdef const uint8_t *at = self.records.bytes + first.start - HEAD
        self.put_head(out, at)
        if self.is_begun:
            out[0] = HEAP_DUMP_SEGMENT
        self.is_begun = True
        put_u32(out + 5, <uint32_t> self.window_bytes)

    cdef uint64_t put_piece(self, uint8_t *out, size_t room, size_t *count) noexcept nogil:
        """Write the next record of a window, and that of its heap if it is another. Returns 0, or the room it takes."""
        cdef Piece *piece = <Piece *> self.pieces.data + self.next_piece
        cdef const uint8_t *bytes = self.records.bytes
        cdef int id = self.records.id_bytes
        cdef uint64_t needed, head = <uint64_t> (5 + id)
        cdef Record record
        if self.next_piece + AHEAD < self.pieces.count:
            prefetch(bytes + piece[AHEAD].offset)
        if piece.heap and piece.heap != self.window_heap:
            if room < head:
                return head
            out[0] = ANDROID_HEAP
            self.put_heap(out + 1, bytes + piece.heap + 1)
            self.window_heap = piece.heap
            count[0] = head
            return 0
        if read_record(bytes + piece.offset, bytes + self.records.length, id, &record) != WHOLE:
            # the file has changed since it was looked through
            self.pieces.count = 0
            return 0
        needed = self.put(&record, piece, out, room)
        if needed:
            return needed
        if record.tag == ANDROID_HEAP:
            self.window_heap = piece.offset
        count[0] = <size_t> (record.bytes - self.copy_bytes - self.fill_bytes
                             - self.elements_left * <uint64_t> id)
        self.done += record.bytes
        self.next_piece += 1
        return 0

    cdef void copy(self, const uint8_t *at, uint64_t count) noexcept nogil:
        self.copied, self.copy_bytes = at, count

    cdef void fill_with(self, uint8_t filler, uint64_t count) noexcept nogil:
        self.filler, self.fill_bytes = filler, count

    # what numbers refer to

    cdef inline void put_id(self, uint8_t *out, uint64_t id) noexcept nogil:
        if self.records.id_bytes == 8:
            put_u32(out, <uint32_t> (id >> 32))
            out += 4
        put_u32(out, <uint32_t> id)

    cdef inline void put_reference(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write the id of an object, or one that no object has if that isn't in the file."""
        self.put_id(out, self.new_id(self.instead_of(id_at(at, self.records.id_bytes))))

    cdef void put_references(self, uint8_t *out, const uint8_t *at, uint64_t count) noexcept nogil:
        """Write such ids, of which several are fetched from memory at once."""
        cdef uint64_t[AHEAD] ids
        cdef int64_t[AHEAD] ranks
        cdef uint64_t each, batch
        cdef int width = self.records.id_bytes
        while count:
            batch = min(count, <uint64_t> AHEAD)
            for each in range(batch):
                ids[each] = self.instead_of(id_at(at, width))
                ranks[each] = address_rank(&self.known, ids[each])
                if ranks[each] >= 0 and not self.keeps_order:
                    prefetch(<uint32_t *> self.new_numbers.data + ranks[each])
                at += width
            for each in range(batch):
                self.put_id(out, self.id_of_rank(ids[each], ranks[each]))
                out += width
            count -= batch

    cdef void put_text_id(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        cdef uint64_t id = id_at(at, self.records.id_bytes)
        cdef int64_t number = address_ordinal(&self.records.texts_by_id, id)
        if number >= 0 and not self.keeps_order:
            id = (<uint32_t *> self.new_text_ids.data)[number]
        self.put_id(out, id if number >= 0 else 0)

    cdef inline void put_stack(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write the number of a stack, or 0 if the file has none with it."""
        cdef uint32_t serial = u32_at(at)
        if serial != self.last_stack:
            self.last_stack, self.last_new_stack = serial, number_in(&self.stacks, serial)
        put_u32(out, self.last_new_stack)

    cdef void put_thread(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write the number of a thread: the first one that is written has 1, and no thread 0."""
        cdef uint32_t serial = u32_at(at)
        # out of memory, the number is 0, as of an object without a thread
        cdef CountRow *row = counts_row(&self.threads, <uint64_t> serial + 1) if serial else NULL
        if row != NULL and row.first == 0:
            row.first = <uint32_t> self.threads.count
        put_u32(out, 0 if row == NULL else row.first)

    cdef size_t put_elements(self, uint8_t *out, size_t room) noexcept nogil:
        """Write the elements of an array that come next, and return how many bytes that is."""
        cdef size_t width = self.records.id_bytes, each, some, done = 0
        cdef size_t count = <size_t> min(<uint64_t> (room // width), self.elements_left)
        cdef uint64_t first = self.elements_count - self.elements_left
        cdef const uint8_t *at = self.elements + first * width
        cdef const uint8_t* places[BATCH]
        while done < count and self.mixes_elements:
            some = min(count - done, <size_t> BATCH)
            for each in range(some):
                places[each] = self.elements + self.place_of(first + done + each) * width
                prefetch(places[each])
            for each in range(some):
                self.put_element(out + (done + each) * width, places[each])
            done += some
        if not (self.mixes_elements or self.elements_stay):
            self.put_references(out, at, count)
            done = count
        for each in range(done, count):
            self.put_element(out + each * width, at + each * width)
        self.elements_left -= count
        return count * width

    cdef inline void put_element(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        if self.elements_stay:
            self.put_id(out, self.new_id(id_at(at, self.records.id_bytes)))
        else:
            self.put_reference(out, at)

    cdef inline uint64_t place_of(self, uint64_t number) noexcept nogil:
        """Return which element of a large array is written as the one with this number (a Feistel network)."""
        cdef uint64_t low_mask = (<uint64_t> 1 << self.low_bits) - 1, high_mask = (<uint64_t> 1 << self.high_bits) - 1
        cdef uint64_t low, high
        cdef int each
        while True:
            low, high = number & low_mask, number >> self.low_bits
            # each round can be undone, so that no two numbers come to the same place
            for each in range(0, ROUNDS, 2):
                low ^= mixed(high ^ self.element_keys[each]) & low_mask
                high ^= mixed(low ^ self.element_keys[each + 1]) & high_mask
            number = high << self.low_bits | low
            if number < self.elements_count:
                return number

    cdef void begin_elements(self, Record *record) noexcept nogil:
        """Write the elements of an array next."""
        cdef int each, bits = 0
        self.elements, self.elements_left, self.elements_count = record.body, record.number, record.number
        self.elements_stay = self.is_holder(record.id)
        self.mixes_elements = not self.keeps_order and record.body_bytes > SHUFFLED_BYTES
        if self.mixes_elements:
            while record.number > <uint64_t> 1 << bits:
                bits += 1
            self.low_bits, self.high_bits = bits // 2, bits - bits // 2
            for each in range(ROUNDS):
                self.element_keys[each] = <uint64_t> random_word(&self.random) << 32 | random_word(&self.random)

    # records around heaps

    cdef void put_head(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write the tag, the time and the length of a record."""
        out[0] = at[0]
        put_u32(out + 1, u32_at(at + 1) if self.keeps_time else 0)
        put_u32(out + 5, u32_at(at + 5))

    cdef uint64_t put_record(self, uint8_t *out, size_t room, size_t *count) noexcept nogil:
        """Write a record outside of heaps, or the beginning of a text, and go on. Returns 0, or the room that it takes.

        ``count`` gets the bytes that were written. What no reader of heaps asks for is left out.
        """
        cdef const uint8_t *at = self.records.bytes + self.position
        cdef const uint8_t *body = at + HEAD
        cdef uint64_t left = self.stop - self.position, bytes
        cdef int id = self.records.id_bytes
        cdef uint8_t tag = at[0]
        cdef uint32_t each, frames
        cdef int32_t line
        count[0] = 0
        bytes = u32_at(at + 5) if left >= HEAD else 0
        if left < HEAD or left - HEAD < bytes or (is_known_record(tag) and not has_its_length(body, tag, bytes, id)):
            self.end_here()
            return 0
        if tag == TEXT:
            return self.put_text(at, bytes, out, room, count)
        if tag == LOAD_CLASS or tag == FRAME or tag == TRACE or tag == HEAP_DUMP_END:
            if room < HEAD + bytes:
                return HEAD + bytes
            self.put_head(out, at)
            out += HEAD
            count[0] = <size_t> (HEAD + bytes)
        if tag == LOAD_CLASS:
            put_u32(out, number_in(&self.loads, u32_at(body)))
            self.put_id(out + 4, self.new_id(id_at(body + 4, id)))
            self.put_stack(out + 4 + id, body + 4 + id)
            self.put_text_id(out + 8 + id, body + 8 + id)
        elif tag == FRAME:
            self.put_id(out, number_in(&self.frames, id_at(body, id)))
            for each in range(1, 4):
                self.put_text_id(out + each * id, body + each * id)
            put_u32(out + 4 * id, number_in(&self.loads, u32_at(body + 4 * id)))
            line = <int32_t> u32_at(body + 4 * id + 4)
            put_u32(out + 4 * id + 4, <uint32_t> line if LEAST_LINE <= line <= MOST_LINE else 0)
        elif tag == TRACE:
            frames = u32_at(body + 8)
            put_u32(out, number_in(&self.stacks, u32_at(body)))
            self.put_thread(out + 4, body + 4)
            put_u32(out + 8, frames)
            for each in range(frames):
                at = body + 12 + <uint64_t> each * id
                self.put_id(out + 12 + <uint64_t> each * id, number_in(&self.frames, id_at(at, id)))
        self.position += HEAD + bytes
        self.done += HEAD + bytes
        return 0

    cdef uint64_t put_text(
        self, const uint8_t *at, uint64_t bytes, uint8_t *out, size_t room, size_t *count,
    ) noexcept nogil:
        cdef const NewText *new_texts = <NewText *> self.new_texts.data
        cdef TextPlace *place
        cdef uint64_t head = HEAD + <uint64_t> self.records.id_bytes, texts = self.text_order.count, number
        if self.keeps_order:
            texts, number = self.records.text_ids.count, self.text_number
            if self.text_number >= texts:
                self.end_here()
                return 0
        elif self.text_number < texts:
            # all are written at the first one, so that none is missed by what comes then
            number = (<uint32_t *> self.text_order.data)[self.text_number]
        if room < head:
            return head
        if self.keeps_order or self.text_number >= texts:
            self.position += HEAD + bytes
            self.done += HEAD + bytes
        if self.text_number >= texts:
            return 0
        self.text_number += 1
        if not self.keeps_order and not self.named_texts.data[number]:
            return 0
        self.put_head(out, at)
        self.put_id(out + HEAD, id_at(at + HEAD, self.records.id_bytes) if self.keeps_order else self.text_number)
        count[0] = head
        place = <TextPlace *> self.records.text_places.data + number
        at, bytes = self.records.bytes + place.offset, place.count
        if self.new_texts.count and new_texts[number].bytes:
            at, bytes = &self.new_bytes[new_texts[number].start], new_texts[number].bytes
            self.copy(at, bytes)
        elif is_name(at, bytes, self.named_texts.data[number] & 0x0F):
            self.copy(at, bytes)
        else:
            self.fill_with(FILLER, bytes)
        put_u32(out + 5, <uint32_t> (head - HEAD + bytes))
        return 0

    # records of a heap

    cdef uint64_t put(self, Record *record, const Piece *piece, uint8_t *out, size_t room) noexcept nogil:
        """Write a record of a heap, of an array at least what stands before its elements.

        Returns 0, or the room that it takes.
        """
        cdef const uint8_t *at = self.records.bytes + piece.offset
        cdef uint64_t whole = record.bytes
        cdef int id = self.records.id_bytes
        cdef bint stays
        if record.tag == PRIMITIVE_ARRAY_DUMP or (record.tag == OBJECT_ARRAY_DUMP
                                                  and (self.keeps_order or record.body_bytes > SHUFFLED_BYTES)):
            whole = record.bytes - record.body_bytes
        if room < whole:
            return whole
        out[0] = record.tag
        if not is_object(record.tag):
            self.put_root(record, at + 1, out + 1)
            return 0
        stays = self.is_kept(piece.offset)
        self.put_id(out + 1, piece.id)
        self.put_stack(out + 1 + id, at + 1 + id)
        out += 5 + id
        if record.tag == CLASS_DUMP:
            self.put_class(record, at + 5 + id, out)
        elif record.tag == INSTANCE_DUMP:
            self.put_id(out, self.new_id(record.other))
            put_u32(out + id, <uint32_t> record.body_bytes)
            self.put_fields(record, out + id + 4, stays)
        elif record.tag == OBJECT_ARRAY_DUMP:
            put_u32(out, record.number)
            self.put_id(out + 4, self.new_id(record.other))
            self.begin_elements(record)
            if whole == record.bytes:
                self.put_elements(out + 4 + id, <size_t> record.body_bytes)
                shuffle_items(&self.random, out + 4 + id, record.number, id)
        else:
            put_u32(out, record.number)
            out[4] = record.element
            if stays and self.replaces:
                self.put_kept(record.body_bytes)
            elif stays or (self.type_stays(record.element) and record.element != TYPE_INT):
                self.copy(record.body, record.body_bytes)
            else:
                self.fill_with(0, record.body_bytes)
        return 0

    cdef void put_root(self, Record *record, const uint8_t *at, uint8_t *out) noexcept nogil:
        """Write what follows the tag of a root, or of the name of a heap of Android's."""
        cdef int id = self.records.id_bytes, left
        cdef uint32_t number
        if record.tag == ANDROID_HEAP:
            self.put_heap(out, at)
            return
        self.put_reference(out, at)
        if record.tag == ROOT_JNI_GLOBAL:
            # the address of the reference itself, which is in no object
            memset(out + id, 0, id)
            return
        at += id
        out += id
        left = <int> record.bytes - 1 - id
        if left >= 4:
            self.put_thread(out, at)
        if left < 8:
            return
        if record.tag == ROOT_THREAD_OBJECT:
            self.put_stack(out + 4, at + 4)
            return
        number = u32_at(at + 4)
        put_u32(out + 4, number if number < self.most_frames else NO_FRAME)

    cdef void put_heap(self, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write which of Android's heaps follows, and its name."""
        cdef uint32_t number = u32_at(at)
        put_u32(out, number if number <= HEAPS[3] and memchr(HEAPS, <int> number, 4) != NULL else 0)
        self.put_text_id(out + 4, at + 4)

    cdef void put_class(self, Record *record, const uint8_t *at, uint8_t *out) noexcept nogil:
        """Write what follows the stack of a class: numbers among its constants and static fields become zeros."""
        cdef int id = self.records.id_bytes, each, bytes
        cdef const uint8_t *end = record.body + record.body_bytes
        cdef uint32_t row, count
        self.constants.count = 0
        for each in range(CLASS_FIXED_IDS - 1):
            self.put_reference(out + each * id, at + each * id)
        at += (CLASS_FIXED_IDS - 1) * id
        out += (CLASS_FIXED_IDS - 1) * id
        put_u32(out, u32_at(at))
        at += 4
        out += 4
        # constants, which begin with their number, static fields, and fields without a value
        for each in range(3):
            if end - at < 2:
                return
            count = u16_at(at)
            out[0], out[1] = at[0], at[1]
            at += 2
            out += 2
            for row in range(count):
                bytes = 2 if each == 0 else id
                # the file may have changed since it was looked through
                if end - at < bytes + 1 or end - at < bytes + 1 + (
                        type_bytes(at[bytes], id) if each < 2 else 0):
                    return
                if each == 0:
                    # the constants are counted in place of an index of the class's table, which could be anything
                    out[0], out[1] = <uint8_t> (row >> 8), <uint8_t> row
                else:
                    self.put_text_id(out, at)
                out[bytes] = at[bytes]
                at += bytes + 1
                out += bytes + 1
                if each == 2:
                    continue
                bytes = type_bytes((at - 1)[0], id)
                if (at - 1)[0] == TYPE_OBJECT or (at - 1)[0] == TYPE_ARRAY:
                    if each != 1 or not self.put_constant(record.id, out, at):
                        self.put_reference(out, at)
                elif self.type_stays((at - 1)[0]):
                    memcpy(out, at, bytes)
                else:
                    memset(out, 0, bytes)
                at += bytes
                out += bytes
            if each == 1:
                self.mix_constants()

    cdef bint put_constant(self, uint64_t owner, uint8_t *out, const uint8_t *at) noexcept nogil:
        """Write a static field by which a class holds one of the shared values, each of them once."""
        cdef Constant constant
        cdef uint64_t id = id_at(at, self.records.id_bytes)
        cdef size_t each
        if not sieve_has(&self.shared_sieve, id) or self.shared_owner(id) != owner:
            return False
        if self.constants.count >= MOST_CONSTANTS:
            return False
        for each in range(self.constants.count):
            if (<Constant *> self.constants.data)[each].id == id:
                return False
        constant.id, constant.out = id, out
        if vector_push(&self.constants, &constant) < 0:
            return False
        return True

    cdef void mix_constants(self) noexcept nogil:
        """Write these fields, in a random order."""
        cdef Constant *constants = <Constant *> self.constants.data
        cdef size_t each, other
        cdef uint64_t swapped
        for each in range(1, self.constants.count):
            other = random_below(&self.random, each + 1)
            swapped = constants[each].id
            constants[each].id = constants[other].id
            constants[other].id = swapped
        for each in range(self.constants.count):
            self.put_id(constants[each].out, self.new_id(constants[each].id))

    cdef void put_kept(self, uint64_t bytes) noexcept nogil:
        """Write the other elements of an array, or zeros where they are not as many."""
        cdef uint64_t start = self.kept_ends[self.next_kept - 1] if self.next_kept else 0
        if self.kept_ends[self.next_kept] - start == bytes and bytes:
            self.copy(&self.kept_bytes[start], bytes)
        else:
            self.fill_with(0, bytes)

    cdef void put_fields(self, Record *record, uint8_t *out, bint stays) noexcept nogil:
        """Write the references and the fields that stay, and zeros elsewhere.

        Of a string that ``stays``, the name of a thread, also what says how its array is to be read.
        """
        cdef Layout *classes = <Layout *> self.classes.data
        cdef Range *ranges
        cdef int64_t first = self.find_class(record.other).number
        cdef uint32_t walked = NO_CLASS if first < 0 else <uint32_t> first
        cdef uint64_t base = 0, at, bytes, width = <uint64_t> self.records.id_bytes
        cdef uint32_t each
        memset(out, 0, record.body_bytes)
        if walked != NO_CLASS and not classes[walked].field_bytes:
            walked = classes[walked].above
        # each class on the way has fields, so that this ends
        while walked != NO_CLASS and base < record.body_bytes:
            ranges = <Range *> self.ranges.data + classes[walked].first_range
            for each in range(classes[walked].ranges):
                at = base + ranges[each].offset
                if at >= record.body_bytes:
                    return
                bytes = min(<uint64_t> ranges[each].bytes, record.body_bytes - at)
                if not ranges[each].is_ids:
                    memcpy(out + at, record.body + at, bytes)
                    continue
                self.put_references(out + at, record.body + at, bytes // width)
            if stays:
                self.put_form(&classes[walked], record, base, out)
            base += classes[walked].field_bytes
            walked = classes[walked].above

    cdef void put_form(self, Layout *own, Record *record, uint64_t base, uint8_t *out) noexcept nogil:
        """Write the fields of a string that say which part of its array is the text, and in which encoding."""
        cdef const uint8_t *at = self.records.bytes + own.body
        cdef int id = self.records.id_bytes, bytes
        cdef uint64_t end = base + own.field_bytes
        cdef uint32_t _each
        cdef uint64_t name
        for _each in range(u16_at(at)):
            name = id_at(at + 2, id)
            bytes = type_bytes(at[2 + id], id)
            if bytes == 0 or base + bytes > end or end > record.body_bytes:
                return
            if self.is_text(name, b"coder", 5) or self.is_text(name, b"offset", 6) or self.is_text(name, b"count", 5):
                memcpy(out + base, record.body + base, bytes)
            base += bytes
            at += id + 1


cdef inline uint32_t number_in(AddressMap *map, uint64_t id) noexcept nogil:
    """Return the number that is written for one that the file's writer chose, which could say anything; 0 for none."""
    return <uint32_t> (address_ordinal(map, id) + 1)


cdef inline uint64_t mixed(uint64_t number) noexcept nogil:
    """Return a number that has no likeness to those of others."""
    number = (number ^ number >> 33) * 0xFF51AFD7ED558CCDULL
    number = (number ^ number >> 33) * 0xC4CEB9FE1A85EC53ULL
    return number ^ number >> 33


cdef bint is_name(const uint8_t *text, uint64_t bytes, uint8_t what) noexcept nogil:
    """Return whether a text can name one of what it is there for, by the rules of class files.

    Records that a wrong length has made a part of it have zeros. A compiler writes no "@", but messages have it.
    """
    cdef uint64_t each
    cdef uint8_t one
    if bytes > MOST_NAME_BYTES:
        return False
    for each in range(bytes):
        one = text[each]
        if one < 0x20 or one == 0x7F or one == c"@":
            return False
        if one == c"." or one == c"/":
            what &= ~A_MEMBER
        elif one == c";" or one == c"[":
            what &= ~(A_MEMBER | A_FILE)
        elif one == c" ":
            what &= ~(A_SIGNATURE | A_FILE)
    if what & A_SIGNATURE and not (bytes and text[0] == c"("):
        what &= ~A_SIGNATURE
    if what & A_CLASS and memchr(text, c";", bytes) != NULL and not (text[0] == c"[" and text[bytes - 1] == c";"):
        what &= ~A_CLASS
    return what


cdef inline void put_u32(uint8_t *at, uint32_t number) noexcept nogil:
    at[0], at[1] = <uint8_t> (number >> 24), <uint8_t> (number >> 16)
    at[2], at[3] = <uint8_t> (number >> 8), <uint8_t> number
