# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The third pass over a Java heap dump: reads the type, size, text, references and values of each object.

Ids in the file are looked up and never used as indices, and the fields of an instance end where its record ends,
whatever its classes declare. The file is mapped and may change at any time: each record is checked anew, although an
earlier pass has checked it.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcmp, memcpy, memset

from memlens.kernels.base.addresses cimport address_ordinal
from memlens.kernels.base.interning cimport hash_bytes
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.utf8 cimport write_utf8
from memlens.kernels.base.vectors cimport (
    Vector, column_of, vector_free, vector_push, vector_push_u32, vector_reserve,
)
from memlens.packs.jvm.kernels.hprof cimport (
    CLASS_DUMP, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, RUN_CHANGED, RUN_MORE, RUN_NO_MEMORY, RUN_OK,
    TYPE_ARRAY, TYPE_BOOLEAN, TYPE_BYTE, TYPE_CHAR, TYPE_DOUBLE, TYPE_FLOAT, TYPE_INT, TYPE_OBJECT, TYPE_SHORT, WHOLE,
    Record, Records, Segment, id_at, is_object, read_record, type_bytes,
)
from memlens.packs.jvm.kernels.hprof_objects cimport (
    FINALIZER, NO_CLASS, PHANTOM, REFERENT, SOFT, ClassRow, Field, Objects,
)
from memlens.kernels.readers.numbers cimport u16_at, u32_at, u64_at

FIELD, STATIC, ELEMENT, CLASS, SUPER, LOADER, SIGNERS, DOMAIN, CONSTANT, LOCAL, WEAK_REFERENT, SOFT_REFERENT, \
    PHANTOM_REFERENT, FINALIZER_REFERENT, UNFINALIZED = range(15)
"""Kinds of references, in the order of ``KINDS`` in ``hprof.py``."""

cdef enum:
    K_FIELD
    K_STATIC
    K_ELEMENT
    K_CLASS
    K_SUPER
    K_LOADER
    K_SIGNERS
    K_DOMAIN
    K_CONSTANT
    K_LOCAL
    K_WEAK
    K_SOFT
    K_PHANTOM
    K_FINALIZER
    K_UNFINALIZED

cdef enum:
    # kinds of values, indices of VALUE_KINDS of model/graph.py
    V_BOOLEAN
    V_BYTE
    V_CHAR
    V_SHORT
    V_INT
    V_LONG
    V_FLOAT
    V_DOUBLE

cdef enum:
    CLASS_EDGES = 8             # the most references of a class other than its constants and static fields
    MOST_ZEROS = 1 << 16        # by so many at the beginning an array is known to hold nothing
    LONG_TEXT_BYTES = 1024      # of an array; a text of no more isn't shortened, whatever its characters
    STRING_BYTES = 3072         # the most bytes of a string's text in UTF-8; longer ones are shortened
    TEXT_BYTES = 64 << 20       # the most bytes of all strings' texts beyond the size of the file
    MOST_TEXTS = 0x7FFFFFF0
    SEED = 0x5BD1E995           # of the hash of arrays' contents, so that an archive is the same each time

# types without a class in the file, numbered after the classes
UNKNOWN_TYPE, CLASS_TYPE, PRIMITIVE_ARRAY_TYPES = 0, 1, 2
MADE_TYPES = 14

cdef enum:
    T_UNKNOWN = 0
    T_CLASS = 1
    T_PRIMITIVE_ARRAYS = 2


cdef enum:
    HEAD_BYTES = 32

cdef struct ArrayRow:
    # as memlens.model.graph.ARRAY_DTYPE has it, but for the first elements
    uint64_t contents
    uint64_t offset
    uint32_t object
    uint32_t length
    uint32_t used
    uint8_t element_bytes
    uint8_t is_text
    uint16_t is_constant

cdef struct StoredArray:
    ArrayRow row
    uint8_t head[HEAD_BYTES]


cdef bint is_zero(const uint8_t *at, uint64_t count) noexcept nogil:
    cdef uint64_t each
    for each in range(count):
        if at[each]:
            return False
    return True


cdef class References(Owner):
    """Reads the records of ``objects``, which has been run to its end, again.

    ``held`` has the references from threads to what their stacks hold, which aren't in the records of objects: rows of
    source, target and the number of a name, sorted by source. With ``without_zeros`` a string of zeros has no text.
    """

    cdef readonly Objects objects
    cdef const uint32_t[:, ::1] held
    cdef Py_ssize_t local
    cdef Vector types, shallow, texts, starts, targets, kinds, names, stacks
    cdef Vector value_starts, value_names, value_kinds, value_bits
    # of_texts has a byte for each object: 1 for an array that is a string's text, 2 if a string has a part of it alone
    cdef Vector arrays, of_texts
    cdef size_t segment, done
    cdef readonly uint64_t offset
    cdef readonly uint64_t dangling, short_instances, unknown_classes, shortened_texts
    cdef bint with_stacks, without_zeros
    cdef uint32_t finalizer_name, unfinalized_name, length_name, last_class
    cdef uint64_t last_class_id
    cdef int code

    def __cinit__(self, Objects objects, const uint32_t[:, ::1] held, bint without_zeros=False):
        cdef Segment *segments = <Segment *> objects.records.segments.data
        cdef size_t count = objects.ids.count
        cdef uint64_t zero = 0
        cdef Py_ssize_t row
        if held.shape[1] != 3:
            raise ValueError("held have three columns")
        for row in range(held.shape[0]):
            if held[row, 0] >= count or held[row, 1] >= count or (row and held[row, 0] < held[row - 1, 0]):
                raise ValueError("held are of no object, or in no order")
        self.held = held
        self.objects = objects
        self.without_zeros = without_zeros
        self.last_class = NO_CLASS
        self.own(&self.types, 4)
        self.own(&self.shallow, 8)
        self.own(&self.texts, 4)
        self.own(&self.stacks, 4)
        self.own(&self.starts, 8)
        self.own(&self.targets, 4)
        self.own(&self.kinds, 1)
        self.own(&self.names, 4)
        self.own(&self.value_starts, 8)
        self.own(&self.value_names, 4)
        self.own(&self.value_kinds, 1)
        self.own(&self.value_bits, 8)
        self.own(&self.arrays, sizeof(ArrayRow))
        self.own(&self.of_texts, 1)
        self.finalizer_name = objects.records.named("java.lang.ref.Finalizer")
        self.unfinalized_name = objects.records.named("unfinalized")
        self.length_name = objects.records.named("length")
        while self.segment < objects.records.segments.count and segments[self.segment].dump != objects.dump:
            self.segment += 1
        if self.segment < objects.records.segments.count:
            self.offset = segments[self.segment].start
        if (vector_reserve(&self.types, count) < 0 or vector_reserve(&self.shallow, count) < 0
                or vector_reserve(&self.texts, count) < 0 or vector_reserve(&self.stacks, count) < 0
                or vector_reserve(&self.starts, count + 1) < 0 or vector_reserve(&self.value_starts, count + 1) < 0
                or vector_push(&self.starts, &zero) < 0 or vector_push(&self.value_starts, &zero) < 0
                or vector_reserve(&self.of_texts, count + 1) < 0):
            raise MemoryError
        memset(self.of_texts.data, 0, count)

    def run(self, uint64_t limit) -> int:
        """Continue to about the byte ``limit``, and return a status."""
        with nogil:
            if self.code == RUN_OK or self.code == RUN_MORE:
                self.code = self._scan(limit)
        return self.code

    cdef int _scan(self, uint64_t limit) noexcept nogil:
        cdef Segment *segments = <Segment *> self.objects.records.segments.data
        cdef const uint8_t *bytes = self.objects.records.bytes
        cdef Record record
        cdef int id_bytes = self.objects.records.id_bytes
        cdef size_t count = self.objects.ids.count, segment_count = self.objects.records.segments.count
        cdef int code
        while self.done < count:
            if self.segment >= segment_count:
                return RUN_CHANGED
            if self.offset >= segments[self.segment].end:
                self.segment += 1
                if self.segment < segment_count:
                    self.offset = segments[self.segment].start
                continue
            if self.offset >= limit:
                return RUN_MORE
            if read_record(bytes + self.offset, bytes + segments[self.segment].end, id_bytes, &record) != WHOLE:
                return RUN_CHANGED
            if is_object(record.tag):
                code = self._object(&record)
                if code != RUN_OK:
                    return code
                self.done += 1
            self.offset += record.bytes
        return RUN_OK

    cdef int _object(self, Record *record) noexcept nogil:
        cdef uint32_t type, number
        cdef uint64_t size
        cdef int64_t text = 0
        cdef int status
        if record.tag == INSTANCE_DUMP:
            status = self._instance(record, &type, &size, &text)
        elif record.tag == CLASS_DUMP:
            number = self.objects.class_of(record.id)
            if number == NO_CLASS:
                return RUN_CHANGED
            status = self._class(record, number, &type, &size, &text)
        elif record.tag == OBJECT_ARRAY_DUMP:
            status = self._object_array(record, &type, &size)
        else:
            type = self.objects.primitive_arrays[record.element]
            if type == NO_CLASS:
                type = <uint32_t> self.objects.classes.count + T_PRIMITIVE_ARRAYS + record.element
                status = 0
            else:
                status = self._reserve(1)
                if status == 0:
                    self._add((<ClassRow *> self.objects.classes.data)[type].id, K_CLASS, 0)
            size = self._array_bytes(record.number, type_bytes(record.element, 8))
            if status == 0 and record.tag == PRIMITIVE_ARRAY_DUMP and record.number:
                status = self._contents(record)
        if status < 0 or text < 0 or self._add_locals() < 0:
            return RUN_NO_MEMORY
        # room for these was reserved at the start
        (<uint32_t *> self.types.data)[self.done] = type
        (<uint64_t *> self.shallow.data)[self.done] = size
        (<uint32_t *> self.texts.data)[self.done] = <uint32_t> text
        (<uint32_t *> self.stacks.data)[self.done] = record.stack
        (<uint64_t *> self.starts.data)[self.done + 1] = self.targets.count
        (<uint64_t *> self.value_starts.data)[self.done + 1] = self.value_bits.count
        return RUN_OK

    cdef int _contents(self, Record *record) noexcept nogil:
        """Note an array's contents: a hash by which equal ones are found, and how many zeros are at its end."""
        cdef ArrayRow row
        cdef uint64_t bytes
        row.object = <uint32_t> self.done
        row.length = record.number
        row.element_bytes = <uint8_t> type_bytes(record.element, 8)
        row.is_text = 0
        bytes = <uint64_t> row.length * row.element_bytes
        row.offset = <uint64_t> (record.body - self.objects.records.bytes)
        # each element is the one before it
        row.is_constant = memcmp(record.body, record.body + row.element_bytes, bytes - row.element_bytes) == 0
        row.contents = hash_bytes(record.body, bytes, SEED)
        while bytes >= 8 and u64_at(record.body + bytes - 8) == 0:
            bytes -= 8
        while bytes and record.body[bytes - 1] == 0:
            bytes -= 1
        row.used = <uint32_t> ((bytes + row.element_bytes - 1) // row.element_bytes)
        return vector_push(&self.arrays, &row)

    cdef int _add_locals(self) noexcept nogil:
        while self.local < self.held.shape[0] and self.held[self.local, 0] == self.done:
            if self._reserve(1) < 0:
                return -1
            self._append(self.held[self.local, 1], K_LOCAL, self.held[self.local, 2])
            self.local += 1
        return 0

    # sizes

    cdef uint64_t _aligned(self, uint64_t bytes) noexcept nogil:
        cdef uint64_t alignment = <uint64_t> self.objects.alignment
        return (bytes + alignment - 1) // alignment * alignment

    cdef uint64_t _array_bytes(self, uint64_t count, int element_bytes) noexcept nogil:
        cdef uint64_t head = <uint64_t> self.objects.array_header_bytes
        if self.objects.declares_sizes:
            # an Android array: the 8 bytes of every object, and the length; elements of 8 bytes are aligned
            return self._aligned((16 if element_bytes == 8 else 12) + count * <uint64_t> element_bytes)
        if element_bytes == 8:
            head = (head + 7) & ~<uint64_t> 7
        return self._aligned(head + count * <uint64_t> element_bytes)

    cdef uint64_t _instance_bytes(self, ClassRow *row) noexcept nogil:
        return self._aligned(row.declared_bytes if self.objects.declares_sizes else row.size)

    # references

    cdef int _reserve(self, uint64_t count) noexcept nogil:
        """Make room for this many references."""
        if (vector_reserve(&self.targets, self.targets.count + count) < 0
                or vector_reserve(&self.kinds, self.kinds.count + count) < 0
                or vector_reserve(&self.names, self.names.count + count) < 0):
            return -1
        return 0

    cdef void _add(self, uint64_t id, uint8_t kind, uint32_t name) noexcept nogil:
        """Add a reference, for which there is room, unless it is null or its target isn't in the file."""
        cdef int64_t target
        if id == 0:
            return
        target = address_ordinal(&self.objects.by_address, id)
        if target < 0:
            self.dangling += 1
            return
        self._append(<uint32_t> target, kind, name)

    cdef void _append(self, uint32_t target, uint8_t kind, uint32_t name) noexcept nogil:
        (<uint32_t *> self.targets.data)[self.targets.count] = target
        (<uint8_t *> self.kinds.data)[self.kinds.count] = kind
        (<uint32_t *> self.names.data)[self.names.count] = name
        self.targets.count += 1
        self.kinds.count += 1
        self.names.count += 1

    cdef int _add_value(self, uint32_t name, uint8_t type, const uint8_t *at) noexcept nogil:
        cdef uint64_t bits
        cdef uint8_t kind
        if type == TYPE_BOOLEAN:
            kind, bits = V_BOOLEAN, at[0]
        elif type == TYPE_BYTE:
            kind, bits = V_BYTE, <uint64_t> <int64_t> <int8_t> at[0]
        elif type == TYPE_CHAR:
            kind, bits = V_CHAR, u16_at(at)
        elif type == TYPE_SHORT:
            kind, bits = V_SHORT, <uint64_t> <int64_t> <int16_t> u16_at(at)
        elif type == TYPE_INT:
            kind, bits = V_INT, <uint64_t> <int64_t> <int32_t> u32_at(at)
        elif type == TYPE_FLOAT:
            kind, bits = V_FLOAT, u32_at(at)
        else:
            kind, bits = V_DOUBLE if type == TYPE_DOUBLE else V_LONG, u64_at(at)
        if (vector_push_u32(&self.value_names, name) < 0 or vector_push(&self.value_kinds, &kind) < 0
                or vector_push(&self.value_bits, &bits) < 0):
            return -1
        return 0

    cdef int _instance(self, Record *record, uint32_t *type, uint64_t *size, int64_t *text) noexcept nogil:
        cdef ClassRow *classes = <ClassRow *> self.objects.classes.data
        cdef Field *fields
        cdef uint32_t number, each, walked
        cdef uint64_t base = 0, left
        cdef int id_bytes = self.objects.records.id_bytes
        cdef const uint8_t *at
        if record.other == self.last_class_id and self.last_class != NO_CLASS:
            number = self.last_class
        else:
            number = self.objects.class_of(record.other)
            self.last_class = number
            self.last_class_id = record.other
        if number == NO_CLASS:
            self.unknown_classes += 1
            type[0] = <uint32_t> self.objects.classes.count + T_UNKNOWN
            size[0] = self._aligned(<uint64_t> self.objects.header_bytes + record.body_bytes)
            return 0
        type[0] = number
        size[0] = self._instance_bytes(classes + number)
        if self._reserve(1 + record.body_bytes // <uint64_t> id_bytes) < 0:
            return -1
        self._add(record.other, K_CLASS, 0)
        walked = number
        while walked != NO_CLASS:
            fields = <Field *> self.objects.fields.data + classes[walked].first_field
            left = record.body_bytes - base
            for each in range(classes[walked].fields):
                if <uint64_t> fields[each].offset + <uint64_t> type_bytes(fields[each].type, id_bytes) > left:
                    self.short_instances += 1
                    return 0
                at = record.body + base + fields[each].offset
                if fields[each].type == TYPE_OBJECT or fields[each].type == TYPE_ARRAY:
                    self._add(id_at(at, id_bytes), self._kind_of(fields + each, classes + number), fields[each].name)
                elif self._add_value(fields[each].name, fields[each].type, at) < 0:
                    return -1
            base += classes[walked].field_bytes
            walked = classes[walked].next
        if number == self.objects.string_class and self.objects.string_fields.value >= 0:
            text[0] = self._string(record)
        return 0

    cdef uint8_t _kind_of(self, Field *field, ClassRow *row) noexcept nogil:
        if field.mark != REFERENT:
            return K_FIELD
        if row.strength == SOFT:
            return K_SOFT
        if row.strength == PHANTOM:
            return K_PHANTOM
        if row.strength == FINALIZER:
            return K_FINALIZER
        return K_WEAK

    cdef int _object_array(self, Record *record, uint32_t *type, uint64_t *size) noexcept nogil:
        """Read an array of references. Its length is a value, as elements that are null aren't references."""
        cdef uint64_t length = record.number
        cdef uint8_t kind = V_INT
        cdef uint32_t number = self.objects.class_of(record.other), each
        cdef int id_bytes = self.objects.records.id_bytes
        if self._reserve(1 + <uint64_t> record.number) < 0:
            return -1
        type[0] = number
        if number == NO_CLASS:
            self.unknown_classes += 1
            type[0] = <uint32_t> self.objects.classes.count + T_UNKNOWN
        else:
            self._add(record.other, K_CLASS, 0)
        for each in range(record.number):
            self._add(id_at(record.body + <uint64_t> each * <uint64_t> id_bytes, id_bytes), K_ELEMENT, each)
        if (vector_push_u32(&self.value_names, self.length_name) < 0 or vector_push(&self.value_kinds, &kind) < 0
                or vector_push(&self.value_bits, &length) < 0):
            return -1
        size[0] = self._array_bytes(record.number, self.objects.oop_bytes)
        return 0

    cdef int _class(
        self, Record *record, uint32_t number, uint32_t *type, uint64_t *size, int64_t *text
    ) noexcept nogil:
        """Read a class object, whose size is that of its static fields, as in Eclipse MAT.

        In Android's dumps, as in its own tool ahat, that is added to the size of an instance of java.lang.Class. Newer
        dumps give 0 for the latter, and have an array ``$classOverhead`` instead.
        """
        cdef ClassRow *row = <ClassRow *> self.objects.classes.data + number
        cdef const uint8_t *at = record.body
        cdef const uint8_t *end = at + record.body_bytes
        cdef uint32_t _each, count
        cdef uint8_t declared
        cdef uint64_t bytes = 0
        cdef int64_t name
        cdef int id_bytes = self.objects.records.id_bytes
        cdef uint8_t kind
        count = u16_at(at)
        if self._reserve(CLASS_EDGES + count) < 0:
            return -1
        type[0] = self.objects.class_class
        if type[0] == NO_CLASS:
            type[0] = <uint32_t> self.objects.classes.count + T_CLASS
        else:
            self._add((<ClassRow *> self.objects.classes.data)[type[0]].id, K_CLASS, 0)
            if self.objects.declares_sizes:
                bytes = (<ClassRow *> self.objects.classes.data)[type[0]].declared_bytes
        text[0] = row.name
        self._add(row.super_id, K_SUPER, 0)
        self._add(row.loader, K_LOADER, 0)
        self._add(row.signers, K_SIGNERS, 0)
        self._add(row.domain, K_DOMAIN, 0)
        at += 2
        # what was counted in the record's body may have changed since, so each step looks for the end of that
        for _each in range(count):
            if end - at < 3 + id_bytes:
                break
            declared = at[2]
            if declared == TYPE_OBJECT or declared == TYPE_ARRAY:
                self._add(id_at(at + 3, id_bytes), K_CONSTANT, u16_at(at))
            at += 3 + type_bytes(declared, id_bytes)
        count = u16_at(at) if end - at >= 2 else 0
        at += 2
        if self._reserve(count) < 0:
            return -1
        for _each in range(count):
            if end - at < id_bytes + 1:
                break
            name = self.objects.records.name(id_at(at, id_bytes))
            if name < 0:
                return -1
            name = self.objects.static_name(number, <uint32_t> name)
            at += id_bytes
            declared = at[0]
            if end - at < 1 + type_bytes(declared, id_bytes):
                break
            if declared == TYPE_OBJECT or declared == TYPE_ARRAY:
                kind = K_STATIC
                if <uint32_t> name == self.unfinalized_name and row.name == self.finalizer_name:
                    kind = K_UNFINALIZED
                self._add(id_at(at + 1, id_bytes), kind, <uint32_t> name)
                bytes += <uint64_t> self.objects.oop_bytes
            else:
                if self._add_value(<uint32_t> name, declared, at + 1) < 0:
                    return -1
                bytes += <uint64_t> type_bytes(declared, id_bytes)
            at += 1 + type_bytes(declared, id_bytes)
        size[0] = self._aligned(bytes)
        return 0

    # texts

    cdef int64_t _string(self, Record *record) noexcept nogil:
        """Return the number of a string's text; 0 if it has none, -1 if out of memory."""
        cdef int id_bytes = self.objects.records.id_bytes
        cdef int32_t coder = -1, last
        cdef uint64_t value_id, first = 0, count
        cdef uint8_t *mark
        cdef Record value
        if <uint64_t> self.objects.string_fields.value + <uint64_t> id_bytes > record.body_bytes:
            return 0
        value_id = id_at(record.body + self.objects.string_fields.value, id_bytes)
        if not self._array(value_id, &value):
            return 0
        mark = <uint8_t *> self.of_texts.data + address_ordinal(&self.objects.by_address, value_id)
        mark[0] = max(mark[0], <uint8_t> 1)
        count = value.number
        if 0 <= self.objects.string_fields.coder < <int64_t> record.body_bytes:
            coder = record.body[self.objects.string_fields.coder]
        last = max(self.objects.string_fields.offset, self.objects.string_fields.count)
        if (self.objects.string_fields.offset >= 0 and self.objects.string_fields.count >= 0
                and <uint64_t> last + 4 <= record.body_bytes):
            first = u32_at(record.body + self.objects.string_fields.offset)
            count = min(count, <uint64_t> u32_at(record.body + self.objects.string_fields.count))
            if count < value.number:
                mark[0] = 2
        return self._text_of(&value, coder, first, count)

    cdef bint _array(self, uint64_t id, Record *record) noexcept nogil:
        """Return whether there is an array of bytes or chars with this id, and read its record."""
        cdef int64_t number = address_ordinal(&self.objects.by_address, id)
        cdef const uint8_t *bytes
        if id == 0 or number < 0:
            return False
        bytes = self.objects.records.bytes + (<uint64_t *> self.objects.offsets.data)[number]
        # reading a class takes as long as it has fields, and any number of strings may refer to it
        if bytes[0] != PRIMITIVE_ARRAY_DUMP:
            return False
        if read_record(bytes, self.objects.records.bytes + self.objects.records.length,
                       self.objects.records.id_bytes, record) != WHOLE or record.tag != PRIMITIVE_ARRAY_DUMP:
            return False
        return record.element == TYPE_BYTE or record.element == TYPE_CHAR

    cdef int64_t _text_of(self, Record *array, int32_t coder, uint64_t first, uint64_t count) noexcept nogil:
        """Return the number of the text of ``count`` characters of an array, from ``first`` on; -1 if out of memory.

        Chars are big-endian, like all numbers in the file. Bytes are Latin-1 or, if the string's coder is 1, UTF-16 in
        the byte order of the recording processor; nearly all that run a JVM are little-endian, so this is assumed.
        """
        cdef uint8_t out[STRING_BYTES + 64]
        cdef const uint8_t *body = array.body
        cdef bint wide = array.element == TYPE_CHAR or coder == 1
        cdef bint big = array.element == TYPE_CHAR
        cdef uint64_t units = array.number // 2 if wide and not big else array.number, at, end
        cdef uint32_t character, low
        cdef size_t done = 0
        if wide and not big:
            count = units
        if first > units:
            return 0
        if (self.objects.records.names.units.count > self.objects.records.length + TEXT_BYTES
                or self.objects.records.names.starts.count > MOST_TEXTS):
            # strings that are different slices of one array could fill memory
            self.shortened_texts += 1
            return 0
        end = min(first + count, units)
        if self.without_zeros and is_zero(body, min(array.body_bytes, <uint64_t> MOST_ZEROS)):
            return 0
        at = first
        while at < end and done < STRING_BYTES:
            if not wide:
                character = body[at]
            else:
                character = u16_at(body + 2 * at) if big else body[2 * at] | <uint32_t> body[2 * at + 1] << 8
                if character & 0xFC00 == 0xD800 and at + 1 < end:
                    low = u16_at(body + 2 * at + 2) if big else body[2 * at + 2] | <uint32_t> body[2 * at + 3] << 8
                    if low & 0xFC00 == 0xDC00:
                        character = 0x10000 + ((character & 0x3FF) << 10) + (low & 0x3FF)
                        at += 1
                if 0xD800 <= character <= 0xDFFF:
                    character = 0xFFFD
            at += 1
            done += write_utf8(out + done, character)
        if at < end:
            self.shortened_texts += 1
            # the length distinguishes texts that begin alike
            done += <size_t> snprintf(<char *> out + done, 48, b"\xe2\x80\xa6 (%llu characters)",
                                      <unsigned long long> (end - first))
        return self.objects.records.intern(out, done)

    def name_of_thread(self, uint32_t number) -> int:
        """Return the number of the text in an object's field ``name``, a string or an array of chars; 0 for none.

        Of fields of that name it is that of the class furthest above: a thread's own class may have a "name", too.
        """
        cdef Objects objects = self.objects
        cdef Records records = objects.records
        cdef ClassRow *classes = <ClassRow *> objects.classes.data
        cdef uint32_t wanted = records.named("name"), walked, each
        cdef const uint8_t *whole_end = records.bytes + records.length
        cdef const uint8_t *at
        cdef uint64_t base = 0, id = 0
        cdef int64_t target, text
        cdef Record record, array
        cdef Field *field
        if number >= objects.ids.count:
            raise IndexError(number)
        at = records.bytes + (<uint64_t *> objects.offsets.data)[number]
        if at[0] != INSTANCE_DUMP:
            return 0
        read_record(at, whole_end, records.id_bytes, &record)
        walked = objects.class_of(record.other)
        while walked != NO_CLASS and base < record.body_bytes:
            for each in range(classes[walked].fields):
                field = <Field *> objects.fields.data + classes[walked].first_field + each
                if base + field.offset >= record.body_bytes:
                    break
                if field.name != wanted or (field.type != TYPE_OBJECT and field.type != TYPE_ARRAY):
                    continue
                if base + field.offset + <uint64_t> records.id_bytes > record.body_bytes:
                    break
                id = id_at(record.body + base + field.offset, records.id_bytes)
            base += classes[walked].field_bytes
            walked = classes[walked].next
        target = address_ordinal(&objects.by_address, id)
        if id == 0 or target < 0:
            return 0
        if self._array(id, &array):
            text = self._text_of(&array, -1, 0, array.number)
            if text < 0:
                raise MemoryError
            return text
        return (<uint32_t *> self.texts.data)[target] if <size_t> target < self.done else 0

    # tables

    def take_objects(self) -> tuple[Buffer, Buffer, Buffer, Buffer]:
        """Move out the types, sizes in bytes, texts and serial numbers of stacks, an item for each object."""
        self.types.count = self.shallow.count = self.texts.count = self.stacks.count = self.done
        return (column_of(&self.types, b"I"), column_of(&self.shallow, b"Q"), column_of(&self.texts, b"I"),
                column_of(&self.stacks, b"I"))

    def take_ids(self) -> Buffer:
        """Move out the ids of objects."""
        return column_of(&self.objects.ids, b"Q")

    def take_references(self) -> tuple[Buffer, Buffer, Buffer, Buffer]:
        """Move out the offset of each object's first reference, and the targets, kinds and names of references."""
        self.starts.count = self.done + 1
        return (column_of(&self.starts, b"Q"), column_of(&self.targets, b"I"), column_of(&self.kinds, b"B"),
                column_of(&self.names, b"I"))

    def take_values(self) -> tuple[Buffer, Buffer, Buffer, Buffer]:
        """Move out the offset of each object's first value, and the names, kinds and bits of values."""
        self.value_starts.count = self.done + 1
        return (column_of(&self.value_starts, b"Q"), column_of(&self.value_names, b"I"),
                column_of(&self.value_kinds, b"B"), column_of(&self.value_bits, b"Q"))

    def class_rows(self, uint32_t[::1] names, uint32_t[::1] ordinals, uint64_t[::1] loaders,
                   uint8_t[::1] arrays) -> None:
        """Fill columns with an item for each class: number of the name's text, number of the class's object, id of its
        loader, and whether it is a class of arrays.
        """
        cdef ClassRow *classes = <ClassRow *> self.objects.classes.data
        cdef Py_ssize_t each, count = <Py_ssize_t> self.objects.classes.count
        if not names.shape[0] == ordinals.shape[0] == loaders.shape[0] == arrays.shape[0] == count:
            raise ValueError("columns of different lengths")
        for each in range(count):
            names[each] = classes[each].name
            ordinals[each] = classes[each].ordinal
            loaders[each] = classes[each].loader
            arrays[each] = classes[each].is_array


cdef class Arrays(Owner):
    """The last pass: finds the rows of arrays of numbers among those of ``references``, which has been run to its end.

    Of arrays that are a string's text these are long ones, and those of which a string has a part alone, as until
    Java 6 ``substring`` left them. The first elements are read again, since until all strings are read it isn't known
    which arrays are their texts.
    """

    cdef References references
    cdef Vector stored
    cdef size_t each
    cdef readonly uint64_t offset

    def __cinit__(self, References references):
        self.references = references
        self.own(&self.stored, sizeof(StoredArray))

    def run(self, uint64_t limit) -> int:
        """Continue to about the byte ``limit``, and return a status."""
        cdef int code
        with nogil:
            code = self._scan(limit)
        if code == RUN_OK:
            vector_free(&self.references.arrays)
            vector_free(&self.references.of_texts)
        return code

    cdef int _scan(self, uint64_t limit) noexcept nogil:
        cdef const uint8_t *bytes = self.references.objects.records.bytes
        cdef uint64_t length = self.references.objects.records.length
        cdef StoredArray found
        cdef ArrayRow *row
        cdef uint64_t size, left
        cdef uint8_t mark
        while self.each < self.references.arrays.count:
            row = <ArrayRow *> self.references.arrays.data + self.each
            self.offset = row.offset
            if row.offset >= limit:
                return RUN_MORE
            self.each += 1
            mark = (<uint8_t *> self.references.of_texts.data)[row.object]
            size = <uint64_t> row.length * row.element_bytes
            if mark == 1 and size <= LONG_TEXT_BYTES:
                continue
            memset(&found, 0, sizeof(found))
            found.row = row[0]
            found.row.is_text = mark != 0
            left = length - min(row.offset, length)
            memcpy(found.head, bytes + row.offset, min(min(size, left), <uint64_t> HEAD_BYTES))
            if vector_push(&self.stored, &found) < 0:
                return RUN_NO_MEMORY
        return RUN_OK

    def take(self) -> Buffer:
        """Move out the rows, as bytes."""
        self.stored.count *= sizeof(StoredArray)
        self.stored.item_bytes = 1
        return column_of(&self.stored, b"B")
