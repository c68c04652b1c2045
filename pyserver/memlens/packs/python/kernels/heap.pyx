# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads Python heap dumps directly into columns: Memlens' own, and the objects in those of PyHeap.

:class:`Dump` scans the records that ``memlens/dump.py`` writes (docs/python-heap.md), :class:`PyHeap` the objects of a
``.pyheap``. Both fill the columns of :class:`Heap`, whose :meth:`Heap.link` turns addresses into numbers. A record that
extends beyond the end of the file ends the reading, and sets ``is_cut``.
"""

import os
from array import array

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal,
)
from memlens.kernels.base.ascending cimport is_among
from memlens.kernels.base.vectors cimport (
    Column, Vector, column_of, vector_extend, vector_free, vector_init, vector_push, vector_push_u32,
)
from memlens.kernels.readers.numbers cimport le32_at, le64_at, u32_at, u64_at
from memlens.kernels.readers.scan cimport Scan

OK, MORE, NO_MEMORY, BAD_RECORD, BAD_NUMBER = range(5)

REFERENCE, KEY, VALUE, ITEM, ATTRIBUTE, ELEMENT = range(6)
"""Kinds of references, in the order of ``KINDS`` in ``objects.py``."""

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY
    E_BAD_RECORD
    E_BAD_NUMBER

cdef enum:
    K_REFERENCE
    K_KEY
    K_VALUE
    K_ITEM
    K_ATTRIBUTE
    K_ELEMENT

cdef enum:
    MOST_OBJECTS = 0xFFFFFFF0
    MOST_TEXT = 1 << 20
    MOST_NAMED = 4096       # referents of an object that attributes are looked for among, and attributes that are found

cdef uint64_t MOST_BYTES = <uint64_t> 1 << 48
cdef uint32_t NONE = 0xFFFFFFFF


cdef class Heap(Scan):
    """The columns of a dump's objects."""

    cdef readonly bint is_cut
    cdef readonly uint64_t dangling, duplicates
    cdef bint linked
    # an item for each object
    cdef Vector address, type, shallow, name, stack, place, starts
    # an item for each reference; the name of a dict's value is the address of its key
    cdef Vector target, kind, ref_name
    cdef Vector texts, text_ends
    cdef Vector linked_target, linked_kind, linked_name, linked_starts
    cdef Vector label_address, label_text
    cdef Vector root_address

    def __cinit__(self, const uint8_t[::1] data, *_):
        cdef uint64_t zero = 0
        self.own(&self.address, 8)
        self.own(&self.type, 8)
        self.own(&self.shallow, 8)
        self.own(&self.name, 4)
        self.own(&self.stack, 4)
        self.own(&self.place, 4)
        self.own(&self.starts, 8)
        self.own(&self.target, 8)
        self.own(&self.kind, 1)
        self.own(&self.ref_name, 8)
        self.own(&self.texts, 1)
        self.own(&self.text_ends, 8)
        self.own(&self.linked_target, 4)
        self.own(&self.linked_kind, 1)
        self.own(&self.linked_name, 4)
        self.own(&self.linked_starts, 8)
        self.own(&self.label_address, 8)
        self.own(&self.label_text, 4)
        self.own(&self.root_address, 8)
        if vector_push(&self.text_ends, &zero) < 0:
            raise MemoryError

    cdef inline size_t left(self) noexcept nogil:
        return self.length - self.position

    cdef int add_object(
        self, uint64_t address, uint64_t kind, uint64_t size, uint32_t name, uint32_t stack, uint32_t place
    ) noexcept nogil:
        cdef uint64_t start = self.target.count
        if self.address.count >= MOST_OBJECTS:
            return E_NO_MEMORY
        if size >= MOST_BYTES:
            return E_BAD_NUMBER
        if (vector_push(&self.address, &address) < 0 or vector_push(&self.type, &kind) < 0
                or vector_push(&self.shallow, &size) < 0 or vector_push_u32(&self.name, name) < 0
                or vector_push_u32(&self.stack, stack) < 0 or vector_push_u32(&self.place, place) < 0
                or vector_push(&self.starts, &start) < 0):
            return E_NO_MEMORY
        return E_OK

    cdef inline int add_reference(self, uint64_t target, uint8_t kind, uint64_t name) noexcept nogil:
        if (vector_push(&self.target, &target) < 0 or vector_push(&self.kind, &kind) < 0
                or vector_push(&self.ref_name, &name) < 0):
            return E_NO_MEMORY
        return E_OK

    cdef int64_t add_text(self, const uint8_t *data, size_t count) noexcept nogil:
        """Append a text and return its number, or -1 if out of memory."""
        cdef uint64_t total
        if vector_extend(&self.texts, data, count) < 0:
            return -1
        total = self.texts.count
        if self.text_ends.count >= NONE - 1 or vector_push(&self.text_ends, &total) < 0:
            return -1
        return <int64_t> self.text_ends.count - 1

    def link(self, const uint64_t[::1] wanted) -> Buffer | None:
        """Turn addresses into numbers of objects: of equal addresses the first; dangling references are dropped.

        Return the numbers of the objects at the ``wanted`` addresses, 0xFFFFFFFF for none; or None if out of memory.
        """
        cdef AddressMap map
        cdef Vector wanted_numbers
        cdef int status
        if self.linked:
            raise ValueError("the objects are linked already")
        self.linked = True
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little")
        address_map_init(&map)
        vector_init(&wanted_numbers, 4)
        with nogil:
            status = self.link_all(&map, seed)
            if status == E_OK:
                status = look_up(&map, &wanted[0] if wanted.shape[0] else NULL, wanted.shape[0], &wanted_numbers)
        address_map_free(&map)
        if status != E_OK:
            vector_free(&wanted_numbers)
            return None
        return column_of(&wanted_numbers, b"I")

    cdef int link_all(self, AddressMap *map, uint64_t seed) noexcept nogil:
        cdef uint64_t *address = <uint64_t *> self.address.data
        cdef uint64_t *start = <uint64_t *> self.starts.data
        cdef uint64_t *target = <uint64_t *> self.target.data
        cdef uint64_t *name = <uint64_t *> self.ref_name.data
        cdef uint64_t *labelled = <uint64_t *> self.label_address.data
        cdef uint32_t *label = <uint32_t *> self.label_text.data
        cdef uint32_t *own_name = <uint32_t *> self.name.data
        cdef size_t count = self.address.count, item, each, end
        cdef int64_t ordinal, key
        cdef uint64_t total = 0
        cdef uint32_t text
        if address_map_build(map, address, count, seed) < 0:
            return E_NO_MEMORY
        for each in range(self.label_address.count):
            ordinal = address_ordinal(map, labelled[each])
            if ordinal >= 0 and own_name[ordinal] == 0:
                own_name[ordinal] = label[each]
        for item in range(count):
            self.duplicates += address_ordinal(map, address[item]) != <int64_t> item
            if vector_push(&self.linked_starts, &total) < 0:
                return E_NO_MEMORY
            end = start[item + 1] if item + 1 < count else self.target.count
            for each in range(start[item], end):
                ordinal = address_ordinal(map, target[each])
                if ordinal < 0:
                    self.dangling += 1
                    continue
                text = <uint32_t> name[each]
                if self.kind.data[each] == K_VALUE:
                    key = address_ordinal(map, name[each])
                    text = own_name[key] if key >= 0 else 0
                if (vector_push_u32(&self.linked_target, <uint32_t> ordinal) < 0
                        or vector_push(&self.linked_kind, self.kind.data + each) < 0
                        or vector_push_u32(&self.linked_name, text) < 0):
                    return E_NO_MEMORY
            total = self.linked_target.count
        return E_NO_MEMORY if vector_push(&self.linked_starts, &total) < 0 else E_OK

    def types(self) -> bytes:
        """Return the address of each object's type. Called before :meth:`take`."""
        cdef size_t count = self.type.count
        return bytes((<const uint8_t *> self.type.data)[:8 * count]) if count else b""

    def text(self, uint64_t number) -> str:
        """Return a text. Called before :meth:`take`. Raises IndexError."""
        cdef uint64_t *ends = <uint64_t *> self.text_ends.data
        if number >= self.text_ends.count:
            raise IndexError(number)
        if number == 0:
            return ""
        return bytes(self.texts.data[ends[number - 1]:ends[number]]).decode("utf-8", "replace")

    def take(self) -> dict[str, Buffer]:
        """Move the columns out by name. Called once, after :meth:`link`."""
        if not self.linked:
            raise ValueError("the objects aren't linked")
        return {
            "address": column_of(&self.address, b"Q"), "type": column_of(&self.type, b"Q"),
            "shallow": column_of(&self.shallow, b"Q"), "name": column_of(&self.name, b"I"),
            "stack": column_of(&self.stack, b"I"), "place": column_of(&self.place, b"I"),
            "start": column_of(&self.linked_starts, b"Q"), "target": column_of(&self.linked_target, b"I"),
            "kind": column_of(&self.linked_kind, b"B"), "reference_name": column_of(&self.linked_name, b"I"),
            "utf8": column_of(&self.texts, b"B"), "text_end": column_of(&self.text_ends, b"Q"),
        }


cdef int look_up(AddressMap *map, const uint64_t *wanted, size_t count, Vector *wanted_numbers) noexcept nogil:
    cdef size_t each
    cdef int64_t number
    for each in range(count):
        number = address_ordinal(map, wanted[each])
        if vector_push_u32(wanted_numbers, NONE if number < 0 else <uint32_t> number) < 0:
            return E_NO_MEMORY
    return E_OK


cdef class Dump(Heap):
    """Scans the records of Memlens' own dumps, from the byte ``start`` on."""

    cdef readonly bint is_whole
    cdef readonly uint64_t recorded_objects
    cdef Vector frames, stacks, stack_frames, kinds, roots, notes, activations, activation_thread

    def __init__(self, const uint8_t[::1] data: Buffer, size_t start):
        cdef uint64_t zero = 0
        if start > self.length:
            raise ValueError("no records")
        self.position = start
        self.own(&self.frames, 12)
        self.own(&self.stacks, 8)
        self.own(&self.stack_frames, 4)
        self.own(&self.kinds, 16)
        self.own(&self.roots, 16)
        self.own(&self.activations, 12)
        self.own(&self.activation_thread, 8)
        self.own(&self.notes, 8)
        # stack 0 is empty
        if vector_push(&self.stacks, &zero) < 0 or vector_push(&self.stacks, &zero) < 0:
            raise MemoryError

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t record
        cdef int status
        while not self.is_whole:
            record = self.position
            if record >= limit and self.left() > 0:
                return E_MORE
            status = self.read_record() if self.left() > 0 else E_MORE
            if status == E_MORE:
                # the record is incomplete
                self.is_cut = True
                return E_OK
            if status != E_OK:
                return self.fail(status, record)
        return E_OK

    cdef int read_record(self) noexcept nogil:
        """Read a record. Returns E_MORE, and keeps nothing of it, if the file ends within it."""
        cdef const uint8_t *data = self.data + self.position
        cdef size_t left = self.left()
        cdef uint8_t tag = data[0]
        cdef uint64_t count, end, address
        cdef uint32_t pair[4]
        cdef size_t each
        if tag == c"O":
            if left < 37:
                return E_MORE
            if not self.is_text(le32_at(data + 25)) or le32_at(data + 29) > self.stacks.count - 2:
                return E_BAD_NUMBER
            if le32_at(data + 33) != NONE and le32_at(data + 33) >= self.frames.count:
                return E_BAD_NUMBER
            self.position += 37
            return self.add_object(
                le64_at(data + 1), le64_at(data + 9), le64_at(data + 17), le32_at(data + 25), le32_at(data + 29),
                le32_at(data + 33),
            )
        if tag == c"r" or tag == c"i" or tag == c"e" or tag == c"d" or tag == c"n":
            return self.read_group(data, left, tag)
        if tag == c"S":
            if left < 5:
                return E_MORE
            count = le32_at(data + 1)
            if count > MOST_TEXT:
                return E_BAD_NUMBER
            if left - 5 < count:
                return E_MORE
            self.position += 5 + count
            return E_OK if self.add_text(data + 5, count) >= 0 else E_NO_MEMORY
        if tag == c"L":
            if left < 13:
                return E_MORE
            address = le64_at(data + 1)
            if not self.is_text(le32_at(data + 9)):
                return E_BAD_NUMBER
            self.position += 13
            if vector_push(&self.label_address, &address) < 0:
                return E_NO_MEMORY
            if vector_push_u32(&self.label_text, le32_at(data + 9)) < 0:
                return E_NO_MEMORY
            return E_OK
        if tag == c"F":
            if left < 13:
                return E_MORE
            pair[0], pair[1], pair[2] = le32_at(data + 1), le32_at(data + 5), le32_at(data + 9)
            if not self.is_text(pair[0]) or not self.is_text(pair[1]):
                return E_BAD_NUMBER
            self.position += 13
            return E_OK if vector_push(&self.frames, pair) >= 0 else E_NO_MEMORY
        if tag == c"K":
            if left < 5:
                return E_MORE
            count = le32_at(data + 1)
            if (left - 5) // 4 < count:
                return E_MORE
            for each in range(count):
                if le32_at(data + 5 + 4 * each) == NONE:
                    continue
                if le32_at(data + 5 + 4 * each) >= self.frames.count:
                    return E_BAD_NUMBER
                if vector_push_u32(&self.stack_frames, le32_at(data + 5 + 4 * each)) < 0:
                    return E_NO_MEMORY
            end = self.stack_frames.count
            self.position += 5 + 4 * count
            return E_OK if vector_push(&self.stacks, &end) >= 0 else E_NO_MEMORY
        if tag == c"T":
            if left < 17:
                return E_MORE
            address = le64_at(data + 1)
            pair[2], pair[3] = le32_at(data + 9), le32_at(data + 13)
            if not self.is_text(pair[2]) or not self.is_text(pair[3]):
                return E_BAD_NUMBER
            memcpy(pair, &address, 8)
            self.position += 17
            return E_OK if vector_push(&self.kinds, pair) >= 0 else E_NO_MEMORY
        if tag == c"G":
            if left < 21:
                return E_MORE
            address = le64_at(data + 1)
            pair[0], pair[1], pair[2] = le32_at(data + 9), le32_at(data + 13), le32_at(data + 17)
            if not self.is_text(pair[0]) or not self.is_text(pair[1]):
                return E_BAD_NUMBER
            if pair[2] != NONE and pair[2] >= self.frames.count:
                return E_BAD_NUMBER
            pair[3] = self.activations.count - 1 if self.activations.count else NONE
            self.position += 21
            if vector_push(&self.root_address, &address) < 0 or vector_push(&self.roots, pair) < 0:
                return E_NO_MEMORY
            return E_OK
        if tag == c"A":
            if left < 21:
                return E_MORE
            address = le64_at(data + 1)
            pair[0], pair[1], pair[2] = le32_at(data + 9), le32_at(data + 13), le32_at(data + 17)
            if not self.is_text(pair[0]) or (pair[2] != NONE and pair[2] >= self.frames.count):
                return E_BAD_NUMBER
            self.position += 21
            if vector_push(&self.activation_thread, &address) < 0 or vector_push(&self.activations, pair) < 0:
                return E_NO_MEMORY
            return E_OK
        if tag == c"N":
            if left < 9:
                return E_MORE
            pair[0], pair[1] = le32_at(data + 1), le32_at(data + 5)
            if not self.is_text(pair[0]) or not self.is_text(pair[1]):
                return E_BAD_NUMBER
            self.position += 9
            return E_OK if vector_push(&self.notes, pair) >= 0 else E_NO_MEMORY
        if tag == c"E":
            if left < 9:
                return E_MORE
            self.recorded_objects = le64_at(data + 1)
            self.position += 9
            self.is_whole = True
            return E_OK
        return E_BAD_RECORD

    cdef inline bint is_text(self, uint32_t number) noexcept nogil:
        return number < self.text_ends.count

    cdef int read_group(self, const uint8_t *data, size_t left, uint8_t tag) noexcept nogil:
        """Read a group of references of the last object."""
        cdef uint64_t count, each, target
        cdef const uint8_t *names
        cdef uint32_t name
        cdef int status = E_OK
        if left < 5:
            return E_MORE
        count = le32_at(data + 1)
        if (left - 5) // (12 if tag == c"n" else 8) < count:
            return E_MORE
        if self.address.count == 0 or (tag == c"d" and count % 2):
            return E_BAD_RECORD
        names = data + 5 + 8 * count
        data += 5
        if tag == c"n":
            for each in range(count):
                if not self.is_text(le32_at(names + 4 * each)):
                    return E_BAD_NUMBER
        for each in range(count):
            target = le64_at(data + 8 * each)
            if tag == c"n":
                name = le32_at(names + 4 * each)
                status = self.add_reference(target, K_ATTRIBUTE if name else K_REFERENCE, name)
            elif tag == c"i":
                status = self.add_reference(target, K_ITEM, each)
            elif tag == c"d":
                if each % 2:
                    status = self.add_reference(target, K_VALUE, le64_at(data + 8 * (each - 1)))
                else:
                    status = self.add_reference(target, K_KEY, 0)
            else:
                status = self.add_reference(target, K_ELEMENT if tag == c"e" else K_REFERENCE, 0)
            if status != E_OK:
                return status
        self.position += 5 + count * (12 if tag == c"n" else 8)
        return E_OK

    def tables(self) -> dict[str, Buffer]:
        """Move out frames (file, function, line), the ends of stacks and their frames, types (address, name, module),
        roots (kind, detail, frame, activation) with their addresses, activations (name of the thread, depth, frame)
        with the threads' addresses, and notes (key, value), with texts as numbers. Called once.
        """
        return {
            "frames": triples(&self.frames, 12), "stack_ends": column_of(&self.stacks, b"Q"),
            "stack_frames": column_of(&self.stack_frames, b"I"), "types": column_of(&self.kinds, b"T{Q:a:I:b:I:c:}"),
            "activations": triples(&self.activations, 12),
            "activation_thread": column_of(&self.activation_thread, b"Q"),
            "roots": triples(&self.roots, 16), "root_address": column_of(&self.root_address, b"Q"),
            "notes": triples(&self.notes, 8),
        }


cdef Column triples(Vector *vector, size_t item_bytes):
    """Move out a vector of rows of 32-bit numbers as one column of all these numbers."""
    vector.count *= item_bytes // 4
    vector.room *= item_bytes // 4
    vector.item_bytes = 4
    return column_of(vector, b"I")


cdef class PyHeap(Heap):
    """Scans ``count`` objects of a ``.pyheap`` from the byte ``start`` on, or with ``ends_early`` up to the file's end.

    ``containers`` has the addresses of dict, list, set and tuple, ``common``, ascending, those of the types without
    attributes, and ``frequent`` the names of attributes that the file abbreviates, as numbers of texts.
    """

    cdef uint64_t count, done
    cdef size_t frequent_count
    cdef uint64_t dict_type, list_type, set_type, tuple_type
    cdef const uint64_t[::1] common
    cdef const uint32_t[::1] frequent
    cdef bint has_texts, ends_early
    cdef Vector attribute_address, attribute_name

    def __init__(
        self, const uint8_t[::1] data: Buffer, size_t start, uint64_t count, containers: Sequence[int],
        const uint64_t[::1] common, frequent: Sequence[str], bint has_texts, bint ends_early,
    ):
        if start > self.length:
            raise ValueError("no objects")
        self.position = start
        self.count = count
        self.dict_type, self.list_type, self.set_type, self.tuple_type = containers
        self.common = common
        self.has_texts = has_texts
        self.ends_early = ends_early
        self.own(&self.attribute_address, 8)
        self.own(&self.attribute_name, 4)
        numbers = []
        for text in frequent:
            raw = text.encode("utf-8", "replace")
            numbers.append(self.add_text(<const uint8_t *> <const char *> raw, len(raw)))
        # a memoryview needs at least one item
        self.frequent = array("I", [*numbers, 0])[:]
        self.frequent_count = len(numbers)

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef int status
        while self.ends_early or self.done < self.count:
            if self.position >= limit and self.left() > 0:
                return E_MORE
            if self.ends_early and self.left() == 0:
                return E_OK
            status = self.read_object()
            if status == E_MORE or (status != E_OK and status != E_NO_MEMORY and self.ends_early):
                self.is_cut = True
                return E_OK
            if status != E_OK:
                return self.fail(status, self.position)
            self.done += 1
        return E_OK

    cdef int read_object(self) noexcept nogil:
        """Read an object. Returns E_MORE, and keeps nothing of it, if the file ends within it."""
        cdef const uint8_t *data = self.data
        cdef size_t at = self.position, whole = self.length
        cdef uint64_t address, kind, size
        cdef size_t content = 0, content_at = 0, referents, referents_at, each, texts = self.texts.count
        cdef size_t ends = self.text_ends.count
        cdef bint is_dict, is_container
        cdef size_t length
        cdef uint32_t name = 0
        cdef int64_t number
        cdef int status
        if whole - at < 20:
            return E_MORE
        address, kind, size = u64_at(data + at), u64_at(data + at + 8), u32_at(data + at + 16)
        at += 20
        is_dict = kind == self.dict_type
        is_container = is_dict or kind == self.list_type or kind == self.set_type or kind == self.tuple_type
        if is_container:
            if whole - at < 4:
                return E_MORE
            content = <size_t> u32_at(data + at) * (2 if is_dict else 1)
            content_at = at + 4
            at += 4
            if (whole - at) // 8 < content:
                return E_MORE
            at += 8 * content
        if whole - at < 4:
            return E_MORE
        referents = u32_at(data + at)
        referents_at = at + 4
        at += 4
        if (whole - at) // 8 < referents:
            return E_MORE
        at += 8 * referents
        self.attribute_address.count = self.attribute_name.count = 0
        if not is_among(&self.common[0], self.common.shape[0], kind):
            status = self.read_attributes(&at, referents_at, referents)
            if status != E_OK:
                self.texts.count, self.text_ends.count = texts, ends
                return status
        if self.has_texts and not is_container:
            if whole - at < 2:
                self.texts.count, self.text_ends.count = texts, ends
                return E_MORE
            length = <size_t> data[at] << 8 | data[at + 1]
            if whole - at - 2 < length:
                self.texts.count, self.text_ends.count = texts, ends
                return E_MORE
            if length:
                number = self.add_text(data + at + 2, length)
                if number < 0:
                    return E_NO_MEMORY
                name = <uint32_t> number
            at += 2 + length
        status = self.add_object(address, kind, size, name, 0, NONE)
        for each in range(content):
            if status != E_OK:
                return status
            if not is_dict:
                status = self.add_reference(
                    u64_at(data + content_at + 8 * each), K_ELEMENT if kind == self.set_type else K_ITEM, each
                )
            elif each % 2:
                status = self.add_reference(
                    u64_at(data + content_at + 8 * each), K_VALUE, u64_at(data + content_at + 8 * (each - 1))
                )
            else:
                status = self.add_reference(u64_at(data + content_at + 8 * each), K_KEY, 0)
        for each in range(referents):
            if status != E_OK:
                return status
            name = self.name_of(u64_at(data + referents_at + 8 * each))
            status = self.add_reference(
                u64_at(data + referents_at + 8 * each), K_ATTRIBUTE if name else K_REFERENCE, name
            )
        if status == E_OK:
            self.position = at
        return status

    cdef uint32_t name_of(self, uint64_t address) noexcept nogil:
        """Return the name of the next attribute that has this value, or 0 if none has."""
        cdef size_t each
        for each in range(self.attribute_address.count):
            if (<uint64_t *> self.attribute_address.data)[each] == address:
                # another reference to it is another attribute
                (<uint64_t *> self.attribute_address.data)[each] = 0
                return (<uint32_t *> self.attribute_name.data)[each]
        return 0

    cdef int read_attributes(self, size_t *place, size_t referents_at, size_t referents) noexcept nogil:
        """Keep the attributes whose values are referents: the others belong to the class."""
        cdef const uint8_t *data = self.data
        cdef size_t at = place[0], whole = self.length, _each, other, count, length
        cdef int64_t number
        cdef uint64_t value
        if whole - at < 4:
            return E_MORE
        count = u32_at(data + at)
        at += 4
        for _each in range(count):
            if whole - at < 2:
                return E_MORE
            length = <size_t> data[at] << 8 | data[at + 1]
            at += 2
            number = -1
            if length >= 0x8000:
                # a negative number is an index into ``frequent``; -1 is the first
                if 0xFFFF - length >= self.frequent_count:
                    return E_BAD_NUMBER
                number = self.frequent[0xFFFF - length]
                length = 0
            if whole - at < length + 8:
                return E_MORE
            value = u64_at(data + at + length)
            for other in range(min(referents, <size_t> MOST_NAMED) if self.attribute_name.count < MOST_NAMED else 0):
                if u64_at(data + referents_at + 8 * other) == value:
                    if number < 0:
                        number = self.add_text(data + at, length)
                        if number < 0:
                            return E_NO_MEMORY
                    if (vector_push(&self.attribute_address, &value) < 0
                            or vector_push_u32(&self.attribute_name, <uint32_t> number) < 0):
                        return E_NO_MEMORY
                    break
            at += length + 8
        place[0] = at
        return E_OK
