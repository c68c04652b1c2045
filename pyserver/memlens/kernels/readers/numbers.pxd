# Numbers in the bytes of a file: big-endian, and little-endian where the name begins with "le".

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


cdef inline uint16_t u16_at(const uint8_t *at) noexcept nogil:
    return <uint16_t> (at[0] << 8 | at[1])


cdef inline uint32_t u32_at(const uint8_t *at) noexcept nogil:
    return <uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3]


cdef inline uint64_t u64_at(const uint8_t *at) noexcept nogil:
    return <uint64_t> u32_at(at) << 32 | u32_at(at + 4)


cdef inline uint32_t le32_at(const uint8_t *at) noexcept nogil:
    return at[0] | at[1] << 8 | at[2] << 16 | <uint32_t> at[3] << 24


cdef inline uint64_t le64_at(const uint8_t *at) noexcept nogil:
    return le32_at(at) | <uint64_t> le32_at(at + 4) << 32
