"""Compresses the files of a zip archive again, as well as deflate can: libdeflate saves six percent of a package.

Run by the Python of the tools (tools.py), which has libdeflate.
"""

import struct
import sys
import zipfile
import zlib
from pathlib import Path

import deflate

STRONGEST = 12
_DEFLATED, _STORED = 8, 0
_UTF_8_NAMES = 0x800
_LOCAL, _CENTRAL, _END = "<4s5H3I2H", "<4s6H3I5H2I", "<4s4H2IH"


def repack(path: Path) -> None:
    """Write an archive again, with the same files, times and modes in the same order."""
    with zipfile.ZipFile(path) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    body, directory = bytearray(), bytearray()
    for entry, content in entries:
        packed = deflate.deflate_compress(content, STRONGEST)
        method = _DEFLATED if len(packed) < len(content) else _STORED
        data = packed if method == _DEFLATED else content
        name, at = entry.filename.encode(), len(body)
        year, month, day, hour, minute, second = entry.date_time
        when = (hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day)
        sizes = (zlib.crc32(content), len(data), len(content))
        body += struct.pack(_LOCAL, b"PK\3\4", 20, _UTF_8_NAMES, method, *when, *sizes, len(name), 0)
        body += name + data
        directory += struct.pack(
            _CENTRAL,
            b"PK\1\2",
            entry.create_system << 8 | 20,
            20,
            _UTF_8_NAMES,
            method,
            *when,
            *sizes,
            len(name),
            0,
            0,
            0,
            0,
            entry.external_attr,
            at,
        )
        directory += name
    end = struct.pack(_END, b"PK\5\6", 0, 0, len(entries), len(entries), len(directory), len(body), 0)
    path.write_bytes(bytes(body + directory) + end)
    with zipfile.ZipFile(path) as archive:
        if [(entry.filename, archive.read(entry)) for entry in archive.infolist()] != [
            (entry.filename, content) for entry, content in entries
        ]:
            raise SystemExit(f"{path} was not packed correctly.")


if __name__ == "__main__":
    repack(Path(sys.argv[1]))
