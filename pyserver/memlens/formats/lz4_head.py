"""The uncompressed beginning of an LZ4 frame, enough to recognise a file's format.

Source: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md and ``lz4_Block_format.md`` there.
"""

MAGIC = b"\x04\x22\x4d\x18"


def lz4_head(data: bytes, most: int) -> bytes:
    """Decompress up to ``most`` bytes of the first block of an LZ4 frame; fewer if it is damaged."""
    if data[:4] != MAGIC or len(data) < 7:
        return b""
    flags = data[4]
    at = 7 + 8 * bool(flags & 0x08) + 4 * bool(flags & 0x01)
    size = int.from_bytes(data[at : at + 4], "little")
    block = data[at + 4 : at + 4 + (size & 0x7FFFFFFF)]
    return block[:most] if size & 0x80000000 else _block(block, most)


def _block(block: bytes, most: int) -> bytes:
    out = bytearray()
    at = 0
    while at < len(block) and len(out) < most:
        token = block[at]
        literals, at = _length(block, at + 1, token >> 4)
        out += block[at : at + literals]
        at += literals
        if at + 2 > len(block):
            break
        offset = int.from_bytes(block[at : at + 2], "little")
        matched, at = _length(block, at + 2, token & 15)
        if not 0 < offset <= len(out):
            break
        matched = min(matched + 4, most)
        # a match may overlap its own output
        pattern = bytes(out[-offset:])
        out += (pattern * (matched // offset + 1))[:matched]
    return bytes(out[:most])


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    """Read the rest of a length whose first four bits are ``length``; return it and the offset after it."""
    if length == 15:
        while at < len(block):
            length += block[at]
            at += 1
            if block[at - 1] != 255:
                break
    return length, at
