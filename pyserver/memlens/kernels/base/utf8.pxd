# UTF-8, for kernels whose files hold text in another encoding.

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
