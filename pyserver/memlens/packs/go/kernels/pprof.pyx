# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads a pprof profile (``profile.proto``, uncompressed) into columns, with the file's ids and numbers of strings.

Source: https://github.com/google/pprof/blob/main/proto/profile.proto and the encoding of protocol buffers. Unknown
fields are skipped; repeated numbers may be packed or not. No number from the file is used as an index here.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t

from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.protobuf cimport (
    BYTES, E_BAD_WIRE, E_OK, E_TOO_MANY, E_TRUNCATED, VARINT, Reader, done, fail, inside, is_wire, keep_number,
    message_of_numbers, more, numbers, push, read_length, reader_of, skip, varint
)

OK, TRUNCATED, BAD_TAG, BAD_WIRE, NO_MEMORY, TOO_MANY = range(6)
"""Statuses of a run."""

cdef enum:
    MOST_ROWS = 0xFFFFFFFE

VALUE_TYPE_FORMAT = b"T{<q:type:<q:unit:}"
LABEL_FORMAT = b"T{<I:sample:<I:unused:<q:key:<q:text:<q:number:<q:unit:}"
MAPPING_FORMAT = b"T{<Q:id:<Q:start:<Q:limit:<Q:offset:<q:file:<q:build_id:<Q:has:}"
LOCATION_FORMAT = b"T{<Q:id:<Q:mapping:<Q:address:<Q:first_line:<Q:lines:}"
LINE_FORMAT = b"T{<Q:function:<q:line:<q:column:}"
FUNCTION_FORMAT = b"T{<Q:id:<q:name:<q:system_name:<q:file:<q:start_line:}"
STRING_FORMAT = b"T{<Q:start:<Q:length:}"

cdef struct ValueType:
    int64_t type
    int64_t unit

cdef struct Label:
    uint32_t sample
    uint32_t unused
    int64_t key
    int64_t text
    int64_t number
    int64_t unit

cdef struct Mapping:
    uint64_t id
    uint64_t start
    uint64_t limit
    uint64_t offset
    int64_t file
    int64_t build_id
    uint64_t has        # bits: functions, file names, line numbers, inlined frames

cdef struct Location:
    uint64_t id
    uint64_t mapping
    uint64_t address
    uint64_t first_line
    uint64_t lines

cdef struct Line:
    uint64_t function
    int64_t line
    int64_t column

cdef struct Function:
    uint64_t id
    int64_t name
    int64_t system_name
    int64_t file
    int64_t start_line

cdef struct Text:
    uint64_t start
    uint64_t length


cdef enum:
    # fields of a profile that are messages
    VALUE_TYPE = 1
    SAMPLE = 2
    LOCATION = 4
    PERIOD_TYPE = 11
    MOST_STRINGS = 1 << 28


cdef bint fits(uint32_t message, uint32_t field, uint32_t wire) noexcept nogil:
    """Return whether a field of a message in a profile may be a number (VARINT) or a message or packed (BYTES)."""
    if message == SAMPLE:
        return wire == BYTES if field == 3 else True
    if message == LOCATION and field == 4:
        return wire == BYTES
    return wire == VARINT


def sniff(const uint8_t[::1] head: Buffer) -> bool:
    """Return whether the first bytes of a file are those of a profile.

    Every field must have the number and encoding of one of a profile's fields, also in nested messages, and at least
    one nested message must be complete. After that one, fields of nested messages may be damaged.
    """
    cdef Reader r, inner
    cdef uint64_t number
    cdef uint32_t field, wire, inner_field, inner_wire
    cdef size_t whole = 0, before
    if head.shape[0] == 0:
        return False
    r = reader_of(&head[0], 0, head.shape[0])
    with nogil:
        while more(&r, &field, &wire):
            # a later version may have other fields, but a profile does not begin with them
            if (field > 15 and not whole) or wire not in (VARINT, BYTES):
                fail(&r, E_BAD_WIRE)
                break
            # 7 to 10, 12, 14 and 15 are numbers, 13 may be packed, the others are messages or strings
            if field in (7, 8, 9, 10, 12, 14, 15):
                if wire == VARINT:
                    varint(&r)
                else:
                    fail(&r, E_BAD_WIRE)
            elif field == 13 or field > 15:
                skip(&r, wire)
            elif wire != BYTES:
                fail(&r, E_BAD_WIRE)
            elif field == 6:
                skip(&r, wire)
            else:
                inner = inside(&r)
                before = inner.at
                while more(&inner, &inner_field, &inner_wire):
                    if inner_field > 10 or inner_wire not in (VARINT, BYTES):
                        fail(&inner, E_BAD_WIRE)
                    elif not whole and not fits(field, inner_field, inner_wire):
                        fail(&inner, E_BAD_WIRE)
                    elif inner_wire == VARINT:
                        number = varint(&inner)
                        if field in (VALUE_TYPE, PERIOD_TYPE) and number >= MOST_STRINGS:
                            fail(&inner, E_BAD_WIRE)
                    else:
                        skip(&inner, inner_wire)
                if inner.status == E_OK and inner.at > before and r.status == E_OK:
                    whole += 1
                done(&r, &inner)
    # the head may end within a field
    return whole > 0 and r.status in (E_OK, E_TRUNCATED)


cdef class Scanner(Owner):
    """Scans ``data``; :meth:`take` then moves the columns out."""

    cdef const uint8_t[::1] bytes
    cdef Reader reader
    cdef Vector types, starts, locations, value_starts, values, labels, mappings, places, lines, functions, strings
    cdef Vector comments
    cdef ValueType period_type
    cdef int64_t[16] scalars        # by their fields

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        cdef uint64_t zero = 0
        self.bytes = data
        self.reader = reader_of(&data[0] if data.shape[0] else NULL, 0, data.shape[0])
        self.own_table("types", &self.types, sizeof(ValueType), VALUE_TYPE_FORMAT)
        self.own_table("location_starts", &self.starts, 8, b"Q")
        self.own_table("sample_locations", &self.locations, 8, b"Q")
        self.own_table("value_starts", &self.value_starts, 8, b"Q")
        self.own_table("values", &self.values, 8, b"q")
        self.own_table("labels", &self.labels, sizeof(Label), LABEL_FORMAT)
        self.own_table("mappings", &self.mappings, sizeof(Mapping), MAPPING_FORMAT)
        self.own_table("locations", &self.places, sizeof(Location), LOCATION_FORMAT)
        self.own_table("lines", &self.lines, sizeof(Line), LINE_FORMAT)
        self.own_table("functions", &self.functions, sizeof(Function), FUNCTION_FORMAT)
        self.own_table("strings", &self.strings, sizeof(Text), STRING_FORMAT)
        self.own_table("comments", &self.comments, 8, b"q")
        if vector_push(&self.starts, &zero) < 0 or vector_push(&self.value_starts, &zero) < 0:
            raise MemoryError

    def run(self) -> int:
        """Scan the whole file, and return a status; :attr:`error_offset` is the offset of an error."""
        with nogil:
            self.profile()
        return self.reader.status

    @property
    def error_offset(self) -> int:
        return self.reader.wrong

    cdef void profile(self) noexcept nogil:
        cdef Reader *r = &self.reader
        cdef Reader inner
        cdef uint32_t field, wire
        cdef Text text
        while more(r, &field, &wire):
            if field in (1, 2, 3, 4, 5, 11):
                if not is_wire(r, wire, BYTES):
                    return
                inner = inside(r)
                if field == 1:
                    self.value_type(&inner, True)
                elif field == 2:
                    self.sample(&inner)
                elif field == 3:
                    self.mapping(&inner)
                elif field == 4:
                    self.location(&inner)
                elif field == 5:
                    self.function(&inner)
                else:
                    self.value_type(&inner, False)
                done(r, &inner)
            elif field == 6:
                if is_wire(r, wire, BYTES):
                    text.length = read_length(r)
                    text.start = r.at
                    r.at += text.length
                    push(r, &self.strings, &text)
            elif field == 13:
                numbers(r, wire, &self.comments)
            elif field in (7, 8, 9, 10, 12, 14, 15):
                if is_wire(r, wire, VARINT):
                    self.scalars[field] = <int64_t> varint(r)
            else:
                skip(r, wire)

    cdef void value_type(self, Reader *r, bint of_samples) noexcept nogil:
        cdef ValueType row
        message_of_numbers(r, <uint64_t *> &row, 2)
        if of_samples:
            push(r, &self.types, &row)
        else:
            self.period_type = row

    cdef void sample(self, Reader *r) noexcept nogil:
        cdef uint32_t field, wire
        cdef uint64_t end
        cdef Reader inner
        if self.starts.count >= MOST_ROWS:
            fail(r, E_TOO_MANY)
        while more(r, &field, &wire):
            if field == 1:
                numbers(r, wire, &self.locations)
            elif field == 2:
                numbers(r, wire, &self.values)
            elif field == 3:
                if is_wire(r, wire, BYTES):
                    inner = inside(r)
                    self.label(&inner)
                    done(r, &inner)
            else:
                skip(r, wire)
        end = self.locations.count
        push(r, &self.starts, &end)
        end = self.values.count
        push(r, &self.value_starts, &end)

    cdef void label(self, Reader *r) noexcept nogil:
        cdef Label row
        cdef uint64_t[4] values
        message_of_numbers(r, values, 4)
        row.sample, row.unused = <uint32_t> (self.starts.count - 1), 0
        row.key, row.text = <int64_t> values[0], <int64_t> values[1]
        row.number, row.unit = <int64_t> values[2], <int64_t> values[3]
        push(r, &self.labels, &row)

    cdef void mapping(self, Reader *r) noexcept nogil:
        cdef Mapping row
        cdef uint64_t[10] values
        cdef size_t flag
        message_of_numbers(r, values, 10)
        row.id, row.start, row.limit, row.offset = values[0], values[1], values[2], values[3]
        row.file, row.build_id, row.has = <int64_t> values[4], <int64_t> values[5], 0
        for flag in range(4):
            row.has |= <uint64_t> (values[6 + flag] != 0) << flag
        push(r, &self.mappings, &row)

    cdef void location(self, Reader *r) noexcept nogil:
        cdef Location row
        cdef Line line
        cdef Reader inner
        cdef uint32_t field, wire
        row.id = row.mapping = row.address = 0
        row.first_line = self.lines.count
        while more(r, &field, &wire):
            if not is_wire(r, wire, BYTES if field == 4 else VARINT if field < 4 else wire):
                return
            if field == 4:
                inner = inside(r)
                message_of_numbers(&inner, <uint64_t *> &line, 3)
                push(&inner, &self.lines, &line)
                done(r, &inner)
            else:
                keep_number(r, field, wire, <uint64_t *> &row, 3)
        row.lines = self.lines.count - row.first_line
        push(r, &self.places, &row)

    cdef void function(self, Reader *r) noexcept nogil:
        cdef Function row
        message_of_numbers(r, <uint64_t *> &row, 5)
        push(r, &self.functions, &row)

    def numbers(self) -> dict[str, int]:
        """Return the scalar fields of the profile, with the numbers of strings."""
        return {
            "drop_frames": self.scalars[7],
            "keep_frames": self.scalars[8],
            "time_nanos": self.scalars[9],
            "duration_nanos": self.scalars[10],
            "period": self.scalars[12],
            "period_type": self.period_type.type,
            "period_unit": self.period_type.unit,
            "default_sample_type": self.scalars[14],
            "doc_url": self.scalars[15],
        }


def prune(const uint64_t[::1] starts, const uint32_t[::1] locations, const uint8_t[::1] below,
          const uint8_t[::1] whole, uint64_t[::1] firsts):
    """Find where each sample's stack begins without the frames that ``drop_frames`` matches and those they called.

    The stack of a sample is ``locations[starts[s]:starts[s + 1]]``, innermost first. ``below`` marks the locations
    with a dropped frame (whose inner frames have been removed), ``whole`` those with no frames left. As in
    ``profile.Prune`` of github.com/google/pprof, frames outside the first kept frame are never dropped, so that no
    stack becomes empty. Location numbers have been checked.
    """
    cdef size_t sample, place
    cdef uint32_t location
    cdef bint kept
    with nogil:
        for sample in range(<size_t> firsts.shape[0]):
            firsts[sample] = starts[sample]
            kept = False
            place = starts[sample + 1]
            while place > starts[sample]:
                place -= 1
                location = locations[place]
                if not below[location]:
                    kept = True
                elif kept:
                    firsts[sample] = place + 1 if whole[location] else place
                    break
