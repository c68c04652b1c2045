"""Records a run's memory into a snapshot file: torch.cuda's own recorder on a GPU, the profiler elsewhere."""

import os
import pickle
import re
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile
from torch.profiler._memory_profiler import Action, TensorKey

#: Where packages and Python's own modules lie, and how a snapshot names these places.
INSTALLED = {
    "site-packages/": sysconfig.get_path("purelib"),
    f"lib/python{sysconfig.get_python_version()}/": sysconfig.get_path("stdlib"),
}


@contextmanager
def recording(device: str, file: Path) -> Iterator[None]:
    """Write what happens inside the with-statement to `file`."""
    record = record_cuda if device.startswith("cuda") else record_cpu
    with record() as snapshot:
        yield
    file.write_bytes(pickle.dumps(Portable().plain(snapshot), protocol=4))
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")


@contextmanager
def record_cuda() -> Iterator[dict[str, Any]]:
    """Record every event of the CUDA caching allocator with its Python stack."""
    snapshot: dict[str, Any] = {}
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    try:
        yield snapshot
        torch.cuda.synchronize()
        snapshot.update(torch.cuda.memory._snapshot())
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)


@contextmanager
def record_cpu() -> Iterator[dict[str, Any]]:
    """Record every tensor's memory by the profiler, which knows what it was for as well."""
    snapshot: dict[str, Any] = {}
    with profile(
        activities=[ProfilerActivity.CPU], profile_memory=True, with_stack=True, record_shapes=True
    ) as profiler:
        yield snapshot
    snapshot.update(from_profile(profiler))


def from_profile(profiler: profile) -> dict[str, Any]:
    """Turn a profile into what torch.cuda.memory._snapshot() returns.

    torch.cuda._memory_viz._profile_to_snapshot does the same, but leaves out the times and has each frame
    stand on its function's first line; here a frame stands on the line that it was executing.
    """
    memory = profiler._memory_profile()
    stacks = {
        key: stack_of(event)
        for event in memory._op_tree.sorted_nodes
        if event.tag == _EventType.Allocation and event.extra_fields.alloc_size > 0
        if (key := TensorKey.from_allocation(event.extra_fields)) is not None
    }
    trace: list[dict[str, Any]] = []
    live: dict[TensorKey, dict[str, Any]] = {}
    for time_ns, action, (key, version), size in memory.timeline:
        if not isinstance(key, TensorKey):
            continue
        time_us = max(0, time_ns // 1000)
        entry = {"addr": key.storage.ptr, "size": size, "stream": 0, "frames": stacks.get(key, [])}
        if action in (Action.CREATE, Action.PREEXISTING):
            live[key] = entry | {"action": "alloc", "time_us": time_us, "category": "unknown"}
            trace.append(live[key])
        elif action == Action.DESTROY:
            trace += [
                entry | {"action": f"free_{part}", "time_us": time_us} for part in ("requested", "completed")
            ]
        # What a tensor is for can become clear only when it is written to later.
        category = memory._categories.get(key, version)
        if category is not None and key in live:
            live[key]["category"] = category.name.lower()
        if action == Action.DESTROY:
            live.pop(key, None)
    return {"segments": [], "device_traces": [trace]}


def stack_of(event: Any) -> list[dict[str, Any]]:
    """The Python frames around a profiler's event, innermost first."""
    frames = []
    callee = None
    while (event := event.parent) is not None:
        if event.tag == _EventType.PyCall:
            place = event.extra_fields.callsite
            line = place.line_number  # of the `def`
            if callee is not None and callee.function_name == place.function_name:
                line = callee.line_number
            frames.append({"filename": located(place.file_name), "line": line, "name": place.function_name})
        if event.tag in (_EventType.PyCall, _EventType.PyCCall):
            callee = event.extra_fields.caller
    return frames


def located(file: str) -> str:
    """The profiler names an installed file from its package on; say again that it is an installed one."""
    if Path(file).is_file():
        return file
    return next((name + file for name, folder in INSTALLED.items() if Path(folder, file).is_file()), file)


class Portable:
    """Makes a snapshot independent of the machine: paths start here, or at site-packages.

    Equal values become one object, which pickle writes once.
    """

    def __init__(self) -> None:
        self.prefixes = {f"{Path(folder).absolute()}{os.sep}": name for name, folder in INSTALLED.items()}
        for place in (Path.cwd(), *map(Path, sys.path)):
            self.prefixes.setdefault(f"{place.absolute()}{os.sep}", "")
        self.seen: dict[Any, Any] = {}

    def plain(self, value: Any) -> Any:
        """The value with its texts made portable and its equal parts shared."""
        if isinstance(value, str):
            return self.once(value, lambda: self.text(value))
        if isinstance(value, (list, tuple)):
            items = [self.plain(item) for item in value]
            return self.once((type(value), *map(id, items)), lambda: type(value)(items))
        if isinstance(value, dict):
            entries = {self.plain(key): self.plain(item) for key, item in value.items()}
            return self.once((dict, *map(id, entries), *map(id, entries.values())), lambda: entries)
        return self.once((type(value), value), lambda: value)

    def once(self, key: Any, make: Any) -> Any:
        """The object made for this key before, or a new one."""
        if key not in self.seen:
            self.seen[key] = make()
        return self.seen[key]

    def text(self, text: str) -> str:
        """Take off where things lie on this machine, and the addresses that are put into names."""
        for prefix in sorted(self.prefixes, key=len, reverse=True):
            text = text.replace(prefix, self.prefixes[prefix])
        return re.sub(r" at 0x[0-9a-f]+", "", text)
