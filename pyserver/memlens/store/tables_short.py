"""The tables for SQL that are short, or of texts: their rows go through statements."""

from collections.abc import Iterable
from typing import Any, assert_never

import apsw
import numpy as np
import numpy.typing as npt

from memlens.model.frames import KIND_NAMES
from memlens.model.info import ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.model.profile import standing_for
from memlens.model.timeline import NOTE_KINDS
from memlens.store.database_file import insert
from memlens.store.models import devices_of
from memlens.store.snapshot import Column, Snapshot
from memlens.store.trace.device import Device


def fill_short(snapshot: Snapshot, database: apsw.Connection) -> None:
    """Fill them all."""
    insert(
        database, "devices", [_device_row(snapshot.device(info.device)) for info in devices_of(snapshot.info)]
    )
    kinds = " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(KIND_NAMES))
    known = known_figures(snapshot.info)
    figures = ", ".join(figure if stands_for in known else "NULL" for figure, stands_for in _LINE_FIGURES)
    # both are sorted as their tables are, and the names are those of our own schema
    frames = f"SELECT id, file, line, function, CASE kind {kinds} END FROM frames ORDER BY id"  # noqa: S608
    insert(database, "frames", snapshot.text.execute(frames))
    lines = (
        f"SELECT file, line, function, CASE kind {kinds} END, {figures} "  # noqa: S608
        "FROM source_lines ORDER BY file, line"
    )
    insert(database, "lines", snapshot.text.execute(lines))
    match snapshot.info:
        case TimelineInfo():
            _all_notes(snapshot, database)
            _memory(snapshot, database)
            _annotations(snapshot, database)
        case ProfileInfo():
            _labels(snapshot, snapshot.info, database)
        case _:
            assert_never(snapshot.info)


STACK_FIGURES = (
    "total_bytes", "count", "live_at_peak_bytes", "live_at_peak_count", "live_at_end_bytes", "largest_bytes",
)  # fmt: skip
"""The figures of a stack, in the order of :func:`stack_totals`."""
_LINE_FIGURES = (
    ("live_at_peak_bytes", "live_at_peak_bytes"), ("live_at_peak_count", "live_at_peak_count"),
    ("total_bytes", "total_bytes"), ("count", "count"), ("live_at_end_bytes", "live_at_end_bytes"),
    ("largest_bytes", "largest_bytes_of_line"), ("self_total_bytes", "total_bytes"), ("self_count", "count"),
)  # fmt: skip
"""The figures of a line in the order of its table's columns, and by which name :func:`known_figures` has them."""


def known_figures(info: SnapshotInfo) -> set[str]:
    """Which figures of lines and stacks are known: all of a trace's, and of a profile those that a value stands for."""
    match info:
        case TimelineInfo():
            return {*STACK_FIGURES, "largest_bytes_of_line"}
        case ProfileInfo():
            return _known_of_values(info)
        case _:
            assert_never(info)


def _known_of_values(info: ProfileInfo) -> set[str]:
    figures = {
        "total_bytes": ("total", "bytes"), "count": ("total", "count"), "live_at_peak_bytes": ("peak", "bytes"),
        "live_at_peak_count": ("peak", "count"), "live_at_end_bytes": ("end", "bytes"),
    }  # fmt: skip
    known = {name for name, value in figures.items() if standing_for(info.values, *value) is not None}
    return known | {"largest_bytes"} if info.has_sizes else known


def _device_row(device: Device) -> tuple[Any, ...]:
    info = device.info
    return (
        info.device, info.events, info.allocations, info.peak_bytes, info.peak_moment, info.peak_time_us,
        info.live_at_start_bytes, info.live_at_end_bytes, info.reserved_at_end_bytes, info.ooms, info.time_origin_us,
    )  # fmt: skip


def _all_notes(snapshot: Snapshot, database: apsw.Connection) -> None:
    first_event = 0
    for info in devices_of(snapshot.info):
        _notes(snapshot, database, info.device, first_event)
        first_event += info.events


def _notes(snapshot: Snapshot, database: apsw.Connection, device: int, first: int) -> None:
    notes = snapshot.device(device).notes
    strings = _strings(snapshot) if len(notes) else {}
    number = NOTE_KINDS.index("device_free")
    rows = zip(
        (notes["event"].astype(np.int64) + first).tolist(),
        _named(_names(NOTE_KINDS), notes["kind"]),
        [
            value if kind == number else strings.get(value, "")
            for kind, value in zip(notes["kind"].tolist(), notes["value"].tolist(), strict=True)
        ],
        strict=True,
    )
    insert(database, "notes", rows)


def _labels(snapshot: Snapshot, info: ProfileInfo, database: apsw.Connection) -> None:
    """What the values of a profile are, and the labels of its samples."""
    kinds = ((n, v.name, v.unit, v.meaning, v.title, v.total) for n, v in enumerate(info.values))
    insert(database, "value_types", kinds)
    rows = snapshot.samples.labels
    strings = _strings(snapshot) if len(rows) else {}
    insert(
        database,
        "labels",
        (
            (
                sample,
                strings.get(key, ""),
                strings.get(text, "") if text else number,
                strings.get(unit) if unit else None,
            )
            for sample, key, text, number, unit in rows.tolist()
        ),
    )


def _memory(snapshot: Snapshot, database: apsw.Connection) -> None:
    """Segments and blocks, where the format has them."""
    segments, blocks = snapshot.trace.segments, snapshot.trace.blocks
    strings = _strings(snapshot)
    rows = zip(
        range(len(segments)),
        segments["device"].tolist(),
        [strings.get(row, "") for row in segments["type"].tolist()],
        *(
            _unless(segments[name] < 0, segments[name])
            for name in ("total", "allocated", "active", "requested")
        ),
        (segments["expandable"] != 0).astype(np.uint8).tolist(),
        _named(_names(stream_names(snapshot)), segments["stream"]),
        _named(_names(pool_names(snapshot)), segments["pool"]),
        segments["stack"].tolist(),
        segments["address"].view(np.int64).tolist(),
        strict=True,
    )
    insert(database, "segments", rows)
    owner = _segments_of(segments, blocks)
    missing = owner < 0
    device = segments["device"][owner] if len(segments) else np.zeros(len(blocks), np.int32)
    rows = zip(
        range(len(blocks)),
        _unless(missing, owner),
        _unless(missing, device),
        [strings.get(row, "") for row in blocks["state"].tolist()],
        *(blocks[name].tolist() for name in ("size", "requested", "stack")),
        blocks["address"].view(np.int64).tolist(),
        strict=True,
    )
    insert(database, "blocks", rows)


def _segments_of(segments: Column, blocks: Column) -> npt.NDArray[np.int64]:
    """The segment that each block is a part of; -1 where that can't be told.

    Segments stand in the order of the file and so do their blocks, which tile them. Where sizes don't add up the
    address has to tell, which it can't when segments of two devices share one.
    """
    if not len(segments) or not len(blocks):
        return np.full(len(blocks), -1, np.int64)
    before = np.cumsum(blocks["size"]) - blocks["size"]
    tiled = np.searchsorted(np.cumsum(segments["total"]), before, "right").clip(0, len(segments) - 1)
    order = np.argsort(segments["address"], kind="stable")
    by_address = order[(np.searchsorted(segments["address"][order], blocks["address"], "right") - 1).clip(0)]
    found: npt.NDArray[np.int64] = np.where(_holds(segments[tiled], blocks), tiled, by_address).astype(
        np.int64
    )
    found[~_holds(segments[found], blocks)] = -1
    return found


def _holds(segments: Column, blocks: Column) -> npt.NDArray[np.bool_]:
    """Where a block lies in the segment of the same row."""
    inside: npt.NDArray[np.bool_]
    inside = (blocks["address"] >= segments["address"]) & (
        blocks["address"] - segments["address"] < segments["total"].astype(np.uint64)
    )
    return inside


def _annotations(snapshot: Snapshot, database: apsw.Connection) -> None:
    rows = snapshot.trace.annotations
    strings = _strings(snapshot) if len(rows) else {}
    numbers = {info.device for info in devices_of(snapshot.info)}
    times, moments = rows["time_us"].astype(np.int64), np.full(len(rows), -1, np.int64)
    for number in np.unique(rows["device"]).tolist():
        if number not in numbers:
            continue
        device = snapshot.device(number)
        mine = rows["device"] == number
        if device.time is not None and device.info.time_origin_us is not None:
            times[mine] -= device.info.time_origin_us
            moments[mine] = np.searchsorted(device.time, times[mine], "right")
    insert(
        database,
        "annotations",
        zip(
            range(len(rows)),
            rows["device"].tolist(),
            times.tolist(),
            _unless(moments < 0, moments),
            [strings.get(row, "") for row in rows["stage"].tolist()],
            [strings.get(row, "") for row in rows["name"].tolist()],
            strict=True,
        ),
    )


def _strings(snapshot: Snapshot) -> dict[int, str]:
    rows: list[Any] = snapshot.text.execute("SELECT id, text FROM strings").fetchall()
    return dict(rows)


def stream_names(snapshot: Snapshot) -> list[str]:
    """What the streams are called, by number."""
    return [str(stream) for stream in snapshot.manifest.streams]


def pool_names(snapshot: Snapshot) -> list[str | None]:
    """What the pools are called, by number; None for a pool that the file does not tell, (-1, -1) to the reader."""
    return [None if min(pool) < 0 else f"{pool[0]}:{pool[1]}" for pool in snapshot.manifest.pools]


def _names(names: Iterable[str | None]) -> npt.NDArray[np.object_]:
    """Names by number, with None behind the last for numbers that have none."""
    return np.array([*names, None], object)


def _named(names: npt.NDArray[np.object_], numbers: Column) -> list[Any]:
    named: list[Any] = names[np.minimum(numbers, len(names) - 1)].tolist()
    return named


def _unless(missing: npt.NDArray[np.bool_], values: Column) -> list[Any]:
    """The values as a list, None where they are missing."""
    if not missing.any():
        return list(values.tolist())
    objects = values.astype(object)
    objects[missing] = None
    return list(objects.tolist())
