# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which of many texts may reveal something, so that only these are judged: see :mod:`memlens.proof.marks`."""

from libc.stdint cimport uint8_t
from libc.string cimport memcmp

cdef enum:
    SMALL = 1
    CAPITAL = 2
    DIGIT = 4
    OTHER = 8

cdef int LEAST_RUN = 20
cdef int LEAST_DIGITS = 12
cdef int LEAST_HEXADECIMAL = 24
# of a text only its beginning is judged, in which runs may end elsewhere
cdef int MOST_JUDGED = 4096
cdef int MOST_ENDING = 16

# what each byte is in a run of letters, digits, "+", "-" and "_"; 0 for others
cdef uint8_t KINDS[256]

cdef int each
for each in range(256):
    KINDS[each] = 0
for each in range(26):
    KINDS[97 + each] = SMALL
    KINDS[65 + each] = CAPITAL
for each in range(10):
    KINDS[48 + each] = DIGIT
KINDS[43] = KINDS[45] = KINDS[95] = OTHER


def find(const uint8_t[::1] data: Buffer, tuple endings: tuple[bytes, ...], uint8_t[::1] found):
    """Note in ``found`` which texts, in UTF-8 with a zero byte between two, may have a mark; others have none.

    ``endings`` are the last parts of hosts' names. Texts with other characters than ASCII's always may.
    """
    cdef bytes joined = b"".join(b"." + each + b"\0" for each in endings)
    cdef const uint8_t *ends = <const uint8_t *><const char *>joined
    cdef Py_ssize_t ends_count = len(joined)
    cdef Py_ssize_t at, start = 0, text = 0
    cdef Py_ssize_t count = data.shape[0]
    if not count:
        return
    with nogil:
        for at in range(count + 1):
            if at == count or data[at] == 0:
                found[text] = _may(&data[start], at - start, ends, ends_count)
                text += 1
                start = at + 1


cdef bint _may(const uint8_t *text, Py_ssize_t count, const uint8_t *ends, Py_ssize_t ends_count) noexcept nogil:
    cdef Py_ssize_t at, begin = 0, changes = 0, digits = 0, hexadecimal = 0
    cdef uint8_t byte, kind, before = 0
    cdef uint8_t kinds = 0
    if count > MOST_JUDGED:
        return True
    for at in range(count):
        byte = text[at]
        if byte >= 128 or byte == 64:
            return True
        kind = KINDS[byte]
        # a number, with single spaces or hyphens
        if kind == DIGIT:
            digits += 1
            if digits >= LEAST_DIGITS:
                return True
        elif byte != 32 and byte != 45:
            digits = 0
        hexadecimal = hexadecimal + 1 if kind == DIGIT or 97 <= byte | 32 <= 102 else 0
        if hexadecimal >= LEAST_HEXADECIMAL:
            return True
        if kind == 0:
            if _is_random(at - begin, kinds, changes):
                return True
            begin, kinds, changes = at + 1, 0, 0
            if byte == 46:
                if at and KINDS[text[at - 1]] == DIGIT and at + 1 < count and KINDS[text[at + 1]] == DIGIT:
                    return True
                if at and _is_ending(text + at, count - at, ends, ends_count):
                    return True
                if at >= 4 and memcmp(text + at - 4, b"ya29", 4) == 0:
                    return True
            elif byte == 47 or byte == 92:
                if _is_folder(text + at + 1, count - at - 1):
                    return True
                if byte == 47 and at >= 2 and text[at - 1] == 47 and text[at - 2] == 58:
                    return True
            elif (byte == 61 or byte == 58) and _is_secret(text, at):
                return True
        else:
            if at > begin and kind != before and not (before == CAPITAL and kind == SMALL):
                changes += 1
            before = kind
            kinds |= kind
            if _begins_key(text, at, count):
                return True
    return _is_random(count - begin, kinds, changes)


cdef bint _is_random(Py_ssize_t count, uint8_t kinds, Py_ssize_t changes) noexcept nogil:
    """Whether a run is long, has letters and digits, and changes between kinds at a third of its characters."""
    return count >= LEAST_RUN and kinds & DIGIT != 0 and kinds & (SMALL | CAPITAL) != 0 and 20 * changes >= 7 * count


cdef bint _is_ending(const uint8_t *text, Py_ssize_t count, const uint8_t *ends, Py_ssize_t ends_count) noexcept nogil:
    """Whether a point and what follows are the last part of a host's name."""
    cdef Py_ssize_t size = 1
    cdef Py_ssize_t at
    while size < count and size <= MOST_ENDING and KINDS[text[size]] == SMALL:
        size += 1
    if size < 2 or (size < count and KINDS[text[size]] != 0 and text[size] != 43):
        return False
    for at in range(ends_count - size):
        if ends[at] == 46 and ends[at + size] == 0 and memcmp(ends + at, text, size) == 0:
            return True
    return False


cdef bint _is_folder(const uint8_t *text, Py_ssize_t count) noexcept nogil:
    """Whether the folder of persons' homes follows, in any case."""
    cdef uint8_t first
    if count < 5:
        return False
    first = text[0] | 32
    if first == 104:
        return (text[1] | 32) == 111 and (text[2] | 32) == 109 and (text[3] | 32) == 101
    if first == 114:
        return (text[1] | 32) == 111 and (text[2] | 32) == 111 and (text[3] | 32) == 116
    return first == 117 and (text[1] | 32) == 115 and (text[2] | 32) == 101 and (text[3] | 32) == 114


cdef bint _is_secret(const uint8_t *text, Py_ssize_t at) noexcept nogil:
    """Whether before ``=`` or ``:`` stands "password", "passwd", "secret", "token" or a key."""
    while at and (text[at - 1] <= 32 or 127 == text[at - 1]):
        at -= 1
    if at < 5:
        return False
    if text[at - 1] == 100:
        return memcmp(text + at - 4, b"word", 4) == 0 or memcmp(text + at - 4, b"sswd", 4) == 0
    if text[at - 1] == 116:
        return memcmp(text + at - 5, b"ecret", 5) == 0
    if text[at - 1] == 110:
        return memcmp(text + at - 5, b"token", 5) == 0
    return text[at - 1] == 121 and memcmp(text + at - 3, b"key", 3) == 0


cdef bint _begins_key(const uint8_t *text, Py_ssize_t at, Py_ssize_t count) noexcept nogil:
    """Whether a key begins here, or here its first part ends, by the forms that services give them."""
    cdef uint8_t byte = text[at]
    if byte == 45:
        if at >= 2 and text[at - 2] == 115 and text[at - 1] == 107:
            return True
        if at >= 4 and (memcmp(text + at - 4, b"lpat", 4) == 0 or memcmp(text + at - 4, b"pypi", 4) == 0):
            return True
        if at >= 4 and memcmp(text + at - 4, b"xox", 3) == 0:
            return True
        if at + 16 < count and text[at + 5] == 45 and text[at + 10] == 45 and text[at + 15] == 45:
            return True
        return at >= 4 and memcmp(text + at - 4, b"----", 4) == 0
    if byte == 95:
        if at >= 3 and ((text[at - 3] == 103 and text[at - 2] == 104) or memcmp(text + at - 3, b"npm", 3) == 0):
            return True
        if at >= 3 and memcmp(text + at - 3, b"pat", 3) == 0:
            return True
        return at >= 2 and text[at - 2] == 104 and text[at - 1] == 102
    if at + 4 > count:
        return False
    if byte == 65:
        return memcmp(text + at, b"AKIA", 4) == 0 or memcmp(text + at, b"AIza", 4) == 0
    if byte == 101:
        return memcmp(text + at, b"eyJ", 3) == 0 or (at + 5 <= count and memcmp(text + at, b"earer", 5) == 0)
    return False
