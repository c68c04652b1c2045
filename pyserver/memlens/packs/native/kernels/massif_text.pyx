# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans massif's text directly into columns: its snapshots, and the stacks of the detailed ones with their bytes.

A node of a tree is written as ``nK: BYTES WHERE``, with its K children on the lines below it, indented by one more
space. A node's bytes beyond those of its children belong to the node's stack, so that the bytes of a tree's stacks add
up to those of its root. Frames are texts without their addresses: call sites within one line are one frame.

Source: ``massif/ms_main.c`` and ``coregrind/m_xtree.c`` (``ms_output_group``) of valgrind.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.string cimport memchr, memcmp, memset

from memlens.kernels.base.interning cimport Interner, interner_count, interner_text, intern_units
from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.line_scan cimport LineScan, read_decimal, read_hexadecimal

import os

# statuses of a run; formats/ has the messages
OK, MORE, TRUNCATED, SYNTAX, BAD_NUMBER, BAD_TREE, TOO_DEEP, NO_MEMORY = range(8)
EMPTY, DETAILED, PEAK = NO_TREE, DETAILED_TREE, PEAK_TREE

cdef enum:
    E_OK
    E_MORE
    E_TRUNCATED
    E_SYNTAX
    E_BAD_NUMBER
    E_BAD_TREE
    E_TOO_DEEP
    E_NO_MEMORY

cdef enum:
    NO_TREE
    DETAILED_TREE
    PEAK_TREE

cdef enum:
    # valgrind's limit of --depth is 200, without inlined frames
    MAX_DEPTH = 2_000
    BELOW = 0           # the frame of all places below the threshold

# rows are numbered with 32 bits
cdef int64_t MOST_ROWS = 0xFFFFFFF0

cdef struct SnapshotRow:
    int64_t time
    int64_t heap_bytes
    int64_t extra_bytes
    int64_t stacks_bytes
    uint64_t leaves         # where its rows of leaves begin
    uint32_t tree           # EMPTY, DETAILED, PEAK
    uint32_t has_tree_line  # whether the line heap_tree= was read, the last line of a snapshot before its tree

cdef struct LeafRow:
    int64_t bytes
    uint32_t stack
    uint32_t snapshot       # row of the snapshots
    uint32_t addresses      # the number of the stack's return addresses; inlined frames share their caller's
    uint32_t unused

cdef packed struct ChangeRow:
    # of CHANGE_DTYPE
    uint32_t sample
    int64_t allocated_bytes, freed_bytes
    uint32_t allocated_count, freed_count

cdef struct OpenNode:
    # a node of the current path
    int64_t left_bytes      # not yet assigned to children
    uint64_t address
    uint32_t frame
    uint32_t left_children
    uint32_t addresses
    uint32_t unused


cdef class Scanner(LineScan):
    """Scans a whole file in steps; ``take`` then moves the tables out."""

    cdef Vector snapshots, leaves
    cdef Interner texts, stacks
    cdef OpenNode path[MAX_DEPTH]
    cdef uint32_t sequence[MAX_DEPTH]
    cdef size_t depth                       # nodes of the path
    cdef bint expects_root                  # a tree was announced, its root is next
    cdef readonly bint pages                # the roots count pages, not memory from malloc

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        self.own_table("snapshots", &self.snapshots, sizeof(SnapshotRow), SNAPSHOT_FORMAT)
        self.own_table("leaves", &self.leaves, sizeof(LeafRow), b"T{q:bytes:I:stack:I:snapshot:I:addresses:I:unused:}")
        self.own_interner(&self.texts, 1, seed)
        self.own_interner(&self.stacks, 4, seed)
        self.name_table("stack_starts", &self.stacks.starts, b"Q")
        self.name_table("stack_frames", &self.stacks.units, b"I")
        intern_units(&self.stacks, NULL, 0)         # stack 0 is empty
        intern_units(&self.texts, b"", 0)           # BELOW

    cdef size_t number(self, size_t at, size_t end, int64_t *result) noexcept nogil:
        """Read digits and return the offset after them; 0 if there are none or too many."""
        cdef size_t start = at
        if read_decimal(self.data, &at, end, result) and at > start:
            return at
        self.fail(E_BAD_NUMBER, start)
        return 0

    # ---- trees ----

    cdef int node(self, size_t at, size_t end) noexcept nogil:
        """Read a line of a tree: spaces, ``nK: BYTES WHERE``."""
        cdef size_t start = at
        cdef size_t depth
        cdef int64_t children = 0
        cdef int64_t size = 0
        cdef OpenNode *node
        cdef OpenNode *parent
        while at < end and self.data[at] == 0x20:
            at += 1
        depth = at - start
        if depth != self.depth or (depth == 0 and not self.expects_root):
            return self.fail(E_BAD_TREE, start)
        if at >= end or self.data[at] != 0x6E:
            return self.fail(E_SYNTAX, at)
        if depth >= MAX_DEPTH:
            return self.fail(E_TOO_DEEP, start)
        at = self.number(at + 1, end, &children)
        if at == 0:
            return -1
        if end - at < 2 or self.data[at] != 0x3A or self.data[at + 1] != 0x20:
            return self.fail(E_SYNTAX, at)
        at = self.number(at + 2, end, &size)
        if at == 0:
            return -1
        if children > MOST_ROWS:
            return self.fail(E_BAD_NUMBER, start)
        if at < end and self.data[at] != 0x20:
            return self.fail(E_BAD_NUMBER, at)
        at += at < end
        node = &self.path[depth]
        node.left_bytes = size
        node.left_children = <uint32_t> children
        if depth == 0:
            self.expects_root = False
            node.address = 0
            node.addresses = 0
            if end - at > 5 and memcmp(self.data + at, b"(page", 5) == 0:
                self.pages = True
        else:
            parent = &self.path[depth - 1]
            parent.left_children -= 1
            parent.left_bytes -= size
            if parent.left_bytes < 0:
                return self.fail(E_BAD_TREE, start)
            if self.where(node, parent, at, end) < 0:
                return -1
        self.depth = depth + 1
        # close nodes whose last child was read
        while self.depth and self.path[self.depth - 1].left_children == 0:
            if self.close() < 0:
                return -1
        return 0

    cdef int where(self, OpenNode *node, OpenNode *parent, size_t at, size_t end) noexcept nogil:
        """Read the frame of a node, ``0xADDRESS: FUNCTION (FILE:LINE)``, or ``in N places, all below …``."""
        cdef uint64_t address = 0
        cdef size_t start = at
        cdef size_t after
        cdef int64_t id
        node.address = 0
        if end - at > 3 and memcmp(self.data + at, b"in ", 3) == 0 and 0x30 <= self.data[at + 3] <= 0x39:
            node.frame = BELOW
            node.addresses = parent.addresses
            return 0
        after = read_hexadecimal(self.data, at, end, &address)
        if after and end - after > 2 and self.data[after] == 0x3A and self.data[after + 1] == 0x20:
            at = after + 2
            node.address = address
        if end - at >= 3 and memcmp(self.data + at, b"???", 3) == 0:
            at = start      # only the address is known
        id = intern_units(&self.texts, self.data + at, end - at)
        if id < 0 or id > MOST_ROWS:
            return self.fail(E_NO_MEMORY, at)
        node.frame = <uint32_t> id
        # inlined frames have their caller's address; recursive calls do, too, but they are the same frame
        node.addresses = parent.addresses
        if node.address != parent.address or node.frame == parent.frame or parent.addresses == 0:
            node.addresses += 1
        return 0

    cdef int close(self) noexcept nogil:
        """Remove the last node from the path; the bytes beyond those of its children are its own."""
        cdef OpenNode *node = &self.path[self.depth - 1]
        cdef LeafRow leaf
        cdef size_t index
        cdef int64_t id
        if node.left_bytes:
            for index in range(1, self.depth):
                self.sequence[index - 1] = self.path[index].frame
            id = intern_units(&self.stacks, self.sequence, self.depth - 1)
            if id < 0 or id > MOST_ROWS:
                return self.fail(E_NO_MEMORY, self.position)
            leaf.bytes = node.left_bytes
            leaf.stack = <uint32_t> id
            leaf.snapshot = <uint32_t> (self.snapshots.count - 1)
            leaf.addresses = node.addresses
            leaf.unused = 0
            if vector_push(&self.leaves, &leaf) < 0:
                return self.fail(E_NO_MEMORY, self.position)
        self.depth -= 1
        return 0

    # ---- lines ----

    cdef int line(self, size_t at, size_t end, bint is_whole) noexcept nogil:
        if end > at and (self.data[at] == 0x20 or (self.data[at] == 0x6E and self.expects_root)):
            return self.node(at, end)
        return self.field(at, end - 1 if end > at and self.data[end - 1] == 0x0D else end)

    cdef int value(self, size_t at, size_t end, int64_t *result) noexcept nogil:
        """Read digits up to the end of a line: ``1e5`` and ``0x10`` aren't numbers of massif."""
        cdef size_t after = self.number(at, end, result)
        if after == 0:
            return -1
        return 0 if after == end else self.fail(E_BAD_NUMBER, at)

    cdef int field(self, size_t at, size_t end) noexcept nogil:
        """Read a line outside trees."""
        cdef SnapshotRow *row
        cdef SnapshotRow fresh
        cdef int64_t number = 0
        cdef size_t length = end - at
        cdef const uint8_t *text = self.data + at
        if length == 0 or text[0] == 0x23:
            return 0
        if self.depth or self.expects_root:
            return self.fail(E_BAD_TREE, at)
        if length > 9 and memcmp(text, b"snapshot=", 9) == 0:
            if self.value(at + 9, end, &number) < 0:
                return -1
            memset(&fresh, 0, sizeof(fresh))
            fresh.leaves = self.leaves.count
            if <int64_t> self.snapshots.count > MOST_ROWS or vector_push(&self.snapshots, &fresh) < 0:
                return self.fail(E_NO_MEMORY, at)
            return 0
        if self.snapshots.count == 0:
            # the format reads desc, cmd and time_unit
            return 0 if memchr(text, 0x3A, length) != NULL else self.fail(E_SYNTAX, at)
        row = &(<SnapshotRow *> self.snapshots.data)[self.snapshots.count - 1]
        if length > 5 and memcmp(text, b"time=", 5) == 0:
            return self.value(at + 5, end, &row.time)
        if length > 11 and memcmp(text, b"mem_heap_B=", 11) == 0:
            return self.value(at + 11, end, &row.heap_bytes)
        if length > 17 and memcmp(text, b"mem_heap_extra_B=", 17) == 0:
            return self.value(at + 17, end, &row.extra_bytes)
        if length > 13 and memcmp(text, b"mem_stacks_B=", 13) == 0:
            return self.value(at + 13, end, &row.stacks_bytes)
        if length > 10 and memcmp(text, b"heap_tree=", 10) == 0:
            if row.tree != NO_TREE:
                return self.fail(E_BAD_TREE, at)
            if length == 18 and memcmp(text + 10, b"detailed", 8) == 0:
                row.tree = DETAILED_TREE
            elif length == 14 and memcmp(text + 10, b"peak", 4) == 0:
                row.tree = PEAK_TREE
            elif length != 15 or memcmp(text + 10, b"empty", 5) != 0:
                return self.fail(E_SYNTAX, at)
            self.expects_root = row.tree != NO_TREE
            row.has_tree_line = 1
            return 0
        return self.fail(E_SYNTAX, at)

    cdef bint within(self) noexcept nogil:
        """Return whether the last snapshot is incomplete."""
        if self.depth or self.expects_root:
            return True
        if not self.snapshots.count:
            return False
        return not (<SnapshotRow *> self.snapshots.data)[self.snapshots.count - 1].has_tree_line

    cdef int finish(self) noexcept nogil:
        return self.fail(E_TRUNCATED, self.length) if self.within() else 0

    # ---- for massif.py ----

    @property
    def unfinished(self) -> bool:
        """Whether the last snapshot is incomplete."""
        return bool(self.within())

    def drop_last(self):
        """Remove the last snapshot, which is incomplete."""
        if self.snapshots.count:
            self.snapshots.count -= 1
            self.leaves.count = (<SnapshotRow *> self.snapshots.data)[self.snapshots.count].leaves

    def frames(self) -> list[str]:
        """Return the texts of the frames. The first, an empty one, stands for all callers below the threshold."""
        cdef size_t row
        return [interner_text(&self.texts, row) for row in range(interner_count(&self.texts))]


cdef bytes SNAPSHOT_FORMAT = (
    b"T{q:time:q:heap_bytes:q:extra_bytes:q:stacks_bytes:Q:leaves:I:tree:I:has_tree_line:}"
)


def differences(const int64_t[::1] ends, const int64_t[::1] samples, const int64_t[::1] held, int64_t[::1] more,
                ChangeRow[::1] changes, uint64_t[::1] made):
    """Write the changes of each sample's bytes from each snapshot to the next.

    The rows of a snapshot in ``samples`` and ``held`` (bytes) end at its item of ``ends``; a sample may have several.
    ``more`` is scratch space with a zero for each sample. ``changes`` needs room for twice as many rows as ``samples``
    has; the rows of a snapshot end at its item of ``made``. Raises IndexError for inconsistent numbers.
    """
    cdef size_t count = samples.shape[0]
    cdef size_t room = changes.shape[0]
    cdef size_t before = 0, begin = 0, end, row, done = 0, snapshot
    cdef int64_t change
    if held.shape[0] != samples.shape[0] or made.shape[0] != ends.shape[0] or room < 2 * count:
        raise IndexError("columns of different lengths")
    for snapshot in range(<size_t> ends.shape[0]):
        if ends[snapshot] < <int64_t> begin or ends[snapshot] > <int64_t> count:
            raise IndexError("snapshots that are out of order")
        end = ends[snapshot]
        for row in range(before, end):
            if not 0 <= samples[row] < more.shape[0]:
                raise IndexError("a sample that is out of range")
            more[samples[row]] += held[row] if row >= begin else -held[row]
        for row in range(before, end):
            change = more[samples[row]]
            if change == 0:
                continue
            more[samples[row]] = 0
            changes[done].sample = <uint32_t> samples[row]
            changes[done].allocated_bytes = change if change > 0 else 0
            changes[done].freed_bytes = -change if change < 0 else 0
            changes[done].allocated_count = changes[done].freed_count = 0
            done += 1
        made[snapshot] = done
        before, begin = begin, end
