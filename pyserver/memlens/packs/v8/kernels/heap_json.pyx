# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Parses the JSON of V8's heap snapshots, gigabytes of numbers and strings, directly into columns.

Where the values at the top level are, ``kernels/readers/json_sections.pyx`` says. :class:`Rows` parses an array of
numbers, :class:`Strings` one of strings, and :class:`TraceTree` the nested arrays of the allocation trace. All offsets
are in bytes from the beginning of the file; an error is reported as a status and an offset.

Source of the format: ``HeapSnapshotJSONSerializer`` in ``src/profiler/heap-snapshot-generator.cc`` of V8.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

from memlens.kernels.base.large_pages cimport reserve_large
from memlens.kernels.base.utf8 cimport read_escape, write_utf8
from memlens.kernels.base.vectors cimport (
    Vector, column_of, vector_free, vector_init, vector_push, vector_push_u32, vector_reserve,
)
from memlens.kernels.readers.json_sections cimport (
    E_MORE, E_NO_MEMORY, E_NO_NODE, E_OK, E_SYNTAX, E_TOO_LARGE, E_TRUNCATED, is_blank, skip_string,
)

OK, MORE, TRUNCATED, SYNTAX, TOO_LARGE, NO_NODE, NO_MEMORY = range(7)

cdef uint64_t MOST_NUMBER = <uint64_t> 1 << 63
cdef uint64_t LEAST_SIGNED = <uint64_t> 1 << 31     # without the sign


def count_items(const uint8_t[::1] data: Buffer, size_t start, size_t end) -> int:
    """Return the number of items in the array of numbers from ``start`` to ``end``."""
    cdef size_t at, commas = 0
    cdef bint is_empty = True
    with nogil:
        for at in range(start, end):
            commas += data[at] == 0x2C
        for at in range(start + 1, end - 1):
            if not is_blank(data[at]):
                is_empty = False
                break
    return 0 if is_empty else commas + 1


def starts_of(const uint32_t[::1] counts, uint64_t[::1] starts):
    """Fill in where the items of each row begin among all rows', and where those of the last one end."""
    cdef uint64_t total = 0
    cdef Py_ssize_t row
    with nogil:
        for row in range(counts.shape[0]):
            starts[row] = total
            total += counts[row]
        starts[counts.shape[0]] = total


cdef class ArrayReader(Scan):
    """Parses the array from the bracket at ``start`` to the one before ``end``; ValueError if it isn't in the data."""

    def __cinit__(self, const uint8_t[::1] data, size_t start, size_t end, *_):
        # with an open end the bytes after the last value are the closing brackets of the array and the file's object
        end = end or self.length
        if end > self.length or start + 2 > end:
            raise ValueError("no array")
        self.position = start + 1
        self.end = end - 1


cdef struct Sink:
    uint8_t *data       # NULL for a field that isn't kept
    int width
    uint64_t most       # larger values are an error, unless they are clipped
    int most_digit      # the largest value of one digit where nearly all values have one, else -1
    bint is_node        # whether values are indexes into the array of nodes; they are stored as numbers of nodes
    bint is_clipped     # whether larger values are stored as ``most``


cdef class Rows(ArrayReader):
    """Parses an array of numbers into ``rows`` rows, which have a number for each of ``sinks``.

    With ``end`` 0 the array ends where it has as many; :attr:`offset` is then the one after its bracket.

    A sink is None for a field that isn't kept, else a tuple of five: the column (as bytes), the width of its items in
    bytes, the largest value allowed, the number of fields in a node if values are indexes into the array of nodes
    (else 0), and whether larger values are clipped to the largest instead of being an error.
    """

    cdef list columns
    cdef Sink sinks[64]
    cdef size_t rows, row
    cdef int fields, node_fields
    cdef double of_node_field
    cdef bint is_open

    def __cinit__(
        self, const uint8_t[::1] data: Buffer, size_t start, size_t end, size_t rows,
        list sinks: list[tuple[U8, int, int, int, bool] | None],
    ):
        cdef uint8_t[::1] column
        cdef int field
        self.rows = rows
        self.is_open = end == 0
        self.fields = len(sinks)
        if not 0 < self.fields <= 64:
            raise ValueError("a row has 1 to 64 fields")
        self.columns = []
        for field, sink in enumerate(sinks):
            self.sinks[field].data = NULL
            self.sinks[field].is_clipped = False
            self.sinks[field].most_digit = -1
            if sink is None:
                self.sinks[field].most = MOST_NUMBER
                continue
            column, width, most, node_fields, is_clipped = sink
            if <size_t> column.shape[0] < rows * width:
                raise ValueError("a column is too short")
            self.columns.append(column)
            if rows:
                self.sinks[field].data = &column[0]
            self.sinks[field].width = width
            self.sinks[field].most = most
            if width == 1:
                self.sinks[field].most_digit = 9 if most > 9 else most
            self.sinks[field].is_node = node_fields > 0
            self.sinks[field].is_clipped = is_clipped
            if node_fields:
                self.node_fields = node_fields
                self.of_node_field = 1.0 / node_fields

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef const uint8_t *data = self.data
        cdef size_t at = self.position, end = self.end, begin, digits
        cdef uint64_t value, node
        cdef uint8_t one
        cdef int field
        cdef bint is_negative
        cdef Sink *sink
        while self.row < self.rows:
            if at >= limit:
                self.position = at
                return E_MORE
            for field in range(self.fields):
                begin = at
                sink = &self.sinks[field]
                # the processor guesses this right, and need not wait to know where the next number begins
                if at + 1 < end and data[at + 1] == 0x2C and <uint8_t> (data[at] - 0x30) <= sink.most_digit:
                    sink.data[self.row] = data[at] - 0x30
                    at += 2
                    continue
                if at + 8 <= end:
                    at += short_number(data + at, &value)
                if at == begin or (at == begin + 8 and at < end and <uint8_t> (data[at] - 0x30) <= 9):
                    at = begin
                    while at < end and is_blank(data[at]):
                        at += 1
                    begin = at
                    is_negative = at < end and data[at] == 0x2D
                    if is_negative:
                        at += 1
                    digits = at
                    value = 0
                    while at < end:
                        one = data[at] - 0x30
                        if one > 9:
                            break
                        value = value * 10 + one
                        at += 1
                    if at == digits:
                        return self.fail(E_SYNTAX, begin)
                    if is_negative and value:
                        # V8 since 2025 writes numbers of 32 bits as if they had a sign
                        if value > LEAST_SIGNED or at - digits > 10 or sink.is_node or (
                                sink.data != NULL and sink.width != 4):
                            return self.fail(E_SYNTAX, begin)
                        value = (<uint64_t> 1 << 32) - value
                    elif at - digits > 18:
                        if not self.sinks[field].is_clipped:
                            return self.fail(E_TOO_LARGE, begin)
                        value = <uint64_t> -1
                while at < end and is_blank(data[at]):
                    at += 1
                if at < end:
                    if data[at] == 0x2C:
                        at += 1
                    elif not (self.is_open and self.row + 1 == self.rows and field + 1 == self.fields):
                        # a fraction or an exponent belongs to the number
                        return self.fail(E_SYNTAX, begin if data[at] in (0x2E, 0x45, 0x65) else at)
                if sink.data == NULL:
                    continue
                if sink.is_node:
                    # the division is exact below 2**50, and its result is checked
                    node = <uint64_t> ((<double> value + 0.5) * self.of_node_field)
                    if node > sink.most or node * self.node_fields != value:
                        return self.fail(E_NO_NODE, begin)
                    value = node
                elif value > sink.most:
                    if not sink.is_clipped:
                        return self.fail(E_SYNTAX if data[begin] == 0x2D else E_TOO_LARGE, begin)
                    value = sink.most
                if sink.width == 4:
                    (<uint32_t *> sink.data)[self.row] = <uint32_t> value
                elif sink.width == 1:
                    sink.data[self.row] = <uint8_t> value
                elif sink.width == 8:
                    (<uint64_t *> sink.data)[self.row] = value
                else:
                    (<uint16_t *> sink.data)[self.row] = <uint16_t> value
            self.row += 1
        while at < end and is_blank(data[at]):
            at += 1
        if self.is_open and at < end and data[at] == 0x5D:
            self.position = at + 1
            return E_OK
        self.position = at
        if at < end or self.is_open:
            return self.fail(E_SYNTAX, at)
        return E_OK


# ---- strings -------------------------------------------------------------------------------------------------

cdef class Strings(ArrayReader):
    """Parses an array of strings into one buffer of UTF-8 and the offset of each string's end.

    String 0 is an empty one, which precedes those of the file. Lone surrogates become U+FFFD.
    """

    cdef Vector utf8, ends

    def __cinit__(self, const uint8_t[::1] data: Buffer, size_t start, size_t end):
        cdef uint64_t zero = 0
        vector_init(&self.utf8, 1)
        vector_init(&self.ends, 8)
        # the texts are shorter than what they are in the file; what isn't used of this takes no memory
        if reserve_large(&self.utf8, end - start) < 0 or vector_push(&self.ends, &zero) < 0:
            raise MemoryError

    def __dealloc__(self):
        vector_free(&self.utf8)
        vector_free(&self.ends)

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef const uint8_t *data = self.data
        cdef size_t at = self.position, end = self.end, after
        cdef int status
        while True:
            while at < end and is_blank(data[at]):
                at += 1
            if at >= end:
                self.position = at
                return E_OK
            if at >= limit:
                self.position = at
                return E_MORE
            if data[at] != 0x22:
                return self.fail(E_SYNTAX, at)
            after = skip_string(data, at, end)
            if after > end:
                return self.fail(E_TRUNCATED, end)
            status = self.add(data, at + 1, after - 1)
            if status != E_OK:
                return status
            at = after
            while at < end and is_blank(data[at]):
                at += 1
            if at < end:
                if data[at] != 0x2C:
                    return self.fail(E_SYNTAX, at)
                at += 1

    cdef int add(self, const uint8_t *data, size_t at, size_t end) noexcept nogil:
        """Append the string between two quotes. A string is never longer decoded than escaped."""
        cdef uint8_t *out
        cdef const void *found
        cdef size_t length = 0, plain, after
        cdef uint32_t point = 0
        cdef uint64_t total
        if vector_reserve(&self.utf8, self.utf8.count + (end - at) + 4) < 0:
            return self.fail(E_NO_MEMORY, at)
        out = self.utf8.data + self.utf8.count
        while at < end:
            found = memchr(data + at, 0x5C, end - at)
            plain = end - at if found == NULL else <size_t> (<const uint8_t *> found - (data + at))
            memcpy(out + length, data + at, plain)
            length += plain
            at += plain
            if at >= end:
                break
            after = read_escape(data, at, end, &point)
            if after == 0:
                return self.fail(E_SYNTAX, at)
            at = after
            length += write_utf8(out + length, point)
        self.utf8.count += length
        total = self.utf8.count
        if vector_push(&self.ends, &total) < 0:
            return self.fail(E_NO_MEMORY, at)
        return E_OK

    def take(self) -> tuple[Buffer, Buffer]:
        """Return the bytes of UTF-8, and the offset of each string's end (``uint64``)."""
        return column_of(&self.utf8, b"B"), column_of(&self.ends, b"Q")


# ---- the trace tree ------------------------------------------------------------------------------------------

cdef struct Open:
    uint64_t number         # of the next field
    uint32_t row            # the parent of the nodes in this array; NO_ROW at the root of the tree


cdef uint32_t NO_ROW = 0xFFFFFFFF


cdef class TraceTree(Scan):
    """Parses the allocation trace. A node is as many values as it has fields; its children are an array of the values
    of all of them, without brackets around each node.

    Rows are nodes in preorder: the id, the index of the function, the parent's row plus 1, or 0 for no parent, and how
    many objects and bytes the stack allocated, 0 where the fields have no such numbers.
    """

    cdef Vector ids, functions, parents, counts, sizes

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        vector_init(&self.ids, 8)
        vector_init(&self.functions, 4)
        vector_init(&self.parents, 4)
        vector_init(&self.counts, 8)
        vector_init(&self.sizes, 8)

    def __dealloc__(self):
        vector_free(&self.ids)
        vector_free(&self.functions)
        vector_free(&self.parents)
        vector_free(&self.counts)
        vector_free(&self.sizes)

    def read(
        self, size_t start, size_t end, int fields, int id_field, int function_field, int children_field,
        int count_field, int size_field,
    ) -> int:
        """Parse the array from ``start`` to ``end``, and return a status.

        A node has ``fields`` values; the other numbers say which of these are the id, the function, the children, the
        count and the bytes; -1 for one that there is not.
        """
        cdef int status
        cdef Vector path
        if end > self.length or start >= end or fields <= 0:
            raise ValueError("no trace")
        vector_init(&path, sizeof(Open))
        with nogil:
            status = self.read_nodes(
                start, end, fields, id_field, function_field, children_field, count_field, size_field, &path
            )
        vector_free(&path)
        return self.error if status < 0 else status

    cdef int read_nodes(
        self, size_t at, size_t end, int fields, int id_field, int function_field, int children_field,
        int count_field, int size_field, Vector *path,
    ) noexcept nogil:
        cdef const uint8_t *data = self.data
        cdef Open opened
        cdef Open *top
        cdef uint64_t value, nothing = 0
        cdef uint32_t zero = 0, parent
        cdef size_t begin
        cdef int field
        while at < end:
            if is_blank(data[at]) or data[at] == 0x2C:
                at += 1
                continue
            top = <Open *> path.data + (path.count - 1) if path.count else NULL
            if data[at] == 0x5B:
                # only the children are an array
                if top != NULL and <int> (top.number % fields) != children_field:
                    return self.fail(E_SYNTAX, at)
                if top != NULL:
                    top.number += 1
                opened.number = 0
                # the array holds children of the node whose fields are being read
                opened.row = <uint32_t> self.ids.count - 1 if top != NULL else NO_ROW
                if vector_push(path, &opened) < 0:
                    return self.fail(E_NO_MEMORY, at)
                at += 1
                continue
            if top == NULL:
                return self.fail(E_SYNTAX, at)
            if data[at] == 0x5D:
                if top.number % fields:
                    return self.fail(E_SYNTAX, at)
                path.count -= 1
                at += 1
                if path.count == 0:
                    return E_OK
                continue
            begin = at
            value = 0
            while at < end and 0x30 <= data[at] <= 0x39:
                value = value * 10 + (data[at] - 0x30)
                at += 1
            if at == begin:
                return self.fail(E_SYNTAX, at)
            if at - begin > 18:
                return self.fail(E_TOO_LARGE, begin)
            field = <int> (top.number % fields)
            if field == children_field:
                return self.fail(E_SYNTAX, begin)
            if field == 0:
                if self.ids.count >= NO_ROW - 2:
                    return self.fail(E_NO_MEMORY, begin)
                parent = top.row + 1 if top.row != NO_ROW else 0
                if (vector_push(&self.ids, &value) < 0 or vector_push_u32(&self.functions, zero) < 0
                        or vector_push_u32(&self.parents, parent) < 0
                        or vector_push(&self.counts, &nothing) < 0 or vector_push(&self.sizes, &nothing) < 0):
                    return self.fail(E_NO_MEMORY, begin)
            if field == id_field:
                (<uint64_t *> self.ids.data)[self.ids.count - 1] = value
            elif field == function_field:
                if value >= NO_ROW:
                    return self.fail(E_TOO_LARGE, begin)
                (<uint32_t *> self.functions.data)[self.functions.count - 1] = <uint32_t> value
            elif field == count_field:
                (<uint64_t *> self.counts.data)[self.counts.count - 1] = value
            elif field == size_field:
                (<uint64_t *> self.sizes.data)[self.sizes.count - 1] = value
            top.number += 1
        return self.fail(E_TRUNCATED, end)

    def take(self) -> tuple[Buffer, Buffer, Buffer]:
        """Return ids (``uint64``), functions and parents (``uint32``), counts and bytes (``uint64``) of the rows."""
        return (
            column_of(&self.ids, b"Q"), column_of(&self.functions, b"I"), column_of(&self.parents, b"I"),
            column_of(&self.counts, b"Q"), column_of(&self.sizes, b"Q"),
        )
