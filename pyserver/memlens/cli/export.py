"""``memlens export``: a device's trace, or the stacks of some of its allocations, for another tool."""

import argparse
import os
from pathlib import Path

import numpy as np

from memlens.cli.ask import ask
from memlens.cli.progress import reporter
from memlens.errors import BadRequestError
from memlens.export.pprof import pprof
from memlens.export.samples import Samples, ValueName, samples_of
from memlens.export.snapviewer import snapviewer
from memlens.export.speedscope import speedscope
from memlens.model.info import ProfileInfo
from memlens.store.snapshot import Snapshot
from memlens.views.calltree import Stacks
from memlens.views.flame import set_stacks
from memlens.views.frame_names import frame_names
from memlens.views.sets import AllocationSet

_WHAT = {"peak": "live at the peak", "end": "live at the end", "all": "allocated in all"}


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    target = options.snapviewer or options.speedscope or options.pprof
    if not target.parent.is_dir():
        raise BadRequestError(f"There is no folder {target.parent} to write {target.name} into")
    if options.snapviewer is not None:
        if options.at != "peak" or options.filter:
            raise BadRequestError(
                "SnapViewer's archives hold the whole trace: --at and --filter are for stacks"
            )
        report = reporter("auto")
        ask(options, lambda snapshot: snapviewer(snapshot, options.device, options.snapviewer, report))
        report("done", 1.0)
        print(options.snapviewer)
        return 0
    samples, is_profile = ask(
        options, lambda found: (_samples(found, options), found.info.profile is not None)
    )
    title = options.file.name if is_profile else f"{options.file.name}, {_WHAT[options.at]}"
    if options.speedscope is not None:
        _write(options.speedscope, speedscope(samples, title))
    else:
        _write(options.pprof, pprof(samples, title))
    return 0


def _samples(snapshot: Snapshot, options: argparse.Namespace) -> Samples:
    if snapshot.info.profile is not None:
        if options.at != "peak":
            raise BadRequestError("A profile is written as it is: --at is for traces")
        return _of_profile(snapshot, snapshot.info.profile, options.filter)
    number = snapshot.info.default_device if options.device is None else options.device
    events = next((info.events for info in snapshot.info.devices if info.device == number), 0)
    of = {
        "peak": AllocationSet(number, filter=options.filter),
        "end": AllocationSet(number, from_moment=events, filter=options.filter),
        "all": AllocationSet(number, "live", 0, events, options.filter),
    }[options.at]
    # the names that Go's heap profiles have, which pprof's users know
    kind = "alloc" if options.at == "all" else "inuse"
    types = (ValueName(f"{kind}_space", "bytes"), ValueName(f"{kind}_objects", "count"))
    return samples_of(set_stacks(snapshot, of), frame_names(snapshot), types)


def _of_profile(snapshot: Snapshot, profile: ProfileInfo, filter_text: str) -> Samples:
    """All values of a profile at once, each of a stack's samples together."""
    every = [
        set_stacks(snapshot, AllocationSet(0, filter=filter_text, value=number))
        for number in range(len(profile.values))
    ]
    nodes = np.unique(np.concatenate([each.nodes for each in every]))
    values = np.zeros((len(every), len(nodes)), np.int64)
    for row, each in zip(values, every, strict=True):
        np.add.at(row, np.searchsorted(nodes, each.nodes), each.values[0])
    stacks = Stacks(every[0].parents, every[0].frames, nodes, values, nodes)
    types = [ValueName(value.name, value.unit) for value in profile.values]
    return samples_of(stacks, frame_names(snapshot), types, profile.default_value)


def _write(target: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(data)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    print(target)
