# UTF-8, for kernels that read text in other encodings, and the escapes of JSON.

from libc.stdint cimport uint8_t, uint32_t


cdef inline size_t write_utf8(uint8_t *out, uint32_t character) noexcept nogil:
    """Write a character of at most U+10FFFF, and return the number of bytes, at most four."""
    if character < 0x80:
        out[0] = <uint8_t> character
        return 1
    if character < 0x800:
        out[0] = <uint8_t> (0xC0 | character >> 6)
        out[1] = <uint8_t> (0x80 | character & 63)
        return 2
    if character < 0x10000:
        out[0] = <uint8_t> (0xE0 | character >> 12)
        out[1] = <uint8_t> (0x80 | character >> 6 & 63)
        out[2] = <uint8_t> (0x80 | character & 63)
        return 3
    out[0] = <uint8_t> (0xF0 | character >> 18)
    out[1] = <uint8_t> (0x80 | character >> 12 & 63)
    out[2] = <uint8_t> (0x80 | character >> 6 & 63)
    out[3] = <uint8_t> (0x80 | character & 63)
    return 4


cdef inline int hexadecimal_digit(uint8_t one) noexcept nogil:
    """Return the value of a hexadecimal digit, or -1 for another byte."""
    if 0x30 <= one <= 0x39:
        return one - 0x30
    if 0x61 <= one <= 0x66:
        return one - 0x57
    if 0x41 <= one <= 0x46:
        return one - 0x37
    return -1


cdef inline bint read_unit(const uint8_t *data, uint32_t *unit) noexcept nogil:
    """Read four hexadecimal digits. Return False if they are something else."""
    cdef int each, value
    unit[0] = 0
    for each in range(4):
        value = hexadecimal_digit(data[each])
        if value < 0:
            return False
        unit[0] = unit[0] << 4 | <uint32_t> value
    return True


cdef inline size_t read_escape(const uint8_t *data, size_t at, size_t end, uint32_t *character) noexcept nogil:
    """Read the escape of a JSON string whose backslash is at ``at``, before ``end``; return the offset after it.

    Lone surrogates become U+FFFD. Returns 0 for anything that JSON doesn't define.
    """
    cdef uint32_t low
    cdef uint8_t one
    if at + 2 > end:
        return 0
    one = data[at + 1]
    at += 2
    if one == 0x75:
        if at + 4 > end or not read_unit(data + at, character):
            return 0
        at += 4
        if 0xD800 <= character[0] < 0xDC00:
            if (at + 6 <= end and data[at] == 0x5C and data[at + 1] == 0x75 and read_unit(data + at + 2, &low)
                    and 0xDC00 <= low < 0xE000):
                character[0] = 0x10000 + ((character[0] - 0xD800) << 10) + (low - 0xDC00)
                return at + 6
            character[0] = 0xFFFD
        elif 0xDC00 <= character[0] < 0xE000:
            character[0] = 0xFFFD
        return at
    if one == 0x6E:
        one = 0x0A
    elif one == 0x74:
        one = 0x09
    elif one == 0x72:
        one = 0x0D
    elif one == 0x62:
        one = 0x08
    elif one == 0x66:
        one = 0x0C
    elif one not in (0x22, 0x5C, 0x2F):
        return 0
    character[0] = one
    return at
