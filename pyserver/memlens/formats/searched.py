"""Where the binaries of an archive's profile were looked for, which says whether more would be found now."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from memlens.formats.tools import Tools

_MOST_PLACES = 4096


class Searched(Struct, frozen=True):
    """A search, with the places that had nothing or something of another build, as they were then.

    Places that had what was looked for aren't kept: an archive holds its names, whatever becomes of the binaries.
    """

    folders: list[str]
    """The user's folders."""

    is_off: bool
    """Whether the user had turned it off."""

    only_folders: bool
    places: list[tuple[str, int, int]]
    """Paths, sizes and times of change in ns; 0 and 0 for what wasn't there."""

    @classmethod
    def of(cls, tools: Tools, rejected: Iterable[Path]) -> "Searched":
        """Return a search with ``tools`` that rejected these places."""
        places = [(str(path), *_state(path)) for path in dict.fromkeys(rejected)]
        return cls(_folders(tools), not tools.look_up_symbols, tools.only_folders, places[:_MOST_PLACES])

    def is_current(self, tools: Tools) -> bool:
        """Return whether a search with ``tools`` would be the same and find the same.

        With ``only_folders`` no place is looked at, and names from a wider search are taken as they are.
        """
        if (self.folders, self.is_off) != (_folders(tools), not tools.look_up_symbols):
            return False
        if tools.only_folders:
            return True
        return not self.only_folders and all((size, time) == _state(path) for path, size, time in self.places)


def encoded(searched: Searched) -> bytes:
    """Return a search as JSON."""
    return msgspec.json.encode(searched)


def decoded(data: bytes) -> Searched:
    """Return a search from JSON. Raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=Searched)


def _folders(tools: Tools) -> list[str]:
    return [str(folder.absolute()) for folder in tools.symbol_folders]


def _state(path: Path | str) -> tuple[int, int]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return 0, 0
    return found.st_size, found.st_mtime_ns
