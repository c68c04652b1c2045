"""Opens jars and zip files. Python reads the directory of one whole, so that its size is looked at before.

Source: sections 4.3.14 and 4.3.16 of PKWARE's ``APPNOTE.TXT``.
"""

import contextlib
import re
import struct
import zipfile
from pathlib import Path
from typing import IO, Any, BinaryIO

from memlens import regular_files
from memlens.formats.zip_files import METHODS

_MOST_BYTES = 16 << 20
"""The size limit of a directory: those of the largest libraries have 10 MB."""

_TAIL_BYTES = 22 + 0xFFFF + 76
"""The size limit of the records at the end, the last of which may have a comment."""

_ENDS = ((b"PK\x05\x06", "<12xI"), (b"PK\x06\x06", "<40xQ"))
"""The signatures of records that locate the directory, and the position of its size in each."""


def opened(path: Path) -> zipfile.ZipFile:
    """Open an archive. Raises OSError and BadZipFile."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(regular_files.opened(path))
        file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
        tail = file.read(_TAIL_BYTES)
        if _directory_bytes(tail) > _MOST_BYTES:
            raise zipfile.BadZipFile("its directory is too large")
        archive = _Archive(file)
        stack.pop_all()
        return archive


class _Archive(zipfile.ZipFile):
    """An archive that closes its file, and limits the unpacked bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._own = file
        super().__init__(file)

    def open(self, name: str | zipfile.ZipInfo, *arguments: Any, **options: Any) -> IO[bytes]:
        member = name if isinstance(name, zipfile.ZipInfo) else self.getinfo(name)
        if member.compress_type not in METHODS:
            raise zipfile.BadZipFile("it is compressed in another way than archives of libraries")
        return super().open(name, *arguments, **options)

    def close(self) -> None:
        super().close()
        self._own.close()


def _directory_bytes(tail: bytes) -> int:
    """The largest size in any of the records: readers differ in which one they use."""
    sizes = [0]
    for begin, form in _ENDS:
        for found in re.finditer(re.escape(begin), tail):
            if found.start() + struct.calcsize(form) <= len(tail):
                (size,) = struct.unpack_from(form, tail, found.start())
                sizes.append(0 if size == 0xFFFF_FFFF else size)
    return max(sizes)
