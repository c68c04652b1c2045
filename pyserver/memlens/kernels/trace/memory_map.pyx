# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rectangles that stay where they are: what has a height of its own and a life, drawn to columns of real moments.

What is at least a row high is a rect of its own. The thin ones of a row are merged into runs along the row: a run
says how many it holds, how much of the row's height they fill at most, and which of them is large.
"""

from libc.math cimport floor
from libc.stdint cimport uint16_t, uint32_t, uint64_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from memlens.kernels.base.vectors cimport Vector, vector_init, vector_reserve, vector_push, vector_free, column_of

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF
cdef uint32_t MERGED = <uint32_t> 0x80000000

cdef enum:
    QUANTA = 4              # edges are rounded to quarters of a row
    GUESSES = 16384
    LOOKED_AT = 16          # allocations of a run among which its leader is looked for
    RECT_BYTES = 17         # of the packed buffer
    BAND_BYTES = 17

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int lowest_bit(unsigned long long word) {
        unsigned long bit; _BitScanForward64(&bit, word); return (int)bit;
    }
    #else
    static int lowest_bit(unsigned long long word) { return __builtin_ctzll(word); }
    #endif
    """
    int lowest_bit(uint64_t word) nogil


cdef struct Rect:
    uint16_t x0, x1, y0, y1
    uint32_t band
    uint32_t leader


cdef struct Thin:
    # one that is less than a row high, in the columns from `first` on
    uint32_t row            # of the picture
    uint32_t item
    uint16_t first, stop


cdef struct Change:
    # what is different from a column on
    int64_t filled
    uint32_t comes, goes


cdef struct Row:
    # room to lay one row in: zero between two of them
    Change *changes
    uint64_t *marks         # a bit for each column with a change
    size_t words
    Vector active


cdef int row_init(Row *row, size_t columns) noexcept nogil:
    vector_init(&row.active, sizeof(Thin))
    row.words = (columns + 63) >> 6
    row.changes = <Change *> calloc(columns + 1, sizeof(Change))
    row.marks = <uint64_t *> calloc(row.words + 1, 8)
    return -1 if row.changes == NULL or row.marks == NULL else 0


cdef void row_free(Row *row) noexcept nogil:
    free(row.changes)
    free(row.marks)
    vector_free(&row.active)


RECT_FORMAT = b"T{H:x0:H:x1:H:y0:H:y1:I:band:I:leader:}"


cdef class Layer:
    """The rects of some items; :meth:`gather` first, then :meth:`lay` until the answer is small enough."""

    cdef Vector rects, bands, thin
    cdef Thin *sorted
    cdef uint32_t *row_starts
    cdef size_t rows, tall
    cdef uint32_t first, last
    cdef double row_bytes
    cdef const int64_t[:] sizes

    def __cinit__(self):
        vector_init(&self.rects, sizeof(Rect))
        vector_init(&self.bands, 4)
        vector_init(&self.thin, sizeof(Thin))

    def __dealloc__(self):
        vector_free(&self.rects)
        vector_free(&self.bands)
        vector_free(&self.thin)
        free(self.sorted)
        free(self.row_starts)

    def gather(self, const uint32_t[:] starts, const uint32_t[:] ends, const uint32_t[::1] ends_64,
               const int64_t[:] ys, const int64_t[:] sizes, const uint32_t[::1] moments, uint32_t first, uint32_t last,
               size_t stop, double y0, double y1, uint32_t rows):
        """Sort what is in view into rects of its own and thin ones. Items are ordered by their starts.

        ``moments`` is what each column shows, ascending from ``first`` to ``last``; items from ``stop`` on begin
        later. ``ends_64`` is the largest end of each 64 items, empty to look at all.
        """
        cdef uint32_t base, end_moment, start, end
        cdef size_t item, blocks = ends_64.shape[0]
        cdef uint32_t column, c0, c1, number
        cdef int status = 0
        cdef double quantum = (y1 - y0) / rows / QUANTA, low, high
        cdef int64_t limit = <int64_t> rows * QUANTA, bottom, top, row
        cdef Rect rect
        cdef Thin *thin
        cdef uint16_t guesses[GUESSES]
        cdef uint32_t guess
        cdef int shift = 0
        self.first, self.last, self.rows, self.sizes = first, last, rows, sizes
        self.row_bytes = (y1 - y0) / rows
        if first >= last:
            return
        base, end_moment = moments[first], moments[last - 1]
        self.row_starts = <uint32_t *> calloc(rows + 2, 4)
        if self.row_starts == NULL:
            raise MemoryError
        with nogil:
            # for each stretch of moments the first column at or after it, so that an end finds its column at once
            while (end_moment - base) >> shift >= GUESSES:
                shift += 1
            column = first
            for guess in range(GUESSES):
                while column < last - 1 and (moments[column] - base) >> shift < guess:
                    column += 1
                guesses[guess] = <uint16_t> column
            # the first column that shows an item's start or a later moment: it only moves on
            c0 = first
            item = 0
            while item < stop:
                start = starts[item]
                if start > end_moment:
                    break
                while moments[c0] < start:
                    c0 += 1
                # what ends by that moment is shown by no column
                if blocks and item & 63 == 0 and item + 64 <= stop and ends_64[item >> 6] <= moments[c0]:
                    item += 64
                    continue
                end = ends[item]
                if end <= moments[c0]:
                    item += 1
                    continue
                low = <double> ys[item] - y0
                high = low + <double> sizes[item]
                if high > 0 and low < y1 - y0:
                    c1 = last
                    if end <= end_moment:
                        c1 = guesses[(end - base) >> shift]
                        while moments[c1] < end:
                            c1 += 1
                    if high - low >= self.row_bytes:
                        bottom = min(max(<int64_t> floor(low / quantum + 0.5), 0), limit)
                        top = min(max(<int64_t> floor(high / quantum + 0.5), 0), limit)
                        if bottom < top:
                            rect.x0, rect.x1 = <uint16_t> c0, <uint16_t> c1
                            rect.y0, rect.y1 = <uint16_t> bottom, <uint16_t> top
                            rect.band = <uint32_t> self.bands.count
                            rect.leader = NONE
                            status |= vector_push(&self.rects, &rect)
                            number = <uint32_t> item
                            status |= vector_push(&self.bands, &number)
                    else:
                        row = <int64_t> floor((low + high) / 2 / self.row_bytes)
                        if 0 <= row < <int64_t> rows:
                            if vector_reserve(&self.thin, self.thin.count + 1) < 0:
                                status = -1
                                break
                            thin = &(<Thin *> self.thin.data)[self.thin.count]
                            thin.row, thin.item = <uint32_t> row, <uint32_t> item
                            thin.first, thin.stop = <uint16_t> c0, <uint16_t> c1
                            self.thin.count += 1
                            self.row_starts[row + 1] += 1
                item += 1
            self.tall = self.rects.count
            if status == 0:
                status = self.sort_thin()
        if status < 0:
            raise MemoryError

    cdef int sort_thin(self) noexcept nogil:
        """By row, within one by start, which is the order in which they were found."""
        cdef size_t index, row
        cdef Thin *found = <Thin *> self.thin.data
        cdef uint32_t *next = <uint32_t *> malloc((self.rows + 1) * 4)
        self.sorted = <Thin *> malloc((self.thin.count + 1) * sizeof(Thin))
        if next == NULL or self.sorted == NULL:
            free(next)
            return -1
        for row in range(self.rows):
            self.row_starts[row + 1] += self.row_starts[row]
            next[row] = self.row_starts[row]
        for index in range(self.thin.count):
            row = found[index].row
            self.sorted[next[row]] = found[index]
            next[row] += 1
        free(next)
        return 0

    def lay(self, uint32_t shortest, size_t most_bytes):
        """``(rects, bands)``, the bands as items; None when they take more than ``most_bytes`` of a packed answer.

        Runs of merged ones begin at least ``shortest`` columns after each other, so that fewer are needed: holes
        between them that are shorter than that may be closed. Once laid, the layer is empty.
        """
        cdef size_t row
        cdef int status = 0
        cdef Row now
        cdef bint small = True
        self.rects.count = self.tall
        if row_init(&now, self.last + 1) < 0:
            status = -1
        else:
            with nogil:
                small = self.packed_bytes() <= most_bytes
                if self.sorted != NULL:
                    for row in range(self.rows):
                        if not small or status < 0:
                            break
                        if self.row_starts[row] < self.row_starts[row + 1]:
                            status |= self.lay_row(<uint32_t> row, shortest, &now)
                            small = self.packed_bytes() <= most_bytes
        row_free(&now)
        if status < 0:
            raise MemoryError
        if not small:
            return None
        return column_of(&self.rects, RECT_FORMAT), column_of(&self.bands, b"I")

    @property
    def merged_rows(self):
        """How many rows hold merged ones."""
        cdef size_t row, count = 0
        if self.sorted != NULL:
            for row in range(self.rows):
                count += self.row_starts[row] < self.row_starts[row + 1]
        return count

    @property
    def tall_bytes(self):
        """What those that are at least a row high take of a packed answer."""
        return self.tall * RECT_BYTES + self.bands.count * BAND_BYTES

    @property
    def merged_items(self):
        """How many are less than a row high."""
        return self.thin.count

    cdef size_t packed_bytes(self) noexcept nogil:
        return self.rects.count * RECT_BYTES + self.bands.count * BAND_BYTES

    cdef int lay_row(self, uint32_t row, uint32_t shortest, Row *now) noexcept nogil:
        """The runs of one row."""
        cdef size_t index, word, next = self.row_starts[row], stop = self.row_starts[row + 1]
        cdef uint32_t column, count = 0, run_start = 0, held = 0, hole = NONE
        cdef int64_t filled = 0
        cdef uint64_t bits
        cdef int fill = 0, run_fill = 0
        cdef bint running = False
        cdef Thin *item
        cdef Change *change
        cdef Rect rect
        cdef int status = 0
        now.active.count = 0
        for index in range(next, stop):
            item = &self.sorted[index]
            change = &now.changes[item.first]
            change.comes += 1
            change.filled += self.sizes[item.item]
            now.marks[item.first >> 6] |= <uint64_t> 1 << (item.first & 63)
            change = &now.changes[item.stop]
            change.goes += 1
            change.filled -= self.sizes[item.item]
            now.marks[item.stop >> 6] |= <uint64_t> 1 << (item.stop & 63)
        for word in range(self.sorted[next].first >> 6, now.words):
            bits = now.marks[word]
            now.marks[word] = 0
            while bits:
                column = <uint32_t> (word << 6) | <uint32_t> lowest_bit(bits)
                bits &= bits - 1
                change = &now.changes[column]
                count += change.comes - change.goes
                filled += change.filled
                fill = 0
                if count:
                    fill = <int> (<double> filled * QUANTA / self.row_bytes + 0.999)
                    fill = min(max(fill, 1), QUANTA)
                if running and (fill != run_fill or hole != NONE) and column - run_start >= shortest:
                    rect.x0, rect.x1 = <uint16_t> run_start, <uint16_t> (min(hole, column))
                    rect.y0, rect.y1 = <uint16_t> (row * QUANTA), <uint16_t> (row * QUANTA + run_fill)
                    rect.band = MERGED | held
                    rect.leader = self.leader(&now.active, run_start)
                    status |= vector_push(&self.rects, &rect)
                    running = False
                while next < stop and self.sorted[next].first <= column:
                    status |= vector_push(&now.active, &self.sorted[next])
                    next += 1
                if fill and running:
                    held += change.comes
                    run_fill = max(run_fill, fill)
                    hole = NONE
                elif fill:
                    running = True
                    run_start, run_fill, held = column, fill, count
                    hole = NONE
                elif running:
                    # too short to end here, unless nothing follows
                    hole = min(hole, column)
                memset(change, 0, sizeof(Change))
        if running:
            rect.x0, rect.x1 = <uint16_t> run_start, <uint16_t> hole
            rect.y0, rect.y1 = <uint16_t> (row * QUANTA), <uint16_t> (row * QUANTA + run_fill)
            rect.band = MERGED | held
            rect.leader = self.leader(&now.active, run_start)
            status |= vector_push(&self.rects, &rect)
        return status

    cdef uint32_t leader(self, Vector *active, uint32_t since) noexcept nogil:
        """The largest of the last ones that were there at some time of a run; what is over is dropped on the way."""
        cdef Thin *found = <Thin *> active.data
        cdef size_t index = active.count, looked = 0, kept
        cdef uint32_t best = NONE
        while index and (looked < LOOKED_AT or best == NONE):
            index -= 1
            looked += 1
            if found[index].stop > since and (best == NONE or self.sizes[found[index].item] > self.sizes[best]):
                best = found[index].item
        kept = index
        for index in range(kept, active.count):
            if found[index].stop > since:
                found[kept] = found[index]
                kept += 1
        active.count = kept
        return best
