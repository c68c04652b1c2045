"""Zip files: their entries within limits, and what a zip file is that has no snapshot in it."""

import contextlib
import io
import mmap
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from memlens.errors import MemlensError
from memlens.formats.errors import NotASnapshotError
from memlens.formats.packing import DamagedContainerError
from memlens.packs import registry
from memlens.texts import Text, in_a_row, phrase
from memlens.units import shortened

MAGIC = b"PK\x03\x04"

_MOST_ENTRIES = 64
_MOST_DIRECTORY_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 20
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Python unpacks what others packed, such as bzip2, without a bound: a kilobyte may be gigabytes of memory."""
_NAME_AT, _NAME_LENGTH_AT = 30, 26
_MOST_NAMES, _MOST_NAME = 3, 40

_KNOWN: tuple[tuple[str, Text], ...] = (
    ("[Content_Types].xml", phrase("it is an office document or a package")),
)
"""How names of entries end, and what a file with such an entry is, beside those that packs know."""


class DamagedZipError(MemlensError):
    """A zip file that is damaged, or can't be unpacked."""

    code = "damaged"
    advice = phrase("Copy or record the file again.")


class _MapFile(io.RawIOBase):
    """Mapped bytes as a file for ``zipfile``, whose directory, read at once, is limited."""

    def __init__(self, data: mmap.mmap | bytes) -> None:
        self._data = data
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._data)}[whence]
        if base + offset < 0:
            raise zipfile.BadZipFile("it refers to a place before its beginning")
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        count = size if size >= 0 else len(self._data) - self._at
        if count > _MOST_DIRECTORY_BYTES:
            raise refusal([first_name(self._data[:_CHUNK_BYTES])], cut=True)
        return super().read(max(count, 0)) or b""

    def readinto(self, buffer: Any) -> int:
        data = self._data[self._at : self._at + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def first_name(head: bytes) -> str:
    """Return the name of a zip file's first entry by its first bytes; "" if it isn't one."""
    if not head.startswith(MAGIC) or len(head) < _NAME_AT:
        return ""
    length = int.from_bytes(head[_NAME_LENGTH_AT : _NAME_LENGTH_AT + 2], "little")
    return head[_NAME_AT : _NAME_AT + length].decode("utf-8", "replace")


@contextlib.contextmanager
def opened(data: mmap.mmap | bytes) -> Iterator[zipfile.ZipFile]:
    """Open a zip file of few entries. Raises :class:`NotASnapshotError` and :class:`DamagedZipError`, also within."""
    try:
        with zipfile.ZipFile(_MapFile(data)) as archive:
            if len(archive.infolist()) > _MOST_ENTRIES:
                raise refusal(archive.namelist())
            yield archive
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
        UnicodeDecodeError,
    ) as error:
        raise DamagedZipError(phrase("The zip file is damaged: {reason}", reason=str(error))) from error


def entries_named(archive: zipfile.ZipFile, *names: str) -> dict[str, zipfile.ZipInfo]:
    """Return the entries with these names, in whatever folder.

    Raises :class:`NotASnapshotError` without one of them, :class:`DamagedZipError` if there are two of a name or
    one is encrypted or packed by another method than deflate.
    """
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        # the zip file may contain the folder of the files
        name = info.filename.rsplit("/", 1)[-1]
        if name in names:
            if name in entries:
                raise DamagedZipError(phrase("The zip file has two files named {name}", name=name))
            if info.flag_bits & 1:
                raise DamagedZipError(
                    phrase("{name} is encrypted", name=name),
                    advice=phrase("Unzip it, and zip it without a password."),
                )
            if info.compress_type not in METHODS:
                raise DamagedZipError(
                    phrase("{name} uses a compression method that Memlens can't unpack", name=name),
                    advice=phrase("Unzip it, and open what was in it."),
                )
            entries[name] = info
    if len(entries) < len(names):
        raise refusal(archive.namelist())
    return entries


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
    """Yield an entry's contents. Raises :class:`DamagedContainerError` beyond ``most`` bytes."""
    size = 0
    with archive.open(info) as file:
        while chunk := file.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > most:
                raise DamagedContainerError(
                    phrase(
                        "{file} unpacks to more than {most} bytes",
                        file=info.filename[:100],
                        most=most,
                    )
                )
            yield chunk


def refusal(names: list[str], *, cut: bool = False) -> NotASnapshotError:
    """Return the error for a zip file without a snapshot, by the names of its entries; ``cut`` if it has others."""
    known = (*(each for pack in registry.packs() for each in pack.zip_files), *_KNOWN)
    described = next((text for end, text in known if any(name.endswith(end) for name in names)), None)
    return NotASnapshotError(
        phrase(
            "The file is a zip file without a snapshot that Memlens reads: {description}",
            description=described or _listed(names, cut=cut),
        ),
        advice=in_a_row(
            [phrase("If one of its files is a snapshot, unzip that and open it."), NotASnapshotError.advice],
            " ",
        ),
    )


def _listed(names: list[str], *, cut: bool) -> Text:
    shown = ", ".join(shortened(name, _MOST_NAME) for name in names[:_MOST_NAMES])
    if cut:
        return phrase("it contains {names} and many other files", names=shown)
    if len(names) > _MOST_NAMES:
        return phrase("it contains {names} and {n} more", names=shown, n=len(names) - _MOST_NAMES)
    return phrase("it contains {names}", names=shown) if names else phrase("it is empty")
