# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes Ruby's heap dumps anew without the text of strings and symbols: a line after the other.

A line is written from what was understood of it: the keys that Ruby has, each with a value of its form. All else is
left out. A line that isn't JSON, as older Rubies write them, or that isn't an object becomes ``{}``, which readers
count as one as well.

Source of the format: ``ext/objspace/objspace_dump.c`` of Ruby.
"""

import os

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset, strlen

from memlens.kernels.base.random cimport random_below
from memlens.kernels.base.vectors cimport Vector, vector_push
from memlens.kernels.readers.scan cimport Scan

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
    MOST_DIGITS = 20
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
    size_t start, bytes     # of an address with its quotes


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


cdef class Lines(Scan):
    """Writes the lines of ``data``. After the last call ``is_cut`` says whether the last one was incomplete."""

    cdef readonly uint64_t needed
    cdef readonly bint is_cut
    cdef Span found[KEYS]
    cdef object renamed         # what a name is written as, as a function of its bytes; None if names stay
    cdef size_t growth          # how many times as long a line may become, at most
    cdef readonly bint has_failed
    cdef bint keeps_order       # of the addresses of a list
    cdef uint64_t random
    cdef Vector listed
    cdef bint is_list_plain     # whether there is nothing between the addresses of a list but what Ruby writes there

    def __cinit__(self, _, bint keeps_order):
        self.growth = 2
        self.keeps_order = keeps_order
        self.random = int.from_bytes(os.urandom(8), "little")
        self.own(&self.listed, sizeof(Listed))

    def rename(self, renamed):
        """Write names as what ``renamed`` returns for their bytes, both as JSON has them between the quotes."""
        self.renamed, self.growth = renamed, MOST_LONGER + 2

    def fill(self, uint8_t[::1] out) -> int:
        """Write the lines that come next, and return how many bytes that is; 0 at the end, or if ``needed`` isn't 0."""
        cdef size_t done = 0
        self.needed = 0
        with nogil:
            self.write_lines(&out[0], out.shape[0], &done)
        return done

    cdef void write_lines(self, uint8_t *out, size_t room, size_t *count) noexcept nogil:
        cdef size_t start, end, written
        cdef const void *line_break
        while self.position < self.length:
            start = self.position
            line_break = memchr(self.data + start, 0x0A, self.length - start)
            end = self.length if line_break == NULL else <size_t> (<const uint8_t *> line_break - self.data)
            if room - count[0] < self.growth * (end - start) + MOST_MORE:
                self.needed = 0 if count[0] else self.growth * (end - start) + MOST_MORE
                return
            while start < end and is_blank(self.data[start]):
                start += 1
            while end > start and is_blank(self.data[end - 1]):
                end -= 1
            self.position = self.length if line_break == NULL else <size_t> (
                <const uint8_t *> line_break - self.data) + 1
            written = self.write_line(start, end, out + count[0]) if start < end else 0
            if start < end and written == 0:
                if line_break == NULL:
                    # the beginning of one, so that readers see it, too
                    self.is_cut = True
                    out[count[0]] = 0x7B
                    written = 1
                else:
                    memcpy(out + count[0], b"{}", 2)
                    written = 2
            count[0] += written
            if line_break != NULL:
                out[count[0]] = 0x0A
                count[0] += 1

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
        if FORMS[key] == A_NAME and self.growth > 2:
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
            one.start, one.bytes = at, string_end(self.data, at, found.end) + 1 - at
            at += one.bytes
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
            memcpy(out + done, self.data + one.start, one.bytes)
            done += one.bytes
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


cdef int key_of(const uint8_t *text, size_t length) noexcept nogil:
    cdef int each
    for each in range(KEYS):
        if text[0] == <uint8_t> NAMES_OF_KEYS[each][0] and strlen(NAMES_OF_KEYS[each]) == length and (
                memcmp(text, NAMES_OF_KEYS[each], length) == 0):
            return each
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
