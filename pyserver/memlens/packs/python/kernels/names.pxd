# What can be a name in Python's source.

from libc.stdint cimport uint8_t, uint64_t


cdef inline bint is_letter(uint8_t byte) noexcept nogil:
    return 0x41 <= (byte & 0xDF) <= 0x5A or byte == 0x5F or byte >= 0x80


cdef inline bint is_identifier(const uint8_t *text, size_t length) noexcept nogil:
    cdef size_t each
    if length == 0 or not is_letter(text[0]):
        return False
    for each in range(1, length):
        if not is_letter(text[each]) and not 0x30 <= text[each] <= 0x39:
            return False
    return True


cdef inline bint is_special(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a name is one of the language's own, as ``__class__`` is."""
    return length > 4 and text[0] == 0x5F == text[1] and text[length - 1] == 0x5F == text[length - 2]


cdef inline uint64_t hash_of(const uint8_t *text, size_t length, uint64_t seed) noexcept nogil:
    """Return a number for a name, which is never 0; a random seed keeps a file from causing collisions."""
    cdef size_t each
    for each in range(length):
        seed = (seed ^ text[each]) * 0xFF51AFD7ED558CCDULL
        seed ^= seed >> 32
    return seed | 1
