"""Where the binaries of a profile and their debug files are on this machine.

Names in a profile and in a binary are untrusted: ``local_paths`` decides which paths they may become, and such a path
is only ever opened if it is a regular file, and only for reading.
"""

import os
import posixpath
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from memlens import regular_files
from memlens.local_paths import below, is_local

DEBUG_FOLDER = Path("/usr/lib/debug")
_BUILD_ID = re.compile(r"^[0-9a-f]{4,128}$")
_CHUNK_BYTES = 1 << 20
_MOST_CHECKED_BYTES = 8 << 30


class Places(NamedTuple):
    """Where to look."""

    folders: Sequence[Path]
    """Those that the user named, first."""

    beside: Path
    """The profile's own folder."""

    only_folders: bool = False
    """Whether nothing is looked for elsewhere: in its own place, or where the system has debug files."""

    def of_binary(self, path: str, build_id: str) -> Iterator[Path]:
        """Yield where the binary ``path`` of a profile may be, the likeliest first.

        Below a folder it may have its whole path, as in a copy of a container's root, or its name alone.
        """
        plain = PurePosixPath(path.replace("\\", "/"))
        parts = [part for part in plain.parts if part != plain.anchor]
        if not parts:
            return
        for folder in self.folders:
            yield from _below(folder, parts)
            yield from _below(folder, parts[-1:])
        yield from _below(self.beside, parts[-1:])
        # only a path of this system can be the same file
        own = Path(path)
        if os.sep == "/" and not self.only_folders and own.is_absolute() and is_local(own, self.folders):
            yield own
        # where only the debug file is there
        for folder in self.folders:
            yield from _by_build_id(folder, build_id)
            yield from _below(folder, [f"{parts[-1]}.debug"])

    def of_debug_file(self, binary: Path, build_id: str, link: str) -> Iterator[Path]:
        """Yield where the debug file of a binary may be, by its build id and by its ``.gnu_debuglink``."""
        system = () if self.only_folders else (DEBUG_FOLDER,)
        for folder in (*self.folders, *system):
            yield from _by_build_id(folder, build_id)
        name = [PurePosixPath(link.replace("\\", "/")).name or f"{binary.name}.debug"]
        for folder in (binary.parent, binary.parent / ".debug", *self.folders, self.beside):
            yield from _below(folder, name)
        for folder in system:
            yield from _below(folder, [*binary.parent.parts[1:], *name])

    def of_package(self, binary: Path) -> Iterator[Path]:
        """Yield where a package of split debug information may be, which is named after the binary."""
        name = binary.name.removesuffix(".debug")
        for folder in (binary.parent, *self.folders, self.beside):
            yield from _below(folder, [f"{name}.dwp"])

    def of_split(self, binary: Path, path: str) -> Iterator[Path]:
        """Yield where a file with split debug information may be, whose path is that of the build."""
        yield from self.of_binary(path, "")
        yield from _below(binary.parent, [PurePosixPath(path.replace("\\", "/")).name])

    def of_supplement(self, binary: Path, path: str, build_id: str) -> Iterator[Path]:
        """Yield where a file that dwz made may be: at its path, with other debug files, and by its build id."""
        plain = PurePosixPath(path.replace("\\", "/"))
        if plain.is_absolute():
            yield from self.of_binary(path, build_id)
        else:
            from_there = Path(posixpath.normpath(posixpath.join(binary.parent.as_posix(), plain.as_posix())))
            if is_local(from_there, (*self.folders, binary.parent)):
                yield from_there
            yield from self.of_binary(plain.name, build_id)
        system = () if self.only_folders else (DEBUG_FOLDER,)
        for folder in (*self.folders, *system):
            yield from _below(folder, [".dwz", plain.name])
            yield from _by_build_id(folder, build_id)


def _is_of_run(path: Path) -> bool:
    return path.parts[1:2] == ("run",)


def opened(path: Path) -> BinaryIO | None:
    """Open a regular file of a disk for reading; None if it is anything else, or can't be read."""
    try:
        # what a link leads to counts, too
        is_of_run = any(map(_is_of_run, (path, Path(os.path.realpath(path)))))
        return None if is_of_run else regular_files.opened(path)
    except (OSError, ValueError):
        return None


def checksum(file: BinaryIO) -> int | None:
    """Return the CRC of a whole file that ``.gnu_debuglink`` has; None if the file is too large."""
    if os.fstat(file.fileno()).st_size > _MOST_CHECKED_BYTES:
        return None
    file.seek(0)
    value = 0
    while chunk := file.read(_CHUNK_BYTES):
        value = zlib.crc32(chunk, value)
    return value


def _below(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    path = below(folder, parts)
    if path is not None:
        yield path


def _by_build_id(folder: Path, build_id: str) -> Iterator[Path]:
    if _BUILD_ID.match(build_id):
        name = f"{build_id[2:]}.debug"
        yield folder / ".build-id" / build_id[:2] / name
        yield folder / build_id[:2] / name
