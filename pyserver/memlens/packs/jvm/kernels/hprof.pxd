# Shared by the passes over a Java heap dump: the records of a heap.
#
# Source: "Binary format specification" of OpenJDK's heap dumper (src/hotspot/share/services/heapDumper.cpp) and, for
# Android's additions, art/runtime/hprof/hprof.cc.

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memset

from memlens.kernels.base.addresses cimport AddressMap
from memlens.kernels.base.interning cimport Interner
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector
from memlens.kernels.readers.numbers cimport u16_at, u32_at, u64_at


cdef enum:
    # statuses of a run
    RUN_OK
    RUN_MORE
    RUN_NO_MEMORY
    RUN_TOO_MANY
    RUN_CHANGED     # what an earlier pass saw is no longer there

cdef enum:
    # why a pass ended
    WHOLE
    CUT             # the file ends within a record
    UNKNOWN_TAG     # no record begins with this byte
    BAD_TYPE        # the format has no such type of a field or an array

cdef enum:
    # tags of the records within a heap
    ROOT_JNI_GLOBAL = 0x01
    ROOT_JNI_LOCAL = 0x02
    ROOT_JAVA_FRAME = 0x03
    ROOT_NATIVE_STACK = 0x04
    ROOT_STICKY_CLASS = 0x05
    ROOT_THREAD_BLOCK = 0x06
    ROOT_MONITOR_USED = 0x07
    ROOT_THREAD_OBJECT = 0x08
    CLASS_DUMP = 0x20
    INSTANCE_DUMP = 0x21
    OBJECT_ARRAY_DUMP = 0x22
    PRIMITIVE_ARRAY_DUMP = 0x23
    ANDROID_INTERNED_STRING = 0x89
    ANDROID_FINALIZING = 0x8A
    ANDROID_DEBUGGER = 0x8B
    ANDROID_REFERENCE_CLEANUP = 0x8C
    ANDROID_VM_INTERNAL = 0x8D
    ANDROID_JNI_MONITOR = 0x8E
    ANDROID_UNREACHABLE = 0x90
    ANDROID_ARRAY_WITHOUT_DATA = 0xC3
    ANDROID_HEAP = 0xFE
    ROOT_UNKNOWN = 0xFF

cdef enum:
    # types of fields and elements
    TYPE_ARRAY = 1
    TYPE_OBJECT = 2
    TYPE_BOOLEAN = 4
    TYPE_CHAR = 5
    TYPE_FLOAT = 6
    TYPE_DOUBLE = 7
    TYPE_BYTE = 8
    TYPE_SHORT = 9
    TYPE_INT = 10
    TYPE_LONG = 11

cdef enum:
    CLASS_FIXED_IDS = 7         # ids in a class's record: itself, super class, loader, signers, domain, two reserved


cdef struct TextPlace:
    uint64_t offset
    uint64_t count          # bytes

cdef struct Load:
    # a class that was loaded
    uint64_t id
    uint64_t name           # id of a text
    uint32_t serial
    uint32_t unused

cdef struct FrameRow:
    uint64_t method, signature, file    # ids of texts
    uint32_t class_serial
    int32_t line

cdef struct Trace:
    uint32_t serial
    uint32_t thread
    uint64_t first          # in trace_frames
    uint32_t count
    uint32_t unused

cdef struct Segment:
    # a range of bytes with records of one heap
    uint64_t start, end
    uint64_t micros         # since the time in the file's header
    uint32_t dump
    uint32_t unused


cdef struct Record:
    # a record of a heap; what a kind of record doesn't have is 0
    uint64_t id
    uint64_t other          # the class of an instance or of an array, the name of a heap, a JNI global's reference
    uint64_t bytes          # of the whole record
    uint64_t body_bytes
    const uint8_t *body     # an instance's fields, an array's elements, or the bytes after a class's ids
    uint32_t stack          # serial number of a trace
    uint32_t number         # elements of an array; a root's thread
    uint32_t frame          # the number of a root's frame in its thread's stack
    uint8_t tag
    uint8_t element         # type of an array's elements


cdef inline uint64_t id_at(const uint8_t *at, int id_bytes) noexcept nogil:
    return u64_at(at) if id_bytes == 8 else u32_at(at)


cdef inline int type_bytes(uint8_t type, int id_bytes) noexcept nogil:
    """Return the bytes of a field or an element in the file, or 0 if there is no such type."""
    if type == TYPE_OBJECT or type == TYPE_ARRAY:
        return id_bytes
    if type == TYPE_BOOLEAN or type == TYPE_BYTE:
        return 1
    if type == TYPE_CHAR or type == TYPE_SHORT:
        return 2
    if type == TYPE_FLOAT or type == TYPE_INT:
        return 4
    if type == TYPE_DOUBLE or type == TYPE_LONG:
        return 8
    return 0


cdef inline int skip_typed(const uint8_t **at, const uint8_t *end, int before, int id_bytes) noexcept nogil:
    """Skip a count and as many values, each of which follows ``before`` bytes and a byte with its type."""
    cdef uint32_t count, _each
    cdef int bytes
    if end - at[0] < 2:
        return CUT
    count = u16_at(at[0])
    at[0] += 2
    for _each in range(count):
        if end - at[0] < before + 1:
            return CUT
        bytes = type_bytes(at[0][before], id_bytes)
        if bytes == 0:
            return BAD_TYPE
        if end - at[0] < before + 1 + bytes:
            return CUT
        at[0] += before + 1 + bytes
    return WHOLE


cdef inline int class_bytes(const uint8_t *body, const uint8_t *end, int id_bytes, uint64_t *bytes) noexcept nogil:
    """Compute the bytes of a class's constants, static fields and fields, by skipping over them; return a status."""
    cdef const uint8_t *at = body
    cdef uint64_t fields
    cdef int status = skip_typed(&at, end, 2, id_bytes)
    if status == WHOLE:
        status = skip_typed(&at, end, id_bytes, id_bytes)
    if status != WHOLE:
        return status
    if end - at < 2:
        return CUT
    fields = <uint64_t> u16_at(at) * <uint64_t> (id_bytes + 1)
    at += 2
    if <uint64_t> (end - at) < fields:
        return CUT
    bytes[0] = <uint64_t> (at - body) + fields
    return WHOLE


cdef inline int read_record(const uint8_t *at, const uint8_t *end, int id_bytes, Record *record) noexcept nogil:
    """Read the record at ``at``, which is before ``end``. Returns WHOLE, or what is wrong with the record."""
    cdef uint64_t left = <uint64_t> (end - at), head = 1 + <uint64_t> id_bytes
    cdef uint8_t tag = at[0]
    cdef int status
    memset(record, 0, sizeof(Record))
    record.tag = tag
    # the bytes that every record with this tag has
    if tag == INSTANCE_DUMP:
        head += 8 + <uint64_t> id_bytes
    elif tag == OBJECT_ARRAY_DUMP:
        head += 8 + <uint64_t> id_bytes
    elif tag == PRIMITIVE_ARRAY_DUMP or tag == ANDROID_ARRAY_WITHOUT_DATA:
        head += 9
    elif tag == CLASS_DUMP:
        head += 4 + (CLASS_FIXED_IDS - 1) * <uint64_t> id_bytes + 4
    elif tag == ROOT_JNI_GLOBAL:
        head += <uint64_t> id_bytes
    elif tag == ROOT_JNI_LOCAL or tag == ROOT_JAVA_FRAME or tag == ROOT_THREAD_OBJECT or tag == ANDROID_JNI_MONITOR:
        head += 8
    elif tag == ROOT_NATIVE_STACK or tag == ROOT_THREAD_BLOCK:
        head += 4
    elif tag == ANDROID_HEAP:
        head += 4
    elif not (tag == ROOT_UNKNOWN or tag == ROOT_STICKY_CLASS or tag == ROOT_MONITOR_USED
              or ANDROID_INTERNED_STRING <= tag <= ANDROID_VM_INTERNAL or tag == ANDROID_UNREACHABLE):
        return UNKNOWN_TAG
    if left < head:
        return CUT
    record.bytes = head
    if tag == ANDROID_HEAP:
        record.number = u32_at(at + 1)
        record.other = id_at(at + 5, id_bytes)
        return WHOLE
    record.id = id_at(at + 1, id_bytes)
    at += 1 + id_bytes
    if tag == INSTANCE_DUMP:
        record.stack = u32_at(at)
        record.other = id_at(at + 4, id_bytes)
        record.body_bytes = u32_at(at + 4 + id_bytes)
        record.body = at + 8 + id_bytes
    elif tag == OBJECT_ARRAY_DUMP:
        record.stack = u32_at(at)
        record.number = u32_at(at + 4)
        record.other = id_at(at + 8, id_bytes)
        record.element = TYPE_OBJECT
        record.body_bytes = <uint64_t> record.number * <uint64_t> id_bytes
        record.body = at + 8 + id_bytes
    elif tag == PRIMITIVE_ARRAY_DUMP or tag == ANDROID_ARRAY_WITHOUT_DATA:
        record.stack = u32_at(at)
        record.number = u32_at(at + 4)
        record.element = at[8]
        if record.element <= TYPE_OBJECT or type_bytes(record.element, id_bytes) == 0:
            return BAD_TYPE
        record.body = at + 9
        if tag == PRIMITIVE_ARRAY_DUMP:
            record.body_bytes = <uint64_t> record.number * <uint64_t> type_bytes(record.element, id_bytes)
    elif tag == CLASS_DUMP:
        record.stack = u32_at(at)
        record.number = u32_at(at + 4 + (CLASS_FIXED_IDS - 1) * id_bytes)
        record.body = at + 4 + (CLASS_FIXED_IDS - 1) * id_bytes + 4
        status = class_bytes(record.body, end, id_bytes, &record.body_bytes)
        if status != WHOLE:
            return status
    elif tag == ROOT_JNI_GLOBAL:
        record.other = id_at(at, id_bytes)
    elif head >= <uint64_t> id_bytes + 5:
        record.number = u32_at(at)
        if head >= <uint64_t> id_bytes + 9:
            record.frame = u32_at(at + 4)
    if left - head < record.body_bytes:
        return CUT
    record.bytes = head + record.body_bytes
    return WHOLE


cdef inline bint is_object(uint8_t tag) noexcept nogil:
    return CLASS_DUMP <= tag <= PRIMITIVE_ARRAY_DUMP or tag == ANDROID_ARRAY_WITHOUT_DATA


cdef class Records(Owner):
    cdef const uint8_t[::1] data
    cdef const uint8_t *bytes
    cdef readonly uint64_t length
    cdef readonly uint64_t offset
    cdef readonly int id_bytes
    cdef readonly uint64_t time_ms
    cdef readonly int ended
    cdef readonly uint32_t dumps
    cdef readonly uint64_t unknown_records
    cdef uint64_t tags              # a bit for each tag below 64 of the records outside heaps
    cdef uint32_t first_segment     # of the dump that is being read
    cdef Vector text_ids, text_places, loads, frame_ids, frame_rows, traces, trace_frames, segments
    cdef AddressMap texts_by_id
    cdef Interner names
    cdef int code
    cdef int _load(self, const uint8_t *body, uint64_t bytes) noexcept nogil
    cdef int _frame(self, const uint8_t *body, uint64_t bytes) noexcept nogil
    cdef int _trace(self, const uint8_t *body, uint64_t bytes) noexcept nogil
    cdef int _text(self, uint64_t at, uint64_t bytes) noexcept nogil
    cdef int _segment(self, uint8_t tag, uint64_t start, uint64_t bytes, uint32_t micros) noexcept nogil
    cdef int _record(self) noexcept nogil
    cdef bint _may_begin_at(self, uint64_t at) noexcept nogil
    cdef int64_t name(self, uint64_t text) noexcept nogil
    cdef int64_t intern(self, const uint8_t *text, size_t count) noexcept nogil
