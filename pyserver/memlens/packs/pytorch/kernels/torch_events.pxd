# Reads the events of a PyTorch snapshot in batches (see the .pyx).

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t

from memlens.kernels.readers.pickle_machine cimport Value
from memlens.packs.pytorch.kernels.torch_stacks cimport Lists

cdef enum:
    # events whose stacks are looked up together: enough to overlap the waits for memory, few enough for the L1 cache
    BATCH = 32

cdef struct ReadEvent:
    # an event that has been read but isn't a row yet
    size_t begin                # its offset in the file
    size_t memos, lists, dicts  # how many there were before it
    uint64_t addr
    int64_t size
    int64_t time_us
    uint64_t stream
    uint32_t action, category   # string ids
    uint32_t pool               # row of the pools
    int64_t frames              # the list of its frames; -1 for none
    size_t run, run_bytes       # offset and length of the references in that list; 0 bytes if it was read elsewhere
    uint32_t run_code           # their hash
    bint repeats                # they repeat those of the list before, and have no hash


cdef class Events(Lists):
    cdef ReadEvent batch[BATCH]
    cdef size_t before, before_bytes    # offset and length of the references in the list before

    cdef bint begins_event(self, size_t at) noexcept nogil
    cdef int make_room(self) noexcept nogil
    cdef size_t event_at(self, size_t at, ReadEvent *event) noexcept nogil
    cdef size_t items_at(self, size_t at, ReadEvent *event) noexcept nogil
    cdef size_t value_at(self, size_t at, Value *value) noexcept nogil
    cdef size_t text_at(self, size_t at, Value *value) noexcept nogil
    cdef size_t pool_at(self, size_t at, ReadEvent *event) noexcept nogil
    cdef size_t frames_at(self, size_t at, ReadEvent *event) noexcept nogil
    cdef size_t run_at(self, size_t at, ReadEvent *event) noexcept nogil
    cdef void set_event_run(self, size_t begin, size_t run_bytes, ReadEvent *event) noexcept nogil
    cdef bint set_field(self, int field, Value *value, ReadEvent *event) noexcept nogil
    cdef uint32_t add_list(self, uint8_t kind, uint32_t payload) noexcept nogil
    cdef void add_memo(self, uint64_t kind, uint64_t payload) noexcept nogil
    cdef int add_event(self, ReadEvent *event) noexcept nogil
    cdef int64_t stack_of(self, ReadEvent *event) noexcept nogil
    cdef void undo(self, ReadEvent *event) noexcept nogil
