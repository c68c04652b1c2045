# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The tables of a PyTorch snapshot, and the conversion of the fields' values.

A value that isn't valid for its field (None, text for a number, -1 that became 2^64-1) becomes unknown, and is counted
by record and field.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memset

from memlens.kernels.base.interning cimport intern_units
from memlens.kernels.base.vectors cimport vector_reserve, vector_push, vector_free
from memlens.kernels.readers.pickle_machine cimport (
    EMPTY_DICT, EMPTY_LIST, E_NO_MEMORY, E_TOO_MANY, LIST, MAX_ROWS, NONE, STRING, UINT,
)

import os

FIELD_NAMES = (
    "", "action", "addr", "address", "size", "stream", "time_us", "frames", "compile_context", "user_metadata",
    "pool_id", "category", "device_free", "filename", "line", "name", "fx_node_name", "fx_original_trace", "state",
    "requested_size", "history", "real_size", "device", "total_size", "allocated_size", "active_size",
    "segment_type", "segment_pool_id", "is_expandable", "blocks", "stage", "segments", "device_traces",
    "allocator_settings", "external_annotations", "host_traces", "host_segments", "forward_frames", "fx_node_op",
    "fx_node_target", "fx_node_info", "nn_module_stack",
)


cdef class Tables(Machine):
    """The machine with tables, which its subclasses fill."""

    def __cinit__(self, const uint8_t[::1] data):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        cdef int64_t row
        self.own(&self.vectors, sizeof(Vector))
        self.own(&self.events, sizeof(EventRow))
        self.own(&self.frames, sizeof(FrameRow))
        self.own(&self.blocks, sizeof(BlockRow))
        self.own(&self.segments, sizeof(SegmentRow))
        self.own(&self.annotations, sizeof(AnnotationRow))
        self.own(&self.histories, sizeof(HistoryRow))
        self.own(&self.extras, sizeof(ExtraRow))
        self.own(&self.sequence, 4)
        self.own(&self.streams, 8)
        self.own(&self.pools, 16)
        self.own(&self.actions, 4)
        self.own(&self.categories, 4)
        self.own_interner(&self.stacks, 4, seed)
        self.own_interner(&self.frame_keys, 4, seed)
        self.own_interner(&self.module_stacks, 4, seed)
        # stack 0 is the empty stack, stream 0 the default one, pool 0 and category 0 mean unknown
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
        # the actions with sizes of allocations have the first numbers
        for name in (b"alloc", b"free_requested", b"free_completed", b"free"):
            self.name_of(&self.actions, <uint32_t> self.intern_string(name, len(name)))

    def __dealloc__(self):
        cdef size_t index
        for index in range(self.vectors.count):
            vector_free(&(<Vector *> self.vectors.data)[index])

    # ---- small tables ----

    cdef int64_t stream_of(self, uint64_t stream) noexcept nogil:
        """Return the row of a stream. There are few, so it is searched for from the newest one backwards."""
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
        """Return the row of a string among the few of its kind; all strings beyond 255 share the last row."""
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
        """Count a value that is invalid for its field. None and a missing value only mean that it is unknown."""
        if value != NULL and value.kind != NONE:
            self.odd_values[kind][field] += 1

    cdef int64_t size_of(self, int kind, int field, Value *value) noexcept nogil:
        """Return a size in bytes, or UNKNOWN_SIZE for any other value."""
        cdef int64_t size
        if is_whole(value, &size) and 0 <= size <= MAX_SIZE:
            return size
        self.count_odd(kind, field, value)
        return -1

    cdef int64_t time_of(self, int kind, Value *value) noexcept nogil:
        """Return microseconds, or UNKNOWN_TIME for any other value."""
        cdef int64_t time
        if is_number(value, &time) and 0 <= time <= MAX_TIME:
            return time
        self.count_odd(kind, F_TIME_US, value)
        return 0

    cdef uint64_t address(self, int kind, int field, Value *value) noexcept nogil:
        """Return an address of 64 bits, written as a signed or an unsigned number; -1 (all ones) is UNKNOWN_ADDRESS."""
        cdef int64_t number
        if value.kind == UINT and value.payload != NO_ADDRESS:
            return value.payload
        if is_whole(value, &number) and number != -1:
            return <uint64_t> number
        self.count_odd(kind, field, value)
        return NO_ADDRESS

    cdef uint16_t stream(self, int kind, Value *value) noexcept nogil:
        """Return the row of a stream, which is any number of 64 bits; that of the default stream for other values."""
        cdef int64_t number
        if value.kind == UINT:
            return <uint16_t> self.stream_of(value.payload)
        if is_whole(value, &number):
            return <uint16_t> self.stream_of(<uint64_t> number)
        self.count_odd(kind, F_STREAM, value)
        return 0

    cdef int32_t device(self, int kind, Value *value) noexcept nogil:
        """Return the number of a device, or UNKNOWN_DEVICE for any other value."""
        cdef int64_t device
        if is_whole(value, &device) and 0 <= device <= 0xFFFF:
            return <int32_t> device
        self.count_odd(kind, F_DEVICE, value)
        return -1

    cdef uint32_t text(self, int kind, int field, Value *value) noexcept nogil:
        """Return a field's string id; that of the empty string, 0, if the field is absent or not a string."""
        if value != NULL and value.kind == STRING:
            return <uint32_t> value.payload
        self.count_odd(kind, field, value)
        return 0

    cdef uint32_t optional_text(self, int kind, int field, Value *value) noexcept nogil:
        """Return a field's string id plus 1, or 0 if the field is absent or not a string."""
        if value != NULL and value.kind == STRING:
            return <uint32_t> value.payload + 1
        if value != NULL:
            self.count_odd(kind, field, value)
        return 0

    cdef uint32_t frames_of(self, int kind, Value *value) noexcept nogil:
        """Return a stack id; that of the empty stack, 0, for an empty list and for anything but a list of frames."""
        if value.kind == LIST:
            if (<uint8_t *> self.list_kinds.data)[value.payload] == FRAMES:
                return (<uint32_t *> self.list_payloads.data)[value.payload]
            if (<uint8_t *> self.list_kinds.data)[value.payload] == EMPTY_LIST:
                return 0
        self.count_odd(kind, F_FRAMES, value)
        return 0

    cdef uint16_t pool(self, int kind, int field, Value *value) noexcept nogil:
        """Return the row of a pool, or 0 (unknown) for any other value."""
        if value.kind == LIST and (<uint8_t *> self.list_kinds.data)[value.payload] == PAIR:
            return <uint16_t> (<uint32_t *> self.list_payloads.data)[value.payload]
        self.count_odd(kind, field, value)
        return 0

    # ---- rows ----

    cdef int64_t row_of(self, size_t dict_row, int kind, Vector *table) noexcept nogil:
        """Return the dict's row in its table, a new row of zeros the first time; -1 on error."""
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

    cdef int64_t frame_of(self, FrameRow *row) noexcept nogil:
        """Return the number of a frame, a new one the first time; -1 on error."""
        cdef int64_t id = intern_units(&self.frame_keys, row, sizeof(FrameRow) // 4)
        if id < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        if id > MAX_ROWS:
            return self.fail_with(E_TOO_MANY, 0)
        if <size_t> id == self.frames.count and vector_push(&self.frames, row) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return id

    cdef void add_extra(self, int64_t event, int field, Value *value) noexcept nogil:
        cdef ExtraRow row
        memset(&row, 0, sizeof(row))
        row.event = <uint32_t> event
        row.field = field
        row.kind = <uint8_t> value.kind
        row.payload = value.payload
        if vector_push(&self.extras, &row) < 0:
            self.fail_with(E_NO_MEMORY, 0)

    cdef Vector *list_vector(self, size_t list_row) noexcept nogil:
        return &(<Vector *> self.vectors.data)[(<uint32_t *> self.list_payloads.data)[list_row]]

    cdef int rows_kind(self, size_t list_row) noexcept nogil:
        """Return the kind of the dicts in a list; EMPTY_DICT if it isn't a list of one kind of dict."""
        cdef uint8_t kind
        if list_row >= self.list_kinds.count:
            return EMPTY_DICT
        kind = (<uint8_t *> self.list_kinds.data)[list_row]
        return kind >> 4 if kind & 15 == ROWS else EMPTY_DICT
