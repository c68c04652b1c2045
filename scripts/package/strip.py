"""Strips debug information from a Linux binary: it makes some wheels ten times as large."""

import struct

_ALLOCATED = 0x2
_HEADER = "<IIQQQQIIQQ"


def without_debug(data: bytes) -> bytes:
    """Return a 64-bit ELF file without the sections that aren't loaded; what can't be made smaller is as it was.

    Loaders read program headers and what these lead to, which stays byte for byte where it was. The section table,
    which is for tools, is written anew.
    """
    if data[:5] != b"\x7fELF\x02":
        return data
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from(_HEADER, data, table + i * size) for i in range(count)]
    kept = 1
    while kept < count and sections[kept][2] & _ALLOCATED:
        kept += 1
    rest = sections[kept:]
    if not rest or any(section[2] & _ALLOCATED for section in rest):
        return data  # sections that are loaded don't come first
    no_bits = 8
    end = max(s[4] + (0 if s[1] == no_bits else s[5]) for s in sections[:kept])
    segments, (segment_size, segment_count) = (
        struct.unpack_from("<Q", data, 32)[0],
        struct.unpack_from("<HH", data, 54),
    )
    for i in range(segment_count):
        _, _, offset, _, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", data, segments + i * segment_size)
        end = max(end, offset + length)
    if end > min(section[4] for section in rest if section[1] != no_bits):
        return data
    name_table = data[sections[names][4] : sections[names][4] + sections[names][5]]
    body = bytearray(data[:end] + name_table)
    body += bytes(-len(body) % 8)
    struct.pack_into("<Q", body, 40, len(body))
    struct.pack_into("<HHH", body, 58, size, kept + 1, kept)
    for section in sections[:kept]:
        body += struct.pack(_HEADER, *section)
    name, kind, flags, address, _, _, link, info, align, entry = sections[names]
    body += struct.pack(_HEADER, name, kind, flags, address, end, len(name_table), link, info, align, entry)
    return bytes(body) if len(body) < len(data) else data
