# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes Ruby's heap dumps anew without the text of strings and symbols: a line after the other.

A line is written from what was understood of it: the keys that Ruby has, each with a value of its form. All else is
left out. A line that isn't JSON, as older Rubies write them, or that isn't an object becomes ``{}``, which readers
count as one as well.

Addresses and the order of lines say which objects were made one after the other, and which of two came first. So the
file is looked through for the addresses of objects, which get others at random, and lines are written in a random
order: a window takes chunks from anywhere in the file, and its lines are shuffled. With ``keeps_order`` all stays as it
is.

Source of the format: ``ext/objspace/objspace_dump.c`` of Ruby.
"""

import os

from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset, strlen

from memlens.kernels.base.addresses cimport (
    AddressMap, address_map_free, address_map_init, address_rank, address_set_add, address_set_begin, address_set_end,
)
from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.random cimport (
    KEY_BYTES, Random, draw_numbers, random_begin, random_below, shuffle_items,
)
from memlens.kernels.base.vectors cimport Vector, vector_push, vector_reserve
from memlens.kernels.readers.scan cimport Scan

OK, MORE, NO_MEMORY = range(3)

cdef enum:
    E_OK
    E_MORE
    E_NO_MEMORY

cdef enum:
    # a window stays in a processor's cache
    CHUNK_BYTES = 1 << 16
    WINDOW_BYTES = 3 << 20
    AHEAD = 8                   # lines that are fetched from memory meanwhile
    ALIGNED = 3                 # low bits that addresses of objects haven't

cdef enum:
    FIRST_ADDRESS = 0x1_0000    # of the new ones
    STEP = 0x28                 # from one to the next, as Ruby's slots have it
    GONE = 8                    # what the address of no object becomes
    MOST_OBJECTS = 0xFFFFFFF0

cdef enum:
    # forms of values
    AN_ADDRESS
    ADDRESSES
    A_NUMBER
    A_TRUTH         # written only if it is true, as Ruby does
    A_NAME
    A_WORD          # one of a list
    FLAGS

cdef enum:
    KEYS = 41
    FIRST_FLAG = 33
    MOST_MORE = 64          # bytes by which a line may become longer, beside two for each of its own
    MOST_DIGITS = 12        # no size, line or count has more, but numbers of cards and accounts have
    MOST_DEPTH = 64
    MOST_LONGER = 12        # times as long as before may be a name that replaces another

cdef enum:
    # keys that lines are asked for
    K_ADDRESS
    K_TYPE
    K_ROOT
    K_NAME = 8
    K_REAL_CLASS_NAME
    K_STRUCT
    K_EDGE_NAME
    K_SHAPE_ID = 26
    K_FLAGS = 32

cdef const char **NAMES_OF_KEYS = [
    "address", "type", "root", "class", "superclass", "default", "references", "imemo_type",
    "name", "real_class_name", "struct", "edge_name", "file", "method", "encoding", "coderange",
    "shape_type", "memsize", "slot_size", "length", "size", "bytesize", "capacity", "ivars",
    "line", "generation", "shape_id", "frozen", "embedded", "shared", "fstring", "singleton",
    "flags", "wb_protected", "old", "uncollectible", "marking", "marked", "pinned", "remembered",
    "fd",
]
cdef uint8_t *FORMS = [
    AN_ADDRESS, A_WORD, A_WORD, AN_ADDRESS, AN_ADDRESS, AN_ADDRESS, ADDRESSES, A_WORD,
    A_NAME, A_NAME, A_NAME, A_NAME, A_NAME, A_NAME, A_WORD, A_WORD,
    A_WORD, A_NUMBER, A_NUMBER, A_NUMBER, A_NUMBER, A_NUMBER, A_NUMBER, A_NUMBER,
    A_NUMBER, A_NUMBER, A_NUMBER, A_TRUTH, A_TRUTH, A_TRUTH, A_TRUTH, A_TRUTH,
    FLAGS, A_TRUTH, A_TRUTH, A_TRUTH, A_TRUTH, A_TRUTH, A_TRUTH, A_TRUTH,
    A_NUMBER,
]

# the words that each key may have, with a blank around each
cdef const char *TYPES = (
    " OBJECT CLASS MODULE FLOAT STRING REGEXP ARRAY HASH STRUCT BIGNUM FILE DATA MATCH COMPLEX RATIONAL"
    " NIL TRUE FALSE SYMBOL FIXNUM UNDEF IMEMO NODE ICLASS ZOMBIE MOVED SHAPE NONE ROOT ")
cdef const char *ROOTS = (
    " vm finalizers machine_context parser global_list end_proc global_tbl global_symbols symbols fstring"
    " tail ractor unlinked generic_iv jit yjit zjit ")
cdef const char *IMEMO_TYPES = (
    " env cref svar throw_data ifunc memo ment iseq tmpbuf alloc ast parser_strterm callinfo callcache"
    " constcache fields subclasses cdhash unknown ")
cdef const char *ENCODINGS = (
    " ASCII-8BIT BINARY UTF-8 US-ASCII Big5 Big5-HKSCS Big5-UAO CESU-8 CP949 Emacs-Mule EUC-JP EUC-KR"
    " EUC-TW GB2312 GB18030 GBK ISO-8859-1 ISO-8859-2 ISO-8859-3 ISO-8859-4 ISO-8859-5 ISO-8859-6"
    " ISO-8859-7 ISO-8859-8 ISO-8859-9 ISO-8859-10 ISO-8859-11 ISO-8859-13 ISO-8859-14 ISO-8859-15"
    " ISO-8859-16 KOI8-R KOI8-U Shift_JIS UTF-16BE UTF-16LE UTF-32BE UTF-32LE UTF-16 UTF-32 UTF-7"
    " UTF8-MAC Windows-31J Windows-1250 Windows-1251 Windows-1252 Windows-1253 Windows-1254 Windows-1257"
    " IBM437 IBM850 IBM852 IBM855 IBM866 CP51932 EUC-JIS-2004 EUC-JP-2004 eucJP-ms EucJP-ms ISO-2022-JP ")
cdef const char *CODE_RANGES = " 7bit valid broken unknown "
cdef const char *SHAPE_TYPES = (
    " ROOT IVAR FROZEN CAPACITY_CHANGE INITIAL_CAPACITY T_OBJECT OBJ_TOO_COMPLEX OBJ_ID UNKNOWN ")


cdef struct Listed:
    size_t start, bytes     # of an address


cdef struct Lined:
    size_t start, end       # of lines in the file, with their line ends


cdef struct Span:
    size_t start, end       # in the file; end 0 for none


cdef inline bint is_blank(uint8_t one) noexcept nogil:
    return one == 0x20 or one == 0x0D or one == 0x09


cdef bint is_address(const uint8_t *text, size_t length) noexcept nogil:
    cdef size_t each
    if length < 3 or length > 18 or text[0] != 0x30 or text[1] != 0x78:
        return False
    for each in range(2, length):
        if not (0x30 <= text[each] <= 0x39 or 0x61 <= text[each] <= 0x66):
            return False
    return True


cdef const char *words_of(int key) noexcept nogil:
    if key == K_TYPE:
        return TYPES
    if key == K_ROOT:
        return ROOTS
    if strlen(NAMES_OF_KEYS[key]) == 10 and NAMES_OF_KEYS[key][0] == c"i":
        return IMEMO_TYPES
    if NAMES_OF_KEYS[key][0] == c"e":
        return ENCODINGS
    return CODE_RANGES if NAMES_OF_KEYS[key][0] == c"c" else SHAPE_TYPES


cdef bint is_word(const uint8_t *text, size_t length, const char *words) noexcept nogil:
    """Return whether a text is among ``words``."""
    cdef size_t at, all = strlen(words)
    if not length or memchr(text, 0x20, length) != NULL:
        return False
    for at in range(1, all):
        if words[at] == text[0] and words[at - 1] == 0x20 and at + length < all and words[at + length] == 0x20 and (
                memcmp(words + at, text, length) == 0):
            return True
    return False


cdef bint may_have(const uint8_t *type, size_t length, int key) noexcept nogil:
    """Return whether lines of a type have a name by this key."""
    if key == K_NAME or key == K_REAL_CLASS_NAME:
        return is_word(type, length, b" CLASS MODULE ICLASS ")
    if key == K_STRUCT:
        return is_word(type, length, b" DATA ")
    if key == K_EDGE_NAME:
        return is_word(type, length, b" SHAPE ")
    return True


cdef uint64_t address_in(const uint8_t *text, size_t length) noexcept nogil:
    """Return the number that an address is."""
    cdef uint64_t found = 0
    cdef size_t each
    for each in range(2, length):
        found = found << 4 | (text[each] - 0x30 if text[each] <= 0x39 else text[each] - 0x57)
    return found


cdef size_t put_address(uint64_t address, uint8_t *out) noexcept nogil:
    """Write an address, and return its bytes."""
    cdef size_t digits = 1, each
    while digits < 16 and address >> 4 * digits:
        digits += 1
    memcpy(out, b"0x", 2)
    for each in range(digits):
        out[1 + digits - each] = b"0123456789abcdef"[address & 0xF]
        address >>= 4
    return digits + 2


cdef class Lines(Scan):
    """Looks through the lines of ``data`` when it is run, and then writes them.

    After the last call of ``fill``, ``is_cut`` says whether the last line was incomplete.
    """

    cdef readonly uint64_t needed, written
    cdef readonly bint is_cut
    cdef Span found[KEYS]
    cdef object renamed         # what a name is written as, as a function of its bytes; None if names stay
    cdef size_t growth          # how many times as long a line may become, at most
    cdef readonly bint has_failed
    cdef bint keeps_order       # of the lines, the addresses, and those of a list
    cdef uint64_t seed
    cdef Random random
    cdef Vector listed
    cdef bint is_list_plain     # whether there is nothing between the addresses of a list but what Ruby writes there
    cdef Vector chunks, pieces  # what is left to be written, and the lines of it that come next
    cdef size_t next_chunk, next_piece
    cdef AddressMap known
    cdef Vector new_numbers     # by rank
    cdef uint64_t first_address
    cdef uint64_t lowest, highest
    cdef size_t shortest        # bytes of the shortest address
    cdef int shift

    def __cinit__(self, const uint8_t[::1] data: Buffer, bint keeps_order):
        self.growth = 2
        self.keeps_order = keeps_order
        self.seed = int.from_bytes(os.urandom(8), "little") | 1
        random_begin(&self.random, os.urandom(KEY_BYTES))
        address_map_init(&self.known)
        self.own(&self.listed, sizeof(Listed))
        self.own(&self.chunks, sizeof(Lined))
        self.own(&self.pieces, sizeof(Lined))
        self.own(&self.new_numbers, 4)
        self.shift = ALIGNED
        if self.begin() < 0:
            raise MemoryError

    def __dealloc__(self):
        address_map_free(&self.known)

    def rename(self, renamed: Callable[[bytes], bytes]):
        """Write names as what ``renamed`` returns for their bytes, both as JSON has them between the quotes."""
        self.renamed, self.growth = renamed, MOST_LONGER + self.growth

    # looking through the file

    cdef int begin(self) noexcept nogil:
        """Begin to look through the file. -1 if out of memory."""
        address_map_free(&self.known)
        self.position = self.chunks.count = 0
        self.lowest, self.highest, self.shortest = <uint64_t> -1, 0, <size_t> -1
        return address_set_begin(&self.known, <uint64_t> 1 << self.shift, self.seed)

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t start, end
        cdef const void *line_break
        cdef int status
        while self.position < self.length:
            if self.position >= limit:
                return E_MORE
            start = self.position
            line_break = memchr(self.data + start, 0x0A, self.length - start)
            end = self.length if line_break == NULL else <size_t> (<const uint8_t *> line_break - self.data)
            self.position = self.length if line_break == NULL else end + 1
            if self.note_chunk(start, line_break == NULL) < 0:
                return E_NO_MEMORY
            if self.keeps_order:
                continue
            status = self.note_address(start, end)
            if status < 0:
                return E_NO_MEMORY
            if status and self.shift:
                # no dump by Ruby has such an address
                self.shift = 0
                if self.begin() < 0:
                    return E_NO_MEMORY
        return E_OK if self.draw() == 0 else E_NO_MEMORY

    cdef int note_chunk(self, size_t start, bint is_last) noexcept nogil:
        """Add a line to the last chunk, or begin another: one of its own for a line without an end, the last one."""
        cdef Lined *last
        cdef Lined chunk
        if self.chunks.count and not is_last:
            last = <Lined *> self.chunks.data + (self.chunks.count - 1)
            if self.position - last.start <= CHUNK_BYTES:
                last.end = self.position
                return 0
        chunk.start, chunk.end = start, self.position
        return vector_push(&self.chunks, &chunk)

    cdef int note_address(self, size_t at, size_t end) noexcept nogil:
        """Note the address of a line's object. 1 if it isn't aligned as expected, -1 if out of memory."""
        cdef const uint8_t *text
        cdef size_t length
        cdef uint64_t address
        while at < end and is_blank(self.data[at]):
            at += 1
        if end - at > 14 and memcmp(self.data + at, b"{\"address\":\"0x", 14) == 0:
            # as Ruby begins lines
            self.found[K_ADDRESS].start = at + 12
            self.found[K_ADDRESS].end = string_end(self.data, at + 11, end)
            if not is_address(self.data + at + 12, self.found[K_ADDRESS].end - at - 12):
                return 0
        else:
            memset(self.found, 0, sizeof(self.found))
            if at == end or not self.read_object(&at, end, 0) or not self.found[K_ADDRESS].end:
                return 0
        text = self.data + self.found[K_ADDRESS].start
        length = self.found[K_ADDRESS].end - self.found[K_ADDRESS].start
        address = address_in(text, length)
        if address & ((<uint64_t> 1 << self.shift) - 1):
            return 1
        self.lowest, self.highest = min(self.lowest, address), max(self.highest, address)
        self.shortest = min(self.shortest, length)
        return address_set_add(&self.known, address)

    cdef int draw(self) noexcept nogil:
        """Draw the order of the chunks, and new addresses, of which none is an old one. -1 if out of memory."""
        cdef Lined *chunks = <Lined *> self.chunks.data
        cdef size_t count = self.chunks.count
        cdef uint8_t longest[18]
        cdef uint64_t after
        if self.keeps_order:
            return 0
        # what has no line end stays last
        if count and self.data[chunks[count - 1].end - 1] != 0x0A:
            count -= 1
        shuffle_items(&self.random, chunks, count, sizeof(Lined))
        address_set_end(&self.known)
        if self.known.count > MOST_OBJECTS or vector_reserve(&self.new_numbers, self.known.count + 1) < 0:
            return -1
        draw_numbers(&self.random, <uint32_t *> self.new_numbers.data, self.known.count)
        self.first_address, after = FIRST_ADDRESS, STEP * self.known.count
        while self.known.count and self.first_address < <uint64_t> 1 << 62 and (
                self.first_address + after >= self.lowest and self.first_address <= self.highest):
            self.first_address <<= 1
        if put_address(self.first_address + after, longest) > self.shortest:
            # as "0x1", which may become "0x10000"
            self.growth += 3
        return 0

    cdef uint64_t new_address(self, uint64_t address) noexcept nogil:
        cdef int64_t rank = address_rank(&self.known, address)
        return GONE if rank < 0 else self.first_address + STEP * <uint64_t> (<uint32_t *> self.new_numbers.data)[rank]

    # writing

    def fill(self, uint8_t[::1] out: bytearray) -> int:
        """Write the lines that come next, and return how many bytes that is; 0 at the end, or if ``needed`` isn't 0.

        Raises MemoryError.
        """
        cdef size_t done = 0
        cdef int status
        self.needed = 0
        with nogil:
            status = self.write_lines(&out[0], out.shape[0], &done)
        if status < 0:
            raise MemoryError
        return done

    cdef int write_lines(self, uint8_t *out, size_t room, size_t *count) noexcept nogil:
        cdef Lined *piece
        cdef int status
        cdef uint64_t needed
        while True:
            if self.next_piece >= self.pieces.count:
                status = self.take_window()
                if status <= 0:
                    return status
            piece = <Lined *> self.pieces.data + self.next_piece
            if self.next_piece + AHEAD < self.pieces.count:
                prefetch(self.data + piece[AHEAD].start)
            needed = self.growth * (piece.end - piece.start) + MOST_MORE
            if room - count[0] < needed:
                self.needed = 0 if count[0] else needed
                return 0
            self.next_piece += 1
            count[0] += self.write_piece(piece.start, piece.end, out + count[0])
            self.written += piece.end - piece.start

    cdef int take_window(self) noexcept nogil:
        """Fill ``pieces`` with the lines that come next. 1 if there are some, -1 if out of memory."""
        cdef Lined *chunks = <Lined *> self.chunks.data
        cdef Lined piece
        cdef size_t bytes = 0, end
        cdef const void *line_break
        self.pieces.count = self.next_piece = 0
        while self.next_chunk < self.chunks.count:
            piece.start, end = chunks[self.next_chunk].start, chunks[self.next_chunk].end
            # what has no line end stays last
            if bytes and (bytes + end - piece.start > WINDOW_BYTES or self.data[end - 1] != 0x0A):
                break
            self.next_chunk += 1
            bytes += end - piece.start
            while piece.start < end:
                line_break = memchr(self.data + piece.start, 0x0A, end - piece.start)
                piece.end = end if line_break == NULL else <size_t> (<const uint8_t *> line_break - self.data) + 1
                if vector_push(&self.pieces, &piece) < 0:
                    return -1
                piece.start = piece.end
        if not self.keeps_order:
            shuffle_items(&self.random, self.pieces.data, self.pieces.count, sizeof(Lined))
        return 1 if self.pieces.count else 0

    cdef size_t write_piece(self, size_t start, size_t end, uint8_t *out) noexcept nogil:
        """Write a line, and return its bytes."""
        cdef bint is_ended = self.data[end - 1] == 0x0A
        cdef size_t written = 0
        end -= is_ended
        while start < end and is_blank(self.data[start]):
            start += 1
        while end > start and is_blank(self.data[end - 1]):
            end -= 1
        if start < end:
            written = self.write_line(start, end, out)
            if written == 0 and is_ended:
                memcpy(out, b"{}", 2)
                written = 2
            elif written == 0:
                # the beginning of one, so that readers see it, too
                self.is_cut = True
                out[0] = 0x7B
                written = 1
        if is_ended:
            out[written] = 0x0A
        return written + is_ended

    cdef size_t write_line(self, size_t at, size_t end, uint8_t *out) noexcept nogil:
        """Write an object, and return its bytes; 0 if the line isn't one."""
        cdef const uint8_t *type
        cdef size_t done = 1, length
        cdef int key
        memset(self.found, 0, sizeof(self.found))
        if not self.read_object(&at, end, 0) or at != end or not self.found[K_TYPE].end:
            return 0
        type, length = self.data + self.found[K_TYPE].start, self.found[K_TYPE].end - self.found[K_TYPE].start
        if is_word(type, length, b" ROOT "):
            self.found[K_ADDRESS].end = 0
        elif not self.found[K_ADDRESS].end:
            return 0
        if not self.keeps_order:
            # shapes are numbered in the order in which they were made, and nothing refers to one by its number
            self.found[K_SHAPE_ID].end = 0
        out[0] = 0x7B
        for key in range(FIRST_FLAG):
            if key == K_FLAGS:
                done += self.write_flags(out + done)
            elif self.found[key].end and (FORMS[key] != A_NAME or may_have(type, length, key)):
                done += self.write_member(key, done == 1, out + done)
        key = KEYS - 1
        if self.found[key].end:
            done += self.write_member(key, False, out + done)
        out[done] = 0x7D
        return done + 1

    cdef size_t write_member(self, int key, bint is_first, uint8_t *out) noexcept nogil:
        cdef size_t done = 0, length = strlen(NAMES_OF_KEYS[key])
        cdef Span *found = &self.found[key]
        if not is_first:
            memcpy(out, b", ", 2)
            done = 2
        out[done] = 0x22
        memcpy(out + done + 1, NAMES_OF_KEYS[key], length)
        memcpy(out + done + 1 + length, b"\":", 2)
        done += length + 3
        if FORMS[key] == ADDRESSES:
            return done + self.write_addresses(found, out + done)
        if FORMS[key] == A_TRUTH:
            memcpy(out + done, b"true", 4)
            return done + 4
        length = found.end - found.start
        if FORMS[key] == A_NUMBER:
            memcpy(out + done, self.data + found.start, length)
            return done + length
        out[done] = 0x22
        if FORMS[key] == AN_ADDRESS:
            length = self.write_address(found.start, length, out + done + 1)
        elif FORMS[key] == A_NAME and self.growth > MOST_LONGER:
            length = self.put_renamed(self.data + found.start, length, out + done + 1)
        else:
            memcpy(out + done + 1, self.data + found.start, length)
        out[done + 1 + length] = 0x22
        return done + length + 2

    cdef size_t put_renamed(self, const uint8_t *text, size_t length, uint8_t *out) noexcept with gil:
        """Write another name, and return its bytes. Nothing is written of one that is too long for its place."""
        cdef bytes name
        cdef const uint8_t *found
        try:
            name = self.renamed(text[:length])
            if <size_t> len(name) > MOST_LONGER * length:
                return 0
            found = name
            memcpy(out, found, len(name))
            return len(name)
        except Exception:
            # there is nobody to raise it to
            self.has_failed = True
            return 0

    cdef size_t write_address(self, size_t start, size_t length, uint8_t *out) noexcept nogil:
        if self.keeps_order:
            memcpy(out, self.data + start, length)
            return length
        return put_address(self.new_address(address_in(self.data + start, length)), out)

    cdef size_t write_addresses(self, Span *found, uint8_t *out) noexcept nogil:
        """Write a list of addresses, which has been read before."""
        cdef size_t at = found.start, done = 1, each, other
        cdef Listed one
        cdef Listed *listed
        if self.is_list_plain and self.keeps_order:
            memcpy(out, self.data + found.start, found.end - found.start)
            return found.end - found.start
        self.listed.count = 0
        while at < found.end:
            if self.data[at] != 0x22:
                at += 1
                continue
            one.start, one.bytes = at + 1, string_end(self.data, at, found.end) - at - 1
            at += one.bytes + 2
            if vector_push(&self.listed, &one) < 0:
                self.has_failed = True
                break
        listed = <Listed *> self.listed.data
        out[0] = 0x5B
        for each in range(self.listed.count):
            # of more than 2^32 the first ones stay near their places
            other = each if self.keeps_order else each + <size_t> random_below(
                &self.random, min(self.listed.count - each, <size_t> 0xFFFFFFFF))
            one, listed[other] = listed[other], listed[each]
            if done > 1:
                memcpy(out + done, b", ", 2)
                done += 2
            out[done] = 0x22
            done += 1 + self.write_address(one.start, one.bytes, out + done + 1)
            out[done] = 0x22
            done += 1
        out[done] = 0x5D
        return done + 1

    cdef size_t write_flags(self, uint8_t *out) noexcept nogil:
        cdef size_t done = 0
        cdef int key
        for key in range(FIRST_FLAG, KEYS - 1):
            if self.found[key].end:
                if done == 0:
                    memcpy(out, b", \"flags\":{", 11)
                    done = 11
                done += self.write_member(key, done == 11, out + done)
        if done:
            out[done] = 0x7D
            done += 1
        return done

    # reading a line

    cdef bint read_object(self, size_t *place, size_t end, int depth) noexcept nogil:
        """Note the members that have the form of their keys, and move ``place`` past the object; False if it is none.

        ``depth`` is 1 for the flags.
        """
        cdef const uint8_t *data = self.data
        cdef size_t at = place[0], quote, start
        cdef int key
        cdef bint is_first = True
        if data[at] != 0x7B:
            return False
        at += 1
        while True:
            while at < end and is_blank(data[at]):
                at += 1
            if at < end and data[at] == 0x7D:
                place[0] = at + 1
                return True
            if at < end and data[at] == 0x2C and not is_first:
                at += 1
                while at < end and is_blank(data[at]):
                    at += 1
            elif not is_first:
                return False
            is_first = False
            if at >= end or data[at] != 0x22:
                return False
            quote = string_end(data, at, end)
            key = key_of(data + at + 1, quote - at - 1) if quote < end else -1
            at = quote + 1
            while at < end and is_blank(data[at]):
                at += 1
            if at >= end or data[at] != 0x3A:
                return False
            at += 1
            while at < end and is_blank(data[at]):
                at += 1
            if at >= end:
                return False
            if key == K_FLAGS and depth == 0 and data[at] == 0x7B:
                if not self.read_object(&at, end, 1):
                    return False
                continue
            start = at
            if not skip_value(data, &at, end, 0):
                return False
            if key >= 0 and (FIRST_FLAG <= key < KEYS - 1) == (depth == 1):
                self.note(key, start, at)

    cdef void note(self, int key, size_t start, size_t end) noexcept nogil:
        """Note a value, if it has the form of its key."""
        cdef const uint8_t *data = self.data
        cdef Span *found = &self.found[key]
        cdef size_t each
        cdef uint8_t form = FORMS[key]
        found.end = 0
        if form == ADDRESSES:
            if not is_list_of_addresses(data, start, end, &self.is_list_plain):
                return
        elif form == A_TRUTH:
            if end - start != 4 or data[start] != c"t":
                return
        elif form == A_NUMBER:
            if end - start > MOST_DIGITS:
                return
            for each in range(start, end):
                if not 0x30 <= data[each] <= 0x39:
                    return
        else:
            if end - start < 2 or data[start] != 0x22:
                return
            start += 1
            end -= 1
            if form == AN_ADDRESS and not is_address(data + start, end - start):
                return
            if form == A_WORD and not is_word(data + start, end - start, words_of(key)):
                return
        found.start, found.end = start, end


# the last key that begins with a character, and for each key the one before it that begins as it does; -1 for none
cdef int8_t[256] LAST_KEY
cdef int8_t[KEYS] KEY_BEFORE
memset(LAST_KEY, 0xFF, sizeof(LAST_KEY))
for _key in range(KEYS):
    KEY_BEFORE[_key] = LAST_KEY[<uint8_t> NAMES_OF_KEYS[_key][0]]
    LAST_KEY[<uint8_t> NAMES_OF_KEYS[_key][0]] = <int8_t> _key


cdef int key_of(const uint8_t *text, size_t length) noexcept nogil:
    cdef int each = LAST_KEY[text[0]]
    while each >= 0:
        if strlen(NAMES_OF_KEYS[each]) == length and memcmp(text, NAMES_OF_KEYS[each], length) == 0:
            return each
        each = KEY_BEFORE[each]
    return -1


cdef size_t string_end(const uint8_t *data, size_t at, size_t end) noexcept nogil:
    """Return the offset of the quote that closes the string whose opening quote is at ``at``, or ``end`` for none."""
    at += 1
    while at < end and data[at] != 0x22:
        at += 2 if data[at] == 0x5C else 1
    return at if at < end else end


cdef bint skip_value(const uint8_t *data, size_t *place, size_t end, int depth) noexcept nogil:
    """Move ``place`` past a value; False if there is none."""
    cdef size_t at = place[0], start = place[0]
    cdef uint8_t closing
    if depth > MOST_DEPTH or at >= end:
        return False
    if data[at] == 0x22:
        at = string_end(data, at, end)
        place[0] = at + 1
        return at < end
    if data[at] == 0x5B or data[at] == 0x7B:
        closing = 0x5D if data[at] == 0x5B else 0x7D
        at += 1
        while at < end and data[at] != closing:
            if data[at] == 0x2C or data[at] == 0x3A or is_blank(data[at]):
                at += 1
            elif not skip_value(data, &at, end, depth + 1):
                return False
        place[0] = at + 1
        return at < end
    while at < end and (0x30 <= data[at] <= 0x39 or data[at] == 0x2E or data[at] == 0x2D or data[at] == 0x2B
                        or 0x61 <= data[at] <= 0x7A or data[at] == 0x45):
        at += 1
    place[0] = at
    return at > start


cdef bint is_list_of_addresses(const uint8_t *data, size_t start, size_t end, bint *is_plain) noexcept nogil:
    """Return whether a value is a list of addresses, and note whether it is as Ruby writes it, with a comma and a blank
    between two.
    """
    cdef size_t at = start + 1, first
    is_plain[0] = True
    if data[start] != 0x5B:
        return False
    while at < end - 1:
        if data[at] == 0x22:
            first = at + 1
            at = first
            while at < end and data[at] != 0x22:
                at += 1
            if not is_address(data + first, at - first):
                return False
            at += 1
            if end - at > 2 and data[at] == 0x2C and data[at + 1] == 0x20 and data[at + 2] == 0x22:
                at += 2
        elif data[at] == 0x2C or is_blank(data[at]):
            is_plain[0] = False
            at += 1
        else:
            return False
    return True
