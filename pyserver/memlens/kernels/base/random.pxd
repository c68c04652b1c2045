# Random numbers for what is written anew: fast, and from a state that the system's own random numbers begin.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t random_below(uint64_t *state, uint64_t below) noexcept nogil:
    """Return a random number below another (SplitMix64), and move the state on."""
    cdef uint64_t mixed
    state[0] += 0x9E3779B97F4A7C15ULL
    mixed = state[0]
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL
    mixed ^= mixed >> 31
    # callers stay below 2**32, so that no number is noticeably more likely
    return ((mixed >> 32) * below) >> 32


cdef inline void draw_numbers(uint64_t *state, uint32_t *numbers, uint64_t count) noexcept nogil:
    """Fill ``numbers`` with those from 0 on, in a random order."""
    cdef uint64_t each, other
    for each in range(count):
        other = random_below(state, each + 1)
        numbers[each] = numbers[other]
        numbers[other] = <uint32_t> each


cdef inline void shuffle32(uint64_t *state, uint32_t *items, uint64_t count) noexcept nogil:
    cdef uint64_t each, other
    for each in range(1, count):
        other = random_below(state, each + 1)
        items[each], items[other] = items[other], items[each]


cdef inline void shuffle64(uint64_t *state, uint64_t *items, uint64_t count) noexcept nogil:
    cdef uint64_t each, other
    for each in range(1, count):
        other = random_below(state, each + 1)
        items[each], items[other] = items[other], items[each]


cdef inline void shuffle_items(uint64_t *state, void *items, uint64_t count, size_t width) noexcept nogil:
    """Shuffle items of 4, 8 or 16 bytes, which may stand anywhere."""
    cdef char *at = <char *> items
    cdef uint64_t each, other
    cdef uint64_t[2] kept
    # a copy of a number of bytes that the compiler knows is no call
    for each in range(1, count):
        other = random_below(state, each + 1)
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
