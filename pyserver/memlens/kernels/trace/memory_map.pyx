# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rectangles at fixed heights: items with an address and a lifetime, drawn to columns that show moments.

An item at least a row tall is a rect of its own. The thinner items of a row are merged into runs along the row: a run
has the number of its items, how much of the row's height they fill at most, and one of the largest as its leader.
"""

from libc.math cimport ceil, floor
from libc.stdint cimport uint8_t, uint16_t, uint32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_push_u32, vector_free, column_of,
)
from memlens.kernels.trace.picture cimport (
    BAND_BYTES, RECT_BYTES, Columns, Lives, Moments, collect, column_of_end, columns_init,
)

cdef uint32_t NONE = <uint32_t> 0xFFFFFFFF
cdef uint32_t MERGED = <uint32_t> 0x80000000
cdef uint16_t NO_COLUMN = <uint16_t> 0xFFFF

cdef enum:
    QUANTA = 4              # edges are rounded to quarters of a row
    MOST_KEPT = 1 << 19     # thin items for which memory is kept between pictures: 4 MB, and 8 MB for their lists
    SAMPLED = 8             # an estimate examines one column in this many,
    FEW_ITEMS = 50_000      # and isn't worthwhile for fewer items than this

cdef double SURE_EXCESS = 1.05   # an answer that is expected to exceed the limit by this factor won't fit

cdef struct Rect:
    uint16_t x0, x1, y0, y1
    uint32_t band
    uint32_t leader


cdef struct Thin:
    # an item that is less than a row tall
    uint32_t item
    uint16_t row            # of the picture
    uint16_t stop           # the first column that no longer shows it


cdef struct Node:
    # a thin item in the list of those that stop in a column
    int64_t size_bytes
    uint32_t next
    uint16_t row


cdef struct Row:
    # the thin items in a row of the picture, and the run that is open in it: 64 bytes, a cache line
    int64_t filled          # bytes of the items that last for more than one column
    int64_t passing_filled  # bytes of the others, in the last column that had any
    int64_t most_filled     # the most bytes in a column of the run
    int64_t leader_bytes
    uint32_t leader         # the largest item in the run
    uint32_t run_count      # items in the run
    uint32_t count
    uint32_t passing_count
    uint16_t passing_column
    uint16_t start          # first column of the run; NO_COLUMN if none is open
    uint16_t hole           # the column from which on the run is empty; NO_COLUMN if it isn't
    uint16_t queued_for     # the column + 1 for which the row was last queued
    uint16_t large_stop, lasting_stop
    uint32_t arrived        # items that are new in that column


cdef struct Candidates:
    # the items that may lead a row's next run
    int64_t arrived_bytes
    int64_t large_bytes
    uint32_t arrived        # the largest of those that are new in the column for which the row is queued
    uint32_t large          # a large one of those that last for more than one column
    uint32_t lasting        # the one that lasts longest


RECT_FORMAT = b"T{H:x0:H:x1:H:y0:H:y1:I:band:I:leader:}"


cdef class Layer:
    """Draws items as rects: :meth:`gather` them, then call :meth:`lay` until the answer is small enough.

    A layer can be used again for the next picture. It keeps a few megabytes of memory for that, since allocating these
    anew would take a sixth of the time of a picture.
    """

    cdef Vector rects, bands, thin, begins, arrivals, queue, heads, nodes
    cdef Row *rows
    cdef Candidates *candidates
    cdef uint8_t *used          # by row: whether it has a thin item
    cdef size_t row_count, tall, open_runs
    cdef uint32_t first, last
    cdef double row_bytes
    cdef int64_t quarters[QUANTA - 1]
    cdef const int64_t[::1] sizes

    def __cinit__(self):
        vector_init(&self.rects, sizeof(Rect))
        vector_init(&self.bands, 4)
        vector_init(&self.thin, sizeof(Thin))
        vector_init(&self.begins, 4)
        vector_init(&self.nodes, sizeof(Node))
        vector_init(&self.arrivals, 4)
        vector_init(&self.queue, 4)
        vector_init(&self.heads, 4)

    def __dealloc__(self):
        vector_free(&self.rects)
        vector_free(&self.bands)
        vector_free(&self.thin)
        vector_free(&self.begins)
        vector_free(&self.nodes)
        vector_free(&self.arrivals)
        vector_free(&self.queue)
        vector_free(&self.heads)
        self.free_rows()

    cdef void free_rows(self) noexcept nogil:
        free(self.rows)
        free(self.candidates)
        free(self.used)
        self.rows, self.candidates, self.used = NULL, NULL, NULL

    cdef void reset(self) noexcept nogil:
        """Drop the items of the previous picture."""
        self.free_rows()
        self.rects.count, self.bands.count, self.thin.count, self.tall = 0, 0, 0, 0
        if self.thin.room > MOST_KEPT:
            vector_free(&self.thin)
        if self.nodes.room > MOST_KEPT:
            vector_free(&self.nodes)

    def gather(
        self, Lives lives not None, const int64_t[::1] ys, Moments shown not None, double y0, double y1, uint32_t rows,
        size_t most_bytes,
    ) -> float:
        """Separate the visible items into rects of their own and thin ones. ``ys`` has the height of each.

        Returns 0, or roughly the factor by which the rects exceed ``most_bytes``. Raises MemoryError.
        """
        cdef const uint32_t[::1] ends = lives.ends, moments = shown.moments, stops = shown.stops
        cdef uint32_t first = <uint32_t> shown.first, last = <uint32_t> shown.last
        cdef Columns columns
        cdef uint32_t column, seen = 0
        cdef size_t at = 0
        cdef int status = 0
        cdef double expected
        self.first, self.last, self.row_count, self.sizes = first, last, rows, lives.sizes
        self.row_bytes = (y1 - y0) / rows
        for column in range(QUANTA - 1):
            # an excess of a thousandth of a quarter is ignored
            self.quarters[column] = <int64_t> ceil(self.row_bytes * (column + 1.001) / QUANTA)
        self.reset()
        self.rows = <Row *> calloc(rows, sizeof(Row))
        self.candidates = <Candidates *> calloc(rows, sizeof(Candidates))
        self.used = <uint8_t *> calloc(rows, 1)
        if self.rows == NULL or self.candidates == NULL or self.used == NULL:
            raise MemoryError
        if vector_reserve(&self.begins, last + 1) < 0:
            raise MemoryError
        if first >= last or ends.shape[0] == 0:
            return 0.0
        with nogil:
            expected = self.expected_bytes(lives, shown, &ys[0], y0, y1)
        expected /= max(most_bytes, 1)
        if expected > SURE_EXCESS:
            return expected
        with nogil:
            columns_init(&columns, &moments[0], first, last)
            for column in range(first, last):
                (<uint32_t *> self.begins.data)[column] = <uint32_t> self.thin.count
                self.arrivals.count = 0
                if collect(
                    &ends[0], &lives.ends_64[0], &lives.ends_4096[0], at, stops[column], moments[column], ends.shape[0],
                    &self.arrivals,
                ) == <size_t> -1:
                    status = -1
                    break
                at = max(at, <size_t> stops[column])
                status = self.place(&columns, column, &ends[0], &ys[0], y0, y1)
                seen += 1
                if status < 0 or self.packed_bytes() > most_bytes:
                    break
            (<uint32_t *> self.begins.data)[last] = <uint32_t> self.thin.count
            self.tall = self.rects.count
        if status < 0:
            raise MemoryError
        if self.packed_bytes() <= most_bytes:
            return 0.0
        return <double> self.packed_bytes() / max(most_bytes, 1) * (last - first) / seen

    cdef double expected_bytes(
        self, Lives lives, Moments shown, const int64_t *ys, double y0, double y1
    ) noexcept nogil:
        """Estimate from every eighth column how many bytes the items at least a row tall take; 0 for few items."""
        cdef size_t index, tall = 0
        cdef uint32_t column, group, item
        cdef double low, high
        cdef const uint32_t *stops = &shown.stops[0]
        if stops[self.last - 1] - stops[self.first] < FEW_ITEMS:
            return 0
        for group in range((self.last - self.first) // SAMPLED):
            column = self.first + group * SAMPLED + SAMPLED // 2
            self.arrivals.count = 0
            if collect(
                &lives.ends[0], &lives.ends_64[0], &lives.ends_4096[0], stops[column - 1], stops[column],
                shown.moments[column], lives.ends.shape[0], &self.arrivals,
            ) == <size_t> -1:
                return 0
            for index in range(self.arrivals.count):
                item = (<uint32_t *> self.arrivals.data)[index]
                low = <double> ys[item] - y0
                high = low + <double> self.sizes[item]
                tall += high > 0 and low < y1 - y0 and high - low >= self.row_bytes
        return <double> tall * SAMPLED * (RECT_BYTES + BAND_BYTES)

    cdef int place(self, const Columns *columns, uint32_t column, const uint32_t *ends, const int64_t *ys, double y0,
                   double y1) noexcept nogil:
        """Separate the items that a column is the first to show."""
        cdef size_t index
        cdef uint32_t item, stop
        cdef double low, high, top = y1 - y0, middle
        cdef Thin *thin
        if vector_reserve(&self.thin, self.thin.count + self.arrivals.count) < 0:
            return -1
        thin = &(<Thin *> self.thin.data)[self.thin.count]
        for index in range(self.arrivals.count):
            item = (<uint32_t *> self.arrivals.data)[index]
            low = <double> ys[item] - y0
            high = low + <double> self.sizes[item]
            if high <= 0 or low >= top:
                continue
            stop = <uint32_t> column_of_end(columns, column, ends[item])
            if high - low >= self.row_bytes:
                if self.add_tall(item, low, high, column, stop) < 0:
                    return -1
                continue
            middle = (low + high) / 2 / self.row_bytes
            if middle < 0 or middle >= self.row_count:
                continue
            thin.item, thin.row, thin.stop = item, <uint16_t> middle, <uint16_t> stop
            self.used[thin.row] = 1
            thin += 1
        self.thin.count = thin - <Thin *> self.thin.data
        return 0

    cdef int add_tall(self, uint32_t item, double low, double high, uint32_t first, uint32_t stop) noexcept nogil:
        cdef double quantum = self.row_bytes / QUANTA
        cdef int64_t limit = <int64_t> self.row_count * QUANTA
        cdef int64_t bottom = min(max(<int64_t> floor(low / quantum + 0.5), 0), limit)
        cdef int64_t top = min(max(<int64_t> floor(high / quantum + 0.5), 0), limit)
        if bottom >= top:
            return 0
        if self.add_rect(first, stop, bottom, top, <uint32_t> self.bands.count, NONE) < 0:
            return -1
        return vector_push_u32(&self.bands, item)

    @property
    def merged_rows(self) -> int:
        """The number of rows with merged items."""
        cdef size_t row, count = 0
        for row in range(self.row_count):
            count += self.used[row]
        return count

    @property
    def tall_bytes(self) -> int:
        """The bytes of the items at least a row tall in a packed answer."""
        return self.tall * RECT_BYTES + self.bands.count * BAND_BYTES

    @property
    def merged_items(self) -> int:
        """The number of items less than a row tall."""
        return self.thin.count

    cdef size_t packed_bytes(self) noexcept nogil:
        return self.rects.count * RECT_BYTES + self.bands.count * BAND_BYTES

    def lay(self, uint32_t shortest, size_t most_bytes) -> tuple[Buffer, Buffer] | float:
        """Return ``(rects, bands)``, the bands as numbers of items. The gathered items are dropped then.

        The runs of a row begin at least ``shortest`` columns apart, which reduces their number; gaps shorter than that
        may be closed. If the packed answer exceeds ``most_bytes``, or is expected to after a quarter of the columns,
        returns roughly the factor instead; the items are kept then. Raises MemoryError.
        """
        cdef double over
        self.rects.count = self.tall
        with nogil:
            over = self.lay_runs(shortest, most_bytes)
        if over < 0:
            raise MemoryError
        if over > 0:
            return over
        return column_of(&self.rects, RECT_FORMAT), column_of(&self.bands, b"I")

    cdef double lay_runs(self, uint32_t shortest, size_t most_bytes) noexcept nogil:
        """Add a rect for each run. Returns 0, the factor by which they exceed the limit, or -1 if out of memory."""
        cdef uint32_t *begins = <uint32_t *> self.begins.data
        cdef size_t row, index, tall_bytes = self.packed_bytes()
        cdef uint32_t column, columns = self.last - self.first
        cdef double over
        if tall_bytes > most_bytes:
            return 2
        if not self.thin.count:
            return 0
        if vector_reserve(&self.heads, self.last) < 0 or vector_reserve(&self.queue, self.row_count) < 0:
            return -1
        memset(self.heads.data, 0xFF, self.last * 4)
        self.nodes.count = 0
        self.open_runs = 0
        memset(self.rows, 0, self.row_count * sizeof(Row))
        memset(self.candidates, 0, self.row_count * sizeof(Candidates))
        for row in range(self.row_count):
            self.rows[row].start = NO_COLUMN
        for column in range(self.first, self.last):
            self.queue.count = 0
            if self.stop_thin(column, shortest) < 0:
                return -1
            for index in range(begins[column], begins[column + 1]):
                if self.start_thin(&(<Thin *> self.thin.data)[index], column, shortest) < 0:
                    return -1
            for index in range(self.queue.count):
                if self.update_run((<uint32_t *> self.queue.data)[index], column, shortest) < 0:
                    return -1
            over = self.overshoot(tall_bytes, most_bytes, column + 1 - self.first)
            if over > 0:
                return over
        for row in range(self.row_count):
            if self.drop_passing(row, self.last, shortest) < 0:
                return -1
            if self.rows[row].start != NO_COLUMN:
                self.open_runs -= 1
                if self.end_run(row, self.last) < 0:
                    return -1
        return self.overshoot(tall_bytes, most_bytes, columns)

    cdef inline double overshoot(self, size_t tall_bytes, size_t most_bytes, uint32_t done) noexcept nogil:
        """Extrapolate from the finished columns the factor by which the runs exceed the limit; 0 if they may fit."""
        cdef uint32_t columns = self.last - self.first
        cdef size_t runs_bytes = self.packed_bytes() - tall_bytes + self.open_runs * RECT_BYTES
        cdef double share = <double> runs_bytes / max(most_bytes - tall_bytes, 1)
        cdef double expected = share * columns / done
        return expected if share > 1 or (done * 4 >= columns and expected > SURE_EXCESS) else 0

    cdef inline void enqueue(self, size_t number, uint32_t column) noexcept nogil:
        """Queue a row, whose run is updated when the column is complete."""
        cdef Row *row = &self.rows[number]
        if row.queued_for != column + 1:
            row.queued_for = <uint16_t> (column + 1)
            row.arrived = 0
            self.candidates[number].arrived_bytes = -1
            (<uint32_t *> self.queue.data)[self.queue.count] = <uint32_t> number
            self.queue.count += 1

    cdef int stop_thin(self, uint32_t column, uint32_t shortest) noexcept nogil:
        """Remove the items of more than one column that stop in a column."""
        cdef uint32_t at = (<uint32_t *> self.heads.data)[column]
        cdef Node *node
        cdef Row *row
        while at != NONE:
            node = &(<Node *> self.nodes.data)[at]
            at = node.next
            if self.drop_passing(node.row, column, shortest) < 0:
                return -1
            row = &self.rows[node.row]
            row.count -= 1
            row.filled -= node.size_bytes
            if row.count == 0 or column - row.start >= shortest:
                self.enqueue(node.row, column)
        return 0

    cdef inline int start_thin(self, const Thin *thin, uint32_t column, uint32_t shortest) noexcept nogil:
        """Add an item that a column is the first to show."""
        cdef uint32_t item = thin.item
        cdef int64_t size_bytes = self.sizes[thin.item]
        cdef Row *row = &self.rows[thin.row]
        cdef Candidates *candidates
        cdef bint is_short = row.start != NO_COLUMN and column - row.start < shortest
        if not is_short and self.drop_passing(thin.row, column, shortest) < 0:
            return -1
        if row.passing_column != column:
            row.passing_column = <uint16_t> column
            row.passing_filled = 0
            row.passing_count = 0
        if thin.stop == column + 1:
            row.passing_count += 1
            row.passing_filled += size_bytes
        elif self.add_lasting(thin, column) < 0:
            return -1
        if is_short:
            # the run is too short to end here
            row.run_count += 1
            row.most_filled = max(row.most_filled, row.filled + row.passing_filled)
            row.hole = NO_COLUMN
            if size_bytes > row.leader_bytes:
                row.leader, row.leader_bytes = item, size_bytes
            return 0
        self.enqueue(thin.row, column)
        row.arrived += 1
        candidates = &self.candidates[thin.row]
        if size_bytes > candidates.arrived_bytes:
            candidates.arrived, candidates.arrived_bytes = item, size_bytes
        return 0

    cdef inline int add_lasting(self, const Thin *thin, uint32_t column) noexcept nogil:
        """Add an item that lasts for more than one column to its row."""
        cdef int64_t size_bytes = self.sizes[thin.item]
        cdef Row *row = &self.rows[thin.row]
        cdef Candidates *candidates = &self.candidates[thin.row]
        cdef uint32_t *head
        cdef Node *node
        row.count += 1
        row.filled += size_bytes
        if size_bytes >= candidates.large_bytes or row.large_stop <= column:
            candidates.large, candidates.large_bytes, row.large_stop = thin.item, size_bytes, thin.stop
        if thin.stop >= row.lasting_stop:
            candidates.lasting, row.lasting_stop = thin.item, thin.stop
        if thin.stop == self.last:
            return 0
        if self.nodes.count == self.nodes.room and vector_reserve(&self.nodes, self.nodes.count + 1) < 0:
            return -1
        head = &(<uint32_t *> self.heads.data)[thin.stop]
        node = &(<Node *> self.nodes.data)[self.nodes.count]
        node.size_bytes, node.row, node.next = size_bytes, thin.row, head[0]
        head[0] = <uint32_t> self.nodes.count
        self.nodes.count += 1
        return 0

    cdef inline int drop_passing(self, size_t number, uint32_t column, uint32_t shortest) noexcept nogil:
        """Remove the items that were in a row for a single column before this one, and update the row's run."""
        cdef Row *row = &self.rows[number]
        cdef uint32_t gone = row.passing_column + 1
        if row.passing_count == 0 or gone > column:
            return 0
        row.passing_count = 0
        row.passing_filled = 0
        row.arrived = 0
        self.candidates[number].arrived_bytes = -1
        return self.update_run(number, gone, shortest) if gone < column else 0

    cdef inline int fill(self, int64_t filled) noexcept nogil:
        """Return how much of a row is filled by ``filled`` bytes, in quarters rounded up, at least one."""
        cdef int quarter, filled_quarters = 1
        for quarter in range(QUANTA - 1):
            filled_quarters += filled >= self.quarters[quarter]
        return filled_quarters

    cdef int update_run(self, size_t number, uint32_t column, uint32_t shortest) noexcept nogil:
        """Continue, end or begin a row's run after the row changed in a column."""
        cdef Row *row = &self.rows[number]
        cdef int64_t filled = row.filled + row.passing_filled
        cdef uint32_t large, count = row.count + row.passing_count
        cdef Candidates *candidates
        if row.start != NO_COLUMN and column - row.start >= shortest and (
            row.hole != NO_COLUMN or count == 0 or self.fill(filled) != self.fill(row.most_filled)
        ):
            if self.end_run(number, column) < 0:
                return -1
            row.start = NO_COLUMN
            self.open_runs -= 1
        if count == 0:
            if row.start != NO_COLUMN and row.hole == NO_COLUMN:
                # the run is too short to end here, unless nothing follows
                row.hole = <uint16_t> column
            return 0
        if row.start == NO_COLUMN:
            row.start = <uint16_t> column
            row.run_count, row.most_filled, row.leader_bytes = count, filled, -1
            self.open_runs += 1
        else:
            row.run_count += row.arrived
            row.most_filled = max(row.most_filled, filled)
        row.hole = NO_COLUMN
        candidates = &self.candidates[number]
        if row.arrived and candidates.arrived_bytes > row.leader_bytes:
            row.leader, row.leader_bytes = candidates.arrived, candidates.arrived_bytes
        if row.count:
            large = candidates.large if row.large_stop > column else candidates.lasting
            if self.sizes[large] > row.leader_bytes:
                row.leader, row.leader_bytes = large, self.sizes[large]
        return 0

    cdef int end_run(self, size_t number, uint32_t column) noexcept nogil:
        """Add the rect of a row's run, which ends before ``column``."""
        cdef Row *row = &self.rows[number]
        return self.add_rect(
            row.start, min(<uint32_t> row.hole, column), number * QUANTA, number * QUANTA + self.fill(row.most_filled),
            MERGED | row.run_count, row.leader,
        )

    cdef inline int add_rect(self, uint32_t x0, uint32_t x1, int64_t y0, int64_t y1, uint32_t band,
                             uint32_t leader) noexcept nogil:
        cdef Rect *rect
        if self.rects.count == self.rects.room and vector_reserve(&self.rects, self.rects.count + 1) < 0:
            return -1
        rect = &(<Rect *> self.rects.data)[self.rects.count]
        rect.x0, rect.x1, rect.y0, rect.y1 = <uint16_t> x0, <uint16_t> x1, <uint16_t> y0, <uint16_t> y1
        rect.band, rect.leader = band, leader
        self.rects.count += 1
        return 0
