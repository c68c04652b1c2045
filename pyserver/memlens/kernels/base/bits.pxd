# The positions of the highest and the lowest set bit of a word other than 0, by compiler builtins.

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int highest_bit(unsigned long long word) {
        unsigned long bit; _BitScanReverse64(&bit, word); return (int)bit;
    }
    static inline int lowest_bit(unsigned long long word) {
        unsigned long bit; _BitScanForward64(&bit, word); return (int)bit;
    }
    #else
    static inline int highest_bit(unsigned long long word) { return 63 - __builtin_clzll(word); }
    static inline int lowest_bit(unsigned long long word) { return __builtin_ctzll(word); }
    #endif
    """
    int highest_bit(uint64_t word) nogil
    int lowest_bit(uint64_t word) nogil
