"""Limits on memory and CPU, so that a huge file ends in an error, and long work doesn't delay short answers."""

import contextlib
import ctypes
import errno
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

SHARE = 0.8
"""The share of the machine's memory to use if no limit is set."""

_CACHE_SHARE = 0.2
_CACHE_MOST = 1 << 30

FOUND_FILES_BYTES = 32 << 20
"""The memory that the editor's answers about files of the workspace may take."""

_UNKNOWN_BYTES = 4 << 30
"""The memory that a process may use if that of the machine is unknown."""

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_PR_SET_PDEATHSIG = 1
_NICENESS = 10
_FREEZE_AFTER_S = 5.0
_NEARLY = 0.9

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def default_bytes() -> int:
    """Return the default limit: a share of the memory of the machine or container, or 0 if that is unknown."""
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


def is_reached(error: BaseException) -> bool:
    """Whether an error says that there was no more memory: for data, a kernel, a file's mapping or a thread's stack."""
    match error:
        case MemoryError():
            return True
        case OSError():
            return error.errno == errno.ENOMEM
        case ImportError():
            return "failed to map segment" in str(error)
        case RuntimeError():
            return "can't start new thread" in str(error)
        case SystemError():
            # as Python raises where it has no room for another error
            return _is_nearly_reached()
    return False


def _is_nearly_reached() -> bool:
    """Whether nearly all is in use of what the system lets this process use."""
    if sys.platform != "linux":
        return False
    found = re.search(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    return found is not None and int(found[1]) << 10 > _NEARLY * allowed_bytes()


def allowed_bytes() -> int:
    """Return how much memory this process may use: the limit that the system enforces, else :func:`default_bytes`."""
    if sys.platform == "linux":
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        if soft != resource.RLIM_INFINITY:
            return soft
    return default_bytes() or _UNKNOWN_BYTES


def cache_bytes() -> int:
    """Return how much memory cached results may take: a share of the machine's memory, at most 1 GiB."""
    return min(int((default_bytes() or _CACHE_MOST) * _CACHE_SHARE), _CACHE_MOST)


def lower_priority() -> None:
    """Lower the priority of this thread and of the threads that it starts later.

    Linux has a nice value for each thread (sched(7)); on other systems nothing changes.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def end_with(parent: int, signal_number: int | None = None, heard: Callable[[], None] | None = None) -> None:
    """Make this process end when ``parent``, the process that started it, ends.

    Linux kills it, or sends it another signal, when the thread that started it ends (PR_SET_PDEATHSIG, prctl(2)). On
    other systems it ends at the end of stdin, which the parent must keep open. ``heard`` is called, in another thread,
    when the parent writes anything there.
    """
    if heard is not None or sys.platform != "linux":
        threading.Thread(target=_listen, args=(heard,), daemon=True).start()
    if sys.platform == "linux":
        _glibc("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL if signal_number is None else signal_number)
        if os.getppid() != parent:
            os._exit(1)  # the parent ended before the call


def _listen(heard: Callable[[], None] | None) -> None:
    with contextlib.suppress(OSError, ValueError):
        while os.read(sys.stdin.fileno(), 1024):
            if heard is not None:
                heard()
    if sys.platform != "linux":
        os._exit(1)


def share_one_heap() -> None:
    """Make all threads share one heap. By default glibc gives each thread its own, with its own holes (mallopt(3))."""
    _glibc("mallopt", _M_ARENA_MAX, 1)


def keep_memory() -> None:
    """Keep what is freed for what is allocated next: for a process that ends after one piece of work (mallopt(3)).

    The system clears each page that it gives, which takes as long as much of the work on it, and by default glibc
    returns what a column took as soon as it is freed.
    """
    # before glibc 2.35 more than 32 MiB isn't accepted
    for most in (32 << 20, 1 << 30):
        _glibc("mallopt", _M_MMAP_THRESHOLD, most)
    _glibc("mallopt", _M_TRIM_THRESHOLD, -1)


def freeze_objects_later() -> None:
    """Exclude the objects made at startup from garbage collection, which makes :func:`release_memory` faster.

    This takes a sixth as long as the server's imports, so it is delayed until after the first answers, and garbage
    collection is disabled until then.
    """

    def freeze() -> None:
        gc.collect()
        gc.freeze()
        gc.enable()

    gc.disable()
    timer = threading.Timer(_FREEZE_AFTER_S, freeze)
    timer.daemon = True
    timer.start()


def release_memory() -> None:
    """Collect garbage, and return free memory to the system."""
    gc.collect()
    return_memory()


def return_memory() -> None:
    """Return free memory to the system.

    glibc needs malloc_trim(3) for that; other C libraries return memory of their own accord.
    """
    _glibc("malloc_trim", 0)


def _glibc(name: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            getattr(ctypes.CDLL(None), name)(*arguments)


def limit(most_bytes: int) -> bool:
    """Limit this process's private memory to ``most_bytes``, and return whether the system enforces it.

    Private writable pages count (RLIMIT_DATA, setrlimit(2), since Linux 4.7). Mapped files don't: the system can
    drop their pages at any time. Other systems have no such limit.
    """
    if sys.platform != "linux" or most_bytes <= 0:
        return False
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return True
