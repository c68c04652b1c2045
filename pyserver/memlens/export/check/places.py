"""What a line's path from a snapshot is called in a project."""

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import quote

from memlens.sources.in_place import in_folder
from memlens.sources.paths import parse

_SERVED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def in_project(file: str, folder: Path) -> str | None:
    """The path of a file from the folder of the project, with ``/`` between; None if it isn't below that."""
    local = in_folder(file, folder)
    if local is None:
        return None
    try:
        return Path(local).relative_to(folder).as_posix()
    except ValueError:
        return None


def uri_of(file: str, folder: Path) -> str | None:
    """The URI of a file: relative to the project if it is below that, else as it is; None if it names no file."""
    inside = in_project(file, folder)
    if inside is not None:
        return quote(inside)
    foreign = parse(file)
    if foreign is None or _SERVED.match(file):
        return None
    pure = PureWindowsPath if foreign.windows else PurePosixPath
    path = pure(foreign.anchor, *foreign.parts)
    if not path.is_absolute():
        return quote("/".join(foreign.parts))
    return f"file:///{quote(path.as_posix().lstrip('/'))}"
