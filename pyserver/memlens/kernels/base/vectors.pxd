# Growable C arrays, for kernels that don't know the number of rows in advance.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int64_t, int32_t
from libc.stdlib cimport malloc, realloc, free
from libc.string cimport memcpy


cdef struct Vector:
    uint8_t *data
    size_t count        # items in use
    size_t room         # items for which memory is allocated
    size_t item_bytes


cdef inline void vector_init(Vector *vector, size_t item_bytes) noexcept nogil:
    vector.data = NULL
    vector.count = 0
    vector.room = 0
    vector.item_bytes = item_bytes


cdef inline int vector_reserve(Vector *vector, size_t count) noexcept nogil:
    """Reserve memory for ``count`` items; -1 if out of memory. Grows by half; realloc remaps large arrays."""
    cdef size_t room
    cdef uint8_t *data
    if count <= vector.room:
        return 0
    room = vector.room + vector.room // 2
    if room < count:
        room = count
    if room < 16:
        room = 16
    data = <uint8_t *> realloc(vector.data, room * vector.item_bytes)
    if data == NULL:
        return -1
    vector.data = data
    vector.room = room
    return 0


cdef inline int vector_extend(Vector *vector, const void *items, size_t count) noexcept nogil:
    if vector_reserve(vector, vector.count + count) < 0:
        return -1
    if count:
        memcpy(vector.data + vector.count * vector.item_bytes, items, count * vector.item_bytes)
    vector.count += count
    return 0


cdef inline int vector_push(Vector *vector, const void *item) noexcept nogil:
    return vector_extend(vector, item, 1)


cdef inline int vector_push_u32(Vector *vector, uint32_t item) noexcept nogil:
    """Append an item to a vector of 32-bit items, without the call that copies items of any size."""
    if vector.count == vector.room and vector_reserve(vector, vector.count + 1) < 0:
        return -1
    (<uint32_t *> vector.data)[vector.count] = item
    vector.count += 1
    return 0


cdef inline void vector_free(Vector *vector) noexcept nogil:
    free(vector.data)
    vector.data = NULL
    vector.count = 0
    vector.room = 0


cdef class Column:
    # Owns the memory of a vector and exposes it by the buffer protocol, so that NumPy can use it without a copy.
    cdef Vector vector
    cdef bytes format
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]


cdef Column column_of(Vector *vector, bytes format)
