"""Whose folders and files are, where several users share a cache folder.

On Windows a folder's access list says who may write to it, and nothing here looks at that: whoever chooses a folder
that others can write to trusts them. The user's own cache folder is theirs alone.
"""

import os
import stat
import sys
import tempfile
from pathlib import Path

from memlens.permissions import exposed

_UNKNOWN = 65_534
"""Whose files are that belong to nobody of a container's users: those of the machine's root, among others."""
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def own_user() -> str:
    """A text that distinguishes this user's archives from others' in a shared folder; the same for all on Windows."""
    return "" if sys.platform == "win32" else str(os.geteuid())


def is_mine(path: Path) -> bool:
    """Whether a file or a folder is this user's. A link's owner is who made the link."""
    if sys.platform == "win32":
        return True
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def is_own(folder: Path) -> bool:
    """Whether a folder and all files in it are this user's, and no other user may write to them."""
    if sys.platform == "win32":
        return True
    try:
        found = [folder.lstat(), *(entry.stat(follow_symlinks=False) for entry in os.scandir(folder))]
    except OSError:
        return False
    if not stat.S_ISDIR(found[0].st_mode) or not all(stat.S_ISREG(each.st_mode) for each in found[1:]):
        return False
    if any(each.st_uid != os.geteuid() for each in found):
        return False
    return not any(each.st_mode & _BY_OTHERS for each in found) or not _keeps_modes(folder.parent)


def exchangeable(folder: Path) -> Path | None:
    """The place where other users can replace archives in a folder, which need not exist yet; None if they can't.

    That is the folder, or the nearest one above it, that they own or may write to.
    """
    there = next((each for each in (folder, *folder.parents) if each.is_dir()), folder)
    try:
        found = exposed(there, frozenset((_UNKNOWN,)) if _is_in_container() else frozenset())
    except OSError:
        return None  # it can't be reached, and whatever opens it says so
    return found if found is None or _keeps_modes(there) else None


def _is_in_container() -> bool:
    """Whether only some users of the machine have numbers here (user_namespaces(7))."""
    try:
        return Path("/proc/self/uid_map").read_text("ascii").split() != ["0", "0", "4294967295"]
    except OSError:
        return False


def _keeps_modes(folder: Path) -> bool:
    """Whether the file system has permissions at all: some show the same ones for every file, whatever it was given."""
    if sys.platform == "win32":
        return False
    try:
        probe = Path(tempfile.mkdtemp(prefix=".memlens-", dir=folder))
    except OSError:
        return True
    try:
        return not probe.stat().st_mode & _BY_OTHERS
    finally:
        probe.rmdir()
