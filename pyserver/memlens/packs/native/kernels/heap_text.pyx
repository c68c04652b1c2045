# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans heap profiles in text directly into columns: those of gperftools, tcmalloc and Go, of jemalloc, and of Java.

There are three layouts. gperftools: a line has four numbers and the stack, ``N: BYTES [N: BYTES] @ 0x1 0x2``; Go adds
comments below it that name the frames, ``#\\t0x1\\tFUNCTION+0xOFFSET\\tFILE:LINE``. jemalloc: a line has the stack,
``@ 0x1 0x2``, and the lines below it the four numbers of all threads (``t*:``) and of each (``t1:``). Java: a line has
two numbers and the stack, ``BYTES COUNT @ 0x1 0x2``, and the names of the addresses follow the last of these lines,
``0x1 FUNCTION (FILE:LINE)``.

Source: ``src/heap-profile-table.cc`` of gperftools, ``runtime/pprof/pprof.go`` of Go (``printStackRecord``),
``src/prof_data.c`` of jemalloc, and ``profile/legacy_profile.go`` and ``legacy_java_profile.go`` of google/pprof.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.string cimport memcmp

from memlens.kernels.base.interning cimport Interner, interner_count, interner_text, intern_units
from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.line_scan cimport LineScan, read_decimal, read_hexadecimal

import os

# statuses of a run; formats/ has the messages
OK, MORE, SYNTAX, BAD_NUMBER, TOO_DEEP, NO_MEMORY = range(6)
PLAIN, THREADS, JAVA = range(3)
ALL_THREADS, NO_THREAD = 0xFFFFFFFF, 0xFFFFFFFE

cdef enum:
    E_OK
    E_MORE
    E_SYNTAX
    E_BAD_NUMBER
    E_TOO_DEEP
    E_NO_MEMORY

cdef enum:
    L_PLAIN
    L_THREADS
    L_JAVA

cdef enum:
    MAX_DEPTH = 4_096

cdef uint32_t ALL = 0xFFFFFFFF
cdef uint32_t NO_NUMBER = 0xFFFFFFFE

# rows are numbered with 32 bits
cdef int64_t MOST_ROWS = 0xFFFFFFF0

cdef struct Row:
    int64_t count
    int64_t bytes
    int64_t total_count
    int64_t total_bytes
    uint32_t stack          # of addresses
    uint32_t names          # the stack of named frames, 0 if comments name none
    uint32_t thread         # ALL, NO_NUMBER, or its number
    uint32_t unused


cdef class Scanner(LineScan):
    """Scans the rows from ``start`` on, in steps; ``take`` then moves the tables out. ``layout``: PLAIN, THREADS, JAVA.
    """

    cdef int layout
    cdef Vector rows
    cdef Interner addresses, stacks, names, named
    cdef uint32_t sequence[MAX_DEPTH]
    cdef size_t depth                   # of the comments read for the last row
    cdef uint32_t stack                 # jemalloc: the stack of the rows below
    cdef bint has_stack
    cdef readonly size_t maps           # where the memory map, or Java's names, begin; 0 if there are none
    cdef readonly bint cut              # the file ends within a line

    def __cinit__(self, const uint8_t[::1] data: Buffer, size_t start, int layout):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        self.position = start if start < self.length else self.length
        self.layout = layout
        self.own_table("rows", &self.rows, sizeof(Row), ROW_FORMAT)
        self.own_interner(&self.addresses, 8, seed)
        self.own_interner(&self.stacks, 4, seed)
        self.own_interner(&self.names, 1, seed)
        self.own_interner(&self.named, 4, seed)
        self.name_table("addresses", &self.addresses.units, b"Q")
        self.name_table("stack_starts", &self.stacks.starts, b"Q")
        self.name_table("stack_addresses", &self.stacks.units, b"I")
        self.name_table("named_starts", &self.named.starts, b"Q")
        self.name_table("named_frames", &self.named.units, b"I")
        # stack 0 is empty
        intern_units(&self.stacks, NULL, 0)
        intern_units(&self.named, NULL, 0)

    # ---- parts of lines; each returns its end, 0 if it is missing ----

    cdef size_t blank(self, size_t at, size_t end) noexcept nogil:
        while at < end and (self.data[at] == 0x20 or self.data[at] == 0x09 or self.data[at] == 0x0D):
            at += 1
        return at

    cdef size_t number(self, size_t at, size_t end, int64_t *result) noexcept nogil:
        cdef bint negative = False
        cdef size_t start
        at = self.blank(at, end)
        if at < end and self.data[at] == 0x2D:
            negative = True
            at += 1
        start = at
        if not read_decimal(self.data, &at, end, result):
            self.fail(E_BAD_NUMBER, start)
            return 0
        if negative:
            result[0] = -result[0]
        return at if at > start else 0

    cdef size_t sign(self, size_t at, size_t end, uint8_t character) noexcept nogil:
        at = self.blank(at, end)
        return at + 1 if at < end and self.data[at] == character else 0

    cdef int four(self, size_t at, size_t end, Row *row, size_t *after) noexcept nogil:
        """Read ``N: BYTES [N: BYTES]``. Return 1, 0 if it is something else, or -1 on error."""
        at = self.number(at, end, &row.count)
        at = self.sign(at, end, 0x3A) if at else 0
        at = self.number(at, end, &row.bytes) if at else 0
        at = self.sign(at, end, 0x5B) if at else 0
        at = self.number(at, end, &row.total_count) if at else 0
        at = self.sign(at, end, 0x3A) if at else 0
        at = self.number(at, end, &row.total_bytes) if at else 0
        at = self.sign(at, end, 0x5D) if at else 0
        after[0] = at
        return 1 if at else -1 if self.error else 0

    cdef int64_t stack_of(self, size_t at, size_t end) noexcept nogil:
        """Return the stack of the addresses up to the end of the line, -1 on error."""
        cdef uint64_t address = 0
        cdef size_t depth = 0
        cdef int64_t id
        at = self.blank(at, end)
        while at < end:
            at = read_hexadecimal(self.data, at, end, &address)
            if at == 0:
                return self.fail(E_SYNTAX, end)
            if depth >= MAX_DEPTH:
                return self.fail(E_TOO_DEEP, at)
            id = intern_units(&self.addresses, &address, 1)
            if id < 0 or id > MOST_ROWS:
                return self.fail(E_NO_MEMORY, at)
            self.sequence[depth] = <uint32_t> id
            depth += 1
            at = self.blank(at, end)
        id = intern_units(&self.stacks, self.sequence, depth)
        if id < 0 or id > MOST_ROWS:
            return self.fail(E_NO_MEMORY, at)
        return id

    # ---- lines ----

    cdef int plain_row(self, size_t at, size_t end) noexcept nogil:
        """Read a row of gperftools, tcmalloc or Go."""
        cdef Row row
        cdef size_t after = 0
        cdef int64_t stack
        cdef int status = self.four(at, end, &row, &after)
        if status < 0:
            return -1
        after = self.sign(after, end, 0x40) if status else 0
        if after == 0:
            return self.fail(E_SYNTAX, at)
        stack = self.stack_of(after, end)
        if stack < 0:
            return -1
        row.stack = <uint32_t> stack
        row.names = 0
        row.thread = NO_NUMBER
        row.unused = 0
        return 0 if vector_push(&self.rows, &row) == 0 else self.fail(E_NO_MEMORY, at)

    cdef int thread_row(self, size_t at, size_t end) noexcept nogil:
        """Read a row of jemalloc: ``t*: …`` or ``t12: …``, or ``@ …``, which begins a stack."""
        cdef Row row
        cdef size_t after = 0
        cdef int64_t thread = 0
        cdef int64_t stack
        cdef int status
        at = self.blank(at, end)
        if self.data[at] == 0x40:
            stack = self.stack_of(at + 1, end)
            if stack < 0:
                return -1
            self.stack = <uint32_t> stack
            self.has_stack = True
            return 0
        if self.data[at] != 0x74 or end - at < 3:
            return self.fail(E_SYNTAX, at)
        if self.data[at + 1] == 0x2A:
            row.thread = ALL
            after = at + 2
        else:
            after = self.number(at + 1, end, &thread)
            if after == 0 or thread < 0 or thread >= MOST_ROWS:
                return self.fail(E_SYNTAX, at)
            row.thread = <uint32_t> thread
        after = self.sign(after, end, 0x3A)
        if after == 0:
            return self.fail(E_SYNTAX, at)
        status = self.four(after, end, &row, &after)
        if status < 0:
            return -1
        if status == 0 or self.blank(after, end) != end:
            return self.fail(E_SYNTAX, at)
        if not self.has_stack:
            return 0        # the sums in the header, which formats/ reads
        row.stack = self.stack
        row.names = 0
        row.unused = 0
        return 0 if vector_push(&self.rows, &row) == 0 else self.fail(E_NO_MEMORY, at)

    cdef int java_row(self, size_t at, size_t end) noexcept nogil:
        """Read a row of a Java heap."""
        cdef Row row
        cdef int64_t stack
        cdef size_t after = self.number(at, end, &row.bytes)
        after = self.number(after, end, &row.count) if after else 0
        after = self.sign(after, end, 0x40) if after else 0
        if after == 0 or row.bytes < 0 or row.count <= 0:
            return self.fail(E_SYNTAX, at)
        stack = self.stack_of(after, end)
        if stack < 0:
            return -1
        row.total_count = 0
        row.total_bytes = 0
        row.stack = <uint32_t> stack
        row.names = 0
        row.thread = NO_NUMBER
        row.unused = 0
        return 0 if vector_push(&self.rows, &row) == 0 else self.fail(E_NO_MEMORY, at)

    cdef int comment(self, size_t at, size_t end) noexcept nogil:
        """Read ``#\\t0xADDRESS\\tFUNCTION+0xOFFSET\\tFILE:LINE``, a frame of the row above; skip other comments."""
        cdef uint64_t address = 0
        cdef int64_t id
        if end - at < 4 or self.data[at + 1] != 0x09:
            return 0
        at = read_hexadecimal(self.data, at + 2, end, &address)
        if at == 0 or at >= end or self.data[at] != 0x09:
            return 0
        if self.rows.count == 0 or self.depth >= MAX_DEPTH:
            return 0
        id = intern_units(&self.names, self.data + at + 1, end - at - 1)
        if id < 0 or id > MOST_ROWS:
            return self.fail(E_NO_MEMORY, at)
        self.sequence[self.depth] = <uint32_t> id
        self.depth += 1
        return 0

    cdef int name_row(self) noexcept nogil:
        """Store the comments that were read in the row above them."""
        cdef int64_t id
        if self.depth:
            id = intern_units(&self.named, self.sequence, self.depth)
            self.depth = 0
            if id < 0 or id > MOST_ROWS:
                return self.fail(E_NO_MEMORY, self.position)
            (<Row *> self.rows.data)[self.rows.count - 1].names = <uint32_t> id
        return 0

    cdef bint is_map(self, size_t at, size_t end) noexcept nogil:
        if self.layout == L_JAVA:
            at = self.blank(at, end)
            return end - at >= 2 and self.data[at] == 0x30 and self.data[at + 1] == 0x78
        return (end - at >= 17 and memcmp(self.data + at, b"MAPPED_LIBRARIES:", 17) == 0) or (
            end - at >= 15 and memcmp(self.data + at, b"--- Memory map:", 15) == 0
        )

    cdef int line(self, size_t at, size_t end, bint is_whole) noexcept nogil:
        if end > at and self.data[at] == 0x23 and self.layout == L_PLAIN:
            return self.comment(at, end)
        if self.blank(at, end) == end:
            return 0
        if self.is_map(at, end):
            self.maps = at if self.layout == L_JAVA else end + 1 if is_whole else self.length
            return 1
        if self.name_row() < 0:
            return -1
        if self.layout == L_THREADS:
            self.thread_row(at, end)
        elif self.layout == L_JAVA:
            self.java_row(at, end)
        else:
            self.plain_row(at, end)
        if not is_whole and self.rows.count:
            # the file ends within a line: what could be read of it is kept
            self.cut = True
            if self.error in (E_SYNTAX, E_BAD_NUMBER):
                self.error = E_OK
        return -1 if self.error else 0

    cdef int finish(self) noexcept nogil:
        return self.name_row()

    # ---- for heap_text.py ----

    def texts(self) -> list[str]:
        """Return the frames in Go's comments, without their addresses."""
        cdef size_t row
        return [interner_text(&self.names, row) for row in range(interner_count(&self.names))]


cdef bytes ROW_FORMAT = b"T{q:count:q:bytes:q:total_count:q:total_bytes:I:stack:I:names:I:thread:I:unused:}"
