# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the events of a PyTorch snapshot in batches.

A large file consists almost entirely of events that are written alike: dicts whose keys are references, and whose
values are integers, references, short texts, or lists of references to frames. Such events are read straight into
rows, without the machine's stack, and the stacks of a batch are looked up together, so that their waits for memory
overlap.

An event that differs in any way (an odd value, a rare field, another opcode) is left to the machine from its first
byte on, and whatever was appended for it is removed. Entries of the memo, lists and dicts get the same numbers as the
machine would assign, so that what follows doesn't depend on how an event was read.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int64_t
from libc.string cimport memcmp, memset

from memlens.kernels.base.interning cimport prefetch_item, prefetch_slot, units_code
from memlens.kernels.base.large_pages cimport reserve_large
from memlens.kernels.readers.pickle_machine cimport (
    BOXED, BYTES_PER_ITEM, DICT, EMPTY_LIST, E_NO_MEMORY, INT, LIST, MAX_ROWS, MAX_STACK, NONE, STRING, Value,
    plain_value,
)
from memlens.packs.pytorch.kernels.torch_tables cimport *

cdef enum:
    # bytes of the longest key and value, except for texts and stacks, which check how much of the file is left
    LONGEST_ITEM = 32
    # the most entries that an event may add to the memo
    MOST_MEMOS = 8
    MOST_LISTS = 3


cdef class Events(Lists):
    """The machine that also reads events in batches."""

    cdef size_t dict_run(self, size_t at) noexcept nogil:
        cdef size_t count = 0, index, end
        if not self.begins_event(at) or self.make_room() < 0:
            return 0
        self.before = self.last_run
        self.before_bytes = self.last_run_bytes
        while count < BATCH:
            end = self.event_at(at, &self.batch[count])
            if end == 0:
                break
            at = end
            count += 1
        for index in range(count):
            if self.batch[index].run_bytes and not self.batch[index].repeats:
                prefetch_item(&self.runs, self.batch[index].run_code)
        for index in range(count):
            if self.add_event(&self.batch[index]) < 0:
                self.undo(&self.batch[index])
                return self.batch[index].begin if index else 0
        return at if count else 0

    cdef bint begins_event(self, size_t at) noexcept nogil:
        """Return whether a dict starts with a reference to the key by which events are recognised."""
        cdef Value key
        if self.length - at < LONGEST_ITEM or self.data[at + 1] != 0x94 or self.data[at + 2] != 0x28:
            return False
        key.kind = NONE
        plain_value(self.data, at + 3, <uint32_t *> self.memo.data, self.memo.count, &key)
        return key.kind == STRING and (<uint8_t *> self.fields.data)[key.payload] == F_ACTION

    cdef int make_room(self) noexcept nogil:
        """Make room for everything that a batch of events appends; -1 if out of memory or above the limits."""
        if self.stack.count + BATCH > MAX_STACK + self.length // BYTES_PER_ITEM or self.events.count + BATCH > MAX_ROWS:
            return -1
        if self.list_kinds.count + BATCH * MOST_LISTS > MAX_ROWS or self.dict_kinds.count + BATCH > MAX_ROWS:
            return -1
        if (
            reserve_large(&self.stack, self.stack.count + BATCH) < 0
            or reserve_large(&self.memo, self.memo.count + BATCH * MOST_MEMOS) < 0
            or reserve_large(&self.list_kinds, self.list_kinds.count + BATCH * MOST_LISTS) < 0
            or reserve_large(&self.list_payloads, self.list_payloads.count + BATCH * MOST_LISTS) < 0
            or reserve_large(&self.dict_kinds, self.dict_kinds.count + BATCH) < 0
            or reserve_large(&self.dict_rows, self.dict_rows.count + BATCH) < 0
            or reserve_large(&self.events, self.events.count + BATCH) < 0
        ):
            return self.fail_with(E_NO_MEMORY, 0)
        return self.forget_stale_runs()

    # ---- reading ----

    cdef size_t event_at(self, size_t at, ReadEvent *event) noexcept nogil:
        """Read an event. Returns the offset of its end, or 0 if it is something else, of which nothing is kept."""
        cdef const uint8_t *data = self.data
        cdef size_t dict_row = self.dict_kinds.count
        if self.length - at < LONGEST_ITEM or data[at] != 0x7D or data[at + 1] != 0x94 or data[at + 2] != 0x28:
            return 0
        memset(event, 0, sizeof(ReadEvent))
        event.begin = at
        event.memos = self.memo.count
        event.lists = self.list_kinds.count
        event.dicts = dict_row
        event.addr = NO_ADDRESS
        event.size = -1
        event.frames = -1
        (<uint8_t *> self.dict_kinds.data)[dict_row] = EVENT
        self.dict_kinds.count += 1
        self.dict_rows.count += 1
        self.add_memo(DICT, dict_row)
        at = self.items_at(at + 3, event)
        if at == 0:
            self.undo(event)
        return at

    cdef size_t items_at(self, size_t at, ReadEvent *event) noexcept nogil:
        """Read an event's items. Returns the offset of the end of SETITEMS, or 0 if the event differs from most."""
        cdef const uint8_t *data = self.data
        cdef Value key, value
        cdef int field
        while self.length - at >= LONGEST_ITEM:
            if data[at] == 0x75:                                    # SETITEMS
                return at + 1 if event.action else 0
            if self.memo.count - event.memos == MOST_MEMOS or self.list_kinds.count - event.lists == MOST_LISTS:
                return 0
            key.kind = NONE
            at = plain_value(data, at, <uint32_t *> self.memo.data, self.memo.count, &key)
            if key.kind != STRING:
                return 0
            field = (<uint8_t *> self.fields.data)[key.payload]
            if field == F_FRAMES:
                at = self.frames_at(at, event)
            elif field == F_POOL_ID:
                at = self.pool_at(at, event)
            else:
                at = self.value_at(at, &value)
                if at and not self.set_field(field, &value, event):
                    return 0
            if at == 0:
                return 0
        return 0

    cdef size_t value_at(self, size_t at, Value *value) noexcept nogil:
        """Read a plain value or a short text. Returns the offset of its end, or 0 if it is neither."""
        cdef size_t end
        if self.data[at] == 0x8C:                                   # SHORT_BINUNICODE
            return self.text_at(at, value)
        end = plain_value(self.data, at, <uint32_t *> self.memo.data, self.memo.count, value)
        return end if end != at and value.kind != BOXED else 0

    cdef size_t text_at(self, size_t at, Value *value) noexcept nogil:
        """Read a short text that is memoized. Returns the offset of its end, or 0 if it isn't memoized."""
        cdef size_t count = self.data[at + 1]
        cdef int64_t id
        if self.length - at < count + 3 or self.data[at + 2 + count] != 0x94:
            return 0
        id = self.intern_string(self.data + at + 2, count)
        if id < 0:
            return 0
        value.kind = STRING
        value.payload = <uint64_t> id
        self.add_memo(STRING, value.payload)
        return at + count + 3

    cdef size_t pool_at(self, size_t at, ReadEvent *event) noexcept nogil:
        """Read a pool: a pair of integers that is memoized, or a reference to one. Returns the offset of its end, or 0.
        """
        cdef const uint8_t *data = self.data
        cdef const uint32_t *memo = <uint32_t *> self.memo.data
        cdef Value first, second
        cdef int64_t pool
        first.kind = second.kind = NONE
        at = plain_value(data, at, memo, self.memo.count, &first)
        if first.kind == LIST and (<uint8_t *> self.list_kinds.data)[first.payload] == PAIR:
            event.pool = (<uint32_t *> self.list_payloads.data)[first.payload]
            return at
        if first.kind != INT:
            return 0
        at = plain_value(data, at, memo, self.memo.count, &second)
        if second.kind != INT or data[at] != 0x86 or data[at + 1] != 0x94:     # TUPLE2, MEMOIZE
            return 0
        pool = self.pool_of(<int64_t> first.payload, <int64_t> second.payload)
        if pool < 0:
            return 0
        event.pool = <uint32_t> pool
        self.add_memo(LIST, self.add_list(PAIR, event.pool))
        return at + 2

    cdef size_t frames_at(self, size_t at, ReadEvent *event) noexcept nogil:
        """Read a list of references to frames, or a reference to such a list. Returns the offset of its end, or 0."""
        cdef const uint8_t *data = self.data
        cdef Value value
        cdef size_t end
        value.kind = NONE
        value.payload = 0
        if event.frames >= 0:
            return 0
        if data[at] != 0x5D:                                        # EMPTY_LIST
            end = plain_value(data, at, <uint32_t *> self.memo.data, self.memo.count, &value)
            event.frames = <int64_t> value.payload
            return end if value.kind == LIST else 0
        if data[at + 1] != 0x94:
            return 0
        event.frames = self.add_list(EMPTY_LIST, 0)
        self.add_memo(LIST, <uint64_t> event.frames)
        at += 2
        if data[at] == 0x28:                                        # MARK
            return self.run_at(at + 1, event)
        end = plain_value(data, at, <uint32_t *> self.memo.data, self.memo.count, &value)
        if data[end] != 0x61:                                       # APPEND
            return at
        if data[at] != 0x6A and data[at] != 0x68:
            return 0
        self.set_event_run(at, end - at, event)
        return end + 1

    cdef size_t run_at(self, size_t at, ReadEvent *event) noexcept nogil:
        """Read the references in a list up to its APPENDS. Returns the offset of the end of APPENDS, or 0."""
        cdef const uint8_t *data = self.data
        cdef size_t end
        if self.length - at > self.before_bytes > 0 and data[at + self.before_bytes] == 0x65:
            # free_requested and free_completed follow one another and have the same stack
            if memcmp(data + at, data + self.before, self.before_bytes) == 0:
                event.run_bytes = self.before_bytes
                event.repeats = True
                return at + self.before_bytes + 1
        end = self.run_end(at)
        if end == 0:
            return 0
        self.set_event_run(at, end - at, event)
        return end + 1

    cdef void set_event_run(self, size_t begin, size_t run_bytes, ReadEvent *event) noexcept nogil:
        """Remember the references at ``begin``, to be looked up with those of the rest of the batch."""
        event.run = self.before = begin
        event.run_bytes = self.before_bytes = run_bytes
        event.run_code = units_code(&self.runs, self.data + begin, run_bytes)
        prefetch_slot(&self.runs, event.run_code)

    cdef bint set_field(self, int field, Value *value, ReadEvent *event) noexcept nogil:
        """Set a field, and return whether its value is like those of most events."""
        cdef int64_t number = <int64_t> value.payload
        if field == F_ACTION and value.kind == STRING:
            event.action = <uint32_t> value.payload
        elif field == F_ADDR and value.kind == INT and value.payload != NO_ADDRESS:
            event.addr = value.payload
        elif field == F_SIZE and value.kind == INT and 0 <= number <= MAX_SIZE:
            event.size = number
        elif field == F_TIME_US and value.kind == INT and 0 <= number <= MAX_TIME:
            event.time_us = number
        elif field == F_STREAM and value.kind == INT:
            event.stream = value.payload
        elif field == F_CATEGORY and value.kind == STRING:
            event.category = <uint32_t> value.payload
        elif field == F_USER_METADATA and value.kind == STRING:
            return value.payload == self.empty_string
        elif field == F_COMPILE_CONTEXT and value.kind == STRING:
            return value.payload == self.empty_string or value.payload == self.na_string
        else:
            # unknown keys are ignored
            return field == F_NONE
        return True

    cdef uint32_t add_list(self, uint8_t kind, uint32_t payload) noexcept nogil:
        """Append a list, for which there is room."""
        cdef size_t row = self.list_kinds.count
        (<uint8_t *> self.list_kinds.data)[row] = kind
        (<uint32_t *> self.list_payloads.data)[row] = payload
        self.list_kinds.count = self.list_payloads.count = row + 1
        return <uint32_t> row

    cdef void add_memo(self, uint64_t kind, uint64_t payload) noexcept nogil:
        """Add an entry to the memo, for which there is room."""
        (<uint32_t *> self.memo.data)[self.memo.count] = <uint32_t> (kind << 28 | payload)
        self.memo.count += 1

    # ---- rows ----

    cdef int add_event(self, ReadEvent *event) noexcept nogil:
        """Append the row of an event. Returns -1 on error, or if the machine has to read the event instead."""
        cdef size_t row = self.events.count, top = self.stack.count
        cdef EventRow *made = &(<EventRow *> self.events.data)[row]
        cdef int64_t stack = self.stack_of(event)
        if stack < 0:
            return -1
        memset(made, 0, sizeof(EventRow))
        made.addr = event.addr
        made.size = event.size
        made.time_us = event.time_us
        made.stack = <uint32_t> stack
        made.stream = <uint16_t> self.stream_of(event.stream)
        made.pool = <uint16_t> event.pool
        made.action = <uint8_t> self.name_of(&self.actions, event.action)
        made.category = <uint8_t> self.name_of(&self.categories, event.category)
        (<uint32_t *> self.dict_rows.data)[event.dicts] = <uint32_t> row
        self.events.count = row + 1
        (<Value *> self.stack.data)[top].kind = DICT
        (<Value *> self.stack.data)[top].payload = event.dicts
        self.stack.count = top + 1
        return -1 if self.error else 0

    cdef int64_t stack_of(self, ReadEvent *event) noexcept nogil:
        """Return the stack of an event; -1 on error, or if its frames aren't a list of frames."""
        cdef size_t list_row = <size_t> event.frames
        cdef uint8_t kind
        if event.frames < 0:
            return 0
        if event.repeats:
            self.become_stack(list_row, self.last_run_stack)
        elif event.run_bytes and self.set_run(event.run, event.run_bytes, event.run_code, list_row) < 0:
            return -1
        kind = (<uint8_t *> self.list_kinds.data)[list_row]
        if kind == FRAMES:
            return (<uint32_t *> self.list_payloads.data)[list_row]
        return 0 if kind == EMPTY_LIST else -1

    cdef void undo(self, ReadEvent *event) noexcept nogil:
        """Remove what was appended for an event and for those after it."""
        self.memo.count = event.memos
        self.list_kinds.count = self.list_payloads.count = event.lists
        self.dict_kinds.count = self.dict_rows.count = event.dicts
