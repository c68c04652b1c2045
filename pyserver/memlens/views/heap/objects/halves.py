"""Work over all objects by two threads, each with a half of them: kernels let others run meanwhile."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_MOST_ALONE = 1_000_000
"""Fewer objects are done before another thread has begun."""


def in_halves(count: int, work: Callable[[int, int], T]) -> list[T]:
    """The results of ``work(first, end)``: one for all ``count`` items, or one for each half."""
    if count <= _MOST_ALONE:
        return [work(0, count)]
    with ThreadPoolExecutor(1) as other:
        second = other.submit(work, count // 2, count)
        return [work(0, count // 2), second.result()]
