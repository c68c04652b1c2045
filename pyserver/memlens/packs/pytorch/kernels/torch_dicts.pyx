# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Turns the dicts of a PyTorch snapshot into rows of the table that their keys indicate, as soon as items are set."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from memlens.kernels.base.interning cimport intern_units
from memlens.kernels.base.vectors cimport Vector, vector_reserve
from memlens.kernels.readers.pickle_machine cimport (
    BOOL, DICT, EMPTY_DICT, EMPTY_LIST, E_NO_MEMORY, E_TOO_MANY, E_UNDERFLOW, INT, LIST, MAX_ROWS, ROW_REF, STRING,
    PairRow, Value,
)
from memlens.packs.pytorch.kernels.torch_tables cimport *

cdef enum:
    # the most modules, one inside the other, in the module stack of an FX node
    MAX_MODULES_DEEP = 64


cdef class Dicts(Tables):
    """The machine that recognises dicts by their keys and fills their rows."""

    cdef int set_items(self, size_t first, size_t end) noexcept nogil:
        """Set the key and value pairs in stack[first:end] on the dict below them and drop them."""
        cdef Value *values = <Value *> self.stack.data
        cdef Value *by_field[FIELDS]
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
            by_field[index] = NULL
        for index in range(first, end, 2):
            if values[index].kind == STRING:
                field = fields[values[index].payload]
                if field:
                    by_field[field] = &values[index + 1]
        kind = (<uint8_t *> self.dict_kinds.data)[dict_row]
        if kind == EMPTY_DICT:
            kind = self.kind_of(by_field)
            if kind == OTHER_DICT:
                kind = MODULE_STACK if self.set_module_stack(dict_row, first, end) else self.likely_kind_of(by_field)
        elif kind >= OTHER_DICT:
            field = self.kind_of(by_field)
            if field < OTHER_DICT:
                # items were set one by one, which no pickler does, and those before the identifying key weren't kept
                return self.fail_with(E_UNDERFLOW, 0)
            if field == NODE_INFO:
                kind = NODE_INFO
        if kind == EVENT:
            self.set_event(dict_row, by_field)
        elif kind == FRAME:
            self.set_frame(dict_row, by_field)
        elif kind == BLOCK:
            self.set_block(dict_row, by_field)
        elif kind == SEGMENT:
            self.set_segment(dict_row, by_field)
        elif kind == ANNOTATION:
            self.set_annotation(dict_row, by_field)
        elif kind == HISTORY:
            self.set_history(dict_row, by_field)
        else:
            if kind == NODE_INFO and by_field[F_NN_MODULE_STACK] != NULL:
                (<uint32_t *> self.dict_rows.data)[dict_row] = self.module_stack_of(by_field[F_NN_MODULE_STACK])
            if kind != MODULE_STACK:
                self.keep_pairs(dict_row, first, end, MAX_ROWS if kind == ROOT else MAX_PAIRS_KEPT)
        (<uint8_t *> self.dict_kinds.data)[dict_row] = kind
        self.stack.count = first
        return -1 if self.error else 0

    cdef int kind_of(self, Value **by_field) noexcept nogil:
        if by_field[F_ACTION] != NULL:
            return EVENT
        if by_field[F_BLOCKS] != NULL:
            return SEGMENT
        if by_field[F_FILENAME] != NULL:
            return FRAME
        if by_field[F_STATE] != NULL and by_field[F_SIZE] != NULL:
            return BLOCK
        if by_field[F_REAL_SIZE] != NULL:
            return HISTORY
        if by_field[F_STAGE] != NULL:
            return ANNOTATION
        if by_field[F_SEGMENTS] != NULL or by_field[F_DEVICE_TRACES] != NULL:
            return ROOT
        if by_field[F_NN_MODULE_STACK] != NULL:
            return NODE_INFO
        return OTHER_DICT

    cdef int likely_kind_of(self, Value **by_field) noexcept nogil:
        """Return the likely kind of a dict that lacks the key by which it would be recognised."""
        if by_field[F_TOTAL_SIZE] != NULL or by_field[F_SEGMENT_TYPE] != NULL:
            return SEGMENT
        if by_field[F_ADDR] != NULL:
            return EVENT if by_field[F_SIZE] != NULL else HISTORY
        if by_field[F_LINE] != NULL and by_field[F_NAME] != NULL:
            return FRAME
        if by_field[F_STATE] != NULL or (by_field[F_SIZE] != NULL and (
            by_field[F_ADDRESS] != NULL or by_field[F_REQUESTED_SIZE] != NULL
        )):
            return BLOCK
        if by_field[F_NAME] != NULL and by_field[F_TIME_US] != NULL:
            return ANNOTATION
        if by_field[F_HOST_TRACES] != NULL or by_field[F_HOST_SEGMENTS] != NULL:
            return ROOT
        if by_field[F_ALLOCATOR_SETTINGS] != NULL and by_field[F_EXTERNAL_ANNOTATIONS] != NULL:
            return ROOT
        return OTHER_DICT

    cdef void set_event(self, size_t dict_row, Value **by_field) noexcept nogil:
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
        if by_field[F_ACTION] != NULL or fresh:
            row.action = <uint8_t> self.name_of(&self.actions, self.text(EVENT, F_ACTION, by_field[F_ACTION]))
        if by_field[F_ADDR] != NULL:
            row.addr = self.address(EVENT, F_ADDR, by_field[F_ADDR])
        if by_field[F_SIZE] != NULL:
            row.size = self.size_of(EVENT, F_SIZE, by_field[F_SIZE])
        if by_field[F_TIME_US] != NULL:
            row.time_us = self.time_of(EVENT, by_field[F_TIME_US])
        if by_field[F_FRAMES] != NULL:
            row.stack = self.frames_of(EVENT, by_field[F_FRAMES])
        if by_field[F_FORWARD_FRAMES] != NULL:
            row.stack = self.with_forward(EVENT, row.stack, by_field[F_FORWARD_FRAMES])
        if by_field[F_STREAM] != NULL:
            row.stream = self.stream(EVENT, by_field[F_STREAM])
        if by_field[F_POOL_ID] != NULL:
            row.pool = self.pool(EVENT, F_POOL_ID, by_field[F_POOL_ID])
        value = by_field[F_CATEGORY]
        if value != NULL:
            row.category = <uint8_t> self.name_of(&self.categories, self.text(EVENT, F_CATEGORY, value))
        value = by_field[F_DEVICE_FREE]
        if value != NULL:
            number.kind = INT
            number.payload = <uint64_t> self.size_of(EVENT, F_DEVICE_FREE, value)
            if <int64_t> number.payload >= 0:
                self.add_extra(at, F_DEVICE_FREE, &number)
        value = by_field[F_USER_METADATA]
        if value != NULL and self.text(EVENT, F_USER_METADATA, value) != self.empty_string:
            self.add_extra(at, F_USER_METADATA, value)
        value = by_field[F_COMPILE_CONTEXT]
        if value != NULL and self.text(EVENT, F_COMPILE_CONTEXT, value) != self.empty_string:
            if value.payload != self.na_string:
                self.add_extra(at, F_COMPILE_CONTEXT, value)

    cdef void set_frame(self, size_t dict_row, Value **by_field) noexcept nogil:
        cdef FrameRow row
        cdef int64_t line, id
        cdef size_t info
        cdef Value *value
        if (<uint8_t *> self.dict_kinds.data)[dict_row] == FRAME:
            return      # a frame is complete with its first items; later ones are ignored
        row.line = 0
        if by_field[F_LINE] != NULL:
            if is_whole(by_field[F_LINE], &line) and 0 <= line < 0x7FFFFFFF:
                row.line = <int32_t> line
            else:
                self.count_odd(FRAME, F_LINE, by_field[F_LINE])
        row.file = self.text(FRAME, F_FILENAME, by_field[F_FILENAME])
        row.name = self.text(FRAME, F_NAME, by_field[F_NAME])
        row.fx_name = self.optional_text(FRAME, F_FX_NODE_NAME, by_field[F_FX_NODE_NAME])
        row.fx_trace = self.optional_text(FRAME, F_FX_ORIGINAL_TRACE, by_field[F_FX_ORIGINAL_TRACE])
        row.fx_op = self.optional_text(FRAME, F_FX_NODE_OP, by_field[F_FX_NODE_OP])
        row.fx_target = self.optional_text(FRAME, F_FX_NODE_TARGET, by_field[F_FX_NODE_TARGET])
        # a text, or a dict, of which only the modules are kept
        value = by_field[F_FX_NODE_INFO]
        row.fx_info = <uint32_t> value.payload + 1 if value != NULL and value.kind == STRING else 0
        row.fx_modules = 0
        if by_field[F_FX_NODE_INFO] != NULL and by_field[F_FX_NODE_INFO].kind == DICT:
            info = by_field[F_FX_NODE_INFO].payload
            if (<uint8_t *> self.dict_kinds.data)[info] == NODE_INFO:
                row.fx_modules = (<uint32_t *> self.dict_rows.data)[info]
        row.forward = 0
        id = self.frame_of(&row)
        if id >= 0:
            (<uint32_t *> self.dict_rows.data)[dict_row] = <uint32_t> id
        # dicts within the frame have higher rows than it; drop their pairs, to leave room for those of settings
        while self.pairs.count and (<PairRow *> self.pairs.data)[self.pairs.count - 1].dict > dict_row:
            self.pairs.count -= 1

    cdef bint set_module_stack(self, size_t dict_row, size_t first, size_t end) noexcept nogil:
        """Return whether the items are those of an ``nn_module_stack``, ``{key: (path, type)}``, and set its row if so.

        Source: ``torch/_dynamo/symbolic_convert.py`` makes it, outermost module first; ``torch.export``, and whatever
        else pickles it, replaces the type by its name.
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
        """Return the row of the module stack in a dict, or in a text as ``torch.export`` saves it; 0 for other values.
        """
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

    cdef uint32_t with_forward(self, int kind, uint32_t stack, Value *value) noexcept nogil:
        """Return a stack whose outer frames are the lines of ``forward_frames``: the code whose gradients it computes.

        These are in the format of ``traceback.format_list``, the outermost first.
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
            return stack    # combinations of long stacks could fill memory: keep the stack without the forward frames
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

    cdef void set_block(self, size_t dict_row, Value **by_field) noexcept nogil:
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
        if by_field[F_ADDRESS] != NULL:
            row.address = self.address(BLOCK, F_ADDRESS, by_field[F_ADDRESS])
            row.has_address = row.address != NO_ADDRESS
        if by_field[F_SIZE] != NULL:
            row.size = self.size_of(BLOCK, F_SIZE, by_field[F_SIZE])
        if by_field[F_STATE] != NULL:
            row.state = self.text(BLOCK, F_STATE, by_field[F_STATE])
        if by_field[F_FRAMES] != NULL:
            row.stack = self.frames_of(BLOCK, by_field[F_FRAMES])
        if by_field[F_FORWARD_FRAMES] != NULL:
            row.stack = self.with_forward(BLOCK, row.stack, by_field[F_FORWARD_FRAMES])
        value = by_field[F_HISTORY]
        if value != NULL and value.kind == LIST and self.rows_kind(value.payload) == HISTORY:
            # torch 2.0: the newest allocation in the block comes first
            first = (<uint32_t *> self.list_vector(value.payload).data)[0]
            history = &(<HistoryRow *> self.histories.data)[first]
            if row.stack == 0:
                row.stack = history.stack
            row.requested = history.real_size
            if row.has_address == 0 and history.has_address:
                row.address = history.addr
                row.has_address = OF_HISTORY
        elif value != NULL and (
            value.kind != LIST or (<uint8_t *> self.list_kinds.data)[value.payload] != EMPTY_LIST
        ):
            self.count_odd(BLOCK, F_HISTORY, value)
        if by_field[F_REQUESTED_SIZE] != NULL:
            row.requested = self.size_of(BLOCK, F_REQUESTED_SIZE, by_field[F_REQUESTED_SIZE])

    cdef void set_history(self, size_t dict_row, Value **by_field) noexcept nogil:
        cdef bint fresh = (<uint8_t *> self.dict_kinds.data)[dict_row] != HISTORY
        cdef int64_t at = self.row_of(dict_row, HISTORY, &self.histories)
        cdef HistoryRow *row
        if at < 0:
            return
        row = &(<HistoryRow *> self.histories.data)[at]
        if fresh:
            row.real_size = -1
        if by_field[F_ADDR] != NULL:
            row.addr = self.address(HISTORY, F_ADDR, by_field[F_ADDR])
            row.has_address = row.addr != NO_ADDRESS
        if by_field[F_REAL_SIZE] != NULL:
            row.real_size = self.size_of(HISTORY, F_REAL_SIZE, by_field[F_REAL_SIZE])
        if by_field[F_FRAMES] != NULL:
            row.stack = self.frames_of(HISTORY, by_field[F_FRAMES])

    cdef void set_segment(self, size_t dict_row, Value **by_field) noexcept nogil:
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
        if by_field[F_DEVICE] != NULL:
            row.device = self.device(SEGMENT, by_field[F_DEVICE])
        if by_field[F_ADDRESS] != NULL:
            row.address = self.address(SEGMENT, F_ADDRESS, by_field[F_ADDRESS])
        if by_field[F_TOTAL_SIZE] != NULL:
            row.total = self.size_of(SEGMENT, F_TOTAL_SIZE, by_field[F_TOTAL_SIZE])
        if by_field[F_ALLOCATED_SIZE] != NULL:
            row.allocated = self.size_of(SEGMENT, F_ALLOCATED_SIZE, by_field[F_ALLOCATED_SIZE])
        if by_field[F_ACTIVE_SIZE] != NULL:
            row.active = self.size_of(SEGMENT, F_ACTIVE_SIZE, by_field[F_ACTIVE_SIZE])
        if by_field[F_REQUESTED_SIZE] != NULL:
            row.requested = self.size_of(SEGMENT, F_REQUESTED_SIZE, by_field[F_REQUESTED_SIZE])
        if by_field[F_STREAM] != NULL:
            row.stream = self.stream(SEGMENT, by_field[F_STREAM])
        if by_field[F_SEGMENT_TYPE] != NULL:
            row.type = self.text(SEGMENT, F_SEGMENT_TYPE, by_field[F_SEGMENT_TYPE])
        if by_field[F_SEGMENT_POOL_ID] != NULL:
            row.pool = self.pool(SEGMENT, F_SEGMENT_POOL_ID, by_field[F_SEGMENT_POOL_ID])
        value = by_field[F_IS_EXPANDABLE]
        if value != NULL:
            if (value.kind == BOOL or value.kind == INT) and value.payload <= 1:
                row.expandable = value.payload != 0
            else:
                self.count_odd(SEGMENT, F_IS_EXPANDABLE, value)
        if by_field[F_FRAMES] != NULL:
            row.stack = self.frames_of(SEGMENT, by_field[F_FRAMES])
        value = by_field[F_BLOCKS]
        if value != NULL:
            if value.kind == LIST:
                row.blocks = <uint32_t> value.payload
            if value.kind != LIST or (
                self.rows_kind(value.payload) != BLOCK
                and (<uint8_t *> self.list_kinds.data)[value.payload] != EMPTY_LIST
            ):
                self.count_odd(SEGMENT, F_BLOCKS, value)

    cdef void set_annotation(self, size_t dict_row, Value **by_field) noexcept nogil:
        cdef int64_t at = self.row_of(dict_row, ANNOTATION, &self.annotations)
        cdef AnnotationRow *row
        if at < 0:
            return
        row = &(<AnnotationRow *> self.annotations.data)[at]
        if by_field[F_STAGE] != NULL:
            row.stage = self.text(ANNOTATION, F_STAGE, by_field[F_STAGE])
        if by_field[F_NAME] != NULL:
            row.name = self.text(ANNOTATION, F_NAME, by_field[F_NAME])
        if by_field[F_DEVICE] != NULL:
            row.device = self.device(ANNOTATION, by_field[F_DEVICE])
        if by_field[F_TIME_US] != NULL:
            row.time_us = self.time_of(ANNOTATION, by_field[F_TIME_US])
