"""Fields that no real file at hand shows: forward frames, FX, notes on events, pinned host memory."""

import gzip
import json
import pickle
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.conftest import event, frame

from memlens import cli
from memlens.model.info import HOST_DEVICE
from memlens.model.timeline import NOTE_KINDS
from memlens.packs.pytorch.ooms import marks, oom
from memlens.store.snapshot import Snapshot
from memlens.views.compare import difference
from memlens.views.compare.pairing import Pairing
from memlens.views.compare.sides import side_of
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import FIRST_FLAME, first_tree, tree_of
from memlens.views.flame.tables import functions
from memlens.views.lines.stack import stack
from memlens.views.lines.totals import source_lines
from memlens.views.selection.sets import AllocationSet
from memlens.views.trace.oom.report import report

Opened = Callable[[Path], Snapshot]

MAIN = frame("/p/train.py", 90, "<module>")
NATIVE = frame("??", 0, "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)")
NODE = frame("??", 0, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)")
ENGINE = frame(
    "??", 0, "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"
)
FORWARD = [
    '  File "/p/train.py", line 20, in step\n    loss = model(x)\n',
    '  File "/p/model.py", line 12, in forward\n    return x @ self.w\n',
]


def made(opened: Opened, tmp_path: Path, trace: list[Any], **more: Any) -> Snapshot:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace], **more}))
    return opened(path)


def test_forward_frames_lead_from_native_stacks_to_the_forward_line(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = list(FORWARD)
    trace = [
        event("alloc", 1, 8, NATIVE, NODE, ENGINE, forward_frames=shared),
        event("alloc", 2, 8, NATIVE, NODE, ENGINE, forward_frames=shared),
        event("alloc", 3, 8, NATIVE, NODE, ENGINE),
        event("alloc", 4, 8, NATIVE, MAIN, forward_frames=[FORWARD[0]]),
        event("alloc", 5, 8, NATIVE, NODE, ENGINE, forward_frames=["no place"]),
        event("alloc", 6, 8, NATIVE, forward_frames=[]),
        event("alloc", 7, 8, NATIVE, frame("/p/train.py", 20, "step")),
    ]
    snapshot = made(opened, tmp_path, trace)
    one = stack(snapshot, 0)
    assert one.allocation.stack == stack(snapshot, 1).allocation.stack
    label = one.allocation.label
    assert label is not None
    assert (label.file, label.line, label.function, label.source) == ("/p/model.py", 12, "forward", "forward")
    assert one.allocation.operator == "aten::mm"
    assert [(f.line, f.source) for f in one.frames] == [(0, "recorded")] * 3
    assert [(f.line, f.source) for f in one.forward_frames] == [(12, "forward"), (20, "forward")]
    assert one.fx_traces == []
    # a recorded line of Python takes precedence
    main = stack(snapshot, 3).allocation.label
    assert main is not None
    assert (main.line, main.source) == (90, "recorded")
    for native in (2, 4, 5):
        found = stack(snapshot, native).allocation.label
        assert found is not None
        assert (found.kind, found.source) == ("native", "recorded")
    # totals of the line include what ran on its behalf
    (line,) = [row for row in source_lines(snapshot, "/p/model.py") if row.line == 12]
    assert (line.total_bytes, line.count, line.self_count) == (16, 2, 2)
    assert line.source == "forward"
    # a line that is also in a recorded stack isn't a forward line
    of_train = source_lines(snapshot, "/p/train.py")
    assert {(row.line, row.source, row.count) for row in of_train} == {
        (20, "recorded", 4),
        (90, "recorded", 1),
    }
    # the command line and SQL agree
    answers = {}
    for command, *more in (("lines", "--top", "9"), ("sql", "SELECT line, source FROM lines", "--json")):
        path = str(tmp_path / "s.pickle")
        assert cli.main([command, path, *more, "--cache-dir", str(tmp_path / "c")]) == 0
        answers[command] = capsys.readouterr().out
    assert "model.py:12 forward (forward)\n" in answers["lines"]
    assert "train.py:20 step\n" in answers["lines"]
    rows = [tuple(row.values()) for row in json.loads(answers["sql"])]
    assert rows == [(12, "forward"), (20, "recorded"), (90, "recorded")]


def test_lines_that_hold_memory_at_an_oom_have_their_source(opened: Opened, tmp_path: Path) -> None:
    trace = [
        event("alloc", 1, 8, NATIVE, NODE, ENGINE, forward_frames=FORWARD),
        {"action": "oom", "size": 1 << 30, "stream": 0, "device_free": 5},
    ]
    answer = oom(made(opened, tmp_path, trace), 0, 1)
    (line,) = answer.lines
    assert line.frame is not None
    assert (line.frame.line, line.frame.source) == (12, "forward")
    assert any("model.py:12 (forward) (forward)" in finding.text.text for finding in answer.findings)
    printed = "\n".join(
        report([answer], marks(opened(tmp_path / "s.pickle")), opened(tmp_path / "s.pickle").info)
    )
    assert "/p/model.py:12 forward (forward)" in printed


def test_forward_frames_of_blocks(opened: Opened, tmp_path: Path) -> None:
    block = {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated"}
    segment = {
        "device": 0, "address": 4096, "total_size": 512, "stream": 0, "segment_type": "small",
        "blocks": [{**block, "frames": [NATIVE, NODE], "forward_frames": FORWARD}],
    }  # fmt: skip
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps([segment]))
    label = stack(opened(path), 0).allocation.label
    assert label is not None
    assert (label.line, label.source) == (12, "forward")


def test_fx_traces_are_inside_the_code_generated_from_them(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generated = frame(
        "/tmp/torchinductor_me/ab/fx_generated.py", 7, "call",
        fx_node_op="call_function", fx_node_name="addmm_1", fx_node_target="aten.addmm.default",
        fx_original_trace='File "/p/net.py", line 30, in forward\n    b = self.block(a)\nFile "/p/net.py", line 8, '
        "in forward\n    return self.net2(b)\n", fx_node_info={"name": "addmm_1"},
    )  # fmt: skip
    plain = frame("/tmp/torchinductor_me/ab/other.py", 3, "call")
    snapshot = made(
        opened,
        tmp_path,
        [event("alloc", 1, 8, NATIVE, generated, MAIN), event("alloc", 2, 4, NATIVE, plain, MAIN)],
    )
    one = stack(snapshot, 0)
    assert [(f.file, f.line, f.source) for f in one.frames[1:]] == [
        (generated["filename"], 7, "recorded"),
        ("/p/train.py", 90, "recorded"),
    ]
    (trace,) = one.fx_traces
    assert trace.of == one.frames[1]
    assert [(f.file, f.line, f.source) for f in trace.frames] == [
        ("/p/net.py", 8, "fx"),
        ("/p/net.py", 30, "fx"),
    ]
    assert one.allocation.label == trace.frames[0]
    assert [f.line for f in stack(snapshot, 1).frames] == [0, 3, 90]
    assert stack(snapshot, 1).fx_traces == []
    assert fx_nodes(snapshot) == [("call_function", "addmm_1", "aten.addmm.default", "")]
    modules = snapshot.modules()
    path = modules[int(snapshot.trace.stack_module[one.allocation.stack])][2]
    assert path == "forward (net.py:30) / forward (net.py:8)"
    assert cli.main(["stack", str(tmp_path / "s.pickle"), "0", "--cache-dir", str(tmp_path / "c")]) == 0
    assert "/p/net.py:8 forward (FX trace)" in capsys.readouterr().out


def test_frames_that_called_nothing_are_marked_wherever_stacks_are_shown(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A backward operator whose forward line is also in a stack of its own: these are separate frames."""
    forward = frame("/p/model.py", 12, "forward")
    generated = frame(
        "/tmp/torchinductor_me/fx_generated.py", 7, "call",
        fx_original_trace='File "/p/net.py", line 30, in block\n    a\n', fx_node_op="call_function",
    )  # fmt: skip
    trace = [
        event("alloc", 1, 8, NATIVE, NODE, forward_frames=FORWARD),
        event("alloc", 2, 16, NATIVE, forward, MAIN),
        event("alloc", 3, 32, NATIVE, generated, MAIN),
    ]
    snapshot = made(opened, tmp_path, trace)
    path = tmp_path / "s.pickle"
    marks = {("forward", "forward"), ("forward", "recorded"), ("step", "forward"), ("block", "fx")}
    of = AllocationSet(0)
    side = side_of(snapshot, of)
    joined = difference.join(side, side, Pairing(side.places, side.places), "before")
    for merge in ("function", "line"):
        options = FlameOptions(merge=merge)
        for tree in (tree_of(snapshot, of, "bytes", options), difference.tree_of(joined, options)):
            rows = functions(tree, "inclusive", 0, 100).rows
            found = {(row.name.function, row.name.source): row.bytes for row in rows}
            assert found.keys() >= marks
            assert [found["forward", each] for each in ("forward", "recorded")] in ([8, 16], [16, 32])
    # the archive's own first picture has the same names
    FIRST_FLAME.write(snapshot)
    with closing(Snapshot.open(snapshot.archive)) as again:
        first = first_tree(again)
        assert first.outline is not None
        rows = functions(first, "inclusive", 0, 99).rows
        assert {(row.name.function, row.name.source) for row in rows} >= marks

    printed = {}
    query = "SELECT function || '/' || source FROM frames"
    for command, *extra in (["flame"], ["flame", "--folded"], ["stack", "0"], ["sql", query]):
        assert cli.main([command, str(path), *extra, "--cache-dir", str(tmp_path / "c")]) == 0
        printed[extra[0] if command == "flame" and extra else command] = capsys.readouterr().out
    assert all(f"{function}/{source}" in printed["sql"] for function, source in marks)
    assert "forward (forward) (model.py)" in printed["flame"]
    assert "block (FX trace) (net.py)" in printed["flame"]
    assert "step (forward) (train.py);forward (forward) (model.py);" in printed["--folded"]
    lines = printed["stack"].splitlines()
    head = lines.index("forward stack of the backward operator, not its callers:")
    assert [line.split()[0] for line in lines[head + 1 :]] == ["/p/model.py:12", "/p/train.py:20"]
    assert not any("model.py" in line for line in lines[:head] if line.startswith("  "))
    for form in ("speedscope", "pprof"):
        target = tmp_path / form
        assert (
            cli.main(["export", f"--{form}", str(target), str(path), "--cache-dir", str(tmp_path / "c")]) == 0
        )
        data = target.read_bytes() if form == "speedscope" else gzip.decompress(target.read_bytes())
        assert b"forward (forward)" in data


LINEAR = "torch.nn.modules.linear.Linear"


def compiled(line: int, info: Any, **more: Any) -> dict[str, Any]:
    return frame("/tmp/fx_generated_ab.py", line, "forward", fx_node_info=info, **more)


def fx_nodes(snapshot: Snapshot) -> list[tuple[str, ...]]:
    """The FX nodes of frames: op, name, target and info."""
    rows, strings = snapshot.trace.fx_nodes, snapshot.strings
    columns = [strings.texts(rows[field]) for field in ("op", "name", "target", "info")]
    return list(zip(*columns, strict=True))


def module_paths(snapshot: Snapshot) -> list[str]:
    """The module of each allocation of the first device, in order."""
    modules, numbers = snapshot.modules(), snapshot.trace.stack_module
    return [modules[int(numbers[stack])][2] for stack in snapshot.device(0).stack]


def test_modules_recorded_by_fx_nodes(opened: Opened, tmp_path: Path) -> None:
    """Every form of ``nn_module_stack``, and invalid values."""
    caller = frame("/v/site-packages/torch/nn/modules/module.py", 1790, "_call_impl")
    outer = [frame("/p/net.py", 8, "forward"), caller, MAIN]
    dynamo = {
        "L__self__": ("L['self']", "my.Net"),
        "L__self___block": ("L['self']._modules['block']", "<class 'my.Block'>"),
        "L__self___block_0": ("L['self']._modules['block']._modules['0']", LINEAR),
    }
    exported = f"L__self__,,my.Net;L__self___block,block,my.Block;k,block.0@1,{LINEAR}"
    shared = {"name": "addmm", "nn_module_stack": {"": ("", "my.Net"), "fc": ("fc", LINEAR)}}
    trace = 'File "/p/net.py", line 30, in forward\n    b = self.block(a)\n'
    reported: list[tuple[Any, str]] = [
        ({"op": "call_function", "nn_module_stack": dynamo}, "Net / block (Block) / 0 (nn.Linear)"),
        ({"nn_module_stack": exported}, "Net / block (Block) / 0 (nn.Linear)"),
        (shared, "Net / fc (nn.Linear)"),
        (shared, "Net / fc (nn.Linear)"),
        ({"nn_module_stack": {"k": ["elsewhere", "A"], "l": ["other.place", "B"]}}, "elsewhere (A) / other.place (B)"),
    ]  # fmt: skip
    silent: list[Any] = [
        {"nn_module_stack": {}}, {"nn_module_stack": ""}, {"nn_module_stack": "no stack"}, {"nn_module_stack": 7},
        {"nn_module_stack": {"k": ("one",)}}, {"nn_module_stack": {"k": ("a", 1)}},
        {"nn_module_stack": {1: ("a", "b")}},
        {"nn_module_stack": {"k": ("a", "b"), "l": {}}}, {"nn_module_stack": [("a", "b")]}, {}, [], None, 3, "text",
        {"nn_module_stack": {str(n): (f"m{n}", "M") for n in range(65)}}, {"nn_module_stack": {"k": ("", "")}},
        {"nn_module_stack": {"nn_module_stack": {"k": ("a", "b")}}}, {"filename": "f", "nn_module_stack": dynamo},
    ]  # fmt: skip
    frames = [compiled(n + 1, info, fx_original_trace=trace) for n, (info, _) in enumerate(reported)]
    quiet = [compiled(n + 100, info, fx_original_trace=trace) for n, info in enumerate(silent)]
    events = [
        event("alloc", n + 1, 8, NATIVE, *made, *outer)
        for n, made in enumerate([[f] for f in frames + quiet])
    ]
    # if no node names its modules, its trace does; without either, what was called by ``__call__``
    bare = frame("/tmp/fx_generated_ab.py", 500, "inner", fx_node_info={"nn_module_stack": ""})
    snapshot = made(opened, tmp_path, [*events, event("alloc", 999, 8, bare, *outer)])
    found = module_paths(snapshot)
    assert found[: len(reported)] == [path for _, path in reported]
    assert set(found[len(reported) : -1]) == {"forward (net.py:8) / forward (net.py:30)"}
    assert found[-1] == "forward (net.py:8)"
    # the trace's lines are in the stack nevertheless
    assert [f.line for f in stack(snapshot, 0).frames] == [0, 1, 8, 1790, 90]
    assert [[f.line for f in trace.frames] for trace in stack(snapshot, 0).fx_traces] == [[30]]
    assert "Net / fc (nn.Linear)" in [info for _, _, _, info in fx_nodes(snapshot)]


def test_twenty_thousand_fx_nodes_leave_space_for_the_settings(opened: Opened, tmp_path: Path) -> None:
    infos = [
        {"name": f"n{n}", "op": "call_function", "extra": {"a": n, "b": {"c": n}},
         "nn_module_stack": {"r": ("", "Net"), f"k{n}": (f"layers.{n}", "my.Layer")}}
        for n in range(20_000)
    ]  # fmt: skip
    trace = [event("alloc", n + 1, 8, compiled(n + 1, info), MAIN) for n, info in enumerate(infos)]
    snapshot = made(opened, tmp_path, trace, allocator_settings={"expandable_segments": True})
    assert module_paths(snapshot) == [f"Net / layers.{n} (Layer)" for n in range(20_000)]
    assert snapshot.manifest.settings["expandable_segments"] is True


def test_module_names_without_end(opened: Opened, tmp_path: Path) -> None:
    names = {str(n): (f"{'p' * 5000}{n}", "t" * 5000) for n in range(64)}
    snapshot = made(opened, tmp_path, [event("alloc", 1, 8, compiled(1, {"nn_module_stack": names}), MAIN)])
    (path,) = module_paths(snapshot)
    assert len(path) == 1000
    assert path.startswith("…")
    assert max(len(name) for _, name, _ in snapshot.modules()) == 200


def test_notes_name_the_event_of_the_device(opened: Opened, tmp_path: Path) -> None:
    first = [event("alloc", 1, 8), event("alloc", 2, 8, user_metadata="warm-up", compile_context="0/0")]
    oom = {"action": "oom", "device_free": 77, "size": 9, "stream": 0, "frames": []}
    second = [
        event("alloc", 3, 8, compile_context="N/A"),
        oom,
        event("annotate", 3, 8, user_metadata="weights"),
    ]
    path = tmp_path / "s.pickle"
    # in the file the second device is first
    path.write_bytes(
        pickle.dumps({"device_traces": [first, [], second], "host_traces": [event("alloc", 5, 6)]})
    )
    snapshot = opened(path)
    reported = [
        (
            number,
            int(note["event"]),
            kind,
            int(note["value"]) if kind == "device_free" else snapshot.strings[int(note["value"])],
        )
        for number in (0, 2)
        for note in snapshot.device(number).notes
        for kind in [NOTE_KINDS[note["kind"]]]
    ]
    assert sorted(reported, key=str) == [
        (0, 1, "compile_context", "0/0"),
        (0, 1, "user_metadata", "warm-up"),
        (2, 1, "device_free", 77),
        (2, 2, "user_metadata", "weights"),
    ]
    assert [d.name.text for d in snapshot.timeline.devices] == ["Device 0", "Device 2", "Pinned host memory"]


@pytest.mark.parametrize("nested", [False, True])
def test_pinned_host_memory_is_a_device_of_its_own(opened: Opened, tmp_path: Path, nested: bool) -> None:
    host = [
        event("alloc", 64, 1 << 30, MAIN, time_us=5),
        event("free_completed", 64, 1 << 30, MAIN, time_us=9),
    ]
    block = {"address": 128, "size": 64, "requested_size": 60, "state": "active_allocated", "frames": [MAIN]}
    segment = {
        "device": 0,
        "address": 128,
        "total_size": 64,
        "stream": 0,
        "segment_type": "large",
        "blocks": [block],
    }
    snapshot = made(
        opened, tmp_path, [event("alloc", 1, 8, MAIN)],
        host_traces=[host[:1], host[1:]] if nested else host, host_segments=[segment],
    )  # fmt: skip
    zero, pinned = snapshot.timeline.devices
    assert snapshot.timeline.default_device == zero.device == 0
    assert (pinned.device, pinned.name.text, pinned.peak_bytes) == (
        HOST_DEVICE,
        "Pinned host memory",
        (1 << 30) + 60,
    )
    assert (pinned.live_at_end_bytes, pinned.reserved_at_end_bytes, zero.reserved_at_end_bytes) == (60, 64, 0)
    assert np.all(snapshot.trace.segments["device"] == HOST_DEVICE)
    assert "host-memory" in {warning.code for warning in snapshot.info.warnings}
