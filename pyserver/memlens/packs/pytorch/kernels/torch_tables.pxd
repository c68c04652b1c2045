# The tables that the readers of a PyTorch snapshot's pickle share, and the conversion of values (see torch_pickle.pyx).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcpy

from memlens.kernels.base.interning cimport Interner
from memlens.kernels.base.vectors cimport Vector
from memlens.kernels.readers.pickle_machine cimport FLOAT, INT, Machine, Value

cdef extern from *:
    """
    #define TORCH_NO_ADDRESS UINT64_MAX
    #define TORCH_NO_LIST UINT32_MAX
    #define TORCH_MAX_SIZE (INT64_C(1) << 60)
    #define TORCH_MAX_TIME (INT64_C(1) << 60)
    """
    # UNKNOWN_ADDRESS
    const uint64_t NO_ADDRESS "TORCH_NO_ADDRESS"
    # the row of an item among lists that isn't a list itself; no file has so many lists
    const uint32_t NO_LIST "TORCH_NO_LIST"
    # an out-of-memory event may request any size; for all else unknown.py has a lower limit
    const int64_t MAX_SIZE "TORCH_MAX_SIZE"
    # tens of thousands of years
    const int64_t MAX_TIME "TORCH_MAX_TIME"

cdef enum:
    # how many of the first actions have sizes of allocations: alloc, free_requested, free_completed and free
    MEMORY_ACTIONS = 4
    # pairs of dicts that aren't rows of a table, such as allocator_settings
    MAX_PAIRS_KEPT = 10_000

# what has_address of a block is if the address is that of an allocation in its history
cdef enum:
    OF_HISTORY = 2

# what a list holds, and what its payload is
cdef enum:
    FRAMES = 1      # stack id
    ROWS        # row of self.vectors: a list of dict rows, all of the kind in the high bits of list_kinds
    PAIR        # pair id: a pool id such as (0, 1)
    LISTS       # row of self.vectors: list rows
    OTHER_LIST
    TEXTS       # row of self.vectors: string ids

# the kinds of dicts
cdef enum:
    EVENT = 1
    FRAME
    BLOCK
    SEGMENT
    ANNOTATION
    HISTORY
    ROOT
    OTHER_DICT
    # these belong to no table, and only the frame that holds them reads them
    MODULE_STACK    # an FX node's nn_module_stack; its row is one of self.module_stacks
    NODE_INFO       # the dict that holds an nn_module_stack; its row is the same

# the keys that are read; a string's field is looked up once, when it is interned
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

cdef struct EventRow:
    # an entry of a trace
    uint64_t addr           # UNKNOWN_ADDRESS
    int64_t size            # UNKNOWN_SIZE
    int64_t time_us         # UNKNOWN_TIME
    uint32_t stack
    uint16_t stream         # row of the streams
    uint16_t pool           # row of the pools
    uint8_t action          # row of the actions
    uint8_t category        # row of the categories; 0 for unknown
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
    uint32_t fx_modules     # row of the module stacks; 0 for unknown
    uint32_t forward        # 1 for a line of forward_frames, which has the line's text as its name

cdef struct BlockRow:
    uint64_t address
    int64_t size
    int64_t requested
    uint32_t stack
    uint32_t state          # string id
    uint32_t has_address    # 1, or OF_HISTORY
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
    # a value of an event's field that few events have
    uint64_t payload
    uint32_t event
    uint8_t field
    uint8_t kind
    uint16_t unused


cdef inline bint is_number(Value *value, int64_t *number) noexcept nogil:
    """Return whether a value is a number of 64 bits (True and NaN aren't), and put its integer part in ``number``."""
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
    """The same for integers; a float may be one, as in a snapshot that was converted from JSON."""
    cdef double real
    if not is_number(value, number):
        return False
    if value.kind == FLOAT:
        memcpy(&real, &value.payload, 8)
        return real == <double> number[0]
    return True


cdef class Tables(Machine):
    cdef Vector vectors                 # the rows of each list that has rows
    cdef Vector events, frames, blocks, segments, annotations, histories, extras
    cdef Vector sequence                # scratch: frame ids of the list being interned
    cdef Vector streams, pools          # uint64 streams; int64 pairs
    cdef Vector actions, categories     # string ids
    cdef Interner stacks, frame_keys
    cdef Interner module_stacks         # string ids: path and type of each module, outermost first; or one text for all
    cdef uint32_t na_string, empty_string
    cdef uint64_t odd_values[OTHER_DICT][FIELDS]    # invalid values, by kind of dict and field
    cdef uint64_t odd_items[OTHER_DICT]             # other items in lists of dicts, by kind of these dicts

    # small tables
    cdef int64_t stream_of(self, uint64_t stream) noexcept nogil
    cdef int64_t pool_of(self, int64_t first, int64_t second) noexcept nogil
    cdef int64_t name_of(self, Vector *names, uint32_t string) noexcept nogil

    # values of fields
    cdef void count_odd(self, int kind, int field, Value *value) noexcept nogil
    cdef int64_t size_of(self, int kind, int field, Value *value) noexcept nogil
    cdef int64_t time_of(self, int kind, Value *value) noexcept nogil
    cdef uint64_t address(self, int kind, int field, Value *value) noexcept nogil
    cdef uint16_t stream(self, int kind, Value *value) noexcept nogil
    cdef int32_t device(self, int kind, Value *value) noexcept nogil
    cdef uint32_t text(self, int kind, int field, Value *value) noexcept nogil
    cdef uint32_t optional_text(self, int kind, int field, Value *value) noexcept nogil
    cdef uint32_t frames_of(self, int kind, Value *value) noexcept nogil
    cdef uint16_t pool(self, int kind, int field, Value *value) noexcept nogil

    # rows
    cdef int64_t row_of(self, size_t dict_row, int kind, Vector *table) noexcept nogil
    cdef int64_t frame_of(self, FrameRow *row) noexcept nogil
    cdef void add_extra(self, int64_t event, int field, Value *value) noexcept nogil
    cdef Vector *list_vector(self, size_t list_row) noexcept nogil
    cdef int rows_kind(self, size_t list_row) noexcept nogil
