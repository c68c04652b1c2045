# The stack machine that reads pickles as plain data, for the kernels that turn this data into tables (see the .pyx).

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcpy

from memlens.kernels.base.interning cimport Interner
from memlens.kernels.base.vectors cimport Vector
from memlens.kernels.readers.scan cimport Scan

# the kinds of values on the machine's stack, and what the payload of each is
cdef enum:
    NONE        # 0
    BOOL        # 0 or 1
    INT         # int64
    UINT        # uint64 above int64's range
    FLOAT       # the bits of a double
    STRING      # string id
    LIST        # list row
    DICT        # dict row
    ROW_REF     # a number of the reader's own, for dicts that are referenced many times
    OTHER       # anything else, which is dropped: bytes, sets, integers beyond 64 bits

# why a run ended
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
    # the kinds of lists and dicts that the machine assigns; the reader's own are higher
    EMPTY_LIST = 0
    EMPTY_DICT = 0
    # row numbers are packed with a tag into 32 bits in the memo
    MAX_ROWS = 0x0FFFFFFF
    # Python's pickler batches a thousand items, others put a whole trace on the stack; but an item of a real
    # snapshot takes more than eight bytes of the file
    MAX_STACK = 4_000_000
    BYTES_PER_ITEM = 8
    # the most references that are read as one run
    RUN = 512
    # bytes of the longest opcode that plain_value reads
    LONGEST_VALUE = 10
    # memo tag of a value that doesn't fit into an entry, whose payload then is a row of self.boxes
    BOXED = 15

cdef struct Value:
    uint64_t payload
    uint64_t kind

cdef struct PairRow:
    # an item of a dict that doesn't become a row of a table
    uint64_t payload
    uint32_t dict
    uint32_t key
    uint32_t kind
    uint32_t unused

cdef inline size_t plain_value(
    const uint8_t *data, size_t at, const uint32_t *memo, size_t memos, Value *value
) noexcept nogil:
    """Read the reference, integer, boolean or None at ``at``; the caller ensures that LONGEST_VALUE bytes follow.

    Returns the offset of its end, or ``at`` if it is something else. A reference to a missing entry of the memo, or to
    a boxed value, gets the kind BOXED and the reference itself as its payload.
    """
    cdef uint32_t entry, index
    cdef uint64_t number
    cdef int32_t small
    cdef uint8_t op = data[at], width
    if op == 0x6A or op == 0x68:                                    # LONG_BINGET, BINGET
        if op == 0x6A:
            memcpy(&index, data + at + 1, 4)
            at += 5
        else:
            index = data[at + 1]
            at += 2
        entry = memo[index] if index < memos else ~<uint32_t> 0
        value.kind = entry >> 28
        value.payload = index if entry >> 28 == BOXED else entry & MAX_ROWS
    elif op == 0x8A:                                                # LONG1 of 1 to 8 bytes
        width = data[at + 1]
        if width == 0 or width > 8:
            return at
        memcpy(&number, data + at + 2, 8)
        # the sign is in the last byte of the number
        value.kind = INT
        value.payload = <uint64_t> (<int64_t> (number << (64 - 8 * width)) >> (64 - 8 * width))
        at += 2 + width
    elif op == 0x4A:                                                # BININT
        memcpy(&small, data + at + 1, 4)
        value.kind = INT
        value.payload = <uint64_t> <int64_t> small
        at += 5
    elif op == 0x4B:                                                # BININT1
        value.kind = INT
        value.payload = data[at + 1]
        at += 2
    elif op == 0x4D:                                                # BININT2
        value.kind = INT
        value.payload = data[at + 1] | <uint64_t> data[at + 2] << 8
        at += 3
    elif op == 0x4E or op == 0x88 or op == 0x89:                    # NONE, NEWTRUE, NEWFALSE
        value.kind = NONE if op == 0x4E else BOOL
        value.payload = op == 0x88
        at += 1
    return at


cdef class Machine(Scan):
    cdef Vector stack, marks, memo, boxes
    cdef size_t memo_changes                    # how often an entry of the memo may have been overwritten
    cdef Vector list_kinds, list_payloads       # uint8 and uint32, for each list
    cdef Vector dict_kinds, dict_rows           # uint8 and uint32, for each dict
    cdef Vector pairs
    cdef Interner strings
    cdef Vector fields                          # uint8, for each string: the reader's field with this key, 0 for none

    cdef readonly int error_detail
    cdef int root_kind
    cdef uint64_t root_payload

    # defined by the reader: what becomes of lists and dicts
    cdef int set_items(self, size_t first, size_t end) noexcept nogil
    cdef int fill_list(self, size_t list_row, size_t first, size_t end) noexcept nogil
    cdef size_t list_run(self, size_t at) noexcept nogil
    cdef size_t dict_run(self, size_t at) noexcept nogil
    cdef size_t reader_opcode(self, uint8_t op, size_t at) noexcept nogil

    cdef int64_t intern_string(self, const uint8_t *text, size_t length) noexcept nogil
    cdef int fail_with(self, int error, int detail) noexcept nogil
    cdef int push(self, uint64_t kind, uint64_t payload) noexcept nogil
    cdef size_t floor(self) noexcept nogil
    cdef int64_t pop_mark(self) noexcept nogil
    cdef int memoize(self, size_t index, size_t at) noexcept nogil
    cdef size_t values_run(self, size_t at) noexcept nogil
    cdef size_t last_reference(self, size_t at) noexcept nogil
    cdef int new_list(self) noexcept nogil
    cdef int new_dict(self) noexcept nogil
    cdef void keep_pairs(self, size_t dict_row, size_t first, size_t end, size_t most) noexcept nogil
    cdef int append(self, size_t first, size_t end) noexcept nogil
    cdef int tuple_of(self, size_t first) noexcept nogil
    cdef int64_t read_length(self, size_t at, int width) noexcept nogil
    cdef int long_integer(self, size_t at, size_t length) noexcept nogil
    cdef int string(self, size_t at, size_t length) noexcept nogil
    cdef void free_scratch(self) noexcept nogil
