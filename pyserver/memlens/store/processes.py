"""Whether the process that left something is still at work on it."""

import os
from pathlib import Path


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
