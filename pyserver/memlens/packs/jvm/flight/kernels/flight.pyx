# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lists the events of a recording of Java Flight Recorder, and decodes them and constants by programs.

A recording says itself which fields its events and constants have. ``metadata.py`` compiles that into programs, lists
of steps: what to read, and which column of a row it belongs to. A step that reads an array has a program for its items.

Source: ``jdk.jfr.internal.consumer`` of OpenJDK (``ChunkHeader``, ``ParserFactory``, ``StringParser``,
``RecordingInput``).
"""

from libc.stdint cimport uint8_t, int32_t, uint32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from memlens.kernels.base.interning cimport hash_bytes
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector, vector_push, vector_push_u32, vector_reserve
from memlens.kernels.readers.scan cimport Scan

import os

# statuses; reader.py has the messages
OK, MORE, BAD_SIZE, BAD_VALUE, NO_MEMORY = range(5)

LONG, INT, SHORT, BYTE, FLOAT, DOUBLE, STRING, ARRAY = range(8)
"""What steps read."""

NOWHERE = -1
"""The column of what is only skipped."""

MOST_TYPES = 1 << 16
"""Events of types with larger numbers, of which no virtual machine has any, are left out."""

EVENT_FORMAT = b"T{Q:type:Q:begin:Q:end:}"

cdef enum:
    E_OK
    E_MORE
    E_BAD_SIZE
    E_BAD_VALUE
    E_NO_MEMORY

cdef enum:
    S_LONG
    S_INT
    S_SHORT
    S_BYTE
    S_FLOAT
    S_DOUBLE
    S_STRING
    S_ARRAY

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF

cdef enum:
    TYPES = 1 << 16
    MAX_DEPTH = 8

cdef struct Event:
    uint64_t type
    uint64_t begin          # of its first field
    uint64_t end


cdef struct Bytes:
    const uint8_t *data
    bint is_compressed


cdef inline bint integer(const Bytes *bytes, size_t *at, size_t end, int width, uint64_t *value) noexcept nogil:
    """Read an integer of up to ``width`` bytes; whether it is there as a whole."""
    cdef uint64_t found = 0
    cdef size_t here = at[0]
    cdef int each
    cdef uint8_t byte
    if not bytes.is_compressed:
        if end - here < <size_t> width:
            return False
        for each in range(width):
            found = found << 8 | bytes.data[here + each]
        at[0] = here + width
        value[0] = found
        return True
    for each in range(9):
        if here >= end:
            return False
        byte = bytes.data[here]
        here += 1
        if each == 8:
            found |= <uint64_t> byte << 56
            break
        found |= <uint64_t> (byte & 0x7F) << (7 * each)
        if byte < 0x80:
            break
    at[0] = here
    value[0] = found
    return True


cdef inline bint skip(size_t *at, size_t end, uint64_t count) noexcept nogil:
    if <uint64_t> (end - at[0]) < count:
        return False
    at[0] += count
    return True


cdef bint skip_text(const Bytes *bytes, size_t *at, size_t end) noexcept nogil:
    cdef uint64_t count, unit
    cdef uint8_t form
    if at[0] >= end:
        return False
    form = bytes.data[at[0]]
    at[0] += 1
    if form < 2:
        return True
    if form == 2:
        return integer(bytes, at, end, 8, &unit)
    if form > 5 or not integer(bytes, at, end, 4, &count):
        return False
    if form != 4:
        return skip(at, end, count)
    # each takes a byte at least
    while count:
        if not integer(bytes, at, end, 2, &unit):
            return False
        count -= 1
    return True


cdef class Scanner(Scan):
    """Lists the events between two bytes whose types are ``wanted``, a byte for each type, in steps.

    ``take("events")`` has the type of each, where its fields begin, and where it ends. ``cut`` is where an event begins
    that has no end, 0 if there is none.
    """

    cdef Vector events
    cdef size_t end
    cdef const uint8_t[::1] wanted
    cdef bint is_compressed
    cdef readonly size_t cut

    def __cinit__(
        self, const uint8_t[::1] data: Buffer, size_t start, size_t end, const uint8_t[::1] wanted, bint is_compressed
    ):
        if wanted.shape[0] != TYPES:
            raise ValueError("a byte for each type is needed")
        self.end = min(end, self.length)
        self.position = min(start, self.end)
        self.wanted = wanted
        self.is_compressed = is_compressed
        self.own_table("events", &self.events, sizeof(Event), EVENT_FORMAT)

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef Bytes bytes
        cdef Event event
        cdef size_t at
        cdef uint64_t size
        bytes.data = self.data
        bytes.is_compressed = self.is_compressed
        while self.position < self.end:
            if self.position >= limit:
                return E_MORE
            at = self.position
            if not integer(&bytes, &at, self.end, 4, &size) or size > self.end - self.position:
                self.cut = self.position
                self.position = self.end
                return E_OK
            if size == 0 or not integer(&bytes, &at, self.position + size, 8, &event.type):
                return self.fail(E_BAD_SIZE, self.position)
            event.begin = at
            event.end = self.position + size
            if event.type < TYPES and self.wanted[event.type]:
                if vector_push(&self.events, &event) < 0:
                    return self.fail(E_NO_MEMORY, self.position)
            self.position = event.end
        return E_OK


cdef class Decoder(Owner):
    """Decodes fields. ``steps`` has three numbers each: what it reads, its column, and the program of an array's items.

    The steps of program ``p`` are ``starts[p]`` to ``starts[p + 1]``. After an error ``error_offset`` says where it is.
    """

    cdef const uint8_t[::1] bytes
    cdef const int32_t[:, ::1] steps
    cdef const uint32_t[::1] starts
    cdef Bytes data
    cdef size_t length
    cdef Vector rows
    cdef Vector ends
    cdef readonly size_t error_offset

    def __cinit__(
        self, const uint8_t[::1] data: Buffer, const int32_t[:, ::1] steps, const uint32_t[::1] starts,
        bint is_compressed,
    ):
        cdef Py_ssize_t each
        if (
            starts.shape[0] < 1
            or starts[starts.shape[0] - 1] > steps.shape[0]
            or (steps.shape[0] and steps.shape[1] != 3)
        ):
            raise ValueError("the programs are inconsistent")
        for each in range(starts.shape[0] - 1):
            if starts[each] > starts[each + 1]:
                raise ValueError("the programs are inconsistent")
        self.bytes = data
        self.steps = steps
        self.starts = starts
        self.length = data.shape[0]
        self.data.data = &data[0] if self.length else NULL
        self.data.is_compressed = is_compressed
        self.own_table("rows", &self.rows, 8, b"q")
        self.own_table("ends", &self.ends, 8, b"Q")

    cdef bint run(self, uint32_t program, size_t *at, size_t end, int64_t *row, int columns, int depth) noexcept nogil:
        """Run a program; its columns go to ``row``. Whether all is there."""
        cdef uint32_t step, items
        cdef int32_t column
        cdef uint64_t value = 0, count
        cdef size_t before
        cdef int read
        if depth > MAX_DEPTH or program >= self.starts.shape[0] - 1:
            return False
        for step in range(self.starts[program], self.starts[program + 1]):
            read = self.steps[step, 0]
            column = self.steps[step, 1]
            before = at[0]
            if read == S_LONG:
                if not integer(&self.data, at, end, 8, &value):
                    return False
            elif read == S_INT:
                if not integer(&self.data, at, end, 4, &value):
                    return False
                value = <uint64_t> <int64_t> <int32_t> value
            elif read == S_SHORT:
                if not integer(&self.data, at, end, 2, &value):
                    return False
                value &= 0xFFFF
            elif read == S_BYTE:
                if before >= end:
                    return False
                value = self.data.data[before]
                at[0] += 1
            elif read == S_FLOAT or read == S_DOUBLE:
                value = 0
                if not skip(at, end, 4 if read == S_FLOAT else 8):
                    return False
            elif read == S_STRING:
                value = before
                if not skip_text(&self.data, at, end):
                    return False
            elif read == S_ARRAY:
                value = before
                items = self.steps[step, 2]
                if not integer(&self.data, at, end, 4, &count) or count > end - at[0]:
                    return False
                while count:
                    before = at[0]
                    # an item without bytes could be repeated for ever
                    if not self.run(items, at, end, NULL, 0, depth + 1) or at[0] == before:
                        return False
                    count -= 1
            else:
                return False
            if row != NULL and 0 <= column < columns:
                row[column] = <int64_t> value
        return True

    def events(
        self, uint32_t program, const uint64_t[::1] begins, const uint64_t[::1] ends, int64_t[:, ::1] rows,
    ) -> int:
        """Decode an event in each row. Returns OK or BAD_VALUE."""
        cdef Py_ssize_t each
        cdef size_t at = 0, end
        cdef int columns = rows.shape[1]
        cdef int status = E_OK
        if begins.shape[0] != rows.shape[0] or ends.shape[0] != rows.shape[0]:
            raise ValueError("the columns are inconsistent")
        with nogil:
            for each in range(rows.shape[0]):
                at = begins[each]
                end = ends[each]
                if at > end or end > self.length or not self.run(program, &at, end, &rows[each, 0], columns, 0):
                    self.error_offset = at
                    status = E_BAD_VALUE
                    break
        return status

    def pool(self, uint32_t program, size_t at, size_t end, uint64_t count, int columns) -> tuple[int, int]:
        """Decode constants, ``count`` of them, each after its key.

        Returns a status and where they end. ``take("rows")`` has the key and the columns of each, or nothing if
        ``columns`` is 0.
        """
        cdef uint64_t key
        cdef size_t before = at
        cdef int64_t *row
        cdef int status = E_OK
        end = min(end, self.length)
        if at > end or columns < 0:
            return E_BAD_VALUE, at
        with nogil:
            while count:
                before = at
                if not integer(&self.data, &at, end, 8, &key):
                    status = E_BAD_VALUE
                    break
                row = NULL
                if columns:
                    if vector_reserve(&self.rows, self.rows.count + columns + 1) < 0:
                        status = E_NO_MEMORY
                        break
                    row = <int64_t *> self.rows.data + self.rows.count
                    self.rows.count += columns + 1
                    memset(row, 0, (columns + 1) * 8)
                    row[0] = <int64_t> key
                    row += 1
                if not self.run(program, &at, end, row, columns, 0):
                    status = E_BAD_VALUE
                    break
                count -= 1
        if status:
            self.error_offset = before
        return status, at

    def arrays(self, uint32_t program, const uint64_t[::1] begins, int columns) -> int:
        """Decode the items of arrays that :meth:`pool` has passed over, in rows of ``columns`` each.

        Returns a status. ``take("ends")`` has the number of rows up to the end of each array, ``take("rows")`` has
        them.
        """
        cdef Py_ssize_t each
        cdef size_t at = 0
        cdef uint64_t count, done = 0
        cdef int64_t *row
        cdef int status = E_OK
        if columns < 1:
            return E_BAD_VALUE
        with nogil:
            for each in range(begins.shape[0]):
                at = begins[each]
                if at > self.length or not integer(&self.data, &at, self.length, 4, &count) or count > self.length - at:
                    status = E_BAD_VALUE
                    break
                done += count
                # each item has a byte at least
                if done > self.length:
                    status = E_BAD_VALUE
                    break
                if (
                    vector_reserve(&self.rows, self.rows.count + count * columns) < 0
                    or vector_push(&self.ends, &done) < 0
                ):
                    status = E_NO_MEMORY
                    break
                while count:
                    row = <int64_t *> self.rows.data + self.rows.count
                    memset(row, 0, columns * 8)
                    if not self.run(program, &at, self.length, row, columns, 0):
                        status = E_BAD_VALUE
                        break
                    self.rows.count += columns
                    count -= 1
                if status:
                    break
        if status:
            self.error_offset = at
        return status


cdef class StackTree(Owner):
    """A prefix tree of stacks that grows: with millions of stacks it takes a fraction of what they take in a row.

    Node 0 is the root, the empty stack. ``take("parents")`` and ``take("frames")`` have the columns of the nodes.
    """

    cdef Vector parents
    cdef Vector frames
    cdef uint32_t *slots        # open addressing by parent and frame; 0 for an empty slot
    cdef size_t size
    cdef uint64_t seed          # random for each tree, so that no file can cause collisions

    def __cinit__(self):
        self.size = 1 << 12
        self.seed = int.from_bytes(os.urandom(8), "little") | 1
        self.own_table("parents", &self.parents, 4, b"I")
        self.own_table("frames", &self.frames, 4, b"I")
        self.slots = <uint32_t *> calloc(self.size, sizeof(uint32_t))
        if self.slots == NULL or vector_push_u32(&self.parents, NONE) < 0 or vector_push_u32(&self.frames, NONE) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.slots)

    cdef size_t slot_of(self, uint32_t parent, uint32_t frame) noexcept nogil:
        """The slot in which the child of a node with that frame is, or belongs."""
        cdef uint64_t key = <uint64_t> parent << 32 | frame
        cdef size_t slot = hash_bytes(<uint8_t *> &key, 8, self.seed) & (self.size - 1)
        cdef uint32_t node
        while True:
            node = self.slots[slot]
            if node == 0 or (
                (<uint32_t *> self.parents.data)[node] == parent and (<uint32_t *> self.frames.data)[node] == frame
            ):
                return slot
            slot = (slot + 1) & (self.size - 1)

    cdef bint grow(self) noexcept nogil:
        cdef size_t node
        cdef uint32_t *slots = <uint32_t *> calloc(self.size * 2, sizeof(uint32_t))
        if slots == NULL:
            return False
        free(self.slots)
        self.slots = slots
        self.size *= 2
        for node in range(1, self.parents.count):
            self.slots[
                self.slot_of((<uint32_t *> self.parents.data)[node], (<uint32_t *> self.frames.data)[node])
            ] = <uint32_t> node
        return True

    cdef uint32_t child_of(self, uint32_t parent, uint32_t frame) noexcept nogil:
        """The child of a node with that frame, a new one if it is missing; NONE if out of memory."""
        cdef size_t slot = self.slot_of(parent, frame)
        cdef uint32_t node = self.slots[slot]
        if node:
            return node
        if self.parents.count >= NONE:
            return NONE
        node = <uint32_t> self.parents.count
        if vector_push_u32(&self.parents, parent) < 0 or vector_push_u32(&self.frames, frame) < 0:
            return NONE
        self.slots[slot] = node
        if self.parents.count * 2 >= self.size and not self.grow():
            return NONE
        return node

    def add(
        self, const uint32_t[::1] sequence, const uint64_t[::1] ends, const uint8_t[::1] cut, uint32_t cut_frame,
        size_t most, uint32_t[::1] nodes,
    ):
        """Fill ``nodes`` with the node of each stack, whose frames, innermost first, are in ``sequence`` up to its end.

        A stack that is ``cut`` has ``cut_frame`` as its outermost one, around at most ``most`` others. Raises
        MemoryError.
        """
        cdef size_t stack, position, start = 0, end
        cdef uint32_t node
        cdef bint failed = False
        if ends.shape[0] != nodes.shape[0] or cut.shape[0] != nodes.shape[0]:
            raise ValueError("columns of different lengths")
        with nogil:
            for stack in range(<size_t> nodes.shape[0]):
                end = ends[stack]
                if end < start or end > <size_t> sequence.shape[0]:
                    failed = True
                    break
                node = 0
                position = end
                if cut[stack]:
                    node = self.child_of(node, cut_frame)
                    position = min(end, start + most)
                while position > start and node != NONE:
                    position -= 1
                    node = self.child_of(node, sequence[position])
                if node == NONE:
                    failed = True
                    break
                nodes[stack] = node
                start = end
        if failed:
            raise MemoryError
