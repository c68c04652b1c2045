"""Files that processes leave in the cache, and whether those processes still run."""

import contextlib
import os
import re
from pathlib import Path

_PARTIAL = re.compile(r".+\.partial-(?P<pid>\d{1,9})(-journal)?", re.ASCII)
"""Artefacts that are being written, with SQLite's journals (``store/artefacts.py``)."""


def is_running(pid: int) -> bool:
    """Whether a process with this id exists; True if that can't be found out."""
    if os.name == "nt":
        return True  # on Windows os.kill with signal 0 would end the process; a later run on another system cleans up
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not _has_ended(pid)


def _has_ended(pid: int) -> bool:
    """Whether it is a zombie, as in containers whose first process never waits for its children."""
    try:
        # the state follows the name, which is anything in parentheses: proc(5)
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


def remove_leftovers(archive: Path) -> None:
    """Remove partial files that interrupted processes left in an archive."""
    with contextlib.suppress(OSError):
        with os.scandir(archive) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            partial = _PARTIAL.fullmatch(name)
            if partial is not None and not is_running(int(partial["pid"])):
                (archive / name).unlink(missing_ok=True)
