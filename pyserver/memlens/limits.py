"""How much memory the reading of a snapshot may take: a huge file should cost an error, not the machine."""

import os
import sys
from pathlib import Path

SHARE = 0.8
"""Of the machine's memory, where no limit is set."""

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def default_bytes() -> int:
    """A share of what this machine (or its container) has; 0 when the system doesn't tell."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        allowed = _CGROUP.read_text("ascii").strip()
        if allowed.isdigit():
            total = min(total, int(allowed))
    except OSError:
        pass
    return int(total * SHARE)


def limit(most_bytes: int) -> bool:
    """Let this process have no more than ``most_bytes`` of memory of its own; whether the system does that.

    What counts are private pages that may be written (RLIMIT_DATA, setrlimit(2), since Linux 4.7): mapped files,
    of which the system takes pages back as it likes, don't. Other systems have no such limit.
    """
    if sys.platform != "linux" or most_bytes <= 0:
        return False
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return True
