# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans a PyTorch memory snapshot's pickle straight into columns.

It runs on the machine of ``pickle_machine``: a list of frames becomes an interned stack, and a dict becomes a row of
a table (events, frames, blocks, segments or annotations, distinguished by their keys) as soon as its items are set.

A value that isn't valid for its field (None, text for a number, -1 that became 2^64-1) never ends the scan: it becomes
unknown, and is counted by record and field.

Source of the keys: ``torch/csrc/cuda/memory_snapshot.cpp`` and ``torch/cuda/_memory_viz.py``, which write them.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t

from memlens.kernels.base.interning cimport interner_free
from memlens.kernels.base.vectors cimport Vector, vector_init, vector_extend, vector_push, vector_free, column_of
from memlens.kernels.readers.pickle_machine cimport DICT, EMPTY_LIST, LIST, NONE, PairRow
from memlens.packs.pytorch.kernels.torch_events cimport Events
from memlens.packs.pytorch.kernels.torch_tables cimport *
from memlens.packs.pytorch.kernels.torch_tables import FIELD_NAMES

# in a row, these replace a value that the file doesn't have or that isn't valid for the field
UNKNOWN_ADDRESS = 0xFFFFFFFFFFFFFFFF
ADDRESS_OF_HISTORY = OF_HISTORY
UNKNOWN_SIZE = -1
UNKNOWN_TIME = 0
UNKNOWN_DEVICE = -1


cdef enum:
    MOST_SNAPSHOTS = 1 << 16    # in one file


cdef class Scanner(Events):
    """Scans a whole pickle in steps; ``take`` then moves the tables out."""

    def __cinit__(self, const uint8_t[::1] data: Buffer):
        self.name_table("events", &self.events, EVENT_FORMAT)
        self.name_table("frames", &self.frames, FRAME_FORMAT)
        self.name_table("blocks", &self.blocks, BLOCK_FORMAT)
        self.name_table("segments", &self.segments, SEGMENT_FORMAT)
        self.name_table("annotations", &self.annotations, ANNOTATION_FORMAT)
        self.name_table("extras", &self.extras, EXTRA_FORMAT)
        self.name_table("streams", &self.streams, b"Q")
        self.name_table("actions", &self.actions, b"I")
        self.name_table("categories", &self.categories, b"I")
        self.name_table("pools", &self.pools, b"T{q:first:q:second:}")
        self.name_table("stack_frames", &self.stacks.units, b"I")
        self.name_table("stack_starts", &self.stacks.starts, b"Q")
        self.name_table("module_names", &self.module_stacks.units, b"I")
        self.name_table("module_starts", &self.module_stacks.starts, b"Q")

    # ---- for snapshot.py ----

    def roots(self) -> list[dict[str, tuple[Literal['list', 'dict', 'other'], int]]]:
        """Return each snapshot of the file, its values by key: the top level alone, or if that is none, those in it.

        A value is ``("list", row)``, ``("dict", row)`` or, for anything else but None, ``("other", 0)``.
        """
        cdef PairRow *pairs = <PairRow *> self.pairs.data
        cdef uint8_t *fields = <uint8_t *> self.fields.data
        cdef uint8_t *kinds = <uint8_t *> self.dict_kinds.data
        cdef size_t index
        cdef bint alone
        if self.root_kind == LIST:
            if self.rows_kind(self.root_payload) == SEGMENT or self.list_of_lists(self.root_payload) == []:
                return [{"segments": ("list", self.root_payload)}]
        elif self.root_kind != DICT:
            return []
        alone = self.root_kind == DICT and kinds[self.root_payload] == ROOT
        found = {}
        for index in range(self.pairs.count):
            if pairs[index].kind == NONE or kinds[pairs[index].dict] != ROOT:
                continue
            if alone and pairs[index].dict != self.root_payload:
                continue
            if len(found) == MOST_SNAPSHOTS and pairs[index].dict not in found:
                continue
            name = FIELD_NAMES[fields[pairs[index].key]] or self.string_at(pairs[index].key)
            kind = {LIST: "list", DICT: "dict"}.get(pairs[index].kind, "other")
            found.setdefault(pairs[index].dict, {})[name] = kind, pairs[index].payload if kind != "other" else 0
        if alone:
            return [found.get(self.root_payload, {})]
        return [found[row] for row in sorted(found) if self.has_memory(found[row])]

    def has_memory(self, values) -> bool:
        """Return whether a dict within the file, by its values, is a snapshot, which may be empty."""
        kind, row = values.get("segments", ("other", 0))
        if kind == "list" and self.rows_kind(row) == SEGMENT:
            return True
        empty = kind == "list" and self.list_of_lists(row) == []
        kind, row = values.get("device_traces", ("other", 0))
        return kind == "list" and (empty or self.rows_kind(row) == EVENT or bool(self.list_of_lists(row)))

    def odd_counts(self) -> list[tuple[str, str, int]]:
        """Return how many values of each field of each kind of record are invalid: ``(kind, field, count)``.

        An empty field counts the values that were found in place of whole records.
        """
        cdef int kind, field
        found = []
        for name, kind in RECORDS.items():
            if self.odd_items[kind]:
                found.append((name, "", self.odd_items[kind]))
            for field in range(<int> FIELDS):
                if self.odd_values[kind][field]:
                    found.append((name, FIELD_NAMES[field], self.odd_values[kind][field]))
        return found

    def list_of_lists(self, uint32_t list_row) -> list[int] | None:
        """Return the rows of the lists in a list, [] for an empty list, or None if it holds no lists.

        An item that isn't a list has a row that belongs to no list.
        """
        cdef uint8_t kind
        cdef Vector *vector
        cdef size_t index
        if list_row >= self.list_kinds.count:
            return None
        kind = (<uint8_t *> self.list_kinds.data)[list_row]
        if kind == EMPTY_LIST:
            return []
        if kind != LISTS:
            return None
        vector = self.list_vector(list_row)
        return [(<uint32_t *> vector.data)[index] for index in range(vector.count)]

    def rows(self, uint32_t list_row, str table: str) -> Buffer | None:
        """Return the rows of ``table`` in a list of dicts as a ``uint32`` column, or None if it holds anything else."""
        cdef Vector empty
        cdef uint8_t kind
        if list_row >= self.list_kinds.count:
            return None
        kind = (<uint8_t *> self.list_kinds.data)[list_row]
        if kind == EMPTY_LIST:
            vector_init(&empty, 4)
            return column_of(&empty, b"I")
        if kind != (ROWS | TABLES[table] << 4):
            return None
        # a list is requested only once, so its memory moves out
        return column_of(self.list_vector(list_row), b"I")

    def block_lists(self) -> tuple[Buffer, Buffer] | None:
        """Return ``(starts, rows)``: the blocks of segment row ``s`` are ``rows[starts[s]:starts[s + 1]]``.

        None if segments share blocks: with these a small file could have an enormous number of them.
        """
        cdef Vector starts, rows
        cdef SegmentRow *segments = <SegmentRow *> self.segments.data
        cdef Vector *vector
        cdef size_t index
        cdef uint64_t end
        vector_init(&starts, 8)
        vector_init(&rows, 4)
        for index in range(self.segments.count + 1):
            end = rows.count
            if vector_push(&starts, &end) < 0:
                raise MemoryError
            if index < self.segments.count and self.rows_kind(segments[index].blocks) == BLOCK:
                vector = self.list_vector(segments[index].blocks)
                if rows.count + vector.count > self.blocks.count:
                    vector_free(&starts)
                    vector_free(&rows)
                    return None
                if vector_extend(&rows, vector.data, vector.count) < 0:
                    raise MemoryError
        return column_of(&starts, b"Q"), column_of(&rows, b"I")

    def event_sums(self, int64_t most_bytes) -> tuple[int, float]:
        """Return ``(odd, bytes)``: how many events have no address or a size that isn't within 0 to ``most_bytes``, and
        the sum of the sizes of allocations and frees, without larger ones, as a float. Called before events are taken.
        """
        cdef EventRow *events = <EventRow *> self.events.data
        cdef size_t index, odd = 0
        cdef double total = 0
        with nogil:
            for index in range(self.events.count):
                if events[index].size < 0 or events[index].size > most_bytes or events[index].addr == NO_ADDRESS:
                    odd += 1
                if events[index].action < MEMORY_ACTIONS and events[index].size <= most_bytes:
                    total += events[index].size
        return odd, total

    def drop_scratch(self):
        """Free what only the scan and requests for lists needed: afterwards no list can be requested."""
        self.free_scratch()
        # these have an item for each list, so some for each event
        vector_free(&self.list_kinds)
        vector_free(&self.list_payloads)
        vector_free(&self.sequence)
        vector_free(&self.run_stacks)
        interner_free(&self.frame_keys)
        interner_free(&self.runs)


RECORDS = {
    "event": EVENT, "frame": FRAME, "block": BLOCK, "segment": SEGMENT, "annotation": ANNOTATION, "history": HISTORY,
}
TABLES = {"events": EVENT, "blocks": BLOCK, "segments": SEGMENT, "annotations": ANNOTATION}

cdef bytes EVENT_FORMAT = (
    b"T{Q:addr:q:size:q:time_us:I:stack:H:stream:H:pool:B:action:B:category:H:unused:I:unused_too:}"
)
cdef bytes FRAME_FORMAT = (
    b"T{I:file:I:name:i:line:I:fx_name:I:fx_trace:I:fx_op:I:fx_target:I:fx_info:I:fx_modules:I:forward:}"
)
cdef bytes BLOCK_FORMAT = b"T{Q:address:q:size:q:requested:I:stack:I:state:I:has_address:I:unused:}"
cdef bytes SEGMENT_FORMAT = (
    b"T{Q:address:q:total:q:allocated:q:active:q:requested:i:device:I:stack:I:blocks:I:type:"
    b"H:stream:H:pool:I:expandable:}"
)
cdef bytes ANNOTATION_FORMAT = b"T{q:time_us:i:device:I:name:I:stage:I:unused:}"
cdef bytes EXTRA_FORMAT = b"T{Q:payload:I:event:B:field:B:kind:H:unused:}"
