# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Turns a PyTorch snapshot's lists of frames into interned stacks, and its other lists into lists of rows."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.string cimport memcpy

from memlens.kernels.base.interning cimport interner_init, interner_free, intern_hashed, intern_units, units_code
from memlens.kernels.base.vectors cimport Vector, vector_init, vector_push, vector_push_u32, vector_reserve
from memlens.kernels.readers.pickle_machine cimport (
    DICT, EMPTY_DICT, EMPTY_LIST, E_NO_MEMORY, E_TOO_MANY, INT, LIST, MAX_ROWS, ROW_REF, RUN, STRING, Value,
)
from memlens.packs.pytorch.kernels.torch_tables cimport *

cdef enum:
    # bytes of the runs that are remembered: more than any known file's stacks need, and little beside the file itself
    MAX_RUN_BYTES = 1 << 25

cdef uint32_t NO_STACK = ~<uint32_t> 0


cdef class Lists(Dicts):
    """The machine that recognises lists by their items."""

    def __cinit__(self, const uint8_t[::1] data):
        self.own(&self.run_stacks, 4)
        self.own_interner(&self.runs, 1, self.stacks.seed)

    # ---- lists of rows ----

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
        """Append those of mixed items that are of the list's kind, and count the others.

        An empty list takes the kind of the first dict that is a row of a table; without one it becomes a list of lists.
        """
        cdef Value *values = <Value *> self.stack.data
        cdef uint8_t wanted = EMPTY_DICT, item_kind
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
                item_kind = self.table_of(&values[index])
                if EMPTY_DICT < item_kind < OTHER_DICT:
                    wanted = item_kind
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
            # devices are identified by their positions among the lists, so an item that isn't a list keeps its position
            for index in range(first, end):
                if values[index].kind != LIST:
                    values[index].payload = NO_LIST
            return self.fill_rows(list_row, kind, LISTS, first, end, False)
        (<uint8_t *> self.list_kinds.data)[list_row] = OTHER_LIST
        return 0

    cdef uint8_t table_of(self, Value *value) noexcept nogil:
        """Return the kind of the dict that a value is, or EMPTY_DICT for any other value."""
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
            if vector_push_u32(vector, row) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
        return 0

    # ---- stacks ----

    cdef size_t list_run(self, size_t at) noexcept nogil:
        """Read a whole stack at once: references to frames up to APPENDS, for the empty list on top of the stack.

        Returns the offset of the end of APPENDS, or 0 on error or if the items are something else; these are then left
        to the machine, opcode by opcode.
        """
        cdef size_t end = self.run_end(at)
        cdef Value *top
        if end == 0 or self.stack.count == 0:
            return 0
        top = &(<Value *> self.stack.data)[self.stack.count - 1]
        if top.kind != LIST or (<uint8_t *> self.list_kinds.data)[top.payload] != EMPTY_LIST:
            return 0
        if self.forget_stale_runs() < 0:
            return 0
        if self.set_run(at, end - at, units_code(&self.runs, self.data + at, end - at), top.payload) < 0:
            return 0
        return end + 1

    cdef size_t run_end(self, size_t at) noexcept nogil:
        """Return the offset of APPENDS after the references at ``at``; 0 if it or they are missing, or are too many."""
        cdef const uint8_t *data = self.data
        cdef size_t length = self.length
        cdef size_t begin = at
        cdef size_t depth = 0
        while length - at >= 40 and depth < RUN - 8 and (
            (data[at] ^ 0x6A) | (data[at + 5] ^ 0x6A) | (data[at + 10] ^ 0x6A) | (data[at + 15] ^ 0x6A)
            | (data[at + 20] ^ 0x6A) | (data[at + 25] ^ 0x6A) | (data[at + 30] ^ 0x6A) | (data[at + 35] ^ 0x6A)
        ) == 0:
            # eight LONG_BINGETs, as of most frames
            at += 40
            depth += 8
        while depth < RUN and length - at >= 5:
            if data[at] == 0x6A:                                    # LONG_BINGET
                at += 5
            elif data[at] == 0x68:                                  # BINGET
                at += 2
            else:
                break
            depth += 1
        return at if at > begin and at < length and data[at] == 0x65 else 0

    cdef int set_run(self, size_t begin, size_t run_bytes, uint32_t code, size_t list_row) noexcept nogil:
        """Turn an empty list into the stack of the references at ``begin``, whose hash is ``code``.

        Almost all bytes of a snapshot are such runs, and most repeat an earlier one byte for byte; these are looked up
        by their bytes. Returns -1 on error, or if not all references are to frames.
        """
        cdef int64_t run = intern_hashed(&self.runs, self.data + begin, run_bytes, code)
        cdef uint32_t *stacks
        if run < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        if <size_t> run == self.run_stacks.count and vector_push(&self.run_stacks, &NO_STACK) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        stacks = <uint32_t *> self.run_stacks.data
        if stacks[run] == NO_STACK:
            if self.read_run(begin, begin + run_bytes, list_row) < 0:
                return -1
            stacks[run] = (<uint32_t *> self.list_payloads.data)[list_row]
        else:
            self.become_stack(list_row, stacks[run])
        self.last_run = begin
        self.last_run_bytes = run_bytes
        self.last_run_stack = stacks[run]
        return 0

    cdef inline void become_stack(self, size_t list_row, uint32_t stack) noexcept nogil:
        """Turn a list into a stack that has a number."""
        (<uint8_t *> self.list_kinds.data)[list_row] = FRAMES
        (<uint32_t *> self.list_payloads.data)[list_row] = stack

    cdef int set_stack(self, size_t list_row, size_t depth) noexcept nogil:
        """Turn a list into the stack of the first ``depth`` frames in ``sequence``."""
        cdef int64_t id
        if self.stacks.units.count > self.length + MAX_PAIRS_KEPT * 100:
            # a stack that grows frame by frame is kept at every length; no real file's stacks are larger than the file
            return self.fail_with(E_TOO_MANY, 0)
        id = intern_units(&self.stacks, self.sequence.data, depth)
        if id < 0 or id > MAX_ROWS:
            return self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
        self.become_stack(list_row, <uint32_t> id)
        return 0

    cdef int read_run(self, size_t at, size_t end, size_t list_row) noexcept nogil:
        """Turn a list into the stack of the frames that data[at:end] refers to; -1 if not all of these are frames."""
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

    cdef int forget_stale_runs(self) noexcept nogil:
        """Forget the runs that were read if they are too many, or if entries of the memo may have been overwritten."""
        cdef uint64_t seed = self.runs.seed
        if self.runs.units.count <= MAX_RUN_BYTES and self.runs_memo_changes == self.memo_changes:
            return 0
        interner_free(&self.runs)
        self.run_stacks.count = 0
        self.last_run_bytes = 0
        self.runs_memo_changes = self.memo_changes
        if interner_init(&self.runs, 1, seed) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return 0
