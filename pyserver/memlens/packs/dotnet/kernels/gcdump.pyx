# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads the nodes of a .gcdump: the type, size and children of each.

A node's record has the number of its type, whose lowest bit says whether a size follows; the size; the number of
children; and each child's number as a difference from the node's own. Numbers are signed and have 7 bits a byte, the
highest first; all bytes but the last have their top bit set.

Source: ``src/MemoryGraph/graph.cs`` of PerfView (``Node.ReadCompressedInt``, ``Graph.SetNode``).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from memlens.kernels.base.large_pages cimport reserve_large
from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push_u32

OK, MORE, NO_MEMORY = range(3)

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY

cdef enum:
    MOST_BYTES = 5      # in a number
    UNDEFINED = 0       # the type of nodes that have no record


cdef inline bint read_number(const uint8_t **at, const uint8_t *end, int32_t *number) noexcept nogil:
    """Read the number at ``at``, and move ``at`` past it.

    Return False if the bytes end before the number does, or it has more than 32 bits.
    """
    cdef const uint8_t *here = at[0]
    cdef int64_t value
    cdef int _each
    if here >= end:
        return False
    # bit 6 of the first byte is the sign
    value = here[0] & 0x7F
    if value & 0x40:
        value -= 128
    for _each in range(1, MOST_BYTES):
        if not here[0] & 0x80:
            break
        here += 1
        if here >= end:
            return False
        value = value * 128 + (here[0] & 0x7F)
    if here[0] & 0x80 or not -2147483648 <= value <= 2147483647:
        return False
    number[0] = <int32_t> value
    at[0] = here + 1
    return True


cdef class Nodes:
    """Reads the ``count`` nodes whose offsets are at ``table``, relative to the ``blob_bytes`` bytes at ``blob``.

    ``sizes`` has, for each type, the size of those of its nodes that don't record their own. A damaged or truncated
    record becomes a node of type 0 without children, and is counted as ``broken``; references to nodes that don't
    exist are left out and counted as ``dangling``. Raises ValueError if the table or the blob isn't within ``data``.
    """

    cdef const uint8_t[::1] data
    cdef const int32_t[::1] sizes
    cdef Vector types, shallow, starts, targets
    cdef uint64_t table, count, blob, blob_bytes, done
    cdef int code
    cdef readonly uint64_t broken, dangling
    cdef readonly int64_t total_bytes

    def __cinit__(
        self, const uint8_t[::1] data: Buffer, uint64_t table, uint64_t count, uint64_t blob, uint64_t blob_bytes,
        const int32_t[::1] sizes,
    ):
        cdef uint64_t length = <uint64_t> data.shape[0]
        if table > length or count > (length - table) // 4 or blob > length or blob_bytes > length - blob:
            raise ValueError("the nodes are not within the file")
        self.data = data
        self.sizes = sizes
        self.table, self.count, self.blob, self.blob_bytes = table, count, blob, blob_bytes
        vector_init(&self.types, 4)
        vector_init(&self.shallow, 8)
        vector_init(&self.starts, 8)
        vector_init(&self.targets, 4)
        if (reserve_large(&self.types, count) < 0 or reserve_large(&self.shallow, count) < 0
                or reserve_large(&self.starts, count + 1) < 0):
            raise MemoryError
        (<uint64_t *> self.starts.data)[0] = 0

    def __dealloc__(self):
        vector_free(&self.types)
        vector_free(&self.shallow)
        vector_free(&self.starts)
        vector_free(&self.targets)

    @property
    def offset(self) -> int:
        """The offset in the file of the next node's entry in the table."""
        return self.table + 4 * self.done

    def run(self, uint64_t limit) -> int:
        """Read the nodes whose entries in the table are before the byte ``limit``, and return a status."""
        with nogil:
            while self.code == E_OK and self.done < self.count and self.table + 4 * self.done < limit:
                self.code = self._node()
        if self.code == E_OK and self.done < self.count:
            return MORE
        return self.code

    cdef int _node(self) noexcept nogil:
        cdef const uint8_t *first = &self.data[0]
        cdef const uint8_t *end = first + self.blob + self.blob_bytes
        cdef const uint8_t *at
        cdef uint32_t place
        cdef int32_t word, type, size = 0, children = 0, child, _each
        cdef int64_t target
        cdef bint whole = False
        at = end
        memcpy(&place, first + self.table + 4 * self.done, 4)
        if place < self.blob_bytes:
            at = first + self.blob + place
            whole = read_number(&at, end, &word)
            type = word >> 1
            whole = whole and 0 <= type < self.sizes.shape[0]
            if whole and word & 1:
                whole = read_number(&at, end, &size)
            elif whole:
                size = self.sizes[type]
            whole = whole and read_number(&at, end, &children) and 0 <= children <= end - at and size >= 0
        if not whole:
            self.broken += 1
            type = UNDEFINED
            size = children = 0
        if reserve_large(&self.targets, self.targets.count + children) < 0:
            return E_NO_MEMORY
        for _each in range(children):
            if not read_number(&at, end, &child):
                self.broken += 1
                break
            target = <int64_t> self.done + child
            if not 0 <= target < <int64_t> self.count:
                self.dangling += 1
            elif vector_push_u32(&self.targets, <uint32_t> target) < 0:
                return E_NO_MEMORY
        (<uint32_t *> self.types.data)[self.done] = <uint32_t> type
        (<uint64_t *> self.shallow.data)[self.done] = <uint64_t> size
        self.total_bytes += size
        self.done += 1
        (<uint64_t *> self.starts.data)[self.done] = self.targets.count
        return E_OK

    def take(self) -> tuple[Buffer, Buffer, Buffer, Buffer]:
        """Move out the types and sizes of nodes, the offset of each node's first child, and the children."""
        self.types.count = self.shallow.count = self.done
        self.starts.count = self.done + 1
        return (column_of(&self.types, b"I"), column_of(&self.shallow, b"Q"), column_of(&self.starts, b"Q"),
                column_of(&self.targets, b"I"))
