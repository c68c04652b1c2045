"""What an archive says about where native names were looked for: ``searched.json``."""

from pathlib import Path

import msgspec

from memlens.formats.searched import Searched, decoded, encoded
from memlens.formats.tools import Tools

FILE_NAME = "searched.json"


def write_searched(folder: Path, searched: Searched) -> None:
    """Write the file into an archive's folder."""
    (folder / FILE_NAME).write_bytes(encoded(searched))


def found_in(archive: Path) -> bytes:
    """Return the file as it is, empty if native names weren't looked for."""
    try:
        return (archive / FILE_NAME).read_bytes()
    except OSError:
        return b""


def is_current(archive: Path, tools: Tools) -> bool:
    """Return whether an archive has the names that ``tools`` would find now, as far as it needs any."""
    data = found_in(archive)
    try:
        return not data or decoded(data).is_current(tools)
    except msgspec.DecodeError:
        return False
