# Random numbers for what is written anew. Where something stands in a copy shows them, so they are those of a stream
# cipher (ChaCha20, RFC 8439): from any number of them nobody finds its key, and with it the others.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    KEY_BYTES = 32

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* four, so that all words of a state are in registers of 16 bytes */
    enum { MEMLENS_RANDOM_BLOCKS = 4, MEMLENS_RANDOM_WORDS = 16 * MEMLENS_RANDOM_BLOCKS };

    typedef struct {
        uint32_t key[8];
        uint64_t blocks;
        uint32_t taken;
        uint32_t words[MEMLENS_RANDOM_WORDS];
    } memlens_random;

    static void memlens_random_begin(memlens_random *random, const unsigned char *key) {
        for (int each = 0; each < 8; each++)
            random->key[each] = key[4 * each] | (uint32_t) key[4 * each + 1] << 8
                | (uint32_t) key[4 * each + 2] << 16 | (uint32_t) key[4 * each + 3] << 24;
        random->blocks = 0;
        random->taken = MEMLENS_RANDOM_WORDS;
    }

    /* a quarter round of each block, in a form that compilers turn into operations on several of them */
    #define MEMLENS_HALF(a, b, c, bits) \\
        for (int at = 0; at < MEMLENS_RANDOM_BLOCKS; at++) { \\
            x[a][at] += x[b][at]; \\
            const uint32_t mixed = x[c][at] ^ x[a][at]; \\
            x[c][at] = mixed << bits | mixed >> (32 - bits); \\
        }
    #define MEMLENS_QUARTER(a, b, c, d) \\
        MEMLENS_HALF(a, b, d, 16) MEMLENS_HALF(c, d, b, 12) MEMLENS_HALF(a, b, d, 8) MEMLENS_HALF(c, d, b, 7)

    static void memlens_random_fill(memlens_random *random) {
        static const uint32_t constants[4] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
        uint32_t first[16][MEMLENS_RANDOM_BLOCKS], x[16][MEMLENS_RANDOM_BLOCKS];
        for (int at = 0; at < MEMLENS_RANDOM_BLOCKS; at++) {
            for (int word = 0; word < 12; word++)
                first[word][at] = word < 4 ? constants[word] : random->key[word - 4];
            first[12][at] = (uint32_t) (random->blocks + at);
            first[13][at] = (uint32_t) ((random->blocks + at) >> 32);
            first[14][at] = first[15][at] = 0;
        }
        memcpy(x, first, sizeof(x));
        for (int twice = 0; twice < 10; twice++) {
            MEMLENS_QUARTER(0, 4, 8, 12) MEMLENS_QUARTER(1, 5, 9, 13)
            MEMLENS_QUARTER(2, 6, 10, 14) MEMLENS_QUARTER(3, 7, 11, 15)
            MEMLENS_QUARTER(0, 5, 10, 15) MEMLENS_QUARTER(1, 6, 11, 12)
            MEMLENS_QUARTER(2, 7, 8, 13) MEMLENS_QUARTER(3, 4, 9, 14)
        }
        for (int word = 0; word < 16; word++)
            for (int at = 0; at < MEMLENS_RANDOM_BLOCKS; at++)
                random->words[16 * at + word] = x[word][at] + first[word][at];
        random->blocks += MEMLENS_RANDOM_BLOCKS;
        random->taken = 0;
    }

    static inline uint32_t memlens_random_word(memlens_random *random) {
        if (random->taken == MEMLENS_RANDOM_WORDS)
            memlens_random_fill(random);
        return random->words[random->taken++];
    }
    """
    ctypedef struct Random "memlens_random":
        pass
    void random_begin "memlens_random_begin"(Random *random, const unsigned char *key) noexcept nogil
    uint32_t random_word "memlens_random_word"(Random *random) noexcept nogil


cdef inline uint32_t random_below(Random *random, uint64_t below) noexcept nogil:
    """Return a random number below another, which is below 2**32; each is equally likely (Lemire, 2019)."""
    cdef uint64_t product = random_word(random) * below
    cdef uint32_t too_many
    if <uint32_t> product < below:
        too_many = <uint32_t> ((<uint64_t> 1 << 32) % below)
        while <uint32_t> product < too_many:
            product = random_word(random) * below
    return <uint32_t> (product >> 32)


cdef inline void draw_numbers(Random *random, uint32_t *numbers, uint64_t count) noexcept nogil:
    """Fill ``numbers`` with those from 0 on, in a random order."""
    cdef uint64_t each
    cdef uint32_t other
    for each in range(count):
        other = random_below(random, each + 1)
        numbers[each] = numbers[other]
        numbers[other] = <uint32_t> each


cdef inline void shuffle32(Random *random, uint32_t *items, uint64_t count) noexcept nogil:
    cdef uint64_t each
    cdef uint32_t other
    for each in range(1, count):
        other = random_below(random, each + 1)
        items[each], items[other] = items[other], items[each]


cdef inline void shuffle64(Random *random, uint64_t *items, uint64_t count) noexcept nogil:
    cdef uint64_t each
    cdef uint32_t other
    for each in range(1, count):
        other = random_below(random, each + 1)
        items[each], items[other] = items[other], items[each]


cdef inline void shuffle_items(Random *random, void *items, uint64_t count, size_t width) noexcept nogil:
    """Shuffle items of 4, 8 or 16 bytes, which may stand anywhere."""
    cdef char *at = <char *> items
    cdef uint64_t each, other
    cdef uint64_t[2] kept
    # a copy of a number of bytes that the compiler knows is no call
    for each in range(1, count):
        other = random_below(random, each + 1)
        if width == 4:
            memcpy(kept, at + 4 * each, 4)
            memcpy(at + 4 * each, at + 4 * other, 4)
            memcpy(at + 4 * other, kept, 4)
        elif width == 8:
            memcpy(kept, at + 8 * each, 8)
            memcpy(at + 8 * each, at + 8 * other, 8)
            memcpy(at + 8 * other, kept, 8)
        else:
            memcpy(kept, at + 16 * each, 16)
            memcpy(at + 16 * each, at + 16 * other, 16)
            memcpy(at + 16 * other, kept, 16)
