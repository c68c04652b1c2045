# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads Ruby's heap dumps, which have a JSON object on each line, directly into columns.

:class:`Lines` scans lines of ``ObjectSpace.dump_all``; :meth:`Lines.link` then turns addresses into numbers of objects.
A line that isn't such an object is left out and counted, since older Rubies don't escape all names.

Source of the format: ``ext/objspace/objspace_dump.c`` of Ruby.
"""

import os

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int64_t
from libc.string cimport memchr, memcmp

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal,
)
from memlens.kernels.base.interning cimport Interner, intern_units, interner_count, interner_text
from memlens.kernels.base.utf8 cimport hexadecimal_digit, read_escape, write_utf8
from memlens.kernels.base.vectors cimport (
    Vector, column_of, vector_free, vector_init, vector_push, vector_push_u32, vector_reserve,
)
from memlens.kernels.readers.scan cimport Scan

OK, MORE, NO_MEMORY = range(3)

FLAGS = ("frozen", "shared", "embedded", "old", "uncollectible")
"""Names of the bits in an object's flags, the lowest first."""

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY

cdef enum:
    F_FROZEN = 1
    F_SHARED = 2
    F_EMBEDDED = 4
    F_OLD = 8
    F_UNCOLLECTIBLE = 16

FIELDS = ("generation", "length", "size", "bytesize", "capacity")
"""The numbers of an object that are kept as fields; ``Lines.field_names`` has indices into this."""

cdef enum:
    FIELD_COUNT = 5
    MOST_KEY = 24
    MOST_TEXT = 4096        # bytes of a string's text; longer ones are shortened
    MOST_OBJECTS = 0xFFFFFFF0
    MOST_DEPTH = 64

cdef uint64_t MOST_BYTES = <uint64_t> 1 << 48
cdef uint64_t MOST_LINE = 0x7FFFFFFF
cdef uint32_t NONE = 0xFFFFFFFF
cdef uint64_t NO_ADDRESS = 0


cdef struct Text:
    size_t start        # offset of its bytes, between the quotes; 0 for no text
    size_t end


cdef struct Line:
    uint64_t address
    uint64_t klass
    uint64_t superclass
    uint64_t memsize
    uint64_t line
    uint64_t fields[5]
    Text type
    Text name           # a string's value, a class's name
    Text detail         # the type of a C struct or of an internal object
    Text real_name      # the name of the class whose singleton class this is
    Text root
    Text file
    Text method
    size_t references   # the number of targets before this line
    int known_fields    # a bit for each field that the line has
    uint8_t flags
    bint is_singleton
    bint has_address


cdef inline bint is_blank(uint8_t one) noexcept nogil:
    return one == 0x20 or one == 0x0D or one == 0x09


cdef inline bint is_key(const uint8_t *data, Text key, const char *name, size_t length) noexcept nogil:
    return key.end - key.start == length and memcmp(data + key.start, name, length) == 0


cdef size_t string_end(const uint8_t *data, size_t at, size_t end) noexcept nogil:
    """Return the offset of the quote that closes the string whose opening quote is at ``at``, or ``end`` for none."""
    at += 1
    while at < end and data[at] != 0x22:
        at += 2 if data[at] == 0x5C else 1
    return at if at < end else end


cdef class Lines(Scan):
    """Scans the lines of ``data`` from the byte ``start`` on, in steps, and adds a row for each object."""

    cdef readonly uint64_t bad_lines, first_bad_offset, good_lines, dangling, duplicates, shortened, unsized
    cdef readonly uint64_t unknown_numbers      # lines, generations, lengths and the like that can't be true
    cdef readonly bint is_cut
    cdef bint linked
    cdef uint64_t text_room
    cdef Vector address, klass, superclass, shallow, type, name, flags, place, starts, targets
    cdef Vector field_starts, field_names, field_values
    cdef Vector root_category, root_address
    cdef Vector texts, text_ends
    cdef Vector scratch, kinds
    cdef Vector singleton, detail
    cdef Interner types, details, files, methods, categories, places

    def __cinit__(self, const uint8_t[::1] data: Buffer, size_t start=0):
        cdef uint64_t zero = 0
        self.position = min(start, self.length)
        self.own(&self.address, 8)
        self.own(&self.klass, 8)
        self.own(&self.superclass, 8)
        self.own(&self.shallow, 8)
        self.own(&self.type, 4)
        self.own(&self.name, 4)
        self.own(&self.flags, 1)
        self.own(&self.singleton, 1)
        self.own(&self.detail, 4)
        self.own(&self.place, 4)
        self.own(&self.starts, 8)
        self.own(&self.targets, 8)
        self.own(&self.field_starts, 8)
        self.own(&self.field_names, 1)
        self.own(&self.field_values, 8)
        self.own(&self.root_category, 4)
        self.own(&self.root_address, 8)
        self.own(&self.texts, 1)
        self.own(&self.text_ends, 8)
        self.own(&self.scratch, 1)
        self.own(&self.kinds, 1)
        seed = int.from_bytes(os.urandom(8), "little")
        self.own_interner(&self.types, 1, seed)
        self.own_interner(&self.details, 1, seed)
        self.own_interner(&self.files, 1, seed)
        self.own_interner(&self.methods, 1, seed)
        self.own_interner(&self.categories, 1, seed)
        self.own_interner(&self.places, 4, seed)
        # text 0 is no text, place 0 an unknown place, file 0 and method 0 are empty
        if (vector_push(&self.text_ends, &zero) < 0 or vector_push(&self.starts, &zero) < 0
                or vector_push(&self.field_starts, &zero) < 0
                or intern_units(&self.files, NULL, 0) < 0 or intern_units(&self.methods, NULL, 0) < 0
                or intern_units(&self.types, NULL, 0) < 0 or intern_units(&self.details, NULL, 0) < 0
                or self.intern_place(0, 0, 0) != 0):
            raise MemoryError

    cdef int64_t intern_place(self, uint32_t file, uint32_t line, uint32_t method) noexcept nogil:
        cdef uint32_t units[3]
        units[0] = file
        units[1] = line
        units[2] = method
        return intern_units(&self.places, units, 3)

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef const uint8_t *data = self.data
        cdef size_t whole = self.length, start, end
        cdef const void *line_break
        cdef int status
        while self.position < whole:
            if self.position >= limit:
                return E_MORE
            start = self.position
            line_break = memchr(data + start, 0x0A, whole - start)
            end = whole if line_break == NULL else <size_t> (<const uint8_t *> line_break - data)
            self.position = end if line_break == NULL else end + 1
            while start < end and is_blank(data[start]):
                start += 1
            while end > start and is_blank(data[end - 1]):
                end -= 1
            if start == end:
                continue
            status = self.read_line(data, start, end)
            if status < 0:
                return E_NO_MEMORY
            if status:
                self.good_lines += 1
            elif line_break == NULL:
                # the last line has no line break: the dump was cut off within it
                self.is_cut = True
            else:
                if not self.bad_lines:
                    self.first_bad_offset = start
                self.bad_lines += 1
        return E_OK

    cdef int read_line(self, const uint8_t *data, size_t at, size_t end) noexcept nogil:
        """Read an object. Returns 1; 0 if the line isn't one, of which nothing is kept; or -1 if out of memory."""
        cdef Line line
        cdef size_t targets = self.targets.count
        cdef int status
        line.address = line.klass = line.superclass = line.memsize = line.line = 0
        line.type.start = line.type.end = line.name.start = line.name.end = 0
        line.detail.start = line.detail.end = 0
        line.real_name.start = line.real_name.end = line.root.start = line.root.end = 0
        line.file.start = line.file.end = line.method.start = line.method.end = 0
        line.known_fields = 0
        line.flags = 0
        line.is_singleton = False
        line.has_address = False
        line.references = targets
        status = self.read_object(data, &at, end, &line)
        if status > 0 and at == end and line.type.end:
            if is_key(data, line.type, "ROOT", 4):
                status = self.keep_root(data, &line)
            elif is_key(data, line.type, "NONE", 4):
                # a free slot, which full dumps list: its "class" is the next free one
                self.targets.count = targets
            elif line.has_address:
                status = self.keep(data, &line)
            else:
                status = 0
        elif status > 0:
            status = 0
        if status <= 0:
            self.targets.count = targets
        return status

    cdef int read_object(self, const uint8_t *data, size_t *place, size_t end, Line *line) noexcept nogil:
        """Read the members of the object at ``place``, and move ``place`` past it. Returns what ``read_line`` does."""
        cdef size_t at = place[0], quote
        cdef Text key
        cdef int status
        if data[at] != 0x7B:
            return 0
        at += 1
        while True:
            while at < end and (is_blank(data[at]) or data[at] == 0x2C):
                at += 1
            if at >= end:
                return 0
            if data[at] == 0x7D:
                place[0] = at + 1
                return 1
            if data[at] != 0x22:
                return 0
            quote = string_end(data, at, end)
            key.start, key.end = at + 1, quote
            at = quote + 1
            while at < end and is_blank(data[at]):
                at += 1
            if at >= end or data[at] != 0x3A:
                return 0
            at += 1
            while at < end and is_blank(data[at]):
                at += 1
            if at >= end:
                return 0
            status = self.read_value(data, &at, end, key, line)
            if status <= 0:
                return status

    cdef int read_value(self, const uint8_t *data, size_t *place, size_t end, Text key, Line *line) noexcept nogil:
        cdef size_t at = place[0]
        cdef uint64_t number = 0
        cdef Text text
        cdef int field
        if data[at] == 0x22:
            text.start = at + 1
            text.end = string_end(data, at, end)
            if text.end >= end:
                return 0
            place[0] = text.end + 1
            self.miss_number(data, key)
            return self.take_text(data, key, text, line)
        if data[at] == 0x5B and is_key(data, key, "references", 10):
            return self.read_references(data, place, end)
        if data[at] == 0x7B and is_key(data, key, "flags", 5):
            # no other members have the same names
            return self.read_object(data, place, end, line)
        if 0x30 <= data[at] <= 0x39:
            while at < end and 0x30 <= data[at] <= 0x39:
                if number < MOST_BYTES:
                    number = number * 10 + (data[at] - 0x30)
                at += 1
            # other numbers, such as fractions, are skipped below
            if at < end and (data[at] == 0x2C or data[at] == 0x7D or is_blank(data[at])):
                place[0] = at
                if is_key(data, key, "memsize", 7):
                    if number < MOST_BYTES:
                        line.memsize = number
                    else:
                        self.unsized += 1
                elif is_key(data, key, "line", 4):
                    if number <= MOST_LINE:
                        line.line = number
                    else:
                        self.unknown_numbers += 1
                else:
                    field = field_of(data, key)
                    if field >= 0 and number >= MOST_BYTES:
                        self.unknown_numbers += 1
                    elif field >= 0:
                        line.fields[field] = number
                        line.known_fields |= 1 << field
                return 1
            at = place[0]
        elif data[at] == 0x74:
            if at + 4 > end or memcmp(data + at, b"true", 4):
                return 0
            place[0] = at + 4
            self.miss_number(data, key)
            line.flags |= flag_of(data, key)
            if is_key(data, key, "singleton", 9):
                line.is_singleton = True
            return 1
        self.miss_number(data, key)
        return skip_value(data, place, end)

    cdef inline void miss_number(self, const uint8_t *data, Text key) noexcept nogil:
        """Count what should be a number and isn't, or is an impossible one."""
        if is_key(data, key, "memsize", 7):
            self.unsized += 1
        elif is_key(data, key, "line", 4) or field_of(data, key) >= 0:
            self.unknown_numbers += 1

    cdef int take_text(self, const uint8_t *data, Text key, Text text, Line *line) noexcept nogil:
        """Store a text by its key; if a line has several names, the last one counts."""
        if is_key(data, key, "address", 7):
            line.has_address = read_address(data, text, &line.address)
            return line.has_address
        if is_key(data, key, "class", 5):
            return read_address(data, text, &line.klass)
        if is_key(data, key, "superclass", 10):
            return read_address(data, text, &line.superclass)
        if is_key(data, key, "type", 4):
            line.type = text
        elif is_key(data, key, "value", 5) or is_key(data, key, "name", 4) or is_key(data, key, "edge_name", 9):
            line.name = text
        elif is_key(data, key, "struct", 6) or is_key(data, key, "imemo_type", 10):
            line.detail = text
        elif is_key(data, key, "real_class_name", 15):
            line.real_name = text
        elif is_key(data, key, "root", 4):
            line.root = text
        elif is_key(data, key, "file", 4):
            line.file = text
        elif is_key(data, key, "method", 6):
            line.method = text
        return 1

    cdef int read_references(self, const uint8_t *data, size_t *place, size_t end) noexcept nogil:
        cdef size_t at = place[0] + 1
        cdef uint64_t address = 0
        cdef Text text
        while at < end:
            if data[at] == 0x5D:
                place[0] = at + 1
                return 1
            if is_blank(data[at]) or data[at] == 0x2C:
                at += 1
                continue
            if data[at] != 0x22:
                return 0
            text.start = at + 1
            text.end = string_end(data, at, end)
            if text.end >= end or not read_address(data, text, &address):
                return 0
            if vector_push(&self.targets, &address) < 0:
                return -1
            at = text.end + 1
        return 0

    cdef int keep_root(self, const uint8_t *data, Line *line) noexcept nogil:
        """Move what was read as an object's references to the roots."""
        cdef int64_t category = intern_units(&self.categories, data + line.root.start, line.root.end - line.root.start)
        cdef size_t each
        if category < 0:
            return -1
        for each in range(line.references, self.targets.count):
            if (vector_push_u32(&self.root_category, <uint32_t> category) < 0
                    or vector_push(&self.root_address, (<uint64_t *> self.targets.data) + each) < 0):
                return -1
        self.targets.count = line.references
        return 1

    cdef int keep(self, const uint8_t *data, Line *line) noexcept nogil:
        """Append an object's row."""
        cdef int64_t kind, detail, file, method, place = 0
        cdef int64_t name
        cdef uint64_t count
        cdef uint8_t flags = line.flags, singleton = line.is_singleton, number
        cdef int field
        if self.address.count >= MOST_OBJECTS:
            return -1
        kind = intern_units(&self.types, data + line.type.start, line.type.end - line.type.start)
        detail = intern_units(&self.details, data + line.detail.start, line.detail.end - line.detail.start)
        if line.real_name.end and not line.name.end:
            line.name = line.real_name
        name = self.add_text(data, line.name)
        if line.file.end and 0 < line.line <= MOST_LINE:
            file = self.intern_text(&self.files, data, line.file)
            method = self.intern_text(&self.methods, data, line.method)
            if file < 0 or method < 0:
                return -1
            place = self.intern_place(<uint32_t> file, <uint32_t> line.line, <uint32_t> method)
        if kind < 0 or detail < 0 or name < 0 or place < 0:
            return -1
        for field in range(FIELD_COUNT):
            if line.known_fields >> field & 1:
                number = <uint8_t> field
                if (vector_push(&self.field_names, &number) < 0
                        or vector_push(&self.field_values, &line.fields[field]) < 0):
                    return -1
        count = self.field_values.count
        if vector_push(&self.field_starts, &count) < 0:
            return -1
        count = self.targets.count
        if (vector_push(&self.starts, &count) < 0 or vector_push(&self.address, &line.address) < 0
                or vector_push(&self.klass, &line.klass) < 0 or vector_push(&self.superclass, &line.superclass) < 0
                or vector_push(&self.shallow, &line.memsize) < 0 or vector_push_u32(&self.type, <uint32_t> kind) < 0
                or vector_push_u32(&self.name, <uint32_t> name) < 0 or vector_push(&self.flags, &flags) < 0
                or vector_push(&self.singleton, &singleton) < 0 or vector_push_u32(&self.detail, <uint32_t> detail) < 0
                or vector_push_u32(&self.place, <uint32_t> place) < 0):
            return -1
        return 1

    cdef int64_t intern_text(self, Interner *interner, const uint8_t *data, Text text) noexcept nogil:
        self.scratch.count = 0
        if unescape(data, text, MOST_TEXT, &self.scratch) < 0:
            return -1
        return intern_units(interner, self.scratch.data, self.scratch.count)

    cdef int64_t add_text(self, const uint8_t *data, Text text) noexcept nogil:
        """Append a text and return its number, or -1 if out of memory."""
        cdef uint64_t total
        cdef int whole
        if text.end <= text.start:
            return 0
        whole = unescape(data, text, MOST_TEXT, &self.texts)
        total = self.texts.count
        if whole < 0 or self.text_ends.count >= NONE - 1 or vector_push(&self.text_ends, &total) < 0:
            return -1
        self.shortened += not whole
        return <int64_t> self.text_ends.count - 1

    # ---- after the last line -------------------------------------------------------------------------------------

    def link(self) -> int:
        """Turn addresses into numbers of objects: of equal addresses the first; dangling references are dropped.

        An object's reference to its class comes first. Return OK or NO_MEMORY.
        """
        cdef AddressMap map
        cdef Vector target, kind, starts
        cdef int status
        if self.linked:
            raise ValueError("the lines are linked already")
        self.linked = True
        seed = int.from_bytes(os.urandom(8), "little")
        cdef uint64_t chosen = seed
        address_map_init(&map)
        vector_init(&target, 4)
        vector_init(&kind, 1)
        vector_init(&starts, 8)
        with nogil:
            status = self.link_all(&map, &target, &kind, &starts, chosen)
        address_map_free(&map)
        if status == E_OK:
            vector_free(&self.targets)
            vector_free(&self.starts)
            self.targets, self.starts = target, starts
            vector_free(&self.kinds)
            self.kinds = kind
            return OK
        vector_free(&target)
        vector_free(&kind)
        vector_free(&starts)
        return NO_MEMORY

    cdef int link_all(
        self, AddressMap *map, Vector *target, Vector *kind, Vector *starts, uint64_t seed
    ) noexcept nogil:
        cdef uint64_t *address = <uint64_t *> self.address.data
        cdef uint64_t *klass = <uint64_t *> self.klass.data
        cdef uint64_t *above = <uint64_t *> self.superclass.data
        cdef uint64_t *start = <uint64_t *> self.starts.data
        cdef uint64_t *old = <uint64_t *> self.targets.data
        cdef uint64_t *root = <uint64_t *> self.root_address.data
        cdef size_t count = self.address.count, item, each
        cdef int64_t ordinal
        cdef uint64_t total = 0
        cdef uint8_t of_class = 1, kind_of
        if address_map_build(map, address, count, seed) < 0:
            return E_NO_MEMORY
        if vector_reserve(starts, count + 1) < 0 or vector_push(starts, &total) < 0:
            return E_NO_MEMORY
        if vector_reserve(target, self.targets.count + count) < 0:
            return E_NO_MEMORY
        if vector_reserve(kind, self.targets.count + count) < 0:
            return E_NO_MEMORY
        for item in range(count):
            self.duplicates += address_ordinal(map, address[item]) != <int64_t> item
            if klass[item] != NO_ADDRESS:
                ordinal = address_ordinal(map, klass[item])
                self.dangling += ordinal < 0
                # from now on this is the number of the class
                klass[item] = NONE if ordinal < 0 else <uint64_t> ordinal
                if ordinal >= 0 and (
                    vector_push_u32(target, <uint32_t> ordinal) < 0 or vector_push(kind, &of_class) < 0
                ):
                    return E_NO_MEMORY
            else:
                klass[item] = NONE
            ordinal = address_ordinal(map, above[item]) if above[item] != NO_ADDRESS else -1
            above[item] = NONE if ordinal < 0 else <uint64_t> ordinal
            for each in range(start[item], start[item + 1]):
                ordinal = address_ordinal(map, old[each])
                self.dangling += ordinal < 0
                if ordinal < 0:
                    continue
                kind_of = 2 if <uint64_t> ordinal == above[item] else 0
                if vector_push_u32(target, <uint32_t> ordinal) < 0 or vector_push(kind, &kind_of) < 0:
                    return E_NO_MEMORY
            total = target.count
            if vector_push(starts, &total) < 0:
                return E_NO_MEMORY
        for each in range(self.root_address.count):
            ordinal = address_ordinal(map, root[each])
            self.dangling += ordinal < 0
            root[each] = NONE if ordinal < 0 else <uint64_t> ordinal
        return E_OK

    def take(self) -> dict[str, Buffer]:
        """Move the columns out by name. Called once, after :meth:`link`.

        ``class``, ``superclass`` and ``root_object`` are numbers of objects, or 0xFFFFFFFF for none; ``kind`` is 1 for
        a reference to an object's class, and 2 for one from a class to the class above it.
        """
        if not self.linked:
            raise ValueError("the lines aren't linked")
        return {
            "address": column_of(&self.address, b"Q"), "class": column_of(&self.klass, b"Q"),
            "superclass": column_of(&self.superclass, b"Q"), "shallow": column_of(&self.shallow, b"Q"),
            "type": column_of(&self.type, b"I"), "detail": column_of(&self.detail, b"I"),
            "name": column_of(&self.name, b"I"),
            "flags": column_of(&self.flags, b"B"), "singleton": column_of(&self.singleton, b"B"),
            "place": column_of(&self.place, b"I"),
            "start": column_of(&self.starts, b"Q"), "target": column_of(&self.targets, b"I"),
            "kind": column_of(&self.kinds, b"B"),
            "field_start": column_of(&self.field_starts, b"Q"), "field_name": column_of(&self.field_names, b"B"),
            "field_value": column_of(&self.field_values, b"Q"),
            "root_category": column_of(&self.root_category, b"I"), "root_object": column_of(&self.root_address, b"Q"),
            "utf8": column_of(&self.texts, b"B"), "text_end": column_of(&self.text_ends, b"Q"),
        }

    def types_of(self) -> list[str]:
        """Return the names of the internal types ("STRING", "IMEMO"), by number; the first is empty."""
        return [interner_text(&self.types, item) for item in range(interner_count(&self.types))]

    def details_of(self) -> list[str]:
        """Return the names of the types of internal objects ("iseq"), by number; the first is empty."""
        return [interner_text(&self.details, item) for item in range(interner_count(&self.details))]

    def categories_of(self) -> list[str]:
        """Return the names of the categories of roots, by number."""
        return [interner_text(&self.categories, item) for item in range(interner_count(&self.categories))]

    def places_of(self) -> list[tuple[str, int, str]]:
        """Return the file, line and method of each place of allocation, by number; the first is that of unknown places.
        """
        cdef uint32_t *units = <uint32_t *> self.places.units.data
        cdef size_t item
        files = [interner_text(&self.files, item) for item in range(interner_count(&self.files))]
        methods = [interner_text(&self.methods, item) for item in range(interner_count(&self.methods))]
        return [
            (files[units[3 * item]], units[3 * item + 1], methods[units[3 * item + 2]])
            for item in range(interner_count(&self.places))
        ]


cdef bint read_address(const uint8_t *data, Text text, uint64_t *address) noexcept nogil:
    """Read ``0x`` and up to 16 hexadecimal digits. Return False if the text is something else."""
    cdef size_t at
    cdef int value
    if text.end - text.start < 3 or text.end - text.start > 18 or data[text.start] != 0x30:
        return False
    if data[text.start + 1] != 0x78:
        return False
    address[0] = 0
    for at in range(text.start + 2, text.end):
        value = hexadecimal_digit(data[at])
        if value < 0:
            return False
        address[0] = address[0] << 4 | <uint64_t> value
    return True


cdef inline uint8_t flag_of(const uint8_t *data, Text key) noexcept nogil:
    if is_key(data, key, "frozen", 6):
        return F_FROZEN
    if is_key(data, key, "shared", 6):
        return F_SHARED
    if is_key(data, key, "embedded", 8):
        return F_EMBEDDED
    if is_key(data, key, "old", 3):
        return F_OLD
    if is_key(data, key, "uncollectible", 13):
        return F_UNCOLLECTIBLE
    return 0


cdef inline int field_of(const uint8_t *data, Text key) noexcept nogil:
    """Return the index in FIELDS, or -1 for another key."""
    if is_key(data, key, "generation", 10):
        return 0
    if is_key(data, key, "length", 6):
        return 1
    if is_key(data, key, "size", 4):
        return 2
    if is_key(data, key, "bytesize", 8):
        return 3
    if is_key(data, key, "capacity", 8):
        return 4
    return -1


cdef int skip_value(const uint8_t *data, size_t *place, size_t end) noexcept nogil:
    """Move ``place`` past a value that isn't kept. Return 0 if the value doesn't end."""
    cdef size_t at = place[0]
    cdef int depth = 0
    while at < end:
        if data[at] == 0x22:
            at = string_end(data, at, end) + 1
            if at > end:
                return 0
        elif data[at] == 0x7B or data[at] == 0x5B:
            depth += 1
            at += 1
            if depth > MOST_DEPTH:
                return 0
        elif data[at] == 0x7D or data[at] == 0x5D:
            if depth == 0:
                break
            depth -= 1
            at += 1
        elif depth == 0 and data[at] == 0x2C:
            break
        else:
            at += 1
            continue
        if depth == 0:
            break
    if at >= end or at == place[0]:
        return 0
    place[0] = at
    return 1


cdef int unescape(const uint8_t *data, Text text, size_t most, Vector *out) noexcept nogil:
    """Append a string's text in UTF-8. Return 1, 0 if it was shortened to about ``most`` bytes, -1 if out of memory.

    Lone surrogates become U+FFFD, and unknown escapes are kept as they are.
    """
    cdef size_t at = text.start, end = text.end, length = 0, after
    cdef uint8_t *to
    cdef uint32_t point
    cdef uint8_t one
    if vector_reserve(out, out.count + min(end - at, most) + 8) < 0:
        return -1
    to = out.data + out.count
    while at < end and length < most:
        one = data[at]
        if one != 0x5C or at + 1 >= end:
            to[length] = one
            length += 1
            at += 1
            continue
        after = read_escape(data, at, end, &point)
        if after:
            length += write_utf8(to + length, point)
            at = after
        else:
            to[length] = data[at + 1]
            length += 1
            at += 2
    if at < end:
        # cut between characters
        while length and to[length - 1] & 0xC0 == 0x80:
            length -= 1
        if length and to[length - 1] >= 0xC0:
            length -= 1
    out.count += length
    return 1 if at >= end else 0
