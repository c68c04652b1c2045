# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans a PyTorch memory snapshot's pickle straight into columns.

On the machine of ``pickle_machine``: a list of frames becomes an interned stack, and a dict becomes a row of the table
that its keys name (event, frame, block, segment, annotation) the moment its items are set.

A value that its field can't have (None, text for a number, -1 that became 2^64-1) never ends the scan: it is unknown,
and counted by record and field.

Source: the keys are those that ``torch/csrc/cuda/memory_snapshot.cpp`` and ``torch/cuda/_memory_viz.py`` write.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

from memlens.kernels.base.interning cimport Interner, interner_init, interner_free, intern_units
from memlens.kernels.readers.pickle_machine cimport (
    BOOL, DICT, EMPTY_DICT, EMPTY_LIST, E_NO_MEMORY, E_TOO_MANY, E_UNDERFLOW, FLOAT, INT, LIST, MAX_ROWS, NONE, ROW_REF,
    RUN, STRING, UINT, Machine, PairRow, Value,
)
from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_extend, vector_push, vector_free, column_of,
)

import os

cdef uint64_t NO_ADDRESS = ~<uint64_t> 0    # UNKNOWN_ADDRESS
# a list row for what stands among lists and is none; no file has so many
cdef uint32_t NO_LIST = ~<uint32_t> 0
# an out-of-memory event may ask for anything; of all else formats/torch_unknown.py believes less
cdef int64_t MAX_SIZE = <int64_t> 1 << 60
# tens of thousands of years
cdef int64_t MAX_TIME = <int64_t> 1 << 60

cdef enum:
    # the first actions, whose sizes are allocations': alloc, free_requested, free_completed and free
    MEMORY_ACTIONS = 4
    # pairs of dicts that are no row of a table, such as allocator_settings
    MAX_PAIRS_KEPT = 10_000
    # modules within each other that one FX node tells of
    MAX_MODULES_DEEP = 64
    # bytes of the runs that are remembered: more than the stacks of any file seen, little beside its own size
    MAX_RUN_BYTES = 1 << 25

cdef uint32_t NO_STACK = ~<uint32_t> 0

# what stands in a row for a value that the file doesn't have, or that the field can't have
UNKNOWN_ADDRESS = 0xFFFFFFFFFFFFFFFF
UNKNOWN_SIZE = -1
UNKNOWN_TIME = 0
UNKNOWN_DEVICE = -1

# what a list holds; its payload's meaning follows
cdef enum:
    FRAMES = 1      # stack id
    ROWS        # row of self.vectors: a list of dict rows, all of the kind in the high bits of list_kinds
    PAIR        # pair id: a pool id such as (0, 1)
    LISTS       # row of self.vectors: list rows
    OTHER_LIST
    TEXTS       # row of self.vectors: string ids

# what a dict is
cdef enum:
    EVENT = 1
    FRAME
    BLOCK
    SEGMENT
    ANNOTATION
    HISTORY
    ROOT
    OTHER_DICT
    # what follows is of no table and of interest only to the frame that holds it
    MODULE_STACK    # an FX node's nn_module_stack; its row is one of self.module_stacks
    NODE_INFO       # what holds an nn_module_stack; its row is likewise

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
    F_FORWARD_FRAMES
    F_FX_NODE_OP
    F_FX_NODE_TARGET
    F_FX_NODE_INFO
    F_NN_MODULE_STACK
    FIELDS

FIELD_NAMES = (
    "", "action", "addr", "address", "size", "stream", "time_us", "frames", "compile_context", "user_metadata",
    "pool_id", "category", "device_free", "filename", "line", "name", "fx_node_name", "fx_original_trace", "state",
    "requested_size", "history", "real_size", "device", "total_size", "allocated_size", "active_size",
    "segment_type", "segment_pool_id", "is_expandable", "blocks", "stage", "segments", "device_traces",
    "allocator_settings", "external_annotations", "host_traces", "host_segments", "forward_frames", "fx_node_op",
    "fx_node_target", "fx_node_info", "nn_module_stack",
)

cdef struct EventRow:
    # one trace entry; written once, read as a structured column
    uint64_t addr           # UNKNOWN_ADDRESS
    int64_t size            # UNKNOWN_SIZE
    int64_t time_us         # UNKNOWN_TIME
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
    # string id + 1, or 0
    uint32_t fx_name
    uint32_t fx_trace
    uint32_t fx_op
    uint32_t fx_target
    uint32_t fx_info
    uint32_t fx_modules     # row of the module stacks; 0 is "not told"
    uint32_t forward        # 1: a line of forward_frames, whose text is the name

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
    uint32_t has_address

cdef struct ExtraRow:
    # an event's rare facts: the field's number and the value
    uint64_t payload
    uint32_t event
    uint8_t field
    uint8_t kind
    uint16_t unused


cdef inline bint is_number(Value *value, int64_t *number) noexcept nogil:
    """Whether a value is a number of 64 bits, whose whole part is then in ``number``. True is none, nor is NaN."""
    cdef double real
    if value.kind == INT:
        number[0] = <int64_t> value.payload
        return True
    if value.kind == FLOAT:
        memcpy(&real, &value.payload, 8)
        if -9.2e18 < real < 9.2e18:
            number[0] = <int64_t> real
            return True
    return False


cdef inline bint is_whole(Value *value, int64_t *number) noexcept nogil:
    """The same of whole numbers; floats may be such, as in what went through JSON."""
    cdef double real
    if not is_number(value, number):
        return False
    if value.kind == FLOAT:
        memcpy(&real, &value.payload, 8)
        return real == <double> number[0]
    return True


cdef class Scanner(Machine):
    """Scan a whole pickle in steps, then ``take`` the tables."""

    cdef Vector vectors                 # the rows of each list that has rows
    cdef Vector events, frames, blocks, segments, annotations, histories, extras
    cdef Vector sequence                # scratch: frame ids of the list being interned
    cdef Vector streams, pools          # uint64 streams; int64 pairs
    cdef Vector actions, categories     # string ids
    cdef Interner stacks, frame_keys
    cdef Interner runs                  # the bytes of the stacks that were read, as they stand in the file
    cdef Vector run_stacks              # the stack of each run; NO_STACK for what turned out to be none
    cdef size_t last_run, last_run_bytes    # where the last of them stands
    cdef uint32_t last_run_stack
    cdef size_t runs_memo_changes       # self.memo_changes when the first of them was read
    cdef Interner module_stacks         # string ids: path and type of each module, outermost first; or one text of all
    cdef uint32_t na_string, empty_string
    cdef uint64_t odd_values[OTHER_DICT][FIELDS]    # by kind of dict and field
    cdef uint64_t odd_items[OTHER_DICT]             # what stood in lists among dicts of that kind

    def __cinit__(self, const uint8_t[::1] data):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        cdef int64_t row
        vector_init(&self.vectors, sizeof(Vector))
        vector_init(&self.events, sizeof(EventRow))
        vector_init(&self.frames, sizeof(FrameRow))
        vector_init(&self.blocks, sizeof(BlockRow))
        vector_init(&self.segments, sizeof(SegmentRow))
        vector_init(&self.annotations, sizeof(AnnotationRow))
        vector_init(&self.histories, sizeof(HistoryRow))
        vector_init(&self.extras, sizeof(ExtraRow))
        vector_init(&self.sequence, 4)
        vector_init(&self.streams, 8)
        vector_init(&self.pools, 16)
        vector_init(&self.actions, 4)
        vector_init(&self.categories, 4)
        vector_init(&self.run_stacks, 4)
        if interner_init(&self.stacks, 4, seed) < 0 or interner_init(&self.frame_keys, 4, seed) < 0:
            raise MemoryError
        if interner_init(&self.module_stacks, 4, seed) < 0 or interner_init(&self.runs, 1, seed) < 0:
            raise MemoryError
        # stack 0 is the empty stack, stream 0 the default one, pool 0 and category 0 are "not told"
        self.empty_string = 0
        self.na_string = <uint32_t> self.intern_string(b"N/A", 3)
        for index, name in enumerate(FIELD_NAMES[1:], 1):
            text = name.encode()
            row = self.intern_string(text, len(text))
            (<uint8_t *> self.fields.data)[row] = index
        intern_units(&self.stacks, NULL, 0)
        intern_units(&self.module_stacks, NULL, 0)
        self.stream_of(0)
        self.pool_of(-1, -1)
        self.name_of(&self.categories, self.empty_string)
        # the actions whose sizes count have the first numbers
        for name in (b"alloc", b"free_requested", b"free_completed", b"free"):
            self.name_of(&self.actions, <uint32_t> self.intern_string(name, len(name)))

    def __dealloc__(self):
        cdef size_t index
        for index in range(self.vectors.count):
            vector_free(&(<Vector *> self.vectors.data)[index])
        vector_free(&self.vectors)
        vector_free(&self.events)
        vector_free(&self.frames)
        vector_free(&self.blocks)
        vector_free(&self.segments)
        vector_free(&self.annotations)
        vector_free(&self.histories)
        vector_free(&self.extras)
        vector_free(&self.sequence)
        vector_free(&self.streams)
        vector_free(&self.pools)
        vector_free(&self.actions)
        vector_free(&self.categories)
        interner_free(&self.stacks)
        interner_free(&self.module_stacks)
        interner_free(&self.frame_keys)
        interner_free(&self.runs)
        vector_free(&self.run_stacks)

    # ---- small tables ----

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

    # ---- values of fields ----

    cdef void count_odd(self, int kind, int field, Value *value) noexcept nogil:
        """Count a value that its field can't have. None and what is left out say only that it is not known."""
        if value != NULL and value.kind != NONE:
            self.odd_values[kind][field] += 1

    cdef int64_t size_of(self, int kind, int field, Value *value) noexcept nogil:
        """A size in bytes, UNKNOWN_SIZE for what is none."""
        cdef int64_t size
        if is_whole(value, &size) and 0 <= size <= MAX_SIZE:
            return size
        self.count_odd(kind, field, value)
        return -1

    cdef int64_t time_of(self, int kind, Value *value) noexcept nogil:
        """Microseconds, UNKNOWN_TIME for what is no time."""
        cdef int64_t time
        if is_number(value, &time) and 0 <= time <= MAX_TIME:
            return time
        self.count_odd(kind, F_TIME_US, value)
        return 0

    cdef uint64_t address(self, int kind, int field, Value *value) noexcept nogil:
        """64 bits, however their sign is written; all ones, which are -1, are UNKNOWN_ADDRESS."""
        cdef int64_t number
        if value.kind == UINT and value.payload != NO_ADDRESS:
            return value.payload
        if is_whole(value, &number) and number != -1:
            return <uint64_t> number
        self.count_odd(kind, field, value)
        return NO_ADDRESS

    cdef uint16_t stream(self, int kind, Value *value) noexcept nogil:
        """The row of a stream, which is any 64 bits; that of the default one for what is none."""
        cdef int64_t number
        if value.kind == UINT:
            return <uint16_t> self.stream_of(value.payload)
        if is_whole(value, &number):
            return <uint16_t> self.stream_of(<uint64_t> number)
        self.count_odd(kind, F_STREAM, value)
        return 0

    cdef int32_t device(self, int kind, Value *value) noexcept nogil:
        """The number of a device, UNKNOWN_DEVICE for what is none."""
        cdef int64_t device
        if is_whole(value, &device) and 0 <= device <= 0xFFFF:
            return <int32_t> device
        self.count_odd(kind, F_DEVICE, value)
        return -1

    cdef uint32_t text(self, int kind, int field, Value *value) noexcept nogil:
        """A field's string id; 0, the empty string, when it is absent or no text."""
        if value != NULL and value.kind == STRING:
            return <uint32_t> value.payload
        self.count_odd(kind, field, value)
        return 0

    cdef uint32_t optional_text(self, int kind, int field, Value *value) noexcept nogil:
        """The same, with one added to the id where there is a text."""
        if value != NULL and value.kind == STRING:
            return <uint32_t> value.payload + 1
        if value != NULL:
            self.count_odd(kind, field, value)
        return 0

    cdef uint32_t frames_of(self, int kind, Value *value) noexcept nogil:
        """A stack id; 0, the empty stack, when it is an empty list or no list of frames."""
        if value.kind == LIST:
            if (<uint8_t *> self.list_kinds.data)[value.payload] == FRAMES:
                return (<uint32_t *> self.list_payloads.data)[value.payload]
            if (<uint8_t *> self.list_kinds.data)[value.payload] == EMPTY_LIST:
                return 0
        self.count_odd(kind, F_FRAMES, value)
        return 0

    cdef uint16_t pool(self, int kind, int field, Value *value) noexcept nogil:
        """The row of a pool; 0, which is "not told", for what is none."""
        if value.kind == LIST and (<uint8_t *> self.list_kinds.data)[value.payload] == PAIR:
            return <uint16_t> (<uint32_t *> self.list_payloads.data)[value.payload]
        self.count_odd(kind, field, value)
        return 0

    # ---- dicts become rows ----

    cdef int set_items(self, size_t first, size_t end) noexcept nogil:
        """Set the key and value pairs in stack[first:end] on the dict below them and drop them."""
        cdef Value *values = <Value *> self.stack.data
        cdef Value *found[FIELDS]
        cdef uint8_t *fields = <uint8_t *> self.fields.data
        cdef size_t index
        cdef size_t dict_row
        cdef int kind, field
        if (end - first) % 2 == 0 and first and values[first - 1].kind == ROW_REF:
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
        if kind == EMPTY_DICT:
            kind = self.kind_of(found)
            if kind == OTHER_DICT:
                kind = MODULE_STACK if self.set_module_stack(dict_row, first, end) else self.likely_kind_of(found)
        elif kind >= OTHER_DICT:
            field = self.kind_of(found)
            if field < OTHER_DICT:
                # set one by one, which no pickler does: what came before the telling key is not kept
                return self.fail_with(E_UNDERFLOW, 0)
            if field == NODE_INFO:
                kind = NODE_INFO
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
            if kind == NODE_INFO and found[F_NN_MODULE_STACK] != NULL:
                (<uint32_t *> self.dict_rows.data)[dict_row] = self.module_stack_of(found[F_NN_MODULE_STACK])
            if kind != MODULE_STACK:
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
        if found[F_NN_MODULE_STACK] != NULL:
            return NODE_INFO
        return OTHER_DICT

    cdef int likely_kind_of(self, Value **found) noexcept nogil:
        """What a dict is that lacks the key that tells it."""
        if found[F_TOTAL_SIZE] != NULL or found[F_SEGMENT_TYPE] != NULL:
            return SEGMENT
        if found[F_ADDR] != NULL:
            return EVENT if found[F_SIZE] != NULL else HISTORY
        if found[F_LINE] != NULL and found[F_NAME] != NULL:
            return FRAME
        if found[F_STATE] != NULL or (found[F_SIZE] != NULL and (
            found[F_ADDRESS] != NULL or found[F_REQUESTED_SIZE] != NULL
        )):
            return BLOCK
        if found[F_NAME] != NULL and found[F_TIME_US] != NULL:
            return ANNOTATION
        if found[F_HOST_TRACES] != NULL or found[F_HOST_SEGMENTS] != NULL:
            return ROOT
        if found[F_ALLOCATOR_SETTINGS] != NULL and found[F_EXTERNAL_ANNOTATIONS] != NULL:
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
        cdef bint fresh = (<uint8_t *> self.dict_kinds.data)[dict_row] != EVENT
        cdef int64_t at = self.row_of(dict_row, EVENT, &self.events)
        cdef EventRow *row
        cdef Value *value
        cdef Value number
        if at < 0:
            return
        row = &(<EventRow *> self.events.data)[at]
        if fresh:
            row.addr = NO_ADDRESS
            row.size = -1
        if found[F_ACTION] != NULL or fresh:
            row.action = <uint8_t> self.name_of(&self.actions, self.text(EVENT, F_ACTION, found[F_ACTION]))
        if found[F_ADDR] != NULL:
            row.addr = self.address(EVENT, F_ADDR, found[F_ADDR])
        if found[F_SIZE] != NULL:
            row.size = self.size_of(EVENT, F_SIZE, found[F_SIZE])
        if found[F_TIME_US] != NULL:
            row.time_us = self.time_of(EVENT, found[F_TIME_US])
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(EVENT, found[F_FRAMES])
        if found[F_FORWARD_FRAMES] != NULL:
            row.stack = self.with_forward(EVENT, row.stack, found[F_FORWARD_FRAMES])
        if found[F_STREAM] != NULL:
            row.stream = self.stream(EVENT, found[F_STREAM])
        if found[F_POOL_ID] != NULL:
            row.pool = self.pool(EVENT, F_POOL_ID, found[F_POOL_ID])
        value = found[F_CATEGORY]
        if value != NULL:
            row.category = <uint8_t> self.name_of(&self.categories, self.text(EVENT, F_CATEGORY, value))
        value = found[F_DEVICE_FREE]
        if value != NULL:
            number.kind = INT
            number.payload = <uint64_t> self.size_of(EVENT, F_DEVICE_FREE, value)
            if <int64_t> number.payload >= 0:
                self.add_extra(at, F_DEVICE_FREE, &number)
        value = found[F_USER_METADATA]
        if value != NULL and self.text(EVENT, F_USER_METADATA, value) != self.empty_string:
            self.add_extra(at, F_USER_METADATA, value)
        value = found[F_COMPILE_CONTEXT]
        if value != NULL and self.text(EVENT, F_COMPILE_CONTEXT, value) != self.empty_string:
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
        cdef size_t info
        cdef Value *value
        if (<uint8_t *> self.dict_kinds.data)[dict_row] == FRAME:
            return      # a frame is complete with its first items; what comes later is of no interest
        row.line = 0
        if found[F_LINE] != NULL:
            if is_whole(found[F_LINE], &line) and 0 <= line < 0x7FFFFFFF:
                row.line = <int32_t> line
            else:
                self.count_odd(FRAME, F_LINE, found[F_LINE])
        row.file = self.text(FRAME, F_FILENAME, found[F_FILENAME])
        row.name = self.text(FRAME, F_NAME, found[F_NAME])
        row.fx_name = self.optional_text(FRAME, F_FX_NODE_NAME, found[F_FX_NODE_NAME])
        row.fx_trace = self.optional_text(FRAME, F_FX_ORIGINAL_TRACE, found[F_FX_ORIGINAL_TRACE])
        row.fx_op = self.optional_text(FRAME, F_FX_NODE_OP, found[F_FX_NODE_OP])
        row.fx_target = self.optional_text(FRAME, F_FX_NODE_TARGET, found[F_FX_NODE_TARGET])
        # a text, or a dict of which its modules count
        value = found[F_FX_NODE_INFO]
        row.fx_info = <uint32_t> value.payload + 1 if value != NULL and value.kind == STRING else 0
        row.fx_modules = 0
        if found[F_FX_NODE_INFO] != NULL and found[F_FX_NODE_INFO].kind == DICT:
            info = found[F_FX_NODE_INFO].payload
            if (<uint8_t *> self.dict_kinds.data)[info] == NODE_INFO:
                row.fx_modules = (<uint32_t *> self.dict_rows.data)[info]
        row.forward = 0
        id = self.frame_of(&row)
        if id >= 0:
            (<uint32_t *> self.dict_rows.data)[dict_row] = <uint32_t> id
        # dicts made within the frame have later rows than it; their pairs must not take the room of the settings'
        while self.pairs.count and (<PairRow *> self.pairs.data)[self.pairs.count - 1].dict > dict_row:
            self.pairs.count -= 1

    cdef bint set_module_stack(self, size_t dict_row, size_t first, size_t end) noexcept nogil:
        """Whether the items are those of an ``nn_module_stack``, ``{key: (path, type)}``; its row is set then.

        Source: ``torch/_dynamo/symbolic_convert.py`` makes it, outermost module first; ``torch.export`` and who wants
        to pickle it has the type's name for the type.
        """
        cdef Value *values = <Value *> self.stack.data
        cdef uint32_t names[2 * MAX_MODULES_DEEP]
        cdef size_t index
        cdef size_t count = 0
        cdef Vector *pair
        cdef int64_t id
        if end - first > 2 * MAX_MODULES_DEEP:
            return False
        for index in range(first, end, 2):
            if values[index].kind != STRING or values[index + 1].kind != LIST:
                return False
            if (<uint8_t *> self.list_kinds.data)[values[index + 1].payload] != TEXTS:
                return False
            pair = self.list_vector(values[index + 1].payload)
            if pair.count != 2:
                return False
            memcpy(&names[count], pair.data, 8)
            count += 2
        id = intern_units(&self.module_stacks, names, count)
        if id < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return False
        (<uint32_t *> self.dict_rows.data)[dict_row] = <uint32_t> id
        return True

    cdef uint32_t module_stack_of(self, Value *value) noexcept nogil:
        """The row of the module stack that a dict, or a text as ``torch.export`` saves it, tells; else 0."""
        cdef int64_t id
        cdef uint32_t text
        if value.kind == DICT and (<uint8_t *> self.dict_kinds.data)[value.payload] == MODULE_STACK:
            return (<uint32_t *> self.dict_rows.data)[value.payload]
        if value.kind != STRING or value.payload == self.empty_string:
            return 0
        text = <uint32_t> value.payload
        id = intern_units(&self.module_stacks, &text, 1)
        if id < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return 0
        return <uint32_t> id

    cdef int64_t frame_of(self, FrameRow *row) noexcept nogil:
        """The number of a frame, a new one the first time."""
        cdef int64_t id = intern_units(&self.frame_keys, row, sizeof(FrameRow) // 4)
        if id < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        if id > MAX_ROWS:
            return self.fail_with(E_TOO_MANY, 0)
        if <size_t> id == self.frames.count and vector_push(&self.frames, row) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return id

    cdef uint32_t with_forward(self, int kind, uint32_t stack, Value *value) noexcept nogil:
        """A stack, and outside of it the lines of ``forward_frames``, as the code on whose behalf it ran.

        They are written as ``traceback.format_list`` does, the outermost first.
        """
        cdef Vector *lines
        cdef FrameRow row
        cdef uint64_t *starts
        cdef size_t depth, index
        cdef int64_t id
        if value.kind != LIST or (<uint8_t *> self.list_kinds.data)[value.payload] != TEXTS:
            if value.kind != LIST or (<uint8_t *> self.list_kinds.data)[value.payload] != EMPTY_LIST:
                self.count_odd(kind, F_FORWARD_FRAMES, value)
            return stack
        lines = self.list_vector(value.payload)
        starts = <uint64_t *> self.stacks.starts.data
        depth = starts[stack + 1] - starts[stack]
        if self.stacks.units.count + depth + lines.count > self.length + MAX_PAIRS_KEPT * 100:
            return stack    # pairs of long stacks could fill memory; the stack itself is what counts
        if vector_reserve(&self.sequence, depth + lines.count) < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return 0
        if depth:
            memcpy(self.sequence.data, self.stacks.units.data + 4 * starts[stack], 4 * depth)
        memset(&row, 0, sizeof(row))
        row.forward = 1
        for index in range(lines.count):
            row.name = (<uint32_t *> lines.data)[lines.count - 1 - index]
            id = self.frame_of(&row)
            if id < 0:
                return 0
            (<uint32_t *> self.sequence.data)[depth + index] = <uint32_t> id
        id = intern_units(&self.stacks, self.sequence.data, depth + lines.count)
        if id < 0 or id > MAX_ROWS:
            self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
            return 0
        return <uint32_t> id

    cdef void set_block(self, size_t dict_row, Value **found) noexcept nogil:
        cdef bint fresh = (<uint8_t *> self.dict_kinds.data)[dict_row] != BLOCK
        cdef int64_t at = self.row_of(dict_row, BLOCK, &self.blocks)
        cdef BlockRow *row
        cdef HistoryRow *history
        cdef uint32_t first
        cdef Value *value
        if at < 0:
            return
        row = &(<BlockRow *> self.blocks.data)[at]
        if fresh:
            row.size = -1
            row.requested = -1
        if found[F_ADDRESS] != NULL:
            row.address = self.address(BLOCK, F_ADDRESS, found[F_ADDRESS])
            row.has_address = row.address != NO_ADDRESS
        if found[F_SIZE] != NULL:
            row.size = self.size_of(BLOCK, F_SIZE, found[F_SIZE])
        if found[F_STATE] != NULL:
            row.state = self.text(BLOCK, F_STATE, found[F_STATE])
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(BLOCK, found[F_FRAMES])
        if found[F_FORWARD_FRAMES] != NULL:
            row.stack = self.with_forward(BLOCK, row.stack, found[F_FORWARD_FRAMES])
        value = found[F_HISTORY]
        if value != NULL and value.kind == LIST and self.rows_kind(value.payload) == HISTORY:
            # torch 2.0: the newest allocation in the block stands first
            first = (<uint32_t *> self.list_vector(value.payload).data)[0]
            history = &(<HistoryRow *> self.histories.data)[first]
            if row.stack == 0:
                row.stack = history.stack
            row.requested = history.real_size
            if row.has_address == 0 and history.has_address:
                row.address = history.addr
                row.has_address = 1
        elif value != NULL and (
            value.kind != LIST or (<uint8_t *> self.list_kinds.data)[value.payload] != EMPTY_LIST
        ):
            self.count_odd(BLOCK, F_HISTORY, value)
        if found[F_REQUESTED_SIZE] != NULL:
            row.requested = self.size_of(BLOCK, F_REQUESTED_SIZE, found[F_REQUESTED_SIZE])

    cdef void set_history(self, size_t dict_row, Value **found) noexcept nogil:
        cdef bint fresh = (<uint8_t *> self.dict_kinds.data)[dict_row] != HISTORY
        cdef int64_t at = self.row_of(dict_row, HISTORY, &self.histories)
        cdef HistoryRow *row
        if at < 0:
            return
        row = &(<HistoryRow *> self.histories.data)[at]
        if fresh:
            row.real_size = -1
        if found[F_ADDR] != NULL:
            row.addr = self.address(HISTORY, F_ADDR, found[F_ADDR])
            row.has_address = row.addr != NO_ADDRESS
        if found[F_REAL_SIZE] != NULL:
            row.real_size = self.size_of(HISTORY, F_REAL_SIZE, found[F_REAL_SIZE])
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(HISTORY, found[F_FRAMES])

    cdef void set_segment(self, size_t dict_row, Value **found) noexcept nogil:
        cdef bint fresh = (<uint8_t *> self.dict_kinds.data)[dict_row] != SEGMENT
        cdef int64_t at = self.row_of(dict_row, SEGMENT, &self.segments)
        cdef SegmentRow *row
        cdef Value *value
        if at < 0:
            return
        row = &(<SegmentRow *> self.segments.data)[at]
        if fresh:
            row.address = NO_ADDRESS
            row.total = row.allocated = row.active = row.requested = -1
            row.blocks = NO_LIST
        if found[F_DEVICE] != NULL:
            row.device = self.device(SEGMENT, found[F_DEVICE])
        if found[F_ADDRESS] != NULL:
            row.address = self.address(SEGMENT, F_ADDRESS, found[F_ADDRESS])
        if found[F_TOTAL_SIZE] != NULL:
            row.total = self.size_of(SEGMENT, F_TOTAL_SIZE, found[F_TOTAL_SIZE])
        if found[F_ALLOCATED_SIZE] != NULL:
            row.allocated = self.size_of(SEGMENT, F_ALLOCATED_SIZE, found[F_ALLOCATED_SIZE])
        if found[F_ACTIVE_SIZE] != NULL:
            row.active = self.size_of(SEGMENT, F_ACTIVE_SIZE, found[F_ACTIVE_SIZE])
        if found[F_REQUESTED_SIZE] != NULL:
            row.requested = self.size_of(SEGMENT, F_REQUESTED_SIZE, found[F_REQUESTED_SIZE])
        if found[F_STREAM] != NULL:
            row.stream = self.stream(SEGMENT, found[F_STREAM])
        if found[F_SEGMENT_TYPE] != NULL:
            row.type = self.text(SEGMENT, F_SEGMENT_TYPE, found[F_SEGMENT_TYPE])
        if found[F_SEGMENT_POOL_ID] != NULL:
            row.pool = self.pool(SEGMENT, F_SEGMENT_POOL_ID, found[F_SEGMENT_POOL_ID])
        value = found[F_IS_EXPANDABLE]
        if value != NULL:
            if (value.kind == BOOL or value.kind == INT) and value.payload <= 1:
                row.expandable = value.payload != 0
            else:
                self.count_odd(SEGMENT, F_IS_EXPANDABLE, value)
        if found[F_FRAMES] != NULL:
            row.stack = self.frames_of(SEGMENT, found[F_FRAMES])
        value = found[F_BLOCKS]
        if value != NULL:
            if value.kind == LIST:
                row.blocks = <uint32_t> value.payload
            if value.kind != LIST or (
                self.rows_kind(value.payload) != BLOCK
                and (<uint8_t *> self.list_kinds.data)[value.payload] != EMPTY_LIST
            ):
                self.count_odd(SEGMENT, F_BLOCKS, value)

    cdef void set_annotation(self, size_t dict_row, Value **found) noexcept nogil:
        cdef int64_t at = self.row_of(dict_row, ANNOTATION, &self.annotations)
        cdef AnnotationRow *row
        if at < 0:
            return
        row = &(<AnnotationRow *> self.annotations.data)[at]
        if found[F_STAGE] != NULL:
            row.stage = self.text(ANNOTATION, F_STAGE, found[F_STAGE])
        if found[F_NAME] != NULL:
            row.name = self.text(ANNOTATION, F_NAME, found[F_NAME])
        if found[F_DEVICE] != NULL:
            row.device = self.device(ANNOTATION, found[F_DEVICE])
        if found[F_TIME_US] != NULL:
            row.time_us = self.time_of(ANNOTATION, found[F_TIME_US])

    # ---- lists become stacks and lists of rows ----

    cdef Vector *list_vector(self, size_t list_row) noexcept nogil:
        return &(<Vector *> self.vectors.data)[(<uint32_t *> self.list_payloads.data)[list_row]]

    cdef int rows_kind(self, size_t list_row) noexcept nogil:
        """Which dicts a list holds; EMPTY_DICT when it is no list of one kind of dict."""
        cdef uint8_t kind
        if list_row >= self.list_kinds.count:
            return EMPTY_DICT
        kind = (<uint8_t *> self.list_kinds.data)[list_row]
        return kind >> 4 if kind & 15 == ROWS else EMPTY_DICT

    cdef int fill_list(self, size_t list_row, size_t first, size_t end) noexcept nogil:
        cdef Value *values = <Value *> self.stack.data
        cdef uint8_t kind = (<uint8_t *> self.list_kinds.data)[list_row]
        cdef uint8_t *dict_kinds = <uint8_t *> self.dict_kinds.data
        cdef uint8_t wanted = EMPTY_DICT
        cdef size_t index
        cdef int64_t id
        if values[first].kind == DICT or values[first].kind == ROW_REF:
            wanted = FRAME if values[first].kind == ROW_REF else dict_kinds[values[first].payload]
            for index in range(first + 1, end):
                if values[index].kind == ROW_REF and wanted == FRAME:
                    continue
                if values[index].kind != DICT or dict_kinds[values[index].payload] != wanted:
                    wanted = EMPTY_DICT
                    break
        if wanted == FRAME and (kind == EMPTY_LIST or kind == FRAMES):
            return self.fill_frames(list_row, kind, first, end)
        if wanted != EMPTY_DICT and wanted < OTHER_DICT and (kind == EMPTY_LIST or kind == (ROWS | wanted << 4)):
            return self.fill_rows(list_row, kind, <uint8_t> (ROWS | wanted << 4), first, end, True)
        if values[first].kind == LIST and (kind == EMPTY_LIST or kind == LISTS):
            for index in range(first + 1, end):
                if values[index].kind != LIST:
                    break
            else:
                return self.fill_rows(list_row, kind, LISTS, first, end, False)
        if values[first].kind == STRING and (kind == EMPTY_LIST or kind == TEXTS):
            for index in range(first + 1, end):
                if values[index].kind != STRING:
                    break
            else:
                return self.fill_rows(list_row, kind, TEXTS, first, end, False)
        if kind == EMPTY_LIST and end - first == 2 and values[first].kind == INT and values[first + 1].kind == INT:
            id = self.pool_of(<int64_t> values[first].payload, <int64_t> values[first + 1].payload)
            if id < 0:
                return -1
            (<uint8_t *> self.list_kinds.data)[list_row] = PAIR
            (<uint32_t *> self.list_payloads.data)[list_row] = <uint32_t> id
            return 0
        return self.fill_mixed(list_row, kind, first, end)

    cdef int fill_mixed(self, size_t list_row, uint8_t kind, size_t first, size_t end) noexcept nogil:
        """Take of items that are not all of one kind those that are of the list's, and count the others.

        A list that holds nothing yet is of the kind of its first dict that is a row of a table, else of lists.
        """
        cdef Value *values = <Value *> self.stack.data
        cdef uint8_t wanted = EMPTY_DICT, found
        cdef size_t index
        cdef size_t last = first
        cdef bint lists = kind == LISTS
        if kind == FRAMES:
            wanted = FRAME
        elif kind & 15 == ROWS:
            wanted = kind >> 4
        elif kind == OTHER_LIST:
            kind = EMPTY_LIST
        for index in range(first, end):
            if kind == EMPTY_LIST and wanted == EMPTY_DICT:
                found = self.table_of(&values[index])
                if EMPTY_DICT < found < OTHER_DICT:
                    wanted = found
            lists = lists or (kind == EMPTY_LIST and values[index].kind == LIST)
        if wanted != EMPTY_DICT:
            for index in range(first, end):
                if self.table_of(&values[index]) == wanted:
                    values[last] = values[index]
                    last += 1
            self.odd_items[wanted] += end - last
            if last == first:
                return 0
            if wanted == FRAME:
                return self.fill_frames(list_row, kind, first, last)
            return self.fill_rows(list_row, kind, <uint8_t> (ROWS | wanted << 4), first, last, True)
        if lists:
            # devices are told by their places among the lists, so what is none keeps its place
            for index in range(first, end):
                if values[index].kind != LIST:
                    values[index].payload = NO_LIST
            return self.fill_rows(list_row, kind, LISTS, first, end, False)
        (<uint8_t *> self.list_kinds.data)[list_row] = OTHER_LIST
        return 0

    cdef uint8_t table_of(self, Value *value) noexcept nogil:
        """Which kind of dict a value is, EMPTY_DICT for anything else."""
        if value.kind == ROW_REF:
            return FRAME
        return (<uint8_t *> self.dict_kinds.data)[value.payload] if value.kind == DICT else EMPTY_DICT

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
            sequence[old + index - first] = <uint32_t> values[index].payload if values[index].kind == ROW_REF \
                else rows[values[index].payload]
        return self.set_stack(list_row, old + end - first)

    cdef inline void be_stack(self, size_t list_row, uint32_t stack) noexcept nogil:
        """The list is a stack that is known."""
        (<uint8_t *> self.list_kinds.data)[list_row] = FRAMES
        (<uint32_t *> self.list_payloads.data)[list_row] = stack

    cdef int set_stack(self, size_t list_row, size_t depth) noexcept nogil:
        """The list is the stack of the first ``depth`` frames in ``sequence``."""
        cdef int64_t id
        if self.stacks.units.count > self.length + MAX_PAIRS_KEPT * 100:
            # stacks that grow frame by frame would be kept at every length; no file's stacks are longer than itself
            return self.fail_with(E_TOO_MANY, 0)
        id = intern_units(&self.stacks, self.sequence.data, depth)
        if id < 0 or id > MAX_ROWS:
            return self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
        self.be_stack(list_row, <uint32_t> id)
        return 0

    cdef size_t list_run(self, size_t at) noexcept nogil:
        """Take a whole stack at once: references to frames up to APPENDS, for the empty list on top.

        Almost all bytes of a snapshot are such runs, and most repeat one that was read before, byte for byte; those
        are looked up as they stand. Returns where the run ends; 0 when it is something else (nothing is taken then,
        and the machine goes on opcode by opcode) or on error.
        """
        cdef const uint8_t *data = self.data
        cdef size_t length = self.length
        cdef size_t begin = at
        cdef size_t depth = 0
        cdef int64_t run
        cdef uint32_t *stacks
        cdef Value *top
        while depth < RUN and length - at >= 5:
            if data[at] == 0x6A:                                    # LONG_BINGET
                at += 5
            elif data[at] == 0x68:                                  # BINGET
                at += 2
            else:
                break
            depth += 1
        if depth == 0 or at >= length or data[at] != 0x65 or self.stack.count == 0:
            return 0
        top = &(<Value *> self.stack.data)[self.stack.count - 1]
        if top.kind != LIST or (<uint8_t *> self.list_kinds.data)[top.payload] != EMPTY_LIST:
            return 0
        if self.runs.units.count > MAX_RUN_BYTES or self.runs_memo_changes != self.memo_changes:
            if self.forget_runs() < 0:
                return 0
        if at - begin == self.last_run_bytes and memcmp(data + begin, data + self.last_run, at - begin) == 0:
            # the request and the completion of a free stand side by side, with one stack
            self.be_stack(top.payload, self.last_run_stack)
            return at + 1
        run = intern_units(&self.runs, data + begin, at - begin)
        if run < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return 0
        if <size_t> run == self.run_stacks.count and vector_push(&self.run_stacks, &NO_STACK) < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return 0
        stacks = <uint32_t *> self.run_stacks.data
        if stacks[run] == NO_STACK:
            if self.read_run(begin, at, top.payload) < 0:
                return 0
            stacks[run] = (<uint32_t *> self.list_payloads.data)[top.payload]
        else:
            self.be_stack(top.payload, stacks[run])
        self.last_run = begin
        self.last_run_bytes = at - begin
        self.last_run_stack = stacks[run]
        return at + 1

    cdef int read_run(self, size_t at, size_t end, size_t list_row) noexcept nogil:
        """Make the list the stack of the frames that data[at:end] refers to; -1 when not all are frames."""
        cdef const uint8_t *data = self.data
        cdef uint32_t *memo = <uint32_t *> self.memo.data
        cdef size_t memos = self.memo.count
        cdef uint32_t *sequence
        cdef uint32_t entry, index
        cdef size_t depth = 0
        if vector_reserve(&self.sequence, RUN) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        sequence = <uint32_t *> self.sequence.data
        while at < end:
            if data[at] == 0x68:
                index = data[at + 1]
                at += 2
            else:
                memcpy(&index, data + at + 1, 4)
                at += 5
            if index >= memos:
                return -1
            entry = memo[index]
            if entry >> 28 == DICT and (<uint8_t *> self.dict_kinds.data)[entry & MAX_ROWS] == FRAME:
                entry = <uint32_t> ROW_REF << 28 | (<uint32_t *> self.dict_rows.data)[entry & MAX_ROWS]
                memo[index] = entry
            if entry >> 28 != ROW_REF:
                return -1
            sequence[depth] = entry & MAX_ROWS
            depth += 1
        return self.set_stack(list_row, depth)

    cdef int forget_runs(self) noexcept nogil:
        """Forget the runs that were read: they are many, or memos that they refer to may have been stored anew."""
        cdef uint64_t seed = self.runs.seed
        interner_free(&self.runs)
        self.run_stacks.count = 0
        self.last_run_bytes = 0
        self.runs_memo_changes = self.memo_changes
        if interner_init(&self.runs, 1, seed) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
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

    # ---- for formats/torch.py ----

    def root(self):
        """The top level's values by key; None when it is no snapshot's.

        A list or a dict is its row, with "list" or "dict" before it; of anything else but None only the kind, "other".
        """
        cdef PairRow *pairs = <PairRow *> self.pairs.data
        cdef uint8_t *fields = <uint8_t *> self.fields.data
        cdef size_t index
        if self.root_kind == LIST:
            if self.rows_kind(self.root_payload) == SEGMENT or self.list_of_lists(self.root_payload) == []:
                return {"segments": ("list", self.root_payload)}
            return None
        if self.root_kind != DICT or (<uint8_t *> self.dict_kinds.data)[self.root_payload] != ROOT:
            return None
        result = {}
        for index in range(self.pairs.count):
            if pairs[index].dict == self.root_payload and pairs[index].kind != NONE:
                name = FIELD_NAMES[fields[pairs[index].key]] or self.string_at(pairs[index].key)
                kind = {LIST: "list", DICT: "dict"}.get(pairs[index].kind, "other")
                result[name] = kind, pairs[index].payload if kind != "other" else 0
        return result

    def odd_counts(self):
        """How many values of each kind of record and field are none that the field can have: ``(kind, field, count)``.

        The field is empty for what stood in the place of whole records.
        """
        cdef int kind, field
        found = []
        for name, kind in RECORDS.items():
            if self.odd_items[kind]:
                found.append((name, "", self.odd_items[kind]))
            for field in range(<int> FIELDS):
                if self.odd_values[kind][field]:
                    found.append((name, FIELD_NAMES[field], self.odd_values[kind][field]))
        return found

    def list_of_lists(self, uint32_t list_row):
        """The rows of the lists in a list; an empty list gives none; None when it holds no list.

        What stands among lists and is none has a row that is no list's.
        """
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
        """``(starts, rows)``: the block rows of segment row ``s`` are ``rows[starts[s]:starts[s + 1]]``.

        None when segments share blocks, which could multiply a small file.
        """
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
                if rows.count + vector.count > self.blocks.count:
                    vector_free(&starts)
                    vector_free(&rows)
                    return None
                if vector_extend(&rows, vector.data, vector.count) < 0:
                    raise MemoryError
        return column_of(&starts, b"Q"), column_of(&rows, b"I")

    def event_sums(self, int64_t most_bytes):
        """``(odd, bytes)``: how many events have no address or a size beyond 0 to ``most_bytes``, and a float, what
        the sizes of memory's events add up to without larger ones. One pass, before the events are taken.
        """
        cdef EventRow *events = <EventRow *> self.events.data
        cdef size_t index, odd = 0
        cdef double total = 0
        with nogil:
            for index in range(self.events.count):
                if events[index].size < 0 or events[index].size > most_bytes or events[index].addr == NO_ADDRESS:
                    odd += 1
                if events[index].action < MEMORY_ACTIONS and events[index].size <= most_bytes:
                    total += events[index].size
        return odd, total

    def drop_scratch(self):
        """Give back what only the scan and what asks for lists needed: no list can be asked for afterwards."""
        self.forget_scratch()
        # an item a list, so some for each event
        vector_free(&self.list_kinds)
        vector_free(&self.list_payloads)
        vector_free(&self.sequence)
        vector_free(&self.run_stacks)
        interner_free(&self.frame_keys)
        interner_free(&self.runs)

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
        if table == "module_names":
            return column_of(&self.module_stacks.units, b"I")
        if table == "module_starts":
            return column_of(&self.module_stacks.starts, b"Q")
        raise KeyError(table)


RECORDS = {
    "event": EVENT, "frame": FRAME, "block": BLOCK, "segment": SEGMENT, "annotation": ANNOTATION, "history": HISTORY,
}
TABLES = {"events": EVENT, "blocks": BLOCK, "segments": SEGMENT, "annotations": ANNOTATION}

cdef bytes EVENT_FORMAT = (
    b"T{Q:addr:q:size:q:time_us:I:stack:H:stream:H:pool:B:action:B:category:H:unused:I:unused_too:}"
)
cdef bytes FRAME_FORMAT = (
    b"T{I:file:I:name:i:line:I:fx_name:I:fx_trace:I:fx_op:I:fx_target:I:fx_info:I:fx_modules:I:forward:}"
)
cdef bytes BLOCK_FORMAT = b"T{Q:address:q:size:q:requested:I:stack:I:state:I:has_address:I:unused:}"
cdef bytes SEGMENT_FORMAT = (
    b"T{Q:address:q:total:q:allocated:q:active:q:requested:i:device:I:stack:I:blocks:I:type:"
    b"H:stream:H:pool:I:expandable:}"
)
cdef bytes ANNOTATION_FORMAT = b"T{q:time_us:i:device:I:name:I:stage:I:unused:}"
cdef bytes EXTRA_FORMAT = b"T{Q:payload:I:event:B:field:B:kind:H:unused:}"
