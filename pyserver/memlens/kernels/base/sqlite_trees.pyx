# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes the b-trees of an SQLite database page by page, from columns of numbers whose rows are in the tree's order.

Source: "Database File Format", sqlite.org/fileformat2.html, sections 1.6 (b-tree pages) and 2.1 (records). There are no
overflow pages: records that are too long for a page are rejected.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

PAGE_BYTES = 16384
"""Pages are read and compressed one by one: smaller ones take more room, and larger ones longer to find a row."""
LOCK_PAGE = 0x40000000 // 16384 + 1
"""The page that SQLite uses for file locks, and that is in no tree."""
MOST_RECORD_BYTES = 900
"""Records up to this length fit into a page of either kind of tree without overflow: 4,086 bytes in an index."""
MOST_COLUMNS = 32

cdef enum:
    PAGE = 16384
    MOST_RECORD = 900
    # before the record its length and the row's id, and before both a child
    MOST_CELL = 900 + 9 + 9 + 4
    COLUMNS = 32
    LEAF_HEADER = 8
    INNER_HEADER = 12

cdef uint32_t LOCK = LOCK_PAGE


cdef struct Text:
    # NULL for SQL's NULL
    const char *start
    Py_ssize_t size


cdef struct Column:
    # NULL if all rows are SQL's NULL
    const int64_t *values
    const uint8_t *missing
    const Text *texts
    Py_ssize_t text_count


cdef class Texts:
    """Texts by number; None is SQL's NULL."""

    cdef Text *started
    cdef Py_ssize_t count
    cdef list kept

    def __cinit__(self, texts: Iterable[str | None]):
        self.kept = [None if text is None else text.encode() for text in texts]
        self.count = len(self.kept)
        self.started = <Text *> malloc(max(self.count, 1) * sizeof(Text))
        if self.started == NULL:
            raise MemoryError
        cdef Py_ssize_t number
        for number, text in enumerate(self.kept):
            self.started[number].start = NULL if text is None else <const char *> <bytes> text
            self.started[number].size = 0 if text is None else len(text)

    def __dealloc__(self):
        free(self.started)

    def __len__(self) -> int:
        return self.count

    @property
    def longest_bytes(self) -> int:
        """The length of the longest text in UTF-8."""
        return max((len(text) for text in self.kept if text is not None), default=0)

    @property
    def texts(self) -> list[str | None]:
        """The texts as ``str``."""
        return [None if text is None else text.decode() for text in self.kept]


cdef inline int put_varint(uint8_t *to, uint64_t value) noexcept nogil:
    """Write big-endian groups of seven bits; return the number of bytes."""
    cdef int size = 1, at
    cdef uint64_t rest = value >> 7
    if value < 128:
        to[0] = <uint8_t> value
        return 1
    if value >> 56:
        to[8] = <uint8_t> value
        value >>= 8
        for at in range(7, -1, -1):
            to[at] = <uint8_t> (value & 0x7F) | 0x80
            value >>= 7
        return 9
    while rest:
        size += 1
        rest >>= 7
    for at in range(size - 1, -1, -1):
        to[at] = <uint8_t> (value & 0x7F) | (0x80 if at < size - 1 else 0)
        value >>= 7
    return size


cdef inline void put_be(uint8_t *to, uint64_t value, int size) noexcept nogil:
    cdef int at
    for at in range(size - 1, -1, -1):
        to[at] = <uint8_t> value
        value >>= 8


cdef inline int put_number(uint8_t *to, int64_t value, uint8_t *kind) noexcept nogil:
    """Write a number in as few bytes as possible and set its serial type; return the number of bytes."""
    cdef uint64_t bits = <uint64_t> (value if value >= 0 else ~value)
    if bits < 1 << 7:
        if value == 0 or value == 1:
            kind[0] = 8 + <uint8_t> value
            return 0
        kind[0] = 1
        to[0] = <uint8_t> value
        return 1
    if bits < 1 << 15:
        kind[0] = 2
        put_be(to, <uint64_t> value, 2)
        return 2
    if bits < 1 << 23:
        kind[0] = 3
        put_be(to, <uint64_t> value, 3)
        return 3
    if bits < <uint64_t> 1 << 31:
        kind[0] = 4
        put_be(to, <uint64_t> value, 4)
        return 4
    if bits < <uint64_t> 1 << 47:
        kind[0] = 5
        put_be(to, <uint64_t> value, 6)
        return 6
    kind[0] = 6
    put_be(to, <uint64_t> value, 8)
    return 8


cdef int put_record(const Column *columns, int count, Py_ssize_t row, uint8_t *to) noexcept nogil:
    """Write a row as a record; return its length, or -1 if it exceeds MOST_RECORD or a text's number is invalid."""
    cdef uint8_t header[COLUMNS * 3 + 2]
    cdef uint8_t body[MOST_RECORD + 8]
    cdef int at = 0, end = 0, number
    cdef int64_t value
    cdef const Column *column
    cdef const Text *text
    for number in range(count):
        column = &columns[number]
        if column.values == NULL or (column.missing != NULL and column.missing[row]):
            header[at] = 0
            at += 1
            continue
        value = column.values[row]
        if column.texts == NULL:
            # the buffer is larger than a record, so the check may come after
            end += put_number(&body[end], value, &header[at])
            at += 1
            if end > MOST_RECORD:
                return -1
            continue
        if value < 0 or value >= column.text_count:
            return -1
        text = &column.texts[value]
        if text.start == NULL:
            header[at] = 0
            at += 1
            continue
        if text.size > MOST_RECORD - end:
            return -1
        at += put_varint(&header[at], <uint64_t> (13 + 2 * text.size))
        memcpy(&body[end], text.start, <size_t> text.size)
        end += <int> text.size
    # the header's length counts itself; 32 columns of at most 3 bytes stay below the 128 that take a second byte
    if at + 1 + end > MOST_RECORD:
        return -1
    to[0] = <uint8_t> (at + 1)
    memcpy(&to[1], header, <size_t> at)
    memcpy(&to[1 + at], body, <size_t> end)
    return at + 1 + end


cdef class Tree:
    """One b-tree, whose pages are consecutive from ``first_page`` on, except for the root.

    A table's tree is keyed by the rows' ids. The trees of an index and of a table WITHOUT ROWID have records in their
    order. Pages are numbered without LOCK_PAGE here, and with it in the file.
    """

    cdef readonly Py_ssize_t rows
    cdef readonly Py_ssize_t leaves
    """The number of full leaves, which were returned."""
    cdef uint32_t first_page
    cdef bint has_rowids
    cdef int64_t last_rowid
    cdef uint8_t page[PAGE]
    cdef int cells, content, last_cell
    # a key after each full leaf: a cell of an inner page without its child
    cdef uint8_t *keys
    cdef Py_ssize_t keys_end, keys_room
    cdef Py_ssize_t *key_ends
    cdef Py_ssize_t key_room

    def __cinit__(self, first_page: int, *, has_rowids: bool):
        self.first_page = first_page
        self.has_rowids = has_rowids
        self._begin_leaf()

    def __dealloc__(self):
        free(self.keys)
        free(self.key_ends)

    cdef void _begin_leaf(self) noexcept nogil:
        memset(self.page, 0, PAGE)
        self.cells = 0
        self.content = PAGE

    cdef void _end_leaf(self) noexcept nogil:
        self.page[0] = 13 if self.has_rowids else 10
        put_be(&self.page[3], <uint64_t> self.cells, 2)
        put_be(&self.page[5], <uint64_t> self.content, 2)

    cdef int _split(self) noexcept nogil:
        """End the full page, and store the key that separates it from the next one. -1 if out of memory."""
        cdef uint8_t key[9]
        cdef uint8_t *source = key
        cdef int size
        if self.has_rowids:
            size = put_varint(key, <uint64_t> self.last_rowid)
        else:
            # the last record moves to the inner page; the next page gets the record that did not fit
            self.cells -= 1
            source = &self.page[self.content]
            size = self.last_cell
        if not self._store_key(source, size):
            return -1
        if not self.has_rowids:
            memset(source, 0, <size_t> size)
            self.content += size
            put_be(&self.page[LEAF_HEADER + 2 * self.cells], 0, 2)
        self._end_leaf()
        return 0

    cdef bint _store_key(self, const uint8_t *key, int size) noexcept nogil:
        cdef void *grown
        if self.keys_end + size > self.keys_room:
            grown = realloc(self.keys, <size_t> (2 * self.keys_room + PAGE))
            if grown == NULL:
                return False
            self.keys = <uint8_t *> grown
            self.keys_room = 2 * self.keys_room + PAGE
        if self.leaves >= self.key_room:
            grown = realloc(self.key_ends, <size_t> (2 * self.key_room + 64) * sizeof(Py_ssize_t))
            if grown == NULL:
                return False
            self.key_ends = <Py_ssize_t *> grown
            self.key_room = 2 * self.key_room + 64
        memcpy(&self.keys[self.keys_end], key, <size_t> size)
        self.keys_end += size
        self.key_ends[self.leaves] = self.keys_end
        return True

    def add(
        self, list columns: list[tuple[I64, U8 | None, Texts | None] | None], Py_ssize_t count, int64_t first_rowid=0,
    ) -> bytes:
        """Append ``count`` rows, and return the pages that they filled.

        A column is ``(values, nulls, texts)``: int64[count]; a mask uint8[count] or None; and Texts if the values are
        numbers of texts, else None. A column that is NULL in all rows, as a rowid's is, is None. Raises ValueError for
        columns of another length and for records that are too long; the tree is unusable then.
        """
        cdef Column described[COLUMNS]
        cdef const int64_t[::1] values
        cdef const uint8_t[::1] missing
        cdef Texts texts
        cdef int number, width = <int> len(columns)
        if not 0 < width <= COLUMNS:
            raise ValueError("a tree has 1 to 32 columns")
        for number in range(width):
            described[number] = Column(NULL, NULL, NULL, 0)
            if columns[number] is None or count == 0:
                continue
            values, missed, texts = columns[number]
            if values.shape[0] != count:
                raise ValueError("the columns of a tree must have the same length")
            described[number].values = &values[0]
            if missed is not None:
                missing = missed
                if missing.shape[0] != count:
                    raise ValueError("the columns of a tree must have the same length")
                described[number].missing = &missing[0]
            if texts is not None:
                described[number].texts = texts.started
                described[number].text_count = texts.count
        # a page has at least four records
        cdef Py_ssize_t room = 16, used = 0
        cdef uint8_t *out = <uint8_t *> malloc(<size_t> (room * PAGE))
        cdef void *grown
        cdef uint8_t cell[MOST_CELL]
        cdef uint8_t record[MOST_RECORD]
        cdef int size, before
        cdef Py_ssize_t row
        # 1: a record is too long; 2: no memory
        cdef int problem = 2 if out == NULL else 0
        with nogil:
            for row in range(count):
                if problem:
                    break
                size = put_record(described, width, row, record)
                if size < 0:
                    problem = 1
                    break
                before = put_varint(cell, <uint64_t> size)
                if self.has_rowids:
                    before += put_varint(&cell[before], <uint64_t> (first_rowid + row))
                if LEAF_HEADER + 2 * (self.cells + 1) + before + size > self.content:
                    if used == room:
                        grown = realloc(out, <size_t> (2 * room * PAGE))
                        if grown == NULL:
                            problem = 2
                            break
                        out = <uint8_t *> grown
                        room *= 2
                    if self._split() < 0:
                        problem = 2
                        break
                    memcpy(&out[used * PAGE], self.page, PAGE)
                    used += 1
                    self.leaves += 1
                    self._begin_leaf()
                self.last_cell = before + size
                self.content -= self.last_cell
                memcpy(&self.page[self.content], cell, <size_t> before)
                memcpy(&self.page[self.content + before], record, <size_t> size)
                put_be(&self.page[LEAF_HEADER + 2 * self.cells], <uint64_t> self.content, 2)
                self.cells += 1
                self.last_rowid = first_rowid + row
        try:
            if problem == 2:
                raise MemoryError
            if problem == 1:
                raise ValueError("a record is too long for its page, or has a text that is out of range")
            self.rows += count
            return (<const char *> out)[:used * PAGE]
        finally:
            free(out)

    def finish(self) -> tuple[bytes, bytes | None]:
        """Return the pages after those of :meth:`add`, and the root page, which is None for a tree without rows."""
        if not self.rows:
            return b"", None
        self._end_leaf()
        last = (<const char *> self.page)[:PAGE]
        if not self.leaves:
            return b"", last
        pages = [last]
        # the children of the next level: their number, the first one's page, and the number of the key after each
        cdef Py_ssize_t count = self.leaves + 1, groups, group, start, stop
        cdef uint32_t first = self.first_page
        cdef Py_ssize_t longest = 1, number
        for number in range(self.leaves):
            longest = max(longest, self.key_ends[number] - (self.key_ends[number - 1] if number else 0))
        # each key has a child's number and a pointer to the cell
        cdef Py_ssize_t most = (PAGE - INNER_HEADER) // (longest + 6) + 1
        keys = list(range(self.leaves))
        while True:
            groups = (count + most - 1) // most
            above = []
            for group in range(groups):
                # evenly, so that no page has a single child
                start, stop = count * group // groups, count * (group + 1) // groups
                pages.append(self._inner(first + start, keys[start:stop - 1]))
                if group < groups - 1:
                    above.append(keys[stop - 1])
            if groups == 1:
                root = pages.pop()
                return b"".join(pages), root
            first += count
            count, keys = groups, above

    cdef bytes _inner(self, uint32_t child, list keys):
        """Return an inner page: children from ``child`` on, with a key after each but the last."""
        cdef uint8_t page[PAGE]
        cdef int content = PAGE, place = INNER_HEADER
        cdef Py_ssize_t key, start, size
        memset(page, 0, PAGE)
        page[0] = 5 if self.has_rowids else 2
        for key in keys:
            start = self.key_ends[key - 1] if key else 0
            size = self.key_ends[key] - start
            content -= <int> size + 4
            put_be(&page[content], on_disk(child), 4)
            memcpy(&page[content + 4], &self.keys[start], <size_t> size)
            put_be(&page[place], <uint64_t> content, 2)
            place += 2
            child += 1
        put_be(&page[3], <uint64_t> len(keys), 2)
        put_be(&page[5], <uint64_t> content, 2)
        put_be(&page[8], on_disk(child), 4)
        return (<const char *> page)[:PAGE]


cdef inline uint64_t on_disk(uint32_t page) noexcept nogil:
    return page + 1 if page >= LOCK else page


def sort_rows(const uint64_t[::1] keys, uint32_t[::1] order, uint32_t[::1] spare):
    """Sort row numbers, ``order``, by the rows' keys; the sort is stable. ``spare`` is scratch space of equal length.

    Raises IndexError for a row that is out of range.
    """
    cdef Py_ssize_t count = order.shape[0], index
    cdef uint64_t all_bits = 0, same_bits = <uint64_t> 0xFFFFFFFFFFFFFFFF
    cdef uint32_t *source
    cdef uint32_t *target
    cdef uint32_t *swapped
    cdef Py_ssize_t starts[2049]
    cdef int shift, digit
    cdef uint32_t row
    if spare.shape[0] != count:
        raise IndexError("the scratch space has another length")
    if not count:
        return
    source, target = &order[0], &spare[0]
    cdef bint fits = True
    with nogil:
        for index in range(count):
            row = source[index]
            if row >= <size_t> keys.shape[0]:
                fits = False
                break
            all_bits |= keys[row]
            same_bits &= keys[row]
        if fits:
            for shift in range(0, 64, 11):
                # a digit that is equal in all keys changes nothing
                if not ((all_bits ^ same_bits) >> shift) & 2047:
                    continue
                memset(starts, 0, sizeof(starts))
                for index in range(count):
                    starts[((keys[source[index]] >> shift) & 2047) + 1] += 1
                for digit in range(2048):
                    starts[digit + 1] += starts[digit]
                for index in range(count):
                    row = source[index]
                    digit = (keys[row] >> shift) & 2047
                    target[starts[digit]] = row
                    starts[digit] += 1
                swapped = source
                source = target
                target = swapped
            if source != &order[0]:
                memcpy(&order[0], source, <size_t> count * sizeof(uint32_t))
    if not fits:
        raise IndexError("a row is out of range")


def stack_levels(const uint32_t[::1] nodes, const uint32_t[::1] parents, const uint32_t[::1] frames,
                 int64_t first_stack, int64_t most, int64_t[::1] stack_of, int64_t[::1] level_of,
                 int64_t[::1] frame_of):
    """Write a row for each of the ``most`` innermost frames of each stack, innermost first.

    Raises IndexError if the prefix tree is invalid, or the number of rows is not that of the frames.
    """
    cdef Py_ssize_t stack, at = 0, room = stack_of.shape[0]
    cdef uint32_t node
    cdef int64_t level
    cdef bint fits = level_of.shape[0] == room and frame_of.shape[0] == room
    with nogil:
        if fits:
            for stack in range(nodes.shape[0]):
                node = nodes[stack]
                level = 0
                while node and level < most:
                    if at >= room or node >= <size_t> frames.shape[0] or node >= <size_t> parents.shape[0] \
                            or parents[node] >= node:
                        fits = False
                        break
                    stack_of[at], level_of[at], frame_of[at] = first_stack + stack, level, frames[node]
                    at += 1
                    level += 1
                    node = parents[node]
                if not fits:
                    break
    if not fits or at != room:
        raise IndexError("a stack is not in the prefix tree")


def stacks_by_frame(const uint32_t[::1] nodes, const uint32_t[::1] parents, const uint32_t[::1] frames,
                    int64_t most, int64_t[::1] ends, uint32_t[::1] stack_of, uint32_t[::1] level_of):
    """Write the same rows sorted by frame, stack and level, and to ``ends`` where the rows of each frame end.

    Raises IndexError if a frame is not in ``ends``, or the number of rows is not that of the frames.
    """
    cdef Py_ssize_t stack, at, room = stack_of.shape[0]
    cdef uint32_t node, level, frame
    cdef int64_t total = 0
    cdef bint fits = level_of.shape[0] == room
    cdef Py_ssize_t turn
    with nogil:
        for at in range(ends.shape[0]):
            ends[at] = 0
        # count first, then place: after the second turn each frame's offset is the end of its rows
        for turn in range(2):
            if not fits:
                break
            for stack in range(nodes.shape[0]):
                node = nodes[stack]
                level = 0
                while node and level < most:
                    if node >= <size_t> frames.shape[0] or node >= <size_t> parents.shape[0] or parents[node] >= node:
                        fits = False
                        break
                    frame = frames[node]
                    if frame >= <size_t> ends.shape[0]:
                        fits = False
                        break
                    if turn:
                        stack_of[ends[frame]], level_of[ends[frame]] = <uint32_t> stack, level
                    ends[frame] += 1
                    level += 1
                    node = parents[node]
                if not fits:
                    break
            if fits and not turn:
                for at in range(ends.shape[0]):
                    total += ends[at]
                    ends[at] = total - ends[at]
                if total != room:
                    fits = False
    if not fits:
        raise IndexError("a stack is not in the prefix tree, or a frame is out of range")
