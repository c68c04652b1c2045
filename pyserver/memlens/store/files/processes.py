"""What processes leave in the cache, and whether they are still at work on it."""

import contextlib
import os
import re
from pathlib import Path

_PARTIAL = re.compile(r".+\.partial-(?P<pid>\d{1,9})(-journal)?", re.ASCII)
"""Artefacts that are being written, with SQLite's journals (``store/artefacts.py``)."""


def is_running(pid: int) -> bool:
    """Whether there is a process of that number. Where that can't be asked the answer is yes."""
    if os.name == "nt":
        return True  # signal 0 would end the process there; a later run under another system cleans up
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not _has_ended(pid)


def _has_ended(pid: int) -> bool:
    """Whether it is only a number that nobody has asked for, as in containers whose first process asks for none."""
    try:
        # the state stands after the name, which is anything in parentheses: proc(5)
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


def remove_leftovers(archive: Path) -> None:
    """Remove what processes left in an archive that were ended while they wrote."""
    with contextlib.suppress(OSError):
        for entry in list(archive.iterdir()):
            partial = _PARTIAL.fullmatch(entry.name)
            if partial is not None and not is_running(int(partial["pid"])):
                entry.unlink(missing_ok=True)
