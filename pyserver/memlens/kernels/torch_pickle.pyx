# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans a PyTorch memory snapshot's pickle straight into columns. Nothing in it is executed.

A pickle is a program for a small stack machine. This kernel is that machine for plain data only (the opcodes of
protocols 2 to 5 that build None, bool, int, float, str, bytes, list, tuple, dict and set); any opcode that could
import or call something ends the scan with its name and offset. Instead of Python objects the stack holds tagged
numbers: strings are interned, a list of frames becomes an interned stack, and a dict becomes a row of the table that
its keys name (event, frame, block, segment, annotation) the moment its items are set.

Sources: the opcodes are those of CPython's ``pickletools``; the keys those that ``torch/csrc/cuda/memory_snapshot.cpp``
and ``torch/cuda/_memory_viz.py`` write.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from memlens.kernels.interning cimport Interner, interner_init, interner_free, intern_units
from memlens.kernels.vectors cimport (
    Vector, vector_init, vector_reserve, vector_extend, vector_push, vector_free, column_of,
)

import os

# the kinds of a value on the machine's stack; the payload's meaning follows
cdef enum:
    NONE        # 0
    BOOL        # 0 or 1
    INT         # int64
    UINT        # uint64 above int64's range
    FLOAT       # the bits of a double
    STRING      # string id
    LIST        # row of self.lists
    DICT        # row of self.dicts
    FRAME_REF   # frame id: a frame's dict once it is referred to
    OTHER       # something of no interest: bytes, sets, numbers beyond 64 bits

# what a list holds; its payload's meaning follows
cdef enum:
    EMPTY_LIST
    FRAMES      # stack id
    ROWS        # row of self.vectors: a list of dict rows, all of the kind in the high bits of list_kinds
    PAIR        # pair id: a pool id such as (0, 1)
    LISTS       # row of self.vectors: list rows
    OTHER_LIST

# what a dict is
cdef enum:
    EMPTY_DICT
    EVENT
    FRAME
    BLOCK
    SEGMENT
    ANNOTATION
    HISTORY
    ROOT
    OTHER_DICT

# the keys that matter; a string's field is found once, when it is interned
cdef enum:
    F_NONE
    F_ACTION
    F_ADDR
    F_ADDRESS
    F_SIZE
    F_STREAM
    F_TIME_US
    F_FRAMES
    F_COMPILE_CONTEXT
    F_USER_METADATA
    F_POOL_ID
    F_CATEGORY
    F_DEVICE_FREE
    F_FILENAME
    F_LINE
    F_NAME
    F_FX_NODE_NAME
    F_FX_ORIGINAL_TRACE
    F_STATE
    F_REQUESTED_SIZE
    F_HISTORY
    F_REAL_SIZE
    F_DEVICE
    F_TOTAL_SIZE
    F_ALLOCATED_SIZE
    F_ACTIVE_SIZE
    F_SEGMENT_TYPE
    F_SEGMENT_POOL_ID
    F_IS_EXPANDABLE
    F_BLOCKS
    F_STAGE
    F_SEGMENTS
    F_DEVICE_TRACES
    F_ALLOCATOR_SETTINGS
    F_EXTERNAL_ANNOTATIONS
    F_HOST_TRACES
    F_HOST_SEGMENTS
    FIELDS

FIELD_NAMES = (
    "", "action", "addr", "address", "size", "stream", "time_us", "frames", "compile_context", "user_metadata",
    "pool_id", "category", "device_free", "filename", "line", "name", "fx_node_name", "fx_original_trace", "state",
    "requested_size", "history", "real_size", "device", "total_size", "allocated_size", "active_size",
    "segment_type", "segment_pool_id", "is_expandable", "blocks", "stage", "segments", "device_traces",
    "allocator_settings", "external_annotations", "host_traces", "host_segments",
)

STRING_KIND = STRING

# what ended a scan; the sentence is made in formats/torch.py
OK, MORE, TRUNCATED, FORBIDDEN, UNKNOWN_OPCODE, UNDERFLOW, BAD_MEMO, NO_MEMORY, BAD_FIELD, TOO_DEEP, \
    ABSURD_LENGTH, TOO_MANY = range(12)

cdef enum:
    E_OK
    E_MORE
    E_TRUNCATED
    E_FORBIDDEN
    E_UNKNOWN_OPCODE
    E_UNDERFLOW
    E_BAD_MEMO
    E_NO_MEMORY
    E_BAD_FIELD
    E_TOO_DEEP
    E_ABSURD_LENGTH
    E_TOO_MANY

cdef enum:
    # the machine's stack and its marks: a real snapshot nests eight deep and batches a thousand items, and a frame
    # list built by TUPLE may stand on the stack whole
    MAX_STACK = 4_000_000
    MAX_MARKS = 1_000
    # ids are packed with a tag into 32 bits in the memo
    MAX_ROWS = 0x0FFFFFFF
    MAX_PAIRS_KEPT = 10_000
    MAX_BOXES = 1_000_000
    RUN = 512           # references taken in one go
    BOXED = 15          # memo tag of a value that does not fit: its payload is a row of self.boxes

cdef uint32_t UNSET = ~<uint32_t> 0     # a memo that was never stored

cdef struct Value:
    uint64_t payload
    uint64_t kind

cdef struct EventRow:
    # one trace entry; written once, read as a structured column
    uint64_t addr
    int64_t size
    int64_t time_us
    uint32_t stack
    uint16_t stream         # row of the streams
    uint16_t pool           # row of the pools
    uint8_t action          # row of the actions
    uint8_t category        # row of the categories; 0 is "not told"
    uint16_t unused
    uint32_t unused_too

cdef struct FrameRow:
    uint32_t file
    uint32_t name
    int32_t line
    uint32_t fx_name        # string id + 1
    uint32_t fx_trace       # string id + 1

cdef struct BlockRow:
    uint64_t address
    int64_t size
    int64_t requested
    uint32_t stack
    uint32_t state          # string id
    uint32_t has_address
    uint32_t unused

cdef struct SegmentRow:
    uint64_t address
    int64_t total
    int64_t allocated
    int64_t active
    int64_t requested
    int32_t device
    uint32_t stack
    uint32_t blocks         # list row
    uint32_t type           # string id
    uint16_t stream
    uint16_t pool
    uint32_t expandable

cdef struct AnnotationRow:
    int64_t time_us
    int32_t device
    uint32_t name
    uint32_t stage
    uint32_t unused

cdef struct HistoryRow:
    uint64_t addr
    int64_t real_size
    uint32_t stack
    uint32_t unused

cdef struct ExtraRow:
    # an event's rare facts: the field's number and the value
    uint64_t payload
    uint32_t event
    uint8_t field
    uint8_t kind
    uint16_t unused

cdef struct PairRow:
    # an item of a dict that is no row of a table (allocator_settings)
    uint64_t payload
    uint32_t dict
    uint32_t key
    uint32_t kind
    uint32_t unused


cdef class Scanner:
    """Scan ``data`` (the whole pickle, usually a mapped file) in steps, then ``take`` the tables."""

    cdef const uint8_t *data
    cdef size_t length
    cdef size_t position
    cdef object view
    cdef const uint8_t[::1] bytes

    cdef Vector stack, marks, memo, boxes
    cdef Vector list_kinds, list_payloads, vectors
    cdef Vector dict_kinds, dict_rows
    cdef Vector events, frames, blocks, segments, annotations, histories, extras, pairs
    cdef Vector fields          # uint8 of a string id
    cdef Vector sequence        # scratch: frame ids of the list being interned
    cdef Vector streams, pools  # uint64 streams; int64 pairs
    cdef Vector actions, categories     # string ids
    cdef Interner strings, stacks, frame_keys

    cdef uint32_t na_string, empty_string
    cdef public int error
    cdef public size_t error_offset
    cdef public int error_detail
    cdef int root_kind
    cdef uint64_t root_payload

    def __cinit__(self, const uint8_t[::1] data):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        cdef int64_t id
        self.bytes = data
        self.length = data.shape[0]
        self.data = &data[0] if self.length else NULL
        self.position = 0
        self.error = E_OK
        self.root_kind = NONE
        vector_init(&self.stack, sizeof(Value))
        vector_init(&self.marks, sizeof(size_t))
        vector_init(&self.memo, 4)
        vector_init(&self.boxes, sizeof(Value))
        vector_init(&self.list_kinds, 1)
        vector_init(&self.list_payloads, 4)
        vector_init(&self.vectors, sizeof(Vector))
        vector_init(&self.dict_kinds, 1)
        vector_init(&self.dict_rows, 4)
        vector_init(&self.events, sizeof(EventRow))
        vector_init(&self.frames, sizeof(FrameRow))
        vector_init(&self.blocks, sizeof(BlockRow))
        vector_init(&self.segments, sizeof(SegmentRow))
        vector_init(&self.annotations, sizeof(AnnotationRow))
        vector_init(&self.histories, sizeof(HistoryRow))
        vector_init(&self.extras, sizeof(ExtraRow))
        vector_init(&self.pairs, sizeof(PairRow))
        vector_init(&self.fields, 1)
        vector_init(&self.sequence, 4)
        vector_init(&self.streams, 8)
        vector_init(&self.pools, 16)
        vector_init(&self.actions, 4)
        vector_init(&self.categories, 4)
        if (
            interner_init(&self.strings, 1, seed) < 0
            or interner_init(&self.stacks, 4, seed) < 0
            or interner_init(&self.frame_keys, 4, seed) < 0
        ):
            raise MemoryError
        # id 0 of strings is '', of stacks the empty stack, of streams 0 and of pools "not told"
        self.intern_string(b"", 0)
        self.empty_string = 0
        self.na_string = <uint32_t> self.intern_string(b"N/A", 3)
        for index, name in enumerate(FIELD_NAMES):
            text = name.encode()
            id = self.intern_string(text, len(text))
            (<uint8_t *> self.fields.data)[id] = index
        (<uint8_t *> self.fields.data)[0] = F_NONE
        intern_units(&self.stacks, NULL, 0)
        self.stream_of(0)
        self.pool_of(-1, -1)
        self.name_of(&self.categories, self.empty_string)

    def __dealloc__(self):
        cdef size_t index
        for index in range(self.vectors.count):
            vector_free(&(<Vector *> self.vectors.data)[index])
        vector_free(&self.stack)
        vector_free(&self.marks)
        vector_free(&self.memo)
        vector_free(&self.boxes)
        vector_free(&self.list_kinds)
        vector_free(&self.list_payloads)
        vector_free(&self.vectors)
        vector_free(&self.dict_kinds)
        vector_free(&self.dict_rows)
        vector_free(&self.events)
        vector_free(&self.frames)
        vector_free(&self.blocks)
        vector_free(&self.segments)
        vector_free(&self.annotations)
        vector_free(&self.histories)
        vector_free(&self.extras)
        vector_free(&self.pairs)
        vector_free(&self.fields)
        vector_free(&self.sequence)
        vector_free(&self.streams)
        vector_free(&self.pools)
        vector_free(&self.actions)
        vector_free(&self.categories)
        interner_free(&self.strings)
        interner_free(&self.stacks)
        interner_free(&self.frame_keys)

    # ---- small tables -------------------------------------------------------------------------------------------

    cdef int64_t intern_string(self, const uint8_t *text, size_t length) noexcept nogil:
        cdef int64_t id = intern_units(&self.strings, text, length)
        cdef uint8_t field = F_NONE
        if id < 0 or id > MAX_ROWS:
            return self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
        if <size_t> id == self.fields.count and vector_push(&self.fields, &field) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return id

    cdef int64_t stream_of(self, uint64_t stream) noexcept nogil:
        """Index of a stream; there are few, so the last ones seen are found first by walking back."""
        cdef uint64_t *known = <uint64_t *> self.streams.data
        cdef size_t index = self.streams.count
        while index > 0:
            index -= 1
            if known[index] == stream:
                return <int64_t> index
        if self.streams.count >= 4096:
            return 0
        if vector_push(&self.streams, &stream) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return <int64_t> self.streams.count - 1

    cdef int64_t pool_of(self, int64_t first, int64_t second) noexcept nogil:
        cdef int64_t *known = <int64_t *> self.pools.data
        cdef int64_t pair[2]
        cdef size_t index
        for index in range(self.pools.count):
            if known[2 * index] == first and known[2 * index + 1] == second:
                return <int64_t> index
        if self.pools.count >= 4096:
            return 0
        pair[0] = first
        pair[1] = second
        if vector_push(&self.pools, pair) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return <int64_t> self.pools.count - 1

    cdef int64_t name_of(self, Vector *names, uint32_t string) noexcept nogil:
        """Row of a string among the few of its kind; the last of 256 rows stands for all that found no place."""
        cdef uint32_t *known = <uint32_t *> names.data
        cdef size_t index
        for index in range(names.count):
            if known[index] == string:
                return <int64_t> index
        if names.count == 255:
            string = self.empty_string
        elif names.count > 255:
            return 255
        if vector_push(names, &string) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return <int64_t> names.count - 1

    cdef int fail_with(self, int error, int detail) noexcept nogil:
        if self.error == E_OK:
            self.error = error
            self.error_detail = detail
        return -1

    # ---- the machine's stack ------------------------------------------------------------------------------------

    cdef inline int push(self, uint64_t kind, uint64_t payload) noexcept nogil:
        cdef Value value
        cdef size_t count = self.stack.count
        if count >= self.stack.room:
            if count >= MAX_STACK:
                return self.fail_with(E_TOO_DEEP, 0)
            if vector_reserve(&self.stack, count + 1) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
        value.kind = kind
        value.payload = payload
        (<Value *> self.stack.data)[count] = value
        self.stack.count = count + 1
        return 0

    cdef inline size_t floor(self) noexcept nogil:
        """How far down the stack may be popped: to the last mark."""
        if self.marks.count:
            return (<size_t *> self.marks.data)[self.marks.count - 1]
        return 0

    cdef int64_t pop_mark(self) noexcept nogil:
        if self.marks.count == 0:
            return self.fail_with(E_UNDERFLOW, 0)
        self.marks.count -= 1
        return <int64_t> (<size_t *> self.marks.data)[self.marks.count]

    cdef int memoize(self, size_t index, size_t at) noexcept nogil:
        """Remember the stack's top under ``index``. Memos are numbered in order, so none is beyond the bytes read."""
        cdef Value *top
        cdef uint32_t entry
        cdef size_t old = self.memo.count
        if self.stack.count <= self.floor():
            return self.fail_with(E_UNDERFLOW, 0)
        if index > at:
            return self.fail_with(E_BAD_MEMO, 0)
        if index >= old:
            if vector_reserve(&self.memo, index + 1) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
            if index > old:
                memset(self.memo.data + 4 * old, 0xFF, 4 * (index - old))
            self.memo.count = index + 1
        top = &(<Value *> self.stack.data)[self.stack.count - 1]
        if top.kind >= STRING and top.kind <= FRAME_REF:
            entry = <uint32_t> (top.kind << 28 | top.payload)
        else:
            if self.boxes.count >= MAX_BOXES:
                return self.fail_with(E_TOO_MANY, 0)
            entry = <uint32_t> (<uint64_t> BOXED << 28 | self.boxes.count)
            if vector_push(&self.boxes, top) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
        (<uint32_t *> self.memo.data)[index] = entry
        return 0

    cdef size_t recall_run(self, size_t at) noexcept nogil:
        """Push what a run of BINGET and LONG_BINGET refers to; returns where it ends, 0 on error.

        A stack of 35 frames is 35 of these, so this loop is most of the work.
        """
        cdef const uint8_t *data = self.data
        cdef size_t length = self.length
        cdef const uint32_t *memo = <uint32_t *> self.memo.data
        cdef size_t memos = self.memo.count
        cdef Value *top
        cdef Value *end
        cdef uint32_t entry, index
        cdef size_t begin = at
        if vector_reserve(&self.stack, self.stack.count + RUN) < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return 0
        if self.stack.count > MAX_STACK:
            self.fail_with(E_TOO_DEEP, 0)
            return 0
        top = &(<Value *> self.stack.data)[self.stack.count]
        end = top + RUN
        while top < end:
            if length - at >= 2 and data[at] == 0x68:
                index = data[at + 1]
                at += 2
            elif length - at >= 5 and data[at] == 0x6A:
                memcpy(&index, data + at + 1, 4)
                at += 5
            else:
                break
            entry = memo[index] if index < memos else UNSET
            if entry >> 28 == BOXED:
                if entry == UNSET:
                    self.fail_with(E_BAD_MEMO, 0)
                    return 0
                top[0] = (<Value *> self.boxes.data)[entry & MAX_ROWS]
            else:
                top.kind = entry >> 28
                top.payload = entry & MAX_ROWS
            top += 1
        self.stack.count = top - <Value *> self.stack.data
        if at == begin:
            self.fail_with(E_TRUNCATED, 0)
            return 0
        return at

    cdef int new_list(self) noexcept nogil:
        cdef uint8_t kind = EMPTY_LIST
        cdef uint32_t payload = 0
        if self.list_kinds.count > MAX_ROWS - 1:
            return self.fail_with(E_TOO_MANY, 0)
        if vector_push(&self.list_kinds, &kind) < 0 or vector_push(&self.list_payloads, &payload) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return self.push(LIST, self.list_kinds.count - 1)

    cdef int new_dict(self) noexcept nogil:
        cdef uint8_t kind = EMPTY_DICT
        cdef uint32_t row = 0
        if self.dict_kinds.count > MAX_ROWS - 1:
            return self.fail_with(E_TOO_MANY, 0)
        if vector_push(&self.dict_kinds, &kind) < 0 or vector_push(&self.dict_rows, &row) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return self.push(DICT, self.dict_kinds.count - 1)

    # ---- values of fields ---------------------------------------------------------------------------------------

    cdef int64_t integer(self, Value *value, int field) noexcept nogil:
        """A field's number; None and absent are 0. Sizes and times beyond 64 bits are an error of the file."""
        cdef double number
        if value == NULL or value.kind == NONE:
            return 0
        if value.kind == INT or value.kind == BOOL:
            return <int64_t> value.payload
        if value.kind == FLOAT:
            memcpy(&number, &value.payload, 8)
            if -9.2e18 < number < 9.2e18:
                return <int64_t> number
        self.fail_with(E_BAD_FIELD, field)
        return 0

    cdef int64_t size_of(self, Value *value, int field) noexcept nogil:
        """A size in bytes: not negative, and small enough that a file's worth of them adds up in 64 bits."""
        cdef int64_t size = self.integer(value, field)
        if size < 0 or size > (<int64_t> 1 << 50):
            self.fail_with(E_BAD_FIELD, field)
            return 0
        return size

    cdef uint64_t address(self, Value *value, int field) noexcept nogil:
        if value != NULL and value.kind == UINT:
            return value.payload
        return <uint64_t> self.integer(value, field)

    cdef uint32_t text(self, Value *value, int field) noexcept nogil:
        """A field's string id; 0, the empty string, when it is absent."""
        if value == NULL or value.kind == NONE:
            return 0
        if value.kind == STRING:
            return <uint32_t> value.payload
        self.fail_with(E_BAD_FIELD, field)
        return 0

    cdef uint32_t frames_of(self, Value *value, int field) noexcept nogil:
        """A field's stack id; 0, the empty stack, when it is absent or an empty list."""
        if value == NULL or value.kind == NONE:
            return 0
        if value.kind == LIST:
            if (<uint8_t *> self.list_kinds.data)[value.payload] == FRAMES:
                return (<uint32_t *> self.list_payloads.data)[value.payload]
            if (<uint8_t *> self.list_kinds.data)[value.payload] == EMPTY_LIST:
                return 0
        self.fail_with(E_BAD_FIELD, field)
        return 0

    cdef uint16_t pool(self, Value *value) noexcept nogil:
        if value != NULL and value.kind == LIST and (<uint8_t *> self.list_kinds.data)[value.payload] == PAIR:
            return <uint16_t> (<uint32_t *> self.list_payloads.data)[value.payload]
        return 0

    # ---- dicts become rows --------------------------------------------------------------------------------------

    cdef int set_items(self, size_t first, size_t end) noexcept nogil:
        """Set the key and value pairs in stack[first:end] on the dict below them and drop them."""
        cdef Value *values = <Value *> self.stack.data
        cdef Value *found[FIELDS]
        cdef uint8_t *fields = <uint8_t *> self.fields.data
        cdef size_t index
        cdef size_t dict_row
        cdef int kind, field
        if (end - first) % 2 == 0 and first and values[first - 1].kind == FRAME_REF:
            self.stack.count = first    # a frame is complete with its first items
            return 0
        if (end - first) % 2 or first == 0 or values[first - 1].kind != DICT:
            return self.fail_with(E_UNDERFLOW, 0)
        dict_row = values[first - 1].payload
        for index in range(<size_t> FIELDS):
            found[index] = NULL
        for index in range(first, end, 2):
            if values[index].kind == STRING:
                field = fields[values[index].payload]
                if field:
                    found[field] = &values[index + 1]
        kind = (<uint8_t *> self.dict_kinds.data)[dict_row]
        if kind == EMPTY_DICT or kind == OTHER_DICT:
            kind = self.kind_of(found)
        if kind == EVENT:
            self.set_event(dict_row, found)
        elif kind == FRAME:
            self.set_frame(dict_row, found)
        elif kind == BLOCK:
            self.set_block(dict_row, found)
        elif kind == SEGMENT:
            self.set_segment(dict_row, found)
        elif kind == ANNOTATION:
            self.set_annotation(dict_row, found)
        elif kind == HISTORY:
            self.set_history(dict_row, found)
        else:
            self.keep_pairs(dict_row, first, end, MAX_ROWS if kind == ROOT else MAX_PAIRS_KEPT)
        (<uint8_t *> self.dict_kinds.data)[dict_row] = kind
        self.stack.count = first
        return -1 if self.error else 0

    cdef int kind_of(self, Value **found) noexcept nogil:
        if found[F_ACTION] != NULL:
            return EVENT
        if found[F_BLOCKS] != NULL:
            return SEGMENT
        if found[F_FILENAME] != NULL:
            return FRAME
        if found[F_STATE] != NULL and found[F_SIZE] != NULL:
            return BLOCK
        if found[F_REAL_SIZE] != NULL:
            return HISTORY
        if found[F_STAGE] != NULL:
            return ANNOTATION
        if found[F_SEGMENTS] != NULL or found[F_DEVICE_TRACES] != NULL:
            return ROOT
        return OTHER_DICT

    cdef int64_t row_of(self, size_t dict_row, int kind, Vector *table) noexcept nogil:
        """The dict's row in its table, a new zeroed one the first time; -1 on error."""
        cdef uint32_t row
        if (<uint8_t *> self.dict_kinds.data)[dict_row] == kind:
            return (<uint32_t *> self.dict_rows.data)[dict_row]
        if table.count > MAX_ROWS - 1:
            return self.fail_with(E_TOO_MANY, 0)
        if vector_reserve(table, table.count + 1) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        row = <uint32_t> table.count
        memset(table.data + row * table.item_bytes, 0, table.item_bytes)
        table.count += 1
        (<uint32_t *> self.dict_rows.data)[dict_row] = row
        return row

    cdef void set_event(self, size_t dict_row, Value **found) noexcept nogil:
        cdef int64_t at = self.row_of(dict_row, EVENT, &self.events)
        cdef EventRow *row
        cdef Value *value
        if at < 0:
            return
        row = &(<EventRow *> self.events.data)[at]
        if found[F_ACTION] != NULL:
            row.action = <uint8_t> self.name_of(&self.actions, self.text(found[F_ACTION], F_ACTION))
        if found[F_ADDR] != NULL:
            row.addr = self.address(found[F_ADDR], F_ADDR)
        if found[F_SIZE] != NULL:
            row.size = self.size_of(found[F_SIZE], F_SIZE)
        if found[F_TIME_US] != NULL:
            row.time_us = self.integer(found[F_TIME_US], F_TIME_US)
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(found[F_FRAMES], F_FRAMES)
        if found[F_STREAM] != NULL:
            row.stream = <uint16_t> self.stream_of(self.address(found[F_STREAM], F_STREAM))
        if found[F_POOL_ID] != NULL:
            row.pool = self.pool(found[F_POOL_ID])
        if found[F_CATEGORY] != NULL and found[F_CATEGORY].kind == STRING:
            row.category = <uint8_t> self.name_of(&self.categories, <uint32_t> found[F_CATEGORY].payload)
        if found[F_DEVICE_FREE] != NULL:
            self.add_extra(at, F_DEVICE_FREE, found[F_DEVICE_FREE])
        value = found[F_USER_METADATA]
        if value != NULL and value.kind == STRING and value.payload != self.empty_string:
            self.add_extra(at, F_USER_METADATA, value)
        value = found[F_COMPILE_CONTEXT]
        if value != NULL and value.kind == STRING and value.payload != self.empty_string:
            if value.payload != self.na_string:
                self.add_extra(at, F_COMPILE_CONTEXT, value)

    cdef void add_extra(self, int64_t event, int field, Value *value) noexcept nogil:
        cdef ExtraRow row
        memset(&row, 0, sizeof(row))
        row.event = <uint32_t> event
        row.field = field
        row.kind = <uint8_t> value.kind
        row.payload = value.payload
        if vector_push(&self.extras, &row) < 0:
            self.fail_with(E_NO_MEMORY, 0)

    cdef void set_frame(self, size_t dict_row, Value **found) noexcept nogil:
        cdef FrameRow row
        cdef int64_t line, id
        if (<uint8_t *> self.dict_kinds.data)[dict_row] == FRAME:
            return      # a frame is complete with its first items; what comes later is of no interest
        line = self.integer(found[F_LINE], F_LINE)
        row.file = self.text(found[F_FILENAME], F_FILENAME)
        row.name = self.text(found[F_NAME], F_NAME)
        row.line = <int32_t> line if 0 < line < 0x7FFFFFFF else 0
        row.fx_name = 0
        row.fx_trace = 0
        if found[F_FX_NODE_NAME] != NULL and found[F_FX_NODE_NAME].kind == STRING:
            row.fx_name = <uint32_t> found[F_FX_NODE_NAME].payload + 1
        if found[F_FX_ORIGINAL_TRACE] != NULL and found[F_FX_ORIGINAL_TRACE].kind == STRING:
            row.fx_trace = <uint32_t> found[F_FX_ORIGINAL_TRACE].payload + 1
        id = intern_units(&self.frame_keys, &row, sizeof(FrameRow) // 4)
        if id < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return
        if <size_t> id == self.frames.count and vector_push(&self.frames, &row) < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return
        (<uint32_t *> self.dict_rows.data)[dict_row] = <uint32_t> id

    cdef void set_block(self, size_t dict_row, Value **found) noexcept nogil:
        cdef int64_t at = self.row_of(dict_row, BLOCK, &self.blocks)
        cdef BlockRow *row
        cdef HistoryRow *history
        cdef uint32_t first
        cdef Value *value
        if at < 0:
            return
        row = &(<BlockRow *> self.blocks.data)[at]
        if found[F_ADDRESS] != NULL:
            row.address = self.address(found[F_ADDRESS], F_ADDRESS)
            row.has_address = 1
        if found[F_SIZE] != NULL:
            row.size = self.size_of(found[F_SIZE], F_SIZE)
        if found[F_STATE] != NULL:
            row.state = self.text(found[F_STATE], F_STATE)
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(found[F_FRAMES], F_FRAMES)
        value = found[F_HISTORY]
        if value != NULL and value.kind == LIST and self.rows_kind(value.payload) == HISTORY:
            # torch 2.0: the newest allocation in the block stands first
            first = (<uint32_t *> self.list_vector(value.payload).data)[0]
            history = &(<HistoryRow *> self.histories.data)[first]
            if row.stack == 0:
                row.stack = history.stack
            row.requested = history.real_size
            if row.has_address == 0:
                row.address = history.addr
                row.has_address = 1
        if found[F_REQUESTED_SIZE] != NULL:
            row.requested = self.size_of(found[F_REQUESTED_SIZE], F_REQUESTED_SIZE)
        elif row.requested == 0:
            row.requested = row.size

    cdef void set_history(self, size_t dict_row, Value **found) noexcept nogil:
        cdef int64_t at = self.row_of(dict_row, HISTORY, &self.histories)
        cdef HistoryRow *row
        if at < 0:
            return
        row = &(<HistoryRow *> self.histories.data)[at]
        if found[F_ADDR] != NULL:
            row.addr = self.address(found[F_ADDR], F_ADDR)
        if found[F_REAL_SIZE] != NULL:
            row.real_size = self.size_of(found[F_REAL_SIZE], F_REAL_SIZE)
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(found[F_FRAMES], F_FRAMES)

    cdef void set_segment(self, size_t dict_row, Value **found) noexcept nogil:
        cdef int64_t at = self.row_of(dict_row, SEGMENT, &self.segments)
        cdef int64_t device
        cdef SegmentRow *row
        if at < 0:
            return
        row = &(<SegmentRow *> self.segments.data)[at]
        if found[F_DEVICE] != NULL:
            device = self.integer(found[F_DEVICE], F_DEVICE)
            if device < 0 or device > 0xFFFF:
                self.fail_with(E_BAD_FIELD, F_DEVICE)
                return
            row.device = <int32_t> device
        if found[F_ADDRESS] != NULL:
            row.address = self.address(found[F_ADDRESS], F_ADDRESS)
        if found[F_TOTAL_SIZE] != NULL:
            row.total = self.size_of(found[F_TOTAL_SIZE], F_TOTAL_SIZE)
        if found[F_ALLOCATED_SIZE] != NULL:
            row.allocated = self.size_of(found[F_ALLOCATED_SIZE], F_ALLOCATED_SIZE)
        if found[F_ACTIVE_SIZE] != NULL:
            row.active = self.size_of(found[F_ACTIVE_SIZE], F_ACTIVE_SIZE)
        if found[F_REQUESTED_SIZE] != NULL:
            row.requested = self.size_of(found[F_REQUESTED_SIZE], F_REQUESTED_SIZE)
        if found[F_STREAM] != NULL:
            row.stream = <uint16_t> self.stream_of(self.address(found[F_STREAM], F_STREAM))
        if found[F_SEGMENT_TYPE] != NULL:
            row.type = self.text(found[F_SEGMENT_TYPE], F_SEGMENT_TYPE)
        if found[F_SEGMENT_POOL_ID] != NULL:
            row.pool = self.pool(found[F_SEGMENT_POOL_ID])
        if found[F_IS_EXPANDABLE] != NULL:
            row.expandable = found[F_IS_EXPANDABLE].payload != 0
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(found[F_FRAMES], F_FRAMES)
        if found[F_BLOCKS] != NULL:
            if found[F_BLOCKS].kind != LIST:
                self.fail_with(E_BAD_FIELD, F_BLOCKS)
                return
            row.blocks = <uint32_t> found[F_BLOCKS].payload

    cdef void set_annotation(self, size_t dict_row, Value **found) noexcept nogil:
        cdef int64_t at = self.row_of(dict_row, ANNOTATION, &self.annotations)
        cdef AnnotationRow *row
        if at < 0:
            return
        row = &(<AnnotationRow *> self.annotations.data)[at]
        if found[F_STAGE] != NULL:
            row.stage = self.text(found[F_STAGE], F_STAGE)
        if found[F_NAME] != NULL:
            row.name = self.text(found[F_NAME], F_NAME)
        if found[F_DEVICE] != NULL:
            row.device = <int32_t> self.integer(found[F_DEVICE], F_DEVICE)
        if found[F_TIME_US] != NULL:
            row.time_us = self.integer(found[F_TIME_US], F_TIME_US)

    cdef void keep_pairs(self, size_t dict_row, size_t first, size_t end, size_t most) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef PairRow row
        cdef size_t index
        for index in range(first, end, 2):
            if values[index].kind != STRING or self.pairs.count >= most:
                continue
            memset(&row, 0, sizeof(row))
            row.dict = <uint32_t> dict_row
            row.key = <uint32_t> values[index].payload
            row.kind = <uint32_t> values[index + 1].kind
            row.payload = values[index + 1].payload
            if vector_push(&self.pairs, &row) < 0:
                self.fail_with(E_NO_MEMORY, 0)
                return

    # ---- lists --------------------------------------------------------------------------------------------------

    cdef Vector *list_vector(self, size_t list_row) noexcept nogil:
        return &(<Vector *> self.vectors.data)[(<uint32_t *> self.list_payloads.data)[list_row]]

    cdef int rows_kind(self, size_t list_row) noexcept nogil:
        """Which dicts a list holds; EMPTY_DICT when it is no list of one kind of dict."""
        cdef uint8_t kind = (<uint8_t *> self.list_kinds.data)[list_row]
        return kind >> 4 if kind & 15 == ROWS else EMPTY_DICT

    cdef int append(self, size_t first, size_t end) noexcept nogil:
        """Append stack[first:end] to the list below them and drop them."""
        cdef Value *values = <Value *> self.stack.data
        cdef size_t list_row
        if first == 0 or values[first - 1].kind != LIST:
            return self.fail_with(E_UNDERFLOW, 0)
        list_row = values[first - 1].payload
        if end > first and self.fill_list(list_row, first, end) < 0:
            return -1
        self.stack.count = first
        return 0

    cdef int fill_list(self, size_t list_row, size_t first, size_t end) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef uint8_t kind = (<uint8_t *> self.list_kinds.data)[list_row]
        cdef uint8_t *dict_kinds = <uint8_t *> self.dict_kinds.data
        cdef uint8_t wanted = EMPTY_DICT
        cdef size_t index
        cdef int64_t id
        if values[first].kind == DICT or values[first].kind == FRAME_REF:
            wanted = FRAME if values[first].kind == FRAME_REF else dict_kinds[values[first].payload]
            for index in range(first + 1, end):
                if values[index].kind == FRAME_REF and wanted == FRAME:
                    continue
                if values[index].kind != DICT or dict_kinds[values[index].payload] != wanted:
                    wanted = EMPTY_DICT
                    break
        if wanted == FRAME and (kind == EMPTY_LIST or kind == FRAMES):
            return self.fill_frames(list_row, kind, first, end)
        if wanted != EMPTY_DICT and wanted != OTHER_DICT and (kind == EMPTY_LIST or kind == (ROWS | wanted << 4)):
            return self.fill_rows(list_row, kind, <uint8_t> (ROWS | wanted << 4), first, end, True)
        if values[first].kind == LIST and (kind == EMPTY_LIST or kind == LISTS):
            for index in range(first + 1, end):
                if values[index].kind != LIST:
                    break
            else:
                return self.fill_rows(list_row, kind, LISTS, first, end, False)
        if kind == EMPTY_LIST and end - first == 2 and values[first].kind == INT and values[first + 1].kind == INT:
            id = self.pool_of(<int64_t> values[first].payload, <int64_t> values[first + 1].payload)
            if id < 0:
                return -1
            (<uint8_t *> self.list_kinds.data)[list_row] = PAIR
            (<uint32_t *> self.list_payloads.data)[list_row] = <uint32_t> id
            return 0
        if kind == ROWS | EVENT << 4:
            return self.fail_with(E_BAD_FIELD, F_DEVICE_TRACES)
        if kind == ROWS | SEGMENT << 4:
            return self.fail_with(E_BAD_FIELD, F_SEGMENTS)
        (<uint8_t *> self.list_kinds.data)[list_row] = OTHER_LIST
        return 0

    cdef int fill_frames(self, size_t list_row, uint8_t kind, size_t first, size_t end) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef uint32_t *rows = <uint32_t *> self.dict_rows.data
        cdef uint32_t *sequence
        cdef uint64_t *starts
        cdef size_t old = 0, index
        cdef uint32_t stack = 0
        if kind == FRAMES:
            stack = (<uint32_t *> self.list_payloads.data)[list_row]
            starts = <uint64_t *> self.stacks.starts.data
            old = starts[stack + 1] - starts[stack]
        if vector_reserve(&self.sequence, old + end - first) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        sequence = <uint32_t *> self.sequence.data
        if old:
            memcpy(sequence, self.stacks.units.data + 4 * starts[stack], 4 * old)
        for index in range(first, end):
            sequence[old + index - first] = <uint32_t> values[index].payload if values[index].kind == FRAME_REF \
                else rows[values[index].payload]
        return self.set_stack(list_row, old + end - first)

    cdef int set_stack(self, size_t list_row, size_t depth) noexcept nogil:
        """The list is the stack of the first ``depth`` frames in ``sequence``."""
        cdef int64_t id = intern_units(&self.stacks, self.sequence.data, depth)
        if id < 0 or id > MAX_ROWS:
            return self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
        (<uint8_t *> self.list_kinds.data)[list_row] = FRAMES
        (<uint32_t *> self.list_payloads.data)[list_row] = <uint32_t> id
        return 0

    cdef size_t frame_run(self, size_t at) noexcept nogil:
        """Take a whole stack at once: references to frames up to APPENDS, for the empty list on top.

        Almost all bytes of a snapshot are such runs. Returns where it ends; 0 when it is something else (nothing is
        taken then, and the machine goes on opcode by opcode) or on error.
        """
        cdef const uint8_t *data = self.data
        cdef size_t length = self.length
        cdef uint32_t *memo = <uint32_t *> self.memo.data
        cdef size_t memos = self.memo.count
        cdef uint32_t *sequence
        cdef uint32_t entry, index
        cdef size_t depth = 0
        cdef Value *top
        if self.stack.count == 0:
            return 0
        top = &(<Value *> self.stack.data)[self.stack.count - 1]
        if top.kind != LIST or (<uint8_t *> self.list_kinds.data)[top.payload] != EMPTY_LIST:
            return 0
        if vector_reserve(&self.sequence, RUN) < 0:
            return 0
        sequence = <uint32_t *> self.sequence.data
        while depth < RUN and length - at >= 5:
            if data[at] == 0x68:
                index = data[at + 1]
                at += 2
            elif data[at] == 0x6A:
                memcpy(&index, data + at + 1, 4)
                at += 5
            elif data[at] == 0x65 and depth:
                return at + 1 if self.set_stack(top.payload, depth) == 0 else 0
            else:
                return 0
            if index >= memos:
                return 0
            entry = memo[index]
            if entry >> 28 == DICT and (<uint8_t *> self.dict_kinds.data)[entry & MAX_ROWS] == FRAME:
                entry = <uint32_t> FRAME_REF << 28 | (<uint32_t *> self.dict_rows.data)[entry & MAX_ROWS]
                memo[index] = entry
            if entry >> 28 != FRAME_REF:
                return 0
            sequence[depth] = entry & MAX_ROWS
            depth += 1
        return 0

    cdef int fill_rows(
        self, size_t list_row, uint8_t kind, uint8_t new_kind, size_t first, size_t end, bint dicts
    ) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef Vector fresh
        cdef Vector *vector
        cdef uint32_t row
        cdef size_t index
        if kind == EMPTY_LIST:
            vector_init(&fresh, 4)
            if vector_push(&self.vectors, &fresh) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
            (<uint32_t *> self.list_payloads.data)[list_row] = <uint32_t> (self.vectors.count - 1)
            (<uint8_t *> self.list_kinds.data)[list_row] = new_kind
        vector = self.list_vector(list_row)
        for index in range(first, end):
            row = <uint32_t> values[index].payload
            if dicts:
                row = (<uint32_t *> self.dict_rows.data)[row]
            if vector_push(vector, &row) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
        return 0

    cdef int tuple_of(self, size_t first) noexcept nogil:
        """Replace stack[first:] by a tuple, which here is a list."""
        cdef size_t end = self.stack.count
        cdef size_t list_row = self.list_kinds.count
        cdef Value value
        if self.new_list() < 0:
            return -1
        if end > first and self.fill_list(list_row, first, end) < 0:
            return -1
        value.kind = LIST
        value.payload = list_row
        (<Value *> self.stack.data)[first] = value
        self.stack.count = first + 1
        return 0

    # ---- the machine --------------------------------------------------------------------------------------------

    cdef int64_t counted(self, size_t at, int width) noexcept nogil:
        """The length that stands at ``at`` in ``width`` bytes, checked against what is left; -1 on error."""
        cdef uint64_t length = 0
        if self.length - at < <size_t> width:
            return self.fail_with(E_TRUNCATED, 0)
        memcpy(&length, self.data + at, width)
        if length > self.length - at - width:
            # more than the whole file could hold is a damaged number rather than a missing end
            return self.fail_with(E_ABSURD_LENGTH if length > self.length else E_TRUNCATED, 0)
        return <int64_t> length

    cdef int long_integer(self, size_t at, size_t length) noexcept nogil:
        """LONG1 and LONG4: little-endian two's complement of any length."""
        cdef uint64_t value = 0
        cdef const uint8_t *data = self.data + at
        cdef size_t index
        if length == 0:
            return self.push(INT, 0)
        if length <= 8:
            memcpy(&value, data, length)
            if length < 8 and data[length - 1] & 0x80:
                value |= ~<uint64_t> 0 << (8 * length)
            return self.push(INT, value)
        for index in range(8, length):
            if data[index] != 0:
                return self.push(OTHER, 0)
        memcpy(&value, data, 8)
        return self.push(UINT if value >> 63 else INT, value)

    cdef int string(self, size_t at, size_t length) noexcept nogil:
        cdef int64_t id = self.intern_string(self.data + at, length)
        if id < 0:
            return -1
        return self.push(STRING, <uint64_t> id)

    cdef int run_until(self, size_t limit) noexcept nogil:
        """Run opcodes until ``limit`` bytes are read (E_MORE) or STOP (E_OK); the error otherwise."""
        cdef const uint8_t *data = self.data
        cdef size_t length = self.length
        cdef size_t at = self.position
        cdef size_t start = at
        cdef size_t need
        cdef uint8_t op
        cdef uint32_t u32
        cdef int32_t i32
        cdef uint64_t u64
        cdef int64_t count
        cdef size_t mark
        cdef Value *top
        cdef int status = 0
        while True:
            start = at
            if status < 0 or self.error:
                break
            if at >= limit:
                self.position = at
                return E_MORE
            if at >= length:
                self.fail_with(E_TRUNCATED, 0)
                break
            op = data[at]
            at += 1
            # the opcodes that a snapshot is made of come first
            if op == 0x68 or op == 0x6A:                            # BINGET, LONG_BINGET
                at = self.recall_run(start)
                if at == 0:
                    break
            elif op == 0x94:                                        # MEMOIZE
                status = self.memoize(self.memo.count, at)
            elif op == 0x28:                                        # MARK
                if at < length and (data[at] == 0x68 or data[at] == 0x6A):
                    mark = self.frame_run(at)
                    if mark:
                        at = mark
                        continue
                if self.marks.count >= MAX_MARKS:
                    self.fail_with(E_TOO_DEEP, 0)
                    break
                mark = self.stack.count
                if vector_push(&self.marks, &mark) < 0:
                    self.fail_with(E_NO_MEMORY, 0)
            elif op == 0x75:                                        # SETITEMS
                count = self.pop_mark()
                if count < 0 or <size_t> count <= self.floor():
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                status = self.set_items(<size_t> count, self.stack.count)
            elif op == 0x65:                                        # APPENDS
                count = self.pop_mark()
                if count < 0 or <size_t> count <= self.floor():
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                status = self.append(<size_t> count, self.stack.count)
            elif op == 0x7D:                                        # EMPTY_DICT
                status = self.new_dict()
            elif op == 0x5D:                                        # EMPTY_LIST
                status = self.new_list()
            elif op == 0x4B:                                        # BININT1
                if at >= length:
                    self.fail_with(E_TRUNCATED, 0)
                    break
                status = self.push(INT, data[at])
                at += 1
            elif op == 0x4D:                                        # BININT2
                if length - at < 2:
                    self.fail_with(E_TRUNCATED, 0)
                    break
                status = self.push(INT, data[at] | <uint64_t> data[at + 1] << 8)
                at += 2
            elif op == 0x4A:                                        # BININT
                if length - at < 4:
                    self.fail_with(E_TRUNCATED, 0)
                    break
                memcpy(&i32, data + at, 4)
                status = self.push(INT, <uint64_t> <int64_t> i32)
                at += 4
            elif op == 0x8A or op == 0x8B:                          # LONG1, LONG4
                need = 1 if op == 0x8A else 4
                count = self.counted(at, <int> need)
                if count < 0:
                    break
                status = self.long_integer(at + need, <size_t> count)
                at += need + count
            elif op == 0x8C or op == 0x58 or op == 0x8D or op == 0x54 or op == 0x55:
                # SHORT_BINUNICODE, BINUNICODE, BINUNICODE8 and Python 2's BINSTRING, SHORT_BINSTRING
                need = 1 if op == 0x8C or op == 0x55 else 8 if op == 0x8D else 4
                count = self.counted(at, <int> need)
                if count < 0:
                    break
                status = self.string(at + need, <size_t> count)
                at += need + count
            elif op == 0x4E:                                        # NONE
                status = self.push(NONE, 0)
            elif op == 0x88 or op == 0x89:                          # NEWTRUE, NEWFALSE
                status = self.push(BOOL, op == 0x88)
            elif op == 0x47:                                        # BINFLOAT, big-endian
                if length - at < 8:
                    self.fail_with(E_TRUNCATED, 0)
                    break
                u64 = 0
                for mark in range(8):
                    u64 = u64 << 8 | data[at + mark]
                status = self.push(FLOAT, u64)
                at += 8
            elif op == 0x95:                                        # FRAME: only a hint for buffered readers
                if length - at < 8:
                    self.fail_with(E_TRUNCATED, 0)
                    break
                memcpy(&u64, data + at, 8)
                at += 8
                if u64 > length:
                    self.fail_with(E_ABSURD_LENGTH, 0)
            elif op == 0x71 or op == 0x72:                          # BINPUT, LONG_BINPUT
                need = 1 if op == 0x71 else 4
                if length - at < need:
                    self.fail_with(E_TRUNCATED, 0)
                    break
                u32 = 0
                memcpy(&u32, data + at, need)
                at += need
                status = self.memoize(u32, at)
            elif op == 0x73:                                        # SETITEM
                if self.stack.count < self.floor() + 3:
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                status = self.set_items(self.stack.count - 2, self.stack.count)
            elif op == 0x61:                                        # APPEND
                if self.stack.count < self.floor() + 2:
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                status = self.append(self.stack.count - 1, self.stack.count)
            elif op == 0x29:                                        # EMPTY_TUPLE
                status = self.tuple_of(self.stack.count)
            elif op == 0x85 or op == 0x86 or op == 0x87:            # TUPLE1, TUPLE2, TUPLE3
                need = op - 0x84
                if self.stack.count < self.floor() + need:
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                status = self.tuple_of(self.stack.count - need)
            elif op == 0x74:                                        # TUPLE
                count = self.pop_mark()
                if count < 0:
                    break
                status = self.tuple_of(<size_t> count)
            elif op == 0x42 or op == 0x43 or op == 0x8E or op == 0x96:
                # BINBYTES, SHORT_BINBYTES, BINBYTES8, BYTEARRAY8
                need = 1 if op == 0x43 else 4 if op == 0x42 else 8
                count = self.counted(at, <int> need)
                if count < 0:
                    break
                status = self.push(OTHER, 0)
                at += need + count
            elif op == 0x8F:                                        # EMPTY_SET
                status = self.push(OTHER, 0)
            elif op == 0x90 or op == 0x91:                          # ADDITEMS, FROZENSET
                count = self.pop_mark()
                if count < 0 or (op == 0x90 and <size_t> count <= self.floor()):
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                self.stack.count = <size_t> count
                if op == 0x91:
                    status = self.push(OTHER, 0)
            elif op == 0x30:                                        # POP
                if self.stack.count > self.floor():
                    self.stack.count -= 1
                else:
                    status = -1 if self.pop_mark() < 0 else 0
            elif op == 0x31:                                        # POP_MARK
                count = self.pop_mark()
                if count >= 0:
                    self.stack.count = <size_t> count
            elif op == 0x32:                                        # DUP
                if self.stack.count <= self.floor():
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                top = &(<Value *> self.stack.data)[self.stack.count - 1]
                status = self.push(top.kind, top.payload)
            elif op == 0x80:                                        # PROTO
                if at >= length:
                    self.fail_with(E_TRUNCATED, 0)
                    break
                if data[at] > 5:
                    self.fail_with(E_UNKNOWN_OPCODE, op)
                at += 1
            elif op == 0x2E:                                        # STOP
                if self.stack.count != 1 or self.marks.count != 0:
                    self.fail_with(E_UNDERFLOW, 0)
                    break
                self.root_kind = <int> (<Value *> self.stack.data)[0].kind
                self.root_payload = (<Value *> self.stack.data)[0].payload
                self.position = at
                return E_OK
            else:
                self.fail_with(E_FORBIDDEN if self.forbidden(op) else E_UNKNOWN_OPCODE, op)
                break
        self.position = start
        self.error_offset = start
        return self.error

    cdef bint forbidden(self, uint8_t op) noexcept nogil:
        """Opcodes that import, call, or ask the reader for something from outside the file."""
        # GLOBAL, STACK_GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, NEWOBJ_EX, EXT1, EXT2, EXT4, PERSID, BINPERSID,
        # NEXT_BUFFER, READONLY_BUFFER
        return op in (
            0x63, 0x93, 0x52, 0x62, 0x69, 0x6F, 0x81, 0x92, 0x82, 0x83, 0x84, 0x50, 0x51, 0x97, 0x98
        )

    # ---- what formats/torch.py calls ------------------------------------------------------------------------------

    @property
    def offset(self):
        """How many bytes are read, or where the error is."""
        return self.position

    def run(self, size_t limit):
        """Read on until at least ``limit`` bytes are read. Returns OK at the end, MORE, or what went wrong."""
        cdef int status
        with nogil:
            status = self.run_until(limit)
        return status

    def root(self):
        """The top level's lists and dicts by key, as list and dict rows; None when it is no snapshot's."""
        cdef PairRow *pairs = <PairRow *> self.pairs.data
        cdef uint8_t *fields = <uint8_t *> self.fields.data
        cdef size_t index
        if self.root_kind == LIST:
            if self.rows_kind(self.root_payload) == SEGMENT:
                return {"segments": self.root_payload}
            return None
        if self.root_kind != DICT or (<uint8_t *> self.dict_kinds.data)[self.root_payload] != ROOT:
            return None
        result = {}
        for index in range(self.pairs.count):
            if pairs[index].dict == self.root_payload:
                name = FIELD_NAMES[fields[pairs[index].key]] or self.string_at(pairs[index].key)
                if pairs[index].kind in (LIST, DICT):
                    result[name] = pairs[index].payload
        return result

    def string_at(self, uint32_t row):
        cdef uint64_t *starts = <uint64_t *> self.strings.starts.data
        return (<char *> self.strings.units.data)[starts[row]:starts[row + 1]].decode("utf-8", "replace")

    def settings(self, uint32_t dict_row):
        """A dict of plain values that is no row of a table, such as ``allocator_settings``."""
        cdef PairRow *pairs = <PairRow *> self.pairs.data
        cdef size_t index
        cdef double number
        result = {}
        for index in range(self.pairs.count):
            if pairs[index].dict != dict_row:
                continue
            kind = pairs[index].kind
            payload = pairs[index].payload
            if kind == STRING:
                value = self.string_at(<uint32_t> pairs[index].payload)
            elif kind == INT:
                value = <int64_t> pairs[index].payload
            elif kind == UINT:
                value = pairs[index].payload
            elif kind == BOOL:
                value = bool(payload)
            elif kind == FLOAT:
                memcpy(&number, &pairs[index].payload, 8)
                value = number
            elif kind == NONE:
                value = None
            else:
                continue
            result[self.string_at(pairs[index].key)] = value
        return result

    def list_of_lists(self, uint32_t list_row):
        """The rows of the lists in a list; an empty list gives none; None when it holds anything else."""
        cdef uint8_t kind
        cdef Vector *vector
        cdef size_t index
        if list_row >= self.list_kinds.count:
            return None
        kind = (<uint8_t *> self.list_kinds.data)[list_row]
        if kind == EMPTY_LIST:
            return []
        if kind != LISTS:
            return None
        vector = self.list_vector(list_row)
        return [(<uint32_t *> vector.data)[index] for index in range(vector.count)]

    def rows(self, uint32_t list_row, str table):
        """The table rows in a list of dicts as a uint32 column; None when it holds anything else."""
        cdef Vector empty
        cdef uint8_t kind
        if list_row >= self.list_kinds.count:
            return None
        kind = (<uint8_t *> self.list_kinds.data)[list_row]
        if kind == EMPTY_LIST:
            vector_init(&empty, 4)
            return column_of(&empty, b"I")
        if kind != (ROWS | TABLES[table] << 4):
            return None
        # a list is asked for once, so its memory moves out
        return column_of(self.list_vector(list_row), b"I")

    def block_lists(self):
        """``(starts, rows)``: the block rows of segment row ``s`` are ``rows[starts[s]:starts[s + 1]]``."""
        cdef Vector starts, rows
        cdef SegmentRow *segments = <SegmentRow *> self.segments.data
        cdef Vector *vector
        cdef size_t index
        cdef uint64_t end
        vector_init(&starts, 8)
        vector_init(&rows, 4)
        for index in range(self.segments.count + 1):
            end = rows.count
            if vector_push(&starts, &end) < 0:
                raise MemoryError
            if index < self.segments.count and self.rows_kind(segments[index].blocks) == BLOCK:
                vector = self.list_vector(segments[index].blocks)
                if vector_extend(&rows, vector.data, vector.count) < 0:
                    raise MemoryError
        return column_of(&starts, b"Q"), column_of(&rows, b"I")

    def drop_scratch(self):
        """Give back what only the scan needed."""
        vector_free(&self.stack)
        vector_free(&self.marks)
        vector_free(&self.memo)
        vector_free(&self.boxes)
        vector_free(&self.dict_kinds)
        vector_free(&self.dict_rows)
        vector_free(&self.sequence)
        interner_free(&self.frame_keys)

    def take(self, str table):
        """Move a table out of the scanner, as a buffer of its rows."""
        if table == "events":
            return column_of(&self.events, EVENT_FORMAT)
        if table == "frames":
            return column_of(&self.frames, FRAME_FORMAT)
        if table == "blocks":
            return column_of(&self.blocks, BLOCK_FORMAT)
        if table == "segments":
            return column_of(&self.segments, SEGMENT_FORMAT)
        if table == "annotations":
            return column_of(&self.annotations, ANNOTATION_FORMAT)
        if table == "extras":
            return column_of(&self.extras, EXTRA_FORMAT)
        if table == "streams":
            return column_of(&self.streams, b"Q")
        if table == "actions":
            return column_of(&self.actions, b"I")
        if table == "categories":
            return column_of(&self.categories, b"I")
        if table == "pools":
            return column_of(&self.pools, b"T{q:first:q:second:}")
        if table == "stack_frames":
            return column_of(&self.stacks.units, b"I")
        if table == "stack_starts":
            return column_of(&self.stacks.starts, b"Q")
        raise KeyError(table)


TABLES = {"events": EVENT, "blocks": BLOCK, "segments": SEGMENT, "annotations": ANNOTATION}

cdef bytes EVENT_FORMAT = (
    b"T{Q:addr:q:size:q:time_us:I:stack:H:stream:H:pool:B:action:B:category:H:unused:I:unused_too:}"
)
cdef bytes FRAME_FORMAT = b"T{I:file:I:name:i:line:I:fx_name:I:fx_trace:}"
cdef bytes BLOCK_FORMAT = b"T{Q:address:q:size:q:requested:I:stack:I:state:I:has_address:I:unused:}"
cdef bytes SEGMENT_FORMAT = (
    b"T{Q:address:q:total:q:allocated:q:active:q:requested:i:device:I:stack:I:blocks:I:type:"
    b"H:stream:H:pool:I:expandable:}"
)
cdef bytes ANNOTATION_FORMAT = b"T{q:time_us:i:device:I:name:I:stage:I:unused:}"
cdef bytes EXTRA_FORMAT = b"T{Q:payload:I:event:B:field:B:kind:H:unused:}"
