"""Reserved memory and the parts of the gap, against an allocator that records its true state."""

import base64
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.python.conftest import event, real_programs
from tests.python.counted import some
from tests.python.model_allocator import ModelAllocator
from tests.python.recordings import CUDA
from tests.python.test_allocator import open_data, run
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.kernels.trace.allocator import EXPANDABLE
from memlens.store.snapshot import Snapshot
from memlens.views.answers import Gap
from memlens.views.selection.columns import moments_between
from memlens.views.trace.allocator.state import ALLOCATED, state_at
from memlens.views.trace.picture.reserved import fitting_of, gap, gap_at, reserved_over_time, usage_of

KINDS = ("reserved", "active", "allocated", "requested")


def parts(found: Gap) -> int:
    return (
        found.requested_bytes + found.rounding_bytes + found.pending_bytes + found.inactive_split_bytes
        + found.expandable_free_bytes + found.wholly_free_bytes
    )  # fmt: skip


def known_sizes(final: list[tuple[Any, ...]]) -> dict[int, int]:
    """The block sizes that a file has: those of allocations live at its end."""
    return {number: size for held in final for _, size, _, state, number in held[6] if state != "inactive"}


def true_gap(state: list[tuple[Any, ...]], reported: dict[int, int], lost: int = 0) -> dict[str, int]:
    """The parts, from the allocator's own state; blocks count as large as a file lets one know.

    Of the first ``lost`` allocations that is a request rounded up, of the others all that the rules of splitting say.
    """
    found = dict.fromkeys(
        ("requested", "rounding", "pending", "inactive_split", "expandable_free", "wholly_free"), 0
    )
    for _, total, _, _, _, expandable, blocks in state:
        active = 0
        for _, true, requested, kind, number in blocks:
            if kind == "inactive":
                continue
            early = max(512, -(-requested // 512) * 512)
            size = reported.get(number, early if number < lost else true)
            active += size
            if kind == "active_allocated":
                found["requested"] += requested
                found["rounding"] += size - requested
            else:
                found["pending"] += size
        free = "expandable_free" if expandable else "inactive_split" if active else "wholly_free"
        found[free] += total - active
    return found


@pytest.mark.slow
@settings(max_examples=tries(60), deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.integers(1, 140))
# a block's free is pending at the end, and no free was completed before
@example(1, False, 5)
def test_the_gap_agrees_with_the_allocator_at_every_moment(
    tmp_path_factory: pytest.TempPathFactory, seed: int, expandable: bool, steps: int
) -> None:
    allocator = ModelAllocator(expandable)
    run(allocator, random.Random(seed), steps)
    snapshot = open_data(tmp_path_factory.mktemp("gap"), allocator.snapshot(0))
    usage = usage_of(snapshot, 0)
    reported = known_sizes(allocator.states[-1])
    most = (-1, -1)
    for moment, state in enumerate(allocator.states):
        found = gap_at(usage, moment)
        wanted = true_gap(state, reported)
        assert {name: getattr(found, f"{name}_bytes") for name in wanted} == wanted
        assert found.reserved_bytes == sum(held[1] for held in state) == parts(found)
        assert found.allocated_bytes == wanted["requested"] + wanted["rounding"]
        assert found.active_bytes == found.allocated_bytes + wanted["pending"]
        assert found.outside_bytes == 0
        most = max(most, (found.reserved_bytes, -moment))
    answer = gap(snapshot, 0, None)
    assert (answer.gap.reserved_bytes, -answer.moment) == most
    snapshot.close()


@pytest.mark.slow
@settings(max_examples=tries(30), deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.integers(1, 80))
def test_a_trace_that_lost_its_start_still_adds_up(
    tmp_path_factory: pytest.TempPathFactory, seed: int, expandable: bool, lost: int
) -> None:
    allocator = ModelAllocator(expandable)
    run(allocator, random.Random(seed), 100)
    lost = min(lost, len(allocator.events) - 1)
    snapshot = open_data(tmp_path_factory.mktemp("lost"), allocator.snapshot(lost))
    usage = usage_of(snapshot, 0)
    reported = known_sizes(allocator.states[-1])
    early = sum(entry["action"] == "alloc" for entry in allocator.events[:lost])
    for moment, state in enumerate(allocator.states[lost:]):
        found, wanted = gap_at(usage, moment), true_gap(state, reported, early)
        assert found.reserved_bytes == sum(held[1] for held in state) == parts(found)
        assert found.active_bytes == wanted["requested"] + wanted["rounding"] + wanted["pending"]
        free = ("inactive_split", "expandable_free", "wholly_free")
        assert [getattr(found, f"{name}_bytes") for name in free] == [wanted[name] for name in free]
    snapshot.close()


def floats(text: str, kinds: int) -> list[list[float]]:
    packed = np.frombuffer(base64.b64decode(text), "<f8").reshape(kinds * 2, -1)
    return [row.tolist() for row in packed]


def check_columns(snapshot: Snapshot, device: int, chance: random.Random) -> None:
    """Every column's extremes are those of its moments, and no visible moment is left out."""
    found = snapshot.device(device)
    usage = usage_of(snapshot, device)
    large = f"size>={int(np.median(found.size))}"
    filters = ("", large) if len(found.size) else ("",)
    of_all = [getattr(usage, kind).bytes.tolist() for kind in KINDS]
    axes = ["event", *(["time"] if found.info.time_axis is not None else [])]
    for axis in axes:
        extent = found.info.event_axis if axis == "event" else found.info.time_axis
        assert extent is not None
        for _ in range(8):
            a, b = sorted(chance.uniform(extent.x0, extent.x1) for _ in range(2))
            x0, x1 = chance.choice(((extent.x0, extent.x1), (a, b)))
            if x0 == x1:
                continue
            columns = chance.choice((1, 7, 100, 1000))
            text = chance.choice(filters)
            answer = reserved_over_time(snapshot, device, axis, x0, x1, columns, text)  # pyrefly: ignore[bad-argument-type]
            series = [*of_all, *([fitting_of(snapshot, device, text).bytes.tolist()] if text else [])]
            rows = floats(answer.bytes, len(series))
            first = np.frombuffer(base64.b64decode(answer.first), "<u4").tolist()
            last = np.frombuffer(base64.b64decode(answer.last), "<u4").tolist()
            seen: set[int] = set()
            for column, (low, high) in enumerate(zip(first, last, strict=True)):
                seen.update(range(low, high + 1))
                for kind, values in enumerate(series):
                    inside = values[low : high + 1]
                    assert rows[2 * kind][column] == max(inside)
                    assert rows[2 * kind + 1][column] == min(inside)
            (start,), (stop,) = moments_between(found, axis, np.array([x0, x1]))  # pyrefly: ignore[bad-argument-type]
            assert seen == set(range(int(start), int(stop) + 1))


def test_columns_hold_the_extremes_of_their_moments(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    check_columns(opened(sample), 0, random.Random(5))


@pytest.mark.parametrize("path", [CUDA, *real_programs("*.pickle")], ids=lambda path: path.stem)
def test_real_files_add_up_at_every_moment(looked_at: Callable[[Path], Snapshot], path: Path) -> None:
    snapshot = looked_at(path)
    chance = random.Random(3)
    for info in some(snapshot.timeline.devices):
        usage = usage_of(snapshot, info.device)
        sizes = snapshot.device(info.device).size
        least = int(np.median(sizes)) if len(sizes) else 0
        large = f"size>={least}" if len(sizes) else ""
        active, reserved = usage.active.bytes, usage.reserved.bytes
        split = reserved - active - usage.wholly_free - usage.expandable_free
        assert (usage.requested.bytes <= usage.allocated.bytes).all()
        assert (usage.allocated.bytes <= active).all()
        assert (active <= reserved).all()
        assert (usage.wholly_free >= 0).all()
        if info.reserved_at_end_bytes is None:
            # a profiler's trace has no segments
            assert path.stem.startswith("cpu_profile")
            assert not usage.known
            continue
        assert (split >= 0).all()
        assert int(reserved[-1]) == info.reserved_at_end_bytes
        for moment in {0, info.events, *(chance.randint(0, info.events) for _ in range(20))}:
            state, found = state_at(snapshot, info.device, moment), gap_at(usage, moment)
            assert parts(found) == found.reserved_bytes == state.reserved_bytes
            assert found.requested_bytes == state.requested_bytes
            if large:
                device = snapshot.device(info.device)
                held = state.blocks[state.blocks["state"] == ALLOCATED]
                fits = int(held["requested"][device.size[held["row"]] >= least].sum())
                assert gap(snapshot, info.device, moment, large).fitting_bytes == fits
            if not path.stem.startswith("cpu_profile"):
                # what is free in expandable segments is a part of its own
                whole = state.segments[state.segments["flags"] & EXPANDABLE == 0]
                used = whole[whole["active"] > 0]
                assert found.inactive_split_bytes == int(used["size"].sum() - used["active"].sum())
                assert found.wholly_free_bytes == int(whole["size"][whole["active"] == 0].sum())
                assert (found.active_bytes, found.allocated_bytes) == (
                    state.active_bytes,
                    state.allocated_bytes,
                )
    if info.events < 5000:
        check_columns(snapshot, info.device, chance)


def test_blocks_outside_of_segments_count_as_reserved(tmp_path: Path) -> None:
    trace = [event("segment_alloc", 1 << 21, 1 << 21), event("alloc", 1 << 21, 700), event("alloc", 99, 5)]
    snapshot = open_data(tmp_path, {"segments": [], "device_traces": [trace]})
    found = gap(snapshot, 0, 3).gap
    assert (found.outside_bytes, found.reserved_bytes) == (512, (1 << 21) + 512)
    assert parts(found) == found.reserved_bytes
    assert (found.requested_bytes, found.rounding_bytes) == (705, 1024 + 512 - 705)
    assert found.inactive_split_bytes == (1 << 21) - 1024
    assert gap(snapshot, 0, 1).gap.wholly_free_bytes == 1 << 21
    for device, moment in ((1, 0), (0, 4)):
        with pytest.raises(MemlensError):
            gap(snapshot, device, moment)
    for x0, x1, columns in (
        (0.0, 0.0, 5),
        (2.0, 1.0, 5),
        (0.0, 1.0, 0),
        (float("nan"), 1.0, 5),
        (0.0, 1.0, 9000),
    ):
        with pytest.raises(MemlensError):
            reserved_over_time(snapshot, 0, "event", x0, x1, columns)
    snapshot.close()
