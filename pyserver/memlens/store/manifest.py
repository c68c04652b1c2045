"""``manifest.json``, the one file of an archive that names the others."""

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
from msgspec import Struct

from memlens.errors import MemlensError, reason
from memlens.kernels.base.checksum import Checksum
from memlens.model.graph import ReferenceKind
from memlens.model.info import SnapshotInfo
from memlens.regular_files import opened_at
from memlens.texts import phrase

if sys.platform != "win32":
    import fcntl

FORMAT_VERSION = 52
"""Raised whenever an older archive could be misread; such archives are made again."""

FILE_NAME = "manifest.json"

_NO_CHECKSUM = "0" * 16
"""Placeholder for the manifest's own checksum while that is computed."""


class ArchiveError(MemlensError):
    """An archive is missing, of another version, or fails a check of its own: its files are not what was written.

    Raised only in ``store/`` and only by such a check; callers then make the archive again. Any other error with an
    archive that passes its checks is a bug in Memlens.
    """

    code = "archive"
    advice = phrase("Open the snapshot again: the archive is made again from its file.")


_OF_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def is_of_process(error: Exception) -> bool:
    """True for an error of this process rather than the archive: too many open files, or out of memory."""
    return isinstance(error, OSError) and error.errno in _OF_PROCESS


class InconsistentError(Exception):
    """An archive's contents contradict each other: a bug, unless the checksums show that it was damaged."""


CONTRADICTIONS = (InconsistentError, IndexError, OverflowError)
"""What a question ends by where columns contradict each other: views find it, or kernels, which know no archives.

Or a figure is larger than any that a reader lets into an archive.
"""


class ContradictionError(MemlensError):
    """One of :data:`CONTRADICTIONS` as a child process reports it: its server knows what archive that is."""

    code = "contradiction"
    advice = ArchiveError.advice

    def __init__(self, error: Exception) -> None:
        super().__init__(phrase("The archive contradicts itself: {reason}", reason=str(error)))


_SAMPLES, _SAMPLE_BYTES = 16, 4096


class SourceFile(Struct, frozen=True):
    """The identity that the file of an archive had when the archive was made.

    Size and time of modification aren't enough, since programs that copy or unpack files set the time. Of a file of up
    to 64 KiB the samples are all of it. That a larger one was rewritten shows, on POSIX systems, in the time of the
    last change, which no program can set; on Windows, which has none, in the samples unless it is equal there.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int = 0
    """When the content or the inode last changed. 0 if the samples are the whole file, and on Windows, where Python's
    ``st_ctime`` is the time of creation.
    """
    sample: str = ""
    """The checksum of 16 blocks of 4 KiB: the first, the last and those evenly between. Empty if it can't be read."""

    def seems(self, other: "SourceFile") -> bool:
        """Whether this seems to be the other file. Moving a file away and back changes the time of its last change."""
        return msgspec.structs.replace(self, ctime_ns=other.ctime_ns) == other

    @property
    def version(self) -> str:
        """A text that differs for each content of the file, as far as that can be known without reading all of it."""
        return f"{self.size}-{self.mtime_ns}-{self.ctime_ns}-{self.sample}"

    @classmethod
    def of(cls, path: Path) -> "SourceFile":
        """The file's current identity. Raises OSError if it doesn't exist."""
        # before the path is resolved, since that of a pipe leads nowhere
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            # reading a pipe or a device could block forever
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        real = path.resolve(strict=True)
        # names are bytes to the system; escapes keep those that aren't text distinct
        name = os.fsencode(real).decode("utf-8", "backslashreplace")
        is_known = status.st_size <= _SAMPLES * _SAMPLE_BYTES or sys.platform == "win32"
        changed = 0 if is_known else status.st_ctime_ns
        return cls(name, status.st_size, status.st_mtime_ns, changed, _sample_of(real, status.st_size))


def _sample_of(path: Path, size: int) -> str:
    """The checksum of some blocks of a file: of all of it if it isn't longer than these."""
    last = max(size - _SAMPLE_BYTES, 0)
    checksum = Checksum()
    try:
        with opened_at(path, buffering=0) as file:
            for offset in sorted({last * number // (_SAMPLES - 1) for number in range(_SAMPLES)}):
                file.seek(offset)
                checksum.update(file.read(_SAMPLE_BYTES))
    except OSError:
        return ""
    return checksum.hexdigest()


class Packing(Struct, frozen=True):
    """How a column is compressed, see ``store/files/packed.py``."""

    rows: int
    """The rows of a block."""
    differences: bool
    """Whether numbers are written as differences."""


class ColumnEntry(Struct, frozen=True):
    """A column file: ``dtype`` as NumPy writes it (a list for structured rows), ``count`` rows."""

    dtype: Any
    count: int
    bytes: int
    """The size of the file."""
    checksum: str
    """XXH64 of the file, as 16 hexadecimal digits."""
    packing: Packing | None = None
    """None if the file is the rows as they are."""


class GraphNames(Struct, frozen=True):
    """The names for numbers in the columns of a heap dump; see :class:`memlens.model.graph.Graph`."""

    reference_kinds: list[ReferenceKind]
    type_kinds: list[str]
    root_kinds: list[str]
    flags: list[str]
    spaces: list[str]
    root: int | None
    """The graph's own root."""
    held_kinds: list[int]
    """Kinds of roots at which reachability doesn't begin, because references from other roots lead to them."""


class Share(Struct, frozen=True, array_like=True):
    """Some of a heap dump's objects, summed up."""

    objects: int
    shallow_bytes: int


class GraphShares(Struct, frozen=True):
    """The sums over a heap dump's objects that its overview shows; see ``store/objects/shares.py``."""

    unreachable: Share
    flags: list[Share]
    """By the bits of flags; an object may have several."""
    spaces: list[Share]
    """By the numbers of spaces."""
    roots: list[Share]
    """By kinds of roots; an object may be a root of several kinds."""


class Manifest(Struct, frozen=True):
    """Everything that is known about an archive without opening its columns."""

    format_version: int
    source: SourceFile
    info: SnapshotInfo
    first_allocations: list[int]
    """The number of each device's first allocation, in the order of ``info.devices``, then the total."""
    actions: list[str]
    streams: list[int]
    pools: list[tuple[int, int]]
    settings: dict[str, Any]
    columns: dict[str, ColumnEntry]
    frees_repeat: bool = False
    """Whether a free's stack only repeats that of its allocation, so that it isn't known where it was freed."""
    graph: GraphNames | None = None
    """For heap dumps, like the next one."""
    shares: GraphShares | None = None
    checksum: str = _NO_CHECKSUM
    """The checksum of the manifest itself, with 16 zeros in place of this value."""


class Origin(NamedTuple):
    """Identifies the archive from which something was computed."""

    archive: Path
    checksum: str
    """The manifest's checksum, which covers those of all files and the format's version."""
    kinds: int
    """:attr:`memlens.store.snapshot.Snapshot.relabelled`."""


def checksum_of(data: bytes) -> str:
    """The checksum of some bytes, as manifests have it."""
    checksum = Checksum()
    checksum.update(data)
    return checksum.hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, with its own checksum."""
    data = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    at = _place_of_checksum(data)
    data = data[:at] + checksum_of(data).encode() + data[at + len(_NO_CHECKSUM) :]
    (folder / FILE_NAME).write_bytes(data)


def _place_of_checksum(data: bytes) -> int:
    """Where the manifest's own checksum begins: it is the last field."""
    return data.rindex(b'"', 0, data.rindex(b'"')) + 1


def is_archive(folder: Path) -> bool:
    """Whether a folder was written by Memlens, in any version and state."""
    try:
        head = (folder / FILE_NAME).read_bytes()[:64]
    except OSError:
        return False
    return head.lstrip().startswith(b"{") and b'"format_version"' in head


def hold(archive: Path) -> BinaryIO:
    """Mark an archive as in use until the returned file is closed. Raises OSError."""
    file = (archive / FILE_NAME).open("rb")
    if sys.platform != "win32":
        # without locks in the file system archives stay unmarked; mapped files stay readable anyway
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return file


def in_use(archive: Path) -> bool:
    """Whether some process uses an archive. On Windows a mapped file can't be removed anyway."""
    if sys.platform != "win32":
        try:
            with (archive / FILE_NAME).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


def sizes_in(archive: Path) -> dict[str, int]:
    """The files in an archive, including artefacts that were added later, and the bytes of each."""
    sizes = {}
    # not by Path.iterdir, which takes three times as long, and a cache has thousands of files
    with os.scandir(archive) as entries:
        for entry in entries:
            # another process may be renaming a file at this moment
            with contextlib.suppress(FileNotFoundError):
                sizes[entry.name] = entry.stat().st_size
    return sizes


def read_manifest(archive: Path) -> Manifest:
    """Read an archive's manifest, and check it and the sizes of its files. Raises :class:`ArchiveError`."""
    try:
        data = (archive / FILE_NAME).read_bytes()
        # check the version first, because another one may have other fields
        version = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get("format_version")
        if version is None or bytes(version) != str(FORMAT_VERSION).encode():
            raise ArchiveError(
                phrase("The archive {archive} has a different format version", archive=archive.name)
            )
        manifest = msgspec.json.decode(data, type=Manifest)
        at = _place_of_checksum(data)
        if (
            checksum_of(data[:at] + _NO_CHECKSUM.encode() + data[at + len(_NO_CHECKSUM) :])
            != manifest.checksum
        ):
            raise ArchiveError(
                phrase(
                    "The archive {archive} is damaged: its manifest has the wrong checksum",
                    archive=archive.name,
                )
            )
        sizes = sizes_in(archive)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        if is_of_process(error):
            raise
        raise ArchiveError(
            phrase(
                "The archive {archive} can't be read: {reason}",
                archive=archive.name or archive,
                reason=reason(error) if isinstance(error, OSError) else str(error),
            )
        ) from error
    for name, column in manifest.columns.items():
        # an empty column has no file
        if sizes.get(name, 0) != column.bytes:
            raise ArchiveError(
                phrase(
                    "The archive {archive} is damaged: column {name} has the wrong size",
                    archive=archive.name,
                    name=name,
                )
            )
    return manifest
