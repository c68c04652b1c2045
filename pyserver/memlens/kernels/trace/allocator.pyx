# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The allocator's segments over time: which addresses were reserved when, and in which segment each block is.

A *span* is a range of addresses that was reserved at one moment and released at one moment. A segment from cudaMalloc
is one span; an expandable segment is many, because it grows and shrinks.

Spans are reconstructed from the end of the trace backwards, as ``simulate_memory`` does (in
MemoryViz.js): the final segments are known for certain, earlier ones are not. So:

* Before a ``segment_free`` or ``segment_unmap`` the range was reserved.
* Before a ``segment_alloc`` or ``segment_map`` the range was not reserved.
* What is reserved at the beginning was reserved before the trace.
* A range that was reserved, is in no final segment and has no recorded end ended when it was reserved again, or else
  with the last event.

All addresses are partitioned into pieces that begin at known boundaries, so that a set of bits finds a piece in
O(log64 n) steps, whatever a hostile file contains.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from memlens.kernels.base.bits cimport highest_bit, lowest_bit
from memlens.kernels.base.vectors cimport Vector, vector_init, vector_push, vector_free, column_of

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF

# flags of a span
BEFORE_TRACE = 1
"""It was reserved before the first event."""
EXPANDABLE = 2
SMALL = 4
"""It belongs to the small pool (requests up to 1 MiB)."""
START_INFERRED = 8
"""Its beginning was not recorded: it began no earlier than the range was last released."""
END_INFERRED = 16
"""Its end was not recorded: it ended no later than the range was reserved again, or than the last event."""

cdef enum:
    F_BEFORE_TRACE = 1
    F_START_INFERRED = 8
    F_END_INFERRED = 16
    MOST_LEVELS = 6


cdef struct Bits:
    # a set of numbers below `size`, 64 to a word; each level above has a bit for each word that isn't zero
    uint64_t *words[MOST_LEVELS]
    int levels


cdef int bits_init(Bits *bits, size_t size) noexcept nogil:
    """Make an empty set; -1 if out of memory, after which :func:`bits_free` is still needed."""
    cdef size_t count = size
    memset(bits, 0, sizeof(Bits))
    while True:
        count = (count + 63) >> 6
        bits.words[bits.levels] = <uint64_t *> calloc(count + 1, 8)
        if bits.words[bits.levels] == NULL:
            return -1
        bits.levels += 1
        if count <= 1:
            return 0


cdef void bits_free(Bits *bits) noexcept nogil:
    cdef int level
    for level in range(bits.levels):
        free(bits.words[level])
    memset(bits, 0, sizeof(Bits))


cdef inline void bits_set(Bits *bits, size_t item) noexcept nogil:
    cdef int level
    for level in range(bits.levels):
        bits.words[level][item >> 6] |= <uint64_t> 1 << (item & 63)
        item >>= 6


cdef inline void bits_clear(Bits *bits, size_t item) noexcept nogil:
    cdef int level
    for level in range(bits.levels):
        bits.words[level][item >> 6] &= ~(<uint64_t> 1 << (item & 63))
        item >>= 6
        if bits.words[level][item]:
            return


cdef inline int64_t bits_before(Bits *bits, size_t item) noexcept nogil:
    """Return the largest item at or below ``item``; -1 for none."""
    cdef int level = 0
    cdef uint64_t word
    cdef size_t at = item
    word = bits.words[0][at >> 6] & (~<uint64_t> 0 >> (63 - (at & 63)))
    while not word:
        at >>= 6
        level += 1
        if level == bits.levels:
            return -1
        word = bits.words[level][at >> 6] & ((<uint64_t> 1 << (at & 63)) - 1)
    at = (at >> 6 << 6) | <size_t> highest_bit(word)
    while level:
        level -= 1
        at = (at << 6) | <size_t> highest_bit(bits.words[level][at])
    return <int64_t> at


cdef inline int64_t bits_after(Bits *bits, size_t item) noexcept nogil:
    """Return the smallest item above ``item``; -1 for none."""
    cdef int level = 0
    cdef uint64_t word
    cdef size_t at = item
    while True:
        # a shift by 64 bits is undefined in C, so there are two shifts
        word = bits.words[level][at >> 6] & (~<uint64_t> 0 << (at & 63) << 1)
        if word:
            break
        at >>= 6
        level += 1
        if level == bits.levels:
            return -1
    at = (at >> 6 << 6) | <size_t> lowest_bit(word)
    while level:
        level -= 1
        at = (at << 6) | <size_t> lowest_bit(bits.words[level][at])
    return <int64_t> at


cdef struct Piece:
    # a range between two boundaries that is reserved, or isn't, up to the moment `end`
    uint32_t stop
    uint32_t end
    uint32_t stack
    uint16_t stream
    uint16_t pool
    uint8_t reserved
    uint8_t flags


cdef struct Span:
    uint64_t address
    int64_t size
    uint32_t start
    uint32_t end
    uint32_t stack
    uint16_t stream
    uint16_t pool
    uint8_t flags
    uint8_t unused
    uint16_t unused_too
    uint32_t unused_three


SPAN_FORMAT = b"T{Q:address:q:size:I:start:I:end:I:stack:H:stream:H:pool:B:flags:B:unused:H:unused_too:I:unused_three:}"


cdef class _Spans:
    cdef Bits bits
    cdef Piece *pieces
    cdef Vector spans
    cdef const uint64_t *boundaries

    def __cinit__(self, const uint64_t[::1] boundaries, uint32_t end):
        cdef Piece *whole
        vector_init(&self.spans, sizeof(Span))
        self.boundaries = &boundaries[0]
        self.pieces = <Piece *> calloc(boundaries.shape[0], sizeof(Piece))
        if self.pieces == NULL or bits_init(&self.bits, boundaries.shape[0]) < 0:
            raise MemoryError
        whole = &self.pieces[0]
        whole.stop = <uint32_t> boundaries.shape[0] - 1
        whole.end = end
        bits_set(&self.bits, 0)

    def __dealloc__(self):
        bits_free(&self.bits)
        free(self.pieces)
        vector_free(&self.spans)

    cdef int emit(self, uint32_t first, uint32_t stop, Piece *piece, uint32_t start, uint8_t flags) noexcept nogil:
        cdef Span span
        if start >= piece.end:
            return 0
        memset(&span, 0, sizeof(span))
        span.address = self.boundaries[first]
        span.size = <int64_t> (self.boundaries[stop] - self.boundaries[first])
        span.start = start
        span.end = piece.end
        span.stack = piece.stack
        span.stream = piece.stream
        span.pool = piece.pool
        span.flags = piece.flags | flags
        return vector_push(&self.spans, &span)

    cdef int replace(self, uint32_t first, uint32_t stop, uint32_t moment, bint reserves, Piece *new) noexcept nogil:
        """Going back over ``moment``, replace the pieces in ``[first, stop)`` by ``new``, and emit the former as spans.

        With ``reserves`` the range was reserved at that moment, else it was released.
        """
        cdef uint32_t at = <uint32_t> bits_before(&self.bits, first)
        cdef uint32_t inner, outer, next
        cdef Piece old, ended
        while at < stop:
            old = self.pieces[at]
            next = old.stop
            inner = max(at, first)
            outer = min(next, stop)
            if inner < outer:
                ended = old
                if reserves:
                    # the event has the stack that reserved it, the piece what is known of its end
                    ended.stack = new.stack
                    ended.stream = new.stream
                    if new.pool or not old.reserved:
                        ended.pool = new.pool
                    if old.reserved:
                        ended.flags = old.flags
                    else:
                        ended.flags = new.flags | F_END_INFERRED
                    if self.emit(inner, outer, &ended, moment, 0) < 0:
                        return -1
                elif old.reserved:
                    if self.emit(inner, outer, &ended, moment, F_START_INFERRED) < 0:
                        return -1
                if at < inner:
                    self.pieces[at].stop = inner
                else:
                    bits_clear(&self.bits, at)
                if outer < next:
                    self.pieces[outer] = old
                    bits_set(&self.bits, outer)
            at = next
        self.pieces[first] = new[0]
        self.pieces[first].stop = stop
        bits_set(&self.bits, first)
        return 0


def spans(
    const uint64_t[::1] boundaries, finals: tuple[U32, U32, U32, U16, U16, U8],
    trace: tuple[U32, U8, U32, U32, U32, U16, U16, U8], uint32_t implied_end,
) -> Buffer:
    """Return the spans of one device, in no particular order, as rows of :data:`SPAN_FORMAT`.

    ``boundaries`` are the distinct addresses at which ranges begin or stop, ascending, at least two. ``finals`` has
    the columns of the final segments: first and stop (numbers of boundaries), stack, stream, pool, flags. ``trace`` has
    the columns of the events that reserve or release, in order: moment, whether it reserves, first, stop, stack,
    stream, pool, flags. ``implied_end`` is the end of spans with neither a recorded end nor a final segment. Raises
    MemoryError.
    """
    cdef const uint32_t[::1] first = finals[0], stop = finals[1], stack = finals[2]
    cdef const uint16_t[::1] stream = finals[3], pool = finals[4]
    cdef const uint8_t[::1] flags = finals[5]
    cdef const uint32_t[::1] moments = trace[0]
    cdef const uint8_t[::1] reserves = trace[1]
    cdef const uint32_t[::1] firsts = trace[2], stops = trace[3], stacks = trace[4]
    cdef const uint16_t[::1] streams = trace[5], pools = trace[6]
    cdef const uint8_t[::1] kinds = trace[7]
    cdef _Spans result = _Spans(boundaries, implied_end)
    cdef size_t index
    cdef int64_t at
    cdef Piece new
    cdef int status = 0
    memset(&new, 0, sizeof(new))
    with nogil:
        for index in range(<size_t> first.shape[0]):
            new.end = NONE
            new.reserved = 1
            new.stack, new.stream, new.pool, new.flags = stack[index], stream[index], pool[index], flags[index]
            # of final segments that overlap, which they shouldn't, the last one counts
            status |= result.replace(first[index], stop[index], NONE, False, &new)
        index = <size_t> moments.shape[0]
        while index:
            index -= 1
            new.end = moments[index]
            new.reserved = not reserves[index]
            new.stack, new.stream, new.pool = stacks[index], streams[index], pools[index]
            new.flags = kinds[index]
            status |= result.replace(firsts[index], stops[index], moments[index], reserves[index], &new)
        at = bits_before(&result.bits, boundaries.shape[0] - 1)
        while at >= 0:
            new = result.pieces[at]
            if new.reserved:
                status |= result.emit(<uint32_t> at, new.stop, &new, 0, F_BEFORE_TRACE)
            at = bits_before(&result.bits, at - 1) if at else -1
    if status < 0:
        raise MemoryError
    return column_of(&result.spans, SPAN_FORMAT)


cdef inline int64_t index_at_or_below(const uint64_t *addresses, size_t count, uint64_t address) noexcept nogil:
    """Return the index of the last of the ascending addresses that isn't above ``address``; -1 for none."""
    cdef size_t low = 0, high = count, middle
    while low < high:
        middle = (low + high) >> 1
        if addresses[middle] <= address:
            low = middle + 1
        else:
            high = middle
    return <int64_t> low - 1


cdef class Spans:
    """Ranges of addresses in time.

    ``bases`` are the distinct addresses of spans, ascending; ``base_of`` has the index of each span's address there,
    and ``stops`` the address after each span. ``by_start`` and ``by_end`` list the spans in the order of their starts
    and of their ends.
    """

    cdef const uint64_t[::1] bases, stops
    cdef const uint32_t[::1] base_of, starts, ends, by_start, by_end

    def __cinit__(
        self, const uint64_t[::1] bases, const uint32_t[::1] base_of, const uint64_t[::1] stops,
        const uint32_t[::1] starts, const uint32_t[::1] ends, const uint32_t[::1] by_start,
        const uint32_t[::1] by_end,
    ):
        self.bases, self.base_of, self.stops = bases, base_of, stops
        self.starts, self.ends, self.by_start, self.by_end = starts, ends, by_start, by_end


def spans_of_blocks(
    const uint64_t[::1] addresses, const uint32_t[::1] starts, Spans spans not None, uint32_t[::1] found
):
    """Fill ``found`` with the span in which each block is when it begins, NEVER for none.

    Blocks are ordered by ``starts``. Raises MemoryError.
    """
    cdef const uint64_t[::1] bases = spans.bases, stops = spans.stops
    cdef const uint32_t[::1] base_of = spans.base_of, span_starts = spans.starts, span_ends = spans.ends
    cdef const uint32_t[::1] by_start = spans.by_start, by_end = spans.by_end
    cdef Bits bits
    cdef uint32_t *current
    cdef size_t index, span_count = span_starts.shape[0], next_start = 0, next_end = 0
    cdef uint32_t moment, span
    cdef int64_t at
    current = <uint32_t *> malloc((bases.shape[0] + 1) * 4)
    if bits_init(&bits, bases.shape[0] + 1) < 0 or current == NULL:
        bits_free(&bits)
        free(current)
        raise MemoryError
    with nogil:
        for index in range(<size_t> starts.shape[0]):
            moment = starts[index]
            # starts and ends are taken in the order of moments; at the same moment ends come before starts
            while True:
                if next_end < span_count and span_ends[by_end[next_end]] <= moment and (
                        next_start == span_count or span_ends[by_end[next_end]] <= span_starts[by_start[next_start]]):
                    span = by_end[next_end]
                    next_end += 1
                    if current[base_of[span]] == span:
                        bits_clear(&bits, base_of[span])
                elif next_start < span_count and span_starts[by_start[next_start]] <= moment:
                    span = by_start[next_start]
                    next_start += 1
                    current[base_of[span]] = span
                    bits_set(&bits, base_of[span])
                else:
                    break
            found[index] = NONE
            at = index_at_or_below(&bases[0], bases.shape[0], addresses[index]) if bases.shape[0] else -1
            if at >= 0:
                at = bits_before(&bits, at)
                if at >= 0 and addresses[index] < stops[current[at]]:
                    found[index] = current[at]
    bits_free(&bits)
    free(current)


def room_of_blocks(const uint32_t[::1] places, const uint32_t[::1] starts, const uint32_t[::1] ends,
                   const uint32_t[::1] by_end, const uint64_t[::1] addresses, const uint64_t[::1] stops,
                   int64_t[::1] room):
    """Fill ``room`` with the bytes that were free from each block's address on when it was allocated, up to the next
    block or to its stop.

    Blocks are ordered by ``starts``; ``by_end`` lists them in the order of their ends. ``addresses`` are the distinct
    addresses, ascending; ``places`` has the index of each block's address there, ``stops`` the address after its
    segment. Raises MemoryError.
    """
    cdef Bits bits
    cdef size_t index, count = starts.shape[0], next_end = 0
    cdef uint32_t block
    cdef uint32_t *current = <uint32_t *> calloc(addresses.shape[0] + 1, 4)
    cdef int64_t next
    cdef uint64_t stop
    if bits_init(&bits, addresses.shape[0] + 1) < 0 or current == NULL:
        bits_free(&bits)
        free(current)
        raise MemoryError
    with nogil:
        for index in range(count):
            # at the same moment ends come before starts; the end of a block that hasn't begun yet has no effect
            while next_end < count and ends[by_end[next_end]] <= starts[index]:
                block = by_end[next_end]
                next_end += 1
                if current[places[block]] == block + 1:
                    current[places[block]] = 0
                    bits_clear(&bits, places[block])
            next = bits_after(&bits, places[index])
            stop = stops[index]
            if next >= 0 and addresses[next] < stop:
                stop = addresses[next]
            room[index] = <int64_t> (stop - addresses[places[index]])
            if ends[index] > starts[index]:
                current[places[index]] = <uint32_t> index + 1
                bits_set(&bits, places[index])
    bits_free(&bits)
    free(current)
