"""Fields that no real file at hand shows: forward frames, FX, notes on events, pinned host memory."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.conftest import event, frame

from memlens import cli
from memlens.model.info import HOST_DEVICE
from memlens.model.timeline import NOTE_KINDS
from memlens.store.snapshot import Snapshot
from memlens.views.lines import source_lines
from memlens.views.stack import stack

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


def test_forward_frames_lead_from_native_stacks_to_the_forward_line(opened: Opened, tmp_path: Path) -> None:
    shared = list(FORWARD)
    trace = [
        event("alloc", 1, 8, NATIVE, NODE, ENGINE, forward_frames=shared),
        event("alloc", 2, 8, NATIVE, NODE, ENGINE, forward_frames=shared),
        event("alloc", 3, 8, NATIVE, NODE, ENGINE),
        event("alloc", 4, 8, NATIVE, MAIN, forward_frames=[FORWARD[0]]),
        event("alloc", 5, 8, NATIVE, NODE, ENGINE, forward_frames=["no place"]),
        event("alloc", 6, 8, NATIVE, forward_frames=[]),
    ]
    snapshot = made(opened, tmp_path, trace)
    one = stack(snapshot, 0)
    assert one.allocation.stack == stack(snapshot, 1).allocation.stack
    label = one.allocation.label
    assert label is not None
    assert (label.file, label.line, label.function, label.source) == ("/p/model.py", 12, "forward", "forward")
    assert one.allocation.operator == "aten::mm"
    assert [(f.line, f.source) for f in one.frames] == [
        (0, "recorded"),
        (0, "recorded"),
        (0, "recorded"),
        (12, "forward"),
        (20, "forward"),
    ]
    # a recorded line of Python goes first
    main = stack(snapshot, 3).allocation.label
    assert main is not None
    assert (main.line, main.source) == (90, "recorded")
    for native in (2, 4, 5):
        found = stack(snapshot, native).allocation.label
        assert found is not None
        assert (found.kind, found.source) == ("native", "recorded")
    # totals of the line hold what ran on its behalf
    (line,) = source_lines(snapshot, "/p/model.py", 12)
    assert (line.total_bytes, line.count, line.self_count) == (16, 2, 2)


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


def test_fx_traces_stand_inside_the_code_that_was_generated_from_them(
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
        ("/p/net.py", 8, "fx"),
        ("/p/net.py", 30, "fx"),
        (generated["filename"], 7, "recorded"),
        ("/p/train.py", 90, "recorded"),
    ]
    assert one.allocation.label == one.frames[1]
    assert [f.line for f in stack(snapshot, 1).frames] == [0, 3, 90]
    assert snapshot.text.execute("SELECT op, name, target FROM fx_nodes").fetchall() == [
        ("call_function", "addmm_1", "aten.addmm.default")
    ]
    modules = snapshot.modules()
    assert modules[int(snapshot.column("stack_module")[one.allocation.stack])][2] == "net.py:30 / net.py:8"
    assert cli.main(["stack", str(tmp_path / "s.pickle"), "0", "--cache-dir", str(tmp_path / "c")]) == 0
    assert "/p/net.py:8 forward (FX trace)" in capsys.readouterr().out


def test_notes_name_the_event_of_the_device(opened: Opened, tmp_path: Path) -> None:
    first = [event("alloc", 1, 8), event("alloc", 2, 8, user_metadata="warm-up", compile_context="0/0")]
    oom = {"action": "oom", "device_free": 77, "size": 9, "stream": 0, "frames": []}
    second = [
        event("alloc", 3, 8, compile_context="N/A"),
        oom,
        event("annotate", 3, 8, user_metadata="weights"),
    ]
    path = tmp_path / "s.pickle"
    # in the file the second device stands first
    path.write_bytes(
        pickle.dumps({"device_traces": [first, [], second], "host_traces": [event("alloc", 5, 6)]})
    )
    snapshot = opened(path)
    texts: dict[Any, Any] = dict(snapshot.text.execute("SELECT id, text FROM strings").fetchall())  # type: ignore[arg-type]
    told = [
        (
            number,
            int(note["event"]),
            kind,
            int(note["value"]) if kind == "device_free" else texts[int(note["value"])],
        )
        for number in (0, 2)
        for note in snapshot.column(f"{number}.notes")
        for kind in [NOTE_KINDS[note["kind"]]]
    ]
    assert sorted(told, key=str) == [
        (0, 1, "compile_context", "0/0"),
        (0, 1, "user_metadata", "warm-up"),
        (2, 1, "device_free", 77),
        (2, 2, "user_metadata", "weights"),
    ]
    assert [d.name for d in snapshot.info.devices] == ["Device 0", "Device 2", "Pinned host memory"]


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
    zero, pinned = snapshot.info.devices
    assert snapshot.info.default_device == zero.device == 0
    assert (pinned.device, pinned.name, pinned.peak_bytes) == (
        HOST_DEVICE,
        "Pinned host memory",
        (1 << 30) + 60,
    )
    assert (pinned.live_at_end_bytes, pinned.reserved_at_end_bytes, zero.reserved_at_end_bytes) == (60, 64, 0)
    assert np.all(snapshot.column("segments")["device"] == HOST_DEVICE)
    assert "host-memory" in {warning.code for warning in snapshot.info.warnings}
