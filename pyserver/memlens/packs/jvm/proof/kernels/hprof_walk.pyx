# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lists the records of a piece of a Java heap, for the check of what ``memlens redact`` wrote.

It shares no code with what reads and writes heap dumps, so that a fault there isn't one here as well.
"""

from libc.stdint cimport uint8_t, uint64_t

COLUMNS = 6
"""For each record: its tag, its id, its class (of instances and arrays) or type (of elements), where its contents
begin, their bytes, and whether these are other than zeros: 2 if not all of them are in the piece."""

OK, MORE, UNKNOWN = range(3)

cdef enum:
    R_OK
    R_MORE
    R_UNKNOWN


cdef inline uint64_t number(const uint8_t *at, int width) noexcept nogil:
    cdef uint64_t value = 0
    cdef int each
    for each in range(width):
        value = value << 8 | at[each]
    return value


cdef inline int width_of(int type, int id_bytes) noexcept nogil:
    if type == 2:
        return id_bytes
    if type == 4 or type == 8:
        return 1
    if type == 5 or type == 9:
        return 2
    if type == 6 or type == 10:
        return 4
    if type == 7 or type == 11:
        return 8
    return 0


cdef inline int fixed_bytes(int tag, int id_bytes) noexcept nogil:
    """Bytes of a root or of Android's records after the tag and the id; -1 for others."""
    if tag == 0x01:
        return id_bytes
    if tag == 0x02 or tag == 0x03 or tag == 0x08 or tag == 0x8E:
        return 8
    if tag == 0x04 or tag == 0x06:
        return 4
    if tag in (0x05, 0x07, 0xFF, 0x89, 0x8A, 0x8B, 0x8C, 0x8D, 0x90):
        return 0
    return -1


def walk(const uint8_t[::1] data: Buffer, int id_bytes, uint64_t[:, ::1] rows) -> tuple[int, int, int]:
    """List the records from the first byte on, as many as ``rows`` has room for.

    Returns how many there are, where the next one begins, and whether it needs MORE bytes or is UNKNOWN.
    """
    cdef size_t at = 0, body, bytes, end = data.shape[0], each, left
    cdef Py_ssize_t count = 0
    cdef int tag, width, step, groups, status = R_OK, head, fixed
    cdef uint64_t items
    cdef bint whole
    with nogil:
        while at < end and count < rows.shape[0]:
            tag = data[at]
            body = at + 1
            left = end - body
            rows[count, 0] = tag
            rows[count, 2] = rows[count, 4] = rows[count, 5] = 0
            fixed = fixed_bytes(tag, id_bytes)
            if fixed >= 0:
                bytes = id_bytes + fixed
                if left < bytes:
                    status = R_MORE
                    break
                rows[count, 1] = number(&data[body], id_bytes)
                rows[count, 3] = body + id_bytes
                rows[count, 4] = fixed
                at = body + bytes
                count += 1
                continue
            if tag == 0xFE:
                if left < 4 + <size_t> id_bytes:
                    status = R_MORE
                    break
                rows[count, 1] = number(&data[body + 4], id_bytes)
                rows[count, 3] = body
                at = body + 4 + id_bytes
                count += 1
                continue
            if tag == 0x21:
                head = 2 * id_bytes + 8
            elif tag == 0x22:
                head = 2 * id_bytes + 8
            elif tag == 0x23 or tag == 0xC3:
                head = id_bytes + 9
            elif tag == 0x20:
                head = 7 * id_bytes + 8
            else:
                status = R_UNKNOWN
                break
            if left < <size_t> head:
                status = R_MORE
                break
            rows[count, 1] = number(&data[body], id_bytes)
            if tag == 0x20:
                # constants, static fields, fields
                each = body + head
                whole = True
                for groups in range(3):
                    if end - each < 2:
                        whole = False
                        break
                    items = number(&data[each], 2)
                    each += 2
                    while items and whole:
                        items -= 1
                        step = 2 if groups == 0 else id_bytes
                        if end - each < <size_t> step + 1:
                            whole = False
                            break
                        width = width_of(data[each + step], id_bytes)
                        if width == 0:
                            status = R_UNKNOWN
                            whole = False
                            break
                        each += step + 1
                        if groups < 2:
                            if end - each < <size_t> width:
                                whole = False
                                break
                            each += width
                    if not whole:
                        break
                if not whole:
                    status = R_UNKNOWN if status == R_UNKNOWN else R_MORE
                    break
                rows[count, 3] = body
                rows[count, 4] = each - body
                rows[count, 5] = 1
                at = each
                count += 1
                continue
            if tag == 0x21:
                rows[count, 2] = number(&data[body + id_bytes + 4], id_bytes)
                bytes = number(&data[body + 2 * id_bytes + 4], 4)
            elif tag == 0x22:
                rows[count, 2] = number(&data[body + id_bytes + 8], id_bytes)
                bytes = number(&data[body + id_bytes + 4], 4) * id_bytes
            else:
                rows[count, 2] = data[body + id_bytes + 8]
                width = width_of(data[body + id_bytes + 8], id_bytes)
                if width == 0 or data[body + id_bytes + 8] == 2:
                    status = R_UNKNOWN
                    break
                bytes = 0 if tag == 0xC3 else number(&data[body + id_bytes + 4], 4) * width
            body += head
            rows[count, 3] = body
            rows[count, 4] = bytes
            if end - body < bytes:
                rows[count, 5] = 2
                at = body + bytes
                count += 1
                status = R_MORE
                break
            for each in range(bytes):
                if data[body + each]:
                    rows[count, 5] = 1
                    break
            at = body + bytes
            count += 1
    return count, at, status
