"""Forward lines of backward operators, inferred; and the modules that stacks ran in."""

import itertools
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.archived import source_lines
from tests.python.conftest import event, frame, real_files

from memlens import cli
from memlens.kernels.trace.timeline import longest_falling
from memlens.store.snapshot import Snapshot
from memlens.views.lines.stack import stack
from memlens.views.trace.picture.live import live

Opened = Callable[[Path], Snapshot]

LOOP = frame("/p/train.py", 9, "main")
ENGINE = frame(
    "??", 0, "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"
)
# operators as in VariableType, and the nodes that they make
OPERATORS = {"mm": "Mm", "mul_Tensor": "Mul", "sum_dim_IntList": "Sum", "_to_copy": "ToCopy", "exp": "Exp"}


def forward(operator: str, line: int, *outer: dict[str, Any]) -> list[dict[str, Any]]:
    native = frame(
        "??", 0, f"torch::autograd::VariableType::(anonymous namespace)::{operator}(c10::DispatchKeySet)"
    )
    call = frame("??", 0, f"at::_ops::{operator}::call(at::Tensor const&)")
    return [native, call, frame("/p/model.py", line, "forward"), *outer, LOOP]


def backward(operator: str) -> list[dict[str, Any]]:
    # a node itself calls operators, which aren't forward operators
    inner = frame(
        "??", 0, "torch::autograd::VariableType::(anonymous namespace)::mul_Tensor(c10::DispatchKeySet)"
    )
    node = f"torch::autograd::generated::{OPERATORS[operator]}Backward0::apply(std::vector<at::Tensor>&&)"
    return [inner, frame("??", 0, node), ENGINE]


def trace_of(stacks: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [event("alloc", 4096 * (n + 1), 8, *frames) for n, frames in enumerate(stacks)]


def labels(opened: Opened, tmp_path: Path, stacks: list[list[dict[str, Any]]]) -> list[tuple[int, str]]:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace_of(stacks)]}))
    snapshot = opened(path)
    lines: list[tuple[int, str]] = []
    for row in sorted(live(snapshot, 0, len(stacks), 0, 1000).rows, key=lambda row: row.allocation):
        assert row.label is not None
        lines.append((row.label.line, row.label.source))
    return lines


def test_backward_runs_in_reverse(opened: Opened, tmp_path: Path) -> None:
    """Random chains of operators, several steps: each node allocates as often as its operator, in reverse."""
    rng = random.Random(3)
    for _ in range(5):
        stacks, expected = [], []
        for _ in range(3):
            calls = [
                (rng.choice(sorted(OPERATORS)), rng.randint(1, 400), rng.randint(1, 3)) for _ in range(60)
            ]
            # no consecutive calls of one operator; those are tested below
            calls = [c for n, c in enumerate(calls) if n == 0 or calls[n - 1][0] != c[0]]
            for operator, line, times in calls:
                stacks += [forward(operator, line)] * times
                expected += [(line, "recorded")] * times
            for operator, line, _ in reversed(calls):
                times = rng.randint(1, 3)
                stacks += [backward(operator)] * times
                expected += [(line, "inferred")] * times
        assert labels(opened, tmp_path, stacks) == expected


def test_consecutive_calls_are_assigned_only_if_counts_divide(opened: Opened, tmp_path: Path) -> None:
    stacks = [
        forward("exp", 1),
        forward("mm", 10),
        forward("mm", 20),
        forward("mul_Tensor", 5),
        forward("mm", 30),
    ]
    even = [backward("mm"), backward("mul_Tensor"), *[backward("mm")] * 4, backward("exp")]
    assert labels(opened, tmp_path, stacks + even)[5:] == [
        (30, "inferred"), (5, "inferred"), *[(20, "inferred")] * 2, *[(10, "inferred")] * 2, (1, "inferred"),
    ]  # fmt: skip
    odd = [backward("mm"), backward("mul_Tensor"), *[backward("mm")] * 3, backward("exp")]
    assert labels(opened, tmp_path, stacks + odd)[5:] == [
        (30, "inferred"), (5, "inferred"), *[(0, "recorded")] * 3, (1, "inferred"),
    ]  # fmt: skip


def test_operators_without_nodes_do_not_count(opened: Opened, tmp_path: Path) -> None:
    optimizer = frame("/lib/python3.12/site-packages/torch/optim/adamw.py", 5, "step")
    quiet = frame("/lib/python3.12/site-packages/torch/utils/_contextlib.py", 120, "decorate_context")
    again = frame("/lib/python3.12/site-packages/torch/utils/checkpoint.py", 300, "recompute")
    stacks = [
        forward("mm", 1), forward("exp", 2), forward("mm", 77, optimizer), forward("mm", 78, quiet),
        backward("exp"),
        # activation checkpointing recomputes 3 and 4, on the engine's thread
        [*forward("exp", 3, again), ENGINE], [*forward("mm", 4, again), ENGINE], backward("mm"), backward("exp"),
    ]  # fmt: skip
    rows = labels(opened, tmp_path, stacks)
    assert [line for line, source in rows if source == "inferred"] == [2, 4, 3]


def test_inconsistent_pass_is_not_inferred(opened: Opened, tmp_path: Path) -> None:
    """Backward in the order of forward contradicts the rules."""
    calls = ["mm", "exp", "mul_Tensor", "sum_dim_IntList"]
    stacks = [forward(operator, n + 1) for n, operator in enumerate(calls)] + [backward(o) for o in calls]
    assert [source for _, source in labels(opened, tmp_path, stacks)[4:]] == ["recorded"] * 4


def test_inferred_lines_are_marked(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stacks = [forward("mm", 12), backward("mm")]
    assert labels(opened, tmp_path, stacks)[1] == (12, "inferred")
    snapshot = opened(tmp_path / "s.pickle")
    answer = stack(snapshot, 1)
    # the stack is as recorded, and totals of lines contain nothing inferred
    assert {f.source for f in answer.frames} == {"recorded"}
    assert [figures[0] for _, line, _, _, figures in source_lines(snapshot) if line == 12] == [8]
    assert cli.main(["stack", str(tmp_path / "s.pickle"), "1", "--cache-dir", str(tmp_path / "c")]) == 0
    assert "inferred: /p/model.py:12 forward" in capsys.readouterr().out


@given(st.lists(st.integers(-20, 20), max_size=40))
def test_longest_falling(values: list[int]) -> None:
    keep = np.zeros(len(values), np.uint8)
    longest_falling(np.asarray(values, np.int64), keep)
    kept = [value for value, kept in zip(values, keep, strict=True) if kept]
    assert all(a > b for a, b in itertools.pairwise(kept))
    best = [1] * len(values)
    for n in range(len(values)):
        best[n] = 1 + max((best[m] for m in range(n) if values[m] > values[n]), default=0)
    assert len(kept) == max(best, default=0)


@pytest.mark.parametrize("path", real_files("silmont__mem_snapshot*"), ids=lambda path: path.name)
def test_a_real_backward(opened: Opened, path: Path) -> None:
    """A hand-written attention: einsum, divide, max, subtract and exp, sum, divide, einsum, as in its source."""
    snapshot = opened(path)
    nodes = {"BmmBackward0": (12, 20), "DivBackward0": (9, 13), "MaxBackward0": (6,), "ExpBackward0": (7,)}
    seen = []
    device = snapshot.device(0)
    for number in range(device.info.allocations):
        answer = stack(snapshot, number)
        label = answer.allocation.label
        if label is None or label.source != "inferred":
            continue
        functions = " ".join(frame.function for frame in answer.frames)
        node = next((node for node in nodes if f"::{node}::apply" in functions), None)
        if node is not None:
            assert label.line in nodes[node]
            seen.append(label.line)
    # backward runs from the end of the function to its beginning
    assert list(dict.fromkeys(seen)) == [20, 9, 7, 6, 13, 12]


CALL = frame("/v/lib/python3.12/site-packages/torch/nn/modules/module.py", 1790, "_call_impl")
WRAP = frame("/v/lib/python3.12/site-packages/torch/nn/modules/module.py", 1779, "_wrapped_call_impl")
LINEAR = frame("/v/lib/python3.12/site-packages/torch/nn/modules/linear.py", 130, "forward")
CONV = frame("/v/lib/python3.12/site-packages/torch/nn/modules/conv.py", 554, "forward")
PYTHON = frame("/build/Python/ceval.c", 40, "_PyEval_EvalFrameDefault")


def test_modules(opened: Opened, tmp_path: Path) -> None:
    def model(line: int) -> dict[str, Any]:
        return frame("/p/model.py", line, "forward")

    stacks = [
        [LOOP],
        # GPT.forward:50 calls Block.forward:20/22, which calls nn.Linear; with Python's C frames in between
        [LINEAR, PYTHON, CALL, WRAP, model(20), CALL, WRAP, model(50), PYTHON, CALL, WRAP, LOOP],
        [frame("/p/model.py", 3, "gelu"), model(22), CALL, WRAP, model(50), CALL, WRAP, LOOP],
        # another module of the same file, called at another line, through a decorator
        [
            CONV,
            CALL,
            WRAP,
            model(80),
            frame("/p/wrap.py", 5, "wrapper"),
            CALL,
            WRAP,
            model(52),
            CALL,
            WRAP,
            LOOP,
        ],
        [frame("/p/model.py", 90, "Head.forward"), CALL, WRAP, model(54), CALL, WRAP, LOOP],
        # a function named forward that is not called by a module's __call__
        [frame("/p/flow.py", 7, "forward"), LOOP],
    ]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace_of(stacks)]}))
    snapshot = opened(path)
    modules = snapshot.modules()
    device = snapshot.device(0)
    numbers = snapshot.trace.stack_module[device.stack].tolist()
    assert [modules[number][2] for number in numbers] == [
        "",
        "forward (model.py:50-54) / forward (model.py:20-22) / nn.Linear",
        "forward (model.py:50-54) / forward (model.py:20-22)",
        "forward (model.py:50-54) / forward (model.py:80) / nn.conv",
        "forward (model.py:50-54) / Head",
        "",
    ]
    assert modules[modules[numbers[1]][0]][2] == "forward (model.py:50-54) / forward (model.py:20-22)"


def test_modules_of_the_profiler(opened: Opened, tmp_path: Path) -> None:
    stacks = [
        [
            frame("none", 0, "torch/nn/modules/linear.py(130): forward"),
            frame("none", 0, "torch/nn/modules/module.py(1782): _call_impl"),
            frame("none", 0, "nn.Module: Linear_3"),
            frame("none", 0, "nn.Module: Sequential_0"),
            frame("none", 0, "run.py(9): main"),
        ]
    ]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace_of(stacks)]}))
    snapshot = opened(path)
    number = int(snapshot.trace.stack_module[snapshot.device(0).stack[0]])
    assert snapshot.modules()[number][2] == "Sequential_0 / Linear_3"
