"""Where other users could exchange a file or a folder: by writing to it, or to a folder above it."""

import os
import stat
from pathlib import Path


def exposed(path: Path, trusted: frozenset[int] = frozenset()) -> Path | None:
    """The first place, from ``path`` upward, where users other than root and this one can replace files.

    ``trusted`` users may. None if there is no such place, and on Windows, where access lists aren't read here. Raises
    OSError.
    """
    if os.name == "nt":
        return None
    real = path.resolve()
    users = trusted | {0, os.geteuid()}
    return next((place for place in (real, *real.parents) if _is_open(place.stat(), users)), None)


def _is_open(found: os.stat_result, users: frozenset[int]) -> bool:
    is_shared = found.st_mode & stat.S_IWOTH or (
        found.st_mode & stat.S_IWGRP and found.st_gid not in (0, os.getegid())
    )
    # in a folder such as /tmp nobody replaces what is another's
    is_kept = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    return found.st_uid not in users or bool(is_shared and not is_kept)
