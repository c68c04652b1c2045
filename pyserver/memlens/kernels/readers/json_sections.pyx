# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds where the values of a file's top-level object of JSON begin and end, in bytes from its beginning."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr

OK, MORE, TRUNCATED, SYNTAX, TOO_LARGE, NO_NODE, NO_MEMORY = range(7)

cdef enum:
    MAX_SECTIONS = 1000
    PIECE = 1 << 15       # bytes


cdef size_t skip_string(const uint8_t *data, size_t at, size_t end) noexcept nogil:
    """Return the offset after the string whose opening quote is at ``at``, or ``end`` + 1 if it is unterminated."""
    cdef size_t back
    cdef const void *quote
    at += 1
    while at < end:
        quote = memchr(data + at, 0x22, end - at)
        if quote == NULL:
            return end + 1
        at = <const uint8_t *> quote - data
        # an odd number of backslashes escapes the quote
        back = at
        while data[back - 1] == 0x5C:
            back -= 1
        at += 1
        if (at - 1 - back) % 2 == 0:
            return at
    return end + 1


cdef int skip_numbers(const uint8_t *data, size_t *place, size_t end) noexcept nogil:
    """Move ``place`` past the bracket that closes an array, in which no other may open."""
    cdef size_t at = place[0], length
    cdef const void *last
    cdef const void *nested
    # both brackets are looked for while the bytes are in the processor's cache
    while at < end:
        length = end - at if end - at < PIECE else PIECE
        last = memchr(data + at, 0x5D, length)
        if last != NULL:
            length = <const uint8_t *> last - data - at
        nested = memchr(data + at, 0x5B, length)
        if nested != NULL:
            place[0] = <const uint8_t *> nested - data
            return E_SYNTAX
        at += length
        if last != NULL:
            place[0] = at + 1
            return E_OK
    place[0] = end
    return E_TRUNCATED


cdef int skip_value(const uint8_t *data, size_t *place, size_t end, bint is_flat) noexcept nogil:
    """Move ``place`` past a value. An array of numbers (``is_flat``) ends at the first closing bracket."""
    cdef size_t at = place[0]
    cdef uint64_t depth = 0
    cdef uint8_t one
    if is_flat and at < end and data[at] == 0x5B:
        place[0] = at + 1
        return skip_numbers(data, place, end)
    while at < end:
        one = data[at]
        if one == 0x22:
            at = skip_string(data, at, end)
            if at > end:
                break
            if depth == 0:
                place[0] = at
                return E_OK
        elif one == 0x5B or one == 0x7B:
            depth += 1
            at += 1
        elif one == 0x5D or one == 0x7D:
            if depth == 0:
                place[0] = at
                return E_OK
            depth -= 1
            at += 1
            if depth == 0:
                place[0] = at
                return E_OK
        elif depth == 0 and (one == 0x2C or is_blank(one)):
            place[0] = at
            return E_OK
        else:
            at += 1
    place[0] = end
    return E_TRUNCATED


cdef size_t skip_blanks(const uint8_t *data, size_t at, size_t end, bint commas) noexcept nogil:
    """Return the offset after white space, and after commas where they are between values."""
    while at < end and (is_blank(data[at]) or (commas and data[at] == 0x2C)):
        at += 1
    return at


def sections(
    const uint8_t[::1] data: Buffer, flat: Collection[str], str until: str | None = None, size_t at=0,
    dict found: dict[str, tuple[int, int]] | None = None,
) -> tuple[int, int, dict[str, tuple[int, int]]]:
    """Locate the values of the file's top-level object; ``flat`` has the keys of arrays of numbers.

    Return ``(status, offset of the error, {key: (start, end)})``; where the key ``until`` comes, MORE, the offset of
    its value, and what was found so far. With ``at``, the end of that value, and ``found`` the others are added.
    """
    cdef size_t end = data.shape[0], start, key_start
    cdef const uint8_t *bytes_of = &data[0] if end else NULL
    cdef int status
    cdef bint is_flat, commas
    if found is None:
        found = {}
        with nogil:
            at = skip_blanks(bytes_of, at, end, False)
        if at == end or bytes_of[at] != 0x7B:
            return E_SYNTAX, at, found
        at += 1
    while True:
        commas = len(found) > 0
        with nogil:
            at = skip_blanks(bytes_of, at, end, commas)
        if at < end and bytes_of[at] == 0x7D:
            return E_OK, at, found
        if at < end and bytes_of[at] != 0x22:
            return E_SYNTAX, at, found
        key_start = at + 1
        with nogil:
            at = skip_string(bytes_of, at, end) if at < end else end + 1
        if at > end:
            return E_TRUNCATED, end, found
        key = bytes(data[key_start:at - 1]).decode("utf-8", "replace")
        with nogil:
            at = skip_blanks(bytes_of, at, end, False)
        if at < end and bytes_of[at] != 0x3A:
            return E_SYNTAX, at, found
        at += 1
        with nogil:
            at = skip_blanks(bytes_of, at, end, False)
        if at >= end:
            return E_TRUNCATED, end, found
        if key == until:
            return E_MORE, at, found
        start = at
        is_flat = key in flat
        with nogil:
            status = skip_value(bytes_of, &at, end, is_flat)
        if status != E_OK:
            return status, at, found
        if len(found) >= MAX_SECTIONS or at == start:
            return E_SYNTAX, start, found
        # the last of duplicate keys counts, as in JSON.parse
        found[key] = (start, at)
