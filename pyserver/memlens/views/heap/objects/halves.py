"""Splits work over all objects between two threads; kernels release the interpreter lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_MOST_ALONE = 1_000_000
"""Below this number of objects one thread is done before another has started."""


def in_halves(count: int, work: Callable[[int, int], T]) -> list[T]:
    """Return the results of ``work(first, end)``: one for all ``count`` items, or one per half."""
    if count <= _MOST_ALONE:
        return [work(0, count)]
    with ThreadPoolExecutor(1) as other:
        second = other.submit(work, count // 2, count)
        return [work(0, count // 2), second.result()]
