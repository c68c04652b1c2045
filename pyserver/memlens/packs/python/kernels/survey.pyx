# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds out what names something in one of Memlens' own heap dumps of Python, and which objects the runtime shares.

An attribute has a name if the program's code or the standard library has that name as well, and the objects of its type
don't seem to be dictionaries (see ``attributes.pxd``). Older dumps don't say which names the code has: there are those
of functions, types and variables, and attributes that at least half of a type's objects have, if these are three or
more.

Older dumps call an attribute like an earlier one with the same object, which tells that two values are equal. The name
is that of the same place in other objects of the type.

The runtime has one object for each number from -5 to 256, for each text and bytes of no more than one character, for
True and False; classes of enums have one for each constant.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset, strlen

from memlens.kernels.base.addresses cimport (
    address_map_build, address_map_free, address_map_init, address_ordinal, address_rank, address_set_add,
    address_set_begin, address_set_end,
)
from memlens.kernels.base.counts cimport CountRow, counts_find, counts_free, counts_init, counts_row
from memlens.kernels.base.vectors cimport vector_push
from memlens.kernels.readers.numbers cimport le32_at, le64_at
from memlens.packs.python.kernels.attributes cimport (
    attributes_end, attributes_free, attributes_init, attributes_note, attributes_seed, is_common, is_of_code,
)
from memlens.packs.python.kernels.names cimport hash_of, is_identifier, is_special

OK, MORE, NO_MEMORY = range(3)

WRITE = S_WRITE

ANY, THREAD, DETAIL, GLOBAL = IS_NAME, IS_THREAD, IS_DETAIL, IS_GLOBAL
"""Texts that stay: all, names of threads, details of roots that end in one in parentheses, and those of them that name
a variable of a module."""

cdef enum:
    MOST_TYPES = 256        # of the runtime, each of which is there once
    MOST_NAME = 0xFFFF
    MOST_WORD = 26          # bytes of the longest word
    MOST_PLACES = 256       # attributes of an object whose names are compared
    MOST_SHARED = 256       # the largest number that the runtime has one object for
    CHUNK_BYTES = 1 << 14

# By their numbers: keys of notes, kinds of roots, names of types, and others.
cdef const char **WORDS_KNOWN = [
    "", "python", "process_id", "seconds", "peak_bytes", "program", "allocations_traced", "collected", "unread",
    "unread_example", "removed", "module", "builtins", "thread", "local", "exception", "unknown", "str", "bytes",
    "int", "float", "complex", "bool", "code", "function", "type", "generator", "coroutine", "dict", "method",
    "builtin_function_or_method", "cell", "property", "staticmethod", "classmethod", "slice", "traceback", "frame",
    "__dict__", "<module>", "__base__", "enum", "EnumType", "EnumMeta", "ChoicesType", "ChoicesMeta",
]


cdef inline bint is_equal(const uint8_t *text, size_t length, const char *other) noexcept nogil:
    return length and text[0] == <uint8_t> other[0] and strlen(other) == length and memcmp(text, other, length) == 0


cdef inline bint is_name(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text can name something. Records that a wrong length has made a part of it have zeros."""
    cdef size_t each
    if length > MOST_NAME:
        return False
    for each in range(length):
        if text[each] < 0x20 or text[each] == 0x7F:
            return False
    return True


cdef inline bint is_variable(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a variable can have a name; ".0" is what a comprehension goes through."""
    return (length == 2 and text[0] == 0x2E and text[1] == 0x30) or is_identifier(text, length)


cdef inline bint is_small(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text is that of a value for which the runtime has one object."""
    cdef size_t each, first = 1 if length and text[0] == 0x2D else 0
    cdef uint32_t number = 0
    if length <= 1 or (length == 2 and text[0] >= 0x80):
        return True
    # bytes are written as their representation
    if text[0] == 0x62 and length <= 7 and (text[1] == 0x27 or text[1] == 0x22):
        return length <= 4 or text[2] == 0x5C
    if length - first > 3 or length == first:
        return False
    for each in range(first, length):
        if not 0x30 <= text[each] <= 0x39:
            return False
        number = 10 * number + text[each] - 0x30
    return number <= MOST_SHARED


cdef class Survey:
    """Looks through the records from the byte ``start`` on, in stages."""

    def __cinit__(self, const uint8_t[::1] data: Buffer, size_t start, bint keeps_numbers, *_):
        cdef int each
        if start > self.length:
            raise ValueError("no records")
        self.position = self.start = start
        self.end = self.length
        self.keeps_numbers = keeps_numbers
        self.own(&self.flags, 2)
        self.own(&self.types, sizeof(Kind))
        self.own(&self.dictionaries, 8)
        self.own(&self.dictionary_types, 8)
        self.own(&self.enum_classes, 8)
        self.own(&self.shared, sizeof(Shared))
        self.own(&self.chunks, sizeof(Chunk))
        self.own(&self.named, sizeof(Named))
        self.own(&self.is_of_module, 1)
        self.own(&self.frame_places, 8)
        self.own(&self.stack_places, 8)
        self.own(&self.type_places, 8)
        self.own(&self.label_places, 8)
        self.own(&self.other_places, 8)
        self.hash_seed = int.from_bytes(os.urandom(8), "little") | 1
        counts_init(&self.words)
        counts_init(&self.places)
        self.words.seed = self.places.seed = self.hash_seed
        address_map_init(&self.known)
        address_map_init(&self.by_dictionary)
        address_map_init(&self.by_enum)
        address_map_init(&self.keys)
        address_map_init(&self.named_keys)
        attributes_init(&self.attributes)
        for each in range(1, WORDS):
            self.word_lengths[<uint8_t> WORDS_KNOWN[each][0]] |= 1u << strlen(WORDS_KNOWN[each])
        if self.add_text(b"", 0) < 0:
            raise MemoryError

    def __dealloc__(self):
        address_map_free(&self.known)
        address_map_free(&self.by_dictionary)
        address_map_free(&self.by_enum)
        address_map_free(&self.keys)
        address_map_free(&self.named_keys)
        attributes_free(&self.attributes)
        counts_free(&self.words)
        counts_free(&self.places)

    def know(self, words: Iterable[bytes]):
        """Say which names the standard library has. Called before :meth:`run`."""
        cdef bytes word
        for word in words:
            if counts_row(&self.words, hash_of(word, len(word), self.hash_seed)) == NULL:
                raise MemoryError

    @property
    def texts(self) -> int:
        """The number of texts in the file."""
        return self.flags.count - 1

    def names(self, int chosen) -> list[tuple[int, bytes, bool]]:
        """Return the number and the bytes of each text that stays and has one of the flags ``chosen``, and whether it
        also names something else.

        Called when the file has been looked through.
        """
        cdef Named *rows = <Named *> self.named.data
        cdef size_t each, start
        found = []
        for each in range(self.named.count):
            if self.flags_of(rows[each].text) & chosen:
                start = rows[each].at + 5
                text = bytes(self.bytes[start:start + le32_at(self.data + rows[each].at + 1)])
                found.append((rows[each].text, text, self.flags_of(rows[each].text) & IS_NAME != 0))
        return found

    def is_known(self, uint32_t text) -> bool:
        """Return whether the code or the standard library has the name that a text is or begins with."""
        return self.flags_of(text) & IS_KNOWN != 0

    cdef int add_text(self, const uint8_t *text, size_t length) noexcept nogil:
        cdef uint16_t flags = 0
        cdef int each
        if length <= MOST_WORD:
            if length and self.word_lengths[text[0]] >> length & 1:
                for each in range(1, WORDS):
                    if is_equal(text, length, WORDS_KNOWN[each]):
                        flags = <uint16_t> each
                        break
            if is_small(text, length):
                flags |= IS_SMALL
        if not is_name(text, length):
            flags |= IS_ODD
        if not is_variable(text, length):
            flags |= IS_NO_IDENTIFIER
        elif is_special(text, length):
            flags |= IS_SPECIAL
        return vector_push(&self.flags, &flags)

    cdef uint32_t find_word(self, uint64_t type) noexcept nogil:
        cdef Kind *kinds = <Kind *> self.types.data
        cdef size_t each
        if self.types.count > MOST_TYPES:
            # what isn't known to be a name goes
            return W_STR
        for each in range(self.types.count):
            if kinds[each].address == type:
                return kinds[each].word
        return 0

    # looking through the file

    def run(self, size_t limit) -> int:
        """Continue a stage before the last. Returns OK at its end, MORE or NO_MEMORY."""
        cdef int status
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
        with nogil:
            status = self.run_to(limit)
            if status == E_OK:
                status = self.end_stage(seed)
        return status

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t bytes
        while self.position < self.end:
            if self.position >= limit:
                return E_MORE
            bytes = self.record_bytes(self.position)
            if bytes == 0 or self.data[self.position] == c"E":
                # the end says how many objects there are
                self.is_whole = bytes > 0 and le64_at(self.data + self.position + 1) == self.objects
                self.end = self.position
                break
            if self.look_at(self.data + self.position, bytes) < 0:
                return E_NO_MEMORY
            self.position += bytes
        return E_OK

    cdef int look_at(self, const uint8_t *record, size_t bytes) noexcept nogil:
        cdef uint8_t tag = record[0]
        if self.stage == S_NAMES:
            return self.note_names(record)
        if self.stage == S_TEXTS:
            return self.note_object(record) if tag == c"O" else 0
        if self.stage == S_PLACES:
            return self.note_place(record)
        if tag == c"S":
            self.text += 1
            return self.look_at_text(record + 5, le32_at(record + 1))
        if tag == c"O":
            self.last_object, self.last_type = le64_at(record + 1), le64_at(record + 9)
            self.last_word = self.word_of(self.last_type)
            if self.stage == S_KEYS:
                return -1 if self.take_object() < 0 else address_set_add(&self.known, self.last_object)
        elif tag == c"d":
            return self.note_keys(record)
        elif tag == c"n":
            return self.note_attributes(record)
        return 0

    cdef int look_at_text(self, const uint8_t *text, size_t length) noexcept nogil:
        """Note the names that the code has, or mark the texts that are one. -1 if out of memory."""
        cdef uint16_t flags = self.flags_of(self.text)
        cdef size_t each, first = 0
        cdef uint64_t hash
        if flags & (IS_CODES | IS_GLOBAL) == 0 and (self.stage == S_KEYS or flags & IS_NO_IDENTIFIER):
            return 0
        # of a qualified name the last part; variables have the name of their thread in parentheses
        for each in range(length if flags & (IS_CODES | IS_GLOBAL) else 0):
            if text[each] == 0x2E:
                first = each + 1
            elif text[each] == 0x20:
                length = each
                break
        if not is_identifier(text + first, length - first):
            return 0
        hash = hash_of(text + first, length - first, self.hash_seed)
        if self.stage == S_CHOSEN:
            if counts_find(&self.words, hash) != NULL:
                self.mark(self.text, IS_KNOWN)
        elif flags & IS_CODES and counts_row(&self.words, hash) == NULL:
            return -1
        return 0

    cdef int end_stage(self, uint64_t seed) noexcept nogil:
        cdef int status = 0
        if self.stage == S_NAMES:
            status |= address_map_build(
                &self.by_dictionary, <uint64_t *> self.dictionaries.data, self.dictionaries.count, seed)
            status |= address_map_build(
                &self.by_enum, <uint64_t *> self.enum_classes.data, self.enum_classes.count, seed)
            status |= address_set_begin(&self.known, self.bits, seed)
            status |= address_set_begin(&self.keys, self.bits, seed)
            status |= address_set_begin(&self.named_keys, self.bits, seed)
            attributes_seed(&self.attributes, seed)
        elif self.stage == S_KEYS:
            address_set_end(&self.known)
            address_set_end(&self.keys)
        elif self.stage == S_CHOSEN:
            address_set_end(&self.named_keys)
        elif self.stage == S_PLACES:
            status |= self.prepare()
        self.stage += 1
        self.text = 0
        self.position = self.start
        return E_NO_MEMORY if status < 0 else E_OK

    cdef int prepare(self) noexcept nogil:
        """Prepare to write. -1 if out of memory."""
        return 0

    cdef int take_object(self) noexcept nogil:
        """Add the object to the last chunk, or begin another."""
        cdef Chunk *last
        cdef Chunk chunk
        if self.chunks.count:
            last = <Chunk *> self.chunks.data + (self.chunks.count - 1)
            if self.position - last.start < CHUNK_BYTES:
                return 0
            last.end = self.position
        chunk.start, chunk.end = self.position, self.end
        return vector_push(&self.chunks, &chunk)

    cdef int note_keys(self, const uint8_t *record) noexcept nogil:
        """Count the keys of a dictionary of attributes, or choose those that are names."""
        cdef uint32_t each, count = le32_at(record + 1)
        cdef int64_t number = address_ordinal(&self.by_dictionary, self.last_object)
        cdef uint64_t address, form
        if number < 0:
            return 0
        # 0 for those of classes and modules; another than that of the same type's attributes in records
        form = (<uint64_t *> self.dictionary_types.data)[number]
        for each in range(0, count, 2):
            address = le64_at(record + 5 + 8 * <size_t> each)
            if address & ~self.bits:
                # the address of no object
                continue
            if self.stage == S_KEYS:
                if address_set_add(&self.keys, address) < 0 or (
                        form and attributes_note(&self.attributes, form, address) < 0):
                    return -1
            elif (form == 0 and self.has_code) or (form and self.is_attribute(form, address, self.has_code)):
                # whether the code has the name is known with the text
                if address_set_add(&self.named_keys, address) < 0:
                    return -1
        return attributes_end(&self.attributes, form, count // 2) if self.stage == S_KEYS and form else 0

    cdef bint is_attribute(self, uint64_t form, uint64_t attribute, bint is_known) noexcept nogil:
        """Return whether an attribute of a type's objects stays, whose name the code has or hasn't."""
        if self.has_code:
            return is_known and is_of_code(&self.attributes, form, attribute)
        return is_known or is_common(&self.attributes, form, attribute)

    cdef int note_attributes(self, const uint8_t *record) noexcept nogil:
        """Count the named attributes of an instance, or choose those that are names."""
        cdef uint32_t each, text, found = 0, count = le32_at(record + 1)
        cdef const uint8_t *names = record + 5 + 8 * <size_t> count
        cdef bint is_class = self.last_word == W_TYPE or self.last_word == W_MODULE or self.last_word == W_DICT
        if self.last_word and not is_class and not W_ENUM_TYPE <= self.last_word <= W_CHOICES_META:
            return self.note_places(names, count) if self.last_word == W_SLICE and self.stage == S_KEYS else 0
        for each in range(count):
            # which all classes have
            is_class = is_class or self.word(le32_at(names + 4 * <size_t> each)) == W_BASE
        if self.stage == S_KEYS and not is_class and self.note_places(names, count) < 0:
            return -1
        for each in range(count):
            text = le32_at(names + 4 * <size_t> each)
            if text == 0 or self.flags_of(text) & (IS_NO_IDENTIFIER | IS_SPECIAL):
                continue
            if is_class:
                if self.flags_of(text) & IS_KNOWN:
                    self.name(text)
                continue
            found += 1
            if self.stage == S_CHOSEN:
                if self.is_attribute(self.last_type, text, self.flags_of(text) & IS_KNOWN != 0):
                    self.name(text)
            elif attributes_note(&self.attributes, self.last_type, text) < 0:
                return -1
        return attributes_end(&self.attributes, self.last_type, found) if self.stage == S_KEYS and found else 0

    cdef int note_places(self, const uint8_t *names, uint32_t count) noexcept nogil:
        """Note how the attributes of an object are called, by their places. -1 if out of memory."""
        cdef uint32_t each, earlier, text
        cdef bint is_borrowed
        cdef CountRow *row
        for each in range(min(count, MOST_PLACES)):
            text = le32_at(names + 4 * each)
            if text == 0:
                continue
            is_borrowed = False
            for earlier in range(each):
                if le32_at(names + 4 * earlier) == text:
                    is_borrowed = True
                    break
            row = counts_row(&self.places, place_key(self.last_type, count, each))
            if row == NULL:
                return -1
            if is_borrowed:
                row.second |= IS_BORROWED
                row = counts_row(&self.places, place_key(self.last_type, count, count))
                if row == NULL:
                    return -1
                # any place of the record
                row.second |= IS_BORROWED
            elif row.first == 0:
                row.first = text
            elif row.first != text:
                row.second |= IS_AMBIGUOUS
        return 0

    cdef int note_names(self, const uint8_t *record) noexcept nogil:
        cdef uint8_t tag = record[0]
        cdef uint32_t word, text
        cdef uint8_t is_module
        if tag == c"S":
            return self.add_text(record + 5, le32_at(record + 1))
        if tag == c"O":
            self.objects += 1
            self.bits |= le64_at(record + 1)
            self.last_type = le64_at(record + 9)
            self.last_word = word = self.word_of(self.last_type)
            text = le32_at(record + 25)
            if W_CODE <= word <= W_COROUTINE or word == W_MODULE:
                self.name_of_code(text)
            elif W_INT <= word <= W_COMPLEX and self.keeps_numbers:
                self.name(text)
            elif W_ENUM_TYPE <= word <= W_CHOICES_META:
                self.last_object = le64_at(record + 1)
                return vector_push(&self.enum_classes, &self.last_object)
        elif tag == c"T":
            return self.note_type(record)
        elif tag == c"F" or (tag == c"N" and self.is_note(le32_at(record + 1))):
            if tag == c"F":
                self.frames += 1
                is_module = self.word(le32_at(record + 5)) == W_MODULE_CODE
                if vector_push(&self.is_of_module, &is_module) < 0:
                    return -1
            self.name(le32_at(record + 1))
            self.mark(le32_at(record + 5), IS_NAME | IS_CODES if tag == c"F" else IS_NAME)
        elif tag == c"K":
            self.stacks += 1
        elif tag == c"A":
            self.mark(le32_at(record + 9), IS_THREAD)
        elif tag == c"L":
            self.has_code = self.has_code or le64_at(record + 1) == 0
            self.name_of_code(le32_at(record + 9))
        elif tag == c"G":
            word = self.word(le32_at(record + 9))
            if W_MODULE <= word <= W_UNKNOWN:
                self.name(le32_at(record + 9))
                if word == W_THREAD:
                    text = IS_THREAD
                else:
                    text = IS_DETAIL if word == W_LOCAL or word == W_EXCEPTION else IS_NAME
                    if word == W_LOCAL and self.is_global(le32_at(record + 17)):
                        text |= IS_GLOBAL
                    elif word != W_EXCEPTION:
                        text |= IS_CODES
                self.mark(le32_at(record + 13), <uint16_t> text)
        elif tag == c"n":
            return self.note_members(record)
        return 0

    cdef int note_type(self, const uint8_t *record) noexcept nogil:
        cdef uint32_t word = self.word(le32_at(record + 9)), owner = self.word(le32_at(record + 13))
        cdef Kind kind
        self.name_of_code(le32_at(record + 9))
        self.name(le32_at(record + 13))
        if owner == W_BUILTINS and (word == W_MODULE or W_STR <= word <= W_FRAME) or (
                W_ENUM_TYPE <= word <= W_CHOICES_META):
            kind.address, kind.word = le64_at(record + 1), word
            memset(self.kept_words, 0, sizeof(self.kept_words))
            return vector_push(&self.types, &kind)
        return 0

    cdef int note_members(self, const uint8_t *record) noexcept nogil:
        """Note the names that the runtime has, and dictionaries of attributes."""
        cdef uint32_t each, text, count = le32_at(record + 1)
        cdef const uint8_t *names = record + 5 + 8 * <size_t> count
        cdef bint is_class = self.last_word == W_TYPE or self.last_word == W_MODULE
        cdef bint is_known = self.last_word and not is_class and self.last_word != W_DICT and (
            not W_ENUM_TYPE <= self.last_word <= W_CHOICES_META)
        cdef uint64_t address, form
        cdef int status = 0
        for each in range(count):
            # which all classes have
            is_class = is_class or self.word(le32_at(names + 4 * <size_t> each)) == W_BASE
        for each in range(count):
            text = le32_at(names + 4 * <size_t> each)
            if self.flags_of(text) & IS_NO_IDENTIFIER:
                continue
            if is_known or self.flags_of(text) & IS_SPECIAL:
                self.name(text)
            if self.word(text) == W_OWN_DICT:
                address = le64_at(record + 5 + 8 * <size_t> each)
                form = 0 if is_class else ~self.last_type
                status |= vector_push(&self.dictionaries, &address)
                status |= vector_push(&self.dictionary_types, &form)
        return status

    cdef int note_object(self, const uint8_t *record) noexcept nogil:
        """Note whether an object is shared, and what a key's text is."""
        cdef uint64_t address = le64_at(record + 1), type = le64_at(record + 9)
        cdef uint32_t text = le32_at(record + 25), word = self.word_of(type)
        cdef bint is_key = word == W_STR and address_rank(&self.keys, address) >= 0
        cdef Shared row
        if is_key:
            if not self.flags_of(text) & IS_NO_IDENTIFIER and self.is_named_key(address, text):
                self.name(text)
        elif word == W_STR and not self.nameless:
            self.nameless = address
        if self.keeps_shared or (self.keeps_numbers and W_INT <= word <= W_BOOL):
            # a number that stays can't be led to another
            return 0
        row.address, row.group, row.is_named = address, type, is_key
        if word == W_BOOL or (W_STR <= word <= W_COMPLEX and (is_key or (text and self.flags_of(text) & IS_SMALL))) or (
                address_rank(&self.by_enum, type) >= 0):
            return vector_push(&self.shared, &row)
        return 0

    cdef bint is_global(self, uint32_t frame) noexcept nogil:
        return frame < self.is_of_module.count and (<uint8_t *> self.is_of_module.data)[frame]

    cdef bint is_named_key(self, uint64_t address, uint32_t text) noexcept nogil:
        cdef bint is_chosen = address_rank(&self.named_keys, address) >= 0
        if self.has_code:
            return is_chosen and self.flags_of(text) & IS_KNOWN
        return is_chosen or self.flags_of(text) & IS_KNOWN

    cdef int note_place(self, const uint8_t *record) noexcept nogil:
        cdef uint64_t place = self.position
        cdef uint8_t tag = record[0]
        cdef Named row
        if tag == c"S":
            self.text += 1
            row.at, row.text = place, self.text
            return vector_push(&self.named, &row) if self.is_written(self.text) else 0
        if tag == c"F":
            return vector_push(&self.frame_places, &place)
        if tag == c"K":
            return vector_push(&self.stack_places, &place)
        if tag == c"T":
            return vector_push(&self.type_places, &place)
        if is_label(record):
            return vector_push(&self.label_places, &place)
        return vector_push(&self.other_places, &place) if tag == c"G" or tag == c"A" or tag == c"N" else 0
