"""Annotation lanes, steps and growth, against slow computations from the same files."""

import itertools
import json
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.conftest import event, frame, real_files
from tests.python.recordings import CUDA
from tests.python.replays import torch as oracle

from memlens import cli
from memlens.errors import BadRequestError
from memlens.model.growing import growing
from memlens.store.snapshot import Snapshot
from memlens.views.lines.stack import stack
from memlens.views.selection.columns import device_of
from memlens.views.trace.steps.annotations import AnnotationsAnswer, annotations, match_stack
from memlens.views.trace.steps.finding import find_steps, steps
from memlens.views.trace.steps.growth import growth
from memlens.views.trace.steps.layers import Calls

Opened = Callable[[Path], Snapshot]

ORIGIN = 1_700_000_000_000_000
ANNOTATED = [
    CUDA,
    *real_files(
        "niu__forward_and_backward*", "decomfl*", "nothanmin__memory_snapshot__*", "silmont*_bf16_*.pickle"
    ),
]  # fmt: skip


def made(opened: Opened, tmp_path: Path, trace: list[Any], notes: list[Any]) -> Snapshot:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace], "external_annotations": notes}))
    return opened(path)


def note(stage: str, name: str, time: int, device: int = 0) -> dict[str, Any]:
    return {"stage": stage, "name": name, "device": device, "time_us": ORIGIN + time}


def ticking(count: int) -> list[Any]:
    """An event each 10 microseconds."""
    return [event("alloc", n + 1, 8, time_us=ORIGIN + 10 * n) for n in range(count)]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60))
def test_an_end_closes_the_last_start_of_its_name(entries: list[tuple[int, bool]]) -> None:
    names = np.array([name for name, _ in entries], np.int64)
    opened, closed = match_stack(names, np.array([start for _, start in entries], bool))
    expected = []
    pending: dict[int, list[int]] = {}
    for place, (name, start) in enumerate(entries):
        if start:
            pending.setdefault(name, []).append(place)
        else:
            expected.append((pending[name].pop() if pending.get(name) else -1, place))
    expected += [(place, -1) for places in pending.values() for place in places]
    assert sorted(zip(opened.tolist(), closed.tolist(), strict=True)) == sorted(expected)


def items(answer: AnnotationsAnswer) -> list[tuple[Any, ...]]:
    return [
        (lane.kind, lane.depth, item.name, item.x0, item.x1) for lane in answer.lanes for item in lane.items
    ]


def test_lanes_of_a_generated_run(opened: Opened, tmp_path: Path) -> None:
    trace = ticking(20)
    for n in (4, 5, 6):
        trace[n]["user_metadata"] = "warm-up"
    trace[5] = event("annotate", 3, 8, time_us=ORIGIN + 50, user_metadata="weights")
    trace[9]["user_metadata"] = "train"
    trace[9]["compile_context"] = "0/0"
    notes = [
        note("START", "outer", 15), note("START", "inner", 20), note("START", "inner", 25), note("END", "inner", 30),
        note("END", "inner", 40), note("END", "outer", 95),
        note("END", "early", 12), note("START", "late", 170),
        note("START", "other device", 1, 7), note("END", "other device", 2, 7),
        note("START", "x (dynamo_timed)", 50), note("END", "x (dynamo_timed)", 60),
        note("START", "pad_mm_benchmark", 61), note("END", "pad_mm_benchmark", 62),
    ]  # fmt: skip
    snapshot = made(opened, tmp_path, trace, notes)
    extent = snapshot.timeline.devices[0].time_axis
    assert extent is not None
    reported = annotations(snapshot, 0, "time", extent.x0, extent.x1, 4000)
    assert (reported.shown, reported.noise, reported.unmatched) == (6, 2, 2)
    assert set(reported.noise_names) == {"x (dynamo_timed)", "pad_mm_benchmark"}
    found = {(kind, name): (depth, x0, x1) for kind, depth, name, x0, x1 in items(reported)}
    assert found["annotations", "outer"][1:] == (15, 95)
    assert found["annotations", "other device"][1:] == (1, 2)
    assert found["annotate", "weights"] == (0, 50, 50)
    assert found["user_metadata", "warm-up"] == (0, 40, 60)
    assert found["user_metadata", "train"] == (0, 90, 90)
    assert found["compile_context", "0/0"] == (0, 90, 90)
    inner = [(lane.depth, i.x0, i.x1) for lane in reported.lanes for i in lane.items if i.name == "inner"]
    outer = found["annotations", "outer"][0]
    assert inner == [(outer + 1, 20, 40), (outer + 2, 25, 30)]
    by_name = {item.name: item for lane in reported.lanes for item in lane.items}
    assert by_name["early"].unmatched == "start"
    assert (by_name["early"].x0, by_name["early"].x1) == (-1, 12)
    assert by_name["late"].unmatched == "end"
    assert (by_name["outer"].from_moment, by_name["outer"].to_moment) == (2, 10)
    everything = annotations(snapshot, 0, "time", extent.x0, extent.x1, 4000, noise=True)
    assert {"pad_mm_benchmark", "x (dynamo_timed)"} <= {item[2] for item in items(everything)}
    # on the other axis the same ranges are between moments
    on_events = {item[2]: item[3:] for item in items(annotations(snapshot, 0, "event", 0, 21, 4000))}
    assert on_events["outer"] == (2, 10)
    assert on_events["warm-up"] == (4, 7)
    for wrong in ((5, 5, 10), (0, 1, 0), (0, float("nan"), 10)):
        with pytest.raises(BadRequestError):
            annotations(snapshot, 0, "event", *wrong)


def test_frequent_and_short_annotations_are_noise(opened: Opened, tmp_path: Path) -> None:
    notes = []
    for n in range(600):
        notes += [note("START", "tiny", n), note("END", "tiny", n)]
        notes += [note("START", f"step#{n}", n * 100), note("END", f"step#{n}", n * 100 + 90)]
    reported = annotations(made(opened, tmp_path, ticking(6000), notes), 0, "time", 0, 60_000, 100)
    assert (reported.shown, reported.noise, reported.noise_names) == (600, 600, ["tiny"])
    # annotations narrower than a pixel are merged, with their number
    assert sum(item.count for lane in reported.lanes for item in lane.items) == 600
    assert all(len(lane.items) <= 200 for lane in reported.lanes)
    assert "6 annotations" in {item.name for lane in reported.lanes for item in lane.items}


@pytest.mark.parametrize("path", ANNOTATED, ids=lambda path: path.name)
def test_annotations_of_real_files(opened: Opened, path: Path) -> None:
    reported = oracle.load(path)["external_annotations"]
    snapshot = opened(path)
    info = snapshot.timeline.devices[0]
    assert info.time_axis is not None
    extent = info.time_axis
    assert info.time_origin_us is not None
    # an annotation that ended before the trace, and whose start the ring buffer lost, isn't visible
    begin = info.time_origin_us + extent.x0
    starts = Counter(
        entry["name"] for entry in reported if entry["stage"] == "END" and entry["time_us"] >= begin
    )
    answer = annotations(snapshot, info.device, "time", extent.x0, extent.x1, 8000)
    count: Counter[str] = Counter()
    for lane in answer.lanes:
        for item in lane.items:
            count[item.name] += item.count
    assert (answer.shown, answer.noise, answer.unmatched) == (starts.total(), 0, 0)
    assert count == starts or any("annotations" in name for name in count)
    for columns in (1, 7, 100, 8000):
        few = annotations(snapshot, info.device, "time", extent.x0, extent.x1, columns)
        assert sum(item.count for lane in few.lanes for item in lane.items) == starts.total()


# ---- steps -------------------------------------------------------------------------------------------------


def check_table(snapshot: Snapshot, found: list[oracle.Alloc], live: list[int]) -> None:
    """Every row of the table of steps, by brute force over allocations."""
    info = snapshot.timeline.devices[0]
    reported = steps(snapshot, info.device, 0, 10_000)
    assert reported.count == len(reported.rows) > 0
    for row in reported.rows:
        begin, end = row.from_moment, row.to_moment
        made_in = [a for a in found if begin < a.start <= end]
        survivors = [a for a in made_in if a.end is None or a.end > end]
        kept = [a for a in made_in if a.end is None]
        assert (row.allocated_bytes, row.allocated_count) == (sum(a.size for a in made_in), len(made_in))
        assert (row.survivors_bytes, row.survivors_count) == (sum(a.size for a in survivors), len(survivors))
        assert (row.kept_bytes, row.kept_count) == (sum(a.size for a in kept), len(kept))
        assert row.peak_bytes == max(live[begin : end + 1]) == live[row.peak_moment]
        assert begin <= row.peak_moment <= end
        assert (row.live_at_start_bytes, row.live_at_end_bytes) == (live[begin], live[end])
    for one, two in itertools.pairwise(reported.rows):
        assert one.to_moment <= two.from_moment


def grows(points: list[int]) -> bool:
    """As the docs say it, one series at a time."""
    changes = [after - before for before, after in itertools.pairwise(points)]
    rises = [change for change in changes if change > 0]
    net, risen = points[-1] - points[0], sum(rises)
    if net <= 0 or (len(points) > 2 and (len(rises) < 2 or 10 * (risen - max(rises)) < risen)):
        return False
    half = points[-1] - points[(len(points) - 1) // 2]
    return 2 * (risen - net) <= risen and (len(points) < 4 or 10 * half >= net)


MIB = 1 << 20
SERIES: dict[tuple[int, ...], bool] = {
    (0, 0, 0, 0, 2_957_000): False,
    (0, 0, 0): False,
    (5, 5, 5, 5): False,
    (9, 7, 3): False,
    # one step up, with nothing or with little after it
    (1, 1, 5, 5, 5): False,
    (MIB, MIB, 9 * MIB, 9 * MIB, 9 * MIB + 64): False,
    # the teeth of a saw, which happens to end above its start; a leak below such teeth
    (1, 5, 1, 5, 1, 6): False,
    (10, 30, 14, 34, 18, 38, 22, 42): False,
    (10, 30, 25, 45, 40, 60, 55, 75): True,
    # around a level
    (500, 510, 490, 520, 505): False,
    (500, 512, 508, 521, 515, 534, 528, 541): True,
    # filled, then full
    (0, 50, 90, 100, 100, 100, 100): False,
    (0, 4, 8, 12): True,
    (0, 0, 4, 4, 8, 8): True,
    (1, 2, 4, 8, 16, 32): True,
    (3, 8): True,
}


@pytest.mark.parametrize("points", SERIES)
def test_what_grows(points: tuple[int, ...]) -> None:
    assert (bool(growing(np.array([points], np.int64))[0]), grows(list(points))) == (SERIES[points],) * 2


@given(st.lists(st.lists(st.integers(0, 1 << 40), min_size=5, max_size=5), min_size=1, max_size=4))
def test_what_grows_of_any_series(rows: list[list[int]]) -> None:
    assert growing(np.array(rows, np.int64)).tolist() == [grows(row) for row in rows]


def check_growth(snapshot: Snapshot, found: list[oracle.Alloc]) -> None:
    """Live bytes by line at each step's end, by brute force over allocations."""
    info = snapshot.timeline.devices[0]
    ends = find_steps(snapshot, snapshot.device(info.device)).last.tolist()
    expected: dict[Any, list[int]] = {}
    for number, allocation in enumerate(found):
        if not any(allocation.start <= e and (allocation.end is None or allocation.end > e) for e in ends):
            continue
        label = stack(snapshot, number).allocation.label
        key = label and ((label.file, label.line, label.source) if label.line else label.function)
        sums = expected.setdefault(key, [0] * len(ends))
        for place, end in enumerate(ends):
            if allocation.start <= end and (allocation.end is None or allocation.end > end):
                sums[place] += allocation.size
    # what came at one end alone, as (0, 0, 0, 5), didn't grow from step to step
    grown = {key: sums for key, sums in expected.items() if grows(sums)}
    reported = growth(snapshot, info.device, 1000)
    assert reported.lines == len(reported.rows) == len(grown)
    for row in reported.rows:
        key = row.frame and (
            (row.frame.file, row.frame.line, row.frame.source) if row.frame.line else row.frame.function
        )
        sums = grown.pop(key)
        assert row.points == sums
        assert (row.grown_bytes, row.first_bytes, row.last_bytes) == (sums[-1] - sums[0], sums[0], sums[-1])
        rises = [b - a for a, b in itertools.pairwise(sums)]
        assert row.steps_grown == sum(rise > 0 for rise in rises)
        steady = "steady" if all(r >= 0 for r in rises) else "unsteady"
        assert row.trend == ("every_step" if all(r > 0 for r in rises) else steady)
        assert row.slope_bytes == pytest.approx(np.polyfit(range(len(sums)), sums, 1)[0], rel=1e-9, abs=1e-3)


@pytest.mark.parametrize(
    "path",
    [CUDA, *real_files("niu__forward_and_backward*_100__*", "decomfl*", "cpu_profile_mlp*")],
    ids=lambda p: p.name,
)
def test_steps_and_growth_of_real_files(opened: Opened, path: Path) -> None:
    snapshot = opened(path)
    found = oracle.allocations(oracle.load(path), snapshot.timeline.devices[0].device)
    check_table(snapshot, found, oracle.live_bytes(found, snapshot.timeline.devices[0].events))
    check_growth(snapshot, found)


def test_the_sample_leaks_what_it_remembers(
    opened: Opened, sample: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    snapshot = opened(sample)
    found = oracle.allocations(oracle.load(sample), 0)
    check_table(snapshot, found, oracle.live_bytes(found, snapshot.timeline.devices[0].events))
    check_growth(snapshot, found)
    reported = steps(snapshot, 0, 0, 100)
    assert (reported.source, reported.inferred, reported.count) == ("period", True, 6)
    assert reported.sure is not None
    assert reported.sure > 0.9
    leak = growth(snapshot, 0, 10).rows[0]
    assert leak.frame is not None
    line = sample.with_name("train.py").read_text("utf-8").splitlines()[leak.frame.line - 1]
    assert "self.predictions.append" in line
    assert leak.trend == "every_step"
    # a filter narrows the figures, never the steps
    narrowed = steps(snapshot, 0, 0, 100, "by:remember")
    assert [row.to_moment for row in narrowed.rows] == [row.to_moment for row in reported.rows]
    assert narrowed.rows[-1].live_at_end_bytes == leak.last_bytes
    assert device_of(snapshot, 0, "by:remember").info.allocations < len(found)
    assert cli.main(["steps", str(sample), "--cache-dir", str(tmp_path / "c")]) == 0
    words = capsys.readouterr().out
    assert "detected from the repeating pattern" in words
    assert f"train.py:{leak.frame.line} remember, more after every step" in words
    assert cli.main(["steps", str(sample), "--json", "--cache-dir", str(tmp_path / "c")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["steps"]["count"], answer["growth"]["ends"]) == (6, 6)


def test_which_annotations_are_steps(opened: Opened, tmp_path: Path) -> None:
    def spans(name: str, *times: tuple[int, int]) -> list[Any]:
        return [note(s, name, t) for begin, end in times for s, t in (("START", begin), ("END", end))]

    def found(*notes: list[Any]) -> list[tuple[str, int, int]]:
        snapshot = made(opened, tmp_path, ticking(20), [entry for part in notes for entry in part])
        reported = steps(snapshot, 0, 0, 100)
        assert reported.source == "annotations"
        assert not reported.inferred
        return [(row.name.text, row.from_moment, row.to_moment) for row in reported.rows]

    optimizer = spans("Optimizer.step#Adam.step", (45, 50), (95, 100))
    zero = spans("Optimizer.zero_grad#Adam.zero_grad", (5, 6), (55, 56))
    loader = spans("enumerate(DataLoader)#It.__next__", (2, 3), (61, 62), (111, 112))
    own = spans("train_step 1", (10, 60)) + spans("train_step 2", (60, 120))
    profiler = spans("ProfilerStep#7", (0, 49)) + spans("ProfilerStep#8", (50, 80))
    assert found(optimizer, zero, loader, own, profiler) == [
        ("ProfilerStep#7", 0, 5),
        ("ProfilerStep#8", 5, 9),
    ]
    assert found(optimizer, zero, loader, own) == [("train_step 1", 1, 6), ("train_step 2", 6, 13)]
    assert found(optimizer, zero, loader) == [("step 1", 0, 6), ("step 2", 6, 11)]
    assert found(zero, loader) == [("step 1", 1, 6), ("step 2", 6, 20)]
    assert found(loader) == [("step 1", 1, 7), ("step 2", 7, 12), ("step 3", 12, 20)]


def loop(passes: int, layers: int, *, leak: bool = False) -> list[Any]:
    """A loop that runs a model of some layers, and perhaps keeps something each time."""
    main = frame("/p/train.py", 5, "main")
    trace, address = [], 4096
    for _ in range(passes):
        frames = [[frame("/p/m.py", 3, "forward"), main]]
        frames += [[frame("/p/m.py", 40 + k, "forward"), frame("/p/m.py", 7, "forward"), main]
                   for _ in range(layers) for k in range(5)]  # fmt: skip
        frames += [[frame("/p/m.py", 9, "forward"), main], [frame("/p/train.py", 8, "loss"), main]]
        freed = []
        for stack_frames in frames:
            address += 4096
            trace.append(event("alloc", address, 2048, *stack_frames))
            freed.append(event("free_completed", address, 2048, *stack_frames))
        trace += freed[:-1] if leak else freed
    return trace


def test_layers_are_not_steps(opened: Opened, tmp_path: Path) -> None:
    snapshot = made(opened, tmp_path, loop(1, 24), [])
    reported = steps(snapshot, 0, 0, 10)
    assert (reported.source, reported.count) == ("none", 0)
    assert "layers, not steps" in reported.how.text
    assert growth(snapshot, 0, 10).rows == []
    snapshot = made(opened, tmp_path, loop(5, 24, leak=True), [])
    reported = steps(snapshot, 0, 0, 10)
    assert (reported.source, reported.count) == ("period", 5)
    # the file doesn't have the ends of passes: a step may end in the middle of one, and so lack a leak
    (leak,) = [row for row in growth(snapshot, 0, 10).rows if row.trend == "every_step"]
    assert leak.frame is not None
    assert (leak.frame.line, leak.slope_bytes, leak.steps_grown) == (8, 2048.0, 4)


def building(layers: int, *, keeps: bool = True) -> list[Any]:
    """A model whose layers are built in a loop of a constructor, and then runs once; or which is freed while it is."""
    main = frame("/p/train.py", 5, "main")
    trace, address = [event("alloc", 64, 2048, frame("/p/m.py", 2, "__init__"), main)], 4096
    for _ in range(layers):
        for line in range(5):
            address += 4096
            stack = [frame("/p/m.py", 40 + line, "__init__"), frame("/p/m.py", 7, "__init__"), main]
            trace.append(event("alloc", address, 2048, *stack))
            if not keeps and line:
                trace.append(event("free_completed", address, 2048, *stack))
    return trace


def test_layers_that_are_built_are_not_steps(opened: Opened, tmp_path: Path) -> None:
    """A loop of a constructor comes again for each layer, and keeps what it makes: neither a step nor a leak."""
    snapshot = made(opened, tmp_path, building(24), [])
    reported = steps(snapshot, 0, 0, 10)
    assert (reported.source, reported.count) == ("none", 0)
    assert "built once and kept" in reported.how.text
    # an application may run its loop in its constructor: what frees its temporaries has steps
    assert steps(made(opened, tmp_path, building(24, keeps=False), []), 0, 0, 10).source == "period"


def test_layers_agree_with_a_slow_computation(opened: Opened, tmp_path: Path) -> None:
    """For sets of stacks: all below one line of a forward that does other things, and on none of its lines."""
    rng = np.random.default_rng(3)
    calls = [("a.py", 1, "forward"), ("a.py", 2, "forward"), ("b.py", 1, "B.forward"), ("a.py", 3, "main")]

    def some(most: int) -> list[tuple[str, int, str]]:
        return [calls[number] for number in rng.integers(0, len(calls), rng.integers(0, most))]

    outer = [some(4) for _ in range(6)]
    chains = [[*some(4), *outer[number % len(outer)]] for number in range(60)]
    trace = [
        event("alloc", n + 1, 8, *(frame(*call) for call in chain), time_us=ORIGIN + n)
        for n, chain in enumerate(chains)
    ]
    snapshot = made(opened, tmp_path, trace, [])
    forwards = Calls.of(snapshot)
    assert forwards is not None
    stacks = snapshot.device(0).stack

    def slowly(chosen: list[int]) -> bool:
        called = [[call for call in reversed(chains[n]) if call[2].endswith("forward")] for n in chosen]
        seen = set(itertools.chain(*called))
        for places in zip(*called, strict=False):
            if len(set(places)) > 1:
                return False
            file, line, function = places[0]
            others = {call for call in calls if (call[0], call[2]) == (file, function) and call[1] != line}
            if others - seen:
                return True
        return False

    counted = Counter[bool]()
    for _ in range(400):
        chosen = np.flatnonzero(np.arange(len(chains)) % len(outer) == rng.integers(0, len(outer)))
        chosen = rng.choice(chosen, rng.integers(1, 5))
        expected = slowly(chosen.tolist())
        assert forwards.are_layers(snapshot.stacks.node[stacks[chosen]]) == expected
        counted[expected] += 1
    assert min(counted[True], counted[False]) > 20


@pytest.mark.parametrize(
    "model",
    [2, 12, 48, *real_files("wedson*_inference_*", "nothanmin*forward_*", "magma27*", "qr-0w*")],
    ids=lambda model: model.stem[:40] if isinstance(model, Path) else f"{model} layers",
)
def test_layers_of_models_that_run_once_are_not_steps(
    opened: Opened, tmp_path: Path, model: int | Path
) -> None:
    """Made ones build their layers before that."""
    if isinstance(model, int):
        built = [{**event, "addr": event["addr"] + 2**40} for event in building(model)]
        snapshot = made(opened, tmp_path, built + loop(1, model), [])
    else:
        snapshot = opened(model)
    assert steps(snapshot, 0, 0, 1).source == "none"


def test_random_traces_have_no_steps(opened: Opened, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    trace = [
        event("alloc", n + 1, int(rng.integers(1, 9999)), frame("/p/a.py", int(rng.integers(1, 40)), "f"))
        for n in range(900)
    ]
    assert steps(made(opened, tmp_path, trace, []), 0, 0, 10).source == "none"
