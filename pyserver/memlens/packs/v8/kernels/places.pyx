# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where the functions and classes of a V8 heap snapshot are defined: its ``locations``, which nearly all closures have.

A location has an object, the id of a script, a line and a column. The script's name is that of an object: newer files
have it in the location, in others it is found through any closure of the script. Arguments are columns whose numbers
have been checked; ``script`` has a number of ``named`` for each location, the same for those of one script.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.interning cimport Interner, intern_units, interner_free, interner_init
from memlens.kernels.base.vectors cimport column_of
from memlens.packs.v8.kernels.edges cimport Edges

cdef uint32_t NO_NUMBER = 0xFFFFFFFF
cdef uint32_t MOST_LINE = 0x7FFFFFFE    # of those that count from 0


def rows_of(const uint32_t[::1] objects, uint32_t[::1] rows):
    """Fill ``rows``: the first row that an object has among ``objects``, NONE for objects that have none."""
    cdef Py_ssize_t row
    with nogil:
        memset(&rows[0], 0xFF, rows.shape[0] * 4)
        for row in range(objects.shape[0] - 1, -1, -1):
            rows[objects[row]] = <uint32_t> row


cdef inline uint32_t through(Edges edges, const uint8_t[::1] passes, uint32_t item) noexcept nogil:
    """Return the target of an object's first internal reference whose name ``passes``, or NO_NUMBER."""
    cdef uint64_t at
    for at in range(edges.start[item], edges.start[item + 1]):
        if edges.kind[at] == edges.internal and passes[edges.name[at]]:
            return edges.target[at]
    return NO_NUMBER


def name_scripts(
    const uint32_t[::1] rows,
    const uint64_t[::1] script,
    const uint32_t[::1] script_object,
    Edges edges not None,
    const uint8_t[::1] is_shared,
    const uint8_t[::1] is_script,
    const uint32_t[::1] names,
    uint32_t[::1] named,
):
    """Fill ``named``, which is zeros: the text of each script's name, of its last object where objects differ.

    ``names`` has the text of each object's name. ``script_object`` is empty where locations don't have it; then a
    closure's internal references ``is_shared`` and ``is_script``, an item for each text, lead to the script.
    """
    cdef Py_ssize_t item
    cdef uint32_t row, found
    cdef bint is_known = script_object.shape[0] > 0
    with nogil:
        for item in range(rows.shape[0] - 1, -1, -1):
            row = rows[item]
            if row == NO_NUMBER or named[script[row]] != 0:
                continue
            if is_known:
                found = script_object[row]
            else:
                found = through(edges, is_shared, <uint32_t> item)
                if found != NO_NUMBER:
                    found = through(edges, is_script, found)
            if found != NO_NUMBER:
                named[script[row]] = names[found]


def count_places(
    const uint32_t[::1] rows,
    const uint64_t[::1] script,
    const uint32_t[::1] line,
    const uint32_t[::1] named,
    uint8_t[::1] used,
) -> int:
    """Return how many objects have a line in a named script; set ``used``, which is zeros, for these names' texts."""
    cdef Py_ssize_t item, count = 0
    cdef uint32_t row, text
    with nogil:
        for item in range(rows.shape[0]):
            row = rows[item]
            if row == NO_NUMBER or line[row] > MOST_LINE:
                continue
            text = named[script[row]]
            used[text] |= text != 0
            count += text != 0
    return count


def number_places(
    const uint32_t[::1] rows,
    const uint64_t[::1] script,
    const uint32_t[::1] line,
    const uint32_t[::1] column,
    const uint32_t[::1] names,
    const uint32_t[::1] named,
    const uint8_t[::1] has_columns,
    unsigned long long seed,
    uint32_t[:, ::1] places,
) -> Buffer:
    """Fill ``places``, as many as :func:`count_places` says: each object and the number of its line.

    Return what is numbered, in the order of objects: the texts of the object's and the script's names, line and column
    from 1. The column is 0 except in scripts whose names' texts have ``has_columns``; ``column`` may be empty where
    none have. ``seed`` should be random, so that no file can have many of one hash. Raises MemoryError.
    """
    cdef Interner interner
    cdef Py_ssize_t item, count = 0
    cdef int64_t number = 0
    cdef uint32_t row
    cdef uint32_t[4] key
    if interner_init(&interner, 4, seed) < 0:
        interner_free(&interner)
        raise MemoryError
    with nogil:
        for item in range(rows.shape[0]):
            row = rows[item]
            if row == NO_NUMBER or line[row] > MOST_LINE:
                continue
            key[1] = named[script[row]]
            if key[1] == 0:
                continue
            key[0] = names[item]
            key[2] = line[row] + 1
            key[3] = column[row] + 1 if has_columns[key[1]] else 0
            number = intern_units(&interner, key, 4)
            if number < 0:
                break
            places[count, 0] = <uint32_t> item
            places[count, 1] = <uint32_t> number
            count += 1
    keys = column_of(&interner.units, b"I")
    interner_free(&interner)
    if number < 0:
        raise MemoryError
    return keys
