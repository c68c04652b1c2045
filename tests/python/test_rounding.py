"""Requests rounded to blocks, as PyTorch documents ``roundup_power2_divisions``, by brute force."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.conftest import event, frame

from memlens.store.snapshot import Snapshot
from memlens.views.trace.allocator.blocks import divisions_of, rounded_up
from memlens.views.trace.allocator.state import state_at
from memlens.views.trace.picture.reserved import gap

MIB = 1 << 20
INTERVALS = [1 << power for power in range(16)]


def block_of(size: int, by_interval: dict[int, int]) -> int:
    """The size of a request's block, in simple steps.

    The interval of a request is named by the power of two in MiB at or below it. Between a power of two and the next
    lie so many divisions at even distances, and the request goes up to the nearest at or above it.
    """
    if size < 512:
        return 512
    interval = max((i for i in INTERVALS if i * MIB <= size), default=1)
    divisions = by_interval.get(interval, 0)
    if divisions <= 1 or size <= 512 * divisions:
        return -(-size // 512) * 512
    below = 1
    while below * 2 <= size:
        below *= 2
    parts = 1
    while parts * 2 <= divisions:
        parts *= 2
    block = below
    while block < size:
        block += below // parts
    return block


@given(
    st.dictionaries(st.sampled_from(INTERVALS), st.sampled_from([0, 1, 2, 3, 4, 6, 8, 16, 256])),
    st.lists(
        st.one_of(
            st.integers(1, 4 * MIB),
            st.integers(1, 80 * 1024 * MIB),
            st.builds(lambda power, off: max((1 << power) + off, 1), st.integers(8, 38), st.integers(-1, 1)),
        ),
        min_size=1,
        max_size=30,
    ),
)
def test_any_request(by_interval: dict[int, int], sizes: list[int]) -> None:
    divisions = np.asarray([by_interval.get(interval, 0) for interval in INTERVALS], np.int64)
    wanted = [block_of(size, by_interval) for size in sizes]
    assert rounded_up(np.asarray(sizes, np.int64), divisions).tolist() == wanted


def test_the_example_of_the_documentation() -> None:
    """1200 with four divisions between 1024 and 2048 (1024, 1280, 1536, 1792) goes to 1280: so it does in KiB."""
    four = np.full(16, 4, np.int64)
    assert rounded_up(np.asarray([1200 << 10], np.int64), four).tolist() == [1280 << 10]


@pytest.mark.parametrize("reported", [{"1": 4, "2": 8}, {}, {"1": "x", "2": -5}, None])
def test_of_a_file(reported: object, tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    """The gap's rounding and the allocator's blocks follow the file's setting."""
    sizes = [1200 << 10, 2500 << 10, 3 * MIB, 700]
    line = frame("/p/a.py", 3, "f")
    base, addr, trace = 0x7F0000000000, 0x7F0000000000, []
    for size in sizes:
        trace.append(event("alloc", addr, size, line))
        addr += 8 * MIB
    # freed while recording, so that the file has a block for none
    trace += [event("free_completed", base + 8 * MIB * n, size, line) for n, size in enumerate(sizes)]
    segment = {
        "device": 0, "address": base, "total_size": 64 * MIB, "allocated_size": 0, "active_size": 0,
        "requested_size": 0, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
        "is_expandable": True, "frames": [],
        "blocks": [{"address": base, "size": 64 * MIB, "requested_size": 0, "state": "inactive", "frames": []}],
    }  # fmt: skip
    settings = {"max_split_size": -1, "expandable_segments": True, "roundup_power2_divisions": reported}
    path = tmp_path / "rounded.pickle"
    raw = {"segments": [segment], "device_traces": [trace], "allocator_settings": settings}
    path.write_bytes(pickle.dumps(raw, protocol=4))
    snapshot = opened(path)
    by_interval = {1: 4, 2: 8} if reported == {"1": 4, "2": 8} else {}
    assert divisions_of(snapshot).tolist() == [by_interval.get(interval, 0) for interval in INTERVALS]
    wanted = [block_of(size, by_interval) for size in sizes]
    assert gap(snapshot, 0, 4).gap.rounding_bytes == sum(wanted) - sum(sizes)
    blocks = state_at(snapshot, 0, 4).blocks
    assert blocks["size"][blocks["state"] > 0].tolist() == wanted
