# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Decodes the mappings of a source map (ECMA-426): base 64 VLQ numbers of 5 bits a digit, the lowest first.

A semicolon begins the next line of the generated file, and commas separate the segments of a line. A segment has 1, 4
or 5 numbers, each a difference from the same number of the segment before: the column, which starts anew on each line,
and for a segment that has an original the source, the line and the column there, and possibly a name.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push

cdef enum:
    MOST_FIELDS = 5
    CONTINUES = 32

cdef int64_t MOST = 0x7FFFFFFF


cdef struct Segment:
    uint32_t line           # of the generated file, from 0
    uint32_t column
    uint32_t source         # plus 1; 0 for a segment without an original
    uint32_t source_line    # from 0


cdef inline int digit(uint8_t byte) noexcept nogil:
    if 65 <= byte <= 90:
        return byte - 65
    if 97 <= byte <= 122:
        return byte - 71
    if 48 <= byte <= 57:
        return byte + 4
    if byte == 43:
        return 62
    return 63 if byte == 47 else -1


def segments(const uint8_t[::1] mappings: Buffer, uint32_t sources) -> Buffer | None:
    """Return the segments of ``mappings`` as rows of ``uint32``: line, column, source plus 1, line in the source.

    Lines and columns count from 0. Returns None if the mappings violate the standard, or name a source that isn't
    among the ``sources`` or a line that can't exist. Raises MemoryError.
    """
    cdef size_t at, count = mappings.shape[0]
    cdef int64_t state[MOST_FIELDS]
    cdef int64_t value = 0
    cdef uint32_t line = 0
    cdef int field = 0, shift = 0, bits, each
    cdef bint whole = True, ends
    cdef uint8_t byte
    cdef Segment row
    cdef Vector rows
    vector_init(&rows, sizeof(Segment))
    for each in range(MOST_FIELDS):
        state[each] = 0
    with nogil:
        for at in range(count + 1):
            byte = mappings[at] if at < count else 59
            ends = byte == 44 or byte == 59
            if not ends:
                bits = digit(byte)
                if bits < 0 or shift > 30 or field >= MOST_FIELDS:
                    whole = False
                    break
                value |= <int64_t> (bits & 31) << shift
                shift += 5
                if bits & CONTINUES:
                    continue
                state[field] += -(value >> 1) if value & 1 else value >> 1
                if not 0 <= state[field] <= MOST:
                    whole = False
                    break
                field += 1
                value = 0
                shift = 0
                continue
            if shift or field == 2 or field == 3 or (field > 1 and state[1] >= sources):
                whole = False
                break
            if field:
                row.line, row.column = line, <uint32_t> state[0]
                row.source = <uint32_t> state[1] + 1 if field > 1 else 0
                row.source_line = <uint32_t> state[2] if field > 1 else 0
                if vector_push(&rows, &row) < 0:
                    vector_free(&rows)
                    with gil:
                        raise MemoryError
            field = 0
            if byte == 59:
                line += 1
                state[0] = 0
    if not whole:
        vector_free(&rows)
        return None
    rows.item_bytes = 4
    rows.count *= 4
    return column_of(&rows, b"I")
