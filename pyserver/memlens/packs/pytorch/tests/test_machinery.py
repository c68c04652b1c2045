"""What PyTorch allocates for itself: the table of it, and what is said of it."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import event, frame, real_programs
from tests.python.model_allocator import MIB
from tests.python.test_findings import Opened, Run, of_rule
from tests.python.test_inference import OPERATORS, backward, forward, trace_of

from memlens.packs.api import Machinery
from memlens.packs.pytorch.machinery import KINDS, WORDS
from memlens.views.findings.ahead import headline
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.trace.lines import known_by_line
from memlens.views.selection.texts import Pattern
from memlens.views.trace.picture.areas import GroupedBy, areas_of


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_examples(kind: Machinery) -> None:
    patterns = [Pattern(each) for each in kind.functions]
    assert all(any(each.matches(name) for each in patterns) for name in kind.fits), kind.fits
    assert not any(each.matches(name) for each in patterns for name in kind.near), kind.near
    assert kind.fits
    assert kind.near


def test_every_kind_has_a_name() -> None:
    assert {kind.name for kind in KINDS} == set(WORDS)


def test_what_an_optimizer_and_the_backward_pass_allocate(opened: Opened, tmp_path: Path) -> None:
    """Temporaries over all parameters have an advice, and gradients a name though no Python is on their stack."""
    run = Run()
    main = frame("/p/train.py", 9, "main")
    adam = frame("/v/site-packages/torch/optim/adam.py", 700, "_multi_tensor_adam"), main
    gradient = (
        frame("", 0, "at::_ops::new_empty_strided::call(at::Tensor const&)"),
        frame("", 0, "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)"),
    )
    run.alloc(1, 10 * MIB)
    for number, stack in enumerate((adam, gradient, gradient)):
        run.trace.append(event("alloc", (1 << 40) + (number << 30), 10 * MIB, *stack, time_us=1000 + number))
    snapshot = run.snapshot(opened, tmp_path)
    (found,) = of_rule(snapshot, "machinery")
    assert found.figure.amount == 10 * MIB
    # of 40 MiB in all
    assert str(found.text).endswith("without temporaries. Without them the peak would be 30 MiB.")
    assert found.line is not None
    assert found.line.line == 9
    assert "foreach=False" in found.text
    assert "Held by AccumulateGrad (gradients) 20 MiB (50%)" in headline(snapshot, None).text


def test_what_checkpointing_with_reentrant_autograd_computes_again(opened: Opened, tmp_path: Path) -> None:
    """On the engine's thread: the forward pass of a part, and not the backward pass that follows it there."""
    checkpoint = frame("/v/site-packages/torch/utils/checkpoint.py", 313, "backward")
    engine = frame("/v/site-packages/torch/autograd/graph.py", 823, "_engine_run_backward")
    other = frame("/p/ops.py", 7, "backward")
    run = Run()
    again, after = (frame("/p/model.py", 20, "forward"), checkpoint), (other, engine, checkpoint)
    for number, stack in enumerate((again, after, (other,))):
        run.trace.append(event("alloc", (1 << 40) + (number << 30), 10 * MIB, *stack, time_us=1000 + number))
    (found,) = of_rule(run.snapshot(opened, tmp_path), "machinery")
    assert found.figure.amount == 10 * MIB
    assert "activations that checkpointing computes again" in found.text
    assert "smaller parts" in found.text


def test_what_the_backward_pass_leaves_are_gradients(opened: Opened, tmp_path: Path) -> None:
    """An operator's own allocation becomes a parameter's gradient; what is freed before Python goes on does not."""
    run = Run()
    engine = frame("", 0, "torch::autograd::Engine::evaluate_function(torch::autograd::Node*)")
    multiplied = frame("", 0, "at::_ops::mm::call(at::Tensor const&)"), engine
    added = frame("", 0, "at::_ops::add::call(at::Tensor const&)"), engine

    def alloc(address: int, size: int, *stack: Any) -> None:
        run.trace.append(event("alloc", address, size, *stack, time_us=1000 + len(run.trace)))

    run.alloc(1, 10 * MIB)
    alloc(1 << 40, 20 * MIB, *multiplied)
    alloc(2 << 40, 5 * MIB, *added)
    run.free(2 << 40, 5 * MIB, engine)
    run.alloc(2, 15 * MIB)
    alloc(3 << 40, 5 * MIB, *added)
    said = headline(run.snapshot(opened, tmp_path), None).text
    assert "Held by gradients (aten::mm) 20 MiB (40%); " in said
    assert "; aten::add (C++ only) 5 MiB (10%)" in said


@pytest.mark.parametrize(
    "path",
    [None, *real_programs("niu*backward*200_mixed*", "tonghuikang*")],
    ids=lambda path: path.stem[:40] if path else "made",
)
def test_a_line_is_named_once(opened: Opened, tmp_path: Path, path: Path | None) -> None:
    """What is only inferred to come from a line is a part of what it holds, with a mark."""
    if path is None:
        path = tmp_path / "made.pickle"
        stacks = [*(forward(name, 12) for name in OPERATORS), *map(backward, reversed(OPERATORS))]
        path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace_of(stacks)]}))
    case = TraceCase.of(opened(path), 0)
    shown = known_by_line(case)
    lines = [(each.line.file, each.line.line) for each in shown.groups if each.line]
    assert len(lines) == len(set(lines))
    assert sum(each.amount for each in shown.groups) == shown.total
    assert any("% inferred)" in each.name for each in shown.groups)
    picture = areas_of(case.snapshot, 0, "", GroupedBy("line")).areas
    drawn = [(each.place.file, each.place.line) for each in picture if each.place]
    assert len(drawn) == len(set(drawn))
    assert any(each.detail.text.endswith("% inferred") for each in picture)
