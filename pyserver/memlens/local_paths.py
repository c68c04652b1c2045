r"""Which local paths a name from a file may become: the one decision before any is looked at, opened or written.

A name is a stranger's. Windows joins ``\\host\share`` to any folder as itself and asks that host with the user's
password; ``\\.\pipe\x`` is a pipe, ``a:b`` another drive or a stream, ``NUL.txt`` a device. So the components are
checked, and then the joined path. Pure: nothing here accesses a disk, and each system's rules can be tested on any.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path, PurePath, PureWindowsPath
from typing import TypeVar

P = TypeVar("P", bound=PurePath)

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(?:\..*)?", re.IGNORECASE
)
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"|?*\\/]')
"""What no name of a file on Windows has."""
_IS_MACOS = sys.platform == "darwin"
_WHOLE_ROOT = ("system", "volumes", "data")
"""The volume in which macOS has what can be written of its root once more."""
_AUTOMOUNTED = (("net",), ("Network",), ("afs",))
"""Folders of the root whose entries are other machines, mounted when they are looked at."""
_OF_THE_KERNEL = (("dev",), ("proc",), ("sys",))
"""Folders with files that are none, a read of which may wait for ever or have an effect; ``/dev/shm`` has real ones."""
_NOT_DISKS = (("run", "user"), ("var", "run", "user"))
"""Where desktops mount shares; ``/var/run`` is ``/run`` on most systems."""


def is_url(text: str) -> bool:
    """Whether an argument names something by its URL instead of a path; on Windows ``C:/x`` is a path."""
    return _URL.match(text) is not None


def is_name(part: str, *, windows: bool) -> bool:
    """Whether a component is the name of a file or a folder, and nothing else, on Windows or elsewhere."""
    if part in ("", ".", "..") or "\0" in part or "/" in part:
        return False
    if not windows:
        return True
    return not (_NOT_IN_NAMES.search(part) or _DEVICE.fullmatch(part) or part[-1] in ". ")


def below(folder: P, parts: Iterable[str]) -> P | None:
    """Join components of a name to a folder that the user chose. None unless that is a path below the folder."""
    names = tuple(parts)
    windows = isinstance(folder, PureWindowsPath)
    if not names or not all(is_name(name, windows=windows) for name in names):
        return None
    joined = folder.joinpath(*names)
    return joined if joined.parts == (*folder.parts, *names) and joined.drive == folder.drive else None


def is_local(path: PurePath, folders: Iterable[PurePath] = ()) -> bool:
    """Whether an absolute path from a file may be looked at as it stands: it is on a disk of this machine.

    What lies below one of the user's own ``folders`` may be looked at wherever that is.
    """
    names = path.parts[1:]
    windows = isinstance(path, PureWindowsPath)
    if not path.is_absolute() or not names or not all(is_name(name, windows=windows) for name in names):
        return False
    if any(path.is_relative_to(folder) for folder in folders):
        return True
    return _DRIVE.fullmatch(path.drive) is not None if windows else _is_on_disk(path)


def _is_on_disk(path: PurePath) -> bool:
    # POSIX leaves the meaning of two slashes at the beginning open; Cygwin's is a share
    return path.anchor == "/" and not _is_in(path, (*_NOT_DISKS, *_AUTOMOUNTED)) and not is_of_kernel(path)


def is_of_kernel(path: PurePath) -> bool:
    """Whether a path is in a folder of pseudo-files such as /proc; ``/dev/shm`` is an ordinary file system."""
    return path.anchor == "/" and _is_in(path, _OF_THE_KERNEL) and path.parts[1:3] != ("dev", "shm")


def _is_in(path: PurePath, folders: Iterable[tuple[str, ...]]) -> bool:
    """Whether a path leads into one of some folders of the root, as the system compares names."""
    names = path.parts[1:]
    if not _IS_MACOS:
        return any(names[: len(each)] == each for each in folders)
    names = tuple(name.casefold() for name in names)
    names = names[len(_WHOLE_ROOT) :] if names[: len(_WHOLE_ROOT)] == _WHOLE_ROOT else names
    return any(names[: len(each)] == tuple(name.casefold() for name in each) for each in folders)


def file_below(folder: Path, name: str) -> Path | None:
    """The path of a file whose name or relative path, with ``/`` between, comes from a file."""
    return below(folder, name.split("/"))
