# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes a Java heap dump anew without its values: ids, references, sizes, classes, fields and stacks stay.

The fields and elements of numbers become zeros, and of the file's texts only those stay that name something, as they
are or by other names.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from memlens.kernels.base.addresses cimport address_ordinal
from memlens.kernels.base.vectors cimport Vector, vector_reserve
from memlens.kernels.readers.hprof cimport (
    CLASS_DUMP, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, TYPE_INT, WHOLE, Load, Record, Records,
    Segment, read_record, type_bytes,
)
from memlens.kernels.readers.hprof_survey cimport (
    CONTROL_SETTINGS, CPU_SAMPLES, END_THREAD, HEAD, HEAP_DUMP_END, LAST_OF_NUMBERS, NO_CLASS, S_WRITE, START_THREAD,
    TEXT, Layout, Range, Survey,
)
from memlens.kernels.readers.numbers cimport u16_at, u32_at

cdef enum:
    FILLER = 0x78
    MOST_WITH_STATUS = 128      # classes of the runtime's, two for each dump in the file


cdef struct NewText:
    uint64_t start, bytes       # in the new texts


cdef class Redaction(Survey):
    """A dump that can be written once it has been looked through.

    After writing ``broken_at`` is the offset from which on the heap could not be read, or -1.
    """

    cdef readonly uint64_t needed
    cdef readonly object broken_at
    cdef const uint64_t[::1] kept_offsets, kept_ends
    cdef const uint8_t[::1] kept_bytes, new_bytes
    cdef bint is_ready, replaces    # whether it is known what stays, and whether arrays get other elements
    cdef Py_ssize_t next_kept
    cdef Vector new_texts       # of texts, where they get others
    cdef uint64_t text_number
    cdef const uint8_t *copied
    cdef uint64_t copy_bytes, fill_bytes
    cdef uint8_t filler
    cdef int64_t broken
    cdef uint64_t[MOST_WITH_STATUS] with_status     # classes
    cdef int classes_with_status

    def __cinit__(self, Records records, uint64_t start, bint keeps_numbers):
        cdef Load *loads = <Load *> records.loads.data
        cdef size_t each
        self.broken_at = -1
        self.own(&self.new_texts, sizeof(NewText))
        for each in range(records.loads.count):
            if self.classes_with_status < MOST_WITH_STATUS and (
                    self.is_text(loads[each].name, b"java/lang/Thread", 16)
                    or self.is_text(loads[each].name, b"java.lang.Thread", 16)
                    or self.is_text(loads[each].name, b"java/lang/Thread$FieldHolder", 28)):
                self.with_status[self.classes_with_status] = loads[each].id
                self.classes_with_status += 1

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
        self.kept_offsets, self.is_ready = offsets, True

    def replace(self, const uint64_t[::1] offsets, const uint64_t[::1] ends, const uint8_t[::1] data):
        """Write other elements into the arrays at these ascending offsets: in ``data``, up to an end for each."""
        if ends.shape[0] != offsets.shape[0] or (ends.shape[0] and ends[ends.shape[0] - 1] != <uint64_t> data.shape[0]):
            raise ValueError("an end for each array")
        self.kept_offsets, self.kept_ends, self.kept_bytes = offsets, ends, data
        self.is_ready = self.replaces = True

    def rename(self, const uint64_t[::1] ids, const uint64_t[::1] ends, const uint8_t[::1] data):
        """Keep only the texts of these ids: by new ones in ``data``, up to an end for each, or as they are without one.

        Raises MemoryError.
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
        memset(self.named_texts.data, 0, count + 1)
        self.new_texts.count = count
        text.start = 0
        for each in range(ids.shape[0]):
            number = address_ordinal(&self.records.texts_by_id, ids[each])
            text.bytes = ends[each] - text.start
            if number >= 0:
                self.named_texts.data[number] = 1
                texts[number] = text
            text.start = ends[each]

    def fill(self, uint8_t[::1] out) -> int:
        """Write what comes next, and return how many bytes that is; 0 at the end.

        If ``out`` is too small for a record, 0 is returned as well, and ``needed`` is its size. MemoryError.
        """
        cdef size_t done = 0
        cdef int status
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        if self.stage != S_WRITE or not self.is_ready or out.shape[0] == 0:
            raise ValueError("the file has not been looked through, or there is no room")
        self.needed = 0
        self.broken = -1
        with nogil:
            status = self.write(&out[0], out.shape[0], &done, seed)
        if status < 0:
            raise MemoryError
        if self.broken >= 0 and self.broken_at < 0:
            self.broken_at = self.broken
        return done

    cdef int write(self, uint8_t *out, size_t room, size_t *count, uint64_t seed) noexcept nogil:
        cdef Segment *segments = <Segment *> self.records.segments.data
        cdef const uint8_t *bytes = self.records.bytes
        cdef size_t done = 0, part
        cdef uint64_t needed
        cdef Record record
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
            count[0] = done
            if self.copy_bytes or self.fill_bytes or (self.position >= self.heap_end and self.position >= self.stop):
                return 0
            if self.position < self.heap_end:
                if read_record(bytes + self.position, bytes + self.heap_end, self.records.id_bytes, &record) != WHOLE:
                    self.skip_broken()
                    continue
                needed = self.put(&record, out + done, room - done)
                if needed == 0:
                    done += <size_t> (record.bytes - self.copy_bytes - self.fill_bytes)
                    self.position += record.bytes
            elif self.is_heap_next():
                needed = 0 if room - done >= HEAD else HEAD
                if needed == 0:
                    memcpy(out + done, bytes + self.position, HEAD)
                    done += HEAD
                    if self.enter(segments[self.segment].dump, seed) < 0:
                        return -1
                    self.position = segments[self.segment].start
                    self.heap_end = segments[self.segment].end
                    self.segment += 1
            else:
                needed = self.put_record(out + done, room - done, &part)
                if needed == 0:
                    done += part
                    if self.position < self.stop:
                        self.position += HEAD + <uint64_t> u32_at(bytes + self.position + 5)
            if needed:
                count[0] = done
                self.needed = needed if done == 0 else 0
                return 0

    cdef void skip_broken(self) noexcept nogil:
        """Leave out the rest of a segment that can't be read, or end with it, if the file is truncated there."""
        if self.broken < 0:
            self.broken = <int64_t> self.position
        if self.heap_end < self.records.length:
            self.fill_bytes, self.filler = self.heap_end - self.position, 0
            self.position = self.heap_end
        else:
            self.position = self.stop = self.heap_end = self.records.length

    cdef void copy(self, const uint8_t *at, uint64_t count) noexcept nogil:
        self.copied, self.copy_bytes = at, count

    cdef void fill_with(self, uint8_t filler, uint64_t count) noexcept nogil:
        self.filler, self.fill_bytes = filler, count

    cdef uint64_t put_record(self, uint8_t *out, size_t room, size_t *count) noexcept nogil:
        """Write the beginning of a record outside of heaps, and note the rest. Returns 0, or the room that it takes.

        ``count`` gets the bytes that were written.
        """
        cdef const uint8_t *at = self.records.bytes + self.position
        cdef const NewText *new_texts = <NewText *> self.new_texts.data
        cdef uint64_t left = self.stop - self.position, bytes, head = HEAD
        cdef bint is_text
        if left < HEAD:
            # the file has changed since the first pass, which ended with a whole record
            self.position, count[0] = self.stop, 0
            return 0
        bytes = min(<uint64_t> u32_at(at + 5), left - HEAD)
        is_text = (at[0] == TEXT and bytes >= <uint64_t> self.records.id_bytes
                   and self.text_number < self.records.text_ids.count)
        if is_text:
            head += <uint64_t> self.records.id_bytes
        if room < head:
            return head
        memcpy(out, at, head)
        count[0] = head
        bytes -= head - HEAD
        if is_text:
            if self.new_texts.count and new_texts[self.text_number].bytes:
                bytes = new_texts[self.text_number].bytes
                put_u32(out + 5, <uint32_t> (head - HEAD + bytes))
                self.copy(&self.new_bytes[new_texts[self.text_number].start], bytes)
            elif self.named_texts.data[self.text_number]:
                self.copy(at + head, bytes)
            else:
                self.fill_with(FILLER, bytes)
            self.text_number += 1
        elif (TEXT < at[0] <= LAST_OF_NUMBERS or at[0] == START_THREAD or at[0] == END_THREAD
                or at[0] == CPU_SAMPLES or at[0] == CONTROL_SETTINGS or at[0] == HEAP_DUMP_END):
            self.copy(at + head, bytes)
        else:
            self.fill_with(0, bytes)
        return 0

    cdef uint64_t put(self, Record *record, uint8_t *out, size_t room) noexcept nogil:
        """Write a record of a heap, an array only up to its elements. Returns 0, or the room that it takes."""
        cdef const uint8_t *at = self.records.bytes + self.position
        cdef uint64_t head = record.bytes - record.body_bytes
        cdef bint is_array = record.tag == PRIMITIVE_ARRAY_DUMP or record.tag == OBJECT_ARRAY_DUMP
        cdef uint64_t whole = head if is_array else record.bytes
        cdef bint stays = False
        if room < whole:
            return whole
        while self.next_kept < self.kept_offsets.shape[0] and self.kept_offsets[self.next_kept] < self.position:
            self.next_kept += 1
        if self.next_kept < self.kept_offsets.shape[0]:
            stays = self.kept_offsets[self.next_kept] == self.position
        memcpy(out, at, whole if record.tag != INSTANCE_DUMP or stays else head)
        if record.tag == OBJECT_ARRAY_DUMP:
            self.copy(record.body, record.body_bytes)
        elif record.tag == PRIMITIVE_ARRAY_DUMP:
            if stays and self.replaces:
                self.put_kept(record.body_bytes)
            elif stays or (self.type_stays(record.element) and record.element != TYPE_INT):
                self.copy(record.body, record.body_bytes)
            else:
                self.fill_with(0, record.body_bytes)
        elif record.tag == INSTANCE_DUMP and not stays:
            self.put_fields(record, out + head)
        elif record.tag == CLASS_DUMP:
            self.remove_statics(out + head, out + whole)
        return 0

    cdef void put_kept(self, uint64_t bytes) noexcept nogil:
        """Write the other elements of an array, or zeros where they are not as many."""
        cdef uint64_t start = self.kept_ends[self.next_kept - 1] if self.next_kept else 0
        if self.kept_ends[self.next_kept] - start == bytes and bytes:
            self.copy(&self.kept_bytes[start], bytes)
        else:
            self.fill_with(0, bytes)

    cdef void put_fields(self, Record *record, uint8_t *out) noexcept nogil:
        """Write the fields that stay, and zeros elsewhere."""
        cdef Layout *classes = <Layout *> self.classes.data
        cdef Range *ranges
        cdef int64_t first = self.class_of(record.other)
        cdef uint32_t walked = NO_CLASS if first < 0 else <uint32_t> first
        cdef uint64_t base = 0, at
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
                memcpy(out + at, record.body + at, min(<uint64_t> ranges[each].bytes, record.body_bytes - at))
            base += classes[walked].field_bytes
            walked = classes[walked].above

    cdef void remove_statics(self, uint8_t *at, const uint8_t *end) noexcept nogil:
        """Remove the values of a class's constants and static fields, which have been written at ``at``."""
        # a constant begins with its number, a static field with the id of its name
        self.remove_typed(self.remove_typed(at, end, 2), end, self.records.id_bytes)

    cdef uint8_t *remove_typed(self, uint8_t *at, const uint8_t *end, int before) noexcept nogil:
        cdef int bytes
        cdef uint32_t _each, count
        if end - at < 2:
            return at
        count = u16_at(at)
        at += 2
        for _each in range(count):
            # the file may have changed between the check of the record and its copy
            bytes = type_bytes(at[before], self.records.id_bytes) if end - at > before else 0
            if bytes == 0 or end - at < before + 1 + bytes:
                break
            if not self.type_stays(at[before]):
                memset(at + before + 1, 0, bytes)
            at += before + 1 + bytes
        return at


cdef inline void put_u32(uint8_t *at, uint32_t number) noexcept nogil:
    at[0], at[1] = <uint8_t> (number >> 24), <uint8_t> (number >> 16)
    at[2], at[3] = <uint8_t> (number >> 8), <uint8_t> number
