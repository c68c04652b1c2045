# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes the strings of V8's heap snapshots anew, of which those stay that name something.

A string of the file may be the text of a string object and the name of a property at once. :class:`Rows` of
``rows`` notes what uses each, and then writes the rows of objects, in which those with a content get another string
than the names have.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memchr, memcmp, memcpy, strlen

from memlens.kernels.base.vectors cimport Vector, column_of, vector_push, vector_push_u32, vector_reserve
from memlens.kernels.readers.json_sections cimport (
    E_MORE, E_NO_MEMORY, E_SYNTAX, E_TOO_LARGE, E_TRUNCATED, is_blank, skip_string,
)
from memlens.packs.v8.kernels.forms cimport (
    F_ACCESSOR, F_ALWAYS, F_CONSTANTS, F_CONSTRUCTOR, F_ENGINES, F_GLOBAL, F_PLAIN, F_POOL, U_CONSTANT,
    U_DECLARED, U_FIXED, U_NAME,
    U_NODE, U_SHORT,
)
from memlens.packs.v8.kernels.parts cimport Parts

OK, MORE, TRUNCATED, SYNTAX, TOO_LARGE, NO_NODE, NO_MEMORY = range(7)

NAME, VALUE, NODE, FIXED, SHORT, CONSTANT, CLASS, DECLARED = 1, 2, 4, 8, 16, 32, 64, 128
"""Uses of a text: as a name; as an object's content; as the name of a node of the DOM, which may have attributes; and
texts that the engine gives to all objects of a kind, which stay as they are. Texts of no more than one character, and
those of the engine's constants, which are objects that all share who have one. The name of an object's class, and a
function's name or one that the engine gives to classes."""

PLAIN, ALWAYS, CONSTRUCTOR, CONSTANTS, POOL, ENGINES, ACCESSOR, GLOBAL = 1, 2, 4, 8, 16, 32, 64, 128
"""What a text could be: a name that code can write without quotes; one that is never a key; the property that leads
from a prototype to its function; the name of a part of compiled code that has names which code uses; of these that of
all constants; the name of an object that is the engine's own; of a function, or a pair of them, that is called for a
property; and of globalThis."""

cdef enum:
    FIXED_COUNT = 6
    CONSTANT_COUNT = 5
    CLASS_COUNT = 24
    OWN_COUNT = 10
    GLOBAL_COUNT = 10
    PART_COUNT = 10
    PREFIX_COUNT = 3
    GLOBAL_CLASS_COUNT = 2
    GLOBAL_PREFIX_COUNT = 6
    MOST_REMOVED = 128      # bytes of a text that stands for another

cdef uint64_t MOST_STRINGS = 0xFFFFFFF0

cdef const char **FIXED_TEXTS = ["", "heap number", "smi number", "int", "bool", "bigint"]
# objects without a function of their class's name, and what the engine's names for others begin with
cdef const char **CLASSES = [
    "Object", "Array", "Math", "JSON", "Reflect", "Atomics", "Intl", "WebAssembly", "Module", "Generator",
    "AsyncGenerator", "Arguments", "Iterator", "Array Iterator", "Map Iterator", "Set Iterator", "String Iterator",
    "RegExp String Iterator", "console", "process", "Temporal", "Symbol", "Iterator Helper", "Async-from-Sync Iterator",
]
cdef const char **PREFIXES = ["system / ", "Intl.", "WebAssembly."]
# of the classes those whose objects the program doesn't make
cdef const char **OWN_CLASSES = [
    "Math", "JSON", "Reflect", "Atomics", "Intl", "WebAssembly", "console", "process", "Temporal", "Symbol",
]
# what globalThis is called, which has keys of the program
cdef const char **GLOBAL_CLASSES = ["global", "Window"]
cdef const char **GLOBAL_PREFIXES = ["Window / ", "Window (", "Window [", "global / ", "global (", "Object (global"]
# properties of globalThis that lead to no function or object of their name
cdef const char **GLOBALS = [
    "NaN", "Infinity", "undefined", "globalThis", "global", "window", "self", "document", "location", "top",
]
# not feedback, nor machine code, which have keys that were looked up
cdef const char **PARTS_OF_CODE = [
    "(constant pool)", "", "system / ObjectBoilerplateDescription", "system / ClassBoilerplate", "system / ScopeInfo",
    "(context local names)",
    # of what follows the engine's roots, that whose order and names are always the same
    "(Eternal handles)", "(Startup object cache)", "(Shareable object cache)", "(Read-only roots)",
]
cdef const char **CONSTANT_TEXTS = ["true", "false", "null", "undefined", "system / Oddball"]


cdef bint is_among(const uint8_t *text, size_t length, const char **texts, int count) noexcept nogil:
    cdef int each
    for each in range(count):
        if length and texts[each][0] != <char> text[0]:
            continue
        if strlen(texts[each]) == length and memcmp(text, texts[each], length) == 0:
            return True
    return False


cdef bint begins_as(const uint8_t *text, size_t length, const char **prefixes, int count) noexcept nogil:
    cdef int each
    for each in range(count):
        if length >= strlen(prefixes[each]) and memcmp(text, prefixes[each], strlen(prefixes[each])) == 0:
            return True
    return False


cdef bint is_global(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text is the engine's name for globalThis."""
    return is_among(text, length, GLOBAL_CLASSES, GLOBAL_CLASS_COUNT) or (
        begins_as(text, length, GLOBAL_PREFIXES, GLOBAL_PREFIX_COUNT))


cdef bint is_engines(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text is the engine's own name for objects of a kind."""
    return is_among(text, length, CLASSES, CLASS_COUNT) or begins_as(text, length, PREFIXES, PREFIX_COUNT) or (
        is_global(text, length))


cdef bint is_short(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a string, as JSON writes it, has no more than one character."""
    if length <= 1:
        return True
    if text[0] == 0x5C:
        # an escape, or \uXXXX, of which a pair may be one
        return length == 2 or (length == 6 and text[1] == 0x75) or (length == 12 and text[1] == 0x75)
    return text[0] >= 0x80 and length <= 4 and (text[1] & 0xC0) == 0x80 and (length < 3 or text[2] & 0xC0 == 0x80)


cdef inline bint is_word(uint8_t one) noexcept nogil:
    return 0x30 <= one <= 0x39 or 0x41 <= one <= 0x5A or 0x61 <= one <= 0x7A or one == 0x5F or one == 0x24


cdef inline bint begins(const uint8_t *text, size_t count, const char *with_, size_t with_count) noexcept nogil:
    return count >= with_count and memcmp(text, with_, with_count) == 0


cdef inline size_t digits_before(const uint8_t *text, size_t end) noexcept nogil:
    """Return where the digits begin that end at ``end``."""
    while end and 0x30 <= text[end - 1] <= 0x39:
        end -= 1
    return end


cdef inline bint is_escaped_letter(const uint8_t *text, size_t count) noexcept nogil:
    """Return whether a text begins with the escape of a character beyond ASCII."""
    return count >= 6 and text[0] == 0x5C and text[1] == 0x75 and (
        text[2] != 0x30 or text[3] != 0x30 or text[4] >= 0x38)


cdef bint is_symbol(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text that begins with "<symbol" has a description as code writes them: identifiers with points
    or double colons between them, in Node.js also with single ones. Others are made of data, as by
    ``Symbol.for("user:" + mail)``.
    """
    cdef size_t at = 8
    cdef bint is_first = True, has_colons
    if length == 8:
        return text[7] == 0x3E
    if length < 10 or text[7] != 0x20 or text[length - 1] != 0x3E:
        return False
    has_colons = begins(text + at, length - at, b"node:", 5) or begins(text + at, length - at, b"dns:", 4)
    if begins(text + at, length - at, b"Window#", 7):
        at += 7
    while at < length - 1:
        if is_word(text[at]):
            if is_first and 0x30 <= text[at] <= 0x39:
                return False
            is_first = False
        elif not is_first and (text[at] == 0x2E or (text[at] == 0x3A and has_colons)):
            is_first = True
        elif not is_first and begins(text + at, length - at, b"::", 2):
            is_first = True
            at += 1
        else:
            return False
        at += 1
    return not is_first


cdef bint is_plain(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether code can name a property so without quotes: an identifier, an accessor's name, or a symbol's."""
    cdef size_t at = 0
    if begins(text, length, b"<symbol", 7):
        return is_symbol(text, length)
    if length >= 2 and text[length - 2] == 0x24 and not is_word(text[length - 1]):
        # RegExp.$& and the like
        length -= 1
    if begins(text, length, b"get ", 4) or begins(text, length, b"set ", 4):
        at = 4
    elif length and text[0] == 0x23:
        at = 1
    if at < length and 0x30 <= text[at] <= 0x39:
        return False
    while at < length:
        if is_word(text[at]) or text[at] >= 0x80:
            at += 1
        elif is_escaped_letter(text + at, length - at):
            at += 6
        else:
            return False
    return True


cdef uint8_t form_of(const uint8_t *text, size_t length) noexcept nogil:
    """Return what a text could be."""
    cdef uint8_t form = F_PLAIN if is_plain(text, length) else 0
    if (form and begins(text, length, b"<symbol", 7)) or (
            length == 9 and (begins(text, length, b"__proto__", 9) or begins(text, length, b"prototype", 9))) or (
            is_among(text, length, GLOBALS, GLOBAL_COUNT)):
        form |= F_ALWAYS
    elif length == 11 and begins(text, length, b"constructor", 11):
        form |= F_CONSTRUCTOR
    if is_among(text, length, PARTS_OF_CODE, PART_COUNT):
        form |= F_CONSTANTS
        if begins(text, length, b"(constant pool)", 15):
            form |= F_POOL
    if is_among(text, length, OWN_CLASSES, OWN_COUNT) or begins_as(text, length, PREFIXES, PREFIX_COUNT):
        form |= F_ENGINES
    elif is_global(text, length):
        form |= F_GLOBAL
    if begins(text, length, b"get ", 4) or begins(text, length, b"set ", 4) or (
            length == 21 and begins(text, length, b"system / AccessorPair", 21)):
        form |= F_ACCESSOR
    return form


cdef bint is_numeral(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text is an index as the engine writes it, of no more than nine digits."""
    cdef size_t each
    if not 0 < length <= 9 or (length > 1 and text[0] == 0x30):
        return False
    for each in range(length):
        if not 0x30 <= text[each] <= 0x39:
            return False
    return True


cdef uint32_t rank_of(const uint8_t *text, size_t length) noexcept nogil:
    """Return a text's hash (FNV-1a)."""
    cdef size_t each
    cdef uint32_t hash = 2166136261u
    for each in range(length):
        hash = (hash ^ text[each]) * 16777619u
    return hash


cdef class Strings(Parts):
    """Counts the strings; then writes them in another order, with one more for each that is a name and a content, and
    the numbers by which elements of the engine's arrays are called.

    A text that doesn't stay becomes "removed N" with its number in that order, so that texts are equal that were.
    """

    cdef readonly uint64_t count
    cdef Vector own_uses, own_forms, own_ranks, own_numerals, own_tables
    cdef const uint64_t[::1] old_tables
    cdef const uint64_t[::1] new_tables
    cdef const uint8_t[::1] uses
    cdef uint64_t next, numerals

    def __cinit__(self, const uint8_t[::1] data: Buffer, size_t start, size_t end):
        self.own(&self.own_uses, 1)
        self.own(&self.own_forms, 1)
        self.own(&self.own_ranks, sizeof(uint32_t))
        self.own(&self.own_numerals, sizeof(uint32_t))
        self.own(&self.own_tables, sizeof(uint64_t))

    cdef int find(self, size_t *begin, size_t *after) noexcept nogil:
        """Find the next string, between the two quotes. Returns 0 at the end, -1 after an error."""
        cdef const uint8_t *data = self.data
        cdef size_t at = self.position, end = self.end
        while at < end and (data[at] == 0x2C or is_blank(data[at])):
            at += 1
        if at >= end:
            return 0
        if data[at] != 0x22:
            return self.fail(E_SYNTAX, at)
        begin[0] = at + 1
        at = skip_string(data, at, end)
        if at > end:
            return self.fail(E_TRUNCATED, end)
        after[0] = at - 1
        return 1

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t begin = 0, after = 0
        cdef uint8_t use, form
        cdef uint64_t table = 0
        cdef int status
        while self.position < limit:
            status = self.find(&begin, &after)
            if status <= 0:
                return status
            use = 0
            if is_among(self.data + begin, after - begin, FIXED_TEXTS, FIXED_COUNT):
                use |= U_FIXED
            if is_among(self.data + begin, after - begin, CONSTANT_TEXTS, CONSTANT_COUNT):
                use |= U_CONSTANT
            if is_engines(self.data + begin, after - begin):
                use |= U_DECLARED
            if is_short(self.data + begin, after - begin):
                use |= U_SHORT
            form = form_of(self.data + begin, after - begin)
            if vector_push(&self.own_uses, &use) < 0 or vector_push(&self.own_forms, &form) < 0 or (
                    vector_push_u32(&self.own_ranks, rank_of(self.data + begin, after - begin)) < 0):
                return self.fail(E_NO_MEMORY, begin)
            if is_numeral(self.data + begin, after - begin) and (
                    vector_push_u32(&self.own_numerals, <uint32_t> self.count) < 0):
                return self.fail(E_NO_MEMORY, begin)
            if entry_s_table(self.data + begin, after - begin, &table) and (
                    vector_push(&self.own_tables, &table) < 0):
                return self.fail(E_NO_MEMORY, begin)
            self.count += 1
            if self.count >= MOST_STRINGS:
                return self.fail(E_TOO_LARGE, begin)
            self.position = after + 1
        return E_MORE

    def take_uses(self) -> Buffer:
        """Move out what is known of each text by itself, as bits (``uint8``)."""
        return column_of(&self.own_uses, b"B")

    def take_forms(self) -> Buffer:
        """Move out what each text could be, as bits (``uint8``)."""
        return column_of(&self.own_forms, b"B")

    def take_ranks(self) -> Buffer:
        """Move out a number for each text, by which names have the same order in every file (``uint32``)."""
        return column_of(&self.own_ranks, b"I")

    def take_numerals(self) -> Buffer:
        """Move out the number of each text that is an index in digits (``uint32``)."""
        return column_of(&self.own_numerals, b"I")

    def take_tables(self) -> Buffer:
        """Move out the id of the table that each name of a WeakMap's entry has (``uint64``)."""
        return column_of(&self.own_tables, b"Q")

    def number_tables(self, const uint64_t[::1] old, const uint64_t[::1] new):
        """Give the tables of WeakMaps new ids in the names of their entries. Called before writing."""
        if old.shape[0] != new.shape[0]:
            raise ValueError("columns of different lengths")
        self.old_tables, self.new_tables = old, new

    def write(self, size_t start, const uint8_t[::1] uses, const uint32_t[::1] places, uint64_t numerals):
        """Begin to write at ``start``; ``uses`` are those of ``Rows``. There is one of the ``places`` for each text,
        then one for each that is a name and a content, and then for the ``numerals`` from 0 on.
        """
        if uses.shape[0] != <Py_ssize_t> self.count or <uint64_t> places.shape[0] < self.count + numerals:
            raise ValueError("columns of different lengths")
        self.position = start + 1
        self.uses, self.places, self.numerals = uses, places, numerals

    cdef int next_piece(self) noexcept nogil:
        cdef const uint8_t *text
        cdef uint8_t *out
        cdef size_t begin = 0, after = 0
        cdef uint8_t use = 0
        cdef uint64_t first_numeral = self.places.shape[0] - self.numerals
        if self.next >= <uint64_t> self.places.shape[0]:
            return 0
        if self.next < self.count:
            if self.find(&begin, &after) <= 0:
                return -3
            self.position = after + 1
            use = self.uses[self.next] & (U_NAME | U_FIXED | U_NODE)
        text = self.data + begin
        if vector_reserve(&self.piece, MOST_REMOVED + (after - begin if use & (U_NAME | U_FIXED) else 0)) < 0:
            return -2
        self.piece_place = self.places[self.next]
        out = self.piece.data
        memcpy(out, b",\n", 2)
        if use & (U_NAME | U_FIXED) and after > begin:
            self.piece.count = 2 + self.write_name(text, after - begin, use, out + 2)
        elif use & U_FIXED:
            memcpy(out + 2, b'""', 2)
            self.piece.count = 4
        elif self.next >= first_numeral:
            # not the dump's own text, by which a content would be known that is the same
            self.piece.count = 2 + <size_t> snprintf(
                <char *> out + 2, 64, b"\"%llu\"", <unsigned long long> (self.next - first_numeral))
        else:
            self.piece.count = 2 + <size_t> snprintf(
                <char *> out + 2, 64, b"\"removed %llu\"", <unsigned long long> self.piece_place)
        self.next += 1
        return 1

    cdef size_t write_name(self, const uint8_t *text, size_t length, uint8_t use, uint8_t *out) noexcept nogil:
        """Write a name. Contents in one are an element's attributes, what a WeakMap's entry leads to, and an address
        that is all of a script or a page.
        """
        cdef size_t done = 0
        if use & U_NODE:
            done = self.write_element(text, length, out)
        if done == 0:
            done = self.write_entry(text, length, out)
        if done == 0:
            done = self.write_data(text, length, out)
        if done == 0:
            out[0] = 0x22
            memcpy(out + 1, text, length)
            out[1 + length] = 0x22
            done = length + 2
        return done

    cdef size_t write_entry(self, const uint8_t *text, size_t length, uint8_t *out) noexcept nogil:
        """Write the name of a WeakMap's entry without those of its key and its value, which may be a string's text or a
        regular expression's pattern, nor their ids: the value may be another in the copy. Its number, which is by a
        hash, becomes that of the text. Nothing for other texts.
        """
        cdef uint64_t table = 0
        cdef size_t digits = 0, each
        cdef const char *key = b""
        if entry_s_table(text, length, &table) == 0:
            return 0
        for each in range(<size_t> self.old_tables.shape[0]):
            if self.old_tables[each] == table:
                table = self.new_tables[each]
                break
        while digits < length and 0x30 <= text[digits] <= 0x39:
            digits += 1
        if begins(text + digits, length - digits, b" / part of key (", 16):
            key = b" / part of key (removed)"
        return <size_t> snprintf(
            <char *> out, 124, b"\"%llu%s -> value (removed) pair in WeakMap (table @%llu)\"",
            <unsigned long long> self.piece_place, key, <unsigned long long> table,
        )

    cdef size_t write_element(self, const uint8_t *text, size_t length, uint8_t *out) noexcept nogil:
        """Write ``<a href="…">`` as ``<a removed N>``; nothing if there are no attributes."""
        cdef size_t at = 9 if begins(text, length, b"Detached ", 9) else 0
        if at == length or text[at] != 0x3C:
            return 0
        at += 1
        while at < length and (is_word(text[at]) or text[at] == 0x2D or text[at] == 0x3A):
            at += 1
        if at + 1 == length and text[at] == 0x3E:
            return 0
        out[0] = 0x22
        memcpy(out + 1, text, at)
        return 1 + at + <size_t> snprintf(
            <char *> out + 1 + at, 64, b" removed %llu>\"", <unsigned long long> self.piece_place
        )

    cdef size_t write_data(self, const uint8_t *text, size_t length, uint8_t *out) noexcept nogil:
        """Write ``data:text/javascript,…``, also after other words, as ``data:text/javascript,removed N``; nothing if
        the text isn't such an address.
        """
        cdef size_t at, end
        cdef const void *found = text
        while True:
            at = <const uint8_t *> found - text
            found = memchr(text + at, 0x64, length - at) if at < length else NULL
            if found == NULL:
                return 0
            at = <const uint8_t *> found - text
            if begins(text + at, length - at, b"data:", 5) and not (at and is_word(text[at - 1])):
                break
            found = text + at + 1
        end = at + 5
        while end < length and (is_word(text[end]) or text[end] in (0x2B, 0x2D, 0x2E, 0x2F)):
            end += 1
        if end >= length or text[end] not in (0x2C, 0x3B) or memchr(text + end, 0x2C, length - end) == NULL:
            return 0
        out[0] = 0x22
        memcpy(out + 1, text, end)
        return 1 + end + <size_t> snprintf(
            <char *> out + 1 + end, 64, b",removed %llu\"", <unsigned long long> self.piece_place
        )


cdef size_t entry_s_table(const uint8_t *text, size_t length, uint64_t *table) noexcept nogil:
    """Return where " pair in WeakMap (table @ID)" begins, and which table; 0 if the text isn't the name of an entry,
    "N / part of key (KEY @ID) -> value (VALUE @ID) pair in WeakMap (table @ID)".
    """
    cdef size_t tail, each
    if length == 0 or text[length - 1] != 0x29:
        return 0
    tail = digits_before(text, length - 1)
    if tail < 26 or memcmp(text + tail - 25, b" pair in WeakMap (table @", 25):
        return 0
    table[0] = 0
    for each in range(tail, length - 1):
        table[0] = table[0] * 10 + (text[each] - 0x30)
    return tail - 25
