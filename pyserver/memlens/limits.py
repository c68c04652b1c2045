"""What work may take of the machine: a huge file should cost an error and not all memory, a slow query no hover."""

import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
from pathlib import Path

SHARE = 0.8
"""Of the machine's memory, where no limit is set."""

_KEPT_SHARE = 0.2
_KEPT_MOST = 1 << 30

FOUND_FILES_BYTES = 32 << 20
"""What the workspace's answers about its files may take in memory."""

_M_ARENA_MAX = -8
_PR_SET_PDEATHSIG = 1
_NICENESS = 10
_SETTLE_AFTER_S = 5.0

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


def kept_bytes() -> int:
    """What a process may keep in memory to answer the next question sooner: a share of the machine's, a GiB at most."""
    return min(int((default_bytes() or _KEPT_MOST) * _KEPT_SHARE), _KEPT_MOST)


def give_way() -> None:
    """Let what waits for an answer run before this thread, and before threads that it starts later.

    On Linux niceness is a thread's own (sched(7)); elsewhere nothing changes.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def end_with(parent: int) -> None:
    """Let this process, one that ``parent`` started and waits for, not outlive it: nobody would look at its work.

    On Linux the system sees to it when the thread that started it ends (PR_SET_PDEATHSIG, prctl(2)). Elsewhere the
    parent is gone when stdin ends, which it must keep open.
    """
    if sys.platform == "linux":
        _glibc("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # it was quicker
    else:
        threading.Thread(target=_end_with_stdin, daemon=True).start()


def _end_with_stdin() -> None:
    with contextlib.suppress(OSError, ValueError):
        while os.read(sys.stdin.fileno(), 1024):
            pass
    os._exit(1)


def keep_little() -> None:
    """Let this process' threads share one heap: glibc gives each its own, and each keeps its holes (mallopt(3))."""
    _glibc("mallopt", _M_ARENA_MAX, 1)


def settle_later() -> None:
    """Count what this process holds as there for good, so that :func:`give_back` need not look through it.

    That takes as long as a sixth of the server's imports: the first answers come before it, and without any collection.
    """

    def settle() -> None:
        gc.collect()
        gc.freeze()
        gc.enable()

    gc.disable()
    later = threading.Timer(_SETTLE_AFTER_S, settle)
    later.daemon = True
    later.start()


def give_back() -> None:
    """Free what only circles hold, and give the system what was freed and kept for later.

    malloc_trim(3) does the latter for glibc; other C libraries do it by themselves.
    """
    gc.collect()
    _glibc("malloc_trim", 0)


def _glibc(name: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            getattr(ctypes.CDLL(None), name)(*arguments)


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
