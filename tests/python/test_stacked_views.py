"""The stacked picture and the views beside it, against brute-force layouts."""

import base64
import contextlib
import math
import pickle
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import event, frame, real_programs
from tests.python.counted import some
from tests.python.recordings import TORCH
from tests.python.replays import torch as oracle
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.ingest import ingest
from memlens.kernels.trace import stacked
from memlens.kernels.trace.picture import Lives, Moments
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.store.trace.peaks import block_peaks
from memlens.views.trace.picture import viewport as viewport_view
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.hit import hit
from memlens.views.trace.picture.live import live
from memlens.views.trace.picture.locate import Direction, locate, step
from memlens.views.trace.picture.overview import overview
from memlens.views.trace.picture.viewport import Picture, viewport


@dataclass
class Geometry:
    """The packed buffer, unpacked according to its description."""

    columns: int
    x: tuple[float, float]
    y: tuple[float, float]
    quantum: float
    coarser: int
    total: Any
    moment: Any
    live: Any
    passed: Any
    size: Any
    allocation: Any
    stack: Any
    category: Any
    rects: Any
    rect_stack: Any
    rect_category: Any
    highlighted: Any = None
    rect_highlighted: Any = None
    group: Any = None
    """By band; then the sums of groups, [columns, groups], in bytes and in allocations."""
    sums: Any = None
    counts: Any = None


def unpack(picture: Picture | bytes) -> Geometry:
    data = picture if isinstance(picture, bytes) else picture.geometry
    magic, columns, bands, rects, x0, x1, y0, y1, quantum, coarser, present = struct.unpack_from(
        "<4I5d2I", data
    )
    assert magic == 0x31474C4D
    at = 64

    def take(kind: str, count: int) -> Any:
        nonlocal at
        column = np.frombuffer(data, kind, count, at)
        at += column.nbytes
        return column

    def align() -> None:
        nonlocal at
        at += -at % 8

    per_column = [take("<f8", columns), take("<u4", columns), take("<u4", columns), take("<u4", columns)]
    align()
    per_band = [take("<f8", bands), take("<u4", bands), take("<u4", bands), take("u1", bands)]
    align()
    rows = take("<u2,<u2,<u2,<u2,<u4", rects)
    rows.dtype.names = ("x0", "x1", "y0", "y1", "band")
    per_rect = [take("<u4", rects), take("u1", rects)]
    flags = (take("u1", bands), take("u1", rects)) if present & 1 else (None, None)
    groups: tuple[Any, ...] = (None, None, None)
    if present & 2:
        of_bands = take("u1", bands)
        align()
        count, changes = take("<u4", 2).tolist()
        per_change = [take("<f8", changes), take("<u4", changes), take("<u2", changes), take("<u2", changes)]
        sums, counts, changed, changing = per_change
        groups = (
            of_bands,
            dense(sums, changed, changing, columns, count),
            dense(counts, changed, changing, columns, count),
        )
    assert at == len(data)
    per = (*per_column, *per_band, rows, *per_rect, *flags, *groups)
    return Geometry(columns, (x0, x1), (y0, y1), quantum, coarser, *per)


def dense(values: Any, columns: Any, groups: Any, width: int, count: int) -> Any:
    """The sums of the groups' changes in every column."""
    assert list(zip(columns.tolist(), groups.tolist(), strict=True)) == sorted(
        set(zip(columns.tolist(), groups.tolist(), strict=True))
    )
    found = np.zeros((width, count))
    for value, column, group in zip(values, columns, groups, strict=True):
        found[column:, group] = value
    return found


def check(geometry: Geometry, found: list[oracle.Alloc], heights: list[int], moments: list[range]) -> int:
    """Hold a picture to the brute-force layout of every column; how many merged rects have a stack that leads them.

    ``moments`` are the moments that fall into each column; empty for a column outside of the trace.
    """
    row_bytes = geometry.quantum * 4
    limit = round((geometry.y[1] - geometry.y[0]) / geometry.quantum)
    inside: list[list[Any]] = [[] for _ in range(geometry.columns)]
    for rect in geometry.rects.tolist():
        assert rect[0] < rect[1] <= geometry.columns
        assert rect[2] < rect[3] <= limit
        for column in range(rect[0], rect[1]):
            inside[column].append(rect)
    for column, span in enumerate(moments):
        if not span:
            assert not inside[column]
            assert (geometry.total[column], geometry.live[column], geometry.passed[column]) == (0, 0, 0)
            continue
        # the column shows one of its own moments, the first with its maximum
        best = max(span, key=lambda moment: (heights[moment], -moment))
        assert geometry.moment[column] == best
        assert geometry.total[column] == heights[best]
        alive = oracle.alive(found, best)
        assert geometry.live[column] == len(alive)
        ever = set(alive).union(*(oracle.alive(found, moment) for moment in span if moment != best))
        assert geometry.passed[column] == len(ever) - len(alive)

        def q(height: float) -> int:
            return min(max(math.floor((height - geometry.y[0]) / geometry.quantum + 0.5), 0), limit)

        wanted: dict[int, tuple[int, int]] = {}
        below = 0
        for number in alive:
            if found[number].size >= row_bytes and q(below) < q(below + found[number].size):
                wanted[number] = (q(below), q(below + found[number].size))
            below += found[number].size
        drawn = {
            int(geometry.allocation[band]): (y0, y1)
            for _, _, y0, y1, band in inside[column]
            if not band >> 31
        }
        assert drawn == wanted
        # no overlap, and no hole except for what is too thin to be visible
        edges = sorted((y0, y1) for _, _, y0, y1, _ in inside[column])
        covered = 0
        for y0, y1 in edges:
            assert y0 == covered
            covered = y1
        assert covered - q(below) in (0, 1), "at most a sliver above what is live"
        if geometry.y[0] <= 0 and geometry.y[1] > below + row_bytes:
            merged = sum(band & 0x7FFFFFFF for *_, band in inside[column] if band >> 31)
            assert len(drawn) + merged == len(alive), "nothing is left out"
    for band, number in enumerate(geometry.allocation.tolist()):
        assert geometry.size[band] == found[number].size
    return check_leaders(geometry, found, inside)


def check_leaders(geometry: Geometry, found: list[oracle.Alloc], inside: list[list[Any]]) -> int:
    """A merged rect is of the stack that holds most of it, wherever one clearly does; in how many columns one does."""
    numbers = {tuple(rect): at for at, rect in enumerate(geometry.rects.tolist())}
    stacks = dict(zip(geometry.allocation.tolist(), geometry.stack.tolist(), strict=True))
    # the picture's numbers of stacks, one for each sequence of frames
    led: dict[Any, int] = {found[number].frames: stack for number, stack in stacks.items()}
    looked = 0
    for column in range(0, geometry.columns, 7):
        below = 0
        members: list[tuple[float, float, oracle.Alloc]] = []
        for number in oracle.alive(found, int(geometry.moment[column])) if inside[column] else []:
            members.append((below, below + found[number].size, found[number]))
            below += found[number].size
        for rect in inside[column]:
            reported = int(geometry.rect_stack[numbers[tuple(rect)]])
            if not rect[4] >> 31:
                assert reported == geometry.stack[rect[4]]
                assert geometry.rect_category[numbers[tuple(rect)]] == geometry.category[rect[4]]
                continue
            y0 = geometry.y[0] + (rect[2] - 0.5) * geometry.quantum
            y1 = geometry.y[0] + (rect[3] + 0.5) * geometry.quantum
            shares: dict[Any, int] = {}
            for low, high, alloc in members:
                if low >= y0 and high <= y1 and high - low < 4 * geometry.quantum:
                    shares[alloc.frames] = shares.get(alloc.frames, 0) + alloc.size
            total = sum(shares.values())
            most = max(shares, key=lambda frames: shares[frames], default=None)
            if total and shares[most] > 0.75 * total and rect[3] - rect[2] > 8:
                assert reported != 0xFFFFFFFF
                assert led.setdefault(most, reported) == reported
                looked += 1
    assert len(set(led.values())) == len(led)
    return looked


def spans(edges: Any, starts: list[float], end: float, timed: bool) -> list[range]:
    """The moments of each column by definition: those that begin in it, and the current one when it begins."""
    result = []
    for x0, x1 in pairwise(edges):
        if x1 <= starts[0] or x0 >= end:
            result.append(range(0))
            continue
        first = (
            max((m for m, start in enumerate(starts) if start < x0), default=0)
            if timed
            else max(int(x0 // 1), 0)
        )
        last = max((m for m, start in enumerate(starts) if start < x1), default=0)
        result.append(range(first, max(first, last) + 1))
    return result


def highest(
    geometry: Geometry, starts: Sequence[float], end: float, heights: list[int], *, timed: bool = False
) -> list[range]:
    """For each column the one moment that it has to show, by definition: the first of its highest.

    For traces whose columns have too many moments for the oracle to lay out each. ``starts`` ascend.
    """
    tops, at, result = np.array(heights), np.array(starts), []
    for x0, x1 in pairwise(np.linspace(*geometry.x, geometry.columns + 1)):
        if x1 <= starts[0] or x0 >= end:
            result.append(range(0))
            continue
        # without times, moment m begins at m
        first = max(int(np.searchsorted(at, x0, "left" if timed else "right")) - 1, 0)
        last = max(int(np.searchsorted(at, x1, "left")) - 1, first)
        best = first + int(np.argmax(tops[first : last + 1]))
        result.append(range(best, best + 1))
    return result


def write(path: Path, trace: list[Any], segments: list[Any] | None = None) -> dict[str, Any]:
    data = {"segments": segments or [], "device_traces": [trace]}
    path.write_bytes(pickle.dumps(data))
    return data


TRACES = st.lists(
    st.tuples(st.sampled_from(["alloc", "alloc", "free_completed", "snapshot"]), st.integers(0, 30),
              st.one_of(st.integers(0, 40), st.integers(0, 4000)), st.integers(0, 3)),
    min_size=1, max_size=150,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=tries(120), deadline=None)
@given(TRACES, st.data())
def test_any_viewport(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], data: st.DataObject
) -> None:
    tmp_path = tmp_path_factory.mktemp("viewport")
    clock, trace = 0, []
    for action, addr, size, wait in events:
        clock += wait * 7
        trace.append(event(action, addr, size, frame("a.py", 1 + addr, "f"), time_us=5_000_000 + clock))
    raw = write(tmp_path / "s.pickle", trace)
    snapshot = Snapshot.open(ingest(tmp_path / "s.pickle", Cache(tmp_path / "c"), lambda *_: None))
    with contextlib.closing(snapshot):
        look_anywhere(snapshot, raw, trace, data)


def look_anywhere(snapshot: Snapshot, raw: Any, trace: list[Any], data: st.DataObject) -> None:
    found = oracle.allocations(raw, 0)
    heights = oracle.live_bytes(found, len(trace))
    top = max(heights) or 1
    info = snapshot.timeline.devices[0]
    for axis in ("event", "time"):
        extent = info.event_axis if axis == "event" else info.time_axis
        if extent is None:
            # events at a single time have no time axis
            assert axis == "time"
            assert len({event["time_us"] for event in trace}) == 1
            continue
        starts = [float(m) for m in range(len(trace) + 1)]
        if axis == "time":
            starts = [extent.x0] + [float(e["time_us"] - trace[0]["time_us"]) for e in trace]
        width = extent.x1 - extent.x0
        x0 = extent.x0 + data.draw(st.floats(-0.2, 0.9)) * width
        x1 = x0 + max(data.draw(st.floats(0.01, 1.5)) * width, 0.5)
        y0 = data.draw(st.sampled_from([0.0, top * 0.3]))
        y1 = y0 + top * data.draw(st.sampled_from([1.2, 0.4]))
        columns, rows = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 200))
        geometry = unpack(viewport(snapshot, 0, Box(axis, x0, x1, y0, y1, columns, rows)))
        assert (geometry.x, geometry.y, geometry.columns) == ((x0, x1), (y0, y1), columns)
        check(
            geometry,
            found,
            heights,
            spans(np.linspace(x0, x1, columns + 1), starts, extent.x1, axis == "time"),
        )
        reported = overview(snapshot, 0, axis, columns)
        parts = spans(np.linspace(extent.x0, extent.x1, columns + 1), starts, extent.x1, axis == "time")
        assert np.frombuffer(base64.b64decode(reported.highest), "<f8").tolist() == [
            max(heights[m] for m in span) for span in parts
        ]
        assert np.frombuffer(base64.b64decode(reported.lowest), "<f8").tolist() == [
            min(heights[m] for m in span) for span in parts
        ]


def test_no_peak_falls_between_columns(tmp_path: Path) -> None:
    """Memory allocated and freed within one microsecond is visible in the column that begins with it."""
    trace = [event("alloc", 1, 100, time_us=5), event("alloc", 2, 10**6, time_us=15)]
    trace += [event("free_completed", 2, 10**6, time_us=15), event("snapshot", 0, 0, time_us=25)]
    write(tmp_path / "s.pickle", trace)
    snapshot = Snapshot.open(ingest(tmp_path / "s.pickle", Cache(tmp_path / "c"), lambda *_: None))
    for columns in (20, 21, 40):
        assert unpack(viewport(snapshot, 0, Box("time", 0, 20, 0, 2e6, columns, 50))).total.max() == 1_000_100
    snapshot.close()


def long_trace(events: int, seed: int) -> list[Any]:
    """Steps that rise and fall, with permanent memory and leaks; enough for compaction and every block level."""
    rng = random.Random(seed)
    trace: list[Any] = []
    live_now: list[tuple[int, int]] = []
    address = 0
    where = frame("a.py", 1, "f")
    while len(trace) < events:
        rising = (len(trace) // 3000) % 2 == 0
        if rising or not live_now:
            address += 1
            size = rng.choice([8, 64, 512, 5000, 200_000])
            live_now.append((address, size))
            trace.append(event("alloc", address, size, where))
            if rng.random() < 0.5:
                trace.append(event("alloc", -address % 2**48, 300, where))
                trace.append(event("free_completed", -address % 2**48, 300, where))
        else:
            index = len(live_now) - 1 if rng.random() < 0.8 else rng.randrange(len(live_now))
            trace.append(event("free_completed", *live_now.pop(index), where))
    return trace


@pytest.mark.slow
def test_long_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 and 4,096, thousands of slots that die, and pictures that must be coarsened."""
    trace = long_trace(60_000, 3)
    raw = write(tmp_path / "s.pickle", trace)
    snapshot = Snapshot.open(ingest(tmp_path / "s.pickle", Cache(tmp_path / "c"), lambda *_: None))
    found = oracle.allocations(raw, 0)
    heights = oracle.live_bytes(found, len(trace))
    top = max(heights)
    for x0, x1, columns in ((0, len(trace) + 1, 17), (100, 59_000, 40), (30_000, 30_100, 50)):
        edges = np.linspace(x0, x1, columns + 1)
        data = viewport(snapshot, 0, Box("event", x0, x1, 0.0, top * 1.1, columns, 400))
        parts = [range(math.floor(a), math.ceil(b)) for a, b in pairwise(edges)]
        # the oracle examines every moment of a column; reduce wide ones to those that can be the maximum
        for column, span in enumerate(parts):
            if len(span) > 200:
                best = max(span, key=lambda moment: (heights[moment], -moment))
                lived = [a for a in found if a.start < span.stop and (a.end is None or a.end > span.start)]
                assert unpack(data).passed[column] == len(lived) - len(oracle.alive(found, best))
        geometry = unpack(data)
        geometry.passed = np.zeros_like(geometry.passed)
        check(geometry, found, heights, highest(geometry, range(len(heights)), len(trace) + 1, heights))
    fine = viewport(snapshot, 0, Box("event", 0, len(trace) + 1, 0.0, top * 1.1, 400, 400))
    monkeypatch.setattr(viewport_view, "MOST_BYTES", 40_000)
    coarse = unpack(viewport(snapshot, 0, Box("event", 0, len(trace) + 1, 0.0, top * 1.1, 400, 400)))
    assert unpack(fine).coarser == 0
    assert coarse.coarser == 1
    assert 12 * len(coarse.rects) + 17 * len(coarse.size) <= 40_000
    coarse.passed = np.zeros_like(coarse.passed)
    check(coarse, found, heights, highest(coarse, range(len(heights)), len(trace) + 1, heights))
    snapshot.close()


def test_the_sweep_drops_dead_allocations() -> None:
    """A column is the same after many columns with thousands of dead allocations as after none."""
    rng = np.random.default_rng(2)
    count, moments_per_column, columns = 300_000, 500, 600
    starts = np.sort(rng.integers(0, moments_per_column * columns, count)).astype(np.uint32)
    ends = (starts + rng.integers(1, 4 * moments_per_column, count)).astype(np.uint32)
    sizes = rng.choice(np.array([1, 10, 300, 2000], np.int64), count)
    ends_64 = block_peaks(ends, 64)
    stacks = rng.integers(0, 3, count).astype(np.uint32)
    sweep = stacked.Sweep(Lives(sizes, ends, ends_64, block_peaks(ends_64, 64)), stacks)
    moments = (np.arange(columns, dtype=np.uint32) + 1) * np.uint32(moments_per_column)
    stops = np.searchsorted(starts, moments, "right").astype(np.uint32)
    top = 2.0 * max(float(sizes[(starts <= m) & (ends > m)].sum()) for m in moments[::50])

    def drawn(first: int, last: int) -> list[set[tuple[int, int, int]]]:
        laid = sweep.run(Moments(moments, stops, first, last), 0.0, top, 1000, 1 << 30)
        assert not isinstance(laid, float)
        rects, bands = np.asarray(laid[0]), np.asarray(laid[1])
        result: list[set[tuple[int, int, int]]] = [set() for _ in range(columns)]
        for x0, x1, y0, y1, band, _ in rects.tolist():
            name = band if band >> 31 else int(bands["allocation"][band])
            for column in range(x0, x1):
                result[column].add((y0, y1, name))
        return result

    whole = drawn(0, columns)
    for column in (0, 1, 50, 299, 300, 301, 500, columns - 1):
        assert drawn(column, column + 1)[column] == whole[column]


@pytest.mark.parametrize(
    "path", [*TORCH, *real_programs("*training*.pickle", "nothanmin*", "cpu*")], ids=lambda path: path.name
)
def test_pictures_of_real_files(path: Path, looked_at: Any) -> None:
    snapshot = looked_at(path)
    data = oracle.load(path)
    for info in some(snapshot.timeline.devices):
        found = oracle.allocations(data, info.device)
        heights = oracle.live_bytes(found, info.events)
        first = snapshot.device(info.device).first_allocation
        extent = info.event_axis
        geometry = unpack(
            viewport(
                snapshot, info.device, Box("event", extent.x0, extent.x1, 0, info.peak_bytes * 1.1, 300, 250)
            )
        )
        geometry.allocation = geometry.allocation - first
        geometry.passed = np.zeros_like(geometry.passed)
        led = check(geometry, found, heights, highest(geometry, range(len(heights)), extent.x1, heights))
        # training has thousands of small tensors, of which most are merged
        assert led > 0 or "training" not in path.name
        assert geometry.total.max() == info.peak_bytes


def test_hit_live_locate_step(opened: Any, sample: Path) -> None:
    snapshot = opened(sample)
    found = oracle.allocations(oracle.load(sample), 0)
    info = snapshot.timeline.devices[0]
    rng = random.Random(5)
    for moment in [0, info.events, info.peak_moment, *(rng.randrange(info.events) for _ in range(20))]:
        alive = oracle.alive(found, moment)
        total = sum(found[i].size for i in alive)
        reported = live(snapshot, 0, moment, 0, 1000)
        assert (reported.live_bytes, reported.live_count) == (total, len(alive))
        assert [row.allocation for row in reported.rows] == sorted(alive, key=lambda i: (-found[i].size, i))
        assert live(snapshot, 0, moment, 3, 2).rows == reported.rows[3:5]
        below = 0
        for place, number in enumerate(alive):
            size = found[number].size
            if place % 7 == 0 and size:
                at = hit(snapshot, 0, moment, below + rng.random() * size * 0.999)
                assert at.allocation is not None
                assert (at.allocation.allocation, at.live_bytes) == (number, total)
                box = locate(snapshot, number, "event", moment)
                assert (box.y0, box.y1, box.x0) == (below, below + size, found[number].start)
                assert box.x1 == (found[number].end or info.events + 1)
                older = step(snapshot, number, moment, "older")
                younger = step(snapshot, number, moment, "younger")
                assert (older and older.allocation) == (alive[place - 1] if place else None)
                assert (younger and younger.allocation) == (
                    alive[place + 1] if place + 1 < len(alive) else None
                )
            below += size
        assert hit(snapshot, 0, moment, total).allocation is None
        assert hit(snapshot, 0, moment, -1).allocation is None
    number = live(snapshot, 0, None, 0, 1).rows[0].allocation
    assert locate(snapshot, number, "time", None).moment == info.peak_moment
    same = [i for i, alloc in enumerate(found) if alloc.frames == found[number].frames]
    walk = [number]
    while (following := step(snapshot, walk[-1], 0, "next_same_stack")) is not None:
        walk.append(following.allocation)
    assert walk == same[same.index(number) :]
    at = info.peak_moment
    by_address = sorted((found[n].addr, n) for n in oracle.alive(found, at))
    ways: tuple[tuple[Direction, list[int]], ...] = (
        ("higher", [n for _, n in by_address]),
        ("lower", [n for _, n in by_address][::-1]),
    )
    for direction, order in ways:
        for here, beside in zip(order, [*order[1:], None], strict=True):
            following = step(snapshot, here, at, direction)
            assert (following and following.allocation) == beside
    back = step(snapshot, walk[-1], 0, "previous_same_stack")
    assert (back.allocation if back else None) == (walk[-2] if len(walk) > 1 else None)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: viewport(s, 9, Box("event", 0, 1, 0, 1, 10, 10)),
        lambda s: viewport(s, 0, Box("event", 1, 1, 0, 1, 10, 10)),
        lambda s: viewport(s, 0, Box("event", 0, float("nan"), 0, 1, 10, 10)),
        lambda s: viewport(s, 0, Box("event", 0, 1, 0, 1, 0, 10)),
        lambda s: viewport(s, 0, Box("event", 0, 1, 0, 1, 10**9, 10)),
        lambda s: hit(s, 0, 10**9, 1),
        lambda s: hit(s, 0, -1, 1),
        lambda s: live(s, 0, None, -1, 1),
        lambda s: live(s, 0, None, 0, 10**9),
        lambda s: locate(s, -1, "event", None),
        lambda s: locate(s, 10**9, "event", None),
        lambda s: locate(s, 0, "event", 10**9),
        lambda s: overview(s, 0, "time", 0),
    ],
)
def test_invalid_requests(call: Any, opened: Any, sample: Path) -> None:
    with pytest.raises(MemlensError) as caught:
        call(opened(sample))
    assert caught.value.code == "bad-request"
