# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The second pass over a Java heap dump: locates the objects of one dump, and reads its roots, classes and fields.

Objects are numbered in the order of the file. Their sizes aren't in the file, but follow from the fields of classes,
the size of a reference in the heap and that of an object's header. Both depend on how the virtual machine was started
(``-XX:-UseCompressedOops``, a heap above 32 GB, ZGC, ``-XX:+UseCompactObjectHeaders``), and show in the distances of
arrays to the objects that follow them: the layout is the one in which most arrays end exactly where the next object
begins, and (almost) none would reach into it. Where no array shows it, references are taken for compressed if an array
of objects would reach into the next object without that, as in Eclipse MAT.
"""

import os

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int32_t, int64_t
from libc.string cimport memcmp, memset

from memlens.kernels.base.addresses cimport address_map_build, address_map_free, address_map_init, address_ordinal
from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push, vector_reserve
from memlens.packs.jvm.kernels.hprof cimport (
    ANDROID_HEAP, CLASS_DUMP, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, RUN_MORE, RUN_NO_MEMORY,
    RUN_OK, RUN_TOO_MANY, TYPE_ARRAY, TYPE_BYTE, TYPE_INT, TYPE_OBJECT, WHOLE, Load, Record, Records, Segment,
    TextPlace, id_at, is_object, read_record, type_bytes,
)
from memlens.kernels.readers.numbers cimport u16_at

cdef enum:
    MOST_OBJECTS = 0xFFFFFFF0
    NAME_BYTES = 4096
    MANY_OBJECTS = 1000         # enough for their addresses to show the heap's alignment
    USUAL_ALIGNMENT = 8
    LARGEST_ALIGNMENT = 256
    MOST_INSTANCES = 1 << 22    # that are looked at for the layout
    ENOUGH_FITS = 16            # small arrays that end where the next object begins may do so by chance,
    LARGE_ARRAY = 4096          # one of so many bytes doesn't

# names of java.lang.String's classes and fields are compared as bytes
cdef const char *DESCRIPTORS = b"\0\0\0\0ZCFDBSIJ"
cdef const char **PRIMITIVES = ["", "", "", "", "boolean", "char", "float", "double", "byte", "short", "int", "long"]


# HotSpot's layouts with 64 bits: references, an object's header, an array's header with its length. Elements of 8 bytes
# begin at a multiple of 8. (markWord.hpp, arrayOop.hpp and objLayout.hpp of OpenJDK)
cdef int[LAYOUTS][3] LAYOUT
LAYOUT[0][:] = [4, 12, 16]      # compressed references and classes, the default below 32 GB
LAYOUT[1][:] = [8, 16, 24]      # nothing compressed
LAYOUT[2][:] = [8, 12, 16]      # compressed classes alone: ZGC, larger heaps
LAYOUT[3][:] = [4, 8, 12]       # compact headers, from JDK 24
LAYOUT[4][:] = [8, 8, 12]       # compact headers without compressed references
LAYOUT[5][:] = [8, 16, 20]      # nothing compressed, from JDK 22


cdef inline bint equals(const uint8_t *text, uint64_t count, const char *name, size_t name_bytes) noexcept nogil:
    return count == name_bytes and memcmp(text, name, name_bytes) == 0


cdef size_t write_source_name(const uint8_t *name, size_t count, uint8_t *out) noexcept nogil:
    """Write a class's name as in source code (``java.lang.String[]`` for the virtual machine's
    ``[Ljava/lang/String;``), and return its bytes. ``out`` has room for NAME_BYTES; longer names are cut off.
    """
    cdef size_t dimensions = 0, done = 0, each, _each
    cdef const char *primitive = NULL
    while dimensions < count and name[dimensions] == b"[":
        dimensions += 1
    if dimensions:
        name += dimensions
        count -= dimensions
        if count == 1:
            for each in range(4, 12):
                if DESCRIPTORS[each] == <char> name[0]:
                    primitive = PRIMITIVES[each]
        elif count >= 2 and name[0] == b"L" and name[count - 1] == b";":
            name += 1
            count -= 2
    if primitive != NULL:
        while primitive[done]:
            out[done] = <uint8_t> primitive[done]
            done += 1
    else:
        count = min(count, <size_t> NAME_BYTES)
        for each in range(count):
            out[each] = b"." if name[each] == b"/" else name[each]
        done = count
    for _each in range(dimensions):
        if done + 2 > NAME_BYTES:
            break
        out[done] = b"["
        out[done + 1] = b"]"
        done += 2
    return done


cdef class Objects(Owner):
    """Reads one of the dumps in ``records``, which has been run to its end; ``dump`` is its number, from 0."""

    def __cinit__(self, Records records, uint32_t dump, bint declares_sizes):
        cdef Segment *segments = <Segment *> records.segments.data
        self.records = records
        self.dump = dump
        self.declares_sizes = declares_sizes
        self.ended = WHOLE
        self.string_class = self.class_class = NO_CLASS
        self.own(&self.ids, 8)
        self.own(&self.offsets, 8)
        self.own(&self.classes, sizeof(ClassRow))
        self.own(&self.fields, sizeof(Field))
        self.own(&self.roots, sizeof(RootRow))
        self.own(&self.spaces, sizeof(SpaceRow))
        self.own(&self.statics, sizeof(StaticName))
        address_map_init(&self.by_address)
        address_map_init(&self.classes_by_id)
        while self.segment < records.segments.count and segments[self.segment].dump != dump:
            self.segment += 1
        if self.segment < records.segments.count:
            self.offset = segments[self.segment].start

    def __dealloc__(self):
        address_map_free(&self.by_address)
        address_map_free(&self.classes_by_id)

    def run(self, uint64_t limit) -> int:
        """Continue to about the byte ``limit``, and return a status. After OK classes are linked to their super
        classes, and objects can be looked up.
        """
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        with nogil:
            if self.code == RUN_OK:
                self.code = self._scan(limit)
                if self.code == RUN_OK:
                    self.code = self._finish(seed)
        code = self.code
        if code == RUN_MORE:
            self.code = RUN_OK
        return code

    def finish(self) -> int:
        """End before the end of the file, as if it had only the objects that were read. Returns a status."""
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        with nogil:
            self.code = self._finish(seed)
        return self.code

    @property
    def layout(self) -> tuple[int, int, int, int, bool, int, int]:
        """What was inferred: see :meth:`lay_out`."""
        return (self.oop_bytes, self.header_bytes, self.array_header_bytes, self.alignment, self.packs_fields,
                self.arrays_fitting, self.arrays_compared)

    def lay_out(
        self, int oop_bytes, int header_bytes, int array_header_bytes, int alignment, int packs_fields,
        uint64_t arrays_fitting, uint64_t arrays_compared,
    ) -> None:
        """Set, before the first run, how objects are laid out, instead of inferring it from addresses.

        Bytes of a reference, of the headers of objects and of arrays, multiples at which objects begin; whether fields
        fill gaps of super classes; how many arrays showed it, of how many.
        """
        if oop_bytes not in (4, 8) or not 0 < header_bytes <= 64 or not 0 < array_header_bytes <= 64 or (
                alignment not in (1, 2, 4, 8, 16, 32, 64, 128, 256)):
            return
        self.is_laid_out = True
        self.oop_bytes, self.header_bytes, self.array_header_bytes = oop_bytes, header_bytes, array_header_bytes
        self.alignment, self.packs_fields = alignment, packs_fields != 0
        self.arrays_fitting, self.arrays_compared = arrays_fitting, arrays_compared

    cdef int _scan(self, uint64_t limit) noexcept nogil:
        cdef Segment *segments = <Segment *> self.records.segments.data
        cdef size_t count = self.records.segments.count
        cdef const uint8_t *bytes = self.records.bytes
        cdef Record record
        cdef RootRow root
        cdef SpaceRow space
        cdef int id_bytes = self.records.id_bytes, status
        while self.segment < count and segments[self.segment].dump == self.dump:
            while self.offset < segments[self.segment].end:
                if self.offset >= limit:
                    return RUN_MORE
                status = read_record(bytes + self.offset, bytes + segments[self.segment].end, id_bytes, &record)
                if status != WHOLE:
                    self.ended = status
                    self.segment = count
                    return RUN_OK
                status = RUN_OK
                if is_object(record.tag):
                    status = self._object(&record, self.offset)
                elif record.tag == ANDROID_HEAP:
                    space.name = record.other
                    space.number = record.number
                    space.ordinal = <uint32_t> self.ids.count
                    status = vector_push(&self.spaces, &space)
                else:
                    root.id = record.id
                    root.thread = record.number
                    root.number = record.frame
                    root.tag = record.tag
                    root.unused = 0
                    status = vector_push(&self.roots, &root)
                if status:
                    return RUN_NO_MEMORY if status < 0 else status
                self.offset += record.bytes
            self.segment += 1
            if self.segment < count and segments[self.segment].dump == self.dump:
                self.offset = segments[self.segment].start
        return RUN_OK

    cdef int _object(self, Record *record, uint64_t at) noexcept nogil:
        if self.ids.count >= MOST_OBJECTS:
            return RUN_TOO_MANY
        if vector_push(&self.ids, &record.id) < 0 or vector_push(&self.offsets, &at) < 0:
            return -1
        if record.tag == CLASS_DUMP:
            return self._class(record)
        self.bits |= record.id
        if self.array_bytes[0] and record.id > self.array_start and not self.is_laid_out:
            self._compare(record.id - self.array_start)
        self.array_start = record.id
        self.array_bytes[0] = 0
        if record.tag == OBJECT_ARRAY_DUMP or record.tag == PRIMITIVE_ARRAY_DUMP:
            self._expect(record)
        return RUN_OK

    cdef void _expect(self, Record *record) noexcept nogil:
        """Compute the bytes that an array has in each layout."""
        cdef uint64_t element, head
        cdef int each
        self.array_of_objects = record.tag == OBJECT_ARRAY_DUMP
        for each in range(LAYOUTS):
            element = <uint64_t> (LAYOUT[each][0] if self.array_of_objects else type_bytes(record.element, 8))
            head = <uint64_t> LAYOUT[each][2]
            if element == 8:
                head = (head + 7) & ~<uint64_t> 7
            self.array_bytes[each] = head + element * <uint64_t> record.number

    cdef void _compare(self, uint64_t distance) noexcept nogil:
        """Count in which layouts the last array fits the distance to the next object, or is too large for it."""
        cdef uint64_t alignment = 8 if self.bits & 8 else 16
        cdef int each
        self.arrays_compared += 1
        if self.array_of_objects and self.array_bytes[1] > distance:
            self.compressed = True
        for each in range(LAYOUTS):
            if self.array_bytes[each] > distance:
                self.too_large[each] += 1
            elif distance - self.array_bytes[each] < alignment:
                self.fitting[each] += 1
                self.evidence[each] += ENOUGH_FITS if self.array_bytes[each] >= LARGE_ARRAY else 1

    cdef int _layout(self) noexcept nogil:
        """Return the layout that fits most arrays; -1 if the dump doesn't show it."""
        cdef int best = -1, each
        if self.records.id_bytes != 8 or self.declares_sizes:
            return -1
        for each in range(LAYOUTS):
            if self.evidence[each] >= ENOUGH_FITS and self.too_large[each] * 50 <= self.arrays_compared:
                if best < 0 or self.evidence[each] > self.evidence[best]:
                    best = each
        return best

    cdef int _class(self, Record *record) noexcept nogil:
        """Add a class and its fields, whose names are still ids of texts."""
        cdef ClassRow row
        cdef Field field
        cdef const uint8_t *at = record.body
        cdef const uint8_t *ids
        cdef int id_bytes = self.records.id_bytes
        cdef uint32_t each, _each, count
        cdef int64_t name
        memset(&row, 0, sizeof(row))
        memset(&field, 0, sizeof(field))
        ids = at - 4 - 6 * id_bytes
        row.id = record.id
        row.super_id = id_at(ids, id_bytes)
        row.loader = id_at(ids + id_bytes, id_bytes)
        row.signers = id_at(ids + 2 * id_bytes, id_bytes)
        row.domain = id_at(ids + 3 * id_bytes, id_bytes)
        row.declared_bytes = record.number
        row.body = <uint64_t> (at - self.records.bytes)
        row.ordinal = <uint32_t> (self.ids.count - 1)
        row.super_class = row.next = NO_CLASS
        count = u16_at(at)
        at += 2
        for _each in range(count):
            at += 3 + type_bytes(at[2], id_bytes)
        count = u16_at(at)
        at += 2
        for _each in range(count):
            at += id_bytes + 1 + type_bytes(at[id_bytes], id_bytes)
        row.fields = u16_at(at)
        row.first_field = self.fields.count
        at += 2
        for each in range(row.fields):
            name = self.records.name(id_at(at, id_bytes))
            if name < 0:
                return -1
            field.name = <uint32_t> name
            field.type = at[id_bytes]
            field.offset = row.field_bytes
            if type_bytes(field.type, id_bytes) == 0 or vector_push(&self.fields, &field) < 0:
                # a field of unknown type isn't an error: instances are read up to it
                row.fields = each
                break
            row.field_bytes += type_bytes(field.type, id_bytes)
            at += id_bytes + 1
        return vector_push(&self.classes, &row)

    # after the last record

    cdef int _finish(self, uint64_t seed) noexcept nogil:
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef Vector ids
        cdef size_t each
        cdef int status
        self.total = self.ids.count
        if address_map_build(&self.by_address, <uint64_t *> self.ids.data, self.ids.count, seed) < 0:
            return RUN_NO_MEMORY
        vector_init(&ids, 8)
        status = vector_reserve(&ids, self.classes.count)
        if status == 0:
            for each in range(self.classes.count):
                vector_push(&ids, &classes[each].id)
            status = address_map_build(&self.classes_by_id, <uint64_t *> ids.data, ids.count, seed)
        vector_free(&ids)
        if status < 0 or self._name_classes() < 0:
            return RUN_NO_MEMORY
        if not self.is_laid_out:
            self.alignment = USUAL_ALIGNMENT
            if self.by_address.count >= MANY_OBJECTS and self.by_address.shift > 3:
                self.alignment = min(1 << self.by_address.shift, <int> LARGEST_ALIGNMENT)
            self._infer_layout()
        self.compressed = self.oop_bytes < self.records.id_bytes
        self._link_classes()
        if not self.is_laid_out:
            self._infer_packing()
        if self.packs_fields:
            self._pack_fields()
        self._find_string_fields()
        return RUN_OK

    cdef void _infer_layout(self) noexcept nogil:
        cdef int layout = self._layout(), id_bytes = self.records.id_bytes
        if layout >= 0:
            self.arrays_fitting = self.fitting[layout]
        elif id_bytes == 8 and self.compressed and self.by_address.shift >= 3:
            layout = 0
        if layout >= 0:
            self.oop_bytes, self.header_bytes = LAYOUT[layout][0], LAYOUT[layout][1]
            self.array_header_bytes = LAYOUT[layout][2]
        else:
            self.oop_bytes = id_bytes
            self.header_bytes = 2 * id_bytes
            self.array_header_bytes = (2 * id_bytes + 4 + id_bytes - 1) // id_bytes * id_bytes

    cdef uint32_t class_of(self, uint64_t id) noexcept nogil:
        """Return the index of the class with this id, or NO_CLASS if there is none."""
        cdef int64_t number = address_ordinal(&self.classes_by_id, id)
        return NO_CLASS if number < 0 else <uint32_t> number

    cdef int _name_classes(self) noexcept nogil:
        """Take the names of classes from the records of loaded classes; a class without a record has the name 0."""
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef Load *loads = <Load *> self.records.loads.data
        cdef TextPlace *places = <TextPlace *> self.records.text_places.data
        cdef const uint8_t *name
        cdef uint8_t source_name[NAME_BYTES]
        cdef uint32_t number
        cdef int64_t text
        cdef size_t each, count, kind
        for each in range(self.records.loads.count):
            number = self.class_of(loads[each].id)
            text = address_ordinal(&self.records.texts_by_id, loads[each].name)
            if number == NO_CLASS or text < 0:
                continue
            name = self.records.bytes + places[text].offset
            count = write_source_name(name, places[text].count, source_name)
            text = self.records.intern(source_name, count)
            if text < 0:
                return -1
            classes[number].name = <uint32_t> text
            classes[number].is_array = count >= 2 and source_name[count - 1] == b"]" and source_name[count - 2] == b"["
            if equals(source_name, count, b"java.lang.String", 16):
                self.string_class = number
            elif equals(source_name, count, b"java.lang.Class", 15):
                self.class_class = number
        for kind in range(12):
            self.primitive_arrays[kind] = NO_CLASS
        for each in range(self.classes.count):
            if classes[each].is_array and classes[each].name:
                self._note_primitive_array(<uint32_t> each)
        return 0

    cdef void _note_primitive_array(self, uint32_t number) noexcept nogil:
        cdef ClassRow *row = <ClassRow *> self.classes.data + number
        cdef uint64_t *starts = <uint64_t *> self.records.names.starts.data
        cdef const uint8_t *name = self.records.names.units.data + starts[row.name]
        cdef uint64_t count = starts[row.name + 1] - starts[row.name]
        cdef size_t kind, length
        for kind in range(4, 12):
            length = 0
            while PRIMITIVES[kind][length]:
                length += 1
            if count == length + 2 and memcmp(name, PRIMITIVES[kind], length) == 0:
                self.primitive_arrays[kind] = number

    cdef void _link_classes(self) noexcept nogil:
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef size_t each
        for each in range(self.classes.count):
            if classes[each].super_id:
                classes[each].super_class = self.class_of(classes[each].super_id)
        for each in range(self.classes.count):
            self._inherit(<uint32_t> each)

    cdef void _inherit(self, uint32_t number) noexcept nogil:
        """Compute what a class inherits from its super classes. A class that extends itself has no super class."""
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef Field *fields
        cdef ClassRow *row
        cdef ClassRow *above
        cdef uint32_t here = number, up, each, came_from = NO_CLASS
        cdef uint64_t own
        cdef uint64_t unit = 4 if self.header_bytes < 16 else <uint64_t> self.oop_bytes
        # up: each class stores in ``next`` the one from which it was reached
        while True:
            row = classes + here
            if row.state == 2:
                here = came_from
                break
            row.state = 1
            row.next = came_from
            up = row.super_class
            if up != NO_CLASS and classes[up].state == 1:
                row.super_class = up = NO_CLASS
                self.circular_classes += 1
            if up == NO_CLASS:
                break
            came_from = here
            here = up
        # and down again
        while here != NO_CLASS:
            row = classes + here
            came_from = row.next
            row.next = NO_CLASS
            above = NULL if row.super_class == NO_CLASS else classes + row.super_class
            fields = <Field *> self.fields.data + row.first_field
            own = 0
            for each in range(row.fields):
                if fields[each].type == TYPE_OBJECT or fields[each].type == TYPE_ARRAY:
                    own += self.oop_bytes
                else:
                    own += type_bytes(fields[each].type, self.records.id_bytes)
            row.strength = self._reference_strength(row)
            if above == NULL:
                # own: the fields of a class without a super class, which is java.lang.Object
                row.size = row.packed = <uint64_t> self.header_bytes + own
            else:
                row.next = row.super_class if above.fields else above.next
                row.size = above.size + own
                row.packed = above.packed + own
                if row.strength == ORDINARY:
                    row.strength = above.strength
            row.size = (row.size + unit - 1) // unit * unit
            row.state = 2
            here = came_from

    cdef void _infer_packing(self) noexcept nogil:
        """Fields of a class fill the gaps that its super classes' fields leave from JDK 15 on; before, each class's
        fields are rounded up. It shows in the distances of instances, as the layout does in those of arrays.
        """
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef uint64_t *ids = <uint64_t *> self.ids.data
        cdef uint64_t *offsets = <uint64_t *> self.offsets.data
        cdef const uint8_t *bytes = self.records.bytes
        cdef uint64_t step = <uint64_t> self.alignment, distance, rounded, packed, each
        cdef uint64_t fit_rounded = 0, fit_packed = 0, last = 0 if self.ids.count == 0 else self.ids.count - 1
        cdef Record record
        cdef uint64_t of_class = 0
        cdef uint32_t number = NO_CLASS
        cdef bint newer
        if self.records.id_bytes != 8 or self.declares_sizes:
            return
        for each in range(min(last, <uint64_t> MOST_INSTANCES)):
            if ids[each + 1] <= ids[each] or bytes[offsets[each]] != INSTANCE_DUMP:
                continue
            # this pass has checked the record, but the file may have changed since
            if read_record(bytes + offsets[each], bytes + self.records.length, 8, &record) != WHOLE:
                continue
            if record.other != of_class:
                of_class = record.other
                number = self.class_of(of_class)
            if number == NO_CLASS:
                continue
            rounded = (classes[number].size + step - 1) // step * step
            packed = (classes[number].packed + step - 1) // step * step
            distance = ids[each + 1] - ids[each]
            if rounded != packed:
                fit_rounded += distance == rounded
                fit_packed += distance == packed
            if fit_packed + fit_rounded >= MANY_OBJECTS:
                break
        # without evidence: compact headers and compressed classes alone came after JDK 15
        newer = self.header_bytes < 12 or (self.oop_bytes == 8 and self.array_header_bytes < 24)
        self.packs_fields = fit_packed > fit_rounded or (fit_packed == fit_rounded and newer)

    cdef void _pack_fields(self) noexcept nogil:
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef size_t each
        for each in range(self.classes.count):
            classes[each].size = classes[each].packed

    cdef uint8_t _reference_strength(self, ClassRow *row) noexcept nogil:
        """Return the kind of reference that a class is by its own name, and mark its field ``referent``."""
        cdef uint64_t *starts = <uint64_t *> self.records.names.starts.data
        cdef const uint8_t *name = self.records.names.units.data + starts[row.name]
        cdef uint64_t count = starts[row.name + 1] - starts[row.name]
        cdef Field *field
        cdef uint32_t each
        if count < 18 or memcmp(name, b"java.lang.ref.", 14):
            return ORDINARY
        name += 14
        count -= 14
        if equals(name, count, b"SoftReference", 13):
            return SOFT
        if equals(name, count, b"WeakReference", 13):
            return WEAK
        if equals(name, count, b"PhantomReference", 16):
            return PHANTOM
        if equals(name, count, b"FinalReference", 14) or equals(name, count, b"FinalizerReference", 18):
            return FINALIZER
        if not equals(name, count, b"Reference", 9):
            return ORDINARY
        for each in range(row.fields):
            field = <Field *> self.fields.data + row.first_field + each
            if equals(self.records.names.units.data + starts[field.name],
                      starts[field.name + 1] - starts[field.name], b"referent", 8):
                field.mark = REFERENT
        return OTHER_REFERENCE

    cdef void _find_string_fields(self) noexcept nogil:
        cdef uint64_t *starts = <uint64_t *> self.records.names.starts.data
        cdef StringFields *found = &self.string_fields
        cdef const uint8_t *name
        cdef uint64_t count
        cdef ClassRow *row
        cdef Field *field
        cdef uint32_t each
        found.value = found.coder = found.offset = found.count = -1
        if self.string_class == NO_CLASS:
            return
        row = <ClassRow *> self.classes.data + self.string_class
        for each in range(row.fields):
            field = <Field *> self.fields.data + row.first_field + each
            name = self.records.names.units.data + starts[field.name]
            count = starts[field.name + 1] - starts[field.name]
            if field.type == TYPE_OBJECT and equals(name, count, b"value", 5):
                found.value = <int32_t> field.offset
            elif field.type == TYPE_BYTE and equals(name, count, b"coder", 5):
                found.coder = <int32_t> field.offset
            elif field.type == TYPE_INT and equals(name, count, b"offset", 6):
                found.offset = <int32_t> field.offset
            elif field.type == TYPE_INT and equals(name, count, b"count", 5):
                found.count = <int32_t> field.offset

    # names

    @property
    def field_count(self) -> int:
        """The number of fields of all classes."""
        return self.fields.count

    def names_of_classes(self, uint32_t[::1] names, uint64_t[::1] first, uint32_t[::1] fields) -> None:
        """Fill in each class's name, where its fields begin, and the fields' names, all as numbers of texts."""
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef Field *rows = <Field *> self.fields.data
        cdef Py_ssize_t each
        self._check_names(names, fields)
        if first.shape[0] != names.shape[0] + 1:
            raise ValueError("columns of different lengths")
        for each in range(names.shape[0]):
            names[each], first[each] = classes[each].name, classes[each].first_field
        first[names.shape[0]] = self.fields.count
        for each in range(fields.shape[0]):
            fields[each] = rows[each].name

    def rename(self, const uint32_t[::1] names, const uint32_t[::1] fields, const uint32_t[:, ::1] statics) -> None:
        """Change these names. ``statics`` are rows of class, name of a static field, its new name; sorted."""
        cdef ClassRow *classes = <ClassRow *> self.classes.data
        cdef Field *rows = <Field *> self.fields.data
        cdef StaticName row
        cdef Py_ssize_t each
        self._check_names(names, fields)
        if statics.shape[1] != 3:
            raise ValueError("static fields have three columns")
        for each in range(names.shape[0]):
            classes[each].name = names[each]
        for each in range(fields.shape[0]):
            rows[each].name = fields[each]
        self.statics.count = 0
        for each in range(statics.shape[0]):
            row.number, row.name, row.renamed = statics[each, 0], statics[each, 1], statics[each, 2]
            if vector_push(&self.statics, &row) < 0:
                raise MemoryError

    def _check_names(self, const uint32_t[::1] names, const uint32_t[::1] fields) -> None:
        if names.shape[0] != <Py_ssize_t> self.classes.count or fields.shape[0] != <Py_ssize_t> self.fields.count:
            raise ValueError("columns of different lengths")

    cdef uint32_t static_name(self, uint32_t number, uint32_t name) noexcept nogil:
        """The name of a static field of the class with this index."""
        cdef StaticName *rows = <StaticName *> self.statics.data
        cdef size_t low = 0, high = self.statics.count, middle
        while low < high:
            middle = (low + high) // 2
            if rows[middle].number < number or (rows[middle].number == number and rows[middle].name < name):
                low = middle + 1
            else:
                high = middle
        if low < self.statics.count and rows[low].number == number and rows[low].name == name:
            return rows[low].renamed
        return name

    # tables

    @property
    def count(self) -> int:
        """The number of objects."""
        return self.total

    @property
    def class_count(self) -> int:
        """The number of classes."""
        return self.classes.count

    @property
    def duplicates(self) -> int:
        """The number of objects that have the id of an earlier one."""
        return self.total - self.by_address.count

    def take_roots(self) -> Buffer:
        """Move out the roots, six ``uint32`` each: id (two of them), thread, frame or stack, tag, and an unused one."""
        self.roots.item_bytes, self.roots.count = 4, self.roots.count * 6
        return column_of(&self.roots, b"I")

    def take_spaces(self) -> Buffer:
        """Move out the heaps, four ``uint32`` each: id of the name (two of them), number of the first object, and the
        heap's number.
        """
        self.spaces.item_bytes, self.spaces.count = 4, self.spaces.count * 4
        return column_of(&self.spaces, b"I")

    def numbers(self, const uint64_t[::1] ids, uint32_t[::1] out) -> None:
        """Fill ``out`` with the numbers of the objects with these ids, and 2**32 - 1 where there is none."""
        cdef Py_ssize_t each
        cdef int64_t number
        if ids.shape[0] != out.shape[0]:
            raise ValueError("columns of different lengths")
        for each in range(ids.shape[0]):
            number = address_ordinal(&self.by_address, ids[each])
            out[each] = <uint32_t> number if number >= 0 else <uint32_t> NO_CLASS

    def elements(self, const uint32_t[::1] numbers, uint64_t[::1] offsets, uint64_t[::1] sizes) -> None:
        """Fill columns with where in the file the numbers of arrays begin, and their bytes; 0 for other objects."""
        cdef Record record
        cdef Py_ssize_t each
        cdef const uint8_t *bytes = self.records.bytes
        cdef const uint8_t *at
        if not numbers.shape[0] == offsets.shape[0] == sizes.shape[0]:
            raise ValueError("columns of different lengths")
        for each in range(numbers.shape[0]):
            if numbers[each] >= self.offsets.count:
                raise IndexError(numbers[each])
            at = bytes + (<uint64_t *> self.offsets.data)[numbers[each]]
            offsets[each] = sizes[each] = 0
            if at[0] == PRIMITIVE_ARRAY_DUMP:
                # this pass has checked the record, but the file may have changed since
                if read_record(at, bytes + self.records.length, self.records.id_bytes, &record) != WHOLE:
                    continue
                offsets[each] = <uint64_t> (record.body - bytes)
                sizes[each] = record.body_bytes
