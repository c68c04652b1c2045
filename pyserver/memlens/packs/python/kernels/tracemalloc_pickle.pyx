# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans files of ``tracemalloc.Snapshot.dump`` directly into columns.

It runs on the machine of ``pickle_machine``. Such a pickle has exactly two classes, ``tracemalloc.Snapshot`` and
``tracemalloc._Traces``, makes one object of each without arguments, and sets its state. Here a class is a number, an
object is the row of a dict, and setting its state reads the one key that is needed; nothing is imported or called.

Source: ``Lib/tracemalloc.py`` (``Snapshot.dump``, ``_Traces``) and ``Python/tracemalloc.c`` (``trace_to_pyobject``,
``traceback_to_pyobject``) of CPython. A trace is ``(domain, size, frames, total_nframe)``; before Python 3.9 it had
no ``total_nframe``, before 3.6 no ``domain``. A frame is ``(file, line)``; the most recent one is the first.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.string cimport memcmp

from memlens.kernels.base.interning cimport Interner, intern_units
from memlens.kernels.readers.pickle_machine cimport (
    DICT, EMPTY_DICT, EMPTY_LIST, E_BAD_FIELD, E_NO_MEMORY, E_TOO_MANY, E_UNDERFLOW, INT, LIST, MAX_ROWS, OTHER,
    STRING, Machine, Value,
)
from memlens.kernels.base.vectors cimport Vector, vector_reserve, vector_push

import os

# the contents of a list or tuple, and the meaning of its payload
cdef enum:
    FRAME = 1       # frame id
    STACK           # stack id
    TRACE           # row of self.traces
    TRACES          # the list of them all
    OTHER_LIST

# the type of a dict or object, and the meaning of its row
cdef enum:
    TRACES_STATE = 1    # {"_traces": list}: list row + 1, or 0
    SNAPSHOT_STATE      # {"traces": object, "traceback_limit": number}
    TRACES_OBJECT       # list row + 1, or 0
    SNAPSHOT_OBJECT
    OTHER_DICT

# payloads of OTHER values; bytes and sets have 0
cdef enum:
    NO_CLASS
    SNAPSHOT_CLASS
    TRACES_CLASS

# the keys that are read, and the fields in errors; a string's field is looked up once, when it is interned
cdef enum:
    F_NONE
    F_TRACES_LIST
    F_TRACES
    F_LIMIT
    F_SIZE
    F_FRAMES
    F_LINE
    F_TOTAL_NFRAME

FIELD_NAMES = ("", "_traces", "traces", "traceback_limit", "size", "frames", "line", "total_nframe")

cdef struct FrameRow:
    uint32_t file       # string id
    uint32_t line

cdef struct TraceRow:
    int64_t size
    uint32_t domain
    uint32_t stack
    uint32_t total      # the original depth of the stack; 0 if the file does not have it
    uint32_t unused


cdef class Scanner(Machine):
    """Scans a whole pickle in steps; if ``is_snapshot``, ``take`` then moves its tables out."""

    cdef Vector traces, trace_list, sequence
    cdef Interner frames, stacks        # units of frames: FrameRow; of stacks: frame ids
    cdef int64_t filled_list            # the one list that contains traces, or -1
    cdef int64_t root_list              # the list row of the snapshot's traces, or -1
    cdef readonly int64_t limit
    cdef uint32_t module, snapshot_name, traces_name

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        cdef int64_t row
        self.own_table("traces", &self.traces, sizeof(TraceRow), b"T{q:size:I:domain:I:stack:I:total:I:unused:}")
        self.own_table("trace_list", &self.trace_list, 4, b"I")
        self.own(&self.sequence, 4)
        self.own_interner(&self.frames, sizeof(FrameRow), seed)
        self.own_interner(&self.stacks, 4, seed)
        self.name_table("frames", &self.frames.units, b"T{I:file:I:line:}")
        self.name_table("stack_frames", &self.stacks.units, b"I")
        self.name_table("stack_starts", &self.stacks.starts, b"Q")
        self.filled_list = self.root_list = self.limit = -1
        intern_units(&self.stacks, NULL, 0)     # stack 0 is empty
        for field in (F_TRACES_LIST, F_TRACES, F_LIMIT):
            text = FIELD_NAMES[field].encode()
            row = self.intern_string(text, len(text))
            (<uint8_t *> self.fields.data)[row] = field
        self.module = <uint32_t> self.intern_string(b"tracemalloc", 11)
        self.snapshot_name = <uint32_t> self.intern_string(b"Snapshot", 8)
        self.traces_name = <uint32_t> self.intern_string(b"_Traces", 7)

    # ---- the two classes, as data ----

    cdef size_t reader_opcode(self, uint8_t op, size_t at) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef size_t count = self.stack.count
        cdef size_t above = count - self.floor()
        cdef uint64_t class_ = NO_CLASS
        if op == 0x93:                                          # STACK_GLOBAL: module, name
            if above < 2 or values[count - 2].kind != STRING or values[count - 1].kind != STRING:
                return 0
            if values[count - 2].payload != self.module:
                return 0
            if values[count - 1].payload == self.snapshot_name:
                class_ = SNAPSHOT_CLASS
            elif values[count - 1].payload == self.traces_name:
                class_ = TRACES_CLASS
            else:
                return 0
            self.stack.count = count - 2
            return at if self.push(OTHER, class_) == 0 else 0
        if op == 0x63:                                          # GLOBAL: two lines (protocols 2 and 3)
            if self.length - at >= 21 and memcmp(self.data + at, b"tracemalloc\nSnapshot\n", 21) == 0:
                return at + 21 if self.push(OTHER, SNAPSHOT_CLASS) == 0 else 0
            if self.length - at >= 20 and memcmp(self.data + at, b"tracemalloc\n_Traces\n", 20) == 0:
                return at + 20 if self.push(OTHER, TRACES_CLASS) == 0 else 0
            return 0
        if op == 0x81:                                          # NEWOBJ: class, arguments
            if above < 2 or values[count - 2].kind != OTHER or values[count - 1].kind != LIST:
                return 0
            if (<uint8_t *> self.list_kinds.data)[values[count - 1].payload] != EMPTY_LIST:
                return 0
            class_ = values[count - 2].payload
            if class_ != SNAPSHOT_CLASS and class_ != TRACES_CLASS:
                return 0
            self.stack.count = count - 2
            if self.new_dict() < 0:
                return 0
            (<uint8_t *> self.dict_kinds.data)[self.dict_kinds.count - 1] = \
                SNAPSHOT_OBJECT if class_ == SNAPSHOT_CLASS else TRACES_OBJECT
            return at
        if op == 0x62:                                          # BUILD: object, state
            if above < 2 or values[count - 2].kind != DICT or values[count - 1].kind != DICT:
                return 0
            return at if self.set_state(values[count - 2].payload, values[count - 1].payload) == 0 else 0
        return 0

    cdef int set_state(self, size_t target, size_t state) noexcept nogil:
        cdef uint8_t *kinds = <uint8_t *> self.dict_kinds.data
        cdef uint32_t *rows = <uint32_t *> self.dict_rows.data
        if kinds[target] == TRACES_OBJECT and kinds[state] == TRACES_STATE:
            rows[target] = rows[state]
        elif kinds[target] != SNAPSHOT_OBJECT or kinds[state] != SNAPSHOT_STATE:
            return -1
        self.stack.count -= 1
        return 0

    cdef int set_items(self, size_t first, size_t end) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef Value *value
        cdef size_t index, dict_row
        cdef uint8_t kind, field
        if (end - first) % 2 or first == 0 or values[first - 1].kind != DICT:
            return self.fail_with(E_UNDERFLOW, 0)
        dict_row = values[first - 1].payload
        kind = (<uint8_t *> self.dict_kinds.data)[dict_row]
        if kind == TRACES_OBJECT or kind == SNAPSHOT_OBJECT:
            return self.fail_with(E_UNDERFLOW, 0)
        for index in range(first, end, 2):
            field = F_NONE
            if values[index].kind == STRING:
                field = (<uint8_t *> self.fields.data)[values[index].payload]
            value = &values[index + 1]
            if field == F_TRACES_LIST:
                if value.kind != LIST:
                    return self.fail_with(E_BAD_FIELD, F_TRACES_LIST)
                kind = TRACES_STATE
                (<uint32_t *> self.dict_rows.data)[dict_row] = <uint32_t> value.payload + 1
            elif field == F_TRACES:
                if value.kind != DICT or (<uint8_t *> self.dict_kinds.data)[value.payload] != TRACES_OBJECT:
                    return self.fail_with(E_BAD_FIELD, F_TRACES)
                kind = SNAPSHOT_STATE
                self.root_list = <int64_t> (<uint32_t *> self.dict_rows.data)[value.payload] - 1
            elif field == F_LIMIT:
                if value.kind == INT and not value.payload >> 31:
                    self.limit = <int64_t> value.payload
            elif kind == EMPTY_DICT:
                kind = OTHER_DICT
        (<uint8_t *> self.dict_kinds.data)[dict_row] = kind
        self.stack.count = first
        return 0

    # ---- tuples become rows ----

    cdef int fill_list(self, size_t list_row, size_t first, size_t end) noexcept nogil:
        """Append stack[first:end] to a list, whose kind follows from that of its items."""
        cdef uint8_t *kinds = <uint8_t *> self.list_kinds.data
        cdef Value *values = <Value *> self.stack.data
        cdef uint8_t kind = kinds[list_row]
        cdef uint8_t item
        if values[first].kind == LIST:
            item = kinds[values[first].payload]
            if item == FRAME and kind == EMPTY_LIST:
                return self.fill_stack(list_row, first, end)
            if item == TRACE and (kind == EMPTY_LIST or kind == TRACES):
                return self.fill_traces(list_row, first, end)
        elif kind == EMPTY_LIST and end - first == 2 and values[first].kind == STRING and values[first + 1].kind == INT:
            return self.fill_frame(list_row, first)
        elif kind == EMPTY_LIST and values[first].kind == INT and 2 <= end - first <= 4:
            return self.fill_trace(list_row, first, end)
        if kind != EMPTY_LIST and kind != OTHER_LIST:
            return self.fail_with(E_BAD_FIELD, F_TRACES_LIST if kind == TRACES else F_FRAMES)
        kinds[list_row] = OTHER_LIST
        return 0

    cdef int become(self, size_t list_row, uint8_t kind, uint64_t payload) noexcept nogil:
        (<uint8_t *> self.list_kinds.data)[list_row] = kind
        (<uint32_t *> self.list_payloads.data)[list_row] = <uint32_t> payload
        return 0

    cdef int fill_frame(self, size_t list_row, size_t first) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef FrameRow frame
        cdef int64_t id
        if values[first + 1].payload >> 31:
            return self.fail_with(E_BAD_FIELD, F_LINE)
        frame.file = <uint32_t> values[first].payload
        frame.line = <uint32_t> values[first + 1].payload
        id = intern_units(&self.frames, &frame, 1)
        if id < 0 or id > MAX_ROWS:
            return self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
        return self.become(list_row, FRAME, <uint64_t> id)

    cdef int fill_stack(self, size_t list_row, size_t first, size_t end) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef uint8_t *kinds = <uint8_t *> self.list_kinds.data
        cdef uint32_t *payloads = <uint32_t *> self.list_payloads.data
        cdef uint32_t *sequence
        cdef size_t index
        cdef int64_t id
        if vector_reserve(&self.sequence, end - first) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        sequence = <uint32_t *> self.sequence.data
        for index in range(first, end):
            if values[index].kind != LIST or kinds[values[index].payload] != FRAME:
                return self.fail_with(E_BAD_FIELD, F_FRAMES)
            sequence[index - first] = payloads[values[index].payload]
        id = intern_units(&self.stacks, sequence, end - first)
        if id < 0 or id > MAX_ROWS:
            return self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
        return self.become(list_row, STACK, <uint64_t> id)

    cdef int fill_trace(self, size_t list_row, size_t first, size_t end) noexcept nogil:
        """Read ``(domain, size, frames, total_nframe)``, ``(domain, size, frames)`` or ``(size, frames)``."""
        cdef Value *values = <Value *> self.stack.data
        cdef size_t at = first
        cdef TraceRow row
        cdef uint8_t kind
        row.domain = 0
        row.total = 0
        row.unused = 0
        if end - first > 2:
            if values[at].payload >> 32:
                return self.fail_with(E_BAD_FIELD, F_SIZE)
            row.domain = <uint32_t> values[at].payload
            at += 1
        # small enough that the sum of a whole file fits into 64 bits
        if values[at].kind != INT or values[at].payload > (<uint64_t> 1 << 50):
            return self.fail_with(E_BAD_FIELD, F_SIZE)
        row.size = <int64_t> values[at].payload
        at += 1
        if values[at].kind != LIST:
            return self.fail_with(E_BAD_FIELD, F_FRAMES)
        kind = (<uint8_t *> self.list_kinds.data)[values[at].payload]
        if kind != STACK and kind != EMPTY_LIST:
            return self.fail_with(E_BAD_FIELD, F_FRAMES)
        row.stack = (<uint32_t *> self.list_payloads.data)[values[at].payload] if kind == STACK else 0
        at += 1
        if at < end and values[at].kind == INT:
            if values[at].payload >> 31:
                return self.fail_with(E_BAD_FIELD, F_TOTAL_NFRAME)
            row.total = <uint32_t> values[at].payload
        if self.traces.count > MAX_ROWS - 1:
            return self.fail_with(E_TOO_MANY, 0)
        if vector_push(&self.traces, &row) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return self.become(list_row, TRACE, self.traces.count - 1)

    cdef int fill_traces(self, size_t list_row, size_t first, size_t end) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef uint8_t *kinds = <uint8_t *> self.list_kinds.data
        cdef uint32_t *payloads = <uint32_t *> self.list_payloads.data
        cdef size_t index
        if self.filled_list >= 0 and self.filled_list != <int64_t> list_row:
            return self.fail_with(E_BAD_FIELD, F_TRACES_LIST)
        self.filled_list = <int64_t> list_row
        kinds[list_row] = TRACES
        for index in range(first, end):
            if values[index].kind != LIST or kinds[values[index].payload] != TRACE:
                return self.fail_with(E_BAD_FIELD, F_TRACES_LIST)
            if vector_push(&self.trace_list, &payloads[values[index].payload]) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
        return 0

    # ---- for tracemalloc.py ----

    @property
    def is_snapshot(self) -> bool:
        """Whether the pickle is one Snapshot object whose traces are the list that was read (or an empty one)."""
        if self.root_kind != DICT or self.root_list < 0:
            return False
        if (<uint8_t *> self.dict_kinds.data)[self.root_payload] != SNAPSHOT_OBJECT:
            return False
        if self.filled_list >= 0:
            return self.root_list == self.filled_list
        return (<uint8_t *> self.list_kinds.data)[self.root_list] == EMPTY_LIST
