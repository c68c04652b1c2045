# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""XXH64, the checksum of an archive's files: 64 bits at the speed of memory, the same on all processors.

It detects accidental damage by a disk or a copy, not deliberate changes. Source of the constants and the steps: "xxHash
fast digest algorithm", doc/xxhash_spec.md of the xxHash project.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #error "the columns of an archive and the words of this checksum are little-endian"
    #endif
    #define CHECKSUM_P1 UINT64_C(0x9E3779B185EBCA87)
    #define CHECKSUM_P2 UINT64_C(0xC2B2AE3D27D4EB4F)
    #define CHECKSUM_P3 UINT64_C(0x165667B19E3779F9)
    #define CHECKSUM_P4 UINT64_C(0x85EBCA77C2B2AE63)
    #define CHECKSUM_P5 UINT64_C(0x27D4EB2F165667C5)
    """
    const uint64_t P1 "CHECKSUM_P1"
    const uint64_t P2 "CHECKSUM_P2"
    const uint64_t P3 "CHECKSUM_P3"
    const uint64_t P4 "CHECKSUM_P4"
    const uint64_t P5 "CHECKSUM_P5"


cdef inline uint64_t rotated(uint64_t word, int bits) noexcept nogil:
    return (word << bits) | (word >> (64 - bits))


cdef inline uint64_t mixed(uint64_t lane, uint64_t word) noexcept nogil:
    return rotated(lane + word * P2, 31) * P1


cdef inline uint64_t word_at(const uint8_t *at) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, at, 8)
    return word


cdef class Checksum:
    """The checksum of the data passed to :meth:`update`. Not thread-safe."""

    cdef uint64_t[4] lanes
    cdef uint8_t[32] rest       # an incomplete stripe of 32 bytes
    cdef size_t left
    cdef uint64_t length

    def __cinit__(self):
        self.lanes[0] = P1 + P2
        self.lanes[1] = P2
        self.lanes[2] = 0
        self.lanes[3] = 0 - P1

    def update(self, const uint8_t[::1] data not None: Buffer):
        """Add some bytes, without the interpreter's lock."""
        if data.shape[0]:
            with nogil:
                self.add(&data[0], data.shape[0])

    def hexdigest(self) -> str:
        """Return the checksum of all bytes so far as 16 hexadecimal digits."""
        return f"{self.value():016x}"

    cdef void add(self, const uint8_t *at, size_t size) noexcept nogil:
        cdef size_t part
        self.length += size
        if self.left:
            part = min(size, 32 - self.left)
            memcpy(&self.rest[self.left], at, part)
            self.left += part
            at += part
            size -= part
            if self.left < 32:
                return
            self.stripes(self.rest, 1)
            self.left = 0
        self.stripes(at, size // 32)
        self.left = size % 32
        memcpy(self.rest, at + size - self.left, self.left)

    cdef void stripes(self, const uint8_t *at, size_t count) noexcept nogil:
        cdef uint64_t a = self.lanes[0], b = self.lanes[1], c = self.lanes[2], d = self.lanes[3]
        while count:
            a = mixed(a, word_at(at))
            b = mixed(b, word_at(at + 8))
            c = mixed(c, word_at(at + 16))
            d = mixed(d, word_at(at + 24))
            at += 32
            count -= 1
        self.lanes[0] = a
        self.lanes[1] = b
        self.lanes[2] = c
        self.lanes[3] = d

    cdef uint64_t value(self) noexcept nogil:
        cdef uint64_t total = P5
        cdef size_t at = 0
        cdef int lane
        cdef uint32_t half
        if self.length >= 32:
            total = (
                rotated(self.lanes[0], 1)
                + rotated(self.lanes[1], 7)
                + rotated(self.lanes[2], 12)
                + rotated(self.lanes[3], 18)
            )
            for lane in range(4):
                total = (total ^ mixed(0, self.lanes[lane])) * P1 + P4
        total += self.length
        while at + 8 <= self.left:
            total = rotated(total ^ mixed(0, word_at(&self.rest[at])), 27) * P1 + P4
            at += 8
        if at + 4 <= self.left:
            memcpy(&half, &self.rest[at], 4)
            total = rotated(total ^ half * P1, 23) * P2 + P3
            at += 4
        while at < self.left:
            total = rotated(total ^ self.rest[at] * P5, 11) * P1
            at += 1
        total = (total ^ (total >> 33)) * P2
        total = (total ^ (total >> 29)) * P3
        return total ^ (total >> 32)
