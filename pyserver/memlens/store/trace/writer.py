"""Writes a Timeline into an archive folder: columns of each device, of stacks and lines, and the file's tables."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32
from memlens.background import Background
from memlens.kernels.trace import timeline as kernel
from memlens.model.charging import passed_over, ranks
from memlens.model.expansion import deep_stacks
from memlens.model.frames import NATIVE, Frames, are_mixed
from memlens.model.inferred import Inference, Module
from memlens.model.info import HOST_DEVICE, AxisRange, DeviceInfo, TimelineInfo, device_name
from memlens.model.own_root import OwnFrames
from memlens.model.profile import StackTree
from memlens.model.timeline import NEVER, NOTE_KINDS, OOM, Column, DeviceTimeline, Timeline
from memlens.packs import registry
from memlens.progress import Report
from memlens.store.files.column_files import ColumnFiles
from memlens.store.manifest import FORMAT_VERSION, Manifest, SourceFile, write_manifest
from memlens.store.stacks.frames import write_frames
from memlens.store.stacks.lines import LineColumns, lines_of_frames
from memlens.store.stacks.strings import StringWriter
from memlens.store.stacks.tree import Stacks, Tree
from memlens.store.trace.columns import FX_NODE_DTYPE, ModuleColumns, TraceColumns
from memlens.store.trace.device import Device, scope_of, with_live
from memlens.store.trace.peaks import end_columns, live_columns

Renumbering = Callable[[Column], U32]
"""Converts the reader's numbers of strings to the archive's."""


def write_timeline(timeline: Timeline, source: SourceFile, folder: Path, report: Report) -> None:
    """Write ``timeline`` into the existing empty ``folder``. Its devices are released."""
    columns, strings = ColumnFiles(folder), StringWriter()
    number_of = strings.renumbered(timeline.strings)
    first_allocations = [0]
    devices = []
    totals = np.zeros((len(timeline.frames.starts) - 1, 6), np.int64)
    largest = np.full(len(totals), NEVER, np.uint32)
    labels = _labels(timeline.frames)
    inference = registry.inference_of(timeline.kind, Inference)(timeline)
    called = _called(timeline.frames, inference) if inference.has_early_modules else None
    count = len(timeline.devices)
    for number in range(count):
        # each is released when it is written, so that the rest doesn't raise the peak memory
        device = timeline.devices.pop(0)
        report("writing", number / (count + 1))
        rows, figures = device.allocations, _device_info(device)
        with Background(partial(_write_events, columns, device, number_of)):
            _write_allocations(columns, device)
            lines = inference.lines(device, labels)
            if lines is not None and bool((lines != NEVER).any()):
                columns.write(Device, {"inferred": lines}, scope_of(device.device))
            if called is not None:
                of_allocations = inference.early_modules(device, called.modules)
                if of_allocations.any():
                    columns.write(Device, {"inferred_module": of_allocations}, scope_of(device.device))
        device.drop_events()
        figures = _write_live(columns, figures, rows)
        kernel.stack_totals(
            rows["size"], rows["start"], rows["end"], rows["stack"], figures.peak_moment, figures.events, totals,
            largest, first_allocations[-1],
        )  # fmt: skip
        devices.append(figures)
        first_allocations.append(first_allocations[-1] + len(rows))
        del device, rows
    report("writing", count / (count + 1))
    # making the tree takes memory, too
    called = called or _called(timeline.frames, inference)
    rows = ((frame.file, frame.function, frame.kind) for frame in timeline.frames.frames)
    stack_tree = StackTree(called.parents, called.frames)
    own = OwnFrames(stack_tree, called.nodes, np.ones(len(called.nodes)), rows)
    write_frames(columns, timeline.frames, strings, own.doubtful())
    columns.write(Tree, {"parent": called.parents, "frame": called.frames})
    columns.write(Stacks, {"node": called.nodes, "label": labels})
    columns.write(
        TraceColumns,
        {
            "stack_module": called.modules, "stack_totals": totals, "stack_largest": largest,
            **_tables(timeline.tables, number_of), "fx_nodes": _fx_nodes(timeline.frames, strings),
        },
    )  # fmt: skip
    _write_lines(columns, timeline.frames, totals)
    _write_modules(columns, called.named, strings)
    strings.write(columns)
    info = TimelineInfo(
        kind=timeline.kind,
        path=source.path,
        file_bytes=source.size,
        devices=devices,
        default_device=max(
            devices, key=lambda device: (device.device != HOST_DEVICE, device.ooms > 0, device.peak_bytes)
        ).device,
        categories=inference.categories,
        mixed_stacks=are_mixed(timeline.frames.frames),
        warnings=[*timeline.warnings, *deep_stacks(called.parents, called.nodes)],
    )
    manifest = Manifest(
        FORMAT_VERSION, source, info, first_allocations, timeline.actions, timeline.streams, timeline.pools,
        timeline.settings, dict(sorted(columns.entries.items())), timeline.frees_repeat,
    )  # fmt: skip
    write_manifest(folder, manifest)


class _Called(NamedTuple):
    """The stacks as a prefix tree, and the modules in it."""

    parents: U32
    frames: U32
    """The frame of each node."""
    nodes: U32
    """The node of each stack."""
    modules: U32
    """The module of each stack, a number of ``named``."""
    named: list[Module]


def _called(frames: Frames, inference: Inference) -> _Called:
    nodes = np.empty(len(frames.starts) - 1, np.uint32)
    parents, of_nodes = map(np.asarray, kernel.build_tree(frames.starts, frames.sequence, nodes))
    return _Called(parents, of_nodes, nodes, *inference.modules(parents, of_nodes, nodes))


def _write_events(columns: ColumnFiles, device: DeviceTimeline, number_of: Renumbering) -> None:
    scope, events = scope_of(device.device), device.events
    columns.write(
        Device,
        {
            "event_action": events.action,
            "event_address": events.address,
            "event_size": events.size,
            "event_stack": events.stack,
            "event_stream": events.stream,
            "event_pool": events.pool,
            "event_owner": device.owners,
            "notes": _notes(device.notes, number_of),
        },
        scope,
    )
    if device.time_us is not None:
        columns.write(Device, {"time": device.time_us}, scope)


def _write_live(columns: ColumnFiles, info: DeviceInfo, rows: Column) -> DeviceInfo:
    """Write what was live over time, and return the device's figures with those of it."""
    scope = scope_of(info.device)
    live = live_columns(rows["size"], rows["start"], rows["end"], info.events + 1)
    columns.write(Device, live, scope)
    return with_live(info, live["live"], live["live_count"], columns.written(f"{scope}time"))


def _write_allocations(columns: ColumnFiles, device: DeviceTimeline) -> None:
    scope, rows = scope_of(device.device), device.allocations
    names = ("address", "size", "start", "stack", "stream", "category", "flags")
    rounded = np.zeros(len(rows), np.int64) if device.rounded is None else device.rounded
    columns.write(Device, {**{name: rows[name] for name in names}, "rounded": rounded}, scope)
    end = np.ascontiguousarray(rows["end"])
    columns.write(Device, {"end": end, **end_columns(end)}, scope)


def _labels(frames: Frames) -> U32:
    """The frame to show first of each stack."""
    labels = np.empty(len(frames.starts) - 1, np.uint32)
    passed = passed_over(((frame.file, frame.function, frame.kind) for frame in frames.frames), "timeline")
    kinds = ranks(frames.kinds, passed, "mine", "timeline")
    kernel.label_frames(frames.starts, frames.sequence, kinds, labels)
    return labels


def _notes(notes: Column, number_of: Renumbering) -> Column:
    """Notes with the archive's numbers of their texts."""
    values = notes["value"]
    is_text = notes["kind"] != NOTE_KINDS.index("device_free")
    return _with(notes, {"value": np.where(is_text, number_of(values), values)})


def _tables(tables: Mapping[str, Column], number_of: Renumbering) -> dict[str, Column]:
    """The tables of the file with the archive's numbers of their texts."""
    texts = {"segments": ("type",), "blocks": ("state",), "annotations": ("name", "stage")}
    return {
        name: _with(table, {field: number_of(table[field]) for field in texts[name]})
        for name, table in tables.items()
    }


def _with(table: Column, columns: Mapping[str, Column]) -> Column:
    """A copy of a table with some of its columns replaced."""
    table = table.copy()
    for name, column in columns.items():
        table[name] = column
    return table


def _fx_nodes(frames: Frames, strings: StringWriter) -> Column:
    nodes = np.empty(len(frames.fx_nodes), FX_NODE_DTYPE)
    nodes["frame"] = [node.frame for node in frames.fx_nodes]
    for name in ("op", "name", "target", "info"):
        nodes[name] = strings.numbers(getattr(node, name) for node in frames.fx_nodes)
    return nodes


def _write_modules(columns: ColumnFiles, modules: Sequence[Module], strings: StringWriter) -> None:
    columns.write(
        ModuleColumns,
        {
            "parent": np.array([module.parent for module in modules], np.uint32),
            "name": strings.numbers(module.name for module in modules),
            "path": strings.numbers(module.path for module in modules),
            "frame": np.array([module.frame for module in modules], np.uint32),
        },
    )


def _write_lines(columns: ColumnFiles, frames: Frames, totals: I64) -> None:
    """Write the sums of lines that have allocated; native frames have no line that Memlens can show."""
    first_frames, lines = lines_of_frames(frames)
    inclusive = np.zeros((len(first_frames), 6), np.int64)
    own = np.zeros((len(first_frames), 2), np.int64)
    if len(first_frames):
        kernel.fold_lines(
            frames.starts,
            frames.sequence,
            lines,
            totals,
            inclusive,
            own,
            (frames.kinds != NATIVE).astype(np.uint8),
        )
    known = inclusive[:, 1] > 0
    columns.write(LineColumns, {"frame": first_frames[known]})
    columns.write(TraceColumns, {"line_totals": inclusive[known], "line_own": own[known]})


def _device_info(device: DeviceTimeline) -> DeviceInfo:
    """A device's figures, except those of what was live."""
    events = len(device.events.action)
    time_axis = None
    if device.time_us is not None and device.time_origin_us is not None:
        last = int(device.time_us[-1])
        # a margin on both sides, so that the states before the first and after the last event are visible
        margin = max(1.0, last / 200)
        # if all events have the same time, only their order distinguishes them
        time_axis = AxisRange(-margin, last + margin) if last else None
    return DeviceInfo(
        device=device.device,
        name=device_name(device.device),
        events=events,
        allocations=len(device.allocations),
        peak_bytes=0,
        peak_moment=0,
        peak_time_us=None,
        live_at_start_bytes=0,
        live_at_end_bytes=0,
        live_at_end_count=0,
        reserved_at_end_bytes=device.reserved_at_end,
        ooms=int(np.count_nonzero(device.events.action == OOM)),
        event_axis=AxisRange(0.0, float(events + 1)),
        time_axis=time_axis,
        time_origin_us=device.time_origin_us,
    )
