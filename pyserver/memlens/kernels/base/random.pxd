# Random numbers for what is written anew: fast, and from a state that the system's own random numbers begin.

from libc.stdint cimport uint64_t


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
