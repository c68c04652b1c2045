"""The local file that a foreign path means without a search: commands import this alone."""

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from memlens.local_paths import below, is_local
from memlens.sources.paths import ForeignPath, parse


def as_it_stands(foreign: ForeignPath, folders: list[Path]) -> list[Path]:
    """The local paths that a path as written may mean, below ``folders`` if it is relative."""
    if foreign.windows and os.name != "nt":
        return []
    if not foreign.anchor or foreign.served_here:
        return [path for folder in folders if (path := below(folder, foreign.parts)) is not None]
    pure = PureWindowsPath if os.name == "nt" else PurePosixPath
    named = pure(foreign.anchor, *foreign.parts)
    return [Path(named)] if is_local(named, folders) else []


def in_folder(file: str, folder: Path) -> str | None:
    """The local file that a foreign path means for someone who works in ``folder``, without a search.

    It is where the path says, or where its last components lead from the folder.
    """
    foreign = parse(file)
    if foreign is None:
        return None
    parts = foreign.parts
    tails = (parts[start:] for start in range(len(parts) - foreign.needed_components + 1))
    near = (path for tail in tails if (path := below(folder, tail)) is not None)
    return next((str(path) for path in (*as_it_stands(foreign, [folder]), *near) if is_file(path)), None)


def is_file(path: Path) -> bool:
    """Whether there is a file; False for a path that the system rejects."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
