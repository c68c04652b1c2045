"""Odd values: whatever a writer fills a field with, the file opens and every other record is right.

PyTorch writes -1 as 2^64-1 (the line of a frame that ``torch.compile`` made), other writers None, NaN, text or nothing.
Each field of each kind of record takes each odd value in turn, and the oracle reads what a person would make of it.
"""

import copy
import json
import math
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.archived import source_lines
from tests.python.conftest import event, frame, real_files, real_programs
from tests.python.recordings import TORCH
from tests.python.replays import torch as oracle
from tests.python.tries import tries

from memlens import cli
from memlens.formats.containers import open_source
from memlens.ingest import ingest
from memlens.model.info import HOST_DEVICE
from memlens.model.timeline import NEVER, Timeline
from memlens.packs.pytorch import snapshot as torch
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.lines.totals import top_lines

Data = Any

GONE: Any = ...
ODD: dict[str, Any] = {
    "absent": GONE, "None": None, "-1": -1, "2**64-1": 2**64 - 1, "2**70": 2**70, "-2**70": -(2**70), "half": 3.5,
    "NaN": math.nan, "infinity": math.inf, "1e300": 1e300, "True": True, "text": "many", "list": [], "numbers": [1, 2],
    "lists": [[1], [None]], "dict": {}, "pairs": {"a": 1, "b": None},
}  # fmt: skip
TEXTS = {
    "action", "filename", "name", "state", "segment_type", "stage", "category", "compile_context", "user_metadata",
    "fx_node_name", "fx_original_trace", "fx_node_op", "fx_node_target", "fx_node_info",
}  # fmt: skip


def fits(field: str, value: Any) -> bool:
    """Whether a value of ``ODD`` is a plain one in that field."""
    if field in TEXTS:
        return isinstance(value, str)
    if field in ("frames", "forward_frames", "blocks", "history"):
        return bool(value == [])
    if field in ("pool_id", "segment_pool_id"):
        return bool(value == [1, 2])
    if field == "is_expandable":
        return value is True
    if field == "stream":
        return value in (-1, 2**64 - 1)  # a handle may have any 64-bit value
    if field == "time_us":
        return bool(value == 3.5)
    return False


A, B, C = frame("/p/a.py", 1, "main"), frame("/p/b.py", 22, "inner"), frame("/p/c.py", 3, "host")
FX = frame(
    "/tmp/fx.py", 9, "forward", fx_node_op="call", fx_node_name="mm", fx_node_target="aten.mm",
    fx_original_trace="", fx_node_info="",
)  # fmt: skip


def whole() -> Data:
    """A snapshot with every kind of record and every field."""
    more: dict[str, Any] = {
        "compile_context": "0/0",
        "user_metadata": "warm",
        "pool_id": [0, 1],
        "category": "input",
    }

    def entry(action: str, addr: int, size: int, time: int, *frames: Any) -> Any:
        return event(action, addr, size, *frames, time_us=time, forward_frames=[], **more)

    def block(addr: int, size: int, state: str, requested: int, *frames: Any) -> Any:
        return {"address": addr, "size": size, "requested_size": requested, "state": state, "frames": list(frames),
                "forward_frames": [], "history": []}  # fmt: skip

    def segment(device: int, address: int, *blocks: Any) -> Any:
        sizes = [each["size"] for each in blocks]
        return {"device": device, "address": address, "total_size": sum(sizes), "allocated_size": 7, "active_size": 8,
                "requested_size": 6, "stream": 0, "segment_type": "small", "segment_pool_id": [0, 0],
                "is_expandable": False, "frames": [A], "blocks": list(blocks)}  # fmt: skip

    first = [
        entry("segment_alloc", 4096, 4096, 1001, A),
        entry("alloc", 4096, 500, 1002, B, A),
        entry("alloc", 4608, 1000, 1003, FX, A),
        entry("free_requested", 4096, 500, 1004, A),
        entry("free_completed", 4096, 500, 1005, A),
        entry("alloc", 4096, 512, 1006, A),
        {"action": "oom", "size": 1 << 33, "stream": 0, "device_free": 77, "time_us": 1007, "frames": [A]},
        entry("free_completed", 8704, 300, 1008, B),
        entry("snapshot", 0, 0, 1009),
    ]
    return {
        "segments": [
            segment(0, 4096, block(4096, 512, "active_allocated", 512, A),
                    block(4608, 1024, "active_allocated", 1000, FX, A), block(5632, 2560, "inactive", 0)),
            segment(0, 8192, block(8192, 512, "active_allocated", 480, B), block(8704, 512, "inactive", 0),
                    block(9216, 1024, "active_pending_free", 1024, A)),
            segment(1, 1 << 20, block(1 << 20, 2048, "active_allocated", 2000, B, A)),
        ],
        "device_traces": [first, [entry("alloc", 1 << 20, 2000, 1001, B, A), entry("annotate", 1 << 20, 2000, 1002)]],
        "allocator_settings": {"expandable_segments": False, "max_split_size": 3},
        "external_annotations": [
            {"stage": "START", "name": "step", "device": 0, "time_us": 1001},
            {"stage": "END", "name": "step", "device": 0, "time_us": 1006},
        ],
        "host_segments": [segment(0, 64, block(64, 64, "active_allocated", 60, C))],
        "host_traces": [entry("alloc", 64, 60, 1001, C)],
    }  # fmt: skip


def put(record: Any, field: Any, value: Any) -> None:
    if value is GONE:
        del record[field]
    else:
        record[field] = value


def nothing(_: Data) -> None:
    """The value follows from other records, or doesn't affect anything that the oracle reads."""


PLACES: dict[str, tuple[Callable[[Data], Any], Mapping[Any, Callable[[Data], Any]]]] = {
    # name of a record: where it is, and how a person would read the file if a field of it is unknown
    "alloc that is freed": (lambda d: d["device_traces"][0][1], {
        "action": lambda d: d["device_traces"][0][1].update(action="unknown"),
        "addr": lambda d: d["device_traces"][0].pop(1), "size": nothing, "stream": nothing, "time_us": nothing,
        "frames": lambda d: d["device_traces"][0][1].update(frames=[]), "forward_frames": nothing, "pool_id": nothing,
        "category": nothing, "compile_context": nothing, "user_metadata": nothing,
    }),
    "alloc that stays": (lambda d: d["device_traces"][0][2], {
        "addr": lambda d: d["device_traces"][0].pop(2), "size": nothing,
    }),
    "free_requested": (lambda d: d["device_traces"][0][3], {
        "addr": lambda d: d["device_traces"][0].pop(3), "size": nothing,
        "action": lambda d: d["device_traces"][0][3].update(action="unknown"),
    }),
    "free_completed": (lambda d: d["device_traces"][0][4], {
        "addr": lambda d: d["device_traces"][0].pop(4), "size": nothing,
    }),
    "free of what was there before": (lambda d: d["device_traces"][0][7], {
        "addr": lambda d: d["device_traces"][0].pop(7), "size": lambda d: d["device_traces"][0].pop(7),
    }),
    "segment_alloc": (lambda d: d["device_traces"][0][0], {
        "addr": lambda d: d["device_traces"][0].pop(0), "size": lambda d: d["device_traces"][0].pop(0),
    }),
    "oom": (lambda d: d["device_traces"][0][6], {
        "size": nothing, "stream": nothing, "device_free": nothing, "time_us": nothing, "frames": nothing,
    }),
    "annotate": (lambda d: d["device_traces"][1][1], {"addr": nothing, "size": nothing}),
    "host alloc": (lambda d: d["host_traces"][0], {"addr": lambda d: d["host_traces"].pop(), "size": nothing}),
    "frame": (lambda d: d["segments"][2]["blocks"][0]["frames"][0], {
        "filename": lambda d: d["segments"][2]["blocks"][0]["frames"][0].update(filename="", line=0),
        "line": lambda d: d["segments"][2]["blocks"][0]["frames"][0].update(line=0),
        "name": lambda d: d["segments"][2]["blocks"][0]["frames"][0].update(name=""),
    }),
    "frame of generated code": (lambda d: d["device_traces"][0][2]["frames"][0], {
        "fx_node_op": nothing, "fx_node_name": nothing, "fx_node_target": nothing, "fx_original_trace": nothing,
        "fx_node_info": nothing,
    }),
    "block": (lambda d: d["segments"][1]["blocks"][0], {
        "address": nothing, "size": nothing, "forward_frames": nothing, "history": nothing,
        "requested_size": lambda d: d["segments"][1]["blocks"][0].update(requested_size=512),
        "state": lambda d: d["segments"][1]["blocks"][0].update(state=""),
        "frames": lambda d: d["segments"][1]["blocks"][0].update(frames=[]),
    }),
    "last block": (lambda d: d["segments"][1]["blocks"][2], {"address": nothing, "size": nothing}),
    "segment": (lambda d: d["segments"][1], {
        "device": lambda d: d["segments"].pop(1), "address": nothing, "total_size": nothing,
        "allocated_size": nothing, "active_size": nothing, "requested_size": nothing, "stream": nothing,
        "segment_type": nothing, "segment_pool_id": nothing, "is_expandable": nothing, "frames": nothing,
        "blocks": lambda d: d["segments"][1].update(blocks=[]),
    }),
    "host segment": (lambda d: d["host_segments"][0], {"device": nothing, "address": nothing, "total_size": nothing}),
    "annotation": (lambda d: d["external_annotations"][0], {
        "stage": lambda d: d["external_annotations"].pop(0), "name": lambda d: d["external_annotations"].pop(0),
        "device": lambda d: d["external_annotations"][0].update(device=-1),
        "time_us": lambda d: d["external_annotations"].pop(0),
    }),
    # whole records, and their containers
    "events": (lambda d: d["device_traces"][0], {
        1: lambda d: d["device_traces"][0].pop(1), 8: lambda d: d["device_traces"][0].pop(8),
    }),
    "traces": (lambda d: d["device_traces"], {0: lambda d: d["device_traces"].__setitem__(0, [])}),
    "segments": (lambda d: d["segments"], {1: lambda d: d["segments"].pop(1)}),
    "blocks": (lambda d: d["segments"][0]["blocks"], {0: lambda d: d["segments"][0]["blocks"].pop(0)}),
    "frames": (lambda d: d["segments"][2]["blocks"][0]["frames"], {
        0: lambda d: d["segments"][2]["blocks"][0]["frames"].pop(0),
    }),
    "annotations": (lambda d: d["external_annotations"], {1: lambda d: d["external_annotations"].pop(1)}),
    "top level": (lambda d: d, {
        "segments": lambda d: d.update(segments=[]), "device_traces": lambda d: d.update(device_traces=[]),
        "allocator_settings": lambda d: d.update(allocator_settings={}),
        "external_annotations": lambda d: d.update(external_annotations=[]),
        "host_segments": lambda d: d.update(host_segments=[]), "host_traces": lambda d: d.update(host_traces=[]),
    }),
    "settings": (lambda d: d["allocator_settings"], {"max_split_size": nothing}),
}  # fmt: skip
FIELDS = [(record, field) for record, (_, means) in PLACES.items() for field in means]


def read(tmp_path: Path, data: Data, container: str) -> Timeline:
    path = tmp_path / f"s.{container}"
    path.write_bytes(pickle.dumps(data) if container == "pickle" else json.dumps(data).encode())
    with open_source(path, tmp_path, lambda *_: None) as source:
        return torch.read(source, tmp_path, lambda *_: None)


Alloc = tuple[int, int, int, int | None, tuple[tuple[str, int, str], ...]]


def allocations_read(timeline: Timeline) -> dict[int, list[Alloc]]:
    """What each device allocated, according to the reader."""
    frames = timeline.frames

    def stack(number: int) -> tuple[tuple[str, int, str], ...]:
        own = frames.sequence[int(frames.starts[number]) : int(frames.starts[number + 1])].tolist()
        return tuple((frames.frames[f].file, frames.frames[f].line, frames.frames[f].function) for f in own)

    return {
        device.device: [
            (address, size, start, None if end == NEVER else end, stack(number))
            for address, size, start, end, number in zip(
                *(device.allocations[name].tolist() for name in ("address", "size", "start", "end", "stack")),
                strict=True,
            )
        ]
        for device in timeline.devices
        if len(device.allocations)
    }


def allocations_meant(data: Data) -> dict[int, list[Alloc]]:
    """What each device allocated, according to the oracle."""
    host = {"segments": data["host_segments"], "device_traces": [data["host_traces"]]}
    found = {
        HOST_DEVICE if of is host else device: oracle.allocations(of, device)
        for of in (data, host)
        for device in (range(2) if of is data else range(1))
    }
    return {
        device: [(a.addr, a.size, a.start, a.end, a.frames) for a in allocations]
        for device, allocations in found.items()
        if allocations
    }


def others_read(timeline: Timeline) -> dict[str, Any]:
    """Segments, blocks, annotations and other data that the oracle doesn't read."""
    tables, texts = timeline.tables, timeline.strings

    def rows(table: str, *names: str) -> list[tuple[Any, ...]]:
        return list(zip(*(tables[table][name].tolist() for name in names), strict=True))

    return {
        "segments": sorted(rows("segments", "device", "address", "total")),
        "blocks": sorted(rows("blocks", "address", "size", "requested")),
        "annotations": [
            (device, texts[stage], texts[name], time_us)
            for device, stage, name, time_us in rows("annotations", "device", "stage", "name", "time_us")
        ],
        "ooms": sum(int(np.count_nonzero(device.events.action == 7)) for device in timeline.devices),
        "reserved": [device.reserved_at_end for device in timeline.devices if len(device.allocations)],
    }  # fmt: skip


def others_meant(data: Data) -> dict[str, Any]:
    segments = [(each, each["device"]) for each in data["segments"]]
    segments += [(each, HOST_DEVICE) for each in data["host_segments"]]
    devices = allocations_meant(data)
    return {
        "segments": sorted((device, each["address"], each["total_size"]) for each, device in segments),
        "blocks": sorted(
            (block["address"], block["size"], block["requested_size"])
            for each, _ in segments
            for block in each["blocks"]
        ),
        "annotations": [
            (each["device"], each["stage"], each["name"], each["time_us"])
            for each in data["external_annotations"]
        ],
        "ooms": sum(each["action"] == "oom" for trace in data["device_traces"] for each in trace),
        # the events have categories, as only in a profiler's trace: without segments nothing is known about them
        "reserved": [
            sum(sizes)
            if (sizes := [each["total_size"] for each, device in segments if device == number])
            else None
            for number in sorted(devices)
        ],
    }


WHOLE = pickle.dumps(whole())
"""Copied this way, which takes a tenth of the time of a deep copy."""


@pytest.mark.slow
@pytest.mark.parametrize("container", ["pickle", "json"])
@pytest.mark.parametrize(("record", "field"), FIELDS)
def test_an_odd_value_does_not_affect_other_records(
    record: str, field: Any, container: str, tmp_path: Path
) -> None:
    """Or, in JSON, a third of the values, other ones of each field: what is read is then the same as of a pickle."""
    at, means = PLACES[record]
    every = 3 if container == "json" else 1
    for number, (name, odd) in enumerate(ODD.items(), FIELDS.index((record, field))):
        if number % every >= tries(every):
            continue
        if fits(str(field), odd) or (record == "settings" and odd is GONE):
            continue
        if isinstance(field, int) and (odd is GONE or (record == "traces" and odd == [])):
            continue
        if record == "top level" and (odd in ([], {}) or (field == "allocator_settings" and name == "pairs")):
            continue
        data, meant = pickle.loads(WHOLE), pickle.loads(WHOLE)
        put(at(data), field, copy.deepcopy(odd))
        means[field](meant)
        if odd is GONE and (record, field) == ("segment", "device"):
            # files that don't name devices have a single one
            meant = whole()
        if odd is GONE and (record, field) == ("annotation", "device"):
            meant = whole()
        timeline = read(tmp_path, data, container)
        assert allocations_read(timeline) == allocations_meant(meant), name
        assert others_read(timeline) == others_meant(meant), name
        messages = [warning.message for warning in timeline.warnings if warning.code == "odd-values"]
        if odd is not GONE and odd is not None and field not in ("fx_node_info", "max_split_size"):
            quiet = record == "annotate" and field in ("addr", "size")
            word = field if isinstance(field, str) else "left out" if record != "traces" else "device_traces"
            if not quiet:
                assert any(word in message for message in messages), (name, messages)


HISTORY: list[tuple[str, Any]] = [
    ("real_size", lambda b: b["history"][0].update(real_size=512)),
    ("addr", lambda b: b["history"][0].update(addr=4608)),
    ("frames", lambda b: b["history"][0].update(frames=[])),
]


@pytest.mark.parametrize(("field", "means"), HISTORY, ids=[field for field, _ in HISTORY])
def test_odd_values_in_the_blocks_of_torch_2_0(
    field: str, means: Callable[[Any], None], tmp_path: Path
) -> None:
    def old() -> Data:
        entry = {"addr": 4608, "real_size": 480, "frames": [B]}
        blocks = [
            {"size": 512, "state": "inactive"},
            {"size": 512, "state": "active_allocated", "history": [entry]},
        ]
        return [{"device": 0, "address": 4096, "total_size": 1024, "allocated_size": 512, "stream": 0,
                 "segment_type": "small", "blocks": blocks}]  # fmt: skip

    for name, odd in ODD.items():
        if fits(field, odd) or (field == "real_size" and odd is GONE):
            continue
        data, meant = old(), old()
        put(data[0]["blocks"][1]["history"][0], field, odd)
        means(meant[0]["blocks"][1])
        found = allocations_read(read(tmp_path, data, "pickle"))
        assert found == {
            0: [(a.addr, a.size, a.start, a.end, a.frames) for a in oracle.allocations(meant, 0)]
        }, name


EMPTY: list[Data] = [
    [], {"segments": [], "device_traces": [[]]}, {"segments": [], "device_traces": [[], [], []]},
    {"segments": [], "device_traces": []}, {"device_traces": [[]], "allocator_settings": {}},
    {"segments": None, "device_traces": [None]},
]  # fmt: skip


@pytest.mark.parametrize("container", ["pickle", "json"])
@pytest.mark.parametrize("data", EMPTY, ids=str)
def test_a_process_that_allocated_nothing(
    data: Data, container: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"s.{container}"
    path.write_bytes(pickle.dumps(data) if container == "pickle" else json.dumps(data).encode())
    where = ["--cache-dir", str(tmp_path / "cache")]
    for command in ("info", "lines", "oom", "steps", "flame"):
        assert cli.main([command, str(path), *where]) == 0, command
    assert "_record_memory_history() before" in capsys.readouterr().out
    assert cli.main(["info", "--json", str(path), *where]) == 0
    reported = json.loads(capsys.readouterr().out)
    (device,) = reported["devices"]
    assert (device["events"], device["allocations"], device["time_axis"]) == (0, 0, None)
    assert [warning["code"] for warning in reported["warnings"] if warning["code"] != "odd-values"] == [
        "empty"
    ]


def test_a_single_time_is_not_a_range(tmp_path: Path, cache: Cache) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [[event("alloc", 1, 8, A, time_us=1700)]]}))
    snapshot = Snapshot.open(ingest(path, cache, lambda *_: None))
    try:
        (info,) = snapshot.timeline.devices
        assert (info.time_axis, info.time_origin_us, info.peak_time_us) == (None, 1700, 0)
        assert "no-times" not in {warning.code for warning in snapshot.info.warnings}
    finally:
        snapshot.close()


@pytest.mark.parametrize("far", [10**18, 7, -(10**17), 1_690_000_000_000_000 - 370 * 86_400_000_000])
@pytest.mark.parametrize("places", [[0], [4], [0, 1, 5], [9]])
def test_a_time_years_from_all_others_is_unknown(
    tmp_path: Path, cache: Cache, far: int, places: list[int]
) -> None:
    """Such an event happened when the one before it did, and the axis is that of the others."""
    times = [1_690_000_000_000_000 + 3 * number**2 for number in range(10)]
    known = [time for number, time in enumerate(times) if number not in places]
    trace = [
        event("alloc", 1 + number, 8, A, time_us=far if number in places else time)
        for number, time in enumerate(times)
    ]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [trace]}))
    snapshot = Snapshot.open(ingest(path, cache, lambda *_: None))
    try:
        (info,) = snapshot.timeline.devices
        wanted, latest = [], known[0]
        for number, time in enumerate(times):
            latest = latest if number in places else time
            wanted.append(latest - known[0])
        shown = snapshot.device(0).time
        assert shown is not None
        assert shown.tolist() == wanted
        assert info.time_origin_us == known[0]
        assert info.time_axis is not None
        assert info.time_axis.x1 < 2 * wanted[-1] + 2
        (warning,) = [warning.message for warning in snapshot.info.warnings if warning.code == "odd-values"]
        have = "event has" if len(places) == 1 else "events have"
        assert (
            warning == f"{len(places)} {have} no usable time_us: shown at the time of the event before them."
        )
    finally:
        snapshot.close()


def test_times_far_apart_in_a_long_run_are_kept(tmp_path: Path, cache: Cache) -> None:
    """Hundreds of days aren't an odd value."""
    times = [5, 100 * 86_400_000_000, 300 * 86_400_000_000]
    path = tmp_path / "s.pickle"
    trace = [event("alloc", 1 + number, 8, A, time_us=time) for number, time in enumerate(times)]
    path.write_bytes(pickle.dumps({"device_traces": [trace]}))
    snapshot = Snapshot.open(ingest(path, cache, lambda *_: None))
    try:
        shown = snapshot.device(0).time
        assert shown is not None
        assert shown.tolist() == [time - 5 for time in times]
        assert not any(warning.code == "odd-values" for warning in snapshot.info.warnings)
    finally:
        snapshot.close()


def test_unsigned_minus_one_is_not_a_line(tmp_path: Path) -> None:
    """What PyTorch writes for a frame that ``torch.compile`` made on Python 3.13."""
    data = {"segments": [], "device_traces": [[event("alloc", 1, 8, frame("/p/a.py", 2**64 - 1, "f"), A)]]}
    timeline = read(tmp_path, data, "pickle")
    assert [(f.file, f.line, f.function) for f in timeline.frames.frames] == [
        ("/p/a.py", 0, "f"),
        ("/p/a.py", 1, "main"),
    ]
    assert "1 frame has no usable line: shown without a line." in [
        warning.message for warning in timeline.warnings
    ]


def test_python_without_a_line_is_not_called_native(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = {"filename": "??", "line": 0, "name": "at::native::zeros(int)"}
    inner = {"filename": "/p/a.py", "line": 2**64 - 1, "name": "inner"}
    trace = [event("alloc", 4096, 40, inner), event("alloc", 8192, 20, kernel)]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    assert cli.main(["findings", str(path), "--cache-dir", str(tmp_path / "cache")]) == 0
    words = capsys.readouterr().out
    assert "Held by inner (line unknown) 40 B (67%); " in words
    assert "inner (C++ only)" not in words
    assert "1 of 2 allocations has Python frames, but none with a known line." in words
    assert "1 of 2 allocations has only C++ frames: " in words


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ODD if name != "absent"])
def test_a_file_full_of_odd_values_is_shown(name: str, tmp_path: Path) -> None:
    """All fields of one record of each kind at once, through the archive and every command."""
    data = whole()
    for record, (at, means) in PLACES.items():
        if record not in (
            "events",
            "traces",
            "segments",
            "blocks",
            "frames",
            "annotations",
            "top level",
            "oom",
        ):
            for field in means:
                put(at(data), field, copy.deepcopy(ODD[name]))
    put(data["device_traces"][0][6], "size", ODD[name])
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(data))
    where = ["--cache-dir", str(tmp_path / "cache")]
    for command in (["info"], ["info", "--json"], ["lines"], ["oom"], ["steps"], ["stack"], ["flame"]):
        assert (
            cli.main([command[0], str(path), *(["0"] if command == ["stack"] else []), *command[1:], *where])
            == 0
        ), command
    for table in ("devices", "events", "allocations", "segments", "blocks", "annotations", "notes"):
        assert cli.main(["sql", str(path), f"SELECT * FROM {table}", *where]) == 0, table
    snapshot = Snapshot.open(ingest(path, Cache(tmp_path / "cache"), lambda *_: None))
    try:
        assert snapshot.device(1).size.tolist() == [2000]
    finally:
        snapshot.close()


def of_a_profiler() -> dict[str, Any]:
    """What torch.cuda._memory_viz makes of a profiler's record: no times, and one segment without figures."""
    made = {"action": "alloc", "addr": 0x10_0000, "size": 4096, "stream": 0, "category": "input"}
    live = {"size": 4096, "state": "active_allocated", "requested_size": 4096, "frames": []}
    blocks = [live, {"size": 128, "state": "inactive"}]
    segment = {"device": 0, "address": 0x10_0000, "total_size": 4224, "stream": 0, "blocks": blocks}
    return {"device_traces": [[made]], "segments": [segment]}


@pytest.mark.parametrize(
    "real", [None, *real_files("cpu_profile_*.pickle")], ids=lambda path: path.stem if path else "made"
)
def test_values_that_a_profiler_does_not_record_are_unknown(
    real: Path | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = real or tmp_path / "made.pickle"
    if real is None:
        path.write_bytes(pickle.dumps(of_a_profiler()))
    where = ["--cache-dir", str(tmp_path / "cache")]
    assert cli.main(["info", "--json", str(path), *where]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert [device["reserved_at_end_bytes"] for device in reported["devices"]] == [None]
    messages = " ".join(warning["message"] for warning in reported["warnings"])
    assert "before 2.2" not in messages
    assert "profiler's record" in messages
    for query in (
        "SELECT reserved_at_end_bytes, peak_time_us, time_origin_us FROM devices",
        "SELECT DISTINCT total_bytes, allocated_bytes, active_bytes, requested_bytes FROM segments",
    ):
        assert cli.main(["sql", "--json", str(path), query, *where]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert set(row.values() if isinstance(row, dict) else row) == {None}


@pytest.mark.parametrize("path", [*TORCH, *real_programs("*.pickle")], ids=lambda path: path.stem[:40])
def test_lines_of_the_interpreter_are_never_shown_first(path: Path, cache: Cache) -> None:
    snapshot = Snapshot.open(ingest(path, cache, lambda *_: None))
    try:
        files = [row.file for row in top_lines(snapshot)]
        kinds = {file: kind for file, _, _, kind, _ in source_lines(snapshot)}
    finally:
        snapshot.close()
    python = [file for file in files if not file.lower().endswith((".c", ".cc", ".cpp", ".h", ".s", ".cu"))]
    assert files[: len(python)] == python
    assert [kinds[file] for file in files] == sorted(kinds[file] for file in files)
