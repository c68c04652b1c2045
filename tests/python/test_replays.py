"""memlens' archives, command line and SQL against second readings of the same files, figure by figure."""

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.archived import Archived, Commands
from tests.python.conftest import DATA, REAL, ROOT, real_files, real_profiles
from tests.python.replays import torch
from tests.python.replays.stacks import Frame, Line, Stack

from memlens.store.cache import Cache
from memlens.store.snapshot import Snapshot

FIXTURES = ROOT / "tests" / "fixtures" / "profiles"
NEVER = 2**32 - 1
BEFORE, PENDING = 1, 2
"""Flags of allocations in the archive."""

Opened = Callable[[Path], Snapshot]


@pytest.fixture
def commands(cache: Cache, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], Commands]:
    """The command line about a file, with the cache that ``opened`` fills."""
    return lambda path: Commands(path, cache.folder, capsys)


def names(path: Path) -> str:
    return path.name


# PyTorch

TORCH = [ROOT / "samples" / "train.pickle", *real_files("*.pickle", "*.html")]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real files aren't here")
def test_all_real_files_are_replayed() -> None:
    """A list of parameters that a wrong pattern made empty would pass."""
    assert {path for path in REAL.iterdir() if path.suffix not in (".md", ".json")} == set(TORCH[1:])


@pytest.mark.parametrize("path", TORCH, ids=names)
def test_snapshots_of_pytorch(path: Path, opened: Opened, commands: Callable[[Path], Commands]) -> None:
    replay = torch.Replay(torch.load(path))
    snapshot = opened(path)
    archived = Archived(snapshot, replay.tree)
    check_devices(replay, snapshot)
    for number, device in replay.devices.items():
        check_allocations(replay, device, snapshot, number, archived)
    ask = commands(path)
    expected = lines_of(replay, archived)
    asked = [
        {(row["file"], row["line"]): row for row in rows}
        for rows in (ask.lines(), ask.sql("SELECT * FROM lines"))
    ]
    for figure, number in zip(FIGURES, range(len(FIGURES)), strict=True):
        figures = {place: values[number] for place, values in expected.items()}
        for rows in asked:
            mine = {place: row.get(figure) for place, row in rows.items()}
            # one of them counts no allocations at the peak
            assert mine == figures or (rows is asked[0] and figure == "live_at_peak_count"), figure
    check_sql(replay, ask)
    check_folded(replay, ask, snapshot)


def check_devices(replay: torch.Replay, snapshot: Snapshot) -> None:
    """The figures that ``memlens info`` prints."""
    assert [info.device for info in snapshot.info.devices] == list(replay.devices)
    for info in snapshot.info.devices:
        device = replay.devices[info.device]
        assert (
            info.events, info.allocations, info.peak_bytes, info.peak_moment, info.live_at_start_bytes,
            info.live_at_end_bytes, info.reserved_at_end_bytes, info.ooms,
        ) == (
            device.events, len(device.allocations), max(device.live), device.peak_moment, device.live[0],
            device.live[-1], device.reserved_at_end, device.ooms,
        )  # fmt: skip
        assert info.live_at_end_count == sum(alloc.end is None for alloc in device.allocations)


def check_allocations(
    replay: torch.Replay, device: torch.Device, snapshot: Snapshot, number: int, archived: Archived
) -> None:
    """Every allocation's columns, and what was live at every moment."""
    mine, found = snapshot.device(number), device.allocations
    assert mine.live.tolist() == device.live
    for column, expected in (
        (mine.address, [alloc.addr for alloc in found]),
        (mine.size, [alloc.size for alloc in found]),
        (mine.start, [alloc.start for alloc in found]),
        (mine.end, [NEVER if alloc.end is None else alloc.end for alloc in found]),
        (mine.rounded, [alloc.rounded or 0 for alloc in found]),
        (mine.flags & BEFORE, [BEFORE if alloc.start == 0 else 0 for alloc in found]),
        ((mine.flags & PENDING) // PENDING, [int(alloc.end is None and alloc.waits) for alloc in found]),
    ):
        assert column.tolist() == expected
    streams = snapshot.manifest.streams
    assert [streams[row] for row in mine.stream.tolist()] == [alloc.stream for alloc in found]
    categories = dict(enumerate(snapshot.info.categories))
    assert [categories.get(row) for row in mine.category.tolist()] == [alloc.category for alloc in found]
    expected = [replay.stack_of(alloc) for alloc in found]
    stacks = archived.stacks[mine.stack].tolist()
    wrong = [row for row, (one, other) in enumerate(zip(stacks, expected, strict=True)) if one != other]
    assert not wrong, (
        f"{len(wrong)} of {len(found)} stacks differ, the first of allocation {wrong[0]} (from moment "
        f"{found[wrong[0]].start}): {replay.tree.stack(stacks[wrong[0]])} is not {replay.tree.stack(expected[wrong[0]])}"
    )


FIGURES = (
    "live_at_peak_bytes", "live_at_peak_count", "total_bytes", "count", "live_at_end_bytes", "largest_bytes",
    "self_total_bytes", "self_count",
)  # fmt: skip


def lines_of(replay: torch.Replay, archived: Archived) -> dict[Line, tuple[int, ...]]:
    """What lines come to, in the order of :data:`FIGURES`."""
    through, own = replay.sums.by_line(archived.is_python)
    largest = replay.largest_of_lines()
    found = {}
    for place, (total, count, peak, peak_count, end) in through.items():
        own_total, own_count, *_ = own.get(place, (0, 0))
        found[place] = (peak, peak_count, total, count, end, largest[place], own_total, own_count)
    return found


def check_sql(replay: torch.Replay, ask: Commands) -> None:
    """The tables that people ask: allocations, devices, stacks and frames."""
    rows = ask.sql(
        "SELECT device, size_bytes, rounded_bytes, start_moment, end_moment, live_at_peak, before_trace, address, "
        "pending_free, state, category, stream FROM allocations ORDER BY allocation"
    )
    expected = []
    for number, device in replay.devices.items():
        at_peak = set(torch.alive(device.allocations, device.peak_moment))
        for row, alloc in enumerate(device.allocations):
            pending = int(alloc.end is None and alloc.waits)
            state = "freed" if alloc.end is not None else "pending_free" if pending else "live"
            told = (
                alloc.start,
                alloc.end,
                int(row in at_peak),
                int(alloc.start == 0),
                hex(alloc.addr),
                pending,
            )
            more = (state, alloc.category, str(alloc.stream))
            expected.append((number, alloc.size, alloc.rounded, *told, *more))
    assert [tuple(row.values()) for row in rows] == expected
    frames = {
        row["frame"]: Frame(row["function"], row["file"], row["line"])
        for row in ask.sql("SELECT * FROM frames")
    }
    rows = ask.sql(
        "SELECT total_bytes, count, live_at_peak_bytes, live_at_peak_count, live_at_end_bytes, largest_bytes, depth, "
        "(SELECT group_concat(frame, ' ' ORDER BY level) FROM stack_frames AS f WHERE f.stack = s.stack) AS frames "
        "FROM stacks AS s WHERE count > 0"
    )
    mine: dict[int, list[int]] = {}
    for row in rows:
        *values, largest, depth = list(row.values())[:-1]
        stack = [frames[int(number)] for number in (row["frames"] or "").split()]
        assert len(stack) == depth
        place = replay.tree.number(stack)
        # the archive tells stacks apart whose frames differ in what no view shows
        kept = mine.setdefault(place, [0] * len(values) + [0])
        kept[:] = [*(one + two for one, two in zip(kept, values, strict=False)), max(kept[-1], largest)]
    expected_sums = replay.sums.by_stack()
    assert mine == {stack: [*values, replay.largest[stack]] for stack, values in expected_sums.items()}


def check_folded(replay: torch.Replay, ask: Commands, snapshot: Snapshot) -> None:
    """``memlens flame --folded`` of the peak, the end and all of the first device."""
    device = replay.devices[snapshot.info.default_device]
    for value, rows in (
        ("peak", torch.alive(device.allocations, device.peak_moment)),
        ("leaked", torch.alive(device.allocations, device.events)),
        ("total", list(range(len(device.allocations)))),
    ):
        printed = Counter[str]()
        for line in ask.printed("flame", "--value", value, "--folded", "--by-line").splitlines():
            stack, _, size = line.rpartition(" ")
            printed[stack] += int(size)
        folded = Counter[str]()
        for row in rows:
            alloc = device.allocations[row]
            nothing = "no stack recorded" if alloc.start else "alive before recording began"
            folded[folded_stack(replay.tree.stack(replay.stack_of(alloc))) or nothing] += alloc.size
        assert printed == +folded


def folded_stack(stack: Stack) -> str:
    """A stack as Brendan Gregg's scripts write it, outermost frame first, each as py-spy writes it."""
    return ";".join(folded_frame(frame) for frame in reversed(stack))


@lru_cache(maxsize=1 << 16)
def folded_frame(frame: Frame) -> str:
    place = frame.file.replace("\\", "/").rpartition("/")[2]
    place += f":{frame.line}" if frame.line else ""
    return (f"{frame.function} ({place})" if frame.file else frame.function).replace(";", ",")
