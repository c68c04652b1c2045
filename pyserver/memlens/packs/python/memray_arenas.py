"""pymalloc's arenas in captures of memray that don't record Python's objects, and the warning about them.

pymalloc allocates objects of up to 512 bytes from arenas, which it maps as a whole. Unless the capture was made with
--trace-python-allocators, memray records the arena and not the objects; so the line that happened to need a new arena
is charged with all of it, for as long as any object in it lives.

Source: ``Objects/obmalloc.c`` of CPython (``ARENA_SIZE``: 256 KiB up to Python 3.9, 1 MiB since), and
``reporters/templates/base.html`` of memray for its own warning.
"""

from collections.abc import Iterable

from memlens.model.frames import POSSIBLE_ARENA
from memlens.model.info import FileWarning
from memlens.texts import phrase
from memlens.units import format_bytes

_ARENA_BYTES = (256 << 10, 1 << 20)
_MAPS = "mmap"
_POOLED = ("pymalloc", "mimalloc")
"""memray's names of Python's allocators with pools; "pymalloc debug" is another."""
_MOST_NAME = 200

Place = tuple[int, str, str]
"""A stack, a thread and an allocator."""


class Arenas:
    """Finds the places that mapped only blocks of an arena's size."""

    def __init__(self) -> None:
        self.allocator = ""
        """memray's name of Python's allocator; empty if the capture doesn't have it."""
        self._traced = -1
        self._only_arenas: dict[Place, bool] = {}
        self._names_objects = False

    def take(self, allocator: str, traced: int) -> None:
        """Take the name of Python's allocator, and whether its allocations were recorded: 1, 0, or -1 (unknown)."""
        self.allocator, self._traced = allocator[:_MOST_NAME], traced

    def see(self, place: Place, size_bytes: int, count: int) -> None:
        """Add some allocations of a place; ``count`` is 0 for a part of one."""
        if place[2] == _MAPS:
            alike = count > 0 and any(size_bytes == count * arena for arena in _ARENA_BYTES)
            self._only_arenas[place] = alike and self._only_arenas.get(place, True)
        elif place[2].startswith("pymalloc"):
            self._names_objects = True

    @property
    def untraced(self) -> bool:
        """Whether Python's objects are in pools that were recorded only as a whole."""
        pooled = self.allocator.startswith(_POOLED)
        return pooled and (not self._names_objects if self._traced < 0 else self._traced == 0)

    def among(self, places: Iterable[Place]) -> list[bool]:
        """The places among ``places`` that may have mapped arenas."""
        untraced = self.untraced and self.allocator.startswith("pymalloc")
        return [untraced and self._only_arenas.get(place, False) for place in places]

    def warnings(self, at_peak: int, at_end: int) -> list[FileWarning]:
        """The warning about arenas, with the bytes of such places."""
        if not self.untraced:
            return []
        amounts = [
            phrase("{size} at the peak", size=format_bytes(at_peak)) if at_peak else None,
            phrase("{size} at the end", size=format_bytes(at_end)) if at_end else None,
        ]
        known = [amount for amount in amounts if amount is not None]
        blamed = (
            phrase(
                " Rows under '{rows}', {amounts}, are as large as such pools: their lines needed a new pool, "
                "and may keep nothing in it.",
                rows=POSSIBLE_ARENA.function,
                amounts=known[0] if len(known) == 1 else phrase("{a} and {b}", a=known[0], b=known[1]),
            )
            if known
            else ""
        )
        return [
            FileWarning(
                "pools",
                phrase(
                    "Python's own allocator, {allocator}, was not traced: it keeps pools for small objects, and what "
                    "is recorded is when it took a pool from the system, not what each line put there.{blamed} memray "
                    "run --trace-python-allocators, or PYTHONMALLOC=malloc, records every object.",
                    allocator=self.allocator,
                    blamed=blamed,
                ),
            )
        ]
