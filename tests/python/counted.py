"""Loops that must look at something: a loop over nothing passes, whatever it was to hold."""

from collections.abc import Iterable
from typing import TypeVar

Each = TypeVar("Each")


def some(items: Iterable[Each], least: int = 1) -> list[Each]:
    """The items of a loop that asserts something of each, which must be at least so many."""
    found = [*items]
    assert len(found) >= least, f"{len(found)} to look at, {least} expected"
    return found


def perhaps(items: Iterable[Each]) -> Iterable[Each]:
    """The items of a loop that may have none in all tests, because only real files have some: see ``looked_at.py``."""
    return items
