# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the messages of heapprofd in a trace of Perfetto into columns, with the file's ids.

Source: ``profile_packet.proto``, ``profile_common.proto`` and ``interned_data.proto`` of Perfetto. Unknown fields are
skipped; repeated numbers may be packed or not. No number from the file is used as an index here.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector
from memlens.kernels.readers.protobuf cimport (
    BYTES, E_OK, VARINT, Reader, done, inside, keep_number, more, numbers, push, read_length, reader_of, skip, varint
)

OK, TRUNCATED, BAD_TAG, BAD_WIRE, NO_MEMORY = range(5)
"""Statuses."""

LOCAL, FUNCTIONS, BUILD_IDS, PATHS, SOURCES = range(5)
"""Kinds of texts: those of a profile's own tables, and four of interned data."""

FROM_STARTUP, REJECTED, DISCONNECTED, OVERRAN, CORRUPTED, GUARDRAIL, STARTED = 1, 2, 4, 8, 16, 32, 64
"""Bits of a heap's ``flags``; STARTED: it says when what it has begins."""

AT_MAXIMUM = 1
"""A sample has sizes at the maximum."""

cdef enum:
    T_LOCAL, T_FUNCTION, T_BUILD_ID, T_PATH, T_SOURCE
    # bits of a heap's flags
    H_FROM_STARTUP = 1
    H_REJECTED = 2
    H_DISCONNECTED = 4
    H_OVERRAN = 8
    H_CORRUPTED = 16
    H_GUARDRAIL = 32
    H_STARTED = 64
    # CLIENT_ERROR_HIT_TIMEOUT
    HIT_TIMEOUT = 1

TEXT_FORMAT = b"T{<Q:scope:<Q:kind:<Q:iid:<Q:buffer:<Q:start:<Q:end:}"
MAPPING_FORMAT = (
    b"T{<Q:scope:<Q:iid:<Q:build_id:<Q:start_offset:<Q:start:<Q:end:<Q:load_bias:<Q:first:<Q:exact_offset:<Q:count:}"
)
FRAME_FORMAT = b"T{<Q:scope:<Q:iid:<Q:function:<Q:mapping:<Q:rel_pc:<Q:source:<Q:line:}"
STACK_FORMAT = b"T{<Q:scope:<Q:iid:<Q:first:<Q:count:}"
HEAP_FORMAT = (
    b"T{<Q:scope:<Q:pid:<Q:buffer:<Q:start:<Q:end:<Q:interval:<Q:time:<Q:begin:<Q:flags:<Q:unwinding_errors:}"
)
SAMPLE_FORMAT = b"T{<Q:heap:<Q:stack:<Q:allocated:<Q:freed:<Q:allocations:<Q:frees:<Q:peak:<Q:peak_count:<Q:flags:}"

cdef struct Text:
    uint64_t scope
    uint64_t kind
    uint64_t iid
    uint64_t buffer
    uint64_t start
    uint64_t end

# after their scope, mappings and frames have the fields of their messages in order
cdef struct Mapping:
    uint64_t scope
    uint64_t iid
    uint64_t build_id
    uint64_t start_offset
    uint64_t start
    uint64_t end
    uint64_t load_bias
    uint64_t first          # of its path's parts
    uint64_t exact_offset
    uint64_t count

cdef struct Frame:
    uint64_t scope
    uint64_t iid
    uint64_t function
    uint64_t mapping
    uint64_t rel_pc
    uint64_t source
    uint64_t line

cdef struct Stack:
    uint64_t scope
    uint64_t iid
    uint64_t first          # of its frames, the outermost first
    uint64_t count

cdef struct Heap:
    uint64_t scope
    uint64_t pid
    uint64_t buffer         # of its name
    uint64_t start
    uint64_t end
    uint64_t interval
    uint64_t time
    uint64_t begin
    uint64_t flags
    uint64_t unwinding_errors

cdef struct Sample:
    uint64_t heap           # the number of its row
    uint64_t stack
    uint64_t allocated
    uint64_t freed
    uint64_t allocations
    uint64_t frees
    uint64_t peak
    uint64_t peak_count
    uint64_t flags


cdef class Tables(Owner):
    """What messages have, each with the ``scope`` in which its ids are unique."""

    cdef Vector texts, mappings, paths, frames, stacks, stack_frames, heaps, samples
    cdef uint64_t scope, buffer
    cdef readonly bint is_continued
    """Of the last profile: whether the next one of its sequence continues it."""
    cdef readonly uint64_t index
    """The last profile's number on its sequence."""
    cdef readonly uint64_t empty_samples
    """How many samples say nothing: two bytes each, which would be a row of 72."""

    def __cinit__(self):
        self.own_table("texts", &self.texts, sizeof(Text), TEXT_FORMAT)
        self.own_table("mappings", &self.mappings, sizeof(Mapping), MAPPING_FORMAT)
        self.own_table("paths", &self.paths, 8, b"Q")
        self.own_table("frames", &self.frames, sizeof(Frame), FRAME_FORMAT)
        self.own_table("stacks", &self.stacks, sizeof(Stack), STACK_FORMAT)
        self.own_table("stack_frames", &self.stack_frames, 8, b"Q")
        self.own_table("heaps", &self.heaps, sizeof(Heap), HEAP_FORMAT)
        self.own_table("samples", &self.samples, sizeof(Sample), SAMPLE_FORMAT)

    def add_profile(
        self, const uint8_t[::1] data: Buffer, uint64_t buffer, uint64_t start, uint64_t end, uint64_t scope
    ) -> int:
        """Add a ProfilePacket, at ``data[start:end]``; returns its status. Texts are at places in ``buffer``.

        Raises ValueError for bytes that aren't there.
        """
        cdef Reader r = self.message(data, buffer, start, end, scope)
        self.is_continued = False
        self.index = 0
        with nogil:
            self.profile(&r)
        return r.status

    def add_interned(
        self, const uint8_t[::1] data: Buffer, uint64_t buffer, uint64_t start, uint64_t end, uint64_t scope
    ) -> int:
        """Add InternedData, likewise."""
        cdef Reader r = self.message(data, buffer, start, end, scope)
        with nogil:
            self.interned(&r)
        return r.status

    cdef Reader message(
        self, const uint8_t[::1] data, uint64_t buffer, uint64_t start, uint64_t end, uint64_t scope
    ):
        if start > end or end > <uint64_t> data.shape[0]:
            raise ValueError("the message is not within the data")
        self.scope, self.buffer = scope, buffer
        return reader_of(&data[0] if data.shape[0] else NULL, start, end)

    cdef void profile(self, Reader *r) noexcept nogil:
        cdef Reader inner
        cdef uint32_t field, wire
        while more(r, &field, &wire):
            if wire == BYTES and field in (1, 2, 3, 4, 5):
                inner = inside(r)
                if field == 1:
                    self.text(&inner, T_LOCAL)
                elif field == 2:
                    self.frame(&inner)
                elif field == 3:
                    self.stack(&inner)
                elif field == 4:
                    self.mapping(&inner)
                else:
                    self.heap(&inner)
                done(r, &inner)
            elif wire == VARINT and field == 6:
                self.is_continued = varint(r) != 0
            elif wire == VARINT and field == 7:
                self.index = varint(r)
            else:
                skip(r, wire)

    cdef void interned(self, Reader *r) noexcept nogil:
        cdef Reader inner
        cdef uint32_t field, wire
        while more(r, &field, &wire):
            if wire == BYTES and field in (5, 6, 7, 16, 17, 18, 19):
                inner = inside(r)
                if field == 5:
                    self.text(&inner, T_FUNCTION)
                elif field == 6:
                    self.frame(&inner)
                elif field == 7:
                    self.stack(&inner)
                elif field == 16:
                    self.text(&inner, T_BUILD_ID)
                elif field == 17:
                    self.text(&inner, T_PATH)
                elif field == 18:
                    self.text(&inner, T_SOURCE)
                else:
                    self.mapping(&inner)
                done(r, &inner)
            else:
                skip(r, wire)

    cdef void text(self, Reader *r, uint64_t kind) noexcept nogil:
        cdef Text row
        cdef uint32_t field, wire
        row.scope, row.kind, row.iid, row.buffer, row.start, row.end = self.scope, kind, 0, self.buffer, 0, 0
        while more(r, &field, &wire):
            if field == 1 and wire == VARINT:
                row.iid = varint(r)
            elif field == 2 and wire == BYTES:
                read_place(r, &row.start, &row.end)
            else:
                skip(r, wire)
        push(r, &self.texts, &row)

    cdef void mapping(self, Reader *r) noexcept nogil:
        cdef Mapping row
        cdef uint32_t field, wire
        memset(&row, 0, sizeof(row))
        row.scope, row.first = self.scope, self.paths.count
        while more(r, &field, &wire):
            if field == 7:
                numbers(r, wire, &self.paths)
            else:
                keep_number(r, field, wire, <uint64_t *> &row + 1, 8)
        row.count = self.paths.count - row.first
        push(r, &self.mappings, &row)

    cdef void frame(self, Reader *r) noexcept nogil:
        cdef Frame row
        cdef uint32_t field, wire
        memset(&row, 0, sizeof(row))
        row.scope = self.scope
        while more(r, &field, &wire):
            keep_number(r, field, wire, <uint64_t *> &row + 1, 6)
        push(r, &self.frames, &row)

    cdef void stack(self, Reader *r) noexcept nogil:
        cdef Stack row
        cdef uint32_t field, wire
        row.scope, row.iid, row.first = self.scope, 0, self.stack_frames.count
        while more(r, &field, &wire):
            if field == 2:
                numbers(r, wire, &self.stack_frames)
            elif field == 1 and wire == VARINT:
                row.iid = varint(r)
            else:
                skip(r, wire)
        row.count = self.stack_frames.count - row.first
        push(r, &self.stacks, &row)

    cdef void heap(self, Reader *r) noexcept nogil:
        """The samples of a heap, which may be before what is said of it."""
        cdef Heap row
        cdef Reader inner
        cdef uint32_t field, wire
        cdef uint64_t number = self.heaps.count
        memset(&row, 0, sizeof(row))
        row.scope, row.buffer = self.scope, self.buffer
        while more(r, &field, &wire):
            if wire == BYTES and field == 2:
                inner = inside(r)
                self.sample(&inner, number)
                done(r, &inner)
            elif wire == BYTES and field == 5:
                inner = inside(r)
                row.unwinding_errors = errors_of(&inner)
                done(r, &inner)
            elif wire == BYTES and field == 11:
                read_place(r, &row.start, &row.end)
            elif wire != VARINT:
                skip(r, wire)
            elif field == 1:
                row.pid = varint(r)
            elif field == 12:
                row.interval = varint(r)
            elif field == 9:
                row.time = varint(r)
            elif field == 15:
                row.begin = varint(r)
                row.flags |= H_STARTED
            elif field == 14:
                row.flags |= H_OVERRAN if varint(r) == HIT_TIMEOUT else 0
            elif field in (3, 4, 6, 7, 8, 10):
                if varint(r):
                    row.flags |= flag_of(field)
            else:
                skip(r, wire)
        # also of one that is damaged, whose samples are there
        r.status, field = E_OK, r.status
        push(r, &self.heaps, &row)
        if r.status == E_OK:
            r.status = field

    cdef void sample(self, Reader *r, uint64_t heap) noexcept nogil:
        cdef Sample row
        cdef uint32_t field, wire
        cdef uint64_t[9] values
        memset(values, 0, sizeof(values))
        row.heap, row.flags = heap, 0
        while more(r, &field, &wire):
            row.flags |= wire == VARINT and field in (8, 9)
            keep_number(r, field, wire, values, 9)
        row.stack, row.allocated, row.freed = values[0], values[1], values[2]
        row.allocations, row.frees, row.peak, row.peak_count = values[4], values[5], values[7], values[8]
        if (
            row.stack | row.allocated | row.freed | row.allocations | row.frees | row.peak | row.peak_count | row.flags
        ) == 0:
            self.empty_samples += 1
        else:
            push(r, &self.samples, &row)


cdef void read_place(Reader *r, uint64_t *start, uint64_t *end) noexcept nogil:
    """Read where a text begins and ends."""
    cdef uint64_t length = read_length(r)
    start[0] = r.at
    r.at += length
    end[0] = r.at


cdef uint64_t errors_of(Reader *r) noexcept nogil:
    cdef uint32_t field, wire
    cdef uint64_t found = 0
    while more(r, &field, &wire):
        if field == 1 and wire == VARINT:
            found = varint(r)
        else:
            skip(r, wire)
    return found


cdef uint64_t flag_of(uint32_t field) noexcept nogil:
    if field == 3:
        return H_FROM_STARTUP
    if field == 4:
        return H_REJECTED
    if field == 6:
        return H_DISCONNECTED
    if field == 7:
        return H_OVERRAN
    return H_CORRUPTED if field == 8 else H_GUARDRAIL
