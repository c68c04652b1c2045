# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads heaptrack's text in chunks while it is decompressed: kinds of allocations, their stacks and changes over time.

A record is a line of a letter and lower-case hexadecimal numbers. Source: ``src/analyze/accumulatedtracedata.cpp`` and
``src/interpret`` of heaptrack 1.0 to 1.5. Single events are not stored: memory grows with the number of kinds, of
stacks, and of changes per bin of time; bins are merged pairwise when there are too many.

Numbers from the file are checked before they index tables; invalid lines are skipped and counted.
"""

import os
import sys

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy, memset

from memlens.kernels.base.interning cimport Interner, intern_units
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector, column_of, vector_extend, vector_free, vector_push, vector_reserve

OK, LONG_LINE, NO_MEMORY, TOO_MUCH, TOO_MANY = range(5)

MOST_BINS = 4_096

cdef enum:
    _OK = 0
    _LONG_LINE = 1
    _NO_MEMORY = 2
    _TOO_MUCH = 3
    _TOO_MANY = 4

cdef enum:
    BINS = 4096
    LEAST_BINS = 256            # to save rows, only more bins than this are merged
    FREE_ROWS = 4_000_000       # this many rows of changes are always allowed
    LINE_BYTES = 1 << 24
    MAPPED_BYTES = 1 << 28      # of lines about mapped binaries, which a raw recording has anew after each dlopen
    INLINED_FRAMES = 256        # of one instruction
    STACK_FRAMES = 4096         # of one stack; heaptrack itself records 64 addresses

cdef uint64_t MOST_SIZE = <uint64_t> 1 << 47        # a block can't be larger than what a process can address
cdef int64_t MOST_LIVE = <int64_t> 1 << 61
cdef int64_t MOST_TIME_MS = <int64_t> 1 << 46
cdef uint32_t MOST_EVENTS = 0xFFFFFFF0
cdef uint32_t MOST_NODES = 0x7FFFFFF0
cdef uint32_t ADDRESS = 0x80000000                  # marks a line that is the upper half of an address
cdef bint LITTLE_ENDIAN = sys.byteorder == "little"

cdef uint64_t ONES = 0x0101010101010101
cdef uint64_t HIGHS = 0x8080808080808080

cdef const char **OPERATOR_NEW = ["operator new(unsigned long)", "operator new[](unsigned long)",
                                  "operator new(unsigned int)", "operator new[](unsigned int)"]


# A kind of allocation, by size and stack. ``peak`` is its live count at the peak with the number ``peak_number``; if
# that isn't the last peak, the kind hasn't changed since then, and ``live`` is the count. So a new peak costs nothing.
cdef struct Kind:
    int64_t size
    uint32_t node
    uint32_t live
    uint32_t peak
    uint32_t peak_number
    uint32_t allocations        # before the current bin
    uint32_t temporary
    uint32_t bin_allocations
    uint32_t bin_frees


cdef struct Change:
    uint32_t kind
    uint32_t allocated
    uint32_t freed


cdef struct Edge:
    int64_t time_ms
    int64_t live_bytes
    int64_t live_count
    int64_t rss_pages
    int64_t temporary           # within the bin that ends here
    int64_t peak_bytes


cdef struct Instruction:
    uint32_t first_frame        # in instruction_frames, innermost first
    uint32_t count
    bint operator_new


cdef struct Trace:
    uint32_t node
    uint16_t depth              # frames


cdef struct Pointer:
    uint64_t address
    uint32_t kind               # + 1, 0 for an empty slot


cdef inline uint64_t mixed(uint64_t value) noexcept nogil:
    value ^= value >> 33
    value *= 0xFF51AFD7ED558CCDULL
    value ^= value >> 33
    value *= 0xC4CEB9FE1A85EC53ULL
    return value ^ (value >> 33)


cdef inline bint read_hex(const uint8_t **at, const uint8_t *end, uint64_t *number) noexcept nogil:
    """Read the number at ``at`` and the space after it; False if there is none, also before another space.

    A number of more than 64 bits becomes all ones, which is too large for any field.
    """
    cdef const uint8_t *here = at[0]
    cdef uint64_t value = 0
    cdef uint8_t c
    if here >= end or here[0] == c" ":
        return False
    while here < end:
        c = here[0]
        here += 1
        if c == c" ":
            break
        if c >= c"0" and c <= c"9":
            c -= c"0"
        elif c >= c"a" and c <= c"f":
            c -= c"a" - 10
        else:
            return False
        value = 0xFFFFFFFFFFFFFFFFULL if value >> 60 else value << 4 | c
    number[0] = value
    at[0] = here
    return True


cdef inline void _store_address(uint32_t *key, uint64_t address) noexcept nogil:
    """Store the address of an unresolved frame in its key; addresses of programs have their top bit clear."""
    if address and address >> 63 == 0:
        key[1] = <uint32_t> address
        key[2] = ADDRESS | <uint32_t> (address >> 32)


cdef class Reader(Owner):
    """Reads chunks of text in :meth:`feed`; after :meth:`finish` the columns can be taken.

    Nodes form the prefix tree of all stacks: node 0 is the root, a parent comes before its children, each inlined frame
    is a node, and equal frames of one parent are one node. Frames are rows of four: the ids of function and file, the
    line, the id of the module; ids are those of strings, from 1, and 0 for none.
    """

    cdef Vector strings, string_starts, instructions, instruction_frames, traces, kinds, touched
    cdef Vector parents, node_frames, first_children, slots
    cdef size_t slots_used
    cdef Vector edges, change_offsets, changes
    cdef Vector carry, command, suppression_text, suppression_starts, mapped
    cdef Interner frames, old_kinds
    cdef Vector old_kind_numbers, pointers
    cdef size_t pointer_count
    cdef uint64_t seed
    cdef uint64_t last_allocation
    cdef int64_t live_bytes, live_count, peak_bytes, peak_time_ms, time_ms, rss_pages, peak_rss_pages
    cdef int64_t bin_peak, bin_temporary
    cdef uint32_t peaks, stamps, every
    cdef uint64_t bin_events
    cdef int status_code
    cdef bint has_command, closed
    cdef readonly uint64_t events, allocations, temporary, fed_bytes
    cdef readonly uint64_t unknown_records, bad_records, cut_stacks, unsized_kinds
    cdef readonly uint64_t unknown_frees, reused_addresses  # where events have addresses
    cdef readonly uint64_t first_bad_end    # where the first invalid line ends, in bytes of text; 0 if all are valid
    cdef readonly uint64_t heaptrack_version, file_version, page_bytes, pages
    cdef readonly bint attached, has_version, partial_line, is_raw

    def __cinit__(self):
        cdef uint32_t zero = 0
        cdef uint64_t start = 0
        self.own(&self.strings, 1)
        self.own(&self.string_starts, 8)
        self.own(&self.instructions, sizeof(Instruction))
        self.own(&self.instruction_frames, 4)
        self.own(&self.traces, sizeof(Trace))
        self.own(&self.kinds, sizeof(Kind))
        self.own(&self.touched, 4)
        self.own(&self.parents, 4)
        self.own(&self.node_frames, 4)
        self.own(&self.first_children, 4)
        self.own(&self.slots, 4)
        self.own(&self.edges, sizeof(Edge))
        self.own(&self.change_offsets, 8)
        self.own(&self.changes, sizeof(Change))
        self.own(&self.carry, 1)
        self.own(&self.command, 1)
        self.own(&self.suppression_text, 1)
        self.own(&self.mapped, 1)
        self.own(&self.suppression_starts, 8)
        self.own(&self.old_kind_numbers, 4)
        self.own(&self.pointers, sizeof(Pointer))
        self.seed = int.from_bytes(os.urandom(8), "little") | 1
        self.own_interner(&self.frames, 4, self.seed)
        self.own_interner(&self.old_kinds, 4, self.seed)
        if (vector_push(&self.string_starts, &start) < 0 or vector_push(&self.suppression_starts, &start) < 0
                or vector_push(&self.parents, &zero) < 0 or vector_push(&self.node_frames, &zero) < 0
                or vector_push(&self.first_children, &zero) < 0):
            raise MemoryError
        if self._grow_slots(1 << 12) < 0:
            raise MemoryError
        self.page_bytes = 4096
        if self._begin() < 0:
            raise MemoryError

    def feed(self, const uint8_t[::1] text: Buffer) -> int:
        """Read the next chunk, which may end anywhere. A status other than OK is final. Raises MemoryError."""
        cdef const uint8_t *at
        cdef const uint8_t *begin
        cdef const uint8_t *end
        cdef const uint8_t *line_end
        cdef const uint8_t *last
        cdef uint64_t before
        if self.status_code or self.closed or text.shape[0] == 0:
            return self.status_code
        at = &text[0]
        end = at + text.shape[0]
        begin = at
        before = self.fed_bytes
        self.fed_bytes += <uint64_t> text.shape[0]
        with nogil:
            if self.carry.count:
                line_end = <const uint8_t *> memchr(at, 10, end - at)
                last = end if line_end == NULL else line_end
                if self.carry.count + (last - at) > LINE_BYTES:
                    self.status_code = _LONG_LINE
                elif vector_extend(&self.carry, at, last - at) < 0:
                    self.status_code = _NO_MEMORY
                at = end if line_end == NULL else line_end + 1
                if line_end != NULL and self.status_code == _OK:
                    self._line(self.carry.data, self.carry.data + self.carry.count)
                    self.carry.count = 0
                    self._note_bad(before + <uint64_t> (at - begin))
            while at < end and self.status_code == _OK:
                at = self._events(at, end)
                if at >= end or self.status_code:
                    break
                line_end = <const uint8_t *> memchr(at, 10, end - at)
                if line_end == NULL:
                    if end - at > LINE_BYTES:
                        self.status_code = _LONG_LINE
                    elif vector_extend(&self.carry, at, end - at) < 0:
                        self.status_code = _NO_MEMORY
                    break
                self._line(at, line_end)
                at = line_end + 1
                self._note_bad(before + <uint64_t> (at - begin))
        if self.status_code == _NO_MEMORY:
            raise MemoryError
        return self.status_code

    def finish(self) -> None:
        """Close the last bin at the end of the text. An incomplete last line is ignored."""
        if self.closed:
            return
        self.closed = True
        self.partial_line = self.carry.count > 0
        # heaptrack's total time is the last time stamp plus a millisecond
        if self._close_bin(self.time_ms + 1) < 0:
            raise MemoryError
        # not needed after reading
        vector_free(&self.traces)
        vector_free(&self.first_children)
        vector_free(&self.slots)
        vector_free(&self.touched)
        vector_free(&self.carry)
        vector_free(&self.instructions)
        vector_free(&self.instruction_frames)
        vector_free(&self.pointers)

    @property
    def live_at_end_bytes(self) -> int:
        """The bytes that were live at the end."""
        return self.live_bytes

    @property
    def peak(self) -> tuple[int, int]:
        """The most live bytes, and the first time stamp at which they were reached, in milliseconds."""
        return self.peak_bytes, self.peak_time_ms

    @property
    def total_ms(self) -> int:
        """The run time of the program."""
        return self.time_ms + 1

    @property
    def peak_rss_bytes(self) -> int:
        """The largest recorded resident set."""
        return self.peak_rss_pages * self.page_bytes

    @property
    def string_count(self) -> int:
        """The number of strings, which are numbered from 1."""
        return self.string_starts.count - 1

    def string_at(self, size_t number) -> bytes:
        """Return a string by its number, from 1; empty for 0 and for numbers that are too large."""
        cdef uint64_t *starts = <uint64_t *> self.string_starts.data
        if number == 0 or number >= self.string_starts.count or starts[number] == starts[number - 1]:
            return b""
        return self.strings.data[starts[number - 1]:starts[number]]

    @property
    def command_line(self) -> bytes:
        """The command line of the program."""
        return self.command.data[:self.command.count] if self.command.count else b""

    @property
    def mapped_lines(self) -> bytes:
        """The lines of a raw recording that say what was mapped where."""
        return self.mapped.data[:self.mapped.count] if self.mapped.count else b""

    def suppressions(self) -> list[bytes]:
        """Return the lines of the program's leak suppressions."""
        cdef uint64_t *starts = <uint64_t *> self.suppression_starts.data
        cdef size_t number
        return [
            self.suppression_text.data[starts[number]:starts[number + 1]]
            if starts[number + 1] > starts[number] else b""
            for number in range(self.suppression_starts.count - 1)
        ]

    def take_tree(self) -> tuple[Buffer, Buffer]:
        """Move out the parents and frames of the nodes."""
        return column_of(&self.parents, b"I"), column_of(&self.node_frames, b"I")

    def take_frames(self) -> Buffer:
        """Move out the rows of all frames, four numbers each."""
        return column_of(&self.frames.units, b"I")

    def kind_columns(self, int64_t[::1] sizes, uint32_t[::1] nodes, int64_t[::1] allocations,
                     int64_t[::1] temporary, int64_t[::1] peak, int64_t[::1] live) -> None:
        """Fill columns of ``kind_count`` rows: a block's size in bytes, the stack's node, and counts of blocks."""
        cdef Kind *kinds = <Kind *> self.kinds.data
        cdef size_t row, count = self.kinds.count
        if not (<size_t> sizes.shape[0] == count == <size_t> nodes.shape[0] == <size_t> allocations.shape[0]
                == <size_t> temporary.shape[0] == <size_t> peak.shape[0] == <size_t> live.shape[0]):
            raise ValueError("columns of different lengths")
        for row in range(count):
            sizes[row] = kinds[row].size
            nodes[row] = kinds[row].node
            allocations[row] = kinds[row].allocations
            temporary[row] = kinds[row].temporary
            peak[row] = kinds[row].peak if kinds[row].peak_number == self.peaks else kinds[row].live
            live[row] = kinds[row].live

    @property
    def kind_count(self) -> int:
        """The number of kinds of allocations."""
        return self.kinds.count

    @property
    def node_count(self) -> int:
        """The number of nodes of the tree."""
        return self.parents.count

    def take_times(self) -> tuple[Buffer, Buffer, Buffer]:
        """Move out the edges, the offsets of their changes, and the changes.

        An edge is six numbers: time in milliseconds, live bytes and count, resident pages, temporary allocations and
        the most live bytes within the bin that ends there. A change is three: kind, allocations, frees.
        """
        self.edges.item_bytes, self.edges.count = 8, self.edges.count * 6
        self.changes.item_bytes, self.changes.count = 4, self.changes.count * 3
        return column_of(&self.edges, b"q"), column_of(&self.change_offsets, b"Q"), column_of(&self.changes, b"I")

    # reading

    cdef int _begin(self) noexcept nogil:
        """Reset the times to one edge at the current time."""
        cdef Edge first
        cdef uint64_t offset = 0
        self.edges.count = self.change_offsets.count = self.changes.count = 0
        self.bin_peak = self.bin_temporary = 0
        self.bin_events = 0
        self.stamps = 0
        self.every = 1
        memset(&first, 0, sizeof(first))
        first.time_ms = self.time_ms
        first.rss_pages = self.rss_pages
        if vector_push(&self.edges, &first) < 0 or vector_push(&self.change_offsets, &offset) < 0:
            return -1
        # the file does not record what was live at the first edge
        return vector_push(&self.change_offsets, &offset)

    cdef const uint8_t *_events(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        """Read consecutive plain events, and return the beginning of the first line that is not one."""
        cdef Kind *kinds = <Kind *> self.kinds.data
        cdef uint32_t *touched = <uint32_t *> self.touched.data
        cdef size_t touched_count = self.touched.count
        cdef uint64_t known = self.kinds.count
        cdef uint64_t word, mark, digits, wrong, number, last = self.last_allocation
        cdef int64_t live = self.live_bytes, peak = self.peak_bytes, bin_peak = self.bin_peak
        cdef int64_t allocations = 0, frees = 0, temporary = 0
        cdef uint32_t peaks = self.peaks
        cdef int shift
        cdef uint8_t letter
        cdef Kind *kind
        if self.file_version == 0 or self.is_raw or not LITTLE_ENDIAN:
            return at
        if self.events + <uint64_t> (end - at) > MOST_EVENTS:
            return at
        while end - at >= 10:
            letter = at[0]
            if (letter != c"+" and letter != c"-") or at[1] != c" ":
                break
            memcpy(&word, at + 2, 8)
            # the first byte that is a line break
            mark = word ^ (ONES * 10)
            mark = (mark - ONES) & ~mark & HIGHS
            if mark == 0:
                break
            digits = ((((mark & (0 - mark)) - 1) & ONES) * ONES >> 56) - 1
            if digits == 0:
                break
            # pad the digits to eight with leading zeros
            shift = <int> (8 * digits)
            word = word << (64 - shift) | (ONES * 0x30) >> shift
            # digits are 0-9 and a-f
            wrong = word & HIGHS
            wrong |= ~(((word + ONES * (0x80 - 0x30)) & ~(word + ONES * (0x80 - 0x3A)))
                       | ((word + ONES * (0x80 - 0x61)) & ~(word + ONES * (0x80 - 0x67)))) & HIGHS
            if wrong:
                break
            word = (word & (ONES * 0x0F)) + 9 * ((word >> 6) & ONES)
            # byte 0 is the highest digit
            word = (word << 4 | word >> 8) & 0x00FF00FF00FF00FFULL
            word = (word << 8 | word >> 16) & 0x0000FFFF0000FFFFULL
            number = (word << 16 | word >> 32) & 0xFFFFFFFFULL
            if number >= known:
                break
            kind = &kinds[number]
            if letter == c"+":
                if kind.bin_allocations + kind.bin_frees == 0:
                    touched[touched_count] = <uint32_t> number
                    touched_count += 1
                if kind.peak_number != peaks:
                    kind.peak_number = peaks
                    kind.peak = kind.live
                kind.live += 1
                kind.bin_allocations += 1
                allocations += 1
                live += kind.size
                last = number
                if live > bin_peak:
                    bin_peak = live
                    if live > peak:
                        peak = live
                        peaks += 1
                        self.peak_time_ms = self.time_ms
                        if live > MOST_LIVE:
                            self.status_code = _TOO_MUCH
                            break
            else:
                if kind.live == 0:
                    break
                if kind.bin_allocations + kind.bin_frees == 0:
                    touched[touched_count] = <uint32_t> number
                    touched_count += 1
                if kind.peak_number != peaks:
                    kind.peak_number = peaks
                    kind.peak = kind.live
                kind.live -= 1
                kind.bin_frees += 1
                frees += 1
                live -= kind.size
                if last == number:
                    temporary += 1
                    kind.temporary += 1
                last = 0
            at += 3 + digits
        self.touched.count = touched_count
        self.last_allocation = last
        self.live_bytes = live
        self.live_count += allocations - frees
        self.peak_bytes = peak
        self.bin_peak = bin_peak
        self.peaks = peaks
        self.events += <uint64_t> (allocations + frees)
        self.bin_events += <uint64_t> (allocations + frees)
        self.allocations += <uint64_t> allocations
        self.temporary += <uint64_t> temporary
        self.bin_temporary += temporary
        return at

    cdef inline void _note_bad(self, uint64_t end) noexcept nogil:
        if self.first_bad_end == 0 and self.bad_records + self.unknown_records + self.unsized_kinds:
            self.first_bad_end = end

    cdef void _line(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        """Read one line of any kind, without its line break."""
        cdef uint8_t letter
        cdef uint64_t number
        if at == end or at[0] == c"#":
            return
        letter = at[0]
        at = at + 2 if end - at > 2 else end
        if letter == c"t":
            self._trace(at, end)
        elif letter == c"a":
            self._kind_record(at, end)
        elif letter == c"+" or letter == c"-":
            self._event(letter, at, end)
        elif letter == c"s":
            self._string(at, end)
        elif letter == c"i":
            self._instruction(at, end)
        elif letter == c"c":
            if not read_hex(&at, end, &number) or number > <uint64_t> MOST_TIME_MS:
                self.bad_records += 1
                return
            self._time_stamp(<int64_t> number)
        elif letter == c"R":
            if not read_hex(&at, end, &number) or number > MOST_SIZE >> 12:
                self.bad_records += 1
                return
            self.rss_pages = <int64_t> number
            if self.rss_pages > self.peak_rss_pages:
                self.peak_rss_pages = self.rss_pages
            # it is recorded right after its time stamp
            if self.bin_events == 0 and self.stamps == 0:
                (<Edge *> self.edges.data)[self.edges.count - 1].rss_pages = self.rss_pages
        elif letter == c"x" or letter == c"m":
            self._module(at - 2, end)
        elif letter == c"v":
            if not read_hex(&at, end, &self.heaptrack_version):
                self.bad_records += 1
                return
            self.has_version = True
            # heaptrack before 1.0 did not write a version of the file
            if not read_hex(&at, end, &self.file_version):
                self.file_version = 1 if self.heaptrack_version == 0x010200 else 0
        elif letter == c"X":
            if self.has_command:
                self.bad_records += 1
                return
            self.has_command = True
            if vector_extend(&self.command, at, end - at) < 0:
                self.status_code = _NO_MEMORY
        elif letter == c"I":
            if not read_hex(&at, end, &number) or number == 0 or number > 1 << 30 or number & (number - 1):
                self.bad_records += 1
                return
            self.page_bytes = number
            if not read_hex(&at, end, &self.pages) or self.pages > MOST_SIZE:
                self.bad_records += 1
                self.pages = 0
        elif letter == c"S":
            self._suppression(at, end)
        elif letter == c"A":
            self._attach()
        else:
            self.unknown_records += 1

    cdef void _module(self, const uint8_t *line, const uint8_t *end) noexcept nogil:
        """Keep a line of a raw recording that says what is mapped: ``x PROGRAM``, or ``m BINARY BASE (ADDRESS SIZE)*``.

        In such a recording traces have addresses, and events those of blocks.
        """
        cdef uint8_t newline = c"\n"
        self.is_raw = True
        if self.mapped.count + <size_t> (end - line) > MAPPED_BYTES:
            self.bad_records += 1
        elif vector_extend(&self.mapped, line, end - line) < 0 or vector_push(&self.mapped, &newline) < 0:
            self.status_code = _NO_MEMORY

    cdef void _suppression(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        cdef uint64_t place
        if vector_extend(&self.suppression_text, at, end - at) < 0:
            self.status_code = _NO_MEMORY
            return
        place = self.suppression_text.count
        if vector_push(&self.suppression_starts, &place) < 0:
            self.status_code = _NO_MEMORY

    cdef void _string(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        cdef uint64_t length, place
        if self.file_version >= 3:
            # an unreadable string keeps its number, or all later numbers would be wrong
            if not read_hex(&at, end, &length) or length > <uint64_t> (end - at):
                self.bad_records += 1
                end = at
            else:
                end = at + length
        if self.string_starts.count >= MOST_NODES:
            self.status_code = _TOO_MANY
            return
        if vector_extend(&self.strings, at, end - at) < 0:
            self.status_code = _NO_MEMORY
            return
        place = self.strings.count
        if vector_push(&self.string_starts, &place) < 0:
            self.status_code = _NO_MEMORY

    cdef bint _is_operator_new(self, uint32_t string) noexcept nogil:
        cdef uint64_t *starts = <uint64_t *> self.string_starts.data
        cdef uint64_t start, length
        cdef int number
        cdef size_t known
        cdef const char *name
        if string == 0 or string >= self.string_starts.count:
            return False
        start = starts[string - 1]
        length = starts[string] - start
        if length < 26 or length > 29:
            return False
        for number in range(4):
            name = OPERATOR_NEW[number]
            known = 0
            while name[known]:
                known += 1
            if known == length and memcmp(self.strings.data + start, name, known) == 0:
                return True
        return False

    cdef inline uint32_t _string_number(self, uint64_t number) noexcept nogil:
        """Return the number of a string, or 0 if the file has no such string up to here."""
        if number >= self.string_starts.count:
            self.bad_records += 1
            return 0
        return <uint32_t> number

    cdef void _instruction(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        """Read ``IP MODULE [FUNCTION FILE LINE (FUNCTION FILE LINE)*]``; a function may be without file and line.

        If only the address is known, its halves are stored as file and line, the upper one with ``ADDRESS``.
        """
        cdef Instruction instruction
        cdef uint64_t address = 0, number, function, file, line
        cdef uint32_t key[4]
        cdef int64_t frame
        cdef uint32_t frame_number
        cdef bint is_valid = True
        if self.instructions.count >= MOST_NODES or self.instruction_frames.count >= MOST_NODES:
            self.status_code = _TOO_MANY
            return
        instruction.first_frame = <uint32_t> self.instruction_frames.count
        instruction.count = 0
        instruction.operator_new = False
        key[3] = 0
        if not read_hex(&at, end, &address):
            self.bad_records += 1
            address = 0
        elif read_hex(&at, end, &number):
            key[3] = self._string_number(number)
        else:
            is_valid = at == end
        while instruction.count < INLINED_FRAMES:
            function = file = line = 0
            if not read_hex(&at, end, &function):
                is_valid = is_valid and at == end
                break
            if not (read_hex(&at, end, &file) and read_hex(&at, end, &line)):
                is_valid = is_valid and at == end and file == 0
                # ignore an incomplete inlined frame
                if instruction.count:
                    break
                file = line = 0
            key[0] = self._string_number(function)
            key[1] = self._string_number(file)
            is_valid = is_valid and line < 0x7FFFFFFF
            key[2] = <uint32_t> line if line < 0x7FFFFFFF else 0
            if key[0] == 0 and key[1] == 0 and key[2] == 0:
                _store_address(key, address)
            if instruction.count == 0:
                instruction.operator_new = self._is_operator_new(key[0])
            frame = intern_units(&self.frames, key, 4)
            frame_number = <uint32_t> frame
            if frame < 0 or vector_push(&self.instruction_frames, &frame_number) < 0:
                self.status_code = _NO_MEMORY
                return
            instruction.count += 1
        if instruction.count == 0:
            key[0] = key[1] = key[2] = 0
            _store_address(key, address)
            frame = intern_units(&self.frames, key, 4)
            frame_number = <uint32_t> frame
            if frame < 0 or vector_push(&self.instruction_frames, &frame_number) < 0:
                self.status_code = _NO_MEMORY
                return
            instruction.count = 1
        self.bad_records += not is_valid
        if vector_push(&self.instructions, &instruction) < 0:
            self.status_code = _NO_MEMORY

    cdef void _trace(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        """Read ``INSTRUCTION PARENT``: the stack of ``PARENT`` with one more address, the innermost."""
        cdef uint64_t address, above
        cdef Trace trace
        cdef Trace *traces = <Trace *> self.traces.data
        cdef Instruction *instruction = NULL
        cdef uint32_t *frames
        cdef uint32_t nothing[4]
        cdef uint32_t unknown, number
        cdef int64_t node
        trace.node = 0
        trace.depth = 0
        if not read_hex(&at, end, &address) or not read_hex(&at, end, &above):
            self.bad_records += 1
            address = above = 0
        if above:
            if above <= self.traces.count:
                trace = traces[above - 1]
            else:
                self.bad_records += 1
        if self.is_raw:
            memset(nothing, 0, sizeof(nothing))
            _store_address(nothing, address)
        elif address and address <= self.instructions.count:
            instruction = &(<Instruction *> self.instructions.data)[address - 1]
        elif address:
            self.bad_records += 1
        if instruction == NULL or not instruction.operator_new:
            number = 1 if instruction == NULL else instruction.count
            if trace.depth + number > STACK_FRAMES:
                self.cut_stacks += 1
            else:
                trace.depth += <uint16_t> number
                if instruction == NULL:
                    if not self.is_raw:
                        memset(nothing, 0, sizeof(nothing))
                    node = intern_units(&self.frames, nothing, 4)
                    if node < 0:
                        self.status_code = _NO_MEMORY
                        return
                    unknown = <uint32_t> node
                    frames = &unknown
                else:
                    frames = <uint32_t *> self.instruction_frames.data + instruction.first_frame
                while number:
                    number -= 1
                    node = self._child(trace.node, frames[number])
                    if node < 0:
                        return
                    trace.node = <uint32_t> node
        if self.traces.count >= MOST_NODES:
            self.status_code = _TOO_MANY
        elif vector_reserve(&self.traces, self.traces.count + 1) < 0:
            self.status_code = _NO_MEMORY
        else:
            (<Trace *> self.traces.data)[self.traces.count] = trace
            self.traces.count += 1

    cdef inline uint32_t *_slot(self, uint32_t parent, uint32_t frame) noexcept nogil:
        """Return the slot of the child of ``parent`` with ``frame``, or the slot in which to put it."""
        cdef uint32_t *slots = <uint32_t *> self.slots.data
        cdef uint32_t *parents = <uint32_t *> self.parents.data
        cdef uint32_t *frames = <uint32_t *> self.node_frames.data
        cdef uint64_t mask = self.slots.count - 1
        cdef uint64_t place = mixed((<uint64_t> parent << 32 | frame) ^ self.seed) & mask
        cdef uint32_t node
        while True:
            node = slots[place]
            if node == 0 or (parents[node] == parent and frames[node] == frame):
                return &slots[place]
            place = (place + 1) & mask

    cdef int64_t _child(self, uint32_t parent, uint32_t frame) noexcept nogil:
        """Return the node of ``frame`` below ``parent``, a new one if it is missing; -1 if out of memory.

        Most nodes have one child, which is stored with its parent; only further ones are looked up by their hash.
        """
        cdef uint32_t first = (<uint32_t *> self.first_children.data)[parent]
        cdef uint32_t *slot = NULL
        cdef uint32_t node
        cdef size_t count = self.parents.count
        if first:
            if (<uint32_t *> self.node_frames.data)[first] == frame:
                return first
            slot = self._slot(parent, frame)
            if slot[0]:
                return slot[0]
        if count >= MOST_NODES:
            self.status_code = _TOO_MANY
            return -1
        if (vector_reserve(&self.parents, count + 1) < 0 or vector_reserve(&self.node_frames, count + 1) < 0
                or vector_reserve(&self.first_children, count + 1) < 0):
            self.status_code = _NO_MEMORY
            return -1
        node = <uint32_t> count
        (<uint32_t *> self.parents.data)[node] = parent
        (<uint32_t *> self.node_frames.data)[node] = frame
        (<uint32_t *> self.first_children.data)[node] = 0
        self.parents.count = self.node_frames.count = self.first_children.count = count + 1
        if slot == NULL:
            (<uint32_t *> self.first_children.data)[parent] = node
            return node
        slot[0] = node
        self.slots_used += 1
        if self.slots_used * 3 > self.slots.count * 2 and self._grow_slots(self.slots.count * 2) < 0:
            self.status_code = _NO_MEMORY
            return -1
        return node

    cdef int _grow_slots(self, size_t count) noexcept nogil:
        cdef uint32_t *slots = <uint32_t *> calloc(count, 4)
        cdef uint32_t *old = <uint32_t *> self.slots.data
        cdef uint32_t *parents = <uint32_t *> self.parents.data
        cdef uint32_t *frames = <uint32_t *> self.node_frames.data
        cdef uint32_t *slot
        cdef size_t place, old_count = self.slots.count
        if slots == NULL:
            return -1
        self.slots.data = <uint8_t *> slots
        self.slots.count = self.slots.room = count
        for place in range(old_count):
            if old[place]:
                slot = self._slot(parents[old[place]], frames[old[place]])
                slot[0] = old[place]
        free(old)
        return 0

    cdef int64_t _new_kind(self, uint64_t size, uint64_t trace) noexcept nogil:
        """Add a kind and return its number; -1 if out of memory."""
        cdef Kind kind
        memset(&kind, 0, sizeof(kind))
        if size > MOST_SIZE:
            self.unsized_kinds += 1
            size = 0
        kind.size = <int64_t> size
        if trace:
            if trace <= self.traces.count:
                kind.node = (<Trace *> self.traces.data)[trace - 1].node
            else:
                self.bad_records += 1
        if self.kinds.count >= MOST_NODES:
            self.status_code = _TOO_MANY
            return -1
        # each kind can be touched once per bin, so that events need not reserve memory
        if vector_push(&self.kinds, &kind) < 0 or vector_reserve(&self.touched, self.kinds.count) < 0:
            self.status_code = _NO_MEMORY
            return -1
        return <int64_t> self.kinds.count - 1

    cdef void _kind_record(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        """Read ``SIZE TRACE``. An unreadable kind keeps its number, or all later numbers would be wrong."""
        cdef uint64_t size, trace
        if not read_hex(&at, end, &size) or not read_hex(&at, end, &trace):
            self.unsized_kinds += 1
            size = trace = 0
        self._new_kind(size, trace)

    cdef void _event(self, uint8_t letter, const uint8_t *at, const uint8_t *end) noexcept nogil:
        """Read an event that :meth:`_events` doesn't, or one of version 0, which has size, trace and address.

        So have those of raw recordings.
        """
        cdef uint64_t number, size, trace, address = 0
        cdef int64_t kind
        cdef bint old = self.file_version == 0 or self.is_raw
        if self.events >= MOST_EVENTS:
            self.status_code = _TOO_MANY
            return
        if old and letter == c"+":
            if not (read_hex(&at, end, &size) and read_hex(&at, end, &trace) and read_hex(&at, end, &address)):
                self.bad_records += 1
                return
            kind = self._old_kind(size, trace)
            if kind < 0 or self._add_pointer(address, <uint32_t> kind) < 0:
                return
            number = <uint64_t> kind
        elif old:
            if not read_hex(&at, end, &address):
                self.bad_records += 1
                return
            kind = self._take_pointer(address)
            if kind < 0:
                # its allocation was not recorded
                self.unknown_frees += 1
                return
            number = <uint64_t> kind
        elif not read_hex(&at, end, &number):
            self.bad_records += 1
            return
        if number >= self.kinds.count:
            self.bad_records += 1
            return
        if not old or self.is_raw:
            address = number
        if letter == c"+":
            self._allocate(<uint32_t> number, address)
        else:
            self._free(<uint32_t> number, address)

    cdef void _touch(self, Kind *kind, uint32_t number) noexcept nogil:
        if kind.bin_allocations + kind.bin_frees == 0:
            (<uint32_t *> self.touched.data)[self.touched.count] = number
            self.touched.count += 1
        if kind.peak_number != self.peaks:
            kind.peak_number = self.peaks
            kind.peak = kind.live

    cdef void _allocate(self, uint32_t number, uint64_t identity) noexcept nogil:
        cdef Kind *kind = &(<Kind *> self.kinds.data)[number]
        self._touch(kind, number)
        kind.live += 1
        kind.bin_allocations += 1
        self.events += 1
        self.bin_events += 1
        self.allocations += 1
        self.live_count += 1
        self.live_bytes += kind.size
        self.last_allocation = identity
        if self.live_bytes > self.bin_peak:
            self.bin_peak = self.live_bytes
        if self.live_bytes > self.peak_bytes:
            self.peak_bytes = self.live_bytes
            self.peak_time_ms = self.time_ms
            self.peaks += 1
            if self.live_bytes > MOST_LIVE:
                self.status_code = _TOO_MUCH

    cdef void _free(self, uint32_t number, uint64_t identity) noexcept nogil:
        """Count a free. As in heaptrack, an allocation is temporary if the next event is its free.

        heaptrack compares kinds, not blocks, with 0 for "no allocation before"; the same is done here.
        """
        cdef Kind *kind = &(<Kind *> self.kinds.data)[number]
        if kind.live == 0:
            self.bad_records += 1
            return
        self._touch(kind, number)
        kind.live -= 1
        kind.bin_frees += 1
        self.events += 1
        self.bin_events += 1
        self.live_count -= 1
        self.live_bytes -= kind.size
        if self.last_allocation == identity:
            self.temporary += 1
            self.bin_temporary += 1
            kind.temporary += 1
        self.last_allocation = 0

    # version 0

    cdef int64_t _old_kind(self, uint64_t size, uint64_t trace) noexcept nogil:
        """Return the kind of a size and trace: version 0 has no records of kinds."""
        cdef uint32_t key[4]
        cdef int64_t pair, kind
        cdef uint32_t number
        key[0] = <uint32_t> size
        key[1] = <uint32_t> (size >> 32)
        key[2] = <uint32_t> trace
        key[3] = <uint32_t> (trace >> 32)
        pair = intern_units(&self.old_kinds, key, 4)
        if pair < 0:
            self.status_code = _NO_MEMORY
            return -1
        if <size_t> pair == self.old_kind_numbers.count:
            kind = self._new_kind(size, trace)
            number = <uint32_t> kind
            if kind < 0 or vector_push(&self.old_kind_numbers, &number) < 0:
                self.status_code = self.status_code or _NO_MEMORY
                return -1
        return (<uint32_t *> self.old_kind_numbers.data)[pair]

    cdef int _add_pointer(self, uint64_t address, uint32_t kind) noexcept nogil:
        cdef Pointer *old = <Pointer *> self.pointers.data
        cdef Pointer *slots
        cdef size_t count = self.pointers.count, place, index, room
        if (self.pointer_count + 1) * 2 > count:
            room = count * 2 if count else 1024
            slots = <Pointer *> calloc(room, sizeof(Pointer))
            if slots == NULL:
                self.status_code = _NO_MEMORY
                return -1
            for index in range(count):
                if old[index].kind:
                    place = mixed(old[index].address ^ self.seed) & (room - 1)
                    while slots[place].kind:
                        place = (place + 1) & (room - 1)
                    slots[place] = old[index]
            free(old)
            self.pointers.data = <uint8_t *> slots
            self.pointers.count = self.pointers.room = room
            old = slots
            count = room
        place = mixed(address ^ self.seed) & (count - 1)
        while old[place].kind and old[place].address != address:
            place = (place + 1) & (count - 1)
        if old[place].kind == 0:
            self.pointer_count += 1
        else:
            self.reused_addresses += 1
        old[place].address = address
        old[place].kind = kind + 1
        return 0

    cdef int64_t _take_pointer(self, uint64_t address) noexcept nogil:
        """Remove the block at ``address``, and return its kind; -1 if it is unknown."""
        cdef Pointer *slots = <Pointer *> self.pointers.data
        cdef size_t count = self.pointers.count, place, hole, home
        cdef int64_t kind
        if count == 0:
            return -1
        place = mixed(address ^ self.seed) & (count - 1)
        while slots[place].kind and slots[place].address != address:
            place = (place + 1) & (count - 1)
        if slots[place].kind == 0:
            return -1
        kind = <int64_t> slots[place].kind - 1
        # close the hole with later entries that are not in their first slot
        hole = place
        while True:
            place = (place + 1) & (count - 1)
            if slots[place].kind == 0:
                break
            home = mixed(slots[place].address ^ self.seed) & (count - 1)
            if ((place - home) & (count - 1)) >= ((place - hole) & (count - 1)):
                slots[hole] = slots[place]
                hole = place
        slots[hole].kind = 0
        self.pointer_count -= 1
        return kind

    # time

    cdef void _attach(self) noexcept nogil:
        """Reset all counts: heaptrack was attached to a running program here."""
        cdef Kind *kinds = <Kind *> self.kinds.data
        cdef size_t row
        if self.attached:
            self.bad_records += 1
            return
        self.attached = True
        for row in range(self.kinds.count):
            kinds[row].live = kinds[row].peak = kinds[row].peak_number = kinds[row].allocations = 0
            kinds[row].temporary = kinds[row].bin_allocations = kinds[row].bin_frees = 0
        self.touched.count = 0
        self.peaks = 0
        self.live_bytes = self.live_count = self.peak_bytes = self.peak_time_ms = 0
        self.allocations = self.temporary = 0
        self.last_allocation = 0
        if self._begin() < 0:
            self.status_code = _NO_MEMORY

    cdef void _time_stamp(self, int64_t time_ms) noexcept nogil:
        """Advance the time, and close the bin after as many time stamps as bins have by now."""
        if time_ms <= self.time_ms:
            return
        self.stamps += 1
        if self.stamps >= self.every:
            if self._close_bin(time_ms) < 0:
                self.status_code = _NO_MEMORY
        self.time_ms = time_ms

    cdef int _close_bin(self, int64_t time_ms) noexcept nogil:
        cdef Kind *kinds = <Kind *> self.kinds.data
        cdef uint32_t *touched = <uint32_t *> self.touched.data
        cdef Kind *kind
        cdef Change *change
        cdef Edge edge
        cdef size_t index, base = self.changes.count
        cdef uint64_t offset
        cdef size_t most_rows = FREE_ROWS if self.kinds.count * 3 < FREE_ROWS else self.kinds.count * 3
        if vector_reserve(&self.changes, base + self.touched.count) < 0:
            return -1
        for index in range(self.touched.count):
            kind = &kinds[touched[index]]
            change = &(<Change *> self.changes.data)[base + index]
            change.kind = touched[index]
            change.allocated = kind.bin_allocations
            change.freed = kind.bin_frees
            kind.allocations += kind.bin_allocations
            kind.bin_allocations = kind.bin_frees = 0
        self.changes.count = base + self.touched.count
        self.touched.count = 0
        edge.time_ms = time_ms
        edge.live_bytes = self.live_bytes
        edge.live_count = self.live_count
        edge.rss_pages = self.rss_pages
        edge.temporary = self.bin_temporary
        edge.peak_bytes = self.bin_peak
        offset = self.changes.count
        if vector_push(&self.edges, &edge) < 0 or vector_push(&self.change_offsets, &offset) < 0:
            return -1
        self.bin_peak = self.live_bytes
        self.bin_temporary = 0
        self.bin_events = 0
        self.stamps = 0
        if self.edges.count > BINS or (self.changes.count > most_rows and self.edges.count > LEAST_BINS):
            return self._merge()
        return 0

    cdef int _merge(self) noexcept nogil:
        """Merge every two bins, and double the length of following ones."""
        cdef Edge *edges = <Edge *> self.edges.data
        cdef uint64_t *offsets = <uint64_t *> self.change_offsets.data
        cdef Change *changes = <Change *> self.changes.data
        # a kind's row + 1 within the merged bin; rows of earlier bins are below ``first``, and are ignored
        cdef uint32_t *rows = <uint32_t *> calloc(self.kinds.count + 1, 4)
        cdef size_t edge, last, merged = 0, written = 0, first, row
        cdef uint32_t known
        if rows == NULL:
            return -1
        # edge 0 has no changes; its offsets are the first two
        edge = 0
        while edge + 1 < self.edges.count:
            last = edge + 2 if edge + 2 < self.edges.count else edge + 1
            first = written
            # the rows of edge e are from offsets[e] to offsets[e + 1]
            for row in range(offsets[edge + 1], offsets[last + 1]):
                known = rows[changes[row].kind]
                if known > first:
                    changes[known - 1].allocated += changes[row].allocated
                    changes[known - 1].freed += changes[row].freed
                    continue
                changes[written] = changes[row]
                written += 1
                rows[changes[row].kind] = <uint32_t> written
            merged += 1
            if last == edge + 2:
                if edges[edge + 1].peak_bytes > edges[last].peak_bytes:
                    edges[last].peak_bytes = edges[edge + 1].peak_bytes
                edges[last].temporary += edges[edge + 1].temporary
            edges[merged] = edges[last]
            offsets[merged + 1] = written
            edge = last
        free(rows)
        self.edges.count = merged + 1
        self.change_offsets.count = merged + 2
        self.changes.count = written
        self.every *= 2
        return 0
