"""Small traces and profiles of each format, with every given name in each of their fields."""

import json
import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from tracemalloc import Snapshot
from typing import Any

from tests.python.hostile_names import LONG, Planted, fit

from memlens.packs.go.tests.pprof_files import Builder
from memlens.packs.python.tests.memray_files import MALLOC, Records, header
from memlens.packs.pytorch.tests.test_snapviewer import polygon, write_zip


def torch(names: Sequence[str]) -> Planted:
    """Frames, modules, categories, users' notes, annotations, settings, and an allocation that failed."""
    names = fit(names, surrogates=True)
    base = 1 << 30
    # all blocks are in one segment, so that the trace can be replayed
    trace: list[dict[str, Any]] = [
        {"action": "segment_alloc", "addr": base, "size": 2 << 20, "stream": 0, "frames": [], "time_us": 900}
    ]
    notes, settings = [], {}
    for number, name in enumerate(names):
        start = 1_000 + 10 * number
        node = {"op": name, "nn_module_stack": {name: (f"L['self'].{name}", f"app.{name}")}}
        frames = [
            {"filename": f"/src/{name}.py", "line": 7, "name": name, "fx_node_info": node},
            {"filename": name, "line": 3, "name": "main"},
        ]
        native = [{"filename": "??", "line": 0, "name": f"at::_ops::{name}::call({name})"}]
        event = {
            "action": "alloc",
            "addr": base + 4096 * number,
            "size": 512 + number,
            "stream": 0,
            "frames": frames,
        }
        more = {
            "time_us": start,
            "category": name,
            "user_metadata": name,
            "compile_context": name,
            name: name,
        }
        trace.append(event | more)
        trace.append(event | {"addr": base + 4096 * number + 2048, "frames": native, "time_us": start + 1})
        notes += [
            {"stage": stage, "name": name, "device": 0, "time_us": start + after}
            for stage, after in (("START", 0), ("END", 8))
        ]
        settings[name] = name
    oom = {
        "action": "oom",
        "device_free": 5,
        "size": 1 << 40,
        "stream": 0,
        "time_us": 99_000,
        "frames": trace[1]["frames"],
    }
    snapshot = {
        "segments": [], "device_traces": [[*trace, oom]], "allocator_settings": settings, "external_annotations": notes,
    }  # fmt: skip
    return Planted(pickle.dumps(snapshot, 4), names)


def snapviewer(names: Sequence[str]) -> Planted:
    """Frames."""
    names = fit(names, "\n\r\0\u2028\x85")
    rows = [
        (number, 512, number, number + 1, f"(0) /src/{name}.py:7:{name}\n(1) {name}:3:main")
        for number, name in enumerate(names)
    ]
    with tempfile.TemporaryDirectory() as folder:
        polygons = [polygon(512, number, number + 1) for number in range(len(names))]
        return Planted(write_zip(Path(folder) / "a.zip", polygons, rows).read_bytes(), names)


def tracemalloc(names: Sequence[str]) -> Planted:
    """Files; there are no other names."""
    names = fit(names, surrogates=True)
    traces = [(0, 512, ((f"/src/{name}.py", 3), (name, 4)), 2) for name in names]
    return Planted(pickle.dumps(Snapshot(traces, 2), 4), names)


def pprof(names: Sequence[str]) -> Planted:
    """Values with units, functions, files, binaries, build ids, labels, comments."""
    names = fit(names)
    built = Builder(("inuse_space", "bytes"), *((name, name) for name in names[:40]), ("last", "bytes"))
    width = len(built.message["sample_type"])
    built.message["mapping"] = [
        {"id": number, "filename": built.text(f"/bin/{name}"), "build_id": built.text(name)}
        for number, name in enumerate(names, 1)
    ]
    for number, name in enumerate(names, 1):
        bare = built.location(address=0x10 * number, mapping=number)
        named = built.location((name, f"/src/{name}.go", 3), (name, name, 4))
        built.sample([bare, named], *range(number, number + width), **{name: name, "thread": name})
    built.message["comment"] = [built.text(name) for name in names]
    built.message["period_type"] = [{"type": built.text(names[0]), "unit": built.text(names[1])}]
    built.message["doc_url"] = built.text(names[-1])
    return Planted(built.bytes(), names)


def dhat(names: Sequence[str]) -> Planted:
    """The verb, the command, frames."""
    names = fit(names, surrogates=True)
    figures = dict.fromkeys(("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"), 8)
    frames, points = ["[root]"], []
    for name in names:
        frames += [f"0x10: {name} ({name}.c:3)", f"0x20: {name} (in /bin/{name})"]
        points.append({**figures, "fs": [len(frames) - 2, len(frames) - 1]})
    every = "".join(name for name in names if name != LONG)
    head = {"dhatFileVersion": 2, "mode": every, "verb": every, "bklt": True, "bkacc": False, "cmd": every}
    units = {"bu": names[0], "bsu": names[1], "bksu": names[2], "tu": every, "Mtu": every, "tuth": 500}
    return Planted(
        json.dumps({**head, **units, "pid": 1, "te": 2, "tg": 1, "pps": points, "ftbl": frames}).encode(),
        names,
    )


def massif(names: Sequence[str]) -> Planted:
    """The command, the options, frames."""
    names = fit(names, "\n\r")
    every = "".join(names)
    frames = "".join(f" n0: 100 0xA: {name} ({name}.cpp:1)\n" for name in names)
    head = (
        f"desc: {every[:1000]}\ncmd: {every}\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=5\n"
        f"mem_heap_B={100 * len(names)}\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\n"
        f"n{len(names)}: {100 * len(names)} (heap allocation functions) x, etc.\n"
    )
    return Planted((head + frames).encode(), names)


def heaptrack(names: Sequence[str]) -> Planted:
    """The command, binaries, functions, files."""
    names = fit(names, "\n")
    strings, places, traces, allocations = "", "", "", ""
    for number, name in enumerate(names):
        for each in (f"/bin/{name}", name, f"/src/{name}.cpp"):
            strings += f"s {len(each.encode()):x} {each}\n"
        one = 3 * number
        places += f"i {100 + number:x} {one + 1:x} {one + 2:x} {one + 3:x} a\n"
        traces += f"t {number + 1:x} 0\n"
        allocations += f"a 10 {number + 1:x}\n+ {number:x}\n"
    return Planted(
        f"v 10500 3\nX {''.join(names)}\nI 1000 100000\n{strings}{places}{traces}{allocations}c a\n".encode(),
        names,
    )


def heap_text(names: Sequence[str]) -> Planted:
    """Functions, files and binaries."""
    names = fit(names, "\n\r\t")
    stacks = "".join(
        f"1: 512 [1: 512] @ {hex(4096 + number)}\n#\t{hex(4096 + number)}\t{name}+0x5\t/src/{name}.go:7\n\n"
        for number, name in enumerate(names)
    )
    count = len(names)
    return Planted(
        f"heap profile: {count}: {512 * count} [{count}: {512 * count}] @ heap/1048576\n{stacks}".encode(),
        names,
    )


def java_heap(names: Sequence[str]) -> Planted:
    """Methods and files."""
    names = [name for name in fit(name.strip() for name in names if name.isprintable()) if name]
    stacks = "".join(f"      512     1 @ {0x100 + number:#010x}\n" for number in range(len(names)))
    symbols = "".join(
        f" {0x100 + number:#010x} {name} ({name}.java:34)\n" for number, name in enumerate(names)
    )
    return Planted(
        f"--- heapz 1 ---\nformat = java\nresolution = bytes\n{stacks}\n\n{symbols}".encode(), names
    )


def memray(names: Sequence[str]) -> Planted:
    """Functions, files, threads and the command."""
    names = fit(names, "\0", surrogates=True)
    records = Records()
    for number, name in enumerate(names):
        text = name.encode("utf-8", "surrogatepass")
        records.thread(number + 1)
        records.name(text)
        records.code(number, text, b"/src/" + text + b".py", 3)
        records.push(number)
        records.allocate(MALLOC, 8 + 8 * number, 100_000)
    command = " ".join(names).encode("utf-8", "surrogatepass")
    return Planted(header(command=command, main=0) + records.end(), names)


def v8_sampling(names: Sequence[str]) -> Planted:
    """Functions and URLs."""
    names = fit(names, surrogates=True)

    def call(number: int, function: str, url: str, *below: Any) -> dict[str, Any]:
        place = {
            "functionName": function,
            "scriptId": str(number),
            "url": url,
            "lineNumber": 3,
            "columnNumber": 1,
        }
        return {"callFrame": place, "selfSize": 100, "id": number, "children": list(below)}

    calls = [
        call(2 * number, name, f"file:///src/{name}.js", call(2 * number + 1, f"{name} inner", name))
        for number, name in enumerate(names, 1)
    ]
    return Planted(json.dumps({"head": call(1, "(root)", "", *calls), "samples": []}).encode(), names)
