"""The memory map against every allocation in every column, and the answers about the allocator's state."""

import base64
import math
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.python.conftest import real_files
from tests.python.counted import some
from tests.python.model_allocator import MIB, ModelAllocator
from tests.python.recordings import CUDA, EXPANDABLE
from tests.python.test_allocator import open_data, run
from tests.python.test_stacked_views import Geometry, unpack

from memlens.errors import MemlensError
from memlens.store.snapshot import Snapshot
from memlens.views.selection.columns import NEVER, device_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groups import Branch, highlighted_rows
from memlens.views.trace.allocator import segments
from memlens.views.trace.allocator import state as allocator
from memlens.views.trace.allocator.answer import AllocatorStateAnswer, allocator_state
from memlens.views.trace.allocator.state import STATES, state_at
from memlens.views.trace.picture import lanes
from memlens.views.trace.picture.areas import GroupedBy, areas_of
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.map_lanes import MapLanesAnswer, map_lanes
from memlens.views.trace.picture.memory_map import map_hit, map_locate, memory_map
from memlens.views.trace.picture.viewport import viewport

FILES = ("decomfl*", "silmont__mem_snapshot*", "cpu_profile_mlp*", "verl*", "magma27*")


def ranges_of(answer: MapLanesAnswer) -> list[tuple[int, int, float]]:
    """The first address of each lane, the one after its last, and its height."""
    begins = [int(lane.address, 16) for lane in answer.lanes]
    return [
        (begin, begin + lane.size_bytes, lane.y) for begin, lane in zip(begins, answer.lanes, strict=True)
    ]


def height_of(ranges: list[tuple[int, int, float]], address: int) -> list[float]:
    """The heights of an address: one for each lane that contains it."""
    return [y + address - begin for begin, end, y in ranges if begin <= address < end]


def check(  # noqa: C901 - one rule after the other
    snapshot: Snapshot, device: int, box: tuple[float, float, float, float], pixels: tuple[int, int]
) -> int:
    """Returns how many rows of reserved ranges were looked at."""
    own = snapshot.device(device)
    axis: Literal["time", "event"] = "time" if own.info.time_axis else "event"
    ranges = ranges_of(map_lanes(snapshot, device))
    g = unpack(memory_map(snapshot, device, Box(axis, *box, *pixels)))
    flat = unpack(viewport(snapshot, device, Box(axis, *box, *pixels)))
    if flat.columns == g.columns:
        for name in ("moment", "total", "live", "passed"):
            assert getattr(g, name).tolist() == getattr(flat, name).tolist(), name
    row_bytes = g.quantum * 4
    limit = round((g.y[1] - g.y[0]) / g.quantum)

    def q(height: float) -> int:
        return min(max(math.floor((height - g.y[0]) / g.quantum + 0.5), 0), limit)

    rects = g.rects.tolist()
    singles: list[set[tuple[int, int, int]]] = [set() for _ in range(g.columns)]
    merged: list[list[int]] = [[] for _ in range(g.columns)]
    for number, (x0, x1, y0, y1, band) in enumerate(rects):
        assert x0 < x1 <= g.columns
        assert y0 < y1 <= limit
        for column in range(x0, x1):
            if band >> 31:
                merged[column].append(number)
            elif g.allocation[band] != NEVER:
                singles[column].add((int(g.allocation[band]), y0, y1))
    held: dict[int, set[int]] = {}
    own_heights: dict[int, float] = {}
    for column in range(g.columns):
        moment = int(g.moment[column])
        if not g.live[column]:
            continue
        alive = np.flatnonzero((own.start <= moment) & (own.end > moment))
        wanted = set()
        for row in alive.tolist():
            size, address = int(own.size[row]), int(own.address[row])
            heights = height_of(ranges, address)
            if row not in own_heights:
                own_heights[row] = own_height(snapshot, device, row)
            y = own_heights[row]
            assert y in heights, "an allocation is in a lane of its address"
            if size >= row_bytes:
                if q(y) < q(y + size):
                    wanted.add((row + own.first_allocation, q(y), q(y + size)))
            elif y + size > g.y[0] and y < g.y[1]:
                place = math.floor((y + size / 2 - g.y[0]) / row_bytes)
                if 0 <= place < limit // 4:
                    inside = [n for n in merged[column] if rects[n][2] == place * 4]
                    assert len(inside) == 1, "a thin allocation is in exactly one band"
                    held.setdefault(inside[0], set()).add(row)
        assert singles[column] == wanted
    for number, rows in held.items():
        assert len(rows) == rects[number][4] & 0x7FFFFFFF, "a band has the number of its allocations"
        assert int(g.rect_stack[number]) in {int(own.stack[row]) for row in rows}
    assert len(held) == len({number for numbers in merged for number in numbers})
    check_areas(snapshot, device, Box(axis, *box, *pixels), g, held)
    return check_reserved(snapshot, device, g, q)


def check_areas(
    snapshot: Snapshot, device: int, box: Box, plain: Geometry, held: dict[int, set[int]]
) -> None:
    """By group the rects are unchanged, each with its area, and areas have the timeline's figures."""
    own = snapshot.device(device)
    areas = areas_of(snapshot, device, "", GroupedBy("line"))
    g = unpack(memory_map(snapshot, device, box, areas=areas))
    assert g.columns == plain.columns
    assert not g.coarser
    for name in ("x0", "x1", "y0", "y1"):
        assert g.rects[name].tolist() == plain.rects[name].tolist()
    for band, allocation in enumerate(g.allocation.tolist()):
        if allocation != NEVER:
            assert g.group[band] == areas.codes[allocation - own.first_allocation]
    for number, rows in held.items():
        merged = int(g.rects["band"][number])
        assert merged >> 31
        assert (merged & 0x7FFFFFFF) - 1 in {int(areas.codes[row]) for row in rows}
    for column in range(0, g.columns, 9):
        moment = int(g.moment[column])
        alive = (
            (own.start <= moment) & (own.end > moment) if g.live[column] else np.zeros(len(own.start), bool)
        )
        wanted = np.bincount(areas.codes[alive], own.size[alive], max(len(areas.areas), 1))
        assert g.sums[column].tolist() == wanted.tolist()


def own_height(snapshot: Snapshot, device: int, row: int) -> float:
    return map_locate(snapshot, row + snapshot.device(device).first_allocation, "event").y0


MOST_RESERVED = 1 << 40
"""A profiler's trace has one segment of all addresses that it used."""


def has_one_pool(snapshot: Snapshot, device: int) -> bool:
    """Whether an address is in one lane at all moments."""
    return len({(lane.pool, lane.stream) for lane in map_lanes(snapshot, device).groups}) == 1


def check_reserved(snapshot: Snapshot, device: int, g: Geometry, q: Callable[[float], int]) -> int:
    """The reserved ranges of a column are the segments at its moment. Returns how many were looked at."""
    if not len(state_at(snapshot, device, snapshot.device(device).info.events).segments):
        return 0
    ranges = ranges_of(map_lanes(snapshot, device))
    row_bytes = g.quantum * 4
    looked_at = 0
    for column in range(0, g.columns, 7):
        state = state_at(snapshot, device, int(g.moment[column]))
        if not g.live[column] or int(state.segments["size"].sum()) > MOST_RESERVED:
            continue
        wanted = set()
        for segment in state.segments.tolist():
            for y in height_of(ranges, segment[0])[:1]:
                if segment[1] >= row_bytes:
                    wanted |= set(range(q(y), q(y + segment[1])))
        drawn: set[int] = set()
        for x0, x1, y0, y1, band in g.rects.tolist():
            if x0 <= column < x1 and not band >> 31 and g.allocation[band] == NEVER:
                drawn |= set(range(y0, y1))
        if has_one_pool(snapshot, device):
            assert wanted <= drawn
            looked_at += len(wanted)
    return looked_at


def boxes(snapshot: Snapshot, device: int, count: int) -> list[tuple[float, float, float, float]]:
    info = snapshot.device(device).info
    extent = info.time_axis or info.event_axis
    top = map_lanes(snapshot, device).top
    chance = random.Random(5)
    found = [(extent.x0, extent.x1, 0.0, top * 1.05)]
    for _ in range(count):
        width = (extent.x1 - extent.x0) * 10 ** chance.uniform(-2, 0)
        height = top * 10 ** chance.uniform(-3, 0)
        x = extent.x0 + chance.random() * (extent.x1 - extent.x0 - width)
        y = chance.random() * (top - height)
        found.append((x, x + width, y, y + height))
    return found


@pytest.mark.parametrize(
    "path", [CUDA, EXPANDABLE, *real_files(*(f"{name}.pickle" for name in FILES))], ids=lambda path: path.stem
)
def test_maps_of_real_files_show_each_allocation_at_its_address(
    looked_at: Callable[[Path], Snapshot], path: Path
) -> None:
    snapshot = looked_at(path)
    for device in some(snapshot.timeline.devices):
        rows = [check(snapshot, device.device, box, (40, 90)) for box in boxes(snapshot, device.device, 3)]
        segments = state_at(snapshot, device.device, device.events).segments["size"]
        if len(segments) and int(segments.sum()) <= MOST_RESERVED and has_one_pool(snapshot, device.device):
            assert any(rows)


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_maps_of_generated_runs_separate_streams_and_pools(
    tmp_path: Path, seed: int, expandable: bool
) -> None:
    allocator = ModelAllocator(expandable)
    run(allocator, random.Random(seed), 150)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    for box in boxes(snapshot, 0, 6):
        check(snapshot, 0, box, (37, 120))
    lanes = map_lanes(snapshot, 0)
    for below, above in pairwise(lanes.lanes):
        assert below.y + below.size_bytes <= above.y
    groups = {(held[2], held[3]) for state in allocator.states for held in state}
    reported = [(int(group.stream), group.pool or "0, 0") for group in lanes.groups]
    assert sorted(reported) == sorted((stream, f"{pool[0]}, {pool[1]}") for stream, pool in groups)
    for group in lanes.groups:
        inside = [lane for lane in lanes.lanes if group.y <= lane.y < group.y + group.height]
        assert len(inside) == group.lane_count
    snapshot.close()


def test_the_sample_without_segments_is_drawn_by_address(
    opened: Callable[[Path], Snapshot], sample: Path
) -> None:
    snapshot = opened(sample)
    for box in boxes(snapshot, 0, 3):
        check(snapshot, 0, box, (30, 80))
    assert not any(group.known for group in map_lanes(snapshot, 0).groups)


def test_hits_find_drawn_allocations_and_near_misses_the_nearest(
    opened: Callable[[Path], Snapshot], sample: Path
) -> None:
    snapshot = opened(sample)
    own = snapshot.device(0)
    chance = random.Random(2)
    for row in (chance.randrange(len(own.start)) for _ in range(60)):
        box = map_locate(snapshot, row, "event")
        if own.end[row] <= own.start[row]:
            continue
        moment = int(own.start[row])
        for y in (box.y0, (box.y0 + box.y1) / 2):
            answer = map_hit(snapshot, 0, moment, y, 0)
            assert answer.allocation is not None
            assert answer.allocation.allocation == row
            assert answer.live_bytes == int(own.live[moment])
        assert (box.x0, box.x1) == (moment, min(int(own.end[row]), own.info.events + 1))
    top = map_lanes(snapshot, 0).top
    assert map_hit(snapshot, 0, own.info.peak_moment, top * 2, 5).allocation is None
    near = map_hit(snapshot, 0, own.info.peak_moment, top * 2, top * 3)
    assert near.allocation is not None
    narrowed = map_hit(snapshot, 0, own.info.peak_moment, 0, top * 3, "size>3MB")
    assert narrowed.allocation is not None
    assert narrowed.allocation.size_bytes > 3_000_000


NO_AREA = 255


def blocks_of(answer: AllocatorStateAnswer) -> list[tuple[Any, ...]]:
    data, n = base64.b64decode(answer.blocks), answer.block_count
    columns, at = [], 0
    for kind in ("<f8", "<f8", "<f8", "<u4", "<u4", "u1", "u1"):
        column = np.frombuffer(data, kind, n, at)
        columns.append(column.tolist())
        at += column.nbytes
    assert at == len(data)
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("order", ["size", "address", "free"])
def test_pages_of_a_state_hold_every_segment_once_with_its_blocks(tmp_path: Path, order: Any) -> None:
    allocator = ModelAllocator(False)
    run(allocator, random.Random(11), 200)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    for moment in (1, 90, 200, len(allocator.events)):
        found, offset = [], 0
        while True:
            page = allocator_state(snapshot, 0, moment, order, offset, 3)
            assert page.event is not None
            assert page.event.action == allocator.events[moment - 1]["action"]
            assert page.event.address == hex(allocator.events[moment - 1]["addr"])
            blocks = blocks_of(page)
            for segment in page.segments:
                own = blocks[segment.first_block : segment.first_block + segment.block_count]
                base = int(segment.address, 16)
                found.append(
                    (
                        base, segment.size_bytes, int(segment.stream), segment.pool_type,
                        [(base + int(b[0]), STATES[b[5]]) for b in own if b[5]],
                        segment.largest_free_bytes >= max((b[1] for b in own if not b[5]), default=0),
                    )
                )  # fmt: skip
            offset += len(page.segments)
            if offset == page.segment_count:
                break
        wanted = [
            (
                held[0], held[1], held[2], "small" if held[4] else "large",
                [(b[0], b[3]) for b in held[6] if b[3] != "inactive"], True,
            )
            for held in allocator.states[moment]
        ]  # fmt: skip
        assert sorted(found) == wanted
        if order == "address":
            assert found == wanted
        if order == "size":
            assert [row[1] for row in found] == sorted((row[1] for row in found), reverse=True)
        assert page.reserved_bytes == sum(row[1] for row in wanted)
    with pytest.raises(MemlensError):
        allocator_state(snapshot, 0, 1, order, 0, 501)
    filtered = allocator_state(snapshot, 0, len(allocator.events), order, 0, 500, f"size>{3 * MIB}")
    for _, _, requested, allocation, _, state, area in blocks_of(filtered):
        assert area == NO_AREA
        assert (state >= 4) == (allocation != NEVER and requested <= 3 * MIB)
    for text in ("", f"size<={5 * MIB}"):
        branch = Branch(
            AllocationSet(0, "live", len(allocator.events), None, text), [], [], f"size>{3 * MIB}"
        )
        highlighted = highlighted_rows(snapshot, branch, device_of(snapshot, 0, text))
        most = 5 * MIB if text else 1 << 60
        reported = allocator_state(snapshot, 0, len(allocator.events), order, 0, 500, text, highlighted)
        for _, _, requested, allocation, _, state, _ in blocks_of(reported):
            assert (state >= 4) == (allocation != NEVER and not 3 * MIB < requested <= most)
        areas = areas_of(snapshot, 0, text, GroupedBy("size"))
        reported = allocator_state(
            snapshot, 0, len(allocator.events), order, 0, 500, text, highlighted, (areas.areas, areas.codes)
        )
        assert reported.areas == areas.areas
        for _, _, requested, allocation, _, _, area in blocks_of(reported):
            fits = allocation != NEVER and requested <= most
            assert (area != NO_AREA) == fits
            assert not fits or reported.areas[area].key == int(requested).bit_length()
    snapshot.close()


def test_live_blocks_in_no_segment_are_reported_as_such(
    opened: Callable[[Path], Snapshot], sample: Path
) -> None:
    snapshot = opened(sample)
    info = snapshot.device(0).info
    answer = allocator_state(snapshot, 0, info.peak_moment, "size", 0, 500)
    assert answer.reserved_bytes == 0
    assert (
        answer.outside_bytes == info.peak_bytes == sum(segment.requested_bytes for segment in answer.segments)
    )
    assert not any(segment.known for segment in answer.segments)
    rows = [block[3] for block in blocks_of(answer)]
    assert len(rows) == len(set(rows)) == int(snapshot.device(0).live_count[info.peak_moment])
    assert allocator_state(snapshot, 0, 0, "size", 0, 1).event is None


@pytest.mark.parametrize(
    "table", [lanes.RANGE, lanes.LANE, segments.SPAN, allocator.SEGMENT, allocator.BLOCK]
)
def test_fields_are_aligned_for_kernels(table: np.dtype[np.void]) -> None:
    assert table.names
    for name in table.names:
        kind, offset = table.fields[name][:2]  # pyrefly: ignore[bad-index, unsupported-operation]
        assert offset % kind.itemsize == 0
        assert table.itemsize % kind.itemsize == 0
