# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Kernels for filters over all objects and references of a heap dump, each a single pass over the columns.

Marks are bytes: 1 for a match. Columns of archives are checked by whoever maps them, but for names of references: these
are numbers of texts only where the reference's kind says so, and one that is out of range fits nothing.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push


def marked(const uint32_t[::1] numbers, const uint8_t[::1] table, uint8_t[::1] marks):
    """Fill ``marks`` with the item of ``table`` that each of some numbers names; all of these are in range."""
    cdef size_t item
    if marks.shape[0] != numbers.shape[0]:
        raise ValueError("a mark for each number")
    with nogil:
        for item in range(<size_t> numbers.shape[0]):
            marks[item] = table[numbers[item]]


def handed_down(const uint32_t[::1] parent, const uint8_t[::1] own, uint8_t[::1] below):
    """Mark in ``below`` the nodes of a tree that have a marked one of ``own`` above them; parents come before their
    children.

    Node 0 is the root.
    """
    cdef size_t node
    with nogil:
        if below.shape[0]:
            below[0] = 0
        for node in range(1, <size_t> parent.shape[0]):
            below[node] = below[parent[node]] | own[parent[node]]


cdef uint8_t *bits_of(const uint8_t[::1] table):
    """The same table with one bit per item, which fits into the first-level cache, and a 0 after the last."""
    cdef size_t item
    cdef uint8_t *bits = <uint8_t *> calloc(table.shape[0] // 8 + 2, 1)
    if bits == NULL:
        raise MemoryError
    for item in range(<size_t> table.shape[0]):
        if table[item]:
            bits[item >> 3] |= <uint8_t> (1 << (item & 7))
    return bits


def having(
    const uint64_t[::1] start,
    const uint32_t[::1] name,
    const uint8_t[::1] kind,
    const uint8_t[::1] by_text,
    const uint8_t[::1] fits,
    size_t first,
    size_t last,
    uint8_t[::1] marks,
):
    """Mark the objects from ``first`` up to ``last`` that have a row with a name that ``fits``.

    Rows ``start[o]`` to ``start[o + 1]`` are those of object ``o``. They are fields, or references where ``kind`` isn't
    empty: ``by_text`` has an item for each number of a byte, whether names of that kind are numbers of texts. Of
    ``start`` only the first and the last number must be in range, which is checked. Raises MemoryError, and IndexError
    for one that isn't.
    """
    cdef size_t item = last, count = fits.shape[0], text
    cdef uint64_t row, begin
    cdef bint has_kinds = kind.shape[0] > 0
    cdef uint8_t *bits
    if marks.shape[0] + 1 != start.shape[0] or last > <size_t> marks.shape[0] or by_text.shape[0] < 256:
        raise ValueError("a mark for each object")
    begin, row = start[first], start[last]
    if first > last or row > <uint64_t> name.shape[0] or has_kinds and kind.shape[0] != name.shape[0]:
        raise IndexError("a row is out of range")
    bits = bits_of(fits)
    with nogil:
        # Rows one after the other without a look at whose they are, for few fit. From the last: a name that most
        # objects have is often that of their last row, as an engine's "map" is, and then all others are passed over.
        while row > begin:
            row -= 1
            text = name[row]
            text = text if text < count else count
            if bits[text >> 3] >> (text & 7) & 1 and (not has_kinds or by_text[kind[row]]):
                while start[item] > row:
                    item -= 1
                marks[item] = 1
                row = start[item]
    free(bits)


def names_used(
    const uint32_t[::1] name,
    const uint8_t[::1] kind,
    const uint8_t[::1] flags,
    size_t first,
    size_t last,
    uint8_t[::1] used,
):
    """Add to ``used``, by name, the flags of the kinds of the references from ``first`` up to ``last``.

    ``flags`` has an item for each of 256 kinds; a kind with none may have numbers that aren't names.
    """
    cdef size_t row, count = used.shape[0]
    cdef uint8_t flag
    if kind.shape[0] != name.shape[0] or flags.shape[0] < 256 or last > <size_t> name.shape[0]:
        raise ValueError("a kind for each name")
    with nogil:
        for row in range(first, last):
            flag = flags[kind[row]]
            if flag and name[row] < count and not used[name[row]] & flag:
                used[name[row]] |= flag


def rows_named(
    const uint32_t[::1] name, const uint8_t[::1] kind, const uint8_t[::1] by_text, const uint8_t[::1] fits
) -> Buffer:
    """The numbers of the references with names that ``fits``, as ``uint64``; see :func:`having`. Raises MemoryError."""
    cdef uint64_t row
    cdef size_t count = fits.shape[0], text
    cdef int status = 0
    cdef Vector rows
    cdef uint8_t *bits
    if kind.shape[0] != name.shape[0] or by_text.shape[0] < 256:
        raise ValueError("a kind for each name")
    bits = bits_of(fits)
    vector_init(&rows, 8)
    with nogil:
        for row in range(<uint64_t> name.shape[0]):
            text = name[row]
            text = text if text < count else count
            if bits[text >> 3] >> (text & 7) & 1 and by_text[kind[row]]:
                status = vector_push(&rows, &row)
                if status < 0:
                    break
    free(bits)
    if status < 0:
        vector_free(&rows)
        raise MemoryError
    return column_of(&rows, b"Q")
