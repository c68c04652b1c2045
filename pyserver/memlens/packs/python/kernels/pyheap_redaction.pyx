# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes the objects of PyHeap's dumps of Python anew without their texts.

Addresses are drawn at random, objects are written in a random order (a window takes chunks from anywhere in the file,
and its objects are shuffled), and so are the elements of containers. References to an object that the runtime shares
lead to one of its type, each object's but once, as PyHeap has them: to numbers and texts by their representations, to
flags, and to constants of enums. Attributes
that aren't identifiers are left out, and so are those that data may have named: PyHeap says nothing of the code, so
there stay those that at least half of a type's objects have, if these are three or more (see ``attributes.pxd``), and
names that the standard library has.
"""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_build, address_map_free, address_map_init, address_ordinal, address_rank, address_set_add,
    address_set_begin, address_set_end,
)
from memlens.kernels.base.ascending cimport is_among
from memlens.kernels.base.counts cimport CountRow, Counts, counts_find, counts_free, counts_init, counts_row
from memlens.kernels.base.random cimport (
    KEY_BYTES, Random, draw_numbers, random_begin, shuffle32, shuffle64, shuffle_items,
)
from memlens.kernels.base.vectors cimport (
    Vector, vector_free, vector_init, vector_push, vector_push_u32, vector_reserve,
)
from memlens.kernels.readers.numbers cimport u16_at, u32_at, u64_at
from memlens.packs.python.kernels.attributes cimport (
    Attributes, attributes_end, attributes_free, attributes_init, attributes_key, attributes_note, attributes_seed,
    is_common, is_of_code,
)
from memlens.packs.python.kernels.names cimport hash_of, is_identifier, is_special
from memlens.kernels.readers.scan cimport Scan

OK, MORE, NO_MEMORY = range(3)

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY

KNOWN, ATTRIBUTES, SHARED, WRITE = range(4)
"""Stages: which objects there are, how attributes are called, which objects are shared; then they are written."""

cdef enum:
    S_KNOWN
    S_ATTRIBUTES
    S_SHARED
    S_WRITE

NUMBER, TEXT, FLAG, ENUM = 1, 2, 4, 8
"""Kinds of types: of whole numbers, of text or bytes, of True and False, and of classes of enums."""

cdef enum:
    A_NUMBER = 1
    A_TEXT = 2
    A_FLAG = 4
    AN_ENUM = 8

cdef enum:
    CHUNK_BYTES = 1 << 14
    WINDOW_BYTES = 3 << 18
    ADDRESS_BITS = 4            # that are 0 in all new addresses
    MOST_LONGER = 12            # times as long as before may be a name that replaces another
    MOST_SHARED = 256           # the largest number that the runtime has one object for
    GOES = 2                    # the key of what can't be a name; those of names are odd

cdef uint64_t NOWHERE = 0xFFFFFFFFFFFFFFFEULL
cdef uint32_t IS_SHARED = 1u << 31

cdef struct Parts:
    # where an object has what
    uint64_t type
    size_t contents, content_count, referents, referent_count, attributes, attribute_count, text, text_bytes, end
    bint is_container, is_dict, has_attributes

cdef struct Chunk:
    uint64_t start, end

cdef struct Shared:
    uint64_t address, group

cdef struct User:
    # of a name that the file abbreviates
    uint64_t type, number


cdef class PyHeap(Scan):
    """Looks through the objects of a ``.pyheap`` from the byte ``start`` on, in stages, then writes them.

    ``count`` is how many there are, ``containers`` and ``common`` are as for the reader. After the first stage
    ``objects_end`` is where the objects end, and ``is_cut`` whether the file breaks off before; then :meth:`classify`
    is called. After the last stage ``redirected`` is how many references of objects will lead to what stands
    for several, and :meth:`place` adds others to that. With ``keeps_shared`` addresses and order stay.
    """

    cdef uint64_t count, done, seed
    cdef Random random
    cdef readonly int stage
    cdef readonly size_t objects_end
    cdef readonly uint64_t needed, redirected
    cdef readonly bint is_cut
    cdef const uint64_t[::1] containers, common
    cdef uint64_t dict_type
    cdef bint has_texts, keeps_shared
    cdef size_t start
    cdef AddressMap known, by_shared, by_enum, by_kind
    cdef Attributes attributes
    cdef Counts words           # hashes of names that the standard library has
    cdef Vector frequent        # what attribute_key returns for the names that the file abbreviates
    cdef Vector users           # of these names
    cdef Counts has_used        # which types have which of them
    cdef Vector kinds, kind_addresses, enum_classes, shared, canonical, numbers, chunks, chunk_order, pieces
    cdef Vector last_owners     # of what stands for several: which object was the last to have it
    cdef uint64_t owner
    cdef int64_t several        # the number of what the last reference leads to among these, -1 if it isn't one
    cdef size_t next_chunk, next_piece
    cdef object renamed         # what an attribute is written as, as a function of its name's bytes; None if all stay
    cdef size_t growth          # how many times as long an object may become, at most
    cdef readonly bint has_failed

    def __init__(
        self, const uint8_t[::1] data: Buffer, size_t start, uint64_t count, const uint64_t[::1] containers,
        const uint64_t[::1] common, bint has_texts, bint keeps_shared,
    ):
        if start > self.length or not containers.shape[0]:
            raise ValueError("no objects")
        self.position = self.start = self.objects_end = start
        # an unfinished file has 0 in place of the number
        self.count = count if count else <uint64_t> -1
        self.growth = 1
        self.containers = containers
        self.dict_type = containers[0]
        self.common = common
        self.has_texts = has_texts
        self.keeps_shared = keeps_shared
        random_begin(&self.random, os.urandom(KEY_BYTES))
        self.seed = int.from_bytes(os.urandom(8), "little") | 1
        attributes_seed(&self.attributes, self.seed)
        self.own(&self.kinds, 1)
        self.own(&self.kind_addresses, 8)
        self.own(&self.enum_classes, 8)
        self.own(&self.shared, sizeof(Shared))
        self.own(&self.canonical, 8)
        self.own(&self.numbers, 4)
        self.own(&self.chunks, sizeof(Chunk))
        self.own(&self.chunk_order, 4)
        self.own(&self.pieces, 8)
        self.own(&self.last_owners, 8)
        self.own(&self.frequent, 8)
        self.own(&self.users, sizeof(User))
        self.has_used.seed = self.seed
        if address_set_begin(&self.known, 1, self.seed) < 0:
            raise MemoryError

    def __cinit__(self, const uint8_t[::1] data, *_):
        address_map_init(&self.known)
        address_map_init(&self.by_shared)
        address_map_init(&self.by_enum)
        address_map_init(&self.by_kind)
        attributes_init(&self.attributes)
        counts_init(&self.words)
        counts_init(&self.has_used)

    def __dealloc__(self):
        address_map_free(&self.known)
        address_map_free(&self.by_shared)
        address_map_free(&self.by_enum)
        address_map_free(&self.by_kind)
        attributes_free(&self.attributes)
        counts_free(&self.words)
        counts_free(&self.has_used)

    def know(self, words: Iterable[bytes]):
        """Say which names the standard library has."""
        cdef bytes word
        self.words.seed = self.seed
        for word in words:
            if counts_row(&self.words, hash_of(word, len(word), self.seed)) == NULL:
                raise MemoryError

    def abbreviate(self, names: Iterable[bytes]):
        """Say which names attributes have a number for in place of the name."""
        cdef bytes name
        cdef uint64_t key
        for name in names:
            key = self.name_key(name, len(name))
            if vector_push(&self.frequent, &key) < 0:
                raise MemoryError

    def kept_names(self) -> list[bool]:
        """Return for each of these whether it is the name of an attribute that stays; known before writing."""
        cdef User *users = <User *> self.users.data
        cdef size_t each
        kept = [(<uint64_t *> self.frequent.data)[each] == 0 for each in range(self.frequent.count)]
        for each in range(self.users.count):
            if not kept[users[each].number]:
                kept[users[each].number] = self.is_kept(
                    users[each].type, (<uint64_t *> self.frequent.data)[users[each].number])
        return kept

    def classify(self, kinds: Mapping[int, int]):
        """Say which types there are, by their addresses."""
        cdef uint64_t address
        cdef uint8_t kind
        for address, kind in kinds.items():
            if vector_push(&self.kind_addresses, &address) < 0 or vector_push(&self.kinds, &kind) < 0:
                raise MemoryError
        if address_map_build(
                &self.by_kind, <uint64_t *> self.kind_addresses.data, self.kind_addresses.count, self.seed) < 0:
            raise MemoryError

    def rename(self, renamed: Callable[[bytes], bytes]):
        """Write names of attributes as what ``renamed`` returns for their bytes."""
        self.renamed, self.growth = renamed, MOST_LONGER + 1

    def place(self, uint64_t address, bint is_reference) -> int:
        """Return the address by which an object is written where another part of the file has it."""
        return self.new_reference(address) if is_reference else self.new_address(address)

    # looking through the file

    def run(self, size_t limit) -> int:
        """Continue a stage before the last. Returns OK at its end, MORE or NO_MEMORY."""
        cdef int status
        with nogil:
            status = self.run_to(limit)
            if status == E_OK:
                status = self.end_stage()
        return status

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef Parts parts
        while self.done < self.count and (self.stage == S_KNOWN or self.position < self.objects_end):
            if self.position >= limit:
                return E_MORE
            if not self.read_object(self.position, &parts):
                self.is_cut = True
                break
            if self.look_at(&parts) < 0:
                return E_NO_MEMORY
            self.position = parts.end
            self.done += 1
        return E_OK

    cdef int look_at(self, Parts *parts) noexcept nogil:
        cdef uint64_t address = u64_at(self.data + self.position)
        cdef Chunk *last = NULL
        cdef Chunk chunk
        cdef Shared row
        if self.stage == S_KNOWN:
            if self.chunks.count:
                last = <Chunk *> self.chunks.data + (self.chunks.count - 1)
            if last != NULL and self.position - last.start < CHUNK_BYTES:
                last.end = parts.end
            else:
                chunk.start, chunk.end = self.position, parts.end
                if vector_push(&self.chunks, &chunk) < 0:
                    return -1
            return address_set_add(&self.known, address)
        if self.stage == S_ATTRIBUTES:
            if self.kind_of(parts.type) & AN_ENUM and vector_push(&self.enum_classes, &address) < 0:
                return -1
            return self.count_attributes(parts)
        row.address, row.group = address, parts.type
        return vector_push(&self.shared, &row) if self.is_shared(parts) else 0

    cdef int kind_of(self, uint64_t type) noexcept nogil:
        cdef int64_t number = address_ordinal(&self.by_kind, type)
        return 0 if number < 0 else self.kinds.data[number]

    cdef bint is_shared(self, Parts *parts) noexcept nogil:
        """Return whether the runtime has one object for a value."""
        cdef int kind = self.kind_of(parts.type)
        cdef const uint8_t *text = self.data + parts.text
        if kind & A_FLAG or address_rank(&self.by_enum, parts.type) >= 0:
            return True
        if kind & A_TEXT:
            return parts.text != 0 and is_short(text, parts.text_bytes)
        return kind & A_NUMBER and is_small(text, parts.text_bytes)

    cdef int end_stage(self) noexcept nogil:
        cdef int status = 0
        if self.stage == S_KNOWN:
            self.objects_end = self.position
            address_set_end(&self.known)
        elif self.stage == S_ATTRIBUTES:
            status |= address_map_build(
                &self.by_enum, <uint64_t *> self.enum_classes.data, self.enum_classes.count, self.seed)
        elif not self.keeps_shared:
            status |= self.prepare()
        self.stage += 1
        self.position = self.start
        self.done = 0
        return E_NO_MEMORY if status < 0 else E_OK

    cdef int prepare(self) noexcept nogil:
        """Draw numbers for objects and an order for chunks, and choose one of each kind of what is shared."""
        cdef Shared *rows = <Shared *> self.shared.data
        cdef uint32_t *numbers
        cdef AddressMap by_group
        cdef Vector addresses, groups
        cdef size_t each
        cdef int64_t rank
        cdef uint64_t one
        cdef int status = 0
        if self.known.count >= IS_SHARED or vector_reserve(&self.numbers, self.known.count + 1) < 0:
            return -1
        draw_numbers(&self.random, <uint32_t *> self.numbers.data, self.known.count)
        self.numbers.count = self.known.count
        for each in range(self.chunks.count):
            status |= vector_push_u32(&self.chunk_order, <uint32_t> each)
        shuffle32(&self.random, <uint32_t *> self.chunk_order.data, self.chunk_order.count)
        address_map_init(&by_group)
        vector_init(&addresses, 8)
        vector_init(&groups, 8)
        # which comes first in the file may depend on values
        shuffle_items(&self.random, rows, self.shared.count, sizeof(Shared))
        for each in range(self.shared.count):
            status |= vector_push(&addresses, &rows[each].address)
            status |= vector_push(&groups, &rows[each].group)
        if status == 0:
            status |= address_map_build(&self.by_shared, <uint64_t *> addresses.data, addresses.count, self.seed)
            status |= address_map_build(&by_group, <uint64_t *> groups.data, groups.count, self.seed)
        numbers = <uint32_t *> self.numbers.data
        for each in range(self.shared.count if status == 0 else 0):
            # any of its type
            one = rows[address_ordinal(&by_group, rows[each].group)].address
            status |= vector_push(&self.canonical, &one)
            status |= vector_push(&self.last_owners, &self.owner)
            rank = address_rank(&self.known, rows[each].address)
            if rank >= 0 and address_rank(&self.known, one) >= 0:
                # else the file has changed since it was looked through
                numbers[rank] |= IS_SHARED
        address_map_free(&by_group)
        vector_free(&addresses)
        vector_free(&groups)
        if status == 0:
            self.count_redirected()
        return status

    cdef void count_redirected(self) noexcept nogil:
        """Count the references that will lead to another object, since the file says so before its objects."""
        cdef Parts parts
        cdef size_t at = self.start, each
        while at < self.objects_end and self.read_object(at, &parts):
            for each in range(parts.content_count):
                self.new_reference(u64_at(self.data + parts.contents + 8 * each))
            self.put_referents(&parts, NULL)
            at = parts.end

    # attributes

    cdef int count_attributes(self, Parts *parts) noexcept nogil:
        """Count what the objects of a type have as attributes."""
        cdef size_t at = parts.attributes, _each
        cdef uint32_t found = 0
        cdef uint64_t key
        for _each in range(parts.attribute_count):
            key = self.attribute_key(at)
            if key > GOES and self.is_abbreviated(at) and self.note_user(parts.type, self.number_at(at)) < 0:
                return -1
            at = self.after_attribute(at)
            if key <= GOES:
                continue
            found += 1
            if attributes_note(&self.attributes, parts.type, key) < 0:
                return -1
        return attributes_end(&self.attributes, parts.type, found) if found else 0

    cdef uint64_t attribute_key(self, size_t at) noexcept nogil:
        """Return a number for the name of an attribute; 0 for one of the language's, GOES for what can't be a name."""
        cdef size_t number
        if not self.is_abbreviated(at):
            return self.name_key(self.data + at + 2, u16_at(self.data + at))
        number = self.number_at(at)
        return (<uint64_t *> self.frequent.data)[number] if number < self.frequent.count else GOES

    cdef uint64_t name_key(self, const uint8_t *text, size_t length) noexcept nogil:
        if not is_identifier(text, length):
            return GOES
        return 0 if is_special(text, length) else hash_of(text, length, self.seed)

    cdef inline bint is_abbreviated(self, size_t at) noexcept nogil:
        return self.data[at] & 0x80

    cdef inline size_t number_at(self, size_t at) noexcept nogil:
        """Return which of the names that the file abbreviates an attribute has."""
        return 0xFFFF - <size_t> u16_at(self.data + at)

    cdef int note_user(self, uint64_t type, size_t number) noexcept nogil:
        """Note that objects of a type have an abbreviated name. -1 if out of memory."""
        cdef CountRow *row = counts_row(&self.has_used, attributes_key(type, number + 1))
        cdef User user
        if row == NULL:
            return -1
        if row.first:
            return 0
        row.first = 1
        user.type, user.number = type, number
        return vector_push(&self.users, &user)

    cdef size_t after_attribute(self, size_t at) noexcept nogil:
        cdef size_t length = u16_at(self.data + at)
        return at + 2 + (0 if length >= 0x8000 else length) + 8

    cdef bint is_kept(self, uint64_t of_type, uint64_t key) noexcept nogil:
        """Return whether an attribute is named by the program's code, and not by its data."""
        if key == GOES:
            return False
        if key == 0 or is_common(&self.attributes, of_type, key):
            return True
        return counts_find(&self.words, key) != NULL and is_of_code(&self.attributes, of_type, key)

    # writing

    def fill(self, uint8_t[::1] out: bytearray) -> int:
        """Write the objects that come next, and return how many bytes that is; 0 at the end, or if ``needed`` isn't 0.
        """
        cdef size_t done = 0
        cdef int status
        if self.stage != S_WRITE:
            raise ValueError("the file has not been looked through")
        self.needed = 0
        with nogil:
            status = self.write_objects(&out[0], out.shape[0], &done)
        if status < 0:
            raise MemoryError
        return done

    cdef int write_objects(self, uint8_t *out, size_t room, size_t *written) noexcept nogil:
        cdef Parts parts
        while True:
            if self.keeps_shared:
                if self.position >= self.objects_end:
                    return 0
            elif self.next_piece < self.pieces.count:
                self.position = (<uint64_t *> self.pieces.data)[self.next_piece]
            elif self.next_chunk >= self.chunk_order.count:
                return 0
            else:
                if self.take_window() < 0:
                    return -1
                continue
            if not self.read_object(self.position, &parts):
                # the file has changed since it was looked through
                return 0
            if room - written[0] < self.growth * (parts.end - self.position):
                self.needed = 0 if written[0] else self.growth * (parts.end - self.position)
                return 0
            written[0] += self.write_object(&parts, out + written[0])
            self.next_piece += 1
            self.position = parts.end

    cdef int take_window(self) noexcept nogil:
        """Fill ``pieces`` with the objects that come next, in a random order. -1 if out of memory."""
        cdef Chunk *chunk
        cdef Parts parts
        cdef uint64_t at, total = 0
        self.pieces.count = self.next_piece = 0
        while self.next_chunk < self.chunk_order.count and total < WINDOW_BYTES:
            chunk = <Chunk *> self.chunks.data + (<uint32_t *> self.chunk_order.data)[self.next_chunk]
            self.next_chunk += 1
            total += chunk.end - chunk.start
            at = chunk.start
            while at < chunk.end and self.read_object(at, &parts):
                if vector_push(&self.pieces, &at) < 0:
                    return -1
                at = parts.end
        shuffle64(&self.random, <uint64_t *> self.pieces.data, self.pieces.count)
        return 0

    cdef size_t write_object(self, Parts *parts, uint8_t *out) noexcept nogil:
        """Write an object without its text, and return its bytes."""
        cdef const uint8_t *data = self.data
        cdef size_t at = self.position, done = 20, length, _each
        cdef uint8_t *counted
        cdef uint32_t kept = 0
        put64(out, self.new_address(u64_at(data + at)))
        put64(out + 8, self.new_address(parts.type))
        memcpy(out + 16, data + at + 16, 4)
        if parts.is_container:
            done += self.write_addresses(parts.contents, parts.content_count, out + done, parts.is_dict)
        length = self.put_referents(parts, out + done + 4)
        put32(out + done, <uint32_t> length)
        done += 4 + 8 * length
        if not parts.has_attributes:
            return done
        counted = out + done
        done += 4
        at = parts.attributes
        for _each in range(parts.attribute_count):
            length = self.after_attribute(at) - at
            if self.is_kept(parts.type, self.attribute_key(at)):
                if self.growth > 1 and length > 10:
                    done += self.put_renamed(data + at + 2, length - 10, out + done)
                else:
                    memcpy(out + done, data + at, length - 8)
                    done += length - 8
                put64(out + done, self.new_reference(u64_at(data + at + length - 8)))
                done += 8
                kept += 1
            at += length
        put32(counted, kept)
        return done

    cdef size_t put_renamed(self, const uint8_t *text, size_t length, uint8_t *out) noexcept with gil:
        """Write another name with its length, and return its bytes. It is empty if it is too long for its place."""
        cdef bytes name = b""
        cdef const uint8_t *found
        try:
            name = self.renamed(text[:length])
        except Exception:
            # there is nobody to raise it to
            self.has_failed = True
        if <size_t> len(name) > min(MOST_LONGER * length, <size_t> 0x7FFF):
            name = b""
        out[0], out[1] = <uint8_t> (len(name) >> 8), <uint8_t> len(name)
        found = name
        memcpy(out + 2, found, len(name))
        return 2 + len(name)

    cdef size_t write_addresses(self, size_t at, size_t count, uint8_t *out, bint in_pairs) noexcept nogil:
        """Write addresses with their number, in a random order."""
        cdef size_t each, width = 16 if in_pairs else 8, rows = count // 2 if in_pairs else count
        put32(out, <uint32_t> rows)
        out += 4
        for each in range(count):
            put64(out + 8 * each, self.new_reference(u64_at(self.data + at + 8 * each)))
        if not self.keeps_shared:
            shuffle_items(&self.random, out, rows, width)
        return 4 + 8 * count

    cdef size_t put_referents(self, Parts *parts, uint8_t *out) noexcept nogil:
        """Write what an object refers to, if there is room for it, and return how many that is.

        What several references lead to is there once: PyHeap writes True and False, but two Trues as one.
        """
        cdef size_t each, done = 0
        cdef uint64_t address
        cdef uint64_t *last_owners = <uint64_t *> self.last_owners.data
        self.owner += 1
        for each in range(parts.referent_count):
            address = self.new_reference(u64_at(self.data + parts.referents + 8 * each))
            if self.several >= 0:
                if last_owners[self.several] == self.owner:
                    self.redirected -= 1
                    continue
                last_owners[self.several] = self.owner
            if out != NULL:
                put64(out + 8 * done, address)
            done += 1
        if out != NULL and not self.keeps_shared:
            shuffle_items(&self.random, out, done, 8)
        return done

    cdef uint64_t new_address(self, uint64_t address) noexcept nogil:
        """Return the address by which an object is written."""
        cdef int64_t rank = address_rank(&self.known, address) if address else -1
        if rank < 0:
            # no object has the other one; a type may be in no other place
            return self.unknown(address)
        if self.keeps_shared:
            return address
        return (<uint64_t> ((<uint32_t *> self.numbers.data)[rank] & ~IS_SHARED) + 1) << ADDRESS_BITS

    cdef uint64_t unknown(self, uint64_t address) noexcept nogil:
        cdef int64_t number
        if address == 0 or self.keeps_shared:
            return address
        number = address_ordinal(&self.by_kind, address)
        # odd, so that no object has it
        return NOWHERE if number < 0 else 2 * <uint64_t> number + 1

    cdef uint64_t new_reference(self, uint64_t address) noexcept nogil:
        """Return the address of an object that is referred to, or of the one that all such references lead to."""
        cdef int64_t rank = address_rank(&self.known, address) if address and not self.keeps_shared else -1
        cdef uint64_t one
        self.several = -1
        if rank >= 0 and (<uint32_t *> self.numbers.data)[rank] & IS_SHARED:
            one = (<uint64_t *> self.canonical.data)[address_ordinal(&self.by_shared, address)]
            self.redirected += 1
            address = one
            self.several = address_ordinal(&self.by_shared, one)
        return self.new_address(address)

    # an object of the file

    cdef bint is_container(self, uint64_t type) noexcept nogil:
        cdef Py_ssize_t each
        for each in range(self.containers.shape[0]):
            if self.containers[each] == type:
                return True
        return False

    cdef bint read_object(self, size_t at, Parts *parts) noexcept nogil:
        """Find the parts of the object at ``at``; False if the file ends before it does."""
        cdef const uint8_t *data = self.data
        cdef size_t whole = self.length, _each
        if whole - at < 20:
            return False
        parts.type = u64_at(data + at + 8)
        parts.is_container = self.is_container(parts.type)
        parts.is_dict = parts.is_container and parts.type == self.dict_type
        parts.contents = parts.content_count = parts.attributes = parts.attribute_count = 0
        parts.text = parts.text_bytes = 0
        at += 20
        if parts.is_container:
            if whole - at < 4:
                return False
            parts.content_count = u32_at(data + at) * <size_t> (2 if parts.is_dict else 1)
            parts.contents = at = at + 4
            if (whole - at) // 8 < parts.content_count:
                return False
            at += 8 * parts.content_count
        if whole - at < 4:
            return False
        parts.referent_count = u32_at(data + at)
        parts.referents = at = at + 4
        if (whole - at) // 8 < parts.referent_count:
            return False
        at += 8 * parts.referent_count
        parts.has_attributes = not is_among(&self.common[0], self.common.shape[0], parts.type)
        if parts.has_attributes:
            if whole - at < 4:
                return False
            parts.attribute_count = u32_at(data + at)
            parts.attributes = at = at + 4
            for _each in range(parts.attribute_count):
                if whole - at < 2:
                    return False
                # a negative number stands for a name that the file has elsewhere
                at += 2 + (0 if data[at] & 0x80 else <size_t> u16_at(data + at))
                if at > whole or whole - at < 8:
                    return False
                at += 8
        if self.has_texts and not parts.is_container:
            if whole - at < 2:
                return False
            parts.text_bytes = u16_at(data + at)
            parts.text = at + 2
            at += 2
            if whole - at < parts.text_bytes:
                return False
            at += parts.text_bytes
        parts.end = at
        return True


cdef inline bint is_short(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text is that of no more than one character or byte, in quotes or without."""
    if length <= 1:
        return True
    if text[0] == 0x62 and (text[1] == 0x22 or text[1] == 0x27):
        return length <= 4 or (length <= 7 and text[2] == 0x5C)
    if text[0] == 0x22 or text[0] == 0x27:
        return length <= 3 or (length <= 6 and (text[1] >= 0x80 or text[1] == 0x5C))
    return length <= 4 and text[0] >= 0x80


cdef inline bint is_small(const uint8_t *text, size_t length) noexcept nogil:
    """Return whether a text is that of a number for which the runtime has one object."""
    cdef size_t each, first = 1 if length and text[0] == 0x2D else 0
    cdef uint32_t number = 0
    if length == first or length - first > 3:
        return False
    for each in range(first, length):
        if not 0x30 <= text[each] <= 0x39:
            return False
        number = 10 * number + text[each] - 0x30
    return number <= MOST_SHARED


cdef inline void put32(uint8_t *out, uint32_t number) noexcept nogil:
    out[0], out[1] = <uint8_t> (number >> 24), <uint8_t> (number >> 16)
    out[2], out[3] = <uint8_t> (number >> 8), <uint8_t> number


cdef inline void put64(uint8_t *out, uint64_t number) noexcept nogil:
    put32(out, <uint32_t> (number >> 32))
    put32(out + 4, <uint32_t> number)
