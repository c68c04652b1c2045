# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes items in a random order without all of them in memory.

:meth:`Parts.scatter` writes them into parts, each of a range of places, which a file may hold meanwhile, and
:func:`gathered` brings those of a part into their order.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from memlens.packs.v8.kernels.heap_json cimport ArrayReader


cdef struct Piece:              # of what stands at a place, before its bytes
    uint32_t place, bytes


cdef class Parts(ArrayReader):
    """What makes the items, one piece after the other, is ``next_piece`` of classes that extend this one."""

    def __cinit__(self, *_):
        self.own(&self.piece, 1)

    def scatter(self, uint8_t[::1] out: bytearray, uint32_t[::1] filled, uint32_t range_) -> int:
        """Write the pieces that come next, into the part of ``out`` for their place. The parts are equally large and
        have ``range_`` places each; ``filled`` is how many bytes of each are written.

        Returns the number of a part that is full, and is to be emptied before the next call; -1 at the end.
        """
        cdef int64_t part
        cdef size_t room = out.shape[0] // max(filled.shape[0], 1)
        if not self.places.shape[0]:
            raise ValueError("writing has not begun")
        if not range_ or (self.places.shape[0] + range_ - 1) // range_ > filled.shape[0] or room <= sizeof(Piece):
            raise ValueError("too few parts, or too small ones")
        with nogil:
            part = self.scatter_pieces(&out[0], room, filled, range_)
        if part == -2:
            raise MemoryError
        if part == -3:
            raise ValueError("the file isn't what was read before")
        return part

    cdef int64_t scatter_pieces(self, uint8_t *out, size_t room, uint32_t[::1] filled, uint32_t range_) noexcept nogil:
        cdef Py_ssize_t part
        cdef Piece piece
        cdef size_t left
        cdef uint8_t *at
        cdef int status
        while True:
            if self.piece_done == self.piece.count:
                self.piece.count = self.piece_done = 0
                status = self.next_piece()
                if status < 0:
                    return status
                if status == 0:
                    return -1
            part = self.piece_place // range_
            left = self.piece.count - self.piece_done
            if filled[part] and filled[part] + sizeof(Piece) + left > room:
                return part
            piece.place, piece.bytes = self.piece_place, <uint32_t> min(left, room - sizeof(Piece))
            at = out + part * room + filled[part]
            memcpy(at, &piece, sizeof(Piece))
            memcpy(at + sizeof(Piece), self.piece.data + self.piece_done, piece.bytes)
            filled[part] += <uint32_t> sizeof(Piece) + piece.bytes
            self.piece_done += piece.bytes

    cdef int next_piece(self) noexcept nogil:
        """Set the next piece and its place. Returns 1; 0 at the end; -2 for want of memory; -3 for another file than
        was read before.
        """
        return 0


def gathered(const uint8_t[::1] data: Buffer, uint32_t first, uint32_t range_) -> bytearray:
    """Return what the pieces of a part stand for, whose places are from ``first`` on, in the order of these."""
    cdef uint64_t[::1] starts = memoryview(bytearray(8 * (<size_t> range_ + 1))).cast("Q")
    cdef size_t at = 0, length = data.shape[0]
    cdef uint64_t total = 0, bytes_
    cdef uint32_t each
    cdef Piece piece
    cdef uint8_t[::1] out
    while at < length:
        memcpy(&piece, &data[at], sizeof(Piece))
        at += sizeof(Piece) + piece.bytes
        if piece.place < first or piece.place - first >= range_ or at > length:
            raise ValueError("no part of these places")
        starts[piece.place - first] += piece.bytes
    for each in range(range_):
        bytes_ = starts[each]
        starts[each] = total
        total += bytes_
    made = bytearray(total)
    out = made
    at = 0
    while at < length:
        memcpy(&piece, &data[at], sizeof(Piece))
        at += sizeof(Piece)
        memcpy(&out[starts[piece.place - first]], &data[at], piece.bytes)
        starts[piece.place - first] += piece.bytes
        at += piece.bytes
    return made
