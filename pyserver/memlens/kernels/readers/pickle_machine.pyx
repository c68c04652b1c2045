# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads a pickle as plain data. Nothing in it is executed.

A pickle is a program for a small stack machine. This is that machine for plain data only (the opcodes of protocols
2 to 5 that build None, bool, int, float, str, bytes, list, tuple, dict and set); any opcode that could import or call
something ends the run, which reports its number and offset. The stack holds tagged numbers instead of Python objects:
strings are interned, lists and dicts are rows, and a reader (a subclass) decides what they become as soon as their
items are set. Tuples are treated as lists.

Source: the opcodes are those of ``pickletools``.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from memlens.kernels.base.interning cimport interner_text, intern_units
from memlens.kernels.base.vectors cimport vector_reserve, vector_push, vector_free

import os

# why a run ended; formats/ has the messages
OK, MORE, TRUNCATED, FORBIDDEN, UNKNOWN_OPCODE, UNDERFLOW, BAD_MEMO, NO_MEMORY, BAD_FIELD, TOO_DEEP, \
    ABSURD_LENGTH, TOO_MANY = range(12)

STRING_KIND, INTEGER_KIND = STRING, INT

cdef enum:
    MAX_MARKS = 1_000
    MAX_BOXES = 1_000_000

cdef uint32_t UNSET = ~<uint32_t> 0     # an entry of the memo that was never stored


cdef bint forbidden(uint8_t op) noexcept nogil:
    """Return whether an opcode imports or calls something, or needs something from outside the file."""
    # GLOBAL, STACK_GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, NEWOBJ_EX, EXT1, EXT2, EXT4, PERSID, BINPERSID,
    # NEXT_BUFFER, READONLY_BUFFER
    return op in (
        0x63, 0x93, 0x52, 0x62, 0x69, 0x6F, 0x81, 0x92, 0x82, 0x83, 0x84, 0x50, 0x51, 0x97, 0x98
    )


cdef class Machine(Scan):
    """Runs ``data`` (the whole pickle, usually a mapped file) in steps."""

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        self.root_kind = NONE
        self.own(&self.stack, sizeof(Value))
        self.own(&self.marks, sizeof(size_t))
        self.own(&self.memo, 4)
        self.own(&self.boxes, sizeof(Value))
        self.own(&self.list_kinds, 1)
        self.own(&self.list_payloads, 4)
        self.own(&self.dict_kinds, 1)
        self.own(&self.dict_rows, 4)
        self.own(&self.pairs, sizeof(PairRow))
        self.own(&self.fields, 1)
        self.own_interner(&self.strings, 1, seed)
        # id 0 is the empty string
        self.intern_string(b"", 0)

    cdef void free_scratch(self) noexcept nogil:
        """Free what only the run needed."""
        vector_free(&self.stack)
        vector_free(&self.marks)
        vector_free(&self.memo)
        vector_free(&self.boxes)
        vector_free(&self.dict_kinds)
        vector_free(&self.dict_rows)

    # ---- what becomes of lists and dicts: defined by the reader ----

    cdef int set_items(self, size_t first, size_t end) noexcept nogil:
        """Set the key and value pairs in stack[first:end] on the dict below them and drop them."""
        return self.fail_with(E_UNDERFLOW, 0)

    cdef int fill_list(self, size_t list_row, size_t first, size_t end) noexcept nogil:
        """Append stack[first:end], which is not empty, to a list."""
        return self.fail_with(E_UNDERFLOW, 0)

    cdef size_t list_run(self, size_t at) noexcept nogil:
        """Read a whole list of references at once, from after its MARK to after its APPENDS.

        Returns the offset of its end, or 0 on error or if it is something else, of which nothing is read.
        """
        return 0

    cdef size_t dict_run(self, size_t at) noexcept nogil:
        """Read whole dicts that the reader knows, from ``at`` on, and push each as its opcodes would have.

        Returns the offset of their end, or 0 on error or if there is none.
        """
        return 0

    cdef size_t reader_opcode(self, uint8_t op, size_t at) noexcept nogil:
        """Read an opcode that the machine refuses, but that the reader's files need, as plain data.

        ``at`` is the offset after its byte. Returns the offset of its end, or 0 to refuse it.
        """
        return 0

    # ---- the stack and the memo ----

    cdef int64_t intern_string(self, const uint8_t *text, size_t length) noexcept nogil:
        cdef int64_t id = intern_units(&self.strings, text, length)
        cdef uint8_t field = 0
        if id < 0 or id > MAX_ROWS:
            return self.fail_with(E_NO_MEMORY if id < 0 else E_TOO_MANY, 0)
        if <size_t> id == self.fields.count and vector_push(&self.fields, &field) < 0:
            return self.fail_with(E_NO_MEMORY, 0)
        return id

    cdef int fail_with(self, int error, int detail) noexcept nogil:
        if self.error == E_OK:
            self.error = error
            self.error_detail = detail
        return -1

    cdef int push(self, uint64_t kind, uint64_t payload) noexcept nogil:
        cdef Value value
        cdef size_t count = self.stack.count
        if count >= self.stack.room:
            if count >= MAX_STACK + self.length // BYTES_PER_ITEM:
                return self.fail_with(E_TOO_DEEP, 0)
            if vector_reserve(&self.stack, count + 1) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
        value.kind = kind
        value.payload = payload
        (<Value *> self.stack.data)[count] = value
        self.stack.count = count + 1
        return 0

    cdef size_t floor(self) noexcept nogil:
        """Return how far down the stack may be popped: to the last mark."""
        if self.marks.count:
            return (<size_t *> self.marks.data)[self.marks.count - 1]
        return 0

    cdef int64_t pop_mark(self) noexcept nogil:
        if self.marks.count == 0:
            return self.fail_with(E_UNDERFLOW, 0)
        self.marks.count -= 1
        return <int64_t> (<size_t *> self.marks.data)[self.marks.count]

    cdef int memoize(self, size_t index, size_t at) noexcept nogil:
        """Store the top of the stack in the memo under ``index``.

        Entries are numbered in order, so that no index can be larger than the number of bytes read.
        """
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
        else:
            self.memo_changes += 1
        top = &(<Value *> self.stack.data)[self.stack.count - 1]
        if top.kind >= STRING and top.kind <= ROW_REF:
            entry = <uint32_t> (top.kind << 28 | top.payload)
        else:
            if self.boxes.count >= MAX_BOXES:
                return self.fail_with(E_TOO_MANY, 0)
            entry = <uint32_t> (<uint64_t> BOXED << 28 | self.boxes.count)
            if vector_push(&self.boxes, top) < 0:
                return self.fail_with(E_NO_MEMORY, 0)
        (<uint32_t *> self.memo.data)[index] = entry
        return 0

    cdef size_t values_run(self, size_t at) noexcept nogil:
        """Push a run of references, integers, booleans and None. Returns the offset of its end, or 0 on error.

        Nearly all items of dicts are of these kinds, so they are pushed in one loop without a call for each. What the
        loop can't handle (the last bytes of the file, integers beyond 64 bits) is left to the code of the opcodes.
        """
        cdef const uint8_t *data = self.data
        cdef size_t length = self.length
        cdef const uint32_t *memo = <uint32_t *> self.memo.data
        cdef size_t memos = self.memo.count
        cdef Value *top
        cdef Value *end
        cdef uint32_t entry
        cdef size_t next_at
        cdef size_t begin = at
        if vector_reserve(&self.stack, self.stack.count + RUN) < 0:
            self.fail_with(E_NO_MEMORY, 0)
            return 0
        if self.stack.count > MAX_STACK + self.length // BYTES_PER_ITEM:
            self.fail_with(E_TOO_DEEP, 0)
            return 0
        top = &(<Value *> self.stack.data)[self.stack.count]
        end = top + RUN
        while top < end and length - at >= LONGEST_VALUE:
            next_at = plain_value(data, at, memo, memos, top)
            if next_at == at:
                break
            if top.kind == BOXED:
                entry = memo[top.payload] if top.payload < memos else UNSET
                if entry == UNSET:
                    self.fail_with(E_BAD_MEMO, 0)
                    return 0
                top[0] = (<Value *> self.boxes.data)[entry & MAX_ROWS]
            at = next_at
            top += 1
        self.stack.count = top - <Value *> self.stack.data
        return at if at != begin else self.last_reference(at)

    cdef size_t last_reference(self, size_t at) noexcept nogil:
        """Push the entry that a BINGET or LONG_BINGET near the end of the file refers to.

        Returns the offset of the opcode's end, or 0 on error.
        """
        cdef uint32_t index = 0
        cdef uint32_t entry
        cdef Value top
        cdef size_t width = 4 if self.data[at] == 0x6A else 1
        if self.length - at < width + 1:
            self.fail_with(E_TRUNCATED, 0)
            return 0
        memcpy(&index, self.data + at + 1, width)
        entry = (<uint32_t *> self.memo.data)[index] if index < self.memo.count else UNSET
        if entry == UNSET:
            self.fail_with(E_BAD_MEMO, 0)
            return 0
        if entry >> 28 == BOXED:
            top = (<Value *> self.boxes.data)[entry & MAX_ROWS]
            return at + width + 1 if self.push(top.kind, top.payload) == 0 else 0
        return at + width + 1 if self.push(entry >> 28, entry & MAX_ROWS) == 0 else 0

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

    cdef int tuple_of(self, size_t first) noexcept nogil:
        """Replace stack[first:] by a tuple, which is treated as a list."""
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

    # ---- the opcodes ----

    cdef int64_t read_length(self, size_t at, int width) noexcept nogil:
        """Return the length in the ``width`` bytes at ``at``, checked against what is left of the file; -1 on error."""
        cdef uint64_t length = 0
        if self.length - at < <size_t> width:
            return self.fail_with(E_TRUNCATED, 0)
        memcpy(&length, self.data + at, width)
        if length > self.length - at - width:
            # a length beyond that of the whole file is a damaged number, not a file that was cut off
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

    cdef int run_to(self, size_t limit) noexcept nogil:
        """Run opcodes until ``limit`` bytes have been read (E_MORE) or until STOP (E_OK); return any error."""
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
            # the most frequent opcodes of a snapshot come first
            if op == 0x68 or op == 0x6A:                            # BINGET, LONG_BINGET
                at = self.values_run(start)
                if at == 0:
                    break
            elif op == 0x94:                                        # MEMOIZE
                status = self.memoize(self.memo.count, at)
            elif op == 0x28:                                        # MARK
                if at < length and (data[at] == 0x68 or data[at] == 0x6A):
                    mark = self.list_run(at)
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
                mark = self.dict_run(start)
                if mark:
                    at = mark
                    continue
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
                count = self.read_length(at, <int> need)
                if count < 0:
                    break
                status = self.long_integer(at + need, <size_t> count)
                at += need + count
            elif op == 0x8C or op == 0x58 or op == 0x8D or op == 0x54 or op == 0x55:
                # SHORT_BINUNICODE, BINUNICODE, BINUNICODE8 and Python 2's BINSTRING, SHORT_BINSTRING
                need = 1 if op == 0x8C or op == 0x55 else 8 if op == 0x8D else 4
                count = self.read_length(at, <int> need)
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
                count = self.read_length(at, <int> need)
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
                at = self.reader_opcode(op, at)
                if at == 0:
                    self.fail_with(E_FORBIDDEN if forbidden(op) else E_UNKNOWN_OPCODE, op)
                    break
        self.position = start
        self.error_offset = start
        return self.error

    # ---- for Python ----

    def string_at(self, uint32_t row) -> str:
        return interner_text(&self.strings, row)

    def settings(self, uint32_t dict_row, bint nested=True) -> dict[str, Any]:
        """Return a dict of plain values that isn't a row of a table, such as ``allocator_settings``.

        The first few dicts in it are included, without dicts of their own.
        """
        cdef PairRow *pairs = <PairRow *> self.pairs.data
        cdef size_t index
        cdef double number
        cdef int dicts = 0
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
            elif kind == DICT and nested and dicts < 8:
                dicts += 1
                value = self.settings(<uint32_t> payload, False)
            else:
                continue
            result[self.string_at(pairs[index].key)] = value
        return result
