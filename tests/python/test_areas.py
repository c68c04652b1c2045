"""The picture by group, against brute-force sums and layouts."""

import contextlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.command_line import memlens
from tests.python.conftest import event, frame, real_files
from tests.python.counted import some
from tests.python.recordings import CUDA
from tests.python.replays import torch as oracle
from tests.python.replays.torch import Alloc
from tests.python.test_stacked_views import Geometry, highest, long_trace, spans, unpack, write
from tests.python.tries import tries

from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.selection.columns import device_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groups import Branch, groups, highlighted_rows
from memlens.views.trace.picture import area_layout
from memlens.views.trace.picture import viewport as viewport_view
from memlens.views.trace.picture.areas import MOST_AREAS, OTHER, AreaKind, GroupedBy, areas_of
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.hit import hit
from memlens.views.trace.picture.locate import locate, step
from memlens.views.trace.picture.viewport import viewport

KINDS: tuple[AreaKind, ...] = get_args(AreaKind)
BY_LINE = GroupedBy("line")


def area_numbers(snapshot: Snapshot, device: int, by: GroupedBy, filter_text: str = "") -> dict[int, int]:
    """The area of each allocation of a device, by its number, from the tree table's groups."""
    own = device_of(snapshot, device, filter_text)
    of = AllocationSet(device, "live", 0, own.info.events, filter_text)
    areas = areas_of(snapshot, device, filter_text, by).areas
    found = {}
    for number, area in enumerate(areas):
        if area.key != OTHER:
            highlighted = highlighted_rows(
                snapshot, Branch(of, [by.by], [area.key], attribution=by.attribution), own
            )
            for allocation in own.allocations(np.flatnonzero(highlighted)).tolist():
                assert allocation not in found
                found[allocation] = number
    for allocation in own.allocations(np.arange(own.info.allocations)).tolist():
        found.setdefault(allocation, len(areas) - 1)
    return found


Rect = tuple[int, int]
"""The edges of a rect of one column, in quarters of a row."""


@dataclass
class Layout:
    """What one column has to show: each allocation that is seen, what is merged by area and whether it is highlighted.

    ``slivers`` are what is highlighted but too thin to be seen: where each begins, and its area.
    """

    bands: dict[int, Rect]
    merged: dict[tuple[int, int], Rect]
    slivers: set[tuple[int, int]]
    top: int


def layout(
    geometry: Geometry, found: list[Alloc], groups: list[list[int]], highlighted: set[int], least: int
) -> Layout:
    """Lay out a column by definition; ``groups`` are the live allocations of each area, from the bottom."""
    limit = round((geometry.y[1] - geometry.y[0]) / geometry.quantum)

    def q(height: int) -> int:
        return min(max(math.floor((height - geometry.y[0]) / geometry.quantum + 0.5), 0), limit)

    wanted, below = Layout({}, {}, set(), 0), 0
    for group, mine in enumerate(groups):
        at = below
        for number in mine:
            if found[number].size >= least:
                if q(at) < q(at + found[number].size):
                    wanted.bands[number] = (q(at), q(at + found[number].size))
                at += found[number].size
        top, low = below + sum(found[number].size for number in mine), q(at)
        thin = sum(
            found[number].size for number in mine if found[number].size < least and number in highlighted
        )
        if thin and q(top) > 0 and q(below) < limit:
            high = q(at + thin)
            if high < low + 8 and at + thin >= geometry.y[0] and low < limit:
                if q(top) >= low + 8:
                    high = low + 8
                else:
                    wanted.slivers.add((max(min(low, limit - 8), 0), group))
            if high > low:
                wanted.merged[group, 1] = (low, high)
            low = high
        if q(top) > low:
            wanted.merged[group, 0] = (low, q(top))
        below = top
    wanted.top = q(below)
    return wanted


def check(
    geometry: Geometry,
    found: list[Alloc],
    area: dict[int, int],
    moments: list[range],
    highlighted: set[int] | None = None,
    least_rows: float = area_layout.LEAST_ROWS,
) -> tuple[int, int]:
    """Compare a picture with the layout of every column; returns the numbers of bands and merged rects compared."""
    least = math.ceil(geometry.quantum * 4 * least_rows)
    inside: list[list[tuple[int, ...]]] = [[] for _ in range(geometry.columns)]
    for at, (x0, x1, y0, y1, band) in enumerate(geometry.rects.tolist()):
        assert x0 < x1 <= geometry.columns
        assert y0 < y1
        flag = 0 if geometry.rect_highlighted is None else int(geometry.rect_highlighted[at])
        for column in range(x0, x1):
            inside[column].append((y0, y1, band, flag))
    looked = [0, 0]
    for column, span in enumerate(moments):
        if not span:
            assert not inside[column]
            assert not geometry.sums[column].any()
            continue
        alive = oracle.alive(found, int(geometry.moment[column]))
        alive.sort(key=lambda number: (-found[number].size, number))
        groups = [[n for n in alive if area[n] == group] for group in range(geometry.sums.shape[1])]
        assert geometry.sums[column].tolist() == [sum(found[n].size for n in mine) for mine in groups]
        assert geometry.counts[column].tolist() == [len(mine) for mine in groups]
        assert geometry.sums[column].sum() == geometry.total[column]
        wanted = layout(geometry, found, groups, highlighted or set(), least)
        check_column(geometry, inside[column], wanted)
        looked[0] += len(wanted.bands)
        looked[1] += len(wanted.merged)
    for band, number in enumerate(geometry.allocation.tolist()):
        assert geometry.size[band] == found[number].size
        assert geometry.group[band] == area[number]
        assert highlighted is None or geometry.highlighted[band] == (number in highlighted)
    return looked[0], looked[1]


def check_column(geometry: Geometry, inside: list[tuple[int, ...]], wanted: Layout) -> None:
    drawn = {int(geometry.allocation[band]): (y0, y1) for y0, y1, band, _ in inside if not band >> 31}
    assert drawn == wanted.bands
    merged, slivers = {}, set()
    for y0, y1, band, flag in inside:
        group = (band & 0x7FFFFFFF) - 1
        if band >> 31 and wanted.merged.get((group, flag)) == (y0, y1):
            merged[group, flag] = (y0, y1)
        elif band >> 31:
            slivers.add((y0, group))
            assert flag == 1
    assert merged == wanted.merged
    assert slivers == wanted.slivers
    # no overlap and no hole up to the top, except for slivers that are drawn over others
    covered = 0
    for y0, y1 in sorted([*wanted.bands.values(), *merged.values()]):
        assert y0 == covered
        covered = y1
    assert covered == wanted.top


TRACES = st.lists(
    st.tuples(st.sampled_from(["alloc", "alloc", "free_completed"]), st.integers(0, 30),
              st.one_of(st.integers(0, 40), st.integers(0, 4000)), st.integers(1, 30), st.integers(0, 3)),
    min_size=1, max_size=150,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=tries(60), deadline=None)
@given(TRACES, st.data())
def test_any_viewport(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], data: st.DataObject
) -> None:
    tmp_path = tmp_path_factory.mktemp("areas")
    clock, trace = 0, []
    for action, addr, size, line, wait in events:
        clock += wait * 7
        frames = [frame("a.py", line, f"f{line % 4}")] if line % 5 else []
        trace.append(event(action, addr, size, *frames, time_us=5_000_000 + clock))
    raw = write(tmp_path / "s.pickle", trace)
    snapshot = Snapshot.open(ingest(tmp_path / "s.pickle", Cache(tmp_path / "c"), lambda *_: None))
    with contextlib.closing(snapshot):
        found = oracle.allocations(raw, 0)
        top = max(oracle.live_bytes(found, len(trace))) or 1
        by = GroupedBy(data.draw(st.sampled_from(KINDS)))
        area = area_numbers(snapshot, 0, by)
        x0 = data.draw(st.floats(-0.2, 0.9)) * len(trace)
        x1 = x0 + max(data.draw(st.floats(0.01, 1.5)) * len(trace), 0.5)
        y0 = data.draw(st.sampled_from([0.0, top * 0.3]))
        y1 = y0 + top * data.draw(st.sampled_from([1.2, 0.4]))
        columns, rows = data.draw(st.integers(1, 60)), data.draw(st.integers(2, 200))
        highlighted = None
        if data.draw(st.booleans()):
            highlighted = np.array(
                data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found))), bool
            )
        picture = viewport(snapshot, 0, Box("event", x0, x1, y0, y1, columns, rows), "", highlighted, by)
        geometry = unpack(picture)
        starts = [float(m) for m in range(len(trace) + 1)]
        moments = spans(np.linspace(x0, x1, columns + 1), starts, float(len(trace) + 1), timed=False)
        check(
            geometry,
            found,
            area,
            moments,
            None if highlighted is None else set(np.flatnonzero(highlighted).tolist()),
        )
        for moment in {0, len(trace) // 2, len(trace)}:
            check_order(snapshot, found, area, moment, by)


def check_order(
    snapshot: Snapshot, found: list[Alloc], area: dict[int, int], moment: int, by: GroupedBy
) -> None:
    """Hits and neighbours agree with the picture."""
    alive = sorted(oracle.alive(found, moment), key=lambda n: (area[n], -found[n].size, n))
    below = 0
    for place, number in enumerate(alive):
        box = locate(snapshot, number, "event", moment, areas=by)
        assert (box.y0, box.y1) == (below, below + found[number].size)
        if found[number].size:
            there = hit(snapshot, 0, moment, below, areas=by).allocation
            assert there is not None
            assert there.allocation == number
        under = step(snapshot, number, moment, "older", areas=by)
        over = step(snapshot, number, moment, "younger", areas=by)
        assert (under and under.allocation) == (alive[place - 1] if place else None)
        assert (over and over.allocation) == (alive[place + 1] if place + 1 < len(alive) else None)
        below += found[number].size


def changes(geometry: Geometry) -> int:
    """How often a group's sum differs from that in the previous column."""
    before = [np.vstack((np.zeros_like(each[:1]), each[:-1])) for each in (geometry.sums, geometry.counts)]
    return int(np.count_nonzero((geometry.sums != before[0]) | (geometry.counts != before[1])))


def _bytes(geometry: Geometry) -> int:
    """The limited part of an answer."""
    return 17 * (len(geometry.rects) + len(geometry.size)) + 16 * changes(geometry)


def test_pictures_too_large_for_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First fewer allocations get bands, then there are fewer columns; sums stay exact."""
    trace = long_trace(20_000, 3)
    for number, each in enumerate(trace):
        each["frames"] = [frame("a.py", 1 + number % 40, "f")] if each["action"] == "alloc" else []
        each["size"] *= 1 + each["addr"] % 16
    raw = write(tmp_path / "s.pickle", trace)
    snapshot = Snapshot.open(ingest(tmp_path / "s.pickle", Cache(tmp_path / "c"), lambda *_: None))
    with contextlib.closing(snapshot):
        found = oracle.allocations(raw, 0)
        heights = oracle.live_bytes(found, len(trace))
        area = area_numbers(snapshot, 0, BY_LINE)
        assert len(set(area.values())) == MOST_AREAS + 1
        box = Box("event", 0, len(trace) + 1, 0.0, max(heights) * 1.1, 200, 2000)
        sizes = []
        whole = unpack(viewport(snapshot, 0, box, areas=BY_LINE))
        for most in (1 << 30, _bytes(whole) - 3000, 20_000):
            monkeypatch.setattr(area_layout, "MOST_BYTES", most)
            geometry = unpack(viewport(snapshot, 0, box, areas=BY_LINE))
            assert _bytes(geometry) <= most
            assert geometry.coarser == (most < 1 << 30)
            sizes.append((geometry.columns, len(geometry.size)))
            shown = min((found[number].size for number in geometry.allocation.tolist()), default=1 << 40)
            least = shown / (4 * geometry.quantum) if geometry.coarser else area_layout.LEAST_ROWS
            check(geometry, found, area, highest(geometry, range(len(heights)), len(trace) + 1, heights),
                  least_rows=least)  # fmt: skip
        (columns, bands), fewer, least_of_all = sizes
        assert fewer[0] == columns
        assert 0 < fewer[1] < bands
        assert least_of_all[0] < columns


def test_areas_are_those_of_the_tree_table(opened: Any, tmp_path: Path) -> None:
    """Largest below by what is live at the peak, what has no stack at the bottom, all else on top."""
    trace = [
        event("alloc", 1 + n, 100 * (1 + n % 30), frame("a.py", 1 + n % 30, f"f{n % 3}")) for n in range(200)
    ]
    trace += [event("alloc", 1000, 5), event("free_completed", 2000, 70)]
    write(tmp_path / "s.pickle", trace)
    snapshot = opened(tmp_path / "s.pickle")
    for by in KINDS:
        areas = areas_of(snapshot, 0, "", GroupedBy(by)).areas
        table = groups(snapshot, Branch(AllocationSet(0), [by]), "bytes", 0, 1000, descending=True)
        of_table = {row.key: row for row in table.rows}
        own = [area for area in areas if area.key != OTHER]
        assert len(own) <= MOST_AREAS
        for area in own:
            row = of_table.get(area.key)
            assert area.peak_bytes == (row.bytes if row else 0)
            if row:
                assert (area.name, area.detail, area.place, area.filter) == (
                    row.name, row.detail, row.place, row.filter
                )  # fmt: skip
        assert sum(area.peak_bytes for area in areas) == table.bytes
        bare = [area for area in own if area.name.text == "No stack"]
        assert own[: len(bare)] == bare
        ranked = [area.peak_bytes for area in own[len(bare) :]]
        assert ranked == sorted(ranked, reverse=True)
        assert [area.colour for area in own] == list(range(len(own)))
        if by == "line":
            assert len(own) == MOST_AREAS
            assert len(bare) == 2
            assert areas[-1].key == OTHER
            assert areas[-1].groups == 30 - (MOST_AREAS - 2)


def test_groups_that_grow_after_the_peak_have_areas(opened: Any, tmp_path: Path) -> None:
    trace = [event("alloc", 1 + n, 1000 + n, frame("a.py", 1 + n, "f")) for n in range(40)]
    trace += [event("free_completed", 1 + n, 1000 + n) for n in range(40)]
    trace += [event("alloc", 100, 20_000, frame("late.py", 7, "g"))]
    write(tmp_path / "s.pickle", trace)
    areas = areas_of(opened(tmp_path / "s.pickle"), 0, "", BY_LINE).areas
    late = next(area for area in areas if area.name.text == "late.py:7")
    assert late.peak_bytes == 0


def test_a_filter_keeps_colours(opened: Any, sample: Path) -> None:
    snapshot = opened(sample)
    whole = {area.key: area for area in areas_of(snapshot, 0, "", BY_LINE).areas}
    third = list(whole.values())[2]
    for text in (
        third.filter,
        f"-({third.filter})" if " " not in third.filter else "size>=4096",
        "size>=4096",
    ):
        narrowed = areas_of(snapshot, 0, text, BY_LINE).areas
        colours = [area.colour for area in narrowed]
        assert len(set(colours)) == len(colours)
        for area in narrowed:
            if area.key in whole and area.key != OTHER:
                assert area.colour == whole[area.key].colour


@pytest.mark.parametrize(
    "path",
    [CUDA, *real_files("*512_training*.pickle", "nothanmin__memory_snapshot__*")],
    ids=lambda path: path.name,
)
def test_pictures_of_real_files(path: Path, looked_at: Any) -> None:
    snapshot = looked_at(path)
    data = oracle.load(path)
    for info in some(snapshot.timeline.devices):
        found = oracle.allocations(data, info.device)
        heights = oracle.live_bytes(found, info.events)
        first = snapshot.device(info.device).first_allocation
        for by in (GroupedBy("line"), GroupedBy("size")):
            area = {n - first: a for n, a in area_numbers(snapshot, info.device, by).items()}
            for y0, y1 in ((0, 1.1), (0.4, 0.42)):
                heights_shown = (y0 * info.peak_bytes, y1 * info.peak_bytes)
                box = Box("event", info.event_axis.x0, info.event_axis.x1, *heights_shown, 200, 600)
                geometry = unpack(viewport(snapshot, info.device, box, areas=by))
                geometry.allocation = geometry.allocation - first
                assert not geometry.coarser
                moments = highest(geometry, range(len(heights)), info.event_axis.x1, heights)
                bands, merged = check(geometry, found, area, moments)
                assert (bands if y0 else merged) > 150


def test_sums_equal_sql(opened: Any, sample: Path, tmp_path: Path) -> None:
    """The areas of a column equal the sums of ``memlens sql`` by line over what is live at its moment."""
    snapshot = opened(sample)
    extent = snapshot.timeline.devices[0].event_axis
    picture = viewport(snapshot, 0, Box("event", extent.x0, extent.x1, 0, 1e9, 4, 100), areas=BY_LINE)
    geometry = unpack(picture)
    for column, moment in enumerate(geometry.moment.tolist()):
        query = f"SELECT file, line, sum(size_bytes) AS bytes FROM live_at(0, {moment}) GROUP BY file, line"
        answer = memlens("sql", sample, query, "--json", "--cache-dir", tmp_path / "c").stdout
        by_line = {(row["file"], row["line"]): row["bytes"] for row in json.loads(answer)}
        named = [
            by_line.pop((area.place.file, area.place.line), 0)
            for area in picture.areas
            if area.place is not None and not area.detail.text.endswith("inferred")
        ]
        of_named = [
            geometry.sums[column, number]
            for number, area in enumerate(picture.areas)
            if area.place is not None and not area.detail.text.endswith("inferred")
        ]
        assert of_named == named
        assert sum(named) > 0
        assert geometry.total[column] == sum(named) + sum(by_line.values())


def test_picture_made_ahead(opened: Any, sample: Path) -> None:
    """The picture of the whole device is read from the archive, and equals the one that would be drawn."""
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    extent = info.time_axis
    top = info.peak_bytes * viewport_view.FIT_HEADROOM
    box = Box("time", extent.x0 - 1, extent.x1 + 1, 0, top * 1.01, 1900, 900)
    ready = viewport(snapshot, 0, box, areas=BY_LINE)
    assert unpack(ready).x == (extent.x0, extent.x1)
    (picture,) = viewport_view.pictures_of(snapshot.info)
    assert picture.path(snapshot.archive).is_file()
    # other requests don't use it
    assert unpack(viewport(snapshot, 0, box)).x == (extent.x0 - 1, extent.x1 + 1)
    assert unpack(viewport(snapshot, 0, box, areas=GroupedBy("line", "any"))).x == (
        extent.x0 - 1,
        extent.x1 + 1,
    )
    found = oracle.allocations(oracle.load(sample), 0)
    heights = oracle.live_bytes(found, info.events)
    geometry = unpack(ready)
    times = [extent.x0, *snapshot.device(0).time.tolist()]
    least = min(geometry.size) / (4 * geometry.quantum) if geometry.coarser else area_layout.LEAST_ROWS
    check(geometry, found, area_numbers(snapshot, 0, BY_LINE),
          highest(geometry, times, extent.x1, heights, timed=True), least_rows=least)  # fmt: skip
    picture.drop(snapshot.archive)
    size = viewport_view.FIT_COLUMNS, viewport_view.FIT_ROWS
    drawn = viewport(snapshot, 0, Box("time", extent.x0, extent.x1, 0, top, *size), areas=BY_LINE)
    assert drawn == ready


def test_a_damaged_picture_is_not_shown(opened: Any, sample: Path) -> None:
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    (picture,) = viewport_view.pictures_of(snapshot.info)
    path = picture.path(snapshot.archive)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    extent = info.time_axis
    box = Box("time", extent.x0 - 1, extent.x1 + 1, 0, info.peak_bytes * 1.06, 1900, 900)
    assert unpack(viewport(snapshot, 0, box, areas=BY_LINE)).x == (box.x0, box.x1)
    assert not path.exists()
