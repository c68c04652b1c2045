# What stays in a Java heap dump without its values (see the .pyx).

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from memlens.kernels.base.addresses cimport AddressMap
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector
from memlens.packs.jvm.kernels.hprof cimport Record, Records

cdef enum:
    # stages
    S_CLASSES           # classes, texts that name something, threads
    S_THREADS           # which objects there are, and the names of threads
    S_NAMES             # the arrays of these names
    S_ARRAYS
    S_WRITE

cdef enum:
    HEAD = 9            # bytes before a record's own: tag, time, length
    IS_STATIC = 0x100   # beside a field's type

cdef enum:
    # what texts name, as bits
    A_MEMBER = 1        # a field, a method, or a heap of Android's
    A_CLASS = 2
    A_SIGNATURE = 4
    A_FILE = 8

cdef extern from *:
    """
    #define MEMLENS_NO_CLASS 0xFFFFFFFFu
    """
    const uint32_t NO_CLASS "MEMLENS_NO_CLASS"


cdef struct Layout:
    # a class, and which bytes of its own fields stay
    uint64_t id, super_id
    uint64_t body               # offset in the file of its fields
    uint32_t first_range, ranges
    uint32_t field_bytes
    uint32_t above              # the next class above that has fields
    uint64_t enumeration        # the class of an enum, whose constant an instance is; 0 for other classes

cdef struct Range:
    uint32_t offset, bytes
    bint is_ids

cdef struct Wanted:
    uint64_t id
    uint64_t dump
    uint64_t owner              # of values that the runtime shares: the class which holds this object; else 0

cdef struct Member:
    uint64_t class_id, name, type

cdef enum:
    FOUND_CLASSES = 256     # that were looked up last

cdef struct FoundClass:
    uint64_t id             # 0 for none
    int64_t number          # -1 for a class that the dump doesn't have
    uint64_t bytes          # of an instance's fields


cdef class Survey(Owner):
    cdef Records records
    cdef bint keeps_numbers
    cdef uint64_t start, stop, position, heap_end
    cdef readonly uint64_t objects  # how many records of objects there are
    cdef readonly int64_t damaged_at
    cdef size_t segment
    cdef uint32_t dump
    cdef readonly int stage
    cdef Vector classes, class_starts, ranges, named_texts, wanted, found, kept, ids, string_classes, members, owners
    cdef Vector sought
    cdef AddressMap by_id, looked_for, loaded
    cdef FoundClass[FOUND_CLASSES] found_classes
    cdef int64_t last_number    # of the class of the last object
    cdef uint64_t bits          # of the ids of all objects, one over the other

    cdef void note_text(self, uint64_t id, uint8_t what) noexcept nogil
    cdef int note_member(self, uint64_t class_id, uint64_t name, uint64_t type) noexcept nogil
    cdef bint is_text(self, uint64_t id, const char *text, uint64_t count) noexcept nogil
    cdef bint is_class_name(self, uint64_t id, const char *name, uint64_t count) noexcept nogil
    cdef int note_object(self, Record *record) noexcept nogil
    cdef int note_static(self, Layout *own, uint64_t name, uint64_t value) noexcept nogil
    cdef int note_holder(self, Record *record, uint64_t owner) noexcept nogil
    cdef bint is_string_class(self, uint64_t id) noexcept nogil
    cdef void rewind(self) noexcept nogil
    cdef int end_stage(self, uint64_t seed) noexcept nogil
    cdef void end_here(self) noexcept nogil
    cdef uint64_t after_others(self) noexcept nogil
    cdef bint is_sound(self, Record *record) noexcept nogil
    cdef uint64_t instance_bytes(self, int64_t number) noexcept nogil
    cdef int look_through(self, uint64_t limit, uint64_t seed) noexcept nogil
    cdef bint is_heap_next(self) noexcept nogil
    cdef int enter(self, uint32_t dump, uint64_t seed) noexcept nogil
    cdef int link_classes(self, uint64_t seed) noexcept nogil
    cdef uint64_t first_class(self) noexcept nogil
    cdef uint64_t first_class_after(self) noexcept nogil
    cdef int64_t class_of(self, uint64_t id) noexcept nogil
    cdef FoundClass *find_class(self, uint64_t id) noexcept nogil
    cdef int look_at(self, Record *record) noexcept nogil
    cdef int note_class(self, Record *record) noexcept nogil
    cdef const uint8_t *after_constants(self, const uint8_t *at) noexcept nogil
    cdef bint type_stays(self, uint8_t type) noexcept nogil
    cdef bint field_stays(self, uint64_t class_id, uint8_t type, uint64_t name) noexcept nogil
    cdef int want_field(self, Record *record, const char *name, uint64_t count) noexcept nogil
