"""Filters against brute force: their syntax, what they match, and every view under a filter."""

import base64
import contextlib
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.python.conftest import event, frame, real_files
from tests.python.recordings import CUDA
from tests.python.replays import torch as oracle
from tests.python.replays.torch import Alloc
from tests.python.test_stacked_views import check, spans, unpack
from tests.python.tries import tries

from memlens.errors import BadRequestError
from memlens.ingest import ingest
from memlens.model.info import DeviceInfo
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.answers import Totals
from memlens.views.lines.stack import stack
from memlens.views.lines.totals import line, source_lines, top_lines
from memlens.views.selection import changes
from memlens.views.selection.columns import device_of
from memlens.views.selection.filters import FIELDS, parse
from memlens.views.selection.sets import AllocationSet, moment, rows_of
from memlens.views.selection.terms import Term, quoted
from memlens.views.selection.texts import Pattern
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.hit import hit
from memlens.views.trace.picture.live import live
from memlens.views.trace.picture.locate import locate, step
from memlens.views.trace.picture.overview import overview
from memlens.views.trace.picture.viewport import viewport

# ---- texts -------------------------------------------------------------------------------------------------

TEXTS = st.text(st.sampled_from('ab"\\,-:= *>é\n'), min_size=1, max_size=8).filter(lambda text: text != "=")
TEXT_TERMS = st.builds(
    Term,
    st.sampled_from(["", "file", "function", "by", "operator", "module", "category"]),
    st.just(":"),
    st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    st.booleans(),
)
AMOUNTS = st.builds(
    lambda field, comparison, number, negated: Term(field[0], comparison, (f"{number}{field[1]}",), negated),
    st.sampled_from([("size", "MiB"), ("size", ""), ("life", "ms"), ("life", "ev")]),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.one_of(st.integers(0, 10**15), st.floats(0, 1e6).map(lambda value: f"{value:.3f}")),
    st.booleans(),
)


@given(st.lists(st.one_of(TEXT_TERMS, AMOUNTS), max_size=5))
def test_terms_are_read_as_they_are_written(terms: list[Term]) -> None:
    assert parse("  ".join(map(str, terms))) == terms


@given(st.text(st.sampled_from('size:file<>=-,"\\ 0x9.µsMiB\t'), max_size=40))
@example('file:"never closed')
def test_any_text_is_a_filter_or_gets_an_error_message(text: str) -> None:
    try:
        terms = parse(text)
    except BadRequestError:
        return  # messages are tested below
    # a parsed filter can be written and parsed again
    assert parse(" ".join(map(str, terms))) == terms


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("flie:a.py", "'flie:a.py' is not a filter term: there is no 'flie'"),
        ("x size>big", "'size>big': big is not a size or time; write it as in size>1MiB"),
        ("size>1parsec", "parsec is not a unit of size"),
        ("life>10", "'life>10': the unit is missing"),
        ("file:", "'file:' needs a value"),
        ("file:a,", "'file:a,' needs a value"),
        ("-", "'-' needs a value"),
        ("stream:x", "'stream:x': x is not a number"),
        ("address:0xzz", "0xzz is not a number"),
        ("file>a", "'file>a' can't be compared"),
        ("size>1,2", "more than one value"),
        ("is:dead", "expected one of before, freed, live, pending"),
        ('file:"a', '"a has no closing quote'),
        ("pool:7.7", "has no pool 7.7"),
        ("a" * 5000, "at most 4,096 characters"),
    ],
)
def test_errors_name_the_term(text: str, part: str, opened: Callable[[Path], Snapshot], sample: Path) -> None:
    with pytest.raises(BadRequestError) as caught:
        device_of(opened(sample), 0, text)
    assert part in str(caught.value)


@given(st.text(st.sampled_from("ab*"), min_size=1, max_size=6), st.text(st.sampled_from("abA"), max_size=10))
def test_stars_stand_for_any_text(pattern: str, text: str) -> None:
    def fits(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return fits(pattern[1:], text) or (bool(text) and fits(pattern, text[1:]))
        return bool(text) and text[0] == pattern[0] and fits(pattern[1:], text[1:])

    wanted = fits(pattern, text.lower()) if "*" in pattern else pattern in text.lower()
    assert Pattern(pattern).matches(text) == wanted
    assert Pattern(pattern, path=True).matches(f"/home/x\\{text}") or not wanted


# ---- what they find ----------------------------------------------------------------------------------------

PRIVATE = {"pool_id": (3, 1)}


def made(path: Path) -> Any:
    """A trace with everything that a filter can match."""
    rng = random.Random(4)
    places = [
        [frame("/w/model.py", 88, "forward"), frame("/w/train.py", 9, "main")],
        [frame("C:\\w\\model.py", 88, "forward"), frame("/w/train.py", 10, "main")],
        [frame("??", 0, "at::_ops::mm::call(at::Tensor)"), frame("??", 0, "torch::autograd::x")],
        [frame("/x/site-packages/torch/nn/modules/linear.py", 5, "forward"),
         frame("/x/site-packages/torch/nn/modules/module.py", 7, "_call_impl"), frame("/w/train.py", 9, "main")],
        [],
    ]  # fmt: skip
    trace: list[Any] = []
    now: list[tuple[int, int]] = []
    for number in range(400):
        clock = 1_000_000 + number * 1000
        if now and rng.random() < 0.45:
            addr, size = now.pop(rng.randrange(len(now)))
            by = [frame("/w/train.py", 9, "main")] if len(now) % 2 else []
            trace.append(event("free_requested", addr, size, *by, time_us=clock))
            trace.append(event("free_completed", addr, size, time_us=clock + 1))
        else:
            size = rng.choice([0, 1, 512, 5000, 2**20, 3 * 2**20])
            addr = 2**40 + number * 2**23 + (2**63 if number % 3 else 0)
            now.append((addr, size))
            more = {**PRIVATE} if number % 5 == 0 else {}
            row = event("alloc", addr, size, *places[number % 5], time_us=clock, **more)
            row["stream"] = 7 * (number % 2)
            trace.append(row)
    trace.insert(3, event("free_completed", 77, 4096, places[0][0], time_us=1_002_000))
    blocks = [
        {"address": addr, "size": max(size, 512), "requested_size": size, "state": "active_allocated"}
        for addr, size in now
    ]
    segments = [
        {"device": 0, "address": block["address"], "total_size": block["size"], "stream": 0,
         "segment_type": "large", "segment_pool_id": (0, 0), "blocks": [block]}
        for block in blocks
    ]  # fmt: skip
    raw = {"segments": segments, "device_traces": [trace]}
    path.write_bytes(pickle.dumps(raw))
    return raw


def any_frame(test: Callable[[str, int, str], bool]) -> Callable[[Alloc], bool]:
    return lambda alloc: any(test(*place) for place in alloc.frames)


def life_us(alloc: Alloc, trace: list[Any]) -> int:
    last = trace[alloc.end - 1] if alloc.end else trace[-1]
    return int(last["time_us"]) - int(trace[max(alloc.start, 1) - 1]["time_us"])


def test_terms_match_the_same_allocations_as_brute_force(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    raw = made(tmp_path / "s.pickle")
    snapshot = opened(tmp_path / "s.pickle")
    found = oracle.allocations(raw, 0)
    trace = raw["device_traces"][0]
    model = any_frame(lambda file, *_: "model.py" in file)
    started = {a.addr: trace[a.start - 1] for a in found if a.start}
    final = {block["address"] for segment in raw["segments"] for block in segment["blocks"]}
    first = found[5]

    def private(alloc: Alloc) -> bool:
        return "pool_id" in started.get(alloc.addr, {})

    cases: dict[str, Callable[[Alloc], bool]] = {
        "model.py": model,
        "MODEL.PY": model,
        "-model.py": lambda a: not model(a),
        "file:model.py": model,
        "file:=model.py": lambda _: False,
        "file:w/model.py": model,
        "file:w\\model.py": model,
        "file:m*l.py": model,
        "file:train.py:9": any_frame(lambda f, line, _: f.endswith("train.py") and line == 9),
        "file:train.py:9,linear": any_frame(
            lambda f, line, _: (f.endswith("train.py") and line == 9) or "linear" in f
        ),
        "by:main": lambda a: bool(a.frames) and a.frames[0][2] == "forward" and "linear" in a.frames[0][0],
        "by:model.py:88": model,
        "innermost:linear.py": lambda a: next((file for file, line, _ in a.frames if line), "").endswith(
            "linear.py"
        ),
        "function:forward file:model": model,
        "function:forw*": any_frame(lambda _, _line, function: function.startswith("forw")),
        "function:orw*": lambda _: False,
        "aten::mm": any_frame(lambda _, _line, function: "mm::call" in function),
        "operator:=aten::mm": any_frame(lambda _, _line, function: "mm::call" in function),
        '"torch::autograd"': any_frame(lambda _, _line, function: "torch::autograd" in function),
        "module:linear": any_frame(lambda file, *_: "linear" in file),
        "module:none": lambda a: not any("linear" in place[0] for place in a.frames),
        "size>1MiB": lambda a: a.size > 2**20,
        "size>=1MiB": lambda a: a.size >= 2**20,
        "size<=0.5KiB -size=0": lambda a: 0 < a.size <= 512,
        "size:512,5000": lambda a: a.size in (512, 5000),
        "life>20ms": lambda a: life_us(a, trace) > 20_000,
        "life<20ms": lambda a: a.start > 0 and a.end is not None and life_us(a, trace) < 20_000,
        "life<=9ev": lambda a: a.start > 0 and a.end is not None and a.end - a.start <= 9,
        "life>9events": lambda a: (a.end or len(trace)) - a.start > 9,
        "stream:7": lambda a: started.get(a.addr, {}).get("stream") == 7,
        "stream:0x7,0": lambda _: True,
        "pool:3.1": private,
        "pool:private": private,
        "pool:default": lambda a: not private(a) and a.addr in final,
        "pool:unknown": lambda a: not private(a) and a.addr not in final,
        f"address:{hex(first.addr + first.size // 2)}": lambda a: a is first,
        f"address:{first.addr - 1}": lambda _: False,
        hex(first.addr): lambda a: a is first,
        "machinery:none": lambda _: True,
        "freed-by:train.py:9": lambda a: bool(a.freed) and "train" in a.freed[0][0],
        "freed-by:none": lambda a: a.end is not None and not a.freed,
        "category:none": lambda _: True,
        "category:activation": lambda _: False,
        "is:before": lambda a: a.early,
        "is:freed": lambda a: a.end is not None,
        "is:live,before": lambda a: a.end is None or a.early,
        "is:pending": lambda _: False,
        "stack:0": lambda a: not a.frames,
        "allocation:3,5": lambda a: a in (found[3], found[5]),
        "": lambda _: True,
    }
    fields = {text.split(":")[0].strip("-") for text in cases}
    # what changes allocations: packs/pytorch/tests/test_replay_changes.py
    assert fields >= set(FIELDS) - {"size", "life", "label", *changes.TERMS}
    with pytest.raises(BadRequestError, match="only samples of profiles have labels"):
        device_of(snapshot, 0, "label:worker")
    for text, test in cases.items():
        device = device_of(snapshot, 0, text)
        numbers = device.allocations(np.arange(device.info.allocations)).tolist()
        assert numbers == [number for number, alloc in enumerate(found) if test(alloc)], text
        for number in range(len(found)):
            row = device.row_of(number)
            assert (row is None) == (number not in numbers)
            assert row is None or numbers[row] == number
    assert snapshot.device(0) is device_of(snapshot, 0, "  ")
    # cached for a while
    assert device_of(snapshot, 0, "size>1MiB") is device_of(snapshot, 0, "  size>1MiB ")


def test_lines_have_what_they_freed(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    """Whoever allocated it; a line that only frees is a row as well."""
    raw = made(tmp_path / "s.pickle")
    for row in raw["device_traces"][0]:
        if row["action"].startswith("free") and row["frames"]:
            row["frames"] = [frame("/w/train.py", 40, "clear")]
    (tmp_path / "s.pickle").write_bytes(pickle.dumps(raw))
    snapshot = opened(tmp_path / "s.pickle")
    freed = [each for each in oracle.allocations(raw, 0) if each.freed]
    (first, *others) = top_lines(snapshot, order="freed")
    assert (first.file, first.line, first.total_bytes, first.count) == ("/w/train.py", 40, 0, 0)
    assert (first.freed_bytes, first.freed_count) == (sum(each.size for each in freed), len(freed))
    assert others == []
    assert first in source_lines(snapshot, "/w/train.py")


def test_filters_by_time_need_a_file_with_times(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    raw = {"segments": [], "device_traces": [[event("alloc", 1, 5), event("free_completed", 1, 5)]]}
    (tmp_path / "s.pickle").write_bytes(pickle.dumps(raw))
    snapshot = opened(tmp_path / "s.pickle")
    with pytest.raises(BadRequestError, match="no times"):
        device_of(snapshot, 0, "life>1ms")
    assert device_of(snapshot, 0, "life:1ev").info.allocations == 1


# ---- every view --------------------------------------------------------------------------------------------


def check_views(snapshot: Snapshot, raw: Any, text: str, chance: random.Random) -> None:
    """Every view of a device under a filter equals that of a device with only the matching allocations."""
    info = snapshot.timeline.devices[0]
    number = info.device
    first = snapshot.device(number).first_allocation
    every = oracle.allocations(raw, number)
    device = device_of(snapshot, number, text)
    numbers = (device.allocations(np.arange(len(device.start))) - first).tolist()
    chosen = set(numbers)
    found = [every[i] for i in numbers]
    heights = oracle.live_bytes(found, info.events)
    top = max(heights)
    assert device.info.peak_bytes == top
    assert heights[device.info.peak_moment] == top
    assert (device.info.live_at_end_bytes, device.info.live_at_start_bytes) == (heights[-1], heights[0])
    extent = info.event_axis
    starts = [float(m) for m in range(info.events + 1)]
    for x0, x1 in ((extent.x0, extent.x1), (info.events * 0.2, info.events * 0.7 + 1)):
        geometry = unpack(
            viewport(snapshot, number, Box("event", x0, x1, 0.0, top * 1.1 or 1.0, 50, 200), text)
        )
        # the picture's numbers are those of the whole snapshot
        places = {first + n: place for place, n in enumerate(numbers)}
        geometry.allocation = np.array([places[n] for n in geometry.allocation.tolist()], np.int64)
        geometry.passed = np.zeros_like(geometry.passed)
        check(geometry, found, heights, [range(int(m), int(m) + 1) for m in geometry.moment])
        edges = np.linspace(x0, x1, 51)
        for column, span in enumerate(spans(edges, starts, extent.x1, False)):
            assert geometry.total[column] == max(heights[m] for m in span)
    reported = overview(snapshot, number, "event", 40, text)
    parts = spans(np.linspace(extent.x0, extent.x1, 41), starts, extent.x1, False)
    highest, lowest = (
        np.frombuffer(base64.b64decode(c), "<f8").tolist() for c in (reported.highest, reported.lowest)
    )
    assert highest == [max(heights[m] for m in span) for span in parts]
    assert lowest == [min(heights[m] for m in span) for span in parts]
    assert reported.peak_bytes == top
    for at in [0, info.events, info.peak_moment, *(chance.randrange(info.events + 1) for _ in range(6))]:
        alive = [n for n in oracle.alive(every, at) if n in chosen]
        total = sum(every[n].size for n in alive)
        page = live(snapshot, number, at, 0, 1000, text)
        assert (page.live_bytes, page.live_count) == (total, len(alive))
        wanted = sorted(alive, key=lambda n: (-every[n].size, n))[:1000]
        assert [row.allocation - first for row in page.rows] == wanted
        what = moment(snapshot, number, at, text)
        assert (what.live_bytes, what.live_count) == (total, len(alive))
        narrow, rows = rows_of(snapshot, AllocationSet(number, "live", at, None, text))
        assert (narrow.allocations(rows) - first).tolist() == alive
        assert hit(snapshot, number, at, total, text).allocation is None
        below = 0
        for place, n in enumerate(alive[:20]):
            if every[n].size:
                at_height = hit(snapshot, number, at, below + every[n].size * 0.5, text).allocation
                assert at_height is not None
                assert at_height.allocation == first + n
            box = locate(snapshot, first + n, "event", at, text)
            assert (box.y0, box.y1) == (below, below + every[n].size)
            younger = step(snapshot, first + n, at, "younger", text)
            following = alive[place + 1] if place + 1 < len(alive) else None
            assert (younger and younger.allocation - first) == following
            below += every[n].size
    left_out = sorted(set(range(len(every))) - set(numbers))
    if left_out:
        with pytest.raises(BadRequestError, match="excludes allocation"):
            locate(snapshot, first + left_out[0], "event", None, text)
    if numbers:
        alike = [n for n in numbers if every[n].frames == every[numbers[0]].frames]
        walk = [numbers[0]]
        while (later := step(snapshot, first + walk[-1], 0, "next_same_stack", text)) is not None:
            walk.append(later.allocation - first)
        assert walk == alike
        check_totals(snapshot, number, every, numbers, text)


def check_totals(
    snapshot: Snapshot, number: int, every: list[oracle.Alloc], numbers: list[int], text: str
) -> None:
    """The panel's figures of a stack and of a line are those of what matches the filter."""
    first = snapshot.device(number).first_allocation
    info = device_of(snapshot, number, text).info
    for reported in (every[numbers[0]], every[numbers[-1]]):
        answer = stack(snapshot, first + every.index(reported), text)
        alike = [n for n in numbers if every[n].frames == reported.frames]
        check_sums(answer.same_stack, info, every, alike, first)
        for file, place, _ in [each for each in reported.frames if each[1]][:2]:
            on_line = [n for n in numbers if any(f[:2] == (file, place) for f in every[n].frames)]
            check_sums(line(snapshot, file, place, number, text).totals, info, every, on_line, first)


def check_sums(
    reported: Totals, info: DeviceInfo, every: list[oracle.Alloc], numbers: list[int], first: int
) -> None:
    def alive(at: int) -> list[int]:
        return [every[n].size for n in set(numbers) & set(oracle.alive(every, at))]

    at_peak = alive(info.peak_moment)
    assert (reported.total_bytes, reported.count) == (sum(every[n].size for n in numbers), len(numbers))
    assert (reported.live_at_peak_bytes, reported.live_at_peak_count) == (sum(at_peak), len(at_peak))
    assert reported.live_at_end_bytes == sum(alive(info.events))
    assert reported.largest_allocation is not None
    assert reported.largest_bytes == every[reported.largest_allocation - first].size
    assert reported.largest_bytes == max(every[n].size for n in numbers)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["size>1KiB", "model.py", "life<2ms", "-size<100KiB", "function:nowhere", "is:live"]
)
def test_every_view_is_filtered(text: str, opened: Callable[[Path], Snapshot], sample: Path) -> None:
    check_views(opened(sample), oracle.load(sample), text, random.Random(2))


@pytest.mark.slow
@settings(max_examples=tries(25), deadline=None)
@given(
    st.sampled_from(["size>600", "forward", "pool:private", "stream:7", "is:before", "life>30ev"]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_every_view_of_a_made_trace(
    tmp_path_factory: pytest.TempPathFactory, text: str, negated: bool, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("filters")
    raw = made(folder / "s.pickle")
    snapshot = Snapshot.open(ingest(folder / "s.pickle", Cache(folder / "c"), lambda *_: None))
    with contextlib.closing(snapshot):
        check_views(snapshot, raw, ("-" if negated else "") + text, random.Random(seed))


# test_every_view_is_filtered asks the same of the sample
@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [CUDA, *real_files("zijian*", "flexgen__oom*", "silmont__mem_*", "cpu_profile_mlp*")],
    ids=lambda path: path.name,
)
def test_every_view_of_real_files(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    snapshot = looked_at(path)
    for text in ("size>1MiB", "forward", f"-by:{quoted('forward')}"):
        check_views(snapshot, oracle.load(path), text, random.Random(3))
