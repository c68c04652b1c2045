"""Memory for columns, and distinct numbers: what is used again, and what may not be."""

from pathlib import Path

import numpy as np

from memlens.model.distinct import distinct
from memlens.store.objects.room import Room

_ITEMS = 1 << 20


def test_what_is_given_back_is_used_by_the_next_column_that_fits(tmp_path: Path) -> None:
    room = Room(tmp_path, 1 << 40)
    large, small = room(_ITEMS, np.uint64), room(_ITEMS, np.uint32)
    room.again(large, small)
    first, second, third = (room(_ITEMS - 1, np.uint32) for _ in range(3))
    assert np.shares_memory(first, small)
    assert np.shares_memory(second, large)
    assert not any(np.shares_memory(third, other) for other in (first, second))
    assert {len(first), len(second), len(third)} == {_ITEMS - 1}


def test_mapped_columns_are_not_used_again(tmp_path: Path) -> None:
    room = Room(tmp_path, 0)
    mapped = room(_ITEMS * 2, np.uint64)
    room.again(mapped)
    assert not np.shares_memory(room(_ITEMS * 2, np.uint64), mapped)


def test_distinct_numbers_are_those_of_unique() -> None:
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 1000):
        numbers = rng.integers(0, 200, size).astype(np.uint32)
        found = distinct(numbers)
        assert found.dtype == np.uint32
        assert np.array_equal(found, np.unique(numbers))
