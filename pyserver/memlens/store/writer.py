"""Writes a Timeline into an archive folder: one flat file a column, ``text.db``, ``manifest.json`` last."""

import contextlib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
import msgspec
import numpy as np
import numpy.typing as npt

from memlens.kernels import timeline as kernel
from memlens.model.frames import NATIVE, Frames
from memlens.model.inference import infer_forward, operators_of
from memlens.model.info import HOST_DEVICE, AxisRange, DeviceInfo, SnapshotInfo, device_name
from memlens.model.modules import Module, modules_of
from memlens.model.timeline import NEVER, OOM, Column, DeviceTimeline, Timeline
from memlens.store.columns import BLOCK, SUPER_BLOCK, block_peaks
from memlens.store.manifest import FILE_NAME, FORMAT_VERSION, ColumnEntry, Manifest, SourceFile

_STRETCH_ROWS = 1 << 14

Report = Callable[[str, float], None]


def write_archive(timeline: Timeline, source: SourceFile, folder: Path, report: Report) -> None:
    """Write ``timeline`` into the existing empty ``folder``."""
    columns = _Columns(folder)
    first_allocations = [0]
    devices = []
    totals = np.zeros((len(timeline.frames.starts) - 1, 6), np.int64)
    largest = np.full(len(totals), NEVER, np.uint32)
    labels = _labels(timeline.frames)
    roles, operators = operators_of(timeline.frames)
    for number, device in enumerate(timeline.devices):
        report("writing", number / (len(timeline.devices) + 1))
        devices.append(_device_info(device))
        rows = device.allocations
        kernel.stack_totals(
            rows["size"], rows["start"], rows["end"], rows["stack"], device.peak_moment, len(device.events.action),
            totals, largest, first_allocations[-1],
        )  # fmt: skip
        _write_device(columns, device)
        _write_inferred(columns, device, roles, operators, labels)
        first_allocations.append(first_allocations[-1] + len(rows))
    report("writing", len(timeline.devices) / (len(timeline.devices) + 1))
    modules = _write_stacks(columns, timeline.frames, totals, largest, labels)
    for name, table in timeline.tables.items():
        columns.write(name, table)
    text = folder / "text.db"
    _write_text(text, timeline, totals, modules)
    info = SnapshotInfo(
        kind=timeline.kind,
        model="timeline",
        path=source.path,
        file_bytes=source.size,
        devices=devices,
        default_device=max(
            devices, key=lambda device: (device.device != HOST_DEVICE, device.ooms > 0, device.peak_bytes)
        ).device,
        categories=timeline.categories,
        warnings=timeline.notices,
    )
    manifest = Manifest(
        FORMAT_VERSION, source, info, first_allocations, timeline.actions, timeline.streams, timeline.pools,
        timeline.settings, columns.entries, text.stat().st_size,
    )  # fmt: skip
    (folder / FILE_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))


class _Columns:
    """Writes column files and keeps the table of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, ColumnEntry] = {}

    def write(self, name: str, column: Column) -> None:
        """Write one column."""
        self.write_all({name: column})

    def write_all(self, columns: dict[str, Column]) -> None:
        """Write columns of one length together, a stretch of rows at a time.

        Columns are often fields of wide rows; so the rows stay in the processor's cache until each field is out, and
        no copy of a whole column is ever made.
        """
        with contextlib.ExitStack() as stack:
            opened = []
            for name, column in columns.items():
                little = column.dtype.newbyteorder("<")
                description = little.str if little.names is None else [list(field) for field in little.descr]
                self.entries[name] = ColumnEntry(description, len(column), column.nbytes)
                opened.append((stack.enter_context((self.folder / name).open("wb")), column, little))
            longest = max((len(column) for column in columns.values()), default=0)
            for start in range(0, longest, _STRETCH_ROWS):
                for file, column, little in opened:
                    file.write(np.ascontiguousarray(column[start : start + _STRETCH_ROWS], dtype=little).data)

    def write_with_peaks(self, name: str, column: Column) -> None:
        """Write a column and the largest value of each 64 and each 4,096 rows."""
        self.write(name, column)
        peaks = block_peaks(column, BLOCK)
        self.write(f"{name}_64", peaks)
        self.write(f"{name}_4096", block_peaks(peaks, SUPER_BLOCK // BLOCK))


def _write_device(columns: _Columns, device: DeviceTimeline) -> None:
    prefix = f"{device.device}."
    events, rows = device.events, device.allocations
    columns.write_all(
        {
            f"{prefix}event_action": events.action,
            f"{prefix}event_address": events.address,
            f"{prefix}event_size": events.size,
            f"{prefix}event_stack": events.stack,
            f"{prefix}event_stream": events.stream,
            f"{prefix}event_pool": events.pool,
            f"{prefix}event_owner": device.owners,
        }
    )
    if device.time_us is not None:
        columns.write(f"{prefix}time", device.time_us)
    columns.write_with_peaks(f"{prefix}live", device.live)
    columns.write(f"{prefix}low_64", -block_peaks(-device.live, BLOCK))
    columns.write(f"{prefix}live_count", device.live_counts)
    names = ("address", "size", "rounded", "start", "stack", "stream", "category", "flags")
    columns.write_all({f"{prefix}{name}": rows[name] for name in names})
    columns.write_with_peaks(f"{prefix}end", np.ascontiguousarray(rows["end"]))


def _labels(frames: Frames) -> npt.NDArray[np.uint32]:
    """The frame to show first of each stack."""
    labels = np.empty(len(frames.starts) - 1, np.uint32)
    kernel.label_frames(frames.starts, frames.sequence, frames.kinds, labels)
    return labels


def _write_inferred(
    columns: _Columns,
    device: DeviceTimeline,
    roles: npt.NDArray[np.uint8],
    operators: npt.NDArray[np.int32],
    labels: npt.NDArray[np.uint32],
) -> None:
    """Write ``inferred``, the frame of each allocation's inferred line; no column where nothing was inferred."""
    if not roles.any():
        return
    stacks, starts = device.allocations["stack"], device.allocations["start"]
    # what was live before the trace is not in the order in which it was made
    early = int(np.count_nonzero(starts == 0))
    inferred = np.full(len(stacks), NEVER, np.uint32)
    inferred[early:] = infer_forward(stacks[early:], roles, operators, labels)
    if bool((inferred != NEVER).any()):
        columns.write(f"{device.device}.inferred", inferred)


def _write_stacks(
    columns: _Columns,
    frames: Frames,
    totals: npt.NDArray[np.int64],
    largest: Column,
    labels: npt.NDArray[np.uint32],
) -> list[Module]:
    nodes = np.empty(len(totals), np.uint32)
    parents, node_frames = map(np.asarray, kernel.build_tree(frames.starts, frames.sequence, nodes))
    stack_modules, modules = modules_of(frames, parents, node_frames, nodes)
    columns.write("stack_node", nodes)
    columns.write("stack_label", labels)
    columns.write("stack_module", stack_modules)
    columns.write("stack_totals", totals.reshape(-1))
    columns.write("stack_largest", largest)
    columns.write("node_parent", parents)
    columns.write("node_frame", node_frames)
    columns.write("frame_source", frames.sources)
    return modules


def _write_text(path: Path, timeline: Timeline, totals: npt.NDArray[np.int64], modules: list[Module]) -> None:
    database = apsw.Connection(str(path))
    try:
        # the folder is renamed into place only when all of it is written, so the database needs no journal
        database.pragma("journal_mode", "off")
        database.pragma("synchronous", "off")
        with database:
            database.execute(files("memlens.store").joinpath("schema.sql").read_text("utf-8"))
            database.executemany("INSERT INTO strings VALUES (?, ?)", timeline.strings.items())
            database.executemany(
                "INSERT INTO frames VALUES (?, ?, ?, ?, ?)",
                (
                    (number, frame.file, frame.line, frame.function, frame.kind)
                    for number, frame in enumerate(timeline.frames.frames)
                ),
            )
            database.executemany(
                "INSERT INTO modules VALUES (?, ?, ?, ?)",
                ((number, *module) for number, module in enumerate(modules)),
            )
            database.executemany("INSERT INTO fx_nodes VALUES (?, ?, ?, ?, ?)", timeline.frames.fx_nodes)
            database.executemany(
                "INSERT INTO source_lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                _source_lines(timeline.frames, totals),
            )
    finally:
        database.close()


def _source_lines(frames: Frames, totals: npt.NDArray[np.int64]) -> list[tuple[Any, ...]]:
    """Rows of ``source_lines``, sorted by file and line; native frames have no line that Memlens can show."""
    keys: dict[tuple[str, int], int] = {}
    rows: list[tuple[str, int, str, int]] = []
    lines = np.full(len(frames.frames), NEVER, np.uint32)
    for number, frame in enumerate(frames.frames):
        if not frame.file or frame.line <= 0:
            continue
        key = (frame.file, frame.line)
        if key not in keys:
            keys[key] = len(rows)
            rows.append((frame.file, frame.line, frame.function, frame.kind))
        lines[number] = keys[key]
    inclusive = np.zeros((len(rows), 6), np.int64)
    own = np.zeros((len(rows), 2), np.int64)
    if rows:
        kernel.fold_lines(
            frames.starts,
            frames.sequence,
            lines,
            totals,
            inclusive,
            own,
            (frames.kinds != NATIVE).astype(np.uint8),
        )
    return sorted(
        (*row, *sums, *self_sums)
        for row, sums, self_sums in zip(rows, inclusive.tolist(), own.tolist(), strict=True)
        if sums[1]
    )


def _device_info(device: DeviceTimeline) -> DeviceInfo:
    events = len(device.events.action)
    peak = device.peak_moment
    time_axis, peak_time = None, None
    if device.time_us is not None and device.time_origin_us is not None:
        last = int(device.time_us[-1])
        # a little room on both sides, so that the states before the first and after the last event can be seen
        margin = max(1.0, last / 200)
        time_axis = AxisRange(-margin, last + margin)
        peak_time = device.time_origin_us + (int(device.time_us[peak - 1]) if peak else 0)
    return DeviceInfo(
        device=device.device,
        name=device_name(device.device),
        events=events,
        allocations=len(device.allocations),
        peak_bytes=int(device.live[peak]),
        peak_moment=peak,
        peak_time_us=peak_time,
        live_at_start_bytes=int(device.live[0]),
        live_at_end_bytes=int(device.live[-1]),
        live_at_end_count=int(device.live_counts[-1]),
        reserved_at_end_bytes=device.reserved_at_end,
        ooms=int(np.count_nonzero(device.events.action == OOM)),
        event_axis=AxisRange(0.0, float(events + 1)),
        time_axis=time_axis,
        time_origin_us=device.time_origin_us,
    )
