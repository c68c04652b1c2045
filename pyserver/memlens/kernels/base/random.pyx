# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Random orders for what is drawn outside of a kernel."""

import os

from libc.stdint cimport uint32_t


def permutation(size_t count, bytes key: bytes | None = None) -> Buffer:
    """Return the numbers below ``count``, which is below 2**32, in a random order (``uint32``).

    A ``key`` of 32 bytes gives the same order each time.
    """
    cdef Random random
    cdef uint32_t[::1] numbers
    key = os.urandom(KEY_BYTES) if key is None else key
    if len(key) != KEY_BYTES or count > <size_t> 0xFFFFFFFF:
        raise ValueError("a key of 32 bytes, and fewer than 2**32 numbers")
    view = memoryview(bytearray(4 * count)).cast("I")
    if count:
        numbers = view
        random_begin(&random, key)
        with nogil:
            draw_numbers(&random, &numbers[0], count)
    return view
