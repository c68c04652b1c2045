"""Sets of allocations, against brute force over every allocation."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memlens.errors import MemlensError
from memlens.store.snapshot import Snapshot
from memlens.views.selection.sets import AllocationSet, SetKind, moment, rows_of


def expected(snapshot: Snapshot, device: int, kind: SetKind, first: int, last: int | None) -> list[int]:
    found = snapshot.device(device)
    rows = []
    for row, (start, end) in enumerate(zip(found.start.tolist(), found.end.tolist(), strict=True)):
        if last is None:
            inside = start <= first < end
        else:
            inside = {
                "live": start <= last and end > first,
                "allocated": first < start <= last,
                "freed": first < end <= last,
                "survived": first < start <= last < end,
            }[kind]
        if inside:
            rows.append(row)
    return rows


@pytest.mark.parametrize("kind", ["live", "allocated", "freed", "survived"])
def test_sets_between_moments_agree_with_brute_force(
    opened: Callable[[Path], Snapshot], sample: Path, kind: SetKind
) -> None:
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    chance = random.Random(1)
    pairs: list[tuple[int, int | None]] = [(0, info.events), (0, 0), (info.events, None), (0, None)]
    pairs += [(chance.randint(0, info.events), chance.randint(0, info.events)) for _ in range(12)]
    for first, last in pairs:
        _, rows = rows_of(snapshot, AllocationSet(info.device, kind, first, last))
        low, high = (first, None) if last is None else (min(first, last), max(first, last))
        assert rows.tolist() == expected(snapshot, info.device, kind, low, high)


def test_a_set_without_a_moment_is_that_of_the_peak(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    device, rows = rows_of(snapshot, AllocationSet(info.device))
    assert int(device.size[rows].sum()) == info.peak_bytes
    peak = moment(snapshot, info.device, None)
    assert (peak.moment, peak.live_bytes, peak.live_count, peak.is_peak) == (
        info.peak_moment,
        info.peak_bytes,
        len(rows),
        True,
    )
    assert moment(snapshot, info.device, -5).moment == 0
    assert moment(snapshot, info.device, info.events + 5).live_bytes == info.live_at_end_bytes
    for wrong in (
        AllocationSet(99),
        AllocationSet(info.device, "live", -1),
        AllocationSet(0, "freed", 0, 10**9),
    ):
        with pytest.raises(MemlensError):
            rows_of(snapshot, wrong)
