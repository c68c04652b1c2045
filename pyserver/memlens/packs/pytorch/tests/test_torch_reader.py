"""The PyTorch reader: every container and version, real files against PyTorch's own viewer, hostile files."""

import base64
import gzip
import json
import pickle
import pickletools
import random
import shutil
import struct
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import REAL, event, frame, real_files
from tests.python.counted import perhaps
from tests.python.recordings import TORCH
from tests.python.replays import torch as oracle
from tests.python.systems import needs_posix
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.ingest import ingest
from memlens.model.timeline import NOTE_KINDS
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.lines.stack import stack
from memlens.views.lines.totals import top_lines
from memlens.views.trace.picture.live import live

Opened = Callable[[Path], Snapshot]

USER = frame(
    "/home/someone/project/train.py", 42, "step",
    fx_node_info={"op": "call_module", "nn_module_stack": {"k": ("L['self'].fc", "torch.nn.modules.linear.Linear")}},
)  # fmt: skip
MODULE = frame("/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", 1779, "_call_impl")
EMPTY = frame("RegisterCUDA.o", 0, "at::_ops::empty_strided::redispatch(c10::DispatchKeySet)")
NATIVE = frame("??", 0, "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)")


def small() -> dict[str, Any]:
    """A snapshot with one of everything that the current format has."""
    high = 0xFFFF_8000_0000_0000  # needs nine bytes as a pickled integer
    trace = [
        event("segment_alloc", 0x7F0000, 2097152, USER, time_us=1000),
        event(
            "alloc",
            0x7F0000,
            1000,
            EMPTY,
            NATIVE,
            MODULE,
            USER,
            time_us=1001,
            category="activation",
            pool_id=(0, 0),
        ),
        event("alloc", high, 4096, MODULE, USER, time_us=1002, user_metadata="note", compile_context="0/1"),
        event("free_requested", 0x7F0000, 1000, USER, time_us=1003),
        event("free_completed", 0x7F0000, 1000, USER, time_us=1005),
        event("free_requested", 0x7E0000, 512, USER, time_us=1006),
        event("free_completed", 0x7E0000, 512, USER, time_us=1006),
        {
            "action": "oom",
            "device_free": 123456,
            "size": 1 << 40,
            "stream": 0,
            "time_us": 1007,
            "frames": [USER],
        },
        event("empty_cache", 0, 0, time_us=1008, some_new_key=[1, {"deep": (1, 2)}]),
        event("snapshot", 0, 0, time_us=1009),
    ]
    block = {
        "address": high,
        "size": 4096,
        "requested_size": 4000,
        "state": "active_allocated",
        "frames": [USER],
    }
    early = {**block, "address": high + 4096, "size": 512, "requested_size": 300}
    pending = {"address": high + 4608, "size": 512, "requested_size": 512, "state": "active_awaiting_free"}
    hole = {"address": high + 5120, "size": 512, "requested_size": 0, "state": "inactive", "frames": []}
    segment = {
        "device": 0,
        "address": high,
        "total_size": 5632,
        "allocated_size": 4608,
        "active_size": 5120,
        "requested_size": 4300,
        "stream": 0x55_0000_0000,
        "segment_type": "small",
        "segment_pool_id": (0, 1),
        "is_expandable": False,
        "frames": [],
        "blocks": [block, early, pending, hole],
    }
    other = event("alloc", 1, 64, USER, time_us=5)
    return {
        "segments": [segment],
        "device_traces": [trace, [], [other]],
        "allocator_settings": {
            "max_split_size": -1,
            "PYTORCH_CUDA_ALLOC_CONF": "",
            "expandable_segments": False,
        },
        "external_annotations": [
            {"stage": "START", "name": "Optimizer.step#AdamW", "device": 0, "time_us": 1002}
        ],
        "host_segments": [],
        "host_traces": [[event("alloc", 9, 9, USER)]],
    }


def facts(snapshot: Snapshot) -> Any:
    """The whole contents of a snapshot, for comparing containers."""
    rows = [live(snapshot, d.device, None, 0, 100).rows for d in snapshot.timeline.devices]
    stacks = [stack(snapshot, row.allocation) for page in rows for row in page]
    return (
        snapshot.timeline.devices,
        rows,
        stacks,
        top_lines(snapshot),
        snapshot.info.warnings,
        snapshot.timeline.categories,
    )


def test_one_of_everything(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(small()))
    snapshot = opened(path)
    zero, two, host = snapshot.timeline.devices
    assert (host.device, host.name.text, host.allocations, host.peak_bytes) == (
        65_536,
        "Pinned host memory",
        1,
        9,
    )
    assert (zero.device, zero.events, zero.allocations, zero.ooms) == (0, 10, 5, 1)
    assert (two.device, two.events, two.allocations, two.peak_bytes) == (2, 1, 1, 64)
    # before the trace: the freed block, the early block and the pending one
    assert zero.live_at_start_bytes == 512 + 300 + 512
    assert zero.peak_bytes == 512 + 300 + 512 + 1000 + 4096
    assert (zero.peak_moment, zero.peak_time_us) == (3, 2)
    assert zero.live_at_end_bytes == 4096 + 300 + 512
    assert zero.reserved_at_end_bytes == 5632
    assert snapshot.timeline.default_device == 0
    assert {w.code for w in snapshot.info.warnings} >= {"start-lost", "host-memory"}
    rows = {row.address: row for row in live(snapshot, 0, None, 0, 10).rows}
    assert rows["0xffff800000000000"].rounded_bytes == 4096
    assert rows["0xffff800000001200"].state == "pending_free"
    first = rows["0x7f0000"]
    assert (first.category, first.label and first.label.line, first.lifetime_us) == ("activation", 42, 4.0)
    answer = stack(snapshot, first.allocation)
    assert [f.kind for f in answer.frames] == ["native", "native", "library", "user"]
    assert answer.allocation.operator == "aten::mm"
    assert [f.line for f in answer.freed_frames] == [42]
    assert snapshot.manifest.actions[-1] == "empty_cache"
    assert snapshot.manifest.settings["max_split_size"] == -1


def protocol_2(data: Any) -> bytes:
    """As PyTorch's C++ writer does: BINPUT, LONG_BINPUT and BINUNICODE, by the pure Python pickler."""
    import io

    file = io.BytesIO()
    pickle._Pickler(file, 2).dump(data)
    return file.getvalue()


def html(data: bytes) -> bytes:
    encoded = base64.b64encode(data + b"\0\0")
    return b'<!DOCTYPE html><script>init([{"name": "snapshot", "base64": "' + encoded + b'"}])</script>'


CONTAINERS: dict[str, Callable[[Any], bytes]] = {
    "protocol 2": protocol_2,
    "protocol 3": lambda data: pickle.dumps(data, 3),
    "protocol 4": lambda data: pickle.dumps(data, 4),
    "protocol 5": lambda data: pickle.dumps(data, 5),
    "optimized": lambda data: pickletools.optimize(pickle.dumps(data, 4)),
    "gzip": lambda data: gzip.compress(pickle.dumps(data)),
    "zstd": lambda data: zstandard.compress(pickle.dumps(data)),
    "zstd frames": lambda data: b"".join(
        zstandard.compress(part) for part in (pickle.dumps(data)[:100], pickle.dumps(data)[100:])
    ),
    "zstd skippable": lambda data: b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstandard.compress(pickle.dumps(data)),
    "json": lambda data: json.dumps(data).encode(),
    "json with a mark": lambda data: b"\xef\xbb\xbf" + json.dumps(data).encode(),
    "fragment": lambda data: b"<body>" + html(pickle.dumps(data)),
    "json.gz": lambda data: gzip.compress(json.dumps(data).encode()),
    "html": lambda data: html(pickle.dumps(data)),
    "trailing zeros": lambda data: pickle.dumps(data) + b"\0\0\0",
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_all_containers_have_the_same_contents(name: str, opened: Opened, tmp_path: Path) -> None:
    plain, wrapped = tmp_path / "plain", tmp_path / "wrapped"
    plain.write_bytes(pickle.dumps(small()))
    wrapped.write_bytes(CONTAINERS[name](small()))
    assert facts(opened(wrapped)) == facts(opened(plain))


def strip(snapshot: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    for trace in snapshot["device_traces"]:
        for entry in trace:
            for key in keys:
                entry.pop(key, None)
    return snapshot


def test_absent_frames_and_times(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(strip(small(), {"frames", "time_us"})))
    snapshot = opened(path)
    assert snapshot.timeline.devices[0].time_axis is None
    assert snapshot.timeline.devices[0].peak_time_us is None
    assert snapshot.timeline.devices[0].peak_bytes == 6420
    assert {w.code for w in snapshot.info.warnings} >= {"no-times", "no-stacks"}


def messages(snapshot: Snapshot) -> list[str]:
    return [warning.message for warning in snapshot.info.warnings]


@pytest.mark.parametrize("made", [0, 1, 3])
@pytest.mark.parametrize("freed", [0, 1, 2])
def test_a_single_warning_has_the_number_without_a_stack(
    opened: Opened, tmp_path: Path, made: int, freed: int
) -> None:
    trace = [event("free_completed", 4096 * number, 64, time_us=1) for number in range(1, freed + 1)]
    trace += [event("alloc", 64 * number, 64, time_us=2) for number in range(1, made + 1)]
    path = tmp_path / "s.pickle"
    path.write_bytes(
        pickle.dumps({"segments": [], "device_traces": [[*trace, event("alloc", 7, 64, USER, time_us=3)]]})
    )
    expected = []
    if freed:
        early = "1 allocation (64 B)" if freed == 1 else f"{freed} allocations ({64 * freed} B)"
        expected.append(
            f"The trace of device 0 begins in the middle. Allocated before recording: {early}; when is not in the file."
        )
    if bare := freed + made:
        has = "has" if bare == 1 else "have"
        which = f", {f'{freed} of them ' if made else 'all of them ' if freed > 1 else ''}allocated before recording"
        expected.append(
            f"{bare} of {bare + 1} allocations {has} no stack in the file"
            f"{which + ' (the file has at most their frees)' if freed else ''}."
        )
    assert messages(opened(path)) == expected


@pytest.mark.parametrize("real", [None, *real_files("nothanmin__memory_snapshot__96f7f9*")])
def test_no_number_is_in_two_warnings(opened: Opened, tmp_path: Path, real: Path | None) -> None:
    """Of what was allocated before recording, 657 were freed, and 656 are live with a stack."""
    path = real or tmp_path / "s.pickle"
    if real is None:
        trace = [event("free_completed", 4096 * number, 64, time_us=1) for number in range(1, 658)]
        trace.append(event("alloc", 1 << 40, 64, USER, time_us=2))
        block = {"size": 512, "requested_size": 512, "state": "active_allocated", "frames": [USER]}
        segment = {
            "device": 0,
            "address": 1 << 41,
            "total_size": 512 * 656,
            "stream": 0,
            "blocks": [{**block} for _ in range(656)],
        }
        path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [trace]}))
    reported = messages(opened(path))
    assert sum("657" in message for message in reported) == 1
    assert sum("1,313" in message for message in reported) == 1


def test_times_never_decrease_and_two_devices_may_share_a_trace(opened: Opened, tmp_path: Path) -> None:
    chance = random.Random(5)
    # 0 is an event without a time; more events than are sorted at a time
    times = [
        0,
        0,
        *(0 if chance.random() < 0.1 else 10**15 + i + chance.randrange(90) for i in range(40_000)),
    ]
    trace = [event("alloc", 64 * i, 64, time_us=time) for i, time in enumerate(times, 1)]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace, trace]}))
    snapshot = opened(path)
    first = next(filter(None, times))
    latest = first
    meant: list[int] = []
    for time in times:
        latest = max(latest, time)
        meant.append(latest - first)
    for device in (0, 1):
        times_us = snapshot.device(device).time
        assert times_us is not None
        assert times_us.tolist() == meant
        assert snapshot.timeline.devices[device].time_origin_us == first


@pytest.mark.parametrize("shared", [range(3, 6), (3, 1), (0,), (2, 9, 4)])
def test_devices_may_share_some_events_while_others_are_in_no_list(
    opened: Opened, tmp_path: Path, shared: Sequence[int]
) -> None:
    events = [event("alloc", 64 * i, 64, time_us=10**15 + 10 * i) for i in range(10)]
    second = [events[i] for i in shared]
    path = tmp_path / "s.pickle"
    # as many rows outside of traces as there are shared ones
    spare = [event("alloc", 64 * i, 64, time_us=1) for i in range(30)]
    found = {"segments": [], "more": spare, "device_traces": [events, second]}
    path.write_bytes(pickle.dumps(found))
    snapshot = opened(path)
    latest = [10 * (i - shared[0]) for i in accumulate(shared, max)]
    for device, meant in enumerate(([10 * i for i in range(10)], latest)):
        times_us = snapshot.device(device).time
        assert times_us is not None
        assert times_us.tolist() == meant
        assert snapshot.timeline.devices[device].time_origin_us == 10**15 + 10 * shared[0] * device


def test_bare_list_and_torch_2_0(opened: Opened, tmp_path: Path) -> None:
    history = [{"addr": 100, "real_size": 90, "frames": [USER]}, {"addr": 100, "real_size": 7, "frames": []}]
    blocks = [
        {"size": 100, "state": "inactive"},
        {"size": 100, "state": "active_allocated", "history": history},
        {"size": 312, "requested_size": 300, "state": "active_pending_free", "history": []},
    ]
    segment = {
        "device": 1,
        "address": 0,
        "total_size": 512,
        "stream": 0,
        "segment_type": "large",
        "blocks": blocks,
    }
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps([segment], 2))
    snapshot = opened(path)
    (device,) = snapshot.timeline.devices
    assert (device.device, device.events, device.allocations, device.peak_bytes) == (1, 0, 2, 390)
    rows = live(snapshot, 1, None, 0, 10).rows
    assert [(row.address, row.size_bytes, row.label and row.label.line) for row in rows] == [
        ("0xc8", 300, None),
        ("0x64", 90, 42),
    ]
    assert [w.code for w in snapshot.info.warnings] == ["no-trace", "no-stacks"]


def test_only_requested_frees(opened: Opened, tmp_path: Path) -> None:
    """Without completions in the trace a request is the free; with them it isn't."""
    trace = [event("alloc", 1, 10), event("free_requested", 1, 10), event("alloc", 2, 20)]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    assert opened(path).timeline.devices[0].live_at_end_bytes == 20
    trace += [event("free_requested", 2, 20), event("alloc", 3, 1), event("free_completed", 3, 1)]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    snapshot = opened(path)
    assert snapshot.timeline.devices[0].live_at_end_bytes == 30
    assert [row.state for row in live(snapshot, 0, 6, 0, 9).rows] == ["pending_free", "pending_free"]


# ---- real files ----

EXPECTED: dict[str, Any] = json.loads((REAL / "memory_viz_oracle.json").read_text()) if REAL.is_dir() else {}


@pytest.mark.parametrize("path", [*TORCH, *real_files("*.pickle", "*.html")], ids=lambda path: path.name)
def test_real_file(path: Path, looked_at: Opened) -> None:
    """Figures of PyTorch's viewer; ``test_replays.py`` holds every allocation and stack to a replay."""
    snapshot = looked_at(path)
    assert all(device.allocations for device in snapshot.timeline.devices)
    viewer = EXPECTED.get(path.name, {}).get("devices", [])
    for expected, device in perhaps(zip(viewer, snapshot.timeline.devices, strict=False)):
        if "elements" not in expected:
            assert (
                device.events == 0
            )  # PyTorch's viewer shows nothing without a trace; we show the live blocks
            continue
        assert device.allocations == expected["elements"]
        if device.peak_bytes != expected["peak_bytes"]:
            # The one event of these files is a free. PyTorch's viewer takes its maximum only after an event, so
            # it misses what was live before the first; what is freed there was live, so ours is the peak.
            heights = oracle.live_bytes(oracle.allocations(oracle.load(path), device.device), device.events)
            assert device.events == 1
            assert heights[0] == device.peak_bytes
            assert heights[1] == expected["peak_bytes"]


# ---- matching ----

ACTIONS = st.sampled_from(["alloc", "free_requested", "free_completed", "segment_alloc", "mystery"])
EVENTS = st.lists(st.tuples(ACTIONS, st.integers(0, 5), st.integers(0, 2000)), max_size=60)
STATES = st.sampled_from(["active_allocated", "inactive", *oracle.PENDING])
BLOCKS = st.lists(st.tuples(STATES, st.integers(1, 9)), max_size=8)


@pytest.mark.slow
@settings(max_examples=tries(150), deadline=None)
@given(EVENTS, BLOCKS, st.booleans())
def test_matching_against_the_oracle(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], blocks: list[Any], times: bool
) -> None:
    tmp_path = tmp_path_factory.mktemp("matching")
    trace = [
        event(action, addr, size, frame("a.py", 1 + addr, "f"), **({"time_us": 10 * i} if times else {}))
        for i, (action, addr, size) in enumerate(events)
    ]
    segment = {
        "device": 0, "address": 0, "total_size": 99, "stream": 0, "segment_type": "small",
        "blocks": [{"address": i, "size": size, "requested_size": size, "state": state, "frames": []}
                   for i, (state, size) in enumerate(blocks)],
    }  # fmt: skip
    data = {"segments": [segment], "device_traces": [trace]}
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(data))
    snapshot = Snapshot.open(ingest(path, Cache(tmp_path / "c"), lambda *_: None))
    found = oracle.allocations(data, 0)
    device = snapshot.device(0)
    assert [int(n) for n in device.live] == oracle.live_bytes(found, len(trace))
    assert list(zip(device.address.tolist(), device.size.tolist(), device.start.tolist(), strict=True)) == [
        (alloc.addr, alloc.size, alloc.start) for alloc in found
    ]
    for moment in range(len(trace) + 1):
        reported = live(snapshot, 0, moment, 0, 1000)
        assert sorted(row.allocation for row in reported.rows) == oracle.alive(found, moment)
        assert reported.live_count == device.live_count[moment]
    snapshot.close()


# ---- hostile and damaged files ----


class Evil:
    def __reduce__(self) -> Any:
        return print, ("executed",)


def refuse(tmp_path: Path, data: bytes) -> MemlensError:
    path = tmp_path / "bad.pickle"
    path.write_bytes(data)
    cache = Cache(tmp_path / "cache")
    with pytest.raises(MemlensError) as caught:
        ingest(path, cache, lambda *_: None)
    assert not cache.folder.exists() or not list(cache.folder.iterdir()), "something was left over"
    assert "\n" not in str(caught.value)
    return caught.value


HEAD = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94"
FORBIDDEN = {
    "GLOBAL": b"cos\nsystem\n", "STACK_GLOBAL": b"\x8c\x02os\x8c\x06system\x93", "REDUCE": b"R", "BUILD": b"b",
    "INST": b"(ios\nsystem\n", "OBJ": b"o", "NEWOBJ": b"\x81", "NEWOBJ_EX": b"\x92", "EXT1": b"\x82\x01",
    "EXT2": b"\x83\x01\x01", "EXT4": b"\x84\x01\x01\x01\x01", "PERSID": b"Px\n", "BINPERSID": b"Q",
    "NEXT_BUFFER": b"\x97", "READONLY_BUFFER": b"\x98",
}  # fmt: skip


@pytest.mark.parametrize("opcode", FORBIDDEN)
def test_code_is_never_run(opcode: str, tmp_path: Path) -> None:
    error = refuse(tmp_path, HEAD + FORBIDDEN[opcode] + b"u.")
    assert error.code == "unsafe-pickle"
    assert opcode in error.message.text.split()
    skipped = {"STACK_GLOBAL": 12, "INST": 1}.get(opcode, 0)  # strings or a mark precede the opcode itself
    assert error.offset == len(HEAD) + skipped


BARE = {
    "GLOBAL": (b"cposix\nsystem\n.", 0),
    "INST": (b"(S'ls'\niposix\nsystem\n.", 7),
    "OBJ": (b"(cposix\nsystem\no.", 1),  # the name comes first
    "PERSID": (b"Pwhatever\n.", 0),
    "REDUCE": (pickle.dumps([*range(10), Evil()], 0), None),
    "after much": (pickle.dumps([*range(3000), Evil()], 1), None),
    "with a tail": (b"cposix\nsystem\n.\nand more", 0),
}


@pytest.mark.parametrize("what", BARE)
def test_old_pickles_are_refused_with_the_code_they_would_run(what: str, tmp_path: Path) -> None:
    data, offset = BARE[what]
    error = refuse(tmp_path, data)
    assert error.code == "unsafe-pickle"
    name = {"OBJ": "GLOBAL", "REDUCE": "GLOBAL", "after much": "GLOBAL", "with a tail": "GLOBAL"}.get(
        what, what
    )
    assert name in error.message.text.split()
    assert error.offset == (data.index(b"c__builtin__") if offset is None else offset)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_real_reduce_is_refused(protocol: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refuse(tmp_path, pickle.dumps({"segments": [Evil()], "device_traces": []}, protocol))
    assert error.code == "unsafe-pickle"
    assert "executed" not in capsys.readouterr().out


def huge(opcode: bytes, width: int) -> bytes:
    most: int = 2 ** (8 * width - 1) - 1
    return HEAD + opcode + most.to_bytes(width, "little")


DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "text": (b"hello, world", "not of a format that Memlens reads"),
    "protocol 0": (pickle.dumps({"segments": []}, 0), "protocol 0 or 1"),
    "protocol 1": (pickle.dumps({"segments": []}, 1), "protocol 0 or 1"),
    "protocol 0, large": (
        pickle.dumps({"segments": [[number] for number in range(5000)]}, 0),
        "protocol 0 or 1",
    ),
    "protocol 6": (b"\x80\x06" + pickle.dumps({"segments": []}, 4)[2:], "protocol 6; snapshots have"),
    "protocol 255, marked as 0": (
        b"\x80\xff" + pickle.dumps({"segments": []}, 0),
        "protocol 255; snapshots have",
    ),
    "words": (b"cats\ndogs\nand mice\n", "not of a format that Memlens reads"),
    "two words": (b"cats\ndogs\n", "not of a format that Memlens reads"),
    "a title": (b"N. B.\n", "not of a format that Memlens reads"),
    "hellos": (b"hello, world\n" * 1000, "not of a format that Memlens reads"),
    "other pickle": (pickle.dumps([1, 2, 3]), "no memory snapshot"),
    "other dict": (pickle.dumps({"epoch": 3}), "no memory snapshot"),
    "no stop": (pickle.dumps(small())[:-1], "truncated"),
    "absurd string": (huge(b"X", 4), "larger than the whole file"),
    "absurd long string": (huge(b"\x8d", 8), "larger than the whole file"),
    "absurd bytes": (huge(b"\x8e", 8), "larger than the whole file"),
    "absurd integer": (huge(b"\x8b", 4), "larger than the whole file"),
    "absurd frame": (b"\x80\x04\x95" + b"\xff" * 8, "larger than the whole file"),
    "memo beyond": (HEAD + b"j\xff\xff\xff\x7f.", "not stored"),
    "memo hole": (HEAD + b"h\x30.", "not stored"),
    "memo put beyond": (HEAD + b"r\xff\xff\xff\x7f.", "not stored"),
    "deep marks": (b"\x80\x04" + b"(" * 100_000, "nested far deeper"),
    "deep lists": (b"\x80\x04" + b"]" * 8_000_000, "nested far deeper"),
    "pop nothing": (b"\x80\x040.", "inconsistent"),
    "append to nothing": (b"\x80\x04K\x01a.", "inconsistent"),
    "odd items": (b"\x80\x04}(K\x01u.", "inconsistent"),
    "items without a dict": (b"\x80\x04](K\x01K\x02u.", "inconsistent"),
    "unknown opcode": (b"\x80\x04\xff.", "not an opcode"),
    "protocol 9": (b"\x80\x04\x80\x09.", "not an opcode"),
    "half json": (b'{"segments": [', "not valid JSON"),
    "long number": (b'{"device_traces": ' + b"9" * 5_000 + b"}", "a value that no snapshot has"),
    "deep json": (b"[" * 200_000, "JSON"),
    "page without data": (b"<html><body>hello</body></html>", "contains no snapshot"),
    "text that begins like a page": (b"<module> (a:6);main (b:7) 3\n", "not of a format that Memlens reads"),
    "packed emptiness": (gzip.compress(b""), "contains no data"),
    "half gzip": (gzip.compress(pickle.dumps(small()) * 50)[:400], "damaged"),
    "half zstd": (zstandard.compress(random.Random(1).randbytes(5000))[:300], ""),
    "gzip bomb": (gzip.compress(pickle.dumps(bytes(50_000_000), 4)), "unpacks to more"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(name: str, tmp_path: Path) -> None:
    data, words = DAMAGED[name]
    error = refuse(tmp_path, data)
    assert words in error.message.text
    assert error.advice.text
    assert error.code in ("damaged", "not-a-snapshot")
    if "not of a format that Memlens reads" in words:
        for kind in (
            "PyTorch",
            "heaptrack",
            "pprof",
            "memray",
            "tracemalloc",
            "massif",
            "DHAT",
            "SnapViewer",
            "jemalloc",
        ):
            assert kind in error.advice.text
        assert "torch.cuda" not in error.advice.text
    elif "empty" in words:
        assert "torch" not in error.advice.text


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.pickle", tmp_path):
        with pytest.raises(MemlensError) as caught:
            ingest(path, Cache(tmp_path / "cache"), lambda *_: None)
        assert caught.value.code == "file"


def growing_stack() -> bytes:
    """A list that grows by one frame per two bytes: storing it at every length would take quadratic memory."""
    frame_dict = b"}\x94(\x8c\x08filename\x8c\x01f\x8c\x04line" + b"K\x01u"
    return b"\x80\x04" + frame_dict + b"0]" + b"h\x00a" * 12_000 + b"."


def shared_blocks() -> dict[str, Any]:
    blocks = [{"address": i, "size": 1, "state": "inactive"} for i in range(500)]
    return {"segments": [{"device": 0, "address": i, "total_size": 9, "blocks": blocks} for i in range(500)]}


def shared_trace() -> dict[str, Any]:
    trace = [event("alloc", 2, 2)]
    return {"segments": [], "device_traces": [trace] * 200}


BLOWN_UP: dict[str, tuple[bytes, str]] = {
    "a stack at every length": (growing_stack(), "too many objects"),
    "blocks of many segments": (pickle.dumps(shared_blocks()), "same blocks"),
    "a trace for many devices": (pickle.dumps(shared_trace()), "same trace"),
    "devices without end": (
        pickle.dumps({"device_traces": [[event("alloc", i, 1)] for i in range(300)]}),
        "300 devices",
    ),
    "sizes without end": (
        pickle.dumps({"device_traces": [[event("alloc", i, 1 << 50) for i in range(8200)]]}),
        "add up",
    ),
}


@needs_posix
@pytest.mark.parametrize("name", BLOWN_UP)
def test_small_files_stay_small(name: str, tmp_path: Path) -> None:
    data, words = BLOWN_UP[name]
    before = memory_bytes()
    assert words in refuse(tmp_path, data).message.text
    assert memory_bytes() - before < 100 * 2**20


def test_odd_but_readable(opened: Opened, tmp_path: Path) -> None:
    """Many unknown actions, a size below 0, a name without a place, times that start late."""
    trace = [event(f"action {i}", 0, -1) for i in range(300)]
    trace.append(
        event(
            "alloc", 7, 64, frame("none", 0, "a.py(11111111111111111111): f"), time_us=1_700_000_000_000_000
        )
    )
    trace.append(event("alloc", 8, 64, frame("x" * 100_000, 3, "y" * 100_000), time_us=1_700_000_000_000_005))
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    snapshot = opened(path)
    assert snapshot.manifest.actions[-1] == "other"
    (device,) = snapshot.timeline.devices
    assert device.peak_bytes == 128
    assert device.time_axis is not None
    assert device.time_axis.x1 < 10
    reported = stack(snapshot, 1).frames[0]
    assert (len(reported.file), len(reported.function)) == (4096, 16384)


def test_unrecorded_free_has_no_stack(opened: Opened, tmp_path: Path) -> None:
    one, two = frame("/a/one.py", 1, "f"), frame("/a/two.py", 2, "g")
    path = tmp_path / "s.pickle"
    trace = [
        event("alloc", 4096, 8, one),
        event("alloc", 4096, 8, two),
        event("free_completed", 4096, 8, one),
    ]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    snapshot = opened(path)
    assert stack(snapshot, 0).freed_frames == []
    assert [f.file for f in stack(snapshot, 1).freed_frames] == ["/a/one.py"]


def memory_bytes() -> int:
    import resource  # which Windows lacks

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def attempt(path: Path, cache: Cache) -> str:
    """Read a file that may be damaged; returns the code of one of our errors, or "opened"."""
    try:
        snapshot = Snapshot.open(ingest(path, cache, lambda *_: None))
    except MemlensError as error:
        return error.code if error.message.text and error.advice.text else "no sentence"
    for device in snapshot.timeline.devices:
        for row in live(snapshot, device.device, None, 0, 5).rows:
            stack(snapshot, row.allocation)
    top_lines(snapshot, 5)
    snapshot.close()
    # nobody opens it again, and the next one would be read with a look at the sizes of all
    shutil.rmtree(snapshot.archive)
    return "opened"


def test_truncated_anywhere(tmp_path: Path, cache: Cache) -> None:
    whole = pickle.dumps(small())
    path = tmp_path / "cut.pickle"
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        assert attempt(path, cache) in ("damaged", "not-a-snapshot")


@needs_posix
@pytest.mark.slow
def test_flipped_anywhere(tmp_path: Path, cache: Cache, sample: Path) -> None:
    """Damaged files: each is an error or is shown, in bounded memory, and none ends the process."""
    rng = random.Random(7)
    path = tmp_path / "flipped.pickle"
    outcomes: dict[str, int] = {}
    before = memory_bytes()
    for whole, rounds in ((pickle.dumps(small()), tries(240)), (sample.read_bytes(), tries(20))):
        for _ in range(rounds):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(data)
            outcome = attempt(path, cache)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert set(outcomes) <= {"opened", "damaged", "not-a-snapshot", "unsafe-pickle"}
    assert min(outcomes["opened"], outcomes["damaged"]) > tries(30)
    assert memory_bytes() - before < 100 * 2**20


@pytest.mark.slow
@settings(max_examples=tries(300), deadline=None)
@given(
    st.lists(st.sampled_from(sorted(opcode.code for opcode in pickletools.opcodes)), max_size=40),
    st.binary(max_size=40),
)
def test_any_opcodes(tmp_path_factory: pytest.TempPathFactory, opcodes: list[str], tail: bytes) -> None:
    """Pickle programs that no pickler would write."""
    tmp_path = tmp_path_factory.mktemp("opcodes", numbered=True)
    path = tmp_path / "any.pickle"
    path.write_bytes(b"\x80\x04" + "".join(opcodes).encode("latin-1") + tail + b".")
    assert attempt(path, Cache(tmp_path / "c")) in ("damaged", "not-a-snapshot", "unsafe-pickle", "opened")


def test_nested_snapshots_share_nothing(opened: Opened, tmp_path: Path) -> None:
    """A long stack is batched by the pickler into several APPENDS; a single frame into one APPEND."""
    frames = [frame(f"/p/m{i % 7}.py", i + 1, f"f{i}") for i in range(2500)]
    trace = [
        event("alloc", 1, 8, *frames),
        event("alloc", 2, 8, frames[0]),
        event("alloc", 3, 8, *frames[:1000]),
    ]
    path = tmp_path / "s.pickle"
    for protocol in (2, 4):
        path.write_bytes(pickle.dumps({"device_traces": [trace], "segments": []}, protocol))
        snapshot = opened(path)
        assert [len(stack(snapshot, i).frames) for i in range(3)] == [2500, 1, 1000]
        assert [f.line for f in stack(snapshot, 0).frames] == list(range(1, 2501))


def test_text_that_is_not_text(opened: Opened, tmp_path: Path) -> None:
    """Lone surrogates, NUL, escapes and a long name become text that can be sent."""
    names = ["\ud800lone", "nul\0name", "\x1b[31mred\u202e", "<img src=x onerror=alert(1)>", "x" * 100_000]
    trace = [event("alloc", i, 8, frame(f"/p/{i}.py", 1, name)) for i, name in enumerate(names)]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [trace], "segments": []}))
    snapshot = opened(path)
    reported = [stack(snapshot, i).frames[0].function for i in range(5)]
    assert reported[1:4] == names[1:4]
    assert reported[4] == "x" * 16383 + "…"
    assert "lone" in reported[0]
    reported[0].encode()


def test_integers_of_any_width(opened: Opened, tmp_path: Path) -> None:
    sizes = [0, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**40]
    addresses = [0, 2**31, 2**63 - 1, 2**63, 2**64 - 2, 7, 8, 9]
    trace = [event("alloc", a, s) for a, s in zip(addresses, sizes, strict=True)]
    path = tmp_path / "s.pickle"
    data = pickle.dumps({"device_traces": [trace], "segments": []})
    path.write_bytes(data)
    device = opened(path).device(0)
    assert device.size.tolist() == sizes
    assert device.address.tolist() == addresses
    # the same number written with more bytes than it needs
    path.write_bytes(data.replace(b"K\xff", b"\x8a\x08" + struct.pack("<q", 255)))
    assert opened(path).device(0).size.tolist() == sizes


def test_rare_facts_belong_to_their_devices_events(opened: Opened, tmp_path: Path) -> None:
    def oom(free: Any) -> dict[str, Any]:
        return {"action": "oom", "device_free": free, "size": 1 << 30, "stream": 0, "frames": [USER]}

    snapshot = small()
    shared = event("alloc", 7, 8, USER, user_metadata="twice")
    snapshot["device_traces"] = [
        [oom(11), shared, oom(None), oom(-5), oom("lots"), oom(2**63)],
        [event("alloc", 1, 64, USER), oom(22), event("alloc", 2, 64, USER, user_metadata="more")],
        [shared],
    ]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(snapshot, protocol=4))
    read = opened(path)

    def facts_of(device: int) -> list[tuple[int, int | str]]:
        rows = read.device(device).notes.tolist()
        return [
            (event, value if NOTE_KINDS[kind] == "device_free" else read.strings[value])
            for event, kind, value in rows
        ]

    assert facts_of(0) == [(0, 11), (1, "twice")]
    assert facts_of(1) == [(1, 22), (2, "more")]
    assert facts_of(2) == [(0, "twice")]
