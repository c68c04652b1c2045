# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes Ruby's heap dumps anew without the text of strings and symbols: a line after the other.

What stays is listed, not what goes: of the texts of a line only those by the keys below. A line that isn't JSON, as
older Rubies write them, becomes ``{}``, which readers count as one as well. The text of a string may look like an
address, so that only those stay that are known to be one.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, strlen

from memlens.kernels.readers.scan cimport Scan

cdef enum:
    KEYS = 14
    ADDRESS_KEYS = 2
    MOST_MORE = 8           # bytes by which a line may become longer, beside one for each of its own

cdef const char **STAYS = [
    "address", "class", "superclass", "type", "struct", "imemo_type", "name", "edge_name", "real_class_name", "root",
    "file", "method", "encoding", "shape_type",
]
cdef const char **STAYS_IF_ADDRESS = ["references", "default"]


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


cdef bint is_among(const uint8_t *key, size_t length, const char **keys, int count) noexcept nogil:
    cdef int each
    for each in range(count):
        if strlen(keys[each]) == length and memcmp(key, keys[each], length) == 0:
            return True
    return False


cdef bint stays(const uint8_t *key, size_t key_length, const uint8_t *text, size_t length) noexcept nogil:
    if key == NULL:
        return False
    return is_among(key, key_length, STAYS, KEYS) or (
        is_address(text, length) and is_among(key, key_length, STAYS_IF_ADDRESS, ADDRESS_KEYS))


cdef size_t literal(const uint8_t *data, size_t at, size_t end) noexcept nogil:
    """Return the bytes of the number or the word of JSON at ``at``; 0 for none."""
    cdef size_t start = at
    if end - at >= 4 and (memcmp(data + at, b"true", 4) == 0 or memcmp(data + at, b"null", 4) == 0):
        return 4
    if end - at >= 5 and memcmp(data + at, b"false", 5) == 0:
        return 5
    while at < end and (0x30 <= data[at] <= 0x39 or data[at] == 0x2E or data[at] == 0x2D):
        at += 1
    return at - start


cdef class Lines(Scan):
    """Writes the lines of ``data``. After the last call ``is_cut`` says whether the last one was incomplete."""

    cdef readonly uint64_t needed
    cdef readonly bint is_cut

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
            # an empty text becomes null
            if room - count[0] < 2 * (end - start) + MOST_MORE:
                self.needed = 0 if count[0] else 2 * (end - start) + MOST_MORE
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
        cdef const uint8_t *data = self.data
        cdef const uint8_t *key = NULL
        cdef size_t key_length = 0, done = 0, after, length, next_
        cdef int depth = 0
        if data[at] != 0x7B or data[end - 1] != 0x7D:
            return 0
        while at < end:
            if data[at] == 0x22:
                after = at + 1
                while after < end and data[after] != 0x22:
                    after += 2 if data[after] == 0x5C else 1
                if after >= end:
                    return 0
                length = after - at - 1
                next_ = after + 1
                while next_ < end and is_blank(data[next_]):
                    next_ += 1
                if next_ < end and data[next_] == 0x3A:
                    key, key_length = data + at + 1, length
                elif not stays(key, key_length, data + at + 1, length):
                    memcpy(out + done, b"null", 4)
                    done += 4
                    at = after + 1
                    continue
                out[done] = 0x22
                memcpy(out + done + 1, data + at + 1, length)
                out[done + 1 + length] = 0x22
                done += length + 2
                at = after + 1
                continue
            if data[at] == 0x7B or data[at] == 0x5B:
                depth += 1
            elif data[at] == 0x7D or data[at] == 0x5D:
                depth -= 1
            elif data[at] != 0x3A and data[at] != 0x2C and not is_blank(data[at]):
                length = literal(data, at, end)
                if length == 0:
                    return 0
                memcpy(out + done, data + at, length)
                done += length
                at += length
                continue
            out[done] = data[at]
            done += 1
            at += 1
            if depth == 0 and at < end:
                return 0
        return done if depth == 0 else 0
