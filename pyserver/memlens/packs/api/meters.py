"""What a pack may declare to measure the memory of a part of a running program, such as one test."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from memlens.texts import Text

if TYPE_CHECKING:
    from memlens.packs.api.parts import Part


class Meter(Protocol):
    """Measures from :meth:`start` to :meth:`stop`, again and again."""

    title: str
    """Who measures what, in a sentence: ``Python's own memory``."""
    peak_bytes: int
    left_bytes: int
    """What is still there of what was allocated meanwhile, after a collection."""
    left_by_run: list[int]
    """The same at the end of each run, where there are several."""
    without_file: str
    """Why there may be no file of the peak."""

    def start(self, peak: int | None) -> None:
        """Begin; ``peak`` is the most that is allowed, None if it doesn't matter. Raises :class:`NoMeterError`."""

    def stop(self) -> None:
        """End, and set the figures."""

    def end_run(self) -> None:
        """One of several runs has ended. What it left is known after :meth:`stop`."""

    def peak_file(self, place: Path) -> Path | None:
        """Write what was there when the limit was exceeded, beside ``place``; None if that wasn't recorded."""

    def left_file(self, place: Path) -> Path | None:
        """Write what is left."""


class NoMeterError(Exception):
    """What measures isn't there."""

    def __init__(self, message: Text) -> None:
        super().__init__(str(message))


class MeterKind(Struct, frozen=True, kw_only=True):
    """A way of measuring."""

    name: str
    """Unique, for people to choose it."""
    meter: "Part[type[Meter]]"
    is_default: bool = False
