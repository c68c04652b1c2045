"""Memory allocated before recording is attributed to lines only if the file has its stack."""

import pickle
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.archived import source_lines
from tests.python.conftest import event, frame, real_programs
from tests.python.counted import some
from tests.python.recordings import CUDA, SAMPLE, TORCH
from tests.python.replays import torch as oracle

from memlens import cli
from memlens.store.snapshot import Snapshot
from memlens.views.lines.stack import stack
from memlens.views.selection.columns import device_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groups import Branch, groups

Opened = Callable[[Path], Snapshot]
Place = tuple[str, int]

MADE = frame("/p/model.py", 10, "__init__")
USED = frame("/p/model.py", 20, "forward")
FREED = frame("/p/train.py", 30, "zero_grad")


def written(path: Path, *traces: list[dict[str, Any]], blocks: list[dict[str, Any]] | None = None) -> Path:
    segment = {
        "device": 0, "address": 0x10000, "total_size": 0x10000, "stream": 0, "segment_type": "small",
        "blocks": blocks or [],
    }  # fmt: skip
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": list(traces)}))
    return path


def stacks_of(snapshot: Snapshot, device: int) -> list[tuple[tuple[str, int, str], ...]]:
    """Each allocation's frames, those of the CPU profiler as in the file."""
    own = snapshot.device(device)
    known: dict[int, tuple[tuple[str, int, str], ...]] = {}
    for number in set(own.stack.tolist()):
        ids = snapshot.stack_frame_ids(number)
        rows = snapshot.frames.rows(ids)
        known[number] = tuple(rows[row][:3] for row in ids)
    return [known[number] for number in own.stack.tolist()]


def as_read(frames: tuple[tuple[str, int, str], ...]) -> tuple[tuple[str, int, str], ...]:
    """Frames as Memlens shows them: native ones have no line, and a profiler's have their place in the name."""
    return tuple(
        ("", 0, name) if file in ("", "??", "none") else (file, line, name)
        for file, line, name in frames
    )  # fmt: skip


REAL_FILES = [
    *TORCH,
    # the profiler's frames have their places in their names, which is tested elsewhere
    *(path for path in real_programs("*.pickle", "*.html") if not path.name.startswith("cpu_profile")),
]


@pytest.mark.parametrize("path", REAL_FILES, ids=lambda path: path.stem[:40])
def test_memory_is_attributed_to_the_lines_that_allocated_it(looked_at: Opened, path: Path) -> None:
    """Every allocation's stack in every real file, and every line's sums, by an independent rule."""
    raw = oracle.load(path)
    snapshot = looked_at(path)
    peaks: dict[Place, int] = defaultdict(int)
    totals: dict[Place, int] = defaultdict(int)
    for info in some(snapshot.timeline.devices):
        expected = oracle.allocations(raw, info.device)
        assert stacks_of(snapshot, info.device) == [as_read(alloc.frames) for alloc in expected]
        live = oracle.live_bytes(expected, info.events)
        at_peak = set(oracle.alive(expected, live.index(max(live))))
        for number, alloc in enumerate(expected):
            for place in {(file, line) for file, line, _ in alloc.frames}:
                totals[place] += alloc.size
                peaks[place] += alloc.size if number in at_peak else 0
    # one of the files has no stacks
    rows = source_lines(snapshot)
    assert bool(rows) == bool(totals)
    for file, line, _, _, figures in rows:
        assert (peaks[file, line], totals[file, line]) == (figures[2], figures[0]), (file, line)


@pytest.mark.parametrize("path", real_programs("nothanmin__memory_snapshot__*"), ids=lambda path: path.name)
def test_nothing_is_attributed_to_zero_grad(looked_at: Opened, path: Path) -> None:
    """It freed 3.6 GiB of gradients from before recording, 17% of the peak."""
    snapshot = looked_at(path)
    for file, line, _, _, figures in some(source_lines(snapshot)):
        assert not (file.endswith("benchmarking_script.py") and line == 105) or figures[2] == 0
    device = snapshot.device(0)
    freed_there = Counter[str]()
    for number in range(329 + 984):
        answer = stack(snapshot, number)
        if answer.freed_frames:
            assert answer.allocation.before_trace
            assert not answer.frames
            place = next(frame for frame in answer.freed_frames if frame.kind == "user")
            freed_there[f"{place.function}:{place.line}"] += answer.allocation.size_bytes
    assert freed_there["run_benchmark_with_nvtx:105"] == 3_877_647_360
    # AdamW allocated two moments per parameter in an earlier recording; the blocks still have those stacks
    names = snapshot.timeline.categories
    early = device.category[device.start == 0]
    assert Counter(names[number] for number in early.tolist() if number < len(names)) == {
        "gradient (inferred)": 327,
        "parameter (inferred)": 327,
        "optimizer_state (inferred)": 654,
    }
    assert int(device.live[device.info.peak_moment]) == device.info.peak_bytes


def cut(path: Path, target: Path) -> tuple[Any, list[oracle.Alloc], int]:
    """A recording without the first half of its events, and the allocations of the whole one."""
    whole = oracle.load(path)
    trace = whole["device_traces"][0]
    middle = len(trace) // 2
    target.write_bytes(pickle.dumps({**whole, "device_traces": [trace[middle:]]}))
    return whole, oracle.allocations(whole, 0), middle


@pytest.mark.parametrize(
    "path",
    [SAMPLE, CUDA, *real_programs("charan*", "niu__*", "decomfl*")],
    ids=lambda path: path.stem[:40],
)
def test_a_recording_without_its_first_half(opened: Opened, tmp_path: Path, path: Path) -> None:
    """What was allocated before the middle has the same stack as in the whole recording, or none."""
    whole, allocs, middle = cut(path, tmp_path / "half.pickle")
    held = any(segment["blocks"] for segment in whole["segments"])
    truth = {
        (a.addr, a.end): a
        for a in allocs
        if a.start <= middle and ((held and a.end is None) or (a.end is not None and a.end > middle))
    }
    snapshot = opened(tmp_path / "half.pickle")
    device = snapshot.device(0)
    known = 0
    stacks = stacks_of(snapshot, 0)
    early = [row for row in range(device.info.allocations) if device.start[row] == 0]
    assert len(early) == len(truth)
    for row in early:
        end = int(device.end[row])
        own = truth[int(device.address[row]), None if end == oracle.NEVER else end + middle]
        assert stacks[row] in ((), as_read(own.frames))
        if stacks[row]:
            known += 1
        elif end != oracle.NEVER:
            assert as_read(own.freed) == tuple(
                (frame.file, frame.line, frame.function) for frame in stack(snapshot, row).freed_frames
            )
    if oracle.frees_repeat_their_stacks(whole):
        # frees that repeat stacks provide all the missing ones
        assert known == sum(bool(own.frames) for own in truth.values()) > 0


def test_frees_that_repeat_stacks_are_detected_across_devices(opened: Opened, tmp_path: Path) -> None:
    early = [event("free_requested", 0x10000, 512, USED), event("free_completed", 0x10000, 512, USED)]
    repeated = [event("alloc", 0x20000, 64, MADE), event("free_completed", 0x20000, 64, MADE)]
    other = [event("alloc", 0x20000, 64, MADE), event("free_completed", 0x20000, 64, FREED)]
    bare = [event("alloc", 0x20000, 64), event("free_completed", 0x20000, 64)]

    def label(*traces: list[dict[str, Any]]) -> tuple[int, int]:
        answer = stack(opened(written(tmp_path / "s.pickle", *traces)), 0)
        return len(answer.frames), len(answer.freed_frames)

    assert label(early + repeated) == (1, 0)
    assert label(early, repeated) == (1, 0)
    assert label(early + other) == (0, 1)
    assert label(early + repeated, other) == (0, 1)
    # no free of an allocation in the trace
    assert label(early + bare) == (0, 1)
    assert label(early) == (0, 1)


def test_block_with_a_pending_free_has_the_stack_of_its_allocation(opened: Opened, tmp_path: Path) -> None:
    block = {
        "address": 0x10000, "size": 512, "requested_size": 500, "state": "active_pending_free", "frames": [MADE],
    }  # fmt: skip
    done = [event("alloc", 0x20000, 64, USED), event("free_completed", 0x20000, 64, FREED)]
    path = written(
        tmp_path / "s.pickle", [event("free_requested", 0x10000, 500, FREED), *done], blocks=[block]
    )
    answer = stack(opened(path), 0)
    assert answer.allocation.state == "pending_free"
    assert [frame.line for frame in answer.frames] == [10]
    assert [frame.line for frame in answer.freed_frames] == [30]


def test_all_commands_use_the_same_term(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = [
        event("free_requested", 0x10000, 500, FREED),
        event("free_completed", 0x10000, 500, USED),
        event("alloc", 0x20000, 64, USED),
        event("free_completed", 0x20000, 64, FREED),
    ]
    path = written(tmp_path / "s.pickle", trace)
    at = ["--cache-dir", str(tmp_path / "c")]
    assert cli.main(["stack", str(path), "0", *at]) == 0
    text = capsys.readouterr().out
    assert "allocated before recording" in text
    # the stack of a free is that of its request
    assert "freed by:\n  /p/train.py:30 zero_grad\n" in text
    for command in (
        ["flame", str(path)],
        ["sql", str(path), "SELECT freed_stack IS NULL, stack FROM allocations ORDER BY allocation"],
    ):
        assert cli.main([*command, *at]) == 0
    text = capsys.readouterr().out
    assert "allocated before recording" in text
    query = "SELECT 'before:' || allocation FROM allocations WHERE before_trace = 1"
    assert cli.main(["sql", str(path), query, *at]) == 0
    text = capsys.readouterr().out
    assert "before:0" in text
    assert "before:1" not in text


def test_a_stack_repeated_by_the_free_is_inferred(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with ``context="alloc"``: the second allocation is in the trace, and its free repeats its stack."""
    trace = [
        event("free_requested", 0x10000, 500, USED),
        event("free_completed", 0x10000, 500, USED),
        event("alloc", 0x20000, 64, FREED),
        event("free_completed", 0x20000, 64, FREED),
    ]
    path = written(tmp_path / "s.pickle", trace)
    snapshot = opened(path)
    assert [stack(snapshot, number).stack_of_free for number in range(2)] == [True, False]
    assert cli.main(["stack", str(path), "0", "--cache-dir", str(tmp_path / "c")]) == 0
    assert "allocated before recording, its stack inferred: its free repeats it\n" in capsys.readouterr().out
    assert cli.main(["info", str(path), "--cache-dir", str(tmp_path / "c")]) == 0
    assert (
        "1 allocation from before the recording has the stack of the free (inferred)"
        in capsys.readouterr().out
    )
    trace[-1] = event("free_completed", 0x20000, 64, USED)
    written(path, trace)
    answer = stack(opened(path), 0)
    assert (answer.frames, answer.stack_of_free) == ([], False)


# ---- inferred categories and modules --------------------------------------------------------------------------------


def role_of(alloc: oracle.Alloc) -> str:
    """The role of an allocation in the training runs of niu, according to their sources."""
    if any("torch::autograd::Engine::" in name for _, _, name in alloc.frames):
        return "backward"
    lines = [(file.rpartition("/")[2], name) for file, _, name in alloc.frames if file.endswith(".py")]
    files = {file for file, _ in lines}
    if "optimizer.py" in files:
        # moments are made in __init__; step replaces them and the parameters
        return "step" if ("optimizer.py", "step") in lines else "optimizer_state"
    return "parameter" if lines and lines[0][1] in ("__init__", "empty") else "other"


ROLES = {
    "gradient (inferred)": {"backward"},
    "optimizer_state (inferred)": {"optimizer_state"},
    "parameter (inferred)": {"parameter"},
    "parameter_or_optimizer_state (inferred)": {"parameter", "optimizer_state", "step"},
}


@pytest.mark.parametrize("path", real_programs("niu__forward_and_backward*"), ids=lambda path: path.stem[:60])
def test_no_inferred_category_is_wrong(opened: Opened, tmp_path: Path, path: Path) -> None:
    """Complete recordings, cut at 13 places: in forward, backward, zero_grad and step."""
    whole = oracle.load(path)
    trace = whole["device_traces"][0]
    allocs = oracle.allocations(whole, 0)
    counts: Counter[str] = Counter()
    for part in range(1, 14):
        middle = len(trace) * part // 14
        half = tmp_path / f"{part}.pickle"
        half.write_bytes(pickle.dumps({**whole, "device_traces": [trace[middle:]]}))
        truth = {(a.addr, a.end): a for a in allocs if a.start <= middle}
        snapshot = opened(half)
        device, names = snapshot.device(0), snapshot.timeline.categories
        for row in np.flatnonzero(device.category < len(names)).tolist():
            assert device.start[row] == 0
            name, end = names[device.category[row]], int(device.end[row])
            counts[name] += 1
            own = truth[int(device.address[row]), None if end == oracle.NEVER else end + middle]
            assert role_of(own) in ROLES[name], (middle, own.frames)
    assert counts["gradient (inferred)"] > 100
    assert counts["parameter_or_optimizer_state (inferred)"] > 100


@pytest.mark.parametrize("path", real_programs("niu__forward_and_backward*"), ids=lambda path: path.stem[:60])
def test_no_inferred_module_is_wrong(opened: Opened, tmp_path: Path, path: Path) -> None:
    """The same cut recordings: a parameter's module is the chain of ``__init__`` that allocated it."""
    whole = oracle.load(path)
    trace = whole["device_traces"][0]
    allocs = oracle.allocations(whole, 0)
    chain_of_size: dict[int, set[str]] = defaultdict(set)
    for alloc in allocs:
        if role_of(alloc) == "parameter":
            made = [file.rpartition("/")[2] for file, _, name in alloc.frames if name == "__init__"]
            chain_of_size[alloc.size].add(" / ".join(reversed(made)))
    count = 0
    for part in range(1, 14):
        middle = len(trace) * part // 14
        half = tmp_path / f"{part}.pickle"
        half.write_bytes(pickle.dumps({**whole, "device_traces": [trace[middle:]]}))
        snapshot = opened(half)
        device, modules = snapshot.device(0), snapshot.modules()
        if device.inferred_module is None:
            continue
        truth = {(a.addr, a.end): a for a in allocs if a.start <= middle}
        for row in np.flatnonzero(device.inferred_module).tolist():
            count += 1
            end = int(device.end[row])
            own = truth[int(device.address[row]), None if end == oracle.NEVER else end + middle]
            assert role_of(own) in ("parameter", "backward", "optimizer_state", "step")
            named = modules[int(device.inferred_module[row])][2]
            files = " / ".join(re.sub(r"forward \((.+):[\d-]+\)", r"\1", part) for part in named.split(" / "))
            assert chain_of_size[own.size] == {files}, (middle, own.size)
    # in mixed precision casts allocate gradients, which lead to no module
    assert count > 100 or "mixed" in path.name


QUERY = "SELECT inferred_module FROM allocations WHERE inferred_module IS NOT NULL GROUP BY 1"


def paired(*, sources: int = 2) -> list[dict[str, Any]]:
    """A step with gradients of linear layers of one size, of which ``sources`` have a forward operator."""
    caller = frame("/v/torch/nn/modules/module.py", 1, "_call_impl")
    own = "torch::autograd::VariableType::(anonymous namespace)::mm(c10::X)"
    node = "torch::autograd::generated::MmBackward0::apply(std::X)"
    engine = frame("??", 0, "torch::autograd::Engine::evaluate_function(X)")
    trace: list[dict[str, Any]] = []
    for number in range(sources):
        stack = (
            frame("??", 0, own),
            frame("/p/net.py", 20, "forward"),
            caller,
            frame("/p/train.py", 5, "main"),
        )
        trace.append(event("alloc", 0x700000 + 0x1000 * number, 4000, *stack))
    for number in range(2):
        made = (frame("??", 0, node), engine) if number < sources else (engine,)
        trace.append(event("alloc", 0x800000 + 0x1000 * number, 1000, *made))
    for number in range(sources):
        trace.append(event("free_requested", 0x700000 + 0x1000 * number, 4000, FREED))
        trace.append(event("free_completed", 0x700000 + 0x1000 * number, 4000, FREED))
    step = (
        frame("/v/torch/optim/adam.py", 5, "step"),
        frame("/v/torch/optim/optimizer.py", 526, "wrapper"),
    )
    return [*trace, event("alloc", 0xA00000, 64, *step)]


@pytest.mark.parametrize(("blocks", "sources", "expected"), [(2, 2, 2), (6, 2, 6), (2, 1, 0), (3, 2, 0)])
def test_modules_are_inferred_by_size(
    opened: Opened,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    blocks: int,
    sources: int,
    expected: int,
) -> None:
    """All gradients of a size must lead to one module, and the number of blocks be a multiple of theirs."""
    held: list[dict[str, Any]] = [
        {"address": 0x400000 + 0x1000 * n, "size": 1024, "requested_size": 1000, "state": "active_allocated"}
        for n in range(blocks)
    ]
    snapshot = opened(written(tmp_path / "s.pickle", paired(sources=sources), blocks=held))
    branch = Branch(AllocationSet(0, "live", 0), ["module"])
    rows = groups(snapshot, branch, "bytes", 0, 100, descending=True).rows
    counts = {row.name.text: row.count for row in rows if row.name.text.endswith("(inferred)")}
    assert counts == ({"forward (net.py:20) (inferred)": expected} if expected else {})
    for row in rows:
        assert device_of(snapshot, 0, f"{row.filter} is:before").info.allocations == row.count
    inferred = [stack(snapshot, row).inferred_module for row in range(blocks)]
    assert inferred == ["forward (net.py:20)" if expected else None] * blocks
    assert (
        cli.main(["sql", str(tmp_path / "s.pickle"), QUERY, "--json", "--cache-dir", str(tmp_path / "c")])
        == 0
    )
    assert capsys.readouterr().out.count("net.py:20") == (1 if expected else 0)


BUFFER = {"address": 0x500000, "size": 512, "requested_size": 300}


def training(*, optimizer_replaces: bool = False, gradients: int = 3) -> list[dict[str, Any]]:
    """A step of a run whose parameters and optimizer state were allocated before recording."""
    zero = frame("/v/site-packages/torch/optim/optimizer.py", 975, "zero_grad")
    step = frame("/p/optimizer.py", 71, "step")
    wrapper = frame("/v/site-packages/torch/optim/optimizer.py", 526, "wrapper")
    trace = []
    for number in range(gradients):
        addr = 0x100000 + 0x1000 * number
        trace.append(event("free_requested", addr, 1000 + number % 2, zero, FREED))
        trace.append(event("free_completed", addr, 1000 + number % 2, zero, FREED))
        trace.append(event("alloc", addr, 1000 + number % 2, USED))
    for number in range(3 if optimizer_replaces else 0):
        addr = 0x200000 + 0x1000 * number
        trace.append(event("alloc", addr + 0x100000, 1000 + number % 2, step, wrapper))
        trace.append(event("free_requested", addr, 1000 + number % 2, step, wrapper))
        trace.append(event("free_completed", addr, 1000 + number % 2, step, wrapper))
    return trace


@pytest.mark.parametrize(
    ("copies", "more", "expected"),
    [
        (1, {}, {"gradient": 3, "parameter": 3}),
        (3, {}, {"gradient": 3, "parameter_or_optimizer_state": 9}),
        # what the optimizer replaces is its state if the parameters are known, else it may be parameters
        (1, {"optimizer_replaces": True}, {"gradient": 3, "parameter": 3, "optimizer_state": 3}),
        (0, {"optimizer_replaces": True}, {"gradient": 3, "parameter_or_optimizer_state": 3}),
        # too many copies for one model, no copies, and no gradients to compare with
        (5, {}, {"gradient": 3}),
        (0, {}, {"gradient": 3}),
        (2, {"gradients": 0}, {}),
    ],
)
def test_categories_are_inferred_by_counts(
    opened: Opened, tmp_path: Path, copies: int, more: dict[str, Any], expected: dict[str, int]
) -> None:
    blocks: list[dict[str, Any]] = [
        {"address": 0x400000 + 0x1000 * n, "size": 1024, "requested_size": 1000 + n % 3 % 2}
        for n in range(3 * copies)
    ]
    # a buffer of a distinct size
    blocks = [{**block, "state": "active_allocated"} for block in [*blocks, BUFFER]]
    snapshot = opened(written(tmp_path / "s.pickle", training(**more), blocks=blocks))
    device, names = snapshot.device(0), snapshot.timeline.categories
    counts = Counter(names[number] for number in device.category.tolist() if number < len(names))
    assert counts == {f"{name} (inferred)": count for name, count in expected.items()}
    # groups are marked as inferred, and their filters match the same allocations
    branch = Branch(AllocationSet(0, "live", 0), ["category"])
    for row in groups(snapshot, branch, "bytes", 0, 100, descending=True).rows if names else []:
        assert row.name.text == "No category" or row.name.text.endswith("(inferred)")
        filtered = device_of(snapshot, 0, f"{row.filter} is:before")
        assert filtered.info.allocations == row.count
