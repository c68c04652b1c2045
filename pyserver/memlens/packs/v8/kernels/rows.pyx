# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes the rows of a V8 heap snapshot anew, number by number, as what the header says that each is.

:class:`Rows` first goes through the rows and notes what uses each string; then it writes them. :class:`Trace` does so
with the nested arrays of the allocation trace.

Names of properties are data where an object is used as a dictionary: ``sessions[user]``. Code's are those that compiled
code has among its constants, and those of prototypes and of the engine's own objects. A file without such constants, as
older versions and other engines write them, is judged as Python's dumps are: by how many objects of a class have which.

What is a name as well is known by what has it as such: the description of a class's properties leads to their names,
in their order, and so does code; a constant of code or of the engine is known by who has its source. So what else
leads to such a string, or to a symbol, leads to one of all. Objects, and what each refers to, are written in a random
order, and elements, also those of the engine's arrays, are counted in that: the original is that of a value, of the
hashes of texts, or of when what was made (see ``parts``).
"""

import os

cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from memlens.kernels.base.bits cimport lowest_bit
from memlens.kernels.base.counts cimport CountRow, Counts, counts_find, counts_free, counts_init, counts_row
from memlens.kernels.base.random cimport KEY_BYTES, Random, random_begin, random_below
from memlens.kernels.base.vectors cimport Vector, column_of, vector_push, vector_push_u32, vector_reserve
from memlens.kernels.readers.json_sections cimport (
    E_MORE, E_NO_MEMORY, E_NO_NODE, E_OK, E_SYNTAX, E_TOO_LARGE, is_blank,
)
from memlens.packs.v8.kernels.forms cimport (
    F_ACCESSOR, F_ALWAYS, F_CONSTANTS, F_CONSTRUCTOR, F_ENGINES, F_GLOBAL, F_PLAIN, F_POOL, U_CLASS,
    U_CONSTANT, U_DECLARED, U_SHORT,
)
from memlens.packs.v8.kernels.heap_json cimport ArrayReader, short_number
from memlens.packs.v8.kernels.parts cimport Parts

NUMBER, ZERO, TYPE, NAME, TARGET, EDGES, STATE, ID = range(8)
"""What a field is: a number that stays, one that becomes 0, the row's type, the number of a string, the place of an
object, the number of an object's edges, a number below 8, an object's id."""

NAMES, IS_VALUE, IS_ELEMENT, IS_CLASS, IS_INDEX, IS_TEXT, IS_ODDBALL, DECLARES, MOVES = 1, 2, 4, 8, 16, 32, 64, 128, 256
"""What the type of a row says of its name, as bits: it is a name; a content; that of a node of the DOM; that of a
class, which is a name if a function has it; no string but an index; a content that may be one of the engine's strings
of one character; one of its constants, or of an edge that of a property; that of a function; of an edge that it leads
to an element, if its name is the text of an index."""

JUDGED, FUNCTION, CODE, TEXT, ROOTS, SYMBOL, STRUCTURE = 1, 2, 4, 8, 16, 32, 64
"""What objects of a type are, as bits: some with properties whose names may be data; functions; parts of compiled code;
strings; of those that follow the engine's roots; symbols; what has no values of the program, but names."""

PROPERTY, OF_CODE, NUMERAL, KNOWN = 1, 2, 4, 8
"""What is known of a text: it is the name of a property, and that of one which code named, it is an index, and
code or the engine has it among its constants."""

SHORT_TEXT, CONSTANT, TEXT_TOO, A_SYMBOL = 1, 2, 3, 4
"""What an object is that others share with it: a string of no more than one character, one of the engine's constants,
another string, a symbol."""

cdef enum:
    R_NUMBER
    R_ZERO
    R_TYPE
    R_NAME
    R_TARGET
    R_EDGES
    R_STATE
    R_ID
    ROLES

cdef enum:
    K_NAME = 1
    K_VALUE = 2
    K_ELEMENT = 4
    K_CLASS = 8
    K_INDEX = 16
    K_TEXT = 32
    K_ODDBALL = 64
    K_DECLARES = 128
    K_MOVES = 256
    K_USE = 7               # the bits that are uses of a string

cdef enum:
    J_JUDGED = 1
    J_FUNCTION = 2
    J_CODE = 4
    J_TEXT = 8
    J_GLOBAL = 16           # of those with properties, globalThis; of structures, roots
    J_STRUCTURE = 64

cdef enum:
    P_PROPERTY = 1
    P_OF_CODE = 2
    P_NUMERAL = 4
    P_KNOWN = 8

cdef enum:
    MOST_ATTRIBUTES = 256   # of a class whose objects aren't used as dictionaries
    LEAST_OBJECTS = 3       # by which it shows

cdef enum:
    MOST_FIELDS = 64
    MOST_DIGITS = 20
    MOST_KEPT = 12          # digits: no size, line or time has more, but numbers of cards and accounts have
    MOST_STATE = 8
    FEW_EDGES = 24
    PIECE_EDGES = 256       # that are written into a part at once
    SHARED_KINDS = 5
    S_SHORT_TEXT = 1
    S_TEXT_TOO = 3
    S_SYMBOL = 4

cdef uint32_t NO_NODE_YET = 0xFFFFFFFF, NO_TEXT = 0xFFFFFFFF


cdef struct Field:
    uint64_t value
    size_t begin, after
    bint is_negative


cdef struct Edge:
    uint32_t type, name, target
    uint32_t rank               # of the name, by which properties are in order


cdef struct Candidate:
    uint64_t pair               # of the function and the object, as a key
    size_t first, count         # of its properties


@cython.final
cdef class Rows(Parts):
    """Goes through rows of numbers, each of a field with one of the ``roles``.

    ``kinds`` has an item for each type of rows; ``uses`` one for each string, to which bits are added. A place of an
    object is a multiple of ``width`` below ``width`` times ``nodes``.
    """

    cdef int fields
    cdef uint8_t roles[MOST_FIELDS]
    cdef const uint16_t[::1] kinds
    cdef uint8_t[::1] uses
    cdef uint64_t width, nodes
    cdef Vector counts, shared
    cdef const uint32_t[::1] new_names, new_contents    # of texts in the copy
    cdef const uint32_t[::1] edge_counts
    cdef const uint8_t[::1] are_shared
    cdef uint32_t one_shared[SHARED_KINDS]
    cdef Py_ssize_t owner
    cdef uint64_t left_of_owner, next_index
    cdef bint notes_edges, is_writing_first, cuts_shared
    cdef readonly uint64_t needed, rows
    cdef readonly uint64_t redirected   # references to what stands for several, whichever of them it was
    cdef uint32_t short
    cdef Random random
    cdef uint64_t elements              # of the object whose edges are gone through
    cdef readonly uint64_t most_elements
    cdef const uint64_t[::1] new_ids
    cdef const uint8_t[::1] hidden      # texts by which no string differs from another
    cdef Vector own_edges               # of one object, in the order in which they are written
    cdef size_t next_edge
    cdef uint64_t next_row
    cdef const uint8_t[::1] noted_ids
    cdef Vector ids                     # of objects, each with its number
    cdef uint32_t[::1] references       # to strings, for each text
    cdef const uint32_t[::1] numerals, ranks
    cdef int type_field, name_field, target_field
    cdef Vector owners, owner_names     # what each object is, and the number of its name
    cdef const uint8_t[::1] of_types
    cdef const uint8_t[::1] forms
    cdef uint8_t[::1] judged
    cdef const uint32_t[::1] names
    cdef uint8_t[::1] marks
    cdef Vector own_properties          # of the object whose edges are gone through
    cdef uint64_t constructor           # the function that it names, if it may be a prototype
    cdef Vector candidates, candidate_names     # objects that name one, which may be prototypes, and their properties
    cdef Counts of_prototypes           # pairs of a function and its prototype
    cdef bint is_prototype, counts_classes, notes_owners, judges
    cdef Counts of_classes, of_properties
    cdef readonly bint has_constants

    def __cinit__(
        self, const uint8_t[::1] data: Buffer, size_t start, size_t end, const uint8_t[::1] roles,
        const uint16_t[::1] kinds, uint8_t[::1] uses, uint64_t width, uint64_t nodes,
    ):
        cdef Py_ssize_t each
        if not 0 < roles.shape[0] <= MOST_FIELDS:
            raise ValueError("no such fields")
        self.fields = <int> roles.shape[0]
        self.type_field = -1
        for each in range(self.fields):
            self.roles[each] = roles[each]
            if roles[each] == R_TYPE:
                self.type_field = <int> each
            elif roles[each] == R_NAME:
                self.name_field = <int> each
            elif roles[each] == R_TARGET:
                self.target_field = <int> each
            if roles[each] == R_EDGES:
                self.notes_edges = True
        self.kinds = kinds
        self.uses = uses
        self.width = max(width, <uint64_t> 1)
        self.nodes = nodes
        self.own(&self.counts, 4)
        self.own(&self.shared, 1)
        self.own(&self.owners, 1)
        self.own(&self.owner_names, 4)
        self.own(&self.own_properties, 4)
        self.own(&self.candidates, sizeof(Candidate))
        self.own(&self.candidate_names, 4)
        self.own(&self.own_edges, sizeof(Edge))
        self.own(&self.ids, 8)
        counts_init(&self.of_prototypes)
        counts_init(&self.of_classes)
        counts_init(&self.of_properties)

    def __dealloc__(self):
        counts_free(&self.of_classes)
        counts_free(&self.of_prototypes)
        counts_free(&self.of_properties)

    def note_owners(self, const uint8_t[::1] of_types, const uint8_t[::1] forms, const uint8_t[::1] noted_ids):
        """Note what each object is, by the ``of_types`` of rows and the forms of all texts, and its id if there is a 1
        in ``noted_ids``, which repeat.

        Then ``has_constants`` says whether the file has those of compiled code. Called before the rows are gone
        through.
        """
        if forms.shape[0] != self.uses.shape[0]:
            raise ValueError("columns of different lengths")
        self.of_types, self.forms, self.notes_owners, self.noted_ids = of_types, forms, True, noted_ids

    def judge(
        self, const uint32_t[::1] edge_counts, uint8_t[::1] owners, const uint32_t[::1] names,
        const uint8_t[::1] forms, uint8_t[::1] marks, bint has_constants,
    ):
        """Mark the names of properties, and those of code, for each text. ``owners`` and ``names`` are of objects.

        Called before the rows are gone through; afterwards ``judge_classes`` marks more.
        """
        if edge_counts.shape[0] != owners.shape[0] or names.shape[0] != owners.shape[0] or (
                marks.shape[0] != self.uses.shape[0] or forms.shape[0] != self.uses.shape[0]):
            raise ValueError("columns of different lengths")
        self.edge_counts, self.judged, self.names, self.forms, self.marks = edge_counts, owners, names, forms, marks
        self.counts_classes, self.judges, self.owner = not has_constants, True, -1

    cdef int read_row(self, size_t *place, Field *row) noexcept nogil:
        """Read the row at ``place``, and move that past it. Returns 1; 0 at the end; -1 after an error."""
        cdef const uint8_t *data = self.data
        cdef size_t at = place[0], end = self.end, first, digits
        cdef uint64_t value
        cdef int field
        for field in range(self.fields):
            # a digit is behind all that may stand between numbers
            while at < end and data[at] <= 0x2C and (data[at] == 0x2C or is_blank(data[at])):
                at += 1
            if at + 1 < end and data[at + 1] == 0x2C and <uint8_t> (data[at] - 0x30) <= 9:
                row[field].value, row[field].begin, row[field].after = data[at] - 0x30, at, at + 1
                row[field].is_negative = False
                at += 1
                continue
            if at == end and field == 0:
                place[0] = at
                return 0
            first = at
            value = 0
            row[field].is_negative = False
            if at + 8 <= end:
                at += short_number(data + at, &value)
            if at == first or at == first + 8:
                # V8 writes an element's large index as a negative number
                row[field].is_negative = first < end and data[first] == 0x2D
                at = first + row[field].is_negative
                digits = at
                value = 0
                while at < end and 0x30 <= data[at] <= 0x39:
                    value = value * 10 + (data[at] - 0x30)
                    at += 1
                if at == digits:
                    return self.fail(E_SYNTAX, at)
                if at - digits > MOST_DIGITS:
                    return self.fail(E_TOO_LARGE, first)
            if at < end and data[at] != 0x2C and not is_blank(data[at]):
                return self.fail(E_SYNTAX, at)
            row[field].value, row[field].begin, row[field].after = value, first, at
        place[0] = at
        return 1

    cdef inline int kind_of(self, const Field *row) noexcept nogil:
        """Return what the type of a row says of its name; -1 after an error."""
        if self.type_field < 0:
            return self.kinds[0] if self.kinds.shape[0] else K_NAME
        if row[self.type_field].value >= <uint64_t> self.kinds.shape[0]:
            return self.fail(E_TOO_LARGE, row[self.type_field].begin)
        return self.kinds[row[self.type_field].value]

    cdef int run_to(self, size_t limit) noexcept nogil:
        """Note what uses each string, how many edges each object has, and which are shared by all who have a value."""
        cdef Field row[MOST_FIELDS]
        cdef int status
        while self.position < limit:
            status = self.read_row(&self.position, row)
            if status < 0:
                return -1
            if status == 0:
                return self.end_owner() if self.judges else E_OK
            if self.judges:
                if self.left_of_owner == 0 and self.end_owner() < 0:
                    return -1
                self.next_owner()
            if self.note(row) < 0 or (self.notes_owners and self.note_owner(row) < 0) or (
                    self.judges and self.judge_edge(row) < 0):
                return -1
            self.rows += 1
        return E_MORE

    cdef inline int note_owner(self, const Field *row) noexcept nogil:
        """Note what an object is, and what it is called. Its row has been checked."""
        cdef uint32_t name = <uint32_t> row[self.name_field].value
        cdef uint8_t form = self.forms[name], kind = 0
        if row[self.type_field].value < <uint64_t> self.of_types.shape[0]:
            kind = self.of_types[row[self.type_field].value]
        if kind & J_CODE:
            if form & F_CONSTANTS:
                self.has_constants = self.has_constants or form & F_POOL
            else:
                kind &= ~J_CODE
        elif kind == J_JUDGED and form & F_ENGINES:
            kind = 0
        elif kind == J_JUDGED and form & F_GLOBAL:
            kind |= J_GLOBAL
        if vector_push(&self.owners, &kind) < 0 or vector_push_u32(&self.owner_names, name) < 0:
            return self.fail(E_NO_MEMORY, row[0].begin)
        return 0

    cdef inline int judge_edge(self, const Field *row) noexcept nogil:
        """Mark the name of a property, or a string that code has. The row has been checked."""
        cdef uint64_t target = row[self.target_field].value // self.width
        cdef uint32_t name
        cdef uint8_t owner
        # what belongs to no object is found later
        owner = self.judged[self.owner] if 0 <= self.owner < self.judged.shape[0] else 0
        if self.kinds[row[self.type_field].value] & K_ODDBALL:
            name = <uint32_t> row[self.name_field].value
            self.marks[name] |= P_PROPERTY if owner & J_JUDGED else P_PROPERTY | P_OF_CODE
            if owner & J_GLOBAL and owner & J_JUDGED and self.is_accessor(name, target):
                self.marks[name] |= P_OF_CODE
            if owner & J_JUDGED and self.forms[name] & F_PLAIN and not self.forms[name] & F_ALWAYS:
                if vector_push_u32(&self.own_properties, name) < 0:
                    return self.fail(E_NO_MEMORY, row[0].begin)
                if self.forms[name] & F_CONSTRUCTOR and self.judged[target] & J_FUNCTION:
                    self.is_prototype, self.constructor = True, target
            elif owner & J_FUNCTION and self.forms[name] & F_ALWAYS:
                # its prototype, and what else is never a key
                if counts_row(&self.of_prototypes, pair_of(self.owner, target)) == NULL:
                    return self.fail(E_NO_MEMORY, row[0].begin)
        elif owner & J_CODE and self.judged[target] & J_TEXT:
            self.marks[self.names[target]] |= P_OF_CODE | P_KNOWN
        elif owner & J_STRUCTURE and owner & J_GLOBAL and self.judged[target] & J_TEXT and (
                self.forms[self.names[self.owner]] & F_CONSTANTS or not self.is_numbered(row)):
            self.marks[self.names[target]] |= P_KNOWN
        return 0

    cdef inline bint is_numbered(self, const Field *row) noexcept nogil:
        """Return whether an edge is called by an index."""
        cdef uint64_t name = row[self.name_field].value
        return self.kinds[row[self.type_field].value] & K_INDEX or (
            name < <uint64_t> self.marks.shape[0] and self.marks[name] & P_NUMERAL)

    cdef bint is_accessor(self, uint32_t name, uint64_t target) noexcept nogil:
        """Return whether a property is a function that is called for it, as what is loaded on its first use is."""
        if self.judged[target] & J_FUNCTION:
            return self.forms[name] & F_ACCESSOR
        return not self.judged[target] & J_JUDGED and self.forms[self.names[target]] & F_ACCESSOR

    cdef int end_owner(self) noexcept nogil:
        """Mark the properties of a prototype, or count those of an object."""
        cdef uint32_t *properties = <uint32_t *> self.own_properties.data
        cdef size_t each, count = self.own_properties.count
        cdef CountRow *type
        cdef CountRow *row
        cdef Candidate candidate
        self.own_properties.count = 0
        if self.is_prototype:
            self.is_prototype = False
            candidate.pair = pair_of(self.constructor, self.owner)
            candidate.first, candidate.count = self.candidate_names.count, count
            for each in range(count):
                if vector_push_u32(&self.candidate_names, properties[each]) < 0:
                    return self.fail(E_NO_MEMORY, self.position)
            if vector_push(&self.candidates, &candidate) < 0:
                return self.fail(E_NO_MEMORY, self.position)
        elif self.counts_classes and count:
            type = counts_row(&self.of_classes, 1 + <uint64_t> self.names[self.owner])
            if type == NULL:
                return self.fail(E_NO_MEMORY, self.position)
            type.first += 1
            type.third = max(type.third, <uint32_t> count)
            for each in range(count):
                row = counts_find(&self.of_properties, self.key_of(properties[each]))
                if row == NULL and type.second <= MOST_ATTRIBUTES:
                    type.second += 1
                    row = counts_row(&self.of_properties, self.key_of(properties[each]))
                    if row == NULL:
                        return self.fail(E_NO_MEMORY, self.position)
                if row != NULL:
                    row.first += 1
        return E_OK

    cdef inline uint64_t key_of(self, uint32_t property) noexcept nogil:
        """Return a number for a property of the object's class; it isn't 0, as there are fewer than 2^32 texts."""
        return (<uint64_t> self.names[self.owner] << 32) + property + 1

    def judge_classes(self) -> None:
        """Mark the properties of prototypes: of objects that name a function as their constructor whose prototype they
        are. Mark those that the code of their class named as well, in a file without the constants of code.

        Objects of a class are used as dictionaries if they have more than 256 properties, or if three or more have more
        than twice as many in all as any of them has: of these what half of the objects have is code's.
        """
        cdef size_t each, place
        cdef CountRow *row
        cdef CountRow *type
        cdef Candidate *candidate
        for each in range(self.candidates.count):
            candidate = <Candidate *> self.candidates.data + each
            if counts_find(&self.of_prototypes, candidate.pair) != NULL:
                for place in range(candidate.first, candidate.first + candidate.count):
                    self.marks[(<uint32_t *> self.candidate_names.data)[place]] |= P_OF_CODE
        for each in range(self.of_properties.size):
            row = &self.of_properties.rows[each]
            if row.key == 0:
                continue
            type = counts_find(&self.of_classes, 1 + ((row.key - 1) >> 32))
            if type == NULL:
                continue
            if (type.second <= MOST_ATTRIBUTES and (type.first < LEAST_OBJECTS or type.second <= 2 * type.third)) or (
                    type.first >= LEAST_OBJECTS and 2 * <uint64_t> row.first >= type.first):
                self.marks[(row.key - 1) & 0xFFFFFFFFu] |= P_OF_CODE

    def take_owners(self) -> Buffer:
        """Move out what each object is, as bits (``uint8``)."""
        return column_of(&self.owners, b"B")

    def take_names(self) -> Buffer:
        """Move out the number of each object's name (``uint32``)."""
        return column_of(&self.owner_names, b"I")

    cdef int note(self, const Field *row) noexcept nogil:
        cdef int field, kind = self.kind_of(row)
        cdef uint8_t use, shared = 0
        if kind < 0:
            return -1
        if self.cuts_shared and self.is_element(kind, row):
            # its index isn't written
            kind |= K_INDEX
            self.elements += 1
            self.most_elements = max(self.most_elements, self.elements)
        for field in range(self.fields):
            if self.roles[field] == R_NAME and not kind & K_INDEX:
                if row[field].is_negative or row[field].value >= <uint64_t> self.uses.shape[0]:
                    return self.fail(E_TOO_LARGE, row[field].begin)
                use = self.uses[row[field].value]
                if kind & K_TEXT and use & U_SHORT:
                    shared = 1
                elif kind & K_ODDBALL and use & U_CONSTANT:
                    shared = 2
                use |= kind & (K_USE | K_DECLARES)
                if kind & K_CLASS:
                    use |= U_CLASS
                self.uses[row[field].value] = use
            elif self.roles[field] == R_TARGET:
                if row[field].is_negative or row[field].value % self.width or (
                        row[field].value >= self.width * self.nodes):
                    return self.fail(E_NO_NODE, row[field].begin)
                if self.cuts_shared:
                    self.note_shared(row[field].value // self.width)
            elif self.roles[field] == R_ID and self.noted_ids.shape[0] and (
                    self.noted_ids[row[field].value % <uint64_t> self.noted_ids.shape[0]]):
                if vector_push(&self.ids, &row[field].value) < 0 or vector_push(&self.ids, &self.rows) < 0:
                    return self.fail(E_NO_MEMORY, row[field].begin)
            elif self.roles[field] == R_EDGES:
                if row[field].is_negative or row[field].value >= NO_NODE_YET:
                    return self.fail(E_TOO_LARGE, row[field].begin)
                if vector_push_u32(&self.counts, <uint32_t> row[field].value) < 0:
                    return self.fail(E_NO_MEMORY, row[field].begin)
        if self.notes_edges and vector_push(&self.shared, &shared) < 0:
            return self.fail(E_NO_MEMORY, row[0].begin)
        return 0

    cdef inline bint is_element(self, int kind, const Field *row) noexcept nogil:
        """Return whether an edge leads to an element of one of the engine's arrays, which is called by a number."""
        return kind & K_MOVES and self.is_numbered(row)

    cdef inline void note_shared(self, uint64_t node) noexcept nogil:
        """Count a reference to what stands for several in the copy, or does if the string's text is a name."""
        cdef uint8_t kind = self.shared_kind(node)
        if kind == S_TEXT_TOO:
            self.references[self.names[node]] += 1
        elif kind:
            self.redirected += 1

    cdef inline bint is_of_structure(self) noexcept nogil:
        """Return whether the object whose edges are gone through has names, and no values."""
        return 0 <= self.owner < self.judged.shape[0] and self.judged[self.owner] & J_STRUCTURE

    def take_edge_counts(self) -> Buffer:
        """Move out the number of edges of each object (``uint32``)."""
        return column_of(&self.counts, b"I")

    def take_shared(self) -> Buffer:
        """Move out, for each object, 1 if it is a string of no more than one character, 2 if a constant, else 0."""
        return column_of(&self.shared, b"B")

    def take_ids(self) -> Buffer:
        """Move out the ids that were noted, each with the number of its object (pairs of ``uint64``)."""
        return column_of(&self.ids, b"Q")

    def write(self, size_t start, const uint32_t[::1] names, const uint32_t[::1] contents, uint32_t short):
        """Begin to write at ``start``; ``names`` has the number of each string in the copy, and ``contents`` that for
        objects with it as a content.

        Those with no more than one character get the number ``short``, if there is such a text, else 2**32 - 1: they
        stand in the order of their characters.
        """
        if names.shape[0] != self.uses.shape[0] or contents.shape[0] != self.uses.shape[0]:
            raise ValueError("columns of different lengths")
        self.position = start + 1
        self.new_names, self.new_contents, self.short = names, contents, short
        self.is_writing_first = True
        self.owner, self.left_of_owner, self.next_index = -1, 0, 0

    def move(
        self, const uint32_t[::1] places, const uint64_t[::1] new_ids, const uint8_t[::1] hidden,
        const uint32_t[::1] numerals, const uint32_t[::1] ranks,
    ):
        """Write each object at one of the ``places``, with its new id, if there are any, else one by its place. Strings
        with a ``hidden`` text, by which they would be known, are all given that of the shortest. What is numbered by a
        text is called by these ``numerals``, and properties are in the order of their names' ``ranks``.
        """
        if places.shape[0] != <Py_ssize_t> max(self.nodes, self.rows if self.notes_edges else 0) or (
                new_ids.shape[0] and new_ids.shape[0] != places.shape[0]) or (
                hidden.shape[0] != self.uses.shape[0] or ranks.shape[0] != self.uses.shape[0]):
            raise ValueError("columns of different lengths")
        self.places, self.new_ids, self.hidden, self.numerals, self.ranks = places, new_ids, hidden, numerals, ranks
        random_begin(&self.random, os.urandom(KEY_BYTES))

    def cut_names(self, are_names: Mask):
        """Let what leads to a string of which ``are_names`` has the text lead to the first one. Called after the rows
        have been gone through.
        """
        self.redirected += int(are_names.astype("uint64") @ self.references)

    def cut_shared(
        self, const uint32_t[::1] edge_counts, uint8_t[::1] are_shared, uint32_t[::1] references,
    ):
        """Number the elements of each object from 0, and let what leads to one of the shared lead to the same of them.

        Called before the rows are gone through, so that ``redirected`` is how many references that are; but for those
        to strings, which are counted in ``references`` for each text.
        """
        cdef Py_ssize_t each
        cdef uint64_t[SHARED_KINDS] counts
        if edge_counts.shape[0] != are_shared.shape[0] or references.shape[0] != self.uses.shape[0]:
            raise ValueError("columns of different lengths")
        random_begin(&self.random, os.urandom(KEY_BYTES))
        for each in range(SHARED_KINDS):
            self.one_shared[each], counts[each] = NO_NODE_YET, 0
        for each in range(are_shared.shape[0]):
            if 0 < are_shared[each] < SHARED_KINDS:
                # any of them: which comes first in the file may depend on values
                counts[are_shared[each]] += 1
                if random_below(&self.random, counts[are_shared[each]]) == 0:
                    self.one_shared[are_shared[each]] = <uint32_t> each
        if self.one_shared[S_SHORT_TEXT] == NO_NODE_YET:
            self.one_shared[S_SHORT_TEXT] = self.one_shared[S_TEXT_TOO]
        self.references = references
        self.edge_counts, self.are_shared, self.cuts_shared = edge_counts, are_shared, True

    def fill(self, uint8_t[::1] out: bytearray) -> int:
        """Write the rows that come next, and return how many bytes that is; 0 at the end, or if ``needed`` isn't 0."""
        cdef size_t done = 0
        cdef int status
        if self.new_names is None:
            raise ValueError("writing has not begun")
        self.needed = 0
        with nogil:
            status = self.write_rows(&out[0], out.shape[0], &done)
        if status < 0:
            raise ValueError("the rows have not been read before")
        return done

    cdef int write_rows(self, uint8_t *out, size_t room, size_t *count) noexcept nogil:
        cdef Field row[MOST_FIELDS]
        cdef size_t at, done = 0, most = <size_t> self.fields * (MOST_DIGITS + 3) + 2
        cdef int status
        while True:
            count[0] = done
            if room - done < most:
                self.needed = 0 if done else most
                return 0
            at = self.position
            status = self.read_row(&at, row)
            if status <= 0:
                return status
            if not self.is_writing_first:
                out[done], out[done + 1] = 0x2C, 0x0A
                done += 2
            self.is_writing_first = False
            status = self.write_row(row, out + done)
            if status < 0:
                return -1
            done += status
            self.position = at

    cdef int write_row(self, const Field *row, uint8_t *out) noexcept nogil:
        """Write a row without the comma after it, and return its bytes; -1 if it isn't what it was before."""
        cdef int field, kind = self.kind_of(row), done = 0
        cdef uint64_t value
        cdef uint8_t role
        if kind < 0:
            return -1
        for field in range(self.fields):
            role, value = self.roles[field], row[field].value
            if field:
                out[done] = 0x2C
                done += 1
            if role == R_ZERO or (role == R_STATE and value >= MOST_STATE):
                out[done] = 0x30
                done += 1
            elif role == R_NAME and not kind & K_INDEX and value >= <uint64_t> self.new_names.shape[0]:
                return -1
            elif role == R_NAME and not kind & K_INDEX:
                done += put_number(self.name_of(kind, value), out + done)
            elif self.places.shape[0] and role == R_ID:
                done += put_number(self.new_ids[self.next_row] if self.new_ids.shape[0]
                                   else 2 * <uint64_t> self.places[self.next_row] + 1, out + done)
            elif self.places.shape[0] and role == R_TARGET:
                if value // self.width >= <uint64_t> self.places.shape[0]:
                    return -1
                done += put_number(self.width * self.places[value // self.width], out + done)
            else:
                done += self.put_digits(&row[field], out + done)
        return done

    cdef uint64_t name_of(self, int kind, uint64_t name) noexcept nogil:
        """Return the string in the copy that has a row's name, which is one."""
        if kind & K_TEXT and self.short != NO_TEXT and (
                self.uses[name] & U_SHORT or (self.hidden.shape[0] and self.hidden[name])):
            return self.short
        if kind & K_VALUE or (kind & K_CLASS and not self.uses[name] & U_DECLARED):
            return self.new_contents[name]
        return self.new_names[name]

    cdef int next_piece(self) noexcept nogil:
        """Write a row, or some edges of an object. Returns 1; 0 at the end; -2 for want of memory; -3 for other rows
        than were read before.
        """
        cdef Field row[MOST_FIELDS]
        cdef size_t most = <size_t> self.fields * (MOST_DIGITS + 3) + 2
        cdef uint64_t node
        cdef int status
        if vector_reserve(&self.piece, PIECE_EDGES * most) < 0:
            return -2
        if self.cuts_shared:
            if self.next_edge == self.own_edges.count:
                status = self.read_edges()
                if status <= 0:
                    return status
            self.piece_place = self.places[self.owner]
            for _ in range(PIECE_EDGES):
                if self.next_edge == self.own_edges.count:
                    break
                self.write_edge(&(<Edge *> self.own_edges.data)[self.next_edge])
                self.next_edge += 1
            return 1
        status = self.read_row(&self.position, row)
        if status <= 0:
            return -3 if status else 0
        node = self.next_row if self.notes_edges else row[self.target_field].value // self.width
        if node >= <uint64_t> self.places.shape[0]:
            return -3
        self.piece.data[0], self.piece.data[1] = 0x2C, 0x0A
        status = self.write_row(row, self.piece.data + 2)
        if status < 0:
            return -3
        self.piece.count = status + 2
        self.piece_place = self.places[node]
        self.next_row += 1
        return 1

    cdef int read_edges(self) noexcept nogil:
        """Read those of the next object that has any, and draw their order. Returns as ``next_piece``."""
        cdef Field row[MOST_FIELDS]
        cdef Edge edge
        cdef Edge *edges
        cdef size_t each, other
        cdef int status, kind
        cdef uint64_t node
        self.own_edges.count = self.next_edge = 0
        self.next_index = 0
        while True:
            status = self.read_row(&self.position, row)
            if status < 0 or (status == 0 and self.own_edges.count):
                return -3
            if status == 0:
                return 0
            self.next_owner()
            kind = self.kind_of(row)
            node = row[self.target_field].value // self.width
            if kind < 0 or not 0 <= self.owner < self.places.shape[0] or node >= <uint64_t> self.places.shape[0]:
                return -3
            edge.target = self.places[self.shared_of(node)]
            edge.type = <uint32_t> row[self.type_field].value
            edge.name = <uint32_t> row[self.name_field].value
            if self.is_element(kind, row):
                edge.name = NO_NODE_YET
            elif not kind & K_INDEX:
                if edge.name >= <uint64_t> self.new_names.shape[0]:
                    return -3
                edge.rank = self.ranks[edge.name]
                edge.name = <uint32_t> self.name_of(kind, edge.name)
            if self.own_edges.count == self.own_edges.room and (
                    vector_reserve(&self.own_edges, self.own_edges.count + 1) < 0):
                return -2
            (<Edge *> self.own_edges.data)[self.own_edges.count] = edge
            self.own_edges.count += 1
            if self.left_of_owner == 0:
                break
        edges = <Edge *> self.own_edges.data
        for each in range(1, self.own_edges.count):
            # of more than 2^32 the last ones stay near their places
            other = <size_t> random_below(&self.random, min(each + 1, <size_t> 0xFFFFFFFF))
            edges[each], edges[other] = edges[other], edges[each]
        # the same one for all objects: types are called by it
        other = 0
        for each in range(self.own_edges.count):
            if self.kinds[edges[each].type] & K_ODDBALL:
                edges[each], edges[other] = edges[other], edges[each]
                other += 1
        if other > FEW_EDGES:
            qsort(edges, other, sizeof(Edge), by_rank)
        else:
            sort_few(edges, other)
        return 1

    cdef inline void write_edge(self, const Edge *edge) noexcept nogil:
        """Append an edge to the piece, which has room for it."""
        cdef uint8_t *out = self.piece.data + self.piece.count
        cdef int field, kind = self.kinds[edge.type], done = 2
        cdef uint64_t[ROLES] values
        values[R_ZERO], values[R_TYPE], values[R_TARGET] = 0, edge.type, self.width * edge.target
        if kind & K_INDEX:
            values[R_NAME] = self.next_index
        elif edge.name == NO_NODE_YET:
            values[R_NAME] = self.numerals[min(self.next_index, <uint64_t> self.numerals.shape[0] - 1)]
        else:
            values[R_NAME] = edge.name
        if kind & K_INDEX or edge.name == NO_NODE_YET:
            self.next_index += 1
        out[0], out[1] = 0x2C, 0x0A
        for field in range(self.fields):
            if field:
                out[done] = 0x2C
                done += 1
            done += put_number(values[self.roles[field]], out + done)
        self.piece.count += done

    cdef inline int put_digits(self, const Field *field, uint8_t *out) noexcept nogil:
        """Write a number as it is in the file; 0 for one that has too many digits for what it stands for."""
        cdef size_t digits = field.after - field.begin
        if digits > MOST_KEPT:
            out[0] = 0x30
            return 1
        if digits <= 8 and field.begin + 8 <= self.length:
            # there is room for more than the longest number
            memcpy(out, self.data + field.begin, 8)
        else:
            memcpy(out, self.data + field.begin, digits)
        return <int> digits

    cdef inline uint8_t shared_kind(self, uint64_t node) noexcept nogil:
        """Return what an object is that an edge leads to, if it shares its place in the copy with others, else 0."""
        cdef uint8_t kind
        if node >= <uint64_t> self.are_shared.shape[0]:
            return 0
        kind = self.are_shared[node]
        if kind >= SHARED_KINDS or ((kind == S_TEXT_TOO or kind == S_SYMBOL) and self.is_of_structure()):
            return 0
        return kind

    cdef inline uint64_t shared_of(self, uint64_t node) noexcept nogil:
        """Return the object that an edge leads to in the copy, by its number in the file."""
        cdef uint8_t kind = self.shared_kind(node)
        return self.one_shared[S_SHORT_TEXT if kind == S_TEXT_TOO else kind] if kind else node

    cdef inline void next_owner(self) noexcept nogil:
        """Go on to the object whose edge is next."""
        while self.left_of_owner == 0 and self.owner + 1 < self.edge_counts.shape[0]:
            self.owner += 1
            self.left_of_owner = self.edge_counts[self.owner]
            self.elements = 0
        if self.left_of_owner:
            self.left_of_owner -= 1


cdef inline int by_rank(const void *one, const void *other) noexcept nogil:
    cdef uint32_t rank = (<const Edge *> one).rank, after = (<const Edge *> other).rank
    if rank == after:
        rank, after = (<const Edge *> one).name, (<const Edge *> other).name
    return (rank > after) - (rank < after)


cdef inline void sort_few(Edge *edges, size_t count) noexcept nogil:
    """Sort edges by rank; for as many as most objects have, this takes less time than ``qsort``."""
    cdef size_t each, place
    cdef Edge edge
    for each in range(1, count):
        edge, place = edges[each], each
        while place and by_rank(&edges[place - 1], &edge) > 0:
            edges[place] = edges[place - 1]
            place -= 1
        edges[place] = edge


cdef inline uint64_t pair_of(uint64_t one, uint64_t other) noexcept nogil:
    """Return a key for two objects; it isn't 0, as there are fewer than 2^32."""
    return (one << 32) + other + 1


cdef inline int put_number(uint64_t number, uint8_t *out) noexcept nogil:
    """Write a number, and return its digits. There is room for eight bytes or as many as it has."""
    cdef uint64_t high, pairs
    cdef int done = 0, zeros
    if number < 10:
        out[0] = <uint8_t> (0x30 + number)
        return 1
    if number >= 100_000_000:
        done = put_number(number // 100_000_000, out)
        number %= 100_000_000
    # all digits at once, as ``short_number`` reads them: two numbers below 10,000, four below 100, eight below 10
    high = number // 10_000
    pairs = high | (number - 10_000 * high) << 32
    high = (pairs * 10_486 >> 20) & <uint64_t> 0x0000007F0000007F
    pairs = high | (pairs - 100 * high) << 16
    high = (pairs * 103 >> 10) & <uint64_t> 0x000F000F000F000F
    pairs = high | (pairs - 10 * high) << 8
    zeros = 0 if done else lowest_bit(pairs) >> 3
    pairs = (pairs | <uint64_t> 0x3030303030303030) >> 8 * zeros
    memcpy(out + done, &pairs, 8)
    return done + 8 - zeros


cdef class Trace(ArrayReader):
    """Goes through the nested arrays of an allocation trace, of which each node has ``fields`` with the children last,
    and then writes them.
    """

    cdef uint32_t fields
    cdef Vector filled          # of each array that is open, how many items have been read
    cdef uint8_t last           # the first byte of what was written last
    cdef readonly uint64_t needed

    def __cinit__(self, const uint8_t[::1] data: Buffer, size_t start, size_t end, uint32_t fields):
        if fields < 2:
            raise ValueError("a node has a number and children")
        self.fields = fields
        self.own(&self.filled, 4)
        if vector_push_u32(&self.filled, 0) < 0:
            raise MemoryError

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t begin = 0, after = 0
        cdef int status
        while self.position < limit:
            status = self.token(&begin, &after)
            if status < 0 or (status == 0 and (
                    self.filled.count != 1 or (<uint32_t *> self.filled.data)[0] % self.fields)):
                return self.fail(E_SYNTAX, self.position)
            if status == 0:
                return E_OK
        return E_MORE

    cdef int token(self, size_t *begin, size_t *after) noexcept nogil:
        """Read a number or a bracket where the rules have one. Returns 1; 0 at the end; -1 for anything else."""
        cdef const uint8_t *data = self.data
        cdef size_t at = self.position
        cdef uint32_t *filled = <uint32_t *> self.filled.data + (self.filled.count - 1)
        cdef bint is_for_children = filled[0] % self.fields == self.fields - 1
        while at < self.end and (data[at] == 0x2C or is_blank(data[at])):
            at += 1
        self.position = begin[0] = at
        if at >= self.end:
            return 0
        if data[at] == 0x5D:
            if self.filled.count == 1 or filled[0] % self.fields:
                return -1
            self.filled.count -= 1
            at += 1
        elif is_for_children:
            if data[at] != 0x5B:
                return -1
            filled[0] += 1
            if vector_push_u32(&self.filled, 0) < 0:
                return -1
            at += 1
        else:
            while at < self.end and 0x30 <= data[at] <= 0x39:
                at += 1
            if at == begin[0] or at - begin[0] > MOST_DIGITS:
                return -1
            filled[0] += 1
        self.position = after[0] = at
        return 1

    def write(self, size_t start):
        """Begin to write at ``start``."""
        self.position = start + 1
        self.filled.count = 1
        (<uint32_t *> self.filled.data)[0] = 0
        self.last = 0x5B

    def fill(self, uint8_t[::1] out: bytearray) -> int:
        """Write what comes next, and return how many bytes that is; 0 at the end."""
        cdef size_t done = 0, begin = 0, after = 0, room = out.shape[0]
        self.needed = 0
        with nogil:
            while room - done > MOST_DIGITS + 1 and self.token(&begin, &after) > 0:
                # a comma before all but the first item of an array
                if self.last != 0x5B and self.data[begin] != 0x5D:
                    out[done] = 0x2C
                    done += 1
                if after - begin > MOST_KEPT:
                    out[done] = 0x30
                    done += 1
                else:
                    memcpy(&out[done], self.data + begin, after - begin)
                    done += after - begin
                self.last = self.data[begin]
        return done
