"""The interface of the names of a tree's nodes, which may be frames, packages, or objects of a heap."""

from collections.abc import Sequence
from typing import Protocol

from memlens.arrays import U8, U32
from memlens.model.attribution import Attribution
from memlens.views.naming.frame_names import FlameName, Place


class Names(Protocol):
    """Names by number."""

    @property
    def count(self) -> int:
        """How many numbers there are."""

    def kinds(self) -> U8:
        """Each name's kind: 0 user, 1 library, 2 native, 3 none."""

    def package_numbers(self) -> U32:
        """Each name's package, as a number that determines its colour; 65,535 for none."""

    def names(self, numbers: Sequence[int]) -> list[FlameName]:
        """Some names in words."""

    def places(self, numbers: Sequence[int]) -> list[Place | None]:
        """The source position of each name; None for names without one."""

    def matching(self, text: str) -> U8:
        """1 for the names that contain a text, ignoring case."""

    def ranks(self, attribution: Attribution, /) -> U8:
        """The rank of each name; a stack is charged to the name with the lowest."""
