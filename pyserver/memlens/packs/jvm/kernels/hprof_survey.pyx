# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Looks through a Java heap dump for what stays in it without its values: which fields, and which texts name something.

HotSpot writes its whole table of symbols, in which every string constant of a program is, too. Names of threads are
strings, which are found by walking over the heap: from threads to their names, to the arrays of these.

A record is understood if it has the length that its kind has, and an object's if its class is known. Where one isn't,
``damaged_at`` is its offset, and nothing after it is looked at.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal,
)
from memlens.kernels.base.vectors cimport Vector, column_of, vector_push, vector_reserve
from memlens.packs.jvm.kernels.hprof cimport (
    ANDROID_HEAP, CLASS_DUMP, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, ROOT_THREAD_OBJECT, RUN_MORE,
    RUN_NO_MEMORY, RUN_OK, TYPE_ARRAY, TYPE_BYTE, TYPE_CHAR, TYPE_OBJECT, WHOLE, FrameRow, Load, Record, Records,
    Segment, TextPlace, id_at, is_object, read_record, type_bytes,
)
from memlens.packs.jvm.kernels.hprof_forms cimport has_its_length, is_known_record
from memlens.kernels.readers.numbers cimport u16_at, u32_at

cdef enum:
    MOST_NAME_BYTES = 4096      # a longer array is no thread's name
    MOST_THREADS = 1 << 20
    MOST_DUMPS = 64             # in one file, for which threads keep their names
    MOST_EMPTY = 1024           # classes without fields of their own between two that have some
    MOST_DEPTH = 4096           # classes that extend one another

WRITE, STATIC = S_WRITE, IS_STATIC


cdef uint64_t ANY_BYTES = <uint64_t> -1


cdef int rebuild(AddressMap *map, Vector *ids, uint64_t seed) noexcept nogil:
    address_map_free(map)
    return address_map_build(map, <uint64_t *> ids.data, ids.count, seed)


cdef int by_number(const void *one, const void *other) noexcept nogil:
    cdef uint64_t number = (<const uint64_t *> one)[0], after = (<const uint64_t *> other)[0]
    return (number > after) - (number < after)


cdef class Survey(Owner):
    """Looks through ``records``, which have been run to their end, in stages.

    ``start`` is the offset of the first record. With ``keeps_numbers`` only bytes, chars, arrays of int, fields named
    "hash" and the fields of strings are removed.
    """

    def __cinit__(self, Records records, uint64_t start, bint keeps_numbers, bint _keeps_order):
        cdef Load *loads = <Load *> records.loads.data
        cdef FrameRow *frames = <FrameRow *> records.frame_rows.data
        cdef size_t each
        self.records = records
        self.keeps_numbers = keeps_numbers
        self.start = start
        self.stop = records.offset
        self.own(&self.classes, sizeof(Layout))
        self.own(&self.class_starts, 8)
        self.own(&self.ranges, sizeof(Range))
        self.own(&self.named_texts, 1)
        self.own(&self.wanted, sizeof(Wanted))
        self.own(&self.found, sizeof(Wanted))
        self.own(&self.kept, 8)
        self.own(&self.ids, 8)
        self.own(&self.string_classes, 8)
        self.own(&self.members, sizeof(Member))
        self.own(&self.owners, 8)
        self.own(&self.sought, 8)
        address_map_init(&self.by_id)
        address_map_init(&self.looked_for)
        address_map_init(&self.loaded)
        self.damaged_at = -1
        if vector_reserve(&self.named_texts, records.text_ids.count + 1) < 0:
            raise MemoryError
        memset(self.named_texts.data, 0, records.text_ids.count + 1)
        for each in range(records.loads.count):
            self.note_text(loads[each].name, A_CLASS)
            if vector_push(&self.ids, &loads[each].id) < 0:
                raise MemoryError
            self.bits |= loads[each].id
            if self.is_class_name(loads[each].name, b"java/lang/String", 16):
                # one for each dump, if the collector moved it in between
                if vector_push(&self.string_classes, &loads[each].id) < 0:
                    raise MemoryError
        for each in range(records.frame_rows.count):
            self.note_text(frames[each].method, A_MEMBER)
            self.note_text(frames[each].signature, A_SIGNATURE)
            self.note_text(frames[each].file, A_FILE)
        if rebuild(&self.loaded, &self.ids, int.from_bytes(os.urandom(8), "little") | 1) < 0:
            raise MemoryError
        self.rewind()

    def __dealloc__(self):
        address_map_free(&self.by_id)
        address_map_free(&self.looked_for)
        address_map_free(&self.loaded)

    @property
    def offset(self) -> int:
        """The number of bytes that this stage has gone through."""
        return self.position

    # texts

    cdef void note_text(self, uint64_t id, uint8_t what) noexcept nogil:
        """Note that the text with this id names something."""
        cdef int64_t number = address_ordinal(&self.records.texts_by_id, id)
        if number >= 0:
            self.named_texts.data[number] |= what

    cdef int note_member(self, uint64_t class_id, uint64_t name, uint64_t type) noexcept nogil:
        cdef Member member
        self.note_text(name, A_MEMBER)
        member.class_id, member.name, member.type = class_id, name, type
        return vector_push(&self.members, &member)

    cdef bint is_text(self, uint64_t id, const char *text, uint64_t count) noexcept nogil:
        cdef int64_t number = address_ordinal(&self.records.texts_by_id, id)
        cdef TextPlace *place
        if number < 0:
            return False
        place = <TextPlace *> self.records.text_places.data + number
        return place.count == count and memcmp(self.records.bytes + place.offset, text, count) == 0

    cdef bint is_class_name(self, uint64_t id, const char *name, uint64_t count) noexcept nogil:
        """Return whether a text is a class's name, which Android writes with dots."""
        cdef int64_t number = address_ordinal(&self.records.texts_by_id, id)
        cdef TextPlace *place
        cdef const uint8_t *text
        cdef uint64_t each
        if number < 0:
            return False
        place = <TextPlace *> self.records.text_places.data + number
        text = self.records.bytes + place.offset
        if place.count != count:
            return False
        for each in range(count):
            if text[each] != <uint8_t> name[each] and not (text[each] == c"." and name[each] == c"/"):
                return False
        return True

    cdef bint is_string_class(self, uint64_t id) noexcept nogil:
        cdef size_t each
        for each in range(min(self.string_classes.count, <size_t> MOST_DUMPS)):
            if (<uint64_t *> self.string_classes.data)[each] == id:
                return True
        return False

    # looking through the file

    cdef void rewind(self) noexcept nogil:
        self.position = self.start
        self.segment = 0
        self.heap_end = 0
        self.dump = 0xFFFFFFFF

    def run(self, uint64_t limit) -> int:
        """Continue a stage before the last to about the byte ``limit``. Returns OK at its end, MORE or NO_MEMORY."""
        cdef int status
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        with nogil:
            status = self.look_through(limit, seed)
            if status == RUN_OK and self.end_stage(seed) < 0:
                status = RUN_NO_MEMORY
        return status

    cdef int end_stage(self, uint64_t seed) noexcept nogil:
        cdef Vector done = self.wanted
        self.wanted = self.found
        self.found = done
        self.found.count = 0
        self.stage = self.stage + 1 if self.wanted.count or self.stage == S_CLASSES else <int> S_WRITE
        self.rewind()
        return 0

    cdef void end_here(self) noexcept nogil:
        """Note that the record at the current position isn't understood, and end the stage."""
        self.damaged_at = <int64_t> self.position
        self.stop = self.heap_end = self.position

    cdef int look_through(self, uint64_t limit, uint64_t seed) noexcept nogil:
        cdef Segment *segments = <Segment *> self.records.segments.data
        cdef const uint8_t *bytes = self.records.bytes
        cdef const uint8_t *at
        cdef int id_bytes = self.records.id_bytes
        cdef uint64_t length
        cdef Record record
        while True:
            while self.position < self.heap_end:
                if self.stage > S_THREADS:
                    self.position = self.after_others()
                    if self.position >= self.heap_end:
                        break
                if self.position >= limit:
                    return RUN_MORE
                if read_record(bytes + self.position, bytes + self.heap_end, id_bytes, &record) != WHOLE or (
                        self.stage == S_THREADS and not self.is_sound(&record)):
                    self.end_here()
                    break
                if self.look_at(&record) < 0:
                    return RUN_NO_MEMORY
                self.position += record.bytes
            self.position = max(self.position, self.heap_end)
            if self.position >= self.stop:
                return RUN_OK
            if self.position >= limit:
                return RUN_MORE
            if self.is_heap_next():
                if self.enter(segments[self.segment].dump, seed) < 0:
                    return RUN_NO_MEMORY
                self.position = segments[self.segment].start
                self.heap_end = min(segments[self.segment].end, self.stop)
                self.segment += 1
                continue
            if self.stop - self.position < HEAD:
                return RUN_OK
            at = bytes + self.position
            length = u32_at(at + 5)
            if self.stop - self.position - HEAD < length or (
                    is_known_record(at[0]) and not has_its_length(at + HEAD, at[0], length, id_bytes)):
                self.end_here()
                return RUN_OK
            self.position += HEAD + length

    cdef bint is_heap_next(self) noexcept nogil:
        cdef Segment *segments = <Segment *> self.records.segments.data
        return self.segment < self.records.segments.count and segments[self.segment].start == self.position + HEAD

    cdef int enter(self, uint32_t dump, uint64_t seed) noexcept nogil:
        """Begin a segment; at the first one of a dump prepare to look up its classes and what is wanted of it."""
        cdef uint64_t count = self.classes.count
        cdef Wanted *wanted = <Wanted *> self.wanted.data
        cdef size_t each
        if dump == self.dump:
            return 0
        self.dump = dump
        memset(self.found_classes, 0, sizeof(self.found_classes))
        if self.stage == S_CLASSES:
            while self.class_starts.count <= dump:
                if vector_push(&self.class_starts, &count) < 0:
                    return -1
            return 0
        self.ids.count = self.owners.count = 0
        for each in range(self.wanted.count):
            if wanted[each].dump == dump and (vector_push(&self.ids, &wanted[each].id) < 0
                                              or vector_push(&self.owners, &wanted[each].owner) < 0):
                return -1
        if rebuild(&self.looked_for, &self.ids, seed) < 0 or vector_reserve(&self.sought, self.ids.count + 1) < 0:
            return -1
        memcpy(self.sought.data, self.ids.data, self.ids.count * sizeof(uint64_t))
        self.sought.count = self.ids.count
        qsort(self.sought.data, self.sought.count, sizeof(uint64_t), by_number)
        return self.link_classes(seed)

    cdef int link_classes(self, uint64_t seed) noexcept nogil:
        cdef Layout *classes = <Layout *> self.classes.data
        cdef uint64_t first = self.first_class(), end = self.first_class_after(), each
        cdef int64_t above
        cdef int _step
        self.ids.count = 0
        for each in range(first, end):
            if vector_push(&self.ids, &classes[each].id) < 0:
                return -1
        if rebuild(&self.by_id, &self.ids, seed) < 0:
            return -1
        for each in range(first, end):
            above = self.class_of(classes[each].super_id)
            # in a damaged file classes may extend each other in a circle
            for _step in range(MOST_EMPTY):
                if above < 0 or classes[above].field_bytes:
                    break
                above = self.class_of(classes[above].super_id)
            classes[each].above = NO_CLASS if above < 0 or not classes[above].field_bytes else <uint32_t> above
        return 0

    cdef uint64_t first_class(self) noexcept nogil:
        return (<uint64_t *> self.class_starts.data)[self.dump]

    cdef uint64_t first_class_after(self) noexcept nogil:
        if self.dump + 1 < self.class_starts.count:
            return (<uint64_t *> self.class_starts.data)[self.dump + 1]
        return self.classes.count

    cdef int64_t class_of(self, uint64_t id) noexcept nogil:
        """Return the index of the class with this id in the current dump; -1 if there is none."""
        cdef int64_t number = address_ordinal(&self.by_id, id)
        return -1 if number < 0 else <int64_t> self.first_class() + number

    cdef FoundClass *find_class(self, uint64_t id) noexcept nogil:
        """Return the class with this id in the current dump; most objects are of the same few."""
        cdef FoundClass *found = &self.found_classes[(id >> 3 ^ id >> 11) % FOUND_CLASSES]
        if found.id != id or id == 0:
            found.number = self.class_of(id)
            found.bytes = self.instance_bytes(found.number)
            found.id = id
        return found

    cdef bint is_sound(self, Record *record) noexcept nogil:
        """Return whether the class of an object is in the file, and an instance has the bytes of its class's fields."""
        cdef FoundClass *found
        if record.tag != INSTANCE_DUMP and record.tag != OBJECT_ARRAY_DUMP:
            return True
        found = self.find_class(record.other)
        self.last_number = found.number
        if found.number < 0 and address_ordinal(&self.loaded, record.other) < 0:
            return False
        return record.tag == OBJECT_ARRAY_DUMP or found.bytes == ANY_BYTES or found.bytes == record.body_bytes

    cdef uint64_t instance_bytes(self, int64_t number) noexcept nogil:
        """Return the bytes of the fields of a class and those above it; ANY_BYTES if one of these isn't in the file."""
        cdef Layout *classes = <Layout *> self.classes.data
        cdef uint64_t bytes = 0
        cdef int _step
        for _step in range(MOST_DEPTH):
            if number < 0:
                return ANY_BYTES
            bytes += classes[number].field_bytes
            if classes[number].super_id == 0:
                return bytes
            number = self.class_of(classes[number].super_id)
        return ANY_BYTES

    cdef int look_at(self, Record *record) noexcept nogil:
        cdef Wanted found
        cdef int64_t number
        if is_object(record.tag) and self.stage == S_CLASSES:
            self.objects += 1
            self.bits |= record.id
        elif self.stage == S_THREADS and self.note_object(record) < 0:
            return -1
        if self.stage == S_CLASSES:
            if record.tag == CLASS_DUMP:
                return self.note_class(record)
            if record.tag == ANDROID_HEAP:
                return self.note_member(0, record.other, 0)
            elif record.tag == ROOT_THREAD_OBJECT and self.found.count < MOST_THREADS:
                found.id, found.dump, found.owner = record.id, self.dump, 0
                return vector_push(&self.found, &found)
            return 0
        number = address_ordinal(&self.looked_for, record.id)
        if number < 0:
            return 0
        if (<uint64_t *> self.owners.data)[number]:
            return self.note_holder(record, (<uint64_t *> self.owners.data)[number])
        if record.tag == INSTANCE_DUMP:
            if self.stage == S_THREADS:
                return self.want_field(record, b"name", 4)
            if self.stage == S_NAMES and self.is_string_class(record.other):
                if self.want_field(record, b"value", 5) < 0:
                    return -1
                return vector_push(&self.kept, &self.position)
        elif (self.stage > S_THREADS and record.tag == PRIMITIVE_ARRAY_DUMP and record.body_bytes <= MOST_NAME_BYTES
                and (record.element == TYPE_BYTE or record.element == TYPE_CHAR)):
            return vector_push(&self.kept, &self.position)
        return 0

    # for a class that extends this one

    cdef int note_object(self, Record *record) noexcept nogil:
        """Called for each record of a heap, once the classes are known."""
        return 0

    cdef uint64_t after_others(self) noexcept nogil:
        """Return where the next record is that may be one of those which are looked for, once the threads are known."""
        return self.position

    cdef int note_static(self, Layout *own, uint64_t name, uint64_t value) noexcept nogil:
        """Called for each static field that refers to an object."""
        return 0

    cdef int note_holder(self, Record *record, uint64_t owner) noexcept nogil:
        """Called for an object in ``found`` with an owner."""
        return 0

    cdef int note_class(self, Record *record) noexcept nogil:
        cdef Layout row
        cdef Range stays
        cdef Range *last = NULL
        cdef const uint8_t *at = record.body
        cdef int id_bytes = self.records.id_bytes, bytes
        cdef uint32_t _each, count
        row.id = record.id
        row.super_id = id_at(record.body - 4 - 6 * id_bytes, id_bytes)
        row.first_range = <uint32_t> self.ranges.count
        row.field_bytes = 0
        row.above = NO_CLASS
        row.enumeration = 0
        at = self.after_constants(at)
        count = u16_at(at)
        at += 2
        for _each in range(count):
            if self.note_member(row.id, id_at(at, id_bytes), IS_STATIC | at[id_bytes]) < 0:
                return -1
            if at[id_bytes] == TYPE_OBJECT and self.note_static(
                    &row, id_at(at, id_bytes), id_at(at + id_bytes + 1, id_bytes)) < 0:
                return -1
            at += id_bytes + 1 + type_bytes(at[id_bytes], id_bytes)
        row.body = <uint64_t> (at - self.records.bytes)
        count = u16_at(at)
        at += 2
        for _each in range(count):
            if self.note_member(row.id, id_at(at, id_bytes), at[id_bytes]) < 0:
                return -1
            bytes = type_bytes(at[id_bytes], id_bytes)
            if bytes == 0:
                # as the reader, which doesn't know where the fields after this one are
                break
            if self.field_stays(row.id, at[id_bytes], id_at(at, id_bytes)):
                stays.is_ids = at[id_bytes] == TYPE_OBJECT or at[id_bytes] == TYPE_ARRAY
                if last != NULL and last.offset + last.bytes == row.field_bytes and last.is_ids == stays.is_ids:
                    last.bytes += bytes
                else:
                    stays.offset, stays.bytes = row.field_bytes, bytes
                    if vector_push(&self.ranges, &stays) < 0:
                        return -1
                    last = <Range *> self.ranges.data + (self.ranges.count - 1)
            row.field_bytes += bytes
            at += id_bytes + 1
        row.ranges = <uint32_t> self.ranges.count - row.first_range
        return vector_push(&self.classes, &row)

    cdef const uint8_t *after_constants(self, const uint8_t *at) noexcept nogil:
        cdef uint32_t _each, count = u16_at(at)
        at += 2
        for _each in range(count):
            at += 3 + type_bytes(at[2], self.records.id_bytes)
        return at

    cdef bint type_stays(self, uint8_t type) noexcept nogil:
        if type == TYPE_OBJECT or type == TYPE_ARRAY:
            return True
        return self.keeps_numbers and type != TYPE_BYTE and type != TYPE_CHAR

    cdef bint field_stays(self, uint64_t class_id, uint8_t type, uint64_t name) noexcept nogil:
        if type == TYPE_OBJECT or type == TYPE_ARRAY:
            return True
        # a text can be guessed from its hash, which strings and the entries of maps have
        return self.type_stays(type) and not self.is_string_class(class_id) and not self.is_text(name, b"hash", 4)

    cdef int want_field(self, Record *record, const char *name, uint64_t count) noexcept nogil:
        """Add the object to which an instance refers by a field to those that the next stage looks for.

        Of fields of one name it is that of the class furthest above: a thread's own class may have a "name", too.
        """
        cdef Layout *classes = <Layout *> self.classes.data
        cdef int64_t walked = self.class_of(record.other)
        cdef const uint8_t *at
        cdef int id_bytes = self.records.id_bytes
        cdef uint64_t base = 0
        cdef uint32_t _each, fields, offset
        cdef Wanted found
        found.id = found.owner = 0
        while 0 <= walked < NO_CLASS and base <= record.body_bytes:
            at = self.records.bytes + classes[walked].body
            fields = u16_at(at)
            at += 2
            offset = 0
            for _each in range(fields):
                if offset >= classes[walked].field_bytes:
                    break
                if base + offset + <uint64_t> type_bytes(at[id_bytes], id_bytes) > record.body_bytes:
                    break
                if at[id_bytes] == TYPE_OBJECT and self.is_text(id_at(at, id_bytes), name, count):
                    found.id, found.dump = id_at(record.body + base + offset, id_bytes), self.dump
                offset += type_bytes(at[id_bytes], id_bytes)
                at += id_bytes + 1
            base += classes[walked].field_bytes
            walked = classes[walked].above
        return vector_push(&self.found, &found) if found.id else 0

    # what was found

    def take_kept(self) -> Buffer:
        """Move out the offsets (``uint64``) of the records of threads' names, in no order."""
        return column_of(&self.kept, b"Q")

    def take_members(self) -> Buffer:
        """Move out rows of three ``uint64``: a class, the id of a field's name, its type, and STATIC if it is static.

        Names of Android's heaps are there as those of a class 0 and of no type.
        """
        self.members.item_bytes, self.members.count = 8, self.members.count * 3
        return column_of(&self.members, b"Q")
