# Protocol buffers: reading the fields of messages, whose numbers are never used as an index here.
#
# Source: https://protobuf.dev/programming-guides/encoding/

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector, vector_push


cdef enum:
    E_OK, E_TRUNCATED, E_BAD_TAG, E_BAD_WIRE, E_NO_MEMORY, E_TOO_MANY
    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    FIXED32 = 5


cdef struct Reader:
    const uint8_t *data
    size_t at
    size_t end
    int status
    size_t wrong        # the offset of the error


cdef inline Reader reader_of(const uint8_t *data, size_t start, size_t end) noexcept nogil:
    cdef Reader r
    r.data = data
    r.at = start
    r.end = end
    r.status = E_OK
    r.wrong = 0
    return r


cdef inline int fail(Reader *r, int status) noexcept nogil:
    if r.status == E_OK:
        r.status = status
        r.wrong = r.at
    r.at = r.end
    return -1


cdef inline uint64_t varint(Reader *r) noexcept nogil:
    cdef uint64_t value = 0
    cdef uint8_t byte
    cdef unsigned shift = 0
    while r.at < r.end:
        byte = r.data[r.at]
        r.at += 1
        value |= <uint64_t> (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        if shift > 63:
            fail(r, E_BAD_TAG)
            return 0
    fail(r, E_TRUNCATED)
    return 0


cdef inline bint more(Reader *r, uint32_t *field, uint32_t *wire) noexcept nogil:
    """Read the next field's tag. Return False at the end and on error."""
    cdef uint64_t tag
    if r.at >= r.end or r.status != E_OK:
        return False
    tag = varint(r)
    field[0] = <uint32_t> (tag >> 3)
    wire[0] = <uint32_t> (tag & 7)
    if r.status != E_OK:
        return False
    if tag >> 32 or field[0] == 0:
        fail(r, E_BAD_TAG)
        return False
    return True


cdef inline size_t read_length(Reader *r) noexcept nogil:
    """Read a length, which must not exceed the rest of the message."""
    cdef uint64_t length = varint(r)
    if r.status == E_OK and length > r.end - r.at:
        fail(r, E_TRUNCATED)
        return 0
    return length if r.status == E_OK else 0


cdef inline void skip(Reader *r, uint32_t wire) noexcept nogil:
    cdef size_t length
    if wire == VARINT:
        varint(r)
    elif wire == BYTES:
        length = read_length(r)
        r.at += length
    elif wire == FIXED64 or wire == FIXED32:
        length = 8 if wire == FIXED64 else 4
        if r.end - r.at < length:
            fail(r, E_TRUNCATED)
        else:
            r.at += length
    else:
        fail(r, E_BAD_TAG)


cdef inline Reader inside(Reader *r) noexcept nogil:
    """Return a reader of the message that follows, and move the outer one to its end."""
    cdef Reader inner
    cdef size_t length = read_length(r)
    inner.data = r.data
    inner.at = r.at
    inner.end = r.at + length
    inner.status = r.status
    inner.wrong = r.wrong
    r.at += length
    return inner


cdef inline void done(Reader *r, Reader *inner) noexcept nogil:
    if inner.status != E_OK and r.status == E_OK:
        r.status = inner.status
        r.wrong = inner.wrong
        r.at = r.end


cdef inline bint is_wire(Reader *r, uint32_t wire, uint32_t expected) noexcept nogil:
    if wire != expected:
        fail(r, E_BAD_WIRE)
        return False
    return True


cdef inline void push(Reader *r, Vector *vector, const void *item) noexcept nogil:
    if r.status != E_OK:
        return
    if vector_push(vector, item) < 0:
        fail(r, E_NO_MEMORY)


cdef inline void numbers(Reader *r, uint32_t wire, Vector *to) noexcept nogil:
    """Read one number, or packed ones."""
    cdef Reader inner
    cdef uint64_t value
    if wire == VARINT:
        value = varint(r)
        push(r, to, &value)
    elif is_wire(r, wire, BYTES):
        inner = inside(r)
        while inner.at < inner.end and inner.status == E_OK:
            value = varint(&inner)
            push(&inner, to, &value)
        done(r, &inner)


cdef inline void keep_number(Reader *r, uint32_t field, uint32_t wire, uint64_t *values, uint32_t last) noexcept nogil:
    """Read a field: a number goes to ``values[field - 1]`` if ``last`` isn't below its field, all else is skipped."""
    if wire == VARINT and field <= last:
        values[field - 1] = varint(r)
    else:
        skip(r, wire)


cdef inline void message_of_numbers(Reader *r, uint64_t *values, uint32_t last) noexcept nogil:
    """Read a message whose fields 1 to ``last`` are numbers, into as many ``values``; missing ones are 0."""
    cdef uint32_t field, wire
    memset(values, 0, last * sizeof(uint64_t))
    while more(r, &field, &wire):
        if field > last or is_wire(r, wire, VARINT):
            keep_number(r, field, wire, values, last)
