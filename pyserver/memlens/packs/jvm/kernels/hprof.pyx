# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The first pass over a Java heap dump: reads texts, classes, frames and stacks, and locates the heaps.

Heaps are skipped: ``hprof_objects`` and ``hprof_references`` read their records. A file may have several dumps, one
after the other, which share texts, classes and frames.
"""

import os

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcpy

from memlens.kernels.base.addresses cimport address_map_build, address_map_free, address_map_init, address_ordinal
from memlens.kernels.base.interning cimport intern_units, interner_text
from memlens.kernels.base.vectors cimport column_of, vector_push
from memlens.packs.jvm.kernels.hprof_forms cimport (
    ALLOC_SITES, CONTROL_SETTINGS, CPU_SAMPLES, END_THREAD, FRAME, HEAP_DUMP, HEAP_DUMP_END, HEAP_DUMP_SEGMENT,
    HEAP_SUMMARY, LOAD_CLASS, START_THREAD, TEXT, TRACE, UNLOAD_CLASS,
)

OK, MORE, NO_MEMORY, TOO_MANY, CHANGED = RUN_OK, RUN_MORE, RUN_NO_MEMORY, RUN_TOO_MANY, RUN_CHANGED
ENDED_WHOLE, ENDED_CUT, ENDED_UNKNOWN_TAG, ENDED_BAD_TYPE = WHOLE, CUT, UNKNOWN_TAG, BAD_TYPE

MOST_NAME_BYTES = NAME_BYTES

cdef enum:
    HEAD = 9                # tag, time, length
    NAME_BYTES = 4096       # the most bytes of a name; longer ones are shortened
    MOST_RECORDS = 0x7FFFFFF0

cdef uint64_t FOUR_GIB = <uint64_t> 1 << 32


cdef class Records(Owner):
    """Reads the records of a mapped dump from the byte ``start`` on, which follows the file's header.

    ``time_ms`` is the time in the header. After the last run ``ended`` is ENDED_WHOLE, or the reason why reading ended
    at the byte ``offset``.
    """

    def __cinit__(self, const uint8_t[::1] data: Buffer, uint64_t start, int id_bytes, uint64_t time_ms):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        if id_bytes != 4 and id_bytes != 8:
            raise ValueError("ids have 4 or 8 bytes")
        self.data = data
        self.length = <uint64_t> data.shape[0]
        self.bytes = &data[0] if self.length else NULL
        self.offset = min(start, self.length)
        self.id_bytes = id_bytes
        self.time_ms = time_ms
        self.ended = WHOLE
        self.own(&self.text_ids, 8)
        self.own(&self.text_places, sizeof(TextPlace))
        self.own(&self.loads, sizeof(Load))
        self.own(&self.frame_ids, 8)
        self.own(&self.frame_rows, sizeof(FrameRow))
        self.own(&self.traces, sizeof(Trace))
        self.own(&self.trace_frames, 8)
        self.own(&self.segments, sizeof(Segment))
        address_map_init(&self.texts_by_id)
        self.own_interner(&self.names, 1, seed)
        if intern_units(&self.names, "", 0) < 0:
            raise MemoryError

    def __dealloc__(self):
        address_map_free(&self.texts_by_id)

    def run(self, uint64_t limit) -> int:
        """Continue to about the byte ``limit``, and return a status. After OK texts can be looked up."""
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        cdef uint64_t end = min(limit, self.length)
        with nogil:
            while self.code == RUN_OK and self.ended == WHOLE and self.offset < end:
                self.code = self._record()
            if self.code == RUN_OK and (self.ended != WHOLE or self.offset >= self.length):
                if self.texts_by_id.slots == NULL and address_map_build(
                        &self.texts_by_id, <uint64_t *> self.text_ids.data, self.text_ids.count, seed) < 0:
                    self.code = RUN_NO_MEMORY
        if self.code != RUN_OK or self.texts_by_id.slots != NULL:
            return self.code
        return RUN_MORE

    cdef int _record(self) noexcept nogil:
        cdef const uint8_t *at = self.bytes + self.offset
        cdef uint64_t bytes, start = self.offset + HEAD
        cdef uint8_t tag = at[0]
        cdef int code = RUN_OK
        if self.length - self.offset < HEAD:
            self.ended = CUT
            return RUN_OK
        bytes = u32_at(at + 5)
        if tag == HEAP_DUMP or tag == HEAP_DUMP_SEGMENT:
            return self._segment(tag, start, bytes, u32_at(at + 1))
        if bytes > self.length - start:
            self.ended = CUT if TEXT <= tag <= HEAP_DUMP_END else UNKNOWN_TAG
            return RUN_OK
        if tag == TEXT:
            code = self._text(start, bytes)
        elif tag == LOAD_CLASS:
            code = self._load(at + HEAD, bytes)
        elif tag == FRAME:
            code = self._frame(at + HEAD, bytes)
        elif tag == TRACE:
            code = self._trace(at + HEAD, bytes)
        elif tag == HEAP_DUMP_END:
            if self.segments.count > self.first_segment:
                self.dumps += 1
                self.first_segment = <uint32_t> self.segments.count
        elif tag not in (UNLOAD_CLASS, ALLOC_SITES, HEAP_SUMMARY, START_THREAD, END_THREAD, CPU_SAMPLES,
                         CONTROL_SETTINGS):
            # a file has zeros where nothing was written
            if tag == 0 or (start + bytes < self.length and self.bytes[start + bytes] == 0):
                self.ended = UNKNOWN_TAG
                return RUN_OK
            self.unknown_records += 1
        if tag < 64:
            self.tags |= <uint64_t> 1 << tag
        self.offset = start + bytes
        return code

    cdef int _text(self, uint64_t at, uint64_t bytes) noexcept nogil:
        cdef TextPlace place
        cdef uint64_t id
        if bytes < <uint64_t> self.id_bytes:
            return RUN_OK
        if self.text_ids.count >= MOST_RECORDS:
            return RUN_TOO_MANY
        id = id_at(self.bytes + at, self.id_bytes)
        place.offset = at + <uint64_t> self.id_bytes
        place.count = bytes - <uint64_t> self.id_bytes
        if vector_push(&self.text_ids, &id) < 0 or vector_push(&self.text_places, &place) < 0:
            return RUN_NO_MEMORY
        return RUN_OK

    cdef int _load(self, const uint8_t *body, uint64_t bytes) noexcept nogil:
        cdef Load load
        if bytes < 8 + 2 * <uint64_t> self.id_bytes:
            return RUN_OK
        load.serial = u32_at(body)
        load.id = id_at(body + 4, self.id_bytes)
        load.name = id_at(body + 8 + self.id_bytes, self.id_bytes)
        load.unused = 0
        return RUN_OK if vector_push(&self.loads, &load) == 0 else RUN_NO_MEMORY

    cdef int _frame(self, const uint8_t *body, uint64_t bytes) noexcept nogil:
        cdef FrameRow row
        cdef uint64_t id
        if bytes < 8 + 4 * <uint64_t> self.id_bytes:
            return RUN_OK
        id = id_at(body, self.id_bytes)
        row.method = id_at(body + self.id_bytes, self.id_bytes)
        row.signature = id_at(body + 2 * self.id_bytes, self.id_bytes)
        row.file = id_at(body + 3 * self.id_bytes, self.id_bytes)
        row.class_serial = u32_at(body + 4 * self.id_bytes)
        row.line = <int32_t> u32_at(body + 4 * self.id_bytes + 4)
        if vector_push(&self.frame_ids, &id) < 0 or vector_push(&self.frame_rows, &row) < 0:
            return RUN_NO_MEMORY
        return RUN_OK

    cdef int _trace(self, const uint8_t *body, uint64_t bytes) noexcept nogil:
        cdef Trace trace
        cdef uint64_t id
        cdef uint32_t each
        if bytes < 12:
            return RUN_OK
        trace.serial = u32_at(body)
        trace.thread = u32_at(body + 4)
        trace.count = <uint32_t> min(<uint64_t> u32_at(body + 8), (bytes - 12) // <uint64_t> self.id_bytes)
        trace.first = self.trace_frames.count
        trace.unused = 0
        for each in range(trace.count):
            id = id_at(body + 12 + <uint64_t> each * self.id_bytes, self.id_bytes)
            if vector_push(&self.trace_frames, &id) < 0:
                return RUN_NO_MEMORY
        return RUN_OK if vector_push(&self.traces, &trace) == 0 else RUN_NO_MEMORY

    cdef int _segment(self, uint8_t tag, uint64_t start, uint64_t bytes, uint32_t micros) noexcept nogil:
        """Add a segment of a heap, and skip it.

        HotSpot up to version 8 writes the length of a segment once it is complete, so that the last one of an
        interrupted dump has a length of 0. In a record of more than 4 GiB the upper bits of the length are missing.
        """
        cdef Segment segment
        cdef uint64_t end = start + bytes
        if tag == HEAP_DUMP and self.segments.count > self.first_segment:
            self.dumps += 1
            self.first_segment = <uint32_t> self.segments.count
        if bytes == 0 and start < self.length and not self._may_begin_at(start):
            end = self.length
            self.ended = CUT
        elif tag == HEAP_DUMP:
            while end < self.length and not self._may_begin_at(end):
                end += FOUR_GIB
        if end > self.length:
            end = self.length
            self.ended = CUT
        segment.start = start
        segment.end = end
        segment.micros = micros
        segment.dump = self.dumps
        segment.unused = 0
        self.offset = end
        return RUN_OK if vector_push(&self.segments, &segment) == 0 else RUN_NO_MEMORY

    cdef bint _may_begin_at(self, uint64_t at) noexcept nogil:
        """Return whether a record may begin at ``at``, which may be cut off by the end of the file."""
        cdef uint8_t tag = self.bytes[at]
        cdef uint64_t left = self.length - at, bytes
        if not (TEXT <= tag <= HEAP_SUMMARY or START_THREAD <= tag <= CONTROL_SETTINGS
                or tag == HEAP_DUMP_SEGMENT or tag == HEAP_DUMP_END):
            return False
        if left < HEAD:
            return True
        bytes = u32_at(self.bytes + at + 5)
        if tag == HEAP_DUMP_END:
            return bytes == 0
        return tag == HEAP_DUMP or tag == HEAP_DUMP_SEGMENT or bytes <= left - HEAD

    # texts

    cdef int64_t intern(self, const uint8_t *text, size_t count) noexcept nogil:
        """Return the number of a text, from 1; 0 for an empty one, -1 if out of memory."""
        cdef int64_t number
        cdef uint8_t shortened[NAME_BYTES]
        if count <= NAME_BYTES:
            number = intern_units(&self.names, text, count)
        else:
            memcpy(shortened, text, NAME_BYTES - 3)
            count = NAME_BYTES - 3
            # cut between characters
            while count and (text[count] & 0xC0) == 0x80:
                count -= 1
            memcpy(shortened + count, "\xe2\x80\xa6", 3)
            number = intern_units(&self.names, shortened, count + 3)
        return number if number < MOST_RECORDS else -1

    cdef int64_t name(self, uint64_t text) noexcept nogil:
        """Return the number of the text with this id, 0 if the file has none, -1 if out of memory."""
        cdef int64_t number = address_ordinal(&self.texts_by_id, text)
        cdef TextPlace *place
        if number < 0:
            return 0
        place = <TextPlace *> self.text_places.data + number
        return self.intern(self.bytes + place.offset, place.count)

    def text(self, uint64_t text) -> str:
        """Return the text with this id, or "" if the file has none. Raises MemoryError."""
        cdef int64_t number = self.name(text)
        if number < 0:
            raise MemoryError
        return interner_text(&self.names, <size_t> number)

    def text_at(self, size_t number) -> str:
        """Return the text of a number from :meth:`named` or from a column. Raises IndexError."""
        if number + 1 >= self.names.starts.count:
            raise IndexError(number)
        return interner_text(&self.names, number)

    def named(self, str text) -> int:
        """Return the number of a text that needn't be in the file; a new one is added. Raises MemoryError."""
        cdef bytes encoded = text.encode("utf-8", "replace")
        cdef int64_t number = self.intern(<const uint8_t *> <char *> encoded, len(encoded))
        if number < 0:
            raise MemoryError
        return number

    def take_texts(self) -> tuple[Buffer, Buffer]:
        """Move out all texts: their bytes, and the offset at which each starts, followed by the end of the last."""
        return column_of(&self.names.units, b"B"), column_of(&self.names.starts, b"Q")

    # tables

    def has(self, int tag) -> bool:
        """Return whether the file has a record with this tag, which is below 64, outside heaps."""
        return self.tags >> tag & 1 == 1

    def take_loads(self) -> Buffer:
        """Move out the loaded classes, three ``uint64`` each: id, id of the name, serial number."""
        self.loads.item_bytes, self.loads.count = 8, self.loads.count * 3
        return column_of(&self.loads, b"Q")

    def take_frames(self) -> tuple[Buffer, Buffer]:
        """Move out the ids of frames, and four ``uint64`` for each: method, signature and file (ids of texts), and one
        that holds the serial number of the class and the line.
        """
        self.frame_rows.item_bytes, self.frame_rows.count = 8, self.frame_rows.count * 4
        return column_of(&self.frame_ids, b"Q"), column_of(&self.frame_rows, b"Q")

    def take_traces(self) -> tuple[Buffer, Buffer]:
        """Move out the stacks and the ids of their frames (``uint64``).

        A stack is six ``uint32``: serial number, thread, index of the first frame (two of them), number of frames, and
        an unused one.
        """
        self.traces.item_bytes, self.traces.count = 4, self.traces.count * 6
        return column_of(&self.traces, b"I"), column_of(&self.trace_frames, b"Q")

    @property
    def dump_count(self) -> int:
        """The number of dumps in the file."""
        return self.dumps + (self.segments.count > self.first_segment)

    def dump_micros(self, uint32_t dump) -> int:
        """Return when a dump was written, in microseconds after the time in the file's header."""
        cdef Segment *segments = <Segment *> self.segments.data
        cdef size_t each
        for each in range(self.segments.count):
            if segments[each].dump == dump:
                return segments[each].micros
        return 0
