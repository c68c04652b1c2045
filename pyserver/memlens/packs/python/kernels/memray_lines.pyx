# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lines of instructions, by the line tables of code objects in memray captures."""

from libc.stdint cimport int8_t, int64_t, uint8_t


cdef int64_t table_varint(const uint8_t *table, size_t *at, size_t end) noexcept nogil:
    cdef int64_t value = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at[0] < end:
        byte = table[at[0]]
        at[0] += 1
        if shift < 32:
            value |= <int64_t> (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value


cdef void lines_since_311(
    const uint8_t *table, size_t end, int64_t line, const int64_t[::1] offsets, int64_t[::1] lines
) noexcept nogil:
    cdef size_t at = 0, row = 0, rows = offsets.shape[0]
    cdef int64_t unit = 0, length, delta
    cdef uint8_t first, code
    while row < rows and at < end and table[at]:
        first = table[at]
        at += 1
        code = (first >> 3) & 15
        length = (first & 7) + 1
        if code == 14 or code == 13:
            delta = table_varint(table, &at, end)
            line += -(delta >> 1) if delta & 1 else delta >> 1
            if code == 14:
                table_varint(table, &at, end)
                table_varint(table, &at, end)
                table_varint(table, &at, end)
        elif 10 <= code <= 12:
            line += code - 10
            at += 2
        elif code < 10:
            at += 1
        unit += length
        while row < rows and offsets[row] // 2 < unit:
            lines[row] = line if offsets[row] >= 0 else 0
            row += 1
    for row in range(row, rows):
        lines[row] = 0


cdef void lines_before_311(
    const uint8_t *table, size_t end, int python, int64_t line, const int64_t[::1] offsets, int64_t[::1] lines
) noexcept nogil:
    cdef size_t at = 0, row = 0, rows = offsets.shape[0]
    cdef int64_t unit = 0, reached
    cdef int8_t delta
    cdef bint since_310 = python >= 0x030A0000
    while row < rows and at + 1 < end:
        unit += table[at]
        delta = <int8_t> table[at + 1]
        at += 2
        if since_310 and delta != -128:
            line += delta
        # version 3.10 counts instructions, of two units each
        reached = (unit + 1) // 2 if since_310 else unit
        while row < rows and offsets[row] < reached:
            lines[row] = line if offsets[row] >= 0 else 0
            row += 1
        if not since_310:
            line += delta
    for row in range(row, rows):
        lines[row] = line if offsets[row] >= 0 else 0


def fill_lines(
    const uint8_t[::1] tables, size_t start, size_t count, int python, int64_t first, const int64_t[::1] offsets,
    int64_t[::1] lines,
):
    """Write the lines of instructions by a code object's table of lines; one that isn't there gets 0.

    The table is ``count`` bytes of ``tables``, ``python`` is the version as CPython writes it in hexadecimal. The
    offsets ascend: the table is read once, however many there are. Raises IndexError. Sources:
    ``Objects/locations.md`` of CPython 3.11, ``Objects/lnotab_notes.txt`` before.
    """
    if offsets.shape[0] != lines.shape[0]:
        raise IndexError("columns of different lengths")
    if start > <size_t> tables.shape[0] or count > <size_t> tables.shape[0] - start:
        raise IndexError("a table that is out of range")
    if count == 0:
        lines[:] = 0
        return
    with nogil:
        if python >= 0x030B0000:
            lines_since_311(&tables[start], count, first, offsets, lines)
        else:
            lines_before_311(&tables[start], count, python, first, offsets, lines)
