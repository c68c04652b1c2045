"""The highlighted parts of pictures are exactly a group's allocations, by brute force."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.conftest import real_files
from tests.python.recordings import CUDA
from tests.python.replays import torch as oracle
from tests.python.test_stacked_views import Geometry, unpack

from memlens.store.snapshot import Snapshot
from memlens.views.selection.columns import device_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import Branch, groups, highlighted_rows, members
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.lanes import layout_of
from memlens.views.trace.picture.memory_map import memory_map
from memlens.views.trace.picture.viewport import viewport

KINDS: tuple[GroupKind, ...] = ("size", "stream", "pool", "category", "line", "stack")


def branches(snapshot: Snapshot, of: AllocationSet, chance: random.Random) -> list[tuple[Branch, set[int]]]:
    """Some groups of a set, and the allocations in each."""
    found = []
    for kind in KINDS:
        rows = groups(snapshot, Branch(of, [kind]), "bytes", 0, 20, descending=True).rows
        group = chance.choice(rows)
        branch = Branch(of, [kind], [group.key])
        mine: set[int] = set()
        while len(mine) < (group.count or 0):
            page = members(snapshot, branch, "start", len(mine), 1000, descending=False)
            mine |= {row.allocation for row in page.rows}
        found.append((branch, mine))
    return found


def check_merged(
    geometry: Geometry, alive: Callable[[int], list[tuple[int, int]]], mine: set[int], chance: random.Random
) -> int:
    """Merged rects are highlighted if most of their bytes are; returns how many were examined."""
    looked = 0
    for at, (x0, x1, y0, y1, band) in enumerate(geometry.rects.tolist()):
        if not band >> 31 or y1 - y0 <= 8:
            continue
        column = chance.randrange(x0, x1)
        low = geometry.y[0] + (y0 - 0.5) * geometry.quantum
        high = geometry.y[0] + (y1 + 0.5) * geometry.quantum
        below, shares = 0, [0, 0]
        for number, size in alive(int(geometry.moment[column])):
            if below >= low and below + size <= high and size < 4 * geometry.quantum:
                shares[number in mine] += size
            below += size
        if max(shares) > 0.75 * sum(shares):
            assert geometry.rect_highlighted[at] == int(shares[1] > shares[0])
            looked += 1
    return looked


def check_pictures(snapshot: Snapshot, raw: Any, filter_text: str, chance: random.Random) -> int:
    info = max(snapshot.timeline.devices, key=lambda each: each.allocations)
    found, first = oracle.allocations(raw, info.device), snapshot.device(info.device).first_allocation
    device = device_of(snapshot, info.device, filter_text)
    left = set(device.allocations(np.arange(len(device.start))).tolist())

    def alive(moment: int) -> list[tuple[int, int]]:
        own = [(n + first, found[n].size) for n in oracle.alive(found, moment)]
        return [(number, size) for number, size in own if number in left]

    looked = found_highlighted = 0
    of = AllocationSet(info.device, filter=filter_text)
    for branch, mine in branches(snapshot, of, chance):
        highlighted = highlighted_rows(snapshot, branch, device)
        assert set(device.allocations(np.flatnonzero(highlighted)).tolist()) == mine
        extent, span = info.event_axis, max(info.events, 1) / chance.choice((1, 3, 20))
        x0 = extent.x0 + chance.random() * (info.events - span) if info.events else 0.0
        for rows in (40, 400):
            box = Box("event", x0, x0 + span, 0, device.info.peak_bytes, 150, rows)
            stacked = unpack(viewport(snapshot, info.device, box, filter_text, highlighted))
            box = box._replace(y1=layout_of(snapshot, info.device).top)
            mapped = unpack(memory_map(snapshot, info.device, box, filter_text, highlighted))
            for geometry in (stacked, mapped):
                reported = geometry.allocation[geometry.highlighted == 1].tolist()
                assert set(reported) == mine & set(geometry.allocation.tolist())
                found_highlighted += len(reported)
            looked += check_merged(stacked, alive, mine, chance)
    assert found_highlighted > 0
    return looked


@pytest.mark.slow
@pytest.mark.parametrize("filter_text", ["", "size>2KiB"])
def test_the_sample(sample: Path, opened: Callable[[Path], Snapshot], filter_text: str) -> None:
    assert check_pictures(opened(sample), oracle.load(sample), filter_text, random.Random(5)) > 0


@pytest.mark.parametrize(
    "path", [CUDA, *real_files("zijian*9e5*", "magma*", "cpu_profile_mlp*")], ids=lambda path: path.name
)
def test_real_files(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    looked = check_pictures(looked_at(path), oracle.load(path), "", random.Random(6))
    # the small model has few, large tensors, none thin enough to be merged
    assert looked > 0 or path.name.startswith("cpu_profile")


def test_a_branch_of_another_device_highlights_nothing(
    opened: Callable[[Path], Snapshot], sample: Path
) -> None:
    snapshot = opened(sample)
    whole = device_of(snapshot, 0)
    # a set with another filter than the picture is highlighted where both match
    highlighted = highlighted_rows(snapshot, Branch(AllocationSet(0, filter="size>2KiB"), []), whole)
    assert highlighted.any()
    assert (whole.size[highlighted] > 2048).all()
