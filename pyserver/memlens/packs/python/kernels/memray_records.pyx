# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the records of a memray capture in the order of the file, which are added up meanwhile.

Source: ``records.h``, ``record_writer.cpp`` and ``snapshot.cpp`` in ``src/memray/_memray`` of memray 1.4 to 1.20.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy, memmove

from memlens.kernels.base.interning cimport Interner, intern_units, interner_count, interner_text
from memlens.kernels.base.vectors cimport Vector, vector_extend, vector_push
from memlens.packs.python.kernels.memray_live cimport FREE, MUNMAP, PYMALLOC_FREE, LiveMemory, NativeRow
from memlens.packs.python.kernels.memray_sums cimport (
    E_BAD_NUMBER, E_BAD_REFERENCE, E_LONG_RECORD, E_NO_MEMORY, E_TOO_MUCH, E_UNKNOWN_RECORD, GOT, MOST_ROWS, MOST_SUM,
    PlaceRow, ThreadRow,
)

# statuses of feed; memray.py has the messages
OK, UNKNOWN_RECORD, BAD_NUMBER, BAD_STACK, NO_THREAD = range(5)
BAD_REFERENCE, LONG_RECORD, TOO_MUCH, TOO_MANY, NO_MEMORY = range(5, 10)

cdef enum:
    SHORT = 1   # beside GOT: the record goes on after what is there

cdef enum:
    ADDRESSES = 15          # recent ones that a record may refer to
    MOST_RECORD = 1 << 26   # bytes

# the numbers of the allocators before version 12, by those since
cdef uint8_t[16] SINCE_12 = [0, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 2, 3, 4, 1]

cdef struct Deltas:
    # what the next record of a kind is written as a difference to
    uint64_t instruction, pointer, native, frame
    int64_t line

cdef struct CodeRow:
    uint64_t id
    uint32_t function, file
    int64_t line
    uint64_t table, table_bytes

cdef struct SegmentRow:
    uint64_t address, start, size
    uint32_t file, generation

cdef bytes CODE_FORMAT = b"T{Q:id:I:function:I:file:q:line:Q:table:Q:table_bytes:}"
cdef bytes SEGMENT_FORMAT = b"T{Q:address:Q:start:Q:size:I:file:I:generation:}"


cdef class Reader(LiveMemory):
    """Reads the parts of a capture that ``feed`` gets; ``take`` then moves the tables out."""

    cdef Vector rest
    cdef const uint8_t *data
    cdef size_t end
    cdef uint64_t skipped               # bytes of the header that are to come
    cdef readonly bint ended            # the trailer was read
    cdef readonly bint padded           # there is nothing but zeros
    cdef int version
    cdef bint native
    cdef int64_t start_ms
    cdef Deltas last
    cdef uint64_t[ADDRESSES] recent
    cdef Interner texts
    cdef Vector codes, tables, segments, old_frames
    cdef uint64_t segments_left, segments_address
    cdef uint32_t segments_file

    def __cinit__(self, int version, bint native, bint aggregated, int64_t start_ms, uint64_t header_bytes):
        self.version = version
        self.native = native
        self.aggregated = aggregated
        self.start_ms = start_ms
        self.skipped = header_bytes
        self.own(&self.rest, 1)
        self.own_interner(&self.texts, 1, self.seed)
        self.own_table("codes", &self.codes, sizeof(CodeRow), CODE_FORMAT)
        self.own_table("old_frames", &self.old_frames, sizeof(CodeRow), CODE_FORMAT)
        self.own_table("tables", &self.tables, 1, b"B")
        self.own_table("segments", &self.segments, sizeof(SegmentRow), SEGMENT_FORMAT)
        # before version 12, what precedes the first record of a thread is of thread 0
        if version < 12 and self.switch_to(0) < 0:
            raise MemoryError

    cdef inline int varint(self, uint64_t *result) noexcept nogil:
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef uint8_t byte
        while True:
            if self.at >= self.end:
                return SHORT
            byte = self.data[self.at]
            self.at += 1
            value |= <uint64_t> (byte & 0x7F) << shift
            if byte < 0x80:
                result[0] = value
                return GOT
            shift += 7
            if shift >= 64:
                return self.fail(E_BAD_NUMBER)

    cdef inline int signed(self, int64_t *result) noexcept nogil:
        cdef uint64_t value = 0
        cdef int status = self.varint(&value)
        result[0] = <int64_t> ((value >> 1) ^ (0 - (value & 1)))
        return status

    cdef inline int difference(self, uint64_t *last) noexcept nogil:
        """Add the difference that is next to ``last``."""
        cdef int64_t value = 0
        cdef int status = self.signed(&value)
        if status == GOT:
            last[0] += <uint64_t> value
        return status

    cdef inline int fixed(self, void *result, size_t count) noexcept nogil:
        if self.end - self.at < count:
            return SHORT
        memcpy(result, self.data + self.at, count)
        self.at += count
        return GOT

    cdef int text(self, uint32_t *result) noexcept nogil:
        """Read a text that ends with a zero, and return its number."""
        cdef const uint8_t *start = self.data + self.at
        cdef const uint8_t *zero = <const uint8_t *> memchr(start, 0, self.end - self.at)
        cdef int64_t number
        if zero == NULL:
            return SHORT
        number = intern_units(&self.texts, start, zero - start)
        if number < 0 or number > MOST_ROWS:
            return self.fail(E_NO_MEMORY)
        result[0] = <uint32_t> number
        self.at += zero - start + 1
        return GOT

    # ---- records ----

    cdef int allocation(self, uint8_t flags) noexcept nogil:
        cdef uint32_t known = (flags >> 3) & 15
        cdef uint32_t allocator = flags & 7
        cdef uint64_t address, size = 0
        cdef int status
        cdef bint is_free
        if known == ADDRESSES:
            status = self.difference(&self.last.pointer)
            if status != GOT:
                return status
            address = self.last.pointer << 3
        else:
            address = self.recent[known]
        if allocator == 0:
            if self.at >= self.end:
                return SHORT
            allocator = self.data[self.at]
            self.at += 1
            if allocator == 0 or allocator > MUNMAP:
                return self.fail(E_UNKNOWN_RECORD)
        is_free = allocator == FREE or allocator == PYMALLOC_FREE
        if not is_free:
            if self.native:
                status = self.difference(&self.last.native)
                if status != GOT:
                    return status
            status = self.varint(&size)
            if status != GOT:
                return status
        if known == ADDRESSES:
            memmove(&self.recent[1], &self.recent[0], (ADDRESSES - 1) * sizeof(uint64_t))
            self.recent[0] = address
        if is_free or allocator == MUNMAP:
            return self.freed(allocator, address, size)
        return self.allocated(allocator, address, size, self.last.native if self.native else 0)

    cdef int old_allocation(self, uint32_t allocator, bint with_native) noexcept nogil:
        cdef uint64_t size = 0
        cdef int status = self.difference(&self.last.pointer)
        cdef bint is_free
        if status != GOT:
            return status
        allocator = SINCE_12[allocator]
        if allocator == 0:
            return self.fail(E_UNKNOWN_RECORD)
        is_free = allocator == FREE or allocator == PYMALLOC_FREE
        if with_native or not is_free:
            status = self.varint(&size)
            if status != GOT:
                return status
        if with_native:
            status = self.difference(&self.last.native)
            if status != GOT:
                return status
        if is_free or allocator == MUNMAP:
            return self.freed(allocator, self.last.pointer, size)
        return self.allocated(allocator, self.last.pointer, size, self.last.native if with_native else 0)

    cdef int object_record(self, uint8_t flags) noexcept nogil:
        """Skip a record of an object of Python, which isn't an allocation."""
        cdef uint32_t known = (flags >> 1) & 15
        cdef int status
        if known == ADDRESSES:
            status = self.difference(&self.last.pointer)
            if status != GOT:
                return status
        if self.native and flags & 1:
            status = self.difference(&self.last.native)
            if status != GOT:
                return status
        if known == ADDRESSES:
            memmove(&self.recent[1], &self.recent[0], (ADDRESSES - 1) * sizeof(uint64_t))
            self.recent[0] = self.last.pointer << 3
        return GOT

    cdef int surviving_object(self) noexcept nogil:
        cdef uint64_t skipped = 0
        cdef int status = self.varint(&skipped)
        if status == GOT and self.native:
            status = self.varint(&skipped)
        return status

    cdef int frame_push(self, uint8_t flags) noexcept nogil:
        cdef uint64_t code = 0
        cdef int64_t offset = 0
        cdef int status = self.varint(&code)
        if status == GOT:
            status = self.signed(&offset)
        return self.push(code, <uint64_t> offset, flags & 1) if status == GOT else status

    cdef int code_object(self) noexcept nogil:
        cdef CodeRow row
        cdef uint64_t line = 0
        cdef int status = self.varint(&row.id)
        if status == GOT:
            status = self.text(&row.function)
        if status == GOT:
            status = self.text(&row.file)
        if status == GOT:
            line = <uint64_t> self.last.line
            status = self.difference(&line)
        if status == GOT:
            status = self.varint(&row.table_bytes)
        if status != GOT:
            return status
        if row.table_bytes > MOST_RECORD:
            return self.fail(E_LONG_RECORD)
        if self.end - self.at < row.table_bytes:
            return SHORT
        self.last.line = <int64_t> line
        row.line = self.last.line
        row.table = self.tables.count
        if (
            vector_extend(&self.tables, self.data + self.at, row.table_bytes) < 0
            or vector_push(&self.codes, &row) < 0
        ):
            return self.fail(E_NO_MEMORY)
        self.at += row.table_bytes
        return GOT

    cdef int old_frame(self, uint64_t id, bint is_entry, uint32_t function, uint32_t file, int64_t line) noexcept nogil:
        """Keep what a frame is called that older versions number; of several with one number the first counts."""
        cdef int64_t number = self.frame_number(id, 0, 0)
        cdef CodeRow row
        if number < 0:
            return -1
        row.id = <uint64_t> number
        row.function = function
        row.file = file
        row.line = line
        row.table = is_entry
        row.table_bytes = 0
        return self.fail(E_NO_MEMORY) if vector_push(&self.old_frames, &row) < 0 else GOT

    cdef int frame_index(self, uint8_t flags) noexcept nogil:
        cdef uint32_t function = 0, file = 0
        cdef uint64_t line = <uint64_t> self.last.line
        cdef int status = self.difference(&self.last.frame)
        if status == GOT:
            status = self.text(&function)
        if status == GOT:
            status = self.text(&file)
        if status == GOT:
            status = self.difference(&line)
        if status != GOT:
            return status
        self.last.line = <int64_t> line
        return self.old_frame(self.last.frame, not flags & 1, function, file, <int32_t> line)

    cdef int native_frame(self) noexcept nogil:
        cdef NativeRow row
        cdef int status = self.difference(&self.last.instruction)
        if status == GOT:
            status = self.difference(&self.last.native)
        if status != GOT:
            return status
        row.instruction = self.last.instruction
        row.parent = self.last.native
        if row.parent > self.natives.count or self.natives.count >= <size_t> MOST_ROWS:
            return self.fail(E_BAD_REFERENCE)
        return self.fail(E_NO_MEMORY) if vector_push(&self.natives, &row) < 0 else GOT

    cdef int segment_header(self) noexcept nogil:
        cdef uint32_t file = 0
        cdef uint64_t count = 0, address = 0
        cdef int status = self.text(&file)
        if status == GOT:
            status = self.varint(&count)
        if status == GOT:
            status = self.fixed(&address, 8)
        if status == GOT:
            self.segments_file = file
            self.segments_left = count
            self.segments_address = address
        return status

    cdef int segment(self) noexcept nogil:
        cdef SegmentRow row
        cdef int status
        if self.data[self.at] != 8:
            return self.fail(E_UNKNOWN_RECORD)
        self.at += 1
        status = self.fixed(&row.start, 8)
        if status == GOT:
            status = self.varint(&row.size)
        if status != GOT:
            return status
        row.address = self.segments_address
        row.file = self.segments_file
        row.generation = self.generation
        self.segments_left -= 1
        return self.fail(E_NO_MEMORY) if vector_push(&self.segments, &row) < 0 else GOT

    cdef int thread_name(self) noexcept nogil:
        cdef uint32_t name = 0
        cdef int status = self.text(&name)
        if status == GOT and self.in_thread:
            (<ThreadRow *> self.threads.data)[self.thread].name = name + 1
        return status

    cdef int memory_record(self) noexcept nogil:
        cdef uint64_t resident = 0, time_ms = 0
        cdef int status = self.varint(&resident)
        if status == GOT:
            status = self.varint(&time_ms)
        return self.remember(time_ms + <uint64_t> self.start_ms, resident, self.now) if status == GOT else status

    cdef int context_switch(self) noexcept nogil:
        cdef uint64_t id = 0
        cdef int status = self.fixed(&id, 8)
        return self.switch_to(id) if status == GOT else status

    # those of both kinds of captures
    cdef int shared_record(self, uint8_t kind) noexcept nogil:
        if kind == 5:
            return self.native_frame()
        if kind == 6:
            self.generation += 1
            return GOT
        if kind == 7:
            return self.segment_header()
        if kind == 10:
            return self.thread_name()
        if kind == 12:
            return self.context_switch()
        if kind == 14 and self.version >= 12:
            return self.code_object()
        self.at -= 1
        return self.fail(E_UNKNOWN_RECORD)

    cdef int record(self) noexcept nogil:
        cdef uint8_t byte
        if self.segments_left:
            return self.segment()
        byte = self.data[self.at]
        self.at += 1
        if self.aggregated:
            return self.aggregated_record(byte)
        if self.version < 12:
            return self.old_record(byte & 15, byte >> 4)
        if byte & 0x80:
            return self.allocation(byte & 0x7F)
        if byte & 0x40:
            return self.frame_push(byte)
        if byte & 0x20:
            return self.object_record(byte & 0x1F)
        if byte & 0x10:
            return self.pop((byte & 15) + 1)
        if byte == 0:
            self.padded = True
            return GOT
        if byte == 1:
            self.ended = True
            return GOT
        if byte == 2:
            return self.memory_record()
        return self.shared_record(byte)

    cdef int old_record(self, uint8_t kind, uint8_t flags) noexcept nogil:
        if kind == 1 or kind == 2:
            return self.old_allocation(flags, kind == 2)
        if kind == 3:
            return self.frame_index(flags)
        if kind == 4:
            if self.difference(&self.last.frame) == SHORT:
                return SHORT
            return self.push(self.last.frame, 0, 0) if self.error == 0 else -1
        if kind == 9:
            return self.pop(flags + 1)
        if kind == 11:
            return self.memory_record()
        if kind == 0 and flags == 0:
            self.padded = True
            return GOT
        if kind == 0 and flags == 1:
            self.ended = True
            return GOT
        return self.shared_record(kind)

    # ---- aggregated captures ----

    cdef int aggregated_record(self, uint8_t kind) noexcept nogil:
        cdef uint64_t[3] snapshot
        cdef int status
        if kind == 1:
            status = self.fixed(snapshot, 24)
            return self.remember(snapshot[0], snapshot[1], snapshot[2]) if status == GOT else status
        if kind == 2:
            return self.sums()
        if kind == 3:
            return self.trace_index()
        if kind == 4:
            return self.old_frame_index() if self.version < 12 else self.frame_index_since_12()
        if kind == 13 and self.version >= 12:
            return self.surviving_object()
        if kind == 15:
            self.ended = True
            return GOT
        if kind == 0:
            self.padded = True
            return GOT
        return self.shared_record(kind)

    cdef int sums(self) noexcept nogil:
        """Read what one place had at the peak and at the end."""
        # thread, allocator and padding, native frame, stack, generation; counts at the peak and the end, bytes likewise
        cdef uint64_t[9] row
        cdef int status = self.fixed(row, 72)
        cdef int64_t number
        cdef PlaceRow *place
        cdef size_t each
        if status != GOT:
            return status
        self.allocations += 1
        if self.switch_to(row[0]) < 0:
            return -1
        row[1] &= 0xFF
        if self.version < 12:
            row[1] = SINCE_12[row[1] & 15] if row[1] < 16 else 0
        if row[1] == 0 or row[1] > MUNMAP or row[2] > self.natives.count or row[3] > interner_count(&self.nodes):
            return self.fail(E_BAD_REFERENCE)
        for each in range(5, 9):
            if row[each] >= MOST_SUM:
                self.impossible_rows += 1
                return GOT
        self.total_bytes += <double> row[7] + <double> row[8]
        if self.total_bytes >= <double> MOST_SUM:
            return self.fail(E_TOO_MUCH)
        number = self.place_of(
            row[3] | row[2] << 32, <uint64_t> self.thread << 40 | <uint64_t> <uint32_t> row[4] << 8 | row[1]
        )
        if number < 0:
            return -1
        place = &(<PlaceRow *> self.places.data)[number]
        # memray leaves out what has no allocations
        if row[5]:
            place.peak_count += <int64_t> row[5]
            place.peak_bytes += <int64_t> row[7]
        if row[6]:
            place.count += <int64_t> row[6]
            place.bytes += <int64_t> row[8]
        return GOT

    cdef int trace_index(self) noexcept nogil:
        cdef uint64_t frame = 0, parent = 0
        cdef uint32_t old_parent = 0
        cdef int64_t number
        cdef int status
        if self.version < 12:
            status = self.fixed(&frame, 8)
            if status == GOT:
                status = self.fixed(&old_parent, 4)
                parent = old_parent
        else:
            status = self.varint(&frame)
            if status == GOT:
                status = self.varint(&parent)
        if status != GOT:
            return status
        if self.version < 12:
            number = self.frame_number(frame, 0, 0)
        else:
            number = <int64_t> frame if frame < interner_count(&self.frames) else self.fail(E_BAD_REFERENCE)
        if number < 0:
            return -1
        if parent > interner_count(&self.nodes):
            return self.fail(E_BAD_REFERENCE)
        return GOT if self.child(parent, number) >= 0 else -1

    cdef int old_frame_index(self) noexcept nogil:
        cdef uint64_t id = 0
        cdef uint32_t function = 0, file = 0
        cdef int32_t line = 0
        cdef uint8_t is_entry = 0
        cdef int status = self.fixed(&id, 8)
        if status == GOT:
            status = self.text(&function)
        if status == GOT:
            status = self.text(&file)
        if status == GOT:
            status = self.fixed(&line, 4)
        if status == GOT:
            status = self.fixed(&is_entry, 1)
        return self.old_frame(id, is_entry != 0, function, file, line) if status == GOT else status

    cdef int frame_index_since_12(self) noexcept nogil:
        cdef uint64_t id = 0, code = 0
        cdef int64_t offset = 0, number
        cdef uint8_t is_entry = 0
        cdef int status = self.varint(&id)
        if status == GOT:
            status = self.varint(&code)
        if status == GOT:
            status = self.signed(&offset)
        if status == GOT:
            status = self.fixed(&is_entry, 1)
        if status != GOT:
            return status
        number = self.frame_number(code, <uint64_t> offset, is_entry != 0)
        if number < 0:
            return -1
        return GOT if <uint64_t> number == id else self.fail(E_BAD_REFERENCE)

    # ---- the whole ----

    cdef int run(self) noexcept nogil:
        cdef Deltas before
        cdef size_t start
        cdef int status
        while self.at < self.end and not self.ended:
            start = self.at
            if self.padded:
                if self.data[start] != 0:
                    return self.fail(E_UNKNOWN_RECORD)
                self.at += 1
                continue
            before = self.last
            status = self.record()
            if status == SHORT:
                self.at = start
                self.last = before
                break
            if status < 0:
                return -1
        if self.ended:
            self.at = self.end
        return 0

    def feed(self, const uint8_t[::1] chunk: Buffer) -> int:
        """Read the next bytes. Returns OK, or the error, after which nothing more is read."""
        cdef size_t begin = 0, length = chunk.shape[0]
        if self.error:
            return self.error
        if self.skipped:
            begin = <size_t> min(self.skipped, <uint64_t> length)
            self.skipped -= begin
            self.position += begin
        if begin == length:
            return OK
        with nogil:
            if self.rest.count + length - begin > MOST_RECORD:
                self.fail(E_LONG_RECORD)
            elif vector_extend(&self.rest, &chunk[begin], length - begin) < 0:
                self.fail(E_NO_MEMORY)
            else:
                self.data = self.rest.data
                self.end = self.rest.count
                self.at = 0
                self.run()
                memmove(self.rest.data, self.rest.data + self.at, self.end - self.at)
                self.rest.count = self.end - self.at
                self.position += self.at
                self.at = 0
        if self.error == E_NO_MEMORY:
            raise MemoryError
        return self.error

    def text_at(self, size_t number) -> str:
        """Return a text by its number. Raises IndexError."""
        if number >= interner_count(&self.texts):
            raise IndexError(number)
        return interner_text(&self.texts, number)
