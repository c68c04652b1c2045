"""Writing folders and files: readable only by their owner, with a message for a full disk."""

import contextlib
import errno
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from memlens.errors import MemlensError
from memlens.texts import Text, Value, phrase

FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
"""The system's errors for a full disk, an exceeded quota, or a file larger than the disk or a limit allows."""


class FullDiskError(MemlensError):
    """The disk has no room for a file."""

    code = "system"
    advice = phrase(
        "Free some space on it, or choose a folder elsewhere in the setting memlens.cache.directory (on the "
        "command line --cache-dir)."
    )


@contextlib.contextmanager
def room_in(folder: Path, what: Value, advice: Text | None = None) -> Iterator[None]:
    """Raises :class:`FullDiskError` if the disk is full or a quota is exceeded while ``what`` is written."""
    try:
        yield
    except Exception as error:
        full = error.errno in FULL if isinstance(error, OSError) else _is_full_of_sqlite(error)
        if not full:
            raise
        raise FullDiskError(
            phrase("The disk of {folder} has no room for {what}", folder=folder, what=what),
            advice=advice,
        ) from error


def _is_full_of_sqlite(error: Exception) -> bool:
    # apsw is imported only where a database is written
    return type(error).__module__ == "apsw" and type(error).__name__ == "FullError"


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents with access only for the owner, because recordings are private."""
    missing = []
    for parent in (folder, *folder.parents):
        if parent.exists():
            break
        missing.append(parent)
    for parent in reversed(missing):
        parent.mkdir(mode=0o700, exist_ok=True)
    if not missing and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def partial_file(target: Path, process_id: int) -> Path:
    """Return where a process writes what is to become the file ``target``.

    The name ends in a checksum of the rest, so that nobody else's file has it by accident and is taken for one that a
    killed process has left.
    """
    name = f"{target.name}.partial-{process_id}"
    return target.with_name(f"{name}-{zlib.crc32(name.encode('utf-8', 'surrogatepass')):08x}")


def make_private(path: Path) -> None:
    """Let only the owner read or write a file, whatever the process's umask is."""
    path.chmod(0o600)
