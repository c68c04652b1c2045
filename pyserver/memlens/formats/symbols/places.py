"""Where the binaries of a profile and their debug files are on this machine.

A path in a profile is untrusted: it is only ever opened if it is a regular file of a local disk, and only for reading.
"""

import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

DEBUG_FOLDER = Path("/usr/lib/debug")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/net/", "/run/")
"""Folders whose files are devices, the system's own, or mount what their name says."""
_BUILD_ID = re.compile(r"^[0-9a-f]{4,128}$")
_CHUNK_BYTES = 1 << 20


def opened(path: Path) -> BinaryIO | None:
    """Open a regular file of a local disk for reading; None if it is anything else, or can't be read."""
    text = str(path)
    if "\0" in text or text.startswith(("\\\\", "//")) or not path.is_absolute():
        return None
    try:
        real = os.path.realpath(text)
        # what a link leads to counts, too
        if real.startswith(("\\\\", "//", *_SYSTEM)) or not stat.S_ISREG(Path(real).stat().st_mode):
            return None
        flags = (
            os.O_RDONLY
            | getattr(os, "O_NONBLOCK", 0)
            | getattr(os, "O_BINARY", 0)
            | getattr(os, "O_NOCTTY", 0)
        )
        number = os.open(real, flags)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        return None
    return os.fdopen(number, "rb")


def candidates(path: str, build_id: str, folders: Sequence[Path], beside: Path) -> Iterator[Path]:
    """Yield where the binary ``path`` of a profile may be: in the named ``folders``, beside the profile, in its place.

    Below a folder it may have its whole path, as in a copy of a container's root, or its name alone.
    """
    plain = PurePosixPath(path.replace("\\", "/"))
    parts = [part for part in plain.parts if part not in ("/", "..", ".") and ":" not in part]
    if not parts:
        return
    for folder in folders:
        yield folder.joinpath(*parts)
        yield folder / parts[-1]
        yield from _by_build_id(folder, build_id)
        yield folder / f"{parts[-1]}.debug"
    yield beside / parts[-1]
    # only a path of this system can be the same file
    if sys.platform != "win32" and plain.is_absolute() and ".." not in plain.parts:
        yield Path(path)


def debug_candidates(
    binary: Path, build_id: str, link: str, folders: Sequence[Path], beside: Path
) -> Iterator[Path]:
    """Yield where the debug file of a binary may be, by its build id and by its ``.gnu_debuglink``."""
    for folder in (*folders, DEBUG_FOLDER):
        yield from _by_build_id(folder, build_id)
    name = PurePosixPath(link.replace("\\", "/")).name
    if name not in ("", "..", "."):
        for folder in (binary.parent, binary.parent / ".debug", *folders, beside):
            yield folder / name
        if binary.is_absolute():
            yield DEBUG_FOLDER.joinpath(*binary.parent.parts[1:], name)


def checksum(file: BinaryIO) -> int:
    """Return the CRC of a whole file that ``.gnu_debuglink`` has."""
    file.seek(0)
    value = 0
    while chunk := file.read(_CHUNK_BYTES):
        value = zlib.crc32(chunk, value)
    return value


def _by_build_id(folder: Path, build_id: str) -> Iterator[Path]:
    if _BUILD_ID.match(build_id):
        name = f"{build_id[2:]}.debug"
        yield folder / ".build-id" / build_id[:2] / name
        yield folder / build_id[:2] / name
