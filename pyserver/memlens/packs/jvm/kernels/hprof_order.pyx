# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""In which order, and by which ids, the objects of a Java heap dump are written anew without their values.

Values can be read from where things are. The runtime has one Integer for each small number, in an array by number; a
constant of an enum is held by a static field that has its name; objects that were made one after the other are
neighbours; and a hash table has its keys by their hashes. So

- ids are drawn at random, and instances and arrays written in a random order: a window takes chunks
  from anywhere in the file, and its records are shuffled;
- references to a constant of an enum, or to a boxed value that the runtime shares, lead to one object of its kind.
  What holds all of these (``IntegerCache``, ``$VALUES``, the enum's static fields) still does, in a random order.

With ``keeps_order`` all stays as it is. Classes, roots and the names of Android's heaps always stay in their order.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from memlens.kernels.base.addresses cimport (
    address_map_build, address_map_free, address_map_init, address_ordinal, address_set_add, address_set_begin,
    address_set_end,
)
from memlens.kernels.base.random cimport KEY_BYTES, draw_numbers, random_begin, random_below, shuffle32
from memlens.kernels.base.vectors cimport vector_push, vector_push_u32, vector_reserve
from memlens.packs.jvm.kernels.hprof cimport (
    ANDROID_HEAP, CLASS_DUMP, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, WHOLE, Load, Record, Records, id_at, is_object,
    read_record,
)
from memlens.packs.jvm.kernels.hprof_survey cimport S_CLASSES, S_WRITE, Layout, Survey, Wanted

cdef enum:
    # a window stays in a processor's cache
    CHUNK_BYTES = 1 << 14
    WINDOW_BYTES = 3 << 18
    MOST_ABOVE = 8              # classes between that of a constant and that of its enum

cdef const char *ENUM = "java/lang/Enum"

# Classes whose static fields, or arrays in these, hold values that are shared: first those of bytes and characters.
cdef enum:
    HOLDING = 13
    HOLDING_TEXT = 4
cdef const char **HOLDING_CLASSES = [
    "java/lang/Byte", "java/lang/Byte$ByteCache", "java/lang/Character", "java/lang/Character$CharacterCache",
    "java/lang/Boolean", "java/lang/Short", "java/lang/Short$ShortCache", "java/lang/Integer",
    "java/lang/Integer$IntegerCache", "java/lang/Long", "java/lang/Long$LongCache", "java/math/BigInteger",
    "java/math/BigDecimal",
]


# Arrays of these, as Java's and as Android's dumps call them.
cdef enum:
    ARRAYS = 14
cdef const char **VALUE_ARRAYS = [
    "[Ljava/lang/Byte;", "[Ljava/lang/Character;", "[Ljava/lang/Short;", "[Ljava/lang/Integer;", "[Ljava/lang/Long;",
    "[Ljava/math/BigInteger;", "[Ljava/math/BigDecimal;", "java/lang/Byte[]", "java/lang/Character[]",
    "java/lang/Short[]", "java/lang/Integer[]", "java/lang/Long[]", "java/math/BigInteger[]", "java/math/BigDecimal[]",
]


cdef inline uint64_t length_of(const char *text) noexcept nogil:
    cdef uint64_t count = 0
    while text[count]:
        count += 1
    return count


cdef bint is_among_ids(Vector *ids, uint64_t id) noexcept nogil:
    cdef size_t each
    for each in range(ids.count):
        if (<uint64_t *> ids.data)[each] == id:
            return True
    return False


cdef class Order(Survey):
    """A dump that is looked through for the order in which it will be written."""

    def __cinit__(self, Records records, uint64_t start, bint keeps_numbers, bint keeps_order):
        cdef Load *loads = <Load *> records.loads.data
        cdef size_t each
        cdef int kind
        self.keeps_order = keeps_order
        random_begin(&self.random, os.urandom(KEY_BYTES))
        address_map_init(&self.known)
        address_map_init(&self.shared_by_id)
        address_map_init(&self.holders_by_id)
        address_map_init(&self.owners_by_id)
        self.own(&self.new_numbers, 4)
        self.own(&self.chunks, sizeof(Chunk))
        self.own(&self.chunk_order, 4)
        self.own(&self.pieces, sizeof(Piece))
        self.own(&self.shared, sizeof(Shared))
        self.own(&self.holders, sizeof(Wanted))
        self.own(&self.canonical, 8)
        self.own(&self.owner_ids, 8)
        self.own(&self.owner_firsts, 8)
        self.own(&self.enum_classes, 8)
        self.own(&self.holding_classes, 8)
        for each in range(records.loads.count):
            if keeps_order:
                break
            # a number that stays can't be led to another
            if not keeps_numbers and self.is_class_name(loads[each].name, ENUM, length_of(ENUM)):
                if vector_push(&self.enum_classes, &loads[each].id) < 0:
                    raise MemoryError
            for kind in range(HOLDING_TEXT if keeps_numbers else HOLDING):
                if self.is_class_name(loads[each].name, HOLDING_CLASSES[kind], length_of(HOLDING_CLASSES[kind])):
                    if vector_push(&self.holding_classes, &loads[each].id) < 0:
                        raise MemoryError

    def __dealloc__(self):
        address_map_free(&self.known)
        address_map_free(&self.shared_by_id)
        address_map_free(&self.holders_by_id)
        address_map_free(&self.owners_by_id)

    # looking through the file

    cdef int end_stage(self, uint64_t seed) noexcept nogil:
        cdef Load *loads = <Load *> self.records.loads.data
        cdef size_t each
        if self.stage == S_CLASSES:
            if address_set_begin(&self.known, self.bits, seed) < 0:
                return -1
            # a class may be loaded and not in the heap
            for each in range(self.records.loads.count):
                if address_set_add(&self.known, loads[each].id) < 0:
                    return -1
        if Survey.end_stage(self, seed) < 0:
            return -1
        self.next_chunk = 0
        return self.number_objects() if self.stage == S_WRITE else 0

    cdef int link_classes(self, uint64_t seed) noexcept nogil:
        cdef Layout *classes = <Layout *> self.classes.data
        cdef uint64_t each
        cdef int64_t above
        cdef int _step
        if Survey.link_classes(self, seed) < 0:
            return -1
        if self.stage == S_WRITE:
            return self.prepare_shared(seed)
        for each in range(self.first_class() if self.enum_classes.count else self.first_class_after(),
                          self.first_class_after()):
            above = <int64_t> each
            for _step in range(MOST_ABOVE):
                if above < 0:
                    break
                if is_among_ids(&self.enum_classes, classes[above].super_id):
                    classes[each].enumeration = classes[above].id
                    break
                above = self.class_of(classes[above].super_id)
        return 0

    cdef int note_static(self, Layout *own, uint64_t name, uint64_t value) noexcept nogil:
        cdef Wanted found
        cdef bint is_enum = is_among_ids(&self.enum_classes, own.super_id)
        if value == 0 or not (is_enum or is_among_ids(&self.holding_classes, own.id)):
            return 0
        # an enum's constants are found by their class
        if is_enum and not self.is_text(name, b"$VALUES", 7) and not self.is_text(name, b"ENUM$VALUES", 11):
            return 0
        found.id, found.dump, found.owner = value, self.dump, own.id
        return vector_push(&self.found, &found)

    cdef int note_object(self, Record *record) noexcept nogil:
        cdef Layout *classes = <Layout *> self.classes.data
        cdef uint64_t enumeration
        if is_object(record.tag) and address_set_add(&self.known, record.id) < 0:
            return -1
        if record.tag == INSTANCE_DUMP and 0 <= self.last_number:
            enumeration = classes[self.last_number].enumeration
            if enumeration and self.add_shared(record.id, enumeration) < 0:
                return -1
        return self.note_chunk(record)

    cdef int note_holder(self, Record *record, uint64_t owner) noexcept nogil:
        """Note the values that an array has, or the one that a static field of its class has."""
        cdef Wanted holder
        cdef uint32_t each
        cdef int id_bytes = self.records.id_bytes
        if record.tag == INSTANCE_DUMP:
            return self.add_shared(record.id, owner) if record.other == owner else 0
        if record.tag != OBJECT_ARRAY_DUMP or (
                is_among_ids(&self.holding_classes, owner) and not self.is_value_array(record.other)):
            return 0
        holder.id, holder.dump, holder.owner = record.id, self.dump, owner
        if vector_push(&self.holders, &holder) < 0:
            return -1
        for each in range(record.number):
            if self.add_shared(id_at(record.body + <uint64_t> each * id_bytes, id_bytes), owner) < 0:
                return -1
        return 0

    cdef bint is_value_array(self, uint64_t class_id) noexcept nogil:
        cdef int64_t number = address_ordinal(&self.loaded, class_id)
        cdef int each
        cdef uint64_t name
        if number < 0:
            return False
        name = (<Load *> self.records.loads.data)[number].name
        for each in range(ARRAYS):
            if self.is_class_name(name, VALUE_ARRAYS[each], length_of(VALUE_ARRAYS[each])):
                return True
        return False

    cdef int add_shared(self, uint64_t id, uint64_t owner) noexcept nogil:
        cdef Shared row
        if id == 0:
            return 0
        row.id, row.dump, row.owner = id, self.dump, owner
        return vector_push(&self.shared, &row)

    cdef int note_chunk(self, Record *record) noexcept nogil:
        """Add a record to the last chunk, or begin another."""
        cdef Chunk *last = NULL
        cdef Chunk chunk
        cdef bint is_objects = is_object(record.tag) and record.tag != CLASS_DUMP
        if record.tag == ANDROID_HEAP:
            self.window_heap = self.position
        if self.chunks.count:
            last = <Chunk *> self.chunks.data + (self.chunks.count - 1)
        if last != NULL and last.end == self.position and last.is_objects == is_objects and (
                last.dump == self.dump and last.end - last.start + record.bytes <= CHUNK_BYTES):
            last.end += record.bytes
            last.least, last.most = min(last.least, record.id), max(last.most, record.id)
            return 0
        if last == NULL or last.dump != self.dump:
            self.window_heap = self.position if record.tag == ANDROID_HEAP else 0
        chunk.start, chunk.end = self.position, self.position + record.bytes
        chunk.least = chunk.most = record.id
        chunk.heap, chunk.dump, chunk.is_objects = self.window_heap, self.dump, is_objects
        return vector_push(&self.chunks, &chunk)

    cdef uint64_t after_others(self) noexcept nogil:
        cdef const Chunk *chunk
        cdef uint64_t position = self.position
        while self.next_chunk < self.chunks.count:
            chunk = <Chunk *> self.chunks.data + self.next_chunk
            if chunk.start > position:
                break
            self.next_chunk += 1
            if chunk.start == position:
                if self.is_sought(chunk):
                    break
                position = chunk.end
        return position

    cdef bint is_sought(self, const Chunk *chunk) noexcept nogil:
        """Return whether one of the ids that are looked for is within those of a chunk."""
        cdef const uint64_t *sought = <uint64_t *> self.sought.data
        cdef size_t low = 0, high = self.sought.count, middle
        while low < high:
            middle = (low + high) // 2
            if sought[middle] < chunk.least:
                low = middle + 1
            else:
                high = middle
        return low < self.sought.count and sought[low] <= chunk.most

    cdef int number_objects(self) noexcept nogil:
        """Draw a number for each id, and an order of what is shared, of which the first of each kind stands for all."""
        cdef Shared *rows = <Shared *> self.shared.data
        cdef Shared swapped
        cdef size_t each, other
        address_set_end(&self.known)
        if self.keeps_order:
            return 0
        # which comes first in the file may depend on values
        for each in range(1, self.shared.count):
            other = random_below(&self.random, each + 1)
            swapped = rows[each]
            rows[each] = rows[other]
            rows[other] = swapped
        if vector_reserve(&self.new_numbers, self.known.count + 1) < 0:
            return -1
        draw_numbers(&self.random, <uint32_t *> self.new_numbers.data, self.known.count)
        self.new_numbers.count = self.known.count
        self.new_shift = self.known.shift
        while self.new_shift and self.records.id_bytes == 4 and (
                (self.known.count + 1) << self.new_shift) > <uint64_t> 0xFFFFFFF0:
            self.new_shift -= 1
        return 0

    # values that are shared

    cdef int prepare_shared(self, uint64_t seed) noexcept nogil:
        """Prepare to look up what is shared in the current dump, and choose one object of each kind."""
        cdef Shared *rows = <Shared *> self.shared.data
        cdef Wanted *holders = <Wanted *> self.holders.data
        cdef uint64_t *firsts
        cdef uint64_t *owners
        cdef size_t each, _each
        cdef int64_t number
        cdef uint64_t none = 0
        memset(&self.shared_sieve, 0, sizeof(Sieve))
        memset(&self.holder_sieve, 0, sizeof(Sieve))
        self.ids.count = self.canonical.count = self.owner_ids.count = self.owner_firsts.count = 0
        for each in range(self.shared.count):
            if rows[each].dump != self.dump or address_rank(&self.known, rows[each].id) < 0:
                continue
            sieve_add(&self.shared_sieve, rows[each].id)
            if vector_push(&self.ids, &rows[each].id) < 0 or vector_push(&self.owner_ids, &rows[each].owner) < 0:
                return -1
        address_map_free(&self.shared_by_id)
        address_map_free(&self.owners_by_id)
        address_map_free(&self.holders_by_id)
        if address_map_build(&self.shared_by_id, <uint64_t *> self.ids.data, self.ids.count, seed) < 0:
            return -1
        if address_map_build(&self.owners_by_id, <uint64_t *> self.owner_ids.data, self.owner_ids.count, seed) < 0:
            return -1
        for _each in range(self.ids.count):
            if vector_push(&self.owner_firsts, &none) < 0:
                return -1
        owners, firsts = <uint64_t *> self.owner_ids.data, <uint64_t *> self.owner_firsts.data
        for each in range(self.ids.count):
            number = address_ordinal(&self.owners_by_id, owners[each])
            if not firsts[number]:
                firsts[number] = (<uint64_t *> self.ids.data)[each]
            if vector_push(&self.canonical, &firsts[number]) < 0:
                return -1
        self.ids.count = 0
        for each in range(self.holders.count):
            if holders[each].dump == self.dump:
                sieve_add(&self.holder_sieve, holders[each].id)
                if vector_push(&self.ids, &holders[each].id) < 0:
                    return -1
        return address_map_build(&self.holders_by_id, <uint64_t *> self.ids.data, self.ids.count, seed)

    cdef bint is_holder(self, uint64_t id) noexcept nogil:
        """Return whether an array holds all values of a kind."""
        return sieve_has(&self.holder_sieve, id) and address_ordinal(&self.holders_by_id, id) >= 0

    cdef uint64_t shared_owner(self, uint64_t id) noexcept nogil:
        """Return the class that holds a shared value; 0 if it is none."""
        cdef int64_t number = address_ordinal(&self.shared_by_id, id)
        return 0 if number < 0 else (<uint64_t *> self.owner_ids.data)[number]

    # the order of writing

    cdef int order_chunks(self) noexcept nogil:
        """Order the chunks of the current dump. Those of objects come last, unless the order stays."""
        cdef Chunk *chunks = <Chunk *> self.chunks.data
        cdef size_t each, first
        cdef int is_objects
        self.chunk_order.count = self.next_chunk = 0
        self.pieces.count = self.next_piece = 0
        self.window_heap = 0
        first = 0
        for is_objects in range(1 if self.keeps_order else 2):
            first = self.chunk_order.count
            for each in range(self.chunks.count):
                if chunks[each].dump == self.dump and (self.keeps_order or chunks[each].is_objects == is_objects):
                    if vector_push_u32(&self.chunk_order, <uint32_t> each) < 0:
                        return -1
        if not self.keeps_order:
            shuffle32(&self.random, <uint32_t *> self.chunk_order.data + first, self.chunk_order.count - first)
        return 0

    cdef int take_window(self) noexcept nogil:
        """Fill ``pieces`` with the records that come next. 1 if there are some, -1 if out of memory."""
        cdef Chunk *chunks = <Chunk *> self.chunks.data
        cdef uint32_t *order = <uint32_t *> self.chunk_order.data
        cdef const uint8_t *bytes = self.records.bytes
        cdef Chunk *chunk
        cdef Record record
        cdef Piece piece
        cdef bint is_objects = False
        self.pieces.count = self.next_piece = 0
        self.window_bytes = 0
        while self.next_chunk < self.chunk_order.count:
            chunk = chunks + order[self.next_chunk]
            if self.window_bytes and (self.window_bytes + chunk.end - chunk.start > WINDOW_BYTES
                                      or chunk.is_objects != is_objects):
                break
            is_objects = chunk.is_objects
            self.next_chunk += 1
            piece.offset, piece.heap = chunk.start, chunk.heap if chunk.is_objects else 0
            while piece.offset < chunk.end:
                if read_record(bytes + piece.offset, bytes + chunk.end, self.records.id_bytes, &record) != WHOLE:
                    # the file has changed since it was looked through
                    break
                # here objects that follow one another are looked up, there any
                piece.id = self.new_id(record.id) if is_object(record.tag) else 0
                if vector_push(&self.pieces, &piece) < 0:
                    return -1
                self.window_bytes += record.bytes
                piece.offset += record.bytes
        if is_objects and not self.keeps_order:
            return -1 if self.mix_window() < 0 else 1
        return 1 if self.pieces.count else 0

    cdef int mix_window(self) noexcept nogil:
        """Shuffle the records of a window, but leave those of a heap together."""
        cdef Piece *pieces = <Piece *> self.pieces.data
        cdef Piece swapped
        cdef uint64_t heap = self.window_heap
        cdef size_t each, other, done = 0
        cdef size_t heads = 0
        for each in range(self.pieces.count):
            other = random_below(&self.random, each + 1)
            swapped = pieces[each]
            pieces[each] = pieces[other]
            pieces[other] = swapped
        while done < self.pieces.count:
            for each in range(done, self.pieces.count):
                if pieces[each].heap == heap:
                    swapped = pieces[each]
                    pieces[each] = pieces[done]
                    pieces[done] = swapped
                    done += 1
            if done < self.pieces.count:
                heap = pieces[done].heap
                heads += heap != 0
        self.window_bytes += heads * <uint64_t> (5 + self.records.id_bytes)
        return 0
