# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows of whole numbers in JSON, each of which says what an item of another list is to it: strings have their names so.

For the list of the texts that stay in a copy by ``memlens redact``.
"""

from libc.stdint cimport uint8_t, uint16_t, uint64_t

cdef enum:
    S_MORE
    S_ENDED
    S_FULL
    S_BROKEN

MORE, ENDED, FULL, BROKEN = S_MORE, S_ENDED, S_FULL, S_BROKEN


cdef class Rows:
    """An array of whole numbers, read a piece at a time: notes in ``uses`` what the row's type says of its string.

    After :meth:`take`, ``status`` is MORE at the piece's end, ENDED after the array, FULL where ``uses`` has no item
    ``needed``, and BROKEN before a byte that such an array doesn't have.
    """

    cdef readonly int status
    cdef readonly uint64_t needed
    cdef Py_ssize_t _width, _type_at, _name_at, _column
    cdef uint64_t _value, _type, _name
    cdef bint _is_within
    cdef const uint16_t[::1] _bits

    def __init__(self, Py_ssize_t width, Py_ssize_t type_at, Py_ssize_t name_at, const uint16_t[::1] bits):
        """``bits`` are by type; each row has ``width`` numbers, one of them its type and one that of its string."""
        self._width, self._type_at, self._name_at, self._bits = width, type_at, name_at, bits

    def take(self, const uint8_t[::1] data: Buffer, uint16_t[::1] uses) -> int:
        """Read a piece, and return how many bytes of it are read. After FULL call it again with the others."""
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t count = data.shape[0]
        with nogil:
            at = self._take(&data[0], count, uses) if count else 0
        return at

    cdef Py_ssize_t _take(self, const uint8_t *data, Py_ssize_t count, uint16_t[::1] uses) noexcept nogil:
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t column = self._column
        cdef uint64_t value = self._value
        cdef bint is_within = self._is_within
        cdef uint8_t byte
        self.status = S_MORE
        while at < count:
            byte = data[at]
            if 48 <= byte <= 57:
                value = value * 10 + (byte - 48)
                is_within = True
            elif byte == 44 or byte == 93:
                if is_within:
                    if column == self._type_at:
                        self._type = value
                    if column == self._name_at:
                        self._name = value
                    if column + 1 < self._width:
                        column += 1
                    elif self._use(uses):
                        column = 0
                    else:
                        self.status = S_FULL
                        break
                    value = 0
                    is_within = False
                if byte == 93:
                    at += 1
                    self.status = S_BROKEN if column else S_ENDED
                    break
            elif byte != 10 and byte != 32 and byte != 13 and byte != 9:
                self.status = S_BROKEN
                break
            at += 1
        self._column, self._value, self._is_within = column, value, is_within
        return at

    cdef bint _use(self, uint16_t[::1] uses) noexcept nogil:
        """Note what a string is to a row; False if there is no room for it."""
        if self._type >= <uint64_t>self._bits.shape[0] or self._bits[self._type] == 0:
            return True
        if self._name >= <uint64_t>uses.shape[0]:
            self.needed = self._name
            return False
        uses[self._name] |= self._bits[self._type]
        return True
