# What names something in a Python heap dump, and which of its objects the runtime shares (see the .pyx).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from memlens.kernels.base.addresses cimport AddressMap
from memlens.kernels.base.counts cimport Counts
from memlens.kernels.base.vectors cimport Vector
from memlens.kernels.readers.numbers cimport le32_at, le64_at
from memlens.kernels.readers.scan cimport Scan
from memlens.packs.python.kernels.attributes cimport Attributes, attributes_key

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY

cdef enum:
    MOST_TEXT = 1 << 20
    WORDS_KEPT = 64         # of the types that were looked up last

cdef enum:
    # stages
    S_NAMES         # texts that are names, types, dictionaries of attributes
    S_KEYS          # how many objects of a type have an attribute, and which objects there are
    S_CHOSEN        # which attributes are names
    S_TEXTS         # the texts of these, and objects that are shared
    S_PLACES        # where each text is that stays, and records that aren't those of objects
    S_WRITE

cdef enum:
    # flags of a text, above the number of the word that it is
    A_WORD = 0x3F
    IS_NAME = 0x40
    IS_ODD = 0x80           # no name: it has control characters, or is too long
    IS_NO_IDENTIFIER = 0x100
    IS_SPECIAL = 0x200      # a name of the language's, as __class__ is
    IS_SMALL = 0x400        # of no more than one character, or a number that the runtime has one object for
    IS_THREAD = 0x800       # a thread's name
    IS_DETAIL = 0x1000      # of a root, with a thread's name in parentheses at its end
    IS_CODES = 0x2000       # the program's code has it as a name
    IS_KNOWN = 0x4000       # an identifier that the code or the standard library has as well
    IS_GLOBAL = 0x8000      # a detail that names a variable of a module
    IS_STAYING = IS_NAME | IS_THREAD | IS_DETAIL

cdef enum:
    # words
    NOTES = 10
    NOTES_OF_TIME = 4       # the first of them
    W_MODULE = NOTES + 1    # the first kind of roots, and a type
    W_BUILTINS
    W_THREAD
    W_LOCAL
    W_EXCEPTION
    W_UNKNOWN
    W_STR                   # the first of the other types
    W_BYTES
    W_INT
    W_FLOAT
    W_COMPLEX
    W_BOOL                  # those up to here have a value
    W_CODE                  # those from here have a name as their text
    W_FUNCTION
    W_TYPE
    W_GENERATOR
    W_COROUTINE
    W_DICT                  # those from here have none
    W_METHOD
    W_BUILTIN_METHOD
    W_CELL
    W_PROPERTY
    W_STATICMETHOD
    W_CLASSMETHOD
    W_SLICE
    W_TRACEBACK
    W_FRAME
    W_OWN_DICT              # no types
    W_MODULE_CODE
    W_BASE
    W_ENUM
    W_ENUM_TYPE             # classes whose instances are classes of enums
    W_ENUM_META
    W_CHOICES_TYPE
    W_CHOICES_META
    WORDS

cdef struct Kind:
    # a type of the runtime's
    uint64_t address
    uint32_t word

cdef struct Shared:
    uint64_t address, group     # of which one object of each is led to
    bint is_named               # one that isn't led to

cdef struct Named:
    # a text that stays
    uint64_t at
    uint32_t text

cdef enum:
    # flags of a place of attributes: one that is named like an earlier one, or by several names
    IS_BORROWED = 1
    IS_AMBIGUOUS = 2

cdef struct Chunk:
    # records of objects that follow one another, and others between them
    uint64_t start, end


cdef extern from *:
    """
    /* by tag, the bytes of a record, or of what stands before its items, and of each of these, whose count follows the
       tag */
    static const unsigned char memlens_record_head[256] = {
        ['O'] = 37, ['F'] = 13, ['L'] = 13, ['T'] = 17, ['A'] = 21, ['G'] = 21, ['N'] = 9, ['E'] = 9,
        ['S'] = 5, ['K'] = 5, ['n'] = 5, ['r'] = 5, ['e'] = 5, ['i'] = 5, ['d'] = 5,
    };
    static const unsigned char memlens_record_item[256] = {
        ['S'] = 1, ['K'] = 4, ['n'] = 12, ['r'] = 8, ['e'] = 8, ['i'] = 8, ['d'] = 8,
    };
    """
    const uint8_t *HEAD_BYTES "memlens_record_head"
    const uint8_t *ITEM_BYTES "memlens_record_item"


cdef inline bint is_label(const uint8_t *record) noexcept nogil:
    """Return whether a record is that of a name that the code has."""
    return record[0] == c"L" and le64_at(record + 1) == 0


cdef class Survey(Scan):
    cdef readonly int stage
    cdef readonly size_t end
    cdef readonly bint is_whole
    cdef readonly uint64_t objects
    cdef bint keeps_numbers, keeps_time, keeps_shared
    cdef uint32_t text          # the number of the last text
    cdef bint has_code          # whether the dump says which names its code has
    cdef uint64_t hash_seed
    cdef Counts words           # hashes of names that the code or the standard library has
    cdef Counts places          # of attributes in the records of a type's objects: the name, and flags
    cdef size_t start
    cdef uint64_t frames, stacks, bits
    cdef uint64_t[WORDS_KEPT] kept_types
    cdef uint32_t[WORDS_KEPT] kept_words    # and 1; 0 for none
    cdef uint32_t[256] word_lengths         # by the first byte of the words
    cdef uint32_t last_word     # what the type of the last object is called
    cdef uint64_t last_type, last_object
    cdef Vector flags, types, dictionaries, dictionary_types, enum_classes, shared, chunks, named
    cdef Vector is_of_module            # whether a frame is of a module's own code
    cdef Vector frame_places, stack_places, type_places, label_places, other_places
    cdef AddressMap known       # all objects
    cdef AddressMap by_dictionary, by_enum
    cdef AddressMap keys, named_keys
    cdef Attributes attributes
    cdef uint64_t nameless      # the first string that is the key of no attributes

    cdef int add_text(self, const uint8_t *text, size_t length) noexcept nogil
    cdef int note_names(self, const uint8_t *record) noexcept nogil
    cdef int look_at_text(self, const uint8_t *text, size_t length) noexcept nogil
    cdef int note_places(self, const uint8_t *names, uint32_t count) noexcept nogil
    cdef bint is_global(self, uint32_t frame) noexcept nogil
    cdef bint is_named_key(self, uint64_t address, uint32_t text) noexcept nogil
    cdef bint is_attribute(self, uint64_t form, uint64_t attribute, bint is_known) noexcept nogil
    cdef int note_type(self, const uint8_t *record) noexcept nogil
    cdef int note_members(self, const uint8_t *record) noexcept nogil
    cdef int note_attributes(self, const uint8_t *record) noexcept nogil
    cdef int note_keys(self, const uint8_t *record) noexcept nogil
    cdef int note_object(self, const uint8_t *record) noexcept nogil
    cdef int note_place(self, const uint8_t *record) noexcept nogil
    cdef int look_at(self, const uint8_t *record, size_t bytes) noexcept nogil
    cdef int end_stage(self, uint64_t seed) noexcept nogil
    cdef int take_object(self) noexcept nogil
    cdef int prepare(self) noexcept nogil
    cdef uint32_t find_word(self, uint64_t type) noexcept nogil

    cdef inline uint32_t word_of(self, uint64_t type) noexcept nogil:
        """Return the word that a type of the runtime's is called by; 0 for others."""
        cdef size_t place = (type >> 4) % WORDS_KEPT
        if self.kept_types[place] != type or not self.kept_words[place]:
            self.kept_types[place], self.kept_words[place] = type, self.find_word(type) + 1
        return self.kept_words[place] - 1

    cdef inline size_t record_bytes(self, size_t at) noexcept nogil:
        """Return the bytes of the record at ``at``; 0 if there is none, or not all of it."""
        cdef size_t left = self.end - at, bytes
        cdef uint8_t tag
        # no record has fewer
        if left < 5:
            return 0
        tag = self.data[at]
        bytes = HEAD_BYTES[tag]
        if ITEM_BYTES[tag]:
            bytes += ITEM_BYTES[tag] * <size_t> le32_at(self.data + at + 1)
            if tag == c"S" and bytes > MOST_TEXT + 5:
                return 0
        return bytes if bytes <= left else 0

    cdef inline uint16_t flags_of(self, uint32_t text) noexcept nogil:
        return (<uint16_t *> self.flags.data)[text] if text < self.flags.count else 0

    cdef inline uint32_t word(self, uint32_t text) noexcept nogil:
        return self.flags_of(text) & A_WORD

    cdef inline bint is_written(self, uint32_t text) noexcept nogil:
        cdef uint16_t flags = self.flags_of(text)
        return flags & IS_STAYING and not flags & IS_ODD

    cdef inline void mark(self, uint32_t text, uint16_t flags) noexcept nogil:
        if text < self.flags.count:
            (<uint16_t *> self.flags.data)[text] |= flags

    cdef inline void name_of_code(self, uint32_t text) noexcept nogil:
        self.mark(text, IS_NAME | IS_CODES)

    cdef inline void name(self, uint32_t text) noexcept nogil:
        self.mark(text, IS_NAME)

    cdef inline bint is_note(self, uint32_t text) noexcept nogil:
        """Return whether a text is the key of a note that stays."""
        return (0 if self.keeps_time else NOTES_OF_TIME) < self.word(text) <= NOTES


cdef inline uint64_t place_key(uint64_t type, uint32_t count, uint32_t place) noexcept nogil:
    """Return a number for a place among so many attributes of a type's object."""
    return attributes_key(type, (<uint64_t> count << 32) | place)
