# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Unpacks blocks of LZ4.

Source: ``doc/lz4_Block_format.md`` of https://github.com/lz4/lz4.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy


cdef inline bint longer(const uint8_t *data, size_t end, size_t *at, size_t *length) noexcept nogil:
    """Read the rest of a length that didn't fit into four bits. False if the block ends within it."""
    cdef uint8_t byte = 255
    while byte == 255:
        if at[0] >= end:
            return False
        byte = data[at[0]]
        at[0] += 1
        length[0] += byte
    return True


cdef int64_t unpack_block(const uint8_t *data, size_t end, uint8_t *to, size_t done, size_t room) noexcept nogil:
    cdef size_t at = 0, count, back
    cdef uint8_t token
    while at < end:
        token = data[at]
        at += 1
        count = token >> 4
        if count == 15 and not longer(data, end, &at, &count):
            return -1
        if count > end - at or count > room - done:
            return -1
        memcpy(to + done, data + at, count)
        at += count
        done += count
        if at == end:
            # a block ends with literals
            return <int64_t> done
        if end - at < 2:
            return -1
        back = data[at] | <size_t> data[at + 1] << 8
        at += 2
        count = token & 15
        if count == 15 and not longer(data, end, &at, &count):
            return -1
        count += 4
        if back == 0 or back > done or count > room - done:
            return -1
        if back >= count:
            memcpy(to + done, to + done - back, count)
            done += count
            continue
        # a match may overlap its own output
        while count:
            to[done] = to[done - back]
            done += 1
            count -= 1
    return -1


def unpack(const uint8_t[::1] block: Buffer, uint8_t[::1] out: Buffer, size_t begin) -> int:
    """Unpack a block into ``out`` from ``begin`` on, where ``out`` has what came before. Returns the end.

    Returns -1 if the block is damaged, or its contents don't fit.
    """
    cdef size_t end = block.shape[0], room = out.shape[0]
    cdef int64_t done
    if end == 0 or room == 0 or begin > room:
        return -1
    with nogil:
        done = unpack_block(&block[0], end, &out[0], begin, room)
    return done
