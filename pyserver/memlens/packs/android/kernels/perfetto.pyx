# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads a trace of Perfetto: where its packets about heaps are, and the objects of ART's heap graphs.

Source: ``trace_packet.proto`` and ``third_party/android/art/heap_graph.proto`` of Perfetto.
Unknown fields are skipped; repeated numbers may be packed or not. No number from the file is used as an index here.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove

from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.protobuf cimport (
    BYTES, E_BAD_WIRE, E_OK, E_TRUNCATED, VARINT, Reader, done, fail, inside, more, numbers, push,
    read_length, reader_of, skip, varint
)

OK, TRUNCATED, BAD_TAG, BAD_WIRE, NO_MEMORY = range(5)
"""Statuses."""

HEAP_GRAPH, PROFILE, COMPRESSED, MAPPING, PROCESSES, FAILURE, INTERNED, SYMBOLS, FORGOTTEN = range(9)
"""What a packet has; FORGOTTEN: nothing, but what was interned on its sequence before isn't used any more."""

cdef enum:
    P_HEAP_GRAPH, P_PROFILE, P_COMPRESSED, P_MAPPING, P_PROCESSES, P_FAILURE, P_INTERNED, P_SYMBOLS, P_FORGOTTEN
    P_OTHER
    PACKET = 1                  # the only field of a trace
    # the fields of a packet
    F_PROCESSES = 2
    F_UID = 3
    F_TIMESTAMP = 8
    F_SEQUENCE = 10
    F_INTERNED = 12
    F_FLAGS = 13                # of the sequence; the first bit: as F_FORGOTTEN
    F_SYNCHRONIZATION = 36
    F_PROFILE = 37
    F_FORGOTTEN = 41            # whether what was interned on the sequence before isn't used any more
    F_COMPRESSED = 50
    F_HEAP_GRAPH = 56
    F_SYMBOLS = 61
    F_MAPPING = 64
    F_FAILURE = 131             # what ART says of the process
    # the longest packet that is looked into for its first fields
    HEAD_FIELDS = 16
    MOST_FIELD = 10000          # of the fields that packets have, also of extensions

cdef uint64_t NO_FIELD = 0xFFFFFFFFFFFFFFFF

PACKET_FORMAT = b"T{<Q:start:<Q:end:<Q:sequence:<q:pid:<Q:index:<I:continued:<I:has:}"
ROOT_FORMAT = b"T{<Q:object:<Q:kind:}"
EXTRA_FORMAT = b"T{<Q:object:<q:native:<I:width:<I:height:}"
PART_FORMAT = b"T{<Q:field:<Q:start:<Q:end:}"

cdef struct Packet:
    uint64_t start          # of the field's bytes
    uint64_t end
    uint64_t sequence
    int64_t pid
    uint64_t index
    uint32_t continued
    uint32_t has

cdef struct Root:
    uint64_t object
    uint64_t kind

cdef struct Extra:
    uint64_t object         # the number of the row of the object
    int64_t native          # -1: not said
    uint32_t width
    uint32_t height

cdef struct Part:
    uint64_t field
    uint64_t start
    uint64_t end


cdef bint begins_with_number(Reader r) noexcept nogil:
    """Return whether the message that follows begins with a number, or with a message that does.

    So do lists of processes. Data of OpenTelemetry, which otherwise looks like a packet, has a text or more messages.
    """
    cdef Reader inner = inside(&r)
    cdef Reader first
    cdef uint32_t field, wire
    if not more(&inner, &field, &wire):
        return False
    if wire == BYTES:
        first = inside(&inner)
        if not more(&first, &field, &wire):
            return False
    return wire == VARINT


def sniff(const uint8_t[::1] head: Buffer) -> bool:
    """Return whether the first bytes of a file are those of a trace: a packet and the beginning of another one.

    In its fields each number has the encoding that it has in a packet, and some are of those that packets of a trace
    begin with. A text may begin with the same byte, an empty line.
    """
    cdef Reader r, inner
    cdef uint32_t field, wire
    cdef size_t seen = 0, known = 0
    cdef bint is_whole
    if head.shape[0] == 0 or head[0] != (PACKET << 3 | BYTES):
        return False
    r = reader_of(&head[0], 1, head.shape[0])
    with nogil:
        inner = reader_of(r.data, 0, 0)
        inner.end = <size_t> varint(&r)
        is_whole = inner.end <= r.end - r.at
        inner.at = r.at
        if inner.end == 0 or r.status != E_OK:
            fail(&r, E_BAD_WIRE)
        elif is_whole:
            inner.end += r.at
            if inner.end < r.end and r.data[inner.end] != (PACKET << 3 | BYTES):
                fail(&r, E_BAD_WIRE)
        else:
            # the head ends within the packet
            inner.end = r.end
        while r.status == E_OK and (is_whole or seen < HEAD_FIELDS) and more(&inner, &field, &wire):
            seen += 1
            if field in (F_UID, F_TIMESTAMP, F_SEQUENCE):
                known += 1
                if wire != VARINT:
                    fail(&inner, E_BAD_WIRE)
            elif field in (F_PROCESSES, F_SYNCHRONIZATION, F_PROFILE, F_COMPRESSED, F_HEAP_GRAPH, F_MAPPING, F_FAILURE,
                           6, 33, 89):
                # also clocks, the configuration, the trace's id
                known += field != F_PROCESSES or begins_with_number(inner)
                if wire != BYTES:
                    fail(&inner, E_BAD_WIRE)
            elif (field == 1 and wire != BYTES) or field > MOST_FIELD:
                # other protocol buffers begin with messages whose field 1 is a number
                fail(&inner, E_BAD_WIRE)
            skip(&inner, wire)
    if r.status != E_OK or known == 0:
        return False
    return inner.status == E_OK or (not is_whole and inner.status == E_TRUNCATED)


cdef inline uint32_t subject(uint32_t field) noexcept nogil:
    """Return what a packet with a field is about."""
    if field == F_HEAP_GRAPH:
        return P_HEAP_GRAPH
    if field == F_PROFILE:
        return P_PROFILE
    if field == F_INTERNED:
        return P_INTERNED
    if field == F_COMPRESSED:
        return P_COMPRESSED
    if field == F_MAPPING:
        return P_MAPPING
    if field == F_FAILURE:
        return P_FAILURE
    if field == F_PROCESSES:
        return P_PROCESSES
    return P_SYMBOLS if field == F_SYMBOLS else P_OTHER


cdef class Packets(Owner):
    """Finds the packets about heaps among the bytes of a trace, in steps.

    A row has the bytes of a field that a packet is about, and of a heap graph its process, index and whether it is
    continued; what a packet has interned comes before what refers to that. What comes after the first damage is not
    looked at.
    """

    cdef const uint8_t[::1] bytes
    cdef Reader reader
    cdef Vector rows

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        self.bytes = data
        self.reader = reader_of(&data[0] if data.shape[0] else NULL, 0, data.shape[0])
        self.own_table("packets", &self.rows, sizeof(Packet), PACKET_FORMAT)

    @property
    def offset(self) -> int:
        """The offset of the next packet, or of the first damage."""
        return self.reader.wrong if self.reader.status else self.reader.at

    @property
    def status(self) -> int:
        """OK, or what damage there is."""
        return self.reader.status

    def run(self, uint64_t limit) -> int:
        """Look at the packets that begin before the byte ``limit``; 1 if there are others, else 0, or NO_MEMORY."""
        cdef uint32_t field, wire
        cdef Reader inner
        cdef Reader *r = &self.reader
        with nogil:
            while r.at < limit and more(r, &field, &wire):
                if field == PACKET and wire == BYTES:
                    inner = inside(r)
                    self.packet(&inner)
                    done(r, &inner)
                else:
                    skip(r, wire)
        if r.status == NO_MEMORY:
            return NO_MEMORY
        return 1 if r.status == E_OK and r.at < r.end else 0

    cdef void packet(self, Reader *r) noexcept nogil:
        cdef Packet row
        cdef Packet *rows
        cdef uint32_t field, wire
        cdef uint64_t length, sequence = 0
        cdef size_t first = self.rows.count, each
        cdef bint is_forgotten = False
        row.start = row.end = row.sequence = row.index = 0
        row.pid = 0
        row.continued = 0
        row.has = P_FORGOTTEN
        # a packet says at its end what it forgets first
        push(r, &self.rows, &row)
        while more(r, &field, &wire):
            if field == F_SEQUENCE and wire == VARINT:
                sequence = varint(r)
            elif field == F_FORGOTTEN and wire == VARINT:
                is_forgotten |= varint(r) != 0
            elif field == F_FLAGS and wire == VARINT:
                is_forgotten |= varint(r) & 1
            elif wire == BYTES and subject(field) != P_OTHER:
                row.has = subject(field)
                length = read_length(r)
                row.start, row.end = r.at, r.at + length
                r.at += length
                if row.has == P_HEAP_GRAPH and r.status == E_OK:
                    self.head(r, &row)
                push(r, &self.rows, &row)
                row.pid, row.index, row.continued = 0, 0, 0
            else:
                skip(r, wire)
        if r.status != E_OK:
            self.rows.count = first
            return
        rows = <Packet *> self.rows.data
        for each in range(first, self.rows.count):
            rows[each].sequence = sequence
        if not is_forgotten:
            self.rows.count -= 1
            memmove(&rows[first], &rows[first + 1], (self.rows.count - first) * sizeof(Packet))

    cdef void head(self, Reader *r, Packet *row) noexcept nogil:
        """What a heap graph's message says of itself."""
        cdef Reader inner = reader_of(r.data, row.start, row.end)
        cdef uint32_t field, wire
        while more(&inner, &field, &wire):
            if wire == VARINT and field == 1:
                # an int32
                row.pid = <int64_t> varint(&inner)
            elif wire == VARINT and field == 5:
                row.continued = varint(&inner) != 0
            elif wire == VARINT and field == 6:
                row.index = varint(&inner)
            else:
                skip(&inner, wire)


cdef class Objects(Owner):
    """The objects of one heap graph, of its messages in their order.

    References are in the order of each object's fields, null included, then those that the runtime itself has. The
    types and the names are left where they are, as parts with the numbers of their fields.
    """

    cdef Vector ids, types, sizes, heaps, ends, targets, fields, is_runtime, roots, extras, parts
    cdef Vector names, runtime
    cdef uint64_t last_id, last_heap
    cdef readonly uint64_t broken
    """Objects left out because their message is damaged, with what follows it in its packet, or because it has another
    number of fields than of references."""
    cdef readonly uint64_t impossible
    """Widths, heights and sizes of native memory that can't be true, and are left out."""

    def __cinit__(self):
        cdef uint64_t zero = 0
        self.own_table("ids", &self.ids, 8, b"Q")
        self.own_table("types", &self.types, 8, b"Q")
        self.own_table("sizes", &self.sizes, 8, b"Q")
        self.own_table("heaps", &self.heaps, 8, b"Q")
        self.own_table("starts", &self.ends, 8, b"Q")
        self.own_table("targets", &self.targets, 8, b"Q")
        self.own_table("fields", &self.fields, 8, b"Q")
        self.own_table("is_runtime", &self.is_runtime, 1, b"B")
        self.own_table("roots", &self.roots, sizeof(Root), ROOT_FORMAT)
        self.own_table("extras", &self.extras, sizeof(Extra), EXTRA_FORMAT)
        self.own_table("parts", &self.parts, sizeof(Part), PART_FORMAT)
        self.own(&self.names, 8)
        self.own(&self.runtime, 8)
        if vector_push(&self.ends, &zero) < 0:
            raise MemoryError

    @property
    def part_count(self) -> int:
        """How many parts there are so far."""
        return self.parts.count

    def add(self, const uint8_t[::1] data: Buffer, uint64_t start, uint64_t end) -> int:
        """Add a message of a heap graph, at ``data[start:end]``; returns its status. Raises ValueError for bytes that
        aren't there."""
        cdef Reader r
        if start > end or end > <uint64_t> data.shape[0]:
            raise ValueError("the message is not within the data")
        if start == end:
            return OK
        r = reader_of(&data[0], start, end)
        with nogil:
            self.message(&r)
        return r.status

    cdef void message(self, Reader *r) noexcept nogil:
        cdef Reader inner
        cdef uint32_t field, wire
        cdef Part part
        while more(r, &field, &wire):
            if field == 2 and wire == BYTES:
                inner = inside(r)
                self.object(&inner)
                if inner.status != E_OK:
                    self.broken += 1
                done(r, &inner)
            elif field == 7 and wire == BYTES:
                inner = inside(r)
                self.root(&inner)
                done(r, &inner)
            elif field in (4, 8, 9) and wire == BYTES:
                part.field = field
                inner = inside(r)
                part.start, part.end = inner.at, inner.end
                push(r, &self.parts, &part)
            else:
                skip(r, wire)

    cdef inline uint32_t pixels(self, uint64_t number) noexcept nogil:
        """A width or height, which is an int32; 0 for an impossible one, which modulo 2**32 might be another."""
        if number > 0x7FFFFFFF:
            self.impossible += 1
            return 0
        return <uint32_t> number

    cdef void object(self, Reader *r) noexcept nogil:
        cdef uint32_t field, wire
        cdef uint64_t id = 0, type = 0, size = 0, base = 0, heap = self.last_heap, first = self.targets.count, each
        cdef uint64_t row = self.ids.count
        cdef uint8_t no = 0, yes = 1
        cdef bint is_delta = False
        cdef Extra extra
        extra.object, extra.native, extra.width, extra.height = row, -1, 0, 0
        self.names.count = self.runtime.count = 0
        while more(r, &field, &wire):
            if field == 4:
                numbers(r, wire, &self.names)
            elif field == 5:
                numbers(r, wire, &self.targets)
            elif field == 10:
                numbers(r, wire, &self.runtime)
            elif wire != VARINT:
                skip(r, wire)
            elif field == 1:
                id, is_delta = varint(r), False
            elif field == 7:
                id, is_delta = varint(r), True
            elif field == 2:
                type = varint(r)
            elif field == 3:
                size = varint(r)
            elif field == 6:
                base = varint(r)
            elif field == 8:
                extra.native = <int64_t> varint(r)
                # -1 stands for none below
                self.impossible += extra.native == -1
            elif field == 9:
                heap = varint(r)
            elif field == 13:
                extra.width = self.pixels(varint(r))
            elif field == 14:
                extra.height = self.pixels(varint(r))
            else:
                skip(r, wire)
        if r.status == E_OK:
            # also for one that is left out
            self.last_id = self.last_id + id if is_delta else id
            self.last_heap = heap
            if self.names.count and self.names.count != self.targets.count - first:
                self.broken += 1
                self.targets.count = first
                return
        else:
            self.targets.count = first
            return
        for each in range(first, self.targets.count):
            if (<uint64_t *> self.targets.data)[each]:
                (<uint64_t *> self.targets.data)[each] += base
            push(r, &self.fields, &(<uint64_t *> self.names.data)[each - first] if self.names.count else &NO_FIELD)
            push(r, &self.is_runtime, &no)
        for each in range(self.runtime.count):
            push(r, &self.targets, &(<uint64_t *> self.runtime.data)[each])
            push(r, &self.fields, &NO_FIELD)
            push(r, &self.is_runtime, &yes)
        each = self.targets.count
        push(r, &self.ids, &self.last_id)
        push(r, &self.types, &type)
        push(r, &self.sizes, &size)
        push(r, &self.heaps, &heap)
        push(r, &self.ends, &each)
        if extra.native != -1 or extra.width or extra.height:
            push(r, &self.extras, &extra)

    cdef void root(self, Reader *r) noexcept nogil:
        cdef uint32_t field, wire
        cdef size_t each
        cdef uint64_t kind = 0
        cdef Root row
        self.names.count = 0
        while more(r, &field, &wire):
            if field == 1:
                numbers(r, wire, &self.names)
            elif field == 2 and wire == VARINT:
                kind = varint(r)
            else:
                skip(r, wire)
        for each in range(self.names.count):
            row.object, row.kind = (<uint64_t *> self.names.data)[each], kind
            push(r, &self.roots, &row)


def fields_of(const uint8_t[::1] data: Buffer, uint64_t start, uint64_t end) -> list[tuple[int, int | bytes]]:
    """The fields of any message: pairs of a number and a number or bytes; those of a fixed size are left out.

    Ends at the first damage. Raises ValueError for bytes that aren't there.
    """
    cdef Reader r
    cdef uint32_t field, wire
    cdef uint64_t length
    cdef list found = []
    if start > end or end > <uint64_t> data.shape[0]:
        raise ValueError("the message is not within the data")
    if start == end:
        return found
    r = reader_of(&data[0], start, end)
    while more(&r, &field, &wire):
        if wire == VARINT:
            length = varint(&r)
            if r.status == E_OK:
                found.append((field, length))
        elif wire == BYTES:
            length = read_length(&r)
            if r.status == E_OK:
                found.append((field, PyBytes_FromStringAndSize(<const char *> r.data + r.at, <Py_ssize_t> length)))
            r.at += length
        else:
            skip(&r, wire)
    return found


def packed(const uint8_t[::1] data: Buffer) -> list[int]:
    """The numbers of a packed field, until the first damage."""
    cdef Reader r
    cdef uint64_t value
    cdef list found = []
    r = reader_of(&data[0] if data.shape[0] else NULL, 0, data.shape[0])
    while r.at < r.end:
        value = varint(&r)
        if r.status == E_OK:
            found.append(value)
    return found
