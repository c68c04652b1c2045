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
_POOLED = ("pymalloc", "mimalloc")
"""memray's names of Python's allocators with pools; "pymalloc debug" is another."""


class Arenas:
    """Finds the groups of allocations that mapped only blocks of an arena's size."""

    def __init__(self, allocator: str, traced: int, *, names_objects: bool) -> None:
        """``allocator`` is memray's name of Python's allocator.

        ``traced`` says whether its allocations were recorded: 1, 0, or -1 if unknown. In the last case they were if any
        object of Python was recorded (``names_objects``).
        """
        self.allocator = allocator
        self._traced = traced
        self._names_objects = names_objects
        self._only_arenas: dict[int, bool] = {}

    def see(self, group: int, size_bytes: int, count: int) -> None:
        """Note the size of ``count`` mappings of a group; ``count`` is 0 for a part of a mapping."""
        alike = count > 0 and any(size_bytes == count * arena for arena in _ARENA_BYTES)
        self._only_arenas[group] = alike and self._only_arenas.get(group, True)

    @property
    def untraced(self) -> bool:
        """Whether Python's objects are in pools that were recorded only as a whole."""
        pooled = self.allocator.startswith(_POOLED)
        return pooled and (not self._names_objects if self._traced < 0 else self._traced == 0)

    def among(self, groups: Iterable[int]) -> list[bool]:
        """Return which of ``groups`` may have mapped arenas, one item per group."""
        untraced = self.untraced and self.allocator.startswith("pymalloc")
        return [untraced and self._only_arenas.get(group, False) for group in groups]

    def warnings(self, at_peak: int, at_end: int) -> list[FileWarning]:
        """Return the warning about arenas, with the bytes of groups that may have mapped them; empty if none may."""
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
