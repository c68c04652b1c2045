"""Opens files that are found by a name, in folders where anything may lie: only regular files of a disk.

A clone or an unpacked archive may have a link to ``/dev/zero`` or a pipe under any name. A read of one never ends, and
another process would wait for whoever writes. So whatever is searched for is opened here.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from memlens.local_paths import is_of_kernel


def opened(path: Path) -> BinaryIO:
    """Open a regular file of a disk for reading, links followed. Raises OSError, and ValueError for no path."""
    try:
        real = path.resolve(strict=True)
    except RuntimeError as error:
        # a circle of links, for Python before 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
    # in the folders of the kernel, files that claim to be regular may wait as well
    if is_of_kernel(path) or is_of_kernel(real) or not stat.S_ISREG(real.stat().st_mode):
        raise _irregular(path)
    return opened_at(real)


def opened_at(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a file that was found to be a regular one. Raises OSError, also for a pipe that took its place meanwhile."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise _irregular(path)
    return os.fdopen(number, "rb", buffering)


def content(path: Path, most_bytes: int) -> bytes | None:
    """The bytes of a regular file; None if it is something else, is larger, or can't be read."""
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            return file.read(size) if size <= most_bytes else None
    except (OSError, ValueError):
        return None


def _irregular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", str(path))
