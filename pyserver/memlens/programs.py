"""Where other programs are: in folders that ``PATH`` names absolutely, and never in the folder that Memlens runs in.

Windows starts a program by its bare name from the working directory first, as ``shutil.which`` finds it there: that may
be a stranger's project. Whoever starts a program looks it up here, and starts it by the path that is returned.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def program(name: str, path: str | None = None) -> Path | None:
    """The program of a bare name in the folders of ``path``, by default of ``PATH``; None if there is none."""
    folders = os.environ.get("PATH", "") if path is None else path
    for folder in map(Path, filter(None, folders.split(os.pathsep))):
        if not folder.is_absolute():
            continue
        for each in _names(name):
            found = folder / each
            if found.is_file() and os.access(found, os.X_OK):
                return found
    return None


def is_ours(path: Path) -> bool:
    """Whether nobody but root and this user can have put a program at a path, or can put another one there."""
    real = path.resolve()
    try:
        return all(_is_of_ours(each.stat()) for each in (real, *real.parents))
    except OSError:
        return False


def _is_of_ours(found: os.stat_result) -> bool:
    if _is_windows():
        return True
    is_shared = found.st_mode & stat.S_IWOTH or (
        found.st_mode & stat.S_IWGRP and found.st_gid not in (0, os.getegid())
    )
    # in a folder such as /tmp nobody replaces what is another's
    is_kept = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    return found.st_uid in (0, os.geteuid()) and (not is_shared or bool(is_kept))


def _names(name: str) -> Iterator[str]:
    """The names of its file: on Windows with the endings of programs."""
    if not _is_windows():
        yield name
        return
    endings = [each.lower() for each in os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";") if each]
    if Path(name).suffix.lower() in endings:
        yield name
    yield from (name + ending for ending in endings)


def _is_windows() -> bool:
    return os.name == "nt"
