"""Where other programs are: in folders that ``PATH`` names absolutely, and never in the folder that Memlens runs in.

Windows starts a program by its bare name from the working directory first, as ``shutil.which`` finds it there: that may
be a stranger's project. Whoever starts a program looks it up here, and starts it by the path that is returned.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from memlens.permissions import exposed


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
    """Whether nobody but root and this user can have put, or can replace, the program at a path."""
    try:
        return exposed(path) is None
    except OSError:
        return False


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
