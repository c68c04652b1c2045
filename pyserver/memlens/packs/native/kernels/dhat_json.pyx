# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans the program points in DHAT's JSON, which are nearly all of the file, directly into columns.

Other values at the top level, all small but for the table of frames, are only located (``span``), for a full JSON
decoder. A point's object has numbers and lists of numbers; unknown fields are skipped.

Methods that take an offset return the offset after what they have read, or 0 on error.

Source: ``dhat/dh_main.c`` and ``docs`` of valgrind ("File format"), and the Rust crate dhat, which writes the same.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.string cimport memcmp, memset

from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.scan cimport Scan

# statuses of a run; formats/ has the messages
OK, MORE, TRUNCATED, SYNTAX, BAD_FIELD, TOO_DEEP, NO_MEMORY = range(7)

cdef enum:
    E_OK
    E_MORE
    E_TRUNCATED
    E_SYNTAX
    E_BAD_FIELD
    E_TOO_DEEP
    E_NO_MEMORY

cdef enum:
    MAX_DEPTH = 100
    NUMBERS = 11
    F_ACC = 11
    F_FS = 12
    F_OTHER = 13

FIELD_NAMES = ("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "rb", "wb", "acc", "fs")

# in the order of FIELD_NAMES
cdef char **KEYS = [b"tb", b"tbk", b"tl", b"mb", b"mbk", b"gb", b"gbk", b"eb", b"ebk", b"rb", b"wb", b"acc", b"fs"]
cdef size_t *KEY_LENGTHS = [2, 3, 2, 2, 3, 2, 3, 2, 3, 2, 2, 3, 2]

cdef uint64_t MOST_NUMBER = <uint64_t> 1 << 60

cdef struct PointRow:
    int64_t numbers[NUMBERS]
    uint32_t seen           # a bit for each of FIELD_NAMES
    uint32_t histogram      # the number of bytes of a block for which "acc" has counts

cdef struct Span:
    uint64_t key
    uint64_t key_end
    uint64_t start
    uint64_t end


cdef class Scanner(Scan):
    """Scans a whole file in steps; ``take`` then moves the tables out."""

    cdef Vector points, starts, sequence, spans
    cdef bint in_points, had_points
    cdef readonly int error_field

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        cdef uint64_t zero = 0
        self.own_table("points", &self.points, sizeof(PointRow), POINT_FORMAT)
        self.own_table("stack_starts", &self.starts, 8, b"Q")
        self.own_table("stack_frames", &self.sequence, 4, b"I")
        self.own(&self.spans, sizeof(Span))
        # stack 0 is empty, the stack of point p is p + 1
        if vector_push(&self.starts, &zero) < 0 or vector_push(&self.starts, &zero) < 0:
            raise MemoryError

    cdef size_t wrong(self, int error, size_t at, int field=-1) noexcept nogil:
        """Record the first error, and return 0."""
        if self.error == E_OK:
            self.error_field = field
        self.fail(error, at)
        return 0

    # ---- JSON ----

    cdef size_t blank(self, size_t at) noexcept nogil:
        """Skip white space; the end of the file is an error."""
        while at < self.length:
            if self.data[at] not in (0x20, 0x0A, 0x0D, 0x09):
                return at
            at += 1
        return self.wrong(E_TRUNCATED, at)

    cdef size_t expect(self, size_t at, uint8_t character) noexcept nogil:
        """Skip white space and one character."""
        at = self.blank(at)
        if at and self.data[at] != character:
            return self.wrong(E_SYNTAX, at)
        return at + 1 if at else 0

    cdef size_t string(self, size_t at) noexcept nogil:
        """Skip a string whose opening quote is at ``at``."""
        at += 1
        while at < self.length:
            if self.data[at] == 0x22:
                return at + 1
            at += 2 if self.data[at] == 0x5C else 1
        return self.wrong(E_TRUNCATED, self.length)

    cdef size_t value(self, size_t at) noexcept nogil:
        """Skip any value. Brackets are only counted: whoever needs the value decodes it."""
        cdef int depth = 0
        cdef uint8_t one
        at = self.blank(at)
        while at:
            one = self.data[at]
            if one == 0x22:
                at = self.string(at)
                if at == 0:
                    return 0
            elif one == 0x7B or one == 0x5B:
                depth += 1
                at += 1
                if depth > MAX_DEPTH:
                    return self.wrong(E_TOO_DEEP, at)
            elif one == 0x7D or one == 0x5D:
                depth -= 1
                at += 1
                if depth < 0:
                    return self.wrong(E_SYNTAX, at - 1)
            elif (one == 0x2C or one == 0x3A) and depth:
                at += 1
                at = self.blank(at)
                continue
            else:
                # a number or a word
                if one in (0x2C, 0x3A):
                    return self.wrong(E_SYNTAX, at)
                while at < self.length and self.data[at] not in (
                    0x2C, 0x3A, 0x7D, 0x5D, 0x7B, 0x5B, 0x22, 0x20, 0x0A, 0x0D, 0x09
                ):
                    at += 1
            if depth == 0:
                return at
            at = self.blank(at)
        return 0

    cdef size_t number(self, size_t at, int64_t *result, int field) noexcept nogil:
        """Read an integer and the white space around it; only ``acc`` may have negative ones."""
        # unsigned: ten times the limit is beyond 63 bits
        cdef uint64_t value = 0
        cdef size_t start
        cdef bint negative = False
        at = self.blank(at)
        if at == 0:
            return 0
        if self.data[at] == 0x2D and field == F_ACC:
            negative = True
            at += 1
        start = at
        while at < self.length and 0x30 <= self.data[at] <= 0x39:
            value = value * 10 + (self.data[at] - 0x30)
            if value > MOST_NUMBER:
                return self.wrong(E_BAD_FIELD, start, field)
            at += 1
        if at == start:
            return self.wrong(E_BAD_FIELD, start, field)
        at = self.blank(at)
        if at and self.data[at] not in (0x2C, 0x7D, 0x5D):
            return self.wrong(E_BAD_FIELD, start, field)
        result[0] = -<int64_t> value if negative else <int64_t> value
        return at

    # ---- a program point ----

    cdef int field_of(self, size_t at, size_t length) noexcept nogil:
        cdef int field
        for field in range(F_OTHER):
            if KEY_LENGTHS[field] == length and memcmp(self.data + at, KEYS[field], length) == 0:
                return field
        return F_OTHER

    cdef size_t point(self, size_t at) noexcept nogil:
        """Read the object of a point, whose opening bracket is at ``at``."""
        cdef PointRow row
        cdef size_t begin = at
        cdef size_t key
        cdef uint64_t end
        cdef int field
        memset(&row, 0, sizeof(row))
        at = self.blank(at + 1)
        while at and self.data[at] != 0x7D:
            if self.data[at] != 0x22:
                return self.wrong(E_SYNTAX, at)
            key = at + 1
            at = self.string(at)
            if at == 0:
                return 0
            field = self.field_of(key, at - 1 - key)
            at = self.expect(at, 0x3A)
            if at == 0:
                return 0
            if field < F_OTHER:
                if row.seen >> field & 1:
                    return self.wrong(E_BAD_FIELD, key, field)
                row.seen |= <uint32_t> 1 << field
            if field < NUMBERS:
                at = self.number(at, &row.numbers[field], field)
            elif field == F_OTHER:
                at = self.value(at)
            else:
                at = self.numbers_of(at, field, &row)
            at = self.blank(at) if at else 0
            if at and self.data[at] == 0x2C:
                at = self.blank(at + 1)
                if at and self.data[at] == 0x7D:
                    return self.wrong(E_SYNTAX, at)
            elif at and self.data[at] != 0x7D:
                return self.wrong(E_SYNTAX, at)
        if at == 0:
            return 0
        if not row.seen & 1 or not row.seen & 2 or not row.seen >> F_FS & 1:
            return self.wrong(E_BAD_FIELD, begin, 0 if not row.seen & 1 else 1 if not row.seen & 2 else F_FS)
        end = self.sequence.count
        if vector_push(&self.points, &row) < 0 or vector_push(&self.starts, &end) < 0:
            return self.wrong(E_NO_MEMORY, at)
        return at + 1

    cdef size_t numbers_of(self, size_t at, int field, PointRow *row) noexcept nogil:
        """Read the list of ``fs``, which becomes a stack, or of ``acc``, whose bytes are counted."""
        cdef int64_t number = 0
        cdef int64_t repeat = 0
        cdef int64_t counted = 0
        cdef uint32_t frame
        at = self.expect(at, 0x5B)
        at = self.blank(at) if at else 0
        while at and self.data[at] != 0x5D:
            at = self.number(at, &number, field)
            if at == 0:
                return 0
            if field == F_FS:
                if number > 0x7FFFFFFF:
                    return self.wrong(E_BAD_FIELD, at, field)
                frame = <uint32_t> number
                if vector_push(&self.sequence, &frame) < 0:
                    return self.wrong(E_NO_MEMORY, at)
            elif number < 0:
                # the following count is repeated for this number of bytes
                repeat = -number
            else:
                counted += repeat if repeat else 1
                repeat = 0
                if counted > 0x7FFFFFFF:
                    return self.wrong(E_BAD_FIELD, at, field)
            if self.data[at] == 0x2C:
                at = self.blank(at + 1)
                if at and self.data[at] == 0x5D:
                    return self.wrong(E_SYNTAX, at)
        if at and field == F_ACC:
            row.histogram = <uint32_t> counted
        return at + 1 if at else 0

    # ---- the whole ----

    cdef size_t top(self, size_t at) noexcept nogil:
        """Skip the next item of the top level, or enter the list of points; 0 at the end or on error."""
        cdef Span span
        at = self.blank(at)
        if at == 0:
            return 0
        if self.data[at] == 0x7D:
            return 0
        if self.data[at] == 0x2C:
            at = self.blank(at + 1)
            if at == 0:
                return 0
        if self.data[at] != 0x22:
            return self.wrong(E_SYNTAX, at)
        span.key = at + 1
        at = self.string(at)
        if at == 0:
            return 0
        span.key_end = at - 1
        at = self.expect(at, 0x3A)
        at = self.blank(at) if at else 0
        if at == 0:
            return 0
        if span.key_end - span.key == 3 and memcmp(self.data + span.key, b"pps", 3) == 0:
            if self.had_points or self.data[at] != 0x5B:
                return self.wrong(E_SYNTAX, at)
            self.had_points = self.in_points = True
            return at + 1
        span.start = at
        at = self.value(at)
        span.end = at
        if at and self.spans.count < 100 and vector_push(&self.spans, &span) < 0:
            return self.wrong(E_NO_MEMORY, at)
        return at

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t at = self.position
        if at == 0:
            # an offset of 0 would mean an error
            if self.length == 0 or self.data[0] in (0x20, 0x0A, 0x0D, 0x09):
                at = self.expect(1, 0x7B)
            else:
                at = 1 if self.data[0] == 0x7B else self.wrong(E_SYNTAX, 0)
        while at:
            self.position = at
            if not self.in_points:
                at = self.top(at)
                continue
            if at >= limit:
                return E_MORE
            at = self.blank(at)
            if at == 0:
                break
            if self.data[at] == 0x5D:
                self.in_points = False
                at += 1
                continue
            if self.data[at] == 0x2C and self.points.count:
                at = self.blank(at + 1)
            if at and self.data[at] != 0x7B:
                at = self.wrong(E_SYNTAX, at)
            at = self.point(at) if at else 0
        return self.error

    # ---- for dhat.py ----

    @property
    def has_points(self) -> bool:
        """Whether the file has a list of program points, even an empty one."""
        return self.had_points

    def span(self) -> dict[str, tuple[int, int]]:
        """Return ``{key: (start, end)}`` for the other values at the top level; the last of duplicate keys counts."""
        cdef Span *spans = <Span *> self.spans.data
        cdef size_t index
        result = {}
        for index in range(self.spans.count):
            key = (<char *> self.data)[spans[index].key:spans[index].key_end]
            result[key.decode("utf-8", "replace")] = (spans[index].start, spans[index].end)
        return result


cdef bytes POINT_FORMAT = (
    b"T{q:tb:q:tbk:q:tl:q:mb:q:mbk:q:gb:q:gbk:q:eb:q:ebk:q:rb:q:wb:I:seen:I:histogram:}"
)
