# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Live memory by group: the bytes of each group in each column of a picture, and the allocations visible in it.

Allocations are numbered in the order of their starts, and columns show ascending moments. So the allocations that are
new in a column are those that started since the column before and are live at its moment; the tables of largest ends
find them without examining the others. Each is added in the first column that shows it, and subtracted in the first
that no longer does; the running sum over the columns is exact.

Within the area of its group, larger allocations are below smaller ones, and of equal ones the older is below. So those
that are tall enough to be visible are at the bottom at any zoom, and the rest is one piece above them.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int64_t
from libc.string cimport memcmp, memset

from memlens.kernels.base.bits cimport lowest_bit
from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_extend, vector_push, vector_free, column_of,
)
from memlens.kernels.trace.picture cimport (
    BAND_BYTES, RECT_BYTES, Columns, Lives, Moments, collect, column_of_end, columns_init,
)
from memlens.kernels.trace.strips cimport (
    Band, Rect, Strips, add_item, close_all, quantum, replace_items, strips_begin, strips_free, strips_init,
    take_strips,
)

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF
cdef uint32_t MERGED = <uint32_t> 0x80000000

cdef enum:
    LEAST_HIGHLIGHTED = 8   # quarters of a row: what is highlighted is at least so tall
    BYTES = 0
    COUNT = 1
    HIGHLIGHTED = 2
    C_GROUP_MASK = 0xFF
    C_HIGHLIGHTED_BIT = 0x100

GROUP_MASK, HIGHLIGHTED_BIT = C_GROUP_MASK, C_HIGHLIGHTED_BIT
"""Parts of a merged rect's ``band``: its group + 1, and a bit for the highlighted part of the group."""

cdef fused Code:
    uint8_t
    uint32_t


cdef struct Visible:
    # an allocation that is tall enough to be visible
    int64_t size
    uint32_t row
    uint16_t x0, x1         # its columns
    uint8_t group, highlighted


def live_by_group(
    Lives lives not None, const Code[::1] codes: U8 | U32, const uint8_t[::1] highlighted, Moments shown not None,
    int64_t[:, :, ::1] sums, int64_t least_bytes,
) -> Buffer:
    """Sum the live allocations in the ``shown`` columns by group.

    ``codes`` has the group of each allocation. ``sums``, int64[layers, columns, groups], must be zeros; it has one, two
    or three layers: bytes, the number of allocations, and the bytes of those that ``highlighted`` flags. Returns the
    allocations of at least ``least_bytes``, with the columns that show them. Raises MemoryError.
    """
    cdef const int64_t[::1] sizes = lives.sizes
    cdef const uint32_t[::1] ends = lives.ends, moments = shown.moments, stops = shown.stops
    cdef size_t first_column = shown.first, last_column = shown.last
    cdef Columns columns
    cdef Vector arrivals, visible
    cdef Visible one
    cdef size_t column, number, gone, start = 0, at, groups = sums.shape[2], layers = sums.shape[0]
    cdef uint32_t row
    cdef int64_t size
    cdef size_t code
    cdef bint failed = False
    vector_init(&arrivals, 4)
    vector_init(&visible, sizeof(Visible))
    if first_column < last_column and sizes.shape[0]:
        with nogil:
            columns_init(&columns, &moments[0], first_column, last_column)
            for column in range(first_column, last_column):
                arrivals.count = 0
                at = collect(&ends[0], &lives.ends_64[0], &lives.ends_4096[0], start, stops[column], moments[column],
                             <size_t> -1, &arrivals)
                if at == <size_t> -1:
                    failed = True
                    break
                start = stops[column] if stops[column] > start else start
                for number in range(arrivals.count):
                    row = (<uint32_t *> arrivals.data)[number]
                    size, code = sizes[row], codes[row]
                    if code >= groups:
                        continue
                    gone = column_of_end(&columns, column, ends[row])
                    sums[BYTES, column, code] += size
                    if gone < last_column:
                        sums[BYTES, gone, code] -= size
                    if layers > COUNT:
                        sums[COUNT, column, code] += 1
                        if gone < last_column:
                            sums[COUNT, gone, code] -= 1
                    if layers > HIGHLIGHTED and highlighted[row]:
                        sums[HIGHLIGHTED, column, code] += size
                        if gone < last_column:
                            sums[HIGHLIGHTED, gone, code] -= size
                    if size >= least_bytes:
                        one.size, one.row = size, row
                        one.x0, one.x1 = <uint16_t> column, <uint16_t> gone
                        one.group = <uint8_t> code
                        one.highlighted = highlighted[row] if layers > HIGHLIGHTED else 0
                        if vector_push(&visible, &one) < 0:
                            failed = True
                            break
                if failed:
                    break
            for number in range(layers):
                for column in range(first_column + 1, last_column):
                    for code in range(groups):
                        sums[number, column, code] += sums[number, column - 1, code]
    vector_free(&arrivals)
    if failed:
        vector_free(&visible)
        raise MemoryError
    return column_of(&visible, b"T{q:size:I:row:H:x0:H:x1:B:group:B:highlighted:xxxxxx}")


cdef class Slots:
    """Visible allocations in slots, 64 to a block, by the columns that show them.

    Those of group ``g`` are in the blocks from ``blocks_of[g]`` on, from bottom to top. ``sizes``, ``rows`` and
    ``highlighted`` are by slot. Column ``c`` is the first to show the slots
    ``entering[entering_from[c]:entering_from[c + 1]]``; ``leaving`` has those that it no longer shows in the same way.
    """

    cdef const uint32_t[::1] blocks_of, rows, entering, entering_from, leaving, leaving_from
    cdef const int64_t[::1] sizes
    cdef const uint8_t[::1] highlighted

    def __cinit__(
        self, const uint32_t[::1] blocks_of, const int64_t[::1] sizes, const uint32_t[::1] rows,
        const uint8_t[::1] highlighted, const uint32_t[::1] entering, const uint32_t[::1] entering_from,
        const uint32_t[::1] leaving, const uint32_t[::1] leaving_from,
    ):
        self.blocks_of, self.sizes, self.rows, self.highlighted = blocks_of, sizes, rows, highlighted
        self.entering, self.entering_from = entering, entering_from
        self.leaving, self.leaving_from = leaving, leaving_from


cdef class _Layout:
    """Turns sums and allocations, column by column, into rects."""

    cdef Strips strips
    cdef Vector slivers, band_of, bits, block_sums
    cdef Slots slots

    def __cinit__(self, Slots slots):
        self.slots = slots
        strips_init(&self.strips)
        vector_init(&self.slivers, sizeof(Rect))
        vector_init(&self.band_of, 4)
        vector_init(&self.bits, 8)
        vector_init(&self.block_sums, 8)

    def __dealloc__(self):
        strips_free(&self.strips)
        vector_free(&self.slivers)
        vector_free(&self.band_of)
        vector_free(&self.bits)
        vector_free(&self.block_sums)

    cdef size_t packed_bytes(self) noexcept nogil:
        return (self.strips.rects.count + self.slivers.count) * RECT_BYTES + self.strips.bands.count * BAND_BYTES

    cdef inline uint32_t band(self, size_t slot, int64_t size, uint32_t row) noexcept nogil:
        """Return the band of a slot, a new one the first time; NONE if out of memory."""
        cdef uint32_t *known = &(<uint32_t *> self.band_of.data)[slot]
        cdef Band added
        if known[0] == 0:
            memset(&added, 0, sizeof(added))
            added.size, added.id = size, row
            if vector_push(&self.strips.bands, &added) < 0:
                return NONE
            known[0] = <uint32_t> self.strips.bands.count      # its number + 1
        return known[0] - 1

    cdef int sliver(self, uint32_t column, uint32_t band, uint16_t q0) noexcept nogil:
        """Draw a highlighted part that is too thin to be visible on top of everything, or extend the last such rect."""
        cdef Rect rect
        cdef size_t back = self.slivers.count
        cdef Rect *before
        cdef int64_t low = min(<int64_t> q0, self.strips.limit_q - LEAST_HIGHLIGHTED)
        if low < 0:
            low = 0
        # those of the previous column are among the last ones: a group has at most one
        while back and self.slivers.count - back < C_GROUP_MASK:
            back -= 1
            before = &(<Rect *> self.slivers.data)[back]
            if before.x1 == column and before.band == band and before.q0 == low:
                before.x1 = <uint16_t> (column + 1)
                return 0
        rect.x0, rect.x1 = <uint16_t> column, <uint16_t> (column + 1)
        rect.q0, rect.q1 = <uint16_t> low, <uint16_t> min(low + LEAST_HIGHLIGHTED, self.strips.limit_q)
        rect.band, rect.leader = band, NONE
        return vector_push(&self.slivers, &rect)

    cdef int lay_group(
        self, uint32_t column, size_t group, int64_t below, int64_t total, int64_t highlighted_bytes
    ) noexcept nogil:
        """Lay out a group that extends into the viewport, from bottom to top."""
        cdef const uint32_t *blocks_of = &self.slots.blocks_of[0]
        cdef uint64_t *bits = <uint64_t *> self.bits.data
        cdef int64_t *block_sums = <int64_t *> self.block_sums.data
        cdef int64_t at = below, top = below + total
        cdef uint16_t q0, q1, q_top = quantum(&self.strips, top), q_end
        cdef uint32_t band, merged = MERGED | <uint32_t> (group + 1), shift = <uint32_t> (2 * group)
        cdef size_t block, slot
        cdef uint64_t left
        cdef bint is_thin
        for block in range(blocks_of[group], blocks_of[group + 1]):
            left = bits[block]
            if left == 0:
                continue
            q0, q1 = quantum(&self.strips, at), quantum(&self.strips, at + block_sums[block])
            if q0 < q1 or highlighted_bytes:
                while left:
                    slot = block * 64 + lowest_bit(left)
                    left &= left - 1
                    q0 = quantum(&self.strips, at)
                    at += self.slots.sizes[slot]
                    q1 = quantum(&self.strips, at)
                    if highlighted_bytes and self.slots.highlighted[slot]:
                        highlighted_bytes -= self.slots.sizes[slot]
                    if q1 > q0:
                        band = self.band(slot, self.slots.sizes[slot], self.slots.rows[slot])
                        if band == NONE:
                            return -1
                        if add_item(
                            &self.strips, <uint32_t> slot + shift, band, self.slots.rows[slot], NONE, q0, q1
                        ) < 0:
                            return -1
            else:
                at += block_sums[block]
        # the allocations that are too thin for bands of their own, the highlighted ones first
        q0, slot = quantum(&self.strips, at), <size_t> blocks_of[group + 1] * 64
        if highlighted_bytes > 0:
            q_end = quantum(&self.strips, at + highlighted_bytes)
            is_thin = q_end < q0 + LEAST_HIGHLIGHTED and at + highlighted_bytes >= self.strips.y0
            if is_thin and q0 < self.strips.limit_q:
                if q_top >= q0 + LEAST_HIGHLIGHTED:
                    q_end = q0 + LEAST_HIGHLIGHTED
                elif self.sliver(column, merged | C_HIGHLIGHTED_BIT, q0) < 0:
                    return -1
            if q_end > q0:
                band = merged | C_HIGHLIGHTED_BIT
                if add_item(&self.strips, <uint32_t> slot + shift, band, NONE, NONE, q0, q_end) < 0:
                    return -1
            q0 = q_end
        if q_top > q0 and add_item(&self.strips, <uint32_t> slot + shift + 1, merged, NONE, NONE, q0, q_top) < 0:
            return -1
        return 0


def lay_out(
    const int64_t[:, :, ::1] sums, Slots slots not None, Moments shown not None, double y0, double y1,
    uint32_t pixel_rows, size_t most_bytes,
) -> tuple[Buffer, Buffer] | float:
    """Lay out the ``shown`` columns; groups are stacked in the order of their numbers.

    ``sums`` are those of :func:`live_by_group`.

    Returns ``(rects, bands)``, or if these would take more than ``most_bytes`` of a packed answer, roughly the factor
    by which they exceed it. The ``band`` of a merged rect consists of :data:`GROUP_MASK` and :data:`HIGHLIGHTED_BIT`.
    """
    cdef _Layout layout = _Layout(slots)
    cdef const uint32_t[::1] entering = slots.entering, entering_from = slots.entering_from
    cdef const uint32_t[::1] leaving = slots.leaving, leaving_from = slots.leaving_from
    cdef const int64_t[::1] sizes = slots.sizes
    cdef size_t first_column = shown.first, last_column = shown.last
    cdef size_t column, group, number, slot, done = 0, groups = sums.shape[2], blocks = slots.blocks_of[groups]
    cdef bint has_highlighted = sums.shape[0] > HIGHLIGHTED, same
    cdef int64_t below, total, highlighted_bytes
    cdef int status = 0
    cdef bint is_seen
    cdef uint64_t *bits
    cdef int64_t *block_sums
    cdef double row = (y1 - y0) / pixel_rows
    strips_begin(&layout.strips, y0, row, pixel_rows)
    if (
        vector_reserve(&layout.bits, blocks + 1) < 0 or vector_reserve(&layout.block_sums, blocks + 1) < 0
        or vector_reserve(&layout.band_of, blocks * 64 + 1) < 0
    ):
        raise MemoryError
    bits, block_sums = <uint64_t *> layout.bits.data, <int64_t *> layout.block_sums.data
    with nogil:
        memset(bits, 0, blocks * 8)
        memset(block_sums, 0, blocks * 8)
        memset(layout.band_of.data, 0, blocks * 64 * 4)
        for column in range(first_column, last_column):
            if layout.packed_bytes() > most_bytes:
                break
            done += 1
            for number in range(leaving_from[column], leaving_from[column + 1]):
                slot = leaving[number]
                bits[slot >> 6] &= ~(<uint64_t> 1 << (slot & 63))
                block_sums[slot >> 6] -= sizes[slot]
            for number in range(entering_from[column], entering_from[column + 1]):
                slot = entering[number]
                bits[slot >> 6] |= <uint64_t> 1 << (slot & 63)
                block_sums[slot >> 6] += sizes[slot]
            same = (
                column > first_column and leaving_from[column] == leaving_from[column + 1]
                and entering_from[column] == entering_from[column + 1] and not has_highlighted
                and memcmp(&sums[BYTES, column, 0], &sums[BYTES, column - 1, 0], groups * 8) == 0
            )
            if same:
                continue
            layout.strips.fresh.count = 0
            below = 0
            for group in range(groups):
                total = sums[BYTES, column, group]
                is_seen = quantum(&layout.strips, below + total) > 0
                # a group without visible height may still have something to highlight
                if is_seen and quantum(&layout.strips, below) < layout.strips.limit_q and total > 0:
                    highlighted_bytes = sums[HIGHLIGHTED, column, group] if has_highlighted else 0
                    status = layout.lay_group(<uint32_t> column, group, below, total, highlighted_bytes)
                    if status < 0:
                        break
                below += total
            if status < 0 or replace_items(&layout.strips, 0, column) < 0:
                status = -1
                break
        if status == 0:
            status = close_all(&layout.strips, last_column)
            if status == 0:
                status = vector_extend(&layout.strips.rects, layout.slivers.data, layout.slivers.count)
                layout.slivers.count = 0
    if status < 0:
        raise MemoryError
    if layout.packed_bytes() > most_bytes:
        return <double> layout.packed_bytes() / max(most_bytes, 1) * (last_column - first_column) / max(done, 1)
    return take_strips(&layout.strips)
