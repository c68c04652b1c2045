"""Replays of traces, against an allocator that is searched from end to end and against real traces."""

import contextlib
import pickle
import random
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace
from tests.python.conftest import real_programs
from tests.python.test_allocator import open_data

from memlens.errors import BadRequestError
from memlens.packs.pytorch.replay_requests import ALLOC
from memlens.packs.pytorch.replay_settings import Settings, parse
from memlens.packs.pytorch.tests.reference_allocator import (
    FREE,
    MIB,
    UNMAPPED,
    DeviceFullError,
    ReferenceAllocator,
)
from memlens.store.snapshot import Snapshot
from memlens.views.selection.changes import Changes
from memlens.views.trace.what_if import Calibration, Failure, Run, WhatIf, what_if
from memlens.views.trace.what_if_words import assumption, conclusion, exactness

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "expandable_segments:True": {"expandable": True},
    "max_split_size_mb:32": {"max_split": 32 * MIB},
    "roundup_power2_divisions:4": {"divisions": 4},
    "expandable_segments:True,roundup_power2_divisions:8": {"expandable": True, "divisions": 8},
    "large_segment_size_mb:12,max_split_size_mb:32,max_non_split_rounding_mb:64": {
        "large": 12 * MIB,
        "max_split": 32 * MIB,
        "rounding": 64 * MIB,
    },
    "expandable_segments:True,large_segment_size_mb:12": {"expandable": True, "large": 12 * MIB},
}
# what a program may have of the memory that there is
FRACTIONS: dict[str, dict[str, Any]] = {
    "per_process_memory_fraction:0.9": {"fraction": 0.9},
    "per_process_memory_fraction:0.9,expandable_segments:True": {"fraction": 0.9, "expandable": True},
    "per_process_memory_fraction:0.99,garbage_collection_threshold:0.5": {"fraction": 0.99, "threshold": 0.5},
    # as by default, since PyTorch 2.10
    "per_process_memory_fraction:1.0,garbage_collection_threshold:0.5": {"threshold": 0.5},
    "per_process_memory_fraction:0.9,garbage_collection_threshold:0.8,max_split_size_mb:32": {
        "fraction": 0.9,
        "threshold": 0.8,
        "max_split": 32 * MIB,
    },
    # without a fraction it does nothing
    "garbage_collection_threshold:0.5": {"threshold": 0.5},
}
Step = tuple[Literal["malloc", "request", "complete", "empty"], int, int, int, tuple[int, int]]


def program(seed: int, steps: int) -> list[Step]:
    """What a program asks for, whatever its allocator does."""
    chance = random.Random(seed)
    live: list[int] = []
    pending: list[int] = []
    made: list[Step] = []
    for number in range(steps):
        roll = chance.random()
        if roll < 0.52 or not live:
            size = round(2 ** chance.uniform(5, chance.choice((20, 22, 27))))
            pool = (0, 1) if chance.random() < 0.1 else (0, 0)
            made.append(("malloc", number, size, chance.choice((0, 0, 0, 7)), pool))
            live.append(number)
        elif roll < 0.97:
            chosen = live.pop(chance.randrange(len(live)))
            made.append(("request", chosen, 0, 0, (0, 0)))
            if chance.random() < 0.8:
                made.append(("complete", chosen, 0, 0, (0, 0)))
            else:
                pending.append(chosen)
        elif roll < 0.99 and pending:
            made.append(("complete", pending.pop(chance.randrange(len(pending))), 0, 0, (0, 0)))
        else:
            made.append(("empty", 0, 0, 0, (0, 0)))
    return made


def served(steps: list[Step], **settings: Any) -> ReferenceAllocator:
    """The allocator after a program, or where it ran out of memory."""
    allocator = ReferenceAllocator(**settings)
    serve(allocator, steps)
    return allocator


def serve(allocator: ReferenceAllocator, steps: list[Step]) -> None:
    """Serve a program, or what of it there is memory for."""
    with contextlib.suppress(DeviceFullError):
        for kind, number, size, stream, pool in steps:
            if kind == "malloc":
                allocator.malloc(number, size, stream, pool)
            elif kind == "request":
                allocator.request_free(number)
            elif kind == "complete":
                allocator.complete_free(number)
            else:
                # empty_cache() waits for other streams first
                allocator.complete_all()
                allocator.empty_cache()


def shown(events: list[dict[str, Any]]) -> list[Step]:
    """The steps of a program that its trace shows: a cache that was emptied without an effect isn't in it."""
    numbers: dict[int, int] = {}
    made: list[Step] = []
    before = ""
    for number, event in enumerate(events):
        action, addr = event["action"], event.get("addr", 0)
        if action == "alloc":
            numbers[addr] = number
            made.append(("malloc", number, event["size"], event["stream"], event["pool_id"]))
        elif action in ("free_requested", "free_completed"):
            made.append(
                ("request" if action == "free_requested" else "complete", numbers[addr], 0, 0, (0, 0))
            )
        elif action in ("segment_free", "segment_unmap") and before not in ("segment_free", "segment_unmap"):
            made.append(("empty", 0, 0, 0, (0, 0)))
        before = action
    return made


def asked_again(events: list[dict[str, Any]]) -> list[Step]:
    """The steps of a trace that ends with a failure, as if nothing had been returned before it, and what failed."""
    last = events[-1]
    failed: Step = ("malloc", -1, last["size"], last["stream"], last["pool_id"])
    return [*(step for step in shown(events) if step[0] != "empty"), failed]


def ran_out() -> tuple[bytes, ReferenceAllocator]:
    """A snapshot of a program that ran out of memory, and the allocator that would have served it."""
    steps = [step for step in program(5, 300) if step[0] != "empty"]
    capacity = served(steps).peak * 6 // 10
    allocator = served(steps, capacity=capacity)
    other = served(asked_again(allocator.events), expandable=True, capacity=capacity)
    return pickle.dumps(allocator.snapshot()), other


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], Snapshot]]:
    with contextlib.ExitStack() as stack:

        def opened(data: dict[str, Any]) -> Snapshot:
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            return stack.enter_context(contextlib.closing(open_data(folder, data)))

        yield opened


@pytest.mark.parametrize("recorded", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_a_whole_trace_is_reproduced_and_every_setting_comes_to_what_it_does(
    recorded: str, seed: int, made: Callable[[dict[str, Any]], Snapshot]
) -> None:
    steps = program(seed, 700)
    allocator = served(steps, **SETTINGS[recorded])
    found = what_if(made(allocator.snapshot()), settings=list(SETTINGS))
    assert found.calibration.exact
    assert found.calibration.segments == sum(
        event["action"] in ("segment_alloc", "segment_map") for event in allocator.events
    )
    assert found.rows[0].peak_reserved_bytes == allocator.peak
    steps = shown(allocator.events)
    for row, settings in zip(found.rows[1:], SETTINGS.values(), strict=True):
        assert row.peak_reserved_bytes == served(steps, **settings).peak, row.settings
        assert row.out_of_memory is None


@pytest.mark.parametrize(
    ("assumed", "settings"),
    [
        ("roundup_power2_divisions:4", {"divisions": 4}),
        ("max_split_size_mb:32", {"max_split": 32 * MIB}),
        ("large_segment_size_mb:12", {"large": 12 * MIB}),
        (None, {}),
    ],
)
def test_settings_that_a_file_does_not_say_are_found(
    assumed: str | None, settings: dict[str, Any], made: Callable[[dict[str, Any]], Snapshot]
) -> None:
    allocator = served(program(1, 700), **settings)
    data = allocator.snapshot()
    if assumed is not None and assumed.startswith("large"):
        # as where the program set them by itself
        data["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = ""
    else:
        # as before PyTorch 2.3
        del data["allocator_settings"]
    found = what_if(made(data), settings=["default"])
    assert found.calibration.exact
    assert found.calibration.assumed == assumed
    said = str(exactness(found.calibration))
    assert said.startswith(
        "The replay" if assumed is None else f"With {assumed}, which the file doesn't say, "
    )
    assert found.rows[1].peak_reserved_bytes == served(shown(allocator.events)).peak


class Watched(ReferenceAllocator):
    """Notes what there was when a request was served for which so much was reserved as never before."""

    most = 0
    gaps: tuple[int, int, int, int] = (0, 0, 0, 0)
    requested: int = 0

    def record(self, action: str, addr: int, size: int, stream: int, pool: tuple[int, int]) -> None:
        super().record(action, addr, size, stream, pool)
        if action != "alloc" or self.reserved <= self.most:
            return
        self.most = self.reserved
        mapped = [
            list(part)
            for segment in self.segments
            for is_unmapped, part in groupby(segment.blocks, lambda block: block.state == UNMAPPED)
            if not is_unmapped
        ]
        used = [[block for block in part if block.state != FREE] for part in mapped]
        sizes = [sum(block.size for block in part) for part in mapped]
        active = sum(block.size for part in used for block in part)
        cached = sum(size for size, part in zip(sizes, used, strict=True) if not part)
        self.gaps = (self.reserved, active, self.reserved - active - cached, cached)
        self.requested = sum(block.requested for part in used for block in part)


@pytest.mark.parametrize("recorded", ["default", "expandable_segments:True"])
def test_what_is_reserved_and_not_in_use_is_known(
    recorded: str, made: Callable[[dict[str, Any]], Snapshot]
) -> None:
    steps = program(4, 500)
    allocator = Watched(**SETTINGS[recorded])
    serve(allocator, steps)
    found = what_if(made(allocator.snapshot()), settings=["default", "expandable_segments:True"], columns=50)
    gaps = found.fragmentation
    assert gaps is not None
    assert gaps.when == "most reserved"
    assert (gaps.reserved_bytes, gaps.active_bytes, gaps.split_bytes, gaps.cached_bytes) == allocator.gaps
    assert found.rows[0].live_when_most_reserved_bytes == allocator.requested
    for row in found.rows[1:]:
        other = Watched(**SETTINGS[row.settings])
        serve(other, shown(allocator.events))
        assert row.live_when_most_reserved_bytes == other.requested, row.settings
        # columns have the peak between them
        assert max(row.reserved) == row.peak_reserved_bytes, row.settings
        assert len(row.reserved) == 50


@pytest.mark.slow
@pytest.mark.parametrize("recorded", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_a_smaller_device_fails_where_it_does(
    recorded: str, seed: int, made: Callable[[dict[str, Any]], Snapshot]
) -> None:
    steps = [step for step in program(seed, 500) if step[0] != "empty"]
    whole = served(steps, **SETTINGS[recorded])
    snapshot, steps = made(whole.snapshot()), shown(whole.events)
    for share in (0.5, 0.8, 0.95):
        capacity = int(whole.peak * share)
        settings = {
            words: {**each, "capacity": capacity} for words, each in {**SETTINGS, **FRACTIONS}.items()
        }
        found = what_if(snapshot, settings=list(settings), capacity_bytes=capacity)
        for row, each in zip(found.rows[2:], settings.values(), strict=True):
            allocator = served(steps, **each)
            last = allocator.events[-1]
            assert (row.out_of_memory is not None) == (last["action"] == "oom"), row.settings
            if row.out_of_memory is not None:
                assert row.out_of_memory.asked_bytes == whole.events[row.out_of_memory.event]["size"]
                assert (row.out_of_memory.missing_bytes or 0) > 0
                # the events of the trace up to there asked for as many allocations
                before = whole.events[: row.out_of_memory.event]
                assert sum(event["action"] == "alloc" for event in before) == sum(
                    event["action"] == "alloc" for event in allocator.events
                )
            assert row.peak_reserved_bytes == allocator.peak


@pytest.mark.parametrize("recorded", SETTINGS)
def test_a_program_that_ran_out_of_memory_says_how_much_there_was(
    recorded: str, made: Callable[[dict[str, Any]], Snapshot]
) -> None:
    steps = [step for step in program(5, 500) if step[0] != "empty"]
    whole = served(steps, **SETTINGS[recorded])
    for share in (0.6, 0.9):
        capacity = int(whole.peak * share)
        allocator = served(steps, **SETTINGS[recorded], capacity=capacity)
        if allocator.events[-1]["action"] != "oom":
            continue
        found = what_if(made(allocator.snapshot()), settings=["recorded", *SETTINGS])
        assert found.calibration.exact
        assert found.capacity_bytes is not None
        assert found.capacity_bytes <= capacity
        assert found.rows[0].out_of_memory == found.rows[1].out_of_memory
        # with the memory that is known
        steps = asked_again(allocator.events)
        for row, settings in zip(found.rows[2:], SETTINGS.values(), strict=True):
            other = served(steps, **settings, capacity=found.capacity_bytes)
            fails = other.events[-1]["action"] == "oom"
            assert (row.out_of_memory is not None) == fails, row.settings


@pytest.mark.parametrize("recorded", ["default", "expandable_segments:True"])
def test_a_trace_that_begins_in_the_middle_is_reproduced(
    recorded: str, made: Callable[[dict[str, Any]], Snapshot]
) -> None:
    exact = 0
    for seed in range(12):
        allocator = served(program(seed, 600), **SETTINGS[recorded])
        found = what_if(made(allocator.snapshot(lost=len(allocator.events) // 3)), settings=["recorded"])
        exact += found.calibration.exact
        assert found.calibration.addresses_equal > 0.5 * found.calibration.addresses
    # where a block begins that isn't split isn't always known
    assert exact >= 9


def test_nothing_is_concluded_from_a_trace_that_only_frees(
    made: Callable[[dict[str, Any]], Snapshot],
) -> None:
    steps: list[Step] = [("malloc", number, 30 << 20, 0, (0, 0)) for number in range(4)]
    steps += [("request", number, 0, 0, (0, 0)) for number in range(4)]
    allocator = served(steps)
    lost = next(at for at, event in enumerate(allocator.events) if event["action"] == "free_requested")
    found = what_if(made(allocator.snapshot(lost=lost)))
    assert str(found.calibration.reason) == "it has no allocations that would show how exact a replay is"
    assert len(found.rows) == 1


def test_what_was_cached_before_the_trace_is_saved_by_no_setting(
    made: Callable[[dict[str, Any]], Snapshot],
) -> None:
    # by hand: 100 MiB are cached when the trace begins; then 40 MiB and 40 MiB are live, in segments of just that
    before: list[Step] = [("malloc", 0, 100 * MIB, 0, (0, 0)), ("malloc", 1, 40 * MIB, 0, (0, 0))]
    freed: list[Step] = [("request", 0, 0, 0, (0, 0)), ("complete", 0, 0, 0, (0, 0))]
    allocator = served([*before, *freed, ("malloc", 2, 40 * MIB, 1, (0, 0))])
    lost = max(at for at, event in enumerate(allocator.events) if event["action"] == "free_completed") + 1
    found = what_if(made(allocator.snapshot(lost=lost)), settings=["expandable_segments:True"])
    recorded, expandable = found.rows
    assert (recorded.peak_reserved_bytes, expandable.peak_reserved_bytes) == (180 * MIB, 80 * MIB)
    assert found.anew_peak_reserved_bytes == 80 * MIB
    assert str(conclusion(found)) == "None of these settings would have reserved noticeably less."
    assert "the recorded settings come to 80 MiB" in str(assumption(found))


def test_settings_may_have_spaces_and_no_device_has_everything(
    made: Callable[[dict[str, Any]], Snapshot],
) -> None:
    assert parse(" expandable_segments : True").expandable_segments
    snapshot = made(served([("malloc", 0, MIB, 0, (0, 0))]).snapshot())
    with pytest.raises(BadRequestError, match=r"No device has 95\.4 EiB"):
        what_if(snapshot, capacity_bytes=99_999_999 << 40)


def test_garbage_is_collected_where_that_changes_what_is_reserved(
    made: Callable[[dict[str, Any]], Snapshot],
) -> None:
    words, settings = "per_process_memory_fraction:0.99,garbage_collection_threshold:0.5", {"fraction": 0.99}
    differ = 0
    for seed in range(4):
        steps = [step for step in program(seed, 700) if step[0] != "empty"]
        whole = served(steps)
        capacity = whole.peak * 2
        other = served(shown(whole.events), **settings, threshold=0.3, capacity=capacity)
        found = what_if(
            made(whole.snapshot()), settings=[words.replace("0.5", "0.3")], capacity_bytes=capacity
        )
        assert found.rows[-1].peak_reserved_bytes == other.peak
        differ += other.peak != whole.peak
    assert differ


def test_a_combination_is_told_of_where_it_is_better_than_its_parts(
    made: Callable[[dict[str, Any]], Snapshot],
) -> None:
    steps: list[Step] = []
    # by stream and mebibytes; 0 frees the one before
    asked = [(0, 33), (0, 0), (0, 36), (0, 200), (0, 0), (0, 40), (0, 200), (1, 10), (2, 10), (3, 10)]
    for number, (stream, size) in enumerate(asked):
        if size:
            steps.append(("malloc", number, size * MIB, stream, (0, 0)))
        else:
            steps += [(kind, number - 1, 0, 0, (0, 0)) for kind in ("request", "complete")]
    found = what_if(made(served(steps).snapshot()))
    # rounded up, 33 and 36 MiB share a segment of 36; without splitting, both 200 MiB one of 200, or rounded up 208;
    # with pages of 20 MiB, each stream has one for its 10
    assert [(row.settings, row.peak_reserved_bytes // MIB) for row in found.rows] == [
        ("recorded", 34 + 36 + 200 + 200 + 30),
        ("expandable_segments:True", 280 + 60),
        ("max_split_size_mb:128", 34 + 36 + 200 + 40 + 30),
        ("max_split_size_mb:512", 34 + 36 + 200 + 200 + 30),
        ("roundup_power2_divisions:8", 36 + 208 + 208 + 30),
        ("max_split_size_mb:128,roundup_power2_divisions:8", 36 + 208 + 40 + 30),
    ]
    assert "With max_split_size_mb:128,roundup" in str(conclusion(found))
    # where none is better than its parts, none is reported
    for seed in range(3):
        rows = what_if(made(served(program(seed, 300)).snapshot())).rows
        assert not any("," in row.settings for row in rows)


def test_what_is_left_out_is_not_asked_for(made: Callable[[dict[str, Any]], Snapshot]) -> None:
    steps = program(8, 600)
    allocator = served(steps)
    for event in allocator.events:
        name = "big" if event["size"] > 4 * MIB else "small"
        event["frames"] = [{"filename": f"/job/{name}.py", "line": 3, "name": name}]
    found = what_if(made(allocator.snapshot()), changes=Changes(without=("file:big.py",)))
    steps = shown(allocator.events)
    large = {number for kind, number, size, *_ in steps if kind == "malloc" and size > 4 * MIB}
    other = served([step for step in steps if step[0] == "empty" or step[1] not in large])
    assert [(row.settings, row.changes.without) for row in found.rows] == [
        ("recorded", ()),
        ("recorded", ("file:big.py",)),
    ]
    assert found.rows[1].peak_reserved_bytes == other.peak
    assert found.rows[1].peak_allocated_bytes < found.rows[0].peak_allocated_bytes


@pytest.mark.parametrize("path", real_programs("*.pickle"), ids=lambda path: path.name)
def test_real_traces_are_reproduced(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    snapshot = looked_at(path)
    for device in snapshot.timeline.devices:
        found = what_if(snapshot, device.device)
        assert found.calibration.exact == (found.calibration.reason is None), path
        allocates = ALLOC in snapshot.device(device.device).event_action
        if path.name.startswith("cpu_profile") or not allocates:
            assert found.calibration.reason is not None
            continue
        assert found.calibration.exact
        assert len(found.rows) > 2
        gaps = found.fragmentation
        assert gaps is not None
        assert gaps.active_bytes + gaps.split_bytes + gaps.cached_bytes == gaps.reserved_bytes
        assert all(0 <= pin.alone_bytes <= pin.pinned_bytes <= gaps.split_bytes for pin in gaps.pinning)


def test_a_fraction_of_memory_that_is_not_known_means_nothing(
    made: Callable[[dict[str, Any]], Snapshot],
) -> None:
    with pytest.raises(BadRequestError, match="how much memory there was"):
        what_if(made(served(program(1, 50)).snapshot()), settings=["per_process_memory_fraction:0.5"])


def test_settings_are_read_as_pytorch_reads_them() -> None:
    assert parse("default") == Settings(words="default")
    words = "max_split_size_mb:64, expandable_segments:True"
    assert parse(words) == Settings(words=words, expandable_segments=True, max_split_size_mb=64)
    found = parse("roundup_power2_divisions:[4:2,8:4,>:8]")
    assert found.divisions == (2, 2, 2, 4, *(8,) * 12)
    # sizes between two that are named have no divisions
    assert parse("roundup_power2_divisions:[4:2,16:4,>:8]").divisions == (2, 2, 2, 0, 4, *(8,) * 11)
    found = parse("large_segment_size_mb:12,max_non_split_rounding_mb:16")
    assert (found.large_segment_bytes, found.rounding_bytes) == (12 * MIB, 16 * MIB)
    found = parse("large_segment_size_mb:12")
    assert (found.large_segment_bytes, found.rounding_bytes) == (12 * MIB, 12 * MIB)
    for wrong in ("", "x", "x:1", "max_split_size_mb:1", "max_split_size_mb:nan", "expandable_segments:maybe",
                  "roundup_power2_divisions:3", "garbage_collection_threshold:1.5", "per_process_memory_fraction:1.1",
                  "per_process_memory_fraction:0", "large_segment_size_mb:10", "max_non_split_rounding_mb:19",
                  "roundup_power2_divisions:[3:2]", "max_split_size_mb:1e30", "large_segment_size_mb:1e30",
                  f"large_segment_size_mb:{1 << 64}", f"max_non_split_rounding_mb:{1 << 64}",
                  f"roundup_power2_divisions:{1 << 64}", "x" * 100_000):  # fmt: skip
        with pytest.raises(BadRequestError) as refused:
            parse(wrong)
        assert len(str(refused.value)) < 500


EXACT = Calibration(
    exact=True,
    segments=7,
    segments_equal=7,
    addresses=12,
    addresses_equal=12,
    peak_reserved_bytes=100 * MIB,
    recorded_peak_reserved_bytes=100 * MIB,
    reason=None,
)
FULL = Failure(event=1234, asked_bytes=9 * MIB, missing_bytes=5 * MIB)


def row(settings: str, mib: int, failure: Failure | None = None, *without: str) -> Run:
    return Run(
        settings=settings,
        changes=Changes(without=without),
        largest=[],
        peak_allocated_bytes=mib * MIB,
        peak_reserved_bytes=mib * MIB,
        live_when_most_reserved_bytes=mib * MIB,
        reserved=[],
        out_of_memory=failure,
    )


def asked(calibration: Calibration, recorded: Run, tried: list[Run]) -> WhatIf:
    return WhatIf(
        device=0,
        calibration=calibration,
        capacity_bytes=95 * MIB,
        reserved_before_bytes=70 * MIB,
        laid_out_anew=False,
        again=None,
        curves=None,
        fragmentation=None,
        rows=[recorded, *tried],
    )


RECORDED, FAILED = row("recorded", 100), row("recorded", 100, FULL)


@pytest.mark.parametrize(
    ("recorded", "tried", "said"),
    [
        (RECORDED, [row("a:1", 100), row("b:2", 120)], "None of these settings would have reserved"),
        (RECORDED, [row("a:1", 90), row("b:2", 80)], "With b:2 80 MiB would have been reserved"),
        (FAILED, [row("a:1", 100, FULL)], "Memory would have run out with each"),
        (FAILED, [row("a:1", 70, FULL), row("b:2", 99)], "With b:2 it would have fitted, with 99 MiB"),
        (FAILED, [row("recorded", 90, None, "x")], "Without these allocations it would have fitted, with 90"),
        (FAILED, [row("recorded", 90, FULL, "x")], "still have run out: at event 1,235 5 MiB were missing."),
        (
            RECORDED,
            [row("recorded", 80, None, "x")],
            "Without these allocations 80 MiB would have been reserved",
        ),
        (RECORDED, [row("recorded", 60, None, "x")], "60 MiB would have been allocated"),
        (RECORDED, [row("recorded", 60, None, "x")], "Already before the first event 70 MiB were reserved."),
        (RECORDED, [], "None"),
        # with other memory: 95 MiB
        (RECORDED, [row("recorded", 90, FULL), row("a:1", 80, FULL)], "Memory would have run out with each"),
        (RECORDED, [row("recorded", 90, FULL), row("b:2", 94)], "With b:2 it would have fitted, with 94 MiB"),
        (
            FAILED,
            [row("recorded", 94), row("b:2", 80)],
            "Into 95 MiB it would have fitted, with 94 MiB reserved",
        ),
    ],
)
def test_what_replays_come_to_is_said_in_a_sentence(recorded: Run, tried: list[Run], said: str) -> None:
    assert said in str(conclusion(asked(EXACT, recorded, tried)))


# the replay reserves 4 MiB less than the trace did
INEXACT = replace(EXACT, exact=False, segments_equal=6, addresses_equal=11, peak_reserved_bytes=96 * MIB)


@pytest.mark.parametrize(
    ("recorded", "tried", "said"),
    [
        (RECORDED, [row("a:1", 97)], "None of these settings would have reserved"),
        (RECORDED, [row("a:1", 95)], "With a:1 95 MiB would have been reserved"),
        # of 95 MiB
        (FAILED, [row("a:1", 92)], "isn't exact enough to say whether it would have fitted"),
        (FAILED, [row("a:1", 91)], "With a:1 it would have fitted, with 91 MiB"),
        (FAILED, [row("a:1", 90, replace(FULL, missing_bytes=4 * MIB))], "isn't exact enough to say"),
        (
            FAILED,
            [row("a:1", 90, FULL)],
            "run out with each of these settings. At event 1,235 5 MiB were missing",
        ),
        (FAILED, [row("recorded", 92, None, "x")], "isn't exact enough to say whether it would have fitted"),
    ],
)
def test_nothing_is_concluded_from_less_than_the_replay_misses(
    recorded: Run, tried: list[Run], said: str
) -> None:
    assert said in str(conclusion(asked(INEXACT, recorded, tried)))
    assert "reproduces 6 of 7 segments and 11 of 12 addresses" in str(exactness(INEXACT))


@pytest.mark.parametrize(
    ("recorded", "tried", "said"),
    [
        (
            RECORDED,
            [row("recorded", 80, None, "x")],
            "Of the 95 MiB that could be reserved, 15 MiB would have been left.",
        ),
        (
            RECORDED,
            [row("recorded", 80), row("a:1", 90)],
            "with 80 MiB reserved at the peak. With a:1 as well, with 90",
        ),
        (
            RECORDED,
            [row("recorded", 80), row("a:1", 90, FULL)],
            "With a:1 memory would have run out. At event 1,235",
        ),
        (
            RECORDED,
            [row("recorded", 90, FULL), row("a:1", 90, FULL)],
            "5 MiB were missing with the recorded settings.",
        ),
        (
            RECORDED,
            [row("recorded", 99, replace(FULL, event=-1, asked_bytes=0), "x")],
            "memory would already have run out before the first event: 5 MiB were missing.",
        ),
    ],
)
def test_with_other_memory_it_is_said_by_how_much(recorded: Run, tried: list[Run], said: str) -> None:
    assert said in str(conclusion(asked(EXACT, recorded, tried)))
