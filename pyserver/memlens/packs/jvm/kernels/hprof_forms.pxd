# The lengths that the records around the heaps of a Java heap dump have.
#
# Source: heapDumper.cpp of OpenJDK, and the manual of the former hprof agent for what only that wrote.

from libc.stdint cimport uint8_t, uint64_t

from memlens.kernels.readers.numbers cimport u32_at

cdef enum:
    # tags of records
    TEXT = 0x01
    LOAD_CLASS = 0x02
    UNLOAD_CLASS = 0x03
    FRAME = 0x04
    TRACE = 0x05
    ALLOC_SITES = 0x06
    HEAP_SUMMARY = 0x07
    START_THREAD = 0x0A
    END_THREAD = 0x0B
    HEAP_DUMP = 0x0C
    CPU_SAMPLES = 0x0D
    CONTROL_SETTINGS = 0x0E
    HEAP_DUMP_SEGMENT = 0x1C
    HEAP_DUMP_END = 0x2C


cdef inline bint is_known_record(uint8_t tag) noexcept nogil:
    return (TEXT <= tag <= HEAP_SUMMARY or START_THREAD <= tag <= END_THREAD or CPU_SAMPLES <= tag <= CONTROL_SETTINGS
            or tag == HEAP_DUMP_END)


cdef inline bint has_its_length(const uint8_t *body, uint8_t tag, uint64_t bytes, int id_bytes) noexcept nogil:
    """Return whether a known record of ``bytes`` has exactly those that it consists of."""
    cdef uint64_t id = <uint64_t> id_bytes
    if tag == TEXT:
        return bytes >= id
    if tag == LOAD_CLASS:
        return bytes == 8 + 2 * id
    if tag == UNLOAD_CLASS or tag == END_THREAD:
        return bytes == 4
    if tag == FRAME or tag == START_THREAD:
        return bytes == 8 + 4 * id
    if tag == TRACE:
        return bytes >= 12 and bytes == 12 + id * <uint64_t> u32_at(body + 8)
    if tag == ALLOC_SITES:
        return bytes >= 34 and bytes == 34 + 25 * <uint64_t> u32_at(body + 30)
    if tag == HEAP_SUMMARY:
        return bytes == 24
    if tag == CPU_SAMPLES:
        return bytes >= 8 and bytes == 8 + 8 * <uint64_t> u32_at(body + 4)
    if tag == CONTROL_SETTINGS:
        return bytes == 6
    return bytes == 0
